/* Bytes are read by a reader of our own, because protobuf_c_message_unpack() has no limits: it follows any nesting and
 * allocates for any number of elements, and its error has no details. Bytes are written by protobuf-c. */
#include "topic/build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct bytes_reader {
	struct build build;
	const uint8_t *begin;
	struct troupe_error *error;
};

struct bytes_span {
	const uint8_t *at, *end;
};

enum { BYTES_WIRE_VARINT, BYTES_WIRE_64, BYTES_WIRE_LENGTH, WIRE_GROUP, WIRE_END_GROUP, BYTES_WIRE_32 };
/* Groups are obsolete, but a field that is skipped may be one. */
enum { GROUPS_MAX = 32 };

static troupe_status bytes_refuse(const struct bytes_reader *r, const uint8_t *at,
	const ProtobufCFieldDescriptor *field, const char *found, const char *expected)
{
	struct text path = {0};
	build_print_path(&r->build, field, &path);
	troupe_status status = fail(r->error, TROUPE_ECOMMAND, "byte %zu: %s%s%s: expected %s", (size_t)(at - r->begin),
		path.count ? path.at : "", path.count ? ": " : "", found, expected);
	text_fini(&path);
	return status;
}

static troupe_status bytes_cut_off(
	const struct bytes_reader *r, const uint8_t *at, const ProtobufCFieldDescriptor *field)
{
	return bytes_refuse(r, at, field, "the bytes end", "more of them");
}

static bool bytes_read_varint(struct bytes_span *in, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70 && in->at < in->end; shift += 7) {
		uint8_t byte = *in->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static uint64_t bytes_little_endian(const uint8_t *at, unsigned count)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

static bool bytes_read_fixed(struct bytes_span *in, unsigned count, uint64_t *ret_value)
{
	if ((size_t)(in->end - in->at) < count)
		return false;
	*ret_value = bytes_little_endian(in->at, count);
	in->at += count;
	return true;
}

static bool bytes_read_length(struct bytes_span *in, struct bytes_span *ret_value)
{
	uint64_t length;
	if (!bytes_read_varint(in, &length) || length > (uint64_t)(in->end - in->at))
		return false;
	*ret_value = (struct bytes_span){in->at, in->at + length};
	in->at += length;
	return true;
}

static unsigned bytes_wire_of(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return BYTES_WIRE_64;
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_SFIXED32:
		return BYTES_WIRE_32;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return BYTES_WIRE_LENGTH;
	default:
		return BYTES_WIRE_VARINT;
	}
}

/* --- fields that the type does not have --------------------------------------------------------------------------- */

static bool bytes_skip_plain(struct bytes_span *in, unsigned wire)
{
	uint64_t number;
	struct bytes_span value;
	switch (wire) {
	case BYTES_WIRE_VARINT:
		return bytes_read_varint(in, &number);
	case BYTES_WIRE_64:
		return bytes_read_fixed(in, 8, &number);
	case BYTES_WIRE_32:
		return bytes_read_fixed(in, 4, &number);
	case BYTES_WIRE_LENGTH:
		return bytes_read_length(in, &value);
	default:
		return false;
	}
}

