/* Cube maps and clouds of a sky. The texels of the cube maps are the directions themselves, so that each pixel is
 * compared with its own direction: a face that is mirrored, turned or taken for another would show. */
#include "mesh/answer.h"
#include "mesh/cube.h"
#include "mesh/import.h"
#include "picture_world.h"
#include "../random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

TestSuite(sky, .timeout = 60);

enum { SIDE = 64 };

#ifdef HAVE_MESHES

/* --- files ---------------------------------------------------------------------------------------------------------
 */

struct kind { /* of texels in a DDS file */
	const char *name;
	uint32_t flags, bits, masks[3];
	const char *letters;
	uint32_t dxgi;
	double error; /* of a colour, in 1/255 */
};

static void put_number(struct text *out, uint32_t number)
{
	for (int i = 0; i < 4; i++, number >>= 8)
		text_add_bytes(out, &(char){(char)(number & 255)}, 1);
}

static void put_head(struct text *out, const struct kind *kind, uint32_t side, uint32_t copies)
{
	text_add_bytes(out, "DDS ", 4);
	const uint32_t head[] = {124, 0x1007, side, side, 0, 0, copies};
	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		put_number(out, head[i]);
	for (int i = 0; i < 11; i++)
		put_number(out, 0);
	put_number(out, 32);
	put_number(out, kind->flags);
	text_add_bytes(out, kind->letters ? kind->letters : "\0\0\0\0", 4);
	put_number(out, kind->bits);
	for (int i = 0; i < 3; i++)
		put_number(out, kind->masks[i]);
	const uint32_t tail[] = {0, 0x1008, 0xfe00, 0, 0, 0};
	for (size_t i = 0; i < ARRAY_LEN(tail); i++)
		put_number(out, tail[i]);
	if (kind->dxgi) {
		const uint32_t more[] = {kind->dxgi, 3, 4, 1, 0};
		for (size_t i = 0; i < ARRAY_LEN(more); i++)
			put_number(out, more[i]);
	}
}

/* The direction of the world that a place of a face shows: the table of OpenGL's specification (cube map texture
 * selection), solved for the direction, and z turned round. */
static struct vec3 direction_of(int face, double s, double t)
{
	const struct vec3 table[] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
	struct vec3 d = vec3_unit(table[face]);
	return (struct vec3){d.x, d.y, -d.z};
}

static struct vec3 colour_of(struct vec3 direction)
{
	return vec3_scale(vec3_add(direction, (struct vec3){1, 1, 1}), 0.5);
}

static uint32_t half_of(double value)
{
	int exponent;
	if (!(value > 1e-4))
		return 0;
	double part = frexp(value, &exponent);
	return (uint32_t)(exponent + 14) << 10 | (uint32_t)((2 * part - 1) * 1024);
}

static void put_texel(struct text *out, const struct kind *kind, struct vec3 colour)
{
	const double rgb[3] = {colour.x, colour.y, colour.z};
	if (!kind->bits) {
		uint32_t halves[4] = {half_of(rgb[0]), half_of(rgb[1]), half_of(rgb[2]), half_of(1)};
		put_number(out, halves[0] | halves[1] << 16);
		put_number(out, halves[2] | halves[3] << 16);
		return;
	}
	uint32_t texel = 0;
	for (int k = 0; k < 3; k++) {
		uint32_t mask = kind->masks[k], most = mask ? mask >> __builtin_ctz(mask) : 0;
		texel |= mask ? (uint32_t)(rgb[k] * most + 0.5) << __builtin_ctz(mask) : 0;
	}
	for (uint32_t i = 0; i < kind->bits / 8; i++, texel >>= 8)
		text_add_bytes(out, &(char){(char)(texel & 255)}, 1);
}

/* A block whose texels all have one colour. */
static void put_block(struct text *out, const struct kind *kind, struct vec3 colour)
{
	uint32_t c = (uint32_t)(colour.x * 31 + 0.5) << 11 | (uint32_t)(colour.y * 63 + 0.5) << 5 |
		     (uint32_t)(colour.z * 31 + 0.5);
	if (kind->letters[3] != '1') {
		put_number(out, 0);
		put_number(out, 0);
	}
	put_number(out, c | c << 16);
	put_number(out, 0);
}

static void put_face(struct text *out, const struct kind *kind, int face, uint32_t side)
{
	bool blocks = kind->letters && kind->letters[0] == 'D' && kind->letters[1] == 'X' && kind->letters[2] == 'T';
	uint32_t cells = blocks ? (side + 3) / 4 : side;
	for (uint32_t y = 0; y < cells; y++)
		for (uint32_t x = 0; x < cells; x++) {
			struct vec3 colour =
				colour_of(direction_of(face, (x + 0.5) * 2 / cells - 1, (y + 0.5) * 2 / cells - 1));
			if (blocks)
				put_block(out, kind, colour);
			else
				put_texel(out, kind, colour);
		}
}

