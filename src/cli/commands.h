/* Inputs bound to steps, from a file: one a line, "STEP TOPIC TEXT". Blank lines and lines that begin with '#' are
 * skipped; TEXT may stand in single quotes, as in a shell; lines need not be sorted. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/base.h"

#include <troupe/server.h>

enum {
	COMMANDS_FILE_BYTES_MAX = 256 << 20,
	COMMANDS_LINE_BYTES_MAX = 1 << 16,
	COMMANDS_MAX = 1000000,
};

struct command_line {
	uint64_t step;
	uint32_t line;
	const char *topic, *text;
};

struct command_lines {                /* zeroed is empty */
	const char *path;             /* the caller's */
	char *bytes;                  /* what topics and texts point into */
	VEC(struct command_line) all; /* as in the file */
};

/* Checks the form of every line. TROUPE_EIO, TROUPE_ELIMIT, TROUPE_ECOMMAND with file:line. Fini in any case. */
troupe_status commands_read(const char *path, struct command_lines *commands, struct troupe_error *error);
/* Hands them to the server, which knows its topics. TROUPE_ECOMMAND with file:line. */
troupe_status commands_queue(
	const struct command_lines *commands, struct troupe_server *server, struct troupe_error *error);
void commands_fini(struct command_lines *commands);

#endif
