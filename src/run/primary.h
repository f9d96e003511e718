/* The primary: keeps time, hands out work, merges what comes back. Does no physics.
 *
 * Its part in a step is to merge the acks of step k-1, and then to decide whether to go on, to wait for real time if it
 * is ahead, and to decide step k. Who calls it, and how the step gets to the secondaries, is the transport's
 * matter. Thread: one at a time, whichever; results of a turn are seen by the next through the transport's ordering. */
#ifndef RUN_PRIMARY_H
#define RUN_PRIMARY_H

#include "run/edit.h"
#include "run/lockstep.h"
#include "run/observed.h"
#include "run/schedule.h"

#include <stdatomic.h>

struct primary_options {
	uint32_t secondaries; /* >= 1: that there are; primary_use() says how many of them work */
	uint64_t iterations;  /* stop before this step; 0: no limit */
	double until_s;       /* stop at this simulated time; 0: no limit */
	double rtf;           /* simulated seconds per second; 0: as fast as possible */
	double rate_hz;       /* steps per second instead, when > 0 */
	bool resume_pace;     /* primary_unpack() takes rtf and rate_hz from what it unpacks */
	bool unpaced;         /* never waits for real time, whatever the commands say */
	double initial_time_s;
	bool paused;
	const struct assign_policy *policy; /* NULL: the default */
	bool measure;                       /* costs, even if the policy does not ask */
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves;
	uint32_t observe; /* bits OBSERVE_... of physics/notes.h: what `observed` is to have */
	struct edit_options edit;
	/* Each may be NULL; called in step order, between steps. */
	void (*on_event)(void *ctx, uint64_t step, const struct plan_event *event);
	/* What came of a command to the world, or of one that could not be given to anybody. */
	void (*on_reply)(void *ctx, uint64_t step, const char *topic, troupe_status status, const char *text);
	/* Each command that was taken, after it was; status: what came of it. */
	void (*on_taken)(void *ctx, uint64_t step, const struct command *command, troupe_status status);
	void *ctx;
};

struct runner_stats { /* of one secondary */
	uint64_t steps, busy_ns, waited_ns;
	uint64_t critical_ns; /* busy time in steps in which it was the slowest */
};

struct primary {
	struct primary_options options;
	struct shared *shared;
	struct plan plan;
	struct edit edit;
	struct schedule schedule;
	struct lockstep lockstep;
	struct observed observed;         /* as of the last step that was merged, and the commands obeyed since */
	struct step step;                 /* the one that is out */
	VEC(struct due_command) commands; /* by secondary */
	VEC(struct due_command) due;      /* in the order given */
	VEC(struct due_wrench) pushes;    /* by secondary */
	VEC(struct command) taken;        /* of this step: they own what `due` points to */

	/* state */
	uint32_t wanted;       /* secondaries that are to work */
	uint64_t moving_steps; /* steps not paused since the last reset */
	uint64_t even_steps;   /* of these, those since steps have the length that they have */
	double even_since_s;   /* simulated time at the first of them */
	bool paused;
	uint64_t multi_steps; /* to take before pausing again; 0: it runs on */
	double run_to_s;      /* simulated time at which to pause; 0: none */
	/* That act in the next step that is not paused, in the order given. Those of a step that was given up act when
	 * it is taken again. */
	VEC(struct due_wrench) wrenches;

	uint64_t share_rounds; /* steps so far that were shared */
	bool repeats;          /* the last step was given up, and the next is that one again */

	/* what came of it */
	bool ended; /* no further step */
	troupe_status status;
	struct troupe_error error;
	uint32_t moved;               /* models, in the last step */
	uint64_t refused;             /* commands that could not be obeyed */
	struct runner_stats *runners; /* [secondaries] */
	uint64_t begin_ns, end_ns;    /* first step out; last merged */
	uint64_t pace_ns;             /* when the step of pace_at was due */
	double pace_elapsed_s;
	uint64_t slept_ns; /* to keep to real time */
	_Atomic bool stop; /* writer: any thread; reader: primary_turn() */
	/* For whoever watches, at any time: */
	_Atomic uint64_t seen_steps, seen_moves, seen_levels;
	_Atomic double seen_time_s;
};

void primary_init(struct primary *primary, const struct primary_options *options, struct shared *shared);
void primary_fini(struct primary *primary);

/* From the next step on, secondaries 1 .. count work, and the others have nothing. All do at first. */
void primary_use(struct primary *primary, uint32_t count);
/* Secondaries that take part in the step that was decided last: 1 .. this. */
uint32_t primary_taking_part(const struct primary *primary);

/* Takes the acks of the step that is out (acks[i]: of secondary i+1). False when one of them is not as it must be,
 * tells of a failure, or tells that its secondary gave the step up: primary->ended, ->status and ->error say why, and
 * the state stays that before the step. */
bool primary_take_acks(struct primary *primary, struct ack *const *acks);
/* After primary_take_acks() returned true, one of the two: the state after the step becomes the present one; or, when
 * another world did not take this step, this one does not take it either, and its commands stay obeyed. */
void primary_advance(struct primary *primary, struct ack *const *acks);
void primary_take_back(struct primary *primary);
/* Decides the next step: NULL when there is none, and primary->ended, ->status and ->error say why. May sleep, to keep
 * to real time; *ret_begin_ns: when the decision began, after that, by clock_now_ns(). */
const struct step *primary_decide(struct primary *primary, uint64_t *ret_begin_ns);
/* Paused, with nothing to come and no limit on steps: a step would be one for nothing. */
bool primary_is_idle(const struct primary *primary);

/* Whether the last step that was not paused left the model as it was: asleep. */
bool primary_rests(const struct primary *primary, uint32_t model);
/* Reads into `files` what the command names: one that creates models; others name nothing. */
void primary_collect_command(struct primary *primary, const struct command *command, struct files *files);
/* The same of commands that are still to come. */
void primary_collect(struct primary *primary, struct files *files);
/* All that the rest of the run depends on, and is not in the world's file; between steps. */
void primary_pack(struct primary *primary, struct text *out);
/* The reverse, on a primary that has not begun, of the same world. On failure it is worth nothing. */
troupe_status primary_unpack(
	struct primary *primary, struct unpack *in, hearing_list *hearings, struct troupe_error *error);

double primary_time_s(const struct primary *primary);
uint64_t primary_hash(const struct primary *primary);

#endif
