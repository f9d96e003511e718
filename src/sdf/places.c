/* A name is tried in each place, in a fixed order, so the first place that has it decides, whatever else lies on the
 * disk. What is not found costs more, because packages and caches are then searched by their contents; so this search
 * comes last, and is limited.
 *
 * A package of ROS goes by the name in its package.xml, and often lies in a folder of another name (that of its
 * repository). All packages below the resource paths are read once, on the first name that needs them, beside the set
 * of files of the load: of many packages only the one that is used becomes a part of the set. */
#include "sdf/places.h"

#include "sdf/fuel.h"
#include "sdf/load.h"
#include "sdf/stock.h"
#include "sdf/xml.h"

#include <stdlib.h>
#include <string.h>

/* The text after "scheme://", or the whole text. */
static const char *places_local_part(const char *uri)
{
	const char *colon = strstr(uri, "://");
	return colon ? colon + 3 : uri;
}

static bool places_is_package(const char *uri)
{
	return !strncmp(uri, "package://", 10);
}

static void places_list(struct load *load)
{
	struct places *places = &load->places;
	if (places->listed)
		return;
	places->listed = true;
	for (const char *const *at = sdf_folders(load->options, &load->sdf->arena); *at; at++)
		vec_push(&places->folders, *at);
}

/* The folder of the file; "." if its path has none. */
static const char *places_folder_of(struct load *load, const char *from)
{
	const char *slash = strrchr(from, '/');
	return !slash ? "." : slash == from ? "/" : arena_printf(&load->sdf->arena, "%.*s", (int)(slash - from), from);
}

static const char *places_join(struct load *load, const char *folder, const char *name)
{
	return arena_printf(&load->sdf->arena, "%s%s%s", folder, strcmp(folder, "/") ? "/" : "", name);
}

static enum files_kind places_look(struct load *load, const char *path, const char **ret_path)
{
	enum files_kind found = path ? files_look(load->disk, path) : FILES_NOTHING;
	if (found == FILES_REFUSED) { /* another place may have it */
		load->refused = path;
		return FILES_NOTHING;
	}
	if (found)
		*ret_path = path;
	return found;
}

static enum files_kind places_try(struct load *load, const char *folder, const char *name, const char **ret_path)
{
	return places_look(load, places_join(load, folder, name), ret_path);
}

/* --- packages ----------------------------------------------------------------------------------------------------- */

/* Reads a file beside the load's set. */
static const char *places_read_package_name(struct load *load, const char *path)
{
	struct files aside = {.before = load->disk, .closed = load->disk->closed, .places = load->disk->places};
	struct arena tree = {0};
	const struct sdf_element *root;
	const char *text, *name = NULL;
	size_t bytes;
	if (files_look(&aside, path) == FILES_FILE && !files_read(&aside, path, 1 << 20, &text, &bytes, NULL) &&
		!xml_parse_tolerant(&tree, text, bytes, path, &root, NULL))
		name = sdf_child_text(root, "name");
	name = name && *name ? arena_strdup(&load->sdf->arena, name) : NULL;
	arena_fini(&tree);
	files_fini(&aside);
	return name;
}

/* The name that the folder's package.xml gives; NULL: it has none. Each file is read once. */
static const char *places_package_name(struct load *load, const char *folder)
{
	struct places *places = &load->places;
	const char *path = places_join(load, folder, "package.xml");
	uint32_t index;
	if (map_find(&places->marks, path, &index))
		return places->mark_names.at[index];
	map_add(&places->marks, path, places->mark_names.count);
	vec_push(&places->mark_names, places_read_package_name(load, path));
	return places->mark_names.at[places->mark_names.count - 1];
}

static bool places_is_folder(struct load *load, const char *path)
{
	return files_look(load->disk, path) == FILES_FOLDER;
}

/* key: the name, or, for the packages beside a file, their folder and the name. */
static void places_add_package(struct load *load, const char *key, const char *folder)
{
	struct places *places = &load->places;
	if (map_add(&places->packages, key, places->package_folders.count))
		vec_push(&places->package_folders, folder);
}

static const char *places_known_package(const struct places *places, const char *key)
{
	uint32_t index;
	return map_find(&places->packages, key, &index) ? places->package_folders.at[index] : NULL;
}

struct places_visit {
	const char *path;
	uint32_t depth;
};

/* Adds the packages in a folder and below it. A package holds no packages. `left`: folders that may still be looked at.
 */
static void places_crawl(struct load *load, const char *top, uint32_t *left)
{
	VEC(struct places_visit) stack = {0};
	vec_push(&stack, ((struct places_visit){top, 0}));
	while (stack.count && *left) {
		struct places_visit at = stack.at[--stack.count];
		const char *const *names, *package = places_package_name(load, at.path);
		--*left;
		if (package)
			places_add_package(load, package, at.path);
		bool ends = package || at.depth == PLACES_DEPTH_MAX;
		uint32_t count = ends ? 0 : files_list(load->disk, at.path, &load->sdf->arena, &names);
		for (uint32_t i = count; i-- > 0;) {
			const char *path = places_join(load, at.path, names[i]);
			if (*names[i] != '.' && stack.count < *left && places_is_folder(load, path))
				vec_push(&stack, ((struct places_visit){path, at.depth + 1}));
		}
	}
	vec_free(&stack);
}

