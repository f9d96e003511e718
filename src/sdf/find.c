/* Finds a file by the name that a person gives: a world, or its commands. */
#include "sdf/sdf.h"

#include "base/data.h"
#include "sdf/fuel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct find_search {
	const char *name, *ending; /* ending: "" if the name already has it */
};

static bool find_is_there(const char *path)
{
	struct stat info;
	return !stat(path, &info) && !S_ISDIR(info.st_mode);
}

/* The path of the name in the folder ("": the name alone), without or with the ending. NULL: neither file exists. */
static char *find_try_in(const struct find_search *search, const char *folder)
{
	const char *slash = *folder ? "/" : "";
	for (int ended = 0; ended < (*search->ending ? 2 : 1); ended++) {
		char *path = mem_printf("%s%s%s%s", folder, slash, search->name, ended ? search->ending : "");
		if (find_is_there(path))
			return path;
		free(path);
	}
	return NULL;
}

static char *find_try_data(const struct find_search *search)
{
	char *found = NULL, *folder;
	for (uint32_t i = 0; !found && (folder = data_folder("worlds", i)); i++) {
		found = find_try_in(search, folder);
		free(folder);
	}
	return found;
}

static bool find_ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), wanted = strlen(ending);
	return length >= wanted && !strcmp(name + length - wanted, ending);
}

static void find_add_folders(struct text *out, const char *list, const char *below)
{
	while (list && *list) {
		size_t length = strcspn(list, ":");
		if (length)
			text_add(out, "%s%.*s%s", out->count ? ":" : "", (int)length, list, below);
		list += length + (list[length] == ':');
	}
}

/* The caches of Fuel, where Gazebo's tools keep what they have fetched: that of today's Gazebo first. */
static void find_add_caches(struct text *out)
{
	static const char *const below[] = {"/.gz/fuel", "/.ignition/fuel"};
	const char *home = getenv("HOME");
	find_add_folders(out, getenv("GZ_FUEL_CACHE_PATH"), "");
	find_add_folders(out, getenv("IGN_FUEL_CACHE_PATH"), "");
	for (size_t i = 0; home && *home == '/' && i < ARRAY_LEN(below); i++) {
		struct stat info;
		char *path = mem_printf("%s%s", home, below[i]);
		if (!stat(path, &info) && S_ISDIR(info.st_mode))
			find_add_folders(out, path, "");
		free(path);
	}
}

char *sdf_environment_folders(void)
{
	struct text out = {0};
	find_add_folders(&out, getenv("GZ_SIM_RESOURCE_PATH"), "");
	find_add_folders(&out, getenv("SDF_PATH"), "");
	find_add_folders(&out, getenv("IGN_GAZEBO_RESOURCE_PATH"), "");
	find_add_folders(&out, getenv("AMENT_PREFIX_PATH"), "/share");
	find_add_folders(&out, getenv("ROS_PACKAGE_PATH"), "");
	find_add_folders(&out, getenv("MENGE_RESOURCE_PATH"), "");
	find_add_caches(&out);
	return out.at ? out.at : mem_strdup("");
}

const char *const *sdf_folders(const struct sdf_options *options, struct arena *arena)
{
	VEC(const char *) all = {0};
	char *environment = options->use_environment ? sdf_environment_folders() : mem_strdup("");
	for (const char *const *at = options->resource_paths; at && *at; at++)
		if (**at)
			vec_push(&all, arena_strdup(arena, *at));
	for (const char *at = environment; *at; at += strcspn(at, ":"), at += *at == ':')
		if (*at != ':')
			vec_push(&all, arena_printf(arena, "%.*s", (int)strcspn(at, ":"), at));
	const char **folders = arena_array(arena, const char *, all.count + 1);
	for (uint32_t i = 0; i < all.count; i++)
		folders[i] = all.at[i];
	free(environment);
	vec_free(&all);
	return folders;
}

/* The file of an address of Fuel in one folder, which may be a cache. NULL: it is not there. */
static const char *find_in_cache(const struct fuel_address *address, const char *cache, struct arena *arena)
{
	struct files files = {0};
	const char *path = NULL;
	enum files_kind kind = fuel_find(&files, arena, cache, address, &path);
	if (kind == FILES_FOLDER)
		path = fuel_world(&files, arena, path);
	files_fini(&files);
	return path;
}

static const char *find_fuel(const char *name, const char *const *folders, struct arena *arena)
{
	struct fuel_address address;
	const char *found = NULL;
	bool good = fuel_parse(arena, name, &address);
	for (; good && !found && *folders; folders++)
		found = find_in_cache(&address, *folders, arena);
	return found;
}

void sdf_allow(const char *path, const struct sdf_options *options, struct files_places *places)
{
	struct arena arena = {0};
	char *folder, *found = path && options->find ? sdf_find_file(path, ".sdf", options) : NULL;
	if (path)
		files_allow_around(places, found ? found : path);
	free(found);
	for (const char *const *at = sdf_folders(options, &arena); *at; at++)
		files_allow(places, *at);
	for (uint32_t i = 0; (folder = data_folder("worlds", i)); i++) {
		files_allow(places, folder);
		free(folder);
	}
	arena_fini(&arena);
}

static char *find_named(const struct find_search *search, const char *const *folders)
{
	char *found = find_try_in(search, "");
	if (*search->name == '/' || !*search->name)
		return found;
	for (; !found && *folders; folders++)
		found = find_try_in(search, *folders);
	return found ? found : find_try_data(search);
}

char *sdf_find_file(const char *name, const char *ending, const struct sdf_options *options)
{
	struct arena arena = {0};
	const char *const *folders = sdf_folders(options, &arena), *path;
	char *found;
	if (fuel_is_remote(name)) {
		path = find_fuel(name, folders, &arena);
		found = path ? mem_strdup(path) : NULL;
	} else {
		found = find_named(&(struct find_search){name, find_ends_with(name, ending) ? "" : ending}, folders);
	}
	arena_fini(&arena);
	return found;
}
