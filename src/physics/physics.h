/* Rigid bodies for the models that one runner simulates: groups, contacts, the step. The only user of ODE.
 *
 * Models that may touch share a group, and each group is in one ODE world, of its own or with other small ones. Groups
 * are made from the pairs of models whose boxes overlap in state k and kept for a while after; results depend neither
 * on them nor on who shares a world (rules in ../DETERMINISM.md, shown by tests with one rule broken at a time). Every
 * step starts by loading state k into ODE, so nothing that matters hides there, and a model can be taken over from its
 * state alone.
 *
 * Thread: physics_init_process() once per process from any thread; a struct physics belongs to the thread that made it
 * and is destroyed there; another may work on its ODE worlds, see physics_work(). Allocates: when groups change or
 * grow; a warm step does not. Surfaces combine as Gazebo's ODE did: friction, restitution and its threshold the smaller
 * of the two, stiffness in series, damping added, correcting velocity the smaller, minimum depth the larger. */
#ifndef PHYSICS_PHYSICS_H
#define PHYSICS_PHYSICS_H

#include "physics/notes.h"
#include "scene/control.h"
#include "scene/state.h"

/* Rules that can be switched off one at a time, to see the tests fail (--break). */
enum physics_break {
	PHYSICS_BREAK_NOTHING,
	PHYSICS_BREAK_RANDOM,    /* QuickStep draws from ODE's process-wide generator */
	PHYSICS_BREAK_PAIRS,     /* contacts are made in the order in which pairs were found */
	PHYSICS_BREAK_ROTATION,  /* rotations carry on in ODE instead of being set from the state */
	PHYSICS_BREAK_REFERENCE, /* joints are attached at the current pose instead of the pose in the file */
};

enum physics_solver {
	PHYSICS_SOLVER_AUTO,  /* per island: exact when small, else iterative */
	PHYSICS_SOLVER_WORLD, /* dWorldStep, exact */
	PHYSICS_SOLVER_QUICK, /* dWorldQuickStep, iterative */
};

/* Beyond these a model has diverged; ODE never sees more. */
#define PHYSICS_POSITION_MAX SCENE_POSITION_MAX
#define PHYSICS_VELOCITY_MAX 1e5 /* m/s */
#define PHYSICS_SPIN_MAX 1e5     /* rad/s */

struct physics_options {
	enum physics_solver solver;
	uint32_t exact_rows_max; /* 0: PHYSICS_EXACT_ROWS */
	enum physics_break rule;
	bool sleepless; /* everything is stepped always */
	/* When it is set, a step that goes on for 0.3 s after that is given up: TROUPE_OK, and
	 * physics_abandoned(). Writer: any thread. NULL: steps are never given up. */
	const _Atomic bool *stop;
	bool anew; /* for tests: every ODE object is destroyed and made again before each step */
};

struct physics_pair {
	uint32_t a, b; /* models, a < b */
};

struct physics_stats {
	uint64_t contacts, regroups; /* since the start */
	uint64_t lost;               /* steps of ODE worlds that were begun anew because the exact solver failed */
	uint64_t helped;             /* steps of other owners' groups */
	uint32_t groups;
};

/* TROUPE_EINTERNAL when this ODE cannot keep the laws: not double precision, or dRandInt() not replaced. ODE's handlers
 * of errors, messages and memory become ours; those of memory go on to the ones that were set before. */
troupe_status physics_init_process(struct troupe_error *error);
/* A number that is another where the same run may have other bits: computed from samples of floating point and libm and
 * from a short run of ODE, not from versions. The same in every build of troupe (but one that fuses products, which
 * must not be) and on every thread. Any thread, but not in the middle of a step; takes a few milliseconds the first
 * time. */
uint64_t physics_fingerprint(void);
/* Once on every thread that steps; physics_create() does it for its own. */
void physics_thread_begin(void);

struct physics *physics_create(const struct scene *scene, struct state *state, const struct control *control,
	const struct physics_options *options);
void physics_destroy(struct physics *physics);

