/* What a surface looks like where a ray hits it: its material, and what its textures make of that. */
#include "sensor/picture_internal.h"

static const struct sdf_material picture_surface_grey = {.ambient = {0.3, 0.3, 0.3, 1},
	.diffuse = {0.7, 0.7, 0.7, 1},
	.specular = {0.4, 0.4, 0.4, 1},
	.emissive = {0, 0, 0, 1},
	.lighting = true};

/* A material at one point. */
struct picture_surface_paint {
	struct picture_rgb ambient, diffuse, specular, emissive;
	double opacity, shininess, roughness, metalness;
	bool lighting, metallic;
};

static struct picture_rgb picture_surface_rgb(struct sdf_colour c)
{
	return (struct picture_rgb){c.r, c.g, c.b};
}

static struct picture_surface_paint picture_surface_plain(const struct sdf_material *m)
{
	struct picture_surface_paint paint = {picture_surface_rgb(m->ambient), picture_surface_rgb(m->diffuse),
		picture_surface_rgb(m->specular), picture_surface_rgb(m->emissive), m->diffuse.a, m->shininess, 0, 0,
		m->lighting, m->pbr && !m->pbr->specular};
	if (paint.metallic) {
		paint.roughness = m->pbr->roughness;
		paint.metalness = m->pbr->metalness;
	}
	return paint;
}

/* --- where the pixel's neighbours look ---------------------------------------------------------------------------- */

/* From the eye to the point of the flat surface around the hit that the direction shows. high, near: of the hit, its
 * distances from the eye along the normal and along the ray. */
static struct vec3 picture_surface_meet(const struct picture_spot *spot, struct vec3 to, double high, double near)
{
	double far = high / vec3_dot(to, spot->normal);
	if (!(far > 0 && far < 16 * near)) /* beyond the horizon of the surface */
		far = 16 * near;
	return vec3_scale(to, far);
}

/* From the middle of what the pixel shows to those of the neighbours across and down. 0 0 0: there is none. */
static void picture_surface_find_beside(
	const struct picture_chunk *c, uint32_t ray, const struct picture_spot *spot, struct vec3 beside[2])
{
	uint32_t pixel = c->where[spot->pixel];
	struct picture_neighbours next = picture_beside(c, pixel);
	struct vec3 middle = vec3_sub(spot->point, spot->from);
	double high = vec3_dot(middle, spot->normal), near = c->hits[ray].distance;
	if (c->aside)
		middle = picture_surface_meet(spot, picture_ahead(c, ray, c->directions[pixel]), high, near);
	for (int i = 0; i < 2; i++) {
		beside[i] = (struct vec3){0, 0, 0};
		if (next.sign[i] == 0)
			continue;
		struct vec3 ahead = picture_ahead(c, ray, c->directions[next.pixel[i]]);
		beside[i] = vec3_sub(picture_surface_meet(spot, ahead, high, near), middle);
		if (next.sign[i] < 0)
			beside[i] = vec3_scale(beside[i], -1);
	}
}

/* --- textures -------------------------------------------------------------------------------------------------------
 */

static struct picture_rgb picture_surface_times(struct picture_rgb a, const float rgba[4])
{
	return (struct picture_rgb){a.r * (double)rgba[0], a.g * (double)rgba[1], a.b * (double)rgba[2]};
}

static void picture_surface_paint_albedo(
	const struct sdf_maps *maps, const float rgba[4], struct picture_surface_paint *paint)
{
	double alpha = (double)rgba[3];
	paint->ambient = picture_surface_times(paint->ambient, rgba);
	paint->diffuse = picture_surface_times(paint->diffuse, rgba);
	if (maps->alpha == MESH_ALPHA_BLENDED)
		paint->opacity *= alpha;
	else if (maps->alpha == MESH_ALPHA_CUT)
		paint->opacity = paint->opacity * alpha >= maps->cutoff ? 1 : 0;
}

/* The number that a map gives in place of the material's, or multiplied with it. */
static void picture_surface_paint_number(
	const struct sdf_maps *maps, enum mesh_map map, const struct texture_place *place, double *number)
{
	float rgba[4];
	if (!maps->map[map])
		return;
	texture_sample(maps->map[map], place, rgba);
	*number = (double)rgba[maps->channel[map]] * (maps->scaled ? *number : 1);
}

