/* A WebSocket. Messages wait in a queue of ours, of which the kernel has a limited part. A few messages are written at
 * a turn, so that a peer that takes everything does not keep others waiting.
 *
 * A message that is coming in is kept until it is whole. Each peer may have one that is as long as its service allows,
 * so all of them together have a limit, too: beyond it the peer with the longest is closed. */
#include "gateway/web/web_internal.h"

#include "base/clock.h"
#include "base/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MS_NS UINT64_C(1000000)
/* As much as is written to one peer before others have their turn; what the kernel may hold of one; answers to pings
 * that may wait. */
enum { TURN_BYTES = 256 << 10, KERNEL_BYTES = 256 << 10, CONTROL_BYTES_MAX = 4096, HEARD_ROOM_BYTES = 64 << 10 };

/* --- out ---------------------------------------------------------------------------------------------------------- */

bool web_send(struct web_peer *peer, bool binary, const void *bytes, size_t count)
{
	size_t waiting = web_waiting(peer);
	if (peer->is_closing)
		return true;
	if (waiting && waiting + count > peer->web->queue_bytes_max)
		return false;
	struct web_block *block = mem_alloc(sizeof *block + WS_OUT_HEAD_MAX + count);
	*block = (struct web_block){.count = count};
	block->head = ws_write(binary ? WS_BINARY : WS_TEXT, count, block->at + WS_OUT_HEAD_MAX);
	if (count)
		memcpy(block->at + WS_OUT_HEAD_MAX, bytes, count);
	*peer->last = block;
	peer->last = &block->next;
	peer->queued += count;
	peer->told_room = false;
	web_await(peer);
	return true;
}

size_t web_waiting(const struct web_peer *peer)
{
	return peer->queued;
}

/* Bytes of the message that the kernel has not. */
static size_t peer_left_of(const struct web_block *block)
{
	return MIN(block->head + block->count - block->sent, block->count);
}

static void peer_drop_first(struct web_peer *peer)
{
	struct web_block *block = peer->first;
	peer->queued -= peer_left_of(block);
	peer->first = block->next;
	if (!peer->first)
		peer->last = &peer->first;
	free(block);
}

/* Drops all that waits but a message of which the kernel has a part. */
static void peer_drop_waiting(struct web_peer *peer)
{
	struct web_block *begun = peer->first && peer->first->begun ? peer->first : NULL;
	struct web_block *at = begun ? begun->next : peer->first;
	while (at) {
		struct web_block *next = at->next;
		peer->queued -= at->count;
		free(at);
		at = next;
	}
	peer->first = begun;
	if (begun)
		begun->next = NULL;
	peer->last = begun ? &begun->next : &peer->first;
}

static void peer_add_control(struct web_peer *peer, enum ws_kind kind, const void *bytes, size_t count)
{
	unsigned char head[WS_OUT_HEAD_MAX];
	size_t length = ws_write(kind, count, head + sizeof head);
	text_add_bytes(&peer->controls, (const char *)head + sizeof head - length, length);
	text_add_bytes(&peer->controls, bytes, count);
	web_await(peer);
}

static void peer_add_close(struct web_peer *peer)
{
	size_t length = strlen(peer->close_reason);
	char payload[2 + WEB_REASON_MAX] = {(char)(peer->close_code >> 8), (char)(peer->close_code & 0xff)};
	memcpy(payload + 2, peer->close_reason, length);
	peer->sent_close = true;
	peer_add_control(peer, WS_CLOSE, payload, peer->close_code ? 2 + length : 0);
}

