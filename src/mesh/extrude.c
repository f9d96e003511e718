/* Filling outlines. Each outline is nested in those that contain it. Outlines at an even depth are filled; the
 * outlines one level deeper are their holes. A hole is joined to its outline by a bridge of two edges, and then ears
 * are clipped (Meisters, "Polygons have ears", 1975). For convex pieces, inner edges are removed as long as the piece
 * stays convex (Hertel and Mehlhorn, "Fast triangulation of the plane with respect to simple polygons", 1985). */
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

struct extrude_ring { /* corners of one outline: counter-clockwise if filled, clockwise for a hole */
	VEC(uint32_t) at;
	uint32_t depth, parent;
};

struct extrude_piece {
	VEC(uint32_t) at;
};

struct filling {
	VEC(struct vec3) points;
	struct extrude_ring rings[MESH_OUTLINES_MAX];
	uint32_t ring_count;
	VEC(struct extrude_piece) pieces;
};

/* Twice the area of the triangle a, b, c; positive for a left turn. */
static double extrude_turn(struct vec3 a, struct vec3 b, struct vec3 c)
{
	return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static double extrude_turn_at(const struct filling *f, uint32_t a, uint32_t b, uint32_t c)
{
	return extrude_turn(f->points.at[a], f->points.at[b], f->points.at[c]);
}

static double extrude_area_of(const struct filling *f, const struct extrude_ring *ring)
{
	double twice = 0;
	for (uint32_t i = 2; i < ring->at.count; i++)
		twice += extrude_turn_at(f, ring->at.at[0], ring->at.at[i - 1], ring->at.at[i]);
	return twice;
}

static bool extrude_contains(const struct filling *f, const struct extrude_ring *ring, struct vec3 p)
{
	bool inside = false;
	for (uint32_t i = 0; i < ring->at.count; i++) {
		struct vec3 a = f->points.at[ring->at.at[i]], b = f->points.at[ring->at.at[(i + 1) % ring->at.count]];
		if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y))
			inside = !inside;
	}
	return inside;
}

static bool extrude_add_ring(struct filling *f, const struct mesh_outline *outline)
{
	struct extrude_ring *ring = &f->rings[f->ring_count++];
	for (uint32_t i = 0; i < outline->count; i++) {
		struct vec3 p = {outline->points[i].x + 0.0, outline->points[i].y + 0.0, 0};
		struct vec3 last = ring->at.count ? f->points.at[f->points.count - 1] : (struct vec3){0, 0, 1};
		if (p.x == last.x && p.y == last.y && last.z == 0)
			continue;
		vec_push(&ring->at, f->points.count);
		vec_push(&f->points, p);
	}
	if (ring->at.count > 1) {
		struct vec3 a = f->points.at[ring->at.at[0]], b = f->points.at[f->points.count - 1];
		if (a.x == b.x && a.y == b.y)
			ring->at.count--, f->points.count--;
	}
	return ring->at.count >= 3 && extrude_area_of(f, ring) != 0;
}

static void extrude_nest(struct filling *f)
{
	for (uint32_t i = 0; i < f->ring_count; i++) {
		struct extrude_ring *ring = &f->rings[i];
		struct vec3 p = f->points.at[ring->at.at[0]];
		double smallest = INFINITY;
		ring->parent = MESH_NONE;
		for (uint32_t k = 0; k < f->ring_count; k++) {
			if (k == i || !extrude_contains(f, &f->rings[k], p))
				continue;
			ring->depth++;
			if (fabs(extrude_area_of(f, &f->rings[k])) < smallest) {
				smallest = fabs(extrude_area_of(f, &f->rings[k]));
				ring->parent = k;
			}
		}
	}
	for (uint32_t i = 0; i < f->ring_count; i++) {
		struct extrude_ring *ring = &f->rings[i];
		if ((extrude_area_of(f, ring) > 0) == (ring->depth % 2 == 0))
			continue;
		for (uint32_t k = 0; k < ring->at.count / 2; k++) {
			uint32_t swap = ring->at.at[k];
			ring->at.at[k] = ring->at.at[ring->at.count - 1 - k];
			ring->at.at[ring->at.count - 1 - k] = swap;
		}
	}
}

/* --- holes ------------------------------------------------------------------------------------------------------ */

