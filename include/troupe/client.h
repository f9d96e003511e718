/* Clients: parts of a program that talk to a running server by topics and services, as the gateways to gz-transport and
 * to the browser do. A client subscribes to topics, publishes to topics, and calls services. Its calls never change
 * what a step computes, except by commands, and a command is bound to a step: so a recording of the run repeats it.
 *
 * Messages are protobuf messages of gz.msgs, with Gazebo's names and fields, and of troupe.msgs, where Gazebo has none.
 * troupe_topics_list() shows all topics and services that a server has now.
 *
 * Thread: each client is used by one thread at a time, any thread; different clients do not disturb one another. The
 * server serves clients at step boundaries while it runs, also while its worlds are paused. Nothing here blocks the
 * simulation: a client that is slow loses its own oldest messages. */
#ifndef TROUPE_CLIENT_H
#define TROUPE_CLIENT_H

#include <troupe/base.h>
#include <troupe/command.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- what there is ------------------------------------------------------------------------------------------------ */

typedef enum troupe_topic_kind {
	TROUPE_TOPIC_PUBLISHED, /* the server publishes on it */
	TROUPE_TOPIC_TAKEN,     /* the server takes messages from it */
	TROUPE_TOPIC_SERVICE,   /* a request and its reply */
} troupe_topic_kind;

struct troupe_topic {
	const char *name; /* "/world/shapes/pose/info" */
	troupe_topic_kind kind;
	const char *type;       /* "gz.msgs.Pose_V"; of a service: the type of its request */
	const char *reply_type; /* of a service: the type of its reply; otherwise NULL */
	const char *owner;      /* the part that serves it: "server", or the name of a system and its model */
	double rate_hz;         /* messages per simulated second, at most; 0: one in each step, or only on changes */
	bool changes;           /* its messages or requests may change the world or the run */
	const char *model;      /* the model of the system or sensor that serves it; NULL: of none */
	/* When it came, another topic, or a topic of another model, had the name that it has where only letters, digits
	 * and "_" are allowed: protocols with such names need a name of its own for it. */
	bool is_twin;
};

/* Immutable; sorted by name. */
struct troupe_topics {
	uint64_t epoch; /* see troupe_topics_epoch() */
	uint32_t count;
	const struct troupe_topic *at;
};

/* The topics and services at the last step boundary. The caller calls troupe_topics_release() once. Any thread. */
TROUPE_API const struct troupe_topics *troupe_topics_list(struct troupe_server *server);
/* NULL is fine. Any thread. */
TROUPE_API void troupe_topics_release(const struct troupe_topics *topics);
/* Grows when topics or services come or go. Any thread. */
TROUPE_API uint64_t troupe_topics_epoch(const struct troupe_server *server);

/* The triangles of a mesh, a heightmap or a polyline. geometry: a gz.msgs.Geometry in binary form, as the server's own
 * messages have it (/world/NAME/scene/info), whether a shape of the present scene has it or not. take: called once,
 * during the call, with a troupe.msgs.Mesh. A file is read by its name, which may take long. Any thread.
 * TROUPE_ECOMMAND: another geometry; TROUPE_EWORLD, TROUPE_ELIMIT: the file. */
TROUPE_API troupe_status troupe_geometry_triangles(struct troupe_server *server, const void *geometry, size_t count,
	void (*take)(void *ctx, const void *mesh, size_t count), void *ctx, struct troupe_error *error);

/* --- a client ----------------------------------------------------------------------------------------------------- */

struct troupe_client;

enum {
	TROUPE_CLIENT_DEPTH_MAX = 65536,
	TROUPE_CLIENT_CALLS_MAX = 1024,     /* calls of one client that wait for their replies */
	TROUPE_CLIENT_TOPICS_MAX = 1 << 20, /* subscriptions of one client */
};

struct troupe_client_def {
	uint32_t depth; /* step boundaries whose messages wait to be taken, 4 .. TROUPE_CLIENT_DEPTH_MAX; 0: 64 */
	/* May be NULL. Called on a thread of the server, between steps, when messages can be taken again after a time
	 * without any. It must be quick, and must not call the server. */
	void (*on_ready)(void *ctx);
	void *ctx;
	/* For a thread that has several clients. What reads files or makes models is done on a thread of the server, so
	 * that no call of this client waits for it. What is wrong with such a request then comes as its reply, and
	 * further requests of the client wait for it, so that they keep their order. */
	bool never_waits;
};

/* The client lives until troupe_client_destroy(), which must be called before troupe_server_destroy(). */
TROUPE_API troupe_status troupe_client_create(struct troupe_server *server, const struct troupe_client_def *def,
	struct troupe_client **ret_client, struct troupe_error *error);
/* NULL is fine. Commands that the client has given are obeyed all the same; their replies are dropped. */
TROUPE_API void troupe_client_destroy(struct troupe_client *client);

/* Subscribes to a published topic, which may come later. The first message comes at the next step boundary at which the
 * topic exists, the others at the topic's rate, or at rate_hz (> 0) messages per simulated second if this is lower. A
 * second call for the same topic changes its rate, and gives a message at once again. TROUPE_EINVAL, TROUPE_ELIMIT. */
TROUPE_API troupe_status troupe_client_subscribe(
	struct troupe_client *client, const char *topic, double rate_hz, struct troupe_error *error);
/* Messages of the topic that wait already may still come. */
TROUPE_API void troupe_client_unsubscribe(struct troupe_client *client, const char *topic);

/* Publishes a message, in binary form, to a topic from which the server takes messages: a command that is bound to the
 * next step, or to `when`. type: the message's type; NULL: the topic's. TROUPE_ECOMMAND: no such topic, another type,
 * or a message that is not valid. ret_step as in troupe_command_text(). */
TROUPE_API troupe_status troupe_client_publish(struct troupe_client *client, const struct troupe_when *when,
	const char *topic, const char *type, const void *bytes, size_t count, uint64_t *ret_step,
	struct troupe_error *error);

/* Calls a service. troupe_client_take() gives the reply, with the tag, when the effects of the request are in the
 * state. TROUPE_ECOMMAND as above; TROUPE_ELIMIT: too many calls wait. */
TROUPE_API troupe_status troupe_client_call(struct troupe_client *client, const char *service, const char *type,
	const void *bytes, size_t count, uint64_t tag, struct troupe_error *error);

struct troupe_message {
	bool is_reply;
	const char *topic; /* of a reply: the service */
	const char *type;  /* "gz.msgs.Clock" */
	const void *bytes; /* in binary form */
	size_t count;
	uint64_t step;   /* the message describes state `step` */
	int64_t time_ns; /* simulated time of that state */
	/* of a reply */
	uint64_t tag;
	troupe_status status; /* TROUPE_OK, or the reason of the refusal */
	const char *text;     /* the effect, or the error */
};

/* The next message or reply, encoded on the calling thread. It is valid until the next call. False: no message came
 * within timeout_ns (0: returns at once). Replies come before messages that wait, and are never lost. */
TROUPE_API bool troupe_client_take(
	struct troupe_client *client, uint64_t timeout_ns, struct troupe_message *ret_message);
/* The number of step boundaries of which this client has lost messages because it was slow. Any thread. */
TROUPE_API uint64_t troupe_client_lost(const struct troupe_client *client);
/* The number of commands that this client has given: messages that it published, and requests that change the world.
 * Any thread. */
TROUPE_API uint64_t troupe_client_commands(const struct troupe_client *client);

#ifdef __cplusplus
}
#endif
#endif
