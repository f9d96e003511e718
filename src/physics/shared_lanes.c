/* A batch is open from the first islands that come until its lanes are full: then the fiber that filled them steps it.
 * When all fibers wait, the thread steps all open batches, however few islands they have. To step only the fullest one
 * would let the world with a rare shape wait until it is the last, and then it takes its steps alone. */
#include "physics/shared_lanes.h"

#include "base/base.h"
#include "base/fiber.h"
#include "physics/exact_internal.h"

#include <stdlib.h>

struct shared_batch {
	const struct lanes_shape *shape; /* of the islands that came first, while it is open */
	struct lanes_step step;
	const double *in[LANES_MOST]; /* of each lane that is taken: its first field, and the lanes beside it there */
	uint32_t in_stride[LANES_MOST];
	uint32_t taken;   /* lanes */
	uint32_t waiting; /* fibers that have not called shared_lanes_take() */
	uint32_t stride;  /* of the result */
	struct exact_memory out;
	bool stepped;
};

enum shared_state { SHARED_IDLE, SHARED_GOES_ON, SHARED_WAITS, SHARED_CALLS_OUT };

struct shared_fiber {
	struct fiber *fiber;
	enum shared_state state;
	const struct shared_batch *batch; /* for which it waits */
	void (*out)(void *ctx);           /* what it calls on the thread's stack */
	void *out_ctx;
};

struct shared_lanes {
	const struct lanes_kernel *kernel; /* with the most lanes */
	struct shared_fiber fibers[SHARED_LANES_FIBERS], *now;
	uint32_t busy; /* fibers that have begun and not ended */
	VEC(struct shared_batch *) open;
	VEC(struct shared_batch *) spare;
	struct exact_memory work; /* of the kernels */
};

static _Thread_local struct shared_lanes *shared_lanes_now; /* while a fiber runs */

struct shared_lanes *shared_lanes_create(void)
{
	struct shared_lanes *shared = mem_alloc(sizeof *shared);
	shared->kernel = lanes_kernel_best();
	for (uint32_t i = 0; i < SHARED_LANES_FIBERS; i++) {
		shared->fibers[i].fiber = fiber_create();
		if (shared->fibers[i].fiber)
			continue;
		shared_lanes_destroy(shared);
		return NULL;
	}
	return shared;
}

