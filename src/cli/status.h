/* The live status line of a run, on a terminal: each drawing replaces the previous one, and the line is removed at
 * the end. Thread: the one that runs the server; any thread may clear the line, to write a line of its own. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "base/base.h"

#include <troupe/server.h>

#include <stdatomic.h>

enum { STATUS_WINDOW = 10 }; /* samples that rates are computed over: about a second */

struct status_sample {
	uint64_t at_ns, steps;
	double time_s;
};

struct status_line {
	int file; /* -1: draws nothing */
	_Atomic bool drawn;
	uint32_t samples;
	struct status_sample sample[STATUS_WINDOW]; /* a ring */
};

/* Draws only when file is a terminal; -1: never. */
void status_init(struct status_line *line, int file);
void status_draw(struct status_line *line, struct troupe_server *server);
void status_clear(struct status_line *line);

#endif
