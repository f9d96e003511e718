/* Many servers stepped at once on all cores: for learning, and for trying many commands from one state. Each server is
 * stepped by one thread at a time, so servers without secondaries (def.secondaries = 0) make the best use of the cores.
 * Which thread steps a server is of no consequence for its bits.
 *
 * Thread: one thread at a time uses a pool. No other thread uses its servers during troupe_pool_step(); calls that are
 * marked "any thread" are the exception. */
#ifndef TROUPE_POOL_H
#define TROUPE_POOL_H

#include <troupe/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_pool;

enum { TROUPE_POOL_THREADS_MAX = 1024, TROUPE_POOL_SERVERS_MAX = 1 << 20 };

/* threads: how many servers are stepped at the same time, the calling thread's among them; 0: one for each core. The
 * other threads are made here, and sleep between calls. TROUPE_EINVAL: too many threads; TROUPE_EINTERNAL: the system
 * refuses a thread. */
TROUPE_API troupe_status troupe_pool_create(
	uint32_t threads, struct troupe_pool **ret_pool, struct troupe_error *error);
/* NULL is fine. It does not touch any server. */
TROUPE_API void troupe_pool_destroy(struct troupe_pool *pool);
/* The number of threads, with the calling one. */
TROUPE_API uint32_t troupe_pool_threads(const struct troupe_pool *pool);

/* troupe_server_step(servers[i], n) for each server. Returns when all have ended, and gives the error of the first
 * server in the list that failed; the others have taken their steps all the same. No server may be in the list twice.
 * ret_errors: NULL, or room for `count` errors, which are all written: status TROUPE_OK if the server did not fail.
 * Callbacks of the servers come from the pool's threads; two servers may call at the same time. TROUPE_EINVAL, and
 * nothing is stepped: more than TROUPE_POOL_SERVERS_MAX servers. */
TROUPE_API troupe_status troupe_pool_step(struct troupe_pool *pool, struct troupe_server *const *servers,
	uint32_t count, uint64_t n, struct troupe_error *ret_errors, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
