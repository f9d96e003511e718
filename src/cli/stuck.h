/* A run that is told to stop while one of its steps does not end: a thread says what the run waits for, and some
 * seconds later gives the step up and ends the process in its place. */
#ifndef CLI_STUCK_H
#define CLI_STUCK_H

#include <troupe/server.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

struct stuck {
	struct troupe_server *server;
	void (*leave)(void *ctx); /* the step has been given up: does what is left to do, and ends the process */
	void (*say)(void *ctx, const char *text);
	void *ctx;
	/* private */
	sem_t asked;
	atomic_bool ended;
	pthread_t thread;
	bool begun;
};

/* If no thread can be started, there is no limit. */
void stuck_begin(struct stuck *stuck);
/* The run was told to stop. Safe in a signal handler. */
void stuck_ask(struct stuck *stuck);
/* Does not return if leave() was called. */
void stuck_end(struct stuck *stuck);

#endif
