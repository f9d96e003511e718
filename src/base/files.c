/* A world that was loaded once must load again from a save, or on another machine, with the same result. So every
 * file that the loader looks at or reads is kept in a set, and the set answers before the file system does. The first
 * content that was read stays valid: a later change of the file is not seen. The same holds for a file that was not
 * there: else a model that was created without a mesh would have it when the run is resumed. A closed set never asks
 * the file system. */
#include "base/files.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/squeeze.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- entries ------------------------------------------------------------------------------------------------------ */

static struct files_entry *files_find(const struct files *files, const char *path)
{
	uint32_t index;
	return map_find(&files->by_path, path, &index) ? &files->all.at[index] : NULL;
}

/* Each folder in the path of a file, up to one that is known: then those above it are known, too. */
static void files_add_folders(struct files *files, const char *path)
{
	char *folder = mem_strdup(path), *slash;
	uint32_t index;
	while ((slash = strrchr(folder, '/')) != NULL) {
		slash[slash == folder] = '\0';
		if (map_find(&files->folders, folder, &index))
			break;
		char *name = mem_strdup(folder);
		(void)map_add(&files->folders, name, 0);
		vec_push(&files->folder_names, name);
		if (slash == folder)
			break;
	}
	free(folder);
}

static struct files_entry *files_new(struct files *files, const char *path, bool absent)
{
	struct files_entry new = {.path = mem_strdup(path), .absent = absent};
	(void)map_add(&files->by_path, new.path, files->all.count);
	vec_push(&files->all, new);
	if (!absent)
		files_add_folders(files, path);
	return &files->all.at[files->all.count - 1];
}

static bool files_has_bytes(const struct files_entry *entry)
{
	return entry->bytes || entry->squeezed.count;
}

/* The bytes of an entry that has them. *ret_own: to be freed. */
static const char *files_bytes(const struct files_entry *entry, char **ret_own)
{
	*ret_own = entry->bytes ? NULL : squeeze_undo(&entry->squeezed, entry->count);
	return entry->bytes ? entry->bytes : *ret_own;
}

static void files_drop_bytes(struct files_entry *entry)
{
	free(entry->bytes);
	entry->bytes = NULL;
	text_fini(&entry->squeezed);
}

static void files_set_bytes(struct files_entry *entry, const char *bytes, size_t count)
{
	entry->bytes = mem_alloc(count + 1);
	memcpy(entry->bytes, bytes, count);
	entry->count = count;
}

void files_add(struct files *files, const char *path, const char *bytes, size_t count)
{
	struct files_entry *entry = files_find(files, path);
	if (!entry)
		entry = files_new(files, path, false);
	if (bytes && !files_has_bytes(entry) && !entry->absent && !entry->left)
		files_set_bytes(entry, bytes, count);
}

static void files_add_absent(struct files *files, const char *path)
{
	if (!files_find(files, path))
		(void)files_new(files, path, true);
}

static void files_add_entry(struct files *files, const struct files_entry *entry)
{
	char *own = NULL;
	if (entry->absent)
		files_add_absent(files, entry->path);
	else
		files_add(files, entry->path, files_has_bytes(entry) ? files_bytes(entry, &own) : NULL, entry->count);
	free(own);
}

void files_add_all(struct files *files, const struct files *more)
{
	for (uint32_t i = 0; i < more->all.count; i++)
		files_add_entry(files, &more->all.at[i]);
}

bool files_same(const struct files_entry *a, const struct files_entry *b)
{
	char *own_a, *own_b;
	if (a->absent != b->absent)
		return false;
	if (!files_has_bytes(a) || !files_has_bytes(b))
		return true;
	if (a->count != b->count)
		return false;
	bool same = !memcmp(files_bytes(a, &own_a), files_bytes(b, &own_b), a->count);
	free(own_a);
	free(own_b);
	return same;
}

bool files_holds(const struct files *files, const struct files_entry *entry)
{
	const struct files_entry *own = files_find(files, entry->path);
	return own && files_same(own, entry) && (files_has_bytes(own) || own->left || !files_has_bytes(entry));
}

bool files_differ(const struct files *files, const struct files *more)
{
	bool differ = false;
	for (uint32_t i = 0; i < more->all.count && !differ; i++) {
		const struct files_entry *entry = files_find(files, more->all.at[i].path);
		differ = entry && !files_same(entry, &more->all.at[i]);
	}
	return differ;
}

