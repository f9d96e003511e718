/* What visuals are painted with: the materials of mesh files, and textures. A texture is decoded once, however many
 * visuals have it. One that cannot be read gives one warning, and the surface has its plain colour; like a mesh, it is
 * an error if the process that reads it dies, because on another machine it might not. */
#include "base/parse.h"
#include "sdf/include.h"
#include "sdf/load.h"
#include "sdf/texture_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The materials of a mesh file. */
struct load_finish {
	const struct sdf_material *materials;
	uint32_t count;
	const struct sdf_maps *maps; /* [count]; NULL: no textures */
};

/* --- textures ----------------------------------------------------------------------------------------------------- */

static void finish_say_unread(
	struct load *load, const struct sdf_element *element, const char *name, const struct troupe_error *error)
{
	const char *owner = load->owner ? load->owner : "";
	if (!load->owner && error->status != TROUPE_EINTERNAL)
		load_warn(load, element, "texture %.200s of the sky: %.200s; a gradient is shown", name, error->text);
	else if (error->status == TROUPE_EINTERNAL)
		load_error(load, element, "texture \"%.200s\" of model \"%.80s\": %.200s", name, owner, error->text);
	else
		load_warn(load, element, "texture \"%.200s\" of model \"%.80s\": %.200s; it is shown in plain colours",
			name, owner, error->text);
}

typedef troupe_status finish_reader(struct importer *importer, struct importer_losses *losses, const char *bytes,
	size_t count, struct texture **ret_texture, struct troupe_error *error);

/* Once for each name. NULL: with a warning. */
static const struct texture *finish_decode(struct load *load, const struct sdf_element *element, finish_reader *reader,
	const char *name, const char *bytes, size_t count)
{
	struct texture *texture = NULL;
	struct troupe_error error = {0};
	uint32_t index = SDF_NONE;
	troupe_status status = reader(load_importer(load), &load->losses, bytes, count, &texture, &error);
	if (!status && load->texture_bytes + texture_bytes(texture) > SDF_TEXTURE_BYTES_MAX) {
		texture_release(texture);
		status = fail(&error, TROUPE_ELIMIT, "the textures of the world would need more than %d MiB",
			SDF_TEXTURE_BYTES_MAX >> 20);
	}
	if (status) {
		finish_say_unread(load, element, name, &error);
	} else {
		load->texture_bytes += texture_bytes(texture);
		index = load->sdf->textures.count;
		vec_push(&load->sdf->textures, texture);
	}
	map_add(&load->textures, arena_strdup(&load->sdf->arena, name), index);
	return index == SDF_NONE ? NULL : texture;
}

static bool finish_is_known(struct load *load, const char *name, const struct texture **ret_texture)
{
	uint32_t index;
	if (!map_find(&load->textures, name, &index))
		return false;
	*ret_texture = index == SDF_NONE ? NULL : load->sdf->textures.at[index];
	return true;
}

/* name: of the texture; that of its path, if it is read as most are. */
static const struct texture *finish_read_as(
	struct load *load, const struct sdf_element *element, const char *name, finish_reader *reader, const char *path)
{
	const struct texture *texture;
	const char *bytes;
	size_t count;
	struct troupe_error error = {0};
	if (finish_is_known(load, name, &texture))
		return texture;
	if (!files_read(load->disk, path, TEXTURE_FILE_BYTES_MAX, &bytes, &count, &error))
		return finish_decode(load, element, reader, name, bytes, count);
	finish_say_unread(load, element, name, &error);
	map_add(&load->textures, arena_strdup(&load->sdf->arena, name), SDF_NONE);
	return NULL;
}

static const struct texture *finish_read_file(struct load *load, const struct sdf_element *element, const char *path)
{
	return finish_read_as(load, element, path, importer_texture, path);
}

const struct texture *load_finish_sky(struct load *load, const struct sdf_sky *sky)
{
	const char *uri = sky ? sky->cubemap_uri : NULL;
	const char *path = uri && *uri ? include_find_file(load, sky->element, uri) : NULL;
	if (!path)
		return NULL;
	/* beside a visual's texture of the same file, which is another one */
	const char *name = arena_printf(&load->sdf->arena, "%s (cube map)", path);
	return finish_read_as(load, sky->element, name, importer_cube, path);
}

/* --- <pbr> -------------------------------------------------------------------------------------------------------- */

static const struct texture *finish_map_of(struct load *load, const struct sdf_element *workflow, const char *map)
{
	const struct sdf_element *element = sdf_child(workflow, map, NULL);
	const char *uri = element ? load_text(workflow, map) : NULL;
	const char *path = uri ? include_find_file(load, element, uri) : NULL;
	return path ? finish_read_file(load, element, path) : NULL;
}

static bool finish_is_painted(const struct sdf_maps *maps)
{
	bool is = false;
	for (int m = 0; m < MESH_MAPS; m++)
		is = is || maps->map[m];
	return is;
}

