/* The names of topics in ROS 2 (gateway/ros/names.h), commands to joints, and what nodes tell of themselves: as the
 * headers say, for topics as a server has them and for names that a hostile world may give. */
#include "../fault/check.h"
#include "gateway/dds/graph.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/names.h"
#include "gateway/ros/type_hash.h"
#include "topic/twins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLISHED(of, what)                                                                                            \
	{                                                                                                              \
		.name = of, .kind = TROUPE_TOPIC_PUBLISHED, .type = "gz.msgs." what, .owner = "x"                      \
	}
#define TAKEN(of, what)                                                                                                \
	{                                                                                                              \
		.name = of, .kind = TROUPE_TOPIC_TAKEN, .type = "gz.msgs." what, .owner = "x"                          \
	}

#define FRAMES(of, whose)                                                                                              \
	{                                                                                                              \
		.name = of, .kind = TROUPE_TOPIC_PUBLISHED, .type = "gz.msgs.Pose_V", .owner = "x", .model = whose     \
	}

struct heard {
	struct text text;
};

static void hear_line(void *ctx, const char *line)
{
	struct heard *heard = ctx;
	text_add(&heard->text, "%s\n", line);
}

/* Sorted by name, as the server's table is. */
static const struct troupe_topic two_robots[] = {
	PUBLISHED("/clock", "Clock"),
	TAKEN("/drive", "Twist"),
	PUBLISHED("/front", "LaserScan"),
	TAKEN("/model/a/cmd_vel", "Twist"),
	TAKEN("/model/a/enable", "Boolean"),
	PUBLISHED("/model/a/odometry", "Odometry"),
	PUBLISHED("/model/a/pose", "Pose_V"),
	PUBLISHED("/model/a/tf", "Pose_V"),
	TAKEN("/model/b/arm/joint_trajectory", "JointTrajectory"),
	TAKEN("/model/b/joint/j/0/cmd_pos", "Double"),
	TAKEN("/model/b/joint/j/cmd_force", "Double"),
	TAKEN("/model/b/joint/k/cmd_vel", "Double"),
	PUBLISHED("/model/b/pose", "Pose_V"),
	PUBLISHED("/model/b/pose", "Pose"),
	PUBLISHED("/model/b/pose_static", "Pose_V"),
	PUBLISHED("/stats", "WorldStatistics"),
	PUBLISHED("/world/w/clock", "Clock"),
	PUBLISHED("/world/w/model/a/link/l/sensor/one/camera_info", "CameraInfo"),
	PUBLISHED("/world/w/model/a/link/l/sensor/one/image", "Image"),
	PUBLISHED("/world/w/model/a/link/l/sensor/scan/scan", "LaserScan"),
	PUBLISHED("/world/w/model/a/link/l/sensor/two/depth_image", "Image"),
	PUBLISHED("/world/w/model/a/link/l/sensor/two/image", "Image"),
	PUBLISHED("/world/w/model/a/link/m/sensor/one/image", "Image"),
	PUBLISHED("/world/w/model/b/joint_state", "Model"),
	PUBLISHED("/world/w/model/b/model/inner/link/l/sensor/imu/imu", "IMU"),
	PUBLISHED("/world/w/scene/info", "Scene"),
	TAKEN("/world/w/wrench", "EntityWrench"),
	{.name = "/world/w/control",
		.kind = TROUPE_TOPIC_SERVICE,
		.type = "gz.msgs.WorldControl",
		.reply_type = "gz.msgs.Boolean",
		.owner = "x"},
};

/* "KIND NAME TYPE TOPIC" in lines, and behind it " of ROBOT" if only the robot's frames are in it. */
static char *list(const struct ros_names *names)
{
	struct text out = {0};
	text_add(&out, "%s", "");
	for (uint32_t i = 0; i < names->offers.count; i++) {
		const struct ros_offer *offer = &names->offers.at[i];
		text_add(&out, "%s%s %s %s %s%s%s\n", offer->kind == TROUPE_TOPIC_TAKEN ? "<" : ">",
			offer->keep == NAMES_STATIC ? "!" : "", offer->name, offer->type,
			offer->topic ? offer->topic : offer->robot, offer->frames_of ? " of " : "",
			offer->frames_of ? offer->frames_of : "");
	}
	return out.at;
}

