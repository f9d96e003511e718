/* Everything before a WebSocket exists: the checks of each request, and the files. Answers are written whole by hand,
 * HTTP/1.1 only, each with the same headers, also the refusals. A refused connection is closed, so no body of a request
 * is ever read. */
#include "gateway/web/request.h"
#include "gateway/web/web_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 32 << 10, VALUE_BYTES = 2048 };
#define MS_NS UINT64_C(1000000)

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* file: NULL: of another answer */
static void page_add_head(
	struct web_peer *peer, const char *status, const char *type, size_t count, const struct web_file *file)
{
	peer->answers = true;
	peer->deadline_ns = clock_now_ns() + WEB_ANSWER_MS * MS_NS;
	text_add(&peer->answer,
		"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\ncache-control: %s\r\n"
		"x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n",
		status, type, count, file && file->lasts ? "private, max-age=31536000, immutable" : "no-store");
	if (file && file->framed)
		text_add(&peer->answer,
			"access-control-allow-origin: *\r\ncross-origin-resource-policy: cross-origin\r\n"
			"content-security-policy: %s\r\n",
			file->policy);
	else
		text_add(&peer->answer, "%s", peer->web->common);
}

/* A refusal: one line of text; the connection ends. */
static void page_refuse(struct web_peer *peer, const char *status, const char *more, const char *text)
{
	page_add_head(peer, status, "text/plain; charset=utf-8", strlen(text) + 1, NULL);
	text_add(&peer->answer, "%sconnection: close\r\n\r\n%s\n", more, text);
	peer->ends = true;
}

static void page_answer_file(struct web_peer *peer, const struct web_file *file, bool only_head, bool new_cookie)
{
	const struct web *web = peer->web;
	page_add_head(peer, "200 OK", file->type, file->count, file);
	if (new_cookie)
		text_add(&peer->answer, "set-cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict%s\r\n", web->cookie,
			web->token, web->tls ? "; Secure" : "");
	text_add(&peer->answer, "%s\r\n", peer->ends ? "connection: close\r\n" : "");
	peer->body = file->bytes;
	peer->body_left = only_head ? 0 : file->count;
}

/* Writes a part of the answer. False: no more now. */
static bool page_write_some(struct web_peer *peer)
{
	size_t count, left = peer->answer.count - peer->answer_sent;
	const void *at = left ? (const void *)(peer->answer.at + peer->answer_sent) : peer->body;
	enum stream_result result =
		stream_write(&peer->stream, at, left ? left : MIN(peer->body_left, (size_t)PIECE_BYTES), &count);
	if (result == STREAM_GONE)
		web_drop(peer);
	if (result != STREAM_MOVED)
		return false;
	if (left) {
		peer->answer_sent += count;
	} else {
		peer->body += count;
		peer->body_left -= count;
	}
	if (peer->deadline_ns != UINT64_MAX)
		peer->deadline_ns = clock_now_ns() + WEB_ANSWER_MS * MS_NS;
	return true;
}

/* The answer has gone: the next request may be there already. */
static void page_end_answer(struct web_peer *peer)
{
	peer->answer.count = peer->answer_sent = 0;
	peer->answers = false;
	if (peer->service)
		return;
	if (peer->ends) {
		stream_end(&peer->stream);
		peer->deadline_ns = clock_now_ns() + WEB_CLOSE_MS * MS_NS;
		return;
	}
	peer->deadline_ns = clock_now_ns() + WEB_REQUEST_MS * MS_NS;
	page_read(peer, "", 0);
}

