/* Triangle meshes: making them of points and triangles, cutting and measuring them. They are the form of all shapes
 * that are not primitives. mesh/importer.h reads them from files.
 *
 * Pure: the same input gives the same mesh, point by point and in the same order. Thread: any, one mesh per caller. */
#ifndef MESH_MESH_H
#define MESH_MESH_H

#include "base/arena.h"
#include "base/files.h"
#include "geom/geom.h"
#include "mesh/material.h"

enum {
	MESH_FILE_BYTES_MAX = 256 << 20,
	MESH_TRIANGLES_MAX = 2000000,
	MESH_PARTS_MAX = 4096,
	MESH_DEPTH_MAX = 256, /* of nested nodes */
	MESH_POINTS_MAX = 3 * MESH_TRIANGLES_MAX,
	MESH_REACH_MAX = 1000000000, /* m: largest absolute coordinate of a point */
	MESH_TEXCOORD_MAX = 1000000, /* the same of a texture coordinate */
};

#define MESH_NONE UINT32_MAX

struct mesh_part {                     /* the triangles that one node of the file has of one of its meshes */
	const char *name, *other_name; /* names of the node and of the mesh in the file */
	uint32_t first, count;         /* triangles */
	uint32_t material;             /* in the mesh's list; beyond its end: none */
};

struct mesh_texcoord { /* of a corner, as in OBJ: v runs up from the lower edge of the texture */
	float u, v;
};

struct mesh_embedded { /* the bytes of an image file inside the mesh file */
	const char *bytes;
	size_t count;
};

struct mesh {        /* zeroed is empty */
	uint32_t id; /* set by its maker: identifies a mesh independently of its address */
	VEC(struct vec3) points;
	VEC(uint32_t) corners; /* three for each triangle, counter-clockwise seen from outside */
	VEC(struct mesh_part) parts;
	VEC(struct mesh_texcoord) texcoords; /* one for each of `corners`, or none at all */
	VEC(struct mesh_material) materials;
	VEC(struct mesh_embedded) embedded;
	struct arena arena; /* names, and the bytes of embedded images */
};

/* Mass properties of a solid with density 1. */
struct mesh_moments {
	double volume;      /* m3, negative when the triangles face inwards */
	struct vec3 centre; /* of volume */
	struct mat3 second; /* integral of x x^T about the origin, m5 */
};

void mesh_fini(struct mesh *mesh);
/* Append a point or a triangle. The corners of a triangle are indices of points. */
uint32_t mesh_add_point(struct mesh *mesh, struct vec3 point);
void mesh_add_triangle(struct mesh *mesh, uint32_t a, uint32_t b, uint32_t c);

/* The part to which a triangle belongs; NULL: none. */
const struct mesh_part *mesh_part_of(const struct mesh *mesh, uint32_t triangle);

/* Points at the same position become one; triangles without area are removed. Points are in the order of first use. */
void mesh_weld(struct mesh *mesh);

/* Copies the parts of that name, of a node or of a mesh of the file (NULL: all parts), centred on its box if `centre`,
 * then scaled; a mirroring scale reverses the triangles. All materials are copied, and no embedded images. False: no
 * such part. *ret_mesh must be empty. */
bool mesh_cut(const struct mesh *mesh, const char *part, bool centre, struct vec3 scale, struct mesh *ret_mesh);

/* True if every edge lies between two triangles that run along it in opposite directions. Welded meshes only. */
bool mesh_is_closed(const struct mesh *mesh);
/* The moments of a closed mesh: the sum over the tetrahedra of the origin and each triangle (Tonon, "Explicit exact
 * formulas for the 3-D tetrahedron inertia tensor", 2004, in its form for integrals of products). */
struct mesh_moments mesh_measure(const struct mesh *mesh);

/* Extrudes outlines from z = 0 by height along z. Outlines are closed and lie in the plane z = 0; the last point may
 * repeat the first. A point is inside if an odd number of outlines encloses it. With pieces, each part of the mesh is
 * convex and closed; without, the whole is one closed surface. TROUPE_EWORLD: the outlines cannot be filled (too few
 * points, crossing). */
struct mesh_outline {
	const struct vec3 *points;
	uint32_t count;
};
enum { MESH_OUTLINE_POINTS_MAX = 4096, MESH_OUTLINES_MAX = 256 }; /* points: in all outlines together */
troupe_status mesh_extrude(const struct mesh_outline *outlines, uint32_t count, double height, bool pieces,
	struct mesh *ret_mesh, struct troupe_error *error);

#endif
