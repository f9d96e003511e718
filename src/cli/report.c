/* The summary begins with what people want to know: whether the robots are where they should be. Then follow figures
 * about the simulator, and the hash comes last. Values that were not measured are left out. The summary is short for
 * any world: of many things, the first are named and the others are counted. */
#include "cli/report.h"

#include "base/shown.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORLDS_MAX = 2,        /* worlds with lines of their own */
	SHARES_MAX = 8,        /* secondaries that are named */
	FALLEN_MAX = 3,        /* robots */
	NAME_LETTERS_MAX = 60, /* of a model */
};
#define CLI_REPORT_NEAR_M 0.05
#define UPRIGHT_RAD 0.5
#define LEVEL_M 1.0 /* a robot may stand so much higher or lower than it began, and more after a way on a slope */
_Static_assert(WORLDS_MAX * 9 + 8 <= REPORT_LINES_MAX, "a world takes at most nine lines, the rest eight");

static const char *cli_report_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

/* Names come from files. */
static void cli_report_add_name(struct text *out, const char *name)
{
	size_t length = strlen(name);
	char *begin = mem_printf("%.*s", NAME_LETTERS_MAX, name);
	shown_add(out, begin);
	text_add(out, length > NAME_LETTERS_MAX ? "..." : "");
	free(begin);
}

/* --- robots ------------------------------------------------------------------------------------------------------- */

/* Odometry knows no height: a robot that has dropped from the edge of the world is where its odometry says. */
static bool cli_report_left_level(const struct troupe_odometry *odometry)
{
	return fabs(odometry->height_m) > LEVEL_M + hypot(odometry->x, odometry->y);
}

static bool cli_report_leans(const struct troupe_odometry *odometry)
{
	return odometry->tilt_rad > UPRIGHT_RAD;
}

/* Names the first robots of which the predicate holds. Returns how many there are. */
static uint32_t cli_report_add_named(const struct troupe_report_world *world, const char *what,
	bool (*holds)(const struct troupe_odometry *odometry), bool heights, struct text *out)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < world->scene->mobile_count; i++) {
		const struct troupe_odometry *odometry = &world->odometry[i];
		if (!odometry->given || !holds(odometry) || count++ >= FALLEN_MAX)
			continue;
		text_add(out, "%s", count == 1 ? what : ", ");
		cli_report_add_name(out, world->models[i].name);
		if (heights)
			text_add(out, " %.3g m %s", fabs(odometry->height_m),
				odometry->height_m < 0 ? "lower" : "higher");
	}
	if (count > FALLEN_MAX)
		text_add(out, " and %u more", count - FALLEN_MAX);
	return count;
}

static void cli_report_add_fallen(const struct troupe_report_world *world, struct text *out)
{
	uint32_t lean = cli_report_add_named(world, "not upright: ", cli_report_leans, false, out);
	const char *what = lean ? "; not at the height of the start: " : "not at the height of the start: ";
	uint32_t left = cli_report_add_named(world, what, cli_report_left_level, true, out);
	text_add(out, lean || left ? "\n" : "");
}

/* The distance to the place that the odometry gives. */
static double cli_report_off_m(const struct troupe_odometry *odometry)
{
	return cli_report_left_level(odometry) ? hypot(odometry->drift_m, odometry->height_m) : odometry->drift_m;
}

/* Robots with wheel odometry. */
static void cli_report_add_robots(const struct troupe_report_world *world, struct text *out)
{
	uint32_t robots = 0, good = 0, worst = TROUPE_NONE;
	for (uint32_t i = 0; i < world->scene->mobile_count; i++) {
		const struct troupe_odometry *odometry = &world->odometry[i];
		if (!odometry->given)
			continue;
		robots++;
		good += cli_report_off_m(odometry) <= CLI_REPORT_NEAR_M && odometry->tilt_rad <= UPRIGHT_RAD;
		if (worst == TROUPE_NONE || cli_report_off_m(odometry) > cli_report_off_m(&world->odometry[worst]))
			worst = i;
	}
	if (!robots)
		return;
	text_add(out, "%u of %u %s upright and within %g m of where %s odometry says; ", good, robots,
		robots == 1 ? "robot is" : "robots are", CLI_REPORT_NEAR_M, cli_report_plural(robots, "its", "their"));
	text_add(out, "%s", robots == 1 ? "" : "the farthest is ");
	cli_report_add_name(out, world->models[worst].name);
	text_add(out, ": %.3f m\n", cli_report_off_m(&world->odometry[worst]));
	cli_report_add_fallen(world, out);
}

