/* Images that surfaces are painted with: red, green, blue and alpha of 8 bits, with smaller copies of themselves, down
 * to one texel, for surfaces that are seen small. mesh/importer.h reads them.
 *
 * A texture is constant, and shared: it goes with its last user. Numbers are taken as they are in the file: no gamma.
 * Thread: any. Pure: the same texels and place give the same bits on every CPU. */
#ifndef MESH_TEXTURE_H
#define MESH_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TEXTURE_SIDE_MAX = 16384,
	TEXTURE_PIXELS_MAX = 1 << 24,
	TEXTURE_FILE_BYTES_MAX = 64 << 20,
	TEXTURE_PLACES_MAX = 8, /* that are read along one side of the area that a pixel shows */
};

struct texture;

/* texels: 4 bytes for each, row after row from the upper left; the texture owns them, and frees them. Both sides are 1
 * to TEXTURE_SIDE_MAX. */
struct texture *texture_create(uint32_t width, uint32_t height, unsigned char *texels);
struct texture *texture_share(struct texture *texture); /* one more user; returns it */
void texture_release(struct texture *texture);          /* one user less; NULL is fine */
/* How many users there are now. */
uint32_t texture_users(const struct texture *texture);
size_t texture_bytes(const struct texture *texture);
uint32_t texture_width(const struct texture *texture);
uint32_t texture_height(const struct texture *texture);
/* The texels of a copy, 4 bytes for each, row after row: 0 is the image itself, and each next one is half as wide and
 * half as high, rounded down, but at least 1. NULL: there is no such copy. */
const unsigned char *texture_texels(const struct texture *texture, uint32_t copy);
/* Some texel is not opaque. */
bool texture_is_clear(const struct texture *texture);

/* The place on a texture that a pixel shows: u to the right and v down, the whole texture is 0 to 1, and it repeats.
 * across, down: what they change by to the middle of the next pixel of the row, and of the next row. */
struct texture_place {
	double u, v, u_across, v_across, u_down, v_down;
};

/* The mean colour of the texels that the pixel shows, 0 to 1: that of up to TEXTURE_PLACES_MAX places along each of its
 * sides, from the copy whose texels are smaller than the pixel. A place that is not finite: the texel at 0 0. */
void texture_sample(const struct texture *texture, const struct texture_place *place, float ret_rgba[4]);

#endif
