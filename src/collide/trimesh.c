/* A convex shape on a trimesh, one triangle at a time.
 *
 * A single triangle may be hit at its edges. In a surface, an edge may be hit only where the surface falls away
 * beyond it: a normal m at an edge or corner is valid when no neighbouring point lies above the plane through it with
 * that normal. Otherwise the triangle's own normal is used, for the part of the shape that is over the triangle; the
 * neighbours handle the rest. So a flat floor, however it is divided, gives no normals but its own. */
#include "collide/internal.h"
#include "collide/support.h"

#include <string.h>

#define FACE 0.9998 /* cosine: a normal this near to the triangle's counts as the triangle's */
#define SINK 1e-3   /* sine: a neighbour may rise this much above the plane */
#define SAME 0.996  /* cosine of 5 degrees: contacts with normals this near are reduced together */
#define COLLIDE_TRIMESH_NEARLY                                                                                         \
	0.99 /* cosine of 8 degrees: within this angle other sides of a hull may rest on the triangle, too */

struct collide_trimesh_meeting {
	const struct collide_shape *a;
	const struct trimesh *trimesh;
	struct vec3 middle, reach;         /* of a's box */
	struct vec3 own_middle, own_reach; /* of its box in its own frame */
	struct vec3 p[3];                  /* the triangle's corners in that frame */
	struct trimesh_triangle t;
	struct collide_space *space;
};

/* Writes only the part of the polygon that is used: its array is large. */
static void collide_trimesh_polygon_of(const struct trimesh_triangle *t, struct polygon *ret)
{
	memcpy(ret->p, t->p, sizeof t->p);
	ret->count = 3;
	ret->normal = t->normal;
	ret->flat = true;
}

static double collide_trimesh_height(const struct trimesh_triangle *t, struct vec3 point)
{
	return vec3_dot(t->normal, vec3_sub(point, t->p[0]));
}

/* Contacts of the part of a lower side of the shape that is over the triangle and below its plane. */
static void collide_trimesh_side_on_face(const struct collide_trimesh_meeting *m, const struct polygon *side)
{
	struct polygon face, inside;
	collide_trimesh_polygon_of(&m->t, &face);
	feature_clip(side, &face, &inside);
	for (uint32_t i = 0; i < inside.count; i++) {
		double depth = -collide_trimesh_height(&m->t, inside.p[i]);
		if (depth <= 0)
			continue;
		vec_push(&m->space->found, (struct collide_contact){inside.p[i], m->t.normal, depth});
	}
}

static bool collide_trimesh_is_under(const struct collide_trimesh_meeting *m, const struct polygon *side)
{
	for (uint32_t i = 0; i < side->count; i++)
		if (collide_trimesh_height(&m->t, side->p[i]) < 0)
			return true;
	return false;
}

/* The same for the first side, and for the others of a hull that is almost flat there. */
static void collide_trimesh_on_face(
	const struct collide_trimesh_meeting *m, const struct polygon *first, struct feature_walk others)
{
	struct polygon side;
	collide_trimesh_side_on_face(m, first);
	while (feature_next(&others, &side))
		if (collide_trimesh_is_under(m, &side))
			collide_trimesh_side_on_face(m, &side);
}

/* Every point below the plane is over the triangle and farther from its edges than it is deep. */
static bool collide_trimesh_well_inside(const struct collide_trimesh_meeting *m, const struct polygon *side)
{
	for (uint32_t i = 0; i < side->count; i++) {
		double depth = -collide_trimesh_height(&m->t, side->p[i]);
		for (int k = 0; k < 3; k++) {
			struct vec3 edge = vec3_unit(vec3_sub(m->t.p[(k + 1) % 3], m->t.p[k]));
			struct vec3 inward = vec3_cross(m->t.normal, edge);
			if (vec3_dot(inward, vec3_sub(side->p[i], m->t.p[k])) < MAX(depth, 0.0))
				return false;
		}
	}
	return true;
}

static bool collide_trimesh_lies_under(struct vec3 normal, struct vec3 at, struct vec3 point)
{
	struct vec3 d = vec3_sub(point, at);
	return vec3_dot(normal, d) <= SINK * vec3_length(d);
}

/* Whether this normal is valid at the edge or corner of the triangle that is farthest along it. */
static bool collide_trimesh_is_right(const struct collide_trimesh_meeting *m, struct vec3 normal)
{
	const struct trimesh_triangle *t = &m->t;
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
			return t->rim[k] || collide_trimesh_lies_under(normal, t->p[k], t->across[k]);
	int k = far[0] ? 0 : far[1] ? 1 : 2;
	struct vec3 near[TRIMESH_AROUND_MAX];
	uint32_t count = trimesh_around(m->trimesh, t->corner[k], near);
	for (uint32_t i = 0; i < count; i++)
		if (!collide_trimesh_lies_under(normal, t->p[k], near[i]))
			return false;
	return count > 0;
}

