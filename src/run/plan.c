/* The order of things in plan_step(), each step only if what it depends on has changed:
 *
 *   levels      loaded while some performer is near; with them come static models and the dynamic ones that they name
 *   strays      a level's dynamic model that outlives it while it overlaps a performer or a loaded level's box
 *   pairs       whose padded boxes overlap in state k (law 4); remembered for a while for the assignment's sake
 *   components  performer in level, model named by level, pair
 *   assignment  the policy's; then chaos, if asked for
 *   changes     what that means for each secondary, and what the trace says
 */
#include "run/plan.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- set-up ----------------------------------------------------------------------------------------------------- */

#define FIT(array, before, now) (array) = mem_grow(array, (before) * sizeof *(array), (now) * sizeof *(array))

static void assignment_fit(struct assignment *assignment, uint32_t before, uint32_t now)
{
	FIT(assignment->model, before, now);
	FIT(assignment->home, before, now);
	FIT(assignment->component_of, before, now);
}

static void fit(struct plan *plan)
{
	uint32_t before = plan->room, now = plan->scene->room.models;
	FIT(plan->active, before, now);
	FIT(plan->statics, before, now);
	FIT(plan->static_uses, before, now);
	FIT(plan->named, before, now);
	FIT(plan->is_mover, before, now);
	FIT(plan->first, before, now);
	FIT(plan->entered, before, now);
	FIT(plan->model_pin, before, now);
	FIT(plan->shared->cost_ns, before, now);
	memset(plan->shared->cost_ns + before, 0xff, (now - before) * sizeof *plan->shared->cost_ns); /* COST_UNKNOWN */
	if (plan->policy->by_cost)
		FIT(plan->model_cost, before, now);
	assignment_fit(&plan->now, before, now);
	assignment_fit(&plan->before, before, now);
	plan->room = now;
}

static void assignment_free(struct assignment *assignment)
{
	free(assignment->model);
	free(assignment->level);
	free(assignment->home);
	free(assignment->component_of);
}

/* What the scene says of a model. */
static void learn(struct plan *plan, uint32_t m)
{
	const struct scene_model *model = &plan->scene->models[m];
	plan->model_pin[m] = model->pin <= plan->secondaries ? model->pin : ASSIGN_NONE;
	plan->pinned |= plan->model_pin[m] != ASSIGN_NONE;
	plan->is_mover[m] = !model->absent && (model->performer || (!model->is_static && model->level == SCENE_NONE));
}

static bool static_exists(const struct plan *plan, uint32_t m)
{
	const struct scene_model *model = &plan->scene->models[m];
	return model->is_static && !model->absent && (!plan->named[m] || model->performer || plan->static_uses[m] > 0);
}

static void find_fixed_inputs(struct plan *plan)
{
	const struct scene *scene = plan->scene;
	for (uint32_t l = 0; l < scene->level_count; l++) {
		plan->level_pin[l] = scene->levels[l].pin <= plan->secondaries ? scene->levels[l].pin : ASSIGN_NONE;
		plan->pinned |= plan->level_pin[l] != ASSIGN_NONE;
		for (uint32_t i = 0; i < scene->levels[l].model_count; i++)
			plan->named[scene->levels[l].models[i]] = true;
	}
	for (uint32_t m = 0; m < scene->model_count; m++) {
		learn(plan, m);
		plan->statics[m] = static_exists(plan, m);
	}
}

void plan_init(struct plan *plan, struct shared *shared, uint32_t secondaries, const struct assign_policy *policy)
{
	const struct scene *scene = shared->scene;
	uint32_t levels = scene->level_count;
	*plan = (struct plan){
		.shared = shared, .scene = scene, .secondaries = secondaries, .policy = policy, .placings = 1};
	fit(plan);
	plan->loaded = mem_alloc(levels * sizeof *plan->loaded);
	plan->has_performer = mem_alloc(levels * sizeof *plan->has_performer);
	plan->level_near = mem_alloc(levels * sizeof *plan->level_near);
	plan->level_pin = mem_alloc(levels * sizeof *plan->level_pin);
	plan->now.level = mem_alloc(levels * sizeof *plan->now.level);
	plan->before.level = mem_alloc(levels * sizeof *plan->before.level);
	plan->parts = mem_alloc(secondaries * sizeof *plan->parts);
	find_fixed_inputs(plan);
	plan_reset(plan);
}