/* A client would count a reason that is not UTF-8 as a violation of the protocol, and not show it. */
static void peer_set_close(struct web_peer *peer, uint16_t code, const char *reason)
{
	char *kept = peer->close_reason;
	size_t count = strnlen(reason, sizeof peer->close_reason);
	bool is_cut = count == sizeof peer->close_reason;
	count -= is_cut;
	while (is_cut && count && ((unsigned char)reason[count] & 0xc0) == 0x80)
		count--; /* not within a character */
	memcpy(kept, reason, count);
	kept[count] = '\0';
	bool is_utf8 = shown_is_utf8(kept, count);
	for (size_t i = 0; i < count && !is_utf8; i++)
		kept[i] = (unsigned char)kept[i] < 0x80 ? kept[i] : '?';
	peer->close_code = code;
}

void web_close(struct web_peer *peer, uint16_t code, const char *reason)
{
	if (peer->is_closing)
		return;
	peer->is_closing = true;
	peer_set_close(peer, code, reason);
	peer_drop_waiting(peer);
	peer->controls.count = 0;
	peer->deadline_ns = clock_now_ns() + WEB_CLOSE_MS * MS_NS;
	peer_add_close(peer);
}

void peer_leave(struct web_peer *peer, uint16_t code, const char *reason)
{
	if (peer->is_closing)
		return;
	peer->is_leaving = true;
	peer_set_close(peer, code, reason);
	web_await(peer);
}

const char *web_peer_name(const struct web_peer *peer)
{
	return peer->name;
}

const char *web_peer_protocol(const struct web_peer *peer)
{
	return peer->protocol;
}

bool peer_has_more(const struct web_peer *peer)
{
	return peer->controls.count || peer->first || (peer->is_leaving && !peer->sent_close) ||
	       (!peer->told_room && peer->conn && peer->service->room && !peer->is_closing);
}

/* Writes what comes before the messages. False: it has not all gone. */
static bool peer_write_controls(struct web_peer *peer)
{
	size_t count;
	while (peer->controls.count) {
		enum stream_result result =
			stream_write(&peer->stream, peer->controls.at, peer->controls.count, &count);
		if (result == STREAM_GONE)
			web_drop(peer);
		if (result != STREAM_MOVED)
			return false;
		peer->controls.count -= count;
		memmove(peer->controls.at, peer->controls.at + count, peer->controls.count);
	}
	return true;
}

/* Writes a part of the first message. False: the socket takes no more. */
static bool peer_write_block(struct web_peer *peer, size_t *written)
{
	struct web_block *block = peer->first;
	const unsigned char *begin = block->at + WS_OUT_HEAD_MAX - block->head;
	size_t count, whole = block->head + block->count, before = peer_left_of(block);
	enum stream_result result = stream_write(&peer->stream, begin + block->sent, whole - block->sent, &count);
	block->begun |= peer->stream.tls || result == STREAM_MOVED; /* TLS may have a part that it could not send */
	if (result == STREAM_GONE)
		web_drop(peer);
	if (result != STREAM_MOVED)
		return false;
	block->sent += count;
	*written += count;
	peer->queued -= before - peer_left_of(block);
	if (block->sent == whole)
		peer_drop_first(peer);
	return true;
}

void peer_write(struct web_peer *peer)
{
	size_t written = 0;
	bool moves = true;
	while (moves && !peer->is_gone && (peer->first || peer->controls.count) && written < TURN_BYTES) {
		bool between = !peer->first || !peer->first->begun; /* not within a message */
		moves = !between || peer_write_controls(peer);
		if (moves && peer->first)
			moves = peer_write_block(peer, &written);
	}
	if (peer->is_gone || peer->first || peer->controls.count)
		return;
	if (!peer->told_room && !peer->is_closing && peer->conn && peer->service->room) {
		peer->told_room = true;
		peer->service->room(peer->conn);
	}
	if (peer->first)
		return;
	if (peer->is_leaving && !peer->sent_close) {
		peer->is_closing = true;
		peer->deadline_ns = clock_now_ns() + WEB_CLOSE_MS * MS_NS;
		peer_add_close(peer);
	} else if (peer->sent_close) {
		stream_end(&peer->stream);
	}
}

