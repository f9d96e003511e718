/* The colours of pixels: what their rays hit is lit by one light after the other, and a transparent visual lets its ray
 * go on behind it, layer after layer. */
#include "sensor/picture_internal.h"

#include <string.h>

static struct picture_rgb picture_colour_of(struct sdf_colour c)
{
	return (struct picture_rgb){c.r, c.g, c.b};
}

static void picture_colour_add(struct picture_rgb *to, struct picture_rgb a, struct picture_rgb b, double scale)
{
	to->r += a.r * b.r * scale;
	to->g += a.g * b.g * scale;
	to->b += a.b * b.b * scale;
}

static const struct sdf_material picture_colour_grey = {.ambient = {0.3, 0.3, 0.3, 1},
	.diffuse = {0.7, 0.7, 0.7, 1},
	.specular = {0.4, 0.4, 0.4, 1},
	.emissive = {0, 0, 0, 1},
	.lighting = true};

static void picture_colour_shade(
	struct picture_spot *spot, const struct lights_one *light, struct vec3 to, double strength)
{
	const struct sdf_material *m = spot->material;
	double steep = vec3_dot(spot->normal, to);
	picture_colour_add(&spot->colour, picture_colour_of(m->diffuse), picture_colour_of(light->shine.diffuse),
		strength * steep);
	double half = vec3_dot(spot->normal, vec3_unit(vec3_add(to, spot->view)));
	if (half > 0) {
		double shine = m->shininess > 0 ? math_exp(m->shininess * math_log(half)) : half;
		picture_colour_add(&spot->colour, picture_colour_of(m->specular),
			picture_colour_of(light->shine.specular), strength * shine);
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
		if (!spot->material->lighting)
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
	for (uint32_t i = 0; i < count; i++) {
		const struct ray_hit *hit = &c->hits[i];
		if (hit->model == SCENE_NONE)
			continue;
		const struct sdf_visual *visual = rays_visual(c->rays, hit);
		const struct sdf_material *material = visual->material ? visual->material : &picture_colour_grey;
		struct picture_spot *spot = &c->spots[spots++];
		*spot = (struct picture_spot){.pixel = pixels[i],
			.material = material,
			.point = ray_point(&c->cast[i], hit),
			.normal = rays_normal(c->rays, &c->cast[i], hit),
			.view = vec3_scale(c->cast[i].direction, -1),
			.weight = left[i] * (1 - visual->transparency) * material->diffuse.a,
			.colour = picture_colour_of(material->emissive)};
		if (material->lighting)
			picture_colour_add(&spot->colour, picture_colour_of(material->ambient),
				picture_colour_of(c->scene->ambient), 1);
		else
			picture_colour_add(
				&spot->colour, picture_colour_of(material->diffuse), (struct picture_rgb){1, 1, 1}, 1);
	}
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
		picture_colour_mix(&colour[3 * spot->pixel], spot->colour, weight);
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
		left[on] = rest[pixels[i]];
		pixels[on++] = pixels[i];
	}
	rays_cast(c->rays, c->cast, on, c->mask, c->hits);
	return on;
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
	for (uint32_t i = 0; i < pixel_count; i++)
		picture_colour_mix(&colour[3 * i], picture_colour_of(c->scene->background), rest[i]);
}
