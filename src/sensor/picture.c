/* The rays of a chunk of pixels are cast together, then their shadow rays, light by light: both run alike and are
 * searched eight at a time. */
#include "sensor/picture_internal.h"

#include <stdlib.h>
#include <string.h>

/* Makes the rays of all pixels of the chunk that have a ray, from near to far along the camera's axis (for a ray that
 * does not go ahead, along the ray). Returns their number. */
static uint32_t picture_aim(struct picture_chunk *c, const struct vec3 *directions, uint32_t count, struct pose pose,
	double near, double far, uint32_t *pixels)
{
	uint32_t rays = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct vec3 d = directions[i];
		double slant = d.x > 0.01 ? d.x : 1;
		if (d.x == 0 && d.y == 0 && d.z == 0)
			continue;
		c->cast[rays] = (struct ray){pose.p, picture_turned(&c->turn, d), near / slant, far / slant};
		pixels[rays++] = i;
	}
	return rays;
}

static void picture_measure_depth(struct picture_chunk *c, const struct sdf_camera *camera,
	const struct vec3 *directions, uint32_t count, struct pose pose, float *depth)
{
	uint32_t pixels[PICTURE_CHUNK];
	uint32_t rays = picture_aim(c, directions, count, pose, 0, camera->depth_far_m, pixels);
	rays_cast(c->rays, c->cast, rays, c->mask, c->hits);
	for (uint32_t i = 0; i < count; i++)
		depth[i] = INFINITY;
	for (uint32_t i = 0; i < rays; i++) {
		double along = c->hits[i].distance * directions[pixels[i]].x;
		if (c->hits[i].model != SCENE_NONE)
			depth[pixels[i]] = along < camera->depth_near_m ? -INFINITY : (float)along;
	}
}

static void picture_label(struct picture_chunk *c, const struct picture *picture, uint32_t first, uint32_t count,
	const uint32_t *pixels, uint32_t rays)
{
	if (picture->labels)
		memset(&picture->labels[first], 0, count * sizeof *picture->labels);
	if (picture->instances)
		memset(&picture->instances[first], 0, count * sizeof *picture->instances);
	for (uint32_t i = 0; i < rays; i++) {
		if (c->hits[i].model == SCENE_NONE)
			continue;
		struct rays_label label = rays_label(c->rays, &c->hits[i]);
		if (picture->labels)
			picture->labels[first + pixels[i]] = label.label;
		if (picture->instances)
			picture->instances[first + pixels[i]] = label.instance;
	}
}

void picture_take(const struct rays *rays, const struct lights *lights, const struct sdf_camera *camera,
	const struct vec3 *directions, struct pose pose, const struct picture *picture)
{
	struct picture_chunk *c = mem_alloc(sizeof *c);
	uint32_t total = picture->count ? picture->count : camera->width * camera->height, pixels[PICTURE_CHUNK];
	const struct vec3 *own = directions + picture->first;
	c->rays = rays;
	c->lights = lights;
	c->scene = rays_surroundings(rays);
	c->mask = camera->visibility_mask;
	c->directions = directions;
	c->width = camera->width;
	c->total = camera->width * camera->height;
	c->turn = quat_matrix(quat_unit(pose.q));
	for (uint32_t first = 0; first < total; first += PICTURE_CHUNK) {
		uint32_t count = MIN(total - first, (uint32_t)PICTURE_CHUNK);
		c->first = picture->first + first;
		if (picture->depth)
			picture_measure_depth(c, camera, &own[first], count, pose, &picture->depth[first]);
		if (!picture->colour && !picture->labels && !picture->instances)
			continue;
		uint32_t aimed = picture_aim(c, &own[first], count, pose, camera->near_m, camera->far_m, pixels);
		rays_cast(rays, c->cast, aimed, c->mask, c->hits);
		picture_label(c, picture, first, count, pixels, aimed);
		if (picture->colour)
			picture_paint(c, &picture->colour[3 * (size_t)first], count, pixels, aimed);
	}
	free(c);
}
