/* The turn waits for clients itself. First all barriers that are due begin, so that all clients think at the same time;
 * then their answers are awaited in the order of names, and what each posted is posted when its answer is taken. So the
 * order of commands does not depend on which client is faster.
 *
 * A client in another process is asked for by its ops on this same thread: between the end of step k-1 and the client's
 * input there is no other thread to wake. The turn looks again and again for a bounded time, and then lets the ops
 * sleep for moments, so that a stop is seen. Between looks it yields: on a busy machine the client may wait for this
 * very core. With five times as many busy threads as cores an exchange through a socket took a quarter of the time so.
 */
#include "server/barrier_internal.h"

#include "base/clock.h"
#include "base/math.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SPIN_NS 100000u
#define ALONE_NS 2000u /* then other threads of this core may run between two looks: the client, perhaps */
#define BARRIER_NAP_NS 20000000u
#define STEP_SLACK_NS 1e-3 /* a step is a whole number of ns if it is within this */

struct barriers {
	struct troupe_server *server;
	pthread_mutex_t lock;
	VEC(struct member *) all;                /* by name; one reference each; under the lock */
	_Atomic uint32_t count;                  /* of all */
	_Atomic uint64_t epoch;                  /* grows when `all` changes; written under the lock */
	struct eventcount joined;                /* advanced when a client joins */
	_Atomic int64_t step_ns[SDF_WORLDS_MAX]; /* 0: no whole number. Writer: the turn. */
	double step_s[SDF_WORLDS_MAX];           /* the turn's: the time steps for which step_ns was computed */
	/* the turn's */
	VEC(struct member *) present; /* a copy of `all`, with references */
	uint64_t seen_epoch;
};

static void barrier_find_steps(struct barriers *barriers)
{
	for (uint32_t i = 0; i < barriers->server->world_count; i++) {
		double step_s = primary_step_s(barriers->server->worlds[i].primary);
		if (step_s == barriers->step_s[i])
			continue;
		int64_t step_ns = llround(step_s * 1e9);
		barriers->step_s[i] = step_s;
		atomic_store_explicit(&barriers->step_ns[i],
			fabs(step_s * 1e9 - (double)step_ns) <= STEP_SLACK_NS ? step_ns : 0, memory_order_relaxed);
	}
}

struct barriers *barriers_create(struct troupe_server *server)
{
	struct barriers *barriers = mem_alloc_lines(sizeof *barriers);
	barriers->server = server;
	pthread_mutex_init(&barriers->lock, NULL);
	barrier_find_steps(barriers);
	return barriers;
}

static void barrier_drop_present(struct barriers *barriers)
{
	for (uint32_t i = 0; i < barriers->present.count; i++)
		member_release(barriers->present.at[i]);
	barriers->present.count = 0;
}

void barriers_destroy(struct barriers *barriers)
{
	if (!barriers)
		return;
	barrier_drop_present(barriers);
	vec_free(&barriers->present);
	vec_free(&barriers->all);
	pthread_mutex_destroy(&barriers->lock);
	free(barriers);
}

struct barriers *barriers_of(struct troupe_server *server)
{
	return server->barriers;
}

void member_release(struct member *member)
{
	/* acq_rel: the accesses of other holders happen before the member is freed */
	if (atomic_fetch_sub_explicit(&member->refs, 1, memory_order_acq_rel) != 1)
		return;
	posts_drop(&member->collected);
	posts_drop(&member->handed);
	vec_free(&member->collected.all);
	vec_free(&member->handed.all);
	client_release(member->client);
	free(member);
}

