/* An include is resolved when the model or world around it is read, not earlier. So the limits on models and depth
 * apply while nested includes expand, and each file is parsed only once, however often it is included. While a file
 * is being read it is marked as open; an include of an open file is a cycle. */
#include "sdf/include.h"

#include "sdf/rewrite.h"
#include "sdf/xml.h"

#include <stdlib.h>
#include <string.h>

static bool is_remote(const char *uri)
{
	return !strncmp(uri, "http://", 7) || !strncmp(uri, "https://", 8) || !strncmp(uri, "fuel://", 7);
}

/* The text after "scheme://", or the whole text. */
static const char *local_part(const char *uri)
{
	const char *colon = strstr(uri, "://");
	return colon ? colon + 3 : uri;
}

static enum files_kind try(
	struct load *load, const char *folder, size_t length, const char *name, const char **ret_path)
{
	const char *path = !length ? name : arena_printf(&load->sdf->arena, "%.*s/%s", (int)length, folder, name);
	enum files_kind found = files_look(load->disk, path);
	if (found)
		*ret_path = path;
	return found;
}

static enum files_kind try_list(struct load *load, const char *list, const char *name, const char **ret_path)
{
	while (list && *list) {
		size_t length = strcspn(list, ":");
		enum files_kind found = length ? try(load, list, length, name, ret_path) : FILES_NOTHING;
		if (found)
			return found;
		list += length + (list[length] == ':');
	}
	return FILES_NOTHING;
}

static enum files_kind try_options(struct load *load, const char *name, const char **ret_path)
{
	const char *const *at = load->options->resource_paths;
	enum files_kind found = FILES_NOTHING;
	for (; at && *at && !found; at++)
		found = try(load, *at, strlen(*at), name, ret_path);
	if (!found && load->options->use_environment) {
		char *folders = sdf_environment_folders();
		found = try_list(load, folders, name, ret_path);
		free(folders);
	}
	return found;
}

/* Searches beside the file that contains the name, then beside that file's folder (models refer to their own meshes
 * as model://self/...), then in the resource paths. */
static enum files_kind find(struct load *load, const char *from, const char *uri, const char **ret_path)
{
	const char *name = local_part(uri), *slash = strrchr(from, '/');
	size_t length = slash ? (size_t)(slash - from) : 0;
	if (!*name || strlen(name) > 4000)
		return FILES_NOTHING;
	if (*name == '/')
		return try(load, "", 0, name, ret_path);
	enum files_kind found =
		slash ? try(load, from, MAX(length, 1u), name, ret_path) : try(load, ".", 1, name, ret_path);
	if (!found) {
		const char *above = slash ? arena_printf(&load->sdf->arena, "%.*s/..", (int)length, from) : "..";
		found = try(load, above, strlen(above), name, ret_path);
	}
	/* the file of a robot is usually in a folder of its package: PACKAGE/urdf/robot.urdf */
	if (!found && !strncmp(uri, "package://", 10)) {
		const char *above = slash ? arena_printf(&load->sdf->arena, "%.*s/../..", (int)length, from) : "../..";
		found = try(load, above, strlen(above), name, ret_path);
	}
	return found ? found : try_options(load, name, ret_path);
}

const char *include_find_file(struct load *load, const struct sdf_element *element, const char *uri)
{
	const char *path = NULL;
	if (is_remote(uri)) {
		load_warn_once(load, "remote file", element,
			"\"%.200s\" is on another machine: such files are not fetched", uri);
		return NULL;
	}
	if (strstr(uri, "://") && strncmp(uri, "model://", 8) && strncmp(uri, "file://", 7) &&
		strncmp(uri, "package://", 10))
		return NULL; /* names of generated shapes, not of files */
	if (find(load, element->file, uri, &path) == FILES_FILE)
		return path;
	load_warn_once(load, uri, element,
		"\"%.200s\" of model \"%.80s\" is not found: expected a file in a resource path", uri, load->owner);
	return NULL;
}

