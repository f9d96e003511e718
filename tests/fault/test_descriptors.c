/* Counts open files. After attempts to reach primaries that cannot be reached, do not answer or refuse, and after
 * hundreds of unknown peers that are turned away, as many files are open as before; in between their number is bounded.
 * When no file descriptor is left, or accept fails for another reason, the listener does not spin, reports it, and
 * goes on when there are descriptors again. accept4() is replaced here, so that the test can make it fail. */
#include "check.h"
#include "files.h"

#include "base/clock.h"
#include "net/tcp/discovery.h"
#include "net/tcp/listener.h"
#include "net/tcp/socket_pair.h"
#include "net/tcp/session.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define LIMIT_NS (60000 * MS) /* for each event that must come */

/* --- what is counted ---------------------------------------------------------------------------------------------- */

static int accept_code; /* the error of accept4(); 0: it succeeds */
static uint64_t accept_calls, accept_failures;

int accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
	accept_calls++;
	if (!accept_code)
		return (int)syscall(SYS_accept4, fd, address, bytes, flags);
	accept_failures++;
	errno = accept_code;
	return -1;
}

static const struct key one_key = {{1, 2, 3}}, other_key = {{1, 2, 4}};

static struct listener *listen_here(const struct key *key, uint64_t hello_ns)
{
	struct listener_options options = {.key = key, .hello_ns = hello_ns};
	struct listener *listener = NULL;
	if (address_parse_listen(":0", ADDRESS_PORT, &options.address, NULL) ||
		listener_create(&options, &listener, NULL))
		abort();
	return listener;
}

static int connect_raw(const struct address *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd >= 0 &&
		connect(fd, (const struct sockaddr *)(const void *)address->raw, (socklen_t)address->raw_bytes) &&
		errno != EINPROGRESS)
		abort();
	return fd;
}

/* --- primaries that cannot be had --------------------------------------------------------------------------------- */

/* An address at which connections are refused, and one at which they are never accepted. */
static struct address nowhere(void)
{
	struct listener *listener = listen_here(NULL, 0);
	struct address address = *listener_address(listener);
	listener_destroy(listener);
	return address;
}

struct mute {
	int fd, filler[8];
	struct address address;
};

static void make_mute(struct mute *mute)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof here;
	mute->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(mute->fd, (struct sockaddr *)&here, sizeof here) || listen(mute->fd, 0) ||
		getsockname(mute->fd, (struct sockaddr *)&here, &bytes))
		abort();
	mute->address = (struct address){.raw_bytes = sizeof here};
	memcpy(mute->address.raw, &here, sizeof here);
	for (size_t i = 0; i < ARRAY_LEN(mute->filler); i++)
		mute->filler[i] = connect_raw(&mute->address);
}

static void end_mute(struct mute *mute)
{
	close(mute->fd);
	for (size_t i = 0; i < ARRAY_LEN(mute->filler); i++)
		close(mute->filler[i]);
}

static void attempt_channels(const char *what, const struct address *address, const struct key *key, int attempts)
{
	int before = open_files();
	struct channel_options options = {.role = CHANNEL_CLIENT, .key = key, .handshake_ns = MS};
	for (int i = 0; i < attempts; i++) {
		struct channel *channel;
		uint64_t now = clock_now_ns();
		if (channel_connect(address, &options, now, &channel, NULL))
			continue;
		for (int k = 0; k < 20 && !channel_work(channel, now, NULL); k++)
			now += MS;
		channel_destroy(channel);
	}
	check(open_files() == before, "%s: %d files are left open by %d attempts", what, open_files() - before,
		attempts);
}

static void *run_secondary(void *arg)
{
	struct troupe_error error = {0};
	troupe_status status = troupe_secondary_run(arg, &error);
	check(status == TROUPE_EPEER, "a secondary in vain: status %d: %s", (int)status, error.text);
	return NULL;
}

