/* Lidars and cameras see the meshes of visuals. A file without such a sensor is loaded without these meshes, because a
 * world may have gigabytes of them. They are read when the first model that sees is created: together with its own
 * files, before the step, by the thread that prepares the command. In the turn the visuals only get them. The files
 * that were read belong to that command, so recordings and replicas have them, and later to the saved states of the
 * world. Where all files are in memory (a replay, a replica, a resumed run), the meshes are read in the turn. */
#include "run/edit_internal.h"

#include <pthread.h>
#include <stdlib.h>

struct edit_visuals {
	struct sdf *sdf;
	struct sdf_world *world;
	pthread_mutex_t lock;
	/* under the lock */
	struct sdf_visual_shapes *shapes; /* NULL: not read, or put */
	struct files files;               /* that were read */
	bool tried, put;
};

struct edit_visuals *edit_visuals_create(struct sdf *sdf, uint32_t world)
{
	if (sdf_world_sees(&sdf->worlds.at[world]))
		return NULL;
	struct edit_visuals *visuals = mem_alloc(sizeof *visuals);
	visuals->sdf = sdf;
	visuals->world = &sdf->worlds.at[world];
	pthread_mutex_init(&visuals->lock, NULL);
	return visuals;
}

void edit_visuals_destroy(struct edit_visuals *visuals)
{
	if (!visuals)
		return;
	sdf_free_visual_shapes(visuals->shapes);
	files_fini(&visuals->files);
	pthread_mutex_destroy(&visuals->lock);
	free(visuals);
}

/* Under the lock. */
static void edit_visuals_read(struct edit_visuals *visuals, const struct edit_options *options, struct files *files)
{
	struct sdf_options sdf = {.resource_paths = options->resource_paths,
		.use_environment = !files->closed,
		.files = files,
		.importer = options->importer};
	visuals->shapes = sdf_read_visual_shapes(visuals->world, &sdf);
	visuals->tried = true;
}

void edit_visuals_prepare(const struct edit_options *options)
{
	struct edit_visuals *visuals = options->visuals;
	pthread_mutex_lock(&visuals->lock);
	if (!visuals->tried) {
		visuals->files.before = options->files;
		visuals->files.places = options->places;
		edit_visuals_read(visuals, options, &visuals->files);
		visuals->files.before = NULL;
	}
	pthread_mutex_unlock(&visuals->lock);
}

void edit_visuals_put(const struct edit_options *options, struct files *files)
{
	struct edit_visuals *visuals = options->visuals;
	if (!visuals)
		return;
	pthread_mutex_lock(&visuals->lock);
	if (!visuals->put) {
		if (!visuals->tried) {
			/* the meshes are among the files of the world and of its commands */
			files_add_all(&visuals->files, files);
			visuals->files.closed = true;
			visuals->files.before = options->files;
			edit_visuals_read(visuals, options, &visuals->files);
			visuals->files.before = NULL;
		}
		files_add_all(files, &visuals->files);
		sdf_put_visual_shapes(visuals->sdf, visuals->world, visuals->shapes);
		visuals->shapes = NULL;
		visuals->put = true;
	}
	pthread_mutex_unlock(&visuals->lock);
}

void edit_visuals_add_files(struct edit_visuals *visuals, struct files *files)
{
	if (!visuals)
		return;
	pthread_mutex_lock(&visuals->lock);
	if (!visuals->put)
		files_add_all(files, &visuals->files);
	pthread_mutex_unlock(&visuals->lock);
}

void edit_visuals_pack(const struct edit_visuals *visuals, struct text *out)
{
	bool put = visuals && visuals->put; /* only the caller's thread changes it */
	pack_u64(out, put);
	if (put)
		files_pack(&visuals->files, out);
}

bool edit_visuals_unpack(const struct edit_options *options, struct unpack *in)
{
	struct files files = {0};
	bool put = unpack_count(in, 1);
	if (put)
		files_unpack(&files, in);
	if (put && !in->bad)
		edit_visuals_put(options, &files);
	files_fini(&files);
	return !in->bad;
}
