/* Feeds damaged mesh and image files to their readers: bytes flipped, cut, repeated, numbers replaced.
 * fuzz_mesh [SEED ROUNDS FILE ...]; without arguments some rounds over the files of worlds/models/shapes. Whatever
 * comes in, a reader must return, with what is finite and whose indices are inside, or with one line. */
#include "base/hash.h"
#include "base/text.h"
#include "mesh/hull.h"
#include "mesh/image.h"
#include "mesh/mesh.h"
#include "mesh/skin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* assimp forgets memory when it throws; that is bounded by the file and not ours to mend. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libassimp";
}

static uint64_t state;
static uint32_t passed, failed, taken;

static size_t below(size_t limit)
{
	state = hash_mix(state, 0x9e3779b97f4a7c15u);
	return limit ? (size_t)(state % limit) : 0;
}

static size_t damage(char *bytes, size_t count)
{
	static const char *const nasty[] = {
		"nan", "1e308", "-1", "4294967295", "99999999999", "0", "/", "<", "v v", "\n"};
	for (size_t times = 1 + below(4); times && count > 1; times--) {
		size_t at = below(count);
		const char *word = nasty[below(ARRAY_LEN(nasty))];
		switch (below(5)) {
		case 0:
			bytes[at] = (char)(bytes[at] ^ 1 << below(8));
			break;
		case 1:
			count = at + 1;
			break;
		case 2:
			memcpy(bytes + at, word, MIN(strlen(word), count - at));
			break;
		case 3:
			memmove(bytes + at, bytes + below(count - at) + at, 1);
			break;
		default:
			memset(bytes + at, (int)below(256), MIN(below(8), count - at));
		}
	}
	return count;
}

static bool is_sane(const struct mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->points.count; i++)
		if (!vec3_finite(mesh->points.at[i]))
			return false;
	for (uint32_t i = 0; i < mesh->corners.count; i++)
		if (mesh->corners.at[i] >= mesh->points.count)
			return false;
	return mesh->corners.count > 0;
}

static bool try_mesh(const char *path)
{
	struct mesh mesh = {0};
	struct files files = {0};
	struct hull hull = {0};
	struct skin skin;
	struct troupe_error error = {0};
	troupe_status status = mesh_read(&files, path, &mesh, &error);
	files_fini(&files);
	if (status)
		return *error.text && !strchr(error.text, '\n');
	bool sane = is_sane(&mesh);
	taken++;
	if (sane) {
		skin_of_mesh(&mesh, &skin);
		skin_fini(&skin);
		hull_make(mesh.points.at, mesh.points.count, &hull, NULL);
		hull_fini(&hull);
	}
	mesh_fini(&mesh);
	return sane;
}

static bool try_image(const char *path)
{
	struct image image;
	struct files files = {0};
	struct troupe_error error = {0};
	troupe_status status = image_read(&files, path, &image, &error);
	files_fini(&files);
	if (status)
		return *error.text && !strchr(error.text, '\n');
	taken++;
	bool sane = image.columns <= IMAGE_SIDE_MAX && image.rows <= IMAGE_SIDE_MAX;
	for (size_t i = 0; i < (size_t)image.columns * image.rows; i++)
		sane = sane && image.values[i] >= 0 && image.values[i] <= 1;
	free(image.values);
	return sane;
}

static void fuzz(const char *file, uint32_t rounds)
{
	char *bytes, path[100];
	size_t count;
	const char *suffix = strrchr(file, '.');
	if (!suffix || text_read_file(file, 1 << 24, &bytes, &count, NULL)) {
		printf("%s: cannot be read\n", file);
		failed++;
		return;
	}
	snprintf(path, sizeof path, "fuzz_mesh_%d%s", (int)getpid(), suffix);
	char *copy = malloc(count + 1);
	for (uint32_t i = 0; i < rounds; i++) {
		memcpy(copy, bytes, count);
		size_t left = damage(copy, count);
		FILE *out = fopen(path, "wb");
		if (!out || fwrite(copy, 1, left, out) != left)
			abort();
		fclose(out);
		bool image = !strcmp(suffix, ".png") || !strcmp(suffix, ".jpg");
		if (image ? try_image(path) : try_mesh(path)) {
			passed++;
		} else {
			failed++;
			printf("FAILED: %s, round %u\n", file, i);
		}
	}
	unlink(path);
	free(copy);
	free(bytes);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"block.obj", "stool.obj", "gem.stl", "ramp.dae", "hills.png"};
	const char *source = getenv("SOURCE_DIR");
	uint32_t rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 200;
	state = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
	for (int i = 3; i < argc; i++)
		fuzz(argv[i], rounds);
	for (size_t i = 0; argc <= 3 && i < ARRAY_LEN(names); i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/worlds/models/shapes/%s", source ? source : ".", names[i]);
		fuzz(path, rounds);
	}
	printf("%u were taken all the same\n%u passed, %u failed\n", taken, passed, failed);
	return failed > 0;
}
