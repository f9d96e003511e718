/* The summary of a reading: a few numbers with names, which a program can log or plot. Pictures and lists of objects
 * have none. Pure; any thread. */
#ifndef SENSOR_SUMMARY_H
#define SENSOR_SUMMARY_H

#include "sensor/reading.h"

/* The numbers of a reading, in the order of the columns of its kind (sdf/sensor_kind.h); the rest of the array is NAN.
 * They are the numbers of the reading itself, but
 *   SDF_IMU           an orientation of NAN, if it has none
 *   SDF_CONTACT       contacts: their number; depth m of the deepest, NAN: there is none
 *   SDF_LIDAR, SDF_GPU_LIDAR: range m, the least that is in range; NAN: none is */
void summary_make(
	const struct readings *readings, const struct reading *reading, double numbers[SENSOR_KIND_COLUMNS_MAX]);

#endif
