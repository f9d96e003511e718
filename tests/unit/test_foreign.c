/* Plug-ins of ROS become systems and settings: what each parameter becomes, in both spellings; names of topics; what is
 * refused or named in a warning, with its line. tests/cli/test_ros_robots.sh lets whole robots move. */
#include "tests/unit/sdf_help.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(foreign, .fini = sdf_help_end, .timeout = 60);

#define LINK(name, place)                                                                                              \
	"<link name='" name "'><pose>" place " 0 0 0</pose><collision name='c'><geometry><sphere><radius>0.3</radius>" \
	"</sphere></geometry></collision></link>\n"
#define AXLE(name, parent, child)                                                                                      \
	"<joint name='" name "' type='revolute'><parent>" parent "</parent><child>" child                              \
	"</child><axis><xyz>0 1 0</xyz></axis></joint>\n"
#define CAR                                                                                                            \
	LINK("base", "0 0 0")                                                                                          \
	LINK("l", "0 1 0")                                                                                             \
	LINK("r", "0 -1 0") LINK("fl", "2 1 0") LINK("fr", "2 -1 0") AXLE("jl", "base", "l") AXLE("jr", "base", "r")   \
		AXLE("jfl", "base", "fl") AXLE("jfr", "base", "fr")
#define MODEL(inside) "<sdf version='1.9'><model name='m'>" CAR inside "</model></sdf>"
#define PLUGIN(file, inside) "<plugin name='p' filename='lib" file ".so'>" inside "</plugin>"

static const struct sdf_options *foreign_options; /* NULL: the usual ones */

static struct sdf *foreign_load(const char *text)
{
	return sdf_help_keep(sdf_help_good(text, foreign_options));
}

static const struct sdf_element *foreign_plugin_of(const struct sdf *sdf, const char *system)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	for (uint32_t i = 0; i < world->plugins.count; i++)
		if (strstr(world->plugins.at[i].name, system))
			return world->plugins.at[i].element;
	return NULL;
}

/* All children of that name, with commas between; "-": there is none. */
static void check_values(const char *text, const char *system, const char *name, const char *expected)
{
	struct sdf *sdf = foreign_load(text);
	const struct sdf_element *plugin = foreign_plugin_of(sdf, system), *at = NULL;
	struct text found = {0};
	cr_assert_not_null(plugin, "no %s in %s", system, text);
	while ((at = sdf_child(plugin, name, at)) != NULL)
		text_add(&found, "%s%s", found.count ? "," : "", at->text);
	cr_assert_str_eq(found.at ? found.at : "-", expected, "<%s> of %s is '%s', not '%s': %s", name, system,
		found.at ? found.at : "-", expected, text);
	text_fini(&found);
}

static void check_warning(const char *text, const char *part)
{
	struct sdf *sdf = foreign_load(text);
	cr_assert(sdf_help_says(sdf, SDF_WARNING, part), "'%s' is not said of %s", part, text);
}

static void check_silence(const char *text)
{
	struct sdf *sdf = foreign_load(text);
	cr_assert_eq(sdf->messages.count, 0, "'%s' is said of %s", sdf->messages.at[0].text, text);
}

static void foreign_check_error(const char *text, const char *part)
{
	struct sdf *sdf;
	struct troupe_error error = {0};
	cr_assert_neq(sdf_help_load(text, NULL, &sdf, &error), TROUPE_OK, "accepted: %s", text);
	cr_assert(strstr(error.text, part), "'%s' instead of '%s'", error.text, part);
	sdf_free(sdf);
}

#define SNAKE                                                                                                          \
	"<left_joint>jl</left_joint><right_joint>jr</right_joint><wheel_separation>2</wheel_separation>"               \
	"<wheel_diameter>0.6</wheel_diameter><max_wheel_torque>7</max_wheel_torque>"                                   \
	"<max_wheel_acceleration>3</max_wheel_acceleration>"
#define CAMEL                                                                                                          \
	"<leftJoint>jl</leftJoint><rightJoint>jr</rightJoint><wheelSeparation>2</wheelSeparation>"                     \
	"<wheelDiameter>0.6</wheelDiameter><wheelTorque>7</wheelTorque><wheelAcceleration>3</wheelAcceleration>"

