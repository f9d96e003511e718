/* All subscriptions of a client to a topic: it gets each message once, as the most demanding of them wants it: after
 * the shortest of their pauses, with the longest of their queues. Pauses are of real time, as rosbridge has them.
 * Thread: the gateway's. */
#ifndef GATEWAY_ROSBRIDGE_TOPIC_SUBSCRIPTION_H
#define GATEWAY_ROSBRIDGE_TOPIC_SUBSCRIPTION_H

#include "gateway/hub/subscriber_list.h"

struct rosbridge_client;

enum {
	TOPIC_SUBSCRIPTION_QUEUE_MAX = 1000, /* messages that wait for their time: queue_length */
	TOPIC_SUBSCRIPTION_QUEUE_BYTES_MAX = 8 << 20,
	TOPIC_SUBSCRIPTION_CLIENT_BYTES_MAX = 64 << 20, /* of all messages of a client that wait for their time */
};

struct client_request { /* one of a client's subscriptions to one topic */
	char *id;
	uint64_t throttle_ns; /* at least so much real time between two messages */
	uint32_t queue_length;
};

struct topic_subscription {
	/* Its client: struct rosbridge_client. Its id: how many bytes of the name the client leaves out: the slash. */
	struct hub_subscriber base;
	char *name; /* with its slash */
	char *type; /* that the client expects; NULL: any */
	VEC(struct client_request) client_requests;
	uint64_t sent_ns; /* real time; 0: never */
	VEC(char *) queue;
	size_t queue_bytes;
	bool told_type; /* that the topic has another type */
};

/* The id of the subscription to a topic as the client has written it. */
uint32_t topic_subscription_id(const char *topic);
/* topic: as the client has written it; name: as in the struct; type: NULL or "": any. */
struct topic_subscription *topic_subscription_create(
	struct rosbridge_client *client, const char *topic, const char *name, const char *type);
void topic_subscription_destroy(struct topic_subscription *subscription);

/* Adds a request, or changes the one with its id. request->id: NULL: none; it stays the caller's. */
void topic_subscription_set(struct topic_subscription *subscription, const struct client_request *request);
/* Removes the request with this id; NULL: all. Whether one is left. */
bool topic_subscription_unset(struct topic_subscription *subscription, const char *id);

/* Gives a message of this type, as JSON: it is sent now, later or never. */
void topic_subscription_give(struct topic_subscription *subscription, const char *type, const struct text *json);
/* Sends the messages whose time has come. */
void topic_subscription_turn(struct topic_subscription *subscription, uint64_t now_ns);

#endif
