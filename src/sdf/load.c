/* The entry of the loader, and versions, files and edited trees.
 *
 * Users' files have several faults at once. So a problem becomes a message (load_value.c), and only the end decides:
 * after an error the result has the messages but no world, and the first error is the status.
 *
 * The pose of a frame inside a model may be needed before the model is read. The model is then read into a temporary
 * world. That reading keeps no messages, but it counts against the limits on includes and copies. */
#include "sdf/load.h"

#include "base/near.h"
#include "sdf/bare.h"
#include "sdf/catalog.h"
#include "sdf/fuel.h"
#include "sdf/urdf.h"
#include "sdf/xml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* "1.6" -> 106, "1.10" -> 110; 0 when it is no version. */
static uint32_t load_version_number(const char *text)
{
	uint32_t major = 0, minor = 0;
	const char *at = text;
	for (; *at >= '0' && *at <= '9' && major < 1000; at++)
		major = major * 10 + (uint32_t)(*at - '0');
	if (at == text || major >= 1000 || (*at && *at != '.'))
		return 0;
	if (*at++ == '.')
		for (; *at >= '0' && *at <= '9' && minor < 100; at++)
			minor = minor * 10 + (uint32_t)(*at - '0');
	return *text && minor < 100 ? major * 100 + minor : 0;
}

static void load_check_version(struct load *load, struct load_file *file)
{
	const char *text = sdf_attribute(file->root, "version");
	file->version = text ? load_version_number(text) : 0;
	if (!text || !*text)
		load_error(load, file->root, "<sdf> has no version: expected one, such as version=\"1.9\"");
	else if (!file->version)
		load_error(load, file->root, "the version \"%.20s\" is no number: expected 1.4 to 1.12", text);
	else if (file->version > 112 || file->version < 104)
		load_warn_once(load, "version", file->root,
			"SDF version %.20s is not one that is known: it is read like the nearest of 1.4 to 1.12", text);
}

/* The first element of xacro, or, in a robot, the first one with an expression of xacro in an attribute; NULL: none. No
 * deeper than SDF_DEPTH_MAX. */
static const struct sdf_element *load_find_macro(const struct sdf_element *element, bool robot)
{
	if (!strncmp(element->name, "xacro:", 6))
		return element;
	for (uint32_t i = 0; robot && i < element->attribute_count; i++)
		if (strstr(element->attributes[i].value, "${") || strstr(element->attributes[i].value, "$("))
			return element;
	for (const struct sdf_element *at = element->child; at; at = at->next) {
		const struct sdf_element *found = load_find_macro(at, robot);
		if (found)
			return found;
	}
	return NULL;
}

/* False, with an error: xacro must expand the file first. */
static bool load_check_macros(struct load *load, const struct sdf_element *root)
{
	const struct sdf_element *macro = load_find_macro(root, xml_is(root, "robot"));
	if (!macro)
		return true;
	load_error(load, macro,
		"<%.40s> is a macro of xacro: expected the output of `xacro FILE`; the command makes it of its file "
		"with --xacro",
		macro->name);
	return false;
}

/* The <sdf> that the text holds or means. NULL, with an error: it is no such text. */
static const struct sdf_element *load_read_root(struct load *load, const char *text, size_t bytes, const char *path)
{
	struct troupe_error error;
	const struct sdf_element *root, *wrapped = NULL;
	if (xml_parse(&load->sdf->arena, text, bytes, path, &root, &error)) {
		load_report_value(load, &error, SDF_ERROR);
		return NULL;
	}
	if (!load_check_macros(load, root))
		return NULL;
	if (xml_is(root, "sdf"))
		return root;
	if (xml_is(root, "robot"))
		return urdf_convert(load, root);
	if (!load->files.count && bare_wanted(load))
		wrapped = bare_wrap(load, root);
	if (!wrapped)
		load_error(load, root, "the root element is <%.40s>: expected <sdf>, or <robot> of URDF", root->name);
	return wrapped;
}

troupe_status load_read(
	struct load *load, const char *text, size_t bytes, const char *path, const struct sdf_element **ret_root)
{
	struct load_file file = {.path = arena_strdup(&load->sdf->arena, path)};
	file.root = load_read_root(load, text, bytes, file.path);
	if (file.root)
		load_check_version(load, &file);
	if (map_add(&load->file_names, file.path, load->files.count))
		vec_push(&load->files, file);
	*ret_root = file.root;
	return file.root ? TROUPE_OK : load->status ? load->status : TROUPE_EWORLD;
}

uint32_t load_version_of(const struct load *load, const struct sdf_element *element)
{
	uint32_t index;
	return map_find(&load->file_names, element->file, &index) ? load->files.at[index].version : load->version;
}