Test(foreign, a_differential_drive_in_both_spellings)
{
	static const char *const texts[] = {MODEL(PLUGIN("gazebo_ros_diff_drive", SNAKE)),
		MODEL(PLUGIN("gazebo_ros_diff_drive", CAMEL "<legacyMode>false</legacyMode>"))};
	static const char *const values[][2] = {
		{"left_joint", "jl"},
		{"right_joint", "jr"},
		{"wheel_separation", "2"},
		{"wheel_radius", "0.3"},
		{"max_linear_acceleration", "3"},
		{"min_angular_acceleration", "-3"},
		{"topic", "-"},
		{"publish_odometry", "false"},
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		for (size_t k = 0; k < ARRAY_LEN(values); k++)
			check_values(texts[i], "::DiffDrive", values[k][0], values[k][1]);
		check_silence(texts[i]);
		struct sdf *sdf = foreign_load(texts[i]);
		cr_assert_eq(sdf->worlds.at[0].joints.at[0].axis[0].effort, 7);
		cr_assert(isinf(sdf->worlds.at[0].joints.at[2].axis[0].effort));
	}
}

Test(foreign, the_odometry_is_the_true_place_unless_encoders_are_asked_for)
{
	static const char world[] = MODEL(PLUGIN("gazebo_ros_diff_drive", SNAKE
		"<publish_odom>true</publish_odom><odometry_frame>map</odometry_frame><update_rate>30</update_rate>"));
	static const char encoder[] =
		MODEL(PLUGIN("gazebo_ros_diff_drive", CAMEL "<odometrySource>encoder</odometrySource>"));
	check_values(world, "::OdometryPublisher", "odom_frame", "map");
	check_values(world, "::OdometryPublisher", "robot_base_frame", "base_footprint");
	check_values(world, "::OdometryPublisher", "odom_publish_frequency", "30");
	check_values(world, "::OdometryPublisher", "publish_tf", "false");
	check_values(world, "::OdometryPublisher", "publish_odometry", "-");
	check_values(encoder, "::DiffDrive", "frame_id", "odom");
	check_values(encoder, "::DiffDrive", "publish_odometry", "-");
	struct sdf *sdf = foreign_load(encoder);
	cr_assert_null(foreign_plugin_of(sdf, "OdometryPublisher"));
}

/* The joint that stands on the left is the left one, unless the file says how it was meant. */
Test(foreign, left_and_right_of_ros_1)
{
#define CROSSED(legacy)                                                                                                \
	MODEL(PLUGIN("gazebo_ros_diff_drive", "<leftJoint>jr</leftJoint><rightJoint>jl</rightJoint>" legacy))
	check_values(CROSSED(""), "::DiffDrive", "left_joint", "jl");
	check_values(CROSSED(""), "::DiffDrive", "max_linear_acceleration", "-"); /* it has no limit */
	check_values(CROSSED(""), "::DiffDrive", "min_angular_acceleration", "-");
	check_values(CROSSED("<legacyMode>true</legacyMode>"), "::DiffDrive", "left_joint", "jl");
	check_values(CROSSED("<legacyMode>false</legacyMode>"), "::DiffDrive", "left_joint", "jr");
	check_values(MODEL(PLUGIN("gazebo_ros_diff_drive", CAMEL)), "::DiffDrive", "left_joint", "jl");
	check_values(MODEL(PLUGIN("gazebo_ros_diff_drive", CAMEL "<legacyMode>true</legacyMode>")), "::DiffDrive",
		"left_joint", "jr");
}

