/* All clients share one client of the server, on the thread of the web server: a message is encoded once, whatever the
 * number of its subscribers, and a topic without subscribers costs nothing. Only the number of the subscription differs
 * between their copies.
 *
 * Viewers need the simulated time also when nothing else is subscribed to, so while a client is connected the clock is
 * read 60 times in a simulated second; they are told at each turn, not at each step, because a run may be far faster
 * than real time. */
#include "gateway/ending.h"
#include "gateway/foxglove/guest.h"
#include "gateway/ros/stage.h"
#include "server/viewer.h"
#include "topic/message.h"

#include <troupe/gateway.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, LAST_BATCHES = 256 };
#define CLOCK_HZ 60.0

static void wake(void *ctx)
{
	struct troupe_foxglove *gateway = ctx;
	struct web *web = atomic_load(&gateway->web);
	if (web)
		web_wake(web);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static void tell_everybody(struct troupe_foxglove *gateway, const struct text *json)
{
	for (struct guest *guest = gateway->guests; guest; guest = guest->after)
		guest_say(guest, json);
}

struct news { /* members of the operations that tell what came and went */
	struct troupe_foxglove *gateway;
	struct text channels, services, gone_channels, gone_services, gone_topics, gone_names;
	bool any;
};

static void add_between(struct text *list)
{
	text_add(list, "%s", list->count ? "," : "");
}

static void came(void *ctx, struct offer *offer)
{
	struct news *news = ctx;
	news->any = true;
	if (offer->kind == TROUPE_TOPIC_PUBLISHED) {
		add_between(&news->channels);
		table_add_channel(offer, &news->channels);
	} else if (offer->kind == TROUPE_TOPIC_SERVICE) {
		add_between(&news->services);
		table_add_service(offer, &news->services);
	}
}

static void forget_subscriptions(const struct offer *offer)
{
	for (uint32_t i = 0; i < offer->hearers.count; i++) {
		struct guest *guest = offer->hearers.at[i].guest;
		for (uint32_t s = guest->subscriptions.count; s-- > 0;)
			if (guest->subscriptions.at[s].id == offer->hearers.at[i].id)
				guest->subscriptions.at[s] = guest->subscriptions.at[--guest->subscriptions.count];
	}
}

static void goes(void *ctx, struct offer *offer)
{
	struct news *news = ctx;
	struct text *names = offer->kind == TROUPE_TOPIC_SERVICE ? &news->gone_names : &news->gone_topics;
	news->any = true;
	add_between(names);
	text_add_json(names, offer->name);
	if (offer->kind == TROUPE_TOPIC_PUBLISHED) {
		add_between(&news->gone_channels);
		text_add(&news->gone_channels, "%u", offer->id);
	} else if (offer->kind == TROUPE_TOPIC_SERVICE) {
		add_between(&news->gone_services);
		text_add(&news->gone_services, "%u", offer->id);
	}
	if (offer->hearers.count)
		news->gateway->source->ops->unsubscribe(news->gateway->source, offer->name);
	forget_subscriptions(offer);
}

static void tell_list(struct troupe_foxglove *gateway, const char *op, const char *list, struct text *items)
{
	struct text json = {0};
	if (items->count) {
		text_add(&json, "{\"op\":\"%s\",\"%s\":[", op, list);
		text_add_bytes(&json, items->at, items->count);
		text_add(&json, "]}");
		tell_everybody(gateway, &json);
	}
	text_fini(&json);
	text_fini(items);
}

static void tell_graphs(struct troupe_foxglove *gateway, struct news *news)
{
	struct text gone = {0};
	text_add(&gone, ",\"removedTopics\":[%s],\"removedServices\":[%s]",
		news->gone_topics.count ? news->gone_topics.at : "", news->gone_names.count ? news->gone_names.at : "");
	for (struct guest *guest = gateway->guests; guest && news->any; guest = guest->after)
		guest_tell_graph(guest, gone.at);
	text_fini(&gone);
	text_fini(&news->gone_topics);
	text_fini(&news->gone_names);
}

void foxglove_look(struct troupe_foxglove *gateway)
{
	struct news news = {.gateway = gateway};
	if (gateway->source->ops->epoch(gateway->source) == gateway->table.epoch && gateway->table.offers.count)
		return;
	const struct troupe_topics *topics = gateway->source->ops->topics(gateway->source);
	const struct troupe_topics extended = sceneries_extend(&gateway->sceneries, topics);
	table_update(&gateway->table, &extended, came, goes, &news);
	gateway->source->ops->release(gateway->source, topics);
	tell_list(gateway, "unadvertise", "channelIds", &news.gone_channels);
	tell_list(gateway, "unadvertiseServices", "serviceIds", &news.gone_services);
	tell_list(gateway, "advertise", "channels", &news.channels);
	tell_list(gateway, "advertiseServices", "services", &news.services);
	tell_graphs(gateway, &news);
	for (struct guest *guest = gateway->guests; guest; guest = guest->after)
		guest_look(guest);
}

static bool has_hearers(const struct troupe_foxglove *gateway, const char *channel)
{
	const struct offer *offer = table_find(&gateway->table, TROUPE_TOPIC_PUBLISHED, channel);
	return offer && offer->hearers.count;
}

/* Whether a client needs the server's topic, or a topic that is made of it. */
static bool is_needed(const struct troupe_foxglove *gateway, const char *topic)
{
	const struct scenery *scenery = sceneries_of_topic(&gateway->sceneries, topic);
	if (has_hearers(gateway, topic))
		return true;
	if (!scenery)
		return false;
	bool of_frames = has_hearers(gateway, scenery->frames);
	return of_frames || (!strcmp(topic, scenery->scene) && has_hearers(gateway, scenery->shapes));
}

/* Subscribes to the server's topic, which gives a message at once, or unsubscribes if no client needs it. */
static void ask(struct troupe_foxglove *gateway, const char *topic, bool more)
{
	if (more)
		(void)gateway->source->ops->subscribe(gateway->source, topic, 0, NULL);
	else if (!is_needed(gateway, topic))
		gateway->source->ops->unsubscribe(gateway->source, topic);
}

void foxglove_listen(struct troupe_foxglove *gateway, const struct offer *offer, bool more)
{
	const struct scenery *scenery = sceneries_of_channel(&gateway->sceneries, offer->name);
	if (scenery) {
		ask(gateway, scenery->scene, more);
		if (offer->ros) /* of its frames */
			ask(gateway, scenery->poses, more);
		return;
	}
	ask(gateway, offer->name, more);
	if (!strcmp(offer->name, gateway->clock))
		gateway->ticking = false; /* at the rate that it has now, or not at all */
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static void follow_clock(struct troupe_foxglove *gateway)
{
	const struct offer *offer = table_find(&gateway->table, TROUPE_TOPIC_PUBLISHED, gateway->clock);
	bool wanted = gateway->guests && offer && !offer->hearers.count && !gateway->playback;
	if (wanted == gateway->ticking || (offer && offer->hearers.count))
		return;
	if (wanted)
		(void)gateway->source->ops->subscribe(gateway->source, gateway->clock, CLOCK_HZ, NULL);
	else
		gateway->source->ops->unsubscribe(gateway->source, gateway->clock);
	gateway->ticking = wanted;
}

static void tell_time(struct troupe_foxglove *gateway)
{
	struct text bytes = {0};
	if (gateway->time_told_ns == gateway->time_ns)
		return;
	wire_add_time(&bytes, gateway->time_ns);
	for (struct guest *guest = gateway->guests; guest; guest = guest->after)
		if (outbox_is_empty(&guest->outbox))
			outbox_put(&guest->outbox, true, bytes.at, bytes.count);
	text_fini(&bytes);
	gateway->time_told_ns = gateway->time_ns;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Appends the JSON of a message that came as bytes of the server. */
static troupe_status bytes_to_json(
	const char *type, const void *bytes, size_t count, struct text *out, struct troupe_error *error)
{
	static const struct message_limits limits = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};
	ProtobufCMessage *message;
	troupe_status status = message_of_bytes(type_find(type), bytes, count, &limits, &message, error);
	if (status)
		return status;
	message_add_json(out, message);
	message_free(message);
	return TROUPE_OK;
}

static void complain(struct offer *offer, const char *why)
{
	if (offer->complained)
		return;
	offer->complained = true;
	for (uint32_t i = 0; i < offer->hearers.count; i++)
		guest_complain(offer->hearers.at[i].guest, WIRE_WARNING, offer->name, "%s: a message is left out: %s",
			offer->name, why);
}

/* Sends to all subscribers; data begins with a head. */
static void send_all(struct troupe_foxglove *gateway, const struct offer *offer, struct text *data)
{
	for (uint32_t i = 0; i < offer->hearers.count; i++) {
		wire_set_subscription(data->at, offer->hearers.at[i].id);
		outbox_put(&offer->hearers.at[i].guest->outbox, true, data->at, data->count);
		atomic_fetch_add_explicit(&gateway->published, 1, memory_order_relaxed);
	}
}

static uint64_t time_of(const struct troupe_foxglove *gateway, const struct troupe_message *message)
{
	return gateway->playback ? playback_time_of(gateway->playback, message) : (uint64_t)message->time_ns;
}

static void pass_on(struct troupe_foxglove *gateway, struct offer *offer, const struct troupe_message *message)
{
	struct text data = {0};
	struct troupe_error error;
	wire_add_data_head(&data, time_of(gateway, message));
	troupe_status status = offer->ros ? ros_of_bytes(offer->ros, message->bytes, message->count, &data, &error)
					  : bytes_to_json(message->type, message->bytes, message->count, &data, &error);
	if (status)
		complain(offer, error.text);
	else
		send_all(gateway, offer, &data);
	text_fini(&data);
}

/* Shapes and frames of a world. Frames need the shapes of their scene first, and a paused world has no next poses. */
static void make_scenery(struct troupe_foxglove *gateway, struct scenery *scenery, const struct troupe_message *message)
{
	bool is_scene = !strcmp(message->topic, scenery->scene);
	const char *channel = is_scene ? scenery->shapes : scenery->frames;
	const struct offer *offer = table_find(&gateway->table, TROUPE_TOPIC_PUBLISHED, channel);
	struct text data = {0};
	wire_add_data_head(&data, time_of(gateway, message));
	troupe_status status = (is_scene ? stage_take_scene : stage_take_poses)(
		scenery->stage, message->bytes ? message->bytes : "", message->count, &data, NULL);
	if (!status && offer && data.count > WIRE_DATA_HEAD)
		send_all(gateway, offer, &data);
	if (is_scene && has_hearers(gateway, scenery->frames))
		ask(gateway, scenery->poses, true);
	text_fini(&data);
}

/* Gazebo's services say "no" by a Boolean, which has no place for the reason. */
static void answer(const struct call *call, const struct troupe_message *message)
{
	struct text out = {0};
	struct troupe_error error;
	troupe_status status = message->status;
	const char *why = message->text;
	if (!status) {
		wire_add_response_head(&out, call->service, call->id, "json");
		status = bytes_to_json(call->reply_type, message->bytes, message->count, &out, &error);
		why = error.text;
	}
	if (status) {
		out.count = 0;
		wire_add_call_failure(&out, call->service, call->id, why && *why ? why : troupe_status_text(status));
		guest_say(call->guest, &out);
	} else if (!web_send(call->guest->peer, true, out.at, out.count)) {
		web_close(call->guest->peer, 1008, "the client does not read");
	}
	text_fini(&out);
}

static void take_reply(struct troupe_foxglove *gateway, const struct troupe_message *message)
{
	for (uint32_t i = 0; i < gateway->calls.count; i++) {
		struct call call = gateway->calls.at[i];
		if (call.tag != message->tag)
			continue;
		gateway->calls.at[i] = gateway->calls.at[--gateway->calls.count];
		if (call.guest)
			answer(&call, message);
		free(call.reply_type);
		return;
	}
}

/* A run of another process has refused a message of a client: tells all clients that advertise the topic. */
static void pass_refusal(struct troupe_foxglove *gateway, const struct troupe_message *message)
{
	for (struct guest *guest = gateway->guests; guest; guest = guest->after)
		guest_tell_refusal(guest, message->topic, message->text);
}

/* Whether there may be more. */
static bool take_some(struct troupe_foxglove *gateway)
{
	struct troupe_message message;
	uint32_t count = 0;
	while (count < BATCH && gateway->source->ops->take(gateway->source, 0, &message)) {
		count++;
		if (message.is_reply) {
			if (message.tag)
				take_reply(gateway, &message);
			else
				pass_refusal(gateway, &message);
			continue;
		}
		if (gateway->playback && playback_hides(gateway->playback, &message))
			continue;
		struct offer *offer = table_find(&gateway->table, TROUPE_TOPIC_PUBLISHED, message.topic);
		gateway->time_ns = time_of(gateway, &message);
		if (offer && offer->hearers.count)
			pass_on(gateway, offer, &message);
		struct scenery *scenery = sceneries_of_topic(&gateway->sceneries, message.topic);
		if (scenery)
			make_scenery(gateway, scenery, &message);
	}
	return count == BATCH;
}

/* --- another server ----------------------------------------------------------------------------------------------- */

void foxglove_renew(struct troupe_foxglove *gateway)
{
	for (uint32_t i = 0; i < gateway->table.offers.count; i++)
		if (gateway->table.offers.at[i]->hearers.count)
			foxglove_listen(gateway, gateway->table.offers.at[i], true);
}

static void fail_calls(struct troupe_foxglove *gateway, const char *why)
{
	for (uint32_t i = 0; i < gateway->calls.count; i++) {
		const struct call *call = &gateway->calls.at[i];
		struct text json = {0};
		wire_add_call_failure(&json, call->service, call->id, why);
		if (call->guest)
			guest_say(call->guest, &json);
		text_fini(&json);
		free(call->reply_type);
	}
	gateway->calls.count = 0;
}

static troupe_status make_client(struct troupe_foxglove *gateway, struct troupe_error *error)
{
	return source_open(&gateway->place, 0, wake, gateway, &gateway->source, error);
}

void foxglove_adopt(struct troupe_foxglove *gateway, struct troupe_server *server)
{
	fail_calls(gateway, "the recording has jumped to another step");
	source_destroy(gateway->source);
	gateway->place.server = server;
	troupe_status status = make_client(gateway, NULL);
	assert(!status); /* as the first time */
	gateway->table.epoch = UINT64_MAX;
	foxglove_look(gateway);
}

static void turn(void *ctx)
{
	struct troupe_foxglove *gateway = ctx;
	if (gateway->playback)
		playback_turn(gateway->playback);
	foxglove_look(gateway);
	follow_clock(gateway);
	if (take_some(gateway)) {
		wake(gateway); /* other connections have their turn in between */
	} else if (gateway->playback) {
		gateway->time_ns = playback_time(gateway->playback);
		playback_tell(gateway->playback);
	}
	tell_time(gateway);
	for (struct guest *guest = gateway->guests; guest; guest = guest->after)
		guest_tell_lost(guest);
}

/* All hear the last messages of the run. */
static void take_last(void *ctx)
{
	struct troupe_foxglove *gateway = ctx;
	for (int i = 0; i < LAST_BATCHES && !gateway->playback && take_some(gateway); i++)
		;
	tell_time(gateway);
	fail_calls(gateway, ending_text(gateway->failure));
	for (struct guest *guest = gateway->guests; guest && gateway->failure; guest = guest->after)
		guest_complain(guest, WIRE_ERROR, "run", "the run has failed: %s", gateway->failure->text);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

bool troupe_foxglove_available(void)
{
	return web_is_available();
}

/* Pages that are made to show such data. A page of this machine is as good as a program of this machine. */
static troupe_status start_web(
	struct troupe_foxglove *gateway, const struct troupe_foxglove_def *def, struct troupe_error *error)
{
	static const char *const names[] = {"foxglove.sdk.v1", "foxglove.websocket.v1", NULL};
	const char *const origins[] = {"https://app.foxglove.dev", "https://studio.foxglove.dev", def->origin, NULL};
	const struct web_service service = {.names = names,
		.origins = origins,
		.local_origins = true,
		.hear_bytes_max = WIRE_HEAR_MAX,
		.open = guest_open,
		.hear = guest_hear,
		.room = guest_room,
		.close = guest_close,
		.turn = turn,
		.last = take_last,
		.ctx = gateway};
	const struct web_def web_def = {.address = def->address,
		.port = def->port,
		.token = def->token,
		.needs_token = !def->insecure,
		.needs_token_here = def->needs_token,
		.cert_path = def->cert_path,
		.key_path = def->key_path,
		.services = &service,
		.service_count = 1,
		.peers_max = TROUPE_FOXGLOVE_CLIENTS_MAX,
		.queue_bytes_max = 64 << 20,
		.say = def->say,
		.say_ctx = def->say_ctx};
	struct web *web;
	troupe_status status = web_start(&web_def, &web, error);
	if (!status)
		atomic_store(&gateway->web, web);
	return status;
}

/* Other clients wait while a file is read, once. */
static troupe_status read_mesh(
	void *ctx, const Gz__Msgs__Geometry *geometry, struct text *mesh, struct troupe_error *error)
{
	const struct troupe_foxglove *gateway = ctx;
	if (!gateway->place.server)
		return fail(error, TROUPE_ECOMMAND, "the files of meshes are with the primary");
	return viewer_triangles(gateway->place.server, geometry, mesh, error);
}

/* The gateway has a server, or a playback. It is taken over. */
static troupe_status start(struct troupe_foxglove *gateway, const struct troupe_foxglove_def *def,
	struct troupe_foxglove **ret_foxglove, struct troupe_error *error)
{
	const char *client = gateway->place.run ? gateway->place.run->client : NULL;
	gateway->clock = client ? mem_printf("/%s/clock", client) : mem_strdup("/clock");
	gateway->sceneries.mesh_fn = read_mesh;
	gateway->sceneries.mesh_ctx = gateway;
	troupe_status status = web_make_token(gateway->session, error);
	if (!status)
		status = make_client(gateway, error);
	gateway->place.run = NULL; /* it is the caller's */
	if (!status) {
		foxglove_look(gateway);
		status = start_web(gateway, def, error);
	}
	if (status) {
		troupe_foxglove_end(gateway, error);
		return status;
	}
	*ret_foxglove = gateway;
	return TROUPE_OK;
}

troupe_status troupe_foxglove_start(struct troupe_server *server, const struct troupe_foxglove_def *def,
	struct troupe_foxglove **ret_foxglove, struct troupe_error *error)
{
	struct troupe_foxglove *gateway = mem_alloc(sizeof *gateway);
	gateway->place.server = server;
	return start(gateway, def, ret_foxglove, error);
}

troupe_status troupe_foxglove_connect(const struct troupe_view_run *run, const struct troupe_foxglove_def *def,
	struct troupe_foxglove **ret_foxglove, struct troupe_error *error)
{
	struct troupe_foxglove *gateway = mem_alloc(sizeof *gateway);
	gateway->place.run = run;
	return start(gateway, def, ret_foxglove, error);
}

troupe_status troupe_foxglove_open(const struct troupe_server_def *recording, const struct troupe_foxglove_def *def,
	struct troupe_foxglove **ret_foxglove, struct troupe_error *error)
{
	struct troupe_foxglove *gateway = mem_alloc(sizeof *gateway);
	troupe_status status = playback_open(gateway, recording, &gateway->playback, error);
	if (status) {
		free(gateway);
		return status;
	}
	gateway->place.server = playback_server(gateway->playback);
	return start(gateway, def, ret_foxglove, error);
}

void troupe_foxglove_play(struct troupe_foxglove *gateway)
{
	playback_run(gateway->playback);
}

void troupe_foxglove_stop(struct troupe_foxglove *gateway)
{
	playback_stop(gateway->playback);
}

void troupe_foxglove_end(struct troupe_foxglove *gateway, const struct troupe_error *why)
{
	if (!gateway)
		return;
	struct web *web = atomic_load(&gateway->web);
	gateway->failure = why;
	if (web)
		web_stop(web, ending_text(why));
	source_destroy(gateway->source); /* until now it may wake the web server */
	web_end(web);
	for (uint32_t i = 0; i < gateway->calls.count; i++)
		free(gateway->calls.at[i].reply_type);
	vec_free(&gateway->calls);
	table_fini(&gateway->table);
	sceneries_fini(&gateway->sceneries);
	playback_close(gateway->playback);
	free(gateway->clock);
	free(gateway);
}

void troupe_foxglove_address(const struct troupe_foxglove *gateway, char *ret_text, size_t bytes)
{
	web_address(atomic_load(&gateway->web), "ws", ret_text, bytes);
}

struct troupe_foxglove_counts troupe_foxglove_counts(const struct troupe_foxglove *gateway)
{
	return (struct troupe_foxglove_counts){.clients = atomic_load(&gateway->clients),
		.published = atomic_load_explicit(&gateway->published, memory_order_relaxed),
		.lost = atomic_load_explicit(&gateway->lost, memory_order_relaxed),
		.boundaries_lost = gateway->playback ? 0 : gateway->source->ops->lost(gateway->source),
		.taken = atomic_load_explicit(&gateway->taken, memory_order_relaxed),
		.refused = atomic_load_explicit(&gateway->refused, memory_order_relaxed),
		.commands = gateway->playback ? 0 : gateway->source->ops->commands(gateway->source)};
}
