/* The mesh is cut by planes at right angles to an axis, as often as that brings the hulls of the pieces closer to it;
 * then pieces whose common hull adds little are joined again. Where to cut is decided on a grid of voxels, because the
 * volume that a mesh encloses is then known even if it has holes: what cannot be reached from outside is inside. The
 * pieces are exact: the triangles are clipped to the box of each piece, and the hull of what is left follows the
 * surface.
 *
 * How far a piece is from convex is its excess: the volume of its hull less its own. The hull of voxels that
 * approximate a slope is larger than they are, by a part of a voxel all over its surface; this part is taken off, or a
 * ball would be cut up.
 *
 * HACD, which Debian has, was tried first: it clusters triangles instead of volume, took 52 s for a ring of 6400
 * triangles and made 21 hulls where 8 were asked for. V-HACD, Gazebo's library, works as this file does, but is not in
 * Debian. */
#include "mesh/decompose.h"

#include "base/math.h"
#include "mesh/decompose_grid.h"
#include "mesh/hull.h"

#include <stdlib.h>
#include <string.h>

#define DECOMPOSE_TOLERANCE 0.01 /* of the volume of the hulls: an excess that is not cut */
#define DECOMPOSE_SLOPE 0.7      /* of the most by which the hull of voxels can stand out at a slope */
#define DECOMPOSE_BALANCE 0.05   /* of a difference of volumes, against that of hulls */

enum {
	DECOMPOSE_PLACES = 14,        /* planes along an axis that are tried before the neighbours of the best */
	DECOMPOSE_POINTS_MAX = 50000, /* of a piece, before its hull is made */
};

struct decompose_node { /* a box of a grid, and what of the mesh is in it */
	const struct decompose_grid *grid;
	int lo[3], hi[3]; /* voxels lo <= i < hi */
	struct aabb box;
	double volume, excess;
	uint32_t next; /* of the same piece; MESH_NONE: the last */
	bool whole;    /* is not cut any more */
};

typedef VEC(struct vec3) decompose_points;
typedef VEC(struct decompose_node) decompose_nodes;

struct decompose {
	const struct mesh *mesh;
	uint32_t grid_count;
	struct decompose_grid *grids;
	decompose_nodes nodes;
	double tolerance; /* m3 */
};

static void decompose_set(struct vec3 *v, int axis, double value)
{
	*(axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z) = value;
}

/* --- boxes of voxels ---------------------------------------------------------------------------------------------- */

/* Shrinks the node to the voxels that are not outside. False: there are none. */
static bool decompose_shrink(struct decompose_node *node)
{
	int lo[3] = {node->hi[0], node->hi[1], node->hi[2]}, hi[3] = {node->lo[0], node->lo[1], node->lo[2]};
	uint64_t count = 0;
	for (int z = node->lo[2]; z < node->hi[2]; z++)
		for (int y = node->lo[1]; y < node->hi[1]; y++)
			for (int x = node->lo[0]; x < node->hi[0]; x++) {
				if (node->grid->kind[decompose_grid_at(node->grid, x, y, z)] == DECOMPOSE_OUTSIDE)
					continue;
				lo[0] = MIN(lo[0], x), lo[1] = MIN(lo[1], y), lo[2] = MIN(lo[2], z);
				hi[0] = MAX(hi[0], x + 1), hi[1] = MAX(hi[1], y + 1), hi[2] = MAX(hi[2], z + 1);
				count++;
			}
	memcpy(node->lo, lo, sizeof lo);
	memcpy(node->hi, hi, sizeof hi);
	node->volume = (double)count * node->grid->edge * node->grid->edge * node->grid->edge;
	return count;
}