static const char *places_key(struct load *load, const char *folder, const char *name)
{
	return arena_printf(&load->sdf->arena, "%s\n%s", folder, name);
}

/* A package among the folders in a folder. */
static const char *places_package_in(struct load *load, const char *folder, const char *name)
{
	enum { LOOKED_AT_MAX = 1000 };
	const char *const *names, *package;
	const char *done = places_key(load, folder, "");
	uint32_t count = 0;
	if (!places_known_package(&load->places, done))
		count = files_list(load->disk, folder, &load->sdf->arena, &names);
	for (uint32_t i = 0; i < MIN(count, (uint32_t)LOOKED_AT_MAX); i++) {
		const char *path = places_join(load, folder, names[i]);
		if (*names[i] != '.' && (package = places_package_name(load, path)))
			places_add_package(load, places_key(load, folder, package), path);
	}
	places_add_package(load, done, folder);
	return places_known_package(&load->places, places_key(load, folder, name));
}

/* The folder of the package of that name: one that the file lies in, one beside it, or one below a resource path. */
static const char *places_package(struct load *load, const char *from, const char *name)
{
	struct places *places = &load->places;
	const char *above = places_folder_of(load, from), *package;
	uint32_t left = PLACES_PACKAGES_MAX;
	for (uint32_t i = 0; i < PLACES_ABOVE_MAX; i++, above = places_join(load, above, ".."))
		if ((package = places_package_name(load, above)) && !strcmp(package, name))
			return above;
	above = places_join(load, places_folder_of(load, from), "..");
	for (uint32_t i = 0; i < 2; i++, above = places_join(load, above, ".."))
		if ((package = places_package_in(load, above, name)))
			return package;
	for (uint32_t i = 0; !places->crawled && i < places->folders.count; i++)
		places_crawl(load, places->folders.at[i], &left);
	places->crawled = true;
	return places_known_package(places, name);
}

