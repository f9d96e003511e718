/* Services and an action in DDS (gateway/dds/rpc.h, services.h, action.h) without DDS: its functions are stand-ins
 * here, which keep what is written and say what the test wants about clients. tests/gateway/test_ros2_services.sh has
 * the same with Cyclone DDS. */
#include "gateway/dds/services.h"
#include "gateway/dds/user_data.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/json.h"

#include "../fault/check.h"

#include <jansson.h>
#include <stdlib.h>

/* --- a DDS library ------------------------------------------------------------------------------------------------ */

struct glue_end {
	char *topic, *type, *user_data;
	bool writes;
	enum glue_keep keep;
	uint32_t peers, came;
	struct text message; /* written last, or to be taken */
	uint32_t written;
	uint32_t waiting; /* how often the message is there to be taken */
	uint64_t writer;  /* of the message */
};

static struct glue_end *ends[256];
static uint32_t end_count, asked_clients;
static enum glue_client client_is;

static void node_guid(const struct glue_node *node, unsigned char ret_guid[GLUE_GUID_BYTES])
{
	(void)node;
	for (unsigned char i = 0; i < GLUE_GUID_BYTES; i++)
		ret_guid[i] = (unsigned char)(0xa0 + i);
}

static bool make_end(const char *topic, const char *type, enum glue_keep keep, const char *user_data, bool writes,
	struct glue_end **ret_end)
{
	struct glue_end *end = mem_alloc(sizeof *end);
	*end = (struct glue_end){.topic = mem_strdup(topic),
		.type = mem_strdup(type),
		.user_data = mem_strdup(user_data),
		.writes = writes,
		.keep = keep,
		.peers = 1,
		.came = 1};
	*ret_end = ends[end_count++] = end;
	return true;
}

static bool write_end(struct glue_node *node, const char *topic, const char *type, enum glue_keep keep,
	const char *user_data, struct glue_end **ret_end, char *why)
{
	(void)node, (void)why;
	return make_end(topic, type, keep, user_data, true, ret_end);
}

static bool read_end(struct glue_node *node, const char *topic, const char *type, enum glue_keep keep,
	const char *user_data, struct glue_end **ret_end, char *why)
{
	(void)node, (void)why;
	return make_end(topic, type, keep, user_data, false, ret_end);
}

static void close_end(struct glue_end *end)
{
	uint32_t at = 0;
	while (ends[at] != end)
		at++;
	ends[at] = ends[--end_count];
	text_fini(&end->message);
	free(end->topic);
	free(end->type);
	free(end->user_data);
	free(end);
}

static void end_guid(const struct glue_end *end, unsigned char ret_guid[GLUE_GUID_BYTES])
{
	memset(ret_guid, 0, GLUE_GUID_BYTES);
	for (uint32_t i = 0; i < end_count; i++)
		if (ends[i] == end)
			ret_guid[0] = (unsigned char)(i + 1);
}

static uint32_t peers(const struct glue_end *end, uint32_t *ret_came)
{
	*ret_came = end->came;
	return end->peers;
}

static bool write_bytes(struct glue_end *end, const void *bytes, size_t count)
{
	end->message.count = 0;
	text_add_bytes(&end->message, bytes, count);
	end->written++;
	return true;
}

static uint32_t take(
	struct glue_end *end, void (*give)(void *ctx, uint64_t writer, const void *bytes, size_t count), void *ctx)
{
	uint32_t given = 0;
	for (; end->waiting && given < GLUE_TAKE_MAX; given++, end->waiting--)
		give(ctx, end->writer, end->message.at, end->message.count);
	return given;
}

static enum glue_client client_of(struct glue_end *requests, struct glue_end *replies, uint64_t writer)
{
	check(!requests->writes && replies->writes && writer == 5, "whether a client is there is asked for its ends");
	asked_clients++;
	return client_is;
}

static const struct glue library = {.version = GLUE_VERSION,
	.close_end = close_end,
	.node_guid = node_guid,
	.write_end = write_end,
	.read_end = read_end,
	.end_guid = end_guid,
	.peers = peers,
	.write = write_bytes,
	.take = take,
	.client_of = client_of};

