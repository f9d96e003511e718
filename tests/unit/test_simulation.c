/* The services of simulation_interfaces (gateway/ros/simulation.h) on a server that is stepped here, without a protocol
 * around them: each response has all fields of its type, says what the state of the library says, and a request that is
 * not sound gets a result code and a message, and changes nothing. tests/web/test_simulation.sh has the same by
 * rosbridge. */
#include "clients.h"

#include "gateway/ros/json.h"
#include "gateway/ros/simulation.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(simulation, .fini = clients_end, .timeout = 120);

#define WORLD                                                                                                          \
	LIB_HEAD LIB_GROUND                                                                                            \
		"<model name='ball'><pose>0 0 5 0 0 0</pose><link name='l'><inertial><mass>1</mass>"                   \
		"</inertial><collision name='c'><geometry><sphere><radius>0.5</radius></sphere>"                       \
		"</geometry></collision></link></model><model name='wall'><static>true</static>"                       \
		"<pose>4 0 1 0 0 0</pose><link name='l'><collision name='c'><geometry><box>"                           \
		"<size>1 8 2</size></box></geometry></collision></link></model>" LIB_CART("cart", "0 4 0.1 0 0 0")
/* The text of a file with one such world. */
#define WORLD_FILE "<sdf version='1.9'><world name='w'>" WORLD "</world></sdf>"

enum { OK = 1, NOT_FOUND = 2, INCORRECT_STATE = 3, FAILED = 4, UNSUPPORTED = 0 };

struct rig {
	struct troupe_server *server;
	struct troupe_client *client;
	struct simulation *simulation;
	const char *type; /* of the request */
	json_t *values;   /* of the last answer; NULL: none yet */
	enum simulation_end end;
	uint32_t feedbacks;
	uint64_t completed;
};

static troupe_status call_server(void *ctx, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	struct rig *rig = ctx;
	cr_assert(tag & SIMULATION_TAG);
	return troupe_client_call(rig->client, service, type, bytes, count, tag, error);
}

static struct rig rig_of(const char *worlds)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = "test.sdf";
	def.world_text = worlds;
	def.secondaries = 0;
	def.seed = 7;
	struct rig rig = {.server = lib_create(&def)};
	rig.client = client_of(rig.server, 64);
	return rig;
}

static void subscribe_to(void *ctx, const char *topic, double rate_hz)
{
	const struct rig *rig = ctx;
	troupe_client_unsubscribe(rig->client, topic);
	subscribe(rig->client, topic, rate_hz);
}

static void unsubscribe_from(void *ctx, const char *topic)
{
	const struct rig *rig = ctx;
	troupe_client_unsubscribe(rig->client, topic);
}

static void start(struct rig *rig)
{
	const struct simulation_def def = {
		.call = call_server, .ctx = rig, .subscribe = subscribe_to, .unsubscribe = unsubscribe_from};
	const struct troupe_topics *topics = troupe_topics_list(rig->server);
	rig->simulation = simulation_create(&def, topics);
	simulation_look(rig->simulation, topics);
	troupe_topics_release(topics);
}

static void end(struct rig *rig)
{
	json_decref(rig->values);
	simulation_destroy(rig->simulation);
	client_destroy(rig->client);
	lib_destroy(rig->server);
}

static void find_type(void *ctx, const char *name, const char *type)
{
	const char **of = ctx;
	if (!strcmp(of[0], name))
		of[1] = type;
}

/* What the answer lacks, its type gives it: then the two differ. */
static void check_whole(const struct rig *rig, const struct text *values)
{
	struct text cdr = {0}, whole = {0};
	struct troupe_error error;
	char *type = mem_printf("%s_%s", rig->type, strstr(rig->type, "/action/") ? "Result" : "Response");
	cr_assert_eq(ros_json_to_cdr(type, rig->values, &cdr, &error), TROUPE_OK, "%s: %s", type, error.text);
	cr_assert_eq(ros_json_of_cdr(type, cdr.at, cdr.count, &whole, &error), TROUPE_OK);
	size_t quotes[2] = {0, 0};
	for (size_t i = 0; i < whole.count; i++)
		quotes[0] += whole.at[i] == '"';
	for (size_t i = 0; i < values->count; i++)
		quotes[1] += values->at[i] == '"';
	cr_assert_eq(quotes[0], quotes[1], "%s: '%s': expected as '%s'", type, values->at, whole.at);
	text_fini(&cdr);
	text_fini(&whole);
	free(type);
}

static void take_answer(void *ctx, enum simulation_end how, const struct text *values)
{
	struct rig *rig = ctx;
	cr_assert_null(rig->values, "a second answer");
	rig->values = json_loadb(values->at, values->count, 0, NULL);
	rig->end = how;
	cr_assert(rig->values, "no JSON: '%s'", values->at);
	check_whole(rig, values);
}

static void take_feedback(void *ctx, const struct text *values)
{
	struct rig *rig = ctx;
	json_t *json = json_loadb(values->at, values->count, 0, NULL);
	rig->feedbacks++;
	rig->completed = (uint64_t)json_integer_value(json_object_get(json, "completed_steps"));
	json_decref(json);
}

/* args: JSON with ' for ". */
static void begin(struct rig *rig, const char *name, const char *args)
{
	const char *of[2] = {name, NULL};
	const struct simulation_asker asker = {.answer = take_answer, .feedback = take_feedback, .ctx = rig};
	char *text = mem_strdup(args);
	for (char *at = text; *at; at++)
		*at = (char)(*at == '\'' ? '"' : *at == '`' ? '\'' : *at);
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	cr_assert(json || !*args, "'%s' is no JSON", text);
	simulation_each_service(rig->simulation, find_type, of);
	simulation_each_action(rig->simulation, find_type, of);
	cr_assert(of[1], "there is no %s", name);
	rig->type = of[1];
	json_decref(rig->values);
	rig->values = NULL;
	rig->feedbacks = 0;
	simulation_call(rig->simulation, name, json, &asker);
	json_decref(json);
	free(text);
}

static void pump(struct rig *rig)
{
	struct troupe_message message;
	lib_step(rig->server, 1);
	while (troupe_client_take(rig->client, 0, &message))
		if (message.is_reply)
			simulation_take(rig->simulation, &message);
		else
			simulation_hear(rig->simulation, &message);
}

/* The result code. */
static int ask(struct rig *rig, const char *name, const char *args)
{
	begin(rig, name, args);
	for (int i = 0; i < 2000 && !rig->values; i++)
		pump(rig);
	cr_assert(rig->values, "%s %s: no answer", name, args);
	const json_t *result = json_object_get(rig->values, "result");
	const json_t *code = json_object_get(result, "result");
	const char *text = json_string_value(json_object_get(result, "error_message"));
	cr_assert(!result || (*text != 0) == (json_integer_value(code) != OK), "%s %s: code %d, '%s'", name, args,
		(int)json_integer_value(code), text);
	return result ? (int)json_integer_value(code) : OK;
}

static const json_t *part(const json_t *json, const char *path)
{
	char *copy = mem_strdup(path), *rest = NULL;
	for (char *name = strtok_r(copy, ".", &rest); name; name = strtok_r(NULL, ".", &rest))
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(name)) : json_object_get(json, name);
	free(copy);
	return json;
}

