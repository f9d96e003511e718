/* A DDS file is a head of 128 bytes, perhaps one more of 20 (DirectX 10), and the faces, each followed by its smaller
 * copies. (Microsoft, "DDS file layout", "Programming guide for DDS", and the block formats BC1 to BC3.) Alpha is left
 * out: nothing is seen behind a sky. */
#include "mesh/cube_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	CUBE_FILE_HEAD_BYTES = 128,
	CUBE_FILE_HEAD10_BYTES = 20,
	CUBE_FILE_FACES = 6,
	CUBE_FILE_FLAG_FOURCC = 0x4,
	CUBE_FILE_FLAG_RGB = 0x40,
	CUBE_FILE_FLAG_GREY = 0x20000,
	CUBE_FILE_CAPS2_CUBE = 0xfe00, /* a cube map, with all faces */
	CUBE_FILE_DXGI_CUBE = 0x4,
	CUBE_FILE_D3D_HALVES = 113, /* A16B16G16R16F, in place of four letters */
	CUBE_FILE_COPIES_MAX = 14,  /* CUBE_FILE_SIDE_MAX is 2^13 */
};

enum cube_file_kind { CUBE_FILE_MASKS, CUBE_FILE_HALVES, CUBE_FILE_BLOCKS };

struct cube_file {
	const unsigned char *at; /* the first face */
	size_t left;
	uint32_t side, copies;
	enum cube_file_kind kind;
	uint32_t bytes;   /* of a texel or a block */
	uint32_t mask[3]; /* CUBE_FILE_MASKS: red, green, blue */
	bool three;       /* CUBE_FILE_BLOCKS: a block may have three colours and black (BC1) */
	uint32_t ahead;   /* CUBE_FILE_BLOCKS: bytes before the colours */
};