static const struct sdf_maps *finish_maps_of_visual(struct load *load, const struct sdf_visual *visual)
{
	static const char *const names[MESH_MAPS] = {
		"albedo_map", "normal_map", "roughness_map", "metalness_map", "emissive_map"};
	const struct sdf_element *pbr = sdf_child(sdf_child(visual->element, "material", NULL), "pbr", NULL);
	const struct sdf_element *metal = sdf_child(pbr, "metal", NULL);
	const struct sdf_element *workflow = metal ? metal : sdf_child(pbr, "specular", NULL);
	struct sdf_maps maps = {0};
	for (int m = 0; m < MESH_MAPS; m++)
		if (metal || (m != MESH_ROUGHNESS && m != MESH_METALNESS))
			maps.map[m] = finish_map_of(load, workflow, names[m]);
	if (!finish_is_painted(&maps))
		return NULL;
	struct sdf_maps *kept = arena_new(&load->sdf->arena, struct sdf_maps);
	*kept = maps;
	return kept;
}

/* --- heat ---------------------------------------------------------------------------------------------------------
 */

static const struct sdf_heat *finish_heat_of(struct load *load, const struct sdf_visual *visual)
{
	const struct sdf_element *plugin = NULL;
	while ((plugin = sdf_child(visual->element, "plugin", plugin)) != NULL)
		if (sdf_is_thermal(sdf_attribute(plugin, "name"), sdf_attribute(plugin, "filename")))
			break;
	const struct texture *texture = plugin ? finish_map_of(load, plugin, "heat_signature") : NULL;
	if (!texture)
		return NULL;
	struct sdf_heat *heat = arena_new(&load->sdf->arena, struct sdf_heat);
	*heat = (struct sdf_heat){texture, (double)NAN, (double)NAN};
	load_double(load, plugin, "min_temp", 0, SDF_TEMPERATURE_MAX, &heat->min_K);
	load_double(load, plugin, "max_temp", 0, SDF_TEMPERATURE_MAX, &heat->max_K);
	return heat;
}

/* --- heightmaps --------------------------------------------------------------------------------------------------- */

static double finish_number_of(
	struct load *load, const struct sdf_element *parent, const char *name, double least, double usual)
{
	const char *text = sdf_child_text(parent, name);
	double value = usual;
	if (text && !(parse_doubles(text, &value, 1) == 1 && isfinite(value) && value >= least)) {
		load_warn(load, sdf_child(parent, name, NULL),
			"<%s> is \"%.40s\": expected a number from %g on; %g is used", name, text, least, usual);
		return usual;
	}
	return value;
}

static const struct sdf_ground *finish_ground(struct load *load, const struct sdf_element *heightmap)
{
	const struct sdf_element *texture = sdf_child(heightmap, "texture", NULL), *blend = NULL;
	struct sdf_ground ground = {0};
	for (; texture && ground.count < SDF_GROUND_LAYERS_MAX; texture = sdf_child(heightmap, "texture", texture)) {
		struct sdf_ground_layer *layer = &ground.layers[ground.count];
		if (ground.count && !(blend = sdf_child(heightmap, "blend", blend)))
			break;
		*layer = (struct sdf_ground_layer){.diffuse = finish_map_of(load, texture, "diffuse"),
			.normal = finish_map_of(load, texture, "normal"),
			.size_m = finish_number_of(load, texture, "size", 1e-3, 10)};
		if (ground.count) {
			layer->from_m = finish_number_of(load, blend, "min_height", -1e9, 0);
			layer->fade_m = finish_number_of(load, blend, "fade_dist", 0, 0);
		}
		ground.count++;
	}
	if (texture)
		load_warn(load, texture,
			"the <texture> of <heightmap> after the first %u are not shown: expected at most %d, and a "
			"<blend> for each but the first",
			ground.count, SDF_GROUND_LAYERS_MAX);
	bool found = false;
	for (uint32_t i = 0; i < ground.count; i++)
		found |= ground.layers[i].diffuse || ground.layers[i].normal;
	if (!found)
		return NULL;
	struct sdf_ground *kept = arena_new(&load->sdf->arena, struct sdf_ground);
	*kept = ground;
	return kept;
}

/* --- mesh files --------------------------------------------------------------------------------------------------- */

/* Beside the mesh file, or where the models of Gazebo Classic have it. NULL: nowhere. */
static const char *finish_find(struct load *load, const char *mesh_path, const char *name)
{
	const char *path = NULL;
	bool found = false;
	char *place;
	for (uint32_t i = 0; !found && (place = texture_name_place(name, i)); i++) {
		found = places_find(load, mesh_path, place, &path) == FILES_FILE;
		free(place);
	}
	return found ? path : NULL;
}

