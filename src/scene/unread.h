/* Meshes and heightmaps that were left unread when the world was loaded (struct sdf_far): triangles of static models
 * that levels name. They are read when their level is loaded, by a thread of their own, and in any case before the
 * first contact with them is computed: the thread that needs one waits until it is read. So when a mesh is read, and by
 * which thread, changes no bit. They are given up again when their levels have been unloaded for a while and nothing
 * has touched them.
 *
 * A file has at all times the content that it had when the world was loaded (base/files.h). A file that the reader
 * refuses gives one warning, and the model is without that shape, on every machine. If the process that reads files
 * dies or reaches a limit, or a file has changed, unread_error() has the reason from then on, and the step must fail.
 *
 *                 get   want   leave   free_old     X needs outside exclusion
 *   get            -     -       -        X         get: any thread; may take as long as to read the file
 *   want, leave,
 *   keep           -     -       -        X         any thread; at once
 *   free_old       X     X       X        X         the primary, or a replica, between steps */
#ifndef SCENE_UNREAD_H
#define SCENE_UNREAD_H

#include "geom/geom.h"
#include "mesh/importer.h"
#include "mesh/trimesh.h"
#include "sdf/sdf.h"

#define UNREAD_KEEP_S                                                                                                  \
	5.0 /* simulated time for which a mesh is kept that no loaded level needs, and nothing touches                 \
	     */

struct unread;
struct unread_mesh;

struct unread_options {
	struct importer *importer;
	struct files *files; /* of the world; only unread_rest() may be called while they change */
};

struct unread_counts {
	uint32_t meshes;          /* all */
	uint32_t read;            /* that are in memory now */
	uint64_t bytes;           /* of these */
	uint64_t reads, given_up; /* so far */
	uint64_t waits;           /* gets that had to wait for a file */
};

/* The options are copied; what they point to must outlive the store. Starts no thread yet. */
struct unread *unread_create(const struct unread_options *options);
void unread_destroy(struct unread *unread); /* NULL is fine */

/* The mesh of a shape with shape->far, which must outlive the store; the same for each shape with the same `far`. While
 * the scene is compiled. */
struct unread_mesh *unread_add(struct unread *unread, const struct sdf_shape *shape);
/* Holds the mesh, in its frame. */
struct aabb unread_box(const struct unread_mesh *mesh);

/* The triangles. NULL: they were refused, or cannot be read. Valid until unread_free_old(). */
const struct trimesh *unread_get(struct unread_mesh *mesh);
/* The box of the triangles; AABB_NONE: there are none. Reads them if they were never read. */
struct aabb unread_exact_box(struct unread_mesh *mesh);

/* A level that needs the mesh was loaded, or unloaded. Calls are counted. */
void unread_want(struct unread_mesh *mesh);
void unread_leave(struct unread_mesh *mesh);
/* As unread_want(), for good: its model has become as those whose meshes were read at once. */
void unread_keep(struct unread_mesh *mesh);
/* The file of the first mesh from *at on that is kept; *at is behind it then. NULL: there is none. Any thread. */
const char *unread_kept_file(struct unread *unread, uint32_t *at);
/* Gives up meshes that nothing has used for UNREAD_KEEP_S. Simulated time in s; time that runs backwards (a reset) is
 * the same as no time. */
void unread_free_old(struct unread *unread, double time_s);

/* TROUPE_OK, or why a mesh cannot be read. Any thread. */
troupe_status unread_error(struct unread *unread, struct troupe_error *error);
/* The next warning that was not taken yet. The caller frees the text. NULL: there is none. Any thread. */
char *unread_take_warning(struct unread *unread);
struct unread_counts unread_counts(struct unread *unread); /* any thread */
/* true: no file is read from now on, until the call with false; for a change of the options' files. */
void unread_rest(struct unread *unread, bool rest);

#endif
