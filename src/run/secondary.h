/* A secondary: simulates the models it was given, one step at a time, and says what came of it. Knows no transport.
 * Thread: made, stepped and destroyed by one thread. */
#ifndef RUN_SECONDARY_H
#define RUN_SECONDARY_H

#include "run/step.h"

struct secondary;

/* number: from 1. shared outlives it. */
struct secondary *secondary_create(uint32_t number, struct shared *shared);
void secondary_destroy(struct secondary *secondary);

/* One step. The ack stays the secondary's and is valid until its next step. */
struct ack *secondary_step(struct secondary *secondary, const struct step *step);

/* Whether the model left, in state k+1, the boxes within which nothing about it can change. */
bool secondary_strayed(const struct shared *shared, uint32_t model);

/* Between steps. */
struct physics_stats secondary_physics_stats(const struct secondary *secondary);

#endif
