/* A log (troupe/log.h; --log of the command): the states of entities at regular steps, as CSV with one row for each
 * entity and sample. The manual page troupe-recordings(5) describes the columns.
 *
 * The rows depend only on the state and the pattern. So a log is the same for each assignment and transport, and for
 * a run that was resumed. The exception is the column `secondary`, which is filled only if the pattern asks for it.
 *
 * Thread: log_init(), log_begin(), log_end() and log_fini() by the thread that runs the server, while the server does
 * not run; log_step() from on_step. */
#ifndef GATEWAY_LOG_LOG_H
#define GATEWAY_LOG_LOG_H

#include "base/outfile.h"
#include "base/text.h"
#include "gateway/log/choice.h"

#include <troupe/server.h>

enum { LOG_PER_SECOND = 100 }; /* samples per second of simulated time, by default */

struct log_world;

struct log {              /* zeroed: nothing is written */
	const char *path; /* NULL: nothing is written */
	uint64_t every;   /* steps between samples; 0: as many as make 1 / LOG_PER_SECOND with the present step */
	const char *what; /* the pattern of the choice */
	const char *name; /* of the option that has the pattern, in messages */
	struct choice choice;
	bool has_rows;
	bool sensors; /* samples of sensors are written, too */
	void (*warn)(void *ctx, const char *text);
	void *ctx;
	struct outfile file;
	struct text rows, line;
	struct troupe_error why; /* the error that ended the log */
	uint64_t written_ns;     /* when rows were written last */
	uint64_t sampled;        /* the last step that was looked at */
	VEC(struct log_world) worlds;
};

/* path, name and what must live as long as the log. path NULL: no log. what NULL: models, joints, odometry. warn is
 * called, from any thread, when writing the log fails, and when it ends without a row. TROUPE_EINVAL: wrong usage. Call
 * log_fini() in any case. */
troupe_status log_init(struct log *log, const char *path, uint64_t every, const char *name, const char *what,
	void (*warn)(void *ctx, const char *text), void *ctx, struct troupe_error *error);
/* For the definition of the server: the TROUPE_OBSERVE_... bits, and the interval in steps at which log_step() must
 * be called; 0: never. */
uint32_t log_observes(const struct log *log);
uint64_t log_step_every(const struct log *log);
/* Opens the file and writes a sample of the state in which the run begins, if one is due. A later error ends the log
 * but not the run. urgency must stay valid as long as the log is open. */
void log_begin(struct log *log, struct troupe_server *server, outfile_urgency_fn urgency);
void log_step(struct log *log, struct troupe_server *server, uint64_t step);
/* TROUPE_EIO: the log could not be written. The error is returned once. */
troupe_status log_end(struct log *log, struct troupe_error *error);
void log_fini(struct log *log);

#endif
