/* What the benches share: options, clock, samples, the table and its JSON twin. Each program measures its subject and
 * its baseline alternately in one run, because machines drift: only ratios within a run mean anything. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <troupe/server.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BENCH_REPEATS_MAX = 99,
	BENCH_SECONDARIES_MAX = 16,
	BENCH_SERVERS_MAX = 8,
	/* For each repeat: subject and baseline take turns so often in it. Load that comes and goes then affects both.
	 * A turn should last some 20 ms, otherwise its start would be a part of the measurement. */
	BENCH_TURNS = 10,
};

struct bench_options {
	bool smoke;       /* --smoke: tiny sizes and one repeat, to see that it works */
	int repeats;      /* --repeats N */
	const char *json; /* rows are also appended to this file, one object a line; NULL: no file */
};

/* Prints the title, and the head of the table unless --section says that it is printed already. Exits with status 2 and
 * one line on a bad option. */
struct bench_options bench_parse(int argc, char **argv, const char *about);

uint64_t bench_now_ns(void);
/* The processor time of the whole process. Other processes on the machine disturb it less than real time. */
double bench_processor_ns(void);

/* --- samples ------------------------------------------------------------------------------------------------------ */

struct bench_samples { /* zeroed: no samples */
	int count;
	double at[BENCH_REPEATS_MAX];
};

void bench_add(struct bench_samples *samples, double value);
double bench_median(const struct bench_samples *samples);

struct bench_row {
	const char *subject, *unit;
	const struct bench_samples *values;
	/* Each value is measured beside the baseline of the same index; NULL: no baseline. With a baseline, the spread
	 * and the target are those of the ratio, otherwise those of the value. */
	const struct bench_samples *baselines;
	double at_most, at_least; /* the target, whichever is not 0; for information only */
	double allowance;         /* in unit: what the target allows beyond at_most times the baseline */
	uint64_t hash;            /* of the state, to show that the work was done; 0: none */
};

/* Prints one line: the medians, their ratio (the median of the ratios), the least and the greatest of the repeats. */
void bench_print(const struct bench_options *options, const struct bench_row *row);
/* Shows on a terminal what is being measured, until the next line of the table. repeat: from 0; below 0: warming up. */
void bench_progress(const struct bench_options *options, const char *subject, int repeat);

/* --- servers ------------------------------------------------------------------------------------------------------ */

/* For a world given as text, which runs as fast as possible. */
struct troupe_server_def bench_def(const char *world, int secondaries);
/* Exits with a message on failure, like bench_run(). */
struct troupe_server *bench_create(const struct troupe_server_def *def);
struct troupe_server *bench_server(const char *world, int secondaries);
/* Runs the server until so many steps have been taken in all; returns the time of this in ns. */
double bench_run(struct troupe_server *server, uint64_t until);
/* The servers take turns, BENCH_TURNS for each repeat, each of so many steps. *until: the number of steps that each has
 * taken; grows. rates[i]: gets the steps per second of server i. */
void bench_take_turns(const struct bench_options *options, const char *subject, struct troupe_server *const *servers,
	int count, uint64_t steps, uint64_t *until, struct bench_samples *rates);
/* Exits with a message if the two servers have different states. */
void bench_same(const struct troupe_server *a, const struct troupe_server *b, const char *what);

struct bench_times { /* sums of a server so far, from its report */
	double serial_s, moves;
	int secondaries;
	double busy_s[BENCH_SECONDARIES_MAX];
	double regroups; /* groups of models that were made anew, by all secondaries */
};

struct bench_times bench_times(struct troupe_server *server);

#endif
