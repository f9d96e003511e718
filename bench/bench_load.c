/* Measures the time until the first step of a world, for several numbers of models: reading the file, compiling the
 * scene, the first step. The cost of a model must not grow with their number. So the baseline of each line is the line
 * of the smallest world.
 *
 * Then a city: levels with a mesh each, of which a performer is near one. They are loaded in a process of their own,
 * which shows the memory, and beside one that reads all meshes at first; then the same with secondaries that are
 * processes, over a network. */
#include "bench.h"
#include "remote.h"

#include "base/text.h"
#include "scene/scene.h"
#include "sdf/sdf.h"

#include <troupe/report.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

/* --- a city ------------------------------------------------------------------------------------------------------- */

/* Cells along each side of a mesh: some 100 kB. Steps: until the performer is on one. */
enum { CITY_BLOCKS = 1000, CITY_CELLS = 40, CITY_STEPS = 1000 };

static void write_block(const char *folder, int number)
{
	struct text path = {0};
	text_add(&path, "%s/%d.obj", folder, number);
	FILE *out = fopen(path.at, "w");
	text_fini(&path);
	if (!out)
		return; /* the world is refused */
	for (int i = 0; i <= CITY_CELLS; i++)
		for (int k = 0; k <= CITY_CELLS; k++)
			fprintf(out, "v %.6f %.6f %.6f\n", (double)i / CITY_CELLS, (double)k / CITY_CELLS,
				0.001 * ((i * k + number) % 7));
	for (int i = 0; i < CITY_CELLS; i++)
		for (int k = 1; k <= CITY_CELLS; k++) {
			int a = i * (CITY_CELLS + 1) + k, b = a + CITY_CELLS + 1;
			fprintf(out, "f %d %d %d\nf %d %d %d\n", a, b, b + 1, a, b + 1, a + 1);
		}
	fclose(out);
}

static struct text make_city(const char *folder, int blocks)
{
	struct text out = {0}, levels = {0};
	text_add(&out,
		"<sdf version='1.9'><world name='city'><model name='walker'><pose>5 5 1 0 0 0</pose><link name='l'>"
		"<collision "
		"name='c'><geometry><sphere><radius>0.3</radius></sphere></geometry></collision></link></model>");
	for (int i = 0; i < blocks; i++) {
		double x = i % 100 * 10.0, y = i / 100 * 10.0;
		write_block(folder, i);
		text_add(&out,
			"<model name='b%d'><static>1</static><pose>%g %g 0 0 0 0</pose><link name='l'><collision "
			"name='c'>"
			"<geometry><mesh><uri>%s/%d.obj</uri><scale>10 10 "
			"1</scale></mesh></geometry></collision></link>"
			"</model>\n",
			i, x, y, folder, i);
		text_add(&levels,
			"<level name='l%d'><pose>%g %g 0 0 0 0</pose><geometry><box><size>10 10 "
			"10</size></box></geometry>"
			"<buffer>1</buffer><ref>b%d</ref></level>\n",
			i, x + 5, y + 5, i);
	}
	text_add(&out,
		"<plugin name='gz::sim' filename='x'><performer name='p'><ref>walker</ref><geometry><box>"
		"<size>1 1 1</size></box></geometry></performer>%s</plugin></world></sdf>",
		levels.at);
	text_fini(&levels);
	return out;
}

struct city {
	const char *folder;
	struct text text;
	char *path; /* of a file with it */
};

struct city_told { /* by the process that has loaded it */
	uint64_t hash;
	double mib, mb_sent; /* of the largest secondary; by the primary */
};

struct city_costs { /* of the processor, all processes together; most memory */
	struct bench_samples s, mib, mb_sent;
	uint64_t hash;
};

static struct city_told load_city(const struct city *city, bool all)
{
	const char *const folders[] = {city->folder, NULL};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	struct rusage usage = {0};
	def.world_path = "city.sdf";
	def.world_text = city->text.at;
	def.resource_paths = folders;
	def.secondaries = 0;
	def.load_all = all;
	or_die(troupe_server_create(&def, &server, &error), &error);
	bench_run(server, 1);
	getrusage(RUSAGE_SELF, &usage);
	return (struct city_told){.hash = troupe_server_hash(server), .mib = (double)usage.ru_maxrss / 1024};
}

