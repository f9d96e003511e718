/* The stages of plan_step(), in order. Each stage runs only if its inputs have changed:
 *
 *   levels      loaded while some performer is near; with them come static models and the dynamic models that they name
 *   strays      a level's dynamic model that outlives it while it overlaps a performer or a loaded level's box
 *   pairs       models whose padded boxes overlap in state k (law 4); kept for a while for the assignment
 *   components  performer in level, model named by level, pair
 *   assignment  by the policy; then chaos, if requested
 *   changes     for each secondary, and events for the trace
 */
#include "run/plan.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- set-up ----------------------------------------------------------------------------------------------------- */

static void fit(struct plan *plan)
{
	uint32_t before = plan->room, now = plan->scene->room.models;
	MEM_FIT(plan->active, before, now);
	MEM_FIT(plan->statics, before, now);
	MEM_FIT(plan->is_mover, before, now);
	MEM_FIT(plan->first, before, now);
	MEM_FIT(plan->model_pin, before, now);
	MEM_FIT(plan->shared->cost_ns, before, now);
	memset(plan->shared->cost_ns + before, 0xff, (now - before) * sizeof *plan->shared->cost_ns); /* COST_UNKNOWN */
	roster_fit(&plan->roster, now);
	ghosts_fit(&plan->ghosts, now);
	plan->room = now;
}

/* Derives the pin and is_mover of a model from the scene. */
static void learn(struct plan *plan, uint32_t m)
{
	const struct scene_model *model = &plan->scene->models[m];
	plan->model_pin[m] = model->pin <= plan->most ? model->pin : ASSIGN_NONE;
	plan->pinned |= plan->model_pin[m] != ASSIGN_NONE;
	plan->is_mover[m] = !model->absent && (model->performer || (!model->is_static && model->level == SCENE_NONE));
}

/* A static model exists even when its level is not loaded, because nothing may pass through it (law 4). Runners make
 * its ODE objects when one of their bodies first comes near. */
static bool static_exists(const struct plan *plan, uint32_t m)
{
	const struct scene_model *model = &plan->scene->models[m];
	return model->is_static && !model->absent;
}

static void find_fixed_inputs(struct plan *plan)
{
	const struct scene *scene = plan->scene;
	for (uint32_t l = 0; l < scene->level_count; l++) {
		plan->level_pin[l] = scene->levels[l].pin <= plan->most ? scene->levels[l].pin : ASSIGN_NONE;
		plan->pinned |= plan->level_pin[l] != ASSIGN_NONE;
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
	*plan = (struct plan){.shared = shared,
		.scene = scene,
		.secondaries = secondaries,
		.most = secondaries,
		.policy = policy,
		.placings = 1};
	roster_init(&plan->roster, secondaries, levels, policy);
	fit(plan);
	plan->loaded = mem_alloc(levels * sizeof *plan->loaded);
	plan->level_pin = mem_alloc(levels * sizeof *plan->level_pin);
	plan->parts = mem_alloc(secondaries * sizeof *plan->parts);
	find_fixed_inputs(plan);
	plan_reset(plan);
}

void plan_fini(struct plan *plan)
{
	free(plan->loaded);
	free(plan->active);
	free(plan->statics);
	free(plan->is_mover);
	free(plan->first);
	free(plan->model_pin);
	free(plan->level_pin);
	free(plan->shared->cost_ns);
	plan->shared->cost_ns = NULL;
	free(plan->parts);
	roster_fini(&plan->roster);
	vec_free(&plan->strays);
	vec_free(&plan->found);
	vec_free(&plan->contacts);
	vec_free(&plan->contacts_next);
	ghosts_fini(&plan->ghosts);
	vec_free(&plan->changes);
	vec_free(&plan->events);
	vec_free(&plan->pairs);
	vec_free(&plan->gone);
}

void plan_use(struct plan *plan, uint32_t count)
{
	assert(count >= 1 && count <= plan->most);
	plan->secondaries = count;
	plan->pairs_dirty = true;
	roster_deal_anew(&plan->roster, count);
	ghosts_mark_all(&plan->ghosts);
}

/* --- sleeping --------------------------------------------------------------------------------------------------- */

static void wake(struct plan *plan, uint32_t model)
{
	struct state *state = plan->shared->state;
	if (plan->restoring || !plan->scene->models[model].body_count || !*state_still(state, model, false))
		return;
	*state_still(state, model, false) = 0;
	state_wrote(state, model);
	plan->woken = true;
}

/* The tree holds fat boxes, whose size depends on history; so the exact boxes decide. */
void plan_wake(struct plan *plan, const struct aabb *box)
{
	struct aabb padded = aabb_grow(*box, TOUCH_PAD);
	plan->found.count = 0;
	bvh_query(&plan->shared->touch.tree, &padded, &plan->found);
	for (uint32_t i = 0; i < plan->found.count; i++)
		if (aabb_overlap(&padded, &plan->shared->boxes[plan->found.at[i]].box))
			wake(plan, plan->found.at[i]);
}

/* Wakes the models around a model that came, went or moved: nothing rests on it or hangs from it any more. */
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
	roster_mark(&plan->roster, model);
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
	plan->contacts_due = 0; /* its contacts count no more */
	roster_mark(&plan->roster, model);
}

