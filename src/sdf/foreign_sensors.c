/* A sensor measures by itself here. Its plug-in of ROS says on which topic, in which frame, and sometimes how often and
 * with what noise; these become settings of the sensor. Plug-ins of the model that are sensors themselves become one.
 */
#include "base/parse.h"
#include "sdf/foreign_internal.h"

#include <string.h>

/* What the plug-in's topic is called in ROS 1 and ROS 2 if the file does not say it. */
static const struct foreign_output {
	const char *file;
	const char *camel, *snake; /* default names in ROS 1 and in ROS 2; NULL: none */
} foreign_sensors_outputs[] = {
	{"gazebo_ros_ray_sensor", NULL, "~/out"},
	{"gazebo_ros_laser", NULL, NULL},
	{"gazebo_ros_gpu_laser", NULL, NULL},
	{"gazebo_ros_block_laser", NULL, NULL},
	{"gazebo_ros_velodyne_laser", "velodyne_points", "~/out"},
	{"gazebo_ros_velodyne_gpu_laser", "velodyne_points", "~/out"},
	{"gazebo_ros_range", "range", "range"},
	{"gazebo_ros_imu_sensor", "imu_data", "~/out"},
	{"gazebo_ros_gps_sensor", NULL, "~/out"},
	{"gazebo_ros_bumper", "bumper_states", "bumper_states"},
	{"gazebo_ros_ft_sensor", "wrench", "wrench"},
	{"gazebo_ros_camera", NULL, NULL},
	{"gazebo_ros_multicamera", NULL, NULL},
	{"gazebo_ros_depth_camera", NULL, NULL},
	{"gazebo_ros_openni_kinect", NULL, NULL},
};

static const struct foreign_output *foreign_sensors_output_of(const struct sdf_element *plugin)
{
	const char *filename = sdf_attribute(plugin, "filename");
	for (size_t i = 0; filename && i < ARRAY_LEN(foreign_sensors_outputs); i++)
		if (foreign_is_file(filename, foreign_sensors_outputs[i].file))
			return &foreign_sensors_outputs[i];
	return NULL;
}

static bool foreign_sensors_is_camera(const struct sdf_element *sensor)
{
	return sdf_child(sensor, "camera", NULL) != NULL;
}

static bool foreign_sensors_is_multicamera(const struct sdf_element *sensor)
{
	const char *type = sdf_attribute(sensor, "type");
	return type && !strcmp(type, "multicamera");
}

static void foreign_sensors_set(struct foreign *foreign, const struct sdf_element **sensor, const char *path,
	const struct sdf_element *at, const char *text)
{
	const char *slash = strrchr(path, '/');
	struct load_builder set = foreign_new(foreign, at, slash ? slash + 1 : path, text);
	*sensor = foreign_set(foreign, *sensor, path, set.element);
}

static bool foreign_sensors_is_points(const char *topic)
{
	size_t length = strlen(topic), end = strlen("/points");
	return length > end && !strcmp(topic + length - end, "/points");
}

/* The points of a lidar are on the topic of its scan and /points. */
static void foreign_sensors_warn_of_type(struct foreign *foreign, const char *topic)
{
	const struct sdf_element *at = foreign_child(foreign, "output_type", NULL);
	if (at && strstr(at->text, "PointCloud") && !foreign_sensors_is_points(topic))
		load_warn(foreign->load, at,
			"the points are on the topic \"%.200s/points\": expected a name that ends with /points", topic);
	else if (at && strstr(at->text, "Range"))
		load_warn(foreign->load, at, "sensor_msgs/Range is not offered: the topic \"%.200s\" has LaserScan",
			topic);
}

static void foreign_sensors_name(
	struct foreign *foreign, const struct sdf_element **sensor, const struct foreign_output *output)
{
	const char *usual = foreign->camel ? output->camel : output->snake;
	const char *name = foreign_text(foreign, "topic_name bumper_topic_name", usual);
	if (!name)
		return;
	const char *topic = foreign_topic(foreign, name);
	foreign_sensors_warn_of_type(foreign, topic);
	if (foreign_sensors_is_points(topic))
		topic = arena_printf(
			&foreign->load->sdf->arena, "%.*s", (int)(strlen(topic) - strlen("/points")), topic);
	foreign_sensors_set(foreign, sensor, "topic", foreign->plugin, topic);
}

/* hackBaseline, in m. */
static const char *foreign_sensors_baseline(struct foreign *foreign)
{
	const struct sdf_element *at = foreign_child(foreign, "hack_baseline", NULL);
	double baseline_m;
	return at && parse_double(at->text, &baseline_m) && baseline_m != 0 ? at->text : NULL;
}

static const char *foreign_sensors_camera_name(struct foreign *foreign, const struct sdf_element *sensor)
{
	const char *own = sdf_attribute(sensor, "name");
	return foreign_text(foreign, "camera_name", foreign->camel ? "" : own ? own : "");
}

