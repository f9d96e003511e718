/* A message that comes too early waits in the queue as the operation that will be sent. */
#include "gateway/rosbridge/topic_subscription.h"

#include "base/clock.h"
#include "gateway/hub/op.h"
#include "gateway/rosbridge/rosbridge_client.h"

#include <stdlib.h>
#include <string.h>

static struct rosbridge_client *topic_subscription_client(const struct topic_subscription *subscription)
{
	return subscription->base.client;
}

uint32_t topic_subscription_id(const char *topic)
{
	return *topic != '/';
}

static void topic_subscription_drop_oldest(struct topic_subscription *subscription)
{
	size_t bytes = strlen(subscription->queue.at[0]);
	subscription->queue_bytes -= bytes;
	topic_subscription_client(subscription)->queue_bytes -= bytes;
	free(subscription->queue.at[0]);
	subscription->queue.count--;
	memmove(subscription->queue.at, subscription->queue.at + 1,
		subscription->queue.count * sizeof *subscription->queue.at);
}

struct topic_subscription *topic_subscription_create(
	struct rosbridge_client *client, const char *topic, const char *name, const char *type)
{
	struct topic_subscription *subscription = mem_alloc(sizeof *subscription);
	*subscription = (struct topic_subscription){
		.base = {.client = client, .id = topic_subscription_id(topic), .join = hub_join(client->gateway->hub)},
		.name = mem_strdup(name),
		.type = type && *type ? mem_strdup(type) : NULL};
	return subscription;
}

void topic_subscription_destroy(struct topic_subscription *subscription)
{
	for (uint32_t i = 0; i < subscription->client_requests.count; i++)
		free(subscription->client_requests.at[i].id);
	while (subscription->queue.count)
		topic_subscription_drop_oldest(subscription);
	vec_free(&subscription->client_requests);
	vec_free(&subscription->queue);
	free(subscription->name);
	free(subscription->type);
	free(subscription);
}

void topic_subscription_set(struct topic_subscription *subscription, const struct client_request *request)
{
	const char *id = request->id ? request->id : "";
	uint32_t i = 0;
	while (i < subscription->client_requests.count && strcmp(subscription->client_requests.at[i].id, id) != 0)
		i++;
	if (i == subscription->client_requests.count)
		vec_push(&subscription->client_requests, (struct client_request){.id = mem_strdup(id)});
	subscription->client_requests.at[i].throttle_ns = request->throttle_ns;
	subscription->client_requests.at[i].queue_length = request->queue_length;
}

bool topic_subscription_unset(struct topic_subscription *subscription, const char *id)
{
	for (uint32_t i = subscription->client_requests.count; i-- > 0;)
		if (!id || !strcmp(subscription->client_requests.at[i].id, id)) {
			free(subscription->client_requests.at[i].id);
			subscription->client_requests.at[i] =
				subscription->client_requests.at[--subscription->client_requests.count];
		}
	return subscription->client_requests.count;
}

/* As several subscriptions to one topic together want it: the shortest time, and the longest queue. */
static struct client_request topic_subscription_most_of(const struct topic_subscription *subscription)
{
	struct client_request most = {.throttle_ns = UINT64_MAX};
	for (uint32_t i = 0; i < subscription->client_requests.count; i++) {
		most.throttle_ns = MIN(most.throttle_ns, subscription->client_requests.at[i].throttle_ns);
		most.queue_length = MAX(most.queue_length, subscription->client_requests.at[i].queue_length);
	}
	return most;
}

static void topic_subscription_send_message(
	struct topic_subscription *subscription, const char *json, size_t count, uint64_t now_ns)
{
	port_publish(topic_subscription_client(subscription)->base, false, json, count);
	subscription->sent_ns = now_ns;
}

static bool topic_subscription_is_time(
	const struct topic_subscription *subscription, const struct client_request *client_request, uint64_t now_ns)
{
	return !client_request->throttle_ns || !subscription->sent_ns ||
	       now_ns - subscription->sent_ns >= client_request->throttle_ns;
}

void topic_subscription_give(struct topic_subscription *subscription, const char *type, const struct text *json)
{
	const struct client_request client_request = topic_subscription_most_of(subscription);
	uint64_t now_ns = client_request.throttle_ns ? clock_now_ns() : 0;
	bool now = !subscription->queue.count && topic_subscription_is_time(subscription, &client_request, now_ns);
	struct text out = {0};
	if (subscription->type && !topic_index_is_type(type, subscription->type)) {
		if (!subscription->told_type)
			rosbridge_client_complain(topic_subscription_client(subscription), ROSBRIDGE_CLIENT_ERROR, NULL,
				"%.200s has the type %s: expected it, not %.100s",
				subscription->name + subscription->base.id, type, subscription->type);
		subscription->told_type = true;
		return;
	}
	if (subscription->base.join <= topic_subscription_client(subscription)->gateway->hub->had ||
		(!now && !client_request.queue_length))
		return;
	struct json_out operation = op_begin(&out, "publish");
	json_out_string(&operation, "topic", subscription->name + subscription->base.id);
	text_add_bytes(json_out_value(&operation, "msg"), json->at, json->count);
	json_out_end(&operation);
	if (now) {
		topic_subscription_send_message(subscription, out.at, out.count, now_ns);
		text_fini(&out);
		return;
	}
	vec_push(&subscription->queue, out.at);
	subscription->queue_bytes += out.count;
	topic_subscription_client(subscription)->queue_bytes += out.count;
	while (subscription->queue.count > client_request.queue_length ||
		(subscription->queue.count > 1 && (subscription->queue_bytes > TOPIC_SUBSCRIPTION_QUEUE_BYTES_MAX ||
							  topic_subscription_client(subscription)->queue_bytes >
								  TOPIC_SUBSCRIPTION_CLIENT_BYTES_MAX)))
		topic_subscription_drop_oldest(subscription);
}

void topic_subscription_turn(struct topic_subscription *subscription, uint64_t now_ns)
{
	const struct client_request client_request = topic_subscription_most_of(subscription);
	while (subscription->queue.count && topic_subscription_is_time(subscription, &client_request, now_ns)) {
		topic_subscription_send_message(
			subscription, subscription->queue.at[0], strlen(subscription->queue.at[0]), now_ns);
		topic_subscription_drop_oldest(subscription);
	}
}
