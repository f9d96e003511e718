/* The firing pattern of a lidar as a file. In each line stand numbers or words with blanks, tabs or commas between
 * them; a '#' begins a comment. The first line says what the others are:
 *
 *   channels COLUMNS [clockwise|anticlockwise]   each line is a laser of a head that turns once in a scan and fires all
 *                                                lasers COLUMNS times, evenly; clockwise if nothing is said. The first
 *                                                column points behind the sensor.
 *   rays                                         each line is a ray
 *
 * A line: ELEVATION_deg AZIMUTH_deg TIME_us [RING], TIME since the beginning of the column, or of the scan; RING is the
 * number of the line if it is not given. The azimuth of a laser is relative to that of its column, and what the head
 * turns until TIME is added.
 *
 * Pure; any thread. */
#ifndef SDF_LIDAR_TABLE_H
#define SDF_LIDAR_TABLE_H

#include "base/arena.h"
#include "sdf/sensor.h"

/* path: for messages, "PATH:LINE: what is wrong: expected ...". The arrays are in the arena. */
troupe_status lidar_table_read(const char *path, const char *text, size_t bytes, double scan_s, struct arena *arena,
	struct sdf_pattern *ret_pattern, struct troupe_error *error);

/* A table of intensities: in each line INTENSITY REPORTED, the first numbers rising. *ret_values: pairs, in the arena.
 */
enum { LIDAR_TABLE_INTENSITIES_MAX = 4096 };
troupe_status lidar_table_read_intensities(const char *path, const char *text, size_t bytes, struct arena *arena,
	const double **ret_values, uint32_t *ret_count, struct troupe_error *error);

#endif
