/* Feeds damaged messages to the converters to and from CDR of ROS 2 (gateway/ros/ros.h), and from there to and from the
 * JSON of rosbridge (gateway/ros/json.h); damaged requests, as JSON and as CDR, to the services of
 * simulation_interfaces (gateway/ros/simulation.h); and user data of other programs' ends (gateway/dds/user_data.h).
 *
 *   fuzz_ros                some thousand rounds over the messages of tests/data/ros/cases
 *   fuzz_ros SEED ROUNDS    so many rounds for each of them
 *
 * The first byte of an input is the type, the second the direction, or one of the converters that have no type of
 * Gazebo to themselves: of JSON, stages, joint commands, twists with a stamp, and frames that never move. Whatever
 * comes in: CDR that is taken becomes bytes that are a message of the type, CDR is never longer than some times its
 * message, CDR that is written here has a form in JSON, which becomes CDR of the same JSON, and a refusal is one line.
 * A request has one answer, a response of its type, and gives the server only messages of the types that it takes. With
 * WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/infile.h"
#include "gateway/dds/user_data.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/joint_command.h"
#include "gateway/ros/json.h"
#include "gateway/ros/ros.h"
#include "gateway/ros/simulation.h"
#include "gateway/ros/stage.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include "rounds.h"

#include <jansson.h>

static const struct message_limits no_limits = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};

#define must(good, what) must(good, what, NULL, 0)

static void check_refusal(const struct troupe_error *error, const struct text *out)
{
	must(!out->count && *error->text && !strchr(error->text, '\n'), "a refusal");
}

/* For jansson "-0" is a whole number. */
static void drop_signs_of_zeros(struct text *json)
{
	size_t count = 0;
	for (size_t i = 0; i < json->count; i++)
		if (json->at[i] != '-' || json->at[i + 1] != '0' || !strchr(",]}", json->at[i + 2]))
			json->at[count++] = json->at[i];
	json->count = count;
}

/* jansson has no whole numbers of 64 bits without a sign. */
static void check_json(const char *type, struct text *json)
{
	struct text cdr = {0}, again = {0};
	struct troupe_error error = {0};
	json_error_t why;
	json_t *value = json_loadb(json->at, json->count, 0, &why);
	must(value || strstr(why.text, "too big integer"), why.text);
	if (value) {
		must(!ros_json_to_cdr(type, value, &cdr, &error), error.text);
		must(!ros_json_of_cdr(type, cdr.at, cdr.count, &again, &error), error.text);
		drop_signs_of_zeros(json);
		drop_signs_of_zeros(&again);
		must(again.count == json->count && !memcmp(again.at, json->at, json->count), "the same JSON");
	}
	json_decref(value);
	text_fini(&cdr);
	text_fini(&again);
}

static void cdr_to_json(const char *type, const void *cdr, size_t count, bool is_sound)
{
	struct text json = {0};
	struct troupe_error error = {0};
	if (!ros_json_of_cdr(type, cdr, count, &json, &error)) {
		check_json(type, &json);
	} else {
		must(!is_sound, "a sound message without JSON");
		check_refusal(&error, &json);
	}
	text_fini(&json);
}

static void of_json(const char *type, const uint8_t *bytes, size_t count)
{
	struct text cdr = {0};
	struct troupe_error error = {0};
	json_t *value = json_loadb((const char *)bytes, count, 0, NULL);
	if (value && !ros_json_to_cdr(type, value, &cdr, &error))
		cdr_to_json(type, cdr.at, cdr.count, true);
	else if (value)
		check_refusal(&error, &cdr);
	json_decref(value);
	text_fini(&cdr);
}

/* A box of a picture becomes 600 bytes; a frame has the names of its model and its link, too. */
static void to_cdr(const struct ros_type *ros, const uint8_t *bytes, size_t count)
{
	struct text out = {0};
	struct troupe_error error = {0};
	if (ros_of_bytes(ros, bytes, count, &out, &error)) {
		check_refusal(&error, &out);
	} else {
		cdr_to_json(ros->name, out.at, out.count, true);
		must(out.count >= 5 && out.count < 2000 + (1000 + (ros == ros_fixed_frames() ? count : 0)) * count,
			"the size of CDR");
	}
	text_fini(&out);
}

