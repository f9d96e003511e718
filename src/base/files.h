/* Sets of files as they were read. An open set reads from the file system and keeps what it reads; from then on the
 * kept content counts, whatever happens to the file system. It also keeps which files were not there. A closed set
 * never reads the file system, so that a world that was loaded once can be loaded again elsewhere with the same result.
 *
 * The author of a world chooses the names of files, and what is read goes into recordings and states, and to other
 * machines. So an open set reads plain files with content only (base/text.h), and, if it has places, only below these
 * folders, wherever links lead.
 *
 * Zeroed is open and empty, and has no places. Paths are compared as they are written. One thread at a time; a set that
 * no thread changes may be the `before` of sets of several threads. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/arena.h"
#include "base/files_places.h"
#include "base/infile.h"
#include "base/map.h"
#include "base/pack.h"

enum { FILES_LISTED_MAX = 20000 };

enum files_kind {
	FILES_NOTHING,
	FILES_FILE,
	FILES_FOLDER,
	FILES_REFUSED, /* it is there, but may not be read: it is outside of the places, or no plain file */
};

struct files_entry {
	char *path;
	char *bytes;          /* terminated; NULL: squeezed, or the file was found but not read, or is absent */
	struct text squeezed; /* files_squeeze(): the bytes, until they are read again; not empty then */
	size_t count;
	bool absent; /* it was looked for, and could not be read */
	bool left;   /* files_leave(): the bytes are read again when they are needed, and must have this hash */
	bool apart;  /* files_set_apart(): files_pack_apart() leaves the bytes out */
	uint64_t hash[2];
	char *note; /* of files_set_apart(); NULL: none */
	size_t note_count;
};

/* Where a set that was unpacked gets the bytes of files that were left out. */
struct files_source {
	/* Any thread; may take as long as a network does. The caller frees *ret_bytes. */
	troupe_status (*fetch)(
		void *ctx, const char *path, char **ret_bytes, size_t *ret_count, struct troupe_error *error);
	void *ctx;
};

struct files {
	VEC(struct files_entry) all; /* in the order in which they were first asked for */
	struct map by_path;          /* value: index in all */
	struct map folders;          /* of the files that are not absent; owns its names */
	VEC(char *) folder_names;
	bool closed;
	struct files *before; /* a set that is searched before the file system; what is found in it is kept here too */
	const struct files_places *places; /* lent; NULL: files may be read anywhere */
	const struct files_source *source; /* lent; NULL: files that were left out cannot be read */
};

/* What the path names. In a closed set, a path with which the path of a file begins is a folder. */
enum files_kind files_look(struct files *files, const char *path);
/* The whole file, terminated; the set owns *ret_bytes. As infile_read_plain(); TROUPE_EIO also for a file outside
 * of the places. */
troupe_status files_read(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error);
/* The same for a file that the user has named, which may be anywhere, and also a pipe. */
troupe_status files_read_given(struct files *files, const char *path, size_t bytes_max, const char **ret_bytes,
	size_t *ret_count, struct troupe_error *error);
/* Frees the bytes of a file that an open set without `before` has read. They are read from the file system again by
 * files_read(), also through sets of which this one is the `before`; TROUPE_EIO if they are others then. Nothing in
 * other sets. */
void files_leave(struct files *files, const char *path);
/* Marks a file whose bytes few need, with a note (copied) for readers that do without the bytes. Another
 * files_read() of this set takes the mark away; files_read() of a set of which this one is the `before` does not. */
void files_set_apart(struct files *files, const char *path, const void *note, size_t count);
/* The note of a file that is set apart, also where its bytes were left out; NULL: it is not. */
const char *files_note(const struct files *files, const char *path, size_t *ret_count);
/* Appends the bytes of a file that is set apart. TROUPE_EIO: it is not, or has changed. */
troupe_status files_give(const struct files *files, const char *path, struct text *out, struct troupe_error *error);
/* Keeps the bytes of a file in less memory (base/squeeze.h) until files_read() reads it from this set; sets of which
 * this one is the `before` get copies. What the set says about the file stays the same. Nothing for a file without
 * bytes, or with few of them. */
void files_squeeze(struct files *files, const char *path);
/* Reads into a set all files that its `before` has left, so that both can be packed. */
troupe_status files_recall(struct files *files, struct troupe_error *error);
/* The names in a folder, in the order of their bytes, at most FILES_LISTED_MAX: those on the file system, unless the
 * set is closed, and those that the set has. A folder that cannot be read, or is outside of the places, has none. List
 * and names live in the arena. */
uint32_t files_list(const struct files *files, const char *folder, struct arena *arena, const char *const **ret_names);
/* Puts a file into a set and copies its bytes (NULL: the file exists but has not been read). A file that is already
 * in the set keeps its bytes, or stays absent; it gets these only if it had none. */
void files_add(struct files *files, const char *path, const char *bytes, size_t count);
/* Puts all files of another set into a set: files_add() for each; what is absent there is absent here, too. */
void files_add_all(struct files *files, const struct files *more);
/* The same, but what differs in the other set replaces what is in this one. */
void files_replace_all(struct files *files, const struct files *more);
/* Whether the set has this file as it is, with the same bytes, or has it as absent, too. */
bool files_holds(const struct files *files, const struct files_entry *entry);
/* Whether two entries are both absent, or both there; and if both have bytes, equal ones. */
bool files_same(const struct files_entry *a, const struct files_entry *b);
/* Whether the other set has a file with other bytes, or absent where this one has it, or the other way round. */
bool files_differ(const struct files *files, const struct files *more);
void files_fini(struct files *files);

void files_pack(const struct files *files, struct text *out);
/* The same as if all files of `more` were in the set. */
void files_pack_both(const struct files *files, const struct files *more, struct text *out);
/* As files_pack_both(), without the bytes of files that are set apart, unless `more` has them. The set that is unpacked
 * gets these bytes from its `source`, and takes none with another hash. */
void files_pack_apart(const struct files *files, const struct files *more, struct text *out);
/* Adds what was packed, and closes the set. */
void files_unpack(struct files *files, struct unpack *in);

#endif
