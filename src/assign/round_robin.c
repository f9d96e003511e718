/* The rules of assign.h, in the order in which they are applied:
 *
 *   pins, merge   what was somewhere stays or comes together; now it is known who is idle
 *   first, new    what was nowhere is dealt, to the idle first
 *   homes         who was fetched for contact, seen before anything below moves it again
 *   part          the idle that are left take from those with several
 *   return        only when nobody is idle, and never so that somebody becomes idle
 *   levels        what only follows a performer, when all performers are placed
 *
 * A second call with the same input and nothing entered moves nothing, because each rule looks only at what the later
 * ones leave alone: part and return count components with movers, which the last rule does not place; part leaves no
 * idle secondary beside one that could give, return none that could go. */
#include "assign/plan.h"

#include <stdlib.h>
#include <string.h>

static uint32_t lowest_pin(const struct plan *plan, const uint32_t *pins, const uint32_t *nodes, uint32_t count)
{
	uint32_t lowest = PLAN_NONE;
	for (uint32_t i = 0; pins && i < count; i++)
		if (nodes[i] < lowest && plan_known(plan, pins[nodes[i]]) != ASSIGN_NONE)
			lowest = nodes[i];
	return lowest == PLAN_NONE ? ASSIGN_NONE : pins[lowest];
}

static uint32_t pin_of(const struct plan *plan, const struct plan_component *component)
{
	uint32_t pin = lowest_pin(plan, plan->input->model_pin, &plan->models[component->models_at], component->models);
	if (pin != ASSIGN_NONE)
		return pin;
	return lowest_pin(plan, plan->input->level_pin, &plan->levels[component->levels_at], component->levels);
}

/* The vote for the secondary that had a node, and the secondary itself into *voted when it is the first; NULL when
 * nobody had it. */
static struct plan_vote *vote_for(struct plan *plan, uint32_t secondary, uint32_t *voted, uint32_t *voted_count)
{
	secondary = plan_known(plan, secondary);
	if (secondary == ASSIGN_NONE)
		return NULL;
	struct plan_vote *vote = &plan->votes[secondary];
	if (!vote->cast)
		voted[(*voted_count)++] = secondary;
	vote->cast = true;
	return vote;
}

/* Votes of all nodes of a component, lowest mover first, then cargo, then levels: the order of `voted` is the last
 * word in a tie. Returns how many secondaries got any. */
static uint32_t vote(struct plan *plan, const struct plan_component *component, uint32_t *voted)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < component->models; i++) {
		uint32_t model = plan->models[component->models_at + i];
		struct plan_vote *ballot = vote_for(plan, plan->now->model[model], voted, &count);
		if (!ballot)
			continue;
		ballot->movers += i < component->movers;
		ballot->residents += i < component->movers && !plan->input->model_entered[model] &&
				     plan_known(plan, plan->now->home[model]) == ASSIGN_NONE;
		ballot->cargo += i >= component->movers;
	}
	for (uint32_t i = 0; i < component->levels; i++) {
		uint32_t level = plan->levels[component->levels_at + i];
		struct plan_vote *ballot = vote_for(plan, plan->now->level[level], voted, &count);
		if (ballot)
			ballot->held_levels += plan->input->level_has_performer[level];
	}
	return count;
}

static bool beats(const struct plan_vote *a, const struct plan_vote *b)
{
	if (a->movers != b->movers)
		return a->movers > b->movers;
	if (a->residents != b->residents)
		return a->residents > b->residents;
	if (a->held_levels != b->held_levels)
		return a->held_levels > b->held_levels;
	return a->cargo > b->cargo;
}

static uint32_t elected(struct plan *plan, const struct plan_component *component)
{
	uint32_t *voted = plan->by_secondary_a, count = vote(plan, component, voted);
	uint32_t best = count ? voted[0] : ASSIGN_NONE;
	for (uint32_t i = 1; i < count; i++)
		if (beats(&plan->votes[voted[i]], &plan->votes[best]))
			best = voted[i];
	for (uint32_t i = 0; i < count; i++)
		plan->votes[voted[i]] = (struct plan_vote){0};
	return best;
}

