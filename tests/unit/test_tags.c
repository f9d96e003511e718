/* AprilTags in pictures, found by the library that robots use: which tag, how far and how it is turned. How far away a
 * tag can be found is compared with pictures of an ideal camera, each pixel of which is the mean over its area. */
#include "picture_world.h"
#include "sdf_help.h"

#include <stdio.h>
#include <stdlib.h>

#include "config.h"

#ifdef HAVE_APRILTAG

#include <apriltag/apriltag.h>
#include <apriltag/apriltag_pose.h>
#include <apriltag/tag36h11.h>

TestSuite(tags, .timeout = 300);

enum { W = 640, H = 480, TAG = 7, CELLS = 10, TEXELS = 16 };
#define FOCAL 554.0
#define EDGE 0.2 /* m: of the black square, which has 8 of the 10 cells */
#define BOARD (EDGE * CELLS / 8)

struct finder {
	apriltag_family_t *family;
	apriltag_detector_t *detector;
	unsigned char cells[CELLS * CELLS], *grey; /* of the tag: 1 is white; the picture */
	struct texture *texture;
	struct sdf_maps maps;
	struct sdf_camera camera;
	float *colour;
};

static void draw(apriltag_family_t *family, int number, unsigned char cells[CELLS * CELLS])
{
	image_u8_t *tag = apriltag_to_image(family, number);
	cr_assert(tag->width == CELLS && tag->height == CELLS);
	for (int i = 0; i < CELLS * CELLS; i++)
		cells[i] = tag->buf[i / CELLS * tag->stride + i % CELLS] > 127;
	free(tag->buf);
	free(tag);
}

static struct finder begin(void)
{
	struct finder f = {.family = tag36h11_create(), .detector = apriltag_detector_create()};
	apriltag_detector_add_family(f.detector, f.family);
	f.detector->quad_decimate = 1;
	draw(f.family, TAG, f.cells);
	f.texture = picture_world_pattern(f.cells, CELLS, CELLS, TEXELS);
	f.maps = (struct sdf_maps){.map = {[MESH_ALBEDO] = f.texture}};
	f.camera = picture_world_camera(W, H, FOCAL);
	f.colour = mem_alloc(3 * W * H * sizeof *f.colour);
	f.grey = mem_alloc(W * H);
	return f;
}

static void end(struct finder *f)
{
	free(f->grey);
	apriltag_detector_destroy(f->detector);
	tag36h11_destroy(f->family);
	texture_release(f->texture);
	free(f->colour);
}

/* The board is a box whose -x side has the tag; what is behind it is as white. */
static void take(struct finder *f, struct pose pose)
{
	char *inside = mem_printf(
		"<scene><ambient>0.8 0.8 0.8 1</ambient><background>0.8 0.8 0.8 1</background></scene><model name='m'>"
		"<static>1</static><pose rotation_format='quat_xyzw'>%.17g %.17g %.17g %.17g %.17g %.17g "
		"%.17g</pose><link name='l'><visual name='v'><geometry>"
		"<box><size>0.01 %.17g %.17g</size></box></geometry><material><ambient>1 1 1 "
		"1</ambient></material></visual>"
		"</link></model>",
		pose.p.x, pose.p.y, pose.p.z, pose.q.x, pose.q.y, pose.q.z, pose.q.w, BOARD, BOARD);
	struct picture_world w = picture_world_load(inside);
	picture_world_paint(&w, 0, &f->maps);
	picture_world_take(&w, &f->camera, POSE_IDENTITY, f->colour);
	for (int i = 0; i < W * H; i++)
		f->grey[i] = (unsigned char)(fmin((double)f->colour[3 * i], 1) * 255 + 0.5);
	picture_world_drop(&w);
	free(inside);
}