static void look(struct plan *plan, uint32_t performer)
{
	uint32_t model = plan->shared->tracker.performers.at[performer].model;
	if (!tracker_look(&plan->shared->tracker, performer, state_model_pose(plan->shared->state, model, false).p))
		return;
	if (plan->shared->tracker.performers.at[performer].entered)
		roster_entered(&plan->roster, model);
	plan->levels_dirty = true;
	ghosts_mark(&plan->ghosts, model);
	roster_mark(&plan->roster, model);
}

void plan_strayed(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	bool here = plan->active[model] && plan->scene->models[model].body_count;
	if (here && touch_strayed(&shared->touch, model, &shared->boxes[model].box))
		touch_move(&shared->touch, model, &shared->boxes[model].box);
	uint32_t performer = shared->tracker.performer_of[model];
	if (performer != SCENE_NONE && tracker_must_look(&shared->tracker.performers.at[performer],
					       state_model_pose(shared->state, model, false).p))
		look(plan, performer);
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
	roster_mark_level(&plan->roster, level);
	for (uint32_t i = 0; i < l->model_count; i++) {
		uint32_t model = l->models[i];
		const struct scene_model *m = &plan->scene->models[model];
		if (m->level != level)
			continue;
		if (loaded) {
			forget_stray(plan, model);
			activate(plan, model);
			wake(plan, model); /* the model that it slept on may be gone, or may have moved */
		} else if (!m->absent) {
			vec_push(&plan->strays, model); /* goes unless it must stay: see update_strays() */
		}
	}
}

/* Whether the level is loaded in the coming step. */
static bool is_needed(const struct plan *plan, uint32_t level)
{
	return plan->shared->tracker.near_count[level] > 0;
}

static void update_levels(struct plan *plan)
{
	if (!plan->levels_dirty)
		return;
	plan->levels_dirty = false;
	for (uint32_t l = 0; l < plan->scene->level_count; l++) {
		bool loaded = is_needed(plan, l);
		if (loaded == plan->loaded[l])
			continue;
		plan->loads += loaded;
		set_loaded(plan, l, loaded);
	}
}

/* Whether the box overlaps a model that no level can unload: a performer, or a dynamic model without level. */
static bool meets_mover(struct plan *plan, const struct aabb *box)
{
	plan->found.count = 0;
	bvh_query(&plan->shared->touch.tree, box, &plan->found);
	for (uint32_t i = 0; i < plan->found.count; i++)
		if (plan->is_mover[plan->found.at[i]] && aabb_overlap(box, &plan->shared->boxes[plan->found.at[i]].box))
			return true;
	return false;
}

