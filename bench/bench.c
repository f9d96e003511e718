#include "bench.h"

#include "base/text.h"

#include <troupe/report.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char head[] = "                                                  "
			   "  measured  baseline   ratio  least - greatest  target          state hash\n";

/* --- options ------------------------------------------------------------------------------------------------------ */

static void refuse(const char *program, const char *argument, const char *about)
{
	fprintf(stderr, "%s: '%s': expected --smoke, --section, --repeats N (at most %d) or --json FILE\n%s\n", program,
		argument, BENCH_REPEATS_MAX, about);
	exit(2);
}

struct bench_options bench_parse(int argc, char **argv, const char *about)
{
	struct bench_options options = {.repeats = 5};
	bool section = false;
	for (int i = 1; i < argc; i++) {
		bool more = i + 1 < argc;
		if (!strcmp(argv[i], "--smoke"))
			options.smoke = true;
		else if (!strcmp(argv[i], "--section"))
			section = true;
		else if (!strcmp(argv[i], "--json") && more)
			options.json = argv[++i];
		else if (!strcmp(argv[i], "--repeats") && more && atoi(argv[i + 1]) > 0 &&
			 atoi(argv[i + 1]) <= BENCH_REPEATS_MAX)
			options.repeats = atoi(argv[++i]);
		else
			refuse(argv[0], argv[i], about);
	}
	if (options.smoke)
		options.repeats = 1;
	printf("%s%s\n", section ? "" : head, about);
	fflush(stdout);
	return options;
}

uint64_t bench_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double bench_processor_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