/* Draws a board as an ideal camera sees it: each pixel is the mean of SAMPLES x SAMPLES points. */
static void draw_ideal(struct finder *f, struct pose pose, const unsigned char cells[CELLS * CELLS], double behind)
{
	enum { SAMPLES = 12 };
	struct vec3 x = quat_rotate(pose.q, (struct vec3){1, 0, 0}),
		    origin = pose_point(pose, (struct vec3){-0.005, 0, 0});
	struct pose back = pose_inverse(pose);
	double half = FOCAL * BOARD / pose.p.x, middle_x = W / 2.0 - FOCAL * pose.p.y / pose.p.x,
	       middle_y = H / 2.0 - FOCAL * pose.p.z / pose.p.x;
	for (int i = 0; i < W * H; i++) {
		double sum = 0;
		int seen = 0;
		if (fabs(i % W - middle_x) > half || fabs(i / W - middle_y) > half)
			continue;
		for (int s = 0; s < SAMPLES * SAMPLES; s++) {
			double column = i % W + (s % SAMPLES + 0.5) / SAMPLES,
			       row = i / W + (s / SAMPLES + 0.5) / SAMPLES;
			struct vec3 d = {1, -(column - W / 2.0) / FOCAL, -(row - H / 2.0) / FOCAL};
			double t = vec3_dot(origin, x) / vec3_dot(d, x);
			struct vec3 p = pose_point(back, vec3_scale(d, t));
			double u = (0.5 - p.y / BOARD) * CELLS, v = (0.5 - p.z / BOARD) * CELLS;
			bool on = t > 0 && u >= 0 && u < CELLS && v >= 0 && v < CELLS;
			sum += on ? 0.8 * cells[(int)v * CELLS + (int)u] : behind;
			seen += on;
		}
		if (seen)
			f->grey[i] = (unsigned char)(sum / (SAMPLES * SAMPLES) * 255 + 0.5);
	}
}

static void take_ideal(struct finder *f, struct pose pose)
{
	memset(f->grey, (int)(0.8 * 255 + 0.5), W * H);
	draw_ideal(f, pose, f->cells, 0.8);
}

struct found {
	struct vec3 p, axes[3]; /* of the board, in the frame of the camera (x ahead) */
};

/* The library has x to the right, y down and z ahead, also for the tag. */
static struct vec3 from_library(const matd_t *m, unsigned column, double sign)
{
	return (struct vec3){
		sign * MATD_EL(m, 2u, column), -sign * MATD_EL(m, 0u, column), -sign * MATD_EL(m, 1u, column)};
}

/* The pose of a tag; how often it is found. */
static int find_tag(struct finder *f, int tag, struct found *ret_found)
{
	image_u8_t picture = {.width = W, .height = H, .stride = W, .buf = f->grey};
	zarray_t *all = apriltag_detector_detect(f->detector, &picture);
	int times = 0;
	for (int i = 0; i < zarray_size(all); i++) {
		apriltag_detection_t *detection;
		zarray_get(all, i, &detection);
		if (detection->id != tag || detection->hamming)
			continue;
		apriltag_detection_info_t info = {detection, EDGE, FOCAL, FOCAL, W / 2.0, H / 2.0};
		apriltag_pose_t pose;
		(void)estimate_tag_pose(&info, &pose);
		*ret_found = (struct found){from_library(pose.t, 0, 1),
			{from_library(pose.R, 2, 1), from_library(pose.R, 0, -1), from_library(pose.R, 1, -1)}};
		free(pose.R); /* each is one block, and the library has no function for that */
		free(pose.t);
		times++;
	}
	apriltag_detections_destroy(all);
	return times;
}

static bool find(struct finder *f, struct found *ret_found)
{
	return find_tag(f, TAG, ret_found) > 0;
}

/* In degrees: between the axes of the board and those that were found. */
static double angle_of(const struct found *found, struct quat q)
{
	struct vec3 x = quat_rotate(q, (struct vec3){1, 0, 0}), y = quat_rotate(q, (struct vec3){0, 1, 0}),
		    z = quat_rotate(q, (struct vec3){0, 0, 1});
	double trace = vec3_dot(x, found->axes[0]) + vec3_dot(y, found->axes[1]) + vec3_dot(z, found->axes[2]);
	return acos(fmin((trace - 1) / 2, 1)) * 180 / M_PI;
}

