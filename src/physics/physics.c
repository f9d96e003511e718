#include "physics/internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define FIT(array, before, now) (array) = mem_grow(array, (before) * sizeof *(array), (now) * sizeof *(array))

/* The scene may have room for more than before. */
static void fit(struct physics *physics)
{
	const struct scene_room *before = &physics->room, *now = &physics->scene->room;
	FIT(physics->instances, before->models, now->models);
	FIT(physics->present, before->models, now->models);
	FIT(physics->statics, before->geoms, now->geoms);
	FIT(physics->island, before->bodies, now->bodies);
	FIT(physics->island_rows, before->bodies, now->bodies);
	FIT(physics->island_lost, before->bodies, now->bodies);
	surfaces_fit(&physics->surfaces, physics->scene->surfaces.count);
	physics->room = *now;
}

void physics_world_changed(struct physics *physics)
{
	const struct vec3 g = physics->scene->gravity;
	fit(physics);
	if (!memcmp(&g, &physics->gravity, sizeof g))
		return;
	physics->gravity = g;
	for (uint32_t i = 0; i < physics->groups.count; i++)
		dWorldSetGravity(physics->groups.at[i].world, g.x, g.y, g.z);
}

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
	physics->gravity = scene->gravity;
	fit(physics);
	physics->memory = dWorldCreate();
	physics->contacts = dJointGroupCreate(0);
	return physics;
}

static void free_ode(struct physics *physics)
{
	while (physics->taken.count)
		physics_release(physics, physics->taken.at[physics->taken.count - 1]);
	for (uint32_t g = 0; g < physics->groups.count; g++)
		group_fini(&physics->groups.at[g]);
	for (uint32_t g = 0; g < physics->room.geoms; g++)
		if (physics->statics[g].geom)
			dGeomDestroy(physics->statics[g].geom);
	dJointGroupDestroy(physics->contacts);
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
	vec_free(&physics->busy_groups);
	vec_free(&physics->pairs);
	vec_free(&physics->grouped);
	vec_free(&physics->contact_pairs);
	vec_free(&physics->sort_space);
	vec_free(&physics->joins);
	vec_free(&physics->awake);
	vec_free(&physics->awake_pairs);
	vec_free(&physics->set_sleeps);
	vec_free(&physics->disturbed);
	vec_free(&physics->rested);
	sets_fini(&physics->touching);
	sets_fini(&physics->grouping);
	free(physics->instances);
	free(physics->present);
	free(physics->statics);
	collide_space_fini(&physics->collide);
	surfaces_fini(&physics->surfaces);
	free(physics->island);
	free(physics->island_rows);
	free(physics->island_lost);
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
	indices_remove(&physics->awake, model);
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

void physics_set_statics(struct physics *physics, const uint32_t *present)
{
	for (uint32_t m = 0; m < physics->scene->model_count; m++) {
		if (present[m] == physics->present[m])
			continue;
		free_static_geoms(physics, &physics->scene->models[m]);
		physics->present[m] = present[m];
	}
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->instances[physics->taken.at[i]]->statics_known = false;
}

const indices *physics_awake(const struct physics *physics)
{
	return &physics->awake;
}

bool physics_sleeps(const struct physics *physics, uint32_t model)
{
	return physics->instances[model] && physics->instances[model]->asleep;
}

const indices *physics_all_rested(const struct physics *physics)
{
	return &physics->rested;
}

bool physics_rested(const struct physics *physics, uint32_t model)
{
	return indices_has(&physics->rested, model);
}

void physics_disturb(struct physics *physics, uint32_t model)
{
	struct instance *instance = physics->instances[model];
	if (!instance || instance->disturbed)
		return;
	instance->disturbed = true;
	vec_push(&physics->disturbed, model);
}

void physics_state_changed(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		struct instance *instance = physics->instances[physics->taken.at[i]];
		instance->boxes_known = false;
		instance->statics_known = false;
	}
	physics->regroup = true; /* who sleeps is decided anew */
}

/* --- the step --------------------------------------------------------------------------------------------------- */

static void load(struct physics *physics, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		if (!instance->boxes_known)
			instance_measure(physics, instance, false);
		instance->touched = false;
		instance_load(physics, instance);
	}
}

static void control_joints(struct physics *physics, struct group *group, double dt)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		const struct scene_model *m = &physics->scene->models[instance->model];
		for (uint32_t j = 0; j < m->joint_count; j++)
			joint_control(physics, m->joint_first + j, instance->joints[j], &instance->settings[j], dt);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		joint_control(physics, group->world_joints.at[i].index, group->world_joints.at[i].id,
			&group->world_joints.at[i].setting, dt);
}

