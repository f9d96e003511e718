/* One thread carries everything: it sleeps until the node has an event or the run has a message. The run is asked for a
 * topic only while a program has subscribed to it, so that a topic without subscribers costs nothing. */
#include "base/base.h"
#include "gateway/gz/node.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/settings.h"
#include "gateway/lockstep/callers.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { GZ_LOOK_MS = 100, GZ_BATCH = 256 };

struct gz_offer { /* a row of the mirror, as the node has it */
	struct gz *gateway;
	const struct mirror_row *row;
	struct node_publisher *publisher;
	struct node_subscription *subscription;
	struct node_service *service;
	uint64_t subscribers;
};

struct gz {
	struct hub *hub;
	struct node *node;
	pthread_t thread;
	bool started;
	int woken; /* event file */
	_Atomic bool stop;
	/* the service of barrier clients whose requests are taken on the node's thread; NULL: none */
	struct node_service *step;
};

static void gz_gateway_wake(void *ctx)
{
	struct gz *gateway = ctx;
	uint64_t one = 1;
	(void)!write(gateway->woken, &one, sizeof one);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

/* On the node's thread. */
static bool gz_gateway_take_answer(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	const struct gz_offer *offer = ctx;
	return callers_answer(offer->gateway->hub->callers, request, bytes, count);
}

static troupe_status gz_gateway_open_offer(struct gz_offer *offer, const struct mirror_row *row)
{
	struct node *node = offer->gateway->node;
	if (row->kind == TROUPE_TOPIC_PUBLISHED)
		return node_advertise(node, row->name, row->type, 0, offer, &offer->publisher, NULL);
	if (row->kind == TROUPE_TOPIC_TAKEN)
		return node_subscribe(node, row->name, 0, offer, &offer->subscription, NULL);
	return node_offer(node, row->name, row->type, row->reply_type, offer, &offer->service, NULL);
}

/* What the node cannot offer (a name that gz-transport does not allow, too many) is left out: the table shows it. */
static void gz_gateway_topic_came(void *ctx, struct mirror_row *row)
{
	struct gz *gateway = ctx;
	struct gz_offer *offer = mem_alloc(sizeof *offer);
	*offer = (struct gz_offer){.gateway = gateway, .row = row};
	if (gz_gateway_open_offer(offer, row)) {
		free(offer);
		return;
	}
	row->data = offer;
	if (gateway->hub->callers && offer->service && !strcmp(row->name, callers_rows[CALLERS_STEP].name)) {
		gateway->step = offer->service;
		node_take_directly(gateway->step, gz_gateway_take_answer);
	}
}

static void gz_gateway_topic_gone(void *ctx, struct mirror_row *row)
{
	struct gz *gateway = ctx;
	struct gz_offer *offer = row->data;
	if (!offer)
		return;
	if (offer->publisher)
		node_unadvertise(offer->publisher);
	if (offer->subscription)
		node_unsubscribe(offer->subscription);
	if (offer->service)
		node_withdraw(offer->service);
	if (row->kind == TROUPE_TOPIC_PUBLISHED)
		hub_unsubscribe(gateway->hub, row->name);
	free(offer);
}

/* --- from the node ------------------------------------------------------------------------------------------------ */

/* Each subscriber that comes gets a message at once: a paused world has no next one, and a scene changes rarely. */
static void gz_gateway_change_subscribers(struct gz *gateway, struct gz_offer *offer, uint64_t subscribers)
{
	bool more = subscribers > offer->subscribers;
	offer->subscribers = subscribers;
	if (more)
		(void)hub_subscribe(gateway->hub, offer->row->name, NULL, NULL);
	else if (!subscribers)
		hub_unsubscribe(gateway->hub, offer->row->name);
}

static void gz_gateway_take_event(struct gz *gateway, const struct node_event *event)
{
	struct gz_offer *offer = event->ctx;
	/* the request is the number of the node's: none is 0 */
	const struct hub_caller caller = {.request = (void *)(uintptr_t)event->number};
	troupe_status status = TROUPE_OK;
	switch (event->kind) {
	case NODE_SUBSCRIBERS:
		gz_gateway_change_subscribers(gateway, offer, event->number);
		return;
	case NODE_MESSAGE:
		status = hub_publish(gateway->hub, offer->row->name, event->type, event->bytes, event->count, NULL);
		break;
	case NODE_REQUEST:
		status = hub_call(gateway->hub, event->one_way ? NULL : &caller, offer->row->name, event->type,
			event->bytes, event->count, NULL);
		if (status && !event->one_way)
			(void)node_reply(gateway->node, event->number, false, NULL, 0);
		break;
	default:
		return;
	}
	hub_count(status ? &gateway->hub->refused : &gateway->hub->taken);
}

static void gz_gateway_take_events(struct gz *gateway)
{
	struct node_event event;
	for (uint32_t i = 0; i < GZ_BATCH && node_next(gateway->node, 0, &event); i++) {
		gz_gateway_take_event(gateway, &event);
		node_event_fini(&event);
	}
}

/* --- from the run ------------------------------------------------------------------------------------------------- */

static void gz_gateway_message(void *ctx, const struct troupe_message *message)
{
	struct gz *gateway = ctx;
	const struct mirror_row *row = mirror_find(&gateway->hub->mirror, TROUPE_TOPIC_PUBLISHED, message->topic);
	const struct gz_offer *offer = row ? row->data : NULL;
	if (offer && node_queue(offer->publisher, message->bytes, message->count) == NODE_SENT)
		hub_count(&gateway->hub->published);
}

/* Gazebo's services say "no" by a Boolean; other types of reply have no place for it. */
static void gz_gateway_reply(void *ctx, void *client, void *request, const struct hub_reply *reply)
{
	struct gz *gateway = ctx;
	bool good = !reply->status || (reply->type && !strcmp(reply->type, "gz.msgs.Boolean"));
	(void)client;
	(void)node_reply(gateway->node, (uint64_t)(uintptr_t)request, good, reply->bytes, reply->count);
}

/* To a barrier client, on any thread. */
static void gz_gateway_reply_at_once(void *ctx, void *request, const void *bytes, size_t count)
{
	struct gz *gateway = ctx;
	(void)node_reply(gateway->node, (uint64_t)(uintptr_t)request, true, bytes, count);
}

static void gz_gateway_refused(void *ctx, const char *topic, const char *why)
{
	struct gz *gateway = ctx;
	(void)topic, (void)why;
	hub_count(&gateway->hub->refused);
}

static void *gz_gateway_work(void *ctx)
{
	struct gz *gateway = ctx;
	bool more = false;
	while (!atomic_load(&gateway->stop)) {
		struct pollfd fds[] = {
			{.fd = node_fd(gateway->node), .events = POLLIN}, {.fd = gateway->woken, .events = POLLIN}};
		uint64_t rung;
		(void)poll(fds, 2, more ? 0 : GZ_LOOK_MS);
		if (fds[1].revents)
			(void)!read(gateway->woken, &rung, sizeof rung);
		hub_look(gateway->hub);
		gz_gateway_take_events(gateway);
		more = hub_turn(gateway->hub);
		node_flush(gateway->node);
	}
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status gz_gateway_create_node(
	struct gz *gateway, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	/* What a system publishes and another one listens to stays in its run: two runs on a machine that have the same
	 * topics would else command each other, and have other bits than each alone. */
	struct node_options options = {.family = "troupe"};
	const char *partition = settings_text(def, "partition");
	troupe_status status = node_options_read_environment(&options, error);
	if (status)
		return status;
	options.address = def->address; /* a variable does not open the run to other hosts */
	if (partition)
		options.partition = partition;
	return node_create(&options, &gateway->node, error);
}

static troupe_status gz_gateway_start(struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	struct gz *gateway = hub->gateway = mem_alloc(sizeof *gateway);
	gateway->hub = hub;
	gateway->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (gateway->woken < 0)
		return fail(error, TROUPE_EIO, "gz-transport: no event file: %s", strerror(errno));
	troupe_status status = gz_gateway_create_node(gateway, def, error);
	if (!status)
		status = hub_open(hub, def,
			&(struct hub_options){.wake = gz_gateway_wake,
				.ctx = gateway,
				.barrier_clients = true,
				.reply_at_once = gz_gateway_reply_at_once},
			error);
	if (status)
		return status;
	hub_look(hub);
	int failed = pthread_create(&gateway->thread, NULL, gz_gateway_work, gateway);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "gz-transport: cannot start a thread: %s", strerror(failed));
	gateway->started = true;
	return TROUPE_OK;
}

static void gz_gateway_stop(void *ctx)
{
	struct gz *gateway = ctx;
	if (gateway->started) {
		atomic_store(&gateway->stop, true);
		gz_gateway_wake(gateway);
		pthread_join(gateway->thread, NULL);
	}
	if (gateway->step)
		node_take_directly(gateway->step, NULL);
	hub_finish(gateway->hub); /* messages from before the end are still sent */
	if (gateway->node)
		node_flush(gateway->node);
}

static void gz_gateway_destroy(void *ctx)
{
	struct gz *gateway = ctx;
	if (gateway->node)
		node_destroy(gateway->node);
	if (gateway->woken >= 0)
		close(gateway->woken);
	free(gateway);
}

static void gz_gateway_describe(const void *ctx, struct text *out)
{
	const struct gz *gateway = ctx;
	node_describe(gateway->node, out);
}

const struct hub_kind kind_gz = {
	.about = {.name = "gz", .title = "gz-transport", .can_be_joined = true, .address_opens = true},
	.settings = (const char *const[]){"partition", NULL},
	.is_available = node_is_available,
	.start = gz_gateway_start,
	.topic_came = gz_gateway_topic_came,
	.topic_gone = gz_gateway_topic_gone,
	.topics_changed = hub_ignore_topics,
	.message = gz_gateway_message,
	.reply = gz_gateway_reply,
	.refused = gz_gateway_refused,
	.moved = hub_ignore_moved,
	.end = hub_ignore_end,
	.stop = gz_gateway_stop,
	.destroy = gz_gateway_destroy,
	.describe = gz_gateway_describe,
	.count = hub_ignore_count,
};