void plan_fini(struct plan *plan)
{
	free(plan->loaded);
	free(plan->active);
	free(plan->statics);
	free(plan->static_uses);
	free(plan->named);
	free(plan->is_mover);
	free(plan->first);
	free(plan->entered);
	free(plan->has_performer);
	free(plan->level_near);
	free(plan->model_pin);
	free(plan->level_pin);
	free(plan->model_cost);
	free(plan->shared->cost_ns);
	plan->shared->cost_ns = NULL;
	free(plan->parts);
	assignment_free(&plan->now);
	assignment_free(&plan->before);
	assign_scratch_fini(&plan->scratch);
	components_fini(&plan->components);
	vec_free(&plan->strays);
	vec_free(&plan->found);
	vec_free(&plan->contacts);
	vec_free(&plan->contacts_next);
	vec_free(&plan->ghosts);
	vec_free(&plan->ghosts_next);
	vec_free(&plan->changes);
	vec_free(&plan->events);
	vec_free(&plan->pairs);
	vec_free(&plan->shaken);
}

/* --- sleeping --------------------------------------------------------------------------------------------------- */

static void wake(struct plan *plan, uint32_t model)
{
	struct state *state = plan->shared->state;
	if (!plan->scene->models[model].body_count || !*state_still(state, model, false))
		return;
	*state_still(state, model, false) = 0;
	state_wrote(state, model);
	plan->woken = true;
}

/* The tree holds fat boxes, whose size depends on history; the exact ones decide. */
void plan_wake(struct plan *plan, const struct aabb *box)
{
	struct aabb padded = aabb_grow(*box, TOUCH_PAD);
	plan->found.count = 0;
	bvh_query(&plan->shared->touch.tree, &padded, &plan->found);
	for (uint32_t i = 0; i < plan->found.count; i++)
		if (aabb_overlap(&padded, &plan->shared->boxes[plan->found.at[i]].box))
			wake(plan, plan->found.at[i]);
}

/* Nobody rests on it, or hangs from it, any more. */
static void wake_around(struct plan *plan, uint32_t model)
{
	const struct touch *touch = &plan->shared->touch;
	plan_wake(plan, &plan->shared->boxes[model].box);
	for (uint32_t i = 0; i < touch->joined.count; i++)
		if (touch->joined.at[i].a == model || touch->joined.at[i].b == model)
			wake(plan, touch->joined.at[i].a == model ? touch->joined.at[i].b : touch->joined.at[i].a);
}

/* --- existing --------------------------------------------------------------------------------------------------- */

static void activate(struct plan *plan, uint32_t model)
{
	if (plan->active[model] || plan->scene->models[model].absent)
		return;
	plan->active[model] = true;
	if (plan->scene->models[model].body_count)
		touch_add(&plan->shared->touch, model, &plan->shared->boxes[model].box);
	plan->assignment_dirty = true;
}

static void deactivate(struct plan *plan, uint32_t model)
{
	if (!plan->active[model])
		return;
	plan->active[model] = false;
	if (plan->scene->models[model].body_count) {
		touch_remove(&plan->shared->touch, model);
		wake_around(plan, model);
	}
	plan->assignment_dirty = true;
}

static void look(struct plan *plan, uint32_t performer)
{
	uint32_t model = plan->shared->tracker.performers.at[performer].model;
	if (!tracker_look(&plan->shared->tracker, performer, state_model_pose(plan->shared->state, model, false).p))
		return;
	const struct tracked *tracked = &plan->shared->tracker.performers.at[performer];
	plan->entered[model] |= tracked->entered;
	plan->levels_dirty = plan->ghosts_dirty = true;
	plan->assignment_dirty |= tracked->in_changed;
}

void plan_strayed(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	bool here = plan->active[model] && plan->scene->models[model].body_count;
	if (here && touch_strayed(&shared->touch, model, &shared->boxes[model].box))
		touch_move(&shared->touch, model, &shared->boxes[model].box);
	if (shared->tracker.performer_of[model] != SCENE_NONE)
		look(plan, shared->tracker.performer_of[model]);
}

/* --- levels ----------------------------------------------------------------------------------------------------- */

