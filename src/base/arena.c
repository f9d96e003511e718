/* Many small allocations with one lifetime are cut from a chain of blocks, and only the chain is freed. A request
 * that does not fit into the last block gets a new block, of 64 KiB (or what the owner wants) or as large as the
 * request. The rest of the old block is not used. Memory is zeroed when it is handed out: most arenas of a small
 * message use a fraction of their block. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_BYTES = 64 * 1024,
	ARENA_ALIGN = 16,    /* of blocks, and of objects whose size is a multiple of it */
	ARENA_ALIGN_ODD = 8, /* of other objects: no type whose size is no multiple of 16 needs more */
};

struct arena_block {
	struct arena_block *before;
	_Alignas(ARENA_ALIGN) unsigned char bytes[];
};

static void *arena_take(struct arena *arena, size_t bytes, size_t align)
{
	size_t at = (arena->used + align - 1) & ~(align - 1);
	if (!arena->last || at > arena->room || arena->room - at < bytes) {
		size_t room = MAX(arena->block_bytes ? arena->block_bytes : (size_t)BLOCK_BYTES, bytes);
		struct arena_block *block = mem_realloc(NULL, sizeof *block + room);
		block->before = arena->last;
		arena->last = block;
		arena->room = room;
		arena->bytes += room;
		at = 0;
	}
	arena->used = at + bytes;
	return memset(arena->last->bytes + at, 0, bytes);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	bytes = (bytes + ARENA_ALIGN_ODD - 1) & ~(size_t)(ARENA_ALIGN_ODD - 1);
	return arena_take(arena, bytes, bytes % ARENA_ALIGN ? ARENA_ALIGN_ODD : ARENA_ALIGN);
}

char *arena_text(struct arena *arena, const char *at, size_t count)
{
	char *copy = arena_take(arena, count + 1, 1);
	return count ? memcpy(copy, at, count) : copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_text(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	char *text = arena_take(arena, (size_t)length + 1, 1);
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
