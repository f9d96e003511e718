/* Collisions and visuals that are no primitives. A file is read once, however often it is used, and so is each of its
 * parts at each scale. A file that cannot be read gives one warning, and the model stays without that shape, as in
 * Gazebo. If the process that reads the file dies or reaches a limit, that is an error: on another machine it might
 * not, and peers would simulate different worlds. */
#include "base/parse.h"
#include "mesh/decompose.h"
#include "sdf/load.h"

#include <stdlib.h>
#include <string.h>

struct importer *load_importer(struct load *load)
{
	if (load->importer)
		return load->importer;
	load->importer = load->options->importer;
	if (!load->importer)
		load->importer = load->own_importer = importer_create();
	return load->importer;
}

/* Reports a shape that was not read. If no file can be read at all, there is one warning for each kind. */
static void sdf_solid_say_unread(struct load *load, const struct sdf_element *element, const char *kind,
	const char *path, const struct troupe_error *error)
{
	const char *owner = load->owner ? load->owner : "";
	bool never = strstr(error->text, "built without meshes");
	if (error->status == TROUPE_EINTERNAL)
		load_error(load, element, "\"%.200s\" of model \"%.80s\": %.200s", path, owner, error->text);
	else
		load_warn_once(load, never ? kind : path, element,
			"\"%.200s\" of model \"%.80s\": %.200s; the model is without it", path, owner, error->text);
}

static uint32_t sdf_solid_keep(struct load *load, struct mesh mesh)
{
	struct mesh *kept = mem_alloc(sizeof *kept);
	*kept = mesh;
	kept->id = load->sdf->meshes.count;
	vec_push(&load->sdf->meshes, kept);
	return kept->id;
}

static uint32_t sdf_solid_remember(struct load *load, struct map *map, const char *key, uint32_t index)
{
	map_add(map, arena_strdup(&load->sdf->arena, key), index);
	return index;
}

static const struct mesh *sdf_solid_mesh_at(struct load *load, uint32_t index)
{
	return index == SDF_NONE ? NULL : load->sdf->meshes.at[index];
}

static uint32_t sdf_solid_whole_file(struct load *load, const struct sdf_element *element, const char *path)
{
	uint32_t index;
	struct mesh mesh = {0};
	struct troupe_error error;
	if (map_find(&load->meshes, path, &index))
		return index;
	bool ok = !importer_mesh(load_importer(load), &load->losses, load->disk, path, &mesh, &error);
	if (!ok)
		sdf_solid_say_unread(load, element, "mesh", path, &error);
	return sdf_solid_remember(load, &load->meshes, path, ok ? sdf_solid_keep(load, mesh) : SDF_NONE);
}

/* Of a name that does not exist. Parts are known by the names of nodes and of meshes. */
static void sdf_solid_warn_part(struct load *load, const struct sdf_element *submesh, const char *path,
	const struct mesh *mesh, const char *name)
{
	struct near near = near_to(name);
	struct map seen = {0};
	for (uint32_t i = 0; i < mesh->parts.count; i++) {
		const struct mesh_part *part = &mesh->parts.at[i];
		if (*part->name && map_add(&seen, part->name, 0))
			near_offer(&near, part->name);
		if (*part->other_name && map_add(&seen, part->other_name, 0))
			near_offer(&near, part->other_name);
	}
	map_fini(&seen);
	load_warn(load, submesh,
		"\"%.200s\" of model \"%.80s\" has no sub-mesh \"%.80s\": the model is without it: expected the name "
		"of "
		"a node or mesh%s",
		path, load->owner ? load->owner : "", name, near_such_as(&near));
}

static uint32_t sdf_solid_part_of(struct load *load, const struct sdf_element *element, const struct sdf_shape *shape)
{
	const struct sdf_element *submesh = sdf_child(element, "submesh", NULL);
	const char *name = sdf_child_text(submesh, "name");
	bool centre = false;
	uint32_t whole = sdf_solid_whole_file(load, element, shape->path), index;
	if (submesh)
		load_bool(load, submesh, "center", &centre);
	if (whole == SDF_NONE)
		return SDF_NONE;
	char *key = mem_printf("%s\n%s\n%d %a %a %a", shape->path, name ? name : "", centre, shape->size.x,
		shape->size.y, shape->size.z);
	if (!map_find(&load->meshes, key, &index)) {
		struct mesh mesh = {0};
		index = SDF_NONE;
		if (!mesh_cut(sdf_solid_mesh_at(load, whole), name && *name ? name : NULL, centre, shape->size, &mesh))
			sdf_solid_warn_part(load, submesh, shape->path, sdf_solid_mesh_at(load, whole), name);
		else if (!mesh.corners.count)
			load_warn(load, element, "\"%.200s\" of model \"%.80s\" has no area: the model is without it",
				shape->path, load->owner ? load->owner : "");
		else
			index = sdf_solid_keep(load, mesh);
		if (index == SDF_NONE)
			mesh_fini(&mesh);
		sdf_solid_remember(load, &load->meshes, key, index);
	}
	free(key);
	return index;
}

