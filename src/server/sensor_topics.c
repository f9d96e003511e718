/* The sensor itself may be gone when a message is made, with its model: so a row has all names that the message needs,
 * and a reading has all numbers. */
#include "server/sensor_topics.h"

#include "mesh/png_out.h"
#include "server/encode_sensor.h"
#include "server/scene_info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* row->part: the index of the sensor; above it the index of the topic in its kind's list, and then enum sdf_pixels */
enum { ROLE_SHIFT = 20, PIXELS_SHIFT = 28 };

uint32_t sensor_topics_index(const struct topic_row *row)
{
	return row->part & ((1u << ROLE_SHIFT) - 1);
}

enum sdf_pixels sensor_topics_pixels(const struct topic_row *row)
{
	return (enum sdf_pixels)(row->part >> PIXELS_SHIFT);
}

/* row->how of a topic of compressed pictures */
enum { PACKED_QUALITY = 0x7f, PACKED_PNG = 0x80, PACKED_EVERY_SHIFT = 8 };

struct sensor_topics_packing sensor_topics_packing(const struct topic_row *row)
{
	return (struct sensor_topics_packing){
		row->how & PACKED_QUALITY, row->how & PACKED_PNG, row->how >> PACKED_EVERY_SHIFT};
}

#define METRICS_TYPE "gz.msgs.PerformanceSensorMetrics"

enum {
	SENSOR_TOPICS_METRICS = SENSOR_KIND_TOPICS_MAX, /* the topic beside all others */
	SENSOR_TOPICS_TRUTH,                            /* the first of those of sensor_kind_truths */
	SENSOR_TOPICS_PACKED = 1 << 4,                  /* with the role of the pictures: these, compressed */
};
_Static_assert(SENSOR_TOPICS_TRUTH + SENSOR_TRUTHS <= SENSOR_TOPICS_PACKED &&
		       2 * SENSOR_TOPICS_PACKED <= 1 << (PIXELS_SHIFT - ROLE_SHIFT),
	"a role has room in row->part");

/* For each topic of a kind what makes its messages. */
static encode_sensor_fn *const sensor_topics_encoders[][SENSOR_KIND_TOPICS_MAX] = {
	[SDF_AIR_PRESSURE] = {encode_sensor_air_pressure},
	[SDF_AIR_SPEED] = {encode_sensor_air_speed},
	[SDF_ALTIMETER] = {encode_sensor_altimeter},
	[SDF_BOUNDINGBOX_CAMERA] = {encode_sensor_flat_boxes, encode_sensor_solid_boxes, encode_sensor_colour,
		encode_sensor_camera_info},
	[SDF_CAMERA] = {encode_sensor_colour, encode_sensor_camera_info},
	[SDF_CONTACT] = {encode_sensor_contacts},
	[SDF_DEPTH_CAMERA] = {encode_sensor_depth, encode_sensor_depth_points, encode_sensor_camera_info},
	[SDF_FORCE_TORQUE] = {encode_sensor_force_torque},
	[SDF_GPU_LIDAR] = {encode_sensor_scan, encode_sensor_points},
	[SDF_IMU] = {encode_sensor_imu},
	[SDF_LIDAR] = {encode_sensor_scan, encode_sensor_points},
	[SDF_LOGICAL_CAMERA] = {encode_sensor_logical_camera},
	[SDF_MAGNETOMETER] = {encode_sensor_magnetometer},
	[SDF_NAVSAT] = {encode_sensor_navsat},
	[SDF_RGBD_CAMERA] = {encode_sensor_colour, encode_sensor_depth, encode_sensor_depth_points,
		encode_sensor_camera_info},
	[SDF_SEGMENTATION_CAMERA] = {encode_sensor_labels, encode_sensor_coloured, encode_sensor_camera_info},
	[SDF_THERMAL_CAMERA] = {encode_sensor_heat, encode_sensor_camera_info},
	[SDF_WIDE_ANGLE_CAMERA] = {encode_sensor_colour, encode_sensor_camera_info},
	[SENSOR_KINDS - 1] = {NULL},
};
_Static_assert(ARRAY_LEN(sensor_topics_encoders) == SENSOR_KINDS, "each kind has a row");

