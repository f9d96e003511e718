/* What a primary consists of, for those that are parts of it: primary.c (the turn), primary_merge.c (acks),
 * primary_commands.c, primary_systems.c, primary_save.c (its state as bytes), primary_read.c and services.c (what a
 * command does to the primary itself). */
#ifndef RUN_PRIMARY_INTERNAL_H
#define RUN_PRIMARY_INTERNAL_H

#include "run/primary.h"
#include "run/window.h"
#include "run/wrenches.h"

#include <stdatomic.h>

struct attachment_asked { /* for a system of a model */
	uint32_t model, system;
	uint32_t link, other; /* SCENE_NONE: detach all */
};

struct triggered {
	uint64_t id;
	struct sensor_place camera;
};

struct primary {
	struct primary_options options;
	uint32_t watched; /* bits OBSERVE_... that a client watches, beside options.observe; set between steps */
	struct shared *shared;
	struct plan plan;
	struct edit edit;
	struct schedule schedule;
	struct lockstep lockstep;
	struct window window;
	touch_models moved;           /* scratch: in a window, of all acks */
	VEC(uint64_t) hashes;         /* the state hash after each step that was advanced last, if they are wanted */
	struct primary_remote remote; /* all zero: the secondaries are in this process */
	struct observed observed;     /* after the last merged step and the commands obeyed since */
	struct step step;             /* the step that is out */
	VEC(struct due_command) commands; /* by secondary */
	VEC(struct due_command) due;      /* in the order given */
	VEC(struct command) taken;        /* commands of this step; they own what `due` points to */

	/* state */
	uint32_t wanted;       /* secondaries that work from the next step on */
	uint64_t moving_steps; /* steps not paused since the last reset */
	uint64_t even_steps;   /* of these, the steps since the time step has its present length */
	double even_since_s;   /* simulated time at the first of the even steps */
	int64_t seen_ns;       /* simulated time of the last state that was stepped; INT64_MAX: none was */
	bool paused;
	bool emptied;         /* the step before was one in which no secondary had anything: see primary_decide() */
	uint64_t requests;    /* that were obeyed or refused since this primary was made */
	uint64_t multi_steps; /* steps to take before pausing again; 0: no such limit */
	double run_to_s;      /* simulated time at which to pause; 0: none */
	struct wrenches wrenches;
	/* Cameras that were triggered since the last step that was not paused; id: of the model. */
	VEC(struct triggered) triggered;

	/* Callers of blocking commands, to be told when the steps that they asked for are taken. */
	VEC(struct command_call *) waiting_calls;

	VEC(struct command) decided;     /* by systems, for the step that is being decided; see primary_systems.c */
	VEC(struct published) published; /* in the last step that was not paused */
	struct text published_bytes;
	/* Between primary_propose() and primary_decide(). decided_ns: when the decision began. */
	bool pairs_changed, is_first;
	bool advanced; /* since primary_propose(): the window counts */
	uint32_t proposed; /* steps */
	uint64_t decided_ns;
	uint32_t good; /* steps of the window that is out after which all was well, by primary_prove() */

	bool acted; /* a system has published or asked for something in this step */
	struct asking {
		const struct system *system; /* that is called now */
		uint32_t count, dropped;
	} asking;
	struct text touch_names[2]; /* of collisions; see primary_systems.c */

	VEC(struct attachment_asked) attachments; /* by systems, for the step that is being decided */
	indices attachments_refused; /* models of clients that asked for an attachment to a model of others, and were
					told */
	indices surfaced;            /* static models whose surfaces systems control in the step that is out */

	struct readings readings; /* of the last step, sorted; at the present state or the one before it */
	uint64_t reading_count, reading_digest; /* of all readings so far */
	uint64_t sensed_epoch;                  /* of the changes of the scene that the sensors follow, plus one */

	uint64_t share_rounds; /* steps so far that were shared */
	bool refuted;          /* the last step was a window whose guesses did not hold */
	bool repeats;          /* the last step was given up, so the next step repeats it, as it was decided */
	/* One more than the step for which systems have decided last; 0: none. They decide once for each step that is
	 * not paused: what they decided for a step that was given up stays, in a saved state, too. */
	uint64_t decided_step;
	uint64_t begun_step; /* the same for the step whose commands were obeyed last, paused or not */