static void of_cdr(const struct ros_type *ros, const uint8_t *bytes, size_t count)
{
	struct text out = {0};
	struct troupe_error error = {0};
	ProtobufCMessage *message;
	cdr_to_json(ros->name, bytes, count, false);
	if (ros_to_bytes(ros, bytes, count, &out, &error)) {
		check_refusal(&error, &out);
	} else {
		must(!message_of_bytes(ros->gz, out.count ? out.at : "", out.count, &no_limits, &message, &error),
			"a message that is none");
		message_free(message);
	}
	text_fini(&out);
}

/* Both messages of a stage, as any of them. */
static void to_stage(const uint8_t *bytes, size_t count)
{
	struct text out = {0};
	struct troupe_error error = {0};
	struct stage *stage = stage_create("w", NULL, NULL);
	if (stage_take_scene(stage, bytes, count, &out, &error))
		check_refusal(&error, &out);
	else
		must(out.at[out.count - 1] == '}', "a scene");
	out.count = 0;
	if (stage_take_poses(stage, bytes, count, &out, &error))
		check_refusal(&error, &out);
	out.count = 0;
	text_fini(&out);
	stage_destroy(stage);
}

struct commanded {
	uint32_t count;
	size_t bytes; /* of the message */
};

static void take_joint(void *ctx, const char *joint, enum joint_quantity quantity, double value)
{
	struct commanded *commanded = ctx;
	must(strlen(joint) < commanded->bytes && quantity < JOINT_QUANTITIES && value - value == 0,
		"a command to a joint");
	commanded->count++;
}

