/* A browser sends requests of any page to any server, this machine's too, but it says truly from which page (Origin)
 * and for which name (Host). A foreign page has a foreign Origin; if its name was made to point to this machine, its
 * Origin and Host agree, but Host is foreign. Ports are not compared with the server's own: the user may forward one to
 * another. A program that is no browser sends no Origin and any Host: against it only a token helps. */
#include "gateway/web/admit.h"

#include "gateway/web/web.h"

#include <string.h>
#include <strings.h>

/* --- names -------------------------------------------------------------------------------------------------------- */

struct admit_piece {
	const char *at;
	size_t count;
};

static bool admit_is_text(struct admit_piece piece, const char *text)
{
	return piece.count == strlen(text) && !strncasecmp(piece.at, text, piece.count);
}

static bool admit_is_port(struct admit_piece piece)
{
	return piece.count >= 1 && piece.count <= 5 && strspn(piece.at, "0123456789") >= piece.count;
}

/* "name", "name:port", "[::1]:port" -> the name, without brackets. */
static bool admit_split_host(struct admit_piece host, struct admit_piece *ret_name)
{
	const char *end;
	struct admit_piece rest;
	if (host.count && *host.at == '[') {
		end = memchr(host.at, ']', host.count);
		if (!end)
			return false;
		*ret_name = (struct admit_piece){host.at + 1, (size_t)(end - host.at - 1)};
		end++;
	} else {
		end = memchr(host.at, ':', host.count);
		end = end ? end : host.at + host.count;
		*ret_name = (struct admit_piece){host.at, (size_t)(end - host.at)};
	}
	rest = (struct admit_piece){end, host.count - (size_t)(end - host.at)};
	if (!ret_name->count)
		return false;
	if (!rest.count)
		return true;
	return *rest.at == ':' && admit_is_port((struct admit_piece){rest.at + 1, rest.count - 1});
}

static bool admit_is_this_machine(struct admit_piece name)
{
	return admit_is_text(name, "localhost") || admit_is_text(name, "::1") ||
	       (name.count > 4 && !strncmp(name.at, "127.", 4) && strspn(name.at, "0123456789.") >= name.count);
}

/* --- host and origin ---------------------------------------------------------------------------------------------- */

static enum admit admit_judge_host(const struct admit_rules *rules, const char *host)
{
	struct admit_piece name;
	if (!host || !admit_split_host((struct admit_piece){host, strlen(host)}, &name))
		return ADMIT_NO_HOST;
	if (!rules->is_local || admit_is_this_machine(name) || admit_is_text(name, rules->listens))
		return ADMIT_YES;
	return ADMIT_FOREIGN_HOST;
}

static bool admit_is_listed(const char *origin, const char *const *origins)
{
	for (; origins && *origins; origins++)
		if (!strcasecmp(origin, *origins))
			return true;
	return false;
}

static bool admit_is_local_origin(const char *origin, struct admit_piece authority)
{
	struct admit_piece name;
	if (!strcmp(origin, "file://"))
		return true;
	return authority.at && admit_split_host(authority, &name) && admit_is_this_machine(name);
}

/* The part after http:// or https://, which of an origin is the last; .at NULL: it has another form. */
static struct admit_piece admit_authority_of(const char *origin)
{
	static const char *const schemes[] = {"http://", "https://"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t count = strlen(schemes[i]);
		if (!strncasecmp(origin, schemes[i], count))
			return (struct admit_piece){origin + count, strlen(origin + count)};
	}
	return (struct admit_piece){NULL, 0};
}

static bool admit_is_good_origin(const struct admit_request *request)
{
	const char *origin = request->origin;
	struct admit_piece authority = admit_authority_of(origin);
	if (authority.at && admit_is_text(authority, request->host))
		return true;
	return admit_is_listed(origin, request->origins) ||
	       (request->local_origins && admit_is_local_origin(origin, authority));
}

/* --- token -------------------------------------------------------------------------------------------------------- */

/* The time that it takes depends on the lengths only. */
static bool admit_is_same(const char *given, const char *token)
{
	size_t count = strlen(token);
	volatile unsigned char differs = 0;
	if (!given || strlen(given) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		differs |= (unsigned char)(given[i] ^ token[i]);
	return !differs;
}

enum admit admit(const struct admit_rules *rules, const struct admit_request *request)
{
	enum admit host = admit_judge_host(rules, request->host);
	if (host)
		return host;
	if (request->origin && !admit_is_good_origin(request))
		return ADMIT_FOREIGN_ORIGIN;
	if (rules->token && !admit_is_same(request->token, rules->token) &&
		!admit_is_same(request->cookie, rules->token))
		return ADMIT_NO_TOKEN;
	return ADMIT_YES;
}

bool admit_is_token(const char *text)
{
	size_t count = strlen(text);
	return count >= WEB_TOKEN_MIN && count <= WEB_TOKEN_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == count;
}

int admit_protocol(const char *wanted, const char *const *names, uint32_t count)
{
	while (*wanted) {
		wanted += strspn(wanted, " \t,");
		size_t length = strcspn(wanted, " \t,");
		for (uint32_t i = 0; i < count; i++)
			if (length == strlen(names[i]) && !strncmp(wanted, names[i], length))
				return (int)i;
		wanted += length;
	}
	return -1;
}
