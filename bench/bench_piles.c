/* Measures a step of piles of boxes that are kept awake, for each box, beside the same pile with ODE as the solver, and
 * beside what MuJoCo takes for it; and says by when the pile sleeps where it may. */
#include "bench.h"
#include "mujoco.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define BOX_M 0.2
#define STEP_S 0.001
#define SLEEP_WITHIN_S 12.0

enum { SETTLE_STEPS = 1500, BOXES_MAX_OF_MUJOCO = 250, CONTACTS_OF_BOX = 12 /* the most */ };

enum pile_kind { TOWER, WALL, COLUMNS, RANDOM };

struct pile {
	const char *name;
	enum pile_kind kind;
	int side; /* boxes: a tower and a wall are so high, columns and heaps are so wide, long and high */
};

struct pile_texts {
	struct text sdf, mjcf;
};

static void add_box(struct pile_texts *out, int i, const double *pose, double size, double mass)
{
	double inertia = mass * size * size / 6;
	text_add(&out->mjcf,
		"<body name='b%d' pos='%.9g %.9g %.9g' euler='%.9g %.9g %.9g'><freejoint/><inertial pos='0 0 0' "
		"mass='%g' diaginertia='%.9g %.9g %.9g'/><geom type='box' size='%.9g %.9g %.9g'/></body>\n",
		i, pose[0], pose[1], pose[2], pose[3], pose[4], pose[5], mass, inertia, inertia, inertia, size / 2,
		size / 2, size / 2);
	text_add(&out->sdf,
		"<model name='b%d'><pose>%.9g %.9g %.9g %.9g %.9g %.9g</pose><link name='l'><inertial><mass>%g</mass>"
		"<inertia><ixx>%.9g</ixx><iyy>%.9g</iyy><izz>%.9g</izz></inertia></inertial><collision "
		"name='c'><geometry>"
		"<box><size>%.9g %.9g %.9g</size></box></geometry></collision></link></model>\n",
		i, pose[0], pose[1], pose[2], pose[3], pose[4], pose[5], mass, inertia, inertia, inertia, size, size,
		size);
}

static double between(uint64_t *dice, double low, double high)
{
	*dice = hash_mix(*dice, 7);
	return low + (high - low) * ((double)(*dice >> 11) / 9007199254740992.0);
}

/* Returns the number of boxes. */
static int add_boxes(struct pile_texts *out, const struct pile *pile)
{
	const int n = pile->side;
	uint64_t dice = 1;
	int count = 0;
	for (int k = 0; k < n; k++)
		for (int i = 0; i < (pile->kind == TOWER ? 1 : pile->kind == WALL ? n - k : n * n); i++, count++) {
			double pose[6] = {0, 0, BOX_M * (k + 0.5), 0, 0, 0}, size = BOX_M;
			if (pile->kind == WALL) {
				pose[0] = BOX_M * (1.1 * i + 0.55 * k);
			} else if (pile->kind != TOWER) {
				pose[0] = 1.1 * BOX_M * (i % n);
				pose[1] = 1.1 * BOX_M * (double)(i / n);
			}
			for (int d = 0; d < 6 && pile->kind == RANDOM; d++)
				pose[d] = pose[d] * (d < 3 ? 1.3 : 1) + between(&dice, -0.05, 0.05) * (d < 3 ? 1 : 10);
			if (pile->kind == RANDOM)
				size = between(&dice, 0.16, 0.24);
			add_box(out, count, pose, size, pile->kind == TOWER && k % 2 ? 50 : 1);
		}
	return count;
}

/* The roll, pitch and yaw of SDF turn about fixed axes, as the angles of `XYZ` do. */
static struct pile_texts make_world(const struct pile *pile, int *ret_boxes)
{
	struct pile_texts out = {0};
	text_add(&out.mjcf,
		"<mujoco><compiler angle='radian' eulerseq='XYZ'/><option timestep='%g' gravity='0 0 -9.8'/><worldbody>"
		"<geom type='plane' size='50 50 1'/>\n",
		STEP_S);
	text_add(&out.sdf,
		"<sdf version='1.9'><world name='w'><physics name='p' "
		"type='ode'><max_step_size>%g</max_step_size></physics>"
		"<model name='ground'><static>true</static><link name='l'><collision "
		"name='c'><geometry><plane/></geometry>"
		"</collision></link></model>\n",
		STEP_S);
	*ret_boxes = add_boxes(&out, pile);
	text_add(&out.sdf, "</world></sdf>");
	text_add(&out.mjcf, "</worldbody><size nconmax='%d' njmax='%d'/></mujoco>", CONTACTS_OF_BOX * *ret_boxes,
		4 * CONTACTS_OF_BOX * *ret_boxes);
	return out;
}

static struct troupe_server *create(const char *world, bool by_ode, bool sleepless)
{
	struct troupe_server_def def = bench_def(world, 0);
	def.by_ode = by_ode;
	def.sleepless = sleepless;
	return bench_create(&def);
}

