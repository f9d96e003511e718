/* The newest picture of a world, and what each page still has to be told of it. Pure: no thread, no I/O.
 *
 * The album keeps for each link and model the number of the picture in which it changed last. A page only has to keep
 * the number of the picture that it was sent last: so the memory does not grow with the pages, and a page that is slow
 * gets one picture with all that has changed since. */
#ifndef GATEWAY_VIEW_ALBUM_H
#define GATEWAY_VIEW_ALBUM_H

#include "base/text.h"

enum {
	ALBUM_ENTRIES_MAX = 1 << 22, /* links, and models */
	ALBUM_KIND = 1,              /* first byte of a picture */
	ALBUM_HEAD_BYTES = 32,
	ALBUM_TAIL_BYTES = 8,
};

struct album_list { /* of links or of models */
	uint32_t count, room;
	uint32_t *ids;
	uint32_t *values;  /* [words * count] */
	uint64_t *changed; /* the number of the picture in which the values changed last */
	uint32_t words;
};

struct album {             /* zeroed is empty */
	uint64_t number;   /* of the newest picture, from 1; 0: none yet */
	uint64_t whole_at; /* the picture in which links or models came or went last */
	uint64_t step;
	double time_s, rtf, real_s;
	struct album_list links, models;
};

void album_fini(struct album *album);
/* Takes a troupe.msgs.View. TROUPE_ECOMMAND: it is none; the album is as it was. */
troupe_status album_take(
	struct album *album, const void *bytes, size_t count, int64_t time_ns, struct troupe_error *error);
/* Appends the picture for a page that was sent picture `seen` (0: none) last, in the form of PROTOCOL.md. world: its
 * index in hello. Call it when the album has a picture. */
void album_add_picture(const struct album *album, uint64_t seen, uint32_t world, struct text *out);

#endif
