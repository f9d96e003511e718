/* One table: a fact of a kind stands here and nowhere else. src/doc/reference/gazebo.md, "Sensors", has names and
 * topics for people; tests/unit/test_sensors.c compares the two. */
#include "sdf/sensor_kind.h"

#include "sdf/sensor.h"

#include <string.h>

#define INFO NULL /* the topic of a camera's parameters: beside the one of its pictures, or <camera_info_topic> */
#define IMAGE "gz.msgs.Image"
#define POINTS "gz.msgs.PointCloudPacked"
#define CAMERA_INFO "gz.msgs.CameraInfo"
#define LIDAR                                                                                                          \
	.settings = {"lidar", "ray", "gpu_lidar", "gpu_ray"}, .senses = SENSOR_KIND_RANGES,                            \
	.topics = {{"scan", "", "gz.msgs.LaserScan"}, {"scan/points", "/points", POINTS}}, .columns = {"range"}
#define CAMERA .settings = {"camera"}, .cameras = 1
#define PICTURES(parts) CAMERA, .senses = SENSOR_KIND_PICTURES, .picture = (parts)

static const struct sensor_kind sensor_kind_rows[] = {
	[SDF_SENSOR_UNKNOWN] = {.names = {NULL}},
	[SDF_AIR_PRESSURE] = {.names = {"air_pressure"},
		.settings = {"air_pressure"},
		.senses = SENSOR_KIND_MOTION,
		.signals = {{"pressure", ""}},
		.topics = {{"air_pressure", "", "gz.msgs.FluidPressure"}},
		.columns = {"pressure"}},
	[SDF_AIR_SPEED] = {.names = {"air_speed"},
		.settings = {"air_speed"},
		.senses = SENSOR_KIND_MOTION,
		.signals = {{"pressure", ""}},
		.topics = {{"air_speed", "", "gz.msgs.AirSpeed"}},
		.columns = {"pressure", "temperature"}},
	[SDF_ALTIMETER] = {.names = {"altimeter"},
		.settings = {"altimeter"},
		.senses = SENSOR_KIND_MOTION,
		.signals = {{"vertical_position", ""}, {"vertical_velocity", ""}},
		.topics = {{"altimeter", "", "gz.msgs.Altimeter"}},
		.columns = {"z", "vz"}},
	[SDF_BOUNDINGBOX_CAMERA] = {.names = {"boundingbox_camera", "boundingbox"},
		PICTURES(SENSOR_COLOUR | SENSOR_LABELS),
		.topics = {{"boundingbox", "", "gz.msgs.AnnotatedAxisAligned2DBox_V"},
			{"boundingbox", "", "gz.msgs.AnnotatedOriented3DBox_V"}, {"boundingbox_image", "_image", IMAGE},
			{"camera_info", INFO, CAMERA_INFO}}},
	[SDF_CAMERA] = {.names = {"camera"},
		PICTURES(SENSOR_COLOUR),
		.topics = {{"image", "", IMAGE}, {"camera_info", INFO, CAMERA_INFO}}},
	[SDF_CONTACT] = {.names = {"contact"},
		.settings = {"contact"},
		.senses = SENSOR_KIND_CONTACTS,
		.topics = {{"contact", "", "gz.msgs.Contacts"}},
		.columns = {"contacts", "depth"}},
	[SDF_CUSTOM] = {.names = {"custom"}},
	[SDF_DEPTH_CAMERA] = {.names = {"depth_camera", "depth"},
		PICTURES(SENSOR_DEPTH),
		.topics = {{"depth_image", "", IMAGE}, {"depth_image/points", "/points", POINTS},
			{"camera_info", INFO, CAMERA_INFO}}},
	[SDF_FORCE_TORQUE] = {.names = {"force_torque"},
		.settings = {"force_torque"},
		.senses = SENSOR_KIND_WRENCH,
		.signals = {{"force", "x"}, {"force", "y"}, {"force", "z"}, {"torque", "x"}, {"torque", "y"},
			{"torque", "z"}},
		.topics = {{"forcetorque", "", "gz.msgs.Wrench"}},
		.columns = {"fx", "fy", "fz", "tx", "ty", "tz"}},
	[SDF_GPU_LIDAR] = {.names = {"gpu_lidar", "gpu_ray"}, LIDAR},
	[SDF_IMU] = {.names = {"imu"},
		.settings = {"imu"},
		.senses = SENSOR_KIND_MOTION,
		.signals = {{"angular_velocity", "x"}, {"angular_velocity", "y"}, {"angular_velocity", "z"},
			{"linear_acceleration", "x"}, {"linear_acceleration", "y"}, {"linear_acceleration", "z"},
			{"orientation", "x"}, {"orientation", "y"}, {"orientation", "z"}},
		.topics = {{"imu", "", "gz.msgs.IMU"}},
		.columns = {"qw", "qx", "qy", "qz", "wx", "wy", "wz", "ax", "ay", "az"}},
	[SDF_LIDAR] = {.names = {"lidar", "ray"}, LIDAR},
	[SDF_LOGICAL_CAMERA] = {.names = {"logical_camera"},
		.settings = {"logical_camera"},
		.senses = SENSOR_KIND_MODELS,
		.topics = {{"logical_camera", "", "gz.msgs.LogicalCameraImage"}}},
	[SDF_MAGNETOMETER] = {.names = {"magnetometer"},
		.settings = {"magnetometer"},
		.senses = SENSOR_KIND_MOTION,
		.signals = {{"x", ""}, {"y", ""}, {"z", ""}},
		.topics = {{"magnetometer", "", "gz.msgs.Magnetometer"}},
		.columns = {"bx", "by", "bz"}},
	[SDF_MULTICAMERA] = {.names = {"multicamera"}, .settings = {"camera"}, .cameras = SDF_CAMERAS_MAX},
	[SDF_NAVSAT] = {.names = {"navsat", "gps"},
		.settings = {"navsat", "gps"},
		.senses = SENSOR_KIND_MOTION,
		.signals = {{"position_sensing", "horizontal"}, {"position_sensing", "vertical"},
			{"velocity_sensing", "horizontal"}, {"velocity_sensing", "vertical"}},
		.topics = {{"navsat", "", "gz.msgs.NavSat"}},
		.columns = {"latitude", "longitude", "altitude", "vx", "vy", "vz"}},
	[SDF_RFID] = {.names = {"rfid"}, .settings = {"rfid"}},
	[SDF_RFIDTAG] = {.names = {"rfidtag"}, .settings = {"rfidtag"}},
	[SDF_RGBD_CAMERA] = {.names = {"rgbd_camera", "rgbd"},
		PICTURES(SENSOR_DEPTH | SENSOR_COLOUR),
		.topics = {{"image", "/image", IMAGE}, {"depth_image", "/depth_image", IMAGE},
			{"points", "/points", POINTS}, {"camera_info", "/camera_info", CAMERA_INFO}}},
	[SDF_SEGMENTATION_CAMERA] = {.names = {"segmentation_camera", "segmentation"},
		PICTURES(SENSOR_LABELS),
		.topics = {{"segmentation/labels_map", "/labels_map", IMAGE},
			{"segmentation/colored_map", "/colored_map", IMAGE}, {"camera_info", INFO, CAMERA_INFO}}},
	[SDF_SONAR] = {.names = {"sonar"}, .settings = {"sonar"}},
	[SDF_THERMAL_CAMERA] = {.names = {"thermal_camera", "thermal"},
		PICTURES(SENSOR_HEAT),
		.topics = {{"image", "", IMAGE}, {"camera_info", INFO, CAMERA_INFO}}},
	[SDF_WIDE_ANGLE_CAMERA] = {.names = {"wide_angle_camera", "wideanglecamera"},
		PICTURES(SENSOR_COLOUR),
		.topics = {{"image", "", IMAGE}, {"camera_info", INFO, CAMERA_INFO}}},
	[SDF_WIRELESS_RECEIVER] = {.names = {"wireless_receiver"}, .settings = {"transceiver"}},
	[SDF_WIRELESS_TRANSMITTER] = {.names = {"wireless_transmitter"}, .settings = {"transceiver"}},
};
_Static_assert(ARRAY_LEN(sensor_kind_rows) == SENSOR_KINDS, "each kind has a row");

