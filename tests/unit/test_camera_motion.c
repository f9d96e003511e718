/* Cameras that measure while things move: a rolling shutter reads row after row, and a picture shows its exposure. A
 * wrong sign or time bends every edge the other way. */
#include "picture_world.h"
#include "sdf_help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(camera_motion, .timeout = 120);

enum { W = 80, H = 60, PIXELS = W * H, KNOTS = 41 };
#define FOCAL 100.0
#define STEP_S 1e-3
#define GLOW(colour) "<material><emissive>" colour "</emissive><diffuse>0 0 0 1</diffuse></material>"
#define BOX(size) "<geometry><box><size>" size "</size></box></geometry>"
#define THING(name, is_static, place, visuals)                                                                         \
	"<model name='" name "'><static>" is_static "</static><pose>" place                                            \
	"</pose><link name='l'><inertial><mass>1</mass></inertial>" visuals "</link></model>"
#define VISUAL(name, place, look) "<visual name='" name "'><pose>" place " 0 0 0</pose>" look "</visual>"
#define PAINT "<material><ambient>1 1 1 1</ambient><diffuse>0.8 0.9 1 1</diffuse></material>"
#define DARK "<scene><ambient>0 0 0 1</ambient><background>0 0 0 1</background></scene>"

/* Model 0 carries the camera. Half of what lies ahead is white: what is on the right of the plane y = 0. */
static const char half[] =
	DARK THING("robot", "0", "0 0 0 0 0 0", VISUAL("mast", "0.4 0.14 0", BOX("0.02 0.02 4") GLOW("0 1 0 1")))
		THING("wall", "1", "5 -50 0 0 0 0", VISUAL("v", "0 0 0", BOX("0.001 100 100") GLOW("1 1 1 1")));

/* The camera turns about z with w and moves with v; at the end it is at the origin, and looks along x. */
static struct scan_path turning(double w, struct vec3 v)
{
	struct scan_path path = {.count = KNOTS};
	for (uint32_t i = 0; i < KNOTS; i++) {
		double time_s = (i + 1.0 - KNOTS) * STEP_S;
		path.at[i] = (struct scan_knot){time_s, {vec3_scale(v, time_s), quat_from_rpy(0, 0, w * time_s)}};
	}
	return path;
}

static const struct scan_path still = {1, {{0, {{0, 0, 0}, {1, 0, 0, 0}}}}};

/* Some rows of a picture, with all of its parts. */
struct shot {
	float colour[3 * PIXELS], depth[PIXELS];
	uint32_t labels[PIXELS], instances[PIXELS];
	uint16_t heat[PIXELS];
};

static struct vec3 directions[PIXELS];

static void take(struct picture_world *w, const struct sdf_camera *camera, struct pose pose,
	const struct picture_motion *motion, uint32_t first, uint32_t count, struct shot *to)
{
	lens_directions(camera, false, directions);
	picture_take(w->rays, &w->lights, camera, directions, pose,
		&(struct picture){.colour = &to->colour[3 * first],
			.depth = &to->depth[first],
			.labels = &to->labels[first],
			.instances = &to->instances[first],
			.heat = &to->heat[first],
			.air_K = 290,
			.first = first,
			.count = count,
			.motion = motion});
}

static struct sdf_camera camera_of(void)
{
	struct sdf_camera camera = picture_world_camera(W, H, FOCAL);
	camera.heat_max_K = 600;
	camera.heat_step_K = 0.01;
	return camera;
}

static void sweep(struct picture_world *w, double sweep_s)
{
	rays_set_sweep(w->rays, sweep_s);
	rays_follow(w->rays, w->state);
}

static double ago_of(uint32_t row, double readout_s)
{
	return readout_s * (H - 1 - row) / H;
}

/* The first column, in pixels, whose middle is right of where the edge is seen. */
static uint32_t column_right_of(double edge)
{
	return (uint32_t)fmax(ceil(edge - 0.5), 0);
}

static bool is_white(const struct shot *shot, uint32_t row, uint32_t column)
{
	return shot->colour[3 * (row * W + column) + 2] > 0.5F;
}

/* An edge straight ahead is seen at the angle w t to the left of the axis when the camera has turned by -w t: in column
 * W / 2 - f tan(w t). */
