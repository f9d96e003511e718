/* Messages of the run are large at most; messages of clients are hostile. */
#include "gateway/hub/convert.h"

#include "topic/message.h"

#include <stdint.h>

troupe_status convert_to_json(
	const char *type, const void *bytes, size_t count, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *message;
	troupe_status status = message_of_bytes(type_find(type), bytes, count, &message_limits_none, &message, error);
	if (status)
		return status;
	message_add_json(out, message);
	message_free(message);
	return TROUPE_OK;
}

troupe_status convert_from_json(
	const char *type, const char *json, size_t count, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *message;
	troupe_status status = message_of_json(
		type_find(type), count ? json : "{}", count ? count : 2, &message_limits_usual, &message, error);
	if (status)
		return status;
	text_add(out, "%s", "");
	message_add_bytes(out, message);
	message_free(message);
	return TROUPE_OK;
}