/* --- in ----------------------------------------------------------------------------------------------------------- */

static void peer_forget_message(struct web_peer *peer)
{
	peer->web->half_bytes -= peer->heard.count;
	peer->heard.count = 0;
	peer->opened = WS_MORE;
	if (!peer->is_closing)
		peer->deadline_ns = UINT64_MAX;
	if (peer->heard.room > HEARD_ROOM_BYTES) /* a long message does not keep its memory */
		text_fini(&peer->heard);
}

static void peer_refuse(struct web_peer *peer, uint16_t code, const char *why)
{
	peer_forget_message(peer);
	web_close(peer, code, why);
}

/* All half messages together are too long. */
static void peer_shed_half(struct web *web)
{
	struct web_peer *longest = NULL;
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (peer->service && peer->heard.count && (!longest || peer->heard.count > longest->heard.count))
			longest = peer;
	if (!longest)
		return;
	web_refused(longest, "its unfinished message is the longest of too many");
	peer_refuse(longest, WS_TRY_LATER, "too many unfinished messages");
}

static void peer_end_message(struct web_peer *peer)
{
	bool is_text = peer->opened == WS_TEXT;
	const char *bytes = peer->heard.count ? peer->heard.at : "";
	if (is_text && !shown_is_utf8(bytes, peer->heard.count)) {
		peer_refuse(peer, WS_BAD_TEXT, "a text that is not UTF-8");
		return;
	}
	if (peer->conn)
		peer->service->hear(peer->conn, !is_text, bytes, peer->heard.count);
	peer_forget_message(peer);
}

/* A close of the peer is answered with its own code. */
static void peer_hear_close(struct web_peer *peer)
{
	uint64_t count = peer->frame.count;
	uint16_t code = (uint16_t)(count >= 2 ? peer->control[0] << 8 | peer->control[1] : 0);
	bool was_closing = peer->is_closing;
	peer_forget_message(peer);
	if (was_closing && !peer->first && !peer->controls.count) /* both have said it */
		web_drop(peer);
	else if (was_closing)
		return;
	else if (count == 1 || (count && !ws_may_close(code)))
		web_close(peer, WS_WRONG, "a close with a code that is not valid");
	else if (count > 2 && !shown_is_utf8((const char *)peer->control + 2, count - 2))
		web_close(peer, WS_BAD_TEXT, "a reason that is not UTF-8");
	else
		web_close(peer, code, "");
}

static void peer_end_control(struct web_peer *peer)
{
	if (peer->frame.kind == WS_CLOSE)
		peer_hear_close(peer);
	else if (peer->frame.kind == WS_PING && !peer->is_closing && peer->controls.count < CONTROL_BYTES_MAX)
		peer_add_control(peer, WS_PONG, peer->control, (size_t)peer->frame.count);
}

static bool peer_hears(const struct web_peer *peer)
{
	return !peer->is_closing && !peer->is_leaving && peer->conn;
}

/* The head of a frame is there: whether its message may be so long. */
static void peer_begin_frame(struct web_peer *peer)
{
	const struct ws_frame *frame = &peer->frame;
	size_t most = peer->service->hear_bytes_max;
	if (frame->kind >= WS_CLOSE || !peer_hears(peer))
		return;
	if (frame->count > most || peer->heard.count + frame->count > most) {
		char reason[WEB_REASON_MAX + 1];
		(void)snprintf(reason, sizeof reason, "a message of more than %zu bytes", most);
		peer_refuse(peer, WS_TOO_LONG, reason);
		return;
	}
	if (frame->kind == WS_MORE)
		return;
	peer->opened = frame->kind;
	peer->deadline_ns = clock_now_ns() + WEB_MESSAGE_MS * MS_NS;
}

