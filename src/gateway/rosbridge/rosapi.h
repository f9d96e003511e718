/* The services of rosapi: what topics, services and types there are. On the thread of the web server. */
#ifndef GATEWAY_ROSBRIDGE_ROSAPI_H
#define GATEWAY_ROSBRIDGE_ROSAPI_H

#include "gateway/rosbridge/rosbridge_client.h"

struct json_t; /* of jansson */

/* Whether it is one of these services; "/rosapi/topics". */
bool rosapi_has(const char *service);
/* Appends the values of the response. TROUPE_ECOMMAND: the request is not valid. */
troupe_status rosapi_call(struct rosbridge *gateway, const char *service, const struct json_t *args,
	struct text *values, struct troupe_error *error);

#endif
