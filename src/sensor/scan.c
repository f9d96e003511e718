/* The sines and cosines of a row and of all columns are computed once each: a scan of many rows has far more rays than
 * angles. The last angle of a row is min + (count - 1) step, which may differ from the file's max in its last bit;
 * Gazebo's messages give min and step, so the rays are where a reader of the message expects them. */
#include "sensor/scan.h"

#include "base/base.h"

#include <stdlib.h>

static struct scan_axis axis_of(const struct sdf_scan *scan)
{
	double numbers = floor(scan->samples * scan->resolution);
	uint32_t count = numbers < 1 ? 1 : (uint32_t)MIN(numbers, (double)SDF_RAYS_MAX);
	return (struct scan_axis){
		count, scan->min_rad, count > 1 ? (scan->max_rad - scan->min_rad) / (count - 1) : 0.0};
}

struct scan_layout scan_layout(const struct sdf_lidar *lidar)
{
	return (struct scan_layout){axis_of(&lidar->horizontal), axis_of(&lidar->vertical)};
}

void scan_directions(const struct scan_layout *layout, struct vec3 *directions)
{
	const struct scan_axis *columns = &layout->columns, *rows = &layout->rows;
	struct turn {
		double sin, cos;
	} *turns = mem_alloc(columns->count * sizeof *turns), up;
	for (uint32_t c = 0; c < columns->count; c++)
		math_sincos(columns->min_rad + c * columns->step_rad, &turns[c].sin, &turns[c].cos);
	for (uint32_t r = 0; r < rows->count; r++) {
		math_sincos(rows->min_rad + r * rows->step_rad, &up.sin, &up.cos);
		for (uint32_t c = 0; c < columns->count; c++)
			*directions++ = (struct vec3){up.cos * turns[c].cos, up.cos * turns[c].sin, up.sin};
	}
	free(turns);
}
