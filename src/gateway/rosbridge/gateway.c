/* A message goes from protobuf's bytes to CDR, as for every other gateway to ROS 2, and from there to JSON by the
 * definition of its type: once for all clients, and for all names of the topic that have the same type. */
#include "base/clock.h"
#include "gateway/hub/convert.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/settings.h"
#include "gateway/ros/json.h"
#include "gateway/rosbridge/rosbridge_call.h"
#include "topic/lockstep.pb-c.h"
#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

enum { ROSBRIDGE_PORT = 9090, ROSBRIDGE_CLIENTS_MAX = 64, ROSBRIDGE_QUEUE_BYTES_MAX = 64 << 20 };

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void rosbridge_complain(const struct hub_subscription *channel, const char *why)
{
	for (uint32_t i = 0; i < channel->subscribers.count; i++) {
		struct topic_subscription *subscription = (struct topic_subscription *)channel->subscribers.at[i];
		if (!subscription->told_type)
			rosbridge_client_complain(subscription->base.client, ROSBRIDGE_CLIENT_WARNING, NULL,
				"%.200s: a message is left out: %s", subscription->name + subscription->base.id, why);
		subscription->told_type = true;
	}
}

static void rosbridge_message(void *ctx, const struct troupe_message *message)
{
	const struct rosbridge *gateway = ctx;
	const struct topic_index *topic_index = &gateway->topic_index;
	struct names_conversion made = {.message = message};
	const struct ros_offer *offer;
	struct text json = {0};
	for (uint32_t at = names_first_of_topic(&topic_index->names, message->topic); at != UINT32_MAX;
		at = offer->same_topic) {
		offer = &topic_index->names.offers.at[at];
		const struct hub_subscription *channel = subscriber_list_find(&topic_index->channels, offer->name);
		if (channel && names_conversion_for(&made, offer)) {
			json.count = 0;
			if (made.cdr.count)
				made.status =
					ros_json_of_cdr(offer->type, made.cdr.at, made.cdr.count, &json, &made.error);
		}
		if (channel && made.status)
			rosbridge_complain(channel, made.error.text);
		for (uint32_t i = 0; channel && i < channel->subscribers.count && json.count && !made.status; i++)
			topic_subscription_give(
				(struct topic_subscription *)channel->subscribers.at[i], offer->type, &json);
	}
	text_fini(&json);
	text_fini(&made.cdr);
}

/* Why a barrier client's request was refused; NULL: it was not. Appends the reply as JSON. */
static const char *rosbridge_read_barrier(const struct hub_reply *reply, struct text *values, struct troupe_error *why)
{
	ProtobufCMessage *message;
	if (message_of_bytes(&troupe__msgs__lockstep_to_client__descriptor, reply->bytes, reply->count,
		    &message_limits_none, &message, why))
		return why->text;
	const Troupe__Msgs__LockstepToClient *said = (const void *)message;
	bool refused = said->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED;
	if (refused)
		(void)fail(why, TROUPE_ECOMMAND, "%s", said->refused->text);
	message_add_json(values, message);
	message_free(message);
	return refused ? why->text : NULL;
}

static void rosbridge_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	struct port_client *to = client;
	struct rosbridge_client_call *call = request;
	struct text values = {0};
	struct troupe_error error;
	const char *why = reply->status ? reply->why : NULL;
	(void)gateway;
	if (to && !why && !strcmp(reply->type, troupe__msgs__lockstep_to_client__descriptor.name))
		why = rosbridge_read_barrier(reply, &values, &error);
	else if (to && !why && convert_to_json(reply->type, reply->bytes, reply->count, &values, &error))
		why = error.text;
	if (to)
		rosbridge_client_answer(to->data, call->service, call->id, &values, why);
	text_fini(&values);
	rosbridge_call_free(call);
}

static void rosbridge_refused(void *ctx, const char *topic, const char *why)
{
	const struct rosbridge *gateway = ctx;
	const struct ros_names *names = &gateway->topic_index.names;
	for (struct port_client *client = gateway->port.clients; client; client = client->after)
		for (uint32_t i = 0; i < names->offers.count; i++) {
			const struct ros_offer *offer = &names->offers.at[i];
			if (offer->kind == TROUPE_TOPIC_TAKEN && offer->topic && !strcmp(offer->topic, topic) &&
				rosbridge_client_advertises(client->data, offer->name))
				rosbridge_client_complain(client->data, ROSBRIDGE_CLIENT_ERROR, NULL,
					"publish: %.200s: %s", offer->name, why);
		}
}

