/* Open components are taken out of the secondaries' loads, shown to the policy, and given to the secondaries that the
 * policy names. */
#include "run/ownership.h"

#include "run/step.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- set-up ------------------------------------------------------------------------------------------------------- */

static uint32_t ownership_words(uint32_t nodes)
{
	return nodes / 64 + 1;
}

static void ownership_fit_nodes(struct ownership *ownership, uint32_t before, uint32_t now)
{
	components_fit(&ownership->components, now);
	MEM_FIT(ownership->is_marked, before, now);
	MEM_FIT(ownership->taken, before ? ownership_words(before) : 0, ownership_words(now));
}

void ownership_init(
	struct ownership *ownership, uint32_t secondaries, uint32_t level_count, const struct assign_policy *policy)
{
	*ownership = (struct ownership){.secondaries = secondaries, .level_count = level_count, .policy = policy};
	components_init(&ownership->components, secondaries + 1);
	ownership->now.level = mem_alloc(level_count * sizeof *ownership->now.level);
	ownership->have = mem_alloc((secondaries + 1) * sizeof *ownership->have);
	ownership->leader = mem_alloc(level_count * sizeof *ownership->leader);
	if (level_count)
		memset(ownership->leader, 0xff, level_count * sizeof *ownership->leader);
	ownership_fit_nodes(ownership, 0, level_count);
}

static void ownership_assignment_free(struct assignment *assignment)
{
	free(assignment->model);
	free(assignment->level);
	free(assignment->home);
	free(assignment->component_of);
}

