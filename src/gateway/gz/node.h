/* A node of gz-transport (Ignition Transport 8 to 11, Gazebo Transport 12 to 15; wire version 10), over ZeroMQ. It
 * knows nothing of the simulator: topics and types are names, messages are bytes.
 *
 * Names. Topics and services are given without the partition ("/clock"), which is a setting of the node; a node sees
 * only its own partition. Types are given as "gz.msgs.Clock" or "ignition.msgs.Clock": the two name one type. What
 * peers send is accepted with either prefix, and events say "gz.msgs.". What the node advertises has the prefix of its
 * generation: peers compare prefixes, so a node serves typed subscribers of one generation. (Two records for one topic
 * would serve both, but `ign topic -e` would then show each message twice.) A peer that takes any type does not care.
 *
 * Threads. Each function may be called from any thread, except that nothing may run beside node_destroy(), nor use a
 * handle beside or after the call that ends it. No call waits for a peer; only node_next() waits, and node_destroy()
 * for its linger time. A node has one thread of its own, for input, discovery and times, and ZeroMQ has one or two.
 * What a call sends is handed to ZeroMQ by the calling thread. Several nodes in one process are independent of each
 * other, and see each other as other processes do. A node does not hear what it publishes itself, and does not find its
 * own services.
 *
 * What comes in is events, which the caller takes with node_next() from any thread. Nothing is called back, except by
 * node_take_directly().
 *
 * Floods. Everything that peers can make grow is bounded: processes and records (directory.h), connections
 * (NODE_CONNECTIONS_MAX to each listening socket; further ones are cut), bytes of a message part
 * (NODE_MESSAGE_BYTES_MAX), requests that wait (NODE_REQUESTS_MAX, beyond which they are refused), messages that wait
 * for node_next() (by subscription, and NODE_WAITING_BYTES_MAX for all: the oldest of the subscription is lost and
 * counted), and messages that wait for a slow subscriber (`send_queue`: further ones are lost to that subscriber;
 * others notice nothing). One thing is not bounded, because ZeroMQ offers no way: a connected peer can send a message
 * of endlessly many parts.
 *
 * Reach. With no address, or one in 127/8, everything is bound to loopback, datagrams that were not sent on this
 * machine are dropped, and only addresses of this machine are connected to. With another address, other hosts can see
 * all and call all, and nothing is encrypted.
 *
 * In a build without ZeroMQ node_create() fails with EINVAL and says so. */
#ifndef GATEWAY_GZ_NODE_H
#define GATEWAY_GZ_NODE_H

#include "base/text.h"

enum {
	NODE_TOPIC_PORT = 10317,
	NODE_SERVICE_PORT = 10318,
	NODE_QUEUE_DEFAULT = 1000,
	NODE_LINGER_DEFAULT_MS = 200,
	NODE_TOPICS_MAX = 16384, /* publishers; the same number of subscriptions, and of services */
	NODE_CONNECTIONS_MAX = 512,
	NODE_MESSAGE_BYTES_MAX = 64 << 20,
	NODE_REQUESTS_MAX = 1024, /* that wait for node_next() or node_reply() */
	NODE_CALLS_MAX = 1024,    /* that wait for their reply */
	NODE_WAITING_BYTES_MAX = 256 << 20,
	NODE_SENDING_BYTES_MAX = 256 << 20, /* queued, and not yet handed to ZeroMQ */
};

enum node_generation { NODE_IGNITION, NODE_GZ }; /* "ignition.msgs.", "gz.msgs." */

/* Zeroed is the default. Texts are copied. */
struct node_options {
	const char *partition; /* NULL: "HOST:USER", as gz-transport has it; "" is a partition, too */
	/* Nodes with the same text here do not take messages from each other; services are not concerned. NULL: none.
	 */
	const char *family;
	const char *address;               /* IPv4 address of an interface of this machine; NULL: 127.0.0.1 */
	const char *group;                 /* of multicast; NULL: 239.255.0.7 */
	uint16_t topic_port, service_port; /* of discovery; 0: NODE_TOPIC_PORT, NODE_SERVICE_PORT */
	const char *relays; /* IPv4 addresses, separated by ':', to which discovery is sent as well; NULL: none */
	const char *username, *password; /* for topics, in the clear; NULL, or both */
	bool statistics;                 /* send and expect topic statistics: such nodes hear only each other */
	enum node_generation generation;
	uint32_t send_queue, receive_queue; /* messages for each connection; 0: NODE_QUEUE_DEFAULT */
	uint32_t connections_max;           /* to each listening socket; 0: NODE_CONNECTIONS_MAX */
	int linger_ms; /* how long node_destroy() waits at most for what is not sent yet; 0: NODE_LINGER_DEFAULT_MS; -1:
			  not */
};

