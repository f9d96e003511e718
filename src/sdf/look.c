/* Reads what can be seen: the materials of visuals, lights, and what a world says of its surroundings. Textures
 * stay names here (finish.c), and a script stands for the colours that Gazebo has under its name. */
#include "base/parse.h"
#include "sdf/load.h"
#include "sdf/paint.h"
#include "sdf/xml.h"

#include <string.h>

#define LOOK_WORD_OF(load, parent, name, words, fallback)                                                              \
	load_word_of(load, parent, name, words, ARRAY_LEN(words), (int)(fallback))

/* --- materials ---------------------------------------------------------------------------------------------------- */

/* Silently: a map that is not found is told once something sees it (finish.c). */
static void look_find_maps(struct load *load, const struct sdf_element *workflow, struct sdf_pbr *pbr)
{
	const char *const names[MESH_MAPS] = {
		pbr->albedo_map, pbr->normal_map, pbr->roughness_map, pbr->metalness_map, pbr->emissive_map};
	for (int m = 0; m < MESH_MAPS; m++)
		if (names[m] && (!pbr->specular || (m != MESH_ROUGHNESS && m != MESH_METALNESS)) &&
			places_find(load, workflow->file, names[m], &pbr->paths[m]) != FILES_FILE)
			pbr->paths[m] = NULL;
}

static const struct sdf_pbr *look_load_pbr(struct load *load, const struct sdf_element *element)
{
	const struct sdf_element *metal = sdf_child(element, "metal", NULL),
				 *specular = sdf_child(element, "specular", NULL);
	const struct sdf_element *at = metal ? metal : specular;
	if (!at)
		return NULL;
	struct sdf_pbr *pbr = arena_new(&load->sdf->arena, struct sdf_pbr);
	*pbr = (struct sdf_pbr){.specular = !metal,
		.roughness = 0.5,
		.metalness = 0.5,
		.albedo_map = load_text(at, "albedo_map"),
		.roughness_map = load_text(at, "roughness_map"),
		.metalness_map = load_text(at, "metalness_map"),
		.environment_map = load_text(at, "environment_map"),
		.ambient_occlusion_map = load_text(at, "ambient_occlusion_map"),
		.normal_map = load_text(at, "normal_map"),
		.emissive_map = load_text(at, "emissive_map"),
		.light_map = load_text(at, "light_map"),
		.specular_map = load_text(at, "specular_map"),
		.glossiness_map = load_text(at, "glossiness_map")};
	look_find_maps(load, at, pbr);
	load_double(load, at, "roughness", 0, 1, &pbr->roughness);
	load_double(load, at, "metalness", 0, 1, &pbr->metalness);
	load_double(load, at, "glossiness", 0, 1, &pbr->glossiness);
	return pbr;
}

/* Of a texture that pictures do not have. Each is named once, because a world may have thousands of like visuals. */
static void look_warn_of_texture(
	struct load *load, const struct sdf_visual *visual, const struct sdf_element *at, const char *file)
{
	const char *kind = arena_printf(&load->sdf->arena, "texture %s", file);
	load_warn_once(load, kind, at,
		"visual \"%.80s\": the texture \"%.80s\" is not shown: expected an albedo, normal, roughness, "
		"metalness or emissive map of <pbr>, or a texture of a mesh file",
		visual->name, file);
}

static void look_warn_of_maps(struct load *load, const struct sdf_visual *visual, const struct sdf_element *element,
	const struct sdf_pbr *pbr)
{
	if (!pbr)
		return;
	const char *maps[] = {pbr->light_map, pbr->specular_map, pbr->glossiness_map, pbr->ambient_occlusion_map,
		pbr->environment_map};
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		if (maps[i] && *maps[i]) {
			look_warn_of_texture(load, visual, sdf_child(element, "pbr", NULL), maps[i]);
			return;
		}
}

