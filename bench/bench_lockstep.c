/* Measures the cost of a step that has nothing to simulate; the baseline is a bare hand-over between two spinning
 * threads. Also measures the cost of more secondaries than cores. */
#include "bench.h"
#include "robots.h"

#include "base/eventcount.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TURN_NS 2e7

enum { STEPS_LEAST = 500, STEPS_MOST = 100000 };

struct hand_over {
	_Alignas(64) _Atomic uint64_t there; /* UINT64_MAX: the end */
	_Alignas(64) _Atomic uint64_t back;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void *answer(void *arg)
{
	struct hand_over *h = arg;
	for (uint64_t i = 1, seen;; i++) {
		while ((seen = atomic_load_explicit(&h->there, memory_order_acquire)) < i)
			relax();
		if (seen == UINT64_MAX)
			return NULL;
		atomic_store_explicit(&h->back, i, memory_order_release);
	}
}

static void go_round(struct hand_over *h, uint64_t round)
{
	atomic_store_explicit(&h->there, round, memory_order_release);
	while (atomic_load_explicit(&h->back, memory_order_acquire) < round)
		relax();
}

/* ns of a round. Measured for a time, not for a number of rounds: where a core is not free at once, a round takes
 * milliseconds. */
static double time_hand_over(void)
{
	struct hand_over h = {0};
	pthread_t thread;
	if (pthread_create(&thread, NULL, answer, &h))
		exit(1);
	uint64_t round = 1;
	double ns = 0;
	go_round(&h, round); /* until the thread runs */
	uint64_t begin = bench_now_ns();
	for (uint64_t until = 2; ns < TURN_NS; until *= 2) {
		while (round < until)
			go_round(&h, ++round);
		ns = (double)(bench_now_ns() - begin);
	}
	atomic_store_explicit(&h.there, UINT64_MAX, memory_order_release);
	pthread_join(thread, NULL);
	return ns / (double)(round - 1);
}

/* The number of steps of a turn, by the time of a turn for warming up. */
static uint64_t steps_of_turn(struct troupe_server *server)
{
	double steps = TURN_NS * STEPS_LEAST / bench_run(server, STEPS_LEAST);
	return steps > STEPS_MOST ? STEPS_MOST : steps < STEPS_LEAST ? STEPS_LEAST : (uint64_t)steps;
}

static void measure(const struct bench_options *options, int secondaries, double at_most)
{
	struct bench_samples mine = {0}, bare = {0};
	char *world = robots_world(0, 1), subject[64];
	struct troupe_server *server = bench_server(world, secondaries);
	uint64_t steps = options->smoke ? 100 : steps_of_turn(server), until = options->smoke ? 0 : STEPS_LEAST;
	snprintf(subject, sizeof subject, "empty step, %d secondar%s", secondaries, secondaries == 1 ? "y" : "ies");
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, bare_ns = 0;
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			ns += bench_run(server, until += steps) / (double)steps;
			bare_ns += time_hand_over();
		}
		if (r < 0)
			continue;
		bench_add(&mine, ns / BENCH_TURNS / 1000);
		bench_add(&bare, bare_ns / BENCH_TURNS / 1000);
	}
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "us/step",
				     .values = &mine,
				     .baselines = &bare,
				     .at_most = at_most,
				     .hash = troupe_server_hash(server)});
	troupe_server_destroy(server);
	free(world);
}

/* steps: the number of steps of a turn */
static void measure_crowded(const struct bench_options *options, int robots, int many, int few, uint64_t steps)
{
	struct bench_samples crowded = {0}, fitting = {0};
	char *world = robots_world(robots, 2), subject[64];
	struct troupe_server *a = bench_server(world, many), *b = bench_server(world, few);
	uint64_t until = 0;
	double per = (double)steps * BENCH_TURNS * 1000;
	snprintf(subject, sizeof subject, "%d robots on %d, of on %d", robots, many, few);
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, fitting_ns = 0;
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			ns += bench_run(a, until += steps);
			fitting_ns += bench_run(b, until);
		}
		if (r < 0)
			continue;
		bench_add(&crowded, ns / per);
		bench_add(&fitting, fitting_ns / per);
	}
	bench_same(a, b, "bench_lockstep");
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "us/step",
				     .values = &crowded,
				     .baselines = &fitting,
				     .at_most = 1.3,
				     .hash = troupe_server_hash(a)});
	troupe_server_destroy(a);
	troupe_server_destroy(b);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_lockstep: an empty step; baseline: a bare hand-over there and back between two spinning "
		"threads");
	static const double at_most[] = {0, 3, 6};
	for (int secondaries = 0; secondaries <= 2; secondaries++)
		measure(&options, secondaries, at_most[secondaries]);
	measure_crowded(&options, options.smoke ? 16 : 512, 8, 2, options.smoke ? 10 : 20);
	return 0;
}