void files_replace_all(struct files *files, const struct files *more)
{
	for (uint32_t i = 0; i < more->all.count; i++) {
		const struct files_entry *from = &more->all.at[i];
		struct files_entry *entry = files_find(files, from->path);
		if (entry && !files_same(entry, from)) {
			files_drop_bytes(entry);
			entry->count = 0;
			entry->absent = from->absent;
			if (!from->absent)
				files_add_folders(files, from->path);
		}
		files_add_entry(files, from);
	}
}

void files_fini(struct files *files)
{
	for (uint32_t i = 0; i < files->all.count; i++) {
		free(files->all.at[i].path);
		free(files->all.at[i].note);
		files_drop_bytes(&files->all.at[i]);
	}
	for (uint32_t i = 0; i < files->folder_names.count; i++)
		free(files->folder_names.at[i]);
	vec_free(&files->all);
	vec_free(&files->folder_names);
	map_fini(&files->by_path);
	map_fini(&files->folders);
}

/* --- looking and reading ------------------------------------------------------------------------------------------ */

static bool files_is_folder(const struct files *files, const char *path)
{
	uint32_t index;
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	char *plain = mem_printf("%.*s", (int)length, path);
	bool is = length && map_find(&files->folders, plain, &index);
	free(plain);
	return is;
}

static enum files_kind files_look_in(const struct files *files, const char *path)
{
	const struct files_entry *entry = files_find(files, path);
	if (entry && !entry->absent)
		return FILES_FILE;
	return files_is_folder(files, path) ? FILES_FOLDER : FILES_NOTHING;
}

static enum files_kind files_look_at_disk(const struct files *files, const char *path)
{
	struct stat info;
	if (stat(path, &info))
		return FILES_NOTHING;
	if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
		return FILES_REFUSED;
	if (files->places && !files_allows(files->places, path))
		return FILES_REFUSED;
	return S_ISREG(info.st_mode) ? FILES_FILE : FILES_FOLDER;
}

enum files_kind files_look(struct files *files, const char *path)
{
	enum files_kind kind = files_look_in(files, path);
	if (kind || files_find(files, path))
		return kind;
	const struct files_entry *known = files->before ? files_find(files->before, path) : NULL;
	if (known)
		files_add_entry(files, &(struct files_entry){.path = known->path, .absent = known->absent});
	if (known || (files->before && (kind = files_look_in(files->before, path)) != FILES_NOTHING))
		return known ? files_look_in(files, path) : kind;
	if (files->closed)
		return FILES_NOTHING;
	kind = files_look_at_disk(files, path);
	if (kind == FILES_FILE)
		files_add(files, path, NULL, 0);
	else if (kind != FILES_FOLDER)
		files_add_absent(files, path);
	return kind;
}

static troupe_status files_read_disk(const struct files *files, const char *path, size_t bytes_max, char **ret_bytes,
	size_t *ret_count, struct troupe_error *error)
{
	int file = -1;
	troupe_status status = infile_open_plain(path, &file, error);
	if (status)
		return status;
	if (files->places && !files_allows_open(files->places, file, path))
		status = fail(error, TROUPE_EIO,
			"%s: outside of the folders of which files may be read: expected a file below the folder of "
			"the world, or in a resource path (--resource-path)",
			path);
	if (!status)
		status = infile_read_open(file, path, bytes_max, ret_bytes, ret_count, error);
	(void)close(file);
	return status;
}

static void files_hash(const char *bytes, size_t count, uint64_t ret_hash[2])
{
	for (uint64_t i = 0; i < 2; i++)
		ret_hash[i] = hash_bytes(hash_mix(UINT64_C(0x66696c6573), i), bytes, count); /* "files" */
}

static troupe_status files_read_again(const struct files *files, const struct files_entry *left, char **ret_bytes,
	size_t *ret_count, struct troupe_error *error)
{
	if (files->source)
		return files->source->fetch(files->source->ctx, left->path, ret_bytes, ret_count, error);
	if (files->closed)
		return fail(error, TROUPE_EIO, "%s: its content was left out", left->path);
	return files_read_disk(files, left->path, left->count, ret_bytes, ret_count, error);
}

/* Reads a file that was left. */
static troupe_status files_read_left(const struct files *files, const struct files_entry *left, char **ret_bytes,
	size_t *ret_count, struct troupe_error *error)
{
	uint64_t hash[2];
	troupe_status status = files_read_again(files, left, ret_bytes, ret_count, error);
	if (status == TROUPE_OK)
		files_hash(*ret_bytes, *ret_count, hash);
	if (status == TROUPE_OK && *ret_count == left->count && !memcmp(hash, left->hash, sizeof hash))
		return TROUPE_OK;
	if (status == TROUPE_OK)
		free(*ret_bytes);
	if (status == TROUPE_EIO || status == TROUPE_EINTERNAL || status == TROUPE_EPEER)
		return status;
	return fail(
		error, TROUPE_EIO, "%s: it has changed since the world was loaded: expected the same file", left->path);
}

