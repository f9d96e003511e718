/* Each smaller copy is half as wide and half as high, rounded down. A texel of it is the mean of the part of the larger
 * copy that it covers, in whole numbers, also where this part cuts texels: so nothing moves from one copy to the next,
 * and a corner of a chessboard stays where it is.
 *
 * A pixel shows a parallelogram of the texture. It is filled with places that are read from a copy whose texels have a
 * quarter to a half of its width, and linearly between them. So a pixel has sharp borders, like one of a real camera,
 * and a pattern of the texture's own texels does not show through: what is interpolated between two copies of the size
 * of the pixel is twice as wide. */
#include "mesh/texture.h"

#include "base/base.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTURE_LEVELS_MAX = 15 }; /* TEXTURE_SIDE_MAX is 2^14 */

struct texture_level {
	uint32_t width, height;
	unsigned char *texels;
};

struct texture {
	_Atomic uint32_t users;
	uint32_t level_count;
	struct texture_level levels[TEXTURE_LEVELS_MAX];
	size_t bytes;
	bool clear;
};

/* --- making ------------------------------------------------------------------------------------------------------- */

/* A texel of the smaller copy covers [first, first + count) of the larger one, in one direction. Weights are in parts
 * of a texel; their sum is `whole`. */
enum { TEXTURE_COVERED_MAX = 4 };

struct texture_cover {
	uint32_t first, count, whole, weight[TEXTURE_COVERED_MAX];
};

static struct texture_cover texture_cover_of(uint32_t at, uint32_t small, uint32_t large)
{
	/* in units of 1 / small of a texel of the larger copy */
	uint64_t begin = (uint64_t)at * large, end = begin + large;
	struct texture_cover cover = {.first = (uint32_t)(begin / small), .whole = large};
	for (uint64_t texel = cover.first; texel * small < end && cover.count < TEXTURE_COVERED_MAX; texel++) {
		uint64_t lo = MAX(texel * small, begin), hi = MIN((texel + 1) * small, end);
		cover.weight[cover.count++] = (uint32_t)(hi - lo);
	}
	return cover;
}

static void texture_add_mean(const struct texture_level *large, const struct texture_cover *x,
	const struct texture_cover *y, unsigned char *to)
{
	uint64_t sum[4] = {0}, whole = (uint64_t)x->whole * y->whole;
	for (uint32_t r = 0; r < y->count; r++)
		for (uint32_t c = 0; c < x->count; c++) {
			const unsigned char *from =
				&large->texels[4 * ((size_t)(y->first + r) * large->width + x->first + c)];
			uint64_t weight = (uint64_t)x->weight[c] * y->weight[r];
			for (int k = 0; k < 4; k++)
				sum[k] += weight * from[k];
		}
	for (int k = 0; k < 4; k++)
		to[k] = (unsigned char)((sum[k] + whole / 2) / whole);
}

static struct texture_level texture_halved(const struct texture_level *large)
{
	struct texture_level small = {MAX(large->width / 2, 1u), MAX(large->height / 2, 1u), NULL};
	small.texels = mem_alloc(4 * (size_t)small.width * small.height);
	struct texture_cover *across = mem_alloc(small.width * sizeof *across);
	for (uint32_t c = 0; c < small.width; c++)
		across[c] = texture_cover_of(c, small.width, large->width);
	for (uint32_t r = 0; r < small.height; r++) {
		struct texture_cover down = texture_cover_of(r, small.height, large->height);
		for (uint32_t c = 0; c < small.width; c++)
			texture_add_mean(large, &across[c], &down, &small.texels[4 * ((size_t)r * small.width + c)]);
	}
	free(across);
	return small;
}

struct texture *texture_create(uint32_t width, uint32_t height, unsigned char *texels)
{
	struct texture *texture = mem_alloc(sizeof *texture);
	size_t count = (size_t)width * height;
	atomic_store(&texture->users, 1);
	for (size_t i = 0; i < count && !texture->clear; i++)
		texture->clear = texels[4 * i + 3] < 255;
	struct texture_level level = {width, height, texels};
	for (;;) {
		texture->levels[texture->level_count++] = level;
		texture->bytes += 4 * (size_t)level.width * level.height;
		if ((level.width == 1 && level.height == 1) || texture->level_count == TEXTURE_LEVELS_MAX)
			return texture;
		level = texture_halved(&level);
	}
}

struct texture *texture_share(struct texture *texture)
{
	atomic_fetch_add(&texture->users, 1);
	return texture;
}

void texture_release(struct texture *texture)
{
	if (!texture || atomic_fetch_sub(&texture->users, 1) > 1)
		return;
	for (uint32_t i = 0; i < texture->level_count; i++)
		free(texture->levels[i].texels);
	free(texture);
}

uint32_t texture_users(const struct texture *texture)
{
	return atomic_load(&texture->users);
}

size_t texture_bytes(const struct texture *texture)
{
	return texture->bytes;
}

uint32_t texture_width(const struct texture *texture)
{
	return texture->levels[0].width;
}

uint32_t texture_height(const struct texture *texture)
{
	return texture->levels[0].height;
}

const unsigned char *texture_texels(const struct texture *texture, uint32_t copy)
{
	return copy < texture->level_count ? texture->levels[copy].texels : NULL;
}

bool texture_is_clear(const struct texture *texture)
{
	return texture->clear;
}

/* --- sampling ----------------------------------------------------------------------------------------------------- */

