/* A schema has one definition for each type that can be reached from the first one, because types refer to each other
 * in circles: a Model has Models. */
#include "base/json_out.h"
#include "topic/json_name.h"
#include "topic/type.h"

#include <string.h>

enum { JSON_SCHEMA_TYPES_MAX = 512 };

struct schema {
	message_type types[JSON_SCHEMA_TYPES_MAX]; /* found so far; those up to `done` are written */
	uint32_t count, done;
	struct json_out out;
};

static void json_schema_reach(struct schema *s, message_type type)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->types[i] == type)
			return;
	if (s->count < JSON_SCHEMA_TYPES_MAX)
		s->types[s->count++] = type;
}

static void json_schema_add_enum(struct json_out *out, const ProtobufCEnumDescriptor *values)
{
	json_out_array(out, "enum");
	for (unsigned i = 0; i < values->n_values; i++)
		json_out_string(out, NULL, values->values[i].name);
	json_out_end(out);
}

static void json_schema_add_real(struct json_out *out)
{
	static const char *const others[] = {"NaN", "Infinity", "-Infinity"};
	json_out_array(out, "anyOf");
	json_out_object(out, NULL);
	json_out_string(out, "type", "number");
	json_out_end(out);
	json_out_object(out, NULL);
	json_out_strings(out, "enum", others, ARRAY_LEN(others));
	json_out_end(out);
	json_out_end(out);
}

static void json_schema_add_integer(struct json_out *out, const ProtobufCFieldDescriptor *field)
{
	bool is_text = type_field_bytes(field) == 8;
	json_out_string(out, "type", is_text ? "string" : "integer");
	if (is_text)
		json_out_string(out, "pattern", "^-?[0-9]+$");
}

/* The members of the schema of one value. */
static void json_schema_add_kind(struct schema *s, const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		json_schema_reach(s, type_of_field(field));
		json_out_printf(&s->out, "$ref", "#/$defs/%s", type_of_field(field)->name);
		break;
	case PROTOBUF_C_TYPE_STRING:
		json_out_string(&s->out, "type", "string");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		json_out_string(&s->out, "type", "string");
		json_out_string(&s->out, "contentEncoding", "base64");
		break;
	case PROTOBUF_C_TYPE_BOOL:
		json_out_string(&s->out, "type", "boolean");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		json_schema_add_enum(&s->out, type_enum_of_field(field));
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		json_schema_add_real(&s->out);
		break;
	default:
		json_schema_add_integer(&s->out, field);
		break;
	}
}

static void json_schema_add_field(struct schema *s, const ProtobufCFieldDescriptor *field)
{
	char name[JSON_NAME_BYTES];
	bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
	json_out_object(&s->out, json_name(field, name));
	if (is_list) {
		json_out_string(&s->out, "type", "array");
		json_out_object(&s->out, "items");
	}
	json_schema_add_kind(s, field);
	if (is_list)
		json_out_end(&s->out);
	json_out_end(&s->out);
}

static void json_schema_add_type(struct schema *s, message_type type)
{
	json_out_object(&s->out, type->name);
	json_out_string(&s->out, "type", "object");
	json_out_object(&s->out, "properties");
	for (unsigned f = 0; f < type->n_fields; f++)
		json_schema_add_field(s, &type->fields[f]);
	json_out_end(&s->out);
	json_out_bool(&s->out, "additionalProperties", false);
	json_out_end(&s->out);
}

void type_add_json_schema(message_type type, struct text *text)
{
	struct schema s = {.out = {.text = text}};
	json_out_object(&s.out, NULL);
	json_out_string(&s.out, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_out_string(&s.out, "title", type->name);
	json_out_printf(&s.out, "$ref", "#/$defs/%s", type->name);
	json_out_object(&s.out, "$defs");
	json_schema_reach(&s, type);
	for (; s.done < s.count; s.done++)
		json_schema_add_type(&s, s.types[s.done]);
	json_out_end(&s.out);
	json_out_end(&s.out);
}
