/* Crowds for bench/levels: which models must be together in each step, and the cost of each. A generated crowd follows
 * from its kind and size alone, and is the same each time; another crowd is read from a table that `troupe run --costs`
 * wrote. */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "assign/assign.h"

enum { CROWD_KINDS = 5 };
extern const char *const crowd_kinds[CROWD_KINDS];

struct crowd {
	const char *name;
	uint32_t models, levels;
	uint64_t steps;            /* of a recorded crowd; 0: without end */
	struct assign_input input; /* of this step, except for secondaries and costs */
	const uint32_t *cost;      /* [models] the true costs, in ns of a step; 0 for models that are not loaded */
	const uint32_t *was;       /* [models] of a recorded crowd: the secondary that had the model */
	uint64_t all, greatest;    /* sum of the costs, cost of the greatest component */
	struct crowd_more *more;
};

/* Performers in levels of about twenty each, a thousandth of them going to another level in each step:
 *   uniform    all alike
 *   uneven     costs over two orders of magnitude
 *   half       half of all performers in one level
 *   skewed     a level half as far up the list has twice as many
 *   gathering  half of them gather in sixteen levels and disperse again, twice */
struct crowd *crowd_generate(const char *kind, uint32_t performers);
/* Exits with one line on failure. */
struct crowd *crowd_read(const char *path);
void crowd_destroy(struct crowd *crowd);

void crowd_restart(struct crowd *crowd);
/* Sets the crowd to this step, one of `steps`; false after its end. */
bool crowd_step(struct crowd *crowd, uint64_t step, uint64_t steps);

#endif
