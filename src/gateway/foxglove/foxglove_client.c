/* An operation that cannot be done costs the client a status with the reason, and nothing else: the viewer shows it,
 * and goes on with what can be done. Requests of services are answered by their own failure. */
#include "gateway/foxglove/foxglove_client.h"

#include "gateway/hub/convert.h"
#include "gateway/hub/op.h"
#include "topic/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 256 << 10 };

void foxglove_client_complain(
	struct foxglove_client *client, enum wire_level level, const char *id, const char *format, ...)
{
	struct troupe_error line;
	struct text json = {0};
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	wire_add_status(&json, level, id, line.text);
	port_say_text(client->base, &json);
	text_fini(&json);
}

static void foxglove_client_refuse(struct foxglove_client *client, const char *what, const char *why)
{
	hub_count(&client->gateway->hub->refused);
	foxglove_client_complain(client, WIRE_ERROR, NULL, "%s: %s", what, why);
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

static struct hub_subscriber *foxglove_client_find_subscription(
	const struct foxglove_client *client, uint32_t id, const char **ret_channel)
{
	const struct subscriber_list *channels = &client->gateway->channels;
	struct hub_subscriber *found = NULL;
	for (uint32_t i = 0; i < channels->rows.count && !found; i++) {
		*ret_channel = channels->rows.at[i]->topic;
		found = subscriber_list_of_client(channels->rows.at[i], client, id);
	}
	return found;
}

static void foxglove_client_drop_subscription(void *ctx, const char *channel, struct hub_subscriber *subscriber)
{
	struct foxglove *gateway = ctx;
	struct foxglove_client *client = subscriber->client;
	struct hub_subscription *row = subscriber_list_find(&gateway->channels, channel);
	client->subscriptions--;
	(void)subscriber_list_remove(row, subscriber);
	free(subscriber);
	foxglove_listen(gateway, channel, false);
	if (!row->subscribers.count)
		subscriber_list_close(&gateway->channels, row);
}

static void foxglove_client_unsubscribe(struct foxglove_client *client, uint32_t id)
{
	const char *channel;
	struct hub_subscriber *subscriber = foxglove_client_find_subscription(client, id, &channel);
	if (subscriber)
		foxglove_client_drop_subscription(client->gateway, channel, subscriber);
	else
		foxglove_client_complain(client, WIRE_WARNING, NULL, "unsubscribe: there is no subscription %u", id);
}

static void foxglove_client_subscribe(struct foxglove_client *client, uint32_t id, uint32_t channel)
{
	struct offer *offer = table_of_id(&client->gateway->hub->mirror, TROUPE_TOPIC_PUBLISHED, channel);
	if (!offer) { /* the channel may have gone in the meantime */
		foxglove_client_complain(client, WIRE_WARNING, NULL, "subscribe: there is no channel %u", channel);
		return;
	}
	if (client->subscriptions == FOXGLOVE_CLIENT_SUBSCRIPTIONS_MAX ||
		foxglove_client_find_subscription(client, id, &(const char *){NULL})) {
		foxglove_client_refuse(
			client, "subscribe", "the number of the subscription is in use, or there are too many");
		return;
	}
	struct hub_subscriber *subscriber = mem_alloc(sizeof *subscriber);
	*subscriber = (struct hub_subscriber){.client = client, .id = id, .join = hub_join(client->gateway->hub)};
	client->subscriptions++;
	vec_push(&subscriber_list_open(&client->gateway->channels, offer->row->name)->subscribers, subscriber);
	foxglove_listen(client->gateway, offer->row->name, true);
}

/* --- what the client publishes ------------------------------------------------------------------------------------ */

static struct client_channel *foxglove_client_find_client_channel(struct foxglove_client *client, uint32_t id)
{
	for (uint32_t i = 0; i < client->client_channels.count; i++)
		if (client->client_channels.at[i].id == id)
			return &client->client_channels.at[i];
	return NULL;
}

/* The name of the status of a channel. The status goes with the channel, or when its topic is taken. */
static void foxglove_client_name_status(const struct client_channel *client_channel, char ret_name[32])
{
	(void)snprintf(ret_name, 32, "channel %u", client_channel->id);
}

/* Foxglove Studio 1 takes the operation for an error: its problems stay. */
static void foxglove_client_take_back(struct foxglove_client *client, struct client_channel *client_channel)
{
	char name[32];
	struct text json = {0};
	if (!client_channel->told)
		return;
	client_channel->told = false;
	if (!client->is_sdk)
		return;
	foxglove_client_name_status(client_channel, name);
	wire_add_no_status(&json, name);
	port_say_text(client->base, &json);
	text_fini(&json);
}

/* The offer that takes the messages of a channel; NULL: none, and the client is told the reason once. A topic
 * from which the run takes nothing is no error: the 3D panel of Foxglove always advertises three topics. */
static const struct offer *foxglove_client_taker_of(
	struct foxglove_client *client, struct client_channel *client_channel)
{
	const struct offer *offer =
		table_find(&client->gateway->hub->mirror, TROUPE_TOPIC_TAKEN, client_channel->topic);
	char name[32];
	if (offer && (!client_channel->is_cdr || (offer->ros && ros_is_taken(offer->ros))))
		return offer;
	foxglove_client_name_status(client_channel, name);
	if (!client_channel->told && offer)
		foxglove_client_complain(client, WIRE_ERROR, name,
			"topic '%.200s': %s cannot be taken as cdr: expected json", client_channel->topic,
			offer->row->type);
	else if (!client_channel->told)
		foxglove_client_complain(client, WIRE_WARNING, name,
			"topic '%.200s': the run takes no messages from it", client_channel->topic);
	client_channel->told = true;
	return NULL;
}

void foxglove_client_look(struct foxglove_client *client)
{
	for (uint32_t i = 0; i < client->client_channels.count; i++)
		if (client->client_channels.at[i].told &&
			foxglove_client_taker_of(client, &client->client_channels.at[i]))
			foxglove_client_take_back(client, &client->client_channels.at[i]);
}

static void foxglove_client_add_client_channel(
	struct foxglove_client *client, const Troupe__Msgs__FoxgloveChannel *channel, bool is_cdr)
{
	struct client_channel client_channel = {
		.id = channel->id, .topic = mem_strdup(channel->topic), .is_cdr = is_cdr};
	(void)foxglove_client_taker_of(client, &client_channel);
	vec_push(&client->client_channels, client_channel);
}

static void foxglove_client_advertise(struct foxglove_client *client, const Troupe__Msgs__FoxgloveChannel *channel)
{
	bool is_cdr = !strcmp(channel->encoding, "cdr");
	if (client->client_channels.count == FOXGLOVE_CLIENT_CHANNELS_MAX ||
		foxglove_client_find_client_channel(client, channel->id))
		foxglove_client_refuse(
			client, "advertise", "the number of the channel is in use, or there are too many");
	else if (strlen(channel->topic) > FOXGLOVE_CLIENT_TOPIC_MAX)
		foxglove_client_complain(client, WIRE_ERROR, NULL,
			"topic '%.80s...': expected a name of at most %d bytes", channel->topic,
			FOXGLOVE_CLIENT_TOPIC_MAX);
	else if (!is_cdr && strcmp(channel->encoding, "json") != 0)
		foxglove_client_complain(client, WIRE_ERROR, NULL,
			"topic '%.200s': encoding '%.40s': expected json or cdr", channel->topic, channel->encoding);
	else
		foxglove_client_add_client_channel(client, channel, is_cdr);
}

static void foxglove_client_unadvertise(struct foxglove_client *client, uint32_t id)
{
	struct client_channel *client_channel = foxglove_client_find_client_channel(client, id);
	if (!client_channel)
		return;
	foxglove_client_take_back(client, client_channel);
	free(client_channel->topic);
	*client_channel = client->client_channels.at[--client->client_channels.count];
}

static void foxglove_client_take_message(struct foxglove_client *client, const struct wire_binary *binary)
{
	struct foxglove *gateway = client->gateway;
	struct client_channel *client_channel = foxglove_client_find_client_channel(client, binary->id);
	const struct offer *offer = client_channel ? foxglove_client_taker_of(client, client_channel) : NULL;
	struct text bytes = {0};
	struct troupe_error error;
	if (!client_channel)
		foxglove_client_refuse(client, "message", "its channel is not advertised");
	else if (!offer)
		hub_count(&gateway->hub->refused);
	if (!offer)
		return;
	const struct mirror_row *row = offer->row;
	text_add(&bytes, "%s", "");
	troupe_status status = client_channel->is_cdr
				       ? ros_to_bytes(offer->ros, binary->body, binary->count, &bytes, &error)
				       : convert_from_json(row->type, binary->body, binary->count, &bytes, &error);
	if (!status)
		status = hub_publish(gateway->hub, row->name, row->type, bytes.at, bytes.count, &error);
	if (status)
		foxglove_client_refuse(client, row->name, error.text);
	else
		hub_count(&gateway->hub->taken);
	text_fini(&bytes);
}

void foxglove_client_tell_refusal(struct foxglove_client *client, const char *topic, const char *why)
{
	for (uint32_t i = 0; i < client->client_channels.count; i++)
		if (!strcmp(client->client_channels.at[i].topic, topic)) {
			foxglove_client_refuse(client, topic, why);
			return;
		}
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static void foxglove_client_fail_call(struct foxglove_client *client, const struct wire_binary *binary, const char *why)
{
	struct text json = {0};
	hub_count(&client->gateway->hub->refused);
	wire_add_call_failure(&json, binary->id, binary->call, why);
	port_say_text(client->base, &json);
	text_fini(&json);
}

static void foxglove_client_take_call(struct foxglove_client *client, const struct wire_binary *binary)
{
	struct foxglove *gateway = client->gateway;
	const struct offer *offer = table_of_id(&gateway->hub->mirror, TROUPE_TOPIC_SERVICE, binary->id);
	struct text bytes = {0};
	struct troupe_error error;
	if (!offer) {
		foxglove_client_fail_call(client, binary, "there is no such service");
		return;
	}
	if (binary->encoding_count != 4 || memcmp(binary->encoding, "json", 4) != 0) {
		foxglove_client_fail_call(client, binary, "encoding of the request: expected json");
		return;
	}
	struct foxglove_client_call *call = mem_alloc(sizeof *call);
	*call = (struct foxglove_client_call){binary->id, binary->call};
	const struct hub_caller caller = {client->base, client->base->connection, call};
	const struct mirror_row *row = offer->row;
	troupe_status status = convert_from_json(row->type, binary->body, binary->count, &bytes, &error);
	if (!status)
		status = hub_call(gateway->hub, &caller, row->name, row->type, bytes.at, bytes.count, &error);
	text_fini(&bytes);
	if (status) {
		free(call);
		foxglove_client_fail_call(client, binary, error.text);
		return;
	}
	hub_count(&gateway->hub->taken);
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static void foxglove_client_refuse_asset(struct foxglove_client *client, uint32_t request)
{
	struct text bytes = {0};
	wire_add_no_asset(&bytes, request, "troupe serves no assets");
	outbox_put(&client->base->outbox, true, bytes.at, bytes.count);
	text_fini(&bytes);
}

static bool foxglove_client_is_about_parameters(const char *op)
{
	static const char *const ops[] = {
		"getParameters", "setParameters", "subscribeParameterUpdates", "unsubscribeParameterUpdates"};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (!strcmp(op, ops[i]))
			return true;
	return false;
}

static void foxglove_client_obey(struct foxglove_client *client, const Troupe__Msgs__FoxgloveRequest *request)
{
	const char *op = request->op;
	if (!strcmp(op, "subscribe")) {
		for (size_t i = 0; i < request->n_subscriptions; i++)
			foxglove_client_subscribe(
				client, request->subscriptions[i]->id, request->subscriptions[i]->channel_id);
	} else if (!strcmp(op, "unsubscribe")) {
		for (size_t i = 0; i < request->n_subscription_ids; i++)
			foxglove_client_unsubscribe(client, request->subscription_ids[i]);
	} else if (!strcmp(op, "advertise")) {
		for (size_t i = 0; i < request->n_channels; i++)
			foxglove_client_advertise(client, request->channels[i]);
	} else if (!strcmp(op, "unadvertise")) {
		for (size_t i = 0; i < request->n_channel_ids; i++)
			foxglove_client_unadvertise(client, request->channel_ids[i]);
	} else if (!strcmp(op, "subscribeConnectionGraph")) {
		client->wants_graph = true;
		foxglove_client_tell_graph(client, NULL);
	} else if (!strcmp(op, "unsubscribeConnectionGraph")) {
		client->wants_graph = false;
	} else if (!strcmp(op, "fetchAsset")) {
		foxglove_client_refuse_asset(client, request->request_id);
	} else if (foxglove_client_is_about_parameters(op)) {
		foxglove_client_complain(client, WIRE_WARNING, "parameters", "troupe has no parameters");
	} else {
		foxglove_client_refuse(client, op, "there is no such operation");
	}
}

void foxglove_client_hear(struct port_client *base, bool binary, const void *bytes, size_t count)
{
	struct foxglove_client *client = base->data;
	struct troupe_error error;
	Troupe__Msgs__FoxgloveRequest *request;
	if (binary) {
		struct wire_binary frame = wire_read_binary(bytes, count);
		if (frame.kind == WIRE_MESSAGE)
			foxglove_client_take_message(client, &frame);
		else if (frame.kind == WIRE_CALL)
			foxglove_client_take_call(client, &frame);
		else if (frame.kind == WIRE_PLAYBACK && client->has_controls)
			playback_obey(client->gateway->playback, client, &frame);
		else
			foxglove_client_refuse(client, "binary message",
				client->has_controls ? "expected a message (1), a call of a service (2) or a request "
						       "of the playback control (3)"
						     : "expected a message (1) or a call of a service (2)");
	} else if (wire_read_request(count ? bytes : "", count, &request, &error)) {
		foxglove_client_refuse(client, "text message", error.text);
	} else {
		foxglove_client_obey(client, request);
		message_free(&request->base);
	}
}

/* --- news --------------------------------------------------------------------------------------------------------- */

void foxglove_client_tell_graph(struct foxglove_client *client, const char *gone)
{
	struct text json = {0};
	if (!client->wants_graph)
		return;
	struct json_out out = op_begin(&json, "connectionGraphUpdate");
	table_add_graph(&client->gateway->hub->mirror, &json);
	text_add(&json, "%s", gone ? gone : ",\"removedTopics\":[],\"removedServices\":[]");
	op_say(client->base, &out);
}

void foxglove_client_tell_lost(struct port_client *base, uint64_t lost)
{
	foxglove_client_complain(base->data, WIRE_WARNING, "lost",
		"%llu messages were lost so far: this client, or its connection, is too slow",
		(unsigned long long)lost);
}

/* Some operations of many items each: one with all of a large table would be too long. */
static void foxglove_client_tell_all(struct foxglove_client *client, troupe_topic_kind kind, const char *op,
	const char *list, void (*add)(const struct offer *offer, struct text *out))
{
	const struct mirror *mirror = &client->gateway->hub->mirror;
	struct text json = {0};
	for (uint32_t i = 0; i <= mirror->rows.count; i++) {
		bool at_end = i == mirror->rows.count;
		if (json.count && (at_end || json.count > BATCH_BYTES)) {
			text_add(&json, "]}");
			port_say_text(client->base, &json);
			json.count = 0;
		}
		if (at_end || mirror->rows.at[i]->kind != kind)
			continue;
		if (!json.count)
			text_add(&json, "{\"op\":\"%s\",\"%s\":[", op, list);
		else
			text_add(&json, ",");
		add(mirror->rows.at[i]->data, &json);
	}
	text_fini(&json);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void foxglove_client_greet(struct foxglove_client *client)
{
	const struct foxglove *gateway = client->gateway;
	struct wire_playback range = {0};
	struct text json = {0};
	if (gateway->playback)
		playback_range(gateway->playback, &range);
	wire_add_server_info(&json, gateway->session, gateway->playback ? WIRE_RECORDING : WIRE_RUN,
		client->has_controls ? &range : NULL);
	port_say_text(client->base, &json);
	text_fini(&json);
}

void *foxglove_client_open(void *ctx, struct port_client *base)
{
	struct foxglove *gateway = ctx;
	struct foxglove_client *client = base->data = mem_alloc(sizeof *client);
	*client = (struct foxglove_client){.gateway = gateway, .base = base};
	gateway->time_told_ns = 0; /* the new one is told, too */
	client->is_sdk = !strcmp(web_peer_protocol(base->peer), "foxglove.sdk.v1");
	client->has_controls = gateway->playback && client->is_sdk;
	foxglove_client_greet(client);
	foxglove_client_tell_all(client, TROUPE_TOPIC_PUBLISHED, "advertise", "channels", table_add_channel);
	foxglove_client_tell_all(client, TROUPE_TOPIC_SERVICE, "advertiseServices", "services", table_add_service);
	if (gateway->playback)
		playback_welcome(gateway->playback, client);
	return client;
}

void foxglove_client_close(struct port_client *base)
{
	struct foxglove_client *client = base->data;
	subscriber_list_drop_client(
		&client->gateway->channels, client, foxglove_client_drop_subscription, client->gateway);
	while (client->client_channels.count)
		free(client->client_channels.at[--client->client_channels.count].topic);
	vec_free(&client->client_channels);
	free(client);
}