/* Within 1 % of the distance, and 1 degree. */
Test(tags, poses)
{
	static const struct {
		struct vec3 at;
		double roll, pitch, yaw;
	} boards[] = {{{0.5, 0, 0}, 0, 0, 0}, {{0.7, 0.1, -0.05}, 0.4, 0, 0.5}, {{1, -0.2, 0.1}, 0, 0.6, -0.4},
		{{1.5, 0.3, 0.2}, 1.2, -0.5, 0.3}, {{2, -0.4, -0.3}, 0.2, 0.3, 0.7}};
	struct finder f = begin();
	for (size_t i = 0; i < ARRAY_LEN(boards); i++) {
		struct pose pose = {boards[i].at, quat_from_rpy(boards[i].roll, boards[i].pitch, boards[i].yaw)};
		struct found found;
		take(&f, pose);
		bool right = find(&f, &found);
		cr_expect(right, "board %zu is not found", i);
		if (!right)
			continue;
		struct vec3 face = pose_point(pose, (struct vec3){-0.005, 0, 0});
		double off = vec3_length(vec3_sub(found.p, face)) / vec3_length(face);
		double angle = angle_of(&found, pose.q);
		printf("board %zu: off by %.2f %% and %.2f degrees\n", i, 100 * off, angle);
		cr_expect_lt(off, 0.01, "board %zu: off by %g", i, off);
		cr_expect_lt(angle, 1, "board %zu: off by %g degrees", i, angle);
	}
	end(&f);
}

enum { WALL_TAGS = 9, WALL_FIRST = 20 };

/* Takes a picture of boards in three rows and columns. */
static void take_wall(
	struct finder *f, struct pose wall, const struct sdf_maps maps[WALL_TAGS], struct pose ret_boards[WALL_TAGS])
{
	struct text inside = {0};
	text_add(&inside, "<scene><ambient>0.8 0.8 0.8 1</ambient><background>0.5 0.5 0.5 1</background></scene>");
	for (uint32_t t = 0; t < WALL_TAGS; t++) {
		struct vec3 at = {0, 0.3 * (t % 3 - 1.0), 0.3 * (t / 3 - 1.0)};
		struct pose *b = &ret_boards[t];
		*b = pose_mul(wall, (struct pose){at, QUAT_IDENTITY});
		text_add(&inside,
			"<model name='m%u'><static>1</static><pose rotation_format='quat_xyzw'>%.17g %.17g %.17g "
			"%.17g %.17g %.17g %.17g</pose><link name='l'><visual name='v'><geometry><box><size>0.01 "
			"%.17g %.17g</size></box></geometry><material><ambient>1 1 1 1</ambient></material></visual>"
			"</link></model>",
			t, b->p.x, b->p.y, b->p.z, b->q.x, b->q.y, b->q.z, b->q.w, BOARD, BOARD);
	}
	struct picture_world w = picture_world_load(inside.at);
	for (uint32_t t = 0; t < WALL_TAGS; t++)
		picture_world_paint(&w, t, &maps[t]);
	picture_world_take(&w, &f->camera, POSE_IDENTITY, f->colour);
	for (int i = 0; i < W * H; i++)
		f->grey[i] = (unsigned char)(fmin((double)f->colour[3 * i], 1) * 255 + 0.5);
	picture_world_drop(&w);
	text_fini(&inside);
}

/* Nine tags on a wall, which the camera sees at an angle: each is found once, where it is. */
Test(tags, nine_on_a_wall)
{
	static const struct {
		struct vec3 at;
		double roll, pitch, yaw;
	} walls[] = {{{1.6, 0, 0}, 0, 0.1, 0.4}, {{1.7, 0.1, 0.1}, 0.1, 0.3, 0.6}, {{1.8, -0.2, 0}, -0.2, -0.4, -0.5}};
	struct finder f = begin();
	struct sdf_maps maps[WALL_TAGS];
	struct texture *textures[WALL_TAGS];
	struct pose boards[WALL_TAGS];
	for (uint32_t t = 0; t < WALL_TAGS; t++) {
		unsigned char cells[CELLS * CELLS];
		draw(f.family, WALL_FIRST + (int)t, cells);
		textures[t] = picture_world_pattern(cells, CELLS, CELLS, TEXELS);
		maps[t] = (struct sdf_maps){.map = {[MESH_ALBEDO] = textures[t]}};
	}
	for (size_t i = 0; i < ARRAY_LEN(walls); i++) {
		take_wall(&f, (struct pose){walls[i].at, quat_from_rpy(walls[i].roll, walls[i].pitch, walls[i].yaw)},
			maps, boards);
		for (int t = 0; t < WALL_TAGS; t++) {
			struct found found = {0};
			int times = find_tag(&f, WALL_FIRST + t, &found);
			struct vec3 face = pose_point(boards[t], (struct vec3){-0.005, 0, 0});
			cr_assert_eq(times, 1, "wall %zu: tag %d is found %d times", i, t, times);
			double off = vec3_length(vec3_sub(found.p, face)) / vec3_length(face);
			double angle = angle_of(&found, boards[t].q);
			cr_expect_lt(off, 0.01, "wall %zu, tag %d: off by %g", i, t, off);
			cr_expect_lt(angle, 1, "wall %zu, tag %d: off by %g degrees", i, t, angle);
		}
	}
	for (uint32_t t = 0; t < WALL_TAGS; t++)
		texture_release(textures[t]);
	end(&f);
}

