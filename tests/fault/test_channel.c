/* Channels, the listener and discovery over real sockets of this machine, with valid peers and with unknown peers. Data
 * arrive whole and in order. An unknown peer (no key, another key, or invalid data) is refused with a reason that names
 * it, in bounded time and memory. A valid peer can join meanwhile. */
#include "check.h"

#include "base/clock.h"
#include "net/tcp/channel.h"
#include "net/tcp/discovery.h"
#include "net/tcp/listener.h"
#include "net/tcp/tls.h"
#include "net/tcp/log_limit.h"

#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define LIMIT_NS (60000 * MS) /* for each event that must come */

static int skipped;

static const struct key one_key = {{1, 2, 3}}, other_key = {{1, 2, 4}};

/* --- pairs -------------------------------------------------------------------------------------------------------- */

struct pair {
	struct channel *client, *server;
	troupe_status client_status, server_status;
	struct troupe_error client_error, server_error;
};

static bool tcp_pair(int ret_fds[2])
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof here;
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	ret_fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	ret_fds[1] = -1;
	if (!bind(listening, (struct sockaddr *)&here, sizeof here) && !listen(listening, 1) &&
		!getsockname(listening, (struct sockaddr *)&here, &bytes) &&
		!connect(ret_fds[0], (struct sockaddr *)&here, sizeof here))
		ret_fds[1] = accept(listening, NULL, NULL);
	close(listening);
	return ret_fds[1] >= 0;
}

static void make_pair(struct pair *pair, const struct key *client_key, const struct key *server_key)
{
	int fds[2];
	struct channel_options client = {.role = CHANNEL_CLIENT, .key = client_key};
	struct channel_options server = {.role = CHANNEL_SERVER, .key = server_key, .handshake_ns = 1000 * MS};
	*pair = (struct pair){0};
	if (!tcp_pair(fds) || channel_create(fds[0], "client", &client, clock_now_ns(), &pair->client, NULL) ||
		channel_create(fds[1], "server", &server, clock_now_ns(), &pair->server, NULL))
		abort();
}

static void free_pair(struct pair *pair)
{
	channel_destroy(pair->client);
	channel_destroy(pair->server);
}

static void work(struct pair *pair)
{
	struct pollfd fds[2] = {{channel_fd(pair->client), channel_poll_events(pair->client), 0},
		{channel_fd(pair->server), channel_poll_events(pair->server), 0}};
	poll(fds, 2, 5);
	if (!pair->client_status)
		pair->client_status = channel_work(pair->client, clock_now_ns(), &pair->client_error);
	if (!pair->server_status)
		pair->server_status = channel_work(pair->server, clock_now_ns(), &pair->server_error);
}

/* Returns when both ends are open, or one has failed. */
static bool open_pair(struct pair *pair)
{
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	while (clock_now_ns() < end_ns && !pair->client_status && !pair->server_status) {
		work(pair);
		if (channel_is_open(pair->client) && channel_is_open(pair->server)) {
			channel_limit(pair->client, FRAME_PAYLOAD_MAX);
			channel_limit(pair->server, FRAME_PAYLOAD_MAX);
			return true;
		}
	}
	return false;
}

static char *pattern(size_t count, unsigned seed)
{
	char *bytes = mem_alloc(count + 1);
	for (size_t i = 0; i < count; i++)
		bytes[i] = (char)(i * 31 + (i >> 8) + seed);
	return bytes;
}

/* Whether the server's next frame is this one. */
static bool comes(struct pair *pair, enum frame_type type, const char *bytes, size_t count)
{
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	enum frame_type got;
	const char *got_bytes;
	size_t got_count;
	troupe_status status = TROUPE_OK;
	while (clock_now_ns() < end_ns && !status && !pair->client_status) {
		if (channel_receive(pair->server, &got, &got_bytes, &got_count, &status, NULL))
			return got == type && got_count == count && !memcmp(got_bytes, bytes, count);
		work(pair);
	}
	return false;
}