/* Fills in what the environment says, and changes nothing else: GZ_PARTITION, GZ_IP, GZ_DISCOVERY_MULTICAST_IP,
 * GZ_DISCOVERY_MSG_PORT, GZ_DISCOVERY_SRV_PORT, GZ_RELAY, GZ_TRANSPORT_USERNAME and GZ_TRANSPORT_PASSWORD,
 * GZ_TRANSPORT_TOPIC_STATISTICS ("1"), GZ_TRANSPORT_SNDHWM, GZ_TRANSPORT_RCVHWM; the same with IGN_ when the one with
 * GZ_ is not set. An empty value counts as not set, except for the partition. Texts point into the environment.
 * EINVAL: a number is none; *options is unchanged. */
troupe_status node_options_read_environment(struct node_options *options, struct troupe_error *error);

struct node;

bool node_is_available(void); /* whether this build has ZeroMQ */

/* EINVAL: an option is not valid; EIO: no socket, multicast, or thread. */
troupe_status node_create(const struct node_options *options, struct node **ret_node, struct troupe_error *error);
/* Says goodbye to the peers, and waits for what is published and not sent yet, at most the linger time. Frees all
 * handles. */
void node_destroy(struct node *node);

const char *node_partition(const struct node *node);
/* Whether only this machine can reach it. */
bool node_is_local(const struct node *node);
/* Appends one line for people: "partition host:user, discovery 239.255.0.7:10317 on 127.0.0.1 (this machine only)". */
void node_describe(const struct node *node, struct text *out);

/* --- publishing --------------------------------------------------------------------------------------------------- */

struct node_publisher;

/* rate_hz: at most so many messages in a second of real time, others are not sent; 0: all. ctx comes back in
 * NODE_SUBSCRIBERS. EINVAL: a name is not valid; ECOMMAND: the node has this topic already; ELIMIT. */
troupe_status node_advertise(struct node *node, const char *topic, const char *type, uint32_t rate_hz, void *ctx,
	struct node_publisher **ret_publisher, struct troupe_error *error);
/* What was published before is still sent. */
void node_unadvertise(struct node_publisher *publisher);
/* Subscriptions that cover the topic, of other processes, as their connections tell: exact, one that is killed is gone
 * at once. One atomic read: call it before a message is made. */
uint32_t node_subscribers(const struct node_publisher *publisher);

enum node_sent {
	NODE_SENT,
	NODE_NOBODY,   /* no subscriber: nothing was copied */
	NODE_TOO_SOON, /* beyond rate_hz */
	NODE_FULL,     /* NODE_SENDING_BYTES_MAX or NODE_MESSAGE_BYTES_MAX exceeded; lost, and counted */
};
/* Copies the bytes, hands them to ZeroMQ, and returns. Messages of one publisher are sent in the order of the calls. */
enum node_sent node_publish(struct node_publisher *publisher, const void *bytes, size_t count);
/* The same in two parts, for many messages at a time: what was queued is sent by the next node_flush(), node_publish()
 * or node_unadvertise() on any thread, or by node_destroy(). */
enum node_sent node_queue(struct node_publisher *publisher, const void *bytes, size_t count);
void node_flush(struct node *node);

/* --- subscribing -------------------------------------------------------------------------------------------------- */

struct node_subscription;

/* From all publishers of the topic that are there or will come. queue: how many messages may wait for node_next(); 0:
 * NODE_QUEUE_DEFAULT. EINVAL, ECOMMAND (the node is subscribed to it), ELIMIT as for node_advertise(). */
troupe_status node_subscribe(struct node *node, const char *topic, uint32_t queue, void *ctx,
	struct node_subscription **ret_subscription, struct troupe_error *error);
/* Its events that wait are dropped. */
void node_unsubscribe(struct node_subscription *subscription);
/* Messages lost so far because they waited too long for node_next(). */
uint64_t node_lost(const struct node_subscription *subscription);

/* --- services ----------------------------------------------------------------------------------------------------- */

struct node_service;

/* Requests come as NODE_REQUEST. A request of other types, or beyond NODE_REQUESTS_MAX, is refused by the node itself.
 * Errors as for node_advertise(). */
troupe_status node_offer(struct node *node, const char *service, const char *request_type, const char *reply_type,
	void *ctx, struct node_service **ret_service, struct troupe_error *error);
