/* The server's side of its clients (troupe/client.h): at each step boundary it finds out which subscriptions are due,
 * makes one capture of the state with the parts that they need, and puts it into the queues of their clients, which
 * encode messages from it on their own threads. A step costs one comparison while nothing is due.
 *
 * Subscriptions of one client that are due at the same times form a group, so that the cost of a boundary does not
 * grow with the number of topics. */
#ifndef SERVER_CLIENTS_H
#define SERVER_CLIENTS_H

#include "server/capture.h"
#include "topic/table.h"

#include <troupe/client.h>

struct clients;

/* How a row of the table is published; row.ops of TOPIC_PUBLISHED. */
enum publish_when {
	PUBLISH_IN_TIME, /* at the row's rate */
	PUBLISH_FIGURES, /* the same, and at once when the world pauses, goes on, or is changed while it is paused */
	PUBLISH_SCENE,   /* when models came or went */
	PUBLISH_LEVELS,  /* when a level was loaded or unloaded, or a model moved, or a ghost came or went */
	PUBLISH_READING, /* when its sensor has measured, at most at the rate that the client asked for */
	PUBLISH_DECIDED, /* when a system has published it in the last step */
	PUBLISH_REPLIES, /* when a request was obeyed or refused: clients_publish_reply() */
};

struct publish_ops {
	enum publish_when when;
	uint32_t parts; /* bits of enum capture_part that encode() needs */
	/* Any thread. Appends the message as bytes. False: there is nothing to say. */
	bool (*encode)(const struct capture *capture, const struct topic_row *row, struct text *out);
};

/* How a service is answered whose request is no command; row.ops of TOPIC_SERVICE. Either answer() or act() is given.
 */
struct query_ops {
	uint32_t parts;
	/* Any thread. request: valid bytes of the row's type. Appends the reply as bytes. */
	troupe_status (*answer)(const struct capture *capture, const struct topic_row *row, const void *request,
		size_t count, struct text *out, struct troupe_error *error);
	/* Does what is asked for, between steps, on the thread that does the primary's part; the reply is a Boolean.
	 * request: a message of the row's type. *note, "" when called: one line, what was done. */
	troupe_status (*act)(struct server_world *world, const ProtobufCMessage *request, char note[EDIT_NOTE_BYTES],
		struct troupe_error *error);
	bool ends_run; /* answer() may end the run: not for programs that only watch */
	bool is_slow;  /* answer() reads files: for clients that never wait it is done in the background */
};

struct clients *clients_create(struct troupe_server *server);
/* After the runners. All clients must be destroyed before. NULL is fine. */
void clients_destroy(struct clients *clients);

/* Whether there are clients. Any thread. */
bool clients_are_any(struct clients *clients);
/* As topic_add(). A published row has encode(), and a service that is no command either answer() or act(): asserted. */
uint32_t clients_add_row(struct topic_table *table, const struct topic_row *row);

/* Between steps, on the thread that does the primary's part. stepped: a step was taken since the last call; false while
 * the worlds are paused and no step is taken. */
void clients_serve(struct clients *clients, bool stepped);

/* In each step that moves, before systems decide, on the same thread: tells the systems of the world what it publishes
 * (subscribers.h). */
void clients_hear(struct clients *clients, uint32_t world);
/* In each step, on the same thread: subscribers_notes(). */
uint32_t clients_hear_notes(struct clients *clients, uint32_t world);

/* Before a window of steps, on the same thread, after clients_serve() and clients_hear(): how many steps may be taken
 * before something is to be published or heard; at least 1. */
uint64_t clients_horizon(struct clients *clients, uint32_t world);

/* Between steps, on the same thread: says anew which sensors are wanted. */
void clients_want_sensors(struct clients *clients);

/* After the last step of a run: tells clients of all that was delivered. The same thread, or another one after it. */
void clients_flush(struct clients *clients);

/* The outcome of a request to a service, or of a message that was refused: the message of the world's topic `replies`.
 * The same thread. Costs a comparison when no client has subscribed to it. */
void clients_publish_reply(struct clients *clients, uint32_t world, uint64_t step, const char *service,
	troupe_status status, const char *text);

/* Any thread. */
struct topic_table *clients_table(struct clients *clients);

/* For client.c. The lock guards the wants of all clients; after it is given back, the wants count as changed. */
void clients_enter(struct clients *clients, struct troupe_client *client);
void clients_leave(struct clients *clients, struct troupe_client *client);
void clients_lock(struct clients *clients);
void clients_unlock(struct clients *clients);
/* Any thread. Has the query answered at the next step boundary; takes over the reply, whose row and request are filled
 * in, and one reference to the client. */
struct client_reply;
void clients_ask(struct clients *clients, struct troupe_client *client, struct client_reply *reply);
/* A query was answered, on this thread: the outcome is told at the next step boundary, if a client is to be told. */
void clients_answered(struct clients *clients, const struct client_reply *reply);

#endif
