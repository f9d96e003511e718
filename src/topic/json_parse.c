/* jansson reads the text, and the fields are then taken from jansson's values. Such a value takes far more memory than
 * its text, so a text may be at most 4 MiB long. */
#include "base/parse.h"
#include "topic/build.h"
#include "topic/json_name.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { JSON_BYTES_MAX = 4 << 20 };

struct json_parse_reader {
	struct build build;
	struct troupe_error *error;
};

static troupe_status json_parse_refuse(const struct json_parse_reader *r, const ProtobufCFieldDescriptor *field,
	const char *found, const char *expected)
{
	struct text path = {0};
	build_print_path(&r->build, field, &path);
	troupe_status status = fail(r->error, TROUPE_ECOMMAND, "%s%s%s: expected %s", path.count ? path.at : "",
		path.count ? ": " : "", found, expected);
	text_fini(&path);
	return status;
}

enum { JSON_PARSE_FOUND_BYTES = 44 };

static int json_parse_add_some(const char *bytes, size_t count, void *ctx)
{
	struct text *out = ctx;
	text_add_bytes(out, bytes, MIN(count, JSON_PARSE_FOUND_BYTES + 1 - out->count));
	return out->count > JSON_PARSE_FOUND_BYTES ? -1 : 0;
}

/* The value as the text has it, or the beginning of it. */
static troupe_status json_parse_unexpected(
	const struct json_parse_reader *r, const ProtobufCFieldDescriptor *field, const json_t *value)
{
	struct text expected = {0}, found = {0};
	(void)json_dump_callback(value, json_parse_add_some, &found, JSON_COMPACT | JSON_ENCODE_ANY);
	if (found.count > JSON_PARSE_FOUND_BYTES) {
		found.count = JSON_PARSE_FOUND_BYTES;
		text_add(&found, "...");
	}
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		text_add(&expected, "an object");
	else
		build_add_expected(&r->build, field, &expected);
	troupe_status status = json_parse_refuse(r, field, found.at, expected.at);
	text_fini(&expected);
	text_fini(&found);
	return status;
}

