/* Declarations that the files of a node share. See node.h for what it does.
 *
 * The ZeroMQ sockets belong to the thread that holds `guard`. The node's thread holds it while it works, and releases
 * it while it waits for input; another thread takes it to add, remove and list, and to send by itself: so a message
 * does not wait for a second thread to wake. Publications that wait for node_flush() have a lock of their own, held for
 * a few instructions, and events have a third one. No thread takes a lock of these while it holds the second or third.
 *
 * A socket has a descriptor that says once that something has changed. Any use of the socket may take this signal. So
 * code that uses a socket notes this in `used`, and the thread that gives `guard` back looks whether such a socket has
 * input. */
#ifndef GATEWAY_GZ_NODE_INTERNAL_H
#define GATEWAY_GZ_NODE_INTERNAL_H

#include "gateway/gz/audience.h"
#include "gateway/gz/directory.h"
#include "gateway/gz/multicast.h"
#include "gateway/gz/node.h"
#include "gateway/gz/parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <zmq.h>

enum {
	NODE_UUID_BYTES = 37,
	NODE_LISTENERS = 3, /* sockets to which peers connect */
};
#define NODE_MS UINT64_C(1000000)

/* --- events ------------------------------------------------------------------------------------------------------- */

struct event_item {
	TAILQ_ENTRY(event_item) all, of_source;
	struct event_source *source; /* NULL: a reply to a call */
	struct node_event event;
	size_t bytes;
};
TAILQ_HEAD(event_list, event_item);

struct event_source {
	struct event_list items;
	uint32_t waiting, waiting_max; /* 0: no limit */
	bool refuses;                  /* what is beyond waiting_max is refused; else it costs the oldest */
	uint64_t lost;
};

struct events {
	pthread_mutex_t guard;
	struct event_list items;
	size_t bytes;
	uint64_t lost;
	int fd;
	bool signalled, held; /* the descriptor is readable; it is not to become so */
};

/* What an event is made of. */
struct event_parts {
	enum node_event_kind kind;
	void *ctx;
	struct part topic, type, reply_type, bytes;
	uint64_t number;
	bool one_way;
	enum node_outcome outcome;
};

bool events_init(struct events *events);
void events_fini(struct events *events);
/* While it is held, events that are put do not make the descriptor readable. */
void events_hold(struct events *events, bool held);
void events_source_init(struct event_source *source, uint32_t waiting_max, bool refuses);
/* False: refused, or lost. */
bool events_put(struct events *events, struct event_source *source, const struct event_parts *parts);
/* Drops what waits for this source, calling on_drop (may be NULL) for each. */
typedef void event_drop_fn(const struct node_event *event, void *ctx);
void events_purge(struct events *events, struct event_source *source, event_drop_fn *on_drop, void *ctx);

/* --- handles ------------------------------------------------------------------------------------------------------ */

struct node_publisher {
	struct node *node;
	void *ctx;
	char *full, *type; /* type: as on the wire */
	uint32_t rate_hz;
	_Atomic uint32_t subscribers; /* written by the thread that holds `guard` */
	uint64_t advertised_ns;
	struct event_source source;
	uint64_t due_ns;     /* guarded by waiting_guard */
	zmq_msg_t frames[3]; /* topic, address, type */
	uint64_t sequence;   /* of statistics */
};

struct node_subscription {
	struct node *node;
	void *ctx;
	char *full;
	struct event_source source;
};

struct node_service {
	struct node *node;
	void *ctx;
	char *full, *request_type, *reply_type; /* types as on the wire */
	uint64_t advertised_ns;
	struct event_source source;
	node_request_fn take; /* with the node's guard; NULL: none */
};

/* --- publications that wait --------------------------------------------------------------------------------------- */

struct publication {
	STAILQ_ENTRY(publication) next;
	struct node_publisher *publisher;
	_Atomic bool handed; /* to ZeroMQ */
	size_t count;
	char bytes[];
};
STAILQ_HEAD(publication_list, publication);

/* --- services ----------------------------------------------------------------------------------------------------- */

/* A request that waits for its answer. */
struct request {
	uint64_t number; /* 0: free */
	char *service;   /* full name */
	char address[NAMES_ENDPOINT_MAX + 1], id[NAMES_ID_MAX + 1], node[NAMES_ID_MAX + 1], uuid[NAMES_ID_MAX + 1];
};