/* The name of a topic of a camera of a multicamera: CAMERA/left/image_raw. */
static const char *foreign_sensors_part_topic(
	struct foreign *foreign, const struct sdf_element *sensor, const char *part, const char *last)
{
	const char *all = foreign_sensors_camera_name(foreign, sensor), *slash = *all ? "/" : "";
	return foreign_topic(foreign, arena_printf(&foreign->load->sdf->arena, "%s%s%s/%s", all, slash, part, last));
}

/* The left camera of a pair has no baseline. */
static void foreign_sensors_stereo(struct foreign *foreign, const struct sdf_element **sensor)
{
	const char *image = foreign_text(foreign, "image_topic_name", "image_raw");
	const char *info = foreign_text(foreign, "camera_info_topic_name", "camera_info");
	const char *baseline = foreign_sensors_baseline(foreign);
	const struct sdf_element *frame = foreign_child(foreign, "frame_name", NULL);
	struct load_builder copy = load_build(foreign->load, *sensor);
	for (const struct sdf_element *at = (*sensor)->child; at; at = at->next) {
		const struct sdf_element *camera = at;
		const char *name = xml_is(at, "camera") ? sdf_attribute(at, "name") : NULL;
		if (name) {
			foreign_sensors_set(foreign, &camera, "troupe:topic", foreign->plugin,
				foreign_sensors_part_topic(foreign, *sensor, name, image));
			foreign_sensors_set(foreign, &camera, "camera_info_topic", foreign->plugin,
				foreign_sensors_part_topic(foreign, *sensor, name, info));
		}
		if (name && baseline && !strstr(name, "left"))
			foreign_sensors_set(foreign, &camera, "troupe:baseline", foreign->plugin, baseline);
		if (name && frame && *frame->text)
			foreign_sensors_set(foreign, &camera, "optical_frame_id", frame, frame->text);
		load_build_add(foreign->load, &copy, camera);
	}
	*sensor = copy.element;
}

/* Pictures have the name of the camera before theirs, as ROS has it: CAMERA/image_raw, CAMERA/camera_info. */
static void foreign_sensors_name_pictures(struct foreign *foreign, const struct sdf_element **sensor)
{
	struct arena *arena = &foreign->load->sdf->arena;
	const char *type = sdf_attribute(*sensor, "type"), *baseline = foreign_sensors_baseline(foreign);
	const char *camera = foreign_sensors_camera_name(foreign, *sensor);
	const char *slash = *camera ? "/" : "";
	bool depth = type && !strcmp(type, "depth");
	const char *image = foreign_text(foreign, depth ? "depth_image_topic_name" : "image_topic_name",
		depth ? "depth/image_raw" : "image_raw");
	const char *info = foreign_text(foreign, "camera_info_topic_name", "camera_info");
	foreign_sensors_set(foreign, sensor, "topic", foreign->plugin,
		foreign_topic(foreign, *image == '/' ? image : arena_printf(arena, "%s%s%s", camera, slash, image)));
	foreign_sensors_set(foreign, sensor, "camera/camera_info_topic", foreign->plugin,
		foreign_topic(foreign, *info == '/' ? info : arena_printf(arena, "%s%s%s", camera, slash, info)));
	if (baseline)
		foreign_sensors_set(foreign, sensor, "camera/troupe:baseline", foreign->plugin, baseline);
}

/* Messages of ROS name the link if the plug-in names no frame; but pictures lie in an optical frame. */
static void foreign_sensors_frame(struct foreign *foreign, const struct sdf_element **sensor, const char *link)
{
	const struct sdf_element *at = foreign_child(foreign, "frame_name", NULL);
	const char *frame = at && *at->text ? at->text : foreign_sensors_is_camera(*sensor) ? NULL : link;
	if (!frame)
		return;
	foreign_sensors_set(foreign, sensor, "gz_frame_id", at ? at : foreign->plugin, frame);
	if (foreign_sensors_is_camera(*sensor) && !foreign_sensors_is_multicamera(*sensor))
		foreign_sensors_set(foreign, sensor, "camera/optical_frame_id", at ? at : foreign->plugin, frame);
}

/* A rate of the plug-in counts if the sensor has none. */
static void foreign_sensors_rate(struct foreign *foreign, const struct sdf_element **sensor)
{
	const struct sdf_element *at = foreign_child(foreign, "update_rate update_rate_hz", NULL);
	const char *own = sdf_child_text(*sensor, "update_rate");
	double rate;
	if (at && !(own && *own) && parse_double(at->text, &rate) && rate > 0)
		foreign_sensors_set(foreign, sensor, "update_rate", at, at->text);
}

