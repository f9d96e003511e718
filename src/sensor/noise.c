/* Each number is a function of (key, purpose, counter). The counter's bits come from base/hash.h; a normal number is
 * made of them by inversion of the normal distribution (M. J. Wichura, algorithm AS 241, PPND16: error below 1e-15),
 * which takes one division for 85 of 100 numbers. Box and Muller's method takes a logarithm and a sine for each pair:
 * with SLEEF's functions that was twice the time.
 *
 * The walk of the bias is a Markov chain, so sample n depends on sample n - 1, and a plain generator would have to keep
 * the bias as a part of the state. Here the chain is drawn from coarse to fine instead: sample 0 is given; sample 2^63
 * follows from its transition over 2^63 steps; then, of two samples whose values are known, the one in the middle is
 * normal, with a mean and a deviation that depend on the two values and the distance only (a Markov bridge). Each index
 * is the middle of one interval, so its index is also the number of its normal number. The joint distribution of all
 * samples is exactly that of the chain (tests/unit/test_noise).
 *
 * With f = exp(-h dt / T) and V = (s^2 T / 2)(1 - f^2), the transition over h steps is: mean f b, variance V. Of the
 * middle between b and c, h steps from both: mean f (b + c) / (1 + f^2), variance V / (1 + f^2). */
#include "sensor/noise.h"

#include "base/hash.h"
#include "base/math.h"

#include <assert.h>
#include <string.h>

enum purpose { WHITE = 1, BIAS, SIGN, WALK };

#define STRIDE UINT64_C(0x9e3779b97f4a7c15) /* odd: 2^64 counters have 2^64 seeds */

uint64_t noise_key(uint64_t seed, uint64_t model_id, uint32_t sensor, uint32_t signal)
{
	const uint64_t words[] = {model_id, (uint64_t)sensor << 32 | signal};
	return hash_words(seed, words, ARRAY_LEN(words));
}

/* As wyrand: the product of the counter's seed with itself under two masks. */
static uint64_t noise_bits_of(uint64_t key, uint64_t index)
{
	uint64_t seed = key + index * STRIDE;
	return hash_mix(seed, seed);
}

/* --- normal numbers ----------------------------------------------------------------------------------------------- */

static double noise_ratio(const double above[8], const double below[8], double x)
{
	double a = above[7], b = below[7];
	for (int i = 6; i >= 0; i--) {
		a = a * x + above[i];
		b = b * x + below[i];
	}
	return a / b;
}

/* tail: how much of the distribution lies beyond the result, above 0 and at most 0.075. */
static double noise_far_from_middle(double tail)
{
	static const double near_above[8] = {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
		3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
		7.74545014278341407640e-4};
	static const double near_below[8] = {1, 2.05319162663775882187, 1.67638483018380384940,
		6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
		5.47593808499534494600e-4, 1.05075007164441684324e-9};
	static const double far_above[8] = {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
		2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
		2.71155556874348757815e-5, 2.01033439929228813265e-7};
	static const double far_below[8] = {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
		1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
		1.42151175831644588870e-7, 2.04426310338993978564e-15};
	double x = sqrt(-math_log(tail));
	return x <= 5 ? noise_ratio(near_above, near_below, x - 1.6) : noise_ratio(far_above, far_below, x - 5);
}

/* The highest bit is the sign, and the others are the part of the distribution beyond the result: the tails are as fine
 * as the middle. */
static double noise_normal_of(uint64_t bits)
{
	static const double above[8] = {3.3871328727963666080, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
		1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4,
		2.5090809287301226727e+3};
	static const double below[8] = {1, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
		2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3};
	double tail = ((double)(int64_t)(bits & INT64_MAX) + 0.5) * 0x1p-64, from_middle = 0.5 - tail;
	double size = from_middle <= 0.425
			      ? from_middle * noise_ratio(above, below, 0.180625 - from_middle * from_middle)
			      : noise_far_from_middle(tail);
	return bits >> 63 ? -size : size;
}

double noise_normal(uint64_t key, uint64_t index)
{
	return noise_normal_of(noise_bits_of(key, index));
}

/* --- the bias ----------------------------------------------------------------------------------------------------- */

static double noise_first_bias(const struct sdf_noise *noise, uint64_t key)
{
	double bias = noise->bias_mean;
	if (noise->bias_stddev > 0)
		bias += noise->bias_stddev * noise_normal(hash_mix(key, BIAS), 0);
	return noise_bits_of(hash_mix(key, SIGN), 0) >> 63 ? -bias : bias;
}

static bool noise_walks(const struct sdf_noise *noise)
{
	return noise->walk_stddev > 0 && noise->walk_time_s > 0;
}

static double noise_transition_variance(const struct noise_cache *walk, double steps)
{
	double s = walk->stddev;
	return -(s * s) * walk->time_s / 2 * math_expm1(-2 * steps * walk->period_s / walk->time_s);
}

static bool noise_is_of(const struct noise_cache *cache, const struct sdf_noise *noise, uint64_t key, double period_s)
{
	return cache->known && cache->key == key && cache->stddev == noise->walk_stddev &&
	       cache->time_s == noise->walk_time_s && cache->period_s == period_s &&
	       cache->first == noise_first_bias(noise, key);
}