/* Moves past the value of a field with this tag. */
static bool bytes_skip_value(struct bytes_span *in, uint64_t tag)
{
	uint64_t open[GROUPS_MAX];
	uint32_t depth = 0;
	do {
		unsigned wire = tag & 7;
		if (wire == WIRE_GROUP && depth < GROUPS_MAX)
			open[depth++] = tag >> 3;
		else if (wire == WIRE_END_GROUP ? !depth || open[--depth] != tag >> 3 : !bytes_skip_plain(in, wire))
			return false;
		if (!depth)
			return true;
	} while (bytes_read_varint(in, &tag) && tag >> 3);
	return false;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static troupe_status bytes_read_fields(struct bytes_reader *r, struct bytes_span in, ProtobufCMessage *message);

static double bytes_as_double(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static double bytes_as_float(uint64_t bits)
{
	uint32_t half = (uint32_t)bits;
	float value;
	memcpy(&value, &half, sizeof value);
	return (double)value;
}

/* As in protobuf, a number that is too long for its field is cut. */
static bool bytes_store(struct bytes_reader *r, const ProtobufCFieldDescriptor *field, void *place, uint64_t bits)
{
	uint32_t half = (uint32_t)bits;
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		return build_store_number(&r->build, field, place, bytes_as_double(bits));
	case PROTOBUF_C_TYPE_FLOAT:
		return build_store_number(&r->build, field, place, bytes_as_float(bits));
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)place = bits != 0;
		return true;
	case PROTOBUF_C_TYPE_SINT32:
		*(uint32_t *)place = half >> 1 ^ (0 - (half & 1));
		return true;
	case PROTOBUF_C_TYPE_SINT64:
		*(uint64_t *)place = bits >> 1 ^ (0 - (bits & 1));
		return true;
	default:
		if (type_field_bytes(field) == 8)
			*(uint64_t *)place = bits;
		else
			*(uint32_t *)place = half;
		return true;
	}
}

static troupe_status bytes_refuse_number(
	const struct bytes_reader *r, const uint8_t *at, const ProtobufCFieldDescriptor *field, uint64_t bits)
{
	struct text found = {0}, expected = {0};
	text_add_double(&found, field->type == PROTOBUF_C_TYPE_DOUBLE ? bytes_as_double(bits) : bytes_as_float(bits));
	build_add_expected(&r->build, field, &expected);
	troupe_status status = bytes_refuse(r, at, field, found.at, expected.at);
	text_fini(&found);
	text_fini(&expected);
	return status;
}

static troupe_status bytes_full(const struct bytes_reader *r, const uint8_t *at, const ProtobufCFieldDescriptor *field)
{
	char text[64];
	return bytes_refuse(r, at, field, build_full(&r->build, text), "at most so many");
}

/* Reads one number of a field, alone or in a packed list. */
static troupe_status bytes_read_number(
	struct bytes_reader *r, struct bytes_span *in, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	unsigned wire = bytes_wire_of(field);
	const uint8_t *at = in->at;
	uint64_t bits;
	if (wire == BYTES_WIRE_VARINT ? !bytes_read_varint(in, &bits)
				      : !bytes_read_fixed(in, wire == BYTES_WIRE_64 ? 8 : 4, &bits))
		return bytes_cut_off(r, at, field);
	void *place = build_place(&r->build, message, field);
	if (!place)
		return bytes_full(r, at, field);
	return bytes_store(r, field, place, bits) ? TROUPE_OK : bytes_refuse_number(r, at, field, bits);
}

static troupe_status bytes_read_part(
	struct bytes_reader *r, struct bytes_span value, void *place, const ProtobufCFieldDescriptor *field)
{
	ProtobufCMessage *part = build_part(&r->build, place, field);
	if (!part)
		return bytes_full(r, value.at, field);
	if (!build_enter(&r->build, field))
		return bytes_refuse(r, value.at, field, "nested too deeply", "at most 32 levels");
	troupe_status status = bytes_read_fields(r, value, part);
	if (!status)
		build_leave(&r->build);
	return status;
}
_Static_assert(MESSAGE_DEPTH_MAX == 32, "the text above");

static troupe_status bytes_read_long(struct bytes_reader *r, struct bytes_span value, ProtobufCMessage *message,
	const ProtobufCFieldDescriptor *field)
{
	void *place = build_place(&r->build, message, field);
	if (!place)
		return bytes_full(r, value.at, field);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return bytes_read_part(r, value, place, field);
	if (!build_store_string(&r->build, field, place, value.at, (size_t)(value.end - value.at)))
		return bytes_refuse(r, value.at, field, "a text that is not UTF-8, or has a zero byte", "one that is");
	return TROUPE_OK;
}

