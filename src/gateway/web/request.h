/* The head of an HTTP request: its line and its headers, as RFC 9112 has them. Pure. */
#ifndef GATEWAY_WEB_REQUEST_H
#define GATEWAY_WEB_REQUEST_H

#include "base/base.h"

enum { REQUEST_HEADERS_MAX = 100 };

struct web_piece { /* of the bytes of the request; no terminator. at NULL: there is none */
	const char *at;
	size_t count;
};

struct web_request {
	struct web_piece method, path, query; /* query: after the '?', without it */
	bool keeps;                           /* the connection may have another request after this one */
	struct {
		struct web_piece name, value;
	} headers[REQUEST_HEADERS_MAX];
	uint32_t header_count;
};

enum request_read {
	REQUEST_WHOLE,
	REQUEST_MORE, /* its end has not come */
	REQUEST_BAD,
};

/* Reads the head of a request. *ret_bytes: its length, with the empty line. The pieces point into bytes. */
enum request_read request_read(const char *bytes, size_t count, struct web_request *ret_request, size_t *ret_bytes);
/* The value of a header, found by its name in lower case. False: the request has none, or, with *ret_twice, several. */
bool request_header(const struct web_request *request, const char *name, struct web_piece *ret_value, bool *ret_twice);
bool request_has(const struct web_request *request, const char *name);
/* Whether the header is a list with this word; in any case of letters. */
bool request_lists(const struct web_request *request, const char *name, const char *word);
/* The value of "NAME=value" in the query, with %XX decoded, cut into room bytes; NULL: there is none. A value that is
 * too long is empty. */
const char *request_argument(const struct web_request *request, const char *name, char *ret_value, size_t room);
/* The same of a cookie, as it is. */
const char *request_cookie(const struct web_request *request, const char *name, char *ret_value, size_t room);
/* Copies a piece and ends it with a zero byte; a piece that is too long becomes empty. */
void request_copy(struct web_piece piece, char *ret_text, size_t room);
bool request_is(struct web_piece piece, const char *text); /* in any case of letters */
bool request_is_exactly(struct web_piece piece, const char *text);

#endif
