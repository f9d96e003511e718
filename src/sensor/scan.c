/* The sines and cosines of a row and of all columns are computed once each: a scan of many rows has far more rays than
 * angles. The last angle of a row is min + (count - 1) step, which may differ from the file's max in its last bit;
 * Gazebo's messages give min and step, so the rays are where a reader of the message expects them.
 *
 * A surface that is too near hides those behind it, as in Gazebo: rays begin at the sensor, and not at the least range.
 */
#include "sensor/scan.h"

#include <stdlib.h>

static struct scan_axis scan_axis_of(const struct sdf_scan *scan)
{
	double numbers = floor(scan->samples * scan->resolution);
	uint32_t count = numbers < 1 ? 1 : (uint32_t)MIN(numbers, (double)SDF_RAYS_MAX);
	return (struct scan_axis){
		count, scan->min_rad, count > 1 ? (scan->max_rad - scan->min_rad) / (count - 1) : 0.0};
}

struct scan_layout scan_layout(const struct sdf_lidar *lidar)
{
	return (struct scan_layout){scan_axis_of(&lidar->horizontal), scan_axis_of(&lidar->vertical)};
}

void scan_directions(const struct scan_layout *layout, struct vec3 *directions)
{
	const struct scan_axis *columns = &layout->columns, *rows = &layout->rows;
	struct scan_turn {
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

enum { SCAN_CHUNK = 256 }; /* rays that are cast in one call: they and their hits stay in the cache */

void scan_measure(const struct rays *rays, const struct vec3 *directions, uint32_t count, struct pose sensor,
	const struct sdf_signal *range, uint32_t visibility_mask, double *ranges, double *intensities)
{
	struct ray cast[SCAN_CHUNK];
	struct ray_hit hits[SCAN_CHUNK];
	struct mat3 m = quat_matrix(sensor.q);
	for (uint32_t first = 0; first < count; first += SCAN_CHUNK) {
		uint32_t some = MIN(count - first, (uint32_t)SCAN_CHUNK);
		for (uint32_t i = 0; i < some; i++) {
			struct vec3 d = directions[first + i];
			struct vec3 turned = {m.m[0][0] * d.x + m.m[0][1] * d.y + m.m[0][2] * d.z,
				m.m[1][0] * d.x + m.m[1][1] * d.y + m.m[1][2] * d.z,
				m.m[2][0] * d.x + m.m[2][1] * d.y + m.m[2][2] * d.z};
			cast[i] = (struct ray){sensor.p, turned, 0, fmax(range->max, 0)};
		}
		rays_cast(rays, cast, some, visibility_mask, hits);
		for (uint32_t i = 0; i < some; i++) {
			bool near = hits[i].distance < range->min, hit = hits[i].model != SCENE_NONE && !near;
			ranges[first + i] = near ? (double)-INFINITY : hits[i].distance;
			if (intensities)
				intensities[first + i] = hit ? rays_visual(rays, &hits[i])->laser_retro : 0;
		}
	}
}
