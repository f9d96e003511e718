/* Measures the whole cost of a robot-step, and the memory of a robot. The robots are performers in levels, the state is
 * hashed every 100 steps, and snapshots are requested about ten times a second. The baseline is the fastest of several
 * bare ODE loops with the same robots; MuJoCo beside it steps each robot in a state of its own. */
#include "bench.h"
#include "mujoco.h"
#include "robots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPACING = 2, HASH_EVERY = 100 };

/* --- time --------------------------------------------------------------------------------------------------------- */

struct watch { /* requests to the server while it runs */
	struct troupe_server *server;
	uint64_t hashes, snapshots;
};

static void count_snapshot(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct watch *watch = ctx;
	watch->snapshots += snapshot->model_count > 0;
}

/* Requests a snapshot, which the server makes in its next step. */
static void ask(struct watch *watch)
{
	troupe_server_snapshot(watch->server, count_snapshot, watch);
}

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct watch *watch = ctx;
	(void)step;
	watch->hashes += hash != 0;
}

static struct troupe_server *create(const char *world, int secondaries, bool by_ode, struct watch *watch)
{
	struct troupe_server_def def = bench_def(world, secondaries);
	def.by_ode = by_ode;
	def.hash_every = HASH_EVERY;
	def.on_hash = on_hash;
	def.ctx = watch;
	*watch = (struct watch){.server = bench_create(&def)};
	return watch->server;
}

/* If fewer snapshots or hashes were made than requested, the result would be too good. */
static void check_watched(const struct watch *watch, uint64_t steps)
{
	if (watch->hashes < steps / HASH_EVERY || !watch->snapshots) {
		fprintf(stderr, "bench_robot: hashes or snapshots were not made\n");
		exit(1);
	}
}

static double time_bare(struct bare *bare, int robots, int steps)
{
	uint64_t begin = bench_now_ns();
	for (int s = 0; s < steps; s++)
		bare_step(bare, 0, robots);
	return (double)(bench_now_ns() - begin);
}

struct baselines {
	struct bare *bare[BARE_KINDS];
	double ns[BARE_KINDS]; /* in this repeat */
	struct bench_samples us[BARE_KINDS];
};

static enum bare_kind fastest(const struct baselines *baselines)
{
	enum bare_kind best = 0;
	for (enum bare_kind k = 1; k < BARE_KINDS; k++)
		if (bench_median(&baselines->us[k]) < bench_median(&baselines->us[best]))
			best = k;
	return best;
}

static void print_beside(const struct bench_options *options, const char *subject, const struct bench_samples *mine,
	const struct baselines *baselines, enum bare_kind kind, struct bench_row judged)
{
	char text[128];
	snprintf(text, sizeof text, "%s, to %s", subject, bare_kind_name(kind));
	judged.subject = text;
	judged.unit = "us";
	judged.values = mine;
	judged.baselines = &baselines->us[kind];
	bench_print(options, &judged);
}

/* Against the fastest of the bare loops, which counts; then against the others. */
static void print(const struct bench_options *options, const char *subject, const struct bench_samples *mine,
	const struct baselines *baselines, double at_most, uint64_t hash)
{
	enum bare_kind best = fastest(baselines);
	print_beside(options, subject, mine, baselines, best, (struct bench_row){.at_most = at_most, .hash = hash});
	for (enum bare_kind k = 0; k < BARE_KINDS; k++)
		if (k != best)
			print_beside(options, "  the same", mine, baselines, k, (struct bench_row){0});
}

/* The same robots, by the own solver and by ODE alone. */
static void print_solvers(
	const struct bench_options *options, const struct bench_samples *mine, const struct bench_samples *by_ode)
{
	bench_print(options, &(struct bench_row){.subject = "  the same, to troupe with --solver ode",
				     .unit = "us",
				     .values = mine,
				     .baselines = by_ode});
}

static struct mujoco *create_mujoco(int robots)
{
	if (!mujoco_name())
		return NULL;
	struct mujoco *mujoco = mujoco_create(robots_mjcf(), robots);
	mujoco_set(mujoco, "left", robots_wheel_rate(false));
	mujoco_set(mujoco, "right", robots_wheel_rate(true));
	return mujoco;
}

static void print_mujoco(const struct bench_options *options, struct mujoco *mujoco, const struct bench_samples *mine,
	const struct bench_samples *theirs)
{
	char name[60];
	double height_m = mujoco_height(mujoco, "chassis");
	snprintf(name, sizeof name, "  the same, to %s%s", mujoco_name(), height_m > 0.2 ? "" : ", fallen");
	bench_print(options, &(struct bench_row){.subject = name, .unit = "us", .values = mine, .baselines = theirs});
	mujoco_destroy(mujoco);
}

/* 0 if there is none. */
static double time_mujoco(struct mujoco *mujoco, int steps)
{
	uint64_t begin = bench_now_ns();
	if (!mujoco)
		return 0;
	mujoco_run(mujoco, steps);
	return (double)(bench_now_ns() - begin);
}

