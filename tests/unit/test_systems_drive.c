/* Systems that drive robots and tell where they are: what they make of a model is what their formulas say. */
#include "clients.h"

#include "geom/geom.h"
#include "systems.h"
#include "topic/control.pb-c.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/scene.pb-c.h"

TestSuite(drives, .fini = clients_end, .timeout = 120);

/* A box without weight at its origin, 1 m wide. */
#define FLOATING(name, pose, plugin)                                                                                   \
	"<model name='" name "'><pose>" pose                                                                           \
	"</pose><link name='l'><gravity>false</gravity>" INERTIA("1", "0.1") "</link>" plugin "</model>"

static struct troupe_odometry odometry_of(const char *name)
{
	struct troupe_odometry odometry;
	cr_assert(troupe_get_odometry(server, lib_model(server, name), &odometry));
	return odometry;
}

/* --- OdometryPublisher -------------------------------------------------------------------------------------------- */

#define DRIVEN(linear, angular)                                                                                        \
	PLUGIN("VelocityControl",                                                                                      \
		"<initial_linear>" linear "</initial_linear><initial_angular>" angular "</initial_angular>")

/* The next message on the topic. */
static void *next(struct troupe_client *client, const char *topic)
{
	struct troupe_message message;
	for (int i = 0; i < 1000; i++) {
		lib_step(server, 1);
		while (troupe_client_take(client, 0, &message))
			if (!strcmp(message.topic, topic))
				return decode(&message);
	}
	cr_assert(false, "no message on %s", topic);
	return NULL;
}

static const char *frame_of(const Gz__Msgs__Header *header, const char *key)
{
	for (size_t i = 0; i < header->n_data; i++)
		if (!strcmp(header->data[i]->key, key))
			return header->data[i]->value[0];
	return "";
}

/* A model that turns on a circle: the pose is that in the world, the velocity that in the model's axes. */
Test(drives, odometry_is_the_pose_and_the_velocity)
{
	start(FLOATING("bot", "1 2 3 0 0 0.5",
		DRIVEN("0.8 0.2 0.1", "0 0 0.5") PLUGIN("OdometryPublisher", "<dimensions>3</dimensions>")));
	struct troupe_client *client = client_of(server, 0);
	lib_step(server, 1000);
	subscribe(client, "/model/bot/odometry", 0);
	Gz__Msgs__Odometry *m = next(client, "/model/bot/odometry");
	struct troupe_model_state is = model_of("bot");
	NEAR(m->pose->position->x, is.pose.x, 1e-3);
	NEAR(m->pose->position->y, is.pose.y, 1e-3);
	NEAR(m->pose->position->z, is.pose.z, 1e-3);
	NEAR(m->pose->orientation->z, is.pose.qz, 1e-3);
	NEAR(m->twist->linear->x, 0.8, 1e-3);
	NEAR(m->twist->linear->y, 0.2, 1e-3);
	NEAR(m->twist->linear->z, 0.1, 1e-6);
	NEAR(m->twist->angular->z, 0.5, 1e-6);
	cr_assert_str_eq(frame_of(m->header, "frame_id"), "bot/odom");
	cr_assert_str_eq(frame_of(m->header, "child_frame_id"), "bot/base_footprint");
	message_free(&m->base);
}

/* In two dimensions there is no height; offsets are in the model's frame; topics and frames have names. */
Test(drives, odometry_has_offsets_and_names)
{
	start(FLOATING("bot", "1 2 3 0 0 0",
		DRIVEN("0 0 0.1", "0 0 0") PLUGIN("OdometryPublisher",
			"<odom_frame>map</odom_frame><robot_base_frame>base</robot_base_frame><odom_topic>a</"
			"odom_topic><odom_covariance_topic>b</odom_covariance_topic><tf_topic>c</"
			"tf_topic><xyz_offset>0.5 0.25 0</xyz_offset><rpy_offset>0 0 1</rpy_offset>")));
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/a", 0);
	Gz__Msgs__Odometry *m = next(client, "/a");
	NEAR(m->pose->position->x, 1.5, 1e-9);
	NEAR(m->pose->position->y, 2.25, 1e-9);
	NEAR(m->pose->position->z, 0, 0);
	NEAR(m->pose->orientation->z, sin(0.5), 1e-9);
	NEAR(m->twist->linear->z, 0, 0);
	message_free(&m->base);
	subscribe(client, "/c", 0);
	Gz__Msgs__PoseV *tf = next(client, "/c");
	cr_assert_eq(tf->n_pose, 1);
	NEAR(tf->pose[0]->position->x, 1.5, 1e-9);
	cr_assert_str_eq(frame_of(tf->pose[0]->header, "frame_id"), "map");
	cr_assert_str_eq(frame_of(tf->pose[0]->header, "child_frame_id"), "base");
	message_free(&tf->base);
}

/* The mean of the squares of n numbers of a normal distribution is off by more than 5 sqrt(2 / n) in less than one seed
 * of a million; the seed is fixed. */
Test(drives, odometry_noise_has_its_deviation)
{
	enum { COUNT = 500 };
	const double sigma = 0.2;
	start(FLOATING("bot", "0 0 3 0 0 0",
		DRIVEN("0 0 0", "0 0 0") PLUGIN("OdometryPublisher",
			"<gaussian_noise>0.2</gaussian_noise><odom_publish_frequency>0</odom_publish_frequency>")));
	struct troupe_client *client = client_of(server, 0);
	const char *topic = "/model/bot/odometry_with_covariance";
	subscribe(client, topic, 0);
	double squares = 0, cross = 0;
	for (int i = 0; i < COUNT; i++) {
		Gz__Msgs__OdometryWithCovariance *m = next(client, topic);
		const Gz__Msgs__Twist *twist = m->twist_with_covariance->twist;
		squares += twist->linear->x * twist->linear->x / COUNT;
		cross += twist->linear->x * twist->angular->z / COUNT;
		cr_assert_eq(m->twist_with_covariance->covariance->n_data, 36);
		for (int k = 0; k < 36; k++)
			NEAR((double)m->twist_with_covariance->covariance->data[k], k % 7 ? 0 : sigma * sigma, 1e-6);
		message_free(&m->base);
	}
	NEAR(squares / (sigma * sigma), 1, 5 * sqrt(2.0 / COUNT));
	NEAR(cross / (sigma * sigma), 0, 5 * sqrt(1.0 / COUNT));
}

