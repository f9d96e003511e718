/* The sides of a hull: its faces as contacts see them. A body rests on a whole side, but the points of a flat side in a
 * file are rounded, so the exact hull has many faces there, each turned a little from the others, and a body would rest
 * on one of them. So faces that lie in one plane, but for the rounding, make one side: beginning with the largest face,
 * all faces that reach no deeper below its plane than the slack. The side is the outline of their corners, moved into
 * the plane that touches the hull. A face by itself is a side as it is. */
#include "mesh/hull.h"

#include <stdlib.h>

#define SLACK_M 1e-6 /* files have six decimals, or */
#define SLACK 1e-5   /* of the size: six digits */
#define ALONG 0.7    /* cosine: a face that is turned farther, such as the edge of a thin plate, is no part of it */
#define NO_SIDE UINT32_MAX

struct hull_facet {
	uint32_t index, side;
	double area;
};

struct hull_corner { /* in the plane of a side, whose axes are x, y and the normal */
	uint32_t point;
	double x, y;
};

struct hull_outline {
	uint32_t count;
	struct hull_corner at[HULL_CORNERS_MAX + 1];
};

static double hull_sides_slack(const struct hull *hull)
{
	struct vec3 lo = hull->points.at[0], hi = lo;
	for (uint32_t i = 1; i < hull->points.count; i++) {
		lo = vec3_min(lo, hull->points.at[i]);
		hi = vec3_max(hi, hull->points.at[i]);
	}
	struct vec3 size = vec3_sub(hi, lo);
	return SLACK_M + SLACK * MAX(MAX(size.x, size.y), size.z);
}

/* --- which faces -------------------------------------------------------------------------------------------------- */

static double hull_sides_area(const struct hull *hull, const struct hull_face *face)
{
	const uint32_t *corner = &hull->corners.at[face->first];
	struct vec3 sum = {0, 0, 0}, first = hull->points.at[corner[0]];
	for (uint32_t i = 2; i < face->count; i++)
		sum = vec3_add(sum, vec3_cross(vec3_sub(hull->points.at[corner[i - 1]], first),
					    vec3_sub(hull->points.at[corner[i]], first)));
	return vec3_length(sum) / 2;
}

static int hull_sides_by_area(const void *left, const void *right)
{
	const struct hull_facet *a = left, *b = right;
	if (a->area != b->area)
		return a->area > b->area ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool hull_sides_lies_in(
	const struct hull *hull, const struct hull_face *face, const struct hull_face *plane, double slack)
{
	bool in = vec3_dot(face->normal, plane->normal) > ALONG;
	for (uint32_t i = 0; i < face->count && in; i++)
		in = vec3_dot(plane->normal, hull->points.at[hull->corners.at[face->first + i]]) >=
		     plane->offset - slack;
	return in;
}

/* Gives each face the index of the largest face of its side: side[face]. Returns how many faces are not their own. */
static uint32_t hull_sides_group(const struct hull *hull, double slack, uint32_t *side)
{
	uint32_t count = hull->faces.count, joined = 0;
	struct hull_facet *facets = mem_alloc(count * sizeof *facets);
	for (uint32_t f = 0; f < count; f++) {
		facets[f] = (struct hull_facet){f, NO_SIDE, hull_sides_area(hull, &hull->faces.at[f])};
		side[f] = NO_SIDE;
	}
	qsort(facets, count, sizeof *facets, hull_sides_by_area);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t largest = facets[i].index;
		if (side[largest] != NO_SIDE)
			continue;
		side[largest] = largest;
		for (uint32_t k = i + 1; k < count; k++) {
			uint32_t other = facets[k].index;
			if (side[other] != NO_SIDE ||
				!hull_sides_lies_in(hull, &hull->faces.at[other], &hull->faces.at[largest], slack))
				continue;
			side[other] = largest;
			joined++;
		}
	}
	free(facets);
	return joined;
}

/* --- outlines ----------------------------------------------------------------------------------------------------- */

