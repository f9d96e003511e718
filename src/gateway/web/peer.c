/* A WebSocket. Its queue is ours, because libwebsockets takes one message at a time and keeps a copy of the part that
 * the kernel refuses: so at most one message of a slow peer lies there. A few messages are written at a turn, so that a
 * peer that takes everything does not keep others waiting. */
#include "gateway/web/web_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* As much as is written to one peer before others have their turn; and what the kernel may hold of one. */
enum { TURN_BYTES = 256 << 10, KERNEL_BYTES = 256 << 10, TURN_CLOSE_US = WEB_CLOSE_MS * 1000 };

/* --- out ---------------------------------------------------------------------------------------------------------- */

bool web_send(struct web_peer *peer, bool binary, const void *bytes, size_t count)
{
	size_t waiting = web_waiting(peer);
	if (peer->is_closing)
		return true;
	if (waiting && waiting + count > peer->web->queue_bytes_max)
		return false;
	struct web_block *block = mem_alloc(sizeof *block);
	/* and a byte, so that `at` of an empty message points into its memory: a search for leaks follows it */
	*block = (struct web_block){.count = count, .binary = binary, .at = mem_realloc(NULL, LWS_PRE + count + 1)};
	block->at += LWS_PRE;
	if (count)
		memcpy(block->at, bytes, count);
	*peer->last = block;
	peer->last = &block->next;
	peer->queued += count;
	peer->told_room = false;
	lws_callback_on_writable(peer->wsi);
	return true;
}

size_t web_waiting(const struct web_peer *peer)
{
	return peer->queued + peer->held;
}

static void drop_first(struct web_peer *peer)
{
	struct web_block *block = peer->first;
	peer->queued -= block->count;
	peer->first = block->next;
	if (!peer->first)
		peer->last = &peer->first;
	free(block->at - LWS_PRE);
	free(block);
}

/* A client would count a reason that is not UTF-8 as a violation of the protocol, and not show it. */
static void peer_keep_reason(struct web_peer *peer, uint16_t code, const char *reason)
{
	char *kept = peer->close_reason;
	size_t count = strnlen(reason, sizeof peer->close_reason);
	bool is_cut = count == sizeof peer->close_reason;
	count -= is_cut;
	while (is_cut && count && ((unsigned char)reason[count] & 0xc0) == 0x80)
		count--; /* not within a character */
	memcpy(kept, reason, count);
	kept[count] = '\0';
	bool is_utf8 = text_is_utf8(kept, count);
	for (size_t i = 0; i < count && !is_utf8; i++)
		kept[i] = (unsigned char)kept[i] < 0x80 ? kept[i] : '?';
	peer->close_code = code;
}

void web_close(struct web_peer *peer, uint16_t code, const char *reason)
{
	if (peer->is_closing)
		return;
	peer->is_closing = true;
	peer_keep_reason(peer, code, reason);
	while (peer->first)
		drop_first(peer);
	lws_callback_on_writable(peer->wsi);
	lws_set_timeout(peer->wsi, PENDING_TIMEOUT_USER_REASON_BASE, (WEB_CLOSE_MS + 999) / 1000);
}

void peer_leave(struct web_peer *peer, uint16_t code, const char *reason)
{
	if (peer->is_closing)
		return;
	peer->is_leaving = true;
	peer_keep_reason(peer, code, reason);
	lws_callback_on_writable(peer->wsi);
}

const char *web_peer_name(const struct web_peer *peer)
{
	return peer->name;
}

const char *web_peer_protocol(const struct web_peer *peer)
{
	return lws_get_protocol(peer->wsi)->name;
}

static int say_goodbye(struct web_peer *peer)
{
	lws_close_reason(peer->wsi, (enum lws_close_status)peer->close_code, (unsigned char *)peer->close_reason,
		strlen(peer->close_reason));
	return -1;
}

static int write_some(struct web_peer *peer)
{
	size_t written = 0;
	peer->held = 0; /* or the socket could not be written */
	if (peer->is_closing)
		return say_goodbye(peer);
	while (peer->first && written < TURN_BYTES && !lws_send_pipe_choked(peer->wsi)) {
		struct web_block *block = peer->first;
		written += block->count;
		int sent = lws_write(
			peer->wsi, block->at, block->count, block->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT);
		if (sent < (int)block->count)
			return -1;
		peer->held = lws_partial_buffered(peer->wsi) ? block->count : 0;
		drop_first(peer);
	}
	if (!peer->first && !peer->held && !peer->told_room && peer->conn && peer->service->room) {
		peer->told_room = true;
		peer->service->room(peer->conn);
	}
	if (peer->first || peer->held)
		lws_callback_on_writable(peer->wsi);
	else if (peer->is_leaving)
		return say_goodbye(peer);
	return 0;
}

/* --- in ----------------------------------------------------------------------------------------------------------- */

static int take_bytes(struct web_peer *peer, const void *bytes, size_t count)
{
	struct lws *wsi = peer->wsi;
	if (peer->is_closing || peer->is_leaving || !peer->conn)
		return 0;
	if (lws_is_first_fragment(wsi))
		peer->heard.count = 0;
	if (count + lws_remaining_packet_payload(wsi) > peer->service->hear_bytes_max ||
		peer->heard.count + count > peer->service->hear_bytes_max) {
		char reason[WEB_REASON_MAX + 1];
		(void)snprintf(
			reason, sizeof reason, "a message of more than %zu bytes", peer->service->hear_bytes_max);
		web_close(peer, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, reason);
		return 0;
	}
	text_add_bytes(&peer->heard, bytes, count);
	if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi))
		return 0;
	peer->service->hear(peer->conn, lws_frame_is_binary(wsi), peer->heard.at, peer->heard.count);
	if (peer->heard.room > (64u << 10)) /* a long message does not keep its memory */
		text_fini(&peer->heard);
	peer->heard.count = 0;
	return 0;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static int begin(struct web_peer *peer, const struct web_name *name)
{
	int bytes = KERNEL_BYTES;
	if (!peer->admitted)
		return -1;
	peer->service = name->service;
	peer->web->socket_count++;
	(void)setsockopt(lws_get_socket_fd(peer->wsi), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	peer->conn = peer->service->open(peer->service->ctx, peer);
	if (!peer->conn)
		web_close(peer, 1013, "no room for this client now");
	return 0;
}

static void end(struct web_peer *peer)
{
	void *conn = peer->conn;
	if (!peer->service)
		return;
	peer->conn = NULL;
	if (conn)
		peer->service->close(conn);
	peer->service = NULL;
	peer->web->socket_count--;
}

void peer_fini(struct web_peer *peer)
{
	end(peer);
	while (peer->first)
		drop_first(peer);
	text_fini(&peer->heard);
}

int peer_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count)
{
	struct web_peer *peer = wsi ? lws_get_opaque_user_data(wsi) : NULL;
	(void)user;
	if (!peer)
		return 0;
	switch (reason) {
	case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
		return !peer->admitted;
	case LWS_CALLBACK_ESTABLISHED:
		return begin(peer, lws_get_protocol(wsi)->user);
	case LWS_CALLBACK_RECEIVE:
		return take_bytes(peer, in, count);
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return write_some(peer);
	case LWS_CALLBACK_CLOSED:
		end(peer);
		return 0;
	default:
		return 0;
	}
}