/* The colours that hold where <material> gives none. A name that is unknown must not look like black paint. */
static void look_start_colours(
	struct load *load, const struct sdf_visual *visual, const struct sdf_element *script, struct sdf_material *to)
{
	const char *name = script ? load_text(script, "name") : NULL;
	const struct paint *paint = name ? paint_find(name) : NULL;
	if (script && !paint) {
		const char *kind = arena_printf(&load->sdf->arena, "script %s", name ? name : "");
		load_warn_once(load, kind, script,
			"visual \"%.80s\": the material script \"%.80s\" is unknown: expected a name of "
			"gazebo.material, "
			"such as Gazebo/Red; the colours of <material> are used, and those of Gazebo/Grey where it has "
			"none",
			visual->name, name ? name : "");
		paint = paint_find("Gazebo/Grey");
	}
	if (!paint && to->pbr && to->pbr->albedo_map && *to->pbr->albedo_map) {
		/* Black is SDF's default: it would be multiplied with the map. */
		to->ambient = to->diffuse = (struct sdf_colour){1, 1, 1, 1};
		to->ambient_given = to->diffuse_given = true;
	}
	if (!paint)
		return;
	if (paint->texture)
		look_warn_of_texture(load, visual, script, paint->texture);
	to->ambient = paint->ambient;
	to->diffuse = paint->diffuse;
	to->specular = paint->specular;
	to->emissive = paint->emissive;
	to->shininess = paint->shininess;
	to->lighting = !paint->unlit;
	to->ambient_given = to->diffuse_given = true;
}

