/* Many small allocations with one lifetime are cut from a chain of blocks, and only the chain is freed. A request
 * that does not fit into the last block gets a new block, of 64 KiB (or what the owner wants) or as large as the
 * request. The rest of the old block is not used. Memory is zeroed when it is handed out: most arenas of a small
 * message use a fraction of their block. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024, ARENA_ALIGN = 16 };

struct arena_block {
	struct arena_block *before;
	_Alignas(ARENA_ALIGN) unsigned char bytes[];
};

void *arena_alloc(struct arena *arena, size_t bytes)
{
	bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!arena->last || arena->room - arena->used < bytes) {
		size_t room = MAX(arena->block_bytes ? arena->block_bytes : (size_t)BLOCK_BYTES, bytes);
		struct arena_block *block = mem_realloc(NULL, sizeof *block + room);
		block->before = arena->last;
		arena->last = block;
		arena->used = 0;
		arena->room = room;
		arena->bytes += room;
	}
	void *at = arena->last->bytes + arena->used;
	arena->used += bytes;
	return memset(at, 0, bytes);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(arena_alloc(arena, bytes), text, bytes);
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	char *text = arena_alloc(arena, (size_t)length + 1);
	vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(args);
	return text;
}

void arena_fini(struct arena *arena)
{
	for (struct arena_block *block = arena->last, *before; block; block = before) {
		before = block->before;
		free(block);
	}
	*arena = (struct arena){0};
}
