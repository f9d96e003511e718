/* Viewers of other processes: what they see is the run's, they can change nothing, they come and go without an effect
 * on any bit; unknown peers and peers of another build are refused with a reason; a viewer learns why a run is over. A
 * plain program, so that it runs under the sanitizers, too. */
#include "../named.h"
#include "gateway/relay/remote.h"
#include "gateway/relay/relay.h"
#include "net/hello.h"
#include "net/tcp/channel.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"
#include "topic/relay.pb-c.h"

#include "../fault/check.h"
#include "web_client.h"

#include <troupe/gateway.h>
#include <troupe/server.h>
#include <troupe/world.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Checks are counted by two threads. One check may contain another. */
static pthread_mutex_t checking = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
#define check(...) (pthread_mutex_lock(&checking), check(__VA_ARGS__), pthread_mutex_unlock(&checking))

static const char ball[] =
	"<model name='ball'><pose>0 0 5 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial><collision "
	"name='c'><geometry><sphere><radius>0.5</radius></sphere></geometry></collision></link><plugin "
	"name='gz::sim::systems::VelocityControl' filename='x'/></model>";

enum { STEPS = 60000, TRIES = 20000 };

/* --- a run ----------------------------------------------------------------------------------------------------------
 */

struct run {
	struct troupe_server *server;
	struct relay_host *host;
	char address[80];
	pthread_t thread;
	uint64_t hash;
};

static void *work(void *arg)
{
	struct run *run = arg;
	struct troupe_error error;
	const struct troupe_limits limits = {.iterations = STEPS};
	troupe_status status = troupe_server_run(run->server, &limits, &error); /* not under the lock of the checks */
	check(!status, "run: %s", error.text);
	return NULL;
}

static void begin(struct run *run, const struct key *key, bool hosted, double rate_hz)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	struct text text = {0};
	def.world_path = "watch.sdf";
	def.world_text = named_world("ground", ball);
	def.secondaries = 1;
	def.pace = rate_hz > 0 ? TROUPE_PACE_RATE : TROUPE_PACE_FACTOR;
	def.rate_hz = rate_hz;
	check(!troupe_server_create(&def, &run->server, &error), "create: %s", error.text);
	run->host = NULL;
	if (hosted) {
		const struct relay_options options = {.address = "127.0.0.1:0", .key = key};
		check(!relay_host_create(run->server, &options, &run->host, &error), "host: %s", error.text);
		relay_host_describe(run->host, &text);
		snprintf(run->address, sizeof run->address, "%s", text.at);
		text_fini(&text);
	}
	pthread_create(&run->thread, NULL, work, run);
}

/* stop: before its last step. */
static void end(struct run *run, bool stop, const struct troupe_error *why)
{
	if (stop)
		troupe_server_stop(run->server);
	pthread_join(run->thread, NULL);
	run->hash = troupe_server_hash(run->server);
	relay_host_destroy(run->host, why);
	troupe_server_destroy(run->server);
}

static struct bus *connect_to(const struct run *run, const struct key *key)
{
	const struct remote_options options = {.address = run->address, .key = key};
	struct bus *bus = NULL;
	struct troupe_error error = {0};
	check(!remote_connect(&options, &bus, &error), "connect: %s", error.text);
	return bus;
}

/* Waits for a message on the topic, or for the reply with this tag (topic NULL). */
static bool await_message(struct bus *bus, const char *topic, uint64_t tag, struct troupe_message *ret_message)
{
	for (int i = 0; i < TRIES; i++) {
		while (bus->ops->take(bus, 0, ret_message))
			if (topic ? !ret_message->is_reply && !strcmp(ret_message->topic, topic)
				  : ret_message->is_reply && ret_message->tag == tag)
				return true;
		poll(NULL, 0, 1);
	}
	return false;
}

/* --- cases ----------------------------------------------------------------------------------------------------------
 */

