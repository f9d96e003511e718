/* Links nodes and cuts links at random. The components must be those that a search of all edges finds, and the sums
 * of a component must be those of its nodes. */
#include "../random.h"
#include "assign/components.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(components, .timeout = 60);

enum { NODES = 40, OWNERS = 4 };

struct world {
	struct components components;
	bool linked[NODES][NODES], mover[NODES], pinned[NODES];
	uint32_t was[NODES];   /* components at the last settlement, each by its lowest node */
	uint32_t owner[NODES]; /* owners given at the last settlement */
	uint64_t seed;
};

/* For each node the lowest node that it is connected with. */
static void find_lowest(const struct world *world, uint32_t *lowest)
{
	for (uint32_t i = 0; i < NODES; i++)
		lowest[i] = i;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t k = 0; k < NODES; k++)
				if (world->linked[i][k] && lowest[k] < lowest[i]) {
					lowest[i] = lowest[k];
					again = true;
				}
	}
}

static void check_rings(const struct world *world)
{
	const struct components *c = &world->components;
	for (uint32_t i = 0; i < NODES; i++) {
		const struct component *set = &c->sets.at[c->of[i]];
		uint32_t nodes = 0, movers = 0, pinned = 0, node = i;
		do {
			cr_assert_eq(c->of[node], c->of[i]);
			nodes++;
			movers += world->mover[node];
			pinned += world->pinned[node];
			node = c->next[node];
		} while (node != i && nodes <= NODES);
		cr_assert(set->nodes == nodes && set->movers == movers && set->pinned == pinned);
		cr_assert_eq(c->of[set->any], c->of[i]);
	}
}

static void check_components(const struct world *world, uint32_t *lowest)
{
	const struct components *c = &world->components;
	find_lowest(world, lowest);
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < NODES; k++) {
			cr_assert_eq(c->of[i] == c->of[k], lowest[i] == lowest[k], "%u and %u", i, k);
			cr_assert_eq(c->was[i] == c->was[k], world->was[i] == world->was[k],
				"%u and %u at the last settlement", i, k);
		}
	check_rings(world);
}

/* A component with an owner has this owner in all its nodes, and is counted; each other component is listed. */
static void check_owners(const struct world *world, const uint32_t *lowest)
{
	const struct components *c = &world->components;
	uint32_t owned[OWNERS] = {0};
	for (uint32_t i = 0; i < NODES; i++) {
		const struct component *set = &c->sets.at[c->of[i]];
		bool listed = false;
		for (uint32_t o = 0; o < c->open.count; o++)
			listed |= c->open.at[o] == c->of[i];
		cr_assert(set->owner == COMPONENTS_OPEN ? listed : set->owner == world->owner[i]);
		if (lowest[i] == i && set->owner != COMPONENTS_OPEN)
			owned[set->owner] += set->movers > 0;
	}
	cr_assert(!memcmp(owned, c->owned, sizeof owned));
}

static void settle(struct world *world, const uint32_t *lowest)
{
	struct components *c = &world->components;
	for (uint32_t i = 0; i < NODES; i++)
		if (c->sets.at[c->of[i]].owner == COMPONENTS_OPEN)
			components_own(c, c->of[i], random_below(&world->seed, OWNERS));
	for (uint32_t i = 0; i < NODES; i++)
		world->owner[i] = c->sets.at[c->of[i]].owner;
	memcpy(world->was, lowest, sizeof world->was);
	components_settle(c);
}

static void change(struct world *world, uint32_t density)
{
	uint32_t a = random_below(&world->seed, NODES), b = random_below(&world->seed, NODES),
		 kind = random_below(&world->seed, 12);
	if (kind == 0) {
		world->mover[a] = random_below(&world->seed, 2);
		world->pinned[a] = !random_below(&world->seed, 10);
		components_describe(&world->components, a, world->mover[a], world->pinned[a]);
	} else if (kind == 1 && !random_below(&world->seed, 10)) {
		components_open(&world->components, a);
	} else if (a != b) {
		bool link = random_below(&world->seed, NODES) < density;
		world->linked[a][b] = world->linked[b][a] = link;
		(link ? components_link : components_cut)(&world->components, a, b);
	}
}

Test(components, are_those_that_a_search_of_everything_finds)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world world = {.seed = seed};
		uint32_t lowest[NODES];
		components_init(&world.components, OWNERS);
		components_fit(&world.components, NODES / 2);
		components_fit(&world.components, NODES);
		find_lowest(&world, world.was);
		for (uint32_t i = 0; i < 4000; i++) {
			change(&world, 1 + (uint32_t)seed % 4);
			if (i % 3)
				continue;
			check_components(&world, lowest);
			check_owners(&world, lowest);
			if (!random_below(&world.seed, 4))
				settle(&world, lowest);
		}
		components_fini(&world.components);
	}
}

Test(components, are_all_alone_after_a_reset)
{
	struct components c;
	components_init(&c, 2);
	components_fit(&c, 3);
	components_describe(&c, 0, true, false);
	components_link(&c, 0, 1);
	components_link(&c, 1, 2);
	components_own(&c, c.of[0], 1);
	cr_assert_eq(c.owned[1], 1);
	components_reset(&c);
	cr_assert(c.of[0] != c.of[1] && c.of[1] != c.of[2] && c.of[0] != c.of[2]);
	cr_assert(!c.owned[0] && !c.owned[1] && !c.open.count);
	components_link(&c, 2, 0);
	cr_assert_eq(c.of[0], c.of[2]);
	components_fini(&c);
}

/* A line of nodes is parted in the middle. Components that have done so once allocate nothing when they do it again. */
Test(components, a_warm_one_allocates_nothing)
{
	enum { LINE = 1000 };
	struct components c;
	components_init(&c, 2);
	components_fit(&c, LINE);
	for (uint32_t round = 0; round < 3; round++) {
		const void *memory[] = {c.sets.at, c.sides[0].nodes.at, c.relabelled.at, c.edges[7].all.at, c.gone.at};
		for (uint32_t i = 1; i < LINE; i++)
			components_link(&c, i - 1, i);
		cr_assert_eq(c.sets.at[c.of[0]].nodes, LINE);
		for (uint32_t i = 1; i < LINE; i++)
			components_cut(&c, i - 1, i);
		components_settle(&c);
		const void *now[] = {c.sets.at, c.sides[0].nodes.at, c.relabelled.at, c.edges[7].all.at, c.gone.at};
		cr_assert(round < 2 || !memcmp(memory, now, sizeof now));
	}
	components_fini(&c);
}
