/* A connected client: what it has subscribed to and advertised, and the operations that it sends. All on the thread of
 * the web server. */
#ifndef GATEWAY_ROSBRIDGE_ROSBRIDGE_CLIENT_H
#define GATEWAY_ROSBRIDGE_ROSBRIDGE_CLIENT_H

#include "gateway/hub/port.h"
#include "gateway/ros/simulation.h"
#include "gateway/rosbridge/topic_index.h"
#include "gateway/rosbridge/topic_subscription.h"

struct json_t; /* of jansson */

enum {
	ROSBRIDGE_CLIENT_HEAR_MAX = 4 << 20, /* bytes of an operation: its JSON takes far more memory than its text */
	ROSBRIDGE_CLIENT_SUBSCRIPTIONS_MAX = 4096,  /* also of the ids of one topic */
	ROSBRIDGE_CLIENT_ADVERTISEMENTS_MAX = 1024, /* topics that a client advertises */
	ROSBRIDGE_CLIENT_NAME_MAX = 512,            /* bytes of a name, a type and an id */
};

/* From the level with most messages to the level with none. */
enum rosbridge_client_level {
	ROSBRIDGE_CLIENT_INFO,
	ROSBRIDGE_CLIENT_WARNING,
	ROSBRIDGE_CLIENT_ERROR,
	ROSBRIDGE_CLIENT_NONE
};

struct rosbridge_client_call { /* of a service, whose reply is awaited */
	char *service, *id;    /* as the client has them; id: JSON or NULL */
};

struct asked { /* a call of a service of simulation.h, or the goal of an action, that is not answered yet */
	struct rosbridge *gateway;
	struct asked *before, *after;
	struct rosbridge_client *client; /* NULL: gone */
	char *name, *id;                 /* as the client has them; id: JSON or NULL */
	bool is_goal;
};

struct rosbridge {
	struct port port; /* first: see port_stop() */
	struct hub *hub;
	struct topic_index topic_index;
	struct asked *asked;
};

struct advertisement {     /* a topic that a client has advertised */
	char *name, *type; /* type NULL: any */
};

struct rosbridge_client {
	struct rosbridge *gateway;
	struct port_client *base;
	uint32_t subscriptions; /* among those of all channels (topic_index.h) */
	VEC(struct advertisement) advertisements;
	size_t queue_bytes;                /* of all subscriptions */
	enum rosbridge_client_level level; /* the least that is said */
};

struct rosbridge_operation { /* that a client sends */
	const char *op;
	const struct json_t *json;
	char *id; /* as JSON; NULL: it has none */
};

/* As the operations of a port (hub/port.h). */
void *rosbridge_client_open(void *gateway, struct port_client *base);
void rosbridge_client_hear(struct port_client *base, bool binary, const void *bytes, size_t count);
void rosbridge_client_close(struct port_client *base);
void rosbridge_client_tell_lost(struct port_client *base, uint64_t lost);

/* A text of the operation; NULL: it has none, or a long one. */
const char *rosbridge_client_text_of(const struct rosbridge_operation *operation, const char *member);
/* Begins an operation for the client, with the id of the one that it answers, as JSON; NULL: that has none. */
struct json_out rosbridge_client_begin(struct text *text, const char *op, const char *id);
/* id: of the operation, as JSON; NULL: it has none. */
void rosbridge_client_complain(struct rosbridge_client *client, enum rosbridge_client_level level, const char *id,
	const char *format, ...) TROUPE_PRINTF(4, 5);
/* Answers the call of a service. values: JSON; NULL: it has failed, because of why. */
void rosbridge_client_answer(struct rosbridge_client *client, const char *service, const char *id,
	const struct text *values, const char *why);

/* Whether the client has advertised the name, with its slash. */
bool rosbridge_client_advertises(struct rosbridge_client *client, const char *name);

#endif
