/* How long a world takes to its first step, by its number of models: reading the file, compiling the scene, the first
 * step. The cost per model has to stay the same: each line's baseline is the line of the smallest world. */
#include "bench.h"

#include "base/text.h"
#include "scene/scene.h"
#include "sdf/sdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROBOT_EVERY = 10, INCLUDE_EVERY = 25, REPEATS_MAX = 9 };

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
	double x = i % row * 2.0, y = i / row * 2.0; /* 2 m apart: nothing touches but the ground */
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

struct cost {
	double sdf_ns, scene_ns, step_ns, bytes; /* per model */
	uint64_t hash;
};

static void or_die(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "%s\n", error->text);
	exit(1);
}

/* The server loads for itself: its first step is what creating it and one step take beyond loading and compiling. */
static struct cost measure_once(const struct text *text, int models)
{
	struct troupe_error error;
	struct sdf *sdf;
	struct scene *scene;
	struct cost cost = {0};
	uint64_t begin = bench_now_ns();
	or_die(sdf_load_text(text->at, text->count, "bench.sdf", NULL, &sdf, &error), &error);
	uint64_t loaded = bench_now_ns();
	or_die(scene_create(&sdf->worlds.at[0], &(struct scene_options){0}, &scene, &error), &error);
	uint64_t compiled = bench_now_ns();
	cost.bytes = (double)(sdf->arena.bytes + scene->arena.bytes) / models;
	scene_destroy(scene);
	sdf_free(sdf);
	uint64_t again = bench_now_ns();
	struct troupe_server *server = bench_server(text->at, 1);
	bench_run(server, 1);
	uint64_t end = bench_now_ns();
	cost.hash = troupe_server_hash(server);
	troupe_server_destroy(server);
	cost.sdf_ns = (double)(loaded - begin) / models;
	cost.scene_ns = (double)(compiled - loaded) / models;
	cost.step_ns = (double)(end - again) / models - cost.sdf_ns - cost.scene_ns;
	return cost;
}

static struct cost measure(const struct bench_options *options, int models, const char *include)
{
	double sdf[REPEATS_MAX], scene[REPEATS_MAX], step[REPEATS_MAX];
	int repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX;
	struct text text = make_world(models, include);
	struct cost cost = {0};
	for (int i = 0; i < repeats; i++) {
		cost = measure_once(&text, models);
		sdf[i] = cost.sdf_ns, scene[i] = cost.scene_ns, step[i] = cost.step_ns;
	}
	text_fini(&text);
	cost.sdf_ns = bench_median(sdf, repeats);
	cost.scene_ns = bench_median(scene, repeats);
	cost.step_ns = bench_median(step, repeats);
	return cost;
}

static void row(
	const struct bench_options *options, int models, const char *what, double ns, double least_ns, uint64_t hash)
{
	char subject[64];
	snprintf(subject, sizeof subject, "%d models, %s", models, what);
	bench_row(options, subject, "us/model", ns / 1000, least_ns / 1000, hash);
}

static void run(const struct bench_options *options, const char *include)
{
	static const int counts[] = {1000, 10000, 100000};
	struct cost least = {0};
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		int models = options->smoke ? counts[i] / 100 : counts[i];
		struct cost cost = measure(options, models, include);
		struct rusage usage;
		least = i ? least : cost;
		row(options, models, "sdf", cost.sdf_ns, least.sdf_ns, 0);
		row(options, models, "scene", cost.scene_ns, least.scene_ns, 0);
		row(options, models, "rest up to a step", cost.step_ns, least.step_ns, cost.hash);
		getrusage(RUSAGE_SELF, &usage);
		char subject[64];
		snprintf(subject, sizeof subject, "%d models, most memory", models);
		bench_row(options, subject, "kB/model", (double)usage.ru_maxrss / models, 0, 0);
	}
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "Loading, per model; baseline: the smallest of the worlds");
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
