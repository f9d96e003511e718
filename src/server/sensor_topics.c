/* The sensor itself may be gone when a message is made, with its model: so a row has all names that the message needs,
 * and a reading has all numbers. */
#include "server/sensor_topics.h"

#include "base/math.h"
#include "server/encode.h"
#include "server/view.h"
#include "topic/motion.pb-c.h"
#include "topic/sensor.pb-c.h"

#include <stdlib.h>
#include <string.h>

enum { ROLE_SHIFT = 20 }; /* row->of: the index of the sensor; above it the index of the topic in its kind's list */

uint32_t sensor_topics_index(const struct topic_row *row)
{
	return row->of & ((1u << ROLE_SHIFT) - 1);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

struct source {
	const struct reading *reading;
	const double *numbers;
	const struct topic_row *row;
	struct arena *arena;
};

/* Gazebo's header: the time of the measurement, and the frame in which it is given. */
static Gz__Msgs__Header *header(const struct source *source)
{
	Gz__Msgs__Header *out = encode_header(source->arena, source->reading->time_ns);
	encode_header_add(source->arena, out, "frame_id", source->row->frame);
	return out;
}

static Gz__Msgs__Vector3d *vec3_at(const struct source *source, uint32_t at)
{
	const double *n = source->numbers + at;
	return encode_vec3(source->arena, (struct troupe_vec3){n[0], n[1], n[2]});
}

static bool encode_imu(const struct source *source, struct text *out)
{
	Gz__Msgs__IMU message = GZ__MSGS__IMU__INIT;
	Gz__Msgs__Quaternion q = GZ__MSGS__QUATERNION__INIT;
	const double *n = source->numbers;
	q.w = n[1], q.x = n[2], q.y = n[3], q.z = n[4];
	message.header = header(source);
	message.entity_name = encode_text(source->row->only);
	message.orientation = n[0] != 0 ? &q : NULL;
	message.angular_velocity = vec3_at(source, 5);
	message.linear_acceleration = vec3_at(source, 8);
	return encode_end(&message.base, source->arena, out);
}

static bool encode_magnetometer(const struct source *source, struct text *out)
{
	Gz__Msgs__Magnetometer message = GZ__MSGS__MAGNETOMETER__INIT;
	message.header = header(source);
	message.field_tesla = vec3_at(source, 0);
	return encode_end(&message.base, source->arena, out);
}

static bool encode_altimeter(const struct source *source, struct text *out)
{
	Gz__Msgs__Altimeter message = GZ__MSGS__ALTIMETER__INIT;
	message.header = header(source);
	message.vertical_position = source->numbers[0];
	message.vertical_velocity = source->numbers[1];
	message.vertical_reference = source->numbers[2];
	return encode_end(&message.base, source->arena, out);
}

static bool encode_air_pressure(const struct source *source, struct text *out)
{
	Gz__Msgs__FluidPressure message = GZ__MSGS__FLUID_PRESSURE__INIT;
	message.header = header(source);
	message.pressure = source->numbers[0];
	message.variance = source->numbers[1];
	return encode_end(&message.base, source->arena, out);
}

static bool encode_air_speed(const struct source *source, struct text *out)
{
	Gz__Msgs__AirSpeed message = GZ__MSGS__AIR_SPEED__INIT;
	message.header = header(source);
	message.diff_pressure = source->numbers[0];
	message.temperature = source->numbers[1];
	return encode_end(&message.base, source->arena, out);
}

static bool encode_navsat(const struct source *source, struct text *out)
{
	Gz__Msgs__NavSat message = GZ__MSGS__NAV_SAT__INIT;
	message.header = header(source);
	message.latitude_deg = source->numbers[0];
	message.longitude_deg = source->numbers[1];
	message.altitude = source->numbers[2];
	message.velocity_east = source->numbers[3];
	message.velocity_north = source->numbers[4];
	message.velocity_up = source->numbers[5];
	message.frame_id = encode_text(source->row->frame);
	return encode_end(&message.base, source->arena, out);
}

static bool encode_force_torque(const struct source *source, struct text *out)
{
	Gz__Msgs__Wrench message = GZ__MSGS__WRENCH__INIT;
	message.header = header(source);
	message.force = vec3_at(source, 0);
	message.torque = vec3_at(source, 3);
	return encode_end(&message.base, source->arena, out);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

typedef bool encode_fn(const struct source *source, struct text *out);

/* The topics of each kind. `last` is what Gazebo puts behind the sensor's path when the file names no topic, `suffix`
 * is put behind a topic that the file names. */
static const struct {
	enum sdf_sensor_kind kind;
	const char *last, *suffix, *type;
	encode_fn *encode;
} topics[] = {
	{SDF_IMU, "imu", "", "gz.msgs.IMU", encode_imu},
	{SDF_FORCE_TORQUE, "forcetorque", "", "gz.msgs.Wrench", encode_force_torque},
	{SDF_MAGNETOMETER, "magnetometer", "", "gz.msgs.Magnetometer", encode_magnetometer},
	{SDF_ALTIMETER, "altimeter", "", "gz.msgs.Altimeter", encode_altimeter},
	{SDF_AIR_PRESSURE, "air_pressure", "", "gz.msgs.FluidPressure", encode_air_pressure},
	{SDF_AIR_SPEED, "air_speed", "", "gz.msgs.AirSpeed", encode_air_speed},
	{SDF_NAVSAT, "navsat", "", "gz.msgs.NavSat", encode_navsat},
};

static bool encode_reading(const struct frame *frame, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	uint32_t model = (uint32_t)row->key - 1, born = (uint32_t)(row->key >> 32);
	const struct reading *reading = readings_find(&frame->readings, model, sensor_topics_index(row));
	if (!reading || (uint32_t)reading->id != born)
		return false;
	struct source source = {reading, readings_numbers(&frame->readings, reading), row, &arena};
	return topics[row->of >> ROLE_SHIFT].encode(&source, out);
}

static const struct publish_ops reading_ops = {PUBLISH_READING, FRAME_READINGS, encode_reading};

void sensor_topics_each(const struct sensor *sensor, void (*fn)(void *ctx, const struct topic_row *row), void *ctx)
{
	const char *frame = sensor->sdf->settings->frame_id;
	for (uint32_t i = 0; i < ARRAY_LEN(topics); i++) {
		if (topics[i].kind != sensor->sdf->kind || sensor->group == SENSOR_SILENT)
			continue;
		char *name = sensor->topic_given ? mem_printf("%s%s", sensor->topic, topics[i].suffix)
						 : mem_printf("%s/%s", sensor->topic, topics[i].last);
		topic_name_clean(name);
		fn(ctx, &(struct topic_row){.kind = TOPIC_PUBLISHED,
				.name = name,
				.type = topics[i].type,
				.rate_hz = sensor->sdf->update_rate,
				.ops = &reading_ops,
				.frame = frame && *frame ? frame : sensor->name,
				.only = sensor->name,
				.of = sensor->index | i << ROLE_SHIFT});
		free(name);
	}
}
