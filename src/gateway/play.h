/* Plays a recording (troupe/record.h) as clients of a gateway ask: one thread shows steps, others say which.
 *
 * Thread: play_run() one thread; all others but play_open() and play_close() any, at any time. */
#ifndef GATEWAY_PLAY_H
#define GATEWAY_PLAY_H

#include "base/base.h"
#include "gateway/marks.h"

struct troupe_server;
struct troupe_server_def;
struct play;

#define PLAY_SPEED_MAX 1000.0

enum play_event {
	PLAY_MOVE,    /* a model moves to another secondary, or a level is loaded or unloaded */
	PLAY_CONTACT, /* two models begin to touch (gateway/contacts.h) */
};

struct play_state {
	uint64_t begin, end, step;
	uint64_t reached;                   /* while `seeking`: the step that was simulated last, on the way */
	uint64_t hash;                      /* of the state `step` */
	bool has_hash;                      /* false while it plays or seeks */
	double speed;                       /* the real-time factor at which it plays, or will */
	uint64_t wishes;                    /* steps, events and marks that were asked for so far, and begun */
	bool playing, seeking;              /* seeking: another step is asked for, and not shown yet */
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
/* Stops playing, and shows the nearest step after the present one in which the event happens; back: before it. Without
 * one the present step stays, and state.text says so. The steps in between are simulated one by one, which can take as
 * long as playing them at full speed does; another wish ends the search. */
void play_find(struct play *play, enum play_event event, bool back);
/* Marks where contacts begin in the whole recording, which is simulated once for that, and comes back to the present
 * step; another wish ends it, with the marks up to there. model: NULL: of all models; else of this one. */
void play_mark(struct play *play, const char *model);

struct play_marks {
	struct marks commands; /* of the recorded run, which were obeyed; text: the topic */
	struct marks members;  /* secondaries that came or left while the recorded run ran; text: who */
	struct marks losses;   /* and those that were lost */
	struct marks contacts; /* that play_mark() has found; text: the two models */
};

/* If the marks are other ones than those of the version `told` (0: none yet), calls `each` with them, under a lock.
 * Returns their version. */
uint64_t play_marks(
	struct play *play, uint64_t told, void (*each)(void *ctx, const struct play_marks *marks), void *ctx);
/* 0 .. PLAY_SPEED_MAX; 0 stops. */
void play_set_speed(struct play *play, double speed);
/* The same, and sets the speed (more than 0, up to PLAY_SPEED_MAX) also if it stops. */
void play_control(struct play *play, bool playing, double speed);
void play_state(struct play *play, struct play_state *ret_state);

/* The time of a step on a time line that begins at the simulated time of the first state and grows by the same amount
 * in each step. It is the simulated time, unless the recorded world was paused or reset, or its time step changed. */
uint64_t play_time_ns(const struct play *play, uint64_t step);
/* The last step whose time is not after this one, within the recording. */
uint64_t play_step_at(const struct play *play, uint64_t time_ns);

#endif
