/* A convex shape on a surface of triangles, triangle by triangle.
 *
 * Seen alone, a triangle's edge is as good a thing to hit as any. In a surface it is one only where the surface falls
 * away beyond it: a normal m at an edge or corner is right when no neighbouring point lies beyond the plane through it
 * with that normal. Else the triangle's own normal is, for what of the shape is over the triangle; the rest is its
 * neighbours' business. So on a flat floor, however cut up, there are no normals but the floor's. */
#include "collide/internal.h"

#include <string.h>

#define FACE 0.9998 /* cosine: so near to the triangle's normal it is the triangle's normal */
#define SINK 1e-3   /* sine: so much a neighbour may rise above the plane */
#define SAME 0.996  /* cosine, 5 degrees: contacts that much alike are reduced together */

struct meeting {
	const struct collide_shape *a;
	const struct skin *skin;
	struct skin_triangle t;
	struct collide_space *space;
};

static struct polygon polygon_of(const struct skin_triangle *t)
{
	return (struct polygon){.p = {t->p[0], t->p[1], t->p[2]}, .count = 3, .normal = t->normal, .flat = true};
}

static double height(const struct skin_triangle *t, struct vec3 point)
{
	return vec3_dot(t->normal, vec3_sub(point, t->p[0]));
}

/* What of the shape's lower side is over the triangle and below its plane. */
static uint32_t on_face(const struct meeting *m, const struct polygon *side)
{
	struct polygon face = polygon_of(&m->t), inside;
	uint32_t count = 0;
	feature_clip(side, &face, &inside);
	for (uint32_t i = 0; i < inside.count; i++) {
		double depth = -height(&m->t, inside.p[i]);
		if (depth <= 0)
			continue;
		vec_push(&m->space->found, (struct collide_contact){inside.p[i], m->t.normal, depth});
		count++;
	}
	return count;
}

/* All that is below the plane is over the triangle, farther from its edges than it is deep. */
static bool well_inside(const struct meeting *m, const struct polygon *side)
{
	for (uint32_t i = 0; i < side->count; i++) {
		double depth = -height(&m->t, side->p[i]);
		for (int k = 0; k < 3; k++) {
			struct vec3 edge = vec3_unit(vec3_sub(m->t.p[(k + 1) % 3], m->t.p[k]));
			struct vec3 inward = vec3_cross(m->t.normal, edge);
			if (vec3_dot(inward, vec3_sub(side->p[i], m->t.p[k])) < MAX(depth, 0.0))
				return false;
		}
	}
	return true;
}

static bool lies_under(struct vec3 normal, struct vec3 at, struct vec3 point)
{
	struct vec3 d = vec3_sub(point, at);
	return vec3_dot(normal, d) <= SINK * vec3_length(d);
}

/* Whether the surface may be hit with this normal at that edge or corner of the triangle which is farthest along it. */
static bool is_right(const struct meeting *m, struct vec3 normal)
{
	const struct skin_triangle *t = &m->t;
	double along[3], most = -INFINITY, size = 0;
	if (vec3_dot(normal, t->normal) < -SINK)
		return false;
	for (int k = 0; k < 3; k++) {
		along[k] = vec3_dot(normal, t->p[k]);
		most = MAX(most, along[k]);
		size = MAX(size, vec3_length(vec3_sub(t->p[(k + 1) % 3], t->p[k])));
	}
	bool far[3];
	for (int k = 0; k < 3; k++)
		far[k] = along[k] >= most - 1e-4 * size;
	for (int k = 0; k < 3; k++)
		if (far[k] && far[(k + 1) % 3])
			return t->rim[k] || lies_under(normal, t->p[k], t->across[k]);
	int k = far[0] ? 0 : far[1] ? 1 : 2;
	struct vec3 near[SKIN_AROUND_MAX];
	uint32_t count = skin_around(m->skin, t->corner[k], near);
	for (uint32_t i = 0; i < count; i++)
		if (!lies_under(normal, t->p[k], near[i]))
			return false;
	return count > 0;
}

