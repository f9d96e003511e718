/* What is said to pages, as JSON of PROTOCOL.md. Names come from worlds, and are hostile: base/json_out and
 * message_add_json() escape all of them, and the page sets them as text only. */
#include "gateway/view/internal.h"

#include "gateway/hub/op.h"
#include "topic/message.h"

#include <string.h>

enum { RAW_KIND = 2, RAW_HEAD_BYTES = 8, RAW_BYTES_MIN = 64 };

void page_out_hello(const struct gateway *gateway, struct text *text)
{
	struct json_out out = op_begin(text, "hello");
	json_out_int(&out, "version", 1);
	json_out_string(&out, "troupe", troupe_version());
	json_out_array(&out, "worlds");
	for (uint32_t i = 0; i < gateway->worlds.count; i++)
		json_out_string(&out, NULL, gateway->worlds.at[i].prefix);
	json_out_end(&out);
	json_out_bool(&out, "recording", gateway->hub->play);
	json_out_bool(&out, "commands", !gateway->hub->play && !bus_only_watches(gateway->hub->bus));
	json_out_int(&out, "rate", VIEW_PICTURES_HZ);
	json_out_array(&out, "panels");
	for (uint32_t i = 0; i < panels_count(gateway->panels); i++) {
		json_out_object(&out, NULL);
		json_out_string(&out, "name", panels_name(gateway->panels, i));
		json_out_string(&out, "path", panels_path(gateway->panels, i));
		json_out_end(&out);
	}
	json_out_end(&out);
	json_out_end(&out);
}

void page_out_timeline(const struct play_state *state, struct text *text)
{
	struct json_out out = op_begin(text, "timeline");
	json_out_uint(&out, "begin", state->begin);
	json_out_uint(&out, "end", state->end);
	json_out_uint(&out, "step", state->step);
	json_out_double(&out, "speed", state->speed);
	if (state->has_hash)
		json_out_hash(&out, "hash", state->hash);
	if (state->seeking)
		json_out_uint(&out, "reached", state->reached);
	json_out_bool(&out, "playing", state->playing);
	json_out_bool(&out, "seeking", state->seeking);
	json_out_string(&out, "text", state->text);
	json_out_end(&out);
}

static void page_out_add_marks(const char *key, const struct marks *marks, struct json_out *out)
{
	json_out_array(out, key);
	for (uint32_t i = 0; i < marks->at.count; i++) {
		const struct mark *mark = &marks->at.at[i];
		json_out_object(out, NULL);
		json_out_uint(out, "step", mark->step);
		if (mark->count > 1) {
			json_out_uint(out, "last", mark->last);
			json_out_uint(out, "count", mark->count);
		}
		json_out_string(out, "text", mark->text);
		json_out_end(out);
	}
	json_out_end(out);
}

void page_out_marks(const struct timeline *timeline, const struct play_marks *marks, struct text *text)
{
	struct json_out out = op_begin(text, "marks");
	page_out_add_marks("found", &timeline->found, &out);
	page_out_add_marks("commands", &marks->commands, &out);
	page_out_add_marks("contacts", &marks->contacts, &out);
	page_out_add_marks("members", &marks->members, &out);
	page_out_add_marks("losses", &marks->losses, &out);
	json_out_end(&out);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static void page_out_add_row(const struct troupe_topic *topic, struct json_out *out)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", topic->name);
	json_out_string(out, "type", topic->type);
	if (topic->kind == TROUPE_TOPIC_PUBLISHED)
		json_out_double(out, "rate", topic->rate_hz);
	if (topic->reply_type)
		json_out_string(out, "reply", topic->reply_type);
	json_out_end(out);
}

