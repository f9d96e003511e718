/* Shows how well each policy balances a running world. Half of the robots are in one level, and so are one
 * component; each other robot is a component of its own. All drive, and some leave the level and return. The run
 * measures the costs (--costs). For each sample, these costs and the assignment give the makespan divided by the
 * bound of assign.h. */
#include "bench.h"
#include "crowd.h"
#include "robots.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPACING = 2, SAMPLE_STEPS = 50 };

struct subject {
	struct troupe_server *server;
	char table[64];
	struct bench_samples speed, over;
	double ns; /* of this repeat */
};

static void begin(struct subject *subject, const char *policy, const char *world, int secondaries)
{
	*subject = (struct subject){0};
	snprintf(subject->table, sizeof subject->table, "/tmp/bench_balance.XXXXXX");
	int file = mkstemp(subject->table);
	if (file < 0) {
		perror(subject->table);
		exit(1);
	}
	close(file);
	struct troupe_server_def def = bench_def(world, secondaries);
	def.distribution = policy;
	def.costs_path = subject->table;
	def.costs_every = SAMPLE_STEPS;
	subject->server = bench_create(&def);
}

static double over_bound(const struct crowd *crowd, uint32_t secondaries)
{
	uint64_t load[BENCH_SECONDARIES_MAX + 1] = {0}, most = 0;
	for (uint32_t m = 0; m < crowd->models; m++)
		load[crowd->was[m]] += crowd->cost[m];
	for (uint32_t s = 1; s <= secondaries; s++)
		most = MAX(most, load[s]);
	return (double)most / (double)MAX(MAX(crowd->greatest, crowd->all / secondaries), 1u);
}

/* The first sample is left out: its distribution was chosen before any cost was measured. */
static void end(struct subject *subject, uint32_t secondaries)
{
	struct crowd *crowd = crowd_read(subject->table);
	uint64_t per_value = crowd->steps / BENCH_REPEATS_MAX + 1;
	double sum = 0;
	for (uint64_t step = 1; step < crowd->steps && crowd_step(crowd, step, crowd->steps); step++) {
		sum += over_bound(crowd, secondaries);
		if (step % per_value)
			continue;
		bench_add(&subject->over, sum / (double)per_value);
		sum = 0;
	}
	crowd_destroy(crowd);
	unlink(subject->table);
	troupe_server_destroy(subject->server);
}

static void measure(const struct bench_options *options, int robots, int secondaries, int steps)
{
	char *world = robots_world_half_in_a_level(robots, SPACING), subject[64];
	static struct subject balanced, round_robin;
	begin(&balanced, "balanced", world, secondaries);
	begin(&round_robin, "round-robin", world, secondaries);
	snprintf(subject, sizeof subject, "%d robots on %d", robots, secondaries);
	uint64_t until = 0;
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, subject, r);
		balanced.ns = round_robin.ns = 0;
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			balanced.ns += bench_run(balanced.server, until += (uint64_t)steps);
			round_robin.ns += bench_run(round_robin.server, until);
		}
		if (r < 0)
			continue;
		bench_add(&balanced.speed, 1e9 * steps * BENCH_TURNS / balanced.ns);
		bench_add(&round_robin.speed, 1e9 * steps * BENCH_TURNS / round_robin.ns);
	}
	bench_same(balanced.server, round_robin.server, subject);
	uint64_t hash = troupe_server_hash(balanced.server);
	end(&balanced, (uint32_t)secondaries);
	end(&round_robin, (uint32_t)secondaries);
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "steps/s",
				     .values = &balanced.speed,
				     .baselines = &round_robin.speed,
				     .hash = hash});
	bench_print(options, &(struct bench_row){.subject = "  balanced",
				     .unit = "makespan over bound",
				     .values = &balanced.over,
				     .at_most = 1.1});
	bench_print(options,
		&(struct bench_row){
			.subject = "  round-robin", .unit = "makespan over bound", .values = &round_robin.over});
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_balance: half of the robots in one level; speed under balanced, beside under round-robin");
	measure(&options, options.smoke ? 16 : 64, 2, options.smoke ? 40 : 200);
	measure(&options, options.smoke ? 16 : 256, 2, options.smoke ? 40 : 50);
	return 0;
}
