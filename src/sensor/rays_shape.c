/* Normals at the points that rays hit, and outlines: points whose hull is the box, ball, cylinder or other shape of a
 * visual, for cameras that draw boxes around what they see. */
#include "sensor/rays_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- normals ------------------------------------------------------------------------------------------------------ */

/* The side of a box that the point lies on: the one in which it is farthest out. */
static struct vec3 rays_shape_box_normal(struct vec3 p, struct vec3 half)
{
	double x = fabs(p.x) - half.x, y = fabs(p.y) - half.y, z = fabs(p.z) - half.z;
	if (x >= y && x >= z)
		return (struct vec3){copysign(1, p.x), 0, 0};
	return y >= z ? (struct vec3){0, copysign(1, p.y), 0} : (struct vec3){0, 0, copysign(1, p.z)};
}

static struct vec3 rays_shape_cylinder_normal(struct vec3 p, double radius, double half)
{
	if (fabs(p.z) - half >= sqrt(p.x * p.x + p.y * p.y) - radius)
		return (struct vec3){0, 0, copysign(1, p.z)};
	return (struct vec3){p.x, p.y, 0};
}

static struct vec3 rays_shape_capsule_normal(struct vec3 p, double half)
{
	return (struct vec3){p.x, p.y, p.z > half ? p.z - half : p.z < -half ? p.z + half : 0};
}

static struct vec3 rays_shape_cone_normal(struct vec3 p, double radius, double half)
{
	double across = sqrt(p.x * p.x + p.y * p.y), slope = radius / (2 * half);
	if (-half - p.z >= across - slope * (half - p.z))
		return (struct vec3){0, 0, -1};
	return (struct vec3){p.x, p.y, across * slope};
}

static struct vec3 rays_shape_local_normal(const struct seen *seen, struct vec3 p, uint32_t part)
{
	struct vec3 s = seen->size;
	switch (seen->kind) {
	case SDF_BOX:
		return rays_shape_box_normal(p, s);
	case SDF_SPHERE:
		return p;
	case SDF_CYLINDER:
		return rays_shape_cylinder_normal(p, s.x, s.z);
	case SDF_CAPSULE:
		return rays_shape_capsule_normal(p, s.z);
	case SDF_CONE:
		return rays_shape_cone_normal(p, s.x, s.z);
	case SDF_ELLIPSOID:
		return (struct vec3){p.x / (s.x * s.x), p.y / (s.y * s.y), p.z / (s.z * s.z)};
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
		return surface_normal(seen->surface, part);
	case SDF_PLANE:
	case SDF_IMAGE:
	case SDF_EMPTY:
		break;
	}
	return (struct vec3){0, 0, 1};
}

struct vec3 rays_normal(const struct rays *rays, const struct ray *ray, const struct ray_hit *hit)
{
	const struct seen *seen = &rays->seen[hit->place];
	struct vec3 p = seen_turned(seen, vec3_sub(ray_point(ray, hit), seen->at));
	struct vec3 n = vec3_unit(rays_shape_local_normal(seen, p, hit->part));
	struct vec3 normal = seen_turned_back(seen, n);
	return vec3_dot(normal, ray->direction) > 0 ? vec3_scale(normal, -1) : normal;
}

/* --- outlines -------------------------------------------------------------------------------------------------------
 */

enum { AROUND = 64, RINGS = 33 };

/* A circle about z. */
static uint32_t rays_shape_add_circle(struct vec3 *points, double rx, double ry, double z)
{
	for (uint32_t i = 0; i < AROUND; i++) {
		double sin, cos;
		math_sincos(i * (2 * M_PI / AROUND), &sin, &cos);
		points[i] = (struct vec3){rx * cos, ry * sin, z};
	}
	return AROUND;
}

/* up: by which the upper half is moved up, and the lower half down. */
static uint32_t rays_shape_add_ball(struct vec3 *points, struct vec3 radii, double up)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < RINGS; r++) {
		double sin, cos;
		math_sincos(r * (M_PI / (RINGS - 1)), &sin, &cos);
		double z = radii.z * cos;
		count += rays_shape_add_circle(
			&points[count], radii.x * sin, radii.y * sin, z + (2 * r < RINGS ? up : -up));
		if (2 * r + 1 == RINGS && up > 0) /* the equator has two places */
			count += rays_shape_add_circle(&points[count], radii.x * sin, radii.y * sin, z - up);
	}
	return count;
}

static uint32_t rays_shape_add_corners(struct vec3 *points, struct vec3 middle, struct vec3 half)
{
	for (int i = 0; i < 8; i++)
		points[i] = (struct vec3){middle.x + (i & 1 ? half.x : -half.x), middle.y + (i & 2 ? half.y : -half.y),
			middle.z + (i & 4 ? half.z : -half.z)};
	return 8;
}

/* In the visual's own frame. */
static uint32_t rays_shape_outline_of(const struct seen *seen, struct vec3 *points)
{
	struct vec3 s = seen->size;
	uint32_t count = 0;
	const struct vec3 *all = seen->surface ? surface_points(seen->surface, &count) : NULL;
	switch (seen->kind) {
	case SDF_SPHERE:
		return rays_shape_add_ball(points, (struct vec3){s.x, s.x, s.x}, 0);
	case SDF_CAPSULE:
		return rays_shape_add_ball(points, (struct vec3){s.x, s.x, s.x}, s.z);
	case SDF_ELLIPSOID:
		return rays_shape_add_ball(points, s, 0);
	case SDF_CYLINDER:
		count = rays_shape_add_circle(points, s.x, s.x, s.z);
		return count + rays_shape_add_circle(&points[count], s.x, s.x, -s.z);
	case SDF_CONE:
		points[0] = (struct vec3){0, 0, s.z};
		return 1 + rays_shape_add_circle(&points[1], s.x, s.x, -s.z);
	case SDF_MESH:
	case SDF_POLYLINE:
		if (count <= RAYS_OUTLINE_MAX) {
			memcpy(points, all, count * sizeof *points);
			return count;
		}
		break;
	case SDF_BOX:
	case SDF_PLANE:
	case SDF_HEIGHTMAP:
	case SDF_IMAGE:
	case SDF_EMPTY:
		break;
	}
	return rays_shape_add_corners(points, seen->middle, seen->reach);
}

static struct pose rays_shape_model_pose(const struct rays *rays, uint32_t model)
{
	const struct scene_model *m = &rays->scene->models[model];
	return m->body_count ? pose_mul(rays->poses.at[m->body_first + m->frame_body], m->in_body) : m->in_body;
}

void rays_outlines(const struct rays *rays, rays_outline_fn *outline, void *ctx)
{
	struct vec3 *points = NULL;
	for (uint32_t i = 0; i < rays->places.end; i++) {
		const struct seen *seen = &rays->seen[i];
		if (!seen->label.label || seen->kind == SDF_EMPTY || rays->known.at[seen->model].hidden)
			continue;
		if (!points)
			points = mem_alloc(RAYS_OUTLINE_MAX * sizeof *points);
		uint32_t count = rays_shape_outline_of(seen, points);
		for (uint32_t k = 0; k < count; k++)
			points[k] = vec3_add(seen->at, seen_turned_back(seen, points[k]));
		outline(ctx, seen->label, rays_shape_model_pose(rays, seen->model), points, count);
	}
	free(points);
}
