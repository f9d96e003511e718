/* Systems that act on events: TouchPlugin, TriggeredPublisher, PerformerDetector, LinearBatteryPlugin,
 * KineticEnergyMonitor, Breadcrumbs, CommsEndpoint, PerfectComms, RFComms, AcousticComms, as subscribers and commands
 * see them, against the formulas of their documentation. */
#include "clients.h"

#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/scene.pb-c.h"
#include "topic/sensor.pb-c.h"

#define HEAD "<sdf version='1.9'><world name='w'>" LIB_HEAD LIB_GROUND
#define END "</world></sdf>"
#define PLUGIN(name, what) "<plugin name='gz::sim::systems::" name "' filename='x'>" what "</plugin>"
/* A box that lies on the ground, 1 mm in it, so that it touches in the first step. */
#define LYING(name, x, what) "<model name='" name "'><pose>" x " 0 0.249 0 0 0</pose>" LIB_BOX what "</model>"
#define DRIVEN(name, pose, what)                                                                                       \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><gravity>0</gravity></link>" what LIB_DRIVEN "</"  \
	"model>"

static struct troupe_server *server;
static struct troupe_client *client;

static void stop(void)
{
	client_destroy(client);
	lib_destroy(server);
	client = NULL;
	server = NULL;
}

TestSuite(systems_event, .fini = stop, .timeout = 60);

static void start(const char *world)
{
	stop();
	server = lib_server(world, 2);
	client = client_of(server, 4096);
}

/* Takes all messages; returns how many are of the topic. *ret_last, NULL is fine: the last of them, to be freed. */
static uint32_t take(const char *topic, uint64_t *ret_step, void **ret_last)
{
	struct troupe_message message;
	uint32_t count = 0;
	while (troupe_client_take(client, 0, &message)) {
		if (message.is_reply || strcmp(message.topic, topic) != 0)
			continue;
		count++;
		if (ret_step)
			*ret_step = message.step;
		if (ret_last) {
			message_free(*ret_last);
			*ret_last = decode(&message);
		}
	}
	return count;
}

static void near(const char *what, double is, double expected, double tolerance)
{
	cr_assert(fabs(is - expected) <= tolerance, "%s is %.17g, not %.17g", what, is, expected);
}

/* --- TouchPlugin -------------------------------------------------------------------------------------------------- */

#define TOUCH_S 1.2 /* longer than the box needs to fall asleep */
#define TOUCH(enabled)                                                                                                 \
	PLUGIN("TouchPlugin",                                                                                          \
		"<target>ground::l</target><time>1.2</time><namespace>probe</namespace><enabled>" enabled              \
		"</enabled>")

Test(systems_event, a_touch_is_told_once_when_it_has_lasted)
{
	uint64_t step = 0;
	void *last = NULL;
	start(HEAD LYING("box", "0", TOUCH("true")) END);
	subscribe(client, "/probe/touched", 0);
	lib_run(server, (uint64_t)(TOUCH_S / LIB_DT_S));
	cr_assert_eq(take("/probe/touched", NULL, NULL), 0);
	lib_step(server, 2000);
	cr_assert_eq(take("/probe/touched", &step, &last), 1);
	cr_assert(((Gz__Msgs__Boolean *)last)->data);
	/* it is known from state 1 on, must last longer than the time, and is published by the step after */
	near("the time", (double)step * LIB_DT_S, TOUCH_S + 2 * LIB_DT_S, 1.5 * LIB_DT_S);
	message_free(last);
}

Test(systems_event, a_touch_is_asked_for_again)
{
	uint64_t step = 0;
	start(HEAD LYING("box", "0", TOUCH("false")) END);
	subscribe(client, "/probe/touched", 0);
	lib_run(server, 2000);
	cr_assert_eq(take("/probe/touched", NULL, NULL), 0);
	lib_text(server, 2000, "/probe/enable", "data: true");
	lib_run(server, 4000);
	cr_assert_eq(take("/probe/touched", &step, NULL), 1);
	near("the time", (double)step * LIB_DT_S, 2 + TOUCH_S + 2 * LIB_DT_S, 1.5 * LIB_DT_S);
	lib_text(server, 4000, "/probe/enable", "data: true");
	lib_text(server, 4100, "/probe/enable", "data: false");
	lib_run(server, 6000);
	cr_assert_eq(take("/probe/touched", NULL, NULL), 0);
}

Test(systems_event, only_a_target_counts_and_a_break_begins_anew)
{
	start(HEAD LYING("box", "0",
		PLUGIN("TouchPlugin", "<target>other</target><time>0.1</time><namespace>no</namespace>"
				      "<enabled>1</enabled>") TOUCH("true")) END);
	subscribe(client, "/no/touched", 0);
	subscribe(client, "/probe/touched", 0);
	/* it is lifted for a moment, at 1 s, and falls back */
	lib_text(server, 1000, "/world/w/set_pose", "name: 'box' position {z: 0.3}");
	lib_run(server, 2100);
	cr_assert_eq(take("/probe/touched", NULL, NULL), 0);
	lib_run(server, 2500);
	cr_assert_eq(take("/probe/touched", NULL, NULL), 1);
}

/* --- TriggeredPublisher ------------------------------------------------------------------------------------------- */

#define TRIGGER(input, output) PLUGIN("TriggeredPublisher", input output)
#define IN(type, match) "<input type='gz.msgs." type "' topic='/in'>" match "</input>"
#define OUT "<output type='gz.msgs.Double' topic='/out'>data: 2.5</output>"

/* The number of outputs after one message. */
static uint32_t outputs(const char *world, const char *text)
{
	uint32_t count;
	start(world);
	subscribe(client, "/out", 0);
	lib_text(server, 3, "/in", text);
	lib_run(server, 10);
	count = take("/out", NULL, NULL);
	return count;
}

Test(systems_event, a_trigger_fires_when_all_matches_hold)
{
	static const char any[] = HEAD TRIGGER(IN("Double", ""), OUT) END;
	static const char number[] =
		HEAD TRIGGER(IN("Twist", "<match field='linear.x' tol='0.1'>1.5</match>"
					 "<match field='angular.z' logic_type='negative'>2</match>"),
			OUT) END;
	cr_assert_eq(outputs(any, "data: 7"), 1);
	cr_assert_eq(outputs(number, "linear {x: 1.5}"), 1);
	cr_assert_eq(outputs(number, "linear {x: 1.41} angular {z: 3}"), 1);
	cr_assert_eq(outputs(number, "linear {x: 1.39}"), 0);
	cr_assert_eq(outputs(number, "linear {x: 1.5} angular {z: 2}"), 0);
	cr_assert_eq(outputs(number, "angular {z: 1}"), 0);
	/* without a tolerance the last digits need not be the same */
	static const char nearly[] = HEAD TRIGGER(IN("Twist", "<match field='linear.x'>0.3</match>"), OUT) END;
	cr_assert_eq(outputs(nearly, "linear {x: 0.30000000000000004}"), 1);
	cr_assert_eq(outputs(nearly, "linear {x: 0.3000001}"), 0);
}

