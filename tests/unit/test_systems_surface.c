/* Systems that control surfaces: belts carry and drive at their speed, up to friction, and wheels slip by their
 * compliance times the share of the normal force with which they push. */
#include "clients.h"
#include "systems.h"

#include "topic/motion.pb-c.h"

TestSuite(surfaces, .fini = clients_end, .timeout = 120);

#define G_M_S2 9.8
#define BOX(size, surface)                                                                                             \
	"<collision name='c'><geometry><box><size>" size "</size></box></geometry>" surface "</collision>"
#define FRICTION(mu) "<surface><friction><ode><mu>" mu "</mu><mu2>" mu "</mu2></ode></friction></surface>"

/* --- TrackController ---------------------------------------------------------------------------------------------- */

/* A conveyor of 0.1 m height, and a cube on it that rests. */
#define CONVEYOR(pose, parameters, surface)                                                                            \
	"<model name='belt'><static>true</static><pose>" pose "</pose><link name='l'>" BOX(                            \
		"8 1 0.1", surface) "</"                                                                               \
				    "link>" PLUGIN("TrackController", "<link>l</link>" parameters) "</model>"
#define CARGO(pose)                                                                                                    \
	"<model name='cargo'><pose>" pose "</pose><link name='l'>" INERTIA("1", "0.01")                                \
		BOX("0.2 0.2 0.2", "") "</"                                                                            \
				       "link></model>"

/* The cargo falls asleep on the belt, wakes when it begins to run, and goes at the speed of the belt along its x axis.
 * The speed grows by max_acceleration up to max_velocity; so does the way. */
Test(surfaces, conveyor_carries_at_its_speed)
{
	const double a = 0.25, v = 0.5, yaw = 0.7;
	start(CONVEYOR("0 0 0.05 0 0 0.7", "<max_velocity>0.5</max_velocity><max_acceleration>0.25</max_acceleration>",
		"") CARGO("0 0 0.2 0 0 0.7"));
	lib_text(server, 1000, "/model/belt/link/l/track_cmd_vel", "data: 1");
	lib_run(server, 1000);
	struct troupe_model_state is = model_of("cargo");
	NEAR(is.twist.linear.x, 0, 0);
	lib_run(server, 2000);
	is = model_of("cargo");
	NEAR(is.pose.x, a / 2 * cos(yaw), 2e-3);
	NEAR(is.pose.y, a / 2 * sin(yaw), 2e-3);
	NEAR(is.twist.linear.x, a * cos(yaw), 1e-3);
	lib_run(server, 4000);
	is = model_of("cargo");
	NEAR(is.pose.x, (v * v / a / 2 + v * (3 - v / a)) * cos(yaw), 3e-3);
	NEAR(is.twist.linear.x, v * cos(yaw), 1e-3);
	NEAR(is.twist.linear.y, v * sin(yaw), 1e-3);
}

/* The way of a belt is the sum of its limited velocities. */
Test(surfaces, conveyor_tells_its_way)
{
	const double a = 0.25, v = 0.5;
	struct troupe_message message;
	Gz__Msgs__Odometry *last = NULL;
	start(CONVEYOR("0 0 0.05 0 0 0",
		"<max_velocity>0.5</max_velocity><max_acceleration>0.25</max_acceleration>"
		"<odometry_publish_frequency>10</odometry_publish_frequency>",
		""));
	struct troupe_client *client = client_of(server, 4096);
	subscribe(client, "/model/belt/link/l/odometry", 0);
	lib_text(server, 1000, "/model/belt/link/l/track_cmd_vel", "data: 1");
	lib_run(server, 4000);
	uint32_t count = 0;
	while (troupe_client_take(client, 0, &message)) {
		if (last)
			message_free(&last->base);
		last = decode(&message);
		count++;
	}
	cr_assert(count >= 39 && count <= 41, "%u", count);
	NEAR(last->pose->position->x, v * v / a / 2 + v * (3 - v / a), 2e-3);
	NEAR(last->twist->linear->x, v, 1e-12);
	message_free(&last->base);
}

