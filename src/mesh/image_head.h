/* What the first bytes of an image file say: its kind and its size, without decoding it. Pure. */
#ifndef MESH_IMAGE_HEAD_H
#define MESH_IMAGE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_head {
	const char *type; /* "image/png" or "image/jpeg" */
	uint32_t width, height;
};

/* False: neither PNG nor JPEG, or its size is not there. */
bool image_head(const void *bytes, size_t count, struct image_head *ret_head);

#endif
