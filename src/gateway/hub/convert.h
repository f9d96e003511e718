/* Messages of the run, which are protobuf's bytes, as JSON, and back. Pure. */
#ifndef GATEWAY_HUB_CONVERT_H
#define GATEWAY_HUB_CONVERT_H

#include "base/text.h"

/* Appends the JSON of a message that comes from the run. TROUPE_ECOMMAND: the type is not known, or the bytes are no
 * such message. */
troupe_status convert_to_json(
	const char *type, const void *bytes, size_t count, struct text *out, struct troupe_error *error);
/* Appends the bytes of a message that comes from a client, as one object of JSON; count 0: an empty message. The limits
 * are those of message_limits_usual. out->at is not NULL afterwards. */
troupe_status convert_from_json(
	const char *type, const char *json, size_t count, struct text *out, struct troupe_error *error);

#endif
