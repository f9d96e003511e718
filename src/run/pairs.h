/* Which models may touch in the coming step (law 4), which models did so lately, and which sleeping models wake because
 * the world around them changed. */
#ifndef RUN_PAIRS_H
#define RUN_PAIRS_H

#include "run/step.h"

enum { PAIRS_KEEP_STEPS = 500 };

struct recent_pair { /* a < b */
	uint32_t a, b;
	uint64_t until; /* from this step on it does not count; UINT64_MAX: they may touch now, or in the window */
	bool met;       /* they did so at the beginning of some window since they began to count */
};

enum pair_event {
	PAIR_BEGINS, /* to count */
	PAIR_MEETS,  /* they may touch now, for the first time since then */
	PAIR_ENDS,
};

struct pair_change {
	uint32_t a, b;
	enum pair_event event;
};

typedef VEC(struct recent_pair) recent_pairs;

struct pairs {
	struct shared *shared;
	recent_pairs recent;             /* that count in this step, by (a, b) */
	VEC(struct pair_change) changes; /* of `recent` since the caller last set .count to 0, in order */
	bool woken;                      /* the state of a model was written; the caller clears it */
	bool restoring;                  /* the caller's: no model is woken */
	double ahead_s; /* time of the coming window after its first step; 0: it is one step. See pairs_find() */
	bool blind;     /* the caller's: no model is expected to move in a window, so that guesses are often wrong */

	/* private */
	recent_pairs before;
	uint64_t due; /* the earliest `until` */
	bvh_values found;
};

void pairs_init(struct pairs *pairs, struct shared *shared);
void pairs_fini(struct pairs *pairs);

/* A model became active. A model without bodies is left out. */
void pairs_add(struct pairs *pairs, uint32_t model);
/* The same for several models, in ascending order, while there is no active model. */
void pairs_add_all(struct pairs *pairs, const uint32_t *models, uint32_t count);
/* A model stopped being active: wakes the models around it, and the models that a joint of the world connects to it.
 * Its pairs end with the next update. pairs_unload(): it exists in a level that is not loaded; also for such a model
 * that was not known before. */
void pairs_remove(struct pairs *pairs, uint32_t model);
void pairs_unload(struct pairs *pairs, uint32_t model);
/* There is no model any more, active or unloaded. Wakes none. */
void pairs_clear(struct pairs *pairs);
/* The same model no longer has this place: its pairs end now. */
void pairs_forget(struct pairs *pairs, uint32_t model);
/* All recent pairs are forgotten, without changes. */
void pairs_reset(struct pairs *pairs);
/* Checks whether the model has left the box in which its neighbours are known. */
void pairs_leaver(struct pairs *pairs, uint32_t model);
/* Geoms of the model were switched on or off; its new box is in shared.boxes. */
void pairs_reshaped(struct pairs *pairs, uint32_t model);

void pairs_wake(struct pairs *pairs, uint32_t model);
/* Wakes the models that reach into this box: the models under them came, went or were moved. */
void pairs_wake_in(struct pairs *pairs, const struct aabb *box);
/* Wakes all models that reach into this box and have been still for `steps`, after which they may sleep. */
void pairs_wake_sleepers(struct pairs *pairs, const struct aabb *box, uint64_t steps);
void pairs_wake_all(struct pairs *pairs);

/* Private: the part of pairs_update() for `recent`. */
void pairs_merge(struct pairs *pairs, uint64_t k);

/* Finds the pairs of the coming step, shared.touch.pairs, and the unloaded models that they reach. True: the pairs have
 * changed. */
static inline bool pairs_find(struct pairs *pairs)
{
	return touch_find(&pairs->shared->touch, pairs->shared->boxes);
}

/* After pairs_find(): finds the pairs of a window of several steps, shared.touch.near, which lasts for ahead_s after
 * its first step. True: they have changed since the last window. ahead_s = 0: the coming step is alone, and has none.
 */
bool pairs_look_ahead(struct pairs *pairs, double ahead_s);

/* Brings `recent` to step k. changed: pairs_find() or pairs_look_ahead() has found other pairs since the last call.
 * Pairs of a window count as those of a step do. */
static inline void pairs_update(struct pairs *pairs, bool changed, uint64_t k)
{
	if (changed || pairs->due <= k)
		pairs_merge(pairs, k);
}

#endif
