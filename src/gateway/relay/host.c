/* The run's side. Each viewer is a client of the server (troupe/client.h), which takes as many messages as its
 * connection has room for: what a slow viewer does not take in time is lost at the client, as for any slow client, and
 * was never encoded. */
#include "gateway/relay/relay.h"

#include "base/clock.h"
#include "gateway/ending.h"
#include "net/hello.h"
#include "net/tcp/listener.h"
#include "server/client.h"
#include "server/network.h"
#include "topic/message.h"
#include "topic/relay.pb-c.h"

#include <troupe/client.h>
#include <troupe/gateway.h>
#include <troupe/server.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

enum { RELAY_HOST_LOOK_MS = 100, ASKED_BYTES_MAX = 1 << 20, RELAY_HOST_GOODBYE_MS = 200 };

static const struct message_limits relay_host_limits = {.bytes_max = ASKED_BYTES_MAX, .items_max = 16};

struct viewer {
	struct relay_host *host;
	struct channel *channel;
	struct troupe_client *client; /* NULL: it has not said hello */
	uint64_t since_ns;            /* when its connection was taken */
	uint64_t epoch;               /* that it was told of; 0: it has not asked for topics */
	uint64_t beat_ns;             /* when it was told last that the run is there */
	uint64_t sent, moved_ns;      /* bytes sent, and when their number changed last */
	uint64_t acts;                /* for the robot client of this number; 0: it only watches */
	uint64_t counted;             /* of its commands */
	bool over;
};

struct relay_host {
	struct troupe_server *server;
	struct listener *listener;
	int woken; /* event file */
	pthread_t thread;
	bool started;
	_Atomic bool stop, failed;
	struct troupe_error why; /* read when `stop` was seen */
	_Atomic uint64_t joined;
	_Atomic uint64_t commands; /* of robot clients that have gone */
	/* the thread's */
	VEC(struct viewer *) viewers;
	struct pollfd polled[1 + LISTENER_POLL_MAX + RELAY_VIEWERS_MAX];
};

static void relay_host_wake(void *ctx)
{
	const struct relay_host *host = ctx;
	uint64_t one = 1;
	(void)!write(host->woken, &one, sizeof one);
}

/* --- telling ------------------------------------------------------------------------------------------------------ */

static void relay_host_tell(struct viewer *viewer, const Troupe__Msgs__RelayTell *message)
{
	message_add_bytes(channel_begin(viewer->channel), &message->base);
	viewer->over |= channel_end(viewer->channel, FRAME_TELL, NULL) != TROUPE_OK;
}

static void relay_host_refuse(struct viewer *viewer, const char *why)
{
	struct text reason = {0};
	refuse_encode(why, false, &reason);
	(void)channel_send(viewer->channel, FRAME_REFUSE, reason.at, reason.count, NULL);
	text_fini(&reason);
	viewer->over = true;
}

static void relay_host_tell_reply(
	struct viewer *viewer, const char *service, uint64_t tag, troupe_status status, const char *text)
{
	Troupe__Msgs__RelayTell reply = TROUPE__MSGS__RELAY_TELL__INIT;
	reply.what = TROUPE__MSGS__RELAY_TELL__WHAT__REPLY;
	reply.topic = message_string(service);
	reply.tag = tag;
	reply.status = (uint32_t)status;
	reply.text = message_string(text);
	relay_host_tell(viewer, &reply);
}

static void relay_host_tell_message(struct viewer *viewer, const struct troupe_message *message)
{
	Troupe__Msgs__RelayTell out = TROUPE__MSGS__RELAY_TELL__INIT;
	out.what = message->is_reply ? TROUPE__MSGS__RELAY_TELL__WHAT__REPLY : TROUPE__MSGS__RELAY_TELL__WHAT__MESSAGE;
	out.topic = message_string(message->topic);
	out.type = message_string(message->type);
	out.data = (ProtobufCBinaryData){message->count, (uint8_t *)(uintptr_t)message->bytes};
	out.step = message->step;
	out.time_ns = message->time_ns;
	out.tag = message->tag;
	out.status = message->is_reply ? (uint32_t)message->status : 0;
	if (message->is_reply && message->text)
		out.text = message_string(message->text);
	relay_host_tell(viewer, &out);
}

