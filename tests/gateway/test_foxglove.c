/* The gateway of Foxglove's protocol without any library of others: by a socket and frames of bytes. A topic is only
 * asked of the server while a client has subscribed; clients that leave in the middle of calls, send nonsense, or do
 * not read harm nobody; the end comes while they are connected; a recording jumps. A plain program, so that it runs
 * under the sanitizers too; tests/web/test_foxglove.sh goes through the protocol with Foxglove's own client. */
#include "scene.h"

#include "base/clock.h"

#include <troupe/record.h>

#include <jansson.h>
#include <malloc.h>

#define MS UINT64_C(1000000)

static const char world[] = "<sdf version='1.9'><world name='w'><physics name='p' "
			    "type='ode'><max_step_size>0.001</max_step_size></physics><gravity>0 0 0</gravity><model "
			    "name='cart'><link name='l'><inertial><mass>1</mass></inertial><visual "
			    "name='v'><geometry><box><size>1 2 3</size></box></geometry></visual></link><plugin "
			    "name='gz::sim::systems::VelocityControl' filename='x'/></model>";
enum { STONES = 300 }; /* they make the messages with all poses long */

static void write_world(struct text *out)
{
	text_add(out, "%s", world);
	for (int i = 0; i < STONES; i++)
		text_add(out, "<model name='stone_%d'><static>true</static><link name='l'/></model>", i);
	text_add(out, "</world></sdf>");
}

static void open_scene(struct scene *scene, double rtf)
{
	struct text sdf = {0};
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = "w.sdf";
	write_world(&sdf);
	def.world_text = sdf.at;
	def.secondaries = 2;
	def.pace = TROUPE_PACE_FACTOR;
	def.rtf = rtf;
	scene_create(scene, &def);
	text_fini(&sdf);
	scene_serve(scene, "foxglove", "ws", NULL);
	scene_start(scene, scene_run, scene);
}

/* --- a client ----------------------------------------------------------------------------------------------------- */

struct client {
	int file;
	struct text table; /* all operations that it was sent so far */
	struct client_frame frame;
};

static void check_json(const struct text *body)
{
	json_error_t where;
	json_t *json = json_loadb(body->at, body->count, 0, &where);
	check(json != NULL, "no JSON: %s at %d: '%.100s'", where.text, where.position, body->at);
	json_decref(json);
}

/* False: the connection has ended. Operations are kept. */
static bool take(struct client *client)
{
	text_fini(&client->frame.body);
	if (!client_take(client->file, &client->frame))
		return false;
	if (client->frame.kind == 1)
		check_json(&client->frame.body);
	if (client->frame.kind == 1)
		text_add_bytes(&client->table, client->frame.body.at, client->frame.body.count);
	return client->frame.kind != 8;
}

static void say(const struct client *client, int first, const void *bytes, size_t count)
{
	struct text frame = {0};
	client_add_frame(&frame, first, bytes, count);
	(void)client_send(client->file, frame.at, frame.count);
	text_fini(&frame);
}

/* Takes until an operation has the text. */
static bool await(struct client *client, const char *text)
{
	while (!client->table.at || !strstr(client->table.at, text))
		if (!take(client))
			return false;
	return true;
}

static struct client join_as(const struct scene *scene, const char *protocol)
{
	char line[80];
	(void)snprintf(line, sizeof line, "Sec-WebSocket-Protocol: %s\r\n", protocol);
	struct client client = {.file = client_join(scene->port, "/", "localhost", line)};
	check(await(&client, "\"advertiseServices\""), "no services");
	return client;
}

static struct client join(const struct scene *scene)
{
	return join_as(scene, "foxglove.sdk.v1");
}

static void leave(struct client *client)
{
	close(client->file);
	text_fini(&client->table);
	text_fini(&client->frame.body);
}

/* The number that stands before a name in what is advertised: of services in several operations, as they are long. */
static unsigned id_of(struct client *client, const char *member, const char *name)
{
	char text[200];
	unsigned id = 0;
	(void)snprintf(text, sizeof text, ",\"%s\":\"%s\"", member, name);
	(void)await(client, text);
	const char *at = strstr(client->table.at, text);
	while (at && at > client->table.at && *at != '{')
		at--;
	check(at && sscanf(at, "{\"id\":%u", &id) == 1, "%s is not advertised", name);
	return id;
}

