/* The voxels of a part of a mesh, from which decompose.c finds out where to cut. Pure. */
#ifndef MESH_DECOMPOSE_GRID_H
#define MESH_DECOMPOSE_GRID_H

#include "mesh/mesh.h"

enum decompose_kind { DECOMPOSE_INSIDE, DECOMPOSE_SURFACE, DECOMPOSE_OUTSIDE };

/* There is a layer of outside around the part. */
struct decompose_grid {
	uint32_t first, count; /* triangles; the caller's choice */
	struct vec3 lo;
	double edge; /* m, of a voxel */
	int n[3];
	uint8_t *kind; /* enum decompose_kind, by decompose_grid_at(); to be freed with free() */
};

static inline double decompose_axis(struct vec3 v, int axis)
{
	return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static inline size_t decompose_grid_at(const struct decompose_grid *grid, int x, int y, int z)
{
	return ((size_t)z * (size_t)grid->n[1] + (size_t)y) * (size_t)grid->n[0] + (size_t)x;
}

/* Makes about so many voxels. False: the triangles have no extent, and there is no grid. */
bool decompose_grid_make(const struct mesh *mesh, struct decompose_grid *grid, double voxels);
/* The three corners of a triangle. */
void decompose_grid_corners(const struct mesh *mesh, uint32_t triangle, struct vec3 *ret_corners);
struct aabb decompose_grid_box_of(const struct vec3 *points, uint32_t count);

#endif
