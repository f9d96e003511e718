/* The sensor itself may be gone when a message is made, with its model: so a row has all names that the message needs,
 * and a reading has all numbers. */
#include "server/sensor_topics.h"

#include "server/encode_sensor.h"
#include "server/view.h"

#include <stdlib.h>
#include <string.h>

/* row->of: the index of the sensor; above it the index of the topic in its kind's list, and then enum sdf_pixels */
enum { ROLE_SHIFT = 20, PIXELS_SHIFT = 28 };

uint32_t sensor_topics_index(const struct topic_row *row)
{
	return row->of & ((1u << ROLE_SHIFT) - 1);
}

enum sdf_pixels sensor_topics_pixels(const struct topic_row *row)
{
	return (enum sdf_pixels)(row->of >> PIXELS_SHIFT);
}

#define IMAGE "gz.msgs.Image"
#define CAMERA_INFO "gz.msgs.CameraInfo"
#define METRICS_TYPE "gz.msgs.PerformanceSensorMetrics"
#define INFO NULL /* the topic of a camera's parameters: beside the one of its pictures, or <camera_info_topic> */

/* The topics of each kind. `last` is what Gazebo puts behind the sensor's path when the file names no topic, `suffix`
 * is put behind a topic that the file names. */
static const struct {
	enum sdf_sensor_kind kind;
	const char *last, *suffix, *type;
	encode_sensor_fn *encode;
} topics[] = {
	{SDF_IMU, "imu", "", "gz.msgs.IMU", encode_sensor_imu},
	{SDF_FORCE_TORQUE, "forcetorque", "", "gz.msgs.Wrench", encode_sensor_force_torque},
	{SDF_MAGNETOMETER, "magnetometer", "", "gz.msgs.Magnetometer", encode_sensor_magnetometer},
	{SDF_ALTIMETER, "altimeter", "", "gz.msgs.Altimeter", encode_sensor_altimeter},
	{SDF_AIR_PRESSURE, "air_pressure", "", "gz.msgs.FluidPressure", encode_sensor_air_pressure},
	{SDF_AIR_SPEED, "air_speed", "", "gz.msgs.AirSpeed", encode_sensor_air_speed},
	{SDF_NAVSAT, "navsat", "", "gz.msgs.NavSat", encode_sensor_navsat},
	{SDF_LIDAR, "scan", "", "gz.msgs.LaserScan", encode_sensor_scan},
	{SDF_LIDAR, "scan/points", "/points", "gz.msgs.PointCloudPacked", encode_sensor_points},
	{SDF_GPU_LIDAR, "scan", "", "gz.msgs.LaserScan", encode_sensor_scan},
	{SDF_GPU_LIDAR, "scan/points", "/points", "gz.msgs.PointCloudPacked", encode_sensor_points},
	{SDF_CAMERA, "image", "", IMAGE, encode_sensor_colour},
	{SDF_CAMERA, "camera_info", INFO, CAMERA_INFO, encode_sensor_camera_info},
	{SDF_WIDE_ANGLE_CAMERA, "image", "", IMAGE, encode_sensor_colour},
	{SDF_WIDE_ANGLE_CAMERA, "camera_info", INFO, CAMERA_INFO, encode_sensor_camera_info},
	{SDF_DEPTH_CAMERA, "depth_image", "", IMAGE, encode_sensor_depth},
	{SDF_DEPTH_CAMERA, "depth_image/points", "/points", "gz.msgs.PointCloudPacked", encode_sensor_depth_points},
	{SDF_DEPTH_CAMERA, "camera_info", INFO, CAMERA_INFO, encode_sensor_camera_info},
	{SDF_RGBD_CAMERA, "image", "/image", IMAGE, encode_sensor_colour},
	{SDF_RGBD_CAMERA, "depth_image", "/depth_image", IMAGE, encode_sensor_depth},
	{SDF_RGBD_CAMERA, "points", "/points", "gz.msgs.PointCloudPacked", encode_sensor_depth_points},
	{SDF_RGBD_CAMERA, "camera_info", "/camera_info", CAMERA_INFO, encode_sensor_camera_info},
	{SDF_SEGMENTATION_CAMERA, "segmentation/labels_map", "/labels_map", IMAGE, encode_sensor_labels},
	{SDF_SEGMENTATION_CAMERA, "segmentation/colored_map", "/colored_map", IMAGE, encode_sensor_coloured},
	{SDF_SEGMENTATION_CAMERA, "camera_info", INFO, CAMERA_INFO, encode_sensor_camera_info},
	{SDF_BOUNDINGBOX_CAMERA, "boundingbox", "", "gz.msgs.AnnotatedAxisAligned2DBox_V", encode_sensor_flat_boxes},
	{SDF_BOUNDINGBOX_CAMERA, "boundingbox", "", "gz.msgs.AnnotatedOriented3DBox_V", encode_sensor_solid_boxes},
	{SDF_BOUNDINGBOX_CAMERA, "camera_info", INFO, CAMERA_INFO, encode_sensor_camera_info},
	{SDF_CONTACT, "contact", "", "gz.msgs.Contacts", encode_sensor_contacts},
	{SDF_LOGICAL_CAMERA, "logical_camera", "", "gz.msgs.LogicalCameraImage", encode_sensor_logical_camera},
};