static troupe_status bytes_read_field(struct bytes_reader *r, struct bytes_span *in, ProtobufCMessage *message,
	const ProtobufCFieldDescriptor *field, unsigned wire)
{
	const uint8_t *at = in->at;
	struct bytes_span value;
	if (wire != BYTES_WIRE_LENGTH)
		return bytes_read_number(r, in, message, field);
	if (!bytes_read_length(in, &value))
		return bytes_cut_off(r, at, field);
	if (bytes_wire_of(field) == BYTES_WIRE_LENGTH)
		return bytes_read_long(r, value, message, field);
	while (value.at < value.end) {
		troupe_status status = bytes_read_number(r, &value, message, field);
		if (status)
			return status;
	}
	return TROUPE_OK;
}

/* A field of another kind than the type has is skipped like an unknown field, as in protobuf. */
static bool bytes_fits(const ProtobufCFieldDescriptor *field, unsigned wire)
{
	bool packed = wire == BYTES_WIRE_LENGTH && field->label == PROTOBUF_C_LABEL_REPEATED;
	return wire == bytes_wire_of(field) || packed;
}

static troupe_status bytes_read_fields(struct bytes_reader *r, struct bytes_span in, ProtobufCMessage *message)
{
	while (in.at < in.end) {
		const uint8_t *at = in.at;
		uint64_t tag;
		if (!bytes_read_varint(&in, &tag) || !(tag >> 3) || tag > UINT32_MAX)
			return bytes_refuse(r, at, NULL, "no field begins here", "the number of a field");
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(message->descriptor, (unsigned)(tag >> 3));
		troupe_status status = TROUPE_OK;
		if (field && bytes_fits(field, tag & 7))
			status = bytes_read_field(r, &in, message, field, tag & 7);
		else if (!bytes_skip_value(&in, tag))
			return bytes_refuse(r, at, NULL, "a field that does not end", "a whole one");
		if (status)
			return status;
	}
	return TROUPE_OK;
}

/* On failure the build has to be dropped as well. */
static troupe_status bytes_read_all(struct bytes_reader *r, message_type type, const void *bytes, size_t count,
	const struct message_limits *limits, ProtobufCMessage **ret_message, struct troupe_error *error)
{
	r->begin = bytes;
	r->error = error;
	if (count > limits->bytes_max)
		return fail(error, TROUPE_ECOMMAND, "%zu bytes: expected at most %zu", count, limits->bytes_max);
	*ret_message = build_message(&r->build, type);
	return bytes_read_fields(
		r, (struct bytes_span){r->begin, r->begin ? r->begin + count : r->begin}, *ret_message);
}

troupe_status message_of_bytes(message_type type, const void *bytes, size_t count, const struct message_limits *limits,
	ProtobufCMessage **ret_message, struct troupe_error *error)
{
	struct bytes_reader r;
	ProtobufCMessage *message = NULL;
	build_init(&r.build, type, limits);
	troupe_status status = bytes_read_all(&r, type, bytes, count, limits, &message, error);
	if (!status)
		*ret_message = message_copy(message);
	build_fini(&r.build);
	return status;
}

troupe_status message_of_bytes_in(struct arena *arena, message_type type, const void *bytes, size_t count,
	const struct message_limits *limits, ProtobufCMessage **ret_message, struct troupe_error *error)
{
	struct bytes_reader r;
	ProtobufCMessage *message = NULL;
	assert(!arena->last);
	build_init(&r.build, type, limits);
	build_use_arena(&r.build);
	troupe_status status = bytes_read_all(&r, type, bytes, count, limits, &message, error);
	if (status) {
		build_fini(&r.build);
		return status;
	}
	*ret_message = message;
	*arena = r.build.more;
	return TROUPE_OK;
}

/* --- numbers in place -----------------------------------------------------------------------------------------------
 */