static double number(const struct rig *rig, const char *path)
{
	const json_t *value = part(rig->values, path);
	cr_assert(json_is_number(value), "%s is no number", path);
	return json_number_value(value);
}

static const char *text(const struct rig *rig, const char *path)
{
	const char *value = json_string_value(part(rig->values, path));
	return value ? value : "";
}

static int state_of(struct rig *rig)
{
	cr_assert_eq(ask(rig, "/get_simulation_state", "{}"), OK);
	return (int)number(rig, "state.state");
}

static size_t entities(struct rig *rig, const char *args)
{
	cr_assert_eq(ask(rig, "/get_entities", args), OK);
	return json_array_size(part(rig->values, "entities"));
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void count_names(void *ctx, const char *name, const char *type)
{
	uint32_t *counts = ctx;
	counts[0] += !strncmp(type, "simulation_interfaces/srv/", 26);
	counts[1] += !strncmp(type, "troupe_interfaces/srv/", 22);
	char *request = mem_printf("%s_Request", type);
	cr_assert(ros_json_knows(request), "%s of %s", request, name);
	free(request);
}

Test(simulation, has_all_services_of_the_package)
{
	struct rig rig = rig_of(WORLD_FILE);
	uint32_t counts[2] = {0, 0};
	start(&rig);
	simulation_each_service(rig.simulation, count_names, counts);
	cr_assert_eq(counts[0], 22u);
	cr_assert_eq(counts[1], 5u);
	cr_assert(simulation_has_action(rig.simulation, "/simulate_steps"));
	cr_assert(!simulation_has_service(rig.simulation, "/simulate_steps"));
	cr_assert(!simulation_has_service(rig.simulation, "/w/get_entities"));
	cr_assert(!simulation_has_service(rig.simulation, ""));
	end(&rig);
}

static bool has_feature(const struct rig *rig, int feature)
{
	const json_t *list = part(rig->values, "features.features"), *item;
	size_t i;
	json_array_foreach(list, i, item) if (json_integer_value(item) == feature) return true;
	return false;
}

/* A service is refused exactly when its feature is left out. */
Test(simulation, tells_what_it_has)
{
	static const struct {
		const char *name;
		int feature;
	} services[] = {{"/spawn_entity", 0}, {"/delete_entity", 1}, {"/get_named_poses", 2},
		{"/get_named_pose_bounds", 3}, {"/get_entity_bounds", 5}, {"/get_entity_state", 10},
		{"/set_entity_state", 11}, {"/get_entity_info", 12}, {"/set_entity_info", 13}, {"/get_spawnables", 14},
		{"/reset_simulation", 20}, {"/get_simulation_state", 24}, {"/set_simulation_state", 25},
		{"/step_simulation", 31}, {"/simulate_steps", 33}, {"/load_world", 40}, {"/unload_world", 43},
		{"/get_current_world", 44}, {"/get_available_worlds", 45}, {"/spawn_entities", 50}};
	struct rig rig = rig_of(WORLD_FILE);
	bool has[ARRAY_LEN(services)];
	start(&rig);
	(void)ask(&rig, "/get_simulator_features", "");
	for (size_t i = 0; i < ARRAY_LEN(services); i++)
		has[i] = has_feature(&rig, services[i].feature);
	cr_assert(has_feature(&rig, 6) && !has_feature(&rig, 7) && has_feature(&rig, 4));
	cr_assert_str_eq(text(&rig, "features.spawn_formats.0"), "sdf");
	for (size_t i = 0; i < ARRAY_LEN(services); i++)
		cr_assert_eq(ask(&rig, services[i].name, "{}") != UNSUPPORTED, has[i], "%s", services[i].name);
	end(&rig);
}

Test(simulation, plays_pauses_stops_and_steps)
{
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(state_of(&rig), 1);
	cr_assert_eq(ask(&rig, "/step_simulation", "{'steps':3}"), INCORRECT_STATE);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':1}}"), 101);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	cr_assert_eq(state_of(&rig), 2);
	double before_s = troupe_server_progress(rig.server).time_s;
	cr_assert_eq(ask(&rig, "/step_simulation", "{'steps':37}"), OK);
	cr_assert_float_eq(troupe_server_progress(rig.server).time_s, before_s + 37 * LIB_DT_S, LIB_DT_S / 10);
	cr_assert_eq(state_of(&rig), 2);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	cr_assert_eq(troupe_server_progress(rig.server).time_s, 0);
	cr_assert_eq(state_of(&rig), 0);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), 101);
	cr_assert_eq(ask(&rig, "/step_simulation", "{'steps':1}"), OK);
	cr_assert_eq(state_of(&rig), 2);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	lib_text(rig.server, 0, "/world/w/control", "pause: true multi_step: 5");
	lib_step(rig.server, 10);
	cr_assert_eq(state_of(&rig), 2, "another program has taken steps");
	static const char *const wrong[] = {
		"{'state':{'state':4}}", "{'state':{'state':5}}", "{'state':{'state':200}}"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		cr_assert_eq(ask(&rig, "/set_simulation_state", wrong[i]), 103, "%s", wrong[i]);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':1}}"), OK);
	cr_assert_eq(state_of(&rig), 1);
	end(&rig);
}

/* A seed is a text, as JSON has no room for all of them. Each refusal says what was given. */
Test(simulation, a_seed_is_a_whole_number)
{
	static const char *const wrong[] = {"", "-1", "+1", "x", "1.5", "1e3", " 1", "1 ", "0x1", "9223372036854775808",
		"18446744073709551615", "18446744073709551616", "99999999999999999999"};
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char *args = mem_printf("{'seed':'%s'}", wrong[i]), *said;
		cr_assert_eq(ask(&rig, "/troupe/set_seed", args), FAILED, "'%s'", wrong[i]);
		said = mem_printf("seed '%s': expected a whole number from 0 to 9223372036854775807", wrong[i]);
		cr_assert_str_eq(text(&rig, "result.error_message"), said);
		free(args);
		free(said);
	}
	end(&rig);
}

/* Another program lets the world run while steps are taken, or pauses it: the answer tells. */
Test(simulation, a_request_for_steps_that_is_disturbed_fails)
{
	static const char *const others[] = {"pause: false", "pause: true"};
	for (size_t o = 0; o < ARRAY_LEN(others); o++) {
		struct rig rig = rig_of(WORLD_FILE);
		start(&rig);
		cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
		begin(&rig, "/step_simulation", "{'steps':1000}");
		for (int i = 0; i < 20; i++)
			pump(&rig);
		cr_assert_null(rig.values, "it answers only when the steps are done");
		lib_text(rig.server, 0, "/world/w/control", others[o]);
		for (int i = 0; i < 20 && !rig.values; i++)
			pump(&rig);
		cr_assert(rig.values);
		cr_assert_eq((int)number(&rig, "result.result"), FAILED, "%s", others[o]);
		end(&rig);
	}
}

/* A run may begin at another time than 0, and a reset takes it back there. */
Test(simulation, a_stopped_run_is_stopped_whatever_its_time)
{
	struct troupe_server_def def = lib_def(WORLD_FILE, 0);
	def.initial_time_s = 3;
	struct rig rig = {.server = lib_create(&def)};
	rig.client = client_of(rig.server, 64);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	double time_s = troupe_server_progress(rig.server).time_s;
	cr_assert_eq(state_of(&rig), 0, "at %g s", time_s);
	end(&rig);
}