Test(systems_event, a_trigger_compares_messages_parts_and_lists)
{
	static const char whole[] = HEAD TRIGGER(IN("Boolean", "<match>data: true</match>"), OUT) END;
	static const char part[] = HEAD TRIGGER(IN("Twist", "<match field='linear'>x: 1 y: 2</match>"), OUT) END;
	static const char list[] =
		HEAD TRIGGER(IN("Int32_V", "<match field='data'>1</match><match field='data'>2</match>"), OUT) END;
	static const char text[] = HEAD TRIGGER(IN("StringMsg", "<match field='data'>\"go\"</match>"), OUT) END;
	cr_assert_eq(outputs(whole, "data: true"), 1);
	cr_assert_eq(outputs(whole, "data: false"), 0);
	cr_assert_eq(outputs(part, "linear {x: 1 y: 2} angular {z: 5}"), 1);
	cr_assert_eq(outputs(part, "linear {x: 1}"), 0);
	cr_assert_eq(outputs(list, "data: [3, 2, 1]"), 1);
	cr_assert_eq(outputs(list, "data: [1, 3]"), 0);
	cr_assert_eq(outputs(text, "data: 'go'"), 1);
	cr_assert_eq(outputs(text, "data: 'gone'"), 0);
}

/* One type of number and one choice each; a tolerance holds to its edge, and for a second value of a list, too. */
Test(systems_event, a_trigger_compares_each_type_of_value)
{
	static const struct {
		const char *world, *text;
		uint32_t expected;
	} cases[] = {
#define CASE(type, match, text, expected)                                                                              \
	{HEAD TRIGGER(IN(type, "<match field='" match "</match>"), OUT) END, text, expected}
		CASE("Float", "data' tol='0.25'>1.5", "data: 1.75", 1),
		CASE("Float", "data' tol='0.25'>1.5", "data: 1.25", 1),
		CASE("Float", "data' tol='0.25'>1.5", "data: 1.75001", 0),
		CASE("Float_V", "data' tol='0.5'>2", "data: [9, 2.5]", 1),
		CASE("Float_V", "data' tol='0.5'>2", "data: [9, 2.75]", 0),
		CASE("UInt32", "data'>4294967295", "data: 4294967295", 1),
		CASE("UInt32", "data'>4294967295", "data: 1", 0),
		CASE("Int32", "data'>-7", "data: -7", 1),
		CASE("Int32", "data'>-7", "data: 7", 0),
		CASE("UInt64", "data'>18446744073709551615", "data: 18446744073709551615", 1),
		CASE("UInt64", "data'>18446744073709551615", "data: 18446744073709551614", 0),
		CASE("Bytes", "data'>\"ab\"", "data: 'ab'", 1),
		CASE("Bytes", "data'>\"ab\"", "data: 'ac'", 0),
		CASE("Bytes", "data'>\"ab\"", "data: 'abc'", 0),
		CASE("Bytes", "data'>\"ab\"", "", 0),
		CASE("Entity", "type'>LINK", "type: LINK", 1),
		CASE("Entity", "type'>LINK", "type: MODEL", 0),
		CASE("EntityFactory", "clone_name'>\"a\"", "clone_name: 'a'", 1),
		CASE("EntityFactory", "clone_name'>\"a\"", "sdf: 'a'", 0),
		CASE("EntityFactory", "light.intensity'>2", "light {intensity: 2}", 1),
		CASE("EntityFactory", "light.intensity'>2", "clone_name: 'a'", 0),
		CASE("EntityFactory", "light.pose.position.x'>2", "light {pose {position {x: 2}}}", 1),
		CASE("EntityFactory", "light.pose.position.x'>2", "clone_name: 'a'", 0),
		CASE("EntityFactory", "pose.position.x'>2", "pose {position {x: 2}}", 1),
		CASE("EntityFactory", "pose.position.x'>2", "pose {}", 0),
		CASE("EntityFactory", "pose.position.x'>2", "", 0),
#undef CASE
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_eq(outputs(cases[i].world, cases[i].text), cases[i].expected, "%s, %s", cases[i].world,
			cases[i].text);
}

/* What a system of the world, not of a model, waits for is forgotten. */
Test(systems_event, a_reset_takes_the_words_of_the_world_back)
{
	start(HEAD TRIGGER(IN("Empty", ""), "<delay_ms>50</delay_ms>" OUT) END);
	uint64_t first = troupe_server_hash(server);
	subscribe(client, "/out", 0);
	for (int reset = 0; reset < 2; reset++) {
		lib_text(server, 0, "/in", "");
		lib_step(server, 20);
		cr_assert_neq(troupe_server_hash(server), first, "it waits");
		lib_text(server, 0, "/world/w/control", "reset {all: true} pause: true");
		lib_step(server, 1);
		cr_assert_eq(troupe_server_hash(server), first);
		lib_text(server, 0, "/world/w/control", "pause: false");
		lib_step(server, 100);
		cr_assert_eq(take("/out", NULL, NULL), 0);
	}
	lib_text(server, 0, "/in", "");
	lib_step(server, 100);
	cr_assert_eq(take("/out", NULL, NULL), 1);
}

/* One trigger starts a robot, another, later, asks a service. Each takes a step for the message to come in. */
Test(systems_event, a_trigger_drives_after_its_delay_and_asks_services)
{
	start(HEAD DRIVEN("bot", "0 0 5 0 0 0", "") DRIVEN("other", "0 5 5 0 0 0", "") TRIGGER(IN("Empty", ""),
		"<delay_ms>250</delay_ms><output type='gz.msgs.Twist' "
		"topic='/model/bot/cmd_vel'>linear {x: 2}</output>") TRIGGER(IN("Empty", ""),
		"<service name='/world/w/set_pose' reqType='gz.msgs.Pose' repType='gz.msgs.Boolean' "
		"timeout='100' reqMsg='name: \"other\" position {x: 9 z: 5}'/>") END);
	lib_text(server, 99, "/in", "");
	lib_run(server, 350);
	near("at rest, x", lib_at(server, lib_model(server, "bot")).pose.x, 0, 0);
	near("placed, x", lib_at(server, lib_model(server, "other")).pose.x, 9, 1e-12);
	lib_run(server, 1350);
	near("x", lib_at(server, lib_model(server, "bot")).pose.x, 2 * 1.0, 1e-9);
}

/* What the run publishes is heard from the state in which it is so, by the step after. */
static void heard(const char *models, const char *input, uint64_t steps, uint32_t expected, uint64_t expected_step)
{
	uint64_t step = 0;
	char *world = mem_printf(HEAD "%s" PLUGIN("TriggeredPublisher", "%s" OUT) END, models, input);
	start(world);
	subscribe(client, "/out", 0);
	lib_run(server, steps);
	uint32_t count = take("/out", &step, NULL);
	cr_assert_eq(count, expected, "%s: %u", input, count);
	cr_assert_eq(step, expected_step, "%s: %d", input, (int)step);
	free(world);
}

#define GOES(what)                                                                                                     \
	"<model name='bot'><pose>0 0 5 0 0 0</pose><link name='l'><gravity>0</gravity>" what                           \
	"</link><plugin name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>2 0 0</initial_linear>"  \
	"</plugin>" PLUGIN("OdometryPublisher", "") PLUGIN("JointStatePublisher", "")                                  \
		PLUGIN("PosePublisher", "<publish_link_pose>false</publish_link_pose><publish_model_pose>1"            \
					"</publish_model_pose>") "</model>"
#define FROM(type, topic, match) "<input type='gz.msgs." type "' topic='" topic "'>" match "</input>"

/* At 2 m/s the model is at 1 m after 500 steps; odometry comes 50 times a second, poses in each step. */
Test(systems_event, a_trigger_hears_odometry_and_poses)
{
	const double speed = 2;
	uint64_t at_1_m = (uint64_t)(1 / speed / LIB_DT_S + 0.5);
	heard(GOES(""), FROM("Odometry", "/model/bot/odometry", "<match field='pose.position.x' tol='0.019'>1</match>"),
		1000, 1, at_1_m + 2);
	heard(GOES(""), FROM("Pose", "/model/bot/pose", "<match field='position.x' tol='0.0009'>1</match>"), 1000, 1,
		at_1_m + 2);
	heard(GOES(""), FROM("Odometry", "/model/bot/odometry", ""), 100, 5, 82);
	heard(GOES(""), FROM("Model", "/world/w/model/bot/joint_state", ""), 100, 99, 100);
	heard(GOES(""), FROM("Pose_V", "/world/w/dynamic_pose/info", ""), 100, 6, 86);
}

/* A sensor measures because it is heard, and as often as it says: first after its first period. */
Test(systems_event, a_trigger_hears_sensors)
{
	heard(GOES("<sensor name='high' type='altimeter'><update_rate>10</update_rate><topic>/high</topic></sensor>"),
		FROM("Altimeter", "/high", "<match field='vertical_position'>0</match>"), 250, 2, 202);
	heard(GOES("<sensor name='imu' type='imu'><update_rate>100</update_rate><topic>/imu</topic></sensor>"),
		FROM("IMU", "/imu", "<match field='angular_velocity.x' tol='1e-6'>0</match>"), 95, 9, 92);
}

static char warned[8][512];
static uint32_t warnings;

static void keep_warning(void *ctx, const char *text)
{
	(void)ctx;
	if (warnings < 8)
		(void)snprintf(warned[warnings++], sizeof *warned, "%s", text);
}

/* Topics with the time of the day or of another type are not heard: a warning says where. */
Test(systems_event, a_trigger_says_what_it_does_not_hear)
{
	static const char world[] = HEAD "\n" TRIGGER(FROM("Clock", "/world/w/clock", ""), OUT) "\n" TRIGGER(
		FROM("Boolean", "/model/bot/odometry", ""), OUT) "\n" TRIGGER(FROM("Boolean", "/nobody", ""), OUT)
		GOES("") END;
	struct troupe_server_def def = lib_def(world, 0);
	def.on_warning = keep_warning;
	server = lib_create(&def);
	client = client_of(server, 4096);
	subscribe(client, "/out", 0);
	lib_run(server, 100);
	cr_assert_eq(take("/out", NULL, NULL), 0);
	cr_assert_eq(warnings, 2);
	bool clock_first = strstr(warned[0], "clock") != NULL;
	cr_assert(strstr(warned[!clock_first], "library.sdf:2:") && strstr(warned[!clock_first], "more than the state"),
		"%s", warned[!clock_first]);
	cr_assert(strstr(warned[clock_first], "library.sdf:3:") &&
			  strstr(warned[clock_first], "they are gz.msgs.Odometry: expected gz.msgs.Boolean"),
		"%s", warned[clock_first]);
}

Test(systems_event, triggers_wait_in_order_and_their_number_is_bounded)
{
	start(HEAD TRIGGER(IN("Empty", ""), "<delay_ms>50</delay_ms>" OUT) END);
	subscribe(client, "/out", 0);
	for (uint64_t i = 0; i < 30; i++)
		lib_text(server, i, "/in", "");
	lib_run(server, 1 + 50 + 10);
	cr_assert_eq(take("/out", NULL, NULL), 10);
	lib_run(server, 200);
	cr_assert_eq(take("/out", NULL, NULL), 20);
}

/* --- PerformerDetector -------------------------------------------------------------------------------------------- */

static const char *header_data(const Gz__Msgs__Pose *pose, const char *key)
{
	for (size_t i = 0; pose->header && i < pose->header->n_data; i++)
		if (!strcmp(pose->header->data[i]->key, key))
			return pose->header->data[i]->value[0];
	return "";
}

Test(systems_event, a_performer_is_told_when_it_enters_and_leaves)
{
	const double half_m = 2, speed = 4, at_m = 5, performer_half_m = 0.5;
	const double enters_s = (at_m - half_m - performer_half_m) / speed;
	const double leaves_s = (at_m + half_m + performer_half_m) / speed;
	uint64_t step = 0;
	void *last = NULL;
	start(HEAD
		"<plugin name='gz::sim' filename='x'><performer name='p'><ref>bot</ref><geometry><box><size>1 1 1"
		"</size></box></geometry></performer></plugin>" DRIVEN("bot", "0 0 5 0 0 0", "") DRIVEN("stranger",
			"5 0 5 0 0 0",
			"") "<model name='gate'><static>1</static><pose>4 0 5 0 0 "
			    "1.5707963267948966</pose><link name='l'/>" PLUGIN("PerformerDetector",
				    "<pose>0 -1 0 0 0 0</pose><geometry><box><size>4 4 4</size></box></geometry>"
				    "<header_data><key>what</key><value>a gate</value></header_data>") "</model>" END);
	subscribe(client, "/model/gate/performer_detector/status", 0);
	lib_text(server, 0, "/model/bot/cmd_vel", "linear {x: 4}");
	lib_run(server, 1000);
	cr_assert_eq(take("/model/gate/performer_detector/status", &step, &last), 1);
	const Gz__Msgs__Pose *pose = last;
	near("enters at", (double)step * LIB_DT_S, enters_s, 2.5 * LIB_DT_S);
	cr_assert_str_eq(pose->name, "bot");
	cr_assert_str_eq(header_data(pose, "frame_id"), "gate");
	cr_assert_str_eq(header_data(pose, "state"), "1");
	cr_assert_str_eq(header_data(pose, "count"), "1");
	cr_assert_str_eq(header_data(pose, "what"), "a gate");
	/* the gate is turned to the left: what is before it in the world is at its right */
	near("relative y", pose->position->y, 4 - enters_s * speed, 0.02);
	lib_run(server, 3000);
	cr_assert_eq(take("/model/gate/performer_detector/status", &step, &last), 1);
	near("leaves at", (double)step * LIB_DT_S, leaves_s, 2.5 * LIB_DT_S);
	cr_assert_str_eq(header_data(last, "state"), "0");
	cr_assert_str_eq(header_data(last, "count"), "0");
	message_free(last);
}

/* --- LinearBatteryPlugin ------------------------------------------------------------------------------------------ */

#define STATE "/model/bot/battery/b/state"
#define BATTERY(what)                                                                                                  \
	PLUGIN("LinearBatteryPlugin",                                                                                  \
		"<battery_name>b</battery_name><voltage>12</voltage>"                                                  \
		"<open_circuit_voltage_constant_coef>12</open_circuit_voltage_constant_coef>" what)

static Gz__Msgs__BatteryState battery(void)
{
	void *last = NULL;
	cr_assert_gt(take(STATE, NULL, &last), 0);
	Gz__Msgs__BatteryState state = *(Gz__Msgs__BatteryState *)last;
	message_free(last);
	state.header = NULL;
	return state;
}

/* The charge after n steps, by the sums of the documentation. */
Test(systems_event, a_battery_drains_by_its_formula)
{
	const double load = 500, e0 = 12, e1 = -3, c = 1.2, r = 0.06, tau = 0.5;
	double q = 1.1, v = 12, i = 0;
	start(HEAD DRIVEN("bot", "0 0 5 0 0 0",
		BATTERY("<open_circuit_voltage_linear_coef>-3</open_circuit_voltage_linear_coef><initial_charge>1.1</"
			"initial_charge><capacity>1.2</capacity><resistance>0.06</resistance><smooth_current_tau>0.5</"
			"smooth_current_tau><power_load>500</power_load><power_draining_topic>/go</"
			"power_draining_topic>"
			"<stop_power_draining_topic>/halt</stop_power_draining_topic>")) END);
	subscribe(client, STATE, 0);
	lib_run(server, 100);
	cr_assert_eq(battery().charge, 1.1, "nothing has started it");
	lib_text(server, 100, "/go", "data: 'x'");
	lib_run(server, 1100);
	for (int n = 0; n < 1000; n++) {
		i += LIB_DT_S / tau * (load / v - i);
		q -= i * LIB_DT_S / 3600;
		v = e0 + e1 * (1 - q / c) - r * i;
	}
	Gz__Msgs__BatteryState state = battery();
	near("charge", state.charge, q, 1e-12);
	near("current", state.current, i, 1e-9);
	near("voltage", state.voltage, v, 1e-9);
	near("percentage", state.percentage, q / c, 1e-9);
	cr_assert_eq(state.capacity, c);
	cr_assert_eq(state.power_supply_status, GZ__MSGS__BATTERY_STATE__POWER_SUPPLY_STATUS__DISCHARGING);
	lib_text(server, 1100, "/halt", "data: 'x'");
	lib_run(server, 2000);
	near("charge after the end", battery().charge, q, 1e-12);
}

/* Without resistance and filter the current is P / V, so it is empty after q V 3600 / P. */
Test(systems_event, an_empty_battery_lets_go_of_joints_and_is_recharged)
{
	const double charge = 0.001, load = 86.4, empty_s = charge * 12 * 3600 / load;
	start(HEAD "<model name='bot'><link name='a'><gravity>0</gravity></link><link name='b'><gravity>0</gravity>"
		   "<inertial><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>"
		   "<joint name='fix' type='fixed'><parent>world</parent><child>a</child></joint>"
		   "<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>"
		   "</joint>" BATTERY("<initial_charge>0.001</initial_charge><capacity>0.002</capacity>"
				      "<smooth_current_tau>0.001</smooth_current_tau><power_load>86.4</power_load>"
				      "<enable_recharge>1</enable_recharge><charging_time>0.0001</charging_time>")
			   PLUGIN("ApplyJointForce", "<joint_name>j</joint_name>") "</model>" END);
	subscribe(client, STATE, 0);
	troupe_joint joint = lib_joint(server, "bot", "j");
	lib_text(server, 0, "/model/bot/joint/j/cmd_force", "data: 1");
	lib_run(server, 2000);
	/* it turns with 1 N m / 1 kg m^2 until then */
	near("empty after", lib_joint_at(server, joint).velocity[0], empty_s, 3 * LIB_DT_S);
	cr_assert_leq(battery().charge, 0);
	lib_text(server, 2000, "/model/bot/battery/b/recharge/start", "data: true");
	lib_run(server, 2100);
	Gz__Msgs__BatteryState state = battery();
	cr_assert_eq(state.power_supply_status, GZ__MSGS__BATTERY_STATE__POWER_SUPPLY_STATUS__CHARGING);
	/* c / t = 20 A, less P / V, for 100 ms; a few steps at the beginning are without the load */
	near("charge", state.charge, (20 - load / 12) * 0.1 / 3600, 3 * 20 * LIB_DT_S / 3600);
}

/* Of two robots in one model each has its own battery: an empty one lets go of the joints of its robot alone. */
Test(systems_event, an_empty_battery_leaves_the_robot_beside_it)
{
#define TURNTABLE(name, charge)                                                                                        \
	"<model name='" name "'><link name='a'><gravity>0</gravity></link><link name='b'><gravity>0</gravity>"         \
	"<inertial><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>"                          \
	"<joint name='fix' type='fixed'><parent>world</parent><child>a</child></joint>"                                \
	"<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>"              \
	"</joint>" BATTERY("<initial_charge>" charge "</initial_charge><capacity>1</capacity>"                         \
			   "<smooth_current_tau>0.001</smooth_current_tau><power_load>86.4</power_load>")              \
		PLUGIN("ApplyJointForce", "<joint_name>j</joint_name><topic>/" name "/force</topic>") "</model>"
	static const char *const robots[] = {"one", "two"};
	for (size_t empty = 0; empty < 2; empty++) {
		char *models =
			mem_printf(HEAD "<model name='cell'><pose>0 0 5 0 0 0</pose><link name='l'/>%s%s</model>" END,
				empty ? TURNTABLE("one", "1") : TURNTABLE("one", "0.0001"),
				empty ? TURNTABLE("two", "0.0001") : TURNTABLE("two", "1"));
		start(models);
		lib_text(server, 0, "/one/force", "data: 1");
		lib_text(server, 0, "/two/force", "data: 1");
		lib_run(server, 2000);
		for (size_t i = 0; i < 2; i++) {
			char *name = mem_printf("%s::j", robots[i]);
			double rate = lib_joint_at(server, lib_joint(server, "cell", name)).velocity[0];
			cr_assert_eq(rate < 1, i == empty, "%s, %s empty: %g rad/s", robots[i], robots[empty], rate);
			free(name);
		}
		free(models);
	}
}

/* A joint that is driven starts it for good, also where the world names topics, or says that it does not drain from the
 * beginning. 1 A: 1 / 3.6e6 Ah in a step. */
Test(systems_event, a_robot_that_has_moved_drains_its_battery_when_it_stands)
{
#define STANDS(more)                                                                                                   \
	HEAD "<model name='bot'><link name='a'><gravity>0</gravity></link><link name='b'><gravity>0</gravity></link>"  \
	     "<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 "                       \
	     "1</xyz></axis></joint>" BATTERY(                                                                         \
		     "<capacity>1</capacity><power_load>12</power_load><smooth_current_tau>0.001</"                    \
		     "smooth_current_tau><fix_issue_225>1</fix_issue_225>" more)                                       \
		     PLUGIN("ApplyJointForce", "<joint_name>j</joint_name>") "</model>" END
	static const struct {
		const char *world;
		double drained_a_s; /* A s */
	} cases[] = {{STANDS(""), 0.9}, {STANDS("<start_draining>false</start_draining>"), 0.9},
		{STANDS("<power_draining_topic>/go</power_draining_topic>"), 0.9},
		{STANDS("<stop_power_draining_topic>/halt</stop_power_draining_topic>"), 0.4},
		{STANDS("<start_on_motion>false</start_on_motion>"), 0}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		start(cases[i].world);
		subscribe(client, STATE, 0);
		lib_text(server, 100, "/model/bot/joint/j/cmd_force", "data: 1");
		lib_text(server, 200, "/model/bot/joint/j/cmd_force", "data: 0");
		if (strstr(cases[i].world, "/halt"))
			lib_text(server, 500, "/halt", "");
		lib_run(server, 1000);
		Gz__Msgs__BatteryState state = battery();
		near("drained", (1 - state.charge) * 3600, cases[i].drained_a_s, 21 * LIB_DT_S);
		near("percentage", state.percentage, 100 * state.charge, 1e-9);
	}
}

/* Messages of each type start and stop it: a command that a drive takes as well, and what the run itself publishes. */
Test(systems_event, messages_of_each_type_start_a_battery)
{
#define DRAINS(topic, what)                                                                                            \
	DRIVEN("bot", "0 0 5 0 0 0",                                                                                   \
		BATTERY("<capacity>1</capacity><power_load>12</power_load><invert_current_sign>true</"                 \
			"invert_current_sign>"                                                                         \
			"<power_draining_topic>" topic "</power_draining_topic>") what)
	start(HEAD DRAINS("/model/bot/cmd_vel", "") END);
	subscribe(client, STATE, 0);
	lib_run(server, 100);
	cr_assert_eq(battery().charge, 1);
	lib_text(server, 100, "/model/bot/cmd_vel", "linear {x: 1}");
	lib_run(server, 5000);
	Gz__Msgs__BatteryState state = battery();
	near("current", state.current, -1, 0.05);
	near("x", lib_at(server, lib_model(server, "bot")).pose.x, 4.9, 1e-9);
	start(HEAD DRAINS("/model/bot/odometry", PLUGIN("OdometryPublisher", "")) END);
	subscribe(client, STATE, 0);
	lib_run(server, 5000);
	near("current", battery().current, -1, 0.05);
}

/* A thruster adds its load to the battery that it names, and pushes until the battery is empty. */
Test(systems_event, an_empty_battery_stops_a_thruster)
{
	const double charge = 0.001, load = 86.4, empty_s = charge * 12 * 3600 / load;
#define THRUSTER(battery, load)                                                                                        \
	PLUGIN("Thruster", "<joint_name>j</joint_name><thrust_coefficient>0.005</thrust_coefficient>"                  \
			   "<propeller_diameter>0.25</propeller_diameter><velocity_control>true</velocity_control>"    \
			   "<battery_name>" battery "</battery_name><power_load>" load "</power_load>")
	start(HEAD "<model name='bot'><pose>0 0 5 0 0 0</pose><link name='a'><gravity>0</gravity></link><link name='b'>"
		   "<gravity>0</gravity></link><joint name='j' type='revolute'><parent>a</parent><child>b</child><axis>"
		   "<xyz>1 0 0</xyz></axis></joint>" THRUSTER("b", "80") BATTERY(
			   "<initial_charge>0.001</initial_charge><capacity>0.002</capacity><smooth_current_tau>0.001</"
			   "smooth_current_tau><power_load>6.4</power_load>")
			   PLUGIN("ApplyJointForce", "<joint_name>j</joint_name>") "</model>" END);
	lib_text(server, 0, "/model/bot/joint/j/cmd_thrust", "data: 2");
	lib_run(server, 2000);
	/* two links of 1 kg */
	near("speed", lib_at(server, lib_model(server, "bot")).twist.linear.x, empty_s * 2 / 2, 5 * LIB_DT_S);
}

/* Those of nested models count, equal ones, too, and so does what stands between them. */
Test(systems_event, each_thruster_has_its_load)
{
#define NESTED(name, load)                                                                                             \
	"<model name='" name "'><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent>a</parent>"    \
	"<child>b</child><axis><xyz>1 0 0</xyz></axis></joint>" THRUSTER("b", load) "</model>"
	start(HEAD "<model name='bot'><pose>0 0 5 0 0 0</pose><link name='l'/>" BATTERY(
		"<capacity>1</capacity><power_load>2</power_load><smooth_current_tau>0.001</smooth_current_tau>"
		"<power_draining_topic>/go</power_draining_topic>") NESTED("one", "3") NESTED("two", "4")
			NESTED("three", "3") "</model>" END);
	lib_text(server, 0, "/go", "");
	subscribe(client, STATE, 0);
	lib_run(server, 100);
	near("current", fabs(battery().current), 1, 0.05);
}

/* --- KineticEnergyMonitor ----------------------------------------------------------------------------------------- */

Test(systems_event, a_blow_is_told_with_its_energy)
{
	const double mass = 1, height = 2, g = 9.8;
	uint64_t step = 0;
	void *last = NULL;
	start(HEAD "<model name='ball'><pose>0 0 2.5 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial>"
		   "<collision "
		   "name='c'><geometry><sphere><radius>0.5</radius></sphere></geometry></collision></link>" PLUGIN(
			   "KineticEnergyMonitor", "<link_name>l</link_name><kinetic_energy_threshold>2</"
						   "kinetic_energy_threshold>") "</model>" END);
	subscribe(client, "/model/ball/kinetic_energy", 0);
	lib_run(server, 1500);
	cr_assert_eq(take("/model/ball/kinetic_energy", &step, &last), 1);
	near("the time", (double)step * LIB_DT_S, sqrt(2 * height / g), 4 * LIB_DT_S);
	near("the energy", ((Gz__Msgs__Double *)last)->data, mass * g * height, 0.02 * mass * g * height);
	message_free(last);
}

/* A blow that gives energy, and not takes it, is not told. */
Test(systems_event, a_link_that_gains_energy_is_not_told_of)
{
	start(HEAD "<model name='ball'><pose>0 0 5 0 0 0</pose><link name='l'/>" PLUGIN("KineticEnergyMonitor",
		"<link_name>l</link_name><kinetic_energy_threshold>2</kinetic_energy_threshold>") "</model>" END);
	void *last = NULL;
	subscribe(client, "/model/ball/kinetic_energy", 0);
	lib_text(server, 10, "/world/w/set_velocity", "name: 'ball' linear {x: 10}");
	lib_run(server, 20);
	cr_assert_eq(take("/model/ball/kinetic_energy", NULL, NULL), 0);
	lib_text(server, 20, "/world/w/set_velocity", "name: 'ball' linear {x: 0}");
	lib_run(server, 30);
	cr_assert_eq(take("/model/ball/kinetic_energy", NULL, &last), 1);
	near("the energy", ((Gz__Msgs__Double *)last)->data, 0.5 * 10 * 10, 0.1);
	message_free(last);
}

/* --- Breadcrumbs ------------------------------------------------------------------------------------------------- */

#define CRUMB                                                                                                          \
	"<breadcrumb><sdf version='1.9'><model name='c'><pose>-1 0 0.5 0 0 0</pose><link "                             \
	"name='l'/></model></sdf></breadcrumb>"
#define DEPLOY "/model/bot/breadcrumbs/c/deploy"

Test(systems_event, breadcrumbs_lie_where_the_model_was)
{
	const double quarter = acos(-1) / 2;
	void *last = NULL;
	start(HEAD DRIVEN("bot", "3 4 5 0 0 1.5707963267948966",
		PLUGIN("Breadcrumbs", "<max_deployments>2</max_deployments>" CRUMB)) END);
	subscribe(client, DEPLOY "/remaining", 0);
	lib_text(server, 10, DEPLOY, "");
	lib_text(server, 10, "/model/bot/cmd_vel", "linear {x: 2}");
	lib_run(server, 511);
	cr_assert_eq(take(DEPLOY "/remaining", NULL, &last), 1);
	cr_assert_eq(((Gz__Msgs__Int32 *)last)->data, 1);
	for (uint64_t i = 0; i < 2; i++)
		lib_text(server, 511, DEPLOY, "");
	lib_run(server, 520);
	/* of one step subscribers see the last message */
	cr_assert_eq(take(DEPLOY "/remaining", NULL, &last), 1);
	cr_assert_eq(((Gz__Msgs__Int32 *)last)->data, 0);
	message_free(last);
	troupe_model first = lib_model(server, "c_0"), second = lib_model(server, "c_1");
	/* the model looks along y: -1 along its x axis is -1 in y; it falls without a collision, as soon as it is there
	 */
	near("x", lib_at(server, first).pose.x, 3 - cos(quarter), 1e-9);
	near("y", lib_at(server, first).pose.y, 4 - sin(quarter) + 2 * LIB_DT_S, 1e-9);
	near("x of the second", lib_at(server, second).pose.x, 3 - cos(quarter), 1e-9);
	near("y of the second", lib_at(server, second).pose.y, 4 - sin(quarter) + 2 * 0.5, 3 * 2 * LIB_DT_S);
	near("z of the second", lib_at(server, second).pose.z, 5.5, 0.01);
}

/* It lies where a model of the file would that is placed in the frame of the robot, which is turned about all axes. */
Test(systems_event, breadcrumbs_are_turned_as_the_model_was)
{
	static const char place[] = "-1 0.25 0.5 0.1 0.2 0.3";
	char *text = mem_printf(
		HEAD DRIVEN("bot", "3 4 5 0.3 -0.4 1.2",
			PLUGIN("Breadcrumbs",
				"<breadcrumb><sdf version='1.9'><model name='c'><static>true</static><pose>%s"
				"</pose><link name='l'/></model></sdf></breadcrumb>")) "<model "
										       "name='beside'><static>true</"
										       "static><pose "
										       "relative_to='bot'>%s</"
										       "pose><link "
										       "name='l'/></model>" END,
		place, place);
	start(text);
	free(text);
	lib_text(server, 10, DEPLOY, "");
	lib_run(server, 20);
	struct troupe_pose crumb = lib_at(server, lib_model(server, "c_0")).pose,
			   wanted = lib_at(server, lib_model(server, "beside")).pose;
	near("x", crumb.x, wanted.x, 1e-9);
	near("y", crumb.y, wanted.y, 1e-9);
	near("z", crumb.z, wanted.z, 1e-9);
	double sign = crumb.qw * wanted.qw < 0 ? -1 : 1;
	near("qw", sign * crumb.qw, wanted.qw, 1e-9);
	near("qx", sign * crumb.qx, wanted.qx, 1e-9);
	near("qy", sign * crumb.qy, wanted.qy, 1e-9);
	near("qz", sign * crumb.qz, wanted.qz, 1e-9);
}

Test(systems_event, a_breadcrumb_does_not_take_a_name)
{
	void *last = NULL;
	start(HEAD DRIVEN("c_0", "9 9 5 0 0 0", "") DRIVEN("bot", "0 0 5 0 0 0",
		PLUGIN("Breadcrumbs", "<topic>/drop</topic>" CRUMB)
			PLUGIN("Breadcrumbs", "<topic>/other</topic><allow_renaming>1</allow_renaming>" CRUMB) PLUGIN(
				"Breadcrumbs", "<topic>/never</topic><max_deployments>0</max_deployments>" CRUMB)) END);
	subscribe(client, "/drop/remaining", 0);
	lib_text(server, 1, "/drop", "");
	lib_run(server, 10);
	cr_assert_eq(take("/drop/remaining", NULL, NULL), 0);
	subscribe(client, "/other/remaining", 0);
	lib_text(server, 10, "/other", "");
	lib_run(server, 20);
	cr_assert_eq(take("/other/remaining", NULL, &last), 1);
	cr_assert_eq(((Gz__Msgs__Int32 *)last)->data, -2, "-1, any number, less the one that was made");
	message_free(last);
	near("x", lib_at(server, lib_model(server, "c_0")).pose.x, 9, 1e-9);
	near("x of the new one", lib_at(server, lib_model(server, "c_0_0")).pose.x, -1, 1e-9);
}

/* Two fall freely for half a second each, and then stay there, with their names and the pose at that time. */
Test(systems_event, a_breadcrumb_stays_when_its_time_is_over)
{
	const double g = 9.8, fallen_m = g * 0.5 * 0.5 / 2;
	start(HEAD DRIVEN("bot", "0 0 50 0 0 0",
		PLUGIN("Breadcrumbs", "<topic>/drop</topic><disable_physics_time>0.5</disable_physics_time>" CRUMB))
			END);
	lib_text(server, 100, "/drop", "");
	lib_text(server, 300, "/drop", "");
	lib_run(server, 700);
	struct troupe_model_state first = lib_at(server, lib_model(server, "c_0"));
	near("first", first.pose.z, 50.5 - fallen_m, 5 * g * 0.5 * LIB_DT_S);
	near("second, falling", lib_at(server, lib_model(server, "c_1")).twist.linear.z, -g * 0.4, 3 * g * LIB_DT_S);
	lib_run(server, 1500);
	near("first", lib_at(server, lib_model(server, "c_0")).pose.z, first.pose.z, 0);
	near("second", lib_at(server, lib_model(server, "c_1")).pose.z, first.pose.z, 1e-9);
	near("x", lib_at(server, lib_model(server, "c_1")).pose.x, -1, 1e-9);
}

/* More than 64 can move: the oldest stays before its time. */
Test(systems_event, at_most_64_breadcrumbs_wait_for_their_time)
{
	start(HEAD DRIVEN("bot", "0 0 500 0 0 0",
		PLUGIN("Breadcrumbs", "<topic>/drop</topic><disable_physics_time>9</disable_physics_time>" CRUMB)) END);
	for (uint64_t i = 0; i < 66; i++)
		lib_text(server, 10 * i, "/drop", "");
	lib_run(server, 1000);
	near("held", lib_at(server, lib_model(server, "c_1")).twist.linear.z, 0, 0);
	cr_assert_lt(lib_at(server, lib_model(server, "c_2")).twist.linear.z, -5);
}

/* --- CommsEndpoint, PerfectComms, RFComms ------------------------------------------------------------------------ */

#define RADIO(name, x)                                                                                                 \
	DRIVEN(name, x " 0 5 0 0 0", PLUGIN("CommsEndpoint", "<address>" name "</address><topic>" name "/rx</topic>"))
#define FRAME(to) "src_address: 'a' dst_address: '" to "' data: 'some bytes'"

Test(systems_event, messages_reach_the_address_in_order)
{
	uint64_t step = 0;
	void *last = NULL;
	start(HEAD PLUGIN("PerfectComms", "") RADIO("a", "0") RADIO("b", "900") END);
	subscribe(client, "/a/rx", 0);
	subscribe(client, "/b/rx", 0);
	lib_text(server, 20, "/broker/msgs", "src_address: 'a' dst_address: 'b' data: '1'");
	lib_text(server, 20, "/broker/msgs", "src_address: 'a' dst_address: 'b' data: '\\0002'");
	lib_text(server, 20, "/broker/msgs", "src_address: 'a' dst_address: 'nobody' data: '3'");
	lib_run(server, 23);
	cr_assert_eq(take("/b/rx", &step, &last), 1);
	Gz__Msgs__Dataframe *frame = last;
	cr_assert_str_eq(frame->src_address, "a");
	cr_assert_str_eq(frame->dst_address, "b");
	cr_assert(frame->data.len == 1 && frame->data.data[0] == '1');
	lib_run(server, 100);
	cr_assert_eq(take("/b/rx", &step, &last), 1);
	frame = last;
	cr_assert(frame->data.len == 2 && !memcmp(frame->data.data, "\0002", 2));
	message_free(last);
	lib_text(server, 100, "/broker/msgs", FRAME("a"));
	lib_run(server, 110);
	cr_assert_eq(take("/a/rx", NULL, NULL), 1);
}

static size_t capture_bytes(void)
{
	char address[][2] = {"a", "b"};
	uint8_t data[] = {'s', 'o', 'm', 'e', ' ', 'b', 'y', 't', 'e', 's'};
	Gz__Msgs__Dataframe frame = GZ__MSGS__DATAFRAME__INIT;
	frame.src_address = address[0];
	frame.dst_address = address[1];
	frame.data.data = data;
	frame.data.len = sizeof data;
	return gz__msgs__dataframe__get_packed_size(&frame);
}

/* How many of `count` messages, one in each step, come to b. */
static uint32_t arrivals(const char *world, uint32_t count, void **ret_last)
{
	uint32_t got;
	start(world);
	subscribe(client, "/b/rx", 0);
	for (uint32_t i = 0; i < count; i++)
		lib_text(server, 20 + i, "/broker/msgs", FRAME("b"));
	lib_run(server, 20 + count + 10);
	got = take("/b/rx", NULL, ret_last);
	return got;
}

#define RANGE(max, sigma)                                                                                              \
	"<range_config><max_range>" max "</max_range><fading_exponent>2</fading_exponent><l0>40</l0><sigma>" sigma     \
	"</sigma></range_config>"
#define NOISE(noise) "<radio_config><tx_power>20</tx_power><noise_floor>" noise "</noise_floor></radio_config>"

Test(systems_event, radio_messages_are_lost_by_the_formula)
{
	const double power = 20 - (40 + 10 * 2 * log10(10)), noise = -44.3;
	const double lost = erfc(sqrt(pow(10, (power - noise) / 10)));
	const double arrive = pow(1 - lost, (double)capture_bytes());
	const uint32_t count = 600;
	void *last = NULL;
	cr_assert(arrive > 0.3 && arrive < 0.8);
	uint32_t got =
		arrivals(HEAD PLUGIN("RFComms", RANGE("50", "0") NOISE("-44.3")) RADIO("a", "0") RADIO("b", "10") END,
			count, &last);
	near("messages", got, count * arrive, 4 * sqrt(count * arrive * (1 - arrive)));
	const Gz__Msgs__Header *header = ((Gz__Msgs__Dataframe *)last)->header;
	cr_assert_str_eq(header->data[0]->key, "rssi");
	near("rssi", atof(header->data[0]->value[0]), power, 1e-6);
	message_free(last);
	cr_assert_eq(
		arrivals(HEAD PLUGIN("RFComms", RANGE("9.9", "0")) RADIO("a", "0") RADIO("b", "10") END, 20, NULL), 0);
	cr_assert_eq(
		arrivals(HEAD PLUGIN("RFComms", RANGE("10.1", "0")) RADIO("a", "0") RADIO("b", "10") END, 20, NULL),
		20);
}

Test(systems_event, radio_messages_vary_and_have_a_capacity)
{
	char world[8192];
	/* with a deviation of 30 dB about half are above the noise when the mean is at the noise */
	uint32_t got =
		arrivals(HEAD PLUGIN("RFComms", RANGE("50", "900") NOISE("-40")) RADIO("a", "0") RADIO("b", "10") END,
			200, NULL);
	cr_assert(got > 50 && got < 120, "%u", got);
	/* three messages and a half in each second */
	(void)snprintf(world, sizeof world,
		HEAD PLUGIN("RFComms", "<radio_config><capacity>%.1f</capacity></radio_config>") RADIO("a", "0")
			RADIO("b", "10") END,
		3.5 * 8 * (double)capture_bytes());
	cr_assert_eq(arrivals(world, 1500, NULL), 2 * 3);
	/* of three messages that a sends two are for b; b hears three, from whomever */
	static const struct {
		const char *odd;
		uint32_t got;
	} cases[] = {{"src_address: 'a' dst_address: 'c'", 2}, {"src_address: 'c' dst_address: 'b'", 3}};
	(void)snprintf(world, sizeof world,
		HEAD PLUGIN("RFComms", "<radio_config><capacity>%.1f</capacity></radio_config>") RADIO("a", "0")
			RADIO("b", "10") RADIO("c", "-10") END,
		3.5 * 8 * (double)capture_bytes());
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[100];
		start(world);
		subscribe(client, "/b/rx", 0);
		for (uint32_t k = 0; k < 10; k++) {
			(void)snprintf(text, sizeof text, "%s data: 'some bytes'",
				k % 2 ? cases[i].odd : "src_address: 'a' dst_address: 'b'");
			lib_text(server, 20 + k, "/broker/msgs", text);
		}
		lib_run(server, 100);
		cr_assert_eq(take("/b/rx", NULL, NULL), cases[i].got, "%s", cases[i].odd);
	}
}

