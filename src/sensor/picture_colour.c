/* The colours of pixels: what their rays hit is lit by one light after the other, and a transparent visual lets its ray
 * go on behind it, layer after layer. */
#include "sensor/picture_internal.h"

#include <string.h>

static void picture_colour_add(struct picture_rgb *to, struct picture_rgb a, struct picture_rgb b, double scale)
{
	to->r += a.r * b.r * scale;
	to->g += a.g * b.g * scale;
	to->b += a.b * b.b * scale;
}

static struct picture_rgb picture_colour_of(struct sdf_colour c)
{
	return (struct picture_rgb){c.r, c.g, c.b};
}

/* pi D V F N.L of GGX; steep: N.L */
static struct picture_rgb picture_colour_reflected(
	const struct picture_spot *spot, struct vec3 half, double cos_half, double steep)
{
	double facing = fmax(vec3_dot(spot->normal, spot->view), 1e-6), a2 = spot->alpha2;
	double d = cos_half * cos_half * (a2 - 1) + 1;
	double v = 0.5 / (steep * sqrt(facing * facing * (1 - a2) + a2) + facing * sqrt(steep * steep * (1 - a2) + a2));
	double away = 1 - fmin(fmax(vec3_dot(spot->view, half), 0), 1), grazing = away * away * away * away * away;
	double scale = a2 / (d * d) * v * steep;
	return (struct picture_rgb){scale * (spot->specular.r + (1 - spot->specular.r) * grazing),
		scale * (spot->specular.g + (1 - spot->specular.g) * grazing),
		scale * (spot->specular.b + (1 - spot->specular.b) * grazing)};
}

static void picture_colour_shade(
	struct picture_spot *spot, const struct lights_one *light, struct vec3 to, double strength)
{
	double steep = vec3_dot(spot->normal, to);
	picture_colour_add(&spot->colour, spot->diffuse, picture_colour_of(light->shine.diffuse), strength * steep);
	struct vec3 half = vec3_unit(vec3_add(to, spot->view));
	double cos_half = vec3_dot(spot->normal, half);
	if (cos_half > 0 && spot->metallic) {
		struct picture_rgb reflected = picture_colour_reflected(spot, half, cos_half, steep);
		picture_colour_add(&spot->colour, reflected, picture_colour_of(light->shine.specular), strength);
	} else if (cos_half > 0) {
		double shine = spot->shininess > 0 ? math_exp(spot->shininess * math_log(cos_half)) : cos_half;
		picture_colour_add(
			&spot->colour, spot->specular, picture_colour_of(light->shine.specular), strength * shine);
	}
}

/* A shadow ray begins a little above the surface, which it must not hit again. */
enum { PICTURE_COLOUR_ABOVE_UM = 10 };

static void picture_colour_shine_on(struct picture_chunk *c, uint32_t count, const struct lights_one *light)
{
	bool shadows = light->shine.cast_shadows && c->scene->shadows;
	double strength[PICTURE_CHUNK];
	uint32_t rays = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct picture_spot *spot = &c->spots[i];
		struct vec3 to;
		double far;
		if (!spot->lighting)
			continue;
		strength[rays] = lights_reach(light, spot->point, &to, &far);
		if (!(strength[rays] > 0 && vec3_dot(spot->normal, to) > 0))
			continue;
		struct vec3 above = vec3_add(spot->point, vec3_scale(spot->normal, PICTURE_COLOUR_ABOVE_UM * 1e-6));
		c->shadow[rays] = (struct ray){above, to, 0, far};
		c->blocked[rays] = false;
		c->lit[rays++] = i;
	}
	if (shadows)
		rays_blocked(c->rays, c->shadow, rays, c->mask, c->blocked);
	for (uint32_t k = 0; k < rays; k++)
		if (!c->blocked[k])
			picture_colour_shade(&c->spots[c->lit[k]], light, c->shadow[k].direction, strength[k]);
}

/* The visuals that the rays have hit, with their colours. Returns their number. */
static uint32_t picture_colour_light_up(
	struct picture_chunk *c, const uint32_t *pixels, const double *left, uint32_t count)
{
	uint32_t spots = 0;
	for (uint32_t i = 0; i < count; i++)
		if (c->hits[i].model != SCENE_NONE)
			picture_surface(c, i, pixels[i], left[i], &c->spots[spots++]);
	for (uint32_t l = 0; l < c->lights->count; l++)
		picture_colour_shine_on(c, spots, &c->lights->at[l]);
	return spots;
}