/* Friction is the limit: cargo at rest on a fast belt is accelerated by mu g. */
Test(surfaces, conveyor_slips_beyond_friction)
{
	const double mu = 0.3, t = 0.5;
	start(CONVEYOR("0 0 0.05 0 0 0", "", FRICTION("0.3")) CARGO("0 0 0.2 0 0 0"));
	lib_text(server, 1000, "/model/belt/link/l/track_cmd_vel", "data: 5");
	lib_run(server, 1000 + (uint64_t)(t / LIB_DT_S));
	struct troupe_model_state is = model_of("cargo");
	NEAR(is.twist.linear.x, mu * G_M_S2 * t, 0.01 * mu * G_M_S2 * t);
}

/* A command that has grown old is no command. */
Test(surfaces, conveyor_stops_without_commands)
{
	start(CONVEYOR("0 0 0.05 0 0 0", "<max_command_age>0.5</max_command_age>", "") CARGO("0 0 0.2 0 0 0"));
	lib_text(server, 100, "/model/belt/link/l/track_cmd_vel", "data: 0.4");
	lib_run(server, 500);
	NEAR(model_of("cargo").twist.linear.x, 0.4, 1e-3);
	lib_run(server, 700);
	NEAR(model_of("cargo").twist.linear.x, 0, 1e-3);
}

/* The track is turned in its link: about x, then y, then z. The belt runs at right angles to its y axis. */
Test(surfaces, conveyor_has_an_orientation)
{
	start(CONVEYOR("0 0 0.05 0 0 0", "<track_orientation>0.2 0.1 1.2</track_orientation>", "")
			CARGO("0 0 0.2 0 0 0"));
	lib_text(server, 100, "/model/belt/link/l/track_cmd_vel", "data: 0.4");
	lib_run(server, 800);
	double sr = sin(0.2), cr = cos(0.2), sp = sin(0.1), sy = sin(1.2), cy = cos(1.2);
	double x = cy * sp * sr - sy * cr, y = sy * sp * sr + cy * cr;
	NEAR(model_of("cargo").twist.linear.x, 0.4 * y / hypot(x, y), 1e-3);
	NEAR(model_of("cargo").twist.linear.y, -0.4 * x / hypot(x, y), 1e-3);
}

Test(surfaces, bad_tracks_are_refused)
{
	expect_refused(CONVEYOR("0 0 0.05 0 0 0", "<min_velocity>2</min_velocity><max_velocity>1</max_velocity>", ""),
		"least velocity");
	expect_refused(CONVEYOR("0 0 0.05 0 0 0", "<max_command_age>-1</max_command_age>", ""), "max_command_age");
	expect_refused(
		CONVEYOR("0 0 0.05 0 0 0", "<track_orientation>1 2</track_orientation>", ""), "track_orientation");
}

/* --- TrackedVehicle ----------------------------------------------------------------------------------------------- */

#define LENGTH_M 0.6
#define WIDTH_M 0.1
#define SEPARATION_M 0.4

#define TRACK(name, y)                                                                                                 \
	"<link name='" name "'><pose>0 " y " 0.1 0 0 0</pose>" INERTIA("5", "0.2")                                     \
		BOX("0.6 0.1 0.2", "") "</link><joint name='" name                                                     \
				       "_j' type='fixed'><parent>base</parent><child>" name                            \
				       "</child></joint>" PLUGIN("TrackController", "<link>" name "</link>")
#define VEHICLE(pose, parameters)                                                                                      \
	"<model name='tank'><pose>" pose                                                                               \
	"</pose><link name='base'><pose>0 0 0.1 0 0 0</pose>" INERTIA("10", "0.3") "</link>" TRACK("left", "0.2")      \
		TRACK("right", "-0.2") PLUGIN("TrackedVehicle",                                                        \
			"<left_track><link>left</link></left_track><right_track><link>right</link>"                    \
			"</right_track><tracks_separation>0.4</tracks_separation>" parameters) "</"                    \
											       "model>"

