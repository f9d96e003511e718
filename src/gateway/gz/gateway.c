/* One thread carries everything: it sleeps until the node has an event or the server has a message. The table of topics
 * is compared with what the node offers when its epoch has grown. The server is asked for a topic only while a program
 * has subscribed to it, so that a topic without subscribers costs nothing. */
#include "base/map.h"
#include "gateway/ending.h"
#include "gateway/gz/node.h"
#include "gateway/lockstep/callers.h"
#include "gateway/source.h"

#include <troupe/client.h>
#include <troupe/gateway.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOK_MS = 100, BATCH = 256 };

struct offer { /* a topic or service of the server, as the node has it */
	struct troupe_gz *gateway;
	char *name, *type;
	troupe_topic_kind kind;
	struct node_publisher *publisher;
	struct node_subscription *subscription;
	struct node_service *service;
	bool wanted;      /* the server is asked for it */
	bool is_lockstep; /* a service of barrier clients: one of gateway.lockstep */
	uint64_t subscribers;
	uint64_t epoch; /* of the table in which it was seen last */
};

struct troupe_gz {
	struct source *source;
	struct node *node;
	pthread_t thread;
	int woken; /* event file */
	_Atomic bool stop;
	struct map index[3]; /* by kind: name -> index in offers */
	VEC(struct offer *) offers;
	struct callers *callers; /* barrier clients that join by calls */
	struct offer lockstep[CALLERS_SERVICES];
	uint64_t epoch;
	_Atomic uint64_t published, taken, refused;
};

