/* Threads that step many servers at once. A round is published by an eventcount. Then each thread, the caller's among
 * them, takes servers until none is left: first its own share, one of each block of as many servers as there are
 * threads, in each block at another place; then those of the others. A server reads nothing of the thread that steps it
 * except ODE's memory of the thread, which each run asks for; so no bit depends on which thread takes which server.
 *
 * A thread has several servers under way, so that robots of one shape in different worlds are solved side by side
 * (physics/shared_lanes.h). It takes them as it begins the round: with one list for all, the thread that came first
 * would take its first servers together, which are often alike and cost as much.
 *
 * The caller waits for the threads to leave the round, and not only for the servers: a thread that came late must not
 * find the list of a later round under the number of this one. */
#include "base/base.h"
#include "base/eventcount.h"
#include "physics/shared_lanes.h"
#include "server/internal.h"

#include <troupe/command.h>
#include <troupe/pool.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct troupe_pool {
	/* The round. Written by the caller before it advances `go`, and not before all threads have left the last. */
	struct troupe_server *const *servers;
	uint32_t count;
	uint64_t n;
	const struct troupe_turn *turn;              /* NULL: the servers are only stepped, or made */
	const struct troupe_server_def *const *defs; /* of the servers to be made; NULL: they are stepped */
	struct troupe_server **made;                 /* [count] */
	uint32_t commanded, observed;                /* numbers of a row of the turn */
	struct troupe_error *errors;                 /* [count], of the caller or `own` */
	struct troupe_error *own;
	uint32_t own_room;
	bool ends;
	struct eventcount go, left; /* go: advanced by the caller; left: by each thread that has left the round */
	uint32_t threads, spins;            /* with the caller's */
	uint32_t started;                   /* threads of `at` that were started: all but the caller's */
	struct pool_thread {
		struct troupe_pool *pool;
		struct shared_lanes *lanes; /* made in the first round that has use for them */
		pthread_t id;
		_Alignas(64) _Atomic uint32_t next; /* block of the next server of its share */
	} at[]; /* [threads], the last for the caller's */
};

/* --- a turn of one server ----------------------------------------------------------------------------------------- */

static troupe_status pool_command_part(struct troupe_server *server, const struct troupe_when *when,
	const struct troupe_part *part, const double *row, struct troupe_error *error)
{
	const troupe_model model = {part->handle.at, part->handle.born, part->handle.world};
	const troupe_link link = {model.at, model.born, model.world};
	const troupe_joint joint = {model.at, model.born, model.world};
	double numbers[TROUPE_PART_NUMBERS] = {0};
	for (uint32_t i = 0; i < part->count; i++)
		numbers[part->which[i]] = row[i];
	const struct troupe_vec3 first = {numbers[0], numbers[1], numbers[2]},
				 second = {numbers[3], numbers[4], numbers[5]};
	if (part->kind == TROUPE_PART_TWIST)
		return troupe_command_twist(server, when, model, &(struct troupe_twist){first, second}, NULL, error);
	if (part->kind == TROUPE_PART_WRENCH)
		return troupe_command_wrench(server, when, link, &(struct troupe_wrench){first, second}, NULL, error);
	return troupe_command_joint(server, when, joint, numbers[0], NULL, error);
}

/* A wrench lasts for one step, so it is given for each step of the turn. */
static troupe_status pool_command(struct troupe_pool *pool, uint32_t i, struct troupe_error *error)
{
	const struct troupe_turn *turn = pool->turn;
	const double *row = turn->commands + (size_t)i * pool->commanded;
	uint64_t begin = troupe_server_progress(turn->servers[i]).steps + (turn->delays ? turn->delays[i] : 0);
	troupe_status status = TROUPE_OK;
	for (uint32_t k = 0; k < turn->action_count && !status; row += turn->actions[k++].count) {
		uint64_t steps = turn->actions[k].kind == TROUPE_PART_WRENCH ? turn->steps : 1;
		for (uint64_t step = 0; step < steps && !status; step++)
			status = pool_command_part(turn->servers[i],
				&(struct troupe_when){begin + step, TROUPE_LATE_NEXT}, &turn->actions[k], row, error);
	}
	return status;
}

