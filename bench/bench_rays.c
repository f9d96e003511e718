/* Measures the rays of lidars and cameras in a warehouse of 1000 boxes with 50 robots, which are boxes, too. The
 * baseline is a bare Embree loop with the same rays: a box is an instance of twelve triangles, distances are of single
 * precision. Of its ways (a ray at a time, packets of eight, with Embree 3 a stream) the fastest counts. */
#include "config.h"

#include "bench.h"

#include "base/hash.h"
#include "base/text.h"
#include "sensor/embree.h"
#include "sensor/lens.h"
#include "sensor/picture.h"
#include "sensor/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOXES = 1000, ROBOTS = 50, COLUMNS = 900, ROWS = 16, WIDTH = 320, HEIGHT = 240 };
#define RANGE 30.0

static const struct vec3 crate = {1, 1, 2}, hull = {0.6, 0.4, 0.3}, floor_size = {100, 100, 0.2};

struct subject {
	struct sdf *sdf;
	struct scene *scene;
	struct state *state;
	struct rays *rays;
	struct lights lights;
};

/* --- the world ------------------------------------------------------------------------------------------------------
 */

static void add_box(
	struct text *out, const char *name, int number, bool is_static, struct vec3 at, double yaw, struct vec3 size)
{
	text_add(out,
		"<model name='%s%d'><static>%d</static><pose>%.17g %.17g %.17g 0 0 %.17g</pose><link name='l'>"
		"<visual name='v'><geometry><box><size>%g %g %g</size></box></geometry></visual></link></model>",
		name, number, is_static, at.x, at.y, at.z, yaw, size.x, size.y, size.z);
}

/* Ten blocks of racks with aisles between them. */
static struct vec3 crate_place(int i)
{
	int rack = i / 50, in = i % 50;
	return (struct vec3){-45 + rack * 4.7, -40 + in * 1.6 + (in / 10) * 1.5, 1};
}

static struct vec3 robot_place(int i)
{
	return (struct vec3){-42.6 + (i % 19) * 4.7, -38 + (i / 19) * 27.3 + i * 0.31, 0.3};
}

static char *make_world(void)
{
	struct text out = {0};
	text_add(&out, "<sdf version='1.9'><world name='w'><light name='sun' type='directional'>"
		       "<cast_shadows>1</cast_shadows><direction>0.3 0.2 -1</direction></light>");
	add_box(&out, "floor", 0, true, (struct vec3){0, 0, -0.1}, 0, floor_size);
	for (int i = 0; i < BOXES; i++)
		add_box(&out, "box", i, true, crate_place(i), 0.03 * (i % 7), crate);
	for (int i = 0; i < ROBOTS; i++)
		add_box(&out, "robot", i, false, robot_place(i), 0.7 * i, hull);
	text_add(&out, "</world></sdf>");
	return out.at;
}

static void or_exit(troupe_status status, const struct troupe_error *error)
{
	if (status) {
		fprintf(stderr, "%s\n", error->text);
		exit(1);
	}
}

static struct subject make_subject(void)
{
	struct subject s;
	struct troupe_error error;
	char *text = make_world();
	or_exit(sdf_load_text(text, strlen(text), "warehouse", NULL, &s.sdf, &error), &error);
	free(text);
	or_exit(scene_create(&s.sdf->worlds.at[0], NULL, &s.scene, &error), &error);
	s.state = state_create(s.scene, NULL);
	or_exit(rays_create(s.scene, NULL, &s.rays, &error), &error);
	rays_follow(s.rays, s.state);
	lights_find(s.state, &s.lights);
	return s;
}

static struct pose eye_of(const struct subject *s, int robot)
{
	struct pose pose = body_pose(state_body(s->state, (uint32_t)robot, false));
	return pose_mul(pose, (struct pose){{0, 0, 0.3}, QUAT_IDENTITY});
}

static void move_robots(const struct subject *s, double by)
{
	for (int i = 0; i < ROBOTS; i++)
		state_body(s->state, (uint32_t)i, false)->p.y += by;
}

/* --- bare Embree ----------------------------------------------------------------------------------------------------
 */