/* --- cars --------------------------------------------------------------------------------------------------------- */

#define BASE_M 1.0
#define SEPARATION_M 0.8
#define RADIUS_M 0.2

#define WHEEL(name, x, y, parent, surface)                                                                             \
	"<link name='" name "'><pose>" x " " y " 0.2 0 0 0</pose>" INERTIA(                                            \
		"2", "0.04") "<collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry>" surface  \
			     "</collision></link><joint name='" name "_joint' type='revolute'><parent>" parent         \
			     "</parent><child>" name                                                                   \
			     "</child><axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>"
#define STEERING(name, y)                                                                                              \
	"<link name='" name "'><pose>0.5 " y " 0.2 0 0 0</pose>" INERTIA(                                              \
		"1", "0.02") "</link><joint name='" name "_joint' type='revolute'><parent>base</parent><child>" name   \
			     "</child><axis><xyz>0 0 "                                                                 \
			     "1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint>"
#define BASE "<link name='base'><pose>0 0 0.2 0 0 0</pose>" INERTIA("20", "2") "</link>"
#define CAR(plugin)                                                                                                    \
	"<model name='car'>" BASE WHEEL("rear_left", "-0.5", "0.4", "base", "")                                        \
		WHEEL("rear_right", "-0.5", "-0.4", "base", "") STEERING("steer_left", "0.4")                          \
			STEERING("steer_right", "-0.4") WHEEL("front_left", "0.5", "0.4", "steer_left", "")            \
				WHEEL("front_right", "0.5", "-0.4", "steer_right", "") plugin "</model>"
#define STEERED                                                                                                        \
	"<left_steering_joint>steer_left_joint</left_steering_joint><right_steering_joint>steer_right_joint</"         \
	"right_steering_joint><wheel_base>1</wheel_base><wheel_separation>0.8</wheel_separation><kingpin_width>0.8</"  \
	"kingpin_width><wheel_radius>0.2</wheel_radius><steer_p_gain>10</steer_p_gain>"
#define DRIVEN_WHEELS "<left_joint>rear_left_joint</left_joint><right_joint>rear_right_joint</right_joint>"

static double joint_at(const char *name)
{
	struct troupe_joint_state state;
	cr_assert(troupe_get_joint(server, lib_joint(server, "car", name), &state));
	return state.position[0];
}

static double joint_rate(const char *name)
{
	struct troupe_joint_state state;
	cr_assert(troupe_get_joint(server, lib_joint(server, "car", name), &state));
	return state.velocity[0];
}