/* False: there is nothing to read. numbers: [TROUPE_PART_NUMBERS]. */
static bool pool_read_part(const struct troupe_server *server, const struct troupe_part *part, double *numbers)
{
	const troupe_model model = {part->handle.at, part->handle.born, part->handle.world};
	struct troupe_model_state model_state;
	struct troupe_link_state link_state;
	struct troupe_joint_state joint;
	struct troupe_reading reading;
	switch (part->kind) {
	case TROUPE_PART_TWIST:
	case TROUPE_PART_POSE:
		if (!troupe_get_model(server, model, &model_state))
			return false;
		if (part->kind == TROUPE_PART_POSE)
			memcpy(numbers, &model_state.pose, sizeof model_state.pose);
		else
			memcpy(numbers, &model_state.twist, sizeof model_state.twist);
		return true;
	case TROUPE_PART_LINK_TWIST:
	case TROUPE_PART_LINK_POSE:
		if (!troupe_get_link(server, (troupe_link){model.at, model.born, model.world}, &link_state))
			return false;
		if (part->kind == TROUPE_PART_LINK_POSE)
			memcpy(numbers, &link_state.pose, sizeof link_state.pose);
		else
			memcpy(numbers, &link_state.twist, sizeof link_state.twist);
		return true;
	case TROUPE_PART_JOINT:
		if (!troupe_get_joint(server, (troupe_joint){model.at, model.born, model.world}, &joint))
			return false;
		for (int axis = 0; axis < 2; axis++) {
			numbers[3 * axis] = joint.position[axis];
			numbers[3 * axis + 1] = joint.velocity[axis];
			numbers[3 * axis + 2] = joint.effort[axis];
		}
		return true;
	case TROUPE_PART_SENSOR:
		if (!troupe_get_sensor(server, part->handle, &reading))
			return false;
		memcpy(numbers, reading.numbers, sizeof reading.numbers);
		return true;
	case TROUPE_PART_WRENCH:
		break;
	}
	return false;
}

static void pool_observe(const struct troupe_pool *pool, uint32_t i)
{
	const struct troupe_turn *turn = pool->turn;
	double *row = turn->ret_observed + (size_t)i * pool->observed;
	for (uint32_t k = 0; k < turn->observation_count; k++) {
		const struct troupe_part *part = &turn->observations[k];
		double numbers[TROUPE_PART_NUMBERS];
		bool there = pool_read_part(turn->servers[i], part, numbers);
		for (uint32_t m = 0; m < part->count; m++)
			*row++ = there ? numbers[part->which[m]] : (double)NAN;
	}
}

