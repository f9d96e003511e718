/* The noise of sensors has the distributions that its header promises, and is a function of key, sample and number
 * only. A wrong constant of the inversion, a key that does not use one of its parts, a bridge with a wrong mean or
 * deviation, or a cache that keeps a value too long fails here. Bounds on statistics are five deviations of the
 * statistic; the numbers are the same in each run, so a test that passes once always passes. */
#include "base/hash.h"
#include "sensor/noise.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(noise, .timeout = 60);

#define near(value, expected, within)                                                                                  \
	cr_assert(fabs((value) - (expected)) <= (within), "%s is %.12g, not %.12g within %g", #value, (double)(value), \
		(double)(expected), (double)(within))

struct moments {
	double count, mean, variance, skew, kurtosis;
};

static struct moments moments_of(const double *x, uint32_t count)
{
	struct moments m = {.count = count};
	for (uint32_t i = 0; i < count; i++)
		m.mean += x[i] / count;
	double third = 0, fourth = 0;
	for (uint32_t i = 0; i < count; i++) {
		double d = x[i] - m.mean;
		m.variance += d * d / count;
		third += d * d * d / count;
		fourth += d * d * d * d / count;
	}
	m.skew = third / pow(m.variance, 1.5);
	m.kurtosis = fourth / (m.variance * m.variance);
	return m;
}

static double correlation(const double *x, const double *y, uint32_t count)
{
	struct moments mx = moments_of(x, count), my = moments_of(y, count);
	double sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += (x[i] - mx.mean) * (y[i] - my.mean) / count;
	return sum / sqrt(mx.variance * my.variance);
}

static void is_normal(const double *x, uint32_t count, double mean, double stddev)
{
	struct moments m = moments_of(x, count);
	double root = sqrt(count);
	near(m.mean, mean, 5 * stddev / root);
	near(m.variance, stddev * stddev, 5 * stddev * stddev * sqrt(2) / root);
	near(m.skew, 0, 5 * sqrt(6) / root);
	near(m.kurtosis, 3, 5 * sqrt(24) / root);
}

static void is_white(const double *x, uint32_t count)
{
	static const uint32_t lags[] = {1, 2, 3, 4, 7, 16, 64, 1000, 1024};
	for (uint32_t i = 0; i < ARRAY_LEN(lags); i++)
		near(correlation(x, x + lags[i], count - lags[i]), 0, 5 / sqrt(count));
}

enum { MANY = 1000000 };

static double *room(uint32_t count)
{
	double *x = calloc(count, sizeof *x);
	cr_assert(x);
	return x;
}

static struct noise_sample at(uint64_t index)
{
	return (struct noise_sample){.index = index, .time_ns = index * 1000000, .period_s = 1e-3};
}

/* --- normal numbers ----------------------------------------------------------------------------------------------- */

/* The bits are known, so the part of the distribution beyond each number is known. erfc() is libm's. */
Test(noise, normal_numbers_are_the_inverse_of_the_distribution)
{
	for (uint64_t i = 0; i < 300000; i++) {
		uint64_t seed = 77 + i * UINT64_C(0x9e3779b97f4a7c15), bits = hash_mix(seed, seed);
		double x = noise_normal(77, i), tail = ((double)(bits & INT64_MAX) + 0.5) * 0x1p-64;
		cr_assert_eq(x < 0, bits >> 63);
		double beyond = 0.5 * erfc(fabs(x) / sqrt(2));
		cr_assert(fabs(beyond - tail) <= 4e-15 * tail * (1 + x * x), "%.17g has %.17g beyond, not %.17g", x,
			beyond, tail);
	}
}

Test(noise, a_million_normal_numbers)
{
	static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db)};
	double *x = room(MANY);
	for (uint32_t k = 0; k < ARRAY_LEN(keys); k++) {
		for (uint32_t i = 0; i < MANY; i++)
			x[i] = noise_normal(keys[k], i);
		is_normal(x, MANY, 0, 1);
		is_white(x, MANY);
		double *squares = room(MANY); /* numbers that do not correlate may still depend on each other */
		for (uint32_t i = 0; i < MANY; i++)
			squares[i] = x[i] * x[i];
		is_white(squares, MANY);
		free(squares);
	}
	free(x);
}

