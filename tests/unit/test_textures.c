/* Textures and the materials of meshes in pictures: a chart of known colours through each format of meshes, the sides
 * of shapes as Gazebo has them, the corners of a chessboard at their analytic pixels, filters, normals and reflections
 * against formulas. A texture that is mirrored, off by half a texel, or of the wrong part would show. */
#include "base/hash.h"
#include "mesh/importer.h"
#include "picture_world.h"
#include "sdf_help.h"

#include <stdio.h>
#include <stdlib.h>

#include "config.h"

TestSuite(textures, .timeout = 120);

#define DATA SOURCE_DIR "/tests/data/mesh/"
#define BRIGHT "<scene><ambient>1 1 1 1</ambient><background>0 0 0 1</background></scene>"
#define MODEL(name, pose, visual)                                                                                      \
	"<model name='" name "'><static>1</static><pose>" pose "</pose><link name='l'><visual name='v'>" visual        \
	"</visual></link></model>"
#define WHITE "<material><ambient>1 1 1 1</ambient><diffuse>1 1 1 1</diffuse></material>"

static const unsigned char chart[2][2][3] = {{{200, 30, 40}, {20, 180, 50}}, {{30, 60, 220}, {230, 220, 10}}};

static void expect_colour(const float *colour, const double want[3], const char *what)
{
	for (int k = 0; k < 3; k++)
		cr_expect(fabs((double)colour[k] - want[k]) < 1e-5, "%s: %g %g %g, expected %g %g %g", what,
			(double)colour[0], (double)colour[1], (double)colour[2], want[0], want[1], want[2]);
}

static void expect_bytes(const float *colour, const unsigned char want[3], const char *what)
{
	const double numbers[3] = {want[0] / 255.0, want[1] / 255.0, want[2] / 255.0};
	expect_colour(colour, numbers, what);
}

#ifdef HAVE_MESHES

/* --- the chart ------------------------------------------------------------------------------------------------------
 */

/* Two squares of a mesh file; the camera, 1 m before them, sees the chart in its left half (tests/data/mesh). */
Test(textures, chart_of_each_format)
{
	static const char *const files[] = {"painted.obj", "painted.dae", "painted.glb", "painted.gltf"};
	enum { W = 80, H = 40 };
	static float colour[3 * W * H];
	static const double plain[3] = {0.2, 0.4, 0.6};
	struct sdf_camera camera = picture_world_camera(W, H, 40);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *inside = mem_printf(
			BRIGHT MODEL("m", "0 0 0 0 0 0", "<geometry><mesh><uri>%s</uri></mesh></geometry>"), files[i]);
		struct picture_world w = picture_world_load(inside);
		picture_world_take(&w, &camera, (struct pose){{1, 1, 0.5}, quat_from_rpy(0, 0, M_PI)}, colour);
		for (int r = 0; r < 2; r++)
			for (int c = 0; c < 2; c++)
				expect_bytes(&colour[3 * ((size_t)(10 + 20 * r) * W + (size_t)(10 + 20 * c))],
					chart[r][c], files[i]);
		expect_colour(&colour[3 * (20 * W + 60)], plain, files[i]);
		cr_expect_eq(w.sdf->textures.count, 1u, "%s", files[i]);
		cr_expect_eq(w.sdf->warning_count, 0u, "%s: %s", files[i],
			w.sdf->warning_count ? w.sdf->messages.at[0].text : "");
		picture_world_drop(&w);
		free(inside);
	}
}

/* The material of the visual takes the place of those of the file, also for its texture. */
Test(textures, the_material_of_a_visual_comes_first)
{
	enum { W = 80, H = 40 };
	static float colour[3 * W * H];
	struct picture_world w = picture_world_load(BRIGHT MODEL("m", "0 0 0 0 0 0",
		"<geometry><mesh><uri>painted.obj</uri></mesh></geometry><material><ambient>0.1 0.2 0.3 "
		"1</ambient></material>"));
	struct sdf_camera camera = picture_world_camera(W, H, 40);
	picture_world_take(&w, &camera, (struct pose){{1, 1, 0.5}, quat_from_rpy(0, 0, M_PI)}, colour);
	expect_colour(&colour[3 * (10 * W + 10)], (const double[]){0.1, 0.2, 0.3}, "the chart");
	expect_colour(&colour[3 * (20 * W + 60)], (const double[]){0.1, 0.2, 0.3}, "beside it");
	picture_world_drop(&w);
}

#define SIGNATURE(limits)                                                                                              \
	MODEL("m", "0 0 0 0 0 0",                                                                                      \
		"<geometry><box><size>2 2 2</size></box></geometry><plugin name='gz::sim::systems::Thermal' "          \
		"filename='gz-sim-thermal-system'><temperature>77</temperature><heat_signature>painted.png"            \
		"</heat_signature>" limits "</plugin>")

/* <heat_signature> lies on a visual as an albedo map does: red 0 is the lower and 255 the higher temperature. One that
 * is not given is that of the air, 290 K. */
Test(textures, a_heat_signature)
{
	enum { W = 40 };
	static const struct {
		const char *model;
		double min, max;
	} rows[] = {{SIGNATURE("<min_temp>200</min_temp><max_temp>455</max_temp>"), 200, 455},
		{SIGNATURE("<min_temp>455</min_temp><max_temp>200</max_temp>"), 200, 455},
		{SIGNATURE("<max_temp>392</max_temp>"), 290, 392}, {SIGNATURE("<min_temp>341</min_temp>"), 290, 341},
		{SIGNATURE(""), 290, 290}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static uint16_t heat[W * W];
		static struct vec3 directions[W * W];
		struct picture_world w = picture_world_load(rows[i].model);
		struct sdf_camera camera = picture_world_camera(W, W, 20);
		camera.heat_max_K = 600;
		camera.heat_step_K = 0.01;
		camera.pixels = SDF_PIXELS_GREY16;
		lens_directions(&camera, false, directions);
		picture_take(w.rays, &w.lights, &camera, directions,
			(struct pose){{2, 0, 0}, quat_from_rpy(0, 0, M_PI)},
			&(struct picture){.heat = heat, .air_K = 290});
		for (int r = 0; r < 2; r++)
			for (int c = 0; c < 2; c++) {
				double want = rows[i].min + chart[r][c][0] / 255.0 * (rows[i].max - rows[i].min);
				double found = heat[(10 + 20 * r) * W + (10 + 20 * c)] * 0.01;
				cr_expect(
					fabs(found - want) < 0.0051, "%zu: %d %d: %g K, not %g", i, r, c, found, want);
			}
		picture_world_drop(&w);
	}
}

/* <albedo_map> of a box: each side upright and not mirrored, as on the box of gz-common's MeshManager: its top has the
 * upper edge of the image at +x, and its foot at -x. */
