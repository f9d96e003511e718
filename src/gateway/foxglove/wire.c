/* JSON is read as a message of our own, so that the limits and the errors are those of all messages. */
#include "gateway/foxglove/wire.h"

#include "gateway/hub/op.h"
#include "topic/message.h"

#include <string.h>

static void foxglove_wire_add_u32(struct text *out, uint32_t value)
{
	char bytes[4];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(value >> 8 * i & 0xff);
	text_add_bytes(out, bytes, sizeof bytes);
}

static void foxglove_wire_add_u64(struct text *out, uint64_t value)
{
	foxglove_wire_add_u32(out, (uint32_t)value);
	foxglove_wire_add_u32(out, (uint32_t)(value >> 32));
}

/* --- to the client ------------------------------------------------------------------------------------------------ */

static void foxglove_wire_add_time(struct json_out *out, const char *name, uint64_t time_ns)
{
	json_out_object(out, name);
	json_out_uint(out, "sec", time_ns / 1000000000);
	json_out_uint(out, "nsec", time_ns % 1000000000);
	json_out_end(out);
}

static void foxglove_wire_add_capabilities(struct json_out *out, enum wire_role role, bool playback)
{
	json_out_array(out, "capabilities");
	if (role == WIRE_RUN)
		json_out_string(out, NULL, "clientPublish");
	json_out_string(out, NULL, "services");
	json_out_string(out, NULL, "time");
	json_out_string(out, NULL, "connectionGraph");
	if (playback)
		json_out_string(out, NULL, "playbackControl");
	json_out_end(out);
}

void wire_add_server_info(
	struct text *text, const char *session, enum wire_role role, const struct wire_playback *playback)
{
	static const char *const encodings[] = {"json", "cdr"};
	struct json_out out = op_begin(text, "serverInfo");
	json_out_printf(&out, "name", "troupe %s", troupe_version());
	foxglove_wire_add_capabilities(&out, role, playback);
	json_out_strings(&out, "supportedEncodings", encodings, ARRAY_LEN(encodings));
	json_out_object(&out, "metadata");
	json_out_string(&out, "troupe", troupe_version());
	json_out_end(&out);
	json_out_string(&out, "sessionId", session);
	if (playback) {
		foxglove_wire_add_time(&out, "dataStartTime", playback->begin_ns);
		foxglove_wire_add_time(&out, "dataEndTime", playback->end_ns);
	}
	json_out_end(&out);
}

void wire_add_status(struct text *text, enum wire_level level, const char *id, const char *message)
{
	struct json_out out = op_begin(text, "status");
	json_out_int(&out, "level", level);
	json_out_string(&out, "message", message);
	if (id)
		json_out_string(&out, "id", id);
	json_out_end(&out);
}

void wire_add_no_status(struct text *text, const char *id)
{
	struct json_out out = op_begin(text, "removeStatus");
	json_out_strings(&out, "statusIds", &id, 1);
	json_out_end(&out);
}

void wire_add_call_failure(struct text *text, uint32_t service, uint32_t call, const char *message)
{
	struct json_out out = op_begin(text, "serviceCallFailure");
	json_out_uint(&out, "serviceId", service);
	json_out_uint(&out, "callId", call);
	json_out_string(&out, "message", message);
	json_out_end(&out);
}

void wire_add_data_head(struct text *out, uint64_t time_ns)
{
	text_add_bytes(out, "\1\0\0\0\0", 5);
	foxglove_wire_add_u64(out, time_ns);
}

void wire_set_subscription(char *data, uint32_t subscription)
{
	for (size_t i = 0; i < 4; i++)
		data[1 + i] = (char)(subscription >> 8 * i & 0xff);
}

void wire_add_time(struct text *out, uint64_t time_ns)
{
	text_add_bytes(out, "\2", 1);
	foxglove_wire_add_u64(out, time_ns);
}

