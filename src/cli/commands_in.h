/* Commands that come line by line while the world runs: "[STEP] TOPIC TEXT" (commands.h), from a pipe or a terminal.
 * Each line is given to the server as soon as it has come. A command for a step that is past, or without a step, is
 * taken at the next step. A line that is not valid is complained of, and left out.
 *
 * commands_in_create() itself reads what is there (up to 64 MiB), so that lines which were written before the run are
 * given before the first step. A thread reads what comes later. */
#ifndef CLI_COMMANDS_IN_H
#define CLI_COMMANDS_IN_H

#include "base/base.h"

struct troupe_server;
struct commands_in;

/* file: not closed. name: of the input, in messages. complain: told of each line that is not valid, and of an input
 * that cannot be read; on this thread before the return, then on the reader's. TROUPE_ELIMIT: no thread. */
troupe_status commands_in_create(struct troupe_server *server, int file, const char *name,
	void (*complain)(void *ctx, const char *text), void *ctx, struct commands_in **ret_in,
	struct troupe_error *error);
/* Reads no more. NULL is fine; may be called twice. After it complain is not called. */
void commands_in_end(struct commands_in *in);
/* How many commands were given to the server. After commands_in_end(). NULL: none. */
uint64_t commands_in_given(const struct commands_in *in);
/* Before the server is destroyed. NULL is fine. */
void commands_in_destroy(struct commands_in *in);

#endif