static void command(uint64_t step, double linear, double angular)
{
	char text[80];
	(void)snprintf(text, sizeof text, "linear {x: %g} angular {z: %g}", linear, angular);
	lib_text(server, step, "/model/tank/cmd_vel", text);
}

/* The course of Gazebo's own test of its TrackedVehicle: by 1 m/s it goes 1 m along +x in the first second, from rest
 * and within 0.1 m, and by 0.25 rad/s it turns to the left. */
Test(surfaces, vehicle_goes_forwards_and_turns_to_the_left)
{
	start(VEHICLE("0 0 0 0 0 0", ""));
	command(300, 1, 0);
	lib_run(server, 1300);
	struct troupe_model_state ahead = model_of("tank");
	cr_assert(ahead.twist.linear.x > 0 && ahead.pose.x > 0);
	NEAR(ahead.pose.x, 1, 0.1);
	NEAR(ahead.pose.y, 0, 0.1);
	NEAR(yaw_of(&ahead), 0, 0.1);
	command(1300, 0, 0.25);
	lib_run(server, 2300);
	struct troupe_model_state turned = model_of("tank");
	NEAR(turned.pose.x, ahead.pose.x, 0.1);
	NEAR(turned.pose.y, ahead.pose.y, 0.1);
	NEAR(yaw_of(&turned), 0.25, 0.1);
	cr_assert(yaw_of(&turned) > yaw_of(&ahead));
}

/* Straight ahead, forwards and backwards, it goes at the speed of the command, and so does odometry. */
Test(surfaces, vehicle_goes_at_the_speed_of_its_tracks)
{
	static const double speeds[] = {0.5, -0.3};
	for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
		struct troupe_odometry odometry;
		start(VEHICLE("1 2 0 0 0 0.5", ""));
		command(500, speeds[i], 0);
		lib_run(server, 2500);
		struct troupe_model_state is = model_of("tank");
		NEAR(is.twist.linear.x, speeds[i] * cos(0.5), 1e-3);
		NEAR(is.twist.linear.y, speeds[i] * sin(0.5), 1e-3);
		NEAR(yaw_of(&is), 0.5, 1e-4);
		NEAR(hypot(is.pose.x - 1, is.pose.y - 2), fabs(speeds[i]) * 2, 0.02);
		cr_assert(troupe_get_odometry(server, lib_model(server, "tank"), &odometry));
		NEAR(odometry.linear, speeds[i], 1e-12);
		NEAR(odometry.drift_m, 0, 0.02);
	}
}

/* About itself: each corner is pushed along its circle with the speed of its track, w separation / (2 efficiency). The
 * outer corners have the longer lever, so they do not slide, and the vehicle turns by that speed over their distance
 * from the middle. With the efficiency that makes up for that, it turns as commanded. */
Test(surfaces, vehicle_turns_by_the_difference_of_its_tracks)
{
	const double outer = hypot(SEPARATION_M / 2 + WIDTH_M / 2, LENGTH_M / 2), w = 0.6;
	static const double efficiencies[] = {0.5, 0.8};
	for (size_t i = 0; i < 2; i++) {
		char text[40];
		start(VEHICLE("0 0 0 0 0 0", ""));
		(void)snprintf(text, sizeof text, "data: %g", efficiencies[i]);
		lib_text(server, 10, "/model/tank/steering_efficiency", text);
		command(500, 0, w);
		lib_run(server, 1500);
		struct troupe_model_state is = model_of("tank");
		double expected = w * SEPARATION_M / (2 * efficiencies[i]) / outer;
		NEAR(is.twist.angular.z, expected, 0.02 * expected);
		NEAR(hypot(is.pose.x, is.pose.y), 0, 5e-3);
	}
	char *tuned = mem_printf("<steering_efficiency>%.17g</steering_efficiency>", SEPARATION_M / 2 / outer);
	char *world = mem_printf(VEHICLE("0 0 0 0 0 0", "%s"), tuned);
	start(world);
	command(500, 0, w);
	lib_run(server, 2500);
	struct troupe_odometry odometry;
	cr_assert(troupe_get_odometry(server, lib_model(server, "tank"), &odometry));
	NEAR(odometry.yaw, w * 2, w * 1.01 * LIB_DT_S); /* the command is taken in a step, and told in the next */
	NEAR(odometry.drift_rad, 0, 0.03);
	free(world);
	free(tuned);
}

