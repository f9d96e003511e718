/* The rows of the mirror as Foxglove's clients see them: channels, topics that take messages, services, each with the
 * schemas of its types. One thread. */
#ifndef GATEWAY_FOXGLOVE_TABLE_H
#define GATEWAY_FOXGLOVE_TABLE_H

#include "base/text.h"
#include "gateway/hub/mirror.h"
#include "gateway/ros/ros.h"

struct offer { /* of a row of the mirror: its number is that of the channel or service */
	const struct mirror_row *row;
	const struct ros_type *ros; /* messages go as CDR of it; NULL: as JSON */
	bool complained;            /* that a message cannot be converted */
};

/* A row has come; its data is freed when it is gone. */
void table_came(struct mirror_row *row);
/* NULL: none. */
struct offer *table_find(const struct mirror *mirror, troupe_topic_kind kind, const char *name);
struct offer *table_of_id(const struct mirror *mirror, troupe_topic_kind kind, uint32_t id);

/* Appends the offer as a member of "channels" or "services". */
void table_add_channel(const struct offer *offer, struct text *out);
void table_add_service(const struct offer *offer, struct text *out);
/* Appends the members of connectionGraphUpdate. */
void table_add_graph(const struct mirror *mirror, struct text *out);

#endif
