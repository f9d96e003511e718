/* Users write an address in several forms, and IPv4 and IPv6 addresses differ in layout. All other files see one type,
 * struct address: the bytes of a sockaddr_in or sockaddr_in6. The bytes are copied to a variable of the right type
 * before a field is read or written. All queries accept a zeroed address, which is neither kind. */
#include "net/address.h"

#include "base/host_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(sizeof(struct sockaddr_in6) <= ADDRESS_RAW_BYTES, "both kinds of address fit");

static const struct sockaddr *address_raw_of(const struct address *address)
{
	return (const struct sockaddr *)(const void *)address->raw;
}

static struct sockaddr_in address_v4_of(const struct address *address)
{
	struct sockaddr_in v4;
	memcpy(&v4, address->raw, sizeof v4);
	return v4;
}

static struct sockaddr_in6 address_v6_of(const struct address *address)
{
	struct sockaddr_in6 v6;
	memcpy(&v6, address->raw, sizeof v6);
	return v6;
}

static bool address_is_v4(const struct address *address)
{
	return address->raw_bytes && address_raw_of(address)->sa_family == AF_INET;
}

static bool address_is_v6(const struct address *address)
{
	return address->raw_bytes && address_raw_of(address)->sa_family == AF_INET6;
}

static troupe_status address_set_raw(struct address *ret, const void *raw, size_t bytes)
{
	*ret = (struct address){.raw_bytes = (uint32_t)bytes};
	memcpy(ret->raw, raw, bytes);
	return TROUPE_OK;
}

static void address_set_v4(struct address *ret, uint32_t host, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host)};
	address_set_raw(ret, &v4, sizeof v4);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* port: if the text has none. An empty text is no host and no port. */
static troupe_status address_parse_parts(
	const char *text, uint16_t port, struct host_port *ret, struct troupe_error *error)
{
	*ret = (struct host_port){.port = port};
	if (*text && !host_port_read(text, ret))
		return fail(error, TROUPE_EINVAL, "'%.300s' is not an address: expected HOST, " HOST_PORT_FORMS, text);
	if (!ret->has_port)
		ret->port = port;
	return TROUPE_OK;
}

static troupe_status address_resolve(const struct host_port *parts, struct address *ret, struct troupe_error *error)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *all = NULL, *best;
	int code = getaddrinfo(parts->host, NULL, &hints, &all);
	if (code)
		return fail(error, TROUPE_EIO, "cannot find host '%s': %s", parts->host,
			code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
	for (best = all; best && best->ai_family != AF_INET; best = best->ai_next)
		;
	best = best ? best : all;
	troupe_status status = TROUPE_OK;
	if (best->ai_addrlen > ADDRESS_RAW_BYTES)
		status = fail(error, TROUPE_EIO, "host '%s' has an address of an unknown kind", parts->host);
	else
		address_set_raw(ret, best->ai_addr, best->ai_addrlen);
	freeaddrinfo(all);
	if (!status)
		address_set_port(ret, parts->port);
	return status;
}

troupe_status address_parse(const char *text, uint16_t port, struct address *ret_address, struct troupe_error *error)
{
	struct host_port parts;
	troupe_status status = address_parse_parts(text, port, &parts, error);
	if (status)
		return status;
	if (!parts.port)
		return fail(error, TROUPE_EINVAL, "'%.300s': port 0: expected 1 to 65535", text);
	if (*parts.host)
		return address_resolve(&parts, ret_address, error);
	address_set_v4(ret_address, INADDR_LOOPBACK, parts.port);
	return TROUPE_OK;
}

troupe_status address_parse_listen(
	const char *text, uint16_t port, struct address *ret_address, struct troupe_error *error)
{
	struct host_port parts;
	troupe_status status = address_parse_parts(text, port, &parts, error);
	if (status)
		return status;
	bool all = !strcmp(parts.host, "*");
	if (*parts.host && !all)
		return address_resolve(&parts, ret_address, error);
	address_set_v4(ret_address, all ? INADDR_ANY : INADDR_LOOPBACK, parts.port);
	return TROUPE_OK;
}

troupe_status address_parse_local(
	const char *host, uint16_t port, struct address *ret_address, struct troupe_error *error)
{
	struct in_addr v4 = {htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	char text[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	if (host && strcmp(host, "localhost") != 0)
		(void)snprintf(text, sizeof text, "%s", !strcmp(host, "*") ? "0.0.0.0" : host);
	size_t count = strlen(text);
	bool enclosed = *text == '[' && text[count - 1] == ']';
	if (enclosed)
		text[count - 1] = '\0';
	if (!enclosed && inet_pton(AF_INET, text, &v4) == 1)
		address_set_v4(ret_address, ntohl(v4.s_addr), port);
	else if (inet_pton(AF_INET6, text + enclosed, &v6.sin6_addr) == 1)
		address_set_raw(ret_address, &v6, sizeof v6);
	else
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': expected an address of this machine such as 192.168.1.5 or ::1, localhost, "
			"or *",
			host);
	return TROUPE_OK;
}

void address_host_text(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES])
{
	char host[INET6_ADDRSTRLEN], zone[IF_NAMESIZE];
	if (address_is_v4(address)) {
		struct sockaddr_in v4 = address_v4_of(address);
		inet_ntop(AF_INET, &v4.sin_addr, ret_text, ADDRESS_TEXT_BYTES);
	} else if (address_is_v6(address)) {
		struct sockaddr_in6 v6 = address_v6_of(address);
		bool zoned = v6.sin6_scope_id && if_indextoname(v6.sin6_scope_id, zone);
		inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
		snprintf(ret_text, ADDRESS_TEXT_BYTES, "%s%s%s", host, zoned ? "%" : "", zoned ? zone : "");
	} else {
		snprintf(ret_text, ADDRESS_TEXT_BYTES, "nowhere");
	}
}

