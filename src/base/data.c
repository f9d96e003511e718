/* An installed tree may lie elsewhere than its prefix says: under DESTDIR, unpacked into a user's folder, or moved.
 * So data are searched relative to the program. Example: bin = /usr/local/bin and data = /usr/local/share/troupe, so
 * the data of a program in ANYTHING/bin are in ANYTHING/share/troupe. When the two folders share only the root, this
 * still holds for a tree under DESTDIR. */
#include "base/data.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the deepest folder that contains both paths. */
static size_t data_common_folder(const char *a, const char *b)
{
	size_t common = 0;
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			common = i;
	return common;
}

char *data_moved(const char *folder, const char *bin, const char *data)
{
	size_t common = data_common_folder(bin, data);
	const char *tail = bin + common;
	size_t length = strlen(folder), tail_length = strlen(tail);
	if (*bin != '/' || length < tail_length || strcmp(folder + length - tail_length, tail) != 0)
		return NULL;
	return mem_printf("%.*s%s", (int)(length - tail_length), folder, data + common);
}

/* "" when the system does not tell. */
static void data_program_folder(char ret_folder[PATH_MAX])
{
	ssize_t count = readlink("/proc/self/exe", ret_folder, PATH_MAX - 1);
	ret_folder[count > 0 ? count : 0] = '\0';
	char *slash = strrchr(ret_folder, '/');
	if (slash)
		*slash = '\0';
}

char *data_folder(const char *part, uint32_t i)
{
	char folder[PATH_MAX];
	data_program_folder(folder);
	char *moved = data_moved(folder, TROUPE_BINDIR, TROUPE_DATADIR);
	const char *bases[] = {folder, moved ? moved : TROUPE_DATADIR, TROUPE_DATADIR};
	char *path = i < ARRAY_LEN(bases) ? mem_printf("%s/%s", bases[i], part) : NULL;
	free(moved);
	return path;
}
