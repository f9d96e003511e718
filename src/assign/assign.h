/* Which secondary simulates which models and levels: a pure function from the components of a step and the previous
 * assignment to the next one. No clock, no I/O, no thread, no memory of its own: what a policy must remember from step
 * to step is in struct assignment.
 *
 * Nodes are the dynamic models that are loaded (declared performers, dynamic models without level, and the dynamic
 * models that a level names) and the loaded levels. A component is a set of nodes that must be on one
 * secondary; the caller found it (performer in level, dynamic model named by level, law 4).
 *
 * "Movers" are the declared performers and the dynamic models without level.
 * "Cargo" are the dynamic models that one level names: they count only where the policy says so. The size of a
 * component is its number of movers. A secondary is idle when it simulates no dynamic model at all, cargo included.
 *
 * Policy round-robin, that of Gazebo's distributed simulation. Rules, in the order applied:
 *  pins     A component with a pinned node goes to the secondary of the pin, and no rule below moves it. Of several
 *           different pins, the pin of the lowest node holds (models count before levels). A number that is no
 *           secondary is no pin.
 *  merge    A component whose nodes were on several secondaries goes where most of its movers are. Ties are resolved
 *           in this order: the secondary with more movers that entered nothing in this step and have no home
 *           elsewhere (see "return"); where most of its levels with performers were; where most of its cargo was; of
 *           the secondaries still tied, that of the lowest mover; without such a mover, that of the lowest cargo,
 *           then of the lowest level.
 *  first    When nothing is assigned yet: components that hold a level with a performer in it, ordered by their first
 *           such level; then the other components, ordered by their first mover. They are dealt to secondaries 1, 2,
 *           ... in turn. Secondaries that pins have taken are skipped while others are idle.
 *  new      A component of which no node was assigned is dealt in the same order to the next idle secondary in turn;
 *           when none is idle, to the next in turn. (This is the same rule as "first".) Components without movers
 *           that follow no model, see "levels", come last, in order of number.
 *  part     While a secondary is idle and another has two or more components with movers, one of these components
 *           moves to the idle secondary, so that as few as possible are idle. Which component: one with a mover that
 *           entered a level in this step; else one that has just split from another component, both being on the
 *           secondary where they were when this rule begins; in both cases the smallest first; else the smallest of
 *           the fullest secondary (fullest: most components, then most movers, then lowest number). Of equal size:
 *           the one with the highest first mover. Which of several idle secondaries: where most of its movers were in
 *           the previous step, so that the fewest move; then its home; then the lowest number.
 *  return   A mover that a merge brought to another secondary, without any mover entering a level (mere contact),
 *           remembers its home: the secondary that it left, the first one if this happens again. When no secondary is
 *           idle and all movers of a component share a home, the component goes there, if its present secondary keeps
 *           another component with movers. A mover forgets its home when it is back at home, when it enters a level,
 *           when a merge brings it along because another mover entered a level, when its component has a pin, and when
 *           "part" moves it.
 *           (The caller keeps contact edges for a while after contact, so components do not flutter.)
 *  levels   A component without movers (levels that performers are only near, and the dynamic models they name) stays
 *           with its previous owner (chosen as in "merge"). Without one it goes where the lowest model near it is, if
 *           that model's component has movers. Otherwise it is new.
 *
 * A second call with the same components and no level entered moves nothing: a caller may skip such calls. Cost is
 * linear in nodes and components, plus secondaries for each component dealt or moved while some are idle.
 *
 * Policy balanced uses the measured cost of a step of each model. The load of a secondary is the sum of the costs of
 * its models; the makespan is the greatest load. No assignment has a makespan below
 *
 *           bound = max(all costs / N, the greatest component, the greatest load by pins alone)
 *
 * Rules: "pins", "merge" and "levels" as above (what follows a model is placed when all others are, and is balanced
 * from the next call on); then
 *  new      The components that had no secondary, greatest first, each to the secondary with the least load.
 *  balance  When the makespan is more than 1/32 above the bound, a few fill limits are tried (the bound, and up to an
 *           eighth more). For each limit, components, greatest first, stay while the load there stays within the limit;
 *           the others, greatest first, go to the secondary with the least load. The result with the least
 *           makespan x horizon + moved models x cost of a move is taken, if that is less than with nothing moved, and
 *           if the makespan is less by at least 1/32, so that noise moves nothing. This is repeated from the result.
 * Cost is linear, plus log N for each component that is new or moves. */
#ifndef ASSIGN_ASSIGN_H
#define ASSIGN_ASSIGN_H

#include "base/base.h"

enum { ASSIGN_NONE = 0 }; /* secondaries are numbered 1..N, as in the specification; 0: none */

/* The load of a secondary. */
struct assign_load {
	uint32_t models;
	uint32_t components; /* with movers */
	uint64_t cost;       /* ns per step; used by balanced only */
};

/* Models and levels are given as dense arrays; only those with a component take part. They are either the whole world
 * or the changed part of it. In the second case `others` gives the load of each secondary from the rest, which stays
 * where it is. A component may be left to the rest when it has the same nodes as in the previous call, no mover of it
 * entered a level, none of its movers has a home, and no given component follows it. */
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
	/* secondary of each, or ASSIGN_NONE; either array may be NULL: no pins */
	const uint32_t *model_pin, *level_pin;

	const struct assign_load *others; /* [N + 1], from 1; NULL: the whole world is given */

	/* For balanced only. */
	const uint32_t *model_cost; /* [model_count] ns per step of each; NULL: equal costs */
	uint32_t move_cost;         /* ns to hand one model over */
	uint32_t horizon;           /* steps for which a gain is expected to last */
};

/* All that a policy remembers. The caller owns the arrays, sized for the world; zeroed: nothing assigned yet. Values
 * out of range (after a saved run resumed with fewer secondaries) count as not assigned. */
struct assignment {
	uint32_t *model, *level; /* secondary of each; ASSIGN_NONE: none (not loaded) */
	uint32_t *home;          /* [model_count] secondary from which contact alone fetched a mover; ASSIGN_NONE */
	uint32_t *component_of;  /* [model_count] previous component; undefined for a model without a secondary */
	uint32_t turn;           /* next secondary in turn, from 0 */
};

/* Scratch memory of a policy; it grows to fit and is then reused, so that a warm call allocates nothing. Zeroed is
 * ready. Between calls its content means nothing. */
struct assign_scratch {
	void *memory;
	size_t bytes;
};

/* Writes the next assignment over *now, which holds the previous one. A model that is not loaded loses its secondary
 * and its home. The caller finds moves by comparing with its copy of the previous arrays. False: a component of the
 * rest (see `others`) has to move; *now must then not be used, and the caller gives the whole world. */
typedef bool assign_function(const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch);

/* With others: the result is the same as for the whole world. */
assign_function assign_round_robin;
/* With others: never false. The rest counts as pinned, so nothing given moves because the rest could be placed
 * better. So the caller gives the whole world from time to time. */
assign_function assign_balanced;

struct assign_policy {
	const char *name;
	assign_function *assign;
	bool by_cost; /* needs model_cost, and a new call when costs change */
};

/* The policies, the default first; the last one's name is NULL. */
extern const struct assign_policy assign_policies[];
/* NULL: no policy has that name. */
const struct assign_policy *assign_policy_named(const char *name);

void assign_scratch_fini(struct assign_scratch *scratch);

#endif