const char *include_name(struct load *load, const struct sdf_element *include)
{
	const char *name = sdf_child_text(include, "name"), *uri = sdf_child_text(include, "uri");
	if (name && *name)
		return name;
	if (!uri)
		return "";
	const char *end = uri + strlen(uri);
	while (end > uri && end[-1] == '/')
		end--;
	const char *start = end;
	while (start > uri && start[-1] != '/')
		start--;
	return arena_printf(&load->sdf->arena, "%.*s", (int)(end - start), start);
}

/* The file of the newest known version that a model.config lists. */
static const char *newest(const struct sdf_element *config)
{
	const char *best = NULL;
	double best_version = -1;
	for (const struct sdf_element *at = sdf_child(config, "sdf", NULL); at; at = sdf_child(config, "sdf", at)) {
		const char *text = sdf_attribute(at, "version"), *dot = text ? strchr(text, '.') : NULL;
		double minor = 0;
		if (dot)
			text_double(dot + 1, &minor);
		if (*at->text && minor > best_version && minor <= 12) {
			best_version = minor;
			best = at->text;
		}
	}
	return best;
}

/* The SDF file of a model's folder; NULL, with an error: there is none. */
static const char *file_of_folder(struct load *load, const struct sdf_element *include, const char *folder)
{
	static const char *const names[] = {"model.config", "manifest.xml"};
	struct arena *arena = &load->sdf->arena;
	const char *path = arena_printf(arena, "%s/model.sdf", folder);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *config = arena_printf(arena, "%s/%s", folder, names[i]), *name = NULL;
		const struct sdf_element *root;
		struct troupe_error error;
		const char *text;
		size_t bytes;
		if (files_look(load->disk, config) != FILES_FILE)
			continue;
		if (files_read(load->disk, config, 1 << 20, &text, &bytes, &error)) {
			load_error(load, include, "%s", error.text);
			return NULL;
		}
		if (xml_parse(arena, text, bytes, config, &root, &error))
			load_error(load, include, "%s", error.text);
		else
			name = newest(root);
		if (name)
			path = arena_printf(arena, "%s/%s", folder, name);
		break;
	}
	if (files_look(load->disk, path) == FILES_FILE)
		return path;
	load_error(load, include,
		"the folder \"%.200s\" holds no model: expected a model.config that names a file, or model.sdf",
		folder);
	return NULL;
}

/* Parses the file, unless it was included before. Its number, or SDF_NONE. */
static uint32_t open_file(struct load *load, const struct sdf_element *include, const char *path)
{
	uint32_t index;
	if (map_find(&load->file_names, path, &index))
		return index;
	if (load->files.count >= LOAD_FILES_MAX) {
		load_limit(load, include, "too many files are included: expected at most %d", LOAD_FILES_MAX);
		return SDF_NONE;
	}
	struct troupe_error error;
	const struct sdf_element *root;
	const char *text;
	size_t bytes;
	if (files_read(load->disk, path, SDF_FILE_BYTES_MAX, &text, &bytes, &error)) {
		load_error(load, include, "%s", error.text);
		return SDF_NONE;
	}
	load_read(load, text, bytes, path, &root);
	return map_find(&load->file_names, path, &index) ? index : SDF_NONE;
}

enum outcome { TAKEN, LEFT_OUT, WRONG };

