/* The rules of assign.h, in the order in which they are applied:
 *
 *   pins, merge   components that had a secondary stay or come together; then the idle secondaries are known
 *   first, new    components that had no secondary are dealt, to idle secondaries first
 *   homes         the home of movers that contact fetched is noted, before a later rule moves them again
 *   part          secondaries still idle take components from secondaries with several
 *   return        only when no secondary is idle, and never so that one becomes idle
 *   levels        components that follow another, when all components with movers are placed
 *
 * A second call with the same input and nothing entered moves nothing, because each rule looks only at what later rules
 * do not change: part and return count components with movers, which the last rule does not place; after part, no
 * secondary is idle while another could give a component; after return, no component is left that could go home. */
#include "assign/table.h"

#include <string.h>

/* Places a component on the next idle secondary in turn; when none is idle, on the next in turn. */
static void round_robin_deal(struct table *table, uint32_t component)
{
	uint32_t count = table->input->secondaries, index = table->now->turn % count;
	if (table->idle)
		while (table->secondaries[index + 1].models)
			index = (index + 1) % count;
	table->now->turn = (index + 1) % count;
	table_place(table, component, index + 1);
}

static void round_robin_deal_new(struct table *table)
{
	const struct assign_input *input = table->input;
	for (uint32_t l = 0; l < input->level_count; l++) {
		uint32_t c = input->level_component[l];
		if (c != TABLE_NONE && input->level_has_performer[l] && table->components[c].movers &&
			table_unplaced(table, c))
			round_robin_deal(table, c);
	}
	for (uint32_t m = 0; m < input->model_count; m++) {
		uint32_t c = input->model_component[m];
		if (c != TABLE_NONE && input->model_is_mover[m] && table_unplaced(table, c))
			round_robin_deal(table, c);
	}
	for (uint32_t c = 0; c < input->component_count; c++)
		if (table_unplaced(table, c) && table_leader(table, c) == TABLE_NONE)
			round_robin_deal(table, c);
}

static void round_robin_forget_homes(struct table *table, struct table_component *component)
{
	for (uint32_t i = 0; i < component->movers; i++)
		table->now->home[table->models[component->models_at + i]] = ASSIGN_NONE;
	component->home = ASSIGN_NONE;
}

/* The home of a mover that is in this component now. */
static uint32_t round_robin_home_of(const struct table *table, const struct table_component *component, uint32_t mover)
{
	uint32_t home = table_known(table, table->now->home[mover]);
	uint32_t was = table_known(table, table->now->model[mover]);
	if (table->input->model_entered[mover])
		return ASSIGN_NONE;
	if (was != ASSIGN_NONE && was != component->secondary) {
		if (component->entered) /* fetched because a mover entered a level: not mere contact */
			return ASSIGN_NONE;
		if (home == ASSIGN_NONE)
			home = was;
	}
	return home == component->secondary ? ASSIGN_NONE : home;
}

static void round_robin_note_homes(struct table *table)
{
	for (uint32_t c = 0; c < table->input->component_count; c++) {
		struct table_component *component = &table->components[c];
		bool shared = true;
		for (uint32_t i = 0; i < component->movers; i++) {
			uint32_t mover = table->models[component->models_at + i];
			uint32_t home = component->pinned ? ASSIGN_NONE : round_robin_home_of(table, component, mover);
			table->now->home[mover] = home;
			shared = shared && (i == 0 || home == component->home);
			component->home = home;
		}
		if (!shared)
			component->home = ASSIGN_NONE;
	}
}

/* Marks components that stayed and that share a previous component with another one that stayed. (They then also
 * share the secondary.) */
static void round_robin_mark_parted(struct table *table)
{
	const struct assign_input *input = table->input;
	uint32_t *first_part = table->by_node, parents = input->model_count + input->level_count;
	memset(first_part, 0xff, parents * sizeof *first_part);
	for (uint32_t m = 0; m < input->model_count; m++) {
		uint32_t c = input->model_component[m], parent = table->now->component_of[m];
		if (c == TABLE_NONE || !input->model_is_mover[m] || parent >= parents)
			continue;
		uint32_t was = table_known(table, table->now->model[m]);
		if (was == ASSIGN_NONE || was != table->components[c].secondary)
			continue;
		if (first_part[parent] == TABLE_NONE)
			first_part[parent] = c;
		else if (first_part[parent] != c)
			table->components[c].parted = table->components[first_part[parent]].parted = true;
	}
}

/* Lists the components with movers that no pin holds: smallest first; of equal size, the highest first mover first.
 * Sorts by counting, since qsort() may allocate. Uses by_node and by_component_b. */
static uint32_t round_robin_list_by_size(struct table *table, uint32_t *list)
{
	const struct assign_input *input = table->input;
	uint32_t *start = table->by_node, *by_mover = table->by_component_b, count = 0, below = 0;
	memset(start, 0, ((size_t)input->model_count + 1) * sizeof *start);
	for (uint32_t m = input->model_count; m-- > 0;) {
		uint32_t c = input->model_component[m];
		if (c == TABLE_NONE || !input->model_is_mover[m] || table->components[c].pinned)
			continue;
		if (table->models[table->components[c].models_at] != m)
			continue;
		by_mover[count++] = c;
		start[table->components[c].movers]++;
	}
	for (uint32_t size = 0; size <= input->model_count; size++) {
		uint32_t of_size = start[size];
		start[size] = below;
		below += of_size;
	}
	for (uint32_t i = 0; i < count; i++)
		list[start[table->components[by_mover[i]].movers]++] = by_mover[i];
	return count;
}

static bool round_robin_can_give(const struct table *table, uint32_t secondary)
{
	return table->secondaries[secondary].components >= 2;
}

