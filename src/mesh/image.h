/* Grey values of PNG (8 and 16 bit) and JPEG files, and the texels of such files. mesh/importer.h reads them. */
#ifndef MESH_IMAGE_H
#define MESH_IMAGE_H

#include <stdint.h>

enum { IMAGE_SIDE_MAX = 4097, IMAGE_FILE_BYTES_MAX = 128 << 20 };

struct image {
	uint32_t columns, rows;
	float *values; /* 0 to 1, first row at the top; first channel of a coloured image. Owned: free() */
};

struct image_texels {
	uint32_t width, height;
	unsigned char *rgba; /* 4 bytes for each, first row at the top. Owned: free() */
};

#endif