/* The ends of each line of corners of voxels along the longest axis: the corners of the hull are among them. */
static void decompose_outline(const struct decompose_node *node, decompose_points *points)
{
	const struct decompose_grid *grid = node->grid;
	int n[3] = {node->hi[0] - node->lo[0], node->hi[1] - node->lo[1], node->hi[2] - node->lo[2]};
	int along = n[0] >= n[1] && n[0] >= n[2] ? 0 : n[1] >= n[2] ? 1 : 2, u = (along + 1) % 3, v = (along + 2) % 3;
	size_t width = (size_t)n[u] + 1, lines = width * ((size_t)n[v] + 1);
	int *first = mem_alloc(2 * lines * sizeof *first), *last = first + lines, at[3];
	for (size_t i = 0; i < lines; i++)
		first[i] = node->hi[along], last[i] = node->lo[along];
	for (int j = 0; j < n[v]; j++)
		for (int i = 0; i < n[u]; i++) {
			int begin = node->hi[along], end = node->lo[along];
			at[u] = node->lo[u] + i, at[v] = node->lo[v] + j;
			for (int k = node->lo[along]; k < node->hi[along]; k++) {
				at[along] = k;
				if (grid->kind[decompose_grid_at(grid, at[0], at[1], at[2])] == DECOMPOSE_OUTSIDE)
					continue;
				begin = MIN(begin, k);
				end = k + 1;
			}
			for (size_t corner = 0; corner < 4; corner++) {
				size_t line = ((size_t)j + corner / 2) * width + (size_t)i + corner % 2;
				first[line] = MIN(first[line], begin);
				last[line] = MAX(last[line], end);
			}
		}
	for (size_t line = 0; line < lines; line++)
		for (int end = 0; end < 2 && first[line] < last[line]; end++) {
			struct vec3 p = grid->lo;
			decompose_set(
				&p, along, decompose_axis(p, along) + grid->edge * (end ? last[line] : first[line]));
			decompose_set(&p, u, decompose_axis(p, u) + grid->edge * (node->lo[u] + (int)(line % width)));
			decompose_set(&p, v, decompose_axis(p, v) + grid->edge * (node->lo[v] + (int)(line / width)));
			vec_push(points, p);
		}
	free(first);
}

/* The volume of the hull of the points, and its surface where that is not at right angles to an axis, weighted by how
 * far voxels stand out there; 0 and 0 if they have no hull. */
static void decompose_measure(const decompose_points *points, double *ret_volume, double *ret_slopes)
{
	struct hull hull = {0};
	*ret_volume = *ret_slopes = 0;
	if (hull_make(points->at, points->count, &hull, NULL))
		return;
	for (uint32_t f = 0; f < hull.faces.count; f++) {
		const uint32_t *corner = &hull.corners.at[hull.faces.at[f].first];
		struct vec3 a = vec3_sub(hull.points.at[corner[0]], hull.middle), n = hull.faces.at[f].normal;
		double surface = 0, sum = fabs(n.x) + fabs(n.y) + fabs(n.z);
		for (uint32_t i = 2; i < hull.faces.at[f].count; i++) {
			struct vec3 b = vec3_sub(hull.points.at[corner[i - 1]], hull.middle);
			struct vec3 c = vec3_sub(hull.points.at[corner[i]], hull.middle);
			*ret_volume += vec3_dot(a, vec3_cross(b, c)) / 6;
			surface += vec3_length(vec3_cross(vec3_sub(b, a), vec3_sub(c, a))) / 2;
		}
		*ret_slopes += sum > 1 + 1e-9 ? surface * sum / 2 : 0;
	}
	hull_fini(&hull);
}

/* By how much the common hull of nodes is larger than they are. */
static double decompose_excess(const decompose_points *points, double volume, double edge)
{
	double hull, slopes;
	decompose_measure(points, &hull, &slopes);
	return MAX(0.0, hull - volume - DECOMPOSE_SLOPE * edge * slopes);
}

/* Shrinks the node to what is in it. */
static void decompose_settle(struct decompose_node *node)
{
	decompose_points points = {0};
	node->excess = 0;
	if (!decompose_shrink(node))
		return;
	decompose_outline(node, &points);
	node->excess = decompose_excess(&points, node->volume, node->grid->edge);
	vec_free(&points);
}

/* The volume of the hull of a node; *ret_own: what is in it. */
static double decompose_hull_of(struct decompose_node node, double *ret_own)
{
	decompose_points points = {0};
	double hull = 0, slopes;
	if (decompose_shrink(&node)) {
		decompose_outline(&node, &points);
		decompose_measure(&points, &hull, &slopes);
		vec_free(&points);
	}
	*ret_own = node.volume;
	return hull;
}

/* --- cuts --------------------------------------------------------------------------------------------------------- */

/* The two sides of the plane before voxel k. */
static void decompose_halve(const struct decompose_node *node, int axis, int k, struct decompose_node *sides)
{
	sides[0] = sides[1] = *node;
	sides[0].hi[axis] = sides[1].lo[axis] = k;
}

struct decompose_cut {
	int axis, k;
	double score; /* m3, less is better */
};