static bool extrude_crosses(struct vec3 a, struct vec3 b, struct vec3 c, struct vec3 d)
{
	return extrude_turn(a, b, c) * extrude_turn(a, b, d) < 0 && extrude_turn(c, d, a) * extrude_turn(c, d, b) < 0;
}

static bool extrude_sees(const struct filling *f, const struct extrude_ring *ring, uint32_t from, uint32_t to)
{
	struct vec3 a = f->points.at[from], b = f->points.at[to];
	for (uint32_t i = 0; i < ring->at.count; i++)
		if (extrude_crosses(
			    a, b, f->points.at[ring->at.at[i]], f->points.at[ring->at.at[(i + 1) % ring->at.count]]))
			return false;
	return true;
}

/* Whether b lies inside the angle of the ring at place i. */
static bool extrude_opens_to(const struct filling *f, const struct extrude_ring *ring, uint32_t i, uint32_t b)
{
	uint32_t n = ring->at.count, before = ring->at.at[(i + n - 1) % n], here = ring->at.at[i],
		 after = ring->at.at[(i + 1) % n];
	bool left = extrude_turn_at(f, here, after, b) > 0, right = extrude_turn_at(f, before, here, b) > 0;
	return extrude_turn_at(f, before, here, after) >= 0 ? left && right : left || right;
}

/* The shortest bridge between outline and hole that crosses neither the outline nor any hole. */
static bool extrude_bridge(struct filling *f, struct extrude_ring *outer, const struct extrude_ring *hole)
{
	double best = INFINITY;
	uint32_t from = 0, to = 0;
	for (uint32_t i = 0; i < outer->at.count; i++)
		for (uint32_t k = 0; k < hole->at.count; k++) {
			struct vec3 d = vec3_sub(f->points.at[outer->at.at[i]], f->points.at[hole->at.at[k]]);
			if (vec3_dot(d, d) >= best || !extrude_opens_to(f, outer, i, hole->at.at[k]))
				continue;
			bool clear = extrude_sees(f, outer, outer->at.at[i], hole->at.at[k]);
			for (uint32_t r = 0; clear && r < f->ring_count; r++)
				clear = extrude_sees(f, &f->rings[r], outer->at.at[i], hole->at.at[k]);
			if (clear)
				best = vec3_dot(d, d), from = i, to = k;
		}
	if (isinf(best))
		return false;
	struct extrude_ring joined = {0};
	for (uint32_t i = 0; i <= from; i++)
		vec_push(&joined.at, outer->at.at[i]);
	for (uint32_t k = 0; k <= hole->at.count; k++)
		vec_push(&joined.at, hole->at.at[(to + k) % hole->at.count]);
	for (uint32_t i = from; i < outer->at.count; i++)
		vec_push(&joined.at, outer->at.at[i]);
	vec_free(&outer->at);
	outer->at.at = joined.at.at, outer->at.count = joined.at.count, outer->at.room = joined.at.room;
	return true;
}

/* --- ears ------------------------------------------------------------------------------------------------------- */

static bool extrude_same_place(const struct filling *f, uint32_t a, uint32_t b)
{
	return f->points.at[a].x == f->points.at[b].x && f->points.at[a].y == f->points.at[b].y;
}

static bool extrude_is_ear(const struct filling *f, const struct extrude_ring *ring, uint32_t i)
{
	uint32_t n = ring->at.count, a = ring->at.at[(i + n - 1) % n], b = ring->at.at[i], c = ring->at.at[(i + 1) % n];
	if (!(extrude_turn_at(f, a, b, c) > 0))
		return false;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t p = ring->at.at[k];
		if (extrude_same_place(f, p, a) || extrude_same_place(f, p, b) || extrude_same_place(f, p, c))
			continue;
		if (extrude_turn_at(f, a, b, p) >= 0 && extrude_turn_at(f, b, c, p) >= 0 &&
			extrude_turn_at(f, c, a, p) >= 0)
			return false;
	}
	return true;
}

static void extrude_drop(struct extrude_ring *ring, uint32_t i)
{
	memmove(&ring->at.at[i], &ring->at.at[i + 1], (ring->at.count - i - 1) * sizeof *ring->at.at);
	ring->at.count--;
}