static void peer_take_bytes(struct web_peer *peer, unsigned char *bytes, size_t count)
{
	const struct ws_frame *frame = &peer->frame;
	ws_unmask(frame, peer->frame_at, bytes, count);
	if (frame->kind >= WS_CLOSE) {
		memcpy(peer->control + peer->frame_at, bytes, count);
	} else if (peer_hears(peer)) {
		text_add_bytes(&peer->heard, (const char *)bytes, count);
		peer->web->half_bytes += count;
		if (peer->web->half_bytes > WEB_HALF_BYTES_MAX)
			peer_shed_half(peer->web);
	}
	peer->frame_at += count;
}

static void peer_end_frame(struct web_peer *peer)
{
	peer->in_frame = false;
	if (peer->frame.kind >= WS_CLOSE)
		peer_end_control(peer);
	else if (peer->frame.last && peer_hears(peer))
		peer_end_message(peer);
}

/* Adds bytes to the head of the next frame; returns how many. */
static size_t peer_read_head(struct web_peer *peer, const unsigned char *bytes, size_t count)
{
	const char *why;
	size_t used = 0, length;
	enum ws_read read = WS_PARTIAL;
	while (used < count && read == WS_PARTIAL) {
		peer->head[peer->head_count++] = bytes[used++];
		/* what a peer sends that is not heard any more begins and ends as it likes */
		bool opened = peer_hears(peer) ? peer->opened != WS_MORE : !(peer->head[0] & 15);
		read = ws_read(peer->head, peer->head_count, opened, &peer->frame, &length, &why);
	}
	if (read == WS_PARTIAL)
		return used;
	peer->head_count = 0;
	if (read == WS_BAD) {
		peer_refuse(peer, WS_WRONG, why);
		return count; /* nothing after it can be read */
	}
	peer->in_frame = true;
	peer->frame_at = 0;
	peer_begin_frame(peer);
	return used;
}

void peer_read(struct web_peer *peer, unsigned char *bytes, size_t count)
{
	peer->heard_ns = clock_now_ns();
	peer->pinged = false;
	for (size_t at = 0; at < count && !peer->is_gone;) {
		if (!peer->in_frame) {
			at += peer_read_head(peer, bytes + at, count - at);
		} else {
			size_t some = (size_t)MIN((uint64_t)(count - at), peer->frame.count - peer->frame_at);
			peer_take_bytes(peer, bytes + at, some);
			at += some;
		}
		if (peer->in_frame && peer->frame_at == peer->frame.count)
			peer_end_frame(peer);
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void peer_begin(struct web_peer *peer, const struct web_name *name)
{
	int bytes = KERNEL_BYTES;
	peer->service = name->service;
	peer->protocol = name->name;
	peer->opened = WS_MORE;
	peer->told_room = true;
	peer->deadline_ns = UINT64_MAX;
	peer->heard_ns = clock_now_ns();
	peer->web->socket_count++;
	(void)setsockopt(peer->stream.file, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	peer->conn = peer->service->open(peer->service->ctx, peer);
	if (!peer->conn)
		web_close(peer, WS_TRY_LATER, "no room for this client now");
}

void peer_tick(struct web_peer *peer, uint64_t now_ns)
{
	if (now_ns - peer->heard_ns > WEB_GONE_MS * MS_NS) {
		web_drop(peer);
	} else if (!peer->pinged && !peer->is_closing && now_ns - peer->heard_ns > WEB_PING_MS * MS_NS) {
		peer->pinged = true;
		peer_add_control(peer, WS_PING, "", 0);
	}
}

static void peer_end(struct web_peer *peer)
{
	void *conn = peer->conn;
	if (!peer->service)
		return;
	peer_forget_message(peer);
	peer->conn = NULL;
	if (conn)
		peer->service->close(conn);
	peer->service = NULL;
	peer->web->socket_count--;
}

void peer_fini(struct web_peer *peer)
{
	peer_end(peer);
	while (peer->first)
		peer_drop_first(peer);
	text_fini(&peer->controls);
	text_fini(&peer->heard);
}