/* The angles of the wheels, the differential, and the circle: the middle of the rear axle moves at v and turns at w. */
Test(drives, ackermann_drives_on_a_circle)
{
	static const double cases[][2] = {{1, 0.4}, {1, -0.4}, {-0.5, 0.2}, {1, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char command[80];
		double v = cases[i][0], w = cases[i][1], half = SEPARATION_M / 2;
		start(CAR(PLUGIN("AckermannSteering", STEERED DRIVEN_WHEELS
			"<max_acceleration>0.5</max_acceleration><min_acceleration>-0.5</min_acceleration>")));
		snprintf(command, sizeof command, "linear {x: %g} angular {z: %g}", v, w);
		lib_text(server, 10, "/model/car/cmd_vel", command);
		lib_run(server, 3000);
		NEAR(joint_at("steer_left_joint"), w == 0 ? 0 : atan(BASE_M / (v / w - half)), 5e-3);
		NEAR(joint_at("steer_right_joint"), w == 0 ? 0 : atan(BASE_M / (v / w + half)), 5e-3);
		NEAR(joint_rate("rear_left_joint"), (v - w * half) / RADIUS_M, 0.02);
		NEAR(joint_rate("rear_right_joint"), (v + w * half) / RADIUS_M, 0.02);
		struct troupe_model_state was = model_of("car");
		lib_run(server, 4000);
		struct troupe_model_state is = model_of("car");
		NEAR(remainder(yaw_of(&is) - yaw_of(&was), 2 * M_PI), w, 0.02 * fabs(w) + 1e-4);
		struct troupe_odometry odometry = odometry_of("car");
		NEAR(odometry.linear, v, 0.01);
		NEAR(odometry.angular, w, 0.01);
		NEAR(odometry.drift_m, 0, 0.05);
	}
}

/* A turn that is tighter than the steering limit allows is made on the smallest circle. */
Test(drives, ackermann_steers_to_its_limit)
{
	start(CAR(PLUGIN("AckermannSteering", STEERED DRIVEN_WHEELS "<steering_limit>0.4</steering_limit>")));
	lib_text(server, 10, "/model/car/cmd_vel", "linear {x: 0.2} angular {z: 5}");
	lib_run(server, 2000);
	double least = BASE_M / sin(0.4);
	NEAR(joint_at("steer_left_joint"), atan(BASE_M / (least - SEPARATION_M / 2)), 5e-3);
	NEAR(joint_at("steer_right_joint"), atan(BASE_M / (least + SEPARATION_M / 2)), 5e-3);
	lib_text(server, 2010, "/model/car/cmd_vel", "linear {x: 0} angular {z: -1}");
	lib_run(server, 4000);
	NEAR(joint_at("steer_right_joint"), -atan(BASE_M / (least - SEPARATION_M / 2)), 5e-3);
}

/* A number is the angle of a wheel in the middle; no wheel is driven, and there is no odometry. */
Test(drives, ackermann_steers_only)
{
	start(CAR(PLUGIN("AckermannSteering", STEERED "<steering_only>true</steering_only>")));
	lib_text(server, 10, "/model/car/steer_angle", "data: 0.3");
	lib_run(server, 2000);
	NEAR(joint_at("steer_left_joint"), atan(BASE_M / (BASE_M / tan(0.3) - SEPARATION_M / 2)), 5e-3);
	NEAR(joint_at("steer_right_joint"), atan(BASE_M / (BASE_M / tan(0.3) + SEPARATION_M / 2)), 5e-3);
	struct troupe_odometry odometry;
	cr_assert_not(troupe_get_odometry(server, lib_model(server, "car"), &odometry));
	start(CAR(PLUGIN("AckermannSteering",
		STEERED "<use_actuator_msg>true</use_actuator_msg><actuator_number>1</actuator_number>")));
	lib_text(server, 10, "/actuators", "position: [9, -3]");
	lib_run(server, 2000);
	NEAR(joint_at("steer_right_joint"), -atan(BASE_M / (BASE_M / tan(0.5) - SEPARATION_M / 2)), 5e-3);
}

/* The PID of a steering joint begins anew in each step: so its last part is the error by the step. */
Test(drives, ackermann_steers_by_a_pid)
{
	start(CAR(PLUGIN("AckermannSteering", STEERED "<steering_only>true</steering_only><steer_d_gain>1</"
						      "steer_d_gain><steer_cmd_max>0.5</steer_cmd_max>")));
	lib_text(server, 10, "/model/car/steer_angle", "data: 0.3");
	lib_run(server, 210);
	NEAR(joint_at("steer_left_joint"), 0.2 * 0.5, 5e-3);
}

/* --- MecanumDrive ------------------------------------------------------------------------------------------------- */

#define ROLLERS(direction)                                                                                             \
	"<surface><friction><ode><mu>1</mu><mu2>0</mu2><fdir1 gz:expressed_in='base'>" direction                       \
	"</fdir1></ode></friction></surface>"
#define MECANUM(plugin)                                                                                                \
	"<model name='car' xmlns:gz='http://gazebosim.org/schema'>" BASE WHEEL("rear_left", "-0.5", "0.4", "base",     \
		ROLLERS("1 1 0")) WHEEL("rear_right", "-0.5", "-0.4", "base", ROLLERS("1 -1 0"))                       \
		WHEEL("front_left", "0.5", "0.4", "base", ROLLERS("1 -1 0"))                                           \
			WHEEL("front_right", "0.5", "-0.4", "base", ROLLERS("1 1 0")) plugin "</model>"
#define MECANUM_WHEELS                                                                                                 \
	"<front_left_joint>front_left_joint</front_left_joint><front_right_joint>front_right_joint</"                  \
	"front_right_joint><back_left_joint>rear_left_joint</back_left_joint><back_right_joint>rear_right_joint</"     \
	"back_right_joint><wheelbase>1</wheelbase><wheel_separation>0.8</wheel_separation><wheel_radius>0.2</"         \
	"wheel_radius>"

/* Ahead, aside, about itself, and all at once: the model moves as the Twist says, and so does the odometry. */
Test(drives, mecanum_wheels_move_in_all_directions)
{
	static const double cases[][3] = {{0.5, 0, 0}, {0, 0.5, 0}, {0, 0, 0.5}, {0.3, -0.3, 0}, {0.3, 0.2, 0.4}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const double *c = cases[i];
		char command[120];
		start(MECANUM(PLUGIN("MecanumDrive", MECANUM_WHEELS)));
		snprintf(command, sizeof command, "linear {x: %g y: %g} angular {z: %g}", c[0], c[1], c[2]);
		lib_text(server, 100, "/model/car/cmd_vel", command);
		lib_run(server, 2000);
		struct troupe_model_state is = model_of("car");
		double yaw = yaw_of(&is), sine = sin(yaw), cosine = cos(yaw);
		NEAR(is.twist.linear.x * cosine + is.twist.linear.y * sine, c[0], 0.02);
		NEAR(is.twist.linear.y * cosine - is.twist.linear.x * sine, c[1], 0.02);
		NEAR(is.twist.angular.z, c[2], 0.02);
		double length = (BASE_M + SEPARATION_M) / 2;
		NEAR(joint_rate("front_left_joint"), (c[0] - c[1] - c[2] * length) / RADIUS_M, 1e-6);
		NEAR(joint_rate("rear_right_joint"), (c[0] - c[1] + c[2] * length) / RADIUS_M, 1e-6);
		NEAR(odometry_of("car").drift_m, 0, 0.02);
		NEAR(odometry_of("car").angular, c[2], 1e-6);
	}
}

Test(drives, mecanum_commands_are_limited)
{
	start(MECANUM(PLUGIN("MecanumDrive",
		MECANUM_WHEELS "<max_linear_velocity>0.2</max_linear_velocity><max_angular_acceleration>0.5</"
			       "max_angular_acceleration>")));
	lib_text(server, 0, "/model/car/cmd_vel", "linear {x: 9 y: 9} angular {z: 9}");
	lib_run(server, 200);
	double length = (BASE_M + SEPARATION_M) / 2, turn = 0.5 * 200 * LIB_DT_S;
	NEAR(joint_rate("front_right_joint"), (0.2 + 0.2 + turn * length) / RADIUS_M, 1e-6);
}

/* --- JointTrajectoryController ------------------------------------------------------------------------------------ */

/* Two sliders of 1 kg on a base that does not move. */
#define SLIDER(name, axis)                                                                                             \
	"<link name='" name                                                                                            \
	"'><gravity>false</gravity>" INERTIA("1", "0.1") "</link><joint name='" name                                   \
							 "_joint' type='prismatic'><parent>base</parent><child>" name  \
							 "</child><axis><xyz>" axis "</xyz></axis></joint>"
#define SLIDERS(parameters)                                                                                            \
	"<model name='car'><pose>0 0 5 0 0 0</pose><link name='base'>" INERTIA(                                        \
		"1", "1") "</link><joint name='fixed' "                                                                \
			  "type='fixed'><parent>world</parent><child>base</child></joint>" SLIDER("a", "1 0 0")        \
				  SLIDER("b", "0 1 0") PLUGIN("JointTrajectoryController", parameters) "</model>"

/* An effort accelerates; a velocity is approached with the time constant mass / gain; joints that a message does not
 * name keep their targets. */
Test(drives, trajectory_efforts_and_velocities)
{
	const double gain = 4;
	start(SLIDERS("<velocity_p_gain>0</velocity_p_gain><velocity_p_gain>4</velocity_p_gain>"));
	lib_text(server, 100, "/model/car/joint_trajectory",
		"joint_names: ['b_joint', 'a_joint'] points {velocities: [3, 0] effort: [0, 2] time_from_start {sec: "
		"1}}");
	lib_run(server, 600);
	NEAR(joint_rate("a_joint"), 2 * 500 * LIB_DT_S, 1e-9);
	NEAR(joint_rate("b_joint"), 3 * (1 - exp(-gain * 500 * LIB_DT_S)), 3e-2);
	lib_text(server, 600, "/model/car/joint_trajectory",
		"joint_names: 'a_joint' points {effort: 0 time_from_start {sec: 1}}");
	lib_run(server, 3600);
	NEAR(joint_rate("a_joint"), 2 * 500 * LIB_DT_S, 1e-9);
	NEAR(joint_rate("b_joint"), 3, 1e-3);
}

#define ARM(name)                                                                                                      \
	"<model name='" name "'><link name='base'>" INERTIA("1", "1") "</link>" SLIDER("a", "1 0 0")                   \
		PLUGIN("JointTrajectoryController",                                                                    \
			"<topic>/model/cell/" name "/jtc/joint_trajectory</topic><velocity_p_gain>4</velocity_p_gain>" \
			"<follow_joint_trajectory>true</follow_joint_trajectory>"                                      \
			"<controller_name>jtc</controller_name>") MANAGER(name, "jtc") "</model>"
#define MANAGER(name, controller)                                                                                      \
	"<plugin filename='troupe' name='troupe::ControllerManager'><topic>/model/cell/" name                          \
	"/controller_manager</topic><controller>" controller                                                           \
	" joint_trajectory_controller/JointTrajectoryController</controller><switchable>" controller                   \
	"</switchable></plugin>"

/* Robots that are nested in one model may have joints and controllers of one name: a controller has the joints of its
 * own, and a manager switches the controllers of its namespace. */
Test(drives, nested_robots_have_managers_of_their_own)
{
	static const char *const arms[] = {"left", "middle", "right"};
	for (uint32_t off = 0; off < 3; off++) {
		start("<model name='cell'><pose>0 0 5 0 0 0</pose><link name='floor'>" INERTIA("1",
			"1") "</link><joint name='fixed' "
			     "type='fixed'><parent>world</parent><child>floor</child></joint>" MANAGER("left", "other")
				     ARM("left") ARM("middle") ARM("right") "</model>");
		char *service = mem_printf("/model/cell/%s/controller_manager/switch_controller", arms[off]);
		lib_text(server, 1, service, "deactivate: 'jtc' strictness: 2");
		for (uint32_t i = 0; i < 3; i++) {
			char *topic = mem_printf("/model/cell/%s/jtc/joint_trajectory", arms[i]);
			lib_text(server, 100, topic,
				"joint_names: 'a_joint' points {velocities: 3 time_from_start {sec: 1}}");
			free(topic);
		}
		lib_run(server, 600);
		for (uint32_t i = 0; i < 3; i++) {
			char *name = mem_printf("%s::a_joint", arms[i]);
			struct troupe_joint_state state;
			cr_assert(troupe_get_joint(server, lib_joint(server, "cell", name), &state));
			cr_assert_eq(state.velocity[0] > 1, i != off, "%s, %s off: %g m/s", name, arms[off],
				state.velocity[0]);
			free(name);
		}
		free(service);
	}
}

/* What a controller may be told depends on its state; of one message the lists are obeyed in the order of a life. */
Test(drives, controllers_are_unloaded_and_loaded_step_by_step)
{
	static const struct {
		const char *told;
		bool moves; /* after it */
	} steps[] = {
		{"unload: 'jtc' cleanup: 'jtc' load: 'jtc' configure: 'jtc'", true}, /* it is active */
		{"deactivate: 'jtc' unload: 'jtc'", false},
		{"configure: 'jtc'", false},
		{"activate: 'jtc'", false}, /* it is not loaded */
		{"load: 'jtc' activate: 'jtc'", false},
		{"configure: 'jtc'", false},
		{"cleanup: 'jtc' activate: 'jtc'", false},
		{"configure: ['jtc', 'other']", false}, /* nothing is done: there is no such one */
		{"activate: 'jtc'", false},
		{"configure: ['jtc', 'other'] strictness: 1", false},
		{"activate: 'jtc'", true},
		{"deactivate: 'jtc' cleanup: 'jtc' unload: 'jtc' load: 'jtc' configure: 'jtc' activate: 'jtc'", true},
	};
	start("<model name='car'><pose>0 0 5 0 0 0</pose><link name='base'>" INERTIA("1", "1") "</link>" SLIDER(
		"a", "1 0 0") MANAGER("left", "jtc") PLUGIN("JointTrajectoryController",
		"<topic>/model/cell/left/jtc/joint_trajectory</topic><position_p_gain>400</position_p_gain>"
		"<position_d_gain>40</position_d_gain><follow_joint_trajectory>true</follow_joint_trajectory>"
		"<controller_name>jtc</controller_name>") "</model>");
	for (uint32_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		double goal = 0.1 * (i + 1);
		char *trajectory = mem_printf(
			"joint_names: 'a_joint' points {positions: %.1f time_from_start {nsec: 100000000}}", goal);
		lib_text(server, 1500 * i + 1, "/model/cell/left/controller_manager/switch_controller", steps[i].told);
		lib_text(server, 1500 * i + 2, "/model/cell/left/jtc/joint_trajectory", trajectory);
		lib_run(server, 1500 * (i + 1));
		double at = joint_at("a_joint");
		cr_assert_eq(fabs(at - goal) < 0.02, steps[i].moves, "%s: %g m for %g", steps[i].told, at, goal);
		free(trajectory);
	}
}

/* Gains and first positions are given once for each joint, in their order. */
Test(drives, each_joint_of_a_trajectory_has_its_own_gains)
{
	start(SLIDERS("<position_p_gain>400</position_p_gain><position_d_gain>40</position_d_gain>"
		      "<initial_position>0.5</initial_position><position_p_gain>300</position_p_gain>"
		      "<position_d_gain>30</position_d_gain><initial_position>0.25</initial_position>"));
	lib_run(server, 2000);
	NEAR(joint_at("a_joint"), 0.5, 1e-3);
	NEAR(joint_at("b_joint"), 0.25, 1e-3);
}

/* A point is the target until its time; then the next one is, and the last one stays. */
Test(drives, trajectory_points_are_targets_in_turn)
{
	start(SLIDERS("<joint_name>b_joint</joint_name><position_p_gain>400</position_p_gain><position_d_gain>40</"
		      "position_d_gain><initial_position>0.5</initial_position>"));
	lib_run(server, 1000);
	NEAR(joint_at("b_joint"), 0.5, 1e-3);
	lib_text(server, 1000, "/model/car/joint_trajectory",
		"joint_names: 'b_joint' points {positions: 1 time_from_start {sec: 1}} points {positions: -1 "
		"time_from_start {sec: 2 nsec: 500000000}} points {positions: 0.25 time_from_start {sec: 3}}");
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/model/car/joint_trajectory_progress", 0);
	const double progress[] = {1.0 / 3, 2.5 / 3, 1};
	const uint64_t begins[] = {1000, 2000, 3500}, ends[] = {2000, 3500, 4500};
	const double targets[] = {1, -1, 0.25};
	for (int i = 0; i < 3; i++) {
		Gz__Msgs__Float *m = next(client, "/model/car/joint_trajectory_progress");
		NEAR((double)m->data, progress[i], 1e-6);
		NEAR((double)lib_steps(server), (double)begins[i] + 1, 1);
		message_free(&m->base);
		lib_run(server, ends[i] - 2);
		NEAR(joint_at("b_joint"), targets[i], 1e-3);
		NEAR(joint_at("a_joint"), 0, 1e-9);
	}
}

/* With <interpolate>, the targets of all joints move from point to point on lines. */
Test(drives, trajectory_targets_move_between_points)
{
	const struct {
		uint64_t step;
		double a, b;
	} places[] = {{600, 0.5, -1}, {1100, 1, -2}, {2100, 0.5, 1}, {3100, 0, 4}, {3600, 0, 4}};
	start(SLIDERS("<interpolate>1</interpolate><use_velocity_commands>1</use_velocity_commands>"
		      "<velocity_gain>20</velocity_gain>"));
	lib_text(server, 100, "/model/car/joint_trajectory",
		"joint_names: ['a_joint', 'b_joint'] points {positions: [1, -2] time_from_start {sec: 1}} "
		"points {positions: [0, 4] time_from_start {sec: 3}}");
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		lib_run(server, places[i].step);
		NEAR(joint_at("a_joint"), places[i].a, 2e-2);
		NEAR(joint_at("b_joint"), places[i].b, 2e-2);
	}
}

