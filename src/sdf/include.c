/* An include is resolved when the model or world around it is read, not earlier. So the limits on models and depth
 * apply while nested includes expand, and each file is parsed only once, however often it is included. While a file
 * is being read it is marked as open; an include of an open file is a cycle. */
#include "sdf/include.h"

#include "base/parse.h"
#include "sdf/places.h"
#include "sdf/rewrite.h"
#include "sdf/stock.h"
#include "sdf/xml.h"

#include <stdlib.h>
#include <string.h>

const char *include_find_file(struct load *load, const struct sdf_element *element, const char *uri)
{
	static const char *const schemes[] = {"model://", "file://", "package://"};
	const char *path = NULL;
	bool is_file = !strstr(uri, "://") || fuel_is_remote(uri);
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		is_file = is_file || !strncmp(uri, schemes[i], strlen(schemes[i]));
	if (!is_file)
		return NULL; /* names of generated shapes, not of files */
	if (places_find(load, element->file, uri, &path) == FILES_FILE)
		return path;
	struct text where = {0};
	if (load_is_new(load, fuel_is_remote(uri) ? "remote file" : uri)) {
		places_explain(load, element->file, uri, &where);
		load_warn(load, element, "\"%.200s\"%s%.80s%s %s%s", uri, load->owner ? " of model \"" : "",
			load->owner ? load->owner : "", load->owner ? "\"" : "",
			fuel_is_remote(uri) ? "is on another machine, and is not found" : "is not found", where.at);
	}
	text_fini(&where);
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

struct newest {
	const char *file;
	double version;
};

/* In a damaged file an <sdf> may stand deeper than it should. */
static void include_find_newest(const struct sdf_element *element, struct newest *best)
{
	for (const struct sdf_element *at = element->child; at; at = at->next) {
		const char *text = sdf_attribute(at, "version"), *dot = text ? strchr(text, '.') : NULL;
		double minor = 0;
		if (dot)
			parse_double(dot + 1, &minor);
		if (xml_is(at, "sdf") && *at->text && minor > best->version && minor <= 12)
			*best = (struct newest){at->text, minor};
		include_find_newest(at, best);
	}
}

/* The file of the newest known version that a model.config lists. NULL: none. */
static const char *include_newest(const struct sdf_element *config)
{
	struct newest best = {NULL, -1};
	include_find_newest(config, &best);
	return best.file;
}

/* The name that the model.config of a folder gives to the file of the model. NULL: none. Only this name is needed of
 * it, so a damaged one is only warned of. *ret_config: the path of the file; NULL: the folder has none. */
static const char *include_configured(
	struct load *load, const struct sdf_element *include, const char *folder, const char **ret_config)
{
	static const char *const names[] = {"model.config", "manifest.xml"};
	struct arena *arena = &load->sdf->arena;
	const struct sdf_element *root = NULL;
	struct troupe_error damage = {0};
	const char *text, *config = NULL, *name = NULL;
	size_t bytes;
	for (size_t i = 0; i < ARRAY_LEN(names) && !config; i++) {
		config = arena_printf(arena, "%s/%s", folder, names[i]);
		if (files_look(load->disk, config) != FILES_FILE)
			config = NULL;
	}
	*ret_config = config;
	if (!config)
		return NULL;
	if (!files_read(load->disk, config, 1 << 20, &text, &bytes, &damage) &&
		!xml_parse_tolerant(arena, text, bytes, config, &root, &damage))
		name = include_newest(root);
	if (damage.status)
		load_warn_once(load, config, include, "%s: the file of the model is %s", damage.text,
			name ? name : "model.sdf");
	return name;
}

/* The SDF file of a model's folder; NULL, with an error: there is none. */
static const char *include_file_of_folder(struct load *load, const struct sdf_element *include, const char *folder)
{
	struct arena *arena = &load->sdf->arena;
	const char *config, *name = include_configured(load, include, folder, &config);
	const char *path = arena_printf(arena, "%s/%s", folder, name ? name : "model.sdf");
	if (files_look(load->disk, path) == FILES_FILE)
		return path;
	const char *usual = arena_printf(arena, "%s/model.sdf", folder);
	if (name && files_look(load->disk, usual) == FILES_FILE) {
		load_warn_once(
			load, usual, include, "%s: the file \"%.80s\" is not there: model.sdf is used", config, name);
		return usual;
	}
	load_error(load, include,
		"the folder \"%.200s\" holds no model: expected a model.config that names a file, or model.sdf",
		folder);
	return NULL;
}

/* Parses the file, unless it was included before. Its number, or SDF_NONE. */
static uint32_t include_open_file(struct load *load, const struct sdf_element *include, const char *path)
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
	const char *stock = stock_text(path);
	if (!stock && files_read(load->disk, path, SDF_FILE_BYTES_MAX, &text, &bytes, &error)) {
		load_error(load, include, "%s", error.text);
		return SDF_NONE;
	}
	load_read(load, stock ? stock : text, stock ? strlen(stock) : bytes, path, &root);
	return map_find(&load->file_names, path, &index) ? index : SDF_NONE;
}