static void check_topics(struct bus *bus)
{
	const struct troupe_topics *topics = bus->ops->topics(bus);
	bool clock = false, hash = false, control = false;
	for (uint32_t i = 0; i < topics->count; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		clock |= !strcmp(topic->name, "/clock") && !strcmp(topic->type, "gz.msgs.Clock") && !topic->changes;
		hash |= !strcmp(topic->name, "/world/w/hash") && topic->kind == TROUPE_TOPIC_SERVICE && !topic->changes;
		control |= !strcmp(topic->name, "/world/w/control") && topic->changes;
	}
	check(clock && hash && control, "topics: clock %d, hash %d, control %d", clock, hash, control);
	check(bus->ops->epoch(bus) == topics->epoch, "the epoch");
	bus->ops->release(bus, topics);
}

static void sees_the_run(void)
{
	struct run plain, watched;
	struct troupe_message message;
	struct troupe_error error;
	begin(&plain, NULL, false, 0);
	end(&plain, false, NULL);
	begin(&watched, NULL, true, 20000);
	struct bus *bus = connect_to(&watched, NULL);
	check(bus->ops->world_count(bus) == 1 && !strcmp(bus->ops->world_name(bus, 0), "w"), "the worlds");
	check_topics(bus);
	check(!bus->ops->subscribe(bus, "/clock", 100, &error), "subscribe");
	uint64_t last = 0;
	for (int i = 0; i < 20; i++) {
		check(await_message(bus, "/clock", 0, &message), "clock %d", i);
		check(!strcmp(message.type, "gz.msgs.Clock") && message.count, "a clock's type and bytes");
		check(!i || message.step > last, "step %lu after %lu", (unsigned long)message.step,
			(unsigned long)last);
		check(message.time_ns == (int64_t)message.step * 1000000, "time of step %lu",
			(unsigned long)message.step);
		last = message.step;
	}
	check(!bus->ops->call(bus, "/world/w/hash", NULL, "", 0, 7, &error), "call");
	check(await_message(bus, NULL, 7, &message), "no reply");
	check(!message.status && !strcmp(message.type, "troupe.msgs.StateHash") && message.count > 8, "the hash");
	check(!bus->ops->call(bus, "/world/w/control", NULL, "\x18\x01", 2, 8, &error), "call that changes");
	check(await_message(bus, NULL, 8, &message) && message.status == TROUPE_ECOMMAND, "it changes the run");
	check(!bus->ops->call(bus, "/nowhere", NULL, "", 0, 9, &error), "call of nothing");
	check(await_message(bus, NULL, 9, &message) && message.status == TROUPE_ECOMMAND,
		"a service that is not there");
	check(bus->ops->publish(bus, "/model/ball/cmd_vel", NULL, "", 0, &error) == TROUPE_ECOMMAND, "it publishes");
	struct bus *second = connect_to(&watched, NULL); /* comes and goes */
	check(!second->ops->subscribe(second, "/world/w/view", 0, &error), "subscribe");
	check(await_message(second, "/world/w/view", 0, &message), "view");
	bus_destroy(second);
	check(await_message(bus, "/clock", 0, &message), "the other one has gone");
	check(relay_host_joined(watched.host) == 2, "joined");
	end(&watched, false, NULL);
	for (int i = 0; i < TRIES && !remote_is_over(bus, &error); i++)
		poll(NULL, 0, 1);
	check(remote_is_over(bus, &error) && !error.status && !strcmp(error.text, "the run has ended"), "the end: %s",
		error.text);
	bus_destroy(bus);
	check(plain.hash == watched.hash, "viewers have changed the state");
}

