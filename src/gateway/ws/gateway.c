/* Topics and services as the run names them, for programs that have a WebSocket and nothing else (PROTOCOL.md). Each
 * message is converted at most once for all clients that want it as JSON, and once for those that want protobuf. */
#include "base/base.h"
#include "gateway/hub/convert.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/op.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	WS_PORT = 9002,
	WS_CLIENTS_MAX = 64,
	WS_SUBSCRIPTIONS_MAX = 4096, /* of a client */
	WS_CALLS_MAX = 256,          /* of a client, that wait for replies */
	WS_HEAR_BYTES_MAX = 16 << 20,
	WS_QUEUE_BYTES_MAX = 64 << 20,
};

struct ws {
	struct port port; /* first: see port_stop() */
	struct hub *hub;
};

struct ws_subscriber {
	struct hub_subscriber base; /* its client: struct port_client */
	bool has_any;               /* it has had a message */
	int64_t last_ns;            /* simulated time of the last one */
	bool protobuf;
};

struct ws_client {
	uint32_t subscriptions, calls;
};

static void ws_gateway_error(struct port_client *client, const struct troupe_error *error)
{
	struct text text = {0};
	struct json_out json = op_error(&text, error->text);
	hub_count(&client->port->hub->refused);
	op_say(client, &json);
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

/* Whether the client gets the message: it is the first, its time has come, or the time has jumped back. */
static bool ws_gateway_is_due(struct ws_subscriber *subscriber, int64_t time_ns)
{
	int64_t period_ns = subscriber->base.rate_hz > 0 ? llround(1e9 / subscriber->base.rate_hz) : 0;
	bool due = !subscriber->has_any || time_ns < subscriber->last_ns || time_ns - subscriber->last_ns >= period_ns;
	if (!due)
		return false;
	subscriber->has_any = true;
	subscriber->last_ns = time_ns;
	return true;
}

/* --- from the run ------------------------------------------------------------------------------------------------- */

/* Appends nothing if it fails. */
static troupe_status ws_gateway_add_json(
	const struct troupe_message *message, struct text *out, struct troupe_error *error)
{
	struct text object = {0};
	troupe_status status = convert_to_json(message->type, message->bytes, message->count, &object, error);
	if (!status) {
		struct json_out json = op_message(out, message);
		text_add_bytes(json_out_value(&json, "message"), object.at, object.count);
		json_out_end(&json);
	}
	text_fini(&object);
	return status;
}

static void ws_gateway_add_protobuf(const struct troupe_message *message, struct text *out)
{
	text_add(
		out, "%s %s %" PRIu64 " %" PRIi64 "\n", message->topic, message->type, message->step, message->time_ns);
	text_add_bytes(out, message->bytes ? message->bytes : "", message->count);
}

static void ws_gateway_message(void *ctx, const struct troupe_message *message)
{
	const struct ws *gateway = ctx;
	const struct hub_subscription *subscription = hub_subscription(gateway->hub, message->topic);
	struct text forms[2] = {{0}, {0}};
	struct troupe_error error;
	for (uint32_t i = 0; subscription && i < subscription->subscribers.count; i++) {
		struct ws_subscriber *subscriber = (struct ws_subscriber *)subscription->subscribers.at[i];
		struct text *form = &forms[subscriber->protobuf];
		troupe_status status = TROUPE_OK;
		if (subscriber->base.join <= gateway->hub->had || !ws_gateway_is_due(subscriber, message->time_ns))
			continue;
		if (!form->count && subscriber->protobuf)
			ws_gateway_add_protobuf(message, form);
		else if (!form->count)
			status = ws_gateway_add_json(message, form, &error);
		if (status)
			ws_gateway_error(subscriber->base.client, &error);
		else
			port_publish(subscriber->base.client, subscriber->protobuf, form->at, form->count);
	}
	text_fini(&forms[0]);
	text_fini(&forms[1]);
}

static void ws_gateway_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	struct port_client *to = client;
	uint64_t *id = request;
	struct text text = {0};
	(void)gateway;
	if (to) {
		struct ws_client *own = to->data;
		struct json_out json = op_reply(&text, *id, reply);
		own->calls--;
		op_say(to, &json);
	}
	free(id);
}

static void ws_gateway_refused(void *ctx, const char *topic, const char *why)
{
	const struct ws *gateway = ctx;
	op_tell_refused(&gateway->port, topic, why);
}

