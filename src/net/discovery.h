/* Finding each other on a LAN: announcements as IPv4 multicast datagrams, with a MAC under the key when there is one
 * (what is not authentic, not of this partition or not valid is dropped). They lead a secondary to a
 * primary's address and say no more: what an attacker could do by replaying one is to have a connection tried, in
 * which TLS then fails. They never end a run. Never blocks. One thread at a time.
 *
 * What is dropped because its key is not ours is remembered, one for each role, for people who wonder why two do not
 * meet. It is not authentic, so nothing but words may come of it.
 *
 * Bounds: a datagram that is too long is dropped; in one call so many are looked at, and in a second so many, whoever
 * sends them: in a flood discovery_poll_at_ns() is in the future, and the kernel drops the rest. */
#ifndef NET_DISCOVERY_H
#define NET_DISCOVERY_H

#include "net/address.h"
#include "net/hello.h"
#include "net/key.h"

enum { DISCOVERY_INTERFACES_MAX = 16, DISCOVERY_BURST_MAX = 64 };

struct discovery_options {
	const char *interface; /* name ("eth0") or IPv4 address of one; NULL: all that can multicast, and loopback */
	bool loopback_only;    /* without a key, unless told to be insecure; interface is then to be NULL or loopback */
	uint16_t port;         /* 0: ADDRESS_PORT */
	const struct key *key; /* NULL: none. Copied */
	const char *partition; /* copied */
	uint32_t per_second;   /* datagrams looked at; 0: 1000 */
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
/* On all its interfaces. EIO when it went out on none. The partition is filled in. */
troupe_status discovery_send(
	struct discovery *discovery, const struct announcement *announcement, struct troupe_error *error);
/* The next that is valid, authentic and of this partition (one's own come, too), and, with the announced port, where
 * its sender is. False: none now. */
bool discovery_receive(struct discovery *discovery, uint64_t now_ns, struct announcement *ret_announcement,
	struct address *ret_address);
/* The newest that is valid, of this partition and of somebody who is here, but of another key, or with one where we
 * have none, or the reverse; each asked for once. *ret_why says which of these: a constant text. False: none since. */
bool discovery_take_foreign(struct discovery *discovery, enum hello_role role, struct announcement *ret_announcement,
	struct address *ret_address, const char **ret_why);
/* Adds where it is sent to: "239.255.84.82:47082 (lo, eth0)". */
void discovery_describe(const struct discovery *discovery, struct text *out);
/* Dropped so far, for whatever reason. */
uint64_t discovery_dropped(const struct discovery *discovery);

#endif
