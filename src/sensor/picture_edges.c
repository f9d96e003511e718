/* Anti-aliasing: only pixels at an edge take more than one ray. Textures are smooth already, and most pixels show one
 * surface. So a picture costs one more pass of rays, which finds the edges, and what few pixels cost.
 *
 * Edges are sought among all neighbours, also among those that are not taken in the same call: so a pixel does not
 * depend on which pixels are taken together. */
#include "sensor/picture_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PICTURE_EDGES_SAMPLES_MAX = 8 };
#define PICTURE_EDGES_LIKE 0.96 /* cosine: sides that look so alike have no edge between them */

struct picture_edges_mark { /* what the middle of a pixel shows */
	uint32_t place;     /* SCENE_NONE: nothing */
	struct vec3 normal;
};

static void picture_edges_mark(struct picture_chunk *c, const struct sdf_camera *camera, uint32_t first, uint32_t count,
	struct picture_edges_mark *marks)
{
	uint32_t pixels[PICTURE_CHUNK], rays = 0;
	picture_move_to(c, first);
	for (uint32_t i = 0; i < count; i++) {
		marks[i] = (struct picture_edges_mark){SCENE_NONE, {0, 0, 0}};
		if (!picture_has_ray(c, first + i))
			continue;
		picture_aim_at(c, rays, c->directions[first + i], camera->near_m, camera->far_m);
		pixels[rays++] = i;
	}
	picture_cast(c, rays);
	for (uint32_t i = 0; i < rays; i++) {
		if (c->hits[i].model == SCENE_NONE)
			continue;
		struct ray moved;
		const struct ray *ray = picture_ray(c, i, &moved);
		marks[pixels[i]] =
			(struct picture_edges_mark){c->hits[i].place, rays_normal(c->rays, ray, &c->hits[i])};
	}
}

static bool picture_edges_differ(const struct picture_edges_mark *a, const struct picture_edges_mark *b)
{
	return a->place != b->place || (a->place != SCENE_NONE && vec3_dot(a->normal, b->normal) < PICTURE_EDGES_LIKE);
}

bool *picture_find_edges(struct picture_chunk *c, const struct sdf_camera *camera, uint32_t first, uint32_t count)
{
	uint32_t lo = first - MIN(first, c->width), hi = MIN(first + count + c->width, c->total);
	struct picture_edges_mark *marks = mem_alloc((hi - lo) * sizeof *marks);
	bool *edges = mem_alloc(count * sizeof *edges);
	for (uint32_t at = lo, some; at < hi; at += some) {
		some = picture_chunk_of(c, at, hi - at);
		picture_edges_mark(c, camera, at, some, &marks[at - lo]);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t pixel = first + i, column = pixel % c->width;
		const struct picture_edges_mark *own = &marks[pixel - lo];
		edges[i] = picture_has_ray(c, pixel) &&
			   ((column > 0 && picture_edges_differ(own, own - 1)) ||
				   (column + 1 < c->width && picture_edges_differ(own, own + 1)) ||
				   (pixel >= c->width && picture_edges_differ(own, own - c->width)) ||
				   (pixel + c->width < c->total && picture_edges_differ(own, own + c->width)));
	}
	free(marks);
	return edges;
}

/* Places in a pixel, from its middle: no two of them in one row or column. */
static const double (*picture_edges_places(uint32_t wanted, uint32_t *ret_count))[2]
{
	static const double two[2][2] = {{0.25, 0.25}, {-0.25, -0.25}};
	static const double four[4][2] = {{-0.125, -0.375}, {0.375, -0.125}, {-0.375, 0.125}, {0.125, 0.375}};
	static const double eight[PICTURE_EDGES_SAMPLES_MAX][2] = {{0.0625, -0.1875}, {-0.0625, 0.1875},
		{0.3125, 0.0625}, {-0.1875, -0.3125}, {-0.3125, 0.3125}, {-0.4375, -0.0625}, {0.1875, 0.4375},
		{0.4375, -0.4375}};
	*ret_count = wanted < 4 ? 2 : wanted < PICTURE_EDGES_SAMPLES_MAX ? 4 : PICTURE_EDGES_SAMPLES_MAX;
	return wanted < 4 ? two : wanted < PICTURE_EDGES_SAMPLES_MAX ? four : eight;
}

/* Between the directions of the pixel and of its neighbours. */
static struct vec3 picture_edges_direction(const struct picture_chunk *c, uint32_t pixel, const double place[2])
{
	struct picture_neighbours next = picture_beside(c, pixel);
	struct vec3 d = c->directions[pixel], to = d;
	for (int i = 0; i < 2; i++)
		to = vec3_add(to, vec3_scale(vec3_sub(c->directions[next.pixel[i]], d), place[i] * next.sign[i]));
	return vec3_unit(to);
}

/* Up to PICTURE_CHUNK / samples pixels, where something moves of one row. */
static void picture_edges_smooth(struct picture_chunk *c, const struct sdf_camera *camera, const uint32_t *which,
	uint32_t count, float *const *colours)
{
	uint32_t samples, rays = 0, pixels[PICTURE_CHUNK];
	float mixed[3 * PICTURE_CHUNK];
	const double(*places)[2] = picture_edges_places(camera->anti_aliasing, &samples);
	picture_move_to(c, which[0]);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t s = 0; s < samples; s++) {
			struct vec3 d = picture_edges_direction(c, which[i], places[s]);
			c->where[rays] = which[i];
			picture_aim_at(c, rays, d, camera->near_m, camera->far_m);
			pixels[rays] = rays;
			rays++;
		}
	picture_cast(c, rays);
	c->aside = true;
	picture_paint(c, mixed, rays, pixels, rays);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < 3; k++) {
			float sum = 0;
			for (uint32_t s = 0; s < samples; s++)
				sum += mixed[3 * (i * samples + s) + k];
			colours[i][k] = sum / (float)samples;
		}
}

void picture_smooth_edges(struct picture_chunk *c, const struct sdf_camera *camera, uint32_t first, uint32_t count,
	const bool *edges, float *colour)
{
	enum { TOGETHER = PICTURE_CHUNK / PICTURE_EDGES_SAMPLES_MAX };
	uint32_t which[TOGETHER], waiting = 0;
	float *colours[TOGETHER];
	for (uint32_t i = 0; i < count; i++) {
		if (edges[i]) {
			which[waiting] = first + i;
			colours[waiting++] = &colour[3 * (size_t)i];
		}
		bool row_ends = c->moving.how && (first + i + 1) % c->width == 0;
		if (waiting && (waiting == TOGETHER || i + 1 == count || row_ends)) {
			picture_edges_smooth(c, camera, which, waiting, colours);
			waiting = 0;
		}
	}
}
