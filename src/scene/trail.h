/* Where the body of a lidar or a camera was in the last moments: a lidar with <troupe:motion>, and a camera with
 * <troupe:readout_time> or <troupe:exposure_time>, measures while it moves, a camera with flow (<troupe:truth>)
 * compares with its reading before, and a reading at state k needs the poses of the steps before. They are words of the
 * model's state, so they move, are saved, reset and resumed with the model, and a reading is a function of state k.
 * They are written in each step, whether the sensor measures or not, because states do not depend on subscribers.
 *
 * The trails of a model are the first words of its systems, one for each such sensor on a link that has a body, in
 * file order. A knot is a pose of the body at one time; between two knots poses are
 * interpolated (sensor/scan.h). Before the first knot it stood, and since the last knot it stands. Knots are as close
 * as steps, or a sixtieth of its span apart if steps are closer; so TRAIL_KNOTS knots are longer than that. The span is
 * the duration of a reading, and of a camera with flow the time between two more.
 *
 * Pure. Thread: that which may read or write the words. */
#ifndef SCENE_TRAIL_H
#define SCENE_TRAIL_H

#include "scene/scene.h"

enum { TRAIL_KNOTS = 128 };

struct trail_knot {
	double time_s;
	struct vec3 p;
	struct quat q;
};

struct trail {
	uint64_t count; /* of knots so far: knot i is at place i % TRAIL_KNOTS */
	struct trail_knot knots[TRAIL_KNOTS];
};

enum { TRAIL_WORDS = sizeof(struct trail) / 8 };

/* Whether the sensor of the model has a trail. */
bool trail_is_of(const struct scene *scene, uint32_t model, const struct sdf_sensor *sensor);
double trail_span_s(const struct sdf_sensor *sensor);
/* The link of the scene on which the sensor is; SCENE_NONE: none. */
uint32_t trail_link(const struct scene *scene, uint32_t model, const struct sdf_sensor *sensor);

/* Adds a step of the body, from `before` at before_s to `after` at after_s. scan_s: duration of a reading. */
void trail_add(
	struct trail *trail, double scan_s, double before_s, struct pose before, double after_s, struct pose after);

/* How many knots there are, and the i-th of these, from the oldest. */
static inline uint32_t trail_count(const struct trail *trail)
{
	return (uint32_t)MIN(trail->count, (uint64_t)TRAIL_KNOTS);
}
static inline const struct trail_knot *trail_at(const struct trail *trail, uint32_t i)
{
	return &trail->knots[(trail->count - trail_count(trail) + i) % TRAIL_KNOTS];
}

#endif