static struct text file_of(const struct kind *kind, uint32_t side, uint32_t copies)
{
	struct text out = {0};
	put_head(&out, kind, side, copies);
	for (int face = 0; face < 6; face++)
		for (uint32_t copy = 0; copy < copies; copy++)
			put_face(&out, kind, face, MAX(side >> copy, 1U));
	return out;
}

static const struct kind kinds[] = {
	{"24 bits", 0x40, 24, {0xff0000, 0xff00, 0xff}, NULL, 0, 1.5},
	{"32 bits, blue last", 0x40, 32, {0xff, 0xff00, 0xff0000}, NULL, 0, 1.5},
	{"16 bits", 0x40, 16, {0xf800, 0x7e0, 0x1f}, NULL, 0, 6},
	{"RGBA of DirectX 10", 0x4, 32, {0xff, 0xff00, 0xff0000}, "DX10", 28, 1.5},
	{"halves", 0x4, 0, {0}, "\x71\0\0", 0, 1.5},
	{"BC1", 0x4, 0, {0}, "DXT1", 0, 14},
	{"BC2", 0x4, 0, {0}, "DXT3", 0, 14},
	{"BC3", 0x4, 0, {0}, "DXT5", 0, 14},
};

static struct texture *cube_of(const struct text *file)
{
	struct image_texels texels;
	struct troupe_error error = {0};
	cr_assert(!import_cube(file->at, file->count, &texels, &error), "%s", error.text);
	struct texture *cube = texture_create(texels.width, texels.height, texels.rgba);
	cr_assert(cube_fits(texels.width, texels.height));
	return cube;
}

/* All directions, also across the edges and corners of the cube. */
static double worst_of(const struct texture *cube, double width)
{
	double worst = 0;
	for (int i = 0; i < 4000; i++) {
		double up = -1 + (i + 0.5) / 2000, round = i * 2.399963, flat = sqrt(1 - up * up);
		struct vec3 d = {flat * cos(round), flat * sin(round), up};
		struct vec3 aside = vec3_unit(vec3_cross(d, (struct vec3){0.3, -0.5, 0.8})),
			    other = vec3_cross(d, aside);
		float rgb[3];
		cube_sample(cube, d, vec3_scale(aside, width), vec3_scale(other, width), rgb);
		struct vec3 want = colour_of(d), found = {(double)rgb[0], (double)rgb[1], (double)rgb[2]};
		worst = fmax(worst, vec3_length(vec3_sub(want, found)));
	}
	return worst * 255;
}

Test(sky, kinds_of_files)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct text file = file_of(&kinds[i], SIDE, 1);
		struct texture *cube = cube_of(&file);
		cr_expect_eq(texture_width(cube), (uint32_t)SIDE);
		double worst = worst_of(cube, 0.001);
		cr_expect(worst < kinds[i].error, "%s: %g", kinds[i].name, worst);
		texture_release(cube);
		text_fini(&file);
	}
}

/* Pixels that are as wide as many texels: their mean. A width of 0.2 rad bends colours by 1 in 255. */
Test(sky, wide_pixels)
{
	struct text file = file_of(&kinds[0], SIDE, 1);
	struct texture *cube = cube_of(&file);
	for (double width = 0.01; width < 0.2; width *= 1.5) {
		double worst = worst_of(cube, width);
		cr_expect(worst < 2.5, "%g rad: %g", width, worst);
	}
	texture_release(cube);
	text_fini(&file);
}

/* Each copy has its own colour in place of the direction: which one was taken is seen. */
Test(sky, large_faces_are_read_small)
{
	struct text file = {0};
	put_head(&file, &kinds[0], 2048, 2);
	size_t large = (size_t)2048 * 2048 * 3, small = large / 4;
	char *texels = mem_alloc(large);
	for (int face = 0; face < 6; face++) {
		memset(texels, 10, large);
		text_add_bytes(&file, texels, large);
		memset(texels, 100 + face, small);
		text_add_bytes(&file, texels, small);
	}
	struct texture *cube = cube_of(&file);
	cr_expect_eq(texture_width(cube), 1024u);
	for (int face = 0; face < 6; face++) {
		float rgb[3];
		cube_sample(cube, direction_of(face, 0, 0), (struct vec3){0}, (struct vec3){0}, rgb);
		cr_expect_float_eq((double)rgb[0] * 255, 100 + face, 1e-3);
	}
	texture_release(cube);
	text_fini(&file);
	free(texels);
}

