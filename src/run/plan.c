/* The answers of one part of the plan are the input of the next part: here, and only here. Levels decide which models
 * exist, existing models make pairs, and both decide the assignment; nothing goes the other way, so that the state does
 * not depend on the assignment. */
#include "run/plan.h"

#include <assert.h>

/* --- from part to part -------------------------------------------------------------------------------------------- */

/* First models come, then models go, each with all effects before the next one: which models wake depends on it. */
static void plan_hand_on_models(struct plan *plan)
{
	struct loading *loading = &plan->loading;
	plan->some_came_or_went |= loading->came.count || loading->went.count;
	for (uint32_t i = 0; i < loading->changed_levels.count; i++)
		placement_mark_level(&plan->placement, loading->changed_levels.at[i]);
	for (uint32_t i = 0; i < loading->came.count; i++) {
		pairs_add(&plan->pairs, loading->came.at[i]);
		placement_mark(&plan->placement, loading->came.at[i]);
	}
	for (uint32_t i = 0; i < loading->fetched.count; i++)
		pairs_wake(&plan->pairs, loading->fetched.at[i]);
	for (uint32_t i = 0; i < loading->went.count; i++) {
		uint32_t model = loading->went.at[i];
		(loading_is_cargo(loading, model) ? pairs_unload : pairs_remove)(&plan->pairs, model);
		placement_mark(&plan->placement, model);
	}
	loading_clear(loading);
}

/* Ends the existence of all models. */
static void plan_end_models(struct plan *plan)
{
	loading_empty(&plan->loading);
	plan_hand_on_models(plan);
	pairs_clear(&plan->pairs);
}

static void plan_hand_on_pairs(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->pairs.changes.count; i++) {
		struct pair_change change = plan->pairs.changes.at[i];
		if (change.event == PAIR_BEGINS)
			placement_link(&plan->placement, change.a, change.b);
		else if (change.event == PAIR_ENDS)
			placement_cut(&plan->placement, change.a, change.b);
		else
			placement_meet(&plan->placement, change.a, change.b);
	}
	plan->pairs.changes.count = 0;
}

static void plan_look_at(struct plan *plan, uint32_t model, struct vec3 origin)
{
	const struct tracker *tracker = &plan->shared->tracker;
	if (loading_look(&plan->loading, model, origin))
		placement_crossed(
			&plan->placement, model, tracker->performers.at[tracker->performer_of[model]].entered);
}

static void plan_look(struct plan *plan, uint32_t model)
{
	plan_look_at(plan, model, state_model_pose(plan->shared->state, model, false).p);
}

/* Takes the scene's data of the model. */
static void plan_learn(struct plan *plan, uint32_t model)
{
	placement_learn_pin(&plan->placement, model);
	if (!loading_learn(&plan->loading, model))
		return;
	plan->statics_changed = true;
	pairs_wake_in(&plan->pairs, &plan->shared->boxes[model].box);
}

/* --- set-up ------------------------------------------------------------------------------------------------------- */

void plan_init(struct plan *plan, struct shared *shared, uint32_t secondaries, const struct assign_policy *policy)
{
	*plan = (struct plan){.shared = shared};
	loading_init(&plan->loading, shared);
	pairs_init(&plan->pairs, shared);
	placement_init(&plan->placement, shared, secondaries, policy);
	plan_reset(plan);
}

void plan_fini(struct plan *plan)
{
	loading_fini(&plan->loading);
	pairs_fini(&plan->pairs);
	placement_fini(&plan->placement);
	vec_free(&plan->gone);
}

static void plan_fit(struct plan *plan)
{
	loading_fit(&plan->loading);
	placement_fit(&plan->placement);
	touch_fit(&plan->shared->touch);
	tracker_fit(&plan->shared->tracker);
	cost_fit(&plan->shared->costs, plan->shared->scene->room.models);
}

void plan_measure(struct plan *plan)
{
	const struct scene *scene = plan->shared->scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (!scene->models[m].absent) {
			plan->shared->boxes[m].box = state_model_box(plan->shared->state, m, false);
			pairs_leaver(&plan->pairs, m); /* the proof may have put it where it is no more */
		}
}

