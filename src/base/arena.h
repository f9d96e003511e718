/* Memory with one lifetime: many small allocations, freed together. Not thread-safe; one owner. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/base.h"

struct arena {
	struct arena_block *last;
	size_t used, room;  /* in the last block */
	size_t bytes;       /* allocated in all blocks */
	size_t block_bytes; /* 0: 64 KiB */
};

/* A zeroed struct arena is ready to use; block_bytes may be set first. */
void *arena_alloc(struct arena *arena, size_t bytes); /* zeroed, aligned for any type; never NULL */
/* So many bytes as a text: terminated, at any address. */
char *arena_text(struct arena *arena, const char *at, size_t count);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) TROUPE_PRINTF(2, 3);
void arena_fini(struct arena *arena);

#define arena_new(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define arena_array(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

#endif
