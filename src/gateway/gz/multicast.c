/* The socket is bound to the port of all addresses, not to the group, because relays send to it directly. It shares the
 * port with all other processes of the machine that speak gz-transport; each gets a copy of what is sent to the group.
 *
 * The largest receive buffer that the system allows is asked for: a simulator with thousands of topics advertises all
 * of them each second. */
#include "gateway/gz/multicast.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
enum { MULTICAST_RECEIVE_BYTES = 1 << 21, OWN_MAX = 256, DROPS_MAX = 256 };

struct multicast {
	int fd;
	bool local;
	uint32_t group;
	uint16_t port;
	uint32_t relays[MULTICAST_RELAYS_MAX], relay_count;
	uint32_t own[OWN_MAX], own_count; /* addresses of this machine */
	uint64_t own_ns;                  /* when they were asked for; 0: never */
	uint64_t dropped;
	uint32_t next, count; /* of the batch */
	struct mmsghdr headers[MULTICAST_BATCH];
	struct iovec parts[MULTICAST_BATCH];
	struct sockaddr_in from[MULTICAST_BATCH];
	char bytes[MULTICAST_BATCH][MULTICAST_BYTES_MAX];
};

bool multicast_parse_address(const char *text, uint32_t *ret_address)
{
	struct in_addr address;
	if (inet_pton(AF_INET, text, &address) != 1)
		return false;
	*ret_address = ntohl(address.s_addr);
	return true;
}

static bool multicast_is_loopback(uint32_t address)
{
	return address >> 24 == 127;
}

static struct sockaddr_in multicast_place(uint32_t address, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
}

