/* The JSON of channels and services, with the schemas of their types. */
#include "gateway/foxglove/table.h"

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

void table_gone(struct mirror_row *row)
{
	struct offer *offer = row->data;
	vec_free(&offer->hearers);
	free(offer);
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

static bool goes_on(const struct path *path, message_type type)
{
	if (path->depth == SCHEMA_DEPTH_MAX)
		return false;
	for (; path; path = path->above)
		if (path->type == type)
			return false;
	return true;
}

static void add_object(const struct path *path, struct text *out);

static void add_kind(const struct path *path, const ProtobufCFieldDescriptor *field, struct text *out)
{
	const struct path part = {
		path, field->type == PROTOBUF_C_TYPE_MESSAGE ? type_of_field(field) : NULL, path->depth + 1};
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		if (goes_on(path, part.type))
			add_object(&part, out);
		else
			text_add(out, "{\"type\":\"object\",\"properties\":{}}");
		break;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_ENUM:
		text_add(out, "{\"type\":\"string\"}");
		break;
	case PROTOBUF_C_TYPE_BYTES:
		text_add(out, "{\"type\":\"string\",\"contentEncoding\":\"base64\"}");
		break;
	case PROTOBUF_C_TYPE_BOOL:
		text_add(out, "{\"type\":\"boolean\"}");
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		text_add(out, "{\"type\":\"number\"}");
		break;
	default: /* JSON has numbers of 64 bits as text */
		text_add(out, type_field_bytes(field) == 8 ? "{\"type\":\"string\"}" : "{\"type\":\"integer\"}");
		break;
	}
}

static void add_object(const struct path *path, struct text *out)
{
	char name[JSON_NAME_BYTES];
	text_add(out, "{\"type\":\"object\",\"properties\":{");
	for (unsigned f = 0; f < path->type->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &path->type->fields[f];
		bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
		text_add(out, "%s\"%s\":%s", f ? "," : "", json_name(field, name),
			is_list ? "{\"type\":\"array\",\"items\":" : "");
		add_kind(path, field, out);
		text_add(out, is_list ? "}" : "");
	}
	text_add(out, "}}");
}

/* A schema is text within the text. */
static void add_json_schema(const char *type, const char *member, struct text *out)
{
	const struct path path = {NULL, type_find(type), 0};
	if (!path.type) { /* of a channel that is no topic of the server */
		assert(!strcmp(type, stage_schema_name));
		wire_add_string(out, member, stage_schema);
		return;
	}
	struct text schema = {0};
	add_object(&path, &schema);
	wire_add_string(out, member, schema.at);
	text_fini(&schema);
}

static void add_ros_schema(const struct ros_type *ros, struct text *out)
{
	struct text schema = {0};
	ros_add_schema(ros, &schema);
	wire_add_string(out, "schema", schema.at);
	text_fini(&schema);
}

void table_add_channel(const struct offer *offer, struct text *out)
{
	text_add(out, "{\"id\":%u", offer->row->number);
	wire_add_string(out, "topic", offer->row->name);
	wire_add_string(out, "encoding", offer->ros ? "cdr" : "json");
	wire_add_string(out, "schemaName", offer->ros ? offer->ros->name : offer->row->type);
	wire_add_string(out, "schemaEncoding", offer->ros ? "ros2msg" : "jsonschema");
	if (offer->ros)
		add_ros_schema(offer->ros, out);
	else
		add_json_schema(offer->row->type, "schema", out);
	text_add(out, "}");
}

/* As the present protocol has it. */
static void add_half(const char *half, const char *type, struct text *out)
{
	wire_member(out, half);
	text_add(out, "{\"encoding\":\"json\",\"schemaEncoding\":\"jsonschema\"");
	wire_add_string(out, "schemaName", type);
	add_json_schema(type, "schema", out);
	text_add(out, "}");
}

void table_add_service(const struct offer *offer, struct text *out)
{
	text_add(out, "{\"id\":%u", offer->row->number);
	wire_add_string(out, "name", offer->row->name);
	wire_add_string(out, "type", offer->row->type);
	add_half("request", offer->row->type, out);
	add_half("response", offer->row->reply_type, out);
	/* Foxglove Studio 1 reads only these, and ends with an exception where they are missing. */
	add_json_schema(offer->row->type, "requestSchema", out);
	add_json_schema(offer->row->reply_type, "responseSchema", out);
	text_add(out, "}");
}

static void add_side(
	const struct mirror *mirror, troupe_topic_kind kind, const char *list, const char *ids, struct text *out)
{
	const char *between = "";
	wire_member(out, list);
	text_add(out, "[");
	for (uint32_t i = 0; i < mirror->rows.count; i++) {
		const struct mirror_row *row = mirror->rows.at[i];
		if (row->kind != kind)
			continue;
		text_add(out, "%s{\"name\":", between);
		text_add_json(out, row->name);
		text_add(out, ",\"%s\":[", ids);
		text_add_json(out, row->owner);
		text_add(out, "]}");
		between = ",";
	}
	text_add(out, "]");
}

void table_add_graph(const struct mirror *mirror, struct text *out)
{
	add_side(mirror, TROUPE_TOPIC_PUBLISHED, "publishedTopics", "publisherIds", out);
	add_side(mirror, TROUPE_TOPIC_TAKEN, "subscribedTopics", "subscriberIds", out);
	add_side(mirror, TROUPE_TOPIC_SERVICE, "advertisedServices", "providerIds", out);
}
