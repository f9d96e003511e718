/* The polygons of masks, filled again by the even-odd rule: small pictures of noise have parts that touch by their
 * corners, holes, and parts in holes. */
#include "cli/dataset_outline.h"
#include "../random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(outline, .timeout = 60);

enum { SIDE = 14, PICTURES = 2000 };

struct filled {
	uint32_t width, height, polygons;
	uint8_t pixels[SIDE * SIDE];
};

static bool is_inside(const uint32_t *points, uint32_t count, uint32_t x, uint32_t y)
{
	bool inside = false;
	for (uint32_t i = 0; i < count; i += 2) {
		uint32_t ax = points[i], ay = points[i + 1], bx = points[(i + 2) % count], by = points[(i + 3) % count];
		cr_assert((ax == bx) != (ay == by), "a side from %u %u to %u %u", ax, ay, bx, by);
		if ((ay > y) != (by > y) && ax > x)
			inside = !inside;
	}
	return inside;
}

static void fill(void *ctx, const uint32_t *points, uint32_t count)
{
	struct filled *filled = ctx;
	filled->polygons++;
	cr_assert(count >= 8 && count % 2 == 0);
	for (uint32_t y = 0; y < filled->height; y++)
		for (uint32_t x = 0; x < filled->width; x++)
			filled->pixels[y * filled->width + x] += is_inside(points, count, x, y);
}

static uint32_t polygons_of(const char *const *rows, uint32_t width, uint32_t height)
{
	uint8_t segments[3 * SIDE * SIDE] = {0};
	struct filled filled = {.width = width, .height = height};
	dataset_masks masks = {0};
	for (uint32_t i = 0; i < width * height; i++)
		segments[3 * i] = rows[i / width][i % width] == '#';
	dataset_mask_find(segments, width, height, &masks);
	cr_assert_eq(masks.count, 1u);
	dataset_outline(&masks.at[0], height, fill, &filled);
	for (uint32_t i = 0; i < width * height; i++)
		cr_expect_eq(filled.pixels[i], segments[3 * i], "pixel %u", i);
	dataset_masks_fini(&masks);
	return filled.polygons;
}

Test(outline, parts_and_holes)
{
	static const char *const square[] = {"#"}, *const ring[] = {"###", "#.#", "###"},
				 *const nested[] = {"#####.", "#...#.", "#.#.##", "#...#.", "#####."},
				 *const corners[] = {"#.#", ".#.", "#.#"},
				 *const two[] = {"######", "#.##.#", "######"};
	cr_expect_eq(polygons_of(square, 1, 1), 1u);
	cr_expect_eq(polygons_of(ring, 3, 3), 1u);
	cr_expect_eq(polygons_of(nested, 6, 5), 2u);
	cr_expect_eq(polygons_of(corners, 3, 3), 5u);
	cr_expect_eq(polygons_of(two, 6, 3), 1u);
}

Test(outline, noise)
{
	uint64_t draws = 36;
	for (int picture = 0; picture < PICTURES; picture++) {
		uint32_t width = 1 + random_below(&draws, SIDE), height = 1 + random_below(&draws, SIDE),
			 part = 1 + random_below(&draws, 9);
		uint8_t segments[3 * SIDE * SIDE] = {0};
		struct filled filled = {.width = width, .height = height};
		dataset_masks masks = {0};
		for (uint32_t i = 0; i < width * height; i++)
			segments[3 * i] = random_below(&draws, 10) < part;
		dataset_mask_find(segments, width, height, &masks);
		if (masks.count)
			dataset_outline(&masks.at[0], height, fill, &filled);
		for (uint32_t i = 0; i < width * height; i++)
			cr_assert_eq(filled.pixels[i], segments[3 * i], "picture %d, pixel %u", picture, i);
		dataset_masks_fini(&masks);
	}
}
