/* Reads mesh and image files, in a process of its own (base/sandbox.h): the libraries that read them crash, loop and
 * ask for all memory when a file is damaged, and such a file must not end the run.
 *
 * The process begins with the first file, reads one file after the other for as long as all goes well, and ends with
 * the importer; between two files it sleeps. It opens nothing: this process reads the files that a file names (a
 * material, a buffer) for it, from the same set. A file on which it dies is tried again in a new process, unless it was
 * the first file of its process. The process is a copy of this one, so that an importer that is kept for long should
 * read its first file early, while there is little memory.
 *
 * Pure but for its failures: the same files give the same mesh or image, number by number and in the same order.
 * Units: those of the file after its own unit and node transforms, so metres.
 * Thread: one at a time. It blocks until the file is read. The process may have other threads.
 *
 * Errors. Their texts name no file.
 *   TROUPE_EIO        no such file
 *   TROUPE_ELIMIT     the file, or its mesh or image, is too large
 *   TROUPE_EWORLD     no mesh or image of a known kind; also when troupe was built without meshes
 *   TROUPE_EINTERNAL  the process could not start, died, or reached a limit. On another machine or at another time it
 *                     might not have: whoever goes on without the mesh may have another world than its peers */
#ifndef MESH_IMPORTER_H
#define MESH_IMPORTER_H

#include "base/files.h"
#include "mesh/image.h"
#include "mesh/mesh.h"

/* Of the process, for each file. A mesh of MESH_TRIANGLES_MAX takes a small part of both. */
enum { IMPORTER_MEMORY_MIB = 4096, IMPORTER_CPU_S = 120 };

struct importer;

/* Starts nothing yet. */
struct importer *importer_create(void);
void importer_destroy(struct importer *importer); /* NULL is fine */

/* A new world, or model, of which files are read. Until the next call no file is read any more after one that took too
 * long, or after 50 on which the process died: else a world of many such files would be refused only after hours. */
void importer_begin(struct importer *importer);

/* By suffix: obj, stl, dae, glb, gltf. *ret_mesh must be empty, and is so again on failure. It is welded, unless the
 * file has taken over the process that read it: mesh_cut() welds whatever it is given. */
troupe_status importer_mesh(struct importer *importer, struct files *files, const char *path, struct mesh *ret_mesh,
	struct troupe_error *error);
/* By content: PNG or JPEG. */
troupe_status importer_image(struct importer *importer, struct files *files, const char *path, struct image *ret_image,
	struct troupe_error *error);

#endif