static troupe_status json_parse_too_much(const struct json_parse_reader *r, const ProtobufCFieldDescriptor *field)
{
	char full[64];
	return json_parse_refuse(r, field, build_full(&r->build, full), "at most so many");
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static bool json_parse_read_number(const json_t *value, double *ret_number)
{
	static const struct {
		const char *name;
		double number;
	} names[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
	const char *string = json_string_value(value);
	if (!string) {
		*ret_number = json_number_value(value);
		return json_is_number(value);
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(string, names[i].name)) {
			*ret_number = names[i].number;
			return true;
		}
	return strspn(string, "0123456789.eE+-") == strlen(string) && parse_double(string, ret_number);
}

static bool json_parse_read_integer(const json_t *value, bool *ret_negative, uint64_t *ret_magnitude)
{
	double number = json_number_value(value);
	const char *string = json_string_value(value);
	if (string) {
		*ret_negative = *string == '-';
		string += *ret_negative;
		return strspn(string, "0123456789") == strlen(string) && parse_uint64(string, ret_magnitude);
	}
	*ret_negative = number < 0;
	if (json_is_integer(value)) {
		uint64_t bits = (uint64_t)json_integer_value(value);
		*ret_magnitude = *ret_negative ? 0 - bits : bits;
		return true;
	}
	/* 1.0 and 1e3 are whole numbers, too */
	if (!json_is_real(value) || number != floor(number) || fabs(number) >= 0x1p63)
		return false;
	*ret_magnitude = (uint64_t)fabs(number);
	return true;
}

static bool json_parse_read_enum(const ProtobufCFieldDescriptor *field, const json_t *value, void *place)
{
	const ProtobufCEnumValue *named;
	bool negative;
	uint64_t magnitude;
	if (!json_is_string(value))
		return json_parse_read_integer(value, &negative, &magnitude) &&
		       build_store_integer(field, place, negative, magnitude);
	named = protobuf_c_enum_descriptor_get_value_by_name(type_enum_of_field(field), json_string_value(value));
	if (named)
		*(int *)place = named->value;
	return named;
}

static int json_parse_base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Both alphabets, with or without = at the end. */
static bool json_parse_read_base64(
	struct build *build, const ProtobufCFieldDescriptor *field, const json_t *value, void *place)
{
	const char *string = json_string_value(value);
	size_t length = string ? json_string_length(value) : 0, count = 0;
	for (int i = 0; i < 2 && length && string[length - 1] == '='; i++)
		length--;
	if (!string || length % 4 == 1)
		return false;
	uint8_t *bytes = build_alloc(build, length * 3 / 4 + 1);
	uint32_t bits = 0;
	for (size_t i = 0; i < length; i++) {
		int digit = json_parse_base64_digit(string[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4)
			bytes[count++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return build_store_string(build, field, place, bytes, count);
}

static bool json_parse_read_scalar(
	struct build *build, const ProtobufCFieldDescriptor *field, const json_t *value, void *place)
{
	double number;
	bool negative;
	uint64_t magnitude;
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		return json_parse_read_number(value, &number) && build_store_number(build, field, place, number);
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)place = json_is_true(value);
		return json_is_boolean(value);
	case PROTOBUF_C_TYPE_ENUM:
		return json_parse_read_enum(field, value, place);
	case PROTOBUF_C_TYPE_STRING:
		return json_is_string(value) &&
		       build_store_string(build, field, place, json_string_value(value), json_string_length(value));
	case PROTOBUF_C_TYPE_BYTES:
		return json_parse_read_base64(build, field, value, place);
	default:
		return json_parse_read_integer(value, &negative, &magnitude) &&
		       build_store_integer(field, place, negative, magnitude);
	}
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static troupe_status json_parse_read_object(struct json_parse_reader *r, json_t *object, ProtobufCMessage *message);

static troupe_status json_parse_read_part(
	struct json_parse_reader *r, const ProtobufCFieldDescriptor *field, json_t *value, void *place)
{
	ProtobufCMessage *part = build_part(&r->build, place, field);
	if (!part)
		return json_parse_too_much(r, field);
	if (!build_enter(&r->build, field))
		return json_parse_refuse(r, field, "nested too deeply", "at most 32 levels");
	troupe_status status = json_parse_read_object(r, value, part);
	if (!status)
		build_leave(&r->build);
	return status;
}
_Static_assert(MESSAGE_DEPTH_MAX == 32, "the text above");

static troupe_status json_parse_read_value(
	struct json_parse_reader *r, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, json_t *value)
{
	bool is_part = field->type == PROTOBUF_C_TYPE_MESSAGE;
	if (is_part && !json_is_object(value))
		return json_parse_unexpected(r, field, value);
	void *place = build_place(&r->build, message, field);
	if (!place)
		return json_parse_too_much(r, field);
	if (is_part)
		return json_parse_read_part(r, field, value, place);
	return json_parse_read_scalar(&r->build, field, value, place) ? TROUPE_OK
								      : json_parse_unexpected(r, field, value);
}

static const ProtobufCFieldDescriptor *json_parse_find_field(message_type type, const char *name)
{
	char in_json[JSON_NAME_BYTES];
	for (unsigned f = 0; f < type->n_fields; f++)
		if (!strcmp(json_name(&type->fields[f], in_json), name))
			return &type->fields[f];
	return protobuf_c_message_descriptor_get_field_by_name(type, name);
}

static troupe_status json_parse_unknown_field(const struct json_parse_reader *r, message_type type, const char *name)
{
	struct text names = {0}, found = {0};
	char in_json[JSON_NAME_BYTES];
	for (unsigned f = 0; f < type->n_fields; f++)
		text_add(&names, "%s%s", f ? ", " : "one of ", json_name(&type->fields[f], in_json));
	text_add(&found, "%s has no field '%.64s'", type->name, name);
	troupe_status status = json_parse_refuse(r, NULL, found.at, names.count ? names.at : "none");
	text_fini(&names);
	text_fini(&found);
	return status;
}

/* A field may be given once, and of the members of a oneof only one. */
static bool json_parse_is_there(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	if (type_field_in_oneof(field))
		return *(const uint32_t *)((const char *)message + field->quantifier_offset) != 0;
	return message_field_count(message, field) > 0;
}

static troupe_status json_parse_read_member(
	struct json_parse_reader *r, ProtobufCMessage *message, const char *name, json_t *value)
{
	const ProtobufCFieldDescriptor *field = json_parse_find_field(message->descriptor, name);
	if (!field)
		return r->build.limits->any_fields ? TROUPE_OK : json_parse_unknown_field(r, message->descriptor, name);
	if (json_is_null(value)) /* the default */
		return TROUPE_OK;
	if (json_parse_is_there(message, field))
		return json_parse_refuse(
			r, field, "given twice, or beside another one of which only one may be given", "one");
	if (field->label != PROTOBUF_C_LABEL_REPEATED)
		return json_parse_read_value(r, message, field, value);
	if (!json_is_array(value))
		return json_parse_refuse(r, field, "no list", "[...]");
	for (size_t i = 0; i < json_array_size(value); i++) {
		troupe_status status = json_parse_read_value(r, message, field, json_array_get(value, i));
		if (status)
			return status;
	}
	return TROUPE_OK;
}

static troupe_status json_parse_read_object(struct json_parse_reader *r, json_t *object, ProtobufCMessage *message)
{
	const char *name;
	json_t *value;
	json_object_foreach(object, name, value)
	{
		troupe_status status = json_parse_read_member(r, message, name, value);
		if (status)
			return status;
	}
	return TROUPE_OK;
}

troupe_status message_of_json(message_type type, const char *text, size_t count, const struct message_limits *limits,
	ProtobufCMessage **ret_message, struct troupe_error *error)
{
	size_t bytes_max = MIN(limits->bytes_max, (size_t)JSON_BYTES_MAX);
	if (count > bytes_max)
		return fail(error, TROUPE_ECOMMAND, "%zu bytes: expected at most %zu", count, bytes_max);
	json_error_t at;
	json_t *whole = json_loadb(text, count, JSON_REJECT_DUPLICATES, &at);
	if (!whole)
		return fail(error, TROUPE_ECOMMAND, "line %d, column %d: %s: expected a JSON object", at.line,
			at.column, at.text);
	struct json_parse_reader r;
	build_init(&r.build, type, limits);
	r.error = error;
	ProtobufCMessage *message = build_message(&r.build, type);
	troupe_status status = json_is_object(whole) ? json_parse_read_object(&r, whole, message)
						     : json_parse_refuse(&r, NULL, "a JSON array", "an object");
	if (!status)
		*ret_message = message_copy(message);
	build_fini(&r.build);
	json_decref(whole);
	return status;
}
