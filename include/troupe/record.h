/* Recordings: a run that def.record_path of its server asks for, with its commands and their steps, the seed, the
 * world, and every def.record_every steps the state; and running it again, to see whether the same bits come out. */
#ifndef TROUPE_RECORD_H
#define TROUPE_RECORD_H

#include <troupe/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends what the server writes while it runs: the recording and the table of costs. The state reached is recorded, and
 * the files are closed: what the server does after it is in neither. TROUPE_EIO when not all could be written, at any
 * time: the files are usable up to there. TROUPE_OK for a server that writes nothing. Not while it runs. A recording of
 * which this was not called counts as cut off. */
TROUPE_API troupe_status troupe_server_end_recording(struct troupe_server *server, struct troupe_error *error);

typedef enum troupe_replay_end {
	TROUPE_REPLAY_WHOLE,   /* all of it was compared */
	TROUPE_REPLAY_LIMIT,   /* up to the limit */
	TROUPE_REPLAY_CUT,     /* it ends early: its writer died, or it was cut off */
	TROUPE_REPLAY_DAMAGED, /* there is more, but it is not what was written */
	TROUPE_REPLAY_DIFFERS, /* the state of `step` is not the one that was recorded */
} troupe_replay_end;

struct troupe_replay {
	troupe_replay_end end;
	uint64_t begin;  /* step of the first state */
	uint64_t step;   /* of the last state that was compared */
	uint64_t same;   /* of the last state that was the same */
	uint64_t hashes; /* states that were compared; 0: it was cut off or damaged before the first */
	bool failed;     /* the recorded run ended by failing, after `step` */
	/* When it differs, one line: world, model, link or joint or system, and what of it; recorded and found. */
	char difference[TROUPE_ERROR_TEXT_BYTES];
};

/* Runs a recording, the file def->resume_path, again, as fast as possible: with the seed, the world and how it is
 * simulated from it, but secondaries, network, chaos, resource_paths and callbacks from def; the rest of def is not
 * looked at. Compares each recorded state up to that of step `until` (0: no limit) and stops at the first that differs,
 * which is no error, nor is the end of one that was cut off or is damaged. TROUPE_EIO; TROUPE_EWORLD:
 * no recording, or another version's; and whatever troupe_server_create() and troupe_server_run() say. Blocks. */
TROUPE_API troupe_status troupe_replay_run(const struct troupe_server_def *def, uint64_t until,
	struct troupe_replay *ret_replay, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
