/* What the files of picture.h share: a chunk of pixels, whose rays are cast together. */
#ifndef SENSOR_PICTURE_INTERNAL_H
#define SENSOR_PICTURE_INTERNAL_H

#include "sensor/picture.h"

enum { PICTURE_CHUNK = 256 };
enum { PICTURE_CONES_MAX = 64 }; /* visuals of an own model that are told apart */

struct picture_rgb {
	double r, g, b;
};

/* Of a picture in which something moves. What a ray has met at its time is then taken to where it is in state k, with
 * the ray: so surfaces, textures and shadows are computed as in a picture that is taken at once. */
struct picture_moving {
	const struct picture_motion *how; /* NULL: nothing moves */
	bool turns;                       /* the camera moves */
	double lag_s;                     /* of the exposure: the time of a row before it is read */
	double ago_s[PICTURE_CHUNK];      /* of the rays of a chunk, all the same */
	struct mat3 turn;                 /* the camera in state k */
	struct vec3 eye;
	struct ray own[PICTURE_CHUNK]; /* beside the rays of the chunk: for the own model */
	bool near[PICTURE_CHUNK];      /* by eight rays */
	uint32_t cone_count;           /* of the own model; SCENE_NONE: all rays may meet it */
	struct rays_cone cones[PICTURE_CONES_MAX];
};

struct picture_sky { /* by daylight */
	struct picture_rgb horizon, zenith;
	const struct texture *cube; /* in place of both, and of clouds; NULL: none */
	bool clouds;
	struct picture_rgb cloud;
	double cloud_part;       /* how much of the sky they cover, in terms of the sum of their noise */
	double cloud_scale;      /* cells of the noise in the height of the clouds */
	double cloud_x, cloud_y; /* how far they have drifted, in cells */
};

struct picture_spot { /* a point of a visual that a pixel shows */
	uint32_t pixel;
	struct vec3 from;                /* where the ray began */
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
	struct picture_sky sky; /* if the scene has one */
	uint32_t mask;
	/* the pixels of the whole picture, and those of the chunk */
	const struct vec3 *directions;
	uint32_t width, total;
	uint32_t where[PICTURE_CHUNK]; /* by number in the chunk: the number in the picture */
	bool aside;                    /* the rays do not go through the middles of the pixels */
	struct mat3 turn;              /* of the camera, when the chunk is taken */
	struct vec3 eye;
	struct picture_moving moving;
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
void picture_aim_at(struct picture_chunk *c, uint32_t number, struct vec3 d, double near, double far);
/* How many of the next `rest` pixels are taken as one chunk; where something moves they are of one row. */
static inline uint32_t picture_chunk_of(const struct picture_chunk *c, uint32_t pixel, uint32_t rest)
{
	uint32_t most = c->moving.how ? MIN(c->width - pixel % c->width, (uint32_t)PICTURE_CHUNK) : PICTURE_CHUNK;
	return MIN(rest, most);
}

/* picture_motion.c: finds out whether something moves. At how many times the colour is taken. */
uint32_t picture_move_begin(struct picture_chunk *c, const struct sdf_camera *camera, struct pose pose,
	const struct picture_motion *motion);
/* Makes the ray for the own model beside ray `number` of the chunk. */
void picture_aim_own(struct picture_chunk *c, uint32_t number, struct vec3 d);
/* Puts the camera where it was when it took the row of the pixel. */
void picture_move_to_row(struct picture_chunk *c, uint32_t pixel);
static inline void picture_move_to(struct picture_chunk *c, uint32_t pixel)
{
	if (c->moving.how)
		picture_move_to_row(c, pixel);
}
/* Fills in c->hits of the first `count` rays of the chunk. */
void picture_cast_moving(struct picture_chunk *c, uint32_t count);
static inline void picture_cast(struct picture_chunk *c, uint32_t count)
{
	if (c->moving.how)
		picture_cast_moving(c, count);
	else
		rays_cast(c->rays, c->cast, count, c->mask, c->hits);
}
/* The ray of a hit, and a direction in the camera's frame, as they are where the visual is in state k. moved: where the
 * result may lie. */
struct ray picture_moved_ray(const struct picture_chunk *c, uint32_t ray);
static inline const struct ray *picture_ray(const struct picture_chunk *c, uint32_t ray, struct ray *moved)
{
	if (!c->moving.how)
		return &c->cast[ray];
	*moved = picture_moved_ray(c, ray);
	return moved;
}
struct vec3 picture_moved_ahead(const struct picture_chunk *c, uint32_t ray, struct vec3 direction);
static inline struct vec3 picture_ahead(const struct picture_chunk *c, uint32_t ray, struct vec3 direction)
{
	return c->moving.how ? picture_moved_ahead(c, ray, direction) : picture_turned(&c->turn, direction);
}

/* picture_edges.c: which of `count` pixels from `first` on lie at an edge in the picture: they, or a pixel beside them,
 * show another visual than the next pixel, or a side that looks elsewhere. free() it. */
bool *picture_find_edges(struct picture_chunk *c, const struct sdf_camera *camera, uint32_t first, uint32_t count);
/* Replaces the colours of those of the pixels that lie at an edge by the mean of several rays each. colour: of the
 * pixel `first`. */
void picture_smooth_edges(struct picture_chunk *c, const struct sdf_camera *camera, uint32_t first, uint32_t count,
	const bool *edges, float *colour);

/* picture_surface.c: the point that a ray has hit, with what lights see of it, and its own light; left: the part of the
 * pixel that is still to be seen. */
void picture_surface(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, double left, struct picture_spot *ret_spot);
/* The temperature of the point that a ray has hit, by the picture of its visual. */
double picture_signature(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, const struct sdf_heat *heat, double air_K);
/* picture_colour.c: the colours of the pixels of the chunk, 3 numbers each, into `colour`. c->cast, c->hits: `count`
 * rays and what they hit; pixels: of each ray, its pixel in the chunk. Changes these. */
void picture_paint(struct picture_chunk *c, float *colour, uint32_t pixel_count, uint32_t *pixels, uint32_t count);

/* picture_truth.c: normals and flow of `count` pixels from `first` on; c->cast, c->hits: `rays` rays and what they hit;
 * pixels: of each ray, its pixel in the chunk. */
void picture_truth(struct picture_chunk *c, const struct sdf_camera *camera, const struct picture *picture,
	uint32_t first, uint32_t count, const uint32_t *pixels, uint32_t rays);

/* picture_air.c: the colour of a point in this distance, with the fog before it. */
struct picture_rgb picture_in_fog(const struct sdf_fog *fog, double distance, struct picture_rgb colour);
struct picture_sky picture_sky_of(const struct sdf_scene *scene, double time_s);
/* What a pixel shows of the sky. direction: of length 1; across, down: what it changes by to the next pixels. */
struct picture_rgb picture_sky_at(
	const struct picture_sky *sky, struct vec3 direction, struct vec3 across, struct vec3 down);

#endif
