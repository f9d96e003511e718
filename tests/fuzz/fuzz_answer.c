/* Feeds damaged answers to the code that receives them: a process that reads meshes and images may send any bytes
 * once a damaged file has taken it over (mesh/answer.h).
 *
 *   fuzz_answer                some thousand rounds over sound answers, which are also taken undamaged
 *   fuzz_answer SEED ROUNDS    so many
 *
 * The same arguments damage the same bytes. What is taken is sound: its numbers are finite, its indices and parts are
 * inside, and its own bytes are taken again. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "mesh/answer.h"
#include "mesh/trimesh.h"

#include "rounds.h"

#define must(good, what) must(good, what, NULL, 0)

/* --- what is sound ------------------------------------------------------------------------------------------------ */

static void check_mesh(struct mesh *mesh)
{
	uint32_t triangles = mesh->corners.count / 3, next = 0;
	must(mesh->corners.count % 3 == 0 && triangles <= MESH_TRIANGLES_MAX, "triangles");
	must(mesh->points.count <= MESH_POINTS_MAX && mesh->parts.count <= MESH_PARTS_MAX, "too many");
	for (uint32_t i = 0; i < mesh->points.count; i++)
		must(vec3_within(mesh->points.at[i], MESH_REACH_MAX), "a point");
	for (uint32_t i = 0; i < mesh->corners.count; i++)
		must(mesh->corners.at[i] < mesh->points.count, "a corner");
	for (uint32_t i = 0; i < mesh->parts.count; i++) {
		const struct mesh_part *part = &mesh->parts.at[i];
		must(part->first == next && part->count <= triangles - next, "a part");
		must(strlen(part->name) <= ANSWER_NAME_MAX && strlen(part->other_name) <= ANSWER_NAME_MAX, "a name");
		next += part->count;
	}
	must(next == triangles, "parts");
}

/* What the rest of the program does with it. */
static void use_mesh(struct mesh *mesh)
{
	struct trimesh trimesh;
	struct mesh cut = {0};
	mesh_weld(mesh);
	(void)mesh_cut(mesh, NULL, true, (struct vec3){1, -2, 3}, &cut);
	(void)mesh_is_closed(&cut);
	(void)mesh_measure(&cut);
	mesh_fini(&cut);
	trimesh_of_mesh(mesh, &trimesh);
	trimesh_fini(&trimesh);
}

static bool take_mesh(const char *bytes, size_t count)
{
	struct mesh mesh = {0}, again = {0};
	struct text packed = {0};
	struct troupe_error error = {0};
	if (answer_unpack_mesh(bytes, count, &mesh, &error)) {
		must(error.status == TROUPE_EPROTOCOL && *error.text && !mesh.points.at, "a refusal");
		return false;
	}
	check_mesh(&mesh);
	answer_pack_mesh(&mesh, &packed);
	must(packed.count == count && !answer_unpack_mesh(packed.at, packed.count, &again, &error), "its own bytes");
	use_mesh(&mesh);
	mesh_fini(&mesh);
	mesh_fini(&again);
	text_fini(&packed);
	return true;
}

static bool take_image(const char *bytes, size_t count)
{
	struct image image;
	struct troupe_error error = {0};
	if (answer_unpack_image(bytes, count, &image, &error)) {
		must(error.status == TROUPE_EPROTOCOL && *error.text, "a refusal");
		return false;
	}
	must(image.columns >= 2 && image.columns <= IMAGE_SIDE_MAX && image.rows >= 2 && image.rows <= IMAGE_SIDE_MAX,
		"the size of an image");
	for (size_t i = 0; i < (size_t)image.columns * image.rows; i++)
		must(image.values[i] >= 0 && image.values[i] <= 1, "a value");
	free(image.values);
	return true;
}

static bool take_texels(const char *bytes, size_t count)
{
	struct image_texels texels, cube;
	struct troupe_error error = {0};
	if (answer_unpack_texels(bytes, count, false, &texels, &error)) {
		must(error.status == TROUPE_EPROTOCOL && *error.text, "a refusal");
		return false;
	}
	bool is_cube = !answer_unpack_texels(bytes, count, true, &cube, &error);
	must(is_cube == (texels.height == 6 * texels.width), "the shape of a cube map");
	if (is_cube)
		free(cube.rgba);
	must(texels.width >= 1 && texels.height >= 1 && texels.width <= TEXTURE_SIDE_MAX, "the size of a texture");
	struct texture *texture = texture_create(texels.width, texels.height, texels.rgba);
	must(texture_bytes(texture) >= 4 * (size_t)texels.width * texels.height, "its bytes");
	texture_release(texture);
	return true;
}

/* The first byte says what the others are. They lie in memory of their own size, so that a sanitizer sees every look
 * beyond them. */
