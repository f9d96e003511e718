/* Mesh files, read by assimp.
 *
 * If a suffix does not fit, assimp guesses the format from the content, and it opens the files that a file names. So
 * assimp gets only files with known suffixes and sizes. assimp catches its own exceptions. Its result is checked
 * again, because its indices come from the file.
 *
 * Axes: coordinates are those in the file, as Gazebo shows them. The up axis of COLLADA and glTF is not turned;
 * COLLADA's unit is applied. The transform of a node applies to all nodes below it. */
#include "mesh/import_internal.h"

#ifdef HAVE_MESHES

#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Checks lists of indices in COLLADA: at a character that is no digit, assimp's reader does not advance, and fills
 * memory with zeros. */
static troupe_status import_check_lists(const char *text, size_t bytes, struct troupe_error *error)
{
	static const char *const lists[] = {"p", "v", "h", "vcount"};
	troupe_status status = TROUPE_OK;
	/* the parser stops at a zero byte, or goes on after it: such a file is refused in both cases */
	if (strlen(text) != bytes)
		status = fail(error, TROUPE_EWORLD, "a zero byte in it: expected text");
	for (const char *at = text; !status && (at = strchr(at, '<'));) {
		size_t length = strcspn(++at, " \t\r\n/>");
		bool is_list = false;
		for (size_t i = 0; i < ARRAY_LEN(lists); i++)
			is_list = is_list || (length == strlen(lists[i]) && !strncmp(at, lists[i], length));
		const char *end = strchr(at, '>');
		if (!is_list || !end)
			continue;
		at = end + 1 + strspn(end + 1, "0123456789 \t\r\n");
		if (end[-1] != '/' && *at != '<')
			status = fail(error, TROUPE_EWORLD, "a list of indices holds '%.8s': expected numbers", at);
	}
	return status;
}

struct affine {
	double m[3][4];
};

static struct affine import_affine_of(const struct aiMatrix4x4 *a)
{
	return (struct affine){{{(double)a->a1, (double)a->a2, (double)a->a3, (double)a->a4},
		{(double)a->b1, (double)a->b2, (double)a->b3, (double)a->b4},
		{(double)a->c1, (double)a->c2, (double)a->c3, (double)a->c4}}};
}

static struct affine import_affine_mul(const struct affine *a, const struct affine *b)
{
	struct affine out;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 4; j++)
			out.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j] + a->m[i][2] * b->m[2][j] +
				      (j == 3 ? a->m[i][3] : 0);
	return out;
}

static struct vec3 import_affine_point(const struct affine *a, const struct aiVector3D *v)
{
	double x = (double)v->x, y = (double)v->y, z = (double)v->z;
	return (struct vec3){a->m[0][0] * x + a->m[0][1] * y + a->m[0][2] * z + a->m[0][3],
		a->m[1][0] * x + a->m[1][1] * y + a->m[1][2] * z + a->m[1][3],
		a->m[2][0] * x + a->m[2][1] * y + a->m[2][2] * z + a->m[2][3]};
}

static bool import_mirrors(const struct affine *a)
{
	return a->m[0][0] * (a->m[1][1] * a->m[2][2] - a->m[1][2] * a->m[2][1]) -
		       a->m[0][1] * (a->m[1][0] * a->m[2][2] - a->m[1][2] * a->m[2][0]) +
		       a->m[0][2] * (a->m[1][0] * a->m[2][1] - a->m[1][1] * a->m[2][0]) <
	       0;
}

/* A file that is being read. */
struct importing {
	const struct aiScene *scene;
	struct mesh *mesh;
	enum import_kind kind;
	/* by material of the file: its texture coordinates; its place in the list of the mesh, or MESH_NONE */
	unsigned channels[MESH_MATERIALS_MAX];
	uint32_t as[MESH_MATERIALS_MAX];
};

static struct mesh_texcoord import_texcoord(const struct aiVector3D *from)
{
	struct mesh_texcoord to = {from ? (float)from->x : 0, from ? (float)from->y : 0};
	bool good = fabsf(to.u) <= (float)MESH_TEXCOORD_MAX && fabsf(to.v) <= (float)MESH_TEXCOORD_MAX;
	return good ? to : (struct mesh_texcoord){0, 0};
}

static const struct aiVector3D *import_texcoords_of(const struct importing *in, const struct aiMesh *from)
{
	unsigned channel = from->mMaterialIndex < MESH_MATERIALS_MAX ? in->channels[from->mMaterialIndex] : 0;
	if (channel < AI_MAX_NUMBER_OF_TEXTURECOORDS && from->mTextureCoords[channel])
		return from->mTextureCoords[channel];
	return from->mTextureCoords[0];
}