/* By the order of sensor_kind_truths. */
static encode_sensor_fn *const sensor_topics_truths[SENSOR_TRUTHS] = {
	encode_sensor_normals, encode_sensor_flow, encode_sensor_segments};

static encode_sensor_fn *sensor_topics_encoder_of(enum sdf_sensor_kind kind, uint32_t role)
{
	return role == SENSOR_TOPICS_METRICS ? encode_sensor_metrics
	       : role >= SENSOR_TOPICS_TRUTH ? sensor_topics_truths[role - SENSOR_TOPICS_TRUTH]
					     : sensor_topics_encoders[kind][role];
}

static bool sensor_topics_encode_reading(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	uint32_t model = (uint32_t)row->object - 1, born = (uint32_t)(row->object >> 32);
	const struct reading *reading = readings_find(&capture->readings, model, sensor_topics_index(row));
	if (!reading || (uint32_t)reading->id != born)
		return false;
	struct sensor_source source = {reading, readings_numbers(&capture->readings, reading), row, capture, &arena};
	uint32_t role = row->part >> ROLE_SHIFT & (SENSOR_TOPICS_PACKED - 1);
	return sensor_topics_encoder_of(reading->kind, role)(&source, out);
}

static const struct publish_ops sensor_topics_reading_ops = {
	.when = PUBLISH_READING, .parts = CAPTURE_READINGS, .encode = sensor_topics_encode_reading};
static const struct publish_ops sensor_topics_names_ops = {
	.when = PUBLISH_READING, .parts = CAPTURE_READINGS | CAPTURE_SCENE, .encode = sensor_topics_encode_reading};

static char *sensor_topics_name_of(const struct sensor *sensor, const struct sensor_kind_topic *topic)
{
	const char *info = sensor->sdf->settings->camera_count ? sensor->sdf->settings->cameras->info_topic : NULL;
	const char *slash = strrchr(sensor->topic, '/');
	if (!topic->suffix && info && *info)
		return mem_printf("%s%s", *info == '/' ? "" : "/", info);
	if (!sensor->topic_given)
		return mem_printf("%s/%s", sensor->topic, topic->last);
	if (!topic->suffix)
		return mem_printf("%.*s/%s", (int)(slash - sensor->topic), sensor->topic, topic->last);
	return mem_printf("%s%s", sensor->topic, topic->suffix);
}

/* The boxes of a camera are either in the picture or in space. */
static bool sensor_topics_is_other_box(const struct sensor *sensor, uint32_t role)
{
	enum sdf_sensor_kind kind = sensor->sdf->kind;
	bool solid = kind == SDF_BOUNDINGBOX_CAMERA && sensor->sdf->settings->cameras->boxes == SDF_BOX_3D;
	return sensor_topics_encoders[kind][role] == (solid ? encode_sensor_flat_boxes : encode_sensor_solid_boxes);
}

struct adding {
	const struct sensor *sensor;
	void (*fn)(void *ctx, const struct topic_row *row);
	void *ctx;
};

/* The frame that messages of this type name: that of pictures may be another one. */
static const char *sensor_topics_frame_of(const struct sensor *sensor, const char *type)
{
	const struct scene_info_sensor_frames named = scene_info_frames_of(sensor->sdf);
	bool picture = !strcmp(type, "gz.msgs.Image") || !strcmp(type, "troupe.msgs.CompressedImage") ||
		       !strcmp(type, "gz.msgs.CameraInfo");
	const char *frame = picture ? named.picture : named.frame;
	return frame ? frame : sensor->name;
}

/* name: becomes the function's. how: of compressed pictures, else 0. */
static void sensor_topics_add(const struct adding *adding, char *name, const char *type, uint32_t role, uint32_t how)
{
	const struct sensor *sensor = adding->sensor;
	uint32_t pixels = sensor->sdf->settings->camera_count ? sensor->sdf->settings->cameras->pixels : 0;
	uint32_t every = MAX(how >> PACKED_EVERY_SHIFT, 1u);
	bool names = sensor->sdf->kind == SDF_LOGICAL_CAMERA || sensor->sdf->kind == SDF_CONTACT;
	topic_name_clean(name);
	adding->fn(adding->ctx, &(struct topic_row){.kind = TOPIC_PUBLISHED,
					.name = name,
					.type = type,
					.rate_hz = sensor->waits ? 0 : sensor->sdf->update_rate / every,
					.ops = names && role != SENSOR_TOPICS_METRICS ? &sensor_topics_names_ops
										      : &sensor_topics_reading_ops,
					.frame = sensor_topics_frame_of(sensor, type),
					.only = sensor->name,
					.how = how,
					.part = sensor->index | role << ROLE_SHIFT | pixels << PIXELS_SHIFT});
	free(name);
}