Test(simulation, an_action_tells_of_each_step)
{
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/simulate_steps", "{'steps':2}"), INCORRECT_STATE);
	cr_assert_eq(rig.end, SIMULATION_ABORTED);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	double before_s = troupe_server_progress(rig.server).time_s;
	cr_assert_eq(ask(&rig, "/simulate_steps", "{'steps':25}"), OK);
	cr_assert_eq(rig.end, SIMULATION_SUCCEEDED);
	cr_assert_eq(rig.feedbacks, 25u);
	cr_assert_eq(rig.completed, 25u);
	cr_assert_float_eq(troupe_server_progress(rig.server).time_s, before_s + 25 * LIB_DT_S, LIB_DT_S / 10);
	before_s = troupe_server_progress(rig.server).time_s;
	begin(&rig, "/simulate_steps", "{'steps':1000000}");
	while (rig.feedbacks < 10)
		pump(&rig);
	simulation_cancel(rig.simulation, &rig);
	for (int i = 0; i < 10 && !rig.values; i++)
		pump(&rig);
	cr_assert(rig.values);
	cr_assert_eq(rig.end, SIMULATION_CANCELED);
	char *wanted = mem_printf("cancelled after %lu of 1000000 steps", (unsigned long)rig.completed);
	cr_assert_eq((int)number(&rig, "result.result"), FAILED);
	cr_assert_str_eq(
		json_string_value(json_object_get(json_object_get(rig.values, "result"), "error_message")), wanted);
	free(wanted);
	cr_assert_float_eq(
		troupe_server_progress(rig.server).time_s, before_s + (double)rig.completed * LIB_DT_S, LIB_DT_S / 10);
	cr_assert_eq(state_of(&rig), 2);
	end(&rig);
}

Test(simulation, a_second_request_for_steps_waits_for_no_first_one)
{
	struct rig rig = rig_of(WORLD_FILE);
	const struct simulation_asker nobody = {0};
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	json_t *steps = json_pack("{s:i}", "steps", 500);
	simulation_call(rig.simulation, "/simulate_steps", steps, &nobody);
	cr_assert_eq(ask(&rig, "/step_simulation", "{'steps':1}"), INCORRECT_STATE);
	cr_assert_eq(ask(&rig, "/reset_simulation", "{}"), INCORRECT_STATE);
	json_decref(steps);
	end(&rig); /* with a job that waits */
}

/* --- entities ----------------------------------------------------------------------------------------------------- */

Test(simulation, tells_the_states_that_the_library_tells)
{
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	cr_assert_eq(ask(&rig, "/step_simulation", "{'steps':100}"), OK);
	cr_assert_eq(ask(&rig, "/get_entity_state", "{'entity':'ball'}"), OK);
	struct troupe_model_state ball = lib_at(rig.server, lib_model(rig.server, "ball"));
	cr_assert_eq(number(&rig, "state.pose.position.z"), ball.pose.z);
	cr_assert_eq(number(&rig, "state.twist.linear.z"), ball.twist.linear.z);
	cr_assert_lt(ball.twist.linear.z, -0.9);
	cr_assert_str_eq(text(&rig, "state.header.frame_id"), "world");
	double time_s = number(&rig, "state.header.stamp.sec") + 1e-9 * number(&rig, "state.header.stamp.nanosec");
	cr_assert_float_eq(time_s, troupe_server_progress(rig.server).time_s, 1e-9);
	cr_assert_eq(ask(&rig, "/get_entities_states", "{'filters':{'filter':'^ball$'}}"), OK);
	cr_assert_eq(json_array_size(part(rig.values, "states")), 1u);
	cr_assert_eq(number(&rig, "states.0.pose.position.z"), ball.pose.z);
	cr_assert_eq(ask(&rig, "/get_entity_state", "{'entity':'none'}"), NOT_FOUND);
	end(&rig);
}

Test(simulation, filters_entities)
{
	static const struct {
		const char *filters;
		size_t count;
	} cases[] = {{"{}", 4}, {"{'filter':'all'}", 2}, {"{'filter':'^b'}", 1}, {"{'filter':'^b[a-l]+$'}", 1},
		{"{'filter':'(cart|wall)'}", 2}, {"{'filter':'^$'}", 0}, {"{'categories':[{'category':5}]}", 2},
		{"{'categories':[{'category':1}]}", 1}, {"{'categories':[{'category':1},{'category':4}]}", 2},
		{"{'categories':[{'category':2}]}", 0},
		{"{'bounds':{'type':1,'points':[{'x':1,'y':1,'z':6},{'x':-1,'y':-1,'z':4}]}}", 2}, /* a plane is all */
		{"{'bounds':{'type':1,'points':[{'x':3.6,'y':3.9,'z':1},{'x':3.7,'y':4.1,'z':1}]}}", 2},
		{"{'bounds':{'type':3,'points':[{'x':0,'y':0,'z':6},{'x':0.4}]}}", 1},
		{"{'bounds':{'type':3,'points':[{'x':0,'y':0,'z':6},{'x':0.6}]}}", 2}, {"{'tags':{'tags':['x']}}", 0},
		{"{'filter':'ball','bounds':{'type':3,'points':[{'x':0,'y':0,'z':6},{'x':0.6}]}}", 1}};
	static const struct {
		const char *filters;
		int result;
	} wrong[] = {{"{'filter':'('}", FAILED}, {"{'filter':'(a{1,200}){1,200}'}", FAILED},
		{"{'filter':'(a)\\\\1'}", FAILED},
		{"{'filter':'((((((((((((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+"
		 ")+'}",
			FAILED},
		{"{'filter':'a++++++++++++++++++++++++++++++++++++++++'}", FAILED},
		{"{'tags':{'filter_mode':2}}", FAILED}, {"{'bounds':{'type':2,'points':[{},{},{}]}}", UNSUPPORTED},
		{"{'bounds':{'type':1,'points':[{}]}}", FAILED},
		{"{'bounds':{'type':3,'points':[{},{'x':-1}]}}", FAILED},
		{"{'bounds':{'type':1,'points':[{},{'x':null}]}}", FAILED}, {"{'bounds':{'type':9}}", FAILED},
		{"{'filter':3}", FAILED}, {"[]", FAILED}, {"{'none':1}", FAILED}};
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *args = mem_printf("{'filters':%s}", cases[i].filters);
		cr_assert_eq(entities(&rig, args), cases[i].count, "%s", args);
		free(args);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char *args = mem_printf("{'filters':%s}", wrong[i].filters);
		cr_assert_eq(ask(&rig, "/get_entities", args), wrong[i].result, "%s", args);
		cr_assert_eq(ask(&rig, "/get_entities_states", args), wrong[i].result, "%s", args);
		free(args);
	}
	end(&rig);
}

