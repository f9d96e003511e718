/* Where a peer is: an IPv4 or IPv6 address and a port. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "net/senders.h"

enum {
	ADDRESS_RAW_BYTES = 32,
	ADDRESS_TEXT_BYTES = 80, /* "[2001:db8::1%eth0]:4711", terminated */
	ADDRESS_HOST_MAX = 255,  /* bytes of a host's name */
	ADDRESS_PORT = 47082,    /* what a primary listens on, and discovery uses, unless told otherwise */
};

/* A sockaddr_in or sockaddr_in6. Zeroed is no address. */
struct address {
	_Alignas(8) unsigned char raw[ADDRESS_RAW_BYTES];
	uint32_t raw_bytes;
};

/* "HOST:PORT", "HOST" (then port), "[IPv6]:PORT", ":PORT" (this machine). Asks the resolver when HOST is a name, and so
 * may block for seconds; of several addresses the first, IPv4 before IPv6. EINVAL: not of that form; EIO: no such
 * host. */
troupe_status address_parse(const char *text, uint16_t port, struct address *ret_address, struct troupe_error *error);
/* Likewise for listening: "*" and "*:PORT" are all interfaces, "" and ":PORT" are loopback, port 0 lets the system
 * choose. */
troupe_status address_parse_listen(
	const char *text, uint16_t port, struct address *ret_address, struct troupe_error *error);
/* "10.0.0.3:4711", "[::1]:4711". */
void address_text(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES]);
/* "10.0.0.3", "::1". */
void address_host_text(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES]);
/* All addresses of this machine: what "*" is. */
bool address_is_wildcard(const struct address *address);
/* Of this machine alone; the wildcard is not. */
bool address_is_loopback(const struct address *address);
bool address_same_host(const struct address *a, const struct address *b);
/* For sharing something out among senders. Of IPv4 a host is an address and a network 256 of them. Of IPv6 a host is a
 * /64, because one machine can use all addresses of it, and a network is a /48. */
struct sender address_sender(const struct address *address);
uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);

#endif