/* A whole secondary, which tries again and again. */
static void attempt_secondary(const char *what, const struct address *address)
{
	char text[ADDRESS_TEXT_BYTES];
	int before = open_files(), most = 0, idle;
	struct troupe_network network = {.address = text, .wait_s = 2.5, .insecure = true};
	struct troupe_secondary_def def = {.network = &network};
	struct troupe_secondary *secondary;
	struct troupe_error error;
	pthread_t thread;
	address_text(address, text);
	if (troupe_secondary_create(&def, &secondary, &error)) {
		check(false, "%s: no secondary: %s", what, error.text);
		return;
	}
	idle = open_files();
	if (pthread_create(&thread, NULL, run_secondary, secondary))
		abort();
	uint64_t end_ns = clock_now_ns() + 2400 * MS;
	while (clock_now_ns() < end_ns) {
		int now = open_files();
		most = MAX(most, now);
		(void)usleep(1000);
	}
	pthread_join(thread, NULL);
	troupe_secondary_destroy(secondary);
	check(most - idle <= 8, "%s: a secondary has %d files open", what, most - idle);
	check(open_files() == before, "%s: a secondary leaves %d files open", what, open_files() - before);
}

static void test_unreachable(void)
{
	struct address refused = nowhere();
	struct mute mute;
	attempt_channels("refused", &refused, NULL, 300);
	attempt_channels("refused", &refused, key_usable() ? &one_key : NULL, 300);
	attempt_secondary("refused", &refused);
	make_mute(&mute);
	attempt_channels("does not answer", &mute.address, NULL, 300);
	attempt_channels("does not answer", &mute.address, key_usable() ? &one_key : NULL, 100);
	attempt_secondary("does not answer", &mute.address);
	end_mute(&mute);
}

/* --- unknown peers ------------------------------------------------------------------------------------------------ */

static void work_listener(struct listener *listener)
{
	struct pollfd fds[LISTENER_POLL_MAX];
	uint32_t count = listener_poll(listener, clock_now_ns(), fds);
	poll(fds, count, 2);
	listener_work(listener, clock_now_ns());
}

/* Returns when the listener has no connection left. */
static void settle(struct listener *listener)
{
	struct pollfd fds[LISTENER_POLL_MAX];
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	while (clock_now_ns() < end_ns && listener_poll(listener, clock_now_ns(), fds) > 1)
		work_listener(listener);
}

static void unknown_peers(const char *what, const struct key *key, const char *bytes, size_t count, bool stay)
{
	enum { UNKNOWN_PEERS = 400 };
	struct listener *listener = listen_here(key, 100 * MS);
	int before = open_files(), fds[UNKNOWN_PEERS];
	for (int i = 0; i < UNKNOWN_PEERS; i++) {
		fds[i] = connect_raw(listener_address(listener));
		if (count)
			(void)!send(fds[i], bytes, count, MSG_NOSIGNAL);
		if (!stay)
			close(fds[i]);
		work_listener(listener);
		int here = open_files() - before - (stay ? i + 1 : 0);
		if (here > LISTENER_WAITING_MAX + LISTENER_UNKNOWN_MAX)
			check(false, "%s: %d files are open", what, here);
	}
	settle(listener);
	for (int i = 0; stay && i < UNKNOWN_PEERS; i++)
		close(fds[i]);
	check(open_files() == before, "%s: %d unknown peers leave %d files open", what, UNKNOWN_PEERS,
		open_files() - before);
	struct listener_counts counts = listener_counts(listener);
	check(counts.accepted == UNKNOWN_PEERS && counts.accepted == counts.late + counts.dropped + counts.broken,
		"%s: somebody is not accounted for", what);
	listener_destroy(listener);
	check(open_files() == before - 2, "%s: a listener leaves its files open", what);
}

/* Clients with another key, or with none, in a handshake of TLS. */
static void wrong_keys(const struct key *key)
{
	struct listener *listener = listen_here(&one_key, 100 * MS);
	int before = open_files();
	for (int i = 0; i < 100; i++) {
		struct channel_options options = {.role = CHANNEL_CLIENT, .key = key};
		struct channel *channel;
		if (channel_connect(listener_address(listener), &options, clock_now_ns(), &channel, NULL))
			abort();
		for (int k = 0; k < 10 && !channel_work(channel, clock_now_ns(), NULL); k++)
			work_listener(listener);
		channel_destroy(channel);
	}
	settle(listener);
	check(open_files() == before, "wrong keys: %d files are left open", open_files() - before);
	listener_destroy(listener);
}

