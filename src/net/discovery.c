/* One socket, bound to the group's address, so that nothing else reaches it, and a member on each interface; what is
 * sent is sent on each in turn. Loopback is among them although Linux does not call it able to multicast: it is how
 * processes of one machine find each other when there is no network.
 *
 * Authenticity is checked before anything else is looked at; of what is not authentic no more is kept than what
 * discovery_take_foreign() is there for. */
#include "net/discovery.h"

#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP 0xefff5452u /* 239.255.84.82: of the block for one site's own use */
#define SECOND_NS UINT64_C(1000000000)
enum { PER_SECOND = 1000 };

struct foreign {
	const char *why; /* NULL: none */
	struct announcement announcement;
	struct address address;
};

struct discovery {
	int fd;
	struct ip_mreqn interfaces[DISCOVERY_INTERFACES_MAX];
	uint32_t interface_count;
	uint16_t port;
	bool has_key;
	struct key key;
	char partition[HELLO_TEXT_MAX + 1];
	struct text out;
	/* One look is earned in each interval, and DISCOVERY_BURST_MAX can be saved up; when all are spent, so many are
	 * waited for, or a flood would wake us for each. */
	uint64_t interval_ns, spent_ns, pause_until_ns;
	uint64_t dropped;
	struct foreign foreign[2]; /* by role: secondary, primary */
};

/* --- interfaces --------------------------------------------------------------------------------------------------- */

static struct in_addr address_of(const struct ifaddrs *at)
{
	struct sockaddr_in v4;
	memcpy(&v4, at->ifa_addr, sizeof v4);
	return v4.sin_addr;
}

static bool is_meant(const struct ifaddrs *at, const struct discovery_options *options)
{
	char text[INET_ADDRSTRLEN];
	bool loopback = at->ifa_flags & IFF_LOOPBACK;
	if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP))
		return false;
	if (options->loopback_only && !loopback)
		return false;
	if (!options->interface)
		return loopback || at->ifa_flags & IFF_MULTICAST;
	struct in_addr address = address_of(at);
	inet_ntop(AF_INET, &address, text, sizeof text);
	return !strcmp(options->interface, at->ifa_name) || !strcmp(options->interface, text);
}

static bool is_there(const struct discovery *discovery, int index)
{
	for (uint32_t i = 0; i < discovery->interface_count; i++)
		if (discovery->interfaces[i].imr_ifindex == index)
			return true;
	return false;
}

static void add_interface(struct discovery *discovery, const struct ifaddrs *at)
{
	int index = (int)if_nametoindex(at->ifa_name);
	if (!index || is_there(discovery, index) || discovery->interface_count == DISCOVERY_INTERFACES_MAX)
		return;
	struct ip_mreqn member = {.imr_multiaddr.s_addr = htonl(GROUP), .imr_ifindex = index};
	member.imr_address = address_of(at);
	if (!setsockopt(discovery->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member))
		discovery->interfaces[discovery->interface_count++] = member;
}

static troupe_status join(
	struct discovery *discovery, const struct discovery_options *options, struct troupe_error *error)
{
	struct ifaddrs *all = NULL;
	uint32_t meant = 0;
	if (getifaddrs(&all))
		return fail(error, TROUPE_EIO, "cannot list network interfaces: %s", strerror(errno));
	errno = 0;
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		if (!is_meant(at, options))
			continue;
		meant++;
		add_interface(discovery, at);
	}
	int code = errno;
	freeifaddrs(all);
	if (discovery->interface_count)
		return TROUPE_OK;
	if (options->interface && !meant)
		return fail(error, TROUPE_EINVAL,
			"'%.100s' is no network interface that is up and has an IPv4 address%s", options->interface,
			options->loopback_only ? ", and loopback" : "");
	return fail(error, TROUPE_EIO, "no interface takes multicast (%s): name the primary's address instead",
		meant ? strerror(code) : "none is up");
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status open_socket(struct discovery *discovery, struct troupe_error *error)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(discovery->port)};
	int on = 1, off = 0;
	here.sin_addr.s_addr = htonl(GROUP);
	discovery->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (discovery->fd < 0 || setsockopt(discovery->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
		setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off) ||
		setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &on, sizeof on) ||
		setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_TTL, &on, sizeof on) ||
		bind(discovery->fd, (struct sockaddr *)&here, sizeof here))
		return fail(error, TROUPE_EIO, "no multicast on port %u: %s: name the primary's address instead",
			discovery->port, strerror(errno));
	return TROUPE_OK;
}