static void ownership_part_free(struct ownership_part *part)
{
	vec_free(&part->models);
	vec_free(&part->levels);
	vec_free(&part->moved_to);
	ownership_assignment_free(&part->now);
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

void ownership_fini(struct ownership *ownership)
{
	ownership_assignment_free(&ownership->now);
	ownership_part_free(&ownership->part);
	vec_free(&ownership->models);
	vec_free(&ownership->levels);
	vec_free(&ownership->marked);
	vec_free(&ownership->entries);
	vec_free(&ownership->homes);
	vec_free(&ownership->wanted);
	free(ownership->is_marked);
	free(ownership->entered);
	free(ownership->taken);
	free(ownership->weight);
	free(ownership->have);
	free(ownership->leader);
	components_fini(&ownership->components);
	assign_scratch_fini(&ownership->scratch);
}

void ownership_fit(struct ownership *ownership, uint32_t models)
{
	if (models <= ownership->room)
		return;
	ownership_fit_nodes(ownership, ownership->level_count + ownership->room, ownership->level_count + models);
	MEM_FIT(ownership->now.model, ownership->room, models);
	MEM_FIT(ownership->now.home, ownership->room, models);
	MEM_FIT(ownership->entered, ownership->room, models);
	MEM_FIT(ownership->weight, ownership->room, models);
	ownership->room = models;
}

/* Grows the part's arrays to the size of its lists. */
static void ownership_part_fit(struct ownership_part *part)
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

static uint32_t ownership_node_of(const struct ownership *ownership, uint32_t model)
{
	return ownership->level_count + model;
}

static void ownership_mark_node(struct ownership *ownership, uint32_t node)
{
	ownership->dirty = true;
	if (ownership->is_marked[node])
		return;
	ownership->is_marked[node] = true;
	vec_push(&ownership->marked, node);
}

void ownership_mark(struct ownership *ownership, uint32_t model)
{
	ownership_mark_node(ownership, ownership_node_of(ownership, model));
}

void ownership_mark_level(struct ownership *ownership, uint32_t level)
{
	ownership_mark_node(ownership, level);
}

void ownership_entered(struct ownership *ownership, uint32_t model)
{
	if (!ownership->entered[model])
		vec_push(&ownership->entries, model);
	ownership->entered[model] = true;
}

void ownership_link(struct ownership *ownership, uint32_t a, uint32_t b)
{
	ownership->dirty = true;
	components_link(&ownership->components, ownership_node_of(ownership, a), ownership_node_of(ownership, b));
}

void ownership_cut(struct ownership *ownership, uint32_t a, uint32_t b)
{
	ownership->dirty = true;
	components_cut(&ownership->components, ownership_node_of(ownership, a), ownership_node_of(ownership, b));
}

void ownership_open_all(struct ownership *ownership)
{
	ownership->all = ownership->dirty = true;
}

void ownership_deal_anew(struct ownership *ownership, uint32_t secondaries)
{
	ownership->secondaries = secondaries;
	ownership->anew = true;
	ownership_open_all(ownership);
}

void ownership_reset(struct ownership *ownership)
{
	components_reset(&ownership->components);
	for (uint32_t node = 0; node < ownership->level_count + ownership->room; node++)
		ownership_mark_node(ownership, node);
	ownership_open_all(ownership);
}

/* --- components --------------------------------------------------------------------------------------------------- */

/* The loaded level that names the model as its own; SCENE_NONE: none. */
static uint32_t ownership_own_level(const struct ownership_input *view, uint32_t model)
{
	uint32_t level = view->scene->models[model].level;
	return level != SCENE_NONE && view->loaded[level] ? level : SCENE_NONE;
}

static void ownership_find_wanted(struct ownership *ownership, const struct ownership_input *view, uint32_t model)
{
	const struct tracker *tracker = view->tracker;
	ownership->wanted.count = 0;
	if (!view->active[model])
		return;
	if (tracker->performer_of[model] != SCENE_NONE) {
		const bvh_values *in = &tracker->performers.at[tracker->performer_of[model]].in;
		for (uint32_t i = 0; i < in->count; i++)
			vec_push(&ownership->wanted, in->at[i]);
	}
	if (ownership_own_level(view, model) != SCENE_NONE)
		indices_add(&ownership->wanted, ownership_own_level(view, model));
}

/* Sets the model's edges to levels. New edges are added before old ones are cut, so that the model is never alone in
 * between. A model that is not active gets no edges. */
static void ownership_tie_to_levels(struct ownership *ownership, const struct ownership_input *view, uint32_t model)
{
	uint32_t node = ownership_node_of(ownership, model),
		 below = view->active[model] ? ownership->level_count : UINT32_MAX;
	ownership_find_wanted(ownership, view, model);
	for (uint32_t i = 0; i < ownership->wanted.count; i++)
		components_link(&ownership->components, node, ownership->wanted.at[i]);
	for (uint32_t i = ownership->components.edges[node].all.count; i-- > 0;) {
		uint32_t other = ownership->components.edges[node].all.at[i].node;
		if (other < below && !indices_has(&ownership->wanted, other))
			components_cut(&ownership->components, node, other);
	}
}

static bool ownership_is_new(const struct ownership *ownership, const struct ownership_input *view, uint32_t level)
{
	return view->loaded[level] && ownership->now.level[level] == ASSIGN_NONE;
}

/* Finds the leader of each level that was just loaded and has no performer in it. The leader is the lowest performer
 * near the level; every performer near it has just come near. */
static void ownership_lead_levels(struct ownership *ownership, const struct ownership_input *view, uint32_t model)
{
	uint32_t performer = view->tracker->performer_of[model];
	if (performer == SCENE_NONE)
		return;
	const bvh_values *near = &view->tracker->performers.at[performer].near;
	for (uint32_t i = 0; i < near->count; i++)
		if (ownership_is_new(ownership, view, near->at[i]) && !view->tracker->in_count[near->at[i]])
			ownership->leader[near->at[i]] = MIN(ownership->leader[near->at[i]], model);
}

static void ownership_look_at_model(struct ownership *ownership, const struct ownership_input *view, uint32_t model)
{
	bool active = view->active[model], pinned = view->model_pin && view->model_pin[model] != ASSIGN_NONE;
	components_describe(&ownership->components, ownership_node_of(ownership, model),
		active && view->is_mover[model], active && pinned);
	if (active != (ownership->now.model[model] != ASSIGN_NONE) ||
		(active && pinned)) /* pinned elsewhere, perhaps */
		components_open(&ownership->components, ownership_node_of(ownership, model));
	ownership_tie_to_levels(ownership, view, model);
	ownership_lead_levels(ownership, view, model);
}

static void ownership_look_at_level(struct ownership *ownership, const struct ownership_input *view, uint32_t level)
{
	const struct scene_level *named = &view->scene->levels[level];
	bool loaded = view->loaded[level], pinned = view->level_pin && view->level_pin[level] != ASSIGN_NONE;
	components_describe(&ownership->components, level, false, loaded && pinned);
	if (loaded != (ownership->now.level[level] != ASSIGN_NONE))
		components_open(&ownership->components, level);
	for (uint32_t i = 0; i < named->model_count; i++)
		if (view->scene->models[named->models[i]].level == level)
			ownership_tie_to_levels(ownership, view, named->models[i]);
}

static void ownership_look_at_marked(struct ownership *ownership, const struct ownership_input *view)
{
	for (uint32_t i = 0; i < ownership->marked.count; i++) {
		uint32_t node = ownership->marked.at[i];
		ownership->is_marked[node] = false;
		if (node < ownership->level_count)
			ownership_look_at_level(ownership, view, node);
		else if (node - ownership->level_count < view->scene->model_count)
			ownership_look_at_model(ownership, view, node - ownership->level_count);
	}
	for (uint32_t i = 0; i < ownership->marked.count; i++)
		if (ownership->marked.at[i] < ownership->level_count &&
			ownership->leader[ownership->marked.at[i]] != COMPONENTS_NONE) /* its secondary must be known */
			components_open(&ownership->components,
				ownership_node_of(ownership, ownership->leader[ownership->marked.at[i]]));
	for (uint32_t i = 0; i < ownership->homes.count; i++)
		components_open(&ownership->components, ownership_node_of(ownership, ownership->homes.at[i]));
	ownership->marked.count = 0;
}

/* --- what is open ------------------------------------------------------------------------------------------------- */

static void ownership_list_node(struct ownership *ownership, uint32_t node)
{
	if (node < ownership->level_count)
		vec_push(&ownership->part.levels, node);
	else
		vec_push(&ownership->part.models, node - ownership->level_count);
}

static void ownership_list_all(struct ownership *ownership, const struct ownership_input *view)
{
	ownership->part.models.count = ownership->part.levels.count = 0;
	for (uint32_t node = 0; node < ownership->level_count + view->scene->model_count; node++)
		ownership_list_node(ownership, node);
}

static void ownership_take(struct ownership *ownership, uint32_t set)
{
	uint32_t first = ownership->components.sets.at[set].any, node = first;
	do {
		ownership->taken[node / 64] |= UINT64_C(1) << (node % 64);
		node = ownership->components.next[node];
	} while (node != first);
}

/* Nodes come out in order, because the bits are in order. */
static void ownership_list_open(struct ownership *ownership)
{
	const struct components *components = &ownership->components;
	uint32_t count = components->open.count ? ownership_words(ownership->level_count + ownership->room) : 0;
	ownership->part.models.count = ownership->part.levels.count = 0;
	for (uint32_t i = 0; i < components->open.count; i++)
		if (components->sets.at[components->open.at[i]].nodes)
			ownership_take(ownership, components->open.at[i]);
	for (uint32_t w = 0; w < count; w++) {
		for (uint64_t bits = ownership->taken[w]; bits; bits &= bits - 1)
			ownership_list_node(ownership, w * 64 + (uint32_t)__builtin_ctzll(bits));
		ownership->taken[w] = 0;
	}
}

/* --- the part ----------------------------------------------------------------------------------------------------- */

static uint32_t ownership_cost_of(const struct ownership_input *view, uint32_t model)
{
	if (!view->cost_ns)
		return 1;
	if (view->cost_ns[model] != COST_UNKNOWN)
		return MAX(view->cost_ns[model], 1u);
	uint64_t guess = (uint64_t)view->body_cost * view->scene->models[model].body_count;
	return (uint32_t)MIN(MAX(guess, 1u), UINT32_MAX / 2);
}

static void ownership_fill_models(struct ownership *ownership, const struct ownership_input *view)
{
	struct ownership_part *part = &ownership->part;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t m = part->models.at[i];
		part->active[i] = view->active[m];
		part->is_mover[i] = view->is_mover[m];
		part->entered[i] = ownership->entered[m];
		part->model_pin[i] = view->model_pin ? view->model_pin[m] : ASSIGN_NONE;
		part->model_cost[i] = ownership_cost_of(view, m);
		part->now.model[i] = ownership->anew ? ASSIGN_NONE : ownership->now.model[m];
		part->now.home[i] = ownership->anew ? ASSIGN_NONE : ownership->now.home[m];
	}
}

