/* Many servers stepped at once on all cores: for learning, and for trying many commands from one state. Each server is
 * stepped by one thread at a time, so servers without secondaries (def.secondaries = 0) make the best use of the cores.
 * A thread steps some of these in turn, so that robots of one shape in different worlds are solved side by side; each
 * is then in the middle of a step for longer. Not so servers with clients, with callbacks other than those of inbox.h,
 * with costs_path, over a network, or with a plug-in from a library: at the beginning of a call, and then for all of
 * it. These are stepped one after the other, on the thread's own stack. Which thread steps a server, and beside which
 * others, is of no consequence for its bits. Servers of a pool must not wait for each other in a step.
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

/* troupe_server_create() of each definition, by the threads of the pool, as when many episodes begin. ret_servers[i]:
 * the server, NULL if its creation failed; the caller destroys it. Gives the error of the first in the list that
 * failed; the others are made all the same. ret_errors as above. Callbacks of creations (def.on_warning) come from the
 * pool's threads, two definitions' at the same time. TROUPE_EINVAL, and nothing is made: more than
 * TROUPE_POOL_SERVERS_MAX definitions. */
TROUPE_API troupe_status troupe_pool_create_servers(struct troupe_pool *pool,
	const struct troupe_server_def *const *defs, uint32_t count, struct troupe_server **ret_servers,
	struct troupe_error *ret_errors, struct troupe_error *error);

/* --- commands, steps and observations of many servers in one call --------------------------------------------------
 */

/* What a number of a row commands or observes. Servers of one world, with the same models, have the same handles. */
typedef enum troupe_part_kind {
	TROUPE_PART_TWIST,      /* vx vy vz wx wy wz of a model: as a command, for the system that drives it */
	TROUPE_PART_POSE,       /* x y z qw qx qy qz of a model; observed only */
	TROUPE_PART_LINK_TWIST, /* the same of a link; observed only */
	TROUPE_PART_LINK_POSE,
	TROUPE_PART_WRENCH, /* fx fy fz tx ty tz on a link, in each step of the turn; commanded only */
	TROUPE_PART_JOINT,  /* position velocity effort, and the same of the second axis; as a command one number: that
			     * of  troupe_command_joint() */
	TROUPE_PART_SENSOR, /* the numbers of its last sample; it must be held; observed only */
} troupe_part_kind;

#define TROUPE_PART_NUMBERS 10

struct troupe_part {
	troupe_part_kind kind;
	troupe_sensor handle;               /* that of a model, link or joint without its last member */
	uint32_t count;                     /* numbers of the row that belong to it */
	uint8_t which[TROUPE_PART_NUMBERS]; /* which of its own each is; commands that are not among them are 0 */
};

struct troupe_turn {
	struct troupe_server *const *servers;
	uint32_t count; /* of servers */
	uint64_t steps;
	/* What a row of `commands` is for, and of `ret_observed`: the numbers of all parts, one after the other. */
	const struct troupe_part *actions, *observations;
	uint32_t action_count, observation_count;
	const double *commands; /* [count] rows; NULL: no commands */
	const uint32_t *delays; /* NULL, or [count]: steps between the turn and its commands */
	const bool *rests;      /* NULL, or [count]: takes no command and no step, and is observed only */
	double *ret_observed;   /* [count] rows; NAN: a handle is stale, or a sensor has not measured */
};

/* Gives each server its commands, takes its steps and reads what is observed, by the threads of the pool; otherwise as
 * troupe_pool_step(). A server whose command is refused takes no step. TROUPE_EINVAL, and nothing is done: a part
 * whose kind, count or `which` is not one of those above. */
TROUPE_API troupe_status troupe_pool_turn(struct troupe_pool *pool, const struct troupe_turn *turn,
	struct troupe_error *ret_errors, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
