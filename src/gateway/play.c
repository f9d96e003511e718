/* A step is shown by simulating it, so playing is simulating at a certain pace, some steps at a time. Between two times
 * the thread looks at what clients want now. A jump may take long: a client that wants another step meanwhile has the
 * simulation stopped, and the jump begins anew. */
#include "gateway/play.h"

#include "base/clock.h"

#include <troupe/record.h>
#include <troupe/server.h>
#include <troupe/world.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SERVE_NS = 50000000, /* the clients are answered so often while nothing plays */
	NAP_NS = 4000000,    /* the shortest wait while it plays */
	LATE_NS = 200000000, /* a simulation that is so late plays slower */
};
#define CHUNK_S 0.02 /* steps of so much real time are simulated at a time */

struct play {
	struct troupe_player *player;
	void (*on_server)(void *ctx, struct troupe_server *server);
	void *ctx;
	bool is_open;
	double step_s;
	uint64_t begin_ns, step_ns; /* of the time line */
	_Atomic bool stop;
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* under the lock */
	struct troupe_server *server;
	struct play_state state;
	bool wants_step;
	uint64_t wanted;
	/* the thread's: the step that was shown at this time when it began to play at this speed */
	uint64_t anchor_ns, anchor_step;
	double anchor_speed;
};

/* --- for clients -------------------------------------------------------------------------------------------------- */

void play_seek(struct play *play, uint64_t step)
{
	pthread_mutex_lock(&play->lock);
	play->wanted = step;
	play->wants_step = true;
	if (play->state.seeking)
		troupe_server_stop(play->server);
	pthread_cond_signal(&play->more);
	pthread_mutex_unlock(&play->lock);
}

static void control(struct play *play, bool playing, double speed)
{
	pthread_mutex_lock(&play->lock);
	play->state.playing = playing;
	if (speed > 0)
		play->state.speed = speed;
	play->state.text[0] = '\0';
	pthread_cond_signal(&play->more);
	pthread_mutex_unlock(&play->lock);
}

void play_set_speed(struct play *play, double speed)
{
	control(play, speed > 0, speed);
}

void play_control(struct play *play, bool playing, double speed)
{
	control(play, playing, speed);
}

void play_state(struct play *play, struct play_state *ret_state)
{
	pthread_mutex_lock(&play->lock);
	*ret_state = play->state;
	ret_state->seeking |= play->wants_step;
	pthread_mutex_unlock(&play->lock);
}

uint64_t play_time_ns(const struct play *play, uint64_t step)
{
	return play->begin_ns + (step - play->state.begin) * play->step_ns; /* the begin is constant, as is the end */
}

uint64_t play_step_at(const struct play *play, uint64_t time_ns)
{
	uint64_t steps = time_ns > play->begin_ns ? (time_ns - play->begin_ns) / play->step_ns : 0;
	return play->state.begin + MIN(steps, play->state.end - play->state.begin);
}

