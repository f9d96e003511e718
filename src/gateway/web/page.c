/* Everything before a WebSocket exists: the checks of each request, and the files. Answers are written whole by hand,
 * HTTP/1.1 only, because then each of them has the same headers, also the refusals; what libwebsockets would add or
 * leave out differs from path to path. A refused connection is closed, so no body of a request is ever read. */
#include "gateway/web/web_internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 32 << 10, VALUE_BYTES = 2048 };

static struct web_peer *peer_of(struct lws *wsi)
{
	return lws_get_opaque_user_data(wsi);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static bool write_head(struct lws *wsi, struct text *head)
{
	struct text room = {0};
	text_reserve(&room, LWS_PRE + head->count);
	memcpy(room.at + LWS_PRE, head->at, head->count);
	int sent = lws_write(wsi, (unsigned char *)room.at + LWS_PRE, head->count, LWS_WRITE_HTTP_HEADERS);
	text_fini(&room);
	return sent == (int)head->count;
}

static void begin_head(const struct web *web, struct text *head, const char *status, const char *type, size_t count)
{
	text_add(
		head, "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n%s", status, type, count, web->common);
}

/* A refusal: one line of text; the connection ends. Returns the value of the callback. */
static int refuse(struct lws *wsi, const char *status, const char *more, const char *text)
{
	struct text head = {0};
	begin_head(peer_of(wsi)->web, &head, status, "text/plain; charset=utf-8", strlen(text) + 1);
	text_add(&head, "%sconnection: close\r\n\r\n%s\n", more, text);
	(void)write_head(wsi, &head);
	text_fini(&head);
	return -1;
}

/* Ready for the next request. */
static int end_answer(struct lws *wsi)
{
	struct web_peer *peer = peer_of(wsi);
	peer->deadline_ns = clock_now_ns() + WEB_REQUEST_MS * UINT64_C(1000000);
	return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int write_body(struct lws *wsi)
{
	struct web_peer *peer = peer_of(wsi);
	unsigned char room[LWS_PRE + PIECE_BYTES];
	if (!peer || !peer->body)
		return 0;
	size_t count = MIN(peer->body_left, (size_t)PIECE_BYTES);
	memcpy(room + LWS_PRE, peer->body, count);
	peer->body += count;
	peer->body_left -= count;
	peer->deadline_ns = clock_now_ns() + WEB_ANSWER_MS * UINT64_C(1000000);
	bool last = !peer->body_left;
	if (lws_write(wsi, room + LWS_PRE, count, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) != (int)count)
		return -1;
	if (last) {
		peer->body = NULL;
		return end_answer(wsi);
	}
	lws_callback_on_writable(wsi);
	return 0;
}

static int answer_file(struct lws *wsi, const struct web_file *file, bool only_head, bool new_cookie)
{
	struct web_peer *peer = peer_of(wsi);
	const struct web *web = peer->web;
	struct text head = {0};
	begin_head(web, &head, "200 OK", file->type, file->count);
	if (new_cookie)
		text_add(&head, "set-cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict%s\r\n", web->cookie, web->token,
			web->has_tls ? "; Secure" : "");
	text_add(&head, "\r\n");
	bool sent = write_head(wsi, &head);
	text_fini(&head);
	if (!sent)
		return -1;
	if (only_head || !file->count)
		return end_answer(wsi);
	peer->body = file->bytes;
	peer->body_left = file->count;
	lws_callback_on_writable(wsi);
	return 0;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* The value of a header; NULL: the request has none. A value that is too long, or empty, fits nothing. */
static const char *value_of(struct lws *wsi, enum lws_token_indexes header, char ret_value[VALUE_BYTES])
{
	if (!lws_hdr_total_length(wsi, header))
		return NULL;
	if (lws_hdr_copy(wsi, ret_value, VALUE_BYTES, header) < 0)
		*ret_value = '\0';
	return ret_value;
}

struct access {
	char host[VALUE_BYTES], origin[VALUE_BYTES], token[VALUE_BYTES], cookie[VALUE_BYTES];
	bool by_address; /* the token stands in the address */
};

static const char *cookie_of(struct lws *wsi, const char *name, char ret_value[VALUE_BYTES])
{
	size_t room = VALUE_BYTES;
	if (!name || lws_http_cookie_get(wsi, name, ret_value, &room))
		return NULL;
	return ret_value;
}

static enum admit judge(struct lws *wsi, const struct web_service *service, struct access *access)
{
	const struct web *web = peer_of(wsi)->web;
	struct admit_request request = {.host = value_of(wsi, WSI_TOKEN_HOST, access->host),
		.origin = value_of(wsi, WSI_TOKEN_ORIGIN, access->origin),
		.cookie = cookie_of(wsi, web->cookie, access->cookie),
		.token = lws_get_urlarg_by_name(wsi, "token=", access->token, VALUE_BYTES),
		.origins = service ? service->origins : NULL,
		.local_origins = service && service->local_origins};
	access->by_address = request.token;
	return admit(&web->rules, &request);
}

static int refuse_access(struct lws *wsi, enum admit why, const struct access *access)
{
	struct web_peer *peer = peer_of(wsi);
	char what[256];
	switch (why) {
	case ADMIT_NO_HOST:
		return refuse(wsi, "400 Bad Request", "", "Host: missing or not valid");
	case ADMIT_FOREIGN_HOST:
		(void)snprintf(what, sizeof what, "Host '%.80s': expected a name of this machine", access->host);
		break;
	case ADMIT_FOREIGN_ORIGIN:
		(void)snprintf(what, sizeof what, "Origin '%.80s': a page of another server", access->origin);
		break;
	default:
		web_refused(peer, "token: missing or wrong");
		return refuse(
			wsi, "401 Unauthorized", "", "token: missing or wrong: expected the address that was printed");
	}
	web_refused(peer, what);
	return refuse(wsi, "403 Forbidden", "", what);
}

static const struct web_file *find_file(const struct web *web, const char *path, size_t count)
{
	for (uint32_t i = 0; i < web->file_count; i++)
		if (strlen(web->files[i].path) == count && !memcmp(web->files[i].path, path, count))
			return &web->files[i];
	return NULL;
}

static bool has_body(struct lws *wsi)
{
	char value[VALUE_BYTES];
	const char *length = value_of(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, value);
	return (length && strcmp(length, "0") != 0) || lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING);
}

static int take_request(struct lws *wsi)
{
	struct web_peer *peer = peer_of(wsi);
	char *path = NULL;
	int count = 0, method = lws_http_get_uri_and_method(wsi, &path, &count);
	struct access access;
	enum admit why = judge(wsi, NULL, &access);
	if (why)
		return refuse_access(wsi, why, &access);
	if (method != LWSHUMETH_GET && method != LWSHUMETH_HEAD)
		return refuse(wsi, "405 Method Not Allowed", "allow: GET, HEAD\r\n", "expected GET or HEAD");
	if (has_body(wsi))
		return refuse(wsi, "413 Content Too Large", "", "expected a request without a body");
	const struct web_file *file = path && count > 0 ? find_file(peer->web, path, (size_t)count) : NULL;
	if (!file)
		return refuse(wsi, "404 Not Found", "", "there is no such page");
	return answer_file(wsi, file, method == LWSHUMETH_HEAD, peer->web->token && access.by_address);
}

static const struct web_service *service_of(struct lws *wsi)
{
	const struct web *web = peer_of(wsi)->web;
	const char *names[WEB_NAMES_MAX];
	char wanted[VALUE_BYTES];
	for (uint32_t i = 0; i < web->name_count; i++)
		names[i] = web->names[i].name;
	const char *list = value_of(wsi, WSI_TOKEN_PROTOCOL, wanted);
	int at = list ? admit_protocol(list, names, web->name_count) : -1;
	if (!list && web->unnamed)
		return web->unnamed->service;
	return at < 0 ? NULL : web->names[at].service;
}

static int refuse_protocol(struct lws *wsi)
{
	const struct web *web = peer_of(wsi)->web;
	struct text text = {0};
	text_add(&text, "Sec-WebSocket-Protocol: expected");
	for (uint32_t i = 0; i < web->name_count; i++)
		text_add(&text, "%s %s", i ? " or" : "", web->names[i].name);
	int result = refuse(wsi, "400 Bad Request", "", text.at);
	text_fini(&text);
	return result;
}

/* A request to become a WebSocket. 0 lets libwebsockets go on. */
static int take_upgrade(struct lws *wsi, const char *to)
{
	struct web_peer *peer = peer_of(wsi);
	const struct web_service *service = service_of(wsi);
	char *path = NULL, version[VALUE_BYTES];
	int count = 0, method = lws_http_get_uri_and_method(wsi, &path, &count);
	const char *has_version = value_of(wsi, WSI_TOKEN_VERSION, version);
	struct access access;
	enum admit why = judge(wsi, service, &access);
	if (why)
		return refuse_access(wsi, why, &access);
	if (strcasecmp(to, "websocket") != 0 || method != LWSHUMETH_GET || has_body(wsi))
		return refuse(wsi, "400 Bad Request", "", "expected an upgrade to websocket, by GET");
	if (!has_version || strcmp(version, "13") != 0)
		return refuse(wsi, "426 Upgrade Required", "sec-websocket-version: 13\r\n", "expected version 13");
	if (!service)
		return refuse_protocol(wsi);
	if (peer->web->socket_count >= peer->web->peers_max) {
		web_refused(peer, "too many clients");
		return refuse(wsi, "503 Service Unavailable", "", "too many clients");
	}
	peer->admitted = true;
	return 0;
}

/* Whether this is an event of a WebSocket. Such events come here if the client has named no subprotocol. */
static bool is_of_socket(enum lws_callback_reasons reason)
{
	return reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION || reason == LWS_CALLBACK_ESTABLISHED ||
	       reason == LWS_CALLBACK_RECEIVE || reason == LWS_CALLBACK_SERVER_WRITEABLE ||
	       reason == LWS_CALLBACK_CLOSED;
}

int page_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count)
{
	struct web_peer *peer = wsi ? lws_get_opaque_user_data(wsi) : NULL;
	if (peer && peer->admitted && peer->web->unnamed && is_of_socket(reason))
		return peer_callback(wsi, reason, user, in, count);
	switch (reason) {
	case LWS_CALLBACK_RAW_RX_FILE:
		web_take_file(lws_context_user(lws_get_context(wsi)), wsi);
		return 0;
	case LWS_CALLBACK_HTTP:
		return peer ? take_request(wsi) : -1;
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return write_body(wsi);
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return peer ? take_upgrade(wsi, in) : -1;
	case LWS_CALLBACK_WSI_DESTROY:
		if (peer)
			web_forget(peer);
		return 0;
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: /* each that is good has another protocol */
	case LWS_CALLBACK_ESTABLISHED:
	case LWS_CALLBACK_RAW_ADOPT:
	case LWS_CALLBACK_RAW_RX:
	case LWS_CALLBACK_HTTP_BODY:
		return -1;
	default: /* not lws_callback_http_dummy(): it answers */
		return 0;
	}
}