struct wall {
	struct sdf_maps maps[WALL_TAGS];
	struct texture *textures[WALL_TAGS];
	unsigned char cells[WALL_TAGS][CELLS * CELLS];
};

/* The largest angle by which a tag is found to be turned. */
static double worst_angle(struct finder *f, const struct pose boards[WALL_TAGS])
{
	double worst = 0;
	for (int t = 0; t < WALL_TAGS; t++) {
		struct found found = {0};
		int times = find_tag(f, WALL_FIRST + t, &found);
		cr_assert_eq(times, 1, "tag %d is found %d times", t, times);
		worst = fmax(worst, angle_of(&found, boards[t].q));
	}
	return worst;
}

/* Tags that face the camera: there a turn by a small angle hardly changes what is seen, so what the library finds is
 * off by some degrees where tags are small, in pictures of an ideal camera, too. Those of our cameras are no worse. */
Test(tags, a_wall_ahead)
{
	struct finder f = begin();
	struct wall wall;
	double sum[2] = {0}, most[2] = {0};
	int count = 0;
	for (uint32_t t = 0; t < WALL_TAGS; t++) {
		draw(f.family, WALL_FIRST + (int)t, wall.cells[t]);
		wall.textures[t] = picture_world_pattern(wall.cells[t], CELLS, CELLS, TEXELS);
		wall.maps[t] = (struct sdf_maps){.map = {[MESH_ALBEDO] = wall.textures[t]}};
	}
	for (double far = 1.5; far < 3.2; far += 0.1, count++) {
		struct pose boards[WALL_TAGS];
		take_wall(&f, (struct pose){{far, 0.01, 0.02}, QUAT_IDENTITY}, wall.maps, boards);
		double ours = worst_angle(&f, boards);
		memset(f.grey, (int)(0.5 * 255 + 0.5), W * H);
		for (uint32_t t = 0; t < WALL_TAGS; t++)
			draw_ideal(&f, boards[t], wall.cells[t], 0.5);
		double ideal = worst_angle(&f, boards);
		printf("%.1f m: off by %.3f degrees, in the ideal picture by %.3f\n", far, ours, ideal);
		sum[0] += ours, sum[1] += ideal;
		most[0] = fmax(most[0], ours), most[1] = fmax(most[1], ideal);
	}
	printf("mean %.3f and %.3f, at most %.3f and %.3f\n", sum[0] / count, sum[1] / count, most[0], most[1]);
	cr_expect(
		sum[0] < 1.1 * sum[1], "the mean is %g degrees, in ideal pictures %g", sum[0] / count, sum[1] / count);
	cr_expect(most[0] < 1.25 * most[1], "at most %g degrees, in ideal pictures %g", most[0], most[1]);
	for (uint32_t t = 0; t < WALL_TAGS; t++)
		texture_release(wall.textures[t]);
	end(&f);
}

/* At how many of growing distances the tag is found, each 2 % farther. */
static int reach(struct finder *f, void (*taken)(struct finder *, struct pose), double yaw)
{
	int times = 0;
	for (double far = 5; far < 16; far *= 1.02) {
		struct found found;
		taken(f, (struct pose){{far, 0.013 * far, 0.007 * far}, quat_from_rpy(0.1, 0, yaw)});
		times += find(f, &found);
	}
	return times;
}

/* Within 10 % of the distance: five such steps. */
Test(tags, are_found_as_far_as_by_an_ideal_camera)
{
	struct finder f = begin();
	for (int i = 0; i < 2; i++) {
		double yaw = i * 0.8;
		int ours = reach(&f, take, yaw), ideal = reach(&f, take_ideal, yaw);
		printf("turned by %.1f: found %d times, with an ideal camera %d times\n", yaw, ours, ideal);
		cr_expect_geq(ours, ideal - 5, "turned by %g: found %d times, with an ideal camera %d times", yaw, ours,
			ideal);
		cr_expect_gt(ideal, 20);
	}
	end(&f);
}

#else

Test(tags, are_not_searched)
{
	cr_skip_test("built without libapriltag");
}

#endif