static bool takes_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static struct ros_names make(const struct troupe_topic *topics, uint32_t count, const char *robot)
{
	const struct troupe_topics table = {1, count, topics};
	struct ros_names names;
	names_make(&table, NULL, robot, &names);
	return names;
}

static void test_two_robots(void)
{
	static const char *const lines[] = {
		"> /clock rosgraph_msgs/msg/Clock /clock",
		"< /drive geometry_msgs/msg/Twist /drive",
		"< /drive geometry_msgs/msg/TwistStamped /drive",
		"> /front sensor_msgs/msg/LaserScan /front",
		"< /b/arm/joint_trajectory trajectory_msgs/msg/JointTrajectory /model/b/arm/joint_trajectory",
		"< /a/cmd_vel geometry_msgs/msg/Twist /model/a/cmd_vel",
		"< /a/cmd_vel geometry_msgs/msg/TwistStamped /model/a/cmd_vel",
		"< /a/enable std_msgs/msg/Bool /model/a/enable",
		"> /a/odom nav_msgs/msg/Odometry /model/a/odometry",
		"> /a/pose tf2_msgs/msg/TFMessage /model/a/pose",
		"> /tf tf2_msgs/msg/TFMessage /model/a/tf",
		"> /a/tf tf2_msgs/msg/TFMessage /model/a/tf of a",
		"> /tf tf2_msgs/msg/TFMessage /model/b/pose",
		"> /b/tf tf2_msgs/msg/TFMessage /model/b/pose of b",
		"> /tf tf2_msgs/msg/TFMessage /model/b/pose_static",
		"> /b/tf tf2_msgs/msg/TFMessage /model/b/pose_static of b",
		"< /b/joint/j/cmd_pos std_msgs/msg/Float64 /model/b/joint/j/0/cmd_pos",
		"< /b/joint/j/cmd_force std_msgs/msg/Float64 /model/b/joint/j/cmd_force",
		"< /b/joint/k/cmd_vel std_msgs/msg/Float64 /model/b/joint/k/cmd_vel",
		"< /b/robot_joint_command sensor_msgs/msg/JointState b",
		"> /a/one/camera_info sensor_msgs/msg/CameraInfo /world/w/model/a/link/l/sensor/one/camera_info",
		"> /a/one/image sensor_msgs/msg/Image /world/w/model/a/link/l/sensor/one/image",
		"> /a/scan sensor_msgs/msg/LaserScan /world/w/model/a/link/l/sensor/scan/scan",
		"> /a/two/depth_image sensor_msgs/msg/Image /world/w/model/a/link/l/sensor/two/depth_image",
		"> /a/two/image sensor_msgs/msg/Image /world/w/model/a/link/l/sensor/two/image",
		"> /a/m/one/image sensor_msgs/msg/Image /world/w/model/a/link/m/sensor/one/image",
		"> /b/joint_states sensor_msgs/msg/JointState /world/w/model/b/joint_state",
		"> /b/robot_joint_states sensor_msgs/msg/JointState /world/w/model/b/joint_state",
		"> /b/inner/imu sensor_msgs/msg/Imu /world/w/model/b/model/inner/link/l/sensor/imu/imu",
		">! /tf_static tf2_msgs/msg/TFMessage /world/w/scene/info",
		">! /a/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of a",
		">! /b/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of b",
		">! /b/inner/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of b/inner",
	};
	struct ros_names names = make(two_robots, ARRAY_LEN(two_robots), NULL);
	char *all = list(&names);
	check(!names.robot, "of two robots none is the only one");
	check(names.offers.count == ARRAY_LEN(lines), "as many names as expected:\n%s", all);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(takes_line(all, lines[i]), "'%s' in:\n%s", lines[i], all);
	free(all);
	names_fini(&names);
}

