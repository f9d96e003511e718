/* Commands that come line by line while the world runs: "[STEP] TOPIC TEXT" (commands.h), from a pipe or a terminal.
 * Each line is given to the server as soon as it has come. A command for a step that is past, or without a step, is
 * taken at the next step. A line that is not valid gives a message, and is left out. */
#ifndef CLI_COMMANDS_IN_H
#define CLI_COMMANDS_IN_H

#include "base/base.h"

struct troupe_server;
struct commands_in;

/* file: not closed. name: of the input, in messages. complain: called for each line that is not valid, and if the input
 * cannot be read; on this thread before the return, then on the reader's. TROUPE_ELIMIT: no thread. */
troupe_status commands_in_create(struct troupe_server *server, int file, const char *name,
	void (*complain)(void *ctx, const char *text), void *ctx, struct commands_in **ret_in,
	struct troupe_error *error);
/* Stops reading. NULL is fine; may be called twice. After it `complain` is not called. */
void commands_in_end(struct commands_in *in);
/* The number of commands that were given to the server. Call it after commands_in_end(). NULL: 0. */
uint64_t commands_in_given(const struct commands_in *in);
/* Call it before the server is destroyed. NULL is fine. */
void commands_in_destroy(struct commands_in *in);

#endif