/* The axes of a normal map run along u and against v. */
static void picture_surface_turn_normal(
	const float rgba[4], const struct texture_place *place, const struct vec3 beside[2], struct vec3 *normal)
{
	double det = place->u_across * place->v_down - place->u_down * place->v_across;
	if (det == 0)
		return;
	struct vec3 along_u = vec3_scale(
		vec3_sub(vec3_scale(beside[0], place->v_down), vec3_scale(beside[1], place->v_across)), 1 / det);
	struct vec3 along_v = vec3_scale(
		vec3_sub(vec3_scale(beside[1], place->u_across), vec3_scale(beside[0], place->u_down)), 1 / det);
	struct vec3 x = vec3_unit(vec3_sub(along_u, vec3_scale(*normal, vec3_dot(along_u, *normal))));
	struct vec3 y = vec3_cross(*normal, x);
	if (vec3_dot(y, along_v) > 0)
		y = vec3_scale(y, -1);
	struct vec3 turned =
		vec3_add(vec3_add(vec3_scale(x, 2 * (double)rgba[0] - 1), vec3_scale(y, 2 * (double)rgba[1] - 1)),
			vec3_scale(*normal, 2 * (double)rgba[2] - 1));
	if (vec3_length(turned) > 1e-6 && vec3_finite(turned))
		*normal = vec3_unit(turned);
}

static bool picture_surface_is_black(struct picture_rgb c)
{
	return c.r == 0 && c.g == 0 && c.b == 0;
}

static void picture_surface_paint_maps(const struct picture_chunk *c, uint32_t ray, const struct sdf_maps *maps,
	struct picture_spot *spot, struct picture_surface_paint *paint)
{
	struct vec3 beside[2];
	struct texture_place place;
	float rgba[4];
	picture_surface_find_beside(c, ray, spot, beside);
	if (!rays_texture(c->rays, &c->hits[ray], spot->point, beside, &place))
		return;
	if (maps->map[MESH_ALBEDO]) {
		texture_sample(maps->map[MESH_ALBEDO], &place, rgba);
		picture_surface_paint_albedo(maps, rgba, paint);
	}
	if (maps->map[MESH_EMISSIVE]) {
		if (!maps->scaled && picture_surface_is_black(paint->emissive))
			paint->emissive = (struct picture_rgb){1, 1, 1};
		texture_sample(maps->map[MESH_EMISSIVE], &place, rgba);
		paint->emissive = picture_surface_times(paint->emissive, rgba);
	}
	picture_surface_paint_number(maps, MESH_ROUGHNESS, &place, &paint->roughness);
	picture_surface_paint_number(maps, MESH_METALNESS, &place, &paint->metalness);
	if (maps->map[MESH_NORMAL]) {
		texture_sample(maps->map[MESH_NORMAL], &place, rgba);
		picture_surface_turn_normal(rgba, &place, beside, &spot->normal);
	}
}

/* --- ground --------------------------------------------------------------------------------------------------------
 */

static const struct sdf_material picture_surface_ground = {.ambient = {1, 1, 1, 1},
	.diffuse = {1, 1, 1, 1},
	.specular = {0, 0, 0, 1},
	.emissive = {0, 0, 0, 1},
	.lighting = true};

static float picture_surface_mix(float a, float b, double part)
{
	return (float)((double)a + part * ((double)b - (double)a));
}

/* How much of a layer of the ground is seen at a height. */
static double picture_surface_share(const struct sdf_ground_layer *layer, double height)
{
	if (!(layer->fade_m > 0))
		return height >= layer->from_m ? 1 : 0;
	return fmin(fmax((height - layer->from_m) / layer->fade_m, 0), 1);
}

/* Colour and normal map of the layers of a heightmap, one over the other, where the point is. */
static void picture_surface_paint_ground(const struct picture_chunk *c, uint32_t ray, const struct sdf_shape *shape,
	struct picture_spot *spot, struct picture_surface_paint *paint)
{
	const struct sdf_ground *ground = shape->ground;
	struct vec3 beside[2], own[2];
	float colour[4] = {1, 1, 1, 1}, normal[4] = {0.5F, 0.5F, 1, 1};
	bool bent = false;
	picture_surface_find_beside(c, ray, spot, beside);
	struct vec3 p = rays_own_place(c->rays, &c->hits[ray], spot->point, beside, own);
	struct vec3 from = vec3_sub(
		p, vec3_add(shape->shift, (struct vec3){-fabs(shape->size.x) / 2, fabs(shape->size.y) / 2, 0}));
	struct texture_place place = {from.x, -from.y, own[0].x, -own[0].y, own[1].x, -own[1].y};
	for (uint32_t i = 0; i < ground->count; i++) {
		const struct sdf_ground_layer *layer = &ground->layers[i];
		double by = 1 / layer->size_m, share = i ? picture_surface_share(layer, from.z) : 1;
		const struct texture_place at = {place.u * by, place.v * by, place.u_across * by, place.v_across * by,
			place.u_down * by, place.v_down * by};
		float rgba[4] = {1, 1, 1, 1}, turned[4] = {0.5F, 0.5F, 1, 1};
		if (!(share > 0))
			continue;
		if (layer->diffuse)
			texture_sample(layer->diffuse, &at, rgba);
		if (layer->normal)
			texture_sample(layer->normal, &at, turned);
		bent |= layer->normal != NULL;
		for (int k = 0; k < 3; k++) {
			colour[k] = picture_surface_mix(colour[k], rgba[k], share);
			normal[k] = picture_surface_mix(normal[k], turned[k], share);
		}
	}
	paint->ambient = picture_surface_times(paint->ambient, colour);
	paint->diffuse = picture_surface_times(paint->diffuse, colour);
	if (bent)
		picture_surface_turn_normal(normal, &place, beside, &spot->normal);
}