Test(camera_motion, a_vertical_edge_slants_by_the_formula)
{
	static struct shot shot;
	struct sdf_camera camera = camera_of();
	const double rates[] = {4, -4, 1};
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		struct picture_world w = picture_world_load(half);
		struct scan_path path = turning(rates[i], (struct vec3){0, 0, 0});
		const struct picture_motion motion = {&path, 0, 0.04, 0, 0};
		sweep(&w, 0.04);
		take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &shot);
		for (uint32_t row = 0; row < H; row++) {
			double edge = W / 2.0 - FOCAL * tan(rates[i] * ago_of(row, 0.04));
			uint32_t first = column_right_of(edge + 0.01);
			cr_expect(is_white(&shot, row, first) && (!first || !is_white(&shot, row, first - 1) ||
									 fabs(edge - first + 0.5) < 0.02),
				"%g rad/s, row %u: edge at %g", rates[i], row, edge);
		}
		picture_world_drop(&w);
	}
}

/* What the camera is fixed to stays where it is in the picture. */
Test(camera_motion, the_own_model_stands_still)
{
	static struct shot moved, stood;
	struct sdf_camera camera = camera_of();
	struct picture_world w = picture_world_load(half);
	struct scan_path path = turning(4, (struct vec3){1, 2, 0});
	const struct picture_motion motion = {&path, 0, 0.03, 0.01, 0};
	sweep(&w, 0.04);
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &moved);
	take(&w, &camera, POSE_IDENTITY, NULL, 0, PIXELS, &stood);
	uint32_t green = 0;
	for (uint32_t i = 0; i < PIXELS; i++) {
		bool before = stood.depth[i] < 1, after = moved.depth[i] < 1;
		cr_assert(before == after, "pixel %u", i);
		cr_assert(!before || memcmp(&stood.depth[i], &moved.depth[i], sizeof moved.depth[i]) == 0);
		cr_assert(!before || fabs((double)(stood.colour[3 * i + 1] - moved.colour[3 * i + 1])) < 1e-6);
		green += before;
	}
	cr_assert(green > H);
	picture_world_drop(&w);
}

/* Of a box that moves across with v, 5 m ahead, the edge is v t / 5 m aside t before. */
Test(camera_motion, what_moves_slants_too)
{
	static struct shot shot;
	static const char inside[] = DARK THING("robot", "0", "0 0 0 0 0 0", "")
		THING("bar", "0", "5 -1 0 0 0 0", VISUAL("v", "0 0 0", BOX("0.001 2 100") GLOW("1 1 1 1")));
	struct sdf_camera camera = camera_of();
	struct picture_world w = picture_world_load(inside);
	state_body(w.state, 1, false)->v = (struct vec3){0, 20, 0};
	const struct picture_motion motion = {&still, 0, 0.04, 0, 0};
	sweep(&w, 0.04);
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &shot);
	for (uint32_t row = 0; row < H; row++) {
		double edge = W / 2.0 + FOCAL * 20 * ago_of(row, 0.04) / 5;
		uint32_t first = column_right_of(edge + 0.01);
		cr_expect(first >= W || is_white(&shot, row, first), "row %u: edge at %g", row, edge);
		cr_expect(!first || !is_white(&shot, row, first - 1) || fabs(edge - first + 0.5) < 0.02,
			"row %u: edge at %g", row, edge);
	}
	picture_world_drop(&w);
}

/* The mean of N times in the middle of equal parts: a pixel has as many Nths as the edge was left of it. The edge moves
 * f w E = 6.3 pixels: 7 times; less than 4 are 4, and more than 16 are 16. */
Test(camera_motion, an_exposure_is_the_mean_of_its_times)
{
	static struct shot shot;
	struct sdf_camera camera = camera_of();
	double per_rad = W / camera.fov_rad;
	const struct {
		double shift;
		uint32_t samples, times;
	} rows[] = {{6.3, 0, 7}, {0.5, 0, 4}, {25, 0, 16}, {6.3, 3, 3}, {6.3, 1, 1}, {6.3, 64, 64}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct picture_world w = picture_world_load(half);
		const double exposure_s = 0.02, rate = rows[i].shift / per_rad / exposure_s;
		struct scan_path path = turning(rate, (struct vec3){0, 0, 0});
		const struct picture_motion motion = {&path, 0, 0, exposure_s, rows[i].samples};
		sweep(&w, exposure_s);
		take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &shot);
		uint32_t partly = 0;
		for (uint32_t column = 0; column < W; column++) {
			uint32_t right = 0, near = 0;
			for (uint32_t time = 0; time < rows[i].times; time++) {
				double turned = rate * exposure_s * (time + 0.5) / rows[i].times;
				double edge = W / 2.0 - FOCAL * tan(turned);
				right += column + 0.5 > edge;
				near += fabs(column + 0.5 - edge) < 1e-6;
			}
			double found = (double)shot.colour[3 * (5 * W + column) + 2];
			cr_expect(fabs(found - (double)right / rows[i].times) <= near / (double)rows[i].times + 1e-6,
				"row %zu, column %u: %g", i, column, found);
			partly += found > 0.01 && found < 0.99;
		}
		cr_expect(rows[i].times == 1 ? !partly : partly + 1 >= MIN(rows[i].times, (uint32_t)rows[i].shift),
			"row %zu: %u pixels", i, partly);
		picture_world_drop(&w);
	}
}

