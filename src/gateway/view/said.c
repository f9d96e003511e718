/* What is said to pages, as JSON of PROTOCOL.md. Names come from worlds, and are hostile: text_add_json() and
 * message_add_json() escape all of them, and the page sets them as text only. */
#include "gateway/view/internal.h"
#include "topic/message.h"

#include <inttypes.h>
#include <string.h>

enum { RAW_KIND = 2, RAW_HEAD_BYTES = 8, RAW_BYTES_MIN = 64 };

void said_hello(const struct gateway *gateway, struct text *out)
{
	text_add(out, "{\"op\":\"hello\",\"version\":1,\"troupe\":");
	text_add_json(out, troupe_version());
	text_add(out, ",\"worlds\":[");
	for (uint32_t i = 0; i < gateway->worlds.count; i++) {
		text_add(out, i ? "," : "");
		text_add_json(out, gateway->worlds.at[i].prefix);
	}
	text_add(out, "],\"recording\":%s,\"commands\":%s,\"rate\":%d}", gateway->hub->play ? "true" : "false",
		gateway->hub->play || source_only_watches(gateway->hub->bus) ? "false" : "true", VIEW_PICTURES_HZ);
}

void said_timeline(const struct play_state *state, struct text *out)
{
	text_add(out, "{\"op\":\"timeline\",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"step\":%" PRIu64 ",\"speed\":",
		state->begin, state->end, state->step);
	text_add_double(out, state->speed);
	if (state->has_hash)
		text_add(out, ",\"hash\":\"%016" PRIx64 "\"", state->hash);
	if (state->seeking)
		text_add(out, ",\"reached\":%" PRIu64, state->reached);
	text_add(out, ",\"playing\":%s,\"seeking\":%s,\"text\":", state->playing ? "true" : "false",
		state->seeking ? "true" : "false");
	text_add_json(out, state->text);
	text_add(out, "}");
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static void add_row(const struct troupe_topic *topic, struct text *out)
{
	text_add(out, "{\"name\":");
	text_add_json(out, topic->name);
	text_add(out, ",\"type\":");
	text_add_json(out, topic->type);
	if (topic->kind == TROUPE_TOPIC_PUBLISHED) {
		text_add(out, ",\"rate\":");
		text_add_double(out, topic->rate_hz);
	}
	if (topic->reply_type) {
		text_add(out, ",\"reply\":");
		text_add_json(out, topic->reply_type);
	}
	text_add(out, "}");
}

/* Several systems may publish on one topic: it is listed once. */
static void add_kind(const struct troupe_topics *topics, troupe_topic_kind kind, const char *begin, struct text *out)
{
	const char *last = NULL;
	for (uint32_t i = 0; i < topics->count; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		if (topic->kind != kind || strncmp(topic->name, begin, strlen(begin)) ||
			(last && !strcmp(last, topic->name)))
			continue;
		text_add(out, last ? "," : "");
		add_row(topic, out);
		last = topic->name;
	}
}

void said_topics(const struct troupe_topics *topics, const char *begin, struct text *out)
{
	text_add(out, "{\"op\":\"topics\",\"epoch\":%" PRIu64 ",\"published\":[", topics->epoch);
	add_kind(topics, TROUPE_TOPIC_PUBLISHED, begin, out);
	text_add(out, "],\"taken\":[");
	add_kind(topics, TROUPE_TOPIC_TAKEN, begin, out);
	text_add(out, "],\"services\":[");
	add_kind(topics, TROUPE_TOPIC_SERVICE, begin, out);
	text_add(out, "]}");
}

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

void said_error(const char *text, struct text *out)
{
	text_add(out, "{\"op\":\"error\",\"text\":");
	text_add_json(out, text);
	text_add(out, "}");
}

void said_refusal(uint64_t id, const char *text, struct text *out)
{
	text_add(out, "{\"op\":\"reply\",\"id\":%" PRIu64 ",\"ok\":false,\"text\":", id);
	text_add_json(out, text);
	text_add(out, "}");
}

/* Messages come from this process: they are large at most, and have infinite numbers. */
static ProtobufCMessage *decode(const struct troupe_message *message)
{
	static const struct message_limits limits = {.bytes_max = MESSAGE_MEMORY_MAX, .items_max = UINT32_MAX};
	ProtobufCMessage *decoded;
	message_type type = type_find(message->type);
	if (!type || message_of_bytes(type, message->bytes, message->count, &limits, &decoded, NULL))
		return NULL;
	return decoded;
}

void said_reply(uint64_t id, const struct hub_reply *reply, struct text *out)
{
	const struct troupe_message message = {.type = reply->type, .bytes = reply->bytes, .count = reply->count};
	ProtobufCMessage *decoded = decode(&message);
	text_add(out, "{\"op\":\"reply\",\"id\":%" PRIu64 ",\"ok\":%s,\"step\":%" PRIu64 ",\"text\":", id,
		reply->status ? "false" : "true", reply->step);
	text_add_json(out, reply->why ? reply->why : "");
	text_add(out, ",\"type\":");
	text_add_json(out, reply->type);
	if (decoded) {
		text_add(out, ",\"reply\":");
		message_add_json(out, decoded);
	}
	text_add(out, "}");
	message_free(decoded);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Takes the bytes of the field `data` out of the message; they stay in its memory. Few bytes stay where they are. */
static ProtobufCBinaryData take_raw(ProtobufCMessage *message)
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

static void add_message(const struct troupe_message *message, const ProtobufCMessage *decoded, struct text *out)
{
	text_add(out, "{\"op\":\"message\",\"topic\":");
	text_add_json(out, message->topic);
	text_add(out, ",\"type\":");
	text_add_json(out, message->type);
	text_add(out, ",\"step\":%" PRIu64 ",\"time\":", message->step);
	text_add_double(out, (double)message->time_ns * 1e-9);
	text_add(out, ",\"message\":");
	message_add_json(out, decoded);
	text_add(out, "}");
}

static void add_raw(struct text *out, const ProtobufCBinaryData *raw)
{
	while (out->count % 4)
		text_add(out, " ");
	uint32_t json = (uint32_t)(out->count - RAW_HEAD_BYTES);
	for (int i = 0; i < 4; i++)
		out->at[4 + i] = (char)(json >> 8 * i);
	text_add_bytes(out, (const char *)raw->data, raw->len);
}

bool said_message(const struct troupe_message *message, struct text *out)
{
	static const char head[RAW_HEAD_BYTES] = {RAW_KIND};
	ProtobufCMessage *decoded = decode(message);
	if (!decoded)
		return false;
	ProtobufCBinaryData raw = take_raw(decoded);
	if (raw.len)
		text_add_bytes(out, head, sizeof head);
	add_message(message, decoded, out);
	if (raw.len)
		add_raw(out, &raw);
	message_free(decoded);
	return raw.len > 0;
}
