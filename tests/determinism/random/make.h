/* The generator: a scenario from a seed. */
#ifndef RANDOM_MAKE_H
#define RANDOM_MAKE_H

#include "part.h"

/* kind: KIND_END for the seed's own choice; another kind makes another scenario of the same seed. */
void make_scenario(struct scenario *scenario, uint64_t seed, enum scenario_kind kind);

#endif
