/* What comes before the first step of a networked run, on either side: connections, and who is let in (net/peers.h),
 * until all are there and have the world. Does the I/O that peers asks for, and hands on what is not its matter.
 *
 * Thread: one at a time. */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H

#include "net/discovery.h"
#include "net/listener.h"
#include "net/peers.h"

#include <troupe/network.h>

enum {
	SESSION_TICK_MS = 50,
	SESSION_MORE_MAX = 8,
	SESSION_FINISHING_MAX = 64, /* connections that are over but still open, beyond those that had an id */
};

struct pollfd;

struct finishing {
	struct channel *channel;
	uint64_t until_ns; /* when it is given up */
};

struct session {
	struct peers *peers;
	VEC(struct channel *) channels;  /* by id; NULL: none */
	VEC(struct finishing) finishing; /* the oldest first */
	uint64_t looked_ns;              /* when it did last what time asks for; 0: never */
	struct listener *listener;       /* NULL: a secondary's, or all are there from the start */
	struct discovery *discovery;     /* NULL: none */
	bool hears;                      /* it is waited for what discovery receives, and until it is to send */
	/* Frames of the world. False: the connection is to be broken, error says why. */
	bool (*on_world)(void *ctx, uint32_t id, enum frame_type type, const char *bytes, size_t count,
		struct troupe_error *error);
	/* ADMITTED, LOST, TURNED_AWAY, STARTED, ENDED. While it is ADMITTED, its channel is channels.at[id]. */
	void (*on_action)(void *ctx, const struct peers_action *action);
	void *ctx;
};

/* peers, listener, discovery and callbacks are the caller's to fill in; the session owns the first three then. */
void session_fini(struct session *session);
/* An open channel takes part; it is the session's, which closes it when there is no room. */
void session_join(struct session *session, struct channel *channel);
/* Waits for at most so long, and does what is to be done. more: files to wait for as well, at most SESSION_MORE_MAX;
 * their revents are filled in. */
void session_work(struct session *session, int timeout_ms, struct pollfd *more, uint32_t more_count);
/* Only waits. */
void session_wait(int file, int timeout_ms);
/* What peers asks for. */
void session_act(struct session *session);
/* Nothing more is to be said to a channel, which is the session's from now on: closed once its peer has closed it,
 * after a second, or when there are too many. */
void session_finish(struct session *session, struct channel *channel);
/* After the start: the channel is the caller's. */
struct channel *session_take(struct session *session, uint32_t id);
/* What was said last shall go out, within so long. */
void session_flush(struct session *session, int timeout_ms);

/* What failed, without the name of whose channel it was: for those who say that themselves. */
const char *session_bare(const struct channel *channel, const char *text);

/* The key of a network, and whether there is one. */
troupe_status session_key(
	const struct troupe_network *network, struct key *ret_key, bool *ret_given, struct troupe_error *error);
/* Who this process is. */
troupe_status session_hello(const struct troupe_network *network, enum hello_role role, struct hello *ret_hello,
	struct troupe_error *error);

/* WORLD: what the saved state is that follows. */
struct session_world {
	uint64_t bytes, hash[2];
};
struct session_world session_describe(const char *bytes, size_t count);
void session_encode_world(const struct session_world *world, struct text *out);
troupe_status session_decode_world(
	const char *bytes, size_t count, struct session_world *ret_world, struct troupe_error *error);

#define SESSION_WORLD_MAX (UINT64_C(4) << 30)

#endif
