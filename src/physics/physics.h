/* Rigid bodies for the models that one runner simulates: groups, contacts, the step. The only user of ODE, which finds
 * contacts, and steps what the solver of this folder (exact.h, lanes/) leaves to it.
 *
 * Models that may touch share a group. Each group is in one ODE world: its own, or one that it shares with other
 * small groups. Groups are made from the pairs of models whose boxes overlap in state k and are kept for a while
 * after. Results depend neither on the groups nor on which groups share an ODE world (rules in
 * src/doc/inside/determinism.md; tests break one rule at a time). Every step starts from state k, so neither solver
 * holds anything that matters between steps, and a runner can take a model over from its state alone.
 *
 * Thread: physics_init_process() once per process, from any thread. A struct physics belongs to the thread that made it
 * and is destroyed there; any threads step its ODE worlds, each with its own worker (worker.h). Memory is allocated
 * when groups change or grow, and when an island has a shape (lanes/shape.h) that none had before; a warm step does not
 * allocate. Surfaces combine as in Gazebo's ODE: friction, restitution and its threshold the smaller of the two,
 * stiffness in series, damping added, correcting velocity the smaller, minimum depth the larger. Slips are added, as in
 * Gazebo's DART. A contact of which a surface gives a stiffness is a spring: at rest it holds its load at the depth
 * force / stiffness (beyond the minimum depth of the surfaces), and it parts two bodies no faster than the correcting
 * velocity. All other contacts are rigid.
 */
#ifndef PHYSICS_PHYSICS_H
#define PHYSICS_PHYSICS_H

#include "base/fingerprint.h"
#include "physics/notes.h"
#include "scene/control.h"
#include "scene/state.h"

/* Rules that can be broken one at a time, to show that the tests then fail (--break). */
enum physics_break {
	PHYSICS_BREAK_NOTHING,
	PHYSICS_BREAK_RANDOM,    /* QuickStep draws from ODE's process-wide generator */
	PHYSICS_BREAK_PAIRS,     /* contacts are made in the order in which pairs were found */
	PHYSICS_BREAK_ROTATION,  /* rotations stay in ODE instead of being set from the state */
	PHYSICS_BREAK_REFERENCE, /* joints are attached at the current pose instead of the pose in the file */
	/* of windows (run/window.h) */
	PHYSICS_BREAK_PROOF,       /* nothing that was guessed is proven */
	PHYSICS_BREAK_SLEEPERS,    /* the proof forgets models that did not move */
	PHYSICS_BREAK_LEVELS,      /* the proof forgets levels */
	PHYSICS_BREAK_ATTACHMENTS, /* models that only a joint or an attachment connects do not count as a pair within a
				      window */
	PHYSICS_BREAK_NOTES,       /* of a window, only its last step is noted */
	PHYSICS_BREAK_LEAVERS,     /* secondaries do not name the models whose sweeps are to be proven */
	PHYSICS_BREAK_HITS,        /* a sweep lacks where a model lay that a later step moved first */
};

enum physics_solver {
	PHYSICS_SOLVER_AUTO,  /* per island: exact when small, else in soft steps or iterative */
	PHYSICS_SOLVER_WORLD, /* dWorldStep, exact */
	PHYSICS_SOLVER_QUICK, /* dWorldQuickStep, iterative */
};

/* Beyond these limits a model has diverged; ODE never gets larger values. */
#define PHYSICS_POSITION_MAX SCENE_POSITION_MAX
#define PHYSICS_VELOCITY_MAX 1e5 /* m/s */
#define PHYSICS_SPIN_MAX 1e5     /* rad/s */

struct physics_options {
	enum physics_solver solver;
	uint32_t exact_rows_max; /* 0: PHYSICS_EXACT_ROWS */
	enum physics_break rule;
	uint64_t seed;  /* of the order in which the iterative solver visits the rows of an island */
	bool sleepless; /* no model ever sleeps */
	bool ode;       /* ODE solves all islands */
	uint32_t lanes; /* of the exact solver; 0: as many as this processor has instructions for. No bit depends on it
			 */
	/* A step that still runs 0.3 s after this was set is given up: it returns TROUPE_OK, and physics_abandoned()
	 * is true. Writer: any thread. NULL: steps are never given up. */
	const _Atomic bool *stop;
	/* For so many steps models that came apart stay in one group, and count as a pair (run/pairs.h); 0: as many as
	 * pay. No bit depends on it. */
	uint32_t keep_steps;
	bool anew; /* for tests: every ODE object is destroyed and made again before each step */
};

