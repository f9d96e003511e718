/* A listening socket, and those who have connected but not yet said who they are. A stranger must not delay anybody.
 *
 *   waiting    have not sent enough to be told from rubbish: a file and a few bytes each. At most LISTENER_WAITING_MAX.
 *   strangers  have sent what may begin a hello, and have a channel, with a TLS handshake when there is a key. At most
 *              LISTENER_STRANGERS_MAX; in one call of listener_work() only so many get there.
 *
 * When either has no place left, the network that has most loses one, and in it the host that has most; of one that
 * waits, preferably one that has not said anything. Each has a deadline by which handshake and hello must be there.
 *
 * A connection is accepted as soon as it comes, because the kernel drops whoever comes while its queue is full, and the
 * next attempt of such a peer is a second later. When accepting fails, it pauses. Never blocks. One thread at a time.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "net/channel.h"

enum {
	LISTENER_WAITING_MAX = 192,
	LISTENER_STRANGERS_MAX = 64,
	LISTENER_ACCEPTS_MAX = 64, /* in one call of listener_work() */
	LISTENER_STARTS_MAX = 8,   /* likewise, of those who wait and become strangers */
	LISTENER_REFUSALS_MAX = 8,
	LISTENER_POLL_MAX = LISTENER_STRANGERS_MAX + LISTENER_WAITING_MAX + 1,
};

struct listener_options {
	struct address address;
	const struct key *key; /* NULL: in the clear. Copied */
	bool insecure;         /* without a key, other addresses than loopback are allowed */
	uint64_t hello_ns;     /* from accepting to the hello; 0: two seconds */
};

struct listener;
struct pollfd;

/* EINVAL: not loopback, no key and not insecure; EIO: the address cannot be had. */
troupe_status listener_create(
	const struct listener_options *options, struct listener **ret_listener, struct troupe_error *error);
void listener_destroy(struct listener *listener);
/* As it turned out: with the port that the system chose. */
const struct address *listener_address(const struct listener *listener);
/* From now on at most so many are accepted in a second, and the rest wait in the kernel or are refused by it: nobody is
 * awaited any more, and those who come are to cost little. */
void listener_slow_down(struct listener *listener, uint32_t accepts_per_second);
/* Fills in what to wait for, at most LISTENER_POLL_MAX. */
uint32_t listener_poll(const struct listener *listener, uint64_t now_ns, struct pollfd *ret_fds);
/* When listener_work() must be called even if nothing happens; UINT64_MAX: need not be. */
uint64_t listener_deadline_ns(const struct listener *listener, uint64_t now_ns);
/* Goes on with all of them: call it when poll() says so or at the deadline. */
void listener_work(struct listener *listener, uint64_t now_ns);
/* A channel whose first frame is a hello, which is still to be received; the caller's from now on. NULL: none. */
struct channel *listener_take(struct listener *listener);

struct listener_counts {
	uint64_t accepted, taken;
	uint64_t late;    /* without a hello by their deadline */
	uint64_t dropped; /* to make room */
	uint64_t broken;  /* wrong key, no key, rubbish, or gone */
	uint64_t failed;  /* calls of accept() that failed; not among those accepted */
	uint64_t shed;    /* closed at once, because there was no file for them; likewise */
};
struct listener_counts listener_counts(const struct listener *listener);
/* One of those that are counted as late, dropped or broken, in order and each once: from where it came, and why it went
 * ("10.0.0.3:4711: ..."). For one who wonders why a secondary does not come in; when so many wait to be asked for,
 * those that follow are forgotten. False: none. */
bool listener_take_refusal(struct listener *listener, struct address *ret_address, struct troupe_error *ret_why);

#endif