static void relay_host_tell_topics(struct viewer *viewer)
{
	const struct troupe_topics *topics = client_topics(viewer->client);
	Troupe__Msgs__RelayTell out = TROUPE__MSGS__RELAY_TELL__INIT;
	Troupe__Msgs__RelayTell__Row *rows = mem_alloc((topics->count + 1) * sizeof *rows);
	Troupe__Msgs__RelayTell__Row **list = mem_alloc((topics->count + 1) * sizeof(void *));
	for (uint32_t i = 0; i < topics->count; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		troupe__msgs__relay_tell__row__init(&rows[i]);
		rows[i].name = message_string(topic->name);
		rows[i].kind = topic->kind;
		rows[i].type = message_string(topic->type);
		rows[i].reply_type = message_string(topic->reply_type ? topic->reply_type : "");
		rows[i].owner = message_string(topic->owner);
		rows[i].rate_hz = topic->rate_hz;
		rows[i].changes = topic->changes;
		rows[i].is_twin = topic->is_twin;
		rows[i].model = message_string(topic->model ? topic->model : "");
		list[i] = &rows[i];
	}
	out.what = TROUPE__MSGS__RELAY_TELL__WHAT__TOPICS;
	out.epoch = topics->epoch;
	out.row = list;
	out.n_row = topics->count;
	relay_host_tell(viewer, &out);
	viewer->epoch = topics->epoch;
	troupe_topics_release(topics);
	free(rows);
	free(list);
}

static void relay_host_tell_epoch(struct viewer *viewer)
{
	uint64_t epoch = troupe_topics_epoch(viewer->host->server);
	if (!viewer->epoch || epoch == viewer->epoch)
		return;
	Troupe__Msgs__RelayTell out = TROUPE__MSGS__RELAY_TELL__INIT;
	out.what = TROUPE__MSGS__RELAY_TELL__WHAT__EPOCH;
	out.epoch = viewer->epoch = epoch;
	relay_host_tell(viewer, &out);
}

static void relay_host_welcome(struct viewer *viewer)
{
	struct troupe_server *server = viewer->host->server;
	uint32_t count = troupe_server_world_count(server);
	char **names = mem_alloc((count + 1) * sizeof *names);
	Troupe__Msgs__RelayTell out = TROUPE__MSGS__RELAY_TELL__INIT;
	for (uint32_t i = 0; i < count; i++)
		names[i] = message_string(troupe_server_world_name(server, i));
	out.what = TROUPE__MSGS__RELAY_TELL__WHAT__WELCOME;
	out.world = names;
	out.n_world = count;
	relay_host_tell(viewer, &out);
	free(names);
}

/* --- hearing ------------------------------------------------------------------------------------------------------ */

static bool relay_host_is_viewer(const char *bytes, size_t count, struct hello *ret_hello, struct troupe_error *why)
{
	struct hello hello;
	if (hello_decode(bytes, count, &hello, why))
		return false;
	*ret_hello = hello;
	if (hello.protocol != HELLO_PROTOCOL)
		(void)fail(why, TROUPE_EPROTOCOL, "its protocol is %u: expected %d", hello.protocol, HELLO_PROTOCOL);
	else if (hello.role != HELLO_VIEWER)
		(void)fail(why, TROUPE_EPROTOCOL, "it is a %s: expected a viewer", hello_role_name(hello.role));
	else if (strcmp(hello.build, troupe_version()) != 0)
		(void)fail(why, TROUPE_EPROTOCOL, "its build is '%s': expected '%s'", hello.build, troupe_version());
	else
		return true;
	return false;
}

/* A connection of a robot client's process comes after the client has been admitted. 0: there is no such client, or the
 * peer does not have its ticket: any viewer knows the names of clients, because topics have them. */
static uint64_t relay_host_find_client(const struct relay_host *host, const struct hello *hello)
{
	struct network *network = host->server->network;
	return network ? robot_clients_find(network_clients(network), hello->client, hello->ticket) : 0;
}

static void relay_host_hear_hello(struct viewer *viewer, enum frame_type type, const char *bytes, size_t count)
{
	struct relay_host *host = viewer->host;
	struct troupe_client_def def = {.on_ready = relay_host_wake, .ctx = host, .never_waits = true};
	struct troupe_error why;
	struct hello hello;
	uint32_t present = 0;
	uint64_t acts = 0;
	for (uint32_t i = 0; i < host->viewers.count; i++)
		present += host->viewers.at[i]->client != NULL;
	if (type != FRAME_HELLO || !relay_host_is_viewer(bytes, count, &hello, &why)) {
		relay_host_refuse(viewer, type == FRAME_HELLO ? why.text : "expected HELLO");
	} else if (*hello.client && !(acts = relay_host_find_client(host, &hello))) {
		relay_host_refuse(viewer, "the run has no robot client of this name with this ticket");
	} else if (present == RELAY_VIEWERS_MAX) {
		relay_host_refuse(viewer, "the run has as many viewers as it takes");
	} else if (troupe_client_create(host->server, &def, &viewer->client, &why)) {
		relay_host_refuse(viewer, why.text);
	} else {
		if (*hello.client)
			client_act_for(viewer->client, hello.client);
		viewer->acts = acts;
		channel_limit(viewer->channel, ASKED_BYTES_MAX);
		relay_host_welcome(viewer);
		atomic_fetch_add(&host->joined, 1);
	}
}

