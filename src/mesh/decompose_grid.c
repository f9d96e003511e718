/* A voxel that a triangle meets is surface; what can be reached from a corner of the grid without crossing the surface
 * is outside; the rest is inside. So holes in the mesh that are smaller than a voxel do not matter. */
#include "mesh/decompose_grid.h"

#include "base/math.h"

#include <math.h>

enum {
	DECOMPOSE_SIDE_MAX = 160,   /* voxels of a grid along an axis */
	DECOMPOSE_VISITS = 1 << 27, /* voxels that are compared with triangles, of a part */
};

void decompose_grid_corners(const struct mesh *mesh, uint32_t triangle, struct vec3 *ret_corners)
{
	for (uint32_t k = 0; k < 3; k++)
		ret_corners[k] = mesh->points.at[mesh->corners.at[3 * triangle + k]];
}

struct aabb decompose_grid_box_of(const struct vec3 *points, uint32_t count)
{
	struct aabb box = AABB_NONE;
	for (uint32_t i = 0; i < count; i++)
		box = aabb_join(box, (struct aabb){points[i], points[i]});
	return box;
}

/* The voxels that the box of a triangle touches. */
static void decompose_grid_range(const struct decompose_grid *grid, struct aabb box, int *ret_lo, int *ret_hi)
{
	for (int a = 0; a < 3; a++) {
		double lo = (decompose_axis(box.lo, a) - decompose_axis(grid->lo, a)) / grid->edge;
		double hi = (decompose_axis(box.hi, a) - decompose_axis(grid->lo, a)) / grid->edge;
		ret_lo[a] = MAX(0, MIN(grid->n[a] - 1, (int)floor(lo)));
		ret_hi[a] = MAX(ret_lo[a] + 1, MIN(grid->n[a], (int)ceil(hi)));
	}
}

/* Whether the projections of the triangle and of a cube around the origin on the axis are apart. */
static bool decompose_grid_parts(const struct vec3 *t, struct vec3 axis, double half)
{
	double a = vec3_dot(t[0], axis), b = vec3_dot(t[1], axis), c = vec3_dot(t[2], axis);
	double reach = half * (fabs(axis.x) + fabs(axis.y) + fabs(axis.z));
	return MIN(a, MIN(b, c)) > reach || MAX(a, MAX(b, c)) < -reach;
}

/* A triangle in the side of a cube meets the cubes on both sides: else the outside would leak in between them. */
static bool decompose_grid_meets(const struct vec3 *corners, struct vec3 middle, double edge)
{
	static const struct vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	double half = edge * (0.5 + 1e-9);
	struct vec3 t[3];
	for (int k = 0; k < 3; k++)
		t[k] = vec3_sub(corners[k], middle);
	if (decompose_grid_parts(t, vec3_cross(vec3_sub(t[1], t[0]), vec3_sub(t[2], t[0])), half))
		return false;
	for (int a = 0; a < 3; a++) {
		if (decompose_grid_parts(t, axes[a], half))
			return false;
		for (int k = 0; k < 3; k++)
			if (decompose_grid_parts(t, vec3_cross(axes[a], vec3_sub(t[(k + 1) % 3], t[k])), half))
				return false;
	}
	return true;
}

static void decompose_grid_draw(const struct mesh *mesh, struct decompose_grid *grid)
{
	for (uint32_t i = grid->first; i < grid->first + grid->count; i++) {
		struct vec3 corners[3];
		int lo[3], hi[3];
		decompose_grid_corners(mesh, i, corners);
		decompose_grid_range(grid, decompose_grid_box_of(corners, 3), lo, hi);
		for (int z = lo[2]; z < hi[2]; z++)
			for (int y = lo[1]; y < hi[1]; y++)
				for (int x = lo[0]; x < hi[0]; x++) {
					uint8_t *kind = &grid->kind[decompose_grid_at(grid, x, y, z)];
					struct vec3 middle = {grid->lo.x + (x + 0.5) * grid->edge,
						grid->lo.y + (y + 0.5) * grid->edge,
						grid->lo.z + (z + 0.5) * grid->edge};
					if (*kind != DECOMPOSE_SURFACE &&
						decompose_grid_meets(corners, middle, grid->edge))
						*kind = DECOMPOSE_SURFACE;
				}
	}
}

/* Marks what can be reached from the first voxel, which is outside, without crossing the surface. */
static void decompose_grid_flood(struct decompose_grid *grid)
{
	VEC(size_t) stack = {0};
	const size_t row = (size_t)grid->n[0], layer = row * (size_t)grid->n[1], all = layer * (size_t)grid->n[2];
	grid->kind[0] = DECOMPOSE_OUTSIDE;
	vec_push(&stack, 0);
	while (stack.count) {
		size_t at = stack.at[--stack.count], x = at % row, y = at % layer / row;
		const size_t next[6] = {x ? at - 1 : all, x + 1 < row ? at + 1 : all, y ? at - row : all,
			y + 1 < (size_t)grid->n[1] ? at + row : all, at >= layer ? at - layer : all, at + layer};
		for (int i = 0; i < 6; i++)
			if (next[i] < all && grid->kind[next[i]] == DECOMPOSE_INSIDE) {
				grid->kind[next[i]] = DECOMPOSE_OUTSIDE;
				vec_push(&stack, next[i]);
			}
	}
	vec_free(&stack);
}

/* Voxels that decompose_grid_draw() will compare with triangles. */
static double decompose_grid_visits(const struct mesh *mesh, const struct decompose_grid *grid)
{
	double visits = 0;
	for (uint32_t i = grid->first; i < grid->first + grid->count; i++) {
		struct vec3 corners[3];
		int lo[3], hi[3];
		decompose_grid_corners(mesh, i, corners);
		decompose_grid_range(grid, decompose_grid_box_of(corners, 3), lo, hi);
		visits += (double)(hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]);
	}
	return visits;
}

static void decompose_grid_size(struct decompose_grid *grid, struct aabb box, double edge)
{
	double margin = 1.382 * edge; /* so that sides of the mesh are seldom sides of voxels */
	grid->edge = edge;
	grid->lo = vec3_sub(box.lo, (struct vec3){margin, margin, margin});
	for (int a = 0; a < 3; a++)
		grid->n[a] = 4 + (int)(decompose_axis(vec3_sub(box.hi, box.lo), a) / edge);
}

bool decompose_grid_make(const struct mesh *mesh, struct decompose_grid *grid, double voxels)
{
	struct aabb box = AABB_NONE;
	for (uint32_t i = 3 * grid->first; i < 3 * (grid->first + grid->count); i++) {
		struct vec3 p = mesh->points.at[mesh->corners.at[i]];
		box = aabb_join(box, (struct aabb){p, p});
	}
	struct vec3 size = vec3_sub(box.hi, box.lo);
	double longest = MAX(size.x, MAX(size.y, size.z)), least = longest / DECOMPOSE_SIDE_MAX;
	if (!(longest > 0))
		return false;
	double volume = MAX(size.x, least) * MAX(size.y, least) * MAX(size.z, least);
	double edge = MAX(least, math_exp(math_log(volume / voxels) / 3));
	decompose_grid_size(grid, box, edge);
	while (decompose_grid_visits(mesh, grid) > DECOMPOSE_VISITS && grid->n[0] + grid->n[1] + grid->n[2] > 18)
		decompose_grid_size(grid, box, edge *= 2);
	grid->kind = mem_alloc((size_t)grid->n[0] * (size_t)grid->n[1] * (size_t)grid->n[2]);
	decompose_grid_draw(mesh, grid);
	decompose_grid_flood(grid);
	return true;
}