static void count_sleepers(void *ctx, const struct troupe_snapshot *snapshot)
{
	int *awake = ctx;
	*awake = 0;
	for (uint32_t i = 0; i < snapshot->scene->mobile_count; i++)
		*awake += !snapshot->models[i].asleep;
}

/* Seconds until all sleep; above SLEEP_WITHIN_S: they do not. */
static double time_to_sleep(const char *world)
{
	struct troupe_server *server = create(world, false, false);
	double time_s = 0;
	int awake = 1;
	while (awake && time_s <= SLEEP_WITHIN_S) {
		time_s += 0.25;
		bench_run(server, (uint64_t)(time_s / STEP_S + 0.5));
		troupe_server_snapshot(server, count_sleepers, &awake);
	}
	troupe_server_destroy(server);
	return time_s;
}

/* NULL: the bench is built without it, or the pile is too large for it. */
static struct mujoco *create_mujoco(const char *mjcf, int boxes, int settled)
{
	if (!mujoco_name() || boxes > BOXES_MAX_OF_MUJOCO)
		return NULL;
	struct mujoco *mujoco = mujoco_create(mjcf, 1);
	mujoco_run(mujoco, settled);
	return mujoco;
}

static double run_mujoco(struct mujoco *mujoco, int steps, int boxes)
{
	uint64_t begin = bench_now_ns();
	mujoco_run(mujoco, steps);
	return (double)(bench_now_ns() - begin) / 1e3 / steps / boxes;
}

static void print_mujoco(const struct bench_options *options, const struct pile *pile, struct mujoco *mujoco, int boxes,
	const struct bench_samples *own, const struct bench_samples *theirs)
{
	char name[80], top[16], stands[40] = "";
	const double begun_m = BOX_M * (pile->side - 0.5);
	(void)snprintf(top, sizeof top, "b%d", boxes - 1);
	if (pile->kind != RANDOM && mujoco_height(mujoco, top) < begun_m - BOX_M / 2)
		(void)snprintf(stands, sizeof stands, ", %.2f of %.2f m high", mujoco_height(mujoco, top), begun_m);
	(void)snprintf(name, sizeof name, "  the same, to %s%s", mujoco_name(), stands);
	bench_print(options,
		&(struct bench_row){.subject = name, .unit = "us/body-step", .values = own, .baselines = theirs});
	mujoco_destroy(mujoco);
}

static void run(const struct bench_options *options, const struct pile *pile, int steps)
{
	int boxes;
	struct pile_texts texts = make_world(pile, &boxes);
	char *world = texts.sdf.at, name[80];
	struct bench_samples own = {0}, ode = {0}, theirs = {0};
	struct troupe_server *servers[2] = {create(world, false, true), create(world, true, true)};
	uint64_t settled = options->smoke ? 20 : SETTLE_STEPS, done[2] = {settled, settled};
	for (int i = 0; i < 2; i++)
		bench_run(servers[i], settled);
	struct mujoco *mujoco = create_mujoco(texts.mjcf.at, boxes, (int)settled);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, pile->name, r);
		for (int i = 0; i < 2; i++) {
			done[i] += (uint64_t)steps;
			bench_add(i ? &ode : &own, bench_run(servers[i], done[i]) / 1e3 / steps / boxes);
		}
		if (mujoco)
			bench_add(&theirs, run_mujoco(mujoco, steps, boxes));
	}
	double sleep_s = options->smoke ? 0 : time_to_sleep(world);
	if (options->smoke)
		snprintf(name, sizeof name, "%s", pile->name);
	else if (sleep_s > SLEEP_WITHIN_S)
		snprintf(name, sizeof name, "%s, awake after %g s", pile->name, SLEEP_WITHIN_S);
	else
		snprintf(name, sizeof name, "%s, asleep after %g s", pile->name, sleep_s);
	struct bench_row row = {.subject = name,
		.unit = "us/body-step",
		.values = &own,
		.baselines = &ode,
		.at_most = 0.35,
		.hash = troupe_server_hash(servers[0])};
	bench_print(options, &row);
	if (mujoco)
		print_mujoco(options, pile, mujoco, boxes, &own, &theirs);
	for (int i = 0; i < 2; i++)
		troupe_server_destroy(servers[i]);
	text_fini(&texts.sdf);
	text_fini(&texts.mjcf);
}

int main(int argc, char **argv)
{
	static const struct pile piles[] = {{"tower of 12, 1 and 50 kg", TOWER, 12}, {"wall of 55", WALL, 10},
		{"columns of 216", COLUMNS, 6}, {"random 216", RANDOM, 6}, {"columns of 1000", COLUMNS, 10},
		{"random 1000", RANDOM, 10}};
	struct bench_options options =
		bench_parse(argc, argv, "bench_piles: piles of boxes, beside --solver ode and MuJoCo");
	if (!mujoco_name())
		fprintf(stderr, "bench_piles: built without MuJoCo (on Debian: libmujoco-dev): no rows beside it\n");
	for (size_t i = 0; i < sizeof piles / sizeof *piles; i++) {
		struct pile pile = piles[i];
		if (options.smoke)
			pile.side = 3;
		run(&options, &pile, options.smoke ? 5 : 50);
	}
	return 0;
}