/* Forward and turning to the left, it goes around a point to its left, at about linear over angular. */
Test(surfaces, vehicle_goes_on_a_circle)
{
	start(VEHICLE("0 0 0 0 0 0", ""));
	command(500, 0.5, 0.4);
	lib_run(server, 3000);
	struct troupe_model_state is = model_of("tank");
	double yaw = yaw_of(&is), v = hypot(is.twist.linear.x, is.twist.linear.y);
	cr_assert(yaw > 0.5 && is.twist.angular.z > 0.2, "yaw %g, rate %g", yaw, is.twist.angular.z);
	NEAR(is.twist.linear.x * sin(yaw) - is.twist.linear.y * cos(yaw), 0, 0.05);
	NEAR(v / is.twist.angular.z, 0.5 / 0.4, 0.25);
}

/* The circle is that of the command at any speed and rate, however slow; and it is the straight way in the limit. */
Test(surfaces, vehicle_goes_on_the_circle_of_any_command)
{
	static const double commands[][2] = {
		{0.5, 0.09}, {0.09, 0.15}, {-0.5, 0.05}, {0.3, -0.09}, {0.05, 0.02}, {1, 1e-3}, {0.5, 1e-12}};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		double linear = commands[i][0], angular = commands[i][1], seconds = fmin(12, fabs(2 / linear));
		start(VEHICLE("0 0 0 0 0 0", ""));
		command(500, linear, angular);
		lib_run(server, 1500);
		struct troupe_model_state before = model_of("tank");
		lib_run(server, 1500 + (uint64_t)(seconds / LIB_DT_S));
		struct troupe_model_state after = model_of("tank");
		double turned = yaw_of(&after) - yaw_of(&before);
		double chord = hypot(after.pose.x - before.pose.x, after.pose.y - before.pose.y);
		if (fabs(angular) > 1e-6) {
			/* the rate is a little above that of the command, because the faster track holds */
			double part = turned / angular / seconds;
			cr_assert(part > 0.95 && part < 1.6, "%g %g: turned %g", linear, angular, turned);
			NEAR(2 * sin(turned / 2) * linear / angular, copysign(chord, linear * turned * angular),
				0.03 * chord);
		} else {
			NEAR(chord, linear * seconds, 0.02);
		}
	}
}

Test(surfaces, vehicle_has_limits)
{
	start(VEHICLE("0 0 0 0 0 0", "<linear_velocity><max_velocity>0.4</max_velocity><max_acceleration>0.2"
				     "</max_acceleration></linear_velocity>"));
	command(500, 3, 0);
	lib_run(server, 1500);
	NEAR(model_of("tank").twist.linear.x, 0.2, 2e-3);
	lib_run(server, 3000);
	NEAR(model_of("tank").twist.linear.x, 0.4, 2e-3);
}