static bool take(const char *bytes, size_t count)
{
	char *copy = mem_alloc(count - 1 + (count == 1));
	memcpy(copy, bytes + 1, count - 1);
	bool taken = (*bytes & 2 ? take_texels : *bytes & 1 ? take_image : take_mesh)(copy, count - 1);
	free(copy);
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (count)
		(void)take((const char *)bytes, count);
	return 0;
}

#ifndef WITHOUT_MAIN

/* --- sound ones --------------------------------------------------------------------------------------------------- */

enum { SOUND = 6, ROUNDS = 20000 };

static void add_tetrahedron(struct mesh *mesh, double x, const char *name, const char *other_name)
{
	static const uint32_t corners[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
	uint32_t base = mesh->points.count, first = mesh->corners.count / 3;
	for (int i = 0; i < 4; i++)
		mesh_add_point(mesh, (struct vec3){x + (i == 1), i == 2, i == 3});
	for (int i = 0; i < 4; i++)
		mesh_add_triangle(mesh, base + corners[i][0], base + corners[i][1], base + corners[i][2]);
	vec_push(&mesh->parts, (struct mesh_part){name, other_name, first, 4, first ? 0 : MESH_NONE});
}

static struct text sound_one(int kind)
{
	struct text out = {0};
	float values[6] = {0, 0.25f, 0.5f, 0.75f, 1, 0};
	struct mesh mesh = {0};
	unsigned char rgba[24] = {1, 2, 3, 255};
	text_add_bytes(&out, kind >= 4 ? "\2" : kind == 3 ? "\1" : "\0", 1);
	for (int i = 0; i < kind && kind < 3; i++)
		add_tetrahedron(&mesh, i * 0.5, i ? "" : "node", "mesh");
	if (kind == 2) {
		vec_push(&mesh.materials,
			((struct mesh_material){.name = "red", .diffuse = {1, 0, 0, 1}, .maps = {"red.png", "*0"}}));
		vec_push(&mesh.embedded, ((struct mesh_embedded){"bytes", 5}));
		for (uint32_t i = 0; i < mesh.corners.count; i++)
			vec_push(&mesh.texcoords, ((struct mesh_texcoord){(float)i / 8, 0.5f}));
	}
	if (kind == 3)
		answer_pack_image(&(struct image){3, 2, values}, &out);
	else if (kind == 4)
		answer_pack_texels(&(struct image_texels){3, 2, rgba}, &out);
	else if (kind == 5)
		answer_pack_texels(&(struct image_texels){1, 6, rgba}, &out);
	else
		answer_pack_mesh(&mesh, &out);
	mesh_fini(&mesh);
	return out;
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static void damage(struct text *text)
{
	static const uint64_t numbers[] = {0, 1, 2, 3, 4, 5, 12, 24, 96, 1025, 4096, 4097, UINT32_MAX, UINT64_MAX,
		UINT64_C(1) << 32, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff8000000000000),
		UINT64_C(0x41cdcd6500000001)};
	size_t at = rounds_below(text->count), some = rounds_below(40), kind = rounds_below(5);
	uint64_t number = numbers[rounds_below(ARRAY_LEN(numbers))];
	if (kind == 0) {
		text->at[at] = (char)(text->at[at] ^ 1 << rounds_below(8));
	} else if (kind == 1) {
		memcpy(text->at + at, &number, MIN(sizeof number, text->count - at));
	} else if (kind == 2) {
		text->count = at + 1;
	} else if (kind == 3) { /* some come twice */
		struct text copy = {0};
		text_add_bytes(&copy, text->at + at, MIN(some, text->count - at));
		text_add_bytes(text, copy.at ? copy.at : "", copy.count);
		text_fini(&copy);
	} else { /* a count that fits what follows, and one more */
		text->at[1 + rounds_below(8)] = (char)(24 * rounds_below(10));
	}
}

int main(int argc, char **argv)
{
	struct text sound[SOUND];
	uint64_t rounds = argc == 3 ? strtoull(argv[2], NULL, 10) : ROUNDS, taken = 0;
	const char *seeds = seeds_wanted(argc, argv);
	for (int i = 0; i < SOUND; i++) {
		sound[i] = sound_one(i);
		must(take(sound[i].at, sound[i].count), "a sound one is refused");
		if (seeds)
			seeds_write(seeds, "answer", (unsigned)i, sound[i].at, sound[i].count);
	}
	rounds_state = argc == 3 ? strtoull(argv[1], NULL, 10) : 1;
	for (uint64_t i = 0; i < rounds && !seeds; i++) {
		const struct text *from = &sound[rounds_below(SOUND)];
		struct text copy = {0};
		text_add_bytes(&copy, from->at, from->count);
		for (size_t n = 1 + rounds_below(3); n; n--)
			damage(&copy);
		taken += take(copy.at, copy.count);
		text_fini(&copy);
	}
	for (int i = 0; i < SOUND; i++)
		text_fini(&sound[i]);
	printf("%llu of %llu damaged ones were taken\n1 passed, 0 failed\n", (unsigned long long)taken,
		(unsigned long long)rounds);
	return 0;
}

#endif
