/* The built-in systems without physics: they compute the expected control, and joints turn exactly as commanded. */
#include "scene/scene.h"
#include "builtin/parts.h"
#include "system/setup.h"
#include "system/system.h"
#include "system/ignored.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DT 0.01

/* The plug-ins' text begins in line 12. */
static const char world_text[] =
	"<sdf version='1.9'><world name='w'>\n"
	"<model name='bot'><pose>1 2 0 0 0 1.5707963267948966</pose><link name='base'/>\n"
	"<link name='l1'><pose>0 1 0 0 0 0</pose></link><link name='r1'><pose>0 -1 0 0 0 0</pose></link>\n"
	"<joint name='left' type='revolute'><parent>base</parent><child>l1</child><axis><xyz>0 1 "
	"0</xyz></axis></joint>\n"
	"<joint name='right' type='revolute'><parent>base</parent><child>r1</child><axis><xyz>0 1 "
	"0</xyz></axis></joint>\n"
	"<link name='tool'/><joint name='slide' type='prismatic'><parent>base</parent><child>tool</child>\n"
	"<axis><xyz>1 0 0</xyz></axis></joint>\n"
	"<link name='eye'/><joint name='neck' type='ball'><parent>base</parent><child>eye</child></joint>\n"
	"<model name='kit'><link name='a'/><link name='b'/><joint name='spin' type='continuous'>\n"
	"<parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>\n"
	"</model><joint name='weld' type='fixed'><parent>base</parent><child>kit::a</child></joint>\n"
	"%s</model>\n"
	"<model name='rock'><static>true</static><link name='l'/>%s</model></world></sdf>\n";

static struct sdf *sdf;
static struct scene *scene;
static struct systems *systems;
static struct state *state;
static struct control control;
static uint64_t steps;

static void stop(void)
{
	free(control.joints);
	free(control.bodies);
	free(control.surfaces);
	free(control.models);
	state_destroy(state);
	systems_destroy(systems);
	scene_destroy(scene);
	sdf_free(sdf);
	control = (struct control){0};
	state = NULL;
	systems = NULL;
	scene = NULL;
	sdf = NULL;
}

TestSuite(systems, .fini = stop, .timeout = 60);

static troupe_status load(const char *plugins, const char *rock_plugins, struct troupe_error *error)
{
	stop();
	char *text = mem_printf(world_text, plugins, rock_plugins);
	struct sdf_options sdf_options = {0};
	struct scene_options scene_options = {0};
	troupe_status status = sdf_load_text(text, strlen(text), "t.sdf", &sdf_options, &sdf, error);
	cr_assert_eq(status, TROUPE_OK, "%s", error->text);
	free(text);
	status = scene_create(&sdf->worlds.at[0], &scene_options, &scene, error);
	cr_assert_eq(status, TROUPE_OK, "%s", error->text);
	return systems_create(scene, NULL, &systems, error);
}

static void start(const char *plugins)
{
	struct troupe_error error = {0};
	cr_assert_eq(load(plugins, "", &error), TROUPE_OK, "%s", error.text);
	state = systems_create_state(systems);
	control.joints = mem_alloc(scene->joint_count * sizeof *control.joints);
	control.bodies = mem_alloc(scene->body_count * sizeof *control.bodies);
	control.surfaces = mem_alloc(scene->geom_count * sizeof *control.surfaces);
	control.models = mem_alloc(scene->model_count * sizeof *control.models);
	steps = 0;
}

/* A system of plug-in name and parameters. */
#define PLUGIN(name, parameters) "<plugin name='gz::sim::systems::" name "' filename='x'>" parameters "</plugin>\n"

static void send(const char *topic, const char *text)
{
	const struct system_listeners *found = systems_find_listeners(systems, topic);
	cr_assert_not_null(found, "no topic %s", topic);
	ProtobufCMessage *message = NULL;
	struct troupe_error error = {0};
	cr_assert_eq(message_of_text(found->type, text, &message_limits_usual, &message, &error), TROUPE_OK, "%s",
		error.text);
	for (uint32_t i = 0; i < found->listeners.count; i++)
		systems_command(systems, &found->listeners.at[i], message, state, systems->fault);
	message_free(message);
}

static uint32_t joint_of(const char *name)
{
	uint32_t joint = scene_find_joint(scene, 0, name);
	cr_assert_neq(joint, SCENE_NONE, "no joint %s", name);
	return joint;
}

static struct joint_control *asked(const char *name)
{
	return &control.joints[joint_of(name)];
}

static struct body_state *body(const char *link)
{
	uint32_t index = scene_find_link(scene, 0, link);
	cr_assert_neq(index, SCENE_NONE, "no link %s", link);
	return &state_bodies(state, 0, false)[scene->links[index].body - scene->models[0].body_first];
}

static const struct body_control *body_asked(const char *link)
{
	return &control.bodies[scene->links[scene_find_link(scene, 0, link)].body];
}

static void step(void)
{
	const struct system_step now = {
		.step = {steps, (double)steps * DT, DT}, .state = state, .control = &control, .fault = systems->fault};
	memset(control.joints, 0, scene->joint_count * sizeof *control.joints);
	memset(control.bodies, 0, scene->body_count * sizeof *control.bodies);
	systems_pre_update(systems, 0, &now);
	memcpy(state_words(state, 0, true), state_words(state, 0, false), state->models[0].system_first * 8);
	for (uint32_t j = 0; j < scene->joint_count; j++)
		if (control.joints[j].drive)
			state_joint(state, j, true)->position[0] += control.joints[j].velocity * DT;
	systems_post_update(systems, 0, &now);
	state_advance(state, 0);
	steps++;
}

static void steps_until(uint64_t number)
{
	while (steps < number)
		step();
}

#define NEAR(a, b) near(#a, (a), (b))

static void near(const char *what, double is, double expected)
{
	cr_assert(fabs(is - expected) <= 1e-9 * fmax(1, fabs(expected)), "%s is %.17g, not %.17g", what, is, expected);
}

/* --- differential drive ------------------------------------------------------------------------------------------ */

#define WHEELS "<left_joint>left</left_joint><right_joint>right</right_joint>"
#define SIZES "<wheel_separation>2</wheel_separation><wheel_radius>0.5</wheel_radius>"

