/* Spheres and capsules are a point or a segment (the core) with a margin of constant thickness. When the core does not
 * meet the other shape, the nearest points give the contact exactly, and the normal turns smoothly while the shape
 * rolls over an edge. */
#include "collide/internal.h"

#define ROUND_ALIGNED 0.9995 /* cosine of 1.8 degrees: within this angle sides are almost one */
#define POINT 1e-24          /* m2: the square of a shorter segment is that of a point */

void round_ends(const struct collide_shape *s, struct vec3 ret_ends[2])
{
	double half = s->kind == COLLIDE_CAPSULE ? s->size.z : 0;
	struct vec3 along = {s->r.m[0][2] * half, s->r.m[1][2] * half, s->r.m[2][2] * half};
	ret_ends[0] = vec3_sub(s->p, along);
	ret_ends[1] = vec3_add(s->p, along);
}

static double round_clamp(double x)
{
	return x > 0 ? x < 1 ? x : 1 : 0;
}

/* Ericson, "Real-Time Collision Detection", 2005, 5.1.9: both parameters clamped in turn. */
void round_nearest(
	struct vec3 a, struct vec3 b, struct vec3 c, struct vec3 d, struct vec3 *ret_on_ab, struct vec3 *ret_on_cd)
{
	struct vec3 u = vec3_sub(b, a), v = vec3_sub(d, c), w = vec3_sub(a, c);
	double uu = vec3_dot(u, u), vv = vec3_dot(v, v), vw = vec3_dot(v, w), uw = vec3_dot(u, w), s = 0, t = 0;
	if (uu > 0 && vv > 0) {
		double uv = vec3_dot(u, v), part = uu * vv - uv * uv;
		s = part > 1e-12 * uu * vv ? round_clamp((uv * vw - uw * vv) / part) : 0;
		t = (uv * s + vw) / vv;
		if (t < 0 || t > 1) {
			t = round_clamp(t);
			s = round_clamp((uv * t - uw) / uu);
		}
	} else if (uu > 0) {
		s = round_clamp(-uw / uu);
	} else if (vv > 0) {
		t = round_clamp(vw / vv);
	}
	*ret_on_ab = vec3_add(a, vec3_scale(u, s));
	*ret_on_cd = vec3_add(c, vec3_scale(v, t));
}

static struct vec3 round_into(const struct collide_shape *at, struct vec3 point)
{
	struct vec3 v = vec3_sub(point, at->p);
	const struct mat3 *r = &at->r;
	return (struct vec3){r->m[0][0] * v.x + r->m[1][0] * v.y + r->m[2][0] * v.z,
		r->m[0][1] * v.x + r->m[1][1] * v.y + r->m[2][1] * v.z,
		r->m[0][2] * v.x + r->m[1][2] * v.y + r->m[2][2] * v.z};
}

static struct vec3 round_out_of(const struct collide_shape *at, struct vec3 v)
{
	const struct mat3 *r = &at->r;
	return (struct vec3){r->m[0][0] * v.x + r->m[0][1] * v.y + r->m[0][2] * v.z,
		r->m[1][0] * v.x + r->m[1][1] * v.y + r->m[1][2] * v.z,
		r->m[2][0] * v.x + r->m[2][1] * v.y + r->m[2][2] * v.z};
}

/* The side above which the segment is highest, and its height: negative when the segment dips below all sides. */
static double round_highest_side(const struct hull *hull, const struct vec3 end[2], uint32_t *ret_side)
{
	double most = -INFINITY;
	for (uint32_t f = 0; f < hull->sides.count; f++) {
		const struct hull_face *side = &hull->sides.at[f];
		double high = MIN(vec3_dot(side->normal, end[0]), vec3_dot(side->normal, end[1])) - side->offset;
		if (high > most)
			most = high, *ret_side = f;
	}
	return most;
}

