/* The web server (src/gateway/web) against clients that send what they like: which paths, Hosts, Origins, tokens and
 * protocols it takes, what it answers, its limits, and that slow, silent or vanished clients delay no other.
 * Without the checks a page of any site could command a run on its visitor's machine. */
#include "../fault/check.h"

#include "base/clock.h"
#include "gateway/web/admit.h"
#include "gateway/view/panels.h"
#include "gateway/web/web.h"

#include "web_client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MS UINT64_C(1000000)
enum { LAST_BYTES = 10000 };
/* What is done at once takes less, on a busy machine, too, and what waits for WEB_REQUEST_MS takes longer. */
enum { AT_ONCE_MS = 8000 };
static const char token[] = "abcdefghijklmnop_-12";

/* --- a service that sends back ------------------------------------------------------------------------------------ */

struct echo {
	struct web *web;
	_Atomic int open, rooms, turns, sent, lost, limit;
	struct guest *newest; /* of those that are connected */
	int lasts;            /* messages for each of them at the end */
};

struct guest {
	struct echo *echo;
	struct web_peer *peer;
	struct guest *before, *after;
};

static void *echo_open(void *ctx, struct web_peer *peer)
{
	struct echo *echo = ctx;
	if (echo->limit && echo->open >= echo->limit)
		return NULL;
	struct guest *guest = mem_alloc(sizeof *guest);
	*guest = (struct guest){echo, peer, echo->newest, NULL};
	if (echo->newest)
		echo->newest->after = guest;
	echo->newest = guest;
	echo->open++;
	return guest;
}

/* "flood N BYTES" sends messages until the queue is full, "close CODE" closes; all else comes back. */
static void echo_hear(void *conn, bool binary, const void *bytes, size_t count)
{
	struct guest *guest = conn;
	char word[64];
	unsigned number = 0, size = 0;
	(void)snprintf(word, sizeof word, "%.*s", (int)MIN(count, sizeof word - 1), (const char *)bytes);
	if (sscanf(word, "flood %u %u", &number, &size) == 2) {
		char *block = mem_alloc(size);
		for (; number > 0; number--)
			atomic_fetch_add(
				web_send(guest->peer, true, block, size) ? &guest->echo->sent : &guest->echo->lost, 1);
		free(block);
	} else if (sscanf(word, "close %u", &number) == 1) {
		web_close(guest->peer, (uint16_t)number, "as you say");
	} else {
		web_send(guest->peer, binary, bytes, count);
	}
}

static void echo_room(void *conn)
{
	struct guest *guest = conn;
	guest->echo->rooms++;
}

static void echo_close(void *conn)
{
	struct guest *guest = conn;
	if (guest->after)
		guest->after->before = guest->before;
	else
		guest->echo->newest = guest->before;
	if (guest->before)
		guest->before->after = guest->after;
	guest->echo->open--;
	free(guest);
}

static void echo_last(void *ctx)
{
	const struct echo *echo = ctx;
	char block[LAST_BYTES] = "last";
	for (const struct guest *guest = echo->newest; guest; guest = guest->before)
		for (int i = 0; i < echo->lasts; i++)
			web_send(guest->peer, true, block, sizeof block);
}

static void echo_turn(void *ctx)
{
	struct echo *echo = ctx;
	echo->turns++;
}

static const char *const names[] = {"echo.v1", "echo.v2", NULL};
static const char *const strict_names[] = {"strict", NULL};
static const char *const long_names[] = {"long", NULL};
static const char *const friends[] = {"https://friend.example", NULL};
static const struct web_file files[] = {
	{.path = "/", .type = "text/html; charset=utf-8", .bytes = "<p>hello", .count = 8},
	{.path = "/style.css", .type = "text/css; charset=utf-8", .bytes = "p {}", .count = 4},
	{.path = "/empty", .type = "text/plain", .bytes = "", .count = 0}};

static bool find(void *ctx, const char *path, struct web_file *ret_file)
{
	(void)ctx;
	if (!strcmp(path, "/secret/page"))
		*ret_file = (struct web_file){.path = "/secret/page",
			.type = "text/html",
			.bytes = "panel",
			.count = 5,
			.framed = true,
			.policy = "sandbox allow-scripts"};
	if (strcmp(path, "/found") != 0)
		return !strcmp(path, "/secret/page");
	*ret_file = (struct web_file){.path = "/found", .type = "image/png", .bytes = "png", .count = 3, .lasts = true};
	return true;
}

