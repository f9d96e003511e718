/* Who simulates what: a pure function from the components of a step and the previous assignment to the next one.
 * No clock, no I/O, no thread, no memory of its own: what it must remember from step to step is in struct assignment.
 *
 * Nodes are performers (every dynamic model that is loaded: declared performers, dynamic models without level, and
 * the dynamic models that a level names) and loaded levels. A component is a set of nodes that must be on one
 * secondary; the caller found them (performer in level, dynamic model named by level, law 4).
 *
 * "Movers" are the nodes that count as performers: the declared performers and the dynamic models without level.
 * Dynamic models that one level names are cargo: they count only where the policy says so. The size of a component is
 * its number of movers. A secondary is idle when it simulates no dynamic model at all, cargo included.
 *
 * Policy round-robin, from the specification (spec/000, "Distribution") and DESIGN 4. Rules, in the order applied:
 *  pins     A component with a pinned node goes there and no rule below moves it; of several different pins, the one on
 *           the lowest node holds (models count before levels). A number that is no secondary is no pin.
 *  merge    A component whose nodes were on several secondaries goes where most of its movers already are. A tie goes
 *           to those that were there already: the side with more movers that entered nothing in this step and have
 *           no home elsewhere (see "return"); then where most of its performer-holding levels were; then where most of
 *           its cargo was; then to the secondary, of those still tied, of the lowest mover; without such a mover, of
 *           the lowest cargo, then level.
 *  first    When nothing is assigned yet: components that hold a level with a performer in it, ordered by their first
 *           such level; then components without, ordered by their first mover; dealt to secondaries 1, 2, ... in turn,
 *           those that pins have taken being passed over while others are idle.
 *  new      A component none of whose nodes was assigned is dealt in the same order to the next idle secondary in turn,
 *           else to the next in turn. (This is the same rule as "first".) Last, in order of number, come components
 *           without movers that have nobody to follow, see "levels".
 *  part     While a secondary is idle and another has two or more components with movers, one of those moves there, so
 *           that idle secondaries are minimal. Which: one with a mover that entered a level in this step; else one that
 *           has just parted from others that are still on that secondary with it; in both cases the smallest first;
 *           else the smallest of the fullest secondary (fullest: most components, then most movers, then lowest
 *           number); equal in size: the one with the highest first mover. Where to, of several idle secondaries: where
 *           most of its movers were in the previous step, so that the fewest move; then its home; then the lowest.
 *  return   A mover that was fetched to another secondary by a merge in which nobody entered a level (mere contact)
 *           remembers its home, the first one if it is fetched again. When no secondary is idle and all movers of its
 *           component share a home, the component goes there, if its present secondary keeps another component with
 *           movers. Being back at home, entering a level, being fetched because of somebody who did, and being moved by
 *           a pin or by "part" forget the home. (The caller keeps contact edges for a while after contact, so nothing
 *           flutters.)
 *  levels   A component without movers (levels that performers are only near, and the dynamic models they name) stays
 *           with its previous owner (chosen as in "merge"), else goes where the lowest model near it is, when that
 *           model's component has movers, else it is new.
 *
 * Calling again with the same components and nothing entered moves nothing: a caller may skip such calls. Cost is
 * linear in nodes and components, plus secondaries for each component dealt or moved while some are idle.
 *
 * Policy balanced looks at what a step of each model costs. The load of a secondary is the sum of what its models cost,
 * the makespan the greatest load; nothing can be shared out better than
 *
 *           bound = max(all costs / N, the greatest component, the greatest load by pins alone)
 *
 * Rules: "pins", "merge" and "levels" as above; then
 *  new      The components that nobody had, greatest first, each to the secondary with the least load.
 *  balance  When the makespan is more than 1/32 above the bound: of a few loads up to which a secondary
 *           may be filled (the bound, and up to an eighth more) each is tried: components, greatest first, stay while
 *           their secondary is not filled; the others, greatest first, go to whoever has the least. That one is taken
 *           for which makespan x horizon + moved models x cost of a move is least, if it is less than with nothing
 *           moved, and the makespan is less by 1/32 at least; so that noise moves nothing. Then again from there.
 * It is linear, plus log N for each component that is new or goes elsewhere. */