static void odometry(double *ret_x, double *ret_y, double *ret_yaw, double *ret_linear, double *ret_angular)
{
	struct troupe_reckoning is;
	struct system_drift drift;
	cr_assert(systems_reckon(systems, state, 0, &is, &drift));
	*ret_x = is.x;
	*ret_y = is.y;
	*ret_yaw = remainder(is.yaw, 2 * M_PI);
	*ret_linear = is.linear;
	*ret_angular = is.angular;
}

Test(systems, wheels_turn_as_commanded_until_the_next_command)
{
	start(PLUGIN("DiffDrive", WHEELS SIZES));
	step();
	cr_assert(asked("left")->drive && asked("right")->drive && asked("left")->velocity == 0);
	send("/model/bot/cmd_vel", "linear: {x: 1.5} angular: {z: 0.5}");
	for (int i = 0; i < 5; i++) {
		step();
		NEAR(asked("left")->velocity, (1.5 - 0.5) / 0.5);
		NEAR(asked("right")->velocity, (1.5 + 0.5) / 0.5);
	}
	send("/model/bot/cmd_vel", "angular {z: -1}");
	step();
	NEAR(asked("left")->velocity, 2);
	NEAR(asked("right")->velocity, -2);
	cr_assert(!asked("slide")->drive && !asked("kit::spin")->drive);
}

Test(systems, a_hostile_command_stays_bounded)
{
	start(PLUGIN("DiffDrive", WHEELS "<wheel_separation>1e6</wheel_separation><wheel_radius>1e-6</wheel_radius>"));
	send("/model/bot/cmd_vel", "linear {x: 1e9} angular {z: -1e9}");
	step();
	NEAR(asked("left")->velocity, BUILTIN_VELOCITY_MAX);
	NEAR(asked("right")->velocity, -BUILTIN_VELOCITY_MAX);
}

Test(systems, drive_defaults_and_several_wheels_are_gazebos)
{
	start(PLUGIN("DiffDrive",
		"<left_joint>left</left_joint><left_joint>kit::spin</left_joint><right_joint>right</right_joint>"));
	send("/model/bot/cmd_vel", "linear: {x: 1} angular: {z: 2}");
	step();
	NEAR(asked("left")->velocity, 0);
	NEAR(asked("kit::spin")->velocity, 0);
	NEAR(asked("right")->velocity, (1 + 2 * 0.5) / 0.2);
}

Test(systems, enable_stops_and_deafens_a_drive)
{
	start(PLUGIN("DiffDrive", WHEELS SIZES));
	send("/model/bot/cmd_vel", "linear {x: 1}");
	send("/model/bot/enable", "data: false");
	send("/model/bot/cmd_vel", "linear {x: 1}");
	step();
	NEAR(asked("left")->velocity, 0);
	send("/model/bot/enable", "data: true");
	step();
	NEAR(asked("left")->velocity, 0);
	send("/model/bot/cmd_vel", "linear {x: 1}");
	step();
	NEAR(asked("left")->velocity, 2);
}

Test(systems, velocity_and_acceleration_are_limited)
{
	start(PLUGIN("DiffDrive",
		WHEELS SIZES "<max_linear_velocity>0.5</max_linear_velocity><min_linear_velocity>-0.25</"
			     "min_linear_velocity><max_linear_acceleration>2</"
			     "max_linear_acceleration><min_linear_acceleration>-4</min_linear_acceleration>"));
	send("/model/bot/cmd_vel", "linear {x: 9}");
	for (int i = 1; i <= 30; i++) {
		step();
		NEAR(asked("left")->velocity * 0.5, fmin(0.02 * i, 0.5));
	}
	send("/model/bot/cmd_vel", "linear {x: -9}");
	for (int i = 1; i <= 25; i++) {
		step();
		NEAR(asked("left")->velocity * 0.5, fmax(0.5 - 0.04 * i, -0.25));
	}
}

Test(systems, jerk_is_limited)
{
	start(PLUGIN("DiffDrive", WHEELS SIZES "<max_linear_jerk>10</max_linear_jerk>"));
	send("/model/bot/cmd_vel", "linear {x: 9}");
	for (int i = 1; i <= 20; i++) {
		step();
		NEAR(asked("left")->velocity * 0.5, 10 * DT * DT * i * (i + 1) / 2);
	}
}

Test(systems, older_limits_hold_for_both_and_newer_ones_win)
{
	start(PLUGIN("DiffDrive", WHEELS SIZES "<max_velocity>0.5</max_velocity><min_velocity>-0.5</"
					       "min_velocity><max_angular_velocity>0.1</max_angular_velocity>"));
	send("/model/bot/cmd_vel", "linear {x: 9} angular {z: 9}");
	step();
	NEAR(asked("left")->velocity, (0.5 - 0.1) / 0.5);
	NEAR(asked("right")->velocity, (0.5 + 0.1) / 0.5);
	send("/model/bot/cmd_vel", "linear {x: 0} angular {z: -9}");
	step();
	NEAR(asked("right")->velocity, -0.5 / 0.5);
}

Test(systems, odometry_follows_a_straight_line_and_an_arc)
{
	double x, y, yaw, linear, angular;
	start(PLUGIN("DiffDrive", WHEELS SIZES));
	send("/model/bot/cmd_vel", "linear {x: 2}");
	steps_until(100);
	odometry(&x, &y, &yaw, &linear, &angular);
	NEAR(x, 2);
	NEAR(y, 0);
	NEAR(yaw, 0);
	NEAR(linear, 2);
	NEAR(angular, 0);
	send("/model/bot/cmd_vel", "linear {x: 2} angular {z: 0.5}");
	steps_until(200);
	odometry(&x, &y, &yaw, &linear, &angular);
	NEAR(x, 2 + 4 * sin(0.5));
	NEAR(y, 4 * (1 - cos(0.5)));
	NEAR(yaw, 0.5);
	NEAR(angular, 0.5);
	send("/model/bot/cmd_vel", "angular {z: 5}");
	steps_until(300);
	odometry(&x, &y, &yaw, &linear, &angular);
	NEAR(x, 2 + 4 * sin(0.5));
	NEAR(yaw, 5.5 - 2 * M_PI);
}

