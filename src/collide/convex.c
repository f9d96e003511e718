/* Contacts of two convex shapes. The least translation that separates them (depth.c) gives the normal. When one of
 * them turns a face that way, the face or edge that the other turns towards it is clipped to that face, and every
 * remaining point behind the face is a contact. Otherwise the shapes touch at one point. */
#include "collide/internal.h"

#define ALIGNED 0.9995 /* cosine of 1.8 degrees: within this angle a face counts as flat on the other shape */

/* How well a polygon serves as the face on which the other shape rests; -1: not at all. */
static double fitness(const struct polygon *polygon, struct vec3 towards)
{
	return polygon->flat ? vec3_dot(polygon->normal, towards) : -1;
}

/* Contacts where `resting` is behind the face; normal is for the first shape. */
static uint32_t rest_on(
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

uint32_t convex_manifold(const struct collide_shape *a, const struct collide_shape *b, struct collide_contact deepest,
	struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	struct polygon of_a, of_b;
	struct collide_contact contacts[CLIPPED_MAX];
	struct vec3 n = deepest.normal, back = vec3_scale(n, -1);
	feature_toward(a, back, &of_a);
	feature_toward(b, n, &of_b);
	double fit_a = fitness(&of_a, back), fit_b = fitness(&of_b, n);
	uint32_t count = 0;
	if (fit_b > ALIGNED && fit_b > fit_a - 1e-6)
		count = rest_on(&of_b, &of_a, of_b.normal, contacts);
	else if (fit_a > ALIGNED)
		count = rest_on(&of_a, &of_b, vec3_scale(of_a.normal, -1), contacts);
	count = reduce_flat(contacts, count);
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

static uint32_t below(
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

uint32_t collide_plane(
	const struct collide_shape *a, struct vec3 n, double offset, struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	struct polygon side;
	struct collide_contact contacts[CLIPPED_MAX + 1];
	struct vec3 back = vec3_scale(n, -1), lowest = feature_support(a, back);
	feature_toward(a, back, &side);
	uint32_t count = below(&lowest, 1, n, offset, contacts);
	if (count)
		count += below(side.p, side.count, n, offset, contacts + 1);
	count = reduce_flat(contacts, count);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = contacts[i];
	return count;
}
