/* The rays of a chunk of pixels are cast together, then their shadow rays, light by light: both run alike and are
 * searched eight at a time. */
#include "sensor/picture_internal.h"

#include <stdlib.h>
#include <string.h>

void picture_aim_at(struct picture_chunk *c, uint32_t number, struct vec3 d, double near, double far)
{
	double slant = d.x > 0.01 ? d.x : 1;
	c->cast[number] = (struct ray){c->eye, picture_turned(&c->turn, d), near / slant, far / slant};
	if (c->moving.turns)
		picture_aim_own(c, number, d);
}

struct picture_neighbours picture_beside(const struct picture_chunk *c, uint32_t pixel)
{
	uint32_t column = pixel % c->width;
	const struct {
		uint32_t by;
		bool ahead, behind;
	} ways[2] = {
		{1, column + 1 < c->width, column > 0}, {c->width, pixel + c->width < c->total, pixel >= c->width}};
	struct picture_neighbours next = {{pixel, pixel}, {0, 0}};
	for (int i = 0; i < 2; i++)
		if (ways[i].ahead && picture_has_ray(c, pixel + ways[i].by))
			next.pixel[i] = pixel + ways[i].by, next.sign[i] = 1;
		else if (ways[i].behind && picture_has_ray(c, pixel - ways[i].by))
			next.pixel[i] = pixel - ways[i].by, next.sign[i] = -1;
	return next;
}

/* Makes the rays of all pixels of the chunk that have a ray. Returns their number. */
static uint32_t picture_aim(struct picture_chunk *c, const struct vec3 *directions, uint32_t count, double near,
	double far, uint32_t *pixels)
{
	uint32_t rays = 0;
	for (uint32_t i = 0; i < count; i++)
		if (directions[i].x != 0 || directions[i].y != 0 || directions[i].z != 0) {
			picture_aim_at(c, rays, directions[i], near, far);
			pixels[rays++] = i;
		}
	return rays;
}

static void picture_measure_depth(struct picture_chunk *c, const struct sdf_camera *camera,
	const struct vec3 *directions, uint32_t count, float *depth)
{
	uint32_t pixels[PICTURE_CHUNK];
	uint32_t rays = picture_aim(c, directions, count, 0, camera->depth_far_m, pixels);
	picture_cast(c, rays);
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

/* In whole steps, rounded, within the camera's limits. */
static uint16_t picture_heat_value(const struct sdf_camera *camera, double kelvin)
{
	double most = camera->pixels == SDF_PIXELS_GREY8 ? UINT8_MAX : UINT16_MAX;
	double steps = fmin(fmax(kelvin, camera->heat_min_K), camera->heat_max_K) / camera->heat_step_K;
	return (uint16_t)(fmin(steps, most) + 0.5);
}

static void picture_heat(struct picture_chunk *c, const struct sdf_camera *camera, const struct picture *picture,
	uint32_t first, uint32_t count, const uint32_t *pixels, uint32_t rays)
{
	for (uint32_t i = 0; i < count; i++)
		picture->heat[first + i] = picture_heat_value(camera, picture->air_K);
	for (uint32_t i = 0; i < rays; i++) {
		if (c->hits[i].model == SCENE_NONE)
			continue;
		const struct sdf_heat *heat = rays_visual(c->rays, &c->hits[i])->shape.heat;
		double kelvin = heat ? picture_signature(c, i, pixels[i], heat, picture->air_K)
				     : rays_temperature_K(c->rays, &c->hits[i]);
		if (kelvin > 0)
			picture->heat[first + pixels[i]] = picture_heat_value(camera, kelvin);
	}
}

/* All that is wanted, at one time of the exposure. */
static void picture_expose(struct picture_chunk *c, const struct sdf_camera *camera, const struct picture *picture)
{
	uint32_t total = picture->count ? picture->count : c->total, pixels[PICTURE_CHUNK];
	const struct vec3 *own = c->directions + picture->first;
	c->aside = false;
	for (uint32_t first = 0, count; first < total; first += count) {
		count = picture_chunk_of(c, picture->first + first, total - first);
		picture_move_to(c, picture->first + first);
		for (uint32_t i = 0; i < count; i++)
			c->where[i] = picture->first + first + i;
		if (picture->depth)
			picture_measure_depth(c, camera, &own[first], count, &picture->depth[first]);
		if (!picture->colour && !picture->labels && !picture->instances && !picture->heat &&
			!picture->normals && !picture->flow)
			continue;
		uint32_t aimed = picture_aim(c, &own[first], count, camera->near_m, camera->far_m, pixels);
		picture_cast(c, aimed);
		picture_label(c, picture, first, count, pixels, aimed);
		if (picture->heat)
			picture_heat(c, camera, picture, first, count, pixels, aimed);
		if (picture->normals || picture->flow)
			picture_truth(c, camera, picture, first, count, pixels, aimed);
		if (picture->colour)
			picture_paint(c, &picture->colour[3 * (size_t)first], count, pixels, aimed);
	}
	if (picture->colour && camera->smooth) {
		bool *edges = picture_find_edges(c, camera, picture->first, total);
		picture_smooth_edges(c, camera, picture->first, total, edges, picture->colour);
		free(edges);
	}
}

/* The mean of the colour at several times of the exposure. In double precision the sum of equal numbers is exact, so
 * where nothing moves the mean has the bits of one time: a process that knows of nothing that moves takes only one. */
static void picture_blur(
	struct picture_chunk *c, const struct sdf_camera *camera, const struct picture *picture, uint32_t times)
{
	size_t numbers = 3 * (size_t)(picture->count ? picture->count : c->total);
	struct picture once = {
		.colour = mem_alloc(numbers * sizeof *once.colour), .first = picture->first, .count = picture->count};
	double *sum = mem_alloc(numbers * sizeof *sum);
	for (uint32_t time = 0; time < times; time++) {
		c->moving.lag_s = c->moving.how->exposure_s * (time + 0.5) / times;
		picture_expose(c, camera, &once);
		for (size_t i = 0; i < numbers; i++)
			sum[i] += (double)once.colour[i];
	}
	for (size_t i = 0; i < numbers; i++)
		picture->colour[i] = (float)(sum[i] / times);
	free(sum);
	free(once.colour);
}

void picture_take(const struct rays *rays, const struct lights *lights, const struct sdf_camera *camera,
	const struct vec3 *directions, struct pose pose, const struct picture *picture)
{
	struct picture_chunk *c = mem_alloc(sizeof *c);
	struct picture now = *picture;
	c->rays = rays;
	c->lights = lights;
	c->scene = rays_surroundings(rays);
	if (c->scene->sky)
		c->sky = picture_sky_of(c->scene, picture->time_s);
	c->mask = camera->visibility_mask;
	c->directions = directions;
	c->width = camera->width;
	c->total = camera->width * camera->height;
	c->eye = pose.p;
	c->turn = quat_matrix(quat_unit(pose.q));
	uint32_t times = picture_move_begin(c, camera, pose, picture->motion);
	if (picture->colour && times > 1) {
		picture_blur(c, camera, picture, times);
		now.colour = NULL;
	}
	c->moving.lag_s = c->moving.how ? c->moving.how->exposure_s / 2 : 0;
	if (now.colour || now.depth || now.labels || now.instances || now.heat || now.normals || now.flow)
		picture_expose(c, camera, &now);
	free(c);
}