static bool must_stay(struct plan *plan, uint32_t model)
{
	const struct shared *shared = plan->shared;
	const struct aabb *box = &shared->boxes[model].box;
	if (meets_mover(plan, box))
		return true;
	for (uint32_t p = 0; p < shared->tracker.performers.count; p++) {
		uint32_t performer = shared->tracker.performers.at[p].model;
		struct aabb volume = aabb_around(
			state_model_pose(shared->state, performer, false).p, plan->scene->models[performer].volume);
		if (aabb_overlap(box, &volume) || aabb_overlap(box, &shared->boxes[performer].box))
			return true;
	}
	for (uint32_t l = 0; l < plan->scene->level_count; l++)
		if (is_needed(plan, l) && aabb_overlap(box, &plan->scene->levels[l].box))
			return true;
	return false;
}

bool plan_simulates(struct plan *plan, uint32_t model)
{
	uint32_t level = plan->scene->models[model].level;
	if (plan->is_mover[model] || (level != SCENE_NONE && is_needed(plan, level)))
		return true;
	return plan->active[model] && must_stay(plan, model);
}

static void update_strays(struct plan *plan)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < plan->strays.count; i++) {
		uint32_t model = plan->strays.at[i];
		if (must_stay(plan, model)) {
			plan->strays.at[kept++] = model;
			continue;
		}
		deactivate(plan, model);
		vec_push(&plan->gone, model);
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
}

void plan_measure(struct plan *plan)
{
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (!plan->scene->models[m].absent)
			plan->shared->boxes[m].box = state_model_box(plan->shared->state, m, false);
}

void plan_reset(struct plan *plan)
{
	const struct scene *scene = plan->scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		deactivate(plan, m);
	plan_measure(plan);
	tracker_reset(&plan->shared->tracker);
	ghosts_mark_all(&plan->ghosts);
	for (uint32_t l = 0; l < scene->level_count; l++)
		if (plan->loaded[l]) /* as at the start; update_levels() loads what it must */
			set_loaded(plan, l, false);
	plan->strays.count = 0;
	activate_movers(plan);
	for (uint32_t p = 0; p < plan->shared->tracker.performers.count; p++)
		look(plan, p);
	plan->contacts.count = 0;
	plan->contacts_due = 0; /* contacts are found anew, even if the pairs have not changed */
	plan->levels_dirty = plan->pairs_dirty = true;
	roster_reset(&plan->roster);
}

/* --- contacts --------------------------------------------------------------------------------------------------- */

static int compare_pair(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return a != c ? (a < c ? -1 : 1) : b != d ? (b < d ? -1 : 1) : 0;
}

/* Whether the two models were first on different secondaries. A model that was on no secondary yet does not count: it
 * is first assigned together with the models that it touches. */
static bool began_apart(const struct plan *plan, struct touch_pair pair)
{
	return plan->first[pair.a] && plan->first[pair.b] && plan->first[pair.a] != plan->first[pair.b];
}

/* Whether a contact that has ended still counts for the assignment. */
static bool still_counts(const struct plan *plan, const struct plan_contact *old, uint64_t k)
{
	return old->until > k && plan->active[old->a] && plan->active[old->b];
}