struct bare {
	RTCDevice device;
	RTCScene box, scene;
};

static void make_unit_box(struct bare *b)
{
	static const unsigned corners[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
		{2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
	RTCGeometry g = rtcNewGeometry(b->device, RTC_GEOMETRY_TYPE_TRIANGLE);
	float *points = rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float), 8);
	unsigned *triangles =
		rtcSetNewGeometryBuffer(g, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(unsigned), 12);
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 3; k++)
			points[3 * i + k] = i >> k & 1 ? 0.5f : -0.5f;
	memcpy(triangles, corners, sizeof corners);
	rtcCommitGeometry(g);
	rtcAttachGeometry(b->box, g);
	rtcReleaseGeometry(g);
	rtcCommitScene(b->box);
}

static void add_instance(struct bare *b, struct pose pose, struct vec3 size)
{
	RTCGeometry g = rtcNewGeometry(b->device, RTC_GEOMETRY_TYPE_INSTANCE);
	struct mat3 m = quat_matrix(pose.q);
	double edges[3] = {size.x, size.y, size.z}, at[3] = {pose.p.x, pose.p.y, pose.p.z};
	float columns[12];
	for (int c = 0; c < 3; c++)
		for (int r = 0; r < 3; r++)
			columns[3 * c + r] = (float)(m.m[r][c] * edges[c]);
	for (int r = 0; r < 3; r++)
		columns[9 + r] = (float)at[r];
	rtcSetGeometryInstancedScene(g, b->box);
	rtcSetGeometryTransform(g, 0, RTC_FORMAT_FLOAT3X4_COLUMN_MAJOR, columns);
	rtcCommitGeometry(g);
	rtcAttachGeometry(b->scene, g);
	rtcReleaseGeometry(g);
}

static struct bare make_bare(const struct subject *s)
{
	struct bare b = {.device = rtcNewDevice("threads=1")};
	b.box = rtcNewScene(b.device);
	b.scene = rtcNewScene(b.device);
	make_unit_box(&b);
	add_instance(&b, (struct pose){{0, 0, -0.1}, QUAT_IDENTITY}, floor_size);
	for (int i = 0; i < BOXES; i++)
		add_instance(&b, (struct pose){crate_place(i), quat_from_rpy(0, 0, 0.03 * (i % 7))}, crate);
	for (int i = 0; i < ROBOTS; i++)
		add_instance(&b, body_pose(state_body(s->state, (uint32_t)i, false)), hull);
	rtcCommitScene(b.scene);
	return b;
}

#if EMBREE_MAJOR == 3
enum { WAYS = 3 };
static void intersect1(RTCScene scene, struct embree_query *query, struct RTCRayHit *ray)
{
	rtcIntersect1(scene, &query->context, ray);
}

static void intersect_stream(RTCScene scene, struct embree_query *query, struct RTCRayHit *rays, uint32_t count)
{
	rtcIntersect1M(scene, &query->context, rays, count, sizeof rays[0]);
}
#else
enum { WAYS = 2 };
static void intersect1(RTCScene scene, struct embree_query *query, struct RTCRayHit *ray)
{
	rtcIntersect1(scene, ray, &query->arguments);
}

/* Embree 4 has no streams. */
static void intersect_stream(RTCScene scene, struct embree_query *query, struct RTCRayHit *rays, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		intersect1(scene, query, &rays[i]);
}
#endif

