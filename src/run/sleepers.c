/* Contacts are found by ODE, as part of a step. So the models are stepped once by a runner of their own, and only its
 * notes are kept. To have the secondaries do it was ruled out: they do not load sleeping models, and what they do in a
 * step would then depend on who watches. */
#include "run/sleepers.h"

#include "physics/worker.h"

#include <stdlib.h>

typedef VEC(struct physics_pair) pair_list;

/* Pairs of two of the models. They are known to the plan, because models that touch are in one component, asleep or
 * not. */
static void sleepers_find_pairs(
	const struct shared *shared, const uint32_t *models, uint32_t count, pair_list *ret_pairs)
{
	bool *taken = mem_alloc(shared->scene->room.models * sizeof *taken);
	for (uint32_t i = 0; i < count; i++)
		taken[models[i]] = true;
	for (uint32_t i = 0; i < shared->touch.pairs.count; i++) {
		const struct touch_pair *pair = &shared->touch.pairs.at[i];
		if (taken[pair->a] && taken[pair->b])
			vec_push(ret_pairs, (struct physics_pair){pair->a, pair->b});
	}
	free(taken);
}

/* A step that fails has no notes: the models did not diverge when they were stepped last. */
static void sleepers_step(struct shared *shared, struct physics *physics, const struct physics_options *options,
	double dt, const pair_list *pairs, contact_notes *ret_notes)
{
	struct aabb_line *boxes = mem_alloc_lines(shared->scene->room.models * sizeof *boxes);
	struct worker *worker = worker_create(shared->scene, physics);
	physics_observe(physics, OBSERVE_CONTACTS);
	worker_begin(worker, options);
	if (!physics_begin(physics, pairs->at, pairs->count, dt, NULL) &&
		!worker_step(worker, physics, 0, physics_ode_world_count(physics), NULL) &&
		!physics_end(physics, boxes, NULL)) {
		const contact_notes *found = &worker_notes(worker)->contacts;
		for (uint32_t i = 0; i < found->count; i++)
			vec_push(ret_notes, found->at[i]);
	}
	worker_destroy(worker);
	free(boxes);
}

void sleepers_note(struct shared *shared, const uint32_t *models, uint32_t count, const uint32_t *statics, double dt,
	contact_notes *ret_notes)
{
	struct physics_options options = shared->physics;
	pair_list pairs = {0};
	if (!count)
		return;
	options.sleepless = true;
	options.stop = NULL;
	struct physics *physics = physics_create(shared->scene, shared->state, &shared->control, &options);
	for (uint32_t i = 0; i < count; i++)
		physics_take(physics, models[i]);
	physics_set_statics(physics, statics);
	sleepers_find_pairs(shared, models, count, &pairs);
	sleepers_step(shared, physics, &options, dt, &pairs, ret_notes);
	physics_destroy(physics);
	vec_free(&pairs);
}