static struct city_told load_city_remotely(const struct city *city, bool all)
{
	struct remote remote = remote_start(&(struct remote_def){
		.path = city->path, .secondaries = REMOTE_SECONDARIES, .threads = 1, .load_all = all});
	struct rusage usage = {0};
	struct city_told told = {0};
	bench_run(remote.server, CITY_STEPS);
	struct troupe_report *report = troupe_server_report(remote.server);
	told.hash = troupe_server_hash(remote.server);
	told.mb_sent = (double)report->worlds[0].network.bytes_sent * 1e-6;
	troupe_report_free(report);
	remote_end(&remote);
	getrusage(RUSAGE_CHILDREN, &usage);
	told.mib = (double)usage.ru_maxrss / 1024;
	return told;
}

static char *write_city(const struct city *city)
{
	char *path = mem_printf("%s/city.sdf", city->folder);
	FILE *out = fopen(path, "w");
	if (out)
		fputs(city->text.at, out);
	if (!out || fclose(out)) {
		fprintf(stderr, "%s: cannot be written\n", path);
		exit(1);
	}
	return path;
}

/* In a process of its own. */
static void measure_city(const struct city *city, struct city_told (*load)(const struct city *city, bool all), bool all,
	struct city_costs *costs)
{
	struct rusage usage = {0};
	struct city_told told;
	int status = 1, ends[2];
	pid_t child = pipe(ends) ? -1 : fork();
	if (child == 0) {
		told = load(city, all);
		_exit(write(ends[1], &told, sizeof told) != (ssize_t)sizeof told);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status ||
		read(ends[0], &told, sizeof told) != (ssize_t)sizeof told) {
		fprintf(stderr, "the city cannot be loaded\n");
		exit(1);
	}
	close(ends[0]);
	close(ends[1]);
	bench_add(&costs->s, (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
				     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6);
	bench_add(&costs->mib, told.mib);
	bench_add(&costs->mb_sent, told.mb_sent);
	costs->hash = told.hash;
}

static void remove_city(const struct city *city, int blocks)
{
	for (int i = 0; i < blocks; i++) {
		struct text path = {0};
		text_add(&path, "%s/%d.obj", city->folder, i);
		unlink(path.at);
		text_fini(&path);
	}
	unlink(city->path);
	rmdir(city->folder);
}

/* [0]: meshes are read when they are needed; [1]: all at first. */
static void print_city(const struct bench_options *options, const char *subject, const char *unit,
	const struct bench_samples *values, const struct bench_samples *all, uint64_t hash)
{
	bench_print(
		options, &(struct bench_row){
				 .subject = subject, .unit = unit, .values = values, .baselines = all, .hash = hash});
}

static void run_city(const struct bench_options *options)
{
	static struct city_costs alone[2], remote[2];
	char folder[] = "/tmp/bench-city-XXXXXX", subject[64];
	int blocks = CITY_BLOCKS / (options->smoke ? 100 : 1);
	if (!mkdtemp(folder))
		return;
	struct city city = {.folder = folder, .text = make_city(folder, blocks)};
	city.path = write_city(&city);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, "a city", r);
		for (int all = 0; all < 2; all++) {
			measure_city(&city, load_city, all, &alone[all]);
			measure_city(&city, load_city_remotely, all, &remote[all]);
		}
	}
	remove_city(&city, blocks);
	if (alone[0].hash != alone[1].hash || remote[0].hash != remote[1].hash) {
		fprintf(stderr, "the city: two states\n");
		exit(1);
	}
	snprintf(subject, sizeof subject, "%d levels with meshes", blocks);
	print_city(options, subject, "s", &alone[0].s, &alone[1].s, alone[0].hash);
	print_city(options, "their memory", "MiB", &alone[0].mib, &alone[1].mib, alone[1].hash);
	snprintf(subject, sizeof subject, "they over tcp, %d secondaries", (int)REMOTE_SECONDARIES);
	print_city(options, subject, "s", &remote[0].s, &remote[1].s, remote[0].hash);
	print_city(options, "memory of a secondary", "MiB", &remote[0].mib, &remote[1].mib, 0);
	print_city(options, "sent to secondaries", "MB", &remote[0].mb_sent, &remote[1].mb_sent, remote[1].hash);
	text_fini(&city.text);
	free(city.path);
}

int main(int argc, char **argv)
{
	remote_main(argc, argv);
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
	run_city(&options);
	run(&options, include);
	unlink(include);
	return 0;
}