static uint64_t number_at(const char *bytes, size_t count)
{
	uint64_t number = 0;
	for (size_t i = count; i-- > 0;)
		number = number << 8 | (unsigned char)bytes[i];
	return number;
}

/* The next message of the subscription; its time. 0: the connection has ended. */
static uint64_t next(struct client *client, uint32_t subscription)
{
	while (take(client))
		if (client->frame.kind == 2 && client->frame.body.count > 13 && client->frame.body.at[0] == 1 &&
			number_at(client->frame.body.at + 1, 4) == subscription)
			return number_at(client->frame.body.at + 5, 8);
	return 0;
}

static void call(const struct client *client, unsigned service, unsigned number, const char *json)
{
	struct text text = {0};
	text_add_bytes(&text,
		(const char[]){2, (char)service, (char)(service >> 8), 0, 0, (char)number, 0, 0, 0, 4, 0, 0, 0}, 13);
	text_add(&text, "json%s", json);
	say(client, 0x82, text.at, text.count);
	text_fini(&text);
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

static void test_topics(void)
{
	struct scene scene;
	open_scene(&scene, 1);
	struct client client = join(&scene);
	unsigned clock = id_of(&client, "topic", "/clock"), stage = id_of(&client, "topic", "/world/w/stage");
	check(strstr(client.table.at, "\"topic\":\"/clock\",\"encoding\":\"cdr\",\"schemaName\":\"rosgraph_msgs/msg/"
				      "Clock\",\"schemaEncoding\":\"ros2msg\",\"schema\":\""),
		"the type of the clock");
	check(strstr(client.table.at, "\"topic\":\"/world/w/"
				      "stage\",\"encoding\":\"json\",\"schemaName\":\"foxglove.SceneUpdate\","
				      "\"schemaEncoding\":\"jsonschema\",\"schema\":\"{"),
		"the type of the scene");
	clock_sleep_until_ns(clock_now_ns() + 300 * MS);
	check(troupe_gateway_counts(scene.gateway).published == 0, "messages without a subscription");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":7,\"channelId\":%u}]}", clock);
	uint64_t last = 0;
	for (int i = 0; i < 50; i++) {
		uint64_t now = next(&client, 7);
		check(now > last, "the clock goes from %llu to %llu", (unsigned long long)last,
			(unsigned long long)now);
		last = now;
	}
	(void)client_say(client.file, "{\"op\":\"unsubscribe\",\"subscriptionIds\":[7]}");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":8,\"channelId\":%u}]}", stage);
	check(next(&client, 8) && strstr(client.frame.body.at + 13, "\"cubes\":[{"), "no shapes");
	uint64_t published = troupe_gateway_counts(scene.gateway).published;
	clock_sleep_until_ns(clock_now_ns() + 300 * MS);
	check(troupe_gateway_counts(scene.gateway).published <= published + 2,
		"messages after a subscription has ended");
	leave(&client);
	scene_close(&scene, false);
}

/* Topics and services that come and go while a client is there, several at a time. */
static void test_news(void)
{
	static const char create[] =
		"name: \"late\" sdf: \"<sdf version='1.9'><model name='late'><pose>0 9 0 0 0 0</pose><link "
		"name='l'/><plugin name='gz::sim::systems::OdometryPublisher' filename='x'/></model></sdf>\"";
	struct scene scene;
	open_scene(&scene, 1);
	struct client oldest = join(&scene), newest = join(&scene);
	leave(&newest);
	clock_sleep_until_ns(clock_now_ns() + 100 * MS);
	leave(&oldest);
	struct client client = join(&scene);
	check(!strstr(client.table.at, "/model/late/"), "not yet");
	check(!troupe_server_command(scene.server, 0, "/world/w/create", create, &scene.error), "%s", scene.error.text);
	check(await(&client, "\"/model/late/odometry_with_covariance\"") && await(&client, "\"/model/late/odometry\""),
		"the topics of a new model");
	check(!strstr(client.table.at, "\"unadvertise\""), "nothing has gone");
	check(!troupe_server_command(scene.server, 0, "/world/w/remove", "name: \"late\" type: MODEL", &scene.error),
		"%s", scene.error.text);
	check(await(&client, "\"unadvertise\""), "they have gone");
	leave(&client);
	scene_close(&scene, true);
}

