/* The newest picture of a world, and what each page still has to be told of it. Pure: no thread, no I/O.
 *
 * The cache keeps for each link and model the number of the picture in which it changed last. A page only has to keep
 * the number of the picture that it was sent last: so the memory does not grow with the pages, and a page that is slow
 * gets one picture with all that has changed since. */
#ifndef GATEWAY_VIEW_PICTURE_CACHE_H
#define GATEWAY_VIEW_PICTURE_CACHE_H

#include "base/text.h"

enum {
	PICTURE_CACHE_ENTRIES_MAX = 1 << 22, /* links, and models */
	PICTURE_CACHE_KIND = 1,              /* first byte of a picture */
	PICTURE_CACHE_HEAD_BYTES = 32,
	PICTURE_CACHE_TAIL_BYTES = 8,
};

struct picture_cache_list { /* of links or of models */
	uint32_t count, room;
	uint32_t *ids;
	uint32_t *values;  /* [words * count] */
	uint64_t *changed; /* the number of the picture in which the values changed last */
	uint32_t words;
};

struct picture_cache {     /* zeroed is empty */
	uint64_t number;   /* of the newest picture, from 1; 0: none yet */
	uint64_t whole_at; /* the picture in which links or models came or went last */
	uint64_t step;
	double time_s, rtf, real_s;
	struct picture_cache_list links, models;
};

void picture_cache_fini(struct picture_cache *picture_cache);
/* Takes a troupe.msgs.View. TROUPE_ECOMMAND: it is none; the cache is as it was. */
troupe_status picture_cache_take(struct picture_cache *picture_cache, const void *bytes, size_t count, int64_t time_ns,
	struct troupe_error *error);
/* Appends the picture for a page that was sent picture `seen` (0: none) last, in the form of PROTOCOL.md. world: its
 * index in hello. Call it when the cache has a picture. */
void picture_cache_add_picture(
	const struct picture_cache *picture_cache, uint64_t seen, uint32_t world, struct text *out);

#endif
