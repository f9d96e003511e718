/* The signals that ask a process to leave: SIGTERM, and of a terminal, which sends them to all of its processes, SIGINT
 * (Ctrl-C) and SIGHUP (it is gone). A process that was started to ignore SIGHUP (nohup) goes on doing so.
 *
 * From signals_catch() on the first of them asks the process to stop: signals_asked() is true, and what signals_tell()
 * names is told. The second one kills, so that a process that does not end can still be ended. A signal that comes
 * within 0.2 s of the first counts as the same: timeout(1) sends each signal twice.
 *
 * Some work cannot be asked to stop, as reading a large world or a file that never comes. While signals_watch() holds,
 * and the process is asked and has not called signals_unwatch() within the grace, it leaves in the way that was given,
 * in the middle of that work. The timer of setitimer() and SIGALRM are used for that. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "base/outfile.h"

#include <stdbool.h>
#include <stdint.h>

void signals_catch(void);
/* SIGINT and SIGHUP are for the process that started this one. */
void signals_leave_terminal(void);
/* From now on the first one kills. */
void signals_release(void);

bool signals_asked(void);
/* Calls stop(ctx) from a signal handler; at once, too, when this process has been asked already. NULL: nobody is told
 * any more, once the call has returned. One thread calls this. */
void signals_tell(void (*stop)(void *ctx), void *ctx);

/* leave(ctx) ends the process; it is called from a signal handler, on any thread. Not twice at a time. */
void signals_watch(uint32_t grace_ms, void (*leave)(void *ctx), void *ctx);
/* Does not return once leave() has begun. Nothing when nothing is watched. */
void signals_unwatch(void);

/* A process that was asked to stop does not wait for the reader of a pipe: see base/outfile.h. */
enum outfile_haste signals_haste(void *ctx);

#endif