/* The model, light or actor that an include names. */
static enum outcome resolve(
	struct load *load, const struct sdf_element *include, const struct sdf_element **ret_element)
{
	const char *uri = sdf_child_text(include, "uri"), *path = NULL;
	if (!uri || !*uri) {
		load_error(load, include, "<include> has no <uri>: expected one");
		return WRONG;
	}
	if (load->includes >= LOAD_INCLUDES_MAX) {
		if (load->status != TROUPE_ELIMIT)
			load_limit(load, include, "too many includes: expected at most %d", LOAD_INCLUDES_MAX);
		return WRONG;
	}
	load->includes++;
	if (is_remote(uri)) {
		load_warn_once(load, "remote include", include,
			"<include> of \"%.200s\", which is on another machine: such includes are left out", uri);
		return LEFT_OUT;
	}
	enum files_kind found = find(load, include->file, uri, &path);
	if (!found) {
		load_error(load, include,
			"<include> of \"%.200s\" is not found: expected a file or folder beside this file or in a "
			"resource path",
			uri);
		return LEFT_OUT;
	}
	if (found == FILES_FOLDER && !(path = file_of_folder(load, include, path)))
		return WRONG;
	uint32_t file = open_file(load, include, path);
	if (file == SDF_NONE || !load->files.at[file].root)
		return WRONG;
	if (load->files.at[file].open) {
		load_error(load, include, "\"%.200s\" includes itself: expected includes that end", path);
		return WRONG;
	}
	for (const struct sdf_element *at = load->files.at[file].root->child; at; at = at->next)
		if (!strcmp(at->name, "model") || !strcmp(at->name, "light") || !strcmp(at->name, "actor")) {
			*ret_element = at;
			return TAKEN;
		}
	load_error(load, include, "\"%.200s\" holds no model, light or actor: expected one to include", path);
	return WRONG;
}

/* The included element, with the changes that the <include> makes. */
static const struct sdf_element * override(
	struct load *load, const struct sdf_element *include, const struct sdf_element *element)
{
	const struct sdf_element *pose = sdf_child(include, "pose", NULL), *flag = sdf_child(include, "static", NULL);
	const char *name = sdf_child_text(include, "name"), *placement = sdf_child_text(include, "placement_frame");
	struct load_builder builder = load_build(load, element);
	const struct sdf_element *params = sdf_child(include, "experimental:params", NULL);
	if (params)
		load_warn_once(load, "experimental:params", params,
			"<experimental:params> is not known and is ignored: the file is included as it is");
	if (name && *name)
		load_build_attribute(load, &builder, "name", name);
	if (placement && *placement) {
		load_build_attribute(load, &builder, "placement_frame", placement);
		if (!pose)
			load_error(load, include, "<include> has a <placement_frame> but no <pose>: expected both");
	}
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!(pose && !strcmp(child->name, "pose")) && !(flag && !strcmp(child->name, "static")))
			load_build_add(load, &builder, child);
	if (pose)
		load_build_add(load, &builder, pose);
	if (flag)
		load_build_add(load, &builder, flag);
	for (const struct sdf_element *at = sdf_child(include, "plugin", NULL); at;
		at = sdf_child(include, "plugin", at))
		load_build_add(load, &builder, at);
	return builder.element;
}

static bool wants_merge(const struct sdf_element *include)
{
	const char *text = sdf_attribute(include, "merge");
	bool value = false;
	return text && text_bool(text, &value) && value;
}

/* A merged model is read as part of another file's model, so its own includes are expanded here. */
static void merge(struct load *load, const struct sdf_element *model, struct load_builder *builder)
{
	uint32_t file = 0;
	if (load->depth == SDF_DEPTH_MAX || !map_find(&load->file_names, model->file, &file)) {
		load_limit(load, model, "includes are nested too deeply: expected at most %d levels", SDF_DEPTH_MAX);
		return;
	}
	load->depth++;
	load->files.at[file].open = true;
	rewrite_merge(load, include_expand(load, rewrite_unflatten(load, model)), builder);
	load->files.at[file].open = false;
	load->depth--;
}

const struct sdf_element *include_expand(struct load *load, const struct sdf_element *element)
{
	const struct sdf_element *included;
	if (!sdf_child(element, "include", NULL))
		return element;
	struct load_builder builder = load_build(load, element);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (strcmp(child->name, "include")) {
			load_build_add(load, &builder, child);
			continue;
		}
		switch (resolve(load, child, &included)) {
		case TAKEN:
			included = override(load, child, included);
			if (wants_merge(child) && !strcmp(included->name, "model"))
				merge(load, included, &builder);
			else
				load_build_add(load, &builder, included);
			break;
		case LEFT_OUT:
			load_build_add(load, &builder, child);
			break;
		case WRONG:
			break;
		}
	}
	return builder.element;
}