Test(surfaces, bad_vehicles_are_refused)
{
	expect_refused(VEHICLE("0 0 0 0 0 0", "<steering_efficiency>0</steering_efficiency>"), "steering_efficiency");
	expect_refused(VEHICLE("0 0 0 0 0 0", "<linear_velocity><min_velocity>1</min_velocity><max_velocity>0"
					      "</max_velocity></linear_velocity>"),
		"least velocity");
	start(VEHICLE("0 0 0 0 0 0", ""));
	lib_text(server, 1, "/model/tank/steering_efficiency", "data: 0");
	lib_run(server, 3);
	struct troupe_report *report = troupe_server_report(server);
	cr_assert_eq(report->worlds[0].refused_commands, 1);
	troupe_report_free(report);
}

/* --- WheelSlip ---------------------------------------------------------------------------------------------------- */

#define WHEEL_M 4.0
#define RADIUS_M 0.2

/* A wheel on a frame without weight that slides along x on the world, so that the wheel neither tips nor turns, but
 * moves up and down: it stands on the ground with its own weight. A weight of no inertia pulls it back. */
#define WHEEL_ALONG(axis, slip)                                                                                        \
	"<model name='one'><link name='sledge'><pose>0 0 0.2 0 0 0</pose><gravity>false</gravity>" INERTIA(            \
		"0.01", "0.01") "</link><link name='lift'><pose>0 0 0.2 0 0 0</pose>" INERTIA("0.01",                  \
		"0.01") "</link><link name='wheel'><pose>0 0 0.2 -1.5707963267948966 0 0</pose>" INERTIA("4",          \
		"0.08") "<collision "                                                                                  \
			"name='c'><geometry><cylinder><radius>0.2</radius><length>0.1</length></cylinder></geometry>"  \
			"<surface><friction><ode><mu>1</mu><mu2>1</mu2></ode></friction></surface></collision></link>" \
			"<joint name='rail' "                                                                          \
			"type='prismatic'><parent>world</parent><child>sledge</child><axis><xyz>" axis " \
			</xyz></axis>"             \
			"</joint><joint name='up' "                                                                    \
			"type='prismatic'><parent>sledge</parent><child>lift</child><axis><xyz>0 0 1</xyz>"            \
			"</axis></joint><joint name='spin' "                                                           \
			"type='revolute'><parent>lift</parent><child>wheel</child><axis>"                              \
			"<xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>" PLUGIN(                             \
				"JointController", "<joint_name>spin</joint_name>")                                    \
				PLUGIN("ApplyJointForce", "<joint_name>rail</joint_name>") slip "</"                   \
												"model>"
#define WHEEL(slip) WHEEL_ALONG("1 0 0", slip)
#define SLIP(lateral, longitudinal)                                                                                    \
	PLUGIN("WheelSlip", "<wheel link_name='wheel'><slip_compliance_lateral>" lateral "</slip_compliance_lateral>"  \
			    "<slip_compliance_longitudinal>" longitudinal "</slip_compliance_longitudinal>"            \
			    "<wheel_normal_force>40</wheel_normal_force><wheel_radius>0.2</wheel_radius></wheel>")

/* The lift does not touch anything: it is there to be the first of two. */
#define SLIP_OF_TWO(longitudinal)                                                                                      \
	PLUGIN("WheelSlip",                                                                                            \
		"<wheel link_name='lift'><wheel_normal_force>1</wheel_normal_force><wheel_radius>1</wheel_radius>"     \
		"</wheel><wheel link_name='wheel'><slip_compliance_longitudinal>" longitudinal                         \
		"</slip_compliance_longitudinal><wheel_normal_force>40</wheel_normal_force><wheel_radius>0.2"          \
		"</wheel_radius></wheel>")

static double spin_rate(void)
{
	struct troupe_joint_state state;
	cr_assert(troupe_get_joint(server, lib_joint(server, "one", "spin"), &state));
	return state.velocity[0];
}

/* The rim goes at radius times spin. Against a force F the wheel goes slower, by the share compliance F / (normal
 * force) of that. Without slip it goes at the speed of the rim, and with lateral slip only, too. */
