/* A call that waits for its reply takes the place of a connection: the Step is the reply to the call that answered the
 * Step before. Two things differ from the socket. A reply may be lost on its way, because callers wait for a limited
 * time: so a call without an answer, or with an answer that was taken already, gets the Step that is open, once more.
 * And only a transport with connections sees a client die: otherwise the deadline does.
 *
 * Each caller has a lock, which no thread holds for long. `reply` may take locks of the transport, whose threads may
 * want the caller's: so no thread calls it with a lock. */
#include "gateway/lockstep/callers.h"

#include "base/eventcount.h"
#include "gateway/lockstep/lockstep_member.h"
#include "topic/message.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { GONE_MAX = 64 };

const struct callers_row callers_rows[CALLERS_SERVICES] = {
	[CALLERS_JOIN] = {"/lockstep/join", "troupe.msgs.LockstepJoin", "troupe.msgs.LockstepToClient"},
	[CALLERS_STEP] = {"/lockstep/step", "troupe.msgs.LockstepTurn", "troupe.msgs.LockstepToClient"},
	[CALLERS_LEAVE] = {"/lockstep/leave", "troupe.msgs.LockstepLeave", "troupe.msgs.LockstepToClient"},
};

struct caller {
	struct callers *callers;
	struct lockstep_member member;
	char *name;
	uint64_t connection;
	pthread_mutex_t guard;            /* of what follows, up to `answered` */
	uint64_t request;                 /* waits for a Step; 0: none */
	bool open;                        /* a barrier is open, and not answered */
	struct text step;                 /* the frame of its Step */
	Troupe__Msgs__LockstepTurn *turn; /* an answer that waits for its barrier; NULL: none */
	bool has_answered;
	uint64_t answered_step; /* the last one; only if has_answered */
	bool lost;              /* its connection */
	bool over, told;
	struct troupe_error why; /* only if over; told: a call was told it */
	struct eventcount answered;
};

struct gone { /* a client that is out, and was not told why */
	char *name;
	uint64_t connection;
	struct troupe_error why;
};

struct callers {
	struct troupe_server *server;
	void (*reply)(void *ctx, uint64_t request, const void *bytes, size_t count);
	void *ctx;
	/* Of `all`: held by the thread that changes the list, and by other threads that read it. */
	pthread_mutex_t guard;
	VEC(struct caller *) all;
	VEC(struct gone) gone;   /* the oldest first */
	_Atomic uint64_t joined; /* so many have joined so far */
};

/* --- replies ------------------------------------------------------------------------------------------------------ */

static void callers_reply_frame(const struct callers *callers, uint64_t request, const struct text *frame)
{
	callers->reply(callers->ctx, request, frame->at + PACKET_HEAD_BYTES, frame->count - PACKET_HEAD_BYTES);
}

static void callers_refuse(const struct callers *callers, uint64_t request, const char *why)
{
	struct text frame = {0};
	packet_add_refused(&frame, why);
	callers_reply_frame(callers, request, &frame);
	text_fini(&frame);
}

static void callers_tell_end(const struct callers *callers, uint64_t request, bool failed, const char *why)
{
	struct text frame = {0};
	packet_add_ended(&frame, failed, why);
	callers_reply_frame(callers, request, &frame);
	text_fini(&frame);
}

/* --- a barrier: on the thread of the step ------------------------------------------------------------------------- */

static void callers_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct caller *caller = ctx;
	pthread_mutex_lock(&caller->guard);
	caller->step.count = 0;
	lockstep_member_add_step(&caller->member, barrier, &caller->step);
	uint64_t request = caller->request;
	caller->open = true;
	caller->request = 0;
	pthread_mutex_unlock(&caller->guard);
	if (request)
		callers_reply_frame(caller->callers, request, &caller->step);
}

