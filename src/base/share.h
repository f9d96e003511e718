/* Data of which equal ones are stored once: what thousands of robots of a file have in common. */
#ifndef BASE_SHARE_H
#define BASE_SHARE_H

#include "base/arena.h"

struct share_slot;

struct share { /* zeroed is empty */
	struct share_slot *slots;
	size_t count, room; /* room: a power of two */
};

/* The one copy of these bytes; they are copied into the arena if there is none. Data with gaps may be stored more than
 * once. All calls have the same arena; the table may be freed before it. */
const void *share_keep(struct share *share, struct arena *arena, const void *bytes, size_t count);
/* The same of a text with its final zero. */
const char *share_text(struct share *share, struct arena *arena, const char *text);
void share_fini(struct share *share);

#endif