Test(textures, the_sides_of_a_box)
{
	static const struct {
		const char *name;
		struct vec3 from;
		double roll, pitch, yaw;
	} sides[] = {{"+x", {2, 0, 0}, 0, 0, M_PI}, {"-x", {-2, 0, 0}, 0, 0, 0}, {"+y", {0, 2, 0}, 0, 0, -M_PI / 2},
		{"-y", {0, -2, 0}, 0, 0, M_PI / 2}, {"+z", {0, 0, 2}, 0, M_PI / 2, 0},
		{"-z", {0, 0, -2}, 0, -M_PI / 2, 0}};
	enum { W = 40 };
	static float colour[3 * W * W];
	struct picture_world w = picture_world_load(BRIGHT MODEL("m", "0 0 0 0 0 0",
		"<geometry><box><size>2 2 "
		"2</size></box></geometry><material><pbr><metal><albedo_map>painted.png</albedo_map>"
		"</metal></pbr></material>"));
	struct sdf_camera camera = picture_world_camera(W, W, 20);
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		picture_world_take(&w, &camera,
			(struct pose){sides[i].from, quat_from_rpy(sides[i].roll, sides[i].pitch, sides[i].yaw)},
			colour);
		for (int r = 0; r < 2; r++)
			for (int c = 0; c < 2; c++)
				expect_bytes(&colour[3 * ((size_t)(10 + 20 * r) * W + (size_t)(10 + 20 * c))],
					chart[r][c], sides[i].name);
	}
	picture_world_drop(&w);
}

/* A plane has the upper edge of the image at +y; a cylinder stands on its head, and begins at +y. */
Test(textures, a_plane_and_a_cylinder)
{
	enum { W = 40 };
	static float colour[3 * W * W];
#define CHART "<material><pbr><metal><albedo_map>painted.png</albedo_map></metal></pbr></material>"
	struct picture_world w = picture_world_load(BRIGHT MODEL(
		"plane", "0 0 0 0 0 0", "<geometry><plane><size>2 2</size></plane></geometry>" CHART) MODEL("can",
		"9 0 0 0 0 0", "<geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry>" CHART));
	struct sdf_camera camera = picture_world_camera(W, W, 20);
	/* from above, turned so that +y is up and +x to the right */
	struct quat down = quat_mul(quat_from_rpy(0, 0, M_PI / 2), quat_from_rpy(0, M_PI / 2, 0));
	picture_world_take(&w, &camera, (struct pose){{0, 0, 1}, down}, colour);
	for (int r = 0; r < 2; r++)
		for (int c = 0; c < 2; c++)
			expect_bytes(
				&colour[3 * ((size_t)(10 + 20 * r) * W + (size_t)(10 + 20 * c))], chart[r][c], "plane");
	/* from +x: u grows from +y (0) by way of +x (1/4) to -y (1/2) and -x (3/4), v from the foot upwards; so +x
	 * shows the left half of the image, its upper half below */
	picture_world_take(&w, &camera, (struct pose){{11, 0, 0}, quat_from_rpy(0, 0, M_PI)}, colour);
	expect_bytes(&colour[3 * (30 * W + 20)], chart[0][0], "the foot of the can");
	expect_bytes(&colour[3 * (10 * W + 20)], chart[1][0], "the head of the can");
	/* from -x: the right half */
	picture_world_take(&w, &camera, (struct pose){{7, 0, 0}, quat_from_rpy(0, 0, 0)}, colour);
	expect_bytes(&colour[3 * (30 * W + 20)], chart[0][1], "the foot of the can, from behind");
	picture_world_drop(&w);
}

/* A ball has its poles at +y, where the image has its upper edge, and at -y; the image begins at +z, and goes on by way
 * of +x, -z and -x. */
Test(textures, a_ball)
{
	enum { W = 40 };
	static float colour[3 * W * W];
	struct picture_world w = picture_world_load(
		BRIGHT MODEL("m", "0 0 0 0 0 0", "<geometry><sphere><radius>1</radius></sphere></geometry>" CHART));
	struct sdf_camera camera = picture_world_camera(W, W, 20);
	/* from +x, -y is left */
	picture_world_take(&w, &camera, (struct pose){{2, 0, 0}, quat_from_rpy(0, 0, M_PI)}, colour);
	expect_bytes(&colour[3 * (20 * W + 14)], chart[1][0], "+x, -y");
	expect_bytes(&colour[3 * (20 * W + 26)], chart[0][0], "+x, +y");
	picture_world_take(&w, &camera, (struct pose){{-2, 0, 0}, quat_from_rpy(0, 0, 0)}, colour);
	expect_bytes(&colour[3 * (20 * W + 14)], chart[0][1], "-x, +y");
	expect_bytes(&colour[3 * (20 * W + 26)], chart[1][1], "-x, -y");
	picture_world_drop(&w);
}

/* One line for each bad image, and the surface is plain; the same file is read once. */
Test(textures, bad_images_are_named)
{
	static const char *const bad[] = {"broken_1.dae", "none.png"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *inside = mem_printf(BRIGHT MODEL("m", "0 0 0 0 0 0",
						  "<geometry><sphere><radius>1</radius></sphere></"
						  "geometry><material><pbr><metal>\n<albedo_map>%s</albedo_map>"
						  "</metal></pbr></material>") MODEL("n", "0 0 0 0 0 0",
						  "<geometry><sphere><radius>1</radius></sphere></"
						  "geometry><material><pbr><metal>\n<albedo_map>%s</albedo_map>"
						  "</metal></pbr></material>"),
			bad[i], bad[i]);
		struct picture_world w = picture_world_load(inside);
		cr_assert_eq(w.sdf->warning_count, 1u, "%s: %u", bad[i], w.sdf->warning_count);
		const char *text = w.sdf->messages.at[0].text;
		cr_expect(!strncmp(text, "t.sdf:2: ", 9) && strstr(text, bad[i]) && !strchr(text, '\n'), "%s", text);
		cr_expect_eq(w.sdf->textures.count, 0u);
		cr_expect_null(w.sdf->worlds.at[0].visuals.at[0].shape.maps);
		picture_world_drop(&w);
		free(inside);
	}
}

/* A header that asks for 16000 x 16000 pixels, and files that end early. */
Test(textures, limits)
{
	static const unsigned char huge[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D',
		'R', 0, 0, 0x3e, 0x80, 0, 0, 0x3e, 0x80, 8, 2, 0, 0, 0, 0xce, 0x1c, 0x48, 0x89, 0, 0, 0, 0, 'I', 'D',
		'A', 'T', 0x35, 0xaf, 0x06, 0x1e};
	static const char *const wrong[] = {"GIF89a", "", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff"};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct texture *texture = NULL;
	struct troupe_error error;
	cr_expect_neq(
		importer_texture(importer, &losses, (const char *)huge, sizeof huge, &texture, &error), TROUPE_OK);
	cr_expect(strstr(error.text, "16000 x 16000") && !strchr(error.text, '\n'), "%s", error.text);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		cr_expect_eq(importer_texture(importer, &losses, wrong[i], strlen(wrong[i]), &texture, &error),
			TROUPE_EWORLD);
		cr_expect(*error.text && !strchr(error.text, '\n'), "%s", error.text);
	}
	cr_expect_eq(losses.deaths, 0u);
	importer_destroy(importer);
}

