/* A reading of these sensors is a few numbers, of which each has its field in the message. */
#include "server/encode_sensor.h"

#include "server/view.h"
#include "topic/motion.pb-c.h"

#include <math.h>
#include <string.h>

Gz__Msgs__Header *encode_sensor_header(const struct sensor_source *source)
{
	Gz__Msgs__Header *out = encode_header(source->arena, source->reading->time_ns);
	encode_header_add(source->arena, out, "frame_id", source->row->frame);
	return out;
}

static Gz__Msgs__Vector3d *vec3_at(const struct sensor_source *source, uint32_t at)
{
	const double *n = source->numbers + at;
	return encode_vec3(source->arena, (struct troupe_vec3){n[0], n[1], n[2]});
}

bool encode_sensor_imu(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__IMU message = GZ__MSGS__IMU__INIT;
	Gz__Msgs__Quaternion q = GZ__MSGS__QUATERNION__INIT;
	const double *n = source->numbers;
	q.w = n[1], q.x = n[2], q.y = n[3], q.z = n[4];
	message.header = encode_sensor_header(source);
	message.entity_name = encode_text(source->row->only);
	message.orientation = n[0] != 0 ? &q : NULL;
	message.angular_velocity = vec3_at(source, 5);
	message.linear_acceleration = vec3_at(source, 8);
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_magnetometer(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__Magnetometer message = GZ__MSGS__MAGNETOMETER__INIT;
	message.header = encode_sensor_header(source);
	message.field_tesla = vec3_at(source, 0);
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_altimeter(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__Altimeter message = GZ__MSGS__ALTIMETER__INIT;
	message.header = encode_sensor_header(source);
	message.vertical_position = source->numbers[0];
	message.vertical_velocity = source->numbers[1];
	message.vertical_reference = source->numbers[2];
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_air_pressure(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__FluidPressure message = GZ__MSGS__FLUID_PRESSURE__INIT;
	message.header = encode_sensor_header(source);
	message.pressure = source->numbers[0];
	message.variance = source->numbers[1];
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_air_speed(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__AirSpeed message = GZ__MSGS__AIR_SPEED__INIT;
	message.header = encode_sensor_header(source);
	message.diff_pressure = source->numbers[0];
	message.temperature = source->numbers[1];
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_navsat(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__NavSat message = GZ__MSGS__NAV_SAT__INIT;
	message.header = encode_sensor_header(source);
	message.latitude_deg = source->numbers[0];
	message.longitude_deg = source->numbers[1];
	message.altitude = source->numbers[2];
	message.velocity_east = source->numbers[3];
	message.velocity_north = source->numbers[4];
	message.velocity_up = source->numbers[5];
	message.frame_id = encode_text(source->row->frame);
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_force_torque(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__Wrench message = GZ__MSGS__WRENCH__INIT;
	message.header = encode_sensor_header(source);
	message.force = vec3_at(source, 0);
	message.torque = vec3_at(source, 3);
	return encode_end(&message.base, source->arena, out);
}

/* The rate in simulated time between this sample and the one before: samples are taken in states, so their distance is
 * a whole number of steps. */
static double rate_between_samples(double time_s, double rate_hz, double step_s)
{
	double number = floor(time_s * rate_hz + 1e-9);
	double before_s = ceil((number - 1) / rate_hz / step_s - 1e-6) * step_s;
	double apart_s = rate_hz > 0 ? fmax(time_s - before_s, step_s) : step_s;
	return apart_s > 0 ? 1 / apart_s : 0;
}

/* The rate in real time follows from the real-time factor that was reached lately. */
bool encode_sensor_metrics(const struct sensor_source *source, struct text *out)
{
	Gz__Msgs__PerformanceSensorMetrics message = GZ__MSGS__PERFORMANCE_SENSOR_METRICS__INIT;
	double time_s = (double)source->reading->time_ns * 1e-9;
	message.name = encode_text(source->row->only);
	message.nominal_update_rate = source->row->rate_hz;
	message.sim_update_rate = rate_between_samples(time_s, source->row->rate_hz, source->frame->step_s);
	message.real_update_rate = message.sim_update_rate * source->frame->rtf;
	return encode_end(&message.base, source->arena, out);
}
