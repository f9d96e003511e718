/* What the benches share: options, clock, medians, the table and its JSON twin. Each program measures its subject and
 * its baseline alternately in one run, because machines drift: only ratios within a run mean anything. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <troupe/server.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_options {
	bool smoke;  /* --smoke: tiny sizes, to see that it works */
	bool json;   /* --json: one object a line instead of a table */
	int repeats; /* --repeats N */
};

/* Exits with status 2 and one line on a bad option. */
struct bench_options bench_parse(int argc, char **argv, const char *about);

uint64_t bench_now_ns(void);

/* The median of count numbers; sorts them. */
double bench_median(double *values, int count);

/* A server of a world given as text, as fast as possible. Like bench_run(), exits with a message when it cannot. */
struct troupe_server *bench_server(const char *world, int secondaries);
/* The same in which nothing sleeps. */
struct troupe_server *bench_server_sleepless(const char *world, int secondaries);
/* Runs it on until so many steps have been taken in all; how long that took, in ns. */
double bench_run(struct troupe_server *server, uint64_t until);

/* One line of the result: value in unit, beside the baseline's (0: none) and their ratio, and the state hash (0: none)
 * that shows that the work was done. */
void bench_row(const struct bench_options *options, const char *subject, const char *unit, double value,
	double baseline, uint64_t hash);

#endif
