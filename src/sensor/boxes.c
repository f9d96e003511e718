/* The boxes of visible parts grow around pixels; those of whole models around the points of their visuals. */
#include "sensor/boxes.h"

#include "sensor/lens.h"

#include <stdlib.h>
#include <string.h>

static bool boxes_before(const struct boxes_flat *a, uint32_t label, uint32_t instance)
{
	return a->label != label ? a->label < label : a->instance < instance;
}

/* The place of a model's box among boxes in order, or where it would be. */
static uint32_t boxes_place(
	const struct boxes_flat *boxes, uint32_t count, uint32_t label, uint32_t instance, bool *ret_found)
{
	uint32_t lo = 0, hi = count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (boxes_before(&boxes[middle], label, instance))
			lo = middle + 1;
		else
			hi = middle;
	}
	*ret_found = lo < count && boxes[lo].label == label && boxes[lo].instance == instance;
	return lo;
}

/* The box of a model; it is made in its place, which keeps the order. NULL: there is no more room. */
static struct boxes_flat *boxes_make(
	struct boxes_flat *boxes, uint32_t *count, uint32_t room, uint32_t label, uint32_t instance)
{
	bool found;
	uint32_t at = boxes_place(boxes, *count, label, instance, &found);
	if (found)
		return &boxes[at];
	if (*count == room)
		return NULL;
	memmove(&boxes[at + 1], &boxes[at], (*count - at) * sizeof *boxes);
	(*count)++;
	boxes[at] = (struct boxes_flat){.label = label, .instance = instance, .left = UINT32_MAX, .top = UINT32_MAX};
	return &boxes[at];
}

uint32_t boxes_find(const uint32_t *labels, const uint32_t *instances, uint32_t width, uint32_t height,
	struct boxes_flat *boxes, uint32_t room)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < height; r++)
		for (uint32_t c = 0; c < width; c++) {
			size_t i = (size_t)r * width + c;
			struct boxes_flat *box =
				labels[i] ? boxes_make(boxes, &count, room, labels[i], instances[i]) : NULL;
			if (!box)
				continue;
			box->left = MIN(box->left, c);
			box->top = MIN(box->top, r);
			box->right = MAX(box->right, c);
			box->bottom = MAX(box->bottom, r);
			box->pixels++;
		}
	return count;
}

struct boxes_fit { /* boxes that grow around the points of models */
	const struct boxes_flat *boxes;
	uint32_t count;
	struct pose from_world; /* into the camera's frame */
	struct lens_pinhole hole;
	struct aabb *around; /* 2d: x, y are pixels; 3d: in the model's frame */
	struct pose *models; /* 3d: the models' poses; NULL: 2d */
};

static void boxes_fit_points(
	void *ctx, struct rays_label label, struct pose model, const struct vec3 *points, uint32_t count)
{
	struct boxes_fit *fit = ctx;
	bool found;
	uint32_t at = boxes_place(fit->boxes, fit->count, label.label, label.instance, &found);
	struct pose back = pose_inverse(model);
	for (uint32_t i = 0; found && i < count; i++) {
		struct vec3 p = pose_point(fit->models ? back : fit->from_world, points[i]);
		if (!fit->models) {
			if (!(p.x > 1e-6))
				continue;
			double x = -p.y / p.x, y = -p.z / p.x;
			p = (struct vec3){fit->hole.cx + fit->hole.fx * x + fit->hole.skew * y,
				fit->hole.cy + fit->hole.fy * y, 0};
		}
		fit->around[at] = aabb_join(fit->around[at], (struct aabb){p, p});
	}
	if (found && fit->models)
		fit->models[at] = model;
}

static void boxes_fit_all(struct boxes_fit *fit, const struct rays *rays)
{
	fit->around = mem_alloc((fit->count + 1) * sizeof *fit->around);
	for (uint32_t i = 0; i < fit->count; i++)
		fit->around[i] = AABB_NONE;
	rays_outlines(rays, boxes_fit_points, fit);
}

/* The pixel that holds the place, in the picture. */
static uint32_t boxes_pixel_at(double place, uint32_t size)
{
	return place < 0 ? 0 : place >= size ? size - 1 : (uint32_t)place;
}

void boxes_full(const struct rays *rays, const struct sdf_camera *camera, struct pose pose, struct boxes_flat *boxes,
	uint32_t count)
{
	struct boxes_fit fit = {
		.boxes = boxes, .count = count, .from_world = pose_inverse(pose), .hole = lens_pinhole_of(camera)};
	boxes_fit_all(&fit, rays);
	for (uint32_t i = 0; i < count; i++) {
		const struct aabb *around = &fit.around[i];
		if (aabb_is_empty(around))
			continue;
		boxes[i].left = boxes_pixel_at(around->lo.x, camera->width);
		boxes[i].right = boxes_pixel_at(around->hi.x, camera->width);
		boxes[i].top = boxes_pixel_at(around->lo.y, camera->height);
		boxes[i].bottom = boxes_pixel_at(around->hi.y, camera->height);
	}
	free(fit.around);
}

