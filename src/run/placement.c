/* The stages of placement_step(), in order; each runs only if its inputs have changed:
 *
 *   assignment  of the components that changed, by the policy; then chaos, if requested
 *   changes     for each secondary, and events for the trace
 *   ghosts      performers near a level of another secondary
 *   parts       the pairs of each secondary */
#include "run/placement.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void placement_fit(struct placement *placement)
{
	uint32_t before = placement->room, now = placement->scene->room.models;
	MEM_FIT(placement->first, before, now);
	MEM_FIT(placement->model_pin, before, now);
	ownership_fit(&placement->ownership, now);
	ghosts_fit(&placement->ghosts, now);
	placement->room = now;
}

/* A pin on a secondary that does not exist counts as no pin. */
static uint32_t placement_pin_of(struct placement *placement, uint32_t pin)
{
	pin = pin <= placement->most ? pin : ASSIGN_NONE;
	placement->pinned |= pin != ASSIGN_NONE;
	return pin;
}

void placement_learn_pin(struct placement *placement, uint32_t model)
{
	placement->model_pin[model] = placement_pin_of(placement, placement->scene->models[model].pin);
}

void placement_init(struct placement *placement, const struct shared *shared, uint32_t secondaries,
	const struct assign_policy *policy)
{
	const struct scene *scene = shared->scene;
	*placement = (struct placement){
		.shared = shared, .scene = scene, .secondaries = secondaries, .most = secondaries, .policy = policy};
	ownership_init(&placement->ownership, secondaries, scene->level_count, policy);
	placement_fit(placement);
	placement->level_pin = mem_alloc(scene->level_count * sizeof *placement->level_pin);
	placement->parts = mem_alloc(secondaries * sizeof *placement->parts);
	placement->counts = mem_alloc(secondaries * sizeof *placement->counts);
	placement->places = mem_alloc(secondaries * sizeof *placement->places);
	for (uint32_t l = 0; l < scene->level_count; l++)
		placement->level_pin[l] = placement_pin_of(placement, scene->levels[l].pin);
	for (uint32_t m = 0; m < scene->model_count; m++)
		placement_learn_pin(placement, m);
}

void placement_fini(struct placement *placement)
{
	free(placement->first);
	free(placement->model_pin);
	free(placement->level_pin);
	free(placement->parts);
	free(placement->counts);
	free(placement->places);
	ownership_fini(&placement->ownership);
	ghosts_fini(&placement->ghosts);
	vec_free(&placement->changes);
	vec_free(&placement->events);
	vec_free(&placement->pairs);
	vec_free(&placement->near);
}

void placement_use(struct placement *placement, uint32_t count)
{
	assert(count >= 1 && count <= placement->most);
	placement->secondaries = count;
	placement->shares++;
	placement->shares_anew = true;
	placement->pairs_dirty = true;
	ownership_deal_anew(&placement->ownership, count);
	ghosts_mark_all(&placement->ghosts);
}