/* ODE's objects hold state k, and what acts on it. */
static void begin_group(struct physics *physics, struct group *group, double dt, bool again)
{
	load(physics, group);
	control_joints(physics, group, dt);
	solver_begin(physics, group, again);
	contact_make(physics, group, dt);
}

static void step_group(struct physics *physics, struct group *group, double dt)
{
	begin_group(physics, group, dt, false);
	bool good = solver_step(physics, group, dt);
	dJointGroupEmpty(physics->contacts);
	if (good)
		return;
	begin_group(physics, group, dt, true);
	solver_find_lost(physics, group, dt);
	dJointGroupEmpty(physics->contacts);
	begin_group(physics, group, dt, true);
	(void)solver_step(physics, group, dt);
	dJointGroupEmpty(physics->contacts);
}

static bool holds(const struct scene_joint *joint, const struct instance *a, const struct instance *b)
{
	return joint->kind != SDF_GEARBOX && (!a || !b || a->held || a->touched || b->held || b->touched);
}

/* Who is the end of a joint; NULL: the world. */
static struct instance *end_of(const struct physics *physics, uint32_t body)
{
	return body == SCENE_NONE ? NULL : physics->instances[physics->scene->bodies[body].model];
}

/* A joint of the world's own holds a model as a contact would, when its other end is the world or is itself held. */
static void note_held(struct physics *physics, const struct group *group)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < group->world_joints.count; i++) {
			const struct scene_joint *joint = &physics->scene->joints[group->world_joints.at[i].index];
			struct instance *a = end_of(physics, joint->parent), *b = end_of(physics, joint->child);
			if (!holds(joint, a, b))
				continue;
			changed = changed || (a && !a->touched) || (b && !b->touched);
			if (a)
				a->touched = true;
			if (b)
				b->touched = true;
		}
	}
}

static void note_time(struct physics *physics, const struct group *group, uint64_t ns)
{
	for (uint32_t i = 0; i < group->members.count; i++)
		physics->instances[group->members.at[i]]->measured_ns =
			(uint32_t)MIN(ns / group->members.count, UINT32_MAX);
}

static void store_group(struct physics *physics, struct group *group, double dt)
{
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		joint_store(physics, group->world_joints.at[i].index, group->world_joints.at[i].id);
	note_held(physics, group);
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		if (!instance_store(physics, instance)) {
			physics->diverged = MIN(physics->diverged, instance->model);
			continue;
		}
		sleep_count(physics, instance, dt);
		instance_measure(physics, instance, true);
	}
}

/* Group by group, storing included: what ODE has of a group is still in the cache then. */
static void step_groups(struct physics *physics, double dt)
{
	physics->diverged = SCENE_NONE;
	for (uint32_t g = 0; g < physics->busy_groups.count; g++) {
		struct group *group = &physics->groups.at[physics->busy_groups.at[g]];
		physics->stepping = physics->busy_groups.at[g];
		uint64_t begin_ns = physics->timed ? clock_now_ns() : 0;
		step_group(physics, group, dt);
		store_group(physics, group, dt);
		if (physics->timed)
			note_time(physics, group, clock_now_ns() - begin_ns);
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
	sleep_update(call->physics, call->pairs, call->pair_count, call->dt);
	group_update(call->physics);
	step_groups(call->physics, call->dt);
}

static troupe_status report(const struct physics *physics, struct aabb_line *ret_boxes, struct troupe_error *error)
{
	if (physics->diverged != SCENE_NONE)
		return fail(error, TROUPE_EDIVERGED,
			"model '%s' diverged: its position or velocity is not finite or beyond %g m, %g m/s, %g rad/s",
			physics->scene->models[physics->diverged].name, PHYSICS_POSITION_MAX, PHYSICS_VELOCITY_MAX,
			PHYSICS_SPIN_MAX);
	for (uint32_t i = 0; i < physics->awake.count; i++)
		ret_boxes[physics->awake.at[i]].box = physics->instances[physics->awake.at[i]]->box;
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
	troupe_status status = report(physics, ret_boxes, error);
	sleep_end_step(physics);
	physics->timed = false;
	return status;
}

void physics_measure(struct physics *physics)
{
	physics->timed = true;
}

uint32_t physics_measured_ns(const struct physics *physics, uint32_t model)
{
	return physics->instances[model]->measured_ns;
}

struct physics_stats physics_stats(const struct physics *physics)
{
	struct physics_stats stats = physics->stats;
	stats.groups = physics->groups.count - physics->free_groups.count;
	return stats;
}
