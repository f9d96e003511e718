/* All clients share one source (gateway/source.h), on the thread of the web server: a message is converted once,
 * whatever the number of its subscribers, and a topic without subscribers costs nothing. A message goes from protobuf's
 * bytes to CDR, as for every other gateway to ROS 2, and from there to JSON by the definition of its type. */
#include "gateway/ending.h"
#include "gateway/ros/json.h"
#include "gateway/rosbridge/user.h"
#include "topic/lockstep.pb-c.h"
#include "topic/message.h"

#include <troupe/gateway.h>

#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, LAST_BATCHES = 256 };
#define CLOCK_HZ 60.0

static void wake(void *ctx)
{
	struct troupe_rosbridge *gateway = ctx;
	struct web *web = atomic_load(&gateway->web);
	if (web)
		web_wake(web);
}

static void ask(void *ctx, const char *topic, bool more)
{
	struct troupe_rosbridge *gateway = ctx;
	if (more)
		(void)gateway->source->ops->subscribe(gateway->source, topic, 0, NULL);
	else
		gateway->source->ops->unsubscribe(gateway->source, topic);
	if (!strcmp(topic, gateway->clock))
		gateway->ticking = false; /* at the rate that it has now, or not at all */
}

void rosbridge_look(struct troupe_rosbridge *gateway)
{
	struct source *source = gateway->source;
	if (gateway->board.is_made && source->ops->epoch(source) == gateway->board.epoch)
		return;
	const struct troupe_topics *topics = source->ops->topics(source);
	board_update(&gateway->board, topics);
	source->ops->release(source, topics);
}

/* rosapi tells the time, also when no client has subscribed to the clock. */
static void follow_clock(struct troupe_rosbridge *gateway)
{
	bool asked = map_find(&gateway->board.is_asked, gateway->clock, &(uint32_t){0});
	bool wanted = gateway->users && !asked;
	if (wanted == gateway->ticking || asked)
		return;
	if (wanted)
		(void)gateway->source->ops->subscribe(gateway->source, gateway->clock, CLOCK_HZ, NULL);
	else
		gateway->source->ops->unsubscribe(gateway->source, gateway->clock);
	gateway->ticking = wanted;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void complain(const struct channel *channel, const char *why)
{
	for (uint32_t i = 0; i < channel->hearings.count; i++) {
		struct hearing *hearing = channel->hearings.at[i];
		if (!hearing->told_type)
			user_complain(hearing->user, USER_WARNING, NULL, "%.200s: a message is left out: %s",
				hearing->topic, why);
		hearing->told_type = true;
	}
}

/* Nothing is appended if the offer has none of the message. */
static troupe_status convert(const struct ros_offer *offer, const struct troupe_message *message, struct text *json,
	struct troupe_error *error)
{
	struct text cdr = {0};
	troupe_status status = names_convert(offer, message, &cdr, error);
	if (!status && cdr.count)
		status = ros_json_of_cdr(offer->type, cdr.at, cdr.count, json, error);
	text_fini(&cdr);
	return status;
}

/* To all names of the topic. Most of them have the same type, and then the same JSON. */
static void pass_on(struct troupe_rosbridge *gateway, const struct troupe_message *message)
{
	const struct board *board = &gateway->board;
	const struct ros_offer *converted = NULL;
	struct text json = {0};
	struct troupe_error error;
	for (uint32_t at = board_first_of_topic(board, message->topic); at != UINT32_MAX; at = board->same_topic[at]) {
		const struct ros_offer *offer = &board->names.offers.at[at];
		const struct channel *channel = board_channel(board, offer->name);
		if (!channel)
			continue;
		if (!converted || !names_are_alike(converted, offer)) {
			json.count = 0;
			converted = offer;
			if (convert(offer, message, &json, &error)) {
				complain(channel, error.text);
				converted = NULL;
				continue;
			}
		}
		for (uint32_t i = 0; i < channel->hearings.count && json.count; i++)
			hearing_give(channel->hearings.at[i], offer->type, &json);
	}
	text_fini(&json);
}

/* Why a barrier client's request was refused; NULL: it was not. */
static const char *refusal_of(const ProtobufCMessage *reply)
{
	const Troupe__Msgs__LockstepToClient *said = (const void *)reply;
	bool refused = reply->descriptor == &troupe__msgs__lockstep_to_client__descriptor &&
		       said->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED;
	return refused ? said->refused->text : NULL;
}

/* Gazebo's services say "no" by a Boolean, which has no place for the reason. */
static void answer(const struct call *call, const struct troupe_message *message)
{
	static const struct message_limits limits = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};
	struct text values = {0};
	struct troupe_error error;
	const char *why = message->text;
	ProtobufCMessage *reply;
	troupe_status status = message->status;
	if (!status) {
		status = message_of_bytes(
			type_find(call->reply_type), message->bytes, message->count, &limits, &reply, &error);
		why = error.text;
	}
	if (status) {
		user_answer(call->user, call->service, call->id, NULL, why && *why ? why : troupe_status_text(status));
		return;
	}
	message_add_json(&values, reply);
	user_answer(call->user, call->service, call->id, &values, refusal_of(reply));
	message_free(reply);
	text_fini(&values);
}