/* Where no cut makes the hulls smaller (a ring has to be cut twice), the cut in the middle is the best. */
static void decompose_try_range(
	const struct decompose_node *node, int axis, int from, int to, int step, struct decompose_cut *best)
{
	for (int k = MAX(from, node->lo[axis] + 1); k < MIN(to, node->hi[axis]); k += step) {
		struct decompose_node sides[2];
		double own[2], score;
		decompose_halve(node, axis, k, sides);
		score = decompose_hull_of(sides[0], &own[0]) + decompose_hull_of(sides[1], &own[1]);
		score += DECOMPOSE_BALANCE * fabs(own[0] - own[1]);
		/* a difference of nothing does not count, so that the order of the tries decides */
		if (own[0] > 0 && own[1] > 0 && score < best->score - 1e-9 * node->volume)
			*best = (struct decompose_cut){axis, k, score};
	}
}

static int decompose_step(const struct decompose_node *node, int axis)
{
	return MAX(1, (node->hi[axis] - node->lo[axis] + DECOMPOSE_PLACES) / DECOMPOSE_PLACES);
}

/* Tries some planes along each axis, and then those around the best. False: the node is one voxel. */
static bool decompose_find_cut(const struct decompose_node *node, struct decompose_cut *ret_cut)
{
	struct decompose_cut best = {0, -1, (double)INFINITY};
	for (int axis = 0; axis < 3; axis++) {
		int step = decompose_step(node, axis);
		decompose_try_range(node, axis, node->lo[axis] + step, node->hi[axis], step, &best);
	}
	if (best.k < 0)
		return false;
	for (int step = decompose_step(node, best.axis); step > 1;) {
		int k = best.k;
		step = (step + 1) / 2;
		decompose_try_range(node, best.axis, k - step, k - step + 1, step, &best);
		decompose_try_range(node, best.axis, k + step, k + step + 1, step, &best);
	}
	*ret_cut = best;
	return true;
}

/* The coordinate of the cut: that of the most corners of the mesh within a voxel of it, or its own. Where a block
 * stands on a plate, the cut is then exactly in the surface of the plate. */
static double decompose_snap(const struct decompose *d, const struct decompose_node *node, struct decompose_cut cut)
{
	enum { PLACES = 64 };
	struct {
		double place;
		uint32_t count;
	} places[PLACES];
	const struct decompose_grid *grid = node->grid;
	double own = decompose_axis(grid->lo, cut.axis) + grid->edge * cut.k, best = own;
	uint32_t known = 0, most = 2;
	for (uint32_t i = 3 * grid->first; i < 3 * (grid->first + grid->count); i++) {
		double at = decompose_axis(d->mesh->points.at[d->mesh->corners.at[i]], cut.axis);
		uint32_t p = 0;
		if (fabs(at - own) > grid->edge)
			continue;
		while (p < known && places[p].place != at)
			p++;
		if (p == PLACES)
			continue;
		if (p == known) {
			places[known].place = at;
			places[known++].count = 0;
		}
		places[p].count++;
	}
	for (uint32_t p = 0; p < known; p++)
		if (places[p].count > most ||
			(places[p].count == most && fabs(places[p].place - own) < fabs(best - own))) {
			most = places[p].count;
			best = places[p].place;
		}
	return best;
}

/* Replaces the node by its sides. */
static void decompose_cut(struct decompose *d, uint32_t index)
{
	struct decompose_node node = d->nodes.at[index], sides[2];
	struct decompose_cut cut;
	if (!decompose_find_cut(&node, &cut)) {
		d->nodes.at[index].whole = true;
		return;
	}
	double place = decompose_snap(d, &node, cut);
	decompose_halve(&node, cut.axis, cut.k, sides);
	decompose_set(&sides[0].box.hi, cut.axis, place);
	decompose_set(&sides[1].box.lo, cut.axis, place);
	for (int i = 0; i < 2; i++)
		decompose_settle(&sides[i]);
	d->nodes.at[index] = sides[0];
	vec_push(&d->nodes, sides[1]);
}

