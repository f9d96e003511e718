/* Surfaces of many triangles that objects may stand on: a mesh, or a grid of heights.
 *
 * Besides its triangles a trimesh knows the neighbourhood of each. The contact normal at an edge or a corner is right
 * only if the neighbouring points lie below it; otherwise the normal of the triangle is right. This prevents a box
 * that slides over a flat floor of triangles from catching on their edges. Triangles are solid on the side opposite
 * to their normal. A trimesh is constant after its creation: threads may share it. */
#ifndef MESH_TRIMESH_H
#define MESH_TRIMESH_H

#include "geom/bvh.h"
#include "mesh/mesh.h"

enum {
	TRIMESH_GRID_MAX = 4097, /* points of a grid along one side */
	TRIMESH_AROUND_MAX = 64, /* neighbours of a point that are looked at; of a point with more none are */
};

/* Heights above a rectangle in metres; row 0 at +y, column 0 at -x. */
struct trimesh_grid {
	uint32_t columns, rows;
	struct vec3 origin; /* of column 0, row 0 at height 0 */
	double dx, dy;      /* between columns; between rows (towards -y) */
	float *z;           /* [rows * columns], owned */
};

struct trimesh { /* zeroed is empty */
	/* mesh */
	uint32_t point_count, triangle_count;
	struct vec3 *points, *normals;
	uint32_t *corners, *across; /* [3 * triangles]; across[k]: the far point beyond the edge k, k + 1; MESH_NONE:
				     * a rim */
	uint32_t *around_first, *around;
	bool *ridged; /* [triangles] */
	struct bvh tree;
	/* grid, if its columns are not 0 */
	struct trimesh_grid grid;
	struct aabb box;
};

struct trimesh_triangle {
	struct vec3 p[3], normal;
	uint32_t corner[3];
	/* filled by trimesh_look_around() */
	bool rim[3];           /* edge k, k + 1 has no neighbour */
	struct vec3 across[3]; /* the neighbour's far point */
	bool ridged;           /* the surface falls away somewhere around it: its edges and corners may be hit */
};

/* The mesh must be welded. */
void trimesh_of_mesh(const struct mesh *mesh, struct trimesh *ret_trimesh);
/* The trimesh owns grid.z from then on. */
void trimesh_of_grid(struct trimesh_grid grid, struct trimesh *ret_trimesh);
void trimesh_fini(struct trimesh *trimesh);

/* Triangles whose boxes overlap box, ascending; replaces the content of *values. */
void trimesh_query(const struct trimesh *trimesh, const struct aabb *box, bvh_values *values);
/* Without the neighbourhood: only few of the triangles that are read need it. */
void trimesh_get(const struct trimesh *trimesh, uint32_t triangle, struct trimesh_triangle *ret_triangle);
/* Adds the neighbourhood of the triangle, as trimesh_get() gave it. */
void trimesh_look_around(const struct trimesh *trimesh, uint32_t triangle, struct trimesh_triangle *in_out);
/* The points that edges connect to a point. Returns their number, or 0 if there are too many. */
uint32_t trimesh_around(const struct trimesh *trimesh, uint32_t point, struct vec3 ret_points[TRIMESH_AROUND_MAX]);

#endif