static void free_call(struct call *call)
{
	free(call->service);
	free(call->id);
	free(call->reply_type);
}

static void take_reply(struct troupe_rosbridge *gateway, const struct troupe_message *message)
{
	for (uint32_t i = 0; i < gateway->calls.count; i++) {
		struct call call = gateway->calls.at[i];
		if (call.tag != message->tag)
			continue;
		gateway->calls.at[i] = gateway->calls.at[--gateway->calls.count];
		if (call.user)
			answer(&call, message);
		free_call(&call);
		return;
	}
}

/* A run of another process has refused a message of a client: tells all clients that advertise the topic. */
static void pass_refusal(struct troupe_rosbridge *gateway, const struct troupe_message *message)
{
	const struct ros_names *names = &gateway->board.names;
	for (struct user *user = gateway->users; user; user = user->after)
		for (uint32_t i = 0; i < names->offers.count; i++) {
			const struct ros_offer *offer = &names->offers.at[i];
			if (offer->kind == TROUPE_TOPIC_TAKEN && offer->topic &&
				!strcmp(offer->topic, message->topic) && user_advertises(user, offer->name))
				user_complain(
					user, USER_ERROR, NULL, "publish: %.200s: %s", offer->name, message->text);
		}
}

/* --- barrier clients ---------------------------------------------------------------------------------------------- */

/* On this thread, or on that of the step. */
static void keep_reply(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	struct troupe_rosbridge *gateway = ctx;
	struct reply reply = {request, mem_alloc(count + 1), count};
	if (count)
		memcpy(reply.bytes, bytes, count);
	pthread_mutex_lock(&gateway->guard);
	vec_push(&gateway->replies.all, reply);
	pthread_mutex_unlock(&gateway->guard);
	wake(gateway);
}

static void take_replies(struct troupe_rosbridge *gateway)
{
	pthread_mutex_lock(&gateway->guard);
	struct replies taken = gateway->replies;
	gateway->replies = (struct replies){0};
	pthread_mutex_unlock(&gateway->guard);
	for (uint32_t i = 0; i < taken.all.count; i++) {
		const struct reply *reply = &taken.all.at[i];
		take_reply(gateway,
			&(struct troupe_message){
				.is_reply = true, .tag = reply->tag, .bytes = reply->bytes, .count = reply->count});
		free(reply->bytes);
	}
	vec_free(&taken.all);
}

/* --- a turn ------------------------------------------------------------------------------------------------------- */

/* Whether there may be more. */
static bool take_some(struct troupe_rosbridge *gateway)
{
	struct troupe_message message;
	for (int i = 0; i < BATCH; i++) {
		if (!gateway->source->ops->take(gateway->source, 0, &message))
			return false;
		if (message.is_reply && message.tag & SIMULATION_TAG) {
			simulation_take(gateway->simulation, &message);
			continue;
		}
		if (message.is_reply) {
			if (message.tag)
				take_reply(gateway, &message);
			else
				pass_refusal(gateway, &message);
			continue;
		}
		gateway->time_ns = (uint64_t)message.time_ns;
		pass_on(gateway, &message);
	}
	return true;
}

static void turn(void *ctx)
{
	struct troupe_rosbridge *gateway = ctx;
	if (gateway->users)
		rosbridge_look(gateway);
	follow_clock(gateway);
	take_replies(gateway);
	if (take_some(gateway))
		wake(gateway); /* other connections have their turn in between */
	for (struct user *user = gateway->users; user; user = user->after)
		user_turn(user);
}

/* Calls of services that have no reply yet. */
static void gateway_fail_calls(struct troupe_rosbridge *gateway, const char *why)
{
	for (uint32_t i = 0; i < gateway->calls.count; i++) {
		struct call *call = &gateway->calls.at[i];
		if (call->user)
			user_answer(call->user, call->service, call->id, NULL, why);
		free_call(call);
	}
	gateway->calls.count = 0;
}

/* All hear the last messages of the run, and those that wait for an answer hear why it has ended. */
static void take_last(void *ctx)
{
	struct troupe_rosbridge *gateway = ctx;
	const char *why = ending_text(gateway->failure);
	callers_destroy(gateway->callers, gateway->failure, why);
	gateway->callers = NULL;
	take_replies(gateway);
	for (int i = 0; i < LAST_BATCHES && take_some(gateway); i++)
		;
	simulation_end(gateway->simulation, why);
	gateway_fail_calls(gateway, why);
	for (struct user *user = gateway->users; user; user = user->after) {
		user_turn(user);
		if (gateway->failure)
			user_complain(user, USER_ERROR, NULL, "the run has failed: %s", why);
	}
}

static troupe_status call_server(void *ctx, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	struct troupe_rosbridge *gateway = ctx;
	return gateway->source->ops->call(gateway->source, service, type, bytes, count, tag, error);
}

