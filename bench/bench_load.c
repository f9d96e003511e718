/* Measures the time until the first step of a world, for several numbers of models: reading the file, compiling the
 * scene, the first step. The cost of a model must not grow with their number. So the baseline of each line is the line
 * of the smallest world. */
#include "bench.h"

#include "base/text.h"
#include "scene/scene.h"
#include "sdf/sdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROBOT_EVERY = 10, INCLUDE_EVERY = 25 };

static const char robot[] =
	"<link name='body'><pose>0 0 0.3 0 0 0</pose><inertial><mass>5</mass></inertial>"
	"<collision name='c'><geometry><box><size>0.6 0.4 0.2</size></box></geometry></collision>"
	"<visual name='v'><geometry><box><size>0.6 0.4 0.2</size></box></geometry></visual></link>"
	"<link name='left'><pose relative_to='body'>0 0.25 -0.1 -1.5708 0 0</pose><collision name='c'><geometry>"
	"<cylinder><radius>0.2</radius><length>0.05</length></cylinder></geometry></collision></link>"
	"<link name='right'><pose relative_to='body'>0 -0.25 -0.1 -1.5708 0 0</pose><collision name='c'><geometry>"
	"<cylinder><radius>0.2</radius><length>0.05</length></cylinder></geometry></collision></link>"
	"<joint name='l' type='revolute'><parent>body</parent><child>left</child><axis><xyz>0 0 1</xyz></axis></joint>"
	"<joint name='r' type='revolute'><parent>body</parent><child>right</child><axis><xyz>0 0 "
	"1</xyz></axis></joint>";

static void add_model(struct text *out, int i, int row, const char *include)
{
	double x = i % row * 2.0, y = i / row * 2.0; /* 2 m apart: a robot touches only the ground */
	if (i % INCLUDE_EVERY == 0)
		text_add(out, "<include><uri>%s</uri><name>i%d</name><pose>%g %g 0 0 0 0</pose></include>\n", include,
			i, x, y);
	else if (i % ROBOT_EVERY == 0)
		text_add(out, "<model name='r%d'><pose>%g %g 0 0 0 0</pose>%s</model>\n", i, x, y, robot);
	else
		text_add(out,
			"<model name='b%d'><pose>%g %g 0.5 0 0 0</pose><static>%d</static><link name='l'>"
			"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>"
			"<visual name='v'><geometry><box><size>1 1 1</size></box></geometry></visual></link></model>\n",
			i, x, y, i % 2);
}

static struct text make_world(int models, const char *include)
{
	struct text out = {0};
	int row = 1;
	while (row * row < models)
		row++;
	text_add(&out, "<sdf version='1.9'><world name='bench'><model name='ground'><static>1</static><link name='l'>"
		       "<collision name='c'><geometry><plane/></geometry></collision></link></model>\n");
	for (int i = 1; i <= models; i++)
		add_model(&out, i, row, include);
	text_add(&out, "</world></sdf>\n");
	return out;
}

struct cost { /* ns of processor time per model */
	double sdf, scene, step, whole;
	uint64_t hash;
};

enum {
	SIZES = 3,
	FEWEST = 10000 /* models that one measurement loads; with fewer, reading the clock would be most of the time */
};

static void or_die(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "%s\n", error->text);
	exit(1);
}

/* The server loads the world itself, and its secondary has a part of the processor time. */
static void measure_once(const struct text *text, struct cost *sum)
{
	struct troupe_error error;
	struct sdf *sdf;
	struct scene *scene;
	static const char *const folders[] = {"/tmp", NULL}; /* of the included file */
	const struct sdf_options options = {.resource_paths = folders};
	double begin = bench_processor_ns();
	or_die(sdf_load_text(text->at, text->count, "bench.sdf", &options, &sdf, &error), &error);
	double loaded = bench_processor_ns();
	or_die(scene_create(&sdf->worlds.at[0], &(struct scene_options){0}, &scene, &error), &error);
	double compiled = bench_processor_ns();
	scene_destroy(scene);
	sdf_free(sdf);
	double again = bench_processor_ns();
	struct troupe_server *server = bench_server(text->at, 1);
	double created = bench_processor_ns();
	bench_run(server, 1);
	double end = bench_processor_ns();
	sum->hash = troupe_server_hash(server);
	troupe_server_destroy(server);
	sum->sdf += loaded - begin;
	sum->scene += compiled - loaded;
	sum->step += end - created;
	sum->whole += end - again;
}