static bool extrude_clip_ears(struct filling *f, struct extrude_ring *ring)
{
	uint32_t start = 0;
	while (ring->at.count >= 3) {
		uint32_t n = ring->at.count, i = 0;
		while (i < n && !extrude_is_ear(f, ring, (start + i) % n))
			i++;
		if (i == n) { /* all remaining corners lie on a line */
			for (i = 0; i < n && extrude_turn_at(f, ring->at.at[(i + n - 1) % n], ring->at.at[i],
						     ring->at.at[(i + 1) % n]) != 0;)
				i++;
			if (i == n)
				return false;
			extrude_drop(ring, i);
			continue;
		}
		i = (start + i) % n;
		struct extrude_piece piece = {0};
		vec_push(&piece.at, ring->at.at[(i + n - 1) % n]);
		vec_push(&piece.at, ring->at.at[i]);
		vec_push(&piece.at, ring->at.at[(i + 1) % n]);
		vec_push(&f->pieces, piece);
		extrude_drop(ring, i);
		start = i % ring->at.count;
	}
	return true;
}

/* --- pieces ----------------------------------------------------------------------------------------------------- */

static bool extrude_is_convex(const struct filling *f, const struct extrude_piece *piece)
{
	uint32_t n = piece->at.count;
	for (uint32_t i = 0; i < n; i++)
		if (!(extrude_turn_at(f, piece->at.at[i], piece->at.at[(i + 1) % n], piece->at.at[(i + 2) % n]) >= 0))
			return false;
	return true;
}

/* Joins a and b into *ret_joined; they share the edge from a's corner i to the next corner. */
static bool extrude_join_at(const struct filling *f, const struct extrude_piece *a, uint32_t i,
	const struct extrude_piece *b, struct extrude_piece *out)
{
	uint32_t na = a->at.count, nb = b->at.count, u = a->at.at[i], v = a->at.at[(i + 1) % na], k = 0;
	while (k < nb && !(b->at.at[k] == v && b->at.at[(k + 1) % nb] == u))
		k++;
	if (k == nb)
		return false;
	out->at.count = 0;
	for (uint32_t s = 1; s <= na; s++) /* a from v around to u */
		vec_push(&out->at, a->at.at[(i + s) % na]);
	for (uint32_t s = 2; s < nb; s++) /* then b from after u to before v */
		vec_push(&out->at, b->at.at[(k + s) % nb]);
	return extrude_is_convex(f, out);
}

static void extrude_merge_pieces(struct filling *f)
{
	struct extrude_piece joined = {0};
	for (uint32_t a = 0; a < f->pieces.count; a++)
		for (uint32_t i = 0; i < f->pieces.at[a].at.count; i++)
			for (uint32_t b = a + 1; b < f->pieces.count; b++) {
				if (!extrude_join_at(f, &f->pieces.at[a], i, &f->pieces.at[b], &joined))
					continue;
				struct extrude_piece old = f->pieces.at[a];
				f->pieces.at[a] = joined;
				joined = old;
				vec_free(&f->pieces.at[b].at);
				memmove(&f->pieces.at[b], &f->pieces.at[b + 1],
					(f->pieces.count - b - 1) * sizeof *f->pieces.at);
				f->pieces.count--;
				i = UINT32_MAX; /* start again at its first edge */
				break;
			}
	vec_free(&joined.at);
}

/* --- solids ----------------------------------------------------------------------------------------------------- */

static void extrude_add_part(struct mesh *mesh, uint32_t first)
{
	vec_push(&mesh->parts,
		(struct mesh_part){"polyline", "polyline", first, mesh->corners.count / 3 - first, MESH_NONE});
}

/* Points 2i and 2i + 1 are corner i at the bottom and at the top. */
static void extrude_add_caps(struct mesh *mesh, const struct extrude_piece *piece)
{
	for (uint32_t i = 2; i < piece->at.count; i++) {
		uint32_t a = piece->at.at[0], b = piece->at.at[i - 1], c = piece->at.at[i];
		mesh_add_triangle(mesh, 2 * a + 1, 2 * b + 1, 2 * c + 1);
		mesh_add_triangle(mesh, 2 * a, 2 * c, 2 * b);
	}
}