void address_text(const struct address *address, char ret_text[ADDRESS_TEXT_BYTES])
{
	char host[ADDRESS_TEXT_BYTES];
	address_host_text(address, host);
	if (address_is_v4(address) || address_is_v6(address))
		host_port_text(host, address_port(address), ret_text, ADDRESS_TEXT_BYTES);
	else
		snprintf(ret_text, ADDRESS_TEXT_BYTES, "%s", host);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

bool address_is_wildcard(const struct address *address)
{
	struct sockaddr_in6 v6 = address_is_v6(address) ? address_v6_of(address) : (struct sockaddr_in6){0};
	return address_is_v4(address) ? address_v4_of(address).sin_addr.s_addr == INADDR_ANY
				      : address_is_v6(address) && IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

bool address_is_loopback(const struct address *address)
{
	if (address_is_v4(address))
		return ntohl(address_v4_of(address).sin_addr.s_addr) >> 24 == 127;
	struct sockaddr_in6 v6 = address_is_v6(address) ? address_v6_of(address) : (struct sockaddr_in6){0};
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool address_same_host(const struct address *a, const struct address *b)
{
	if (address_is_v4(a) && address_is_v4(b))
		return address_v4_of(a).sin_addr.s_addr == address_v4_of(b).sin_addr.s_addr;
	if (!address_is_v6(a) || !address_is_v6(b))
		return false;
	struct sockaddr_in6 one = address_v6_of(a), other = address_v6_of(b);
	return IN6_ARE_ADDR_EQUAL(&one.sin6_addr, &other.sin6_addr);
}

static struct sender address_sender_of_v4(uint32_t host)
{
	return (struct sender){host, host >> 8};
}

struct sender address_sender(const struct address *address)
{
	if (!address_is_v6(address))
		return address_sender_of_v4(address_is_v4(address) ? ntohl(address_v4_of(address).sin_addr.s_addr) : 0);
	struct sockaddr_in6 v6 = address_v6_of(address);
	const unsigned char *bytes = v6.sin6_addr.s6_addr;
	uint64_t host = 0;
	if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return address_sender_of_v4(
			(uint32_t)bytes[12] << 24 | (uint32_t)bytes[13] << 16 | (uint32_t)bytes[14] << 8 | bytes[15]);
	for (int i = 0; i < 8; i++)
		host = host << 8 | bytes[i];
	return (struct sender){host, host >> 16};
}

uint16_t address_port(const struct address *address)
{
	return address_is_v4(address)   ? ntohs(address_v4_of(address).sin_port)
	       : address_is_v6(address) ? ntohs(address_v6_of(address).sin6_port)
					: 0;
}

void address_set_port(struct address *address, uint16_t port)
{
	struct sockaddr_in v4 = address_v4_of(address);
	struct sockaddr_in6 v6 = address_v6_of(address);
	v4.sin_port = v6.sin6_port = htons(port);
	if (address_is_v4(address))
		memcpy(address->raw, &v4, sizeof v4);
	else if (address_is_v6(address))
		memcpy(address->raw, &v6, sizeof v6);
}

/* --- sockets ------------------------------------------------------------------------------------------------------ */

int address_listen(struct address *address, int backlog)
{
	int on = 1, file = socket(address_raw_of(address)->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct address got = {.raw_bytes = 0};
	socklen_t bytes = sizeof got.raw;
	if (file < 0)
		return -1;
	if (!setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) &&
		!bind(file, address_raw_of(address), (socklen_t)address->raw_bytes) && !listen(file, backlog) &&
		!getsockname(file, (struct sockaddr *)(void *)got.raw, &bytes)) {
		got.raw_bytes = bytes;
		*address = got;
		return file;
	}
	int why = errno;
	close(file);
	errno = why;
	return -1;
}

int address_accept(int listener, struct address *ret_from)
{
	*ret_from = (struct address){.raw_bytes = 0};
	socklen_t bytes = sizeof ret_from->raw;
	int file = accept4(listener, (struct sockaddr *)(void *)ret_from->raw, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ret_from->raw_bytes = bytes;
	if (file >= 0) /* else a reply behind other messages waits 40 ms for the peer's delayed acknowledgement */
		(void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	return file;
}