#define SOUND(parameters) PLUGIN("AcousticComms", "<speed_of_sound>100</speed_of_sound>" parameters)

/* A message comes after the time that sound takes, if it is not too far. One that comes while the receiver hears
 * another one is lost. */
Test(systems_event, sound_takes_its_time)
{
	const double way = 19.95, speed = 100;
	uint64_t step = 0;
	start(HEAD SOUND("") RADIO("a", "0") RADIO("b", "19.95") RADIO("c", "-5") END);
	subscribe(client, "/b/rx", 0);
	subscribe(client, "/c/rx", 0);
	lib_text(server, 20, "/broker/msgs", FRAME("b"));
	lib_text(server, 20, "/broker/msgs", FRAME("c"));
	lib_text(server, 25, "/broker/msgs", FRAME("nobody"));
	lib_run(server, 100);
	cr_assert_eq(take("/c/rx", &step, NULL), 1);
	near("the step of the near one", (double)step, 20 + 5 / speed / LIB_DT_S, 4);
	cr_assert_eq(take("/b/rx", NULL, NULL), 0);
	lib_run(server, 300);
	cr_assert_eq(take("/b/rx", &step, NULL), 1);
	near("the step of the far one", (double)step, 20 + way / speed / LIB_DT_S, 4);
	cr_assert_eq(
		arrivals(HEAD PLUGIN("AcousticComms", "<speed_of_sound>1e6</speed_of_sound><max_range>9.9</max_range>")
				 RADIO("a", "0") RADIO("b", "10") END,
			20, NULL),
		0);
	cr_assert_eq(
		arrivals(HEAD PLUGIN("AcousticComms", "<speed_of_sound>1e6</speed_of_sound><max_range>10.1</max_range>")
				 RADIO("a", "0") RADIO("b", "10") END,
			20, NULL),
		20);
}

