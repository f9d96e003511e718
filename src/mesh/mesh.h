/* Triangle meshes: made of points and triangles, cut, measured. Shapes that are no primitives are made of them.
 * mesh/importer.h reads them from files.
 *
 * Pure: the same input gives the same mesh, point by point and in the same order. Thread: any, one mesh per caller. */
#ifndef MESH_MESH_H
#define MESH_MESH_H

#include "base/arena.h"
#include "base/files.h"
#include "geom/geom.h"

enum {
	MESH_FILE_BYTES_MAX = 256 << 20,
	MESH_TRIANGLES_MAX = 2000000,
	MESH_PARTS_MAX = 4096,
	MESH_DEPTH_MAX = 256, /* of nodes in nodes */
	MESH_POINTS_MAX = 3 * MESH_TRIANGLES_MAX,
	MESH_REACH_MAX = 1000000000, /* of each coordinate of a point, m */
};

#define MESH_NONE UINT32_MAX

struct mesh_part {                     /* what one node of the file shows */
	const char *name, *other_name; /* the node's and the mesh's own */
	uint32_t first, count;         /* triangles */
};

struct mesh {        /* zeroed is empty */
	uint32_t id; /* its maker's: tells meshes apart without looking at addresses */
	VEC(struct vec3) points;
	VEC(uint32_t) corners; /* three a triangle, counter-clockwise seen from outside */
	VEC(struct mesh_part) parts;
	struct arena arena; /* names */
};

/* Mass properties of a solid with density 1. */
struct mesh_moments {
	double volume;      /* m3, negative when the triangles face inwards */
	struct vec3 centre; /* of volume */
	struct mat3 second; /* integral of x x^T about the origin, m5 */
};

void mesh_fini(struct mesh *mesh);
/* Appends. A triangle's corners are indices of points. */
uint32_t mesh_add_point(struct mesh *mesh, struct vec3 point);
void mesh_add_triangle(struct mesh *mesh, uint32_t a, uint32_t b, uint32_t c);

/* Points in the same place become one, triangles without area go. Points come out in the order of first use. */
void mesh_weld(struct mesh *mesh);

/* The part of that name (all, when NULL), centred on its box when asked to, then scaled; a mirroring scale turns the
 * triangles round. False: no such part. *ret_mesh must be empty. */
bool mesh_cut(const struct mesh *mesh, const char *part, bool centre, struct vec3 scale, struct mesh *ret_mesh);

/* Welded meshes only: every edge lies between two triangles that run along it in opposite directions. */
bool mesh_is_closed(const struct mesh *mesh);
/* Of a closed mesh, as a sum over the tetrahedra between the origin and each triangle (Tonon, "Explicit exact formulas
 * for the 3-D tetrahedron inertia tensor", 2004, in its form for integrals of products). */
struct mesh_moments mesh_measure(const struct mesh *mesh);

/* Outlines (closed, in the plane z = 0; a point that repeats the first is fine) extruded by height along z from 0:
 * inside is what an odd number of outlines encloses. With pieces, each part of the mesh is convex and closed in itself;
 * without, the whole is one closed surface. TROUPE_EWORLD when they cannot be filled (too few points, crossing). */
struct mesh_outline {
	const struct vec3 *points;
	uint32_t count;
};
enum { MESH_OUTLINE_POINTS_MAX = 4096, MESH_OUTLINES_MAX = 256 }; /* points: in all outlines together */
troupe_status mesh_extrude(const struct mesh_outline *outlines, uint32_t count, double height, bool pieces,
	struct mesh *ret_mesh, struct troupe_error *error);

#endif