/* 1000 parts of equal probability, and pairs of neighbours in 32 x 32 parts: chi squared is its degrees of freedom,
 * with the deviation sqrt(2 degrees). */
Test(noise, normal_numbers_fill_their_distribution_evenly)
{
	enum { PARTS = 1000, SIDE = 32 };
	uint32_t *in = calloc(PARTS, sizeof *in), *pairs = calloc(SIDE * SIDE, sizeof *pairs);
	double before = 0.5, chi = 0, chi2 = 0;
	for (uint32_t i = 0; i < MANY; i++) {
		double u = 0.5 * erfc(-noise_normal(noise_key(1, 2, 3, 4), i) / sqrt(2));
		in[(int)(u * PARTS)]++;
		pairs[(int)(before * SIDE) * SIDE + (int)(u * SIDE)]++;
		before = u;
	}
	for (int i = 0; i < PARTS; i++)
		chi += pow(in[i] - (double)MANY / PARTS, 2) / ((double)MANY / PARTS);
	for (int i = 0; i < SIDE * SIDE; i++)
		chi2 += pow(pairs[i] - (double)MANY / (SIDE * SIDE), 2) / ((double)MANY / (SIDE * SIDE));
	near(chi, PARTS - 1, 5 * sqrt(2 * PARTS));
	near(chi2, SIDE * SIDE - 1, 5 * sqrt(2 * SIDE * SIDE));
	free(in);
	free(pairs);
}

/* Each part of a key, and the time, gives other numbers, which do not correlate. */
Test(noise, each_part_of_the_key_matters)
{
	enum { COUNT = 100000 };
	const struct sdf_signal signal = noise_open((struct sdf_noise){.kind = SDF_NOISE_GAUSSIAN, .stddev = 1});
	const uint64_t keys[] = {noise_key(1, 1, 1, 1), noise_key(2, 1, 1, 1), noise_key(1, 2, 1, 1),
		noise_key(1, 1, 2, 1), noise_key(1, 1, 1, 2), noise_key(0, 1, 1, 1), noise_key(1, 0, 1, 1)};
	enum { KEYS = ARRAY_LEN(keys) };
	double *x[KEYS + 1];
	for (uint32_t k = 0; k <= KEYS; k++) {
		x[k] = room(COUNT);
		uint64_t key = keys[k < KEYS ? k : 0], time_ns = k < KEYS ? 0 : 1; /* the last: the same key later */
		for (uint32_t i = 0; i < COUNT; i++) {
			struct noise_sample sample = {i, i * UINT64_C(1000000) + time_ns, 1e-3};
			x[k][i] = noise_apply(&signal, key, &sample, NULL, 0);
		}
		is_normal(x[k], COUNT, 0, 1);
		is_white(x[k], COUNT);
		for (uint32_t j = 0; j < k; j++)
			near(correlation(x[k], x[j], COUNT), 0, 5 / sqrt(COUNT));
	}
	for (uint32_t k = 0; k <= KEYS; k++)
		free(x[k]);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static void draw(const struct sdf_signal *signal, uint64_t key, double value, double *x, uint32_t count)
{
	struct noise_cache cache = {0};
	for (uint32_t i = 0; i < count; i++) {
		struct noise_sample sample = at(i);
		x[i] = noise_apply(signal, key, &sample, &cache, value);
	}
}

Test(noise, without_noise_and_limits_a_value_is_itself)
{
	const struct sdf_signal none = noise_open((struct sdf_noise){.mean = 3, .stddev = 1, .bias_mean = 5});
	struct noise_sample sample = at(4);
	cr_assert_not(noise_matters(&none));
	cr_assert_eq(noise_apply(&none, 1, &sample, NULL, 1.25), 1.25);
}

Test(noise, gaussian)
{
	const struct sdf_signal signal =
		noise_open((struct sdf_noise){.kind = SDF_NOISE_GAUSSIAN, .mean = 0.5, .stddev = 2, .precision = 10});
	double *x = room(MANY);
	draw(&signal, noise_key(1, 2, 3, 0), 10, x, MANY);
	is_normal(x, MANY, 10.5, 2);
	is_white(x, MANY);
	for (uint32_t i = 0; i < 100; i++) /* precision is for the quantized kind only */
		cr_assert_neq(x[i], 10 * round(x[i] / 10));
	free(x);
}

/* Rounding adds the variance of an even distribution over a step. */
Test(noise, gaussian_quantized)
{
	const struct sdf_signal signal = noise_open(
		(struct sdf_noise){.kind = SDF_NOISE_QUANTIZED, .mean = 0.5, .stddev = 2, .precision = 0.25});
	double *x = room(MANY);
	draw(&signal, noise_key(1, 2, 3, 0), 10.1, x, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(x[i] * 4, floor(x[i] * 4));
	is_normal(x, MANY, 10.6, sqrt(4 + 0.25 * 0.25 / 12));
	is_white(x, MANY);
	free(x);
}

Test(noise, precision_without_deviation_rounds_half_away_from_zero)
{
	const struct sdf_signal signal = noise_open((struct sdf_noise){.kind = SDF_NOISE_QUANTIZED, .precision = 0.5});
	struct noise_sample sample = at(0);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, 1.2), 1);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, 1.25), 1.5);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, -1.25), -1.5);
}

