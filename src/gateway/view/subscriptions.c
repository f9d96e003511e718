/* Pages share the subscriptions (hub/hub.h), and a message is made JSON once. A page that wants fewer messages does not
 * get the others, but always the newest, a little later: when the world pauses, no other comes. */
#include "gateway/view/internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* A message may be so much early, as a part of the period: steps and periods do not fit exactly. */
#define EARLY 0.2

enum { KEPT_BYTES_MAX = 1 << 20 }; /* of a message that is given later when it came too early; no longer one is */

static struct page_feed *subscriptions_find(struct gateway *gateway, const char *topic)
{
	uint32_t at;
	return map_find(&gateway->feed_of, topic, &at) ? gateway->subscriptions.at[at] : NULL;
}

static struct page_feed *subscriptions_find_or_add(struct gateway *gateway, const char *topic)
{
	struct page_feed *feed = subscriptions_find(gateway, topic);
	if (feed)
		return feed;
	feed = mem_alloc(sizeof *feed);
	feed->topic = mem_strdup(topic);
	map_add(&gateway->feed_of, feed->topic, gateway->subscriptions.count);
	vec_push(&gateway->subscriptions, feed);
	return feed;
}

static void subscriptions_free(struct page_feed *feed)
{
	free(feed->topic);
	text_fini(&feed->kept_type);
	text_fini(&feed->kept_bytes);
	vec_free(&feed->listeners);
	free(feed);
}

static void subscriptions_drop(struct gateway *gateway, struct page_feed *feed)
{
	uint32_t at = 0;
	(void)map_find(&gateway->feed_of, feed->topic, &at);
	struct page_feed *last = gateway->subscriptions.at[--gateway->subscriptions.count];
	map_remove(&gateway->feed_of, feed->topic);
	if (last != feed) {
		map_remove(&gateway->feed_of, last->topic);
		map_add(&gateway->feed_of, last->topic, at);
		gateway->subscriptions.at[at] = last;
	}
	subscriptions_free(feed);
}

static struct page_listener *subscriptions_find_listener(struct page_feed *feed, const struct page *page)
{
	for (uint32_t i = 0; i < feed->listeners.count; i++)
		if (feed->listeners.at[i].page == page)
			return &feed->listeners.at[i];
	return NULL;
}

static void subscriptions_drop_listener(struct gateway *gateway, struct page_feed *feed, const struct page *page)
{
	struct page_listener *listener = subscriptions_find_listener(feed, page);
	if (!listener)
		return;
	listener->page->topics--;
	hub_leave(gateway->hub, feed->topic, listener->join);
	*listener = feed->listeners.at[--feed->listeners.count];
	if (!feed->listeners.count)
		subscriptions_drop(gateway, feed);
}

troupe_status subscriptions_subscribe(
	struct gateway *gateway, struct page *page, const char *topic, double rate_hz, struct troupe_error *error)
{
	struct page_feed *feed = subscriptions_find_or_add(gateway, topic);
	struct page_listener *listener = subscriptions_find_listener(feed, page);
	troupe_status status = TROUPE_OK;
	if (!listener && page->topics == VIEW_TOPICS_MAX)
		status = fail(error, TROUPE_ELIMIT, "topic '%.150s': the page has %d subscriptions: expected no more",
			topic, VIEW_TOPICS_MAX);
	if (!status && !listener) {
		listener = vec_append(&feed->listeners, 1);
		page->topics++;
	} else if (!status) {
		hub_leave(gateway->hub, topic, listener->join);
	}
	if (!status) {
		*listener = (struct page_listener){
			.page = page, .rate_hz = rate_hz, .join = hub_join(gateway->hub), .fresh = true};
		status = hub_subscribe(gateway->hub, topic, listener->join, rate_hz, error);
		if (status)
			subscriptions_drop_listener(gateway, feed, page);
	} else if (!feed->listeners.count) {
		subscriptions_drop(gateway, feed);
	}
	return status;
}

