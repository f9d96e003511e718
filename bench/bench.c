#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench_options bench_parse(int argc, char **argv, const char *about)
{
	struct bench_options options = {.repeats = 5};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--smoke")) {
			options.smoke = true;
		} else if (!strcmp(argv[i], "--json")) {
			options.json = true;
		} else if (!strcmp(argv[i], "--repeats") && i + 1 < argc && atoi(argv[i + 1]) > 0) {
			options.repeats = atoi(argv[++i]);
		} else {
			fprintf(stderr, "%s: '%s': expected --smoke, --json or --repeats N\n%s\n", argv[0], argv[i],
				about);
			exit(2);
		}
	}
	if (options.smoke)
		options.repeats = 1;
	if (!options.json)
		printf("%s\n%-46s %12s %12s %8s  %s\n", about, "", "measured", "baseline", "ratio", "state hash");
	return options;
}

uint64_t bench_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void give_up(const struct troupe_error *error)
{
	fprintf(stderr, "%s\n", error->text);
	exit(1);
}

static struct troupe_server *create(const char *world, int secondaries, bool sleepless)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = "bench";
	def.world_text = world;
	def.secondaries = secondaries;
	def.sleepless = sleepless;
	def.pace = TROUPE_PACE_FACTOR;
	if (troupe_server_create(&def, &server, &error))
		give_up(&error);
	return server;
}

struct troupe_server *bench_server(const char *world, int secondaries)
{
	return create(world, secondaries, false);
}

struct troupe_server *bench_server_sleepless(const char *world, int secondaries)
{
	return create(world, secondaries, true);
}

double bench_run(struct troupe_server *server, uint64_t until)
{
	struct troupe_limits limits = {.iterations = until};
	struct troupe_error error;
	uint64_t begin = bench_now_ns();
	if (troupe_server_run(server, &limits, &error))
		give_up(&error);
	return (double)(bench_now_ns() - begin);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_row(const struct bench_options *options, const char *subject, const char *unit, double value,
	double baseline, uint64_t hash)
{
	if (options->json) {
		printf("{\"subject\": \"%s\", \"unit\": \"%s\", \"value\": %.6g, \"baseline\": %.6g, \"hash\": "
		       "\"%016" PRIx64 "\"}\n",
			subject, unit, value, baseline, hash);
	} else {
		char name[80];
		snprintf(name, sizeof name, "%s, %s", subject, unit);
		printf("%-46s %12.4g", name, value);
		if (baseline > 0)
			printf(" %12.4g %8.3f", baseline, value / baseline);
		else
			printf(" %12s %8s", "", "");
		if (hash)
			printf("  %016" PRIx64, hash);
		printf("\n");
	}
	fflush(stdout);
}
