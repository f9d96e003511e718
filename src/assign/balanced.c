/* The rules of assign.h. Each fill limit gives a plan that is computed beside the table; only the best plan is then
 * placed in it. */
#include "assign/table.h"

#include <string.h>

enum { GAIN_MIN = 32 }; /* a makespan counts as less when it is less by one part in GAIN_MIN */

struct plan_of {      /* the assignment that one fill limit gives */
	uint32_t *to; /* [component_count] secondary; defined for listed components only */
	uint64_t makespan;
	uint64_t moved; /* models */
};

struct balance {
	struct table *table;
	uint32_t *list; /* components that are free to move or new, greatest first */
	uint32_t count;
	uint32_t *heap; /* of secondaries, the least loaded first; uses by_secondary_a */
	uint64_t bound;
};

/* --- costs -------------------------------------------------------------------------------------------------------- */

static void balanced_weigh(struct table *table)
{
	const struct assign_input *input = table->input;
	for (uint32_t c = 0; c < input->component_count; c++) {
		struct table_component *component = &table->components[c];
		uint64_t cost = 0;
		for (uint32_t i = 0; i < component->models; i++) {
			uint32_t model = table->models[component->models_at + i];
			cost += input->model_cost ? MAX(input->model_cost[model], 1u) : 1;
		}
		component->cost = (uint32_t)MIN(MAX(cost, 1u), UINT32_MAX);
	}
}

/* One pass of a radix sort by 11 bits of the cost, the greatest first; stable. */
static void balanced_sort_by_digit(
	const struct table *table, const uint32_t *from, uint32_t *to, uint32_t count, unsigned int shift)
{
	enum { DIGITS = 2048 };
	uint32_t start[DIGITS] = {0}, below = 0;
	for (uint32_t i = 0; i < count; i++)
		start[table->components[from[i]].cost >> shift & (DIGITS - 1)]++;
	for (uint32_t d = DIGITS; d-- > 0;) {
		uint32_t with = start[d];
		start[d] = below;
		below += with;
	}
	for (uint32_t i = 0; i < count; i++)
		to[start[table->components[from[i]].cost >> shift & (DIGITS - 1)]++] = from[i];
}

/* Lists components that may move and components that are new, but no component that follows another. */
static void balanced_list_free(struct balance *balance)
{
	struct table *table = balance->table;
	uint32_t *a = table->by_component_a, *b = table->by_component_b, count = 0;
	for (uint32_t c = 0; c < table->input->component_count; c++) {
		const struct table_component *component = &table->components[c];
		bool follows = table_unplaced(table, c) && !component->movers && table_leader(table, c) != TABLE_NONE;
		if ((component->models || component->levels) && !component->pinned && !follows)
			b[count++] = c;
	}
	balanced_sort_by_digit(table, b, a, count, 0);
	balanced_sort_by_digit(table, a, b, count, 11);
	balanced_sort_by_digit(table, b, a, count, 22);
	balance->list = a;
	balance->count = count;
}

/* Loads from pinned components and from components that are not to move now. */
static void balanced_load_pinned(struct table *table)
{
	const struct assign_load *others = table->input->others;
	for (uint32_t s = 1; s <= table->input->secondaries; s++)
		table->secondaries[s].load = others ? others[s].cost : 0;
	for (uint32_t c = 0; c < table->input->component_count; c++)
		if (table->components[c].pinned)
			table->secondaries[table->components[c].secondary].load += table->components[c].cost;
}

static void balanced_find_bound(struct balance *balance)
{
	const struct table *table = balance->table;
	uint64_t all = 0, greatest = 0;
	balanced_load_pinned(balance->table);
	for (uint32_t s = 1; s <= table->input->secondaries; s++) {
		all += table->secondaries[s].load;
		greatest = MAX(greatest, table->secondaries[s].load);
	}
	for (uint32_t i = 0; i < balance->count; i++) {
		all += table->components[balance->list[i]].cost;
		greatest = MAX(greatest, table->components[balance->list[i]].cost);
	}
	balance->bound = MAX(greatest, (all + table->input->secondaries - 1) / table->input->secondaries);
}

/* --- the least loaded --------------------------------------------------------------------------------------------- */

static bool balanced_is_less(const struct balance *balance, uint32_t a, uint32_t b)
{
	uint64_t load_a = balance->table->secondaries[a].load, load_b = balance->table->secondaries[b].load;
	return load_a != load_b ? load_a < load_b : a < b;
}