/* One that takes nothing for a while loses the oldest messages, and no reply. */
static void keeps_replies(void)
{
	enum { DEPTH = 4, CALLS = 3 };
	struct run run;
	struct troupe_message message;
	struct troupe_error error;
	struct bus *bus = NULL;
	begin(&run, NULL, true, 2000);
	const struct remote_options options = {.address = run.address, .depth = DEPTH};
	check(!remote_connect(&options, &bus, &error), "connect: %s", error.text);
	check(!bus->ops->subscribe(bus, "/clock", 1000, &error), "subscribe");
	check(await_message(bus, "/clock", 0, &message), "a clock");
	for (uint64_t tag = 1; tag <= CALLS; tag++)
		check(!bus->ops->call(bus, "/world/w/hash", NULL, "", 0, tag, &error), "call");
	for (int i = 0; i < TRIES && bus->ops->lost(bus) < 100; i++)
		poll(NULL, 0, 1);
	check(bus->ops->lost(bus) >= 100, "%lu messages are lost", (unsigned long)bus->ops->lost(bus));
	uint64_t replies = 0, step = 0;
	while (replies < CALLS && bus->ops->take(bus, 1000000000, &message)) {
		if (message.is_reply) {
			check(message.tag == ++replies, "reply %lu", (unsigned long)message.tag);
			continue;
		}
		check(message.step > step, "messages come in their order");
		step = message.step;
	}
	check(replies == CALLS, "%lu replies are there", (unsigned long)replies);
	bus_destroy(bus);
	end(&run, true, NULL);
}

static void count_ready(void *ctx)
{
	atomic_fetch_add((_Atomic int *)ctx, 1);
}

/* A program that has taken nothing yet is told of the first message, and then not until it has taken all that came. */
static void is_told(void)
{
	struct run run;
	struct troupe_message message;
	struct troupe_error error;
	struct bus *bus = NULL;
	_Atomic int ready = 0;
	begin(&run, NULL, true, 1000);
	const struct remote_options options = {.address = run.address, .on_ready = count_ready, .ctx = &ready};
	check(!remote_connect(&options, &bus, &error), "connect: %s", error.text);
	check(!bus->ops->subscribe(bus, "/clock", 0, &error), "subscribe");
	for (int i = 0; i < TRIES && !ready; i++)
		poll(NULL, 0, 1);
	check(await_message(bus, "/clock", 0, &message) && ready >= 1, "told %d times", ready);
	int before = ready;
	while (bus->ops->take(bus, 0, &message))
		;
	for (int i = 0; i < TRIES && ready == before; i++)
		poll(NULL, 0, 1);
	check(ready == before + 1, "told %d times of what came after all was taken", ready - before);
	poll(NULL, 0, 100);
	check(ready == before + 1, "told %d times of what it has not taken", ready - before);
	bus_destroy(bus);
	end(&run, true, NULL);
}

static bool has_topic(struct bus *bus, const char *name)
{
	const struct troupe_topics *topics = bus->ops->topics(bus);
	bool has = false;
	for (uint32_t i = 0; i < topics->count; i++)
		has |= !strcmp(topics->at[i].name, name);
	bus->ops->release(bus, topics);
	return has;
}

/* Topics that come while it watches. */
static void learns_of_topics(void)
{
	static const char create[] = "sdf: '<sdf version=\"1.9\"><model name=\"late\"><link name=\"l\"/><plugin "
				     "filename=\"x\" name=\"gz::sim::systems::VelocityControl\"/></model></sdf>'";
	struct run run;
	struct troupe_error error;
	begin(&run, NULL, true, 1000);
	struct bus *bus = connect_to(&run, NULL);
	uint64_t epoch = bus->ops->epoch(bus);
	check(!has_topic(bus, "/model/late/cmd_vel"), "not yet");
	check(!troupe_server_command(run.server, 0, "/world/w/create", create, &error), "create: %s", error.text);
	for (int i = 0; i < TRIES && !has_topic(bus, "/model/late/cmd_vel"); i++)
		poll(NULL, 0, 1);
	check(has_topic(bus, "/model/late/cmd_vel") && bus->ops->epoch(bus) > epoch, "a topic has come");
	bus_destroy(bus);
	end(&run, true, NULL);
}

