/* Neighbours are found by sorting edges: two triangles are neighbours if they have an edge in common and run along it
 * in opposite directions. An edge of one triangle, or of three, is a rim. */
#include "mesh/trimesh.h"

#include <stdlib.h>
#include <string.h>

#define RIDGE 1e-3 /* sine of the least angle between neighbours that counts as falling away */

struct edge {
	uint32_t low, high, triangle, k;
};

static int mesh_trimesh_by_ends(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return a->triangle < b->triangle ? -1 : a->triangle > b->triangle;
}

static void mesh_trimesh_find_edges(const struct trimesh *trimesh, struct edge *edges)
{
	for (uint32_t i = 0; i < 3 * trimesh->triangle_count; i++) {
		uint32_t a = trimesh->corners[i], b = trimesh->corners[i % 3 == 2 ? i - 2 : i + 1];
		edges[i] = (struct edge){MIN(a, b), MAX(a, b), i / 3, i % 3};
	}
	qsort(edges, 3 * (size_t)trimesh->triangle_count, sizeof *edges, mesh_trimesh_by_ends);
}

static void mesh_trimesh_join(struct trimesh *trimesh, const struct edge *a, const struct edge *b)
{
	uint32_t from_a = trimesh->corners[3 * a->triangle + a->k], from_b = trimesh->corners[3 * b->triangle + b->k];
	if (from_a == from_b)
		return; /* one of the triangles is reversed */
	trimesh->across[3 * a->triangle + a->k] = trimesh->corners[3 * b->triangle + (b->k + 2) % 3];
	trimesh->across[3 * b->triangle + b->k] = trimesh->corners[3 * a->triangle + (a->k + 2) % 3];
}

/* Finds the neighbours of triangles, and makes the lists of neighbours of points: each edge once. */
static void mesh_trimesh_connect(struct trimesh *trimesh)
{
	uint32_t count = 3 * trimesh->triangle_count;
	struct edge *edges = mem_alloc(count * sizeof *edges + 1);
	mesh_trimesh_find_edges(trimesh, edges);
	memset(trimesh->across, 0xff, count * sizeof *trimesh->across);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < count;) {
			uint32_t end = i;
			while (end < count && edges[end].low == edges[i].low && edges[end].high == edges[i].high)
				end++;
			if (pass == 0) {
				trimesh->around_first[edges[i].low + 1]++;
				trimesh->around_first[edges[i].high + 1]++;
				if (end - i == 2)
					mesh_trimesh_join(trimesh, &edges[i], &edges[i + 1]);
			} else {
				/* the index counts down: the list is filled from its end */
				trimesh->around[--trimesh->around_first[edges[i].low + 1]] = edges[i].high;
				trimesh->around[--trimesh->around_first[edges[i].high + 1]] = edges[i].low;
			}
			i = end;
		}
		if (pass == 0) {
			for (uint32_t p = 0; p < trimesh->point_count; p++)
				trimesh->around_first[p + 1] += trimesh->around_first[p];
			trimesh->around = mem_alloc((size_t)trimesh->around_first[trimesh->point_count] * 4 + 4);
		}
	}
	/* entry p + 1 is now the begin of p's list */
	uint32_t total = 0;
	for (uint32_t i = 0; i < count; i++)
		total += i == 0 || edges[i].low != edges[i - 1].low || edges[i].high != edges[i - 1].high;
	memmove(trimesh->around_first, trimesh->around_first + 1, trimesh->point_count * sizeof *trimesh->around_first);
	trimesh->around_first[trimesh->point_count] = 2 * total;
	free(edges);
}

static bool mesh_trimesh_falls_away(const struct trimesh_triangle *t, struct vec3 point)
{
	struct vec3 d = vec3_sub(point, t->p[0]);
	double up = vec3_dot(d, t->normal);
	return up < 0 && up * up > RIDGE * RIDGE * vec3_dot(d, d);
}

/* Whether the surface falls away at any of the three corners. A rim counts, and a corner with too many neighbours. */
static bool mesh_trimesh_is_ridged(const struct trimesh *trimesh, const struct trimesh_triangle *t)
{
	struct vec3 near[TRIMESH_AROUND_MAX];
	for (int k = 0; k < 3; k++) {
		uint32_t count = trimesh_around(trimesh, t->corner[k], near);
		if (t->rim[k] || !count)
			return true;
		for (uint32_t i = 0; i < count; i++)
			if (mesh_trimesh_falls_away(t, near[i]))
				return true;
	}
	return false;
}