static void decompose_cut_all(struct decompose *d, uint32_t most)
{
	while (d->nodes.count < most) {
		uint32_t worst = MESH_NONE;
		for (uint32_t i = 0; i < d->nodes.count; i++)
			if (!d->nodes.at[i].whole && d->nodes.at[i].excess > d->tolerance &&
				(worst == MESH_NONE || d->nodes.at[i].excess > d->nodes.at[worst].excess))
				worst = i;
		if (worst == MESH_NONE)
			return;
		decompose_cut(d, worst);
	}
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

/* A piece is a list of nodes; `heads` has the first of each. */
struct decompose_piece {
	uint32_t head;
	double volume, excess, edge;
	decompose_points points; /* of the hull of its voxels */
	struct aabb box;
};

typedef VEC(struct decompose_piece) decompose_pieces;

/* Keeps only the corners of the hull. */
static void decompose_reduce(decompose_points *points)
{
	struct hull hull = {0};
	if (hull_make(points->at, points->count, &hull, NULL))
		return;
	points->count = 0;
	for (uint32_t i = 0; i < hull.points.count; i++)
		vec_push(points, hull.points.at[i]);
	hull_fini(&hull);
}

static struct aabb decompose_grow(struct aabb box, double by)
{
	struct vec3 all = {by, by, by};
	return (struct aabb){vec3_sub(box.lo, all), vec3_add(box.hi, all)};
}

/* The excess that joining adds. Pieces that are apart are not joined if they need not be: nothing is between them. */
static double decompose_price(
	const struct decompose *d, const struct decompose_piece *a, const struct decompose_piece *b)
{
	double edge = MAX(a->edge, b->edge);
	struct aabb around = decompose_grow(a->box, edge);
	bool apart = !aabb_overlap(&around, &b->box);
	decompose_points points = {0};
	for (uint32_t i = 0; i < a->points.count; i++)
		vec_push(&points, a->points.at[i]);
	for (uint32_t i = 0; i < b->points.count; i++)
		vec_push(&points, b->points.at[i]);
	double excess = decompose_excess(&points, a->volume + b->volume, edge);
	vec_free(&points);
	double price = excess - a->excess - b->excess;
	return apart ? MAX(price, 2 * d->tolerance) : price;
}

static void decompose_join(struct decompose *d, decompose_pieces *pieces, uint32_t one, uint32_t other)
{
	struct decompose_piece *a = &pieces->at[one], *b = &pieces->at[other];
	uint32_t last = a->head;
	while (d->nodes.at[last].next != MESH_NONE)
		last = d->nodes.at[last].next;
	d->nodes.at[last].next = b->head;
	for (uint32_t i = 0; i < b->points.count; i++)
		vec_push(&a->points, b->points.at[i]);
	decompose_reduce(&a->points);
	a->volume += b->volume;
	a->edge = MAX(a->edge, b->edge);
	a->excess = decompose_excess(&a->points, a->volume, a->edge);
	a->box = aabb_join(a->box, b->box);
	vec_free(&b->points);
	for (uint32_t i = other; i + 1 < pieces->count; i++)
		pieces->at[i] = pieces->at[i + 1];
	pieces->count--;
}

static void decompose_pieces_of(struct decompose *d, decompose_pieces *pieces)
{
	for (uint32_t i = 0; i < d->nodes.count; i++) {
		struct decompose_node *node = &d->nodes.at[i];
		struct decompose_piece piece = {
			.head = i, .volume = node->volume, .excess = node->excess, .edge = node->grid->edge};
		decompose_outline(node, &piece.points);
		decompose_reduce(&piece.points);
		piece.box = decompose_grid_box_of(piece.points.at, piece.points.count);
		node->next = MESH_NONE;
		vec_push(pieces, piece);
	}
}

/* Joins pieces while that adds little, or while there are too many; those that are apart last of all. */
static void decompose_join_all(struct decompose *d, decompose_pieces *pieces, uint32_t most)
{
	uint32_t room = pieces->count;
	double *price = mem_alloc((size_t)room * room * sizeof *price + 1);
	for (uint32_t i = 0; i < room; i++)
		for (uint32_t k = i + 1; k < room; k++)
			price[i * room + k] = decompose_price(d, &pieces->at[i], &pieces->at[k]);
	while (pieces->count > 1) {
		uint32_t one = 0, other = 1;
		for (uint32_t i = 0; i < pieces->count; i++)
			for (uint32_t k = i + 1; k < pieces->count; k++)
				if (price[i * room + k] < price[one * room + other])
					one = i, other = k;
		if (pieces->count <= most && !(price[one * room + other] <= d->tolerance))
			break;
		decompose_join(d, pieces, one, other);
		for (uint32_t i = 0; i <= pieces->count; i++) /* the row and the column of `other` go */
			for (uint32_t k = 0; k < pieces->count; k++)
				if (k >= other)
					price[i * room + k] = price[i * room + k + 1];
		for (uint32_t i = other; i < pieces->count; i++)
			memcpy(&price[i * room], &price[(i + 1) * room], pieces->count * sizeof *price);
		for (uint32_t i = 0; i < pieces->count; i++)
			if (i != one)
				price[MIN(i, one) * room + MAX(i, one)] =
					decompose_price(d, &pieces->at[MIN(i, one)], &pieces->at[MAX(i, one)]);
	}
	free(price);
}

/* --- exact pieces ------------------------------------------------------------------------------------------------- */

/* Clips a polygon to one side of a plane at right angles to an axis. A polygon that only touches the plane from
 * outside, or lies in it, is no part of what is inside. */
static uint32_t decompose_clip(
	const struct vec3 *from, uint32_t count, int axis, double place, double side, struct vec3 *to)
{
	uint32_t kept = 0;
	bool enters = false;
	for (uint32_t i = 0; i < count; i++)
		enters = enters || side * (decompose_axis(from[i], axis) - place) > 0;
	if (!enters)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct vec3 a = from[i], b = from[(i + 1) % count];
		double da = side * (decompose_axis(a, axis) - place), db = side * (decompose_axis(b, axis) - place);
		if (da >= 0)
			to[kept++] = a;
		if ((da > 0 && db < 0) || (da < 0 && db > 0)) {
			struct vec3 p = vec3_add(a, vec3_scale(vec3_sub(b, a), da / (da - db)));
			decompose_set(&p, axis, place);
			to[kept++] = p;
		}
	}
	return kept;
}

