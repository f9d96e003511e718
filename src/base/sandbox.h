/* A child process that works on hostile input, and the parent's side of the stream between them.
 *
 * The child is a fork of this process. It can compute, and read and write the stream. It cannot open files or sockets,
 * start processes, signal other processes or gain privileges, and it has limits of memory and time. What it sends is as
 * hostile as its input: the caller checks it.
 *
 * Thread: one thread creates, uses and destroys a sandbox, and must outlive it (the child is killed when the thread
 * that made it ends). The process may have other threads. Calls block until the child has answered, has ended, or has
 * reached a limit. */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

#include "base/base.h"

struct sandbox;

struct sandbox_limits {
	size_t memory_bytes;          /* address space beyond what this process has when the child begins */
	uint32_t cpu_s;               /* processor time between two calls of sandbox_begin(); twice that in all */
	uint32_t wall_s;              /* time between two calls of sandbox_begin() in which the parent waits */
	uint32_t still_s; /* time in which the parent waits, and the child is blocked and uses no processor */
	const _Atomic bool *given_up; /* the child is killed when another thread sets it; NULL: never */
};

enum sandbox_state {
	SANDBOX_RUNS,
	SANDBOX_DIED,      /* it ended by itself or by a signal */
	SANDBOX_OVER_TIME, /* it was killed because of cpu_s or wall_s */
	SANDBOX_GIVEN_UP,  /* it was killed because of given_up */
	SANDBOX_STILL, /* it waited for ever: for a lock that another thread held when it began, or longer than still_s
			*/
};

/* What the child does; when it returns, the child ends. It uses sandbox_take() and sandbox_give() only. */
typedef void sandbox_work_fn(int stream, void *ctx);

/* TROUPE_ELIMIT when no process can be started. The child sees ctx as it is now. */
troupe_status sandbox_create(const struct sandbox_limits *limits, sandbox_work_fn *work, void *ctx,
	struct sandbox **ret_sandbox, struct troupe_error *error);
/* Kills the child. */
void sandbox_destroy(struct sandbox *sandbox);
/* A new piece of work: the limits of time count from here. */
void sandbox_begin(struct sandbox *sandbox);
/* All bytes or an error. TROUPE_EINTERNAL when the child has ended; error says how, after "the process that reads it".
 * After an error there is no child, and all further calls fail. */
troupe_status sandbox_send(struct sandbox *sandbox, const void *bytes, size_t count, struct troupe_error *error);
troupe_status sandbox_receive(struct sandbox *sandbox, void *bytes, size_t count, struct troupe_error *error);
enum sandbox_state sandbox_state(const struct sandbox *sandbox);
/* The child has used so much processor time that the next piece of work might run out of it: make another sandbox. */
bool sandbox_is_worn(const struct sandbox *sandbox);

/* For the child, and for any other pipe to or from a process: all bytes, or false when the other process has ended.
 * Both block. */
bool sandbox_take(int stream, void *bytes, size_t count);
bool sandbox_give(int stream, const void *bytes, size_t count);

/* For any new process: closes all files from this number on. */
void sandbox_close_from(unsigned first);

/* Whether a child is limited in memory: not under a sanitizer, whose own address space is larger than any limit. */
bool sandbox_limits_memory(void);

#endif