static void learns_why(void)
{
	struct run run;
	struct troupe_error why, error;
	begin(&run, NULL, true, 1000);
	struct bus *bus = connect_to(&run, NULL);
	(void)fail(&why, TROUPE_EDIVERGED, "model 'ball' has diverged");
	end(&run, true, &why);
	for (int i = 0; i < TRIES && !remote_is_over(bus, &error); i++)
		poll(NULL, 0, 1);
	check(remote_is_over(bus, &error) && error.status && strstr(error.text, "diverged"), "why: %s", error.text);
	bus_destroy(bus);
}

static void has_the_key(void)
{
	struct key key, other;
	struct run run;
	struct bus *bus = NULL;
	struct troupe_error error;
	if (!key_usable())
		return;
	check(!key_random(&key, &error) && !key_random(&other, &error), "keys");
	begin(&run, &key, true, 1000);
	struct bus *good = connect_to(&run, &key);
	const struct remote_options wrong = {.address = run.address, .key = &other, .wait_ms = 300},
				    none = {.address = run.address, .wait_ms = 300};
	check(remote_connect(&wrong, &bus, &error), "another key is let in");
	check(remote_connect(&none, &bus, &error), "no key is let in");
	bus_destroy(good);
	end(&run, true, NULL);
}

/* Sends one frame as the first, and then an ASK unless it is NULL. Returns the type of the first answer, or of the last
 * one to an ASK; 0: the connection was closed. */
static enum frame_type dial(const struct run *run, enum frame_type type, const struct text *payload,
	const struct text *ask, char ret_why[512])
{
	const struct channel_options options = {.role = CHANNEL_CLIENT};
	struct address address;
	struct channel *channel;
	struct troupe_error error;
	enum frame_type got = 0;
	const char *bytes;
	size_t count;
	troupe_status status;
	bool over = false;
	*ret_why = '\0';
	check(!address_parse(run->address, 0, &address, &error), "address");
	check(!channel_connect(&address, &options, 0, &channel, &error), "dial");
	(void)channel_send(channel, type, payload->at, payload->count, &error);
	if (ask)
		(void)channel_send(channel, FRAME_ASK, ask->at, ask->count, &error);
	for (int i = 0; i < TRIES && !over; i++) {
		over = channel_work(channel, 0, &error) != TROUPE_OK;
		while (got != FRAME_REFUSE && channel_receive(channel, &got, &bytes, &count, &status, &error)) {
			if (got == FRAME_REFUSE)
				(void)refuse_decode(bytes, count, ret_why, NULL, &error);
			over |= !ask || got == FRAME_REFUSE;
		}
		poll(NULL, 0, 1);
	}
	channel_destroy(channel);
	return got;
}

static void refuses_unknown_peers(void)
{
	struct run run;
	struct text payload = {0};
	char why[512];
	struct hello hello = {.protocol = HELLO_PROTOCOL, .role = HELLO_SECONDARY};
	begin(&run, NULL, true, 1000);
	snprintf(hello.build, sizeof hello.build, "%s", troupe_version());
	hello_encode(&hello, &payload);
	check(dial(&run, FRAME_HELLO, &payload, NULL, why) == FRAME_REFUSE && strstr(why, "secondary"),
		"a secondary: %s", why);
	payload.count = 0;
	hello.role = HELLO_VIEWER;
	snprintf(hello.build, sizeof hello.build, "0.0.0-other");
	hello_encode(&hello, &payload);
	check(dial(&run, FRAME_HELLO, &payload, NULL, why) == FRAME_REFUSE && strstr(why, "build"), "another build: %s",
		why);
	payload.count = 0;
	text_add(&payload, "rubbish");
	check(dial(&run, FRAME_HELLO, &payload, NULL, why) == FRAME_REFUSE, "rubbish");
	check(!dial(&run, FRAME_ASK, &payload, NULL, why), "no hello");
	struct bus *sources[RELAY_VIEWERS_MAX], *more = NULL;
	struct troupe_error error;
	for (int i = 0; i < RELAY_VIEWERS_MAX; i++)
		sources[i] = connect_to(&run, NULL);
	const struct remote_options options = {.address = run.address};
	check(remote_connect(&options, &more, &error) == TROUPE_EPROTOCOL && strstr(error.text, "as many viewers"),
		"one too many: %s", error.text);
	for (int i = 0; i < RELAY_VIEWERS_MAX; i++)
		bus_destroy(sources[i]);
	end(&run, true, NULL);
	text_fini(&payload);
}

