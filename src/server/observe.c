/* Observers read snapshots while the world runs, and the step must not wait for a reader. There is a fixed number of
 * frames. The newest frame is published by an atomic exchange, and a replaced frame is used again after an RCU grace
 * period. While too few frames are free, no snapshot is made. The publication uses C11 atomics and not liburcu's
 * macros, because ThreadSanitizer does not see into liburcu. */
#include "server/observe.h"

#include "server/view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define URCU_API_MAP
#include <urcu/urcu-memb.h>

enum { FRAMES = 4 };

/* Tells ThreadSanitizer that a grace period comes after all reads before it. */
#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define TELL_READ(frame) __tsan_release(&(frame)->head)
#define TELL_GRACE(frame) __tsan_acquire(&(frame)->head)
#else
#define TELL_READ(frame) ((void)(frame))
#define TELL_GRACE(frame) ((void)(frame))
#endif

struct server_observe_frame {
	struct troupe_snapshot snapshot; /* first: a snapshot is its frame */
	struct rcu_head head;
	_Atomic bool out; /* set by the publisher, cleared by call_rcu()'s thread after a grace period */
	struct observe_arrays arrays;
	uint32_t model_room, odometry_room, link_room, joint_room, reading_room, contact_room;
};

struct observe {
	/* What rcu_xchg_pointer() and rcu_dereference() would do, by C11 atomics: ThreadSanitizer sees these, and not
	 * into liburcu. Writer: the publisher; readers: under rcu_read_lock(). */
	_Atomic(struct server_observe_frame *) newest;
	_Atomic bool wanted; /* set by any reader, cleared by the publisher */
	struct server_observe_frame frames[FRAMES];
	struct server_observe_frame own; /* never published */
};

struct observe *observe_create(uint32_t secondaries)
{
	struct observe *observe = mem_alloc(sizeof *observe);
	for (int i = 0; i < FRAMES; i++)
		observe->frames[i].arrays.busy = mem_alloc(secondaries * sizeof *observe->frames[i].arrays.busy);
	return observe;
}

void observe_destroy(struct observe *observe)
{
	if (!observe)
		return;
	rcu_barrier(); /* no frame is still on its way back */
	for (int i = 0; i <= FRAMES; i++) {
		struct server_observe_frame *frame = i < FRAMES ? &observe->frames[i] : &observe->own;
		struct observe_arrays *arrays = &frame->arrays;
		troupe_scene_release(frame->snapshot.scene);
		free(arrays->models);
		free(arrays->odometry);
		free(arrays->links);
		free(arrays->joints);
		free(arrays->readings);
		free(arrays->contacts);
		free(arrays->busy);
	}
	free(observe);
}

void observe_ask(struct observe *observe)
{
	atomic_store_explicit(&observe->wanted, true, memory_order_relaxed);
}

bool observe_wanted(const struct observe *observe)
{
	return atomic_load_explicit(&observe->wanted, memory_order_relaxed);
}

/* Makes room for `count` elements in a buffer; its contents are lost. */
static void *server_observe_fit(void *at, uint32_t *room, uint32_t count, size_t bytes)
{
	if (count <= *room)
		return at;
	*room = count + count / 2;
	free(at);
	return mem_alloc(*room * bytes);
}

static void server_observe_fit_frame(
	struct server_observe_frame *frame, const struct troupe_scene *scene, uint32_t contacts)
{
	struct observe_arrays *a = &frame->arrays;
	a->models = server_observe_fit(a->models, &frame->model_room, scene->mobile_count, sizeof *a->models);
	a->odometry = server_observe_fit(a->odometry, &frame->odometry_room, scene->mobile_count, sizeof *a->odometry);
	a->links = server_observe_fit(a->links, &frame->link_room, scene->moving_links, sizeof *a->links);
	a->joints = server_observe_fit(a->joints, &frame->joint_room, scene->joint_count, sizeof *a->joints);
	a->readings = server_observe_fit(a->readings, &frame->reading_room, scene->sensor_count, sizeof *a->readings);
	a->contacts = server_observe_fit(a->contacts, &frame->contact_room, contacts, sizeof *a->contacts);
}

