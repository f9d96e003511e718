/* The UDP sockets of discovery: one for topics, one for services, each with the group of gz-transport. Never blocks.
 * One thread at a time.
 *
 * Local: sends on loopback only, and drops what does not come from an address of this machine. The genuine programs
 * send on the other interfaces of the machine; Linux hands datagrams of a group that any socket of the machine has
 * joined to all sockets bound to the port, so each hears the other although they use different interfaces. The kernel
 * refuses datagrams from outside that claim an address of this machine. */
#ifndef GATEWAY_GZ_MULTICAST_H
#define GATEWAY_GZ_MULTICAST_H

#include "base/base.h"

enum {
	MULTICAST_BATCH = 16,
	MULTICAST_BYTES_MAX = 8192, /* of a datagram; longer ones are dropped */
	MULTICAST_RELAYS_MAX = 16,
};

struct multicast;

struct multicast_options {
	uint32_t group;   /* IPv4, host byte order */
	uint32_t address; /* of the interface to use; in 127/8: local */
	uint16_t port;
	const uint32_t *relays;
	uint32_t relay_count;
};

troupe_status multicast_create(
	const struct multicast_options *options, struct multicast **ret_multicast, struct troupe_error *error);
void multicast_destroy(struct multicast *multicast);
int multicast_fd(const struct multicast *multicast);

/* To the group. What the system does not take is lost: discovery repeats. */
void multicast_send(struct multicast *multicast, const void *bytes, size_t count);
/* To each relay. */
void multicast_send_relays(struct multicast *multicast, const void *bytes, size_t count);
bool multicast_has_relays(const struct multicast *multicast);
/* A relay that made itself known; beyond MULTICAST_RELAYS_MAX none is added. */
void multicast_add_relay(struct multicast *multicast, uint32_t address);
/* The next datagram; the bytes stay valid until the next call. NULL: none now. */
const char *multicast_receive(struct multicast *multicast, size_t *ret_count, uint32_t *ret_from);
/* Datagrams dropped because of their sender or their length. */
uint64_t multicast_dropped(const struct multicast *multicast);

/* Whether this machine has the address now. Asks the system at most once a second. */
bool multicast_is_own(struct multicast *multicast, uint32_t address);

/* "A.B.C.D" in host byte order. */
bool multicast_parse_address(const char *text, uint32_t *ret_address);

#endif