/* A number has 8 bytes. */
static void of_joints(const uint8_t *bytes, size_t count)
{
	struct commanded commanded = {0, count};
	struct troupe_error error = {0};
	if (joint_command_read(bytes, count, take_joint, &commanded, &error))
		must(!commanded.count && *error.text && !strchr(error.text, '\n'), "a refusal");
	must(8 * (size_t)commanded.count <= count, "more numbers than there are");
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

enum { NAMES_MAX = 64, CALLS_LEAST = 40 };

struct asked_server { /* which has two models, and does or refuses everything */
	struct simulation *simulation;
	const char *response; /* the type */
	bool refuses, is_answered;
	uint32_t count;
	uint64_t tags[1024];
	const char *types[1024];
	const char *wanted;
	char name[128], type[128];
};

static troupe_status hear(void *ctx, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	struct asked_server *server = ctx;
	ProtobufCMessage *message;
	struct troupe_error why;
	must(*service == '/' && type_find(type) && tag & SIMULATION_TAG, "a call");
	must(!message_of_bytes(type_find(type), bytes, count, &no_limits, &message, &why), "a request that is none");
	message_free(message);
	if (server->count == ARRAY_LEN(server->tags))
		return fail(error, TROUPE_ELIMIT, "too many calls");
	server->tags[server->count] = tag;
	server->types[server->count++] = strstr(service, "/models")     ? "troupe.msgs.Models"
					 : strstr(service, "/hash")     ? "troupe.msgs.StateHash"
					 : strstr(service, "/generate") ? "gz.msgs.StringMsg"
									: "gz.msgs.Boolean";
	return TROUPE_OK;
}

static void add_reply(const char *type, struct text *out)
{
	const char *text = strcmp(type, "troupe.msgs.Models")
				   ? ""
				   : "header {stamp {sec: 3}} paused: true step_s: 0.01 model {state {name: 'ball' id: "
				     "1 created: true pose {position {x: 1}}} lower {x: -1} upper {x: 1}} model {state "
				     "{name: 'wall' id: 2 is_static: true} endless: true}";
	struct troupe_error error;
	ProtobufCMessage *message;
	must(!message_of_text(type_find(type), text, &no_limits, &message, &error), error.text);
	text_add(out, "%s", "");
	message_add_bytes(out, message);
	message_free(message);
}

static void reply_to(struct asked_server *server, uint32_t i)
{
	struct text bytes = {0};
	bool refuses = server->refuses && strcmp(server->types[i], "troupe.msgs.Models") != 0;
	add_reply(server->types[i], &bytes);
	const struct troupe_message reply = {.is_reply = true,
		.type = server->types[i],
		.bytes = bytes.at,
		.count = bytes.count,
		.tag = server->tags[i],
		.status = refuses ? TROUPE_ECOMMAND : TROUPE_OK,
		.text = refuses ? "no" : "model 'x' created, id 1"};
	simulation_take(server->simulation, &reply);
	text_fini(&bytes);
}

static void hear_answer(void *ctx, enum simulation_end end, const struct text *values)
{
	struct asked_server *server = ctx;
	struct text cdr = {0};
	struct troupe_error error;
	(void)end;
	json_t *json = json_loadb(values->at, values->count, 0, NULL);
	must(!server->is_answered && json, "one answer in JSON");
	must(!ros_json_to_cdr(server->response, json, &cdr, &error), error.text);
	server->is_answered = true;
	json_decref(json);
	text_fini(&cdr);
}

static void take_wanted(void *ctx, const char *name, const char *type)
{
	struct asked_server *server = ctx;
	if (server->count++ % NAMES_MAX != (uint32_t)*server->wanted)
		return;
	(void)snprintf(server->name, sizeof server->name, "%s", name);
	(void)snprintf(server->type, sizeof server->type, "%s_%s", type, strstr(type, "/srv/") ? "Response" : "Result");
}

/* The type of the request of a service, which the caller frees; NULL: there are not so many services. */
static char *request_of(char which)
{
	const struct troupe_topic topic = {.name = "/world/w/models", .kind = TROUPE_TOPIC_SERVICE};
	const struct troupe_topics topics = {.count = 1, .at = &topic};
	struct asked_server server = {.wanted = &which};
	const struct simulation_def def = {.call = hear, .ctx = &server};
	struct simulation *simulation = simulation_create(&def, &topics);
	simulation_each_service(simulation, take_wanted, &server);
	simulation_each_action(simulation, take_wanted, &server);
	simulation_destroy(simulation);
	char *end = strrchr(server.type, '_');
	return end ? mem_printf("%.*s%s", (int)(end - server.type), server.type,
			     strcmp(end, "_Response") ? "_Goal" : "_Request")
		   : NULL;
}

/* which: the number of the service, below NAMES_MAX. */
static void ask(char which, bool refuses, bool is_cdr, const uint8_t *bytes, size_t count)
{
	const struct troupe_topic topic = {.name = "/world/w/models", .kind = TROUPE_TOPIC_SERVICE};
	const struct troupe_topics topics = {.count = 1, .at = &topic};
	struct asked_server server = {.refuses = refuses, .wanted = &which};
	const struct simulation_def def = {.call = hear, .ctx = &server};
	const struct simulation_asker asker = {.answer = hear_answer, .ctx = &server};
	json_t *json = is_cdr ? NULL : json_loadb((const char *)bytes, count, JSON_DECODE_ANY, NULL);
	server.simulation = simulation_create(&def, &topics);
	simulation_each_service(server.simulation, take_wanted, &server);
	simulation_each_action(server.simulation, take_wanted, &server);
	server.count = 0;
	server.response = server.type;
	if ((json || is_cdr) && *server.name) {
		if (is_cdr)
			simulation_call_cdr(server.simulation, server.name, bytes, count, &asker);
		else
			simulation_call(server.simulation, server.name, json, &asker);
		for (uint32_t i = 0; i < server.count; i++) {
			if (i == CALLS_LEAST)
				simulation_cancel(server.simulation, &server);
			reply_to(&server, i);
		}
		must(server.is_answered, "an answer");
	}
	simulation_destroy(server.simulation);
	json_decref(json);
}

static void of_user_data(const uint8_t *bytes, size_t count)
{
	char value[32];
	if (user_data_find(bytes, count, "clientid", value, sizeof value))
		must(strlen(value) < sizeof value && !strchr(value, ';') && strlen(value) + 9 <= count, "a value");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (count < 2)
		return 0;
	if (bytes[1] & 128 && bytes[1] & 64)
		of_user_data(bytes + 2, count - 2);
	else if (bytes[1] & 128)
		ask((char)(bytes[0] % NAMES_MAX), bytes[1] & 1, bytes[1] & 2, bytes + 2, count - 2);
	if (bytes[1] & 128 || bytes[0] >= type_count())
		return 0;
	const struct ros_type *ros = ros_type_find(type_at(bytes[0])->name, bytes[1] & 2 ? "/tf" : NULL);
	if (bytes[1] & 4)
		to_stage(bytes + 2, count - 2);
	else if (bytes[1] & 8)
		of_joints(bytes + 2, count - 2);
	else if (bytes[1] & 16)
		of_cdr(ros_twist_stamped(), bytes + 2, count - 2);
	else if (ros && bytes[1] & 64)
		of_json(ros->name, bytes + 2, count - 2);
	else if (bytes[1] & 32)
		to_cdr(ros_fixed_frames(), bytes + 2, count - 2);
	else if (ros && bytes[1] & 1 && ros_is_taken(ros))
		of_cdr(ros, bytes + 2, count - 2);
	else if (ros)
		to_cdr(ros, bytes + 2, count - 2);
	return 0;
}

#ifndef WITHOUT_MAIN
static void damage(struct text *text)
{
	size_t at = rounds_below(text->count + 1), count = 1 + rounds_below(8);
	uint8_t noise[8];
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)(rounds_below(3) ? rounds_below(256) : 0xff);
	rounds_replace(text, MAX(at, (size_t)2), rounds_below(3) ? count : 0, noise, rounds_below(4) ? count : 0);
}

