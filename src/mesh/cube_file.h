/* The six faces of a cube map in a DDS file, for mesh/image.c. It reads hostile files, so it is called in the
 * importer's child only, and by tests. Pure. */
#ifndef MESH_CUBE_FILE_H
#define MESH_CUBE_FILE_H

#include "base/base.h"
#include "mesh/image.h"

enum {
	CUBE_FILE_SIDE_MAX = 8192,   /* of a face in the file */
	CUBE_FILE_FACE_MAX = 1 << 10 /* of a face that is read: of a larger one a smaller copy is taken */
};

/* Whether the bytes begin as a DDS file does. */
bool cube_file_is_dds(const char *bytes, size_t count);
/* The faces +x, -x, +y, -y, +z, -z, one below the other, all opaque: six times as high as wide. Faces that are larger
 * than CUBE_FILE_FACE_MAX are those copies of the file that are small enough, or else the means of 2 x 2 texels of the
 * last copy. Read are BC1, BC2 and BC3 (DXT1 to DXT5), uncompressed texels of up to 32 bits, and numbers of 16 bits
 * (which are cut off at 0 and 1), with the older head and that of DirectX 10. TROUPE_EWORLD, TROUPE_ELIMIT: the text
 * names no file. */
troupe_status cube_file_read(
	const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error);

#endif
