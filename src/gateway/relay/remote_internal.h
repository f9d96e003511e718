/* A run of another process, as the files of remote.h share it: remote.c is the caller's side, and how the two meet;
 * remote_thread.c is the thread that owns the connection. Fields say which side has them. */
#ifndef GATEWAY_RELAY_REMOTE_INTERNAL_H
#define GATEWAY_RELAY_REMOTE_INTERNAL_H

#include "base/arena.h"
#include "base/eventcount.h"
#include "gateway/relay/remote.h"
#include "net/tcp/channel.h"
#include "topic/relay.pb-c.h"

#include <pthread.h>
#include <stdatomic.h>

struct come { /* a message that has come */
	struct come *next;
	Troupe__Msgs__RelayTell *tell;
	size_t bytes;
};

struct remote_listing {
	struct troupe_topics shown; /* first: a troupe_topics is its listing */
	_Atomic uint32_t refs;
	struct arena arena;
};

struct remote {
	struct bus base; /* first: a bus is its remote */
	bus_ready on_ready;
	void *ctx;
	char *prefix; /* "/NAME" of a robot client; NULL: none */
	_Atomic uint64_t commands;
	struct channel *channel; /* the thread's, once it runs */
	int woken;
	pthread_t thread;
	bool started;
	_Atomic bool stop;
	_Atomic uint64_t epoch;
	char **worlds; /* constant once it is connected */
	uint32_t world_count;
	struct eventcount more; /* messages that come, and the end */
	pthread_mutex_t lock;
	/* under the lock */
	VEC(struct text) asks;
	struct come *first, *last;
	size_t bytes; /* of the messages that have come */
	uint32_t count, depth;
	uint64_t lost;
	struct remote_listing *topics;
	bool idle, over;
	struct troupe_error why;
	/* the caller's */
	struct come *taken;
	struct text topic; /* of the message that was taken, as this side calls it */
	/* the thread's */
	uint64_t heard_ns;
};

/* Frees a message; NULL is fine. */
void remote_free_come(struct come *come);
/* The topics of a message of the other side; one reference. */
struct remote_listing *remote_listing_of(const struct remote *remote, const Troupe__Msgs__RelayTell *tell);
void remote_listing_release(struct remote_listing *listing);
/* Asks the other side for its topics. */
troupe_status remote_ask_topics(struct remote *remote);

/* --- remote_thread.c ---------------------------------------------------------------------------------------------- */

/* What the thread runs, until `stop` is set or the connection ends. remote: struct remote. */
void *remote_thread_work(void *arg);
/* Before the thread runs, and after it has ended, by the caller: */
/* Reads and sends what can be without waiting. Whether the connection goes on. */
bool remote_thread_turn(struct remote *remote);
/* Waits for a short time until there may be more to read or to send. */
void remote_thread_await_more(struct remote *remote);
/* Puts what the caller asks for into the connection's queue. */
void remote_thread_send_asks(struct remote *remote);

#endif