/* Whether options.lanes may be so many here. */
bool physics_has_lanes(uint32_t lanes);
/* Bodies that touch or are joined are solved exactly as long as they have at most so many constraint rows together. */
uint32_t physics_exact_rows(const struct physics_options *options);
/* The rows of the model alone, without contacts: of its joints and of added mass. For ODE a joint is rows that take
 * motion away; for the lanes it is the motion that it leaves, and has at most a row for each axis. */
uint32_t physics_rows(const struct scene *scene, uint32_t model);
uint32_t physics_lanes_rows(const struct scene *scene, uint32_t model);

struct physics_pair {
	uint32_t a, b; /* models, a < b */
};

/* Why an island is left to ODE (physics_options.ode: all are, and none is counted). */
enum physics_left {
	PHYSICS_LEFT_ASKED,    /* the world wants iterations */
	PHYSICS_LEFT_LARGE,    /* it has joints, and more bodies, coordinates or rows than are solved exactly */
	PHYSICS_LEFT_UNSOLVED, /* the exact solver found no solution within the bounds of a state */
	PHYSICS_LEFT_COUNT,
};

struct physics_stats {
	uint64_t contacts, regroups; /* since the start */
	uint64_t exact, soft; /* islands that the exact solver, and that of piles, have stepped, summed over steps */
	uint64_t left[PHYSICS_LEFT_COUNT]; /* islands that were left to ODE, summed over steps */
	uint64_t lost;   /* steps of ODE worlds that were begun again because the exact solver failed */
	uint64_t helped; /* steps of groups of other secondaries */
	uint32_t groups;
};

/* TROUPE_EINTERNAL when this ODE cannot keep the laws: it is not built for double precision, or, where it is not a
 * private part of libtroupe, its dRandInt() is not replaced. Replaces ODE's handlers of errors, messages and memory;
 * the new memory handlers call those that were set before. */
troupe_status physics_init_process(struct troupe_error *error);
/* A number that differs between machines on which the same run may have different bits. It is computed from samples
 * of floating point and of functions and from a short run of ODE, not from versions. It is the same on every thread and
 * in every build of troupe (except a build that fuses products, which is not allowed). Any thread may call it, but not
 * during a step; the first call takes a few milliseconds. */
uint64_t physics_fingerprint(void);
/* The same with its parts, each computed by itself: a few milliseconds more. */
const struct fingerprint *physics_fingerprint_parts(void);
/* To be called once on every thread that steps; physics_create() calls it for its own thread. */
void physics_thread_begin(void);

struct physics *physics_create(const struct scene *scene, struct state *state, const struct control *control,
	const struct physics_options *options);
void physics_destroy(struct physics *physics);

/* Models without bodies are ignored. */
void physics_take(struct physics *physics, uint32_t model);
void physics_release(struct physics *physics, uint32_t model);
/* Other threads are going to work on these steps too, so groups are spread over more ODE worlds. */
void physics_share(struct physics *physics);
/* The models taken, ascending. */
const indices *physics_taken(const struct physics *physics);

/* To be called first in a step when the scene changed before it: models were added, or gravity changed. */
void physics_world_changed(struct physics *physics);

/* Static models appeared, disappeared or moved. present[model] is 0 for a model that does not exist from now on, and
 * the number of its placing otherwise: a number that changes whenever a static model comes to this place of the scene's
 * arrays or is moved, never to one that it had before. The array is copied; at first no static model exists. */
void physics_set_statics(struct physics *physics, const uint32_t *present);

/* Sleep (src/doc/inside/determinism.md, "Sleeping"). A set of models that touch is not stepped when each model has been
 * still for half a second, may sleep (scene_model.may_sleep) and is not disturbed. Still means: in that time no body
 * moves farther than 0.5 mm or turns farther than 0.5 mrad (1 mm/s, 1 mrad/s), and in each step the model is held (by a
 * contact, or by a joint to the world or to a held model) or is completely at rest. */

/* Something acts on the model in the coming step: neither the model nor any model that it touches sleeps. */
void physics_disturb(struct physics *physics, uint32_t model);
/* About the last step. physics_awake(): models that were stepped, ascending. physics_fallen_asleep(): models that fell
 * asleep and for which `next` says so. All other models keep state k, and their `next` means nothing. */
