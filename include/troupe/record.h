/* Recordings, and replaying them to see whether the same bits come out. def.record_path of a server asks for a
 * recording. It holds the world, the seed, the commands with their steps, and the state every def.record_every steps.
 */
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
 * its simulation come from the recording; secondaries, network, chaos, resource_paths and callbacks come from def;
 * other members of def are ignored. Each recorded state is compared, up to that of step `until` (0: no limit). The
 * run stops at the first state that differs. That is no error; neither is a recording that was cut off or is damaged.
 * TROUPE_EIO; TROUPE_EWORLD: not a recording, or one of another version; and the errors of troupe_server_create() and
 * troupe_server_run(). Blocks. */
TROUPE_API troupe_status troupe_replay_run(const struct troupe_server_def *def, uint64_t until,
	struct troupe_replay *ret_replay, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
