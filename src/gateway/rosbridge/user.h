/* A connected client: what it has subscribed to and advertised, and the operations that it sends. All on the thread of
 * the web server. */
#ifndef GATEWAY_ROSBRIDGE_USER_H
#define GATEWAY_ROSBRIDGE_USER_H

#include "gateway/hub/port.h"
#include "gateway/ros/simulation.h"
#include "gateway/rosbridge/topic_index.h"

enum {
	USER_HEAR_MAX = 4 << 20,        /* bytes of an operation: its JSON takes far more memory than its text */
	USER_SUBSCRIPTIONS_MAX = 4096,  /* also of the ids of one topic */
	USER_ADVERTISEMENTS_MAX = 1024, /* topics that a client advertises */
	USER_NAME_MAX = 512,            /* bytes of a name, a type and an id */
	HEARING_QUEUE_MAX = 1000,       /* messages that wait for their time: queue_length */
	HEARING_QUEUE_BYTES_MAX = 8 << 20,
	USER_QUEUE_BYTES_MAX = 64 << 20, /* of all messages of a client that wait for their time */
};

/* From the level with most messages to the level with none. */
enum user_level { USER_INFO, USER_WARNING, USER_ERROR, USER_NONE };

struct user_call {          /* of a service, whose reply is awaited */
	char *service, *id; /* as the client has them; id: JSON or NULL */
};

struct asked { /* a call of a service of simulation.h, or the goal of an action, that is not answered yet */
	struct rosbridge *gateway;
	struct asked *before, *after;
	struct user *user; /* NULL: gone */
	char *name, *id;   /* as the client has them; id: JSON or NULL */
	bool is_goal;
};

struct rosbridge {
	struct port port; /* first: see port_stop() */
	struct hub *hub;
	struct topic_index topic_index;
	struct asked *asked;
};

struct client_request { /* one of a client's subscriptions to one topic */
	char *id;
	uint64_t throttle_ns; /* at least so much real time between two messages */
	uint32_t queue_length;
};

/* All subscriptions of a user to a topic: it gets each message once, as the most demanding of them wants it. */
struct topic_subscription {
	struct user *user;
	char *topic; /* as the client has written it */
	char *name;  /* with its slash */
	char *type;  /* that the client expects; NULL: any */
	VEC(struct client_request) client_requests;
	uint64_t join;    /* of hub_join() */
	uint64_t sent_ns; /* real time; 0: never */
	VEC(char *) queue;
	size_t queue_bytes;
	bool told_type; /* that the topic has another type */
};

struct advertisement {     /* a topic that a client has advertised */
	char *name, *type; /* type NULL: any */
};

struct user {
	struct rosbridge *gateway;
	struct port_client *client;
	VEC(struct topic_subscription *) subscriptions;
	VEC(struct advertisement) advertisements;
	size_t queue_bytes;    /* of all subscriptions */
	enum user_level level; /* the least that is said */
};

/* As the operations of a port (hub/port.h). */
void *user_open(void *gateway, struct port_client *client);
void user_hear(struct port_client *client, bool binary, const void *bytes, size_t count);
void user_close(struct port_client *client);
void user_tell_lost(struct port_client *client, uint64_t lost);

/* Gives a message, as JSON, to a subscription: now, later or never, as it wants. */
void hearing_give(struct topic_subscription *subscription, const char *type, const struct text *json);
/* Sends the messages whose time has come. */
void user_turn(struct user *user);

/* id: of the operation, as JSON; NULL: it has none. */
void user_complain(struct user *user, enum user_level level, const char *id, const char *format, ...)
	TROUPE_PRINTF(4, 5);
/* Answers the call of a service. values: JSON; NULL: it has failed, because of why. */
void user_answer(struct user *user, const char *service, const char *id, const struct text *values, const char *why);

void user_free_call(struct user_call *call);
/* Whether the client has advertised the name, with its slash. */
bool user_advertises(struct user *user, const char *name);
/* Frees it. */
void user_drop_asked(struct asked *asked);

#endif
