/* Measures the cost of links with <kinematic>: models that VelocityControl drives on circles, in a grid of levels that
 * are all loaded. Their motion needs no physics, so a step of one should cost less than a microsecond. */
#include "bench.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define SPACING 3.0 /* m: no model comes near another */

enum { LEVELS = 4 /* in each direction; each has a performer, its first model */ };

static void add_model(struct text *out, int i, int side)
{
	text_add(out,
		"<model name='k%d'><pose>%g %g 0.5 0 0 0</pose><link name='l'><kinematic>true</kinematic><collision "
		"name='c'><geometry><box><size>1 0.6 0.5</size></box></geometry></collision></link><plugin "
		"name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>0.5 0 0</initial_linear>"
		"<initial_angular>0 0 1</initial_angular></plugin></model>\n",
		i, (i % side) * SPACING, (i / side) * SPACING);
}

/* The square of models [column, column + width) x [row, row + width). */
static void add_level(struct text *out, int side, int column, int row, int width)
{
	int first = row * side + column;
	double size = width * SPACING;
	text_add(out,
		"<performer name='p%d'><ref>k%d</ref><geometry><box><size>2 2 2</size></box></geometry></performer>\n",
		first, first);
	text_add(out,
		"<level name='l%d'><pose>%g %g 5 0 0 0</pose><geometry><box><size>%g %g 20</size></box></geometry>"
		"<buffer>2</buffer>",
		first, (column - 0.5) * SPACING + size / 2, (row - 0.5) * SPACING + size / 2, size, size);
	for (int i = 1; i < width * width; i++)
		text_add(out, "<ref>k%d</ref>", first + i / width * side + i % width);
	text_add(out, "</level>\n");
}

static char *make_world(int side)
{
	struct text out = {0};
	text_add(&out,
		"<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001"
		"</max_step_size></physics><model name='ground'><static>true</static><link name='l'><collision "
		"name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>\n");
	for (int i = 0; i < side * side; i++)
		add_model(&out, i, side);
	text_add(&out, "<plugin name='gz::sim' filename='x'>\n");
	for (int i = 0; i < LEVELS * LEVELS; i++)
		add_level(&out, side, i % LEVELS * (side / LEVELS), i / LEVELS * (side / LEVELS), side / LEVELS);
	text_add(&out, "</plugin></world></sdf>");
	return out.at;
}

static void run(const struct bench_options *options, int side, int steps)
{
	char *world = make_world(side), name[64];
	struct bench_samples ns = {0};
	struct troupe_server_def def = bench_def(world, 1);
	struct troupe_server *server = bench_create(&def);
	uint64_t done = (uint64_t)steps;
	bench_run(server, done);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, "kinematic", r);
		done += (uint64_t)steps;
		bench_add(&ns, bench_run(server, done) / steps / (side * side));
	}
	snprintf(name, sizeof name, "%d kinematic models", side * side);
	struct bench_row row = {
		.subject = name, .unit = "ns/robot-step", .values = &ns, .hash = troupe_server_hash(server)};
	bench_print(options, &row);
	troupe_server_destroy(server);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options =
		bench_parse(argc, argv, "bench_kinematic: models that move as commanded, in levels");
	run(&options, options.smoke ? 8 : 100, options.smoke ? 20 : 200);
	return 0;
}
