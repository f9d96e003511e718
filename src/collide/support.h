/* The farthest point of a convex shape along a direction. Inlined, because most of the work of depth.c and trimesh.c is
 * this. */
#ifndef COLLIDE_SUPPORT_H
#define COLLIDE_SUPPORT_H

#include "collide/collide.h"

static inline struct vec3 support_turn(const struct mat3 *r, struct vec3 v)
{
	return (struct vec3){r->m[0][0] * v.x + r->m[0][1] * v.y + r->m[0][2] * v.z,
		r->m[1][0] * v.x + r->m[1][1] * v.y + r->m[1][2] * v.z,
		r->m[2][0] * v.x + r->m[2][1] * v.y + r->m[2][2] * v.z};
}

static inline struct vec3 support_turn_back(const struct mat3 *r, struct vec3 v)
{
	return (struct vec3){r->m[0][0] * v.x + r->m[1][0] * v.y + r->m[2][0] * v.z,
		r->m[0][1] * v.x + r->m[1][1] * v.y + r->m[2][1] * v.z,
		r->m[0][2] * v.x + r->m[1][2] * v.y + r->m[2][2] * v.z};
}

/* The farthest point; the first of several. */
static inline uint32_t support_farthest(const struct vec3 *points, uint32_t count, struct vec3 d)
{
	uint32_t best = 0;
	double far = vec3_dot(points[0], d);
	for (uint32_t i = 1; i < count; i++) {
		double along = vec3_dot(points[i], d);
		if (along > far)
			far = along, best = i;
	}
	return best;
}

/* The point farthest along d on the circle of this radius about the z axis, at height z. */
static inline struct vec3 support_rim(double radius, double z, struct vec3 d)
{
	double length = sqrt(d.x * d.x + d.y * d.y);
	return length > 0 ? (struct vec3){radius * d.x / length, radius * d.y / length, z} : (struct vec3){0, 0, z};
}

/* In the shape's own frame; d need not be of unit length. Not for a triangle, which has no frame. */
static inline struct vec3 support_own(const struct collide_shape *s, struct vec3 d)
{
	double r = s->size.x, h = s->size.z;
	switch (s->kind) {
	case COLLIDE_BOX:
		return (struct vec3){
			d.x < 0 ? -s->size.x : s->size.x, d.y < 0 ? -s->size.y : s->size.y, d.z < 0 ? -h : h};
	case COLLIDE_SPHERE:
		return vec3_scale(vec3_unit(d), r);
	case COLLIDE_CAPSULE:
		return vec3_add(vec3_scale(vec3_unit(d), r), (struct vec3){0, 0, d.z < 0 ? -h : h});
	case COLLIDE_CYLINDER:
		return support_rim(r, d.z < 0 ? -h : h, d);
	case COLLIDE_CONE: {
		struct vec3 base = support_rim(r, -h, d);
		return h * d.z > vec3_dot(base, d) ? (struct vec3){0, 0, h} : base;
	}
	case COLLIDE_ELLIPSOID: {
		struct vec3 scaled = {d.x * s->size.x, d.y * s->size.y, d.z * s->size.z}, u = vec3_unit(scaled);
		return (struct vec3){u.x * s->size.x, u.y * s->size.y, u.z * s->size.z};
	}
	case COLLIDE_HULL:
		return s->hull->points.at[support_farthest(s->hull->points.at, s->hull->points.count, d)];
	case COLLIDE_TRIANGLE:
		break;
	}
	return (struct vec3){0, 0, 0};
}

#endif
