/* Random worlds are run in many ways that must have the same outcome, and are checked against rules that are known
 * to be true. See src/doc/inside/determinism.md. A seed that fails is made smaller and kept, with the commands that
 * show the failure. */
#include "make.h"
#include "shrink.h"
#include "dice.h"

#include "base/clock.h"
#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT_USUAL = 12, COUNT_QUICK = 2, JOBS_MAX = 64, WAYS_MAX = 14 };

static const char usage[] =
	"usage: random_worlds [--first SEED] [--count N] [--jobs J] [--keep FOLDER] [--only KIND]\n"
	"                     [--shrink SECONDS] [--write FOLDER] [--stable]\n"
	"\n"
	"  --first SEED      the first seed (default 1)\n"
	"  --count N         how many seeds (default 12)\n"
	"  --jobs J          how many at a time (default 1)\n"
	"  --keep FOLDER     where failing worlds are kept (default: a new temporary folder)\n"
	"  --only KIND       make each seed's world of this kind: mixed, levels, joints, pile, edits, sleep,\n"
	"                    reset, floor, tied, hit, systems\n"
	"  --shrink SECONDS  spend so long on making a failing world smaller (default 20; 0: leave it)\n"
	"  --write FOLDER    only write the first seed's world there\n"
	"  --stable          a model that diverges is a failure as well\n"
	"\n"
	"TROUPE names the program (default ./troupe), SOURCE_DIR its source folder (default .).\n"
	"With TROUPE_TEST_QUICK set, the default count is 2.\n";

struct settings {
	uint64_t first, count;
	uint32_t jobs;
	const char *keep, *write;
	enum scenario_kind only;
	double shrink_s;
	bool stable;
};

struct shared { /* by the workers */
	_Atomic uint64_t next, done, failed, diverged, runs, cpu_ms;
};

/* --- one seed ----------------------------------------------------------------------------------------------------- */

static struct placement some_placement(struct dice *dice, const struct scenario *scenario, bool may_be_tcp)
{
	struct placement p = {.secondaries = (uint32_t)DICE_OF(dice, 1, 2, 2, 3, 3, 8)};
	p.tcp = may_be_tcp && scenario->world_count == 1 && dice_chance(dice, 20);
	if (p.tcp)
		p.secondaries = dice_from(dice, 1, 3);
	else
		p.tuned = dice_chance(dice, 10);
	p.balanced = dice_chance(dice, 25);
	p.chaos = dice_chance(dice, 65);
	p.chaos_seed = dice_below(dice, 1000);
	p.chaos_moves = dice_chance(dice, 60) ? dice_from(dice, 1, 8) : 0;
	if (scenario->performers.count && dice_chance(dice, 15))
		p.pin = scenario->performers.at[dice_below(dice, scenario->performers.count)];
	if (dice_chance(dice, 25))
		p.window = (uint32_t)DICE_OF(dice, 1, 2, 7, 24, 64);
	return p;
}

static uint64_t some_step(struct dice *dice, uint64_t steps)
{
	return dice_chance(dice, 5) ? 0 : dice_below(dice, (uint32_t)steps);
}

/* Ways about saved states that a stop leaves or a running world takes up, and about files. */
static uint32_t choose_more(
	struct dice *dice, const struct scenario *scenario, uint64_t steps, struct way ways[WAYS_MAX], uint32_t count)
{
	bool alone = scenario->world_count == 1;
	struct way way = {.kind = WAY_LOST,
		.first = some_placement(dice, scenario, false),
		.second = some_placement(dice, scenario, true),
		.third = some_placement(dice, scenario, true),
		.more = (uint32_t)dice_roll(dice)};
	if (alone && dice_chance(dice, 20)) {
		way.told = dice_chance(dice, 30);
		way.at = 1 + dice_below(dice, (uint32_t)steps);
		if (!way.told) {
			way.first.tuned = false;
			way.first.tcp = true;
			way.first.secondaries = dice_from(dice, 1, 3);
		}
		ways[count++] = way;
	}
	way.first = some_placement(dice, scenario, true);
	way.at = some_step(dice, steps);
	way.every = dice_from(dice, 1, 40);
	if (alone && dice_chance(dice, 25)) {
		way.kind = WAY_UNDER;
		way.from = dice_below(dice, (uint32_t)MIN(steps, (uint64_t)60));
		ways[count++] = way;
	}
	if (dice_chance(dice, 25)) {
		way.kind = WAY_FILES;
		ways[count++] = way;
	}
	return count;
}

