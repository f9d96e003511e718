/* Random numbers of tests. A draw changes the state, which is the seed to begin with, and is a function of the state
 * alone: the same seed gives the same test on each machine. The generator of worlds has numbers of its own, because the
 * seeds of worlds that failed are kept (determinism/random/dice.h). */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include "base/hash.h"
#include "geom/geom.h"

static inline uint64_t random_bits(uint64_t *state)
{
	return *state = hash_mix(*state, UINT64_C(0x9e3779b97f4a7c15));
}

/* A number from 0 to limit - 1; 0 if the limit is 0. */
static inline uint64_t random_below64(uint64_t *state, uint64_t limit)
{
	uint64_t bits = random_bits(state);
	return limit ? bits % limit : 0;
}

static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)random_below64(state, limit);
}

/* From low to high, high excluded. */
static inline double random_between(uint64_t *state, double low, double high)
{
	return low + (high - low) * ((double)(random_bits(state) >> 11) * 0x1p-53);
}

static inline double random_unit(uint64_t *state)
{
	return random_between(state, 0, 1);
}

/* Each coordinate is from -size to size. */
static inline struct vec3 random_vec3(uint64_t *state, double size)
{
	double x = random_between(state, -size, size), y = random_between(state, -size, size);
	return (struct vec3){x, y, random_between(state, -size, size)};
}

#endif
