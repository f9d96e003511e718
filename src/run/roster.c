/* Open components are taken out of the secondaries' loads, shown to the policy, and given to the secondaries that the
 * policy names. */
#include "run/roster.h"

#include "run/step.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- set-up ------------------------------------------------------------------------------------------------------- */

static uint32_t roster_words(uint32_t nodes)
{
	return nodes / 64 + 1;
}

static void roster_fit_nodes(struct roster *roster, uint32_t before, uint32_t now)
{
	components_fit(&roster->components, now);
	MEM_FIT(roster->is_marked, before, now);
	MEM_FIT(roster->taken, before ? roster_words(before) : 0, roster_words(now));
}

void roster_init(struct roster *roster, uint32_t secondaries, uint32_t level_count, const struct assign_policy *policy)
{
	*roster = (struct roster){.secondaries = secondaries, .level_count = level_count, .policy = policy};
	components_init(&roster->components, secondaries + 1);
	roster->now.level = mem_alloc(level_count * sizeof *roster->now.level);
	roster->have = mem_alloc((secondaries + 1) * sizeof *roster->have);
	roster->leader = mem_alloc(level_count * sizeof *roster->leader);
	if (level_count)
		memset(roster->leader, 0xff, level_count * sizeof *roster->leader);
	roster_fit_nodes(roster, 0, level_count);
}

static void roster_assignment_free(struct assignment *assignment)
{
	free(assignment->model);
	free(assignment->level);
	free(assignment->home);
	free(assignment->component_of);
}

static void roster_part_free(struct roster_part *part)
{
	vec_free(&part->models);
	vec_free(&part->levels);
	vec_free(&part->moved_to);
	roster_assignment_free(&part->now);
	free(part->model_component);
	free(part->level_component);
	free(part->active);
	free(part->is_mover);
	free(part->entered);
	free(part->loaded);
	free(part->has_performer);
	free(part->model_pin);
	free(part->level_pin);
	free(part->level_near);
	free(part->model_cost);
}

void roster_fini(struct roster *roster)
{
	roster_assignment_free(&roster->now);
	roster_part_free(&roster->part);
	vec_free(&roster->models);
	vec_free(&roster->levels);
	vec_free(&roster->marked);
	vec_free(&roster->entries);
	vec_free(&roster->homes);
	vec_free(&roster->wanted);
	free(roster->is_marked);
	free(roster->entered);
	free(roster->taken);
	free(roster->weight);
	free(roster->have);
	free(roster->leader);
	components_fini(&roster->components);
	assign_scratch_fini(&roster->scratch);
}

void roster_fit(struct roster *roster, uint32_t models)
{
	if (models <= roster->room)
		return;
	roster_fit_nodes(roster, roster->level_count + roster->room, roster->level_count + models);
	MEM_FIT(roster->now.model, roster->room, models);
	MEM_FIT(roster->now.home, roster->room, models);
	MEM_FIT(roster->entered, roster->room, models);
	MEM_FIT(roster->weight, roster->room, models);
	roster->room = models;
}

/* Grows the part's arrays to the size of its lists. */
static void roster_part_fit(struct roster_part *part)
{
	uint32_t before = part->model_room, now = part->models.room;
	if (now > before) {
		MEM_FIT(part->now.model, before, now);
		MEM_FIT(part->now.home, before, now);
		MEM_FIT(part->now.component_of, before, now);
		MEM_FIT(part->model_component, before, now);
		MEM_FIT(part->active, before, now);
		MEM_FIT(part->is_mover, before, now);
		MEM_FIT(part->entered, before, now);
		MEM_FIT(part->model_pin, before, now);
		MEM_FIT(part->model_cost, before, now);
		part->model_room = now;
	}
	before = part->level_room, now = part->levels.room;
	if (now > before) {
		MEM_FIT(part->now.level, before, now);
		MEM_FIT(part->level_component, before, now);
		MEM_FIT(part->loaded, before, now);
		MEM_FIT(part->has_performer, before, now);
		MEM_FIT(part->level_pin, before, now);
		MEM_FIT(part->level_near, before, now);
		part->level_room = now;
	}
}

/* --- marking ------------------------------------------------------------------------------------------------------ */

static uint32_t roster_node_of(const struct roster *roster, uint32_t model)
{
	return roster->level_count + model;
}

