/* A client must mask what it sends, so that a page cannot choose the bytes that a proxy on the way sees; a server that
 * took other frames would take the bytes of something that is no WebSocket. */
#include "gateway/web/ws.h"

#include <string.h>

static bool ws_is_control(enum ws_kind kind)
{
	return kind >= WS_CLOSE;
}

static const char *ws_judge(const unsigned char *bytes, bool opened)
{
	unsigned kind = bytes[0] & 15, least = bytes[1] & 127;
	bool last = bytes[0] & 128;
	if (bytes[0] & 0x70)
		return "a frame with a reserved bit";
	if (!(bytes[1] & 128))
		return "a frame without a mask";
	if (kind > WS_PONG || (kind > WS_BINARY && kind < WS_CLOSE))
		return "a frame of an unknown kind";
	if (ws_is_control((enum ws_kind)kind))
		return !last                    ? "a control frame in parts"
		       : least > WS_CONTROL_MAX ? "a control frame of more than 125 bytes"
						: NULL;
	if ((kind == WS_MORE) != opened)
		return opened ? "a message within a message" : "the rest of no message";
	return NULL;
}

enum ws_read ws_read(const unsigned char *bytes, size_t count, bool opened, struct ws_frame *ret_frame,
	size_t *ret_bytes, const char **ret_why)
{
	if (count < 2)
		return WS_PARTIAL;
	*ret_why = ws_judge(bytes, opened);
	if (*ret_why)
		return WS_BAD;
	unsigned first = bytes[1] & 127, wide = first == 126 ? 2 : first == 127 ? 8 : 0;
	uint64_t length = wide ? 0 : first;
	if (count < 2 + wide + 4)
		return WS_PARTIAL;
	for (unsigned i = 0; i < wide; i++)
		length = length << 8 | bytes[2 + i];
	if (length >> 63 || (wide == 2 && length < 126) || (wide == 8 && length <= UINT16_MAX)) {
		*ret_why = "a frame whose length is not valid";
		return WS_BAD;
	}
	*ret_frame = (struct ws_frame){.kind = (enum ws_kind)(bytes[0] & 15), .last = bytes[0] & 128, .count = length};
	memcpy(ret_frame->mask, bytes + 2 + wide, 4);
	*ret_bytes = 2 + wide + 4;
	return WS_WHOLE;
}

void ws_unmask(const struct ws_frame *frame, uint64_t from, unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] ^= frame->mask[(from + i) & 3];
}

size_t ws_write(enum ws_kind kind, uint64_t count, unsigned char *end)
{
	unsigned wide = count < 126 ? 0 : count <= UINT16_MAX ? 2 : 8;
	unsigned char *at = end - 2 - wide;
	at[0] = (unsigned char)(0x80 | kind);
	at[1] = (unsigned char)(wide == 0 ? count : wide == 2 ? 126 : 127);
	for (unsigned i = 0; i < wide; i++)
		at[2 + i] = (unsigned char)(count >> 8 * (wide - 1 - i));
	return 2 + wide;
}

bool ws_may_close(uint16_t code)
{
	return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
	       (code >= 3000 && code <= 4999);
}

/* --- the handshake ------------------------------------------------------------------------------------------------ */

static uint32_t ws_turn(uint32_t x, unsigned by)
{
	return x << by | x >> (32 - by);
}

/* A block of SHA-1 (FIPS 180-4), which RFC 6455 uses to show that the server knows the protocol; no secret depends on
 * it. */
static void ws_sha1_block(uint32_t state[5], const unsigned char block[64])
{
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 80; i++)
		w[i] = ws_turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		uint32_t f = i < 20   ? (b & c) | (~b & d)
			     : i < 40 ? b ^ c ^ d
			     : i < 60 ? (b & c) | (b & d) | (c & d)
				      : b ^ c ^ d;
		uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
		uint32_t next = ws_turn(a, 5) + f + e + k + w[i];
		e = d;
		d = c;
		c = ws_turn(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

/* Of at most 119 bytes, which are two blocks. */
static void ws_sha1(const char *bytes, size_t count, unsigned char ret_hash[20])
{
	uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	unsigned char blocks[128] = {0};
	size_t end = count > 55 ? 128 : 64;
	memcpy(blocks, bytes, count);
	blocks[count] = 0x80;
	blocks[end - 2] = (unsigned char)(count * 8 >> 8);
	blocks[end - 1] = (unsigned char)(count * 8);
	for (size_t at = 0; at < end; at += 64)
		ws_sha1_block(state, blocks + at);
	for (int i = 0; i < 20; i++)
		ret_hash[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

static const char ws_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 16 bytes in base64. */
static bool ws_is_key(const char *key, size_t count)
{
	if (count != WS_KEY_BYTES || key[22] != '=' || key[23] != '=')
		return false;
	for (size_t i = 0; i < 22; i++)
		if (!key[i] || !strchr(ws_digits, key[i]))
			return false;
	return true;
}

bool ws_accept(const char *key, size_t count, char ret_accept[WS_ACCEPT_BYTES + 1])
{
	static const char constant[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* of RFC 6455 */
	char both[WS_KEY_BYTES + sizeof constant];
	unsigned char hash[21] = {0};
	if (!ws_is_key(key, count))
		return false;
	memcpy(both, key, WS_KEY_BYTES);
	memcpy(both + WS_KEY_BYTES, constant, sizeof constant);
	ws_sha1(both, sizeof both - 1, hash);
	for (int i = 0; i < 7; i++) {
		uint32_t three = (uint32_t)hash[3 * i] << 16 | (uint32_t)hash[3 * i + 1] << 8 | hash[3 * i + 2];
		for (int k = 0; k < 4; k++)
			ret_accept[4 * i + k] = ws_digits[three >> (18 - 6 * k) & 63];
	}
	ret_accept[27] = '=';
	ret_accept[WS_ACCEPT_BYTES] = '\0';
	return true;
}