static unsigned count_of(const struct client *client, const char *text)
{
	unsigned count = 0;
	for (const char *at = client->table.at; at && (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* A channel whose topic nobody takes: its client is told at once, and once; no longer when the topic is taken, or the
 * channel has gone. Each request is answered before the next one is sent, so that the order of all is known. */
static void test_channels(void)
{
	static const char create[] =
		"sdf: \"<sdf version='1.9'><model name='late'><pose>0 9 0 0 0 0</pose><link name='l'/><plugin "
		"name='gz::sim::systems::VelocityControl' filename='x'/></model></sdf>\"";
	struct scene scene;
	open_scene(&scene, 1);
	struct client client = join(&scene);
	(void)client_say(client.file,
		"{\"op\":\"advertise\",\"channels\":[{\"id\":4,\"topic\":\"/model/cart/"
		"cmd_vel\",\"encoding\":\"json\",\"schemaName\":\"gz.msgs.Twist\"},{\"id\":5,\"topic\":\"/model/late/"
		"cmd_vel\",\"encoding\":\"json\",\"schemaName\":\"gz.msgs.Twist\"},{\"id\":6,\"topic\":\"/"
		"nothing\",\"encoding\":\"json\",\"schemaName\":\"x\"}]}");
	check(await(&client, "{\"op\":\"status\",\"level\":1,\"message\":\"topic '/nothing': the run takes no messages "
			     "from it\",\"id\":\"channel 6\"}"),
		"a topic that nobody takes");
	check(await(&client, "\"id\":\"channel 5\""), "a topic that nobody takes yet");
	for (int i = 0; i < 2; i++)
		say(&client, 0x82, "\1\6\0\0\0{}", 7);
	check(!troupe_server_command(scene.server, 0, "/world/w/create", create, &scene.error), "%s", scene.error.text);
	check(await(&client, "{\"op\":\"removeStatus\",\"statusIds\":[\"channel 5\"]}"), "a topic that is taken now");
	(void)client_say(client.file, "{\"op\":\"unadvertise\",\"channelIds\":[4,5,6]}");
	check(await(&client, "{\"op\":\"removeStatus\",\"statusIds\":[\"channel 6\"]}"), "a channel that has gone");
	check(count_of(&client, "\"op\":\"status\"") == 2 && count_of(&client, "removeStatus") == 2,
		"told more than once: %u, %u", count_of(&client, "\"op\":\"status\""),
		count_of(&client, "removeStatus"));
	check(troupe_gateway_counts(scene.gateway).refused == 2, "%llu messages are refused",
		(unsigned long long)troupe_gateway_counts(scene.gateway).refused);
	leave(&client);
	scene_close(&scene, true);
}

static void test_commands(void)
{
	struct scene scene;
	open_scene(&scene, 1);
	struct client client = join(&scene);
	unsigned remove = id_of(&client, "name", "/world/w/remove"), worlds = id_of(&client, "name", "/gazebo/worlds");
	call(&client, worlds, 1, "{}");
	while (take(&client) && !(client.frame.kind == 2 && client.frame.body.at[0] == 3))
		;
	check(client.frame.body.count > 17 && number_at(client.frame.body.at + 5, 4) == 1 &&
			strstr(client.frame.body.at + 17, "\"w\""),
		"the worlds");
	call(&client, remove, 2, "{\"name\":\"nobody\",\"type\":\"MODEL\"}");
	check(await(&client, "\"callId\":2,\"message\":"), "a call that fails");
	call(&client, 60000, 3, "{}");
	check(await(&client, "\"callId\":3,\"message\":\"there is no such service\""), "no such service");
	(void)client_say(client.file, "{\"op\":\"advertise\",\"channels\":[{\"id\":4,\"topic\":\"/model/cart/"
				      "cmd_vel\",\"encoding\":\"json\",\"schemaName\":\"gz.msgs.Twist\"}]}");
	say(&client, 0x82, "\1\4\0\0\0{\"linear\":{\"x\":1}}", 23);
	for (int i = 0; i < 5000 && troupe_gateway_counts(scene.gateway).commands < 2; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	struct troupe_gateway_counts counts = troupe_gateway_counts(scene.gateway);
	check(counts.commands >= 2 && counts.taken == 3 && counts.refused == 1,
		"%llu commands, %llu taken, %llu refused", (unsigned long long)counts.commands,
		(unsigned long long)counts.taken, (unsigned long long)counts.refused);
	/* nonsense, and calls whose caller is gone when the reply comes */
	say(&client, 0x82, "\2\0\0", 3);
	say(&client, 0x81, "[[[[", 4);
	check(await(&client, "text message: "), "text that is no JSON");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":4000000000}]}");
	check(await(&client, "there is no channel 4000000000"), "a channel that is not there");
	for (unsigned i = 10; i < 60; i++)
		call(&client, remove, i, "{\"name\":\"nobody\"}");
	leave(&client);
	client = join(&scene);
	call(&client, worlds, 1, "{}");
	check(take(&client), "a client after another one that left in the middle");
	scene_close(&scene, true);
	while (take(&client))
		;
	check(client.frame.kind == 8 && number_at(client.frame.body.at, 2) == 0xe903, "the end is not told: %d",
		client.frame.kind);
	leave(&client);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

/* A request, and the whole answer to it. NULL: none. */
static const struct {
	const char *request;
	size_t binary; /* its bytes; 0: text */
	const char *answer;
	size_t answer_binary;
} refusals[] = {
	{"\1\x07\0\0\0{}", 7, "{\"op\":\"status\",\"level\":2,\"message\":\"message: its channel is not advertised\"}",
		0},
	{"\1\x07\0\0", 4,
		"{\"op\":\"status\",\"level\":2,\"message\":\"binary message: expected a message (1) or a call of a "
		"service "
		"(2)\"}",
		0},
	{"\3\0\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\0\0\0\0", 19,
		"{\"op\":\"status\",\"level\":2,\"message\":\"binary message: expected a message (1) or a call of a "
		"service "
		"(2)\"}",
		0},
	{"\2\xff\xff\xff\x7f\1\2\3\4\4\0\0\0json{}", 19,
		"{\"op\":\"serviceCallFailure\",\"serviceId\":2147483647,\"callId\":67305985,\"message\":\"there is no "
		"such "
		"service\"}",
		0},
	{"{\"op\":\"fetchAsset\",\"uri\":\"package://a/b.dae\",\"requestId\":67305985}", 0,
		"\4\1\2\3\4\1\x17\0\0\0troupe serves no assets", 33},
	{"{\"op\":\"fetchAsset\",\"uri\":\"x\",\"requestId\":2}", 0, "\4\2\0\0\0\1\x17\0\0\0troupe serves no assets",
		33},
	{"{\"op\":\"getParameters\",\"parameterNames\":[]}", 0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"troupe has no parameters\",\"id\":\"parameters\"}", 0},
	{"{\"op\":\"setParameters\",\"parameters\":[]}", 0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"troupe has no parameters\",\"id\":\"parameters\"}", 0},
	{"{\"op\":\"subscribeParameterUpdates\"}", 0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"troupe has no parameters\",\"id\":\"parameters\"}", 0},
	{"{\"op\":\"unsubscribeParameterUpdates\"}", 0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"troupe has no parameters\",\"id\":\"parameters\"}", 0},
	{"{\"op\":\"dance\"}", 0, "{\"op\":\"status\",\"level\":2,\"message\":\"dance: there is no such operation\"}",
		0},
	{"{\"op\":\"unsubscribe\",\"subscriptionIds\":[3]}", 0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"unsubscribe: there is no subscription 3\"}", 0},
	{"{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":3,\"channelId\":4000000001}]}", 0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"subscribe: there is no channel 4000000001\"}", 0},
	{"{\"op\":\"advertise\",\"channels\":[{\"id\":1,\"topic\":\"/model/cart/cmd_vel\",\"encoding\":\"xml\"}]}", 0,
		"{\"op\":\"status\",\"level\":2,\"message\":\"topic '/model/cart/cmd_vel': encoding 'xml': expected "
		"json or "
		"cdr\"}",
		0},
	{"{\"op\":\"advertise\",\"channels\":[{\"id\":2,\"topic\":\"/model/cart/"
	 "cmd_vel\",\"encoding\":\"cdr\"},{\"id\":3,\"topic\":\"/"
	 "nothing\",\"encoding\":\"cdr\"},{\"id\":2,\"topic\":\"/"
	 "a\",\"encoding\":\"json\"}]}",
		0,
		"{\"op\":\"status\",\"level\":1,\"message\":\"topic '/nothing': the run takes no messages from "
		"it\",\"id\":\"channel 3\"}",
		0},
	{NULL, 0,
		"{\"op\":\"status\",\"level\":2,\"message\":\"advertise: the number of the channel is in use, or there "
		"are "
		"too many\"}",
		0},
	{"{\"op\":\"unadvertise\",\"channelIds\":[77,2,3]}", 0,
		"{\"op\":\"removeStatus\",\"statusIds\":[\"channel 3\"]}", 0},
	{"\1\3\0\0\0{}", 7, "{\"op\":\"status\",\"level\":2,\"message\":\"message: its channel is not advertised\"}",
		0},
	{"\1\2\0\0\0{}", 7, "{\"op\":\"status\",\"level\":2,\"message\":\"message: its channel is not advertised\"}",
		0},
	{"\3", 1,
		"{\"op\":\"status\",\"level\":2,\"message\":\"binary message: expected a message (1) or a call of a "
		"service "
		"(2)\"}",
		0},
};

static void expect_answer(struct client *client, const char *answer, size_t binary)
{
	const size_t count = binary ? binary : strlen(answer);
	const struct text *body = &client->frame.body;
	bool there;
	while ((there = take(client)) && client->frame.kind == 2 && body->at[0] == 2) /* the time */
		;
	check(there && client->frame.kind == (binary ? 2 : 1) && body->count == count &&
			!memcmp(body->at, answer, count),
		"'%.*s' instead of '%s'", there ? (int)body->count : 0, there ? body->at : "", answer);
}

/* The second of two clients has all its answers, and the first none of them. */
static void test_refusals(void)
{
	struct scene scene;
	open_scene(&scene, 1);
	struct client other = join(&scene), client = join(&scene);
	const unsigned clock = id_of(&client, "topic", "/clock"), worlds = id_of(&client, "name", "/gazebo/worlds");
	while (count_of(&client, "\"name\":\"/world/w/wrench/persistent/blocking\"") == 0 && take(&client))
		;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		if (refusals[i].request)
			say(&client, refusals[i].binary ? 0x82 : 0x81, refusals[i].request,
				refusals[i].binary ? refusals[i].binary : strlen(refusals[i].request));
		expect_answer(&client, refusals[i].answer, refusals[i].answer_binary);
	}
	struct text text = {0}, expected = {0};
	text_add_bytes(&text, (const char[]){2, (char)worlds, (char)(worlds >> 8), 0, 0, 9, 0, 0, 0, 3, 0, 0, 0}, 13);
	text_add(&text, "cdr{}");
	text_add(&expected,
		"{\"op\":\"serviceCallFailure\",\"serviceId\":%u,\"callId\":9,\"message\":\"encoding of the request: "
		"expected "
		"json\"}",
		worlds);
	say(&client, 0x82, text.at, text.count);
	expect_answer(&client, expected.at, 0);
	for (int i = 0; i < 2; i++)
		(void)client_say(
			client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":7,\"channelId\":%u}]}", clock);
	check(await(&client,
		      "{\"op\":\"status\",\"level\":2,\"message\":\"subscribe: the number of the subscription is in "
		      "use, or there are too many\"}"),
		"two subscriptions of one number");
	(void)client_say(other.file, "{\"op\":\"dance\"}");
	check(await(&other, "dance: there is no such operation") && count_of(&other, "\"op\":\"status\"") == 1,
		"what is another client's");
	text_fini(&text);
	text_fini(&expected);
	leave(&client);
	leave(&other);
	scene_close(&scene, true);
}

/* A run as fast as it can be, and a client that does not read, beside one that does. */
static void test_slow(void)
{
	struct scene scene;
	open_scene(&scene, 0);
	struct client slow = join(&scene), quick = join(&scene);
	const char *topics[] = {"/clock", "/world/w/clock", "/world/w/pose/info"};
	for (uint32_t i = 0; i < 3; i++) {
		(void)client_say(slow.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%u,\"channelId\":%u}]}",
			i + 1, id_of(&slow, "topic", topics[i]));
		(void)client_say(quick.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%u,\"channelId\":%u}]}",
			i + 1, id_of(&quick, "topic", topics[i]));
	}
	uint64_t end_ns = clock_now_ns() + 60000 * MS, last = 0;
	int got = 0;
	while (clock_now_ns() < end_ns && !troupe_gateway_counts(scene.gateway).lost)
		got += next(&quick, 1) > 0;
	check(got > 100 && troupe_gateway_counts(scene.gateway).lost,
		"%d messages, none lost by a client that does not read", got);
	uint64_t before = next(&quick, 1);
	for (int i = 0; i < 200000 && last < before; i++)
		last = next(&slow, 1);
	check(last >= before, "the slow client does not come to the present");
	leave(&slow);
	scene_close(&scene, true);
	leave(&quick);
}

/* --- a recording -------------------------------------------------------------------------------------------------- */

enum { RECORDED = 4000 };
#define STEP_NS UINT64_C(1000000)
enum { BEGIN_S = 2 };
/* of a step */
#define TIME_NS(step) (BEGIN_S * UINT64_C(1000000000) + (step)*STEP_NS)

static void record(const char *path)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {.iterations = RECORDED};
	struct troupe_server *server;
	struct troupe_error error = {.text = ""};
	struct text sdf = {0};
	write_world(&sdf);
	def.world_path = "w.sdf";
	def.world_text = sdf.at;
	def.record_path = path;
	def.record_every = 500;
	def.initial_time_s = BEGIN_S;
	check(!troupe_server_create(&def, &server, &error), "%s", error.text);
	check(!troupe_server_run(server, &limits, &error) && !troupe_server_end_recording(server, &error), "%s",
		error.text);
	troupe_server_destroy(server);
	text_fini(&sdf);
}

static void *play(void *arg)
{
	(void)troupe_gateway_play(arg, NULL);
	return NULL;
}

/* A request of the playback control whose name is a letter. */
static void control(const struct client *client, bool plays, uint64_t step, char name)
{
	char bytes[20] = {3, plays ? 0 : 1, 0, 0, (char)0x80, 0x3f, 1};
	for (int i = 0; i < 8; i++)
		bytes[7 + i] = (char)(TIME_NS(step) >> 8 * i & 0xff);
	bytes[15] = 1;
	bytes[19] = name;
	say(client, 0x82, bytes, sizeof bytes);
}

/* Takes until a state of the playback answers the request of this name; 0: any state that answers none. */
static bool await_state(struct client *client, char name)
{
	while (take(client)) {
		const struct text *body = &client->frame.body;
		if (client->frame.kind == 2 && body->at[0] == 5 && body->count == (name ? 20 : 19) &&
			(!name || body->at[19] == name))
			return true;
	}
	return false;
}

static void open_recording(struct scene *scene, const char *path)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.resume_path = path;
	*scene = (struct scene){.status = TROUPE_OK};
	scene_serve(scene, "foxglove", "ws", &def);
	scene_start(scene, play, scene->gateway);
}

static void close_recording(struct scene *scene)
{
	troupe_gateway_stop(scene->gateway);
	(void)pthread_join(scene->thread, NULL);
	troupe_gateway_end(scene->gateway, NULL);
}

/* Jumps there and back, also one upon another, and a client that leaves in the middle of one. */
static void test_playback(void)
{
	struct scene scene;
	char path[] = "/tmp/test_foxglove.XXXXXX";
	int file = mkstemp(path);
	check(file >= 0, "a file");
	close(file);
	record(path);
	open_recording(&scene, path);
	struct client client = join(&scene);
	check(strstr(client.table.at, "\"playbackControl\"") && !strstr(client.table.at, "\"clientPublish\"") &&
			strstr(client.table.at, "\"dataStartTime\":{\"sec\":2,\"nsec\":0}") &&
			strstr(client.table.at, "\"dataEndTime\":{\"sec\":6,\"nsec\":0}"),
		"%s", client.table.at);
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":7,\"channelId\":%u}]}",
		id_of(&client, "topic", "/clock"));
	const uint64_t steps[] = {3000, 1, 999, 1000, 0, RECORDED, 2500};
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		control(&client, false, steps[i], 'a');
		check(await_state(&client, 'a') && client.frame.body.at[1] == 2 && client.frame.body.at[14] == 1 &&
				number_at(client.frame.body.at + 2, 8) == TIME_NS(steps[i]),
			"no answer to a jump to step %u", (unsigned)steps[i]);
		uint64_t shown = next(&client, 7);
		check(shown == TIME_NS(steps[i]), "step %u: %llu ns", (unsigned)steps[i], (unsigned long long)shown);
	}
	for (char name = 'b'; name < 'z'; name++)
		control(&client, false, (uint64_t)name * 7919 % RECORDED, name);
	control(&client, true, RECORDED - 1000, 'z');
	check(await_state(&client, 'z'), "no answer to the last of many jumps");
	uint64_t first = next(&client, 7), last = first;
	check(first >= TIME_NS(RECORDED - 1000), "a message of another step: %llu", (unsigned long long)first);
	/* one of them may come twice: as its step's, and because the jump asks for the newest */
	bool again = false;
	while (last < TIME_NS(RECORDED)) {
		uint64_t now = next(&client, 7);
		check(now > last || (now == last && !again), "the clock goes from %llu to %llu",
			(unsigned long long)last, (unsigned long long)now);
		again |= now == last;
		if (now < last)
			break;
		last = now;
	}
	check(await_state(&client, 0) && client.frame.body.at[1] == 3, "the end is not told after the last message");
	say(&client, 0x82, "\3\0\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\xff\0\0\0x", 20);
	check(await(&client, "binary message: expected"), "a name that is longer than the request");
	control(&client, true, 100, 'a');
	leave(&client);
	client = join(&scene);
	check(await_state(&client, 0), "a client after another one that left in the middle of a jump");
	/* for one that has no control the recording plays, from its begin when it is at its end */
	control(&client, false, RECORDED, 'e');
	check(await_state(&client, 'e'), "the end");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":7,\"channelId\":%u}]}",
		id_of(&client, "topic", "/clock"));
	for (last = 1; last && last < TIME_NS(RECORDED);)
		last = next(&client, 7);
	check(last == TIME_NS(RECORDED), "the end is not shown");
	leave(&client);
	for (int i = 0; i < 20000 && troupe_gateway_counts(scene.gateway).clients; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	client = join_as(&scene, "foxglove.websocket.v1");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":7,\"channelId\":%u}]}",
		id_of(&client, "topic", "/clock"));
	first = last = next(&client, 7);
	while (last && last == first) /* as above, it may come twice */
		last = next(&client, 7);
	check(first && first < last && last < TIME_NS(RECORDED), "it does not play from its begin: %llu, %llu",
		(unsigned long long)first, (unsigned long long)last);
	close_recording(&scene);
	leave(&client);
	check(!remove(path), "the file");
}

