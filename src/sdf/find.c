/* Finds a file by the name that a person gives: a world, or its commands. */
#include "sdf/sdf.h"

#include "base/data.h"

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

char *sdf_environment_folders(void)
{
	struct text out = {0};
	add_folders(&out, getenv("GZ_SIM_RESOURCE_PATH"), "");
	add_folders(&out, getenv("SDF_PATH"), "");
	add_folders(&out, getenv("IGN_GAZEBO_RESOURCE_PATH"), "");
	add_folders(&out, getenv("AMENT_PREFIX_PATH"), "/share");
	add_folders(&out, getenv("ROS_PACKAGE_PATH"), "");
	return out.at ? out.at : mem_strdup("");
}

char *sdf_find_file(const char *name, const char *ending, const struct sdf_options *options)
{
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
