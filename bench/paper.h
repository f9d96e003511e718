/* What a world would cost on machines that are not here, from what is counted here (no clock but that of processor time
 * is read, so it does not matter that the processes share two cores): each secondary is a process, and in each window
 * of steps the largest part of all secondaries, the primary's part and a round trip come after one another. */
#ifndef BENCH_PAPER_H
#define BENCH_PAPER_H

#include "bench.h"

struct paper_world {
	const char *name;
	const char *text;      /* SDF; NULL: the world and the commands of this name in troupe's own worlds */
	void (*command)(struct troupe_server *server); /* gives commands before the first step; NULL: none */
	uint64_t begin, steps; /* the steps that are counted are `begin` to begin + steps - 1 */
	uint32_t most;         /* secondaries; memory for each grows with the world */
};

/* Prints a row for each number of secondaries and each round trip. remote_main() comes before. */
void paper_print(const struct bench_options *options, const struct paper_world *world);

#endif
