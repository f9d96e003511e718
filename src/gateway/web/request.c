/* Lines end with CR LF only, a header is one line, and no byte is a control character: a request that two servers could
 * read in two ways is read in none. */
#include "gateway/web/request.h"

#include <string.h>
#include <strings.h>

static bool request_is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool request_is_token(struct web_piece piece)
{
	for (size_t i = 0; i < piece.count; i++)
		if (!request_is_token_char(piece.at[i]))
			return false;
	return piece.count;
}

bool request_is(struct web_piece piece, const char *text)
{
	return piece.at && piece.count == strlen(text) && !strncasecmp(piece.at, text, piece.count);
}

bool request_is_exactly(struct web_piece piece, const char *text)
{
	return piece.at && piece.count == strlen(text) && !memcmp(piece.at, text, piece.count);
}

void request_copy(struct web_piece piece, char *ret_text, size_t room)
{
	size_t count = piece.count < room ? piece.count : 0;
	if (count)
		memcpy(ret_text, piece.at, count);
	ret_text[count] = '\0';
}

/* The bytes up to the next CR LF, which must come in the `count` bytes; a lone CR or LF, or another control character
 * than a tab, makes the line bad. */
static bool request_line(const char *at, size_t count, struct web_piece *ret_line)
{
	for (size_t i = 0; i < count; i++) {
		if (at[i] == '\r' && i + 1 < count && at[i + 1] == '\n') {
			*ret_line = (struct web_piece){at, i};
			return true;
		}
		if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
			return false;
	}
	return false;
}

/* The part before the byte c, which is removed from *rest with it. False: there is no c. */
static bool request_cut(struct web_piece *rest, char c, struct web_piece *ret_before)
{
	const char *at = rest->count ? memchr(rest->at, c, rest->count) : NULL;
	if (!at)
		return false;
	*ret_before = (struct web_piece){rest->at, (size_t)(at - rest->at)};
	rest->count -= ret_before->count + 1;
	rest->at = at + 1;
	return true;
}

static struct web_piece request_trim(struct web_piece piece)
{
	while (piece.count && (*piece.at == ' ' || *piece.at == '\t'))
		piece.at++, piece.count--;
	while (piece.count && (piece.at[piece.count - 1] == ' ' || piece.at[piece.count - 1] == '\t'))
		piece.count--;
	return piece;
}

/* GET /path?query HTTP/1.1 */
static bool request_first_line(struct web_piece line, struct web_request *request)
{
	struct web_piece target;
	if (!request_cut(&line, ' ', &request->method) || !request_is_token(request->method) ||
		!request_cut(&line, ' ', &target) || !target.count || *target.at != '/')
		return false;
	bool newer = line.count == 8 && !memcmp(line.at, "HTTP/1.1", 8);
	if (!newer && !(line.count == 8 && !memcmp(line.at, "HTTP/1.0", 8)))
		return false;
	request->keeps = newer;
	if (request_cut(&target, '?', &request->path))
		request->query = target;
	else
		request->path = target;
	return true;
}

static bool request_header_line(struct web_piece line, struct web_request *request)
{
	struct web_piece name;
	if (request->header_count == REQUEST_HEADERS_MAX || !request_cut(&line, ':', &name) || !request_is_token(name))
		return false;
	request->headers[request->header_count].name = name;
	request->headers[request->header_count++].value = request_trim(line);
	return true;
}

enum request_read request_read(const char *bytes, size_t count, struct web_request *ret_request, size_t *ret_bytes)
{
	struct web_request request = {.header_count = 0};
	struct web_piece line;
	size_t at = 0;
	const char *end = count ? memmem(bytes, count, "\r\n\r\n", 4) : NULL;
	if (!end)
		return REQUEST_MORE;
	count = (size_t)(end - bytes) + 4;
	if (!request_line(bytes, count, &line) || !request_first_line(line, &request))
		return REQUEST_BAD;
	for (at = line.count + 2; at + 2 < count; at += line.count + 2)
		if (!request_line(bytes + at, count - at, &line) || !request_header_line(line, &request))
			return REQUEST_BAD;
	if (request_lists(&request, "connection", "close"))
		request.keeps = false;
	*ret_request = request;
	*ret_bytes = count;
	return REQUEST_WHOLE;
}

bool request_header(const struct web_request *request, const char *name, struct web_piece *ret_value, bool *ret_twice)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < request->header_count; i++)
		if (request_is(request->headers[i].name, name) && !found++)
			*ret_value = request->headers[i].value;
	if (ret_twice)
		*ret_twice = found > 1;
	return found == 1;
}

bool request_has(const struct web_request *request, const char *name)
{
	bool found = false;
	for (uint32_t i = 0; i < request->header_count; i++)
		found |= request_is(request->headers[i].name, name);
	return found;
}

bool request_lists(const struct web_request *request, const char *name, const char *word)
{
	for (uint32_t i = 0; i < request->header_count; i++) {
		struct web_piece rest = request->headers[i].value, item;
		if (!request_is(request->headers[i].name, name))
			continue;
		while (request_cut(&rest, ',', &item))
			if (request_is(request_trim(item), word))
				return true;
		if (request_is(request_trim(rest), word))
			return true;
	}
	return false;
}

static int request_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static void request_decode(struct web_piece piece, char *ret_text, size_t room)
{
	size_t count = 0;
	for (size_t i = 0; i < piece.count && count + 1 < room; i++) {
		int high = piece.at[i] == '%' && i + 2 < piece.count ? request_digit(piece.at[i + 1]) : -1;
		int low = high >= 0 ? request_digit(piece.at[i + 2]) : -1;
		ret_text[count++] = (char)(low >= 0 ? high << 4 | low : piece.at[i]);
		i += low >= 0 ? 2 : 0;
	}
	ret_text[piece.count < room ? count : 0] = '\0';
}

/* The value of NAME=value in a list with this byte between the items. */
static bool request_value_in(struct web_piece list, char between, const char *name, struct web_piece *ret_value)
{
	bool more = list.count > 0;
	while (more) {
		struct web_piece item, key;
		more = request_cut(&list, between, &item);
		item = request_trim(more ? item : list);
		if (!request_cut(&item, '=', &key) || key.count != strlen(name) || memcmp(key.at, name, key.count) != 0)
			continue;
		*ret_value = item;
		return true;
	}
	return false;
}

const char *request_argument(const struct web_request *request, const char *name, char *ret_value, size_t room)
{
	struct web_piece value;
	if (!request_value_in(request->query, '&', name, &value))
		return NULL;
	request_decode(value, ret_value, room);
	return ret_value;
}

const char *request_cookie(const struct web_request *request, const char *name, char *ret_value, size_t room)
{
	struct web_piece value;
	for (uint32_t i = 0; i < request->header_count; i++) {
		if (!request_is(request->headers[i].name, "cookie") ||
			!request_value_in(request->headers[i].value, ';', name, &value))
			continue;
		request_copy(value, ret_value, room);
		return ret_value;
	}
	return NULL;
}
