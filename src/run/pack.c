/* In a window the states of the pack go on by themselves: state k is kept (scene/state.h), so that a window which does
 * not count leaves nothing behind but what the physics remembers, and the next step makes it forget that. */
#include "run/pack.h"

#include "scene/actor.h"

#include <stdlib.h>
#include <string.h>

void pack_init(struct pack *pack, struct shared *shared)
{
	*pack = (struct pack){.shared = shared};
	pack->physics = physics_create(shared->scene, shared->state, &shared->control, &shared->physics);
}

void pack_fini(struct pack *pack)
{
	physics_destroy(pack->physics);
	vec_free(&pack->with_systems);
	vec_free(&pack->called);
	vec_free(&pack->resting);
	vec_free(&pack->still);
	free(pack->rests);
	vec_free(&pack->changed);
	vec_free(&pack->pairs);
	vec_free(&pack->joined);
	vec_free(&pack->moved);
	vec_free(&pack->hashes);
	vec_free(&pack->ahead);
	vec_free(&pack->pushes);
	state_spares_fini(&pack->spares);
}

static bool run_pack_has_systems(const struct pack *pack, uint32_t model)
{
	const struct scene_model *m = &pack->shared->scene->models[model];
	return m->actor || (systems_count(pack->shared->systems, model) && m->body_count);
}

void pack_take(struct pack *pack, uint32_t model)
{
	physics_take(pack->physics, model);
	pack_call(pack, model);
	if (run_pack_has_systems(pack, model)) {
		indices_add(&pack->with_systems, model);
		indices_add(&pack->called, model);
	}
}

void pack_release(struct pack *pack, uint32_t model)
{
	pack_call(pack, model);
	physics_release(pack->physics, model);
	indices_remove(&pack->with_systems, model);
	indices_remove(&pack->called, model);
}

/* --- models that rest --------------------------------------------------------------------------------------------- */

void pack_call_all(struct pack *pack)
{
	if (!pack->resting.count)
		return;
	for (uint32_t i = 0; i < pack->resting.count; i++)
		pack->rests[pack->resting.at[i].model] = false;
	pack->resting.count = pack->called.count = 0;
	if (pack->with_systems.count)
		memcpy(vec_append(&pack->called, pack->with_systems.count), pack->with_systems.at,
			pack->with_systems.count * sizeof *pack->called.at);
}

static bool run_pack_rests(const struct pack *pack, uint32_t model)
{
	return model < pack->room && pack->rests[model];
}

void pack_call(struct pack *pack, uint32_t model)
{
	if (!run_pack_rests(pack, model))
		return;
	pack->rests[model] = false;
	indices_add(&pack->called, model);
}

/* Commands, and changes of the world, have written the states of models that rested. */
static void run_pack_call_touched(struct pack *pack, double dt)
{
	if (dt != pack->rest_dt)
		pack_call_all(pack);
	pack->rest_dt = dt;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < pack->resting.count; i++) {
		const struct pack_resting resting = pack->resting.at[i];
		if (!pack->rests[resting.model]) /* it may have another runner now, which writes to it */
			continue;
		if (pack->shared->state->models[resting.model].touches != resting.touches)
			pack_call(pack, resting.model);
		if (pack->rests[resting.model])
			pack->resting.at[kept++] = resting;
	}
	pack->resting.count = kept;
}

/* The systems of these models have changed nothing in the step. */
static void run_pack_lay_to_rest(struct pack *pack, const uint32_t *models, uint32_t count)
{
	const struct shared *shared = pack->shared;
	const uint32_t before = pack->room;
	uint32_t kept = 0, at = 0;
	pack->room = MAX(before, shared->scene->room.models);
	if (pack->room > before)
		MEM_FIT(pack->rests, before, pack->room);
	for (uint32_t i = 0; i < count; i++) {
		vec_push(&pack->resting, (struct pack_resting){models[i], shared->state->models[models[i]].touches});
		pack->rests[models[i]] = true;
	}
	for (; at < pack->called.count; at++)
		if (!pack->rests[pack->called.at[at]])
			pack->called.at[kept++] = pack->called.at[at];
	pack->called.count = kept;
}

