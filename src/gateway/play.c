/* A step is shown by simulating it, so playing is simulating at a certain pace, some steps at a time. Between two times
 * the thread looks at what clients want now. A jump may take long: a client that wants another step meanwhile has the
 * simulation stopped, and the jump begins anew.
 *
 * Events are found by simulating, too. A recording does not say where they are: moves depend on the number of
 * secondaries that simulate it, and contacts are not recorded. To find an event before a step, the steps after the
 * recorded state before it are simulated, and the last event on the way counts; if there is none, those after the
 * recorded state before that one, and so on.
 *
 * Whether a contact begins in a state depends on the states of 0.1 s before it. A search looks at these first, so it
 * finds the same contacts wherever it begins, forward and back. */
#include "gateway/play.h"

#include "base/clock.h"
#include "gateway/contacts.h"

#include <troupe/record.h>
#include <troupe/report.h>
#include <troupe/server.h>
#include <troupe/world.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SERVE_NS = 50000000,   /* the clients are answered so often while nothing plays */
	PLAY_NAP_NS = 4000000, /* the shortest wait while it plays */
	LATE_NS = 200000000,   /* a simulation that is so late plays slower */
};
enum { PLAY_NAME_MAX = 256 };
#define CHUNK_S 0.02 /* steps of so much real time are simulated at a time */

struct play_wish {
	bool finds; /* an event: `event`, `back` */
	bool marks; /* contacts, of `model`; "": of all models */
	enum play_event event;
	bool back;
	uint64_t step; /* without `finds` and `marks` */
	char model[PLAY_NAME_MAX];
};

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
	bool wants; /* a step, or an event */
	struct play_wish wish;
	struct play_marks marks;
	uint64_t marks_version;
	/* the thread's, for searches */
	uint32_t world_count;
	struct contacts *contacts; /* [world_count] */
	uint64_t looked;           /* the state that `contacts` took last; UINT64_MAX: none */
	bool moved, touched;       /* in the last step */
	bool marking;              /* contacts of `marked` become marks */
	char marked[PLAY_NAME_MAX];
	/* the thread's: the step that was shown at this time when it began to play at this speed */
	uint64_t anchor_ns, anchor_step;
	double anchor_speed;
};

/* --- for clients -------------------------------------------------------------------------------------------------- */

static void play_want(struct play *play, struct play_wish wish)
{
	pthread_mutex_lock(&play->lock);
	play->wish = wish;
	play->wants = true;
	play->state.playing &= !wish.finds && !wish.marks;
	if (play->state.seeking)
		troupe_player_stop(play->player);
	pthread_cond_signal(&play->more);
	pthread_mutex_unlock(&play->lock);
}

void play_seek(struct play *play, uint64_t step)
{
	play_want(play, (struct play_wish){.step = step});
}

void play_find(struct play *play, enum play_event event, bool back)
{
	play_want(play, (struct play_wish){.finds = true, .event = event, .back = back});
}

void play_mark(struct play *play, const char *model)
{
	struct play_wish wish = {.marks = true};
	(void)snprintf(wish.model, sizeof wish.model, "%s", model ? model : "");
	play_want(play, wish);
}

uint64_t play_marks(
	struct play *play, uint64_t told, void (*each)(void *ctx, const struct play_marks *marks), void *ctx)
{
	pthread_mutex_lock(&play->lock);
	uint64_t version = play->marks_version;
	if (version != told)
		each(ctx, &play->marks);
	pthread_mutex_unlock(&play->lock);
	return version;
}

static void play_set(struct play *play, bool playing, double speed)
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
	play_set(play, speed > 0, speed);
}

void play_control(struct play *play, bool playing, double speed)
{
	play_set(play, playing, speed);
}

