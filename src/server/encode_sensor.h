/* Messages of sensors, as Gazebo's, each made of one reading (sensor/reading.h). The sensor itself may be gone by then.
 * Thread: any; the arena of a source is freed by the function that makes its message. */
#ifndef SERVER_ENCODE_SENSOR_H
#define SERVER_ENCODE_SENSOR_H

#include "sensor/reading.h"
#include "server/encode.h"
#include "server/capture.h"
#include "topic/table.h"
#include "topic/sensor.pb-c.h"

struct sensor_source {
	const struct reading *reading;
	const double *numbers;
	const struct topic_row *row;
	const struct capture *capture;
	struct arena *arena;
};

/* Gazebo's header: the time of the measurement, and the frame in which it is given. */
Gz__Msgs__Header *encode_sensor_header(const struct sensor_source *source);
/* A field of the points of a cloud, one number. */
Gz__Msgs__PointCloudPacked__Field *encode_sensor_field(const struct sensor_source *source, const char *name,
	uint32_t offset, Gz__Msgs__PointCloudPacked__Field__DataType type);

/* Each appends the bytes of a message of the sensor's type to `out`, and returns true. */
typedef bool encode_sensor_fn(const struct sensor_source *source, struct text *out);

/* encode_sensor.c: numbers; metrics: how often the sensor measures */
bool encode_sensor_metrics(const struct sensor_source *source, struct text *out);
bool encode_sensor_air_pressure(const struct sensor_source *source, struct text *out);
bool encode_sensor_air_speed(const struct sensor_source *source, struct text *out);
bool encode_sensor_altimeter(const struct sensor_source *source, struct text *out);
bool encode_sensor_force_torque(const struct sensor_source *source, struct text *out);
bool encode_sensor_imu(const struct sensor_source *source, struct text *out);
bool encode_sensor_magnetometer(const struct sensor_source *source, struct text *out);
bool encode_sensor_navsat(const struct sensor_source *source, struct text *out);
/* encode_lidar.c */
bool encode_sensor_points(const struct sensor_source *source, struct text *out);
bool encode_sensor_scan(const struct sensor_source *source, struct text *out);
/* encode_camera.c */
bool encode_sensor_camera_info(const struct sensor_source *source, struct text *out);
bool encode_sensor_colour(const struct sensor_source *source, struct text *out);
bool encode_sensor_coloured(const struct sensor_source *source, struct text *out);
bool encode_sensor_depth(const struct sensor_source *source, struct text *out);
bool encode_sensor_depth_points(const struct sensor_source *source, struct text *out);
bool encode_sensor_flat_boxes(const struct sensor_source *source, struct text *out);
bool encode_sensor_flow(const struct sensor_source *source, struct text *out);
bool encode_sensor_heat(const struct sensor_source *source, struct text *out);
bool encode_sensor_labels(const struct sensor_source *source, struct text *out);
bool encode_sensor_normals(const struct sensor_source *source, struct text *out);
bool encode_sensor_segments(const struct sensor_source *source, struct text *out);
bool encode_sensor_solid_boxes(const struct sensor_source *source, struct text *out);
/* encode_packed.c: the message of a topic of compressed pictures, of the picture that the source's other topic has;
 * false: this one is not published, or it cannot be made. data: in the byte order of messages. */
bool encode_packed(
	const struct sensor_source *source, Gz__Msgs__PixelFormatType format, const uint8_t *data, struct text *out);
/* encode_found.c: lists of contacts and of models */
bool encode_sensor_contacts(const struct sensor_source *source, struct text *out);
bool encode_sensor_logical_camera(const struct sensor_source *source, struct text *out);

#endif