/* All ways, in the order in which they are tried. */
static uint32_t choose_ways(const struct troupe *troupe, const struct scenario *scenario,
	const struct account *reference, struct way ways[WAYS_MAX])
{
	struct dice dice = {hash_mix(scenario->seed, 2), 0};
	uint64_t steps = account_last_step(reference);
	uint32_t count = 0;
	if (reference->process.status == 4)
		ways[count++] = (struct way){.kind = WAY_STOP,
			.first = some_placement(&dice, scenario, true),
			.second = some_placement(&dice, scenario, true)};
	steps = MAX(steps, (uint64_t)1);
	ways[count++] = (struct way){.kind = WAY_PLAIN, .first = some_placement(&dice, scenario, false)};
	ways[count] = (struct way){.kind = WAY_PLAIN, .first = some_placement(&dice, scenario, false)};
	ways[count++].first.chaos = true;
	if (troupe->has_anew)
		ways[count++] = (struct way){.kind = WAY_PLAIN, .first = {.secondaries = 1, .anew = true}};
	if (scenario->world_count == 1 && dice_chance(&dice, 40)) {
		ways[count] = (struct way){.kind = WAY_PLAIN, .first = some_placement(&dice, scenario, false)};
		ways[count].first.secondaries = dice_from(&dice, 1, 3);
		ways[count].first.tuned = false;
		ways[count++].first.tcp = true;
	}
	for (uint32_t i = dice_from(&dice, 1, 2); i > 0; i--) {
		struct way way = {.kind = WAY_RESUME,
			.first = some_placement(&dice, scenario, true),
			.second = some_placement(&dice, scenario, true),
			.third = some_placement(&dice, scenario, true),
			.at = some_step(&dice, steps)};
		way.late = way.at > 0 && dice_chance(&dice, 35);
		if (dice_chance(&dice, 30) && way.at + 1 < steps)
			way.again = way.at + 1 + dice_below(&dice, (uint32_t)(steps - way.at - 1));
		ways[count++] = way;
	}
	if (dice_chance(&dice, 35))
		ways[count++] = (struct way){.kind = WAY_REPLAY,
			.first = some_placement(&dice, scenario, true),
			.second = some_placement(&dice, scenario, true),
			.every = dice_from(&dice, 1, 40)};
	if (dice_chance(&dice, 25))
		ways[count++] = (struct way){.kind = WAY_UNTIL,
			.first = some_placement(&dice, scenario, false),
			.at = 1 + dice_below(&dice, (uint32_t)steps)};
	return choose_more(&dice, scenario, steps, ways, count);
}

static char *make_folder(const char *parent, uint64_t seed)
{
	char *folder = mem_printf("%s/%" PRIu64, parent, seed);
	if (mkdir(folder, 0777) && errno != EEXIST) {
		perror(folder);
		exit(2);
	}
	return folder;
}

static void remove_folder(const struct scenario *scenario, const char *folder)
{
	static const char *const names[] = {"world.sdf", "commands", "commands.before", "commands.after",
		"commands.under", "report", "state", "state2", "tape", "out", "costs", "saved", "a.mcap", "b.mcap",
		"a.csv", "b.csv", "c.csv"};
	for (size_t i = 0; i < ARRAY_LEN(names) + scenario->files.count; i++) {
		const char *name = i < ARRAY_LEN(names) ? names[i] : scenario->files.at[i - ARRAY_LEN(names)].name;
		char *path = mem_printf("%s/%s", folder, name);
		(void)unlink(path);
		free(path);
	}
	for (uint64_t step = 0; scenario->world_count == 1 && step <= scenario->steps; step++) {
		/* the state that a networked run saves when a model diverges */
		char *path = mem_printf("%s/troupe-w0-%" PRIu64 ".state", folder, step);
		(void)unlink(path);
		free(path);
	}
	(void)rmdir(folder);
}

