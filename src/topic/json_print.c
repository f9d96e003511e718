/* protobuf's JSON mapping: integers of 64 bits are strings, because many readers keep numbers as doubles; so are inf
 * and nan, which JSON does not have; bytes are base64. */
#include "base/json_out.h"
#include "topic/json_name.h"
#include "topic/message.h"
#include "topic/number.h"

#include <math.h>

static void json_print_add_real(
	struct json_out *out, const char *key, const ProtobufCFieldDescriptor *field, const void *value, double number)
{
	if (isfinite(number))
		number_add(json_out_value(out, key), field, value);
	else
		json_out_string(out, key, isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity");
}

static void json_print_add_enum(
	struct json_out *out, const char *key, const ProtobufCFieldDescriptor *field, int number)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type_enum_of_field(field), number);
	if (value)
		json_out_string(out, key, value->name);
	else
		json_out_int(out, key, number);
}

static void json_print_add_integer(
	struct json_out *out, const char *key, const ProtobufCFieldDescriptor *field, const void *value)
{
	const char *quote = type_field_bytes(field) == 8 ? "\"" : "";
	struct text *text = json_out_value(out, key);
	text_add(text, "%s", quote);
	number_add(text, field, value);
	text_add(text, "%s", quote);
}

static void json_print_add_value(
	struct json_out *out, const char *key, const ProtobufCFieldDescriptor *field, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		message_add_json(json_out_value(out, key), *(ProtobufCMessage *const *)value);
		break;
	case PROTOBUF_C_TYPE_STRING:
		json_out_string(out, key, *(char *const *)value ? *(char *const *)value : "");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		json_out_base64(out, key, ((const ProtobufCBinaryData *)value)->data,
			((const ProtobufCBinaryData *)value)->len);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		json_out_bool(out, key, *(const protobuf_c_boolean *)value);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		json_print_add_enum(out, key, field, *(const int *)value);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		json_print_add_real(out, key, field, value, *(const double *)value);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		json_print_add_real(out, key, field, value, (double)*(const float *)value);
		break;
	default:
		json_print_add_integer(out, key, field, value);
		break;
	}
}

static void json_print_add_list(struct json_out *out, const char *key, const ProtobufCMessage *message,
	const ProtobufCFieldDescriptor *field, size_t count)
{
	json_out_array(out, key);
	for (size_t i = 0; i < count; i++)
		json_print_add_value(out, NULL, field, message_field_at(message, field, i));
	json_out_end(out);
}

void message_add_json(struct text *text, const ProtobufCMessage *message)
{
	struct json_out out = {.text = text};
	char name[JSON_NAME_BYTES];
	json_out_object(&out, NULL);
	for (unsigned f = 0; f < message->descriptor->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[f];
		size_t count = message_field_count(message, field);
		if (!count)
			continue;
		if (field->label == PROTOBUF_C_LABEL_REPEATED)
			json_print_add_list(&out, json_name(field, name), message, field, count);
		else
			json_print_add_value(&out, json_name(field, name), field, message_field_at(message, field, 0));
	}
	json_out_end(&out);
}
