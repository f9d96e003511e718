/* Plans the coming step from state k: which levels are loaded, which models exist, which models may touch, which
 * secondary gets each model and level, and what changes for each secondary. Decides by calling the tracker, touch and
 * the assignment policy. Changes its own arrays, the boxes and cost_ns of struct shared, and in state k the still word
 * of models that it wakes.
 *
 * Thread: the primary's, between steps. Allocates only when something changes. */
#ifndef RUN_PLAN_H
#define RUN_PLAN_H

#include "base/pack.h"
#include "run/ghosts.h"
#include "run/roster.h"
#include "run/step.h"

enum {
	PLAN_KEEP_STEPS = 500,    /* for the assignment, models count as touching this long after they touched */
	PLAN_MEASURE_STEPS = 16,  /* costs are measured once in so many steps */
	PLAN_BALANCE_STEPS = 64,  /* after so many steps changed costs alone are a reason to ask the policy */
	PLAN_HORIZON_STEPS = 512, /* steps for which a gain is expected to last */
	PLAN_MOVE_NS = 20000,     /* cost of moving a model; bench_moves measures it */
	PLAN_BODY_NS = 3000,      /* guessed cost of a body while nothing has been measured */
};

enum plan_event_kind { PLAN_MOVE, PLAN_LOAD, PLAN_UNLOAD, PLAN_GHOST_ON, PLAN_GHOST_OFF };

struct plan_event {
	enum plan_event_kind kind;
	uint32_t id;       /* model; of LOAD and UNLOAD: level */
	uint32_t from, to; /* secondaries; LOAD, UNLOAD and GHOST use `to` only */
};

struct plan_contact { /* a < b */
	uint32_t a, b;
	uint64_t until; /* from this step on it does not count; UINT64_MAX: touching now */
};

struct plan {
	struct shared *shared;
	const struct scene *scene;
	uint32_t secondaries; /* secondaries that share the work now */
	uint32_t most;        /* secondaries that exist */
	const struct assign_policy *policy;
	bool measure; /* measure costs even if the policy does not ask */
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves; /* random components moved in each step; 0: one, in one step of four */

	uint32_t room; /* of the arrays that are indexed by model */

	/* state: functions of the states so far; they do not depend on the assignment */
	bool *loaded;         /* [level_count] */
	bool *active;         /* [model_count] dynamic models and performers that exist */
	uint32_t *statics;    /* [model_count] static models that exist: see physics_set_statics() */
	uint32_t placings;    /* how often static models were placed, so far */
	VEC(uint32_t) strays; /* active models whose level is not loaded */

	/* assignment */
	struct roster roster;
	VEC(struct plan_contact) contacts, contacts_next; /* by (a, b) */
	uint64_t contacts_due;                            /* the earliest `until` */
	struct ghosts ghosts;
	bool *is_mover; /* [model_count] see roster_view */
	uint32_t *model_pin, *level_pin;
	bool pinned;           /* a model or level is pinned, or was */
	uint32_t body_cost;    /* ns, from the bodies that have been measured */
	uint64_t balance_from; /* from this step on costs alone are a reason to ask the policy */

	/* answers of the last plan_step() */
	VEC(struct change) changes;
	VEC(struct plan_event) events;
	bool statics_changed;
	VEC(uint32_t) gone; /* models that became absent or were put elsewhere; not after a reset of the world */
	VEC(struct physics_pair) pairs; /* by secondary, then (a, b) */
	struct step_part *parts;        /* [most]; the primary fills in the commands */
	uint64_t moves;                 /* moves of movers, so far */
	uint64_t loads;                 /* loads of levels that were not loaded, so far */
	uint64_t meetings;              /* contacts that began between models whose first secondaries differ */
	uint32_t *first;                /* [model_count] the first secondary of each model */

	bool woken; /* plan_wake() wrote state k of a model */
	bvh_values found;

	bool begun;     /* a step has been decided */
	bool restoring; /* a saved state is being unpacked: its still counts hold, no model is woken */
	bool levels_dirty, pairs_dirty;
};

void plan_init(struct plan *plan, struct shared *shared, uint32_t secondaries, const struct assign_policy *policy);
void plan_fini(struct plan *plan);

/* Shares the work out anew among secondaries 1 .. count, as at the start. count is at most `most`. */
void plan_use(struct plan *plan, uint32_t count);
/* The model strayed or was put elsewhere: looks at it again. */
void plan_strayed(struct plan *plan, uint32_t model);
/* A step was given up: the boxes of all models are measured again from state k. */
void plan_measure(struct plan *plan);
/* State k was written from outside: looks at everything again. */
void plan_reset(struct plan *plan);
/* --- changes of the world; before plan_step() -------------------------------------------------------------------- */

/* Call it first in a step. */
void plan_begin(struct plan *plan);
/* A model was added to scene, state and systems, or an absent model is back. */
void plan_add(struct plan *plan, uint32_t model);
/* A model has become absent. Its place must be kept until the step is over. */
void plan_remove(struct plan *plan, uint32_t model);
/* The model was put elsewhere. State k holds its new pose, and for a static model the scene does. */
void plan_placed(struct plan *plan, uint32_t model);
/* State k of the model was written: it moves differently from now on. Wakes it. */
void plan_pushed(struct plan *plan, uint32_t model);
/* The scene changed whether the model is a performer, or its volume. */
void plan_performer(struct plan *plan, uint32_t model);
/* Wakes all models. */
void plan_wake_all(struct plan *plan);

/* Wakes the models that reach into this box: what they rested on came, went or was moved. */
void plan_wake(struct plan *plan, const struct aabb *box);
/* Packs what is not a function of the state words: which levels are loaded, and which models outlived their level. */
void plan_pack(const struct plan *plan, struct text *out);
/* Unpacks, after edit_unpack(); the rest is derived again from state k. False: damaged. */
bool plan_unpack(struct plan *plan, struct unpack *in);
/* Pack and unpack the pins that differ from the model's home pin: a command set them while the world ran. Unpack
 * after plan_unpack(); a saved state that ends before the pins has none. */
void plan_pack_pins(const struct plan *plan, struct text *out);
bool plan_unpack_pins(struct plan *plan, struct unpack *in);

/* Whether costs are to be measured in step k. */
bool plan_measures(const struct plan *plan, uint64_t k);

/* Whether a secondary will simulate the model in step k, unless a further command changes that. Before plan_step(). */
bool plan_simulates(struct plan *plan, uint32_t model);
/* Decides step k. */
void plan_step(struct plan *plan, uint64_t k);

/* Part of the state hash: which levels are loaded, and which models outlived their level. */
uint64_t plan_hash(const struct plan *plan);

#endif
