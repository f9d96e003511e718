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
	boxes[at] = (struct boxes_flat){label, instance, UINT32_MAX, UINT32_MAX, 0, 0};
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
