/* The benchmark of level distribution: the assignment alone, without physics, for crowds larger than this machine
 * could simulate, or for a table that a run wrote with --costs. Both policies get the same steps. The result is the
 * makespan (the work of the secondary with the most work) divided by the bound of assign.h, which no distribution
 * can beat.
 *
 *   levels [--crowd KIND|FILE] [--performers N] [--secondaries N,N,...] [--steps N] [--plot FILE.svg] [bench options]
 *
 * The policies see each cost with an error of up to a tenth, as one that was measured. */
#include "bench.h"
#include "crowd.h"

#include "assign/assign.h"
#include "assign/components.h"
#include "base/hash.h"
#include "run/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS_MAX = 16, SAMPLES = 10 };

struct options {
	const char *crowd, *plot; /* NULL: all kinds of crowds; NULL: no plot */
	long performers, steps;
	uint32_t secondaries[COUNTS_MAX];
	int count;
	bool counts_given;
};

static const char about[] =
	"Assignment alone: balanced beside round-robin (baseline), on the same steps\n"
	"  --crowd KIND|FILE     uniform, uneven, half, skewed, gathering, or a table of troupe run --costs\n"
	"  --performers N --secondaries N,N,... --steps N --plot FILE.svg";

/* --- one policy ----------------------------------------------------------------------------------------------------
 */

struct run {
	const struct assign_policy *policy;
	struct assignment now;
	uint32_t *before, *seen_cost; /* [models] */
	uint64_t *load;               /* [secondaries + 1] */
	struct assign_scratch scratch;
	struct components components;
	struct bench_samples over, moves, idle, ns; /* each sample is the mean of a tenth of the steps */
	double sum_over, sum_moves, sum_idle, sum_ns;
};

static void run_init(struct run *run, const char *policy, const struct crowd *crowd, uint32_t secondaries)
{
	uint32_t models = crowd->models, levels = crowd->levels;
	*run = (struct run){.policy = assign_policy_named(policy)};
	run->now.model = mem_alloc(models * sizeof *run->now.model);
	run->now.home = mem_alloc(models * sizeof *run->now.home);
	run->now.component_of = mem_alloc(models * sizeof *run->now.component_of);
	run->now.level = mem_alloc((levels + 1) * sizeof *run->now.level);
	run->before = mem_alloc(models * sizeof *run->before);
	run->seen_cost = mem_alloc(models * sizeof *run->seen_cost);
	run->load = mem_alloc((secondaries + 1) * sizeof *run->load);
}

static void run_fini(struct run *run)
{
	free(run->now.model);
	free(run->now.home);
	free(run->now.component_of);
	free(run->now.level);
	free(run->before);
	free(run->seen_cost);
	free(run->load);
	assign_scratch_fini(&run->scratch);
	components_fini(&run->components);
}

static void measure_costs(struct run *run, const struct crowd *crowd, uint64_t step)
{
	for (uint32_t m = 0; m < crowd->models; m++) {
		double error = (double)(hash_mix(step, m) % 2001) / 10000 - 0.1;
		run->seen_cost[m] = (uint32_t)((double)crowd->cost[m] * (1 + error));
	}
}

/* Judges by the true costs, which the policy did not know. */
static void judge(struct run *run, const struct crowd *crowd, uint32_t secondaries, uint64_t step)
{
	uint64_t most = 0;
	uint32_t moves = 0, idle = 0;
	memset(run->load, 0, (secondaries + 1) * sizeof *run->load);
	for (uint32_t m = 0; m < crowd->models; m++) {
		run->load[run->now.model[m]] += run->now.model[m] ? crowd->cost[m] : 0;
		moves += run->before[m] && run->now.model[m] && run->before[m] != run->now.model[m];
	}
	for (uint32_t s = 1; s <= secondaries; s++) {
		most = MAX(most, run->load[s]);
		idle += !run->load[s];
	}
	uint64_t bound = MAX(MAX(crowd->greatest, (crowd->all + secondaries - 1) / secondaries), 1u);
	run->sum_over += (double)most / (double)bound;
	run->sum_moves += step ? moves : 0;
	run->sum_idle += idle;
}

static void step_run(struct run *run, const struct crowd *crowd, uint32_t secondaries, uint64_t step)
{
	if (!crowd->steps || !step) /* in the last sample of a recorded crowd, its costs are all that is known */
		measure_costs(run, crowd, step);
	memcpy(run->before, run->now.model, crowd->models * sizeof *run->before);
	struct assign_input input = crowd->input;
	input.secondaries = secondaries;
	input.model_cost = run->seen_cost;
	input.move_cost = PLACEMENT_MOVE_NS;
	input.horizon = PLACEMENT_HORIZON_STEPS;
	uint64_t begin = bench_now_ns();
	run->policy->assign(&input, &run->now, &run->scratch);
	run->sum_ns += (double)(bench_now_ns() - begin) / crowd->models;
	judge(run, crowd, secondaries, step);
	if (crowd->steps)
		measure_costs(run, crowd, step);
}

