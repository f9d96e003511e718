/* The rules that all policies share: pins hold; a component whose nodes come together goes where most of it is; a
 * component without movers follows the models near it. */
#include "assign/table.h"

static uint32_t assign_gather_lowest_pin(
	const struct table *table, const uint32_t *pins, const uint32_t *nodes, uint32_t count)
{
	uint32_t lowest = TABLE_NONE;
	for (uint32_t i = 0; pins && i < count; i++)
		if (nodes[i] < lowest && table_known(table, pins[nodes[i]]) != ASSIGN_NONE)
			lowest = nodes[i];
	return lowest == TABLE_NONE ? ASSIGN_NONE : pins[lowest];
}

static uint32_t assign_gather_pin_of(const struct table *table, const struct table_component *component)
{
	uint32_t pin = assign_gather_lowest_pin(
		table, table->input->model_pin, &table->models[component->models_at], component->models);
	if (pin != ASSIGN_NONE)
		return pin;
	return assign_gather_lowest_pin(
		table, table->input->level_pin, &table->levels[component->levels_at], component->levels);
}

/* The vote for the secondary that had a node; NULL when none had it. The secondary is appended to `voted` when this
 * is its first vote. */
static struct table_vote *assign_gather_vote_for(
	struct table *table, uint32_t secondary, uint32_t *voted, uint32_t *voted_count)
{
	secondary = table_known(table, secondary);
	if (secondary == ASSIGN_NONE)
		return NULL;
	struct table_vote *vote = &table->votes[secondary];
	if (!vote->cast)
		voted[(*voted_count)++] = secondary;
	vote->cast = true;
	return vote;
}

/* Collects the votes of all nodes of a component: lowest mover first, then cargo, then levels. The order of `voted`
 * decides a remaining tie. Returns how many secondaries got votes. */
static uint32_t assign_gather_vote(struct table *table, const struct table_component *component, uint32_t *voted)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < component->models; i++) {
		uint32_t model = table->models[component->models_at + i];
		struct table_vote *ballot = assign_gather_vote_for(table, table->now->model[model], voted, &count);
		if (!ballot)
			continue;
		ballot->movers += i < component->movers;
		ballot->residents += i < component->movers && !table->input->model_entered[model] &&
				     table_known(table, table->now->home[model]) == ASSIGN_NONE;
		ballot->cargo += i >= component->movers;
	}
	for (uint32_t i = 0; i < component->levels; i++) {
		uint32_t level = table->levels[component->levels_at + i];
		struct table_vote *ballot = assign_gather_vote_for(table, table->now->level[level], voted, &count);
		if (ballot)
			ballot->held_levels += table->input->level_has_performer[level];
	}
	return count;
}

static bool assign_gather_beats(const struct table_vote *a, const struct table_vote *b)
{
	if (a->movers != b->movers)
		return a->movers > b->movers;
	if (a->residents != b->residents)
		return a->residents > b->residents;
	if (a->held_levels != b->held_levels)
		return a->held_levels > b->held_levels;
	return a->cargo > b->cargo;
}

static uint32_t assign_gather_elected(struct table *table, const struct table_component *component)
{
	uint32_t *voted = table->by_secondary_a, count = assign_gather_vote(table, component, voted);
	uint32_t best = count ? voted[0] : ASSIGN_NONE;
	for (uint32_t i = 1; i < count; i++)
		if (assign_gather_beats(&table->votes[voted[i]], &table->votes[best]))
			best = voted[i];
	for (uint32_t i = 0; i < count; i++)
		table->votes[voted[i]] = (struct table_vote){0};
	return best;
}

void table_gather(struct table *table)
{
	for (uint32_t c = 0; c < table->input->component_count; c++) {
		struct table_component *component = &table->components[c];
		uint32_t pin = assign_gather_pin_of(table, component);
		component->pinned = pin != ASSIGN_NONE;
		uint32_t secondary = component->pinned ? pin : assign_gather_elected(table, component);
		if (secondary != ASSIGN_NONE)
			table_place(table, c, secondary);
	}
}

uint32_t table_leader(const struct table *table, uint32_t asked)
{
	const struct table_component *component = &table->components[asked];
	const struct assign_input *input = table->input;
	uint32_t lowest = TABLE_NONE;
	for (uint32_t i = 0; i < component->levels; i++) {
		uint32_t model = input->level_near[table->levels[component->levels_at + i]];
		if (model >= input->model_count || input->model_component[model] == TABLE_NONE)
			continue;
		if (table->components[input->model_component[model]].movers)
			lowest = MIN(lowest, model);
	}
	return lowest == TABLE_NONE ? TABLE_NONE : input->model_component[lowest];
}

bool table_unplaced(const struct table *table, uint32_t component)
{
	const struct table_component *asked = &table->components[component];
	return asked->secondary == ASSIGN_NONE && (asked->models || asked->levels);
}

void table_follow_leaders(struct table *table)
{
	for (uint32_t c = 0; c < table->input->component_count; c++)
		if (table_unplaced(table, c))
			table_place(table, c, table->components[table_leader(table, c)].secondary);
}