static void roster_mark_node(struct roster *roster, uint32_t node)
{
	roster->dirty = true;
	if (roster->is_marked[node])
		return;
	roster->is_marked[node] = true;
	vec_push(&roster->marked, node);
}

void roster_mark(struct roster *roster, uint32_t model)
{
	roster_mark_node(roster, roster_node_of(roster, model));
}

void roster_mark_level(struct roster *roster, uint32_t level)
{
	roster_mark_node(roster, level);
}

void roster_entered(struct roster *roster, uint32_t model)
{
	if (!roster->entered[model])
		vec_push(&roster->entries, model);
	roster->entered[model] = true;
}

void roster_link(struct roster *roster, uint32_t a, uint32_t b)
{
	roster->dirty = true;
	components_link(&roster->components, roster_node_of(roster, a), roster_node_of(roster, b));
}

void roster_cut(struct roster *roster, uint32_t a, uint32_t b)
{
	roster->dirty = true;
	components_cut(&roster->components, roster_node_of(roster, a), roster_node_of(roster, b));
}

void roster_open_all(struct roster *roster)
{
	roster->all = roster->dirty = true;
}

void roster_deal_anew(struct roster *roster, uint32_t secondaries)
{
	roster->secondaries = secondaries;
	roster->anew = true;
	roster_open_all(roster);
}

void roster_reset(struct roster *roster)
{
	components_reset(&roster->components);
	for (uint32_t node = 0; node < roster->level_count + roster->room; node++)
		roster_mark_node(roster, node);
	roster_open_all(roster);
}

/* --- components --------------------------------------------------------------------------------------------------- */

/* The loaded level that names the model as its own; SCENE_NONE: none. */
static uint32_t roster_own_level(const struct roster_view *view, uint32_t model)
{
	uint32_t level = view->scene->models[model].level;
	return level != SCENE_NONE && view->loaded[level] ? level : SCENE_NONE;
}

static void roster_find_wanted(struct roster *roster, const struct roster_view *view, uint32_t model)
{
	const struct tracker *tracker = view->tracker;
	roster->wanted.count = 0;
	if (!view->active[model])
		return;
	if (tracker->performer_of[model] != SCENE_NONE) {
		const bvh_values *in = &tracker->performers.at[tracker->performer_of[model]].in;
		for (uint32_t i = 0; i < in->count; i++)
			vec_push(&roster->wanted, in->at[i]);
	}
	if (roster_own_level(view, model) != SCENE_NONE)
		indices_add(&roster->wanted, roster_own_level(view, model));
}

/* Sets the model's edges to levels. New edges are added before old ones are cut, so that the model is never alone in
 * between. A model that is not active gets no edges. */
static void roster_tie_to_levels(struct roster *roster, const struct roster_view *view, uint32_t model)
{
	uint32_t node = roster_node_of(roster, model), below = view->active[model] ? roster->level_count : UINT32_MAX;
	roster_find_wanted(roster, view, model);
	for (uint32_t i = 0; i < roster->wanted.count; i++)
		components_link(&roster->components, node, roster->wanted.at[i]);
	for (uint32_t i = roster->components.edges[node].all.count; i-- > 0;) {
		uint32_t other = roster->components.edges[node].all.at[i].node;
		if (other < below && !indices_has(&roster->wanted, other))
			components_cut(&roster->components, node, other);
	}
}

static bool roster_is_new(const struct roster *roster, const struct roster_view *view, uint32_t level)
{
	return view->loaded[level] && roster->now.level[level] == ASSIGN_NONE;
}

/* Finds the leader of each level that was just loaded and has no performer in it. The leader is the lowest performer
 * near the level; every performer near it has just come near. */
static void roster_lead_levels(struct roster *roster, const struct roster_view *view, uint32_t model)
{
	uint32_t performer = view->tracker->performer_of[model];
	if (performer == SCENE_NONE)
		return;
	const bvh_values *near = &view->tracker->performers.at[performer].near;
	for (uint32_t i = 0; i < near->count; i++)
		if (roster_is_new(roster, view, near->at[i]) && !view->tracker->in_count[near->at[i]])
			roster->leader[near->at[i]] = MIN(roster->leader[near->at[i]], model);
}

static void roster_look_at_model(struct roster *roster, const struct roster_view *view, uint32_t model)
{
	bool active = view->active[model], pinned = view->model_pin && view->model_pin[model] != ASSIGN_NONE;
	components_describe(
		&roster->components, roster_node_of(roster, model), active && view->is_mover[model], active && pinned);
	if (active != (roster->now.model[model] != ASSIGN_NONE) || (active && pinned)) /* pinned elsewhere, perhaps */
		components_open(&roster->components, roster_node_of(roster, model));
	roster_tie_to_levels(roster, view, model);
	roster_lead_levels(roster, view, model);
}

