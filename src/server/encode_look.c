/* The parts of gz.msgs.Scene that are only seen: materials, lights, sky and fog. What has no counterpart in the message
 * (shininess) is left out; the cube map of a sky stands in its header, as Gazebo has it, and so do clouds; a constant
 * fog has no counterpart either, and is sent as linear, which also begins and ends. */
#include "server/encode.h"
#include "topic/scene.pb-c.h"

#include <string.h>

static Gz__Msgs__Color *encode_look_colour(struct arena *arena, const float colour[4])
{
	Gz__Msgs__Color *out = ENCODE_NEW(arena, Gz__Msgs__Color, gz__msgs__color__init);
	out->r = colour[0];
	out->g = colour[1];
	out->b = colour[2];
	out->a = colour[3];
	return out;
}

static char *encode_look_or_empty(const char *text)
{
	return encode_text(text ? text : "");
}

/* As in Gazebo, the local file, so that a viewer on this machine can have it. */
static char *encode_look_map(const char *path, const char *name)
{
	return encode_look_or_empty(path ? path : name);
}

/* --- materials ---------------------------------------------------------------------------------------------------- */

static Gz__Msgs__Material__PBR *encode_look_pbr(struct arena *arena, const struct troupe_pbr *from)
{
	Gz__Msgs__Material__PBR *out = ENCODE_NEW(arena, Gz__Msgs__Material__PBR, gz__msgs__material__pbr__init);
	out->type = from->specular ? GZ__MSGS__MATERIAL__PBR__WORKFLOW_TYPE__SPECULAR
				   : GZ__MSGS__MATERIAL__PBR__WORKFLOW_TYPE__METAL;
	out->roughness = from->roughness;
	out->metalness = from->metalness;
	out->glossiness = from->glossiness;
	out->albedo_map = encode_look_map(from->albedo_path, from->albedo_map);
	out->normal_map = encode_look_map(from->normal_path, from->normal_map);
	out->metalness_map = encode_look_map(from->metalness_path, from->metalness_map);
	out->roughness_map = encode_look_map(from->roughness_path, from->roughness_map);
	out->glossiness_map = encode_look_or_empty(from->glossiness_map);
	out->specular_map = encode_look_or_empty(from->specular_map);
	out->environment_map = encode_look_or_empty(from->environment_map);
	out->ambient_occlusion_map = encode_look_or_empty(from->ambient_occlusion_map);
	out->emissive_map = encode_look_map(from->emissive_path, from->emissive_map);
	out->light_map = encode_look_or_empty(from->light_map);
	return out;
}

static Gz__Msgs__Material__ShaderType encode_look_shader_of(const char *name)
{
	static const struct {
		const char *name;
		Gz__Msgs__Material__ShaderType type;
	} types[] = {{"vertex", GZ__MSGS__MATERIAL__SHADER_TYPE__VERTEX},
		{"pixel", GZ__MSGS__MATERIAL__SHADER_TYPE__PIXEL},
		{"normal_map_object_space", GZ__MSGS__MATERIAL__SHADER_TYPE__NORMAL_MAP_OBJECT_SPACE},
		{"normal_map_tangent_space", GZ__MSGS__MATERIAL__SHADER_TYPE__NORMAL_MAP_TANGENT_SPACE}};
	for (size_t i = 0; name && i < ARRAY_LEN(types); i++)
		if (!strcmp(types[i].name, name))
			return types[i].type;
	return GZ__MSGS__MATERIAL__SHADER_TYPE__PIXEL;
}

static Gz__Msgs__Material__Script *encode_look_script(struct arena *arena, const struct troupe_material *from)
{
	Gz__Msgs__Material__Script *out =
		ENCODE_NEW(arena, Gz__Msgs__Material__Script, gz__msgs__material__script__init);
	out->name = encode_look_or_empty(from->script_name);
	if (!from->script_uri)
		return out;
	out->uri = arena_array(arena, char *, 1);
	out->uri[out->n_uri++] = encode_text(from->script_uri);
	return out;
}

struct Gz__Msgs__Material *encode_material(struct arena *arena, const struct troupe_material *from)
{
	if (!from)
		return NULL;
	Gz__Msgs__Material *out = ENCODE_NEW(arena, Gz__Msgs__Material, gz__msgs__material__init);
	out->ambient = encode_look_colour(arena, from->ambient);
	out->diffuse = encode_look_colour(arena, from->diffuse);
	out->specular = encode_look_colour(arena, from->specular);
	out->emissive = encode_look_colour(arena, from->emissive);
	out->render_order = from->render_order;
	out->lighting = from->lighting;
	out->double_sided = from->double_sided;
	out->shader_type = encode_look_shader_of(from->shader);
	out->normal_map = encode_look_or_empty(from->normal_map);
	if (from->script_uri || from->script_name)
		out->script = encode_look_script(arena, from);
	if (from->pbr)
		out->pbr = encode_look_pbr(arena, from->pbr);
	return out;
}

/* --- lights ------------------------------------------------------------------------------------------------------- */

static const Gz__Msgs__Light__LightType encode_look_light_types[] = {
	[TROUPE_LIGHT_POINT] = GZ__MSGS__LIGHT__LIGHT_TYPE__POINT,
	[TROUPE_LIGHT_DIRECTIONAL] = GZ__MSGS__LIGHT__LIGHT_TYPE__DIRECTIONAL,
	[TROUPE_LIGHT_SPOT] = GZ__MSGS__LIGHT__LIGHT_TYPE__SPOT,
};