troupe_status discovery_create(
	const struct discovery_options *options, struct discovery **ret_discovery, struct troupe_error *error)
{
	if (options->key && !key_usable())
		return fail(error, TROUPE_EINVAL, "this build has no TLS, and so takes no key");
	struct discovery *discovery = mem_alloc(sizeof *discovery);
	discovery->fd = -1;
	discovery->port = options->port ? options->port : ADDRESS_PORT;
	discovery->has_key = options->key != NULL;
	if (options->key)
		discovery->key = *options->key;
	if (options->partition)
		strncpy(discovery->partition, options->partition, HELLO_TEXT_MAX);
	discovery->interval_ns = SECOND_NS / (options->per_second ? options->per_second : PER_SECOND);
	troupe_status status = open_socket(discovery, error);
	if (!status)
		status = join(discovery, options, error);
	if (status)
		discovery_destroy(discovery);
	else
		*ret_discovery = discovery;
	return status;
}

void discovery_destroy(struct discovery *discovery)
{
	if (!discovery)
		return;
	if (discovery->fd >= 0)
		close(discovery->fd);
	text_fini(&discovery->out);
	key_forget(&discovery->key);
	free(discovery);
}

int discovery_fd(const struct discovery *discovery)
{
	return discovery->fd;
}

uint64_t discovery_dropped(const struct discovery *discovery)
{
	return discovery->dropped;
}

void discovery_describe(const struct discovery *discovery, struct text *out)
{
	struct in_addr group = {.s_addr = htonl(GROUP)};
	char text[INET_ADDRSTRLEN], name[IF_NAMESIZE];
	inet_ntop(AF_INET, &group, text, sizeof text);
	text_add(out, "%s:%u (", text, discovery->port);
	for (uint32_t i = 0; i < discovery->interface_count; i++)
		text_add(out, "%s%s", i ? ", " : "",
			if_indextoname((unsigned)discovery->interfaces[i].imr_ifindex, name) ? name : "?");
	text_add(out, ")");
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static bool send_on(struct discovery *discovery, const struct ip_mreqn *interface)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(discovery->port)};
	to.sin_addr = interface->imr_multiaddr;
	if (setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_IF, interface, sizeof *interface))
		return false;
	return sendto(discovery->fd, discovery->out.at, discovery->out.count, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&to, sizeof to) == (ssize_t)discovery->out.count;
}

troupe_status discovery_send(
	struct discovery *discovery, const struct announcement *announcement, struct troupe_error *error)
{
	struct announcement full = *announcement;
	memcpy(full.partition, discovery->partition, sizeof full.partition);
	discovery->out.count = 0;
	announcement_encode(&full, &discovery->out);
	if (discovery->has_key) {
		unsigned char mac[KEY_MAC_BYTES];
		_Static_assert((int)KEY_MAC_BYTES == (int)ANNOUNCEMENT_MAC_BYTES, "room is left for a MAC");
		tls_mac(&discovery->key, discovery->out.at, discovery->out.count, mac);
		text_add_bytes(&discovery->out, (const char *)mac, sizeof mac);
	}
	uint32_t sent = 0;
	for (uint32_t i = 0; i < discovery->interface_count; i++)
		sent += send_on(discovery, &discovery->interfaces[i]);
	if (!sent)
		return fail(error, TROUPE_EIO, "cannot send multicast: %s", strerror(errno));
	return TROUPE_OK;
}

/* --- receiving ---------------------------------------------------------------------------------------------------- */

uint64_t discovery_poll_at_ns(const struct discovery *discovery, uint64_t now_ns)
{
	return now_ns < discovery->pause_until_ns ? discovery->pause_until_ns : 0;
}