static void roster_look_at_level(struct roster *roster, const struct roster_view *view, uint32_t level)
{
	const struct scene_level *named = &view->scene->levels[level];
	bool loaded = view->loaded[level], pinned = view->level_pin && view->level_pin[level] != ASSIGN_NONE;
	components_describe(&roster->components, level, false, loaded && pinned);
	if (loaded != (roster->now.level[level] != ASSIGN_NONE))
		components_open(&roster->components, level);
	for (uint32_t i = 0; i < named->model_count; i++)
		if (view->scene->models[named->models[i]].level == level)
			roster_tie_to_levels(roster, view, named->models[i]);
}

static void roster_look_at_marked(struct roster *roster, const struct roster_view *view)
{
	for (uint32_t i = 0; i < roster->marked.count; i++) {
		uint32_t node = roster->marked.at[i];
		roster->is_marked[node] = false;
		if (node < roster->level_count)
			roster_look_at_level(roster, view, node);
		else if (node - roster->level_count < view->scene->model_count)
			roster_look_at_model(roster, view, node - roster->level_count);
	}
	for (uint32_t i = 0; i < roster->marked.count; i++)
		if (roster->marked.at[i] < roster->level_count &&
			roster->leader[roster->marked.at[i]] != COMPONENTS_NONE) /* its secondary must be known */
			components_open(
				&roster->components, roster_node_of(roster, roster->leader[roster->marked.at[i]]));
	for (uint32_t i = 0; i < roster->homes.count; i++)
		components_open(&roster->components, roster_node_of(roster, roster->homes.at[i]));
	roster->marked.count = 0;
}

/* --- what is open ------------------------------------------------------------------------------------------------- */

static void roster_list_node(struct roster *roster, uint32_t node)
{
	if (node < roster->level_count)
		vec_push(&roster->part.levels, node);
	else
		vec_push(&roster->part.models, node - roster->level_count);
}

static void roster_list_all(struct roster *roster, const struct roster_view *view)
{
	roster->part.models.count = roster->part.levels.count = 0;
	for (uint32_t node = 0; node < roster->level_count + view->scene->model_count; node++)
		roster_list_node(roster, node);
}

static void roster_take(struct roster *roster, uint32_t set)
{
	uint32_t first = roster->components.sets.at[set].any, node = first;
	do {
		roster->taken[node / 64] |= UINT64_C(1) << (node % 64);
		node = roster->components.next[node];
	} while (node != first);
}

/* Nodes come out in order, because the bits are in order. */
static void roster_list_open(struct roster *roster)
{
	const struct components *components = &roster->components;
	uint32_t count = components->open.count ? roster_words(roster->level_count + roster->room) : 0;
	roster->part.models.count = roster->part.levels.count = 0;
	for (uint32_t i = 0; i < components->open.count; i++)
		if (components->sets.at[components->open.at[i]].nodes)
			roster_take(roster, components->open.at[i]);
	for (uint32_t w = 0; w < count; w++) {
		for (uint64_t bits = roster->taken[w]; bits; bits &= bits - 1)
			roster_list_node(roster, w * 64 + (uint32_t)__builtin_ctzll(bits));
		roster->taken[w] = 0;
	}
}

/* --- the part ----------------------------------------------------------------------------------------------------- */

static uint32_t roster_cost_of(const struct roster_view *view, uint32_t model)
{
	if (!view->cost_ns)
		return 1;
	if (view->cost_ns[model] != COST_UNKNOWN)
		return MAX(view->cost_ns[model], 1u);
	uint64_t guess = (uint64_t)view->body_cost * view->scene->models[model].body_count;
	return (uint32_t)MIN(MAX(guess, 1u), UINT32_MAX / 2);
}

static void roster_fill_models(struct roster *roster, const struct roster_view *view)
{
	struct roster_part *part = &roster->part;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t m = part->models.at[i];
		part->active[i] = view->active[m];
		part->is_mover[i] = view->is_mover[m];
		part->entered[i] = roster->entered[m];
		part->model_pin[i] = view->model_pin ? view->model_pin[m] : ASSIGN_NONE;
		part->model_cost[i] = roster_cost_of(view, m);
		part->now.model[i] = roster->anew ? ASSIGN_NONE : roster->now.model[m];
		part->now.home[i] = roster->anew ? ASSIGN_NONE : roster->now.home[m];
	}
}

