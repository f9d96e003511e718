/* A message that is kept is one block of memory: it is measured, then copied into a block of this size, part by part.
 * So a queue of millions of messages costs one allocation for each, and freeing needs no walk. */
#include "topic/message.h"

#include "base/shown.h"
#include "topic/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct message_limits message_limits_none = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};
const struct message_limits message_limits_usual = {.bytes_max = 16 << 20, .items_max = 100000, .number_max = 1e9};

enum { TOPIC_MESSAGE_ALIGN = 8 };

/* In front of each message that is kept: a queue counts the memory of its messages when they are put in. */
struct topic_message_kept {
	size_t bytes; /* of the message */
	_Alignas(16) char message[];
};
_Static_assert(_Alignof(double) <= TOPIC_MESSAGE_ALIGN && _Alignof(void *) <= TOPIC_MESSAGE_ALIGN &&
		       _Alignof(uint64_t) <= TOPIC_MESSAGE_ALIGN,
	"");

/* --- fields ------------------------------------------------------------------------------------------------------- */

static bool topic_message_is_default(const ProtobufCFieldDescriptor *field, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		return !*(void *const *)value;
	case PROTOBUF_C_TYPE_STRING:
		return !*(char *const *)value || !**(char *const *)value;
	case PROTOBUF_C_TYPE_BYTES:
		return !((const ProtobufCBinaryData *)value)->len;
	case PROTOBUF_C_TYPE_DOUBLE:
		return *(const double *)value == 0;
	case PROTOBUF_C_TYPE_FLOAT:
		return *(const float *)value == 0;
	default:
		return type_field_bytes(field) == 8 ? !*(const uint64_t *)value : !*(const uint32_t *)value;
	}
}

size_t message_field_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const char *base = (const char *)message;
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)(base + field->quantifier_offset);
	if (type_field_in_oneof(field))
		return *(const uint32_t *)(base + field->quantifier_offset) == field->id;
	return !topic_message_is_default(field, base + field->offset);
}

const void *message_field_at(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, size_t i)
{
	const char *place = (const char *)message + field->offset;
	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return place;
	return *(const char *const *)place + i * type_field_bytes(field);
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static size_t topic_message_round_up(size_t bytes)
{
	return (bytes + TOPIC_MESSAGE_ALIGN - 1) & ~(size_t)(TOPIC_MESSAGE_ALIGN - 1);
}

static size_t topic_message_measure(const ProtobufCMessage *message);

/* The memory behind a value's pointer. */
static size_t topic_message_measure_value(const ProtobufCFieldDescriptor *field, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		return topic_message_measure(*(ProtobufCMessage *const *)value);
	case PROTOBUF_C_TYPE_STRING:
		return topic_message_is_default(field, value)
			       ? 0
			       : topic_message_round_up(strlen(*(char *const *)value) + 1);
	case PROTOBUF_C_TYPE_BYTES:
		return topic_message_round_up(((const ProtobufCBinaryData *)value)->len);
	default:
		return 0;
	}
}

static bool topic_message_has_pointer(const ProtobufCFieldDescriptor *field)
{
	return field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING ||
	       field->type == PROTOBUF_C_TYPE_BYTES;
}

static size_t topic_message_measure(const ProtobufCMessage *message)
{
	message_type type = message->descriptor;
	size_t bytes = topic_message_round_up(type->sizeof_message);
	for (unsigned f = 0; f < type->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
		if (!is_list && !topic_message_has_pointer(field))
			continue;
		size_t count = message_field_count(message, field);
		if (is_list)
			bytes += topic_message_round_up(count * type_field_bytes(field));
		for (size_t i = 0; i < count && topic_message_has_pointer(field); i++)
			bytes += topic_message_measure_value(field, message_field_at(message, field, i));
	}
	return bytes;
}

static void *topic_message_cut(char **at, size_t bytes)
{
	void *piece = *at;
	*at += topic_message_round_up(bytes);
	return piece;
}

/* protobuf-c takes a member of a oneof for absent when it points to the default. */
static char *topic_message_empty_of(const ProtobufCFieldDescriptor *field)
{
	static char given[1];
	return type_field_in_oneof(field) ? given : (char *)&protobuf_c_empty_string;
}

static ProtobufCMessage *topic_message_copy_to(const ProtobufCMessage *message, char **at);

/* Replaces a pointer in a value that was copied by a pointer to a copy. */
static void topic_message_copy_value(const ProtobufCFieldDescriptor *field, void *value, char **at)
{
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		*(ProtobufCMessage **)value = topic_message_copy_to(*(ProtobufCMessage **)value, at);
	} else if (field->type == PROTOBUF_C_TYPE_STRING) {
		char **string = value;
		size_t bytes = topic_message_is_default(field, value) ? 0 : strlen(*string) + 1;
		*string = bytes ? memcpy(topic_message_cut(at, bytes), *string, bytes) : topic_message_empty_of(field);
	} else {
		ProtobufCBinaryData *data = value;
		data->data = data->len ? memcpy(topic_message_cut(at, data->len), data->data, data->len) : NULL;
	}
}

static void *topic_message_place_of(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, size_t i)
{
	char *place = (char *)message + field->offset;
	return field->label == PROTOBUF_C_LABEL_REPEATED ? *(char **)place + i * type_field_bytes(field) : place;
}