/* Whether one more may be looked at. */
static bool spend_look(struct discovery *discovery, uint64_t now_ns)
{
	uint64_t burst_ns = DISCOVERY_BURST_MAX * discovery->interval_ns;
	uint64_t saved_up_ns = now_ns > burst_ns ? now_ns - burst_ns : 0;
	if (now_ns < discovery->pause_until_ns)
		return false;
	discovery->spent_ns = MAX(discovery->spent_ns, saved_up_ns);
	if (discovery->spent_ns + discovery->interval_ns > now_ns) {
		discovery->pause_until_ns = now_ns + burst_ns;
		return false;
	}
	discovery->spent_ns += discovery->interval_ns;
	return true;
}

static bool read_one(const struct discovery *discovery, const char *bytes, size_t count, struct announcement *ret)
{
	if (discovery->has_key) {
		if (count < KEY_MAC_BYTES)
			return false;
		count -= KEY_MAC_BYTES;
		if (!tls_mac_is(&discovery->key, bytes, count, (const unsigned char *)bytes + count))
			return false;
	}
	return !announcement_decode(bytes, count, ret, NULL) && !strcmp(ret->partition, discovery->partition);
}

/* A datagram that could not be read: it is valid if its MAC is taken away, or if it is not thought to have one. */
static const char *why_foreign(
	const struct discovery *discovery, const char *bytes, size_t count, struct announcement *ret)
{
	bool keyless = !announcement_decode(bytes, count, ret, NULL);
	if (!keyless && (count < KEY_MAC_BYTES || announcement_decode(bytes, count - KEY_MAC_BYTES, ret, NULL)))
		return NULL;
	if (ret->kind != ANNOUNCE_HERE || strcmp(ret->partition, discovery->partition) != 0)
		return NULL;
	if (discovery->has_key)
		return keyless ? "has no key, and we have one" : "has another key than ours";
	return keyless ? NULL : "has a key, and we have none";
}

static void place(struct address *address, const struct sockaddr_in *from, uint16_t port)
{
	*address = (struct address){.raw_bytes = sizeof *from};
	memcpy(address->raw, from, sizeof *from);
	address_set_port(address, port);
}

static void drop(struct discovery *discovery, const char *bytes, size_t count, const struct sockaddr_in *from)
{
	struct foreign foreign;
	discovery->dropped++;
	foreign.why = why_foreign(discovery, bytes, count, &foreign.announcement);
	if (!foreign.why)
		return;
	place(&foreign.address, from, foreign.announcement.port);
	discovery->foreign[foreign.announcement.role == HELLO_PRIMARY] = foreign;
}

bool discovery_take_foreign(struct discovery *discovery, enum hello_role role, struct announcement *ret_announcement,
	struct address *ret_address, const char **ret_why)
{
	struct foreign *foreign = &discovery->foreign[role == HELLO_PRIMARY];
	if (!foreign->why)
		return false;
	*ret_announcement = foreign->announcement;
	*ret_address = foreign->address;
	*ret_why = foreign->why;
	foreign->why = NULL;
	return true;
}

bool discovery_receive(struct discovery *discovery, uint64_t now_ns, struct announcement *ret_announcement,
	struct address *ret_address)
{
	while (spend_look(discovery, now_ns)) {
		char bytes[ANNOUNCEMENT_BYTES_MAX];
		struct sockaddr_in from;
		socklen_t from_bytes = sizeof from;
		ssize_t count = recvfrom(discovery->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC,
			(struct sockaddr *)&from, &from_bytes);
		if (count < 0) {
			discovery->spent_ns -= discovery->interval_ns;
			return false;
		}
		if (count > (ssize_t)sizeof bytes || from_bytes != sizeof from) {
			discovery->dropped++;
		} else if (!read_one(discovery, bytes, (size_t)count, ret_announcement)) {
			drop(discovery, bytes, (size_t)count, &from);
		} else {
			place(ret_address, &from, ret_announcement->port);
			return true;
		}
	}
	return false;
}