static const struct sdf_material *look_load_material(
	struct load *load, const struct sdf_visual *visual, const struct sdf_element *element)
{
	if (!element)
		return NULL;
	const struct sdf_colour black = {0, 0, 0, 1};
	const struct sdf_element *script = sdf_child(element, "script", NULL),
				 *shader = sdf_child(element, "shader", NULL);
	const char *type = sdf_attribute(shader, "type");
	struct sdf_material *to = arena_new(&load->sdf->arena, struct sdf_material);
	*to = (struct sdf_material){.ambient = black,
		.diffuse = black,
		.specular = black,
		.emissive = black,
		.ambient_given = sdf_child(element, "ambient", NULL) != NULL,
		.diffuse_given = sdf_child(element, "diffuse", NULL) != NULL,
		.lighting = true,
		.script_uri = load_text(script, "uri"),
		.script_name = load_text(script, "name"),
		.shader = shader ? (type && *type ? type : "pixel") : NULL,
		.normal_map = load_text(shader, "normal_map"),
		.pbr = look_load_pbr(load, sdf_child(element, "pbr", NULL))};
	look_warn_of_maps(load, visual, element, to->pbr);
	look_start_colours(load, visual, script, to);
	load_colour(load, element, "ambient", &to->ambient);
	load_colour(load, element, "diffuse", &to->diffuse);
	load_colour(load, element, "specular", &to->specular);
	load_colour(load, element, "emissive", &to->emissive);
	load_double(load, element, "shininess", 0, 1e9, &to->shininess);
	load_double(load, element, "render_order", -1e9, 1e9, &to->render_order);
	load_bool(load, element, "lighting", &to->lighting);
	load_bool(load, element, "double_sided", &to->double_sided);
	return to;
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

bool sdf_is_label(const char *name, const char *filename)
{
	return (name && (!strcmp(name, "gz::sim::systems::Label") ||
				!strcmp(name, "ignition::gazebo::systems::Label"))) ||
	       (filename && strstr(filename, "label-system"));
}

static bool look_read_label(const struct sdf_element *plugin, double *ret_label)
{
	const char *text = sdf_child_text(plugin, "label");
	return text && parse_doubles(text, ret_label, 1) == 1 && *ret_label >= 0 && *ret_label <= SDF_LABEL_MAX &&
	       *ret_label == floor(*ret_label);
}

uint32_t sdf_label(const struct sdf_element *plugin)
{
	double label;
	return look_read_label(plugin, &label) ? (uint32_t)label : 0;
}

void load_check_label(struct load *load, const struct sdf_element *plugin)
{
	const struct sdf_element *element = sdf_child(plugin, "label", NULL);
	double label;
	if (sdf_is_label(sdf_attribute(plugin, "name"), sdf_attribute(plugin, "filename")) &&
		!look_read_label(plugin, &label))
		load_warn(load, element ? element : plugin,
			"<label> is \"%.40s\": expected a whole number from 0 to %d; no label is given",
			element ? element->text : "", SDF_LABEL_MAX);
}

/* --- temperatures ------------------------------------------------------------------------------------------------- */

bool sdf_is_thermal(const char *name, const char *filename)
{
	return (name && (!strcmp(name, "gz::sim::systems::Thermal") ||
				!strcmp(name, "ignition::gazebo::systems::Thermal"))) ||
	       (filename && strstr(filename, "thermal-system"));
}

double sdf_temperature_K(const struct sdf_element *plugin)
{
	const char *text = sdf_child_text(plugin, "temperature");
	double kelvin;
	return text && parse_doubles(text, &kelvin, 1) == 1 && kelvin >= 0 && kelvin <= SDF_TEMPERATURE_MAX ? kelvin
													    : 0;
}

void load_check_temperature(struct load *load, const struct sdf_element *plugin)
{
	const struct sdf_element *element = sdf_child(plugin, "temperature", NULL);
	if (sdf_is_thermal(sdf_attribute(plugin, "name"), sdf_attribute(plugin, "filename")) &&
		!(sdf_temperature_K(plugin) > 0))
		load_warn(load, element ? element : plugin,
			"<temperature> is \"%.40s\": expected a number of kelvins up to %g; the temperature of the air "
			"is "
			"used",
			element ? element->text : "", SDF_TEMPERATURE_MAX);
}

/* --- visuals ------------------------------------------------------------------------------------------------------ */

static const char *look_find_file(struct load *load, const struct sdf_element *parent, const char *name)
{
	const char *path, *uri = sdf_child(parent, name, NULL) ? load_text(parent, name) : NULL;
	return uri && *uri && places_find(load, parent->file, uri, &path) == FILES_FILE ? path : NULL;
}

/* As many as sdf/finish.c takes. Silently, as above. */
static const struct sdf_ground_paths *look_find_ground(struct load *load, const struct sdf_visual *visual)
{
	const struct sdf_element *heightmap =
		sdf_child(sdf_child(visual->element, "geometry", NULL), "heightmap", NULL);
	const struct sdf_element *texture = sdf_child(heightmap, "texture", NULL), *blend = NULL;
	if (!texture)
		return NULL;
	struct sdf_ground_paths *paths = arena_new(&load->sdf->arena, struct sdf_ground_paths);
	for (; texture && paths->count < SDF_GROUND_LAYERS_MAX; texture = sdf_child(heightmap, "texture", texture)) {
		if (paths->count && !(blend = sdf_child(heightmap, "blend", blend)))
			break;
		paths->diffuse[paths->count] = look_find_file(load, texture, "diffuse");
		paths->normal[paths->count++] = look_find_file(load, texture, "normal");
	}
	return paths;
}

void load_looks(struct load *load, struct sdf_visual *visual)
{
	double layer = 0;
	visual->cast_shadows = true;
	visual->visibility_flags = UINT32_MAX;
	visual->material = look_load_material(load, visual, sdf_child(visual->element, "material", NULL));
	load_bool(load, visual->element, "cast_shadows", &visual->cast_shadows);
	load_double(load, visual->element, "transparency", 0, 1, &visual->transparency);
	load_double(load, visual->element, "laser_retro", -1e9, 1e9, &visual->laser_retro);
	load_mask(load, visual->element, "visibility_flags", &visual->visibility_flags);
	load_double(load, sdf_child(visual->element, "meta", NULL), "layer", INT32_MIN, INT32_MAX, &layer);
	visual->layer = (int32_t)layer;
	visual->ground_paths = look_find_ground(load, visual);
	for (const struct sdf_element *at = NULL; (at = sdf_child(visual->element, "plugin", at));) {
		load_check_label(load, at);
		if (!sdf_child(at, "heat_signature", NULL))
			load_check_temperature(load, at);
	}
}

/* A factor that is out of its range is taken as the end of the range, as in Gazebo. */
static void look_load_factor(
	struct load *load, const struct sdf_element *parent, const char *name, double hi, double *value)
{
	double read = *value;
	load_double(load, parent, name, -1e30, 1e30, &read);
	*value = fmin(fmax(read, 0), hi);
	if (*value != read)
		load_warn(load, sdf_child(parent, name, NULL), "<%s> is %g: expected from 0 to %g; %g is used", name,
			read, hi, *value);
}

/* --- lights ------------------------------------------------------------------------------------------------------- */

static void look_load_spot(struct load *load, const struct sdf_element *element, struct sdf_shine *shine)
{
	const struct sdf_element *spot = sdf_child(element, "spot", NULL);
	load_double(load, spot, "inner_angle", 0, 6.2832, &shine->inner_rad);
	load_double(load, spot, "outer_angle", 0, 6.2832, &shine->outer_rad);
	load_double(load, spot, "falloff", 0, 1e9, &shine->falloff);
	if (shine->inner_rad > shine->outer_rad)
		load_warn(load, spot,
			"<inner_angle> of <spot> is %g and <outer_angle> %g: expected no more than <outer_angle>",
			shine->inner_rad, shine->outer_rad);
}

static void look_load_shine(
	struct load *load, const struct sdf_element *element, const char *type, struct sdf_shine *shine)
{
	static const struct load_word types[] = {
		{"point", SDF_POINT_LIGHT}, {"directional", SDF_DIRECTIONAL_LIGHT}, {"spot", SDF_SPOT_LIGHT}};
	const struct sdf_element *fading = sdf_child(element, "attenuation", NULL);
	*shine = SDF_SHINE_DEFAULT;
	shine->kind = (enum sdf_light_kind)load_word(
		load, element, "type of <light>", type, types, ARRAY_LEN(types), SDF_POINT_LIGHT);
	load_bool(load, element, "cast_shadows", &shine->cast_shadows);
	load_bool(load, element, "light_on", &shine->on);
	load_bool(load, element, "visualize", &shine->visualize);
	load_double(load, element, "intensity", 0, 1e12, &shine->intensity);
	load_colour(load, element, "diffuse", &shine->diffuse);
	load_colour(load, element, "specular", &shine->specular);
	load_double(load, fading, "range", 0, INFINITY, &shine->range_m);
	look_load_factor(load, fading, "constant", 1, &shine->constant);
	look_load_factor(load, fading, "linear", 1, &shine->linear);
	look_load_factor(load, fading, "quadratic", 1e12, &shine->quadratic);
	load_vec3(load, element, "direction", -1e100, 1e100, &shine->direction);
	if (!(vec3_length(shine->direction) > 1e-100) && shine->kind != SDF_POINT_LIGHT)
		load_error(load, sdf_child(element, "direction", NULL), "<direction> is 0 0 0: expected a direction");
	look_load_spot(load, element, shine);
}

void load_light(struct load *load, const struct sdf_element *element, uint32_t link, uint32_t scope)
{
	const char *relative_to, *type = sdf_attribute(element, "type");
	struct sdf_light light = {
		.name = load_name(load, element), .line = element->line, .link = link, .element = element};
	if (!load_room(load, element, load->world->lights.count))
		return;
	light.type = type ? type : "point";
	light.in_world = load_pose(load, element, &relative_to);
	look_load_shine(load, element, type, &light.shine);
	load_defer(
		load, (struct load_placing){LOAD_LIGHT, load->world->lights.count, scope, relative_to, element, NULL});
	vec_push(&load->world->lights, light);
}

/* --- surroundings ------------------------------------------------------------------------------------------------- */

static const struct sdf_sky *look_load_sky(struct load *load, const struct sdf_element *element)
{
	const struct sdf_element *clouds = sdf_child(element, "clouds", NULL);
	if (!element)
		return NULL;
	struct sdf_sky *sky = arena_new(&load->sdf->arena, struct sdf_sky);
	*sky = (struct sdf_sky){.time_h = 10,
		.sunrise_h = 6,
		.sunset_h = 20,
		.cloud_speed = 0.6,
		.cloud_humidity = 0.5,
		.cloud_size = 0.5,
		.cloud_ambient = {0.8, 0.8, 0.8, 1},
		.clouds = clouds != NULL,
		.element = element,
		.cubemap_uri = load_text(element, "cubemap_uri")};
	load_double(load, element, "time", 0, 24, &sky->time_h);
	load_double(load, element, "sunrise", 0, 24, &sky->sunrise_h);
	load_double(load, element, "sunset", 0, 24, &sky->sunset_h);
	load_double(load, clouds, "speed", 0, 1e9, &sky->cloud_speed);
	load_double(load, clouds, "direction", -6.2832, 6.2832, &sky->cloud_direction_rad);
	load_double(load, clouds, "humidity", 0, 1, &sky->cloud_humidity);
	load_double(load, clouds, "mean_size", 0, 1, &sky->cloud_size);
	load_colour(load, clouds, "ambient", &sky->cloud_ambient);
	if (sky->cubemap_uri && *sky->cubemap_uri &&
		places_find(load, element->file, sky->cubemap_uri, &sky->cubemap_path) != FILES_FILE)
		sky->cubemap_path = NULL;
	return sky;
}

static const struct sdf_fog *look_load_fog(struct load *load, const struct sdf_element *element)
{
	static const struct load_word types[] = {{"none", SDF_FOG_NONE}, {"constant", SDF_FOG_CONSTANT},
		{"linear", SDF_FOG_LINEAR}, {"quadratic", SDF_FOG_QUADRATIC}};
	if (!element)
		return NULL;
	struct sdf_fog *fog = arena_new(&load->sdf->arena, struct sdf_fog);
	*fog = (struct sdf_fog){.colour = {1, 1, 1, 1}, .start_m = 1, .end_m = 100, .density = 1};
	fog->kind = (enum sdf_fog_kind)LOOK_WORD_OF(load, element, "type", types, SDF_FOG_NONE);
	load_colour(load, element, "color", &fog->colour);
	load_double(load, element, "start", 0, SDF_LENGTH_MAX, &fog->start_m);
	load_double(load, element, "end", 0, SDF_LENGTH_MAX, &fog->end_m);
	load_double(load, element, "density", 0, 1e9, &fog->density);
	return fog;
}

static void look_load_scene(struct load *load, const struct sdf_element *element, struct sdf_scene *scene)
{
	*scene = (struct sdf_scene){.ambient = {0.4, 0.4, 0.4, 1},
		.background = {0.7, 0.7, 0.7, 1},
		.shadows = true,
		.grid = true,
		.origin_visual = true,
		.sky = look_load_sky(load, sdf_child(element, "sky", NULL)),
		.fog = look_load_fog(load, sdf_child(element, "fog", NULL))};
	load_colour(load, element, "ambient", &scene->ambient);
	load_colour(load, element, "background", &scene->background);
	load_bool(load, element, "shadows", &scene->shadows);
	load_bool(load, element, "grid", &scene->grid);
	load_bool(load, element, "origin_visual", &scene->origin_visual);
}

/* Axes of the ellipsoids: WGS 84 (NIMA TR8350.2), and the mean radius of the moon's surface coordinate system. */
static void look_load_earth(struct load *load, const struct sdf_element *element, struct sdf_earth *earth)
{
	static const struct load_word models[] = {
		{"EARTH_WGS84", SDF_EARTH_WGS84}, {"MOON_SCS", SDF_MOON_SCS}, {"CUSTOM_SURFACE", SDF_CUSTOM_SURFACE}};
	static const struct load_word frames[] = {{"ENU", 0}};
	*earth = (struct sdf_earth){.given = element != NULL};
	earth->model = (enum sdf_surface_model)LOOK_WORD_OF(load, element, "surface_model", models, SDF_EARTH_WGS84);
	(void)LOOK_WORD_OF(load, element, "world_frame_orientation", frames, 0);
	load_double(load, element, "latitude_deg", -90, 90, &earth->latitude_deg);
	load_double(load, element, "longitude_deg", -360, 360, &earth->longitude_deg);
	load_double(load, element, "elevation", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &earth->elevation_m);
	load_double(load, element, "heading_deg", -360, 360, &earth->heading_deg);
	load_double(load, element, "surface_axis_equatorial", 0, SDF_LENGTH_MAX, &earth->equatorial_m);
	load_double(load, element, "surface_axis_polar", 0, SDF_LENGTH_MAX, &earth->polar_m);
	if (earth->model == SDF_EARTH_WGS84) {
		earth->equatorial_m = SDF_WGS84_EQUATORIAL_M;
		earth->polar_m = SDF_WGS84_POLAR_M;
	} else if (earth->model == SDF_MOON_SCS) {
		earth->equatorial_m = earth->polar_m = 1737400;
	} else if (!(earth->equatorial_m > 0 && earth->polar_m > 0)) {
		load_error(load, element,
			"CUSTOM_SURFACE has the axes %g and %g m: expected <surface_axis_equatorial> and "
			"<surface_axis_polar> of more than 0 m",
			earth->equatorial_m, earth->polar_m);
	}
}

static void look_load_air(struct load *load, const struct sdf_element *element, struct sdf_air *air)
{
	static const struct load_word types[] = {{"adiabatic", 0}};
	*air = (struct sdf_air){288.15, -0.0065, 101325};
	if (element)
		(void)load_word(load, element, "type of <atmosphere>", sdf_attribute(element, "type"), types,
			ARRAY_LEN(types), 0);
	load_double(load, element, "temperature", 1e-3, 1e6, &air->temperature_K);
	load_double(load, element, "temperature_gradient", -1e3, 1e3, &air->temperature_gradient);
	load_double(load, element, "pressure", 0, 1e12, &air->pressure_Pa);
}

void load_surroundings(struct load *load, const struct sdf_element *world, const struct sdf_element *physics,
	struct sdf_surroundings *to)
{
	to->magnetic_field = (struct vec3){5.5645e-6, 22.8758e-6, -42.3884e-6};
	/* before 1.6 the field was a property of the physics */
	if (!sdf_child(world, "magnetic_field", NULL) && load->version < 106)
		load_vec3(load, physics, "magnetic_field", -1e3, 1e3, &to->magnetic_field);
	load_vec3(load, world, "magnetic_field", -1e3, 1e3, &to->magnetic_field);
	look_load_scene(load, sdf_child(world, "scene", NULL), &to->scene);
	look_load_earth(load, sdf_child(world, "spherical_coordinates", NULL), &to->earth);
	look_load_air(load, sdf_child(world, "atmosphere", NULL), &to->air);
}
