/* Contacts of two convex shapes. The least translation that separates them (depth.c) gives the normal. When one of
 * them turns a face that way, the face or edge that the other turns towards it is clipped to that face, and every
 * remaining point behind the face is a contact. Otherwise the shapes touch at one point. A hull may have several sides
 * there, which are almost one: each of them is a face, and each rests. */
#include "collide/internal.h"

#define CONVEX_ALIGNED 0.9995 /* cosine of 1.8 degrees: within this angle a face counts as flat on the other shape */
#define CONVEX_NEARLY 0.99    /* cosine of 8 degrees: within this angle sides of a hull may rest, too */

enum { FOUND_MAX = 4 * CLIPPED_MAX };

/* How well a polygon serves as the face on which the other shape rests; -1: not at all. */
static double convex_fitness(const struct polygon *polygon, struct vec3 towards)
{
	return polygon->flat ? vec3_dot(polygon->normal, towards) : -1;
}

/* Contacts where `resting` is behind the face; normal is for the first shape. */
static uint32_t convex_rest_on(
	const struct polygon *face, const struct polygon *resting, struct vec3 normal, struct collide_contact *contacts)
{
	struct polygon inside;
	uint32_t count = 0;
	feature_clip(resting, face, &inside);
	for (uint32_t i = 0; i < inside.count; i++) {
		double depth = vec3_dot(face->normal, vec3_sub(face->p[0], inside.p[i]));
		if (depth > 0)
			contacts[count++] = (struct collide_contact){
				vec3_add(inside.p[i], vec3_scale(face->normal, depth / 2)), normal, depth};
	}
	return count;
}

static bool convex_reaches(const struct polygon *polygon, const struct polygon *face)
{
	for (uint32_t i = 0; i < polygon->count; i++)
		if (vec3_dot(face->normal, vec3_sub(face->p[0], polygon->p[i])) > 0)
			return true;
	return false;
}

/* What a shape turns towards the other one. */
struct convex_sides {
	struct polygon first;
	struct feature_walk others;
};

static void convex_turn(const struct collide_shape *shape, struct vec3 towards, struct convex_sides *ret)
{
	ret->others = feature_walk(shape, towards, CONVEX_ALIGNED, &ret->first);
}

static const struct polygon *convex_next(struct feature_walk *walk, struct polygon *space)
{
	return feature_next(walk, space) ? space : NULL;
}

/* Adds the contacts of all sides that rest on the face. normal is for the first shape. */
static uint32_t convex_rest_all(const struct polygon *face, const struct convex_sides *resting, struct vec3 normal,
	struct collide_contact contacts[FOUND_MAX], uint32_t count)
{
	struct polygon space;
	struct feature_walk walk = resting->others;
	walk.cosine = CONVEX_NEARLY;
	for (const struct polygon *side = &resting->first; side; side = convex_next(&walk, &space)) {
		if (!convex_reaches(side, face))
			continue;
		if (count > FOUND_MAX - CLIPPED_MAX)
			count = reduce_flat(contacts, count);
		count += convex_rest_on(face, side, normal, contacts + count);
	}
	return count;
}

/* sign: 1 when the faces are of the second shape, or -1. */
static uint32_t convex_rest(const struct convex_sides *base, const struct convex_sides *resting, double sign,
	struct collide_contact contacts[FOUND_MAX])
{
	struct polygon space;
	struct feature_walk walk = base->others;
	uint32_t count = 0;
	for (const struct polygon *face = &base->first; face; face = convex_next(&walk, &space))
		count = convex_rest_all(face, resting, vec3_scale(face->normal, sign), contacts, count);
	return reduce_flat(contacts, count);
}

uint32_t convex_manifold(const struct collide_shape *a, const struct collide_shape *b, struct collide_contact deepest,
	struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	struct collide_contact contacts[FOUND_MAX];
	struct convex_sides of_a, of_b;
	struct vec3 n = deepest.normal, back = vec3_scale(n, -1);
	convex_turn(a, back, &of_a);
	convex_turn(b, n, &of_b);
	double fit_a = convex_fitness(&of_a.first, back), fit_b = convex_fitness(&of_b.first, n);
	uint32_t count = 0;
	if (fit_b > CONVEX_ALIGNED && fit_b > fit_a - 1e-6)
		count = convex_rest(&of_b, &of_a, 1, contacts);
	else if (fit_a > CONVEX_ALIGNED)
		count = convex_rest(&of_a, &of_b, -1, contacts);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = contacts[i];
	if (!count)
		ret[count++] = deepest;
	return count;
}

uint32_t collide_convex(
	const struct collide_shape *a, const struct collide_shape *b, struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	if (round_is(a) && b->kind == COLLIDE_HULL)
		return round_hull(a, b->hull, b, ret);
	if (round_is(b) && a->kind == COLLIDE_HULL) {
		uint32_t count = round_hull(b, a->hull, a, ret);
		for (uint32_t i = 0; i < count; i++)
			ret[i].normal = vec3_scale(ret[i].normal, -1);
		return count;
	}
	struct collide_contact deepest;
	if (!depth_find(a, b, &deepest.normal, &deepest.depth, &deepest.at))
		return 0;
	return convex_manifold(a, b, deepest, ret);
}

/* --- half spaces ------------------------------------------------------------------------------------------------ */

static uint32_t convex_below(
	const struct vec3 *points, uint32_t count, struct vec3 n, double offset, struct collide_contact *ret)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++) {
		double depth = offset - vec3_dot(n, points[i]);
		if (depth > 0)
			ret[found++] = (struct collide_contact){points[i], n, depth};
	}
	return found;
}

/* A hull that is almost flat there may touch with points of several sides. */
uint32_t collide_plane(
	const struct collide_shape *a, struct vec3 n, double offset, struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	struct polygon side;
	struct collide_contact contacts[CLIPPED_MAX + 1 + HULL_CORNERS_MAX];
	struct vec3 back = vec3_scale(n, -1), lowest = feature_support(a, back);
	feature_toward(a, back, &side);
	uint32_t count = convex_below(&lowest, 1, n, offset, contacts);
	if (count)
		count += convex_below(side.p, side.count, n, offset, contacts + 1);
	for (uint32_t i = 0; count && a->kind == COLLIDE_HULL && i < a->hull->points.count; i++) {
		struct vec3 corner = feature_point(a, a->hull->points.at[i]);
		count += convex_below(&corner, 1, n, offset, contacts + count);
	}
	count = reduce_flat(contacts, count);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = contacts[i];
	return count;
}