enum { METRICS = ARRAY_LEN(topics) }; /* the topic beside all others */
_Static_assert(METRICS < 1 << (PIXELS_SHIFT - ROLE_SHIFT), "a role has room in row->of");

static bool encode_reading(const struct frame *frame, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	uint32_t model = (uint32_t)row->key - 1, born = (uint32_t)(row->key >> 32);
	const struct reading *reading = readings_find(&frame->readings, model, sensor_topics_index(row));
	if (!reading || (uint32_t)reading->id != born)
		return false;
	struct sensor_source source = {reading, readings_numbers(&frame->readings, reading), row, frame, &arena};
	uint32_t role = row->of >> ROLE_SHIFT & ((1u << (PIXELS_SHIFT - ROLE_SHIFT)) - 1);
	return role == METRICS ? encode_sensor_metrics(&source, out) : topics[role].encode(&source, out);
}

static const struct publish_ops reading_ops = {PUBLISH_READING, FRAME_READINGS, encode_reading};
static const struct publish_ops names_ops = {PUBLISH_READING, FRAME_READINGS | FRAME_SCENE, encode_reading};

static char *name_of(const struct sensor *sensor, const char *last, const char *suffix)
{
	const char *info = sensor->sdf->settings->camera_count ? sensor->sdf->settings->cameras->info_topic : NULL;
	const char *slash = strrchr(sensor->topic, '/');
	if (suffix == INFO && info && *info)
		return mem_printf("%s%s", *info == '/' ? "" : "/", info);
	if (!sensor->topic_given)
		return mem_printf("%s/%s", sensor->topic, last);
	if (suffix == INFO)
		return mem_printf("%.*s/camera_info", (int)(slash - sensor->topic), sensor->topic);
	return mem_printf("%s%s", sensor->topic, suffix);
}

/* The boxes of a camera are either in the picture or in space. */
static bool is_other_box(const struct sensor *sensor, uint32_t row)
{
	bool solid = sensor->sdf->kind == SDF_BOUNDINGBOX_CAMERA && sensor->sdf->settings->cameras->boxes == SDF_BOX_3D;
	return topics[row].encode == (solid ? encode_sensor_flat_boxes : encode_sensor_solid_boxes);
}

struct adding {
	const struct sensor *sensor;
	void (*fn)(void *ctx, const struct topic_row *row);
	void *ctx;
};

/* The frame that messages of this type name: that of pictures may be another one. */
static const char *frame_of(const struct sensor *sensor, const char *type)
{
	const struct view_sensor_frames named = view_frames_of(sensor->sdf);
	bool picture = !strcmp(type, IMAGE) || !strcmp(type, CAMERA_INFO);
	const char *frame = picture ? named.picture : named.frame;
	return frame ? frame : sensor->name;
}

/* name: becomes the function's. */
static void add(const struct adding *adding, char *name, const char *type, uint32_t role)
{
	const struct sensor *sensor = adding->sensor;
	uint32_t pixels = sensor->sdf->settings->camera_count ? sensor->sdf->settings->cameras->pixels : 0;
	bool names = sensor->sdf->kind == SDF_LOGICAL_CAMERA || sensor->sdf->kind == SDF_CONTACT;
	topic_name_clean(name);
	adding->fn(adding->ctx, &(struct topic_row){.kind = TOPIC_PUBLISHED,
					.name = name,
					.type = type,
					.rate_hz = sensor->waits ? 0 : sensor->sdf->update_rate,
					.ops = names && role != METRICS ? &names_ops : &reading_ops,
					.frame = frame_of(sensor, type),
					.only = sensor->name,
					.of = sensor->index | role << ROLE_SHIFT | pixels << PIXELS_SHIFT});
	free(name);
}

/* Gazebo puts the metrics behind the topic of the sensor, which for some kinds is the common beginning of several. */
static void add_metrics(const struct adding *adding, uint32_t first)
{
	const struct sensor *sensor = adding->sensor;
	int last = (int)(strlen(topics[first].last) - strlen(topics[first].suffix));
	if (sensor->topic_given)
		add(adding, mem_printf("%s/performance_metrics", sensor->topic), METRICS_TYPE, METRICS);
	else
		add(adding,
			mem_printf("%s%s%.*s/performance_metrics", sensor->topic, last > 0 ? "/" : "", MAX(last, 0),
				topics[first].last),
			METRICS_TYPE, METRICS);
}

void sensor_topics_each(const struct sensor *sensor, void (*fn)(void *ctx, const struct topic_row *row), void *ctx)
{
	const struct adding adding = {sensor, fn, ctx};
	uint32_t first = METRICS;
	for (uint32_t i = 0; i < ARRAY_LEN(topics); i++) {
		if (topics[i].kind != sensor->sdf->kind || sensor->group == SENSOR_SILENT || is_other_box(sensor, i))
			continue;
		first = MIN(first, i);
		add(&adding, name_of(sensor, topics[i].last, topics[i].suffix), topics[i].type, i);
	}
	/* a camera that waits for triggers has no rate */
	if (first < METRICS && sensor->sdf->settings->enable_metrics && !sensor->waits)
		add_metrics(&adding, first);
}
