/* A body that stands adds nothing, so that a sleeping model's words do not change; when it moves again, a knot tells
 * until when it stood. */
#include "scene/trail.h"

#include <string.h>

#define TRAIL_SAME_S 1e-10 /* times that differ by less are the same */
enum { TRAIL_PARTS = 60 }; /* of a scan: the least distance of three knots */

uint32_t trail_link(const struct scene *scene, uint32_t model, const struct sdf_sensor *sensor)
{
	const struct scene_model *m = &scene->models[model];
	if (m->sdf == SDF_NONE || sensor->link == SDF_NONE)
		return SCENE_NONE;
	const struct sdf_model *from = &m->from->models.at[m->sdf];
	return sensor->link - from->link_first < from->link_count ? m->link_first + (sensor->link - from->link_first)
								  : SCENE_NONE;
}

/* Whether its readings compare with the one before. */
static bool trail_compares(const struct sdf_sensor *sensor)
{
	return sensor->settings->camera_count == 1 && sensor->settings->cameras->truth & SENSOR_FLOW;
}

/* Two pictures may be farther apart than their period by less than a step: there are knots enough for that. */
double trail_span_s(const struct sdf_sensor *sensor)
{
	double before_s = trail_compares(sensor) && sensor->update_rate > 0 ? 1 / sensor->update_rate : 0;
	return sdf_sensor_span_s(sensor->kind, sensor->settings) + before_s;
}

bool trail_is_of(const struct scene *scene, uint32_t model, const struct sdf_sensor *sensor)
{
	uint32_t link = trail_link(scene, model, sensor);
	return link != SCENE_NONE && scene->links[link].body != SCENE_NONE &&
	       (trail_compares(sensor) || sdf_sensor_span_s(sensor->kind, sensor->settings) > 0);
}

static struct trail_knot *trail_last(struct trail *trail, uint64_t before)
{
	return &trail->knots[(trail->count - 1 - before) % TRAIL_KNOTS];
}

static void trail_push(struct trail *trail, double time_s, struct pose pose)
{
	trail->count++;
	*trail_last(trail, 0) = (struct trail_knot){time_s, pose.p, pose.q};
}

void trail_add(
	struct trail *trail, double scan_s, double before_s, struct pose before, double after_s, struct pose after)
{
	if (!trail->count)
		trail_push(trail, before_s, before);
	struct trail_knot *last = trail_last(trail, 0);
	if (!memcmp(&last->p, &after.p, sizeof after.p) && !memcmp(&last->q, &after.q, sizeof after.q))
		return;
	if (last->time_s < before_s - TRAIL_SAME_S)
		trail_push(trail, before_s, (struct pose){last->p, last->q});
	bool close = trail->count > 1 && after_s - trail_last(trail, 1)->time_s <= scan_s / TRAIL_PARTS;
	trail->count -= close;
	trail_push(trail, after_s, after);
}
