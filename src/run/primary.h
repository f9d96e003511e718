/* The primary: keeps time, hands out work, merges the acks. Does no physics.
 *
 * Its part in a step: it merges the acks of step k-1, decides whether to go on, waits for real time if it is ahead,
 * and decides step k. The caller and the transport carry the step to the secondaries. Thread: any, but one at a time;
 * the transport's ordering makes the results of one call visible to the next. */
#ifndef RUN_PRIMARY_H
#define RUN_PRIMARY_H

#include "run/edit.h"
#include "run/plan.h"
#include "run/lockstep.h"
#include "run/observed.h"
#include "run/schedule.h"
#include "run/window.h"
#include "run/wrenches.h"

#include <stdatomic.h>

struct primary_options {
	uint32_t secondaries; /* >= 1: secondaries that exist; primary_use() says how many work */
	uint64_t iterations;  /* stop before this step; 0: no limit */
	double until_s;       /* stop at this simulated time; 0: no limit */
	double rtf;           /* simulated seconds per second; 0: as fast as possible */
	double rate_hz;       /* steps per second instead, when > 0 */
	bool resume_pace;     /* primary_unpack() takes rtf and rate_hz from the saved state */
	bool unpaced;         /* never waits for real time, whatever the commands say */
	bool all_take_part;   /* all secondaries acknowledge each step, also those without work (primary_use()) */
	bool replays;         /* all commands are posted that are to be taken, also those that waited in saved states */
	double initial_time_s;
	bool paused;
	bool helpers; /* a single secondary may have threads that help it, which have to be woken */
	const struct assign_policy *policy; /* NULL: the default */
	bool measure;                       /* measure costs even if the policy does not ask */
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves;
	uint32_t observe; /* bits OBSERVE_... of physics/notes.h: the notes that `observed` is to have */
	struct edit_options edit;
	struct window_options window;
	/* How many steps may be taken from step k on before something outside wants to see the state; at least 1. May
	 * be NULL. */
	uint64_t (*on_horizon)(void *ctx, uint64_t k);
	bool hash_steps; /* primary.hashes are wanted */
	/* Each may be NULL. Called in step order, between steps. */
	void (*on_event)(void *ctx, uint64_t step, const struct placement_event *event);
	/* The outcome of a command to a service of the world, or of a command that no listener could take; text may be
	 * "". called: a client called the service, and is told, too. */
	void (*on_reply)(
		void *ctx, uint64_t step, const char *topic, troupe_status status, const char *text, bool called);
	/* A model was created for a robot client. Commands may be given, for the next step. */
	void (*on_owned)(void *ctx, uint32_t model);
	/* In each step that moves, before systems decide: primary_hear() may be called. */
	void (*on_decide)(void *ctx);
	/* A command for which a system asked was obeyed, and created models. */
	void (*on_made)(void *ctx, const struct command *command);
	/* In each step: the notes, bits OBSERVE_..., that primary_hear() is given messages of. */
	uint32_t (*on_observe)(void *ctx);
	/* Each command, after it was taken; status: its outcome. */
	void (*on_taken)(void *ctx, uint64_t step, const struct command *command, troupe_status status);
	void *ctx;
};

/* For secondaries in other processes, which have copies of the state and get each step as bytes (run/wire.h). */
struct primary_remote {
	/* All acks of the step are good. counts: it counts; otherwise it is a window that was refuted and will be taken
	 * again. Called by primary_advance() or primary_refute(), while state k is still the present one. */
	void (*acked)(void *ctx, const struct step *step, bool counts);
	void *ctx;
};

struct secondary_stats { /* of one secondary */
	uint64_t steps, busy_ns, waited_ns;
	uint64_t critical_ns; /* busy time in steps in which it was the slowest */
};

struct published { /* a message that a system published in update(), for those outside who have subscribed */
	uint32_t model, system, output; /* model: SCENE_NONE: the world's */
	size_t first, count;            /* its bytes, in primary.published_bytes */
};

struct primary_counts {              /* of this run, up to the present state */
	double begun_s;              /* simulated time at which the world begins */
	uint64_t first_step;         /* the state at the run's first step; not 0 in a run that is resumed */
	double first_s;              /* simulated time of that state */
	uint64_t wall_ns, paused_ns; /* since the first step; and of these while the world was paused */
	uint64_t run_steps;          /* without paused ones */
	uint64_t moves, meetings, loads, created, removed;
	uint64_t refused, waiting; /* commands */
	uint64_t windows, repeated_steps;
	uint32_t longest_window; /* steps */
	uint64_t readings, readings_digest;
};

struct primary_progress {
	uint64_t steps, moves, levels;
	double time_s;
	bool paused;
};

struct primary;

