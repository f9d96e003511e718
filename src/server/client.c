/* The client's own side. What a step's thread hands over waits in two queues: deliveries of subscribed topics, of which
 * the oldest may be lost, and replies, which are never lost but are limited in number. Messages are encoded here, on
 * the client's thread, one at a time, and only when they are taken: what is lost was never encoded. */
#include "server/client.h"

#include "base/clock.h"
#include "server/barrier.h"
#include "server/next_request.h"
#include "topic/message.h"
#include "topic/plain.pb-c.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_USUAL = 64 };

/* --- references ------------------------------------------------------------------------------------------------- */

static struct client_group *server_client_hold_group(struct client_group *group)
{
	atomic_fetch_add_explicit(&group->refs, 1, memory_order_relaxed);
	return group;
}

void group_release(struct client_group *group)
{
	/* acq_rel: what other holders read happens before it is freed */
	if (atomic_fetch_sub_explicit(&group->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; i < group->rows.count; i++)
		topic_row_fini(&group->rows.at[i]);
	vec_free(&group->rows);
	client_release(group->client);
	free(group);
}

static void server_client_release_delivery(void *item)
{
	struct delivery *delivery = item;
	capture_release(delivery->capture);
	group_release(delivery->group);
	free(delivery);
}

void reply_destroy(struct client_reply *reply)
{
	if (reply->capture)
		capture_release(reply->capture);
	topic_row_fini(&reply->row);
	text_fini(&reply->request);
	text_fini(&reply->answer);
	free(reply);
}

struct troupe_client *client_hold(struct troupe_client *client)
{
	atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
	return client;
}

static void server_client_free_replies(struct client_reply *reply)
{
	while (reply) {
		struct client_reply *next = reply->next;
		reply_destroy(reply);
		reply = next;
	}
}

void client_release(struct troupe_client *client)
{
	if (atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) != 1)
		return;
	topic_queue_destroy(client->queue);
	free(client->as);
	free(client);
}

/* --- being handed something ------------------------------------------------------------------------------------- */

/* False: the client is closed. Otherwise server_client_end_serving() must follow. */
static bool server_client_begin_serving(struct troupe_client *client)
{
	atomic_fetch_add(&client->serving, 1); /* sequentially consistent with troupe_client_destroy() */
	if (!atomic_load(&client->closed))
		return true;
	atomic_fetch_sub(&client->serving, 1);
	return false;
}

static void server_client_end_serving(struct troupe_client *client)
{
	atomic_fetch_sub(&client->serving, 1);
}

/* Both sides exchange `idle`, and none only reads it: of two exchanges the later one sees all that was done before the
 * earlier one. So either this thread sees that the client is idle, or the client sees what has come. */
static void server_client_tell(struct troupe_client *client)
{
	eventcount_advance(&client->ready);
	if (client->def.on_ready && atomic_exchange(&client->idle, false))
		client->def.on_ready(client->def.ctx);
}

void client_tell(struct troupe_client *client)
{
	if (!server_client_begin_serving(client))
		return;
	server_client_tell(client);
	server_client_end_serving(client);
}

void client_deliver(struct troupe_client *client, struct client_group *group, struct capture *capture)
{
	if (!server_client_begin_serving(client)) {
		capture_release(capture);
		return;
	}
	struct delivery *delivery = mem_alloc(sizeof *delivery);
	*delivery = (struct delivery){capture, server_client_hold_group(group)};
	topic_queue_push(client->queue, delivery);
	server_client_end_serving(client);
}

