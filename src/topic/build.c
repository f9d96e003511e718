/* Making a message costs one allocation if the message is small, and needs no destructor: the parts are cut from the
 * buffer in struct build, or from an arena when the buffer is full. The complete message is copied into one block, and
 * the rest is dropped. */
#include "topic/build.h"

#include "base/shown.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void build_init(struct build *build, message_type type, const struct message_limits *limits)
{
	build->limits = limits;
	build->type = type;
	build->items = build->depth = 0;
	build->more = (struct arena){0};
	build->used = 0;
}

void build_fini(struct build *build)
{
	arena_fini(&build->more);
}

void build_use_arena(struct build *build)
{
	build->used = sizeof build->first;
}

void *build_alloc(struct build *build, size_t bytes)
{
	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > sizeof build->first - build->used)
		return arena_alloc(&build->more, bytes);
	void *at = build->first + build->used;
	build->used += bytes;
	return memset(at, 0, bytes);
}

ProtobufCMessage *build_message(struct build *build, message_type type)
{
	ProtobufCMessage *message = build_alloc(build, type->sizeof_message);
	protobuf_c_message_init(type, message);
	return message;
}

static bool build_memory_is_full(const struct build *build)
{
	return build->more.bytes > MESSAGE_MEMORY_MAX;
}

const char *build_full(const struct build *build, char ret_text[64])
{
	if (build_memory_is_full(build))
		snprintf(ret_text, 64, "more than %d MiB of memory", MESSAGE_MEMORY_MAX >> 20);
	else
		snprintf(ret_text, 64, "more than %u elements of lists", build->limits->items_max);
	return ret_text;
}

/* --- places ------------------------------------------------------------------------------------------------------- */

/* The room of a list follows from its count: 4, then twice as much whenever it is full. */
static void *build_add_element(struct build *build, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	size_t *count = (size_t *)((char *)message + field->quantifier_offset), bytes = type_field_bytes(field);
	char **elements = (char **)((char *)message + field->offset);
	if (build->items == build->limits->items_max)
		return NULL;
	if (!*count || (*count >= 4 && !(*count & (*count - 1)))) {
		char *grown = build_alloc(build, MAX((size_t)4, 2 * *count) * bytes);
		if (*count)
			memcpy(grown, *elements, *count * bytes);
		*elements = grown;
	}
	if (build_memory_is_full(build))
		return NULL;
	build->items++;
	return *elements + (*count)++ * bytes;
}

void *build_place(struct build *build, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return build_add_element(build, message, field);
	void *place = (char *)message + field->offset;
	if (type_field_in_oneof(field)) {
		uint32_t *which = (uint32_t *)((char *)message + field->quantifier_offset);
		if (*which != field->id)
			memset(place, 0, type_field_bytes(field));
		*which = field->id;
	}
	return place;
}

ProtobufCMessage *build_part(struct build *build, void *place, const ProtobufCFieldDescriptor *field)
{
	ProtobufCMessage **part = place;
	if (!*part)
		*part = build_message(build, type_of_field(field));
	return build_memory_is_full(build) ? NULL : *part;
}

bool build_enter(struct build *build, const ProtobufCFieldDescriptor *field)
{
	if (build->depth == MESSAGE_DEPTH_MAX)
		return false;
	build->path[build->depth++] = field;
	return true;
}

void build_leave(struct build *build)
{
	build->depth--;
}

void build_print_path(const struct build *build, const ProtobufCFieldDescriptor *field, struct text *out)
{
	for (uint32_t i = 0; i < build->depth; i++)
		text_add(out, "%s%s", i ? "." : "", build->path[i]->name);
	if (field)
		text_add(out, "%s%s", build->depth ? "." : "", field->name);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* A zero has no sign, because protobuf does not send a field that is 0; there is one nan, because text has no others.
 */
bool build_store_number(const struct build *build, const ProtobufCFieldDescriptor *field, void *place, double number)
{
	double max = build->limits->number_max;
	if (max > 0 && !(fabs(number) <= max))
		return false;
	number = isnan(number) ? (double)NAN : number + 0.0;
	if (field->type == PROTOBUF_C_TYPE_DOUBLE) {
		*(double *)place = number;
		return true;
	}
	if (isfinite(number) && !isfinite((float)number)) /* FLT_MAX printed with few digits is more than FLT_MAX */
		return false;
	*(float *)place = (float)number + 0.0f; /* -1e-99 becomes -0 */
	return true;
}

static bool build_store_signed(void *place, bool negative, uint64_t magnitude, bool is_64)
{
	if (magnitude > (is_64 ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX) + negative)
		return false;
	int64_t value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	if (is_64)
		*(int64_t *)place = value;
	else
		*(int32_t *)place = (int32_t)value;
	return true;
}

bool build_store_integer(const ProtobufCFieldDescriptor *field, void *place, bool negative, uint64_t magnitude)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		if ((negative && magnitude) || magnitude > UINT32_MAX)
			return false;
		*(uint32_t *)place = (uint32_t)magnitude;
		return true;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		if (negative && magnitude)
			return false;
		*(uint64_t *)place = magnitude;
		return true;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return build_store_signed(place, negative, magnitude, true);
	default:
		return build_store_signed(place, negative, magnitude, false);
	}
}

bool build_store_string(
	struct build *build, const ProtobufCFieldDescriptor *field, void *place, const void *bytes, size_t count)
{
	bool is_string = field->type == PROTOBUF_C_TYPE_STRING;
	if (is_string && (memchr(bytes, 0, count) || !shown_is_utf8(bytes, count)))
		return false;
	char *copy = build_alloc(build, count + 1);
	memcpy(copy, bytes, count);
	if (is_string)
		*(char **)place = copy;
	else
		*(ProtobufCBinaryData *)place = (ProtobufCBinaryData){count, (uint8_t *)copy};
	return true;
}

/* --- what is expected --------------------------------------------------------------------------------------------- */

static void build_add_names(const ProtobufCEnumDescriptor *values, struct text *out)
{
	text_add(out, "one of ");
	for (unsigned i = 0; i < values->n_values; i++)
		text_add(out, "%s, ", values->values[i].name);
	text_add(out, "or its number");
}

/* Prints 1e9 in this form, not as 1e+09. */
static void build_add_number(double max, struct text *out)
{
	char digits[32];
	int exponent;
	snprintf(digits, sizeof digits, "%.17e", max);
	text_add(out, "a number");
	if (sscanf(digits, "1.00000000000000000e%d", &exponent) == 1)
		text_add(out, " between -1e%d and 1e%d", exponent, exponent);
	else if (max > 0)
		text_add(out, " between -%g and %g", max, max);
}

void build_add_expected(const struct build *build, const ProtobufCFieldDescriptor *field, struct text *out)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		build_add_number(build->limits->number_max, out);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		text_add(out, "true or false");
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		text_add(out, "a whole number from 0 to 4294967295");
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		text_add(out, "a whole number from 0 to 18446744073709551615");
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		text_add(out, "a whole number from -9223372036854775808 to 9223372036854775807");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		build_add_names(type_enum_of_field(field), out);
		break;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		text_add(out, "a text in quotes");
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		text_add(out, "'{'");
		break;
	default:
		text_add(out, "a whole number from -2147483648 to 2147483647");
		break;
	}
}
