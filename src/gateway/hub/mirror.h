/* A gateway's copy of the run's topics and services. Rows have numbers, which are counted up and never used again: a
 * program that still asks for a row that is gone must not get another one. One thread. */
#ifndef GATEWAY_HUB_MIRROR_H
#define GATEWAY_HUB_MIRROR_H

#include "base/map.h"

#include <troupe/client.h>

struct mirror_row {
	uint32_t number; /* from 1 on */
	troupe_topic_kind kind;
	char *name, *type, *reply_type, *owner; /* reply_type: of a service; otherwise NULL */
	void *data;                             /* the gateway's */
	uint64_t round;                         /* of the update in which it was seen last */
};

struct mirror {              /* zeroed is empty */
	struct map index[3]; /* by kind: name -> index in rows */
	VEC(struct mirror_row *) rows;
	VEC(struct mirror_row *) by_number; /* NULL: gone */
	uint64_t round;                     /* counts updates: the topics may come from another server */
};

/* Makes the mirror equal to `topics`. goes: called for each row that is gone, before it is freed, and then came: for
 * each new one. A topic whose type changes is another one. Of several topics of one name and kind the first counts. */
void mirror_update(struct mirror *mirror, const struct troupe_topics *topics,
	void (*came)(void *ctx, struct mirror_row *row), void (*goes)(void *ctx, struct mirror_row *row), void *ctx);
/* goes: for each row. */
void mirror_fini(struct mirror *mirror, void (*goes)(void *ctx, struct mirror_row *row), void *ctx);
/* NULL: none. */
struct mirror_row *mirror_find(const struct mirror *mirror, troupe_topic_kind kind, const char *name);
struct mirror_row *mirror_of_number(const struct mirror *mirror, troupe_topic_kind kind, uint32_t number);

#endif