static uint8_t number_of(message_type type)
{
	uint32_t i = 0;
	while (type_at(i) != type)
		i++;
	return (uint8_t)i;
}

/* The message as bytes, as CDR, and as JSON. */
static void run_case(const char *line, size_t rounds, const char *seeds, unsigned number)
{
	char name[128], topic[128];
	int used = 0;
	struct text inputs[3] = {{0}, {0}, {0}}, cdr = {0};
	struct troupe_error error;
	ProtobufCMessage *message;
	must(sscanf(line, "%127s %127s %n", name, topic, &used) == 2, "a line of the cases");
	message_type type = type_find(name);
	const struct ros_type *ros = ros_type_find(name, topic);
	must(type && ros && !message_of_text(type, line + used, &no_limits, &message, &error), line);
	for (int i = 0; i < 3; i++)
		text_add_bytes(&inputs[i], (const char[]){(char)number_of(type), (char)((i == 2 ? 64 : i) | 2)}, 2);
	message_add_bytes(&inputs[0], message);
	message_free(message);
	must(!ros_of_bytes(ros, inputs[0].at + 2, inputs[0].count - 2, &cdr, &error), "a sound message");
	text_add_bytes(&inputs[1], cdr.at, cdr.count);
	must(!ros_json_of_cdr(ros->name, cdr.at, cdr.count, &inputs[2], &error), error.text);
	for (unsigned i = 0; i < 3; i++) {
		if (seeds)
			seeds_write(seeds, "ros", 3 * number + i, inputs[i].at, inputs[i].count);
		else
			rounds_run(inputs[i].at, inputs[i].count, rounds, damage);
		text_fini(&inputs[i]);
	}
	text_fini(&cdr);
}

static void run_stage(size_t rounds)
{
	static const char scene[] =
		"model {name: 'm' id: 2 joint {type: FIXED parent: 'l' child: 'k'} link {name: 'k' header {data {key: "
		"'fixed_to' value: 'l'}}} link {name: 'l' id: 3 sensor {name: 's' type: 'camera' pose {position {x: "
		"1}}} visual {geometry {box {size {x: 1}}}} visual {geometry {cone {radius: 1 length: 2}}} visual "
		"{geometry {plane {normal {z: 1}}}}}} model {is_static: true link {collision {geometry {sphere "
		"{radius: 1}}}}}";
	struct text input = {0};
	struct troupe_error error;
	ProtobufCMessage *message;
	must(!message_of_text(type_find("gz.msgs.Scene"), scene, &no_limits, &message, &error), error.text);
	text_add_bytes(&input, "\0\4", 2);
	message_add_bytes(&input, message);
	message_free(message);
	rounds_run(input.at, input.count, 10 * rounds, damage);
	input.at[1] = 32;
	rounds_run(input.at, input.count, 10 * rounds, damage);
	text_fini(&input);
}

static void add_header(struct cdr_out *out)
{
	cdr_u32(out, 1);
	cdr_u32(out, 2);
	cdr_string(out, "frame");
}

/* A command to two joints, and a twist. */
static void run_commands(size_t rounds)
{
	struct text joints = {0}, twist = {0};
	text_add_bytes(&joints, "\0\10", 2);
	struct cdr_out out = cdr_begin(&joints);
	add_header(&out);
	cdr_count(&out, 2);
	cdr_string(&out, "left");
	cdr_string(&out, "right");
	for (int list = 0; list < 3; list++) {
		cdr_count(&out, list == 1 ? 0 : 2);
		cdr_f64s(&out, (const double[]){0.5, -1}, list == 1 ? 0 : 2);
	}
	rounds_run(joints.at, joints.count, 10 * rounds, damage);
	text_add_bytes(&twist, "\0\20", 2);
	out = cdr_begin(&twist);
	add_header(&out);
	cdr_f64s(&out, (const double[]){1, 0, 0, 0, 0, 0.5}, 6);
	rounds_run(twist.at, twist.count, 10 * rounds, damage);
	text_fini(&joints);
	text_fini(&twist);
}

