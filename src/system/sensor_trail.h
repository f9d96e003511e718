/* The system that keeps the trail of a sensor (scene/trail.h). It has no plug-in in the file. */
#ifndef SYSTEM_SENSOR_TRAIL_H
#define SYSTEM_SENSOR_TRAIL_H

#include "system/system.h"

extern const struct troupe_kind sensor_trail_kind;

/* Makes the system the one of this sensor, for which trail_is_of() is true. */
void sensor_trail_configure(struct system *system, const struct sdf_sensor *sensor, struct arena *arena);

#endif
