/* The server's side of its clients (troupe/client.h): at each step boundary it finds out which subscriptions are due,
 * makes one frame of the state with the parts that they need, and puts it into the queues of their clients, which
 * encode messages from it on their own threads. A step costs one comparison while nothing is due.
 *
 * Subscriptions of one client that are due at the same times form a group, so that the cost of a boundary does not
 * grow with the number of topics. */
#ifndef SERVER_CLIENTS_H
#define SERVER_CLIENTS_H

#include "server/frame.h"
#include "topic/table.h"

#include <troupe/client.h>

struct clients;

/* How a row of the table is published; row.ops of TOPIC_PUBLISHED. */
enum publish_when {
	PUBLISH_IN_TIME, /* at the row's rate */
	PUBLISH_SCENE,   /* when models came or went */
	PUBLISH_LEVELS,  /* when a level was loaded or unloaded, or a model moved, or a ghost came or went */
};

struct publish_ops {
	enum publish_when when;
	uint32_t parts; /* bits of enum frame_part that encode() needs */
	/* Any thread. Appends the message as bytes. False: there is nothing to say. */
	bool (*encode)(const struct frame *frame, const struct topic_row *row, struct text *out);
};

/* How a service is answered whose request changes nothing; row.ops of TOPIC_SERVICE. */
struct query_ops {
	uint32_t parts;
	/* Any thread. request: valid bytes of the row's type. Appends the reply as bytes. */
	troupe_status (*answer)(const struct frame *frame, const struct topic_row *row, const void *request,
		size_t count, struct text *out, struct troupe_error *error);
};

struct clients *clients_create(struct troupe_server *server);
/* After the crew. All clients must be destroyed before. NULL is fine. */
void clients_destroy(struct clients *clients);

/* Between steps, on the thread that does the primary's part. stepped: a step was taken since the last call; false while
 * the worlds are paused and no step is taken. */
void clients_serve(struct clients *clients, bool stepped);

/* After the last step of a run: tells clients of all that was delivered. The same thread, or another one after it. */
void clients_flush(struct clients *clients);

/* Any thread. */
struct topic_table *clients_table(struct clients *clients);

/* For client.c. The lock guards the wants of all clients; after it is given back, the wants count as changed. */
void clients_enter(struct clients *clients, struct troupe_client *client);
void clients_leave(struct clients *clients, struct troupe_client *client);
void clients_lock(struct clients *clients);
void clients_unlock(struct clients *clients);
/* Any thread. Has the query answered at the next step boundary; takes over the reply, whose row and request are filled
 * in, and one reference to the client. */
struct reply;
void clients_ask(struct clients *clients, struct troupe_client *client, struct reply *reply);

#endif
