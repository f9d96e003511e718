/* Events wait in the order in which they came, for any thread that asks. Each also stands in a list of its source, so
 * that a subscription that is not read loses its own oldest messages, and no other's, in constant time.
 *
 * The descriptor is readable while events wait: it is written when the list stops being empty, and read when it becomes
 * empty, both with the lock. So waiting is one poll(), and taking one of many events no system call at all. While the
 * node's thread takes a row of messages from ZeroMQ it is not written: a thread that waits would otherwise wake for the
 * first, take it faster than the next one comes, and sleep again, for each message. */
#include "gateway/gz/node_internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool events_init(struct events *events)
{
	TAILQ_INIT(&events->items);
	pthread_mutex_init(&events->guard, NULL);
	events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return events->fd >= 0;
}

void events_source_init(struct event_source *source, uint32_t waiting_max, bool refuses)
{
	TAILQ_INIT(&source->items);
	source->waiting_max = waiting_max;
	source->refuses = refuses;
}

static void node_events_take_out(struct events *events, struct event_item *item)
{
	TAILQ_REMOVE(&events->items, item, all);
	events->bytes -= item->bytes;
	if (item->source) {
		TAILQ_REMOVE(&item->source->items, item, of_source);
		item->source->waiting--;
	}
	uint64_t number;
	if (TAILQ_EMPTY(&events->items) && events->signalled) {
		(void)!read(events->fd, &number, sizeof number);
		events->signalled = false;
	}
}

/* With the lock. */
static void node_events_signal_if_any(struct events *events)
{
	uint64_t one = 1;
	if (TAILQ_EMPTY(&events->items) || events->signalled || events->held)
		return;
	(void)!write(events->fd, &one, sizeof one);
	events->signalled = true;
}

void events_hold(struct events *events, bool held)
{
	pthread_mutex_lock(&events->guard);
	events->held = held;
	node_events_signal_if_any(events);
	pthread_mutex_unlock(&events->guard);
}

void events_fini(struct events *events)
{
	struct event_item *item;
	while ((item = TAILQ_FIRST(&events->items))) {
		TAILQ_REMOVE(&events->items, item, all);
		free(item);
	}
	if (events->fd >= 0)
		close(events->fd);
	pthread_mutex_destroy(&events->guard);
}

static const char *node_events_put(char **at, struct part part)
{
	char *begin = *at;
	memcpy(begin, part.count ? part.at : "", part.count);
	begin[part.count] = '\0';
	*at += part.count + 1;
	return begin;
}

/* One piece of memory: what free() in node_event_fini() takes. */
static struct event_item *node_events_make_item(const struct event_parts *parts)
{
	size_t bytes = sizeof(struct event_item) + parts->topic.count + parts->type.count + parts->reply_type.count +
		       parts->bytes.count + 4;
	struct event_item *item = mem_realloc(NULL, bytes);
	char *at = (char *)(item + 1);
	item->bytes = bytes;
	item->source = NULL;
	item->event = (struct node_event){.kind = parts->kind,
		.ctx = parts->ctx,
		.count = parts->bytes.count,
		.number = parts->number,
		.one_way = parts->one_way,
		.outcome = parts->outcome,
		.memory = item};
	item->event.topic = node_events_put(&at, parts->topic);
	item->event.type = node_events_put(&at, parts->type);
	item->event.reply_type = node_events_put(&at, parts->reply_type);
	item->event.bytes = node_events_put(&at, parts->bytes);
	return item;
}

static void node_events_drop_oldest(struct events *events, struct event_source *source)
{
	struct event_item *oldest = TAILQ_FIRST(&source->items);
	node_events_take_out(events, oldest);
	free(oldest);
	source->lost++;
	events->lost++;
}

/* Room for one more. False: there is none, and it is lost itself. */
static bool node_events_make_room(struct events *events, struct event_source *source, size_t bytes)
{
	while (!source->refuses && source->waiting &&
		(source->waiting >= source->waiting_max || events->bytes + bytes > (size_t)NODE_WAITING_BYTES_MAX))
		node_events_drop_oldest(events, source);
	if (source->waiting < source->waiting_max && events->bytes + bytes <= (size_t)NODE_WAITING_BYTES_MAX)
		return true;
	source->lost++;
	events->lost += !source->refuses;
	return false;
}

static void node_events_append(struct events *events, struct event_source *source, struct event_item *item)
{
	item->source = source;
	TAILQ_INSERT_TAIL(&events->items, item, all);
	node_events_signal_if_any(events);
	events->bytes += item->bytes;
	if (!source)
		return;
	TAILQ_INSERT_TAIL(&source->items, item, of_source);
	source->waiting++;
}

bool events_put(struct events *events, struct event_source *source, const struct event_parts *parts)
{
	struct event_item *item = node_events_make_item(parts);
	pthread_mutex_lock(&events->guard);
	bool good = !source || !source->waiting_max || node_events_make_room(events, source, item->bytes);
	if (good)
		node_events_append(events, source, item);
	pthread_mutex_unlock(&events->guard);
	if (!good)
		free(item);
	return good;
}

void events_purge(struct events *events, struct event_source *source, event_drop_fn *on_drop, void *ctx)
{
	struct event_item *item;
	pthread_mutex_lock(&events->guard);
	while ((item = TAILQ_FIRST(&source->items))) {
		node_events_take_out(events, item);
		if (on_drop)
			on_drop(&item->event, ctx);
		free(item);
	}
	pthread_mutex_unlock(&events->guard);
}

static bool node_events_take(struct events *events, struct node_event *ret_event)
{
	pthread_mutex_lock(&events->guard);
	struct event_item *item = TAILQ_FIRST(&events->items);
	if (item) {
		node_events_take_out(events, item);
		*ret_event = item->event;
	}
	pthread_mutex_unlock(&events->guard);
	return item;
}

bool node_next(struct node *node, int timeout_ms, struct node_event *ret_event)
{
	struct pollfd wait = {.fd = node->events.fd, .events = POLLIN};
	if (node_events_take(&node->events, ret_event))
		return true;
	if (!timeout_ms || poll(&wait, 1, timeout_ms) <= 0)
		return false;
	return node_events_take(&node->events, ret_event);
}

void node_event_fini(struct node_event *event)
{
	free(event->memory);
	event->memory = NULL;
}

int node_fd(const struct node *node)
{
	return node->events.fd;
}

uint64_t node_lost(const struct node_subscription *subscription)
{
	struct events *events = &subscription->node->events;
	pthread_mutex_lock(&events->guard);
	uint64_t lost = subscription->source.lost;
	pthread_mutex_unlock(&events->guard);
	return lost;
}