/* Tests the core of a round shape against the triangle's edges, and its ends against the triangle's inside. */
static bool collide_trimesh_round_depth(
	const struct collide_shape *a, const struct trimesh_triangle *t, struct collide_contact *ret)
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
		struct polygon point, face, inside;
		point.count = 1;
		point.p[0] = end[e];
		collide_trimesh_polygon_of(t, &face);
		feature_clip(&point, &face, &inside);
		if (!inside.count || fabs(collide_trimesh_height(t, end[e])) > least)
			continue;
		least = fabs(collide_trimesh_height(t, end[e]));
		ret->normal = t->normal;
		ret->depth = a->size.x - collide_trimesh_height(t, end[e]);
		ret->at = vec3_sub(end[e], vec3_scale(t->normal, a->size.x));
		found = true;
	}
	return found;
}

/* The shape's box is on one side of the triangle's plane. */
static bool collide_trimesh_box_misses(const struct collide_trimesh_meeting *m)
{
	struct vec3 n = m->t.normal;
	double middle = collide_trimesh_height(&m->t, m->middle);
	return fabs(middle) >= fabs(n.x) * m->reach.x + fabs(n.y) * m->reach.y + fabs(n.z) * m->reach.z;
}

/* Part of the shape is farther along d than `offset`, in the shape's own frame. */
static bool collide_trimesh_reaches(const struct collide_trimesh_meeting *m, struct vec3 d, double offset)
{
	double most = vec3_dot(d, m->own_middle) + fabs(d.x) * m->own_reach.x + fabs(d.y) * m->own_reach.y +
		      fabs(d.z) * m->own_reach.z;
	if (most <= offset || m->a->kind == COLLIDE_BOX)
		return most > offset;
	return vec3_dot(d, support_own(m->a, d)) > offset;
}

/* The shape is on one side of the triangle's plane or beside one of its edges; in the shape's own frame. */
static bool collide_trimesh_shape_misses(struct collide_trimesh_meeting *m)
{
	const struct collide_shape *a = m->a;
	struct vec3 n = support_turn_back(&a->r, m->t.normal), back = vec3_scale(n, -1), *p = m->p;
	for (int k = 0; k < 3; k++)
		p[k] = support_turn_back(&a->r, vec3_sub(m->t.p[k], a->p));
	if (!collide_trimesh_reaches(m, back, vec3_dot(back, p[0])) ||
		!collide_trimesh_reaches(m, n, vec3_dot(n, p[0])))
		return true;
	for (int k = 0; k < 3; k++) {
		struct vec3 inward = vec3_cross(n, vec3_sub(p[(k + 1) % 3], p[k]));
		if (!collide_trimesh_reaches(m, inward, vec3_dot(inward, p[k])))
			return true;
	}
	return false;
}

static bool collide_trimesh_apart(double p, double q, double reach)
{
	return p < q ? p > reach || q < -reach : q > reach || p < -reach;
}

/* Tests the cross products of an edge's direction f with the box's axes; p is on the edge, q is the opposite corner.
 * An axis parallel to the edge gives no direction, and one almost parallel a wrong one: with the slack it separates
 * nothing. */
static bool collide_trimesh_edge_parts(struct vec3 f, struct vec3 p, struct vec3 q, struct vec3 reach)
{
	double slack = 1e-9 * (fabs(f.x) + fabs(f.y) + fabs(f.z));
	double x = fabs(f.x) + slack, y = fabs(f.y) + slack, z = fabs(f.z) + slack;
	return collide_trimesh_apart(f.y * p.z - f.z * p.y, f.y * q.z - f.z * q.y, z * reach.y + y * reach.z) ||
	       collide_trimesh_apart(f.z * p.x - f.x * p.z, f.z * q.x - f.x * q.z, z * reach.x + x * reach.z) ||
	       collide_trimesh_apart(f.x * p.y - f.y * p.x, f.x * q.y - f.y * q.x, y * reach.x + x * reach.y);
}

/* The shape's own box does not meet the triangle (Akenine-Moeller, "Fast 3D triangle-box overlap testing", 2001; the
 * triangle's plane has been tried). */
