/* A component is a ring of nodes, so that joining takes no memory and a part is taken out node by node. After each
 * call the components are those of the present edges. So several edges may be cut one after the other: edges still to
 * be cut still count. */
#include "assign/components.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void components_init(struct components *components, uint32_t owner_count)
{
	*components = (struct components){.owner_count = owner_count};
	components->owned = mem_alloc(owner_count * sizeof *components->owned);
}

void components_fini(struct components *components)
{
	for (uint32_t i = 0; i < components->node_count; i++)
		vec_free(&components->edges[i].all);
	free(components->of);
	free(components->next);
	free(components->edges);
	free(components->owned);
	free(components->was);
	free(components->previous);
	free(components->mover);
	free(components->pinned);
	free(components->seen);
	vec_free(&components->sets);
	vec_free(&components->open);
	vec_free(&components->sides[0].nodes);
	vec_free(&components->sides[1].nodes);
	vec_free(&components->relabelled);
	vec_free(&components->gone);
	vec_free(&components->free);
	vec_free(&components->numbers);
	vec_free(&components->numbered);
}

/* --- components --------------------------------------------------------------------------------------------------- */

static uint32_t components_new_set(struct components *components)
{
	uint32_t set = components->sets.count;
	if (components->free.count)
		set = components->free.at[--components->free.count];
	else
		(void)vec_append(&components->sets, 1);
	components->sets.at[set] = (struct component){0};
	return set;
}

/* Makes the node a ring of one. */
static void components_seclude(struct components *components, uint32_t node, uint32_t set)
{
	components->of[node] = set;
	components->next[node] = components->previous[node] = node;
	components->sets.at[set] = (struct component){
		.any = node, .nodes = 1, .movers = components->mover[node], .pinned = components->pinned[node]};
}

void components_fit(struct components *components, uint32_t node_count)
{
	uint32_t before = components->node_count;
	if (node_count <= before)
		return;
	MEM_FIT(components->of, before, node_count);
	MEM_FIT(components->next, before, node_count);
	MEM_FIT(components->edges, before, node_count);
	MEM_FIT(components->was, before, node_count);
	MEM_FIT(components->previous, before, node_count);
	MEM_FIT(components->mover, before, node_count);
	MEM_FIT(components->pinned, before, node_count);
	MEM_FIT(components->seen, before, node_count);
	components->node_count = node_count;
	for (uint32_t node = before; node < node_count; node++) {
		components_seclude(components, node, components_new_set(components));
		components->was[node] = components->of[node];
	}
}

void components_reset(struct components *components)
{
	components->sets.count = components->open.count = components->free.count = components->gone.count = 0;
	components->relabelled.count = 0;
	memset(components->owned, 0, components->owner_count * sizeof *components->owned);
	for (uint32_t node = 0; node < components->node_count; node++) {
		components->edges[node].all.count = components->edges[node].through = 0;
		components->mover[node] = components->pinned[node] = false;
		components_seclude(components, node, components_new_set(components));
		components->was[node] = components->of[node];
	}
}

/* The count of an owner's components excludes a component while it changes: subtracted before a change, added after
 * it. */
static void components_count(struct components *components, uint32_t set, uint32_t by)
{
	const struct component *counted = &components->sets.at[set];
	if (counted->movers && counted->owner != COMPONENTS_OPEN)
		components->owned[counted->owner] += by; /* by may be -1: unsigned arithmetic wraps back */
}

static void components_list_open(struct components *components, uint32_t set)
{
	struct component *opened = &components->sets.at[set];
	if (opened->owner != COMPONENTS_OPEN)
		vec_push(&components->open, set);
	opened->owner = COMPONENTS_OPEN;
}

static void components_relabel(struct components *components, uint32_t node, uint32_t set)
{
	if (components->was[node] == components->of[node])
		vec_push(&components->relabelled, node);
	components->of[node] = set;
}

void components_settle(struct components *components)
{
	for (uint32_t i = 0; i < components->relabelled.count; i++) {
		uint32_t node = components->relabelled.at[i];
		components->was[node] = components->of[node];
	}
	for (uint32_t i = 0; i < components->gone.count; i++)
		vec_push(&components->free, components->gone.at[i]);
	components->relabelled.count = components->gone.count = components->open.count = 0;
}

uint32_t components_number(struct components *components, uint32_t set, uint32_t *count)
{
	uint32_t had = components->numbers.count, sets = components->sets.count;
	if (sets > had)
		memset(vec_append(&components->numbers, sets - had), 0xff, (sets - had) * sizeof(uint32_t));
	if (components->numbers.at[set] != COMPONENTS_NONE)
		return components->numbers.at[set];
	vec_push(&components->numbered, set);
	return components->numbers.at[set] = (*count)++;
}

void components_forget_numbers(struct components *components)
{
	for (uint32_t i = 0; i < components->numbered.count; i++)
		components->numbers.at[components->numbered.at[i]] = COMPONENTS_NONE;
	components->numbered.count = 0;
}