/* An answer that waits for the connection to its client. */
struct reply {
	TAILQ_ENTRY(reply) next;
	struct request to;
	bool good;
	uint64_t since_ns;
	size_t count;
	char bytes[];
};
TAILQ_HEAD(reply_list, reply);

struct call {
	TAILQ_ENTRY(call) next;
	uint64_t number;
	void *ctx;
	char *service, *request_type, *reply_type;
	char uuid[NODE_UUID_BYTES];
	uint64_t deadline_ns, asked_ns; /* when discovery was asked for it */
	bool found, sent;
	size_t count;
	char bytes[];
};
TAILQ_HEAD(call_list, call);

/* Where a socket is connected to. */
struct link {
	char *address;
	uint32_t users; /* of the subscribing socket: records */
	uint64_t connected_ns, used_ns;
};

struct links {
	struct map index;
	VEC(struct link) at;
};

struct link *links_find(const struct links *links, const char *address);
/* NULL: NODE_CONNECTIONS_MAX exceeded, or ZeroMQ refuses. */
struct link *links_connect(struct links *links, void *socket, const char *address, uint64_t now_ns);
void links_disconnect(struct links *links, void *socket, const char *address);
/* Disconnects what has no users and was not used for so long. */
void links_expire(struct links *links, void *socket, uint64_t now_ns, uint64_t idle_ns);
void links_fini(struct links *links);

/* --- the node ----------------------------------------------------------------------------------------------------- */

/* A socket to which peers connect. */
struct listener {
	void *socket, *monitor;
	char endpoint[NAMES_ENDPOINT_MAX + 1];
	int file;             /* ZeroMQ's listening socket; -1: not known */
	int reserve;          /* a file that is closed to make room for a connection that is to be refused; -1: none */
	uint32_t connections; /* also those that are cut and of which ZeroMQ has not noticed the end */
};

struct node {
	/* constant */
	char *partition, *username, *password;
	char process[NODE_UUID_BYTES], id[NODE_UUID_BYTES], serve_id[NODE_UUID_BYTES], answer_id[NODE_UUID_BYTES];
	uint32_t address, group, version;
	uint16_t topic_port, service_port;
	bool local, ignition, statistics, has_family;
	int linger_ms;
	uint32_t connections_max; /* to each listener */
	pthread_t thread;
	bool has_thread;

	_Atomic bool stop, awake;
	int wake_fd;

	pthread_mutex_t guard; /* guards the following, and the use of UDP sockets */
	void *zmq, *subscribe, *request, *access;
	struct listener listeners[NODE_LISTENERS];
	uint32_t used;          /* bits 1 << enum node_wait: may have input without a signal */
	bool looked;            /* a socket had input when it was asked: a part of a message may be taken */
	uint64_t wait_until_ns; /* the node's thread sleeps at most until then */
	struct links sources, clients, servers; /* of the sockets subscribe, serve, request */
	struct reply_list replies;
	struct multicast *topics, *services;
	struct directory *directory;
	struct audience audience;
	struct map publisher_index, subscription_index, service_index; /* by full name */
	VEC(struct node_publisher *) publishers;                       /* sorted by full name */
	VEC(struct node_subscription *) subscriptions;
	VEC(struct node_service *) offers;
	struct request requests[NODE_REQUESTS_MAX];
	uint64_t request_number;
	struct call_list calls;
	uint32_t call_count;
	uint64_t call_number;
	uint64_t heartbeat_ns, cycle_ns, cycle_length_ns, sweep_ns; /* when next, or when begun */
	uint32_t cursor;                                            /* how many records are advertised in this cycle */
	bool hurry;                                                 /* a new process is there: advertise soon */
	struct node_counts counts;
	struct text datagram; /* reused */

	pthread_mutex_t waiting_guard; /* guards the following */
	struct publication_list waiting;
	size_t waiting_bytes; /* until they are handed to ZeroMQ */
	uint64_t unsent;

	struct events events;
};

enum { LISTENER_PUBLISH, LISTENER_SERVE, LISTENER_ANSWERS };