Test(noise, resolution_and_limits_hold_for_each_kind)
{
	struct sdf_signal signal = {.noise = {.kind = SDF_NOISE_NONE}, .min = 0.25, .max = 8.05, .resolution = 0.1};
	struct noise_sample sample = at(0);
	cr_assert(noise_matters(&signal));
	near(noise_apply(&signal, 1, &sample, NULL, 3.14159), 3.1, 1e-12);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, 0.1), 0.25);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, 9), 8.05);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, INFINITY), INFINITY);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, -INFINITY), -INFINITY);
	cr_assert(isnan(noise_apply(&signal, 1, &sample, NULL, (double)NAN)));
	signal.noise = (struct sdf_noise){.kind = SDF_NOISE_GAUSSIAN, .stddev = 10};
	uint32_t low = 0, high = 0;
	for (uint32_t i = 0; i < 10000; i++) {
		sample = at(i);
		double x = noise_apply(&signal, 1, &sample, NULL, 4);
		cr_assert(x >= 0.25 && x <= 8.05);
		cr_assert(x == 0.25 || x == 8.05 || fabs(x * 10 - round(x * 10)) < 1e-9);
		low += x == 0.25;
		high += x == 8.05;
	}
	near(low, 10000 * 0.5 * erfc(0.38 / sqrt(2)), 250);
	near(high, 10000 * 0.5 * erfc(0.405 / sqrt(2)), 250);
	cr_assert_eq(noise_apply(&signal, 1, &sample, NULL, INFINITY), INFINITY);
}

Test(noise, rays_of_a_sample_share_the_bias_and_nothing_else)
{
	enum { RAYS = 100000 };
	const struct sdf_signal signal = noise_open((struct sdf_noise){
		.kind = SDF_NOISE_GAUSSIAN, .stddev = 0.5, .bias_mean = 3, .walk_stddev = 1, .walk_time_s = 10});
	uint64_t key = noise_key(9, 8, 7, 6);
	struct noise_sample sample = at(5000);
	double *x = room(RAYS), *pieces = room(RAYS);
	float *floats = calloc(RAYS, sizeof *floats);
	noise_apply_many(&signal, key, &sample, NULL, 0, x, RAYS);
	is_normal(x, RAYS, noise_bias(&signal.noise, key, &sample, NULL), 0.5);
	is_white(x, RAYS);
	cr_assert_eq(x[0], noise_apply(&signal, key, &sample, NULL, 0));
	noise_apply_many(&signal, key, &sample, NULL, 0, pieces, 12345);
	noise_apply_many(&signal, key, &sample, NULL, 12345, pieces + 12345, RAYS - 12345);
	cr_assert_eq(memcmp(x, pieces, RAYS * sizeof *x), 0);
	noise_apply_floats(&signal, key, &sample, 0, floats, RAYS);
	for (uint32_t i = 0; i < RAYS; i++)
		cr_assert_eq(floats[i], (float)x[i]);
	sample = at(5001);
	noise_apply_many(&signal, key, &sample, NULL, 0, memset(pieces, 0, RAYS * sizeof *pieces), RAYS);
	near(correlation(x, pieces, RAYS), 0, 5 / sqrt(RAYS));
	free(x);
	free(pieces);
	free(floats);
}

