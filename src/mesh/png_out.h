/* Writes pictures as PNG. */
#ifndef MESH_PNG_OUT_H
#define MESH_PNG_OUT_H

#include "base/text.h"

enum png_out_kind {
	PNG_OUT_RGB8,   /* three bytes for each pixel */
	PNG_OUT_GREY8,  /* one byte */
	PNG_OUT_GREY16, /* one uint16_t for each pixel */
};

/* Whether troupe was built with libpng and libjpeg. */
bool png_out_is_available(void);

/* Rows from the top, without gaps. An existing file is replaced. TROUPE_EIO; TROUPE_EINVAL: troupe was built without
 * libpng. Any thread. */
troupe_status png_out_write(const char *path, enum png_out_kind kind, uint32_t width, uint32_t height,
	const void *pixels, struct troupe_error *error);
/* The same in memory: appends the bytes. TROUPE_EINVAL. */
troupe_status png_out_add(struct text *out, enum png_out_kind kind, uint32_t width, uint32_t height, const void *pixels,
	struct troupe_error *error);

#endif
