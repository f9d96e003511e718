/* What a step costs that has nothing to simulate, beside a bare hand-over between two spinning threads. */
#include "bench.h"
#include "robots.h"

#include "base/gate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS_MAX = 99 };

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

static void measure(const struct bench_options *options, int secondaries, uint64_t steps)
{
	char *world = robots_world(0, 1), subject[64];
	struct troupe_server *server = bench_server(world, secondaries);
	double mine[REPEATS_MAX], bare[REPEATS_MAX];
	int repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX;
	uint64_t until = steps / 4 + 1;
	for (int r = -1; r < repeats; r++) { /* the first is to warm up */
		double ns = bench_run(server, until);
		if (r >= 0) {
			mine[r] = ns;
			bare[r] = time_hand_over(steps);
		}
		until += steps;
	}
	snprintf(subject, sizeof subject, "empty step, %d secondar%s", secondaries, secondaries == 1 ? "y" : "ies");
	bench_row(options, subject, "us/step", bench_median(mine, repeats) / (double)steps / 1000,
		bench_median(bare, repeats) / (double)steps / 1000, troupe_server_hash(server));
	troupe_server_destroy(server);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "An empty step, beside a bare hand-over there and back between two spinning threads");
	for (int secondaries = 0; secondaries <= 2; secondaries++)
		measure(&options, secondaries, options.smoke ? 100 : 200000);
	return 0;
}
