/* Observers read snapshots while the world runs, and the step must not wait for a reader. There is a fixed number of
 * copies. The newest copy is published by an atomic exchange, and a replaced copy is used again after an RCU grace
 * period. While too few copies are free, no snapshot is made. The publication uses C11 atomics and not liburcu's
 * macros, because ThreadSanitizer does not see into liburcu. */
#include "server/snapshots.h"

#include "server/scene_info.h"

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
#define TELL_READ(copy) __tsan_release(&(copy)->head)
#define TELL_GRACE(copy) __tsan_acquire(&(copy)->head)
#else
#define TELL_READ(copy) ((void)(copy))
#define TELL_GRACE(copy) ((void)(copy))
#endif

struct snapshots_copy {
	struct troupe_snapshot snapshot; /* first: a snapshot is its copy */
	struct rcu_head head;
	_Atomic bool out; /* set by the publisher, cleared by call_rcu()'s thread after a grace period */
	struct snapshots_arrays arrays;
	uint32_t model_room, odometry_room, link_room, joint_room, reading_room, contact_room;
};

struct snapshots {
	/* What rcu_xchg_pointer() and rcu_dereference() would do, by C11 atomics: ThreadSanitizer sees these, and not
	 * into liburcu. Writer: the publisher; readers: under rcu_read_lock(). */
	_Atomic(struct snapshots_copy *) newest;
	_Atomic bool wanted; /* set by any reader, cleared by the publisher */
	struct snapshots_copy copies[FRAMES];
	struct snapshots_copy own; /* never published */
};

struct snapshots *snapshots_create(uint32_t secondaries)
{
	struct snapshots *snapshots = mem_alloc(sizeof *snapshots);
	for (int i = 0; i < FRAMES; i++)
		snapshots->copies[i].arrays.busy = mem_alloc(secondaries * sizeof *snapshots->copies[i].arrays.busy);
	return snapshots;
}

void snapshots_destroy(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	rcu_barrier(); /* no copy is still on its way back */
	for (int i = 0; i <= FRAMES; i++) {
		struct snapshots_copy *copy = i < FRAMES ? &snapshots->copies[i] : &snapshots->own;
		struct snapshots_arrays *arrays = &copy->arrays;
		troupe_scene_release(copy->snapshot.scene);
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

static void snapshots_fit_copy(struct snapshots_copy *copy, const struct troupe_scene *scene, uint32_t contacts)
{
	struct snapshots_arrays *a = &copy->arrays;
	a->models = snapshots_fit(a->models, &copy->model_room, scene->mobile_count, sizeof *a->models);
	a->odometry = snapshots_fit(a->odometry, &copy->odometry_room, scene->mobile_count, sizeof *a->odometry);
	a->links = snapshots_fit(a->links, &copy->link_room, scene->moving_links, sizeof *a->links);
	a->joints = snapshots_fit(a->joints, &copy->joint_room, scene->joint_count, sizeof *a->joints);
	a->readings = snapshots_fit(a->readings, &copy->reading_room, scene->sensor_count, sizeof *a->readings);
	a->contacts = snapshots_fit(a->contacts, &copy->contact_room, contacts, sizeof *a->contacts);
}

static struct troupe_snapshot *snapshots_begin_copy(struct snapshots_copy *copy, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays)
{
	snapshots_fit_copy(copy, scene, contacts);
	*ret_arrays = copy->arrays;
	troupe_scene_release(copy->snapshot.scene);
	copy->snapshot = (struct troupe_snapshot){.scene = scene_info_hold(scene),
		.model_count = scene->mobile_count,
		.link_count = scene->moving_links,
		.joint_count = scene->joint_count,
		.sensor_count = scene->sensor_count,
		.models = copy->arrays.models,
		.odometry = copy->arrays.odometry,
		.links = copy->arrays.links,
		.joints = copy->arrays.joints,
		.readings = copy->arrays.readings,
		.contacts = copy->arrays.contacts,
		.busy = copy->arrays.busy};
	return &copy->snapshot;
}

/* One free copy is always kept for a publisher with `sure`. That publisher waits until the copy that it replaces is
 * free again. */
struct troupe_snapshot *snapshots_begin(struct snapshots *snapshots, bool sure, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays)
{
	struct snapshots_copy *copy = NULL;
	int free_copies = 0;
	for (int i = 0; i < FRAMES; i++) {
		/* acquire: pairs with the release in snapshots_copy_back(), so that no reader is left in it */
		if (atomic_load_explicit(&snapshots->copies[i].out, memory_order_acquire))
			continue;
		copy = &snapshots->copies[i];
		free_copies++;
	}
	if (!copy || (free_copies < 2 && !sure))
		return NULL;
	return snapshots_begin_copy(copy, scene, contacts, ret_arrays);
}

struct troupe_snapshot *snapshots_begin_own(struct snapshots *snapshots, const struct troupe_scene *scene,
	uint32_t contacts, struct snapshots_arrays *ret_arrays)
{
	return snapshots_begin_copy(&snapshots->own, scene, contacts, ret_arrays);
}

static void snapshots_copy_back(struct rcu_head *head)
{
	struct snapshots_copy *copy = caa_container_of(head, struct snapshots_copy, head);
	TELL_GRACE(copy);
	atomic_store_explicit(&copy->out, false, memory_order_release);
}

void snapshots_publish(struct snapshots *snapshots, struct troupe_snapshot *snapshot, bool wait)
{
	struct snapshots_copy *copy = (struct snapshots_copy *)(void *)snapshot;
	atomic_store_explicit(&copy->out, true, memory_order_relaxed);
	atomic_store_explicit(&snapshots->wanted, false, memory_order_relaxed);
	struct snapshots_copy *old = atomic_exchange_explicit(&snapshots->newest, copy, memory_order_acq_rel);
	if (old && wait) {
		synchronize_rcu();
		snapshots_copy_back(&old->head);
	} else if (old) {
		call_rcu(&old->head, snapshots_copy_back);
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
	/* acquire: pairs with the exchange in snapshots_publish(), so that the copy is seen as it was filled in */
	struct snapshots_copy *copy = atomic_load_explicit(&snapshots->newest, memory_order_acquire);
	if (copy) {
		fn(ctx, &copy->snapshot);
		TELL_READ(copy);
	}
	rcu_read_unlock();
}