static void decompose_add_triangle(const struct vec3 *corners, struct aabb box, decompose_points *points)
{
	struct vec3 one[12], other[12];
	uint32_t count = 3;
	memcpy(one, corners, 3 * sizeof *one);
	for (int axis = 0; axis < 3 && count; axis++) {
		count = decompose_clip(one, count, axis, decompose_axis(box.lo, axis), 1, other);
		count = count ? decompose_clip(other, count, axis, decompose_axis(box.hi, axis), -1, one) : 0;
	}
	for (uint32_t i = 0; i < count; i++)
		vec_push(points, one[i]);
	if (points->count > DECOMPOSE_POINTS_MAX)
		decompose_reduce(points);
	if (points->count > DECOMPOSE_POINTS_MAX)
		points->count = DECOMPOSE_POINTS_MAX; /* all in one plane: the hull is made of voxels */
}

/* The corners of the box that lie inside the mesh, and not only in a voxel of its surface. */
static void decompose_add_corners(const struct decompose_node *node, decompose_points *points)
{
	const struct decompose_grid *grid = node->grid;
	for (int corner = 0; corner < 8; corner++) {
		struct vec3 p;
		int at[3] = {0};
		bool is_corner = true; /* not at a side of the box that no cut made */
		for (int a = 0; a < 3; a++) {
			bool high = corner >> a & 1;
			decompose_set(&p, a, decompose_axis(high ? node->box.hi : node->box.lo, a));
			is_corner = is_corner && isfinite(decompose_axis(p, a));
			if (!is_corner)
				break;
			double voxel =
				(decompose_axis(p, a) - decompose_axis(grid->lo, a)) / grid->edge + (high ? -0.5 : 0.5);
			at[a] = MAX(0, MIN(grid->n[a] - 1, (int)floor(voxel)));
		}
		if (is_corner && grid->kind[decompose_grid_at(grid, at[0], at[1], at[2])] == DECOMPOSE_INSIDE)
			vec_push(points, p);
	}
}

static void decompose_add_node(const struct decompose *d, const struct decompose_node *node, decompose_points *points)
{
	const struct decompose_grid *grid = node->grid;
	for (uint32_t i = grid->first; i < grid->first + grid->count; i++) {
		struct vec3 corners[3];
		decompose_grid_corners(d->mesh, i, corners);
		struct aabb around = decompose_grid_box_of(corners, 3);
		if (aabb_overlap(&around, &node->box))
			decompose_add_triangle(corners, node->box, points);
	}
	decompose_add_corners(node, points);
}

