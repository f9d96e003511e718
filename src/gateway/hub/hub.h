/* What all gateways share. A gateway is a constant table of operations (struct hub_kind) with memory of its own; its
 * hub has the rest: the bus to the run, a mirror of its topics and services, the subscriptions, the simulated time, the
 * calls that wait for replies, barrier clients, the services of simulation_interfaces, the recording that is shown, and
 * the end of the run with its reason.
 *
 * A new protocol is a folder with a table, and a line in hub/gateway.c.
 *
 * Thread: the gateway has one thread of its own, the gateway's thread: that of its web server (hub/port.h), or one that
 * it starts. Operations are called on it, and these functions are called on it, except where a comment says otherwise.
 */
#ifndef GATEWAY_HUB_H
#define GATEWAY_HUB_H

#include "gateway/hub/mirror.h"
#include "gateway/hub/subscriber_list.h"
#include "gateway/bus.h"

#include <troupe/gateway.h>

#include <pthread.h>
#include <stdatomic.h>

struct callers;
struct hub;
struct hub_call;
struct play;
struct simulation;

/* The reply to a call. */
struct hub_reply {
	troupe_status status; /* TROUPE_OK, or the reason of the refusal */
	const char *why;      /* of a refusal: the reason in words; else the effect, "" or NULL */
	const char *type;     /* of the message */
	const void *bytes;    /* the message in binary form; none if the call was refused before it reached the run */
	size_t count;
	uint64_t step; /* the reply describes state `step` */
};

/* Every slot is filled; hub_ignore_...() fill those that a protocol does not need. */
struct hub_kind {
	struct troupe_gateway_about about;
	const char *const *settings; /* keys of settings that it has; NULL ends the list */
	bool shows_recordings;
	bool (*is_available)(void);
	/* Makes the gateway's memory, sets hub->gateway at once, opens the hub, and starts the gateway's thread. After
	 * a failure, stop() and destroy() are called, unless hub->gateway is NULL. On the caller's thread. */
	troupe_status (*start)(struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error);
	/* A topic or service has come, or goes: its row is freed afterwards. */
	void (*topic_came)(void *gateway, struct mirror_row *row);
	void (*topic_gone)(void *gateway, struct mirror_row *row);
	/* After a change of the mirror. topics: all that the run has now. */
	void (*topics_changed)(void *gateway, const struct troupe_topics *topics);
	/* A message of a topic that is subscribed to, for subscribers beyond hub->had. */
	void (*message)(void *gateway, const struct troupe_message *message);
	/* The one reply to a call. client: NULL: it is gone. request: as given to hub_call(), to be freed now. */
	void (*reply)(void *gateway, void *client, void *request, const struct hub_reply *reply);
	/* The run has refused a message that a client had published to the topic; it is not known which client. */
	void (*refused)(void *gateway, const char *topic, const char *why);
	/* A recording: the bus is closed (false), and leads to the server of another step afterwards (true). */
	void (*moved)(void *gateway, bool is_open);
	/* Tells the clients the last: the run has ended, or (failed) has failed, because of `why`. Once. */
	void (*end)(void *gateway, const char *why, bool failed);
	/* Ends the gateway's thread, which calls hub_finish() before. On the caller's thread. */
	void (*stop)(void *gateway);
	/* Frees its memory. The bus is closed: the hub wakes it no more. On the caller's thread. */
	void (*destroy)(void *gateway);
	/* Where it is, for people and for programs; any thread. */
	void (*describe)(const void *gateway, struct text *out);
	/* Adds what it counts itself; any thread. */
	void (*count)(const void *gateway, struct troupe_gateway_counts *counts);
};

void hub_ignore_row(void *gateway, struct mirror_row *row);
void hub_ignore_topics(void *gateway, const struct troupe_topics *topics);
void hub_ignore_refused(void *gateway, const char *topic, const char *why);
void hub_ignore_moved(void *gateway, bool is_open);
void hub_ignore_end(void *gateway, const char *why, bool failed);
void hub_ignore_count(const void *gateway, struct troupe_gateway_counts *counts);

struct hub_options {
	/* Has the gateway's thread call hub_turn() soon. Any thread; quick. */
	void (*wake)(void *ctx);
	void *ctx;
	uint32_t depth;       /* step boundaries whose messages wait, as in troupe_client_def; 0: the usual number */
	bool for_clients;     /* the mirror and the time are kept only while hub->clients is not 0 */
	bool keeps_time;      /* hub->time_ns follows the clock, also when it is not subscribed to */
	bool ros_services;    /* hub->simulation is made */
	bool barrier_clients; /* the mirror has the services of barrier clients beside those of the run */
	/* Answers barrier clients on the thread of the step, without the hand-over to the gateway's thread; then the
	 * operation reply() is not called for them. request: of hub_call(). NULL: it is called. */
	void (*reply_at_once)(void *gateway, void *request, const void *bytes, size_t count);
	/* Topics that the gateway makes itself, beside those of the run; valid until the next call. NULL: none. */
	struct troupe_topics (*extend)(void *gateway, const struct troupe_topics *topics);
	/* In each turn, before messages are taken. NULL: nothing. */
	void (*begin_turn)(void *gateway);
	/* Messages that are dropped: of steps that are not shown. NULL: none. */
	bool (*hides)(void *gateway, const struct troupe_message *message);
};