void page_write(struct web_peer *peer)
{
	while (!peer->is_gone && peer->answers) {
		if (peer->answer_sent == peer->answer.count && !peer->body_left)
			page_end_answer(peer);
		else if (!page_write_some(peer))
			break;
	}
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

struct access {
	char host[VALUE_BYTES], origin[VALUE_BYTES], token[VALUE_BYTES], cookie[VALUE_BYTES];
	bool by_address; /* the token stands in the address */
};

/* The value of a header; NULL: the request has none. A value that is too long, or comes twice, is empty and fits
 * nothing. */
static const char *page_value(const struct web_request *request, const char *name, char ret_value[VALUE_BYTES])
{
	struct web_piece value;
	bool twice, once = request_header(request, name, &value, &twice);
	request_copy(once ? value : (struct web_piece){"", 0}, ret_value, VALUE_BYTES);
	return once || twice ? ret_value : NULL;
}

/* is_framed: a framed file is asked for */
static enum admit page_judge(struct web_peer *peer, const struct web_request *request,
	const struct web_service *service, bool is_framed, struct access *access)
{
	const struct web *web = peer->web;
	struct admit_rules rules = web->rules;
	struct admit_request asked = {.host = page_value(request, "host", access->host),
		.origin = page_value(request, "origin", access->origin),
		.cookie = web->cookie ? request_cookie(request, web->cookie, access->cookie, VALUE_BYTES) : NULL,
		.token = request_argument(request, "token", access->token, VALUE_BYTES),
		.origins = service ? service->origins : NULL,
		.local_origins = service && service->local_origins};
	access->by_address = asked.token;
	if (is_framed) {
		rules.token = NULL;
		asked.origin = NULL;
	}
	enum admit result = admit(&rules, &asked);
	peer->is_admitted |= !result;
	return result;
}

static void page_refuse_access(struct web_peer *peer, enum admit why, const struct access *access)
{
	char what[256];
	switch (why) {
	case ADMIT_NO_HOST:
		page_refuse(peer, "400 Bad Request", "", "Host: missing or not valid");
		return;
	case ADMIT_FOREIGN_HOST:
		(void)snprintf(what, sizeof what, "Host '%.80s': expected a name of this machine", access->host);
		break;
	case ADMIT_FOREIGN_ORIGIN:
		(void)snprintf(what, sizeof what, "Origin '%.80s': a page of another server", access->origin);
		break;
	default:
		web_refused(peer, "token: missing or wrong");
		page_refuse(
			peer, "401 Unauthorized", "", "token: missing or wrong: expected the address that was printed");
		return;
	}
	web_refused(peer, what);
	page_refuse(peer, "403 Forbidden", "", what);
}

static bool page_find_file(const struct web *web, struct web_piece path, struct web_file *ret_file)
{
	char text[VALUE_BYTES];
	for (uint32_t i = 0; i < web->file_count; i++)
		if (strlen(web->files[i].path) == path.count && !memcmp(web->files[i].path, path.at, path.count)) {
			*ret_file = web->files[i];
			return true;
		}
	request_copy(path, text, sizeof text);
	return web->find && web->find(web->find_ctx, text, ret_file);
}

static bool page_has_body(const struct web_request *request)
{
	struct web_piece length;
	bool twice, given = request_header(request, "content-length", &length, &twice);
	return (given && !request_is(length, "0")) || twice || request_has(request, "transfer-encoding");
}

static void page_take_request(struct web_peer *peer, const struct web_request *request)
{
	struct access access;
	struct web_file file = {0};
	bool found = page_find_file(peer->web, request->path, &file);
	enum admit why = page_judge(peer, request, NULL, found && file.framed, &access);
	bool is_get = request_is_exactly(request->method, "GET"), is_head = request_is_exactly(request->method, "HEAD");
	if (why)
		page_refuse_access(peer, why, &access);
	else if (!is_get && !is_head)
		page_refuse(peer, "405 Method Not Allowed", "allow: GET, HEAD\r\n", "expected GET or HEAD");
	else if (page_has_body(request))
		page_refuse(peer, "413 Content Too Large", "", "expected a request without a body");
	else if (!found)
		page_refuse(peer, "404 Not Found", "", "there is no such page");
	else
		page_answer_file(peer, &file, is_head, peer->web->token && access.by_address);
}

/* --- WebSockets --------------------------------------------------------------------------------------------------- */

static const struct web_name *page_name_of(const struct web *web, const struct web_request *request, bool *ret_asked)
{
	const char *names[WEB_NAMES_MAX];
	char wanted[VALUE_BYTES];
	for (uint32_t i = 0; i < web->name_count; i++)
		names[i] = web->names[i].name;
	const char *list = page_value(request, "sec-websocket-protocol", wanted);
	int at = list ? admit_protocol(list, names, web->name_count) : -1;
	*ret_asked = list;
	return at >= 0 ? &web->names[at] : list ? NULL : web->unnamed;
}

static void page_refuse_protocol(struct web_peer *peer)
{
	const struct web *web = peer->web;
	struct text text = {0};
	text_add(&text, "Sec-WebSocket-Protocol: expected");
	for (uint32_t i = 0; i < web->name_count; i++)
		text_add(&text, "%s %s", i ? " or" : "", web->names[i].name);
	page_refuse(peer, "400 Bad Request", "", text.at);
	text_fini(&text);
}

static void page_accept(struct web_peer *peer, const struct web_name *name, bool asked, const char *accept)
{
	text_add(&peer->answer,
		"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
		"sec-websocket-accept: %s\r\n",
		accept);
	if (asked)
		text_add(&peer->answer, "sec-websocket-protocol: %s\r\n", name->name);
	text_add(&peer->answer, "\r\n");
	peer->answers = true;
	peer_begin(peer, name);
}

/* A request to become a WebSocket. */
static void page_take_upgrade(struct web_peer *peer, const struct web_request *request)
{
	bool asked;
	const struct web_name *name = page_name_of(peer->web, request, &asked);
	struct access access;
	struct web_piece version, key;
	char accept[WS_ACCEPT_BYTES + 1];
	enum admit why = page_judge(peer, request, name ? name->service : NULL, false, &access);
	if (why) {
		page_refuse_access(peer, why, &access);
	} else if (!request_lists(request, "upgrade", "websocket") || !request_is_exactly(request->method, "GET") ||
		   page_has_body(request)) {
		page_refuse(peer, "400 Bad Request", "", "expected an upgrade to websocket, by GET");
	} else if (!request_header(request, "sec-websocket-version", &version, NULL) || !request_is(version, "13")) {
		page_refuse(peer, "426 Upgrade Required", "sec-websocket-version: 13\r\n", "expected version 13");
	} else if (!name) {
		page_refuse_protocol(peer);
	} else if (!request_header(request, "sec-websocket-key", &key, NULL) || !ws_accept(key.at, key.count, accept)) {
		page_refuse(peer, "400 Bad Request", "", "Sec-WebSocket-Key: expected 16 bytes in base64");
	} else if (peer->web->is_leaving) {
		page_refuse(peer, "503 Service Unavailable", "", peer->web->goodbye);
	} else if (peer->web->socket_count >= peer->web->peers_max) {
		web_refused(peer, "too many clients");
		page_refuse(peer, "503 Service Unavailable", "", "too many clients");
	} else {
		page_accept(peer, name, asked, accept);
	}
}

/* --- what comes in ------------------------------------------------------------------------------------------------ */

static void page_take(struct web_peer *peer, const struct web_request *request)
{
	peer->ends = !request->keeps;
	if (request_has(request, "upgrade") && request_lists(request, "connection", "upgrade"))
		page_take_upgrade(peer, request);
	else
		page_take_request(peer, request);
}

void page_read(struct web_peer *peer, const char *bytes, size_t count)
{
	struct web_request request;
	size_t length = 0;
	if (peer->ends) /* nothing more is answered */
		return;
	text_add_bytes(&peer->request, bytes, count);
	if (peer->answers)
		return;
	/* empty lines before a request are ignored (RFC 9112, 2.2) */
	while (peer->request.count >= 2 && !memcmp(peer->request.at, "\r\n", 2)) {
		peer->request.count -= 2;
		memmove(peer->request.at, peer->request.at + 2, peer->request.count);
	}
	switch (request_read(peer->request.at ? peer->request.at : "", peer->request.count, &request, &length)) {
	case REQUEST_WHOLE:
		page_take(peer, &request);
		break;
	case REQUEST_BAD:
		page_refuse(peer, "400 Bad Request", "", "expected a request of HTTP/1.1");
		break;
	default:
		if (peer->request.count > WEB_REQUEST_BYTES_MAX)
			page_refuse(peer, "431 Request Header Fields Too Large", "", "the request is too long");
		break;
	}
	peer->request.count -= length;
	if (length)
		memmove(peer->request.at, peer->request.at + length, peer->request.count);
	if (peer->service && peer->request.count) /* a client that did not wait for the answer */
		peer_read(peer, (unsigned char *)peer->request.at, peer->request.count);
	if (peer->service)
		text_fini(&peer->request);
}