/* A way of 0.12 m shifts what is 2 m away by 0.06 rad; per_rad 0.06 = 6.3 pixels, so 7 times: sevenths. */
Test(camera_motion, the_way_counts_for_the_number_of_times)
{
	static struct shot shot;
	struct sdf_camera camera = camera_of();
	struct picture_world w = picture_world_load(half);
	const double exposure_s = 0.02, way = 2 * 6.3 / (W / camera.fov_rad);
	struct scan_path path = turning(0, (struct vec3){0, way / exposure_s, 0});
	const struct picture_motion motion = {&path, 0, 0, exposure_s, 0};
	sweep(&w, exposure_s);
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &shot);
	uint32_t partly = 0;
	for (uint32_t column = 0; column < W; column++) {
		double sevenths = 7 * (double)shot.colour[3 * (5 * W + column) + 2];
		cr_expect(fabs(sevenths - round(sevenths)) < 1e-5, "column %u", column);
		partly += sevenths > 0.5 && sevenths < 6.5;
	}
	cr_expect(partly >= 1);
	picture_world_drop(&w);
}

/* --- the same as other pictures ------------------------------------------------------------------------------------
 */

/* Textures, transparency, lights with shadows, fog and sky. */
static const char rich[] =
	"<scene><ambient>0.3 0.3 0.3 "
	"1</ambient><sky/><fog><type>linear</type><start>1</start><end>30</end></fog></scene>"
	"<light name='sun' type='directional'><pose>0 0 9 0 0 0</pose><direction>0.3 0.2 -1</direction>"
	"<cast_shadows>1</cast_shadows></light>" THING("robot", "0", "0 0 0 0 0 0", "") THING("floor", "1",
		"0 0 -1 0 0 0",
		VISUAL("v", "0 0 0",
			"<geometry><plane><normal>0 0 1</normal><size>50 50</size></plane></geometry>" PAINT))
		THING("glass", "1", "3 0.3 0 0 0 0.3",
			VISUAL("v", "0 0 0", BOX("0.1 1 1") PAINT "<transparency>0.5</transparency>"))
			THING("ball", "0", "5 0 0 0.1 0.2 0.3",
				VISUAL("v", "0 0 0", "<geometry><sphere><radius>0.8</radius></sphere></geometry>" PAINT)
					VISUAL("w", "0 0.9 0", BOX("1 0.4 1.5") PAINT));

static const struct sdf_maps *maps_of_cells(void)
{
	static const unsigned char cells[16] = {1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1};
	static struct sdf_maps maps;
	maps = (struct sdf_maps){.map[MESH_ALBEDO] = picture_world_pattern(cells, 4, 4, 8)};
	return &maps;
}

/* Of a world that stands, the row that was read at some time is that row of a picture taken then, bit for bit. */
Test(camera_motion, rows_are_those_of_pictures_at_their_times)
{
	static struct shot moved, then;
	struct sdf_camera camera = camera_of();
	struct picture_world w = picture_world_load(rich);
	const struct sdf_maps *maps = maps_of_cells();
	for (uint32_t visual = 0; visual < w.sdf->worlds.at[0].visuals.count; visual++)
		if (w.sdf->worlds.at[0].visuals.at[visual].shape.kind != SDF_PLANE)
			picture_world_paint(&w, visual, maps);
	struct scan_path path = turning(3, (struct vec3){2, 1, 0.5});
	const struct picture_motion motion = {&path, 0, 0.04, 0, 0};
	sweep(&w, 0.04);
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &moved);
	for (uint32_t row = 0; row < H; row += 7) {
		uint32_t at = row * W;
		take(&w, &camera, scan_path_at(&path, -ago_of(row, 0.04)), NULL, at, W, &then);
		cr_expect_arr_eq(&moved.colour[3 * at], &then.colour[3 * at], 3 * W * sizeof *then.colour, "%u", row);
		cr_expect_arr_eq(&moved.depth[at], &then.depth[at], W * sizeof *then.depth, "row %u", row);
	}
	picture_world_drop(&w);
}