void plan_reset(struct plan *plan)
{
	const struct tracker *tracker = &plan->shared->tracker;
	plan_end_models(plan);
	plan_measure(plan);
	loading_restart(&plan->loading);
	pairs_add_all(&plan->pairs, plan->loading.came.at, plan->loading.came.count);
	loading_clear(&plan->loading);
	for (uint32_t m = 0; m < plan->shared->scene->model_count; m++)
		if (loading_is_cargo(&plan->loading, m))
			pairs_unload(&plan->pairs, m);
	for (uint32_t p = 0; p < tracker->performers.count; p++)
		plan_look(plan, tracker->performers.at[p].model);
	pairs_reset(&plan->pairs);
	placement_reset(&plan->placement);
}

/* --- changes of the world ----------------------------------------------------------------------------------------- */

void plan_begin(struct plan *plan)
{
	plan->gone.count = 0;
	plan->pairs.woken = false;
	plan->statics_changed = !plan->begun;
	plan->some_came_or_went = false;
	plan->begun = true;
}

void plan_wake_all(struct plan *plan)
{
	pairs_wake_all(&plan->pairs);
}

void plan_leaver(struct plan *plan, uint32_t model)
{
	const struct shared *shared = plan->shared;
	uint32_t performer = shared->tracker.performer_of[model];
	pairs_leaver(&plan->pairs, model);
	if (performer != SCENE_NONE && tracker_must_look(&shared->tracker.performers.at[performer],
					       state_model_pose(shared->state, model, false).p))
		plan_look(plan, model);
}

void plan_look_back(struct plan *plan, uint32_t model, struct vec3 origin)
{
	const struct tracker *tracker = &plan->shared->tracker;
	uint32_t performer = tracker->performer_of[model];
	if (performer != SCENE_NONE && tracker_must_look(&tracker->performers.at[performer], origin))
		plan_look_at(plan, model, origin);
}

void plan_looked_back(struct plan *plan)
{
	loading_update(&plan->loading);
}

void plan_add(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	plan_fit(plan);
	shared->boxes[model].box = state_model_box(shared->state, model, false);
	cost_forget(&shared->costs, model);
	plan_learn(plan, model);
	loading_add(&plan->loading, model);
	plan_hand_on_models(plan);
	if (loading_is_cargo(&plan->loading, model) && !plan->loading.active[model])
		pairs_unload(&plan->pairs, model);
	plan_look(plan, model);
}

void plan_remove(struct plan *plan, uint32_t model)
{
	vec_push(&plan->gone, model);
	if (plan->shared->tracker.performer_of[model] != SCENE_NONE)
		placement_crossed(&plan->placement, model, false);
	loading_remove(&plan->loading, model);
	plan_hand_on_models(plan);
	plan_learn(plan, model);
	pairs_forget(&plan->pairs, model);
	plan_hand_on_pairs(plan);
	placement_forget(&plan->placement, model);
	pairs_wake_in(&plan->pairs, &plan->shared->boxes[model].box);
}

void plan_placed(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	vec_push(&plan->gone, model);
	pairs_wake_in(&plan->pairs, &shared->boxes[model].box);
	shared->boxes[model].box = state_model_box(shared->state, model, false);
	pairs_wake_in(&plan->pairs, &shared->boxes[model].box);
	plan_pushed(plan, model);
	if (plan->loading.statics[model]) {
		loading_placed(&plan->loading, model);
		plan->statics_changed = true;
	}
	touch_moved(&shared->touch, model);
	plan_leaver(plan, model);
}

void plan_reshaped(struct plan *plan, uint32_t model)
{
	plan_placed(plan, model);
	pairs_reshaped(&plan->pairs, model);
}

void plan_pushed(struct plan *plan, uint32_t model)
{
	pairs_wake(&plan->pairs, model);
	plan->pairs.woken = true;
}

void plan_attached(struct plan *plan, uint32_t model)
{
	touch_rejoin(&plan->pairs.shared->touch);
	pairs_wake(&plan->pairs, model);
}