static void load_root(struct load *load, const struct sdf_element *root)
{
	const struct sdf_element *world = sdf_child(root, "world", NULL), *bare = NULL;
	if (bare_wanted(load)) {
		bare = bare_choose(load, root);
		if (bare)
			load_bare(load, bare);
		return;
	}
	for (const struct sdf_element *child = root->child; child && !bare; child = child->next)
		if (bare_is_entity(child))
			bare = child;
	for (const struct sdf_element *other = bare ? bare->next : NULL; other; other = other->next)
		if (bare_is_entity(other) && !world)
			load_warn(load, other, "a second model, light or actor beside <%s> of line %u is ignored",
				bare->name, bare->line);
	if (world && bare)
		load_warn(load, bare, "<%s> beside <world> is ignored", bare->name);
	else if (bare)
		load_bare(load, bare);
	for (; world; world = sdf_child(root, "world", world)) {
		if (load->sdf->worlds.count == SDF_WORLDS_MAX) {
			load_limit(load, world, "too many worlds: expected at most %d", SDF_WORLDS_MAX);
			return;
		}
		load_world(load, world);
	}
}

/* Frees the arrays of a world. */
static void load_world_fini(struct sdf_world *world)
{
	vec_free(&world->models);
	vec_free(&world->links);
	vec_free(&world->collisions);
	vec_free(&world->visuals);
	vec_free(&world->sensors);
	vec_free(&world->joints);
	vec_free(&world->lights);
	vec_free(&world->actors);
	vec_free(&world->plugins);
	vec_free(&world->actor_plugins);
	vec_free(&world->frames);
}

static void load_drop_worlds(struct sdf *sdf)
{
	for (uint32_t i = 0; i < sdf->worlds.count; i++)
		load_world_fini(&sdf->worlds.at[i]);
	vec_free(&sdf->worlds);
}

/* Frees the data of the world that was being read. */
static void load_reading_fini(struct load *load)
{
	map_fini(&load->warned);
	frames_fini(&load->frames);
	vec_free(&load->placings);
	vec_free(&load->model_frames);
	vec_free(&load->link_frames);
	vec_free(&load->joint_frames);
	vec_free(&load->frame_frames);
	vec_free(&load->joint_dropped);
	vec_free(&load->axes);
}

void load_fini(struct load *load)
{
	load_reading_fini(load);
	files_fini(&load->own_files);
	files_places_fini(&load->own_places);
	map_fini(&load->file_names);
	places_fini(&load->places);
	map_fini(&load->far_models);
	map_fini(&load->far_files);
	vec_free(&load->fars);
	map_fini(&load->meshes);
	map_fini(&load->images);
	map_fini(&load->textures);
	map_fini(&load->finish_names);
	vec_free(&load->finishes);
	share_fini(&load->shared);
	importer_destroy(load->own_importer);
	vec_free(&load->files);
}

const void *load_share(struct load *load, const void *bytes, size_t count)
{
	return share_keep(&load->shared, &load->sdf->arena, bytes, count);
}

static void load_ignore_report(void *ctx, const struct sdf_element *element, const char *text)
{
	(void)ctx, (void)element, (void)text;
}

/* Reads the model into a temporary world. The real load shares only the cache of files and the counters of limits. */
bool load_pose_inside(struct load *load, const struct sdf_element *model, const char *name, struct pose *ret_pose)
{
	struct sdf *sdf = load->sdf;
	struct sdf kept = *sdf;
	struct sdf_world world = {.name = "", .line = model->line};
	struct load inner = {.sdf = sdf,
		.options = load->options,
		.disk = load->disk,
		.file_names = load->file_names,
		.places = load->places,
		.files = load->files,
		.version = load->version,
		.depth = load->depth,
		.includes = load->includes,
		.copies = load->copies,
		.poses_only = true};
	load_begin(&inner, &world, model);
	load_model(&inner, model, SDF_NONE, FRAMES_WORLD, false);
	bool found = false;
	if (world.models.count) {
		frames_resolve(&inner.frames, load_ignore_report, NULL);
		uint32_t frame = frames_find(&inner.frames, load_scope_of(0), name);
		found = frame != SDF_NONE;
		if (found)
			*ret_pose = frames_pose(&inner.frames, frame, load_scope_of(0));
	}
	load_world_fini(&world);
	load_reading_fini(&inner);
	load->files = inner.files;
	load->file_names = inner.file_names;
	load->places = inner.places;
	load->includes = inner.includes;
	load->copies = inner.copies;
	share_fini(&inner.shared);
	sdf->messages.count = kept.messages.count;
	sdf->error_count = kept.error_count;
	sdf->warning_count = kept.warning_count;
	return found;
}

/* After an error there are no worlds. */
static troupe_status load_conclude(struct load *load, struct troupe_error *error)
{
	if (load->status) {
		load_drop_worlds(load->sdf);
		if (error)
			*error = load->first;
	}
	return load->status;
}

/* Keeps what sdf_edit() needs: the files as elements, and the meshes by their names. */
static void load_keep(struct load *load)
{
	load_reading_fini(load);
	importer_destroy(load->own_importer);
	load->own_importer = load->importer = NULL;
	load->options = NULL;
	load->sdf->kept = mem_alloc(sizeof *load);
	*load->sdf->kept = *load;
}

