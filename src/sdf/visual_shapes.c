/* Visuals whose meshes and images were left unread, because no sensor of the file sees them, are read later: into
 * copies of their shapes, so that any thread can read them while the world runs. */
#include "sdf/load.h"

#include <stdlib.h>

struct sdf_visual_shapes {
	struct sdf own; /* meshes, images and messages */
	uint32_t count;
	struct sdf_shape *shapes; /* [count] by visual */
	const struct texture *sky_cube;
	struct sdf_visual_shapes *next;
};

struct sdf_visual_shapes *sdf_read_visual_shapes(const struct sdf_world *world, const struct sdf_options *options)
{
	struct sdf_visual_shapes *read = mem_alloc(sizeof *read);
	struct load load = {.sdf = &read->own, .options = options, .disk = options->files};
	read->count = world->visuals.count;
	read->shapes = mem_alloc(read->count * sizeof *read->shapes);
	for (uint32_t i = 0; i < read->count; i++) {
		const struct sdf_visual *visual = &world->visuals.at[i];
		load.owner = world->models.at[world->links.at[visual->link].model].scoped;
		read->shapes[i] = visual->shape;
		load_solid(&load, false, &read->shapes[i]);
		load_finish(&load, visual, &read->shapes[i]);
	}
	load.owner = NULL;
	read->sky_cube = load_finish_sky(&load, world->surroundings.scene.sky);
	load_fini(&load);
	return read;
}

void sdf_put_visual_shapes(struct sdf *sdf, struct sdf_world *world, struct sdf_visual_shapes *read)
{
	for (uint32_t i = 0; i < read->count; i++)
		world->visuals.at[i].shape = read->shapes[i];
	world->surroundings.scene.sky_cube = read->sky_cube;
	read->next = sdf->visual_shapes;
	sdf->visual_shapes = read;
}

void sdf_free_visual_shapes(struct sdf_visual_shapes *read)
{
	while (read) {
		struct sdf_visual_shapes *next = read->next;
		load_solids_fini(&read->own);
		vec_free(&read->own.messages);
		arena_fini(&read->own.arena);
		free(read->shapes);
		free(read);
		read = next;
	}
}