static void pin_or_merge(struct plan *plan)
{
	for (uint32_t c = 0; c < plan->input->component_count; c++) {
		struct plan_component *component = &plan->components[c];
		uint32_t pin = pin_of(plan, component);
		component->pinned = pin != ASSIGN_NONE;
		uint32_t secondary = component->pinned ? pin : elected(plan, component);
		if (secondary != ASSIGN_NONE)
			plan_place(plan, c, secondary);
	}
}

/* The next idle secondary in turn, or the next at all when none is idle. */
static void deal(struct plan *plan, uint32_t component)
{
	uint32_t count = plan->input->secondaries, index = plan->now->turn % count;
	if (plan->idle)
		while (plan->secondaries[index + 1].models)
			index = (index + 1) % count;
	plan->now->turn = (index + 1) % count;
	plan_place(plan, component, index + 1);
}

/* The component that one without movers follows: that of the lowest model near one of its levels. */
static uint32_t leader_of(const struct plan *plan, const struct plan_component *component)
{
	const struct assign_input *input = plan->input;
	uint32_t lowest = PLAN_NONE;
	for (uint32_t i = 0; i < component->levels; i++) {
		uint32_t model = input->level_near[plan->levels[component->levels_at + i]];
		if (model >= input->model_count || input->model_component[model] == PLAN_NONE)
			continue;
		if (plan->components[input->model_component[model]].movers)
			lowest = MIN(lowest, model);
	}
	return lowest == PLAN_NONE ? PLAN_NONE : input->model_component[lowest];
}

static bool is_unplaced(const struct plan *plan, uint32_t component)
{
	const struct plan_component *asked = &plan->components[component];
	return asked->secondary == ASSIGN_NONE && (asked->models || asked->levels);
}

static void deal_new(struct plan *plan)
{
	const struct assign_input *input = plan->input;
	for (uint32_t l = 0; l < input->level_count; l++) {
		uint32_t c = input->level_component[l];
		if (c != PLAN_NONE && input->level_has_performer[l] && plan->components[c].movers &&
			is_unplaced(plan, c))
			deal(plan, c);
	}
	for (uint32_t m = 0; m < input->model_count; m++) {
		uint32_t c = input->model_component[m];
		if (c != PLAN_NONE && input->model_is_mover[m] && is_unplaced(plan, c))
			deal(plan, c);
	}
	for (uint32_t c = 0; c < input->component_count; c++)
		if (is_unplaced(plan, c) && leader_of(plan, &plan->components[c]) == PLAN_NONE)
			deal(plan, c);
}

static void follow_leaders(struct plan *plan)
{
	for (uint32_t c = 0; c < plan->input->component_count; c++)
		if (is_unplaced(plan, c))
			plan_place(plan, c, plan->components[leader_of(plan, &plan->components[c])].secondary);
}

static void forget_homes(struct plan *plan, struct plan_component *component)
{
	for (uint32_t i = 0; i < component->movers; i++)
		plan->now->home[plan->models[component->models_at + i]] = ASSIGN_NONE;
	component->home = ASSIGN_NONE;
}

/* The home of a mover that is now in that component. */
static uint32_t home_of(const struct plan *plan, const struct plan_component *component, uint32_t mover)
{
	uint32_t home = plan_known(plan, plan->now->home[mover]);
	uint32_t was = plan_known(plan, plan->now->model[mover]);
	if (plan->input->model_entered[mover])
		return ASSIGN_NONE;
	if (was != ASSIGN_NONE && was != component->secondary) {
		if (component->entered) /* fetched because somebody entered: not mere contact */
			return ASSIGN_NONE;
		if (home == ASSIGN_NONE)
			home = was;
	}
	return home == component->secondary ? ASSIGN_NONE : home;
}