static void start_simulation(struct troupe_rosbridge *gateway)
{
	const struct troupe_topics *topics = gateway->source->ops->topics(gateway->source);
	gateway->simulation = simulation_create(&(struct simulation_def){call_server, gateway}, topics);
	gateway->source->ops->release(gateway->source, topics);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

bool troupe_rosbridge_available(void)
{
	return web_is_available();
}

/* Clients of rosbridge ask for no subprotocol. A page of this machine is as good as a program of this machine. */
static troupe_status start_web(
	struct troupe_rosbridge *gateway, const struct troupe_rosbridge_def *def, struct troupe_error *error)
{
	static const char *const names[] = {"rosbridge", NULL};
	const char *const origins[] = {def->origin, NULL};
	const struct web_service service = {.names = names,
		.unnamed = true,
		.origins = origins,
		.local_origins = true,
		.hear_bytes_max = USER_HEAR_MAX,
		.open = user_open,
		.hear = user_hear,
		.room = user_room,
		.close = user_close,
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
		.peers_max = TROUPE_ROSBRIDGE_CLIENTS_MAX,
		.queue_bytes_max = 64 << 20,
		.say = def->say,
		.say_ctx = def->say_ctx};
	struct web *web;
	troupe_status status = web_start(&web_def, &web, error);
	if (!status)
		atomic_store(&gateway->web, web);
	return status;
}

static troupe_status make(const struct source_place *place, const struct troupe_rosbridge_def *def,
	struct troupe_rosbridge **ret_rosbridge, struct troupe_error *error)
{
	struct troupe_rosbridge *gateway = mem_alloc(sizeof *gateway);
	const char *client = place->run ? place->run->client : NULL;
	pthread_mutex_init(&gateway->guard, NULL);
	gateway->clock = client ? mem_printf("/%s/clock", client) : mem_strdup("/clock");
	gateway->board.client = client ? mem_strdup(client) : NULL;
	gateway->board.robot = def->robot ? mem_strdup(def->robot) : NULL;
	gateway->board.ask = ask;
	gateway->board.ctx = gateway;
	troupe_status status = source_open(place, 0, wake, gateway, &gateway->source, error);
	if (!status && place->server)
		gateway->callers = callers_create(place->server, keep_reply, gateway);
	if (!status) {
		start_simulation(gateway);
		status = start_web(gateway, def, error);
	}
	if (status) {
		troupe_rosbridge_end(gateway, error);
		return status;
	}
	*ret_rosbridge = gateway;
	return TROUPE_OK;
}

troupe_status troupe_rosbridge_start(struct troupe_server *server, const struct troupe_rosbridge_def *def,
	struct troupe_rosbridge **ret_rosbridge, struct troupe_error *error)
{
	return make(&(struct source_place){.server = server}, def, ret_rosbridge, error);
}

troupe_status troupe_rosbridge_connect(const struct troupe_view_run *run, const struct troupe_rosbridge_def *def,
	struct troupe_rosbridge **ret_rosbridge, struct troupe_error *error)
{
	return make(&(struct source_place){.run = run}, def, ret_rosbridge, error);
}

void troupe_rosbridge_end(struct troupe_rosbridge *gateway, const struct troupe_error *why)
{
	if (!gateway)
		return;
	struct web *web = atomic_load(&gateway->web);
	gateway->failure = why;
	if (web)
		web_stop(web, ending_text(why));
	callers_destroy(gateway->callers, why, ending_text(why)); /* only if there was no web server */
	source_destroy(gateway->source);                          /* until now it may wake the web server */
	web_end(web);
	simulation_destroy(gateway->simulation);
	while (gateway->asked)
		user_drop_asked(gateway->asked);
	for (uint32_t i = 0; i < gateway->calls.count; i++)
		free_call(&gateway->calls.at[i]);
	vec_free(&gateway->calls);
	for (uint32_t i = 0; i < gateway->replies.all.count; i++)
		free(gateway->replies.all.at[i].bytes);
	vec_free(&gateway->replies.all);
	pthread_mutex_destroy(&gateway->guard);
	gateway->board.ask = NULL;
	board_fini(&gateway->board);
	free(gateway->clock);
	free(gateway);
}

void troupe_rosbridge_address(const struct troupe_rosbridge *gateway, char *ret_text, size_t bytes)
{
	web_address(atomic_load(&gateway->web), "ws", ret_text, bytes);
}

struct troupe_rosbridge_counts troupe_rosbridge_counts(const struct troupe_rosbridge *gateway)
{
	return (struct troupe_rosbridge_counts){.clients = atomic_load(&gateway->clients),
		.published = atomic_load_explicit(&gateway->published, memory_order_relaxed),
		.lost = atomic_load_explicit(&gateway->lost, memory_order_relaxed),
		.boundaries_lost = gateway->source->ops->lost(gateway->source),
		.taken = atomic_load_explicit(&gateway->taken, memory_order_relaxed),
		.refused = atomic_load_explicit(&gateway->refused, memory_order_relaxed),
		.commands = gateway->source->ops->commands(gateway->source),
		.joined = gateway->callers ? callers_joined(gateway->callers) : 0};
}