void bench_add(struct bench_samples *samples, double value)
{
	if (samples->count < BENCH_REPEATS_MAX)
		samples->at[samples->count++] = value;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct spread {
	double median, least, greatest;
};

static struct spread spread_of(const struct bench_samples *samples)
{
	struct bench_samples s = *samples;
	int n = s.count;
	if (!n)
		return (struct spread){0};
	qsort(s.at, (size_t)n, sizeof s.at[0], by_value);
	return (struct spread){n % 2 ? s.at[n / 2] : (s.at[n / 2 - 1] + s.at[n / 2]) / 2, s.at[0], s.at[n - 1]};
}

double bench_median(const struct bench_samples *samples)
{
	return spread_of(samples).median;
}

static struct bench_samples ratios_of(const struct bench_samples *values, const struct bench_samples *baselines)
{
	struct bench_samples ratios = {0};
	for (int i = 0; i < values->count && i < baselines->count; i++)
		bench_add(&ratios, values->at[i] / baselines->at[i]);
	return ratios;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

struct line {
	struct spread value, baseline, ratio;
	double target; /* 0: no target */
	bool met;
};

static struct line line_of(const struct bench_row *row)
{
	struct line line = {.value = spread_of(row->values)};
	double judged = line.value.median;
	if (row->baselines) {
		struct bench_samples ratios = ratios_of(row->values, row->baselines);
		line.baseline = spread_of(row->baselines);
		line.ratio = spread_of(&ratios);
		judged = line.ratio.median;
	}
	line.target = row->at_least;
	line.met = judged >= row->at_least;
	if (row->at_most > 0) {
		line.target = row->at_most;
		if (row->baselines && row->allowance > 0)
			line.target += row->allowance / line.baseline.median;
		line.met = judged <= line.target;
	}
	return line;
}

static void print_table(const struct bench_row *row, const struct line *line)
{
	char name[80], spread[40], target[40] = "";
	const struct spread *s = row->baselines ? &line->ratio : &line->value;
	snprintf(name, sizeof name, "  %s, %s", row->subject, row->unit);
	snprintf(spread, sizeof spread, "%.3g - %.3g", s->least, s->greatest);
	if (line->target > 0)
		snprintf(target, sizeof target, "%s %.3g %s", row->at_most > 0 ? "<=" : ">=", line->target,
			line->met ? "met" : "MISSED");
	printf("%-50s %9.4g", name, line->value.median);
	if (row->baselines)
		printf(" %9.4g %7.3f", line->baseline.median, line->ratio.median);
	else
		printf(" %9s %7s", "", "");
	printf("  %16s  %-14s", spread, target);
	if (row->hash)
		printf("  %016" PRIx64, row->hash);
	printf("\n");
	fflush(stdout);
}

static void add_spread(struct text *out, const char *name, const struct spread *spread)
{
	text_add(out, ", \"%s\": {\"median\": ", name);
	text_add_double(out, spread->median);
	text_add(out, ", \"min\": ");
	text_add_double(out, spread->least);
	text_add(out, ", \"max\": ");
	text_add_double(out, spread->greatest);
	text_add(out, "}");
}

static void append(const char *path, const struct text *line)
{
	FILE *file = fopen(path, "a");
	bool good = file && fputs(line->at, file) >= 0;
	if (!file || fclose(file) || !good) {
		fprintf(stderr, "%s: cannot be written\n", path);
		exit(1);
	}
}

static void write_json(const char *path, const struct bench_row *row, const struct line *line)
{
	struct text out = {0};
	text_add(&out, "{\"subject\": ");
	text_add_json(&out, row->subject);
	text_add(&out, ", \"unit\": ");
	text_add_json(&out, row->unit);
	text_add(&out, ", \"repeats\": %d", row->values->count);
	add_spread(&out, "value", &line->value);
	if (row->baselines) {
		add_spread(&out, "baseline", &line->baseline);
		add_spread(&out, "ratio", &line->ratio);
	}
	if (line->target > 0) {
		text_add(&out, ", \"%s\": ", row->at_most > 0 ? "at_most" : "at_least");
		text_add_double(&out, line->target);
		text_add(&out, ", \"met\": %s", line->met ? "true" : "false");
	}
	if (row->hash)
		text_add(&out, ", \"state_hash\": \"%016" PRIx64 "\"", row->hash);
	text_add(&out, "}\n");
	append(path, &out);
	text_fini(&out);
}

static bool on_terminal(void)
{
	return isatty(STDERR_FILENO);
}

void bench_print(const struct bench_options *options, const struct bench_row *row)
{
	struct bench_row judged = *row;
	if (options->smoke) /* a smoke run's sizes cannot be judged */
		judged.at_most = judged.at_least = 0;
	struct line line = line_of(&judged);
	if (on_terminal())
		fprintf(stderr, "\r\033[K");
	print_table(&judged, &line);
	if (options->json)
		write_json(options->json, &judged, &line);
}

void bench_progress(const struct bench_options *options, const char *subject, int repeat)
{
	if (!on_terminal())
		return;
	if (repeat < 0)
		fprintf(stderr, "\r\033[K  %s: warming up", subject);
	else
		fprintf(stderr, "\r\033[K  %s: %d of %d", subject, repeat + 1, options->repeats);
}

/* --- servers ------------------------------------------------------------------------------------------------------ */

static void give_up(const struct troupe_error *error)
{
	fprintf(stderr, "%s\n", error->text);
	exit(1);
}

struct troupe_server_def bench_def(const char *world, int secondaries)
{
	struct troupe_server_def def = troupe_server_def_default();
	static const char *const folders[] = {"/tmp", NULL}; /* of files that benches write */
	def.world_path = "bench";
	def.resource_paths = folders;
	def.world_text = world;
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	return def;
}

struct troupe_server *bench_create(const struct troupe_server_def *def)
{
	struct troupe_server *server;
	struct troupe_error error;
	if (troupe_server_create(def, &server, &error))
		give_up(&error);
	return server;
}

struct troupe_server *bench_server(const char *world, int secondaries)
{
	struct troupe_server_def def = bench_def(world, secondaries);
	return bench_create(&def);
}

double bench_run(struct troupe_server *server, uint64_t until)
{
	struct troupe_limits limits = {.iterations = until};
	struct troupe_error error;
	uint64_t begin = bench_now_ns();
	if (troupe_server_run(server, &limits, &error))
		give_up(&error);
	return (double)(bench_now_ns() - begin);
}

void bench_take_turns(const struct bench_options *options, const char *subject, struct troupe_server *const *servers,
	int count, uint64_t steps, uint64_t *until, struct bench_samples *rates)
{
	for (int r = -1; r < options->repeats; r++) {
		double ns[BENCH_SERVERS_MAX] = {0};
		bench_progress(options, subject, r);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			*until += steps;
			for (int i = 0; i < count; i++)
				ns[i] += bench_run(servers[i], *until);
		}
		for (int i = 0; r >= 0 && i < count; i++)
			bench_add(&rates[i], (double)(steps * BENCH_TURNS) / ns[i] * 1e9);
	}
}

void bench_same(const struct troupe_server *a, const struct troupe_server *b, const char *what)
{
	if (troupe_server_hash(a) == troupe_server_hash(b))
		return;
	fprintf(stderr, "%s: the state hashes differ\n", what);
	exit(1);
}

/* --- the report --------------------------------------------------------------------------------------------------- */

struct bench_times bench_times(struct troupe_server *server)
{
	struct troupe_report *report = troupe_server_report(server);
	const struct troupe_report_world *world = &report->worlds[0];
	struct bench_times times = {.serial_s = world->serial_s, .moves = (double)world->moves};
	for (uint32_t i = 0; i < MIN(world->secondary_count, (uint32_t)BENCH_SECONDARIES_MAX); i++) {
		times.busy_s[i] = world->secondaries[i].busy_s;
		times.regroups += (double)world->secondaries[i].regroups;
		times.secondaries = (int)i + 1;
	}
	troupe_report_free(report);
	return times;
}
