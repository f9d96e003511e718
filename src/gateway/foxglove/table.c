/* Numbers are counted up and never used again: a client that still asks for a channel that is gone must not get another
 * one. One pointer remains of an offer that is gone. */
#include "gateway/foxglove/table.h"

#include "gateway/foxglove/wire.h"
#include "gateway/ros/stage.h"
#include "topic/json_name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void free_offer(struct offer *offer)
{
	vec_free(&offer->hearers);
	free(offer->name);
	free(offer->type);
	free(offer->reply_type);
	free(offer->owner);
	free(offer);
}

static struct offer *add_offer(struct table *table, const struct troupe_topic *topic)
{
	struct offer *offer = mem_alloc(sizeof *offer);
	if (!table->by_id.count)
		vec_push(&table->by_id, NULL); /* 0 is no number */
	*offer = (struct offer){.id = table->by_id.count,
		.kind = topic->kind,
		.name = mem_strdup(topic->name),
		.type = mem_strdup(topic->type),
		.reply_type = topic->reply_type ? mem_strdup(topic->reply_type) : NULL,
		.owner = mem_strdup(topic->owner),
		.ros = topic->kind == TROUPE_TOPIC_SERVICE ? NULL : ros_type_find(topic->type, topic->name)};
	vec_push(&table->by_id, offer);
	map_add(&table->index[offer->kind], offer->name, table->offers.count);
	vec_push(&table->offers, offer);
	return offer;
}

static void drop_offer(struct table *table, uint32_t at)
{
	struct offer *offer = table->offers.at[at], *last = table->offers.at[--table->offers.count];
	map_remove(&table->index[offer->kind], offer->name);
	if (last != offer) {
		map_remove(&table->index[last->kind], last->name);
		map_add(&table->index[last->kind], last->name, at);
		table->offers.at[at] = last;
	}
	table->by_id.at[offer->id] = NULL;
	free_offer(offer);
}

/* A topic whose type changes is another one. */
static bool is_same(const struct offer *offer, const struct troupe_topic *topic)
{
	return offer && !strcmp(offer->type, topic->type) &&
	       !strcmp(offer->reply_type ? offer->reply_type : "", topic->reply_type ? topic->reply_type : "");
}

void table_update(struct table *table, const struct troupe_topics *topics, void (*came)(void *ctx, struct offer *offer),
	void (*goes)(void *ctx, struct offer *offer), void *ctx)
{
	table->epoch = topics->epoch;
	table->round++;
	for (uint32_t i = 0; i < topics->count; i++) {
		struct offer *offer = table_find(table, topics->at[i].kind, topics->at[i].name);
		if (is_same(offer, &topics->at[i]))
			offer->round = table->round;
	}
	for (uint32_t i = table->offers.count; i-- > 0;)
		if (table->offers.at[i]->round != table->round) {
			goes(ctx, table->offers.at[i]);
			drop_offer(table, i);
		}
	for (uint32_t i = 0; i < topics->count; i++)
		if (!table_find(table, topics->at[i].kind, topics->at[i].name)) {
			struct offer *offer = add_offer(table, &topics->at[i]);
			offer->round = table->round;
			came(ctx, offer);
		}
}

void table_fini(struct table *table)
{
	while (table->offers.count)
		drop_offer(table, table->offers.count - 1);
	for (int kind = 0; kind < 3; kind++)
		map_fini(&table->index[kind]);
	vec_free(&table->offers);
	vec_free(&table->by_id);
}

struct offer *table_find(const struct table *table, troupe_topic_kind kind, const char *name)
{
	uint32_t at;
	return map_find(&table->index[kind], name, &at) ? table->offers.at[at] : NULL;
}

struct offer *table_of_id(const struct table *table, troupe_topic_kind kind, uint32_t id)
{
	struct offer *offer = id < table->by_id.count ? table->by_id.at[id] : NULL;
	return offer && offer->kind == kind ? offer : NULL;
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
	text_add(out, "{\"id\":%u", offer->id);
	wire_add_string(out, "topic", offer->name);
	wire_add_string(out, "encoding", offer->ros ? "cdr" : "json");
	wire_add_string(out, "schemaName", offer->ros ? offer->ros->name : offer->type);
	wire_add_string(out, "schemaEncoding", offer->ros ? "ros2msg" : "jsonschema");
	if (offer->ros)
		add_ros_schema(offer->ros, out);
	else
		add_json_schema(offer->type, "schema", out);
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
	text_add(out, "{\"id\":%u", offer->id);
	wire_add_string(out, "name", offer->name);
	wire_add_string(out, "type", offer->type);
	add_half("request", offer->type, out);
	add_half("response", offer->reply_type, out);
	/* Foxglove Studio 1 reads only these, and ends with an exception where they are missing. */
	add_json_schema(offer->type, "requestSchema", out);
	add_json_schema(offer->reply_type, "responseSchema", out);
	text_add(out, "}");
}

static void add_side(
	const struct table *table, troupe_topic_kind kind, const char *list, const char *ids, struct text *out)
{
	const char *between = "";
	wire_member(out, list);
	text_add(out, "[");
	for (uint32_t i = 0; i < table->offers.count; i++) {
		const struct offer *offer = table->offers.at[i];
		if (offer->kind != kind)
			continue;
		text_add(out, "%s{\"name\":", between);
		text_add_json(out, offer->name);
		text_add(out, ",\"%s\":[", ids);
		text_add_json(out, offer->owner);
		text_add(out, "]}");
		between = ",";
	}
	text_add(out, "]");
}

void table_add_graph(const struct table *table, struct text *out)
{
	add_side(table, TROUPE_TOPIC_PUBLISHED, "publishedTopics", "publisherIds", out);
	add_side(table, TROUPE_TOPIC_TAKEN, "subscribedTopics", "subscriberIds", out);
	add_side(table, TROUPE_TOPIC_SERVICE, "advertisedServices", "providerIds", out);
}
