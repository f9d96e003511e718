/* Where a peer is, or a socket listens: an IPv4 or IPv6 address and a port. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "base/base.h"

enum {
	ADDRESS_RAW_BYTES = 32,
	ADDRESS_TEXT_BYTES = 80, /* "[2001:db8::1%eth0]:4711", terminated */
	ADDRESS_PORT = 47082,    /* what a primary listens on, and discovery uses, unless told otherwise */
};

/* A sockaddr_in or sockaddr_in6. Zeroed is no address. */
struct address {
	_Alignas(8) unsigned char raw[ADDRESS_RAW_BYTES];
	uint32_t raw_bytes;
};

/* The source of a datagram or connection: the host, and the network around it. */
struct sender {
	uint64_t host, net;
};

/* The forms of base/host_port.h. Without a port: the argument port; without a host: this machine. Asks the resolver
 * when HOST is a name, and so may block for seconds. When HOST has several addresses, the first one is taken, IPv4
 * before IPv6. EINVAL: the text has none of these forms; EIO: there is no such host. */
troupe_status address_parse(const char *text, uint16_t port, struct address *ret_address, struct troupe_error *error);
/* The same for a listening address: "*" and "*:PORT" are all interfaces, "" and ":PORT" are loopback, and port 0 lets
 * the system choose. */
troupe_status address_parse_listen(
	const char *text, uint16_t port, struct address *ret_address, struct troupe_error *error);
/* The same for an address of this machine alone, which asks no resolver: a number of IPv4 or IPv6, with or without
 * brackets; "*"; NULL and "localhost": 127.0.0.1. EINVAL. */
troupe_status address_parse_local(
	const char *host, uint16_t port, struct address *ret_address, struct troupe_error *error);
/* "10.0.0.3:4711", "[::1]:4711". */
void address_text(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES]);
/* "10.0.0.3", "::1". */
void address_host_text(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES]);
/* Whether it is "*": all addresses of this machine. */
bool address_is_wildcard(const struct address *address);
/* Whether only this machine can reach it. False for the wildcard. */
bool address_is_loopback(const struct address *address);
bool address_same_host(const struct address *a, const struct address *b);
/* The sender to which a shared resource is charged. IPv4: a host is one address, a network is 256 addresses. IPv6: a
 * host is a /64, because one machine can use all addresses of a /64; a network is a /48. */
struct sender address_sender(const struct address *address);
uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);

/* A TCP socket that listens there and does not block; *address gets the port that the system chose. -1: errno says why.
 */
int address_listen(struct address *address, int backlog);
/* The next connection of such a socket, which does not block either and sends bytes at once (TCP_NODELAY), and where it
 * comes from. -1: errno says why. */
int address_accept(int listener, struct address *ret_from);

#endif