static double hull_sides_turn(const struct hull_corner *a, const struct hull_corner *b, const struct hull_corner *c)
{
	return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

static int hull_sides_by_place(const void *left, const void *right)
{
	const struct hull_corner *a = left, *b = right;
	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	if (a->y != b->y)
		return a->y < b->y ? -1 : 1;
	return a->point < b->point ? -1 : a->point > b->point;
}

/* The corners of all faces of a side, each once. */
static uint32_t hull_sides_list(const struct hull *hull, const uint32_t *side, uint32_t of, struct hull_corner *ret)
{
	struct vec3 n = hull->faces.at[of].normal;
	double x = fabs(n.x), y = fabs(n.y), z = fabs(n.z);
	struct vec3 axis = x <= y && x <= z ? (struct vec3){1, 0, 0}
			   : y <= z         ? (struct vec3){0, 1, 0}
					    : (struct vec3){0, 0, 1};
	struct vec3 u = vec3_unit(vec3_cross(axis, n)), v = vec3_cross(n, u);
	bool used[HULL_CORNERS_MAX] = {false};
	uint32_t count = 0;
	for (uint32_t f = 0; f < hull->faces.count; f++) {
		const struct hull_face *face = &hull->faces.at[f];
		for (uint32_t i = 0; side[f] == of && i < face->count; i++) {
			uint32_t p = hull->corners.at[face->first + i];
			if (!used[p])
				ret[count++] = (struct hull_corner){
					p, vec3_dot(u, hull->points.at[p]), vec3_dot(v, hull->points.at[p])};
			used[p] = true;
		}
	}
	return count;
}

/* Andrew's monotone chain: the corners of the outline, counter-clockwise seen against the normal. */
static void hull_sides_outline(struct hull_corner *corners, uint32_t count, struct hull_outline *out)
{
	qsort(corners, count, sizeof *corners, hull_sides_by_place);
	out->count = 0;
	for (int half = 0; half < 2; half++) {
		uint32_t first = out->count;
		for (uint32_t i = 0; i < count; i++) {
			const struct hull_corner *next = &corners[half ? count - 1 - i : i];
			while (out->count >= first + 2 &&
				hull_sides_turn(&out->at[out->count - 2], &out->at[out->count - 1], next) <= 0)
				out->count--;
			out->at[out->count++] = *next;
		}
		out->count--; /* the other half begins with it */
	}
}

/* How far the corner lies outside of the line between its neighbours. */
static double hull_sides_height(const struct hull_outline *o, uint32_t i)
{
	const struct hull_corner *a = &o->at[i ? i - 1 : o->count - 1], *b = &o->at[i + 1 < o->count ? i + 1 : 0];
	double dx = b->x - a->x, dy = b->y - a->y, length = sqrt(dx * dx + dy * dy);
	return length > 0 ? hull_sides_turn(a, &o->at[i], b) / length : 0;
}

/* Removes corners that make little difference, and as many others as are too many. */
static void hull_sides_thin_out(struct hull_outline *o, double slack)
{
	while (o->count > 3) {
		uint32_t least = 0;
		double height = INFINITY;
		for (uint32_t i = 0; i < o->count; i++) {
			double own = hull_sides_height(o, i);
			if (own < height)
				height = own, least = i;
		}
		if (height > slack && o->count <= HULL_SIDE_CORNERS_MAX)
			return;
		o->count--;
		for (uint32_t i = least; i < o->count; i++)
			o->at[i] = o->at[i + 1];
	}
}

/* --- sides -------------------------------------------------------------------------------------------------------- */

static void hull_sides_add_face(struct hull *hull, const struct hull_face *face)
{
	struct hull_face side = *face;
	side.first = hull->side_points.count;
	side.count = MIN(face->count, HULL_SIDE_CORNERS_MAX);
	for (uint32_t i = 0; i < side.count; i++)
		vec_push(&hull->side_points, hull->points.at[hull->corners.at[face->first + i]]);
	vec_push(&hull->sides, side);
}

static struct vec3 hull_sides_normal(const struct hull *hull, const struct hull_outline *o)
{
	struct vec3 sum = {0, 0, 0}, first = hull->points.at[o->at[0].point];
	for (uint32_t i = 2; i < o->count; i++)
		sum = vec3_add(sum, vec3_cross(vec3_sub(hull->points.at[o->at[i - 1].point], first),
					    vec3_sub(hull->points.at[o->at[i].point], first)));
	return vec3_unit(sum);
}

static void hull_sides_add_outline(struct hull *hull, const struct hull_outline *o)
{
	struct hull_face side = {.normal = hull_sides_normal(hull, o),
		.offset = -INFINITY,
		.first = hull->side_points.count,
		.count = o->count};
	for (uint32_t i = 0; i < hull->points.count; i++)
		side.offset = MAX(side.offset, vec3_dot(side.normal, hull->points.at[i]));
	for (uint32_t i = 0; i < o->count; i++) {
		struct vec3 p = hull->points.at[o->at[i].point];
		double below = side.offset - vec3_dot(side.normal, p);
		vec_push(&hull->side_points, vec3_add(p, vec3_scale(side.normal, below)));
	}
	vec_push(&hull->sides, side);
}

static void hull_sides_add(struct hull *hull, const uint32_t *side, uint32_t of, bool alone, double slack)
{
	const struct hull_face *face = &hull->faces.at[of];
	struct hull_corner corners[HULL_CORNERS_MAX];
	struct hull_outline outline = {.count = 0};
	if (!alone || face->count > HULL_SIDE_CORNERS_MAX) {
		hull_sides_outline(corners, hull_sides_list(hull, side, of, corners), &outline);
		hull_sides_thin_out(&outline, alone ? 0 : slack);
	}
	if (outline.count >= 3)
		hull_sides_add_outline(hull, &outline);
	else
		hull_sides_add_face(hull, face);
}

void hull_find_sides(struct hull *hull)
{
	uint32_t count = hull->faces.count;
	if (hull->points.count > HULL_CORNERS_MAX)
		return;
	uint32_t *side = mem_alloc(count * sizeof *side), *faces = mem_alloc(count * sizeof *faces);
	double slack = hull_sides_slack(hull);
	hull->slack = hull_sides_group(hull, slack, side) ? slack : 0;
	for (uint32_t f = 0; f < count; f++)
		faces[side[f]]++;
	for (uint32_t f = 0; f < count; f++) {
		uint32_t of = side[f];
		if (faces[of])
			hull_sides_add(hull, side, of, faces[of] == 1, slack);
		faces[of] = 0; /* added, in the place of the first of its faces */
	}
	free(side);
	free(faces);
}