/* The model's place in the part; COMPONENTS_NONE: it is not in the part. */
static uint32_t roster_place_of(const struct roster *roster, uint32_t model)
{
	uint32_t place = indices_place(&roster->part.models, model);
	bool here = place < roster->part.models.count && roster->part.models.at[place] == model;
	return here ? place : COMPONENTS_NONE;
}

static void roster_fill_levels(struct roster *roster, const struct roster_view *view)
{
	struct roster_part *part = &roster->part;
	for (uint32_t i = 0; i < part->levels.count; i++) {
		uint32_t l = part->levels.at[i];
		part->loaded[i] = view->loaded[l];
		part->has_performer[i] = view->tracker->in_count[l] > 0;
		part->level_near[i] = roster->leader[l] == COMPONENTS_NONE ? COMPONENTS_NONE
									   : roster_place_of(roster, roster->leader[l]);
		part->level_pin[i] = view->level_pin ? view->level_pin[l] : ASSIGN_NONE;
		part->now.level[i] = roster->anew ? ASSIGN_NONE : roster->now.level[l];
	}
}

/* Numbers components in the order of their first nodes, models before levels. */
static void roster_number_components(struct roster *roster)
{
	struct roster_part *part = &roster->part;
	struct components *components = &roster->components;
	uint32_t count = 0;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t set = components->of[roster_node_of(roster, part->models.at[i])];
		part->model_component[i] =
			part->active[i] ? components_number(components, set, &count) : COMPONENTS_NONE;
	}
	for (uint32_t i = 0; i < part->levels.count; i++) {
		uint32_t set = components->of[part->levels.at[i]];
		part->level_component[i] =
			part->loaded[i] ? components_number(components, set, &count) : COMPONENTS_NONE;
	}
	part->component_count = count;
	components_forget_numbers(components);
}

/* Numbers the components that the models were in before. The policy only compares these numbers with each other. */
static void roster_number_previous(struct roster *roster)
{
	struct roster_part *part = &roster->part;
	struct components *components = &roster->components;
	uint32_t count = 0;
	for (uint32_t i = 0; i < part->models.count; i++)
		part->now.component_of[i] = components_number(
			components, components->was[roster_node_of(roster, part->models.at[i])], &count);
	components_forget_numbers(components);
}

static void roster_fill(struct roster *roster, const struct roster_view *view)
{
	struct roster_part *part = &roster->part;
	roster_part_fit(part);
	roster_fill_models(roster, view);
	roster_fill_levels(roster, view);
	roster_number_previous(roster);
	roster_number_components(roster);
	part->now.turn = roster->anew ? 0 : roster->now.turn;
	part->moved_to.count = 0;
}

/* --- assignment --------------------------------------------------------------------------------------------------- */

static bool roster_ask_policy(struct roster *roster, const struct roster_view *view)
{
	struct roster_part *part = &roster->part;
	struct assign_input input = {
		.secondaries = roster->secondaries,
		.model_count = part->models.count,
		.level_count = part->levels.count,
		.component_count = part->component_count,
		.model_component = part->model_component,
		.level_component = part->level_component,
		.model_is_mover = part->is_mover,
		.model_entered = part->entered,
		.level_has_performer = part->has_performer,
		.level_near = part->level_near,
		.model_pin = view->model_pin ? part->model_pin : NULL,
		.level_pin = view->level_pin ? part->level_pin : NULL,
		.others = roster->all ? NULL : roster->have,
		.model_cost = view->cost_ns ? part->model_cost : NULL,
		.move_cost = view->move_cost,
		.horizon = view->horizon,
	};
	return roster->policy->assign(&input, &part->now, &roster->scratch);
}

/* Subtracts the models of the part from `have`. */
static void roster_take_from_others(struct roster *roster)
{
	const struct roster_part *part = &roster->part;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t m = part->models.at[i];
		struct assign_load *have = &roster->have[roster->now.model[m]];
		if (!roster->weight[m])
			continue;
		have->models--;
		have->cost -= roster->weight[m];
		roster->weight[m] = 0;
	}
	for (uint32_t s = 1; s <= roster->secondaries; s++)
		roster->have[s].components = roster->components.owned[s];
}