#ifndef ASSIGN_ASSIGN_H
#define ASSIGN_ASSIGN_H

#include "base/base.h"

enum {
	ASSIGN_SECONDARIES_MAX = 1024,
	ASSIGN_NONE = 0, /* secondaries are numbered 1..N, as in the specification; 0 is "nobody" */
};

/* What a secondary has. */
struct assign_load {
	uint32_t models;
	uint32_t components; /* with movers */
	uint64_t cost;       /* ns a step; only balanced looks at it */
};

/* Models and levels are given as dense arrays; only those with a component take part. They are the whole world, or
 * those of it that anything happened to: then `others` says what the secondaries have besides, which stays where it is.
 * What may be left to the others: components that have the nodes of the previous call, in which nobody entered a level,
 * that have no home, and that nothing of what is given follows. */
struct assign_input {
	uint32_t secondaries; /* N >= 1 */
	uint32_t model_count, level_count, component_count;
	/* [model_count]: component of each model, UINT32_MAX: not loaded */
	const uint32_t *model_component;
	/* [level_count]: component of each level, UINT32_MAX: not loaded */
	const uint32_t *level_component;
	const bool *model_is_mover;      /* [model_count] */
	const bool *model_entered;       /* [model_count] entered a level in this step that it was not in before */
	const bool *level_has_performer; /* [level_count] a performer is in it */
	const uint32_t *level_near;      /* [level_count] lowest model near it; UINT32_MAX: none */
	/* secondary of each, or ASSIGN_NONE; either may be NULL: no pins */
	const uint32_t *model_pin, *level_pin;

	const struct assign_load *others; /* [N + 1], from 1; NULL: there are none */

	/* For balanced only. */
	const uint32_t *model_cost; /* [model_count] ns that a step of each takes; NULL: all cost the same */
	uint32_t move_cost;         /* ns that it takes to hand one model over */
	uint32_t horizon;           /* steps for which what is gained is expected to last */
};

/* The whole memory of the policy. Arrays are the caller's, sized as the world; zeroed: nothing assigned yet. Values out
 * of range (a saved run resumed with fewer secondaries) count as not assigned. */
struct assignment {
	uint32_t *model, *level; /* secondary of each; ASSIGN_NONE: nobody (not loaded) */
	uint32_t *home;          /* [model_count] where a mover was fetched from for mere contact; ASSIGN_NONE */
	uint32_t *component_of;  /* [model_count] component each model was in, to see parts; means nothing where nobody
				  * had the model */
	uint32_t turn;           /* next secondary in turn, from 0 */
};

/* Scratch that a policy needs; grows to fit and is then reused, so that a warm call allocates nothing.
 * Zeroed is ready. Its content between calls means nothing. */
struct assign_scratch {
	void *memory;
	size_t bytes;
};

/* Writes the next assignment over *now (in: the previous one). What is not loaded loses its
 * secondary and its home. The caller finds moves by comparing with its copy of the previous arrays.
 * False: something of the others has to move; *now is then worth nothing, and the whole world is to be given. */
typedef bool assign_function(const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch);

/* With others: as if the whole world had been given. */
assign_function assign_round_robin;
/* With others: never false; they are taken for pinned, so that nothing of what is given moves for want of a better
 * place for them. From time to time the whole world is to be given. */
assign_function assign_balanced;

struct assign_policy {
	const char *name;
	assign_function *assign;
	bool by_cost; /* wants model_cost, and to be asked again when costs change */
};

/* The policies, the default first; the last one's name is NULL. */
extern const struct assign_policy assign_policies[];
/* NULL: there is none of that name. */
const struct assign_policy *assign_policy_named(const char *name);

void assign_scratch_fini(struct assign_scratch *scratch);

#endif
