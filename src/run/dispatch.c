/* The stages of dispatch_step(), in order; each runs only if its inputs have changed:
 *
 *   assignment  of the components that changed, by the policy; then chaos, if requested
 *   changes     for each secondary, and events for the trace
 *   ghosts      performers near a level of another secondary
 *   parts       the pairs of each secondary */
#include "run/dispatch.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void dispatch_fit(struct dispatch *dispatch)
{
	uint32_t before = dispatch->room, now = dispatch->scene->room.models;
	MEM_FIT(dispatch->first, before, now);
	MEM_FIT(dispatch->model_pin, before, now);
	roster_fit(&dispatch->roster, now);
	ghosts_fit(&dispatch->ghosts, now);
	dispatch->room = now;
}

/* A pin on a secondary that does not exist counts as no pin. */
static uint32_t dispatch_pin_of(struct dispatch *dispatch, uint32_t pin)
{
	pin = pin <= dispatch->most ? pin : ASSIGN_NONE;
	dispatch->pinned |= pin != ASSIGN_NONE;
	return pin;
}

void dispatch_learn_pin(struct dispatch *dispatch, uint32_t model)
{
	dispatch->model_pin[model] = dispatch_pin_of(dispatch, dispatch->scene->models[model].pin);
}

void dispatch_init(struct dispatch *dispatch, const struct shared *shared, uint32_t secondaries,
	const struct assign_policy *policy)
{
	const struct scene *scene = shared->scene;
	*dispatch = (struct dispatch){
		.shared = shared, .scene = scene, .secondaries = secondaries, .most = secondaries, .policy = policy};
	roster_init(&dispatch->roster, secondaries, scene->level_count, policy);
	dispatch_fit(dispatch);
	dispatch->level_pin = mem_alloc(scene->level_count * sizeof *dispatch->level_pin);
	dispatch->parts = mem_alloc(secondaries * sizeof *dispatch->parts);
	dispatch->counts = mem_alloc(secondaries * sizeof *dispatch->counts);
	dispatch->places = mem_alloc(secondaries * sizeof *dispatch->places);
	for (uint32_t l = 0; l < scene->level_count; l++)
		dispatch->level_pin[l] = dispatch_pin_of(dispatch, scene->levels[l].pin);
	for (uint32_t m = 0; m < scene->model_count; m++)
		dispatch_learn_pin(dispatch, m);
}

void dispatch_fini(struct dispatch *dispatch)
{
	free(dispatch->first);
	free(dispatch->model_pin);
	free(dispatch->level_pin);
	free(dispatch->parts);
	free(dispatch->counts);
	free(dispatch->places);
	roster_fini(&dispatch->roster);
	ghosts_fini(&dispatch->ghosts);
	vec_free(&dispatch->changes);
	vec_free(&dispatch->events);
	vec_free(&dispatch->pairs);
	vec_free(&dispatch->near);
}

void dispatch_use(struct dispatch *dispatch, uint32_t count)
{
	assert(count >= 1 && count <= dispatch->most);
	dispatch->secondaries = count;
	dispatch->shares++;
	dispatch->shares_anew = true;
	dispatch->pairs_dirty = true;
	roster_deal_anew(&dispatch->roster, count);
	ghosts_mark_all(&dispatch->ghosts);
}

