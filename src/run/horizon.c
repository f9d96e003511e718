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

/* The time of step k + steps, as update() has it. */
static uint64_t horizon_ns(const struct primary *primary, uint64_t steps)
{
	const struct troupe_step then = {
		.time_s = primary->even_since_s + (double)(primary->even_steps + steps) * primary->edit.step_s};
	return troupe_random_index(&then);
}

/* The time at which update() of some system may do something, after step k; 0: in each step. What has come for it in
 * this step is not in its words before its secondary has the step. Models come and go with levels after update(). */
static uint64_t horizon_until_systems(const struct primary *primary)
{
	const struct shared *shared = primary->shared;
	const struct systems *systems = shared->systems;
	const uint64_t now_ns = horizon_ns(primary, 0);
	if (!systems->updating)
		return UINT64_MAX;
	if (primary->acted || primary->plan.some_came_or_went)
		return 0;
	for (uint32_t i = 0; i < primary->due.count; i++) {
		const struct system_listener *to = &primary->due.at[i].to;
		if (systems_of(systems, to->model)->at[to->system].self.kind->update)
			return 0;
	}
	uint64_t until_ns = systems_wait_until(systems, SCENE_NONE, shared->state, now_ns);
	for (uint32_t m = 0; m < shared->scene->model_count && until_ns > now_ns; m++)
		if (systems->sets[m].updates && !shared->scene->models[m].absent)
			until_ns = MIN(until_ns, systems_wait_until(systems, m, shared->state, now_ns));
	return until_ns > now_ns ? until_ns : 0;
}

static uint64_t horizon_of_systems(const struct primary *primary, uint64_t most)
{
	uint64_t until_ns = horizon_until_systems(primary), steps = 1;
	if (until_ns == UINT64_MAX)
		return most;
	while (steps < most && horizon_ns(primary, steps) < until_ns)
		steps++;
	return steps;
}

/* Something is due in step k itself, or may be due in each step. */
static bool horizon_is_near(struct primary *primary)
{
	const struct loading *loading = &primary->plan.loading;
	return primary->paused || primary->emptied || primary->triggered.count || primary->wrenches.once.count ||
	       primary->surfaced.count || loading->strays.count;
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

static uint64_t horizon_of_known_commands(struct primary *primary, uint64_t k)
{
	uint64_t step = schedule_next_step(&primary->schedule);
	double timed_s = schedule_next_time(&primary->schedule);
	double now_s = primary_time_s(primary) - primary->options.initial_time_s;
	uint64_t steps = step > k ? step - k : 1;
	return MIN(steps, horizon_steps_before(now_s, timed_s, primary->edit.step_s));
}

/* Commands that are posted from now on are for the first step after the longest window, those posted a moment ago may
 * be for step k + 1. */
static uint64_t horizon_of_commands(struct primary *primary, uint64_t k, uint64_t most)
{
	schedule_open(&primary->schedule, k + most);
	return horizon_of_known_commands(primary, k);
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

/* Whether the origin stays in a range for so long at this speed. */
static bool horizon_stays(double at, double way, double lo, double hi)
{
	return at + way > lo && at + way < hi;
}

/* Where it matters in which step a level is loaded, a window ends about where this is expected to change. */
static uint64_t horizon_of_levels(struct primary *primary, uint64_t most)
{
	const double SURE = 0.95; /* speeds change */
	struct shared *shared = primary->shared;
	const double most_s = (double)most * primary->edit.step_s / SURE;
	double least_s = most_s;
	if (!primary_minds_levels(primary) || primary->plan.pairs.blind)
		return most;
	for (uint32_t p = 0; p < primary->moved.count; p++) { /* the others have no speed */
		const uint32_t i = shared->tracker.performer_of[primary->moved.at[p]];
		if (i == SCENE_NONE || shared->scene->models[primary->moved.at[p]].absent)
			continue;
		const struct tracked *performer = &shared->tracker.performers.at[i];
		if (!shared->scene->models[performer->model].body_count)
			continue;
		const struct vec3 at = state_model_pose(shared->state, performer->model, false).p;
		const struct vec3 v = state_bodies(shared->state, performer->model, false)->v;
		const struct aabb *calm = &performer->calm;
		if (horizon_stays(at.x, v.x * least_s, calm->lo.x, calm->hi.x) &&
			horizon_stays(at.y, v.y * least_s, calm->lo.y, calm->hi.y) &&
			horizon_stays(at.z, v.z * least_s, calm->lo.z, calm->hi.z))
			continue;
		least_s = fmin(least_s, tracker_next_change_s(&shared->tracker, i, at, v, least_s));
	}
	double steps = least_s / primary->edit.step_s * SURE;
	return least_s >= most_s ? most : steps >= 1 ? (uint64_t)steps : 1;
}

/* What is known before the commands of step k are taken. */
static uint64_t horizon_of_all_but_commands(struct primary *primary, uint64_t k, uint64_t most)
{
	if (most <= 1 || horizon_is_near(primary))
		return 1;
	uint64_t steps = horizon_of_systems(primary, MIN(most, horizon_of_limits(primary, k)));
	if (steps <= 1)
		return 1;
	if (primary->options.on_horizon)
		steps = MIN(steps, primary->options.on_horizon(primary->options.ctx, k));
	if (steps > 1)
		steps = MIN(steps, horizon_of_sensors(primary, steps));
	return steps > 1 ? MIN(steps, horizon_of_levels(primary, steps)) : 1;
}

uint64_t primary_horizon(struct primary *primary, uint64_t k, uint64_t most)
{
	uint64_t steps = horizon_of_all_but_commands(primary, k, most);
	return steps > 1 ? MIN(steps, horizon_of_commands(primary, k, steps)) : 1;
}

uint64_t primary_expected_horizon(struct primary *primary, uint64_t k, uint64_t most)
{
	uint64_t steps = horizon_of_all_but_commands(primary, k, most);
	return steps > 1 ? MIN(steps, horizon_of_known_commands(primary, k)) : 1;
}