static void extrude_add_walls(struct mesh *mesh, const uint32_t *corner, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t a = corner[i], b = corner[(i + 1) % count];
		mesh_add_triangle(mesh, 2 * a, 2 * b, 2 * b + 1);
		mesh_add_triangle(mesh, 2 * a, 2 * b + 1, 2 * a + 1);
	}
}

static bool extrude_fill(struct filling *f)
{
	for (uint32_t i = 0; i < f->ring_count; i++) {
		struct extrude_ring outer = {0};
		if (f->rings[i].depth % 2)
			continue;
		for (uint32_t k = 0; k < f->rings[i].at.count; k++)
			vec_push(&outer.at, f->rings[i].at.at[k]);
		bool ok = true;
		for (uint32_t k = 0; ok && k < f->ring_count; k++)
			if (f->rings[k].depth == f->rings[i].depth + 1 && f->rings[k].parent == i)
				ok = extrude_bridge(f, &outer, &f->rings[k]);
		ok = ok && extrude_clip_ears(f, &outer);
		vec_free(&outer.at);
		if (!ok)
			return false;
	}
	return f->pieces.count > 0;
}

static void extrude_build(struct filling *f, double height, bool pieces, struct mesh *mesh)
{
	for (uint32_t i = 0; i < f->points.count; i++) {
		struct vec3 p = f->points.at[i];
		mesh_add_point(mesh, p);
		mesh_add_point(mesh, (struct vec3){p.x, p.y, height});
	}
	if (pieces)
		extrude_merge_pieces(f);
	for (uint32_t i = 0; i < f->pieces.count; i++) {
		uint32_t first = mesh->corners.count / 3;
		extrude_add_caps(mesh, &f->pieces.at[i]);
		if (!pieces)
			continue;
		extrude_add_walls(mesh, f->pieces.at[i].at.at, f->pieces.at[i].at.count);
		extrude_add_part(mesh, first);
	}
	if (pieces)
		return;
	for (uint32_t i = 0; i < f->ring_count; i++)
		extrude_add_walls(mesh, f->rings[i].at.at, f->rings[i].at.count);
	extrude_add_part(mesh, 0);
	mesh_weld(mesh);
}

static troupe_status extrude_check_outlines(
	const struct mesh_outline *outlines, uint32_t count, double height, struct troupe_error *error)
{
	uint32_t points = 0;
	if (count > MESH_OUTLINES_MAX)
		return fail(error, TROUPE_ELIMIT, "%u outlines: expected at most %d", count, MESH_OUTLINES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		points += MIN(outlines[i].count, (uint32_t)MESH_OUTLINE_POINTS_MAX + 1);
		if (points > MESH_OUTLINE_POINTS_MAX)
			return fail(error, TROUPE_ELIMIT, "outlines of more than %d points", MESH_OUTLINE_POINTS_MAX);
		for (uint32_t k = 0; k < outlines[i].count; k++)
			if (!(fabs(outlines[i].points[k].x) <= 1e9 && fabs(outlines[i].points[k].y) <= 1e9))
				return fail(error, TROUPE_EWORLD, "a point that is not within 1e9 m");
	}
	return height > 0 ? TROUPE_OK : fail(error, TROUPE_EWORLD, "a height of %g: expected more than 0 m", height);
}

troupe_status mesh_extrude(const struct mesh_outline *outlines, uint32_t count, double height, bool pieces,
	struct mesh *ret_mesh, struct troupe_error *error)
{
	troupe_status status = extrude_check_outlines(outlines, count, height, error);
	if (status)
		return status;
	struct filling *f = mem_alloc(sizeof *f);
	bool ok = count > 0;
	for (uint32_t i = 0; ok && i < count; i++)
		ok = extrude_add_ring(f, &outlines[i]);
	if (!ok) {
		status = fail(error, TROUPE_EWORLD, "an outline without area: expected 3 points or more");
	} else {
		extrude_nest(f);
		if (extrude_fill(f))
			extrude_build(f, height, pieces, ret_mesh);
		else
			status = fail(error, TROUPE_EWORLD, "outlines that cross: expected outlines that do not cross");
	}
	for (uint32_t i = 0; i < f->ring_count; i++)
		vec_free(&f->rings[i].at);
	for (uint32_t i = 0; i < f->pieces.count; i++)
		vec_free(&f->pieces.at[i].at);
	vec_free(&f->pieces);
	vec_free(&f->points);
	free(f);
	return status;
}
