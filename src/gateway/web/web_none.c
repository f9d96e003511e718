/* Stands in for the web server in a build without it (configure --without-web). Programs compile in the same way; at
 * run time one line says what is missing. No handle can exist, so no function that takes one can be called. */
#include "gateway/web/web.h"

#include <stdlib.h>

bool web_is_available(void)
{
	return false;
}

troupe_status web_start(const struct web_def *def, struct web **ret_web, struct troupe_error *error)
{
	(void)def;
	(void)ret_web;
	return fail(error, TROUPE_EINVAL, "this build has no web server: configure was given --without-web");
}

troupe_status web_make_token(char ret_token[WEB_TOKEN_MAX + 1], struct troupe_error *error)
{
	(void)ret_token;
	return web_start(NULL, NULL, error);
}

/* --- what needs a server ------------------------------------------------------------------------------------------ */

static void web_none_impossible(const void *handle) __attribute__((noreturn));
static void web_none_impossible(const void *handle)
{
	(void)handle;
	abort();
}

void web_stop(struct web *web, const char *reason)
{
	(void)reason;
	web_none_impossible(web);
}

void web_end(struct web *web)
{
	if (web)
		web_none_impossible(web);
}

void web_wake(struct web *web)
{
	web_none_impossible(web);
}

uint16_t web_port(const struct web *web)
{
	web_none_impossible(web);
}

bool web_is_local(const struct web *web)
{
	web_none_impossible(web);
}

void web_address(const struct web *web, const char *scheme, char *ret_text, size_t bytes)
{
	(void)scheme, (void)ret_text, (void)bytes;
	web_none_impossible(web);
}

bool web_send(struct web_peer *peer, bool binary, const void *bytes, size_t count)
{
	(void)binary, (void)bytes, (void)count;
	web_none_impossible(peer);
}

size_t web_waiting(const struct web_peer *peer)
{
	web_none_impossible(peer);
}

void web_close(struct web_peer *peer, uint16_t code, const char *reason)
{
	(void)code, (void)reason;
	web_none_impossible(peer);
}

const char *web_peer_name(const struct web_peer *peer)
{
	web_none_impossible(peer);
}

const char *web_peer_protocol(const struct web_peer *peer)
{
	web_none_impossible(peer);
}