static ProtobufCMessage *topic_message_copy_to(const ProtobufCMessage *message, char **at)
{
	message_type type = message->descriptor;
	ProtobufCMessage *copy = memcpy(topic_message_cut(at, type->sizeof_message), message, type->sizeof_message);
	copy->n_unknown_fields = 0;
	copy->unknown_fields = NULL;
	for (unsigned f = 0; f < type->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
		if (!is_list && !topic_message_has_pointer(field))
			continue;
		size_t count = message_field_count(message, field), bytes = count * type_field_bytes(field);
		if (is_list && count)
			*(void **)((char *)copy + field->offset) =
				memcpy(topic_message_cut(at, bytes), message_field_at(message, field, 0), bytes);
		else if (is_list)
			*(void **)((char *)copy + field->offset) = NULL;
		else if (field->type != PROTOBUF_C_TYPE_MESSAGE && !type_field_in_oneof(field))
			count = 1; /* an empty one has a pointer, too */
		for (size_t i = 0; i < count && topic_message_has_pointer(field); i++)
			topic_message_copy_value(field, topic_message_place_of(copy, field, i), at);
	}
	return copy;
}

void *message_room(size_t bytes)
{
	struct topic_message_kept *kept = mem_alloc(sizeof *kept + bytes);
	kept->bytes = bytes;
	return kept->message;
}

ProtobufCMessage *message_copy(const ProtobufCMessage *message)
{
	char *at = message_room(topic_message_measure(message));
	return topic_message_copy_to(message, &at);
}

ProtobufCMessage *message_copy_in(struct arena *arena, const ProtobufCMessage *message)
{
	char *at = arena_alloc(arena, topic_message_measure(message));
	return topic_message_copy_to(message, &at);
}

ProtobufCMessage *message_create(message_type type)
{
	ProtobufCMessage *message = message_room(topic_message_round_up(type->sizeof_message));
	protobuf_c_message_init(type, message);
	return message;
}

static struct topic_message_kept *topic_message_kept_of(const ProtobufCMessage *message)
{
	return (struct topic_message_kept *)((uintptr_t)message - offsetof(struct topic_message_kept, message));
}

void message_free(ProtobufCMessage *message)
{
	if (message)
		free(topic_message_kept_of(message));
}

size_t message_memory(const ProtobufCMessage *message)
{
	return sizeof(struct topic_message_kept) + topic_message_kept_of(message)->bytes;
}

bool message_equal(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	struct text of_a = {0}, of_b = {0};
	message_add_bytes(&of_a, a);
	message_add_bytes(&of_b, b);
	bool equal = a->descriptor == b->descriptor && of_a.count == of_b.count &&
		     (!of_a.count || !memcmp(of_a.at, of_b.at, of_a.count));
	text_fini(&of_a);
	text_fini(&of_b);
	return equal;
}

/* --- checking a message that a caller filled ---------------------------------------------------------------------- */

static troupe_status topic_message_refuse(const struct build *build, const ProtobufCFieldDescriptor *field,
	const char *found, const char *expected, struct troupe_error *error)
{
	struct text path = {0};
	build_print_path(build, field, &path);
	troupe_status status = fail(error, TROUPE_ECOMMAND, "%s: %s: expected %s", path.at, found, expected);
	text_fini(&path);
	return status;
}

static troupe_status topic_message_check_number(
	const struct build *build, const ProtobufCFieldDescriptor *field, double number, struct troupe_error *error)
{
	double max = build->limits->number_max;
	if (max == 0 || fabs(number) <= max)
		return TROUPE_OK;
	struct text found = {0}, expected = {0};
	text_add_double(&found, number);
	build_add_expected(build, field, &expected);
	troupe_status status = topic_message_refuse(build, field, found.at, expected.at, error);
	text_fini(&found);
	text_fini(&expected);
	return status;
}

static troupe_status topic_message_check(
	struct build *build, const ProtobufCMessage *message, struct troupe_error *error);

static troupe_status topic_message_check_value(
	struct build *build, const ProtobufCFieldDescriptor *field, const void *value, struct troupe_error *error)
{
	const char *string;
	troupe_status status;
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		return topic_message_check_number(build, field, *(const double *)value, error);
	case PROTOBUF_C_TYPE_FLOAT:
		return topic_message_check_number(build, field, (double)*(const float *)value, error);
	case PROTOBUF_C_TYPE_STRING:
		string = *(char *const *)value;
		if (string && !shown_is_utf8(string, strlen(string)))
			return topic_message_refuse(build, field, "a text that is not UTF-8", "one that is", error);
		return TROUPE_OK;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (!build_enter(build, field))
			return topic_message_refuse(build, field, "nested too deeply", "at most 32 levels", error);
		status = topic_message_check(build, *(ProtobufCMessage *const *)value, error);
		build_leave(build);
		return status;
	default:
		return TROUPE_OK;
	}
}
_Static_assert(MESSAGE_DEPTH_MAX == 32, "the text above");

static troupe_status topic_message_check(
	struct build *build, const ProtobufCMessage *message, struct troupe_error *error)
{
	message_type type = message->descriptor;
	char full[64];
	for (unsigned f = 0; f < type->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		size_t count = message_field_count(message, field);
		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			if (count > build->limits->items_max - build->items)
				return topic_message_refuse(
					build, field, build_full(build, full), "at most so many", error);
			build->items += (uint32_t)count;
		}
		for (size_t i = 0; i < count; i++) {
			troupe_status status =
				topic_message_check_value(build, field, message_field_at(message, field, i), error);
			if (status)
				return status;
		}
	}
	return TROUPE_OK;
}

troupe_status message_check(
	const ProtobufCMessage *message, const struct message_limits *limits, struct troupe_error *error)
{
	struct build build;
	build_init(&build, message->descriptor, limits);
	return topic_message_check(&build, message, error);
}
