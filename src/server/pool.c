/* Threads that step many servers at once. A round is published by an eventcount; then each thread, the caller's
 * among them, takes the next server of the list until none is left. So a server whose steps take long delays the round
 * by no more than its own time, and no thread is bound to a server. A server reads nothing of the thread that steps
 * it except ODE's memory of the thread, which each run asks for; so no bit depends on which thread takes which server.
 *
 * The caller waits for the threads to leave the round, and not only for the servers: a thread that came late must not
 * find the list of a later round under the number of this one. */
#include "base/base.h"
#include "base/eventcount.h"

#include <troupe/pool.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct troupe_pool {
	/* The round. Written by the caller before it advances `go`, and not before all threads have left the last. */
	struct troupe_server *const *servers;
	uint32_t count;
	uint64_t n;
	struct troupe_error *errors; /* [count], of the caller or `own` */
	struct troupe_error *own;
	uint32_t own_room;
	bool ends;
	struct eventcount go, left; /* go: advanced by the caller; left: by each thread that has left the round */
	_Alignas(64) _Atomic uint32_t next; /* index of the next server that no thread has taken */
	uint32_t threads, spins;            /* with the caller's */
	uint32_t started;                   /* threads in `at` */
	pthread_t at[];
};

static void pool_step_some(struct troupe_pool *pool)
{
	uint32_t i;
	while ((i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->count) {
		struct troupe_error *error = &pool->errors[i];
		error->status = TROUPE_OK;
		error->text[0] = '\0';
		error->status = troupe_server_step(pool->servers[i], pool->n, error);
	}
}

static void *pool_work(void *arg)
{
	struct troupe_pool *pool = arg;
	uint32_t seen = 0;
	for (;;) {
		seen = eventcount_await(&pool->go, seen, pool->spins, 0);
		if (pool->ends)
			return NULL;
		pool_step_some(pool);
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
	for (; pool->started + 1 < threads; pool->started++) {
		int failed = pthread_create(&pool->at[pool->started], NULL, pool_work, pool);
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
		(void)pthread_join(pool->at[i], NULL);
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

troupe_status troupe_pool_step(struct troupe_pool *pool, struct troupe_server *const *servers, uint32_t count,
	uint64_t n, struct troupe_error *ret_errors, struct troupe_error *error)
{
	if (count > TROUPE_POOL_SERVERS_MAX)
		return fail(error, TROUPE_EINVAL, "%u servers: expected at most %d", count, TROUPE_POOL_SERVERS_MAX);
	uint32_t seen = eventcount_read(&pool->left);
	pool->servers = servers;
	pool->count = count;
	pool->n = n;
	pool->errors = ret_errors ? ret_errors : pool_own_errors(pool, count);
	atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
	if (pool->started)
		eventcount_advance(&pool->go); /* publishes the round */
	pool_step_some(pool);
	pool_wait_for_all(pool, seen);
	for (uint32_t i = 0; i < count; i++)
		if (pool->errors[i].status)
			return fail(error, pool->errors[i].status, "%s", pool->errors[i].text);
	return TROUPE_OK;
}