void plan_performer(struct plan *plan, uint32_t model)
{
	plan_learn(plan, model); /* a static performer exists whether its levels are loaded or not */
	loading_performer(&plan->loading, model);
	plan_hand_on_models(plan);
	plan_look(plan, model);
	placement_crossed(&plan->placement, model, false);
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

bool plan_simulates(struct plan *plan, uint32_t model)
{
	return loading_expects(&plan->loading, model);
}

bool plan_levels(struct plan *plan)
{
	struct loading *loading = &plan->loading;
	bool changed = false;
	loading_update(loading);
	do {
		for (uint32_t i = 0; i < loading->went.count; i++)
			vec_push(&plan->gone, loading->went.at[i]);
		plan_hand_on_models(plan);
		changed |= pairs_find(&plan->pairs);
	} while (loading_settle(loading, changed));
	return changed;
}

void plan_step(struct plan *plan, bool changed, uint64_t k, double ahead_s)
{
	changed |= pairs_look_ahead(&plan->pairs, ahead_s);
	pairs_update(&plan->pairs, changed, k);
	if (plan->pairs.changes.count)
		plan_hand_on_pairs(plan);
	placement_step(&plan->placement, &plan->loading, changed, k);
}

uint64_t plan_hash(const struct plan *plan)
{
	return loading_hash(&plan->loading);
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

void plan_pack(const struct plan *plan, struct text *out)
{
	loading_pack(&plan->loading, out);
}

/* Makes the tracker anew, as if all performers had just been found. */
static void plan_track_anew(struct plan *plan)
{
	struct tracker *tracker = &plan->shared->tracker;
	const bool minds_all = tracker->minds_all;
	tracker_fini(tracker);
	tracker_init(tracker, plan->shared->scene);
	tracker->minds_all = minds_all;
}

void plan_empty(struct plan *plan)
{
	pairs_reset(&plan->pairs);
	placement_empty(&plan->placement, &plan->loading);
}

void plan_clear(struct plan *plan)
{
	const struct scene *scene = plan->shared->scene;
	plan->pairs.restoring = true; /* what goes with its whole world wakes nothing */
	plan_end_models(plan);
	plan->pairs.restoring = false;
	for (uint32_t m = 0; m < scene->model_count; m++) {
		placement_forget(&plan->placement, m);
		if (scene->models[m].created)
			cost_forget(&plan->shared->costs, m);
	}
	plan->gone.count = 0;
	plan->statics_changed = true;
}

/* Places behind the last model may have had models before plan_clear(). */
bool plan_unpack(struct plan *plan, struct unpack *in)
{
	plan->pairs.restoring = true; /* models asleep in the saved state stay asleep */
	plan_fit(plan);
	plan_track_anew(plan);
	for (uint32_t m = 0; m < plan->loading.room; m++)
		plan_learn(plan, m);
	plan_reset(plan);
	bool good = loading_unpack(&plan->loading, in);
	plan_hand_on_models(plan);
	plan->pairs.restoring = false;
	return good;
}

void plan_regroup(struct plan *plan, uint32_t secondaries)
{
	struct placement *placement = &plan->placement, before = *placement;
	struct text packed = {0};
	plan_pack(plan, &packed);
	plan_clear(plan);
	const struct assign_policy *policy = placement->policy;
	before.moves = placement->moves;
	placement_fini(placement);
	placement_init(placement, plan->shared, secondaries, policy);
	placement->measure = before.measure;
	placement->chaos = before.chaos;
	placement->chaos_seed = before.chaos_seed;
	placement->chaos_moves = before.chaos_moves;
	placement->moves = before.moves;
	struct unpack in = {packed.at, packed.at + packed.count, false};
	bool good = plan_unpack(plan, &in);
	assert(good && in.at == in.end);
	plan->begun = false; /* the secondaries have no static models yet */
	text_fini(&packed);
}

void plan_learn_pins(struct plan *plan)
{
	for (uint32_t m = 0; m < plan->shared->scene->model_count; m++)
		placement_learn_pin(&plan->placement, m);
}

void plan_pack_pins(const struct plan *plan, struct text *out)
{
	const struct scene *scene = plan->shared->scene;
	uint32_t count = 0;
	for (uint32_t m = 0; m < scene->model_count; m++)
		count += scene->models[m].pin != scene->models[m].home_pin;
	pack_u64(out, count);
	for (uint32_t m = 0; m < scene->model_count; m++) {
		if (scene->models[m].pin == scene->models[m].home_pin)
			continue;
		pack_u64(out, m);
		pack_u64(out, scene->models[m].pin);
	}
}

bool plan_unpack_pins(struct plan *plan, struct unpack *in)
{
	struct scene *scene = plan->shared->scene;
	uint32_t count = unpack_count(in, scene->model_count);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		uint32_t model = unpack_count(in, scene->model_count - 1u),
			 pin = unpack_count(in, TROUPE_SECONDARIES_MAX);
		if (in->bad || !scene->models[model].id)
			return false;
		scene->models[model].pin = pin;
		placement_learn_pin(&plan->placement, model);
	}
	return !in->bad;
}
