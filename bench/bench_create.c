/* Measures the cost of created models for the simulation: 100 models, each with a mesh of its own, are created one
 * after the other in a world in which robots drive. The call that gives a create command, which parses and reads, is
 * compared with the step in which the model appears. The user sees the longest of these steps as a stutter. A second
 * world keeps to real time and gets all its commands before it begins, as from a file; no step may wait for a model
 * that is not ready. */
#include "bench.h"
#include "robots.h"

#include "base/text.h"

#include <troupe/command.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_STEPS = 20 }; /* between two creations */

static char folder[] = "/tmp/bench_create_XXXXXX";

struct sizes {
	int robots, models, side; /* side: a mesh has 4 * side * side triangles */
};

/* --- files -------------------------------------------------------------------------------------------------------- */

/* A ball with bumps. */
static struct text make_ball(int side, int number)
{
	struct text out = {0};
	int columns = 2 * side;
	for (int y = 0; y <= side; y++)
		for (int x = 0; x < columns; x++) {
			double a = M_PI * y / side, b = 2 * M_PI * x / columns, r = 0.3 + 0.02 * sin(number + 3 * a);
			text_add(&out, "v %.9f %.9f %.9f\n", r * sin(a) * cos(b), r * sin(a) * sin(b), r * cos(a));
		}
	for (int y = 0; y < side; y++)
		for (int x = 0; x < columns; x++) {
			int a = y * columns + x + 1, b = y * columns + (x + 1) % columns + 1;
			text_add(&out, "f %d %d %d\nf %d %d %d\n", a, a + columns, b, b, a + columns, b + columns);
		}
	return out;
}

static char *path_of(int number)
{
	return mem_printf("%s/%d.obj", folder, number);
}

static void write_files(const struct sizes *sizes)
{
	for (int i = 0; i < sizes->models; i++) {
		struct text ball = make_ball(sizes->side, i);
		char *path = path_of(i);
		FILE *file = fopen(path, "w");
		if (!file || fwrite(ball.at, 1, ball.count, file) != ball.count || fclose(file)) {
			fprintf(stderr, "bench_create: %s cannot be written\n", path);
			exit(1);
		}
		free(path);
		text_fini(&ball);
	}
}

static void delete_files(const struct sizes *sizes)
{
	for (int i = 0; i < sizes->models; i++) {
		char *path = path_of(i);
		(void)unlink(path);
		free(path);
	}
	(void)rmdir(folder);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "bench_create: %s\n", error->text);
	exit(1);
}

struct watch { /* times of steps, from one call of on_step to the next */
	uint64_t last_ns;
	double longest_ns;
};

static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct watch *watch = ctx;
	uint64_t now = bench_now_ns();
	(void)server, (void)step;
	if (watch->last_ns)
		watch->longest_ns = fmax(watch->longest_ns, (double)(now - watch->last_ns));
	watch->last_ns = now;
}

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx;
	if (!reply->status)
		return;
	fprintf(stderr, "bench_create: %s\n", reply->text);
	exit(1);
}

static struct troupe_server *begin(const struct sizes *sizes, struct watch *watch, bool paced)
{
	char *world = robots_world(sizes->robots, 3);
	struct troupe_server_def def = bench_def(world, 1);
	def.step_every = 1;
	def.on_step = on_step;
	def.on_reply = on_reply;
	def.ctx = watch;
	if (paced)
		def.rtf = 1;
	struct troupe_server *server = bench_create(&def);
	free(world);
	return server;
}

static void post(struct troupe_server *server, uint64_t step, int number)
{
	struct text text = {0};
	struct troupe_error error;
	char *path = path_of(number);
	text_add(&text,
		"sdf: \"<sdf version='1.9'><model name='ball_%d'><pose>%d 0 5 0 0 0</pose><link name='l'><collision "
		"name='c'><geometry><mesh><uri>%s</uri></mesh></geometry></collision></link></model></sdf>\"",
		number, -5 - number, path);
	char *topic = mem_printf("/world/%s/create", troupe_server_world_name(server, 0));
	must(troupe_server_command(server, step, topic, text.at, &error), &error);
	free(topic);
	free(path);
	text_fini(&text);
}