/* Merges the present contacts with the ones that ended lately, in order. */
static void merge_contacts(struct plan *plan, uint64_t k)
{
	const struct touch *touch = &plan->shared->touch;
	plan->contacts_next.count = 0;
	plan->contacts_due = UINT64_MAX;
	for (uint32_t i = 0, j = 0; i < touch->pairs.count || j < plan->contacts.count;) {
		struct plan_contact none = {UINT32_MAX, UINT32_MAX, 0};
		struct plan_contact old = j < plan->contacts.count ? plan->contacts.at[j] : none;
		struct touch_pair pair =
			i < touch->pairs.count ? touch->pairs.at[i] : (struct touch_pair){none.a, none.b};
		int order = compare_pair(pair.a, pair.b, old.a, old.b);
		j += order >= 0;
		if (order <= 0) {
			i++;
			plan->meetings += order < 0 && began_apart(plan, pair);
			if (order < 0)
				roster_link(&plan->roster, pair.a, pair.b);
			vec_push(&plan->contacts_next, (struct plan_contact){pair.a, pair.b, UINT64_MAX});
			continue;
		}
		if (old.until == UINT64_MAX)
			old.until = k + PLAN_KEEP_STEPS;
		if (!still_counts(plan, &old, k)) {
			roster_cut(&plan->roster, old.a, old.b);
			continue;
		}
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
	plan->contacts.count = 0;
	for (uint32_t i = 0; i < plan->contacts_next.count; i++)
		vec_push(&plan->contacts, plan->contacts_next.at[i]);
}

/* --- assignment ------------------------------------------------------------------------------------------------- */

/* Moves random components to random secondaries. Their models are taken over anew, also on the same secondary. */
static void make_chaos(struct plan *plan, uint64_t k)
{
	uint64_t random = hash_mix(plan->chaos_seed, k + 1);
	uint32_t moves = plan->chaos_moves ? plan->chaos_moves : random % 4 == 0;
	uint32_t count = plan->roster.part.component_count;
	for (uint32_t i = 0; count && i < moves; i++)
		roster_move(&plan->roster, (uint32_t)(hash_mix(random, 2 * i + 1) % count),
			(uint32_t)(hash_mix(random, 2 * i + 2) % plan->secondaries) + 1);
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
	for (uint32_t i = 0; i < plan->roster.models.count; i++) {
		struct roster_change of = plan->roster.models.at[i];
		ghosts_mark(&plan->ghosts, of.id);
		if (of.from)
			change(plan, CHANGE_RELEASE, of.from, of.id);
		if (of.to)
			change(plan, CHANGE_TAKE, of.to, of.id);
		if (!plan->first[of.id])
			plan->first[of.id] = of.to;
		if (of.from && of.to && of.from != of.to && (plan->is_mover[of.id] || is_stray(plan, of.id))) {
			event(plan, PLAN_MOVE, of.id, of.from, of.to);
			plan->moves++;
		}
	}
}

static void change_levels(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->roster.levels.count; i++) {
		struct roster_change of = plan->roster.levels.at[i];
		ghosts_mark_around(&plan->ghosts, &plan->shared->tracker, of.id);
		if (of.from) {
			change(plan, CHANGE_UNLOAD, of.from, of.id);
			event(plan, PLAN_UNLOAD, of.id, 0, of.from);
		}
		if (of.to) {
			change(plan, CHANGE_LOAD, of.to, of.id);
			event(plan, PLAN_LOAD, of.id, 0, of.to);
		}
	}
}