troupe_status sdf_load_text(const char *text, size_t bytes, const char *path, const struct sdf_options *options,
	struct sdf **ret_sdf, struct troupe_error *error)
{
	static const struct sdf_options defaults = {0};
	struct sdf *sdf = mem_alloc(sizeof *sdf);
	struct load load = {.sdf = sdf, .options = options ? options : &defaults};
	load.disk = load.options->files ? load.options->files : &load.own_files;
	if (!load.options->files) {
		sdf_allow(path, load.options, &load.own_places);
		load.own_files.places = &load.own_places;
	}
	sdf->path = arena_strdup(&sdf->arena, path);
	sdf->version = "";
	sdf->names_version = 112;
	if (!load_read(&load, text, bytes, path, &sdf->root)) {
		const char *version = sdf_attribute(sdf->root, "version");
		sdf->version = version ? version : "";
		load.version = load.files.at[0].version;
		load.files.at[0].open = true;
		load_root(&load, sdf->root);
	}
	troupe_status status = load_conclude(&load, error);
	if (!status && bare_wanted(&load) && load.options->files)
		load_keep(&load);
	else
		load_fini(&load);
	*ret_sdf = sdf;
	return status;
}

troupe_status sdf_edit(struct sdf *sdf, const struct sdf_options *options, struct troupe_error *error)
{
	struct load *load = sdf->kept;
	assert(load && options->files);
	load_drop_worlds(sdf);
	sdf->messages.count = sdf->error_count = sdf->warning_count = 0;
	sdf->names_version = 112;
	load->options = options;
	load->disk = options->files;
	load->includes = load->copies = 0;
	load->losses = (struct importer_losses){0};
	load->version = load->files.at[0].version;
	load_root(load, sdf->root);
	troupe_status status = load_conclude(load, error);
	load_reading_fini(load);
	return status;
}

void sdf_settle(struct sdf *sdf)
{
	if (sdf->kept)
		load_fini(sdf->kept);
	free(sdf->kept);
	sdf->kept = NULL;
}

/* The result for a file that cannot be read: one error and no world. */
static struct sdf *load_unread(const char *path, const struct troupe_error *why)
{
	struct sdf *sdf = mem_alloc(sizeof *sdf);
	sdf->path = arena_strdup(&sdf->arena, path);
	sdf->version = "";
	vec_push(&sdf->messages, (struct sdf_message){SDF_ERROR, arena_strdup(&sdf->arena, why->text)});
	sdf->error_count = 1;
	return sdf;
}

/* Adds the worlds that may be meant to the message that there is none of this name. */
static void load_add_near(const char *name, const struct sdf_options *options, struct troupe_error *error)
{
	struct sdf_catalog catalog;
	struct near near = near_to(name);
	struct troupe_error more;
	sdf_catalog_worlds(options, &catalog);
	for (uint32_t i = 0; i < catalog.entries.count; i++) {
		const char *slash = strrchr(catalog.entries.at[i].uri, '/');
		const char *file = slash ? slash + 1 : catalog.entries.at[i].uri, *dot = strrchr(file, '.');
		size_t length = dot && !strcmp(dot, ".sdf") ? (size_t)(dot - file) : strlen(file);
		near_offer(&near, arena_printf(&catalog.arena, "%.*s", (int)length, file));
	}
	if (near_best(&near)) {
		(void)fail(
			&more, error->status, "%s: expected the name of a world%s", error->text, near_such_as(&near));
		*error = more;
	}
	sdf_catalog_fini(&catalog);
}

/* sought: the file was also searched for by name, and not found. */
static troupe_status load_path(const char *path, bool sought, const struct sdf_options *options, struct sdf **ret_sdf,
	struct troupe_error *error)
{
	const char *text;
	size_t bytes;
	struct troupe_error why, more;
	struct files own = {0};
	struct files *files = options && options->files ? options->files : &own;
	troupe_status status = files_read_given(files, path, SDF_FILE_BYTES_MAX, &text, &bytes, &why);
	if (!status) {
		status = sdf_load_text(text, bytes, path, options, ret_sdf, error);
	} else {
		if (sought && !fuel_is_remote(path))
			load_add_near(path, options, &why);
		(void)fail(&more, status, "%s%s", why.text,
			!sought ? ""
			: fuel_is_remote(path)
				? "; and no file of this address is in a cache of Fuel"
				: "; and no world of this name is in a resource path or comes with troupe");
		*ret_sdf = load_unread(path, &more);
		if (error)
			*error = more;
	}
	files_fini(&own);
	return status;
}

troupe_status sdf_load_file(
	const char *path, const struct sdf_options *options, struct sdf **ret_sdf, struct troupe_error *error)
{
	bool find = options && options->find;
	char *found = find ? sdf_find_file(path, ".sdf", options) : NULL;
	troupe_status status = load_path(found ? found : path, find && !found && *path != '/', options, ret_sdf, error);
	free(found);
	return status;
}

void sdf_free(struct sdf *sdf)
{
	if (!sdf)
		return;
	sdf_settle(sdf);
	load_drop_worlds(sdf);
	load_solids_fini(sdf);
	sdf_free_visual_shapes(sdf->visual_shapes);
	vec_free(&sdf->messages);
	arena_fini(&sdf->arena);
	free(sdf);
}