static void wake(void *ctx)
{
	struct troupe_gz *gateway = ctx;
	uint64_t one = 1;
	(void)!write(gateway->woken, &one, sizeof one);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static troupe_status open_offer(struct troupe_gz *gateway, struct offer *offer, const struct troupe_topic *topic)
{
	if (topic->kind == TROUPE_TOPIC_PUBLISHED)
		return node_advertise(gateway->node, topic->name, topic->type, 0, offer, &offer->publisher, NULL);
	if (topic->kind == TROUPE_TOPIC_TAKEN)
		return node_subscribe(gateway->node, topic->name, 0, offer, &offer->subscription, NULL);
	return node_offer(gateway->node, topic->name, topic->type, topic->reply_type, offer, &offer->service, NULL);
}

static void close_offer(struct troupe_gz *gateway, struct offer *offer)
{
	if (offer->publisher)
		node_unadvertise(offer->publisher);
	if (offer->subscription)
		node_unsubscribe(offer->subscription);
	if (offer->service)
		node_withdraw(offer->service);
	if (offer->wanted)
		gateway->source->ops->unsubscribe(gateway->source, offer->name);
	free(offer->name);
	free(offer->type);
	free(offer);
}

/* What the node cannot offer (a name that gz-transport does not allow, too many) is left out: the table shows it. */
static void add_offer(struct troupe_gz *gateway, const struct troupe_topic *topic)
{
	struct offer *offer = mem_alloc(sizeof *offer);
	*offer = (struct offer){.gateway = gateway,
		.name = mem_strdup(topic->name),
		.type = mem_strdup(topic->type),
		.kind = topic->kind,
		.epoch = gateway->epoch};
	if (open_offer(gateway, offer, topic)) {
		close_offer(gateway, offer);
		return;
	}
	map_add(&gateway->index[offer->kind], offer->name, gateway->offers.count);
	vec_push(&gateway->offers, offer);
}

static void see_topic(struct troupe_gz *gateway, const struct troupe_topic *topic)
{
	uint32_t at;
	if (map_find(&gateway->index[topic->kind], topic->name, &at))
		gateway->offers.at[at]->epoch = gateway->epoch;
	else
		add_offer(gateway, topic);
}

static void drop_offer(struct troupe_gz *gateway, uint32_t at)
{
	struct offer *offer = gateway->offers.at[at], *last;
	map_remove(&gateway->index[offer->kind], offer->name);
	last = gateway->offers.at[--gateway->offers.count];
	if (last != offer) {
		map_remove(&gateway->index[last->kind], last->name);
		map_add(&gateway->index[last->kind], last->name, at);
		gateway->offers.at[at] = last;
	}
	close_offer(gateway, offer);
}

static void compare_tables(struct troupe_gz *gateway)
{
	if (gateway->source->ops->epoch(gateway->source) == gateway->epoch)
		return;
	const struct troupe_topics *topics = gateway->source->ops->topics(gateway->source);
	gateway->epoch = topics->epoch;
	for (uint32_t i = 0; i < topics->count; i++)
		see_topic(gateway, &topics->at[i]);
	gateway->source->ops->release(gateway->source, topics);
	for (uint32_t i = gateway->offers.count; i-- > 0;)
		if (gateway->offers.at[i]->epoch != gateway->epoch)
			drop_offer(gateway, i);
}

/* --- from the node ------------------------------------------------------------------------------------------------ */

/* Each subscriber that comes gets a message at once: a paused world has no next one, and a scene changes rarely. */
static void change_audience(struct troupe_gz *gateway, struct offer *offer, uint64_t subscribers)
{
	bool more = subscribers > offer->subscribers, wanted = subscribers > 0;
	offer->subscribers = subscribers;
	if (more && !gateway->source->ops->subscribe(gateway->source, offer->name, 0, NULL))
		offer->wanted = true;
	if (wanted || !offer->wanted)
		return;
	gateway->source->ops->unsubscribe(gateway->source, offer->name);
	offer->wanted = false;
}

static void take_event(struct troupe_gz *gateway, const struct node_event *event)
{
	struct offer *offer = event->ctx;
	troupe_status status = TROUPE_OK;
	switch (event->kind) {
	case NODE_SUBSCRIBERS:
		change_audience(gateway, offer, event->number);
		return;
	case NODE_MESSAGE:
		status = gateway->source->ops->publish(
			gateway->source, offer->name, event->type, event->bytes, event->count, NULL);
		break;
	case NODE_REQUEST:
		if (offer->is_lockstep) {
			if (!event->one_way)
				callers_take(gateway->callers, (enum callers_service)(offer - gateway->lockstep), 0,
					event->number, event->bytes, event->count);
			break;
		}
		status = gateway->source->ops->call(gateway->source, offer->name, event->type, event->bytes,
			event->count, event->one_way ? 0 : event->number, NULL);
		if (status && !event->one_way)
			(void)node_reply(gateway->node, event->number, false, NULL, 0);
		break;
	default:
		return;
	}
	atomic_fetch_add_explicit(status ? &gateway->refused : &gateway->taken, 1, memory_order_relaxed);
}

static void take_events(struct troupe_gz *gateway)
{
	struct node_event event;
	for (uint32_t i = 0; i < BATCH && node_next(gateway->node, 0, &event); i++) {
		take_event(gateway, &event);
		node_event_fini(&event);
	}
}

/* --- from the server ---------------------------------------------------------------------------------------------- */

/* Gazebo's services say "no" by a Boolean; other types of reply have no place for it. */
static bool is_good(const struct troupe_message *message)
{
	return message->status == TROUPE_OK || !strcmp(message->type, "gz.msgs.Boolean");
}

static void pass_on(struct troupe_gz *gateway, const struct troupe_message *message)
{
	uint32_t at;
	if (message->is_reply) {
		if (message->tag)
			(void)node_reply(gateway->node, message->tag, is_good(message), message->bytes, message->count);
		else if (message->status) /* a run of another process has refused a message */
			atomic_fetch_add_explicit(&gateway->refused, 1, memory_order_relaxed);
		return;
	}
	if (!map_find(&gateway->index[TROUPE_TOPIC_PUBLISHED], message->topic, &at))
		return;
	if (node_queue(gateway->offers.at[at]->publisher, message->bytes, message->count) == NODE_SENT)
		atomic_fetch_add_explicit(&gateway->published, 1, memory_order_relaxed);
}

/* Whether there may be more. */
static bool pass_on_some(struct troupe_gz *gateway)
{
	struct troupe_message message;
	uint32_t count = 0;
	while (count < BATCH && gateway->source->ops->take(gateway->source, 0, &message)) {
		pass_on(gateway, &message);
		count++;
	}
	if (count)
		node_flush(gateway->node);
	return count == BATCH;
}

static void *work(void *arg)
{
	struct troupe_gz *gateway = arg;
	bool more = false;
	while (!atomic_load(&gateway->stop)) {
		struct pollfd fds[] = {
			{.fd = node_fd(gateway->node), .events = POLLIN}, {.fd = gateway->woken, .events = POLLIN}};
		uint64_t rung;
		(void)poll(fds, 2, more ? 0 : LOOK_MS);
		if (fds[1].revents)
			(void)!read(gateway->woken, &rung, sizeof rung);
		compare_tables(gateway);
		take_events(gateway);
		more = pass_on_some(gateway);
	}
	return NULL;
}

/* --- barrier clients ---------------------------------------------------------------------------------------------- */

static void reply(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	struct troupe_gz *gateway = ctx;
	(void)node_reply(gateway->node, request, true, bytes, count);
}

/* On the node's thread. */
static bool take_answer(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	const struct offer *offer = ctx;
	return callers_answer(offer->gateway->callers, request, bytes, count);
}

static troupe_status offer_lockstep(struct troupe_gz *gateway, struct troupe_server *server, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	gateway->callers = callers_create(server, reply, gateway);
	for (int i = 0; i < CALLERS_SERVICES && !status; i++) {
		struct offer *offer = &gateway->lockstep[i];
		*offer = (struct offer){.gateway = gateway, .kind = TROUPE_TOPIC_SERVICE, .is_lockstep = true};
		status = node_offer(gateway->node, callers_rows[i].name, callers_rows[i].type,
			callers_rows[i].reply_type, offer, &offer->service, error);
	}
	if (!status)
		node_take_directly(gateway->lockstep[CALLERS_STEP].service, take_answer);
	return status;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status create_node(struct troupe_gz *gateway, const struct troupe_gz_def *def, struct troupe_error *error)
{
	/* What a system publishes and another one listens to stays in its run: two runs on a machine that have the same
	 * topics would else command each other, and have other bits than each alone. */
	struct node_options options = {.family = "troupe"};
	troupe_status status = node_options_read_environment(&options, error);
	if (status)
		return status;
	options.address = def->address; /* a variable does not open the run to other hosts */
	if (def->partition)
		options.partition = def->partition;
	return node_create(&options, &gateway->node, error);
}

static troupe_status start(const struct source_place *place, const struct troupe_gz_def *def, struct troupe_gz **ret_gz,
	struct troupe_error *error)
{
	struct troupe_gz *gateway = mem_alloc(sizeof *gateway);
	gateway->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	troupe_status status = gateway->woken < 0
				       ? fail(error, TROUPE_EIO, "gz-transport: no event file: %s", strerror(errno))
				       : source_open(place, 0, wake, gateway, &gateway->source, error);
	if (!status)
		status = create_node(gateway, def, error);
	if (!status && place->server)
		status = offer_lockstep(gateway, place->server, error);
	if (!status) {
		compare_tables(gateway);
		int failed = pthread_create(&gateway->thread, NULL, work, gateway);
		mem_check_thread(failed);
		if (failed)
			status =
				fail(error, TROUPE_ELIMIT, "gz-transport: cannot start a thread: %s", strerror(failed));
	}
	if (status) {
		atomic_store(&gateway->stop, true);
		gateway->thread = pthread_self(); /* there is none to wait for */
		troupe_gz_end(gateway, error);
		return status;
	}
	*ret_gz = gateway;
	return TROUPE_OK;
}

troupe_status troupe_gz_start(struct troupe_server *server, const struct troupe_gz_def *def, struct troupe_gz **ret_gz,
	struct troupe_error *error)
{
	return start(&(struct source_place){.server = server}, def, ret_gz, error);
}

troupe_status troupe_gz_connect(const struct troupe_view_run *run, const struct troupe_gz_def *def,
	struct troupe_gz **ret_gz, struct troupe_error *error)
{
	return start(&(struct source_place){.run = run}, def, ret_gz, error);
}

void troupe_gz_end(struct troupe_gz *gateway, const struct troupe_error *why)
{
	if (!gateway)
		return;
	if (!atomic_exchange(&gateway->stop, true)) {
		wake(gateway);
		pthread_join(gateway->thread, NULL);
	}
	if (gateway->lockstep[CALLERS_STEP].service)
		node_take_directly(gateway->lockstep[CALLERS_STEP].service, NULL);
	callers_destroy(gateway->callers, why, ending_text(why));
	if (gateway->source && gateway->node) /* messages from before the end are still sent */
		while (pass_on_some(gateway))
			;
	while (gateway->offers.count)
		drop_offer(gateway, gateway->offers.count - 1);
	for (int kind = 0; kind < 3; kind++)
		map_fini(&gateway->index[kind]);
	vec_free(&gateway->offers);
	if (gateway->node)
		node_destroy(gateway->node);
	source_destroy(gateway->source);
	if (gateway->woken >= 0)
		close(gateway->woken);
	free(gateway);
}

struct troupe_gz_counts troupe_gz_counts(const struct troupe_gz *gateway)
{
	return (struct troupe_gz_counts){.published = atomic_load_explicit(&gateway->published, memory_order_relaxed),
		.boundaries_lost = gateway->source->ops->lost(gateway->source),
		.taken = atomic_load_explicit(&gateway->taken, memory_order_relaxed),
		.refused = atomic_load_explicit(&gateway->refused, memory_order_relaxed),
		.commands = gateway->source->ops->commands(gateway->source),
		.joined = gateway->callers ? callers_joined(gateway->callers) : 0};
}

void troupe_gz_describe(const struct troupe_gz *gateway, char *ret_text, size_t bytes)
{
	struct text text = {0};
	node_describe(gateway->node, &text);
	(void)snprintf(ret_text, bytes, "%s", text.at);
	text_fini(&text);
}

bool troupe_gz_available(void)
{
	return node_is_available();
}
