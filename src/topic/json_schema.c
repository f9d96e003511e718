/* A schema has one definition for each type that can be reached from the first one, because types refer to each other
 * in circles: a Model has Models. */
#include "topic/json_name.h"
#include "topic/type.h"

#include <string.h>

enum { TYPES_MAX = 512 };

struct schema {
	message_type types[TYPES_MAX]; /* found so far; those up to `done` are written */
	uint32_t count, done;
	struct text *out;
};

static void reach(struct schema *s, message_type type)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->types[i] == type)
			return;
	if (s->count < TYPES_MAX)
		s->types[s->count++] = type;
}

static void add_enum(struct text *out, const ProtobufCEnumDescriptor *values)
{
	text_add(out, "{\"enum\":[");
	for (unsigned i = 0; i < values->n_values; i++)
		text_add(out, "%s\"%s\"", i ? "," : "", values->values[i].name);
	text_add(out, "]}");
}

static void add_kind(struct schema *s, const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		reach(s, type_of_field(field));
		text_add(s->out, "{\"$ref\":\"#/$defs/%s\"}", type_of_field(field)->name);
		break;
	case PROTOBUF_C_TYPE_STRING:
		text_add(s->out, "{\"type\":\"string\"}");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		text_add(s->out, "{\"type\":\"string\",\"contentEncoding\":\"base64\"}");
		break;
	case PROTOBUF_C_TYPE_BOOL:
		text_add(s->out, "{\"type\":\"boolean\"}");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		add_enum(s->out, type_enum_of_field(field));
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		text_add(s->out, "{\"anyOf\":[{\"type\":\"number\"},{\"enum\":[\"NaN\",\"Infinity\",\"-Infinity\"]}]}");
		break;
	default:
		text_add(s->out, type_field_bytes(field) == 8 ? "{\"type\":\"string\",\"pattern\":\"^-?[0-9]+$\"}"
							      : "{\"type\":\"integer\"}");
		break;
	}
}

static void add_type(struct schema *s, message_type type)
{
	char name[JSON_NAME_BYTES];
	text_add(s->out, "\"%s\":{\"type\":\"object\",\"properties\":{", type->name);
	for (unsigned f = 0; f < type->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
		text_add(s->out, "%s\"%s\":%s", f ? "," : "", json_name(field, name),
			is_list ? "{\"type\":\"array\",\"items\":" : "");
		add_kind(s, field);
		text_add(s->out, is_list ? "}" : "");
	}
	text_add(s->out, "},\"additionalProperties\":false}");
}

void type_add_json_schema(message_type type, struct text *out)
{
	struct schema s = {.out = out};
	text_add(out,
		"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"%s\","
		"\"$ref\":\"#/$defs/%s\",\"$defs\":{",
		type->name, type->name);
	reach(&s, type);
	for (; s.done < s.count; s.done++) {
		text_add(out, s.done ? "," : "");
		add_type(&s, s.types[s.done]);
	}
	text_add(out, "}}");
}
