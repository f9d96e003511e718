/* Plug-ins in shared libraries: finds the library of a <plugin filename="X">, loads it, and checks what it exports.
 *
 * X names a file as in Gazebo: X, X.so or libX.so in one of the folders for plug-ins. These are the folders given
 * here, then those of TROUPE_PLUGIN_PATH, then the folder "plugins" beside troupe's own modules. X may be an absolute
 * path, but only into one of these folders: a world is not to be trusted, and must not name the code that runs.
 *
 * A library is first loaded in a child process, so that one that crashes or hangs while it is loaded is an error.
 *
 * Thread: any; a lock makes calls wait for each other. Libraries stay loaded until plugins_destroy(). */
#ifndef SYSTEM_PLUGINS_H
#define SYSTEM_PLUGINS_H

#include "base/pack.h"
#include "sdf/sdf.h"

#include <troupe/plugin.h>

enum {
	PLUGINS_MAX = 65536, /* filenames of a run */
	PLUGIN_KINDS_MAX = 256,
	PLUGIN_NAMES_MAX = 64,        /* of a kind */
	PLUGIN_PARAMETERS_MAX = 1024, /* of a kind */
	PLUGIN_NAME_BYTES_MAX = 127,
	PLUGIN_LOAD_MS = 20000,
};
#define PLUGIN_FILE_BYTES_MAX ((size_t)1 << 30)

struct plugins;

struct plugin_library {
	const char *filename; /* as a world has it */
	const char *path;
	uint64_t hash; /* of the bytes of the file; never 0 */
	const struct troupe_plugin *plugin;
	const struct troupe_kind *const *kinds; /* as in `plugin`, each with all members that this troupe knows */
};

/* A library by which a run was made; hash 0: there was none of that filename, and the plug-in was ignored. */
struct plugin_mark {
	char *filename;
	uint64_t hash;
};
typedef VEC(struct plugin_mark) plugin_marks;

/* folders: searched first; NULL-terminated, each may be a list with colons; may be NULL. Copied. */
struct plugins *plugins_create(const char *const *folders);
/* From now on each <plugin> whose name is that of a kind of this library is taken from it, whatever its filename says.
 */
troupe_status plugins_prefer(struct plugins *plugins, const char *path, struct troupe_error *error);
void plugins_destroy(struct plugins *plugins); /* NULL is fine */

/* The library of the <plugin>; NULL: there is no such file. TROUPE_EWORLD with file:line: there is one, but it cannot
 * be used, or it is not the expected one. plugins: NULL: there are no libraries. */
troupe_status plugins_find(struct plugins *plugins, const struct sdf_plugin *plugin,
	const struct plugin_library **ret_library, struct troupe_error *error);
/* For a warning that the library was not found: adds the folders that were searched, and which names are like its own:
 *     not found in /a or /b: expected a library there, such as "libpush.so"
 * Nothing is added if no library of that name is searched for. */
void plugins_explain(struct plugins *plugins, const char *filename, struct text *out);
/* What plugins_find() found by this filename becomes a part of the run (plugins_list_marks()): the model or world that
 * names it was made. */
void plugins_use(struct plugins *plugins, const char *filename);
/* Loads the file as if a world named it. */
troupe_status plugins_open(struct plugins *plugins, const char *path, const struct plugin_library **ret_library,
	struct troupe_error *error);
/* The kind of that name; NULL: none. */
const struct troupe_kind *plugin_kind(const struct troupe_kind *const *kinds, const char *name);
/* "A, B": the first names of the kinds. */
void plugin_list_kinds(const struct troupe_kind *const *kinds, struct text *out);

/* From now on the library of this filename must have this hash; 0: it counts as not found. It is a part of the run.
 * whose: who has it, in messages: "the primary". The texts are copied. */
void plugins_expect(struct plugins *plugins, const char *filename, uint64_t hash, const char *whose);
/* Whether the library of this filename has this hash here. TROUPE_EWORLD without a place. */
troupe_status plugins_match(
	struct plugins *plugins, const char *filename, uint64_t hash, const char *whose, struct troupe_error *error);
/* Whether the filename is a part of the run; *ret_hash: 0: there is no such library. */
bool plugins_mark(struct plugins *plugins, const char *filename, uint64_t *ret_hash);
/* Whether a library has been loaded. */
bool plugins_are_loaded(struct plugins *plugins);
/* Appends all filenames that are a part of the run, in the order of their bytes. */
void plugins_list_marks(struct plugins *plugins, plugin_marks *marks);
void plugin_marks_pack(const plugin_marks *marks, struct text *out);
void plugin_marks_unpack(plugin_marks *marks, struct unpack *in);
void plugin_marks_fini(plugin_marks *marks);

#endif