/* The set owns the bytes from then on. */
static troupe_status files_keep(struct files *files, const char *path, char *bytes, size_t count)
{
	files_add(files, path, NULL, 0);
	struct files_entry *entry = files_find(files, path);
	entry->bytes = bytes;
	entry->count = count;
	return TROUPE_OK;
}

/* Reads what is not kept. given: the user has named the file. */
static troupe_status files_fetch(
	struct files *files, const char *path, size_t bytes_max, bool given, struct troupe_error *error)
{
	char *bytes;
	size_t count;
	const struct files_entry *known = files->before ? files_find(files->before, path) : NULL;
	struct files_entry *entry = files_find(files, path);
	if (known && files_has_bytes(known)) {
		files_add_entry(files, known);
		return TROUPE_OK;
	}
	const struct files *of = known ? files->before : files;
	const struct files_entry *left = known ? known : entry;
	if (left && left->left) {
		troupe_status status = left->count > bytes_max ? fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes",
									 path, bytes_max)
							       : files_read_left(of, left, &bytes, &count, error);
		return status ? status : files_keep(files, path, bytes, count);
	}
	if (files->closed || (known && known->absent) || (entry && entry->absent))
		return fail(error, TROUPE_EIO,
			"%s: not among the kept files: expected a file that the state or recording holds", path);
	troupe_status status = given ? infile_read(path, bytes_max, &bytes, &count, error)
				     : files_read_disk(files, path, bytes_max, &bytes, &count, error);
	return status ? status : files_keep(files, path, bytes, count);
}

static troupe_status files_read_any(struct files *files, const char *path, size_t bytes_max, bool given,
	const char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	struct files_entry *entry = files_find(files, path);
	if (entry && entry->squeezed.count) {
		entry->bytes = squeeze_undo(&entry->squeezed, entry->count);
		text_fini(&entry->squeezed);
	}
	troupe_status status = entry && entry->bytes ? TROUPE_OK : files_fetch(files, path, bytes_max, given, error);
	if (status)
		return status;
	entry = files_find(files, path);
	entry->apart = false; /* it has another use */
	if (entry->count > bytes_max)
		return fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", path, bytes_max);
	*ret_bytes = entry->bytes;
	*ret_count = entry->count;
	return TROUPE_OK;
}

troupe_status files_read(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error)
{
	return files_read_any(files, path, bytes_max, false, ret_bytes, ret_count, error);
}

troupe_status files_read_given(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error)
{
	return files_read_any(files, path, bytes_max, true, ret_bytes, ret_count, error);
}

void files_leave(struct files *files, const char *path)
{
	struct files_entry *entry = files_find(files, path);
	if (!entry || !entry->bytes || files->closed || files->before)
		return;
	if (!entry->left && !entry->apart)
		files_hash(entry->bytes, entry->count, entry->hash);
	entry->left = true;
	free(entry->bytes);
	entry->bytes = NULL;
}

void files_set_apart(struct files *files, const char *path, const void *note, size_t count)
{
	struct files_entry *entry = files_find(files, path);
	if (!entry || !entry->bytes || entry->apart)
		return;
	files_hash(entry->bytes, entry->count, entry->hash);
	free(entry->note);
	entry->note = mem_alloc(count + 1);
	memcpy(entry->note, note, count);
	entry->note_count = count;
	entry->apart = true;
}

const char *files_note(const struct files *files, const char *path, size_t *ret_count)
{
	const struct files_entry *entry = files_find(files, path);
	if (!entry || !entry->apart)
		return NULL;
	*ret_count = entry->note_count;
	return entry->note;
}

troupe_status files_give(const struct files *files, const char *path, struct text *out, struct troupe_error *error)
{
	const struct files_entry *entry = files_find(files, path);
	char *bytes = NULL;
	size_t count;
	if (!entry || !entry->apart)
		return fail(error, TROUPE_EIO, "%s: not among the files that are sent when they are needed", path);
	troupe_status status = entry->bytes ? TROUPE_OK : files_read_left(files, entry, &bytes, &count, error);
	if (status)
		return status;
	text_add_bytes(out, entry->bytes ? entry->bytes : bytes, entry->count);
	free(bytes);
	return TROUPE_OK;
}