/* Of the cart, with the wheels beside it: 0.5 from wheel to wheel, and their radius of 0.15. */
Test(simulation, tells_bounds_and_what_an_entity_is)
{
	static const struct {
		const char *name;
		int category;
		struct troupe_vec3 upper; /* x < 0: none */
	} cases[] = {{"ball", 4, {0.5, 0.5, 0.5}}, {"wall", 5, {0.5, 4, 1}}, {"ground", 5, {-1, 0, 0}},
		{"cart", 1, {0.3, 0.25 + 0.15, 0.3}}};
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *args = mem_printf("{'entity':'%s'}", cases[i].name);
		cr_assert_eq(ask(&rig, "/get_entity_info", args), OK);
		cr_assert_eq((int)number(&rig, "info.category.category"), cases[i].category, "%s", args);
		cr_assert_eq(ask(&rig, "/get_entity_bounds", args), OK);
		bool none = cases[i].upper.x < 0;
		cr_assert_eq((int)number(&rig, "bounds.type"), none ? 0 : 1);
		cr_assert_eq(json_array_size(part(rig.values, "bounds.points")), none ? 0u : 2u);
		if (!none) {
			cr_assert_float_eq(number(&rig, "bounds.points.0.x"), cases[i].upper.x, 1e-9, "%s", args);
			cr_assert_float_eq(number(&rig, "bounds.points.0.y"), cases[i].upper.y, 1e-9, "%s", args);
			cr_assert_float_eq(number(&rig, "bounds.points.0.z"), cases[i].upper.z, 1e-9, "%s", args);
			cr_assert_leq(number(&rig, "bounds.points.1.z"), 0);
		}
		free(args);
	}
	cr_assert_eq(ask(&rig, "/get_entity_bounds", "{'entity':'none'}"), NOT_FOUND);
	cr_assert_eq(ask(&rig, "/get_entity_info", "{'entity':''}"), NOT_FOUND);
	end(&rig);
}

/* What is said of an entity counts in filters, for all who ask, and not for the hash; it goes with the entity. */
Test(simulation, keeps_what_is_said_of_entities)
{
	static const struct {
		const char *args;
		int result;
	} wrong[] = {{"{'entity':'none'}", NOT_FOUND}, {"{'entity':'ball','info':{'category':{'category':3}}}", FAILED},
		{"{'entity':'ball','info':{'category':{'category':6}}}", FAILED},
		{"{'entity':'ball','info':{'tags':[1]}}", FAILED}};
	static const struct {
		const char *tags;
		size_t count;
	} filters[] = {{"'tags':['red']", 2}, {"'tags':['round']", 1}, {"'tags':['red','round']", 2},
		{"'tags':['red','round'],'filter_mode':1", 1}, {"'tags':['blue'],'filter_mode':1", 0},
		{"'tags':['blue','red']", 2}};
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	cr_assert_eq(ask(&rig, "/troupe/get_hash", "{}"), OK);
	char *hash = mem_strdup(text(&rig, "hash"));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		cr_assert_eq(ask(&rig, "/set_entity_info", wrong[i].args), wrong[i].result, "%s", wrong[i].args);
	cr_assert_eq(ask(&rig, "/set_entity_info",
			     "{'entity':'ball','info':{'category':{'category':2},'description':'a \\u00fc',"
			     "'tags':['red','round']}}"),
		OK);
	cr_assert_eq(ask(&rig, "/set_entity_info", "{'entity':'wall','info':{'tags':['red']}}"), OK);
	cr_assert_eq(ask(&rig, "/get_entity_info", "{'entity':'ball'}"), OK);
	cr_assert_eq((int)number(&rig, "info.category.category"), 2);
	cr_assert_str_eq(text(&rig, "info.description"), "a \u00fc");
	cr_assert_str_eq(text(&rig, "info.tags.1"), "round");
	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		char *args = mem_printf("{'filters':{'tags':{%s}}}", filters[i].tags);
		cr_assert_eq(entities(&rig, args), filters[i].count, "%s", args);
		free(args);
	}
	cr_assert_eq(entities(&rig, "{'filters':{'categories':[{'category':2}]}}"), 1u);
	cr_assert_eq(ask(&rig, "/troupe/get_hash", "{}"), OK);
	cr_assert_str_eq(text(&rig, "hash"), hash);
	cr_assert_eq(ask(&rig, "/set_entity_info", "{'entity':'ball','info':{'tags':['other']}}"), OK);
	cr_assert_eq(entities(&rig, "{'filters':{'tags':{'tags':['red']}}}"), 1u);
	cr_assert_eq(ask(&rig, "/delete_entity", "{'entity':'ball'}"), OK);
	cr_assert_eq(ask(&rig, "/spawn_entity",
			     "{'name':'ball','entity_resource':{'resource_string':'<sdf version=`1.9`><model name=`x`>"
			     "<static>true</static><link name=`l`/></model></sdf>'}}"),
		OK);
	cr_assert_eq(entities(&rig, "{'filters':{'tags':{'tags':['other']}}}"), 0u);
	free(hash);
	end(&rig);
}

/* The information has limits, which each part of it meets. */
Test(simulation, what_is_said_of_entities_has_limits)
{
	struct rig rig = rig_of(WORLD_FILE);
	struct text tags = {0};
	start(&rig);
	for (int i = 0; i <= 64; i++) {
		text_add(&tags, "%s'%d'", i ? "," : "", i);
		char *args = mem_printf("{'entity':'ball','info':{'tags':[%s]}}", tags.at);
		if (i >= 63)
			cr_assert_eq(ask(&rig, "/set_entity_info", args), i == 63 ? OK : FAILED);
		free(args);
	}
	char *filter = mem_printf("{'filters':{'tags':{'tags':[%s]}}}", tags.at);
	cr_assert_eq(ask(&rig, "/get_entities", filter), FAILED);
	for (int bytes = 2000; bytes <= 2001; bytes++) {
		char *args = mem_printf("{'entity':'ball','info':{'description':'%0*d'}}", bytes, 0);
		cr_assert_eq(ask(&rig, "/set_entity_info", args), bytes == 2000 ? OK : FAILED);
		free(args);
	}
	free(filter);
	text_fini(&tags);
	end(&rig);
}