static size_t used_bytes(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static void test_frames(const struct key *key)
{
	static const size_t sizes[] = {0, 1, 100, 5000, 65536, 1000003, 20000000};
	struct pair pair;
	make_pair(&pair, key, key);
	const size_t before = used_bytes();
	channel_send(pair.client, FRAME_ACK, "early", 5, NULL); /* before the channel is open */
	check(open_pair(&pair), "not open: %s / %s", pair.client_error.text, pair.server_error.text);
	check(comes(&pair, FRAME_ACK, "early", 5),
		"a frame that was sent before the channel was open does not come first");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char *bytes = pattern(sizes[i], (unsigned)i);
		check(!channel_send(pair.client, FRAME_STEP, bytes, sizes[i], NULL), "not sent");
		check(!channel_send(pair.client, FRAME_HEARTBEAT, "x", 1, NULL), "not sent");
		check(comes(&pair, FRAME_STEP, bytes, sizes[i]), "%zu bytes do not arrive", sizes[i]);
		check(comes(&pair, FRAME_HEARTBEAT, "x", 1), "the frame after %zu bytes does not arrive", sizes[i]);
		free(bytes);
	}
	check(channel_bytes_sent(pair.client) == channel_bytes_received(pair.server) &&
			channel_bytes_sent(pair.client) > 21065743,
		"bytes are miscounted");
	struct troupe_error error;
	check(channel_send(pair.client, FRAME_HEARTBEAT, pattern, 65, &error) == TROUPE_ELIMIT &&
			strstr(error.text, "HEARTBEAT of 65 bytes to it: at most 64"),
		"a frame beyond its limit is sent");
	check(!channel_send(pair.client, FRAME_HEARTBEAT, "y", 1, NULL) && comes(&pair, FRAME_HEARTBEAT, "y", 1),
		"after a refused frame no other one arrives");
	check(used_bytes() < before + (16 << 20), "after a frame of 20 MB the channels keep %zu bytes",
		used_bytes() - before);
	free_pair(&pair);
}

static void test_small_steps(const struct key *key)
{
	struct pair pair;
	make_pair(&pair, key, key);
	check(open_pair(&pair), "not open");
	bool good = true;
	size_t before = 0;
	for (int i = 0; i < 3000 && good; i++) {
		if (i == 1000)
			before = mallinfo2().uordblks;
		char bytes[300];
		memset(bytes, i & 127, sizeof bytes);
		good = !channel_send(pair.client, FRAME_ACK, bytes, (size_t)(i % 300), NULL) &&
		       comes(&pair, FRAME_ACK, bytes, (size_t)(i % 300));
	}
	check(good, "a frame among many is lost");
	check(mallinfo2().uordblks <= before + 4096, "a warm exchange keeps memory: %zu bytes",
		mallinfo2().uordblks - before);
	free_pair(&pair);
}

/* The last frames of a sender that closes the connection arrive, although it has not read the frames for it. */
static void test_finish(const struct key *key)
{
	struct pair pair;
	make_pair(&pair, key, key);
	check(open_pair(&pair), "not open");
	const size_t large = 20000003; /* more than sockets can hold */
	char *bytes = pattern(large, 9);
	for (int i = 0; i < 3; i++)
		channel_send(pair.server, FRAME_STEP, bytes, 300000, NULL);
	channel_send(pair.client, FRAME_STEP, bytes, large, NULL);
	channel_send(pair.client, FRAME_STOP, "over", 4, NULL);
	channel_finish(pair.client);
	check(comes(&pair, FRAME_STEP, bytes, large) && comes(&pair, FRAME_STOP, "over", 4),
		"the last frames are lost");
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	while (!pair.server_status && clock_now_ns() < end_ns)
		work(&pair);
	check(pair.server_status == TROUPE_EPEER && !strcmp(pair.server_error.text, "server: closed the connection"),
		"its end is not seen: %s", pair.server_error.text);
	free(bytes);
	free_pair(&pair);
}

static void test_not_reading(const struct key *key)
{
	int fds[2];
	struct channel *channel = NULL;
	struct channel_options options = {.role = CHANNEL_SERVER, .queue_max = 1 << 20};
	struct troupe_error error = {0};
	(void)key;
	if (!tcp_pair(fds) || channel_create(fds[1], "sloth", &options, 0, &channel, NULL))
		abort();
	char *bytes = pattern(100000, 3);
	troupe_status status = TROUPE_OK;
	for (int i = 0; i < 1000 && !status; i++)
		status = channel_send(channel, FRAME_STEP, bytes, 100000, &error);
	check(status == TROUPE_ELIMIT && strstr(error.text, "sloth: does not receive"),
		"what is not read is queued for ever: %s", error.text);
	check(channel_pending(channel) < 2 << 20, "%zu bytes wait", channel_pending(channel));
	channel_destroy(channel);
	close(fds[0]);
	free(bytes);
}

/* --- unknown peers ------------------------------------------------------------------------------------------------ */