static struct glue_end *find_end(const char *topic)
{
	static struct glue_end none;
	for (uint32_t i = 0; i < end_count; i++)
		if (!strcmp(ends[i]->topic, topic))
			return ends[i];
	check(false, "there is no %s", topic);
	return &none;
}

/* A request with this body waits `times` times. The header is client 0x1122334455667788, number -2. */
static void put(const char *topic, bool big_endian, const void *body, size_t count, uint32_t times)
{
	static const unsigned char numbers[16] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct glue_end *end = find_end(topic);
	end->message.count = 0;
	text_add_bytes(&end->message, big_endian ? "\0\0\0\0" : "\0\1\0\0", CDR_HEADER_BYTES);
	for (int i = 0; i < 16; i++)
		text_add_bytes(&end->message, (const char *)&numbers[big_endian ? (i / 8 * 8 + 7 - i % 8) : i], 1);
	text_add_bytes(&end->message, body, count);
	end->waiting = times;
	end->writer = 5;
}

/* The JSON of the reply that was written last, without its header, which must be that of put(). */
static const char *reply_of(const char *topic, const char *type)
{
	static char line[1000];
	const struct glue_end *end = find_end(topic);
	struct cdr_in in = cdr_open(end->message.at, end->message.count);
	struct text body = {0}, json = {0};
	struct troupe_error error;
	*line = '\0';
	check(cdr_get(&in, 8) == 0x1122334455667788 && cdr_get(&in, 8) == (uint64_t)-2, "%s: its numbers", topic);
	if (in.bad)
		return line;
	text_add_bytes(&body, end->message.at, CDR_HEADER_BYTES);
	text_add_bytes(&body, end->message.at + CDR_HEADER_BYTES + 16, end->message.count - CDR_HEADER_BYTES - 16);
	check(!ros_json_of_cdr(type, body.at, body.count, &json, &error), "%s: %s", topic, error.text);
	if (json.count)
		snprintf(line, sizeof line, "%s", json.at);
	text_fini(&body);
	text_fini(&json);
	return line;
}

/* --- services ----------------------------------------------------------------------------------------------------- */

struct heard {
	uint32_t count, refused;
	struct rpc_caller caller;
	struct text cdr;
};

static void hear(void *ctx, const struct rpc_caller *caller, const void *cdr, size_t count)
{
	struct heard *heard = ctx;
	heard->count++;
	heard->caller = *caller;
	heard->cdr.count = 0;
	text_add_bytes(&heard->cdr, cdr, count);
}

static void refuse(void *ctx, const char *service, size_t count)
{
	struct heard *heard = ctx;
	check(!strcmp(service, "/a/go") && count, "what was refused is named");
	heard->refused++;
}

static void test_ends(struct rpc *rpc)
{
	struct glue_end *request = find_end("rq/a/goRequest"), *reply = find_end("rr/a/goReply");
	struct graph_end graph[2];
	char ids[2][64], hashes[2][128];
	check(!strcmp(request->type, "simulation_interfaces::srv::dds_::DeleteEntity_Request_") &&
			!strcmp(reply->type, "simulation_interfaces::srv::dds_::DeleteEntity_Response_"),
		"types: %s, %s", request->type, reply->type);
	check(!request->writes && reply->writes && request->keep == GLUE_CALLS && reply->keep == GLUE_CALLS, "kinds");
	for (int i = 0; i < 2; i++) {
		const char *data = i ? reply->user_data : request->user_data;
		check(user_data_find(data, strlen(data), "serviceid", ids[i], sizeof ids[i]) &&
				user_data_find(data, strlen(data), "typehash", hashes[i], sizeof hashes[i]),
			"user data: %s", data);
	}
	check(!strcmp(ids[0], ids[1]) && !strcmp(ids[0], "a0.a1.a2.a3.a4.a5.a6.a7.a8.a9.aa.ab.1.0.0.0"),
		"an id: %s, %s", ids[0], ids[1]);
	check(strcmp(hashes[0], hashes[1]) != 0 && !strncmp(hashes[0], "RIHS01_", 7), "hashes of two types");
	check(rpc_ends(rpc, NULL) == 2 && rpc_ends(rpc, graph) == 2 && graph[0].kind == TROUPE_TOPIC_TAKEN &&
			graph[1].kind == TROUPE_TOPIC_PUBLISHED && graph[0].guid[0] == 2 && graph[1].guid[0] == 1,
		"ends of the node");
}

