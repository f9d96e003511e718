/* Making a failing scenario smaller while it fails in the same way. */
#ifndef RANDOM_SHRINK_H
#define RANDOM_SHRINK_H

#include "ways.h"

/* Leaves out parts of the scenario, steps, and what the way needs not; all for at most limit_s seconds. *way and
 * *failure are those of what is left, whose files lie in the folder. Returns how many scenarios were tried. */
uint32_t shrink(struct troupe *troupe, struct scenario *scenario, const char *folder, double limit_s, struct way *way,
	struct failure *failure);

#endif
