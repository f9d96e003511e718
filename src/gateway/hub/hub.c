/* One turn does everything in a fixed order: a recording that has jumped, topics that came and went, the clock, replies
 * to barrier clients, messages. A turn takes a bounded number of messages, so that the gateway's thread has time for
 * its clients in between.
 *
 * Replies to barrier clients may come on the thread of the step: they wait in a list of their own until a turn, unless
 * the gateway can answer on any thread. */
#include "gateway/hub/hub.h"

#include "base/base.h"
#include "gateway/ending.h"
#include "gateway/lockstep/callers.h"
#include "gateway/play.h"
#include "gateway/ros/simulation.h"
#include "gateway/relay/remote.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HUB_BATCH = 256, HUB_LAST_BATCHES = 256 };
#define HUB_CLOCK_HZ 60.0

struct hub_call {
	struct hub_call *next;
	uint64_t tag;
	void *client, *request;
	/* of a barrier client: its reply, while it waits */
	const char *reply_type;
	char *bytes;
	size_t count;
};

void hub_ignore_row(void *gateway, struct mirror_row *row)
{
	(void)gateway, (void)row;
}

void hub_ignore_topics(void *gateway, const struct troupe_topics *topics)
{
	(void)gateway, (void)topics;
}

void hub_ignore_refused(void *gateway, const char *topic, const char *why)
{
	(void)gateway, (void)topic, (void)why;
}

void hub_ignore_moved(void *gateway, bool is_open)
{
	(void)gateway, (void)is_open;
}

void hub_ignore_end(void *gateway, const char *why, bool failed)
{
	(void)gateway, (void)why, (void)failed;
}

void hub_ignore_count(const void *gateway, struct troupe_gateway_counts *counts)
{
	(void)gateway, (void)counts;
}

/* Wakes the gateway's thread. Any thread. */
static void hub_wake(struct hub *hub)
{
	hub->options.wake(hub->options.ctx);
}