void components_describe(struct components *components, uint32_t node, bool mover, bool pinned)
{
	struct component *set = &components->sets.at[components->of[node]];
	if (components->mover[node] == mover && components->pinned[node] == pinned)
		return;
	components_count(components, components->of[node], UINT32_MAX);
	set->movers += (uint32_t)mover - components->mover[node];
	set->pinned += (uint32_t)pinned - components->pinned[node];
	components->mover[node] = mover;
	components->pinned[node] = pinned;
	components_list_open(components, components->of[node]);
}

void components_open(struct components *components, uint32_t node)
{
	components_count(components, components->of[node], UINT32_MAX);
	components_list_open(components, components->of[node]);
}

void components_own(struct components *components, uint32_t set, uint32_t owner)
{
	components_count(components, set, UINT32_MAX);
	components->sets.at[set].owner = owner;
	components_count(components, set, 1);
}

/* --- edges -------------------------------------------------------------------------------------------------------- */

static struct component_edge *components_edge_at(struct components *components, uint32_t node, uint32_t at)
{
	return &components->edges[node].all.at[at];
}

static uint32_t components_degree(const struct components *components, uint32_t node)
{
	return components->edges[node].all.count;
}

static void components_put_edge(struct components *components, uint32_t node, uint32_t at, struct component_edge edge)
{
	*components_edge_at(components, node, at) = edge;
	components_edge_at(components, edge.node, edge.twin)->twin = at;
}

static void components_swap_edges(struct components *components, uint32_t node, uint32_t i, uint32_t j)
{
	struct component_edge a = *components_edge_at(components, node, i),
			      b = *components_edge_at(components, node, j);
	components_put_edge(components, node, j, a);
	components_put_edge(components, node, i, b);
}

/* components_raise(): the other end of the edge has further edges, so the edge moves to the front part of the list;
 * components_lower(): the opposite. */
static void components_raise(struct components *components, uint32_t node, uint32_t at)
{
	if (at >= components->edges[node].through)
		components_swap_edges(components, node, at, components->edges[node].through++);
}

static void components_lower(struct components *components, uint32_t node, uint32_t at)
{
	if (at < components->edges[node].through)
		components_swap_edges(components, node, at, --components->edges[node].through);
}

/* Index of the edge to b among the edges of a; UINT32_MAX: there is none. */
static uint32_t components_find_edge(const struct components *components, uint32_t a, uint32_t b)
{
	bool turned = components_degree(components, b) < components_degree(components, a);
	const struct component_edges *edges = &components->edges[turned ? b : a];
	for (uint32_t i = 0; i < edges->all.count; i++)
		if (edges->all.at[i].node == (turned ? a : b))
			return turned ? edges->all.at[i].twin : i;
	return UINT32_MAX;
}

/* An edge was added to the node: neighbours may search through the node once it has two edges. */
static void components_lead_through(struct components *components, uint32_t node, uint32_t added)
{
	uint32_t count = components_degree(components, node), from = count > 2 ? added : 0,
		 to = count > 2 ? added + 1 : count;
	for (uint32_t i = from; count >= 2 && i < to; i++) {
		struct component_edge edge = *components_edge_at(components, node, i);
		components_raise(components, edge.node, edge.twin);
	}
}

static void components_add_edge(struct components *components, uint32_t a, uint32_t b)
{
	uint32_t at_a = components_degree(components, a), at_b = components_degree(components, b);
	vec_push(&components->edges[a].all, (struct component_edge){b, at_b});
	vec_push(&components->edges[b].all, (struct component_edge){a, at_a});
	components_lead_through(components, a, at_a);
	components_lead_through(components, b, components_edge_at(components, a, at_a)->twin);
}

static void components_drop_edge(struct components *components, uint32_t node, uint32_t at)
{
	struct component_edges *edges = &components->edges[node];
	if (at < edges->through) {
		components_lower(components, node, at);
		at = edges->through;
	}
	components_swap_edges(components, node, at, edges->all.count - 1);
	edges->all.count--;
}

static void components_remove_edge(struct components *components, uint32_t a, uint32_t b, uint32_t at_a)
{
	components_drop_edge(components, a, at_a);
	/* its entry is still there behind the last one, with the present index of the twin */
	components_drop_edge(components, b, components->edges[a].all.at[components_degree(components, a)].twin);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t node = i ? b : a;
		if (components_degree(components, node) == 1)
			components_lower(components, components_edge_at(components, node, 0)->node,
				components_edge_at(components, node, 0)->twin);
	}
}

/* --- joining ------------------------------------------------------------------------------------------------------ */

static void components_join_rings(struct components *components, uint32_t a, uint32_t b)
{
	uint32_t *next = components->next, *previous = components->previous;
	uint32_t after_a = next[a], after_b = next[b];
	next[a] = after_b;
	previous[after_b] = a;
	next[b] = after_a;
	previous[after_a] = b;
}