static troupe_answer callers_poll_answer(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct caller *caller = ctx;
	uint32_t seen = eventcount_read(&caller->answered);
	pthread_mutex_lock(&caller->guard);
	Troupe__Msgs__LockstepTurn *turn = caller->turn;
	bool lost = caller->lost;
	caller->turn = NULL;
	if (turn) {
		caller->open = false;
		caller->has_answered = true;
		caller->answered_step = turn->done->step;
	}
	pthread_mutex_unlock(&caller->guard);
	if (!turn && lost) {
		(void)fail(error, TROUPE_EPEER, "it closed its connection");
		return TROUPE_ANSWER_FAILED;
	}
	if (!turn && wait_ns)
		(void)eventcount_await(&caller->answered, seen, 0, wait_ns);
	else if (!turn)
		eventcount_relax();
	if (!turn)
		return TROUPE_ANSWER_NONE;
	troupe_answer answer = lockstep_member_take_done(&caller->member, turn->done, barrier, error);
	message_free(&turn->base);
	return answer;
}

static void callers_out(void *ctx, const struct troupe_error *why)
{
	struct caller *caller = ctx;
	pthread_mutex_lock(&caller->guard);
	uint64_t request = caller->request;
	caller->over = true;
	caller->told = request;
	caller->why = *why;
	caller->request = 0;
	pthread_mutex_unlock(&caller->guard);
	if (request)
		callers_tell_end(caller->callers, request, why->status, why->text);
}

static const struct troupe_barrier_ops callers_ops = {
	.begin = callers_begin, .poll = callers_poll_answer, .out = callers_out};

/* --- callers ------------------------------------------------------------------------------------------------------ */

static struct caller *callers_find(const struct callers *callers, uint64_t connection, const char *name)
{
	for (uint32_t i = 0; i < callers->all.count; i++) {
		struct caller *caller = callers->all.at[i];
		if (caller->connection == connection && !strcmp(caller->name, name))
			return caller;
	}
	return NULL;
}

/* Leaves the lockstep. */
static void callers_destroy_one(struct caller *caller)
{
	lockstep_member_leave(&caller->member);
	lockstep_member_fini(&caller->member);
	message_free(caller->turn ? &caller->turn->base : NULL);
	text_fini(&caller->step);
	pthread_mutex_destroy(&caller->guard);
	free(caller->name);
	free(caller);
}

static void callers_drop_gone(struct callers *callers, uint32_t at)
{
	free(callers->gone.at[at].name);
	callers->gone.count--;
	memmove(&callers->gone.at[at], &callers->gone.at[at + 1],
		(callers->gone.count - at) * sizeof *callers->gone.at);
}

static bool callers_find_gone(const struct callers *callers, uint64_t connection, const char *name, uint32_t *ret_at)
{
	for (uint32_t i = 0; i < callers->gone.count; i++) {
		const struct gone *gone = &callers->gone.at[i];
		if (gone->connection != connection || strcmp(gone->name, name) != 0)
			continue;
		*ret_at = i;
		return true;
	}
	return false;
}

static void callers_keep_gone(struct callers *callers, const struct caller *caller)
{
	if (callers->gone.count == GONE_MAX)
		callers_drop_gone(callers, 0);
	vec_push(&callers->gone, (struct gone){mem_strdup(caller->name), caller->connection, caller->why});
}

static bool callers_is_over(struct caller *caller)
{
	pthread_mutex_lock(&caller->guard);
	bool over = caller->over;
	pthread_mutex_unlock(&caller->guard);
	return over;
}

static void callers_take_out(struct callers *callers, uint32_t at)
{
	pthread_mutex_lock(&callers->guard);
	callers->all.at[at] = callers->all.at[--callers->all.count];
	pthread_mutex_unlock(&callers->guard);
}