/* A client that begins a handshake and then sends nothing is turned away when its time is over. */
static void stalled_handshakes(void)
{
	enum { CLIENTS = 20 };
	struct listener *listener = listen_here(&one_key, 300 * MS);
	int before = open_files();
	struct channel *channels[CLIENTS];
	for (int i = 0; i < CLIENTS; i++) {
		struct channel_options options = {.role = CHANNEL_CLIENT, .key = &one_key};
		if (channel_connect(listener_address(listener), &options, clock_now_ns(), &channels[i], NULL))
			abort();
		for (int k = 0; k < 5; k++)
			(void)channel_work(channels[i], clock_now_ns(), NULL);
		work_listener(listener);
	}
	settle(listener);
	check(open_files() == before + CLIENTS, "stalled handshakes: %d files are left open",
		open_files() - before - CLIENTS);
	check(listener_counts(listener).late > 0 &&
			listener_counts(listener).late + listener_counts(listener).dropped == CLIENTS,
		"stalled handshakes: %u were late, %u made room", (unsigned)listener_counts(listener).late,
		(unsigned)listener_counts(listener).dropped);
	for (int i = 0; i < CLIENTS; i++)
		channel_destroy(channels[i]);
	listener_destroy(listener);
}

/* A listener is destroyed while many connections wait: some have sent data, some are in a handshake. */
static void destroyed_with_guests(void)
{
	enum { GUESTS = 60 };
	int before = open_files(), fds[GUESTS];
	struct listener *listener = listen_here(key_usable() ? &one_key : NULL, 60000 * MS);
	for (int i = 0; i < GUESTS; i++) {
		fds[i] = connect_raw(listener_address(listener));
		if (i % 3 == 0)
			(void)!send(fds[i], "\x16\x03\x01", 3, MSG_NOSIGNAL);
		work_listener(listener);
	}
	for (int i = 0; i < 20; i++)
		work_listener(listener);
	check(listener_counts(listener).accepted > 0, "no connection was accepted");
	listener_destroy(listener);
	check(open_files() == before + GUESTS, "a destroyed listener leaves the files of %d connections open",
		open_files() - before - GUESTS);
	for (int i = 0; i < GUESTS; i++)
		close(fds[i]);
}

static void test_unknown_peers(void)
{
	static const char begins[] = "\x16\x03\x01\x02\x00\x01";
	const struct key *keys[] = {NULL, &one_key};
	for (int i = 0; i <= key_usable(); i++) {
		unknown_peers("silent", keys[i], NULL, 0, true);
		unknown_peers("gone", keys[i], NULL, 0, false);
		unknown_peers("rubbish", keys[i], "GET / HTTP/1.0\r\n\r\n", 18, true);
		unknown_peers("rubbish, gone", keys[i], "GET / HTTP/1.0\r\n\r\n", 18, false);
		unknown_peers("half a hello", keys[i], i ? begins : "\x40\0\0\0\x01troupe", i ? 6 : 11, true);
		unknown_peers("half a hello, gone", keys[i], i ? begins : "\x40\0\0\0\x01troupe", i ? 6 : 11, false);
	}
	destroyed_with_guests();
	if (key_usable()) {
		stalled_handshakes();
		wrong_keys(&other_key);
		wrong_keys(NULL);
	}
}

/* --- those who say hello ------------------------------------------------------------------------------------------ */

struct seen {
	uint32_t admitted, lost, turned_away;
};

static void on_action(void *ctx, const struct peers_action *action)
{
	struct seen *seen = ctx;
	seen->admitted += action->kind == PEERS_ADMITTED;
	seen->lost += action->kind == PEERS_LOST;
	seen->turned_away += action->kind == PEERS_TURNED_AWAY;
}

static void say_hello(int fd, uint32_t process, const char *partition)
{
	struct hello hello = {.protocol = HELLO_PROTOCOL, .role = HELLO_SECONDARY, .name = "host:1"};
	struct text bytes = {0};
	unsigned char header[FRAME_HEADER_BYTES];
	memcpy(hello.id, &process, sizeof process);
	(void)snprintf(hello.partition, sizeof hello.partition, "%s", partition);
	hello_encode(&hello, &bytes);
	frame_put_header(header, FRAME_HELLO, (uint32_t)bytes.count);
	(void)!send(fd, header, sizeof header, MSG_NOSIGNAL);
	(void)!send(fd, bytes.at, bytes.count, MSG_NOSIGNAL);
	text_fini(&bytes);
}

/* Hundreds of processes come to a primary before the start: processes of another partition, which never close their
 * refused connection, or processes that are let in, and leave again. */
