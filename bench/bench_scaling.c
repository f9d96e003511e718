/* Measures the speed-up of several secondaries over one. The baseline is the speed-up of the bare ODE loop on as many
 * threads. The bench also shows the reason of the difference: how long each secondary works and waits, and the time
 * between steps. Then it says what worlds would cost on up to 64 machines, whose baseline is one core (paper.h). */
#include "bench.h"
#include "paper.h"
#include "remote.h"
#include "robots.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPACING = 2, THREADS_MAX = BENCH_SECONDARIES_MAX };

struct work_queue {
	struct bare *bare;
	int first, last, steps;
};

static void *run_share(void *arg)
{
	const struct work_queue *share = arg;
	bare_thread_begin();
	for (int s = 0; s < share->steps; s++)
		bare_step(share->bare, share->first, share->last);
	return NULL;
}

/* The threads have no lockstep: the best result that this loop can have. */
static double time_bare(struct bare *bare, int robots, int steps, int threads)
{
	pthread_t thread[THREADS_MAX];
	struct work_queue share[THREADS_MAX];
	uint64_t begin = bench_now_ns();
	for (int t = 0; t < threads; t++) {
		share[t] = (struct work_queue){bare, robots * t / threads, robots * (t + 1) / threads, steps};
		if (pthread_create(&thread[t], NULL, run_share, &share[t]))
			exit(1);
	}
	for (int t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	return (double)(bench_now_ns() - begin);
}

/* --- where the time goes ------------------------------------------------------------------------------------------ */

struct account { /* us in a step, one sample for each repeat */
	struct bench_samples step, serial, busy[THREADS_MAX], waiting[THREADS_MAX];
};

static void enter(struct account *account, const struct bench_times *before, const struct bench_times *after, double ns,
	int steps)
{
	double step_us = ns / steps / 1000, serial_us = (after->serial_s - before->serial_s) / steps * 1e6;
	bench_add(&account->step, step_us);
	bench_add(&account->serial, serial_us);
	for (int i = 0; i < after->secondaries; i++) {
		double busy_us = (after->busy_s[i] - before->busy_s[i]) / steps * 1e6;
		bench_add(&account->busy[i], busy_us);
		bench_add(&account->waiting[i], step_us - serial_us - busy_us);
	}
}

static void print_account(const struct bench_options *options, const struct account *account, int threads, bool judged)
{
	struct bench_row row = {.unit = "us of the step's", .baselines = &account->step};
	char subject[64];
	row.subject = subject;
	for (int i = 0; i < threads; i++) {
		snprintf(subject, sizeof subject, "  secondary %d works", i + 1);
		row.values = &account->busy[i];
		bench_print(options, &row);
		snprintf(subject, sizeof subject, "  secondary %d waits for others", i + 1);
		row.values = &account->waiting[i];
		bench_print(options, &row);
	}
	snprintf(subject, sizeof subject, "  between steps");
	row.values = &account->serial;
	row.at_most = judged ? 0.02 : 0;
	bench_print(options, &row);
}

/* --- speed-up ----------------------------------------------------------------------------------------------------- */

/* steps: the number of steps of a turn */
static void measure(const struct bench_options *options, int robots, int steps, int threads, double at_least)
{
	static struct account account;
	struct bench_samples mine = {0}, theirs = {0};
	char *world = robots_world(robots, SPACING), subject[64];
	struct troupe_server *one = bench_server(world, 1), *many = bench_server(world, threads);
	struct bare *bare = bare_create(BARE_MANY_WORLDS, robots, SPACING);
	account = (struct account){0};
	snprintf(subject, sizeof subject, "%d robots, speed-up on %d", robots, threads);
	uint64_t until = 0;
	for (int r = -1; r < options->repeats; r++) {
		double one_ns = 0, many_ns = 0, bare_one_ns = 0, bare_many_ns = 0;
		struct bench_times before = bench_times(many);
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			one_ns += bench_run(one, until += (uint64_t)steps);
			many_ns += bench_run(many, until);
			bare_one_ns += time_bare(bare, robots, steps, 1);
			bare_many_ns += time_bare(bare, robots, steps, threads);
		}
		struct bench_times after = bench_times(many);
		if (r < 0)
			continue;
		bench_add(&mine, one_ns / many_ns);
		bench_add(&theirs, bare_one_ns / bare_many_ns);
		enter(&account, &before, &after, many_ns, steps * BENCH_TURNS);
	}
	bench_same(one, many, "bench_scaling");
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "x",
				     .values = &mine,
				     .baselines = &theirs,
				     .at_least = at_least,
				     .hash = troupe_server_hash(one)});
	print_account(options, &account, threads, at_least > 0);
	troupe_server_destroy(one);
	troupe_server_destroy(many);
	bare_destroy(bare);
	free(world);
}

static int cores(void)
{
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
}

static void measure_paper(const struct bench_options *options)
{
	const bool smoke = options->smoke;
	char *many = robots_world(smoke ? 8 : 512, SPACING),
	     *most = robots_world_in_levels(smoke ? 16 : 10000, SPACING);
	const struct paper_world worlds[] = {
		{.name = "warehouse", .begin = 2000, .steps = 4000, .most = 64},
		{.name = "large", .begin = 2000, .steps = 2000, .most = 64},
		{.name = "crowd", .begin = 2000, .steps = 4000, .most = 64},
		{.name = "512 robots", .text = many, .begin = 300, .steps = 600, .most = 64},
		{.name = "10 000 robots in levels", .text = most, .begin = 100, .steps = 100, .most = 64},
	};
	for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
		struct paper_world world = worlds[i];
		if (smoke)
			world.begin = world.steps = 40, world.most = 2;
		paper_print(options, &world);
	}
	free(many);
	free(most);
}

int main(int argc, char **argv)
{
	remote_main(argc, argv);
	struct bench_options options = bench_parse(argc, argv,
		"bench_scaling: speed-up over one secondary; baseline: that of a bare ODE loop on as many threads");
	measure(&options, 64, options.smoke ? 10 : 200, 2, 0);
	for (int threads = 2; threads <= THREADS_MAX && (threads == 2 || threads <= cores()); threads *= 2)
		measure(&options, options.smoke ? 16 : 512, options.smoke ? 10 : 25 * (threads / 2), threads, 0.95);
	measure_paper(&options);
	return 0;
}