/* shared outlives it. */
struct primary *primary_create(const struct primary_options *options, struct shared *shared);
void primary_destroy(struct primary *primary);

/* From the next step on the secondaries are in other processes. The primary then does to its own state what they do to
 * their copies: it obeys the commands for models, and it finds boxes, costs and leavers from the acks, whose
 * words of state k+1 are in `next`. To be called before the first step. */
void primary_go_remote(struct primary *primary, const struct primary_remote *remote);

/* The run goes on with other secondaries, which get the present state: secondaries 1 .. count, in other processes. A
 * step that is out is given up. Between steps, when no transport is there; then primary_go_remote(). */
void primary_regroup(struct primary *primary, uint32_t secondaries);

/* From the next step on secondaries 1 .. count work, and the others have nothing. Initially all work. */
void primary_use(struct primary *primary, uint32_t count);
/* How many secondaries take part in the step that was decided last: 1 .. this. */
uint32_t primary_taking_part(const struct primary *primary);

/* --- the merge: primary_merge.c ----------------------------------------------------------------------------------- */

/* Takes the acks of the step that is out (acks[i]: of secondary i+1). False when an ack is wrong, reports a failure,
 * or reports that its secondary gave the step up. Then primary->ended, ->status and ->error say why, and the state
 * stays the one before the step. */
bool primary_check_acks(struct primary *primary, struct ack *const *acks);
/* After primary_check_acks(): whether what was guessed for this window of steps held. */
bool primary_prove(struct primary *primary, struct ack *const *acks);
/* Call one of these three after primary_check_acks() returned true. primary_advance(): the state after the step becomes
 * the present one. primary_refute(): a guess did not hold, so the window is taken again, with fewer steps or others
 * together. primary_roll_back(): another world did not take this step, so this one does not take it either. Commands
 * of a step that is not taken stay obeyed. */
void primary_advance(struct primary *primary, struct ack *const *acks);
void primary_refute(struct primary *primary);
void primary_roll_back(struct primary *primary);

/* --- the turn ----------------------------------------------------------------------------------------------------- */

/* The step that is out, or is being decided, is given up, and this primary takes no further one. On another thread,
 * which has seized the turn. */
void primary_give_up(struct primary *primary);
/* How many steps the next window may have, as far as is known before its commands are taken; UINT32_MAX: it does not
 * matter, because the primary does not keep to real time, or has ended. */
uint32_t primary_expects(struct primary *primary);
/* Begins the next step: takes its commands and decisions. Returns how many steps its window may have; 0: there is none,
 * and primary->ended, ->status and ->error say why. When a command is due that replaces the world, the step is one in
 * which nothing moves and all secondaries release what they have; the command, and those after it, are taken in the
 * next step. May sleep, to keep to real time. most: the least of primary_expects() of the worlds that step together.
 * *ret_begin_ns: when the decision began, after the sleep, by clock_now_ns(). */
uint32_t primary_propose(struct primary *primary, uint32_t most, uint64_t *ret_begin_ns);
/* After primary_propose(): decides so many steps, at most as many as it returned, at least one if it was not 0. NULL:
 * there is no step, as above. */
const struct step *primary_decide(struct primary *primary, uint32_t steps);
/* Brings the present state to what it is after the commands and decisions of the next step, as primary_propose() does,
 * but there is no such step: for a replay of a run that failed in it. Between steps; none can be taken after it. */
void primary_begin_alone(struct primary *primary);
/* Whether primary_decide() would decide a step now: no limit is reached, and it was not asked to stop. */
bool primary_will_step(const struct primary *primary);
/* Between steps: ends the primary with this error; it decides no further step. */
void primary_fail(struct primary *primary, const struct troupe_error *error);
/* Paused, with no command waiting and no limit on steps: a step would have no effect. */
bool primary_is_idle(const struct primary *primary);

/* Whether the model is asleep: the last step that was not paused left it as it was. */
bool primary_sleeps(const struct primary *primary, uint32_t model);
/* The step that report() of the systems reads: the present state. Call it between steps. */
struct system_step primary_view(struct primary *primary);
/* The sensors of the present scene; between steps. */
struct sensors *primary_sensors(struct primary *primary);
/* Adds the files that commands name: see schedule_collect(). */
void primary_collect(struct primary *primary, struct files *files);
/* Packs all that the rest of the run depends on and that is not in the world file; between steps. */
void primary_pack(struct primary *primary, struct text *out);
/* The same with other commands that wait. */
void primary_pack_with(struct primary *primary, struct schedule *waiting, struct text *out);
/* Unpacks into a primary of the same world that has not begun. On failure the primary must not be used. */
troupe_status primary_unpack(
	struct primary *primary, struct unpack *in, broadcast_list *broadcasts, struct troupe_error *error);

