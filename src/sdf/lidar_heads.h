/* Firing patterns of lidars by the names of their makers, as their data sheets have them.
 *
 * Heads that turn fire all lasers once in each column. Velodyne: columns follow each other with the firing cycle of the
 * data sheet (VLP-16, VLP-32C: 55.296 us, a laser or a pair of lasers each 2.304 us; HDL-64E: 48 us, a pair of the
 * upper and the lower block each 1.5 us, which divides the cycle evenly), and the head turns on between two lasers.
 * Ouster: a given number of columns in each turn, all channels of a column at once; the elevations divide the field of
 * view evenly, and four channels below each other point to four azimuths, which differ from model to model. Rings of
 * Velodyne are numbered from the lowest laser up, those of Ouster from the highest down. These heads turn clockwise,
 * seen from above, and a scan begins and ends behind the sensor. What differs from unit to unit (the maker's
 * calibration) is not in the pattern: a table has it (lidar_table.h).
 *
 * Flat scanners have one laser; their columns are in the order of rising azimuth, as their drivers give them, and their
 * times fall where the head turns clockwise.
 *
 * Livox: the scan is no grid, and differs from scan to scan. The number of points, the lines and the field of view are
 * those of the data sheet. The curves are not published: here an azimuth that turns with 29.53 Hz and an elevation that
 * swings with 107.19 Hz (Mid-360), or two prisms that turn with 7294 and -4664 revolutions per minute (Avia). They
 * begin again after LIDAR_HEADS_SCANS scans.
 *
 * Pure; any thread. */
#ifndef SDF_LIDAR_HEADS_H
#define SDF_LIDAR_HEADS_H

#include "base/arena.h"
#include "sdf/sensor.h"

enum { LIDAR_HEADS_SCANS = 10 };

struct lidar_head; /* a row of the table */

/* NULL: there is no such name. */
const struct lidar_head *lidar_head_find(const char *name);
/* All names, as "VLP-16, VLP-32, ...". */
const char *lidar_head_names(struct arena *arena);
double lidar_head_rate(const struct lidar_head *head); /* Hz, the usual one */
void lidar_head_range(const struct lidar_head *head, double *ret_min_m, double *ret_max_m);
/* Whether the number of columns in a turn can be chosen. */
bool lidar_head_has_columns(const struct lidar_head *head);

/* columns: 0: the usual number. The result has no columns if a scan is too short for one, and more than
 * SDF_RAYS_MAX rays are not made: *ret_rays says how many there would be. The arrays are in the arena. */
struct sdf_pattern lidar_head_pattern(
	const struct lidar_head *head, double scan_s, uint32_t columns, struct arena *arena, double *ret_rays);

#endif
