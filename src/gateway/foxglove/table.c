/* The JSON of channels and services, with the schemas of their types. */
#include "gateway/foxglove/table.h"

#include "base/json_out.h"
#include "gateway/foxglove/wire.h"
#include "gateway/ros/stage.h"
#include "topic/json_name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void table_came(struct mirror_row *row)
{
	struct offer *offer = mem_alloc(sizeof *offer);
	*offer = (struct offer){
		.row = row, .ros = row->kind == TROUPE_TOPIC_SERVICE ? NULL : ros_type_find(row->type, row->name)};
	row->data = offer;
}

struct offer *table_find(const struct mirror *mirror, troupe_topic_kind kind, const char *name)
{
	const struct mirror_row *row = mirror_find(mirror, kind, name);
	return row ? row->data : NULL;
}

struct offer *table_of_id(const struct mirror *mirror, troupe_topic_kind kind, uint32_t id)
{
	const struct mirror_row *row = mirror_of_number(mirror, kind, id);
	return row ? row->data : NULL;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

/* Viewers read no references within a schema and one type for each member, so type_add_json_schema() is not for them:
 * parts are written in their place. A part within a part of its own type, or too deep, is any object. Foxglove Studio 1
 * reads no schema at all in which an object has no properties. */
enum { SCHEMA_DEPTH_MAX = 4 };

struct path {
	const struct path *above;
	message_type type;
	int depth;
};

static bool foxglove_table_goes_on(const struct path *path, message_type type)
{
	if (path->depth == SCHEMA_DEPTH_MAX)
		return false;
	for (; path; path = path->above)
		if (path->type == type)
			return false;
	return true;
}

static void foxglove_table_add_properties(const struct path *path, struct json_out *out);

/* The members of the schema of one value. */
static void foxglove_table_add_kind(
	const struct path *path, const ProtobufCFieldDescriptor *field, struct json_out *out)
{
	const struct path part = {
		path, field->type == PROTOBUF_C_TYPE_MESSAGE ? type_of_field(field) : NULL, path->depth + 1};
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		foxglove_table_add_properties(foxglove_table_goes_on(path, part.type) ? &part : NULL, out);
		break;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_ENUM:
		json_out_string(out, "type", "string");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		json_out_string(out, "type", "string");
		json_out_string(out, "contentEncoding", "base64");
		break;
	case PROTOBUF_C_TYPE_BOOL:
		json_out_string(out, "type", "boolean");
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		json_out_string(out, "type", "number");
		break;
	default: /* JSON has numbers of 64 bits as text */
		json_out_string(out, "type", type_field_bytes(field) == 8 ? "string" : "integer");
		break;
	}
}

static void foxglove_table_add_field(
	const struct path *path, const ProtobufCFieldDescriptor *field, struct json_out *out)
{
	char name[JSON_NAME_BYTES];
	bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
	json_out_object(out, json_name(field, name));
	if (is_list) {
		json_out_string(out, "type", "array");
		json_out_object(out, "items");
	}
	foxglove_table_add_kind(path, field, out);
	if (is_list)
		json_out_end(out);
	json_out_end(out);
}

/* path NULL: any object. */
static void foxglove_table_add_properties(const struct path *path, struct json_out *out)
{
	json_out_string(out, "type", "object");
	json_out_object(out, "properties");
	for (unsigned f = 0; path && f < path->type->n_fields; f++)
		foxglove_table_add_field(path, &path->type->fields[f], out);
	json_out_end(out);
}

/* A schema is text within the text. */
static void foxglove_table_add_json_schema(const char *type, const char *member, struct json_out *out)
{
	const struct path path = {NULL, type_find(type), 0};
	if (!path.type) { /* of a channel that is no topic of the server */
		assert(!strcmp(type, stage_schema_name));
		json_out_string(out, member, stage_schema);
		return;
	}
	struct text text = {0};
	struct json_out schema = {.text = &text};
	json_out_object(&schema, NULL);
	foxglove_table_add_properties(&path, &schema);
	json_out_end(&schema);
	json_out_string(out, member, text.at);
	text_fini(&text);
}

static void foxglove_table_add_ros_schema(const struct ros_type *ros, struct json_out *out)
{
	struct text schema = {0};
	ros_add_schema(ros, &schema);
	json_out_string(out, "schema", schema.at);
	text_fini(&schema);
}

void table_add_channel(const struct offer *offer, struct text *text)
{
	struct json_out out = {.text = text};
	json_out_object(&out, NULL);
	json_out_uint(&out, "id", offer->row->number);
	json_out_string(&out, "topic", offer->row->name);
	json_out_string(&out, "encoding", offer->ros ? "cdr" : "json");
	json_out_string(&out, "schemaName", offer->ros ? offer->ros->name : offer->row->type);
	json_out_string(&out, "schemaEncoding", offer->ros ? "ros2msg" : "jsonschema");
	if (offer->ros)
		foxglove_table_add_ros_schema(offer->ros, &out);
	else
		foxglove_table_add_json_schema(offer->row->type, "schema", &out);
	json_out_end(&out);
}

/* As the present protocol has it. */
static void foxglove_table_add_half(const char *half, const char *type, struct json_out *out)
{
	json_out_object(out, half);
	json_out_string(out, "encoding", "json");
	json_out_string(out, "schemaEncoding", "jsonschema");
	json_out_string(out, "schemaName", type);
	foxglove_table_add_json_schema(type, "schema", out);
	json_out_end(out);
}

void table_add_service(const struct offer *offer, struct text *text)
{
	struct json_out out = {.text = text};
	json_out_object(&out, NULL);
	json_out_uint(&out, "id", offer->row->number);
	json_out_string(&out, "name", offer->row->name);
	json_out_string(&out, "type", offer->row->type);
	foxglove_table_add_half("request", offer->row->type, &out);
	foxglove_table_add_half("response", offer->row->reply_type, &out);
	/* Foxglove Studio 1 reads only these, and ends with an exception where they are missing. */
	foxglove_table_add_json_schema(offer->row->type, "requestSchema", &out);
	foxglove_table_add_json_schema(offer->row->reply_type, "responseSchema", &out);
	json_out_end(&out);
}

static void foxglove_table_add_side(
	const struct mirror *mirror, troupe_topic_kind kind, const char *list, const char *ids, struct json_out *out)
{
	json_out_array(out, list);
	for (uint32_t i = 0; i < mirror->rows.count; i++) {
		const struct mirror_row *row = mirror->rows.at[i];
		if (row->kind != kind)
			continue;
		json_out_object(out, NULL);
		json_out_string(out, "name", row->name);
		json_out_strings(out, ids, (const char *const *)&row->owner, 1);
		json_out_end(out);
	}
	json_out_end(out);
}

void table_add_graph(const struct mirror *mirror, struct text *text)
{
	struct json_out out = json_out_in_object(text);
	foxglove_table_add_side(mirror, TROUPE_TOPIC_PUBLISHED, "publishedTopics", "publisherIds", &out);
	foxglove_table_add_side(mirror, TROUPE_TOPIC_TAKEN, "subscribedTopics", "subscriberIds", &out);
	foxglove_table_add_side(mirror, TROUPE_TOPIC_SERVICE, "advertisedServices", "providerIds", &out);
}
