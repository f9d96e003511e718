/* Each mesh has a state under the lock of the store. A thread that needs a mesh which another one is reading waits for
 * it; one that needs a mesh which waits for its turn reads it at once. The triangles are published with release, so the
 * usual get is one load. */
#include "scene/unread.h"

#include "scene/scene.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum unread_state { UNREAD_NOT, UNREAD_READING, UNREAD_IS_READ, UNREAD_REFUSED };

struct unread_mesh {
	struct unread *unread;
	const struct sdf_shape *shape;
	struct aabb box;
	_Atomic(struct trimesh *) triangles; /* set under the lock; read anywhere with acquire */
	_Atomic double used_s;               /* simulated time of the last use */
	_Atomic bool exact_known;            /* `exact` holds from then on, also when the triangles were given up */
	struct aabb exact;                   /* set before */
	/* under the lock */
	enum unread_state state;
	uint32_t wanted; /* by levels */
	bool queued;     /* in unread.queue */
	bool kept;
	uint64_t bytes;
};

struct unread {
	struct unread_options options;
	VEC(struct unread_mesh *) meshes; /* by far->id; NULL: another world's */
	_Atomic double now_s;
	_Atomic bool failed;
	pthread_mutex_t reading; /* held while a file is read */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	/* under the lock */
	VEC(struct unread_mesh *) queue;  /* wanted meshes; the first comes first */
	VEC(struct unread_mesh *) in_use; /* that are read */
	VEC(char *) warnings;
	struct importer_losses losses; /* under `reading` */
	struct troupe_error error;
	struct unread_counts counts;
	bool has_thread, end;
	pthread_t thread;
};

struct unread *unread_create(const struct unread_options *options)
{
	struct unread *unread = mem_alloc(sizeof *unread);
	unread->options = *options;
	pthread_mutex_init(&unread->reading, NULL);
	pthread_mutex_init(&unread->lock, NULL);
	pthread_cond_init(&unread->work, NULL);
	pthread_cond_init(&unread->done, NULL);
	return unread;
}

static void unread_free_triangles(struct unread_mesh *mesh)
{
	struct trimesh *triangles = atomic_exchange(&mesh->triangles, NULL);
	if (triangles)
		trimesh_fini(triangles);
	free(triangles);
}

void unread_destroy(struct unread *unread)
{
	if (!unread)
		return;
	pthread_mutex_lock(&unread->lock);
	unread->end = true;
	pthread_cond_broadcast(&unread->work);
	pthread_mutex_unlock(&unread->lock);
	if (unread->has_thread)
		(void)pthread_join(unread->thread, NULL);
	for (uint32_t i = 0; i < unread->meshes.count; i++)
		if (unread->meshes.at[i])
			unread_free_triangles(unread->meshes.at[i]);
	for (uint32_t i = 0; i < unread->meshes.count; i++)
		free(unread->meshes.at[i]);
	for (uint32_t i = 0; i < unread->warnings.count; i++)
		free(unread->warnings.at[i]);
	vec_free(&unread->meshes);
	vec_free(&unread->queue);
	vec_free(&unread->in_use);
	vec_free(&unread->warnings);
	pthread_mutex_destroy(&unread->reading);
	pthread_mutex_destroy(&unread->lock);
	pthread_cond_destroy(&unread->work);
	pthread_cond_destroy(&unread->done);
	free(unread);
}

struct unread_mesh *unread_add(struct unread *unread, const struct sdf_shape *shape)
{
	uint32_t id = shape->far->id, room = unread->meshes.count;
	if (id >= room)
		(void)vec_append(&unread->meshes, id + 1 - room);
	struct unread_mesh *mesh = unread->meshes.at[id];
	if (mesh)
		return mesh;
	mesh = mem_alloc(sizeof *mesh);
	mesh->unread = unread;
	mesh->shape = shape;
	mesh->box = shape->far->box;
	unread->meshes.at[id] = mesh;
	unread->counts.meshes++;
	return mesh;
}

