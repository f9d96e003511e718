/* The working table of an assignment policy: components with their nodes and where they are to be, secondaries with
 * what they have. Private to src/assign. Lives in the caller's scratch; building and writing it back is linear. */
#ifndef ASSIGN_TABLE_H
#define ASSIGN_TABLE_H

#include "assign/assign.h"

enum { TABLE_NONE = UINT32_MAX }; /* no component, model or level */

struct table_component {
	uint32_t secondary; /* ASSIGN_NONE: not placed yet */
	uint32_t models_at; /* in table.models: its movers, then its cargo, each by index */
	uint32_t models, movers;
	uint32_t levels_at, levels; /* in table.levels, by index */
	uint32_t home;              /* that all its movers share; ASSIGN_NONE */
	bool pinned;
	bool entered;  /* a mover of it entered a level in this step */
	bool parted;   /* from another that stayed, as it did, on the secondary that they shared */
	uint32_t cost; /* ns a step, at least 1; assign_balanced() alone knows it */
};

struct table_secondary {
	uint32_t models, movers;
	uint32_t components; /* with movers */
	uint64_t load;       /* ns a step, of all that is placed there; assign_balanced() alone knows it */
};

/* What the nodes of one component say for one secondary. */
struct table_vote {
	uint32_t movers, held_levels, cargo;
	uint32_t residents; /* movers that entered nothing in this step and have no home elsewhere */
	bool cast;
};

struct table {
	const struct assign_input *input;
	struct assignment *now;              /* the previous step's until table_commit(), but for homes */
	struct table_component *components;  /* [component_count] */
	struct table_secondary *secondaries; /* [N + 1], from 1 */
	uint32_t idle;                       /* secondaries without a dynamic model */
	uint32_t *models, *levels;           /* node lists of the components */

	/* for one stage at a time; a stage expects nothing in them but that votes are zero, and leaves that so */
	struct table_vote *votes;                                   /* [N + 1] */
	uint32_t *by_secondary_a, *by_secondary_b, *by_secondary_c; /* [N + 1] */
	uint32_t *by_component_a, *by_component_b;                  /* [component_count] */
	uint32_t *by_node;                                          /* [model_count + level_count + 1] */
};

/* The table with nothing placed. It points into scratch until the next call with that scratch. */
void table_build(
	struct table *table, const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch);
/* Moves a component there from where it is placed, if it is. */
void table_place(struct table *table, uint32_t component, uint32_t secondary);
/* Pins, and what was somewhere: it stays there or comes together, by the rules "pins" and "merge" of assign.h. Uses
 * votes and by_secondary_a. */
void table_gather(struct table *table);
/* Nobody had any of it. */
bool table_unplaced(const struct table *table, uint32_t component);
/* The component that one without movers follows: that of the lowest model near one of its levels; TABLE_NONE. */
uint32_t table_leader(const struct table *table, uint32_t component);
/* Places what follows another: by the rule "levels". */
void table_follow_leaders(struct table *table);
/* A secondary as read from input or memory; ASSIGN_NONE when there is none of that number. */
uint32_t table_known(const struct table *table, uint32_t secondary);
/* Writes secondaries and components back into the assignment. */
void table_commit(const struct table *table);

#endif