Test(foreign, names_of_topics)
{
#define ROS(inside) MODEL(PLUGIN("gazebo_ros_planar_move", inside))
	static const struct {
		const char *text, *topic, *odometry;
	} cases[] = {
		{ROS(""), "-", "-"},
		{ROS("<commandTopic>drive</commandTopic>"), "/model/m/drive", "-"},
		{ROS("<commandTopic>/drive</commandTopic>"), "/drive", "-"},
		{ROS("<robotNamespace>/a/b/</robotNamespace>"), "/a/b/cmd_vel", "/a/b/odom"},
		{ROS("<robotNamespace>/</robotNamespace>"), "-", "-"},
		{ROS("<robotNamespace>m</robotNamespace>"), "-", "-"},
		{ROS("<ros><namespace>a</namespace></ros>"), "/a/cmd_vel", "/a/odom"},
		{ROS("<ros><remapping>cmd_vel:=x</remapping><remapping>odom:=/y</remapping></ros>"), "/model/m/x",
			"/y"},
		{ROS("<ros><namespace>a</namespace><remapping>/a/cmd_vel:=x</remapping></ros>"), "/a/x", "/a/odom"},
		{ROS("<ros><remapping>/cmd_vel:=/m/x</remapping><remapping>bad</remapping></ros>"), "/model/m/x", "-"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check_values(cases[i].text, "::VelocityControl", "topic", cases[i].topic);
		check_values(cases[i].text, "::OdometryPublisher", "odom_topic", cases[i].odometry);
	}
}

Test(foreign, what_has_no_effect_is_said)
{
	check_warning(MODEL(PLUGIN("gazebo_ros_diff_drive", SNAKE "<covariance_x>0.1</covariance_x><a/><b>0</b>"
								  "<publish_wheel_tf>true</publish_wheel_tf>")),
		"plugin \"libgazebo_ros_diff_drive.so\": <covariance_x>, <publish_wheel_tf> have no effect here");
	check_warning(MODEL(PLUGIN("gazebo_ros_diff_drive", SNAKE "<wheel_separation>3</wheel_separation>")),
		"<wheel_separation> is \"3\" for another pair of wheels: 2 is used for all");
	foreign_check_error(MODEL("\n" PLUGIN("gazebo_ros_diff_drive", "<wheel_diameter>wide</wheel_diameter>")),
		"t.sdf:11: <wheel_diameter> is \"wide\": expected a number");
	check_warning(MODEL(PLUGIN("gazebo_ros_p3d", "<bodyName>none</bodyName>")), "expected a link of this model");
	check_warning(MODEL(PLUGIN("gazebo_ros_p3d", "<bodyName>l</bodyName>")), "which moves in the model");
	check_warning(MODEL(PLUGIN("gazebo_ros_imu", "<bodyName>none</bodyName>")), "is left out");
}

Test(foreign, an_ackermann_car_is_measured)
{
#define STEERED(wheel)                                                                                                 \
	MODEL(PLUGIN("gazebo_ros_ackermann_drive",                                                                     \
		"<front_left_joint>jfl</front_left_joint><front_right_joint>jfr</front_right_joint>"                   \
		"<rear_left_joint>" wheel "</rear_left_joint><rear_right_joint>jr</rear_right_joint>"                  \
		"<left_steering_joint>jfl</left_steering_joint><right_steering_joint>jfr</right_steering_joint>"))
	static const char *const values[][2] = {{"left_joint", "jl"}, {"wheel_base", "2"}, {"wheel_separation", "2"},
		{"kingpin_width", "2"}, {"wheel_radius", "0.3"}, {"steering_limit", "0.6"}, {"turn_is_angle", "true"},
		{"max_velocity", "20"}, {"min_velocity", "-20"}};
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		check_values(STEERED("jl"), "::AckermannSteering", values[i][0], values[i][1]);
	check_warning(STEERED("none"), "<rear_left_joint> names the joint \"none\": expected a joint of this model");
	struct sdf *sdf = foreign_load(STEERED("none"));
	cr_assert_eq(sdf->worlds.at[0].plugins.count, 0);
}

#define TURNED_WHEEL(name, place, shape)                                                                               \
	"<link name='" name "'><pose>" place "</pose><collision name='c'><pose>0.5 0 0 1 0 0</pose><geometry>" shape   \
	"</geometry></collision><collision name='d'><geometry><sphere><radius>9</radius></sphere></geometry>"          \
	"</collision></link>\n"
#define TURNED_CAR(shape, last)                                                                                        \
	"<sdf version='1.9'><model name='m'><link name='base'/>" TURNED_WHEEL(                                         \
		"l", "0 1 0 0 0 1.5707963267948966", shape) TURNED_WHEEL("r", "0 -1 0 0 0 -1.5707963267948966", last)  \
		TURNED_WHEEL("fl", "3 1 0 0 0 1.5707963267948966", shape) TURNED_WHEEL(                                \
			"fr", "3 -1 0 0 0 -1.5707963267948966", shape) AXLE("jl", "base", "l") AXLE("jr", "base", "r") \
			AXLE("jfl", "base", "fl") AXLE("jfr", "base", "fr") PLUGIN("gazebo_ros_ackermann_drive",       \
				"<front_left_joint>jfl</front_left_joint><front_right_joint>jfr</front_right_joint>"   \
				"<rear_left_joint>jl</rear_left_joint><rear_right_joint>jr</rear_right_joint>"         \
				"<left_steering_joint>jfl</left_steering_joint>"                                       \
				"<right_steering_joint>jfr</right_steering_joint>") "</model></sdf>"
#define ROLLER(radius) "<cylinder><radius>" radius "</radius><length>0.1</length></cylinder>"

/* Where the wheels are is where their first shapes are, in links that are turned. */
Test(foreign, an_ackermann_car_has_wheels_that_are_shifted)
{
	static const char *const values[][2] = {
		{"wheel_base", "3"}, {"wheel_separation", "3"}, {"kingpin_width", "3"}, {"wheel_radius", "0.25"}};
	static const char car[] = TURNED_CAR(ROLLER("0.5"), ROLLER("0.25"));
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		check_values(car, "::AckermannSteering", values[i][0], values[i][1]);
	check_values(TURNED_CAR(ROLLER("0.5"), "<sphere><radius>0.75</radius></sphere>"), "::AckermannSteering",
		"wheel_radius", "0.75");
	check_warning(TURNED_CAR(ROLLER("0.5"), "<box><size>1 1 1</size></box>"),
		"expected four wheels in four places, and a cylinder or sphere");
}

static const struct sdf_sensor *foreign_sensor_of(const struct sdf *sdf)
{
	cr_assert_eq(sdf->worlds.at[0].sensors.count, 1);
	return &sdf->worlds.at[0].sensors.at[0];
}

static void check_sensor(const char *text, const char *topic, const char *frame)
{
	struct sdf *sdf = foreign_load(text);
	const struct sdf_sensor *sensor = foreign_sensor_of(sdf);
	const char *found = sdf_sensor_topic(sensor), *found_frame = sensor->settings->frame_id;
	cr_assert_str_eq(found ? found : "-", topic, "%s instead of %s: %s", found ? found : "-", topic, text);
	cr_assert_str_eq(found_frame ? found_frame : "-", frame, "%s", text);
}

Test(foreign, sensors_have_the_topics_and_frames_of_their_plugins)
{
#define SENSOR(type, inside)                                                                                           \
	"<sdf version='1.9'><model name='m'><link name='base'><sensor name='s' type='" type "'>" inside                \
	"</sensor></link></model></sdf>"
#define CAMERA "<camera><horizontal_fov>1</horizontal_fov><image><width>8</width><height>8</height></image></camera>"
	check_sensor(SENSOR("ray", PLUGIN("gazebo_ros_ray_sensor", "")), "/model/m/p/out", "base");
	check_sensor(SENSOR("ray", PLUGIN("gazebo_ros_ray_sensor", "<ros><remapping>~/out:=scan</remapping></ros>"
								   "<frame_name>laser</frame_name>")),
		"/model/m/scan", "laser");
	check_sensor(SENSOR("ray", PLUGIN("gazebo_ros_laser", "<topicName>/front/scan</topicName>"
							      "<frameName>laser</frameName>")),
		"/front/scan", "laser");
	check_sensor(
		SENSOR("ray", PLUGIN("gazebo_ros_ray_sensor", "<ros><remapping>~/out:=lidar/points</remapping></ros>"
							      "<output_type>sensor_msgs/PointCloud2</output_type>")),
		"/model/m/lidar", "base");
	check_sensor(SENSOR("imu", PLUGIN("gazebo_ros_imu_sensor", "<ros><namespace>ns</namespace></ros>")),
		"/ns/p/out", "base");
	check_sensor(SENSOR("camera", CAMERA PLUGIN("gazebo_ros_camera", "<camera_name>eye</camera_name>")),
		"/model/m/eye/image_raw", "-");
	struct sdf *sdf =
		foreign_load(SENSOR("camera", CAMERA PLUGIN("gazebo_ros_camera", "<camera_name>eye</camera_name>")));
	cr_assert_str_eq(foreign_sensor_of(sdf)->settings->cameras->info_topic, "/model/m/eye/camera_info");
	check_sensor(SENSOR("camera", CAMERA PLUGIN("gazebo_ros_camera", "<frame_name>lens</frame_name>")),
		"/model/m/s/image_raw", "lens");
	check_sensor(SENSOR("contact", "<contact><collision>c</collision></contact>" PLUGIN(
					       "gazebo_ros_bumper", "<bumperTopicName>bump</bumperTopicName>")),
		"/model/m/bump", "base");
	check_sensor(SENSOR("imu", PLUGIN("somebody_elses", "<topicName>x</topicName>")), "-", "-");
	check_warning(SENSOR("ray", PLUGIN("gazebo_ros_range", "<output_type>sensor_msgs/Range</output_type>")),
		"sensor_msgs/Range is not offered");
}

/* The plug-ins of stereo cameras: names of topics as in ROS, and the baseline of the right one. */
Test(foreign, pairs_of_cameras)
{
	static const char inside[] =
		"<cameraName>rig</cameraName><frameName>lens</frameName><hackBaseline>0.12</hackBaseline>";
	static const char *const files[] = {"gazebo_ros_multicamera", "gazebo_ros_camera"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *text =
			mem_printf("<sdf version='1.9'><model name='m'><link name='base'><sensor name='s' "
				   "type='multicamera'><camera name='left'/><camera name='right'><pose>0 -0.12 0 0 0 0"
				   "</pose></camera><plugin name='p' filename='lib%s.so'>%s</plugin></sensor></link>"
				   "</model></sdf>",
				files[i], inside);
		struct sdf *sdf = foreign_load(text);
		const char *const sides[] = {"left", "right"};
		cr_assert_eq(sdf->worlds.at[0].sensors.count, 2);
		for (size_t k = 0; k < 2; k++) {
			const struct sdf_settings *settings = sdf->worlds.at[0].sensors.at[k].settings;
			char *image = mem_printf("/model/m/rig/%s/image_raw", sides[k]),
			     *info = mem_printf("/model/m/rig/%s/camera_info", sides[k]);
			cr_assert_str_eq(settings->topic, image);
			cr_assert_str_eq(settings->cameras->info_topic, info);
			cr_assert_str_eq(settings->cameras->optical_frame, "lens");
			cr_assert_float_eq(settings->cameras->baseline_m, k ? 0.12 : 0, 1e-12);
			free(image);
			free(info);
		}
		free(text);
	}
	struct sdf *sdf =
		foreign_load(SENSOR("camera", CAMERA PLUGIN("gazebo_ros_camera", "<hackBaseline>0.07</hackBaseline>")));
	cr_assert_float_eq(foreign_sensor_of(sdf)->settings->cameras->baseline_m, 0.07, 1e-12);
}

Test(foreign, plugins_of_the_model_that_are_sensors)
{
	struct sdf *sdf = foreign_load(MODEL(PLUGIN("hector_gazebo_ros_imu",
		"<bodyName>l</bodyName><topicName>imu/data</topicName><updateRate>50</updateRate>"
		"<gaussianNoise>0.1</gaussianNoise>")));
	const struct sdf_sensor *sensor = foreign_sensor_of(sdf);
	cr_assert_eq(sensor->kind, SDF_IMU);
	cr_assert_eq(sensor->update_rate, 50);
	cr_assert_str_eq(sdf->worlds.at[0].links.at[sensor->link].name, "l");
	cr_assert_str_eq(sdf_sensor_topic(sensor), "/model/m/imu/data");
	sdf = foreign_load(
		MODEL(PLUGIN("gazebo_ros_ft_sensor", "<jointName>jr</jointName><topicName>force</topicName>")));
	sensor = foreign_sensor_of(sdf);
	cr_assert_eq(sensor->kind, SDF_FORCE_TORQUE);
	cr_assert_str_eq(sdf->worlds.at[0].joints.at[sensor->joint].name, "jr");
	cr_assert_str_eq(sdf_sensor_topic(sensor), "/model/m/force");
}

#define ROBOT(inside) ROBOT_OF("2", inside)
#define ROBOT_OF(velocity, inside)                                                                                     \
	"<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "                          \
	"izz='1'/></inertial></link>"                                                                                  \
	"<link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"               \
	"<joint name='j' type='revolute'><parent link='a'/><child link='b'/>"                                          \
	"<limit lower='-1' upper='1' effort='9' velocity='" velocity "'/></joint>" inside "</robot>"
#define CONTROL "<gazebo><plugin name='c' filename='gz_ros2_control-system'/></gazebo>"
#define BLOCK(inside) "<ros2_control name='s' type='system'><joint name='j'>" inside "</joint></ros2_control>"

Test(foreign, joints_of_ros2_control)
{
	static const char position[] = ROBOT(CONTROL BLOCK("<command_interface name='velocity'/><command_interface "
							   "name='position'/><state_interface name='position'><param "
							   "name='initial_value'>0.4</param></state_interface>"));
	check_values(position, "::JointPositionController", "joint_name", "j");
	check_values(position, "::JointPositionController", "velocity_gain", "10");
	check_values(position, "::JointPositionController", "cmd_max", "2");
	check_values(position, "::JointPositionController", "initial_position", "0.4");
#define STILL(velocity) ROBOT_OF(velocity, CONTROL BLOCK("<command_interface name='position'/>"))
	check_values(STILL("0"), "::JointPositionController", "cmd_max", "-");
	check_values(STILL("1e9"), "::JointPositionController", "cmd_max", "-");
	check_values(STILL("0.5"), "::JointPositionController", "cmd_max", "0.5");
	check_values(position, "::JointStatePublisher", "topic", "-");
	check_silence(position);
	struct sdf *sdf = foreign_load(position);
	cr_assert_eq(sdf->worlds.at[0].joints.at[0].axis[0].initial_position, 0.4);
	check_values(
		ROBOT(CONTROL BLOCK("<command_interface name='velocity'/>")), "::JointController", "joint_name", "j");
	check_values(
		ROBOT(CONTROL BLOCK("<command_interface name='effort'/>")), "::ApplyJointForce", "joint_name", "j");
	check_warning(ROBOT(BLOCK("")), "<ros2_control> has no effect, because no plug-in of the robot reads it");
	check_warning(ROBOT(CONTROL "<ros2_control><joint name='x'/></ros2_control>"), "<joint> names \"x\"");
	check_warning(
		ROBOT("<gazebo><plugin name='c' filename='gz_ros2_control-system'><parameters>no.yaml</parameters>"
		      "</plugin></gazebo>"),
		"\"no.yaml\"");
	check_values(ROBOT("<transmission name='t'><joint "
			   "name='j'><hardwareInterface>hardware_interface/EffortJointInterface"
			   "</hardwareInterface></joint></transmission><gazebo><plugin name='c' "
			   "filename='libgazebo_ros_control.so'/></gazebo>"),
		"::ApplyJointForce", "joint_name", "j");
}

/* For each place that a plug-in asks for the model is read again: so their number is limited. */
Test(foreign, places_are_limited)
{
	struct text text = {0};
	text_add(&text, "<sdf version='1.9'><model name='m'>" CAR);
	for (int i = 0; i < 70; i++)
		text_add(&text, PLUGIN("gazebo_ros_p3d", "<bodyName>base</bodyName>"));
	text_add(&text, "</model></sdf>");
	foreign_check_error(text.at, "plug-ins need too many poses: expected at most 64");
	text_fini(&text);
}

/* --- controllers of a file of parameters -------------------------------------------------------------------------- */

#define CONTROLLED_LINK(name)                                                                                          \
	"<link name='" name "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>"
#define CONTROLLED_JOINT(name, child, interface)                                                                       \
	CONTROLLED_LINK(child)                                                                                         \
	"<joint name='" name "' type='continuous'><parent link='base'/><child link='" child                            \
	"'/><axis xyz='0 1 0'/></joint><ros2_control name='s' type='system'><joint name='" name                        \
	"'><command_interface name='" interface "'/></joint></ros2_control>"

static const char controllers[] =
	"controller_manager:\n ros__parameters:\n  update_rate: 100\n"
	"  drive: {type: diff_drive_controller/DiffDriveController}\n"
	"  arm: {type: joint_trajectory_controller/JointTrajectoryController}\n"
	"  hand: {type: joint_trajectory_controller/JointTrajectoryController}\n"
	"drive:\n ros__parameters:\n  left_wheel_names: [l1, l2]\n  right_wheel_names: [r1, r2]\n"
	"  wheel_separation: 0.5\n  wheel_separation_multiplier: 1.5\n  wheel_radius: 0.25\n"
	"  left_wheel_radius_multiplier: 0.5\n  publish_rate: 25\n  odom_frame_id: map\n  base_frame_id: foot\n"
	"  enable_odom_tf: false\n"
	"  linear:\n   x: {max_velocity: 1.5, min_velocity: -0.5, max_acceleration: 3, has_acceleration_limits: false, "
	"max_jerk: 7, has_jerk_limits: true}\n"
	"  angular:\n   z: {max_velocity: 2, min_acceleration: -1}\n"
	"arm:\n ros__parameters:\n  joints: [j1, j2]\n  command_interfaces: [effort]\n"
	"  gains: {j1: {p: 1, i: 2, d: 3}, j2: {p: 4, d: 6}}\n  allow_partial_joints_goal: true\n"
	"  constraints: {stopped_velocity_tolerance: 0.02, goal_time: 0.75, j1: {trajectory: 0.1, goal: 0.2}, j2: "
	"{goal: 0.4}}\n"
	"hand:\n ros__parameters:\n  joints: [j3]\n  command_interfaces: [position]\n";

/* What each of three controllers makes of its parameters: limits that are given, left out or switched off, and both of
 * two joints. */
Test(foreign, controllers_of_a_file)
{
	static const struct {
		const char *system, *name, *expected;
	} rows[] = {{"::DiffDrive", "left_joint", "l1,l2"}, {"::DiffDrive", "right_joint", "r1,r2"},
		{"::DiffDrive", "wheel_separation", "0.75"}, {"::DiffDrive", "wheel_radius", "0.125"},
		{"::DiffDrive", "max_linear_velocity", "1.5"}, {"::DiffDrive", "min_linear_velocity", "-0.5"},
		{"::DiffDrive", "max_linear_acceleration", "-"}, {"::DiffDrive", "min_linear_acceleration", "-"},
		{"::DiffDrive", "max_linear_jerk", "7"}, {"::DiffDrive", "min_linear_jerk", "-7"},
		{"::DiffDrive", "max_angular_velocity", "2"}, {"::DiffDrive", "min_angular_velocity", "-2"},
		{"::DiffDrive", "max_angular_acceleration", "-"}, {"::DiffDrive", "min_angular_acceleration", "-"},
		{"::DiffDrive", "odom_publish_frequency", "25"}, {"::DiffDrive", "frame_id", "map"},
		{"::DiffDrive", "child_frame_id", "foot"}, {"::DiffDrive", "publish_tf", "false"},
		{"::JointTrajectoryController", "joint_name", "j1,j2"},
		{"::JointTrajectoryController", "controller_name", "arm"},
		{"::JointTrajectoryController", "use_velocity_commands", "-"},
		{"::JointTrajectoryController", "position_p_gain", "1,4"},
		{"::JointTrajectoryController", "position_i_gain", "2,0"},
		{"::JointTrajectoryController", "position_d_gain", "3,6"},
		{"::JointTrajectoryController", "path_tolerance", "0.1,0"},
		{"::JointTrajectoryController", "goal_tolerance", "0.2,0.4"},
		{"::JointTrajectoryController", "stopped_velocity_tolerance", "0.02"},
		{"::JointTrajectoryController", "goal_time_tolerance", "0.75"},
		{"::JointTrajectoryController", "allow_partial_joints_goal", "true"}};
	char folder[] = "/tmp/test_foreign_XXXXXX";
	const char *const folders[] = {folder, NULL};
	const struct sdf_options options = {.resource_paths = folders};
	cr_assert(mkdtemp(folder));
	char *path = mem_printf("%s/controllers.yaml", folder);
	FILE *file = fopen(path, "w");
	cr_assert(file && fputs(controllers, file) >= 0 && !fclose(file));
	char *text =
		mem_printf("<robot name='r'>" CONTROLLED_LINK("base") CONTROLLED_JOINT("l1", "a", "velocity")
				   CONTROLLED_JOINT("l2", "b", "velocity") CONTROLLED_JOINT("r1", "c", "velocity")
					   CONTROLLED_JOINT("r2", "d", "velocity") CONTROLLED_JOINT("j1", "e", "effort")
						   CONTROLLED_JOINT("j2", "f", "effort") CONTROLLED_JOINT("j3", "g",
							   "position") "<gazebo><plugin name='c' "
								       "filename='gz_ros2_control-system'><parameters>%"
								       "s</parameters></plugin></gazebo></robot>",
			path);
	foreign_options = &options;
	check_silence(text);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_values(text, rows[i].system, rows[i].name, rows[i].expected);
	foreign_options = NULL;
	(void)unlink(path);
	(void)rmdir(folder);
	free(text);
	free(path);
}