/* A mesh has texture coordinates if one of its parts has: the corners of the others have 0 0. */
static void import_add_texcoords(
	const struct importing *in, const struct aiMesh *from, const struct aiFace *face, const int order[3])
{
	const struct aiVector3D *all = import_texcoords_of(in, from);
	struct mesh *mesh = in->mesh;
	if (!all && !mesh->texcoords.count)
		return;
	if (mesh->texcoords.count + 3 < mesh->corners.count)
		(void)vec_append(&mesh->texcoords, mesh->corners.count - 3 - mesh->texcoords.count);
	for (int k = 0; k < 3; k++)
		vec_push(&mesh->texcoords, import_texcoord(all ? &all[face->mIndices[order[k]]] : NULL));
}

static troupe_status import_add_faces(
	const struct importing *in, const struct aiMesh *from, uint32_t base, bool mirrored, struct troupe_error *error)
{
	const int order[3] = {0, mirrored ? 2 : 1, mirrored ? 1 : 2};
	struct mesh *mesh = in->mesh;
	for (unsigned f = 0; f < from->mNumFaces; f++) {
		const struct aiFace *face = &from->mFaces[f];
		if (face->mNumIndices != 3)
			continue; /* points and lines */
		for (int k = 0; k < 3; k++)
			if (face->mIndices[k] >= from->mNumVertices)
				return fail(error, TROUPE_EWORLD, "a face has a vertex that does not exist");
		if (mesh->corners.count / 3 >= MESH_TRIANGLES_MAX)
			return fail(error, TROUPE_ELIMIT, "more than %d triangles", MESH_TRIANGLES_MAX);
		mesh_add_triangle(mesh, base + face->mIndices[order[0]], base + face->mIndices[order[1]],
			base + face->mIndices[order[2]]);
		import_add_texcoords(in, from, face, order);
	}
	return TROUPE_OK;
}

static troupe_status import_add_part(const struct importing *in, const struct aiMesh *from, const struct aiNode *node,
	const struct affine *at, struct troupe_error *error)
{
	struct mesh *mesh = in->mesh;
	uint32_t base = mesh->points.count, first = mesh->corners.count / 3;
	if (mesh->parts.count >= MESH_PARTS_MAX)
		return fail(error, TROUPE_ELIMIT, "more than %d parts", MESH_PARTS_MAX);
	if ((uint64_t)base + from->mNumVertices > MESH_POINTS_MAX)
		return fail(error, TROUPE_ELIMIT, "more than %d vertices", MESH_POINTS_MAX);
	for (unsigned i = 0; i < from->mNumVertices; i++) {
		struct vec3 p = import_affine_point(at, &from->mVertices[i]);
		if (!vec3_within(p, MESH_REACH_MAX))
			return fail(error, TROUPE_EWORLD, "a vertex is at %g %g %g: expected numbers within %g", p.x,
				p.y, p.z, (double)MESH_REACH_MAX);
		mesh_add_point(mesh, p);
	}
	troupe_status status = import_add_faces(in, from, base, import_mirrors(at), error);
	if (status)
		return status;
	if (mesh->corners.count / 3 > first)
		vec_push(&mesh->parts,
			(struct mesh_part){
				arena_printf(&mesh->arena, "%.*s", (int)node->mName.length, node->mName.data),
				arena_printf(&mesh->arena, "%.*s", (int)from->mName.length, from->mName.data), first,
				mesh->corners.count / 3 - first,
				from->mMaterialIndex < MESH_MATERIALS_MAX ? in->as[from->mMaterialIndex] : MESH_NONE});
	return TROUPE_OK;
}

static troupe_status import_add_node(const struct importing *in, const struct aiNode *node, const struct affine *above,
	int depth, struct troupe_error *error)
{
	const struct aiScene *scene = in->scene;
	struct affine own = import_affine_of(&node->mTransformation), at = import_affine_mul(above, &own);
	if (depth > MESH_DEPTH_MAX)
		return fail(error, TROUPE_ELIMIT, "nodes nested more than %d deep", MESH_DEPTH_MAX);
	troupe_status status = TROUPE_OK;
	for (unsigned i = 0; !status && i < node->mNumMeshes; i++)
		if (node->mMeshes[i] < scene->mNumMeshes && scene->mMeshes[node->mMeshes[i]]->mVertices)
			status = import_add_part(in, scene->mMeshes[node->mMeshes[i]], node, &at, error);
	for (unsigned i = 0; !status && i < node->mNumChildren; i++)
		status = import_add_node(in, node->mChildren[i], &at, depth + 1, error);
	return status;
}