static void keep_refusal(void *ctx, const struct troupe_reply *reply)
{
	if (reply->status != TROUPE_OK)
		(void)snprintf(ctx, TROUPE_ERROR_TEXT_BYTES, "%s", reply->text);
}

/* A trajectory without joints, without a joint of the controller, without points, or with more points than there is
 * room for, is refused with the reason; the greatest that has room is not. */
Test(drives, trajectories_that_are_refused)
{
	enum { MOST = 3072 / (1 + 3 * 2) };
	struct text many = {0};
	text_add(&many, "joint_names: 'a_joint'");
	for (int i = 0; i < MOST; i++)
		text_add(&many, " points {positions: 1}");
	char *most = mem_strdup(many.at);
	text_add(&many, " points {positions: 1}");
	char limit[40];
	(void)snprintf(limit, sizeof limit, "expected at most %d", MOST);
	const struct {
		const char *text, *why;
	} cases[] = {{"points {positions: 1}", "no joint_names"}, {"joint_names: 'a_joint'", "no points"},
		{"joint_names: ['a', 'car::a_joint'] points {positions: 1}",
			"no joint of this controller: expected 'a_joint' or another"},
		{"joint_names: ['a', 'b_joint'] points {positions: [1, 1]}", ""}, {many.at, limit}, {most, ""}};
	char *world = mem_printf(LIB_SDF("<world name='w'>" LIB_HEAD "%s</world>"), SLIDERS(""));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char refusal[TROUPE_ERROR_TEXT_BYTES] = "";
		struct troupe_server_def def = lib_def(world, 0);
		def.on_reply = keep_refusal;
		def.ctx = refusal;
		server = lib_create(&def);
		lib_text(server, 1, "/model/car/joint_trajectory", cases[i].text);
		lib_step(server, 3);
		cr_assert(strstr(refusal, cases[i].why) && !*refusal == !*cases[i].why, "%zu: '%s'", i, refusal);
	}
	free(world);
	free(most);
	text_fini(&many);
	expect_refused(SLIDERS("<joint_name>a_joint</joint_name><joint_name>a_joint</joint_name>"), "named twice");
}