static troupe_status pool_turn_one(struct troupe_pool *pool, uint32_t i, struct troupe_error *error)
{
	const struct troupe_turn *turn = pool->turn;
	troupe_status status = TROUPE_OK;
	bool rests = turn->rests && turn->rests[i];
	if (!rests && turn->commands)
		status = pool_command(pool, i, error);
	if (!rests && !status && turn->steps)
		status = troupe_server_step(turn->servers[i], turn->steps, error);
	if (turn->ret_observed)
		pool_observe(pool, i);
	return status;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

/* Takes the next server of a thread's share. False: there is none left. */
static bool pool_take_of(const struct troupe_pool *pool, _Atomic uint32_t *next, uint32_t thread, uint32_t *ret_server)
{
	const uint32_t threads = pool->threads;
	while (atomic_load_explicit(next, memory_order_relaxed) * (uint64_t)threads < pool->count) {
		uint32_t block = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
		uint64_t server = block * (uint64_t)threads + (thread + block) % threads;
		*ret_server = (uint32_t)server;
		if (server < pool->count)
			return true;
	}
	return false;
}

/* Takes a server that no thread has taken: of the thread's own share, or of the others'. False: there is none. */
static bool pool_take(struct troupe_pool *pool, const struct pool_thread *thread, uint32_t *ret_server)
{
	const uint32_t own = (uint32_t)(thread - pool->at);
	bool taken = false;
	for (uint32_t k = 0; k < pool->threads && !taken; k++) {
		uint32_t from = (own + k) % pool->threads;
		taken = pool_take_of(pool, &pool->at[from].next, from, ret_server);
	}
	return taken;
}

static void pool_step_one(struct troupe_pool *pool, uint32_t i)
{
	struct troupe_error *error = &pool->errors[i];
	error->status = TROUPE_OK;
	error->text[0] = '\0';
	error->status =
		pool->turn ? pool_turn_one(pool, i, error) : troupe_server_step(pool->servers[i], pool->n, error);
}

struct pool_outside {
	struct troupe_pool *pool;
	uint32_t i;
};

static void pool_step_outside(void *ctx)
{
	const struct pool_outside *outside = ctx;
	pool_step_one(outside->pool, outside->i);
}

/* On a fiber or on the thread's own stack. Code of others may look where its stack is, and what it keeps for each
 * thread, so it runs on the thread's own stack. */
static void pool_step_some(void *ctx)
{
	const struct pool_thread *thread = ctx;
	struct troupe_pool *pool = thread->pool;
	uint32_t i;
	while (pool_take(pool, thread, &i))
		if (server_is_plain(pool->servers[i]))
			pool_step_one(pool, i);
		else
			shared_lanes_outside(pool_step_outside, &(struct pool_outside){pool, i});
}

static void pool_make_some(const struct pool_thread *thread)
{
	struct troupe_pool *pool = thread->pool;
	uint32_t i;
	while (pool_take(pool, thread, &i)) {
		struct troupe_error *error = &pool->errors[i];
		error->text[0] = '\0';
		pool->made[i] = NULL;
		error->status = troupe_server_create(pool->defs[i], &pool->made[i], error);
	}
}

/* So few fibers that each thread gets its part of the servers. */
static void pool_go(struct troupe_pool *pool, struct pool_thread *thread)
{
	uint32_t fibers = MIN((pool->count + pool->threads - 1) / pool->threads, (uint32_t)SHARED_LANES_FIBERS);
	if (pool->defs) {
		pool_make_some(thread);
		return;
	}
	if (fibers > 1 && !thread->lanes)
		thread->lanes = shared_lanes_create();
	if (fibers > 1 && thread->lanes)
		shared_lanes_run(thread->lanes, fibers, pool_step_some, thread);
	else
		pool_step_some(thread);
}

static void *pool_work(void *arg)
{
	struct pool_thread *thread = arg;
	struct troupe_pool *pool = thread->pool;
	uint32_t seen = 0;
	for (;;) {
		seen = eventcount_await(&pool->go, seen, pool->spins, 0);
		if (pool->ends)
			return NULL;
		pool_go(pool, thread);
		eventcount_advance(&pool->left);
	}
}

troupe_status troupe_pool_create(uint32_t threads, struct troupe_pool **ret_pool, struct troupe_error *error)
{
	if (threads > TROUPE_POOL_THREADS_MAX)
		return fail(error, TROUPE_EINVAL, "a pool of %u threads: expected at most %d", threads,
			TROUPE_POOL_THREADS_MAX);
	threads = threads ? threads : MIN(eventcount_cores(), (uint32_t)TROUPE_POOL_THREADS_MAX);
	struct troupe_pool *pool = mem_alloc_lines(sizeof *pool + threads * sizeof *pool->at);
	pool->threads = threads;
	pool->spins = eventcount_spins(threads);
	pool->at[threads - 1].pool = pool;
	for (; pool->started + 1 < threads; pool->started++) {
		struct pool_thread *thread = &pool->at[pool->started];
		thread->pool = pool;
		int failed = pthread_create(&thread->id, NULL, pool_work, thread);
		if (!failed)
			continue;
		mem_check_thread(failed);
		troupe_pool_destroy(pool);
		return fail(error, TROUPE_EINTERNAL, "no thread for a pool: %s", strerror(failed));
	}
	*ret_pool = pool;
	return TROUPE_OK;
}

void troupe_pool_destroy(struct troupe_pool *pool)
{
	if (!pool)
		return;
	pool->ends = true;
	eventcount_advance(&pool->go);
	for (uint32_t i = 0; i < pool->started; i++)
		(void)pthread_join(pool->at[i].id, NULL);
	for (uint32_t i = 0; i < pool->threads; i++)
		shared_lanes_destroy(pool->at[i].lanes);
	free(pool->own);
	free(pool);
}

uint32_t troupe_pool_threads(const struct troupe_pool *pool)
{
	return pool->threads;
}

static struct troupe_error *pool_own_errors(struct troupe_pool *pool, uint32_t count)
{
	if (count > pool->own_room) {
		free(pool->own);
		pool->own = mem_alloc(count * sizeof *pool->own);
		pool->own_room = count;
	}
	return pool->own;
}

static void pool_wait_for_all(struct troupe_pool *pool, uint32_t seen)
{
	for (uint32_t now = seen; now - seen < pool->started;)
		now = eventcount_await(&pool->left, now, pool->spins, 0);
}

static troupe_status pool_go_round(
	struct troupe_pool *pool, uint32_t count, struct troupe_error *ret_errors, struct troupe_error *error)
{
	if (count > TROUPE_POOL_SERVERS_MAX)
		return fail(error, TROUPE_EINVAL, "%u servers: expected at most %d", count, TROUPE_POOL_SERVERS_MAX);
	uint32_t seen = eventcount_read(&pool->left);
	pool->count = count;
	pool->errors = ret_errors ? ret_errors : pool_own_errors(pool, count);
	for (uint32_t i = 0; i < pool->threads; i++)
		atomic_store_explicit(&pool->at[i].next, 0, memory_order_relaxed);
	if (pool->started)
		eventcount_advance(&pool->go); /* publishes the round */
	pool_go(pool, &pool->at[pool->threads - 1]);
	pool_wait_for_all(pool, seen);
	for (uint32_t i = 0; i < count; i++)
		if (pool->errors[i].status)
			return fail(error, pool->errors[i].status, "%s", pool->errors[i].text);
	return TROUPE_OK;
}

troupe_status troupe_pool_step(struct troupe_pool *pool, struct troupe_server *const *servers, uint32_t count,
	uint64_t n, struct troupe_error *ret_errors, struct troupe_error *error)
{
	pool->turn = NULL;
	pool->defs = NULL;
	pool->servers = servers;
	pool->n = n;
	return pool_go_round(pool, count, ret_errors, error);
}

troupe_status troupe_pool_create_servers(struct troupe_pool *pool, const struct troupe_server_def *const *defs,
	uint32_t count, struct troupe_server **ret_servers, struct troupe_error *ret_errors, struct troupe_error *error)
{
	pool->turn = NULL;
	pool->defs = defs;
	pool->made = ret_servers;
	return pool_go_round(pool, count, ret_errors, error);
}

/* --- turns -------------------------------------------------------------------------------------------------------- */

/* How many numbers of its own a part has; 0: it cannot be commanded, or observed. */
static uint32_t pool_numbers_of(troupe_part_kind kind, bool commanded)
{
	static const struct {
		uint32_t observed, commanded;
	} numbers[] = {[TROUPE_PART_TWIST] = {6, 6},
		[TROUPE_PART_POSE] = {7, 0},
		[TROUPE_PART_LINK_TWIST] = {6, 0},
		[TROUPE_PART_LINK_POSE] = {7, 0},
		[TROUPE_PART_WRENCH] = {0, 6},
		[TROUPE_PART_JOINT] = {6, 1},
		[TROUPE_PART_SENSOR] = {TROUPE_READING_NUMBERS, 0}};
	_Static_assert(TROUPE_READING_NUMBERS <= TROUPE_PART_NUMBERS, "a part holds a reading");
	if ((uint32_t)kind >= ARRAY_LEN(numbers))
		return 0;
	return commanded ? numbers[kind].commanded : numbers[kind].observed;
}

static troupe_status pool_count_row(
	const struct troupe_part *parts, uint32_t count, bool commanded, uint32_t *ret_row, struct troupe_error *error)
{
	*ret_row = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t numbers = pool_numbers_of(parts[i].kind, commanded);
		bool fits = parts[i].count <= TROUPE_PART_NUMBERS;
		for (uint32_t k = 0; fits && k < parts[i].count; k++)
			fits = parts[i].which[k] < numbers;
		if (!fits || !numbers)
			return fail(error, TROUPE_EINVAL, "%s %u of a turn: expected numbers that its kind has",
				commanded ? "action" : "observation", i);
		*ret_row += parts[i].count;
	}
	return TROUPE_OK;
}

troupe_status troupe_pool_turn(struct troupe_pool *pool, const struct troupe_turn *turn,
	struct troupe_error *ret_errors, struct troupe_error *error)
{
	troupe_status status = pool_count_row(turn->actions, turn->action_count, true, &pool->commanded, error);
	if (!status)
		status = pool_count_row(turn->observations, turn->observation_count, false, &pool->observed, error);
	if (status)
		return status;
	pool->turn = turn;
	pool->defs = NULL;
	pool->servers = turn->servers;
	return pool_go_round(pool, turn->count, ret_errors, error);
}
