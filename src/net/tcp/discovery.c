/* One socket, bound to the address of the group, so that no other datagrams reach it, and joined to the group on each
 * interface. An announcement is sent on each interface in turn. Loopback is one of them, although Linux does not mark
 * it as able to multicast: with it, processes of one machine find each other when there is no network.
 *
 * The MAC covers the source address of the datagram, as the checksum of TCP does: otherwise an attacker that hears a
 * live announcement could send it from another address, and lead secondaries there.
 *
 * Floods. A limit of 1000 checks in a second for all senders together kept a genuine peer out for 6 s and more. So
 * datagrams are read as fast as they come, many with one system call. The checks are ordered by cost, and each lets
 * fewer datagrams through: the first bytes (20 ns), the budget of the sender, the MAC (0.9 us). Without a flood none of
 * this has an effect. */
#include "net/tcp/discovery.h"

#include "net/tcp/nonces.h"
#include "net/tcp/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP 0xefff5452u /* 239.255.84.82: in the block for use within one site */
#define SECOND_NS UINT64_C(1000000000)
#define ROUND_PAUSE_NS UINT64_C(1000000)
#define SPACING_NS UINT64_C(10000000) /* between announcements */
enum {
	BATCH = 32,     /* datagrams read by one system call */
	QUIET_MAX = 64, /* a round of at most so many datagrams is no flood */
	DISCOVERY_RECEIVE_BYTES = 1 << 20,
};

struct useless {
	const char *why; /* NULL: none */
	struct announcement announcement;
	struct address address;
};

struct discovery {
	int fd;
	struct ip_mreqn interfaces[DISCOVERY_INTERFACES_MAX];
	uint32_t interface_count;
	uint16_t port;
	enum hello_role role;
	struct tls_mac *mac; /* NULL: no key */
	char partition[HELLO_TEXT_MAX + 1];
	struct text out;
	uint64_t sent_ns; /* 0: never */
	struct nonces nonces;
	struct quota_rate budget;
	uint64_t pause_until_ns;
	uint32_t round, spare[2]; /* read in this round; checks left beyond budgets: not live, live */
	struct discovery_counts counts;
	struct useless useless;
	/* the datagrams that have been read; those before `next` are handled */
	uint32_t next, count;
	struct mmsghdr headers[BATCH];
	struct iovec parts[BATCH];
	struct sockaddr_in from[BATCH];
	char bytes[BATCH][ANNOUNCEMENT_BYTES_MAX];
};

/* --- interfaces --------------------------------------------------------------------------------------------------- */

static struct in_addr discovery_address_of(const struct ifaddrs *at)
{
	struct sockaddr_in v4;
	memcpy(&v4, at->ifa_addr, sizeof v4);
	return v4.sin_addr;
}

static bool discovery_is_meant(const struct ifaddrs *at, const struct discovery_options *options)
{
	char text[INET_ADDRSTRLEN];
	bool loopback = at->ifa_flags & IFF_LOOPBACK;
	if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP))
		return false;
	if (options->loopback_only && !loopback)
		return false;
	if (!options->interface)
		return loopback || at->ifa_flags & IFF_MULTICAST;
	struct in_addr address = discovery_address_of(at);
	inet_ntop(AF_INET, &address, text, sizeof text);
	return !strcmp(options->interface, at->ifa_name) || !strcmp(options->interface, text);
}

static bool discovery_is_there(const struct discovery *discovery, int index)
{
	for (uint32_t i = 0; i < discovery->interface_count; i++)
		if (discovery->interfaces[i].imr_ifindex == index)
			return true;
	return false;
}

static void discovery_add_interface(struct discovery *discovery, const struct ifaddrs *at)
{
	int index = (int)if_nametoindex(at->ifa_name);
	if (!index || discovery_is_there(discovery, index) || discovery->interface_count == DISCOVERY_INTERFACES_MAX)
		return;
	struct ip_mreqn member = {.imr_multiaddr.s_addr = htonl(GROUP), .imr_ifindex = index};
	member.imr_address = discovery_address_of(at);
	if (!setsockopt(discovery->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member))
		discovery->interfaces[discovery->interface_count++] = member;
}