/* Joints are nearer to their targets by exp(-4 t), and so are their velocities to 0. */
#define FOLLOWS                                                                                                        \
	"<use_velocity_commands>1</use_velocity_commands><velocity_gain>4</velocity_gain>"                             \
	"<follow_joint_trajectory>1</follow_joint_trajectory>"
#define GOAL_OF(header, joints, places)                                                                                \
	"id: 5 trajectory {" header " joint_names: [" joints "] points {positions: [" places                           \
	"] time_from_start {sec: 1}}} "
#define PATH(joint, limit) "path_tolerance {name: '" joint "_joint' " limit "} "
#define END(joint, limit) "goal_tolerance {name: '" joint "_joint' " limit "} "
#define GOAL(more) GOAL_OF("", "'b_joint', 'a_joint'", "1, 0.5") more

struct goal_end {
	double at_s;
	uint32_t status;
	int32_t code;
	char text[TROUPE_ERROR_TEXT_BYTES];
};

/* Of the goal with id 5, given at the beginning of a new run. */
static struct goal_end follow(const char *goal)
{
	struct goal_end end = {0};
	start(SLIDERS(FOLLOWS));
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/model/car/follow_joint_trajectory/state", 0);
	request(client, "/model/car/follow_joint_trajectory", "troupe.msgs.TrajectoryGoal", goal, 1);
	while (!end.at_s) {
		Troupe__Msgs__TrajectoryState *m = next(client, "/model/car/follow_joint_trajectory/state");
		if (m->goal->id == 5 && m->goal->status != 2) {
			end.at_s = (double)m->header->stamp->sec + (double)m->header->stamp->nsec * 1e-9;
			end.status = m->goal->status;
			end.code = m->goal->error_code;
			(void)snprintf(end.text, sizeof end.text, "%s", m->goal->error_string);
		}
		message_free(&m->base);
		cr_assert_lt(lib_steps(server), 5000, "%s: no end", goal);
	}
	client_destroy(client);
	return end;
}

