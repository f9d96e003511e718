/* What the files of this folder share. */
#ifndef COLLIDE_INTERNAL_H
#define COLLIDE_INTERNAL_H

#include "collide/collide.h"

enum { POLYGON_MAX = HULL_SIDE_CORNERS_MAX, CLIPPED_MAX = 2 * POLYGON_MAX };

struct polygon { /* one point, two points, or a flat polygon, counter-clockwise when seen against normal */
	struct vec3 p[CLIPPED_MAX];
	uint32_t count;
	struct vec3 normal;
	bool flat; /* a face: the other shape may rest on its plane */
};

/* feature.c: a point of the shape's own frame in the working frame. */
struct vec3 feature_point(const struct collide_shape *shape, struct vec3 local);
/* The farthest point along d, which need not be of unit length. */
struct vec3 feature_support(const struct collide_shape *shape, struct vec3 d);
/* The face, edge or point of the shape that is turned most towards d (a unit vector). */
void feature_toward(const struct collide_shape *shape, struct vec3 d, struct polygon *ret_polygon);
/* The same, and then the other sides of a hull that are turned towards d within an angle: a surface that is almost flat
 * has several. Other shapes have no more. */
struct feature_walk {
	const struct collide_shape *shape;
	struct vec3 d; /* in the shape's own frame */
	double cosine; /* of the angle */
	uint32_t first, next;
};
struct feature_walk feature_walk(
	const struct collide_shape *shape, struct vec3 d, double cosine, struct polygon *ret_first);
bool feature_next(struct feature_walk *walk, struct polygon *ret_polygon);
/* The part of `polygon` in the prism over `base` along base->normal: only its points are set. */
void feature_clip(const struct polygon *polygon, const struct polygon *base, struct polygon *ret_polygon);

/* depth.c: the least translation that separates two overlapping shapes: a moves by depth along *ret_normal. False
 * when they do not overlap. *ret_at lies on a. Only b may be a triangle. */
bool depth_find(const struct collide_shape *a, const struct collide_shape *b, struct vec3 *ret_normal,
	double *ret_depth, struct vec3 *ret_at);

/* convex.c: the contacts around the deepest one. */
uint32_t convex_manifold(const struct collide_shape *a, const struct collide_shape *b, struct collide_contact deepest,
	struct collide_contact ret[COLLIDE_PAIR_MAX]);

/* round.c: spheres and capsules, exactly. */
static inline bool round_is(const struct collide_shape *shape)
{
	return shape->kind == COLLIDE_SPHERE || shape->kind == COLLIDE_CAPSULE;
}
uint32_t round_hull(const struct collide_shape *a, const struct hull *hull, const struct collide_shape *at,
	struct collide_contact ret[COLLIDE_PAIR_MAX]);
/* The ends of the segment at the core of a sphere or capsule. */
void round_ends(const struct collide_shape *shape, struct vec3 ret_ends[2]);
/* The nearest points of two segments, a to b and c to d. */
void round_nearest(
	struct vec3 a, struct vec3 b, struct vec3 c, struct vec3 d, struct vec3 *ret_on_ab, struct vec3 *ret_on_cd);

/* reduce.c: reduces contacts with similar normals to the deepest one and those that span the largest area. Works in
 * place; returns how many are left, at most COLLIDE_PAIR_MAX. */
uint32_t reduce_flat(struct collide_contact *contacts, uint32_t count);

#endif
