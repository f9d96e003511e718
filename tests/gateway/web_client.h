/* A client of the web server that sends any bytes: for test_web and fuzz_web. It blocks, with a limit of time. */
#ifndef TESTS_GATEWAY_WEB_CLIENT_H
#define TESTS_GATEWAY_WEB_CLIENT_H

#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static inline int client_connect(uint16_t port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval limit = {.tv_sec = 60};
	int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	(void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(file, (const struct sockaddr *)&to, sizeof to)) {
		close(file);
		return -1;
	}
	return file;
}

/* False: the server has closed. */
static inline bool client_send(int file, const void *bytes, size_t count)
{
	const char *at = bytes;
	while (count) {
		ssize_t sent = send(file, at, count, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		at += sent;
		count -= (size_t)sent;
	}
	return true;
}

static inline bool client_read(int file, void *ret_bytes, size_t count)
{
	char *at = ret_bytes;
	while (count) {
		ssize_t got = recv(file, at, count, 0);
		if (got <= 0)
			return false;
		at += got;
		count -= (size_t)got;
	}
	return true;
}

/* All that comes until the server closes, or for a HTTP answer up to the end of its head. */
static inline void client_read_all(int file, bool only_head, struct text *out)
{
	char piece[4096];
	ssize_t got;
	text_add(out, "%s", "");
	while ((got = recv(file, piece, only_head ? 1 : sizeof piece, 0)) > 0) {
		text_add_bytes(out, piece, (size_t)got);
		if (only_head && out->count >= 4 && !memcmp(out->at + out->count - 4, "\r\n\r\n", 4))
			return;
	}
}

/* A frame as a client sends it; the mask is 0, which masks nothing. */
static inline void client_add_frame(struct text *out, int first, const void *bytes, size_t count)
{
	unsigned char head[14] = {(unsigned char)first};
	size_t n = 2;
	if (count < 126) {
		head[1] = (unsigned char)(0x80 | count);
	} else {
		size_t wide = count < 65536 ? 2 : 8;
		head[1] = wide == 2 ? 0x80 | 126 : 0x80 | 127;
		for (size_t i = 0; i < wide; i++)
			head[n++] = (unsigned char)(count >> 8 * (wide - 1 - i));
	}
	text_add_bytes(out, (const char *)head, n + 4);
	text_add_bytes(out, bytes, count);
}

struct client_frame {
	int kind; /* 1 text, 2 binary, 8 close, 10 pong */
	struct text body;
};

/* False: the connection has ended. */
static inline bool client_take_any(int file, struct client_frame *ret_frame)
{
	unsigned char head[2], wide[8];
	if (!client_read(file, head, 2))
		return false;
	size_t count = head[1] & 0x7f, more = count == 126 ? 2 : count == 127 ? 8 : 0;
	if (more) {
		if (!client_read(file, wide, more))
			return false;
		count = 0;
		for (size_t i = 0; i < more; i++)
			count = count << 8 | wide[i];
	}
	ret_frame->kind = head[0] & 0xf;
	ret_frame->body = (struct text){0};
	text_reserve(&ret_frame->body, count);
	ret_frame->body.count = count;
	ret_frame->body.at[count] = '\0';
	return client_read(file, ret_frame->body.at, count);
}

/* The server pings a client when a test takes long, and leaves one that does not answer. */
static inline bool client_take(int file, struct client_frame *ret_frame)
{
	while (client_take_any(file, ret_frame)) {
		if (ret_frame->kind != 9)
			return true;
		struct text answer = {0};
		client_add_frame(&answer, 0x8a, ret_frame->body.at, ret_frame->body.count);
		(void)client_send(file, answer.at, answer.count);
		text_fini(&answer);
		text_fini(&ret_frame->body);
	}
	return false;
}

/* The lines of an upgrade, more: further headers. */
static inline void client_add_upgrade(struct text *out, const char *path, const char *host, const char *more)
{
	text_add(out,
		"GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
		"13\r\n"
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
		path, host, more);
}

#endif