Test(surfaces, wheel_slips_by_its_compliance_times_the_force)
{
	static const struct {
		const char *plugin;
		double compliance;
	} cases[] = {{"", 0}, {SLIP("0", "0.5"), 0.5}, {SLIP("0", "1"), 1}, {SLIP("1", "0"), 0}};
	const double forces[] = {0, 8, -8}, spin = 5, normal = 40;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t f = 0; f < sizeof forces / sizeof *forces; f++) {
			char text[40], *world = mem_printf(WHEEL("%s"), cases[i].plugin);
			start(world);
			free(world);
			(void)snprintf(text, sizeof text, "data: %g", spin);
			lib_text(server, 500, "/model/one/joint/spin/cmd_vel", text);
			(void)snprintf(text, sizeof text, "data: %g", -forces[f]);
			lib_text(server, 500, "/model/one/joint/rail/cmd_force", text);
			lib_run(server, 4000);
			NEAR(spin_rate(), spin, 1e-3);
			struct troupe_joint_state rail;
			cr_assert(troupe_get_joint(server, lib_joint(server, "one", "rail"), &rail));
			double rim = RADIUS_M * spin;
			NEAR(rail.velocity[0], rim * (1 - cases[i].compliance * forces[f] / normal), 0.005 * rim);
		}
}

/* The same across the wheel, which spins on the spot: it is pushed sideways at compliance F / (normal force) of the
 * speed of its rim. */
Test(surfaces, wheel_slips_sideways_by_its_lateral_compliance)
{
	static const struct {
		const char *plugin;
		double compliance;
	} cases[] = {{"", 0}, {SLIP("0.5", "0"), 0.5}, {SLIP("1", "0.25"), 1}, {SLIP("0", "1"), 0}};
	const double force = 8, normal = 40, rim = RADIUS_M * 5;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *world = mem_printf(WHEEL_ALONG("0 1 0", "%s"), cases[i].plugin);
		struct troupe_joint_state rail;
		start(world);
		free(world);
		lib_text(server, 500, "/model/one/joint/spin/cmd_vel", "data: 5");
		lib_text(server, 500, "/model/one/joint/rail/cmd_force", "data: 8");
		lib_run(server, 4000);
		cr_assert(troupe_get_joint(server, lib_joint(server, "one", "rail"), &rail));
		NEAR(rail.velocity[0], rim * cases[i].compliance * force / normal, 0.005 * rim);
	}
}

static uint64_t refused_commands(void)
{
	struct troupe_report *report = troupe_server_report(server);
	uint64_t count = report->worlds[0].refused_commands;
	troupe_report_free(report);
	return count;
}

/* The speed of a wheel that spins at 5 rad/s against a force of 8 N. */
static void expect_slip(double compliance)
{
	const double force = 8, normal = 40, rim = RADIUS_M * 5;
	struct troupe_joint_state rail;
	cr_assert(troupe_get_joint(server, lib_joint(server, "one", "rail"), &rail));
	NEAR(rail.velocity[0], rim * (1 - compliance * force / normal), 0.005 * rim);
}

static void push_and_spin(uint64_t step)
{
	lib_text(server, step, "/model/one/joint/spin/cmd_vel", "data: 5");
	lib_text(server, step, "/model/one/joint/rail/cmd_force", "data: -8");
}