/* The model's place in the part; COMPONENTS_NONE: it is not in the part. */
static uint32_t ownership_place_of(const struct ownership *ownership, uint32_t model)
{
	uint32_t place = indices_place(&ownership->part.models, model);
	bool here = place < ownership->part.models.count && ownership->part.models.at[place] == model;
	return here ? place : COMPONENTS_NONE;
}

static void ownership_fill_levels(struct ownership *ownership, const struct ownership_input *view)
{
	struct ownership_part *part = &ownership->part;
	for (uint32_t i = 0; i < part->levels.count; i++) {
		uint32_t l = part->levels.at[i];
		part->loaded[i] = view->loaded[l];
		part->has_performer[i] = view->tracker->in_count[l] > 0;
		part->level_near[i] = ownership->leader[l] == COMPONENTS_NONE
					      ? COMPONENTS_NONE
					      : ownership_place_of(ownership, ownership->leader[l]);
		part->level_pin[i] = view->level_pin ? view->level_pin[l] : ASSIGN_NONE;
		part->now.level[i] = ownership->anew ? ASSIGN_NONE : ownership->now.level[l];
	}
}

/* Numbers components in the order of their first nodes, models before levels. */
static void ownership_number_components(struct ownership *ownership)
{
	struct ownership_part *part = &ownership->part;
	struct components *components = &ownership->components;
	uint32_t count = 0;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t set = components->of[ownership_node_of(ownership, part->models.at[i])];
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
static void ownership_number_previous(struct ownership *ownership)
{
	struct ownership_part *part = &ownership->part;
	struct components *components = &ownership->components;
	uint32_t count = 0;
	for (uint32_t i = 0; i < part->models.count; i++)
		part->now.component_of[i] = components_number(
			components, components->was[ownership_node_of(ownership, part->models.at[i])], &count);
	components_forget_numbers(components);
}

static void ownership_fill(struct ownership *ownership, const struct ownership_input *view)
{
	struct ownership_part *part = &ownership->part;
	ownership_part_fit(part);
	ownership_fill_models(ownership, view);
	ownership_fill_levels(ownership, view);
	ownership_number_previous(ownership);
	ownership_number_components(ownership);
	part->now.turn = ownership->anew ? 0 : ownership->now.turn;
	part->moved_to.count = 0;
}

/* --- assignment --------------------------------------------------------------------------------------------------- */

static bool ownership_ask_policy(struct ownership *ownership, const struct ownership_input *view)
{
	struct ownership_part *part = &ownership->part;
	struct assign_input input = {
		.secondaries = ownership->secondaries,
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
		.others = ownership->all ? NULL : ownership->have,
		.model_cost = view->cost_ns ? part->model_cost : NULL,
		.move_cost = view->move_cost,
		.horizon = view->horizon,
	};
	return ownership->policy->assign(&input, &part->now, &ownership->scratch);
}

/* Subtracts the models of the part from `have`. */
static void ownership_take_from_others(struct ownership *ownership)
{
	const struct ownership_part *part = &ownership->part;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t m = part->models.at[i];
		struct assign_load *have = &ownership->have[ownership->now.model[m]];
		if (!ownership->weight[m])
			continue;
		have->models--;
		have->cost -= ownership->weight[m];
		ownership->weight[m] = 0;
	}
	for (uint32_t s = 1; s <= ownership->secondaries; s++)
		ownership->have[s].components = ownership->components.owned[s];
}

