/* An unknown peer on the network, for test_flood.sh: sends the same thing again and again, as fast as one thread can,
 * until it is killed, and then prints how often. It has no key.
 *
 *   flood announce ROLE KIND PARTITION   announcements that are valid except for their MAC, which is random; each
 *                                        of a new process and with another port
 *   flood listen ROLE KIND PARTITION     the same, each with the nonces that were received last
 *   flood replay ROLE                    every received announcement of this role, from flood's own address
 *   flood garbage                        datagrams of random bytes
 *   flood connect ADDRESS WHAT           connections to ADDRESS (HOST:PORT). WHAT: silent (kept open), close, rubbish,
 *                                        tls (the beginning of a handshake, kept open), hello (the beginning of a
 *                                        hello, kept open)
 *   flood alone COMMAND...               sends nothing: runs the command in a network of its own, which has only
 *                                        loopback, so that no other run is flooded; exit status 77 if the kernel or
 *                                        the rights do not allow this
 *
 * PARTITION "-" is the default one. FLOOD_SENDERS=N in the environment: from N addresses of 127.1.0.0/16, in turn.
 * FLOOD_MAC=0: announcements without a MAC. FLOOD_KEPT=N: keeps N connections open. The first line of output, printed
 * when the flood has begun, is "flooding"; the last is "N in S s". */
#include "../random.h"
#include "base/clock.h"
#include "net/tcp/discovery.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEPT_MAX = 4096, SENDERS_MAX = 4096, HEARD_MAX = 64, LOOK_EVERY = 64 };

static volatile sig_atomic_t over;
static uint64_t state = 1, done;

static void on_signal(int number)
{
	(void)number;
	over = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t number_from(const char *name, uint32_t otherwise)
{
	const char *value = getenv(name);
	return value ? (uint32_t)strtoul(value, NULL, 10) : otherwise;
}

static struct sockaddr_in sender(uint32_t index, uint32_t count)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	from.sin_addr.s_addr = htonl(count > 1 ? 0x7f010001u + index % count : INADDR_LOOPBACK);
	return from;
}

/* --- datagrams ---------------------------------------------------------------------------------------------------- */

static const struct sockaddr_in group = {.sin_family = AF_INET};

static struct sockaddr_in group_address(void)
{
	struct sockaddr_in to = group;
	to.sin_port = htons(ADDRESS_PORT);
	inet_pton(AF_INET, "239.255.84.82", &to.sin_addr);
	return to;
}

static int open_sender(uint32_t index, uint32_t count)
{
	struct sockaddr_in from = sender(index, count);
	struct ip_mreqn interface = {.imr_address = from.sin_addr, .imr_ifindex = (int)if_nametoindex("lo")};
	int file = socket(AF_INET, SOCK_DGRAM, 0);
	if (file < 0 || bind(file, (struct sockaddr *)&from, sizeof from) ||
		setsockopt(file, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface))
		die("a sender");
	return file;
}

static int open_ear(void)
{
	struct sockaddr_in here = group_address();
	struct ip_mreqn interface = {.imr_multiaddr = here.sin_addr, .imr_ifindex = (int)if_nametoindex("lo")};
	int file = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), on = 1;
	if (file < 0 || setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
		bind(file, (struct sockaddr *)&here, sizeof here) ||
		setsockopt(file, IPPROTO_IP, IP_ADD_MEMBERSHIP, &interface, sizeof interface))
		die("an ear");
	return file;
}

struct datagram {
	char bytes[ANNOUNCEMENT_BYTES_MAX];
	size_t count;
};

static void send_as_fast_as_possible(void (*next)(struct datagram *datagram))
{
	static int files[SENDERS_MAX];
	uint32_t count = MIN(number_from("FLOOD_SENDERS", 1), (uint32_t)SENDERS_MAX);
	struct sockaddr_in to = group_address();
	struct datagram datagram = {.count = 0};
	for (uint32_t i = 0; i < count; i++)
		files[i] = open_sender(i, count);
	while (!over) {
		next(&datagram);
		if (datagram.count && sendto(files[done % count], datagram.bytes, datagram.count, 0,
					      (struct sockaddr *)&to, sizeof to) > 0)
			done++;
	}
}

