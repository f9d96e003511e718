/* Measures the primary's part of a step with very many performers in very many levels. None, some or all performers
 * move, in circles about the corners of their levels, so that each enters four levels in turn. They have no weight
 * and touch nothing, so that most of a step is the primary's part. Only the time between steps is measured. */
#include "bench.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEVEL 10.0     /* m: the edge of a level */
#define RADIUS 3.0     /* m: of the circles */
#define STEP 0.05      /* s */
#define SPEED 0.12     /* m/s: 6 mm in a step */
#define GOLDEN 2.4     /* rad: spreads the performers' first places on their circles */
#define STILL_STEPS 20 /* until the models that do not move are asleep */

enum { IN_LEVEL = 10, LAYER_M = 1, WINDOW = 20 };

/* --- the world ---------------------------------------------------------------------------------------------------- */

static void add_level(struct text *out, int level, int row)
{
	text_add(out,
		"<level name='level_%d'><ref>slab_%d</ref><pose>%g %g 5 0 0 0</pose><geometry><box><size>%g %g "
		"16</size></box></geometry><buffer>1</buffer></level>\n",
		level, level, level % row * LEVEL, level / row * LEVEL, LEVEL, LEVEL);
}

static void add_slab(struct text *out, int level, int row)
{
	text_add(out,
		"<model name='slab_%d'><static>1</static><pose>%g %g -2 0 0 0</pose><link name='l'><collision "
		"name='c'><geometry><box><size>8 8 0.2</size></box></geometry></collision></link></model>\n",
		level, level % row * LEVEL, level / row * LEVEL);
}

/* The performers of one layer are a level apart from each other, the layers a layer's height. */
static void add_performer(struct text *out, int i, int row, bool moves)
{
	int level = i / IN_LEVEL;
	double angle = fmod(i * GOLDEN, 2 * M_PI);
	text_add(out,
		"<model name='m%d'><pose>%g %g %d 0 0 %g</pose><link name='l'><collision name='c'><geometry><box>"
		"<size>0.5 0.5 0.5</size></box></geometry></collision></link>",
		i, (level % row + 0.5) * LEVEL + RADIUS * cos(angle), (level / row + 0.5) * LEVEL + RADIUS * sin(angle),
		i % IN_LEVEL * LAYER_M, angle + M_PI / 2);
	if (moves)
		text_add(out,
			"<plugin filename='gz-sim-velocity-control-system' name='gz::sim::systems::VelocityControl'>"
			"<initial_linear>%g 0 0</initial_linear><initial_angular>0 0 %g</initial_angular></plugin>",
			SPEED, SPEED / RADIUS);
	text_add(out, "</model>\n");
}

/* percent: of performers that move. */
static char *make_world(int performers, int percent)
{
	struct text out = {0};
	int levels = performers / IN_LEVEL, row = (int)ceil(sqrt(levels));
	text_add(&out,
		"<sdf version='1.9'><world name='many'><gravity>0 0 0</gravity><physics name='p' type='ode'>"
		"<max_step_size>%g</max_step_size></physics>\n",
		STEP);
	for (int i = 0; i < levels; i++)
		add_slab(&out, i, row);
	for (int i = 0; i < performers; i++)
		add_performer(&out, i, row, (i * 10 + i / 10) % 100 < percent);
	text_add(&out, "<plugin filename='troupe' name='troupe'>\n");
	for (int i = 0; i < performers; i++)
		text_add(&out,
			"<performer name='p%d'><ref>m%d</ref><geometry><box><size>0.5 0.5 0.5</size></box></geometry>"
			"</performer>\n",
			i, i);
	for (int i = 0; i < levels; i++)
		add_level(&out, i, row);
	text_add(&out, "</plugin></world></sdf>");
	return out.at;
}

/* --- who crossed a boundary ------------------------------------------------------------------------------------------
 */

struct places {
	double *at; /* for each performer the number of the level in which its centre is */
	int changed;
};

static void look(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct places *places = ctx;
	for (uint32_t i = 0; i < snapshot->model_count; i++) {
		const struct troupe_pose *pose = &snapshot->models[i].pose;
		double now = round(pose->x / LEVEL) * 1e6 + round(pose->y / LEVEL);
		places->changed += places->at[i] != now;
		places->at[i] = now;
	}
}

static int count_crossings(struct troupe_server *server, struct places *places)
{
	places->changed = 0;
	troupe_server_snapshot(server, look, places);
	return places->changed;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void print(const struct bench_options *options, const char *subject, const struct bench_samples *ns,
	const struct bench_samples *crossings, double at_most, uint64_t hash)
{
	bench_print(options,
		&(struct bench_row){.subject = subject, .unit = "ns", .values = ns, .at_most = at_most, .hash = hash});
	if (crossings)
		bench_print(options,
			&(struct bench_row){
				.subject = "  of them enter a level", .unit = "in a step", .values = crossings});
}

/* window: steps that are taken between two exchanges; divides the number of steps. */
static void measure(
	const struct bench_options *options, int performers, int percent, int secondaries, int steps, uint32_t window)
{
	struct bench_samples ns = {0}, crossings = {0};
	char *world = make_world(performers, percent), subject[64];
	struct troupe_server_def def = bench_def(world, secondaries);
	def.window = window;
	struct troupe_server *server = bench_create(&def);
	struct places places = {calloc((size_t)performers, sizeof *places.at), 0};
	free(world);
	int end = snprintf(subject, sizeof subject, "%d, %d %% move, on %d", performers, percent, secondaries);
	if (window > 1)
		snprintf(subject + end, sizeof subject - (size_t)end, ", windows of %u", window);
	bench_progress(options, subject, -1);
	uint64_t until = STILL_STEPS;
	bench_run(server, until);
	count_crossings(server, &places);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, subject, r);
		bench_run(server, ++until); /* with the requested snapshot */
		struct bench_times before = bench_times(server);
		bench_run(server, until += (uint64_t)steps);
		struct bench_times after = bench_times(server);
		bench_add(&ns, (after.serial_s - before.serial_s) * 1e9 / steps / performers);
		bench_add(&crossings, (double)count_crossings(server, &places) / (steps + 1));
	}
	print(options, subject, &ns, percent ? &crossings : NULL, window > 1 ? 10 : 100, troupe_server_hash(server));
	free(places.at);
	troupe_server_destroy(server);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(
		argc, argv, "bench_many: time between steps, per performer, with a tenth as many levels; no baseline");
	static const int counts[] = {1000, 10000, 100000}, percents[] = {0, 1, 10, 100};
	int shrink = options.smoke ? 10 : 1;
	for (size_t p = 0; p < sizeof percents / sizeof percents[0]; p++)
		for (size_t i = 0; i < sizeof counts / sizeof counts[0] - (options.smoke ? 1 : 0); i++)
			measure(&options, counts[i] / shrink, percents[p], 1, 500000 / counts[i] + 15, 1);
	measure(&options, 10000 / shrink, 100, 2, 65, 1);
	for (int secondaries = 1; secondaries <= 2; secondaries++)
		measure(&options, 10000 / shrink, 100, secondaries, 100, WINDOW);
	return 0;
}