static bool relay_host_may_call(const struct relay_host *host, const char *service)
{
	const struct troupe_topics *topics = troupe_topics_list(host->server);
	bool may = false;
	for (uint32_t i = 0; i < topics->count && !may; i++)
		may = topics->at[i].kind == TROUPE_TOPIC_SERVICE && !topics->at[i].changes &&
		      !strcmp(topics->at[i].name, service);
	troupe_topics_release(topics);
	return may;
}

static void relay_host_call(struct viewer *viewer, const Troupe__Msgs__RelayAsk *ask)
{
	struct troupe_error why;
	if (!viewer->acts && !relay_host_may_call(viewer->host, ask->topic))
		(void)fail(&why, TROUPE_ECOMMAND,
			"service '%.150s': a viewer can only call services that change nothing", ask->topic);
	else if (!troupe_client_call(viewer->client, ask->topic, *ask->type ? ask->type : NULL, ask->data.data,
			 ask->data.len, ask->tag, &why))
		return;
	relay_host_tell_reply(viewer, ask->topic, ask->tag, why.status, why.text);
}

static void relay_host_publish(struct viewer *viewer, const Troupe__Msgs__RelayAsk *ask)
{
	struct troupe_error why;
	if (troupe_client_publish(viewer->client, NULL, ask->topic, *ask->type ? ask->type : NULL, ask->data.data,
		    ask->data.len, NULL, &why))
		relay_host_tell_reply(viewer, ask->topic, 0, why.status, why.text);
}

static void relay_host_obey(struct viewer *viewer, const Troupe__Msgs__RelayAsk *ask)
{
	switch (ask->what) {
	case TROUPE__MSGS__RELAY_ASK__WHAT__SUBSCRIBE: /* a name that is not valid has no messages */
		(void)troupe_client_subscribe(viewer->client, ask->topic, ask->rate_hz, NULL);
		break;
	case TROUPE__MSGS__RELAY_ASK__WHAT__UNSUBSCRIBE:
		troupe_client_unsubscribe(viewer->client, ask->topic);
		break;
	case TROUPE__MSGS__RELAY_ASK__WHAT__CALL:
		relay_host_call(viewer, ask);
		break;
	case TROUPE__MSGS__RELAY_ASK__WHAT__TOPICS:
		relay_host_tell_topics(viewer);
		break;
	case TROUPE__MSGS__RELAY_ASK__WHAT__PUBLISH:
		if (viewer->acts) /* a topic that has just gone takes nothing */
			relay_host_publish(viewer, ask);
		else
			relay_host_refuse(viewer, "a viewer cannot publish");
		break;
	default:
		relay_host_refuse(viewer, "an ASK that asks for nothing");
		break;
	}
}

/* The process of a client that was lost may still send, until it notices. */
static void relay_host_obey_if_present(struct viewer *viewer, const Troupe__Msgs__RelayAsk *ask)
{
	struct network *network = viewer->host->server->network;
	if (!viewer->acts) {
		relay_host_obey(viewer, ask);
	} else if (robot_clients_enter(network_clients(network), viewer->acts)) {
		relay_host_obey(viewer, ask);
		robot_clients_leave(network_clients(network));
	} else {
		relay_host_refuse(viewer, "the robot client takes part no longer");
	}
}