static bool collide_trimesh_own_box_misses(const struct collide_trimesh_meeting *m)
{
	struct vec3 p[3], r = m->own_reach;
	struct aabb box = AABB_NONE;
	for (int k = 0; k < 3; k++) {
		p[k] = vec3_sub(m->p[k], m->own_middle);
		box = aabb_join(box, (struct aabb){p[k], p[k]});
	}
	if (box.lo.x >= r.x || box.hi.x <= -r.x || box.lo.y >= r.y || box.hi.y <= -r.y || box.lo.z >= r.z ||
		box.hi.z <= -r.z)
		return true;
	for (int k = 0; k < 3; k++)
		if (collide_trimesh_edge_parts(vec3_sub(p[(k + 1) % 3], p[k]), p[k], p[(k + 2) % 3], r))
			return true;
	return false;
}

static void collide_trimesh_meet(struct collide_trimesh_meeting *m, uint32_t index)
{
	const struct trimesh_triangle *t = &m->t;
	trimesh_get(m->trimesh, index, &m->t);
	if (collide_trimesh_box_misses(m) || collide_trimesh_shape_misses(m))
		return;
	trimesh_look_around(m->trimesh, index, &m->t);
	if (t->ridged && collide_trimesh_own_box_misses(m))
		return;
	struct polygon side;
	struct feature_walk others = feature_walk(m->a, vec3_scale(t->normal, -1), COLLIDE_TRIMESH_NEARLY, &side);
	if (!t->ridged || collide_trimesh_well_inside(m, &side)) {
		collide_trimesh_on_face(m, &side, others);
		return;
	}
	struct collide_shape triangle = {.kind = COLLIDE_TRIANGLE, .corner = {t->p[0], t->p[1], t->p[2]}};
	struct collide_contact deepest, edge[COLLIDE_PAIR_MAX];
	if (!(round_is(m->a) ? collide_trimesh_round_depth(m->a, t, &deepest)
			     : depth_find(m->a, &triangle, &deepest.normal, &deepest.depth, &deepest.at)))
		return;
	if (vec3_dot(deepest.normal, t->normal) > FACE || !collide_trimesh_is_right(m, deepest.normal)) {
		collide_trimesh_on_face(m, &side, others);
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

/* Groups contacts with similar normals and reduces each group; groups are ordered by their first contact. */
static uint32_t collide_trimesh_reduce_all(struct collide_contact *c, uint32_t count)
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

static uint32_t collide_trimesh_keep_deepest(struct collide_contact *c, uint32_t count, uint32_t most)
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

static struct aabb collide_trimesh_own_box_of(const struct collide_shape *a)
{
	return (struct aabb){{support_own(a, (struct vec3){-1, 0, 0}).x, support_own(a, (struct vec3){0, -1, 0}).y,
				     support_own(a, (struct vec3){0, 0, -1}).z},
		{support_own(a, (struct vec3){1, 0, 0}).x, support_own(a, (struct vec3){0, 1, 0}).y,
			support_own(a, (struct vec3){0, 0, 1}).z}};
}

static struct aabb collide_trimesh_box_of(const struct collide_shape *a)
{
	return (struct aabb){
		{feature_support(a, (struct vec3){-1, 0, 0}).x, feature_support(a, (struct vec3){0, -1, 0}).y,
			feature_support(a, (struct vec3){0, 0, -1}).z},
		{feature_support(a, (struct vec3){1, 0, 0}).x, feature_support(a, (struct vec3){0, 1, 0}).y,
			feature_support(a, (struct vec3){0, 0, 1}).z}};
}

static void collide_trimesh_split(struct aabb box, struct vec3 *ret_middle, struct vec3 *ret_reach)
{
	*ret_middle = vec3_scale(vec3_add(box.lo, box.hi), 0.5);
	*ret_reach = vec3_scale(vec3_sub(box.hi, box.lo), 0.5);
}

uint32_t collide_trimesh(const struct collide_shape *a, const struct trimesh *trimesh, uint32_t most,
	struct collide_space *space, struct collide_contact *ret)
{
	struct aabb box = collide_trimesh_box_of(a);
	struct collide_trimesh_meeting m = {.a = a, .trimesh = trimesh, .space = space};
	collide_trimesh_split(box, &m.middle, &m.reach);
	collide_trimesh_split(collide_trimesh_own_box_of(a), &m.own_middle, &m.own_reach);
	trimesh_query(trimesh, &box, &space->triangles);
	space->found.count = 0;
	for (uint32_t i = 0; i < space->triangles.count; i++)
		collide_trimesh_meet(&m, space->triangles.at[i]);
	uint32_t count = collide_trimesh_reduce_all(space->found.at, space->found.count);
	count = collide_trimesh_keep_deepest(space->found.at, count, most);
	for (uint32_t i = 0; i < count; i++)
		ret[i] = space->found.at[i];
	return count;
}

void collide_space_fini(struct collide_space *space)
{
	vec_free(&space->triangles);
	vec_free(&space->found);
}