static void set_static(struct plan *plan, uint32_t model)
{
	bool exists = static_exists(plan, model);
	if (exists == (plan->statics[model] != 0))
		return;
	plan->statics[model] = exists ? ++plan->placings : 0;
	plan->statics_changed = true;
	plan_wake(plan, &plan->shared->boxes[model].box);
}

static void use_static(struct plan *plan, uint32_t model, bool on)
{
	plan->static_uses[model] += on ? 1u : UINT32_MAX;
	set_static(plan, model);
}

static void forget_stray(struct plan *plan, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < plan->strays.count; i++)
		if (plan->strays.at[i] != model)
			plan->strays.at[kept++] = plan->strays.at[i];
	plan->strays.count = kept;
}

static void set_loaded(struct plan *plan, uint32_t level, bool loaded)
{
	const struct scene_level *l = &plan->scene->levels[level];
	plan->loaded[level] = loaded;
	plan->assignment_dirty = true;
	for (uint32_t i = 0; i < l->model_count; i++) {
		uint32_t model = l->models[i];
		const struct scene_model *m = &plan->scene->models[model];
		if (m->is_static) {
			use_static(plan, model, loaded);
		} else if (m->level == level && loaded) {
			forget_stray(plan, model);
			activate(plan, model);
			wake(plan, model); /* what it slept on may be gone, or have been moved meanwhile */
		} else if (m->level == level && !m->absent) {
			vec_push(&plan->strays, model); /* goes unless it must stay: see update_strays() */
		}
	}
}

static void update_levels(struct plan *plan)
{
	if (!plan->levels_dirty)
		return;
	plan->levels_dirty = false;
	for (uint32_t l = 0; l < plan->scene->level_count; l++) {
		bool loaded = plan->shared->tracker.near_count[l] > 0;
		if (loaded != plan->loaded[l])
			set_loaded(plan, l, loaded);
	}
}

static bool must_stay(const struct plan *plan, uint32_t model)
{
	const struct shared *shared = plan->shared;
	const struct aabb *box = &shared->boxes[model].box;
	for (uint32_t p = 0; p < shared->tracker.performers.count; p++) {
		uint32_t performer = shared->tracker.performers.at[p].model;
		struct aabb volume = aabb_around(
			state_model_pose(shared->state, performer, false).p, plan->scene->models[performer].volume);
		if (aabb_overlap(box, &volume) || aabb_overlap(box, &shared->boxes[performer].box))
			return true;
	}
	for (uint32_t l = 0; l < plan->scene->level_count; l++)
		if (plan->loaded[l] && aabb_overlap(box, &plan->scene->levels[l].box))
			return true;
	return false;
}

static void update_strays(struct plan *plan)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < plan->strays.count; i++) {
		if (must_stay(plan, plan->strays.at[i]))
			plan->strays.at[kept++] = plan->strays.at[i];
		else
			deactivate(plan, plan->strays.at[i]);
	}
	plan->strays.count = kept;
}

/* At the beginning, when nothing is active. */
static void activate_movers(struct plan *plan)
{
	plan->found.count = 0;
	for (uint32_t m = 0; m < plan->scene->model_count; m++) {
		if (!plan->is_mover[m])
			continue;
		plan->active[m] = true;
		if (plan->scene->models[m].body_count)
			vec_push(&plan->found, m);
	}
	touch_add_all(&plan->shared->touch, plan->found.at, plan->found.count, plan->shared->boxes);
	plan->assignment_dirty = true;
}

void plan_reset(struct plan *plan)
{
	const struct scene *scene = plan->scene;
	for (uint32_t m = 0; m < scene->model_count; m++) {
		deactivate(plan, m);
		if (!scene->models[m].absent)
			plan->shared->boxes[m].box = state_model_box(plan->shared->state, m, false);
	}
	tracker_reset(&plan->shared->tracker);
	for (uint32_t l = 0; l < scene->level_count; l++)
		if (plan->loaded[l]) /* as at the start; update_levels() loads what it must */
			set_loaded(plan, l, false);
	plan->strays.count = 0;
	activate_movers(plan);
	for (uint32_t p = 0; p < plan->shared->tracker.performers.count; p++)
		look(plan, p);
	plan->contacts.count = 0;
	plan->contacts_due = 0; /* found anew, also when the pairs are those of before */
	plan->levels_dirty = plan->assignment_dirty = plan->pairs_dirty = true;
}