/* --- materials ------------------------------------------------------------------------------------------------------
 */

/* The material that assimp makes up for parts that have none: grey, and of this name. */
static bool import_is_made_up(const struct mesh_material *material)
{
	bool grey = true;
	for (int i = 0; i < 3; i++)
		grey = grey && fabs(material->diffuse[i] - 0.6) < 1e-6;
	return grey && !material->maps[MESH_ALBEDO] && !strcmp(material->name, AI_DEFAULT_MATERIAL_NAME);
}

static void import_add_materials(struct importing *in)
{
	for (unsigned i = 0; i < in->scene->mNumMaterials && i < MESH_MATERIALS_MAX; i++) {
		struct mesh_material material =
			import_material(in->scene->mMaterials[i], in->kind, &in->mesh->arena, &in->channels[i]);
		in->as[i] = import_is_made_up(&material) ? MESH_NONE : in->mesh->materials.count;
		if (in->as[i] != MESH_NONE)
			vec_push(&in->mesh->materials, material);
	}
}

/* Only compressed images, as they stand in the file. */
static troupe_status import_add_embedded(struct importing *in, struct troupe_error *error)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < in->scene->mNumTextures && i < MESH_EMBEDDED_MAX; i++) {
		const struct aiTexture *from = in->scene->mTextures[i];
		struct mesh_embedded image = {"", from->mHeight || !from->pcData ? 0 : from->mWidth};
		bytes += image.count;
		if (bytes > MESH_FILE_BYTES_MAX)
			return fail(error, TROUPE_ELIMIT, "more than %d bytes of images", MESH_FILE_BYTES_MAX);
		char *kept = arena_alloc(&in->mesh->arena, image.count + 1);
		memcpy(kept, from->pcData, image.count);
		image.bytes = kept;
		vec_push(&in->mesh->embedded, image);
	}
	return TROUPE_OK;
}

/* --- what assimp reads from ----------------------------------------------------------------------------------------
 */

struct open_file {
	struct aiFile file; /* must be first: assimp knows only this member */
	const char *bytes;
	size_t count, at;
	char *own; /* the bytes, if they are not those of the file; NULL: they are */
};

static size_t import_read_some(struct aiFile *file, char *to, size_t size, size_t items)
{
	struct open_file *f = (struct open_file *)(void *)file;
	size_t left = size ? (f->count - f->at) / size : 0, taken = MIN(items, left);
	memcpy(to, f->bytes + f->at, taken * size);
	f->at += taken * size;
	return taken;
}

static size_t import_write_nothing(struct aiFile *file, const char *from, size_t size, size_t items)
{
	(void)file, (void)from, (void)size, (void)items;
	return 0;
}

static size_t import_tell(struct aiFile *file)
{
	return ((struct open_file *)(void *)file)->at;
}

static size_t import_count_of(struct aiFile *file)
{
	return ((struct open_file *)(void *)file)->count;
}

static aiReturn import_seek(struct aiFile *file, size_t by, enum aiOrigin origin)
{
	struct open_file *f = (struct open_file *)(void *)file;
	size_t from = origin == aiOrigin_SET ? 0 : origin == aiOrigin_CUR ? f->at : f->count;
	if (by > f->count - from)
		return aiReturn_FAILURE;
	f->at = from + by;
	return aiReturn_SUCCESS;
}

static void import_flush_nothing(struct aiFile *file)
{
	(void)file;
}

/* Whether a number begins at bytes[i] whose digits before the decimal point are left out, as in ".5" and "-.5". */
static bool import_is_bare_point(const char *bytes, size_t count, size_t i)
{
	const size_t before = i > 0 && (bytes[i - 1] == '-' || bytes[i - 1] == '+') ? 2 : 1;
	return bytes[i] == '.' && i >= before && (bytes[i - before] == ' ' || bytes[i - before] == '\t') &&
	       i + 1 < count && bytes[i + 1] >= '0' && bytes[i + 1] <= '9';
}

/* assimp's reader of OBJ counts the numbers of a line before it reads them, and takes none for a number that begins
 * with a point: the vertex is lost. Such numbers get a zero. */