/* Every kind of PNG and JPEG; the same bytes are one texture while somebody has it. */
Test(textures, kinds_of_images)
{
	static const struct {
		const char *name;
		uint32_t width, height;
		bool clear;
	} rows[] = {{"sound_grey.png", 8, 8, false}, {"sound_grey_1.png", 8, 8, false},
		{"sound_grey_16.png", 8, 8, false}, {"sound_colour.png", 8, 8, true}, {"sound_palette.png", 8, 8, true},
		{"sound_grey.jpg", 9, 7, false}, {"sound_colour.jpg", 9, 7, false}};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct files files = {0};
	struct troupe_error error = {0};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[1000];
		const char *bytes;
		size_t count;
		struct texture *one = NULL, *other = NULL;
		snprintf(path, sizeof path, DATA "%s", rows[i].name);
		cr_assert(!files_read(&files, path, 1 << 20, &bytes, &count, &error), "%s", error.text);
		cr_assert(!importer_texture(importer, &losses, bytes, count, &one, &error), "%s: %s", path, error.text);
		cr_expect(texture_width(one) == rows[i].width && texture_height(one) == rows[i].height, "%s", path);
		cr_expect_eq(texture_is_clear(one), rows[i].clear, "%s", path);
		cr_assert(
			!importer_texture(importer, &losses, bytes, count, &other, &error), "%s: %s", path, error.text);
		cr_expect_eq(one, other);
		texture_release(one);
		texture_release(other);
	}
	importer_destroy(importer);
	files_fini(&files);
}

/* Of a grey image each height is the grey of the same texel. */
Test(textures, heights_of_an_image)
{
	static const char *const names[] = {DATA "sound_grey.jpg", DATA "sound_grey.png", DATA "sound_grey_16.png"};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct files files = {0};
	struct troupe_error error = {0};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *bytes;
		size_t count;
		struct texture *texture = NULL;
		struct image image = {0};
		cr_assert(!files_read(&files, names[i], 1 << 20, &bytes, &count, &error), "%s", error.text);
		cr_assert(!importer_texture(importer, &losses, bytes, count, &texture, &error), "%s", error.text);
		cr_assert(!importer_image(importer, &losses, &files, names[i], &image, &error), "%s", error.text);
		cr_assert(image.columns == texture_width(texture) && image.rows == texture_height(texture));
		for (uint32_t k = 0; k < image.columns * image.rows; k++) {
			float rgba[4];
			struct texture_place place = {(k % image.columns + 0.5) / image.columns,
				(k / image.columns + 0.5) / image.rows, 0.01, 0, 0, 0.01};
			texture_sample(texture, &place, rgba);
			cr_expect_float_eq(
				(double)image.values[k], (double)rgba[0], 1.0 / 255, "%s: pixel %u", names[i], k);
		}
		free(image.values);
		texture_release(texture);
	}
	importer_destroy(importer);
	files_fini(&files);
}

/* A sheet whose outside looks along x, from before and from behind. The reader adds a material that nothing has. */
Test(textures, sides_of_gltf)
{
	static const struct {
		const char *file;
		double yaw;
		bool seen;
	} rows[] = {{"sheet_single", 3.14159265358979, true}, {"sheet_single", 0, false},
		{"sheet_double", 3.14159265358979, true}, {"sheet_double", 0, true}};
	struct sdf_camera camera = picture_world_camera(3, 3, 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *inside = mem_printf(
			BRIGHT MODEL("m", "1 0 0 0 0 %.15g", "<geometry><mesh><uri>%s.gltf</uri></mesh></geometry>"),
			rows[i].yaw, rows[i].file);
		struct picture_world w = picture_world_load(inside);
		float colour[3 * 9];
		picture_world_take(&w, &camera, POSE_IDENTITY, colour);
		expect_colour(&colour[12], rows[i].seen ? (const double[]){0.5, 0.25, 1} : (const double[]){0, 0, 0},
			rows[i].file);
		picture_world_drop(&w);
		free(inside);
	}
}

/* A sheet of two halves, of which only that with the material of both sides is seen from behind. */
Test(textures, sides_of_parts)
{
	static const double both[] = {0.5, 0.25, 1}, one[] = {1, 0.5, 0.25}, none[] = {0, 0, 0};
	struct sdf_camera camera = picture_world_camera(3, 3, 3);
	for (int behind = 0; behind < 2; behind++) {
		char *inside = mem_printf(BRIGHT MODEL("m", "1 0 0 0 0 %g",
						  "<geometry><mesh><uri>sheet_both.gltf</uri></mesh></geometry>"),
			behind ? 0 : 3.14159265358979);
		struct picture_world w = picture_world_load(inside);
		float colour[3 * 9];
		picture_world_take(&w, &camera, POSE_IDENTITY, colour);
		expect_colour(&colour[9], behind ? none : both, "the left half");
		expect_colour(&colour[15], behind ? both : one, "the right half");
		picture_world_drop(&w);
		free(inside);
	}
}

/* The opacity of a material whose file has no modes of alpha is that of the file. */
Test(textures, a_material_that_is_half_clear)
{
	static const char object[] = "mtllib half.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl half\nf 1 2 3\n";
	static const char material[] = "newmtl half\nKd 0.1 0.2 0.3\nd 0.25\n";
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct files files = {0};
	struct troupe_error error = {0};
	struct mesh mesh = {0};
	files_add(&files, "half.obj", object, sizeof object - 1);
	files_add(&files, "half.mtl", material, sizeof material - 1);
	files.closed = true;
	cr_assert(!importer_mesh(importer, &losses, &files, "half.obj", &mesh, &error), "%s", error.text);
	const struct mesh_material *half = &mesh.materials.at[mesh.parts.at[0].material];
	cr_expect_float_eq(half->diffuse[3], 0.25, 1e-6);
	cr_expect_float_eq(half->diffuse[1], 0.2, 1e-6);
	cr_expect_eq(half->cutoff, 0);
	mesh_fini(&mesh);
	importer_destroy(importer);
	files_fini(&files);
}

/* --- heightmaps --------------------------------------------------------------------------------------------------- */

enum { GROUND_SIDE = 40 };
#define GROUND_FOCAL 40.0
#define GROUND(file, textures)                                                                                         \
	"<model name='g'><static>1</static><pose>3 -1 0.7 0 0 0.6</pose><link name='l'><visual name='v'><geometry>"    \
	"<heightmap><uri>" SOURCE_DIR "/worlds/models/shapes/" file "</uri><size>30 24 4</size><pos>0.5 -0.25 "        \
	"0.2</pos>" textures "</heightmap></geometry></visual></link></model>"
#define GROUND_LIT "<scene><ambient>1 1 1 1</ambient></scene>"

/* A texture of one colour. */
static struct texture *ground_colour(unsigned char r, unsigned char g, unsigned char b)
{
	unsigned char *texel = mem_alloc(4);
	memcpy(texel, (unsigned char[]){r, g, b, 255}, 4);
	return texture_create(1, 1, texel);
}

struct ground_view { /* from above: what each pixel shows, in the frame of the heightmap, without its <pos> */
	struct vec3 place[GROUND_SIDE * GROUND_SIDE];
	float colour[3 * GROUND_SIDE * GROUND_SIDE];
};