/* As scan_measure(): from directions in the sensor's frame to distances. */
static void bare_scan(
	const struct bare *b, int way, const struct vec3 *directions, uint32_t count, struct pose eye, float *distances)
{
	enum { STREAM = 256 };
	static const int valid[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
	struct embree_query query;
	struct RTCRayHit stream[STREAM];
	struct RTCRayHit8 packet;
	struct mat3 m = quat_matrix(eye.q);
	embree_query_init(&query);
	for (uint32_t i = 0; i < count; i += STREAM) {
		uint32_t some = count - i < STREAM ? count - i : STREAM;
		for (uint32_t k = 0; k < some; k++) {
			struct vec3 d = directions[i + k];
			float x = (float)(m.m[0][0] * d.x + m.m[0][1] * d.y + m.m[0][2] * d.z),
			      y = (float)(m.m[1][0] * d.x + m.m[1][1] * d.y + m.m[1][2] * d.z),
			      z = (float)(m.m[2][0] * d.x + m.m[2][1] * d.y + m.m[2][2] * d.z);
			if (way == 1) {
				uint32_t l = k % 8;
				packet.ray.org_x[l] = (float)eye.p.x, packet.ray.org_y[l] = (float)eye.p.y;
				packet.ray.org_z[l] = (float)eye.p.z, packet.ray.dir_x[l] = x, packet.ray.dir_y[l] = y;
				packet.ray.dir_z[l] = z, packet.ray.tnear[l] = 0, packet.ray.tfar[l] = (float)RANGE;
				packet.ray.mask[l] = ~0u, packet.ray.flags[l] = 0, packet.ray.time[l] = 0;
				packet.hit.geomID[l] = RTC_INVALID_GEOMETRY_ID;
				if (l == 7) {
					embree_intersect8(rtcIntersect8, &query, valid, b->scene, &packet);
					memcpy(&distances[i + k - 7], packet.ray.tfar, sizeof packet.ray.tfar);
				}
				continue;
			}
			stream[k].ray = (struct RTCRay){
				(float)eye.p.x, (float)eye.p.y, (float)eye.p.z, 0, x, y, z, 0, (float)RANGE, ~0u, k, 0};
			stream[k].hit.geomID = RTC_INVALID_GEOMETRY_ID;
			if (way == 0)
				intersect1(b->scene, &query, &stream[k]);
		}
		if (way == 2)
			intersect_stream(b->scene, &query, stream, some);
		for (uint32_t k = 0; k < some && way != 1; k++)
			distances[i + k] = stream[k].ray.tfar;
	}
}

/* --- measuring ------------------------------------------------------------------------------------------------------
 */

struct work {
	struct subject s;
	struct bare bare;
	struct scan_layout layout;
	struct vec3 *directions, *pixels;
	double *ranges, *intensities;
	float *distances, *depth, *colour;
	struct sdf_camera camera;
	int robots;
};

static double scan_ns(struct work *w)
{
	struct sdf_signal range = {.min = 0, .max = RANGE};
	uint64_t start = bench_now_ns();
	for (int i = 0; i < w->robots; i++)
		scan_measure(w->s.rays, w->directions, scan_count(&w->layout), eye_of(&w->s, i), &range, UINT32_MAX,
			w->ranges, w->intensities);
	return (double)(bench_now_ns() - start);
}

static double bare_ns(struct work *w, int way)
{
	uint64_t start = bench_now_ns();
	for (int i = 0; i < w->robots; i++)
		bare_scan(&w->bare, way, w->directions, scan_count(&w->layout), eye_of(&w->s, i), w->distances);
	return (double)(bench_now_ns() - start);
}

/* Both must see the same: the worst difference that single precision explains. */
static void compare(struct work *w)
{
	uint32_t count = scan_count(&w->layout), other = 0;
	w->robots = 1;
	(void)scan_ns(w);
	(void)bare_ns(w, 1);
	for (uint32_t i = 0; i < count; i++)
		other += fabs(fmin(w->ranges[i], RANGE) - (double)w->distances[i]) > 1e-3;
	if (other > count / 1000) {
		fprintf(stderr, "%u of %u ranges differ from those of bare Embree\n", other, count);
		exit(1);
	}
}

static uint64_t hash_of(const struct work *w)
{
	uint64_t hash = 1, bits;
	for (uint32_t i = 0; i < scan_count(&w->layout); i++) {
		memcpy(&bits, &w->ranges[i], sizeof bits);
		hash = hash_mix(hash, bits);
	}
	return hash;
}

static void measure_scans(struct work *w, const struct bench_options *options)
{
	struct bench_samples ours = {0}, bare = {0};
	double rays = (double)scan_count(&w->layout) * w->robots;
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "scans", r);
		double own = 0, ways[WAYS] = {0}, best = INFINITY;
		for (int t = 0; t < 3; t++) {
			own += scan_ns(w);
			for (int way = 0; way < WAYS; way++)
				ways[way] += bare_ns(w, way);
		}
		if (r < 0)
			continue;
		for (int way = 0; way < WAYS; way++)
			best = fmin(best, ways[way]);
		bench_add(&ours, 3e3 * rays / own);
		bench_add(&bare, 3e3 * rays / best);
	}
	bench_print(options, &(struct bench_row){.subject = "16 x 900 rays, 1050 boxes: scan_measure()",
				     .unit = "Mray/s",
				     .values = &ours,
				     .baselines = &bare,
				     .at_least = 0.8,
				     .hash = hash_of(w)});
}