/* False: its values are not numbers of a fixed length. */
static bool bytes_kind_of(const ProtobufCFieldDescriptor *field, enum message_number_kind *ret_kind, size_t *ret_bytes)
{
	static const struct {
		ProtobufCType type;
		enum message_number_kind kind;
		size_t bytes;
	} kinds[] = {{PROTOBUF_C_TYPE_BYTES, MESSAGE_BYTE, 1}, {PROTOBUF_C_TYPE_FLOAT, MESSAGE_FLOAT, 4},
		{PROTOBUF_C_TYPE_DOUBLE, MESSAGE_DOUBLE, 8}, {PROTOBUF_C_TYPE_FIXED32, MESSAGE_UINT32, 4},
		{PROTOBUF_C_TYPE_SFIXED32, MESSAGE_INT32, 4}, {PROTOBUF_C_TYPE_FIXED64, MESSAGE_UINT64, 8},
		{PROTOBUF_C_TYPE_SFIXED64, MESSAGE_INT64, 8}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].type == field->type) {
			*ret_kind = kinds[i].kind;
			*ret_bytes = kinds[i].bytes;
			return field->type != PROTOBUF_C_TYPE_BYTES || field->label != PROTOBUF_C_LABEL_REPEATED;
		}
	return false;
}

/* Finds the last value of a field, as bytes: for a part or a single number that is the one that counts. *ret_times: how
 * often the field is there with at least one byte. False: the bytes are no message. */
static bool bytes_find_value(
	struct bytes_span in, const ProtobufCFieldDescriptor *field, struct bytes_span *ret_value, uint32_t *ret_times)
{
	*ret_times = 0;
	while (in.at < in.end) {
		uint64_t tag;
		struct bytes_span value;
		if (!bytes_read_varint(&in, &tag) || !(tag >> 3) || tag > UINT32_MAX)
			return false;
		if (tag >> 3 != field->id || !bytes_fits(field, tag & 7)) {
			if (!bytes_skip_value(&in, tag))
				return false;
			continue;
		}
		value.at = in.at;
		if ((tag & 7) == BYTES_WIRE_LENGTH ? !bytes_read_length(&in, &value) : !bytes_skip_plain(&in, tag & 7))
			return false;
		if ((tag & 7) != BYTES_WIRE_LENGTH)
			value.end = in.at;
		*ret_times += value.end > value.at;
		if (value.end > value.at || field->label != PROTOBUF_C_LABEL_REPEATED)
			*ret_value = value;
	}
	return true;
}

/* Takes the next name off the path. NULL: the type has no such field. */
static const ProtobufCFieldDescriptor *bytes_next_field(message_type type, const char **path)
{
	char name[64];
	size_t length = strcspn(*path, ".");
	if (length >= sizeof name)
		return NULL;
	memcpy(name, *path, length);
	name[length] = '\0';
	*path += length + ((*path)[length] == '.');
	return protobuf_c_message_descriptor_get_field_by_name(type, name);
}

/* The path, in the bytes of a message of the type: `in` goes into one part after the other. */
struct bytes_finding {
	const char *path, *rest;
	message_type type;
	struct bytes_span in;
	struct troupe_error *error;
};

static troupe_status bytes_refuse_path(const struct bytes_finding *f, const char *expected)
{
	return fail(f->error, TROUPE_ECOMMAND, "'%.80s' of %s: expected %s", f->path, f->type->name, expected);
}

/* The last field of the path. */
static troupe_status bytes_find_last(
	const struct bytes_finding *f, const ProtobufCFieldDescriptor *field, struct message_numbers *ret_numbers)
{
	struct message_numbers found = {.at = NULL};
	struct bytes_span value = {NULL, NULL};
	size_t each = 1;
	uint32_t times;
	if (!bytes_kind_of(field, &found.kind, &each))
		return bytes_refuse_path(
			f, "a field of bytes, or of numbers with a fixed length (float, double, fixed32)");
	if (!bytes_find_value(f->in, field, &value, &times))
		return bytes_refuse_path(f, "whole fields of a message");
	if ((times > 1 && field->label == PROTOBUF_C_LABEL_REPEATED) || (size_t)(value.end - value.at) % each)
		return bytes_refuse_path(f, "numbers that lie side by side");
	found.count = (size_t)(value.end - value.at) / each;
	found.at = found.count ? value.at : NULL;
	*ret_numbers = found;
	return TROUPE_OK;
}