/* A client that is connected when the run fails is told so, and why; it is a longer reason than the frame that closes
 * the connection has room for, and is cut there within a character of two bytes. */
static void test_failure(void)
{
	struct scene scene;
	struct troupe_error failure = {.status = TROUPE_EINTERNAL};
	for (size_t i = 0; i < 122; i++)
		failure.text[i] = (char)('a' + i % 26);
	memcpy(failure.text + 122, "\xc3\xa4 diverged", 12);
	open_scene(&scene, 1);
	struct client client = join(&scene);
	scene_end_run(&scene);
	troupe_gateway_end(scene.gateway, &failure);
	check(await(&client, "{\"op\":\"status\",\"level\":2,\"message\":\"the run has failed: abc"),
		"the failure is not told: %s", client.table.at + client.table.count - MIN(client.table.count, 200));
	while (take(&client))
		;
	const struct text *body = &client.frame.body;
	check(client.frame.kind == 8 && body->count == 2 + 122 && !memcmp(body->at + 2, failure.text, 122),
		"closed with %zu bytes: %s", body->count, body->count > 2 ? body->at + 2 : "");
	leave(&client);
	troupe_server_destroy(scene.server);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	(void)mallopt(M_PERTURB, 0xa5); /* freed memory does not keep what was in it */
	troupe_gateway_end(NULL, NULL);
	test_topics();
	test_news();
	test_channels();
	test_commands();
	test_refusals();
	test_slow();
	test_playback();
	test_failure();
	return check_totals();
}
