/* The sines and cosines of a row and of all columns are computed once each: a scan of many rows has far more rays than
 * angles. The last angle of a row is min + (count - 1) step, which may differ from the file's max in its last bit;
 * Gazebo's messages give min and step, so the rays are where a reader of the message expects them.
 *
 * A surface that is too near hides those behind it, as in Gazebo: rays begin at the sensor, and not at the least range.
 */
#include "sensor/scan.h"

#include <stdlib.h>
#include <string.h>

static struct scan_axis scan_axis_of(const struct sdf_scan *scan)
{
	return (struct scan_axis){sdf_scan_count(scan), scan->min_rad, sdf_scan_step(scan)};
}

static struct scan_axis scan_axis_between(uint32_t count, double first_rad, double last_rad)
{
	return (struct scan_axis){count, first_rad, count > 1 ? (last_rad - first_rad) / (count - 1) : 0.0};
}

static struct scan_layout scan_pattern_layout(const struct sdf_pattern *pattern)
{
	uint32_t columns = pattern->columns, rows = pattern->rows;
	return (struct scan_layout){scan_axis_between(columns, pattern->by_column[0].azimuth_rad,
					    pattern->by_column[columns - 1].azimuth_rad),
		scan_axis_between(rows, pattern->by_row[0].elevation_rad, pattern->by_row[rows - 1].elevation_rad)};
}

struct scan_layout scan_layout(const struct sdf_lidar *lidar)
{
	if (lidar->pattern)
		return scan_pattern_layout(lidar->pattern);
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

void scan_pattern_directions(const struct sdf_pattern *pattern, struct vec3 *directions)
{
	for (uint32_t s = 0; s < pattern->scans; s++)
		for (uint32_t r = 0; r < pattern->rows; r++)
			for (uint32_t c = 0; c < pattern->columns; c++) {
				const struct troupe_scan_firing *column = &pattern->by_column[s * pattern->columns + c],
								*row = &pattern->by_row[r];
				double sin, cos, up_sin, up_cos;
				math_sincos(column->azimuth_rad + row->azimuth_rad, &sin, &cos);
				math_sincos(column->elevation_rad + row->elevation_rad, &up_sin, &up_cos);
				*directions++ = (struct vec3){up_cos * cos, up_cos * sin, up_sin};
			}
}

uint32_t scan_pattern_count(const struct sdf_pattern *pattern)
{
	enum {
		HEAD = sizeof(struct troupe_scan_firings) / sizeof(double),
		EACH = sizeof(struct troupe_scan_firing) / sizeof(double)
	};
	return HEAD + EACH * (pattern->columns + pattern->rows);
}

void scan_pattern_store(const struct sdf_lidar *lidar, uint32_t scan, double *numbers)
{
	const struct sdf_pattern *pattern = lidar->pattern;
	struct troupe_scan_firings *head = (struct troupe_scan_firings *)(void *)numbers;
	struct troupe_scan_firing *to = (struct troupe_scan_firing *)(void *)(head + 1);
	*head = (struct troupe_scan_firings){.scan_s = pattern->scan_s, .scan = scan, .at_start = lidar->stamp_start};
	memcpy(to, pattern->by_column + (size_t)scan * pattern->columns, pattern->columns * sizeof *to);
	memcpy(to + pattern->columns, pattern->by_row, pattern->rows * sizeof *to);
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
