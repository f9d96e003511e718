/* Makes a failing scenario smaller, as long as it fails in the same way. */
#ifndef RANDOM_SHRINK_H
#define RANDOM_SHRINK_H

#include "ways.h"

/* Leaves out parts of the scenario, steps, and whatever the way does not need, for at most limit_s seconds. *way and
 * *failure are then those of the smaller scenario, whose files are in the folder. Returns the number of scenarios that
 * were tried. */
uint32_t shrink(struct troupe *troupe, struct scenario *scenario, const char *folder, double limit_s, struct way *way,
	struct failure *failure);

#endif