static struct ground_view *ground_look(const struct picture_world *w)
{
	const struct pose eye = {{3, -1, 9}, quat_from_rpy(0, M_PI / 2, 0)},
			  of = {{3, -1, 0.7}, quat_from_rpy(0, 0, 0.6)};
	struct sdf_camera camera = picture_world_camera(GROUND_SIDE, GROUND_SIDE, GROUND_FOCAL);
	struct ground_view *view = mem_alloc(sizeof *view);
	struct vec3 directions[GROUND_SIDE * GROUND_SIDE];
	float depth[GROUND_SIDE * GROUND_SIDE];
	lens_directions(&camera, false, directions);
	picture_take(w->rays, &w->lights, &camera, directions, eye,
		&(struct picture){.colour = view->colour, .depth = depth});
	for (uint32_t i = 0; i < GROUND_SIDE * GROUND_SIDE; i++) {
		struct vec3 at = pose_point(eye, vec3_scale(directions[i], (double)depth[i] / directions[i].x));
		view->place[i] = vec3_sub(pose_point(pose_inverse(of), at), (struct vec3){0.5, -0.25, 0.2});
	}
	return view;
}

/* Three colours, one over the other: the second fades in from a quarter of the heights on, the third begins at three
 * quarters. */
Test(textures, layers_of_a_heightmap_by_height)
{
	struct picture_world w = picture_world_load(GROUND_LIT GROUND("hills.png", ""));
	struct texture *textures[3] = {ground_colour(255, 0, 0), ground_colour(0, 255, 0), ground_colour(0, 0, 255)};
	struct ground_view *view = ground_look(&w);
	double lo = INFINITY, hi = -INFINITY;
	for (uint32_t i = 0; i < GROUND_SIDE * GROUND_SIDE; i++)
		lo = fmin(lo, view->place[i].z), hi = fmax(hi, view->place[i].z);
	const double quarter = (hi - lo) / 4, steep = lo + 3 * quarter;
	const struct sdf_ground ground = {.count = 3,
		.layers = {{.diffuse = textures[0], .size_m = 1},
			{.diffuse = textures[1], .size_m = 2, .from_m = lo + quarter, .fade_m = quarter},
			{.diffuse = textures[2], .size_m = 3, .from_m = steep}}};
	uint32_t seen[4] = {0, 0, 0, 0};
	free(view);
	cr_assert(quarter > 0.1, "heights from %g to %g", lo, hi);
	w.sdf->worlds.at[0].visuals.at[0].shape.ground = &ground;
	view = ground_look(&w);
	for (uint32_t i = 0; i < GROUND_SIDE * GROUND_SIDE; i++) {
		double h = view->place[i].z, part = fmin(fmax((h - lo - quarter) / quarter, 0), 1);
		const double expected[3] = {h >= steep ? 0 : 1 - part, h >= steep ? 0 : part, h >= steep ? 1 : 0};
		if (fabs(h - steep) < 1e-4)
			continue;
		for (uint32_t k = 0; k < 3; k++)
			cr_assert(fabs((double)view->colour[3 * i + k] - expected[k]) < 1e-4,
				"pixel %u, height %g: %g, not %g", i, h, (double)view->colour[3 * i + k], expected[k]);
		seen[h >= steep ? 3 : (int)fmin(fmax((h - lo) / quarter, 0), 2)]++;
	}
	cr_assert(seen[0] > 9 && seen[1] > 20 && seen[2] > 20 && seen[3] > 20, "%u %u %u %u", seen[0], seen[1], seen[2],
		seen[3]);
	for (int i = 0; i < 3; i++)
		texture_release(textures[i]);
	free(view);
	picture_world_drop(&w);
}

/* A texture repeats itself from the corner of least x and greatest y on. */
Test(textures, a_texture_repeats_itself_on_a_heightmap)
{
	const unsigned char cells[4] = {1, 0, 0, 0};
	struct picture_world w = picture_world_load(GROUND_LIT GROUND("flat.png", ""));
	struct texture *texture = picture_world_pattern(cells, 2, 2, 64);
	const struct sdf_ground ground = {.count = 1, .layers = {{.diffuse = texture, .size_m = 4}}};
	uint32_t white = 0, black = 0;
	w.sdf->worlds.at[0].visuals.at[0].shape.ground = &ground;
	struct ground_view *view = ground_look(&w);
	for (uint32_t i = 0; i < GROUND_SIDE * GROUND_SIDE; i++) {
		double u = (view->place[i].x + 15) / 4, v = (12 - view->place[i].y) / 4;
		u -= floor(u), v -= floor(v);
		if (fabs(u - 0.5) < 0.1 || fabs(v - 0.5) < 0.1 || fabs(u - 0.5) > 0.4 || fabs(v - 0.5) > 0.4)
			continue;
		bool on = u < 0.5 && v < 0.5;
		cr_assert(fabsf(view->colour[3 * i] - (on ? 1.0F : 0.0F)) < 1e-3F, "pixel %u at %g %g: %g", i, u, v,
			(double)view->colour[3 * i]);
		*(on ? &white : &black) += 1;
	}
	cr_assert(white > 30 && black > 100, "%u %u", white, black);
	texture_release(texture);
	free(view);
	picture_world_drop(&w);
}

#define GROUND_FLAT                                                                                                    \
	"<model name='g'><static>1</static><link name='l'><visual name='v'><geometry><heightmap><uri>" SOURCE_DIR      \
	"/worlds/models/shapes/flat.png</uri><size>30 24 4</size></heightmap></geometry></visual></link></model>"

enum { GROUND_DOWN = 3 }; /* pixels of each side of a picture straight down */

/* The height of the flat ground below the eye, to the last bit: the ray of the middle runs straight down, and is the
 * same one in each such picture. */
static double ground_height(const struct picture_world *w, struct pose down)
{
	struct sdf_camera camera = picture_world_camera(GROUND_DOWN, GROUND_DOWN, 4);
	struct vec3 ahead[GROUND_DOWN * GROUND_DOWN];
	float depth[GROUND_DOWN * GROUND_DOWN];
	lens_directions(&camera, false, ahead);
	picture_take(w->rays, &w->lights, &camera, ahead, down, &(struct picture){.depth = depth});
	return down.p.z - (double)depth[GROUND_DOWN * GROUND_DOWN / 2];
}

static const struct pose ground_down = {{1, 2, 8}, {0.5, 0.5, 0.5, -0.5}};

/* How far away a ray from `height` meets the ground; near: where another one has met it. No place is more than 16 times
 * as far, beyond the horizon neither. */
static struct vec3 ground_meet(struct vec3 direction, double height, double near)
{
	double far = height / -direction.z;
	return vec3_scale(direction, far > 0 && far < 16 * near ? far : 16 * near);
}

/* A pixel shows what lies between its neighbours' places: across, and down, which is towards the horizon for a camera
 * that lies on its back. The places of those that look above the horizon, or almost along the ground, are limited. */