static void decompose_add_hull(const struct hull *hull, struct mesh *pieces)
{
	struct mesh_part part = {.name = "", .other_name = "", .first = pieces->corners.count / 3};
	uint32_t base = pieces->points.count;
	for (uint32_t i = 0; i < hull->points.count; i++)
		mesh_add_point(pieces, hull->points.at[i]);
	for (uint32_t f = 0; f < hull->faces.count; f++) {
		const uint32_t *corner = &hull->corners.at[hull->faces.at[f].first];
		for (uint32_t i = 2; i < hull->faces.at[f].count; i++)
			mesh_add_triangle(pieces, base + corner[0], base + corner[i - 1], base + corner[i]);
	}
	part.count = pieces->corners.count / 3 - part.first;
	vec_push(&pieces->parts, part);
}

/* What of the surface lies in the boxes of a piece may be flat: then the piece is the hull of its voxels. */
static troupe_status decompose_finish(
	const struct decompose *d, const struct decompose_piece *piece, struct mesh *pieces, struct troupe_error *error)
{
	decompose_points points = {0};
	struct hull hull = {0};
	for (uint32_t i = piece->head; i != MESH_NONE; i = d->nodes.at[i].next)
		decompose_add_node(d, &d->nodes.at[i], &points);
	troupe_status status = hull_make(points.at, points.count, &hull, NULL);
	if (status)
		status = hull_make(piece->points.at, piece->points.count, &hull, error);
	if (!status)
		decompose_add_hull(&hull, pieces);
	hull_fini(&hull);
	vec_free(&points);
	return status;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* A grid for each part of the file, which its maker may have cut up already; one for all parts if there are too many.
 */
static void decompose_begin(struct decompose *d, uint32_t hulls, uint32_t voxels)
{
	const struct mesh *mesh = d->mesh;
	bool apart = mesh->parts.count > 0 && mesh->parts.count <= hulls;
	uint32_t count = apart ? mesh->parts.count : 1;
	d->grids = mem_alloc(count * sizeof *d->grids);
	for (uint32_t i = 0; i < count; i++) {
		struct decompose_grid *grid = &d->grids[d->grid_count];
		grid->first = apart ? mesh->parts.at[i].first : 0;
		grid->count = apart ? mesh->parts.at[i].count : mesh->corners.count / 3;
		if (!decompose_grid_make(d->mesh, grid, MAX((double)DECOMPOSE_VOXELS_MIN, (double)voxels / count)))
			continue;
		d->grid_count++;
		struct decompose_node node = {
			.grid = grid, .hi = {grid->n[0], grid->n[1], grid->n[2]}, .box = AABB_ALL, .next = MESH_NONE};
		decompose_settle(&node);
		d->tolerance += DECOMPOSE_TOLERANCE * (node.volume + node.excess);
		if (node.volume > 0)
			vec_push(&d->nodes, node);
	}
}

static void decompose_fini(struct decompose *d, decompose_pieces *pieces)
{
	for (uint32_t i = 0; i < d->grid_count; i++)
		free(d->grids[i].kind);
	for (uint32_t i = 0; i < pieces->count; i++)
		vec_free(&pieces->at[i].points);
	vec_free(pieces);
	vec_free(&d->nodes);
	free(d->grids);
}

troupe_status decompose_mesh(
	const struct mesh *mesh, uint32_t hulls, uint32_t voxels, struct mesh *ret_pieces, struct troupe_error *error)
{
	struct decompose d = {.mesh = mesh};
	decompose_pieces pieces = {0};
	troupe_status status = TROUPE_OK;
	hulls = MAX(1u, MIN(hulls, (uint32_t)DECOMPOSE_HULLS_MAX));
	voxels = MAX((uint32_t)DECOMPOSE_VOXELS_MIN, MIN(voxels, (uint32_t)DECOMPOSE_VOXELS_MAX));
	decompose_begin(&d, hulls, voxels);
	decompose_cut_all(&d, 2 * hulls);
	decompose_pieces_of(&d, &pieces);
	decompose_join_all(&d, &pieces, hulls);
	for (uint32_t i = 0; i < pieces.count && !status; i++)
		status = decompose_finish(&d, &pieces.at[i], ret_pieces, error);
	if (!status && !pieces.count)
		status = fail(error, TROUPE_EWORLD, "it has no extent: expected a mesh with a volume");
	if (status)
		mesh_fini(ret_pieces);
	decompose_fini(&d, &pieces);
	return status;
}
