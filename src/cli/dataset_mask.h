/* What a picture of segments shows of each model: its pixels, their number and their box. */
#ifndef CLI_DATASET_MASK_H
#define CLI_DATASET_MASK_H

#include "base/base.h"

struct dataset_mask {
	/* COCO panoptic's number of a segment: instance + 65536 * label, which are the bytes of its pixels */
	uint32_t id;
	uint32_t left, top, right, bottom; /* pixels, all inside */
	uint32_t area;                     /* pixels */
	/* COCO's run lengths, column after column from the left, each from the top: pixels that are not of the
	 * segment, that are, that are not, and so on */
	VEC(uint32_t) counts;
	uint32_t end; /* private */
};

typedef VEC(struct dataset_mask) dataset_masks;

static inline uint32_t dataset_mask_id(uint32_t label, uint32_t instance)
{
	return (instance & 0xffff) + 65536 * label;
}

/* segments: three bytes for each pixel, the number of the model among those of its label (low byte, high byte) and the
 * label; 0 0 0: no model. Appends to masks, which is empty, by id. */
void dataset_mask_find(const uint8_t *segments, uint32_t width, uint32_t height, dataset_masks *masks);
/* NULL: there is none. */
const struct dataset_mask *dataset_mask_of(const dataset_masks *masks, uint32_t id);
void dataset_masks_fini(dataset_masks *masks);

#endif
