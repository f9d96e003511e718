/* A listening socket, and the connected peers that have not sent their hello yet. An unknown peer must not delay
 * another peer.
 *
 *   waiting    Accepted connections without a channel: a file and a few bytes each. At most LISTENER_WAITING_MAX.
 *   unknown peers  Connections whose first bytes may begin a hello. They have a channel, with a TLS handshake when
 * there is a key. At most LISTENER_UNKNOWN_MAX; one call of listener_work() starts LISTENER_STARTS_MAX.
 *
 * When either list is full, the network with the most entries loses one, and in it the host with the most; of its
 * waiting connections, first one that has not sent enough to be checked. Each connection has a deadline for handshake
 * and hello.
 *
 * A connection is accepted as soon as it comes: the kernel drops connection requests while its queue is full, and such
 * a peer tries again only a second later. When accept() fails repeatedly, accepting pauses. Never blocks. One thread at
 * a time. */
#ifndef NET_TCP_LISTENER_H
#define NET_TCP_LISTENER_H

#include "net/tcp/channel.h"

enum {
	LISTENER_WAITING_MAX = 192,
	LISTENER_UNKNOWN_MAX = 64,
	LISTENER_ACCEPTS_MAX = 64, /* in one call of listener_work() */
	LISTENER_STARTS_MAX = 8,   /* likewise, waiting connections that become unknown peers */
	LISTENER_REFUSALS_MAX = 8,
	LISTENER_POLL_MAX = LISTENER_UNKNOWN_MAX + LISTENER_WAITING_MAX + 1,
};

struct listener_options {
	struct address address;
	const struct key *key; /* NULL: no encryption. Copied */
	bool insecure;         /* allow addresses other than loopback without a key */
	uint64_t hello_ns;     /* from accepting to the hello; 0: two seconds */
	const char *in_use;    /* ends the message that the port is in use; NULL: nothing. Used by listener_create() */
};

struct listener;
struct pollfd;

/* EINVAL: the address is not loopback, there is no key, and insecure is not set; EIO: the system refuses the address.
 */
troupe_status listener_create(
	const struct listener_options *options, struct listener **ret_listener, struct troupe_error *error);
void listener_destroy(struct listener *listener);
/* The actual address, with the port that the system chose. */
const struct address *listener_address(const struct listener *listener);
/* From now on at most so many connections are accepted in a second; the kernel holds or refuses the rest; 0: any
 * number. For the time when no peer is awaited any more, and new connections should cost little. */
void listener_slow_down(struct listener *listener, uint32_t accepts_per_second);
/* Fills in the files and events to poll() for, at most LISTENER_POLL_MAX. */
uint32_t listener_poll(const struct listener *listener, uint64_t now_ns, struct pollfd *ret_fds);
/* When listener_work() must be called even if nothing happens; UINT64_MAX: need not be. */
uint64_t listener_deadline_ns(const struct listener *listener, uint64_t now_ns);
/* Works on all connections: call it when poll() says so or at the deadline. */
void listener_work(struct listener *listener, uint64_t now_ns);
/* A channel whose first frame is a hello, still to be received. The caller owns it. NULL: none. */
struct channel *listener_take(struct listener *listener);

struct listener_counts {
	uint64_t accepted, taken;
	uint64_t late;    /* no hello by their deadline */
	uint64_t dropped; /* closed to make room */
	uint64_t broken;  /* wrong key, no key, rubbish, or gone */
	uint64_t failed;  /* failed calls of accept(); not in accepted */
	uint64_t shed;    /* closed at once, because no file was free; not in accepted */
};
struct listener_counts listener_counts(const struct listener *listener);
/* The next connection that was counted as late, dropped, broken or shed, in order and each once: its address, and the
 * reason ("10.0.0.3:4711: ..."). For a user who wonders why a secondary does not join. When LISTENER_REFUSALS_MAX are
 * stored, later ones are not stored. False: none. */
bool listener_take_refusal(struct listener *listener, struct address *ret_address, struct troupe_error *ret_why);

#endif
