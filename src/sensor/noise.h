/* The noise of sensors: pure functions of a key and of a sample's place in time. There is no state: nothing is saved,
 * moved or replayed, and a sample may be asked for in any order, any number of times, on any thread.
 *
 * A signal has one key; which numbers are drawn for it depends on the key alone, and not on other sensors. Noise is as
 * Gazebo's GaussianNoiseModel (gz-sensors) defines it:
 *
 *   output = value + bias + N(mean, stddev), then rounded to a multiple of precision (gaussian_quantized)
 *
 * The bias begins as N(bias_mean, bias_stddev), with a random sign. With dynamic_bias_stddev (s) and
 * dynamic_bias_correlation_time (T), both above 0, it then walks from sample to sample, dt apart, as in Kalibr's model:
 *
 *   bias(0) as above;  bias(n + 1) = exp(-dt / T) bias(n) + N(0, d),  d^2 = -(s^2 T / 2) expm1(-2 dt / T)
 *
 * Differences from Gazebo: the order of sensors and of their samples has no effect, and precision rounds however small
 * it is (Gazebo ignores one below 1e-6). At last a value is rounded to a multiple of <resolution> of <range> and
 * limited to <range>. A value that is not finite, as the distance of a ray that hits nothing, stays as it is. */
#ifndef SENSOR_NOISE_H
#define SENSOR_NOISE_H

#include "sdf/sensor.h"

#include <stdint.h>

enum { NOISE_WALK_LEVELS = 63 };

struct noise_sample {     /* of a signal */
	uint64_t index;   /* n: how many samples there were before; below 2^63 */
	uint64_t time_ns; /* simulated; no two samples of a signal have the same */
	double period_s;  /* dt: time between samples, above 0; only the walk of the bias needs it */
};

/* What noise_bias() keeps so that the sample after the last one costs about two normal numbers instead of 63. It holds
 * for one key, noise and period, which the functions compare, so a cache may be used for any signal; all zeros: empty.
 * Results are the same bits with and without a cache. A cache is used by one thread at a time. */
struct noise_cache {
	/* private */
	uint64_t key;
	double stddev, time_s, period_s, first;
	uint64_t index;
	uint32_t known; /* levels from the top whose ends are valid */
	struct {
		double left, right;
	} ends[NOISE_WALK_LEVELS + 1];
	struct {
		double mean, deviation;
	} middle[NOISE_WALK_LEVELS];
};

/* The key of a signal. sensor: the sensor's index in its model; signal: index in sdf_settings.signals, or any other
 * number that tells the measured numbers of the sensor apart. */
uint64_t noise_key(uint64_t seed, uint64_t model_id, uint32_t sensor, uint32_t signal);

/* The number `index` of the normal numbers (mean 0, deviation 1, independent) of a key. |result| < 9.3. */
double noise_normal(uint64_t key, uint64_t index);

/* The bias of the sample. cache: NULL is fine. */
double noise_bias(
	const struct sdf_noise *noise, uint64_t key, const struct noise_sample *sample, struct noise_cache *cache);

/* Whether noise_apply() can change a value. */
bool noise_matters(const struct sdf_signal *signal);

/* The measured value: with noise, rounded, limited. cache: NULL is fine. */
double noise_apply(const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample,
	struct noise_cache *cache, double value);

/* The same for many values of one sample (rays, pixels), which share the bias and have white noise each: value i has
 * the number first + i in the sample. noise_apply() is number 0. A caller may divide a sample into several calls. For a
 * camera: a signal with the camera's noise and the limits 0 and 1 (noise_open() and then min, max). */
void noise_apply_many(const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample,
	struct noise_cache *cache, uint64_t first, double *values, uint64_t count);
void noise_apply_floats(const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample,
	uint64_t first, float *values, uint64_t count);

/* A signal with this noise and without limits. */
static inline struct sdf_signal noise_open(struct sdf_noise noise)
{
	return (struct sdf_signal){.noise = noise, .min = -INFINITY, .max = INFINITY};
}

#endif
