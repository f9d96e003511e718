/* The system that keeps the trail of a lidar or a camera that measures while it moves (scene/trail.h). It has no
 * plug-in in the file. */
#ifndef SYSTEM_LIDAR_TRAIL_H
#define SYSTEM_LIDAR_TRAIL_H

#include "system/system.h"

extern const struct troupe_kind lidar_trail_kind;

/* Makes the system the one of this sensor, for which trail_is_of() is true. */
void lidar_trail_configure(struct system *system, const struct sdf_sensor *sensor, struct arena *arena);

#endif
