/* A reading of these sensors is a few numbers, of which each has its field in the message. */
#include "server/encode_sensor.h"

#include "server/scene_info.h"
#include "topic/motion.pb-c.h"

#include <math.h>
#include <string.h>

Gz__Msgs__Header *encode_sensor_header(const struct sensor_source *source)
{
	Gz__Msgs__Header *out = encode_header(source->arena, source->reading->time_ns);
	encode_header_add(source->arena, out, "frame_id", source->row->frame);
	return out;
}

bool encode_sensor_imu(const struct sensor_source *source, struct text *out)
{
	const struct troupe_imu_reading *reading = READINGS_AS(troupe_imu_reading, source->numbers);
	Gz__Msgs__IMU message = GZ__MSGS__IMU__INIT;
	Gz__Msgs__Quaternion q = GZ__MSGS__QUATERNION__INIT;
	q.w = reading->orientation.w, q.x = reading->orientation.x;
	q.y = reading->orientation.y, q.z = reading->orientation.z;
	message.header = encode_sensor_header(source);
	message.entity_name = encode_text(source->row->only);
	message.orientation = reading->oriented != 0 ? &q : NULL;
	message.angular_velocity = encode_vec3(source->arena, reading->angular_velocity);
	message.linear_acceleration = encode_vec3(source->arena, reading->acceleration);
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_magnetometer(const struct sensor_source *source, struct text *out)
{
	const struct troupe_magnetometer_reading *reading = READINGS_AS(troupe_magnetometer_reading, source->numbers);
	Gz__Msgs__Magnetometer message = GZ__MSGS__MAGNETOMETER__INIT;
	message.header = encode_sensor_header(source);
	message.field_tesla = encode_vec3(source->arena, reading->field);
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_altimeter(const struct sensor_source *source, struct text *out)
{
	const struct troupe_altimeter_reading *reading = READINGS_AS(troupe_altimeter_reading, source->numbers);
	Gz__Msgs__Altimeter message = GZ__MSGS__ALTIMETER__INIT;
	message.header = encode_sensor_header(source);
	message.vertical_position = reading->height_m;
	message.vertical_velocity = reading->climb_m_s;
	message.vertical_reference = reading->first_m;
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_air_pressure(const struct sensor_source *source, struct text *out)
{
	const struct troupe_air_pressure_reading *reading = READINGS_AS(troupe_air_pressure_reading, source->numbers);
	Gz__Msgs__FluidPressure message = GZ__MSGS__FLUID_PRESSURE__INIT;
	message.header = encode_sensor_header(source);
	message.pressure = reading->pressure_Pa;
	message.variance = reading->variance;
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_air_speed(const struct sensor_source *source, struct text *out)
{
	const struct troupe_air_speed_reading *reading = READINGS_AS(troupe_air_speed_reading, source->numbers);
	Gz__Msgs__AirSpeed message = GZ__MSGS__AIR_SPEED__INIT;
	message.header = encode_sensor_header(source);
	message.diff_pressure = reading->pressure_Pa;
	message.temperature = reading->temperature_K;
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_navsat(const struct sensor_source *source, struct text *out)
{
	const struct troupe_navsat_reading *reading = READINGS_AS(troupe_navsat_reading, source->numbers);
	Gz__Msgs__NavSat message = GZ__MSGS__NAV_SAT__INIT;
	message.header = encode_sensor_header(source);
	message.latitude_deg = reading->latitude_deg;
	message.longitude_deg = reading->longitude_deg;
	message.altitude = reading->altitude_m;
	message.velocity_east = reading->velocity_m_s.x;
	message.velocity_north = reading->velocity_m_s.y;
	message.velocity_up = reading->velocity_m_s.z;
	message.frame_id = encode_text(source->row->frame);
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_force_torque(const struct sensor_source *source, struct text *out)
{
	const struct troupe_force_torque_reading *reading = READINGS_AS(troupe_force_torque_reading, source->numbers);
	Gz__Msgs__Wrench message = GZ__MSGS__WRENCH__INIT;
	message.header = encode_sensor_header(source);
	message.force = encode_vec3(source->arena, reading->wrench.force);
	message.torque = encode_vec3(source->arena, reading->wrench.torque);
	return encode_end(&message.base, source->arena, out);
}

/* The rate in simulated time between this sample and the one before: samples are taken in states, so their distance is
 * a whole number of steps. */
static double encode_sensor_rate_between_samples(double time_s, double rate_hz, double step_s)
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
	message.sim_update_rate =
		encode_sensor_rate_between_samples(time_s, source->row->rate_hz, source->capture->step_s);
	message.real_update_rate = message.sim_update_rate * source->capture->rtf;
	return encode_end(&message.base, source->arena, out);
}
