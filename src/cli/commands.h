/* Reads a file of commands: statements "STEP TOPIC TEXT", one on each line. Blank lines and lines that begin with '#'
 * are skipped. If the first statement is "time: simulated", the others are "SECONDS TOPIC TEXT": they are bound to
 * simulated time since the start of the world, and are taken again after a reset. Statements need not be sorted. TEXT
 * ends at the end of the line, except that line ends inside a quoted string (" or ') of its message do not end it. TEXT
 * may also be enclosed in single quotes, as in a shell; then it ends at the next single quote. A missing TEXT, "" and
 * '' are the empty message. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/base.h"

#include <troupe/server.h>

enum {
	COMMANDS_FILE_BYTES_MAX = 512 << 20,
	COMMANDS_STATEMENT_BYTES_MAX = 16 << 20, /* the limit for one message, which may contain SDF */
	COMMANDS_MAX = 1000000,
};

/* The form of the statements that come next; zeroed at the beginning. */
struct command_form {
	bool begun; /* there was a statement */
	bool timed; /* the first was "time: simulated" */
};

struct command_line {
	uint64_t step; /* if it is not timed */
	uint32_t line; /* line on which it begins, from 1 */
	const char *topic, *text;
	bool timed;
	double time_s; /* if it is timed */
};

struct command_lines {    /* zeroed is empty */
	const char *path; /* owned by the caller */
	char *bytes;      /* topics and texts point into these */
	struct command_form form;
	VEC(struct command_line) all; /* in the order of the file */
};

/* Reads the file and checks the form of every statement. TROUPE_EIO, TROUPE_ELIMIT, TROUPE_ECOMMAND with file:line.
 * Call commands_fini() in any case. */
troupe_status commands_read(const char *path, struct command_lines *commands, struct troupe_error *error);
/* The same for bytes in memory: `bytes` holds `count` bytes and a terminator; `commands` takes ownership. */
troupe_status commands_parse(
	const char *path, char *bytes, size_t count, struct command_lines *commands, struct troupe_error *error);
/* Reads one line that stands alone: "[STEP] TOPIC TEXT", or "[SECONDS] TOPIC TEXT". A quoted string does not continue
 * on the next line. `at` has `count` bytes and room for a terminator; the bytes are changed, and topic and text of
 * *ret_line point into them. topic NULL: the line is blank, a comment, or the first statement "time: ...". name,
 * number: the names of the input and of the line in errors, which are as above. */
troupe_status commands_parse_line(const char *name, uint32_t number, struct command_form *form, char *at, size_t count,
	struct command_line *ret_line, bool *ret_has_step, struct troupe_error *error);
/* Gives the command to the server, which checks its topic. has_step: false if it is for the next step. TROUPE_ECOMMAND
 * with name:line. */
troupe_status commands_give(struct troupe_server *server, const char *name, const struct command_line *line,
	bool has_step, struct troupe_error *error);
/* Gives all commands, by step or time, and of one step or time in the order of the file. */
troupe_status commands_queue(
	const struct command_lines *commands, struct troupe_server *server, struct troupe_error *error);
void commands_fini(struct command_lines *commands);

#endif