void trimesh_of_mesh(const struct mesh *mesh, struct trimesh *trimesh)
{
	size_t points = mesh->points.count, triangles = mesh->corners.count / 3;
	*trimesh = (struct trimesh){
		.point_count = (uint32_t)points, .triangle_count = (uint32_t)triangles, .box = AABB_NONE};
	trimesh->points = mem_alloc(points * sizeof *trimesh->points + 1);
	trimesh->normals = mem_alloc(triangles * sizeof *trimesh->normals + 1);
	trimesh->corners = mem_alloc(3 * triangles * sizeof *trimesh->corners + 1);
	trimesh->across = mem_alloc(3 * triangles * sizeof *trimesh->across + 1);
	trimesh->around_first = mem_alloc((points + 2) * sizeof *trimesh->around_first);
	trimesh->ridged = mem_alloc(triangles + 1);
	for (size_t i = 0; i < points; i++)
		trimesh->points[i] = mesh->points.at[i];
	for (size_t i = 0; i < 3 * triangles; i++)
		trimesh->corners[i] = mesh->corners.at[i];
	mesh_trimesh_connect(trimesh);
	struct bvh_item *items = mem_alloc(triangles * sizeof *items);
	for (uint32_t t = 0; t < triangles; t++) {
		struct vec3 p[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = trimesh->points[trimesh->corners[3 * t + k]];
		trimesh->normals[t] = vec3_unit(vec3_cross(vec3_sub(p[1], p[0]), vec3_sub(p[2], p[0])));
		struct aabb box = aabb_join(
			aabb_join((struct aabb){p[0], p[0]}, (struct aabb){p[1], p[1]}), (struct aabb){p[2], p[2]});
		items[t] = (struct bvh_item){box, t, NULL};
		trimesh->box = aabb_join(trimesh->box, box);
	}
	bvh_build(&trimesh->tree, items, (uint32_t)triangles);
	free(items);
	for (uint32_t t = 0; t < triangles; t++) {
		struct trimesh_triangle triangle;
		trimesh_get(trimesh, t, &triangle);
		trimesh_look_around(trimesh, t, &triangle);
		trimesh->ridged[t] = mesh_trimesh_is_ridged(trimesh, &triangle);
	}
}

void trimesh_of_grid(struct trimesh_grid grid, struct trimesh *trimesh)
{
	*trimesh = (struct trimesh){.grid = grid};
	double lo = INFINITY, hi = -INFINITY;
	for (size_t i = 0; i < (size_t)grid.columns * grid.rows; i++) {
		lo = MIN(lo, (double)grid.z[i]);
		hi = MAX(hi, (double)grid.z[i]);
	}
	struct vec3 o = grid.origin;
	trimesh->box = (struct aabb){
		{o.x, o.y - grid.dy * (grid.rows - 1), o.z + lo}, {o.x + grid.dx * (grid.columns - 1), o.y, o.z + hi}};
}

void trimesh_fini(struct trimesh *trimesh)
{
	free(trimesh->points);
	free(trimesh->normals);
	free(trimesh->corners);
	free(trimesh->across);
	free(trimesh->around_first);
	free(trimesh->around);
	free(trimesh->ridged);
	free(trimesh->grid.z);
	bvh_fini(&trimesh->tree);
	*trimesh = (struct trimesh){0};
}

/* --- grids ------------------------------------------------------------------------------------------------------ */

/* A cell is divided from its lower left to its upper right corner (seen from above). Triangle 2 * cell is the upper
 * left one. */
static struct vec3 mesh_trimesh_grid_point(const struct trimesh_grid *grid, uint32_t row, uint32_t column)
{
	return (struct vec3){grid->origin.x + grid->dx * column, grid->origin.y - grid->dy * row,
		grid->origin.z + (double)grid->z[(size_t)row * grid->columns + column]};
}

static uint32_t mesh_trimesh_clamp_cell(double place, uint32_t cells)
{
	return !(place > 0) ? 0 : place >= cells ? cells - 1 : (uint32_t)place;
}

static void mesh_trimesh_query_grid(const struct trimesh_grid *grid, const struct aabb *box, bvh_values *values)
{
	uint32_t columns = grid->columns - 1, rows = grid->rows - 1;
	uint32_t c0 = mesh_trimesh_clamp_cell((box->lo.x - grid->origin.x) / grid->dx, columns),
		 c1 = mesh_trimesh_clamp_cell((box->hi.x - grid->origin.x) / grid->dx, columns),
		 r0 = mesh_trimesh_clamp_cell((grid->origin.y - box->hi.y) / grid->dy, rows),
		 r1 = mesh_trimesh_clamp_cell((grid->origin.y - box->lo.y) / grid->dy, rows);
	double height = box->lo.z - grid->origin.z;
	for (uint32_t r = r0; r <= r1; r++)
		for (uint32_t c = c0; c <= c1; c++) {
			const float *z = &grid->z[(size_t)r * grid->columns + c], *under = z + grid->columns;
			if ((double)z[0] < height && (double)z[1] < height && (double)under[0] < height &&
				(double)under[1] < height)
				continue;
			vec_push(values, 2 * (r * columns + c));
			vec_push(values, 2 * (r * columns + c) + 1);
		}
}

static void mesh_trimesh_get_grid(const struct trimesh_grid *grid, uint32_t triangle, struct trimesh_triangle *t)
{
	/* row and column of the corners of the upper left and the lower right triangle, relative to the cell's upper
	 * left */
	static const uint32_t at[2][3][2] = {{{0, 0}, {1, 0}, {0, 1}}, {{1, 1}, {0, 1}, {1, 0}}};
	uint32_t cells = grid->columns - 1, cell = triangle / 2, r = cell / cells, c = cell % cells;
	for (int k = 0; k < 3; k++) {
		const uint32_t *from = at[triangle % 2][k];
		t->corner[k] = (r + from[0]) * grid->columns + c + from[1];
		t->p[k] = mesh_trimesh_grid_point(grid, r + from[0], c + from[1]);
	}
	t->normal = vec3_unit(vec3_cross(vec3_sub(t->p[1], t->p[0]), vec3_sub(t->p[2], t->p[0])));
}

/* The far points of the neighbours, in this cell and the cells around it. */
static void mesh_trimesh_look_around_grid(
	const struct trimesh_grid *grid, uint32_t triangle, struct trimesh_triangle *t)
{
	static const int far[2][3][2] = {{{1, -1}, {1, 1}, {-1, 1}}, {{0, 2}, {0, 0}, {2, 0}}};
	uint32_t cells = grid->columns - 1, cell = triangle / 2, r = cell / cells, c = cell % cells;
	bool upper = triangle % 2 == 0;
	t->rim[0] = upper ? c == 0 : c + 1 == cells;
	t->rim[1] = false;
	t->rim[2] = upper ? r == 0 : r + 2 == grid->rows;
	for (int k = 0; k < 3; k++) {
		const int *to = far[triangle % 2][k];
		if (!t->rim[k])
			t->across[k] = mesh_trimesh_grid_point(grid, r + (uint32_t)to[0], c + (uint32_t)to[1]);
	}
}

static uint32_t mesh_trimesh_around_grid(const struct trimesh_grid *grid, uint32_t point, struct vec3 *ret_points)
{
	static const int beside[6][2] = {{-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}}; /* row, column */
	int64_t row = point / grid->columns, column = point % grid->columns;
	uint32_t count = 0;
	for (int i = 0; i < 6; i++) {
		int64_t r = row + beside[i][0], c = column + beside[i][1];
		if (r >= 0 && c >= 0 && r < grid->rows && c < grid->columns)
			ret_points[count++] = mesh_trimesh_grid_point(grid, (uint32_t)r, (uint32_t)c);
	}
	return count;
}

/* --- both ------------------------------------------------------------------------------------------------------- */

static void mesh_trimesh_sort(bvh_values *values)
{
	/* a heap sort: in place, and no slower if a tree reports thousands */
	uint32_t *v = values->at, count = values->count;
	for (uint32_t end = count, start = count / 2; end > 1;) {
		if (start > 0)
			start--;
		else {
			end--;
			uint32_t swap = v[0];
			v[0] = v[end], v[end] = swap;
		}
		for (uint32_t root = start, child; (child = 2 * root + 1) < end; root = child) {
			if (child + 1 < end && v[child + 1] > v[child])
				child++;
			if (v[root] >= v[child])
				break;
			uint32_t swap = v[root];
			v[root] = v[child], v[child] = swap;
		}
	}
}

void trimesh_query(const struct trimesh *trimesh, const struct aabb *box, bvh_values *values)
{
	values->count = 0;
	if (!aabb_overlap(box, &trimesh->box))
		return;
	if (trimesh->grid.columns) {
		mesh_trimesh_query_grid(&trimesh->grid, box, values);
		return;
	}
	bvh_query(&trimesh->tree, box, values);
	mesh_trimesh_sort(values);
}

void trimesh_get(const struct trimesh *trimesh, uint32_t triangle, struct trimesh_triangle *t)
{
	if (trimesh->grid.columns) {
		mesh_trimesh_get_grid(&trimesh->grid, triangle, t);
		return;
	}
	for (uint32_t k = 0; k < 3; k++) {
		t->corner[k] = trimesh->corners[3 * triangle + k];
		t->p[k] = trimesh->points[t->corner[k]];
	}
	t->normal = trimesh->normals[triangle];
}

void trimesh_look_around(const struct trimesh *trimesh, uint32_t triangle, struct trimesh_triangle *t)
{
	if (trimesh->grid.columns) {
		mesh_trimesh_look_around_grid(&trimesh->grid, triangle, t);
		t->ridged = mesh_trimesh_is_ridged(trimesh, t);
		return;
	}
	for (uint32_t k = 0; k < 3; k++) {
		uint32_t across = trimesh->across[3 * triangle + k];
		t->rim[k] = across == MESH_NONE;
		if (!t->rim[k])
			t->across[k] = trimesh->points[across];
	}
	t->ridged = trimesh->ridged[triangle];
}

uint32_t trimesh_around(const struct trimesh *trimesh, uint32_t point, struct vec3 ret_points[TRIMESH_AROUND_MAX])
{
	if (trimesh->grid.columns)
		return mesh_trimesh_around_grid(&trimesh->grid, point, ret_points);
	uint32_t first = trimesh->around_first[point], count = trimesh->around_first[point + 1] - first;
	if (count > TRIMESH_AROUND_MAX)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		ret_points[i] = trimesh->points[trimesh->around[first + i]];
	return count;
}