void dispatch_reset(struct dispatch *dispatch)
{
	ghosts_mark_all(&dispatch->ghosts);
	roster_reset(&dispatch->roster);
	dispatch->pairs_dirty = true;
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

void dispatch_mark(struct dispatch *dispatch, uint32_t model)
{
	roster_mark(&dispatch->roster, model);
}

void dispatch_mark_level(struct dispatch *dispatch, uint32_t level)
{
	roster_mark_level(&dispatch->roster, level);
}

void dispatch_crossed(struct dispatch *dispatch, uint32_t model, bool entered)
{
	if (entered)
		roster_entered(&dispatch->roster, model);
	ghosts_mark(&dispatch->ghosts, model);
	roster_mark(&dispatch->roster, model);
}

/* Whether the two models were first on different secondaries. A model that was on no secondary yet does not count: it
 * is first assigned together with the models that it touches. */
static bool dispatch_began_apart(const struct dispatch *dispatch, uint32_t a, uint32_t b)
{
	const uint32_t *first = dispatch->first;
	return first[a] && first[b] && first[a] != first[b];
}

void dispatch_link(struct dispatch *dispatch, uint32_t a, uint32_t b)
{
	roster_link(&dispatch->roster, a, b);
}

void dispatch_meet(struct dispatch *dispatch, uint32_t a, uint32_t b)
{
	dispatch->meetings += dispatch_began_apart(dispatch, a, b);
}

void dispatch_cut(struct dispatch *dispatch, uint32_t a, uint32_t b)
{
	roster_cut(&dispatch->roster, a, b);
}

void dispatch_forget(struct dispatch *dispatch, uint32_t model)
{
	dispatch->first[model] = 0;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static void dispatch_change(struct dispatch *dispatch, enum change_kind kind, uint32_t secondary, uint32_t id)
{
	vec_push(&dispatch->changes, (struct change){kind, secondary, id});
}

static void dispatch_note_event(
	struct dispatch *dispatch, enum dispatch_event_kind kind, uint32_t id, uint32_t from, uint32_t to)
{
	vec_push(&dispatch->events, (struct dispatch_event){kind, id, from, to});
}

/* Whether a change of its secondary counts as a move: the models of a level go with the level. */
static bool dispatch_moves_alone(const struct dispatch *dispatch, const struct loading *loading, uint32_t model)
{
	uint32_t level = dispatch->scene->models[model].level;
	return loading->is_mover[model] || (level != SCENE_NONE && !loading->loaded[level]);
}

static void dispatch_change_models(struct dispatch *dispatch, const struct loading *loading)
{
	for (uint32_t i = 0; i < dispatch->roster.models.count; i++) {
		struct roster_change of = dispatch->roster.models.at[i];
		ghosts_mark(&dispatch->ghosts, of.id);
		if (of.from)
			dispatch_change(dispatch, CHANGE_RELEASE, of.from, of.id);
		if (of.to)
			dispatch_change(dispatch, CHANGE_TAKE, of.to, of.id);
		if (!dispatch->first[of.id])
			dispatch->first[of.id] = of.to;
		if (of.from && of.to && of.from != of.to && dispatch_moves_alone(dispatch, loading, of.id)) {
			dispatch_note_event(dispatch, dispatch->shares_anew ? DISPATCH_SHARE : DISPATCH_MOVE, of.id,
				of.from, of.to);
			dispatch->moves += !dispatch->shares_anew;
		}
	}
}

static void dispatch_change_levels(struct dispatch *dispatch)
{
	for (uint32_t i = 0; i < dispatch->roster.levels.count; i++) {
		struct roster_change of = dispatch->roster.levels.at[i];
		ghosts_mark_around(&dispatch->ghosts, &dispatch->shared->tracker, of.id);
		if (of.from) {
			dispatch_change(dispatch, CHANGE_UNLOAD, of.from, of.id);
			dispatch_note_event(dispatch, DISPATCH_UNLOAD, of.id, 0, of.from);
		}
		if (of.to) {
			dispatch_change(dispatch, CHANGE_LOAD, of.to, of.id);
			dispatch_note_event(dispatch, DISPATCH_LOAD, of.id, 0, of.to);
		}
	}
}

static bool dispatch_is_before(struct ghost a, struct ghost b)
{
	return a.model != b.model ? a.model < b.model : a.secondary < b.secondary;
}

/* A performer is a ghost at each other secondary that simulates a level near it. */
static void dispatch_change_ghosts(struct dispatch *dispatch)
{
	if (dispatch->most == 1 || !ghosts_find(&dispatch->ghosts, &dispatch->shared->tracker, &dispatch->roster.now))
		return;
	const ghost_list *before = &dispatch->ghosts.before, *now = &dispatch->ghosts.now;
	for (uint32_t i = 0, j = 0; i < before->count || j < now->count;) {
		struct ghost none = {UINT32_MAX, UINT32_MAX};
		struct ghost old = i < before->count ? before->at[i] : none;
		struct ghost new = j < now->count ? now->at[j] : none;
		bool went = dispatch_is_before(old, new), came = dispatch_is_before(new, old);
		i += !came;
		j += !went;
		if (went) {
			dispatch_change(dispatch, CHANGE_GHOST_OFF, old.secondary, old.model);
			dispatch_note_event(dispatch, DISPATCH_GHOST_OFF, old.model, 0, old.secondary);
		} else if (came) {
			dispatch_change(dispatch, CHANGE_GHOST_ON, new.secondary, new.model);
			dispatch_note_event(dispatch, DISPATCH_GHOST_ON, new.model, 0, new.secondary);
		}
	}
}

/* --- assignment --------------------------------------------------------------------------------------------------- */

bool dispatch_measures(const struct dispatch *dispatch, uint64_t k, uint32_t window)
{
	uint64_t due = (k + DISPATCH_MEASURE_STEPS - 1) / DISPATCH_MEASURE_STEPS * DISPATCH_MEASURE_STEPS;
	return (dispatch->measure || dispatch_balances(dispatch)) && due < k + window;
}

/* Calls the policy with the whole world, though perhaps nothing has changed. */
static void dispatch_ask_unasked(struct dispatch *dispatch, const struct loading *loading, uint64_t k)
{
	roster_open_all(&dispatch->roster);
	if (!dispatch_balances(dispatch))
		return;
	dispatch->balance_from = k + DISPATCH_BALANCE_STEPS;
	dispatch->body_cost = cost_of_body(&dispatch->shared->costs, dispatch->scene, loading->active);
}

/* Moves random components to random secondaries. Their models are taken over anew, also on the same secondary. A window
 * has the moves of all its steps when it begins. */
static void dispatch_make_chaos(struct dispatch *dispatch, uint64_t k)
{
	uint32_t count = dispatch->roster.part.component_count;
	for (uint64_t step = k; count && step < k + MAX(dispatch->window, 1u); step++) {
		uint64_t random = hash_mix(dispatch->chaos_seed, step + 1);
		uint32_t moves = dispatch->chaos_moves ? dispatch->chaos_moves : random % 4 == 0;
		for (uint32_t i = 0; i < moves; i++)
			roster_move(&dispatch->roster, (uint32_t)(hash_mix(random, 2 * i + 1) % count),
				(uint32_t)(hash_mix(random, 2 * i + 2) % dispatch->secondaries) + 1);
	}
}

static struct roster_view dispatch_view_of(const struct dispatch *dispatch, const struct loading *loading)
{
	return (struct roster_view){
		.scene = dispatch->scene,
		.tracker = &dispatch->shared->tracker,
		.active = loading->active,
		.loaded = loading->loaded,
		.is_mover = loading->is_mover,
		.model_pin = dispatch->pinned ? dispatch->model_pin : NULL,
		.level_pin = dispatch->pinned ? dispatch->level_pin : NULL,
		.cost_ns = dispatch->policy->by_cost ? dispatch->shared->costs.ns : NULL,
		.body_cost = dispatch->body_cost,
		.move_cost = DISPATCH_MOVE_NS,
		.horizon = DISPATCH_HORIZON_STEPS,
	};
}

static void dispatch_commit(struct dispatch *dispatch, const struct loading *loading)
{
	roster_commit(&dispatch->roster);
	dispatch_change_models(dispatch, loading);
	dispatch_change_levels(dispatch);
	dispatch->pairs_dirty |= dispatch->changes.count > 0;
}

static void dispatch_assign(struct dispatch *dispatch, const struct loading *loading, uint64_t k)
{
	const struct roster_view view = dispatch_view_of(dispatch, loading);
	roster_find(&dispatch->roster, &view);
	if (dispatch->chaos)
		dispatch_make_chaos(dispatch, k);
	dispatch_commit(dispatch, loading);
}

/* The policy is asked as if no model existed and no level were loaded. */
void dispatch_empty(struct dispatch *dispatch, const struct loading *loading)
{
	struct roster_view view = dispatch_view_of(dispatch, loading);
	uint32_t nodes = MAX(dispatch->room, dispatch->scene->level_count);
	bool *none = mem_alloc(nodes * sizeof *none);
	view.active = view.loaded = none;
	dispatch->changes.count = dispatch->events.count = 0;
	dispatch_reset(dispatch);
	roster_find(&dispatch->roster, &view);
	dispatch_commit(dispatch, loading);
	dispatch_change_ghosts(dispatch);
	for (uint32_t s = 0; s < dispatch->most; s++)
		dispatch->parts[s].pair_count = 0;
	dispatch_reset(dispatch);
	free(none);
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Sorts pairs by secondary, and counts those of each. */
static void dispatch_deal(struct dispatch *dispatch, const touch_pairs *pairs, physics_pairs *ret_dealt)
{
	const uint32_t *owner = dispatch->roster.now.model;
	uint32_t *counts = dispatch->counts, *places = dispatch->places;
	memset(counts, 0, dispatch->most * sizeof *counts);
	/* no pair is ever split, whatever other errors there are */
	for (uint32_t i = 0; i < pairs->count; i++)
		assert(owner[pairs->at[i].a] == owner[pairs->at[i].b]);
	for (uint32_t i = 0; i < pairs->count; i++)
		counts[owner[pairs->at[i].a] - 1]++;
	for (uint32_t s = 0, at = 0; s < dispatch->most; at += counts[s++])
		places[s] = at;
	ret_dealt->count = 0;
	struct physics_pair *first = vec_append(ret_dealt, pairs->count);
	for (uint32_t i = 0; i < pairs->count; i++)
		first[places[owner[pairs->at[i].a] - 1]++] = (struct physics_pair){pairs->at[i].a, pairs->at[i].b};
}

/* The pairs of each secondary. Both models of a pair are in one component, so they are on one secondary. */
static void dispatch_deal_pairs(struct dispatch *dispatch)
{
	const struct touch *touch = &dispatch->shared->touch;
	dispatch_deal(dispatch, &touch->pairs, &dispatch->pairs);
	for (uint32_t s = 0, at = 0; s < dispatch->most; s++) {
		dispatch->parts[s].pairs = dispatch->pairs.at + at;
		dispatch->parts[s].pair_count = dispatch->counts[s];
		at += dispatch->counts[s];
	}
	dispatch->pairs_dirty = false;
}

void dispatch_deal_near(struct dispatch *dispatch, bool some)
{
	static const touch_pairs none = {0};
	dispatch_deal(dispatch, some ? &dispatch->shared->touch.near : &none, &dispatch->near);
	for (uint32_t s = 0, at = 0; s < dispatch->most; s++) {
		dispatch->parts[s].near = dispatch->near.at + at;
		dispatch->parts[s].near_count = dispatch->counts[s];
		at += dispatch->counts[s];
	}
}

void dispatch_decide(struct dispatch *dispatch, const struct loading *loading, uint64_t k)
{
	if (dispatch_asks_unasked(dispatch, k))
		dispatch_ask_unasked(dispatch, loading, k);
	if (dispatch->roster.dirty)
		dispatch_assign(dispatch, loading, k);
	dispatch_change_ghosts(dispatch);
	if (dispatch->pairs_dirty)
		dispatch_deal_pairs(dispatch);
	dispatch->shares_anew = false;
}