void ownership_find(struct ownership *ownership, const struct ownership_input *view)
{
	ownership_look_at_marked(ownership, view);
	if (!ownership->all) {
		ownership_list_open(ownership);
		ownership_fill(ownership, view);
		ownership_take_from_others(ownership);
		if (ownership_ask_policy(ownership, view))
			return;
	}
	ownership->all = true;
	ownership_list_all(ownership, view);
	ownership_fill(ownership, view);
	ownership_take_from_others(ownership);
	bool good = ownership_ask_policy(ownership, view);
	assert(good); /* there are no others */
	(void)good;
}

void ownership_move(struct ownership *ownership, uint32_t component, uint32_t secondary)
{
	if (!ownership->part.moved_to.count)
		(void)vec_append(&ownership->part.moved_to, ownership->part.component_count);
	ownership->part.moved_to.at[component] = secondary;
}

/* --- commit ------------------------------------------------------------------------------------------------------- */

static void ownership_give(struct ownership *ownership, uint32_t model, uint32_t place)
{
	uint32_t secondary = ownership->now.model[model];
	if (secondary == ASSIGN_NONE)
		return;
	ownership->weight[model] = ownership->part.model_cost[place];
	ownership->have[secondary].models++;
	ownership->have[secondary].cost += ownership->weight[model];
	if (ownership->now.home[model] != ASSIGN_NONE)
		vec_push(&ownership->homes, model);
}