/* In the process of a robot client all names begin with its own, but for those that ROS 2 has once. */
static void test_client(void)
{
	static const struct troupe_topic topics[] = {
		{.name = "/c1/clock", .type = "gz.msgs.Clock", .kind = TROUPE_TOPIC_PUBLISHED},
		{.name = "/c1/a/front", .type = "gz.msgs.LaserScan", .kind = TROUPE_TOPIC_PUBLISHED},
		{.name = "/c1/model/a/cmd_vel", .type = "gz.msgs.Twist", .kind = TROUPE_TOPIC_TAKEN},
		{.name = "/c1/model/a/joint/k/cmd_vel", .type = "gz.msgs.Double", .kind = TROUPE_TOPIC_TAKEN},
		{.name = "/c1/model/a/tf", .type = "gz.msgs.Pose_V", .kind = TROUPE_TOPIC_PUBLISHED},
		{.name = "/c1/world/w/scene/info", .type = "gz.msgs.Scene", .kind = TROUPE_TOPIC_PUBLISHED},
	};
	static const char *const lines[] = {
		"> /clock rosgraph_msgs/msg/Clock /c1/clock",
		"> /c1/clock rosgraph_msgs/msg/Clock /c1/clock",
		"> /c1/a/front sensor_msgs/msg/LaserScan /c1/a/front",
		"< /c1/a/cmd_vel geometry_msgs/msg/Twist /c1/model/a/cmd_vel",
		"< /c1/cmd_vel geometry_msgs/msg/Twist /c1/model/a/cmd_vel",
		"< /c1/robot_joint_command sensor_msgs/msg/JointState a",
		"> /tf tf2_msgs/msg/TFMessage /c1/model/a/tf",
		"> /c1/a/tf tf2_msgs/msg/TFMessage /c1/model/a/tf of a",
		">! /tf_static tf2_msgs/msg/TFMessage /c1/world/w/scene/info",
		">! /c1/a/tf_static tf2_msgs/msg/TFMessage /c1/world/w/scene/info of a",
	};
	const struct troupe_topics table = {1, ARRAY_LEN(topics), topics};
	struct ros_names names;
	names_make(&table, "c1", NULL, &names);
	char *all = list(&names), *topic = names_joint_topic(&names, "a", "k", JOINT_VELOCITY);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(takes_line(all, lines[i]), "'%s' in:\n%s", lines[i], all);
	for (uint32_t i = 0; i < names.offers.count; i++) {
		const char *name = names.offers.at[i].name;
		check(!strncmp(name, "/c1/", 4) || !strcmp(name, "/clock") || !strncmp(name, "/tf", 3),
			"%s is in the namespace of the client", name);
	}
	check(topic && !strcmp(topic, "/c1/model/a/joint/k/cmd_vel"), "the topic of a joint: %s", topic ? topic : "");
	free(topic);
	free(all);
	names_fini(&names);
}