/* The same rays from a sensor that drives at 2 m/s and turns at 1 rad/s, over a scan of 0.1 s. */
static struct scan_path driven_path(struct pose end)
{
	struct scan_path path = {.count = 101};
	for (int i = 0; i <= 100; i++) {
		double t = (i - 100) * 1e-3;
		struct pose then = {{2 * t, 0, 0}, quat_from_rpy(0, 0, t)};
		path.at[i] = (struct scan_knot){t, pose_mul(end, then)};
	}
	return path;
}

static double moving_ns(struct work *w, const struct sdf_pattern *pattern)
{
	struct sdf_signal range = {.min = 0, .max = RANGE};
	struct scan_job job = {w->s.rays, w->directions, 0, scan_count(&w->layout), &range, UINT32_MAX, 0, pattern,
		pattern->by_column, true};
	uint64_t start = bench_now_ns();
	for (int i = 0; i < w->robots; i++) {
		struct scan_path path = driven_path(eye_of(&w->s, i));
		job.model = (uint32_t)(1 + BOXES + i);
		scan_measure_moving(&job, &path, w->ranges, w->intensities);
	}
	return (double)(bench_now_ns() - start);
}

/* Beside scan_measure(), in turns, by processor time. things: robots move, too. */
static void measure_moving(struct work *w, const struct bench_options *options, bool things)
{
	static struct troupe_scan_firing columns[COLUMNS], rows[ROWS];
	const struct sdf_pattern pattern = {COLUMNS, ROWS, 1, 0.1, columns, rows};
	struct bench_samples moving = {0}, still = {0};
	double rays = (double)scan_count(&w->layout) * w->robots;
	for (uint32_t c = 0; c < COLUMNS; c++)
		columns[c].time_s = 0.1 * c / COLUMNS;
	for (uint32_t i = 0; i < ROBOTS; i++)
		state_body(w->s.state, i, false)->v = (struct vec3){things ? 1.5 : 0, things ? 0.5 : 0, 0};
	rays_set_sweep(w->s.rays, 0.1);
	rays_follow(w->s.rays, w->s.state);
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "scans in motion", r);
		double own = 0, plain = 0;
		for (int t = 0; t < 3; t++) {
			double begin = bench_processor_ns();
			(void)scan_ns(w);
			double between = bench_processor_ns();
			(void)moving_ns(w, &pattern);
			plain += between - begin;
			own += bench_processor_ns() - between;
		}
		if (r < 0)
			continue;
		bench_add(&moving, 3e3 * rays / own);
		bench_add(&still, 3e3 * rays / plain);
	}
	bench_print(
		options, &(struct bench_row){.subject = things ? "the same in motion, robots move, too; scan_measure()"
							       : "the same in motion; baseline: scan_measure()",
				 .unit = "Mray/s",
				 .values = &moving,
				 .baselines = &still,
				 .at_least = 0.7,
				 .hash = hash_of(w)});
	rays_set_sweep(w->s.rays, 0);
	rays_follow(w->s.rays, w->s.state);
}

/* Every visual gets a texture, or none has one. Both look alike from afar. */
static void paint(struct work *w, const struct sdf_maps *maps)
{
	static const struct sdf_material white = {
		.ambient = {0.7, 0.7, 0.7, 1}, .diffuse = {0.7, 0.7, 0.7, 1}, .lighting = true};
	struct sdf_world *world = &w->s.sdf->worlds.at[0];
	for (uint32_t i = 0; i < world->visuals.count; i++) {
		world->visuals.at[i].material = maps ? &white : NULL;
		world->visuals.at[i].shape.maps = maps;
	}
}