/* --- work --------------------------------------------------------------------------------------------------------- */

static void cli_report_add_shares(const struct troupe_report_world *world, struct text *out)
{
	double all_s = 0;
	for (uint32_t i = 0; i < world->secondary_count; i++)
		all_s += world->secondaries[i].busy_s;
	if (all_s <= 0 || world->secondary_count < 2)
		return;
	text_add(out, "work:");
	for (uint32_t i = 0; i < world->secondary_count && i < SHARES_MAX; i++)
		text_add(out, "%s secondary %u %.0f %%", i ? "," : "", world->secondaries[i].number,
			100 * world->secondaries[i].busy_s / all_s);
	if (world->secondary_count > SHARES_MAX)
		text_add(out, ", and %u more", world->secondary_count - SHARES_MAX);
	text_add(out, "\n");
}

static void cli_report_add_tuning(const struct troupe_report_tuning *tuning, struct text *out)
{
	if (!tuning->given)
		return;
	text_add(out, "%u of %u %s %s", tuning->working, tuning->secondaries,
		cli_report_plural(tuning->secondaries, "secondary", "secondaries"),
		cli_report_plural(tuning->working, "works", "work"));
	if (tuning->together > 1 && tuning->alone_step_s > 0 && tuning->together_step_s > 0)
		text_add(out, "; in the last trial %u were %.2g times as fast as one", tuning->together,
			tuning->alone_step_s / tuning->together_step_s);
	text_add(out, "\n");
}

/* Adds a line only if there were commands. */
static void cli_report_add_commands(const struct troupe_report_world *world, struct text *out)
{
	const struct {
		uint64_t count;
		const char *one, *several, *rest;
	} counts[] = {{world->created, "model", "models", "created"}, {world->removed, "model", "models", "removed"},
		{world->refused_commands, "command", "commands", "refused"},
		{world->waiting_commands, "command", "commands", "for steps that were not reached"}};
	bool any = false;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		if (!counts[i].count)
			continue;
		text_add(out, "%s%" PRIu64 " %s %s", any ? ", " : "", counts[i].count,
			cli_report_plural(counts[i].count, counts[i].one, counts[i].several), counts[i].rest);
		any = true;
	}
	text_add(out, any ? "\n" : "");
}

static void cli_report_add_moves(const struct troupe_report_world *world, struct text *out)
{
	if (!world->moves && !world->loads)
		return;
	text_add(out, "%" PRIu64 " %s between secondaries, %" PRIu64 " %s of levels\n", world->moves,
		cli_report_plural(world->moves, "move", "moves"), world->loads,
		cli_report_plural(world->loads, "load", "loads"));
}

/* Adds a line only if meshes were left unread at first. */
static void cli_report_add_meshes(const struct troupe_report_world *world, struct text *out)
{
	if (world->unread_meshes)
		text_add(out,
			"%" PRIu64 " %s of levels were not read at first; %" PRIu64 " read later, %" PRIu64
			" of them given up again\n",
			world->unread_meshes, cli_report_plural(world->unread_meshes, "mesh", "meshes"),
			world->meshes_read, world->meshes_given_up);
}