/* The service sets both compliances of the wheels that its name means. */
Test(surfaces, wheel_slip_is_changed_by_its_service)
{
	static const struct {
		const char *name;
		bool known;
	} cases[] = {{"wheel", true}, {"one::wheel", true}, {"w::one::wheel", true}, {"one", true}, {"w::one", true},
		{"lift", true}, {"w", false}, {"one::w", false}, {"two::wheel", false}, {"sledge", false}, {"", false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool changes = cases[i].known && strcmp(cases[i].name, "lift") != 0;
		char *request = mem_printf("entity {name: '%s'} slip_compliance_longitudinal: 0.75", cases[i].name);
		start(WHEEL(SLIP_OF_TWO("0.25")));
		push_and_spin(500);
		lib_text(server, 3000, "/world/w/wheel_slip", request);
		lib_run(server, 3000);
		expect_slip(0.25);
		lib_run(server, 6000);
		expect_slip(changes ? 0.75 : 0.25);
		cr_assert_eq(refused_commands(), !cases[i].known, "%s", cases[i].name);
		free(request);
	}
}

/* By the id of the model, or of a link as scenes show it; with both, name and id must be those of one entity. The
 * ground is the first model, with the first link; the wheel is the third link of the second model. */
#define FIRST_LINK_ID ((1u << 29) + 1)
Test(surfaces, wheel_slip_finds_ids)
{
	enum { ONE = SYSTEMS_BEFORE_MODELS + 2, WHEEL_ID = FIRST_LINK_ID + SYSTEMS_BEFORE_LINKS + 3 };
	static const struct {
		uint32_t id;
		const char *name;
		bool known;
	} cases[] = {{ONE, "", true}, {ONE, "one", true}, {WHEEL_ID, "", true}, {WHEEL_ID, "one::wheel", true},
		{ONE, "wheel", false}, {WHEEL_ID, "one", false}, {1, "", false}, {77, "", false},
		{FIRST_LINK_ID - 1, "", false}, {WHEEL_ID + 1, "", false}, {FIRST_LINK_ID + 999999, "", false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *request = mem_printf(
			"entity {id: %u name: '%s'} slip_compliance_longitudinal: 0.75", cases[i].id, cases[i].name);
		start(WHEEL(SLIP("0", "0.25")));
		push_and_spin(500);
		lib_text(server, 3000, "/world/w/wheel_slip", request);
		lib_run(server, 6000);
		expect_slip(cases[i].known ? 0.75 : 0.25);
		cr_assert_eq(refused_commands(), !cases[i].known, "%s", request);
		free(request);
	}
}

/* A reset takes it back. Numbers that no wheel can have are refused, and so is a world without such wheels. */
Test(surfaces, wheel_slip_is_reset_and_refuses_nonsense)
{
	static const char *const bad[] = {"slip_compliance_lateral: -1", "slip_compliance_longitudinal: -0.5"};
	start(WHEEL(SLIP("0", "0.25")));
	lib_text(server, 500, "/world/w/wheel_slip", "entity {name: 'one'} slip_compliance_longitudinal: 1");
	lib_text(server, 1000, "/world/w/control", "reset {all: true}");
	push_and_spin(1001);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *request = mem_printf("entity {name: 'one'} %s", bad[i]);
		lib_text(server, 1100, "/world/w/wheel_slip", request);
		free(request);
	}
	lib_run(server, 5000);
	expect_slip(0.25);
	cr_assert_eq(refused_commands(), sizeof bad / sizeof *bad);
	start("");
	lib_text(server, 1, "/world/w/wheel_slip", "entity {name: 'one'}");
	lib_run(server, 10);
	cr_assert_eq(refused_commands(), 1);
}

/* What does not fit is left out, with a warning that names it; the other wheels slip. */
Test(surfaces, wheels_that_do_not_fit_are_left_out)
{
	static const char *const bad[] = {"<wheel/>", "<wheel link_name='no'/>", "<wheel link_name='sledge'/>",
		"<wheel link_name='wheel'><wheel_radius>0.2</wheel_radius></wheel>",
		"<wheel link_name='wheel'><wheel_radius>0.2</wheel_radius><wheel_normal_force>1</wheel_normal_force>"
		"<slip_compliance_lateral>-1</slip_compliance_lateral></wheel>"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *world = mem_printf(WHEEL(PLUGIN("WheelSlip", "%s")), bad[i]);
		start(world);
		lib_run(server, 10);
		free(world);
	}
	expect_refused(WHEEL(SLIP("0", "much")), "slip_compliance_longitudinal");
}
