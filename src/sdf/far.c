/* Meshes and heightmaps that are left unread. A city may have gigabytes of them, in levels that nobody will ever be
 * near. Where such a shape is, must be known all the same: every body that comes near it must meet it, whatever level
 * it belongs to. So its file is read once for a box (mesh/bounds.h), which takes a fraction of the time; a file of
 * which no box can be found in this way is read as any other.
 *
 * Only collisions of static models that a level names are left, and only triangles: their masses, parts and materials
 * have no effect. A model with plug-ins, or one that is a performer, may be used in other ways. */
#include "mesh/bounds.h"
#include "sdf/load.h"
#include "sdf/xml.h"

#include <stdlib.h>
#include <string.h>

bool sdf_declares_levels(const char *plugin_name)
{
	static const char *const names[] = {"gz::sim", "ignition::gazebo", "troupe"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(plugin_name, names[i]))
			return true;
	return false;
}

static void far_add_refs(struct map *names, const struct sdf_element *plugin, const char *kind)
{
	for (const struct sdf_element *at = sdf_child(plugin, kind, NULL); at; at = sdf_child(plugin, kind, at))
		for (const struct sdf_element *ref = sdf_child(at, "ref", NULL); ref; ref = sdf_child(at, "ref", ref))
			(void)map_add(names, ref->text, 0);
}

void load_find_far(struct load *load, const struct sdf_element *world)
{
	map_fini(&load->far_models);
	if (!load->options->leave_far || !load->options->files)
		return;
	const struct sdf_element *plugin = sdf_child(world, "plugin", NULL);
	for (; plugin; plugin = sdf_child(world, "plugin", plugin)) {
		const char *name = sdf_attribute(plugin, "name");
		if (name && sdf_declares_levels(name))
			break; /* only the first counts */
	}
	if (!plugin)
		return;
	struct map performers = {0};
	far_add_refs(&performers, plugin, "performer");
	for (const struct sdf_element *at = sdf_child(plugin, "level", NULL); at; at = sdf_child(plugin, "level", at))
		for (const struct sdf_element *ref = sdf_child(at, "ref", NULL); ref; ref = sdf_child(at, "ref", ref)) {
			uint32_t other;
			if (!map_find(&performers, ref->text, &other))
				(void)map_add(&load->far_models, ref->text, 0);
		}
	map_fini(&performers);
}

/* Whether a mesh of the model may have other uses than contacts. */
static bool far_has_uses(const struct sdf_element *element)
{
	bool has = false;
	for (const struct sdf_element *child = element->child; child && !has; child = child->next)
		has = xml_is(child, "plugin") || (xml_is(child, "inertial") && sdf_attribute(child, "auto")) ||
		      ((xml_is(child, "model") || xml_is(child, "link")) && far_has_uses(child));
	return has;
}

bool load_is_far(struct load *load, const struct sdf_element *model, const char *name, bool is_static)
{
	uint32_t index;
	return is_static && map_find(&load->far_models, name, &index) && !far_has_uses(model);
}

/* The files of materials decide how the triangles of an OBJ are divided, so they must be at hand later. */
static bool far_read_named(struct load *load, const char *path, const struct mesh_bounds *bounds)
{
	const char *slash = strrchr(path, '/');
	bool good = true;
	for (uint32_t i = 0; i < bounds->name_count && good; i++) {
		const char *bytes;
		size_t count;
		char *named = mem_printf("%.*s%.*s", slash ? (int)(slash - path) + 1 : 0, path,
			(int)bounds->names[i].count, bounds->names[i].at);
		good = slash && files_look(load->disk, named) == FILES_FILE &&
		       !files_read(load->disk, named, MESH_FILE_BYTES_MAX, &bytes, &count, NULL);
		free(named);
	}
	return good;
}

static struct aabb far_scale(const struct aabb *box, struct vec3 scale)
{
	const struct vec3 a = {box->lo.x * scale.x, box->lo.y * scale.y, box->lo.z * scale.z};
	const struct vec3 b = {box->hi.x * scale.x, box->hi.y * scale.y, box->hi.z * scale.z};
	return (struct aabb){vec3_min(a, b), vec3_max(a, b)};
}