static struct web *start(struct echo *echo, const char *with_token, struct web_def def)
{
	const struct web_service services[] = {{.names = names,
						       .origins = friends,
						       .local_origins = true,
						       .hear_bytes_max = 100000,
						       .open = echo_open,
						       .hear = echo_hear,
						       .room = echo_room,
						       .close = echo_close,
						       .turn = echo_turn,
						       .last = echo_last,
						       .ctx = echo},
		{.names = strict_names,
			.hear_bytes_max = 100,
			.open = echo_open,
			.hear = echo_hear,
			.close = echo_close,
			.ctx = echo},
		{.names = long_names,
			.hear_bytes_max = 8 << 20,
			.open = echo_open,
			.hear = echo_hear,
			.close = echo_close,
			.ctx = echo}};
	struct troupe_error error;
	struct web *web;
	def.token = with_token;
	def.files = files;
	def.file_count = ARRAY_LEN(files);
	def.services = services;
	def.service_count = ARRAY_LEN(services);
	if (web_start(&def, &web, &error)) {
		printf("no web server: %s\n0 passed, 1 failed\n", error.text);
		exit(1);
	}
	echo->web = web;
	return web;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void ask(uint16_t port, const char *request, struct text *answer)
{
	int file = client_connect(port);
	client_send(file, request, strlen(request));
	client_read_all(file, false, answer);
	close(file);
}

/* A request of one connection has the status. %H in it is the server's host and port. */
static void expect(uint16_t port, const char *request, const char *status, const char *has)
{
	struct text text = {0}, answer = {0};
	const char *at = strstr(request, "%H");
	text_add(&text, "%.*s", (int)(at ? at - request : (long)strlen(request)), request);
	if (at)
		text_add(&text, "127.0.0.1:%u%s", port, at + 2);
	ask(port, text.at, &answer);
	check(!strncmp(answer.at, "HTTP/1.1 ", MIN(answer.count, (size_t)9)) && answer.count > 12 &&
			!strncmp(answer.at + 9, status, 3),
		"'%.60s': '%.60s' instead of %s", request, answer.at, status);
	if (has)
		check(strstr(answer.at, has) != NULL, "'%.60s': no '%s' in: %s", request, has, answer.at);
	check(strstr(answer.at, "x-content-type-options: nosniff\r\n") &&
			strstr(answer.at, "referrer-policy: no-referrer\r\n") &&
			strstr(answer.at, "cache-control: no-store\r\n") &&
			strstr(answer.at, "content-security-policy: default-src 'none'\r\n"),
		"'%.60s': a header is missing in: %s", request, answer.at);
	text_fini(&text);
	text_fini(&answer);
}

/* Closed, or refused. */
static void expect_nothing(uint16_t port, const char *request)
{
	struct text answer = {0};
	ask(port, request, &answer);
	check(!answer.count || !strncmp(answer.at, "HTTP/1.1 4", 10), "'%.60s': %s", request, answer.at);
	text_fini(&answer);
}

#define END "\r\nConnection: close\r\n\r\n"
#define UPGRADE "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static void test_pages(void)
{
	struct echo echo = {0};
	struct web *web = start(&echo, NULL, (struct web_def){0});
	uint16_t port = web_port(web);
	char address[128], wanted[128];
	web_address(web, "http", address, sizeof address);
	(void)snprintf(wanted, sizeof wanted, "http://127.0.0.1:%u/", port);
	check(!strcmp(address, wanted) && web_is_local(web), "address %s instead of %s", address, wanted);
	expect(port, "GET / HTTP/1.1\r\nHost: %H" END, "200", "\r\n\r\n<p>hello");
	expect(port, "GET / HTTP/1.1\r\nHost: %H" END, "200", "content-length: 8\r\n");
	expect(port, "GET /style.css?x=1 HTTP/1.1\r\nHost: localhost:9" END, "200", "\r\n\r\np {}");
	expect(port, "GET /empty HTTP/1.1\r\nHost: localhost" END, "200", "content-length: 0");
	expect(port, "HEAD / HTTP/1.1\r\nHost: %H" END, "200", "content-length: 8\r\n");
	static const char *const absent[] = {"/nothing", "/../etc/passwd", "/style.css/", "//", "/%2e%2e/etc/passwd",
		"/style.css%00", "/STYLE.CSS", "/./style.cs"};
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		char request[256];
		(void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %%H" END, absent[i]);
		struct text text = {0}, answer = {0};
		text_add(&text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1" END, absent[i]);
		ask(port, text.at, &answer);
		check(!strstr(answer.at, "root:") && (!strncmp(answer.at, "HTTP/1.1 404", 12) || !answer.count),
			"%s: %s", absent[i], answer.at);
		text_fini(&text);
		text_fini(&answer);
	}
	expect(port, "POST / HTTP/1.1\r\nHost: %H\r\nContent-Length: 3" END "abc", "405", "allow: GET, HEAD");
	expect(port, "DELETE / HTTP/1.1\r\nHost: %H" END, "405", NULL);
	expect(port, "OPTIONS / HTTP/1.1\r\nHost: %H" END, "405", NULL);
	expect(port, "GET / HTTP/1.1\r\nHost: %H\r\nContent-Length: 3" END "abc", "413", NULL);
	expect(port, "GET / HTTP/1.1" END, "400", "Host");
	expect(port, "GET / HTTP/1.1\r\nHost: evil.example" END, "403", "Host 'evil.example'");
	expect(port, "GET / HTTP/1.1\r\nHost: 127.evil.example" END, "403", NULL);
	expect(port, "GET / HTTP/1.1\r\nHost: localhost.evil.example" END, "403", NULL);
	expect(port, "GET / HTTP/1.1\r\nHost: localhost:99999999" END, "400", NULL);
	expect(port, "GET / HTTP/1.1\r\nHost: [::1" END, "400", NULL);
	expect(port, "GET / HTTP/1.1\r\nOrigin: http://evil.example\r\nHost: %H" END, "403",
		"Origin 'http://evil.example'");
	expect(port, "GET / HTTP/1.1\r\nOrigin: null\r\nHost: %H" END, "403", NULL);
	expect_nothing(port, "\x16\x03\x01\x02 is a client of TLS\r\n\r\n");
	expect_nothing(port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	expect_nothing(port, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: localhost" END);
	expect_nothing(port, "CONNECT / HTTP/1.1\r\nHost: localhost" END);
	expect_nothing(port, "\r\n\r\n");
	web_end(web);
}

/* Files that come later; a browser may keep them, and needs the token for them. */
static void test_found_files(void)
{
	static const char request[] = "GET /found HTTP/1.1\r\nHost: localhost" END;
	struct echo echo = {0};
	struct text answer = {0};
	struct web *web = start(&echo, NULL, (struct web_def){.find = find});
	ask(web_port(web), request, &answer);
	check(strstr(answer.at, "cache-control: private, max-age=31536000, immutable\r\n") &&
			strstr(answer.at, "\r\n\r\npng"),
		"a file that is found: %s", answer.at);
	expect(web_port(web), "GET /missing HTTP/1.1\r\nHost: localhost" END, "404", NULL);
	web_end(web);
	web = start(&echo, "0123456789abcdef", (struct web_def){.find = find});
	expect(web_port(web), request, "401", NULL);
	web_end(web);
	text_fini(&answer);
}

/* A frame without an origin gets the files below its secret path, with a policy of their own, and no others. */
static void test_framed_files(void)
{
	static const char request[] = "GET /secret/page HTTP/1.1\r\nHost: localhost\r\nOrigin: null" END,
			  foreign[] = "GET /secret/page HTTP/1.1\r\nHost: evil.example" END;
	struct echo echo = {0};
	struct text answer = {0};
	struct web *web = start(&echo, "0123456789abcdef", (struct web_def){.find = find});
	ask(web_port(web), request, &answer);
	check(strstr(answer.at, "content-security-policy: sandbox allow-scripts\r\n") &&
			strstr(answer.at, "access-control-allow-origin: *\r\n") && strstr(answer.at, "\r\n\r\npanel") &&
			!strstr(answer.at, "set-cookie") && !strstr(answer.at, "default-src 'none'"),
		"a framed file: %s", answer.at);
	expect(web_port(web), foreign, "403", NULL);
	expect(web_port(web), "GET /found?token=0123456789abcdef HTTP/1.1\r\nHost: localhost\r\nOrigin: null" END,
		"403", NULL);
	web_end(web);
	text_fini(&answer);
}

/* A long file comes whole, and several requests come by one connection. */
/* Each panel has the files of its own folder and of those in it, and none that begins with a dot. */
static void test_panels(void)
{
	static const char *const folders[] = {"one", "one/deep", "two", "two/.git", "bare"};
	static const struct {
		const char *name, *type; /* NULL: it is not read */
	} named[] = {{"one/index.html", "text/html; charset=utf-8"}, {"one/b.js", "text/javascript; charset=utf-8"},
		{"one/deep/c.tar.wasm", "application/wasm"}, {"one/deep/d", "application/octet-stream"},
		{"two/index.html", "text/html; charset=utf-8"}, {"two/.hidden", NULL}, {"two/.git/x", NULL},
		{"bare/a.js", NULL}};
	char folder[] = "/tmp/test_web.XXXXXX", path[200], last[200];
	struct troupe_error error;
	struct panels *panels = NULL;
	struct web_file found;
	if (!mkdtemp(folder) || chdir(folder))
		abort();
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		check(!mkdir(folders[i], 0700), "mkdir %s", folders[i]);
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		FILE *file = fopen(named[i].name, "w");
		check(file && fputs(named[i].name, file) >= 0 && !fclose(file), "%s", named[i].name);
	}
	const struct troupe_gateway_setting settings[] = {{.key = "panel", .value = "one"},
		{.key = "other", .value = "bare"}, {.key = "panel", .value = "two//"}};
	struct troupe_gateway_def def = {.settings = settings, .setting_count = ARRAY_LEN(settings)};
	check(!panels_create(&def, &panels, &error) && panels_count(panels) == 2, "panels: %s", error.text);
	check(!strcmp(panels_name(panels, 0), "one") && !strcmp(panels_name(panels, 1), "two"), "names of panels");
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		const char *index = panels_path(panels, *named[i].name == 't');
		(void)snprintf(path, sizeof path, "/%.*s%s", (int)(strlen(index) - strlen("index.html")), index,
			strchr(named[i].name, '/') + 1);
		check(panels_file(panels, path, &found) == (named[i].type != NULL), "%s: %s", named[i].name, path);
		check(!named[i].type || (!strcmp(found.type, named[i].type) && found.framed &&
						found.count == strlen(named[i].name) &&
						!memcmp(found.bytes, named[i].name, found.count)),
			"%s: another file", named[i].name);
	}
	panels_destroy(panels);
	const struct troupe_gateway_setting bare = {.key = "panel", .value = "bare"};
	def = (struct troupe_gateway_def){.settings = &bare, .setting_count = 1};
	check(panels_create(&def, &panels, &error) == TROUPE_EINVAL, "a panel without index.html");
	(void)snprintf(last, sizeof last, "rm -r %s", folder);
	check(!chdir("/") && !system(last), "%s", last);
}

static void test_long_file(void)
{
	static const char request[] = "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n";
	enum { LONG = 3 << 20 };
	char *bytes = mem_alloc(LONG);
	for (size_t i = 0; i < LONG; i++)
		bytes[i] = (char)('a' + i % 23);
	const struct web_file file = {.path = "/long", .type = "text/plain", .bytes = bytes, .count = LONG};
	const struct web_def def = {.files = &file, .file_count = 1};
	struct web *web = NULL;
	check(!web_start(&def, &web, NULL), "no server with one file");
	int client = client_connect(web_port(web));
	for (int i = 0; i < 3; i++) {
		struct text head = {0};
		char *got = mem_alloc(LONG);
		client_send(client, request, strlen(request));
		client_read_all(client, true, &head);
		check(strstr(head.at, "200 OK") && client_read(client, got, LONG) && !memcmp(got, bytes, LONG),
			"the long file, time %d: %s", i + 1, head.at);
		free(got);
		text_fini(&head);
	}
	close(client);
	web_end(web);
	free(bytes);
}

static void test_token(void)
{
	struct echo echo = {0};
	struct web *web = start(&echo, token, (struct web_def){0});
	uint16_t port = web_port(web);
	char cookie[256];
	expect(port, "GET / HTTP/1.1\r\nHost: %H" END, "401", NULL);
	expect(port, "GET /?token=abcdefghijklmnop_-13 HTTP/1.1\r\nHost: %H" END, "401", NULL);
	expect(port, "GET /?token=abcdefghijklmnop_-1 HTTP/1.1\r\nHost: %H" END, "401", NULL);
	expect(port, "GET /nothing HTTP/1.1\r\nHost: %H" END, "401", NULL);
	(void)snprintf(
		cookie, sizeof cookie, "set-cookie: troupe-%u=%s; Path=/; HttpOnly; SameSite=Strict\r\n", port, token);
	expect(port, "GET /?token=abcdefghijklmnop_-12 HTTP/1.1\r\nHost: %H" END, "200", cookie);
	expect(port, "GET /?token=abcdefghijklmnop%5F%2d12 HTTP/1.1\r\nHost: %H" END, "200", cookie);
	expect(port, "GET /?token=abcdefghijklmnop%5f%2D1%32 HTTP/1.1\r\nHost: %H" END, "200", cookie);
	expect(port, "GET /?token=abcdefghijklmnop%5G%2d12 HTTP/1.1\r\nHost: %H" END, "401", NULL);
	(void)snprintf(cookie, sizeof cookie,
		"GET /style.css HTTP/1.1\r\nCookie: a=b; troupe-%u=%s; c=d\r\nHost: %%H" END, port, token);
	expect(port, cookie, "200", "p {}");
	(void)snprintf(cookie, sizeof cookie, "GET /style.css HTTP/1.1\r\nCookie: troupe-%u=%sx\r\nHost: %%H" END, port,
		token);
	expect(port, cookie, "401", NULL);
	expect(port,
		"GET / HTTP/1.1\r\nHost: %H" UPGRADE
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: echo.v1\r\n\r\n",
		"401", NULL);
	web_end(web);
	check(!admit_is_token("short") && !admit_is_token("abcdefghijklmnop q") && admit_is_token(token), "tokens");
	char made[WEB_TOKEN_MAX + 1], other[WEB_TOKEN_MAX + 1];
	check(!web_make_token(made, NULL) && !web_make_token(other, NULL) && admit_is_token(made) &&
			strcmp(made, other) != 0,
		"random tokens: %s and %s", made, other);
}

/* --- WebSockets --------------------------------------------------------------------------------------------------- */

/* -1: refused; *ret_head has the answer. */
static int join(uint16_t port, const char *path, const char *more, struct text *ret_head)
{
	struct text request = {0};
	int file = client_connect(port);
	client_add_upgrade(&request, path, "localhost", more);
	client_send(file, request.at, request.count);
	text_fini(&request);
	client_read_all(file, true, ret_head);
	if (!strncmp(ret_head->at, "HTTP/1.1 101", 12))
		return file;
	client_read_all(file, false, ret_head);
	close(file);
	return -1;
}

static int join_echo(uint16_t port)
{
	struct text head = {0};
	int file = join(port, "/", "Sec-WebSocket-Protocol: echo.v1\r\n", &head);
	check(file >= 0, "no WebSocket: %s", head.at);
	text_fini(&head);
	return file;
}

static void say(int file, int first, const char *text, size_t count)
{
	struct text frame = {0};
	client_add_frame(&frame, first, text, count);
	client_send(file, frame.at, frame.count);
	text_fini(&frame);
}

static void expect_frame(int file, int kind, const char *text, size_t count)
{
	struct client_frame frame;
	bool got = client_take(file, &frame);
	check(got && frame.kind == kind && frame.body.count == count && !memcmp(frame.body.at, text, count),
		"frame %d of %zu bytes '%.40s' instead of %d of %zu '%.40s'", got ? frame.kind : -1,
		got ? frame.body.count : 0, got ? frame.body.at : "", kind, count, text);
	if (got)
		text_fini(&frame.body);
}

static void expect_close(int file, int code, const char *reason)
{
	struct client_frame frame;
	bool got;
	while ((got = client_take(file, &frame)) && frame.kind != 8)
		text_fini(&frame.body);
	int said = got && frame.body.count >= 2 ? (unsigned char)frame.body.at[0] << 8 | (unsigned char)frame.body.at[1]
						: 0;
	check(said == code, "closed with %d instead of %d", said, code);
	if (reason)
		check(said && !strcmp(frame.body.at + 2, reason), "closed because '%s' instead of '%s'",
			said ? frame.body.at + 2 : "", reason);
	if (got)
		text_fini(&frame.body);
}

static bool wait_for(_Atomic int *number, int value)
{
	for (int i = 0; i < 5000 && *number != value; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	return *number == value;
}

static void test_admission(uint16_t port)
{
	static const struct {
		const char *more;
		bool good;
	} rows[] = {{"Sec-WebSocket-Protocol: echo.v1\r\n", true}, {"Sec-WebSocket-Protocol: x, echo.v2\r\n", true},
		{"Sec-WebSocket-Protocol: strict\r\n", true}, {"", false}, {"Sec-WebSocket-Protocol: x\r\n", false},
		{"Sec-WebSocket-Protocol: (http)\r\n", false}, {"Sec-WebSocket-Protocol: echo.v\r\n", false},
		{"Sec-WebSocket-Protocol: strict\r\nOrigin: http://evil.example\r\n", false},
		{"Sec-WebSocket-Protocol: strict\r\nOrigin: https://friend.example\r\n", false},
		{"Sec-WebSocket-Protocol: strict\r\nOrigin: http://localhost\r\n", true},
		{"Sec-WebSocket-Protocol: strict\r\nOrigin: http://localhost:3000\r\n", false},
		{"Sec-WebSocket-Protocol: strict\r\nOrigin: null\r\n", false},
		{"Sec-WebSocket-Protocol: echo.v1\r\nOrigin: https://friend.example\r\n", true},
		{"Sec-WebSocket-Protocol: echo.v1\r\nOrigin: https://friend.example.evil.example\r\n", false},
		{"Sec-WebSocket-Protocol: echo.v1\r\nOrigin: http://localhost:3000\r\n", true},
		{"Sec-WebSocket-Protocol: echo.v1\r\nOrigin: file://\r\n", true},
		{"Sec-WebSocket-Protocol: echo.v1\r\nOrigin: http://evil.example\r\n", false}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct text head = {0};
		int file = join(port, "/", rows[i].more, &head);
		check((file >= 0) == rows[i].good, "'%s': %s", rows[i].more, head.at);
		check(rows[i].good || strstr(head.at, "HTTP/1.1 40"), "refused without a status: '%s': '%s'",
			rows[i].more, head.at);
		if (file >= 0)
			close(file);
		text_fini(&head);
	}
	expect(port,
		"GET / HTTP/1.1\r\nHost: evil.example" UPGRADE
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: echo.v1\r\n\r\n",
		"403", NULL);
	expect(port,
		"GET / HTTP/1.1\r\nHost: localhost" UPGRADE
		"Sec-WebSocket-Version: 8\r\nSec-WebSocket-Protocol: echo.v1\r\n\r\n",
		"426", "sec-websocket-version: 13");
	static const char *const keys[] = {"", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTE2\r\n", "Sec-WebSocket-Key: \r\n",
		"Sec-WebSocket-Key: ????????????????????????\r\n"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char request[400];
		(void)snprintf(request, sizeof request,
			"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n%s"
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: echo.v1\r\n\r\n",
			keys[i]);
		expect(port, request, "400", "Sec-WebSocket-Key: expected 16 bytes in base64");
	}
	expect(port, "GET / HTTP/1.1\r\nHost: localhost" UPGRADE "Sec-WebSocket-Version: 13\r\n\r\n", "400",
		"echo.v1 or echo.v2 or strict or long");
	expect(port,
		"POST / HTTP/1.1\r\nHost: localhost" UPGRADE
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: echo.v1\r\n\r\n",
		"400", NULL);
	expect(port,
		"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"400", NULL);
}

static void test_messages(uint16_t port, struct echo *echo)
{
	static char big[100001];
	memset(big, 'b', sizeof big);
	int file = join_echo(port);
	say(file, 0x81, "hello", 5);
	expect_frame(file, 1, "hello", 5);
	say(file, 0x82, "\0\xff", 2);
	expect_frame(file, 2, "\0\xff", 2);
	say(file, 0x01, "in ", 3); /* in pieces, with a ping between them */
	say(file, 0x89, "ping", 4);
	say(file, 0x80, "pieces", 6);
	expect_frame(file, 10, "ping", 4);
	expect_frame(file, 1, "in pieces", 9);
	say(file, 0x81, "", 0);
	expect_frame(file, 1, "", 0);
	say(file, 0x82, big, 100000);
	expect_frame(file, 2, big, 100000);
	int turns = echo->turns;
	web_wake(echo->web);
	check(echo->rooms > 0, "room() is not called");
	for (int i = 0; i < 1000 && echo->turns == turns; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	check(echo->turns > turns, "no turn after a wake");
	say(file, 0x82, big, 100001);
	expect_close(file, 1009, "a message of more than 100000 bytes");
	close(file);
	file = join_echo(port);
	say(file, 0x01, big, 60000);
	say(file, 0x80, big, 60000);
	expect_close(file, 1009, NULL);
	close(file);
	file = join_echo(port);
	say(file, 0x81, "close 4321", 10);
	expect_close(file, 4321, "as you say");
	close(file);
	file = join_echo(port);
	say(file, 0x81, "\xff\xfe", 2);
	expect_close(file, 1007, NULL);
	close(file);
	check(wait_for(&echo->open, 0), "%d connections are left", echo->open);
}

/* Bytes that are no frames of a client, as they are sent. */
static void expect_wrong(uint16_t port, const char *what, const void *bytes, size_t count)
{
	int before = failed, file = join_echo(port);
	client_send(file, bytes, count);
	expect_close(file, 1002, NULL);
	check(failed == before, "%s", what);
	close(file);
}

static void test_wrong_frames(uint16_t port, struct echo *echo)
{
	static const struct {
		const char *what, *bytes;
		size_t count;
	} rows[] = {{"a text without a mask", "\x81\x05hello", 7}, {"an empty text without a mask", "\x81\x00", 2},
		{"a ping without a mask", "\x89\x00", 2}, {"a close without a mask", "\x88\x02\x03\xe8", 4},
		{"a masked one, then one without", "\x01\x81\0\0\0\0a\x80\x01b", 10},
		{"the first reserved bit", "\xc1\x80\0\0\0\0", 6}, {"the third reserved bit", "\x91\x80\0\0\0\0", 6},
		{"a reserved kind", "\x83\x80\0\0\0\0", 6}, {"a reserved kind of control", "\x8b\x80\0\0\0\0", 6},
		{"a ping in pieces", "\x09\x80\0\0\0\0", 6}, {"a long ping", "\x89\xfe\x00\x7e\0\0\0\0", 8},
		{"the end of nothing", "\x80\x80\0\0\0\0", 6},
		{"a message inside of another", "\x01\x80\0\0\0\0\x81\x80\0\0\0\0", 12},
		{"more bytes for a length than needed", "\x81\xfe\x00\x05\0\0\0\0hello", 13},
		{"8 bytes for a length of 2", "\x81\xff\0\0\0\0\0\0\x01\x00\0\0\0\0", 14},
		{"a length of 64 bits", "\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14},
		{"a close of one byte", "\x88\x81\0\0\0\0a", 7},
		{"a close with a code that nobody may send", "\x88\x82\0\0\0\0\x03\xed", 8}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect_wrong(port, rows[i].what, rows[i].bytes, rows[i].count);
	check(wait_for(&echo->open, 0), "%d connections are left", echo->open);
	int file = join_echo(port); /* with a mask that masks something */
	client_send(file, "\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e", 11);
	expect_frame(file, 1, "hello", 5);
	close(file);
	check(wait_for(&echo->open, 0), "%d connections are left", echo->open);
}

/* Clients that begin long messages and do not end them: those that hold most are closed, the others are served. */
static void test_halves(void)
{
	enum { HALVES = 60, HALF_BYTES = 2 << 20, MOST = WEB_HALF_BYTES_MAX / HALF_BYTES + 1 };
	struct echo echo = {0};
	struct web *web = start(&echo, NULL, (struct web_def){.peers_max = 100});
	uint16_t port = web_port(web);
	int halves[HALVES];
	struct text half = {0}, head = {0};
	char *bytes = mem_alloc(HALF_BYTES);
	client_add_frame(&half, 0x02, bytes, HALF_BYTES);
	int good = join(port, "/", "Sec-WebSocket-Protocol: long\r\n", &head);
	check(good >= 0, "no WebSocket: %s", head.at);
	say(good, 0x01, "a ", 2);
	for (int i = 0; i < HALVES; i++) {
		head.count = 0;
		halves[i] = join(port, "/", "Sec-WebSocket-Protocol: long\r\n", &head);
		check(halves[i] >= 0, "client %d: %s", i, head.at);
		(void)client_send(halves[i], half.at, half.count);
	}
	say(good, 0x80, "short one", 9);
	expect_frame(good, 1, "a short one", 11);
	for (int i = 0; i < 60000 && echo.open > MOST; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	check(echo.open <= MOST, "%d clients hold half messages of %d MiB", echo.open, HALF_BYTES >> 20);
	for (int i = 0; i < HALVES; i++)
		close(halves[i]);
	close(good);
	check(wait_for(&echo.open, 0), "%d are left", echo.open);
	web_end(web);
	text_fini(&half);
	text_fini(&head);
	free(bytes);
}

/* A flood of connections without the token, of which some are silent, some begin a request, and some ask with a wrong
 * token again and again: each page that has the token loads all the same, and its WebSocket stays. */
static void web_test_unknown_peers(void)
{
	enum { ROUNDS = 20, EACH = 40 };
	static const char *const said[] = {"", "GET / HT", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /?token=abcdefghijklmnop_-13 HTTP/1.1\r\nHost: localhost\r\n\r\n"};
	struct echo echo = {0};
	struct web *web = start(&echo, token, (struct web_def){0});
	uint16_t port = web_port(web);
	struct text head = {0};
	int unknown_peers[EACH * ROUNDS], before = failed;
	int page = join(port, "/?token=abcdefghijklmnop_-12", "Sec-WebSocket-Protocol: echo.v1\r\n", &head);
	check(page >= 0, "no WebSocket: %s", head.at);
	for (int i = 0; i < EACH * ROUNDS; i++) {
		unknown_peers[i] = client_connect(port);
		if (unknown_peers[i] >= 0)
			(void)client_send(unknown_peers[i], said[i % 4], strlen(said[i % 4]));
		if (i % EACH == EACH - 1)
			expect(port, "GET /?token=abcdefghijklmnop_-12 HTTP/1.1\r\nHost: %H" END, "200", "<p>hello");
	}
	check(failed == before, "a flood of unknown peers keeps pages out");
	say(page, 0x81, "still here", 10);
	expect_frame(page, 1, "still here", 10);
	char byte;
	check(recv(unknown_peers[0], &byte, 1, 0) <= 0, "the oldest unknown peer is kept");
	for (int i = 0; i < EACH * ROUNDS; i++)
		if (unknown_peers[i] >= 0)
			close(unknown_peers[i]);
	close(page);
	check(wait_for(&echo.open, 0), "%d are left", echo.open);
	web_end(web);
	text_fini(&head);
}

/* One client takes nothing; another one is served as fast as before, and the first loses messages, not memory. */
static void test_slow(uint16_t port, struct echo *echo)
{
	int slow = join_echo(port), quick = join_echo(port);
	echo->sent = echo->lost = 0;
	say(slow, 0x81, "flood 400 100000", 16);
	uint64_t begin_ns = clock_now_ns();
	for (int i = 0; i < 100; i++) {
		say(quick, 0x81, "x", 1);
		expect_frame(quick, 1, "x", 1);
	}
	check(clock_now_ns() - begin_ns < AT_ONCE_MS * MS, "a slow client delays another one");
	check(echo->lost > 200 && echo->sent > 70, "of 400 messages %d are queued and %d refused", echo->sent,
		echo->lost);
	struct client_frame frame;
	int got = 0, sent = echo->sent;
	while (got < sent && client_take(slow, &frame)) {
		got += frame.kind == 2 && frame.body.count == 100000;
		text_fini(&frame.body);
	}
	check(got == sent, "%d of %d queued messages came", got, sent);
	say(slow, 0x81, "still here", 10);
	expect_frame(slow, 1, "still here", 10);
	/* a client that never reads is closed all the same, and soon */
	say(slow, 0x81, "flood 400 100000", 16);
	say(slow, 0x81, "close 4000", 10);
	close(quick);
	check(wait_for(&echo->open, 0), "a client that does not read cannot be closed: %d left", echo->open);
	close(slow);
}

static void test_many(uint16_t port, struct echo *echo)
{
	enum { MANY = 64, SILENT = 300 };
	int many[MANY], silent[SILENT];
	struct text head = {0};
	for (int i = 0; i < MANY; i++)
		many[i] = join_echo(port);
	check(join(port, "/", "Sec-WebSocket-Protocol: echo.v1\r\n", &head) < 0 && strstr(head.at, "503"),
		"one client too many: %s", head.at);
	text_fini(&head);
	for (int i = 0; i < SILENT; i++) /* half-open: the request never ends */
		if ((silent[i] = client_connect(port)) >= 0)
			client_send(silent[i], "GET / HTTP/1.1\r\nHost: lo", 24);
	uint64_t begin_ns = clock_now_ns();
	expect(port, "GET / HTTP/1.1\r\nHost: %H" END, "200", NULL);
	check(clock_now_ns() - begin_ns < AT_ONCE_MS * MS, "silent connections keep others out");
	for (int i = 0; i < MANY; i++)
		say(many[i], 0x81, "all", 3);
	for (int i = 0; i < MANY; i++)
		expect_frame(many[i], 1, "all", 3);
	char byte;
	check(recv(silent[0], &byte, 1, 0) <= 0, "the oldest silent connection is kept");
	for (int i = 0; i < SILENT; i++)
		if (silent[i] >= 0)
			close(silent[i]);
	for (int i = 0; i < MANY; i++)
		close(many[i]);
	check(wait_for(&echo->open, 0), "%d of many are left", echo->open);
}

static void test_sockets(void)
{
	struct echo echo = {0};
	struct web *web = start(&echo, NULL, (struct web_def){0});
	uint16_t port = web_port(web);
	test_admission(port);
	check(wait_for(&echo.open, 0), "%d connections are left", echo.open);
	test_messages(port, &echo);
	test_wrong_frames(port, &echo);
	test_slow(port, &echo);
	test_many(port, &echo);
	echo.limit = 1;
	int first = join_echo(port), second = join_echo(port);
	expect_close(second, 1013, NULL);
	say(first, 0x81, "x", 1);
	expect_frame(first, 1, "x", 1);
	int silent = client_connect(port); /* must not hold up the end */
	uint64_t begin_ns = clock_now_ns();
	web_stop(web, "the end");
	check(clock_now_ns() - begin_ns < AT_ONCE_MS * MS, "the end takes long");
	expect_close(first, 1001, NULL);
	check(wait_for(&echo.open, 0), "%d are left after the end", echo.open);
	web_wake(web);
	web_end(web);
	close(first);
	close(second);
	close(silent);
}

static void *stop_web(void *web)
{
	web_stop(web, "the end");
	return NULL;
}

/* While the server ends no client can join: neither by a new connection, nor by `early`, an older connection. */
static void web_test_latecomers(uint16_t port, int early)
{
	struct text answer = {0};
	int file = client_connect(port);
	char byte;
	check(file < 0 || recv(file, &byte, 1, 0) <= 0, "a connection is accepted at the end");
	client_add_upgrade(&answer, "/", "localhost", "Sec-WebSocket-Protocol: echo.v1\r\n");
	client_send(early, answer.at, answer.count);
	text_fini(&answer);
	client_read_all(early, true, &answer);
	check(!answer.count || strstr(answer.at, "HTTP/1.1 503"), "welcomed at the end: %s", answer.at);
	text_fini(&answer);
	if (file >= 0)
		close(file);
}

/* What waits for a client at the end still comes to it, before the close; one that does not read cannot hold up the
 * end. */
static void test_last(void)
{
	struct echo echo = {.lasts = 700};
	struct web *web = start(&echo, NULL, (struct web_def){0});
	uint16_t port = web_port(web);
	int reader = join_echo(port), lazy = join_echo(port), early = client_connect(port), got = 0;
	struct client_frame frame;
	pthread_t thread;
	say(lazy, 0x81, "flood 60 100000", 15);
	check(wait_for(&echo.sent, 60), "%d messages wait", echo.sent);
	uint64_t begin_ns = clock_now_ns();
	check(!pthread_create(&thread, NULL, stop_web, web), "a thread");
	while (client_take(reader, &frame) && frame.kind == 2) {
		got += frame.body.count == LAST_BYTES;
		text_fini(&frame.body);
	}
	check(got == echo.lasts, "%d of %d last messages came", got, echo.lasts);
	check(frame.kind == 8 && frame.body.count > 2 && !memcmp(frame.body.at, "\x03\xe9", 2), "closed with 1001");
	text_fini(&frame.body);
	web_test_latecomers(port, early);
	pthread_join(thread, NULL);
	check(clock_now_ns() - begin_ns < AT_ONCE_MS * MS, "a client that does not read holds up the end");
	check(!echo.open, "%d are left after the end", echo.open);
	web_end(web);
	close(reader);
	close(lazy);
	close(early);
}

/* A request that is not sent in time ends, however slowly it goes on. */
static void test_late(void)
{
	struct echo echo = {0};
	struct web *web = start(&echo, NULL, (struct web_def){0});
	int file = client_connect(web_port(web)), idle = client_connect(web_port(web));
	uint64_t begin_ns = clock_now_ns();
	char byte;
	while (clock_now_ns() - begin_ns < 60000 * MS && client_send(file, "G", 1) &&
		recv(file, &byte, 1, MSG_DONTWAIT) < 0)
		clock_sleep_until_ns(clock_now_ns() + 300 * MS);
	uint64_t took_ms = (clock_now_ns() - begin_ns) / MS;
	check(took_ms < 40000, "a request may take %llu ms", (unsigned long long)took_ms);
	check(!recv(idle, &byte, 1, 0), "a silent connection stays");
	close(file);
	close(idle);
	web_end(web);
}

/* Only where other hosts can connect. */
static void test_needed_token(struct echo *echo)
{
	static const struct {
		const char *address, *token;
		bool expected;
	} cases[] = {{NULL, NULL, false}, {"127.0.0.2", NULL, false}, {"127.0.0.1", "0123456789abcdef", true},
		{"*", NULL, true}, {"*", "0123456789abcdef", true}};
	char text[200];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct web *web =
			start(echo, cases[i].token, (struct web_def){.address = cases[i].address, .needs_token = true});
		web_address(web, "http", text, sizeof text);
		const char *found = strstr(text, "?token=");
		check(!found == !cases[i].expected, "case %zu: %s", i, text);
		if (found && cases[i].token)
			check(!strcmp(found + strlen("?token="), cases[i].token), "case %zu: %s", i, text);
		else if (found)
			check(admit_is_token(found + strlen("?token=")), "case %zu: %s", i, text);
		web_end(web);
	}
	struct web *here = start(echo, NULL, (struct web_def){.needs_token_here = true});
	web_address(here, "http", text, sizeof text);
	check(strstr(text, "?token=") != NULL, "one is needed here: %s", text);
	expect(web_port(here), "GET / HTTP/1.1\r\nHost: %H" END, "401", NULL);
	web_end(here);
	struct web *web = start(echo, NULL, (struct web_def){.address = "*"});
	web_address(web, "http", text, sizeof text);
	check(!strstr(text, "?token="), "none is needed: %s", text);
	web_end(web);
}

static void test_settings(void)
{
	struct echo echo = {0};
	struct web *web = start(&echo, NULL, (struct web_def){0}), *other = NULL;
	struct troupe_error error = {.text = ""};
	struct web_def def = {.port = web_port(web)};
	check(web_start(&def, &other, &error) == TROUPE_EIO && strstr(error.text, "in use"), "a port in use: %s",
		error.text);
	def.port_or_any = true;
	check(!web_start(&def, &other, &error) && web_port(other) != web_port(web), "another port: %s", error.text);
	web_end(other);
	web_end(web);
	other = NULL;
	def = (struct web_def){.port = def.port, .cert_path = "/nowhere.crt", .key_path = "/nowhere.key"};
	check(web_start(&def, &other, &error) == TROUPE_EINVAL, "no certificate: %s", error.text);
	def = (struct web_def){.port = def.port};
	check(!web_start(&def, &other, &error), "its port is free again: %s", error.text);
	web_end(other);
	test_needed_token(&echo);
	static const struct web_def bad[] = {{.address = "here"}, {.address = "1.2.3.4.5"}, {.token = "short"},
		{.token = "with a blank in it"}, {.cert_path = "/nowhere"},
		{.cert_path = "/nowhere.crt", .key_path = "/nowhere.key"}, {.peers_max = WEB_PEERS_MAX + 1},
		{.address = "192.0.2.1"}};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		*error.text = '\0';
		check(web_start(&bad[i], &other, &error) && *error.text && !strchr(error.text, '\n'),
			"setting %zu: '%s'", i, error.text);
	}
	web_end(NULL);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_settings();
	test_pages();
	test_found_files();
	test_framed_files();
	test_panels();
	test_long_file();
	test_token();
	test_sockets();
	test_halves();
	web_test_unknown_peers();
	test_last();
	test_late();
	return check_totals();
}
