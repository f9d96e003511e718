/* Samples of sensors: from states k and k+1 to the numbers of a reading, with noise. */
#ifndef SENSOR_SAMPLER_H
#define SENSOR_SAMPLER_H

#include "physics/notes.h"
#include "scene/state.h"
#include "sensor/reading.h"

struct sampler { /* what a sample depends on, beside the sensor */
	const struct scene *scene;
	const struct state *state;
	const struct sensors *sensors;
	uint64_t seed;   /* of the run */
	double dt;       /* s, of the step */
	int64_t time_ns; /* of the reading */
	/* SENSOR_OF_FORCES: by joint, of the step that led to `now` */
	const struct reaction *reactions;
	bool moved; /* SENSOR_OF_SELF: state k+1 of the model is in `next`; otherwise its state k holds on */
};

/* The largest size of a reading of the sensor. A pure function. */
uint32_t sampler_bytes_max(const struct sensor *sensor);

/* Adds the reading. Thread: one at a time for each sensor, because the sensor has a cache; the caches change no bit. */
void sampler_read(const struct sampler *sampler, struct sensor *sensor, struct readings *ret_readings);

#endif
