/* Reads mesh and image files in a child process (base/sandbox.h). On a damaged file the libraries that read them may
 * crash, loop or ask for all memory, and such a file must not end the run.
 *
 * The child is started for the first file, reads one file after the other as long as no error stops it, and ends with
 * the importer; between two files it sleeps. It is a child of a thread that belongs to the importer: a child ends with
 * the thread that started it, and threads that ask may end. The child opens no file: if a file names other files (a
 * material, a buffer), the parent reads them, from the same set. If the child dies on a file, a new child reads this
 * file again, unless it was the first file of the dead child. A child is a copy of the parent. So an importer that is
 * kept for long should read its first file early, while the parent uses little memory.
 *
 * Pure except for its failures: the same files give the same mesh or image, number by number and in the same order.
 * Units: metres, after the unit and the node transforms of the file.
 * Thread: importer_mesh(), importer_image(), importer_texture() and importer_cube() any, with files, losses and results
 * of its own; they block until the file is read. Files are read one at a time: there is one child, however many threads
 * ask. importer_destroy(): when no thread asks.
 *
 * Errors. Their texts name no file.
 *   TROUPE_EIO        no such file
 *   TROUPE_ELIMIT     the file, or its mesh or image, is too large
 *   TROUPE_EWORLD     no mesh or image of a known kind, or troupe was built without meshes
 *   TROUPE_EINTERNAL  the child or its thread could not start, the child died, or reached a limit. On another machine,
 *                     or at another time, this may not happen. So a caller that goes on without the mesh may have
 *                     another world than its peers. */
#ifndef MESH_IMPORTER_H
#define MESH_IMPORTER_H

#include "base/files.h"
#include "mesh/image.h"
#include "mesh/mesh.h"
#include "mesh/texture.h"

/* Limits of the child, for each file, unless TROUPE_MESH_MEMORY_MIB or TROUPE_MESH_CPU_S in the environment of the
 * process has another number. A mesh of MESH_TRIANGLES_MAX needs a part of both. */
enum {
	IMPORTER_MEMORY_MIB = 1024,
	IMPORTER_MEMORY_MIB_MAX = 1 << 20,
	IMPORTER_CPU_S = 30,
	IMPORTER_CPU_S_MAX = 86400,
};

struct importer;

/* Does not start the child yet. */
struct importer *importer_create(void);
void importer_destroy(struct importer *importer); /* NULL is fine */
/* The file that is being read is given up, and no other one is read. Any thread. NULL is fine. */
void importer_give_up(struct importer *importer);

/* The failures with the files of one world or model; zeroed: none yet. If a file took too long, or the child died on 50
 * files, no more files of that world or model are read: otherwise a world of many such files would be refused only
 * after hours. */
struct importer_losses {
	uint32_t deaths;
	bool over; /* no more files are read */
};

/* The suffix selects the reader: obj, stl, dae, glb, gltf. *ret_mesh must be empty; on failure it is empty again. The
 * mesh is welded, unless the file has taken over the child: mesh_cut() welds every mesh. */
troupe_status importer_mesh(struct importer *importer, struct importer_losses *losses, struct files *files,
	const char *path, struct mesh *ret_mesh, struct troupe_error *error);
/* The content selects the reader: PNG or JPEG. */
troupe_status importer_image(struct importer *importer, struct importer_losses *losses, struct files *files,
	const char *path, struct image *ret_image, struct troupe_error *error);
/* The same in colour, of bytes: those of a file that the caller has read, or of an image inside a mesh file. The same
 * bytes give the same texture while somebody uses it. The caller releases it. */
troupe_status importer_texture(struct importer *importer, struct importer_losses *losses, const char *bytes,
	size_t count, struct texture **ret_texture, struct troupe_error *error);
/* The same of a cube map: a DDS file, or a PNG or JPEG of six squares one below the other (mesh/cube.h). */
troupe_status importer_cube(struct importer *importer, struct importer_losses *losses, const char *bytes, size_t count,
	struct texture **ret_texture, struct troupe_error *error);
/* How many textures of this importer are in use, and how many bytes they take. */
uint32_t importer_count_textures(struct importer *importer, uint64_t *ret_bytes);

#endif