	/* outcome */
	bool ended; /* no further step */
	troupe_status status;
	struct troupe_error error;
	uint32_t changed;              /* models, in the last step */
	uint64_t refused;              /* commands that failed */
	struct secondary_stats *stats; /* [stats_room], at least [secondaries] */
	uint32_t stats_room;
	uint64_t begin_ns, end_ns; /* first step out; last merged */
	uint64_t begin_step;       /* the state at begin_ns: not 0 in a run that is resumed */
	double begin_time_s;
	uint64_t run_steps;             /* since begin_ns, without paused ones */
	uint64_t paused_ns;             /* of the time since begin_ns, in which the world was paused */
	uint64_t paused_since_ns;       /* 0: the world is not paused */
	double passed_s, passed_from_s; /* simulated time since begin_ns: passed_s, and the time since passed_from_s */
	uint64_t pace_ns;               /* when the step of pace_at was due */
	double pace_elapsed_s;
	uint32_t paced_steps;    /* the window that begins next has at most so many; 0: any number */
	uint64_t paced_begin_ns; /* when the last window began; 0: there was none */
	uint64_t paced_step_ns;  /* real time that a step takes, about */
	uint64_t slept_ns;       /* sleep so far, to keep to real time */
	struct turn *turn;       /* of its runners; NULL: none */
	_Atomic bool stop;       /* writer: any thread; reader: the primary's part */
	/* Written by the primary; read by any thread at any time. */
	_Atomic uint64_t seen_steps, seen_moves, seen_levels;
	_Atomic double seen_time_s;
	_Atomic bool seen_paused;
};

/* Takes no further step until told otherwise; callers that wait for steps are told. */
void primary_pause(struct primary *primary);
/* Tells the callers that wait for steps to be taken. */
void primary_answer_waiting(struct primary *primary, uint64_t step, troupe_status status, const char *text);
/* Takes no further step: the run has ended. primary->error: set before, if the status is not TROUPE_OK. */
void primary_end(struct primary *primary, troupe_status status);
/* From a decision in a pause to the next one, or to the end, the world was paused: counts it until now. */
void primary_end_pause(struct primary *primary, uint64_t now_ns);
/* Real time that a step should take, in s; 0: as little as possible. */
double primary_step_real_s(const struct primary *primary);
/* Call it before simulated time jumps; and after that set passed_from_s to the new time. */
void primary_sum_time(struct primary *primary);
/* Whether the steps add up to this time, within a millionth of a step. */
bool primary_has_reached(const struct primary *primary, double time_s);
/* How many steps, at most `most`, may be taken together from step k on, whose commands were obeyed already; at least 1.
 * Commands that are posted from now on are for steps after those. */
uint64_t primary_horizon(struct primary *primary, uint64_t k, uint64_t most);
/* What primary_horizon() will answer for step k if no command is posted meanwhile. Before its commands are obeyed. */
uint64_t primary_expected_horizon(struct primary *primary, uint64_t k, uint64_t most);
/* Whether a window must not go on where a performer comes near a level or leaves it. */
bool primary_minds_levels(struct primary *primary);
/* Calls update() of all systems that have it. What they ask for is in primary->decided then; the caller obeys it in
 * this step, in that order. */
void primary_update_systems(struct primary *primary);
/* Replaces the state of the world by another state, which primary_pack() wrote for a primary of the same world; the
 * step number goes on. Commands that wait in that state are taken as many steps after this step as they were after the
 * state. Commands that wait here stay, except for commands that came with a state that was taken up before: they are
 * dropped. Call it when no secondary has a model or a level: primary->emptied. On failure nothing has changed. *note:
 * what was done. TROUPE_EWORLD: damaged; TROUPE_ELIMIT: too many commands would wait. */
troupe_status primary_adopt_state(struct primary *primary, const char *bytes, size_t count, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error);
#endif