static void keys_differ(
	const struct key *client, const struct key *server, const char *client_says, const char *server_says)
{
	struct pair pair;
	make_pair(&pair, client, server);
	channel_send(pair.client, FRAME_HELLO, "hello", 5, NULL);
	uint64_t begin_ns = clock_now_ns(), end_ns = begin_ns + LIMIT_NS;
	enum frame_type type;
	const char *bytes;
	size_t count;
	while (clock_now_ns() < end_ns && !(pair.client_status && pair.server_status)) {
		work(&pair);
		if (!pair.server_status &&
			channel_receive(pair.server, &type, &bytes, &count, &pair.server_status, &pair.server_error))
			break;
		if (pair.server_status && pair.server) { /* as a peer does that has detected the error */
			channel_destroy(pair.server);
			pair.server = NULL;
			while (!pair.client_status && clock_now_ns() < end_ns) {
				channel_receive(
					pair.client, &type, &bytes, &count, &pair.client_status, &pair.client_error);
				if (!pair.client_status)
					pair.client_status =
						channel_work(pair.client, clock_now_ns(), &pair.client_error);
			}
			break;
		}
	}
	check(pair.server_status && strstr(pair.server_error.text, server_says), "the server says '%s', not '%s'",
		pair.server_error.text, server_says);
	check(pair.client_status && strstr(pair.client_error.text, client_says), "the client says '%s', not '%s'",
		pair.client_error.text, client_says);
	check(clock_now_ns() - begin_ns < LIMIT_NS, "the error is detected too late");
	free_pair(&pair);
}

/* A connection that is closed with unread data is reset, and the next write fails. Not with TLS. */
static void test_last_words(void)
{
	struct pair pair;
	enum frame_type type = FRAME_ACK;
	const char *bytes = NULL;
	size_t count = 0;
	troupe_status bad;
	struct pollfd fd;
	make_pair(&pair, NULL, NULL);
	check(open_pair(&pair), "last words: not open");
	check(!channel_send(pair.client, FRAME_ACK, "unread", 6, NULL), "last words: not sent");
	fd = (struct pollfd){channel_fd(pair.server), POLLIN, 0};
	(void)poll(&fd, 1, LIMIT_NS / MS);
	check(!channel_send(pair.server, FRAME_STOP, "why", 3, NULL), "last words: not said");
	channel_destroy(pair.server);
	pair.server = NULL;
	fd = (struct pollfd){channel_fd(pair.client), 0, 0};
	(void)poll(&fd, 1, LIMIT_NS / MS);
	check(channel_send(pair.client, FRAME_ACK, "more", 4, NULL) == TROUPE_EPEER, "last words: it took more");
	check(channel_work(pair.client, clock_now_ns(), NULL) == TROUPE_EPEER, "last words: it goes on");
	bool came = channel_receive(pair.client, &type, &bytes, &count, &bad, NULL);
	check(came && type == FRAME_STOP && count == 3 && !memcmp(bytes, "why", 3), "last words: are lost");
	free_pair(&pair);
}

static void test_keys(void)
{
	keys_differ(&other_key, &one_key, "the TLS handshake failed: it has no key, or another key than this process",
		"server: the TLS handshake failed: it has no key, or another key than this process");
	keys_differ(NULL, &one_key,
		"closed the connection before it sent anything: it may have a key, and this process has none",
		"server: it does not speak TLS: it has no key, and this process has one");
	keys_differ(&one_key, NULL, "during the TLS handshake: it may have no key, and this process has one",
		"server: it speaks TLS: it has a key, and this process has none");
}

/* The outcome when an unknown peer sends raw bytes to a server that has just accepted its connection. */
static void unknown_peer_sends(const void *bytes, size_t count, const char *words)
{
	int fds[2];
	struct channel *channel = NULL;
	struct channel_options options = {.role = CHANNEL_SERVER};
	struct troupe_error error = {0};
	enum frame_type type;
	const char *got;
	size_t got_count, before = mallinfo2().uordblks;
	troupe_status status = TROUPE_OK;
	if (!tcp_pair(fds) || channel_create(fds[1], "unknown peer", &options, 0, &channel, NULL))
		abort();
	check(send(fds[0], bytes, count, MSG_NOSIGNAL) > 0, "not sent");
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	while (!status && clock_now_ns() < end_ns) {
		poll(&(struct pollfd){channel_fd(channel), POLLIN, 0}, 1, 5);
		status = channel_work(channel, 0, &error);
		if (!status && channel_receive(channel, &type, &got, &got_count, &status, &error))
			break;
	}
	check(status == TROUPE_EPROTOCOL && strstr(error.text, words), "'%s' is not '%s'", error.text, words);
	check(mallinfo2().uordblks < before + 65536, "an unknown peer costs %zu bytes", mallinfo2().uordblks - before);
	channel_destroy(channel);
	close(fds[0]);
}