static troupe_status discovery_join(
	struct discovery *discovery, const struct discovery_options *options, struct troupe_error *error)
{
	struct ifaddrs *all = NULL;
	uint32_t meant = 0;
	if (getifaddrs(&all))
		return fail(error, TROUPE_EIO, "cannot list network interfaces: %s", strerror(errno));
	errno = 0;
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		if (!discovery_is_meant(at, options))
			continue;
		meant++;
		discovery_add_interface(discovery, at);
	}
	int code = errno;
	freeifaddrs(all);
	if (discovery->interface_count)
		return TROUPE_OK;
	if (options->interface && !meant)
		return fail(error, TROUPE_EINVAL,
			"'%.100s': no such network interface: expected one that is up and has an IPv4 address%s",
			options->interface, options->loopback_only ? ", on loopback" : "");
	return fail(error, TROUPE_EIO, "no interface allows multicast (%s): give the address of the primary instead",
		meant ? strerror(code) : "none is up");
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status discovery_open_socket(struct discovery *discovery, struct troupe_error *error)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(discovery->port)};
	int on = 1, off = 0, room = DISCOVERY_RECEIVE_BYTES;
	here.sin_addr.s_addr = htonl(GROUP);
	discovery->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (discovery->fd < 0 || setsockopt(discovery->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
		setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off) ||
		setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &on, sizeof on) ||
		setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_TTL, &on, sizeof on) ||
		bind(discovery->fd, (struct sockaddr *)&here, sizeof here))
		return fail(error, TROUPE_EIO, "no multicast on port %u: %s: give the address of the primary instead",
			discovery->port, strerror(errno));
	/* the largest buffer that the system allows: a flood fills the default in two milliseconds */
	(void)setsockopt(discovery->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	return TROUPE_OK;
}

static void discovery_set_up_batch(struct discovery *discovery)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		discovery->parts[i] = (struct iovec){discovery->bytes[i], sizeof discovery->bytes[i]};
		discovery->headers[i].msg_hdr = (struct msghdr){.msg_name = &discovery->from[i],
			.msg_namelen = sizeof discovery->from[i],
			.msg_iov = &discovery->parts[i],
			.msg_iovlen = 1};
	}
}

troupe_status discovery_create(
	const struct discovery_options *options, struct discovery **ret_discovery, struct troupe_error *error)
{
	if (options->key && !key_usable())
		return fail(error, TROUPE_EINVAL, "this build has no TLS, and so cannot use a key");
	uint64_t secrets[2];
	troupe_status status = key_random_bytes(secrets, sizeof secrets, error);
	if (status)
		return status;
	struct discovery *discovery = mem_alloc(sizeof *discovery);
	discovery->fd = -1;
	discovery->role = options->role;
	discovery->port = options->port ? options->port : ADDRESS_PORT;
	discovery->mac = options->key ? tls_mac_create(options->key) : NULL;
	if (options->partition)
		strncpy(discovery->partition, options->partition, HELLO_TEXT_MAX);
	discovery->nonces.share.secret = secrets[0];
	quota_rate_init(&discovery->budget, secrets[1], SECOND_NS / DISCOVERY_PER_SECOND, DISCOVERY_BURST);
	discovery->spare[0] = discovery->spare[1] = DISCOVERY_SPARE;
	discovery_set_up_batch(discovery);
	status = discovery_open_socket(discovery, error);
	if (!status)
		status = discovery_join(discovery, options, error);
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
	tls_mac_destroy(discovery->mac);
	free(discovery);
}

int discovery_fd(const struct discovery *discovery)
{
	return discovery->fd;
}

struct discovery_counts discovery_counts(const struct discovery *discovery)
{
	return discovery->counts;
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

uint64_t discovery_send_at_ns(const struct discovery *discovery)
{
	if (!discovery->sent_ns)
		return 0;
	return discovery->sent_ns + (nonces_echo_is_due(&discovery->nonces) ? SPACING_NS : NONCES_PERIOD_NS);
}

/* Appends the MAC, which covers the address of the interface. */
static bool discovery_send_on(struct discovery *discovery, const struct ip_mreqn *interface)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(discovery->port)};
	struct text *out = &discovery->out;
	size_t count = out->count;
	unsigned char mac[KEY_MAC_BYTES];
	_Static_assert((int)KEY_MAC_BYTES == (int)ANNOUNCEMENT_MAC_BYTES, "room is left for a MAC");
	to.sin_addr = interface->imr_multiaddr;
	if (setsockopt(discovery->fd, IPPROTO_IP, IP_MULTICAST_IF, interface, sizeof *interface))
		return false;
	if (discovery->mac) {
		tls_mac(discovery->mac, out->at, count, &interface->imr_address, sizeof interface->imr_address, mac);
		text_add_bytes(out, (const char *)mac, sizeof mac);
	}
	ssize_t sent = sendto(
		discovery->fd, out->at, out->count, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
	bool whole = sent == (ssize_t)out->count;
	out->count = count;
	return whole;
}

