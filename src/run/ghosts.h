/* Which performers are known to secondaries that do not simulate them: to the secondary of each level that they are
 * near without being in it. Only what was marked is looked at again.
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
	ghost_list now, before; /* as of the last two ghosts_find() */
	uint64_t *marked;       /* [room] a bit for each model */
	uint32_t room;
	bool dirty; /* somebody is marked */
};

void ghosts_fit(struct ghosts *ghosts, uint32_t models);
void ghosts_fini(struct ghosts *ghosts);

/* The levels that it is near, or its secondary, have changed. */
void ghosts_mark(struct ghosts *ghosts, uint32_t model);
/* A level's secondary has changed. */
void ghosts_mark_around(struct ghosts *ghosts, const struct tracker *tracker, uint32_t level);
/* Nothing is as it was; performers that there are now are marked as they are looked at. */
void ghosts_mark_all(struct ghosts *ghosts);

/* False when nothing was marked, and now and before are as they were. */
bool ghosts_find(struct ghosts *ghosts, const struct tracker *tracker, const struct assignment *assignment);

#endif
