/* Where a file is, is judged by the open file: a name may lead elsewhere by the time at which it is opened. */
#include "base/files_places.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void files_places_add_place(struct files_places *places, char *folder)
{
	bool known = false;
	for (uint32_t i = 0; i < places->all.count && !known; i++)
		known = !strcmp(places->all.at[i], folder);
	if (known)
		free(folder);
	else
		vec_push(&places->all, folder);
}

void files_allow(struct files_places *places, const char *folder)
{
	char *real = realpath(folder && *folder ? folder : ".", NULL);
	if (real)
		files_places_add_place(places, real);
}

static bool files_places_is_package(const char *folder)
{
	static const char *const names[] = {"package.xml", "manifest.xml", "model.config"};
	bool is = false;
	for (size_t i = 0; i < ARRAY_LEN(names) && !is; i++) {
		struct stat info;
		char *path = mem_printf("%s/%s", folder, names[i]);
		is = !stat(path, &info) && S_ISREG(info.st_mode);
		free(path);
	}
	return is;
}

/* Robots are often copied without the description of their package; they lie in a folder of such a name in it. */
static bool files_places_is_in_package(const char *folder)
{
	static const char *const names[] = {"urdf", "xacro", "robots", "sdf"};
	bool is = false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is |= !strcmp(strrchr(folder, '/') + 1, names[i]);
	return is;
}

void files_allow_around(struct files_places *places, const char *path)
{
	enum { LEVELS = 3 }; /* PACKAGE/urdf/robots/robot.urdf */
	const char *slash = strrchr(path, '/');
	char *named = mem_printf("%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	char *folder = realpath(named, NULL);
	free(named);
	if (!folder)
		return;
	files_places_add_place(places, mem_strdup(folder));
	for (int level = 0; level < LEVELS && folder[1]; level++) {
		if (files_places_is_package(folder)) {
			files_places_add_place(places, mem_strdup(folder));
			break;
		}
		bool above = files_places_is_in_package(folder);
		char *last = strrchr(folder, '/');
		last[last == folder] = '\0';
		if (above && folder[1])
			files_places_add_place(places, mem_strdup(folder));
	}
	free(folder);
}

void files_allow_all(struct files_places *places, const struct files_places *more)
{
	for (uint32_t i = 0; i < more->all.count; i++)
		files_places_add_place(places, mem_strdup(more->all.at[i]));
}

/* Whether the path, which has no links, is this folder or below it. */
static bool files_places_is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	if (length == 1) /* "/" */
		return true;
	return !strncmp(path, folder, length) && (!path[length] || path[length] == '/');
}

static bool files_places_allows_real(const struct files_places *places, const char *real)
{
	for (uint32_t i = 0; i < places->all.count; i++)
		if (files_places_is_below(real, places->all.at[i]))
			return true;
	return false;
}

bool files_allows(const struct files_places *places, const char *path)
{
	char *real = realpath(path, NULL);
	bool allows = real && files_places_allows_real(places, real);
	free(real);
	return allows;
}

void files_places_fini(struct files_places *places)
{
	for (uint32_t i = 0; i < places->all.count; i++)
		free(places->all.at[i]);
	vec_free(&places->all);
}

/* Without /proc the name is asked, as it leads now. */
bool files_allows_open(const struct files_places *places, int file, const char *path)
{
	char link[32], real[PATH_MAX];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	ssize_t count = readlink(link, real, sizeof real - 1);
	if (count <= 0 || *real != '/')
		return files_allows(places, path);
	real[count] = '\0';
	return files_places_allows_real(places, real);
}