static void end_sample(struct run *run, double steps)
{
	bench_add(&run->over, run->sum_over / steps);
	bench_add(&run->moves, run->sum_moves / steps);
	bench_add(&run->idle, run->sum_idle / steps);
	bench_add(&run->ns, run->sum_ns / steps);
	run->sum_over = run->sum_moves = run->sum_idle = run->sum_ns = 0;
}

/* --- rows and curves ------------------------------------------------------------------------------------------------
 */

struct point {
	const char *crowd;
	uint32_t secondaries;
	double balanced, round_robin; /* makespan over bound, mean of all steps */
};

static double mean(const struct bench_samples *samples)
{
	double sum = 0;
	for (int i = 0; i < samples->count; i++)
		sum += samples->at[i];
	return sum / samples->count;
}

static uint64_t fingerprint(const struct run *run, uint32_t models)
{
	uint64_t hash = 0;
	for (uint32_t m = 0; m < models; m++)
		hash = hash_mix(hash, run->now.model[m]);
	return hash;
}

static void print_row(const struct bench_options *bench, const char *subject, const char *what,
	const struct bench_samples *values, const struct bench_samples *baselines, uint64_t hash)
{
	bench_print(bench,
		&(struct bench_row){
			.subject = subject, .unit = what, .values = values, .baselines = baselines, .hash = hash});
}

/* The numbers of moves and of idle secondaries may be 0, so they have no ratio. */
static void print_rows(const struct bench_options *bench, const struct crowd *crowd, uint32_t secondaries,
	const struct run *balanced, const struct run *round_robin)
{
	char subject[64], other[96];
	snprintf(subject, sizeof subject, "%s on %u", crowd->name, secondaries);
	snprintf(other, sizeof other, "%s, round-robin", subject);
	bench_print(bench, &(struct bench_row){.subject = subject,
				   .unit = "makespan over bound",
				   .values = &balanced->over,
				   .at_most = 1.1,
				   .hash = fingerprint(balanced, crowd->models)});
	print_row(
		bench, other, "makespan over bound", &round_robin->over, NULL, fingerprint(round_robin, crowd->models));
	print_row(bench, subject, "moves a step", &balanced->moves, NULL, 0);
	print_row(bench, other, "moves a step", &round_robin->moves, NULL, 0);
	print_row(bench, subject, "idle secondaries", &balanced->idle, NULL, 0);
	print_row(bench, other, "idle secondaries", &round_robin->idle, NULL, 0);
	print_row(bench, subject, "ns a performer and step", &balanced->ns, &round_robin->ns, 0);
}

static struct point compare(
	const struct bench_options *bench, struct crowd *crowd, uint32_t secondaries, uint64_t steps)
{
	struct run balanced, round_robin;
	if (crowd->steps)
		steps = MIN(steps, crowd->steps);
	uint64_t length = MAX(steps / SAMPLES, 1u);
	run_init(&balanced, "balanced", crowd, secondaries);
	run_init(&round_robin, "round-robin", crowd, secondaries);
	bench_progress(bench, crowd->name, (int)secondaries);
	crowd_restart(crowd);
	for (uint64_t step = 0; step < steps && crowd_step(crowd, step, steps); step++) {
		step_run(&round_robin, crowd, secondaries, step);
		step_run(&balanced, crowd, secondaries, step);
		if ((step + 1) % length == 0) {
			end_sample(&round_robin, (double)length);
			end_sample(&balanced, (double)length);
		}
	}
	print_rows(bench, crowd, secondaries, &balanced, &round_robin);
	struct point point = {crowd->name, secondaries, mean(&balanced.over), mean(&round_robin.over)};
	run_fini(&balanced);
	run_fini(&round_robin);
	return point;
}

/* --- the plot -------------------------------------------------------------------------------------------------------
 */

enum { PANEL_W = 300, PANEL_H = 220, MARGIN = 45 };

static double log_of(double value)
{
	double log = 0;
	for (; value >= 2; value /= 2)
		log++;
	return log + value - 1; /* linear between powers of two: good enough for an axis */
}

static void plot_line(FILE *file, const struct point *points, int count, bool balanced, double top)
{
	fprintf(file, "<polyline fill='none' stroke='%s' stroke-width='2' points='", balanced ? "#0a7" : "#c40");
	for (int i = 0; i < count; i++) {
		double over = balanced ? points[i].balanced : points[i].round_robin;
		fprintf(file, "%.1f,%.1f ", MARGIN + log_of(points[i].secondaries) / 10 * (PANEL_W - MARGIN - 10),
			PANEL_H - MARGIN - (over - 1) / (top - 1) * (PANEL_H - 2 * MARGIN));
	}
	fprintf(file, "'/>\n");
}