/* --- the bias ----------------------------------------------------------------------------------------------------- */

Test(noise, a_constant_bias_has_its_distribution_and_a_random_sign)
{
	enum { SENSORS = 200000 };
	const struct sdf_noise noise = {.kind = SDF_NOISE_GAUSSIAN, .bias_mean = 3, .bias_stddev = 0.5};
	double *x = room(SENSORS), *sign = room(SENSORS);
	uint32_t negative = 0;
	struct noise_sample first = at(0), later = at(12345);
	for (uint32_t i = 0; i < SENSORS; i++) {
		uint64_t key = noise_key(4, i, 0, 0);
		double bias = noise_bias(&noise, key, &first, NULL);
		cr_assert_eq(noise_bias(&noise, key, &later, NULL), bias);
		negative += bias < 0;
		x[i] = fabs(bias);
		sign[i] = bias < 0 ? -1 : 1;
	}
	is_normal(x, SENSORS, 3, 0.5);
	near(negative, SENSORS / 2.0, 5 * sqrt(SENSORS) / 2);
	near(correlation(x, sign, SENSORS), 0, 5 / sqrt(SENSORS));
	free(x);
	free(sign);
}

#define WALK(stddev, time)                                                                                             \
	((struct sdf_noise){.kind = SDF_NOISE_GAUSSIAN, .bias_mean = 2, .walk_stddev = (stddev), .walk_time_s = (time)})

/* Over many walks: mean and variance at single times, reached without the samples before. */
Test(noise, the_walk_spreads_as_kalibr_has_it)
{
	enum { WALKS = 20000 };
	static const uint64_t samples[] = {0, 1, 2, 3, 100, 1000, 1023, 65536, 3599999, UINT64_C(1) << 62, INT64_MAX};
	const struct sdf_noise noise = WALK(0.3, 40);
	double *x = room(WALKS);
	for (uint32_t s = 0; s < ARRAY_LEN(samples); s++) {
		double t = (double)samples[s] * 1e-3, variance = 0.3 * 0.3 * 40 / 2 * -expm1(-2 * t / 40);
		struct noise_sample sample = at(samples[s]);
		for (uint32_t i = 0; i < WALKS; i++) {
			uint64_t key = noise_key(3, i, 0, 0);
			struct noise_sample zero = at(0);
			double sign = noise_bias(&noise, key, &zero, NULL) < 0 ? -1 : 1;
			x[i] = noise_bias(&noise, key, &sample, NULL) - sign * 2 * exp(-t / 40);
		}
		if (samples[s])
			is_normal(x, WALKS, 0, sqrt(variance));
		else
			cr_assert_eq(x[0], 0);
	}
	free(x);
}

/* The sharpest test of the joint distribution: an hour at 1000 Hz, sample by sample, must be a chain whose innovations
 * are white, normal, of the deviation in Kalibr's formula, and independent of the bias before. */
static void is_chain(const struct sdf_noise *noise, double period_s)
{
	enum { HOUR = 3600000 };
	double *bias = room(HOUR), *drive = room(HOUR - 1);
	struct noise_cache cache = {0};
	for (uint32_t i = 0; i < HOUR; i++) {
		struct noise_sample sample = {i, i, period_s};
		bias[i] = noise_bias(noise, 5, &sample, &cache);
	}
	double f = exp(-period_s / noise->walk_time_s);
	double deviation =
		noise->walk_stddev * sqrt(-noise->walk_time_s / 2 * expm1(-2 * period_s / noise->walk_time_s));
	for (uint32_t i = 0; i + 1 < HOUR; i++)
		drive[i] = (bias[i + 1] - f * bias[i]) / deviation;
	is_normal(drive, HOUR - 1, 0, 1);
	is_white(drive, HOUR - 1);
	near(correlation(drive, bias, HOUR - 1), 0, 5 / sqrt(HOUR));
	/* innovations at the middles of large and of small intervals */
	for (uint32_t level = 0; level < 8; level++) {
		uint32_t count = 0;
		double *some = room(HOUR);
		for (uint32_t i = 1u << level; i + 1 < HOUR; i += 2u << level)
			some[count++] = drive[i - 1];
		is_normal(some, count, 0, 1);
		free(some);
	}
	free(bias);
	free(drive);
}