const struct sensor_kind_truth sensor_kind_truths[SENSOR_TRUTHS] = {
	{"normals", SENSOR_NORMALS, {"normals", "/normals", IMAGE}},
	{"flow", SENSOR_FLOW, {"flow", "/flow", IMAGE}},
	{"segments", SENSOR_SEGMENTS, {"segments", "/segments", IMAGE}},
};

const struct sensor_kind *sensor_kind_of(enum sdf_sensor_kind kind)
{
	return &sensor_kind_rows[kind];
}

static bool sensor_kind_is_named(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count && names[i]; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

enum sdf_sensor_kind sensor_kind_find(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(sensor_kind_rows); i++)
		if (sensor_kind_is_named(sensor_kind_rows[i].names, ARRAY_LEN(sensor_kind_rows[i].names), type))
			return (enum sdf_sensor_kind)i;
	return SDF_SENSOR_UNKNOWN;
}

bool sensor_kind_has_settings(enum sdf_sensor_kind kind, const char *element)
{
	return sensor_kind_is_named(
		sensor_kind_rows[kind].settings, ARRAY_LEN(sensor_kind_rows[kind].settings), element);
}

uint32_t sensor_kind_signal_count(enum sdf_sensor_kind kind)
{
	uint32_t count = 0;
	while (count < SENSOR_KIND_SIGNALS_MAX && sensor_kind_rows[kind].signals[count].group)
		count++;
	return count;
}

uint32_t sensor_kind_topic_count(enum sdf_sensor_kind kind)
{
	uint32_t count = 0;
	while (count < SENSOR_KIND_TOPICS_MAX && sensor_kind_rows[kind].topics[count].last)
		count++;
	return count;
}

uint32_t sensor_kind_column_count(enum sdf_sensor_kind kind)
{
	uint32_t count = 0;
	while (count < SENSOR_KIND_COLUMNS_MAX && sensor_kind_rows[kind].columns[count])
		count++;
	return count;
}

const char *sensor_kind_topic_stem(enum sdf_sensor_kind kind, int *ret_bytes)
{
	const struct sensor_kind_topic *first = &sensor_kind_rows[kind].topics[0];
	int bytes = first->last ? (int)strlen(first->last) - (int)strlen(first->suffix) : 0;
	*ret_bytes = bytes > 0 ? bytes : 0;
	return bytes > 0 ? first->last : "";
}
