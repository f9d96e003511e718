/* The rays of a lidar point where the message about them says: wrong counts, orders or steps would turn every scan. */
#include "sensor/scan.h"

#include <criterion/criterion.h>
#include <math.h>
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
