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
	/* the pixels of the whole picture, and those of the chunk */
	const struct vec3 *directions;
	uint32_t width, total;
	uint32_t where[PICTURE_CHUNK]; /* by number in the chunk: the number in the picture */
	bool aside;                    /* the rays do not go through the middles of the pixels */
	struct mat3 turn;              /* of the camera */
	struct vec3 eye;
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

/* Whether the pixel shows anything. */
static inline bool picture_has_ray(const struct picture_chunk *c, uint32_t pixel)
{
	const struct vec3 *d = &c->directions[pixel];
	return d->x != 0 || d->y != 0 || d->z != 0;
}

/* A pixel beside one, in the row and in the column: the next one, or at the border and where that shows nothing the one
 * before. */
struct picture_neighbours {
	uint32_t pixel[2];
	double sign[2]; /* 1: the next one, -1: the one before, 0: there is none */
};
struct picture_neighbours picture_beside(const struct picture_chunk *c, uint32_t pixel);
/* Makes ray `number` of the chunk. d: its direction in the camera's frame; near, far: along the camera's axis (for a
 * ray that does not go ahead, along the ray). */
void picture_aim_at(struct picture_chunk *c, uint32_t number, struct vec3 d, struct vec3 eye, double near, double far);

/* picture_edges.c: which of `count` pixels from `first` on lie at an edge in the picture: they, or a pixel beside them,
 * show another visual than the next pixel, or a side that looks elsewhere. free() it. */
bool *picture_find_edges(
	struct picture_chunk *c, const struct sdf_camera *camera, struct vec3 eye, uint32_t first, uint32_t count);
/* Replaces the colours of those of the pixels that lie at an edge by the mean of several rays each. colour: of the
 * pixel `first`. */
void picture_smooth_edges(struct picture_chunk *c, const struct sdf_camera *camera, struct vec3 eye, uint32_t first,
	uint32_t count, const bool *edges, float *colour);

/* picture_surface.c: the point that a ray has hit, with what lights see of it, and its own light; left: the part of the
 * pixel that is still to be seen. */
void picture_surface(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, double left, struct picture_spot *ret_spot);
/* picture_colour.c: the colours of the pixels of the chunk, 3 numbers each, into `colour`. c->cast, c->hits: `count`
 * rays and what they hit; pixels: of each ray, its pixel in the chunk. Changes these. */
void picture_paint(struct picture_chunk *c, float *colour, uint32_t pixel_count, uint32_t *pixels, uint32_t count);

/* picture_air.c: the colour of a point in this distance, with the fog before it. */
struct picture_rgb picture_in_fog(const struct sdf_fog *fog, double distance, struct picture_rgb colour);
struct picture_sky { /* by daylight */
	struct picture_rgb horizon, zenith;
};
struct picture_sky picture_sky_of(const struct sdf_sky *sky);
/* up: the z of a unit vector to that part of the sky */
struct picture_rgb picture_sky_at(const struct picture_sky *sky, double up);

#endif
