/* Which secondary gets each model and level, and what changes for each secondary: from levels and models that exist
 * (run/loading.h) and pairs that count (run/pairs.h), by the table of ownership and its policy.
 *
 * Effects: its own fields only. No bit of a state depends on them. Reads scene, and of struct shared tracker,
 * costs and touch.pairs.
 *
 * Thread: the primary's, between steps. Allocates only when something changes. */
#ifndef RUN_PLACEMENT_H
#define RUN_PLACEMENT_H

#include "run/ghosts.h"
#include "run/loading.h"
#include "run/ownership.h"
#include "run/step.h"

enum {
	PLACEMENT_MEASURE_STEPS = 16,  /* costs are measured once in so many steps */
	PLACEMENT_BALANCE_STEPS = 64,  /* after so many steps changed costs alone are a reason to ask the policy */
	PLACEMENT_HORIZON_STEPS = 512, /* steps for which a gain is expected to last */
	PLACEMENT_MOVE_NS = 20000,     /* cost of moving a model; bench_moves measures it */
};

enum placement_event_kind {
	PLACEMENT_MOVE,
	PLACEMENT_LOAD,
	PLACEMENT_UNLOAD,
	PLACEMENT_GHOST_ON,
	PLACEMENT_GHOST_OFF,
	PLACEMENT_SHARE, /* as MOVE, but only because another number of secondaries shares the work from this step on */
};

struct placement_event {
	enum placement_event_kind kind;
	uint32_t id;       /* model; of LOAD and UNLOAD: level */
	uint32_t from, to; /* secondaries; LOAD, UNLOAD and GHOST use `to` only */
};

struct placement {
	const struct shared *shared;
	const struct scene *scene;
	uint32_t secondaries; /* secondaries that share the work now */
	uint32_t most;        /* secondaries that exist */
	const struct assign_policy *policy;
	bool measure; /* measure costs even if the policy does not use them */
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves; /* random components moved in each step; 0: one, in one step of four */
	uint32_t window;      /* the caller's: steps that are decided together; 0: one */

	struct ownership ownership;
	struct ghosts ghosts;
	uint32_t *model_pin, *level_pin; /* [room], [level_count] ASSIGN_NONE: any secondary */
	bool pinned;                     /* a model or level is pinned, or was */

	/* answers of the last placement_step() */
	VEC(struct change) changes;
	VEC(struct placement_event) events;
	struct step_part *parts; /* [most] with the pairs of each secondary; the primary fills in the commands */
	uint64_t moves;          /* moves of movers and strays, so far */
	uint64_t shares;         /* how often the number of secondaries has changed so far */
	bool shares_anew;        /* it changes in this step */
	uint64_t meetings;       /* pairs that began between models whose first secondaries differ */
	uint32_t *first;         /* [room] the first secondary of each model */
	/* Steps in which a model or level came or went, or a performer crossed a border, so far. */
	uint64_t epoch;

	/* private */
	uint32_t room;             /* of the arrays by model */
	physics_pairs pairs, near; /* by secondary, then (a, b) */
	uint32_t *counts, *places; /* [most] scratch: pairs of each secondary */
	bool pairs_dirty;
	bool marked; /* since the last step: see epoch */
	uint32_t body_cost;    /* ns, from the bodies that have been measured */
	uint64_t balance_from; /* from this step on costs alone are a reason to ask the policy */
};

/* Nothing is assigned, and nothing marked: see placement_reset(). */
void placement_init(struct placement *placement, const struct shared *shared, uint32_t secondaries,
	const struct assign_policy *policy);
void placement_fini(struct placement *placement);
/* The scene has room for more models. */
void placement_fit(struct placement *placement);
/* Shares the work out anew among secondaries 1 .. count, as at the start. count is at most `most`. */
void placement_use(struct placement *placement, uint32_t count);
/* Drops all pairs and looks at everything again. */
void placement_reset(struct placement *placement);

/* A step in which no secondary has anything, instead of placement_step(). All is assigned anew in the step after it. */
void placement_empty(struct placement *placement, const struct loading *loading);

/* The next functions are called before a step. */
/* The pin of a model in the scene. */
void placement_learn_pin(struct placement *placement, uint32_t model);
/* The model came or went, or placement_learn_pin() found another pin. */
void placement_mark(struct placement *placement, uint32_t model);
void placement_mark_level(struct placement *placement, uint32_t level); /* loaded or unloaded */
/* The levels that a performer is in or near have changed. */
void placement_crossed(struct placement *placement, uint32_t model, bool entered);
/* Two models must be on one secondary from now on, or need not any more. */
void placement_link(struct placement *placement, uint32_t a, uint32_t b);
void placement_cut(struct placement *placement, uint32_t a, uint32_t b);
/* They may touch. */
void placement_meet(struct placement *placement, uint32_t a, uint32_t b);
/* Another model comes in this place. */
void placement_forget(struct placement *placement, uint32_t model);

/* After placement_step(): gives each secondary those of shared.touch.near that are its own; some: false: none. */
void placement_deal_near(struct placement *placement, bool some);

/* Whether costs are to be measured in step k, or in one of `window` steps from there on. */
bool placement_measures(const struct placement *placement, uint64_t k, uint32_t window);
/* --- private: a step in which nothing changed should cost next to nothing ----------------------------------------- */

static inline bool placement_balances(const struct placement *placement)
{
	return placement->policy->by_cost && placement->secondaries > 1;
}

/* Under chaos the policy is called with the whole world. A policy by cost is called from time to time, because costs
 * change without any other change. */
static inline bool placement_asks_unasked(const struct placement *placement, uint64_t k)
{
	return placement->chaos ||
	       (placement_balances(placement) && (k >= placement->balance_from || placement->ownership.all));
}

void placement_decide(struct placement *placement, const struct loading *loading, uint64_t k);

/* ------------------------------------------------------------------------------------------------------------------ */

/* Decides step k. loading: .active, .loaded and .is_mover are read. pairs_changed: shared.touch.pairs has changed since
 * the last step. */
static inline void placement_step(
	struct placement *placement, const struct loading *loading, bool pairs_changed, uint64_t k)
{
	placement->changes.count = placement->events.count = 0;
	placement->pairs_dirty |= pairs_changed;
	if (placement->pairs_dirty || placement->ownership.dirty || (placement->ghosts.dirty && placement->most > 1) ||
		placement_asks_unasked(placement, k))
		placement_decide(placement, loading, k);
}

#endif