struct Gz__Msgs__Light *encode_light(struct arena *arena, const struct troupe_scene *scene, uint32_t light)
{
	const struct troupe_scene_light *from = &scene->lights[light];
	const struct troupe_light *shine = &from->shine;
	Gz__Msgs__Light *out = ENCODE_NEW(arena, Gz__Msgs__Light, gz__msgs__light__init);
	out->id = encode_light_id(scene, light);
	out->name = encode_text(from->name);
	if (from->link != TROUPE_NONE)
		out->parent_id = encode_link_id(&scene->links[from->link]);
	out->pose = encode_pose(arena, &from->pose, NULL, 0);
	out->type = encode_look_light_types[shine->kind];
	out->diffuse = encode_look_colour(arena, shine->diffuse);
	out->specular = encode_look_colour(arena, shine->specular);
	out->attenuation_constant = (float)shine->constant;
	out->attenuation_linear = (float)shine->linear;
	out->attenuation_quadratic = (float)shine->quadratic;
	out->range = (float)shine->range_m;
	out->direction =
		encode_vec3(arena, (struct troupe_vec3){shine->direction[0], shine->direction[1], shine->direction[2]});
	out->cast_shadows = shine->cast_shadows;
	out->spot_inner_angle = (float)shine->inner_rad;
	out->spot_outer_angle = (float)shine->outer_rad;
	out->spot_falloff = (float)shine->falloff;
	out->intensity = (float)shine->intensity;
	out->is_light_off = !shine->on;
	out->visualize_visual = shine->visualize;
	return out;
}

/* --- heightmaps --------------------------------------------------------------------------------------------------- */

void encode_ground(struct arena *arena, const struct troupe_form *from, struct Gz__Msgs__HeightmapGeom *out)
{
	out->texture = arena_array(arena, Gz__Msgs__HeightmapGeom__Texture *, from->ground_count);
	out->blend = arena_array(arena, Gz__Msgs__HeightmapGeom__Blend *, from->ground_count);
	for (uint32_t i = 0; i < from->ground_count; i++) {
		const struct troupe_ground_layer *layer = &from->ground[i];
		Gz__Msgs__HeightmapGeom__Texture *texture =
			ENCODE_NEW(arena, Gz__Msgs__HeightmapGeom__Texture, gz__msgs__heightmap_geom__texture__init);
		texture->diffuse = encode_text(layer->diffuse_path ? layer->diffuse_path : "");
		texture->normal = encode_text(layer->normal_path ? layer->normal_path : "");
		texture->size = layer->size_m;
		out->texture[out->n_texture++] = texture;
		if (!i)
			continue;
		Gz__Msgs__HeightmapGeom__Blend *blend =
			ENCODE_NEW(arena, Gz__Msgs__HeightmapGeom__Blend, gz__msgs__heightmap_geom__blend__init);
		blend->min_height = layer->from_m;
		blend->fade_dist = layer->fade_m;
		out->blend[out->n_blend++] = blend;
	}
}

/* --- surroundings ------------------------------------------------------------------------------------------------- */

static Gz__Msgs__Sky *encode_look_sky(struct arena *arena, const struct troupe_sky *from)
{
	Gz__Msgs__Sky *out = ENCODE_NEW(arena, Gz__Msgs__Sky, gz__msgs__sky__init);
	out->time = from->time_h;
	out->sunrise = from->sunrise_h;
	out->sunset = from->sunset_h;
	out->wind_speed = from->cloud_speed;
	out->wind_direction = from->cloud_direction_rad;
	out->cloud_ambient = encode_look_colour(arena, from->cloud_ambient);
	out->humidity = from->cloud_humidity;
	out->mean_cloud_size = from->cloud_size;
	if (!from->cubemap_path && !from->clouds)
		return out;
	out->header = ENCODE_NEW(arena, Gz__Msgs__Header, gz__msgs__header__init);
	if (from->cubemap_path)
		encode_header_add(arena, out->header, "cubemap_uri", from->cubemap_path);
	if (from->clouds)
		encode_header_add(arena, out->header, "clouds", "true");
	return out;
}

static const Gz__Msgs__Fog__FogType encode_look_fog_types[] = {
	[TROUPE_FOG_NONE] = GZ__MSGS__FOG__FOG_TYPE__NONE,
	[TROUPE_FOG_CONSTANT] = GZ__MSGS__FOG__FOG_TYPE__LINEAR,
	[TROUPE_FOG_LINEAR] = GZ__MSGS__FOG__FOG_TYPE__LINEAR,
	[TROUPE_FOG_QUADRATIC] = GZ__MSGS__FOG__FOG_TYPE__EXPONENTIAL2,
};

static Gz__Msgs__Fog *encode_look_fog(struct arena *arena, const struct troupe_fog *from)
{
	Gz__Msgs__Fog *out = ENCODE_NEW(arena, Gz__Msgs__Fog, gz__msgs__fog__init);
	out->type = encode_look_fog_types[from->kind];
	out->color = encode_look_colour(arena, from->colour);
	out->density = (float)from->density;
	out->start = (float)from->start_m;
	out->end = (float)from->end_m;
	return out;
}

void encode_surroundings(struct arena *arena, const struct troupe_surroundings *from, struct Gz__Msgs__Scene *out)
{
	out->ambient = encode_look_colour(arena, from->ambient);
	out->background = encode_look_colour(arena, from->background);
	out->shadows = from->shadows;
	out->grid = from->grid;
	out->origin_visual = from->origin_visual;
	if (from->sky)
		out->sky = encode_look_sky(arena, from->sky);
	if (from->fog)
		out->fog = encode_look_fog(arena, from->fog);
}