void subscriptions_unsubscribe(struct gateway *gateway, struct page *page, const char *topic)
{
	struct page_feed *feed = subscriptions_find(gateway, topic);
	if (feed)
		subscriptions_drop_listener(gateway, feed, page);
}

void subscriptions_drop_page(struct gateway *gateway, struct page *page)
{
	for (uint32_t i = gateway->subscriptions.count; i-- > 0;)
		subscriptions_drop_listener(gateway, gateway->subscriptions.at[i], page);
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
	if (listener->rate_hz > 0) {
		if (listener->fresh)
			listener->due_ns = now_ns;
		if (!subscriptions_is_due(&listener->due_ns, (uint64_t)(1e9 / listener->rate_hz), now_ns))
			return false;
	}
	listener->fresh = listener->missed = false;
	return true;
}

/* Keeps the bytes, not yet JSON, because most messages are replaced before a page gets them. */
static void subscriptions_keep(struct page_feed *feed, const struct troupe_message *message)
{
	feed->kept_type.count = feed->kept_bytes.count = 0;
	text_add(&feed->kept_type, "%s", message->type);
	text_add_bytes(&feed->kept_bytes, message->bytes, message->count);
	feed->kept = *message;
	feed->kept.topic = feed->topic;
	feed->kept.type = feed->kept_type.at;
	feed->kept.bytes = feed->kept_bytes.at;
}

/* Gives a message to the listeners for which it is time. missed_only: only to listeners that have missed it; had:
 * of hub->had. Returns whether a listener has to wait for it. */
static bool subscriptions_give_one(
	struct page_feed *feed, const struct troupe_message *message, uint64_t now_ns, bool missed_only, uint64_t had)
{
	struct text said = {0};
	bool binary = false, waits = false;
	for (uint32_t i = 0; i < feed->listeners.count; i++) {
		struct page_listener *listener = &feed->listeners.at[i];
		if (missed_only ? !listener->missed : listener->join <= had)
			continue;
		listener->missed = !subscriptions_listener_is_due(listener, now_ns);
		waits |= listener->missed;
		if (listener->missed)
			continue;
		if (!said.count)
			binary = page_out_message(message, &said);
		if (said.count)
			port_publish(listener->page->client, binary, said.at, said.count);
	}
	text_fini(&said);
	return waits;
}

void subscriptions_give(struct gateway *gateway, const struct troupe_message *message)
{
	struct page_feed *feed = subscriptions_find(gateway, message->topic);
	if (!feed || !subscriptions_give_one(feed, message, clock_now_ns(), false, gateway->hub->had))
		return;
	if (message->count <= KEPT_BYTES_MAX)
		subscriptions_keep(feed, message);
	else
		for (uint32_t i = 0; i < feed->listeners.count; i++)
			feed->listeners.at[i].missed = false;
}

void subscriptions_turn(struct gateway *gateway, uint64_t now_ns)
{
	for (uint32_t i = 0; i < gateway->subscriptions.count; i++)
		subscriptions_give_one(
			gateway->subscriptions.at[i], &gateway->subscriptions.at[i]->kept, now_ns, true, 0);
}

void subscriptions_renew(struct gateway *gateway, bool all)
{
	for (uint32_t i = 0; i < gateway->subscriptions.count; i++) {
		struct page_feed *feed = gateway->subscriptions.at[i];
		const struct troupe_topic *topic =
			all ? NULL : gateway_find_topic(gateway, TROUPE_TOPIC_PUBLISHED, feed->topic);
		if (!all && !(topic && topic->rate_hz > 0))
			continue;
		for (uint32_t k = 0; k < feed->listeners.count; k++)
			feed->listeners.at[k].fresh = true;
	}
	hub_renew(gateway->hub, all);
}

void subscriptions_fini(struct gateway *gateway)
{
	for (uint32_t i = 0; i < gateway->subscriptions.count; i++)
		subscriptions_free(gateway->subscriptions.at[i]);
	vec_free(&gateway->subscriptions);
	map_fini(&gateway->feed_of);
}