static enum files_kind places_in_package(struct load *load, const char *from, const char *name, const char **ret_path)
{
	size_t length = strcspn(name, "/");
	const char *package = arena_printf(&load->sdf->arena, "%.*s", (int)length, name);
	const char *folder = *package && *package != '.' ? places_package(load, from, package) : NULL;
	if (!folder)
		return FILES_NOTHING;
	const char *rest = name + length + strspn(name + length, "/"), *kept;
	enum files_kind found = *rest ? places_try(load, folder, rest, ret_path) : places_look(load, folder, ret_path);
	const char *mark = places_join(load, folder, "package.xml");
	size_t bytes;
	if (found) /* a load without the disk finds the package by it */
		(void)files_read(load->disk, mark, 1 << 20, &kept, &bytes, NULL);
	return found;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static enum files_kind places_near_file(
	struct load *load, const char *from, const char *uri, const char *name, const char **ret_path)
{
	const char *folder = places_folder_of(load, from), *above = places_join(load, folder, "..");
	enum files_kind found = places_try(load, folder, name, ret_path);
	if (!found)
		found = places_try(load, above, name, ret_path);
	if (!found && places_is_package(uri))
		found = places_try(load, places_join(load, above, ".."), name, ret_path);
	return found ? found : places_look(load, fuel_own(&load->sdf->arena, folder, name), ret_path);
}

static void places_add_model(void *ctx, const char *name, const char *folder)
{
	struct load *load = ctx;
	struct places *places = &load->places;
	if (map_add(&places->models, name, places->model_folders.count))
		vec_push(&places->model_folders, folder);
}

/* A model of a cache, by its name alone. */
static enum files_kind places_in_caches(struct load *load, const char *name, const char **ret_path)
{
	struct places *places = &load->places;
	struct arena *arena = &load->sdf->arena;
	size_t length = strcspn(name, "/");
	uint32_t index;
	for (uint32_t i = 0; !places->cached && i < places->folders.count; i++)
		fuel_list(load->disk, arena, places->folders.at[i], places_add_model, load);
	places->cached = true;
	const char *model = fuel_lower(arena, arena_printf(arena, "%.*s", (int)length, name));
	if (!map_find(&places->models, model, &index))
		return FILES_NOTHING;
	const char *rest = name + length + strspn(name + length, "/");
	const char *folder = fuel_newest(load->disk, arena, places->model_folders.at[index]);
	return places_look(load, folder && *rest ? places_join(load, folder, rest) : folder, ret_path);
}

static enum files_kind places_find_name(
	struct load *load, const char *from, const char *uri, const char *name, const char **ret_path)
{
	struct places *places = &load->places;
	bool has_scheme = name != uri;
	if (*name == '/')
		return places_look(load, name, ret_path);
	enum files_kind found = places_near_file(load, from, uri, name, ret_path);
	for (uint32_t i = 0; i < places->folders.count && !found; i++)
		found = places_try(load, places->folders.at[i], name, ret_path);
	if (!found && has_scheme)
		found = places_in_package(load, from, name, ret_path);
	if (!found && has_scheme)
		found = places_in_caches(load, name, ret_path);
	return found;
}

static enum files_kind places_find_address(struct load *load, const char *uri, const char **ret_path)
{
	struct places *places = &load->places;
	struct arena *arena = &load->sdf->arena;
	struct fuel_address address;
	enum files_kind found = FILES_NOTHING;
	if (!fuel_parse(arena, uri, &address))
		return FILES_NOTHING;
	for (uint32_t i = 0; i < places->folders.count && !found; i++)
		found = fuel_find(load->disk, arena, places->folders.at[i], &address, ret_path);
	return found == FILES_REFUSED ? places_look(load, *ret_path, ret_path) : found;
}

enum files_kind places_find(struct load *load, const char *from, const char *uri, const char **ret_path)
{
	const char *name = places_local_part(uri);
	places_list(load);
	load->refused = NULL;
	if (!*name || strlen(name) > 4000)
		return FILES_NOTHING;
	if (fuel_is_remote(uri))
		return places_find_address(load, uri, ret_path);
	enum files_kind found = places_find_name(load, from, uri, name, ret_path);
	const char *decoded = found ? NULL : fuel_decode(&load->sdf->arena, uri);
	return decoded ? places_find_name(load, from, decoded, places_local_part(decoded), ret_path) : found;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Offers the names in the folder in which the search for a name ended, if it came deeper than the searches before. */
static void places_offer(struct load *load, const char *folder, const char *name, struct near *near, int *deepest)
{
	const char *const *names;
	int depth = 0;
	for (const char *slash; (slash = strchr(name, '/')); depth++) {
		const char *next =
			places_join(load, folder, arena_printf(&load->sdf->arena, "%.*s", (int)(slash - name), name));
		if (!places_is_folder(load, next))
			break;
		folder = next;
		name = slash + strspn(slash, "/");
	}
	if (depth < *deepest)
		return;
	if (depth > *deepest)
		*near = near_to(arena_printf(&load->sdf->arena, "%.*s", (int)strcspn(name, "/"), name));
	*deepest = depth;
	uint32_t count = files_list(load->disk, folder, &load->sdf->arena, &names);
	for (uint32_t i = 0; i < count; i++)
		if (*names[i] != '.')
			near_offer(near, names[i]);
}

static void places_add_near(struct load *load, const char *from, const char *name, struct text *out)
{
	const char *folder = places_folder_of(load, from);
	struct near near = {0};
	int deepest = -1;
	if (*name == '/') {
		places_offer(load, "/", name + strspn(name, "/"), &near, &deepest);
	} else {
		places_offer(load, folder, name, &near, &deepest);
		places_offer(load, places_join(load, folder, ".."), name, &near, &deepest);
		for (uint32_t i = 0; i < load->places.folders.count; i++)
			places_offer(load, load->places.folders.at[i], name, &near, &deepest);
	}
	for (uint32_t i = 0; deepest <= 0 && stock_name(i); i++)
		near_offer(&near, stock_name(i));
	if (near_best(&near)) /* names that are not like it would not help */
		text_add(out, "%s", near_such_as(&near));
}

/* "A, B or C": `first`, and then the folders; some of many. */
static void places_add_list_of(const struct places *places, const char *first, struct text *out)
{
	enum { SHOWN = 4 };
	uint32_t count = places->folders.count, shown = MIN(count, (uint32_t)SHOWN);
	text_add(out, "%s", first);
	for (uint32_t i = 0; i < shown; i++)
		text_add(out, "%s%.100s", i + 1 == count ? " or in " : ", in ", places->folders.at[i]);
	if (count > shown)
		text_add(out, " or in %u other folder%s", (unsigned)(count - shown), count - shown == 1 ? "" : "s");
}

void places_explain(struct load *load, const char *from, const char *uri, struct text *out)
{
	const char *name = places_local_part(uri), *slash = strrchr(from, '/');
	struct places *places = &load->places;
	places_list(load);
	if (load->refused) {
		text_add(out,
			": \"%.200s\" is there, but is no plain file below the folder of the world or a resource path: "
			"expected one (--resource-path adds a folder)",
			load->refused);
		return;
	}
	if (fuel_is_remote(uri)) {
		if (places->folders.count)
			places_add_list_of(places, " in a cache of Fuel", out);
		text_add(out, ": expected a copy in a resource path or in a cache of Fuel, such as ~/.gz/fuel");
		return;
	}
	if (*name != '/') {
		char *beside = mem_printf(" beside %.60s%s", slash ? slash + 1 : from,
			places->folders.count ? ", above it" : " or above it");
		places_add_list_of(places, beside, out);
		free(beside);
	}
	text_add(out, ": expected a file or folder that is there");
	if (places->explained++ < PLACES_EXPLAINED_MAX)
		places_add_near(load, from, name, out);
}

void places_fini(struct places *places)
{
	vec_free(&places->folders);
	map_fini(&places->packages);
	vec_free(&places->package_folders);
	map_fini(&places->marks);
	vec_free(&places->mark_names);
	map_fini(&places->models);
	vec_free(&places->model_folders);
}
