/* Which request is admitted: its Host, its Origin and its token. Pure; see web.h for the reasons. */
#ifndef GATEWAY_WEB_ADMIT_H
#define GATEWAY_WEB_ADMIT_H

#include "base/base.h"

struct admit_rules {
	bool is_local;       /* only this machine can connect: the Host must be a name of it */
	const char *listens; /* the address on which the server listens, without a port: "127.0.0.1", "::1" */
	const char *token;   /* NULL: none */
};

struct admit_request { /* NULL: the request has none */
	const char *host, *origin;
	const char *token;          /* of the address */
	const char *cookie;         /* the token of the cookie */
	const char *const *origins; /* of the service; NULL ends the list, and is fine */
	bool local_origins;
};

enum admit {
	ADMIT_YES,
	ADMIT_NO_HOST,
	ADMIT_FOREIGN_HOST,
	ADMIT_FOREIGN_ORIGIN,
	ADMIT_NO_TOKEN,
};

enum admit admit(const struct admit_rules *rules, const struct admit_request *request);
/* Whether the text can be a token. */
bool admit_is_token(const char *text);
/* The name of the subprotocol that the client asks for first among those of names, or -1. wanted: "a, b". */
int admit_protocol(const char *wanted, const char *const *names, uint32_t count);

#endif
