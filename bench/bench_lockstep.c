/* What a step costs that has nothing to simulate, beside a bare hand-over between two spinning threads; and what it
 * costs to have more secondaries than cores. */
#include "bench.h"
#include "robots.h"

#include "base/gate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct hand_over {
	_Alignas(64) _Atomic uint64_t there;
	_Alignas(64) _Atomic uint64_t back;
	uint64_t rounds;
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
	for (uint64_t i = 1; i <= h->rounds; i++) {
		while (atomic_load_explicit(&h->there, memory_order_acquire) < i)
			relax();
		atomic_store_explicit(&h->back, i, memory_order_release);
	}
	return NULL;
}

static double time_hand_over(uint64_t rounds)
{
	struct hand_over h = {.rounds = rounds};
	pthread_t thread;
	if (pthread_create(&thread, NULL, answer, &h))
		exit(1);
	uint64_t begin = bench_now_ns();
	for (uint64_t i = 1; i <= rounds; i++) {
		atomic_store_explicit(&h.there, i, memory_order_release);
		while (atomic_load_explicit(&h.back, memory_order_acquire) < i)
			relax();
	}
	double ns = (double)(bench_now_ns() - begin);
	pthread_join(thread, NULL);
	return ns;
}

/* steps: of a turn */
static void measure(const struct bench_options *options, int secondaries, uint64_t steps, double at_most)
{
	struct bench_samples mine = {0}, bare = {0};
	char *world = robots_world(0, 1), subject[64];
	struct troupe_server *server = bench_server(world, secondaries);
	uint64_t until = 0;
	double per = (double)steps * BENCH_TURNS * 1000;
	snprintf(subject, sizeof subject, "empty step, %d secondar%s", secondaries, secondaries == 1 ? "y" : "ies");
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, bare_ns = 0;
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			ns += bench_run(server, until += steps);
			bare_ns += time_hand_over(steps);
		}
		if (r < 0)
			continue;
		bench_add(&mine, ns / per);
		bench_add(&bare, bare_ns / per);
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
		measure(&options, secondaries, options.smoke ? 100 : 100000, at_most[secondaries]);
	measure_crowded(&options, options.smoke ? 16 : 512, 8, 2, options.smoke ? 10 : 20);
	return 0;
}