/* The parts of the segment over the side, moved outwards along its normal. */
static uint32_t round_over_side(const struct hull *hull, const struct hull_face *side, const struct vec3 end[2],
	double radius, struct collide_contact ret[2])
{
	struct polygon line, base, inside;
	uint32_t count = 0;
	line.count = 2;
	line.p[0] = end[0], line.p[1] = end[1];
	base.count = 0;
	base.normal = side->normal;
	for (uint32_t i = 0; i < side->count; i++)
		base.p[base.count++] = hull->side_points.at[side->first + i];
	struct vec3 d = vec3_sub(end[1], end[0]);
	if (vec3_dot(d, d) < POINT)
		line.count = 1;
	feature_clip(&line, &base, &inside);
	for (uint32_t i = 0; i < inside.count && count < 2; i++) {
		double depth = radius + side->offset - vec3_dot(side->normal, inside.p[i]);
		if (depth > 0)
			ret[count++] = (struct collide_contact){
				vec3_sub(inside.p[i], vec3_scale(side->normal, radius)), side->normal, depth};
	}
	return count;
}

/* A capsule that lies across the ridge between sides that are almost one touches each of them. */
static uint32_t round_over_sides(const struct hull *hull, uint32_t highest, const struct vec3 end[2], double radius,
	struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	struct collide_contact found[2 * COLLIDE_PAIR_MAX];
	const struct hull_face *first = &hull->sides.at[highest];
	uint32_t count = round_over_side(hull, first, end, radius, found);
	struct vec3 d = vec3_sub(end[1], end[0]);
	for (uint32_t f = 0; vec3_dot(d, d) >= POINT && f < hull->sides.count; f++) {
		const struct hull_face *side = &hull->sides.at[f];
		if (f == highest || vec3_dot(side->normal, first->normal) <= ROUND_ALIGNED)
			continue;
		if (count > 2 * COLLIDE_PAIR_MAX - 2)
			count = reduce_flat(found, count);
		count += round_over_side(hull, side, end, radius, found + count);
	}
	if (count > 2)
		count = reduce_flat(found, count);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = found[i];
	return count;
}

static bool round_nearest_edge(
	const struct hull *hull, const struct vec3 end[2], double radius, struct collide_contact *ret)
{
	double least = radius * radius;
	bool found = false;
	for (uint32_t f = 0; f < hull->faces.count; f++) {
		const struct hull_face *face = &hull->faces.at[f];
		for (uint32_t i = 0; i < face->count; i++) {
			uint32_t u = hull->corners.at[face->first + i],
				 v = hull->corners.at[face->first + (i + 1 < face->count ? i + 1 : 0)];
			if (u > v)
				continue; /* the other face reports this contact */
			struct vec3 mine, its;
			round_nearest(end[0], end[1], hull->points.at[u], hull->points.at[v], &mine, &its);
			struct vec3 d = vec3_sub(mine, its);
			double apart = vec3_dot(d, d);
			if (apart >= least || apart < 1e-24)
				continue;
			least = apart;
			double distance = sqrt(apart);
			ret->normal = vec3_scale(d, 1 / distance);
			ret->depth = radius - distance;
			ret->at = vec3_sub(mine, vec3_scale(ret->normal, radius));
			found = true;
		}
	}
	return found;
}

uint32_t round_hull(const struct collide_shape *a, const struct hull *hull, const struct collide_shape *at,
	struct collide_contact ret[COLLIDE_PAIR_MAX])
{
	struct vec3 world[2], end[2];
	double radius = a->size.x;
	uint32_t f = 0, count = 0;
	round_ends(a, world);
	end[0] = round_into(at, world[0]);
	end[1] = round_into(at, world[1]);
	double high = round_highest_side(hull, end, &f);
	if (high >= radius)
		return 0;
	count = round_over_sides(hull, f, end, radius, ret);
	if (!count && round_nearest_edge(hull, end, radius, ret))
		count = 1;
	for (uint32_t i = 0; i < count; i++) {
		ret[i].at = vec3_add(at->p, round_out_of(at, ret[i].at));
		ret[i].normal = round_out_of(at, ret[i].normal);
	}
	return count;
}
