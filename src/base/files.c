/* A world that was loaded once must load again from a save, or on another machine, with the same result. So every
 * file that the loader looks at or reads is kept in a set, and the set answers before the file system does. The first
 * content that was read stays valid: a later change of the file is not seen. A closed set never asks the file system.
 */
#include "base/files.h"

#include "base/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct files_entry *find(struct files *files, const char *path)
{
	uint32_t index;
	return map_find(&files->by_path, path, &index) ? &files->all.at[index] : NULL;
}

void files_add(struct files *files, const char *path, const char *bytes, size_t count)
{
	struct files_entry *entry = find(files, path);
	if (!entry) {
		struct files_entry new = {.path = mem_strdup(path)};
		(void)map_add(&files->by_path, new.path, files->all.count);
		vec_push(&files->all, new);
		entry = &files->all.at[files->all.count - 1];
	}
	if (!bytes || entry->bytes)
		return;
	entry->bytes = mem_alloc(count + 1);
	memcpy(entry->bytes, bytes, count);
	entry->count = count;
}

void files_add_all(struct files *files, const struct files *more)
{
	for (uint32_t i = 0; i < more->all.count; i++)
		files_add(files, more->all.at[i].path, more->all.at[i].bytes, more->all.at[i].count);
}

static bool is_folder_of_some(const struct files *files, const char *path)
{
	size_t length = strlen(path);
	for (uint32_t i = 0; length && i < files->all.count; i++)
		if (!strncmp(files->all.at[i].path, path, length) &&
			(files->all.at[i].path[length] == '/' || path[length - 1] == '/'))
			return true;
	return false;
}

static enum files_kind files_look_in(const struct files *files, const char *path)
{
	uint32_t index;
	if (map_find(&files->by_path, path, &index))
		return FILES_FILE;
	return is_folder_of_some(files, path) ? FILES_FOLDER : FILES_NOTHING;
}

enum files_kind files_look(struct files *files, const char *path)
{
	struct stat info;
	if (find(files, path))
		return FILES_FILE;
	if (files->before) {
		enum files_kind kind = files_look_in(files->before, path);
		if (kind == FILES_FILE)
			files_add(files, path, NULL, 0);
		if (kind)
			return kind;
	}
	if (files->closed)
		return is_folder_of_some(files, path) ? FILES_FOLDER : FILES_NOTHING;
	if (stat(path, &info)) /* the folder may be gone, but its kept files count */
		return is_folder_of_some(files, path) ? FILES_FOLDER : FILES_NOTHING;
	if (S_ISREG(info.st_mode))
		files_add(files, path, NULL, 0);
	return S_ISREG(info.st_mode) ? FILES_FILE : S_ISDIR(info.st_mode) ? FILES_FOLDER : FILES_NOTHING;
}

/* --- the names in a folder ---------------------------------------------------------------------------------------- */

struct files_listing {
	VEC(const char *) names;
	struct map seen;
	struct arena *arena;
};

static void files_list_name(struct files_listing *listing, const char *name, size_t length)
{
	const char *copy = arena_printf(listing->arena, "%.*s", (int)MIN(length, (size_t)4096), name);
	if (*copy && strcmp(copy, ".") && strcmp(copy, "..") && listing->names.count < FILES_LISTED_MAX &&
		map_add(&listing->seen, copy, 0))
		vec_push(&listing->names, copy);
}

static void files_list_kept(struct files_listing *listing, const struct files *files, const char *folder)
{
	size_t length = strlen(folder);
	for (uint32_t i = 0; i < files->all.count; i++) {
		const char *path = files->all.at[i].path, *rest = path + length;
		if (!strncmp(path, folder, length) && *rest == '/')
			files_list_name(listing, rest + 1, strcspn(rest + 1, "/"));
	}
}

static void files_list_disk(struct files_listing *listing, const char *folder)
{
	DIR *all = opendir(folder);
	struct dirent *entry;
	while (all && listing->names.count < FILES_LISTED_MAX && (entry = readdir(all)))
		files_list_name(listing, entry->d_name, strlen(entry->d_name));
	if (all)
		closedir(all);
}

static int files_by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

uint32_t files_list(const struct files *files, const char *folder, struct arena *arena, const char *const **ret_names)
{
	struct files_listing listing = {.arena = arena};
	files_list_kept(&listing, files, folder);
	if (files->before)
		files_list_kept(&listing, files->before, folder);
	if (!files->closed)
		files_list_disk(&listing, folder);
	uint32_t count = listing.names.count;
	const char **names = arena_array(arena, const char *, count + 1);
	for (uint32_t i = 0; i < count; i++)
		names[i] = listing.names.at[i];
	if (count)
		qsort(names, count, sizeof *names, files_by_bytes);
	map_fini(&listing.seen);
	vec_free(&listing.names);
	*ret_names = names;
	return count;
}

troupe_status files_read(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error)
{
	struct files_entry *entry = find(files, path);
	if (!entry || !entry->bytes) {
		char *bytes;
		size_t count;
		const struct files_entry *known = files->before ? find(files->before, path) : NULL;
		if (known && known->bytes) {
			files_add(files, path, known->bytes, known->count);
			return files_read(files, path, bytes_max, ret_bytes, ret_count, error);
		}
		if (files->closed)
			return fail(error, TROUPE_EIO,
				"%s: not among the kept files: expected a file that the state or recording holds",
				path);
		troupe_status status = text_read_file(path, bytes_max, &bytes, &count, error);
		if (status)
			return status;
		files_add(files, path, NULL, 0);
		entry = find(files, path);
		entry->bytes = bytes;
		entry->count = count;
	}
	if (entry->count > bytes_max)
		return fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", path, bytes_max);
	*ret_bytes = entry->bytes;
	*ret_count = entry->count;
	return TROUPE_OK;
}

void files_fini(struct files *files)
{
	for (uint32_t i = 0; i < files->all.count; i++) {
		free(files->all.at[i].path);
		free(files->all.at[i].bytes);
	}
	vec_free(&files->all);
	map_fini(&files->by_path);
}

static void pack_entry(const struct files_entry *entry, struct text *out)
{
	pack_string(out, entry->path);
	pack_u64(out, entry->bytes != NULL);
	pack_bytes(out, entry->bytes, entry->count);
}

void files_pack(const struct files *files, struct text *out)
{
	pack_u64(out, files->all.count);
	for (uint32_t i = 0; i < files->all.count; i++)
		pack_entry(&files->all.at[i], out);
}

void files_pack_both(const struct files *files, const struct files *more, struct text *out)
{
	uint32_t index;
	uint64_t count = files->all.count;
	for (uint32_t i = 0; i < more->all.count; i++)
		count += !map_find(&files->by_path, more->all.at[i].path, &index);
	pack_u64(out, count);
	for (uint32_t i = 0; i < files->all.count; i++) {
		const struct files_entry *entry = &files->all.at[i];
		bool read = entry->bytes || !map_find(&more->by_path, entry->path, &index);
		pack_entry(read ? entry : &more->all.at[index], out);
	}
	for (uint32_t i = 0; i < more->all.count; i++)
		if (!map_find(&files->by_path, more->all.at[i].path, &index))
			pack_entry(&more->all.at[i], out);
}

void files_unpack(struct files *files, struct unpack *in)
{
	uint32_t count = unpack_count(in, UINT32_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		char *path = unpack_string(in);
		bool read = unpack_count(in, 1);
		size_t bytes;
		const char *at = unpack_bytes(in, &bytes);
		if (!in->bad)
			files_add(files, path, read ? at : NULL, bytes);
		free(path);
	}
	files->closed = true;
}
