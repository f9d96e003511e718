/* Random choices of the generator: a function of the seed and of the number of choices before. */
#ifndef RANDOM_DICE_H
#define RANDOM_DICE_H

#include "base/base.h"
#include "base/hash.h"

struct dice {
	uint64_t seed, count;
};

static inline uint64_t dice_roll(struct dice *dice)
{
	return hash_mix(dice->seed, ++dice->count);
}

static inline uint32_t dice_below(struct dice *dice, uint32_t limit)
{
	return (uint32_t)((dice_roll(dice) >> 32) % limit);
}

/* A number from low to high, both included. */
static inline uint32_t dice_from(struct dice *dice, uint32_t low, uint32_t high)
{
	return low + dice_below(dice, high - low + 1);
}

static inline bool dice_chance(struct dice *dice, uint32_t percent)
{
	return dice_below(dice, 100) < percent;
}

static inline double dice_between(struct dice *dice, double low, double high)
{
	return low + (high - low) * (double)dice_below(dice, 10001) / 10000;
}

static inline double dice_number(struct dice *dice, const double *numbers, size_t count)
{
	return numbers[dice_below(dice, (uint32_t)count)];
}

static inline const char *dice_string(struct dice *dice, const char *const *words, size_t count)
{
	return words[dice_below(dice, (uint32_t)count)];
}

/* One of the given numbers or words. */
#define DICE_OF(dice, ...)                                                                                             \
	dice_number((dice), (const double[]){__VA_ARGS__}, sizeof(const double[]){__VA_ARGS__} / sizeof(double))
#define DICE_WORD(dice, ...)                                                                                           \
	dice_string((dice), (const char *const[]){__VA_ARGS__},                                                        \
		sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))

#endif