static troupe_status bytes_enter_part(struct bytes_finding *f, const ProtobufCFieldDescriptor *field)
{
	struct bytes_span value = {NULL, NULL};
	uint32_t times;
	if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED)
		return bytes_refuse_path(f, "a part before each '.'");
	if (!bytes_find_value(f->in, field, &value, &times))
		return bytes_refuse_path(f, "whole fields of a message");
	f->type = type_of_field(field);
	f->in = value;
	return TROUPE_OK;
}

/* Goes into the parts of the path; *ret_field: its last field. */
static troupe_status bytes_follow_path(struct bytes_finding *f, const ProtobufCFieldDescriptor **ret_field)
{
	for (;;) {
		const ProtobufCFieldDescriptor *field = *ret_field = bytes_next_field(f->type, &f->rest);
		if (!field)
			return bytes_refuse_path(f, "the name of a field");
		if (!*f->rest)
			return TROUPE_OK;
		troupe_status status = bytes_enter_part(f, field);
		if (status)
			return status;
	}
}

troupe_status message_find_numbers(message_type type, const void *bytes, size_t count, const char *path,
	struct message_numbers *ret_numbers, struct troupe_error *error)
{
	struct bytes_finding f = {path, path, type, {bytes, bytes ? (const uint8_t *)bytes + count : NULL}, error};
	const ProtobufCFieldDescriptor *field;
	troupe_status status = bytes_follow_path(&f, &field);
	return status ? status : bytes_find_last(&f, field, ret_numbers);
}

static double bytes_number_of(const ProtobufCFieldDescriptor *field, uint64_t bits)
{
	uint64_t half = bits & UINT32_MAX;
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		return bytes_as_double(bits);
	case PROTOBUF_C_TYPE_FLOAT:
		return bytes_as_float(bits);
	case PROTOBUF_C_TYPE_BOOL:
		return bits != 0;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		return (double)half;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return (double)bits;
	case PROTOBUF_C_TYPE_SINT32:
		return (double)(int32_t)(half >> 1 ^ (0 - (half & 1)));
	case PROTOBUF_C_TYPE_SINT64:
		return (double)(int64_t)(bits >> 1 ^ (0 - (bits & 1)));
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return (double)(int64_t)bits;
	default:
		return (double)(int32_t)half;
	}
}

troupe_status message_find_number(message_type type, const void *bytes, size_t count, const char *path,
	double *ret_number, struct troupe_error *error)
{
	struct bytes_finding f = {path, path, type, {bytes, bytes ? (const uint8_t *)bytes + count : NULL}, error};
	const ProtobufCFieldDescriptor *field;
	struct bytes_span value = {NULL, NULL};
	uint32_t times;
	uint64_t bits = 0;
	troupe_status status = bytes_follow_path(&f, &field);
	if (status)
		return status;
	unsigned wire = bytes_wire_of(field);
	if (wire == BYTES_WIRE_LENGTH || field->label == PROTOBUF_C_LABEL_REPEATED)
		return bytes_refuse_path(&f, "a field of one number");
	if (!bytes_find_value(f.in, field, &value, &times))
		return bytes_refuse_path(&f, "whole fields of a message");
	if (value.at && !(wire == BYTES_WIRE_VARINT ? bytes_read_varint(&value, &bits)
						    : bytes_read_fixed(&value, wire == BYTES_WIRE_64 ? 8 : 4, &bits)))
		return bytes_refuse_path(&f, "whole fields of a message");
	*ret_number = value.at ? bytes_number_of(field, bits) : 0;
	return TROUPE_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct appender {
	ProtobufCBuffer base;
	struct text *out;
};

static void bytes_append(ProtobufCBuffer *base, size_t count, const uint8_t *bytes)
{
	text_add_bytes(((struct appender *)base)->out, (const char *)bytes, count);
}

void message_add_bytes(struct text *out, const ProtobufCMessage *message)
{
	struct appender appender = {{bytes_append}, out};
	protobuf_c_message_pack_to_buffer(message, &appender.base);
}