/* Frees the places of clients that are out. One that did not call then is told why when it calls. */
static void callers_reap(struct callers *callers)
{
	for (uint32_t i = callers->all.count; i-- > 0;) {
		struct caller *caller = callers->all.at[i];
		if (!callers_is_over(caller))
			continue;
		callers_take_out(callers, i);
		if (!caller->told && !caller->lost)
			callers_keep_gone(callers, caller);
		callers_destroy_one(caller);
	}
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void callers_join(
	struct callers *callers, uint64_t connection, uint64_t request, const Troupe__Msgs__LockstepJoin *asked)
{
	struct caller *caller = mem_alloc_lines(sizeof *caller);
	struct troupe_error error;
	struct text frame = {0};
	uint32_t at;
	*caller = (struct caller){.callers = callers, .name = mem_strdup(asked->name), .connection = connection};
	pthread_mutex_init(&caller->guard, NULL);
	if (lockstep_member_join(&caller->member, callers->server, asked, &callers_ops, caller, &error)) {
		callers_refuse(callers, request, error.text);
		callers_destroy_one(caller);
		return;
	}
	pthread_mutex_lock(&callers->guard);
	vec_push(&callers->all, caller);
	pthread_mutex_unlock(&callers->guard);
	atomic_fetch_add_explicit(&callers->joined, 1, memory_order_relaxed);
	if (callers_find_gone(callers, connection, caller->name, &at))
		callers_drop_gone(callers, at);
	lockstep_member_add_welcome(&caller->member, asked, &frame);
	callers_reply_frame(callers, request, &frame);
	text_fini(&frame);
}

/* The client is not there: it may have been once. */
static void callers_turn_away(struct callers *callers, uint64_t connection, uint64_t request, const char *name)
{
	struct text why = {0};
	uint32_t at;
	if (callers_find_gone(callers, connection, name, &at)) {
		callers_tell_end(callers, request, callers->gone.at[at].why.status, callers->gone.at[at].why.text);
		callers_drop_gone(callers, at);
		return;
	}
	text_add(&why, "client '%.*s' has not joined by a call: expected /lockstep/join first", TROUPE_BARRIER_NAME_MAX,
		name);
	callers_refuse(callers, request, why.at);
	text_fini(&why);
}

/* Under the caller's lock. Takes the turn over. */
static void callers_take_answer(struct caller *caller, Troupe__Msgs__LockstepTurn *turn)
{
	bool again = caller->has_answered && turn->done->step == caller->answered_step;
	if (again || caller->turn) {
		message_free(&turn->base);
		return;
	}
	caller->turn = turn;
	eventcount_advance(&caller->answered);
}

/* Takes the turn over. */
static void callers_step(
	struct callers *callers, uint64_t connection, uint64_t request, Troupe__Msgs__LockstepTurn *turn)
{
	struct caller *caller = callers_find(callers, connection, turn->name);
	struct text frame = {0};
	if (!caller) {
		callers_turn_away(callers, connection, request, turn->name);
		message_free(&turn->base);
		return;
	}
	pthread_mutex_lock(&caller->guard);
	uint64_t earlier = caller->request;
	caller->request = request;
	if (turn->done)
		callers_take_answer(caller, turn);
	else
		message_free(&turn->base);
	bool over = caller->over, again = caller->open && !caller->turn && !over;
	if (again)
		text_add_bytes(&frame, caller->step.at, caller->step.count);
	if (again || over)
		caller->request = 0;
	caller->told |= over;
	pthread_mutex_unlock(&caller->guard);
	if (earlier)
		callers_refuse(callers, earlier, "another call of this client has come");
	if (over)
		callers_tell_end(callers, request, caller->why.status, caller->why.text);
	else if (again)
		callers_reply_frame(callers, request, &frame);
	text_fini(&frame);
}

/* Whether this is the answer to the open barrier, and no other call of the client waits. */
static bool callers_fits(const struct caller *caller, const Troupe__Msgs__LockstepTurn *turn)
{
	bool again = caller->has_answered && turn->done->step == caller->answered_step;
	return caller->open && !caller->over && !caller->turn && !caller->request && !again;
}

bool callers_answer(struct callers *callers, uint64_t request, const void *bytes, size_t count)
{
	ProtobufCMessage *message;
	if (message_of_bytes(type_find(callers_rows[CALLERS_STEP].type), bytes, count, &packet_limits, &message, NULL))
		return false;
	Troupe__Msgs__LockstepTurn *turn = (Troupe__Msgs__LockstepTurn *)message;
	pthread_mutex_lock(&callers->guard);
	struct caller *caller = turn->done ? callers_find(callers, 0, turn->name) : NULL;
	bool taken = false;
	if (caller) {
		pthread_mutex_lock(&caller->guard);
		taken = callers_fits(caller, turn);
		if (taken) {
			caller->request = request;
			callers_take_answer(caller, turn);
		}
		pthread_mutex_unlock(&caller->guard);
	}
	pthread_mutex_unlock(&callers->guard);
	if (!taken)
		message_free(message);
	return taken;
}

static void callers_leave(struct callers *callers, uint64_t connection, uint64_t request, const char *name)
{
	struct caller *caller = callers_find(callers, connection, name);
	if (!caller) {
		callers_turn_away(callers, connection, request, name);
		return;
	}
	for (uint32_t i = callers->all.count; i-- > 0;)
		if (callers->all.at[i] == caller)
			callers_take_out(callers, i);
	lockstep_member_leave(&caller->member);
	if (caller->request)
		callers_tell_end(callers, caller->request, false, "it left");
	callers_tell_end(callers, request, false, "it left");
	callers_destroy_one(caller);
}

void callers_lose(struct callers *callers, uint64_t connection)
{
	for (uint32_t i = 0; i < callers->all.count; i++) {
		struct caller *caller = callers->all.at[i];
		if (caller->connection != connection)
			continue;
		pthread_mutex_lock(&caller->guard);
		caller->lost = true;
		eventcount_advance(&caller->answered);
		pthread_mutex_unlock(&caller->guard);
	}
	for (uint32_t i = callers->gone.count; i-- > 0;)
		if (callers->gone.at[i].connection == connection)
			callers_drop_gone(callers, i);
}

void callers_take(struct callers *callers, enum callers_service service, uint64_t connection, uint64_t request,
	const void *bytes, size_t count)
{
	ProtobufCMessage *message;
	struct troupe_error error;
	callers_reap(callers);
	if (message_of_bytes(type_find(callers_rows[service].type), bytes, count, &packet_limits, &message, &error)) {
		callers_refuse(callers, request, error.text);
		return;
	}
	switch (service) {
	case CALLERS_JOIN:
		callers_join(callers, connection, request, (const void *)message);
		break;
	case CALLERS_STEP:
		callers_step(callers, connection, request, (Troupe__Msgs__LockstepTurn *)message);
		return;
	default:
		callers_leave(callers, connection, request, ((const Troupe__Msgs__LockstepLeave *)message)->name);
		break;
	}
	message_free(message);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

struct callers *callers_create(struct troupe_server *server,
	void (*reply)(void *ctx, uint64_t request, const void *bytes, size_t count), void *ctx)
{
	struct callers *callers = mem_alloc(sizeof *callers);
	pthread_mutex_init(&callers->guard, NULL);
	callers->server = server;
	callers->reply = reply;
	callers->ctx = ctx;
	return callers;
}

uint64_t callers_joined(const struct callers *callers)
{
	return atomic_load_explicit(&callers->joined, memory_order_relaxed);
}

void callers_destroy(struct callers *callers, bool failed, const char *why)
{
	if (!callers)
		return;
	for (uint32_t i = 0; i < callers->all.count; i++) {
		struct caller *caller = callers->all.at[i];
		lockstep_member_leave(&caller->member);
		if (caller->request && !caller->over)
			callers_tell_end(callers, caller->request, failed, why);
		callers_destroy_one(caller);
	}
	while (callers->gone.count)
		callers_drop_gone(callers, callers->gone.count - 1);
	vec_free(&callers->gone);
	vec_free(&callers->all);
	pthread_mutex_destroy(&callers->guard);
	free(callers);
}