/* Adds a line only if steps were taken together. */
static void cli_report_add_windows(const struct troupe_report_world *world, struct text *out)
{
	uint64_t steps = world->steps - world->first_step;
	if (!world->windows || world->longest_window <= 1)
		return;
	text_add(out, "windows of %.3g steps, at most %u", (double)steps / (double)world->windows,
		world->longest_window);
	if (world->repeated_steps)
		text_add(out, "; %.2g %% of the steps were repeated",
			100 * (double)world->repeated_steps / (double)MAX(steps, 1u));
	text_add(out, "\n");
}

/* Adds a line only if some islands were left to ODE. */
static void cli_report_add_solver(const struct troupe_report_world *world, struct text *out)
{
	uint64_t exact = 0, soft = 0, left = 0, counts[3] = {0};
	static const char *const why[] = {"as the world asks", "too large", "not solved"};
	for (uint32_t i = 0; i < world->secondary_count; i++) {
		const struct troupe_report_secondary *each = &world->secondaries[i];
		const uint64_t more[] = {each->by_ode_asked, each->by_ode_large, each->by_ode_unsolved};
		exact += each->exact;
		soft += each->soft;
		for (size_t k = 0; k < ARRAY_LEN(more); k++)
			counts[k] += more[k];
	}
	for (size_t k = 0; k < ARRAY_LEN(counts); k++)
		left += counts[k];
	if (!left)
		return;
	double steps = (double)MAX(world->steps - world->first_step, 1u);
	text_add(out,
		"solver: %.1f islands exact in each step, %.1f in soft steps, %.1f by ODE:", (double)exact / steps,
		(double)soft / steps, (double)left / steps);
	const char *before = " ";
	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		if (!counts[k])
			continue;
		text_add(out, "%s%s %.3g %%", before, why[k], 100 * (double)counts[k] / (double)left);
		before = ", ";
	}
	text_add(out, "\n");
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void cli_report_add_world(const struct troupe_report_world *world, struct text *out)
{
	cli_report_add_robots(world, out);
	text_add(out, "%" PRIu64 " %s, ", world->steps, cli_report_plural(world->steps, "step", "steps"));
	if (world->first_step)
		text_add(out, "%" PRIu64 " of them in this run, ", world->steps - world->first_step);
	if (world->paused_steps)
		text_add(out, "%" PRIu64 " paused for %.3f s, ", world->paused_steps, world->paused_s);
	text_add(out, "%.6g s simulated in %.3f s: %.3g times real time, %.0f steps/s\n", world->passed_s,
		MAX(world->wall_s - world->paused_s, 0.0), world->rtf, world->steps_per_s);
	cli_report_add_moves(world, out);
	cli_report_add_meshes(world, out);
	if (world->readings)
		text_add(out, "%" PRIu64 " %s of sensors, digest %016" PRIx64 "\n", world->readings,
			cli_report_plural(world->readings, "reading", "readings"), world->readings_digest);
	cli_report_add_shares(world, out);
	cli_report_add_windows(world, out);
	cli_report_add_solver(world, out);
	cli_report_add_commands(world, out);
}

static void cli_report_add_next(const struct report_next *next, struct text *out)
{
	if (next->again)
		text_add(out, "the same hash again, from a single runner:\n  %s\n", next->again);
	for (size_t i = 0; i < ARRAY_LEN(next->tries); i++)
		if (next->tries[i])
			text_add(out, "%s  %s\n", i == 0 || !next->tries[0] ? "to try next:\n" : "", next->tries[i]);
}

void report_summarize(const struct troupe_report *report, const struct report_next *next, struct text *out)
{
	for (uint32_t i = 0; i < report->world_count && i < WORLDS_MAX; i++) {
		if (report->world_count > 1) {
			text_add(out, "world ");
			cli_report_add_name(out, report->worlds[i].name);
			text_add(out, ":\n");
		}
		cli_report_add_world(&report->worlds[i], out);
	}
	if (report->world_count > WORLDS_MAX)
		text_add(out, "and %u more worlds\n", report->world_count - WORLDS_MAX);
	cli_report_add_tuning(&report->worlds[0].tuning, out);
	text_add(out, "state %016" PRIx64 "\n", report->hash);
	cli_report_add_next(next, out);
}