static void drift(double position, double yaw, double tilt)
{
	struct troupe_reckoning reckoning;
	struct system_drift is;
	cr_assert(systems_reckon(systems, state, 0, &reckoning, &is));
	NEAR(is.position_m, position);
	NEAR(is.yaw_rad, yaw);
	NEAR(is.tilt_rad, tilt);
}

/* Puts the base at this pose in the model's first frame. */
static void put_base(double x, double y, double roll, double yaw)
{
	struct pose home = {{1, 2, 0}, quat_from_rpy(0, 0, M_PI / 2)};
	struct pose there = pose_mul(home, (struct pose){{x, y, 0}, quat_from_rpy(roll, 0, yaw)});
	body("base")->p = there.p;
	body("base")->q = there.q;
}

Test(systems, drift_is_the_way_from_where_odometry_puts_a_model_to_where_it_is)
{
	start(PLUGIN("DiffDrive", WHEELS SIZES));
	drift(0, 0, 0);
	send("/model/bot/cmd_vel", "linear: {x: 2}");
	steps_until(100);
	drift(2, 0, 0);
	put_base(2, 0, 0, 0);
	drift(0, 0, 0);
	put_base(2, -0.25, 0, -0.5);
	drift(0.25, -0.5, 0);
	put_base(2, 0, M_PI, 0);
	drift(0, 0, M_PI);
	send("/model/bot/cmd_vel", "linear: {x: 2} angular: {z: 0.5}");
	steps_until(200);
	put_base(2 + 4 * sin(0.5), 4 * (1 - cos(0.5)), 0, 0.5);
	drift(0, 0, 0);
}

/* One wheel is 1 m to the left of the model's origin and the other at the origin, so the model turns about a point
 * between the wheels. */
Test(systems, drift_is_that_of_the_axle_wherever_the_models_origin_is)
{
	start(PLUGIN("DiffDrive", "<left_joint>left</left_joint><right_joint>kit::spin</"
				  "right_joint><wheel_separation>1</wheel_separation>"));
	send("/model/bot/cmd_vel", "angular: {z: 1}");
	steps_until(50);
	put_base(0.5 * sin(0.5), 0.5 * (1 - cos(0.5)), 0, 0.5);
	drift(0, 0, 0);
	put_base(0, 0, 0, 0.5);
	drift(sin(0.25), 0, 0);
}

Test(systems, only_sound_odometry_has_a_drift)
{
	struct troupe_reckoning reckoning;
	struct system_drift is = {1, 2, 4, 3};
	start(PLUGIN("DiffDrive", WHEELS SIZES));
	cr_assert_not(systems_reckon(systems, state, 1, &reckoning, &is), "a rock");
	for (uint32_t i = 0; i < systems->sets[0].words; i++)
		memcpy(&state_systems(state, 0, false)[i], &(double){NAN}, sizeof(double));
	cr_assert_not(systems_reckon(systems, state, 0, &reckoning, &is), "a damaged state");
	cr_assert(is.position_m == 1 && is.yaw_rad == 2 && is.height_m == 4 && is.tilt_rad == 3);
}

Test(systems, a_reset_and_a_second_run_give_the_same_words)
{
	uint64_t hashes[2];
	start(PLUGIN("DiffDrive", WHEELS SIZES "<max_acceleration>1</max_acceleration>"));
	state_set_initial(state);
	for (int run = 0; run < 2; run++) {
		send("/model/bot/cmd_vel", "linear {x: 2} angular {z: 0.5}");
		steps_until(50);
		hashes[run] = state_hash(state);
		state_reset(state);
		steps = 0;
	}
	cr_assert_eq(hashes[0], hashes[1]);
	cr_assert_neq(hashes[0], state_hash(state));
}

/* --- velocity control -------------------------------------------------------------------------------------------- */

Test(systems, velocity_control_moves_the_whole_in_its_own_frame)
{
	start(PLUGIN("VelocityControl", ""));
	step();
	cr_assert(!body_asked("base")->drive, "nothing was commanded");
	send("/model/bot/cmd_vel", "linear {x: 1 z: 0.5} angular {z: 2}");
	for (int i = 0; i < 3; i++) {
		step();
		/* the model faces the world's y; l1 is 1 m to its left, at the world's -x */
		const struct body_control *base = body_asked("base"), *left = body_asked("l1");
		cr_assert(base->drive && left->drive && body_asked("kit::b")->drive);
		NEAR(base->v.x, 0);
		NEAR(base->v.y, 1);
		NEAR(base->v.z, 0.5);
		NEAR(base->w.z, 2);
		NEAR(left->v.x, 0);
		NEAR(left->v.y, 1 - 2);
		NEAR(left->w.z, 2);
	}
}

/* A model with one of the two initial velocities is driven from the start. */
Test(systems, velocity_control_has_one_initial_velocity)
{
	start(PLUGIN("VelocityControl", "<initial_angular>0 0 2</initial_angular>"));
	step();
	cr_assert(body_asked("base")->drive);
	NEAR(body_asked("base")->w.z, 2);
	start(PLUGIN("VelocityControl", "<initial_linear>0.5 0 0</initial_linear>"));
	step();
	cr_assert(body_asked("base")->drive);
	NEAR(body_asked("base")->v.y, 0.5);
	start(PLUGIN("VelocityControl", ""));
	step();
	cr_assert_not(body_asked("base")->drive);
}

Test(systems, velocity_control_has_initial_velocities_and_links)
{
	start(PLUGIN("VelocityControl",
		"<initial_linear>0.5 0 0</initial_linear><initial_angular>0 0 "
		"1</initial_angular><topic>go</topic><link_name>l1</link_name><link_name>tool</link_name>"));
	cr_assert_null(systems_find_listeners(systems, "/model/bot/cmd_vel"));
	step();
	NEAR(body_asked("base")->v.y, 0.5);
	NEAR(body_asked("r1")->v.y, 0.5 + 1);
	send("/model/bot/link/tool/cmd_vel", "linear {y: 3}");
	step();
	NEAR(body_asked("tool")->v.x, -3);
	NEAR(body_asked("tool")->w.z, 0);
	NEAR(body_asked("base")->v.y, 0.5);
	send("/go", "linear {x: 1e9}");
	step();
	NEAR(body_asked("base")->v.y, BUILTIN_VELOCITY_MAX);
	NEAR(body_asked("base")->w.z, 0);
}

