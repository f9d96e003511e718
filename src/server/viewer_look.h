/* What a viewer needs beside triangles to show a mesh as the cameras see it: texture coordinates, materials, and the
 * files of images. These are passed on as they are, PNG or JPEG; only the cube map of a sky is decoded, in the
 * importer's child. */
#ifndef SERVER_VIEWER_LOOK_H
#define SERVER_VIEWER_LOOK_H

#include "base/files.h"
#include "mesh/mesh.h"
#include "server/clients.h"

enum {
	VIEWER_LOOK_IMAGES_MAX = 64,            /* of one mesh */
	VIEWER_LOOK_IMAGE_BYTES_MAX = 16 << 20, /* of one image */
	VIEWER_LOOK_FACE_MAX = 512,             /* pixels along the edge of a face of a cube map */
	VIEWER_LOOK_ALL_BYTES_MAX = 32 << 20,   /* of all images of a mesh */
};

/* Appends fields to an encoded troupe.msgs.Mesh. whole: the mesh file, which has the embedded images; shown: the part
 * of it that the message has; path: of the file. An image that cannot be had is left out. */
void viewer_look_add(
	const struct mesh *whole, const struct mesh *shown, const char *path, struct files *files, struct text *out);

/* gz.msgs.StringMsg, the path of a map of some material or heightmap of the scene, or of its cube map, gives a
 * troupe.msgs.ImageFile. Other files are not read. */
extern const struct query_ops ask_image;

#endif
