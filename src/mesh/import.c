/* Mesh files, read by assimp.
 *
 * If a suffix does not fit, assimp guesses the format from the content, and it opens the files that a file names. So
 * assimp gets only files with known suffixes and sizes. assimp catches its own exceptions. Its result is checked
 * again, because its indices come from the file.
 *
 * Axes: coordinates are those in the file, as Gazebo shows them. The up axis of COLLADA and glTF is not turned;
 * COLLADA's unit is applied. The transform of a node applies to all nodes below it. */
#include "mesh/import.h"

#include "config.h"

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

static troupe_status import_add_faces(
	const struct aiMesh *from, uint32_t base, bool mirrored, struct mesh *mesh, struct troupe_error *error)
{
	for (unsigned f = 0; f < from->mNumFaces; f++) {
		const struct aiFace *face = &from->mFaces[f];
		if (face->mNumIndices != 3)
			continue; /* points and lines */
		for (int k = 0; k < 3; k++)
			if (face->mIndices[k] >= from->mNumVertices)
				return fail(error, TROUPE_EWORLD, "a face has a vertex that does not exist");
		if (mesh->corners.count / 3 >= MESH_TRIANGLES_MAX)
			return fail(error, TROUPE_ELIMIT, "more than %d triangles", MESH_TRIANGLES_MAX);
		mesh_add_triangle(mesh, base + face->mIndices[0], base + face->mIndices[mirrored ? 2 : 1],
			base + face->mIndices[mirrored ? 1 : 2]);
	}
	return TROUPE_OK;
}

static troupe_status import_add_part(const struct aiMesh *from, const struct aiNode *node, const struct affine *at,
	struct mesh *mesh, struct troupe_error *error)
{
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
	troupe_status status = import_add_faces(from, base, import_mirrors(at), mesh, error);
	if (status)
		return status;
	if (mesh->corners.count / 3 > first)
		vec_push(&mesh->parts,
			(struct mesh_part){
				arena_printf(&mesh->arena, "%.*s", (int)node->mName.length, node->mName.data),
				arena_printf(&mesh->arena, "%.*s", (int)from->mName.length, from->mName.data), first,
				mesh->corners.count / 3 - first});
	return TROUPE_OK;
}

static troupe_status import_add_node(const struct aiScene *scene, const struct aiNode *node, const struct affine *above,
	int depth, struct mesh *mesh, struct troupe_error *error)
{
	struct affine own = import_affine_of(&node->mTransformation), at = import_affine_mul(above, &own);
	if (depth > MESH_DEPTH_MAX)
		return fail(error, TROUPE_ELIMIT, "nodes nested more than %d deep", MESH_DEPTH_MAX);
	troupe_status status = TROUPE_OK;
	for (unsigned i = 0; !status && i < node->mNumMeshes; i++)
		if (node->mMeshes[i] < scene->mNumMeshes && scene->mMeshes[node->mMeshes[i]]->mVertices)
			status = import_add_part(scene->mMeshes[node->mMeshes[i]], node, &at, mesh, error);
	for (unsigned i = 0; !status && i < node->mNumChildren; i++)
		status = import_add_node(scene, node->mChildren[i], &at, depth + 1, mesh, error);
	return status;
}

/* --- what assimp reads from ----------------------------------------------------------------------------------------
 */

struct open_file {
	struct aiFile file; /* must be first: assimp knows only this member */
	const char *bytes;
	size_t count, at;
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

static struct aiFile *import_open_file(struct aiFileIO *io, const char *path, const char *mode)
{
	const struct import_files *files = (const struct import_files *)(void *)io->UserData;
	struct open_file f = {.file = {import_read_some, import_write_nothing, import_tell, import_count_of,
				      import_seek, import_flush_nothing, NULL}};
	if (strchr(mode, 'w') || !files->read(files->ctx, path, &f.bytes, &f.count))
		return NULL;
	struct open_file *opened = mem_alloc(sizeof *opened);
	*opened = f;
	return &opened->file;
}

static void import_close_file(struct aiFileIO *io, struct aiFile *file)
{
	(void)io;
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
	const struct aiScene *scene = import(&given, path);
	if (!scene)
		return import_say_why(error);
	if (scene->mRootNode)
		status = import_add_node(scene, scene->mRootNode, &identity, 0, ret_mesh, error);
	aiReleaseImport(scene);
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
