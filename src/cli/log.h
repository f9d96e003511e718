/* What --log writes: how entities of the worlds are, every so many steps, as CSV with one row for each entity and
 * sample. The manual page has the columns.
 *
 * The rows depend on the state and the pattern alone, so that a log is the same for each placement, transport and
 * resumed run; but for the column `secondary`, which only a pattern that asks for it fills.
 *
 * Thread: log_init(), log_begin(), log_end() and log_fini() by the thread that runs the server, while it does not run;
 * log_step() from on_step. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "base/outfile.h"
#include "base/text.h"
#include "cli/choice.h"

#include <troupe/server.h>

enum { LOG_PER_SECOND = 100 }; /* samples of simulated time, unless told otherwise */

struct log_world;

struct log {              /* zeroed: nothing is written */
	const char *path; /* NULL: nothing is written */
	uint64_t every;   /* steps between samples; 0: until log_begin() finds out */
	struct choice choice;
	void (*warn)(void *ctx, const char *text);
	void *ctx;
	struct outfile file;
	struct text rows, line;
	struct troupe_error why; /* it could not be written on */
	uint64_t written_ns;     /* when rows were written last */
	uint64_t sampled;        /* the last step of which there are rows */
	VEC(struct log_world) worlds;
};

/* path and what are kept; path NULL: there is no log. what NULL: models, joints, odometry. warn is told, from any
 * thread, when the log cannot be written on. TROUPE_EINVAL: wrong usage. Fini in any case. */
troupe_status log_init(struct log *log, const char *path, uint64_t every, const char *what,
	void (*warn)(void *ctx, const char *text), void *ctx, struct troupe_error *error);
/* For the definition of the server: TROUPE_OBSERVE_..., and at which steps log_step() is to be called; 0: never. */
uint32_t log_observes(const struct log *log);
uint64_t log_step_every(const struct log *log);
/* Opens the file and takes the state in which the run begins, if it is due. What fails from now on ends the log, and
 * not the run. haste: as long as the log is open. */
void log_begin(struct log *log, struct troupe_server *server, outfile_haste_fn haste);
void log_step(struct log *log, struct troupe_server *server, uint64_t step);
/* TROUPE_EIO: the log could not be written. Says so once. */
troupe_status log_end(struct log *log, struct troupe_error *error);
void log_fini(struct log *log);

#endif
