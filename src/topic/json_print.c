/* protobuf's JSON mapping: integers of 64 bits are strings, because many readers keep numbers as doubles; so are inf
 * and nan, which JSON does not have; bytes are base64. */
#include "topic/json_name.h"
#include "topic/message.h"
#include "topic/number.h"

#include <math.h>

static void add_base64(struct text *out, const ProtobufCBinaryData *data)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < data->len; i += 3) {
		size_t count = MIN(data->len - i, (size_t)3);
		uint32_t bits = 0;
		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < count ? data->data[i + k] : 0u);
		char quad[4];
		for (size_t k = 0; k < 4; k++)
			quad[k] = k <= count ? digits[bits >> (18 - 6 * k) & 63] : '=';
		text_add_bytes(out, quad, sizeof quad);
	}
}

static void add_real(struct text *out, const ProtobufCFieldDescriptor *field, const void *value, double number)
{
	if (isnan(number))
		text_add(out, "\"NaN\"");
	else if (isinf(number))
		text_add(out, number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		number_add(out, field, value);
}

static void add_enum(struct text *out, const ProtobufCFieldDescriptor *field, int number)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type_enum_of_field(field), number);
	if (value)
		text_add(out, "\"%s\"", value->name);
	else
		text_add(out, "%d", number);
}

static void add_integer(struct text *out, const ProtobufCFieldDescriptor *field, const void *value)
{
	const char *quote = type_field_bytes(field) == 8 ? "\"" : "";
	text_add(out, "%s", quote);
	number_add(out, field, value);
	text_add(out, "%s", quote);
}

static void add_value(struct text *out, const ProtobufCFieldDescriptor *field, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		message_add_json(out, *(ProtobufCMessage *const *)value);
		break;
	case PROTOBUF_C_TYPE_STRING:
		text_add_json(out, *(char *const *)value ? *(char *const *)value : "");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		text_add(out, "\"");
		add_base64(out, value);
		text_add(out, "\"");
		break;
	case PROTOBUF_C_TYPE_BOOL:
		text_add(out, *(const protobuf_c_boolean *)value ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		add_enum(out, field, *(const int *)value);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		add_real(out, field, value, *(const double *)value);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		add_real(out, field, value, (double)*(const float *)value);
		break;
	default:
		add_integer(out, field, value);
		break;
	}
}

void message_add_json(struct text *out, const ProtobufCMessage *message)
{
	char name[JSON_NAME_BYTES];
	const char *between = "";
	text_add(out, "{");
	for (unsigned f = 0; f < message->descriptor->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[f];
		bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
		size_t count = message_field_count(message, field);
		if (!count)
			continue;
		text_add(out, "%s\"%s\":%s", between, json_name(field, name), is_list ? "[" : "");
		for (size_t i = 0; i < count; i++) {
			text_add(out, i ? "," : "");
			add_value(out, field, message_field_at(message, field, i));
		}
		text_add(out, is_list ? "]" : "");
		between = ",";
	}
	text_add(out, "}");
}
