/* A sample that is being taken: what the functions of each kind of sensor get (sampler.c, sampler_picture.c). */
#ifndef SENSOR_SAMPLER_SAMPLE_H
#define SENSOR_SAMPLER_SAMPLE_H

#include "sensor/measure.h"
#include "sensor/sampler.h"
#include "sensor/scan_beam.h"

struct sampler_sample {
	const struct sampler *from;
	struct sensor *sensor;
	struct noise_sample noise;
	struct motion before, after;
	struct readings *readings;
};

/* The key of the noise of one of the sensor's signals. */
static inline uint64_t sampler_key_of(const struct sampler_sample *sample, uint32_t signal)
{
	const struct sensor *sensor = sample->sensor;
	return noise_key(sample->from->seed, sample->from->scene->models[sensor->model].id, sensor->index, signal);
}

/* Adds a reading of so many bytes, and returns its numbers. */
static inline void *sampler_add(const struct sampler_sample *sample, size_t bytes)
{
	uint64_t id = sample->from->scene->models[sample->sensor->model].id;
	return readings_add(sample->readings, sample->sensor, id, sample->from->time_ns, bytes);
}

/* How the sensor moves in so long a time, or a part of it that has this pose in it. now: of that part. */
struct scan_path sampler_path(
	const struct sampler_sample *sample, double span_s, const struct pose *in_sensor, struct pose now);

#endif
