/* The topics and services of a server as Foxglove's clients see them: channels, topics that take messages, services,
 * each with a number that never comes again, and with the schemas of their types. One thread. */
#ifndef GATEWAY_FOXGLOVE_TABLE_H
#define GATEWAY_FOXGLOVE_TABLE_H

#include "base/map.h"
#include "base/text.h"
#include "gateway/ros/ros.h"

#include <troupe/client.h>

struct guest;

struct hearer { /* a subscription */
	struct guest *guest;
	uint32_t id; /* chosen by the client */
};

struct offer {
	uint32_t id;
	troupe_topic_kind kind;
	char *name, *type, *reply_type, *owner; /* reply_type: of a service, or NULL */
	const struct ros_type *ros;             /* messages go as CDR of it; NULL: as JSON */
	VEC(struct hearer) hearers;
	bool complained; /* that a message cannot be converted */
	uint64_t round;  /* of the update in which it was seen last */
};

struct table {               /* zeroed is empty */
	struct map index[3]; /* by kind: name -> index in offers */
	VEC(struct offer *) offers;
	VEC(struct offer *) by_id; /* NULL: gone */
	uint64_t epoch;            /* of the server's table */
	uint64_t round;            /* counts updates: the table may come from another server */
};

/* Takes over what the server has now. came: called for each new offer; goes: for each that is gone, before it is freed.
 */
void table_update(struct table *table, const struct troupe_topics *topics, void (*came)(void *ctx, struct offer *offer),
	void (*goes)(void *ctx, struct offer *offer), void *ctx);
void table_fini(struct table *table);
/* NULL: none. */
struct offer *table_find(const struct table *table, troupe_topic_kind kind, const char *name);
struct offer *table_of_id(const struct table *table, troupe_topic_kind kind, uint32_t id);

/* Appends the offer as a member of "channels" or "services". */
void table_add_channel(const struct offer *offer, struct text *out);
void table_add_service(const struct offer *offer, struct text *out);
/* Appends the members of connectionGraphUpdate. */
void table_add_graph(const struct table *table, struct text *out);

#endif