/* A round shape's line and the triangle's edges, or its ends and the triangle's inside. */
static bool round_depth(const struct collide_shape *a, const struct skin_triangle *t, struct collide_contact *ret)
{
	struct vec3 end[2];
	double least = a->size.x;
	bool found = false;
	round_ends(a, end);
	for (int k = 0; k < 3; k++) {
		struct vec3 mine, its;
		round_nearest(end[0], end[1], t->p[k], t->p[(k + 1) % 3], &mine, &its);
		struct vec3 d = vec3_sub(mine, its);
		double apart = vec3_length(d);
		if (apart >= least || apart < 1e-12)
			continue;
		least = apart;
		ret->normal = vec3_scale(d, 1 / apart);
		ret->depth = a->size.x - apart;
		ret->at = vec3_sub(mine, vec3_scale(ret->normal, a->size.x));
		found = true;
	}
	for (int e = 0; e < 2; e++) {
		struct polygon point = {.count = 1, .p = {end[e]}}, face = polygon_of(t), inside;
		feature_clip(&point, &face, &inside);
		if (!inside.count || fabs(height(t, end[e])) > least)
			continue;
		least = fabs(height(t, end[e]));
		ret->normal = t->normal;
		ret->depth = a->size.x - height(t, end[e]);
		ret->at = vec3_sub(end[e], vec3_scale(t->normal, a->size.x));
		found = true;
	}
	return found;
}

static void meet(struct meeting *m)
{
	const struct skin_triangle *t = &m->t;
	struct vec3 back = vec3_scale(t->normal, -1);
	if (height(t, feature_support(m->a, back)) >= 0 || height(t, feature_support(m->a, t->normal)) <= 0)
		return;
	struct polygon side;
	feature_toward(m->a, back, &side);
	if (!t->ridged || well_inside(m, &side)) {
		on_face(m, &side);
		return;
	}
	struct collide_shape triangle = {.kind = COLLIDE_TRIANGLE, .corner = {t->p[0], t->p[1], t->p[2]}};
	struct collide_contact deepest, edge[COLLIDE_PAIR_MAX];
	if (!(round_is(m->a) ? round_depth(m->a, t, &deepest)
			     : depth_find(m->a, &triangle, &deepest.normal, &deepest.depth, &deepest.at)))
		return;
	if (vec3_dot(deepest.normal, t->normal) > FACE || !is_right(m, deepest.normal)) {
		on_face(m, &side);
		return;
	}
	uint32_t count = 1;
	if (round_is(m->a))
		edge[0] = deepest;
	else
		count = convex_manifold(m->a, &triangle, deepest, edge);
	for (uint32_t i = 0; i < count; i++)
		vec_push(&m->space->found, edge[i]);
}

/* --- what is left of many --------------------------------------------------------------------------------------- */

/* Runs of contacts with much the same normal, each reduced; the order is that of the first of each run. */
static uint32_t reduce_all(struct collide_contact *c, uint32_t count)
{
	uint32_t kept = 0;
	for (uint32_t begin = 0; begin < count;) {
		uint32_t end = begin + 1;
		for (uint32_t i = end; i < count; i++)
			if (vec3_dot(c[i].normal, c[begin].normal) > SAME) {
				struct collide_contact swap = c[end];
				c[end++] = c[i];
				c[i] = swap;
			}
		uint32_t left = reduce_flat(&c[begin], end - begin);
		memmove(&c[kept], &c[begin], left * sizeof *c);
		kept += left;
		begin = end;
	}
	return kept;
}

static uint32_t keep_deepest(struct collide_contact *c, uint32_t count, uint32_t most)
{
	while (count > most) {
		uint32_t least = 0;
		for (uint32_t i = 1; i < count; i++)
			if (c[i].depth < c[least].depth)
				least = i;
		memmove(&c[least], &c[least + 1], (count - least - 1) * sizeof *c);
		count--;
	}
	return count;
}

static struct aabb box_of(const struct collide_shape *a)
{
	return (struct aabb){
		{feature_support(a, (struct vec3){-1, 0, 0}).x, feature_support(a, (struct vec3){0, -1, 0}).y,
			feature_support(a, (struct vec3){0, 0, -1}).z},
		{feature_support(a, (struct vec3){1, 0, 0}).x, feature_support(a, (struct vec3){0, 1, 0}).y,
			feature_support(a, (struct vec3){0, 0, 1}).z}};
}

uint32_t collide_skin(const struct collide_shape *a, const struct skin *skin, uint32_t most,
	struct collide_space *space, struct collide_contact *ret)
{
	struct aabb box = box_of(a);
	struct meeting m = {.a = a, .skin = skin, .space = space};
	skin_query(skin, &box, &space->triangles);
	space->found.count = 0;
	for (uint32_t i = 0; i < space->triangles.count; i++) {
		skin_get(skin, space->triangles.at[i], &m.t);
		meet(&m);
	}
	uint32_t count = reduce_all(space->found.at, space->found.count);
	count = keep_deepest(space->found.at, count, most);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = space->found.at[i];
	return count;
}

void collide_space_fini(struct collide_space *space)
{
	vec_free(&space->triangles);
	vec_free(&space->found);
}