Test(textures, pixels_at_the_horizon_of_the_ground)
{
	enum { SIDE = 8 };
	static const double pitches[] = {0, -0.12, 0.1, -0.2};
	const unsigned char cells[4] = {1, 0, 0, 1};
	const double size_m = 7, height = 1.25;
	struct picture_world w = picture_world_load(GROUND_LIT GROUND_FLAT);
	struct texture *texture = picture_world_pattern(cells, 2, 2, 64);
	const struct sdf_ground ground = {.count = 1, .layers = {{.diffuse = texture, .size_m = size_m}}};
	struct sdf_camera camera = picture_world_camera(SIDE, SIDE, 4);
	struct vec3 directions[SIDE * SIDE];
	uint32_t limited = 0, all = 0;
	w.sdf->worlds.at[0].visuals.at[0].shape.ground = &ground;
	lens_directions(&camera, false, directions);
	for (size_t p = 0; p < ARRAY_LEN(pitches); p++) {
		const struct pose eye = {
			{-5, 1, ground_height(&w, ground_down) + height}, quat_from_rpy(M_PI, pitches[p], 0.3)};
		float colour[3 * SIDE * SIDE], depth[SIDE * SIDE];
		picture_take(w.rays, &w.lights, &camera, directions, eye,
			&(struct picture){.colour = colour, .depth = depth});
		for (uint32_t i = 0; i < SIDE * SIDE; i++) {
			const uint32_t last_column = i % SIDE == SIDE - 1, last_row = i >= SIDE * (SIDE - 1);
			double near = (double)depth[i] / directions[i].x;
			float want[4];
			if (!isfinite(near))
				continue;
			struct vec3 at = vec3_scale(quat_rotate(eye.q, directions[i]), near),
				    to = quat_rotate(eye.q, directions[last_column ? i - 1 : i + 1]),
				    below = quat_rotate(eye.q, directions[last_row ? i - SIDE : i + SIDE]),
				    across = vec3_sub(ground_meet(to, height, near), at),
				    down = vec3_sub(ground_meet(below, height, near), at);
			across = vec3_scale(across, last_column ? -1 : 1);
			down = vec3_scale(down, last_row ? -1 : 1);
			const struct texture_place place = {.u = (eye.p.x + at.x + 15) / size_m,
				.v = (12 - eye.p.y - at.y) / size_m,
				.u_across = across.x / size_m,
				.v_across = -across.y / size_m,
				.u_down = down.x / size_m,
				.v_down = -down.y / size_m};
			texture_sample(texture, &place, want);
			limited += vec3_length(down) > 14 * near;
			all++;
			cr_expect(fabsf(colour[3 * i] - want[0]) < 0.01F, "pixel %u at %g: %g, not %g", i, pitches[p],
				(double)colour[3 * i], (double)want[0]);
		}
	}
	cr_expect(limited > 10 && all > 40, "%u of %u", limited, all);
	texture_release(texture);
	picture_world_drop(&w);
}

/* A layer without a border that fades begins at its height itself. The ray in the middle of the picture meets the
 * ground at a height that is known to the last bit. */
Test(textures, a_layer_begins_at_its_height)
{
	enum { MIDDLE = 3 * (GROUND_DOWN * GROUND_DOWN / 2) };
	struct picture_world w = picture_world_load(GROUND_LIT GROUND_FLAT);
	struct texture *textures[2] = {ground_colour(255, 0, 0), ground_colour(0, 255, 0)};
	struct sdf_ground ground = {
		.count = 2, .layers = {{.diffuse = textures[0], .size_m = 1}, {.diffuse = textures[1], .size_m = 1}}};
	double from_m = ground_height(&w, ground_down);
	struct sdf_camera camera = picture_world_camera(GROUND_DOWN, GROUND_DOWN, 4);
	float colour[3 * GROUND_DOWN * GROUND_DOWN];
	w.sdf->worlds.at[0].visuals.at[0].shape.ground = &ground;
	for (int i = -1; i <= 1; i++) {
		ground.layers[1].from_m = i ? nextafter(from_m, i * 100) : from_m;
		picture_world_take(&w, &camera, ground_down, colour);
		expect_colour(
			&colour[MIDDLE], i > 0 ? (const double[]){1, 0, 0} : (const double[]){0, 1, 0}, "the middle");
	}
	texture_release(textures[0]);
	texture_release(textures[1]);
	picture_world_drop(&w);
}

static void ground_expect_grey(const struct ground_view *view, double want)
{
	for (uint32_t i = 0; i < GROUND_SIDE * GROUND_SIDE; i++)
		cr_assert(fabs((double)view->colour[3 * i] - want) < 0.01, "pixel %u: %g, not %g", i,
			(double)view->colour[3 * i], want);
}

/* A normal map that leans towards u, which is the heightmap's x: the lamp shines from there.
 * Then a layer that has none covers it by half. */
Test(textures, a_normal_map_on_a_heightmap)
{
	struct picture_world w = picture_world_load(
		"<scene><ambient>0 0 0 1</ambient></scene><light name='s' type='directional'><direction>-0.6 0 "
		"-0.8</direction>"
		"<diffuse>1 1 1 "
		"1</diffuse><attenuation><constant>1</constant><linear>0</linear></attenuation></light>" GROUND(
			"flat.png", ""));
	struct texture *leaning = ground_colour(204, 128, 230);
	struct sdf_ground ground = {.count = 1, .layers = {{.normal = leaning, .size_m = 5}}};
	const struct vec3 leans = {2 * 204 / 255.0 - 1, -(2 * 128 / 255.0 - 1), 2 * 230 / 255.0 - 1},
			  n = vec3_unit(leans);
	const struct vec3 to = quat_rotate(quat_from_rpy(0, 0, -0.6), (struct vec3){0.6, 0, 0.8});
	w.sdf->worlds.at[0].visuals.at[0].shape.ground = &ground;
	struct ground_view *view = ground_look(&w);
	ground_expect_grey(view, vec3_dot(n, to));
	ground.count = 2;
	ground.layers[1] = (struct sdf_ground_layer){.size_m = 1, .from_m = view->place[0].z - 1, .fade_m = 2};
	free(view);
	view = ground_look(&w);
	ground_expect_grey(view, vec3_dot(vec3_unit((struct vec3){leans.x / 2, leans.y / 2, (leans.z + 1) / 2}), to));
	texture_release(leaning);
	free(view);
	picture_world_drop(&w);
}

Test(textures, heightmaps_have_the_textures_of_their_files)
{
	struct picture_world w = picture_world_load(GROUND("flat.png",
		"<texture><size>3</size><diffuse>painted.png</diffuse><normal>sound_colour.png</normal></texture>"
		"<texture><size>x</size><diffuse>sound_colour.png</diffuse></texture>"
		"<texture><size>2</size><diffuse>painted.png</diffuse></texture>"
		"<blend><min_height>2</min_height><fade_dist>5</fade_dist></blend>"));
	const struct sdf_ground *ground = w.sdf->worlds.at[0].visuals.at[0].shape.ground;
	cr_assert(ground && ground->count == 2);
	cr_assert(ground->layers[0].size_m == 3 && ground->layers[0].diffuse && ground->layers[0].normal);
	cr_assert(ground->layers[1].size_m == 10 && ground->layers[1].diffuse == ground->layers[0].normal);
	cr_assert(ground->layers[1].from_m == 2 && ground->layers[1].fade_m == 5);
	cr_assert_eq(w.sdf->textures.count, 2u);
	cr_assert_eq(w.sdf->warning_count, 2u, "%u warnings", w.sdf->warning_count);
	picture_world_drop(&w);
}

#endif

/* --- filters --------------------------------------------------------------------------------------------------------
 */

static struct texture *ramp(uint32_t width, uint32_t height)
{
	unsigned char *rgba = mem_alloc(4 * (size_t)width * height);
	for (uint32_t i = 0; i < width * height; i++) {
		const unsigned char texel[4] = {(unsigned char)(i % width * 10), (unsigned char)(i / width * 10),
			(unsigned char)(hash_mix(i, 1) & 0xff), 255};
		memcpy(&rgba[4 * (size_t)i], texel, 4);
	}
	return texture_create(width, height, rgba);
}

