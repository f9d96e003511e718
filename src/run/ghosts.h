/* The list of ghosts: a performer is a ghost at each other secondary that has a level which the performer is near.
 * Only marked performers are looked at again.
 *
 * Thread: the primary's, between steps. */
#ifndef RUN_GHOSTS_H
#define RUN_GHOSTS_H

#include "assign/assign.h"
#include "level/tracker.h"

struct ghost {
	uint32_t model, secondary;
};

typedef VEC(struct ghost) ghost_list; /* by (model, secondary) */

struct ghosts {
	ghost_list now, before; /* results of the last two ghosts_find() */
	uint64_t *marked;       /* [room] a bit for each model */
	uint32_t room;
	bool dirty; /* a model is marked */
};

void ghosts_fit(struct ghosts *ghosts, uint32_t models);
void ghosts_fini(struct ghosts *ghosts);

/* Marks a model: the levels near it, or its secondary, have changed. */
void ghosts_mark(struct ghosts *ghosts, uint32_t model);
/* Marks the performers near a level whose secondary has changed. */
void ghosts_mark_around(struct ghosts *ghosts, const struct tracker *tracker, uint32_t level);
/* Marks all models that are ghosts now, because nothing is as it was. Performers are marked when they are looked
 * at. */
void ghosts_mark_all(struct ghosts *ghosts);

/* Finds the ghosts anew. False when nothing was marked: `now` and `before` stay as they are then. */
bool ghosts_find(struct ghosts *ghosts, const struct tracker *tracker, const struct assignment *assignment);

#endif