/* Frames stand where the file has them, or move with a link; levels have their boxes. */
Test(simulation, names_poses)
{
	struct rig rig = rig_of(
		"<sdf version='1.9'><world name='w'>" WORLD
		"<frame name='dock'><pose>1 2 3 0 0 1.5707963267948966</pose></frame>"
		"<frame name='above' attached_to='ball'><pose relative_to='dock'>0 0 1 0 0 0</pose></frame>"
		"<frame name='beside' attached_to='wall'><pose>0 0 1 0 0 0</pose></frame>"
		"<plugin name='gz::sim' filename='x'><performer name='p'><ref>cart</ref><geometry><box>"
		"<size>1 1 1</size></box></geometry></performer><level name='dock'><pose>10 20 1 0 0 0</pose><geometry>"
		"<box><size>2 4 6</size></box></geometry><ref>ball</ref></level></plugin></world></sdf>");
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	cr_assert_eq(ask(&rig, "/get_named_poses", "{}"), OK);
	static const struct {
		const char *name, *tag;
		double x, y, z;
	} wanted[] = {{"dock", "frame", 1, 2, 3}, {"above", "frame", 1, 2, 4}, {"beside", "frame", 4, 0, 2},
		{"dock/level", "level", 10, 20, 1}};
	cr_assert_eq(json_array_size(part(rig.values, "poses")), ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		const json_t *pose = json_array_get(part(rig.values, "poses"), i);
		const json_t *at = part(pose, "pose.position");
		cr_assert_str_eq(json_string_value(json_object_get(pose, "name")), wanted[i].name);
		cr_assert_str_eq(json_string_value(part(pose, "tags.0")), wanted[i].tag);
		cr_assert_float_eq(json_number_value(json_object_get(at, "x")), wanted[i].x, 1e-9);
		cr_assert_float_eq(json_number_value(json_object_get(at, "y")), wanted[i].y, 1e-9);
		cr_assert_float_eq(json_number_value(json_object_get(at, "z")), wanted[i].z, 1e-9);
	}
	cr_assert_float_eq(number(&rig, "poses.0.pose.orientation.z"), sqrt(0.5), 1e-9);
	cr_assert_eq(ask(&rig, "/get_named_poses", "{'tags':{'tags':['level']}}"), OK);
	cr_assert_eq(json_array_size(part(rig.values, "poses")), 1u);
	cr_assert_eq(ask(&rig, "/get_named_poses", "{'tags':{'tags':['level','frame'],'filter_mode':1}}"), OK);
	cr_assert_eq(json_array_size(part(rig.values, "poses")), 0u);
	cr_assert_eq(ask(&rig, "/get_named_poses", "{'tags':{'filter_mode':7}}"), FAILED);
	cr_assert_eq(ask(&rig, "/get_named_pose_bounds", "{'name':'dock/level'}"), OK);
	cr_assert_eq((int)number(&rig, "bounds.type"), 1);
	cr_assert_float_eq(number(&rig, "bounds.points.0.y"), 2, 1e-9);
	cr_assert_float_eq(number(&rig, "bounds.points.1.z"), -3, 1e-9);
	cr_assert_eq(ask(&rig, "/get_named_pose_bounds", "{'name':'dock'}"), OK);
	cr_assert_eq((int)number(&rig, "bounds.type"), 0);
	cr_assert_eq(ask(&rig, "/get_named_pose_bounds", "{'name':'level'}"), NOT_FOUND);
	cr_assert_eq(ask(&rig, "/set_entity_state",
			     "{'entity':'ball','set_pose':true,'state':{'pose':{'position':{'x':5,'z':5}}}}"),
		OK);
	cr_assert_eq(ask(&rig, "/get_named_poses", "{}"), OK);
	cr_assert_float_eq(number(&rig, "poses.1.pose.position.x"), 6, 1e-9);
	cr_assert_float_eq(number(&rig, "poses.1.pose.position.y"), 2, 1e-9);
	cr_assert_float_eq(number(&rig, "poses.1.pose.position.z"), 4, 1e-9);
	cr_assert_eq(ask(&rig, "/delete_entity", "{'entity':'ball'}"), OK);
	cr_assert_eq(ask(&rig, "/get_named_poses", "{'tags':{'tags':['frame']}}"), OK);
	cr_assert_eq(json_array_size(part(rig.values, "poses")), 2u);
	end(&rig);
}

static void write_file(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");
	cr_assert(file && fputs(content, file) >= 0 && !fclose(file), "%s", path);
}

static const char *const search_variables[] = {"GZ_SIM_RESOURCE_PATH", "SDF_PATH", "IGN_GAZEBO_RESOURCE_PATH",
	"AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH", "MENGE_RESOURCE_PATH"};

/* The world's file is in a folder of its own; `search` is the only other one in which files are searched. */
static struct rig rig_in(char *folder)
{
	static const char *const paths[] = {"search", NULL};
	struct troupe_server_def def = lib_def(WORLD_FILE, 0);
	for (size_t i = 0; i < ARRAY_LEN(search_variables); i++)
		(void)unsetenv(search_variables[i]);
	cr_assert(mkdtemp(folder) && !chdir(folder) && !mkdir("here", 0700) && !mkdir("search", 0700));
	def.world_path = "here/w.sdf";
	def.resource_paths = paths;
	struct rig rig = {.server = lib_create(&def)};
	rig.client = client_of(rig.server, 64);
	return rig;
}

static void remove_folder(const char *folder)
{
	char *command = mem_printf("rm -rf %s", folder);
	cr_assert(!chdir("/") && !system(command));
	free(command);
}

/* The uris of the list, each with a blank behind it. */
static void check_list(struct rig *rig, const char *list, const char *of, const char *wanted)
{
	const json_t *item;
	struct text uris = {0};
	size_t i;
	text_add(&uris, "%s", "");
	json_array_foreach(part(rig->values, list), i, item)
	{
		const char *uri = json_string_value(json_object_get(json_object_get(item, of), "uri"));
		const char *slash = strrchr(uri, '/');
		text_add(&uris, "%s ", strncmp(uri, "file://", 7) ? uri : slash + 1);
	}
	cr_assert_str_eq(uris.at, wanted);
	text_fini(&uris);
}

#define MODEL_FILE(name)                                                                                               \
	"<?xml version='1.0'?><!-- <world> -->\n<sdf version='1.9'><model name='" name                                 \
	"'><static>true</static><link name='l'/></model></sdf>"

/* Models and worlds in the folders of the run are listed, and nothing else is, whatever a client asks for. */
Test(simulation, lists_files_of_its_folders)
{
	static const char *const refused[] = {"../outside", "../searching", "outside", "link", "/", "/etc", "..",
		"more/../..", "more/deep.sdf", "file:///etc", "https://example.org/models", "none"};
	char folder[] = "/tmp/troupe-lists-XXXXXX";
	struct rig rig = rig_in(folder);
	static const char *const folders[] = {"search/box", "search/crate", "search/more", "outside", "searching"};
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		cr_assert(!mkdir(folders[i], 0700));
	cr_assert(!symlink("../outside", "search/link") && !mkfifo("search/pipe.sdf", 0600));
	write_file("search/box/model.config",
		"<model><name>A box</name><sdf version='1.9'>box.sdf</sdf><description>of wood</description></model>");
	write_file("search/box/box.sdf", MODEL_FILE("box"));
	write_file("search/crate/model.sdf", MODEL_FILE("a crate"));
	write_file("search/more/deep.sdf", MODEL_FILE("deep"));
	write_file("outside/secret.sdf", MODEL_FILE("secret"));
	write_file("search/robot.urdf", "<robot name='arm'><link name='l'/></robot>");
	write_file("search/ground.sdf", "<sdf version='1.9'><world name='ground'/></sdf>");
	write_file("search/.hidden.sdf", MODEL_FILE("hidden"));
	write_file("search/other.sdf", "<html><model name='x'/></html>");
	write_file("search/broken.sdf", "<sdf version='1.9'><model name='");
	write_file("search/empty.sdf", "");
	write_file("search/text.txt", MODEL_FILE("text"));
	start(&rig);
	cr_assert_eq(ask(&rig, "/get_spawnables", "{}"), OK);
	check_list(&rig, "spawnables", "entity_resource", "model://box model://crate model://robot.urdf ");
	cr_assert_str_eq(text(&rig, "spawnables.0.description"), "of wood");
	cr_assert_str_eq(text(&rig, "spawnables.1.description"), "a crate");
	cr_assert_str_eq(text(&rig, "spawnables.2.description"), "arm");
	cr_assert_eq(ask(&rig, "/get_spawnables", "{'sources':['model://more']}"), OK);
	check_list(&rig, "spawnables", "entity_resource",
		"model://more/deep.sdf model://box model://crate model://robot.urdf ");
	static const char *const uris[] = {"model://box", "model://crate", "model://more/deep.sdf"};
	for (size_t i = 0; i < ARRAY_LEN(uris); i++) {
		char *args = mem_printf("{'entity_resource':{'uri':'%s'}}", uris[i]);
		cr_assert_eq(
			ask(&rig, "/spawn_entity", args), OK, "%s: %s", uris[i], text(&rig, "result.error_message"));
		free(args);
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		char *args = mem_printf("{'sources':['more','%s']}", refused[i]);
		cr_assert_eq(ask(&rig, "/get_spawnables", args), FAILED, "%s", args);
		cr_assert_eq(json_array_size(part(rig.values, "spawnables")), 0u);
		free(args);
	}
	cr_assert_eq(ask(&rig, "/get_available_worlds", "{'additional_sources':['/etc']}"), FAILED);
	cr_assert_eq(
		ask(&rig, "/get_available_worlds", "{'additional_sources':['/etc'],'continue_on_error':true}"), OK);
	cr_assert_str_eq(text(&rig, "worlds.0.name"), "ground");
	cr_assert_eq(ask(&rig, "/get_available_worlds", "{'filter':{'tags':['x']}}"), OK);
	cr_assert_eq(json_array_size(part(rig.values, "worlds")), 0u);
	end(&rig);
	remove_folder(folder);
}