double primary_time_s(const struct primary *primary);
/* Simulated time that has passed since the first step of this run, whether time was reset since or not. */
double primary_passed_s(const struct primary *primary);
/* The real-time factor that the run keeps to if it can; 0: as fast as possible. */
double primary_pace(const struct primary *primary);
/* Tells the systems that listen to the topic of something that follows from state k. Takes over the message. owner: of
 * the model that it is about (run/owners.h), whose client must be allowed to act on the listener; 0: of the world.
 * Called by on_decide() only. */
void primary_hear(struct primary *primary, uint32_t owner, const char *topic, ProtobufCMessage *message);
/* Whether the present state has the effects of the commands of the next step already: a step was begun and not taken.
 */
bool primary_has_begun(const struct primary *primary);
/* The state hash, and its part for what commands changed beside the states and the loaded levels. */
uint64_t primary_hash(const struct primary *primary);
uint64_t primary_changes_hash(const struct primary *primary);

/* --- what others read, and tell it, between steps: primary_read.c ------------------------------------------------- */

uint64_t primary_steps(const struct primary *primary); /* the number of the present state */
double primary_step_s(const struct primary *primary);  /* simulated time of a step */
bool primary_is_paused(const struct primary *primary);
bool primary_is_stepping(const struct primary *primary);     /* a limited number of steps, before it pauses again */
bool primary_has_moved(const struct primary *primary);       /* the last step was not one of a paused world */
uint64_t primary_requests(const struct primary *primary);    /* that were obeyed or refused since it was made */
uint64_t primary_scene_epoch(const struct primary *primary); /* another number after each change of the scene; not 0 */
/* Real time since the first step of this run; 0: there was none. now_ns: by clock_now_ns(). */
uint64_t primary_real_ns(const struct primary *primary, uint64_t now_ns);
/* The steps of the window that is out, which will be repeated if the run goes on without one of its secondaries; 0:
 * all secondaries have acknowledged theirs. */
uint32_t primary_open_steps(const struct primary *primary);

/* Owned by the primary, and constant until its next step: the contacts and efforts after the last step; the readings of
 * the last step, sorted; who owns what and which levels are loaded. */
const struct observed *primary_observed(const struct primary *primary);
const struct readings *primary_readings(const struct primary *primary);
const struct plan *primary_plan(const struct primary *primary);
/* Whether the window that was merged last was one of this world: false if the world had ended before. */
bool primary_advanced(const struct primary *primary);
/* The state hashes after each step that was taken last, if options.hash_steps is set. */
const uint64_t *primary_hashes(const struct primary *primary, uint32_t *ret_count);
/* What systems published in the last step that was not paused, in the order of their models, those of the world first;
 * and the bytes of one of these messages. */
const struct published *primary_published(const struct primary *primary, uint32_t *ret_count);
const char *primary_published_bytes(const struct primary *primary, const struct published *published);
const struct secondary_stats *primary_stats(const struct primary *primary, uint32_t secondary); /* 0 .. */
struct primary_counts primary_counts(const struct primary *primary);

/* The number of the component of each model of the scene, and of each level: ownership_number(). */
void primary_number_components(struct primary *primary, uint32_t *ret_models, uint32_t *ret_levels);

/* How the run ended; TROUPE_OK while it goes on, and after a good end. primary_error(): when the status is not OK. */
troupe_status primary_status(const struct primary *primary);
const struct troupe_error *primary_error(const struct primary *primary);
/* It takes steps again, up to these limits (struct primary_options). */
void primary_go_on(struct primary *primary, uint64_t iterations, double until_s);
/* It takes steps again, up to state `steps`. False: it is there. */
bool primary_go_to(struct primary *primary, uint64_t steps);
/* From now on it repeats a recording: it waits for nothing in real time, and all commands are posted that are to be
 * taken. */
void primary_replay(struct primary *primary);
/* The notes, bits OBSERVE_..., that somebody outside wants beside options.observe. */
void primary_watch(struct primary *primary, uint32_t notes);
/* Owned by the primary. Commands are posted to its schedule by any thread (run/schedule.h); clients come and go in its
 * owners (run/owners.h), after which primary_learn_pins() is called. */
struct schedule *primary_schedule(struct primary *primary);
struct owners *primary_owners(struct primary *primary);
void primary_learn_pins(struct primary *primary);

/* --- any thread, at any time -------------------------------------------------------------------------------------- */

/* It decides no further step, until primary_clear_stop(). */
void primary_stop(struct primary *primary);
void primary_clear_stop(struct primary *primary);
bool primary_is_stopped(const struct primary *primary);
/* As of about the last step. */
struct primary_progress primary_progress(const struct primary *primary);

#endif