/* Seen large: a texel in its middle, and straight between two of them; the texture repeats. */
Test(textures, seen_large)
{
	struct texture *texture = ramp(16, 8);
	float rgba[4];
	for (int i = 0; i < 15; i++) {
		struct texture_place place = {(i + 0.5) / 16 - 3, 4.5 / 8 + 2, 0.01, 0, 0, 0.01};
		texture_sample(texture, &place, rgba);
		cr_expect_float_eq((double)rgba[0] * 255, i * 10, 1e-3);
		cr_expect_float_eq((double)rgba[1] * 255, 40, 1e-3);
		place.u += 0.25 / 16;
		texture_sample(texture, &place, rgba);
		cr_expect_float_eq((double)rgba[0] * 255, i * 10 + 2.5, 1e-3);
	}
	struct texture_place seam = {0, 0.5 / 8, 0.01, 0, 0, 0.01};
	texture_sample(texture, &seam, rgba);
	cr_expect_float_eq((double)rgba[0] * 255, 75, 1e-3); /* between 150 and 0 */
	texture_release(texture);
}

/* Seen small, each copy keeps the mean of all texels, of any size; and places that are no numbers do no harm. */
Test(textures, seen_small)
{
	static const uint32_t sizes[][2] = {{16, 16}, {15, 7}, {1, 13}, {3, 1}, {25, 24}};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint32_t width = sizes[i][0], height = sizes[i][1];
		struct texture *texture = ramp(width, height);
		double mean = 0;
		float rgba[4];
		for (uint32_t k = 0; k < width * height; k++)
			mean += (double)(hash_mix(k, 1) & 0xff) / (width * height);
		texture_sample(texture, &(struct texture_place){0.3, 0.7, 100, 0, 0, 100}, rgba);
		cr_expect_float_eq((double)rgba[2] * 255, mean, 2.5, "%u x %u: %g, expected %g", width, height,
			(double)rgba[2] * 255, mean);
		texture_sample(texture, &(struct texture_place){NAN, INFINITY, 1, 0, 0, 1}, rgba);
		cr_expect(rgba[2] >= 0 && rgba[2] <= 1);
		cr_expect_gt(texture_bytes(texture), 4 * (size_t)width * height);
		texture_release(texture);
	}
}

/* --- corners of a chessboard ----------------------------------------------------------------------------------------
 */

enum { SQUARES = 8, BOARD_W = 640, BOARD_H = 480 };
#define BOARD_FOCAL 600.0

static double grey_at(const float *colour, double column, double row)
{
	int c = (int)floor(column - 0.5), r = (int)floor(row - 0.5);
	double x = column - 0.5 - c, y = row - 0.5 - r, sum = 0;
	for (int k = 0; k < 4; k++)
		sum += (k & 1 ? x : 1 - x) * (k & 2 ? y : 1 - y) *
		       (double)colour[3 * ((size_t)(r + (k >> 1)) * BOARD_W + (size_t)(c + (k & 1)))];
	return sum;
}

/* The place to which the gradients around it are at right angles (Foerstner), as OpenCV refines corners. */
static void refine_corner(const float *colour, double *column, double *row, int half)
{
	for (int round = 0; round < 20; round++) {
		double xx = 0, xy = 0, yy = 0, bx = 0, by = 0;
		for (int dy = -half; dy <= half; dy++)
			for (int dx = -half; dx <= half; dx++) {
				double c = *column + dx, r = *row + dy,
				       weight = exp(-(double)(dx * dx + dy * dy) / (half * half));
				double gx = (grey_at(colour, c + 1, r) - grey_at(colour, c - 1, r)) * weight,
				       gy = (grey_at(colour, c, r + 1) - grey_at(colour, c, r - 1)) * weight;
				xx += gx * gx, xy += gx * gy, yy += gy * gy;
				bx += gx * gx * dx + gx * gy * dy, by += gx * gy * dx + gy * gy * dy;
			}
		double det = xx * yy - xy * xy, x = (yy * bx - xy * by) / det, y = (xx * by - xy * bx) / det;
		*column += x, *row += y;
		if (fabs(x) + fabs(y) < 1e-4)
			return;
	}
}

/* Frontal, tilted, turned, small and far away: the board is 0.8 m wide. */
Test(textures, corners_of_a_chessboard)
{
	static const struct {
		struct vec3 at;
		double roll, pitch, yaw;
		int half; /* of the window, pixels */
	} boards[] = {{{1, 0, 0}, 0, 0, 0, 5}, {{1.2, 0.1, -0.05}, 0.3, 0, 0.9, 4}, {{1.5, -0.2, 0.1}, 0.1, 0.8, 0, 4},
		{{2.5, 0.3, 0.1}, 0, 0.2, -0.7, 3}, {{4.01, 0.7, 0.3}, 0.5, 0, 0.3, 3}};
	static unsigned char cells[SQUARES * SQUARES];
	static float colour[3 * BOARD_W * BOARD_H];
	for (int i = 0; i < SQUARES * SQUARES; i++)
		cells[i] = (unsigned char)((i / SQUARES + i % SQUARES) % 2);
	struct texture *texture = picture_world_pattern(cells, SQUARES, SQUARES, 32);
	struct sdf_maps maps = {.map = {[MESH_ALBEDO] = texture}};
	struct sdf_camera camera = picture_world_camera(BOARD_W, BOARD_H, BOARD_FOCAL);
	double worst = 0;
	for (size_t i = 0; i < ARRAY_LEN(boards); i++) {
		char *inside = mem_printf(BRIGHT MODEL("board", "%.17g %.17g %.17g %.17g %.17g %.17g",
						  "<geometry><box><size>0.01 0.8 0.8</size></box></geometry>" WHITE),
			boards[i].at.x, boards[i].at.y, boards[i].at.z, boards[i].roll, boards[i].pitch, boards[i].yaw);
		struct picture_world w = picture_world_load(inside);
		picture_world_paint(&w, 0, &maps);
		picture_world_take(&w, &camera, POSE_IDENTITY, colour);
		struct pose pose = {boards[i].at, quat_from_rpy(boards[i].roll, boards[i].pitch, boards[i].yaw)};
		for (int k = 0; k < (SQUARES - 1) * (SQUARES - 1); k++) {
			struct vec3 p = pose_point(pose, (struct vec3){-0.005, -0.3 + k % 7 * 0.1, -0.3 + k / 7 * 0.1});
			double x = BOARD_W / 2.0 - BOARD_FOCAL * p.y / p.x, y = BOARD_H / 2.0 - BOARD_FOCAL * p.z / p.x;
			double column = round(x), row = round(y);
			if (x < 12 || x > BOARD_W - 12 || y < 12 || y > BOARD_H - 12)
				continue;
			refine_corner(colour, &column, &row, boards[i].half);
			double off = hypot(column - x, row - y);
			worst = fmax(worst, off);
			cr_expect_lt(off, 0.2, "board %zu, corner %d: found at %g %g, expected %g %g", i, k, column,
				row, x, y);
		}
		picture_world_drop(&w);
		free(inside);
	}
	printf("the worst corner is off by %.3f pixels\n", worst);
	texture_release(texture);
}

/* --- edges ----------------------------------------------------------------------------------------------------------
 */

/* A white plate, turned by 0.3: how much of each pixel it covers, by counting points, and the brightness of the pixel.
 */
