/* A table with open addressing, by the hash of the contents; the data themselves lie in the arena. */
#include "base/share.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FEWEST = 64 }; /* a power of two */

struct share_slot {
	const void *at; /* NULL: free */
	size_t count;
};

/* The slot of equal bytes, or the free one in which they belong. */
static struct share_slot *share_find(const struct share *share, const void *bytes, size_t count)
{
	size_t slot = hash_bytes(count, bytes, count) & (share->room - 1);
	while (share->slots[slot].at &&
		(share->slots[slot].count != count || memcmp(share->slots[slot].at, bytes, count) != 0))
		slot = (slot + 1) & (share->room - 1);
	return &share->slots[slot];
}

/* At most half of the slots are used. */
static void share_make_room(struct share *share)
{
	if (2 * (share->count + 1) <= share->room)
		return;
	struct share more = {.count = share->count, .room = MAX(2 * share->room, (size_t)SLOTS_FEWEST)};
	more.slots = mem_alloc(more.room * sizeof *more.slots);
	for (size_t i = 0; i < share->room; i++)
		if (share->slots[i].at)
			*share_find(&more, share->slots[i].at, share->slots[i].count) = share->slots[i];
	free(share->slots);
	*share = more;
}

const void *share_keep(struct share *share, struct arena *arena, const void *bytes, size_t count)
{
	share_make_room(share);
	struct share_slot *slot = share_find(share, bytes, count);
	if (!slot->at) {
		*slot = (struct share_slot){memcpy(arena_alloc(arena, count), bytes, count), count};
		share->count++;
	}
	return slot->at;
}

const char *share_text(struct share *share, struct arena *arena, const char *text)
{
	return share_keep(share, arena, text, strlen(text) + 1);
}

void share_fini(struct share *share)
{
	free(share->slots);
	*share = (struct share){0};
}