/* Takes a request on the node's thread, without an event, so that no other thread has to be woken for it. It must be
 * quick, and must not call the node. ctx: that of node_offer(). False: the request becomes an event. */
typedef bool (*node_request_fn)(void *ctx, uint64_t request, const void *bytes, size_t count);
/* From now on requests to the service are given to `take` first; NULL: to events only. When this returns, an earlier
 * function is not called any more. */
void node_take_directly(struct node_service *service, node_request_fn take);
/* Its requests that wait are refused; replies to others are still sent. */
void node_withdraw(struct node_service *service);
/* Answers a request, once. good: the protocol's result; when it is false the bytes are sent all the same, and clients
 * ignore them (the protocol has no text for errors). The client must accept the reply within two seconds, or it is
 * dropped. False: there is no such request: it was answered, it was one-way, or it is too old. */
bool node_reply(struct node *node, uint64_t request, bool good, const void *bytes, size_t count);

/* Calls a service of another process as soon as one is found, and gives its outcome as NODE_REPLY, within timeout_ms.
 * With a reply type of Empty the outcome comes when the request is sent. EINVAL: a name is not valid, or the bytes are
 * too many; ELIMIT: NODE_CALLS_MAX. */
troupe_status node_call(struct node *node, const char *service, const char *request_type, const char *reply_type,
	const void *bytes, size_t count, int timeout_ms, void *ctx, uint64_t *ret_call, struct troupe_error *error);

/* --- events ------------------------------------------------------------------------------------------------------- */

enum node_event_kind {
	NODE_MESSAGE,
	NODE_REQUEST,
	NODE_REPLY,
	NODE_SUBSCRIBERS, /* node_subscribers() of a publisher has changed, or is not 0 when it is advertised */
};

enum node_outcome {
	NODE_REPLIED,
	NODE_REFUSED,   /* the service says that it failed */
	NODE_TIMED_OUT, /* the service was found, and did not answer */
	NODE_NOT_FOUND, /* no such service with these types */
};

struct node_event {
	enum node_event_kind kind;
	void *ctx;              /* as given when the handle was made, or with the call */
	const char *topic;      /* or service; "" in a NODE_REPLY */
	const char *type;       /* of the message, of the request; "" in other events */
	const char *reply_type; /* that the client of a request expects; "" in other events */
	const char *bytes;      /* not terminated; aligned for nothing */
	size_t count;
	uint64_t number;           /* the request; the call; or the number of subscribers */
	bool one_way;              /* a request to which no reply is sent: do not call node_reply() */
	enum node_outcome outcome; /* NODE_REPLY */
	void *memory;              /* private */
};

/* The next event, oldest first. Waits timeout_ms for one; 0: does not wait; -1: without end. False: none came. Texts
 * and bytes live until node_event_fini(). */
bool node_next(struct node *node, int timeout_ms, struct node_event *ret_event);
void node_event_fini(struct node_event *event);
/* A descriptor that is readable while events wait, for poll(). */
int node_fd(const struct node *node);

/* --- what is there ------------------------------------------------------------------------------------------------ */

/* One publisher of a topic, or one process that offers a service. */
struct node_record {
	bool is_service, is_own;
	const char *name;    /* without partition */
	const char *address; /* "tcp://127.0.0.1:40001" */
	const char *process, *node;
	const char *type;       /* of messages, or of requests; as it is on the wire, with its prefix */
	const char *reply_type; /* "" for a topic */
	bool throttled;
	uint64_t rate_hz;
};

struct node_records {
	struct node_record *at;
	uint32_t count;
	void *memory; /* private */
};

/* All that the node knows of its partition, its own included, sorted by kind (topics first), name, address. A peer says
 * once in a second what it has: a list is complete NODE_SETTLE_MS after the node was created. */
enum { NODE_SETTLE_MS = 1300 };
void node_list(struct node *node, struct node_records *ret_records);
void node_records_fini(struct node_records *records);

struct node_counts {
	uint64_t datagrams;         /* read */
	uint64_t datagrams_dropped; /* not of this protocol, this machine, or beyond a limit */
	uint64_t sent;              /* messages handed to ZeroMQ */
	uint64_t unsent;            /* NODE_FULL */
	uint64_t received;          /* messages taken from ZeroMQ for a subscription */
	uint64_t lost;              /* of these, not delivered by node_next() */
	uint64_t requests, requests_refused, replies_dropped;
	uint32_t processes, records; /* known now */
	uint32_t connections;        /* of peers to our sockets, now */
};
void node_get_counts(struct node *node, struct node_counts *ret_counts);

#endif
