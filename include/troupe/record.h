/* Recordings, and replaying them to see whether the same bits come out. def.record_path of a server asks for a
 * recording. It holds the world, the seed, the commands with their steps, a hash and the changes of the state every
 * def.record_every steps, and now and then the whole state. */
#ifndef TROUPE_RECORD_H
#define TROUPE_RECORD_H

#include <troupe/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the files that the server writes while it runs: the recording and the table of costs. The present state is
 * recorded, and the files are closed: they do not hold what the server does afterwards. TROUPE_EIO: some data could
 * not be written, now or earlier; the files are usable up to that point. TROUPE_OK if the server writes no such file.
 * Not while it runs. A recording for which this function was not called counts as cut off. */
TROUPE_API troupe_status troupe_server_end_recording(struct troupe_server *server, struct troupe_error *error);

typedef enum troupe_replay_end {
	TROUPE_REPLAY_WHOLE,   /* the whole recording was compared */
	TROUPE_REPLAY_LIMIT,   /* compared up to the limit */
	TROUPE_REPLAY_CUT,     /* the recording ends early: the process that wrote it died, or the file was cut off */
	TROUPE_REPLAY_DAMAGED, /* the recording goes on, but with other data than was written */
	TROUPE_REPLAY_DIFFERS, /* the state of `step` is not the one that was recorded */
} troupe_replay_end;

struct troupe_replay {
	troupe_replay_end end;
	uint64_t begin;  /* step of the first state */
	uint64_t step;   /* of the last state that was compared */
	uint64_t same;   /* of the last state that was equal */
	uint64_t hashes; /* number of states that were compared; 0: the recording ends, or is damaged, before the
			  * first */
	uint64_t readings, readings_digest; /* of all worlds: see report.h */
	bool failed;                        /* the recorded run ended with an error, after `step` */
	/* For TROUPE_REPLAY_DIFFERS, one line: the world; the model, link, joint or system; the quantity; the
	 * recorded value and the present one. */
	char difference[TROUPE_ERROR_TEXT_BYTES];
};

/* Runs the recording in the file def->resume_path again, as fast as possible. The seed, the world and the options of
 * its simulation come from the recording; secondaries, network, chaos, resource_paths, step_every and callbacks come
 * from def, on_server among them; other members of def are ignored. Each recorded state is compared, up to that of step
 * `until` (0: no limit). The run stops at the first state that differs. That is no error; neither is a recording that
 * was cut off or is damaged. TROUPE_EIO; TROUPE_EWORLD: not a recording, or one of another version; and the errors of
 * troupe_server_create() and troupe_server_run(). Blocks. */
TROUPE_API troupe_status troupe_replay_run(const struct troupe_server_def *def, uint64_t until,
	struct troupe_replay *ret_replay, struct troupe_error *error);

/* --- two recordings ----------------------------------------------------------------------------------------------- */

struct troupe_difference {
	bool differs;       /* a state differs */
	bool same_start;    /* both begin with the same world, files, seed and settings */
	uint64_t begin;     /* the first step that both have */
	uint64_t ends[2];   /* the last state of each; only states that both have are compared */
	uint64_t step;      /* of the first state that differs; otherwise the last one that was compared */
	uint64_t same;      /* of the last state before it that is equal; if there is none, `begin` */
	uint64_t hashes[2]; /* of the states of `step`; 0: recorded hashes and commands alone were compared */
	char what[TROUPE_ERROR_TEXT_BYTES]; /* "world 'w': model 'm', link 'l': position x" */
	bool has_words;                     /* it is one word of a model's state, which both have */
	bool is_real;                       /* the word is the bits of a double; otherwise a whole number */
	uint64_t words[2];
};

struct troupe_diff_def {
	/* Each as for troupe_replay_run(), but without a network; on_taken is called with the commands from the last
	 * recorded state on which may be a part of the difference, on_member with the changes of the members of
	 * each recorded run. */
	const struct troupe_server_def *sides[2];
	/* NULL, or called with the word that differs: in `before` states before the one that differs, in it, and in
	 * `after` states after it, as far as both recordings have them. there: whether each has the model. */
	void (*on_sample)(void *ctx, uint64_t step, const uint64_t words[2], const bool there[2]);
	uint64_t before, after;
	void *ctx;
};