static void note_homes(struct plan *plan)
{
	for (uint32_t c = 0; c < plan->input->component_count; c++) {
		struct plan_component *component = &plan->components[c];
		bool shared = true;
		for (uint32_t i = 0; i < component->movers; i++) {
			uint32_t mover = plan->models[component->models_at + i];
			uint32_t home = component->pinned ? ASSIGN_NONE : home_of(plan, component, mover);
			plan->now->home[mover] = home;
			shared = shared && (i == 0 || home == component->home);
			component->home = home;
		}
		if (!shared)
			component->home = ASSIGN_NONE;
	}
}

/* Those that stayed put and share a previous component with another that stayed put. (They then also share the
 * secondary.) */
static void mark_parted(struct plan *plan)
{
	const struct assign_input *input = plan->input;
	uint32_t *first_part = plan->by_node, parents = input->model_count + input->level_count;
	memset(first_part, 0xff, parents * sizeof *first_part);
	for (uint32_t m = 0; m < input->model_count; m++) {
		uint32_t c = input->model_component[m], parent = plan->now->component_of[m];
		if (c == PLAN_NONE || !input->model_is_mover[m] || parent >= parents)
			continue;
		uint32_t was = plan_known(plan, plan->now->model[m]);
		if (was == ASSIGN_NONE || was != plan->components[c].secondary)
			continue;
		if (first_part[parent] == PLAN_NONE)
			first_part[parent] = c;
		else if (first_part[parent] != c)
			plan->components[c].parted = plan->components[first_part[parent]].parted = true;
	}
}

/* The components with movers that no pin holds: smallest first, in a tie the highest first mover. By counting, since
 * qsort() may allocate. Uses by_node and by_component_b. */
static uint32_t list_by_size(struct plan *plan, uint32_t *list)
{
	const struct assign_input *input = plan->input;
	uint32_t *start = plan->by_node, *by_mover = plan->by_component_b, count = 0, below = 0;
	memset(start, 0, ((size_t)input->model_count + 1) * sizeof *start);
	for (uint32_t m = input->model_count; m-- > 0;) {
		uint32_t c = input->model_component[m];
		if (c == PLAN_NONE || !input->model_is_mover[m] || plan->components[c].pinned)
			continue;
		if (plan->models[plan->components[c].models_at] != m)
			continue;
		by_mover[count++] = c;
		start[plan->components[c].movers]++;
	}
	for (uint32_t size = 0; size <= input->model_count; size++) {
		uint32_t of_size = start[size];
		start[size] = below;
		below += of_size;
	}
	for (uint32_t i = 0; i < count; i++)
		list[start[plan->components[by_mover[i]].movers]++] = by_mover[i];
	return count;
}

static bool can_give(const struct plan *plan, uint32_t secondary)
{
	return plan->secondaries[secondary].components >= 2;
}

/* Which idle secondary a component goes to: fewest movers move when it is where most of them were. */
static uint32_t idle_for(struct plan *plan, const struct plan_component *component)
{
	uint32_t best = ASSIGN_NONE, *were = plan->by_secondary_a;
	memset(were, 0, ((size_t)plan->input->secondaries + 1) * sizeof *were);
	for (uint32_t i = 0; i < component->movers; i++)
		were[plan_known(plan, plan->now->model[plan->models[component->models_at + i]])]++;
	for (uint32_t s = plan->input->secondaries; s >= 1; s--) {
		if (plan->secondaries[s].models)
			continue;
		if (best == ASSIGN_NONE || were[s] > were[best] || (were[s] == were[best] && best != component->home))
			best = s;
	}
	return best;
}

static void move_to_idle(struct plan *plan, uint32_t component)
{
	plan_place(plan, component, idle_for(plan, &plan->components[component]));
	forget_homes(plan, &plan->components[component]);
}

/* The secondary with most components, then most movers, then the lowest number, of those that can give one of their
 * list's; ASSIGN_NONE when there is none. */
static uint32_t fullest(const struct plan *plan, const uint32_t *next, const uint32_t *end)
{
	uint32_t best = ASSIGN_NONE;
	for (uint32_t s = 1; s <= plan->input->secondaries; s++) {
		const struct plan_secondary *a = &plan->secondaries[s], *b = &plan->secondaries[best];
		if (!can_give(plan, s) || next[s] == end[s])
			continue;
		if (best == ASSIGN_NONE || a->components > b->components ||
			(a->components == b->components && a->movers > b->movers))
			best = s;
	}
	return best;
}

