/* The gateway of rosbridge's protocol without any library of others: by a socket and JSON. Each operation, sound and
 * otherwise; how often messages come; each message once; a cart that is driven; services; who is told what; limits;
 * clients that leave in the middle. A plain program, so that it runs under the sanitizers too;
 * tests/web/test_rosbridge.sh goes through the protocol with roslibjs. */
#include "../named.h"
#include "scene.h"

#include "base/clock.h"

#include <troupe/world.h>

#include <jansson.h>
#include <poll.h>

#define MS UINT64_C(1000000)
enum { TOPICS_MAX = 4096, OUTLETS_MAX = 1024, NAME_MAX_BYTES = 512, THROTTLE_MS = 40, THROTTLED = 8 };

static void open_scene(struct scene *scene)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = "w.sdf";
	def.world_text = named_world("cart", NULL);
	def.secondaries = 1;
	def.pace = TROUPE_PACE_FACTOR;
	def.rtf = 1;
	scene_create(scene, &def);
	scene_serve(scene, "rosbridge", "ws", NULL);
}

static void start(struct scene *scene)
{
	scene_start(scene, scene_run, scene);
}

/* --- a client ----------------------------------------------------------------------------------------------------- */

struct client {
	int file;
	json_t *heard; /* the last operation */
};

static struct client join(const struct scene *scene)
{
	return (struct client){.file = client_join(scene->port, "/", "localhost", "")};
}

static void leave(struct client *client)
{
	close(client->file);
	json_decref(client->heard);
}

/* False: the connection has ended. */
static bool take(struct client *client)
{
	struct client_frame frame;
	json_decref(client->heard);
	client->heard = NULL;
	if (!client_take(client->file, &frame))
		return false;
	if (frame.kind == 1)
		client->heard = json_loadb(frame.body.at, frame.body.count, 0, NULL);
	text_fini(&frame.body);
	return client->heard;
}

static const char *word(const struct client *client, const char *member)
{
	const char *text = json_string_value(json_object_get(client->heard, member));
	return text ? text : "";
}

/* A member of a member..., in the last operation: "values.time.sec". */
static const json_t *at(const struct client *client, const char *path)
{
	const json_t *json = client->heard;
	char name[64];
	while (json && *path) {
		size_t length = strcspn(path, ".");
		(void)snprintf(name, sizeof name, "%.*s", (int)length, path);
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(name)) : json_object_get(json, name);
		path += length + (path[length] == '.');
	}
	return json;
}

static double number(const struct client *client, const char *path)
{
	return json_number_value(at(client, path));
}

static const char *text_at(const struct client *client, const char *path)
{
	const char *text = json_string_value(at(client, path));
	return text ? text : "";
}

static bool take_op(struct client *client, const char *op)
{
	while (take(client))
		if (!strcmp(word(client, "op"), op))
			return true;
	return false;
}

/* Messages of other topics are passed over. */
static bool take_message(struct client *client, const char *topic)
{
	while (take_op(client, "publish"))
		if (!strcmp(word(client, "topic"), topic))
			return true;
	return false;
}

static bool call(struct client *client, const char *service, const char *args)
{
	(void)client_say(client->file, "{\"op\":\"call_service\",\"id\":7,\"service\":\"%s\"%s%s}", service,
		*args ? ",\"args\":" : "", args);
	bool came = take_op(client, "service_response");
	check(came && !strcmp(word(client, "service"), service) && number(client, "id") == 7, "an answer of %s",
		service);
	return came && json_is_true(json_object_get(client->heard, "result"));
}

static char *shown(const struct client *client)
{
	static char text[600];
	char *json = client->heard ? json_dumps(client->heard, JSON_COMPACT) : NULL;
	(void)snprintf(text, sizeof text, "%s", json ? json : "nothing");
	free(json);
	return text;
}

/* Whether a list in the last operation has a text. */
static bool has(const struct client *client, const char *path, const char *text)
{
	const json_t *list = at(client, path);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(json_string_value(json_array_get(list, i)), text))
			return true;
	return false;
}

/* The run says so, with the level, the id 5, and words of the reason. */
static void expect_status(struct client *client, const char *level, const char *why, const char *operation)
{
	(void)client_say(client->file, "%s", operation);
	bool came = take_op(client, "status");
	check(came && !strcmp(word(client, "level"), level) && strstr(word(client, "msg"), why) &&
			(!strstr(operation, "\"id\":5") || number(client, "id") == 5),
		"%s: %s: expected %s: %s", operation, shown(client), level, why);
}

