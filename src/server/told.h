/* What strangers do is told to people, but not as often as strangers do it: the same of the same one once, and in the
 * long run one thing in ten seconds. Bounded: of those told long ago it forgets that they were. No clock, no I/O. */
#ifndef SERVER_TOLD_H
#define SERVER_TOLD_H

#include "base/base.h"

enum { TOLD_MAX = 32, TOLD_BURST = 8 };

/* Zeroed: nothing has been told. */
struct told {
	uint64_t keys[TOLD_MAX]; /* a ring */
	uint32_t count;          /* all that were ever in it */
	uint64_t spent_ns;       /* up to when the right to tell something has been spent */
};

/* Whether it is to be told now: who it is about, and what. It then counts as told. */
bool told_take(struct told *told, const void *who, size_t who_bytes, const char *what, uint64_t now_ns);
/* The same of what is told each time that it happens: only the rate is kept. */
bool told_take_again(struct told *told, uint64_t now_ns);

#endif
