/* Readings: what sensors measured in one step, as one list and one block of bytes behind it.
 *
 * The bytes of a reading are doubles, and after them, for pictures, the picture. Their meaning, by kind:
 *   SDF_IMU           whether it has an orientation; orientation w x y z; angular velocity x y z, rad/s;
 *                     acceleration x y z, m/s2
 *   SDF_MAGNETOMETER  field x y z, T
 *   SDF_ALTIMETER     height above the model's first place m, climb m/s, height of that place m
 *   SDF_AIR_PRESSURE  pressure Pa, variance of its noise
 *   SDF_AIR_SPEED     difference of pressure Pa, temperature K
 *   SDF_FORCE_TORQUE  force x y z N, torque x y z N m
 *   SDF_NAVSAT        latitude deg, longitude deg, altitude m, velocity east north up m/s
 *
 * The digest of a list is the sum, mod 2^64, of a hash of each reading: it does not depend on their order, so it is the
 * same however sensors are distributed, and digests of parts of a run add up to that of the run. */
#ifndef SENSOR_READING_H
#define SENSOR_READING_H

#include "sensor/sensor.h"

struct reading {
	uint64_t id;           /* of the model */
	uint32_t model, index; /* see struct sensor */
	enum sdf_sensor_kind kind;
	int64_t time_ns;
	uint32_t first, count; /* its bytes */
};

struct readings {
	VEC(struct reading) list;
	VEC(double) numbers; /* storage of the bytes: so it is aligned for numbers */
};

void readings_fini(struct readings *readings);
static inline void readings_clear(struct readings *readings)
{
	readings->list.count = readings->numbers.count = 0;
}

/* Adds a reading with room for its bytes, which are zero; the result is valid until the next one is added. */
double *readings_add(
	struct readings *readings, const struct sensor *sensor, uint64_t id, int64_t time_ns, size_t bytes);
static inline const double *readings_numbers(const struct readings *readings, const struct reading *reading)
{
	return readings->numbers.at + reading->first / sizeof(double);
}

/* Appends the readings of another list. */
void readings_append(struct readings *to, const struct readings *from);
/* The reading of that sensor; NULL: there is none. The list must be sorted (readings_sort()). */
const struct reading *readings_find(const struct readings *readings, uint32_t model, uint32_t index);
/* By model, then index. */
void readings_sort(struct readings *readings);

uint64_t readings_digest(const struct readings *readings);

#endif
