/* Numbers only, and localhost: the address to listen on is one of this machine, and another name could change its
 * meaning between two runs. */
#include "gateway/web/place.h"

#include "base/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct sockaddr_in place_v4_of(const struct web_place *place)
{
	struct sockaddr_in v4;
	memcpy(&v4, &place->raw, sizeof v4);
	return v4;
}

static struct sockaddr_in6 place_v6_of(const struct web_place *place)
{
	struct sockaddr_in6 v6;
	memcpy(&v6, &place->raw, sizeof v6);
	return v6;
}

static bool place_is_v6(const struct web_place *place)
{
	return place->raw.ss_family == AF_INET6;
}

static struct web_place place_make(const void *raw, size_t bytes)
{
	struct web_place place = {.raw_bytes = (socklen_t)bytes};
	memcpy(&place.raw, raw, bytes);
	return place;
}

troupe_status place_parse(const char *address, uint16_t port, struct web_place *ret_place, struct troupe_error *error)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	char text[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	if (address && strcmp(address, "localhost") != 0)
		(void)snprintf(text, sizeof text, "%s", !strcmp(address, "*") ? "0.0.0.0" : address);
	size_t count = strlen(text);
	bool enclosed = *text == '[' && text[count - 1] == ']';
	if (enclosed)
		text[count - 1] = '\0';
	if (!enclosed && inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		*ret_place = place_make(&v4, sizeof v4);
	else if (inet_pton(AF_INET6, text + enclosed, &v6.sin6_addr) == 1)
		*ret_place = place_make(&v6, sizeof v6);
	else
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': expected an address of this machine such as 192.168.1.5 or ::1, localhost, "
			"or *",
			address);
	return TROUPE_OK;
}

void place_set_port(struct web_place *place, uint16_t port)
{
	struct sockaddr_in v4 = place_v4_of(place);
	struct sockaddr_in6 v6 = place_v6_of(place);
	v4.sin_port = v6.sin6_port = htons(port);
	*place = place_is_v6(place) ? place_make(&v6, sizeof v6) : place_make(&v4, sizeof v4);
}

uint16_t place_port(const struct web_place *place)
{
	return ntohs(place_is_v6(place) ? place_v6_of(place).sin6_port : place_v4_of(place).sin_port);
}

bool place_is_local(const struct web_place *place)
{
	struct sockaddr_in6 v6 = place_v6_of(place);
	return place_is_v6(place) ? IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)
				  : ntohl(place_v4_of(place).sin_addr.s_addr) >> 24 == 127;
}

bool place_is_all(const struct web_place *place)
{
	struct sockaddr_in6 v6 = place_v6_of(place);
	return place_is_v6(place) ? IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)
				  : place_v4_of(place).sin_addr.s_addr == htonl(INADDR_ANY);
}

void place_host_text(const struct web_place *place, char ret_text[PLACE_TEXT_BYTES])
{
	struct sockaddr_in v4 = place_v4_of(place);
	struct sockaddr_in6 v6 = place_v6_of(place);
	const void *address = place_is_v6(place) ? (const void *)&v6.sin6_addr : &v4.sin_addr;
	inet_ntop(place_is_v6(place) ? AF_INET6 : AF_INET, address, ret_text, PLACE_TEXT_BYTES);
}

void place_text(const struct web_place *place, char ret_text[PLACE_TEXT_BYTES])
{
	char host[PLACE_TEXT_BYTES];
	place_host_text(place, host);
	host_port_text(host, place_port(place), ret_text, PLACE_TEXT_BYTES);
}