void shared_lanes_destroy(struct shared_lanes *shared)
{
	if (!shared)
		return;
	for (uint32_t i = 0; i < SHARED_LANES_FIBERS; i++)
		fiber_destroy(shared->fibers[i].fiber);
	for (uint32_t i = 0; i < shared->spare.count; i++) {
		free(shared->spare.at[i]->out.at);
		free(shared->spare.at[i]);
	}
	vec_free(&shared->open);
	vec_free(&shared->spare);
	free(shared->work.at);
	free(shared);
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

/* Lanes without an island get that of the first. */
static void shared_lanes_gather(struct shared_batch *batch)
{
	const uint32_t lanes = batch->stride;
	for (uint32_t l = 0; l < lanes; l++) {
		const double *from = batch->in[l < batch->taken ? l : 0];
		const uint32_t stride = batch->in_stride[l < batch->taken ? l : 0];
		double *to = batch->out.at + l;
		for (size_t i = 0; i < batch->shape->in_count; i++)
			to[i * lanes] = from[i * stride];
	}
}

static void shared_lanes_close(struct shared_lanes *shared, struct shared_batch *batch)
{
	const struct lanes_kernel *kernel = lanes_kernel_narrowest(shared->kernel, batch->taken);
	uint32_t at = 0;
	while (shared->open.at[at] != batch)
		at++;
	shared->open.at[at] = shared->open.at[--shared->open.count];
	batch->stride = kernel->lanes;
	(void)exact_fit(&batch->out, batch->shape->batch_count, kernel->lanes);
	shared_lanes_gather(batch);
	kernel->step(batch->shape, &batch->step, batch->out.at,
		exact_fit(&shared->work, batch->shape->work_count, kernel->lanes));
	batch->stepped = true;
}

static bool shared_lanes_suits(
	const struct shared_batch *batch, const struct lanes_shape *shape, const struct lanes_step *step)
{
	return batch->step.dt == step->dt && batch->step.erp == step->erp && batch->step.rounds == step->rounds &&
	       lanes_key_is_equal(batch->shape->key, shape->key);
}

static struct shared_batch *shared_lanes_open(
	struct shared_lanes *shared, const struct lanes_shape *shape, const struct lanes_step *step)
{
	struct shared_batch *batch =
		shared->spare.count ? shared->spare.at[--shared->spare.count] : mem_alloc(sizeof *batch);
	batch->shape = shape;
	batch->step = *step;
	batch->taken = batch->waiting = 0;
	batch->stepped = false;
	vec_push(&shared->open, batch);
	return batch;
}

/* One with room for so many islands. */
static struct shared_batch *shared_lanes_find(
	struct shared_lanes *shared, const struct shared_islands *islands, const struct lanes_step *step)
{
	for (uint32_t i = 0; i < shared->open.count; i++) {
		struct shared_batch *batch = shared->open.at[i];
		if (!shared_lanes_suits(batch, islands->shape, step))
			continue;
		if (batch->taken + islands->count <= shared->kernel->lanes)
			return batch;
		shared_lanes_close(shared, batch);
		break;
	}
	return shared_lanes_open(shared, islands->shape, step);
}

/* --- fibers ------------------------------------------------------------------------------------------------------- */

static void shared_lanes_wait(struct shared_lanes *shared, enum shared_state state)
{
	struct ode_kept kept = ode_keep();
	shared->now->state = state;
	fiber_yield();
	ode_restore(&kept);
}

/* Whether the fiber has gone on. */
static bool shared_lanes_resume(
	struct shared_lanes *shared, struct shared_fiber *fiber, void (*work)(void *), void *ctx)
{
	if (fiber->state == SHARED_IDLE || (fiber->state == SHARED_WAITS && !fiber->batch->stepped))
		return false;
	if (fiber->state == SHARED_CALLS_OUT)
		fiber->out(fiber->out_ctx);
	fiber->state = SHARED_GOES_ON;
	shared->now = fiber;
	shared_lanes_now = shared;
	if (fiber_resume(fiber->fiber, work, ctx)) {
		fiber->state = SHARED_IDLE;
		shared->busy--;
	}
	shared_lanes_now = NULL;
	return true;
}

void shared_lanes_run(struct shared_lanes *shared, uint32_t fibers, void (*work)(void *ctx), void *ctx)
{
	for (uint32_t i = 0; i < fibers; i++)
		shared->fibers[i].state = SHARED_GOES_ON;
	for (shared->busy = fibers; shared->busy;) {
		bool some = false;
		for (uint32_t i = 0; i < fibers; i++)
			some |= shared_lanes_resume(shared, &shared->fibers[i], work, ctx);
		while (!some && shared->open.count)
			shared_lanes_close(shared, shared->open.at[0]);
	}
}

void shared_lanes_outside(void (*fn)(void *ctx), void *ctx)
{
	struct shared_lanes *shared = shared_lanes_now;
	if (!shared) {
		fn(ctx);
		return;
	}
	shared->now->out = fn;
	shared->now->out_ctx = ctx;
	shared_lanes_wait(shared, SHARED_CALLS_OUT);
}

bool shared_lanes_pay(uint32_t islands)
{
	return shared_lanes_now && shared_lanes_now->busy > 1 && islands < shared_lanes_now->kernel->lanes;
}

struct shared_result shared_lanes_step(const struct shared_islands *islands, const struct lanes_step *step)
{
	struct shared_lanes *shared = shared_lanes_now;
	struct shared_batch *batch = shared_lanes_find(shared, islands, step);
	const uint32_t first = batch->taken;
	for (uint32_t i = 0; i < islands->count; i++) {
		batch->in[first + i] = islands->in + i;
		batch->in_stride[first + i] = islands->stride;
	}
	batch->taken += islands->count;
	batch->waiting++;
	shared->now->batch = batch;
	if (batch->taken == shared->kernel->lanes)
		shared_lanes_close(shared, batch);
	else
		shared_lanes_wait(shared, SHARED_WAITS);
	return (struct shared_result){batch->out.at + first, batch->stride, batch};
}

void shared_lanes_take(struct shared_batch *batch)
{
	if (!--batch->waiting)
		vec_push(&shared_lanes_now->spare, batch);
}