static void components_join(struct components *components, uint32_t a, uint32_t b)
{
	struct component *sets = components->sets.at;
	uint32_t into = sets[a].nodes >= sets[b].nodes ? a : b, from = into == a ? b : a;
	bool open = sets[a].owner != sets[b].owner || sets[a].pinned || sets[b].pinned;
	components_count(components, a, UINT32_MAX);
	components_count(components, b, UINT32_MAX);
	uint32_t first = sets[from].any, node = first;
	do {
		components_relabel(components, node, into);
		node = components->next[node];
	} while (node != first);
	components_join_rings(components, sets[into].any, first);
	sets[into].nodes += sets[from].nodes;
	sets[into].movers += sets[from].movers;
	sets[into].pinned += sets[from].pinned;
	sets[from] = (struct component){0};
	vec_push(&components->gone, from);
	if (open)
		components_list_open(components, into);
	components_count(components, into, 1);
}

/* --- parting ------------------------------------------------------------------------------------------------------ */

static void components_start_side(struct components *components, uint32_t side, uint32_t node)
{
	struct component_side *from = &components->sides[side];
	from->nodes.count = from->at = from->edge = 0;
	vec_push(&from->nodes, node);
	components->seen[node] = 2 * components->searches + side;
}

enum components_found { FOUND_NOTHING, FOUND_OTHER, FOUND_ALL };

/* Looks along one edge. */
static enum components_found components_look(struct components *components, uint32_t side)
{
	struct component_side *from = &components->sides[side];
	uint64_t mine = 2 * components->searches + side;
	if (from->at == from->nodes.count)
		return FOUND_ALL;
	const struct component_edges *edges = &components->edges[from->nodes.at[from->at]];
	if (from->edge == edges->through) {
		from->at++;
		from->edge = 0;
		return FOUND_NOTHING;
	}
	uint32_t node = edges->all.at[from->edge++].node;
	if (components->seen[node] == (mine ^ 1))
		return FOUND_OTHER;
	if (components->seen[node] != mine)
		vec_push(&from->nodes, node);
	components->seen[node] = mine;
	return FOUND_NOTHING;
}

/* The side that was searched completely without meeting the other; 2: the sides met. */
static uint32_t components_search(struct components *components, uint32_t a, uint32_t b)
{
	components->searches++;
	components_start_side(components, 0, a);
	components_start_side(components, 1, b);
	for (uint32_t side = 0;; side ^= 1) {
		enum components_found found = components_look(components, side);
		if (found != FOUND_NOTHING)
			return found == FOUND_ALL ? side : 2;
	}
}

/* Adds the nodes with one edge, which the search left out. */
static void components_add_ends(struct components *components, uint32_t side)
{
	struct component_side *from = &components->sides[side];
	uint64_t mine = 2 * components->searches + side;
	for (uint32_t i = 0, count = from->nodes.count; i < count; i++) {
		const struct component_edges *edges = &components->edges[from->nodes.at[i]];
		for (uint32_t k = edges->through; k < edges->all.count; k++)
			if (components->seen[edges->all.at[k].node] != mine)
				vec_push(&from->nodes, edges->all.at[k].node);
	}
}

static void components_take_out(struct components *components, uint32_t node, uint32_t from, uint32_t to)
{
	struct component *sets = components->sets.at;
	uint32_t *next = components->next, *previous = components->previous;
	sets[from].any = next[node]; /* the rest of the ring, if there is one */
	next[previous[node]] = next[node];
	previous[next[node]] = previous[node];
	next[node] = previous[node] = node;
	if (sets[to].nodes)
		components_join_rings(components, sets[to].any, node);
	components_relabel(components, node, to);
	sets[to].any = node;
	sets[to].nodes++;
	sets[from].nodes--;
	sets[to].movers += components->mover[node];
	sets[from].movers -= components->mover[node];
	sets[to].pinned += components->pinned[node];
	sets[from].pinned -= components->pinned[node];
}

static void components_part(struct components *components, const struct component_side *side)
{
	uint32_t from = components->of[side->nodes.at[0]], to = components_new_set(components);
	const struct component *whole = &components->sets.at[from];
	uint32_t owner = whole->owner;
	bool pinned = whole->pinned;
	components_count(components, from, UINT32_MAX);
	for (uint32_t i = 0; i < side->nodes.count; i++)
		components_take_out(components, side->nodes.at[i], from, to);
	if (owner == COMPONENTS_OPEN || pinned) {
		components_list_open(components, from);
		components_list_open(components, to);
		return;
	}
	components->sets.at[to].owner = owner;
	components_count(components, from, 1);
	components_count(components, to, 1);
}

/* --- links and cuts ----------------------------------------------------------------------------------------------- */

void components_link(struct components *components, uint32_t a, uint32_t b)
{
	assert(a != b && a < components->node_count && b < components->node_count);
	if (components_find_edge(components, a, b) != UINT32_MAX)
		return;
	components_add_edge(components, a, b);
	if (components->of[a] != components->of[b])
		components_join(components, components->of[a], components->of[b]);
}

void components_cut(struct components *components, uint32_t a, uint32_t b)
{
	assert(a != b && a < components->node_count && b < components->node_count);
	uint32_t at = components_find_edge(components, a, b);
	if (at == UINT32_MAX)
		return;
	components_remove_edge(components, a, b, at);
	uint32_t side = components_search(components, a, b);
	if (side == 2)
		return;
	components_add_ends(components, side);
	components_part(components, &components->sides[side]);
}