static void write_repeat(const char *folder, const struct text *text)
{
	char *path = mem_printf("%s/repeat", folder);
	FILE *file = fopen(path, "w");
	if (file) {
		fputs(text->at, file);
		fclose(file);
	}
	free(path);
}

static void describe(const struct troupe *troupe, const struct settings *settings, const struct scenario *scenario,
	const char *folder, const struct way *way, const struct failure *failure, uint32_t before, uint32_t tries,
	struct text *out)
{
	struct text commands = {0};
	char *only = settings->only == KIND_END ? mem_strdup("")
						: mem_printf(" --only %s", scenario_kind_name(settings->only));
	ways_print(troupe, scenario, way, &commands);
	text_add(&commands, "%s", "");
	write_repeat(folder, &commands);
	text_add(out, "FAILED: seed %" PRIu64 " (%s)%s: %s\n  %s\n", scenario->seed, scenario_kind_name(scenario->kind),
		only, failure->what, failure->text);
	if (tries)
		text_add(out, "  %u parts of %u are left after %u tries\n", scenario_count(scenario), before, tries);
	text_add(out, "  cd %s\n", folder);
	for (const char *line = commands.at; line && *line;) {
		int count = (int)strcspn(line, "\n");
		text_add(out, "  %.*s\n", count, line);
		line += count + (line[count] == '\n');
	}
	text_fini(&commands);
	free(only);
}

/* Returns whether the seed passed; otherwise out has the report. */
static bool run_seed(struct troupe *troupe, const struct settings *settings, uint64_t seed, struct text *out)
{
	struct scenario scenario;
	struct account reference;
	struct failure failure;
	struct way ways[WAYS_MAX], way = {.kind = WAY_ALONE};
	make_scenario(&scenario, seed, settings->only);
	char *folder = make_folder(settings->keep, seed);
	scenario_write(&scenario, troupe->source_dir, folder);
	bool good = ways_reference(troupe, &scenario, folder, &reference, &failure);
	troupe->diverged += reference.process.status == 4;
	uint32_t count = good ? choose_ways(troupe, &scenario, &reference, ways) : 0;
	for (uint32_t i = 0; i < count && good; i++) {
		good = ways_try(troupe, &scenario, folder, &reference, &ways[i], &failure);
		way = ways[i];
	}
	if (good) {
		remove_folder(&scenario, folder);
	} else {
		uint32_t before = scenario_count(&scenario), tries = 0;
		if (settings->shrink_s > 0)
			tries = shrink(troupe, &scenario, folder, settings->shrink_s, &way, &failure);
		describe(troupe, settings, &scenario, folder, &way, &failure, before, tries, out);
	}
	account_fini(&reference);
	scenario_fini(&scenario);
	free(folder);
	return good;
}

/* --- workers ------------------------------------------------------------------------------------------------------ */

static void count_work(struct troupe *troupe, struct shared *shared)
{
	atomic_fetch_add(&shared->runs, troupe->runs);
	atomic_fetch_add(&shared->cpu_ms, (uint64_t)(troupe->cpu_s * 1000));
	atomic_fetch_add(&shared->diverged, troupe->diverged);
	troupe->runs = troupe->diverged = 0;
	troupe->cpu_s = 0;
}

static void say(int pipe, const struct text *text)
{
	for (size_t done = 0; done < text->count;) {
		ssize_t count = write(pipe, text->at + done, text->count - done);
		if (count < 0 && errno != EINTR)
			_exit(2);
		done += count > 0 ? (size_t)count : 0;
	}
}

static void work(const struct troupe *from, const struct settings *settings, struct shared *shared, int pipe)
{
	struct troupe troupe = *from;
	for (;;) {
		uint64_t index = atomic_fetch_add(&shared->next, 1);
		struct text out = {0};
		if (index >= settings->count)
			break;
		bool good = run_seed(&troupe, settings, settings->first + index, &out);
		say(pipe, &out);
		text_fini(&out);
		count_work(&troupe, shared);
		atomic_fetch_add(&shared->failed, !good);
		atomic_fetch_add(&shared->done, 1);
	}
}

