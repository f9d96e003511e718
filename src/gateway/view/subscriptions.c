/* Pages share the subscriptions (hub/hub.h), and a message is made JSON once. A page that wants fewer messages does not
 * get the others, but always the newest, a little later: when the world pauses, no other comes. */
#include "gateway/view/internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* A message may be so much early, as a part of the period: steps and periods do not fit exactly. */
#define EARLY 0.2

enum { KEPT_BYTES_MAX = 1 << 20 }; /* of a message that is given later when it came too early; no longer one is */

static void subscriptions_drop(
	struct gateway *gateway, struct page *page, const char *topic, struct hub_subscriber *subscriber)
{
	hub_leave(gateway->hub, topic, subscriber);
	page->topics--;
	free(subscriber);
}

troupe_status subscriptions_subscribe(
	struct gateway *gateway, struct page *page, const char *topic, double rate_hz, struct troupe_error *error)
{
	struct hub_subscriber *former = hub_subscriber(gateway->hub, topic, page);
	if (!former && page->topics == VIEW_TOPICS_MAX)
		return fail(error, TROUPE_ELIMIT, "topic '%.150s': the page has %d subscriptions: expected no more",
			topic, VIEW_TOPICS_MAX);
	if (former)
		subscriptions_drop(gateway, page, topic, former);
	struct page_listener *listener = mem_alloc(sizeof *listener);
	listener->base = (struct hub_subscriber){.client = page, .rate_hz = rate_hz};
	listener->fresh = true;
	troupe_status status = hub_subscribe(gateway->hub, topic, &listener->base, error);
	if (status)
		free(listener);
	else
		page->topics++;
	return status;
}

void subscriptions_unsubscribe(struct gateway *gateway, struct page *page, const char *topic)
{
	struct hub_subscriber *subscriber = hub_subscriber(gateway->hub, topic, page);
	if (subscriber)
		subscriptions_drop(gateway, page, topic, subscriber);
}

bool subscriptions_is_due(uint64_t *due_ns, uint64_t period_ns, uint64_t now_ns)
{
	if (now_ns + (uint64_t)((double)period_ns * EARLY) < *due_ns)
		return false;
	*due_ns = MAX(*due_ns + period_ns, now_ns);
	return true;
}

static bool subscriptions_listener_is_due(struct page_listener *listener, uint64_t now_ns)
{
	if (listener->base.rate_hz > 0) {
		if (listener->fresh)
			listener->due_ns = now_ns;
		if (!subscriptions_is_due(&listener->due_ns, (uint64_t)(1e9 / listener->base.rate_hz), now_ns))
			return false;
	}
	listener->fresh = listener->missed = false;
	return true;
}

/* Gives a message to the listeners for which it is time. missed_only: only to listeners that have missed it; had:
 * of hub->had. Returns whether a listener has to wait for it. */
static bool subscriptions_give_one(const struct hub_subscription *subscription, const struct troupe_message *message,
	uint64_t now_ns, bool missed_only, uint64_t had)
{
	struct text said = {0};
	bool binary = false, waits = false;
	for (uint32_t i = 0; i < subscription->subscribers.count; i++) {
		struct page_listener *listener = (struct page_listener *)subscription->subscribers.at[i];
		const struct page *page = listener->base.client;
		if (missed_only ? !listener->missed : listener->base.join <= had)
			continue;
		listener->missed = !subscriptions_listener_is_due(listener, now_ns);
		waits |= listener->missed;
		if (listener->missed)
			continue;
		if (!said.count)
			binary = page_out_message(message, &said);
		if (said.count)
			port_publish(page->client, binary, said.at, said.count);
	}
	text_fini(&said);
	return waits;
}

/* The bytes are kept, not yet JSON, because most messages are replaced before a page gets them. */
void subscriptions_give(const struct gateway *gateway, const struct troupe_message *message)
{
	struct hub_subscription *subscription = hub_subscription(gateway->hub, message->topic);
	if (!subscription || !subscriptions_give_one(subscription, message, clock_now_ns(), false, gateway->hub->had))
		return;
	if (message->count <= KEPT_BYTES_MAX)
		hub_keep(subscription, message);
	else
		for (uint32_t i = 0; i < subscription->subscribers.count; i++)
			((struct page_listener *)subscription->subscribers.at[i])->missed = false;
}

void subscriptions_turn(const struct gateway *gateway, uint64_t now_ns)
{
	const struct hub *hub = gateway->hub;
	for (uint32_t i = 0; i < hub->subscriptions.rows.count; i++)
		subscriptions_give_one(
			hub->subscriptions.rows.at[i], &hub->subscriptions.rows.at[i]->kept, now_ns, true, 0);
}

void subscriptions_renew(struct gateway *gateway, bool all)
{
	const struct hub *hub = gateway->hub;
	for (uint32_t i = 0; i < hub->subscriptions.rows.count; i++) {
		const struct hub_subscription *subscription = hub->subscriptions.rows.at[i];
		const struct troupe_topic *topic =
			all ? NULL : gateway_find_topic(gateway, TROUPE_TOPIC_PUBLISHED, subscription->topic);
		if (!all && !(topic && topic->rate_hz > 0))
			continue;
		for (uint32_t k = 0; k < subscription->subscribers.count; k++)
			((struct page_listener *)subscription->subscribers.at[k])->fresh = true;
	}
	hub_renew(gateway->hub, all);
}
