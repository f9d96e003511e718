/* The readers of mesh and image files: assimp, libpng, libjpeg. A damaged file may crash them, so in the library only
 * mesh/importer_child.c calls them, in a separate process. Tests that search for such files may call them too. */
#ifndef MESH_IMPORT_H
#define MESH_IMPORT_H

#include "mesh/image.h"
#include "mesh/mesh.h"

/* Gives the bytes of a file; false: there is no such file. The bytes do not change until the reader has returned. */
struct import_files {
	bool (*read)(void *ctx, const char *path, const char **ret_bytes, size_t *ret_count);
	void *ctx;
};

/* The suffix selects the reader. bytes[count] is 0. *ret_mesh must be empty; on failure it is empty again. The mesh
 * is not welded. TROUPE_EWORLD and TROUPE_ELIMIT depend only on the files; TROUPE_EINTERNAL, memory that was refused to
 * the reader (mem_refuse_above()), does not. The error text names no file. */
troupe_status import_mesh(const struct import_files *files, const char *path, const char *bytes, size_t count,
	struct mesh *ret_mesh, struct troupe_error *error);
/* The content selects the reader. */
troupe_status import_image(const char *bytes, size_t count, struct image *ret_image, struct troupe_error *error);
/* The same in colour, within the limits of mesh/texture.h. */
troupe_status import_texels(
	const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error);
/* The faces of a cube map, as mesh/cube_file.h has them: of a DDS file, or of a PNG or JPEG that is six times as high
 * as wide. */
troupe_status import_cube(const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error);

#endif
