/* A topic of the run is subscribed to once for all clients, at the highest rate of its subscribers. The bus does not
 * tell them apart: the message that a new subscriber is given at once comes to all of them. */
#include "gateway/hub/hub.h"

#include <stdlib.h>
#include <string.h>

struct hub_subscription *hub_subscription(const struct hub *hub, const char *topic)
{
	return subscriber_list_find(&hub->subscriptions, topic);
}

struct hub_subscriber *hub_subscriber(const struct hub *hub, const char *topic, const void *client)
{
	return subscriber_list_of_client(hub_subscription(hub, topic), client, 0);
}

uint64_t hub_join(struct hub *hub)
{
	return ++hub->joins;
}

static void subscribe_note_clock(struct hub *hub, const char *topic)
{
	if (!strcmp(topic, hub->clock))
		hub->ticks = false; /* it is at the rate that it has now, or not subscribed to */
}

/* The highest rate of the subscribers and of another one; 0: all messages. */
static double subscribe_rate(const struct hub_subscription *subscription, double rate_hz)
{
	for (uint32_t i = 0; i < subscription->subscribers.count && rate_hz > 0; i++) {
		double other_hz = subscription->subscribers.at[i]->rate_hz;
		rate_hz = other_hz > 0 ? MAX(rate_hz, other_hz) : 0;
	}
	return rate_hz;
}

troupe_status hub_subscribe(
	struct hub *hub, const char *topic, struct hub_subscriber *subscriber, struct troupe_error *error)
{
	struct hub_subscription *subscription = hub_subscription(hub, topic);
	double rate_hz = subscriber ? subscriber->rate_hz : 0;
	if (subscription)
		rate_hz = subscribe_rate(subscription, rate_hz);
	troupe_status status = hub->bus->ops->subscribe(hub->bus, topic, rate_hz, error);
	if (status)
		return status;
	if (!subscription)
		subscription = subscriber_list_open(&hub->subscriptions, topic);
	if (subscriber) {
		subscriber->join = hub_join(hub);
		vec_push(&subscription->subscribers, subscriber);
	}
	subscription->again = subscription->has_any;
	subscription->rate_hz = rate_hz;
	subscribe_note_clock(hub, topic);
	return TROUPE_OK;
}

void hub_leave(struct hub *hub, const char *topic, struct hub_subscriber *subscriber)
{
	struct hub_subscription *subscription = hub_subscription(hub, topic);
	if (!subscription || !subscriber_list_remove(subscription, subscriber))
		return;
	if (!subscription->subscribers.count) {
		hub_unsubscribe(hub, topic);
		return;
	}
	double rate_hz = subscribe_rate(subscription, subscription->subscribers.at[0]->rate_hz);
	if (rate_hz == subscription->rate_hz || !hub->bus)
		return;
	subscription->rate_hz = rate_hz;
	subscription->again = subscription->has_any;
	(void)hub->bus->ops->subscribe(hub->bus, subscription->topic, rate_hz, NULL);
}

static void subscribe_drop(void *ctx, const char *topic, struct hub_subscriber *subscriber)
{
	struct hub *hub = ctx;
	hub_leave(hub, topic, subscriber);
	free(subscriber);
}

void hub_leave_all(struct hub *hub, const void *client)
{
	subscriber_list_drop_client(&hub->subscriptions, client, subscribe_drop, hub);
}

void hub_unsubscribe(struct hub *hub, const char *topic)
{
	struct hub_subscription *gone = hub_subscription(hub, topic);
	if (!gone)
		return;
	if (hub->bus)
		hub->bus->ops->unsubscribe(hub->bus, gone->topic);
	subscribe_note_clock(hub, gone->topic);
	subscriber_list_close(&hub->subscriptions, gone);
}

bool hub_is_subscribed(const struct hub *hub, const char *topic)
{
	return hub_subscription(hub, topic);
}

void hub_prune(struct hub *hub, bool (*is_needed)(const void *ctx, const char *topic), const void *ctx)
{
	for (uint32_t i = hub->subscriptions.rows.count; i-- > 0;)
		if (!is_needed(ctx, hub->subscriptions.rows.at[i]->topic))
			hub_unsubscribe(hub, hub->subscriptions.rows.at[i]->topic);
}

static void subscribe_repeat(struct hub *hub, struct hub_subscription *subscription)
{
	subscription->again = false;
	(void)hub->bus->ops->subscribe(hub->bus, subscription->topic, subscription->rate_hz, NULL);
}

void hub_repeat(struct hub *hub, const char *topic)
{
	struct hub_subscription *subscription = hub_subscription(hub, topic);
	if (subscription)
		subscribe_repeat(hub, subscription);
}

void hub_renew(struct hub *hub, bool all)
{
	const struct troupe_topics *topics = hub_topics(hub);
	for (uint32_t i = 0; i < hub->subscriptions.rows.count; i++) {
		struct hub_subscription *subscription = hub->subscriptions.rows.at[i];
		const struct troupe_topic *topic = hub_find(topics, TROUPE_TOPIC_PUBLISHED, subscription->topic);
		if (all || (topic && topic->rate_hz > 0))
			subscribe_repeat(hub, subscription);
	}
	hub_release(hub, topics);
}

void hub_note_message(struct hub *hub, const struct troupe_message *message)
{
	struct hub_subscription *subscription = hub_subscription(hub, message->topic);
	hub->had = 0;
	if (!subscription)
		return;
	subscription->again &= subscription->has_any && message->step <= subscription->last_step;
	hub->had = subscription->again ? subscription->had : 0;
	subscription->has_any = true;
	subscription->last_step = message->step;
	subscription->had = hub->joins;
}

void hub_keep(struct hub_subscription *subscription, const struct troupe_message *message)
{
	subscription->kept_type.count = subscription->kept_bytes.count = 0;
	text_add(&subscription->kept_type, "%s", message->type);
	text_add_bytes(&subscription->kept_bytes, message->bytes, message->count);
	subscription->kept = *message;
	subscription->kept.topic = subscription->topic;
	subscription->kept.type = subscription->kept_type.at;
	subscription->kept.bytes = subscription->kept_bytes.at;
}