enum outcome { INCLUDE_TAKEN, LEFT_OUT, WRONG };

/* The built-in model that uri means. NULL: none. */
static const char *include_stock(struct load *load, const char *uri)
{
	struct fuel_address address;
	if (fuel_is_remote(uri))
		return fuel_parse(&load->sdf->arena, uri, &address) ? stock_find_address(&address) : NULL;
	return stock_find(!strncmp(uri, "model://", 8) ? uri + 8 : uri);
}

/* What is on another machine is left out with a warning, for each address. */
static enum outcome include_complain(struct load *load, const struct sdf_element *include, const char *uri)
{
	bool remote = fuel_is_remote(uri);
	struct text where = {0};
	if (!remote || load_is_new(load, uri))
		places_explain(load, include->file, uri, &where);
	if (remote && where.at)
		load_warn(load, include,
			"<include> of \"%.200s\" is on another machine, and is not found%s; it is left out", uri,
			where.at);
	else if (!remote)
		load_error(load, include, "<include> of \"%.200s\" is not found%s", uri, where.at);
	text_fini(&where);
	return LEFT_OUT;
}

/* The model, light or actor that an include names. */
static enum outcome include_resolve(
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
	enum files_kind found = places_find(load, include->file, uri, &path);
	if (!found)
		path = include_stock(load, uri);
	if (!found && !path)
		return include_complain(load, include, uri);
	if (found == FILES_FOLDER && !(path = include_file_of_folder(load, include, path)))
		return WRONG;
	uint32_t file = include_open_file(load, include, path);
	if (file == SDF_NONE || !load->files.at[file].root)
		return WRONG;
	if (load->files.at[file].open) {
		load_error(load, include, "\"%.200s\" includes itself: expected includes that end", path);
		return WRONG;
	}
	for (const struct sdf_element *at = load->files.at[file].root->child; at; at = at->next)
		if (!strcmp(at->name, "model") || !strcmp(at->name, "light") || !strcmp(at->name, "actor")) {
			*ret_element = at;
			return INCLUDE_TAKEN;
		}
	load_error(load, include, "\"%.200s\" holds no model, light or actor: expected one to include", path);
	return WRONG;
}

/* The included element, with the changes that the <include> makes. */
static const struct sdf_element *include_override(
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

static bool include_wants_merge(const struct sdf_element *include)
{
	const char *text = sdf_attribute(include, "merge");
	bool value = false;
	return text && parse_bool(text, &value) && value;
}

/* A merged model is read as part of another file's model, so its own includes are expanded here. */
static void include_merge(struct load *load, const struct sdf_element *model, struct load_builder *builder)
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
		switch (include_resolve(load, child, &included)) {
		case INCLUDE_TAKEN:
			included = include_override(load, child, included);
			if (include_wants_merge(child) && !strcmp(included->name, "model"))
				include_merge(load, included, &builder);
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
