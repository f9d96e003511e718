/* The subscribers of each topic, as ZeroMQ tells the publishing socket: a subscription is a beginning of topics, and
 * comes and goes with the connection of its subscriber. Pure; one thread at a time. */
#ifndef GATEWAY_GZ_AUDIENCE_H
#define GATEWAY_GZ_AUDIENCE_H

#include "base/map.h"

enum { AUDIENCE_TEXTS_MAX = 65536 }; /* different subscriptions; more are not counted */

struct audience { /* zeroed is empty */
	struct map index;
	VEC(struct audience_entry {
		char *text;
		uint32_t count;
	})
	entries;
};

/* One subscription more (or less) of these bytes. False: nothing changed, because there are too many, the bytes are no
 * text, or there is none to take away. */
bool audience_change(struct audience *audience, const char *bytes, size_t count, bool more);
/* Subscriptions that cover this topic. */
uint32_t audience_of(const struct audience *audience, const char *topic);
void audience_fini(struct audience *audience);

#endif
