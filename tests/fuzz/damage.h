/* Damages SDF text: as bytes, and as elements, attributes and numbers. The same seed damages the same way. */
#ifndef TESTS_FUZZ_DAMAGE_H
#define TESTS_FUZZ_DAMAGE_H

#include "base/text.h"

struct damage {
	uint64_t state; /* the seed to begin with */
	/* Where elements of other files come from; NULL: none. */
	const struct text *donors;
	size_t donor_count;
};

size_t damage_below(struct damage *damage, size_t limit); /* a random number below limit; 0 when that is 0 */
/* One change of a random kind. */
void damage_once(struct damage *damage, struct text *text);

#endif