struct hub { /* gateways read it; fields without a comment are the hub's own */
	const struct hub_kind *kind;
	void *gateway;
	struct bus_place place; /* server: NULL: the run is another process; run: only until the bus is open */
	char *client;           /* the robot client whose process this is; NULL: none */
	struct play *play;      /* of a recording that is shown; NULL: a run */
	struct bus *bus;        /* NULL: closed */
	struct mirror mirror;
	struct simulation *simulation; /* NULL: not asked for */
	struct callers *callers;       /* barrier clients; NULL: none can join */
	uint64_t time_ns;              /* simulated time of the last message */
	/* During message(): subscribers up to this number of hub_join() have had the message; 0: none has. */
	uint64_t had;
	uint64_t joins;
	_Atomic uint32_t clients; /* connected now; writer: the gateway's thread */
	_Atomic uint64_t published, taken, refused, lost;
	struct hub_options options;
	char *clock;
	bool ticks;
	bool looked;
	uint64_t epoch;
	struct subscriber_list subscriptions; /* to topics of the run */
	VEC(struct troupe_topic) extended;
	struct hub_call *calls;
	uint64_t tags;
	pthread_mutex_t guard;
	struct hub_call *answered; /* under the guard: barrier clients are answered by the thread of the step */
	struct troupe_server *_Atomic next_server;
	const struct troupe_error *failure; /* set before `stop` */
	struct troupe_error over_why;       /* of a run of another process; read when is_over was seen */
	_Atomic bool is_over, is_stopped;
	bool is_finished, end_told;
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
};

/* Opens the bus, or the recording. Errors as of bus_open() and play_open(). On the caller's thread, before the
 * gateway's thread runs. */
troupe_status hub_open(struct hub *hub, const struct troupe_gateway_def *def, const struct hub_options *options,
	struct troupe_error *error);
/* Compares the mirror with the run's topics: before a client is told of them. */
void hub_look(struct hub *hub);
/* Takes what has come, for a bounded time, and calls the operations. Whether there may be more. */
bool hub_turn(struct hub *hub);
/* The last turn: messages and replies that wait, the calls that get none, and the end. */
void hub_finish(struct hub *hub);
/* Adds one to hub->published, taken or refused. Any thread. */
static inline void hub_count(_Atomic uint64_t *count)
{
	atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}
/* A line for people. Any thread. */
void hub_say(const struct hub *hub, const char *format, ...) TROUPE_PRINTF(2, 3);

/* NULL: the topic is not subscribed to. */
struct hub_subscription *hub_subscription(const struct hub *hub, const char *topic);
/* NULL: the client has not subscribed to it. */
struct hub_subscriber *hub_subscriber(const struct hub *hub, const char *topic, const void *client);

/* Subscribes to a topic of the run, which gives a message at once, also if it was subscribed to before. subscriber: one
 * that is not subscribed now; the run is asked for the highest rate of the subscribers of a topic. NULL: the gateway
 * has its subscribers itself, and wants all messages. The topic may come later. Errors as of
 * troupe_client_subscribe(); the subscriber has not subscribed then. */
troupe_status hub_subscribe(
	struct hub *hub, const char *topic, struct hub_subscriber *subscriber, struct troupe_error *error);
/* The subscriber wants the topic no more; with the last one the subscription ends. */
void hub_leave(struct hub *hub, const char *topic, struct hub_subscriber *subscriber);
/* The client wants no topic any more; frees its subscribers. */
void hub_leave_all(struct hub *hub, const void *client);
/* The number of a new subscriber among the gateway's clients, from 1 on, where the gateway has a list itself: call it
 * before hub_subscribe(), for the message that this gives at once comes to all subscribers of the topic, and only the
 * new one shall have it (hub->had). */
uint64_t hub_join(struct hub *hub);
/* Keeps a copy of a message as the newest one for subscribers that get it later; valid until the next call. */
void hub_keep(struct hub_subscription *subscription, const struct troupe_message *message);
/* Has a topic that is subscribed to give a message at once for all subscribers, also for those that have had it. */
void hub_repeat(struct hub *hub, const char *topic);
/* A topic that is not subscribed to is fine. */
void hub_unsubscribe(struct hub *hub, const char *topic);
bool hub_is_subscribed(const struct hub *hub, const char *topic);
/* Unsubscribes from all topics that are not needed. */
void hub_prune(struct hub *hub, bool (*is_needed)(const void *ctx, const char *topic), const void *ctx);
/* Subscribes anew to all topics, or to those that have a rate: each gives a message at once. */
void hub_renew(struct hub *hub, bool all);

/* The run's topics and services now. The caller gives them to hub_release(). */
const struct troupe_topics *hub_topics(struct hub *hub);
void hub_release(struct hub *hub, const struct troupe_topics *topics);
/* Of sorted topics; NULL: there is none. */
const struct troupe_topic *hub_find(const struct troupe_topics *topics, troupe_topic_kind kind, const char *name);

/* Publishes a message in binary form. type: NULL: the topic's. */
troupe_status hub_publish(struct hub *hub, const char *topic, const char *type, const void *bytes, size_t count,
	struct troupe_error *error);
struct hub_caller {
	void *client;
	uint64_t connection; /* by which barrier clients are known; 0: the protocol has no connections */
	void *request;       /* given to reply() */
};
/* Calls a service of the run, or of barrier clients. caller: NULL: no reply is wanted. An error: there is no reply, and
 * caller->request stays the caller's. type: NULL: the service's. */
troupe_status hub_call(struct hub *hub, const struct hub_caller *caller, const char *service, const char *type,
	const void *bytes, size_t count, struct troupe_error *error);
/* The client is gone: it gets no replies, and leaves as a barrier client. */
void hub_forget(struct hub *hub, const void *client, uint64_t connection);

/* --- for hub/gateway.c ------------------------------------------------------------------------------------------- */

void hub_fini(struct hub *hub);

/* --- for hub/hub.c -------------------------------------------------------------------------------------------------
 */

/* Sets hub->had: a message that is given for a new subscriber comes to all of them. */
void hub_note_message(struct hub *hub, const struct troupe_message *message);

#endif