static troupe_status multicast_open_socket(
	struct multicast *multicast, const struct multicast_options *options, struct troupe_error *error)
{
	struct sockaddr_in any = multicast_place(INADDR_ANY, options->port);
	struct ip_mreqn member = {
		.imr_multiaddr.s_addr = htonl(options->group), .imr_address.s_addr = htonl(options->address)};
	int on = 1, room = MULTICAST_RECEIVE_BYTES;
	char text[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, &member.imr_address, text, sizeof text);
	multicast->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (multicast->fd < 0 || setsockopt(multicast->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
		setsockopt(multicast->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) ||
		setsockopt(multicast->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &on, sizeof on) ||
		bind(multicast->fd, (struct sockaddr *)&any, sizeof any))
		return fail(error, TROUPE_EIO, "gz-transport: no socket for discovery on port %u: %s", options->port,
			strerror(errno));
	if (setsockopt(multicast->fd, IPPROTO_IP, IP_MULTICAST_IF, &member, sizeof member) ||
		setsockopt(multicast->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member))
		return fail(error, TROUPE_EIO,
			"gz-transport: no multicast on the interface with address %s: %s: expected an IPv4 address of "
			"this machine",
			text, strerror(errno));
	(void)setsockopt(multicast->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	return TROUPE_OK;
}

static void multicast_set_up_batch(struct multicast *multicast)
{
	for (uint32_t i = 0; i < MULTICAST_BATCH; i++) {
		multicast->parts[i] = (struct iovec){multicast->bytes[i], sizeof multicast->bytes[i]};
		multicast->headers[i].msg_hdr = (struct msghdr){.msg_name = &multicast->from[i],
			.msg_namelen = sizeof multicast->from[i],
			.msg_iov = &multicast->parts[i],
			.msg_iovlen = 1};
	}
}

troupe_status multicast_create(
	const struct multicast_options *options, struct multicast **ret_multicast, struct troupe_error *error)
{
	struct multicast *multicast = mem_alloc(sizeof *multicast);
	multicast->fd = -1;
	multicast->local = multicast_is_loopback(options->address);
	multicast->group = options->group;
	multicast->port = options->port;
	multicast_set_up_batch(multicast);
	for (uint32_t i = 0; i < options->relay_count; i++)
		multicast_add_relay(multicast, options->relays[i]);
	troupe_status status = multicast_open_socket(multicast, options, error);
	if (status)
		multicast_destroy(multicast);
	else
		*ret_multicast = multicast;
	return status;
}

void multicast_destroy(struct multicast *multicast)
{
	if (!multicast)
		return;
	if (multicast->fd >= 0)
		close(multicast->fd);
	free(multicast);
}

int multicast_fd(const struct multicast *multicast)
{
	return multicast->fd;
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static void multicast_send_to(struct multicast *multicast, uint32_t address, const void *bytes, size_t count)
{
	struct sockaddr_in to = multicast_place(address, multicast->port);
	(void)AGAIN(sendto(multicast->fd, bytes, count, 0, (struct sockaddr *)&to, sizeof to));
}

void multicast_send(struct multicast *multicast, const void *bytes, size_t count)
{
	multicast_send_to(multicast, multicast->group, bytes, count);
}

void multicast_send_relays(struct multicast *multicast, const void *bytes, size_t count)
{
	for (uint32_t i = 0; i < multicast->relay_count; i++)
		multicast_send_to(multicast, multicast->relays[i], bytes, count);
}

bool multicast_has_relays(const struct multicast *multicast)
{
	return multicast->relay_count > 0;
}

void multicast_add_relay(struct multicast *multicast, uint32_t address)
{
	for (uint32_t i = 0; i < multicast->relay_count; i++)
		if (multicast->relays[i] == address)
			return;
	if (multicast->relay_count < MULTICAST_RELAYS_MAX)
		multicast->relays[multicast->relay_count++] = address;
}

/* --- receiving ---------------------------------------------------------------------------------------------------- */

static void multicast_ask_own(struct multicast *multicast)
{
	struct ifaddrs *all = NULL;
	if (getifaddrs(&all))
		return;
	multicast->own_count = 0;
	for (const struct ifaddrs *at = all; at && multicast->own_count < OWN_MAX; at = at->ifa_next) {
		struct sockaddr_in v4;
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&v4, at->ifa_addr, sizeof v4);
		multicast->own[multicast->own_count++] = ntohl(v4.sin_addr.s_addr);
	}
	freeifaddrs(all);
}

static bool multicast_has_own(const struct multicast *multicast, uint32_t address)
{
	for (uint32_t i = 0; i < multicast->own_count; i++)
		if (multicast->own[i] == address)
			return true;
	return false;
}

bool multicast_is_own(struct multicast *multicast, uint32_t address)
{
	if (multicast_is_loopback(address) || multicast_has_own(multicast, address))
		return true;
	uint64_t now_ns = clock_now_ns();
	if (multicast->own_ns && now_ns < multicast->own_ns + SECOND_NS)
		return false;
	multicast->own_ns = now_ns;
	multicast_ask_own(multicast);
	return multicast_has_own(multicast, address);
}

static bool multicast_read_batch(struct multicast *multicast)
{
	for (uint32_t i = 0; i < MULTICAST_BATCH; i++)
		multicast->headers[i].msg_hdr.msg_namelen = sizeof multicast->from[i];
	int count = AGAIN(recvmmsg(multicast->fd, multicast->headers, MULTICAST_BATCH, MSG_DONTWAIT, NULL));
	multicast->next = 0;
	multicast->count = count > 0 ? (uint32_t)count : 0;
	return count > 0;
}

const char *multicast_receive(struct multicast *multicast, size_t *ret_count, uint32_t *ret_from)
{
	for (uint32_t drops = 0; drops < DROPS_MAX; drops++) { /* so that a flood of these keeps nothing else waiting */
		if (multicast->next == multicast->count && !multicast_read_batch(multicast))
			break;
		uint32_t i = multicast->next++;
		uint32_t from = ntohl(multicast->from[i].sin_addr.s_addr);
		if (multicast->headers[i].msg_hdr.msg_flags & MSG_TRUNC ||
			(multicast->local && !multicast_is_own(multicast, from))) {
			multicast->dropped++;
			continue;
		}
		*ret_count = multicast->headers[i].msg_len;
		*ret_from = from;
		return multicast->bytes[i];
	}
	return NULL;
}

uint64_t multicast_dropped(const struct multicast *multicast)
{
	return multicast->dropped;
}
