/* Measures many small worlds in a pool of one thread, as for learning: what a step of a world costs when robots of one
 * shape in different worlds are solved side by side, beside the same worlds stepped one after the other. */
#include "bench.h"
#include "robots.h"

#include <troupe/command.h>
#include <troupe/pool.h>

#include <stdio.h>
#include <stdlib.h>

enum { WORLDS = 64, STEPS = 20 /* of a turn of the pool: a window of several steps */ };
#define SPACING 3.0 /* m */

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_worlds: %s\n", error->text);
	exit(1);
}

struct worlds {
	struct troupe_server *at[WORLDS];
	uint32_t count;
};

/* Carts are driven, so that they do not sleep. */
static void make(struct worlds *worlds, const char *world, bool carts)
{
	for (uint32_t i = 0; i < worlds->count; i++) {
		worlds->at[i] = bench_server(world, 0);
		if (carts)
			robots_drive(worlds->at[i], 1);
	}
}

static double step_one_by_one(const struct worlds *worlds)
{
	struct troupe_error error;
	double begin = bench_processor_ns();
	for (uint32_t i = 0; i < worlds->count; i++)
		must(troupe_server_step(worlds->at[i], STEPS, &error), &error);
	return bench_processor_ns() - begin;
}

static double step_in_pool(struct troupe_pool *pool, const struct worlds *worlds)
{
	struct troupe_error error;
	double begin = bench_processor_ns();
	must(troupe_pool_step(pool, worlds->at, worlds->count, STEPS, NULL, &error), &error);
	return bench_processor_ns() - begin;
}

static void measure(
	const struct bench_options *options, char *world, uint32_t count, const char *what, bool carts, double at_most)
{
	struct worlds alone = {.count = count}, pooled = {.count = count};
	struct bench_samples us[2] = {{0}};
	struct troupe_pool *pool = NULL;
	struct troupe_error error;
	char subject[96];
	must(troupe_pool_create(1, &pool, &error), &error);
	make(&alone, world, carts);
	make(&pooled, world, carts);
	for (int r = -1; r < options->repeats; r++) {
		double ns[2] = {0};
		bench_progress(options, "worlds", r);
		for (int turn = 0; turn < (options->smoke ? 1 : BENCH_TURNS); turn++) {
			ns[0] += step_in_pool(pool, &pooled);
			ns[1] += step_one_by_one(&alone);
		}
		for (int i = 0; r >= 0 && i < 2; i++)
			bench_add(&us[i], ns[i] / 1e3 / (options->smoke ? 1 : BENCH_TURNS) / STEPS / count);
	}
	for (uint32_t i = 0; i < count; i++)
		bench_same(alone.at[i], pooled.at[i], "in a pool and alone");
	(void)snprintf(subject, sizeof subject, "%u worlds of %s in a pool; one after the other", count, what);
	struct bench_row row = {
		subject, "us/world-step", &us[0], &us[1], .at_most = at_most, .hash = troupe_server_hash(pooled.at[0])};
	bench_print(options, &row);
	troupe_pool_destroy(pool);
	for (uint32_t i = 0; i < count; i++) {
		troupe_server_destroy(alone.at[i]);
		troupe_server_destroy(pooled.at[i]);
	}
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_worlds: many small worlds in a pool of one thread, processor time; baseline: one after the "
		"other");
	measure(&options, robots_world(1, SPACING), options.smoke ? 4 : WORLDS, "one robot", false, 0.65);
	measure(&options, robots_driven_world(1), options.smoke ? 4 : WORLDS, "one cart", true, 0.75);
	measure(&options, robots_world(1, SPACING), 4, "one robot", false, 0);
	measure(&options, robots_world(12, SPACING), options.smoke ? 4 : 16, "12 robots", false, 1.03);
	return 0;
}
