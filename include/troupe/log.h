/* A log: the states of a running world at regular steps, as a file of comma-separated values (CSV) with one row for
 * each entity and sample. It is the file of `troupe run --log`, with the same bytes; the manual page
 * troupe-recordings(5) describes the columns. */
#ifndef TROUPE_LOG_H
#define TROUPE_LOG_H

#include <troupe/base.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;
struct troupe_log;

struct troupe_log_def {
	const char *path;
	/* What is logged: KIND, KIND:MODEL or KIND:MODEL/NAME, separated by commas, with * and ?. A kind is model,
	 * link, joint, contact, odometry, secondary, effort or sensor. NULL: "model,joint,odometry". */
	const char *what;
	uint64_t every; /* steps between samples; 0: 10 ms of simulated time. Sensors are logged when they measure */
	/* Any thread: why the log ends before the run, or that it has ended without a row. May be NULL. */
	void (*on_warning)(void *ctx, const char *text);
	void *ctx;
};

/* What the definition of the server must observe for this choice: TROUPE_OBSERVE_... bits. TROUPE_EINVAL: `what` is no
 * such text. */
TROUPE_API troupe_status troupe_log_observes(const char *what, uint32_t *ret_observe, struct troupe_error *error);
/* Opens the file and writes a sample of the present state, if one is due. While the server does not run. The texts and
 * ctx of def must stay valid until troupe_log_end(). TROUPE_EINVAL: `what` is not valid; TROUPE_EIO. */
TROUPE_API troupe_status troupe_log_start(struct troupe_server *server, const struct troupe_log_def *def,
	struct troupe_log **ret_log, struct troupe_error *error);
/* Call it in on_step of each step (def.step_every = 1), or after each step. log may be NULL. */
TROUPE_API void troupe_log_step(struct troupe_log *log);
/* Writes the rest, closes the file, and frees log. While the server does not run, and before it is destroyed. The error
 * that ended the file is returned here. log NULL: nothing. */
TROUPE_API troupe_status troupe_log_end(struct troupe_log *log, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