/* A performer is a ghost at each other secondary that simulates a level near it. */
static void change_ghosts(struct plan *plan)
{
	if (plan->most == 1 || !ghosts_find(&plan->ghosts, &plan->shared->tracker, &plan->roster.now))
		return;
	const ghost_list *before = &plan->ghosts.before, *now = &plan->ghosts.now;
	for (uint32_t i = 0, j = 0; i < before->count || j < now->count;) {
		struct ghost none = {UINT32_MAX, UINT32_MAX};
		struct ghost old = i < before->count ? before->at[i] : none;
		struct ghost new = j < now->count ? now->at[j] : none;
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
}

/* Guessed cost of a body of a model that was never measured: the mean of the measured ones. */
static uint32_t guess_body_cost(const struct plan *plan)
{
	const uint32_t *known = plan->shared->cost_ns;
	uint64_t cost = 0, bodies = 0;
	for (uint32_t m = 0; m < plan->scene->model_count; m++)
		if (plan->active[m] && known[m] && known[m] != COST_UNKNOWN) {
			cost += known[m];
			bodies += plan->scene->models[m].body_count;
		}
	return bodies ? (uint32_t)MIN(cost / bodies, UINT32_MAX / 2) : PLAN_BODY_NS;
}

bool plan_measures(const struct plan *plan, uint64_t k)
{
	bool wanted = plan->measure || (plan->policy->by_cost && plan->secondaries > 1);
	return wanted && k % PLAN_MEASURE_STEPS == 0;
}

/* Under chaos the policy sees the whole world. A policy by cost sees it now and then, since costs change without any
 * other change. */
static void mark_unasked(struct plan *plan, uint64_t k)
{
	bool balances = plan->policy->by_cost && plan->secondaries > 1;
	if (plan->chaos || (balances && k >= plan->balance_from))
		roster_open_all(&plan->roster);
	if (!balances || !plan->roster.all)
		return;
	plan->balance_from = k + PLAN_BALANCE_STEPS;
	plan->body_cost = guess_body_cost(plan);
}

static void assign(struct plan *plan, uint64_t k)
{
	const struct roster_view view = {
		.scene = plan->scene,
		.tracker = &plan->shared->tracker,
		.active = plan->active,
		.loaded = plan->loaded,
		.is_mover = plan->is_mover,
		.model_pin = plan->pinned ? plan->model_pin : NULL,
		.level_pin = plan->pinned ? plan->level_pin : NULL,
		.cost_ns = plan->policy->by_cost ? plan->shared->cost_ns : NULL,
		.body_cost = plan->body_cost,
		.move_cost = PLAN_MOVE_NS,
		.horizon = PLAN_HORIZON_STEPS,
	};
	roster_find(&plan->roster, &view);
	if (plan->chaos)
		make_chaos(plan, k);
	roster_commit(&plan->roster);
	change_models(plan);
	change_levels(plan);
	plan->pairs_dirty |= plan->changes.count > 0;
}

/* The pairs of each secondary. Both models of a pair are in one component, so they are on one secondary. */
static void deal_pairs(struct plan *plan)
{
	const struct touch *touch = &plan->shared->touch;
	for (uint32_t s = 0; s < plan->most; s++)
		plan->parts[s].pair_count = 0;
	/* a pair is never split, whatever else went wrong */
	for (uint32_t i = 0; i < touch->pairs.count; i++)
		assert(plan->roster.now.model[touch->pairs.at[i].a] == plan->roster.now.model[touch->pairs.at[i].b]);
	for (uint32_t i = 0; i < touch->pairs.count; i++)
		plan->parts[plan->roster.now.model[touch->pairs.at[i].a] - 1].pair_count++;
	plan->pairs.count = 0;
	struct physics_pair *at = vec_append(&plan->pairs, touch->pairs.count);
	struct physics_pair *first = at;
	for (uint32_t s = 0; s < plan->most; s++) {
		plan->parts[s].pairs = at;
		at += plan->parts[s].pair_count;
		plan->parts[s].pair_count = 0;
	}
	for (uint32_t i = 0; i < touch->pairs.count; i++) {
		struct step_part *part = &plan->parts[plan->roster.now.model[touch->pairs.at[i].a] - 1];
		first[part->pairs - first + part->pair_count++] =
			(struct physics_pair){touch->pairs.at[i].a, touch->pairs.at[i].b};
	}
	plan->pairs_dirty = false;
}

/* --- changes of the world ----------------------------------------------------------------------------------------- */

void plan_begin(struct plan *plan)
{
	plan->changes.count = plan->events.count = plan->gone.count = 0;
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

/* Drops the model's contacts, so that they are not taken for those of the next model in this place. */
static void forget_past(struct plan *plan, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < plan->contacts.count; i++) {
		struct plan_contact contact = plan->contacts.at[i];
		if (contact.a != model && contact.b != model)
			plan->contacts.at[kept++] = contact;
		else
			roster_cut(&plan->roster, contact.a, contact.b);
	}
	plan->contacts.count = kept;
	plan->first[model] = 0;
}

void plan_remove(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	vec_push(&plan->gone, model);
	deactivate(plan, model);
	if (shared->tracker.performer_of[model] != SCENE_NONE) {
		tracker_remove(&shared->tracker, model);
		roster_mark(&plan->roster, model);
		ghosts_mark(&plan->ghosts, model);
		plan->levels_dirty = true;
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
	vec_push(&plan->gone, model);
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

void plan_pushed(struct plan *plan, uint32_t model)
{
	wake(plan, model);
	plan->woken = true;
}

void plan_performer(struct plan *plan, uint32_t model)
{
	struct shared *shared = plan->shared;
	const struct scene_model *m = &plan->scene->models[model];
	bool was = shared->tracker.performer_of[model] != SCENE_NONE;
	if (was)
		tracker_remove(&shared->tracker, model);
	learn(plan, model);
	set_static(plan, model); /* a static performer exists whether its levels are loaded or not */
	if (m->performer)
		tracker_add(&shared->tracker, model);
	if (m->is_static && !m->performer) {
		deactivate(plan, model);
	} else if (m->performer || m->level == SCENE_NONE) {
		forget_stray(plan, model);
		activate(plan, model);
	} else if (!plan->loaded[m->level]) {
		vec_push(&plan->strays, model);
	}
	if (m->performer)
		look(plan, shared->tracker.performer_of[model]);
	roster_mark(&plan->roster, model);
	ghosts_mark(&plan->ghosts, model);
	plan->levels_dirty = true;
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

void plan_step(struct plan *plan, uint64_t k)
{
	update_levels(plan);
	update_strays(plan);
	update_contacts(plan, k);
	mark_unasked(plan, k);
	if (plan->roster.dirty)
		assign(plan, k);
	change_ghosts(plan);
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
	pack_u64(out, plan->loads);
	pack_u64(out, plan->strays.count);
	for (uint32_t i = 0; i < plan->strays.count; i++)
		pack_u64(out, plan->strays.at[i]);
}

/* Makes the tracker anew, as if all performers had just been found. */
static void track_anew(struct plan *plan)
{
	struct tracker *tracker = &plan->shared->tracker;
	tracker_fini(tracker);
	tracker_init(tracker, plan->scene);
}

static bool unpack_levels(struct plan *plan, struct unpack *in)
{
	const struct scene *scene = plan->scene;
	fit(plan);
	touch_fit(&plan->shared->touch);
	track_anew(plan);
	for (uint32_t m = 0; m < scene->model_count; m++)
		learn(plan, m);
	plan_reset(plan);
	uint32_t levels = unpack_count(in, UINT32_MAX);
	for (uint32_t l = 0; l < levels && levels == scene->level_count; l++)
		if (unpack_count(in, 1))
			set_loaded(plan, l, true);
	plan->loads = unpack_u64(in);
	plan->strays.count = 0;
	uint32_t strays = unpack_count(in, scene->model_count);
	for (uint32_t i = 0; i < strays && !in->bad; i++) {
		uint32_t model = unpack_count(in, scene->model_count - 1u);
		const struct scene_model *m = in->bad ? NULL : &scene->models[model];
		if (!m || m->absent || m->level == SCENE_NONE || plan->active[model]) {
			in->bad = true; /* or it exists already: with its level, or as a stray */
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
	plan->restoring = true; /* models asleep in the saved state stay asleep */
	bool good = unpack_levels(plan, in);
	plan->restoring = false;
	return good;
}

void plan_pack_pins(const struct plan *plan, struct text *out)
{
	const struct scene *scene = plan->scene;
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
		learn(plan, model);
	}
	return !in->bad;
}
