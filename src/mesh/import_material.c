/* The materials of a mesh file, as assimp has read them. Its keys differ between formats:
 *
 *   OBJ      Kd, Ks, Ke, Ns, d and the maps of MTL
 *   COLLADA  the effect; where a texture stands in place of a colour, assimp leaves a grey, and the colour is white
 *   glTF     base colour, metalness, roughness and their maps
 *
 * The ambient colour of a file is not read: it is white in most files, whatever the modelling program showed, and a
 * surface in ambient light has its diffuse colour. So it is in Gazebo with Ogre 2. */
#include "mesh/import_internal.h"

#ifdef HAVE_MESHES

#include <assimp/GltfMaterial.h>
#include <string.h>

static bool import_material_number(const struct aiMaterial *from, const char *key, double hi, double *value)
{
	ai_real number;
	if (aiGetMaterialFloatArray(from, key, 0, 0, &number, NULL) != aiReturn_SUCCESS)
		return false;
	*value = (double)number >= 0 ? MIN((double)number, hi) : 0; /* 0 for one that is no number, too */
	return true;
}

/* Three or four numbers, 0 to 1. */
static bool import_material_colour(const struct aiMaterial *from, const char *key, double *to, int count)
{
	struct aiColor4D read;
	if (aiGetMaterialColor(from, key, 0, 0, &read) != aiReturn_SUCCESS)
		return false;
	const double numbers[4] = {(double)read.r, (double)read.g, (double)read.b, (double)read.a};
	for (int i = 0; i < count; i++)
		to[i] = numbers[i] >= 0 ? MIN(numbers[i], 1) : 0;
	return true;
}

/* The first texture of one of these kinds. NULL: none. */
static const char *import_material_map(
	const struct aiMaterial *from, const enum aiTextureType kinds[2], struct arena *arena, unsigned *ret_channel)
{
	struct aiString name;
	unsigned channel = 0;
	for (int i = 0; i < 2; i++)
		if (aiGetMaterialTexture(from, kinds[i], 0, &name, NULL, &channel, NULL, NULL, NULL, NULL) ==
				aiReturn_SUCCESS &&
			name.length > 0 && name.length <= MESH_MAP_NAME_MAX) {
			*ret_channel = channel;
			return arena_printf(arena, "%.*s", (int)name.length, name.data);
		}
	return NULL;
}

static void import_material_read_maps(
	const struct aiMaterial *from, struct arena *arena, struct mesh_material *to, unsigned *ret_channel)
{
	static const enum aiTextureType kinds[MESH_MAPS][2] = {
		[MESH_ALBEDO] = {aiTextureType_BASE_COLOR, aiTextureType_DIFFUSE},
		[MESH_NORMAL] = {aiTextureType_NORMALS, aiTextureType_NORMAL_CAMERA},
		[MESH_ROUGHNESS] = {aiTextureType_DIFFUSE_ROUGHNESS, aiTextureType_UNKNOWN},
		[MESH_METALNESS] = {aiTextureType_METALNESS, aiTextureType_UNKNOWN},
		[MESH_EMISSIVE] = {aiTextureType_EMISSIVE, aiTextureType_EMISSION_COLOR}};
	unsigned channel;
	for (int m = 0; m < MESH_MAPS; m++) {
		bool of_metal = m == MESH_ROUGHNESS || m == MESH_METALNESS;
		to->maps[m] = of_metal && !to->metallic ? NULL : import_material_map(from, kinds[m], arena, &channel);
		if (m == MESH_ALBEDO && to->maps[m])
			*ret_channel = channel;
	}
}

static void import_material_read_alpha(const struct aiMaterial *from, struct mesh_material *to)
{
	struct aiString mode;
	double opacity = 1;
	/* some exporters of COLLADA write the transparency as the opacity: a part that cannot be seen is none */
	if (import_material_number(from, "$mat.opacity", 1, &opacity) && opacity > 0)
		to->diffuse[3] = opacity;
	if (aiGetMaterialString(from, AI_MATKEY_GLTF_ALPHAMODE, &mode) != aiReturn_SUCCESS)
		return;
	to->cutoff = 0.5;
	(void)import_material_number(from, "$mat.gltf.alphaCutoff", 1, &to->cutoff);
	to->alpha = !strcmp(mode.data, "BLEND")  ? MESH_ALPHA_BLENDED
		    : !strcmp(mode.data, "MASK") ? MESH_ALPHA_CUT
						 : MESH_ALPHA_IGNORED;
	if (to->alpha == MESH_ALPHA_IGNORED)
		to->diffuse[3] = 1;
}

struct mesh_material import_material(
	const struct aiMaterial *from, enum import_kind kind, struct arena *arena, unsigned *ret_channel)
{
	struct aiString name = {0};
	struct mesh_material to = {.diffuse = {1, 1, 1, 1}, .roughness = 1, .metalness = 1};
	int two_sided = 0;
	(void)aiGetMaterialString(from, AI_MATKEY_NAME, &name);
	to.name = arena_printf(arena, "%.*s", (int)MIN(name.length, (ai_uint32)IMPORT_NAME_MAX), name.data);
	to.metallic = kind == IMPORT_GLTF;
	if (!(to.metallic && import_material_colour(from, "$clr.base", to.diffuse, 4)))
		(void)import_material_colour(from, "$clr.diffuse", to.diffuse, 3);
	if (!to.metallic) {
		(void)import_material_colour(from, "$clr.specular", to.specular, 3);
		(void)import_material_number(from, "$mat.shininess", MESH_SHININESS_MAX, &to.shininess);
	}
	(void)import_material_colour(from, "$clr.emissive", to.emissive, 3);
	(void)import_material_number(from, "$mat.roughnessFactor", 1, &to.roughness);
	(void)import_material_number(from, "$mat.metallicFactor", 1, &to.metalness);
	if (aiGetMaterialIntegerArray(from, AI_MATKEY_TWOSIDED, &two_sided, NULL) == aiReturn_SUCCESS)
		to.double_sided = two_sided != 0;
	import_material_read_alpha(from, &to);
	import_material_read_maps(from, arena, &to, ret_channel);
	if (kind == IMPORT_DAE && to.maps[MESH_ALBEDO])
		to.diffuse[0] = to.diffuse[1] = to.diffuse[2] = 1;
	return to;
}

#endif