/* Splits the list into a queue per secondary, in the list's order: from queue[next[s]] to queue[end[s]]. */
static void queue_by_secondary(
	struct plan *plan, const uint32_t *list, uint32_t count, uint32_t *queue, uint32_t *next, uint32_t *end)
{
	uint32_t below = 0;
	memset(end, 0, ((size_t)plan->input->secondaries + 1) * sizeof *end);
	for (uint32_t i = 0; i < count; i++)
		end[plan->components[list[i]].secondary]++;
	for (uint32_t s = 1; s <= plan->input->secondaries; s++) {
		uint32_t own = end[s];
		next[s] = end[s] = below;
		below += own;
	}
	for (uint32_t i = 0; i < count; i++)
		queue[end[plan->components[list[i]].secondary]++] = list[i];
}

static void give_from_fullest(struct plan *plan, const uint32_t *list, uint32_t count)
{
	uint32_t *queue = plan->by_component_b, *next = plan->by_secondary_b, *end = plan->by_secondary_c;
	queue_by_secondary(plan, list, count, queue, next, end);
	while (plan->idle) {
		uint32_t giver = fullest(plan, next, end);
		if (giver == ASSIGN_NONE)
			return;
		move_to_idle(plan, queue[next[giver]++]);
	}
}

static bool somebody_can_give(const struct plan *plan)
{
	for (uint32_t s = 1; s <= plan->input->secondaries; s++)
		if (can_give(plan, s))
			return true;
	return false;
}

static void fill_idle(struct plan *plan)
{
	if (!plan->idle || !somebody_can_give(plan))
		return;
	mark_parted(plan);
	uint32_t *list = plan->by_component_a, count = list_by_size(plan, list);
	for (uint32_t i = 0; i < count && plan->idle; i++)
		if (plan->components[list[i]].entered && can_give(plan, plan->components[list[i]].secondary))
			move_to_idle(plan, list[i]);
	for (uint32_t i = 0; i < count && plan->idle; i++)
		if (plan->components[list[i]].parted && can_give(plan, plan->components[list[i]].secondary))
			move_to_idle(plan, list[i]);
	give_from_fullest(plan, list, count);
}

/* A component that would leave its secondary without any other waits there for the next one that comes home to it, so
 * that the outcome is final whatever the order of the components. */
static void return_home(struct plan *plan, uint32_t component, uint32_t *waiting)
{
	while (component != PLAN_NONE) {
		struct plan_component *returning = &plan->components[component];
		if (!can_give(plan, returning->secondary)) {
			waiting[returning->secondary] = component;
			return;
		}
		uint32_t home = returning->home;
		plan_place(plan, component, home);
		forget_homes(plan, returning);
		component = waiting[home];
		waiting[home] = PLAN_NONE;
	}
}

/* A secondary that is idle even now, after fill_idle(), means that none has two components of which one is free to
 * leave; so that return_home() then moves nothing, as the rule wants. */
static void return_all(struct plan *plan)
{
	uint32_t *waiting = plan->by_secondary_a;
	memset(waiting, 0xff, ((size_t)plan->input->secondaries + 1) * sizeof *waiting);
	for (uint32_t c = 0; c < plan->input->component_count; c++)
		if (plan->components[c].home != ASSIGN_NONE)
			return_home(plan, c, waiting);
}

void assign_round_robin(const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch)
{
	struct plan plan;
	plan_build(&plan, input, now, scratch);
	pin_or_merge(&plan);
	deal_new(&plan);
	note_homes(&plan);
	fill_idle(&plan);
	return_all(&plan);
	follow_leaders(&plan);
	plan_commit(&plan);
}

void assign_scratch_fini(struct assign_scratch *scratch)
{
	free(scratch->memory);
	*scratch = (struct assign_scratch){0};
}
