/* ODE worlds that take several steps at once, while the others wait. It may be done with an ODE world in
 * which no model is near another one and none can fall asleep meanwhile. So nothing that is decided for all models in a
 * step, which are awake and which share a group, can come out differently for them. Models that have come apart share
 * their group for a while, until a step of the window, perhaps, in which it is dissolved: they do not go ahead. */
#include "physics/internal.h"

static bool ahead_can_sleep(const struct physics *physics, uint32_t model, uint32_t steps)
{
	uint64_t still = *state_still(physics->state, model, false);
	return !physics->options.sleepless && physics->scene->models[model].may_sleep &&
	       still + steps >= physics_sleep_steps(physics->dt);
}

bool physics_may_fall_asleep(const struct physics *physics)
{
	bool may = false;
	for (uint32_t i = 0; i < physics->awake.count && !may; i++)
		may = !physics->goes_ahead[physics->awake.at[i]] && ahead_can_sleep(physics, physics->awake.at[i], 1);
	return may;
}

static bool ahead_may_group(const struct physics *physics, const struct group *group, uint32_t steps)
{
	bool may = group->members.count == 1 && !group->attachments.count && !group->world_joints.count;
	for (uint32_t i = 0; i < group->members.count && may; i++) {
		uint32_t model = group->members.at[i];
		may = !physics->instances[model]->is_near && !ahead_can_sleep(physics, model, steps);
	}
	return may;
}

static bool ahead_may(const struct physics *physics, const struct ode_world *ode_world, uint32_t steps)
{
	bool may = true;
	for (uint32_t i = 0; i < ode_world->groups.count && may; i++)
		may = ahead_may_group(physics, &physics->groups.at[ode_world->groups.at[i]], steps);
	return may;
}

static void ahead_mark(struct physics *physics, uint32_t index, bool ahead)
{
	struct ode_world *ode_world = &physics->ode_worlds.at[index];
	ode_world->ahead = ahead;
	for (uint32_t i = 0; i < ode_world->groups.count; i++) {
		const struct group *group = &physics->groups.at[ode_world->groups.at[i]];
		for (uint32_t m = 0; m < group->members.count; m++) {
			physics->goes_ahead[group->members.at[m]] = ahead;
			if (ahead)
				vec_push(&physics->ahead_models, group->members.at[m]);
		}
	}
}

uint32_t physics_find_ahead(
	struct physics *physics, uint32_t steps, const struct physics_pair *near, uint32_t near_count)
{
	physics->ahead.count = physics->ahead_models.count = physics->ahead_first.count = 0;
	for (uint32_t i = 0; i < near_count; i++)
		physics->instances[near[i].a]->is_near = physics->instances[near[i].b]->is_near = true;
	for (uint32_t i = 0; i < physics->busy_ode_worlds.count; i++) {
		uint32_t index = physics->busy_ode_worlds.at[i];
		if (!ahead_may(physics, &physics->ode_worlds.at[index], steps))
			continue;
		vec_push(&physics->ahead, index);
		vec_push(&physics->ahead_first, physics->ahead_models.count);
		ahead_mark(physics, index, true);
	}
	vec_push(&physics->ahead_first, physics->ahead_models.count);
	for (uint32_t i = 0; i < near_count; i++)
		physics->instances[near[i].a]->is_near = physics->instances[near[i].b]->is_near = false;
	return physics->ahead.count;
}

const uint32_t *physics_ahead_models(const struct physics *physics, uint32_t at, uint32_t *ret_count)
{
	*ret_count = physics->ahead_first.at[at + 1] - physics->ahead_first.at[at];
	return physics->ahead_models.at + physics->ahead_first.at[at];
}

bool physics_is_ahead(const struct physics *physics, uint32_t model)
{
	return physics->goes_ahead[model];
}

void physics_disturb_ahead(struct physics *physics, uint32_t model)
{
	physics->instances[model]->disturbed = true;
}

void physics_end_ahead(struct physics *physics, uint32_t at, struct aabb_line *ret_boxes)
{
	uint32_t count;
	const uint32_t *models = physics_ahead_models(physics, at, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct instance *instance = physics->instances[models[i]];
		instance->disturbed = false;
		ret_boxes[models[i]].box = instance->box;
	}
}

void physics_close_ahead(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->ahead.count; i++)
		ahead_mark(physics, physics->ahead.at[i], false);
	physics->ahead.count = physics->ahead_models.count = physics->ahead_first.count = 0;
}
