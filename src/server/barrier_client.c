/* A barrier client that is a thread of this process. Turn and client hand each other a state: the turn opens a barrier,
 * the client does its work and sets the state to done. The client's own thread collects and checks its messages and
 * requests. They are handed over with the answer, because only the turn knows when it is this client's place in the
 * order of names. */
#include "server/barrier_internal.h"

#include "base/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_USUAL_NS UINT64_C(10000000000)

/* --- posts -------------------------------------------------------------------------------------------------------- */

static void barrier_client_free_post(struct post *post)
{
	free(post->topic);
	free(post->type);
	free(post->bytes);
}

void posts_drop(struct posts *posts)
{
	for (uint32_t i = 0; i < posts->all.count; i++) {
		struct post *post = &posts->all.at[i];
		if (post->call)
			post->call->done(post->call, 0, TROUPE_EPEER, "the client left the lockstep");
		barrier_client_free_post(post);
	}
	posts->all.count = 0;
	posts->bytes = 0;
}

static void barrier_client_give(struct member *member, struct posts *posts)
{
	struct troupe_server *server = member->client->server;
	struct troupe_error error;
	for (uint32_t i = 0; i < posts->all.count; i++) {
		struct post *post = &posts->all.at[i];
		troupe_status status =
			post->call ? server_command(server, post->topic, post->type, post->bytes, post->count,
					     post->call, &error)
				   : troupe_command_bytes(server, post->has_when ? &post->when : NULL, post->topic,
					     post->type, post->bytes, post->count, NULL, &error);
		if (status && post->call) {
			post->call->done(post->call, member->at.step, status, error.text);
		} else if (status) {
			struct text text = {0};
			text_add(&text, "barrier client '%s', step %llu: %s", member->name,
				(unsigned long long)member->at.step, error.text);
			server_warn(server, text.at);
			text_fini(&text);
		}
		barrier_client_free_post(post);
	}
	posts->all.count = 0;
	posts->bytes = 0;
}

bool barrier_collects(const struct troupe_client *client)
{
	return client->member && client->member->ops == &barrier_thread_ops;
}

troupe_status barrier_collect(struct troupe_client *client, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, struct command_call *call, uint64_t *ret_step,
	struct troupe_error *error)
{
	struct member *member = client->member;
	struct posts *posts = &member->collected;
	/* acquire: `at` was written before */
	bool open = atomic_load_explicit(&member->state, memory_order_acquire) == MEMBER_OPEN;
	uint64_t step = open ? member->at.step : 0;
	if (posts->all.count == TROUPE_BARRIER_POSTS_MAX || count > TROUPE_BARRIER_BYTES_MAX - posts->bytes)
		return fail(error, TROUPE_ELIMIT, "'%.150s': %u messages for one barrier: expected no more", topic,
			posts->all.count);
	troupe_status status = server_check_when(when, error);
	if (status)
		return status;
	if (when && when->late == TROUPE_LATE_REFUSE && when->step < step)
		return fail(error, TROUPE_ECOMMAND, "'%.150s': step %llu is past: expected %llu or later", topic,
			(unsigned long long)when->step, (unsigned long long)step);
	struct post post = {.topic = mem_strdup(topic),
		.type = mem_strdup(type),
		.bytes = mem_alloc(count),
		.count = count,
		.has_when = when,
		.call = call};
	if (count)
		memcpy(post.bytes, bytes, count);
	if (when)
		post.when = *when;
	vec_push(&posts->all, post);
	posts->bytes += count;
	if (ret_step)
		*ret_step = when ? MAX(when->step, step) : step;
	return TROUPE_OK;
}

/* --- the turn's side ---------------------------------------------------------------------------------------------- */

static void barrier_client_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct member *member = ctx;
	(void)barrier; /* member->at has it already */
	/* release: pairs with the client's reads of the state */
	atomic_store_explicit(&member->state, MEMBER_OPEN, memory_order_release);
	eventcount_advance(&member->opened);
}

static troupe_answer barrier_client_poll_state(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct member *member = ctx;
	uint32_t seen = eventcount_read(&member->answered);
	(void)barrier;
	(void)error;
	if (atomic_load_explicit(&member->state, memory_order_acquire) != MEMBER_DONE) {
		if (wait_ns)
			(void)eventcount_await(&member->answered, seen, 0, wait_ns);
		else
			eventcount_relax();
		return TROUPE_ANSWER_NONE;
	}
	barrier_client_give(member, &member->handed);
	atomic_store_explicit(&member->state, MEMBER_IDLE, memory_order_release);
	return TROUPE_ANSWER_DONE;
}

static void barrier_client_out(void *ctx, const struct troupe_error *why)
{
	struct member *member = ctx;
	member->why = *why;
	atomic_store_explicit(&member->state, MEMBER_OUT, memory_order_release);
	eventcount_advance(&member->opened);
}

const struct troupe_barrier_ops barrier_thread_ops = {
	.begin = barrier_client_begin, .poll = barrier_client_poll_state, .out = barrier_client_out};

/* --- the client's side -------------------------------------------------------------------------------------------- */

bool troupe_barrier_name_is_valid(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t count = name ? strnlen(name, TROUPE_BARRIER_NAME_MAX + 1) : 0;
	return count && count <= TROUPE_BARRIER_NAME_MAX && strspn(name, good) == count;
}

static uint64_t barrier_client_deadline_most_ns(const struct troupe_client *client)
{
	double given_s = client->server->def.barrier_deadline_s;
	return (uint64_t)((given_s > 0 ? given_s : TROUPE_BARRIER_DEADLINE_S_MAX) * 1e9);
}