/* --- joints ------------------------------------------------------------------------------------------------------ */

static double positioned_at(double position)
{
	state_joint(state, joint_of("slide"), false)->position[0] = position;
	step();
	cr_assert(!asked("slide")->drive);
	return asked("slide")->force;
}

Test(systems, position_pid_is_gazebos)
{
	start(PLUGIN("JointPositionController",
		"<joint_name>slide</joint_name><p_gain>3</p_gain><i_gain>2</i_gain><d_gain>0.1</"
		"d_gain><initial_position>1</initial_position><cmd_offset>7</cmd_offset>"));
	double integral = 0, last = 0;
	for (int i = 0; i < 5; i++) {
		double error = 0.1 * i - 1;
		integral += 2 * error * DT;
		NEAR(positioned_at(0.1 * i), 7 - 3 * error - integral - 0.1 * (error - last) / DT);
		last = error;
	}
}

Test(systems, position_pid_clamps_integral_and_output)
{
	start(PLUGIN("JointPositionController",
		"<joint_name>slide</joint_name><p_gain>0</p_gain><i_gain>100</i_gain><d_gain>0</d_gain><i_max>2</"
		"i_max><i_min>-3</i_min><cmd_max>2.5</cmd_max><cmd_min>-2.5</cmd_min>"));
	send("/model/bot/joint/slide/0/cmd_pos", "data: 1");
	for (int i = 1; i <= 5; i++)
		NEAR(positioned_at(0), fmin(i, 2.5)); /* the error is negative: i_min holds, and cmd_max before it */
	send("/model/bot/joint/slide/0/cmd_pos", "data: -1");
	static const double falling[] = {2, 1, 0, -1, -2, -2, -2};
	for (size_t i = 0; i < ARRAY_LEN(falling); i++)
		NEAR(positioned_at(0), falling[i]);
}

Test(systems, limits_the_wrong_way_round_are_none)
{
	start(PLUGIN("JointPositionController",
		"<joint_name>slide</joint_name><p_gain>1e5</p_gain><i_gain>1e5</i_gain><d_gain>0</d_gain><i_max>-1</"
		"i_max><i_min>1</i_min><cmd_max>-1</cmd_max><cmd_min>1</cmd_min>"));
	NEAR(positioned_at(1), -1e5 - 1e3);
}

/* Both limits are below the joint's own velocity limit. */
Test(systems, position_by_velocity_is_limited_both_ways)
{
	start(PLUGIN("JointPositionController", "<joint_name>slide</joint_name><topic>/arm</topic><cmd_max>0.25</"
						"cmd_max><use_velocity_commands>true</use_velocity_commands>"));
	send("/arm", "data: -2");
	step();
	NEAR(asked("slide")->velocity, -0.25);
	send("/arm", "data: 2");
	step();
	NEAR(asked("slide")->velocity, 0.25);
}

Test(systems, position_by_velocity_stops_at_the_target)
{
	start(PLUGIN("JointPositionController",
		"<joint_name>left</joint_name><joint_name>right</joint_name><topic>/arm</topic><cmd_max>10</"
		"cmd_max><use_velocity_commands>true</use_velocity_commands>"));
	send("/arm", "data: -2");
	step();
	cr_assert(asked("left")->drive && asked("right")->drive);
	NEAR(asked("right")->velocity, -10);
	steps_until(19);
	NEAR(asked("left")->velocity, -10);
	state_joint(state, joint_of("left"), false)->position[0] = -1.95;
	step();
	NEAR(asked("left")->velocity, -0.05 / DT);
}

Test(systems, joint_velocity_is_driven_and_held)
{
	start(PLUGIN("JointController", "<joint_name>left</joint_name><initial_velocity>3</initial_velocity>"));
	step();
	cr_assert(asked("left")->drive);
	NEAR(asked("left")->velocity, 3);
	send("/model/bot/joint/left/cmd_vel", "data: -4");
	for (int i = 0; i < 3; i++) {
		step();
		NEAR(asked("left")->velocity, -4);
	}
}

Test(systems, joint_velocity_by_force_looks_at_the_bodies)
{
	start(PLUGIN("JointController",
		"<joint_name>left</joint_name><use_force_commands>true</"
		"use_force_commands><p_gain>2</p_gain><sub_topic>spin</sub_topic>") PLUGIN("JointController",
		"<joint_name>slide</joint_name><use_force_commands>1</use_force_commands><sub_topic>push</sub_topic>"));
	send("/model/bot/spin", "data: 5");
	/* the robot has turned by 90 degrees since the start: left's axis is now the world's -y, slide's axis its -x; a
	 * wheel's turn with its parent is no turn of the joint, and the tool is where the base is */
	const struct quat turn = {M_SQRT1_2, 0, 0, M_SQRT1_2};
	const char *const turned[] = {"base", "l1", "tool"};
	for (size_t i = 0; i < ARRAY_LEN(turned); i++)
		body(turned[i])->q = quat_mul(turn, body(turned[i])->q);
	body("base")->w = (struct vec3){0, -1, 4};
	body("l1")->w = (struct vec3){0, -1.5, 9};
	body("tool")->v = (struct vec3){-0.25, 7, 7};
	step();
	cr_assert(!asked("left")->drive);
	NEAR(asked("left")->force, -2 * (0.5 - 5));
	NEAR(asked("slide")->force, -0.25);
}

Test(systems, a_force_holds_until_the_next)
{
	start(PLUGIN("ApplyJointForce", "<joint_name>slide</joint_name>")
			PLUGIN("ApplyJointForce", "<joint_name>slide</joint_name><topic>more</topic>"));
	step();
	NEAR(asked("slide")->force, 0);
	send("/model/bot/joint/slide/cmd_force", "data: 6");
	for (int i = 0; i < 3; i++) {
		step();
		NEAR(asked("slide")->force, 6);
	}
	send("/more", "data: -2");
	step();
	NEAR(asked("slide")->force, 4);
	cr_assert(!asked("slide")->drive);
}