/* Limits of the path and of the end, of positions and velocities, each of the second of two joints, and times that are
 * more and less than a second. */
Test(drives, goals_of_a_trajectory_end_as_their_limits_say)
{
	const double gain = 4, stands_s = log(gain * 1 / 0.01) / gain, near_s = log(1 / 0.001) / gain;
	const struct {
		const char *goal;
		double at_s;
		uint32_t status;
		int32_t code;
		const char *text;
	} rows[] = {
		{GOAL(""), stands_s, 4, 0, ""},
		{GOAL(PATH("a", "position: 2") PATH("b", "position: 2")), stands_s, 4, 0, ""},
		{GOAL(PATH("a", "position: 2") PATH("b", "position: 0.9")), 0, 6, -4, "'b_joint' has an error of 1 in"},
		{GOAL(PATH("b", "position: 2") PATH("a", "position: 0.4")), 0, 6, -4,
			"'a_joint' has an error of 0.5 in"},
		{GOAL(PATH("b", "velocity: 0.4")), 0, 6, -4, "in its velocity: expected at most 0.4"},
		{GOAL(END("a", "position: 0.2") END("b", "position: 0.001")), near_s, 4, 0, ""},
		{GOAL(END("b", "velocity: 0.05")), log(gain * 0.5 / 0.01) / gain, 4, 0, ""},
		{GOAL(END("a", "velocity: 1") END("b", "position: 0.001") "goal_time_tolerance {nsec: 100000000}"), 1.1,
			6, -5, "'b_joint' has"},
		{GOAL(END("b", "position: 0.001") "goal_time_tolerance {sec: 1}"), near_s, 4, 0, ""},
		{GOAL_OF("header {stamp {sec: 1 nsec: 500000000}}", "'a_joint', 'b_joint'", "0.5, 1"), 2.5, 4, 0, ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct goal_end end = follow(rows[i].goal);
		cr_expect(end.status == rows[i].status && end.code == rows[i].code && strstr(end.text, rows[i].text),
			"%zu: status %u, code %d, '%s'", i, end.status, end.code, end.text);
		cr_expect_float_eq(
			end.at_s, rows[i].at_s, 0.02, "%zu: ends at %g s: expected %g", i, end.at_s, rows[i].at_s);
	}
}

/* --- TrajectoryFollower ------------------------------------------------------------------------------------------- */

#define FOLLOWING(parameters)                                                                                          \
	"<model name='bot'><pose>2 1 3 0 0 0.5</pose><link name='l'><gravity>false</gravity>" INERTIA(                 \
		"2", "0.1") "</link>" PLUGIN("TrajectoryFollower", "<link_name>l</link_name>" parameters) "</model>"

/* The force alone, as long as the direction is right; nothing while it is paused. */
Test(drives, follower_pushes_ahead)
{
	start("<model name='bot'><pose>0 0 3 0 0 0</pose><link name='l'><gravity>false</gravity>" INERTIA(
		"2", "0.1") "</link>" PLUGIN("TrajectoryFollower",
		"<link_name>l</link_name><force>4</force><waypoints><waypoint>100 0</waypoint></waypoints>") "</"
													     "model>");
	lib_run(server, 500);
	NEAR(model_of("bot").twist.linear.x, 4.0 / 2 * 0.5, 1e-9);
	lib_text(server, 500, "/model/bot/trajectory_follower/pause", "data: true");
	lib_run(server, 1000);
	NEAR(model_of("bot").twist.linear.x, 4.0 / 2 * 0.5, 1e-9);
	lib_text(server, 1000, "/model/bot/trajectory_follower/pause", "data: false");
	lib_run(server, 1500);
	NEAR(model_of("bot").twist.linear.x, 4.0 / 2, 1e-9);
}

/* A line begins at the first place, and is turned as the link is at first: by 0.5. */
Test(drives, follower_goes_along_a_line)
{
	static const double directions[] = {1, 0, -1.5};
	for (size_t d = 0; d < sizeof directions / sizeof *directions; d++) {
		char line[400], model[2000];
		double angle = directions[d] + 0.5, nearest = HUGE_VAL;
		snprintf(line, sizeof line,
			"<line><direction>%g</direction><length>4</length></line><force>4</force><torque>0.2</"
			"torque><zero_vel_on_bearing_reached>true</zero_vel_on_bearing_reached>",
			directions[d]);
		snprintf(model, sizeof model, FOLLOWING("%s"), line);
		start(model);
		for (int i = 0; i < 200; i++) {
			lib_step(server, 100);
			struct troupe_model_state is = model_of("bot");
			nearest = fmin(nearest, hypot(is.pose.x - 2 - 4 * cos(angle), is.pose.y - 1 - 4 * sin(angle)));
		}
		NEAR(nearest, 0, 0.55);
	}
}

/* As in Gazebo a link stops turning when it points to its goal to 0.1 degrees, and not at the tolerance; then nothing
 * turns it. The goal is straight ahead after a turn of 0.2 rad at 1 rad/s. */
Test(drives, follower_stops_turning_where_it_points_to_its_goal)
{
	const double tenth = 0.1 * M_PI / 180;
	start("<model name='bot'><pose>0 0 3 0 0 -0.2</pose><link name='l'><gravity>false</gravity>" INERTIA(
		"2", "0.1") "</link>" PLUGIN("TrajectoryFollower",
		"<link_name>l</link_name><force>0</force><torque>0</torque><bearing_tolerance>5</"
		"bearing_tolerance><waypoints><waypoint>100 "
		"0</waypoint></waypoints><zero_vel_on_bearing_reached>true</zero_vel_on_bearing_reached>") "</model>");
	lib_text(server, 0, "/world/w/set_velocity", "name: 'bot' angular {z: 1}");
	lib_run(server, 190);
	NEAR(model_of("bot").twist.angular.z, 1, 1e-9); /* 0.6 degrees are left */
	lib_run(server, 400);
	NEAR(model_of("bot").twist.angular.z, 0, 1e-9);
	NEAR(2 * atan2(model_of("bot").pose.qz, model_of("bot").pose.qw), 0, tenth);
}

Test(drives, ways_that_are_refused)
{
	expect_refused(FOLLOWING("<waypoints><waypoint>1</waypoint></waypoints>"), "expected two numbers");
	expect_refused(FOLLOWING("<waypoints/>"), "has no <waypoint>");
	expect_refused(FOLLOWING("<circle/>"), "<circle> has no <radius>");
	expect_refused(FOLLOWING("<line><direction>x</direction><length>1</length></line>"), "<direction> is 'x'");
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

Test(drives, bad_parameters_are_refused)
{
	expect_refused(CAR(PLUGIN("AckermannSteering", STEERED DRIVEN_WHEELS "<steering_limit>2</steering_limit>")),
		"<steering_limit>");
	expect_refused(CAR(PLUGIN("AckermannSteering", STEERED DRIVEN_WHEELS
			       "<steer_cmd_min>2</steer_cmd_min><steer_cmd_max>1</steer_cmd_max>")),
		"<steer_cmd_min> is 2, above");
	expect_refused(CAR(PLUGIN("AckermannSteering", "<left_steering_joint>steer_left_joint</"
						       "left_steering_joint><right_steering_joint>steer_left_joint</"
						       "right_steering_joint>" DRIVEN_WHEELS)),
		"steers left and right");
	expect_refused(MECANUM(PLUGIN("MecanumDrive",
			       MECANUM_WHEELS "<min_velocity>1</min_velocity><max_velocity>0</max_velocity>")),
		"the least linear velocity, 1, is above the greatest");
	expect_refused(CAR(PLUGIN("OdometryPublisher", "<dimensions>2.5</dimensions>")), "<dimensions> is 2.5");
	expect_refused(CAR(PLUGIN("OdometryPublisher", "<gaussian_noise>-1</gaussian_noise>")), "<gaussian_noise>");
}

/* --- drive to a pose ---------------------------------------------------------------------------------------------- */

#define GAIN_LINEAR 0.8
#define GAIN_ANGULAR 1.6
#define NEAR_LINEAR 0.05
#define NEAR_ANGULAR 0.02
#define TO_POSE                                                                                                        \
	PLUGIN("DriveToPoseController",                                                                                \
		"<linear_p_gain>0.8</linear_p_gain><angular_p_gain>1.6</angular_p_gain><linear_deviation>0.05</"       \
		"linear_deviation><angular_deviation>0.02</angular_deviation>")

/* Errors decay with their gains until they are small enough, one after the other: the heading, the way, the heading at
 * the end. On the way the heading is off by its deviation e; going at linear gain * d turns the direction to a place in
 * the distance d by linear gain * e, and this has to be turned away again at angular gain * e. */
Test(drives, a_model_goes_to_a_pose_in_the_time_of_its_gains)
{
	const double x = -1.5, y = 2, yaw = -1.2, way = sqrt(x * x + y * y), heading = atan2(y, x);
	const double end = remainder(yaw - heading, 2 * M_PI);
	const double time = log(heading / NEAR_ANGULAR) / GAIN_ANGULAR +
			    log(way / NEAR_LINEAR) / GAIN_LINEAR * (1 + GAIN_LINEAR / GAIN_ANGULAR) +
			    log(fabs(end) / NEAR_ANGULAR) / GAIN_ANGULAR;
	char pose[200];
	start(FLOATING("bot", "0 0 3 0 0 0", PLUGIN("VelocityControl", "") TO_POSE));
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/model/bot/reached_pose", 0);
	(void)snprintf(pose, sizeof pose, "pose {position {x: %.17g y: %.17g} orientation {w: %.17g z: %.17g}}", x, y,
		cos(yaw / 2), sin(yaw / 2));
	lib_text(server, 0, "/model/bot/cmd_pose", pose);
	struct troupe_message message;
	bool told = false;
	for (int i = 0; i < 30000 && !told; i++) {
		lib_step(server, 1);
		told = troupe_client_take(client, 0, &message);
	}
	cr_assert(told, "it never comes there");
	Gz__Msgs__Pose *m = decode(&message);
	NEAR((double)lib_steps(server) * LIB_DT_S, time, 0.03 * time);
	NEAR(hypot(m->position->x - x, m->position->y - y), NEAR_LINEAR, 0.01 * NEAR_LINEAR);
	NEAR(remainder(2 * atan2(m->orientation->z, m->orientation->w) - yaw, 2 * M_PI), copysign(NEAR_ANGULAR, -end),
		0.01 * NEAR_ANGULAR);
	struct troupe_model_state there = model_of("bot");
	lib_step(server, 500);
	cr_assert(!troupe_client_take(client, 0, &message), "it comes there twice");
	struct troupe_model_state later = model_of("bot");
	NEAR(later.pose.x, there.pose.x, 1e-9);
	NEAR(yaw_of(&later), yaw_of(&there), 1e-9);
	message_free(&m->base);
}

/* The first step has the speed of the gain: the place is straight ahead, then to the right. */
Test(drives, a_model_goes_straight_or_turns)
{
	start(FLOATING("bot", "0 0 3 0 0 0", PLUGIN("VelocityControl", "") TO_POSE));
	lib_text(server, 0, "/model/bot/cmd_pose", "pose {position {x: 2}}");
	lib_step(server, 2);
	NEAR(lib_link_at(server, lib_link(server, "bot", "l")).twist.linear.x, 2 * GAIN_LINEAR, 0.01);
	NEAR(lib_link_at(server, lib_link(server, "bot", "l")).twist.angular.z, 0, 1e-9);
	lib_text(server, 0, "/model/bot/cmd_pose", "pose {position {y: -2}}");
	lib_step(server, 2);
	NEAR(lib_link_at(server, lib_link(server, "bot", "l")).twist.linear.x, 0, 1e-2);
	NEAR(lib_link_at(server, lib_link(server, "bot", "l")).twist.angular.z, -M_PI_2 * GAIN_ANGULAR, 0.01);
	expect_refused(FLOATING("bot", "0 0 3 0 0 0",
			       PLUGIN("DriveToPoseController", "<angular_deviation>-1</angular_deviation>")),
		"angular_deviation");
}

/* --- slotcar of Open-RMF ------------------------------------------------------------------------------------------ */

#define SLOTCAR(more)                                                                                                  \
	"<plugin name='slotcar' filename='libslotcar.so'><nominal_drive_speed>1.5</nominal_drive_speed>"               \
	"<nominal_drive_acceleration>1</nominal_drive_acceleration><max_drive_acceleration>1</max_drive_acceleration>" \
	"<nominal_turn_speed>1.5</nominal_turn_speed><nominal_turn_acceleration>2</nominal_turn_acceleration>"         \
	"<max_turn_acceleration>2</max_turn_acceleration>" more "</plugin>"

/* A place of a car's path, in the frame in which the car begins, as text of the message. */
static void slotcar_add(struct text *text, struct pose begin, double yaw, struct vec3 place)
{
	struct vec3 p = pose_point(begin, (struct vec3){place.x, place.y, 0});
	text_add(text, "path {x: %.9g y: %.9g yaw: %.9g level_name: 'L1'} ", p.x, p.y, yaw + place.z);
}

/* Two cars on the same way, 2 m ahead, 1.5 m to the left and 1 m back: they turn at a place and not on the way, and
 * only the first may drive backwards, which leaves its heading as it is. */
Test(drives, slotcars_turn_at_places)
{
	enum { CARS = 2, PLACES = 4 };
	static const struct vec3 way[PLACES] = {
		{0, 0, 0}, {2, 0, 0}, {2, 1.5, M_PI / 2}, {2, 0.5, M_PI / 2}}; /* z: yaw */
	static const double yaws[CARS] = {0, 1};
	static const char *const names[CARS] = {"ahead", "aside"};
	const struct pose begins[CARS] = {{{0, 0, 3}, quat_from_rpy(0, 0, 0)}, {{50, 5, 3}, quat_from_rpy(0, 0, 1)}};
	double turned[CARS] = {0, 0}, farthest[CARS] = {0, 0};
	start(FLOATING("ahead", "0 0 3 0 0 0", SLOTCAR(""))
			FLOATING("aside", "50 5 3 0 0 1", SLOTCAR("<reversible>0</reversible>")));
	for (int c = 0; c < CARS; c++) {
		struct text text = {0};
		text_add(&text, "robot_name: '%s' task_id: 't' ", names[c]);
		for (int i = 0; i < PLACES; i++)
			slotcar_add(&text, begins[c], yaws[c], way[i]);
		lib_text(server, 0, "/robot_path_requests", text.at);
		text_fini(&text);
	}
	for (int t = 0; t < 1800; t++) { /* 18 s */
		lib_step(server, 10);
		for (int c = 0; c < CARS; c++) {
			struct troupe_model_state state = model_of(names[c]);
			struct vec3 at =
				pose_point(pose_inverse(begins[c]), (struct vec3){state.pose.x, state.pose.y, 3});
			bool on_first = fabs(at.y) < 0.06 && at.x > -0.01 && at.x < 2.06,
			     on_second = fabs(at.x - 2) < 0.06 && at.y < 1.56;
			cr_assert(on_first || on_second, "%s is at %g %g after %d steps", names[c], at.x, at.y, 10 * t);
			farthest[c] = fmax(farthest[c], at.y);
			if (farthest[c] > 1.4) /* how far it turns on the way back */
				turned[c] =
					fmax(turned[c], fabs(remainder(yaw_of(&state) - yaws[c] - M_PI / 2, 2 * M_PI)));
		}
	}
	for (int c = 0; c < CARS; c++) {
		struct troupe_model_state state = model_of(names[c]);
		struct vec3 at = pose_point(pose_inverse(begins[c]), (struct vec3){state.pose.x, state.pose.y, 3});
		NEAR(farthest[c], 1.5, 0.06);
		NEAR(at.x, 2, 0.06);
		NEAR(at.y, 0.5, 0.06);
		NEAR(remainder(yaw_of(&state) - yaws[c] - M_PI / 2, 2 * M_PI), 0, 0.1);
		NEAR(turned[c], c ? M_PI : 0, 0.15);
	}
}