static void relay_host_hear(struct viewer *viewer, enum frame_type type, const char *bytes, size_t count)
{
	ProtobufCMessage *ask;
	struct troupe_error why;
	if (!viewer->client) {
		relay_host_hear_hello(viewer, type, bytes, count);
	} else if (type == FRAME_STOP) {
		viewer->over = true;
	} else if (type != FRAME_ASK) {
		relay_host_refuse(viewer, "expected ASK");
	} else if (message_of_bytes(
			   &troupe__msgs__relay_ask__descriptor, bytes, count, &relay_host_limits, &ask, &why)) {
		relay_host_refuse(viewer, why.text);
	} else {
		relay_host_obey_if_present(viewer, (Troupe__Msgs__RelayAsk *)ask);
		message_free(ask);
	}
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void relay_host_beat(struct viewer *viewer, uint64_t now_ns)
{
	struct text payload = {0};
	if (now_ns - viewer->beat_ns < SECOND_NS)
		return;
	viewer->beat_ns = now_ns;
	heartbeat_encode(&(struct heartbeat){0}, &payload);
	viewer->over |= channel_send(viewer->channel, FRAME_HEARTBEAT, payload.at, payload.count, NULL) != TROUPE_OK;
	text_fini(&payload);
	relay_host_tell_epoch(viewer);
}

/* A viewer that takes nothing is over: it would keep its queue for ever. */
static bool relay_host_is_stalled(struct viewer *viewer, uint64_t now_ns)
{
	uint64_t sent = channel_bytes_sent(viewer->channel);
	if (sent != viewer->sent || !channel_pending(viewer->channel)) {
		viewer->sent = sent;
		viewer->moved_ns = now_ns;
	}
	return now_ns - viewer->moved_ns > RELAY_STALLED_S * SECOND_NS;
}

static void relay_host_serve(struct viewer *viewer, uint64_t now_ns)
{
	enum frame_type type;
	const char *bytes;
	size_t count;
	troupe_status status;
	struct troupe_message message;
	viewer->over |= channel_work(viewer->channel, now_ns, NULL) != TROUPE_OK;
	while (channel_receive(viewer->channel, &type, &bytes, &count, &status, NULL) && !viewer->over)
		relay_host_hear(viewer, type, bytes, count);
	viewer->over |= status != TROUPE_OK;
	if (viewer->acts) {
		uint64_t commands = troupe_client_commands(viewer->client);
		atomic_fetch_add(&viewer->host->commands, commands - viewer->counted);
		viewer->counted = commands;
	}
	if (!viewer->client) {
		viewer->over |= now_ns - viewer->since_ns > RELAY_SILENT_S * SECOND_NS;
		return;
	}
	while (!viewer->over && channel_pending(viewer->channel) < RELAY_ROOM_BYTES &&
		troupe_client_take(viewer->client, 0, &message))
		relay_host_tell_message(viewer, &message);
	relay_host_beat(viewer, now_ns);
	if (viewer->acts) /* its robots wait for the topics of a model that has just been created */
		relay_host_tell_epoch(viewer);
	viewer->over |= relay_host_is_stalled(viewer, now_ns);
}

static void relay_host_dismiss(struct viewer *viewer)
{
	if (viewer->client)
		atomic_fetch_add(&viewer->host->commands, troupe_client_commands(viewer->client) - viewer->counted);
	troupe_client_destroy(viewer->client);
	channel_destroy(viewer->channel);
	free(viewer);
}

static void relay_host_take_in(struct relay_host *host, uint64_t now_ns)
{
	struct troupe_error unwanted;
	struct address from;
	for (struct channel *channel; (channel = listener_take(host->listener));) {
		if (host->viewers.count == 2 * RELAY_VIEWERS_MAX) { /* half of them have said hello, at most */
			channel_destroy(channel);
			continue;
		}
		struct viewer *viewer = mem_alloc(sizeof *viewer);
		*viewer = (struct viewer){.host = host, .channel = channel, .since_ns = now_ns, .moved_ns = now_ns};
		vec_push(&host->viewers, viewer);
	}
	while (listener_take_refusal(host->listener, &from, &unwanted))
		;
}

static void relay_host_serve_all(struct relay_host *host)
{
	uint64_t now_ns = clock_now_ns();
	uint32_t kept = 0;
	listener_work(host->listener, now_ns);
	relay_host_take_in(host, now_ns);
	for (uint32_t i = 0; i < host->viewers.count; i++)
		relay_host_serve(host->viewers.at[i], now_ns);
	for (uint32_t i = 0; i < host->viewers.count; i++)
		if (host->viewers.at[i]->over)
			relay_host_dismiss(host->viewers.at[i]);
		else
			host->viewers.at[kept++] = host->viewers.at[i];
	host->viewers.count = kept;
}

static void relay_host_wait(struct relay_host *host)
{
	uint64_t now_ns = clock_now_ns(), rung;
	uint32_t count = 1;
	host->polled[0] = (struct pollfd){host->woken, POLLIN, 0};
	count += listener_poll(host->listener, now_ns, host->polled + count);
	for (uint32_t i = 0; i < host->viewers.count && i < RELAY_VIEWERS_MAX; i++) {
		const struct channel *channel = host->viewers.at[i]->channel;
		host->polled[count++] = (struct pollfd){channel_fd(channel), channel_poll_events(channel), 0};
	}
	(void)poll(host->polled, count, RELAY_HOST_LOOK_MS);
	if (host->polled[0].revents)
		(void)!read(host->woken, &rung, sizeof rung);
}

/* Messages that are under way come before the end. */
static void relay_host_say_end(struct relay_host *host)
{
	bool failed = atomic_load(&host->failed);
	struct stop stop = {.kind = failed ? STOP_FAILED : STOP_DONE};
	struct text payload = {0};
	(void)snprintf(stop.why, sizeof stop.why, "%s", ending_text(failed ? &host->why : NULL));
	stop_encode(&stop, &payload);
	relay_host_serve_all(host);
	for (uint32_t i = 0; i < host->viewers.count; i++) {
		struct channel *channel = host->viewers.at[i]->channel;
		(void)channel_send(channel, FRAME_STOP, payload.at, payload.count, NULL);
		channel_finish(channel);
	}
	for (int i = 0; i < RELAY_HOST_GOODBYE_MS / 10; i++) {
		bool waits = false;
		for (uint32_t k = 0; k < host->viewers.count; k++)
			waits |= !channel_work(host->viewers.at[k]->channel, clock_now_ns(), NULL);
		if (!waits)
			break;
		(void)poll(NULL, 0, 10);
	}
	text_fini(&payload);
}

static void *relay_host_work(void *arg)
{
	struct relay_host *host = arg;
	while (!atomic_load(&host->stop)) {
		relay_host_wait(host);
		relay_host_serve_all(host);
	}
	relay_host_say_end(host);
	for (uint32_t i = 0; i < host->viewers.count; i++)
		relay_host_dismiss(host->viewers.at[i]);
	vec_free(&host->viewers);
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status relay_host_open(
	struct relay_host *host, const struct relay_options *options, struct troupe_error *error)
{
	struct listener_options listening = {.key = options->key, .insecure = options->insecure};
	troupe_status status = address_parse_listen(options->address, RELAY_PORT, &listening.address, error);
	if (!status)
		status = listener_create(&listening, &host->listener, error);
	if (status)
		return status;
	host->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (host->woken < 0)
		return fail(error, TROUPE_EIO, "no event file: %s", strerror(errno));
	int failed = pthread_create(&host->thread, NULL, relay_host_work, host);
	mem_check_thread(failed);
	host->started = !failed;
	return failed ? fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed)) : TROUPE_OK;
}

