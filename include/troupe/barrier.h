/* Barrier clients: clients (client.h) that take part in the lockstep. At each multiple of its period in simulated time
 * the run waits for the client: state k exists, the client takes its messages, publishes and calls, and then it is
 * done; only then step k begins. Its messages and calls are bound to step k. So a separate program gets the same bits
 * in every run, however long its answers take.
 *
 * The commands of several barrier clients take effect in the order of the clients' names, whichever answers first.
 * They are recorded like all commands: a replay gives the same bits without the clients.
 *
 * The first barrier of a client is at the first multiple of its period, after it has joined. A client that joins before
 * the run (troupe_server_await() waits for it) has the same barriers in every run. One that joins a running world may
 * have them later in another run; then only a recording repeats the run.
 *
 * There is one barrier for one simulated time: while the world is paused there is none. A reset goes on with the first
 * multiple of the period after it. If a run ends while it waits (troupe_server_stop()), the barrier stays open, and the
 * next run waits for it. A run that has reached its limit does not wait.
 *
 * A client fails when its answer comes too late or when it sends invalid data. Leaving is no failure. */
#ifndef TROUPE_BARRIER_H
#define TROUPE_BARRIER_H

#include <troupe/client.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	TROUPE_BARRIER_CLIENTS_MAX = 256,
	TROUPE_BARRIER_NAME_MAX = 63,        /* bytes: letters, digits, '_', '-', '.' */
	TROUPE_BARRIER_POSTS_MAX = 65536,    /* messages and calls of one client for one barrier */
	TROUPE_BARRIER_BYTES_MAX = 64 << 20, /* of these messages and calls, as text */
	TROUPE_BARRIER_DEADLINE_S_MAX = 86400,
};

typedef enum troupe_failure {
	TROUPE_FAILURE_DROPS, /* the run goes on without the client, with a call of def.on_warning */
	TROUPE_FAILURE_ENDS,  /* the run ends with TROUPE_EPEER; the error names the client */
} troupe_failure;

/* Whether a client can join under this name. NULL: no. */
TROUPE_API bool troupe_barrier_name_is_valid(const char *name);

struct troupe_barrier {
	uint64_t step;   /* k: state k exists, step k has not begun */
	int64_t time_ns; /* simulated time of state k */
};

typedef enum troupe_answer {
	TROUPE_ANSWER_NONE, /* not yet */
	TROUPE_ANSWER_DONE,
	TROUPE_ANSWER_LEFT,
	TROUPE_ANSWER_FAILED,
} troupe_answer;

/* For a client whose answers come from elsewhere: from a socket, for example. The thread that takes the step asks for
 * them, so that no hand-over between threads is needed. All functions are called on that thread. begin() and poll() may
 * use the client (take, publish, call, subscribe), which no other thread may use at that time, but must not join, leave
 * or destroy it. */
struct troupe_barrier_ops {
	/* The barrier begins. It must not wait. */
	void (*begin)(void *ctx, const struct troupe_barrier *barrier);
	/* Called again and again until the client has answered. The client's messages and calls are bound to the step.
	 * The function may wait for wait_ns (0: not at all). TROUPE_ANSWER_FAILED: *error has the reason. */
	troupe_answer (*poll)(
		void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error);
	/* The client is not joined any more, because it left, was late or failed. The function must not wait. */
	void (*out)(void *ctx, const struct troupe_error *why);
};

struct troupe_join {
	const char *name;     /* of the client; no other barrier client of the server has it */
	const char *world;    /* as it is, or as topics have it; NULL: the first */
	uint64_t period_ns;   /* simulated; a multiple of the world's step. 0: each step */
	uint64_t deadline_ns; /* real time for each answer, up to barrier_deadline_s of the server; 0: 10 s, or less if
			       * the limit is less */
	troupe_failure failure;
	const struct troupe_barrier_ops *ops; /* NULL: the client calls troupe_client_next() and troupe_client_done() */
	void *ctx;
};

/* Copies the texts. From now on the client's messages and calls wait for its next barrier. The depth of the client
 * (troupe_client_def) must be enough for the step boundaries of one period. TROUPE_EINVAL, TROUPE_ELIMIT;
 * TROUPE_ECOMMAND: a client of this name has joined already, or the world does not exist. Any thread. */
TROUPE_API troupe_status troupe_client_join(
	struct troupe_client *client, const struct troupe_join *join, struct troupe_error *error);
/* Messages and calls that wait for a barrier are dropped. Does nothing if the client has not joined.
 * troupe_client_destroy() leaves, too. Not from ops. */
TROUPE_API void troupe_client_leave(struct troupe_client *client);

/* Waits for the client's next barrier, for at most timeout_ns of real time (0: returns at once). If it is called again
 * before troupe_client_done(), it gives the same barrier. TROUPE_ELIMIT: no barrier came in time, for example because
 * no step was due. TROUPE_EPEER: the client is not joined any more; *error has the reason. TROUPE_EINVAL: it has not
 * joined. */
TROUPE_API troupe_status troupe_client_next(struct troupe_client *client, uint64_t timeout_ns,
	struct troupe_barrier *ret_barrier, struct troupe_error *error);
/* Ends the barrier at `step`. TROUPE_EINVAL: the client has no barrier, or a barrier at another step, which stays open.
 * TROUPE_EPEER as above. */
TROUPE_API troupe_status troupe_client_done(struct troupe_client *client, uint64_t step, struct troupe_error *error);

/* Waits until barrier clients of all these names have joined (names ends with NULL), or until troupe_server_stop().
 * Call it before the run. TROUPE_EPEER: not all came within timeout_ns (0: waits for ever); the error names a client
 * that is missing. */
TROUPE_API troupe_status troupe_server_await(
	struct troupe_server *server, const char *const *names, uint64_t timeout_ns, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
