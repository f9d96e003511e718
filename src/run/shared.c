/* The memory that secondaries and their primary, or the threads of a replica, work in. */
#include "run/step.h"

#include <stdlib.h>
#include <string.h>

static enum physics_solver shared_choose_solver(const struct scene *scene)
{
	const char *type = scene->sdf->physics.solver;
	if (!type)
		return PHYSICS_SOLVER_AUTO;
	return !strcmp(type, "world")   ? PHYSICS_SOLVER_WORLD
	       : !strcmp(type, "quick") ? PHYSICS_SOLVER_QUICK
					: PHYSICS_SOLVER_AUTO;
}

void shared_init(struct shared *shared, struct scene *scene, struct systems *systems)
{
	*shared = (struct shared){.scene = scene, .systems = systems, .state = systems_create_state(systems)};
	shared->sensors = sensors_create(scene);
	shared->control.joints = mem_alloc_lines(scene->room.joints * sizeof *shared->control.joints);
	shared->control.bodies = mem_alloc_lines(scene->room.bodies * sizeof *shared->control.bodies);
	shared->control.models = mem_alloc_lines(scene->room.models * sizeof *shared->control.models);
	shared->control.surfaces = mem_alloc_lines(scene->room.geoms * sizeof *shared->control.surfaces);
	shared->boxes = mem_alloc_lines(scene->room.models * sizeof *shared->boxes);
	shared->sweeps = mem_alloc_lines(scene->room.models * sizeof *shared->sweeps);
	cost_fit(&shared->costs, scene->room.models);
	shared->physics.solver = shared_choose_solver(scene);
}

void shared_init_tracking(struct shared *shared)
{
	touch_init(&shared->touch, shared->scene);
	tracker_init(&shared->tracker, shared->scene);
}

void shared_fini(struct shared *shared)
{
	if (shared_has_tracking(shared)) {
		touch_fini(&shared->touch);
		tracker_fini(&shared->tracker);
	}
	state_destroy(shared->state);
	sensors_destroy(shared->sensors);
	free(shared->control.joints);
	free(shared->control.bodies);
	free(shared->control.models);
	free(shared->control.surfaces);
	free(shared->boxes);
	free(shared->sweeps);
	cost_fini(&shared->costs);
}

uint32_t shared_left_window(const struct shared *shared, const struct step *step, uint32_t model, bool next)
{
	const struct touch_sweep *sweep = &shared->sweeps[model];
	const uint32_t performer = shared->tracker.performer_of[model];
	uint32_t left = sweep->last < step->window ? LEFT_EARLY : 0;
	if (touch_must_prove(&shared->touch, model, &sweep->box))
		left |= LEFT_SWEPT;
	if (performer == SCENE_NONE)
		return left;
	const struct tracked *tracked = &shared->tracker.performers.at[performer];
	if (tracker_must_look(tracked, state_model_pose(shared->state, model, next).p))
		left |= LEFT_STAY;
	if (step->origins && tracker_must_look(tracked, sweep->before))
		left |= LEFT_BEFORE;
	if (step->origins == STEP_ORIGINS_ALL && !aabb_within(&sweep->origin, &tracked->calm))
		left |= LEFT_CALM;
	return left;
}