static void test_rubbish(void)
{
	char *flood = mem_alloc(1 << 20);
	unknown_peer_sends(
		"\0\0\0\x10\x0b....", 9, "unknown peer: a frame STEP of 268435456 bytes: expected at most 1024");
	unknown_peer_sends(
		"\xff\xff\xff\xff\x01", 5, "unknown peer: a frame HELLO of 4294967295 bytes: expected at most 1024");
	unknown_peer_sends("\0\0\0\0\0", 5, "unknown peer: a frame of type 0, which does not exist");
	unknown_peer_sends("GET / HTTP/1.1\r\n\r\n", 18, "unknown peer: a frame of type 47, which does not exist");
	memset(flood, 0xff, 1 << 20);
	unknown_peer_sends(flood, 1 << 20, "unknown peer: a frame of type 255, which does not exist");
	free(flood);
}

/* --- the listener ------------------------------------------------------------------------------------------------- */

static struct listener *listen_here(const struct key *key, uint64_t hello_ns)
{
	struct listener_options options = {.key = key, .hello_ns = hello_ns};
	struct listener *listener = NULL;
	if (address_parse_listen(":0", ADDRESS_PORT, &options.address, NULL) ||
		listener_create(&options, &listener, NULL))
		abort();
	return listener;
}

static int connect_raw(const struct listener *listener)
{
	const struct address *address = listener_address(listener);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(fd, (const struct sockaddr *)(const void *)address->raw, (socklen_t)address->raw_bytes) &&
		errno != EINPROGRESS)
		abort();
	return fd;
}

static void work_listener(struct listener *listener)
{
	struct pollfd fds[LISTENER_POLL_MAX];
	uint64_t now_ns = clock_now_ns(), deadline_ns = listener_deadline_ns(listener, now_ns);
	uint32_t count = listener_poll(listener, now_ns, fds);
	uint64_t wait_ms = deadline_ns > now_ns ? MIN((deadline_ns - now_ns) / MS + 1, 5) : 0;
	poll(fds, count, (int)wait_ms);
	listener_work(listener, clock_now_ns());
}

/* How many rounds of the listener a valid peer takes to join during an attack by unknown peers; -1: it does not. */
static int friend_comes(struct listener *listener, const struct key *key, void (*disturb)(struct listener *))
{
	struct channel_options options = {.role = CHANNEL_CLIENT, .key = key};
	struct channel *friend = NULL, *taken = NULL;
	struct troupe_error error;
	int rounds = 0;
	for (int i = 0; disturb && i < 20; i++) {
		disturb(listener);
		work_listener(listener);
	}
	uint64_t begin_ns = clock_now_ns();
	while (!taken && clock_now_ns() < begin_ns + LIMIT_NS) {
		if (!friend && !channel_connect(listener_address(listener), &options, clock_now_ns(), &friend, &error))
			channel_send(friend, FRAME_HELLO, "hello", 5, NULL);
		if (friend && channel_work(friend, clock_now_ns(), &error)) {
			channel_destroy(friend); /* another connection took its place: it tries again */
			friend = NULL;
		}
		if (disturb)
			disturb(listener);
		work_listener(listener);
		rounds++;
		taken = listener_take(listener);
	}
	rounds = taken ? rounds : -1;
	channel_destroy(friend);
	channel_destroy(taken);
	return rounds;
}

static int flood_fds[4096];
static uint32_t flood_count;

static void flood_silent(struct listener *listener)
{
	for (int i = 0; i < 8 && flood_count < 600; i++)
		flood_fds[flood_count++] = connect_raw(listener);
}

static void flood_rubbish(struct listener *listener)
{
	for (int i = 0; i < 8 && flood_count < 600; i++) {
		int fd = flood_fds[flood_count++] = connect_raw(listener);
		(void)!send(fd, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11, MSG_NOSIGNAL);
	}
}

static void end_flood(void)
{
	while (flood_count)
		close(flood_fds[--flood_count]);
}