/* Finds the first state that differs. Recorded hashes and commands say from which state on both have to be simulated,
 * so equal recordings are not simulated at all. That they differ is no error. TROUPE_EIO; TROUPE_EWORLD: not a
 * recording, no common step, or a state is not the recorded one here. Blocks. */
TROUPE_API troupe_status troupe_diff(
	const struct troupe_diff_def *def, struct troupe_difference *ret_difference, struct troupe_error *error);

/* --- showing any step of a recording ------------------------------------------------------------------------------ */

/* A player makes the state of any step of a recording: it takes the nearest recorded state before it and simulates the
 * steps in between, as fast as possible. Each hash on the way is compared, so a state that is shown is the recorded
 * one. With TROUPE_SECONDARIES_AUTO all secondaries work that a run would have at most, so that moves do not depend on
 * how long steps take.
 *
 * Thread: one thread at a time. Clients (client.h) of its server are on threads of their own, as always. */
struct troupe_player;

struct troupe_player_info {
	uint64_t begin, end;   /* steps of the first and of the last recorded state */
	uint64_t hashes;       /* states whose hash was recorded */
	uint64_t states;       /* states from which a jump can begin */
	troupe_replay_end how; /* TROUPE_REPLAY_WHOLE, _CUT or _DAMAGED: how the recording ends, after `end` */
	bool failed;           /* the recorded run ended with an error */
};

/* Opens the recording def->resume_path, reads all of it once, and shows its first state. The same members of def count
 * as for troupe_replay_run(), but there is no network, and on_taken, if it is not NULL, is called during this call with
 * each command of the recorded run, without its text, which is then "", and on_member with each change of its members,
 * of which stood_still_s is not known. on_server, which may be NULL, is called when
 * another server has taken the place of the former one, also during this call: the former one is destroyed after
 * on_server has returned, so its clients must be destroyed then. Errors as of troupe_replay_run(); TROUPE_EWORLD: no
 * state at all. */
TROUPE_API troupe_status troupe_player_open(const struct troupe_server_def *def,
	void (*on_server)(void *ctx, struct troupe_server *server), void *ctx, struct troupe_player **ret_player,
	struct troupe_error *error);
/* NULL is fine. */
TROUPE_API void troupe_player_close(struct troupe_player *player);

/* Shows the state `step`, or the first or the last one if there is none of this number. Blocks until it is there, or
 * until troupe_player_stop(): then a state on the way to `step` is shown, and a later call goes on. If it fails the
 * former state is shown, or a state on the way. TROUPE_EWORLD: a state differs from the recorded one. */
TROUPE_API troupe_status troupe_player_go(struct troupe_player *player, uint64_t step, struct troupe_error *error);
/* Any thread, also in a signal handler: the call of troupe_player_go() that is under way, or otherwise the next one,
 * returns soon. */
TROUPE_API void troupe_player_stop(struct troupe_player *player);
/* Any thread: the step that was simulated last, which is not shown yet while troupe_player_go() is on its way. */
TROUPE_API uint64_t troupe_player_reached(const struct troupe_player *player);
TROUPE_API uint64_t troupe_player_step(const struct troupe_player *player);
/* Whether models may have been made during the recorded run, by commands or by plug-ins. */
TROUPE_API bool troupe_player_creates(const struct troupe_player *player);
/* The step of the recorded state from which a jump back to `step` begins: the last one that is not after it. */
TROUPE_API uint64_t troupe_player_start(const struct troupe_player *player, uint64_t step);
/* Answers the clients of the server while no steps are taken: call it some ten times a second. */
TROUPE_API void troupe_player_serve(struct troupe_player *player);

/* The server that has the present state, until on_server is called. It can be read and has clients, but refuses
 * commands; do not run or destroy it. */
TROUPE_API struct troupe_server *troupe_player_server(const struct troupe_player *player);
TROUPE_API struct troupe_player_info troupe_player_info(const struct troupe_player *player);

#ifdef __cplusplus
}
#endif
#endif