struct aabb unread_box(const struct unread_mesh *mesh)
{
	return mesh->box;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static troupe_status unread_read_mesh(struct unread *unread, struct files *files, const struct sdf_shape *shape,
	struct trimesh *out, struct troupe_error *error)
{
	struct mesh whole = {0}, mesh = {0};
	troupe_status status =
		importer_mesh(unread->options.importer, &unread->losses, files, shape->far->path, &whole, error);
	if (status)
		return status;
	(void)mesh_cut(&whole, NULL, false, shape->size, &mesh);
	if (mesh.corners.count)
		trimesh_of_mesh(&mesh, out);
	else
		status = fail(error, TROUPE_EWORLD, "has no area");
	mesh_fini(&mesh);
	mesh_fini(&whole);
	return status;
}

static troupe_status unread_read_heightmap(struct unread *unread, struct files *files, const struct sdf_shape *shape,
	struct trimesh *out, struct troupe_error *error)
{
	struct image image;
	struct sdf_shape read = *shape;
	troupe_status status =
		importer_image(unread->options.importer, &unread->losses, files, shape->far->path, &image, error);
	if (status)
		return status;
	read.image = &image;
	trimesh_of_grid(scene_heightmap(&read), out);
	free(image.values);
	return TROUPE_OK;
}

/* What was read while the world was loaded is all that there is: the file may name no further ones. */
static troupe_status unread_read(struct unread_mesh *mesh, struct trimesh *out, struct troupe_error *error)
{
	struct unread *unread = mesh->unread;
	const struct sdf_shape *shape = mesh->shape;
	struct files files = {.before = unread->options.files, .closed = true};
	pthread_mutex_lock(&unread->reading);
	troupe_status status = shape->kind == SDF_HEIGHTMAP ? unread_read_heightmap(unread, &files, shape, out, error)
							    : unread_read_mesh(unread, &files, shape, out, error);
	files_fini(&files);
	pthread_mutex_unlock(&unread->reading);
	return status;
}

/* Under the lock. It is the same each time. */
static void unread_set_exact(struct unread_mesh *mesh, struct aabb box)
{
	if (atomic_load(&mesh->exact_known))
		return;
	mesh->exact = box;
	atomic_store_explicit(&mesh->exact_known, true, memory_order_release);
}

/* Under the lock. A file that is damaged is so everywhere. Other failures may depend on the machine. */
static void unread_note_failure(struct unread_mesh *mesh, const struct troupe_error *why)
{
	struct unread *unread = mesh->unread;
	const struct sdf_far *far = mesh->shape->far;
	const char *kind = mesh->shape->kind == SDF_HEIGHTMAP ? "heightmap" : "mesh";
	bool refused = why->status == TROUPE_EWORLD || why->status == TROUPE_ELIMIT;
	char *text = mem_printf("%s:%u: %s \"%.200s\" of model \"%.80s\": %.200s%s", far->element->file,
		far->element->line, kind, far->path, far->model, why->text, refused ? "; the model is without it" : "");
	mesh->state = UNREAD_REFUSED;
	unread_set_exact(mesh, AABB_NONE);
	if (refused) {
		vec_push(&unread->warnings, text);
		return;
	}
	if (!unread->error.status)
		(void)fail(&unread->error, why->status, "%s", text);
	atomic_store(&unread->failed, true);
	free(text);
}

static uint64_t unread_bytes_of(const struct trimesh *t)
{
	uint64_t points = t->point_count, triangles = t->triangle_count;
	enum { PER_POINT = 2 * sizeof(struct vec3) + 8 * sizeof(uint32_t), TREE = 2 * 64 };
	return points * PER_POINT + triangles * (sizeof(struct vec3) + 6 * sizeof(uint32_t) + 1 + TREE) +
	       (uint64_t)t->grid.columns * t->grid.rows * sizeof(float);
}

/* Under the lock, which is released meanwhile. */
static void unread_bring(struct unread_mesh *mesh)
{
	struct unread *unread = mesh->unread;
	struct trimesh *triangles = mem_alloc(sizeof *triangles);
	struct troupe_error why;
	mesh->state = UNREAD_READING;
	pthread_mutex_unlock(&unread->lock);
	troupe_status status = unread_read(mesh, triangles, &why);
	pthread_mutex_lock(&unread->lock);
	unread->counts.reads++;
	atomic_store(&mesh->used_s, atomic_load(&unread->now_s));
	if (status) {
		free(triangles);
		unread_note_failure(mesh, &why);
	} else {
		mesh->state = UNREAD_IS_READ;
		unread_set_exact(mesh, triangles->box);
		mesh->bytes = unread_bytes_of(triangles);
		vec_push(&unread->in_use, mesh);
		unread->counts.read++;
		unread->counts.bytes += mesh->bytes;
		atomic_store_explicit(&mesh->triangles, triangles, memory_order_release);
	}
	pthread_cond_broadcast(&unread->done);
}

/* Returns when the mesh is read or refused. */
static void unread_wait(struct unread_mesh *mesh)
{
	struct unread *unread = mesh->unread;
	pthread_mutex_lock(&unread->lock);
	unread->counts.waits += mesh->state == UNREAD_NOT || mesh->state == UNREAD_READING;
	while (mesh->state == UNREAD_READING)
		pthread_cond_wait(&unread->done, &unread->lock);
	if (mesh->state == UNREAD_NOT)
		unread_bring(mesh);
	pthread_mutex_unlock(&unread->lock);
}

const struct trimesh *unread_get(struct unread_mesh *mesh)
{
	double now_s = atomic_load_explicit(&mesh->unread->now_s, memory_order_relaxed);
	const struct trimesh *triangles = atomic_load_explicit(&mesh->triangles, memory_order_acquire);
	if (atomic_load_explicit(&mesh->used_s, memory_order_relaxed) != now_s)
		atomic_store_explicit(&mesh->used_s, now_s, memory_order_relaxed);
	if (triangles)
		return triangles;
	unread_wait(mesh);
	return atomic_load_explicit(&mesh->triangles, memory_order_acquire);
}

struct aabb unread_exact_box(struct unread_mesh *mesh)
{
	if (!atomic_load_explicit(&mesh->exact_known, memory_order_acquire))
		(void)unread_get(mesh);
	return mesh->exact;
}

/* --- ahead of need ------------------------------------------------------------------------------------------------ */

static void *unread_work(void *arg)
{
	struct unread *unread = arg;
	pthread_mutex_lock(&unread->lock);
	for (;;) {
		while (!unread->end && !unread->queue.count)
			pthread_cond_wait(&unread->work, &unread->lock);
		if (unread->end)
			break;
		struct unread_mesh *mesh = unread->queue.at[0];
		unread->queue.count--;
		memmove(unread->queue.at, unread->queue.at + 1, unread->queue.count * sizeof *unread->queue.at);
		mesh->queued = false;
		if (mesh->state == UNREAD_NOT && mesh->wanted)
			unread_bring(mesh);
	}
	pthread_mutex_unlock(&unread->lock);
	return NULL;
}

/* Under the lock. Without a thread, meshes are read when they are needed. */
static void unread_start(struct unread *unread)
{
	sigset_t all, kept;
	if (unread->has_thread)
		return;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &kept);
	int code = pthread_create(&unread->thread, NULL, unread_work, unread);
	(void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
	mem_check_thread(code);
	unread->has_thread = !code;
}

void unread_want(struct unread_mesh *mesh)
{
	struct unread *unread = mesh->unread;
	pthread_mutex_lock(&unread->lock);
	mesh->wanted++;
	if (mesh->state == UNREAD_NOT && !mesh->queued) {
		unread_start(unread);
		mesh->queued = true;
		vec_push(&unread->queue, mesh);
		pthread_cond_signal(&unread->work);
	}
	pthread_mutex_unlock(&unread->lock);
}

void unread_keep(struct unread_mesh *mesh)
{
	unread_want(mesh);
	pthread_mutex_lock(&mesh->unread->lock);
	mesh->kept = true;
	pthread_mutex_unlock(&mesh->unread->lock);
}

const char *unread_kept_file(struct unread *unread, uint32_t *at)
{
	const char *path = NULL;
	pthread_mutex_lock(&unread->lock);
	for (; *at < unread->meshes.count && !path; ++*at) {
		const struct unread_mesh *mesh = unread->meshes.at[*at];
		path = mesh && mesh->kept ? mesh->shape->far->path : NULL;
	}
	pthread_mutex_unlock(&unread->lock);
	return path;
}

void unread_leave(struct unread_mesh *mesh)
{
	struct unread *unread = mesh->unread;
	pthread_mutex_lock(&unread->lock);
	if (mesh->wanted)
		mesh->wanted--;
	atomic_store(&mesh->used_s, atomic_load(&unread->now_s));
	pthread_mutex_unlock(&unread->lock);
}

/* Under the lock. */
static void unread_give_up(struct unread_mesh *mesh)
{
	struct unread *unread = mesh->unread;
	unread_free_triangles(mesh);
	mesh->state = UNREAD_NOT;
	unread->counts.read--;
	unread->counts.bytes -= mesh->bytes;
	unread->counts.given_up++;
}

void unread_free_old(struct unread *unread, double time_s)
{
	uint32_t kept = 0;
	double before_s = atomic_load(&unread->now_s);
	if (time_s == before_s)
		return;
	atomic_store(&unread->now_s, time_s);
	pthread_mutex_lock(&unread->lock);
	for (uint32_t i = 0; i < unread->in_use.count; i++) {
		struct unread_mesh *mesh = unread->in_use.at[i];
		if (time_s < before_s)
			atomic_store(&mesh->used_s, time_s);
		if (mesh->wanted || time_s - atomic_load(&mesh->used_s) < UNREAD_KEEP_S)
			unread->in_use.at[kept++] = mesh;
		else
			unread_give_up(mesh);
	}
	unread->in_use.count = kept;
	pthread_mutex_unlock(&unread->lock);
}

/* --- what is known of it ------------------------------------------------------------------------------------------ */

troupe_status unread_error(struct unread *unread, struct troupe_error *error)
{
	if (!atomic_load(&unread->failed))
		return TROUPE_OK;
	pthread_mutex_lock(&unread->lock);
	struct troupe_error why = unread->error;
	pthread_mutex_unlock(&unread->lock);
	return fail(error, why.status, "%s", why.text);
}

char *unread_take_warning(struct unread *unread)
{
	pthread_mutex_lock(&unread->lock);
	char *text = unread->warnings.count ? unread->warnings.at[0] : NULL;
	if (text) {
		unread->warnings.count--;
		memmove(unread->warnings.at, unread->warnings.at + 1,
			unread->warnings.count * sizeof *unread->warnings.at);
	}
	pthread_mutex_unlock(&unread->lock);
	return text;
}

struct unread_counts unread_counts(struct unread *unread)
{
	pthread_mutex_lock(&unread->lock);
	struct unread_counts counts = unread->counts;
	pthread_mutex_unlock(&unread->lock);
	return counts;
}

void unread_rest(struct unread *unread, bool rest)
{
	if (rest)
		pthread_mutex_lock(&unread->reading);
	else
		pthread_mutex_unlock(&unread->reading);
}