static void test_requests(struct rpc *rpc, struct rpc_service *service, struct heard *heard)
{
	static const unsigned char body[] = {5, 0, 0, 0, 'b', 'a', 'l', 'l', 0};
	static const char cdr[] = "\0\1\0\0\5\0\0\0ball";
	client_is = GLUE_THERE;
	put("rq/a/goRequest", false, body, sizeof body, 1);
	check(rpc_turn(rpc) == 1 && heard->count == 1, "a request is heard");
	check(heard->caller.writer == 5 && heard->caller.client == 0x1122334455667788 &&
			heard->caller.sequence == (uint64_t)-2,
		"of its caller");
	check(heard->cdr.count == sizeof cdr && !memcmp(heard->cdr.at, cdr, sizeof cdr), "without its numbers");
	put("rq/a/goRequest", true, body, sizeof body, 1);
	check(rpc_turn(rpc) == 1 && heard->caller.client == 0x1122334455667788 &&
			heard->caller.sequence == (uint64_t)-2 && !heard->cdr.at[1],
		"big-endian ones, too");
	rpc_reply(service, &heard->caller, "\0\1\0\0xyz", 7);
	const struct text *reply = &find_end("rr/a/goReply")->message;
	check(reply->count == 23 &&
			!memcmp(reply->at, "\0\1\0\0\x88\x77\x66\x55\x44\x33\x22\x11\xfe\xff\xff\xff", 16) &&
			!memcmp(reply->at + 20, "xyz", 3),
		"a reply repeats the numbers");
	put("rq/a/goRequest", false, body, sizeof body, 2 * GLUE_CALLS_MAX);
	uint32_t first = rpc_turn(rpc), rest = rpc_turn(rpc);
	check(first >= GLUE_CALLS_MAX && first < 2 * GLUE_CALLS_MAX && first + rest == 2 * GLUE_CALLS_MAX,
		"a flood has a share of a turn: %u, then %u", first, rest);
	find_end("rq/a/goRequest")->peers = 0;
	put("rq/a/goRequest", false, body, sizeof body, 1);
	check(rpc_turn(rpc) == 1, "a request of a client that has just gone is heard");
	put("rq/a/goRequest", false, body, sizeof body, 1);
	check(!rpc_turn(rpc), "later it is not looked for any");
	find_end("rq/a/goRequest")->peers = 1;
	find_end("rq/a/goRequest")->came = 2;
	check(rpc_turn(rpc) == 1, "until a client comes");
	put("rq/a/goRequest", false, body, 0, 1);
	find_end("rq/a/goRequest")->message.count--;
	uint32_t count = heard->count;
	check(!rpc_turn(rpc) && heard->refused == 1, "what is too short is refused");
	client_is = GLUE_NAMELESS;
	put("rq/a/goRequest", false, body, sizeof body, 1);
	check(!rpc_turn(rpc) && heard->refused == 2 && heard->count == count, "and so is a client without an id");
}