static struct texture *make_texture(void)
{
	enum { SIDE = 1024 };
	unsigned char *texels = mem_alloc(4 * SIDE * SIDE);
	for (uint32_t i = 0; i < SIDE * SIDE; i++) {
		uint64_t grain = hash_mix(i, 7);
		for (uint32_t k = 0; k < 3; k++)
			texels[4 * i + k] = (unsigned char)((i / 64 + i / SIDE / 64) % 2 * 128 + (grain >> 8 * k) % 64);
		texels[4 * i + 3] = 255;
	}
	return texture_create(SIDE, SIDE, texels);
}

static double pictures_per_s(struct work *w, const struct picture *picture)
{
	uint64_t start = bench_now_ns();
	for (int i = 0; i < w->robots; i++)
		picture_take(w->s.rays, &w->s.lights, &w->camera, w->pixels, eye_of(&w->s, i), picture);
	return 1e9 * w->robots / (double)(bench_now_ns() - start);
}

/* Of cameras that drive like the lidars in motion. */
static double moving_pictures_per_s(struct work *w, double readout_s, double exposure_s)
{
	uint64_t start = bench_now_ns();
	for (int i = 0; i < w->robots; i++) {
		struct pose eye = eye_of(&w->s, i);
		struct scan_path path = driven_path(eye);
		struct picture_motion motion = {&path, (uint32_t)(1 + BOXES + i), readout_s, exposure_s, 0};
		picture_take(w->s.rays, &w->s.lights, &w->camera, w->pixels, eye,
			&(struct picture){.colour = w->colour, .motion = &motion});
	}
	return 1e9 * w->robots / (double)(bench_now_ns() - start);
}

static uint64_t hash_of_colours(const struct work *w)
{
	uint64_t hash = 1;
	for (uint32_t i = 0; i < 3 * WIDTH * HEIGHT; i++)
		hash = hash_mix(hash, (uint64_t)((double)w->colour[i] * 255 + 0.5));
	return hash;
}

static void measure_depths(struct work *w, const struct bench_options *options)
{
	struct bench_samples ours = {0};
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "pictures", r);
		double rate = pictures_per_s(w, &(struct picture){.depth = w->depth});
		if (r >= 0)
			bench_add(&ours, rate);
	}
	bench_print(options, &(struct bench_row){.subject = "depth 320 x 240", .unit = "1/s", .values = &ours});
}

/* Without textures and with them, in turns. The hash is that of the last picture. */
static void measure_colours(struct work *w, const struct bench_options *options)
{
	struct texture *texture = make_texture();
	const struct sdf_maps maps = {.map = {[MESH_ALBEDO] = texture}};
	struct bench_samples plain = {0}, painted = {0};
	uint64_t hashes[2] = {0};
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "pictures", r);
		double rates[2];
		for (int on = 0; on < 2; on++) {
			paint(w, on ? &maps : NULL);
			rates[on] = pictures_per_s(w, &(struct picture){.colour = w->colour});
			hashes[on] = hash_of_colours(w);
		}
		if (r < 0)
			continue;
		bench_add(&plain, rates[0]);
		bench_add(&painted, rates[1]);
	}
	paint(w, NULL);
	texture_release(texture);
	bench_print(options, &(struct bench_row){.subject = "colour 320 x 240, one sun with shadows",
				     .unit = "1/s",
				     .values = &plain,
				     .hash = hashes[0]});
	bench_print(options, &(struct bench_row){.subject = "the same, and a texture of 1024 x 1024 on every visual",
				     .unit = "1/s",
				     .values = &painted,
				     .baselines = &plain,
				     .hash = hashes[1]});
}

/* A rolling shutter, and one with an exposure, which takes several pictures for one. Beside pictures that are taken at
 * once, in turns. */