static void balanced_sift_down(struct balance *balance, uint32_t at)
{
	uint32_t count = balance->table->input->secondaries, secondary = balance->heap[at];
	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && balanced_is_less(balance, balance->heap[child + 1], balance->heap[child]))
			child++;
		if (!balanced_is_less(balance, balance->heap[child], secondary))
			break;
		balance->heap[at] = balance->heap[child];
	}
	balance->heap[at] = secondary;
}

static void balanced_make_heap(struct balance *balance)
{
	uint32_t count = balance->table->input->secondaries;
	for (uint32_t i = 0; i < count; i++)
		balance->heap[i] = i + 1;
	for (uint32_t i = count / 2; i-- > 0;)
		balanced_sift_down(balance, i);
}

/* --- sharing out -------------------------------------------------------------------------------------------------- */

/* Components stay on their secondaries up to the load `fill`; the others go to the secondary with the least load. */
static void balanced_share_out(struct balance *balance, uint64_t fill, struct plan_of *plan)
{
	struct table *table = balance->table;
	balanced_load_pinned(table);
	plan->makespan = plan->moved = 0;
	for (uint32_t i = 0; i < balance->count; i++) {
		const struct table_component *component = &table->components[balance->list[i]];
		struct table_secondary *there = &table->secondaries[component->secondary];
		bool stays = component->secondary != ASSIGN_NONE && there->load + component->cost <= fill;
		plan->to[balance->list[i]] = stays ? component->secondary : ASSIGN_NONE;
		if (stays)
			there->load += component->cost;
	}
	balanced_make_heap(balance);
	for (uint32_t i = 0; i < balance->count; i++) {
		uint32_t c = balance->list[i];
		if (plan->to[c] != ASSIGN_NONE)
			continue;
		plan->to[c] = balance->heap[0];
		table->secondaries[plan->to[c]].load += table->components[c].cost;
		balanced_sift_down(balance, 0);
		if (table->components[c].secondary != ASSIGN_NONE && table->components[c].secondary != plan->to[c])
			plan->moved += table->components[c].models;
	}
	for (uint32_t s = 1; s <= table->input->secondaries; s++)
		plan->makespan = MAX(plan->makespan, table->secondaries[s].load);
}

/* The cost of a plan over the horizon. */
static uint64_t balanced_price(const struct assign_input *input, const struct plan_of *plan)
{
	return plan->makespan * input->horizon + plan->moved * input->move_cost;
}

/* Returns the best of a few plans; in `stay` nothing moves. `spare` is room for another plan. */
static struct plan_of balanced_improve(struct balance *balance, struct plan_of stay, uint32_t *spare)
{
	const struct assign_input *input = balance->table->input;
	struct plan_of best = stay, other = {.to = spare};
	for (uint64_t more = 0; more <= 8; more = more ? 2 * more : 1) {
		balanced_share_out(balance, balance->bound + balance->bound * more / 64, &other);
		if (other.makespan + stay.makespan / GAIN_MIN > stay.makespan ||
			balanced_price(input, &other) >= balanced_price(input, &best))
			continue;
		struct plan_of worse = best;
		best = other;
		other = worse;
	}
	return best;
}

static void balanced_place(struct balance *balance, const struct plan_of *plan)
{
	for (uint32_t i = 0; i < balance->count; i++) {
		uint32_t c = balance->list[i];
		if (plan->to[c] != balance->table->components[c].secondary)
			table_place(balance->table, c, plan->to[c]);
	}
}

/* One round: places new components, then moves components if that gains enough; false when it gains nothing. */
static bool balanced_balance_once(struct balance *balance)
{
	struct table *table = balance->table;
	struct plan_of stay = {.to = table->by_component_b};
	balanced_share_out(balance, UINT64_MAX, &stay);
	balanced_place(balance, &stay);
	if (stay.makespan <= balance->bound + balance->bound / GAIN_MIN)
		return false;
	struct plan_of best = balanced_improve(balance, stay, table->by_node);
	balanced_place(balance, &best);
	return best.makespan < stay.makespan;
}

bool assign_balanced(const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch)
{
	struct table table;
	struct balance balance = {.table = &table};
	table_build(&table, input, now, scratch);
	table_gather(&table);
	balanced_weigh(&table);
	balanced_list_free(&balance);
	balanced_find_bound(&balance);
	balance.heap = table.by_secondary_a;
	while (balanced_balance_once(&balance)) /* ends: each round makes the makespan less by 1/32 at least */
		;
	table_follow_leaders(&table);
	table_commit(&table);
	return true;
}