/* The number of listeners of the topic that accept the message; the error of a listener that does not. */
static uint32_t takers(const char *topic, const char *text, char ret_error[TROUPE_ERROR_TEXT_BYTES])
{
	const struct system_listeners *found = systems_find_listeners(systems, topic);
	ProtobufCMessage *message = NULL;
	uint32_t count = 0;
	*ret_error = '\0';
	cr_assert_not_null(found, "no topic %s", topic);
	cr_assert_eq(message_of_text(found->type, text, &message_limits_usual, &message, NULL), TROUPE_OK);
	for (uint32_t i = 0; i < found->listeners.count; i++) {
		struct troupe_error error;
		troupe_status status = systems_check(systems, &found->listeners.at[i], message, &error);
		count += !status;
		if (status)
			strcpy(ret_error, error.text);
	}
	message_free(message);
	return count;
}

/* From one topic one system takes positions, the other velocities; a value that is missing in a message stays as it
 * was. */
Test(systems, actuators_command_joints_by_their_numbers)
{
	char error[TROUPE_ERROR_TEXT_BYTES];
	start(PLUGIN("JointPositionController",
		"<joint_name>slide</joint_name><use_actuator_msg>true</use_actuator_msg><actuator_number>1</"
		"actuator_number><p_gain>1</p_gain><i_gain>0</i_gain><d_gain>0</d_gain>") PLUGIN("JointController",
		"<joint_name>left</joint_name><use_actuator_msg>1</use_actuator_msg><actuator_number>0</"
		"actuator_number>") PLUGIN("JointController", "<joint_name>right</joint_name><use_actuator_msg>true</"
							      "use_actuator_msg><actuator_number>2</actuator_number>"));
	send("/actuators", "position: [9, 4] velocity: [1, 2, 3]");
	step();
	NEAR(asked("slide")->force, 4);
	NEAR(asked("left")->velocity, 1);
	NEAR(asked("right")->velocity, 3);
	send("/actuators", "velocity: 5");
	step();
	NEAR(asked("left")->velocity, 5);
	NEAR(asked("right")->velocity, 3);
	NEAR(asked("slide")->force, 4);
	cr_assert_eq(takers("/actuators", "position: [1, 2] velocity: [1, 2, 3]", error), 3);
	cr_assert_eq(takers("/actuators", "velocity: [1, 2]", error), 1);
	cr_assert_eq(takers("/actuators", "position: [1]", error), 0);
	cr_assert_str_eq(
		error, "joint 'right' is actuator 2, from 0, of velocity: expected more than 0 numbers", "%s", error);
	cr_assert_eq(takers("/actuators", "", error), 0);
}

Test(systems, actuators_come_by_a_topic_of_their_own)
{
	start(PLUGIN("JointController",
		"<joint_name>left</joint_name><use_actuator_msg>true</use_actuator_msg><actuator_number>0</"
		"actuator_number><sub_topic>command/motor_speed</sub_topic>") PLUGIN("JointPositionController",
		"<joint_name>slide</joint_name><use_actuator_msg>true</use_actuator_msg><actuator_number>0</"
		"actuator_number><topic>arm</topic>")
			PLUGIN("JointController", "<joint_name>right</joint_name><use_actuator_msg>false</"
						  "use_actuator_msg><actuator_number>0</actuator_number>"));
	cr_assert_null(systems_find_listeners(systems, "/actuators"));
	cr_assert_eq(systems_find_listeners(systems, "/model/bot/command/motor_speed")->type, type_find("Actuators"));
	cr_assert_eq(systems_find_listeners(systems, "/arm")->type, type_find("Actuators"));
	cr_assert_eq(systems_find_listeners(systems, "/model/bot/joint/right/cmd_vel")->type, type_find("Double"));
}

/* --- topics, names and what is refused --------------------------------------------------------------------------- */

Test(systems, topics_are_cleaned_as_gazebo_does)
{
	start(PLUGIN("DiffDrive", WHEELS "<topic>my robot//~go@</topic>")
			PLUGIN("JointController", "<joint_name>kit::spin</joint_name>"));
	cr_assert_not_null(systems_find_listeners(systems, "/my_robot/go"));
	cr_assert_null(systems_find_listeners(systems, "/model/bot/cmd_vel"));
	cr_assert_not_null(systems_find_listeners(systems, "/model/bot/joint/kit::spin/cmd_vel"));
}

Test(systems, all_names_of_a_plugin_are_known)
{
	static const char *const spaces[] = {"gz::sim::systems", "ignition::gazebo::systems", "troupe"};
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		char *plugin = mem_printf("<plugin name='%s::DiffDrive' filename='x'>" WHEELS "</plugin>\n"
					  "<plugin name='%s::Elevator' filename='x'/>",
			spaces[i], spaces[i]);
		start(plugin);
		cr_assert_eq(systems->count, 1);
		cr_assert_eq(systems->warnings.count, 0);
		free(plugin);
	}
}

/* --- what is ignored ---------------------------------------------------------------------------------------------- */

static void assert_warnings(const char *text, const char *const *expected)
{
	struct troupe_error error = {0};
	struct ignored_list list = {0};
	uint32_t warnings = 0;
	cr_assert_eq(sdf_load_text(text, strlen(text), "t.sdf", NULL, &sdf, &error), TROUPE_OK, "%s", error.text);
	ignored_find(sdf, NULL, NULL, &list);
	for (uint32_t i = 0; i < list.all.count; i++) {
		const char *line = ignored_warning(&list, &list.all.at[i]);
		if (list.all.at[i].aside)
			continue;
		cr_assert_not_null(expected[warnings], "one more: %s", line);
		cr_assert_str_eq(line, expected[warnings], "%s", line);
		warnings++;
	}
	cr_assert_null(expected[warnings], "missing: %s", expected[warnings]);
	ignored_fini(&list);
}

Test(systems, what_is_ignored_is_told_once_for_each_kind)
{
	assert_warnings("<sdf version='1.9'><world name='w'><road/><population/>\n"
			"<plugin name='gz::sim::systems::Elevator' filename='x'/>\n"
			"<model name='m'><link name='l'><sensor name='a' type='camera'/>\n"
			"<sensor name='b' type='camera'/><sensor name='c' type='imu'/><typo/></link>\n"
			"<plugin name='gz::sim::systems::Elevator' filename='x'/></model></world></sdf>",
		(const char *const[]){"t.sdf:1: ignored: <population> in <world> x1",
			"t.sdf:4: ignored: <typo> in <link> x1, which SDF does not know",
			"t.sdf:3: ignored: sensors of type camera x2: m::l::a, m::l::b",
			"t.sdf:4: ignored: sensors of type imu x1: m::l::c",
			"t.sdf:5: ignored: plugin \"gz::sim::systems::Elevator\" x2", NULL});
	assert_warnings("<sdf version='1.9'><model name='m'><link name='l'><sensor name='a' "
			"type='a&#9;b'/></link></model></sdf>",
		(const char *const[]){"t.sdf:1: ignored: sensors of type a\\tb x1: m::l::a", NULL});
}