/* Gazebo puts the metrics behind the topic of the sensor, which for some kinds is the common beginning of several. */
static void sensor_topics_add_metrics(const struct adding *adding)
{
	const struct sensor *sensor = adding->sensor;
	int bytes;
	const char *stem = sensor_kind_topic_stem(sensor->sdf->kind, &bytes);
	if (sensor->topic_given)
		bytes = 0;
	sensor_topics_add(adding,
		mem_printf("%s%s%.*s/performance_metrics", sensor->topic, bytes ? "/" : "", bytes, stem), METRICS_TYPE,
		SENSOR_TOPICS_METRICS, 0);
}

/* name: of the pictures; becomes the function's. Compressed ones have the topics of ROS 2's image_transport. Segments
 * are never JPEG, which changes numbers. */
static void sensor_topics_add_packed(const struct adding *adding, char *name, uint32_t role)
{
	const struct sensor *sensor = adding->sensor;
	const struct sdf_camera *camera = sensor->sdf->settings->cameras;
	encode_sensor_fn *fn = sensor_topics_encoder_of(sensor->sdf->kind, role);
	bool exact = camera->packed_png || camera->pixels == SDF_PIXELS_GREY16 || fn != encode_sensor_colour;
	double every =
		camera->packed_hz > 0 && !sensor->waits ? ceil(sensor->sdf->update_rate / camera->packed_hz - 1e-9) : 1;
	uint32_t how = camera->packed_quality | (exact ? PACKED_PNG : 0) |
		       (uint32_t)fmin(fmax(every, 1), 1 << 20) << PACKED_EVERY_SHIFT;
	sensor_topics_add(adding,
		mem_printf("%s/%s", name, fn == encode_sensor_depth ? "compressedDepth" : "compressed"),
		"troupe.msgs.CompressedImage", role | SENSOR_TOPICS_PACKED, how);
	free(name);
}

/* Floats are not compressed. */
static void sensor_topics_add_truth(const struct adding *adding, uint32_t truth)
{
	const struct sensor_kind_topic *topic = &sensor_kind_truths[truth].topic;
	uint32_t role = SENSOR_TOPICS_TRUTH + truth;
	sensor_topics_add(adding, sensor_topics_name_of(adding->sensor, topic), topic->type, role, 0);
	if (sensor_kind_truths[truth].part == SENSOR_SEGMENTS && png_out_is_available())
		sensor_topics_add_packed(adding, sensor_topics_name_of(adding->sensor, topic), role);
}

void sensor_topics_each(const struct sensor *sensor, void (*fn)(void *ctx, const struct topic_row *row), void *ctx)
{
	const struct adding adding = {sensor, fn, ctx};
	const struct sensor_kind *kind = sensor_kind_of(sensor->sdf->kind);
	uint32_t count = sensor->group == SENSOR_SILENT ? 0 : sensor_kind_topic_count(sensor->sdf->kind);
	for (uint32_t i = 0; i < count; i++) {
		if (sensor_topics_is_other_box(sensor, i))
			continue;
		sensor_topics_add(&adding, sensor_topics_name_of(sensor, &kind->topics[i]), kind->topics[i].type, i, 0);
		if (!strcmp(kind->topics[i].type, "gz.msgs.Image") && png_out_is_available())
			sensor_topics_add_packed(&adding, sensor_topics_name_of(sensor, &kind->topics[i]), i);
	}
	for (uint32_t i = 0; i < SENSOR_TRUTHS && count; i++)
		if (sensor_parts(sensor->sdf) & sensor_kind_truths[i].part)
			sensor_topics_add_truth(&adding, i);
	/* a camera that waits for triggers has no rate */
	if (count && sensor->sdf->settings->enable_metrics && !sensor->waits)
		sensor_topics_add_metrics(&adding);
}
