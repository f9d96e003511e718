/* What the files that read mesh files share. */
#ifndef MESH_IMPORT_INTERNAL_H
#define MESH_IMPORT_INTERNAL_H

#include "mesh/import.h"

#include "config.h"

#ifdef HAVE_MESHES

#include <assimp/cimport.h>
#include <assimp/material.h>

enum import_kind { IMPORT_OBJ, IMPORT_STL, IMPORT_DAE, IMPORT_GLTF };
enum { IMPORT_NAME_MAX = 1000 };

/* *ret_channel: the texture coordinates that the albedo map uses, if there is one. */
struct mesh_material import_material(
	const struct aiMaterial *from, enum import_kind kind, struct arena *arena, unsigned *ret_channel);

#endif
#endif