/* That nothing has come before the answer to a call: what was asked for before it has been done in silence. */
static void expect_silence(struct client *client, const char *operation)
{
	(void)client_say(client->file, "%s", operation);
	(void)client_say(client->file, "{\"op\":\"call_service\",\"service\":\"/rosapi/get_ros_version\"}");
	do
		if (!take(client))
			break;
	while (!strcmp(word(client, "op"), "publish"));
	check(!strcmp(word(client, "op"), "service_response"), "%s: %s", operation, shown(client));
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

static void subscribes(const struct scene *scene)
{
	struct client client = join(scene);
	double last = -1;
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"cart/odom\",\"type\":\"nav_msgs/Odometry\"}");
	for (int i = 0; i < 5; i++) {
		bool came = take_message(&client, "cart/odom"); /* the name as the client has it */
		double now =
			number(&client, "msg.header.stamp.sec") * 1e9 + number(&client, "msg.header.stamp.nanosec");
		check(came && now > last && json_array_size(at(&client, "msg.pose.covariance")) == 36 &&
				!strcmp(text_at(&client, "msg.header.frame_id"), "cart/odom"),
			"odometry: %s", shown(&client));
		last = now;
	}
	/* a second time, by another id: each message comes once */
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"cart/odom\",\"id\":\"b\"}");
	for (int i = 0; i < 20; i++) {
		bool came = take_message(&client, "cart/odom");
		double now =
			number(&client, "msg.header.stamp.sec") * 1e9 + number(&client, "msg.header.stamp.nanosec");
		check(came && now > last, "once each: %g after %g", now, last);
		last = now;
	}
	/* the second one goes, and the first stays; then this goes, too */
	expect_silence(&client, "{\"op\":\"unsubscribe\",\"topic\":\"cart/odom\",\"id\":\"b\"}");
	check(take_message(&client, "cart/odom"), "the first subscription stays");
	expect_silence(&client, "{\"op\":\"unsubscribe\",\"topic\":\"cart/odom\"}");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"/clock\"}");
	for (int i = 0; i < 10; i++)
		check(take_op(&client, "publish") && !strcmp(word(&client, "topic"), "/clock") &&
				json_is_integer(at(&client, "msg.clock.nanosec")),
			"only the clock comes: %s", shown(&client));
	expect_status(
		&client, "warning", "not subscribed", "{\"op\":\"unsubscribe\",\"topic\":\"cart/odom\",\"id\":5}");
	expect_status(&client, "error", "rosgraph_msgs/msg/Clock",
		"{\"op\":\"subscribe\",\"topic\":\"/clock\",\"type\":\"std_msgs/String\",\"id\":5}");
	expect_status(&client, "warning", "without compression",
		"{\"op\":\"subscribe\",\"topic\":\"/tf\",\"compression\":\"png\",\"id\":5}");
	expect_silence(&client, "{\"op\":\"subscribe\",\"topic\":\"/later\",\"compression\":\"none\"}");
	leave(&client);
}

/* At least so much real time lies between two messages; and of those that wait, the newest are kept. */
static void throttles(const struct scene *scene)
{
	struct client client = join(scene);
	uint64_t begun_ns = clock_now_ns();
	double first = 0, last = 0;
	(void)client_say(
		client.file, "{\"op\":\"subscribe\",\"topic\":\"/cart/odom\",\"throttle_rate\":%d}", THROTTLE_MS);
	for (int i = 0; i < THROTTLED; i++) {
		check(take_message(&client, "/cart/odom"), "a message of a throttled topic");
		last = number(&client, "msg.header.stamp.sec") + number(&client, "msg.header.stamp.nanosec") * 1e-9;
		first = i ? first : last;
	}
	check(clock_now_ns() - begun_ns >= (THROTTLED - 1) * THROTTLE_MS * MS, "%d messages come too soon", THROTTLED);
	check(last - first > 0, "later messages");
	expect_status(&client, "error", "nav_msgs/msg/Odometry",
		"{\"op\":\"subscribe\",\"topic\":\"/cart/odom\",\"type\":\"abc_msgs/Odometry\",\"id\":5}");
	/* the more demanding of two subscriptions counts: all of them come, more than one between two of the other's */
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"/cart/odom\",\"id\":\"all\"}");
	begun_ns = clock_now_ns();
	int count = 0;
	while (count < 40 && take_message(&client, "/cart/odom"))
		count++;
	check(clock_now_ns() - begun_ns < 39 * THROTTLE_MS * MS, "40 messages are throttled");
	leave(&client);

	/* three messages wait for their time, so that the fourth after the first is much later than the second */
	struct client queued = join(scene);
	double stamps[5] = {0};
	(void)client_say(queued.file,
		"{\"op\":\"subscribe\",\"topic\":\"/cart/odom\",\"throttle_rate\":300,\"queue_length\":3}");
	for (int i = 0; i < 5; i++) {
		check(take_message(&queued, "/cart/odom"), "a message that has waited");
		stamps[i] =
			number(&queued, "msg.header.stamp.sec") + number(&queued, "msg.header.stamp.nanosec") * 1e-9;
		check(!i || stamps[i] > stamps[i - 1], "in their order");
	}
	check(stamps[4] - stamps[1] > 0.2, "the oldest were left out: %g s", stamps[4] - stamps[1]);
	leave(&queued);

	/* numbers below 0 are 0; and what waits comes before what comes later */
	struct client fast = join(scene);
	(void)client_say(fast.file,
		"{\"op\":\"subscribe\",\"topic\":\"/cart/odom\",\"throttle_rate\":-5000,\"queue_length\":-5}");
	for (int i = 0; i < 3; i++)
		check(take_message(&fast, "/cart/odom"), "a message without a throttle");
	leave(&fast);
	struct client orderly = join(scene);
	double before = 0;
	(void)client_say(orderly.file,
		"{\"op\":\"subscribe\",\"topic\":\"/cart/odom\",\"throttle_rate\":25,\"queue_length\":10}");
	for (int i = 0; i < 30; i++) {
		check(take_message(&orderly, "/cart/odom"), "a message that has waited");
		double now =
			number(&orderly, "msg.header.stamp.sec") + number(&orderly, "msg.header.stamp.nanosec") * 1e-9;
		check(now > before, "message %d, of %g s, comes after %g s", i, now, before);
		before = now;
	}
	leave(&orderly);
}

