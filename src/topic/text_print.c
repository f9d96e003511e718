/* The text form, in one line for recordings and messages to people, or in lines as Gazebo's programs print it. The
 * printed text can be read again, and gives the same message: numbers have as many digits as this needs. */
#include "topic/message.h"

#include "base/shown.h"
#include "topic/number.h"

#include <inttypes.h>
#include <string.h>

static void text_print_add_quoted(struct text *out, const char *bytes, size_t count, bool is_text)
{
	text_add(out, "\"");
	for (size_t i = 0; i < count;) {
		struct shown_character c = shown_at(bytes + i, count - i);
		bool as_it_is = c.valid && !c.hidden && (c.code < 0x80 || is_text);
		if (as_it_is && (c.code == '"' || c.code == '\\'))
			text_add(out, "\\");
		if (as_it_is)
			text_add_bytes(out, bytes + i, c.bytes);
		for (uint32_t k = 0; !as_it_is && k < c.bytes; k++)
			text_add(out, "\\%03o", (unsigned char)bytes[i + k]);
		i += c.bytes;
	}
	text_add(out, "\"");
}

/* Appends a string as it is written in a message, in quotes and with escapes. */
static void text_print_add_string(struct text *out, const char *string)
{
	text_print_add_quoted(out, string, strlen(string), true);
}

static void text_print_add_enum(struct text *out, const ProtobufCFieldDescriptor *field, int number)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type_enum_of_field(field), number);
	if (value)
		text_add(out, "%s", value->name);
	else
		text_add(out, "%d", number);
}

static void text_print_add_fields(struct text *out, const ProtobufCMessage *message, int indent);

/* indent: of the fields; negative: all in one line. */
static void text_print_add_part(struct text *out, const ProtobufCMessage *part, int indent)
{
	text_add(out, indent < 0 ? "{" : "{\n");
	text_print_add_fields(out, part, indent < 0 ? indent : indent + 1);
	text_add(out, "%*s}", indent < 0 ? 0 : 2 * indent, "");
}

static void text_print_add_value(struct text *out, const ProtobufCFieldDescriptor *field, const void *value, int indent)
{
	const ProtobufCBinaryData *data = value;
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		text_print_add_part(out, *(ProtobufCMessage *const *)value, indent);
		break;
	case PROTOBUF_C_TYPE_STRING:
		text_print_add_string(out, *(char *const *)value ? *(char *const *)value : "");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		text_print_add_quoted(out, (const char *)data->data, data->len, false);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		text_add(out, *(const protobuf_c_boolean *)value ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		text_print_add_enum(out, field, *(const int *)value);
		break;
	default:
		number_add(out, field, value);
		break;
	}
}

static void text_print_add_name(struct text *out, const ProtobufCFieldDescriptor *field, int indent, bool first)
{
	bool is_part = field->type == PROTOBUF_C_TYPE_MESSAGE;
	text_add(out, "%*s%s%s ", indent < 0 ? !first : 2 * indent, "", field->name, is_part ? "" : ":");
}

static void text_print_add_list(
	struct text *out, const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, size_t count)
{
	text_add(out, "[");
	for (size_t i = 0; i < count; i++) {
		text_add(out, i ? ", " : "");
		text_print_add_value(out, field, message_field_at(message, field, i), -1);
	}
	text_add(out, "]");
}

static void text_print_add_fields(struct text *out, const ProtobufCMessage *message, int indent)
{
	bool first = true;
	for (unsigned f = 0; f < message->descriptor->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[f];
		size_t count = message_field_count(message, field);
		/* if all is in one line, a list of numbers is shorter */
		bool is_list = indent < 0 && count > 1 && field->type != PROTOBUF_C_TYPE_MESSAGE;
		for (size_t i = 0; i < count; i++) {
			text_print_add_name(out, field, indent, first);
			first = false;
			if (is_list) {
				text_print_add_list(out, message, field, count);
				break;
			}
			text_print_add_value(out, field, message_field_at(message, field, i), indent);
			text_add(out, indent < 0 ? "" : "\n");
		}
	}
}

void message_add_text(struct text *out, const ProtobufCMessage *message, enum message_layout layout)
{
	text_add(out, "%s", ""); /* a message without fields is "", not NULL */
	text_print_add_fields(out, message, layout == MESSAGE_LINE ? -1 : 0);
}