static struct troupe_snapshot *server_observe_begin_frame(struct server_observe_frame *frame,
	const struct troupe_scene *scene, uint32_t contacts, struct observe_arrays *ret_arrays)
{
	server_observe_fit_frame(frame, scene, contacts);
	*ret_arrays = frame->arrays;
	troupe_scene_release(frame->snapshot.scene);
	frame->snapshot = (struct troupe_snapshot){.scene = view_hold(scene),
		.model_count = scene->mobile_count,
		.link_count = scene->moving_links,
		.joint_count = scene->joint_count,
		.sensor_count = scene->sensor_count,
		.models = frame->arrays.models,
		.odometry = frame->arrays.odometry,
		.links = frame->arrays.links,
		.joints = frame->arrays.joints,
		.readings = frame->arrays.readings,
		.contacts = frame->arrays.contacts,
		.busy = frame->arrays.busy};
	return &frame->snapshot;
}

/* One free frame is always kept for a publisher with `sure`. That publisher waits until the frame that it replaces is
 * free again. */
struct troupe_snapshot *observe_begin(struct observe *observe, bool sure, const struct troupe_scene *scene,
	uint32_t contacts, struct observe_arrays *ret_arrays)
{
	struct server_observe_frame *frame = NULL;
	int free_frames = 0;
	for (int i = 0; i < FRAMES; i++) {
		/* acquire: pairs with the release in server_observe_frame_back(), so that no reader is left in it */
		if (atomic_load_explicit(&observe->frames[i].out, memory_order_acquire))
			continue;
		frame = &observe->frames[i];
		free_frames++;
	}
	if (!frame || (free_frames < 2 && !sure))
		return NULL;
	return server_observe_begin_frame(frame, scene, contacts, ret_arrays);
}

struct troupe_snapshot *observe_begin_own(
	struct observe *observe, const struct troupe_scene *scene, uint32_t contacts, struct observe_arrays *ret_arrays)
{
	return server_observe_begin_frame(&observe->own, scene, contacts, ret_arrays);
}

static void server_observe_frame_back(struct rcu_head *head)
{
	struct server_observe_frame *frame = caa_container_of(head, struct server_observe_frame, head);
	TELL_GRACE(frame);
	atomic_store_explicit(&frame->out, false, memory_order_release);
}

void observe_publish(struct observe *observe, struct troupe_snapshot *snapshot, bool wait)
{
	struct server_observe_frame *frame = (struct server_observe_frame *)(void *)snapshot;
	atomic_store_explicit(&frame->out, true, memory_order_relaxed);
	atomic_store_explicit(&observe->wanted, false, memory_order_relaxed);
	struct server_observe_frame *old = atomic_exchange_explicit(&observe->newest, frame, memory_order_acq_rel);
	if (old && wait) {
		synchronize_rcu();
		server_observe_frame_back(&old->head);
	} else if (old) {
		call_rcu(&old->head, server_observe_frame_back);
	}
}

/* --- readers ---------------------------------------------------------------------------------------------------- */

/* liburcu's flavour memb has the cheapest grace periods, but reader threads must be registered: each thread is
 * registered at its first read, and unregistered when it ends. */
static pthread_key_t server_observe_reader_key;
static pthread_once_t server_observe_reader_once = PTHREAD_ONCE_INIT;

static void server_observe_forget_reader(void *unused)
{
	(void)unused;
	rcu_unregister_thread();
}

static void server_observe_make_reader_key(void)
{
	(void)pthread_key_create(&server_observe_reader_key, server_observe_forget_reader);
}

static void server_observe_know_reader(void)
{
	pthread_once(&server_observe_reader_once, server_observe_make_reader_key);
	if (pthread_getspecific(server_observe_reader_key))
		return;
	rcu_register_thread();
	(void)pthread_setspecific(server_observe_reader_key, &server_observe_reader_key);
}

void observe_read(struct observe *observe, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx)
{
	server_observe_know_reader();
	observe_ask(observe);
	rcu_read_lock();
	/* acquire: pairs with the exchange in observe_publish(), so that the frame is seen as it was filled in */
	struct server_observe_frame *frame = atomic_load_explicit(&observe->newest, memory_order_acquire);
	if (frame) {
		fn(ctx, &frame->snapshot);
		TELL_READ(frame);
	}
	rcu_read_unlock();
}
