/* The forms of messages for programs without protobuf. The work is done in topic/; here are the names of types, and
 * limits that no message of a running world reaches. */
#include "topic/message.h"

#include <troupe/message.h>

#include <stdlib.h>
#include <string.h>

/* Messages of sensors are long, and their numbers may be infinite: a scan that hits nothing. */
static const struct message_limits server_message_shown = {.bytes_max = 1u << 30, .items_max = UINT32_MAX};

static troupe_status server_message_find_type(const char *name, message_type *ret_type, struct troupe_error *error)
{
	*ret_type = type_find(name);
	return *ret_type ? TROUPE_OK
			 : fail(error, TROUPE_ECOMMAND, "type '%.80s': expected one of gz.msgs or troupe.msgs", name);
}

troupe_status troupe_message_to_json(
	const char *type_name, const void *bytes, size_t count, char **ret_json, struct troupe_error *error)
{
	message_type type;
	ProtobufCMessage *message;
	struct text out = {0};
	troupe_status status = server_message_find_type(type_name, &type, error);
	if (!status)
		status = message_of_bytes(type, bytes, count, &server_message_shown, &message, error);
	if (status)
		return status;
	message_add_json(&out, message);
	message_free(message);
	*ret_json = out.at;
	return TROUPE_OK;
}

troupe_status troupe_message_from_json(
	const char *type_name, const char *json, void **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	message_type type;
	ProtobufCMessage *message;
	struct text out = {0};
	troupe_status status = server_message_find_type(type_name, &type, error);
	if (!status)
		status = message_of_json(type, json, strlen(json), &server_message_shown, &message, error);
	if (status)
		return status;
	text_reserve(&out, 1); /* a message in which every field has its default has no bytes */
	message_add_bytes(&out, message);
	message_free(message);
	*ret_bytes = out.at;
	*ret_count = out.count;
	return TROUPE_OK;
}

_Static_assert((int)MESSAGE_INT64 == (int)TROUPE_NUMBER_INT64, "the same kinds inside and outside");

troupe_status troupe_message_numbers(const char *type_name, const void *bytes, size_t count, const char *path,
	struct troupe_numbers *ret_numbers, struct troupe_error *error)
{
	message_type type;
	struct message_numbers found;
	troupe_status status = server_message_find_type(type_name, &type, error);
	if (!status)
		status = message_find_numbers(type, bytes, count, path, &found, error);
	if (!status)
		*ret_numbers = (struct troupe_numbers){(troupe_number_kind)found.kind, found.at, found.count};
	return status;
}

troupe_status troupe_message_number(const char *type_name, const void *bytes, size_t count, const char *path,
	double *ret_number, struct troupe_error *error)
{
	message_type type;
	troupe_status status = server_message_find_type(type_name, &type, error);
	return status ? status : message_find_number(type, bytes, count, path, ret_number, error);
}
