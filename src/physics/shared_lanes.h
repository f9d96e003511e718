/* Islands of several worlds side by side in the lanes of one kernel (lanes/kernel.h). One thread steps some worlds in
 * turn, each on a fiber (base/fiber.h). A world that has fewer islands of a shape than a kernel has lanes waits here,
 * in the middle of its step, until islands of others have filled the lanes, or until no other world can go on. The
 * result of a lane does not depend on its neighbours, so no bit depends on which world waits for which.
 *
 * What physics has in thread-local data is kept for each of them (ode_keep() of internal.h).
 *
 * Thread: one thread creates, uses and destroys one. The functions below "in a fiber" find it by themselves. */
#ifndef PHYSICS_SHARED_LANES_H
#define PHYSICS_SHARED_LANES_H

#include "physics/lanes/kernel.h"

#include <stdbool.h>
#include <stdint.h>

struct shared_lanes;
struct shared_batch;

enum { SHARED_LANES_FIBERS = 2 * LANES_MOST }; /* so that there are others when some wait for lanes of another shape */

/* NULL: the system gives no stacks. */
struct shared_lanes *shared_lanes_create(void);
void shared_lanes_destroy(struct shared_lanes *shared); /* NULL is fine */

/* Runs work(ctx) in so many fibers at once, at most SHARED_LANES_FIBERS, until it has returned in all of them. */
void shared_lanes_run(struct shared_lanes *shared, uint32_t fibers, void (*work)(void *ctx), void *ctx);
/* In a fiber: runs fn(ctx) on the thread's own stack, without sharing. Not in one: just runs it. */
void shared_lanes_outside(void (*fn)(void *ctx), void *ctx);

/* Whether the caller is in a fiber, others are under way with which it can share, and so many islands leave lanes of
 * the widest kernel free. */
bool shared_lanes_pay(uint32_t islands);

struct shared_islands {
	const struct lanes_shape *shape;
	const double *in;       /* groups of the shape's input: island i has lane i */
	uint32_t stride, count; /* lanes of a group, and islands */
};
/* Where the results of these islands are: field f of island i is at[f * stride + i]. */
struct shared_result {
	double *at;
	uint32_t stride;
	struct shared_batch *batch;
};

/* Where shared_lanes_pay(count): steps the islands with those of other worlds. Both arguments stay as they are
 * meanwhile. The result is valid until shared_lanes_take(), which must be called before the next wait. */
struct shared_result shared_lanes_step(const struct shared_islands *islands, const struct lanes_step *step);
void shared_lanes_take(struct shared_batch *batch);

#endif
