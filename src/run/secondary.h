/* A secondary: simulates the models it was given, one step at a time, and says what came of it. Knows no transport.
 * Thread: made, stepped and destroyed by one thread. */
#ifndef RUN_SECONDARY_H
#define RUN_SECONDARY_H

#include "run/step.h"

struct secondary;

/* number: from 1. shared outlives it. */
struct secondary *secondary_create(uint32_t number, struct shared *shared);
void secondary_destroy(struct secondary *secondary);

/* All secondaries of this world that run in this process, itself included, each made by its thread; before its first
 * step. Whoever is done with its own part of a step then works on what others have left. spins: how often to look for
 * something to do before leaving it to others; see gate_spins(). */
void secondary_join(struct secondary *secondary, struct secondary *const *mates, uint32_t spins);

/* One step. The ack stays the secondary's and is valid until its next step. */
struct ack *secondary_step(struct secondary *secondary, const struct step *step);

/* Whether the model left, in state k+1, the boxes within which nothing about it can change. */
bool secondary_strayed(const struct shared *shared, uint32_t model);

/* Between steps. */
struct physics_stats secondary_physics_stats(const struct secondary *secondary);

/* When its last step was done, by clock_now_ns(). */
uint64_t secondary_ended_ns(const struct secondary *secondary);

#endif