static void test_floods(const struct key *key)
{
	enum { ROUNDS_MAX = 100 }; /* each waits for 5 ms, or until something comes */
	struct listener *listener = listen_here(key, 300 * MS);
	int rounds = friend_comes(listener, key, NULL);
	check(rounds >= 0 && rounds <= ROUNDS_MAX, "a valid peer joins after %d rounds", rounds);
	size_t before = mallinfo2().uordblks;
	rounds = friend_comes(listener, key, flood_silent);
	check(rounds >= 0 && rounds <= ROUNDS_MAX, "among silent unknown peers a valid peer joins after %d rounds",
		rounds);
	printf("a valid peer joins after %d rounds among silent unknown peers", rounds);
	end_flood();
	rounds = friend_comes(listener, key, flood_rubbish);
	check(rounds >= 0 && rounds <= ROUNDS_MAX,
		"among unknown peers that send rubbish a valid peer joins after %d rounds", rounds);
	printf(", %d rounds among unknown peers that send rubbish (%s)\n", rounds, key ? "TLS" : "no TLS");
	flood_silent(listener);
	flood_silent(listener);
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	struct pollfd fds[LISTENER_POLL_MAX];
	while (clock_now_ns() < end_ns &&
		(listener_counts(listener).late < 8 || listener_poll(listener, UINT64_MAX / 2, fds) > 1))
		work_listener(listener);
	struct listener_counts counts = listener_counts(listener);
	check(counts.late >= 8, "silent unknown peers stay");
	check(counts.accepted == counts.taken + counts.late + counts.dropped + counts.broken,
		"the counts of connections do not add up");
	struct address address;
	struct troupe_error why = {0};
	check(listener_take_refusal(listener, &address, &why) && *why.text && address_is_loopback(&address),
		"no refusal is reported");
	for (int i = 1; i < LISTENER_REFUSALS_MAX; i++)
		check(listener_take_refusal(listener, &address, &why), "only %d refusals of a flood are reported", i);
	check(!listener_take_refusal(listener, &address, &why), "too many refusals of a flood are reported");
	check(mallinfo2().uordblks < before + (4 << 20), "floods leave %zu bytes", mallinfo2().uordblks - before);
	end_flood();
	listener_destroy(listener);
}

/* A host that holds all places loses the oldest one for each new connection: it gains nothing, and the number of places
 * stays bounded. */
static void test_places(void)
{
	enum { COMERS = LISTENER_WAITING_MAX + 36 };
	struct listener *listener = listen_here(NULL, LIMIT_NS);
	struct pollfd fds[LISTENER_POLL_MAX];
	for (int i = 0; i < COMERS; i++)
		flood_fds[flood_count++] = connect_raw(listener);
	uint64_t end_ns = clock_now_ns() + LIMIT_NS;
	while (listener_counts(listener).accepted < COMERS && clock_now_ns() < end_ns)
		work_listener(listener);
	check(listener_counts(listener).accepted == COMERS, "not all connections are accepted");
	check(listener_counts(listener).dropped == COMERS - LISTENER_WAITING_MAX, "%d connections were dropped",
		(int)listener_counts(listener).dropped);
	check(listener_poll(listener, UINT64_MAX / 2, fds) == LISTENER_WAITING_MAX + 1, "too many connections wait");
	struct address address;
	struct troupe_error why = {0};
	check(listener_take_refusal(listener, &address, &why) && strstr(why.text, "made room for another connection"),
		"the reason is missing: '%s'", why.text);
	end_flood();
	listener_destroy(listener);
}