static void picture_colour_mix(float *pixel, struct picture_rgb colour, double weight)
{
	pixel[0] += (float)(weight * fmin(colour.r, 1));
	pixel[1] += (float)(weight * fmin(colour.g, 1));
	pixel[2] += (float)(weight * fmin(colour.b, 1));
}

/* Adds a layer of visuals to the pixels. rest: by pixel, the part that is still to be seen. */
static void picture_colour_add_layer(
	const struct picture_chunk *c, uint32_t spots, bool last, float *colour, double rest[PICTURE_CHUNK])
{
	for (uint32_t s = 0; s < spots; s++) {
		const struct picture_spot *spot = &c->spots[s];
		double weight = last ? rest[spot->pixel] : spot->weight;
		struct picture_rgb seen = spot->colour;
		if (c->scene->fog)
			seen = picture_in_fog(c->scene->fog, vec3_length(vec3_sub(spot->point, spot->from)), seen);
		picture_colour_mix(&colour[3 * spot->pixel], seen, weight);
		rest[spot->pixel] -= weight;
	}
}

/* Lets the rays go on behind what they have hit, where something is still to be seen: into c->hits. left: by ray, the
 * same as rest. Returns their number. */
static uint32_t picture_colour_go_on(struct picture_chunk *c, const double rest[PICTURE_CHUNK],
	double left[PICTURE_CHUNK], uint32_t *pixels, uint32_t count)
{
	uint32_t on = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (c->hits[i].model == SCENE_NONE || !(rest[pixels[i]] > 1e-3))
			continue;
		c->cast[on] = c->cast[i];
		c->cast[on].min = nextafter(c->hits[i].distance, INFINITY);
		if (c->moving.turns) {
			c->moving.own[on] = c->moving.own[i];
			c->moving.own[on].min = c->cast[on].min;
		}
		left[on] = rest[pixels[i]];
		pixels[on++] = pixels[i];
	}
	picture_cast(c, on);
	return on;
}

/* How the direction changes from the pixel to the next one, of the row or below. */
static struct vec3 picture_colour_to_next(
	const struct picture_chunk *c, const struct picture_neighbours *next, int way, struct vec3 direction)
{
	struct vec3 beside = picture_turned(&c->turn, c->directions[next->pixel[way]]);
	return vec3_scale(vec3_sub(beside, direction), next->sign[way]);
}

static struct picture_rgb picture_colour_of_sky(const struct picture_chunk *c, uint32_t pixel)
{
	struct vec3 none = {0, 0, 0}, direction = picture_turned(&c->turn, c->directions[pixel]);
	if (!c->sky.cube)
		return picture_sky_at(&c->sky, direction, none, none);
	struct picture_neighbours next = picture_beside(c, pixel);
	return picture_sky_at(&c->sky, direction, picture_colour_to_next(c, &next, 0, direction),
		picture_colour_to_next(c, &next, 1, direction));
}

/* What is behind all visuals: the sky, or the background, which lies in the fog. */
static void picture_colour_add_background(
	const struct picture_chunk *c, float *colour, uint32_t pixel_count, const double rest[PICTURE_CHUNK])
{
	const struct sdf_scene *scene = c->scene;
	struct picture_rgb plain = picture_colour_of(scene->background);
	if (!scene->sky && scene->fog)
		plain = picture_in_fog(scene->fog, INFINITY, plain);
	for (uint32_t i = 0; i < pixel_count; i++)
		if (scene->sky && picture_has_ray(c, c->where[i]))
			picture_colour_mix(&colour[3 * i], picture_colour_of_sky(c, c->where[i]), rest[i]);
		else
			picture_colour_mix(&colour[3 * i], plain, rest[i]);
}

void picture_paint(struct picture_chunk *c, float *colour, uint32_t pixel_count, uint32_t *pixels, uint32_t count)
{
	double left[PICTURE_CHUNK], rest[PICTURE_CHUNK]; /* by ray and by pixel: the part that is still to be seen */
	memset(colour, 0, pixel_count * 3 * sizeof *colour);
	for (uint32_t i = 0; i < pixel_count; i++)
		rest[i] = 1;
	for (uint32_t i = 0; i < count; i++)
		left[i] = 1;
	for (int layer = 1; count; layer++) {
		uint32_t spots = picture_colour_light_up(c, pixels, left, count);
		picture_colour_add_layer(c, spots, layer == PICTURE_LAYERS, colour, rest);
		count = picture_colour_go_on(c, rest, left, pixels, count);
	}
	picture_colour_add_background(c, colour, pixel_count, rest);
}
