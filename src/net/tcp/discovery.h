/* How primaries and secondaries of a LAN find each other: announcements as IPv4 multicast datagrams. An announcement
 * leads a secondary to the address of a primary and has no other effect; it never ends a run. Never blocks. One thread
 * at a time.
 *
 * An announcement is followed only if it is valid, of this partition, of the other role, and live: made now, by a
 * sender that hears us (net/tcp/nonces.h). With a key it must also be authentic, and the MAC proves that it was sent
 * from its source address.
 *
 * The last announcement that is useless is remembered, for a user who wonders why two processes do not meet. It may be
 * forged or old, so it must have no effect but a message.
 *
 * Floods. Most datagrams are dropped after a check of their first bytes. Each sender has a budget of the more expensive
 * checks. Beyond the budgets only DISCOVERY_SPARE datagrams are checked in a round, counted separately for live
 * datagrams and for others. A round ends when no datagram is left or DISCOVERY_ROUND_MAX have been read. After a round
 * of a flood nothing is read for a millisecond (discovery_poll_at_ns()), so that the caller can do other work. */
#ifndef NET_TCP_DISCOVERY_H
#define NET_TCP_DISCOVERY_H

#include "net/address.h"
#include "net/hello.h"
#include "net/key.h"

enum {
	DISCOVERY_INTERFACES_MAX = 16,
	DISCOVERY_ROUND_MAX = 1024, /* datagrams read in a round */
	DISCOVERY_SPARE = 256,      /* checked in a round beyond the budgets: so many live, so many others */
	DISCOVERY_PER_SECOND = 100, /* checks per sender */
	DISCOVERY_BURST = 64,
};

struct discovery_options {
	enum hello_role role;  /* our own; announcements of this role are ignored */
	const char *interface; /* name ("eth0") or IPv4 address; NULL: all that can multicast, and loopback */
	bool loopback_only;    /* for a run without a key and not insecure; interface must then be NULL or loopback */
	uint16_t port;         /* 0: ADDRESS_PORT */
	const struct key *key; /* NULL: none. Copied */
	const char *partition; /* copied */
};

struct discovery;

/* EINVAL: no such interface; EIO: multicast is not available (the text says why, and that the user can give an address
 * instead). */
troupe_status discovery_create(
	const struct discovery_options *options, struct discovery **ret_discovery, struct troupe_error *error);
void discovery_destroy(struct discovery *discovery);
int discovery_fd(const struct discovery *discovery);
/* The time before which discovery_fd() must not be polled; 0: now. */
uint64_t discovery_poll_at_ns(const struct discovery *discovery, uint64_t now_ns);
/* When the next announcement is due: every 500 ms, or as soon as a new sender was heard, which waits for an echo. */
uint64_t discovery_send_at_ns(const struct discovery *discovery);
/* Sends the announcement on all interfaces. EIO when it could be sent on none. Fills in role, partition, number and
 * echoes. */
troupe_status discovery_send(struct discovery *discovery, const struct announcement *announcement, uint64_t now_ns,
	struct troupe_error *error);
/* The next announcement to follow, and the address of its sender with the announced port. False: none now. */
bool discovery_receive(struct discovery *discovery, uint64_t now_ns, struct announcement *ret_announcement,
	struct address *ret_address);
/* The newest announcement that is useless, although it is valid, of this partition and of the other role: it has
 * another key, or has a key and we have none, or the reverse, or its primary awaits no secondaries. Each is returned
 * once. *ret_why gives the reason: a constant text, to follow "it ...". False: none since the last call. */
bool discovery_take_useless(struct discovery *discovery, struct announcement *ret_announcement,
	struct address *ret_address, const char **ret_why);
/* Appends the destination of announcements: "239.255.84.82:47082 (lo, eth0)". */
void discovery_describe(const struct discovery *discovery, struct text *out);

struct discovery_counts {
	uint64_t read;    /* datagrams */
	uint64_t glanced; /* dropped after a check of their first bytes */
	uint64_t skipped; /* dropped unchecked, beyond the budgets */
	uint64_t dropped; /* dropped after a full check, for any reason */
};
struct discovery_counts discovery_counts(const struct discovery *discovery);

#endif