void play_stop(struct play *play)
{
	atomic_store(&play->stop, true);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* The state after the thread has worked. seeking: more is to be done until the step is there. */
static void note(struct play *play, bool seeking, troupe_status status, const struct troupe_error *error)
{
	pthread_mutex_lock(&play->lock);
	play->state.step = troupe_player_step(play->player);
	play->state.seeking = seeking;
	if (status) {
		play->state.playing = false;
		(void)snprintf(play->state.text, sizeof play->state.text, "%s", error->text);
	}
	if (play->state.step >= play->state.end && !play->wants_step)
		play->state.playing = false;
	pthread_mutex_unlock(&play->lock);
}

static void go(struct play *play, uint64_t step, bool seeking)
{
	struct troupe_error error;
	troupe_status status = troupe_player_go(play->player, step, &error);
	note(play, seeking, status, &error);
}

/* The request to stop, for another jump, may come when the former jump has just ended: then the next one stops at once,
 * and is tried again. */
static void jump(struct play *play, uint64_t step)
{
	uint64_t to = MIN(MAX(step, play->state.begin), play->state.end); /* both are constant */
	for (int tries = 0; tries < 2 && troupe_player_step(play->player) != to; tries++)
		go(play, to, true);
	note(play, false, TROUPE_OK, NULL);
}

/* Whether a page wants a step. */
static bool take_wish(struct play *play, uint64_t *ret_step)
{
	pthread_mutex_lock(&play->lock);
	bool wants = play->wants_step;
	*ret_step = play->wanted;
	play->wants_step = false;
	if (wants) {
		play->state.seeking = true;
		play->state.text[0] = '\0';
	}
	pthread_mutex_unlock(&play->lock);
	return wants;
}

/* Sleeps until something is wanted, or the time has passed. */
static void rest(struct play *play, uint64_t ns)
{
	uint64_t until_ns = clock_now_ns() + ns;
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
	pthread_mutex_lock(&play->lock);
	if (!play->wants_step)
		(void)pthread_cond_timedwait(&play->more, &play->lock, &until);
	pthread_mutex_unlock(&play->lock);
}

/* Shows the steps that are due. */
static void play_some(struct play *play, double speed)
{
	uint64_t now_ns = clock_now_ns(), step = troupe_player_step(play->player);
	if (play->anchor_speed != speed) {
		play->anchor_speed = speed;
		play->anchor_ns = now_ns;
		play->anchor_step = step;
	}
	double due = floor((double)(now_ns - play->anchor_ns) * 1e-9 * speed / play->step_s);
	double late = due - (double)(step - play->anchor_step), chunk = ceil(CHUNK_S * speed / play->step_s);
	if (late < 1) {
		troupe_player_serve(play->player);
		rest(play, NAP_NS);
		return;
	}
	go(play, step + (uint64_t)MIN(late, chunk), false);
	if (late > chunk && late * play->step_s / speed > LATE_NS * 1e-9)
		play->anchor_speed = 0; /* from here on */
}

void play_run(struct play *play)
{
	while (!atomic_load(&play->stop)) {
		struct play_state state;
		uint64_t step;
		bool jumps = take_wish(play, &step);
		play_state(play, &state);
		if (jumps) {
			play->anchor_speed = 0;
			jump(play, step);
			troupe_player_serve(play->player);
		} else if (state.playing) {
			play_some(play, state.speed);
		} else {
			play->anchor_speed = 0;
			troupe_player_serve(play->player);
			rest(play, SERVE_NS);
		}
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void change_server(void *ctx, struct troupe_server *server)
{
	struct play *play = ctx;
	pthread_mutex_lock(&play->lock);
	play->server = server;
	pthread_mutex_unlock(&play->lock);
	if (play->is_open)
		play->on_server(play->ctx, server);
}

struct troupe_server *play_server(const struct play *play)
{
	return play->server;
}

/* All worlds of a recording take the same steps; the time line is that of the first one. */
static void take_begin(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct play *play = ctx;
	if (!play->begin_ns)
		play->begin_ns = (uint64_t)llround(MAX(snapshot->time_s, 0) * 1e9);
}

static void init(struct play *play)
{
	pthread_condattr_t attributes;
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* that of clock_now_ns() */
	pthread_mutex_init(&play->lock, NULL);
	pthread_cond_init(&play->more, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

troupe_status play_open(const struct troupe_server_def *def, void (*on_server)(void *ctx, struct troupe_server *server),
	void *ctx, struct play **ret_play, struct troupe_error *error)
{
	struct play *play = mem_alloc(sizeof *play);
	*play = (struct play){.on_server = on_server, .ctx = ctx, .state.speed = 1};
	init(play);
	troupe_status status = troupe_player_open(def, change_server, play, &play->player, error);
	if (status) {
		play_close(play);
		return status;
	}
	struct troupe_player_info info = troupe_player_info(play->player);
	play->state.begin = info.begin;
	play->state.end = info.end;
	play->state.step = troupe_player_step(play->player);
	play->step_s = troupe_server_step_s(play->server, 0);
	play->step_ns = (uint64_t)MAX(llround(play->step_s * 1e9), 1);
	troupe_server_look(play->server, take_begin, play);
	play->is_open = true;
	*ret_play = play;
	return TROUPE_OK;
}

void play_close(struct play *play)
{
	if (!play)
		return;
	troupe_player_close(play->player);
	pthread_cond_destroy(&play->more);
	pthread_mutex_destroy(&play->lock);
	free(play);
}
