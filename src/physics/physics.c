#include "physics/internal.h"

#include <stdlib.h>
#include <string.h>

struct physics *physics_create(const struct scene *scene, struct state *state, const struct control *control,
	const struct physics_options *options)
{
	physics_thread_begin();
	struct physics *physics = mem_alloc(sizeof *physics);
	physics->scene = scene;
	physics->state = state;
	physics->control = control;
	physics->options = *options;
	if (!physics->options.exact_rows_max)
		physics->options.exact_rows_max = PHYSICS_EXACT_ROWS;
	physics->instances = mem_alloc(scene->model_count * sizeof *physics->instances);
	physics->present = mem_alloc(scene->model_count * sizeof *physics->present);
	physics->statics = mem_alloc(scene->geom_count * sizeof *physics->statics);
	physics->set = mem_alloc(scene->model_count * sizeof *physics->set);
	physics->place = mem_alloc(scene->model_count * sizeof *physics->place);
	physics->island = mem_alloc(scene->body_count * sizeof *physics->island);
	physics->island_rows = mem_alloc(scene->body_count * sizeof *physics->island_rows);
	physics->memory = dWorldCreate();
	return physics;
}

static void free_ode(struct physics *physics)
{
	while (physics->taken.count)
		physics_release(physics, physics->taken.at[physics->taken.count - 1]);
	for (uint32_t g = 0; g < physics->groups.count; g++)
		group_fini(&physics->groups.at[g]);
	for (uint32_t g = 0; g < physics->scene->geom_count; g++)
		if (physics->statics[g].geom)
			dGeomDestroy(physics->statics[g].geom);
	dWorldDestroy(physics->memory);
}

void physics_destroy(struct physics *physics)
{
	if (!physics)
		return;
	if (!physics->gave_up)
		free_ode(physics);
	vec_free(&physics->taken);
	vec_free(&physics->groups);
	vec_free(&physics->free_groups);
	vec_free(&physics->pairs);
	vec_free(&physics->grouped);
	vec_free(&physics->contact_pairs);
	vec_free(&physics->sort_space);
	vec_free(&physics->order);
	free(physics->instances);
	free(physics->present);
	free(physics->statics);
	collide_space_fini(&physics->collide);
	free(physics->set);
	free(physics->place);
	free(physics->island);
	free(physics->island_rows);
	free(physics);
}

void physics_take(struct physics *physics, uint32_t model)
{
	if (!physics->scene->models[model].body_count || physics->instances[model])
		return;
	physics->instances[model] = instance_create(physics, model);
	indices_add(&physics->taken, model);
	physics->regroup = true;
}

void physics_release(struct physics *physics, uint32_t model)
{
	if (!physics->instances[model])
		return;
	group_remove(physics, model);
	instance_destroy(physics, physics->instances[model]);
	physics->instances[model] = NULL;
	indices_remove(&physics->taken, model);
	physics->regroup = true;
}

const indices *physics_taken(const struct physics *physics)
{
	return &physics->taken;
}

static void free_static_geoms(struct physics *physics, const struct scene_model *model)
{
	for (uint32_t g = model->geom_first; g < model->geom_first + model->geom_count; g++) {
		if (physics->statics[g].geom)
			dGeomDestroy(physics->statics[g].geom);
		physics->statics[g].geom = 0;
	}
}

void physics_set_statics(struct physics *physics, const bool *present)
{
	for (uint32_t m = 0; m < physics->scene->model_count; m++) {
		if (present[m] == physics->present[m])
			continue;
		physics->present[m] = present[m];
		if (!present[m])
			free_static_geoms(physics, &physics->scene->models[m]);
	}
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->instances[physics->taken.at[i]]->statics_known = false;
}

void physics_state_changed(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		struct instance *instance = physics->instances[physics->taken.at[i]];
		instance->boxes_known = false;
		instance->statics_known = false;
	}
}

/* --- the step --------------------------------------------------------------------------------------------------- */

static void load(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		struct instance *instance = physics->instances[physics->taken.at[i]];
		if (!instance->boxes_known)
			instance_measure(physics, instance, false);
		instance_load(physics, instance);
	}
}

static void control_joints(struct physics *physics, double dt)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		struct instance *instance = physics->instances[physics->taken.at[i]];
		const struct scene_model *m = &physics->scene->models[instance->model];
		for (uint32_t j = 0; j < m->joint_count; j++)
			joint_control(physics, m->joint_first + j, instance->joints[j], &instance->settings[j], dt);
	}
}

static void step_groups(struct physics *physics, double dt)
{
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		struct group *group = &physics->groups.at[g];
		if (!group->members.count)
			continue;
		physics->stepping = g;
		for (uint32_t i = 0; i < group->world_joints.count; i++)
			joint_control(physics, group->world_joints.at[i].index, group->world_joints.at[i].id,
				&group->world_joints.at[i].setting, dt);
		solver_begin(physics, group);
		contact_make(physics, group, dt);
		solver_step(physics, group, dt);
		dJointGroupEmpty(group->contacts);
		for (uint32_t i = 0; i < group->world_joints.count; i++)
			joint_store(physics, group->world_joints.at[i].index, group->world_joints.at[i].id);
	}
}

struct step_call {
	struct physics *physics;
	const struct physics_pair *pairs;
	uint32_t pair_count;
	double dt;
};

static void step_under_guard(void *ctx)
{
	struct step_call *call = ctx;
	group_update(call->physics, call->pairs, call->pair_count);
	load(call->physics);
	control_joints(call->physics, call->dt);
	step_groups(call->physics, call->dt);
}

static troupe_status store(struct physics *physics, struct aabb_line *ret_boxes, struct troupe_error *error)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		struct instance *instance = physics->instances[physics->taken.at[i]];
		if (!instance_store(physics, instance))
			return fail(error, TROUPE_EDIVERGED,
				"model '%s' diverged: its position or velocity is not finite or beyond %g m, %g m/s, "
				"%g rad/s",
				physics->scene->models[instance->model].name, PHYSICS_POSITION_MAX,
				PHYSICS_VELOCITY_MAX, PHYSICS_SPIN_MAX);
		instance_measure(physics, instance, true);
		ret_boxes[instance->model].box = instance->box;
	}
	return TROUPE_OK;
}

static const char *first_name(const struct physics *physics)
{
	const struct group *group =
		physics->stepping < physics->groups.count ? &physics->groups.at[physics->stepping] : NULL;
	return group && group->members.count ? physics->scene->models[group->members.at[0]].name : "?";
}

troupe_status physics_step(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt,
	struct aabb_line *ret_boxes, struct troupe_error *error)
{
	physics->step++;
	ode_set_random_broken(physics->options.rule == PHYSICS_BREAK_RANDOM);
	struct step_call call = {physics, pairs, pair_count, dt};
	char message[200];
	if (!ode_guard(step_under_guard, &call, message, sizeof message)) {
		physics->gave_up = true;
		return fail(error, TROUPE_EDIVERGED,
			"model '%s', or what touches it, diverged: the physics gave up: %s", first_name(physics),
			message);
	}
	return store(physics, ret_boxes, error);
}

struct physics_stats physics_stats(const struct physics *physics)
{
	struct physics_stats stats = physics->stats;
	stats.groups = physics->groups.count - physics->free_groups.count;
	return stats;
}