void wire_add_response_head(struct text *out, uint32_t service, uint32_t call, const char *encoding)
{
	text_add_bytes(out, "\3", 1);
	foxglove_wire_add_u32(out, service);
	foxglove_wire_add_u32(out, call);
	foxglove_wire_add_u32(out, (uint32_t)strlen(encoding));
	text_add_bytes(out, encoding, strlen(encoding));
}

void wire_add_no_asset(struct text *out, uint32_t request, const char *error)
{
	text_add_bytes(out, "\4", 1);
	foxglove_wire_add_u32(out, request);
	text_add_bytes(out, "\1", 1);
	foxglove_wire_add_u32(out, (uint32_t)strlen(error));
	text_add_bytes(out, error, strlen(error));
}

void wire_add_playback_state(struct text *out, const struct wire_playback_state *state)
{
	float speed = (float)state->speed;
	uint32_t speed_bits;
	memcpy(&speed_bits, &speed, sizeof speed_bits);
	text_add_bytes(out, (const char[]){5, (char)state->status}, 2);
	foxglove_wire_add_u64(out, state->time_ns);
	foxglove_wire_add_u32(out, speed_bits);
	text_add_bytes(out, state->did_seek ? "\1" : "\0", 1);
	foxglove_wire_add_u32(out, (uint32_t)state->id_count);
	if (state->id_count)
		text_add_bytes(out, state->id, state->id_count);
}

/* --- from the client ---------------------------------------------------------------------------------------------- */

troupe_status wire_read_request(
	const void *bytes, size_t count, Troupe__Msgs__FoxgloveRequest **ret_request, struct troupe_error *error)
{
	static const struct message_limits limits = {
		.bytes_max = WIRE_REQUEST_MAX, .items_max = 100000, .any_fields = true};
	ProtobufCMessage *message;
	troupe_status status =
		message_of_json(&troupe__msgs__foxglove_request__descriptor, bytes, count, &limits, &message, error);
	if (!status)
		*ret_request = (Troupe__Msgs__FoxgloveRequest *)message;
	return status;
}

static uint32_t foxglove_wire_u32_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint64_t foxglove_wire_u64_at(const unsigned char *bytes)
{
	return foxglove_wire_u32_at(bytes) | (uint64_t)foxglove_wire_u32_at(bytes + 4) << 32;
}

/* Command, speed, whether a time follows, the time, which stands there in any case, and a name with its length. */
static void foxglove_wire_read_playback(const unsigned char *at, size_t count, struct wire_binary *binary)
{
	enum { HEAD = 19 };
	float speed;
	if (count < HEAD || count > HEAD + WIRE_PLAYBACK_ID_MAX || at[1] > 1 ||
		foxglove_wire_u32_at(at + 15) != count - HEAD)
		return;
	uint32_t speed_bits = foxglove_wire_u32_at(at + 2);
	memcpy(&speed, &speed_bits, sizeof speed);
	binary->kind = WIRE_PLAYBACK;
	binary->plays = at[1] == 0;
	binary->speed = (double)speed;
	binary->seeks = at[6];
	binary->time_ns = foxglove_wire_u64_at(at + 7);
	binary->body = (const char *)at + HEAD;
	binary->count = count - HEAD;
}

struct wire_binary wire_read_binary(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	struct wire_binary binary = {.kind = WIRE_BAD};
	if (count >= 5 && at[0] == 1) {
		binary.kind = WIRE_MESSAGE;
		binary.id = foxglove_wire_u32_at(at + 1);
		binary.body = (const char *)at + 5;
		binary.count = count - 5;
	} else if (count >= 13 && at[0] == 2 && foxglove_wire_u32_at(at + 9) <= count - 13) {
		binary.kind = WIRE_CALL;
		binary.id = foxglove_wire_u32_at(at + 1);
		binary.call = foxglove_wire_u32_at(at + 5);
		binary.encoding_count = foxglove_wire_u32_at(at + 9);
		binary.encoding = (const char *)at + 13;
		binary.body = binary.encoding + binary.encoding_count;
		binary.count = count - 13 - binary.encoding_count;
	} else if (count && at[0] == 3) {
		foxglove_wire_read_playback(at, count, &binary);
	}
	return binary;
}
