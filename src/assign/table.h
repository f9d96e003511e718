/* The working table of an assignment policy: components with their nodes and their new secondaries, and the load of
 * each secondary. Private to src/assign. Lives in the caller's scratch; building the table and writing it back is
 * linear. */
#ifndef ASSIGN_TABLE_H
#define ASSIGN_TABLE_H

#include "assign/assign.h"

enum { TABLE_NONE = UINT32_MAX }; /* no component, model or level */

struct table_component {
	uint32_t secondary; /* ASSIGN_NONE: not placed yet */
	uint32_t models_at; /* in table.models: its movers, then its cargo, each by index */
	uint32_t models, movers;
	uint32_t levels_at, levels; /* in table.levels, by index */
	uint32_t home;              /* the home that all its movers share, or ASSIGN_NONE */
	bool pinned;
	bool entered;  /* one of its movers entered a level in this step */
	bool parted;   /* split from another component; both stayed on the secondary that they shared */
	uint32_t cost; /* ns per step, at least 1; set by assign_balanced() only */
};

struct table_secondary {
	uint32_t models, movers;
	uint32_t components; /* with movers */
	uint64_t load;       /* ns per step of everything placed there; set by assign_balanced() only */
};

/* The votes of the nodes of one component for one secondary. */
struct table_vote {
	uint32_t movers, held_levels, cargo;
	uint32_t residents; /* movers that entered nothing in this step and have no home elsewhere */
	bool cast;
};

struct table {
	const struct assign_input *input;
	struct assignment *now;              /* the previous step's until table_commit(), except homes */
	struct table_component *components;  /* [component_count] */
	struct table_secondary *secondaries; /* [N + 1], from 1 */
	uint32_t idle;                       /* secondaries without a dynamic model */
	uint32_t *models, *levels;           /* node lists of the components */

	/* for one stage at a time; a stage finds votes zeroed, and the rest undefined, and leaves them so */
	struct table_vote *votes;                                   /* [N + 1] */
	uint32_t *by_secondary_a, *by_secondary_b, *by_secondary_c; /* [N + 1] */
	uint32_t *by_component_a, *by_component_b;                  /* [component_count] */
	uint32_t *by_node;                                          /* [model_count + level_count + 1] */
};

/* Builds a table in which nothing is placed. It points into scratch until the next call with that scratch. */
void table_build(
	struct table *table, const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch);
/* Places a component on a secondary and removes it from its present one, if any. */
void table_place(struct table *table, uint32_t component, uint32_t secondary);
/* Places pinned components and components that had a secondary, by the rules "pins" and "merge" of assign.h. Uses
 * votes and by_secondary_a. */
void table_gather(struct table *table);
/* No secondary had any node of the component. */
bool table_unplaced(const struct table *table, uint32_t component);
/* The component that a component without movers follows: that of the lowest model near one of its levels; TABLE_NONE:
 * none. */
uint32_t table_leader(const struct table *table, uint32_t component);
/* Places components that follow another, by the rule "levels". */
void table_follow_leaders(struct table *table);
/* Checks a secondary from input or memory; ASSIGN_NONE when its number is out of range. */
uint32_t table_known(const struct table *table, uint32_t secondary);
/* Writes secondaries and components back into the assignment. */
void table_commit(const struct table *table);

#endif
