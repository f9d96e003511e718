/* The horizon of a window: how many steps may be taken before something from outside of the models is due. Each source
 * names its next step in advance, and the least counts. A source that may act in every step, or looks at the whole
 * world in every step, makes each step a window of its own. */
#include "run/primary_internal.h"

#include <math.h>

/* Steps that end before this time; time_s: of state k. */
static uint64_t horizon_steps_before(double time_s, double until_s, double step_s)
{
	double steps = ceil((until_s - time_s) / step_s - 1e-6);
	return steps >= 1e18 ? UINT64_MAX : steps >= 1 ? (uint64_t)steps : 1;
}

/* Something is due in step k itself, or may be due in each step. */
static bool horizon_is_near(struct primary *primary)
{
	const struct loading *loading = &primary->plan.loading;
	const struct shared *shared = primary->shared;
	return primary->paused || primary->emptied || shared->systems->updating || primary->triggered.count ||
	       primary->wrenches.once.count || primary->wrenches.lasting.count || primary->surfaced.count ||
	       loading->strays.count || primary_observes(primary);
}

static uint64_t horizon_of_limits(const struct primary *primary, uint64_t k)
{
	const struct primary_options *o = &primary->options;
	const double now_s = primary_time_s(primary), step_s = primary->edit.step_s;
	uint64_t steps = UINT64_MAX;
	if (o->iterations)
		steps = o->iterations > k ? o->iterations - k : 1;
	if (o->until_s > 0)
		steps = MIN(steps, horizon_steps_before(now_s, o->until_s, step_s));
	if (primary->multi_steps)
		steps = MIN(steps, primary->multi_steps);
	if (primary->run_to_s > 0)
		steps = MIN(steps, horizon_steps_before(now_s, primary->run_to_s, step_s));
	return steps;
}

/* Commands that are posted from now on are for the first step after the longest window, those posted a moment ago may
 * be for step k + 1. */
static uint64_t horizon_of_commands(struct primary *primary, uint64_t k, uint64_t most)
{
	schedule_open(&primary->schedule, k + most);
	uint64_t step = schedule_next_step(&primary->schedule);
	double timed_s = schedule_next_time(&primary->schedule);
	double now_s = primary_time_s(primary) - primary->options.initial_time_s;
	uint64_t steps = step > k ? step - k : 1;
	return MIN(steps, horizon_steps_before(now_s, timed_s, primary->edit.step_s));
}

/* A step in which a sensor measures, before or after it, is taken alone. */
static uint64_t horizon_of_sensors(struct primary *primary, uint64_t most)
{
	const double since_s = primary->even_since_s, step_s = primary->edit.step_s;
	struct sensors *sensors = primary_sensors(primary);
	int64_t now_ns = sensor_time_ns(primary_time_s(primary));
	int64_t next_ns = sensors_next_ns(sensors, MIN(primary->seen_ns, now_ns - 1));
	uint64_t steps = 1;
	if (next_ns == INT64_MAX)
		return most;
	while (steps < most && sensor_time_ns(since_s + (double)(primary->even_steps + steps + 1) * step_s) < next_ns)
		steps++;
	return steps;
}

/* The time after which a coordinate leaves its range at this speed. A performer that stands at a border stays there,
 * unless it turns out that it does not. */
static double horizon_leaves_after_s(double at, double speed, double lo, double hi)
{
	const double STANDS_M_S = 1e-6;
	return speed > STANDS_M_S    ? fmax(hi - at, 0) / speed
	       : speed < -STANDS_M_S ? fmax(at - lo, 0) / -speed
				     : (double)INFINITY;
}

/* Where it matters in which step a level is loaded, a window ends about where the first performer is expected to
 * come near a level or to leave it. */
static uint64_t horizon_of_levels(struct primary *primary, uint64_t most)
{
	const double SURE = 0.95; /* speeds change */
	const struct shared *shared = primary->shared;
	double least_s = INFINITY;
	if (!primary_minds_levels(primary) || primary->plan.pairs.blind)
		return most;
	for (uint32_t i = 0; i < shared->tracker.performers.count; i++) {
		const struct tracked *performer = &shared->tracker.performers.at[i];
		const struct scene_model *m = &shared->scene->models[performer->model];
		if (m->absent || !m->body_count)
			continue;
		const struct vec3 at = state_model_pose(shared->state, performer->model, false).p;
		const struct vec3 v = state_bodies(shared->state, performer->model, false)->v;
		const struct aabb *calm = &performer->calm;
		least_s = fmin(least_s, horizon_leaves_after_s(at.x, v.x, calm->lo.x, calm->hi.x));
		least_s = fmin(least_s, horizon_leaves_after_s(at.y, v.y, calm->lo.y, calm->hi.y));
		least_s = fmin(least_s, horizon_leaves_after_s(at.z, v.z, calm->lo.z, calm->hi.z));
	}
	double steps = least_s / primary->edit.step_s * SURE;
	return steps >= (double)most ? most : steps >= 1 ? (uint64_t)steps : 1;
}

uint64_t primary_horizon(struct primary *primary, uint64_t k, uint64_t most)
{
	if (most <= 1 || horizon_is_near(primary))
		return 1;
	uint64_t steps = MIN(most, horizon_of_limits(primary, k));
	if (primary->options.on_horizon)
		steps = MIN(steps, primary->options.on_horizon(primary->options.ctx, k));
	if (steps > 1)
		steps = MIN(steps, horizon_of_sensors(primary, steps));
	if (steps > 1)
		steps = MIN(steps, horizon_of_levels(primary, steps));
	return steps > 1 ? MIN(steps, horizon_of_commands(primary, k, steps)) : 1;
}
