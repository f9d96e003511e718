/* Repeating a recorded run, from its first state or from a later one that is in the recording (record.h): the steps
 * between two recorded hashes at a time, or a part of them. troupe_replay_run() compares all of a recording with it;
 * player.c shows any step of one.
 *
 * Thread: one at a time, which does the primary's part of the server. */
#ifndef SERVER_REPLAY_H
#define SERVER_REPLAY_H

#include "server/record.h"

#include <troupe/record.h>

struct replay_hash { /* a recorded state; zeroed: there is none */
	uint64_t step, hash;
	bool waits;  /* it was read, and the server has not reached it */
	bool failed; /* it is the state in which the run failed */
};

struct replay {
	struct recording recording;
	struct troupe_server *server; /* NULL: the recording ends, or is damaged, before its first state */
	struct record_world *worlds;  /* [server->world_count]: as they were recorded */
	struct replay_hash next;      /* commands up to its step have been posted */
	bool *begun;                  /* [server->world_count]: the worlds that have begun the step that failed */
	VEC(char *) lists;            /* lists of resource paths; cut into `paths` */
	VEC(const char *) paths;      /* NULL-terminated */
	struct troupe_replay result;
	bool done;           /* nothing is left to be read; result.end says why */
	bool has_network;    /* the server has taken the network of the definition */
	bool follows;        /* see replay_follow() */
	const struct files_source *source;
	struct text waiting; /* the last RECORD_WAITING */
};

/* Opens the recording def->resume_path and makes a server with the state of the RECORD_STATE at `state`; NULL: with its
 * first state. Call replay_fini() in any case. Errors as those of troupe_replay_run(). */
troupe_status replay_begin(struct replay *replay, const struct troupe_server_def *def,
	const struct recording_mark *state, struct troupe_error *error);
void replay_fini(struct replay *replay);

/* Reads as far as the next hash, if none waits, and posts the commands before it. Then replay->next.waits, or
 * replay->done. */
troupe_status replay_read(struct replay *replay, struct troupe_error *error);
/* Runs until `step` (at most replay->next.step) or until the server is stopped. At the step of the next hash the state
 * is compared; if it differs, replay->done. */
troupe_status replay_reach(struct replay *replay, uint64_t step, struct troupe_error *error);
/* Takes all steps of a recording that a standby got (followed.h) and appends the last state, with the commands that
 * wait in it, as server_pack() does. source: of the files that its states leave out. *ret_step: its number. Errors as
 * of troupe_replay_run(); TROUPE_EWORLD: another state than the recorded one comes out. */
troupe_status replay_follow(const struct troupe_server_def *def, const struct files_source *source, struct text *out,
	uint64_t *ret_step, struct troupe_error *error);
/* The number of the present state. */
uint64_t replay_step(const struct replay *replay);

#endif
