/* Reads a file of commands bound to steps: statements "STEP TOPIC TEXT", one on each line. Blank lines and lines that
 * begin with '#' are skipped. Statements need not be sorted. TEXT ends at the end of the line, except that line ends
 * inside a quoted string (" or ') of its message do not end it. TEXT may also be enclosed in single quotes, as in a
 * shell; then it ends at the next single quote. A missing TEXT, "" and '' are the empty message. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/base.h"

#include <troupe/server.h>

enum {
	COMMANDS_FILE_BYTES_MAX = 512 << 20,
	COMMANDS_STATEMENT_BYTES_MAX = 16 << 20, /* the limit for one message, which may contain SDF */
	COMMANDS_MAX = 1000000,
};

struct command_line {
	uint64_t step;
	uint32_t line; /* line on which it begins, from 1 */
	const char *topic, *text;
};

struct command_lines {                /* zeroed is empty */
	const char *path;             /* owned by the caller */
	char *bytes;                  /* topics and texts point into these */
	VEC(struct command_line) all; /* in the order of the file */
};

/* Reads the file and checks the form of every statement. TROUPE_EIO, TROUPE_ELIMIT, TROUPE_ECOMMAND with file:line.
 * Call commands_fini() in any case. */
troupe_status commands_read(const char *path, struct command_lines *commands, struct troupe_error *error);
/* The same for bytes in memory: `bytes` holds `count` bytes and a terminator; `commands` takes ownership. */
troupe_status commands_parse(
	const char *path, char *bytes, size_t count, struct command_lines *commands, struct troupe_error *error);
/* Reads one line that stands alone: "[STEP] TOPIC TEXT". A quoted string does not continue on the next line. `at` has
 * `count` bytes and room for a terminator; the bytes are changed, and topic and text of *ret_line point into them.
 * topic NULL: the line is blank or a comment. name, number: the names of the input and of the line in errors, which are
 * as above. */
troupe_status commands_parse_line(const char *name, uint32_t number, char *at, size_t count,
	struct command_line *ret_line, bool *ret_has_step, struct troupe_error *error);
/* Queues the commands in the server, which checks topics; by step, and in one step in the order of the file.
 * TROUPE_ECOMMAND with file:line. */
troupe_status commands_queue(
	const struct command_lines *commands, struct troupe_server *server, struct troupe_error *error);
void commands_fini(struct command_lines *commands);

#endif