/* --- what a client publishes -------------------------------------------------------------------------------------- */

static double place_of_cart(const struct scene *scene)
{
	struct troupe_model_state state = {.name = NULL};
	check(troupe_get_model(scene->server, troupe_find_model(scene->server, 0, "cart"), &state), "the cart");
	return state.pose.x;
}

static void publishes(const struct scene *scene)
{
	struct client client = join(scene);
	struct troupe_gateway_counts before = troupe_gateway_counts(scene->gateway);
	expect_silence(
		&client, "{\"op\":\"advertise\",\"topic\":\"/cart/cmd_vel\",\"type\":\"geometry_msgs/msg/Twist\"}");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"/cart/odom\"}");
	(void)client_say(client.file, "{\"op\":\"publish\",\"topic\":\"cart/cmd_vel\",\"msg\":{\"linear\":{\"x\":2}}}");
	double x = 0;
	for (int i = 0; i < 2000 && x < 0.1 && take_message(&client, "/cart/odom"); i++)
		x = number(&client, "msg.pose.pose.position.x");
	check(x >= 0.1, "the cart is driven: it is at %g", x);
	struct troupe_gateway_counts after = troupe_gateway_counts(scene->gateway);
	check(after.commands == before.commands + 1, "%d commands", (int)(after.commands - before.commands));
	check(after.taken == before.taken + 2, "%d operations were taken", (int)(after.taken - before.taken));
	check(after.clients == 1 && after.refused == before.refused && after.published > before.published &&
			!after.lost,
		"%u clients, %d refused", after.clients, (int)after.refused);
	(void)client_say(client.file, "{\"op\":\"unsubscribe\",\"topic\":\"/cart/odom\"}");

	static const struct {
		const char *level, *why, *operation;
	} bad[] = {
		{"error", "takes geometry_msgs/msg/Twist",
			"{\"op\":\"advertise\",\"topic\":\"/cart/cmd_vel\",\"type\":\"std_msgs/msg/String\",\"id\":5}"},
		{"warning", "takes no messages from this topic now",
			"{\"op\":\"advertise\",\"topic\":\"/none\",\"id\":5}"},
		{"error", "takes no messages", "{\"op\":\"publish\",\"topic\":\"/none2\",\"msg\":{},\"id\":5}"},
		{"error", "takes no messages of std_msgs/msg/String",
			"{\"op\":\"publish\",\"topic\":\"/cart/odom\",\"type\":\"std_msgs/msg/"
			"String\",\"msg\":{},\"id\":5}"},
		{"error", "takes no messages", "{\"op\":\"publish\",\"topic\":\"/cart/odom\",\"msg\":{},\"id\":5}"},
		{"error", "msg: expected an object",
			"{\"op\":\"publish\",\"topic\":\"/cart/cmd_vel\",\"msg\":3,\"id\":5}"},
		{"error", "msg: expected an object", "{\"op\":\"publish\",\"topic\":\"/cart/cmd_vel\",\"id\":5}"},
		{"error", "liner", "{\"op\":\"publish\",\"topic\":\"/cart/cmd_vel\",\"msg\":{\"liner\":{}},\"id\":5}"},
		{"error", "topic: expected a name", "{\"op\":\"publish\",\"msg\":{},\"id\":5}"},
		{"error", "topic: expected a name", "{\"op\":\"advertise\",\"topic\":\"\",\"id\":5}"},
		{"error", "topic: expected a name", "{\"op\":\"subscribe\",\"topic\":4,\"id\":5}"},
		{"warning", "a topic without a name", "{\"op\":\"unsubscribe\",\"id\":5}"},
		{"error", "there is no such operation here", "{\"op\":\"fragment\",\"id\":5}"},
		{"error", "op: expected", "{\"id\":5}"},
		{"error", "op: expected", "[]"},
		{"error", "line 1", "{"},
		{"error", "line 1", ""},
		{"error", "level: expected", "{\"op\":\"set_level\",\"level\":\"loud\",\"id\":5}"},
		{"error", "service: expected a name", "{\"op\":\"call_service\",\"id\":5}"},
		{"error", "action: expected a name", "{\"op\":\"send_action_goal\",\"id\":5}"},
		{"error", "too big",
			"{\"op\":\"publish\",\"topic\":\"/none2\",\"msg\":{\"n\":9223372036854775808},\"id\":5}"},
		{"error", "u0000", "{\"op\":\"publish\",\"topic\":\"/none2\",\"msg\":{\"n\":\"\\u0000\"},\"id\":5}"},
		{"error", "too big", "{\"n\":9223372036854775808}"},
		{"error", "overflow", "{\"op\":\"publish\",\"topic\":\"/none2\",\"msg\":{\"n\":1e999}}"},
		{"warning", "no goal with this id",
			"{\"op\":\"cancel_action_goal\",\"action\":\"/simulate_steps\",\"id\":5}"},
	};
	uint64_t refused = troupe_gateway_counts(scene->gateway).refused, errors = 0;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		expect_status(&client, bad[i].level, bad[i].why, bad[i].operation);
		errors += !strcmp(bad[i].level, "error");
	}
	check(troupe_gateway_counts(scene->gateway).refused == refused + errors, "errors are counted");
	struct text frame = {0};
	client_add_frame(&frame, 0x82, "{}", 2);
	(void)client_send(client.file, frame.at, frame.count);
	text_fini(&frame);
	check(take_op(&client, "status") && strstr(word(&client, "msg"), "expected JSON as text"), "%s",
		shown(&client));
	/* the same again, unadvertised; and nothing is said from a level on */
	expect_silence(&client, "{\"op\":\"unadvertise\",\"topic\":\"/cart/cmd_vel\"}");
	expect_silence(&client, "{\"op\":\"publish\",\"topic\":\"/cart/cmd_vel\",\"msg\":{\"angular\":{\"z\":1}}}");
	expect_silence(&client, "{\"op\":\"set_level\",\"level\":\"error\"}");
	expect_silence(&client, "{\"op\":\"unsubscribe\",\"id\":5}");
	expect_status(&client, "error", "op: expected", "{}");
	expect_silence(&client, "{\"op\":\"set_level\",\"level\":\"none\"}");
	expect_silence(&client, "{}");
	expect_silence(&client, "{\"op\":\"set_level\",\"level\":\"info\"}");
	expect_status(&client, "warning", "", "{\"op\":\"unsubscribe\",\"id\":5}");
	leave(&client);
}