static void test_waiting(struct rpc *rpc, struct rpc_service *service, const struct heard *heard)
{
	struct glue_end *requests = find_end("rq/a/goRequest"), *replies = find_end("rr/a/goReply");
	struct text large = {0};
	uint32_t written = replies->written;
	client_is = GLUE_COMING;
	rpc_reply(service, &heard->caller, "\0\1\0\0abc", 7);
	check(replies->written == written, "a reply waits for its reader");
	uint32_t asked = asked_clients;
	client_is = GLUE_THERE;
	rpc_turn(rpc);
	check(replies->written == written && asked_clients == asked, "nothing is asked before anything has changed");
	replies->came++, replies->peers++;
	rpc_turn(rpc);
	rpc_turn(rpc);
	check(replies->written == written + 1 && !memcmp(replies->message.at + 20, "abc", 3), "it is sent once");
	client_is = GLUE_COMING;
	rpc_reply(service, &heard->caller, "\0\1\0\0abc", 7);
	client_is = GLUE_GONE;
	requests->peers--;
	rpc_turn(rpc);
	client_is = GLUE_THERE;
	replies->came++;
	rpc_turn(rpc);
	check(replies->written == written + 1, "what was for a client that is gone is dropped");
	client_is = GLUE_COMING;
	for (int i = 0; i < RPC_WAITING_MAX + 3; i++)
		rpc_reply(service, &heard->caller, "\0\1\0\0abc", 7);
	client_is = GLUE_THERE;
	replies->came++;
	rpc_turn(rpc);
	check(replies->written == written + 1 + RPC_WAITING_MAX, "so many wait: %u", replies->written - written - 1);
	written = replies->written;
	client_is = GLUE_COMING;
	text_add_bytes(&large, "\0\1\0\0", 4);
	text_reserve(&large, RPC_WAITING_BYTES_MAX / 4);
	memset(large.at + 4, 'x', RPC_WAITING_BYTES_MAX / 4);
	for (int i = 0; i < 9; i++)
		rpc_reply(service, &heard->caller, large.at, RPC_WAITING_BYTES_MAX / 4);
	client_is = GLUE_THERE;
	replies->came++;
	rpc_turn(rpc);
	check(replies->written == written + 3, "so many bytes wait: %u", replies->written - written);
	text_fini(&large);
}

static void test_rpc(void)
{
	struct heard heard = {0};
	char why[GLUE_WHY_BYTES];
	struct rpc *rpc = rpc_create(&library, NULL, refuse, &heard);
	struct rpc_service *service = rpc_open(rpc, "/a/go", "simulation_interfaces/srv/DeleteEntity_Request",
		"simulation_interfaces/srv/DeleteEntity_Response", hear, &heard, why);
	test_ends(rpc);
	test_requests(rpc, service, &heard);
	test_waiting(rpc, service, &heard);
	client_is = GLUE_GONE;
	check(rpc_is_gone(service, &heard.caller), "a client is gone");
	client_is = GLUE_COMING;
	check(!rpc_is_gone(service, &heard.caller), "one that comes is not");
	rpc_reply(service, &heard.caller, "\0\1\0\0abc", 7); /* is dropped with all */
	rpc_destroy(rpc);
	check(!end_count, "all ends are closed");
	text_fini(&heard.cdr);
}

/* --- the action --------------------------------------------------------------------------------------------------- */

static struct simulation *simulation;
static uint64_t tag_asked; /* of the last call of the server, which has not answered it */
static uint32_t said;

static troupe_status call_server(void *ctx, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	(void)ctx, (void)service, (void)type, (void)bytes, (void)count, (void)error;
	tag_asked = tag;
	return TROUPE_OK;
}

static void say(void *ctx, const char *text)
{
	(void)ctx;
	check(strstr(text, "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp"), "%s", text);
	said++;
}

static void server_refuses(void)
{
	const struct troupe_message reply = {
		.is_reply = true, .tag = tag_asked, .status = TROUPE_ECOMMAND, .text = "no"};
	simulation_take(simulation, &reply);
}

#define ACTION "simulation_interfaces/action/SimulateSteps_"
#define ON(part) "rq/simulate_steps/_action/" part "Request"
#define BACK(part) "rr/simulate_steps/_action/" part "Reply"

/* A goal of one step whose id is this byte, 16 times. */
static bool send_goal(struct services *services, int id)
{
	unsigned char body[24];
	memset(body, id, 16);
	memset(body + 16, 0, 8);
	body[16] = 1;
	put(ON("send_goal"), false, body, sizeof body, 1);
	services_turn(services);
	return !strncmp(reply_of(BACK("send_goal"), ACTION "SendGoal_Response"), "{\"accepted\":true", 16);
}

static const char *ask_result(struct services *services, int id)
{
	unsigned char body[16];
	memset(body, id, sizeof body);
	put(ON("get_result"), false, body, sizeof body, 1);
	services_turn(services);
	return find_end(BACK("get_result"))->written ? reply_of(BACK("get_result"), ACTION "GetResult_Response") : "";
}

