#include "run/secondary.h"

#include "base/clock.h"
#include "scene/actor.h"

#include <stdlib.h>
#include <string.h>

struct secondary {
	uint32_t number;
	struct shared *shared;
	struct physics *physics;
	struct ack ack;
	uint64_t idle_since_ns;
};

struct secondary *secondary_create(uint32_t number, struct shared *shared)
{
	struct secondary *secondary = mem_alloc(sizeof *secondary);
	secondary->number = number;
	secondary->shared = shared;
	secondary->physics = physics_create(shared->scene, shared->state, &shared->control, &shared->physics);
	secondary->ack.runner = number;
	secondary->idle_since_ns = clock_now_ns();
	return secondary;
}

void secondary_destroy(struct secondary *secondary)
{
	if (!secondary)
		return;
	physics_destroy(secondary->physics);
	vec_free(&secondary->ack.strayed);
	free(secondary);
}

struct physics_stats secondary_physics_stats(const struct secondary *secondary)
{
	return physics_stats(secondary->physics);
}

/* --- apply ------------------------------------------------------------------------------------------------------ */

/* Loading a level is its static models becoming present (to all) and its dynamic ones being taken; a ghost in one
 * process is the performer's own state, there for all to read. So LOAD, UNLOAD and GHOST have no work of their own
 * here. */
static void apply_changes(struct secondary *secondary, const struct step *step)
{
	for (uint32_t i = 0; i < step->change_count; i++) {
		const struct change *change = &step->changes[i];
		if (change->runner != secondary->number)
			continue;
		if (change->kind == CHANGE_RELEASE)
			physics_release(secondary->physics, change->id);
		else if (change->kind == CHANGE_TAKE)
			physics_take(secondary->physics, change->id);
	}
	if (step->statics_changed)
		physics_set_statics(secondary->physics, step->statics);
	if (step->state_changed)
		physics_state_changed(secondary->physics);
}

static void apply_commands(struct secondary *secondary, const struct step_part *part)
{
	for (uint32_t i = 0; i < part->command_count; i++) {
		const struct due_command *command = &part->commands[i];
		systems_command(secondary->shared->systems, &command->to, &command->message, secondary->shared->state);
	}
}

/* --- update ----------------------------------------------------------------------------------------------------- */

static void clear_control(const struct shared *shared, uint32_t model)
{
	const struct scene_model *m = &shared->scene->models[model];
	memset(&shared->control.joints[m->joint_first], 0, m->joint_count * sizeof *shared->control.joints);
	memset(&shared->control.bodies[m->body_first], 0, m->body_count * sizeof *shared->control.bodies);
}

static void pre_update(struct secondary *secondary, const struct system_step *step)
{
	const struct shared *shared = secondary->shared;
	const indices *models = physics_taken(secondary->physics);
	for (uint32_t i = 0; i < models->count; i++) {
		uint32_t model = models->at[i];
		if (!shared->systems->count[model])
			continue;
		clear_control(shared, model);
		systems_pre_update(shared->systems, model, step);
	}
}

static void drive_actors(struct secondary *secondary, const struct system_step *step)
{
	const struct scene *scene = secondary->shared->scene;
	const indices *models = physics_taken(secondary->physics);
	if (!scene->actor_count)
		return;
	for (uint32_t i = 0; i < models->count; i++)
		if (scene->models[models->at[i]].actor)
			actor_drive(step->state, step->control, models->at[i], step->time_s, step->dt);
}

static void post_update(struct secondary *secondary, const struct system_step *step)
{
	const struct shared *shared = secondary->shared;
	const indices *models = physics_taken(secondary->physics);
	for (uint32_t i = 0; i < models->count; i++)
		if (shared->systems->count[models->at[i]])
			systems_post_update(shared->systems, models->at[i], step);
}

static bool strayed(const struct shared *shared, uint32_t model)
{
	if (touch_strayed(&shared->touch, model, &shared->boxes[model].box))
		return true;
	uint32_t performer = shared->tracker.performer_of[model];
	return performer != SCENE_NONE && tracker_must_look(&shared->tracker.performers.at[performer],
						  state_model_pose(shared->state, model, true).p);
}

static troupe_status update(struct secondary *secondary, const struct step *step, const struct step_part *part)
{
	struct shared *shared = secondary->shared;
	struct system_step system_step = {shared->state, &shared->control, step->number, step->time_s, step->dt};
	pre_update(secondary, &system_step);
	drive_actors(secondary, &system_step);
	troupe_status status = physics_step(
		secondary->physics, part->pairs, part->pair_count, step->dt, shared->boxes, &secondary->ack.error);
	if (status)
		return status;
	post_update(secondary, &system_step);
	const indices *models = physics_taken(secondary->physics);
	for (uint32_t i = 0; i < models->count; i++)
		if (strayed(shared, models->at[i]))
			vec_push(&secondary->ack.strayed, models->at[i]);
	return TROUPE_OK;
}

struct ack *secondary_step(struct secondary *secondary, const struct step *step)
{
	uint64_t begin_ns = clock_now_ns();
	const struct step_part *part = &step->parts[secondary->number - 1];
	struct ack *ack = &secondary->ack;
	ack->number = step->number;
	ack->strayed.count = 0;
	ack->waited_ns = begin_ns - secondary->idle_since_ns;
	apply_changes(secondary, step);
	apply_commands(secondary, part);
	ack->status = step->paused ? TROUPE_OK : update(secondary, step, part);
	secondary->idle_since_ns = clock_now_ns();
	ack->busy_ns = secondary->idle_since_ns - begin_ns;
	return ack;
}