troupe_status discovery_send(struct discovery *discovery, const struct announcement *announcement, uint64_t now_ns,
	struct troupe_error *error)
{
	struct announcement full = *announcement;
	uint64_t random;
	discovery->sent_ns = now_ns;
	troupe_status status = key_random_bytes(&random, sizeof random, error);
	if (status)
		return status;
	full.role = discovery->role;
	full.nonce = nonces_current(&discovery->nonces, random, now_ns);
	nonces_echo(&discovery->nonces, &full, now_ns);
	memcpy(full.partition, discovery->partition, sizeof full.partition);
	discovery->out.count = 0;
	announcement_encode(&full, &discovery->out);
	uint32_t sent = 0;
	for (uint32_t i = 0; i < discovery->interface_count; i++)
		sent += discovery_send_on(discovery, &discovery->interfaces[i]);
	if (!sent)
		return fail(error, TROUPE_EIO, "cannot send multicast: %s", strerror(errno));
	return TROUPE_OK;
}

/* --- receiving ---------------------------------------------------------------------------------------------------- */

uint64_t discovery_poll_at_ns(const struct discovery *discovery, uint64_t now_ns)
{
	return now_ns < discovery->pause_until_ns ? discovery->pause_until_ns : 0;
}

static void discovery_end_round(struct discovery *discovery, uint64_t now_ns)
{
	if (discovery->round > QUIET_MAX)
		discovery->pause_until_ns = now_ns + ROUND_PAUSE_NS;
	discovery->round = 0;
	discovery->spare[0] = discovery->spare[1] = DISCOVERY_SPARE;
}

/* False: no datagram, or the round is full. */
static bool discovery_read_batch(struct discovery *discovery, uint64_t now_ns)
{
	if (now_ns < discovery->pause_until_ns)
		return false;
	for (uint32_t i = 0; i < BATCH; i++)
		discovery->headers[i].msg_hdr.msg_namelen = sizeof discovery->from[i];
	int count = discovery->round < DISCOVERY_ROUND_MAX
			    ? recvmmsg(discovery->fd, discovery->headers, BATCH, MSG_DONTWAIT, NULL)
			    : 0;
	if (count <= 0) {
		discovery_end_round(discovery, now_ns);
		return false;
	}
	discovery->next = 0;
	discovery->count = (uint32_t)count;
	discovery->round += (uint32_t)count;
	discovery->counts.read += (uint32_t)count;
	return true;
}

static void discovery_place(struct address *address, const struct sockaddr_in *from, uint16_t port)
{
	*address = (struct address){.raw_bytes = sizeof *from};
	memcpy(address->raw, from, sizeof *from);
	address_set_port(address, port);
}

/* A datagram that passed the cheap checks. */
struct datagram {
	const char *bytes;
	size_t count;
	const struct sockaddr_in *from;
	struct sender sender;
	bool live;    /* it echoes a number of ours; not yet authentic */
	bool in_turn; /* within its sender's budget */
};

static enum hello_role discovery_other_role(const struct discovery *discovery)
{
	return discovery->role == HELLO_PRIMARY ? HELLO_SECONDARY : HELLO_PRIMARY;
}

static bool discovery_is_authentic(struct discovery *discovery, const struct datagram *datagram)
{
	unsigned char right[KEY_MAC_BYTES];
	if (!discovery->mac)
		return true;
	if (datagram->count < KEY_MAC_BYTES)
		return false;
	size_t count = datagram->count - KEY_MAC_BYTES;
	tls_mac(discovery->mac, datagram->bytes, count, &datagram->from->sin_addr, sizeof datagram->from->sin_addr,
		right);
	return tls_mac_same(right, (const unsigned char *)datagram->bytes + count);
}

static bool discovery_read_one(struct discovery *discovery, const struct datagram *datagram, struct announcement *ret)
{
	size_t mac_bytes = discovery->mac ? KEY_MAC_BYTES : 0;
	return discovery_is_authentic(discovery, datagram) &&
	       !announcement_decode(datagram->bytes, datagram->count - mac_bytes, ret, NULL) &&
	       !strcmp(ret->partition, discovery->partition);
}

/* The key mismatch that explains why a datagram could not be read. A datagram that decodes as it is has no MAC; one
 * that decodes without its last bytes has a MAC. NULL: there is no such explanation. */
