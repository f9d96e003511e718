#include "picture_world.h"

#include "sdf_help.h"

#include <stdlib.h>

struct picture_world picture_world_load(const char *inside)
{
	static const char *const folders[] = {SOURCE_DIR "/tests/data/mesh", SOURCE_DIR "/worlds/models/shapes", NULL};
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct picture_world w;
	struct troupe_error error = {0};
	char *text = mem_printf("<sdf version='1.9'><world name='w'>%s</world></sdf>", inside);
	w.sdf = sdf_help_good(text, &(struct sdf_options){.visuals = SDF_VISUALS_READ, .resource_paths = folders});
	free(text);
	cr_assert(!scene_create(&w.sdf->worlds.at[0], NULL, &w.scene, &error), "%s", error.text);
	w.state = state_create(w.scene, NULL);
	cr_assert(!rays_create(w.scene, NULL, &w.rays, &error), "%s", error.text);
	rays_follow(w.rays, w.state);
	lights_find(w.state, &w.lights);
	return w;
}

void picture_world_drop(struct picture_world *w)
{
	rays_destroy(w->rays);
	state_destroy(w->state);
	scene_destroy(w->scene);
	sdf_free(w->sdf);
}

void picture_world_paint(struct picture_world *w, uint32_t visual, const struct sdf_maps *maps)
{
	w->sdf->worlds.at[0].visuals.at[visual].shape.maps = maps;
}

struct sdf_camera picture_world_camera(uint32_t width, uint32_t height, double focal)
{
	return (struct sdf_camera){.fov_rad = 2 * atan(width / 2.0 / focal),
		.width = width,
		.height = height,
		.near_m = 0.01,
		.far_m = 1000,
		.depth_near_m = 0.01,
		.depth_far_m = 1000,
		.centre_x = 0.5,
		.centre_y = 0.5,
		.visibility_mask = UINT32_MAX};
}

void picture_world_take(const struct picture_world *w, const struct sdf_camera *camera, struct pose pose, float *colour)
{
	struct vec3 *directions = mem_alloc(camera->width * camera->height * sizeof *directions);
	lens_directions(camera, false, directions);
	picture_take(w->rays, &w->lights, camera, directions, pose, &(struct picture){.colour = colour});
	free(directions);
}

struct texture *picture_world_pattern(const unsigned char *cells, uint32_t columns, uint32_t rows, uint32_t texels)
{
	uint32_t width = columns * texels, height = rows * texels;
	unsigned char *rgba = mem_alloc(4 * (size_t)width * height);
	for (uint32_t r = 0; r < height; r++)
		for (uint32_t c = 0; c < width; c++) {
			unsigned char *to = &rgba[4 * ((size_t)r * width + c)];
			memset(to, cells[r / texels * columns + c / texels] ? 255 : 0, 3);
			to[3] = 255;
		}
	return texture_create(width, height, rgba);
}
