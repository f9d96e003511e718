/* Rates are compared in whole micro-hertz and times in whole ns, so that the number of samples until a time is a
 * quotient of integers. It cannot drift, and 30 Hz are 30 samples in every second. */
#include "sensor/sensor.h"

#include <math.h>

#define NS_MICRO_HZ INT64_C(1000000000000000) /* ns of a period, times micro-hertz */

/* Samples that are due at or before a time; 0 at a time before 0. */
static uint64_t sensor_time_samples_until(uint64_t micro_hz, int64_t time_ns)
{
	return time_ns < 0 ? 0 : (uint64_t)((unsigned __int128)(uint64_t)time_ns * micro_hz / NS_MICRO_HZ) + 1;
}

int64_t sensor_time_ns(double time_s)
{
	return time_s > 0 ? llround(MIN(time_s, 4e9) * 1e9) : 0;
}

bool sensor_rate_is_due(uint64_t micro_hz, int64_t after_ns, int64_t until_ns)
{
	return !micro_hz ||
	       sensor_time_samples_until(micro_hz, until_ns) > sensor_time_samples_until(micro_hz, after_ns);
}

/* The first time after this one at which a sample is due. */
static int64_t sensor_time_rate_next_ns(uint64_t micro_hz, int64_t after_ns)
{
	if (!micro_hz)
		return after_ns + 1;
	unsigned __int128 at = (unsigned __int128)sensor_time_samples_until(micro_hz, after_ns) * NS_MICRO_HZ;
	unsigned __int128 ns = (at + micro_hz - 1) / micro_hz;
	return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

int64_t sensors_next_ns(const struct sensors *sensors, int64_t after_ns)
{
	int64_t next = INT64_MAX;
	for (uint32_t i = 0; sensors->wanted && i < sensors->rates.count; i++)
		if (sensors->rates.at[i].wanted)
			next = MIN(next, sensor_time_rate_next_ns(sensors->rates.at[i].micro_hz, after_ns));
	return next;
}

static double sensor_time_step_s(const struct sensors *sensors)
{
	return sensors->scene->step_s;
}

uint64_t sensor_sample(const struct sensors *sensors, const struct sensor *sensor, int64_t time_ns)
{
	uint64_t micro_hz = sensors->rates.at[sensor->rate].micro_hz;
	if (time_ns < 0)
		return 0;
	return micro_hz ? sensor_time_samples_until(micro_hz, time_ns) - 1
			: (uint64_t)llround((double)time_ns * 1e-9 / sensor_time_step_s(sensors));
}

double sensor_since_s(const struct sensors *sensors, const struct sensor *sensor, int64_t time_ns)
{
	uint64_t micro_hz = sensors->rates.at[sensor->rate].micro_hz, sample = sensor_sample(sensors, sensor, time_ns);
	double step_s = sensor_time_step_s(sensors), step = round((double)time_ns * 1e-9 / step_s);
	if (!sample)
		return 0;
	if (!micro_hz)
		return step_s;
	double due_s = (double)(sample - 1) * (1e6 / (double)micro_hz);
	return fmax(step - ceil(due_s / step_s - 1e-6), 0) * step_s;
}

double sensor_period_s(const struct sensors *sensors, const struct sensor *sensor)
{
	uint64_t micro_hz = sensors->rates.at[sensor->rate].micro_hz;
	return micro_hz ? 1e6 / (double)micro_hz : sensor_time_step_s(sensors);
}