void files_squeeze(struct files *files, const char *path)
{
	enum { FEW = 1 << 14 };
	struct files_entry *entry = files_find(files, path);
	if (!entry || !entry->bytes || entry->apart || entry->count < FEW || entry->count >= UINT32_MAX)
		return;
	squeeze(entry->bytes, entry->count, &entry->squeezed);
	free(entry->bytes);
	entry->bytes = NULL;
}

troupe_status files_recall(struct files *files, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < files->before->all.count && !status; i++) {
		const struct files_entry *entry = &files->before->all.at[i];
		const char *bytes;
		size_t count;
		if (entry->left && !entry->bytes)
			status = files_read(files, entry->path, entry->count, &bytes, &count, error);
	}
	return status;
}

/* --- packed ------------------------------------------------------------------------------------------------------- */

enum { PACKED_FOUND, PACKED_READ, PACKED_ABSENT, PACKED_APART };

static void files_pack_entry(const struct files_entry *entry, struct text *out)
{
	char *own = NULL;
	bool has = files_has_bytes(entry);
	pack_string(out, entry->path);
	pack_u64(out, entry->absent ? PACKED_ABSENT : has ? PACKED_READ : PACKED_FOUND);
	pack_bytes(out, has ? files_bytes(entry, &own) : NULL, has ? entry->count : 0);
	free(own);
}

void files_pack(const struct files *files, struct text *out)
{
	pack_u64(out, files->all.count);
	for (uint32_t i = 0; i < files->all.count; i++)
		files_pack_entry(&files->all.at[i], out);
}

static void files_pack_entry_apart(const struct files_entry *entry, struct text *out)
{
	pack_string(out, entry->path);
	pack_u64(out, PACKED_APART);
	pack_bytes(out, entry->note, entry->note_count);
	pack_u64(out, entry->count);
	pack_u64(out, entry->hash[0]);
	pack_u64(out, entry->hash[1]);
}

/* apart: see files_pack_apart(). */
static void files_pack_two(const struct files *files, const struct files *more, bool apart, struct text *out)
{
	uint64_t count = files->all.count;
	for (uint32_t i = 0; i < more->all.count; i++)
		count += !files_find(files, more->all.at[i].path);
	pack_u64(out, count);
	for (uint32_t i = 0; i < files->all.count; i++) {
		const struct files_entry *entry = &files->all.at[i], *other = files_find(more, entry->path);
		bool kept = files_has_bytes(entry) || entry->absent || !other || other->absent;
		if (apart && entry->apart && !(other && files_has_bytes(other)))
			files_pack_entry_apart(entry, out);
		else
			files_pack_entry(kept ? entry : other, out);
	}
	for (uint32_t i = 0; i < more->all.count; i++)
		if (!files_find(files, more->all.at[i].path))
			files_pack_entry(&more->all.at[i], out);
}

void files_pack_both(const struct files *files, const struct files *more, struct text *out)
{
	files_pack_two(files, more, false, out);
}

void files_pack_apart(const struct files *files, const struct files *more, struct text *out)
{
	files_pack_two(files, more, true, out);
}

static void files_unpack_apart(
	struct files *files, const char *path, const char *note, size_t note_count, struct unpack *in)
{
	uint64_t count = unpack_u64(in), hash[2] = {unpack_u64(in), 0};
	hash[1] = unpack_u64(in);
	if (in->bad || files_find(files, path))
		return;
	struct files_entry *entry = files_new(files, path, false);
	entry->note = mem_alloc(note_count + 1);
	memcpy(entry->note, note, note_count);
	entry->note_count = note_count;
	entry->count = count;
	memcpy(entry->hash, hash, sizeof hash);
	entry->apart = entry->left = true;
}

void files_unpack(struct files *files, struct unpack *in)
{
	uint32_t count = unpack_count(in, UINT32_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		char *path = unpack_string(in);
		uint32_t kind = unpack_count(in, PACKED_APART);
		size_t bytes;
		const char *at = unpack_bytes(in, &bytes);
		if (!in->bad && kind == PACKED_ABSENT)
			files_add_absent(files, path);
		else if (!in->bad && kind == PACKED_APART)
			files_unpack_apart(files, path, at, bytes, in);
		else if (!in->bad)
			files_add(files, path, kind == PACKED_READ ? at : NULL, bytes);
		free(path);
	}
	files->closed = true;
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
		if (!files->all.at[i].absent && !strncmp(path, folder, length) && *rest == '/')
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
	if (!files->closed && (!files->places || files_allows(files->places, folder)))
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
