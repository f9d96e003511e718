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
	struct vec3 point, normal, view; /* view: to the camera */
	double weight;                   /* of this layer in the pixel */
	struct picture_rgb colour;
	/* what lights see */
	bool lighting, metallic;
	struct picture_rgb diffuse, specular; /* specular, metallic: the reflection of vertical light */
	double shininess, alpha2;             /* alpha2, metallic: roughness^4 */
};

struct picture_chunk {
	const struct rays *rays;
	const struct lights *lights;
	const struct sdf_scene *scene;
	uint32_t mask;
	/* the pixels: of the whole picture, and the number of the first one of the chunk */
	const struct vec3 *directions;
	uint32_t width, total, first;
	struct mat3 turn; /* of the camera */
	struct ray cast[PICTURE_CHUNK], shadow[PICTURE_CHUNK];
	struct ray_hit hits[PICTURE_CHUNK];
	struct picture_spot spots[PICTURE_CHUNK];
	bool blocked[PICTURE_CHUNK];
	uint32_t lit[PICTURE_CHUNK]; /* by shadow ray: the spot */
};

static inline struct vec3 picture_turned(const struct mat3 *m, struct vec3 d)
{
	return (struct vec3){m->m[0][0] * d.x + m->m[0][1] * d.y + m->m[0][2] * d.z,
		m->m[1][0] * d.x + m->m[1][1] * d.y + m->m[1][2] * d.z,
		m->m[2][0] * d.x + m->m[2][1] * d.y + m->m[2][2] * d.z};
}

/* picture_surface.c: the point that a ray has hit, with what lights see of it, and its own light; left: the part of the
 * pixel that is still to be seen. */
void picture_surface(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, double left, struct picture_spot *ret_spot);
/* picture_colour.c: the colours of the pixels of the chunk, 3 numbers each, into `colour`. c->cast, c->hits: `count`
 * rays and what they hit; pixels: of each ray, its pixel in the chunk. Changes these. */
void picture_paint(struct picture_chunk *c, float *colour, uint32_t pixel_count, uint32_t *pixels, uint32_t count);

#endif