/* The change of a node of this component when the policy says `to`. */
static struct ownership_change ownership_changed(
	const struct ownership *ownership, uint32_t id, uint32_t component, uint32_t from, uint32_t to)
{
	bool moved = component < ownership->part.moved_to.count && ownership->part.moved_to.at[component];
	return (struct ownership_change){id, from, moved ? ownership->part.moved_to.at[component] : to, moved};
}

/* A node without a component is alone, and belongs to no secondary. */
static void ownership_own(struct ownership *ownership, uint32_t node, uint32_t component, uint32_t secondary)
{
	uint32_t set = ownership->components.of[node];
	assert(component != COMPONENTS_NONE || ownership->components.sets.at[set].nodes == 1);
	(void)component;
	components_own(&ownership->components, set, secondary);
}

static void ownership_commit_models(struct ownership *ownership)
{
	const struct ownership_part *part = &ownership->part;
	ownership->models.count = 0;
	for (uint32_t i = 0; i < part->models.count; i++) {
		uint32_t m = part->models.at[i], component = part->model_component[i];
		struct ownership_change change =
			ownership_changed(ownership, m, component, ownership->now.model[m], part->now.model[i]);
		if (change.from != change.to || change.again)
			vec_push(&ownership->models, change);
		ownership->now.model[m] = change.to;
		ownership->now.home[m] = part->now.home[i];
		ownership_own(ownership, ownership_node_of(ownership, m), component, change.to);
		ownership_give(ownership, m, i);
	}
}

static void ownership_commit_levels(struct ownership *ownership)
{
	const struct ownership_part *part = &ownership->part;
	ownership->levels.count = 0;
	for (uint32_t i = 0; i < part->levels.count; i++) {
		uint32_t l = part->levels.at[i], component = part->level_component[i];
		struct ownership_change change =
			ownership_changed(ownership, l, component, ownership->now.level[l], part->now.level[i]);
		if (change.from != change.to)
			vec_push(&ownership->levels, change);
		ownership->now.level[l] = change.to;
		ownership->leader[l] = COMPONENTS_NONE;
		ownership_own(ownership, l, component, change.to);
	}
}

void ownership_commit(struct ownership *ownership)
{
	ownership->homes.count = 0; /* all models with a home are in the part */
	ownership_commit_models(ownership);
	ownership_commit_levels(ownership);
	components_settle(&ownership->components);
	ownership->now.turn = ownership->part.now.turn;
	for (uint32_t i = 0; i < ownership->entries.count; i++)
		ownership->entered[ownership->entries.at[i]] = false;
	ownership->entries.count = 0;
	ownership->all = ownership->anew = ownership->dirty = false;
}

void ownership_number(struct ownership *ownership, uint32_t models, uint32_t *ret_models, uint32_t *ret_levels)
{
	uint32_t count = 0;
	struct components *components = &ownership->components;
	for (uint32_t m = 0; m < models; m++)
		ret_models[m] = ownership->now.model[m] == ASSIGN_NONE
					? COMPONENTS_NONE
					: components_number(
						  components, components->of[ownership_node_of(ownership, m)], &count);
	for (uint32_t l = 0; l < ownership->level_count; l++)
		ret_levels[l] = ownership->now.level[l] == ASSIGN_NONE
					? COMPONENTS_NONE
					: components_number(components, components->of[l], &count);
	components_forget_numbers(components);
}