/* A list that is cut says so. */
Test(simulation, lists_of_files_have_limits)
{
	enum { MAX = 4096 };
	char folder[] = "/tmp/troupe-lists-XXXXXX";
	struct rig rig = rig_in(folder);
	for (int i = 0; i <= MAX; i++) {
		char *path = mem_printf("search/%04d.sdf", i);
		write_file(path, MODEL_FILE("m"));
		free(path);
	}
	start(&rig);
	cr_assert_eq(ask(&rig, "/get_spawnables", "{}"), FAILED);
	size_t count = json_array_size(part(rig.values, "spawnables"));
	cr_assert(count && count <= MAX, "%zu", count);
	end(&rig);
	remove_folder(folder);
}

#define STATIC(name, pose, shape)                                                                                      \
	"<model name='" name "'><static>true</static><pose>1 2 3 0.1 0.2 0.3</pose><link name='l'><collision "         \
	"name='c'><pose>" pose "</pose><geometry>" shape "</geometry></collision></link></model>"
#define QUARTER "1.5707963267948966"

/* In the frame of the model, whose own pose has no part in it. */
Test(simulation, bounds_follow_the_shapes)
{
	static const char worlds[] = "<sdf version='1.9'><world name='w'>" LIB_HEAD STATIC(
		"turned", "0 0 0 " QUARTER " 0 " QUARTER, "<box><size>2 4 6</size></box>") STATIC("capsule",
		"0 0 1 0 " QUARTER " 0", "<capsule><radius>0.5</radius><length>2</length></capsule>")
		STATIC("can", "0 0 0 0 " QUARTER " 0", "<cylinder><radius>0.5</radius><length>2</length></cylinder>")
			STATIC("egg", "0 5 0 0 0 " QUARTER, "<ellipsoid><radii>1 2 3</radii></ellipsoid>")
				STATIC("wedge", "0 0 0 0 0 0",
					"<polyline><point>-1 -1</point><point>3 0</point><point>0 "
					"1</point><height>2</height></polyline>") "</world></sdf>";
	static const struct {
		const char *name;
		struct troupe_vec3 upper;
		double lower_x;
	} cases[] = {{"turned", {3, 1, 2}, -3}, {"capsule", {1.5, 0.5, 1.5}, -1.5}, {"can", {1, 0.5, 0.5}, -1},
		{"egg", {2, 6, 3}, -2}, {"wedge", {3, 1, 2}, -1}};
	struct rig rig = rig_of(worlds);
	start(&rig);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *args = mem_printf("{'entity':'%s'}", cases[i].name);
		cr_assert_eq(ask(&rig, "/get_entity_bounds", args), OK);
		cr_assert_float_eq(number(&rig, "bounds.points.0.x"), cases[i].upper.x, 1e-9, "%s", args);
		cr_assert_float_eq(number(&rig, "bounds.points.0.y"), cases[i].upper.y, 1e-9, "%s", args);
		cr_assert_float_eq(number(&rig, "bounds.points.0.z"), cases[i].upper.z, 1e-9, "%s: %g", args,
			number(&rig, "bounds.points.0.z"));
		cr_assert_float_eq(number(&rig, "bounds.points.1.x"), cases[i].lower_x, 1e-9, "%s", args);
		free(args);
	}
	end(&rig);
}

Test(simulation, sets_what_is_asked_for)
{
	struct rig rig = rig_of(WORLD_FILE);
	static const char whole[] =
		"{'entity':'ball','set_pose':%s,'set_twist':%s,'state':{'pose':{'position':{'x':%g,"
		"'y':7,'z':9},'orientation':{'x':0,'y':0,'z':1,'w':0}},'twist':{'linear':{'x':%g}}}}";
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	for (int i = 1; i < 4; i++) {
		struct troupe_model_state before = lib_at(rig.server, lib_model(rig.server, "ball"));
		char *args = mem_printf(whole, i & 1 ? "true" : "false", i & 2 ? "true" : "false", (double)i, 0.5 * i);
		cr_assert_eq(ask(&rig, "/set_entity_state", args), OK, "%s", args);
		struct troupe_model_state after = lib_at(rig.server, lib_model(rig.server, "ball"));
		cr_assert_eq(after.pose.x, i & 1 ? i : before.pose.x);
		cr_assert_eq(after.pose.qz, i & 1 ? 1 : before.pose.qz);
		cr_assert_eq(after.twist.linear.x, i & 2 ? 0.5 * i : before.twist.linear.x);
		free(args);
	}
	static const struct {
		const char *args;
		int result;
	} wrong[] = {{"{'entity':'none','set_pose':true}", NOT_FOUND}, {"{'entity':'ball'}", FAILED},
		{"{'entity':'ball','set_acceleration':true,'set_pose':true}", UNSUPPORTED},
		{"{'entity':'ball','set_pose':true,'state':{'header':{'frame_id':'wall'}}}", UNSUPPORTED},
		{"{'entity':'ball','set_pose':true,'state':{'pose':{'orientation':{'w':0}}}}", 101},
		{"{'entity':'ball','set_pose':true,'state':{'pose':{'orientation':{'w':3}}}}", 101},
		{"{'entity':'ball','set_pose':true,'state':{'pose':{'position':{'x':null}}}}", 101},
		{"{'entity':'ball','set_pose':true,'state':{'pose':{'position':{'x':1e8}}}}", 101},
		{"{'entity':'ball','set_pose':true,'state':{'pose':{'position':{'x':1e300}}}}", 101},
		{"{'entity':'ball','set_pose':true,'state':{'pose':{'position':{'x':'1'}}}}", FAILED},
		{"{'entity':'ball','set_twist':true,'state':{'twist':{'linear':{'x':null}}}}", FAILED},
		{"{'entity':'ball','set_twist':true,'state':{'twist':{'linear':{'x':1e8}}}}", FAILED},
		{"{'entity':'wall','set_twist':true,'state':{'twist':{'linear':{'x':1}}}}", FAILED},
		{"{'entity':'ball','set_pose':true,'set_twist':true,'state':{'pose':{'position':{'x':9}},"
		 "'twist':{'linear':{'x':1e8}}}}",
			FAILED},
		{"{'entity':'ball','set_pose':true,'set_twist':true,'state':{'pose':{'position':{'x':1e8}},"
		 "'twist':{'linear':{'x':1}}}}",
			101},
		{"{'entity':'wall','set_pose':true,'set_twist':true,'state':{'pose':{'position':{'x':1e8}}}}", 101},
		{"{'entity':'wall','set_twist':true}", OK}};
	uint64_t hash = troupe_server_hash(rig.server);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		cr_assert_eq(ask(&rig, "/set_entity_state", wrong[i].args), wrong[i].result, "%s", wrong[i].args);
	cr_assert_eq(troupe_server_hash(rig.server), hash, "what is refused changes nothing");
	end(&rig);
}

