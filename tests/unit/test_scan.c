/* The rays of a lidar point where the message about them says: wrong counts, orders or steps would turn every scan. */
#include "sdf_help.h"
#include "sensor/scan.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

TestSuite(scan, .timeout = 60);

Test(scan, rays_run_from_the_lowest_angles)
{
	struct sdf_lidar lidar = {.horizontal = {4, 2, -1, 1.5}, .vertical = {3, 1, -0.2, 0.4}};
	struct scan_layout layout = scan_layout(&lidar);
	cr_assert(layout.columns.count == 8 && layout.rows.count == 3 && scan_count(&layout) == 24);
	struct vec3 directions[24];
	scan_directions(&layout, directions);
	for (uint32_t r = 0; r < 3; r++)
		for (uint32_t c = 0; c < 8; c++) {
			struct vec3 d = directions[r * 8 + c];
			cr_assert_float_eq(vec3_length(d), 1, 1e-15);
			cr_assert_float_eq(atan2(d.y, d.x), -1 + c * 2.5 / 7, 1e-14);
			cr_assert_float_eq(asin(d.z), -0.2 + r * 0.3, 1e-14);
		}
}

Test(scan, one_ray_has_the_lowest_angle)
{
	struct sdf_lidar lidar = {.horizontal = {1, 1, 0.5, 1}, .vertical = {3, 0.1, 0.25, 1}};
	struct scan_layout layout = scan_layout(&lidar);
	cr_assert(layout.columns.count == 1 && layout.rows.count == 1);
	struct vec3 d;
	scan_directions(&layout, &d);
	cr_assert_float_eq(atan2(d.y, d.x), 0.5, 1e-14);
	cr_assert_float_eq(asin(d.z), 0.25, 1e-14);
}

#define WALL(name, x, more)                                                                                            \
	"<model name='" name "'><static>1</static><pose>" x " 0 0 0 0 0</pose><link name='l'><visual name='v'>" more   \
	"<geometry><box><size>0.2 40 4</size></box></geometry></visual></link></model>"

/* A wall ahead in 5 m, one behind in 0.9 m, of which a lidar that sees from 1 m on is right beside. */
Test(scan, ranges_and_their_limits)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct sdf *sdf = sdf_help_good("<sdf version='1.9'><world name='w'>" WALL("a", "5.1",
						"<laser_retro>7</laser_retro>") WALL("b", "-1", "") "</world></sdf>",
		NULL);
	struct scene *scene;
	struct rays *rays;
	struct troupe_error error;
	cr_assert(!scene_create(&sdf->worlds.at[0], NULL, &scene, &error), "%s", error.text);
	struct state *state = state_create(scene, NULL);
	cr_assert(!rays_create(scene, NULL, &rays, &error), "%s", error.text);
	rays_follow(rays, state);
	struct sdf_lidar lidar = {.horizontal = {720, 1, -3, 3}, .vertical = {3, 1, -0.1, 0.1}};
	struct scan_layout layout = scan_layout(&lidar);
	enum { COUNT = 720 * 3 };
	static struct vec3 directions[COUNT];
	static double ranges[COUNT], intensities[COUNT];
	struct pose sensor = {{0, 0, 0.25}, quat_from_rpy(0, 0, 0.5)};
	struct sdf_signal range = {.min = 1, .max = 8};
	uint32_t ahead = 0, near = 0, none = 0;
	scan_directions(&layout, directions);
	scan_measure(rays, directions, scan_count(&layout), sensor, &range, UINT32_MAX, ranges, intensities);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct vec3 d = quat_rotate(sensor.q, directions[i]);
		double t = d.x > 0 ? 5 / d.x : -0.9 / d.x;
		bool in = fabs(t * d.y) < 20 && fabs(0.25 + t * d.z) < 2 && t <= 8;
		double want = !in ? (double)INFINITY : t < 1 ? (double)-INFINITY : t;
		cr_assert(ranges[i] == want || fabs(ranges[i] - want) < 1e-9, "ray %u: %.12g, not %.12g", i, ranges[i],
			want);
		cr_assert_eq(intensities[i], isfinite(want) && d.x > 0 ? 7 : 0);
		ahead += isfinite(want) && d.x > 0;
		near += in && t < 1;
		none += !in;
	}
	cr_assert(ahead > 100 && near > 100 && none > 100);
	static double some[2];
	for (uint32_t i = 0; i + 2 <= COUNT; i += 89) { /* rays by twos are the same rays */
		scan_measure(rays, directions + i, 2, sensor, &range, UINT32_MAX, some, NULL);
		cr_assert(!memcmp(some, ranges + i, sizeof some), "rays %u and %u", i, i + 1);
	}
	range.max = 0; /* no <range>: nothing is in range */
	scan_measure(rays, directions, scan_count(&layout), sensor, &range, UINT32_MAX, ranges, NULL);
	for (uint32_t i = 0; i < COUNT; i++)
		cr_assert(ranges[i] > 0 && isinf(ranges[i]));
	rays_destroy(rays);
	state_destroy(state);
	scene_destroy(scene);
	sdf_free(sdf);
}
