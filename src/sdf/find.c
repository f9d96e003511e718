/* Finds a file by the name that a person gives: a world, or its commands. */
#include "sdf/sdf.h"

#include "base/data.h"
#include "sdf/fuel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct search {
	const char *name, *ending; /* ending: "" if the name already has it */
};

static bool is_there(const char *path)
{
	struct stat info;
	return !stat(path, &info) && !S_ISDIR(info.st_mode);
}

/* The path of the name in the folder, without or with the ending. NULL: neither file exists. */
static char *try_in(const struct search *search, const char *folder, size_t length)
{
	const char *slash = length ? "/" : "";
	for (int ended = 0; ended < (*search->ending ? 2 : 1); ended++) {
		char *path =
			mem_printf("%.*s%s%s%s", (int)length, folder, slash, search->name, ended ? search->ending : "");
		if (is_there(path))
			return path;
		free(path);
	}
	return NULL;
}

/* Searches a list of folders, separated by colons. */
static char *try_list(const struct search *search, const char *list)
{
	char *found = NULL;
	while (list && *list && !found) {
		size_t length = strcspn(list, ":");
		if (length)
			found = try_in(search, list, length);
		list += length + (list[length] == ':');
	}
	return found;
}

static char *try_data(const struct search *search)
{
	char *found = NULL, *folder;
	for (uint32_t i = 0; !found && (folder = data_folder("worlds", i)); i++) {
		found = try_in(search, folder, strlen(folder));
		free(folder);
	}
	return found;
}

static bool ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), wanted = strlen(ending);
	return length >= wanted && !strcmp(name + length - wanted, ending);
}

static void add_folders(struct text *out, const char *list, const char *below)
{
	while (list && *list) {
		size_t length = strcspn(list, ":");
		if (length)
			text_add(out, "%s%.*s%s", out->count ? ":" : "", (int)length, list, below);
		list += length + (list[length] == ':');
	}
}

/* The caches of Fuel, where Gazebo's tools keep what they have fetched: that of today's Gazebo first. */
static void add_caches(struct text *out)
{
	static const char *const below[] = {"/.gz/fuel", "/.ignition/fuel"};
	const char *home = getenv("HOME");
	add_folders(out, getenv("GZ_FUEL_CACHE_PATH"), "");
	add_folders(out, getenv("IGN_FUEL_CACHE_PATH"), "");
	for (size_t i = 0; home && *home == '/' && i < ARRAY_LEN(below); i++) {
		struct stat info;
		char *path = mem_printf("%s%s", home, below[i]);
		if (!stat(path, &info) && S_ISDIR(info.st_mode))
			add_folders(out, path, "");
		free(path);
	}
}

char *sdf_environment_folders(void)
{
	struct text out = {0};
	add_folders(&out, getenv("GZ_SIM_RESOURCE_PATH"), "");
	add_folders(&out, getenv("SDF_PATH"), "");
	add_folders(&out, getenv("IGN_GAZEBO_RESOURCE_PATH"), "");
	add_folders(&out, getenv("AMENT_PREFIX_PATH"), "/share");
	add_folders(&out, getenv("ROS_PACKAGE_PATH"), "");
	add_caches(&out);
	return out.at ? out.at : mem_strdup("");
}

/* The file of an address of Fuel in one folder, which may be a cache. The caller frees it; NULL: it is not there. */
static char *find_in_cache(const struct fuel_address *address, const char *cache)
{
	struct arena arena = {0};
	struct files files = {0};
	const char *path = NULL;
	enum files_kind kind = fuel_find(&files, &arena, cache, address, &path);
	if (kind == FILES_FOLDER)
		path = fuel_world(&files, &arena, path);
	char *found = path ? mem_strdup(path) : NULL;
	files_fini(&files);
	arena_fini(&arena);
	return found;
}

static char *find_address(const char *name, const struct sdf_options *options)
{
	struct arena arena = {0};
	struct fuel_address address;
	char *found = NULL, *folders = options->use_environment ? sdf_environment_folders() : mem_strdup(""),
	     *next = folders;
	bool good = fuel_parse(&arena, name, &address);
	for (const char *const *at = options->resource_paths; good && !found && at && *at; at++)
		found = find_in_cache(&address, *at);
	for (char *folder; good && !found && (folder = strsep(&next, ":"));)
		if (*folder)
			found = find_in_cache(&address, folder);
	free(folders);
	arena_fini(&arena);
	return found;
}

static void allow_list(const char *list, struct files_places *places)
{
	while (list && *list) {
		size_t length = strcspn(list, ":");
		char *folder = mem_printf("%.*s", (int)length, list);
		if (length)
			files_allow(places, folder);
		free(folder);
		list += length + (list[length] == ':');
	}
}

void sdf_allow(const char *path, const struct sdf_options *options, struct files_places *places)
{
	char *folder;
	if (path)
		files_allow_around(places, path);
	for (const char *const *at = options->resource_paths; at && *at; at++)
		allow_list(*at, places);
	if (options->use_environment) {
		char *folders = sdf_environment_folders();
		allow_list(folders, places);
		free(folders);
	}
	for (uint32_t i = 0; (folder = data_folder("worlds", i)); i++) {
		files_allow(places, folder);
		free(folder);
	}
}

char *sdf_find_file(const char *name, const char *ending, const struct sdf_options *options)
{
	if (fuel_is_remote(name))
		return find_address(name, options);
	const struct search search = {name, ends_with(name, ending) ? "" : ending};
	char *found = try_in(&search, "", 0);
	if (*name == '/' || !*name)
		return found;
	for (const char *const *at = options->resource_paths; !found && at && *at; at++)
		found = try_in(&search, *at, strlen(*at));
	if (!found && options->use_environment) {
		char *folders = sdf_environment_folders();
		found = try_list(&search, folders);
		free(folders);
	}
	return found ? found : try_data(&search);
}
