/* Random messages of any type, from its descriptor: each field is given or not, lists have up to three elements, parts
 * are nested a few levels deep. The same seed gives the same message. */
#ifndef TESTS_TOPIC_RANDOM_MESSAGE_H
#define TESTS_TOPIC_RANDOM_MESSAGE_H

#include "../random.h"
#include "base/arena.h"
#include "topic/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct random_source {
	uint64_t state;
	struct arena arena; /* holds the messages; the caller frees it */
	bool any_number;    /* the numbers may be inf and nan, too */
};

static inline double random_double(struct random_source *source)
{
	static const double some[] = {0, 1, -1, 0.1, -2.5e-7, 1e9, 123456789.125, 3e-310, 1e-40, 16777217,
		3.40282346638528859812e38, INFINITY, -INFINITY, NAN};
	size_t i = random_below(&source->state, ARRAY_LEN(some) + 4);
	if (i >= ARRAY_LEN(some) || (!source->any_number && !isfinite(some[i])))
		return (double)(int64_t)random_below64(&source->state, SIZE_MAX) / 7e12 - 1e6;
	return some[i];
}

static inline const char *random_string(struct random_source *source, size_t *ret_count, bool is_text)
{
	static const char *const some[] = {
		"", "a", "vehicle blue", "say \"no\"\\ 'yes'", "\n\t\r\x01\x7f", "\xc3\xa9\xe2\x82\xac", "# {}[]<>:;,"};
	size_t i = random_below(&source->state, ARRAY_LEN(some) + 1);
	if (i == ARRAY_LEN(some) && !is_text) {
		*ret_count = 5;
		return "\0\xff\x80\n\0";
	}
	i %= ARRAY_LEN(some);
	*ret_count = strlen(some[i]);
	return some[i];
}

static inline ProtobufCMessage *random_message(struct random_source *source, message_type type, unsigned depth);

static inline void random_value(
	struct random_source *source, const ProtobufCFieldDescriptor *field, void *place, unsigned depth)
{
	static const uint64_t whole[] = {0, 1, 5, 127, 128, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff,
		0x8000000000000000, UINT64_MAX, (uint64_t)-3};
	uint64_t bits = whole[random_below(&source->state, ARRAY_LEN(whole))];
	const ProtobufCEnumDescriptor *values;
	size_t count;
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)place = random_double(source);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		*(float *)place = (float)random_double(source);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)place = (protobuf_c_boolean)random_below(&source->state, 2);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		values = type_enum_of_field(field);
		*(int *)place = values->values[random_below(&source->state, values->n_values)].value;
		break;
	case PROTOBUF_C_TYPE_STRING:
		*(char **)place = arena_strdup(&source->arena, random_string(source, &count, true));
		break;
	case PROTOBUF_C_TYPE_BYTES:
		((ProtobufCBinaryData *)place)->data = (uint8_t *)(uintptr_t)random_string(source, &count, false);
		((ProtobufCBinaryData *)place)->len = count;
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(ProtobufCMessage **)place = random_message(source, type_of_field(field), depth - 1);
		break;
	default:
		memcpy(place, &bits, type_field_bytes(field));
		break;
	}
}

static inline ProtobufCMessage *random_message(struct random_source *source, message_type type, unsigned depth)
{
	ProtobufCMessage *message = arena_alloc(&source->arena, type->sizeof_message);
	protobuf_c_message_init(type, message);
	for (unsigned f = 0; f < type->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		char *place = (char *)message + field->offset, *quantifier = (char *)message + field->quantifier_offset;
		bool is_part = field->type == PROTOBUF_C_TYPE_MESSAGE;
		if (random_below(&source->state, 3) == 0 ||
			(is_part && (!depth || random_below(&source->state, 3) == 0)))
			continue;
		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			size_t count = random_below(&source->state, 4), bytes = type_field_bytes(field);
			char *elements = arena_alloc(&source->arena, count * bytes);
			for (size_t i = 0; i < count; i++)
				random_value(source, field, elements + i * bytes, depth);
			*(size_t *)quantifier = count;
			*(char **)place = elements;
			continue;
		}
		if (type_field_in_oneof(field)) {
			memset(place, 0, type_field_bytes(field));
			*(uint32_t *)quantifier = field->id;
		}
		random_value(source, field, place, depth);
	}
	return message;
}

#endif