static void rosbridge_topics_changed(void *ctx, const struct troupe_topics *topics)
{
	struct rosbridge *gateway = ctx;
	topic_index_update(&gateway->topic_index, topics);
}

static void rosbridge_turn(void *ctx, bool more)
{
	const struct rosbridge *gateway = ctx;
	const struct subscriber_list *channels = &gateway->topic_index.channels;
	uint64_t now_ns = clock_now_ns();
	(void)more;
	for (uint32_t i = 0; i < channels->rows.count; i++)
		for (uint32_t s = 0; s < channels->rows.at[i]->subscribers.count; s++)
			topic_subscription_turn(
				(struct topic_subscription *)channels->rows.at[i]->subscribers.at[s], now_ns);
}

static void rosbridge_end(void *ctx, const char *why, bool failed)
{
	const struct rosbridge *gateway = ctx;
	rosbridge_turn(ctx, false);
	for (struct port_client *client = gateway->port.clients; client && failed; client = client->after)
		rosbridge_client_complain(client->data, ROSBRIDGE_CLIENT_ERROR, NULL, "the run has failed: %s", why);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Clients of rosbridge ask for no subprotocol. A page of this machine is as good as a program of this machine. */
static const struct port_protocol rosbridge_protocol = {
	.names = (const char *const[]){"rosbridge", NULL},
	.unnamed = true,
	.local_pages = true,
	.scheme = "ws",
	.port = ROSBRIDGE_PORT,
	.clients_max = ROSBRIDGE_CLIENTS_MAX,
	.hear_bytes_max = ROSBRIDGE_CLIENT_HEAR_MAX,
	.queue_bytes_max = ROSBRIDGE_QUEUE_BYTES_MAX,
	.slow_code = 1008,
	.slow_text = "the client does not read",
	.open = rosbridge_client_open,
	.hear = rosbridge_client_hear,
	.close = rosbridge_client_close,
	.turn = rosbridge_turn,
	.tell_lost = rosbridge_client_tell_lost,
};

static troupe_status rosbridge_start(struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	const char *robot = settings_text(def, "robot");
	struct rosbridge *gateway = hub->gateway = mem_alloc(sizeof *gateway);
	gateway->hub = gateway->topic_index.hub = hub;
	gateway->topic_index.robot = robot ? mem_strdup(robot) : NULL;
	troupe_status status = hub_open(hub, def,
		&(struct hub_options){.wake = port_wake,
			.ctx = &gateway->port,
			.for_clients = true,
			.keeps_time = true,
			.ros_services = true,
			.barrier_clients = true},
		error);
	gateway->topic_index.client = hub->client;
	return status ? status : port_start(&gateway->port, hub, &rosbridge_protocol, def, error);
}

static void rosbridge_destroy(void *ctx)
{
	struct rosbridge *gateway = ctx;
	port_end(&gateway->port);
	simulation_destroy(gateway->hub->simulation);
	gateway->hub->simulation = NULL;
	while (gateway->asked)
		rosbridge_call_drop(gateway->asked);
	topic_index_fini(&gateway->topic_index);
	free(gateway);
}

const struct hub_kind kind_rosbridge = {
	.about = {.name = "rosbridge", .title = "rosbridge", .has_token = true, .can_be_joined = true},
	.settings = (const char *const[]){"token", "require-token", "insecure", "cert", "key", "origin", "robot", NULL},
	.is_available = web_is_available,
	.start = rosbridge_start,
	.topic_came = hub_ignore_row,
	.topic_gone = hub_ignore_row,
	.topics_changed = rosbridge_topics_changed,
	.message = rosbridge_message,
	.reply = rosbridge_reply,
	.refused = rosbridge_refused,
	.moved = hub_ignore_moved,
	.end = rosbridge_end,
	.stop = port_stop,
	.destroy = rosbridge_destroy,
	.describe = port_describe,
	.count = hub_ignore_count,
};