static void ws_gateway_end(void *ctx, const char *why, bool failed)
{
	const struct ws *gateway = ctx;
	struct text text = {0};
	struct json_out json = op_begin(&text, "end");
	json_out_bool(&json, "failed", failed);
	json_out_string(&json, "text", why);
	op_tell_all(&gateway->port, &json);
}

static void ws_gateway_tell_lost(struct port_client *client, uint64_t lost)
{
	struct text text = {0};
	struct json_out json = op_begin(&text, "lost");
	json_out_uint(&json, "messages", lost);
	op_say(client, &json);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static void ws_gateway_add_kind(
	const struct ws *gateway, troupe_topic_kind kind, const char *list, struct json_out *out)
{
	json_out_array(out, list);
	for (uint32_t i = 0; i < gateway->hub->mirror.rows.count; i++) {
		const struct mirror_row *row = gateway->hub->mirror.rows.at[i];
		if (row->kind != kind)
			continue;
		json_out_object(out, NULL);
		json_out_string(out, "name", row->name);
		json_out_string(out, "type", row->type);
		if (row->reply_type)
			json_out_string(out, "reply", row->reply_type);
		json_out_end(out);
	}
	json_out_end(out);
}

static struct json_out ws_gateway_topics(const struct ws *gateway, struct text *text)
{
	struct json_out out = op_begin(text, "topics");
	ws_gateway_add_kind(gateway, TROUPE_TOPIC_PUBLISHED, "published", &out);
	ws_gateway_add_kind(gateway, TROUPE_TOPIC_TAKEN, "taken", &out);
	ws_gateway_add_kind(gateway, TROUPE_TOPIC_SERVICE, "services", &out);
	return out;
}

static void ws_gateway_topics_changed(void *ctx, const struct troupe_topics *topics)
{
	const struct ws *gateway = ctx;
	struct text text = {0};
	(void)topics;
	if (!gateway->port.clients)
		return;
	struct json_out json = ws_gateway_topics(gateway, &text);
	op_tell_all(&gateway->port, &json);
}

/* --- operations of clients ---------------------------------------------------------------------------------------- */

static troupe_status ws_gateway_text(
	const json_t *json, const char *name, const char **ret_text, struct troupe_error *error)
{
	*ret_text = json_string_value(json_object_get(json, name));
	return *ret_text && **ret_text ? TROUPE_OK : fail(error, TROUPE_ECOMMAND, "\"%s\": expected a name", name);
}

static void ws_gateway_unsubscribe(struct port_client *client, const char *topic, struct hub_subscriber *subscriber)
{
	const struct ws *gateway = client->gateway;
	struct ws_client *own = client->data;
	hub_leave(gateway->hub, topic, subscriber);
	own->subscriptions--;
	free(subscriber);
}

static troupe_status ws_gateway_obey_subscribe(
	struct port_client *client, const json_t *json, struct troupe_error *error)
{
	struct ws *gateway = client->gateway;
	struct ws_client *own = client->data;
	double rate_hz;
	const char *topic, *format = json_string_value(json_object_get(json, "format"));
	troupe_status status = ws_gateway_text(json, "topic", &topic, error);
	if (!status)
		status = op_get_rate(json, &rate_hz, error);
	if (status)
		return status;
	if (format && strcmp(format, "json") && strcmp(format, "protobuf"))
		return fail(error, TROUPE_ECOMMAND, "\"format\": '%.40s': expected \"json\" or \"protobuf\"", format);
	struct hub_subscriber *former = hub_subscriber(gateway->hub, topic, client);
	if (!former && own->subscriptions == WS_SUBSCRIPTIONS_MAX)
		return fail(error, TROUPE_ELIMIT, "subscribe: expected at most %d topics", (int)WS_SUBSCRIPTIONS_MAX);
	if (former)
		ws_gateway_unsubscribe(client, topic, former);
	struct ws_subscriber *subscriber = mem_alloc(sizeof *subscriber);
	subscriber->base = (struct hub_subscriber){.client = client, .rate_hz = rate_hz};
	subscriber->protobuf = format && !strcmp(format, "protobuf");
	status = hub_subscribe(gateway->hub, topic, &subscriber->base, error);
	if (status)
		free(subscriber);
	else
		own->subscriptions++;
	return status;
}

static troupe_status ws_gateway_obey_unsubscribe(
	struct port_client *client, const json_t *json, struct troupe_error *error)
{
	const char *topic;
	troupe_status status = ws_gateway_text(json, "topic", &topic, error);
	if (status)
		return status;
	const struct ws *gateway = client->gateway;
	struct hub_subscriber *subscriber = hub_subscriber(gateway->hub, topic, client);
	if (!subscriber)
		return fail(error, TROUPE_ECOMMAND, "unsubscribe: '%.150s' is not subscribed to", topic);
	ws_gateway_unsubscribe(client, topic, subscriber);
	return TROUPE_OK;
}

/* The row of a topic that is taken, or of a service. */
static troupe_status ws_gateway_find_row(struct port_client *client, const json_t *json, troupe_topic_kind kind,
	const struct mirror_row **ret_row, struct troupe_error *error)
{
	const char *member = kind == TROUPE_TOPIC_SERVICE ? "service" : "topic", *name;
	struct ws *gateway = client->gateway;
	troupe_status status = ws_gateway_text(json, member, &name, error);
	if (status)
		return status;
	hub_look(gateway->hub);
	*ret_row = mirror_find(&gateway->hub->mirror, kind, name);
	return *ret_row ? TROUPE_OK
			: fail(error, TROUPE_ECOMMAND, "%s '%.150s': there is none that takes messages", member, name);
}

static troupe_status ws_gateway_obey_publish(struct port_client *client, const json_t *json, struct troupe_error *error)
{
	const struct ws *gateway = client->gateway;
	const struct mirror_row *row;
	struct text bytes = {0};
	troupe_status status = ws_gateway_find_row(client, json, TROUPE_TOPIC_TAKEN, &row, error);
	if (!status)
		status = op_get_message(json, "message", row->type, &bytes, error);
	if (!status)
		status = hub_publish(gateway->hub, row->name, row->type, bytes.at, bytes.count, error);
	text_fini(&bytes);
	return status;
}

static troupe_status ws_gateway_call(
	struct port_client *client, const json_t *json, uint64_t number, struct troupe_error *error)
{
	struct ws *gateway = client->gateway;
	struct ws_client *own = client->data;
	const struct mirror_row *row;
	struct text bytes = {0};
	troupe_status status = ws_gateway_find_row(client, json, TROUPE_TOPIC_SERVICE, &row, error);
	if (!status && own->calls == WS_CALLS_MAX)
		status = fail(error, TROUPE_ELIMIT, "%d calls wait: expected no more", (int)WS_CALLS_MAX);
	if (!status)
		status = op_get_message(json, "request", row->type, &bytes, error);
	if (status) {
		text_fini(&bytes);
		return status;
	}
	uint64_t *id = mem_alloc(sizeof *id);
	*id = number;
	own->calls++; /* the reply may come at once */
	const struct hub_caller caller = {client, client->connection, id};
	status = hub_call(gateway->hub, &caller, row->name, row->type, bytes.at, bytes.count, error);
	text_fini(&bytes);
	if (status) {
		own->calls--;
		free(id);
	}
	return status;
}

/* A call with a number is answered in every case. */
static troupe_status ws_gateway_obey_call(struct port_client *client, const json_t *json, struct troupe_error *error)
{
	struct ws_client *own = client->data;
	uint64_t number;
	struct troupe_error why;
	troupe_status status = op_get_id(json, &number, error);
	if (status)
		return status;
	status = ws_gateway_call(client, json, number, &why);
	if (!status)
		return TROUPE_OK;
	uint64_t *request = mem_alloc(sizeof *request);
	*request = number;
	own->calls++;
	hub_count(&client->port->hub->refused);
	ws_gateway_reply(client->gateway, client, request, &(struct hub_reply){.status = status, .why = why.text});
	return TROUPE_OK;
}

static troupe_status ws_gateway_obey_topics(struct port_client *client, const json_t *json, struct troupe_error *error)
{
	const struct ws *gateway = client->gateway;
	struct text text = {0};
	(void)json, (void)error;
	hub_look(gateway->hub);
	struct json_out out = ws_gateway_topics(gateway, &text);
	op_say(client, &out);
	return TROUPE_OK;
}

static troupe_status ws_gateway_obey(struct port_client *client, const json_t *json, struct troupe_error *error)
{
	static const struct {
		const char *op;
		troupe_status (*obey)(struct port_client *client, const json_t *json, struct troupe_error *error);
	} ops[] = {{"topics", ws_gateway_obey_topics}, {"subscribe", ws_gateway_obey_subscribe},
		{"unsubscribe", ws_gateway_obey_unsubscribe}, {"publish", ws_gateway_obey_publish},
		{"call", ws_gateway_obey_call}};
	const char *op = json_string_value(json_object_get(json, "op"));
	for (size_t i = 0; op && i < ARRAY_LEN(ops); i++)
		if (!strcmp(op, ops[i].op))
			return ops[i].obey(client, json, error);
	return fail(error, TROUPE_ECOMMAND, "\"op\": '%.40s': expected topics, subscribe, unsubscribe, publish or call",
		op ? op : "");
}

/* A message in binary form: the name of a topic, a line feed, and protobuf's bytes. */
static troupe_status ws_gateway_hear_binary(
	struct port_client *client, const char *bytes, size_t count, struct troupe_error *error)
{
	const struct ws *gateway = client->gateway;
	const char *end = count ? memchr(bytes, '\n', count) : NULL;
	if (!end)
		return fail(error, TROUPE_ECOMMAND, "binary message: expected the name of a topic in its first line");
	char *topic = mem_printf("%.*s", (int)MIN(end - bytes, 4096), bytes);
	size_t head = (size_t)(end + 1 - bytes);
	troupe_status status = hub_publish(gateway->hub, topic, NULL, end + 1, count - head, error);
	free(topic);
	return status;
}

static void ws_gateway_hear(struct port_client *client, bool binary, const void *bytes, size_t count)
{
	const struct ws *gateway = client->gateway;
	struct troupe_error error;
	json_error_t where;
	json_t *json = binary ? NULL : json_loadb(count ? bytes : "", count, 0, &where);
	troupe_status status = binary ? ws_gateway_hear_binary(client, bytes, count, &error)
			       : json ? ws_gateway_obey(client, json, &error)
				      : fail(&error, TROUPE_ECOMMAND, "line %d, column %d: %.200s", where.line,
						where.column, where.text);
	json_decref(json);
	if (status)
		ws_gateway_error(client, &error);
	else
		hub_count(&gateway->hub->taken);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void *ws_gateway_open(void *gateway, struct port_client *client)
{
	struct text text = {0};
	struct json_out json = ws_gateway_topics(gateway, &text);
	op_say(client, &json);
	return mem_alloc(sizeof(struct ws_client));
}

static void ws_gateway_close(struct port_client *client)
{
	const struct ws *gateway = client->gateway;
	hub_leave_all(gateway->hub, client);
	free(client->data);
}

static void ws_gateway_turn(void *gateway, bool more)
{
	(void)gateway, (void)more;
}

static const struct port_protocol ws_gateway_protocol = {
	.names = (const char *const[]){"troupe.ws.v1", NULL},
	.unnamed = true,
	.local_pages = true,
	.scheme = "ws",
	.port = WS_PORT,
	.clients_max = WS_CLIENTS_MAX,
	.hear_bytes_max = WS_HEAR_BYTES_MAX,
	.queue_bytes_max = WS_QUEUE_BYTES_MAX,
	.slow_code = 1008,
	.slow_text = "the client does not read",
	.open = ws_gateway_open,
	.hear = ws_gateway_hear,
	.close = ws_gateway_close,
	.turn = ws_gateway_turn,
	.tell_lost = ws_gateway_tell_lost,
};

static troupe_status ws_gateway_start(struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	struct ws *gateway = hub->gateway = mem_alloc(sizeof *gateway);
	gateway->hub = hub;
	troupe_status status = hub_open(hub, def,
		&(struct hub_options){
			.wake = port_wake, .ctx = &gateway->port, .for_clients = true, .barrier_clients = true},
		error);
	return status ? status : port_start(&gateway->port, hub, &ws_gateway_protocol, def, error);
}

static void ws_gateway_destroy(void *ctx)
{
	struct ws *gateway = ctx;
	port_end(&gateway->port);
	free(gateway);
}

const struct hub_kind kind_ws = {
	.about = {.name = "ws", .title = "WebSocket", .has_token = true, .can_be_joined = true},
	.settings = (const char *const[]){"token", "require-token", "insecure", "cert", "key", "origin", NULL},
	.is_available = web_is_available,
	.start = ws_gateway_start,
	.topic_came = hub_ignore_row,
	.topic_gone = hub_ignore_row,
	.topics_changed = ws_gateway_topics_changed,
	.message = ws_gateway_message,
	.reply = ws_gateway_reply,
	.refused = ws_gateway_refused,
	.moved = hub_ignore_moved,
	.end = ws_gateway_end,
	.stop = port_stop,
	.destroy = ws_gateway_destroy,
	.describe = port_describe,
	.count = hub_ignore_count,
};