static troupe_status barrier_client_check_join(
	struct troupe_client *client, const struct troupe_join *join, uint32_t *ret_world, struct troupe_error *error)
{
	int64_t step_ns;
	if (client->member)
		return fail(error, TROUPE_EINVAL, "this client has joined already, as '%s'", client->member->name);
	if (!troupe_barrier_name_is_valid(join->name))
		return fail(error, TROUPE_EINVAL,
			"a barrier client's name '%.80s': expected 1 to %d letters, digits, '_', '-' and '.'",
			join->name ? join->name : "", TROUPE_BARRIER_NAME_MAX);
	if (join->deadline_ns > barrier_client_deadline_most_ns(client))
		return fail(error, TROUPE_EINVAL, "client '%s': a deadline of %g s: expected at most %g", join->name,
			(double)join->deadline_ns * 1e-9, (double)barrier_client_deadline_most_ns(client) * 1e-9);
	if (join->failure != TROUPE_FAILURE_DROPS && join->failure != TROUPE_FAILURE_ENDS)
		return fail(error, TROUPE_EINVAL, "client '%s': failure %d: expected 0 or 1", join->name,
			(int)join->failure);
	if (join->ops && (!join->ops->begin || !join->ops->poll || !join->ops->out))
		return fail(error, TROUPE_EINVAL, "client '%s': its operations: expected begin, poll and out",
			join->name);
	troupe_status status = barriers_world(barriers_of(client->server), join->world, ret_world, &step_ns, error);
	if (status)
		return status;
	if (join->period_ns > INT64_MAX / 4 || (join->period_ns && (!step_ns || join->period_ns % (uint64_t)step_ns)))
		return fail(error, TROUPE_EINVAL,
			"client '%s': a period of %llu ns: expected a multiple of the step, %lld ns, or 0", join->name,
			(unsigned long long)join->period_ns, (long long)step_ns);
	return TROUPE_OK;
}

troupe_status troupe_client_join(
	struct troupe_client *client, const struct troupe_join *join, struct troupe_error *error)
{
	uint32_t world;
	troupe_status status = barrier_client_check_join(client, join, &world, error);
	if (status)
		return status;
	struct member *member = mem_alloc_lines(sizeof *member);
	*member = (struct member){.barriers = barriers_of(client->server),
		.client = client_hold(client),
		.world = world,
		.period_ns = (int64_t)join->period_ns,
		.deadline_ns = join->deadline_ns ? join->deadline_ns
						 : MIN(DEADLINE_USUAL_NS, barrier_client_deadline_most_ns(client)),
		.failure = join->failure,
		.ops = join->ops ? join->ops : &barrier_thread_ops,
		.ctx = join->ops ? join->ctx : member};
	strcpy(member->name, join->name);
	atomic_store(&member->refs, 1);
	client->member = member;
	status = barriers_add(member->barriers, member, error);
	if (status) {
		client->member = NULL;
		member_release(member);
	}
	return status;
}

void troupe_client_leave(struct troupe_client *client)
{
	struct member *member = client->member;
	if (!member)
		return;
	barriers_remove(member->barriers, member);
	atomic_store(&member->gone, true);
	eventcount_advance(&member->answered);
	while (atomic_load(&member->serving))
		sched_yield();
	client->member = NULL;
	member_release(member);
}

static troupe_status barrier_client_say_why(const struct member *member, struct troupe_error *error)
{
	return fail(error, TROUPE_EPEER, "%s", member->why.text);
}

troupe_status troupe_client_next(struct troupe_client *client, uint64_t timeout_ns, struct troupe_barrier *ret_barrier,
	struct troupe_error *error)
{
	struct member *member = client->member;
	if (!member || !barrier_collects(client))
		return fail(error, TROUPE_EINVAL, "this client has not joined");
	uint64_t now = timeout_ns ? clock_now_ns() : 0,
		 until = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
	uint32_t spins = barriers_spins(member->barriers);
	for (;;) {
		uint32_t seen = eventcount_read(&member->opened);
		switch (atomic_load_explicit(&member->state, memory_order_acquire)) {
		case MEMBER_OPEN:
			*ret_barrier = member->at;
			return TROUPE_OK;
		case MEMBER_OUT:
			return barrier_client_say_why(member, error);
		default:
			break;
		}
		now = timeout_ns ? clock_now_ns() : 0;
		if (now >= until)
			return fail(error, TROUPE_ELIMIT, "no barrier of client '%s' came in time", member->name);
		(void)eventcount_await(&member->opened, seen, spins, until - now);
	}
}

troupe_status troupe_client_done(struct troupe_client *client, uint64_t step, struct troupe_error *error)
{
	struct member *member = client->member;
	uint32_t state = MEMBER_OPEN;
	if (!member || !barrier_collects(client))
		return fail(error, TROUPE_EINVAL, "this client has not joined");
	state = atomic_load_explicit(&member->state, memory_order_acquire);
	if (state == MEMBER_OUT)
		return barrier_client_say_why(member, error);
	if (state != MEMBER_OPEN)
		return fail(error, TROUPE_EINVAL, "client '%s' is done with step %llu, but has no barrier",
			member->name, (unsigned long long)step);
	if (step != member->at.step)
		return fail(error, TROUPE_EINVAL, "client '%s' is done with step %llu: expected step %llu",
			member->name, (unsigned long long)step, (unsigned long long)member->at.step);
	struct posts empty = member->handed;
	member->handed = member->collected;
	member->collected = empty;
	/* Sequentially consistent, so at least release: the turn sees the posts. The turn may have put the client out
	 * meanwhile. */
	if (!atomic_compare_exchange_strong(&member->state, &state, MEMBER_DONE))
		return barrier_client_say_why(member, error);
	eventcount_advance(&member->answered);
	return TROUPE_OK;
}