/* A setting of <convex_decomposition>; beyond the limit the limit counts. */
static uint32_t sdf_solid_setting(
	struct load *load, const struct sdf_element *settings, const char *name, uint32_t usual, uint32_t most)
{
	uint32_t value = usual;
	load_uint(load, settings, name, &value);
	if (value > most)
		load_warn_once(load, name, sdf_child(settings, name, NULL),
			"<%s> is %u: %u is used: expected at most %u", name, (unsigned)value, (unsigned)most,
			(unsigned)most);
	return MIN(value, most);
}

/* The convex pieces of a mesh. NULL, with a warning: there are none, and the hulls of its parts take their place. */
static const struct mesh *sdf_solid_pieces(
	struct load *load, const struct sdf_element *element, const struct mesh *mesh)
{
	const struct sdf_element *settings = sdf_child(element, "convex_decomposition", NULL);
	uint32_t hulls =
		sdf_solid_setting(load, settings, "max_convex_hulls", DECOMPOSE_HULLS_USUAL, DECOMPOSE_HULLS_MAX);
	uint32_t voxels =
		sdf_solid_setting(load, settings, "voxel_resolution", DECOMPOSE_VOXELS_USUAL, DECOMPOSE_VOXELS_MAX);
	char *key = mem_printf("\n%u %u %u", (unsigned)mesh->id, (unsigned)hulls, (unsigned)voxels);
	uint32_t index;
	if (!map_find(&load->meshes, key, &index)) {
		struct mesh pieces = {0};
		struct troupe_error error;
		bool good = !decompose_mesh(mesh, hulls, voxels, &pieces, &error);
		if (!good)
			load_warn(load, element,
				"convex_decomposition of a mesh of model \"%.80s\": %.200s; the hulls of its parts are "
				"used",
				load->owner ? load->owner : "", error.text);
		index = sdf_solid_remember(load, &load->meshes, key, good ? sdf_solid_keep(load, pieces) : SDF_NONE);
	}
	free(key);
	return sdf_solid_mesh_at(load, index);
}

static void sdf_solid_load_mesh(
	struct load *load, const struct sdf_element *element, bool collides, struct sdf_shape *shape)
{
	const char *way = sdf_attribute(element, "optimization");
	if (way && !strcmp(way, "convex_hull"))
		shape->way = SDF_MESH_ONE_HULL;
	else if (way && !strcmp(way, "convex_decomposition"))
		shape->way = SDF_MESH_PIECES;
	else if (way && *way)
		load_warn_once(load, "optimization", element,
			"the optimization \"%.40s\" of <mesh> is not known: expected convex_hull or "
			"convex_decomposition",
			way);
	if (collides && shape->path)
		shape->far = load_leave_far(load, element, shape);
	if (shape->path && !shape->far)
		shape->mesh = sdf_solid_mesh_at(load, sdf_solid_part_of(load, element, shape));
	if (collides && shape->mesh && shape->way == SDF_MESH_PIECES)
		shape->pieces = sdf_solid_pieces(load, element, shape->mesh);
}

static void sdf_solid_load_heightmap(
	struct load *load, const struct sdf_element *element, bool collides, struct sdf_shape *shape)
{
	uint32_t index;
	struct troupe_error error;
	load_vec3(load, element, "pos", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &shape->shift);
	if (!(fabs(shape->size.x) >= SDF_LENGTH_MIN && fabs(shape->size.y) >= SDF_LENGTH_MIN)) {
		load_error(load, sdf_child(element, "size", NULL),
			"<size> of <heightmap> is %g %g %g: expected x and y of more than 0 m", shape->size.x,
			shape->size.y, shape->size.z);
		return;
	}
	shape->far = collides && shape->path ? load_leave_far(load, element, shape) : NULL;
	if (!shape->path || shape->far)
		return;
	if (!map_find(&load->images, shape->path, &index)) {
		struct image *image = mem_alloc(sizeof *image);
		index = SDF_NONE;
		if (importer_image(
			    load_importer(load), &load->losses, load->disk, shape->path, image, &error)) {
			sdf_solid_say_unread(load, element, "heightmap", shape->path, &error);
			free(image);
		} else {
			index = load->sdf->images.count;
			vec_push(&load->sdf->images, image);
		}
		sdf_solid_remember(load, &load->images, shape->path, index);
	}
	shape->image = index == SDF_NONE ? NULL : load->sdf->images.at[index];
}

/* --- polylines -------------------------------------------------------------------------------------------------- */

typedef VEC(struct vec3) sdf_solid_point_list;