/* Transforms of odometry whose topic a world names are found by their model, unless several models have the topic. */
static void test_given_frames(void)
{
	static const struct troupe_topic topics[] = {
		PUBLISHED("/model/a_b/odometry", "Odometry"),
		FRAMES("/model/c/pose", "c"),
		FRAMES("/model/o/model/i/tf", "o"),
		FRAMES("/ns/tf", "a b"),
		FRAMES("/q/tf", "q"),
		FRAMES("/s/tf", "p"),
		FRAMES("/s/tf", "r"),
		FRAMES("/tf", "c"),
		PUBLISHED("/world/w/scene/info", "Scene"),
	};
	static const char *const lines[] = {
		"> /a_b/odom nav_msgs/msg/Odometry /model/a_b/odometry",
		"> /tf tf2_msgs/msg/TFMessage /model/c/pose",
		"> /tf tf2_msgs/msg/TFMessage /model/o/model/i/tf",
		"> /o/i/tf tf2_msgs/msg/TFMessage /model/o/model/i/tf of o/i",
		"> /ns/tf tf2_msgs/msg/TFMessage /ns/tf of a_b",
		"> /a_b/tf tf2_msgs/msg/TFMessage /ns/tf of a_b",
		"> /q/tf tf2_msgs/msg/TFMessage /q/tf of q",
		"> /s/tf tf2_msgs/msg/TFMessage /s/tf",
		"> /tf tf2_msgs/msg/TFMessage /tf",
		"> /c/tf tf2_msgs/msg/TFMessage /tf of c",
		">! /tf_static tf2_msgs/msg/TFMessage /world/w/scene/info",
		">! /a_b/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of a_b",
		">! /c/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of c",
		">! /o/i/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of o/i",
		">! /q/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of q",
		">! /p/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of p",
		">! /r/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of r",
		">! /ns/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of a_b",
	};
	struct ros_names names = make(topics, ARRAY_LEN(topics), "q");
	char *all = list(&names);
	check(names.offers.count == ARRAY_LEN(lines), "as many names as expected:\n%s", all);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(takes_line(all, lines[i]), "'%s' in:\n%s", lines[i], all);
	free(all);
	names_fini(&names);
}

/* A topic may have messages of several types: those of an offer are of its own. */
static void test_convert(void)
{
	struct ros_names names = make(two_robots, ARRAY_LEN(two_robots), NULL);
	struct text frames = {0}, other = {0};
	struct troupe_error error;
	const struct troupe_message of_frames = {.topic = "/model/b/pose", .type = "gz.msgs.Pose_V"},
				    of_pose = {.topic = "/model/b/pose", .type = "gz.msgs.Pose"};
	for (uint32_t i = 0; i < names.offers.count; i++) {
		const struct ros_offer *offer = &names.offers.at[i];
		if (!offer->topic || strcmp(offer->topic, "/model/b/pose") != 0 || offer->frames_of)
			continue;
		check(!names_convert(offer, &of_frames, &frames, &error) && frames.count, "no frames on %s",
			offer->name);
		check(!names_convert(offer, &of_pose, &other, &error) && !other.count, "a pose as frames on %s",
			offer->name);
	}
	text_fini(&frames);
	text_fini(&other);
	names_fini(&names);
}

