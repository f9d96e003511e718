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

void web_end(struct web *web)
{
	if (web)
		abort();
}

/* The parameters of such a function have no use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WEB_NONE(type, name, ...)                                                                                      \
	type name(__VA_ARGS__)                                                                                         \
	{                                                                                                              \
		abort();                                                                                               \
	}

WEB_NONE(void, web_stop, struct web *web, const char *reason)
WEB_NONE(void, web_wake, struct web *web)
WEB_NONE(uint16_t, web_port, const struct web *web)
WEB_NONE(bool, web_is_local, const struct web *web)
WEB_NONE(void, web_address, const struct web *web, const char *scheme, char *ret_text, size_t bytes)
WEB_NONE(bool, web_send, struct web_peer *peer, bool binary, const void *bytes, size_t count)
WEB_NONE(size_t, web_waiting, const struct web_peer *peer)
WEB_NONE(void, web_close, struct web_peer *peer, uint16_t code, const char *reason)
WEB_NONE(const char *, web_peer_name, const struct web_peer *peer)
WEB_NONE(const char *, web_peer_protocol, const struct web_peer *peer)