/* Only the means of 2 x 2 texels are left of a file without copies. */
Test(sky, large_faces_are_halved)
{
	struct text file = {0};
	put_head(&file, &kinds[0], 1026, 1);
	for (size_t i = 0; i < (size_t)6 * 1026 * 1026; i++)
		text_add_bytes(&file, i % 2 ? "\x20\x20\x20" : "\x60\x60\x60", 3);
	struct texture *cube = cube_of(&file);
	float rgb[3];
	cr_expect_eq(texture_width(cube), 513u);
	cube_sample(cube, (struct vec3){0.3, -0.2, 1}, (struct vec3){0}, (struct vec3){0}, rgb);
	cr_expect_float_eq((double)rgb[1] * 255, 0x40, 1e-3);
	texture_release(cube);
	text_fini(&file);
}

Test(sky, bad_files)
{
	static const struct {
		size_t at;
		uint32_t number;
		size_t count; /* of bytes that are left; 0: all */
		const char *says;
	} rows[] = {{4, 124, 100, "cut off"}, {4, 124, 3000, "cut off"}, {12, 32, 0, "squares"}, {16, 0, 0, "squares"},
		{112, 0, 0, "no cube map"}, {112, 0x200, 0, "no cube map"}, {80, 0, 0, "are not read"},
		{88, 7, 0, "are not read"}, {28, 100, 0, "copies"}, {28, 7, 0, "cut off"}, {0, 0x41414141, 0, "DDS"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct text file = file_of(&kinds[0], SIDE, 1);
		for (int k = 0; k < 4; k++)
			file.at[rows[i].at + (size_t)k] = (char)(rows[i].number >> 8 * k & 255);
		struct image_texels texels;
		struct troupe_error error = {0};
		cr_expect(import_cube(file.at, rows[i].count ? rows[i].count : file.count, &texels, &error), "row %zu",
			i);
		cr_expect(strstr(error.text, rows[i].says) && !strchr(error.text, '\n'), "row %zu: %s", i, error.text);
		text_fini(&file);
	}
}

/* Any bytes: a cube map, or one line. Heads are damaged most, and files are cut off. */
Test(sky, damaged_files)
{
	uint64_t draws = 5;
	uint32_t taken = 0;
	for (int round = 0; round < 20000; round++) {
		struct text file = file_of(&kinds[random_below(&draws, ARRAY_LEN(kinds))], 1 + random_below(&draws, 9),
			1 + random_below(&draws, 3));
		size_t count = file.count;
		for (uint32_t times = random_below(&draws, 4); times; times--)
			file.at[random_below(
				&draws, random_below(&draws, 2) ? MIN((uint32_t)count, 148U) : (uint32_t)count)] =
				(char)random_below(&draws, 256);
		if (!random_below(&draws, 4))
			count = random_below(&draws, (uint32_t)count);
		struct image_texels texels;
		struct troupe_error error = {0};
		if (!import_cube(file.at, count, &texels, &error)) {
			cr_assert(texels.width >= 1 && texels.height == 6 * texels.width, "round %d", round);
			free(texels.rgba);
			taken++;
		} else {
			cr_assert(*error.text && !strchr(error.text, '\n'), "round %d: %s", round, error.text);
		}
		text_fini(&file);
	}
	cr_expect(taken > 2000 && taken < 18000, "%u were taken", taken);
}

/* The process that reads files may have been taken over by one: what it gives as a cube map has the shape of one. */
Test(sky, answers_of_another_shape)
{
	static const struct {
		uint32_t width, height;
		bool fits;
	} rows[] = {{2, 12, true}, {1, 6, true}, {4, 4, false}, {2, 11, false}, {2, 13, false}, {16, 1, false}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned char rgba[4 * 26] = {0};
		struct image_texels texels;
		struct troupe_error error = {0};
		struct text answer = {0};
		answer_pack_texels(&(struct image_texels){rows[i].width, rows[i].height, rgba}, &answer);
		cr_assert(!answer_unpack_texels(answer.at, answer.count, false, &texels, &error));
		free(texels.rgba);
		bool taken = !answer_unpack_texels(answer.at, answer.count, true, &texels, &error);
		cr_assert_eq(taken, rows[i].fits, "row %zu: %s", i, error.text);
		if (taken)
			free(texels.rgba);
		text_fini(&answer);
	}
}

/* --- pictures ------------------------------------------------------------------------------------------------------
 */

enum { W = 40, H = 30 };

static void take(
	const struct picture_world *w, const struct sdf_camera *camera, struct pose pose, double time_s, float *colour)
{
	struct vec3 directions[W * H];
	lens_directions(camera, false, directions);
	picture_take(
		w->rays, &w->lights, camera, directions, pose, &(struct picture){.colour = colour, .time_s = time_s});
}

static struct vec3 direction_in(const struct sdf_camera *camera, struct pose pose, int pixel)
{
	struct vec3 directions[W * H];
	lens_directions(camera, false, directions);
	return quat_rotate(pose.q, directions[pixel]);
}

Test(sky, cameras_see_cube_maps)
{
	struct picture_world w = picture_world_load("<scene><sky/></scene>");
	struct sdf_camera camera = picture_world_camera(W, H, 20);
	struct text file = file_of(&kinds[0], SIDE, 1);
	struct texture *cube = cube_of(&file);
	w.sdf->worlds.at[0].surroundings.scene.sky_cube = cube;
	for (int turn = 0; turn < 12; turn++) {
		static float colour[3 * W * H];
		struct pose pose = {{0, 0, 1}, quat_from_rpy(0.3, turn % 4 - 1.5, turn)};
		take(&w, &camera, pose, 0, colour);
		for (int i = 0; i < W * H; i++) {
			struct vec3 want = colour_of(direction_in(&camera, pose, i));
			struct vec3 found = {
				(double)colour[3 * i], (double)colour[3 * i + 1], (double)colour[3 * i + 2]};
			double off = 255 * vec3_length(vec3_sub(want, found));
			cr_assert(off < 2, "turn %d, pixel %d: %g", turn, i, off);
		}
	}
	picture_world_drop(&w);
	texture_release(cube);
	text_fini(&file);
}
/* --- clouds --------------------------------------------------------------------------------------------------------
 */

static double smooth(double from, double to, double x)
{
	double t = fmin(fmax((x - from) / (to - from), 0), 1);
	return t * t * (3 - 2 * t);
}

static double value_at(double x, double y)
{
	uint32_t hash = ((uint32_t)(int64_t)x & 255) * 374761393U + ((uint32_t)(int64_t)y & 255) * 668265263U;
	hash = (hash ^ hash >> 13) * 1274126177U;
	return ((hash ^ hash >> 16) & 255) / 255.0;
}

/* The formula of picture.h: the sum over the corners of a cell. */
static double noise_at(double x, double y)
{
	double sum = 0;
	for (int i = 0; i < 4; i++) {
		double u = x - floor(x), v = y - floor(y);
		double wide = i % 2 ? smooth(0, 1, u) : 1 - smooth(0, 1, u);
		double high = i / 2 ? smooth(0, 1, v) : 1 - smooth(0, 1, v);
		sum += wide * high * value_at(floor(x) + i % 2, floor(y) + i / 2);
	}
	return sum;
}

/* humidity 0.4, mean_size 0.25, 20 m/s towards (0.6 0.8) */
static double cloud_at(struct vec3 d, double time_s)
{
	double sum = 0, cell = 200 + 1600 * 0.25, cover = 0.8 - 0.6 * 0.4;
	if (!(d.z > 0.02))
		return 0;
	double x = (1000 * d.x / d.z - 20 * 0.6 * time_s) / cell, y = (1000 * d.y / d.z - 20 * 0.8 * time_s) / cell;
	for (int o = 0; o < 5; o++) {
		sum += noise_at(x, y) / pow(2, o + 1);
		x = 2 * x + 17;
		y = 2 * y + 17;
	}
	return smooth(cover - 0.08, cover + 0.12, sum) * smooth(0.02, 0.25, d.z);
}

/* At noon: the whole light. A day later, the pattern has gone round more than once. */
Test(sky, clouds)
{
	struct picture_world w = picture_world_load(
		"<scene><sky><time>13</time><clouds><speed>20</speed><direction>0.9272952180016122</"
		"direction><humidity>0.4"
		"</humidity><mean_size>0.25</mean_size><ambient>0.9 0.8 0.7 1</ambient></clouds></sky></scene>");
	struct sdf_camera camera = picture_world_camera(W, H, 20);
	const double times[] = {0, 7.5, 86400};
	double most = 0, least = 1;
	for (size_t t = 0; t < ARRAY_LEN(times); t++) {
		static float colour[3 * W * H];
		struct pose pose = {{5, 6, 1}, quat_from_rpy(0, -0.6, (double)t)};
		take(&w, &camera, pose, times[t], colour);
		for (int i = 0; i < W * H; i++) {
			struct vec3 d = direction_in(&camera, pose, i);
			double part = cloud_at(d, times[t]), clear = 0.75 - 0.5 * fmin(fmax(d.z, 0), 1);
			double want = clear + part * (0.9 - clear), found = (double)colour[3 * i];
			cr_assert(
				fabs(want - found) < 1e-5, "%g s, pixel %d: %g, expected %g", times[t], i, found, want);
			most = fmax(most, part);
			least = fmin(least, part);
		}
	}
	cr_expect(most > 0.99 && least < 0.01, "clouds cover from %g to %g", least, most);
	picture_world_drop(&w);
}
#endif
