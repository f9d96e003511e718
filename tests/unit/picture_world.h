/* A world of which tests take pictures in colour. */
#ifndef TESTS_UNIT_PICTURE_WORLD_H
#define TESTS_UNIT_PICTURE_WORLD_H

#include "sdf/sdf.h"
#include "sensor/lens.h"
#include "sensor/picture.h"

struct picture_world {
	struct sdf *sdf;
	struct scene *scene;
	struct state *state;
	struct rays *rays;
	struct lights lights;
};

/* inside: the elements of <world>; files are searched for in tests/data/mesh, too. Skips the test without Embree. */
struct picture_world picture_world_load(const char *inside);
void picture_world_drop(struct picture_world *w);
/* The textures of a visual; its material must be its own. */
void picture_world_paint(struct picture_world *w, uint32_t visual, const struct sdf_maps *maps);

/* A pinhole with square pixels and its axis in the middle. */
struct sdf_camera picture_world_camera(uint32_t width, uint32_t height, double focal);
/* colour[3 * width * height]. The camera looks along its x. */
void picture_world_take(
	const struct picture_world *w, const struct sdf_camera *camera, struct pose pose, float *colour);

/* A black and white pattern: cells[rows][columns], 1: white, `texels` for each along a side. */
struct texture *picture_world_pattern(const unsigned char *cells, uint32_t columns, uint32_t rows, uint32_t texels);

#endif