/* A topic that is subscribed to before there is one. */
static void waits_for_topics(const struct scene *scene)
{
	static const char create[] =
		"name: \"late\" sdf: \"<sdf version='1.9'><model name='late'><pose>0 9 0 0 0 0</pose><link "
		"name='l'/><plugin name='gz::sim::systems::OdometryPublisher' filename='x'/></model></sdf>\"";
	struct client client = join(scene);
	struct troupe_error error = {.text = ""};
	expect_silence(&client, "{\"op\":\"subscribe\",\"topic\":\"/late/odom\"}");
	check(!troupe_server_command(scene->server, 0, "/world/w/create", create, &error), "%s", error.text);
	check(take_message(&client, "/late/odom") && !strcmp(text_at(&client, "msg.header.frame_id"), "late/odom"),
		"%s", shown(&client));
	leave(&client);
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static void calls(const struct scene *scene)
{
	struct client client = join(scene);
	check(call(&client, "/world/w/hash", "") && *text_at(&client, "values.hash"), "%s", shown(&client));
	check(call(&client, "world/w/hash", "[]") && call(&client, "/world/w/hash", "null") &&
			call(&client, "/world/w/hash", "{}"),
		"no arguments, in each way: %s", shown(&client));
	check(!call(&client, "/world/w/hash", "3") && strstr(word(&client, "values"), "args: expected an object"), "%s",
		shown(&client));
	check(!call(&client, "/world/w/hash", "{\"none\":1}") && strstr(word(&client, "values"), "none"), "%s",
		shown(&client));
	check(!call(&client, "/none", "") && strstr(word(&client, "values"), "there is no service /none"), "%s",
		shown(&client));
	check(call(&client, "/world/w/set_pose", "{\"name\":\"cart\",\"position\":{\"y\":3}}") &&
			json_is_true(at(&client, "values.data")),
		"%s", shown(&client));
	check(!call(&client, "/world/w/set_pose", "{\"name\":\"none\"}") || json_is_false(at(&client, "values.data")),
		"%s", shown(&client));
	check(!call(&client, "/world/w/hash", "{\"n\":-99999999999999999999}") &&
			strstr(word(&client, "values"), "too big"),
		"%s", shown(&client));
	check(!call(&client, "/world/w/hash", "{\"n\":\"\\u0000\"}") && strstr(word(&client, "values"), "u0000"), "%s",
		shown(&client));
	check(call(&client, "/get_entities", "") && has(&client, "values.entities", "cart") &&
			number(&client, "values.result.result") == 1,
		"%s", shown(&client));
	check(call(&client, "/rosapi/topics", "") && has(&client, "values.topics", "/cart/odom") &&
			has(&client, "values.topics", "/cart/cmd_vel") && has(&client, "values.topics", "/clock") &&
			json_array_size(at(&client, "values.topics")) == json_array_size(at(&client, "values.types")),
		"%s", shown(&client));
	check(call(&client, "/rosapi/services", "") && has(&client, "values.services", "/world/w/hash") &&
			has(&client, "values.services", "/rosapi/topics") &&
			has(&client, "values.services", "/rosapi/action_feedback_details") && /* the first */
			has(&client, "values.services", "/rosapi/topics_for_type") &&         /* the last */
			has(&client, "values.services", "/get_entities") &&
			has(&client, "values.services", "/lockstep/join"),
		"%s", shown(&client));
	static const struct {
		const char *service, *args, *path, *expected;
	} asked[] = {
		{"topic_type", "{\"topic\":\"cart/odom\"}", "values.type", "nav_msgs/msg/Odometry"},
		{"topic_type", "{\"topic\":\"/none\"}", "values.type", ""},
		{"topics_for_type", "{\"type\":\"rosgraph_msgs/Clock\"}", "values.topics.0", "/clock"},
		{"service_type", "{\"service\":\"/world/w/hash\"}", "values.type", "gz.msgs.Empty"},
		{"service_type", "{\"service\":\"/lockstep/step\"}", "values.type", "troupe.msgs.LockstepTurn"},
		{"service_type", "{\"service\":\"/none\"}", "values.type", ""},
		{"services_for_type", "{\"type\":\"rosapi_msgs/srv/Nodes\"}", "values.services.0", "/rosapi/nodes"},
		{"publishers", "{\"topic\":\"/clock\"}", "values.publishers.0", "/troupe"},
		{"subscribers", "{\"topic\":\"/cart/cmd_vel\"}", "values.subscribers.0", "/troupe"},
		{"nodes", "", "values.nodes.0", "/troupe"},
		{"action_servers", "", "values.action_servers.0", "/simulate_steps"},
		{"action_type", "{\"action\":\"/simulate_steps\"}", "values.type",
			"simulation_interfaces/action/SimulateSteps"},
		{"message_details", "{\"type\":\"geometry_msgs/msg/Twist\"}", "values.typedefs.0.fieldnames.1",
			"angular"},
		{"message_details", "{\"type\":\"geometry_msgs/msg/Twist\"}", "values.typedefs.0.fieldtypes.1",
			"geometry_msgs/Vector3"},
		{"message_details", "{\"type\":\"geometry_msgs/msg/Twist\"}", "values.typedefs.1.examples.2", "0.0"},
		{"message_details", "{\"type\":\"geometry_msgs/msg/TwistStamped\"}", "values.typedefs.1.examples.1",
			""},
		{"service_request_details", "{\"type\":\"simulation_interfaces/srv/DeleteEntity\"}",
			"values.typedefs.0.fieldnames.0", "entity"},
		{"service_response_details", "{\"type\":\"simulation_interfaces/srv/GetEntities\"}",
			"values.typedefs.0.fieldnames.1", "entities"},
		{"action_goal_details", "{\"type\":\"simulation_interfaces/action/SimulateSteps\"}",
			"values.typedefs.0.fieldtypes.0", "uint64"},
		{"action_result_details", "{\"type\":\"simulation_interfaces/action/SimulateSteps\"}",
			"values.typedefs.0.fieldtypes.0", "simulation_interfaces/Result"},
		{"action_feedback_details", "{\"type\":\"simulation_interfaces/action/SimulateSteps\"}",
			"values.typedefs.0.fieldnames.1", "remaining_steps"},
		{"message_details", "{\"type\":\"action_msgs/msg/GoalStatus\"}", "values.typedefs.0.constnames.1",
			"STATUS_ACCEPTED"},
		{"message_details", "{\"type\":\"action_msgs/msg/GoalStatus\"}", "values.typedefs.0.constvalues.4",
			"4"},
		{"message_details", "{\"type\":\"action_msgs/msg/GoalStatus\"}", "values.typedefs.1.type",
			"action_msgs/GoalInfo"},
	};
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		char service[80];
		(void)snprintf(service, sizeof service, "/rosapi/%s", asked[i].service);
		bool good = call(&client, service, asked[i].args);
		const char *said = text_at(&client, asked[i].path);
		check(good && at(&client, asked[i].path) && !strcmp(said, asked[i].expected), "%s %s: %s: expected %s",
			service, asked[i].args, shown(&client), asked[i].expected);
	}
	check(call(&client, "/rosapi/get_param_names", "") && json_is_array(at(&client, "values.names")) &&
			!json_array_size(at(&client, "values.names")),
		"%s", shown(&client));
	check(call(&client, "/rosapi/has_param", "{\"name\":\"x\"}") && json_is_false(at(&client, "values.exists")),
		"%s", shown(&client));
	check(call(&client, "/rosapi/get_ros_version", "") && number(&client, "values.version") == 2, "%s",
		shown(&client));
	check(call(&client, "/rosapi/publishers", "{\"topic\":\"/cart/cmd_vel\"}") &&
			!json_array_size(at(&client, "values.publishers")),
		"%s", shown(&client));
	for (int i = 0; i < 2; i++) /* a name may come without its slash */
		check(call(&client, "/rosapi/publishers", i ? "{\"topic\":\"clock\"}" : "{\"topic\":\"/clock\"}") &&
				json_array_size(at(&client, "values.publishers")) == 1,
			"%s", shown(&client));
	check(call(&client, "/rosapi/node_details", "{\"node\":\"/troupe\"}") &&
			has(&client, "values.publishing", "/clock") &&
			!has(&client, "values.publishing", "/cart/cmd_vel") &&
			has(&client, "values.subscribing", "/cart/cmd_vel") &&
			has(&client, "values.services", "/get_entities"),
		"%s", shown(&client));
	check(call(&client, "/rosapi/node_details", "{\"node\":\"/other\"}") &&
			!json_array_size(at(&client, "values.services")),
		"%s", shown(&client));
	check(!call(&client, "/rosapi/message_details", "{\"type\":\"x/y\"}"), "%s", shown(&client));
	check(call(&client, "/rosapi/topics_and_raw_types", "") &&
			json_array_size(at(&client, "values.topics")) ==
				json_array_size(at(&client, "values.typedefs_full_text")) &&
			strstr(text_at(&client, "values.typedefs_full_text.0"), " "),
		"%s", shown(&client));
	/* also without a subscription to the clock it knows the time */
	double sec = 0, last = 0;
	for (int i = 0; i < 400 && !(last > 0 && sec > last); i++) {
		check(call(&client, "/rosapi/get_time", ""), "%s", shown(&client));
		last = last > 0 ? last : sec;
		sec = number(&client, "values.time.sec") + number(&client, "values.time.nanosec") * 1e-9;
		(void)poll(NULL, 0, 10);
	}
	check(sec > last && last > 0, "the time goes on: %g after %g", sec, last);
	leave(&client);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static void limits(const struct scene *scene)
{
	struct client client = join(scene);
	char name[NAME_MAX_BYTES + 2];
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"%s\"}", name);
	check(take_op(&client, "status") && strstr(word(&client, "msg"), "at most"), "a long name: %s", shown(&client));
	name[NAME_MAX_BYTES] = '\0';
	expect_silence(&client, "{\"op\":\"unadvertise\",\"topic\":\"/x\"}");
	(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"%s\"}", name);
	(void)client_say(client.file, "{\"op\":\"x\",\"id\":\"%s\"}", name); /* as JSON it has two characters more */
	check(take_op(&client, "status") && strstr(word(&client, "msg"), "id: expected at most"), "a long id: %s",
		shown(&client));
	for (int i = 1; i < TOPICS_MAX; i++)
		(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"/t%d\"}", i);
	expect_status(
		&client, "error", "at most 4096 subscriptions", "{\"op\":\"subscribe\",\"topic\":\"/u\",\"id\":5}");
	expect_silence(&client, "{\"op\":\"unsubscribe\",\"topic\":\"/t1\"}");
	expect_silence(&client, "{\"op\":\"subscribe\",\"topic\":\"/u\"}");
	for (int i = 1; i < TOPICS_MAX; i++)
		(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"/u\",\"id\":\"%d\"}", i);
	expect_status(
		&client, "error", "at most 4096 subscriptions", "{\"op\":\"subscribe\",\"topic\":\"/u\",\"id\":5}");
	(void)client_say(client.file, "{\"op\":\"set_level\",\"level\":\"error\"}");
	for (int i = 0; i < OUTLETS_MAX; i++)
		(void)client_say(client.file, "{\"op\":\"advertise\",\"topic\":\"/t%d\"}", i);
	expect_silence(&client, "{\"op\":\"advertise\",\"topic\":\"/t3\"}");
	expect_status(&client, "error", "at most 1024 topics", "{\"op\":\"advertise\",\"topic\":\"/more\",\"id\":5}");
	expect_silence(&client, "{\"op\":\"unadvertise\",\"topic\":\"/t3\"}");
	expect_silence(&client, "{\"op\":\"advertise\",\"topic\":\"/more\"}");
	leave(&client);
}