uint32_t barriers_spins(const struct barriers *barriers)
{
	uint32_t threads = atomic_load_explicit(&barriers->count, memory_order_relaxed);
	for (uint32_t i = 0; i < barriers->server->world_count; i++)
		threads += MAX(barriers->server->worlds[i].threads, 1u);
	return eventcount_spins(threads);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

/* Under the lock. *ret_place: the place of the name, or the place where it belongs. */
static bool barrier_find(const struct barriers *barriers, const char *name, uint32_t *ret_place)
{
	uint32_t i = 0;
	while (i < barriers->all.count && strcmp(barriers->all.at[i]->name, name) < 0)
		i++;
	*ret_place = i;
	return i < barriers->all.count && !strcmp(barriers->all.at[i]->name, name);
}

static void barrier_change(struct barriers *barriers)
{
	atomic_store_explicit(&barriers->count, barriers->all.count, memory_order_relaxed);
	atomic_fetch_add(&barriers->epoch, 1);
}

troupe_status barriers_add(struct barriers *barriers, struct member *member, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	uint32_t place;
	pthread_mutex_lock(&barriers->lock);
	if (barrier_find(barriers, member->name, &place)) {
		status = fail(
			error, TROUPE_ECOMMAND, "client '%s': a client of this name has joined already", member->name);
	} else if (barriers->all.count == TROUPE_BARRIER_CLIENTS_MAX) {
		status = fail(error, TROUPE_ELIMIT, "client '%s': %d barrier clients have joined: expected no more",
			member->name, TROUPE_BARRIER_CLIENTS_MAX);
	} else {
		(void)vec_append(&barriers->all, 1);
		memmove(&barriers->all.at[place + 1], &barriers->all.at[place],
			(barriers->all.count - 1 - place) * sizeof *barriers->all.at);
		barriers->all.at[place] = member;
		atomic_fetch_add(&member->refs, 1);
		barrier_change(barriers);
	}
	pthread_mutex_unlock(&barriers->lock);
	if (!status)
		eventcount_advance(&barriers->joined);
	return status;
}

void barriers_remove(struct barriers *barriers, struct member *member)
{
	bool was = false;
	pthread_mutex_lock(&barriers->lock);
	for (uint32_t i = 0; i < barriers->all.count && !was; i++) {
		if (barriers->all.at[i] != member)
			continue;
		was = true;
		barriers->all.count--;
		memmove(&barriers->all.at[i], &barriers->all.at[i + 1],
			(barriers->all.count - i) * sizeof *barriers->all.at);
		barrier_change(barriers);
	}
	pthread_mutex_unlock(&barriers->lock);
	if (was)
		member_release(member);
}

troupe_status barriers_world(struct barriers *barriers, const char *name, uint32_t *ret_world, int64_t *ret_step_ns,
	struct troupe_error *error)
{
	for (uint32_t i = 0; i < barriers->server->world_count; i++) {
		if (name && !topic_is_of_world(name, barriers->server->worlds[i].scene->name))
			continue;
		*ret_world = i;
		*ret_step_ns = atomic_load_explicit(&barriers->step_ns[i], memory_order_relaxed);
		return TROUPE_OK;
	}
	return fail(error, TROUPE_ECOMMAND, "world '%.150s': there is none of this name", name);
}

static const char *barrier_absent(struct barriers *barriers, const char *const *names)
{
	uint32_t place;
	pthread_mutex_lock(&barriers->lock);
	while (*names && barrier_find(barriers, *names, &place))
		names++;
	pthread_mutex_unlock(&barriers->lock);
	return *names;
}

static bool barrier_is_stopped(const struct barriers *barriers)
{
	return primary_is_stopped(barriers->server->worlds[0].primary);
}

troupe_status troupe_server_await(
	struct troupe_server *server, const char *const *names, uint64_t timeout_ns, struct troupe_error *error)
{
	struct barriers *barriers = server->barriers;
	uint64_t until = timeout_ns ? clock_now_ns() + timeout_ns : UINT64_MAX;
	for (;;) {
		uint32_t seen = eventcount_read(&barriers->joined);
		const char *name = barrier_absent(barriers, names);
		if (!name || barrier_is_stopped(barriers))
			return TROUPE_OK;
		uint64_t now = clock_now_ns();
		if (now >= until)
			return fail(error, TROUPE_EPEER, "barrier client '%.63s' did not join within %g s", name,
				(double)timeout_ns * 1e-9);
		(void)eventcount_await(&barriers->joined, seen, 0, MIN(until - now, (uint64_t)BARRIER_NAP_NS));
	}
}

/* --- one member, on the turn's thread ----------------------------------------------------------------------------- */

static bool barrier_enter(struct member *member)
{
	atomic_fetch_add(&member->serving, 1); /* sequentially consistent with troupe_client_leave() */
	if (!atomic_load(&member->gone))
		return true;
	atomic_fetch_sub(&member->serving, 1);
	return false;
}

static void barrier_exit_member(struct member *member)
{
	atomic_fetch_sub(&member->serving, 1);
}

static int64_t barrier_time_of(const struct barriers *barriers, uint32_t world)
{
	return llround(primary_time_s(barriers->server->worlds[world].primary) * 1e9);
}

/* The first multiple of the period that is not before time_ns. */
static int64_t barrier_multiple_from(const struct member *member, int64_t time_ns)
{
	if (!member->period_ns)
		return time_ns;
	int64_t past = time_ns % member->period_ns;
	return past ? time_ns - past + member->period_ns : time_ns;
}

static bool barrier_is_due(struct barriers *barriers, struct member *member, int64_t time_ns)
{
	if (!primary_will_step(barriers->server->worlds[member->world].primary))
		return false;
	if (!member->seen || time_ns < member->last_ns) {
		member->seen = true;
		member->next_ns = barrier_multiple_from(member, time_ns);
	}
	member->last_ns = time_ns;
	return time_ns >= member->next_ns;
}

static void barrier_begin(struct barriers *barriers, struct member *member)
{
	int64_t time_ns = barrier_time_of(barriers, member->world);
	bool was_open = member->open;
	if (!was_open && !barrier_is_due(barriers, member, time_ns))
		return;
	member->opened_ns = clock_now_ns();
	if (was_open || !barrier_enter(member))
		return;
	member->open = true;
	member->at = (struct troupe_barrier){primary_steps(barriers->server->worlds[member->world].primary), time_ns};
	member->next_ns = barrier_multiple_from(member, time_ns + 1);
	member->ops->begin(member->ctx, &member->at);
	barrier_exit_member(member);
}

static void barrier_put_out(struct barriers *barriers, struct member *member, const struct troupe_error *why)
{
	member->open = false;
	if (barrier_enter(member)) {
		member->ops->out(member->ctx, why);
		barrier_exit_member(member);
	}
	atomic_store(&member->gone, true);
	barriers_remove(barriers, member);
}

static void barrier_fail_member(struct barriers *barriers, struct member *member, const char *text)
{
	struct troupe_error why;
	struct primary *primary = barriers->server->worlds[member->world].primary;
	bool ends = member->failure == TROUPE_FAILURE_ENDS;
	(void)fail(&why, TROUPE_EPEER, "barrier client '%s', step %llu: %s%s", member->name,
		(unsigned long long)member->at.step, text, ends ? "" : "; the run goes on without it");
	barrier_put_out(barriers, member, &why);
	if (ends)
		primary_fail(primary, &why);
	else
		server_warn(barriers->server, why.text);
}

static troupe_answer barrier_ask(struct member *member, uint64_t wait_ns, struct troupe_error *error)
{
	if (!barrier_enter(member))
		return TROUPE_ANSWER_LEFT;
	troupe_answer answer = member->ops->poll(member->ctx, &member->at, wait_ns, error);
	barrier_exit_member(member);
	return answer;
}

/* Waits for the member's answer. False: the run is to end. */
static bool barrier_await_answer(struct barriers *barriers, struct member *member, uint32_t spins)
{
	struct troupe_error error = {.text = "it failed"};
	uint64_t begun = clock_now_ns(), wait_ns = 0;
	for (;;) {
		switch (barrier_ask(member, wait_ns, &error)) {
		case TROUPE_ANSWER_DONE:
			member->open = false;
			return true;
		case TROUPE_ANSWER_LEFT:
			(void)fail(&error, TROUPE_OK, "it left");
			barrier_put_out(barriers, member, &error);
			return true;
		case TROUPE_ANSWER_FAILED:
			barrier_fail_member(barriers, member, error.text);
			return member->failure != TROUPE_FAILURE_ENDS;
		default:
			break;
		}
		uint64_t now = clock_now_ns();
		if (barrier_is_stopped(barriers))
			return false;
		if (now - member->opened_ns >= member->deadline_ns) {
			(void)fail(&error, TROUPE_EPEER, "no answer within %g s", (double)member->deadline_ns * 1e-9);
			barrier_fail_member(barriers, member, error.text);
			return member->failure != TROUPE_FAILURE_ENDS;
		}
		if (now - begun > ALONE_NS)
			sched_yield();
		wait_ns = spins && now - begun < SPIN_NS
				  ? 0
				  : MIN(member->opened_ns + member->deadline_ns - now, (uint64_t)BARRIER_NAP_NS);
	}
}

/* --- the turn ----------------------------------------------------------------------------------------------------- */

static void barrier_look_again(struct barriers *barriers)
{
	barrier_drop_present(barriers);
	pthread_mutex_lock(&barriers->lock);
	barriers->seen_epoch = atomic_load(&barriers->epoch);
	for (uint32_t i = 0; i < barriers->all.count; i++) {
		atomic_fetch_add(&barriers->all.at[i]->refs, 1);
		vec_push(&barriers->present, barriers->all.at[i]);
	}
	pthread_mutex_unlock(&barriers->lock);
}

bool barriers_are_held(const struct barriers *barriers)
{
	return barriers->present.count || atomic_load_explicit(&barriers->count, memory_order_relaxed);
}

void barriers_turn(struct barriers *barriers)
{
	barrier_find_steps(barriers);
	if (atomic_load_explicit(&barriers->epoch, memory_order_relaxed) != barriers->seen_epoch)
		barrier_look_again(barriers);
	if (!barriers->present.count)
		return;
	uint32_t spins = barriers_spins(barriers);
	for (uint32_t i = 0; i < barriers->present.count; i++)
		barrier_begin(barriers, barriers->present.at[i]);
	for (uint32_t i = 0; i < barriers->present.count; i++)
		if (barriers->present.at[i]->open && !barrier_await_answer(barriers, barriers->present.at[i], spins))
			return;
}