static uint32_t cube_file_number(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t cube_file_short(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

bool cube_file_is_dds(const char *bytes, size_t count)
{
	return count >= 4 && !memcmp(bytes, "DDS ", 4);
}

/* --- the head ----------------------------------------------------------------------------------------------------- */

static void cube_file_set_blocks(struct cube_file *file, uint32_t bytes, bool three)
{
	file->kind = CUBE_FILE_BLOCKS;
	file->bytes = bytes;
	file->three = three;
	file->ahead = bytes - 8;
}

static void cube_file_set_masks(struct cube_file *file, uint32_t bytes, uint32_t red, uint32_t green, uint32_t blue)
{
	file->kind = CUBE_FILE_MASKS;
	file->bytes = bytes;
	file->mask[0] = red, file->mask[1] = green, file->mask[2] = blue;
}

/* The numbers of DXGI_FORMAT. */
static bool cube_file_set_dxgi(struct cube_file *file, uint32_t format)
{
	if (format == 71 || format == 72)
		cube_file_set_blocks(file, 8, true);
	else if (format == 74 || format == 75 || format == 77 || format == 78)
		cube_file_set_blocks(file, 16, false);
	else if (format == 28 || format == 29)
		cube_file_set_masks(file, 4, 0xff, 0xff00, 0xff0000);
	else if (format == 87 || format == 88 || format == 91 || format == 93)
		cube_file_set_masks(file, 4, 0xff0000, 0xff00, 0xff);
	else if (format == 10)
		file->kind = CUBE_FILE_HALVES, file->bytes = 8;
	else
		return false;
	return true;
}

static bool cube_file_set_letters(struct cube_file *file, const unsigned char *letters)
{
	bool dxt = !memcmp(letters, "DXT", 3);
	if (dxt && letters[3] == '1')
		cube_file_set_blocks(file, 8, true);
	else if (dxt && letters[3] >= '2' && letters[3] <= '5')
		cube_file_set_blocks(file, 16, false);
	else if (cube_file_number(letters) == CUBE_FILE_D3D_HALVES)
		file->kind = CUBE_FILE_HALVES, file->bytes = 8;
	else
		return false;
	return true;
}

static bool cube_file_set_plain(struct cube_file *file, const unsigned char *format, uint32_t flags)
{
	uint32_t bits = cube_file_number(format + 12), red = cube_file_number(format + 16);
	bool grey = (flags & CUBE_FILE_FLAG_GREY) != 0;
	if ((!grey && !(flags & CUBE_FILE_FLAG_RGB)) || bits < 8 || bits > 32 || bits % 8)
		return false;
	cube_file_set_masks(file, bits / 8, red, grey ? red : cube_file_number(format + 20),
		grey ? red : cube_file_number(format + 24));
	return file->mask[0] || file->mask[1] || file->mask[2];
}

static troupe_status cube_file_read_kind(
	struct cube_file *file, const unsigned char *at, size_t count, bool *ret_cube, struct troupe_error *error)
{
	const unsigned char *format = at + 76;
	uint32_t flags = cube_file_number(format + 4), number;
	bool known;
	*ret_cube = (cube_file_number(at + 112) & CUBE_FILE_CAPS2_CUBE) == CUBE_FILE_CAPS2_CUBE;
	file->at = at + CUBE_FILE_HEAD_BYTES;
	if (flags & CUBE_FILE_FLAG_FOURCC && !memcmp(format + 8, "DX10", 4)) {
		if (count < CUBE_FILE_HEAD_BYTES + CUBE_FILE_HEAD10_BYTES)
			return fail(error, TROUPE_EWORLD, "not a readable DDS file: its head is cut off");
		number = cube_file_number(file->at);
		known = cube_file_set_dxgi(file, number);
		*ret_cube = (cube_file_number(file->at + 8) & CUBE_FILE_DXGI_CUBE) != 0;
		file->at += CUBE_FILE_HEAD10_BYTES;
	} else {
		number = cube_file_number(format + 8);
		known = flags & CUBE_FILE_FLAG_FOURCC ? cube_file_set_letters(file, format + 8)
						      : cube_file_set_plain(file, format, flags);
	}
	if (known)
		return TROUPE_OK;
	return fail(error, TROUPE_EWORLD,
		"texels of the DDS format %u (flags 0x%x) are not read: expected BC1, BC2, BC3, 8 to 32 bits or halves",
		number, flags);
}

static troupe_status cube_file_read_head(
	struct cube_file *file, const char *bytes, size_t count, struct troupe_error *error)
{
	const unsigned char *at = (const unsigned char *)bytes;
	bool cube;
	if (count < CUBE_FILE_HEAD_BYTES || cube_file_number(at + 4) != 124)
		return fail(error, TROUPE_EWORLD, "not a readable DDS file: its head is cut off");
	uint32_t height = cube_file_number(at + 12), width = cube_file_number(at + 16);
	file->side = width;
	file->copies = MAX(cube_file_number(at + 28), 1U);
	troupe_status status = cube_file_read_kind(file, at, count, &cube, error);
	if (status)
		return status;
	if (!cube)
		return fail(error, TROUPE_EWORLD, "the DDS file is no cube map of six faces");
	if (width != height || !width)
		return fail(error, TROUPE_EWORLD, "the faces of the cube map have %u x %u texels: expected squares",
			width, height);
	if (width > CUBE_FILE_SIDE_MAX || file->copies > CUBE_FILE_COPIES_MAX)
		return fail(error, TROUPE_ELIMIT,
			"the faces of the cube map have %u x %u texels, and %u copies: expected at most %d and %d",
			width, height, file->copies, CUBE_FILE_SIDE_MAX, CUBE_FILE_COPIES_MAX);
	file->left = count - (size_t)(file->at - at);
	return TROUPE_OK;
}

/* --- texels ------------------------------------------------------------------------------------------------------- */

static size_t cube_file_copy_bytes(const struct cube_file *file, uint32_t side)
{
	size_t across = file->kind == CUBE_FILE_BLOCKS ? (side + 3) / 4 : side;
	return across * across * file->bytes;
}

static uint32_t cube_file_side(const struct cube_file *file, uint32_t copy)
{
	return MAX(file->side >> copy, 1U);
}

/* The bits of the mask as a number of 8 bits, rounded. */
static unsigned char cube_file_masked(uint32_t texel, uint32_t mask)
{
	if (!mask)
		return 0;
	unsigned shift = (unsigned)__builtin_ctz(mask);
	uint64_t most = mask >> shift, value = (texel & mask) >> shift;
	return (unsigned char)((value * 255 + most / 2) / most);
}

/* A half (IEEE 754) from 0 to 1 as a number of 8 bits; NAN is 0. */
static unsigned char cube_file_half(uint32_t half)
{
	uint32_t exponent = half >> 10 & 31, part = half & 1023;
	if (half & 0x8000 || (exponent == 31 && part))
		return 0;
	double value = exponent ? ldexp(1024.0 + part, (int)exponent - 25) : ldexp(part, -24);
	return (unsigned char)(fmin(value, 1) * 255 + 0.5);
}

static void cube_file_read_plain(
	const struct cube_file *file, const unsigned char *from, size_t texels, unsigned char *rgba)
{
	for (size_t i = 0; i < texels; i++, from += file->bytes, rgba += 4) {
		uint32_t texel = 0;
		for (uint32_t k = 0; k < file->bytes && k < 4; k++)
			texel |= (uint32_t)from[k] << 8 * k;
		for (int k = 0; k < 3; k++)
			rgba[k] = file->kind == CUBE_FILE_HALVES ? cube_file_half(cube_file_short(from + 2 * k))
								 : cube_file_masked(texel, file->mask[k]);
		rgba[3] = 255;
	}
}

/* The four colours of a block. */
static void cube_file_read_palette(
	const struct cube_file *file, const unsigned char *block, unsigned char ret_colours[4][3])
{
	uint32_t c[2] = {cube_file_short(block), cube_file_short(block + 2)};
	bool three = file->three && c[0] <= c[1];
	for (int i = 0; i < 2; i++) {
		ret_colours[i][0] = cube_file_masked(c[i], 0xf800);
		ret_colours[i][1] = cube_file_masked(c[i], 0x07e0);
		ret_colours[i][2] = cube_file_masked(c[i], 0x001f);
	}
	for (int k = 0; k < 3; k++) {
		unsigned a = ret_colours[0][k], b = ret_colours[1][k];
		ret_colours[2][k] = (unsigned char)(three ? (a + b) / 2 : (2 * a + b + 1) / 3);
		ret_colours[3][k] = (unsigned char)(three ? 0 : (a + 2 * b + 1) / 3);
	}
}

static void cube_file_read_block(const struct cube_file *file, const unsigned char *block, uint32_t side,
	uint32_t column, uint32_t row, unsigned char *rgba)
{
	unsigned char colours[4][3];
	cube_file_read_palette(file, block, colours);
	uint32_t which = cube_file_number(block + 4);
	for (uint32_t i = 0; i < 16; i++, which >>= 2) {
		uint32_t x = column + i % 4, y = row + i / 4;
		if (x >= side || y >= side)
			continue;
		unsigned char *to = &rgba[4 * ((size_t)y * side + x)];
		memcpy(to, colours[which & 3], 3);
		to[3] = 255;
	}
}

static void cube_file_read_blocks(
	const struct cube_file *file, const unsigned char *from, uint32_t side, unsigned char *rgba)
{
	for (uint32_t row = 0; row < side; row += 4)
		for (uint32_t column = 0; column < side; column += 4, from += file->bytes)
			cube_file_read_block(file, from + file->ahead, side, column, row, rgba);
}

/* --- faces -------------------------------------------------------------------------------------------------------- */

/* In place: the means of 2 x 2 texels. */
static void cube_file_halve(unsigned char *rgba, uint32_t side)
{
	uint32_t small = side / 2;
	for (uint32_t y = 0; y < small; y++)
		for (uint32_t x = 0; x < small; x++) {
			const unsigned char *a = &rgba[4 * ((size_t)2 * y * side + 2 * (size_t)x)],
					    *b = a + 4 * (size_t)side;
			unsigned char *to = &rgba[4 * ((size_t)y * small + x)];
			for (int k = 0; k < 4; k++)
				to[k] = (unsigned char)((a[k] + a[k + 4] + b[k] + b[k + 4] + 2) / 4);
		}
}

static void cube_file_read_face(
	const struct cube_file *file, const unsigned char *from, uint32_t side, uint32_t wanted, unsigned char *to)
{
	unsigned char *face = mem_alloc(4 * (size_t)side * side);
	if (file->kind == CUBE_FILE_BLOCKS)
		cube_file_read_blocks(file, from, side, face);
	else
		cube_file_read_plain(file, from, (size_t)side * side, face);
	for (; side > wanted; side /= 2)
		cube_file_halve(face, side);
	memcpy(to, face, 4 * (size_t)wanted * wanted);
	free(face);
}

troupe_status cube_file_read(
	const char *bytes, size_t count, struct image_texels *ret_texels, struct troupe_error *error)
{
	struct cube_file file = {0};
	troupe_status status = cube_file_read_head(&file, bytes, count, error);
	if (status)
		return status;
	uint32_t copy = 0;
	size_t before = 0, face_bytes = 0; /* of the copies before; of all copies of a face */
	for (uint32_t i = 0; i < file.copies; i++) {
		if (i && i == copy + 1 && cube_file_side(&file, copy) > CUBE_FILE_FACE_MAX)
			copy = i, before = face_bytes;
		face_bytes += cube_file_copy_bytes(&file, cube_file_side(&file, i));
	}
	if (file.left / CUBE_FILE_FACES < face_bytes)
		return fail(error, TROUPE_EWORLD, "the DDS file is cut off: %zu bytes of texels, expected %zu",
			file.left, CUBE_FILE_FACES * face_bytes);
	uint32_t side = cube_file_side(&file, copy), wanted = side;
	while (wanted > CUBE_FILE_FACE_MAX)
		wanted /= 2;
	*ret_texels = (struct image_texels){
		wanted, CUBE_FILE_FACES * wanted, mem_alloc(4 * (size_t)CUBE_FILE_FACES * wanted * wanted)};
	for (size_t face = 0; face < CUBE_FILE_FACES; face++)
		cube_file_read_face(&file, file.at + face * face_bytes + before, side, wanted,
			ret_texels->rgba + 4 * face * wanted * wanted);
	return TROUPE_OK;
}
