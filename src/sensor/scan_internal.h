/* What the files of scans share: rays in batches, aimed from where the sensor is when each is fired. Thread: any. */
#ifndef SENSOR_SCAN_INTERNAL_H
#define SENSOR_SCAN_INTERNAL_H

#include "sensor/scan.h"

enum { SCAN_CHUNK = 256 };    /* rays that are cast in one call: they and their hits stay in the cache */
enum { SCAN_CONES_MAX = 64 }; /* visuals of an own model that are told apart */

struct scan_leg { /* between two knots: what turns and shifts rays is begin + f change */
	double begin_s, end_s, base_s, per_s;
	struct vec3 at, by;
	struct mat3 turn, turn_by;
	bool small; /* the rotation is by at most SCAN_SMALL_RAD */
};

struct scan_own {       /* the visuals of the sensor's own model, in the frame of the sensor */
	uint32_t count; /* SCENE_NONE: all rays may meet them */
	struct rays_cone cones[SCAN_CONES_MAX];
};

struct scan_batch { /* rays that are cast in one call */
	struct ray cast[SCAN_CHUNK], own[SCAN_CHUNK];
	bool near[SCAN_CHUNK]; /* by eight rays */
	double ago_s[SCAN_CHUNK];
	struct ray_hit hits[SCAN_CHUNK];
};

struct scan_caster {
	const struct scan_job *job;
	const struct scan_path *path;
	struct pose now;
	bool moves; /* the sensor does */
	bool swept; /* it does, or what it sees */
	struct scan_leg leg;
	struct scan_own own;
};

struct scan_caster scan_caster_of(const struct scan_job *job, const struct scan_path *path);
/* Fills in the rays (cast; own and near if the sensor moves) and times of `some` rays with these directions, the first
 * of which is ray `from` of the job. */
void scan_caster_aim(struct scan_caster *caster, const struct vec3 *directions, uint32_t from, uint32_t some,
	struct scan_batch *batch);
/* Fills in their hits. */
void scan_caster_cast(const struct scan_caster *caster, uint32_t some, struct scan_batch *batch);

#endif
