/* Names of topics come from worlds, and are hostile: base/json_out escapes all of them. */
#include "gateway/hub/op.h"

#include "gateway/hub/convert.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define OP_RATE_HZ_MAX 1e6
enum { OP_ID_BITS = 53 }; /* as in JavaScript */

struct json_out op_begin(struct text *text, const char *op)
{
	struct json_out out = {.text = text};
	json_out_object(&out, NULL);
	json_out_string(&out, "op", op);
	return out;
}

void op_say(struct port_client *client, struct json_out *out)
{
	json_out_end(out);
	port_say_text(client, out->text);
	text_fini(out->text);
}

void op_tell_all(const struct port *port, struct json_out *out)
{
	json_out_end(out);
	port_tell_all(port, out->text);
	text_fini(out->text);
}

/* --- troupe's own protocols --------------------------------------------------------------------------------------- */

struct json_out op_error(struct text *text, const char *why)
{
	struct json_out out = op_begin(text, "error");
	json_out_string(&out, "text", why);
	return out;
}

void op_tell_refused(const struct port *port, const char *topic, const char *why)
{
	struct text line = {0}, text = {0};
	text_add(&line, "topic '%.150s': %s", topic, why);
	struct json_out out = op_error(&text, line.at);
	op_tell_all(port, &out);
	text_fini(&line);
}

struct json_out op_reply(struct text *text, uint64_t id, const struct hub_reply *reply)
{
	struct json_out out = op_begin(text, "reply");
	struct text message = {0};
	json_out_uint(&out, "id", id);
	json_out_bool(&out, "ok", !reply->status);
	json_out_uint(&out, "step", reply->step);
	json_out_string(&out, "text", reply->why ? reply->why : "");
	if (reply->type) {
		json_out_string(&out, "type", reply->type);
		if (!convert_to_json(reply->type, reply->bytes, reply->count, &message, NULL))
			text_add_bytes(json_out_value(&out, "reply"), message.at, message.count);
	}
	text_fini(&message);
	return out;
}

struct json_out op_message(struct text *text, const struct troupe_message *message)
{
	struct json_out out = op_begin(text, "message");
	json_out_string(&out, "topic", message->topic);
	json_out_string(&out, "type", message->type);
	json_out_uint(&out, "step", message->step);
	json_out_double(&out, "time", (double)message->time_ns * 1e-9);
	return out;
}

troupe_status op_get_rate(const struct json_t *request, double *ret_hz, struct troupe_error *error)
{
	const json_t *member = json_object_get(request, "rate");
	double hz = json_number_value(member);
	if (member && (!json_is_number(member) || !(hz >= 0 && hz <= OP_RATE_HZ_MAX)))
		return fail(error, TROUPE_ECOMMAND, "\"rate\": expected a number from 0 to %g", OP_RATE_HZ_MAX);
	*ret_hz = hz;
	return TROUPE_OK;
}

troupe_status op_get_id(const struct json_t *request, uint64_t *ret_id, struct troupe_error *error)
{
	const json_t *member = json_object_get(request, "id");
	json_int_t id = json_integer_value(member);
	if (!json_is_integer(member) || id < 0 || id > INT64_C(1) << OP_ID_BITS)
		return fail(error, TROUPE_ECOMMAND, "\"id\": expected a whole number from 0 to 2^%d", (int)OP_ID_BITS);
	*ret_id = (uint64_t)id;
	return TROUPE_OK;
}

troupe_status op_get_message(const struct json_t *request, const char *member, const char *type, struct text *ret_bytes,
	struct troupe_error *error)
{
	const json_t *object = json_object_get(request, member);
	struct troupe_error why;
	if (object && !json_is_object(object))
		return fail(error, TROUPE_ECOMMAND, "\"%s\": expected an object", member);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	troupe_status status = convert_from_json(type, text, text ? strlen(text) : 0, ret_bytes, &why);
	free(text);
	return status ? fail(error, status, "\"%s\": %s", member, why.text) : TROUPE_OK;
}
