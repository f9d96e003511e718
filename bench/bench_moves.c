/* Measures the hand-over of robots and of whole levels to another secondary during a run. The same world is run with
 * and without forced moves. About half of the moves lead to the secondary that has the models already; these models are
 * released and taken over again all the same. The cost of a hand-over is measured in processor time, with all threads
 * on one core and none spinning. The cost is small beside a step, and must not include other work of the machine, or an
 * uneven distribution that the moves cause. The speed of a crowd is measured in real time, on all cores. */
#include "bench.h"
#include "robots.h"

#include "base/text.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPACING = 2, SECONDARIES = 2, CRATES = 100, LEVELS = 4 };

/* --- worlds ------------------------------------------------------------------------------------------------------- */

static void add_hall(struct text *out, int hall)
{
	for (int i = 0; i < CRATES; i++)
		text_add(out,
			"<model name='crate_%d_%d'><pose>%d %d 0.25 0 0 0</pose><link name='l'><collision name='c'>"
			"<geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision></link></model>\n",
			hall, i, hall * 40 + i % 10 * 2 - 9, i / 10 * 2 - 9);
	text_add(out,
		"<model name='guard_%d'><pose>%d 0 0.25 0 0 0</pose><link name='l'><collision name='c'><geometry><box>"
		"<size>0.5 0.5 0.5</size></box></geometry></collision></link></model>\n",
		hall, hall * 40);
}

static void add_level(struct text *out, int hall)
{
	text_add(out,
		"<performer name='p_%d'><ref>guard_%d</ref><geometry><box><size>1 1 1</size></box></geometry>"
		"</performer><level name='hall_%d'><pose>%d 0 5 0 0 0</pose><geometry><box><size>24 24 20</size></box>"
		"</geometry><buffer>1</buffer>",
		hall, hall, hall, hall * 40);
	for (int i = 0; i < CRATES; i++)
		text_add(out, "<ref>crate_%d_%d</ref>", hall, i);
	text_add(out, "</level>\n");
}

/* Levels with many crates each, and a performer in each that keeps it loaded. */
static char *halls_world(void)
{
	struct text out = {0};
	text_add(&out, "<sdf version='1.9'><world name='halls'><model name='ground'><static>1</static><link name='l'>"
		       "<collision name='c'><geometry><plane/></geometry></collision></link></model>\n");
	for (int i = 0; i < LEVELS; i++)
		add_hall(&out, i);
	text_add(&out, "<plugin filename='troupe' name='troupe'>");
	for (int i = 0; i < LEVELS; i++)
		add_level(&out, i);
	text_add(&out, "</plugin></world></sdf>");
	return out.at;
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

struct subject {
	struct troupe_server *server;
	double ns, processor_us; /* of the repeat so far */
	double moves, regroups;  /* of the repeat */
};

static void begin(struct subject *subject, const char *world, bool sleepless, int moves)
{
	struct troupe_server_def def = bench_def(world, SECONDARIES);
	def.sleepless = sleepless;
	def.chaos = moves > 0;
	def.chaos_moves = (uint32_t)moves;
	*subject = (struct subject){.server = bench_create(&def)};
}

static void run(struct subject *subject, uint64_t until)
{
	struct bench_times before = bench_times(subject->server);
	double begin_ns = bench_processor_ns();
	subject->ns += bench_run(subject->server, until);
	subject->processor_us += (bench_processor_ns() - begin_ns) / 1e3;
	struct bench_times after = bench_times(subject->server);
	subject->moves += after.moves - before.moves;
	subject->regroups += after.regroups - before.regroups;
}

static void forget(struct subject *subject)
{
	*subject = (struct subject){.server = subject->server};
}

struct costs {
	struct bench_samples us, regroups;        /* of one hand-over */
	struct bench_samples speed, plain_speed;  /* steps a second */
	struct bench_samples step_us, plain_step; /* processor time of a step */
	uint64_t hash;
};

/* moves: the number of hand-overs of the repeat; steps: its number of steps */
static void enter(struct costs *costs, const struct subject *moving, const struct subject *plain, int moves, int steps)
{
	if (moving->moves <= 0) {
		fprintf(stderr, "bench_moves: nothing moved\n");
		exit(1);
	}
	bench_add(&costs->us, (moving->processor_us - plain->processor_us) / moves);
	bench_add(&costs->regroups, (moving->regroups - plain->regroups) / moves);
	bench_add(&costs->step_us, moving->processor_us / steps);
	bench_add(&costs->plain_step, plain->processor_us / steps);
	bench_add(&costs->speed, 1e9 * steps / moving->ns);
	bench_add(&costs->plain_speed, 1e9 * steps / plain->ns);
}

/* steps: the number of steps of a turn */
static void measure(const struct bench_options *options, const char *subject, const char *world, bool sleepless,
	int moves, int steps, struct costs *costs)
{
	struct subject moving, plain;
	begin(&moving, world, sleepless, moves);
	begin(&plain, world, sleepless, 0);
	*costs = (struct costs){0};
	uint64_t until = 0;
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, subject, r);
		forget(&moving);
		forget(&plain);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			run(&moving, until += (uint64_t)steps);
			run(&plain, until);
		}
		if (r >= 0)
			enter(costs, &moving, &plain, moves * steps * BENCH_TURNS, steps * BENCH_TURNS);
	}
	bench_same(moving.server, plain.server, subject);
	costs->hash = troupe_server_hash(moving.server);
	troupe_server_destroy(moving.server);
	troupe_server_destroy(plain.server);
}

