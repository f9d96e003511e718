/* Cuts a mesh into convex pieces (<mesh optimization="convex_decomposition">). */
#ifndef MESH_DECOMPOSE_H
#define MESH_DECOMPOSE_H

#include "mesh/mesh.h"

enum {
	DECOMPOSE_HULLS_USUAL = 16, /* the defaults and limits of SDF's settings; beyond a limit the limit counts */
	DECOMPOSE_HULLS_MAX = 64,
	DECOMPOSE_VOXELS_USUAL = 200000,
	DECOMPOSE_VOXELS_MIN = 1000,
	DECOMPOSE_VOXELS_MAX = 200000,
};

/* At most `hulls` pieces that together fill nearly what the mesh encloses. Each piece is a part of *ret_pieces, convex
 * and closed. voxels: how finely the mesh is divided to decide where it is cut; the pieces themselves follow its
 * surface. A mesh that is convex, but for about one voxel, stays one piece; a surface without an inside becomes about
 * one voxel thick where it is flat.
 *
 * Pure: the same input gives the same pieces, and the work is limited (seconds, less than 100 MiB beside the mesh).
 * TROUPE_EWORLD: the mesh has no extent, or troupe was built without meshes. *ret_pieces must be empty. */
troupe_status decompose_mesh(
	const struct mesh *mesh, uint32_t hulls, uint32_t voxels, struct mesh *ret_pieces, struct troupe_error *error);

#endif
