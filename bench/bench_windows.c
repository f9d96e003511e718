/* What it brings to take several steps between two exchanges (windows). The baseline of each row is the same run in the
 * same turns with an exchange in each step, or where the row says so, two threads or one. */
#include "bench.h"
#include "remote.h"
#include "robots.h"

#include "base/base.h"

#include <troupe/report.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TURN_NS 4e7
#define SPACING 2.0

enum { STEPS_LEAST = 60, STEPS_MOST = 20000 };

struct side {
	const char *name;
	struct troupe_server *server;
	struct remote remote; /* .server: the same; NULL: in this process */
};

static struct side local(const char *world, int secondaries, uint32_t window)
{
	struct troupe_server_def def = bench_def(world, secondaries);
	def.window = window;
	return (struct side){.server = bench_create(&def)};
}

static struct side remote(const char *world, int delay_us, uint32_t window)
{
	struct side side = {
		.remote = remote_start(&(struct remote_def){
			.world = world, .secondaries = 2, .threads = 1, .delay_us = delay_us, .window = window})};
	side.server = side.remote.server;
	return side;
}

static void end(struct side *side)
{
	if (side->remote.server)
		remote_end(&side->remote);
	else
		troupe_server_destroy(side->server);
}

/* Both take turns; a round number of steps, so that a window seldom ends with a turn. processor: the processor time of
 * this process instead of real time, for sides that are here alone. */
static void compare(const struct bench_options *options, const char *subject, struct side *mine, struct side *other,
	bool processor, double at_most)
{
	struct bench_samples times = {0}, baselines = {0};
	uint64_t until = 300;
	(void)bench_run(mine->server, until); /* windows grow, and secondaries join */
	(void)bench_run(other->server, until);
	double per_step = bench_run(mine->server, until += STEPS_LEAST) / STEPS_LEAST;
	(void)bench_run(other->server, until);
	uint64_t steps = (uint64_t)fmin(fmax(TURN_NS / per_step, STEPS_LEAST), STEPS_MOST);
	steps = options->smoke ? 20 : steps;
	for (int r = -1; r < options->repeats; r++) {
		double ns[2] = {0, 0};
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			struct side *const sides[2] = {mine, other};
			until += steps;
			for (int s = 0; s < 2; s++) {
				double before = bench_processor_ns(), real_ns = bench_run(sides[s]->server, until);
				ns[s] += processor ? bench_processor_ns() - before : real_ns;
			}
		}
		if (r < 0)
			continue;
		bench_add(&times, ns[0] / BENCH_TURNS / (double)steps / 1000);
		bench_add(&baselines, ns[1] / BENCH_TURNS / (double)steps / 1000);
	}
	bench_same(mine->server, other->server, "bench_windows");
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = processor ? "us/step cpu" : "us/step",
				     .values = &times,
				     .baselines = &baselines,
				     .at_most = at_most,
				     .hash = troupe_server_hash(mine->server)});
}

/* Bytes for each robot-step, messages for each step, and the part of the steps that were repeated. */
static void print_traffic(const struct bench_options *options, const char *what, struct troupe_server *server)
{
	struct bench_samples bytes = {0}, messages = {0}, repeated = {0};
	struct troupe_report *report = troupe_server_report(server);
	const struct troupe_report_world *world = &report->worlds[0];
	char subject[120];
	double all = (double)world->network.step_bytes + (double)world->network.ack_bytes;
	bench_add(&bytes, all / fmax((double)world->network.robot_steps, 1));
	bench_add(&messages, 4 * (double)world->windows / (double)world->steps);
	bench_add(&repeated, 100 * (double)world->repeated_steps / (double)world->steps);
	(void)snprintf(subject, sizeof subject, "  %s, for each robot-step", what);
	bench_print(options, &(struct bench_row){.subject = subject, .unit = "B", .values = &bytes, .at_most = 40});
	(void)snprintf(subject, sizeof subject, "  %s, messages for each step", what);
	bench_print(options, &(struct bench_row){.subject = subject, .unit = "", .values = &messages, .at_most = 0.1});
	(void)snprintf(subject, sizeof subject, "  %s, steps repeated", what);
	bench_print(options, &(struct bench_row){.subject = subject, .unit = "%", .values = &repeated});
	troupe_report_free(report);
}

static void measure_here(const struct bench_options *options, int robots, double at_most)
{
	char *world = robots_world(robots, SPACING), subject[100];
	struct side mine = local(world, 0, 0), single = local(world, 0, 1);
	(void)snprintf(subject, sizeof subject, "%d, one core; baseline: an exchange a step", robots);
	compare(options, subject, &mine, &single, true, at_most);
	end(&single);
	end(&mine);
	mine = local(world, 2, 0);
	single = local(world, 0, 0);
	(void)snprintf(subject, sizeof subject, "%d, two threads; baseline: one", robots);
	if (robots > 1)
		compare(options, subject, &mine, &single, false, 1 / 1.9);
	end(&single);
	end(&mine);
	free(world);
}

/* at_most: times the time of two threads. */
static void measure_there(
	const struct bench_options *options, int robots, int delay_us, uint32_t window, double at_most)
{
	char *world = robots_world(robots, SPACING), subject[120], delay[24] = "", what[80];
	struct side mine = remote(world, delay_us, window), here = local(world, 2, 0);
	if (delay_us)
		(void)snprintf(delay, sizeof delay, ", %d ms each way", delay_us / 1000);
	(void)snprintf(what, sizeof what, "%d, tcp%s%s", robots, delay, window == 1 ? ", an exchange a step" : "");
	(void)snprintf(subject, sizeof subject, "%s; baseline: two threads", what);
	compare(options, subject, &mine, &here, false, at_most);
	print_traffic(options, what, mine.server);
	end(&here);
	end(&mine);
	free(world);
}

int main(int argc, char **argv)
{
	remote_main(argc, argv);
	struct bench_options options = bench_parse(
		argc, argv, "bench_windows: several steps between two exchanges; baseline: one, or threads");
	const bool smoke = options.smoke;
	measure_here(&options, 1, 1.02);
	measure_here(&options, smoke ? 4 : 64, 0);
	measure_here(&options, smoke ? 8 : 512, 0.75);
	for (int robots = 64; robots <= 512; robots *= 8) {
		int count = smoke ? robots / 64 : robots;
		measure_there(&options, count, 0, 1, 0);
		measure_there(&options, count, 0, 0, 1 / 0.95);
		measure_there(&options, count, 1000, 0, 1 / 0.9);
	}
	measure_there(&options, smoke ? 2 : 64, 20000, 0, 0);
	return 0;
}
