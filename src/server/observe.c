#define RCU_MEMBARRIER
#include "server/observe.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <urcu-bp.h>
#include <urcu-call-rcu.h>

enum { FRAMES = 4 };

struct frame {
	struct troupe_snapshot snapshot; /* first: a snapshot is its frame */
	struct rcu_head head;
	_Atomic bool out; /* set by the publisher, cleared by call_rcu()'s thread after a grace period */
	struct troupe_model_state *models;
	double *busy;
};

struct observe {
	struct frame *newest; /* written by rcu_xchg_pointer(), read under rcu_read_lock() */
	_Atomic bool wanted;  /* set by any reader, cleared by the publisher */
	struct frame frames[FRAMES];
};

struct observe *observe_create(uint32_t models, uint32_t secondaries)
{
	struct observe *observe = mem_alloc(sizeof *observe);
	for (int i = 0; i < FRAMES; i++) {
		observe->frames[i].models = mem_alloc(models * sizeof *observe->frames[i].models);
		observe->frames[i].busy = mem_alloc(secondaries * sizeof *observe->frames[i].busy);
	}
	return observe;
}

void observe_destroy(struct observe *observe)
{
	if (!observe)
		return;
	rcu_barrier(); /* no frame is still on its way back */
	for (int i = 0; i < FRAMES; i++) {
		free(observe->frames[i].models);
		free(observe->frames[i].busy);
	}
	free(observe);
}

bool observe_wanted(const struct observe *observe)
{
	return atomic_load_explicit(&observe->wanted, memory_order_relaxed);
}

struct troupe_snapshot *observe_begin(struct observe *observe, struct troupe_model_state **ret_models,
	double **ret_busy)
{
	for (int i = 0; i < FRAMES; i++) {
		struct frame *frame = &observe->frames[i];
		/* acquire: pairs with the release in frame_back(), so that no reader is left in it */
		if (atomic_load_explicit(&frame->out, memory_order_acquire))
			continue;
		*ret_models = frame->models;
		*ret_busy = frame->busy;
		frame->snapshot.models = frame->models;
		frame->snapshot.busy = frame->busy;
		return &frame->snapshot;
	}
	return NULL;
}

static void frame_back(struct rcu_head *head)
{
	struct frame *frame = caa_container_of(head, struct frame, head);
	atomic_store_explicit(&frame->out, false, memory_order_release);
}

void observe_publish(struct observe *observe, struct troupe_snapshot *snapshot)
{
	struct frame *frame = (struct frame *)(void *)snapshot;
	atomic_store_explicit(&frame->out, true, memory_order_relaxed);
	atomic_store_explicit(&observe->wanted, false, memory_order_relaxed);
	struct frame *old = rcu_xchg_pointer(&observe->newest, frame);
	if (old)
		call_rcu(&old->head, frame_back);
}

void observe_read(struct observe *observe, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx)
{
	atomic_store_explicit(&observe->wanted, true, memory_order_relaxed);
	rcu_read_lock();
	const struct frame *frame = rcu_dereference(observe->newest);
	if (frame)
		fn(ctx, &frame->snapshot);
	rcu_read_unlock();
}