Test(noise, an_hour_of_the_walk_is_the_chain_of_kalibr)
{
	is_chain(&WALK(0.3, 40), 1e-3);
	is_chain(&WALK(1e-5, 1e6), 1e-3); /* nearly a random walk */
	is_chain(&WALK(2, 1e-3), 1e-3);   /* nearly white */
}

/* Correlation of samples that are far apart: exp(-lag / T). Effective number of samples: about an hour / 2 T. */
Test(noise, the_walk_forgets_with_its_time)
{
	enum { HOUR = 3600000 };
	const struct sdf_noise noise = WALK(0.3, 0.5);
	static const uint32_t lags[] = {1, 10, 100, 250, 500, 1000, 2000};
	double *bias = room(HOUR);
	struct noise_cache cache = {0};
	for (uint32_t i = 0; i < HOUR; i++) {
		struct noise_sample sample = at(i + 10000);
		bias[i] = noise_bias(&noise, 6, &sample, &cache);
	}
	near(moments_of(bias, HOUR).variance, 0.3 * 0.3 * 0.5 / 2, 5 * 0.3 * 0.3 * 0.5 / 2 * sqrt(2 / 3600.0));
	for (uint32_t l = 0; l < ARRAY_LEN(lags); l++)
		near(correlation(bias, bias + lags[l], HOUR - lags[l]), exp(-1e-3 * lags[l] / 0.5),
			5 * sqrt(1 / 3600.0));
	free(bias);
}

static uint64_t bits(double value)
{
	uint64_t word;
	memcpy(&word, &value, sizeof word);
	return word;
}

/* Forward, backward, in leaps; one cache for several signals. */
Test(noise, a_cache_changes_no_bit)
{
	const struct sdf_noise noises[] = {WALK(0.3, 40), WALK(0.3, 41), WALK(0.4, 40)};
	struct noise_cache cache = {0}, shared = {0};
	uint64_t index = 0;
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t draw = hash_mix(i, i);
		switch (draw >> 61) {
		case 0:
			index = hash_mix(draw, 1) >> 1;
			break;
		case 1:
			index = hash_mix(draw, 1) >> (1 + (draw & 63) % 62);
			break;
		case 2:
			index -= index > 0;
			break;
		case 3:
			break;
		default:
			index += index < INT64_MAX;
		}
		struct noise_sample sample = at(index);
		sample.period_s = i % 11 ? 1e-3 : 2e-3;
		double plain = noise_bias(&noises[0], 1, &sample, NULL);
		cr_assert_eq(bits(plain), bits(noise_bias(&noises[0], 1, &sample, &cache)), "sample %llu, call %u",
			(unsigned long long)index, i);
		const struct sdf_noise *other = &noises[i / 3 % ARRAY_LEN(noises)];
		uint64_t key = i / 7 % 3;
		cr_assert_eq(
			bits(noise_bias(other, key, &sample, NULL)), bits(noise_bias(other, key, &sample, &shared)));
	}
	struct noise_sample last = at(INT64_MAX);
	cr_assert_eq(bits(noise_bias(&noises[0], 1, &last, NULL)), bits(noise_bias(&noises[0], 1, &last, &cache)));
}

/* --- the bits ----------------------------------------------------------------------------------------------------- */

/* They are a part of what a run promises: the same seed has the same readings in each version. */
Test(noise, golden_bits)
{
	const struct sdf_signal signal = {
		.noise = {SDF_NOISE_QUANTIZED, 0.1, 0.7, 2, 0.3, 0.05, 300, 1e-3}, .min = -100, .max = 100};
	uint64_t hash = 1, key = noise_key(42, 7, 2, 5);
	for (uint64_t i = 0; i < 2000; i++) {
		struct noise_sample sample = at(i * i);
		hash = hash_mix(hash ^ bits(noise_normal(key, i * i * i)), 3);
		hash = hash_mix(hash ^ bits(noise_bias(&signal.noise, key, &sample, NULL)), 3);
		hash = hash_mix(hash ^ bits(noise_apply(&signal, key, &sample, NULL, 1.5)), 3);
	}
	cr_assert_eq(hash, UINT64_C(0xca4792c024c2a2fe), "the noise is %016llx", (unsigned long long)hash);
}