static struct cost measure(const struct text *text, int models, bool smoke)
{
	struct cost cost = {0};
	int times = smoke || models >= FEWEST ? 1 : FEWEST / models;
	for (int i = 0; i < times; i++)
		measure_once(text, &cost);
	double loaded = (double)models * times;
	return (struct cost){
		cost.sdf / loaded, cost.scene / loaded, cost.step / loaded, cost.whole / loaded, cost.hash};
}

struct costs { /* us of processor time per model */
	struct bench_samples sdf, scene, step, whole;
	uint64_t hash;
};

static void enter(struct costs *costs, const struct cost *cost)
{
	bench_add(&costs->sdf, cost->sdf / 1000);
	bench_add(&costs->scene, cost->scene / 1000);
	bench_add(&costs->step, cost->step / 1000);
	bench_add(&costs->whole, cost->whole / 1000);
	costs->hash = cost->hash;
}

static void row(const struct bench_options *options, int models, const char *what, const struct bench_samples *samples,
	const struct bench_samples *least, uint64_t hash)
{
	char subject[64];
	snprintf(subject, sizeof subject, "%d models, %s", models, what);
	bench_print(options,
		&(struct bench_row){
			.subject = subject, .unit = "us/model", .values = samples, .baselines = least, .hash = hash});
}

static void print(const struct bench_options *options, int models, const struct costs *costs, const struct costs *least)
{
	row(options, models, "sdf", &costs->sdf, &least->sdf, 0);
	row(options, models, "scene", &costs->scene, &least->scene, 0);
	row(options, models, "first step", &costs->step, &least->step, 0);
	row(options, models, "up to the first step", &costs->whole, &least->whole, costs->hash);
}

static void print_memory(const struct bench_options *options, int models)
{
	struct rusage usage;
	struct bench_samples kb = {0};
	getrusage(RUSAGE_SELF, &usage);
	bench_add(&kb, (double)usage.ru_maxrss / models);
	bench_print(options, &(struct bench_row){.subject = "most memory", .unit = "KiB/model", .values = &kb});
}

static void run(const struct bench_options *options, const char *include)
{
	struct text texts[SIZES];
	static struct costs costs[SIZES];
	int models[SIZES] = {1000, 10000, 100000};
	for (int i = 0; i < SIZES; i++) {
		models[i] /= options->smoke ? 100 : 1;
		texts[i] = make_world(models[i], include);
	}
	for (int r = -1; r < options->repeats; r++) {
		bench_progress(options, "loading", r);
		for (int i = 0; i < SIZES; i++) {
			struct cost cost = measure(&texts[i], models[i], options->smoke);
			if (r >= 0)
				enter(&costs[i], &cost);
		}
	}
	for (int i = 0; i < SIZES; i++) {
		print(options, models[i], &costs[i], &costs[0]);
		text_fini(&texts[i]);
	}
	print_memory(options, models[SIZES - 1]);
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "bench_load: loading, per model; baseline: the smallest of the worlds");
	char include[] = "/tmp/bench-load-XXXXXX";
	int file = mkstemp(include);
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	if (!out) {
		fprintf(stderr, "%s: cannot be made\n", include);
		return 1;
	}
	fprintf(out, "<sdf version='1.9'><model name='robot'>%s</model></sdf>\n", robot);
	fclose(out);
	run(&options, include);
	unlink(include);
	return 0;
}