static const char *discovery_why_foreign(
	const struct discovery *discovery, const struct datagram *datagram, struct announcement *ret)
{
	const char *bytes = datagram->bytes;
	size_t count = datagram->count;
	bool keyless = !announcement_decode(bytes, count, ret, NULL);
	if (!keyless && (count < KEY_MAC_BYTES || announcement_decode(bytes, count - KEY_MAC_BYTES, ret, NULL)))
		return NULL;
	if (ret->kind != ANNOUNCE_HERE || strcmp(ret->partition, discovery->partition) != 0)
		return NULL;
	if (discovery->mac)
		return keyless ? "has no key, and this process has one" : "has another key than this process";
	return keyless ? NULL : "has a key, and this process has none";
}

static const char *discovery_why_not_awaited(const struct announcement *announcement)
{
	if (announcement->role != HELLO_PRIMARY)
		return NULL;
	if (announcement->kind == ANNOUNCE_FIXED)
		return "has begun its run";
	return announcement->kind == ANNOUNCE_HERE && announcement->present >= announcement->secondaries
		       ? "has all its secondaries"
		       : NULL;
}

static void discovery_remember_useless(struct discovery *discovery, const struct datagram *datagram, const char *why,
	struct announcement *announcement)
{
	if (!why)
		return;
	discovery->useless.why = why;
	discovery->useless.announcement = *announcement;
	discovery_place(&discovery->useless.address, datagram->from, announcement->port);
}

bool discovery_take_useless(struct discovery *discovery, struct announcement *ret_announcement,
	struct address *ret_address, const char **ret_why)
{
	struct useless *useless = &discovery->useless;
	if (!useless->why)
		return false;
	*ret_announcement = useless->announcement;
	*ret_address = useless->address;
	*ret_why = useless->why;
	useless->why = NULL;
	return true;
}

/* The cheap checks. False: dropped. */
static bool discovery_is_worth_a_look(struct discovery *discovery, uint32_t at, uint64_t now_ns, struct datagram *ret)
{
	const struct msghdr *header = &discovery->headers[at].msg_hdr;
	struct datagram datagram = {
		.bytes = discovery->bytes[at], .count = discovery->headers[at].msg_len, .from = &discovery->from[at]};
	uint64_t own[NONCES_OWN_MAX];
	uint32_t own_count = nonces_own(&discovery->nonces, now_ns, own);
	if (header->msg_flags & MSG_TRUNC || header->msg_namelen != sizeof *datagram.from ||
		!announcement_glance(datagram.bytes, datagram.count, discovery_other_role(discovery), own, own_count,
			&datagram.live)) {
		discovery->counts.glanced++;
		return false;
	}
	struct address address;
	discovery_place(&address, datagram.from, 0);
	datagram.sender = address_sender(&address);
	datagram.in_turn = quota_take(&discovery->budget, datagram.sender, now_ns);
	uint32_t *spare = &discovery->spare[datagram.live];
	if (!datagram.in_turn && !*spare) {
		discovery->counts.skipped++;
		return false;
	}
	*spare -= !datagram.in_turn;
	*ret = datagram;
	return true;
}

/* The expensive checks. True: the announcement may be followed. */
static bool discovery_look_at(
	struct discovery *discovery, const struct datagram *datagram, uint64_t now_ns, struct announcement *ret)
{
	if (!discovery_read_one(discovery, datagram, ret)) {
		discovery->counts.dropped++;
		if (datagram->in_turn)
			discovery_remember_useless(
				discovery, datagram, discovery_why_foreign(discovery, datagram, ret), ret);
		return false;
	}
	discovery_remember_useless(discovery, datagram, discovery_why_not_awaited(ret), ret);
	if (ret->kind == ANNOUNCE_HERE)
		nonces_record(&discovery->nonces, ret, datagram->sender, datagram->live, now_ns);
	return datagram->live;
}

bool discovery_receive(struct discovery *discovery, uint64_t now_ns, struct announcement *ret_announcement,
	struct address *ret_address)
{
	while (discovery->next < discovery->count || discovery_read_batch(discovery, now_ns)) {
		struct datagram datagram;
		if (discovery_is_worth_a_look(discovery, discovery->next++, now_ns, &datagram) &&
			discovery_look_at(discovery, &datagram, now_ns, ret_announcement)) {
			discovery_place(ret_address, datagram.from, ret_announcement->port);
			return true;
		}
	}
	return false;
}
