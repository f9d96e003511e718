/* What the primary sends to the secondaries in one step, and the ack that each sends back
 * (src/doc/inside/architecture.md, "The window on one page"). */
#ifndef RUN_STEP_H
#define RUN_STEP_H

#include "level/touch.h"
#include "level/tracker.h"
#include "physics/physics.h"
#include "run/cost.h"
#include "sensor/reading.h"
#include "system/system.h"

enum change_kind {
	CHANGE_RELEASE, /* stop simulating a model */
	CHANGE_TAKE,    /* simulate the model from now on, starting from its state k */
	CHANGE_UNLOAD,  /* unload a level: it goes to another secondary, or to none */
	CHANGE_LOAD,
	CHANGE_GHOST_ON, /* know a performer that another secondary simulates */
	CHANGE_GHOST_OFF,
};

struct change {
	enum change_kind kind;
	uint32_t secondary; /* that must make the change, from 1 */
	uint32_t id;        /* model, or level */
};

struct due_command { /* for a model's system */
	struct system_listener to;
	const ProtobufCMessage *message; /* owned by the command: alive until the step is over */
};

#define DUE_WRENCH_MAX 1e9 /* N or N m: each coordinate */

struct due_wrench { /* acts on a body during the step, in the world's axes */
	uint32_t body;
	struct vec3 force, torque; /* N at its centre of mass, N m */
	/* It acts in each step of a window; otherwise the window is one step. */
	bool lasts;
	/* If it lasts: the force acts at the offset, in m from the centre of mass, in the axes of this link of the
	 * body. So there is a torque more, which depends on the orientation of the link in each step. */
	uint32_t link;
	struct vec3 offset;
};

/* The whole torque in the step that begins with the present state. */
static inline struct vec3 due_wrench_torque(const struct state *state, const struct due_wrench *wrench)
{
	if (!wrench->lasts)
		return wrench->torque;
	struct vec3 arm = quat_rotate(state_link_pose(state, wrench->link, false).q, wrench->offset);
	return vec3_add(wrench->torque, vec3_cross(arm, wrench->force));
}

/* Checks a wrench that came from outside: its body exists, and its coordinates are within bounds, whichever way the
 * link is turned. */
static inline bool due_wrench_sane(const struct scene *scene, const struct due_wrench *wrench)
{
	if (wrench->body >= scene->body_count || scene->bodies[wrench->body].model >= scene->model_count)
		return false;
	const struct scene_model *model = &scene->models[scene->bodies[wrench->body].model];
	if (wrench->lasts &&
		(wrench->link >= scene->link_count || scene->links[wrench->link].body != wrench->body ||
			!(vec3_length(wrench->torque) + vec3_length(wrench->offset) * vec3_length(wrench->force) <=
				DUE_WRENCH_MAX)))
		return false;
	return model->id && !model->absent && wrench->body >= model->body_first &&
	       wrench->body - model->body_first < model->body_count && vec3_within(wrench->force, DUE_WRENCH_MAX) &&
	       vec3_within(wrench->torque, DUE_WRENCH_MAX);
}

typedef VEC(struct physics_pair) physics_pairs;

/* The part of a step for one secondary. */
struct step_part {
	const struct physics_pair *pairs; /* pairs of models that it simulates; by (a, b) */
	uint32_t pair_count;
	const struct physics_pair *near;    /* the same that may be pairs in the other steps of a window */
	uint32_t near_count;                /* 0 if the window is one step */
	const struct due_command *commands; /* in the order given */
	uint32_t command_count;
	const struct due_wrench *wrenches; /* on bodies of models that it simulates, in the order given */
	uint32_t wrench_count;             /* 0 in a paused step */
	bool was_idle; /* it had no part in the step before: its knowledge of the world may be old */
};

/* Where the origins of models were, of which levels take notice: it does not matter; in the last state but one; or
 * there, and in all states after state k. */
enum step_origins { STEP_ORIGINS_NONE, STEP_ORIGINS_LAST, STEP_ORIGINS_ALL };

/* Why the primary must look at a model after a step, or after a window: bits. */
enum left {
	LEFT_STAY = 1,    /* in its last state it is outside of a box within which nothing about it can change */
	LEFT_SWEPT = 2,   /* touch_must_prove(); then LEFT_STAY is not about the same box */
	LEFT_BEFORE = 4,  /* tracker_must_look() at where its origin was in the last state but one */
	LEFT_CALM = 8,    /* its origin was outside of its calm box: tracker_proof_add() */
	LEFT_EARLY = 16,  /* it did not move in the last step of the window */
	LEFT_UNSEEN = 32, /* within a window: not looked at yet */
};

struct leaver {
	uint32_t model;
	uint32_t left; /* bits of enum left */
};

/* Step k, or a window of several steps that begins with step k: the primary writes it before publishing it; all
 * secondaries read it until they acknowledge. What it says of one step it says of step k. */
