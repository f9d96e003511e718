/* Where the files are that worlds and robots name: beside the file that names them, in the resource paths, in packages
 * of ROS, in the caches of Fuel. Files are looked at through the load's set only, and what is found becomes a part of
 * it. */
#ifndef SDF_PLACES_H
#define SDF_PLACES_H

#include "base/files.h"

struct load;

enum {
	PLACES_PACKAGES_MAX = 20000, /* folders in which packages are searched for */
	PLACES_DEPTH_MAX = 6,        /* of a package below a resource path */
	PLACES_ABOVE_MAX = 8,        /* folders above a file that may be its package */
	PLACES_EXPLAINED_MAX = 20,   /* messages of a load that compare names */
};

struct places {                    /* of a load; zeroed is empty */
	VEC(const char *) folders; /* resource paths, then those of the environment */
	bool listed;               /* folders is complete */
	struct map marks;          /* path of a package.xml that was looked for -> index in mark_names */
	VEC(const char *) mark_names;
	struct map packages; /* name in package.xml -> index in package_folders */
	VEC(const char *) package_folders;
	struct map models; /* of the caches of Fuel, in lower case -> index in model_folders */
	VEC(const char *) model_folders;
	bool crawled, cached; /* packages is complete; models is */
	uint32_t explained;
};

/* What uri means in the file `from`. *ret_path: in the arena of the load. In this order:
 *   the folder of `from`, the folder above it (models refer to their own meshes as model://self/...), for package://
 * also the one above that (PACKAGE/urdf/robot.urdf); the version of a model of Fuel that `from` is part of; the
 * resource paths, then the folders of the environment, in their order; the package whose package.xml has this name:
 * that of `from`, those beside it, those below the resource paths; the caches of Fuel, which are among the folders of
 * the environment, by the name of a model. An address of Fuel is searched for in the caches only. */
enum files_kind places_find(struct load *load, const char *from, const char *uri, const char **ret_path);
/* For a message that says that uri was not found: adds where it was searched for, and names that are like it, with a
 * blank or colon before:
 *      beside w.sdf, above it, in /a or in /b: expected a file or folder that is there, such as "box" or "Box" */
void places_explain(struct load *load, const char *from, const char *uri, struct text *out);
void places_fini(struct places *places);

#endif
