/* Something that may crash or never return is tried in a child process first, which has all rights of this one: for
 * code that the user trusts but that may be broken. (sandbox.h is for hostile input.)
 *
 * Thread: any; blocks until the child has answered or ended, or for the limit. The process may have other threads. */
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#include "base/text.h"

enum { PROBE_ANSWER_MAX = 4096 };

/* Runs in the child. The answer is passed to the parent, cut at PROBE_ANSWER_MAX bytes. What it writes to its standard
 * output and error is lost. */
typedef void probe_fn(void *ctx, struct text *answer);

/* Appends the answer to *answer. TROUPE_EINTERNAL when there is none; error says only how the child ended: "it crashes
 * (Segmentation fault)", "it ends the process with status 3", "it has not returned after 10 s". TROUPE_ELIMIT when no
 * process can be started. */
troupe_status probe_run(probe_fn *work, void *ctx, uint32_t limit_ms, struct text *answer, struct troupe_error *error);

/* Runs in the child, with the handlers of signals, standard output and error of this process. Streams are flushed by
 * the caller before, and by the function at its end. */
typedef int probe_whole_fn(void *ctx);

/* Without a limit of time, for a process with one thread. *ret_value: what work returned. TROUPE_EINTERNAL, as of
 * probe_run(), when the child ends before work returns. If a signal ends the child, it ends this process, too. The
 * child ends when this process does. */
troupe_status probe_run_whole(probe_whole_fn *work, void *ctx, int *ret_value, struct troupe_error *error);

#endif
