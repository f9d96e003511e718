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
	const contact_notes *contacts; /* likewise: of all models */
	bool moved; /* SENSOR_OF_SELF: state k+1 of the model is in `next`; otherwise its state k holds on */
};

/* Whether the sensor can have a reading of so many bytes. A pure function. */
bool sampler_may_have(const struct sensor *sensor, size_t bytes);
/* Whether a reading of such a size begins with the numbers that follow from the file: the numbers of rows and columns,
 * and the limits. Used to check a reading that another process sends. A pure function. */
bool sampler_has_shape(const struct sensor *sensor, const double *numbers);

/* Adds the reading. Thread: one at a time for each sensor, because the sensor has a cache; the caches change no bit. */
void sampler_read(const struct sampler *sampler, struct sensor *sensor, struct readings *ret_readings);

/* The same in slices, for a sensor with sensor_slices() above 1, with the same bits: first adds the reading, then fills
 * each slice in, from 0, in the numbers of the reading. Thread: sampler_fill() any, for different slices at the same
 * time. */
void sampler_begin(const struct sampler *sampler, struct sensor *sensor, struct readings *ret_readings);
void sampler_fill(
	const struct sampler *sampler, const struct sensor *sensor, uint32_t slice, uint32_t slices, double *numbers);

#endif