/* --- contacts --------------------------------------------------------------------------------------------------- */

static int compare_pair(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return a != c ? (a < c ? -1 : 1) : b != d ? (b < d ? -1 : 1) : 0;
}

/* What nobody has had yet begins where it is first assigned: with whatever it touches. */
static bool began_apart(const struct plan *plan, struct touch_pair pair)
{
	return plan->first[pair.a] && plan->first[pair.b] && plan->first[pair.a] != plan->first[pair.b];
}

/* Contacts of now and those of late, merged in order. */
static void merge_contacts(struct plan *plan, uint64_t k)
{
	const struct touch *touch = &plan->shared->touch;
	plan->contacts_next.count = 0;
	plan->contacts_due = UINT64_MAX;
	for (uint32_t i = 0, j = 0; i < touch->pairs.count || j < plan->contacts.count;) {
		struct plan_contact old = j < plan->contacts.count ? plan->contacts.at[j]
								   : (struct plan_contact){UINT32_MAX, UINT32_MAX, 0};
		struct touch_pair pair =
			i < touch->pairs.count ? touch->pairs.at[i] : (struct touch_pair){UINT32_MAX, UINT32_MAX};
		int order = compare_pair(pair.a, pair.b, old.a, old.b);
		j += order >= 0;
		if (order <= 0) {
			i++;
			plan->meetings += order < 0 && began_apart(plan, pair);
			vec_push(&plan->contacts_next, (struct plan_contact){pair.a, pair.b, UINT64_MAX});
			continue;
		}
		if (old.until == UINT64_MAX)
			old.until = k + PLAN_KEEP_STEPS;
		if (old.until <= k || !plan->active[old.a] || !plan->active[old.b])
			continue;
		plan->contacts_due = MIN(plan->contacts_due, old.until);
		vec_push(&plan->contacts_next, old);
	}
}

static void update_contacts(struct plan *plan, uint64_t k)
{
	bool changed = touch_find(&plan->shared->touch, plan->shared->boxes);
	plan->pairs_dirty |= changed;
	if (!changed && plan->contacts_due > k)
		return;
	merge_contacts(plan, k);
	bool same = plan->contacts_next.count == plan->contacts.count;
	for (uint32_t i = 0; same && i < plan->contacts.count; i++)
		same = plan->contacts.at[i].a == plan->contacts_next.at[i].a &&
		       plan->contacts.at[i].b == plan->contacts_next.at[i].b;
	plan->assignment_dirty |= !same;
	plan->contacts.count = 0;
	for (uint32_t i = 0; i < plan->contacts_next.count; i++)
		vec_push(&plan->contacts, plan->contacts_next.at[i]);
}

/* --- assignment ------------------------------------------------------------------------------------------------- */

/* It is near levels that it is not in; otherwise what is near need not be looked at. */
static bool reaches_out(const struct tracked *performer)
{
	return performer->near.count > performer->in.count;
}

/* Performers with their levels, and who is the lowest near a level that has nobody in it. */
static void join_performers(struct plan *plan)
{
	const struct tracker *tracker = &plan->shared->tracker;
	for (uint32_t p = 0; p < tracker->performers.count; p++) {
		const struct tracked *performer = &tracker->performers.at[p];
		for (uint32_t i = 0; i < performer->in.count; i++)
			components_join_level(&plan->components, performer->model, performer->in.at[i]);
		for (uint32_t i = 0; reaches_out(performer) && i < performer->near.count; i++) {
			uint32_t level = performer->near.at[i];
			if (!plan->has_performer[level])
				plan->level_near[level] = MIN(plan->level_near[level], performer->model);
		}
	}
}

static uint32_t find_components(struct plan *plan)
{
	const struct scene *scene = plan->scene;
	components_begin(&plan->components, scene->model_count, scene->level_count);
	for (uint32_t l = 0; l < scene->level_count; l++) {
		plan->has_performer[l] = plan->shared->tracker.in_count[l] > 0;
		plan->level_near[l] = SCENE_NONE;
	}
	join_performers(plan);
	for (uint32_t l = 0; l < scene->level_count; l++) {
		if (!plan->loaded[l])
			continue;
		for (uint32_t i = 0; i < scene->levels[l].model_count; i++)
			if (scene->models[scene->levels[l].models[i]].level == l)
				components_join_level(&plan->components, scene->levels[l].models[i], l);
	}
	for (uint32_t i = 0; i < plan->contacts.count; i++)
		components_join_models(&plan->components, plan->contacts.at[i].a, plan->contacts.at[i].b);
	return components_finish(&plan->components, plan->active, plan->loaded);
}

