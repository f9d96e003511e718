/* Meshes and images as bytes: the process that reads files (the sender) sends them to the process that asked for
 * them. Both run the same program on the same machine, so numbers are sent as they are in memory. But a hostile file
 * may have taken over the sender. So the receiver checks what it unpacks: it is consistent and within the limits of
 * mesh.h and image.h, or it is refused with TROUPE_EPROTOCOL. */
#ifndef MESH_ANSWER_H
#define MESH_ANSWER_H

#include "base/pack.h"
#include "mesh/image.h"
#include "mesh/mesh.h"
#include "mesh/texture.h"

/* The largest valid answer: all points and corners, two names for a part, each as long as assimp's names can be, the
 * materials with their maps, and embedded images. */
enum { ANSWER_NAME_MAX = 1024 };
#define ANSWER_BYTES_MAX                                                                                               \
	((size_t)MESH_POINTS_MAX * (sizeof(struct vec3) + sizeof(uint32_t) + sizeof(struct mesh_texcoord)) +           \
		(size_t)MESH_PARTS_MAX * (2 * ANSWER_NAME_MAX + 64) +                                                  \
		(size_t)MESH_MATERIALS_MAX * (ANSWER_NAME_MAX + MESH_MAPS * (MESH_MAP_NAME_MAX + 8) + 256) +           \
		MESH_FILE_BYTES_MAX + 8 * (size_t)MESH_EMBEDDED_MAX + 64)
_Static_assert((size_t)IMAGE_SIDE_MAX *IMAGE_SIDE_MAX * sizeof(float) + 64 <= ANSWER_BYTES_MAX, "images fit as well");
_Static_assert(4 * (size_t)TEXTURE_PIXELS_MAX + 64 <= ANSWER_BYTES_MAX, "so do textures");

void answer_pack_mesh(const struct mesh *mesh, struct text *out);
/* *ret_mesh must be empty; on failure it is empty again. */
troupe_status answer_unpack_mesh(const char *bytes, size_t count, struct mesh *ret_mesh, struct troupe_error *error);
void answer_pack_image(const struct image *image, struct text *out);
troupe_status answer_unpack_image(const char *bytes, size_t count, struct image *ret_image, struct troupe_error *error);
void answer_pack_texels(const struct image_texels *texels, struct text *out);
/* cube: expected of the shape of a cube map (mesh/cube.h). */
troupe_status answer_unpack_texels(
	const char *bytes, size_t count, bool cube, struct image_texels *ret_texels, struct troupe_error *error);

#endif