/* The idle secondary for a component: fewest movers move when it is the one where most of them were. */
static uint32_t round_robin_idle_for(struct table *table, const struct table_component *component)
{
	uint32_t best = ASSIGN_NONE, *were = table->by_secondary_a;
	memset(were, 0, ((size_t)table->input->secondaries + 1) * sizeof *were);
	for (uint32_t i = 0; i < component->movers; i++)
		were[table_known(table, table->now->model[table->models[component->models_at + i]])]++;
	for (uint32_t s = table->input->secondaries; s >= 1; s--) {
		if (table->secondaries[s].models)
			continue;
		if (best == ASSIGN_NONE || were[s] > were[best] || (were[s] == were[best] && best != component->home))
			best = s;
	}
	return best;
}

static void round_robin_move_to_idle(struct table *table, uint32_t component)
{
	table_place(table, component, round_robin_idle_for(table, &table->components[component]));
	round_robin_forget_homes(table, &table->components[component]);
}

/* Of the secondaries that can give a listed component: the one with most components, then most movers, then the
 * lowest number; ASSIGN_NONE: there is none. */
static uint32_t round_robin_fullest(const struct table *table, const uint32_t *next, const uint32_t *end)
{
	uint32_t best = ASSIGN_NONE;
	for (uint32_t s = 1; s <= table->input->secondaries; s++) {
		const struct table_secondary *a = &table->secondaries[s], *b = &table->secondaries[best];
		if (!round_robin_can_give(table, s) || next[s] == end[s])
			continue;
		if (best == ASSIGN_NONE || a->components > b->components ||
			(a->components == b->components && a->movers > b->movers))
			best = s;
	}
	return best;
}

/* Splits the list into a queue per secondary, in the list's order: from queue[next[s]] to queue[end[s]]. */
static void round_robin_queue_by_secondary(
	struct table *table, const uint32_t *list, uint32_t count, uint32_t *queue, uint32_t *next, uint32_t *end)
{
	uint32_t below = 0;
	memset(end, 0, ((size_t)table->input->secondaries + 1) * sizeof *end);
	for (uint32_t i = 0; i < count; i++)
		end[table->components[list[i]].secondary]++;
	for (uint32_t s = 1; s <= table->input->secondaries; s++) {
		uint32_t own = end[s];
		next[s] = end[s] = below;
		below += own;
	}
	for (uint32_t i = 0; i < count; i++)
		queue[end[table->components[list[i]].secondary]++] = list[i];
}

static void round_robin_give_from_fullest(struct table *table, const uint32_t *list, uint32_t count)
{
	uint32_t *queue = table->by_component_b, *next = table->by_secondary_b, *end = table->by_secondary_c;
	round_robin_queue_by_secondary(table, list, count, queue, next, end);
	while (table->idle) {
		uint32_t giver = round_robin_fullest(table, next, end);
		if (giver == ASSIGN_NONE)
			return;
		round_robin_move_to_idle(table, queue[next[giver]++]);
	}
}

static bool round_robin_somebody_can_give(const struct table *table)
{
	for (uint32_t s = 1; s <= table->input->secondaries; s++)
		if (round_robin_can_give(table, s))
			return true;
	return false;
}

/* False: the component that should move may be one of the rest (see assign_input.others). */
static bool round_robin_fill_idle(struct table *table)
{
	if (!table->idle || !round_robin_somebody_can_give(table))
		return true;
	if (table->input->others)
		return false;
	round_robin_mark_parted(table);
	uint32_t *list = table->by_component_a, count = round_robin_list_by_size(table, list);
	for (uint32_t i = 0; i < count && table->idle; i++)
		if (table->components[list[i]].entered &&
			round_robin_can_give(table, table->components[list[i]].secondary))
			round_robin_move_to_idle(table, list[i]);
	for (uint32_t i = 0; i < count && table->idle; i++)
		if (table->components[list[i]].parted &&
			round_robin_can_give(table, table->components[list[i]].secondary))
			round_robin_move_to_idle(table, list[i]);
	round_robin_give_from_fullest(table, list, count);
	return true;
}

/* When a component's move home would leave its secondary without another component, it waits there until the next
 * component comes home to that secondary. So the result does not depend on the order of the components. */
static void round_robin_return_home(struct table *table, uint32_t component, uint32_t *waiting)
{
	while (component != TABLE_NONE) {
		struct table_component *returning = &table->components[component];
		if (!round_robin_can_give(table, returning->secondary)) {
			waiting[returning->secondary] = component;
			return;
		}
		uint32_t home = returning->home;
		table_place(table, component, home);
		round_robin_forget_homes(table, returning);
		component = waiting[home];
		waiting[home] = TABLE_NONE;
	}
}

/* When a secondary is still idle after round_robin_fill_idle(), no secondary has two components of which one may leave.
 * round_robin_return_home() then moves nothing, as the rule demands. */
static void round_robin_return_all(struct table *table)
{
	uint32_t *waiting = table->by_secondary_a;
	memset(waiting, 0xff, ((size_t)table->input->secondaries + 1) * sizeof *waiting);
	for (uint32_t c = 0; c < table->input->component_count; c++)
		if (table->components[c].home != ASSIGN_NONE)
			round_robin_return_home(table, c, waiting);
}

bool assign_round_robin(const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch)
{
	struct table table;
	table_build(&table, input, now, scratch);
	table_gather(&table);
	round_robin_deal_new(&table);
	round_robin_note_homes(&table);
	if (!round_robin_fill_idle(&table))
		return false;
	round_robin_return_all(&table);
	table_follow_leaders(&table);
	table_commit(&table);
	return true;
}