/* A request as JSON, and, if the service has all of its fields, as CDR. */
static unsigned run_request(char service, const char *request, size_t rounds, const char *seeds, unsigned number)
{
	unsigned before = number;
	char *type = request_of(service);
	json_t *json = json_loads(request, 0, NULL);
	for (int is_cdr = 0; is_cdr < 2; is_cdr++) {
		struct text input = {0};
		text_add_bytes(&input, (const char[]){service, (char)(128 | is_cdr << 1 | (service & 1))}, 2);
		if (!is_cdr)
			text_add(&input, "%s", request);
		else if (!type || ros_json_to_cdr(type, json, &input, NULL))
			input.count = 0;
		if (seeds && input.count)
			seeds_write(seeds, "ros", number++, input.at, input.count);
		else if (input.count)
			rounds_run(input.at, input.count, rounds, damage);
		text_fini(&input);
	}
	json_decref(json);
	free(type);
	return number - before;
}

static void run_user_data(size_t rounds)
{
	struct text input = {0};
	text_add_bytes(&input, "\0\300", 2);
	text_add(&input, "typehash=RIHS01_00;clientid=1.2.ff;serviceid=;clientid=;");
	rounds_run(input.at, input.count, 10 * rounds, damage);
	text_fini(&input);
}

/* For each service a request that has every field which any of them has a use for. Returns the number of inputs. */
static unsigned run_requests(size_t rounds, const char *seeds, unsigned number)
{
	static const char *const requests[] = {"{}", "{\"state\":{\"state\":2}}", "{\"steps\":3}", "{\"scope\":6}",
		"{\"scope\":2}", "{\"entity\":\"ball\"}", "{\"name\":\"x\"}",
		"{\"filters\":{\"filter\":\"^(b|w)[a-l]*$\",\"categories\":[{\"category\":4}],\"bounds\":{\"type\":1,"
		"\"points\":[{\"x\":-1,\"y\":-1,\"z\":-1},{\"x\":1,\"y\":1,\"z\":1}]}}}",
		"{\"entity\":\"ball\",\"set_pose\":true,\"set_twist\":true,\"state\":{\"header\":{\"frame_id\":\"w\"},"
		"\"pose\":{\"position\":{\"x\":1}},\"twist\":{\"linear\":{\"x\":1}}}}",
		"{\"name\":\"a\",\"allow_renaming\":true,\"entity_resource\":{\"resource_string\":\"<sdf/"
		">\"},\"entity_namespace\":\"/a\",\"initial_pose\":{\"header\":{\"frame_id\":\"wall\"}}}",
		"{\"spawn_requests\":[{\"name\":\"a\",\"entity_resource\":{\"uri\":\"file:///"
		"x.sdf\"}},{\"name\":\"b\"}]}"};
	unsigned before = number;
	for (size_t r = 0; r < ARRAY_LEN(requests); r++)
		for (int service = 0; service < NAMES_MAX / 2; service++)
			number += run_request((char)service, requests[r], rounds, seeds, number);
	return number - before;
}

int main(int argc, char **argv)
{
	const char *source = getenv("SOURCE_DIR"), *seeds = seeds_wanted(argc, argv);
	size_t rounds = argc > 2 && !seeds ? strtoul(argv[2], NULL, 10) : 2000, count;
	char *path = mem_printf("%s/tests/data/ros/cases", source ? source : "."), *text, *rest = NULL;
	struct troupe_error error;
	unsigned number = 0;
	rounds_state = argc > 2 && !seeds ? strtoul(argv[1], NULL, 10) : 1;
	if (infile_read(path, 1 << 20, &text, &count, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!strncmp(line, "gz.", 3))
			run_case(line, rounds, seeds, number++);
	(void)run_requests(rounds / 20, seeds, 3 * number);
	if (!seeds) {
		run_stage(rounds);
		run_commands(rounds);
		run_user_data(rounds);
	}
	free(text);
	free(path);
	printf("%u passed, %d failed\n", number, number < 30);
	return number < 30;
}
#endif