static void test_hellos(bool belongs)
{
	enum { COMERS = 300 };
	struct seen seen = {0};
	struct peers_options options = {
		.self = {.protocol = HELLO_PROTOCOL, .role = HELLO_PRIMARY, .id = {9}, .name = "host:2"},
		.secondaries = 2};
	struct session session = {.peers = peers_create(&options, clock_now_ns()),
		.listener = listen_here(NULL, 0),
		.on_action = on_action,
		.ctx = &seen};
	int before = open_files(), fds[COMERS], most = 0;
	for (uint32_t i = 0; i < COMERS; i++) {
		fds[i] = connect_raw(listener_address(session.listener));
		say_hello(fds[i], i + 1, belongs ? "" : "elsewhere");
		uint64_t end_ns = clock_now_ns() + LIMIT_NS;
		while ((belongs ? seen.admitted : seen.turned_away) <= i && clock_now_ns() < end_ns)
			session_work(&session, 2, NULL, 0);
		if (belongs)
			close(fds[i]);
		while (belongs && seen.lost <= i && clock_now_ns() < end_ns)
			session_work(&session, 2, NULL, 0);
		most = MAX(most, open_files() - before - (belongs ? 0 : (int)i + 1));
	}
	check((belongs ? seen.admitted : seen.turned_away) == COMERS, "not every hello was answered");
	check(most <= SESSION_FINISHING_MAX + 2 + PEERS_UNKNOWN_MAX, "%d files are open for refused processes", most);
	for (uint32_t i = 0; !belongs && i < COMERS; i++)
		close(fds[i]);
	session_flush(&session, 5000);
	check(open_files() == before, "%d processes that %s leave %d files open", COMERS,
		belongs ? "come and go" : "are refused", open_files() - before);
	session_fini(&session);
	check(open_files() == before - 2, "a session leaves its files open");
}

/* --- no file is left ---------------------------------------------------------------------------------------------- */

/* How often accept4() is called in two seconds of virtual time by a program that waits with poll(), while connections
 * always wait to be accepted. */
static uint64_t tries_while_failing(struct listener *listener, int code, uint64_t *ret_rounds)
{
	uint64_t now_ns = 1000000 * MS, end_ns = now_ns + 2000 * MS, rounds = 0;
	accept_code = code;
	accept_calls = 0;
	while (now_ns < end_ns) {
		struct pollfd fds[LISTENER_POLL_MAX];
		uint32_t count = listener_poll(listener, now_ns, fds);
		bool ready = count && fds[0].events; /* the listening socket is readable, so poll() returns at once */
		uint64_t deadline_ns = listener_deadline_ns(listener, now_ns);
		if (!ready && deadline_ns > now_ns)
			now_ns = MIN(deadline_ns, end_ns);
		else
			now_ns += 10000; /* as long as a round takes */
		rounds++;
		listener_work(listener, now_ns);
	}
	accept_code = 0;
	*ret_rounds = rounds;
	return accept_calls;
}

static void test_failing_accept(void)
{
	static const int codes[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, ECONNABORTED, EPROTO, EPERM, ENETDOWN,
		EHOSTUNREACH, EINTR, EBADF, EINVAL};
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct listener *listener = listen_here(NULL, 0);
		int before = open_files(), waits = connect_raw(listener_address(listener));
		uint64_t rounds, tries = tries_while_failing(listener, codes[i], &rounds);
		check(tries >= 20 && tries <= 1000, "%s: accepting is tried %d times in two seconds",
			strerror(codes[i]), (int)tries);
		check(rounds <= 2000, "%s: it spins: %d rounds in two seconds", strerror(codes[i]), (int)rounds);
		check(listener_counts(listener).failed > 0, "%s: it is not counted", strerror(codes[i]));
		close(waits);
		check(open_files() == before, "%s: files are left open", strerror(codes[i]));
		listener_destroy(listener);
	}
}

static void limit_files(rlim_t most)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		abort();
	limit.rlim_cur = MIN(most, limit.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		abort();
}