troupe_status relay_host_create(struct troupe_server *server, const struct relay_options *options,
	struct relay_host **ret_host, struct troupe_error *error)
{
	struct relay_host *host = mem_alloc(sizeof *host);
	host->server = server;
	host->woken = -1;
	troupe_status status = relay_host_open(host, options, error);
	if (status) {
		relay_host_destroy(host, NULL);
		return status;
	}
	if (server->network && robot_clients_max(network_clients(server->network)))
		network_offer(server->network, address_port(listener_address(host->listener)));
	*ret_host = host;
	return TROUPE_OK;
}

void relay_host_destroy(struct relay_host *host, const struct troupe_error *why)
{
	if (!host)
		return;
	if (why) {
		host->why = *why;
		atomic_store(&host->failed, true);
	}
	atomic_store(&host->stop, true);
	if (host->started) {
		relay_host_wake(host);
		pthread_join(host->thread, NULL);
	}
	if (host->listener)
		listener_destroy(host->listener);
	if (host->woken >= 0)
		close(host->woken);
	free(host);
}

void relay_host_describe(const struct relay_host *host, struct text *out)
{
	char address[ADDRESS_TEXT_BYTES];
	address_text(listener_address(host->listener), address);
	text_add(out, "%s", address);
}

uint64_t relay_host_commands(const struct relay_host *host)
{
	return atomic_load_explicit(&host->commands, memory_order_relaxed);
}

uint64_t relay_host_joined(const struct relay_host *host)
{
	return atomic_load_explicit(&host->joined, memory_order_relaxed);
}

bool relay_host_is_local(const struct relay_host *host)
{
	return address_is_loopback(listener_address(host->listener));
}