void pack_begin(struct pack *pack)
{
	pack->status = TROUPE_OK;
	pack->diverged = SCENE_NONE;
	pack->fault.error.status = TROUPE_OK;
	pack->changed.count = pack->stepped = 0;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static void run_pack_poison(const struct pack *pack)
{
	const indices *taken = physics_taken(pack->physics);
	if (!STATE_POISONED && !pack->shared->physics.anew)
		return;
	for (uint32_t i = 0; i < taken->count; i++)
		if (!physics_is_ahead(pack->physics, taken->at[i]))
			state_poison_next(pack->shared->state, taken->at[i]);
}

struct system_step pack_view(struct pack *pack, uint64_t number, double time_s, double dt)
{
	return (struct system_step){.step = {number, time_s, dt},
		.state = pack->shared->state,
		.control = &pack->shared->control,
		.fault = &pack->fault};
}

/* True: something acts on the model. */
static bool run_pack_drive(const struct pack *pack, uint32_t model, const struct system_step *step)
{
	const struct shared *shared = pack->shared;
	control_clear(&shared->control, shared->scene, model);
	if (shared->scene->models[model].actor)
		actor_drive(step->state, step->control, model, step->step.time_s, step->step.dt);
	systems_pre_update(shared->systems, model, step);
	return control_acts(&shared->control, shared->scene, model);
}

void pack_pre_update(struct pack *pack, const struct system_step *step)
{
	run_pack_poison(pack);
	run_pack_call_touched(pack, step->step.dt);
	for (uint32_t i = 0; i < pack->called.count; i++) {
		uint32_t model = pack->called.at[i];
		if (!physics_is_ahead(pack->physics, model) && run_pack_drive(pack, model, step))
			physics_disturb(pack->physics, model);
	}
}

/* --- wrenches ----------------------------------------------------------------------------------------------------- */

static int run_pack_compare_pushes(const void *a, const void *b)
{
	const struct pack_push *x = a, *y = b;
	return x->model != y->model ? (x->model < y->model ? -1 : 1) : (x->order > y->order) - (x->order < y->order);
}

void pack_hold(struct pack *pack, const struct step_part *part)
{
	const struct scene *scene = pack->shared->scene;
	pack->pushes.count = 0;
	for (uint32_t i = 0; i < part->wrench_count; i++)
		vec_push(&pack->pushes,
			(struct pack_push){scene->bodies[part->wrenches[i].body].model, i, &part->wrenches[i]});
	if (pack->pushes.count)
		qsort(pack->pushes.at, pack->pushes.count, sizeof *pack->pushes.at, run_pack_compare_pushes);
	for (uint32_t i = 0; i < pack->pushes.count; i++)
		pack_call(pack, pack->pushes.at[i].model);
}

/* The first push of the model, if it has any. */
static uint32_t run_pack_pushes_of(const struct pack *pack, uint32_t model)
{
	uint32_t lo = 0, hi = pack->pushes.count;
	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;
		if (pack->pushes.at[middle].model < model)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Pushes of one model, from `first` on. Returns the first push of the next model. ret_acts: whether anything acts on it
 * now. */
static uint32_t run_pack_push_one(const struct pack *pack, uint32_t first, bool *ret_acts)
{
	const struct shared *shared = pack->shared;
	const uint32_t model = pack->pushes.at[first].model;
	uint32_t i = first;
	for (; i < pack->pushes.count && pack->pushes.at[i].model == model; i++) {
		const struct due_wrench *wrench = pack->pushes.at[i].wrench;
		struct body_control *control = control_body(&shared->control, shared->scene, wrench->body);
		control->force = vec3_add(control->force, wrench->force);
		control->torque = vec3_add(control->torque, due_wrench_torque(shared->state, wrench));
	}
	*ret_acts = control_acts(&shared->control, shared->scene, model);
	return i;
}

void pack_push(struct pack *pack)
{
	for (uint32_t i = 0; i < pack->pushes.count;) {
		const uint32_t model = pack->pushes.at[i].model;
		bool acts = false;
		if (physics_is_ahead(pack->physics, model))
			i++;
		else
			i = run_pack_push_one(pack, i, &acts);
		if (acts)
			physics_disturb(pack->physics, model);
	}
}

/* Clears the control of pushed models. For a model without systems it is not cleared before the next step otherwise,
 * and another secondary may simulate the model then. */
static void run_pack_clear_pushed(struct pack *pack)
{
	for (uint32_t i = 0; i < pack->pushes.count; i++)
		if (!physics_is_ahead(pack->physics, pack->pushes.at[i].model))
			control_clear(&pack->shared->control, pack->shared->scene, pack->pushes.at[i].model);
}

void pack_let_go(struct pack *pack)
{
	run_pack_clear_pushed(pack);
	pack->pushes.count = 0;
}

/* --- systems of models that rested, or after the step ------------------------------------------------------------- */

/* What the systems have asked for in earlier steps is still in force, and is what they ask for now. */
void pack_call_awake(struct pack *pack, const struct system_step *step)
{
	const indices *awake = physics_awake(pack->physics);
	for (uint32_t i = 0; pack->resting.count && i < awake->count; i++)
		if (run_pack_rests(pack, awake->at[i])) {
			pack_call(pack, awake->at[i]);
			(void)run_pack_drive(pack, awake->at[i], step);
		}
}

/* The systems of a sleeping model may still change their own words. Then the rest of state k is reported with these
 * words. */
static bool run_pack_post_update_asleep(struct pack *pack, uint32_t model, const struct system_step *step)
{
	const struct shared *shared = pack->shared;
	const struct state_model *m = &shared->state->models[model];
	const uint64_t *now = state_words(shared->state, model, false);
	uint64_t *next = state_words(shared->state, model, true);
	memcpy(next, now, m->system_first * sizeof *next);
	state_keep_impulses(shared->state, model);
	systems_post_update(shared->systems, model, step);
	uint32_t words = m->words - m->system_first;
	return words && memcmp(next + m->system_first, now + m->system_first, words * sizeof *next) != 0;
}

static void run_pack_append(struct pack *pack, const uint32_t *models, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!physics_is_ahead(pack->physics, models[i]))
			vec_push(&pack->changed, models[i]);
}

void pack_post_update(struct pack *pack, const struct system_step *step)
{
	const indices *awake = physics_awake(pack->physics), *fallen = physics_fallen_asleep(pack->physics);
	run_pack_append(pack, awake->at, awake->count);
	pack->stepped = awake->count;
	pack->still.count = 0;
	for (uint32_t i = 0; i < pack->called.count; i++) {
		uint32_t model = pack->called.at[i];
		if (physics_is_ahead(pack->physics, model))
			continue;
		bool stepped = !physics_sleeps(pack->physics, model) || physics_fell_asleep(pack->physics, model);
		if (stepped)
			systems_post_update(pack->shared->systems, model, step);
		else if (run_pack_post_update_asleep(pack, model, step))
			run_pack_append(pack, &model, 1);
		else if (!pack->shared->scene->models[model].actor && systems_rest(pack->shared->systems, model))
			vec_push(&pack->still, model);
	}
	if (pack->still.count)
		run_pack_lay_to_rest(pack, pack->still.at, pack->still.count);
	run_pack_append(pack, fallen->at, fallen->count);
}

troupe_status pack_take_fault(struct pack *pack)
{
	if (pack->status || !pack->fault.error.status)
		return pack->status;
	pack->status = pack->fault.error.status;
	pack->error = pack->fault.error;
	pack->diverged = pack->fault.model;
	return pack->status;
}

const char pack_doing_before[] = "the plug-ins, before the physics";
const char pack_doing_physics[] = "the physics";
const char pack_doing_after[] = "the plug-ins, after the physics";

/* --- a window ----------------------------------------------------------------------------------------------------- */

/* An attachment or a joint of the world makes a pair, however far apart the models are. */
static bool run_pack_joins(const struct scene *scene, uint32_t body_a, uint32_t body_b, struct physics_pair pair)
{
	if (body_a == SCENE_NONE || body_b == SCENE_NONE)
		return false;
	uint32_t a = scene->bodies[body_a].model, b = scene->bodies[body_b].model;
	return MIN(a, b) == pair.a && MAX(a, b) == pair.b;
}

static bool run_pack_are_joined(const struct scene *scene, struct physics_pair pair)
{
	bool joined = false;
	for (uint32_t i = 0; i < scene->world_joints.count && !joined; i++) {
		const struct scene_joint *joint = &scene->joints[scene->world_joints.at[i]];
		joined = run_pack_joins(scene, joint->parent, joint->child, pair);
	}
	for (uint32_t i = 0; i < scene->attachments.count && !joined; i++)
		joined = run_pack_joins(
			scene, scene->attachments.at[i].bodies[0], scene->attachments.at[i].bodies[1], pair);
	return joined;
}

/* Attachments and joints of the world stay as they are in a window. */
static void run_pack_note_joined(struct pack *pack, const struct step_part *part)
{
	const struct shared *shared = pack->shared;
	pack->joined.count = 0;
	for (uint32_t i = 0; i < part->near_count; i++)
		vec_push(&pack->joined, shared->physics.rule != PHYSICS_BREAK_ATTACHMENTS &&
						run_pack_are_joined(shared->scene, part->near[i]));
}

static void run_pack_find_pairs(struct pack *pack, const struct step_part *part)
{
	pack->pairs.count = 0;
	for (uint32_t i = 0; i < part->near_count; i++) {
		struct physics_pair pair = part->near[i];
		if (pack->joined.at[i] || touch_meet(pack->shared->boxes, pair.a, pair.b))
			vec_push(&pack->pairs, pair);
	}
}

/* A model that sleeps, or has just fallen asleep, was not measured in the step. A replica may have taken it over in it,
 * and after a window that did not count its box there is of another state. */
static void run_pack_measure_asleep(struct pack *pack, uint32_t model)
{
	if (physics_sleeps(pack->physics, model) && pack->shared->scene->models[model].body_count)
		pack->shared->boxes[model].box = state_model_box(pack->shared->state, model, true);
}

/* The model has its next state, the i-th of the window. True: the first that it has in this window. */
static bool run_pack_go_on(struct pack *pack, uint32_t model, uint32_t i)
{
	const struct step *step = pack->step;
	struct shared *shared = pack->shared;
	struct touch_sweep *sweep = &shared->sweeps[model];
	bool first = sweep->mark != step->mark;
	if (first) {
		sweep->mark = step->mark;
		sweep->stepped = 0;
		sweep->left = LEFT_UNSEEN;
		sweep->box = sweep->origin = AABB_NONE;
		if (i > 1 && shared->physics.rule != PHYSICS_BREAK_HITS)
			sweep->box = state_model_box(shared->state, model, false); /* where it lay until then */
		if (step->hashes)
			sweep->hash = state_hash_of(shared->state, model);
	}
	if (step->origins && i == step->window)
		sweep->before = state_model_pose(shared->state, model, false).p;
	state_go_on(shared->state, model);
	sweep->last = (uint16_t)i;
	sweep->box = aabb_join(sweep->box, shared->boxes[model].box);
	if (step->origins == STEP_ORIGINS_ALL) {
		struct vec3 at = state_model_pose(shared->state, model, false).p;
		sweep->origin = aabb_join(sweep->origin, (struct aabb){at, at});
	}
	if (step->hashes) {
		uint64_t hash = state_hash_of(shared->state, model);
		/* a sum of many threads: the order does not matter */
		(void)__atomic_fetch_add(&pack->hashes.at[i - 1], hash - sweep->hash, __ATOMIC_RELAXED);
		sweep->hash = hash;
	}
	return first;
}

/* The model has its last state. */
static void run_pack_look(const struct pack *pack, uint32_t model)
{
	struct shared *shared = pack->shared;
	if (shared_has_tracking(shared))
		shared->sweeps[model].left = shared_left_window(shared, pack->step, model, false);
}

/* --- models that go ahead ----------------------------------------------------------------------------------------- */

static struct system_step run_pack_view_of(struct pack *pack, uint32_t i)
{
	const struct step *step = pack->step;
	const double time_s = step->even_since_s + (double)(step->even_steps + i - 1) * step->dt;
	return pack_view(pack, step->number + i - 1, time_s, step->dt);
}

static void run_pack_pre_update_ahead(
	struct pack *pack, const uint32_t *models, uint32_t count, const struct system_step *view)
{
	for (uint32_t m = 0; m < count; m++) {
		if (STATE_POISONED)
			state_poison_next(pack->shared->state, models[m]);
		bool acts = run_pack_has_systems(pack, models[m]) && run_pack_drive(pack, models[m], view);
		const uint32_t push = run_pack_pushes_of(pack, models[m]);
		if (push < pack->pushes.count && pack->pushes.at[push].model == models[m])
			(void)run_pack_push_one(pack, push, &acts);
		if (acts)
			physics_disturb_ahead(pack->physics, models[m]);
	}
}

/* The i-th step. In the first one systems have decided already, together with all others. False: it failed, or was
 * given up. */
static bool run_pack_step_ahead(struct pack *pack, struct worker *worker, uint32_t at, uint32_t i)
{
	struct physics *physics = pack->physics;
	struct pack_ahead *own = &pack->ahead.at[at];
	struct system_step view = run_pack_view_of(pack, i);
	struct troupe_error error;
	uint32_t count;
	const uint32_t *models = physics_ahead_models(physics, at, &count);
	view.fault = &own->fault;
	if (i > 1)
		run_pack_pre_update_ahead(pack, models, count, &view);
	bool notes = pack->step->observe && i == pack->step->window; /* none of them falls asleep before */
	troupe_status status = worker_step_ahead(worker, physics, at, notes ? i : 0, &error);
	physics_end_ahead(physics, at, pack->shared->boxes);
	if (status || physics_abandoned(physics) || physics_diverged(physics) != SCENE_NONE)
		return false;
	for (uint32_t m = 0; m < count; m++)
		if (run_pack_has_systems(pack, models[m]))
			systems_post_update(pack->shared->systems, models[m], &view);
	for (uint32_t m = 0; m < count && pack->pushes.count; m++)
		control_clear(&pack->shared->control, pack->shared->scene, models[m]);
	if (own->fault.error.status)
		return false;
	for (uint32_t m = 0; m < count; m++) {
		(void)run_pack_go_on(pack, models[m], i);
		pack->shared->sweeps[models[m]].stepped = (uint16_t)i;
		if (i == pack->step->window) /* now, while all of it is in the caches */
			run_pack_look(pack, models[m]);
	}
	return true;
}

void pack_take_ahead(struct pack *pack, struct worker *worker, uint32_t at)
{
	struct pack_ahead *own = &pack->ahead.at[at];
	struct state *state = pack->shared->state;
	uint32_t count;
	const uint32_t *models = physics_ahead_models(pack->physics, at, &count);
	own->good = 0;
	own->fault.error.status = TROUPE_OK;
	state_spares_clear(worker_spares(worker));
	for (uint32_t m = 0; m < count; m++)
		state_lend(state, models[m], worker_spares(worker));
	while (own->good < pack->step->window && run_pack_step_ahead(pack, worker, at, own->good + 1))
		own->good++;
	for (uint32_t m = 0; m < count; m++)
		state_settle(state, models[m]);
}

/* After physics_begin() of the first step. */
static void run_pack_send_ahead(struct pack *pack, const struct step_part *part)
{
	struct physics *physics = pack->physics;
	const struct step *step = pack->step;
	pack->ahead.count = 0;
	if (step->measure || pack->shared->physics.anew)
		return;
	uint32_t tasks = physics_find_ahead(physics, step->window, part->near, part->near_count), count;
	if (!tasks)
		return;
	(void)vec_append(&pack->ahead, tasks);
	pack->go_ahead(pack->ctx, tasks);
	for (uint32_t at = 0; at < tasks; at++) {
		const uint32_t *models = physics_ahead_models(physics, at, &count);
		pack->ahead_good = MIN(pack->ahead_good, pack->ahead.at[at].good);
		for (uint32_t m = 0; m < count; m++)
			if (pack->shared->sweeps[models[m]].mark == step->mark)
				vec_push(&pack->changed, models[m]);
	}
}

/* Whether nothing is left to do in the steps after the first: all that is awake, or has systems, has gone ahead. */
static bool run_pack_is_all_ahead(const struct pack *pack)
{
	const indices *awake = physics_awake(pack->physics);
	bool all = true;
	for (uint32_t i = 0; i < awake->count && all; i++)
		all = physics_is_ahead(pack->physics, awake->at[i]);
	for (uint32_t i = 0; i < pack->called.count && all; i++)
		all = physics_is_ahead(pack->physics, pack->called.at[i]);
	return all;
}

/* --- all others, step by step ------------------------------------------------------------------------------------- */

static void run_pack_says(struct pack *pack, const char *what)
{
	atomic_store_explicit(pack->doing, what, memory_order_relaxed);
}

static troupe_status run_pack_step_physics(
	struct pack *pack, const struct step_part *part, uint32_t i, const struct system_step *view)
{
	struct physics *physics = pack->physics;
	const struct physics_pair *pairs = i > 1 ? pack->pairs.at : part->pairs;
	pack->status = physics_begin(
		physics, pairs, i > 1 ? pack->pairs.count : part->pair_count, pack->step->dt, &pack->error);
	if (pack_take_fault(pack))
		return pack->status;
	pack_call_awake(pack, view);
	if (i == 1)
		run_pack_send_ahead(pack, part);
	/* what was noted of a model counts until it is stepped again */
	bool asleep = pack->shared->physics.rule != PHYSICS_BREAK_NOTES && physics_may_fall_asleep(physics);
	physics_note(physics, pack->step->observe && (i == pack->step->window || asleep), i);
	pack->status = pack->step_worlds(pack->ctx, &pack->error);
	struct troupe_error end_error;
	troupe_status ended = physics_end(physics, pack->shared->boxes, &end_error); /* also after a failure */
	if (!pack->status && ended)
		pack->error = end_error;
	pack->status = pack->status ? pack->status : ended;
	return pack->status;
}

/* The i-th step, from 1. False: it failed, or was given up. */
static bool run_pack_take_one(struct pack *pack, const struct step_part *part, uint32_t i)
{
	struct system_step view = run_pack_view_of(pack, i);
	if (i > 1)
		run_pack_find_pairs(pack, part);
	for (uint32_t p = 0; p < pack->pushes.count; p++)
		pack_call(pack, pack->pushes.at[p].model); /* one that was pushed with no force may rest */
	run_pack_says(pack, pack_doing_before);
	pack_pre_update(pack, &view);
	pack_push(pack);
	run_pack_says(pack, pack_doing_physics);
	if (pack->step->measure && i == pack->step->window)
		physics_measure(pack->physics);
	if (run_pack_step_physics(pack, part, i, &view) || physics_abandoned(pack->physics))
		return false;
	const uint32_t before = pack->changed.count;
	run_pack_says(pack, pack_doing_after);
	pack_post_update(pack, &view);
	pack->moved.count = 0;
	if (pack->changed.count > before)
		memcpy(vec_append(&pack->moved, pack->changed.count - before), pack->changed.at + before,
			(pack->changed.count - before) * sizeof *pack->moved.at);
	pack->changed.count = before;
	if (pack_take_fault(pack))
		return false;
	for (uint32_t m = 0; m < pack->moved.count; m++) {
		run_pack_measure_asleep(pack, pack->moved.at[m]);
		if (run_pack_go_on(pack, pack->moved.at[m], i)) {
			state_lend(pack->shared->state, pack->moved.at[m], &pack->spares);
			vec_push(&pack->changed, pack->moved.at[m]);
		}
	}
	const indices *awake = physics_awake(pack->physics);
	for (uint32_t m = 0; m < awake->count; m++)
		if (!physics_is_ahead(pack->physics, awake->at[m]))
			pack->shared->sweeps[awake->at[m]].stepped = (uint16_t)i;
	run_pack_clear_pushed(pack);
	return true;
}

/* Returns how many steps were well. */
static uint32_t run_pack_take_steps(struct pack *pack, const struct step_part *part)
{
	uint32_t good = 0;
	pack->ahead_good = pack->step->window;
	run_pack_note_joined(pack, part);
	while (good < pack->ahead_good && run_pack_take_one(pack, part, good + 1))
		if (++good == 1 && run_pack_is_all_ahead(pack))
			good = pack->ahead_good;
	physics_close_ahead(pack->physics);
	return MIN(good, pack->ahead_good);
}

/* The window is over for the model, which is the at-th of those that changed. Those that were stepped by the physics
 * come first. */
static void run_pack_close(struct pack *pack, uint32_t at, bool good)
{
	struct state *state = pack->shared->state;
	const uint32_t model = pack->changed.at[at], last = pack->step->window;
	struct touch_sweep *sweep = &pack->shared->sweeps[model];
	if (pack->step->origins && sweep->last < last) /* it has not moved in the last step */
		sweep->before = state_model_pose(state, model, false).p;
	if (good && sweep->left == LEFT_UNSEEN)
		run_pack_look(pack, model);
	(good ? state_close_window : state_leave_window)(state, model);
	if (!sweep->stepped)
		return;
	pack->changed.at[at] = pack->changed.at[pack->stepped];
	pack->changed.at[pack->stepped++] = model;
}

uint32_t pack_take_window(struct pack *pack, const struct step *step, const struct step_part *part)
{
	pack->step = step;
	pack->hashes.count = 0;
	state_spares_clear(&pack->spares);
	if (step->hashes)
		memset(vec_append(&pack->hashes, step->window), 0, step->window * sizeof *pack->hashes.at);
	uint32_t good = run_pack_take_steps(pack, part);
	pack->stepped = 0;
	for (uint32_t i = 0; i < pack->changed.count; i++)
		run_pack_close(pack, i, good == step->window);
	if (good < step->window)
		pack->changed.count = pack->stepped = 0;
	return good;
}