static bool is_shaken(const struct plan *plan, uint32_t component)
{
	return component < plan->shaken.count && plan->shaken.at[component];
}

/* Moves random components anywhere, and has their models taken over again even where they stay: in plan->shaken. */
static void make_chaos(struct plan *plan, uint64_t k, uint32_t component_count)
{
	uint64_t random = hash_mix(plan->chaos_seed, k + 1);
	uint32_t moves = plan->chaos_moves ? plan->chaos_moves : random % 4 == 0;
	plan->shaken.count = 0;
	if (!component_count || !moves)
		return;
	memset(vec_append(&plan->shaken, component_count), 0, component_count * sizeof *plan->shaken.at);
	for (uint32_t i = 0; i < moves; i++) {
		uint32_t component = (uint32_t)(hash_mix(random, 2 * i + 1) % component_count);
		plan->shaken.at[component] = (uint32_t)(hash_mix(random, 2 * i + 2) % plan->secondaries) + 1;
	}
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (is_shaken(plan, plan->components.model_component[m]))
			plan->now.model[m] = plan->shaken.at[plan->components.model_component[m]];
	for (uint32_t l = 0; l < plan->scene->level_count; l++)
		if (is_shaken(plan, plan->components.level_component[l]))
			plan->now.level[l] = plan->shaken.at[plan->components.level_component[l]];
}

static void change(struct plan *plan, enum change_kind kind, uint32_t runner, uint32_t id)
{
	vec_push(&plan->changes, (struct change){kind, runner, id});
}

static void event(struct plan *plan, enum plan_event_kind kind, uint32_t id, uint32_t from, uint32_t to)
{
	vec_push(&plan->events, (struct plan_event){kind, id, from, to});
}

static bool is_stray(const struct plan *plan, uint32_t model)
{
	uint32_t level = plan->scene->models[model].level;
	return level != SCENE_NONE && !plan->loaded[level];
}

static void change_models(struct plan *plan)
{
	for (uint32_t m = 0; m < plan->scene->model_count; m++) {
		uint32_t from = plan->before.model[m], to = plan->now.model[m];
		if (from == to && !is_shaken(plan, plan->components.model_component[m]))
			continue;
		if (from)
			change(plan, CHANGE_RELEASE, from, m);
		if (to)
			change(plan, CHANGE_TAKE, to, m);
		if (!plan->first[m])
			plan->first[m] = to;
		if (from && to && from != to && (plan->is_mover[m] || is_stray(plan, m))) {
			event(plan, PLAN_MOVE, m, from, to);
			plan->moves++;
		}
	}
}

static void change_levels(struct plan *plan)
{
	for (uint32_t l = 0; l < plan->scene->level_count; l++) {
		uint32_t from = plan->before.level[l], to = plan->now.level[l];
		if (from == to)
			continue;
		if (from) {
			change(plan, CHANGE_UNLOAD, from, l);
			event(plan, PLAN_UNLOAD, l, 0, from);
		}
		if (to) {
			change(plan, CHANGE_LOAD, to, l);
			event(plan, PLAN_LOAD, l, 0, to);
		}
	}
}

static void add_ghost(struct plan *plan, uint32_t model, uint32_t secondary)
{
	uint32_t i = plan->ghosts_next.count;
	while (i > 0 && plan->ghosts_next.at[i - 1].model == model &&
		plan->ghosts_next.at[i - 1].secondary >= secondary) {
		if (plan->ghosts_next.at[i - 1].secondary == secondary)
			return;
		i--;
	}
	vec_push(&plan->ghosts_next, (struct plan_ghost){model, secondary});
	for (uint32_t k = plan->ghosts_next.count - 1; k > i; k--)
		plan->ghosts_next.at[k] = plan->ghosts_next.at[k - 1];
	plan->ghosts_next.at[i] = (struct plan_ghost){model, secondary};
}

