/* Frames of WebSocket (RFC 6455), on the side of a server, and the key of its handshake. Pure. */
#ifndef GATEWAY_WEB_WS_H
#define GATEWAY_WEB_WS_H

#include "base/base.h"

enum {
	WS_HEAD_MAX = 14,     /* bytes of the head of a client's frame */
	WS_OUT_HEAD_MAX = 10, /* the same of a server's, which has no mask */
	WS_CONTROL_MAX = 125, /* bytes in a control frame */
	WS_KEY_BYTES = 24,    /* of Sec-WebSocket-Key */
	WS_ACCEPT_BYTES = 28, /* of Sec-WebSocket-Accept */
};

enum ws_kind { WS_MORE, WS_TEXT, WS_BINARY, WS_CLOSE = 8, WS_PING, WS_PONG };

/* Codes with which a connection is closed. */
enum ws_code {
	WS_GOING = 1001,
	WS_WRONG = 1002,    /* not as the protocol has it */
	WS_BAD_TEXT = 1007, /* not UTF-8 */
	WS_TOO_LONG = 1009,
	WS_TRY_LATER = 1013,
};

/* The head of a frame. */
struct ws_frame {
	enum ws_kind kind;
	bool last;
	unsigned char mask[4];
	uint64_t count; /* bytes that follow */
};

enum ws_read {
	WS_WHOLE,
	WS_PARTIAL, /* more bytes are needed */
	WS_BAD,     /* *ret_why says what is wrong */
};

/* Reads the head of a client's frame. opened: the last message has begun and not ended. A frame without a mask, with a
 * reserved bit or kind, with more bytes for its length than needed, or that does not fit into the sequence, is bad. */
enum ws_read ws_read(const unsigned char *bytes, size_t count, bool opened, struct ws_frame *ret_frame,
	size_t *ret_bytes, const char **ret_why);
/* Unmasks bytes of the frame, in place; from: the first one's number in the frame. */
void ws_unmask(const struct ws_frame *frame, uint64_t from, unsigned char *bytes, size_t count);
/* Writes the head of a server's whole message or control frame so that it ends before `end`; returns its length. */
size_t ws_write(enum ws_kind kind, uint64_t count, unsigned char *end);
/* Whether a client may close with this code. */
bool ws_may_close(uint16_t code);
/* The answer to a client's key; NULL-terminated. False: it is no key. */
bool ws_accept(const char *key, size_t count, char ret_accept[WS_ACCEPT_BYTES + 1]);

#endif
