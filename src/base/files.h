/* Files as they were read: an open set reads from the file system and keeps what it was asked for, which counts from
 * then on, whatever becomes of the file system; a closed set is all that there is, so that what was loaded once can be
 * loaded again, elsewhere, to the same end.
 *
 * Zeroed is open and empty. Paths are taken as they are written. Not thread-safe. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/map.h"
#include "base/pack.h"

enum files_kind { FILES_NOTHING, FILES_FILE, FILES_FOLDER };

struct files_entry {
	char *path;
	char *bytes; /* terminated; NULL: it was looked for and found, but not read */
	size_t count;
};

struct files {
	VEC(struct files_entry) all; /* in the order in which they were first asked for */
	struct map by_path;          /* value: index in all */
	bool closed;
	struct files *before; /* a set that is asked before the file system is; what is found there is kept here too */
};

/* What is there. In a closed set, a folder is what some file's path begins with. */
enum files_kind files_look(struct files *files, const char *path);
/* The whole file, terminated; *ret_bytes stays the set's. Errors as text_read_file(). */
troupe_status files_read(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error);
/* Puts a file into a set; bytes (NULL: it is there, but has not been read) are copied. One that is there already stays,
 * but for its bytes if it had none. */
void files_add(struct files *files, const char *path, const char *bytes, size_t count);
void files_fini(struct files *files);

void files_pack(const struct files *files, struct text *out);
/* Into an empty set, which is then closed. */
void files_unpack(struct files *files, struct unpack *in);

#endif
