/* A pack: models that one thread steps together, and the steps of a window in which nothing else matters to them. It is
 * the part of a secondary that knows no other secondary: which models may touch in a step it finds out itself, from
 * their boxes.
 *
 * Thread: one at a time. Allocates when models come, or when more of them come near each other than
 * before. */
#ifndef RUN_PACK_H
#define RUN_PACK_H

#include "physics/worker.h"
#include "run/step.h"

#include <stdatomic.h>

struct pack_ahead { /* of one ODE world that takes all steps of a window at once */
	uint32_t good;
	struct system_fault fault;
};

struct pack_resting {
	uint32_t model, touches; /* touches: of its state, when it came to rest */
};

struct pack_push {
	uint32_t model, order;
	const struct due_wrench *wrench;
};

struct pack {
	struct shared *shared;
	struct physics *physics;
	indices with_systems; /* its models that have systems or a script */
	/* Those of them whose systems are called in each step, ascending. The others rest: they sleep, and a call would
	 * change nothing (TROUPE_RESTS). */
	indices called;

	/* of the last step or window */
	VEC(uint32_t) changed; /* models whose last state is in `next` */
	uint32_t stepped;      /* the first `stepped` of them were stepped by physics */
	troupe_status status;
	uint32_t diverged;
	struct troupe_error error;
	struct system_fault fault;
	VEC(uint64_t) hashes; /* as those of an ack */
	/* Its secondary's. doing: what is told of a step that does not end. step_worlds(): steps the ODE worlds of
	 * pack.physics in a step of a window; on failure *ret_error says why. */
	_Atomic(const char *) *doing;
	troupe_status (*step_worlds)(void *ctx, struct troupe_error *ret_error);
	/* Calls pack_take_ahead() for each number below count, on any threads. */
	void (*go_ahead)(void *ctx, uint32_t count);
	void *ctx;

	/* private */
	VEC(struct pack_push) pushes; /* of the step or window, by model, then in the order given */
	VEC(struct pack_resting) resting;
	VEC(uint32_t) still; /* models that come to rest in the present step */
	bool *rests;         /* [room] by model; false of those in `resting` that are called again */
	uint32_t room;
	double rest_dt;               /* of the steps in which the models came to rest */
	const struct step *step;      /* of the window */
	VEC(struct pack_ahead) ahead; /* of the window: see pack_take_ahead() */
	uint32_t ahead_good;          /* steps of the window after which all was well with those that went ahead */
	physics_pairs pairs;          /* of the present step of a window */
	VEC(bool) joined;             /* for each near pair of the window: by a joint of the world or an attachment */
	VEC(uint32_t) moved;          /* in the present step of a window */
	struct state_spares spares;   /* for models that do not go ahead */
};

/* The caller sets the members that are its own. */
void pack_init(struct pack *pack, struct shared *shared);
void pack_fini(struct pack *pack);
void pack_take(struct pack *pack, uint32_t model);
void pack_release(struct pack *pack, uint32_t model);

/* Before the commands of a step. */
void pack_begin(struct pack *pack);
/* No model rests any more: the world or the state has changed, or goes back to an earlier one. */
void pack_call_all(struct pack *pack);
/* The same for one model, on which something acts from outside. */
void pack_call(struct pack *pack, uint32_t model);
/* A step, in this order: pack_pre_update(), physics_begin(), pack_call_awake(), then up to physics_end(),
 * pack_post_update(). */
struct system_step pack_view(struct pack *pack, uint64_t number, double time_s, double dt);
/* Systems decide what to do. */
void pack_pre_update(struct pack *pack, const struct system_step *step);
/* Before a step, or a window of several: these wrenches act. They are valid until pack_let_go(), which comes last. */
void pack_hold(struct pack *pack, const struct step_part *part);
/* After pack_pre_update(): adds the wrenches to what the systems ask for. */
void pack_push(struct pack *pack);
void pack_let_go(struct pack *pack);
/* Models that rested and were woken by others. */
void pack_call_awake(struct pack *pack, const struct system_step *step);
/* Systems look at the next state; lists what has changed. */
void pack_post_update(struct pack *pack, const struct system_step *step);
/* What `doing` is set to; a step by itself uses the same words. */
extern const char pack_doing_before[], pack_doing_physics[], pack_doing_after[];
/* The first fault of a system fails the step, as a model does that diverged. */
troupe_status pack_take_fault(struct pack *pack);

/* All steps of a window of several steps. The result is as that of one step, and where each
 * changed model was in between is in shared->sweeps. Returns how many steps were well: fewer than the window has when
 * one of them failed or was given up (physics_abandoned()); then nothing has changed. */
uint32_t pack_take_window(struct pack *pack, const struct step *step, const struct step_part *part);
/* Models that are near no other in a window take all its steps while they are in the caches. This is one such task, as
 * large as an ODE world, for the thread that has the worker; go_ahead() deals them out. */
void pack_take_ahead(struct pack *pack, struct worker *worker, uint32_t at);

#endif