/* A performer near a level that another secondary simulates is known there. */
static void change_ghosts(struct plan *plan)
{
	if (plan->secondaries == 1)
		return;
	plan->ghosts_next.count = 0;
	for (uint32_t p = 0; p < plan->shared->tracker.performers.count; p++) {
		const struct tracked *performer = &plan->shared->tracker.performers.at[p];
		for (uint32_t i = 0; reaches_out(performer) && i < performer->near.count; i++) {
			uint32_t owner = plan->now.level[performer->near.at[i]];
			if (owner && owner != plan->now.model[performer->model])
				add_ghost(plan, performer->model, owner);
		}
	}
	for (uint32_t i = 0, j = 0; i < plan->ghosts.count || j < plan->ghosts_next.count;) {
		struct plan_ghost none = {UINT32_MAX, UINT32_MAX};
		struct plan_ghost old = i < plan->ghosts.count ? plan->ghosts.at[i] : none;
		struct plan_ghost new = j < plan->ghosts_next.count ? plan->ghosts_next.at[j] : none;
		int order = compare_pair(old.model, old.secondary, new.model, new.secondary);
		i += order <= 0;
		j += order >= 0;
		if (order < 0) {
			change(plan, CHANGE_GHOST_OFF, old.secondary, old.model);
			event(plan, PLAN_GHOST_OFF, old.model, 0, old.secondary);
		} else if (order > 0) {
			change(plan, CHANGE_GHOST_ON, new.secondary, new.model);
			event(plan, PLAN_GHOST_ON, new.model, 0, new.secondary);
		}
	}
	plan->ghosts.count = 0;
	for (uint32_t i = 0; i < plan->ghosts_next.count; i++)
		vec_push(&plan->ghosts, plan->ghosts_next.at[i]);
}

/* What a step of each is expected to cost; of those never measured, as much for each body as of the others. */
static void estimate_costs(struct plan *plan)
{
	const uint32_t *known = plan->shared->cost_ns;
	uint64_t cost = 0, bodies = 0;
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (plan->active[m] && known[m] && known[m] != COST_UNKNOWN) {
			cost += known[m];
			bodies += plan->scene->models[m].body_count;
		}
	uint32_t body_cost = bodies ? (uint32_t)MIN(cost / bodies, UINT32_MAX / 2) : PLAN_BODY_NS;
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		plan->model_cost[m] = known[m] != COST_UNKNOWN
					      ? known[m]
					      : (uint32_t)MIN((uint64_t)body_cost * plan->scene->models[m].body_count,
							UINT32_MAX / 2);
}

bool plan_measures(const struct plan *plan, uint64_t k)
{
	bool wanted = plan->measure || (plan->policy->by_cost && plan->secondaries > 1);
	return wanted && k % PLAN_MEASURE_STEPS == 0;
}

static bool must_balance(const struct plan *plan, uint64_t k)
{
	return plan->policy->by_cost && plan->secondaries > 1 && k >= plan->balance_from;
}

static void assign(struct plan *plan, uint64_t k)
{
	const struct scene *scene = plan->scene;
	if (plan->policy->by_cost)
		estimate_costs(plan);
	plan->balance_from = k + PLAN_BALANCE_STEPS;
	struct assign_input input = {
		.secondaries = plan->secondaries,
		.model_count = scene->model_count,
		.level_count = scene->level_count,
		.component_count = find_components(plan),
		.model_component = plan->components.model_component,
		.level_component = plan->components.level_component,
		.model_is_mover = plan->is_mover,
		.model_entered = plan->entered,
		.level_has_performer = plan->has_performer,
		.level_near = plan->level_near,
		.model_pin = plan->pinned ? plan->model_pin : NULL,
		.level_pin = plan->pinned ? plan->level_pin : NULL,
		.model_cost = plan->model_cost,
		.move_cost = PLAN_MOVE_NS,
		.horizon = PLAN_HORIZON_STEPS,
	};
	memcpy(plan->before.model, plan->now.model, scene->model_count * sizeof *plan->now.model);
	memcpy(plan->before.level, plan->now.level, scene->level_count * sizeof *plan->now.level);
	plan->policy->assign(&input, &plan->now, &plan->scratch);
	if (plan->chaos)
		make_chaos(plan, k, input.component_count);
	change_models(plan);
	change_levels(plan);
	change_ghosts(plan);
	plan->assignment_dirty = false;
	plan->pairs_dirty |= plan->changes.count > 0;
	memset(plan->entered, 0, scene->model_count * sizeof *plan->entered);
}