/* steps: the number of steps of a turn */
static void measure(const struct bench_options *options, int robots, int steps, int secondaries)
{
	static struct baselines theirs;
	struct bench_samples mine = {0}, by_ode = {0}, by_mujoco = {0};
	struct watch watch, watch_ode;
	char *world = robots_world_in_levels(robots, SPACING), subject[64];
	struct troupe_server *server = create(world, secondaries, false, &watch);
	struct troupe_server *other = create(world, secondaries, true, &watch_ode);
	struct mujoco *mujoco = create_mujoco(robots);
	double per = (double)robots * steps * BENCH_TURNS * 1000;
	uint64_t until = 0;
	theirs = (struct baselines){0};
	snprintf(subject, sizeof subject, "%d robot%s, %s", robots, robots > 1 ? "s" : "",
		secondaries ? "one secondary" : "single runner");
	for (enum bare_kind k = 0; k < BARE_KINDS; k++)
		theirs.bare[k] = bare_create(k, robots, SPACING);
	for (int r = -1; r < options->repeats; r++) {
		double ns = 0, ode_ns = 0, mujoco_ns = 0;
		bench_progress(options, subject, r);
		memset(theirs.ns, 0, sizeof theirs.ns);
		for (int turn = 0; turn < BENCH_TURNS; turn++) {
			ask(&watch);
			ask(&watch_ode);
			ns += bench_run(server, until += (uint64_t)steps);
			ode_ns += bench_run(other, until);
			mujoco_ns += time_mujoco(mujoco, steps);
			for (enum bare_kind k = 0; k < BARE_KINDS; k++)
				theirs.ns[k] += time_bare(theirs.bare[k], robots, steps);
		}
		if (r < 0)
			continue;
		bench_add(&mine, ns / per);
		bench_add(&by_ode, ode_ns / per);
		bench_add(&by_mujoco, mujoco_ns / per);
		for (enum bare_kind k = 0; k < BARE_KINDS; k++)
			bench_add(&theirs.us[k], theirs.ns[k] / per);
	}
	check_watched(&watch, until);
	check_watched(&watch_ode, until);
	print(options, subject, &mine, &theirs, robots == 1 ? 0.7 : 0.35, troupe_server_hash(server));
	for (enum bare_kind k = 0; k < BARE_KINDS; k++)
		bare_destroy(theirs.bare[k]);
	print_solvers(options, &mine, &by_ode);
	if (mujoco)
		print_mujoco(options, mujoco, &mine, &by_mujoco);
	troupe_server_destroy(server);
	troupe_server_destroy(other);
	free(world);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum { MEMORY_STEPS = 20 };

/* kB of 1 000 bytes. */
static double resident_kb(void)
{
	long pages = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
		exit(1);
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1000;
}

static double use_troupe(int robots, bool watched)
{
	struct watch watch;
	char *world = robots_world_in_levels(robots, SPACING);
	struct troupe_server *server = create(world, 1, false, &watch);
	free(world);
	bench_run(server, MEMORY_STEPS);
	if (watched)
		ask(&watch);
	return resident_kb();
}

static double use_watched(int robots)
{
	return use_troupe(robots, true);
}

static double use_unwatched(int robots)
{
	return use_troupe(robots, false);
}

static double use_bare(int robots)
{
	time_bare(bare_create(BARE_MANY_WORLDS, robots, SPACING), robots, MEMORY_STEPS);
	return resident_kb();
}

/* Calls the function in a process of its own, which ends without giving memory back. Call it before this process has
 * threads. */
static double in_child(double (*use)(int robots), int robots)
{
	int ends[2], status;
	double kb = 0;
	if (pipe(ends))
		exit(1);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		kb = use(robots);
		_exit(write(ends[1], &kb, sizeof kb) != sizeof kb);
	}
	close(ends[1]);
	bool good = child > 0 && read(ends[0], &kb, sizeof kb) == sizeof kb && waitpid(child, &status, 0) == child;
	close(ends[0]);
	if (!good) {
		fprintf(stderr, "bench_robot: a child failed\n");
		exit(1);
	}
	return kb;
}

/* The memory of one more robot, in worlds with enough robots. */
static void measure_memory(const struct bench_options *options, int few, int many)
{
	struct bench_samples mine = {0}, unwatched = {0}, theirs = {0};
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, "memory", r);
		bench_add(&mine, (in_child(use_watched, many) - in_child(use_watched, few)) / (many - few));
		bench_add(&unwatched, (in_child(use_unwatched, many) - in_child(use_unwatched, few)) / (many - few));
		bench_add(&theirs, (in_child(use_bare, many) - in_child(use_bare, few)) / (many - few));
	}
	struct bench_row row = {.subject = "memory of a robot", .unit = "kB", .values = &mine, .at_most = 12};
	bench_print(options, &row);
	row = (struct bench_row){.subject = "the same, without a snapshot", .unit = "kB", .values = &unwatched};
	bench_print(options, &row);
	row = (struct bench_row){.subject = "the same, of the bare loop", .unit = "kB", .values = &theirs};
	bench_print(options, &row);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_robot: a robot-step, with levels, hashes and snapshots; baseline: bare ODE loops, same robots");
	static const int counts[] = {1, 8, 64, 512};
	if (!mujoco_name())
		fprintf(stderr, "bench_robot: built without MuJoCo (on Debian: libmujoco-dev): no rows beside it\n");
	measure_memory(&options, options.smoke ? 16 : 512, options.smoke ? 32 : 2560);
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		measure(&options, counts[i], options.smoke ? 10 : 10000 / counts[i] + 1, 1);
	measure(&options, 64, options.smoke ? 10 : 150, 0);
	return 0;
}