void roster_find(struct roster *roster, const struct roster_view *view)
{
	roster_look_at_marked(roster, view);
	if (!roster->all) {
		roster_list_open(roster);
		roster_fill(roster, view);
		roster_take_from_others(roster);
		if (roster_ask_policy(roster, view))
			return;
	}
	roster->all = true;
	roster_list_all(roster, view);
	roster_fill(roster, view);
	roster_take_from_others(roster);
	bool good = roster_ask_policy(roster, view);
	assert(good); /* there are no others */
	(void)good;
}

void roster_move(struct roster *roster, uint32_t component, uint32_t secondary)
{
	if (!roster->part.moved_to.count)
		(void)vec_append(&roster->part.moved_to, roster->part.component_count);
	roster->part.moved_to.at[component] = secondary;
}

/* --- commit ------------------------------------------------------------------------------------------------------- */

static void roster_give(struct roster *roster, uint32_t model, uint32_t place)
{
	uint32_t secondary = roster->now.model[model];
	if (secondary == ASSIGN_NONE)
		return;
	roster->weight[model] = roster->part.model_cost[place];
	roster->have[secondary].models++;
	roster->have[secondary].cost += roster->weight[model];
	if (roster->now.home[model] != ASSIGN_NONE)
		vec_push(&roster->homes, model);
}

/* The change of a node of this component when the policy says `to`. */
static struct roster_change roster_changed(
	const struct roster *roster, uint32_t id, uint32_t component, uint32_t from, uint32_t to)
{
	bool moved = component < roster->part.moved_to.count && roster->part.moved_to.at[component];
	return (struct roster_change){id, from, moved ? roster->part.moved_to.at[component] : to, moved};
}

/* A node without a component is alone, and belongs to no secondary. */
static void roster_own(struct roster *roster, uint32_t node, uint32_t component, uint32_t secondary)
{
	uint32_t set = roster->components.of[node];
	assert(component != COMPONENTS_NONE || roster->components.sets.at[set].nodes == 1);
	(void)component;
	components_own(&roster->components, set, secondary);
}

static void roster_commit_models(struct roster *roster)
{
	const struct roster_part *part = &roster->part;
	roster->models.count = 0;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t m = part->models.at[i], component = part->model_component[i];
		struct roster_change change =
			roster_changed(roster, m, component, roster->now.model[m], part->now.model[i]);
		if (change.from != change.to || change.again)
			vec_push(&roster->models, change);
		roster->now.model[m] = change.to;
		roster->now.home[m] = part->now.home[i];
		roster_own(roster, roster_node_of(roster, m), component, change.to);
		roster_give(roster, m, i);
	}
}

static void roster_commit_levels(struct roster *roster)
{
	const struct roster_part *part = &roster->part;
	roster->levels.count = 0;
	for (uint32_t i = 0; i < part->levels.count; i++) {
		uint32_t l = part->levels.at[i], component = part->level_component[i];
		struct roster_change change =
			roster_changed(roster, l, component, roster->now.level[l], part->now.level[i]);
		if (change.from != change.to)
			vec_push(&roster->levels, change);
		roster->now.level[l] = change.to;
		roster->leader[l] = COMPONENTS_NONE;
		roster_own(roster, l, component, change.to);
	}
}

void roster_commit(struct roster *roster)
{
	roster->homes.count = 0; /* all models with a home are in the part */
	roster_commit_models(roster);
	roster_commit_levels(roster);
	components_settle(&roster->components);
	roster->now.turn = roster->part.now.turn;
	for (uint32_t i = 0; i < roster->entries.count; i++)
		roster->entered[roster->entries.at[i]] = false;
	roster->entries.count = 0;
	roster->all = roster->anew = roster->dirty = false;
}

void roster_number(struct roster *roster, uint32_t models, uint32_t *ret_models, uint32_t *ret_levels)
{
	uint32_t count = 0;
	struct components *components = &roster->components;
	for (uint32_t m = 0; m < models; m++)
		ret_models[m] =
			roster->now.model[m] == ASSIGN_NONE
				? COMPONENTS_NONE
				: components_number(components, components->of[roster_node_of(roster, m)], &count);
	for (uint32_t l = 0; l < roster->level_count; l++)
		ret_levels[l] = roster->now.level[l] == ASSIGN_NONE
					? COMPONENTS_NONE
					: components_number(components, components->of[l], &count);
	components_forget_numbers(components);
}