/* Sensors of joints, of nested models and of static models are named, too; old names of types count as the current
 * ones. */
Test(systems, sensors_are_named_wherever_they_are)
{
	assert_warnings("<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><sensor "
			"name='a' type='ray'/></link><model name='n'><link name='l'><sensor name='a' "
			"type='lidar'/></link></model></model>\n<model name='o'><link name='a'/><link name='b'/><joint "
			"name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 "
			"1</xyz></axis><sensor name='f' type='sonar'/></joint></model></world></sdf>",
		(const char *const[]){"t.sdf:1: ignored: sensors of type lidar x2: m::l::a, m::n::l::a",
			"t.sdf:2: ignored: sensors of type sonar x1: o::j::f", NULL});
	/* of many sensors only the first are named */
	assert_warnings("<sdf version='1.9'><model name='m'><link name='l'><sensor name='a' type='imu'/><sensor "
			"name='b' type='imu'/><sensor name='c' type='imu'/><sensor name='d' type='imu'/><sensor "
			"name='e' type='imu'/></link></model></sdf>",
		(const char *const[]){
			"t.sdf:1: ignored: sensors of type imu x5: m::l::a, m::l::b, m::l::c, ...", NULL});
}

/* Troupe does the work of these plug-ins without them, or a warning names the types of sensors. */
Test(systems, plugins_that_need_nothing_are_not_ignored)
{
	static const char *const names[] = {"Physics", "UserCommands", "SceneBroadcaster", "Sensors", "Imu", "Contact",
		"Altimeter", "AirPressure", "AirSpeed", "Magnetometer", "NavSat", "ForceTorque", "LogicalCamera",
		"DopplerVelocityLogSystem"};
	static const char *const spaces[] = {"gz::sim::systems", "ignition::gazebo::systems"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(spaces); k++) {
			char *text = mem_printf(
				"<sdf version='1.9'><world name='w'><plugin name='%s::%s' filename='x'/><model "
				"name='m'><link name='l'/><plugin name='%s::%s' filename='x'/></model></world></sdf>",
				spaces[k], names[i], spaces[k], names[i]);
			assert_warnings(text, (const char *const[]){NULL});
			free(text);
		}
}

Test(systems, a_nested_plugin_belongs_to_its_model)
{
	start("<model name='inner'><link name='p'/><link name='q'/><joint name='left' "
	      "type='revolute'><parent>p</parent><child>q</child><axis><xyz>0 0 1</xyz></axis></joint>" PLUGIN(
		      "ApplyJointForce", "<joint_name>left</joint_name>") "</model>");
	send("/model/inner/joint/left/cmd_force", "data: 2");
	step();
	NEAR(asked("inner::left")->force, 2);
	NEAR(asked("left")->force, 0);
}

static const struct bad {
	const char *plugin, *error;
} bad[] = {
	{PLUGIN("DiffDrive", "<left_joint>left</left_joint><right_joint>left</right_joint>"),
		"t.sdf:12: joint 'left' is a left and a right joint: expected two joints"},
	{PLUGIN("DiffDrive", WHEELS "\n<wheel_radius>-0.2</wheel_radius>"),
		"t.sdf:13: <wheel_radius> is \"-0.2\": expected from 1e-06 to 1e+06"},
	{PLUGIN("DiffDrive", WHEELS "<wheel_radius>0</wheel_radius>"),
		"t.sdf:12: <wheel_radius> is \"0\": expected from 1e-06 to 1e+06"},
	{PLUGIN("DiffDrive", WHEELS "<wheel_separation>nan</wheel_separation>"),
		"t.sdf:12: <wheel_separation> is \"nan\": expected from 1e-06 to 1e+06"},
	{PLUGIN("DiffDrive", WHEELS "<wheel_separation>wide</wheel_separation>"),
		"t.sdf:12: <wheel_separation> is \"wide\": expected one number"},
	{PLUGIN("DiffDrive", WHEELS "<max_linear_acceleration>-1</max_linear_acceleration>"),
		"t.sdf:12: <max_linear_acceleration> is \"-1\": expected from 0 to 1e+09"},
	{PLUGIN("DiffDrive", WHEELS "<min_jerk>1</min_jerk>"),
		"t.sdf:12: <min_jerk> is \"1\": expected from -1e+09 to 0"},
	{PLUGIN("DiffDrive", WHEELS "<min_velocity>1</min_velocity><max_angular_velocity>0.5</max_angular_velocity>"),
		"t.sdf:12: the least angular velocity, 1, is above the greatest: expected at most 0.5"},
	{PLUGIN("DiffDrive", WHEELS "<topic>@~</topic>"), "t.sdf:12: topic '/' has 1 bytes: expected 2 to 255"},
	{PLUGIN("DiffDrive", WHEELS)
			PLUGIN("JointController", "<joint_name>slide</joint_name><topic>/model/bot/cmd_vel</topic>"),
		"t.sdf:13: topic '/model/bot/cmd_vel' carries gz.msgs.Twist for another plugin: expected "
		"gz.msgs.Double"},
	{PLUGIN("VelocityControl", "<initial_linear>1 2</initial_linear>"),
		"t.sdf:12: <initial_linear> is \"1 2\": expected three numbers"},
	{PLUGIN("VelocityControl", "<initial_angular>0 0 1e5</initial_angular>"),
		"t.sdf:12: <initial_angular> is \"0 0 1e5\": expected from -10000 to 10000"},
	{PLUGIN("JointPositionController", "<joint_name>slide</joint_name><p_gain>inf</p_gain>"),
		"t.sdf:12: <p_gain> is \"inf\": expected from -1e+09 to 1e+09"},
	{PLUGIN("JointPositionController", "<joint_name>slide</joint_name><joint_index>1</joint_index>"),
		"t.sdf:12: <joint_index> is \"1\": expected from 0 to 0"},
	{PLUGIN("JointPositionController",
		 "<joint_name>slide</joint_name><use_velocity_commands>perhaps</use_velocity_commands>"),
		"t.sdf:12: <use_velocity_commands> is \"perhaps\": expected true or false"},
	{PLUGIN("JointPositionController",
		 "<joint_name>slide</joint_name><use_velocity_commands>1</use_velocity_commands><cmd_max>-1</cmd_max>"),
		"t.sdf:12: <cmd_max> is -1: expected at least 0 with velocity commands"},
	{PLUGIN("JointController", "<joint_name>slide</joint_name><use_actuator_msg>true</"
				   "use_actuator_msg><actuator_number>-1</actuator_number>"),
		"t.sdf:12: <actuator_number> is \"-1\": expected from 0 to 99999"},
	{PLUGIN("JointController", "<joint_name>slide</joint_name><use_actuator_msg>true</"
				   "use_actuator_msg><actuator_number>1.5</actuator_number>"),
		"t.sdf:12: <actuator_number> is 1.5: expected a whole number"},
	{PLUGIN("JointController", "<joint_name>slide</joint_name><use_actuator_msg>true</"
				   "use_actuator_msg><actuator_number>0</actuator_number>")
			PLUGIN("VelocityControl", "<topic>actuators</topic>"),
		"t.sdf:13: topic '/actuators' carries gz.msgs.Actuators for another plugin: expected gz.msgs.Twist"},
	{PLUGIN("JointController", "<joint_name>slide</joint_name><initial_velocity>1e999</initial_velocity>"),
		"t.sdf:12: <initial_velocity> is \"1e999\": expected from -1e+09 to 1e+09"},
};

