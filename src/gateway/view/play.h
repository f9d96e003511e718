/* Plays a recording (troupe/record.h) as pages ask: one thread shows steps, others say which.
 *
 * Thread: play_run() one thread; play_seek(), play_set_speed(), play_state(), play_stop() any, at any time. */
#ifndef GATEWAY_VIEW_PLAY_H
#define GATEWAY_VIEW_PLAY_H

#include "base/base.h"

struct troupe_server;
struct troupe_server_def;
struct play;

#define PLAY_SPEED_MAX 1000.0

struct play_state {
	uint64_t begin, end, step;
	double speed; /* the real-time factor at which it plays, or will */
	bool playing, seeking;
	char text[TROUPE_ERROR_TEXT_BYTES]; /* why it stopped; "": no reason */
};

/* Opens the recording def->resume_path, at its first step. on_server, called on the thread that opens or runs: another
 * server has the state from now on, and the former one is destroyed afterwards: all its clients must be destroyed when
 * on_server returns. It is not called for the first server. Errors as of troupe_player_open(). */
troupe_status play_open(const struct troupe_server_def *def, void (*on_server)(void *ctx, struct troupe_server *server),
	void *ctx, struct play **ret_play, struct troupe_error *error);
void play_close(struct play *play);                         /* not while it runs. NULL is fine. */
struct troupe_server *play_server(const struct play *play); /* before play_run() */

/* Shows steps until play_stop(). */
void play_run(struct play *play);
void play_stop(struct play *play); /* also in a signal handler */

void play_seek(struct play *play, uint64_t step);
/* 0 .. PLAY_SPEED_MAX; 0 stops. */
void play_set_speed(struct play *play, double speed);
void play_state(struct play *play, struct play_state *ret_state);

#endif
