/* Finding each other on a LAN: announcements as IPv4 multicast datagrams. They lead a secondary to a primary's address,
 * and say no more; they never end a run. Never blocks. One thread at a time.
 *
 * What leads anywhere is valid, of this partition, of the other role, and live: made now, by somebody who hears us
 * (net/fresh.h). With a key it is authentic as well, and was sent from the address from which it came.
 *
 * What leads nowhere is remembered, one at a time, for people who wonder why two do not meet. It may be forged or old,
 * so nothing but words may come of it.
 *
 * A flood. Most of it is dropped after a look at its first bytes. Each sender has a budget of looks that cost more;
 * what is beyond it is looked at when there is nothing else to do, so many in a round, and live ones by themselves. A
 * round is what is read before discovery_poll_at_ns() is in the future, for a millisecond: then others have their turn.
 */
#ifndef NET_DISCOVERY_H
#define NET_DISCOVERY_H

#include "net/address.h"
#include "net/hello.h"
#include "net/key.h"

enum {
	DISCOVERY_INTERFACES_MAX = 16,
	DISCOVERY_ROUND_MAX = 1024, /* datagrams that are read in a round */
	DISCOVERY_SPARE = 256, /* of them looked at beyond the budgets of their senders, of live ones and of others */
	DISCOVERY_PER_SECOND = 100, /* of one sender */
	DISCOVERY_BURST = 64,
};

struct discovery_options {
	enum hello_role role;  /* one's own; what others of this role announce is not heard */
	const char *interface; /* name ("eth0") or IPv4 address of one; NULL: all that can multicast, and loopback */
	bool loopback_only;    /* without a key, unless told to be insecure; interface is then to be NULL or loopback */
	uint16_t port;         /* 0: ADDRESS_PORT */
	const struct key *key; /* NULL: none. Copied */
	const char *partition; /* copied */
};

struct discovery;

/* EINVAL: no such interface; EIO: multicast cannot be had (the text says why, and that an address can be given
 * instead). */
troupe_status discovery_create(
	const struct discovery_options *options, struct discovery **ret_discovery, struct troupe_error *error);
void discovery_destroy(struct discovery *discovery);
int discovery_fd(const struct discovery *discovery);
/* Not to be polled before then; 0: now. */
uint64_t discovery_poll_at_ns(const struct discovery *discovery, uint64_t now_ns);
/* When the next announcement is due: each 500 ms, or as soon as somebody new was heard, who waits for an echo. */
uint64_t discovery_send_at_ns(const struct discovery *discovery);
/* On all its interfaces. EIO when it went out on none. Role, partition, number and echoes are filled in. */
troupe_status discovery_send(struct discovery *discovery, const struct announcement *announcement, uint64_t now_ns,
	struct troupe_error *error);
/* The next that leads somewhere, and, with the announced port, where its sender is. False: none now. */
bool discovery_receive(struct discovery *discovery, uint64_t now_ns, struct announcement *ret_announcement,
	struct address *ret_address);
/* The newest that is valid, of this partition and the other role, and of no use: of another key, or with one where we
 * have none, or the reverse; or of a primary that awaits nobody. Each asked for once. *ret_why says which: a constant
 * text, to follow "it ...". False: none since. */
bool discovery_take_useless(struct discovery *discovery, struct announcement *ret_announcement,
	struct address *ret_address, const char **ret_why);
/* Adds where it is sent to: "239.255.84.82:47082 (lo, eth0)". */
void discovery_describe(const struct discovery *discovery, struct text *out);

struct discovery_counts {
	uint64_t read;    /* datagrams */
	uint64_t glanced; /* of them dropped after a look at their first bytes */
	uint64_t skipped; /* beyond the budgets */
	uint64_t dropped; /* looked at and dropped, for whatever reason */
};
struct discovery_counts discovery_counts(const struct discovery *discovery);

#endif
