/* A secondary: simulates the models that it was given, one step at a time, and reports each step in an ack. Knows no
 * transport. Thread: one thread makes it, steps it and destroys it. */
#ifndef RUN_SECONDARY_H
#define RUN_SECONDARY_H

#include "run/step.h"

struct secondary;

/* number: from 1. shared outlives it. */
struct secondary *secondary_create(uint32_t number, struct shared *shared);
void secondary_destroy(struct secondary *secondary);

/* peers: all secondaries of this world in this process, by number, itself included; each is made by its thread. Call
 * it before the first step. A secondary that has finished its own part of a step then works on parts of other
 * secondaries' steps. spins: how often to look for a part before it stops looking; see eventcount_spins(). */
void secondary_set_peers(struct secondary *secondary, struct secondary *const *peers, uint32_t spins);

/* For a secondary without peers: `count` further threads of this process, without models of their own, take parts of
 * its steps; they do not spin. Call it once, between steps, on the secondary's thread. TROUPE_ELIMIT: no thread is
 * left; then the threads that could be started help. */
troupe_status secondary_start_helpers(struct secondary *secondary, uint32_t count, struct troupe_error *error);

/* One step. The ack stays the secondary's and is valid until its next step. */
struct ack *secondary_step(struct secondary *secondary, const struct step *step);

/* For a thread that wonders why a step does not end. Any thread, at any time. What the secondary does now, "the
 * physics"; NULL: no step. */
const char *secondary_doing(const struct secondary *secondary);
/* Whether the secondary has changed all that it changes of state k in step k: it has obeyed its commands. */
bool secondary_has_begun(const struct secondary *secondary, uint64_t step);

/* Between steps. */
struct physics_stats secondary_physics_stats(const struct secondary *secondary);

/* Slices of readings that were measured so far, and how many of them by a thread that is not its own. Between steps. */
struct secondary_slices {
	uint64_t all, by_others;
};
struct secondary_slices secondary_slices(const struct secondary *secondary);

/* When its last step ended, by clock_now_ns(). */
uint64_t secondary_ended_ns(const struct secondary *secondary);

#endif
