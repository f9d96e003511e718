/* Allocates stretches of an array whose items come and go in runs. A request takes the lowest free stretch that fits,
 * so that places depend on the history of calls alone. Zeroed is empty; a call takes O(free stretches). Not
 * thread-safe. */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include "base/base.h"

struct range {
	uint32_t first, count;
};

struct ranges {
	uint32_t end;           /* above all items taken */
	VEC(struct range) free; /* below end; ascending, neighbours merged */
};

/* Returns the first of `count` items; 0 when count is 0. Raises end when no free stretch fits. */
uint32_t ranges_take(struct ranges *ranges, uint32_t count);
/* Takes exactly these items. False when some are taken already; then nothing is taken. */
bool ranges_claim(struct ranges *ranges, uint32_t first, uint32_t count);
/* Gives back items that were taken. */
void ranges_give(struct ranges *ranges, uint32_t first, uint32_t count);
void ranges_fini(struct ranges *ranges);

#endif
