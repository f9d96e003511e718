/* Topics: sending to subscribers, and receiving the topics that the node subscribes to.
 *
 * Publishing. The topic, the address and the type of a publisher are made into ZeroMQ messages once, of which each
 * publication sends copies that share the bytes; the payload is the memory of the publication, handed over. So a
 * message costs one allocation and one copy, and is handed to ZeroMQ by the thread that publishes it.
 *
 * Subscribing. One socket is connected to each publisher's address once, however many topics come from there. Its
 * filter is the full name of the topic, which for ZeroMQ is a beginning of names, so the name is compared again. */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define GRACE_NS (1000 * NODE_MS)
enum { AUDIENCE_MAX = 1024, MESSAGES_MAX = 512 }; /* taken in one round */

/* --- publishing --------------------------------------------------------------------------------------------------- */

/* On a thread of ZeroMQ. Its queues order this after all that our threads did; ThreadSanitizer cannot see them, but it
 * sees that the flag pairs with the one in node_topics_send_payload(). */
static void node_topics_free_publication(void *bytes, void *ctx)
{
	struct publication *publication = ctx;
	(void)bytes;
	(void)atomic_load_explicit(&publication->handed, memory_order_acquire);
	free(publication);
}

static bool node_topics_send_frame(void *socket, zmq_msg_t *frame, bool more)
{
	zmq_msg_t copy;
	zmq_msg_init(&copy);
	bool good = !zmq_msg_copy(&copy, frame) &&
		    zmq_msg_send(&copy, socket, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0;
	if (!good)
		zmq_msg_close(&copy);
	return good;
}

static bool node_topics_send_payload(void *socket, struct publication *publication)
{
	zmq_msg_t payload;
	size_t count = publication->count;
	atomic_store_explicit(&publication->handed, true, memory_order_release);
	if (zmq_msg_init_data(&payload, publication->bytes, count, node_topics_free_publication, publication))
		mem_run_out(count);
	bool good = zmq_msg_send(&payload, socket, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0;
	if (!good)
		zmq_msg_close(&payload);
	return good;
}

static bool node_topics_send_statistics(void *socket, struct node_publisher *publisher)
{
	uint64_t statistics[2] = {clock_now_ns() / NODE_MS, publisher->sequence++};
	return zmq_send(socket, statistics, sizeof statistics, ZMQ_DONTWAIT) >= 0;
}

static void node_topics_publish(struct node *node, struct publication *publication)
{
	struct node_publisher *publisher = publication->publisher;
	void *socket = node->listeners[LISTENER_PUBLISH].socket;
	if (!node_topics_send_frame(socket, &publisher->frames[0], true)) {
		free(publication);
	} else if (node_topics_send_frame(socket, &publisher->frames[1], true) &&
		   node_topics_send_payload(socket, publication) &&
		   node_topics_send_frame(socket, &publisher->frames[2], node->statistics)) {
		if (node->statistics)
			(void)node_topics_send_statistics(socket, publisher);
		node->counts.sent++;
	}
}

bool topics_send_waiting(struct node *node, uint32_t most)
{
	struct publication_list slice = STAILQ_HEAD_INITIALIZER(slice);
	struct publication *publication;
	size_t bytes = 0;
	pthread_mutex_lock(&node->waiting_guard);
	for (; most && (publication = STAILQ_FIRST(&node->waiting)); most--) {
		STAILQ_REMOVE_HEAD(&node->waiting, next);
		STAILQ_INSERT_TAIL(&slice, publication, next);
		bytes += sizeof *publication + publication->count;
	}
	bool more = !STAILQ_EMPTY(&node->waiting);
	node->waiting_bytes -= bytes;
	pthread_mutex_unlock(&node->waiting_guard);
	while ((publication = STAILQ_FIRST(&slice))) {
		STAILQ_REMOVE_HEAD(&slice, next);
		node_topics_publish(node, publication);
	}
	node->used |= 1u << (WAIT_LISTENERS + LISTENER_PUBLISH);
	return more;
}

void topics_free_publisher(struct node_publisher *publisher)
{
	for (size_t i = 0; i < ARRAY_LEN(publisher->frames); i++)
		zmq_msg_close(&publisher->frames[i]);
	free(publisher->full);
	free(publisher->type);
	free(publisher);
}

/* --- subscribers -------------------------------------------------------------------------------------------------- */

uint32_t publishers_place(const struct node *node, const char *full)
{
	uint32_t low = 0, high = node->publishers.count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(node->publishers.at[middle]->full, full) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The event carries the number at the time when it was made; one that waits is replaced. */
void topics_tell_subscribers(struct node *node, struct node_publisher *publisher, uint32_t count)
{
	events_purge(&node->events, &publisher->source, NULL, NULL);
	const char *topic = strrchr(publisher->full, '@') + 1;
	events_put(&node->events, &publisher->source,
		&(struct event_parts){.kind = NODE_SUBSCRIBERS,
			.ctx = publisher->ctx,
			.topic = {topic, strlen(topic)},
			.number = count});
}

static void node_topics_change_audience(struct node *node, const char *bytes, size_t count, bool more)
{
	char text[NAMES_FULL_MAX + 1];
	if (!audience_change(&node->audience, bytes, count, more))
		return;
	parts_copy((struct part){bytes, count}, text, sizeof text);
	for (uint32_t i = publishers_place(node, text); i < node->publishers.count; i++) {
		struct node_publisher *publisher = node->publishers.at[i];
		if (strncmp(publisher->full, text, count) != 0)
			break;
		uint32_t now = atomic_load_explicit(&publisher->subscribers, memory_order_relaxed) + (more ? 1 : -1u);
		atomic_store_explicit(&publisher->subscribers, now, memory_order_relaxed);
		topics_tell_subscribers(node, publisher, now);
	}
}

/* A byte 1 or 0, then the beginning of topics that is subscribed to or not any more. */
void topics_hear_audience(struct node *node)
{
	struct parts parts;
	for (int i = 0; i < AUDIENCE_MAX; i++) {
		if (!parts_receive(&parts, node->listeners[LISTENER_PUBLISH].socket))
			return;
		if (parts.count == 1 && parts.at[0].count && (unsigned char)*parts.at[0].at <= 1)
			node_topics_change_audience(node, parts.at[0].at + 1, parts.at[0].count - 1, *parts.at[0].at);
		parts_fini(&parts);
	}
}

/* --- subscribing -------------------------------------------------------------------------------------------------- */

static void node_topics_use(struct node *node, struct directory_record *record)
{
	if (node_is_relative(node, record->node))
		return;
	node->used |= 1u << WAIT_SUBSCRIBE;
	struct link *link = links_find(&node->sources, record->address);
	if (!link)
		link = links_connect(&node->sources, node->subscribe, record->address, clock_now_ns());
	if (!link)
		return;
	link->users++;
	record->used = true;
	record->attempts = 0;
}

static void node_topics_stop_using(struct node *node, struct directory_record *record)
{
	struct link *link = links_find(&node->sources, record->address);
	record->used = false;
	if (link && !--link->users)
		link->used_ns = clock_now_ns();
}

void topics_consider(struct node *node, struct directory_record *record)
{
	uint32_t index;
	if (!record->used && map_find(&node->subscription_index, record->full, &index))
		node_topics_use(node, record);
}

void topics_gone(struct directory_record *record, void *ctx)
{
	struct node *node = ctx;
	if (record->used)
		node_topics_stop_using(node, record);
}

/* A publisher that says goodbye may have sent its last message just before: `ign topic -p` does. ZeroMQ drops what is
 * not read when it disconnects, so the connection is kept for a while. */
void topics_tick(struct node *node, uint64_t now_ns)
{
	links_expire(&node->sources, node->subscribe, now_ns, GRACE_NS);
}

void topics_follow(struct node *node, const char *full)
{
	node->used |= 1u << WAIT_SUBSCRIBE;
	(void)zmq_setsockopt(node->subscribe, ZMQ_SUBSCRIBE, full, strlen(full));
	for (uint32_t i = 0; i < directory_count(node->directory); i++) {
		struct directory_record *record = directory_at(node->directory, i);
		if (record->is_service || record->used || strcmp(record->full, full) != 0)
			continue;
		node_topics_use(node, record);
		if (record->used)
			beacons_connection(node, record, BEACON_NEW_CONNECTION);
	}
}

void topics_leave(struct node *node, const char *full)
{
	uint32_t index;
	node->used |= 1u << WAIT_SUBSCRIBE;
	(void)zmq_setsockopt(node->subscribe, ZMQ_UNSUBSCRIBE, full, strlen(full));
	if (map_find(&node->subscription_index, full, &index))
		return; /* subscribed again since */
	for (uint32_t i = 0; i < directory_count(node->directory); i++) {
		struct directory_record *record = directory_at(node->directory, i);
		if (!record->used || strcmp(record->full, full) != 0)
			continue;
		beacons_connection(node, record, BEACON_END_CONNECTION);
		node_topics_stop_using(node, record);
	}
}

/* With the prefix that events have. */
struct part topics_event_type(struct part type, char text[NAMES_TYPE_MAX + 1])
{
	char wire[NAMES_TYPE_MAX + 1];
	parts_copy(type, wire, sizeof wire);
	const char *plain = names_plain_type(wire);
	if (!plain)
		return type;
	int count = snprintf(text, NAMES_TYPE_MAX + 1, "gz.msgs.%s", plain);
	return (struct part){text, (size_t)MIN(count, NAMES_TYPE_MAX)};
}

static void node_topics_take_message(struct node *node, const struct parts_message *message)
{
	char full[NAMES_FULL_MAX + 1], type[NAMES_TYPE_MAX + 1];
	uint32_t index;
	parts_copy(message->topic, full, sizeof full);
	if (!map_find(&node->subscription_index, full, &index))
		return;
	struct node_subscription *subscription = node->subscriptions.at[index];
	const char *topic = strrchr(full, '@') + 1;
	node->counts.received++;
	events_put(&node->events, &subscription->source,
		&(struct event_parts){.kind = NODE_MESSAGE,
			.ctx = subscription->ctx,
			.topic = {topic, strlen(topic)},
			.type = topics_event_type(message->type, type),
			.bytes = message->bytes});
}

void topics_receive(struct node *node)
{
	struct parts parts;
	struct parts_message message;
	events_hold(&node->events, true);
	for (int i = 0; i < MESSAGES_MAX && parts_receive(&parts, node->subscribe); i++) {
		if (parts_read_message(parts.at, parts.count, &message))
			node_topics_take_message(node, &message);
		parts_fini(&parts);
	}
	events_hold(&node->events, false);
}