static void plot_panel(FILE *file, const struct point *points, int count, int index)
{
	double top = 1.5;
	for (int i = 0; i < count; i++)
		top = MAX(top, MAX(points[i].round_robin, points[i].balanced));
	fprintf(file, "<g transform='translate(%d,30)'><text x='%d' y='20' font-weight='bold'>%s</text>\n",
		index * PANEL_W, MARGIN, points->crowd);
	fprintf(file, "<path d='M%d %dV%dH%d' fill='none' stroke='black'/>\n", MARGIN, MARGIN, PANEL_H - MARGIN,
		PANEL_W - 10);
	fprintf(file, "<text x='4' y='%d'>%.1f</text><text x='4' y='%d'>1.0</text>\n", MARGIN + 4, top,
		PANEL_H - MARGIN + 4);
	for (int log = 0; log <= 10; log += 2)
		fprintf(file, "<text x='%.0f' y='%d' text-anchor='middle'>%d</text>\n",
			MARGIN + log / 10.0 * (PANEL_W - MARGIN - 10), PANEL_H - MARGIN + 16, 1 << log);
	plot_line(file, points, count, false, top);
	plot_line(file, points, count, true, top);
	fprintf(file, "</g>\n");
}

static void plot(const char *path, const struct point *points, int crowds, int counts)
{
	FILE *file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	fprintf(file,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
		"font-size='11'>\n"
		"<rect width='100%%' height='100%%' fill='white'/>\n"
		"<text x='10' y='18'>Makespan over bound, by secondaries: <tspan fill='#c40'>round-robin</tspan>, "
		"<tspan "
		"fill='#0a7'>balanced</tspan></text>\n",
		PANEL_W * crowds, PANEL_H + 30);
	for (int i = 0; i < crowds; i++)
		plot_panel(file, points + i * counts, counts, i);
	fprintf(file, "</svg>\n");
	if (fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* --- the command line ------------------------------------------------------------------------------------------------
 */

static void refuse(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "levels: %s: '%s': expected %s\n", option, value, expected);
	exit(2);
}

static long whole(const char *option, const char *text, long lo, long hi)
{
	char *end, expected[80];
	long value = strtol(text, &end, 10);
	if (end == text || *end || value < lo || value > hi) {
		snprintf(expected, sizeof expected, "a whole number from %ld to %ld", lo, hi);
		refuse(option, text, expected);
	}
	return value;
}

static void read_counts(struct options *options, char *list)
{
	options->count = 0;
	options->counts_given = true;
	for (char *rest, *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (options->count == COUNTS_MAX)
			refuse("--secondaries", word, "at most 16 numbers");
		options->secondaries[options->count++] =
			(uint32_t)whole("--secondaries", word, 1, TROUPE_SECONDARIES_MAX);
	}
	if (!options->count)
		refuse("--secondaries", list, "numbers with commas between");
}

static bool take_own(struct options *options, const char *name, char *value)
{
	if (!strcmp(name, "--crowd"))
		options->crowd = value;
	else if (!strcmp(name, "--plot"))
		options->plot = value;
	else if (!strcmp(name, "--performers"))
		options->performers = whole(name, value, 1, 10000000);
	else if (!strcmp(name, "--steps"))
		options->steps = whole(name, value, 1, 1000000);
	else if (!strcmp(name, "--secondaries"))
		read_counts(options, value);
	else
		return false;
	return true;
}

/* Options of other names are left for the benches' own options. */
static struct bench_options parse(struct options *options, int argc, char **argv)
{
	int kept = 1;
	for (int i = 1; i < argc; i++)
		if (i + 1 < argc && take_own(options, argv[i], argv[i + 1]))
			i++;
		else
			argv[kept++] = argv[i];
	struct bench_options bench = bench_parse(kept, argv, about);
	if (!options->performers)
		options->performers = bench.smoke ? 1000 : 100000;
	if (!options->steps)
		options->steps = bench.smoke ? 20 : 200;
	if (!options->counts_given) {
		static const uint32_t few[] = {16, 256}, all[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
		options->count = options->plot ? 11 : 2;
		memcpy(options->secondaries, options->plot ? all : few, (size_t)options->count * sizeof *few);
	}
	return bench;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct bench_options bench = parse(&options, argc, argv);
	struct point points[CROWD_KINDS * COUNTS_MAX];
	int crowds = 0;
	for (int kind = 0; kind < CROWD_KINDS; kind++) {
		bool generated = !options.crowd || !strcmp(options.crowd, crowd_kinds[kind]);
		if (!generated && (kind < CROWD_KINDS - 1 || crowds))
			continue;
		struct crowd *crowd = generated ? crowd_generate(crowd_kinds[kind], (uint32_t)options.performers)
						: crowd_read(options.crowd);
		for (int i = 0; i < options.count; i++)
			points[crowds * options.count + i] =
				compare(&bench, crowd, options.secondaries[i], (uint64_t)options.steps);
		crowd_destroy(crowd);
		crowds++;
	}
	if (options.plot)
		plot(options.plot, points, crowds, options.count);
	return 0;
}
