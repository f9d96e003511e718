/* Copies of the structs of sdf/look.h, with their texts: programs keep a scene longer than the description of a
 * material exists, and public structs must not depend on those of the loader. */
#include "server/scene_info_look.h"

#include <math.h>

static const char *scene_info_look_copy(struct share *share, struct arena *arena, const char *text)
{
	return text && *text ? share_text(share, arena, text) : NULL;
}

static void scene_info_look_set_colour(float ret_colour[4], const struct sdf_colour *colour)
{
	ret_colour[0] = (float)colour->r;
	ret_colour[1] = (float)colour->g;
	ret_colour[2] = (float)colour->b;
	ret_colour[3] = (float)colour->a;
}

static const struct troupe_pbr *scene_info_look_copy_pbr(
	struct share *share, struct arena *arena, const struct sdf_pbr *pbr)
{
	if (!pbr)
		return NULL;
	const struct troupe_pbr to = {.specular = pbr->specular,
		.roughness = pbr->roughness,
		.metalness = pbr->metalness,
		.glossiness = pbr->glossiness,
		.albedo_map = scene_info_look_copy(share, arena, pbr->albedo_map),
		.roughness_map = scene_info_look_copy(share, arena, pbr->roughness_map),
		.metalness_map = scene_info_look_copy(share, arena, pbr->metalness_map),
		.environment_map = scene_info_look_copy(share, arena, pbr->environment_map),
		.ambient_occlusion_map = scene_info_look_copy(share, arena, pbr->ambient_occlusion_map),
		.normal_map = scene_info_look_copy(share, arena, pbr->normal_map),
		.emissive_map = scene_info_look_copy(share, arena, pbr->emissive_map),
		.light_map = scene_info_look_copy(share, arena, pbr->light_map),
		.specular_map = scene_info_look_copy(share, arena, pbr->specular_map),
		.glossiness_map = scene_info_look_copy(share, arena, pbr->glossiness_map),
		.albedo_path = scene_info_look_copy(share, arena, pbr->paths[MESH_ALBEDO]),
		.normal_path = scene_info_look_copy(share, arena, pbr->paths[MESH_NORMAL]),
		.roughness_path = scene_info_look_copy(share, arena, pbr->paths[MESH_ROUGHNESS]),
		.metalness_path = scene_info_look_copy(share, arena, pbr->paths[MESH_METALNESS]),
		.emissive_path = scene_info_look_copy(share, arena, pbr->paths[MESH_EMISSIVE])};
	return share_keep(share, arena, &to, sizeof to);
}

const struct troupe_material *scene_info_material(
	struct share *share, struct arena *arena, const struct sdf_material *material)
{
	if (!material)
		return NULL;
	struct troupe_material to = {.shininess = material->shininess,
		.render_order = material->render_order,
		.lighting = material->lighting,
		.double_sided = material->double_sided,
		.script_uri = scene_info_look_copy(share, arena, material->script_uri),
		.script_name = scene_info_look_copy(share, arena, material->script_name),
		.shader = scene_info_look_copy(share, arena, material->shader),
		.normal_map = scene_info_look_copy(share, arena, material->normal_map),
		.pbr = scene_info_look_copy_pbr(share, arena, material->pbr)};
	scene_info_look_set_colour(to.ambient, &material->ambient);
	scene_info_look_set_colour(to.diffuse, &material->diffuse);
	scene_info_look_set_colour(to.specular, &material->specular);
	scene_info_look_set_colour(to.emissive, &material->emissive);
	return share_keep(share, arena, &to, sizeof to);
}

struct troupe_light scene_info_light(const struct sdf_shine *shine)
{
	static const troupe_light_kind kinds[] = {[SDF_POINT_LIGHT] = TROUPE_LIGHT_POINT,
		[SDF_DIRECTIONAL_LIGHT] = TROUPE_LIGHT_DIRECTIONAL,
		[SDF_SPOT_LIGHT] = TROUPE_LIGHT_SPOT};
	struct troupe_light to = {.kind = kinds[shine->kind],
		.on = shine->on,
		.cast_shadows = shine->cast_shadows,
		.visualize = shine->visualize,
		.intensity = shine->intensity,
		.range_m = shine->range_m,
		.constant = shine->constant,
		.linear = shine->linear,
		.quadratic = shine->quadratic,
		.direction = {shine->direction.x, shine->direction.y, shine->direction.z},
		.inner_rad = shine->inner_rad,
		.outer_rad = shine->outer_rad,
		.falloff = shine->falloff};
	scene_info_look_set_colour(to.diffuse, &shine->diffuse);
	scene_info_look_set_colour(to.specular, &shine->specular);
	return to;
}