void client_reply(struct troupe_client *client, struct client_reply *reply)
{
	if (!server_client_begin_serving(client)) {
		reply_destroy(reply);
		return;
	}
	reply->next = atomic_load_explicit(&client->replies, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(/* release: pairs with the exchange in server_client_next_reply()
						       */
		&client->replies,
		&reply->next, reply, memory_order_release, memory_order_relaxed))
		;
	server_client_tell(client);
	server_client_end_serving(client);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

troupe_status troupe_client_create(struct troupe_server *server, const struct troupe_client_def *def,
	struct troupe_client **ret_client, struct troupe_error *error)
{
	uint32_t depth = def->depth ? def->depth : DEPTH_USUAL;
	if (depth < 4 || depth > TROUPE_CLIENT_DEPTH_MAX)
		return fail(
			error, TROUPE_EINVAL, "a client's depth %u: expected 4 to %d", depth, TROUPE_CLIENT_DEPTH_MAX);
	struct troupe_client *client = mem_alloc_lines(sizeof *client);
	client->server = server;
	client->def = *def;
	client->queue = topic_queue_create(depth, server_client_release_delivery);
	atomic_store(&client->refs, 1);
	atomic_store(&client->idle, true);
	clients_enter(server->clients, client);
	*ret_client = client;
	return TROUPE_OK;
}

void client_act_for(struct troupe_client *client, const char *name)
{
	clients_lock(client->server->clients);
	client->as = mem_strdup(name);
	clients_unlock(client->server->clients);
}

void troupe_client_destroy(struct troupe_client *client)
{
	if (!client)
		return;
	troupe_client_leave(client);
	clients_leave(client->server->clients, client);
	atomic_store(&client->closed, true);
	while (atomic_load(&client->serving))
		sched_yield();
	/* Others may still refer to the client, but nothing is handed to it any more. */
	if (client->taken)
		server_client_release_delivery(client->taken);
	for (void *item = topic_queue_pop(client->queue); item; item = topic_queue_pop(client->queue))
		server_client_release_delivery(item);
	server_client_free_replies(client->taken_replies);
	server_client_free_replies(client->last_reply);
	server_client_free_replies(atomic_exchange(&client->replies, NULL));
	for (uint32_t i = 0; i < client->subscriptions.count; i++)
		free(client->subscriptions.at[i].topic);
	vec_free(&client->subscriptions);
	text_fini(&client->bytes);
	client_release(client);
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

/* Where the subscription is, or belongs. */
static uint32_t server_client_place_of(const struct troupe_client *client, const char *topic)
{
	uint32_t low = 0, high = client->subscriptions.count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(client->subscriptions.at[middle].topic, topic) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool server_client_has_subscription(const struct troupe_client *client, uint32_t place, const char *topic)
{
	return place < client->subscriptions.count && !strcmp(client->subscriptions.at[place].topic, topic);
}

troupe_status troupe_client_subscribe(
	struct troupe_client *client, const char *topic, double rate_hz, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	if (!topic_name_is_valid(topic))
		return fail(error, TROUPE_EINVAL,
			"topic '%s': expected a name that begins with '/', without blanks, '@', '~' and '//'", topic);
	if (!(rate_hz >= 0 && rate_hz <= 1e9))
		return fail(error, TROUPE_EINVAL, "topic '%s': a rate of %g Hz: expected 0 to 1e9", topic, rate_hz);
	clients_lock(client->server->clients);
	uint32_t place = server_client_place_of(client, topic);
	if (server_client_has_subscription(client, place, topic)) {
		client->subscriptions.at[place].rate_hz = rate_hz;
		client->subscriptions.at[place].again = true;
	} else if (client->subscriptions.count == TROUPE_CLIENT_TOPICS_MAX) {
		status = fail(error, TROUPE_ELIMIT, "topic '%s': the client has %d subscriptions: expected no more",
			topic, TROUPE_CLIENT_TOPICS_MAX);
	} else {
		(void)vec_append(&client->subscriptions, 1);
		memmove(&client->subscriptions.at[place + 1], &client->subscriptions.at[place],
			(client->subscriptions.count - 1 - place) * sizeof *client->subscriptions.at);
		client->subscriptions.at[place] = (struct client_subscription){mem_strdup(topic), rate_hz, true};
	}
	clients_unlock(client->server->clients);
	return status;
}

void troupe_client_unsubscribe(struct troupe_client *client, const char *topic)
{
	clients_lock(client->server->clients);
	uint32_t place = server_client_place_of(client, topic);
	if (server_client_has_subscription(client, place, topic)) {
		free(client->subscriptions.at[place].topic);
		client->subscriptions.count--;
		memmove(&client->subscriptions.at[place], &client->subscriptions.at[place + 1],
			(client->subscriptions.count - place) * sizeof *client->subscriptions.at);
	}
	clients_unlock(client->server->clients);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

static struct client_reply *server_client_next_reply(struct troupe_client *client)
{
	if (!client->taken_replies)
		client->taken_replies =
			LIST_REVERSED(atomic_exchange_explicit(&client->replies, NULL, memory_order_acquire), next);
	struct client_reply *reply = client->taken_replies;
	if (reply)
		client->taken_replies = reply->next;
	return reply;
}

/* The reply to a request that changes something: a Boolean, as Gazebo's, or a type with no field to fill in. */
static void server_client_encode_outcome(const struct client_reply *reply, struct text *out)
{
	Gz__Msgs__Boolean boolean = GZ__MSGS__BOOLEAN__INIT;
	boolean.data = reply->status == TROUPE_OK;
	if (type_find(reply->row.reply) == boolean.base.descriptor)
		message_add_bytes(out, &boolean.base);
}

void client_answer(struct troupe_client *client, struct client_reply *reply, struct text *out)
{
	const struct query_ops *ops = reply->row.ops;
	reply->status =
		ops->answer(reply->capture, &reply->row, reply->request.at, reply->request.count, out, &reply->what);
	clients_answered(client->server->clients, reply);
}

static void server_client_take_reply(
	struct troupe_client *client, struct client_reply *reply, struct troupe_message *ret_message)
{
	client->bytes.count = 0;
	if (reply->is_answered) {
		text_add_bytes(&client->bytes, reply->answer.at, reply->answer.count);
	} else if (reply->capture) {
		client_answer(client, reply, &client->bytes);
		next_request_complete(client->server);
	} else {
		server_client_encode_outcome(reply, &client->bytes);
	}
	if (client->last_reply)
		reply_destroy(client->last_reply);
	client->last_reply = reply;
	reply->next = NULL;
	atomic_fetch_sub(&client->calls, 1);
	*ret_message = (struct troupe_message){.is_reply = true,
		.topic = reply->row.name,
		.type = reply->row.reply,
		.bytes = client->bytes.at,
		.count = client->bytes.count,
		.step = reply->step,
		.time_ns = reply->time_ns,
		.tag = reply->tag,
		.status = reply->status,
		.text = reply->what.text};
}

/* False: nothing is left to take of the deliveries. */
static bool server_client_take_published(struct troupe_client *client, struct troupe_message *ret_message)
{
	for (;;) {
		struct delivery *delivery = client->taken;
		while (delivery && client->taken_rows < delivery->group->rows.count) {
			const struct topic_row *row = &delivery->group->rows.at[client->taken_rows++];
			const struct publish_ops *ops = row->ops;
			client->bytes.count = 0;
			if (!ops->encode(delivery->capture, row, &client->bytes))
				continue;
			*ret_message = (struct troupe_message){.topic = row->name,
				.type = row->type,
				.bytes = client->bytes.at,
				.count = client->bytes.count,
				.step = delivery->capture->snapshot.step,
				.time_ns = delivery->capture->time_ns};
			return true;
		}
		if (delivery)
			server_client_release_delivery(delivery);
		client->taken = topic_queue_pop(client->queue);
		client->taken_rows = 0;
		if (!client->taken)
			return false;
	}
}

static bool server_client_take(struct troupe_client *client, struct troupe_message *ret_message)
{
	struct client_reply *reply = server_client_next_reply(client);
	if (reply)
		server_client_take_reply(client, reply, ret_message);
	return reply || server_client_take_published(client, ret_message);
}

bool troupe_client_take(struct troupe_client *client, uint64_t timeout_ns, struct troupe_message *ret_message)
{
	uint64_t until = timeout_ns ? clock_now_ns() + timeout_ns : 0;
	for (;;) {
		uint32_t seen = eventcount_read(&client->ready);
		if (server_client_take(client, ret_message))
			return true;
		/* what comes from now on is told; what came just before is looked for once more */
		if (!atomic_exchange(&client->idle, true))
			continue;
		uint64_t now = timeout_ns ? clock_now_ns() : 0;
		if (now >= until)
			return false;
		(void)eventcount_await(&client->ready, seen, 0, until - now);
	}
}

uint64_t troupe_client_lost(const struct troupe_client *client)
{
	return topic_queue_lost(client->queue) + atomic_load_explicit(&client->dropped, memory_order_relaxed);
}

uint64_t troupe_client_commands(const struct troupe_client *client)
{
	return atomic_load_explicit(&client->commands, memory_order_relaxed);
}
