/* The face of a node: what other threads call. They do all themselves under `guard`, sending included; the node's
 * thread is woken only for what they leave to it (node_internal.h). */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

enum { SLICE = 64 }; /* publications that are sent without giving `guard` back */

/* --- identities --------------------------------------------------------------------------------------------------- */

/* Version 4: random. */
static void node_make_uuid(char ret_uuid[NODE_UUID_BYTES])
{
	unsigned char b[16];
	char *at = ret_uuid;
	size_t got = 0;
	while (got < sizeof b) {
		ssize_t more = getrandom(b + got, sizeof b - got, 0);
		got += more > 0 ? (size_t)more : 0;
	}
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = "0123456789abcdef"[b[i] >> 4];
		*at++ = "0123456789abcdef"[b[i] & 15];
	}
	*at = '\0';
}

/* --- life --------------------------------------------------------------------------------------------------------- */

bool node_is_available(void)
{
	return true;
}

static void node_init(struct node *node)
{
	node_make_uuid(node->process);
	node_make_uuid(node->id);
	node_make_uuid(node->serve_id);
	node_make_uuid(node->answer_id);
	pthread_mutex_init(&node->guard, NULL);
	pthread_mutex_init(&node->waiting_guard, NULL);
	STAILQ_INIT(&node->waiting);
	TAILQ_INIT(&node->replies);
	TAILQ_INIT(&node->calls);
	node->directory = directory_create(topics_gone, node);
	node->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* The thread takes no signals: they are for the program's own threads. */
static troupe_status node_start_thread(struct node *node, struct troupe_error *error)
{
	int code = pthread_create(&node->thread, NULL, node_loop, node);
	mem_check_thread(code);
	if (code)
		return fail(error, TROUPE_EIO, "gz-transport: no thread: %s", strerror(code));
	node->has_thread = true;
	return TROUPE_OK;
}

static troupe_status node_start(struct node *node, const struct node_options *options, struct troupe_error *error)
{
	if (!events_init(&node->events) || node->wake_fd < 0)
		return fail(error, TROUPE_EIO, "gz-transport: no descriptor: %s", strerror(errno));
	troupe_status status = setup_take_options(node, options, error);
	if (!status)
		status = setup_open_multicast(node, options, error);
	if (status)
		return status;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* ZeroMQ's threads take over the mask */
	status = sockets_open(node, options, error);
	if (!status)
		status = node_start_thread(node, error);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

troupe_status node_create(const struct node_options *options, struct node **ret_node, struct troupe_error *error)
{
	struct node *node = mem_alloc(sizeof *node);
	node_init(node);
	troupe_status status = node_start(node, options, error);
	if (status)
		node_destroy(node);
	else
		*ret_node = node;
	return status;
}

static void node_free_handles(struct node *node)
{
	for (uint32_t i = 0; i < node->publishers.count; i++)
		topics_free_publisher(node->publishers.at[i]);
	for (uint32_t i = 0; i < node->subscriptions.count; i++) {
		free(node->subscriptions.at[i]->full);
		free(node->subscriptions.at[i]);
	}
	for (uint32_t i = 0; i < node->offers.count; i++) {
		free(node->offers.at[i]->full);
		free(node->offers.at[i]->request_type);
		free(node->offers.at[i]->reply_type);
		free(node->offers.at[i]);
	}
	vec_free(&node->publishers);
	vec_free(&node->subscriptions);
	vec_free(&node->offers);
	map_fini(&node->publisher_index);
	map_fini(&node->subscription_index);
	map_fini(&node->service_index);
}

void node_destroy(struct node *node)
{
	if (!node)
		return;
	if (node->has_thread) {
		atomic_store_explicit(&node->stop, true, memory_order_release);
		node_wake(node);
		pthread_join(node->thread, NULL);
	}
	directory_destroy(node->directory);
	events_fini(&node->events);
	services_free(node);
	node_free_handles(
		node); /* before the sockets: a message of a handle may still be sent, and has its own count */
	sockets_close(node);
	multicast_destroy(node->topics);
	multicast_destroy(node->services);
	audience_fini(&node->audience);
	text_fini(&node->datagram);
	if (node->wake_fd >= 0)
		close(node->wake_fd);
	pthread_mutex_destroy(&node->guard);
	pthread_mutex_destroy(&node->waiting_guard);
	free(node->partition);
	free(node->username);
	free(node->password);
	free(node);
}

/* --- the node's thread -------------------------------------------------------------------------------------------- */

/* `awake` is cleared by the node's thread before it looks for work: a call after that wakes it again. */
void node_wake(struct node *node)
{
	uint64_t one = 1;
	if (!atomic_exchange_explicit(&node->awake, true, memory_order_acq_rel))
		(void)!write(node->wake_fd, &one, sizeof one);
}

/* Gives `guard` back, on another thread than the node's, which is woken if there is something for it. */
static void node_leave(struct node *node)
{
	if (loop_has_input(node) || services_due_ns(node, clock_now_ns()) < node->wait_until_ns)
		node_wake(node);
	pthread_mutex_unlock(&node->guard);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static troupe_status node_check_topic(const char *what, const char *topic, struct troupe_error *error)
{
	if (topic && names_is_topic(topic, strlen(topic)))
		return TROUPE_OK;
	return fail(error, TROUPE_EINVAL,
		"gz-transport: '%.100s' is no name of a %s: expected /NAME without blanks, '~', '@', '//' or ':=', and "
		"at most %d bytes",
		topic ? topic : "", what, NAMES_TOPIC_MAX);
}

static troupe_status node_check_type(const char *type, struct troupe_error *error)
{
	if (type && names_is_type(type, strlen(type)))
		return TROUPE_OK;
	return fail(error, TROUPE_EINVAL,
		"gz-transport: '%.100s' is no type of messages: expected one as gz.msgs.Clock", type ? type : "");
}

static char *node_full_name(const struct node *node, const char *topic)
{
	struct text text = {0};
	names_join(&text, node->partition, topic);
	return text.at;
}

static char *node_wire_type(const struct node *node, const char *type)
{
	struct text text = {0};
	names_add_type(&text, type, node->ignition);
	return text.at;
}

/* Whether a new handle may have this name. With `guard`. */
static troupe_status node_check_room(
	const struct map *index, uint32_t count, const char *full, const char *what, struct troupe_error *error)
{
	uint32_t value;
	if (map_find(index, full, &value))
		return fail(error, TROUPE_ECOMMAND, "gz-transport: this node has the %s %s already", what,
			strrchr(full, '@') + 1);
	if (count == NODE_TOPICS_MAX)
		return fail(error, TROUPE_ELIMIT, "gz-transport: more than %d %ss", NODE_TOPICS_MAX, what);
	return TROUPE_OK;
}

/* --- publishing --------------------------------------------------------------------------------------------------- */

static void node_add_publisher(struct node *node, struct node_publisher *publisher)
{
	uint32_t at = publishers_place(node, publisher->full);
	(void)vec_append(&node->publishers, 1);
	memmove(&node->publishers.at[at + 1], &node->publishers.at[at],
		(node->publishers.count - 1 - at) * sizeof *node->publishers.at);
	node->publishers.at[at] = publisher;
	map_add(&node->publisher_index, publisher->full, 0);
	uint32_t subscribers = audience_of(&node->audience, publisher->full);
	atomic_store_explicit(&publisher->subscribers, subscribers, memory_order_relaxed);
	if (subscribers) /* they came before the topic, and are connected because of another one */
		topics_tell_subscribers(node, publisher, subscribers);
	beacons_advertise_topic(node, publisher, BEACON_ADVERTISE);
}

static void node_set_frame(zmq_msg_t *frame, const char *text)
{
	if (zmq_msg_init_size(frame, strlen(text)))
		mem_run_out(strlen(text));
	memcpy(zmq_msg_data(frame), text, strlen(text));
}

static struct node_publisher *node_make_publisher(
	struct node *node, char *full, const char *type, uint32_t rate_hz, void *ctx)
{
	struct node_publisher *publisher = mem_alloc(sizeof *publisher);
	publisher->node = node;
	publisher->ctx = ctx;
	publisher->full = full;
	publisher->type = node_wire_type(node, type);
	publisher->rate_hz = rate_hz;
	events_source_init(&publisher->source, 0, false);
	node_set_frame(&publisher->frames[0], full);
	node_set_frame(&publisher->frames[1], node->listeners[LISTENER_PUBLISH].endpoint);
	node_set_frame(&publisher->frames[2], publisher->type);
	return publisher;
}

troupe_status node_advertise(struct node *node, const char *topic, const char *type, uint32_t rate_hz, void *ctx,
	struct node_publisher **ret_publisher, struct troupe_error *error)
{
	troupe_status status = node_check_topic("topic", topic, error);
	if (!status)
		status = node_check_type(type, error);
	if (status)
		return status;
	char *full = node_full_name(node, topic);
	struct node_publisher *publisher = node_make_publisher(node, full, type, rate_hz, ctx);
	pthread_mutex_lock(&node->guard);
	status = node_check_room(&node->publisher_index, node->publishers.count, full, "topic", error);
	if (!status)
		node_add_publisher(node, publisher);
	pthread_mutex_unlock(&node->guard);
	if (status)
		topics_free_publisher(publisher);
	else
		*ret_publisher = publisher;
	return status;
}

void node_unadvertise(struct node_publisher *publisher)
{
	struct node *node = publisher->node;
	pthread_mutex_lock(&node->guard);
	uint32_t at = publishers_place(node, publisher->full);
	node->publishers.count--;
	memmove(&node->publishers.at[at], &node->publishers.at[at + 1],
		(node->publishers.count - at) * sizeof *node->publishers.at);
	map_remove(&node->publisher_index, publisher->full);
	(void)topics_send_waiting(node, UINT32_MAX);
	beacons_advertise_topic(node, publisher, BEACON_UNADVERTISE);
	node_leave(node);
	events_purge(&node->events, &publisher->source, NULL, NULL);
	topics_free_publisher(publisher);
}

uint32_t node_subscribers(const struct node_publisher *publisher)
{
	return atomic_load_explicit(&publisher->subscribers, memory_order_relaxed);
}

/* With waiting_guard. */
static enum node_sent node_admit(struct node_publisher *publisher, size_t count)
{
	struct node *node = publisher->node;
	if (publisher->rate_hz) {
		uint64_t now_ns = clock_now_ns(), period_ns = 1000 * NODE_MS / publisher->rate_hz;
		if (now_ns < publisher->due_ns)
			return NODE_TOO_SOON;
		publisher->due_ns = now_ns + period_ns;
	}
	if (node->waiting_bytes + count > (size_t)NODE_SENDING_BYTES_MAX) {
		node->unsent++;
		return NODE_FULL;
	}
	node->waiting_bytes += count;
	return NODE_SENT;
}

enum node_sent node_queue(struct node_publisher *publisher, const void *bytes, size_t count)
{
	struct node *node = publisher->node;
	if (!node_subscribers(publisher))
		return NODE_NOBODY;
	if (count > NODE_MESSAGE_BYTES_MAX)
		return NODE_FULL;
	struct publication *publication = mem_realloc(NULL, sizeof *publication + count);
	*publication = (struct publication){.publisher = publisher, .count = count};
	memcpy(publication->bytes, count ? bytes : "", count);
	pthread_mutex_lock(&node->waiting_guard);
	enum node_sent sent = node_admit(publisher, sizeof *publication + count);
	if (sent == NODE_SENT)
		STAILQ_INSERT_TAIL(&node->waiting, publication, next);
	pthread_mutex_unlock(&node->waiting_guard);
	if (sent != NODE_SENT)
		free(publication);
	return sent;
}

/* A slice at a time: a reply of another thread does not wait for a thousand messages. */
void node_flush(struct node *node)
{
	for (bool more = true; more;) {
		pthread_mutex_lock(&node->guard);
		more = topics_send_waiting(node, SLICE);
		node_leave(node);
	}
}

enum node_sent node_publish(struct node_publisher *publisher, const void *bytes, size_t count)
{
	enum node_sent sent = node_queue(publisher, bytes, count);
	if (sent == NODE_SENT)
		node_flush(publisher->node);
	return sent;
}

/* --- subscribing -------------------------------------------------------------------------------------------------- */

troupe_status node_subscribe(struct node *node, const char *topic, uint32_t queue, void *ctx,
	struct node_subscription **ret_subscription, struct troupe_error *error)
{
	troupe_status status = node_check_topic("topic", topic, error);
	if (status)
		return status;
	struct node_subscription *subscription = mem_alloc(sizeof *subscription);
	*subscription = (struct node_subscription){.node = node, .ctx = ctx, .full = node_full_name(node, topic)};
	events_source_init(&subscription->source, queue ? queue : NODE_QUEUE_DEFAULT, false);
	pthread_mutex_lock(&node->guard);
	status = node_check_room(
		&node->subscription_index, node->subscriptions.count, subscription->full, "subscription", error);
	if (!status) {
		map_add(&node->subscription_index, subscription->full, node->subscriptions.count);
		vec_push(&node->subscriptions, subscription);
		topics_follow(node, subscription->full);
		beacons_seek(node, subscription->full, false);
	}
	node_leave(node);
	if (status) {
		free(subscription->full);
		free(subscription);
	} else {
		*ret_subscription = subscription;
	}
	return status;
}

/* Takes entry `at` out of an array whose map holds the places. */
#define TAKE_OUT(array, index, handle)                                                                                 \
	do {                                                                                                           \
		uint32_t at_ = 0;                                                                                      \
		map_find(index, (handle)->full, &at_);                                                                 \
		map_remove(index, (handle)->full);                                                                     \
		(array)->at[at_] = (array)->at[--(array)->count];                                                      \
		if (at_ < (array)->count) {                                                                            \
			map_remove(index, (array)->at[at_]->full);                                                     \
			map_add(index, (array)->at[at_]->full, at_);                                                   \
		}                                                                                                      \
	} while (0)

void node_unsubscribe(struct node_subscription *subscription)
{
	struct node *node = subscription->node;
	pthread_mutex_lock(&node->guard);
	TAKE_OUT(&node->subscriptions, &node->subscription_index, subscription);
	topics_leave(node, subscription->full);
	node_leave(node);
	events_purge(&node->events, &subscription->source, NULL, NULL);
	free(subscription->full);
	free(subscription);
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static void node_free_service(struct node_service *service)
{
	free(service->full);
	free(service->request_type);
	free(service->reply_type);
	free(service);
}

troupe_status node_offer(struct node *node, const char *service, const char *request_type, const char *reply_type,
	void *ctx, struct node_service **ret_service, struct troupe_error *error)
{
	troupe_status status = node_check_topic("service", service, error);
	if (!status)
		status = node_check_type(request_type, error);
	if (!status)
		status = node_check_type(reply_type, error);
	if (status)
		return status;
	struct node_service *made = mem_alloc(sizeof *made);
	*made = (struct node_service){.node = node,
		.ctx = ctx,
		.full = node_full_name(node, service),
		.request_type = node_wire_type(node, request_type),
		.reply_type = node_wire_type(node, reply_type)};
	events_source_init(&made->source, NODE_REQUESTS_MAX, true);
	pthread_mutex_lock(&node->guard);
	status = node_check_room(&node->service_index, node->offers.count, made->full, "service", error);
	if (!status) {
		map_add(&node->service_index, made->full, node->offers.count);
		vec_push(&node->offers, made);
		beacons_advertise_service(node, made, BEACON_ADVERTISE);
	}
	pthread_mutex_unlock(&node->guard);
	if (status)
		node_free_service(made);
	else
		*ret_service = made;
	return status;
}

void node_take_directly(struct node_service *service, node_request_fn take)
{
	pthread_mutex_lock(&service->node->guard);
	service->take = take;
	pthread_mutex_unlock(&service->node->guard);
}

typedef VEC(uint64_t) number_vec;

static void node_note_dropped(const struct node_event *event, void *ctx)
{
	number_vec *numbers = ctx;
	if (!event->one_way)
		vec_push(numbers, event->number);
}

void node_withdraw(struct node_service *service)
{
	struct node *node = service->node;
	number_vec numbers = {0};
	pthread_mutex_lock(&node->guard);
	TAKE_OUT(&node->offers, &node->service_index, service);
	beacons_advertise_service(node, service, BEACON_UNADVERTISE);
	pthread_mutex_unlock(&node->guard);
	events_purge(&node->events, &service->source, node_note_dropped, &numbers);
	for (uint32_t i = 0; i < numbers.count; i++)
		node_reply(node, numbers.at[i], false, "", 0);
	vec_free(&numbers);
	node_free_service(service);
}

bool node_reply(struct node *node, uint64_t request, bool good, const void *bytes, size_t count)
{
	struct request *slot = &node->requests[request % NODE_REQUESTS_MAX];
	if (!request || count > NODE_MESSAGE_BYTES_MAX)
		return false;
	struct reply *reply = mem_realloc(NULL, sizeof *reply + count);
	*reply = (struct reply){.good = good, .count = count};
	memcpy(reply->bytes, count ? bytes : "", count);
	pthread_mutex_lock(&node->guard);
	bool known = slot->number == request;
	if (known) {
		reply->to = *slot;
		*slot = (struct request){0};
		services_send_reply(node, reply);
	}
	node_leave(node);
	if (!known)
		free(reply);
	return known;
}

static struct call *node_make_call(struct node *node, const char *service, const char *request_type,
	const char *reply_type, const void *bytes, size_t count)
{
	struct call *call = mem_realloc(NULL, sizeof *call + count);
	*call = (struct call){.service = node_full_name(node, service),
		.request_type = mem_strdup(request_type),
		.reply_type = mem_strdup(reply_type),
		.count = count};
	memcpy(call->bytes, count ? bytes : "", count);
	node_make_uuid(call->uuid);
	return call;
}

troupe_status node_call(struct node *node, const char *service, const char *request_type, const char *reply_type,
	const void *bytes, size_t count, int timeout_ms, void *ctx, uint64_t *ret_call, struct troupe_error *error)
{
	troupe_status status = node_check_topic("service", service, error);
	if (!status)
		status = node_check_type(request_type, error);
	if (!status)
		status = node_check_type(reply_type, error);
	if (!status && count > NODE_MESSAGE_BYTES_MAX)
		status = fail(error, TROUPE_EINVAL, "gz-transport: a request of %zu bytes: expected at most %d", count,
			NODE_MESSAGE_BYTES_MAX);
	if (status)
		return status;
	struct call *call = node_make_call(node, service, request_type, reply_type, bytes, count);
	call->ctx = ctx;
	call->deadline_ns = clock_now_ns() + (uint64_t)MAX(timeout_ms, 0) * NODE_MS;
	pthread_mutex_lock(&node->guard);
	if (node->call_count == NODE_CALLS_MAX) {
		status = fail(error, TROUPE_ELIMIT, "gz-transport: more than %d calls at a time", NODE_CALLS_MAX);
	} else {
		*ret_call = call->number = ++node->call_number; /* before its outcome can come */
		services_call(node, call);
	}
	node_leave(node);
	if (status)
		services_free_call(call);
	return status;
}

/* --- what is there ------------------------------------------------------------------------------------------------ */

const char *node_partition(const struct node *node)
{
	return node->partition;
}

bool node_is_local(const struct node *node)
{
	return node->local;
}

static void node_add_address(struct text *out, uint32_t address)
{
	text_add(out, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

void node_describe(const struct node *node, struct text *out)
{
	text_add(out, "partition %s, discovery ", node->partition);
	node_add_address(out, node->group);
	text_add(out, ":%u and %u on ", node->topic_port, node->service_port);
	node_add_address(out, node->address);
	text_add(out, node->local ? " (this machine only)" : " (other hosts, too)");
}

void node_get_counts(struct node *node, struct node_counts *ret_counts)
{
	pthread_mutex_lock(&node->guard);
	*ret_counts = node->counts;
	ret_counts->datagrams_dropped += multicast_dropped(node->topics) + multicast_dropped(node->services);
	ret_counts->processes = directory_process_count(node->directory);
	ret_counts->records = directory_count(node->directory);
	ret_counts->connections = 0;
	for (int i = 0; i < NODE_LISTENERS; i++)
		ret_counts->connections += node->listeners[i].connections;
	pthread_mutex_unlock(&node->guard);
	pthread_mutex_lock(&node->waiting_guard);
	ret_counts->unsent = node->unsent;
	pthread_mutex_unlock(&node->waiting_guard);
	pthread_mutex_lock(&node->events.guard);
	ret_counts->lost = node->events.lost;
	pthread_mutex_unlock(&node->events.guard);
}
