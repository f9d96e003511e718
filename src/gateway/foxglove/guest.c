/* An operation that cannot be done costs the client a status with the reason, and nothing else: the viewer shows it,
 * and goes on with what can be done. Requests of services are answered by their own failure. */
#include "gateway/foxglove/guest.h"

#include "gateway/hub/convert.h"
#include "topic/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 256 << 10 };

void guest_complain(struct guest *guest, enum wire_level level, const char *id, const char *format, ...)
{
	struct troupe_error line;
	struct text json = {0};
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	wire_add_status(&json, level, id, line.text);
	port_say_text(guest->client, &json);
	text_fini(&json);
}

static void guest_refuse(struct guest *guest, const char *what, const char *why)
{
	atomic_fetch_add_explicit(&guest->gateway->hub->refused, 1, memory_order_relaxed);
	guest_complain(guest, WIRE_ERROR, NULL, "%s: %s", what, why);
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

static void guest_drop_hearer(struct guest *guest, uint32_t channel, uint32_t id)
{
	struct offer *offer = table_of_id(&guest->gateway->hub->mirror, TROUPE_TOPIC_PUBLISHED, channel);
	if (!offer)
		return;
	for (uint32_t i = 0; i < offer->hearers.count; i++)
		if (offer->hearers.at[i].guest == guest && offer->hearers.at[i].id == id) {
			offer->hearers.at[i] = offer->hearers.at[--offer->hearers.count];
			foxglove_listen(guest->gateway, offer, false);
			return;
		}
}

static void guest_unsubscribe(struct guest *guest, uint32_t id)
{
	for (uint32_t i = 0; i < guest->subscriptions.count; i++)
		if (guest->subscriptions.at[i].id == id) {
			guest_drop_hearer(guest, guest->subscriptions.at[i].channel, id);
			guest->subscriptions.at[i] = guest->subscriptions.at[--guest->subscriptions.count];
			return;
		}
	guest_complain(guest, WIRE_WARNING, NULL, "unsubscribe: there is no subscription %u", id);
}

static bool guest_has_subscription(const struct guest *guest, uint32_t id)
{
	for (uint32_t i = 0; i < guest->subscriptions.count; i++)
		if (guest->subscriptions.at[i].id == id)
			return true;
	return false;
}

static void guest_subscribe(struct guest *guest, uint32_t id, uint32_t channel)
{
	struct offer *offer = table_of_id(&guest->gateway->hub->mirror, TROUPE_TOPIC_PUBLISHED, channel);
	if (!offer) { /* the channel may have gone in the meantime */
		guest_complain(guest, WIRE_WARNING, NULL, "subscribe: there is no channel %u", channel);
		return;
	}
	if (guest_has_subscription(guest, id) || guest->subscriptions.count == GUEST_SUBSCRIPTIONS_MAX) {
		guest_refuse(guest, "subscribe", "the number of the subscription is in use, or there are too many");
		return;
	}
	vec_push(&guest->subscriptions, (struct subscription){id, channel});
	vec_push(&offer->hearers, (struct hearer){guest, id, hub_join(guest->gateway->hub)});
	foxglove_listen(guest->gateway, offer, true);
}

/* --- what the client publishes ------------------------------------------------------------------------------------ */

static struct client_channel *guest_find_client_channel(struct guest *guest, uint32_t id)
{
	for (uint32_t i = 0; i < guest->client_channels.count; i++)
		if (guest->client_channels.at[i].id == id)
			return &guest->client_channels.at[i];
	return NULL;
}

/* The name of the status of a channel. The status goes with the channel, or when its topic is taken. */
static void guest_name_status(const struct client_channel *client_channel, char ret_name[32])
{
	(void)snprintf(ret_name, 32, "channel %u", client_channel->id);
}

/* Foxglove Studio 1 takes the operation for an error: its problems stay. */
static void guest_take_back(struct guest *guest, struct client_channel *client_channel)
{
	char name[32];
	struct text json = {0};
	if (!client_channel->told)
		return;
	client_channel->told = false;
	if (!guest->is_sdk)
		return;
	guest_name_status(client_channel, name);
	wire_add_no_status(&json, name);
	port_say_text(guest->client, &json);
	text_fini(&json);
}

/* The offer that takes the messages of a channel; NULL: none, and the client is told the reason once. A topic
 * from which the run takes nothing is no error: the 3D panel of Foxglove always advertises three topics. */
static const struct offer *guest_taker_of(struct guest *guest, struct client_channel *client_channel)
{
	const struct offer *offer = table_find(&guest->gateway->hub->mirror, TROUPE_TOPIC_TAKEN, client_channel->topic);
	char name[32];
	if (offer && (!client_channel->is_cdr || (offer->ros && ros_is_taken(offer->ros))))
		return offer;
	guest_name_status(client_channel, name);
	if (!client_channel->told && offer)
		guest_complain(guest, WIRE_ERROR, name, "topic '%.200s': %s cannot be taken as cdr: expected json",
			client_channel->topic, offer->row->type);
	else if (!client_channel->told)
		guest_complain(guest, WIRE_WARNING, name, "topic '%.200s': the run takes no messages from it",
			client_channel->topic);
	client_channel->told = true;
	return NULL;
}

void guest_look(struct guest *guest)
{
	for (uint32_t i = 0; i < guest->client_channels.count; i++)
		if (guest->client_channels.at[i].told && guest_taker_of(guest, &guest->client_channels.at[i]))
			guest_take_back(guest, &guest->client_channels.at[i]);
}

static void guest_add_client_channel(struct guest *guest, const Troupe__Msgs__FoxgloveChannel *channel, bool is_cdr)
{
	struct client_channel client_channel = {
		.id = channel->id, .topic = mem_strdup(channel->topic), .is_cdr = is_cdr};
	(void)guest_taker_of(guest, &client_channel);
	vec_push(&guest->client_channels, client_channel);
}

static void guest_advertise(struct guest *guest, const Troupe__Msgs__FoxgloveChannel *channel)
{
	bool is_cdr = !strcmp(channel->encoding, "cdr");
	if (guest->client_channels.count == GUEST_CHANNELS_MAX || guest_find_client_channel(guest, channel->id))
		guest_refuse(guest, "advertise", "the number of the channel is in use, or there are too many");
	else if (strlen(channel->topic) > GUEST_TOPIC_MAX)
		guest_complain(guest, WIRE_ERROR, NULL, "topic '%.80s...': expected a name of at most %d bytes",
			channel->topic, GUEST_TOPIC_MAX);
	else if (!is_cdr && strcmp(channel->encoding, "json") != 0)
		guest_complain(guest, WIRE_ERROR, NULL, "topic '%.200s': encoding '%.40s': expected json or cdr",
			channel->topic, channel->encoding);
	else
		guest_add_client_channel(guest, channel, is_cdr);
}

static void guest_unadvertise(struct guest *guest, uint32_t id)
{
	struct client_channel *client_channel = guest_find_client_channel(guest, id);
	if (!client_channel)
		return;
	guest_take_back(guest, client_channel);
	free(client_channel->topic);
	*client_channel = guest->client_channels.at[--guest->client_channels.count];
}

static void guest_take_message(struct guest *guest, const struct wire_binary *binary)
{
	struct foxglove *gateway = guest->gateway;
	struct client_channel *client_channel = guest_find_client_channel(guest, binary->id);
	const struct offer *offer = client_channel ? guest_taker_of(guest, client_channel) : NULL;
	struct text bytes = {0};
	struct troupe_error error;
	if (!client_channel)
		guest_refuse(guest, "message", "its channel is not advertised");
	else if (!offer)
		atomic_fetch_add_explicit(&gateway->hub->refused, 1, memory_order_relaxed);
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
		guest_refuse(guest, row->name, error.text);
	else
		atomic_fetch_add_explicit(&gateway->hub->taken, 1, memory_order_relaxed);
	text_fini(&bytes);
}

void guest_tell_refusal(struct guest *guest, const char *topic, const char *why)
{
	for (uint32_t i = 0; i < guest->client_channels.count; i++)
		if (!strcmp(guest->client_channels.at[i].topic, topic)) {
			guest_refuse(guest, topic, why);
			return;
		}
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static void guest_fail_call(struct guest *guest, const struct wire_binary *binary, const char *why)
{
	struct text json = {0};
	atomic_fetch_add_explicit(&guest->gateway->hub->refused, 1, memory_order_relaxed);
	wire_add_call_failure(&json, binary->id, binary->call, why);
	port_say_text(guest->client, &json);
	text_fini(&json);
}

static void guest_take_call(struct guest *guest, const struct wire_binary *binary)
{
	struct foxglove *gateway = guest->gateway;
	const struct offer *offer = table_of_id(&gateway->hub->mirror, TROUPE_TOPIC_SERVICE, binary->id);
	struct text bytes = {0};
	struct troupe_error error;
	if (!offer) {
		guest_fail_call(guest, binary, "there is no such service");
		return;
	}
	if (binary->encoding_count != 4 || memcmp(binary->encoding, "json", 4) != 0) {
		guest_fail_call(guest, binary, "encoding of the request: expected json");
		return;
	}
	struct guest_call *call = mem_alloc(sizeof *call);
	*call = (struct guest_call){binary->id, binary->call};
	const struct hub_caller caller = {guest->client, guest->client->connection, call};
	const struct mirror_row *row = offer->row;
	troupe_status status = convert_from_json(row->type, binary->body, binary->count, &bytes, &error);
	if (!status)
		status = hub_call(gateway->hub, &caller, row->name, row->type, bytes.at, bytes.count, &error);
	text_fini(&bytes);
	if (status) {
		free(call);
		guest_fail_call(guest, binary, error.text);
		return;
	}
	atomic_fetch_add_explicit(&gateway->hub->taken, 1, memory_order_relaxed);
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static void guest_refuse_asset(struct guest *guest, uint32_t request)
{
	struct text bytes = {0};
	wire_add_no_asset(&bytes, request, "troupe serves no assets");
	outbox_put(&guest->client->outbox, true, bytes.at, bytes.count);
	text_fini(&bytes);
}

static bool guest_is_about_parameters(const char *op)
{
	static const char *const ops[] = {
		"getParameters", "setParameters", "subscribeParameterUpdates", "unsubscribeParameterUpdates"};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (!strcmp(op, ops[i]))
			return true;
	return false;
}

static void guest_obey(struct guest *guest, const Troupe__Msgs__FoxgloveRequest *request)
{
	const char *op = request->op;
	if (!strcmp(op, "subscribe")) {
		for (size_t i = 0; i < request->n_subscriptions; i++)
			guest_subscribe(guest, request->subscriptions[i]->id, request->subscriptions[i]->channel_id);
	} else if (!strcmp(op, "unsubscribe")) {
		for (size_t i = 0; i < request->n_subscription_ids; i++)
			guest_unsubscribe(guest, request->subscription_ids[i]);
	} else if (!strcmp(op, "advertise")) {
		for (size_t i = 0; i < request->n_channels; i++)
			guest_advertise(guest, request->channels[i]);
	} else if (!strcmp(op, "unadvertise")) {
		for (size_t i = 0; i < request->n_channel_ids; i++)
			guest_unadvertise(guest, request->channel_ids[i]);
	} else if (!strcmp(op, "subscribeConnectionGraph")) {
		guest->wants_graph = true;
		guest_tell_graph(guest, NULL);
	} else if (!strcmp(op, "unsubscribeConnectionGraph")) {
		guest->wants_graph = false;
	} else if (!strcmp(op, "fetchAsset")) {
		guest_refuse_asset(guest, request->request_id);
	} else if (guest_is_about_parameters(op)) {
		guest_complain(guest, WIRE_WARNING, "parameters", "troupe has no parameters");
	} else {
		guest_refuse(guest, op, "there is no such operation");
	}
}

void guest_hear(struct port_client *client, bool binary, const void *bytes, size_t count)
{
	struct guest *guest = client->data;
	struct troupe_error error;
	Troupe__Msgs__FoxgloveRequest *request;
	if (binary) {
		struct wire_binary frame = wire_read_binary(bytes, count);
		if (frame.kind == WIRE_MESSAGE)
			guest_take_message(guest, &frame);
		else if (frame.kind == WIRE_CALL)
			guest_take_call(guest, &frame);
		else if (frame.kind == WIRE_PLAYBACK && guest->has_controls)
			playback_obey(guest->gateway->playback, guest, &frame);
		else
			guest_refuse(guest, "binary message",
				guest->has_controls ? "expected a message (1), a call of a service (2) or a request "
						      "of the playback control (3)"
						    : "expected a message (1) or a call of a service (2)");
	} else if (wire_read_request(count ? bytes : "", count, &request, &error)) {
		guest_refuse(guest, "text message", error.text);
	} else {
		guest_obey(guest, request);
		message_free(&request->base);
	}
}

/* --- news --------------------------------------------------------------------------------------------------------- */

void guest_tell_graph(struct guest *guest, const char *gone)
{
	struct text json = {0};
	if (!guest->wants_graph)
		return;
	wire_begin(&json, "connectionGraphUpdate");
	table_add_graph(&guest->gateway->hub->mirror, &json);
	text_add(&json, "%s", gone ? gone : ",\"removedTopics\":[],\"removedServices\":[]");
	wire_end(&json);
	port_say_text(guest->client, &json);
	text_fini(&json);
}

void guest_tell_lost(struct port_client *client, uint64_t lost)
{
	guest_complain(client->data, WIRE_WARNING, "lost",
		"%llu messages were lost so far: this client, or its connection, is too slow",
		(unsigned long long)lost);
}

/* Some operations of many items each: one with all of a large table would be too long. */
static void guest_tell_all(struct guest *guest, troupe_topic_kind kind, const char *op, const char *list,
	void (*add)(const struct offer *offer, struct text *out))
{
	const struct mirror *mirror = &guest->gateway->hub->mirror;
	struct text json = {0};
	for (uint32_t i = 0; i <= mirror->rows.count; i++) {
		bool at_end = i == mirror->rows.count;
		if (json.count && (at_end || json.count > BATCH_BYTES)) {
			text_add(&json, "]}");
			port_say_text(guest->client, &json);
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

static void guest_greet(struct guest *guest)
{
	const struct foxglove *gateway = guest->gateway;
	struct wire_playback range = {0};
	struct text json = {0};
	if (gateway->playback)
		playback_range(gateway->playback, &range);
	wire_add_server_info(&json, gateway->session, gateway->playback ? WIRE_RECORDING : WIRE_RUN,
		guest->has_controls ? &range : NULL);
	port_say_text(guest->client, &json);
	text_fini(&json);
}

void *guest_open(void *ctx, struct port_client *client)
{
	struct foxglove *gateway = ctx;
	struct guest *guest = client->data = mem_alloc(sizeof *guest);
	*guest = (struct guest){.gateway = gateway, .client = client};
	gateway->time_told_ns = 0; /* the new one is told, too */
	guest->is_sdk = !strcmp(web_peer_protocol(client->peer), "foxglove.sdk.v1");
	guest->has_controls = gateway->playback && guest->is_sdk;
	guest_greet(guest);
	guest_tell_all(guest, TROUPE_TOPIC_PUBLISHED, "advertise", "channels", table_add_channel);
	guest_tell_all(guest, TROUPE_TOPIC_SERVICE, "advertiseServices", "services", table_add_service);
	if (gateway->playback)
		playback_welcome(gateway->playback, guest);
	return guest;
}

void guest_close(struct port_client *client)
{
	struct guest *guest = client->data;
	while (guest->subscriptions.count) {
		struct subscription last = guest->subscriptions.at[--guest->subscriptions.count];
		guest_drop_hearer(guest, last.channel, last.id);
	}
	vec_free(&guest->subscriptions);
	while (guest->client_channels.count)
		free(guest->client_channels.at[--guest->client_channels.count].topic);
	vec_free(&guest->client_channels);
	free(guest);
}