void placement_reset(struct placement *placement)
{
	placement->marked = true;
	ghosts_mark_all(&placement->ghosts);
	ownership_reset(&placement->ownership);
	placement->pairs_dirty = true;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

void placement_mark(struct placement *placement, uint32_t model)
{
	placement->marked = true;
	ownership_mark(&placement->ownership, model);
}

void placement_mark_level(struct placement *placement, uint32_t level)
{
	placement->marked = true;
	ownership_mark_level(&placement->ownership, level);
}

void placement_crossed(struct placement *placement, uint32_t model, bool entered)
{
	placement->marked = true;
	if (entered)
		ownership_entered(&placement->ownership, model);
	ghosts_mark(&placement->ghosts, model);
	ownership_mark(&placement->ownership, model);
}

/* Whether the two models were first on different secondaries. A model that was on no secondary yet does not count: it
 * is first assigned together with the models that it touches. */
static bool placement_began_apart(const struct placement *placement, uint32_t a, uint32_t b)
{
	const uint32_t *first = placement->first;
	return first[a] && first[b] && first[a] != first[b];
}

void placement_link(struct placement *placement, uint32_t a, uint32_t b)
{
	ownership_link(&placement->ownership, a, b);
}

void placement_meet(struct placement *placement, uint32_t a, uint32_t b)
{
	placement->meetings += placement_began_apart(placement, a, b);
}

void placement_cut(struct placement *placement, uint32_t a, uint32_t b)
{
	ownership_cut(&placement->ownership, a, b);
}

void placement_forget(struct placement *placement, uint32_t model)
{
	placement->first[model] = 0;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static void placement_change(struct placement *placement, enum change_kind kind, uint32_t secondary, uint32_t id)
{
	vec_push(&placement->changes, (struct change){kind, secondary, id});
}

static void placement_note_event(
	struct placement *placement, enum placement_event_kind kind, uint32_t id, uint32_t from, uint32_t to)
{
	vec_push(&placement->events, (struct placement_event){kind, id, from, to});
}

/* Whether a change of its secondary counts as a move: the models of a level go with the level. */
static bool placement_moves_alone(const struct placement *placement, const struct loading *loading, uint32_t model)
{
	uint32_t level = placement->scene->models[model].level;
	return loading->is_mover[model] || (level != SCENE_NONE && !loading->loaded[level]);
}

static void placement_change_models(struct placement *placement, const struct loading *loading)
{
	for (uint32_t i = 0; i < placement->ownership.models.count; i++) {
		struct ownership_change of = placement->ownership.models.at[i];
		ghosts_mark(&placement->ghosts, of.id);
		if (of.from)
			placement_change(placement, CHANGE_RELEASE, of.from, of.id);
		if (of.to)
			placement_change(placement, CHANGE_TAKE, of.to, of.id);
		if (!placement->first[of.id])
			placement->first[of.id] = of.to;
		if (of.from && of.to && of.from != of.to && placement_moves_alone(placement, loading, of.id)) {
			placement_note_event(placement, placement->shares_anew ? PLACEMENT_SHARE : PLACEMENT_MOVE,
				of.id, of.from, of.to);
			placement->moves += !placement->shares_anew;
		}
	}
}

static void placement_change_levels(struct placement *placement)
{
	for (uint32_t i = 0; i < placement->ownership.levels.count; i++) {
		struct ownership_change of = placement->ownership.levels.at[i];
		ghosts_mark_around(&placement->ghosts, &placement->shared->tracker, of.id);
		if (of.from) {
			placement_change(placement, CHANGE_UNLOAD, of.from, of.id);
			placement_note_event(placement, PLACEMENT_UNLOAD, of.id, 0, of.from);
		}
		if (of.to) {
			placement_change(placement, CHANGE_LOAD, of.to, of.id);
			placement_note_event(placement, PLACEMENT_LOAD, of.id, 0, of.to);
		}
	}
}

static bool placement_is_before(struct ghost a, struct ghost b)
{
	return a.model != b.model ? a.model < b.model : a.secondary < b.secondary;
}

/* A performer is a ghost at each other secondary that simulates a level near it. */
static void placement_change_ghosts(struct placement *placement)
{
	if (placement->most == 1 ||
		!ghosts_find(&placement->ghosts, &placement->shared->tracker, &placement->ownership.now))
		return;
	const ghost_list *before = &placement->ghosts.before, *now = &placement->ghosts.now;
	for (uint32_t i = 0, j = 0; i < before->count || j < now->count;) {
		struct ghost none = {UINT32_MAX, UINT32_MAX};
		struct ghost old = i < before->count ? before->at[i] : none;
		struct ghost new = j < now->count ? now->at[j] : none;
		bool went = placement_is_before(old, new), came = placement_is_before(new, old);
		i += !came;
		j += !went;
		if (went) {
			placement_change(placement, CHANGE_GHOST_OFF, old.secondary, old.model);
			placement_note_event(placement, PLACEMENT_GHOST_OFF, old.model, 0, old.secondary);
		} else if (came) {
			placement_change(placement, CHANGE_GHOST_ON, new.secondary, new.model);
			placement_note_event(placement, PLACEMENT_GHOST_ON, new.model, 0, new.secondary);
		}
	}
}

/* --- assignment --------------------------------------------------------------------------------------------------- */

bool placement_measures(const struct placement *placement, uint64_t k, uint32_t window)
{
	uint64_t due = (k + PLACEMENT_MEASURE_STEPS - 1) / PLACEMENT_MEASURE_STEPS * PLACEMENT_MEASURE_STEPS;
	return (placement->measure || placement_balances(placement)) && due < k + window;
}

/* Calls the policy with the whole world, though perhaps nothing has changed. */
static void placement_ask_unasked(struct placement *placement, const struct loading *loading, uint64_t k)
{
	ownership_open_all(&placement->ownership);
	if (!placement_balances(placement))
		return;
	placement->balance_from = k + PLACEMENT_BALANCE_STEPS;
	placement->body_cost = cost_of_body(&placement->shared->costs, placement->scene, loading->active);
}

/* Moves random components to random secondaries. Their models are taken over anew, also on the same secondary. A window
 * has the moves of all its steps when it begins. */
static void placement_make_chaos(struct placement *placement, uint64_t k)
{
	uint32_t count = placement->ownership.part.component_count;
	for (uint64_t step = k; count && step < k + MAX(placement->window, 1u); step++) {
		uint64_t random = hash_mix(placement->chaos_seed, step + 1);
		uint32_t moves = placement->chaos_moves ? placement->chaos_moves : random % 4 == 0;
		for (uint32_t i = 0; i < moves; i++)
			ownership_move(&placement->ownership, (uint32_t)(hash_mix(random, 2 * i + 1) % count),
				(uint32_t)(hash_mix(random, 2 * i + 2) % placement->secondaries) + 1);
	}
}

static struct ownership_input placement_input_of(const struct placement *placement, const struct loading *loading)
{
	return (struct ownership_input){
		.scene = placement->scene,
		.tracker = &placement->shared->tracker,
		.active = loading->active,
		.loaded = loading->loaded,
		.is_mover = loading->is_mover,
		.model_pin = placement->pinned ? placement->model_pin : NULL,
		.level_pin = placement->pinned ? placement->level_pin : NULL,
		.cost_ns = placement->policy->by_cost ? placement->shared->costs.ns : NULL,
		.body_cost = placement->body_cost,
		.move_cost = PLACEMENT_MOVE_NS,
		.horizon = PLACEMENT_HORIZON_STEPS,
	};
}

static void placement_commit(struct placement *placement, const struct loading *loading)
{
	ownership_commit(&placement->ownership);
	placement_change_models(placement, loading);
	placement_change_levels(placement);
	placement->pairs_dirty |= placement->changes.count > 0;
}

static void placement_assign(struct placement *placement, const struct loading *loading, uint64_t k)
{
	const struct ownership_input view = placement_input_of(placement, loading);
	ownership_find(&placement->ownership, &view);
	if (placement->chaos)
		placement_make_chaos(placement, k);
	placement_commit(placement, loading);
}

/* The policy is asked as if no model existed and no level were loaded. */
void placement_empty(struct placement *placement, const struct loading *loading)
{
	struct ownership_input view = placement_input_of(placement, loading);
	uint32_t nodes = MAX(placement->room, placement->scene->level_count);
	bool *none = mem_alloc(nodes * sizeof *none);
	view.active = view.loaded = none;
	placement->changes.count = placement->events.count = 0;
	placement_reset(placement);
	ownership_find(&placement->ownership, &view);
	placement_commit(placement, loading);
	placement_change_ghosts(placement);
	for (uint32_t s = 0; s < placement->most; s++)
		placement->parts[s].pair_count = 0;
	placement_reset(placement);
	free(none);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Sorts pairs by secondary, and counts those of each. */
static void placement_deal(struct placement *placement, const touch_pairs *pairs, physics_pairs *ret_dealt)
{
	const uint32_t *owner = placement->ownership.now.model;
	uint32_t *counts = placement->counts, *places = placement->places;
	memset(counts, 0, placement->most * sizeof *counts);
	/* no pair is ever split, whatever other errors there are */
	for (uint32_t i = 0; i < pairs->count; i++)
		assert(owner[pairs->at[i].a] == owner[pairs->at[i].b]);
	for (uint32_t i = 0; i < pairs->count; i++)
		counts[owner[pairs->at[i].a] - 1]++;
	for (uint32_t s = 0, at = 0; s < placement->most; at += counts[s++])
		places[s] = at;
	ret_dealt->count = 0;
	struct physics_pair *first = vec_append(ret_dealt, pairs->count);
	for (uint32_t i = 0; i < pairs->count; i++)
		first[places[owner[pairs->at[i].a] - 1]++] = (struct physics_pair){pairs->at[i].a, pairs->at[i].b};
}

/* The pairs of each secondary. Both models of a pair are in one component, so they are on one secondary. */
static void placement_deal_pairs(struct placement *placement)
{
	const struct touch *touch = &placement->shared->touch;
	placement_deal(placement, &touch->pairs, &placement->pairs);
	for (uint32_t s = 0, at = 0; s < placement->most; s++) {
		placement->parts[s].pairs = placement->pairs.at + at;
		placement->parts[s].pair_count = placement->counts[s];
		at += placement->counts[s];
	}
	placement->pairs_dirty = false;
}

void placement_deal_near(struct placement *placement, bool some)
{
	static const touch_pairs none = {0};
	placement_deal(placement, some ? &placement->shared->touch.near : &none, &placement->near);
	for (uint32_t s = 0, at = 0; s < placement->most; s++) {
		placement->parts[s].near = placement->near.at + at;
		placement->parts[s].near_count = placement->counts[s];
		at += placement->counts[s];
	}
}

void placement_decide(struct placement *placement, const struct loading *loading, uint64_t k)
{
	if (placement_asks_unasked(placement, k))
		placement_ask_unasked(placement, loading, k);
	if (placement->ownership.dirty)
		placement_assign(placement, loading, k);
	placement->epoch += placement->marked;
	placement->marked = false;
	placement_change_ghosts(placement);
	if (placement->pairs_dirty)
		placement_deal_pairs(placement);
	placement->shares_anew = false;
}
