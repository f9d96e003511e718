/* The thread owns the connection. Between it and the caller are two lists under one lock: frames that are to be sent,
 * and messages that have come; neither side does anything slow while it holds the lock. */
#include "gateway/relay/remote_internal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/eventcount.h"
#include "net/hello.h"
#include "net/tcp/channel.h"
#include "topic/message.h"
#include "topic/relay.pb-c.h"

#include <troupe/gateway.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RETRY_MS = 100, ASKS_MAX = 1 << 16 };

static struct remote *remote_of(struct bus *bus)
{
	return (struct remote *)bus;
}

void remote_free_come(struct come *come)
{
	if (come)
		message_free(&come->tell->base);
	free(come);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

void remote_listing_release(struct remote_listing *listing)
{
	if (!listing || atomic_fetch_sub(&listing->refs, 1) != 1)
		return;
	arena_fini(&listing->arena);
	free(listing);
}

struct remote_listing *remote_listing_of(const struct remote *remote, const Troupe__Msgs__RelayTell *tell)
{
	struct remote_listing *listing = mem_alloc(sizeof *listing);
	struct arena *arena = &listing->arena;
	struct troupe_topic *rows = arena_array(arena, struct troupe_topic, (uint32_t)tell->n_row + 1);
	atomic_store(&listing->refs, 1);
	for (size_t i = 0; i < tell->n_row; i++) {
		const Troupe__Msgs__RelayTell__Row *row = tell->row[i];
		rows[i] = (struct troupe_topic){
			.name = arena_printf(arena, "%s%s", remote->prefix ? remote->prefix : "", row->name),
			.kind = row->kind > TROUPE_TOPIC_SERVICE ? TROUPE_TOPIC_PUBLISHED
								 : (troupe_topic_kind)row->kind,
			.type = arena_strdup(arena, row->type),
			.reply_type = row->kind == TROUPE_TOPIC_SERVICE ? arena_strdup(arena, row->reply_type) : NULL,
			.owner = arena_strdup(arena, row->owner),
			.rate_hz = row->rate_hz,
			.changes = row->changes,
			.is_twin = row->is_twin,
			.model = *row->model ? arena_strdup(arena, row->model) : NULL};
	}
	listing->shown = (struct troupe_topics){tell->epoch, (uint32_t)tell->n_row, rows};
	return listing;
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

static void remote_wake(struct remote *remote)
{
	uint64_t one = 1;
	(void)!write(remote->woken, &one, sizeof one);
}

static troupe_status remote_ask(struct remote *remote, const Troupe__Msgs__RelayAsk *what, struct troupe_error *error)
{
	struct text bytes = {0};
	message_add_bytes(&bytes, &what->base);
	if (bytes.count > frame_limit(FRAME_ASK)) {
		text_fini(&bytes);
		return fail(error, TROUPE_ELIMIT, "'%.150s': %zu bytes: expected at most %u", what->topic, bytes.count,
			frame_limit(FRAME_ASK));
	}
	pthread_mutex_lock(&remote->lock);
	bool full = remote->asks.count == ASKS_MAX;
	if (!full)
		vec_push(&remote->asks, bytes);
	pthread_mutex_unlock(&remote->lock);
	if (full) {
		text_fini(&bytes);
		return fail(error, TROUPE_ELIMIT, "the run does not read: %d requests wait", ASKS_MAX);
	}
	remote_wake(remote);
	return TROUPE_OK;
}

/* The run's name for a topic or service of this side, where all names of a robot client's process begin with "/NAME". A
 * name without it is one that the run does not have. */
static const char *remote_inside(const struct remote *remote, const char *name)
{
	size_t length = remote->prefix ? strlen(remote->prefix) : 0;
	if (!length)
		return name;
	return !strncmp(name, remote->prefix, length) && name[length] == '/' ? name + length : "";
}

static troupe_status remote_subscribe(struct bus *bus, const char *topic, double rate_hz, struct troupe_error *error)
{
	Troupe__Msgs__RelayAsk what = TROUPE__MSGS__RELAY_ASK__INIT;
	what.what = TROUPE__MSGS__RELAY_ASK__WHAT__SUBSCRIBE;
	what.topic = message_string(remote_inside(remote_of(bus), topic));
	what.rate_hz = rate_hz;
	return remote_ask(remote_of(bus), &what, error);
}

static void remote_unsubscribe(struct bus *bus, const char *topic)
{
	Troupe__Msgs__RelayAsk what = TROUPE__MSGS__RELAY_ASK__INIT;
	what.what = TROUPE__MSGS__RELAY_ASK__WHAT__UNSUBSCRIBE;
	what.topic = message_string(remote_inside(remote_of(bus), topic));
	(void)remote_ask(remote_of(bus), &what, NULL);
}

/* Whether the run has this row, by the last table that came. */
static bool remote_has_row(struct remote *remote, troupe_topic_kind kind, const char *name)
{
	bool has = false;
	pthread_mutex_lock(&remote->lock);
	const struct troupe_topics *rows = &remote->topics->shown;
	for (uint32_t i = 0; i < rows->count && !has; i++)
		has = rows->at[i].kind == kind && !strcmp(rows->at[i].name, name);
	pthread_mutex_unlock(&remote->lock);
	return has;
}

static troupe_status remote_publish(struct bus *bus, const char *topic, const char *type, const void *bytes,
	size_t count, struct troupe_error *error)
{
	struct remote *remote = remote_of(bus);
	Troupe__Msgs__RelayAsk what = TROUPE__MSGS__RELAY_ASK__INIT;
	if (!remote->prefix)
		return fail(error, TROUPE_ECOMMAND, "topic '%.150s': this viewer only watches", topic);
	if (!remote_has_row(remote, TROUPE_TOPIC_TAKEN, topic))
		return fail(error, TROUPE_ECOMMAND, "topic '%.150s': there is none of this name", topic);
	what.what = TROUPE__MSGS__RELAY_ASK__WHAT__PUBLISH;
	what.topic = message_string(remote_inside(remote, topic));
	what.type = message_string(type ? type : "");
	what.data = (ProtobufCBinaryData){count, (uint8_t *)(uintptr_t)bytes};
	troupe_status status = remote_ask(remote, &what, error);
	atomic_fetch_add(&remote->commands, !status);
	return status;
}

static troupe_status remote_call(struct bus *bus, const char *service, const char *type, const void *bytes,
	size_t count, uint64_t tag, struct troupe_error *error)
{
	struct remote *remote = remote_of(bus);
	Troupe__Msgs__RelayAsk what = TROUPE__MSGS__RELAY_ASK__INIT;
	what.what = TROUPE__MSGS__RELAY_ASK__WHAT__CALL;
	what.topic = message_string(remote_inside(remote, service));
	what.type = message_string(type ? type : "");
	what.data = (ProtobufCBinaryData){count, (uint8_t *)(uintptr_t)bytes};
	what.tag = tag;
	troupe_status status = remote_ask(remote, &what, error);
	atomic_fetch_add(&remote->commands, remote->prefix && !status);
	return status;
}

troupe_status remote_ask_topics(struct remote *remote)
{
	Troupe__Msgs__RelayAsk what = TROUPE__MSGS__RELAY_ASK__INIT;
	what.what = TROUPE__MSGS__RELAY_ASK__WHAT__TOPICS;
	return remote_ask(remote, &what, NULL);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

static const char *remote_outside(struct remote *remote, const char *name)
{
	if (!remote->prefix)
		return name;
	remote->topic.count = 0;
	text_add(&remote->topic, "%s%s", remote->prefix, name);
	return remote->topic.at;
}

static bool remote_take_now(struct remote *remote, struct troupe_message *ret_message)
{
	remote_free_come(remote->taken);
	pthread_mutex_lock(&remote->lock);
	struct come *come = remote->taken = remote->first;
	if (come) {
		remote->count--;
		remote->first = come->next;
		remote->last = come->next ? remote->last : NULL;
		remote->bytes -= come->bytes;
	}
	remote->idle = !come;
	pthread_mutex_unlock(&remote->lock);
	if (!come)
		return false;
	const Troupe__Msgs__RelayTell *tell = come->tell;
	*ret_message = (struct troupe_message){.is_reply = tell->what == TROUPE__MSGS__RELAY_TELL__WHAT__REPLY,
		.topic = remote_outside(remote, tell->topic),
		.type = tell->type,
		.bytes = tell->data.data,
		.count = tell->data.len,
		.step = tell->step,
		.time_ns = tell->time_ns,
		.tag = tell->tag,
		.status = (troupe_status)tell->status,
		.text = tell->text};
	return true;
}

static bool remote_take(struct bus *bus, uint64_t timeout_ns, struct troupe_message *ret_message)
{
	struct remote *remote = remote_of(bus);
	uint32_t seen = eventcount_read(&remote->more);
	if (remote_take_now(remote, ret_message))
		return true;
	if (!timeout_ns)
		return false;
	(void)eventcount_await(&remote->more, seen, 0, timeout_ns);
	return remote_take_now(remote, ret_message);
}

static uint64_t remote_lost(const struct bus *bus)
{
	struct remote *remote = (struct remote *)(uintptr_t)bus;
	pthread_mutex_lock(&remote->lock);
	uint64_t count = remote->lost;
	pthread_mutex_unlock(&remote->lock);
	return count;
}

static const struct troupe_topics *remote_topics(struct bus *bus)
{
	struct remote *remote = remote_of(bus);
	pthread_mutex_lock(&remote->lock);
	struct remote_listing *listing = remote->topics;
	atomic_fetch_add(&listing->refs, 1);
	pthread_mutex_unlock(&remote->lock);
	return &listing->shown;
}

static void remote_release(struct bus *bus, const struct troupe_topics *list)
{
	(void)bus;
	remote_listing_release((struct remote_listing *)(void *)(uintptr_t)list);
}

static uint64_t remote_epoch(const struct bus *bus)
{
	return atomic_load(&((const struct remote *)bus)->epoch);
}

static uint32_t remote_world_count(const struct bus *bus)
{
	return ((const struct remote *)bus)->world_count;
}

static const char *remote_world_name(const struct bus *bus, uint32_t world)
{
	const struct remote *remote = (const struct remote *)bus;
	return world < remote->world_count ? remote->worlds[world] : NULL;
}

static uint64_t remote_commands(const struct bus *bus)
{
	struct remote *remote = (struct remote *)(uintptr_t)bus;
	return remote->prefix ? atomic_load(&remote->commands) : UINT64_MAX;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void remote_destroy(struct bus *bus)
{
	struct remote *remote = remote_of(bus);
	atomic_store(&remote->stop, true);
	if (remote->started) {
		remote_wake(remote);
		pthread_join(remote->thread, NULL);
	}
	channel_destroy(remote->channel);
	for (struct come *come = remote->first, *next; come; come = next) {
		next = come->next;
		remote_free_come(come);
	}
	remote_free_come(remote->taken);
	for (uint32_t i = 0; i < remote->asks.count; i++)
		text_fini(&remote->asks.at[i]);
	vec_free(&remote->asks);
	for (uint32_t i = 0; i < remote->world_count; i++)
		free(remote->worlds[i]);
	free(remote->worlds);
	free(remote->prefix);
	text_fini(&remote->topic);
	remote_listing_release(remote->topics);
	if (remote->woken >= 0)
		close(remote->woken);
	pthread_mutex_destroy(&remote->lock);
	free(remote);
}

static const struct bus_ops remote_ops = {
	.subscribe = remote_subscribe,
	.unsubscribe = remote_unsubscribe,
	.publish = remote_publish,
	.call = remote_call,
	.take = remote_take,
	.lost = remote_lost,
	.topics = remote_topics,
	.release = remote_release,
	.epoch = remote_epoch,
	.world_count = remote_world_count,
	.world_name = remote_world_name,
	.commands = remote_commands,
	.destroy = remote_destroy,
};

/* Anything else than a ticket is none, which the run refuses. */
static void remote_read_ticket(const char *text, unsigned char ret_ticket[HELLO_TICKET_BYTES])
{
	unsigned byte;
	for (size_t i = 0; text && strlen(text) == 2 * HELLO_TICKET_BYTES && i < HELLO_TICKET_BYTES; i++)
		if (sscanf(text + 2 * i, "%2x", &byte) == 1)
			ret_ticket[i] = (unsigned char)byte;
}

static troupe_status remote_say_hello(
	struct remote *remote, const char *client, const char *ticket, struct troupe_error *error)
{
	struct hello hello = {.protocol = HELLO_PROTOCOL, .role = HELLO_VIEWER};
	struct text payload = {0};
	char host[64] = "?";
	(void)gethostname(host, sizeof host - 1);
	(void)snprintf(hello.client, sizeof hello.client, "%s", client ? client : "");
	remote_read_ticket(ticket, hello.ticket);
	(void)snprintf(hello.build, sizeof hello.build, "%s", troupe_version());
	(void)snprintf(hello.name, sizeof hello.name, "%s:%ld", host, (long)getpid());
	troupe_status status = key_random_bytes(hello.id, sizeof hello.id, error);
	hello_encode(&hello, &payload);
	if (!status)
		status = channel_send(remote->channel, FRAME_HELLO, payload.at, payload.count, error);
	text_fini(&payload);
	if (!status)
		status = remote_ask_topics(remote);
	return status;
}

static bool remote_is_welcome(const struct remote *remote)
{
	return remote->worlds && remote->topics;
}

/* One attempt to join the run. The error names the address, whether the channel has failed or the run has refused. */
static troupe_status remote_join(struct remote *remote, const struct remote_options *options,
	const struct address *address, struct troupe_error *error)
{
	const struct channel_options channel = {.role = CHANNEL_CLIENT, .key = options->key};
	char at[ADDRESS_TEXT_BYTES];
	struct troupe_error why;
	uint64_t now_ns = remote->heard_ns = clock_now_ns();
	troupe_status status = channel_connect(address, &channel, now_ns, &remote->channel, error);
	if (status)
		return status;
	address_text(address, at);
	channel_set_peer(remote->channel, ""); /* the error below has the name */
	channel_limit(remote->channel, FRAME_PAYLOAD_MAX);
	remote->over = false;
	status = remote_say_hello(remote, options->client, options->ticket, &why);
	while (!status && !remote_is_welcome(remote) && remote_thread_turn(remote)) {
		remote_thread_send_asks(remote);
		remote_thread_await_more(remote);
	}
	if (!status && !remote_is_welcome(remote)) {
		why = remote->why;
		status = why.status ? why.status : TROUPE_EPEER;
	}
	channel_set_peer(remote->channel, at);
	return status ? fail(error, status, "%s: %s", at, why.text) : TROUPE_OK;
}

static troupe_status remote_start(
	struct remote *remote, const struct remote_options *options, struct troupe_error *error)
{
	struct address address;
	uint64_t wait_ms = options->wait_ms ? options->wait_ms : RELAY_SILENT_S * 1000;
	uint64_t until_ns = clock_now_ns() + wait_ms * 1000000;
	remote->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (remote->woken < 0)
		return fail(error, TROUPE_EIO, "no event file: %s", strerror(errno));
	troupe_status status = address_parse(options->address, RELAY_PORT, &address, error);
	if (status)
		return status;
	while ((status = remote_join(remote, options, &address, error)) == TROUPE_EPEER && clock_now_ns() < until_ns) {
		channel_destroy(remote->channel);
		remote->channel = NULL;
		(void)poll(NULL, 0, RETRY_MS);
	}
	if (status)
		return status;
	remote->on_ready = options->on_ready;
	remote->ctx = options->ctx;
	int failed = pthread_create(&remote->thread, NULL, remote_thread_work, remote);
	mem_check_thread(failed);
	remote->started = !failed;
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}

troupe_status remote_connect(const struct remote_options *options, struct bus **ret_bus, struct troupe_error *error)
{
	struct remote *remote = mem_alloc(sizeof *remote);
	remote->base.ops = &remote_ops;
	remote->idle = true;
	remote->woken = -1;
	remote->depth = options->depth;
	remote->prefix = options->client ? mem_printf("/%s", options->client) : NULL;
	pthread_mutex_init(&remote->lock, NULL);
	troupe_status status = remote_start(remote, options, error);
	if (status)
		remote_destroy(&remote->base);
	else
		*ret_bus = &remote->base;
	return status;
}

troupe_status remote_connect_run(const struct troupe_view_run *run, const struct remote_options *options,
	struct bus **ret_bus, struct troupe_error *error)
{
	struct key key = {0};
	bool has_key = false;
	troupe_status status = key_find(run->key_file, run->insecure, &key, &has_key, error);
	struct remote_options own = *options;
	own.address = run->address;
	own.client = run->client;
	own.ticket = run->ticket;
	own.key = has_key ? &key : NULL;
	if (!status)
		status = remote_connect(&own, ret_bus, error);
	key_forget(&key);
	return status;
}

bool remote_is_over(struct bus *bus, struct troupe_error *ret_why)
{
	struct remote *remote = remote_of(bus);
	pthread_mutex_lock(&remote->lock);
	bool over = remote->over;
	if (over)
		*ret_why = remote->why;
	pthread_mutex_unlock(&remote->lock);
	return over;
}
