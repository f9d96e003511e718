/* The phase of a networked run before its first step, on either side: connections and the admission of peers
 * (net/peers.h), until all peers are connected and have the world. Does the I/O that net/peers.h asks for, and passes
 * frames of the world to the caller.
 *
 * Thread: one at a time. */
#ifndef NET_TCP_SESSION_H
#define NET_TCP_SESSION_H

#include "net/tcp/discovery.h"
#include "net/tcp/listener.h"
#include "net/peers.h"

#include <troupe/network.h>

enum {
	SESSION_TICK_MS = 50,
	SESSION_MORE_MAX = 8,
	SESSION_FINISHING_MAX = 64, /* connections that are being closed, beyond those that had an id */
};

struct pollfd;

struct finishing {
	struct channel *channel;
	uint64_t until_ns; /* when it is closed anyway */
};

struct session {
	struct peers *peers;
	VEC(struct channel *) channels;  /* by id; NULL: none */
	VEC(struct finishing) finishing; /* the oldest first */
	uint64_t looked_ns;              /* when time was last checked; 0: never */
	struct listener *listener;       /* NULL: for a secondary, or when the sockets were given */
	struct discovery *discovery;     /* NULL: none */
	bool discovers;                  /* also wait for discovery: to receive and to send */
	/* A frame of the world has arrived. False: the connection is closed; error has the reason. */
	bool (*on_world)(void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count,
		struct troupe_error *error);
	/* Called for ADMITTED, LOST, TURNED_AWAY, KNOCKED, STARTED and ENDED. During ADMITTED, the channel is
	 * channels.at[id]. */
	void (*on_action)(void *ctx, const struct peers_action *action);
	void *ctx;
};

/* The caller fills in peers, listener, discovery and the callbacks. The session then owns the first three. */
void session_fini(struct session *session);
/* Adds an open channel. The session owns it, and closes it when there is no room. */
void session_join(struct session *session, struct channel *channel);
/* The same for a connection of the run before (peers_keep()). */
void session_keep(struct session *session, struct channel *channel);
/* Waits for at most timeout_ms and handles all events. more: other files to wait for, at most SESSION_MORE_MAX; their
 * revents are filled in. */
void session_work(struct session *session, int timeout_ms, struct pollfd *more, uint32_t more_count);
/* Does the actions that peers asks for. */
void session_act(struct session *session);
/* Closes a channel after its last message. The session owns the channel from now on. It closes the channel when the
 * peer has closed it, after a second, or when too many channels are being closed. */
void session_finish(struct session *session, struct channel *channel);
/* After the start: passes the channel to the caller. */
struct channel *session_take(struct session *session, uint32_t id);
/* Sends the last messages of channels that are being closed; takes at most timeout_ms. */
void session_flush(struct session *session, int timeout_ms);

/* The error text of a channel without the name of its peer, for messages that already name the peer. */
const char *session_bare(const struct channel *channel, const char *text);

/* Reads the key of a network. *ret_given: whether there is a key. */
troupe_status session_key(
	const struct troupe_network *network, struct key *ret_key, bool *ret_given, struct troupe_error *error);

#endif