/* All points of a heightmap lie between the height 0 and its size. */
static struct aabb far_box_of_heightmap(const struct sdf_shape *shape)
{
	const double grow = 1 + 1e-6; /* heights have single precision */
	const struct vec3 half = {fabs(shape->size.x) / 2 * grow, fabs(shape->size.y) / 2 * grow, 0};
	const struct vec3 up = {0, 0, fabs(shape->size.z)};
	const struct vec3 more = vec3_scale(up, grow - 1);
	return (struct aabb){vec3_sub(vec3_sub(shape->shift, half), more),
		vec3_add(vec3_add(vec3_add(shape->shift, half), up), more)};
}

/* A secondary has the box of the primary in place of the bytes. It comes over a network. */
static bool far_is_noted(const struct load *load, const struct sdf_shape *shape, struct aabb *ret_box)
{
	size_t count;
	const char *note = files_note(load->disk, shape->path, &count);
	if (!note || count != sizeof *ret_box)
		return false;
	memcpy(ret_box, note, sizeof *ret_box);
	const double ends[] = {
		ret_box->lo.x, ret_box->hi.x, ret_box->lo.y, ret_box->hi.y, ret_box->lo.z, ret_box->hi.z};
	for (int i = 0; i < 6; i += 2)
		if (!isfinite(ends[i]) || !isfinite(ends[i + 1]) || ends[i] > ends[i + 1])
			return false;
	return true;
}

/* *ret_box: of the file, unscaled. */
static bool far_find_box_of_file(struct load *load, const struct sdf_shape *shape, struct aabb *ret_box)
{
	struct mesh_bounds bounds;
	const char *bytes;
	size_t count;
	if (far_is_noted(load, shape, ret_box))
		return true;
	if (files_look(load->disk, shape->path) != FILES_FILE ||
		files_read(load->disk, shape->path, MESH_FILE_BYTES_MAX, &bytes, &count, NULL))
		return false;                           /* reading it as any other says why */
	*ret_box = (struct aabb){{0, 0, 0}, {0, 0, 0}}; /* that of a heightmap needs no bytes */
	if (shape->kind == SDF_HEIGHTMAP)
		return true;
	if (!bounds_find(shape->path, bytes, count, &bounds) || !far_read_named(load, shape->path, &bounds))
		return false;
	*ret_box = bounds.box;
	return true;
}

static uint32_t far_add(struct load *load, const struct sdf_element *element, const struct sdf_shape *shape)
{
	struct aabb box;
	if (!far_find_box_of_file(load, shape, &box))
		return SDF_NONE;
	if (load->options->apart_far)
		files_set_apart(load->disk, shape->path, &box, sizeof box);
	box = shape->kind == SDF_HEIGHTMAP ? far_box_of_heightmap(shape) : far_scale(&box, shape->size);
	if (load->options->forget_far)
		files_leave(load->disk, shape->path);
	struct sdf_far *far = arena_new(&load->sdf->arena, struct sdf_far);
	*far = (struct sdf_far){.path = shape->path,
		.model = load->owner ? load->owner : "",
		.id = load->sdf->far_count++,
		.element = element,
		.box = box};
	vec_push(&load->fars, far);
	return load->fars.count - 1;
}

const struct sdf_far *load_leave_far(
	struct load *load, const struct sdf_element *element, const struct sdf_shape *shape)
{
	uint32_t index;
	bool mesh = shape->kind == SDF_MESH;
	bool flat = mesh && (shape->size.x == 0 || shape->size.y == 0 || shape->size.z == 0);
	if (!load->far || flat || map_find(mesh ? &load->meshes : &load->images, shape->path, &index) ||
		(mesh && (shape->way != SDF_MESH_AS_FITS || sdf_child(element, "submesh", NULL))))
		return NULL;
	char *key = mem_printf("%s\n%d %a %a %a %a %a %a", shape->path, mesh, shape->size.x, shape->size.y,
		shape->size.z, shape->shift.x, shape->shift.y, shape->shift.z);
	if (!map_find(&load->far_files, key, &index)) {
		index = far_add(load, element, shape);
		(void)map_add(&load->far_files, arena_strdup(&load->sdf->arena, key), index);
	}
	free(key);
	return index == SDF_NONE ? NULL : load->fars.at[index];
}