/* The code, and how many goals are cancelled; -1: not as many as the code says. */
static int cancel(struct services *services, int id, uint32_t seconds, int *ret_count)
{
	struct text body = {0};
	int code = -1;
	for (int i = 0; i < 16; i++)
		text_add_bytes(&body, &(char){(char)id}, 1);
	for (int i = 0; i < 8; i++)
		text_add_bytes(&body, &(char){(char)(i ? 0 : seconds)}, 1);
	put(ON("cancel_goal"), false, body.at, body.count, 1);
	services_turn(services);
	json_t *json = json_loads(reply_of(BACK("cancel_goal"), "action_msgs/srv/CancelGoal_Response"), 0, NULL);
	code = (int)json_integer_value(json_object_get(json, "return_code"));
	*ret_count = (int)json_array_size(json_object_get(json, "goals_canceling"));
	json_decref(json);
	text_fini(&body);
	return (code == 0) == (*ret_count > 0) ? code : -1;
}

/* The statuses of all goals, one digit for each. */
static const char *statuses(void)
{
	static char digits[SERVICES_GOALS_MAX + 2];
	const struct text *message = &find_end("rt/simulate_steps/_action/status")->message;
	struct text json = {0};
	struct troupe_error error;
	size_t at = 0;
	if (message->count)
		check(!ros_json_of_cdr("action_msgs/msg/GoalStatusArray", message->at, message->count, &json, &error),
			"%s", error.text);
	for (const char *found = json.at; found && (found = strstr(found, "\"status\":")) && at + 1 < sizeof digits;)
		digits[at++] = *(found += 9);
	digits[at] = '\0';
	text_fini(&json);
	return digits;
}

/* Whether the message about all goals has this one: its id is this byte, 16 times. */
static bool has_id(int id)
{
	const struct text *message = &find_end("rt/simulate_steps/_action/status")->message;
	char bytes[16];
	memset(bytes, id, sizeof bytes);
	return message->count && memmem(message->at, message->count, bytes, sizeof bytes);
}

static void test_goals(struct services *services)
{
	struct glue_end *results = find_end(BACK("get_result"));
	int count;
	check(find_end("rt/simulate_steps/_action/status")->keep == GLUE_STATIC, "who comes later gets the statuses");
	check(send_goal(services, 1), "a goal is accepted");
	check(!strcmp(statuses(), "2") && has_id(1) && !has_id(2), "it runs: %s", statuses());
	check(!send_goal(services, 1), "its id cannot be had again");
	check(!*ask_result(services, 1), "its result is not there yet");
	server_refuses();
	check(results->written == 1 &&
			!strncmp(reply_of(BACK("get_result"), ACTION "GetResult_Response"),
				"{\"status\":6,\"result\":{\"result\":{\"result\":4,\"error_message\":\"no\"", 60),
		"the result comes by itself: %s", reply_of(BACK("get_result"), ACTION "GetResult_Response"));
	check(!strcmp(statuses(), "6") && !strncmp(ask_result(services, 1), "{\"status\":6,", 12) &&
			results->written == 2,
		"and can be asked for again");
	check(!strncmp(ask_result(services, 9), "{\"status\":0,", 12), "a goal that is not there: %s",
		ask_result(services, 9));
	check(cancel(services, 9, 0, &count) == 2, "nor can it be cancelled");
	check(cancel(services, 1, 0, &count) == 3, "nor one that is over");
	check(cancel(services, 0, 0, &count) == 1, "nor all, if there are none");
	(void)send_goal(services, 2);
	uint64_t second = tag_asked;
	(void)send_goal(services, 3);
	check(cancel(services, 2, 0, &count) == 0 && count == 1 && !strcmp(statuses(), "632"), "one is cancelled: %s",
		statuses());
	check(cancel(services, 0, 0, &count) == 0 && count == 2 && !strcmp(statuses(), "633"), "all are: %s",
		statuses());
	server_refuses();
	tag_asked = second;
	server_refuses();
	check(!strcmp(statuses(), "655"), "they end as cancelled: %s", statuses());
	(void)send_goal(services, 4);
	(void)send_goal(services, 5);
	check(cancel(services, 4, 1, &count) == 0 && count == 2, "a time cancels those of before, too: %d", count);
}

