/* A client (troupe/client.h) between its own thread and the thread that takes a step: what the step's thread hands to
 * it. clients.c decides what is due; client.c is the client's own side.
 *
 * A client is shared by reference counting: its owner, each group and each call that waits has one reference. */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include "server/clients.h"
#include "base/eventcount.h"
#include "base/map.h"
#include "topic/queue.h"

/* Rows that one client wants, of one world and with the same due times. Immutable once it is in use, except for the
 * fields of the step's thread. Shared by reference counting: clients.c and each delivery have one. */
struct client_group {
	_Atomic uint32_t refs;
	struct troupe_client *client;
	uint32_t world;
	enum publish_when when;
	uint32_t parts;
	double rate_hz;             /* 0: every step */
	VEC(struct topic_row) rows; /* own copies of the texts */
	/* step's thread */
	int64_t next_ns; /* due at this simulated time; INT64_MIN: at once */
	/* of what was published last: PUBLISH_SCENE: the epoch of the scene; PUBLISH_LEVELS: of the placement */
	uint64_t seen;
};

struct delivery { /* of a step boundary: what a client takes from its queue */
	struct capture *capture;
	struct client_group *group;
};

struct client_reply {
	struct client_reply *next;
	uint64_t tag, step;
	int64_t time_ns;
	struct topic_row row; /* of the service: own copies of the texts */
	troupe_status status;
	struct troupe_error what; /* text: what was done, or what is wrong */
	struct capture *capture;  /* of a query: the client makes the reply of it; NULL: none */
	struct text request;      /* of a query */
	struct text answer;       /* of a query that was answered in the background; then there is no capture */
	bool is_answered;
};

struct client_subscription { /* a subscription */
	char *topic;
	double rate_hz;
	bool again; /* its next message is to come at once */
};

struct troupe_client {
	_Atomic uint32_t refs;
	struct troupe_server *server;
	struct troupe_client_def def;
	char *as;                  /* the robot client that it acts for; NULL: none. Constant once it is used. */
	struct topic_queue *queue; /* of deliveries */
	_Atomic(struct client_reply *) replies; /* newest first. Any thread adds; the client takes all. */
	_Atomic uint32_t calls;                 /* that wait for their replies to be taken */
	_Atomic uint64_t dropped;  /* boundaries for which there was no capture. Writer: the step's thread. */
	_Atomic uint64_t commands; /* that the client gave. Writer: the owner. */
	/* A client may be closed while another thread hands something to it. That thread first raises `serving`, and
	 * then looks at `closed`; the owner sets `closed`, and then waits until `serving` is 0. So one of the two sees
	 * the other, and on_ready is not called after the client is closed. */
	_Atomic bool closed;
	_Atomic uint32_t serving;
	_Atomic bool idle; /* the client found nothing to take, and is to be told when there is something */
	/* step's thread: something was delivered since the client was told; it is told again at this time */
	bool needs_wakeup;
	uint64_t tell_ns;
	struct eventcount ready;

	/* under the lock of the server's clients */
	VEC(struct client_subscription) subscriptions; /* sorted by topic */

	/* the owner's */
	struct delivery *taken; /* messages of it are being taken */
	uint32_t taken_rows;    /* so many of them are done */
	struct client_reply *taken_replies, *last_reply;
	struct text bytes;     /* of the last message that was taken */
	struct member *member; /* barrier.h; NULL: it has not joined */
};

void group_release(struct client_group *group);

struct troupe_client *client_hold(struct troupe_client *client);
void client_release(struct troupe_client *client);
/* Hands something over; takes over the reference to the capture. Step's thread, which calls client_tell() afterwards.
 */
void client_deliver(struct troupe_client *client, struct client_group *group, struct capture *capture);
/* Tells the client's thread that something was delivered. */
void client_tell(struct troupe_client *client);
/* Takes the reply over, and tells. Any thread. */
void client_reply(struct troupe_client *client, struct client_reply *reply);
void reply_destroy(struct client_reply *reply);
/* Answers a query: appends the reply. */
void client_answer(struct troupe_client *client, struct client_reply *reply, struct text *out);

/* The client acts for a robot client from now on: it sees the topics of that client's models and what is everybody's,
 * and its commands have the rights of that client (run/owners.h). Before any other call of it. */
void client_act_for(struct troupe_client *client, const char *name);
/* As troupe_topics_list(), for this client. */
const struct troupe_topics *client_topics(struct troupe_client *client);

#endif
