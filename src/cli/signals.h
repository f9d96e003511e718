/* Handles the signals that ask a process to end: SIGTERM, and the signals that a terminal sends to all of its
 * processes, SIGINT (Ctrl-C) and SIGHUP (the terminal has closed). If SIGHUP was ignored when the process was started
 * (nohup), it stays ignored.
 *
 * After signals_catch(), the first signal asks the process to stop: signals_asked() is true, and the callback of
 * signals_tell() is called. The second signal kills the process, so that a process that does not stop can be ended. A
 * signal within 0.2 s of the first one counts as the same signal: timeout(1) sends each signal twice.
 *
 * Some work cannot be asked to stop, such as loading a large world or reading a pipe without a writer.
 * signals_arm_watchdog() sets a limit for such work: if the process is asked to stop and signals_disarm_watchdog() is
 * not called within grace_ms, then leave() is called in the middle of the work. This uses the timer of setitimer() and
 * SIGALRM. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "base/outfile.h"

#include <stdbool.h>
#include <stdint.h>

void signals_catch(void);
/* Ignores SIGINT and SIGHUP: the process that started this one handles them. */
void signals_leave_terminal(void);
/* Ignores SIGTERM as well: a launcher sends it to all ranks, and the primary stops them. */
void signals_leave_all(void);
/* From now on the first signal kills the process. */
void signals_release(void);

bool signals_asked(void);
/* Sets the callback stop(ctx), which is called from a signal handler. It is called at once if this process has
 * already been asked to stop. NULL: no callback; once the call has returned, the previous callback is not called any
 * more. Only one thread may call this. */
void signals_tell(void (*stop)(void *ctx), void *ctx);

/* leave(ctx) must end the process. It is called from a signal handler, on any thread. Watches cannot be nested. */
void signals_arm_watchdog(uint32_t grace_ms, void (*leave)(void *ctx), void *ctx);
/* Does not return if leave() has begun. Does nothing if there is no watch. */
void signals_disarm_watchdog(void);

/* After a request to stop, a write does not wait for the reader of a pipe: see base/outfile.h. */
enum outfile_urgency signals_urgency(void *ctx);

/* From now on a crash inside of a plug-in from a library names the plug-in, on standard error, before the process ends
 * by the signal. If other code of the process handles such a signal already, nothing changes. A plug-in that calls
 * exit() or quick_exit() is named as well, and the exit status is then CLI_BAD_INPUT, whatever the plug-in has
 * chosen. */
void signals_name_plugins(void);
/* From now on a function of a plug-in that has not returned after so many seconds ends the process, which names the
 * plug-in, with CLI_BAD_INPUT. For one thread that calls plug-ins, and not beside signals_arm_watchdog(), which has the
 * same timer. */
void signals_limit_plugins(const char *command, int seconds);
/* From now on, if steps(ctx) stays the same for some seconds, each thread that is inside of a plug-in from a library
 * names it on standard error, once; nothing ends. steps() must be safe in a signal handler. NULL: no more. The same
 * timer as signals_arm_watchdog(), which must have ended. */
void signals_name_stuck(uint64_t (*steps)(void *ctx), void *ctx);
/* The same for the calling thread while it loads a world, which has no steps yet. Between signals_arm_watchdog() and
 * signals_disarm_watchdog(), whose limit holds as before. False: no more. */
void signals_name_stuck_in_loading(bool on);

#endif