/* --- the measurements --------------------------------------------------------------------------------------------- */

struct result {
	struct bench_samples posting, with, plain, longest, longest_plain, ahead, ahead_plain; /* ms */
	uint64_t hash;
};

static double median_of(double *values, int count)
{
	struct bench_samples all = {0};
	for (int i = 0; i < count && i < BENCH_REPEATS_MAX; i++)
		bench_add(&all, values[i]);
	return bench_median(&all);
}

/* Gives each command just before its step, and takes one step at a time. */
static void measure_one_by_one(const struct sizes *sizes, struct result *result)
{
	struct watch watch = {0};
	struct troupe_server *server = begin(sizes, &watch, false);
	size_t bytes = (size_t)sizes->models * sizeof(double);
	double *posting = mem_alloc(bytes), *with = mem_alloc(bytes), *plain = mem_alloc(bytes);
	double longest = 0, longest_plain = 0;
	uint64_t step = PAUSE_STEPS;
	bench_run(server, step);
	for (int i = 0; i < sizes->models; i++) {
		uint64_t begin_ns = bench_now_ns();
		post(server, step, i);
		posting[i] = (double)(bench_now_ns() - begin_ns) * 1e-6;
		with[i] = bench_run(server, ++step) * 1e-6;
		longest = fmax(longest, with[i]);
		for (int k = 0; k < PAUSE_STEPS; k++) {
			plain[i] = bench_run(server, ++step) * 1e-6;
			longest_plain = fmax(longest_plain, plain[i]);
		}
	}
	bench_add(&result->posting, median_of(posting, sizes->models));
	bench_add(&result->with, median_of(with, sizes->models));
	bench_add(&result->plain, median_of(plain, sizes->models));
	bench_add(&result->longest, longest);
	bench_add(&result->longest_plain, longest_plain);
	result->hash = troupe_server_hash(server);
	troupe_server_destroy(server);
	free(posting);
	free(with);
	free(plain);
}

/* Runs in real time, with all commands given before; or without commands. */
static double measure_ahead(const struct sizes *sizes, bool create, uint64_t *ret_hash)
{
	struct watch watch = {0};
	struct troupe_server *server = begin(sizes, &watch, true);
	for (int i = 0; create && i < sizes->models; i++)
		post(server, 200 + (uint64_t)i * PAUSE_STEPS, i);
	bench_run(server, 200 + (uint64_t)sizes->models * PAUSE_STEPS);
	*ret_hash = troupe_server_hash(server);
	troupe_server_destroy(server);
	return watch.longest_ns * 1e-6;
}

static void print(const struct bench_options *options, const char *subject, const struct bench_samples *values,
	const struct bench_samples *baselines, uint64_t hash)
{
	struct bench_row row = {
		.subject = subject, .unit = "ms", .values = values, .baselines = baselines, .hash = hash};
	bench_print(options, &row);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv, "creating models with meshes while robots drive");
	struct sizes sizes = options.smoke ? (struct sizes){2, 3, 8} : (struct sizes){16, 100, 16};
	struct result result = {0};
	uint64_t hash = 0, plain_hash;
	if (!mkdtemp(folder)) {
		fprintf(stderr, "bench_create: no folder %s\n", folder);
		return 1;
	}
	write_files(&sizes);
	for (int repeat = 0; repeat < options.repeats; repeat++) {
		bench_progress(&options, "creating", repeat);
		measure_one_by_one(&sizes, &result);
		bench_add(&result.ahead, measure_ahead(&sizes, true, &hash));
		bench_add(&result.ahead_plain, measure_ahead(&sizes, false, &plain_hash));
	}
	delete_files(&sizes);
	print(&options, "posting one", &result.posting, NULL, 0);
	print(&options, "step with a creation / without", &result.with, &result.plain, 0);
	print(&options, "longest step with a creation / without", &result.longest, &result.longest_plain, result.hash);
	print(&options, "longest step in real time, posted before / none", &result.ahead, &result.ahead_plain, hash);
	return 0;
}
