/* Measures what the web server of gateways (gateway/web) costs: it sends each of a number of messages to some clients,
 * as for browsers that watch the same run. The baseline writes the same bytes, with heads of frames, to the same number
 * of bare sockets. In both a thread reads all sockets and looks at nothing. */
#include "bench.h"

#include "base/hash.h"
#include "base/text.h"
#include "gateway/web/web.h"

#include "../tests/gateway/web_client.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CLIENTS_MAX = 16, HEAD = 4 };

struct reader { /* of all clients; ends when so many bytes have come */
	int files[CLIENTS_MAX], count;
	uint64_t bytes, wanted, hash;
};

struct sender { /* the service */
	struct web_peer *peers[CLIENTS_MAX];
	_Atomic int count;
	char message[65536];
	_Atomic uint64_t bytes, messages;
	uint64_t sent[CLIENTS_MAX];
	_Atomic bool going;
};

static void die(const char *why)
{
	fprintf(stderr, "bench_web: %s\n", why);
	exit(1);
}

static void *read_all(void *ctx)
{
	struct reader *reader = ctx;
	struct pollfd fds[CLIENTS_MAX];
	static char piece[1 << 16];
	for (int i = 0; i < reader->count; i++)
		fds[i] = (struct pollfd){reader->files[i], POLLIN, 0};
	while (reader->bytes < reader->wanted) {
		(void)poll(fds, (nfds_t)reader->count, 1000);
		for (int i = 0; i < reader->count; i++) {
			ssize_t got = fds[i].revents ? recv(fds[i].fd, piece, sizeof piece, MSG_DONTWAIT) : 0;
			if (got > 0)
				reader->bytes += (uint64_t)got;
		}
	}
	return NULL;
}

/* --- the web server ----------------------------------------------------------------------------------------------- */

static void *take_client(void *ctx, struct web_peer *peer)
{
	struct sender *sender = ctx;
	sender->peers[sender->count] = peer;
	return &sender->sent[sender->count++];
}

static void hear(void *conn, bool binary, const void *bytes, size_t count)
{
	(void)conn, (void)binary, (void)bytes, (void)count;
}

static void forget(void *conn)
{
	(void)conn;
}

/* Each client has its next messages as long as its queue is short, as a gateway does it. */
static void send_some(void *ctx)
{
	struct sender *sender = ctx;
	if (!sender->going)
		return;
	for (int i = 0; i < sender->count; i++)
		while (sender->sent[i] < sender->messages && web_waiting(sender->peers[i]) < 256 << 10 &&
			web_send(sender->peers[i], true, sender->message, sender->bytes))
			sender->sent[i]++;
}

static struct sender sender;

static void room(void *conn)
{
	(void)conn;
	send_some(&sender);
}

static struct web *start(struct reader *reader, int clients)
{
	static const char *const names[] = {"bench", NULL};
	const struct web_service service = {.names = names,
		.hear_bytes_max = 100,
		.open = take_client,
		.hear = hear,
		.room = room,
		.close = forget,
		.turn = send_some,
		.ctx = &sender};
	const struct web_def def = {.services = &service, .service_count = 1};
	struct troupe_error error;
	struct text request = {0};
	struct web *web;
	if (web_start(&def, &web, &error))
		die(error.text);
	client_add_upgrade(&request, "/", "localhost", "Sec-WebSocket-Protocol: bench\r\n");
	for (int i = 0; i < clients; i++) {
		struct text head = {0};
		int file = client_connect(web_port(web));
		if (!client_send(file, request.at, request.count))
			die("no connection");
		client_read_all(file, true, &head);
		text_fini(&head);
		reader->files[reader->count++] = file;
	}
	text_fini(&request);
	while (sender.count < clients)
		sched_yield();
	return web;
}

static double run_web(struct web *web, struct reader *reader, uint64_t messages, uint64_t bytes)
{
	pthread_t thread;
	uint64_t begin_ns = bench_now_ns();
	sender.bytes = bytes;
	sender.messages += messages;
	reader->wanted += messages * (bytes + HEAD) * (uint64_t)reader->count;
	atomic_store(&sender.going, true);
	web_wake(web);
	if (pthread_create(&thread, NULL, read_all, reader))
		die("no thread");
	pthread_join(thread, NULL);
	atomic_store(&sender.going, false);
	return (double)(messages * (uint64_t)reader->count) / ((double)(bench_now_ns() - begin_ns) * 1e-9);
}

/* --- bare sockets ------------------------------------------------------------------------------------------------- */

static void open_pairs(struct reader *reader, int writers[CLIENTS_MAX], int clients)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t count = sizeof at;
	int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (const struct sockaddr *)&at, sizeof at) || listen(listener, CLIENTS_MAX) ||
		getsockname(listener, (struct sockaddr *)&at, &count))
		die("no sockets");
	for (int i = 0; i < clients; i++) {
		reader->files[reader->count++] = client_connect(ntohs(at.sin_port));
		writers[i] = accept(listener, NULL, NULL);
		(void)setsockopt(writers[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* as the web server */
	}
	close(listener);
}

static double run_bare(const int *writers, struct reader *reader, uint64_t messages, uint64_t bytes)
{
	pthread_t thread;
	uint64_t begin_ns = bench_now_ns();
	reader->wanted += messages * (bytes + HEAD) * (uint64_t)reader->count;
	if (pthread_create(&thread, NULL, read_all, reader))
		die("no thread");
	for (uint64_t m = 0; m < messages; m++)
		for (int i = 0; i < reader->count; i++)
			if (!client_send(writers[i], sender.message, bytes + HEAD))
				die("a socket is closed");
	pthread_join(thread, NULL);
	return (double)(messages * (uint64_t)reader->count) / ((double)(bench_now_ns() - begin_ns) * 1e-9);
}

static void measure(const struct bench_options *options, int clients, uint64_t bytes, uint64_t messages)
{
	struct reader web_reader = {0}, bare_reader = {0};
	struct bench_samples web_rates = {0}, bare_rates = {0};
	int writers[CLIENTS_MAX];
	char subject[128];
	(void)snprintf(
		subject, sizeof subject, "%d clients, messages of %llu bytes", clients, (unsigned long long)bytes);
	memset(&sender, 0, sizeof sender);
	struct web *web = start(&web_reader, clients);
	open_pairs(&bare_reader, writers, clients);
	for (int repeat = -1; repeat < options->repeats; repeat++) {
		bench_progress(options, subject, repeat);
		double with = run_web(web, &web_reader, messages, bytes);
		double bare = run_bare(writers, &bare_reader, messages, bytes);
		if (repeat < 0)
			continue;
		bench_add(&web_rates, with);
		bench_add(&bare_rates, bare);
	}
	const struct bench_row row = {.subject = subject,
		.unit = "messages/s",
		.values = &web_rates,
		.baselines = &bare_rates,
		.at_least = 0.5,
		.hash = hash_mix(web_reader.bytes, bare_reader.bytes)};
	bench_print(options, &row);
	web_end(web);
	for (int i = 0; i < clients; i++) {
		close(web_reader.files[i]);
		close(bare_reader.files[i]);
		close(writers[i]);
	}
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "web server: messages to several clients, beside bare sockets");
	uint64_t messages = options.smoke ? 200 : 20000;
	measure(&options, 1, 1000, messages * 4);
	measure(&options, 8, 1000, messages);
	measure(&options, 8, 60000, messages / 10);
	return 0;
}