void play_state(struct play *play, struct play_state *ret_state)
{
	pthread_mutex_lock(&play->lock);
	*ret_state = play->state;
	ret_state->seeking |= play->wants;
	ret_state->reached = ret_state->seeking ? troupe_player_reached(play->player) : ret_state->step;
	ret_state->has_hash &= !ret_state->playing && !ret_state->seeking;
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
	troupe_player_stop(play->player);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* The state after the thread has worked. seeking: more is to be done until the step is there. */
static void play_note(struct play *play, bool seeking, troupe_status status, const struct troupe_error *error)
{
	pthread_mutex_lock(&play->lock);
	uint64_t step = troupe_player_step(play->player);
	play->state.has_hash &= play->state.step == step;
	play->state.step = step;
	play->state.seeking = seeking;
	if (status) {
		play->state.playing = false;
		(void)snprintf(play->state.text, sizeof play->state.text, "%s", error->text);
	}
	if (play->state.step >= play->state.end && !play->wants)
		play->state.playing = false;
	pthread_mutex_unlock(&play->lock);
}

static void play_go(struct play *play, uint64_t step, bool seeking)
{
	struct troupe_error error;
	troupe_status status = troupe_player_go(play->player, step, &error);
	play_note(play, seeking, status, &error);
}

/* Whether the present wish is given up, for another one or for the end. */
static bool play_is_over(struct play *play)
{
	pthread_mutex_lock(&play->lock);
	bool wants = play->wants;
	pthread_mutex_unlock(&play->lock);
	return wants || atomic_load(&play->stop);
}

/* The request to stop, for another wish, may come when the former jump has just ended: then the next one stops at once,
 * and is tried again. Returns whether the step is there. */
static bool play_approach(struct play *play, uint64_t step)
{
	uint64_t to = MIN(MAX(step, play->state.begin), play->state.end); /* both are constant */
	for (int tries = 0; tries < 2 && troupe_player_step(play->player) != to && !play_is_over(play); tries++)
		play_go(play, to, true);
	return troupe_player_step(play->player) == to;
}

static void play_jump(struct play *play, uint64_t step)
{
	(void)play_approach(play, step);
	play_note(play, false, TROUPE_OK, NULL);
}

/* Whether a client wants a step, or an event. */
static bool play_take_wish(struct play *play, struct play_wish *ret_wish)
{
	pthread_mutex_lock(&play->lock);
	bool wants = play->wants;
	*ret_wish = play->wish;
	play->wants = false;
	if (wants) {
		play->state.seeking = true;
		play->state.wishes++;
		play->state.text[0] = '\0';
	}
	pthread_mutex_unlock(&play->lock);
	return wants;
}

/* The state that is shown stays for a while. */
static void play_hash(struct play *play)
{
	pthread_mutex_lock(&play->lock);
	bool has_hash = play->state.has_hash;
	pthread_mutex_unlock(&play->lock);
	if (has_hash)
		return;
	uint64_t found = troupe_server_hash(play->server);
	pthread_mutex_lock(&play->lock);
	play->state.hash = found;
	play->state.has_hash = true;
	pthread_mutex_unlock(&play->lock);
}

/* Sleeps until something is wanted, or the time has passed. */
static void play_rest(struct play *play, uint64_t ns)
{
	uint64_t until_ns = clock_now_ns() + ns;
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
	pthread_mutex_lock(&play->lock);
	if (!play->wants)
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
		play_rest(play, PLAY_NAP_NS);
		return;
	}
	play_go(play, step + (uint64_t)MIN(late, chunk), false);
	if (late > chunk && late * play->step_s / speed > LATE_NS * 1e-9)
		play->anchor_speed = 0; /* from here on */
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* In a step of the player, on a thread of its server. Levels that are loaded from the beginning are no news. */
static void play_on_event(void *ctx, const struct troupe_event *event)
{
	struct play *play = ctx;
	play->moved |= event->step > play->state.begin &&
		       (event->kind == TROUPE_EVENT_MOVE || event->kind == TROUPE_EVENT_LOAD ||
			       event->kind == TROUPE_EVENT_UNLOAD);
}

static void play_take_contacts(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct play *play = ctx;
	for (uint32_t i = 0; i < play->world_count; i++)
		if (!strcmp(snapshot->world, troupe_server_world_name(play->server, i)))
			play->touched |=
				contacts_take(&play->contacts[i], snapshot, troupe_server_step_s(play->server, i));
}

static void play_look_at_contacts(struct play *play)
{
	troupe_server_look(play->server, play_take_contacts, play);
	play->looked = troupe_player_step(play->player);
}

/* The number of states before a state that must be known. In a recorded state from which a server has just begun no
 * contacts are known, so the first of these states is the one after it. */
static uint64_t play_lead_of(const struct play *play, enum play_event event)
{
	uint64_t lead = 0;
	for (uint32_t i = 0; event == PLAY_CONTACT && i < play->world_count; i++)
		lead = MAX(lead, MAX(contacts_apart_steps(troupe_server_step_s(play->server, i)), 1));
	return lead;
}

/* Takes a step. False: there is none before `end`, or the search is over for another reason. */
static bool play_search(struct play *play, enum play_event event, uint64_t end, bool *ret_happens)
{
	uint64_t step = troupe_player_step(play->player) + 1;
	play->moved = play->touched = false;
	if (step >= end || !play_approach(play, step))
		return false;
	if (event == PLAY_CONTACT)
		play_look_at_contacts(play);
	*ret_happens = event == PLAY_CONTACT ? play->touched : play->moved;
	return true;
}

/* Looks at the states after `from`, up to `to`, whatever happens there: they are known then. */
static bool play_learn(struct play *play, enum play_event event, uint64_t from, uint64_t to)
{
	bool happens;
	for (uint32_t i = 0; i < play->world_count; i++)
		contacts_forget(&play->contacts[i]);
	bool goes_on = play_approach(play, from);
	while (goes_on && troupe_player_step(play->player) < to)
		goes_on = play_search(play, event, to + 1, &happens);
	play->looked = goes_on && event == PLAY_CONTACT ? to : UINT64_MAX;
	return goes_on;
}

static bool play_find_after(struct play *play, enum play_event event, uint64_t *ret_step)
{
	uint64_t now = troupe_player_step(play->player), lead = MIN(play_lead_of(play, event), now - play->state.begin);
	bool happens = false;
	if (event == PLAY_CONTACT && play->looked != now && !play_learn(play, event, now - lead, now))
		return false;
	while (!happens && play_search(play, event, play->state.end + 1, &happens))
		;
	if (happens)
		*ret_step = troupe_player_step(play->player);
	return happens;
}

/* The last one after `first` and before `before`, by a server that begins at the recorded state `from`. */
static bool play_find_between(
	struct play *play, enum play_event event, uint64_t from, uint64_t first, uint64_t before, uint64_t *ret_step)
{
	bool found = false, happens;
	if (!play_learn(play, event, from, first))
		return false;
	while (play_search(play, event, before, &happens))
		if (happens) {
			*ret_step = troupe_player_step(play->player);
			found = true;
		}
	return found && troupe_player_step(play->player) + 1 >= before;
}

static bool play_find_before(struct play *play, enum play_event event, uint64_t now, uint64_t *ret_step)
{
	uint64_t begin = play->state.begin, lead = play_lead_of(play, event), before = now;
	bool found = false, whole = true;
	while (!found && whole && before > begin + 1) {
		/* so that the states to be known end before the last one that may be found */
		uint64_t known = before - 2, from = troupe_player_start(play->player, known - MIN(lead, known - begin));
		uint64_t first = from > begin ? from + lead : begin;
		found = play_find_between(play, event, from, first, before, ret_step);
		whole = troupe_player_step(play->player) + 1 >= before;
		before = first + 1;
	}
	return found;
}

/* A search that ended because a state differs, or a client wants something else, leaves the state that it has come to.
 */
static void play_find_event(struct play *play, enum play_event event, bool back)
{
	static const char *const names[] = {
		[PLAY_MOVE] = "nothing moves or is loaded", [PLAY_CONTACT] = "no contact begins"};
	uint64_t now = troupe_player_step(play->player), step = now;
	struct play_state state;
	bool found = back ? play_find_before(play, event, now, &step) : play_find_after(play, event, &step);
	play_state(play, &state);
	if (!found && (play_is_over(play) || *state.text)) {
		play_note(play, false, TROUPE_OK, NULL);
		return;
	}
	(void)play_approach(play, step);
	struct troupe_error none;
	(void)fail(&none, TROUPE_ECOMMAND, "%s step %" PRIu64 " %s", back ? "before" : "after", now, names[event]);
	/* at once: a client that sees that the search is over sees why */
	play_note(play, false, found ? TROUPE_OK : TROUPE_ECOMMAND, &none);
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

/* Of the recorded run, while the player is opened. */
static void play_on_taken(void *ctx, const struct troupe_taken *taken)
{
	struct play *play = ctx;
	if (!taken->refused)
		marks_add(&play->marks.commands, taken->step, taken->topic);
}

/* The same. */
static void play_on_member(void *ctx, const struct troupe_report_member *change)
{
	struct play *play = ctx;
	bool lost = change->change == TROUPE_MEMBER_LOST;
	char *text = mem_printf("%s %s", change->who, troupe_member_change_name(change->change));
	marks_add(lost ? &play->marks.losses : &play->marks.members, change->step, text);
	free(text);
}

static void play_on_contact(void *ctx, const char *a, const char *b)
{
	struct play *play = ctx;
	if (!play->marking || (*play->marked && strcmp(play->marked, a) != 0 && strcmp(play->marked, b) != 0))
		return;
	char *text = mem_printf("%s, %s", a, b);
	pthread_mutex_lock(&play->lock);
	marks_add(&play->marks.contacts, troupe_player_step(play->player), text);
	play->marks_version++;
	pthread_mutex_unlock(&play->lock);
	free(text);
}

static void play_mark_contacts(struct play *play, const struct play_wish *wish)
{
	uint64_t now = troupe_player_step(play->player);
	pthread_mutex_lock(&play->lock);
	marks_clear(&play->marks.contacts);
	play->marks_version++;
	pthread_mutex_unlock(&play->lock);
	memcpy(play->marked, wish->model, sizeof play->marked);
	play->marking = true;
	(void)play_learn(play, PLAY_CONTACT, play->state.begin, play->state.end); /* both are constant */
	play->marking = false;
	play_jump(play, now);
}

/* --- the turn ----------------------------------------------------------------------------------------------------- */

void play_run(struct play *play)
{
	while (!atomic_load(&play->stop)) {
		struct play_state state;
		struct play_wish wish;
		bool wants = play_take_wish(play, &wish);
		play_state(play, &state);
		if (wants) {
			play->anchor_speed = 0;
			if (wish.marks)
				play_mark_contacts(play, &wish);
			else if (wish.finds)
				play_find_event(play, wish.event, wish.back);
			else
				play_jump(play, wish.step);
			troupe_player_serve(play->player);
		} else if (state.playing) {
			play_some(play, state.speed);
		} else {
			play->anchor_speed = 0;
			troupe_player_serve(play->player);
			play_hash(play);
			play_rest(play, SERVE_NS);
		}
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void play_change_server(void *ctx, struct troupe_server *server)
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
static void play_take_begin(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct play *play = ctx;
	if (!play->begin_ns)
		play->begin_ns = (uint64_t)llround(MAX(snapshot->time_s, 0) * 1e9);
}

static void play_init(struct play *play)
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
	struct troupe_server_def watched = *def;
	*play = (struct play){
		.on_server = on_server, .ctx = ctx, .state.speed = 1, .looked = UINT64_MAX, .marks_version = 1};
	play_init(play);
	watched.observe |= TROUPE_OBSERVE_CONTACTS;
	watched.window = 1; /* moves are made between windows: each is at its step, wherever playing began */
	watched.on_event = play_on_event;
	watched.on_taken = play_on_taken;
	watched.on_member = play_on_member;
	watched.ctx = play;
	troupe_status status = troupe_player_open(&watched, play_change_server, play, &play->player, error);
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
	troupe_server_look(play->server, play_take_begin, play);
	play->world_count = troupe_server_world_count(play->server);
	play->contacts = mem_alloc(play->world_count * sizeof *play->contacts);
	for (uint32_t i = 0; i < play->world_count; i++)
		play->contacts[i] = (struct contacts){.on_begin = play_on_contact, .ctx = play};
	play->is_open = true;
	*ret_play = play;
	return TROUPE_OK;
}

void play_close(struct play *play)
{
	if (!play)
		return;
	troupe_player_close(play->player);
	for (uint32_t i = 0; i < play->world_count; i++)
		contacts_fini(&play->contacts[i]);
	free(play->contacts);
	marks_clear(&play->marks.commands);
	marks_clear(&play->marks.members);
	marks_clear(&play->marks.losses);
	marks_clear(&play->marks.contacts);
	pthread_cond_destroy(&play->more);
	pthread_mutex_destroy(&play->lock);
	free(play);
}
