/* The folders below which files may be read. Zeroed has none, and allows none. */
#ifndef BASE_FILES_PLACES_H
#define BASE_FILES_PLACES_H

#include "base/base.h"

struct files_places {
	VEC(char *) all; /* without links */
};

/* Adds a folder; one that does not exist adds nothing. NULL or "": the present folder. */
void files_allow(struct files_places *places, const char *folder);
/* Adds the folder of a file; and if the file belongs to a package of ROS or to a model of Gazebo, which has a
 * package.xml, manifest.xml or model.config in that folder or one of the two above it, the folder of the package; so
 * does the folder above one that is named urdf, xacro, robots or sdf. */
void files_allow_around(struct files_places *places, const char *path);
void files_allow_all(struct files_places *places, const struct files_places *more);
/* Whether the folder or file, which exists, is one of the places or below one. */
bool files_allows(const struct files_places *places, const char *path);
/* The same for a file that was opened by this path, wherever the path leads now. */
bool files_allows_open(const struct files_places *places, int file, const char *path);
void files_places_fini(struct files_places *places);

#endif