/* Of 32 goals the oldest that is over gives room; running ones do not. */
static void test_limits(struct services *services)
{
	struct glue_end *results = find_end(BACK("get_result"));
	uint32_t written, accepted = 0;
	for (int id = 10; id < 10 + 2 * SERVICES_GOALS_MAX; id++)
		accepted += send_goal(services, id);
	check(accepted == SERVICES_GOALS_MAX - 2, "as many goals as are kept: %u", accepted);
	check(strlen(statuses()) == SERVICES_GOALS_MAX && !strncmp(ask_result(services, 1), "{\"status\":0,", 12),
		"the oldest results are forgotten: %s", statuses());
	written = results->written;
	for (int i = 0; i < SERVICES_ASKERS_MAX + 2; i++)
		(void)ask_result(services, 10);
	check(results->written == written + 2, "so many wait for a result: %u at once", results->written - written);
	client_is = GLUE_GONE;
	services_turn(services);
	check(strspn(statuses(), "3") == SERVICES_GOALS_MAX, "all are cancelled when their client goes: %s",
		statuses());
	client_is = GLUE_THERE;
}

static void test_services(void)
{
	const struct troupe_topic topic = {.name = "/world/w/models", .kind = TROUPE_TOPIC_SERVICE};
	const struct troupe_topics topics = {.count = 1, .at = &topic};
	uint64_t taken, refused;
	simulation = simulation_create(&(struct simulation_def){.call = call_server}, &topics);
	struct services *services =
		services_create(&(struct services_def){.glue = &library, .simulation = simulation, .say = say});
	struct graph_end *graph = mem_alloc(end_count * sizeof *graph);
	check(services_ends(services, NULL) == end_count && services_ends(services, graph) == end_count &&
			graph[end_count - 1].guid[0],
		"all ends are told: %u", end_count);
	client_is = GLUE_THERE;
	put("rq/delete_entityRequest", false, "\5\0\0\0ball", 9, 2);
	services_turn(services);
	check(!find_end("rr/delete_entityReply")->written, "no answer before the server's");
	server_refuses();
	check(!strcmp(reply_of("rr/delete_entityReply", "simulation_interfaces/srv/DeleteEntity_Response"),
		      "{\"result\":{\"result\":4,\"error_message\":\"no\"}}"),
		"an answer: %s", reply_of("rr/delete_entityReply", "simulation_interfaces/srv/DeleteEntity_Response"));
	put("rq/delete_entityRequest", false, "\5\0\0\0b", 5, 1);
	services_turn(services);
	check(strstr(reply_of("rr/delete_entityReply", "simulation_interfaces/srv/DeleteEntity_Response"),
		      "not a message of simulation_interfaces/srv/DeleteEntity_Request in CDR"),
		"half a request is answered");
	put("rq/delete_entityRequest", false, "", 0, 2);
	find_end("rq/delete_entityRequest")->message.count = 10;
	services_turn(services);
	services_counts(services, &taken, &refused);
	check(taken == 3 && refused == 2 && said == 1, "counts: %u, %u; it is said %u times", (unsigned)taken,
		(unsigned)refused, said);
	test_goals(services);
	test_limits(services);
	simulation_destroy(simulation);
	services_destroy(services);
	check(!end_count, "all ends are closed");
	free(graph);
}

/* --- user data ---------------------------------------------------------------------------------------------------- */

static void test_user_data(void)
{
	static const struct {
		const char *data, *value; /* NULL: none */
		size_t count;
	} cases[] = {{"clientid=1.2;", "1.2", 13}, {"a=b;clientid=1.2", "1.2", 16}, {"clientid=1;clientid=2;", "1", 22},
		{"clientid=;", "", 10}, {"clientid", NULL, 8}, {"xclientid=1;", NULL, 12}, {"", NULL, 0},
		{";;;clientid=7;", "7", 14}, {"clientid=a\0b;", NULL, 13}, {"clientid=1234567;", "1234567", 17},
		{"clientid=12345678;", NULL, 18}, {"clientid=1.2;", "1", 10}, {"clientids=1;", NULL, 12}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char value[8] = "";
		bool found = user_data_find(cases[i].data, cases[i].count, "clientid", value, sizeof value);
		check(found == (cases[i].value != NULL) && (!found || !strcmp(value, cases[i].value)), "'%s': '%s'",
			cases[i].data, value);
	}
}

int main(void)
{
	test_user_data();
	test_rpc();
	test_services();
	return check_totals();
}