struct worker {
	pid_t process;
	int pipe;
	struct text said; /* not printed yet: a worker's output is printed seed by seed */
};

static void show_progress(const struct settings *settings, struct shared *shared, uint64_t begin_ns)
{
	uint64_t done = atomic_load(&shared->done);
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " worlds, %" PRIu64 " failed, %.0f s ", done, settings->count,
		atomic_load(&shared->failed), (double)(clock_now_ns() - begin_ns) * 1e-9);
}

/* Takes output of a worker, and prints it when it is complete. False: the worker has ended. */
static bool listen_to(struct worker *worker)
{
	char buffer[4096];
	ssize_t count = read(worker->pipe, buffer, sizeof buffer);
	if (count < 0 && errno == EINTR)
		return true;
	if (count > 0)
		text_add_bytes(&worker->said, buffer, (size_t)count);
	bool pause = count < (ssize_t)sizeof buffer;
	if (pause && worker->said.count && worker->said.at[worker->said.count - 1] == '\n') {
		if (isatty(STDERR_FILENO))
			fputs("\r\033[K", stderr);
		fputs(worker->said.at, stdout);
		fflush(stdout);
		text_fini(&worker->said);
		worker->said = (struct text){0};
	}
	return count > 0;
}

static void start(
	struct worker *worker, const struct troupe *troupe, const struct settings *settings, struct shared *shared)
{
	int pair[2];
	if (pipe(pair)) {
		perror("pipe");
		exit(2);
	}
	fflush(NULL);
	worker->process = fork();
	if (worker->process < 0) {
		perror("fork");
		exit(2);
	}
	if (!worker->process) {
		close(pair[0]);
		work(troupe, settings, shared, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	worker->pipe = pair[0];
}

/* Returns whether all workers ended without an error. */
static bool run_all(const struct troupe *troupe, const struct settings *settings, struct shared *shared)
{
	struct worker workers[JOBS_MAX] = {0};
	struct pollfd polls[JOBS_MAX];
	uint64_t begin_ns = clock_now_ns();
	uint32_t open = settings->jobs;
	bool good = true;
	for (uint32_t i = 0; i < settings->jobs; i++) {
		start(&workers[i], troupe, settings, shared);
		polls[i] = (struct pollfd){.fd = workers[i].pipe, .events = POLLIN};
	}
	while (open) {
		if (poll(polls, settings->jobs, 500) < 0 && errno != EINTR)
			break;
		show_progress(settings, shared, begin_ns);
		for (uint32_t i = 0; i < settings->jobs; i++)
			if (polls[i].fd >= 0 && polls[i].revents && !listen_to(&workers[i])) {
				close(polls[i].fd);
				polls[i].fd = -1;
				open--;
			}
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	for (uint32_t i = 0; i < settings->jobs; i++) {
		int status;
		good = waitpid(workers[i].process, &status, 0) > 0 && status == 0 && good;
		text_fini(&workers[i].said);
	}
	return good;
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static void refuse(const char *what, const char *text)
{
	fprintf(stderr, "random_worlds: %s '%s'\n%s", what, text, usage);
	exit(2);
}

static uint64_t whole(const char *option, const char *text, uint64_t most)
{
	uint64_t number;
	if (!parse_uint64(text, &number) || number > most)
		refuse(option, text);
	return number;
}

static enum scenario_kind kind_of(const char *text)
{
	enum scenario_kind kind = 0;
	while (kind < KIND_END && strcmp(scenario_kind_name(kind), text) != 0)
		kind++;
	if (kind == KIND_END)
		refuse("--only", text);
	return kind;
}

static struct settings read_settings(int argc, char **argv)
{
	struct settings settings = {.first = 1, .count = COUNT_USUAL, .jobs = 1, .only = KIND_END, .shrink_s = 20};
	const char *quick = getenv("TROUPE_TEST_QUICK");
	if (quick && *quick)
		settings.count = COUNT_QUICK;
	for (int i = 1; i < argc; i++) {
		const char *option = argv[i], *value = argv[i + 1];
		if (!strcmp(option, "--help") || !strcmp(option, "-h")) {
			fputs(usage, stdout);
			exit(0);
		}
		if (!strcmp(option, "--stable")) {
			settings.stable = true;
			continue;
		}
		if (!value)
			refuse("no value after the option, or no such option:", option);
		i++;
		if (!strcmp(option, "--first"))
			settings.first = whole(option, value, UINT64_MAX / 2);
		else if (!strcmp(option, "--count"))
			settings.count = whole(option, value, UINT64_MAX / 2);
		else if (!strcmp(option, "--jobs"))
			settings.jobs = (uint32_t)MAX(whole(option, value, JOBS_MAX), (uint64_t)1);
		else if (!strcmp(option, "--keep"))
			settings.keep = value;
		else if (!strcmp(option, "--write"))
			settings.write = value;
		else if (!strcmp(option, "--only"))
			settings.only = kind_of(value);
		else if (!strcmp(option, "--shrink"))
			settings.shrink_s = (double)whole(option, value, 1000000);
		else
			refuse("no such option:", option);
	}
	return settings;
}

static char *absolute(const char *path)
{
	char *found = realpath(path, NULL);
	if (!found) {
		perror(path);
		exit(2);
	}
	return found;
}

static bool knows_anew(const char *program)
{
	const char *const argv[] = {program, "run", "--help", NULL};
	struct process help;
	process_run(argv, "/", 60, NULL, &help);
	bool knows = strstr(help.out, "--anew") != NULL;
	process_fini(&help);
	return knows;
}

/* A folder for this run, which is removed when no file was kept in it. */
static char *keep_folder(const char *given)
{
	if (given) {
		if (mkdir(given, 0777) && errno != EEXIST) {
			perror(given);
			exit(2);
		}
		return absolute(given);
	}
	const char *base = getenv("TMPDIR");
	char *folder = mem_printf("%s/random_worlds.XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(2);
	}
	return folder;
}

static int write_only(const struct settings *settings, const char *source_dir)
{
	struct scenario scenario;
	struct text options = {0};
	make_scenario(&scenario, settings->first, settings->only);
	if (mkdir(settings->write, 0777) && errno != EEXIST) {
		perror(settings->write);
		return 2;
	}
	scenario_write(&scenario, source_dir, settings->write);
	scenario_options(&scenario, &options);
	printf("%s: run world.sdf --commands commands --iterations %" PRIu64 "%s\n", scenario_kind_name(scenario.kind),
		scenario.steps, options.at ? options.at : "");
	text_fini(&options);
	scenario_fini(&scenario);
	return 0;
}

int main(int argc, char **argv)
{
	struct settings settings = read_settings(argc, argv);
	const char *program = getenv("TROUPE"), *source = getenv("SOURCE_DIR");
	char *source_dir = absolute(source ? source : ".");
	if (settings.write) {
		int status = write_only(&settings, source_dir);
		free(source_dir);
		return status;
	}
	char *path = absolute(program ? program : "./troupe"), *keep = keep_folder(settings.keep);
	settings.keep = keep;
	struct troupe troupe = {.program = path,
		.source_dir = source_dir,
		.has_anew = knows_anew(path),
		.limit_s = 120,
		.diverging_fails = settings.stable};
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	bool ended_well = run_all(&troupe, &settings, shared);
	uint64_t done = atomic_load(&shared->done), failed = atomic_load(&shared->failed);
	if (!ended_well)
		printf("FAILED: a worker ended badly\n");
	(void)rmdir(keep);
	printf("%" PRIu64 " runs in %.1f s of processor time; in %" PRIu64 " worlds a model diverged\n",
		atomic_load(&shared->runs), (double)atomic_load(&shared->cpu_ms) / 1000,
		atomic_load(&shared->diverged));
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", done - failed, failed + !ended_well);
	munmap(shared, sizeof *shared);
	free(path);
	free(keep);
	free(source_dir);
	return failed || !ended_well;
}