/* One that leaves in the middle of its calls, and one that does not read, harm no other. */
/* A goal that is refused has a result, as a call has an answer. */
static void refuses_goals(const struct scene *scene)
{
	static const struct {
		const char *action, *args, *why;
	} bad[] = {{"/none", "{}", "there is no action /none"},
		{"/simulate_steps", "{\"steps\":18446744073709551616}", "too big"}};
	struct client client = join(scene);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		(void)client_say(client.file, "{\"op\":\"send_action_goal\",\"action\":\"%s\",\"id\":5,\"args\":%s}",
			bad[i].action, bad[i].args);
		check(take_op(&client, "action_result") && number(&client, "id") == 5 &&
				number(&client, "status") == 6 &&
				json_is_false(json_object_get(client.heard, "result")) &&
				!strcmp(word(&client, "action"), bad[i].action) &&
				strstr(word(&client, "values"), bad[i].why),
			"%s", shown(&client));
	}
	leave(&client);
}

static void leaves(const struct scene *scene)
{
	struct client other = join(scene), lazy = join(scene);
	(void)client_say(other.file, "{\"op\":\"subscribe\",\"topic\":\"/clock\"}");
	(void)client_say(lazy.file, "{\"op\":\"subscribe\",\"topic\":\"/clock\"}");
	for (int i = 0; i < 20; i++) {
		struct client client = join(scene);
		(void)client_say(client.file, "{\"op\":\"subscribe\",\"topic\":\"/cart/odom\"}");
		(void)client_say(client.file, "{\"op\":\"call_service\",\"service\":\"/world/w/hash\"}");
		(void)client_say(client.file, "{\"op\":\"call_service\",\"service\":\"/get_entities\"}");
		(void)client_say(client.file,
			"{\"op\":\"call_service\",\"service\":\"/lockstep/step\",\"args\":{\"name\":\"x\"}}");
		(void)client_say(client.file, "{\"op\":\"send_action_goal\",\"action\":\"/"
					      "simulate_steps\",\"args\":{\"steps\":9},\"feedback\":true}");
		leave(&client);
	}
	for (int i = 0; i < 10; i++)
		check(take_message(&other, "/clock"), "the other one is served");
	uint32_t clients = 0;
	for (int i = 0; i < 500; i++) {
		clients = troupe_gateway_counts(scene->gateway).clients;
		if (clients == 2)
			break;
		(void)poll(NULL, 0, 10);
	}
	check(clients == 2, "%u clients", clients);
	leave(&other);
	leave(&lazy);
}

