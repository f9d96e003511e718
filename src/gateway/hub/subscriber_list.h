/* The subscribers of topics, by topic. A hub has one such list for the topics of its run; a gateway whose clients know
 * topics by other names, or topics that it makes itself, has another one for those names. One thread. */
#ifndef GATEWAY_HUB_SUBSCRIBER_LIST_H
#define GATEWAY_HUB_SUBSCRIBER_LIST_H

#include "base/map.h"
#include "base/text.h"

#include <troupe/client.h>

/* A client's subscription to one topic. It is the first member of a struct of the gateway, in memory of mem_alloc(),
 * which is the list's until it is removed. */
struct hub_subscriber {
	void *client;
	uint32_t id;    /* tells the client's subscriptions apart where it has several to a topic; else 0 */
	double rate_hz; /* of simulated time, at most; 0: all messages */
	uint64_t join;  /* as of hub_join(); in the hub's list set by hub_subscribe() */
};

/* A topic that is subscribed to. */
struct hub_subscription {
	char *topic;
	VEC(struct hub_subscriber *) subscribers;
	struct troupe_message kept; /* of hub_keep() */
	/* the hub's own */
	struct text kept_type, kept_bytes;
	double rate_hz;
	bool has_any;       /* a message has come, */
	uint64_t last_step; /* of this step */
	bool again;         /* the run gives a message once more, for a subscriber that has come since */
	uint64_t had;       /* the last subscriber that has had the last message */
};

struct subscriber_list {     /* zeroed is empty */
	struct map by_topic; /* -> index in rows */
	VEC(struct hub_subscription *) rows;
};

/* NULL: the topic is not subscribed to. */
struct hub_subscription *subscriber_list_find(const struct subscriber_list *list, const char *topic);
/* The same; makes a row without subscribers if there is none. */
struct hub_subscription *subscriber_list_open(struct subscriber_list *list, const char *topic);
/* Frees the row and its subscribers. The last row takes its place: loops that close rows run backwards. */
void subscriber_list_close(struct subscriber_list *list, struct hub_subscription *row);
/* NULL: the client has no such subscription to the topic. row: NULL: none has. */
struct hub_subscriber *subscriber_list_of_client(const struct hub_subscription *row, const void *client, uint32_t id);
/* Takes it off the row, which stays; the caller frees it. Whether the row had it. The last one takes its place. */
bool subscriber_list_remove(struct hub_subscription *row, const struct hub_subscriber *subscriber);
/* Calls drop() for each subscription of the client, which removes the subscriber, frees it, and may close its row. */
void subscriber_list_drop_client(const struct subscriber_list *list, const void *client,
	void (*drop)(void *ctx, const char *topic, struct hub_subscriber *subscriber), void *ctx);
/* Closes all rows. */
void subscriber_list_fini(struct subscriber_list *list);

#endif