/* Without lights what moves looks as it did where it was: textures and what lies behind glass are carried along. */
Test(camera_motion, textures_move_with_what_they_are_on)
{
	static struct shot moved, then;
	struct sdf_camera camera = camera_of();
	struct picture_world w = picture_world_load(rich);
	const struct sdf_maps *maps = maps_of_cells();
	struct scan_path path = turning(1, (struct vec3){1, 0, 0});
	const struct picture_motion motion = {&path, 0, 0.04, 0, 0};
	w.lights.count = 0;
	for (uint32_t visual = 0; visual < w.sdf->worlds.at[0].visuals.count; visual++)
		picture_world_paint(&w, visual, maps);
	struct body_state *ball = state_body(w.state, 1, false), end = *ball;
	ball->v = (struct vec3){1, 3, -1};
	ball->w = (struct vec3){0, 0, 5};
	sweep(&w, 0.04);
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &moved);
	uint32_t differ = 0;
	for (uint32_t row = 0; row < H; row++) {
		double ago_s = ago_of(row, 0.04);
		ball->p = vec3_sub(end.p, vec3_scale((struct vec3){1, 3, -1}, ago_s));
		ball->q = quat_mul(quat_from_rpy(0, 0, -5 * ago_s), end.q);
		rays_follow(w.rays, w.state);
		take(&w, &camera, scan_path_at(&path, -ago_s), NULL, row * W, W, &then);
		for (uint32_t i = 3 * row * W; i < 3 * (row + 1) * W; i++)
			differ += fabs((double)(moved.colour[i] - then.colour[i])) > 2e-3;
	}
	cr_expect(differ < 3 * PIXELS / 200, "%u of %d numbers differ", differ, 3 * PIXELS);
	picture_world_drop(&w);
}

/* Whether a picture is taken in parts does not matter; nor does motion where nothing moves. */
Test(camera_motion, parts_and_rest)
{
	static struct shot whole, parts;
	struct sdf_camera camera = camera_of();
	struct picture_world w = picture_world_load(rich);
	struct scan_path path = turning(3, (struct vec3){2, 1, 0.5});
	struct picture_motion motion = {&path, 0, 0.02, 0.02, 0};
	camera.smooth = true;
	camera.anti_aliasing = 4;
	state_body(w.state, 1, false)->w = (struct vec3){1, 2, 3};
	sweep(&w, 0.04);
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &whole);
	for (uint32_t first = 0, count; first < PIXELS; first += count) {
		count = MIN(PIXELS - first, 777u);
		take(&w, &camera, POSE_IDENTITY, &motion, first, count, &parts);
	}
	cr_expect_arr_eq(&whole, &parts, sizeof whole, "parts");
	state_body(w.state, 1, false)->w = (struct vec3){0, 0, 0};
	sweep(&w, 0.04);
	motion.path = &still;
	take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &whole);
	take(&w, &camera, POSE_IDENTITY, NULL, 0, PIXELS, &parts);
	cr_expect_arr_eq(&whole, &parts, sizeof whole, "at rest");
	picture_world_drop(&w);
}

/* Over a network a secondary does not know of what moves out of sight, and takes one time of the exposure where others
 * take several: the mean of equal pictures is the picture, bit for bit. */
Test(camera_motion, what_moves_out_of_sight_changes_no_bit)
{
	static struct shot still_shot, exposed;
	struct sdf_camera camera = camera_of();
	char *inside =
		mem_printf("%s%s", rich, THING("far", "0", "-40 0 3 0 0 0", VISUAL("v", "0 0 0", BOX("1 1 1") PAINT)));
	struct picture_world w = picture_world_load(inside);
	const uint32_t samples[] = {0, 3, 7, 11, 16};
	picture_world_paint(&w, w.sdf->worlds.at[0].visuals.count - 1, maps_of_cells());
	take(&w, &camera, POSE_IDENTITY, NULL, 0, PIXELS, &still_shot);
	state_body(w.state, 2, false)->v = (struct vec3){1, 2, 3};
	sweep(&w, 0.04);
	cr_assert(rays_move(w.rays));
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const struct picture_motion motion = {&still, 0, 0.01, 0.02, samples[i]};
		take(&w, &camera, POSE_IDENTITY, &motion, 0, PIXELS, &exposed);
		cr_expect_arr_eq(&still_shot, &exposed, sizeof exposed, "%u times", samples[i]);
	}
	picture_world_drop(&w);
	free(inside);
}