/* Several systems may publish on one topic: it is listed once. */
static void page_out_add_kind(const struct troupe_topics *topics, troupe_topic_kind kind, const char *begin,
	const char *key, struct json_out *out)
{
	const char *last = NULL;
	json_out_array(out, key);
	for (uint32_t i = 0; i < topics->count; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		if (topic->kind != kind || strncmp(topic->name, begin, strlen(begin)) ||
			(last && !strcmp(last, topic->name)))
			continue;
		page_out_add_row(topic, out);
		last = topic->name;
	}
	json_out_end(out);
}

void page_out_topics(const struct troupe_topics *topics, const char *begin, struct text *text)
{
	struct json_out out = op_begin(text, "topics");
	json_out_uint(&out, "epoch", topics->epoch);
	page_out_add_kind(topics, TROUPE_TOPIC_PUBLISHED, begin, "published", &out);
	page_out_add_kind(topics, TROUPE_TOPIC_TAKEN, begin, "taken", &out);
	page_out_add_kind(topics, TROUPE_TOPIC_SERVICE, begin, "services", &out);
	json_out_end(&out);
}

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

void page_out_refusal(uint64_t id, const char *why, struct text *text)
{
	struct json_out out = op_begin(text, "reply");
	json_out_uint(&out, "id", id);
	json_out_bool(&out, "ok", false);
	json_out_string(&out, "text", why);
	json_out_end(&out);
}

void page_out_image(uint64_t id, const char *path, struct text *text)
{
	struct json_out out = op_begin(text, "reply");
	json_out_uint(&out, "id", id);
	json_out_bool(&out, "ok", true);
	json_out_string(&out, "path", path);
	json_out_end(&out);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Messages come from this process: they are large at most, and have infinite numbers. */
static ProtobufCMessage *page_out_decode(const struct troupe_message *message)
{
	static const struct message_limits limits = {.bytes_max = MESSAGE_MEMORY_MAX, .items_max = UINT32_MAX};
	ProtobufCMessage *decoded;
	message_type type = type_find(message->type);
	if (!type || message_of_bytes(type, message->bytes, message->count, &limits, &decoded, NULL))
		return NULL;
	return decoded;
}

/* Takes the bytes of the field `data` out of the message; they stay in its memory. Few bytes stay where they are. */
static ProtobufCBinaryData page_out_take_raw(ProtobufCMessage *message)
{
	const ProtobufCFieldDescriptor *field =
		protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "data");
	if (!field || field->type != PROTOBUF_C_TYPE_BYTES || field->label == PROTOBUF_C_LABEL_REPEATED ||
		type_field_in_oneof(field))
		return (ProtobufCBinaryData){0};
	ProtobufCBinaryData *data = (void *)((char *)message + field->offset), raw = *data;
	if (raw.len < RAW_BYTES_MIN)
		return (ProtobufCBinaryData){0};
	*data = (ProtobufCBinaryData){0};
	return raw;
}

static void page_out_add_message(
	const struct troupe_message *message, const ProtobufCMessage *decoded, struct text *text)
{
	struct json_out out = op_message(text, message);
	message_add_json(json_out_value(&out, "message"), decoded);
	json_out_end(&out);
}

static void page_out_add_raw(struct text *out, const ProtobufCBinaryData *raw)
{
	while (out->count % 4)
		text_add(out, " ");
	uint32_t json = (uint32_t)(out->count - RAW_HEAD_BYTES);
	for (int i = 0; i < 4; i++)
		out->at[4 + i] = (char)(json >> 8 * i);
	text_add_bytes(out, (const char *)raw->data, raw->len);
}

bool page_out_message(const struct troupe_message *message, struct text *out)
{
	static const char head[RAW_HEAD_BYTES] = {RAW_KIND};
	ProtobufCMessage *decoded = page_out_decode(message);
	if (!decoded)
		return false;
	ProtobufCBinaryData raw = page_out_take_raw(decoded);
	if (raw.len)
		text_add_bytes(out, head, sizeof head);
	page_out_add_message(message, decoded, out);
	if (raw.len)
		page_out_add_raw(out, &raw);
	message_free(decoded);
	return raw.len > 0;
}
