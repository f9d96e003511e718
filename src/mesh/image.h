/* Grey values of PNG (8 and 16 bit) and JPEG files. */
#ifndef MESH_IMAGE_H
#define MESH_IMAGE_H

#include "base/files.h"

enum { IMAGE_SIDE_MAX = 4097, IMAGE_FILE_BYTES_MAX = 128 << 20 };

struct image {
	uint32_t columns, rows;
	float *values; /* 0 to 1, the first row at the top; of coloured images the first channel. Owned: free() */
};

/* Recognised by content. TROUPE_EIO, TROUPE_ELIMIT, TROUPE_EWORLD; also when built without meshes. The text
 * names no file. */
troupe_status image_read(struct files *files, const char *path, struct image *ret_image, struct troupe_error *error);

#endif