Test(textures, edges_are_smooth)
{
	enum { W = 60, POINTS = 32 };
	static const struct {
		uint32_t anti_aliasing;
		double mean, worst;
	} rows[] = {{1, 1, 1}, {2, 0.2, 0.5}, {4, 0.08, 0.27}, {8, 0.05, 0.17}};
	static float colour[3 * W * W], some[3 * 100];
	static double cover[W * W];
	struct picture_world w = picture_world_load(BRIGHT MODEL(
		"plate", "1 0 0 0.3 0 0", "<geometry><box><size>0.01 0.8 0.8</size></box></geometry>" WHITE));
	struct sdf_camera camera = picture_world_camera(W, W, 50);
	struct vec3 directions[W * W];
	lens_directions(&camera, false, directions);
	for (int i = 0; i < W * W * POINTS * POINTS; i++) {
		int pixel = i / (POINTS * POINTS), x = i % POINTS, y = i / POINTS % POINTS;
		double column = pixel % W + (x + 0.5) / POINTS, row = pixel / W + (y + 0.5) / POINTS;
		double left = -(column - W / 2.0) / 50 * 0.995, up = -(row - W / 2.0) / 50 * 0.995;
		bool on = fabs(left * cos(0.3) + up * sin(0.3)) < 0.4 && fabs(up * cos(0.3) - left * sin(0.3)) < 0.4;
		cover[pixel] += on / (double)(POINTS * POINTS);
	}
	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		double sum = 0, worst = 0;
		uint32_t cut = 0;
		camera.anti_aliasing = rows[r].anti_aliasing;
		camera.smooth = rows[r].anti_aliasing > 1;
		picture_world_take(&w, &camera, POSE_IDENTITY, colour);
		for (int i = 0; i < W * W; i++) {
			double off = fabs((double)colour[3 * i] - cover[i]);
			bool edge = cover[i] > 0 && cover[i] < 1;
			cut += edge;
			sum += edge ? off : 0;
			worst = fmax(worst, off);
		}
		cr_expect(cut > 100 && sum / cut < rows[r].mean && worst < rows[r].worst,
			"%u rays: off by %g, at most %g", rows[r].anti_aliasing, sum / cut, worst);
		for (uint32_t i = 0; i + 100 <= W * W; i += 333) { /* a few pixels are those of the whole */
			picture_take(w.rays, &w.lights, &camera, directions, POSE_IDENTITY,
				&(struct picture){.colour = some, .first = i, .count = 100});
			cr_assert(!memcmp(some, &colour[3 * (size_t)i], sizeof some), "pixels from %u on", i);
		}
	}
	picture_world_drop(&w);
}

/* --- normals and reflections ----------------------------------------------------------------------------------------
 */

static struct texture *of_one_colour(unsigned char r, unsigned char g, unsigned char b)
{
	unsigned char *rgba = mem_alloc(4);
	const unsigned char texel[4] = {r, g, b, 255};
	memcpy(rgba, texel, 4);
	return texture_create(1, 1, rgba);
}

#define NIGHT "<scene><ambient>0 0 0 1</ambient><background>0 0 0 1</background><shadows>0</shadows></scene>"

/* The top of a box under a low sun, with a normal that leans to the right and up in the image, which there is -y and
 * +x: N.L of that. */
Test(textures, a_normal_map)
{
	struct picture_world w = picture_world_load(
		NIGHT "<light name='sun' type='directional'><diffuse>1 1 1 1</diffuse><specular>0 0 0 1</specular>"
		      "<direction>-0.6 0.2 -0.5</direction></light>" MODEL("m", "0 0 0 0 0 0",
			      "<geometry><box><size>2 2 2</size></box></geometry>"
			      "<material><diffuse>0.8 0.8 0.8 1</diffuse></material>"));
	float colour[3 * 9];
	struct sdf_camera camera = picture_world_camera(3, 3, 9);
	struct texture *leaning = of_one_colour(166, 204, 230);
	struct sdf_maps maps = {.map = {[MESH_NORMAL] = leaning}};
	struct vec3 in_map = {2 * 166 / 255.0 - 1, 2 * 204 / 255.0 - 1, 2 * 230 / 255.0 - 1};
	struct vec3 normal = vec3_unit((struct vec3){in_map.y, -in_map.x, in_map.z}),
		    to_sun = vec3_unit((struct vec3){0.6, -0.2, 0.5});
	picture_world_paint(&w, 0, &maps);
	picture_world_take(&w, &camera, (struct pose){{0.3, 0.3, 3}, quat_from_rpy(0, M_PI / 2, 0.4)}, colour);
	double want = 0.8 * vec3_dot(normal, to_sun);
	expect_colour(&colour[12], (const double[]){want, want, want}, "a leaning normal");
	texture_release(leaning);
	picture_world_drop(&w);
}

#ifdef HAVE_MESHES

/* A mesh that is mirrored has its image mirrored, too: u runs along y or against it, and the image's upper edge is at
 * greater z. */
Test(textures, a_normal_map_on_a_mirrored_mesh)
{
	struct texture *leaning = of_one_colour(166, 204, 230);
	const struct sdf_maps maps = {.map = {[MESH_NORMAL] = leaning}};
	const struct vec3 in_map = {2 * 166 / 255.0 - 1, 2 * 204 / 255.0 - 1, 2 * 230 / 255.0 - 1},
			  to_sun = vec3_unit((struct vec3){0.6, -0.2, 0.5});
	for (int side = -1; side <= 1; side += 2) {
		char *inside = mem_printf(NIGHT
			"<light name='sun' type='directional'><diffuse>1 1 1 1</diffuse><specular>0 0 0 1</specular>"
			"<direction>-0.6 0.2 -0.5</direction></light>" MODEL("m", "0 0 0 0 0 0",
				"<geometry><mesh><uri>painted.obj</uri><scale>1 %d 1</scale></mesh></geometry>"
				"<material><diffuse>0.8 0.8 0.8 1</diffuse></material>"),
			side);
		struct picture_world w = picture_world_load(inside);
		struct sdf_camera camera = picture_world_camera(3, 3, 9);
		struct vec3 normal = vec3_unit((struct vec3){in_map.z, side * in_map.x, in_map.y});
		double want = 0.8 * vec3_dot(normal, to_sun);
		float colour[3 * 9];
		picture_world_paint(&w, 0, &maps);
		picture_world_take(&w, &camera, (struct pose){{1, side * 0.5, 0.5}, quat_from_rpy(0, 0, M_PI)}, colour);
		expect_colour(&colour[12], (const double[]){want, want, want}, side < 0 ? "mirrored" : "as it is");
		picture_world_drop(&w);
		free(inside);
	}
	texture_release(leaning);
}

#endif

#define METAL_SUN                                                                                                      \
	NIGHT "<light name='sun' type='directional'><diffuse>1 1 1 1</diffuse><specular>0.5 0.5 0.5 1</specular>"      \
	      "<direction>-0.6 0 -0.8</direction></light>"

/* The top of a box, seen from so many rad beside the mirrored sun. */
static void metal_take(const struct picture_world *w, double beside, float colour[3])
{
	struct sdf_camera camera = picture_world_camera(1, 1, 9);
	double tilt = atan2(0.6, 0.8) + beside;
	struct vec3 eye = {-3 * sin(tilt), 0, 3 * cos(tilt)};
	picture_world_take(w, &camera, (struct pose){eye, quat_from_rpy(0, M_PI / 2 - tilt, 0)}, colour);
}

