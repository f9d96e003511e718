/* Where the points of a mesh file lie, without reading it as a mesh: a box that holds all of them. It takes a fraction
 * of the time and no memory, so that a world may know where meshes are that nobody is near.
 *
 * Known are OBJ and binary STL, which have no transforms. The box may be larger than the mesh: it is grown by more than
 * what the reader of the file rounds, and has the points that no face uses. A file of which this code does not know for
 * certain that it is read so (other number formats, continued lines, points with a weight) has no box here; one that
 * has a box may still be refused by the reader.
 *
 * Pure. Input is not trusted. Thread: any. Units: of the file. */
#ifndef MESH_BOUNDS_H
#define MESH_BOUNDS_H

#include "geom/geom.h"

#include <stddef.h>
#include <stdint.h>

enum { BOUNDS_NAMES_MAX = 16 };

struct mesh_bounds {
	struct aabb box;
	/* The files of materials that an OBJ names, as written; they point into its bytes. */
	struct mesh_bounds_name {
		const char *at;
		size_t count;
	} names[BOUNDS_NAMES_MAX];
	uint32_t name_count;
};

/* The suffix of the path selects the format. False: no box is known. */
bool bounds_find(const char *path, const char *bytes, size_t count, struct mesh_bounds *ret_bounds);

#endif
