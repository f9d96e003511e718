/* Models and worlds of Fuel, the server for Gazebo's files: the addresses by which worlds name them, and the caches in
 * which Gazebo's tools keep what they have fetched. Nothing is fetched here.
 *
 * A cache is a folder with SERVER/OWNER/models/NAME/VERSION/, and worlds/ beside models/. Fuel does not distinguish
 * upper and lower case. */
#ifndef SDF_FUEL_H
#define SDF_FUEL_H

#include "base/arena.h"
#include "base/files.h"

struct fuel_address { /* texts in lower case but for `rest`, without %-escapes */
	const char *server, *owner;
	const char *kind; /* "models" or "worlds" */
	const char *name;
	const char *version; /* digits; NULL: the newest */
	const char *rest;    /* a file in the folder of the version; NULL: the folder */
};

/* Whether the text names something on another machine. */
bool fuel_is_remote(const char *uri);
/* An address in any form that Gazebo's tools and pages use, for example
 *     https://fuel.gazebosim.org/1.0/OpenRobotics/models/Ground%20Plane/2/files/meshes/a.dae
 *     https://app.gazebosim.org/OpenRobotics/fuel/models/Ground Plane
 *     fuel://fuel.ignitionrobotics.org/openrobotics/models/sun/tip
 * False: it is not one. The texts live in the arena. */
bool fuel_parse(struct arena *arena, const char *uri, struct fuel_address *ret_address);
/* Whether the address is one of Gazebo's own server (all its names are the same server) and of Gazebo's own models. */
bool fuel_is_gazebo(const struct fuel_address *address);

/* Looks for the address in a folder that may be a cache. *ret_path: in the arena. */
enum files_kind fuel_find(struct files *files, struct arena *arena, const char *cache,
	const struct fuel_address *address, const char **ret_path);
typedef void (*fuel_model_fn)(void *ctx, const char *name, const char *folder);
/* All models in a folder that may be a cache: their names in lower case, and the folders of their versions; of a name
 * that several owners have the one that counts comes first: those of Gazebo's server, and there Gazebo's own. */
void fuel_list(struct files *files, struct arena *arena, const char *cache, fuel_model_fn fn, void *ctx);
/* The folder of the newest version. NULL: it has none. */
const char *fuel_newest(struct files *files, struct arena *arena, const char *folder);
/* If the folder is that of a version of the model in a cache, with which name begins ("ground plane/meshes/a.dae"):
 * where the rest of the name is in it. NULL: it is not. */
const char *fuel_own(struct arena *arena, const char *folder, const char *name);
/* The world in the folder of a version: its first SDF file. NULL: none. */
const char *fuel_world(struct files *files, struct arena *arena, const char *folder);

const char *fuel_lower(struct arena *arena, const char *text);
/* `uri` without its %-escapes. NULL: it has none, or one that means "/" or the end of the text. */
const char *fuel_decode(struct arena *arena, const char *uri);

#endif