static void scene_info_look_read(const struct sdf_element *parent, const char *name, double least, double *value)
{
	(void)sdf_child_double(parent, name, least, INFINITY, value, NULL);
}

const struct troupe_ground_layer *scene_info_ground(
	struct share *share, struct arena *arena, const struct sdf_visual *visual, uint32_t *ret_count)
{
	const struct sdf_ground_paths *paths = visual->ground_paths;
	const struct sdf_element *heightmap =
		sdf_child(sdf_child(visual->element, "geometry", NULL), "heightmap", NULL);
	const struct sdf_element *texture = NULL, *blend = NULL;
	*ret_count = paths ? paths->count : 0;
	struct troupe_ground_layer *layers = arena_array(arena, struct troupe_ground_layer, *ret_count);
	for (uint32_t i = 0; i < *ret_count; i++) {
		struct troupe_ground_layer *layer = &layers[i];
		*layer = (struct troupe_ground_layer){
			.diffuse_path = scene_info_look_copy(share, arena, paths->diffuse[i]),
			.normal_path = scene_info_look_copy(share, arena, paths->normal[i]),
			.size_m = 10};
		texture = sdf_child(heightmap, "texture", texture);
		scene_info_look_read(texture, "size", 1e-3, &layer->size_m);
		if (!i)
			continue;
		blend = sdf_child(heightmap, "blend", blend);
		scene_info_look_read(blend, "min_height", -1e9, &layer->from_m);
		scene_info_look_read(blend, "fade_dist", 0, &layer->fade_m);
	}
	return layers;
}

static const struct troupe_sky *scene_info_look_copy_sky(
	struct share *share, struct arena *arena, const struct sdf_sky *sky)
{
	if (!sky)
		return NULL;
	struct troupe_sky *to = arena_new(arena, struct troupe_sky);
	*to = (struct troupe_sky){.time_h = sky->time_h,
		.sunrise_h = sky->sunrise_h,
		.sunset_h = sky->sunset_h,
		.cloud_speed = sky->cloud_speed,
		.cloud_direction_rad = sky->cloud_direction_rad,
		.cloud_humidity = sky->cloud_humidity,
		.cloud_size = sky->cloud_size,
		.cubemap_uri = scene_info_look_copy(share, arena, sky->cubemap_uri),
		.clouds = sky->clouds,
		.cubemap_path = scene_info_look_copy(share, arena, sky->cubemap_path)};
	scene_info_look_set_colour(to->cloud_ambient, &sky->cloud_ambient);
	return to;
}

static const struct troupe_fog *scene_info_look_copy_fog(struct arena *arena, const struct sdf_fog *fog)
{
	static const troupe_fog_kind kinds[] = {[SDF_FOG_NONE] = TROUPE_FOG_NONE,
		[SDF_FOG_CONSTANT] = TROUPE_FOG_CONSTANT,
		[SDF_FOG_LINEAR] = TROUPE_FOG_LINEAR,
		[SDF_FOG_QUADRATIC] = TROUPE_FOG_QUADRATIC};
	if (!fog)
		return NULL;
	struct troupe_fog *to = arena_new(arena, struct troupe_fog);
	*to = (struct troupe_fog){
		.kind = kinds[fog->kind], .start_m = fog->start_m, .end_m = fog->end_m, .density = fog->density};
	scene_info_look_set_colour(to->colour, &fog->colour);
	return to;
}

struct troupe_surroundings scene_info_surroundings(
	struct share *share, struct arena *arena, const struct sdf_scene *scene)
{
	struct troupe_surroundings to = {.shadows = scene->shadows,
		.grid = scene->grid,
		.origin_visual = scene->origin_visual,
		.sky = scene_info_look_copy_sky(share, arena, scene->sky),
		.fog = scene_info_look_copy_fog(arena, scene->fog)};
	scene_info_look_set_colour(to.ambient, &scene->ambient);
	scene_info_look_set_colour(to.background, &scene->background);
	return to;
}
