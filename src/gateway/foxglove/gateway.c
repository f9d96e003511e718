/* A message is encoded once, whatever the number of its subscribers: only the number of the subscription differs
 * between their copies.
 *
 * Viewers need the simulated time also when nothing else is subscribed to, and are told it at each turn, not at each
 * step, because a run may be far faster than real time. */
#include "base/clock.h"
#include "gateway/foxglove/foxglove_client.h"
#include "gateway/hub/convert.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/op.h"
#include "gateway/ros/stage.h"

#include <stdlib.h>
#include <string.h>

enum { FOXGLOVE_PORT = 8765, FOXGLOVE_CLIENTS_MAX = 64, FOXGLOVE_QUEUE_BYTES_MAX = 64 << 20 };

/* --- topics ------------------------------------------------------------------------------------------------------- */

struct news { /* members of the operations that tell what came and went */
	struct text channels, services, gone_channels, gone_services, gone_topics, gone_names;
	bool any;
};

static void foxglove_add_between(struct text *list)
{
	text_add(list, "%s", list->count ? "," : "");
}

static void foxglove_topic_came(void *ctx, struct mirror_row *row)
{
	struct foxglove *gateway = ctx;
	struct news *news = gateway->news;
	table_came(row);
	news->any = true;
	if (row->kind == TROUPE_TOPIC_PUBLISHED) {
		foxglove_add_between(&news->channels);
		table_add_channel(row->data, &news->channels);
	} else if (row->kind == TROUPE_TOPIC_SERVICE) {
		foxglove_add_between(&news->services);
		table_add_service(row->data, &news->services);
	}
}

static void foxglove_drop_channel(struct foxglove *gateway, const char *topic)
{
	struct hub_subscription *channel = subscriber_list_find(&gateway->channels, topic);
	if (!channel)
		return;
	hub_unsubscribe(gateway->hub, topic);
	for (uint32_t i = 0; i < channel->subscribers.count; i++)
		((struct foxglove_client *)channel->subscribers.at[i]->client)->subscriptions--;
	subscriber_list_close(&gateway->channels, channel);
}

static void foxglove_topic_gone(void *ctx, struct mirror_row *row)
{
	struct foxglove *gateway = ctx;
	struct news *news = gateway->news;
	struct text *names = row->kind == TROUPE_TOPIC_SERVICE ? &news->gone_names : &news->gone_topics;
	news->any = true;
	foxglove_add_between(names);
	text_add_json(names, row->name);
	if (row->kind == TROUPE_TOPIC_PUBLISHED) {
		foxglove_add_between(&news->gone_channels);
		text_add(&news->gone_channels, "%u", row->number);
		foxglove_drop_channel(gateway, row->name);
	} else if (row->kind == TROUPE_TOPIC_SERVICE) {
		foxglove_add_between(&news->gone_services);
		text_add(&news->gone_services, "%u", row->number);
	}
	free(row->data);
}

static void foxglove_tell_list(const struct foxglove *gateway, const char *op, const char *list, struct text *items)
{
	struct text text = {0};
	if (!items->count)
		return;
	struct json_out json = op_begin(&text, op);
	text_add(json_out_value(&json, list), "[%s]", items->at);
	op_tell_all(&gateway->port, &json);
	items->count = 0;
}

static void foxglove_tell_graphs(const struct foxglove *gateway, struct news *news)
{
	struct text gone = {0};
	text_add(&gone, ",\"removedTopics\":[%s],\"removedServices\":[%s]",
		news->gone_topics.count ? news->gone_topics.at : "", news->gone_names.count ? news->gone_names.at : "");
	for (struct port_client *client = gateway->port.clients; client && news->any; client = client->after)
		foxglove_client_tell_graph(client->data, gone.at);
	text_fini(&gone);
	news->gone_topics.count = news->gone_names.count = 0;
	news->any = false;
}