static void measure_shutters(struct work *w, const struct bench_options *options)
{
	static const char *const subjects[] = {
		"the same with a rolling shutter of 20 ms, driving", "the same with an exposure of 5 ms, driving"};
	const struct picture picture = {.colour = w->colour};
	for (int kind = 0; kind < 2; kind++) {
		struct bench_samples still = {0}, moving = {0};
		uint64_t hash = 0;
		for (int r = -1; r < options->repeats; r++) {
			bench_progress(options, "pictures", r);
			double rates[2] = {pictures_per_s(w, &picture),
				moving_pictures_per_s(w, kind ? 0 : 0.02, kind ? 0.005 : 0)};
			hash = hash_of_colours(w);
			if (r < 0)
				continue;
			bench_add(&still, rates[0]);
			bench_add(&moving, rates[1]);
		}
		bench_print(options, &(struct bench_row){.subject = subjects[kind],
					     .unit = "1/s",
					     .values = &moving,
					     .baselines = &still,
					     .hash = hash});
	}
}

static void measure_follow(struct work *w, const struct bench_options *options, bool moves)
{
	struct bench_samples ours = {0};
	enum { TIMES = 20 };
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "rays_follow()", r);
		double spent = 0;
		for (int t = 0; t < TIMES; t++) {
			if (moves)
				move_robots(&w->s, t % 2 ? 0.01 : -0.01);
			uint64_t start = bench_now_ns();
			rays_follow(w->s.rays, w->s.state);
			spent += (double)(bench_now_ns() - start);
		}
		if (r >= 0)
			bench_add(&ours, spent / TIMES / 1e3);
	}
	bench_print(options, &(struct bench_row){.subject = moves ? "rays_follow(), 50 of 1051 visuals moved"
								  : "rays_follow(), nothing moved",
				     .unit = "us",
				     .values = &ours});
}

static void end(struct work *w)
{
	free(w->directions);
	free(w->pixels);
	free(w->ranges);
	free(w->intensities);
	free(w->distances);
	free(w->depth);
	free(w->colour);
	rtcReleaseScene(w->bare.scene);
	rtcReleaseScene(w->bare.box);
	rtcReleaseDevice(w->bare.device);
	rays_destroy(w->s.rays);
	state_destroy(w->s.state);
	scene_destroy(w->s.scene);
	sdf_free(w->s.sdf);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv, "rays of lidars and cameras, beside bare Embree");
	struct work w = {.s = make_subject()};
	struct sdf_lidar lidar = {.horizontal = {COLUMNS, 1, -M_PI, M_PI}, .vertical = {ROWS, 1, -0.26, 0.26}};
	w.bare = make_bare(&w.s);
	w.layout = scan_layout(&lidar);
	w.camera = (struct sdf_camera){.fov_rad = 1.047,
		.width = WIDTH,
		.height = HEIGHT,
		.near_m = 0.1,
		.far_m = 100,
		.depth_near_m = 0.1,
		.depth_far_m = 10,
		.visibility_mask = UINT32_MAX};
	uint32_t count = scan_count(&w.layout);
	w.directions = mem_alloc(count * sizeof *w.directions);
	w.ranges = mem_alloc(count * sizeof *w.ranges);
	w.intensities = mem_alloc(count * sizeof *w.intensities);
	w.distances = mem_alloc(count * sizeof *w.distances);
	w.pixels = mem_alloc(WIDTH * HEIGHT * sizeof *w.pixels);
	w.depth = mem_alloc(WIDTH * HEIGHT * sizeof *w.depth);
	w.colour = mem_alloc(3 * WIDTH * HEIGHT * sizeof *w.colour);
	scan_directions(&w.layout, w.directions);
	lens_directions(&w.camera, false, w.pixels);
	compare(&w);
	w.robots = options.smoke ? 1 : 10;
	measure_scans(&w, &options);
	measure_moving(&w, &options, false);
	measure_moving(&w, &options, true);
	measure_depths(&w, &options);
	measure_colours(&w, &options);
	measure_shutters(&w, &options);
	measure_follow(&w, &options, true);
	measure_follow(&w, &options, false);
	end(&w);
	return 0;
}