#define RESOURCE                                                                                                       \
	"'entity_resource':{'resource_string':'<sdf version=`1.9`><model name=`box`><link name=`l`><inertial>"         \
	"<mass>1</mass></inertial></link></model></sdf>'}"

Test(simulation, spawns_and_deletes)
{
	static const struct {
		const char *args;
		int result;
		const char *name;
	} cases[] = {{"{" RESOURCE "}", OK, "box"}, {"{" RESOURCE "}", 101, ""},
		{"{'allow_renaming':true," RESOURCE "}", OK, "box_0"}, {"{'name':'k'," RESOURCE "}", OK, "k"},
		{"{'name':'k'," RESOURCE "}", 101, ""}, {"{'name':'k','allow_renaming':true," RESOURCE "}", OK, "k_0"},
		{"{'name':'n','entity_namespace':'/n'," RESOURCE "}", OK, "n"},
		{"{'name':'m','entity_namespace':'other'," RESOURCE "}", UNSUPPORTED, ""},
		{"{'name':'a::b'," RESOURCE "}", 102, ""}, {"{'name':'a\\n'," RESOURCE "}", 102, ""},
		{"{'name':'m'}", 104, ""}, {"{'name':'m','entity_resource':{'resource_string':'no'}}", 103, ""},
		{"{'name':'m','entity_resource':{'resource_string':'<sdf'}}", 106, ""},
		{"{'name':'m','entity_resource':{'uri':'x.usd'}}", 103, ""},
		{"{'name':'m','entity_resource':{'uri':'/none/at/all.sdf'}}", 107, ""},
		{"{'name':'m','initial_pose':{'pose':{'orientation':{'w':0}}}," RESOURCE "}", 109, ""},
		{"{'name':'m','initial_pose':{'pose':{'position':{'z':1e8}}}," RESOURCE "}", 109, ""},
		{"{'name':'m','initial_pose':{'pose':{'position':{'z':null}}}," RESOURCE "}", 109, ""},
		{"{'name':'m','initial_pose':{'header':{'frame_id':'none'}}," RESOURCE "}", 109, ""},
		{"{'name':3}", FAILED, ""},
		{"{'name':'r','initial_pose':{'header':{'frame_id':'wall'},'pose':{'position':{'z':3}}}," RESOURCE "}",
			OK, "r"}};
	struct rig rig = rig_of(WORLD_FILE);
	size_t count = 4;
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':0}}"), OK);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cr_assert_eq(ask(&rig, "/spawn_entity", cases[i].args), cases[i].result, "%s: %d, '%s'", cases[i].args,
			(int)number(&rig, "result.result"), text(&rig, "result.error_message"));
		cr_assert_str_eq(text(&rig, "entity_name"), cases[i].name, "%s", cases[i].args);
		count += cases[i].result == OK;
		cr_assert_eq(entities(&rig, "{}"), count, "%s", cases[i].args);
	}
	struct troupe_model_state wall = lib_at(rig.server, lib_model(rig.server, "wall"));
	struct troupe_model_state r = lib_at(rig.server, lib_model(rig.server, "r"));
	cr_assert(r.pose.x == wall.pose.x && r.pose.z == wall.pose.z + 3, "beside an entity");
	cr_assert_eq(ask(&rig, "/delete_entity", "{'entity':'k'}"), OK);
	cr_assert_eq(ask(&rig, "/delete_entity", "{'entity':'k'}"), NOT_FOUND);
	cr_assert_eq(ask(&rig, "/delete_entity", "{'entity':'wall'}"), OK);
	cr_assert_eq(entities(&rig, "{}"), count - 2);
	end(&rig);
}

Test(simulation, spawns_many_at_once)
{
	struct rig rig = rig_of(WORLD_FILE);
	struct text args = {0};
	start(&rig);
	cr_assert_eq(ask(&rig, "/spawn_entities", "{}"), OK);
	cr_assert_eq(ask(&rig, "/spawn_entities",
			     "{'spawn_requests':[{'name':'a'," RESOURCE "},{'name':'b'},{'name':'c'," RESOURCE "}]}"),
		150);
	cr_assert_str_eq(text(&rig, "result.error_message"), "1 of 3 entities were not spawned");
	cr_assert_eq(json_array_size(part(rig.values, "results")), 3u);
	cr_assert_eq((int)number(&rig, "results.1.result.result"), 104);
	cr_assert_str_eq(text(&rig, "results.2.entity_name"), "c");
	cr_assert_eq(entities(&rig, "{'filters':{'filter':'^[abc]$'}}"), 2u);
	text_add(&args, "{'spawn_requests':[");
	for (int i = 0; i <= SIMULATION_SPAWNS_MAX; i++)
		text_add(&args, "%s{'name':'many%d'," RESOURCE "}", i ? "," : "", i);
	text_add(&args, "]}");
	cr_assert_eq(ask(&rig, "/spawn_entities", args.at), FAILED);
	cr_assert_eq(entities(&rig, "{'filters':{'filter':'many'}}"), 0u);
	text_fini(&args);
	end(&rig);
}

/* --- resets ------------------------------------------------------------------------------------------------------- */

Test(simulation, resets_what_is_asked_for)
{
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	for (int scope = 0; scope < 8; scope++) {
		int does = scope ? scope : 7;
		char *args = mem_printf("{'scope':%d}", scope);
		cr_assert_eq(ask(&rig, "/spawn_entity", "{'name':'new'," RESOURCE "}"), OK);
		cr_assert_eq(ask(&rig, "/step_simulation", "{'steps':50}"), OK);
		double z = lib_at(rig.server, lib_model(rig.server, "ball")).pose.z;
		double time_s = troupe_server_progress(rig.server).time_s;
		cr_assert(z < 5 && time_s > 0);
		cr_assert_eq(ask(&rig, "/reset_simulation", args), OK, "%s", args);
		cr_assert_eq(troupe_server_progress(rig.server).time_s, does & 1 ? 0 : time_s, "%s", args);
		cr_assert_eq(lib_at(rig.server, lib_model(rig.server, "ball")).pose.z, does & 2 ? 5 : z, "%s", args);
		cr_assert_eq(entities(&rig, "{'filters':{'filter':'new'}}"), does & 4 ? 0u : 1u, "%s", args);
		cr_assert_eq(state_of(&rig), 2, "%s: it stays paused", args);
		cr_assert_eq(ask(&rig, "/reset_simulation", "{'scope':255}"), OK);
		free(args);
	}
	cr_assert_eq(ask(&rig, "/reset_simulation", "{'scope':8}"), UNSUPPORTED);
	cr_assert_eq(ask(&rig, "/reset_simulation", "{'scope':256}"), FAILED);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':1}}"), OK);
	cr_assert_eq(ask(&rig, "/reset_simulation", "{}"), OK);
	cr_assert_eq(state_of(&rig), 1, "it goes on");
	end(&rig);
}