struct step {
	uint64_t number;           /* k */
	uint32_t window;           /* steps that are taken, from 1: what it asks for is done in the first */
	uint64_t mark;             /* a number of its own, also if the steps are repeated; in struct touch_sweep */
	enum step_origins origins; /* in the sweeps of models */
	bool hashes;               /* how the state hash changes is to be noted for each step of the window */
	double even_since_s;       /* the simulated time of state k + i is this + (even_steps + i) dt */
	uint64_t even_steps;
	double time_s;             /* simulated time of state k */
	double dt;                 /* s */
	struct sensor_times times; /* the same in ns, for sensors */
	bool paused;               /* nothing moves; commands still arrive */
	bool repeated;             /* the step before was given up: this is the same step again */
	bool again;                /* the same, and all secondaries have begun it before */
	bool state_changed;        /* the primary wrote state k: forget what was derived from it */
	bool statics_changed;
	bool world_changed;           /* the scene changed: models were added, or its gravity changed */
	bool measure;                 /* measure costs, see run/cost.h */
	uint32_t observe;             /* bits OBSERVE_... of physics/notes.h: the notes that acks must have */
	uint32_t secondaries;         /* secondaries 1 .. this take part */
	bool share;                   /* secondaries may take parts of this step from each other */
	uint32_t share_round;         /* a different number in each step that has `share` */
	bool help_first;              /* they do so before they begin their own parts: chaos */
	const uint32_t *statics;      /* [model_count] static models that exist; see physics_set_statics() */
	const struct change *changes; /* of all secondaries, in order */
	uint32_t change_count;
	const struct step_part *parts; /* [secondaries] */
};

/* Written by its secondary during the step, read by the primary once all secondaries have acknowledged. The fields
 * that are read of every ack come first. */
struct ack {
	_Alignas(64) uint32_t secondary; /* from 1 */
	troupe_status status;
	bool abandoned; /* the step was given up because the primary is to stop: nothing moved */
	uint64_t number;
	uint32_t good;    /* steps of the window after which all was well; step.window unless one after them failed */
	uint64_t busy_ns; /* at work, from taking the step to the ack */
	/* An ack from another process: processor time of the thread that stepped, with the reading of the step, and the
	 * writing of the ack before. */
	uint64_t processor_ns;
	uint64_t waited_ns; /* waiting: before the step, and in the step when there was no work */
	uint64_t begin_ns;  /* when the step was taken, and when the ack was ready, by this process's clock */
	uint64_t end_ns;
	VEC(uint32_t) changed; /* models whose state after the step is in `next`; all others keep state k */
	uint32_t stepped;      /* the first `stepped` of these were stepped by physics; the others were asleep */
	/* The notes that the step asked for, about these models. In one process it also has notes about models that
	 * this secondary stepped for another one, whose `changed` lists them. The secondary owns it. NULL: no notes
	 * were asked for, or nothing moved. */
	const struct notes *notes;
	/* What its sensors measured in this step; the secondary owns it. NULL: nothing. */
	const struct readings *readings;
	VEC(uint64_t) hashes; /* [step.window] if asked for: what each step adds to the sum of the models' hashes */
	/* All that the primary must look at, so that it need not look at all that moved. Of an ack from another process
	 * the primary finds them, because they follow from state k+1 and the sweeps. A model may be there twice. */
	VEC(struct leaver) leavers;
	VEC(uint32_t) costs; /* an ack from another process, if the step has `measure`: the cost of each in `changed` */
	uint32_t diverged;   /* when the step failed: the model that diverged, if known; else SCENE_NONE */
	struct troupe_error error; /* when status is not TROUPE_OK */
};

/* Shared by primary and secondaries. During a step a secondary writes only what belongs to models that it simulates,
 * or to models that it steps for another secondary, which waits for it. Between steps only the primary writes. */
struct shared {
	struct scene *scene;
	struct systems *systems;
	struct sensors *sensors; /* owned */
	struct state *state;
	struct control control;
	struct aabb_line
		*boxes; /* [model_count] of all geoms in state k; k+1 once the model's secondary has stepped it */
	struct touch_sweep *sweeps; /* [model_count] in windows of several steps, by the models' secondaries */
	struct touch touch;       /* primary's; secondaries read .models[].stay. Zero in a replica, as is the tracker */
	struct tracker tracker;   /* primary's; secondaries read .performers */
	struct model_costs costs; /* learnt in steps that have `measure`. No bit of a state may depend on them */
	struct physics_options physics;
};

/* The scene and the systems are the caller's and outlive it. The caller fills in the options of the physics. */
void shared_init(struct shared *shared, struct scene *scene, struct systems *systems);
/* Makes touch and tracker: for a primary. */
void shared_init_tracking(struct shared *shared);
void shared_fini(struct shared *shared); /* zeroed is fine */

/* Whether leavers can be found here. A replica has not what that takes; its primary finds them. */
static inline bool shared_has_tracking(const struct shared *shared)
{
	return shared->touch.scene;
}

/* After a single step: LEFT_STAY, or 0. For a model with bodies. */
static inline uint32_t shared_left(const struct shared *shared, uint32_t model)
{
	if (touch_leaves(&shared->touch, model, &shared->boxes[model].box))
		return LEFT_STAY;
	uint32_t performer = shared->tracker.performer_of[model];
	bool leaves = performer != SCENE_NONE && tracker_must_look(&shared->tracker.performers.at[performer],
							 state_model_pose(shared->state, model, true).p);
	return leaves ? LEFT_STAY : 0;
}

/* After a window of several steps, by its sweep. next: of which state_model_pose() is the last state. */
uint32_t shared_left_window(const struct shared *shared, const struct step *step, uint32_t model, bool next);

#endif