/* The part of the box that lies beyond the picture. */
static double boxes_beyond(const struct aabb *around, const struct sdf_camera *camera)
{
	double w = camera->width, h = camera->height,
	       all = (around->hi.x - around->lo.x) * (around->hi.y - around->lo.y);
	double wide = fmin(around->hi.x, w) - fmax(around->lo.x, 0),
	       high = fmin(around->hi.y, h) - fmax(around->lo.y, 0);
	return all > 0 ? 1 - fmax(wide, 0) * fmax(high, 0) / all : 0;
}

enum { BOXES_CHUNK = 256 };

struct boxes_depths { /* rays that look through what they hit */
	const struct rays *rays;
	uint32_t mask;
	struct boxes_flat *boxes;
	uint32_t count;
	uint32_t found[BOXES_CHUNK][BOXES_LAYERS]; /* by ray: the boxes of the models that it has hit so far */
	uint32_t found_count[BOXES_CHUNK];
	struct ray cast[BOXES_CHUNK];
	struct ray_hit hits[BOXES_CHUNK];
};

/* A model counts once for each ray. */
static void boxes_count_hit(struct boxes_depths *d, uint32_t ray, const struct ray_hit *hit)
{
	struct rays_label label = rays_label(d->rays, hit);
	bool found;
	uint32_t at = boxes_place(d->boxes, d->count, label.label, label.instance, &found);
	for (uint32_t i = 0; i < d->found_count[ray]; i++)
		found &= d->found[ray][i] != at;
	if (!found)
		return;
	d->found[ray][d->found_count[ray]++] = at;
	d->boxes[at].pixels_alone++;
}

static void boxes_look_through(struct boxes_depths *d, uint32_t rays)
{
	memset(d->found_count, 0, sizeof d->found_count);
	for (uint32_t layer = 0; layer < BOXES_LAYERS && rays; layer++) {
		uint32_t on = 0;
		rays_cast(d->rays, d->cast, rays, d->mask, d->hits);
		for (uint32_t i = 0; i < rays; i++) {
			if (d->hits[i].model == SCENE_NONE)
				continue;
			boxes_count_hit(d, i, &d->hits[i]);
			memmove(d->found[on], d->found[i], sizeof d->found[i]);
			d->found_count[on] = d->found_count[i];
			d->cast[on] = d->cast[i];
			d->cast[on++].min = nextafter(d->hits[i].distance, INFINITY);
		}
		rays = on;
	}
}

void boxes_measure(const struct rays *rays, const struct sdf_camera *camera, const struct vec3 *directions,
	struct pose pose, struct boxes_flat *boxes, uint32_t count)
{
	struct boxes_fit fit = {
		.boxes = boxes, .count = count, .from_world = pose_inverse(pose), .hole = lens_pinhole_of(camera)};
	struct boxes_depths *d = mem_alloc(sizeof *d);
	uint32_t total = camera->width * camera->height, rays_count = 0;
	*d = (struct boxes_depths){.rays = rays, .mask = camera->visibility_mask, .boxes = boxes, .count = count};
	boxes_fit_all(&fit, rays);
	for (uint32_t i = 0; i < count; i++) {
		boxes[i].truncated = aabb_is_empty(&fit.around[i]) ? 0 : boxes_beyond(&fit.around[i], camera);
		boxes[i].pixels_alone = 0;
	}
	for (uint32_t i = 0; i < total && count; i++) {
		const struct vec3 *way = &directions[i];
		double slant = way->x > 0.01 ? way->x : 1;
		if (way->x != 0 || way->y != 0 || way->z != 0)
			d->cast[rays_count++] = (struct ray){pose.p, quat_rotate(quat_unit(pose.q), *way),
				camera->near_m / slant, camera->far_m / slant};
		if (rays_count == BOXES_CHUNK || i == total - 1) {
			boxes_look_through(d, rays_count);
			rays_count = 0;
		}
	}
	free(fit.around);
	free(d);
}

void boxes_solid(const struct rays *rays, struct pose pose, const struct boxes_flat *boxes, uint32_t count,
	struct boxes_solid *solids)
{
	struct boxes_fit fit = {.boxes = boxes, .count = count, .from_world = pose_inverse(pose)};
	fit.models = mem_alloc((count + 1) * sizeof *fit.models);
	boxes_fit_all(&fit, rays);
	for (uint32_t i = 0; i < count; i++) {
		struct aabb around = fit.around[i];
		if (aabb_is_empty(&around)) {
			solids[i] = (struct boxes_solid){POSE_IDENTITY, {0, 0, 0}};
			continue;
		}
		struct vec3 size = vec3_sub(around.hi, around.lo), middle = vec3_add(around.lo, vec3_scale(size, 0.5));
		struct pose in_world = pose_mul(fit.models[i], (struct pose){middle, QUAT_IDENTITY});
		solids[i] = (struct boxes_solid){pose_mul(fit.from_world, in_world), size};
	}
	free(fit.around);
	free(fit.models);
}