/* Models without bodies are passed over. */
void physics_take(struct physics *physics, uint32_t model);
void physics_release(struct physics *physics, uint32_t model);
/* Others are going to work on its steps, too, which shall therefore not fall into too few ODE worlds. */
void physics_share(struct physics *physics);
/* The models taken, ascending. */
const indices *physics_taken(const struct physics *physics);

/* Before anything else in a step before which the scene changed: models were added, or the gravity. */
void physics_world_changed(struct physics *physics);

/* Static models appeared, went or were moved: present[model] is 0 for one that does not exist from now on (copied; at
 * first none does), and another number whenever it is somewhere else. */
void physics_set_statics(struct physics *physics, const uint32_t *present);

/* Sleep: DESIGN 5. A set of models that touch is not stepped once each of them has been still for half a second, may
 * sleep (scene_model.may_sleep) and is not disturbed. Still: in that time no body gets farther than 0.5 mm and 0.5 mrad
 * (1 mm/s, 1 mrad/s), and in each step something holds it (a contact, a joint to the world or to what is held) or it is
 * at rest altogether. */

/* Something acts on the model in the coming step: it does not sleep, nor does what it touches. */
void physics_disturb(struct physics *physics, uint32_t model);
/* Of the last step: models that were stepped, ascending; those that fell asleep and whose `next` says so. All others
 * kept state k, and their `next` means nothing. */
const indices *physics_awake(const struct physics *physics);
const indices *physics_all_rested(const struct physics *physics);
bool physics_rested(const struct physics *physics, uint32_t model);
bool physics_sleeps(const struct physics *physics, uint32_t model);

/* State k was written from outside (a reset, a new pose): what was derived from it is forgotten. */
void physics_state_changed(struct physics *physics);

/* The step that was begun last was given up, here or elsewhere, and is going to be begun again. */
void physics_repeat(struct physics *physics);

/* It has released all its models, and the world has changed since: what it knows of static models is forgotten. */
void physics_forget(struct physics *physics);

/* The next step, and that one alone, is timed. */
void physics_measure(struct physics *physics);
/* Of the last step that was timed: ns for a model's own physics, its part of that of those that it touched. */
uint32_t physics_measured_ns(const struct physics *physics, uint32_t model);

/* What is noted from the next step on: bits OBSERVE_... of notes.h. At first nothing is, and then it costs nothing. No
 * bit of the simulation depends on it. Before physics_begin(). */
void physics_observe(struct physics *physics, uint32_t what);
/* What was noted of the ODE worlds that this one has worked on in the step, its own and those of others; when it will
 * work on none any more. Valid until the next step begins. */
const struct notes *physics_notes(struct physics *physics);

/* One step of dt seconds (> 0) of all models taken, but for those asleep: reads `now`, writes `next` and
 * *ret_boxes[model] (the boxes of state k+1). It is begun, worked on, and ended; models that may touch form a group,
 * and groups know nothing of each other, so who works on which makes no difference to any bit.
 *
 * pairs: those of the models taken whose boxes overlap in state k, ordered by (a, b). On TROUPE_EDIVERGED, from any of
 * the three, the error names the model and `next` is worth nothing; the step need not be ended then. */
troupe_status physics_begin(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt,
	struct troupe_error *error);
/* ODE worlds of the step that was begun. */
uint32_t physics_world_count(const struct physics *physics);
/* Works on ODE worlds of the owner, who may be physics itself; each once in a step. physics is this thread's, of the
 * same scene and state, and has begun the step, too; the owner neither begins nor ends one meanwhile. */
troupe_status physics_work(
	struct physics *physics, struct physics *owner, uint32_t first, uint32_t count, struct troupe_error *error);
troupe_status physics_end(struct physics *physics, struct aabb_line *ret_boxes, struct troupe_error *error);
/* The model that diverged in the step, when physics_end() failed: of several, the lowest. SCENE_NONE otherwise. */
uint32_t physics_diverged(const struct physics *physics);

/* The last step was given up: `next` is worth nothing, state k is as it was, and the step can be begun again. */
bool physics_abandoned(const struct physics *physics);

/* Of what this one has worked on. */
struct physics_stats physics_stats(const struct physics *physics);

#endif