/* What the node's thread waits for. */
enum node_wait {
	WAIT_WAKE,
	WAIT_TOPICS,
	WAIT_SERVICES,
	WAIT_SUBSCRIBE, /* the first one of a ZeroMQ socket */
	WAIT_LISTENERS,
	WAIT_MONITORS = WAIT_LISTENERS + NODE_LISTENERS,
	WAIT_ACCESS = WAIT_MONITORS + NODE_LISTENERS,
	WAIT_ALL
};

/* node.c */
void node_wake(struct node *node);

/* node_sockets.c: what comes from ZeroMQ */
troupe_status sockets_open(struct node *node, const struct node_options *options, struct troupe_error *error);
void sockets_close(struct node *node);
void sockets_watch(struct node *node); /* connections come and go */
void sockets_check_access(struct node *node);

/* The parts of one message; parts_fini() frees it. */
struct parts {
	zmq_msg_t messages[PARTS_MAX];
	struct part at[PARTS_MAX];
	uint32_t count; /* PARTS_MAX + 1: more than that */
	uint32_t room;
};
bool parts_receive(struct parts *parts, void *socket);
void parts_fini(struct parts *parts);
/* False: not taken, errno says why. Once the first part is taken, all are. */
bool parts_send(void *socket, const struct part *parts, uint32_t count);

/* node_loop.c */
void *node_loop(void *node);
/* With `guard`. Whether one of the sockets that were used has input; if not, they count as not used any more. */
bool loop_has_input(struct node *node);

/* node_setup.c */
/* Takes the options into a node that is being made. Errors as of node_create(). */
troupe_status setup_take_options(struct node *node, const struct node_options *options, struct troupe_error *error);
/* Opens the sockets of discovery: node->topics and node->services. */
troupe_status setup_open_multicast(struct node *node, const struct node_options *options, struct troupe_error *error);
/* Whether the node of a record, by its id, takes no messages from this node, and this one none from it. */
bool node_is_relative(const struct node *node, const char *id);

/* node_beacons.c; with `guard` */
void beacons_read(struct node *node, struct multicast *multicast, uint64_t now_ns);
void beacons_tick(struct node *node, uint64_t now_ns);
uint64_t beacons_due_ns(const struct node *node, uint64_t now_ns);
void beacons_bye(struct node *node);
void beacons_advertise_topic(struct node *node, struct node_publisher *publisher, enum beacon_kind kind);
void beacons_advertise_service(struct node *node, struct node_service *service, enum beacon_kind kind);
void beacons_seek(struct node *node, const char *full, bool is_service);
/* NEW_CONNECTION or END_CONNECTION to the publisher of the record. */
void beacons_connection(struct node *node, const struct directory_record *record, enum beacon_kind kind);

/* node_topics.c; with `guard` */
/* Hands publications that wait to ZeroMQ, at most so many. False: none is left. */
bool topics_send_waiting(struct node *node, uint32_t most);
void topics_free_publisher(struct node_publisher *publisher);
/* Puts the event of a publisher whose number of subscribers has changed. */
void topics_tell_subscribers(struct node *node, struct node_publisher *publisher, uint32_t count);
void topics_hear_audience(struct node *node);
void topics_receive(struct node *node);
void topics_follow(struct node *node, const char *full);
void topics_leave(struct node *node, const char *full);
/* A record of a topic was advertised, again or for the first time. */
void topics_consider(struct node *node, struct directory_record *record);
void topics_gone(struct directory_record *record, void *node);
/* Disconnects from publishers that are not needed any more. */
void topics_tick(struct node *node, uint64_t now_ns);
/* Where the publisher with this full name stands, or belongs. */
uint32_t publishers_place(const struct node *node, const char *full);
/* The type as events have it: `type` itself, or in `text`. */
struct part topics_event_type(struct part type, char text[NAMES_TYPE_MAX + 1]);

/* node_services.c; with `guard` */
void services_receive(struct node *node);
void services_receive_answers(struct node *node);
void services_send_reply(struct node *node, struct reply *reply);
void services_call(struct node *node, struct call *call);
void services_free_call(struct call *call);
/* Tries again what could not be sent, ends calls that are late. */
void services_tick(struct node *node, uint64_t now_ns);
/* At the end: until all replies are sent, at most the linger time. */
void services_linger(struct node *node);
uint64_t services_due_ns(const struct node *node, uint64_t now_ns);
void services_free(struct node *node);

#endif
