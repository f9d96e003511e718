/* What must be where in the coming step, from state k: which levels are loaded, which models exist, which of them may
 * touch, which secondary gets what, and what changes for whom. Decides by calling the tracker, touch and the assignment
 * policy; has no effect but on its own arrays.
 *
 * Thread: the primary's, between steps. Allocates only when something changes. */
#ifndef RUN_PLAN_H
#define RUN_PLAN_H

#include "base/pack.h"
#include "run/ghosts.h"
#include "run/roster.h"
#include "run/step.h"

enum {
	PLAN_KEEP_STEPS = 500,    /* models that have touched count as touching so long after, for the assignment */
	PLAN_MEASURE_STEPS = 16,  /* costs are measured every so many steps */
	PLAN_BALANCE_STEPS = 64,  /* after so many the policy is asked again even if only costs have changed */
	PLAN_HORIZON_STEPS = 512, /* for which what is gained is expected to last */
	PLAN_MOVE_NS = 20000,     /* that handing over a model takes; bench_moves measures it */
	PLAN_BODY_NS = 3000,      /* a guess of what a body costs while nothing has been measured */
};

enum plan_event_kind { PLAN_MOVE, PLAN_LOAD, PLAN_UNLOAD, PLAN_GHOST_ON, PLAN_GHOST_OFF };

struct plan_event {
	enum plan_event_kind kind;
	uint32_t id;       /* model; of LOAD and UNLOAD: level */
	uint32_t from, to; /* secondaries; LOAD, UNLOAD and GHOST: to */
};

struct plan_contact { /* a < b */
	uint32_t a, b;
	uint64_t until; /* step from which it counts no more; UINT64_MAX: touching now */
};

struct plan {
	struct shared *shared;
	const struct scene *scene;
	uint32_t secondaries; /* among which work is shared out */
	uint32_t most;        /* that there are */
	const struct assign_policy *policy;
	bool measure; /* costs, even if the policy does not ask */
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves; /* random components in each step; 0: one, in a step of four */

	uint32_t room; /* of arrays by model */

	/* state: functions of the states so far, whoever simulates what */
	bool *loaded;         /* [level_count] */
	bool *active;         /* [model_count] dynamic models and performers that exist */
	uint32_t *statics;    /* [model_count] static models that exist: see physics_set_statics() */
	uint32_t placings;    /* of static models, so far */
	VEC(uint32_t) strays; /* active models whose level is not loaded */

	/* assignment */
	struct roster roster;
	VEC(struct plan_contact) contacts, contacts_next; /* by (a, b) */
	uint64_t contacts_due;                            /* the first of them to run out */
	struct ghosts ghosts;
	bool *is_mover; /* [model_count] see roster_view */
	uint32_t *model_pin, *level_pin;
	bool pinned;           /* somebody is, or was */
	uint32_t body_cost;    /* ns, as of those that have been measured */
	uint64_t balance_from; /* the step in which costs alone are a reason to ask the policy again */

	/* answers of the last plan_step() */
	VEC(struct change) changes;
	VEC(struct plan_event) events;
	bool statics_changed;
	VEC(uint32_t) gone; /* models that ceased to be there, or were put elsewhere; not after a reset of the world */
	VEC(struct physics_pair) pairs; /* by secondary, then (a, b) */
	struct step_part *parts;        /* [most]; commands are the primary's to fill in */
	uint64_t moves;                 /* of movers, so far */
	uint64_t loads;                 /* of levels that were not loaded, so far */
	uint64_t meetings;              /* contacts that began, of models that were first on different secondaries */
	uint32_t *first;                /* [model_count] the first secondary of each model */

	bool woken; /* someone's state k was written by plan_wake() */
	bvh_values found;

	bool begun;     /* a step has been decided */
	bool restoring; /* a saved state is being unpacked, whose still counts hold: nothing is woken */
	bool levels_dirty, pairs_dirty;
};

void plan_init(struct plan *plan, struct shared *shared, uint32_t secondaries, const struct assign_policy *policy);
void plan_fini(struct plan *plan);

/* Work is shared out anew among secondaries 1 .. count, as at the start; count is at most `most`. */
void plan_use(struct plan *plan, uint32_t count);
/* Something about this model may have changed: it strayed, or was put elsewhere. */
void plan_strayed(struct plan *plan, uint32_t model);
/* A step was given up: the boxes of all models are those of state k again. */
void plan_measure(struct plan *plan);
/* State k was written from outside: everything is looked at again. */
void plan_reset(struct plan *plan);
/* --- changes of the world; before plan_step() -------------------------------------------------------------------- */

/* The first thing in a step. */
void plan_begin(struct plan *plan);
/* A model was added to scene, state and systems, or an absent one is back. */
void plan_add(struct plan *plan, uint32_t model);
/* A model has become absent. Its place can be given up when the step is over. */
void plan_remove(struct plan *plan, uint32_t model);
/* It was put elsewhere: state k and, of a static one, the scene say where. */
void plan_placed(struct plan *plan, uint32_t model);
/* State k was written: it moves otherwise from now on. */
void plan_pushed(struct plan *plan, uint32_t model);
/* The scene says otherwise whether it is a performer, or of what size. */
void plan_performer(struct plan *plan, uint32_t model);
/* Nobody is at rest any more. */
void plan_wake_all(struct plan *plan);

/* What reaches into this box is at rest no more: what it rested on came, went or was moved. */
void plan_wake(struct plan *plan, const struct aabb *box);
/* What it knows that is not a function of the state words: which levels are loaded, and which models outlived theirs.
 */
void plan_pack(const struct plan *plan, struct text *out);
/* The reverse, after edit_unpack(): everything else is found anew from state k. False: damaged. */
bool plan_unpack(struct plan *plan, struct unpack *in);
/* Who is pinned to another secondary than at home: by a command, while it ran. The reverse comes after plan_unpack(),
 * and finds none at the end of a state that knows of none. */
void plan_pack_pins(const struct plan *plan, struct text *out);
bool plan_unpack_pins(struct plan *plan, struct unpack *in);

/* Whether costs are to be measured in step k. */
bool plan_measures(const struct plan *plan, uint64_t k);

/* Whether a secondary will simulate the model in step k, if no further command changes that. Before plan_step(). */
bool plan_simulates(struct plan *plan, uint32_t model);
/* Decides step k. */
void plan_step(struct plan *plan, uint64_t k);

/* Part of the state hash: which levels are loaded, and which models outlived theirs. */
uint64_t plan_hash(const struct plan *plan);

#endif
