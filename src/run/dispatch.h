/* Which secondary gets each model and level, and what changes for each secondary: from levels and models that exist
 * (run/loading.h) and pairs that count (run/pairs.h), by the roster and its policy.
 *
 * Effects: its own fields only. No bit of a state depends on them. Reads scene, and of struct shared tracker,
 * costs and touch.pairs.
 *
 * Thread: the primary's, between steps. Allocates only when something changes. */
#ifndef RUN_DISPATCH_H
#define RUN_DISPATCH_H

#include "run/ghosts.h"
#include "run/loading.h"
#include "run/roster.h"
#include "run/step.h"

enum {
	DISPATCH_MEASURE_STEPS = 16,  /* costs are measured once in so many steps */
	DISPATCH_BALANCE_STEPS = 64,  /* after so many steps changed costs alone are a reason to ask the policy */
	DISPATCH_HORIZON_STEPS = 512, /* steps for which a gain is expected to last */
	DISPATCH_MOVE_NS = 20000,     /* cost of moving a model; bench_moves measures it */
};

enum dispatch_event_kind {
	DISPATCH_MOVE,
	DISPATCH_LOAD,
	DISPATCH_UNLOAD,
	DISPATCH_GHOST_ON,
	DISPATCH_GHOST_OFF,
	DISPATCH_SHARE, /* as MOVE, but only because another number of secondaries shares the work from this step on */
};

struct dispatch_event {
	enum dispatch_event_kind kind;
	uint32_t id;       /* model; of LOAD and UNLOAD: level */
	uint32_t from, to; /* secondaries; LOAD, UNLOAD and GHOST use `to` only */
};

struct dispatch {
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

	struct roster roster;
	struct ghosts ghosts;
	uint32_t *model_pin, *level_pin; /* [room], [level_count] ASSIGN_NONE: any secondary */
	bool pinned;                     /* a model or level is pinned, or was */

	/* answers of the last dispatch_step() */
	VEC(struct change) changes;
	VEC(struct dispatch_event) events;
	struct step_part *parts; /* [most] with the pairs of each secondary; the primary fills in the commands */
	uint64_t moves;          /* moves of movers and strays, so far */
	uint64_t shares;         /* how often the number of secondaries has changed so far */
	bool shares_anew;        /* it changes in this step */
	uint64_t meetings;       /* pairs that began between models whose first secondaries differ */
	uint32_t *first;         /* [room] the first secondary of each model */

	/* private */
	uint32_t room;             /* of the arrays by model */
	physics_pairs pairs, near; /* by secondary, then (a, b) */
	uint32_t *counts, *places; /* [most] scratch: pairs of each secondary */
	bool pairs_dirty;
	uint32_t body_cost;    /* ns, from the bodies that have been measured */
	uint64_t balance_from; /* from this step on costs alone are a reason to ask the policy */
};

/* Nothing is assigned, and nothing marked: see dispatch_reset(). */
void dispatch_init(struct dispatch *dispatch, const struct shared *shared, uint32_t secondaries,
	const struct assign_policy *policy);
void dispatch_fini(struct dispatch *dispatch);
/* The scene has room for more models. */
void dispatch_fit(struct dispatch *dispatch);
/* Shares the work out anew among secondaries 1 .. count, as at the start. count is at most `most`. */
void dispatch_use(struct dispatch *dispatch, uint32_t count);
/* Drops all pairs and looks at everything again. */
void dispatch_reset(struct dispatch *dispatch);

/* A step in which no secondary has anything, instead of dispatch_step(). All is assigned anew in the step after it. */
void dispatch_empty(struct dispatch *dispatch, const struct loading *loading);

/* The next functions are called before a step. */
/* The pin of a model in the scene. */
void dispatch_learn_pin(struct dispatch *dispatch, uint32_t model);
/* The model came or went, or dispatch_learn_pin() found another pin. */
void dispatch_mark(struct dispatch *dispatch, uint32_t model);
void dispatch_mark_level(struct dispatch *dispatch, uint32_t level); /* loaded or unloaded */
/* The levels that a performer is in or near have changed. */
void dispatch_crossed(struct dispatch *dispatch, uint32_t model, bool entered);
/* Two models must be on one secondary from now on, or need not any more. */
void dispatch_link(struct dispatch *dispatch, uint32_t a, uint32_t b);
void dispatch_cut(struct dispatch *dispatch, uint32_t a, uint32_t b);
/* They may touch. */
void dispatch_meet(struct dispatch *dispatch, uint32_t a, uint32_t b);
/* Another model comes in this place. */
void dispatch_forget(struct dispatch *dispatch, uint32_t model);

/* After dispatch_step(): gives each secondary those of shared.touch.near that are its own; some: false: none. */
void dispatch_deal_near(struct dispatch *dispatch, bool some);

/* Whether costs are to be measured in step k, or in one of `window` steps from there on. */
bool dispatch_measures(const struct dispatch *dispatch, uint64_t k, uint32_t window);
/* --- private: a step in which nothing changed should cost next to nothing ----------------------------------------- */

static inline bool dispatch_balances(const struct dispatch *dispatch)
{
	return dispatch->policy->by_cost && dispatch->secondaries > 1;
}

/* Under chaos the policy is called with the whole world. A policy by cost is called from time to time, because costs
 * change without any other change. */
static inline bool dispatch_asks_unasked(const struct dispatch *dispatch, uint64_t k)
{
	return dispatch->chaos ||
	       (dispatch_balances(dispatch) && (k >= dispatch->balance_from || dispatch->roster.all));
}

void dispatch_decide(struct dispatch *dispatch, const struct loading *loading, uint64_t k);

/* ------------------------------------------------------------------------------------------------------------------ */

/* Decides step k. loading: .active, .loaded and .is_mover are read. pairs_changed: shared.touch.pairs has changed since
 * the last step. */
static inline void dispatch_step(
	struct dispatch *dispatch, const struct loading *loading, bool pairs_changed, uint64_t k)
{
	dispatch->changes.count = dispatch->events.count = 0;
	dispatch->pairs_dirty |= pairs_changed;
	if (dispatch->pairs_dirty || dispatch->roster.dirty || (dispatch->ghosts.dirty && dispatch->most > 1) ||
		dispatch_asks_unasked(dispatch, k))
		dispatch_decide(dispatch, loading, k);
}

#endif
