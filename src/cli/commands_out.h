/* The file of --commands-out: all commands that a run takes, with their steps, as a file of commands that repeats the
 * run. A command that was refused changed nothing, and is written as a comment. Commands that a resumed state holds are
 * left out, because the state brings them again.
 *
 * Thread: commands_out_begin(), commands_out_end() and commands_out_fini() by the thread that runs the server, while
 * the server does not run; commands_out_take() from on_taken. */
#ifndef CLI_COMMANDS_OUT_H
#define CLI_COMMANDS_OUT_H

#include "base/outfile.h"
#include "base/text.h"

#include <troupe/server.h>

struct commands_out_line {
	uint64_t copy; /* of struct troupe_taken */
	bool refused;
	char *text;
};

struct commands_out {     /* zeroed: no file */
	const char *path; /* NULL: no file */
	void (*warn)(void *ctx, const char *text);
	void *ctx;
	struct outfile file;
	struct text out;
	struct troupe_error why;             /* the error that ended the file */
	uint64_t written_ns;                 /* the time of the last write */
	uint64_t step;                       /* of the lines */
	uint64_t complete;                   /* all lines of earlier steps are written */
	VEC(uint32_t) places;                /* by world: the place of its next command among the lines */
	VEC(struct commands_out_line) lines; /* of this step */
};

/* Opens the file. A later error ends the file but not the run: `warn` is called, on any thread. */
void commands_out_begin(struct commands_out *out, outfile_urgency_fn urgency);
void commands_out_take(struct commands_out *out, const struct troupe_taken *taken);
/* TROUPE_EIO: the file could not be written. */
troupe_status commands_out_end(struct commands_out *out, struct troupe_error *error);
void commands_out_fini(struct commands_out *out);

#endif