static void next_garbage(struct datagram *datagram)
{
	datagram->count = 300;
	for (size_t i = 0; i + 8 <= datagram->count; i += 8) {
		uint64_t word = random_bits(&state);
		memcpy(datagram->bytes + i, &word, sizeof word);
	}
}

static struct announcement forged;
static bool with_mac;
static int ear = -1;

/* The nonces of received announcements are put into the forged one. */
static void listen_for_numbers(void)
{
	char bytes[ANNOUNCEMENT_BYTES_MAX];
	struct announcement heard;
	ssize_t count;
	while ((count = recv(ear, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
		size_t most = (size_t)count;
		if (announcement_decode(bytes, most, &heard, NULL) &&
			(most < ANNOUNCEMENT_MAC_BYTES ||
				announcement_decode(bytes, most - ANNOUNCEMENT_MAC_BYTES, &heard, NULL)))
			continue;
		if (heard.role == forged.role)
			continue;
		forged.echo_count = MIN(forged.echo_count + 1, (uint32_t)ANNOUNCEMENT_ECHOES_MAX);
		memmove(&forged.echoes[1], &forged.echoes[0], (forged.echo_count - 1) * sizeof forged.echoes[0]);
		forged.echoes[0] = heard.nonce;
	}
}

static void next_announcement(struct datagram *datagram)
{
	struct text out = {0};
	uint64_t id = random_bits(&state), nonce = random_bits(&state);
	if (ear >= 0 && done % LOOK_EVERY == 0)
		listen_for_numbers();
	memcpy(forged.id, &id, sizeof id);
	forged.nonce = nonce;
	forged.port = forged.role == HELLO_PRIMARY ? (uint16_t)(random_bits(&state) % 60000 + 1) : 0;
	announcement_encode(&forged, &out);
	for (int i = 0; with_mac && i < ANNOUNCEMENT_MAC_BYTES / 8; i++) {
		uint64_t word = random_bits(&state);
		text_add_bytes(&out, (const char *)&word, sizeof word);
	}
	datagram->count = out.count;
	memcpy(datagram->bytes, out.at, out.count);
	text_fini(&out);
}

static struct datagram recorded[HEARD_MAX];
static uint32_t recorded_count;

static bool is_of_role(const struct datagram *datagram)
{
	bool echoes;
	return announcement_glance(datagram->bytes, datagram->count, forged.role, NULL, 0, &echoes);
}

static void next_recorded(struct datagram *datagram)
{
	if (done % LOOK_EVERY == 0) {
		struct datagram *heard = &recorded[recorded_count % HEARD_MAX];
		ssize_t count = recv(ear, heard->bytes, sizeof heard->bytes, MSG_DONTWAIT);
		heard->count = count > 0 ? (size_t)count : 0;
		if (is_of_role(heard) && recorded_count < HEARD_MAX)
			recorded_count++;
	}
	if (recorded_count)
		*datagram = recorded[done % recorded_count];
	else
		(void)usleep(1000);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *bytes;
	size_t count;
	bool kept;
} manners[] = {
	{"silent", NULL, 0, true},
	{"close", NULL, 0, false},
	{"rubbish", "GET / HTTP/1.0\r\n\r\n", 18, false},
	{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11, true},
	{"hello", "\x40\x00\x00\x00\x01troupe T", 13, true},
};

/* Does not wait: on this machine a connection exists when connect() returns, unless the queue is full. */
static int connect_once(const struct address *address, size_t manner, uint32_t senders)
{
	static const struct linger linger = {1, 0}; /* so that the port is free at once: there are few ports */
	struct sockaddr_in from = sender((uint32_t)done, senders);
	int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (file < 0)
		die("a socket");
	if (senders > 1)
		(void)!bind(file, (struct sockaddr *)&from, sizeof from);
	setsockopt(file, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	(void)connect(file, (const struct sockaddr *)(const void *)address->raw, (socklen_t)address->raw_bytes);
	if (manners[manner].count)
		(void)!send(file, manners[manner].bytes, manners[manner].count, MSG_NOSIGNAL);
	done++;
	return file;
}

static void connect_as_fast_as_possible(const struct address *address, size_t manner)
{
	static int kept[KEPT_MAX];
	uint32_t senders = number_from("FLOOD_SENDERS", 1);
	uint32_t room = manners[manner].kept ? MIN(number_from("FLOOD_KEPT", KEPT_MAX), (uint32_t)KEPT_MAX) : 1;
	for (uint32_t i = 0; i < room; i++)
		kept[i] = -1;
	while (!over) {
		int *place = &kept[done % room];
		if (*place >= 0)
			close(*place);
		*place = connect_once(address, manner, senders);
	}
}

/* --- a network of its own ----------------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);
	bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
	if (file >= 0)
		close(file);
	return good;
}

/* Makes a network namespace: root may do so at once, other users as root of a user namespace, in which they keep their
 * number. */
static bool leave_network(void)
{
	char users[64], groups[64];
	(void)snprintf(users, sizeof users, "%d %d 1", (int)geteuid(), (int)geteuid());
	(void)snprintf(groups, sizeof groups, "%d %d 1", (int)getegid(), (int)getegid());
	if (!unshare(CLONE_NEWNET))
		return true;
	return !unshare(CLONE_NEWUSER | CLONE_NEWNET) && write_file("/proc/self/uid_map", users) &&
	       write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/gid_map", groups);
}

static bool raise_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	int file = socket(AF_INET, SOCK_DGRAM, 0);
	bool good = file >= 0 && !ioctl(file, SIOCGIFFLAGS, &request);
	request.ifr_flags |= IFF_UP;
	good = good && !ioctl(file, SIOCSIFFLAGS, &request);
	if (file >= 0)
		close(file);
	return good;
}

static int run_alone(char **command)
{
	if (!leave_network() || !raise_loopback()) {
		fprintf(stderr, "flood: no network of its own: %s\n", strerror(errno));
		return 77;
	}
	execvp(command[0], command);
	die(command[0]);
	return 1;
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static void usage(void)
{
	fprintf(stderr,
		"usage: flood announce|listen ROLE KIND PARTITION | replay ROLE | garbage | connect ADDRESS WHAT\n");
	exit(2);
}

static void announce_what(int argc, char **argv)
{
	forged = (struct announcement){.kind = (enum announcement_kind)atoi(argv[3]),
		.role = atoi(argv[2]) == HELLO_PRIMARY ? HELLO_PRIMARY : HELLO_SECONDARY,
		.secondaries = 2,
		.name = "flood"};
	(void)argc;
	(void)snprintf(forged.partition, sizeof forged.partition, "%s", strcmp(argv[4], "-") ? argv[4] : "");
	with_mac = number_from("FLOOD_MAC", 1);
	if (!strcmp(argv[1], "listen"))
		ear = open_ear();
	send_as_fast_as_possible(next_announcement);
}

static void connect_where(char **argv)
{
	struct address address;
	size_t manner = 0;
	while (manner < ARRAY_LEN(manners) && strcmp(manners[manner].name, argv[3]) != 0)
		manner++;
	if (manner == ARRAY_LEN(manners) || address_parse(argv[2], ADDRESS_PORT, &address, NULL))
		usage();
	connect_as_fast_as_possible(&address, manner);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART: system calls are interrupted */
	if (argc > 2 && !strcmp(argv[1], "alone"))
		return run_alone(argv + 2);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("flooding\n");
	state = (uint64_t)getpid();
	uint64_t begin_ns = clock_now_ns();
	if (argc == 5 && (!strcmp(argv[1], "announce") || !strcmp(argv[1], "listen"))) {
		announce_what(argc, argv);
	} else if (argc == 3 && !strcmp(argv[1], "replay")) {
		forged.role = atoi(argv[2]) == HELLO_PRIMARY ? HELLO_PRIMARY : HELLO_SECONDARY;
		ear = open_ear();
		send_as_fast_as_possible(next_recorded);
	} else if (argc == 2 && !strcmp(argv[1], "garbage")) {
		send_as_fast_as_possible(next_garbage);
	} else if (argc == 4 && !strcmp(argv[1], "connect")) {
		connect_where(argv);
	} else {
		usage();
	}
	printf("%llu in %.1f s\n", (unsigned long long)done, (double)(clock_now_ns() - begin_ns) / 1e9);
	return 0;
}
