/* The standard output and error of a program of the world, as whole lines with the name of the program before them. */
#ifndef CLI_PROGRAM_LINES_H
#define CLI_PROGRAM_LINES_H

#include "base/base.h"

enum {
	PROGRAM_LINE_MAX = 1000,       /* bytes; the rest of a longer line is left out */
	PROGRAM_LINES_PER_S_MAX = 1000 /* further lines of the same second are counted */
};

struct program_lines { /* zeroed, with a name: ready */
	const char *name;
	/* Writes the bytes at once and as a whole; false: it cannot, and the line counts as left out. */
	bool (*put)(void *ctx, const char *bytes, size_t count);
	void *ctx;
	char line[PROGRAM_LINE_MAX]; /* the line that has not ended */
	uint32_t count;
	uint64_t cut; /* bytes of that line that are left out */
	uint64_t second_ns;
	uint32_t in_second;
	uint64_t left_out; /* lines */
};

void program_lines_take(struct program_lines *lines, const char *bytes, size_t count, uint64_t now_ns);
/* The program has ended: writes the line that has no end, and how many lines were left out. */
void program_lines_end(struct program_lines *lines, uint64_t now_ns);

#endif
