/* What models asleep cost: boxes at rest on a plane, alone, with a robot that drives in a circle among them, and kept
 * awake. */
#include "bench.h"
#include "robots.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACING 2.0 /* m: nothing touches but the ground */
#define CIRCLE 6.0  /* m: radius of the robot's way, whose centre is at (0, 6) */
#define FREE 1.5    /* m: to both sides of it */

enum { REPEATS_MAX = 99, STILL_STEPS = 600 /* until all are asleep */ };

static bool in_the_way(double x, double y)
{
	return fabs(hypot(x, y - CIRCLE) - CIRCLE) < FREE;
}

/* The robot's world without its end, or an empty one, and the boxes around the circle. */
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
	uint64_t steps; /* so far */
	double ns[REPEATS_MAX];
};

static void begin(struct subject *subject, int boxes, bool robot, bool sleepless)
{
	char *world = make_world(boxes, robot);
	subject->server = sleepless ? bench_server_sleepless(world, 1) : bench_server(world, 1);
	subject->steps = sleepless ? 1 : STILL_STEPS;
	bench_run(subject->server, subject->steps);
	free(world);
}

static void measure(struct subject *subject, int repeat, int steps)
{
	subject->steps += (uint64_t)steps;
	subject->ns[repeat] = bench_run(subject->server, subject->steps) / steps;
}

static double end(struct subject *subject, int repeats, uint64_t *ret_hash)
{
	*ret_hash = troupe_server_hash(subject->server);
	troupe_server_destroy(subject->server);
	return bench_median(subject->ns, repeats);
}

static void row(const struct bench_options *options, int boxes, const char *what, const char *unit, double value,
	double baseline, uint64_t hash)
{
	char subject[64];
	snprintf(subject, sizeof subject, "%d boxes, %s", boxes, what);
	bench_row(options, subject, unit, value, baseline, hash);
}

static void run(const struct bench_options *options, int boxes, int steps, int awake_steps)
{
	static struct subject none, asleep, alone, among, awake;
	int repeats = options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX;
	uint64_t hash[5];
	begin(&none, 0, false, false);
	begin(&asleep, boxes, false, false);
	begin(&alone, 0, true, false);
	begin(&among, boxes, true, false);
	begin(&awake, boxes, false, true);
	for (int r = 0; r < repeats; r++) {
		measure(&none, r, steps);
		measure(&asleep, r, steps);
		measure(&alone, r, steps);
		measure(&among, r, steps);
		measure(&awake, r, awake_steps);
	}
	double none_ns = end(&none, repeats, &hash[0]), asleep_ns = end(&asleep, repeats, &hash[1]),
	       alone_ns = end(&alone, repeats, &hash[2]), among_ns = end(&among, repeats, &hash[3]),
	       awake_ns = end(&awake, repeats, &hash[4]);
	row(options, boxes, "asleep, none awake", "steps/s", 1e9 / asleep_ns, 1e9 / none_ns, hash[1]);
	row(options, boxes, "asleep, one robot", "steps/s", 1e9 / among_ns, 1e9 / alone_ns, hash[3]);
	row(options, boxes, "awake", "steps/s", 1e9 / awake_ns, 0, hash[4]);
	row(options, boxes, "asleep, none awake", "ns/box", (asleep_ns - none_ns) / boxes, 0, 0);
	row(options, boxes, "asleep, one robot", "ns/box", (among_ns - alone_ns) / boxes, 0, 0);
	row(options, boxes, "awake", "ns/box", awake_ns / boxes, 0, 0);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv, "A step with boxes asleep; baseline: without the boxes");
	run(&options, options.smoke ? 20 : 1000, options.smoke ? 50 : 20000, options.smoke ? 5 : 100);
	run(&options, options.smoke ? 50 : 10000, options.smoke ? 50 : 20000, options.smoke ? 2 : 5);
	return 0;
}
