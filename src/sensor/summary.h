/* The summary of a reading: a few numbers with names, which a program can log or plot. Pictures and lists of objects
 * have none. Pure; any thread. */
#ifndef SENSOR_SUMMARY_H
#define SENSOR_SUMMARY_H

#include "sensor/reading.h"

enum { SUMMARY_MAX = 10 };

/* Their names, of this kind of sensor: constants. Returns how many there are, at most SUMMARY_MAX.
 *   SDF_IMU           qw qx qy qz (NAN: it has no orientation), wx wy wz rad/s, ax ay az m/s2
 *   SDF_MAGNETOMETER  bx by bz T
 *   SDF_ALTIMETER     z m, above its first place; vz m/s
 *   SDF_AIR_PRESSURE  pressure Pa
 *   SDF_AIR_SPEED     pressure Pa, temperature K
 *   SDF_NAVSAT        latitude longitude deg, altitude m, vx vy vz m/s to east, north and up
 *   SDF_FORCE_TORQUE  fx fy fz N, tx ty tz N m
 *   SDF_CONTACT       contacts: their number; depth m of the deepest, NAN: there is none
 *   SDF_LIDAR, SDF_GPU_LIDAR: range m, the least that is in range; NAN: none is */
uint32_t summary_names(enum sdf_sensor_kind kind, const char *const **ret_names);

/* The numbers of a reading, in the order of their names; the rest of the array is NAN. */
void summary_make(const struct readings *readings, const struct reading *reading, double numbers[SUMMARY_MAX]);

#endif