/* A barrier client: the run waits for it, and what it publishes before its answer counts in this step. */
static void takes_part(void)
{
	struct scene scene;
	open_scene(&scene);
	struct client client = join(&scene), other = join(&scene);
	check(!call(&client, "/lockstep/step", "{\"name\":\"c\"}") && strstr(word(&client, "values"), "has not joined"),
		"%s", shown(&client));
	check(call(&client, "/lockstep/join", "{\"version\":1,\"name\":\"c\",\"failure\":\"END\"}") &&
			number(&client, "values.welcome.stepS") == 0.001,
		"%s", shown(&client));
	check(!call(&other, "/lockstep/join", "{\"version\":1,\"name\":\"c\"}") &&
			strstr(word(&other, "values"), "joined already"),
		"%s", shown(&other));
	check(troupe_gateway_counts(scene.gateway).joined == 1, "one has joined");
	start(&scene);
	char done[64] = "";
	for (int i = 1; i <= 4; i++) {
		char args[100];
		(void)snprintf(args, sizeof args, "{\"name\":\"c\"%s}", done);
		check(call(&client, "/lockstep/step", args) && at(&client, "values.step"), "step %d: %s", i,
			shown(&client));
		const char *step = text_at(&client, "values.step.step");
		(void)snprintf(done, sizeof done, ",\"done\":{\"step\":\"%.20s\"}", *step ? step : "0");
		if (i == 4) /* it sees the state after the last step */
			break;
		(void)client_say(client.file,
			"{\"op\":\"publish\",\"topic\":\"/cart/cmd_vel\",\"msg\":{\"linear\":{\"x\":%d}}}", i);
	}
	check(!strcmp(text_at(&client, "values.step.timeNs"), "3000000"), "%s", shown(&client));
	double x = 0;
	for (int i = 0; i < 500 && x < 0.0059; i++) {
		(void)poll(NULL, 0, 10);
		x = place_of_cart(&scene);
	}
	check(x > 0.0059 && x < 0.0061, "1, 2 and 3 mm in three steps: %g m", x);
	check(call(&client, "/lockstep/leave", "{\"name\":\"c\"}") && *text_at(&client, "values.ended.text"), "%s",
		shown(&client));
	/* One that waits for its next step at the end of the run hears of the end. */
	check(call(&client, "/lockstep/join", "{\"version\":1,\"name\":\"c\",\"period_ns\":\"1000000000000\"}"), "%s",
		shown(&client));
	(void)client_say(
		client.file, "{\"op\":\"call_service\",\"service\":\"/lockstep/step\",\"args\":{\"name\":\"c\"}}");
	check(call(&client, "/rosapi/get_time", "{}"), "%s", shown(&client)); /* so it was heard */
	leave(&other);
	scene_close(&scene, false);
	check(take(&client) && !strcmp(text_at(&client, "values.ended.text"), "the run has ended"), "%s",
		shown(&client));
	leave(&client);
}