const struct sdf_element *foreign_sensor(struct foreign *foreign, const struct sdf_element *sensor, const char *link)
{
	const struct sdf_element *plugin = NULL;
	const struct foreign_output *output = NULL;
	while (!output && (plugin = sdf_child(sensor, "plugin", plugin)) != NULL)
		output = foreign_sensors_output_of(plugin);
	if (!output)
		return sensor;
	foreign_look_at(foreign, plugin);
	foreign_skip(
		foreign, "camera_name image_topic_name camera_info_topic_name depth_image_topic_name hack_baseline");
	foreign_skip(foreign, "hokuyo_min_intensity min_intensity min_range max_range radiation fov output_type");
	foreign_skip(foreign, "initial_orientation_as_reference body_name service_name");
	if (foreign_sensors_is_multicamera(sensor))
		foreign_sensors_stereo(foreign, &sensor);
	else if (foreign_sensors_is_camera(sensor))
		foreign_sensors_name_pictures(foreign, &sensor);
	else
		foreign_sensors_name(foreign, &sensor, output);
	foreign_sensors_frame(foreign, &sensor, link);
	foreign_sensors_rate(foreign, &sensor);
	foreign_warn_of_rest(foreign);
	struct load_builder copy = load_build(foreign->load, sensor);
	for (const struct sdf_element *at = sensor->child; at; at = at->next)
		if (at->attributes != plugin->attributes) /* which a copy shares */
			load_build_add(foreign->load, &copy, at);
	return copy.element;
}

/* --- plug-ins of the model that are sensors ----------------------------------------------------------------------- */

/* A sensor with the name, the topic, the frame and the rate of the plug-in. */
static struct load_builder foreign_sensors_begin(
	struct foreign *foreign, const char *type, const char *topic, const char *frame)
{
	struct load_builder sensor = foreign_new(foreign, foreign->plugin, "sensor", "");
	const char *name = sdf_attribute(foreign->plugin, "name");
	load_build_attribute(foreign->load, &sensor, "name", name && *name ? name : type);
	load_build_attribute(foreign->load, &sensor, "type", type);
	foreign_add(foreign, &sensor, NULL, "always_on", "1");
	foreign_copy(foreign, &sensor, "update_rate", "update_rate", NULL);
	foreign_add(
		foreign, &sensor, NULL, "topic", foreign_topic(foreign, foreign_text(foreign, "topic_name", topic)));
	foreign_add(foreign, &sensor, NULL, "gz_frame_id", foreign_text(foreign, "frame_name frame_id", frame));
	return sensor;
}

/* Adds <x>, <y> and <z> with a noise each to a part of the sensor. */
static void foreign_sensors_add_noise(
	struct foreign *foreign, struct load_builder *to, const char *part, const char *deviation)
{
	static const char *const axes[] = {"x", "y", "z"};
	struct load_builder around = foreign_new(foreign, foreign->plugin, part, "");
	for (int i = 0; i < 3; i++) {
		struct load_builder axis = foreign_new(foreign, foreign->plugin, axes[i], "");
		struct load_builder noise = foreign_new(foreign, foreign->plugin, "noise", "");
		load_build_attribute(foreign->load, &noise, "type", "gaussian");
		foreign_add(foreign, &noise, NULL, "stddev", deviation);
		load_build_add(foreign->load, &axis, noise.element);
		load_build_add(foreign->load, &around, axis.element);
	}
	load_build_add(foreign->load, to, around.element);
}

void foreign_sensors_imu(struct foreign *foreign)
{
	const struct sdf_element *body = foreign_child(foreign, "body_name", NULL);
	const char *noise = foreign_text(foreign, "gaussian_noise", NULL);
	if (!body || !foreign_link(foreign, body->text)) {
		load_warn(foreign->load, body ? body : foreign->plugin,
			"plugin \"%.80s\" is left out: <bodyName> is \"%.80s\": expected a link of this model",
			sdf_attribute(foreign->plugin, "filename"), body ? body->text : "");
		return;
	}
	struct load_builder sensor = foreign_sensors_begin(foreign, "imu", "imu", body->text);
	foreign_skip(foreign, "service_name");
	if (noise && strcmp(noise, "0") != 0 && strcmp(noise, "0.0") != 0) {
		struct load_builder imu = foreign_new(foreign, foreign->plugin, "imu", "");
		foreign_sensors_add_noise(foreign, &imu, "angular_velocity", noise);
		foreign_sensors_add_noise(foreign, &imu, "linear_acceleration", noise);
		load_build_add(foreign->load, &sensor, imu.element);
	}
	foreign_change(foreign, "link", body->text, NULL, sensor.element);
}

void foreign_sensors_force_torque(struct foreign *foreign)
{
	const struct sdf_element *at = foreign_child(foreign, "joint_name", NULL);
	const struct sdf_element *joint = at ? foreign_joint(foreign, at->text) : NULL;
	const char *link = sdf_child_text(joint, "child");
	if (!joint) {
		load_warn(foreign->load, at ? at : foreign->plugin,
			"plugin \"%.80s\" is left out: <jointName> is \"%.80s\": expected a joint of this model",
			sdf_attribute(foreign->plugin, "filename"), at ? at->text : "");
		return;
	}
	struct load_builder sensor = foreign_sensors_begin(foreign, "force_torque", "wrench", link ? link : "");
	struct load_builder settings = foreign_new(foreign, foreign->plugin, "force_torque", "");
	foreign_add(foreign, &settings, NULL, "frame", "child");
	load_build_add(foreign->load, &sensor, settings.element);
	foreign_change(foreign, "joint", at->text, NULL, sensor.element);
}