static void import_add_zeros(struct open_file *f)
{
	size_t zeros = 0, to = 0;
	for (size_t i = 0; i < f->count; i++)
		zeros += import_is_bare_point(f->bytes, f->count, i);
	if (zeros == 0)
		return;
	f->own = mem_alloc(f->count + zeros + 1);
	for (size_t i = 0; i < f->count; i++) {
		if (import_is_bare_point(f->bytes, f->count, i))
			f->own[to++] = '0';
		f->own[to++] = f->bytes[i];
	}
	f->bytes = f->own;
	f->count = to;
}

static struct aiFile *import_open_file(struct aiFileIO *io, const char *path, const char *mode)
{
	const struct import_files *files = (const struct import_files *)(void *)io->UserData;
	struct open_file f = {.file = {import_read_some, import_write_nothing, import_tell, import_count_of,
				      import_seek, import_flush_nothing, NULL}};
	if (strchr(mode, 'w') || !files->read(files->ctx, path, &f.bytes, &f.count))
		return NULL;
	const char *suffix = strrchr(path, '.');
	if (suffix && !strcasecmp(suffix, ".obj"))
		import_add_zeros(&f);
	struct open_file *opened = mem_alloc(sizeof *opened);
	*opened = f;
	return &opened->file;
}

static void import_close_file(struct aiFileIO *io, struct aiFile *file)
{
	(void)io;
	free(((struct open_file *)(void *)file)->own);
	free(file);
}

static const struct aiScene *import(struct import_files *files, const char *path)
{
	struct aiPropertyStore *settings = aiCreatePropertyStore();
	struct aiFileIO io = {import_open_file, import_close_file, (char *)(void *)files};
	aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
	/* worlds name parts as modelling programs show them, and not by the ids of the file */
	aiSetImportPropertyInteger(settings, AI_CONFIG_IMPORT_COLLADA_USE_COLLADA_NAMES, 1);
	mem_refuse_above(MESH_FILE_BYTES_MAX); /* a damaged file may ask for any amount */
	const struct aiScene *scene = aiImportFileExWithProperties(path, aiProcess_Triangulate, &io, settings);
	mem_refuse_above(SIZE_MAX);
	aiReleasePropertyStore(settings);
	return scene;
}

static enum import_kind import_kind_of(const char *suffix)
{
	return !suffix                          ? IMPORT_STL
	       : !strcasecmp(suffix, ".obj")    ? IMPORT_OBJ
	       : !strcasecmp(suffix, ".dae")    ? IMPORT_DAE
	       : !strncasecmp(suffix, ".gl", 3) ? IMPORT_GLTF
						: IMPORT_STL;
}

/* Failures of memory depend on the machine, so they are no reason to leave a mesh out. */
static troupe_status import_say_why(struct troupe_error *error)
{
	const char *why = aiGetErrorString();
	if (strstr(why, "bad_alloc"))
		return fail(error, TROUPE_EINTERNAL, "memory was refused");
	return fail(error, TROUPE_EWORLD, "not a readable mesh: %.200s", why);
}

troupe_status import_mesh(const struct import_files *files, const char *path, const char *bytes, size_t count,
	struct mesh *ret_mesh, struct troupe_error *error)
{
	static const struct affine identity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
	const char *suffix = strrchr(path, '.');
	struct import_files given = *files;
	troupe_status status =
		suffix && !strcasecmp(suffix, ".dae") ? import_check_lists(bytes, count, error) : TROUPE_OK;
	if (status)
		return status;
	struct importing in = {.scene = import(&given, path), .mesh = ret_mesh, .kind = import_kind_of(suffix)};
	if (!in.scene)
		return import_say_why(error);
	memset(in.as, 0xff, sizeof in.as);
	import_add_materials(&in);
	status = import_add_embedded(&in, error);
	if (!status && in.scene->mRootNode)
		status = import_add_node(&in, in.scene->mRootNode, &identity, 0, error);
	if (!status && ret_mesh->texcoords.count)
		(void)vec_append(&ret_mesh->texcoords, ret_mesh->corners.count - ret_mesh->texcoords.count);
	aiReleaseImport(in.scene);
	if (status)
		mesh_fini(ret_mesh);
	return status;
}

#else

troupe_status import_mesh(const struct import_files *files, const char *path, const char *bytes, size_t count,
	struct mesh *ret_mesh, struct troupe_error *error)
{
	(void)files, (void)path, (void)bytes, (void)count, (void)ret_mesh;
	return fail(error, TROUPE_EWORLD, "this troupe was built without meshes");
}

#endif
