/* Feeds damaged mesh and image files to their readers, as a world does: in a process of its own, which may die of them.
 *
 *   fuzz_mesh                       some rounds over each file of tests/data/mesh
 *   fuzz_mesh SEED ROUNDS FILE...   so many rounds over each file
 *   fuzz_mesh --replay FILE...      the files as they are
 *
 * The same arguments damage the same bytes: flipped, cut, repeated, numbers replaced. Whatever comes in, the importer
 * returns, with a mesh or image that is sound, or with one line.
 *
 * As a target for libFuzzer (WITHOUT_MAIN, tests/fuzz/run) the readers run in the process itself, where coverage can be
 * seen. They crash there: their errors are those of libraries, and the importer is there because of them. The files
 * that crash them are then replayed as above. */
#include "base/infile.h"
#include "base/text.h"
#include "mesh/answer.h"
#include "mesh/bounds.h"
#include "mesh/hull.h"
#include "mesh/import.h"
#include "mesh/importer.h"
#include "mesh/trimesh.h"

#include "rounds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* assimp forgets memory when it throws; that is bounded by the file, and not ours to mend. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libassimp";
}

enum { FILE_BYTES_MAX = 1 << 24 };

/* --- what is sound ------------------------------------------------------------------------------------------------ */

static bool is_sound(const struct mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->points.count; i++)
		if (!vec3_finite(mesh->points.at[i]))
			return false;
	for (uint32_t i = 0; i < mesh->corners.count; i++)
		if (mesh->corners.at[i] >= mesh->points.count)
			return false;
	for (uint32_t i = 0; i < mesh->materials.count; i++)
		if (!(mesh->materials.at[i].diffuse[0] >= 0 && mesh->materials.at[i].diffuse[0] <= 1))
			return false;
	return !mesh->texcoords.count || mesh->texcoords.count == mesh->corners.count;
}

/* A box that is found without the reader holds all that the reader finds. */
static bool is_within_bounds(const char *path, const char *bytes, size_t count, const struct mesh *mesh)
{
	struct mesh_bounds bounds;
	bool within = true;
	if (!bounds_find(path, bytes, count, &bounds))
		return true;
	for (uint32_t i = 0; i < mesh->points.count; i++) {
		const struct aabb point = {mesh->points.at[i], mesh->points.at[i]};
		within = within && aabb_within(&point, &bounds.box);
	}
	return within;
}

/* What the scene makes of a mesh. */
static void use_mesh(const struct mesh *mesh)
{
	struct hull hull = {0};
	struct trimesh trimesh;
	trimesh_of_mesh(mesh, &trimesh);
	trimesh_fini(&trimesh);
	hull_make(mesh->points.at, mesh->points.count, &hull, NULL);
	hull_fini(&hull);
}

static bool is_sound_image(const struct image *image)
{
	bool sound = image->columns <= IMAGE_SIDE_MAX && image->rows <= IMAGE_SIDE_MAX;
	for (size_t i = 0; i < (size_t)image->columns * image->rows; i++)
		sound = sound && image->values[i] >= 0 && image->values[i] <= 1;
	return sound;
}

/* What a camera makes of a texture; it becomes the texture's. */
static bool is_sound_texture(struct texture *texture)
{
	float rgba[4];
	texture_sample(texture, &(struct texture_place){0.3, 0.7, 0.4, 0.1, -0.1, 0.4}, rgba);
	bool sound = rgba[0] >= 0 && rgba[0] <= 1 && rgba[3] >= 0 && rgba[3] <= 1;
	texture_release(texture);
	return sound;
}

static bool is_image(const char *suffix)
{
	return !strcmp(suffix, ".png") || !strcmp(suffix, ".jpg") || !strcmp(suffix, ".dds");
}

/* --- for libFuzzer ------------------------------------------------------------------------------------------------ */

#ifdef WITHOUT_MAIN

#define must(good) must(good, #good, NULL, 0)

/* Whatever a reader makes of a file, the parent can take. */
static void hand_over_mesh(const struct mesh *mesh)
{
	struct text bytes = {0};
	struct mesh taken = {0};
	answer_pack_mesh(mesh, &bytes);
	must(!answer_unpack_mesh(bytes.at, bytes.count, &taken, NULL));
	must(taken.points.count == mesh->points.count && taken.corners.count == mesh->corners.count);
	mesh_weld(&taken);
	must(is_sound(&taken));
	if (taken.corners.count && taken.corners.count < 30000)
		use_mesh(&taken);
	mesh_fini(&taken);
	text_fini(&bytes);
}

struct only_file {
	const char *path, *bytes;
	size_t count;
};

