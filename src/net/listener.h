/* A listening socket, and those who have connected but not yet said who they are. A stranger must not delay anybody:
 * only so many may be here at once, and when one more comes, the host that has most of them loses its oldest; each has
 * a deadline by which handshake and hello must be there; so many are accepted in a second, and the rest wait in the
 * kernel or are refused by it. Never blocks. One thread at a time. */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "net/channel.h"

enum {
	LISTENER_STRANGERS_MAX = 64,
	LISTENER_ACCEPTS_MAX = 8, /* in one call of listener_work() */
	LISTENER_REFUSALS_MAX = 8,
	LISTENER_POLL_MAX = LISTENER_STRANGERS_MAX + 1,
};

struct listener_options {
	struct address address;
	const struct key *key;       /* NULL: in the clear. Copied */
	bool insecure;               /* without a key, other addresses than loopback are allowed */
	uint64_t hello_ns;           /* from accepting to the hello; 0: two seconds */
	uint32_t accepts_per_second; /* 0: 200 */
};

struct listener;
struct pollfd;

/* EINVAL: not loopback, no key and not insecure; EIO: the address cannot be had. */
troupe_status listener_create(
	const struct listener_options *options, struct listener **ret_listener, struct troupe_error *error);
void listener_destroy(struct listener *listener);
/* As it turned out: with the port that the system chose. */
const struct address *listener_address(const struct listener *listener);
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
};
struct listener_counts listener_counts(const struct listener *listener);
/* One of those that are counted as late, dropped or broken, in order and each once: from where it came, and why it went
 * ("10.0.0.3:4711: ..."). For one who wonders why a secondary does not come in; when so many wait to be asked for,
 * those that follow are forgotten. False: none. */
bool listener_take_refusal(struct listener *listener, struct address *ret_address, struct troupe_error *ret_why);

#endif