/* middle[l]: of an interval of 2^(l + 1) steps. ends[l]: of the interval of 2^l steps that holds the index. */
static void noise_begin(struct noise_cache *walk, const struct sdf_noise *noise, uint64_t key, double period_s)
{
	walk->key = key;
	walk->stddev = noise->walk_stddev;
	walk->time_s = noise->walk_time_s;
	walk->period_s = period_s;
	walk->first = noise_first_bias(noise, key);
	for (int l = 0; l < NOISE_WALK_LEVELS; l++) {
		double steps = (double)(UINT64_C(1) << l), f = math_exp(-steps * period_s / walk->time_s);
		walk->middle[l].mean = f / (1 + f * f);
		walk->middle[l].deviation = sqrt(noise_transition_variance(walk, steps) / (1 + f * f));
	}
	double all = 0x1p63;
	walk->ends[NOISE_WALK_LEVELS].left = walk->first;
	walk->ends[NOISE_WALK_LEVELS].right =
		math_exp(-all * period_s / walk->time_s) * walk->first +
		sqrt(noise_transition_variance(walk, all)) * noise_normal(hash_mix(key, WALK), UINT64_C(1) << 63);
	walk->index = 0;
	walk->known = 1;
}

/* Halves the interval of 2^(level + 1) steps that holds the index. */
static void noise_halve(struct noise_cache *walk, uint64_t index, int level)
{
	uint64_t middle = (index >> level | 1) << level;
	double left = walk->ends[level + 1].left, right = walk->ends[level + 1].right;
	double value = walk->middle[level].mean * (left + right) +
		       walk->middle[level].deviation * noise_normal(hash_mix(walk->key, WALK), middle);
	walk->ends[level].left = index < middle ? left : value;
	walk->ends[level].right = index < middle ? value : right;
}

/* A level that is known stays valid if its interval has both the last index and this one. The index is the left end of
 * its interval of one step, and often of a longer interval: then no shorter interval has to be halved. */
static double noise_walk_to(struct noise_cache *walk, uint64_t index)
{
	uint64_t differ = walk->index ^ index;
	uint32_t same = differ ? (uint32_t)__builtin_clzll(differ) : NOISE_WALK_LEVELS + 1;
	if (walk->known > same)
		walk->known = same;
	int level = NOISE_WALK_LEVELS + 1 - (int)walk->known; /* the smallest interval that is known */
	while (index & ((UINT64_C(1) << level) - 1))
		noise_halve(walk, index, --level);
	walk->known = (uint32_t)(NOISE_WALK_LEVELS + 1 - level);
	walk->index = index;
	return walk->ends[level].left;
}

double noise_bias(
	const struct sdf_noise *noise, uint64_t key, const struct noise_sample *sample, struct noise_cache *cache)
{
	if (noise->kind == SDF_NOISE_NONE)
		return 0;
	if (!noise_walks(noise))
		return noise_first_bias(noise, key);
	assert(sample->period_s > 0 && sample->index >> 63 == 0);
	struct noise_cache own = {0};
	if (!cache)
		cache = &own;
	if (!noise_is_of(cache, noise, key, sample->period_s))
		noise_begin(cache, noise, key, sample->period_s);
	return noise_walk_to(cache, sample->index);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

bool noise_matters(const struct sdf_signal *signal)
{
	return signal->noise.kind != SDF_NOISE_NONE || signal->resolution > 0 || isfinite(signal->min) ||
	       isfinite(signal->max);
}

struct noise_plan { /* of one sample */
	double offset, stddev, precision, resolution, min, max;
	uint64_t white;
};

static struct noise_plan noise_plan_for(
	const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample, struct noise_cache *cache)
{
	const struct sdf_noise *noise = &signal->noise;
	struct noise_plan plan = {
		.resolution = signal->resolution,
		.min = signal->min,
		.max = signal->max,
		.white = hash_words(hash_mix(key, WHITE), &sample->time_ns, 1),
	};
	if (noise->kind == SDF_NOISE_NONE)
		return plan;
	plan.offset = noise->mean + noise_bias(noise, key, sample, cache);
	plan.stddev = noise->stddev;
	plan.precision = noise->kind == SDF_NOISE_QUANTIZED ? noise->precision : 0;
	return plan;
}

/* round() away from zero at the half, as Gazebo does. A step too small for the value leaves it as it is. */
static double noise_rounded(double value, double step)
{
	double steps = value / step;
	return isfinite(steps) ? round(steps) * step : value;
}

static double noise_measured(const struct noise_plan *plan, double value, uint64_t index)
{
	if (!isfinite(value))
		return value;
	value += plan->offset;
	if (plan->stddev > 0)
		value += plan->stddev * noise_normal(plan->white, index);
	if (plan->precision > 0)
		value = noise_rounded(value, plan->precision);
	if (plan->resolution > 0)
		value = noise_rounded(value, plan->resolution);
	return value < plan->min ? plan->min : value > plan->max ? plan->max : value;
}

double noise_apply(const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample,
	struct noise_cache *cache, double value)
{
	noise_apply_many(signal, key, sample, cache, 0, &value, 1);
	return value;
}

void noise_apply_many(const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample,
	struct noise_cache *cache, uint64_t first, double *values, uint64_t count)
{
	if (!noise_matters(signal))
		return;
	const struct noise_plan plan = noise_plan_for(signal, key, sample, cache);
	for (uint64_t i = 0; i < count; i++)
		values[i] = noise_measured(&plan, values[i], first + i);
}

void noise_apply_floats(const struct sdf_signal *signal, uint64_t key, const struct noise_sample *sample,
	uint64_t first, float *values, uint64_t count)
{
	if (!noise_matters(signal))
		return;
	const struct noise_plan plan = noise_plan_for(signal, key, sample, NULL);
	for (uint64_t i = 0; i < count; i++)
		values[i] = (float)noise_measured(&plan, (double)values[i], first + i);
}
