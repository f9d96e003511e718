/* Surfaces of many triangles that things may stand on: a mesh, or a grid of heights.
 *
 * Besides its triangles a skin knows what lies around each: a contact normal at an edge or a corner is right only when
 * the neighbouring points lie below it, and else the triangle's own normal is (that is what keeps a box that slides
 * over a flat floor of triangles from catching on their edges). Triangles are solid on the side away from their normal.
 * Constant once made: threads may share it. */
#ifndef MESH_SKIN_H
#define MESH_SKIN_H

#include "geom/bvh.h"
#include "mesh/mesh.h"

enum {
	SKIN_GRID_MAX = 4097, /* points of a grid along one side */
	SKIN_AROUND_MAX = 64, /* neighbours of a point that are looked at; a point with more is taken as flat */
};

/* Heights above a rectangle, row 0 at +y, column 0 at -x; metres. */
struct skin_grid {
	uint32_t columns, rows;
	struct vec3 origin; /* of column 0, row 0 at height 0 */
	double dx, dy;      /* between columns, and (downwards) rows */
	float *z;           /* [rows * columns], owned */
};

struct skin { /* zeroed is empty */
	/* mesh */
	uint32_t point_count, triangle_count;
	struct vec3 *points, *normals;
	uint32_t *corners, *across; /* [3 * triangles]; across[k]: far point beyond edge k, k + 1; MESH_NONE: a rim */
	uint32_t *around_first, *around;
	bool *ridged; /* [triangles] */
	struct bvh tree;
	/* or grid, when its columns are not 0 */
	struct skin_grid grid;
	struct aabb box;
};

struct skin_triangle {
	struct vec3 p[3], normal;
	uint32_t corner[3];
	/* skin_look_around() */
	bool rim[3];           /* edge k, k + 1 has no neighbour */
	struct vec3 across[3]; /* the neighbour's far point */
	bool ridged;           /* somewhere around it the surface falls away: its edges and corners may be hit */
};

/* Of a welded mesh. */
void skin_of_mesh(const struct mesh *mesh, struct skin *ret_skin);
/* Takes over grid.z. */
void skin_of_grid(struct skin_grid grid, struct skin *ret_skin);
void skin_fini(struct skin *skin);

/* Triangles whose boxes overlap box, ascending, replacing what was in *values. */
void skin_query(const struct skin *skin, const struct aabb *box, bvh_values *values);
/* Without what lies around it: few of the triangles that are asked for are worth a look around. */
void skin_get(const struct skin *skin, uint32_t triangle, struct skin_triangle *ret_triangle);
/* Of the triangle that skin_get() gave. */
void skin_look_around(const struct skin *skin, uint32_t triangle, struct skin_triangle *in_out);
/* The points joined to a point by an edge; their number, or 0 when there are too many. */
uint32_t skin_around(const struct skin *skin, uint32_t point, struct vec3 ret_points[SKIN_AROUND_MAX]);

#endif