static void foxglove_topics_changed(void *ctx, const struct troupe_topics *topics)
{
	struct foxglove *gateway = ctx;
	struct news *news = gateway->news;
	(void)topics;
	foxglove_tell_list(gateway, "unadvertise", "channelIds", &news->gone_channels);
	foxglove_tell_list(gateway, "unadvertiseServices", "serviceIds", &news->gone_services);
	foxglove_tell_list(gateway, "advertise", "channels", &news->channels);
	foxglove_tell_list(gateway, "advertiseServices", "services", &news->services);
	foxglove_tell_graphs(gateway, news);
	for (struct port_client *client = gateway->port.clients; client; client = client->after)
		foxglove_client_look(client->data);
}

static struct troupe_topics foxglove_extend(void *ctx, const struct troupe_topics *topics)
{
	struct foxglove *gateway = ctx;
	return sceneries_extend(&gateway->sceneries, topics);
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

static bool foxglove_has_subscribers(const struct foxglove *gateway, const char *channel)
{
	const struct hub_subscription *row = subscriber_list_find(&gateway->channels, channel);
	return row && row->subscribers.count;
}

/* Whether a client needs the run's topic, or a topic that is made of it. */
static bool foxglove_needs(const struct foxglove *gateway, const char *topic)
{
	const struct scenery *scenery = sceneries_of_topic(&gateway->sceneries, topic);
	if (foxglove_has_subscribers(gateway, topic))
		return true;
	if (!scenery)
		return false;
	bool of_frames = foxglove_has_subscribers(gateway, scenery->frames);
	return of_frames || (!strcmp(topic, scenery->scene) && foxglove_has_subscribers(gateway, scenery->shapes));
}

static void foxglove_ask(struct foxglove *gateway, const char *topic, bool more)
{
	if (more)
		(void)hub_subscribe(gateway->hub, topic, NULL, NULL);
	else if (!foxglove_needs(gateway, topic))
		hub_unsubscribe(gateway->hub, topic);
}

void foxglove_listen(struct foxglove *gateway, const char *channel, bool more)
{
	const struct scenery *scenery = sceneries_of_channel(&gateway->sceneries, channel);
	if (!scenery) {
		foxglove_ask(gateway, channel, more);
		return;
	}
	foxglove_ask(gateway, scenery->scene, more);
	if (!strcmp(channel, scenery->frames))
		foxglove_ask(gateway, scenery->poses, more);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void foxglove_tell_time(struct foxglove *gateway)
{
	struct text bytes = {0};
	if (gateway->time_told_ns == gateway->time_ns)
		return;
	wire_add_time(&bytes, gateway->time_ns);
	for (struct port_client *client = gateway->port.clients; client; client = client->after)
		if (outbox_is_empty(&client->outbox))
			outbox_put(&client->outbox, true, bytes.at, bytes.count);
	text_fini(&bytes);
	gateway->time_told_ns = gateway->time_ns;
}

static void foxglove_complain(struct offer *offer, const struct hub_subscription *channel, const char *why)
{
	if (offer->complained)
		return;
	offer->complained = true;
	for (uint32_t i = 0; i < channel->subscribers.count; i++)
		foxglove_client_complain(channel->subscribers.at[i]->client, WIRE_WARNING, offer->row->name,
			"%s: a message is left out: %s", offer->row->name, why);
}

/* Sends to all subscribers; data begins with a head. */
static void foxglove_send(const struct foxglove *gateway, const struct hub_subscription *channel, struct text *data)
{
	for (uint32_t i = 0; i < channel->subscribers.count; i++) {
		const struct hub_subscriber *subscriber = channel->subscribers.at[i];
		const struct foxglove_client *client = subscriber->client;
		if (subscriber->join <= gateway->hub->had)
			continue;
		wire_set_subscription(data->at, subscriber->id);
		port_publish(client->base, true, data->at, data->count);
	}
}

static uint64_t foxglove_time_of(const struct foxglove *gateway, const struct troupe_message *message)
{
	return gateway->playback ? playback_time_of(gateway->playback, message) : (uint64_t)message->time_ns;
}

static void foxglove_pass_on(
	const struct foxglove *gateway, const struct hub_subscription *channel, const struct troupe_message *message)
{
	struct offer *offer = table_find(&gateway->hub->mirror, TROUPE_TOPIC_PUBLISHED, message->topic);
	struct text data = {0};
	struct troupe_error error;
	wire_add_data_head(&data, foxglove_time_of(gateway, message));
	troupe_status status = offer->ros
				       ? ros_of_bytes(offer->ros, message->bytes, message->count, &data, &error)
				       : convert_to_json(message->type, message->bytes, message->count, &data, &error);
	if (status)
		foxglove_complain(offer, channel, error.text);
	else
		foxglove_send(gateway, channel, &data);
	text_fini(&data);
}

/* Shapes and frames of a world. Frames need the shapes of their scene first, and a paused world has no next poses. */
static void foxglove_make_scenery(
	struct foxglove *gateway, struct scenery *scenery, const struct troupe_message *message)
{
	bool is_scene = !strcmp(message->topic, scenery->scene);
	const struct hub_subscription *channel =
		subscriber_list_find(&gateway->channels, is_scene ? scenery->shapes : scenery->frames);
	struct text data = {0};
	wire_add_data_head(&data, foxglove_time_of(gateway, message));
	troupe_status status = (is_scene ? stage_take_scene : stage_take_poses)(
		scenery->stage, message->bytes ? message->bytes : "", message->count, &data, NULL);
	if (!status && channel && data.count > WIRE_DATA_HEAD)
		foxglove_send(gateway, channel, &data);
	if (is_scene && foxglove_has_subscribers(gateway, scenery->frames))
		hub_repeat(gateway->hub, scenery->poses); /* they came when there were no shapes yet */
	text_fini(&data);
}

static void foxglove_message(void *ctx, const struct troupe_message *message)
{
	struct foxglove *gateway = ctx;
	const struct hub_subscription *channel = subscriber_list_find(&gateway->channels, message->topic);
	struct scenery *scenery = sceneries_of_topic(&gateway->sceneries, message->topic);
	gateway->time_ns = foxglove_time_of(gateway, message);
	if (channel)
		foxglove_pass_on(gateway, channel, message);
	if (scenery)
		foxglove_make_scenery(gateway, scenery, message);
}

/* Gazebo's services say "no" by a Boolean, which has no place for the reason. */
static void foxglove_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	struct foxglove_client_call *call = request;
	struct text out = {0};
	struct troupe_error error;
	const char *why = reply->status ? reply->why : NULL;
	(void)gateway;
	if (client && !why) {
		wire_add_response_head(&out, call->service, call->id, "json");
		if (convert_to_json(reply->type, reply->bytes, reply->count, &out, &error))
			why = error.text;
	}
	if (client && why) {
		out.count = 0;
		wire_add_call_failure(&out, call->service, call->id, why);
	}
	if (client)
		port_say(client, !why, out.at, out.count);
	text_fini(&out);
	free(call);
}

static void foxglove_refused(void *ctx, const char *topic, const char *why)
{
	const struct foxglove *gateway = ctx;
	for (struct port_client *client = gateway->port.clients; client; client = client->after)
		foxglove_client_tell_refusal(client->data, topic, why);
}

/* --- turns -------------------------------------------------------------------------------------------------------- */

static void foxglove_begin_turn(void *ctx)
{
	struct foxglove *gateway = ctx;
	if (gateway->playback)
		playback_turn(gateway->playback);
}

static bool foxglove_hides(void *ctx, const struct troupe_message *message)
{
	const struct foxglove *gateway = ctx;
	return gateway->playback && playback_hides(gateway->playback, message);
}

static void foxglove_turn(void *ctx, bool more)
{
	struct foxglove *gateway = ctx;
	if (!more && gateway->playback) {
		gateway->time_ns = playback_time(gateway->playback);
		playback_tell(gateway->playback);
	}
	foxglove_tell_time(gateway);
}

static void foxglove_moved(void *ctx, bool is_open)
{
	struct foxglove *gateway = ctx;
	if (is_open)
		playback_moved(gateway->playback);
}

static void foxglove_end(void *ctx, const char *why, bool failed)
{
	struct foxglove *gateway = ctx;
	foxglove_tell_time(gateway);
	for (struct port_client *client = gateway->port.clients; client && failed; client = client->after)
		foxglove_client_complain(client->data, WIRE_ERROR, "run", "the run has failed: %s", why);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Pages that are made to show such data. A page of this machine is as good as a program of this machine. */
static const struct port_protocol foxglove_protocol = {
	.names = (const char *const[]){"foxglove.sdk.v1", "foxglove.websocket.v1", NULL},
	.sites = (const char *const[]){"https://app.foxglove.dev", "https://studio.foxglove.dev", NULL},
	.local_pages = true,
	.scheme = "ws",
	.port = FOXGLOVE_PORT,
	.clients_max = FOXGLOVE_CLIENTS_MAX,
	.hear_bytes_max = WIRE_HEAR_MAX,
	.queue_bytes_max = FOXGLOVE_QUEUE_BYTES_MAX,
	.slow_code = 1008,
	.slow_text = "the client does not read",
	.open = foxglove_client_open,
	.hear = foxglove_client_hear,
	.close = foxglove_client_close,
	.turn = foxglove_turn,
	.tell_lost = foxglove_client_tell_lost,
};

/* Other clients wait while a file is read, once. */
static troupe_status foxglove_read_mesh(
	void *ctx, const Gz__Msgs__Geometry *geometry, struct text *mesh, struct troupe_error *error)
{
	const struct foxglove *gateway = ctx;
	if (!gateway->hub->place.server)
		return fail(error, TROUPE_ECOMMAND, "the files of meshes are with the primary");
	return scenery_read_mesh(gateway->hub->place.server, geometry, mesh, error);
}

static troupe_status foxglove_start(struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	struct foxglove *gateway = hub->gateway = mem_alloc(sizeof *gateway);
	gateway->hub = hub;
	gateway->news = mem_alloc(sizeof *gateway->news);
	gateway->sceneries.mesh_fn = foxglove_read_mesh;
	gateway->sceneries.mesh_ctx = gateway;
	troupe_status status = web_make_token(gateway->session, error);
	if (!status)
		status = hub_open(hub, def,
			&(struct hub_options){.wake = port_wake,
				.ctx = &gateway->port,
				.keeps_time = true,
				.extend = foxglove_extend,
				.begin_turn = foxglove_begin_turn,
				.hides = foxglove_hides},
			error);
	if (hub->play)
		gateway->playback = playback_create(gateway, hub->play);
	hub_look(hub);
	return status ? status : port_start(&gateway->port, hub, &foxglove_protocol, def, error);
}

static void foxglove_destroy(void *ctx)
{
	struct foxglove *gateway = ctx;
	struct news *news = gateway->news;
	port_end(&gateway->port);
	sceneries_fini(&gateway->sceneries);
	subscriber_list_fini(&gateway->channels);
	text_fini(&news->channels);
	text_fini(&news->services);
	text_fini(&news->gone_channels);
	text_fini(&news->gone_services);
	text_fini(&news->gone_topics);
	text_fini(&news->gone_names);
	free(news);
	free(gateway->playback);
	free(gateway);
}

const struct hub_kind kind_foxglove = {
	.about = {.name = "foxglove", .title = "Foxglove", .has_token = true},
	.settings = (const char *const[]){"token", "require-token", "insecure", "cert", "key", "origin", NULL},
	.shows_recordings = true,
	.is_available = web_is_available,
	.start = foxglove_start,
	.topic_came = foxglove_topic_came,
	.topic_gone = foxglove_topic_gone,
	.topics_changed = foxglove_topics_changed,
	.message = foxglove_message,
	.reply = foxglove_reply,
	.refused = foxglove_refused,
	.moved = foxglove_moved,
	.end = foxglove_end,
	.stop = port_stop,
	.destroy = foxglove_destroy,
	.describe = port_describe,
	.count = hub_ignore_count,
};