static const struct texture *finish_read_embedded(struct load *load, const struct sdf_element *element,
	const struct mesh *mesh, const char *mesh_path, const char *name)
{
	const struct texture *texture;
	uint32_t number = (uint32_t)strtoul(name + 1, NULL, 10);
	char *known = mem_printf("%s%s", mesh_path, name);
	bool there = name[1] && number < mesh->embedded.count;
	if (finish_is_known(load, known, &texture)) {
		free(known);
		return texture;
	}
	texture = finish_decode(load, element, importer_texture, known, there ? mesh->embedded.at[number].bytes : "",
		there ? mesh->embedded.at[number].count : 0);
	free(known);
	return texture;
}

static const struct texture *finish_map_of_mesh(struct load *load, const struct sdf_element *element,
	const struct mesh *mesh, const char *mesh_path, const char *name)
{
	if (*name == '*')
		return finish_read_embedded(load, element, mesh, mesh_path, name);
	const char *path = finish_find(load, mesh_path, name);
	if (path)
		return finish_read_file(load, element, path);
	char *kind = mem_printf("%s\n%s", mesh_path, name);
	if (load_is_new(load, kind))
		load_warn(load, element,
			"texture \"%.200s\" of \"%.200s\" of model \"%.80s\" is not found; it is shown in plain "
			"colours: expected a file beside the mesh",
			name, mesh_path, load->owner ? load->owner : "");
	free(kind);
	return NULL;
}

/* Ambient light sees the diffuse colour. */
static struct sdf_material finish_material_of(struct load *load, const struct mesh_material *from)
{
	const double *d = from->diffuse, *s = from->specular, *e = from->emissive;
	struct sdf_material to = {.ambient = {d[0], d[1], d[2], 1},
		.diffuse = {d[0], d[1], d[2], d[3]},
		.specular = {s[0], s[1], s[2], 1},
		.emissive = {e[0], e[1], e[2], 1},
		.ambient_given = true,
		.diffuse_given = true,
		.shininess = from->shininess,
		.lighting = true,
		.double_sided = from->double_sided};
	if (from->metallic) {
		struct sdf_pbr *pbr = arena_new(&load->sdf->arena, struct sdf_pbr);
		*pbr = (struct sdf_pbr){.roughness = from->roughness, .metalness = from->metalness};
		to.pbr = pbr;
	}
	return to;
}

static struct sdf_maps finish_maps_of_mesh(struct load *load, const struct sdf_element *element,
	const struct mesh *mesh, const char *path, const struct mesh_material *from)
{
	struct sdf_maps maps = {.alpha = from->alpha, .cutoff = from->cutoff, .scaled = true};
	for (int m = 0; m < MESH_MAPS; m++)
		if (from->maps[m])
			maps.map[m] = finish_map_of_mesh(load, element, mesh, path, from->maps[m]);
	maps.channel[MESH_ROUGHNESS] = 1;
	maps.channel[MESH_METALNESS] = 2;
	return maps;
}

static const struct load_finish *finish_of_mesh(
	struct load *load, const struct sdf_element *element, const struct mesh *mesh, const char *path)
{
	uint32_t index, count = mesh->materials.count;
	if (map_find(&load->finish_names, path, &index))
		return load->finishes.at[index];
	struct load_finish *finish = arena_new(&load->sdf->arena, struct load_finish);
	struct sdf_material *materials = arena_array(&load->sdf->arena, struct sdf_material, count);
	struct sdf_maps *maps = arena_array(&load->sdf->arena, struct sdf_maps, count);
	*finish = (struct load_finish){materials, count, NULL};
	for (uint32_t i = 0; i < count; i++) {
		materials[i] = finish_material_of(load, &mesh->materials.at[i]);
		maps[i] = finish_maps_of_mesh(load, element, mesh, path, &mesh->materials.at[i]);
		if (finish_is_painted(&maps[i]))
			finish->maps = maps;
	}
	map_add(&load->finish_names, arena_strdup(&load->sdf->arena, path), load->finishes.count);
	vec_push(&load->finishes, finish);
	return finish;
}

void load_finish(struct load *load, const struct sdf_visual *visual, struct sdf_shape *shape)
{
	uint32_t whole;
	shape->heat = finish_heat_of(load, visual);
	if (shape->kind == SDF_HEIGHTMAP)
		shape->ground = finish_ground(load, sdf_child(shape->element, "heightmap", NULL));
	if (visual->material)
		shape->maps = visual->material->pbr ? finish_maps_of_visual(load, visual) : NULL;
	if (visual->material || shape->kind != SDF_MESH || !shape->mesh ||
		!map_find(&load->meshes, shape->path, &whole) || whole == SDF_NONE)
		return;
	const struct load_finish *finish =
		finish_of_mesh(load, sdf_child(shape->element, "mesh", NULL), load->sdf->meshes.at[whole], shape->path);
	shape->materials = finish->count ? finish->materials : NULL;
	shape->material_count = finish->count;
	shape->maps = finish->maps;
}
