/* Who has which stretch of an array whose items come and go in runs. What is given back is used again, the lowest
 * stretch that fits first, so that the places are a function of the history of calls and of nothing else. Zeroed is
 * empty; O(free stretches) a call. Not thread-safe. */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include "base/base.h"

struct range {
	uint32_t first, count;
};

struct ranges {
	uint32_t end;           /* above all that are taken */
	VEC(struct range) free; /* below end; ascending, never two in a row */
};

/* The first of `count` items; of none: 0. Raises end when no free stretch fits. */
uint32_t ranges_take(struct ranges *ranges, uint32_t count);
/* Takes just these; false, and nothing is taken, when some of them are taken already. */
bool ranges_claim(struct ranges *ranges, uint32_t first, uint32_t count);
/* Gives back what ranges_take() gave. */
void ranges_give(struct ranges *ranges, uint32_t first, uint32_t count);
void ranges_fini(struct ranges *ranges);

#endif