void hub_say(const struct hub *hub, const char *format, ...)
{
	struct troupe_error line;
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	if (hub->say)
		hub->say(hub->say_ctx, line.text);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

const struct troupe_topics *hub_topics(struct hub *hub)
{
	return hub->bus->ops->topics(hub->bus);
}

void hub_release(struct hub *hub, const struct troupe_topics *topics)
{
	if (topics)
		hub->bus->ops->release(hub->bus, topics);
}

const struct troupe_topic *hub_find(const struct troupe_topics *topics, troupe_topic_kind kind, const char *name)
{
	uint32_t low = 0, high = topics->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(topics->at[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < topics->count && !strcmp(topics->at[low].name, name); low++)
		if (topics->at[low].kind == kind)
			return &topics->at[low];
	return NULL;
}

static void hub_row_came(void *ctx, struct mirror_row *row)
{
	struct hub *hub = ctx;
	hub->kind->topic_came(hub->gateway, row);
}

static void hub_row_goes(void *ctx, struct mirror_row *row)
{
	struct hub *hub = ctx;
	hub->kind->topic_gone(hub->gateway, row);
}

/* The rows of the mirror: the run's, the gateway's own, and the services of barrier clients. */
static struct troupe_topics hub_extended(struct hub *hub, const struct troupe_topics *topics)
{
	const struct troupe_topics all = hub->options.extend ? hub->options.extend(hub->gateway, topics) : *topics;
	if (!hub->callers)
		return all;
	hub->extended.count = 0;
	for (uint32_t i = 0; i < all.count; i++)
		vec_push(&hub->extended, all.at[i]);
	for (int i = 0; i < CALLERS_SERVICES; i++)
		vec_push(&hub->extended, (struct troupe_topic){.name = callers_rows[i].name,
						 .kind = TROUPE_TOPIC_SERVICE,
						 .type = callers_rows[i].type,
						 .reply_type = callers_rows[i].reply_type,
						 .owner = "server"});
	return (struct troupe_topics){.epoch = all.epoch, .count = hub->extended.count, .at = hub->extended.at};
}

void hub_look(struct hub *hub)
{
	if (!hub->bus || (hub->looked && hub->bus->ops->epoch(hub->bus) == hub->epoch))
		return;
	const struct troupe_topics *topics = hub_topics(hub);
	const struct troupe_topics all = hub_extended(hub, topics);
	hub->looked = true;
	hub->epoch = topics->epoch;
	mirror_update(&hub->mirror, &all, hub_row_came, hub_row_goes, hub);
	if (hub->simulation)
		simulation_look(hub->simulation, topics);
	hub->kind->topics_changed(hub->gateway, topics);
	hub_release(hub, topics);
}

/* --- the clock ---------------------------------------------------------------------------------------------------- */

/* Some protocols tell the time, also when nothing else is subscribed to. */
static void hub_follow_clock(struct hub *hub)
{
	bool wanted = hub->options.keeps_time && hub->clients && !hub->play;
	if (wanted == hub->ticks || hub_is_subscribed(hub, hub->clock))
		return;
	if (wanted)
		(void)hub->bus->ops->subscribe(hub->bus, hub->clock, HUB_CLOCK_HZ, NULL);
	else
		hub->bus->ops->unsubscribe(hub->bus, hub->clock);
	hub->ticks = wanted;
}

/* --- to the run --------------------------------------------------------------------------------------------------- */

troupe_status hub_publish(struct hub *hub, const char *topic, const char *type, const void *bytes, size_t count,
	struct troupe_error *error)
{
	return hub->bus->ops->publish(hub->bus, topic, type, bytes, count, error);
}

static struct hub_call *hub_add_call(struct hub *hub, const struct hub_caller *caller, const char *reply_type)
{
	struct hub_call *call = mem_alloc(sizeof *call);
	*call = (struct hub_call){.next = hub->calls,
		.tag = ++hub->tags,
		.client = caller->client,
		.request = caller->request,
		.reply_type = reply_type};
	hub->calls = call;
	return call;
}

static struct hub_call *hub_take_call(struct hub *hub, uint64_t tag)
{
	for (struct hub_call **at = &hub->calls; *at; at = &(*at)->next)
		if ((*at)->tag == tag) {
			struct hub_call *call = *at;
			*at = call->next;
			return call;
		}
	return NULL;
}

static void hub_free_call(struct hub_call *call)
{
	free(call->bytes);
	free(call);
}

static void hub_reply(struct hub *hub, struct hub_call *call, const struct hub_reply *reply)
{
	hub->kind->reply(hub->gateway, call->client, call->request, reply);
	hub_free_call(call);
}

/* NULL: it is a service of the run. */
static const struct callers_row *hub_barrier_service(const struct hub *hub, const char *name)
{
	for (int i = 0; i < CALLERS_SERVICES && hub->callers; i++)
		if (!strcmp(callers_rows[i].name, name))
			return &callers_rows[i];
	return NULL;
}

static void hub_call_barrier(struct hub *hub, const struct hub_caller *caller, const struct callers_row *row,
	const void *bytes, size_t count)
{
	enum callers_service service = (enum callers_service)(row - callers_rows);
	if (!caller)
		return; /* a barrier client that wants no reply is none */
	uint64_t request = hub->options.reply_at_once ? (uint64_t)(uintptr_t)caller->request
						      : hub_add_call(hub, caller, row->reply_type)->tag;
	callers_take(hub->callers, service, caller->connection, request, bytes, count);
}

troupe_status hub_call(struct hub *hub, const struct hub_caller *caller, const char *service, const char *type,
	const void *bytes, size_t count, struct troupe_error *error)
{
	const struct callers_row *row = hub_barrier_service(hub, service);
	if (row) {
		hub_call_barrier(hub, caller, row, bytes, count);
		return TROUPE_OK;
	}
	uint64_t tag = caller ? hub->tags + 1 : 0;
	troupe_status status = hub->bus->ops->call(hub->bus, service, type, bytes, count, tag, error);
	if (!status && caller)
		(void)hub_add_call(hub, caller, NULL);
	return status;
}

static troupe_status hub_call_of_simulation(void *ctx, const char *service, const char *type, const void *bytes,
	size_t count, uint64_t tag, struct troupe_error *error)
{
	struct hub *hub = ctx;
	return hub->bus->ops->call(hub->bus, service, type, bytes, count, tag, error);
}

/* No gateway subscribes to these topics, for their types have no counterpart in ROS 2. */
static void hub_subscribe_for_simulation(void *ctx, const char *topic, double rate_hz)
{
	struct hub *hub = ctx;
	(void)hub->bus->ops->subscribe(hub->bus, topic, rate_hz, NULL);
}

static void hub_unsubscribe_for_simulation(void *ctx, const char *topic)
{
	struct hub *hub = ctx;
	if (hub->bus)
		hub->bus->ops->unsubscribe(hub->bus, topic);
}

void hub_forget(struct hub *hub, const void *client, uint64_t connection)
{
	for (struct hub_call *call = hub->calls; call; call = call->next)
		if (call->client == client)
			call->client = NULL;
	if (hub->callers && connection)
		callers_lose(hub->callers, connection);
}

static void hub_fail_calls(struct hub *hub, const char *why)
{
	while (hub->calls)
		hub_reply(hub, hub_take_call(hub, hub->calls->tag),
			&(struct hub_reply){.status = TROUPE_ECOMMAND, .why = why});
}

/* --- barrier clients ---------------------------------------------------------------------------------------------- */

/* On the gateway's thread, or on that of the step. */
static void hub_keep_answer(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	struct hub *hub = ctx;
	if (hub->options.reply_at_once) {
		hub->options.reply_at_once(hub->gateway, (void *)(uintptr_t)request, bytes, count);
		return;
	}
	struct hub_call *answer = mem_alloc(sizeof *answer);
	*answer = (struct hub_call){.tag = request, .bytes = mem_alloc(count + 1), .count = count};
	if (count)
		memcpy(answer->bytes, bytes, count);
	pthread_mutex_lock(&hub->guard);
	struct hub_call **last = &hub->answered;
	while (*last)
		last = &(*last)->next;
	*last = answer;
	pthread_mutex_unlock(&hub->guard);
	hub_wake(hub);
}

static void hub_take_answers(struct hub *hub)
{
	pthread_mutex_lock(&hub->guard);
	struct hub_call *answers = hub->answered;
	hub->answered = NULL;
	pthread_mutex_unlock(&hub->guard);
	while (answers) {
		struct hub_call *answer = answers, *call = hub_take_call(hub, answer->tag);
		answers = answer->next;
		if (call)
			hub_reply(hub, call,
				&(struct hub_reply){
					.type = call->reply_type, .bytes = answer->bytes, .count = answer->count});
		hub_free_call(answer);
	}
}

/* --- from the run ------------------------------------------------------------------------------------------------- */

static void hub_take_reply(struct hub *hub, const struct troupe_message *message)
{
	if (message->tag & SIMULATION_TAG && hub->simulation) {
		simulation_take(hub->simulation, message);
		return;
	}
	if (!message->tag) {
		if (message->status)
			hub->kind->refused(hub->gateway, message->topic, message->text);
		return;
	}
	struct hub_call *call = hub_take_call(hub, message->tag);
	if (!call)
		return;
	const char *why = message->text;
	if (message->status && !(why && *why))
		why = troupe_status_text(message->status);
	hub_reply(hub, call,
		&(struct hub_reply){
			message->status, why, message->type, message->bytes, message->count, message->step});
}

/* Whether there may be more. */
static bool hub_take_some(struct hub *hub)
{
	struct troupe_message message;
	for (int i = 0; i < HUB_BATCH; i++) {
		if (!hub->bus->ops->take(hub->bus, 0, &message))
			return false;
		if (message.is_reply) {
			hub_take_reply(hub, &message);
		} else if (!hub->options.hides || !hub->options.hides(hub->gateway, &message)) {
			hub->time_ns = (uint64_t)message.time_ns;
			hub_note_message(hub, &message);
			if (hub->simulation)
				simulation_hear(hub->simulation, &message);
			hub->kind->message(hub->gateway, &message);
		}
	}
	return true;
}

/* --- the bus ------------------------------------------------------------------------------------------------------ */

static troupe_status hub_open_bus(struct hub *hub, struct troupe_error *error)
{
	return bus_open(&hub->place, hub->options.depth, hub->options.wake, hub->options.ctx, &hub->bus, error);
}

static void hub_close_bus(struct hub *hub)
{
	bus_destroy(hub->bus);
	hub->bus = NULL;
}

/* The thread that plays waits until this is done, and then destroys the former server. */
static void hub_move(struct hub *hub)
{
	struct troupe_server *next = atomic_load(&hub->next_server);
	if (!next)
		return;
	hub_fail_calls(hub, "the recording has jumped to another step");
	hub->kind->moved(hub->gateway, false);
	hub_close_bus(hub);
	hub->place.server = next;
	troupe_status status = hub_open_bus(hub, NULL);
	assert(!status); /* as the first time */
	hub->looked = false;
	for (uint32_t i = 0; i < hub->subscriptions.rows.count; i++)
		hub->subscriptions.rows.at[i]->has_any = hub->subscriptions.rows.at[i]->again = false;
	hub_look(hub);
	hub->kind->moved(hub->gateway, true);
	atomic_store(&hub->next_server, NULL);
}

/* On the thread that plays. */
static void hub_change_server(void *ctx, struct troupe_server *server)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	struct hub *hub = ctx;
	atomic_store(&hub->next_server, server);
	while (atomic_load(&hub->next_server)) {
		hub_wake(hub);
		(void)nanosleep(&nap, NULL);
	}
}

static void hub_tell_end(struct hub *hub, const char *why, bool failed)
{
	if (!hub->end_told)
		hub->kind->end(hub->gateway, why, failed);
	hub->end_told = true;
}

/* A run of another process that has ended, or whose connection is lost. The process of a robot client ends its gateways
 * itself, with what it knows of the reason. */
static void hub_look_at_remote(struct hub *hub)
{
	struct troupe_error why;
	if (hub->place.server || hub->is_over || !remote_is_over(hub->bus, &why))
		return;
	hub->over_why = why;
	if (!hub->client)
		hub_tell_end(hub, why.text, why.status != TROUPE_OK);
	atomic_store(&hub->is_over, true);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void hub_start_simulation(struct hub *hub)
{
	const struct troupe_topics *topics = hub_topics(hub);
	hub->simulation = simulation_create(&(struct simulation_def){.call = hub_call_of_simulation,
						    .subscribe = hub_subscribe_for_simulation,
						    .unsubscribe = hub_unsubscribe_for_simulation,
						    .ctx = hub,
						    .client = hub->client},
		topics);
	hub_release(hub, topics);
}

troupe_status hub_open(struct hub *hub, const struct troupe_gateway_def *def, const struct hub_options *options,
	struct troupe_error *error)
{
	const char *client = def->run ? def->run->client : NULL;
	troupe_status status = TROUPE_OK;
	hub->options = *options;
	hub->place = (struct bus_place){.server = def->server, .run = def->run};
	hub->client = client ? mem_strdup(client) : NULL;
	hub->clock = client ? mem_printf("/%s/clock", client) : mem_strdup("/clock");
	if (def->recording)
		status = play_open(def->recording, hub_change_server, hub, &hub->play, error);
	if (hub->play)
		hub->place.server = play_server(hub->play);
	if (!status)
		status = hub_open_bus(hub, error);
	hub->place.run = NULL; /* it is the caller's */
	if (status)
		return status;
	if (options->barrier_clients && def->server)
		hub->callers = callers_create(def->server, hub_keep_answer, hub);
	if (options->ros_services)
		hub_start_simulation(hub);
	return TROUPE_OK;
}

bool hub_turn(struct hub *hub)
{
	hub_move(hub);
	if (hub->options.begin_turn)
		hub->options.begin_turn(hub->gateway);
	if (!hub->options.for_clients || hub->clients)
		hub_look(hub);
	hub_follow_clock(hub);
	hub_take_answers(hub);
	bool more = hub_take_some(hub);
	hub_look_at_remote(hub);
	return more;
}

void hub_finish(struct hub *hub)
{
	const char *why = ending_text(hub->failure);
	if (hub->is_finished || !hub->bus)
		return;
	hub->is_finished = true;
	callers_destroy(hub->callers, hub->failure, why);
	hub->callers = NULL;
	hub_take_answers(hub);
	for (int i = 0; i < HUB_LAST_BATCHES && !hub->play && hub_take_some(hub); i++)
		;
	if (hub->simulation)
		simulation_end(hub->simulation, why);
	hub_fail_calls(hub, why);
	hub_tell_end(hub, why, hub->failure);
}

void hub_fini(struct hub *hub)
{
	hub_finish(hub);
	mirror_fini(&hub->mirror, hub_row_goes, hub);
	while (hub->subscriptions.rows.count)
		hub_unsubscribe(hub, hub->subscriptions.rows.at[0]->topic);
	hub_close_bus(hub);
	hub_take_answers(hub);
	if (hub->gateway)
		hub->kind->destroy(hub->gateway);
	simulation_destroy(hub->simulation);
	play_close(hub->play);
	subscriber_list_fini(&hub->subscriptions);
	vec_free(&hub->extended);
	free(hub->client);
	free(hub->clock);
}
