/* What a lidar measures: the directions of its rays, and their ranges without noise.
 *
 * Ranges are counted as in Gazebo (gz-sensors, Lidar.cc): row after row, from the lowest angle of <vertical> up, and in
 * each row from the lowest angle of <horizontal>. In the sensor's frame x is ahead and z is up. A row or a column has
 * samples * resolution numbers (rounded down, at least 1); each of them is a ray of its own, where Gazebo interpolates
 * between the rays of a lower resolution.
 *
 * Pure. Thread: any. */
#ifndef SENSOR_SCAN_H
#define SENSOR_SCAN_H

#include "scene/trail.h"
#include "sensor/rays.h"

struct scan_axis {
	uint32_t count;
	double min_rad, step_rad; /* of angle i: min_rad + i step_rad; the last one is the largest; 0 if there is one */
};

struct scan_layout {
	struct scan_axis columns, rows;
};

/* Of a lidar with a pattern: its columns and rows, with the angles of the first ones and the mean differences. */
struct scan_layout scan_layout(const struct sdf_lidar *lidar);

static inline uint32_t scan_count(const struct scan_layout *layout)
{
	return layout->columns.count * layout->rows.count;
}

/* directions[scan_count()]: unit, in the sensor's frame. */
void scan_directions(const struct scan_layout *layout, struct vec3 *directions);
/* directions[pattern->scans * scan_count()]: the same of all scans of a pattern. */
void scan_pattern_directions(const struct sdf_pattern *pattern, struct vec3 *directions);

/* How many returns a ray has. */
static inline uint32_t scan_returns(const struct sdf_lidar *lidar)
{
	return lidar->beam ? lidar->beam->returns : 1;
}

/* The numbers of a reading that follow from the pattern (troupe/reading.h): scan_pattern_count() of them, those of scan
 * `scan` of the pattern. */
uint32_t scan_pattern_count(const struct sdf_pattern *pattern);
void scan_pattern_store(const struct sdf_lidar *lidar, uint32_t scan, double *numbers);

/* One scan, or some rays of one: `count` of the directions. ranges[count], in m: -INFINITY where the first surface is
 * nearer than range->min, INFINITY where there is none up to range->max. intensities[count] (NULL: not wanted): the
 * laser_retro of the visual, 0 where nothing is hit or it is too near. Noise and the resolution of ranges are the
 * caller's (sensor/noise.h), who leaves infinite ranges as they are. sensor: its pose in the world. */
void scan_measure(const struct rays *rays, const struct vec3 *directions, uint32_t count, struct pose sensor,
	const struct sdf_signal *range, uint32_t visibility_mask, double *ranges, double *intensities);

/* --- scans in motion ----------------------------------------------------------------------------------------------
 *
 * A scan of duration T ends at state k; its ray of time t is cast T - t before. Where the sensor was then lies between
 * the two states (knots of its trail) around that time: its position is on the straight line between both positions,
 * and each ray points between the directions that it has in both rotations: unit((1 - f) d0 + f d1), where f is the
 * part of the time between them. What it sees is where rays_cast_swept() says; the model of the sensor moves as one
 * with it, as it is in state k. Ranges are as they come: nothing is corrected. */

struct scan_knot {
	double time_s; /* at most 0: since the end of the scan */
	struct pose pose;
};
enum { SCAN_KNOTS_MAX = TRAIL_KNOTS + 1 };
struct scan_path { /* of a sensor; the times rise, and the last one is 0 */
	uint32_t count;
	struct scan_knot at[SCAN_KNOTS_MAX];
};

/* The path of a sensor that is at `now` at now_s, and whose body is at body_now, by the trail of the body; knots before
 * the scan are left out, but the last one of these. trail: NULL: it stands. in_body: the sensor's pose in the body. */
struct scan_path scan_path_of(const struct trail *trail, double scan_s, double now_s, struct pose body_now,
	struct pose in_body, struct pose now);
/* The pose at a time; the rotation is interpolated like the directions of rays. */
struct pose scan_path_at(const struct scan_path *path, double time_s);

struct scan_job {
	const struct rays *rays;
	const struct vec3 *directions; /* [count] */
	uint32_t first, count;         /* of the rays of the scan */
	const struct sdf_signal *range;
	uint32_t visibility_mask;
	uint32_t model; /* that of the sensor */
	const struct sdf_pattern *pattern;
	const struct troupe_scan_firing *by_column; /* of this scan */
	bool motion;                                /* what it sees moves, too */
};
/* As scan_measure(), for a scan in motion. Where neither the sensor nor any visual moves the bits are the same. */
void scan_measure_moving(const struct scan_job *job, const struct scan_path *path, double *ranges, double *intensities);

#endif
