/* Sends damaged requests and WebSocket frames to a web server in this process (gateway/web), and reads damaged
 * operations of Foxglove's protocol (gateway/foxglove/wire.h). fuzz_web [SEED ROUNDS]; without arguments some hundred
 * rounds. Whatever comes in: the server goes on, forgets each connection, gives a service whole messages within its
 * limit, and answers a good request afterwards. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/clock.h"
#include "base/shown.h"
#include "gateway/foxglove/wire.h"
#include "gateway/web/web.h"
#include "topic/message.h"

#include "../gateway/web_client.h"
#include "rounds.h"

#include <stdatomic.h>

enum { HEAR_MAX = 1000, FRAMES = 200 };

static struct web *web;
static _Atomic int connected, heard;

#define must(good, what) must(good, what, NULL, 0)

static void *open_peer(void *ctx, struct web_peer *peer)
{
	(void)ctx;
	connected++;
	return peer;
}

static void hear(void *conn, bool binary, const void *bytes, size_t count)
{
	must(count <= HEAR_MAX, "a message beyond the limit");
	must(binary || shown_is_utf8(count ? bytes : "", count), "text that is not UTF-8");
	heard++;
	(void)web_send(conn, binary, bytes, count);
}

static void close_peer(void *conn)
{
	(void)conn;
	connected--;
}

static void start(void)
{
	static const char *const names[] = {"echo", NULL};
	static const struct web_service service = {
		.names = names, .hear_bytes_max = HEAR_MAX, .open = open_peer, .hear = hear, .close = close_peer};
	static const struct web_file file = {.path = "/", .type = "text/plain", .bytes = "hello", .count = 5};
	static const struct web_def def = {.files = &file, .file_count = 1, .services = &service, .service_count = 1};
	struct troupe_error error;
	if (web || !web_is_available())
		return;
	if (web_start(&def, &web, &error)) {
		fprintf(stderr, "fuzz_web: %s\n", error.text);
		exit(1);
	}
}

static void send_stream(const char *bytes, size_t count)
{
	struct text answer = {0};
	int file = client_connect(web_port(web));
	must(file >= 0, "no connection");
	(void)client_send(file, bytes, count);
	shutdown(file, SHUT_WR);
	client_read_all(file, false, &answer);
	close(file);
	text_fini(&answer);
}

static void read_operation(const char *bytes, size_t count)
{
	Troupe__Msgs__FoxgloveRequest *request;
	struct troupe_error error = {.text = ""};
	char *copy =
		mem_alloc(count + !count); /* of exactly this size, so that a sanitizer sees every look beyond it */
	memcpy(copy, bytes, count);
	struct wire_binary binary = wire_read_binary(copy, count);
	if (binary.kind != WIRE_BAD)
		must(binary.body + binary.count == copy + count, "a body that is not the rest of the message");
	if (binary.kind == WIRE_CALL)
		must(binary.encoding >= copy && binary.encoding + binary.encoding_count == binary.body, "an encoding");
	if (wire_read_request(copy, count, &request, &error))
		must(*error.text && !strchr(error.text, '\n'), "no line");
	else
		message_free(&request->base);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	start();
	read_operation((const char *)bytes, count);
	if (web)
		send_stream((const char *)bytes, count);
	return 0;
}

#ifndef WITHOUT_MAIN

enum { SEEDS = 6, ROUNDS = 200 };
static struct text corpus[SEEDS];

static void make_corpus(void)
{
	static const char filler[FRAMES];
	static const char upgrade[] = "Sec-WebSocket-Protocol: echo\r\n";
	static const char call[] = "\2\7\0\0\0\1\0\0\0\4\0\0\0json{}";
	text_add(&corpus[0], "GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\nConnection: keep-alive\r\n\r\n"
			     "GET /none?token=%%41 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n");
	client_add_upgrade(&corpus[1], "/", "localhost", upgrade);
	client_add_frame(&corpus[1], 0x81, "hello", 5);
	client_add_frame(&corpus[1], 0x01, "in ", 3);
	client_add_frame(&corpus[1], 0x89, "ping", 4);
	client_add_frame(&corpus[1], 0x80, "pieces", 6);
	client_add_upgrade(&corpus[2], "/?token=x", "[::1]:80", upgrade);
	for (int i = 0; i < FRAMES; i++)
		client_add_frame(&corpus[2], 0x82, filler, (size_t)i);
	client_add_frame(&corpus[2], 0x88, "\3\350", 2);
	text_add(&corpus[3], "%s", "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":2}],\"x\":[{}]}");
	text_add(&corpus[4], "%s",
		"{\"op\":\"advertise\",\"channels\":[{\"id\":1,\"topic\":\"/"
		"t\",\"encoding\":\"json\",\"schemaName\":\"T\"}]}");
	text_add_bytes(&corpus[5], call, sizeof call - 1);
}

static void damage(struct text *text)
{
	static const char *const words[] = {"\r\n", "Host: x\r\n", "Upgrade: websocket\r\n", "Connection: close\r\n",
		"Content-Length: 99999999999\r\n", "\xff\xff\xff\xff", "%00", "../", "\x81\xfe\xff\xff", "\x88\x80"};
	size_t at = rounds_below(text->count + 1);
	const char *word = words[rounds_below(ARRAY_LEN(words))];
	char byte = (char)rounds_below(256);
	switch (rounds_below(4)) {
	case 0:
		rounds_replace(text, at, 1, &byte, 1);
		break;
	case 1:
		rounds_replace(text, at, rounds_below(32), "", 0);
		break;
	default:
		rounds_replace(text, at, rounds_below(8), word, strlen(word));
	}
}

int main(int argc, char **argv)
{
	const char *folder = seeds_wanted(argc, argv);
	make_corpus();
	for (unsigned i = 0; folder && i < SEEDS; i++)
		seeds_write(folder, "web", i, corpus[i].at, corpus[i].count);
	if (folder)
		return 0;
	if (argc > 2)
		rounds_state = strtoull(argv[1], NULL, 10);
	size_t rounds = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : ROUNDS;
	start();
	for (int i = 0; i < SEEDS; i++)
		rounds_run(corpus[i].at, corpus[i].count, rounds, damage);
	int before = heard;
	if (web) {
		must(before > FRAMES, "the good messages are not heard");
		send_stream(corpus[1].at, corpus[1].count);
		for (int i = 0; i < 2000 && (connected || heard < before + 2); i++)
			clock_sleep_until_ns(clock_now_ns() + 1000000);
		must(heard == before + 2, "a good client is not served after the bad ones");
		must(!connected, "a connection is not forgotten");
	}
	web_end(web);
	printf("%zu rounds of each of %d: %d messages heard\n1 passed, 0 failed\n", rounds, SEEDS, (int)heard);
	for (int i = 0; i < SEEDS; i++)
		text_fini(&corpus[i]);
	return 0;
}

#endif