static bool read_only_file(void *ctx, const char *path, const char **ret_bytes, size_t *ret_count)
{
	const struct only_file *file = ctx;
	*ret_bytes = file->bytes;
	*ret_count = file->count;
	return !strcmp(path, file->path);
}

static void try_as(const char *path, const char *bytes, size_t count)
{
	struct only_file file = {path, bytes, count};
	struct import_files files = {read_only_file, &file};
	struct mesh mesh = {0};
	if (!import_mesh(&files, path, bytes, count, &mesh, NULL)) {
		must(is_within_bounds(path, bytes, count, &mesh));
		hand_over_mesh(&mesh);
	}
	mesh_fini(&mesh);
}

static void try_as_image(const char *bytes, size_t count)
{
	struct text packed = {0};
	struct image image, taken;
	struct image_texels texels, taken_texels;
	if (!import_texels(bytes, count, &texels, NULL)) {
		answer_pack_texels(&texels, &packed);
		must(!answer_unpack_texels(packed.at, packed.count, false, &taken_texels, NULL));
		must(is_sound_texture(texture_create(texels.width, texels.height, texels.rgba)));
		free(taken_texels.rgba);
		packed.count = 0;
	}
	if (!import_cube(bytes, count, &texels, NULL))
		must(is_sound_texture(texture_create(texels.width, texels.height, texels.rgba)));
	if (import_image(bytes, count, &image, NULL)) {
		text_fini(&packed);
		return;
	}
	answer_pack_image(&image, &packed);
	must(!answer_unpack_image(packed.at, packed.count, &taken, NULL) && is_sound_image(&taken));
	free(image.values);
	free(taken.values);
	text_fini(&packed);
}

/* The kind of file follows from how it begins. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *copy = mem_alloc(count + 1);
	memcpy(copy, bytes, count);
	const char *kind = count < 4                                                      ? ".obj"
			   : !memcmp(copy, "\x89PNG", 4)                                  ? ".png"
			   : !memcmp(copy, "\xff\xd8\xff", 3)                             ? ".jpg"
			   : !memcmp(copy, "DDS ", 4)                                     ? ".dds"
			   : !memcmp(copy, "glTF", 4)                                     ? ".glb"
			   : *copy == '{'                                                 ? ".gltf"
			   : *copy == '<'                                                 ? ".dae"
			   : !memcmp(copy, "soli", 4) || memchr(copy, 0, MIN(count, 84u)) ? ".stl"
											  : ".obj";
	char path[16];
	snprintf(path, sizeof path, "file%s", kind);
	if (is_image(kind))
		try_as_image(copy, count);
	else
		try_as(path, copy, count);
	free(copy);
	return 0;
}

#else

/* --- through the importer ----------------------------------------------------------------------------------------- */

static struct files files;
static struct importer *importer;
static struct importer_losses losses;
static uint32_t passed, failed, taken, deaths, named;

static void begin(void)
{
	importer = importer_create();
	losses = (struct importer_losses){0};
}

static void end(void)
{
	importer_destroy(importer);
	files_fini(&files);
	files = (struct files){0};
}

static bool is_line(const struct troupe_error *error)
{
	return *error->text && !strchr(error->text, '\n');
}

/* True also for a refusal, in one line. */
static bool read_texture(const char *bytes, size_t count)
{
	struct texture *texture = NULL;
	struct troupe_error error = {0};
	troupe_status status = importer_texture(importer, &losses, bytes, count, &texture, &error);
	return status ? is_line(&error) : is_sound_texture(texture);
}

static troupe_status read_mesh(const char *path, bool *ret_sound, struct troupe_error *error)
{
	struct mesh mesh = {0};
	troupe_status status = importer_mesh(importer, &losses, &files, path, &mesh, error);
	if (status)
		return status;
	const char *bytes = NULL;
	size_t file_bytes = 0;
	*ret_sound = mesh.corners.count && is_sound(&mesh) &&
		     !files_read(&files, path, FILE_BYTES_MAX, &bytes, &file_bytes, NULL) &&
		     is_within_bounds(path, bytes, file_bytes, &mesh);
	for (uint32_t i = 0; i < mesh.embedded.count && *ret_sound; i++)
		*ret_sound = read_texture(mesh.embedded.at[i].bytes, mesh.embedded.at[i].count);
	uint32_t count = mesh.corners.count;
	mesh_weld(&mesh);
	*ret_sound = *ret_sound && mesh.corners.count == count;
	if (*ret_sound)
		use_mesh(&mesh);
	mesh_fini(&mesh);
	return TROUPE_OK;
}