/* Four numbers; the compiler makes of them what the CPU has, and each is computed as a number alone would be. */
typedef float texture_four __attribute__((vector_size(16)));
typedef int32_t texture_ints __attribute__((vector_size(16)));
typedef short texture_shorts __attribute__((vector_size(16)));
typedef signed char texture_chars __attribute__((vector_size(16)));

/* The bytes get zeros between them, on a machine whose lowest byte comes first: this is much faster than one by one. */
static inline texture_four texture_texel(const unsigned char *at)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const texture_chars zeros = {0};
	int32_t all;
	memcpy(&all, at, sizeof all);
	const texture_ints first = {all, 0, 0, 0};
	texture_shorts pairs = (texture_shorts)__builtin_shuffle(
		(texture_chars)first, zeros, (texture_chars){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23});
	texture_ints whole = (texture_ints)__builtin_shuffle(
		pairs, (texture_shorts)zeros, (texture_shorts){0, 8, 1, 9, 2, 10, 3, 11});
	return __builtin_convertvector(whole, texture_four);
#else
	return (texture_four){at[0], at[1], at[2], at[3]};
#endif
}

/* The texel whose number is rounded down, and the rest; the texture repeats. */
static inline uint32_t texture_wrap(int32_t at, uint32_t size)
{
	int32_t rest = (uint32_t)at < size ? at : at % (int32_t)size;
	return (uint32_t)(rest < 0 ? rest + (int32_t)size : rest);
}

static inline int32_t texture_floor(double at)
{
	int32_t whole = (int32_t)at;
	return whole - (whole > at);
}

/* x, y: in texels from the middle of the first one. */
static inline texture_four texture_bilinear(const struct texture_level *level, double x, double y)
{
	int32_t column = texture_floor(x), row = texture_floor(y);
	float right_part = (float)(x - column), lower_part = (float)(y - row);
	uint32_t left = texture_wrap(column, level->width), top = texture_wrap(row, level->height);
	uint32_t right = left + 1 == level->width ? 0 : left + 1, bottom = top + 1 == level->height ? 0 : top + 1;
	const unsigned char *upper_row = level->texels + 4 * (size_t)top * level->width,
			    *lower_row = level->texels + 4 * (size_t)bottom * level->width;
	texture_four a = texture_texel(upper_row + 4 * (size_t)left), b = texture_texel(upper_row + 4 * (size_t)right),
		     c = texture_texel(lower_row + 4 * (size_t)left), d = texture_texel(lower_row + 4 * (size_t)right);
	texture_four upper = a + right_part * (b - a), lower = c + right_part * (d - c);
	return upper + lower_part * (lower - upper);
}

/* Which copy is read, and at how many places along the two sides of the area that a pixel shows. */
struct texture_choice {
	uint32_t level, across, down;
};

static uint32_t texture_places(double length, double texel)
{
	return length > 1 ? (uint32_t)fmin(fmax(ceil(length / (2 * texel)), 2), TEXTURE_PLACES_MAX) : 1;
}

/* The texels of the copy have at most half of the width of the area, but for an area that is too long. */
static struct texture_choice texture_choose(const struct texture *texture, const struct texture_place *at)
{
	double w = texture->levels[0].width, h = texture->levels[0].height;
	double ax = at->u_across * w, ay = at->v_across * h, dx = at->u_down * w, dy = at->v_down * h;
	double across = sqrt(ax * ax + ay * ay), down = sqrt(dx * dx + dy * dy), length = fmax(across, down);
	if (!(length > 1))
		return (struct texture_choice){0, 1, 1};
	double wanted = fmax(fabs(ax * dy - ay * dx) / length / 2, length / (2 * TEXTURE_PLACES_MAX));
	uint32_t level = 0;
	double texel = 1;
	while (2 * texel <= wanted && level + 1 < texture->level_count)
		level++, texel *= 2;
	return (struct texture_choice){level, texture_places(across, texel), texture_places(down, texel)};
}

static double texture_wrapped(double at)
{
	return at - floor(at);
}

void texture_sample(const struct texture *texture, const struct texture_place *place, float ret_rgba[4])
{
	texture_four sum = {0};
	double size = fabs(place->u) + fabs(place->v) + fabs(place->u_across) + fabs(place->v_across) +
		      fabs(place->u_down) + fabs(place->v_down);
	struct texture_place at = size < 1e4 ? *place : (struct texture_place){.u = 0};
	struct texture_choice choice = texture_choose(texture, &at);
	const struct texture_level *level = &texture->levels[choice.level];
	double w = level->width, h = level->height;
	double x = texture_wrapped(at.u) * w - 0.5, y = texture_wrapped(at.v) * h - 0.5;
	double x_across = at.u_across * w / choice.across, y_across = at.v_across * h / choice.across,
	       x_down = at.u_down * w / choice.down, y_down = at.v_down * h / choice.down;
	for (uint32_t j = 0; j < choice.down; j++)
		for (uint32_t i = 0; i < choice.across; i++) {
			double across = i + 0.5 - 0.5 * choice.across, down = j + 0.5 - 0.5 * choice.down;
			sum += texture_bilinear(
				level, x + across * x_across + down * x_down, y + across * y_across + down * y_down);
		}
	sum *= 1 / (255 * (float)(choice.across * choice.down));
	memcpy(ret_rgba, &sum, sizeof sum);
}