bool sdf_outline_point(const struct sdf_element *point, struct vec3 *ret_point)
{
	double xy[2];
	bool good = parse_doubles(point->text, xy, 2) == 2 && fabs(xy[0]) <= SDF_LENGTH_MAX &&
		    fabs(xy[1]) <= SDF_LENGTH_MAX;
	if (good)
		*ret_point = (struct vec3){xy[0], xy[1], 0};
	return good;
}

static bool sdf_solid_read_points(struct load *load, const struct sdf_element *polyline, sdf_solid_point_list *points)
{
	const struct sdf_element *at = NULL;
	while ((at = sdf_child(polyline, "point", at))) {
		struct vec3 point;
		if (!sdf_outline_point(at, &point)) {
			load_error(load, at, "<point> is \"%.80s\": expected two numbers within %g", at->text,
				SDF_LENGTH_MAX);
			return false;
		}
		if (points->count > MESH_OUTLINE_POINTS_MAX)
			return true; /* too many: refused later */
		vec_push(points, point);
	}
	return true;
}

static const struct mesh *sdf_solid_extrude(struct load *load, const struct sdf_element *element,
	const struct mesh_outline *outlines, uint32_t count, double height, bool pieces)
{
	struct mesh mesh = {0};
	struct troupe_error error;
	if (!mesh_extrude(outlines, count, height, pieces, &mesh, &error))
		return sdf_solid_mesh_at(load, sdf_solid_keep(load, mesh));
	mesh_fini(&mesh);
	if (!pieces)
		load_warn(load, element, "polyline of model \"%.80s\": %.200s; the model is without it",
			load->owner ? load->owner : "", error.text);
	return NULL;
}

/* All <polyline>s of one geometry are one shape; its height is that of the first. */
static void sdf_solid_load_polyline(struct load *load, const struct sdf_element *first, struct sdf_shape *shape)
{
	sdf_solid_point_list points[MESH_OUTLINES_MAX + 1] = {0};
	struct mesh_outline outlines[MESH_OUTLINES_MAX + 1];
	uint32_t count = 0;
	bool ok = true;
	shape->length = 1;
	load_double(load, first, "height", 0, SDF_LENGTH_MAX, &shape->length);
	for (const struct sdf_element *at = first; at && ok && count <= MESH_OUTLINES_MAX;
		at = sdf_child(shape->element, "polyline", at)) {
		ok = sdf_solid_read_points(load, at, &points[count]);
		outlines[count] = (struct mesh_outline){points[count].at, points[count].count};
		count++;
	}
	if (ok) {
		shape->mesh = sdf_solid_extrude(load, first, outlines, count, shape->length, false);
		if (shape->mesh)
			shape->pieces = sdf_solid_extrude(load, first, outlines, count, shape->length, true);
	}
	for (uint32_t i = 0; i < count; i++)
		vec_free(&points[i]);
}

void load_solid(struct load *load, bool collides, struct sdf_shape *shape)
{
	const struct sdf_element *element = sdf_child(shape->element, sdf_shape_kind_text(shape->kind), NULL);
	if (!element || load->poses_only)
		return;
	if (shape->kind == SDF_MESH)
		sdf_solid_load_mesh(load, element, collides, shape);
	else if (shape->kind == SDF_HEIGHTMAP)
		sdf_solid_load_heightmap(load, element, collides, shape);
	else if (shape->kind == SDF_POLYLINE)
		sdf_solid_load_polyline(load, element, shape);
}

static bool sdf_solid_has_eyes(const struct sdf_world *world)
{
	for (uint32_t i = 0; i < world->sensors.count; i++)
		if (sdf_sees(world->sensors.at[i].kind))
			return true;
	return false;
}

void load_visual_solids(struct load *load)
{
	struct sdf_world *world = load->world;
	enum sdf_visuals visuals = load->options->visuals;
	if (visuals == SDF_VISUALS_UNREAD || (visuals == SDF_VISUALS_IF_SEEN && !sdf_solid_has_eyes(world)))
		return;
	for (uint32_t i = 0; i < world->visuals.count; i++) {
		struct sdf_visual *visual = &world->visuals.at[i];
		load->owner = world->models.at[world->links.at[visual->link].model].scoped;
		load_solid(load, false, &visual->shape);
		load_finish(load, visual, &visual->shape);
	}
	load->owner = NULL;
	world->surroundings.scene.sky_cube = load_finish_sky(load, world->surroundings.scene.sky);
}

void load_solids_fini(struct sdf *sdf)
{
	for (uint32_t i = 0; i < sdf->meshes.count; i++) {
		mesh_fini(sdf->meshes.at[i]);
		free(sdf->meshes.at[i]);
	}
	for (uint32_t i = 0; i < sdf->images.count; i++) {
		free(sdf->images.at[i]->values);
		free(sdf->images.at[i]);
	}
	for (uint32_t i = 0; i < sdf->textures.count; i++)
		texture_release(sdf->textures.at[i]);
	vec_free(&sdf->meshes);
	vec_free(&sdf->images);
	vec_free(&sdf->textures);
}
