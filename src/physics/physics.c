/* The models of one secondary, and their step: begun and ended here, computed by workers (worker.c). */
#include "physics/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Fits all arrays to the scene, which may have room for more than before. */
static void physics_fit(struct physics *physics)
{
	uint32_t now = physics->scene->room.models;
	MEM_FIT(physics->instances, physics->room, now);
	MEM_FIT(physics->present, physics->room, now);
	MEM_FIT(physics->goes_ahead, physics->room, now);
	physics->room = now;
}

void physics_world_changed(struct physics *physics)
{
	const struct vec3 g = physics->scene->gravity;
	physics_fit(physics);
	if (!memcmp(&g, &physics->gravity, sizeof g))
		return;
	physics->gravity = g;
	for (uint32_t i = 0; i < physics->ode_worlds.count; i++)
		if (physics->ode_worlds.at[i].id)
			dWorldSetGravity(physics->ode_worlds.at[i].id, g.x, g.y, g.z);
}

struct physics *physics_create(const struct scene *scene, struct state *state, const struct control *control,
	const struct physics_options *options)
{
	physics_thread_begin();
	struct physics *physics = mem_alloc_lines(sizeof *physics);
	physics->scene = scene;
	physics->state = state;
	physics->control = control;
	physics->options = *options;
	physics->gravity = scene->gravity;
	physics_fit(physics);
	return physics;
}

static void physics_free_ode(struct physics *physics)
{
	while (physics->taken.count)
		physics_release(physics, physics->taken.at[physics->taken.count - 1]);
	for (uint32_t g = 0; g < physics->groups.count; g++)
		group_fini(&physics->groups.at[g]);
	for (uint32_t w = 0; w < physics->ode_worlds.count; w++)
		ode_world_fini(&physics->ode_worlds.at[w]);
}

void physics_destroy(struct physics *physics)
{
	if (!physics)
		return;
	if (!atomic_load(&physics->gave_up))
		physics_free_ode(physics);
	vec_free(&physics->taken);
	vec_free(&physics->groups);
	vec_free(&physics->free_groups);
	vec_free(&physics->ode_worlds);
	vec_free(&physics->free_ode_worlds);
	vec_free(&physics->open_ode_worlds);
	vec_free(&physics->busy_ode_worlds);
	vec_free(&physics->pairs);
	vec_free(&physics->grouped);
	vec_free(&physics->awake);
	vec_free(&physics->awake_pairs);
	vec_free(&physics->set_sleeps);
	vec_free(&physics->disturbed);
	vec_free(&physics->fell_asleep);
	vec_free(&physics->ahead);
	vec_free(&physics->ahead_models);
	vec_free(&physics->ahead_first);
	sets_fini(&physics->touching);
	sets_fini(&physics->grouping);
	free(physics->instances);
	free(physics->present);
	free(physics->goes_ahead);
	free(physics);
}

void physics_take(struct physics *physics, uint32_t model)
{
	if (!physics->scene->models[model].body_count || physics->instances[model])
		return;
	physics->instances[model] = instance_create(physics, model);
	indices_add(&physics->taken, model);
	physics->taken_bodies += physics->scene->models[model].body_count;
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
	physics->taken_bodies -= physics->scene->models[model].body_count;
	physics->regroup = true;
}

void physics_share(struct physics *physics)
{
	physics->shared = true;
}

const indices *physics_taken(const struct physics *physics)
{
	return &physics->taken;
}

void physics_set_statics(struct physics *physics, const uint32_t *present)
{
	if (physics->scene->model_count) /* of an empty world both may be NULL */
		memcpy(physics->present, present, physics->scene->model_count * sizeof *present);
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

const indices *physics_fallen_asleep(const struct physics *physics)
{
	return &physics->fell_asleep;
}

bool physics_fell_asleep(const struct physics *physics, uint32_t model)
{
	return indices_has(&physics->fell_asleep, model);
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
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->instances[physics->taken.at[i]]->boxes_known = false;
	physics->regroup = true; /* sleep is decided anew */
}

/* Models that fell asleep in the steps are awake in state k, and must fall asleep again. Those that slept in state k do
 * so, too, which changes nothing: they are at rest. */
void physics_repeat(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->instances[physics->taken.at[i]]->asleep = false;
	physics->fell_asleep.count = 0;
	physics_state_changed(physics);
}

/* --- the step --------------------------------------------------------------------------------------------------- */

struct step_call {
	struct physics *physics;
	const struct physics_pair *pairs;
	uint32_t pair_count;
};

/* For tests. Drops everything that ODE or this folder remembers of earlier steps; worker_begin() does the same for
 * workers. A step may depend on the state alone, so no bit may change. */
static void physics_make_all_anew(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		uint32_t model = physics->taken.at[i];
		bool disturbed = physics->instances[model]->disturbed;
		group_remove(physics, model);
		instance_destroy(physics, physics->instances[model]);
		physics->instances[model] = instance_create(physics, model);
		physics->instances[model]->disturbed = disturbed;
	}
	physics->regroup = true;
}

static void physics_begin_under_guard(void *ctx)
{
	struct step_call *call = ctx;
	if (call->physics->options.anew)
		physics_make_all_anew(call->physics);
	sleep_update(call->physics, call->pairs, call->pair_count, call->physics->dt);
	group_update(call->physics);
}

troupe_status physics_begin(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt,
	struct troupe_error *error)
{
	struct step_call call = {.physics = physics, .pairs = pairs, .pair_count = pair_count};
	char message[200];
	physics->step++;
	physics->dt = dt;
	/* both are published with the step */
	atomic_store_explicit(&physics->abandoned, false, memory_order_relaxed);
	atomic_store_explicit(&physics->diverged, SCENE_NONE, memory_order_relaxed);
	if (ode_guard(physics_begin_under_guard, &call, message, sizeof message))
		return TROUPE_OK;
	atomic_store(&physics->gave_up, true);
	return fail(error, TROUPE_EDIVERGED, "some model diverged: the physics gave up: %s", message);
}

uint32_t physics_ode_world_count(const struct physics *physics)
{
	return physics->busy_ode_worlds.count;
}

troupe_status physics_end(struct physics *physics, struct aabb_line *ret_boxes, struct troupe_error *error)
{
	uint32_t model = atomic_load(&physics->diverged);
	physics->timed = false;
	sleep_end_step(physics);
	if (model != SCENE_NONE)
		return diverged_in_state(physics, model, error);
	if (physics_abandoned(physics))
		return TROUPE_OK;
	troupe_status status = physics->scene->unread ? unread_error(physics->scene->unread, error) : TROUPE_OK;
	if (status)
		return status;
	for (uint32_t i = 0; i < physics->awake.count; i++)
		ret_boxes[physics->awake.at[i]].box = physics->instances[physics->awake.at[i]]->box;
	return TROUPE_OK;
}

uint32_t physics_diverged(const struct physics *physics)
{
	return atomic_load(&physics->diverged);
}

bool physics_abandoned(const struct physics *physics)
{
	return atomic_load_explicit(&physics->abandoned, memory_order_relaxed);
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
	uint32_t groups = physics->groups.count - physics->free_groups.count;
	return (struct physics_stats){.regroups = physics->regroups, .groups = groups};
}