/* Servers that are created meanwhile find one core, and so do not spin. */
static void measure_on_one_core(const struct bench_options *options, const char *subject, const char *world,
	bool sleepless, int moves, int steps, struct costs *costs)
{
	cpu_set_t all, one;
	if (sched_getaffinity(0, sizeof all, &all))
		exit(1);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof one, &one))
		exit(1);
	measure(options, subject, world, sleepless, moves, steps, costs);
	if (sched_setaffinity(0, sizeof all, &all))
		exit(1);
}

static void print_cost(const struct bench_options *options, const char *subject, const struct costs *costs,
	double at_most_us, double at_most_regroups)
{
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "us",
				     .values = &costs->us,
				     .at_most = at_most_us,
				     .hash = costs->hash});
	bench_print(options, &(struct bench_row){.subject = "  groups made anew",
				     .unit = "a hand-over",
				     .values = &costs->regroups,
				     .at_most = at_most_regroups});
}

static void measure_robots(const struct bench_options *options, int robots, int moves, int steps)
{
	static struct costs costs;
	char *world = robots_world(robots, SPACING), subject[64];
	snprintf(subject, sizeof subject, "a robot, %d a step of %d", moves, robots);
	measure_on_one_core(options, subject, world, false, moves, steps, &costs);
	print_cost(options, subject, &costs, 50, 1);
	free(world);
}

/* In real time, on all cores, and in processor time. */
static void measure_crowd(const struct bench_options *options, int robots, int moves, int steps, double at_least)
{
	static struct costs costs;
	char *world = robots_world(robots, SPACING), subject[64];
	snprintf(subject, sizeof subject, "%d robots, %d move in a step", robots, moves);
	measure(options, subject, world, false, moves, steps, &costs);
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "steps/s",
				     .values = &costs.speed,
				     .baselines = &costs.plain_speed,
				     .at_least = at_least,
				     .hash = costs.hash});
	measure_on_one_core(options, subject, world, false, moves, steps, &costs);
	bench_print(options, &(struct bench_row){.subject = "  in processor time",
				     .unit = "us/step",
				     .values = &costs.step_us,
				     .baselines = &costs.plain_step,
				     .at_most = at_least > 0 ? 1 / at_least : 0});
	free(world);
}

static void measure_levels(const struct bench_options *options, bool sleepless, int steps)
{
	static struct costs costs;
	char *world = halls_world(), subject[64];
	snprintf(subject, sizeof subject, "a level with %d models, %s", CRATES, sleepless ? "awake" : "asleep");
	measure_on_one_core(options, subject, world, sleepless, 1, steps, &costs);
	print_cost(options, subject, &costs, 2000, 0);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "bench_moves: handing models over, in processor time; baseline: the same without moves");
	int many = options.smoke ? 64 : 512;
	measure_robots(&options, 16, 1, options.smoke ? 10 : 400);
	measure_robots(&options, many, 100, options.smoke ? 10 : 15);
	measure_levels(&options, true, options.smoke ? 10 : 40);
	measure_levels(&options, false, options.smoke ? 60 : 150);
	measure_crowd(&options, many, 1, options.smoke ? 10 : 25, 0);
	measure_crowd(&options, many, 10, options.smoke ? 10 : 25, 0.9);
	return 0;
}