/* Takes until the server closes: all texts come, and the reason. */
static void expect_last(struct client *client, const char *const *texts, size_t count, const char *reason)
{
	struct text all = {0};
	struct client_frame frame = {0};
	text_add(&all, "%s", "");
	while (client_take(client->file, &frame) && frame.kind == 1) {
		text_add_bytes(&all, frame.body.at, frame.body.count);
		text_add(&all, "\n");
		text_fini(&frame.body);
	}
	for (size_t i = 0; i < count; i++)
		check(strstr(all.at, texts[i]), "%s is not in:\n%s", texts[i], all.at);
	check(frame.kind == 8 && frame.body.count > 2 && !strncmp(frame.body.at, "\3\351", 2) && /* 1001 */
			!strcmp(frame.body.at + 2, reason),
		"closed with '%s': expected '%s'", frame.body.count > 2 ? frame.body.at + 2 : "", reason);
	text_fini(&frame.body);
	text_fini(&all);
}

/* Whoever waits for an answer has one when the run ends: with the error, if it has failed. No step is taken here, so
 * nothing is answered before. */
static void hears_end(const char *error)
{
	const char *const clean[] = {"\"values\":{\"ended\":{\"text\":\"the run has ended\"}},\"result\":true",
		"\"service\":\"/world/w/hash\",\"values\":\"the run has ended\",\"result\":false",
		"\"values\":{\"state\":{\"state\":0},\"result\":{\"result\":4,\"error_message\":\"the run has ended\"}",
		"\"op\":\"action_result\",\"id\":9,", ",\"status\":6,"};
	const char *const broken[] = {"\"values\":{\"ended\":{\"failed\":true,\"text\":\"step 7: model 'c\\\"\xc3\xa4' "
				      "diverged\"}},\"result\":true",
		"\"service\":\"/world/w/hash\",\"values\":\"step 7: ",
		"\"values\":{\"state\":{\"state\":0},\"result\":{\"result\":4,\"error_message\":\"step 7: ",
		"\"op\":\"action_result\",\"id\":9,",
		"\"op\":\"status\",\"level\":\"error\",\"msg\":\"the run has failed: step 7: "};
	struct scene scene;
	struct troupe_error failure = {.status = TROUPE_EINTERNAL};
	(void)snprintf(failure.text, sizeof failure.text, "%s", error ? error : "");
	open_scene(&scene);
	struct client client = join(&scene);
	check(call(&client, "/lockstep/join", "{\"version\":1,\"name\":\"c\"}"), "%s", shown(&client));
	(void)client_say(
		client.file, "{\"op\":\"call_service\",\"service\":\"/lockstep/step\",\"args\":{\"name\":\"c\"}}");
	(void)client_say(client.file, "{\"op\":\"call_service\",\"service\":\"/world/w/hash\"}");
	(void)client_say(client.file, "{\"op\":\"call_service\",\"service\":\"/get_simulation_state\"}");
	(void)client_say(client.file,
		"{\"op\":\"send_action_goal\",\"action\":\"/simulate_steps\",\"id\":9,\"args\":{\"steps\":9}}");
	check(call(&client, "/rosapi/get_time", "{}"), "%s", shown(&client)); /* so they were heard */
	troupe_gateway_end(scene.gateway, error ? &failure : NULL);
	if (error)
		expect_last(&client, broken, ARRAY_LEN(broken), error);
	else
		expect_last(&client, clean, ARRAY_LEN(clean), "the run has ended");
	leave(&client);
	troupe_server_destroy(scene.server);
}

int main(void)
{
	struct scene scene;
	if (!troupe_gateway_is_available("rosbridge")) {
		printf("skipped: rosbridge: this build has no web server\n0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	troupe_gateway_end(NULL, NULL);
	open_scene(&scene);
	start(&scene);
	subscribes(&scene);
	throttles(&scene);
	publishes(&scene);
	calls(&scene);
	limits(&scene);
	waits_for_topics(&scene);
	refuses_goals(&scene);
	leaves(&scene);
	struct client last = join(&scene); /* the end comes while it is connected and waits for replies */
	(void)client_say(last.file, "{\"op\":\"subscribe\",\"topic\":\"/clock\"}");
	(void)client_say(last.file, "{\"op\":\"call_service\",\"service\":\"/world/w/hash\"}");
	scene_close(&scene, true);
	leave(&last);
	takes_part();
	hears_end(NULL);
	hears_end("step 7: model 'c\"\xc3\xa4' diverged");
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