static bool was_closed(int fd)
{
	char byte;
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	ssize_t got = -1;
	while (clock_now_ns() < end_ns && (got = recv(fd, &byte, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		(void)usleep(1000);
	return got == 0 || (got < 0 && errno != EAGAIN);
}

/* The files of the clients are opened before the limit is set; the listener gets the files that the limit leaves: none,
 * or some. */
static void out_of_files(int left)
{
	enum { COMERS = 40 };
	struct listener *listener = listen_here(NULL, LIMIT_NS);
	struct rlimit usual;
	getrlimit(RLIMIT_NOFILE, &usual);
	int fds[COMERS + 1], before = open_files();
	for (int i = 0; i <= COMERS; i++)
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
	/* a new file gets the lowest free number: below the last client's number none is free */
	limit_files((rlim_t)fds[COMERS] + 1 + (rlim_t)left);
	const struct address *address = listener_address(listener);
	const struct sockaddr *raw = (const struct sockaddr *)(const void *)address->raw;
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	for (int i = 0; i < COMERS; i++)
		check(!connect(fds[i], raw, (socklen_t)address->raw_bytes), "out of files: not connected");
	struct listener_counts counts = listener_counts(listener);
	accept_calls = 0;
	uint64_t begin_ns = clock_now_ns();
	while (counts.dropped + counts.shed + (uint64_t)left < COMERS && clock_now_ns() < end_ns) {
		work_listener(listener);
		counts = listener_counts(listener);
	}
	uint64_t took_ms = (clock_now_ns() - begin_ns) / MS + 1;
	check(counts.dropped + counts.shed + (uint64_t)left == COMERS, "out of files: %d of %d were dealt with",
		(int)(counts.dropped + counts.shed), COMERS - left);
	check(accept_calls <= 2 * COMERS + took_ms, "out of files: accepting is tried %d times in %d ms",
		(int)accept_calls, (int)took_ms);
	int closed = 0;
	for (int i = 0; i < COMERS - left; i++)
		closed += was_closed(fds[i]);
	check(closed == COMERS - left, "out of files: %d of %d were told", closed, COMERS - left);
	struct address where;
	struct troupe_error why = {0};
	check(listener_take_refusal(listener, &where, &why) &&
			strstr(why.text, left ? "made room for another connection"
					      : "this process has no file descriptor left for it"),
		"out of files: it is not said: '%s'", why.text);
	limit_files(usual.rlim_cur);
	/* a client is accepted when there are files again */
	check(!connect(fds[COMERS], raw, (socklen_t)address->raw_bytes), "files again: not connected");
	uint64_t accepted = counts.accepted;
	end_ns = clock_now_ns() + LIMIT_NS;
	while (counts.accepted == accepted && clock_now_ns() < end_ns) {
		work_listener(listener);
		counts = listener_counts(listener);
	}
	check(counts.accepted == accepted + 1, "files again: nobody is accepted");
	for (int i = 0; i <= COMERS; i++)
		close(fds[i]);
	settle(listener);
	check(open_files() == before, "out of files: %d are left open", open_files() - before);
	listener_destroy(listener);
}

/* Calls that open files while there are none left: each has an error, and leaves nothing behind. */
static void test_nothing_to_be_had(void)
{
	struct rlimit usual;
	struct address address = nowhere();
	struct channel_options channel_options = {.role = CHANNEL_CLIENT};
	struct listener_options listener_options = {.address = address};
	struct discovery_options discovery_options = {.role = HELLO_PRIMARY, .loopback_only = true};
	getrlimit(RLIMIT_NOFILE, &usual);
	int before = open_files();
	for (int left = 0; left < 3; left++) {
		struct channel *channel = NULL;
		struct listener *listener = NULL;
		struct discovery *discovery = NULL;
		struct troupe_error error = {0};
		int pair[2], lowest = dup(0);
		close(lowest);
		limit_files((rlim_t)lowest + (rlim_t)left);
		bool none = !left;
		check(!channel_connect(&address, &channel_options, 0, &channel, &error) != none || *error.text,
			"a channel without a file");
		check(!listener_create(&listener_options, &listener, &error) != none || *error.text,
			"a listener without a file");
		check(!discovery_create(&discovery_options, &discovery, &error) != none || *error.text,
			"a discovery without a file");
		if (!socket_pair_create(pair, &error)) {
			close(pair[0]);
			close(pair[1]);
		}
		channel_destroy(channel);
		listener_destroy(listener);
		discovery_destroy(discovery);
		limit_files(usual.rlim_cur);
		check(open_files() == before, "with a limit of %d files %d are left open", left, open_files() - before);
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	limit_files(4096);
	test_unreachable();
	test_unknown_peers();
	test_hellos(false);
	test_hellos(true);
	test_failing_accept();
	out_of_files(0);
	out_of_files(10);
	test_nothing_to_be_had();
	return check_totals();
}
