/* The outlines of a mask as polygons, as COCO has them. */
#ifndef CLI_DATASET_OUTLINE_H
#define CLI_DATASET_OUTLINE_H

#include "cli/dataset_mask.h"

/* points: x and y of each corner in turn, in pixels from the upper left corner of the picture. */
typedef void dataset_outline_each(void *ctx, const uint32_t *points, uint32_t count);

/* A polygon for each part of the mask whose pixels touch by their sides. Its corners are corners of pixels, and a pixel
 * is of the mask if its middle is inside (even-odd), so the mask can be had again exactly. Holes are joined to it by a
 * seam, which is walked twice. height: of the picture, pixels */
void dataset_outline(const struct dataset_mask *mask, uint32_t height, dataset_outline_each *each, void *ctx);

#endif