/* Adds the topics of two models, a-1 and a.1, to a table; the first keeps the plain name, also after it has gone. */
static void test_twins(void)
{
	struct twins twins = {0};
	uint32_t first = twins_add(&twins, "/model/a-1/odometry"), twin = twins_add(&twins, "/model/a.1/cmd_vel");
	uint32_t again = twins_add(&twins, "/world/w/model/a-1/link/l/sensor/s/scan");
	uint32_t inner = twins_add(&twins, "/model/a.1/model/b/odometry"), given = twins_add(&twins, "/a-1/odometry");
	check(first == again && !twins_is(&twins, first), "all topics of a model are one");
	check(twins_is(&twins, twin) && !twins_is(&twins, inner) && !twins_is(&twins, given), "the second is a twin");
	twins_remove(&twins, first);
	uint32_t third = twins_add(&twins, "/model/a#1/odometry");
	check(twins_is(&twins, third), "a topic of the first is left");
	twins_remove(&twins, third);
	twins_remove(&twins, again);
	check(twins_is(&twins, twin), "a twin stays one when the first goes");
	third = twins_add(&twins, "/model/a#1/odometry");
	check(!twins_is(&twins, third), "the plain name is free");
	static const char *const others[] = {"/model/b-1/o", "/model/A-1/o", "/model/Z-1/o", "/model/z-1/o",
		"/model/a-2/o", "/model/a-0/o", "/model/a-9/o"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		check(!twins_is(&twins, twins_add(&twins, others[i])), "%s has its plain name", others[i]);
	twins_fini(&twins);
}

#define TWIN(of, kind_, what)                                                                                          \
	{                                                                                                              \
		.name = of, .kind = kind_, .type = "gz.msgs." what, .owner = "x", .is_twin = true                      \
	}

/* Twins have namespaces of their own, with all of their topics; so have topics whose names become the same. */
static void test_same_names(void)
{
	static const struct troupe_topic topics[] = {
		PUBLISHED("/front-scan", "LaserScan"),
		PUBLISHED("/front.scan", "LaserScan"),
		TWIN("/model/a-1/cmd_vel", TROUPE_TOPIC_TAKEN, "Twist"),
		TWIN("/model/a-1/model/b/odometry", TROUPE_TOPIC_PUBLISHED, "Odometry"),
		TWIN("/model/a-1/odometry", TROUPE_TOPIC_PUBLISHED, "Odometry"),
		TAKEN("/model/a.1/cmd_vel", "Twist"),
		PUBLISHED("/model/a.1/odometry", "Odometry"),
		PUBLISHED("/world/w/model/7/link/l/sensor/s-1/scan", "LaserScan"),
		PUBLISHED("/world/w/model/7/link/l/sensor/s.1/scan", "LaserScan"),
		PUBLISHED("/world/w/model/7/link/l/sensor/s_1/scan", "LaserScan"),
		PUBLISHED("/world/w/scene/info", "Scene"),
	};
	static const char *const lines[] = {
		"> /front_scan sensor_msgs/msg/LaserScan /front-scan",
		"> /front_scan_a97a3ea3 sensor_msgs/msg/LaserScan /front.scan",
		"< /a_1_3b06e82c/cmd_vel geometry_msgs/msg/Twist /model/a-1/cmd_vel",
		"< /a_1_3b06e82c/cmd_vel geometry_msgs/msg/TwistStamped /model/a-1/cmd_vel",
		"> /a_1_3b06e82c/b/odom nav_msgs/msg/Odometry /model/a-1/model/b/odometry",
		"> /a_1_3b06e82c/odom nav_msgs/msg/Odometry /model/a-1/odometry",
		">! /a_1_3b06e82c/tf_static tf2_msgs/msg/TFMessage /world/w/scene/info of a-1",
		"< /a_1/cmd_vel geometry_msgs/msg/Twist /model/a.1/cmd_vel",
		"> /a_1/odom nav_msgs/msg/Odometry /model/a.1/odometry",
		"> /n7/s_1/scan sensor_msgs/msg/LaserScan /world/w/model/7/link/l/sensor/s-1/scan",
		"> /n7/l/s_1/scan sensor_msgs/msg/LaserScan /world/w/model/7/link/l/sensor/s.1/scan",
		"> /n7/l/s_1/scan_2110b300 sensor_msgs/msg/LaserScan /world/w/model/7/link/l/sensor/s_1/scan",
	};
	const struct troupe_topics table = {1, ARRAY_LEN(topics), topics};
	struct ros_names names, again, none = {0};
	struct heard heard = {{0}};
	char robot[] = "a-1", *given = robot;
	names_update(&none, &table, NULL, &given, hear_line, &heard, &names);
	char *all = list(&names);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check(takes_line(all, lines[i]), "'%s' in:\n%s", lines[i], all);
	check(takes_line(all, "> /odom nav_msgs/msg/Odometry /model/a-1/odometry"), "the robot by its name:\n%s", all);
	check(heard.text.at && !strncmp(heard.text.at, "model 'a-1' is /a_1_3b06e82c: ", 30) &&
			strstr(heard.text.at, "\ntopic '/front.scan' is /front_scan_a97a3ea3: "),
		"said: %s", heard.text.at ? heard.text.at : "");
	text_fini(&heard.text);
	names_update(&names, &table, NULL, &given, hear_line, &heard, &again);
	check(!heard.text.count, "said again: %s", heard.text.at ? heard.text.at : "");
	free(all);
	names_fini(&names);
	names_fini(&again);
}

static void test_robot(void)
{
	struct ros_names names = make(two_robots, ARRAY_LEN(two_robots), "b");
	char *all = list(&names);
	check(takes_line(all, "> /joint_states sensor_msgs/msg/JointState /world/w/model/b/joint_state") &&
			takes_line(all, "> /b/joint_states sensor_msgs/msg/JointState /world/w/model/b/joint_state") &&
			takes_line(all, "< /robot_joint_command sensor_msgs/msg/JointState b") &&
			takes_line(all, "> /inner/imu sensor_msgs/msg/Imu "
					"/world/w/model/b/model/inner/link/l/sensor/imu/imu"),
		"names of the robot without its namespace:\n%s", all);
	check(!strstr(all, " /odom ") && !strstr(all, " /tf /"), "not those of another one:\n%s", all);
	free(all);
	names_fini(&names);
	names = make(two_robots + 2, 5, NULL); /* those of a */
	all = list(&names);
	check(names.robot && !strcmp(names.robot, "a") &&
			takes_line(all, "> /odom nav_msgs/msg/Odometry /model/a/odometry"),
		"the only robot:\n%s", all);
	free(all);
	names_fini(&names);
}

static void check_joint(
	const struct ros_names *names, const char *joint, enum joint_quantity quantity, const char *expected)
{
	char *topic = names_joint_topic(names, "b", joint, quantity);
	check(expected ? topic && !strcmp(topic, expected) : !topic, "joint %s, %d: %s", joint, (int)quantity,
		topic ? topic : "none");
	free(topic);
}

static void test_joint_topics(void)
{
	struct ros_names names = make(two_robots, ARRAY_LEN(two_robots), NULL);
	check_joint(&names, "j", JOINT_POSITION, "/model/b/joint/j/0/cmd_pos");
	check_joint(&names, "j", JOINT_EFFORT, "/model/b/joint/j/cmd_force");
	check_joint(&names, "j", JOINT_VELOCITY, NULL);
	check_joint(&names, "k", JOINT_VELOCITY, "/model/b/joint/k/cmd_vel");
	check_joint(&names, "../../a/cmd_vel", JOINT_VELOCITY, NULL);
	names_fini(&names);
}

/* A name of ROS 2: absolute, of letters, digits and _, no empty part, none that begins with a digit. */
static bool is_sound(const char *name)
{
	size_t length = strlen(name);
	if (*name != '/' || length > NAMES_BYTES_MAX || name[length - 1] == '/')
		return false;
	for (size_t i = 1; i < length; i++) {
		bool digit = name[i] >= '0' && name[i] <= '9';
		bool letter =
			(name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') || name[i] == '_';
		bool first = name[i - 1] == '/';
		if (name[i] == '/' ? first : !(letter || (digit && !first)))
			return false;
	}
	return true;
}

static void test_hostile_names(void)
{
	char longest[400];
	memset(longest, 'x', sizeof longest - 1);
	memcpy(longest, "/model/", 7);
	longest[sizeof longest - 1] = '\0';
	const struct troupe_topic topics[] = {
		PUBLISHED("", "Clock"),
		PUBLISHED("/", "Clock"),
		PUBLISHED("///0//", "Clock"),
		PUBLISHED("/1/2x/ä b/c::d", "Clock"),
		PUBLISHED("/model", "Odometry"),
		PUBLISHED("/model/", "Odometry"),
		PUBLISHED("/model//odometry", "Odometry"),
		PUBLISHED("/model/m", "Odometry"),
		PUBLISHED("/model/m n::o/odometry", "Odometry"),
		PUBLISHED("/model/m/model", "Odometry"),
		TAKEN("/model/m_n__o/odometry", "Odometry"),
		PUBLISHED("/world", "Scene"),
		PUBLISHED("/world/w", "Scene"),
		PUBLISHED("/world/w/model/m/link", "IMU"),
		PUBLISHED("/world/w/model/m/link/l/sensor", "IMU"),
		PUBLISHED("/world/w/model/m/link/l/sensor/s", "IMU"),
		PUBLISHED("/world/w/model/m/link/l/sensor/s/", "IMU"),
		PUBLISHED(longest, "Odometry"),
		PUBLISHED("odd", "Nothing"),
	};
	static const char *const robots[] = {NULL, "", "m", "m/", "/", "../x", "0"};
	for (size_t r = 0; r < ARRAY_LEN(robots); r++) {
		struct ros_names names = make(topics, ARRAY_LEN(topics), robots[r]);
		for (uint32_t i = 0; i < names.offers.count; i++)
			check(is_sound(names.offers.at[i].name), "'%s' of '%s'", names.offers.at[i].name,
				names.offers.at[i].topic);
		names_fini(&names);
	}
}

/* --- commands to joints ------------------------------------------------------------------------------------------- */

static void hear(void *ctx, const char *joint, enum joint_quantity quantity, double value)
{
	struct heard *heard = ctx;
	text_add(&heard->text, "%s %d %g,", joint, (int)quantity, value);
}

/* Two joints; `velocities` of them, and a damaged end. */
static troupe_status hear_command(uint32_t velocities, size_t cut, struct heard *ret_heard)
{
	struct text cdr = {0};
	struct cdr_out out = cdr_begin(&cdr);
	struct troupe_error error;
	cdr_u32(&out, 1);
	cdr_u32(&out, 2);
	cdr_string(&out, "");
	cdr_count(&out, 2);
	cdr_string(&out, "left");
	cdr_string(&out, "right");
	cdr_count(&out, 2);
	cdr_f64s(&out, (const double[]){0.5, NAN}, 2);
	cdr_count(&out, velocities);
	for (uint32_t i = 0; i < velocities; i++)
		cdr_f64(&out, i + 1);
	cdr_count(&out, 0);
	*ret_heard = (struct heard){0};
	text_add(&ret_heard->text, "%s", "");
	troupe_status status = joint_command_read(cdr.at, cdr.count - cut, hear, ret_heard, &error);
	text_fini(&cdr);
	return status;
}

static void test_joint_command(void)
{
	struct heard heard;
	troupe_status status = hear_command(0, 0, &heard);
	check(!status && !strcmp(heard.text.at, "left 0 0.5,"), "positions: %s", heard.text.at);
	text_fini(&heard.text);
	status = hear_command(2, 0, &heard);
	check(!status && !strcmp(heard.text.at, "left 0 0.5,left 1 1,right 1 2,"), "velocities, too: %s",
		heard.text.at);
	text_fini(&heard.text);
	status = hear_command(1, 0, &heard);
	check(status == TROUPE_ECOMMAND && !heard.text.count, "a list of another length");
	text_fini(&heard.text);
	for (size_t cut = 1; cut < 60; cut++) {
		status = hear_command(2, cut, &heard);
		check(status == TROUPE_ECOMMAND && !heard.text.count,
			"%zu bytes are missing, and a part is commanded: %s", cut, heard.text.at);
		text_fini(&heard.text);
	}
}

/* --- hashes of types ---------------------------------------------------------------------------------------------- */

/* As ROS 2's own packages have them, in its release Jazzy; that of the controllers in Iron, which has Humble's fields.
 */
static void test_type_hashes(void)
{
	static const char *const hashes[][2] = {
		{"action_msgs/srv/CancelGoal_Request",
			"3d3c84653c1f96918086887e1dcb236faec88b81a5b14fd4cf4840065bcdf8af"},
		{"action_msgs/srv/CancelGoal_Response",
			"35e682cf3f510e83c70a82a4aac888496dedee56773bf9d8e5e0aa81f9e1c960"},
		{"controller_manager_msgs/msg/ControllerState@humble",
			"38fe2e791900d2bb9e35be49861e88943f11de93e2ec52eb16af7b037116dcd8"},
		{"geometry_msgs/msg/Twist", "9c45bf16fe0983d80e3cfe750d6835843d265a9a6c46bd2e609fcddde6fb8d2a"},
		{"nav_msgs/msg/Odometry", "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0"},
		{"rosgraph_msgs/msg/Clock", "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564"},
		{"sensor_msgs/msg/CameraInfo", "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275"},
		{"sensor_msgs/msg/Image", "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"},
		{"sensor_msgs/msg/Imu", "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"},
		{"sensor_msgs/msg/LaserScan", "64c191398013af96509d518dac71d5164f9382553fce5c1f8cca5be7924bd828"},
		{"sensor_msgs/msg/NavSatFix", "62223ab3fe210a15976021da7afddc9e200dc9ec75231c1b6a557fc598a65404"},
		{"sensor_msgs/msg/PointCloud2", "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"},
		{"std_msgs/msg/Empty", "20b625256f32d5dbc0d04fee44f43c41e51c70d3502f84b4a08e7a9c26a96312"},
		{"std_msgs/msg/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"},
		{"tf2_msgs/msg/TFMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"},
	};
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
		struct text out = {0};
		type_hash_add(hashes[i][0], &out);
		check(!strncmp(out.at, "RIHS01_", 7) && !strcmp(out.at + 7, hashes[i][1]), "%s: %s", hashes[i][0],
			out.at);
		text_fini(&out);
	}
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static void test_graph(void)
{
	const struct graph_end ends[] = {{.kind = TROUPE_TOPIC_PUBLISHED, .guid = {1}},
		{.kind = TROUPE_TOPIC_TAKEN, .guid = {2}}, {.kind = TROUPE_TOPIC_PUBLISHED, .guid = {3}}};
	const unsigned char participant[GLUE_GUID_BYTES] = {9};
	for (int humble = 0; humble < 2; humble++) {
		size_t gid = humble ? 24 : 16;
		struct text out = {0};
		graph_add(&out, participant, "/", "node", ends, ARRAY_LEN(ends), humble);
		struct cdr_in in = cdr_open(out.at, out.count);
		check(in.bytes[0] == 9, "the participant");
		in.at = gid;
		check(cdr_get_count(&in, 1) == 1 && !strcmp(cdr_get_string(&in), "/") &&
				!strcmp(cdr_get_string(&in), "node"),
			"one node");
		check(cdr_get_count(&in, gid) == 1 && in.bytes[in.at] == 2, "a reader");
		in.at += gid;
		check(cdr_get_count(&in, gid) == 2 && in.bytes[in.at] == 1 && in.bytes[in.at + gid] == 3,
			"two writers");
		check(!in.bad && in.at + 2 * gid == in.end, "nothing else");
		text_fini(&out);
	}
	char *topic = graph_topic("/a/odom"), *type = graph_type("nav_msgs/msg/Odometry");
	check(!strcmp(topic, "rt/a/odom") && !strcmp(type, "nav_msgs::msg::dds_::Odometry_"), "%s %s", topic, type);
	free(topic);
	free(type);
	type = graph_type("simulation_interfaces/action/SimulateSteps_SendGoal_Request");
	check(!strcmp(type, "simulation_interfaces::action::dds_::SimulateSteps_SendGoal_Request_"), "%s", type);
	free(type);
	type = graph_type("controller_manager_msgs/srv/SwitchController_Request@humble");
	check(!strcmp(type, "controller_manager_msgs::srv::dds_::SwitchController_Request_"), "%s", type);
	free(type);
}

int main(void)
{
	test_two_robots();
	test_given_frames();
	test_convert();
	test_robot();
	test_twins();
	test_same_names();
	test_client();
	test_joint_topics();
	test_hostile_names();
	test_joint_command();
	test_type_hashes();
	test_graph();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