/* --- the point ------------------------------------------------------------------------------------------------------
 */

/* Of metal, the diffuse colour is what it reflects. */
static void picture_surface_set_metal(const struct picture_surface_paint *paint, struct picture_spot *spot)
{
	double metal = paint->metalness, rough = fmax(paint->roughness, 0.03), rest = 0.04 * (1 - metal);
	struct picture_rgb d = paint->diffuse;
	spot->specular = (struct picture_rgb){rest + metal * d.r, rest + metal * d.g, rest + metal * d.b};
	spot->diffuse = (struct picture_rgb){(1 - metal) * d.r, (1 - metal) * d.g, (1 - metal) * d.b};
	spot->alpha2 = rough * rough * rough * rough;
}

/* The light that the point has without any lamp. */
static struct picture_rgb picture_surface_glow(const struct picture_chunk *c, const struct picture_surface_paint *paint)
{
	struct picture_rgb e = paint->emissive, a = paint->ambient, d = paint->diffuse;
	const struct sdf_colour *light = &c->scene->ambient;
	return paint->lighting ? (struct picture_rgb){e.r + a.r * light->r, e.g + a.g * light->g, e.b + a.b * light->b}
			       : (struct picture_rgb){e.r + d.r, e.g + d.g, e.b + d.b};
}

/* The material and the textures of the part of the visual that is hit. */
static const struct sdf_material *picture_surface_material(
	const struct picture_chunk *c, const struct ray_hit *hit, const struct sdf_maps **ret_maps)
{
	const struct sdf_visual *visual = rays_visual(c->rays, hit);
	const struct sdf_shape *shape = &visual->shape;
	*ret_maps = shape->maps;
	if (shape->ground) {
		*ret_maps = NULL;
		return &picture_surface_ground;
	}
	if (visual->material)
		return visual->material;
	uint32_t number = shape->material_count ? rays_material(c->rays, hit) : 0;
	if (number >= shape->material_count) {
		*ret_maps = NULL;
		return &picture_surface_grey;
	}
	if (shape->maps)
		*ret_maps = &shape->maps[number];
	return &shape->materials[number];
}

static inline void picture_surface_begin(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, struct picture_spot *ret_spot)
{
	struct ray moved;
	const struct ray *along = picture_ray(c, ray, &moved);
	*ret_spot = (struct picture_spot){.pixel = pixel,
		.from = along->origin,
		.point = ray_point(along, &c->hits[ray]),
		.normal = rays_normal(c->rays, along, &c->hits[ray]),
		.view = vec3_scale(along->direction, -1)};
}

double picture_signature(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, const struct sdf_heat *heat, double air_K)
{
	struct picture_spot spot;
	double a = isnan(heat->min_K) ? air_K : heat->min_K, b = isnan(heat->max_K) ? air_K : heat->max_K;
	struct vec3 beside[2];
	struct texture_place place;
	float rgba[4] = {0, 0, 0, 0};
	picture_surface_begin(c, ray, pixel, &spot);
	picture_surface_find_beside(c, ray, &spot, beside);
	if (rays_texture(c->rays, &c->hits[ray], spot.point, beside, &place))
		texture_sample(heat->texture, &place, rgba);
	return fmin(a, b) + (double)rgba[0] * fabs(b - a);
}

void picture_surface(
	const struct picture_chunk *c, uint32_t ray, uint32_t pixel, double left, struct picture_spot *ret_spot)
{
	const struct ray_hit *hit = &c->hits[ray];
	const struct sdf_maps *maps;
	const struct sdf_material *material = picture_surface_material(c, hit, &maps);
	struct picture_surface_paint paint = picture_surface_plain(material);
	picture_surface_begin(c, ray, pixel, ret_spot);
	if (maps)
		picture_surface_paint_maps(c, ray, maps, ret_spot, &paint);
	else if (rays_visual(c->rays, hit)->shape.ground)
		picture_surface_paint_ground(c, ray, &rays_visual(c->rays, hit)->shape, ret_spot, &paint);
	ret_spot->weight = left * (1 - rays_visual(c->rays, hit)->transparency) * paint.opacity;
	ret_spot->colour = picture_surface_glow(c, &paint);
	ret_spot->lighting = paint.lighting;
	ret_spot->metallic = paint.metallic;
	ret_spot->diffuse = paint.diffuse;
	ret_spot->specular = paint.specular;
	ret_spot->shininess = paint.shininess;
	if (paint.metallic)
		picture_surface_set_metal(&paint, ret_spot);
}
