/* How much faster two secondaries are than one, beside how much faster the bare ODE loop gets on two threads. */
#include "bench.h"
#include "robots.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPACING = 2, REPEATS_MAX = 99, THREADS_MAX = 16 };

struct share {
	struct bare *bare;
	int first, last, steps;
};

static void *run_share(void *arg)
{
	const struct share *share = arg;
	bare_thread_begin();
	for (int s = 0; s < share->steps; s++)
		bare_step(share->bare, share->first, share->last);
	return NULL;
}

/* No lockstep between the threads: the best that this loop could do. */
static double time_bare(struct bare *bare, int robots, int steps, int threads)
{
	pthread_t thread[THREADS_MAX];
	struct share share[THREADS_MAX];
	uint64_t begin = bench_now_ns();
	for (int t = 0; t < threads; t++) {
		share[t] = (struct share){bare, robots * t / threads, robots * (t + 1) / threads, steps};
		if (pthread_create(&thread[t], NULL, run_share, &share[t]))
			exit(1);
	}
	for (int t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	return (double)(bench_now_ns() - begin);
}

static void measure(const struct bench_options *options, int robots, int steps, int threads)
{
	char *world = robots_world(robots, SPACING), subject[64];
	struct troupe_server *one = bench_server(world, 1), *many = bench_server(world, threads);
	struct bare *bare = bare_create(robots, SPACING);
	double mine[REPEATS_MAX], theirs[REPEATS_MAX];
	int repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX, until = steps / 4 + 1;
	bench_run(one, (uint64_t)until);
	bench_run(many, (uint64_t)until);
	time_bare(bare, robots, until, 1);
	for (int r = 0; r < repeats; r++) {
		until += steps;
		mine[r] = bench_run(one, (uint64_t)until) / bench_run(many, (uint64_t)until);
		theirs[r] = time_bare(bare, robots, steps, 1) / time_bare(bare, robots, steps, threads);
	}
	if (troupe_server_hash(one) != troupe_server_hash(many)) {
		fprintf(stderr, "bench_scaling: the hashes of 1 and %d secondaries differ\n", threads);
		exit(1);
	}
	snprintf(subject, sizeof subject, "%d robots, speed-up on %d", robots, threads);
	bench_row(options, subject, "x", bench_median(mine, repeats), bench_median(theirs, repeats),
		troupe_server_hash(one));
	troupe_server_destroy(one);
	troupe_server_destroy(many);
	bare_destroy(bare);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "Speed-up of more secondaries over one, beside that of a bare ODE loop on as many threads");
	measure(&options, 64, options.smoke ? 20 : 2000, 2);
	measure(&options, options.smoke ? 16 : 512, options.smoke ? 20 : 250, 2);
	return 0;
}