static troupe_status read_image(const char *path, bool *ret_sound, struct troupe_error *error)
{
	struct image image;
	const char *bytes = NULL;
	size_t count = 0;
	if (files_read(&files, path, FILE_BYTES_MAX, &bytes, &count, NULL) || !read_texture(bytes, count))
		return fail(error, TROUPE_EWORLD, "%s", ""); /* not one line: it is counted as a failure */
	troupe_status status = importer_image(importer, &losses, &files, path, &image, error);
	if (status)
		return status;
	*ret_sound = is_sound_image(&image);
	free(image.values);
	return TROUPE_OK;
}

/* The bytes as if they were the file. */
static bool try(const char *bytes, size_t count, const char *file, const char *suffix, bool told)
{
	char path[1400];
	bool sound = false;
	struct troupe_error error = {0};
	/* beside the file, so that files that it names are found */
	snprintf(path, sizeof path, "%.*s_%u%s", (int)(suffix - file), file, named++, suffix);
	files_add(&files, path, bytes, count);
	troupe_status status = is_image(suffix) ? read_image(path, &sound, &error) : read_mesh(path, &sound, &error);
	taken += !status;
	if (told)
		printf("%s: %s\n", file, status ? error.text : "taken");
	if (status == TROUPE_EINTERNAL) {
		deaths++;
		end(); /* an importer stops to try after some deaths */
		begin();
	}
	return status ? is_line(&error) : sound;
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static size_t damage(char *bytes, size_t count)
{
	static const char *const nasty[] = {
		"nan", "1e308", "-1", "4294967295", "99999999999", "0", "/", "<", "v v", "\n"};
	for (size_t times = 1 + rounds_below(4); times && count > 1; times--) {
		size_t at = rounds_below(count), from = at + rounds_below(count - at), some = rounds_below(8);
		const char *word = nasty[rounds_below(ARRAY_LEN(nasty))];
		switch (rounds_below(5)) {
		case 0:
			bytes[at] = (char)(bytes[at] ^ 1 << rounds_below(8));
			break;
		case 1:
			count = at + 1;
			break;
		case 2:
			memcpy(bytes + at, word, MIN(strlen(word), count - at));
			break;
		case 3:
			memmove(bytes + at, bytes + from, MIN(some, count - from));
			break;
		default:
			memset(bytes + at, (int)rounds_below(256), MIN(some, count - at));
		}
	}
	return count;
}

/* rounds: 0 for the file as it is. */
static void fuzz(const char *file, uint32_t rounds)
{
	char *bytes;
	size_t count;
	const char *suffix = strrchr(file, '.');
	if (!suffix || infile_read(file, FILE_BYTES_MAX, &bytes, &count, NULL)) {
		printf("%s: cannot be read\n", file);
		failed++;
		return;
	}
	begin();
	for (uint32_t i = 0; i < MAX(rounds, 1u); i++) {
		char *copy =
			mem_alloc(count + 1); /* of this size, so that a sanitizer sees what is written beyond it */
		memcpy(copy, bytes, count);
		bool good = try(copy, rounds ? damage(copy, count) : count, file, suffix, !rounds);
		passed += good;
		failed += !good;
		if (!good)
			printf("FAILED: %s, round %u\n", file, i);
		free(copy);
	}
	end();
	free(bytes);
}

/* Sound ones; what once crashed lies beside them, and is read as it is. */
static void fuzz_kept(uint32_t rounds)
{
	const char *source = getenv("SOURCE_DIR");
	char folder[1000], path[1300];
	snprintf(folder, sizeof folder, "%.900s/tests/data/mesh", source ? source : ".");
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name, *suffix = strrchr(name, '.');
		static const char *const read[] = {".obj", ".stl", ".dae", ".glb", ".gltf", ".png", ".jpg"};
		bool known = false;
		for (size_t k = 0; suffix && k < ARRAY_LEN(read); k++)
			known |= !strcmp(suffix, read[k]);
		snprintf(path, sizeof path, "%s/%s", folder, name);
		if (known)
			fuzz(path, strncmp(name, "broken", 6) ? rounds : 0);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	bool replay = argc > 2 && !strcmp(argv[1], "--replay");
	uint32_t rounds = argc > 2 && !replay ? (uint32_t)atoi(argv[2]) : getenv("TROUPE_TEST_QUICK") ? 20 : 60;
	rounds_state = argc > 1 && !replay ? (uint64_t)atoi(argv[1]) : 1;
	for (int i = replay ? 2 : 3; i < argc; i++)
		fuzz(argv[i], replay ? 0 : rounds);
	if (argc <= 2)
		fuzz_kept(rounds);
	printf("%u files were taken, %u ended the process that read them\n%u passed, %u failed\n", taken, deaths,
		passed, failed);
	return failed || !passed;
}

#endif