/* A plug-in that does not fit the model is left out with a warning, as in Gazebo; the rest of the world runs. */
static const struct bad unfit[] = {
	{PLUGIN("JointPositionController", "<joint_name>slide</joint_name><use_actuator_msg>true</use_actuator_msg>"),
		"t.sdf:12: <use_actuator_msg> without <actuator_number>: expected the actuator's number, from 0"},
	{PLUGIN("DiffDrive", ""), "t.sdf:12: the plugin has no <left_joint>: expected the name of a joint"},
	{PLUGIN("DiffDrive", "<left_joint>left</left_joint>"),
		"t.sdf:12: the plugin has no <right_joint>: expected the name of a joint"},
	{PLUGIN("DiffDrive", "\n<left_joint>lift</left_joint><right_joint>right</right_joint>"),
		"t.sdf:13: <left_joint>: there is no joint 'lift' in model 'bot': expected the name of a joint of it, "
		"such as \"left\""},
	{PLUGIN("DiffDrive", "<left_joint>left</left_joint>\n\n<right_joint/>"),
		"t.sdf:14: <right_joint>: there is no joint '' in model 'bot': expected the name of a joint of it, "
		"such as \"left\", \"neck\", \"right\" or \"slide\" (of 5)"},
	{PLUGIN("DiffDrive", "<left_joint>left</left_joint><right_joint>neck</right_joint>"),
		"t.sdf:12: <right_joint>: joint 'neck' is of type ball: expected one that can be driven"},
	{PLUGIN("DiffDrive", "<left_joint>left</left_joint><right_joint>weld</right_joint>"),
		"t.sdf:12: <right_joint>: joint 'weld' is of type fixed: expected one that can be driven"},
	{PLUGIN("VelocityControl", "<link_name>lamp</link_name>"),
		"t.sdf:12: <link_name>: there is no link 'lamp' in model 'bot'"},
	{PLUGIN("TouchPlugin", "<target>a</target><namespace>n</namespace>"), "t.sdf:12: the plugin has no <time>"},
	{PLUGIN("TouchPlugin", "<target>a</target><time>1</time>"), "t.sdf:12: the plugin has no <namespace>"},
	{PLUGIN("ApplyJointForce", ""), "t.sdf:12: the plugin has no <joint_name>: expected the name of a joint"},
	{PLUGIN("DetachableJoint", "<parent_link>base</parent_link><child_link>l</child_link>"),
		"t.sdf:12: the plugin has no <child_model>"},
	{PLUGIN("DetachableJoint", "<parent_link>base</parent_link><child_model>other</child_model>"),
		"t.sdf:12: the plugin has no <child_link>"},
};

Test(systems, bad_parameters_are_refused_with_their_place)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		cr_assert_eq(load(bad[i].plugin, "", &error), TROUPE_EWORLD, "accepted: %s", bad[i].plugin);
		cr_assert_str_eq(
			error.text, bad[i].error, "%s\n got %s\nwant %s", bad[i].plugin, error.text, bad[i].error);
	}
}

/* One warning is about the plug-in that was left out, and the plug-in has no topic. */
static void expect_left_out(const struct bad *expected)
{
	cr_assert_eq(systems->warnings.count, 1);
	const char *warning = systems->warnings.at[0];
	cr_assert(!strncmp(warning, expected->error, strlen(expected->error)), "%s\n got %s\nwant %s", expected->plugin,
		warning, expected->error);
	cr_assert_not_null(strstr(warning, "is left out"));
	cr_assert_eq(systems->topic_by_name.count, 0);
}

/* Models that come and go again and again take no more room for topics, and are not counted twice. */
Test(systems, topics_that_go_make_room)
{
	start(PLUGIN("VelocityControl", "<topic>go</topic><link_name>l1</link_name><link_name>tool</link_name>"));
	uint32_t topics = systems->topics.count, count = systems->count;
	cr_assert(topics >= 3 && count == 1);
	for (int i = 0; i < 50; i++) {
		systems_unsubscribe(systems, 0);
		cr_assert_null(systems_find_listeners(systems, "/go"));
		systems_subscribe(systems, 0);
		cr_assert_not_null(systems_find_listeners(systems, "/go"));
	}
	cr_assert_eq(systems->topics.count, topics);
	systems_remove(systems, 0);
	cr_assert_eq(systems->count, 0);
}