const indices *physics_awake(const struct physics *physics);
const indices *physics_fallen_asleep(const struct physics *physics);
bool physics_fell_asleep(const struct physics *physics, uint32_t model);
bool physics_sleeps(const struct physics *physics, uint32_t model);

/* State k was written from outside (a reset, a new pose): everything derived from it is forgotten. */
void physics_state_changed(struct physics *physics);

/* The last step that was begun was given up, by this runner or another, and will be begun again; or several steps were,
 * and the state is that before the first of them. */
void physics_repeat(struct physics *physics);

/* The next step, and only that one, is timed. */
void physics_measure(struct physics *physics);
/* From the last timed step: ns for the physics of one model, as its share of the time of the models stepped with it. */
uint32_t physics_measured_ns(const struct physics *physics, uint32_t model);

/* Selects what is noted from the next step on: bits OBSERVE_... of notes.h. At first nothing is noted, which costs
 * nothing. No bit of the simulation depends on it. To be called before physics_begin(). */
void physics_observe(struct physics *physics, uint32_t what);
/* After physics_observe(), and before worker_step() of a step in a window: whether these notes are taken, and the
 * step's number in the window, which they have then. */
void physics_note(struct physics *physics, bool notes, uint32_t step);
/* After physics_begin(): whether some model that is stepped, and has not gone ahead, may be asleep in the next step. */
bool physics_may_fall_asleep(const struct physics *physics);
/* One step of dt seconds (> 0) of all models taken, except sleeping ones: reads `now`, writes `next` and
 * *ret_boxes[model] (the boxes of state k+1). A step is begun here, stepped by workers (worker_step()), and ended here.
 * Models that may touch form a group, and groups do not depend on each other, so the division of work among threads
 * changes no bit.
 *
 * pairs: pairs of taken models whose boxes overlap in state k, ordered by (a, b). On TROUPE_EDIVERGED, from any
 * of these calls, the error names the model and `next` must not be used; the step then need not be ended. */
troupe_status physics_begin(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt,
	struct troupe_error *error);
/* Number of ODE worlds of the step that was begun. */
uint32_t physics_ode_world_count(const struct physics *physics);
troupe_status physics_end(struct physics *physics, struct aabb_line *ret_boxes, struct troupe_error *error);
/* The model that diverged in the step when physics_end() failed; the lowest of several. SCENE_NONE otherwise. */
uint32_t physics_diverged(const struct physics *physics);

/* Some worker gave the last step up: `next` must not be used, state k is unchanged, and the step can be begun again. */
bool physics_abandoned(const struct physics *physics);

/* --- windows of several steps ------------------------------------------------------------------------------------- */

/* After physics_begin() of the first of so many steps: finds the ODE worlds that may go ahead, whose models are
 * near no other in these steps, and returns their number. near: models that may come near each other in the window.
 * Each such ODE world is then stepped by worker_step_ahead(), with physics_end_ahead() after each step, by any thread,
 * as often as there are steps; the state of its models must go on in between. The other ODE worlds are stepped as
 * always, from worker_step() of the first step on, which leaves these out. Their models are among those that
 * physics_awake() lists. When all steps are taken: physics_close_ahead(). */
uint32_t physics_find_ahead(
	struct physics *physics, uint32_t steps, const struct physics_pair *near, uint32_t near_count);
/* The models of such an ODE world. */
const uint32_t *physics_ahead_models(const struct physics *physics, uint32_t at, uint32_t *ret_count);
bool physics_is_ahead(const struct physics *physics, uint32_t model);
/* As physics_disturb(), for a model that is ahead, in a later step than the first. */
void physics_disturb_ahead(struct physics *physics, uint32_t model);
/* Writes the boxes. physics_diverged() and physics_abandoned() say whether the step has failed. */
void physics_end_ahead(struct physics *physics, uint32_t at, struct aabb_line *ret_boxes);
void physics_close_ahead(struct physics *physics);

/* Its groups; the other counts are those of workers, see worker_add_stats(). */
struct physics_stats physics_stats(const struct physics *physics);

/* For how many steps a model must have been still before it may sleep. */
uint64_t physics_sleep_steps(double dt);

#endif