/* --- the world, and troupe's own ---------------------------------------------------------------------------------- */

Test(simulation, gives_the_world_its_hash_and_its_seed)
{
	struct rig rig = rig_of(WORLD_FILE);
	char hash[17];
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	cr_assert_eq(ask(&rig, "/troupe/get_hash", ""), OK);
	(void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)troupe_server_hash(rig.server));
	cr_assert_str_eq(text(&rig, "hash"), hash);
	cr_assert_eq(ask(&rig, "/troupe/get_seed", ""), OK);
	cr_assert_str_eq(text(&rig, "seed"), "7");
	cr_assert_eq(ask(&rig, "/troupe/save", "{'name':'x'}"), FAILED); /* there is no folder for it */
	cr_assert_eq(ask(&rig, "/troupe/resume", "{'name':'../x'}"), FAILED);
	cr_assert_eq(ask(&rig, "/get_current_world", ""), OK);
	cr_assert_str_eq(text(&rig, "world.name"), "w");
	cr_assert(strstr(text(&rig, "world.world_resource.resource_string"), "<model name=\"ball\">"));
	end(&rig);
}

Test(simulation, each_of_several_worlds_has_its_own_services)
{
	struct rig rig = rig_of("<sdf version='1.9'><world name='one'>" LIB_HEAD LIB_GROUND
				"</world><world name='two'>" WORLD "</world></sdf>");
	start(&rig);
	cr_assert(!simulation_has_service(rig.simulation, "/get_entities"));
	cr_assert_eq(ask(&rig, "/one/get_entities", ""), OK);
	cr_assert_eq(json_array_size(part(rig.values, "entities")), 1u);
	cr_assert_eq(ask(&rig, "/two/get_entities", ""), OK);
	cr_assert_eq(json_array_size(part(rig.values, "entities")), 4u);
	cr_assert_eq(ask(&rig, "/one/set_simulation_state", "{'state':{'state':2}}"), OK);
	cr_assert_eq(ask(&rig, "/two/get_simulation_state", ""), OK);
	cr_assert_eq((int)number(&rig, "state.state"), 1);
	end(&rig);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static void count_answer(void *ctx, enum simulation_end how, const struct text *values)
{
	uint32_t *counts = ctx;
	(void)how;
	counts[strstr(values->at, "requests wait") ? 1 : 0]++;
}

Test(simulation, only_so_many_requests_wait)
{
	struct rig rig = rig_of(WORLD_FILE);
	uint32_t counts[2] = {0, 0};
	const struct simulation_asker asker = {.answer = count_answer, .ctx = counts};
	start(&rig);
	for (int i = 0; i < SIMULATION_CALLS_MAX + 10; i++)
		simulation_call(rig.simulation, "/get_simulation_state", NULL, &asker);
	cr_assert_eq(counts[1], 10u);
	pump(&rig);
	cr_assert_eq(counts[0], (uint32_t)SIMULATION_CALLS_MAX);
	cr_assert_eq(state_of(&rig), 1);
	end(&rig);
}

Test(simulation, numbers_of_steps_have_limits)
{
	static const char *const wrong[] = {"{'steps':0}", "{'steps':-1}", "{'steps':4294967296}", "{'steps':1.5}",
		"{'steps':'1'}", "{'steps':null}", "{'steps':[1]}", "{'step':1}", "[1]", "3", "{'steps':1e300}"};
	struct rig rig = rig_of(WORLD_FILE);
	start(&rig);
	cr_assert_eq(ask(&rig, "/set_simulation_state", "{'state':{'state':2}}"), OK);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		cr_assert_eq(ask(&rig, "/step_simulation", wrong[i]), FAILED, "%s", wrong[i]);
		cr_assert_eq(ask(&rig, "/simulate_steps", wrong[i]), FAILED, "%s", wrong[i]);
	}
	end(&rig);
}

/* --- controllers -------------------------------------------------------------------------------------------------- */

#define MANAGED(name)                                                                                                  \
	"<model name='" name "'><link name='l'><inertial><mass>1</mass></inertial></link>"                             \
	"<plugin filename='troupe' name='troupe::ControllerManager'><topic>/model/" name "/controller_manager</topic>" \
	"<controller>one a/A</controller><controller>two b/B</controller><switchable>two</switchable>"                 \
	"<claims>one first/position</claims><claims>one first/velocity</claims><claims>two second/position</claims>"   \
	"<claims>two second/velocity</claims><claims>two second/effort</claims>"                                       \
	"<command_interface>free/effort</command_interface><command_interface>second/effort</command_interface>"       \
	"<command_interface>first/position</command_interface><command_interface>first/velocity</command_interface>"   \
	"<command_interface>second/position</command_interface><command_interface>second/velocity</command_interface>" \
	"</plugin></model>"

static void expect_claims(struct rig *rig, const char *model, const char *expected)
{
	char *service = mem_printf("/%s/controller_manager/list_hardware_interfaces", model), claims[7] = "";
	(void)ask(rig, service, "{}");
	for (int i = 0; i < 6; i++) {
		char *path = mem_printf("command_interfaces.%d.is_claimed", i);
		claims[i] = json_is_true(part(rig->values, path)) ? 'x' : '-';
		free(path);
	}
	cr_assert_str_eq(claims, expected, "%s: %s", model, claims);
	free(service);
}

/* Each of the interfaces of each of two controllers, of two robots of which one is switched. */
Test(simulation, an_interface_is_claimed_by_the_controller_that_is_active)
{
	struct rig rig =
		rig_of("<sdf version='1.9'><world name='w'>" LIB_HEAD MANAGED("a") MANAGED("b") "</world></sdf>");
	start(&rig);
	expect_claims(&rig, "a", "-xxxxx");
	expect_claims(&rig, "b", "-xxxxx");
	(void)ask(&rig, "/b/controller_manager/switch_controller",
		"{'deactivate_controllers': ['two'], 'strictness': 2}");
	cr_assert(json_is_true(part(rig.values, "ok")));
	expect_claims(&rig, "a", "-xxxxx");
	expect_claims(&rig, "b", "--xx--");
	(void)ask(&rig, "/b/controller_manager/switch_controller",
		"{'deactivate_controllers': ['one'], 'strictness': 2}");
	cr_assert(!json_is_true(part(rig.values, "ok")), "one that cannot be switched");
	(void)ask(
		&rig, "/b/controller_manager/switch_controller", "{'activate_controllers': ['two'], 'strictness': 2}");
	expect_claims(&rig, "b", "-xxxxx");
	end(&rig);
}
