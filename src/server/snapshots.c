/* Observers read snapshots while the world runs, and the step must not wait for a reader. There is a fixed number of
 * frames. The newest frame is published by an atomic exchange, and a replaced frame is used again after an RCU grace
 * period. While too few frames are free, no snapshot is made. The publication uses C11 atomics and not liburcu's
 * macros, because ThreadSanitizer does not see into liburcu. */
#include "server/snapshots.h"

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

struct snapshots_frame {
	struct troupe_snapshot snapshot; /* first: a snapshot is its frame */
	struct rcu_head head;
	_Atomic bool out; /* set by the publisher, cleared by call_rcu()'s thread after a grace period */
	struct snapshots_arrays arrays;
	uint32_t model_room, odometry_room, link_room, joint_room, reading_room, contact_room;
};

struct snapshots {
	/* What rcu_xchg_pointer() and rcu_dereference() would do, by C11 atomics: ThreadSanitizer sees these, and not
	 * into liburcu. Writer: the publisher; readers: under rcu_read_lock(). */
	_Atomic(struct snapshots_frame *) newest;
	_Atomic bool wanted; /* set by any reader, cleared by the publisher */
	struct snapshots_frame frames[FRAMES];
	struct snapshots_frame own; /* never published */
};

struct snapshots *snapshots_create(uint32_t secondaries)
{
	struct snapshots *snapshots = mem_alloc(sizeof *snapshots);
	for (int i = 0; i < FRAMES; i++)
		snapshots->frames[i].arrays.busy = mem_alloc(secondaries * sizeof *snapshots->frames[i].arrays.busy);
	return snapshots;
}

void snapshots_destroy(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	rcu_barrier(); /* no frame is still on its way back */
	for (int i = 0; i <= FRAMES; i++) {
		struct snapshots_frame *frame = i < FRAMES ? &snapshots->frames[i] : &snapshots->own;
		struct snapshots_arrays *arrays = &frame->arrays;
		troupe_scene_release(frame->snapshot.scene);
		free(arrays->models);
		free(arrays->odometry);
		free(arrays->links);
		free(arrays->joints);
		free(arrays->readings);
		free(arrays->contacts);
		free(arrays->busy);
	}
	free(snapshots);
}

void snapshots_ask(struct snapshots *snapshots)
{
	atomic_store_explicit(&snapshots->wanted, true, memory_order_relaxed);
}

bool snapshots_wanted(const struct snapshots *snapshots)
{
	return atomic_load_explicit(&snapshots->wanted, memory_order_relaxed);
}

/* Makes room for `count` elements in a buffer; its contents are lost. */
static void *snapshots_fit(void *at, uint32_t *room, uint32_t count, size_t bytes)
{
	if (count <= *room)
		return at;
	*room = count + count / 2;
	free(at);
	return mem_alloc(*room * bytes);
}

static void snapshots_fit_frame(struct snapshots_frame *frame, const struct troupe_scene *scene, uint32_t contacts)
{
	struct snapshots_arrays *a = &frame->arrays;
	a->models = snapshots_fit(a->models, &frame->model_room, scene->mobile_count, sizeof *a->models);
	a->odometry = snapshots_fit(a->odometry, &frame->odometry_room, scene->mobile_count, sizeof *a->odometry);
	a->links = snapshots_fit(a->links, &frame->link_room, scene->moving_links, sizeof *a->links);
	a->joints = snapshots_fit(a->joints, &frame->joint_room, scene->joint_count, sizeof *a->joints);
	a->readings = snapshots_fit(a->readings, &frame->reading_room, scene->sensor_count, sizeof *a->readings);
	a->contacts = snapshots_fit(a->contacts, &frame->contact_room, contacts, sizeof *a->contacts);
}

static struct troupe_snapshot *snapshots_begin_frame(struct snapshots_frame *frame, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays)
{
	snapshots_fit_frame(frame, scene, contacts);
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
struct troupe_snapshot *snapshots_begin(struct snapshots *snapshots, bool sure, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays)
{
	struct snapshots_frame *frame = NULL;
	int free_frames = 0;
	for (int i = 0; i < FRAMES; i++) {
		/* acquire: pairs with the release in snapshots_frame_back(), so that no reader is left in it */
		if (atomic_load_explicit(&snapshots->frames[i].out, memory_order_acquire))
			continue;
		frame = &snapshots->frames[i];
		free_frames++;
	}
	if (!frame || (free_frames < 2 && !sure))
		return NULL;
	return snapshots_begin_frame(frame, scene, contacts, ret_arrays);
}

struct troupe_snapshot *snapshots_begin_own(struct snapshots *snapshots, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays)
{
	return snapshots_begin_frame(&snapshots->own, scene, contacts, ret_arrays);
}

static void snapshots_frame_back(struct rcu_head *head)
{
	struct snapshots_frame *frame = caa_container_of(head, struct snapshots_frame, head);
	TELL_GRACE(frame);
	atomic_store_explicit(&frame->out, false, memory_order_release);
}

void snapshots_publish(struct snapshots *snapshots, struct troupe_snapshot *snapshot, bool wait)
{
	struct snapshots_frame *frame = (struct snapshots_frame *)(void *)snapshot;
	atomic_store_explicit(&frame->out, true, memory_order_relaxed);
	atomic_store_explicit(&snapshots->wanted, false, memory_order_relaxed);
	struct snapshots_frame *old = atomic_exchange_explicit(&snapshots->newest, frame, memory_order_acq_rel);
	if (old && wait) {
		synchronize_rcu();
		snapshots_frame_back(&old->head);
	} else if (old) {
		call_rcu(&old->head, snapshots_frame_back);
	}
}

/* --- readers ---------------------------------------------------------------------------------------------------- */

/* liburcu's flavour memb has the cheapest grace periods, but reader threads must be registered: each thread is
 * registered at its first read, and unregistered when it ends. */
static pthread_key_t snapshots_reader_key;
static pthread_once_t snapshots_reader_once = PTHREAD_ONCE_INIT;

static void snapshots_forget_reader(void *unused)
{
	(void)unused;
	rcu_unregister_thread();
}

static void snapshots_make_reader_key(void)
{
	(void)pthread_key_create(&snapshots_reader_key, snapshots_forget_reader);
}

static void snapshots_know_reader(void)
{
	pthread_once(&snapshots_reader_once, snapshots_make_reader_key);
	if (pthread_getspecific(snapshots_reader_key))
		return;
	rcu_register_thread();
	(void)pthread_setspecific(snapshots_reader_key, &snapshots_reader_key);
}

void snapshots_read(
	struct snapshots *snapshots, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx)
{
	snapshots_know_reader();
	snapshots_ask(snapshots);
	rcu_read_lock();
	/* acquire: pairs with the exchange in snapshots_publish(), so that the frame is seen as it was filled in */
	struct snapshots_frame *frame = atomic_load_explicit(&snapshots->newest, memory_order_acquire);
	if (frame) {
		fn(ctx, &frame->snapshot);
		TELL_READ(frame);
	}
	rcu_read_unlock();
}
