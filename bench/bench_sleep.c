/* Measures the cost of sleeping models: boxes at rest on a plane, alone; with a robot that drives in a circle among
 * them; and kept awake. */
#include "bench.h"
#include "robots.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACING 2.0 /* m: a box touches only the ground */
#define CIRCLE 6.0  /* m: radius of the robot's circle, whose centre is at (0, 6) */
#define FREE 1.5    /* m: free of boxes on both sides of the circle */

enum { STILL_STEPS = 600 /* until all boxes are asleep */ };

static bool in_the_way(double x, double y)
{
	return fabs(hypot(x, y - CIRCLE) - CIRCLE) < FREE;
}

/* The text of the robot's world without its end, or of an empty one, and the boxes around the circle. */
static char *make_world(int boxes, bool robot)
{
	struct text out = {0};
	char *empty = robots_world(1, SPACING), *end = strstr(empty, robot ? "</world>" : "<model name='robot_0'>");
	text_add(&out, "%.*s", (int)(end - empty), empty);
	free(empty);
	int row = 1;
	while (row * row < boxes * 2)
		row++;
	for (int i = 0, made = 0; made < boxes; i++) {
		double x = (i % row - row / 2) * SPACING, y = (i / row) * SPACING - row / 2 * SPACING + CIRCLE;
		if (in_the_way(x, y))
			continue;
		text_add(&out,
			"<model name='b%d'><pose>%g %g 0.25 0 0 0</pose><link name='l'><collision "
			"name='c'><geometry><box>"
			"<size>0.5 0.5 0.5</size></box></geometry></collision></link></model>\n",
			made++, x, y);
	}
	text_add(&out, "</world></sdf>");
	return out.at;
}

struct subject {
	struct troupe_server *server;
	uint64_t steps;          /* number of steps so far */
	struct bench_samples ns; /* of a step */
};

static void begin(struct subject *subject, int boxes, bool robot, bool sleepless)
{
	char *world = make_world(boxes, robot);
	struct troupe_server_def def = bench_def(world, 1);
	def.sleepless = sleepless;
	*subject = (struct subject){.server = bench_create(&def), .steps = sleepless ? 1 : STILL_STEPS};
	bench_run(subject->server, subject->steps);
	free(world);
}

static void measure(struct subject *subject, int steps)
{
	subject->steps += (uint64_t)steps;
	bench_add(&subject->ns, bench_run(subject->server, subject->steps) / steps);
}

static struct bench_samples per_second(const struct subject *subject)
{
	struct bench_samples speeds = {0};
	for (int i = 0; i < subject->ns.count; i++)
		bench_add(&speeds, 1e9 / subject->ns.at[i]);
	return speeds;
}

/* ns of a step for each box; without: the same world without boxes. */
static struct bench_samples per_box(const struct subject *subject, const struct subject *without, int boxes)
{
	struct bench_samples ns = {0};
	for (int i = 0; i < subject->ns.count; i++)
		bench_add(&ns, (subject->ns.at[i] - (without ? without->ns.at[i] : 0)) / boxes);
	return ns;
}

static void print(const struct bench_options *options, int boxes, const char *what, const struct subject *subject,
	const struct subject *without)
{
	struct bench_samples speeds = per_second(subject), ns = per_box(subject, without, boxes), speeds_without;
	char name[64];
	snprintf(name, sizeof name, "%d boxes, %s", boxes, what);
	struct bench_row row = {
		.subject = name, .unit = "steps/s", .values = &speeds, .hash = troupe_server_hash(subject->server)};
	if (without) {
		speeds_without = per_second(without);
		row.baselines = &speeds_without;
	}
	bench_print(options, &row);
	row = (struct bench_row){.subject = name, .unit = "ns/box", .values = &ns};
	bench_print(options, &row);
}

static void run(const struct bench_options *options, int boxes, int steps, int awake_steps)
{
	static struct subject none, asleep, alone, among, awake;
	struct subject *const all[] = {&none, &asleep, &alone, &among, &awake};
	begin(&none, 0, false, false);
	begin(&asleep, boxes, false, false);
	begin(&alone, 0, true, false);
	begin(&among, boxes, true, false);
	begin(&awake, boxes, false, true);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, "boxes", r);
		for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
			measure(all[i], all[i] == &awake ? awake_steps : steps);
	}
	print(options, boxes, "asleep, none awake", &asleep, &none);
	print(options, boxes, "asleep, one robot", &among, &alone);
	print(options, boxes, "awake", &awake, NULL);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		troupe_server_destroy(all[i]->server);
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "bench_sleep: a step with boxes asleep; baseline: without the boxes");
	run(&options, options.smoke ? 20 : 1000, options.smoke ? 50 : 20000, options.smoke ? 5 : 100);
	run(&options, options.smoke ? 50 : 10000, options.smoke ? 50 : 20000, options.smoke ? 2 : 5);
	return 0;
}