/* Each secondary's pairs; both models of a pair are on one secondary, because they are in one component. */
static void deal_pairs(struct plan *plan)
{
	const struct touch *touch = &plan->shared->touch;
	for (uint32_t s = 0; s < plan->secondaries; s++)
		plan->parts[s].pair_count = 0;
	/* one component, one secondary: whatever else went wrong, a pair is never split */
	for (uint32_t i = 0; i < touch->pairs.count; i++)
		assert(plan->now.model[touch->pairs.at[i].a] == plan->now.model[touch->pairs.at[i].b]);
	for (uint32_t i = 0; i < touch->pairs.count; i++)
		plan->parts[plan->now.model[touch->pairs.at[i].a] - 1].pair_count++;
	plan->pairs.count = 0;
	struct physics_pair *at = vec_append(&plan->pairs, touch->pairs.count);
	struct physics_pair *first = at;
	for (uint32_t s = 0; s < plan->secondaries; s++) {
		plan->parts[s].pairs = at;
		at += plan->parts[s].pair_count;
		plan->parts[s].pair_count = 0;
	}
	for (uint32_t i = 0; i < touch->pairs.count; i++) {
		struct step_part *part = &plan->parts[plan->now.model[touch->pairs.at[i].a] - 1];
		first[part->pairs - first + part->pair_count++] =
			(struct physics_pair){touch->pairs.at[i].a, touch->pairs.at[i].b};
	}
	plan->pairs_dirty = false;
}

/* --- changes of the world ----------------------------------------------------------------------------------------- */

void plan_begin(struct plan *plan)
{
	plan->changes.count = plan->events.count = 0;
	plan->woken = false;
	plan->statics_changed = !plan->begun;
	plan->begun = true;
}

void plan_wake_all(struct plan *plan)
{
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (!plan->scene->models[m].absent)
			wake(plan, m);
}

void plan_add(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	fit(plan);
	touch_fit(&shared->touch);
	tracker_fit(&shared->tracker);
	shared->boxes[model].box = state_model_box(shared->state, model, false);
	shared->cost_ns[model] = COST_UNKNOWN;
	learn(plan, model);
	set_static(plan, model);
	if (plan->scene->models[model].performer && shared->tracker.performer_of[model] == SCENE_NONE)
		tracker_add(&shared->tracker, model);
	uint32_t level = plan->scene->models[model].level;
	if (plan->is_mover[model] || (level != SCENE_NONE && plan->loaded[level]))
		activate(plan, model);
	if (shared->tracker.performer_of[model] != SCENE_NONE)
		look(plan, shared->tracker.performer_of[model]);
}

/* Contacts and ghosts of the past must not be taken for those of whoever gets the place. */
static void forget_past(struct plan *plan, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < plan->contacts.count; i++)
		if (plan->contacts.at[i].a != model && plan->contacts.at[i].b != model)
			plan->contacts.at[kept++] = plan->contacts.at[i];
	plan->assignment_dirty |= kept != plan->contacts.count;
	plan->contacts.count = kept;
	plan->first[model] = 0;
}

void plan_remove(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	deactivate(plan, model);
	if (shared->tracker.performer_of[model] != SCENE_NONE) {
		tracker_remove(&shared->tracker, model);
		plan->levels_dirty = plan->ghosts_dirty = plan->assignment_dirty = true;
	}
	learn(plan, model);
	set_static(plan, model);
	forget_stray(plan, model);
	forget_past(plan, model);
	plan_wake(plan, &shared->boxes[model].box);
}

void plan_placed(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	plan_wake(plan, &shared->boxes[model].box);
	shared->boxes[model].box = state_model_box(shared->state, model, false);
	plan_wake(plan, &shared->boxes[model].box);
	wake(plan, model);
	plan->woken = true;
	if (plan->statics[model]) {
		plan->statics[model] = ++plan->placings;
		plan->statics_changed = true;
	}
	touch_moved(&shared->touch, model);
	plan_strayed(plan, model);
}

