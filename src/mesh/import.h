/* The readers of mesh and image files: assimp, libpng, libjpeg. Damaged files crash them; so mesh/importer.c calls them
 * in a process of its own, and nothing else of the library does. Tests that look for such files may. */
#ifndef MESH_IMPORT_H
#define MESH_IMPORT_H

#include "mesh/image.h"
#include "mesh/mesh.h"

/* Where files come from; false: there is no such file. The bytes stay as they are until the reader has returned. */
struct import_files {
	bool (*read)(void *ctx, const char *path, const char **ret_bytes, size_t *ret_count);
	void *ctx;
};

/* By suffix. bytes[count] is 0. *ret_mesh must be empty, and is so again on failure; it is not welded. TROUPE_EWORLD
 * and TROUPE_ELIMIT depend on the files only, TROUPE_ENOMEM does not. The text names no file. */
troupe_status import_mesh(const struct import_files *files, const char *path, const char *bytes, size_t count,
	struct mesh *ret_mesh, struct troupe_error *error);
/* By content. */
troupe_status import_image(const char *bytes, size_t count, struct image *ret_image, struct troupe_error *error);

#endif