Test(systems, what_does_not_fit_is_left_out_with_a_warning)
{
	for (size_t i = 0; i < ARRAY_LEN(unfit); i++) {
		struct troupe_error error = {0};
		cr_assert_eq(load(unfit[i].plugin, "", &error), TROUPE_OK, "%s", error.text);
		expect_left_out(&unfit[i]);
	}
}

Test(systems, parameters_without_effect_are_told_if_they_ask_for_something)
{
	start(PLUGIN("Hydrodynamics", "<link_name>base</link_name><lookup_current_x>east</"
				      "lookup_current_x><lookup_current_y> 0 </lookup_current_y><lookup_current_z/>"));
	cr_assert_eq(systems->warnings.count, 1);
	cr_assert(strstr(systems->warnings.at[0], "<lookup_current_x> of plugin 'gz::sim::systems::Hydrodynamics' has "
						  "no effect: there are no files of the environment"),
		"%s", systems->warnings.at[0]);
}

Test(systems, a_thruster_without_its_battery_or_with_bounds_that_exclude_one_another_is_told)
{
	start(PLUGIN("Thruster", "<joint_name>left</joint_name><battery_name>other</battery_name><power_load>5</"
				 "power_load><min_thrust_cmd>2</min_thrust_cmd><max_thrust_cmd>1</max_thrust_cmd>")
			PLUGIN("LinearBatteryPlugin",
				"<battery_name>own</battery_name><voltage>12</voltage><capacity>1</capacity>"));
	cr_assert_eq(systems->warnings.count, 2);
	cr_assert(strstr(systems->warnings.at[0], "<min_thrust_cmd> is 2: expected at most <max_thrust_cmd>, 1: "
						  "commands are limited to 1000 N instead"),
		"%s", systems->warnings.at[0]);
	cr_assert(strstr(systems->warnings.at[1],
			  "<power_load> has no effect: there is no LinearBatteryPlugin 'other' in model 'bot'"),
		"%s", systems->warnings.at[1]);
}

Test(systems, other_names_for_the_topics_of_wrenches_are_told)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'>\n<plugin name='gz::sim::systems::ApplyLinkWrench' "
		"filename='x'><topic>/mine</topic><topic_clear/></plugin></world></sdf>";
	struct scene_options options = {0};
	struct troupe_error error = {0};
	cr_assert_eq(sdf_load_text(text, strlen(text), "t.sdf", NULL, &sdf, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(scene_create(&sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(systems_create(scene, NULL, &systems, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(systems->warnings.count, 1);
	cr_assert_str_eq(systems->warnings.at[0], "t.sdf:2: <topic> of plugin 'gz::sim::systems::ApplyLinkWrench' has "
						  "no effect: the topic is /world/W/wrench");
}

Test(systems, an_empty_match_is_told_and_left_out)
{
#define MATCHES(matches)                                                                                               \
	PLUGIN("TriggeredPublisher", "<input type='gz.msgs.Double' topic='/in'>" matches                               \
				     "</input><output type='gz.msgs.Double' topic='/out'>data: 1</output>")
	static const char said[] = "<match> is empty: it is left out";
	start(MATCHES("<match> </match><match field='data'/><match>data: 2</match>"));
	cr_assert_eq(systems->warnings.count, 2);
	cr_assert(strstr(systems->warnings.at[0], said) && strstr(systems->warnings.at[1], said));
	cr_assert_eq(systems->sets[0].count, 1u);
	start(MATCHES("<match/>"));
	cr_assert_eq(systems->warnings.count, 2);
	cr_assert(strstr(systems->warnings.at[1], "no <match> says for which messages"), "%s", systems->warnings.at[1]);
	cr_assert_eq(systems->sets[0].count, 0u);
}

Test(systems, an_unbind_service_is_told)
{
	start(PLUGIN("CommsEndpoint", "<address>a</address><topic>/a</topic><broker><bind_service>/b</"
				      "bind_service><unbind_service>/u</unbind_service></broker>"));
	cr_assert_eq(systems->warnings.count, 1);
	cr_assert(strstr(systems->warnings.at[0], "<unbind_service> has no effect"), "%s", systems->warnings.at[0]);
}

Test(systems, static_models_cannot_be_driven)
{
	struct troupe_error error = {0};
	cr_assert_eq(load("", PLUGIN("VelocityControl", ""), &error), TROUPE_OK);
	expect_left_out(&(struct bad){
		"VelocityControl", "t.sdf:13: model 'rock' is static: expected a model that this plugin can move"});
}

Test(systems, topics_of_one_plugin_are_limited)
{
	struct troupe_error error = {0};
	struct text links = {0}, plugin = {0};
	for (int i = 0; i < SYSTEM_TOPICS_MAX; i++)
		text_add(&links, "<link_name>base</link_name>");
	text_add(&plugin, "<plugin name='troupe::VelocityControl' filename='x'>%s</plugin>", links.at);
	cr_assert_eq(load(plugin.at, "", &error), TROUPE_ELIMIT);
	cr_assert_str_eq(error.text, "t.sdf:12: the plugin has more than 32 topics");
	text_fini(&links);
	text_fini(&plugin);
}

Test(systems, several_listen_to_one_topic)
{
	start(PLUGIN("JointController", "<joint_name>left</joint_name><topic>/both</topic>")
			PLUGIN("JointController", "<joint_name>right</joint_name><topic>/both</topic>"));
	const struct system_listeners *both = systems_find_listeners(systems, "/both");
	cr_assert_not_null(both);
	cr_assert_eq(both->listeners.count, 2);
	cr_assert_eq(both->listeners.at[0].system, 0);
	cr_assert_eq(both->listeners.at[1].system, 1);
	systems_unsubscribe(systems, 0);
	cr_assert_null(systems_find_listeners(systems, "/both"));
	systems_subscribe(systems, 0);
	cr_assert_eq(systems_find_listeners(systems, "/both")->listeners.count, 2);
}

/* The chord of an arc, as a part of its length, on both sides of where the series ends. */
Test(systems, a_chord_is_shorter_than_its_arc)
{
	for (double turn = -3; turn <= 3; turn += 0.0625) {
		double half = turn / 2, expected = turn == 0 ? 1 : sin(half) / half;
		cr_assert_float_eq(builtin_chord(&system_host, turn), expected, 1e-15, "%g: %.17g, expected %.17g",
			turn, builtin_chord(&system_host, turn), expected);
	}
}
