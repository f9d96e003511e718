/* Pixels are looked at in the order of the run lengths, so that each mask grows at its end. */
#include "cli/dataset_mask.h"

#include <stdlib.h>
#include <string.h>

/* The place of a mask among masks in order, or where it would be. */
static uint32_t dataset_mask_place(const dataset_masks *masks, uint32_t id)
{
	uint32_t lo = 0, hi = masks->count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (masks->at[middle].id < id)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

const struct dataset_mask *dataset_mask_of(const dataset_masks *masks, uint32_t id)
{
	uint32_t at = dataset_mask_place(masks, id);
	return at < masks->count && masks->at[at].id == id ? &masks->at[at] : NULL;
}

static struct dataset_mask *dataset_mask_make(dataset_masks *masks, uint32_t id)
{
	uint32_t at = dataset_mask_place(masks, id);
	if (at < masks->count && masks->at[at].id == id)
		return &masks->at[at];
	(void)vec_append(masks, 1);
	memmove(&masks->at[at + 1], &masks->at[at], (masks->count - 1 - at) * sizeof *masks->at);
	masks->at[at] = (struct dataset_mask){.id = id, .left = UINT32_MAX, .top = UINT32_MAX};
	return &masks->at[at];
}

/* place: of the pixel, in the order of the run lengths */
static void dataset_mask_add(struct dataset_mask *mask, uint32_t place, uint32_t column, uint32_t row)
{
	if (!mask->counts.count || mask->end != place) {
		vec_push(&mask->counts, place - mask->end);
		vec_push(&mask->counts, 0);
	}
	mask->counts.at[mask->counts.count - 1]++;
	mask->end = place + 1;
	mask->area++;
	mask->left = MIN(mask->left, column);
	mask->right = MAX(mask->right, column);
	mask->top = MIN(mask->top, row);
	mask->bottom = MAX(mask->bottom, row);
}

void dataset_mask_find(const uint8_t *segments, uint32_t width, uint32_t height, dataset_masks *masks)
{
	struct dataset_mask *last = NULL;
	for (uint32_t column = 0; column < width; column++)
		for (uint32_t row = 0; row < height; row++) {
			const uint8_t *at = segments + 3 * ((size_t)row * width + column);
			uint32_t id = at[0] + 256u * at[1] + 65536u * at[2];
			if (!id)
				continue;
			if (!last || last->id != id)
				last = dataset_mask_make(masks, id);
			dataset_mask_add(last, column * height + row, column, row);
		}
	for (uint32_t i = 0; i < masks->count; i++)
		if (masks->at[i].end < width * height)
			vec_push(&masks->at[i].counts, width * height - masks->at[i].end);
}

void dataset_masks_fini(dataset_masks *masks)
{
	for (uint32_t i = 0; i < masks->count; i++)
		vec_free(&masks->at[i].counts);
	vec_free(masks);
}
