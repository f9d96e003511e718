/* What the parts of a mesh look like, as the mesh file says: MTL of OBJ, the effects of COLLADA, the materials of glTF.
 *
 * Ownership: the arena of the mesh. */
#ifndef MESH_MATERIAL_H
#define MESH_MATERIAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	MESH_MATERIALS_MAX = 4096,
	MESH_EMBEDDED_MAX = 256, /* images inside a mesh file */
	MESH_MAP_NAME_MAX = 1024,
	MESH_SHININESS_MAX = 1000000,
};

enum mesh_map { MESH_ALBEDO, MESH_NORMAL, MESH_ROUGHNESS, MESH_METALNESS, MESH_EMISSIVE, MESH_MAPS };

enum mesh_alpha {
	MESH_ALPHA_BLENDED, /* the alpha of colour and texture is the opacity */
	MESH_ALPHA_CUT,     /* a texel is seen if its alpha is at least `cutoff` */
	MESH_ALPHA_IGNORED,
};

struct mesh_material {
	const char *name;
	double diffuse[4], specular[3], emissive[3]; /* 0 to 1; diffuse[3]: opacity */
	double shininess;                            /* exponent of the specular reflection */
	bool metallic;                               /* glTF: the next two count, and specular and shininess do not */
	double roughness, metalness;                 /* 0 to 1 */
	bool double_sided;
	enum mesh_alpha alpha;
	double cutoff;
	/* The textures: the name of a file as written, or "*N": the image N of those embedded; NULL: none. Roughness
	 * and metalness may be the same texture; its channels are green and blue then, as in glTF. */
	const char *maps[MESH_MAPS];
};

#endif