/* A viewer whose program is not ours, and so does not refuse by itself to publish. */
static void takes_nothing_from_viewers(void)
{
	struct run run;
	struct text hello_bytes = {0}, ask_bytes = {0};
	char why[512];
	struct hello hello = {.protocol = HELLO_PROTOCOL, .role = HELLO_VIEWER};
	Troupe__Msgs__RelayAsk ask = TROUPE__MSGS__RELAY_ASK__INIT;
	ask.what = TROUPE__MSGS__RELAY_ASK__WHAT__PUBLISH;
	ask.topic = message_string("/model/ball/cmd_vel");
	message_add_bytes(&ask_bytes, &ask.base);
	begin(&run, NULL, true, 1000);
	snprintf(hello.build, sizeof hello.build, "%s", troupe_version());
	hello_encode(&hello, &hello_bytes);
	check(dial(&run, FRAME_HELLO, &hello_bytes, &ask_bytes, why) == FRAME_REFUSE && strstr(why, "cannot publish"),
		"a viewer publishes: %s", why);
	check(!relay_host_commands(run.host), "it has given a command");
	end(&run, true, NULL);
	text_fini(&hello_bytes);
	text_fini(&ask_bytes);
}

enum { PAGES = 50 };

/* A page that asks for pictures; returns its connection. */
static int open_page(const char *address)
{
	static const char wish[] = "{\"op\":\"motion\",\"world\":\"/world/w\"}";
	struct text out = {0}, answer = {0};
	int file = client_connect((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	check(file >= 0, "a page is not let in");
	client_add_upgrade(&out, "/view", "localhost", "Sec-WebSocket-Protocol: troupe.view.v1\r\n");
	client_add_frame(&out, 0x81, wish, sizeof wish - 1);
	check(client_send(file, out.at, out.count), "a page cannot speak");
	client_read_all(file, true, &answer);
	check(strstr(answer.at, " 101 ") != NULL, "no upgrade: %s", answer.at);
	text_fini(&out);
	text_fini(&answer);
	return file;
}

/* Whether two pictures come that name a later step each. */
static bool sees_motion(int file)
{
	double step, last = -1;
	for (int pictures = 0; pictures < 2;) {
		struct client_frame frame;
		if (!client_take(file, &frame))
			return false;
		if (frame.kind == 2 && frame.body.count >= 32 && *frame.body.at == 1) {
			memcpy(&step, frame.body.at + 8, sizeof step);
			pictures += step > last;
			last = step;
		}
		text_fini(&frame.body);
	}
	return true;
}

/* The run sends each state once, whatever the number of pages. */
static void serves_many_pages(void)
{
	struct run run;
	struct troupe_gateway *view = NULL;
	struct troupe_error error;
	char address[256];
	int pages[PAGES];
	if (!troupe_gateway_is_available("view"))
		return;
	begin(&run, NULL, true, 1000);
	const struct troupe_view_run there = {.address = run.address, .insecure = true};
	const struct troupe_gateway_def def = {.name = "view", .address = "0", .run = &there};
	check(!troupe_gateway_start(&def, &view, &error), "connect: %s", error.text);
	troupe_gateway_describe(view, address, sizeof address);
	for (int i = 0; i < PAGES; i++)
		pages[i] = open_page(address);
	for (int i = 0; i < PAGES; i++)
		check(sees_motion(pages[i]), "page %d has no pictures", i);
	check(relay_host_joined(run.host) == 3, "%d connections to the run", (int)relay_host_joined(run.host));
	for (int i = 0; i < PAGES; i++)
		close(pages[i]);
	end(&run, true, NULL);
	check(!troupe_gateway_play(view, &error) && !strcmp(error.text, "the run has ended"), "the end: %s", error.text);
	troupe_gateway_end(view, NULL);
}

static void refuses_addresses(void)
{
	struct relay_options options = {.address = "0.0.0.0:0"};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct relay_host *host = NULL;
	struct troupe_error error;
	def.world_path = "watch.sdf";
	def.world_text = named_world("ground", ball);
	check(!troupe_server_create(&def, &server, &error), "create");
	check(relay_host_create(server, &options, &host, &error) == TROUPE_EINVAL, "all interfaces without a key");
	options.insecure = true;
	check(!relay_host_create(server, &options, &host, &error), "insecure: %s", error.text);
	relay_host_destroy(host, NULL);
	troupe_server_destroy(server);
	const struct remote_options nowhere = {.address = "127.0.0.1:1", .wait_ms = 300};
	struct bus *bus = NULL;
	check(remote_connect(&nowhere, &bus, &error) == TROUPE_EPEER, "nobody listens");
}

/* As programs that use the library host viewers. */
static void serves_programs(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_watch *watch = NULL;
	struct troupe_error error;
	struct text wanted = {0};
	char text[100] = "";
	unsigned port = 0;
	def.world_path = "watch.sdf";
	def.world_text = named_world("ground", ball);
	check(!troupe_server_create(&def, &server, &error), "create");
	const struct troupe_watch_def open = {.listen = "0.0.0.0:0"},
				      usual = {.insecure = true, .listen = "127.0.0.1:0"};
	check(troupe_watch_start(server, &open, &watch, &error) == TROUPE_EINVAL && strstr(error.text, "'0.0.0.0:0'"),
		"all interfaces without a key: %s", error.text);
	check(!troupe_watch_start(server, &usual, &watch, &error), "start: %s", error.text);
	troupe_watch_describe(watch, text, sizeof text);
	check(sscanf(text, "127.0.0.1:%u,", &port) == 1 && port, "where: %s", text);
	text_add(&wanted, "127.0.0.1:%u, without a key", port);
	check(!strcmp(text, wanted.at), "%s: expected %s", text, wanted.at);
	check(!troupe_watch_commands(watch), "commands");
	check(troupe_watch_is_local(watch), "a loopback address is taken for one that other hosts reach");
	struct troupe_watch *wide = NULL;
	const struct troupe_watch_def all = {.insecure = true, .listen = "*:0"};
	check(!troupe_watch_start(server, &all, &wide, &error), "start: %s", error.text);
	check(!troupe_watch_is_local(wide), "an address of all interfaces is taken for loopback");
	troupe_watch_end(wide, NULL);
	text[strcspn(text, ",")] = '\0';
	const struct remote_options there = {.address = text};
	struct bus *bus = NULL;
	check(!remote_connect(&there, &bus, &error), "connect: %s", error.text);
	troupe_watch_end(watch, NULL);
	for (int i = 0; i < TRIES && !remote_is_over(bus, &error); i++)
		poll(NULL, 0, 1);
	check(remote_is_over(bus, &error) && !error.status, "the end: %s", error.text);
	bus_destroy(bus);
	troupe_server_destroy(server);
	text_fini(&wanted);
}

int main(void)
{
	troupe_watch_end(NULL, NULL);
	sees_the_run();
	keeps_replies();
	is_told();
	learns_of_topics();
	learns_why();
	has_the_key();
	refuses_unknown_peers();
	takes_nothing_from_viewers();
	refuses_addresses();
	serves_programs();
	serves_many_pages();
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