/* A client with TLS whose handshake never ends. */
static void test_slow_handshake(void)
{
	struct listener *listener = listen_here(&one_key, 200 * MS);
	int fd = connect_raw(listener);
	uint64_t begin_ns = clock_now_ns();
	static const char begin[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc";
	size_t sent = 0;
	while (!listener_counts(listener).late && clock_now_ns() < begin_ns + LIMIT_NS) {
		if (sent < sizeof begin - 1)
			sent += send(fd, begin + sent, 1, MSG_NOSIGNAL) == 1;
		work_listener(listener);
	}
	check(clock_now_ns() - begin_ns < LIMIT_NS, "the listener waits for a slow handshake");
	check(listener_counts(listener).late + listener_counts(listener).broken == 1,
		"the slow client is still connected");
	close(fd);
	listener_destroy(listener);
}

static void test_where_to_listen(void)
{
	struct listener_options options = {0};
	struct listener *listener = NULL, *second = NULL;
	struct troupe_error error;
	address_parse_listen("*:0", ADDRESS_PORT, &options.address, NULL);
	check(listener_create(&options, &listener, &error) == TROUPE_EINVAL && strstr(error.text, "no key"),
		"a listener without key accepts from any network");
	options.insecure = true;
	check(!listener_create(&options, &listener, &error), "insecure does not work: %s", error.text);
	if (!listener)
		return;
	options.address = *listener_address(listener);
	options.in_use = ": is it another primary?";
	check(listener_create(&options, &second, &error) == TROUPE_EIO &&
			strstr(error.text, "cannot listen on 0.0.0.0:") &&
			strstr(error.text, ": Address already in use: is it another primary?"),
		"two listeners have one address");
	listener_destroy(listener);
}

/* --- addresses and keys ------------------------------------------------------------------------------------------- */

static void address_is(const char *text, bool listens, const char *expected)
{
	struct address address = {0};
	struct troupe_error error;
	char got[ADDRESS_TEXT_BYTES] = "";
	troupe_status status =
		listens ? address_parse_listen(text, 7, &address, &error) : address_parse(text, 7, &address, &error);
	if (!status)
		address_text(&address, got);
	check(!strcmp(got, expected), "'%s' is '%s', not '%s'", text, got, expected);
}

static void test_addresses(void)
{
	address_is("10.0.0.3", false, "10.0.0.3:7");
	address_is("10.0.0.3:4711", false, "10.0.0.3:4711");
	address_is("[::1]:4711", false, "[::1]:4711");
	address_is("::1", false, "[::1]:7");
	address_is(":9", false, "127.0.0.1:9");
	address_is("*", true, "0.0.0.0:7");
	address_is("", true, "127.0.0.1:7");
	address_is("127.0.0.1:0", true, "127.0.0.1:0");
	static const char *const bad[] = {"10.0.0.3:", "10.0.0.3:x", "10.0.0.3:65536", "10.0.0.3:-1", "[::1",
		"[::1]4711", "10.0.0.3:0", "1.2.3.4:5 "};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		address_is(bad[i], false, "");
}

static void test_key_file(void)
{
	char folder[] = "/tmp/troupe.XXXXXX";
	struct key key, again;
	struct troupe_error error;
	if (!mkdtemp(folder))
		abort();
	char *path = mem_printf("%s/a/key", folder), *above = mem_printf("%s/a", folder);
	check(!key_create(path, &error) && !key_read(path, &key, &error), "a key is not made, or not read: %s",
		error.text);
	check(!key_read(path, &again, NULL) && !memcmp(&key, &again, sizeof key),
		"a key that is read again is another one");
	chmod(path, 0640);
	check(key_read(path, &again, &error) == TROUPE_EIO && strstr(error.text, "other users may read it (mode 0640)"),
		"a key that other users may read is accepted");
	chmod(path, 0600);
	struct stat status;
	check(!stat(path, &status) && !truncate(path, status.st_size - 1) &&
			key_read(path, &again, &error) == TROUPE_EINVAL,
		"a key whose line does not end, so that it may be cut off, is accepted");
	FILE *file = fopen(path, "a");
	check(file && fputc('0', file) == '0' && !fclose(file) && key_read(path, &again, &error) == TROUPE_EINVAL,
		"a key with one more digit instead of the line end is accepted");
	check(!truncate(path, 40) && key_read(path, &again, &error) == TROUPE_EINVAL, "half a key is accepted");
	check(key_read(above, &again, &error) == TROUPE_EIO, "a folder is accepted as a key");
	check(key_create(path, &error) == TROUPE_EIO, "a key is overwritten");
	unlink(path);
	rmdir(above);
	rmdir(folder);
	free(path);
	free(above);
}

/* --- discovery ---------------------------------------------------------------------------------------------------- */

static struct discovery *discover(enum hello_role role, const struct key *key, const char *partition, uint16_t port)
{
	struct discovery_options options = {
		.role = role, .loopback_only = true, .key = key, .partition = partition, .port = port};
	struct discovery *discovery = NULL;
	struct troupe_error error;
	if (discovery_create(&options, &discovery, &error))
		printf("no multicast here: %s\n", error.text);
	return discovery;
}

static uint16_t free_port(void)
{
	static uint16_t next;
	return (uint16_t)(20000 + getpid() * 64 % 12000 + next++); /* below the range of outgoing connections */
}

static const struct announcement of_primary = {.kind = ANNOUNCE_HERE, .port = 4711, .secondaries = 2, .name = "host:1"},
				 of_secondary = {.kind = ANNOUNCE_HERE, .id = {1}, .name = "host:2"};

/* Whether `discovery` receives an announcement within this time, while `other`, if it is not NULL, announces on its
 * schedule. */
static bool hears_of(struct discovery *discovery, struct discovery *other, const struct announcement *announced,
	struct announcement *ret, struct address *ret_address, uint64_t wait_ms)
{
	uint64_t end_ns = clock_now_ns() + wait_ms * MS;
	struct announcement unwanted;
	struct address nowhere;
	while (clock_now_ns() < end_ns) {
		uint64_t now_ns = clock_now_ns();
		if (other && now_ns >= discovery_send_at_ns(other))
			(void)discovery_send(other, announced, now_ns, NULL);
		poll(&(struct pollfd){discovery_fd(discovery), POLLIN, 0}, 1, 1);
		if (discovery_receive(discovery, clock_now_ns(), ret, ret_address))
			return true;
		while (other && discovery_receive(other, clock_now_ns(), &unwanted, &nowhere))
			;
	}
	return false;
}

/* Whether the secondary receives the primary's answer to its question. It gives up after this time, when it has dropped
 * an announcement. */
static bool meets(struct discovery *secondary, struct discovery *primary, struct announcement *ret,
	struct address *ret_address, uint64_t wait_ms)
{
	uint64_t begin_ns = clock_now_ns(), now_ns = begin_ns;
	for (; now_ns < begin_ns + LIMIT_NS; now_ns = clock_now_ns()) {
		if (now_ns >= begin_ns + wait_ms * MS && discovery_counts(secondary).dropped)
			return false;
		if (clock_now_ns() >= discovery_send_at_ns(secondary))
			(void)discovery_send(secondary, &of_secondary, clock_now_ns(), NULL);
		if (hears_of(secondary, primary, &of_primary, ret, ret_address, 20))
			return true;
	}
	return false;
}

static void test_discovery(const struct key *key, const struct key *wrong)
{
	const char *why_not = !wrong ? "has a key, and this process has none"
			      : key  ? "has another key than this process"
				     : "has no key, and this process has one";
	const char *why = "";
	uint16_t port = free_port();
	struct discovery *here = discover(HELLO_PRIMARY, key, "p", port),
			 *there = discover(HELLO_SECONDARY, key, "p", port),
			 *foreign = discover(HELLO_SECONDARY, key, "q", port),
			 *unknown_peer = discover(HELLO_SECONDARY, wrong, "p", port),
			 *rival = discover(HELLO_PRIMARY, key, "p", port);
	struct announcement got;
	struct address address;
	struct troupe_error error;
	if (!here || !there || !foreign || !unknown_peer || !rival ||
		discovery_send(here, &of_primary, clock_now_ns(), &error)) {
		skipped++;
		printf("skipped: announcements: no multicast here\n");
	} else {
		char text[ADDRESS_TEXT_BYTES] = "";
		check(!hears_of(there, NULL, NULL, &got, &address, 100),
			"an announcement that was not asked for counts");
		bool heard = meets(there, here, &got, &address, LIMIT_NS / MS);
		check(heard && got.port == 4711 && got.secondaries == 2 && !strcmp(got.partition, "p"), "not heard");
		if (heard)
			address_text(&address, text);
		check(strstr(text, ":4711") && address_is_loopback(&address), "the primary's address is '%s'", text);
		check(!meets(foreign, here, &got, &address, 100),
			"a secondary of another partition accepts the announcement");
		check(discovery_counts(foreign).dropped > 0, "the other partition did not receive the announcement");
		check(!meets(unknown_peer, here, &got, &address, 100) && discovery_counts(unknown_peer).dropped > 0,
			"a secondary with another key, or none, accepts the announcement");
		check(discovery_take_useless(unknown_peer, &got, &address, &why) && !strcmp(why, why_not) &&
				address_port(&address) == 4711,
			"the reason is not that the primary %s: '%s'", why_not, why);
		check(!discovery_take_useless(unknown_peer, &got, &address, &why) &&
				!discovery_take_useless(foreign, &got, &address, &why),
			"an announcement of another partition is reported as one with another key");
		(void)hears_of(rival, NULL, NULL, &got, &address, 50);
		uint64_t before = discovery_counts(rival).glanced;
		(void)discovery_send(here, &of_primary, clock_now_ns(), NULL);
		bool misheard = false;
		for (int i = 0; i < 600 && discovery_counts(rival).glanced == before; i++)
			misheard |= hears_of(rival, NULL, NULL, &got, &address, 100);
		check(!misheard && discovery_counts(rival).glanced == before + 1,
			"a primary accepts another primary's announcement");
	}
	discovery_destroy(here);
	discovery_destroy(there);
	discovery_destroy(foreign);
	discovery_destroy(unknown_peer);
	discovery_destroy(rival);
}

/* A secondary that finds no primary is told of those that await none. */
static void test_full_primaries(void)
{
	const char *const reasons[] = {"has all its secondaries", "has begun its run"};
	uint16_t port = free_port();
	struct discovery *primary = discover(HELLO_PRIMARY, NULL, "p", port);
	struct discovery *secondary = discover(HELLO_SECONDARY, NULL, "p", port);
	struct announcement got, full = of_primary;
	struct address address;
	const char *why = "";
	full.present = full.secondaries;
	for (int i = 0; i < 2 && primary && secondary; i++) {
		full.kind = i ? ANNOUNCE_FIXED : ANNOUNCE_HERE;
		bool told = false;
		for (int tries = 0; tries < 600 && !told; tries++) {
			(void)hears_of(secondary, primary, &full, &got, &address, 100);
			told = discovery_take_useless(secondary, &got, &address, &why);
		}
		check(told && !strcmp(why, reasons[i]) && got.present == 2 && address_port(&address) == full.port,
			"a primary that awaits none: it %s: expected %s", why, reasons[i]);
	}
	discovery_destroy(primary);
	discovery_destroy(secondary);
}

/* By its name or address; what is none of this machine, or not loopback, is refused. */
static void test_interfaces(void)
{
	const struct {
		const char *interface;
		troupe_status status;
	} cases[] = {{"lo", TROUPE_OK}, {"127.0.0.1", TROUPE_OK}, {"no-such", TROUPE_EINVAL}, {"", TROUPE_EINVAL},
		{"203.0.113.7", TROUPE_EINVAL}, {"127.0.0.", TROUPE_EINVAL}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct discovery_options options = {.role = HELLO_PRIMARY,
			.loopback_only = true,
			.interface = cases[i].interface,
			.port = free_port()};
		struct discovery *discovery = NULL;
		struct troupe_error error = {0};
		troupe_status status = discovery_create(&options, &discovery, &error);
		if (status == TROUPE_EIO) {
			printf("no multicast here: %s\n", error.text);
			skipped++;
			return;
		}
		check(status == cases[i].status && !discovery == (status != TROUPE_OK) &&
				(!status || strstr(error.text, "no such network interface: expected one that is up")),
			"interface '%s': %s", cases[i].interface, error.text);
		discovery_destroy(discovery);
	}
}

/* The value in PROTOCOL.md, which another implementation computed. One MAC has no effect on the next one. */
static void test_mac(void)
{
	static const char right[] = "dc6ed598b58879a1449f32664b9e1a1d7baa54f39825c0f73850b850305b9490";
	static const unsigned char from[] = {10, 0, 0, 3};
	struct tls_mac *mac = tls_mac_create(&one_key);
	for (int i = 0; i < 2; i++) {
		unsigned char bytes[KEY_MAC_BYTES];
		char text[2 * KEY_MAC_BYTES + 1];
		tls_mac(mac, "what is announced", 17, from, sizeof from, bytes);
		for (int k = 0; k < KEY_MAC_BYTES; k++)
			(void)snprintf(text + 2 * k, 3, "%02x", bytes[k]);
		check(!strcmp(text, right), "the MAC of an announcement is %s", text);
	}
	tls_mac_destroy(mac);
}

/* A message about an unknown peer is shown once, and many messages at a limited rate. */
static void test_log_limit(void)
{
	struct log_limit limit = {0};
	uint64_t now = 1000000 * MS;
	int count = 0;
	check(log_limit_take(&limit, "a", 1, "x", now) && !log_limit_take(&limit, "a", 1, "x", now),
		"a message is shown twice");
	check(log_limit_take(&limit, "a", 1, "y", now) && log_limit_take(&limit, "b", 1, "x", now),
		"another message is not shown");
	check(!log_limit_take(&limit, "a", 1, "x", now + 1000000 * MS), "a message is shown again later");
	for (int i = 0; i < 10000; i++, now += 10 * MS) /* 100 s */
		count += log_limit_take(&limit, &i, sizeof i, "z", now);
	check(count >= 10 && count <= LOG_LIMIT_BURST + 10, "of 10000 in 100 s %d are shown", count);
}

int main(void)
{
	const struct key *key = key_usable() ? &one_key : NULL;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int tls = 0; tls <= (key != NULL); tls++) {
		test_frames(tls ? key : NULL);
		test_small_steps(tls ? key : NULL);
		test_finish(tls ? key : NULL);
		test_floods(tls ? key : NULL);
	}
	test_not_reading(NULL);
	if (key) {
		test_log_limit();
		test_mac();
		test_keys();
		test_last_words();
		test_slow_handshake();
		test_discovery(key, &other_key);
		test_discovery(key, NULL);
		test_discovery(NULL, key);
	}
	test_full_primaries();
	test_interfaces();
	test_rubbish();
	test_places();
	test_where_to_listen();
	test_addresses();
	test_key_file();
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed > 0;
}