Test(systems_event, sounds_collide)
{
	char world[8192];
	/* each message keeps the receiver busy for 9.5 steps, so every tenth one arrives */
	(void)snprintf(world, sizeof world,
		HEAD PLUGIN("AcousticComms",
			"<speed_of_sound>1e6</speed_of_sound><collision_time_per_byte>%.17g</collision_time_per_byte>")
			RADIO("a", "0") RADIO("b", "10") END,
		9.5 * LIB_DT_S / (double)capture_bytes());
	cr_assert_eq(arrivals(world, 95, NULL), 10);
}

/* --- bad parameters ----------------------------------------------------------------------------------------------- */

static void is_refused(const char *world, const char *expected)
{
	struct troupe_server_def def = lib_def(world, 0);
	struct troupe_server *none = NULL;
	struct troupe_error error = {0};
	cr_assert_eq(troupe_server_create(&def, &none, &error), TROUPE_EWORLD, "%s", expected);
	cr_assert(strstr(error.text, expected), "'%s' is not in: %s", expected, error.text);
	cr_assert(strstr(error.text, ":1: "), "no line: %s", error.text);
}

Test(systems_event, bad_parameters_have_a_line)
{
	is_refused(HEAD TRIGGER(IN("Double", "<match field='no'>1</match>"), OUT) END, "no field 'no'");
	is_refused(HEAD TRIGGER(IN("Double", "<match field='data'>x</match>"), OUT) END, "gz.msgs.Double");
	is_refused(HEAD TRIGGER(IN("Double", "<match tol='-1'>data: 1</match>"), OUT) END, "tol is '-1'");
	is_refused(HEAD TRIGGER(IN("Double", "<match logic_type='maybe'>data: 1</match>"), OUT) END, "logic_type");
	is_refused(HEAD TRIGGER(IN("Nothing", ""), OUT) END, "Nothing");
	is_refused(
		HEAD TRIGGER(IN("Double", ""), "<output type='gz.msgs.Double' topic='/o'>x: 1</output>") END, "column");
	is_refused(HEAD TRIGGER(IN("Double", ""), "<delay_ms>-1</delay_ms>" OUT) END, "delay_ms");
	is_refused(HEAD DRIVEN("bot", "0 0 5 0 0 0", BATTERY("<capacity>-1</capacity>")) END, "capacity");
	is_refused(HEAD LYING("box", "0", PLUGIN("TouchPlugin", "<time>-1</time>")) END, "time");
	is_refused(HEAD LYING("box", "0",
			   PLUGIN("PerformerDetector", "<geometry><box><size>1 0 1</size></box></geometry>")) END,
		"size");
	is_refused(HEAD DRIVEN("bot", "0 0 5 0 0 0",
			   PLUGIN("Breadcrumbs", "<breadcrumb><sdf><model><link name='l'/></model></sdf></breadcrumb>"))
			   END,
		"no name");
	is_refused(HEAD DRIVEN("bot", "0 0 5 0 0 0",
			   PLUGIN("Breadcrumbs", "<max_deployments>x</max_deployments>" CRUMB)) END,
		"max_deployments");
	is_refused(HEAD PLUGIN("AcousticComms", "<speed_of_sound>0</speed_of_sound>") END, "speed_of_sound");
	is_refused(HEAD PLUGIN("RFComms", "<radio_config><modulation>FM</modulation></radio_config>") END, "QPSK");
}
