/* Sets of files as they were read. An open set reads from the file system and keeps what it reads; from then on the
 * kept content counts, whatever happens to the file system. A closed set never reads the file system, so that a world
 * that was loaded once can be loaded again elsewhere with the same result.
 *
 * Zeroed is open and empty. Paths are compared as they are written. One thread at a time; a set that no thread changes
 * may be the `before` of sets of several threads. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/pack.h"

enum { FILES_LISTED_MAX = 20000 };

enum files_kind { FILES_NOTHING, FILES_FILE, FILES_FOLDER };

struct files_entry {
	char *path;
	char *bytes; /* terminated; NULL: the file was found but not read */
	size_t count;
};

struct files {
	VEC(struct files_entry) all; /* in the order in which they were first asked for */
	struct map by_path;          /* value: index in all */
	bool closed;
	struct files *before; /* a set that is searched before the file system; what is found in it is kept here too */
};

/* What the path names. In a closed set, a path with which the path of a file begins is a folder. */
enum files_kind files_look(struct files *files, const char *path);
/* The whole file, terminated; the set owns *ret_bytes. Errors as text_read_file(). */
troupe_status files_read(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error);
/* The names in a folder, in the order of their bytes, at most FILES_LISTED_MAX: those on the file system, unless the
 * set is closed, and those that the set has. A folder that cannot be read has none. List and names live in the arena.
 */
uint32_t files_list(const struct files *files, const char *folder, struct arena *arena, const char *const **ret_names);
/* Puts a file into a set and copies its bytes (NULL: the file exists but has not been read). A file that is already
 * in the set keeps its bytes; it gets these only if it had none. */
void files_add(struct files *files, const char *path, const char *bytes, size_t count);
/* Puts all files of another set into a set: files_add() for each. */
void files_add_all(struct files *files, const struct files *more);
void files_fini(struct files *files);

void files_pack(const struct files *files, struct text *out);
/* The same as if all files of `more` were in the set. */
void files_pack_both(const struct files *files, const struct files *more, struct text *out);
/* Unpacks into an empty set and closes it. */
void files_unpack(struct files *files, struct unpack *in);

#endif