/* The formula, written out anew. */
static void metal_expect(const struct picture_world *w, double beside, double roughness, double m, const char *what)
{
	double tilt = atan2(0.6, 0.8) + beside;
	float colour[3];
	struct vec3 l = {0.6, 0, 0.8}, v = {-sin(tilt), 0, cos(tilt)}, h = vec3_unit(vec3_add(l, v));
	double a = roughness * roughness, a2 = a * a, d = a2 / (M_PI * pow(h.z * h.z * (a2 - 1) + 1, 2));
	double g = 0.5 / (l.z * sqrt(v.z * v.z * (1 - a2) + a2) + v.z * sqrt(l.z * l.z * (1 - a2) + a2));
	double base[3] = {0.8, 0.4, 0.2}, want[3];
	for (int k = 0; k < 3; k++) {
		double f0 = 0.04 * (1 - m) + base[k] * m, f = f0 + (1 - f0) * pow(1 - vec3_dot(v, h), 5);
		want[k] = fmin((1 - m) * base[k] * l.z + M_PI * d * g * f * l.z * 0.5, 1);
	}
	metal_take(w, beside, colour);
	expect_colour(colour, want, what);
}

/* Roughness and metalness from maps: in place of the material's, or, as glTF has it, multiplied with it. */
Test(textures, a_metal)
{
	struct picture_world w = picture_world_load(METAL_SUN MODEL("m", "0 0 -1 0 0 0",
		"<geometry><box><size>2 2 2</size></box></geometry><material><diffuse>0.8 0.4 0.2 "
		"1</diffuse><pbr><metal>"
		"<roughness>0.75</roughness><metalness>0.5</metalness></metal></pbr></material>"));
	struct texture *rough = of_one_colour(102, 0, 0), *metal = of_one_colour(153, 0, 0),
		       *mirror = of_one_colour(0, 0, 0);
	struct sdf_maps maps = {.map = {[MESH_ROUGHNESS] = rough, [MESH_METALNESS] = metal}};
	const double roughness = 102 / 255.0, metalness = 153 / 255.0;
	metal_expect(&w, 0.2, 0.75, 0.5, "without maps");
	picture_world_paint(&w, 0, &maps);
	metal_expect(&w, 0.2, roughness, metalness, "maps");
	maps.scaled = true;
	metal_expect(&w, 0.2, 0.75 * roughness, 0.5 * metalness, "maps that are multiplied");
	maps = (struct sdf_maps){.map = {[MESH_ROUGHNESS] = mirror}};
	metal_expect(&w, 0.06, 0.03, 0.5, "no surface is smoother");
	texture_release(rough);
	texture_release(metal);
	texture_release(mirror);
	picture_world_drop(&w);
}

/* The numbers of <metal> count for <metal> alone: with <specular> the material looks as without <pbr>. */
Test(textures, no_metal)
{
	static const char *const parts[] = {
		"", "<pbr><specular><glossiness>0.9</glossiness></specular></pbr>", "<pbr><metal/></pbr>"};
	float colour[ARRAY_LEN(parts)][3];
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		char *inside = mem_printf(METAL_SUN MODEL("m", "0 0 -1 0 0 0",
						  "<geometry><box><size>2 2 2</size></box></geometry><material>"
						  "<diffuse>0.8 0.4 0.2 1</diffuse>%s</material>"),
			parts[i]);
		struct picture_world w = picture_world_load(inside);
		metal_take(&w, 0.2, colour[i]);
		picture_world_drop(&w);
		free(inside);
	}
	cr_assert(!memcmp(colour[0], colour[1], sizeof colour[0]), "%g, not %g", (double)colour[1][0],
		(double)colour[0][0]);
	cr_assert(fabsf(colour[0][0] - colour[2][0]) > 0.01F, "a metal looks the same: %g", (double)colour[2][0]);
}

/* Without <lighting> a surface has its own colours, whatever shines on it. */
Test(textures, no_lighting)
{
	struct picture_world w = picture_world_load("<scene><ambient>0.5 0.6 0.7 1</ambient></scene>" MODEL("pane",
		"2 0 0 0 0 0",
		"<geometry><box><size>0.1 4 4</size></box></geometry><material><lighting>0</lighting>"
		"<ambient>0.9 0.8 0.7 1</ambient><diffuse>0.2 0.35 0.5 1</diffuse><emissive>0.1 0.2 0.3 1</emissive>"
		"</material>"));
	float colour[3];
	struct sdf_camera camera = picture_world_camera(1, 1, 1);
	picture_world_take(&w, &camera, POSE_IDENTITY, colour);
	expect_colour(colour, (const double[]){0.3, 0.55, 0.8}, "its own colour");
	picture_world_drop(&w);
}

/* An emissive map shines without lights; texels without opacity let the wall behind be seen. */
Test(textures, glow_and_holes)
{
	struct picture_world w =
		picture_world_load("<scene><ambient>0.5 0.5 0.5 1</ambient></scene>" MODEL("pane", "2 0 0 0 0 0",
			"<geometry><box><size>0.1 4 4</size></box></geometry>" WHITE) MODEL("wall", "4 0 0 0 0 0",
			"<geometry><box><size>0.1 9 9</size></box></geometry><material><ambient>0 0.5 1 "
			"1</ambient></material>"));
	float colour[3];
	struct sdf_camera camera = picture_world_camera(1, 1, 1);
	struct texture *red = of_one_colour(51, 0, 0), *full = of_one_colour(255, 255, 255);
	unsigned char *half = mem_alloc(4);
	half[0] = half[1] = half[2] = 255, half[3] = 102;
	struct texture *pane = texture_create(1, 1, half);
	struct sdf_maps maps = {.map = {[MESH_EMISSIVE] = red}};
	picture_world_paint(&w, 0, &maps);
	picture_world_take(&w, &camera, POSE_IDENTITY, colour);
	expect_colour(colour, (const double[]){0.7, 0.5, 0.5}, "glow");
	maps = (struct sdf_maps){.map = {[MESH_ALBEDO] = pane}};
	picture_world_take(&w, &camera, POSE_IDENTITY, colour);
	expect_colour(colour, (const double[]){0.2, 0.2 + 0.6 * 0.25, 0.2 + 0.6 * 0.5}, "a pane");
	maps.alpha = MESH_ALPHA_CUT, maps.cutoff = 0.5;
	picture_world_take(&w, &camera, POSE_IDENTITY, colour);
	expect_colour(colour, (const double[]){0, 0.25, 0.5}, "a hole");
	maps.map[MESH_ALBEDO] = full, maps.cutoff = 1;
	picture_world_take(&w, &camera, POSE_IDENTITY, colour);
	expect_colour(colour, (const double[]){0.5, 0.5, 0.5}, "no hole at the limit itself");
	maps.map[MESH_ALBEDO] = pane;
	maps.alpha = MESH_ALPHA_IGNORED;
	picture_world_take(&w, &camera, POSE_IDENTITY, colour);
	expect_colour(colour, (const double[]){0.5, 0.5, 0.5}, "no hole");
	texture_release(red);
	texture_release(full);
	texture_release(pane);
	picture_world_drop(&w);
}
