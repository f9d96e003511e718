/* What the files of picture.h share: a chunk of pixels, whose rays are cast together. */
#ifndef SENSOR_PICTURE_INTERNAL_H
#define SENSOR_PICTURE_INTERNAL_H

#include "sensor/picture.h"

enum { PICTURE_CHUNK = 256 };

struct picture_rgb {
	double r, g, b;
};

struct picture_spot { /* a point of a visual that a pixel shows */
	uint32_t pixel;
	const struct sdf_material *material;
	struct vec3 point, normal, view; /* view: to the camera */
	double weight;                   /* of this layer in the pixel */
	struct picture_rgb colour;
};

struct picture_chunk {
	const struct rays *rays;
	const struct lights *lights;
	const struct sdf_scene *scene;
	uint32_t mask;
	struct ray cast[PICTURE_CHUNK], shadow[PICTURE_CHUNK];
	struct ray_hit hits[PICTURE_CHUNK];
	struct picture_spot spots[PICTURE_CHUNK];
	bool blocked[PICTURE_CHUNK];
	uint32_t lit[PICTURE_CHUNK]; /* by shadow ray: the spot */
};

/* picture_colour.c: the colours of the pixels of the chunk, 3 numbers each, into `colour`. c->cast, c->hits: `count`
 * rays and what they hit; pixels: of each ray, its pixel in the chunk. Changes these. */
void picture_paint(struct picture_chunk *c, float *colour, uint32_t pixel_count, uint32_t *pixels, uint32_t count);

#endif