void plan_performer(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	const struct scene_model *m = &plan->scene->models[model];
	bool was = shared->tracker.performer_of[model] != SCENE_NONE;
	if (was)
		tracker_remove(&shared->tracker, model);
	learn(plan, model);
	if (m->performer)
		tracker_add(&shared->tracker, model);
	if (m->performer || m->level == SCENE_NONE) {
		forget_stray(plan, model);
		activate(plan, model);
	} else if (!plan->loaded[m->level]) {
		vec_push(&plan->strays, model);
	}
	if (m->performer)
		look(plan, shared->tracker.performer_of[model]);
	plan->levels_dirty = plan->ghosts_dirty = plan->assignment_dirty = true;
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

void plan_step(struct plan *plan, uint64_t k)
{
	update_levels(plan);
	update_strays(plan);
	update_contacts(plan, k);
	if (plan->assignment_dirty || plan->chaos || must_balance(plan, k))
		assign(plan, k);
	else if (plan->ghosts_dirty)
		change_ghosts(plan);
	plan->ghosts_dirty = false;
	if (plan->pairs_dirty)
		deal_pairs(plan);
}

uint64_t plan_hash(const struct plan *plan)
{
	uint64_t sum = 0;
	for (uint32_t l = 0; l < plan->scene->level_count; l++)
		if (plan->loaded[l])
			sum += hash_mix(UINT64_C(0x6c6576656c), l + 1); /* "level" */
	for (uint32_t i = 0; i < plan->strays.count; i++)
		sum += hash_mix(UINT64_C(0x7374726179), plan->scene->models[plan->strays.at[i]].id); /* "stray" */
	return sum;
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

void plan_pack(const struct plan *plan, struct text *out)
{
	pack_u64(out, plan->scene->level_count);
	for (uint32_t l = 0; l < plan->scene->level_count; l++)
		pack_u64(out, plan->loaded[l]);
	pack_u64(out, plan->strays.count);
	for (uint32_t i = 0; i < plan->strays.count; i++)
		pack_u64(out, plan->strays.at[i]);
}

/* The tracker as if all performers had been found just now. */
static void track_anew(struct plan *plan)
{
	struct tracker *tracker = &plan->shared->tracker;
	tracker_fini(tracker);
	tracker_init(tracker, plan->scene);
}

/* Setting up wakes, as it does in a world that goes on; who slept in the state that is resumed sleeps on. */
static uint64_t *keep_still(const struct plan *plan)
{
	uint64_t *still = mem_alloc(plan->scene->model_count * sizeof *still);
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (plan->scene->models[m].body_count && !plan->scene->models[m].absent)
			still[m] = *state_still(plan->shared->state, m, false);
	return still;
}

static void put_back_still(struct plan *plan, uint64_t *still)
{
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (plan->scene->models[m].body_count && !plan->scene->models[m].absent) {
			*state_still(plan->shared->state, m, false) = still[m];
			state_touched(plan->shared->state, m);
		}
	free(still);
}

static bool unpack_levels(struct plan *plan, struct unpack *in)
{
	const struct scene *scene = plan->scene;
	fit(plan);
	touch_fit(&plan->shared->touch);
	track_anew(plan);
	for (uint32_t m = 0; m < scene->model_count; m++) {
		learn(plan, m);
		plan->static_uses[m] = 0;
	}
	plan_reset(plan);
	uint32_t levels = unpack_count(in, UINT32_MAX);
	for (uint32_t l = 0; l < levels && levels == scene->level_count; l++)
		if (unpack_count(in, 1))
			set_loaded(plan, l, true);
	plan->strays.count = 0;
	uint32_t strays = unpack_count(in, scene->model_count);
	for (uint32_t i = 0; i < strays && !in->bad; i++) {
		uint32_t model = unpack_count(in, scene->model_count - 1u);
		const struct scene_model *m = in->bad ? NULL : &scene->models[model];
		if (!m || m->absent || m->is_static || m->level == SCENE_NONE || plan->active[model]) {
			in->bad = true; /* or it is there already: with its level, or as a stray */
			break;
		}
		vec_push(&plan->strays, model);
		activate(plan, model);
	}
	for (uint32_t m = 0; m < scene->model_count; m++) {
		bool exists = static_exists(plan, m);
		plan->statics[m] = exists ? ++plan->placings : 0;
	}
	return !in->bad && levels == scene->level_count;
}

bool plan_unpack(struct plan *plan, struct unpack *in)
{
	uint64_t *still = keep_still(plan);
	bool good = unpack_levels(plan, in);
	put_back_still(plan, still);
	plan->woken = false;
	return good;
}
