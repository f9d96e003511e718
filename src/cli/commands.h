/* Inputs bound to steps, from a file: statements "STEP TOPIC TEXT", one a line. Blank lines and lines that begin with
 * '#' are skipped; they need not be sorted. TEXT goes to the end of the line, and on over line ends that lie inside a
 * quote (" or ') of its message; or it stands in single quotes, as in a shell, and goes on to the next single quote. No
 * TEXT, "" and '' are the empty message. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/base.h"

#include <troupe/server.h>

enum {
	COMMANDS_FILE_BYTES_MAX = 512 << 20,
	COMMANDS_STATEMENT_BYTES_MAX = 16 << 20, /* as much as one message may have: it may carry SDF */
	COMMANDS_MAX = 1000000,
};

struct command_line {
	uint64_t step;
	uint32_t line; /* on which it begins, from 1 */
	const char *topic, *text;
};

struct command_lines {                /* zeroed is empty */
	const char *path;             /* the caller's */
	char *bytes;                  /* what topics and texts point into */
	VEC(struct command_line) all; /* as in the file */
};

/* Checks the form of every statement. TROUPE_EIO, TROUPE_ELIMIT, TROUPE_ECOMMAND with file:line. Fini in any case. */
troupe_status commands_read(const char *path, struct command_lines *commands, struct troupe_error *error);
/* The same for what has been read already: `bytes` holds `count` bytes and a terminator, and becomes the commands'. */
troupe_status commands_parse(
	const char *path, char *bytes, size_t count, struct command_lines *commands, struct troupe_error *error);
/* Hands them to the server, which knows its topics, by step and then as in the file. TROUPE_ECOMMAND with file:line. */
troupe_status commands_queue(
	const struct command_lines *commands, struct troupe_server *server, struct troupe_error *error);
void commands_fini(struct command_lines *commands);

#endif
