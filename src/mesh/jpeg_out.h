/* Pictures as JPEG, in memory. */
#ifndef MESH_JPEG_OUT_H
#define MESH_JPEG_OUT_H

#include "base/text.h"

/* Appends the picture: rows from the top, without gaps, of `channels` bytes for each pixel (1: grey, 3: red, green,
 * blue). quality: 1 to 100. Both sides are at most 65500. The bytes do not depend on the CPU. TROUPE_EINVAL: they are
 * not, or troupe was built without libjpeg. Any thread. */
troupe_status jpeg_out_add(struct text *out, uint32_t channels, uint32_t width, uint32_t height, const void *pixels,
	uint32_t quality, struct troupe_error *error);

#endif
