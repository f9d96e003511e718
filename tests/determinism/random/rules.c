/* What must be true of every run. A state hash that is the same everywhere can be wrong everywhere; these rules know
 * what comes out without asking the program:
 *
 *   time    simulated time is the sum of the steps that were taken
 *   reset   after a reset of everything the states are those from the start, as long as the commands are
 *   finite  no number of the report is NaN or infinite
 *   sinks   a model called stayN does not end below z = 0
 *   touch   where all that overlaps is tied by joints, there are no contacts
 *
 * What a command does to time depends on whether the world was paused: as the table in run/primary.c,
 * run_services_control_pace() says. */
#include "ways.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOOR_EDGE_M 9.0 /* of the floor of such a world, minus the width of a crate */

/* --- time --------------------------------------------------------------------------------------------------------- */

struct clock { /* of one world */
	double begin_s, even_since_s, step_s;
	uint64_t even_steps, multi; /* multi: steps until the world is paused; 0: it is paused, or runs without end */
	bool paused;
};

static double now_s(const struct clock *clock)
{
	return clock->even_since_s + (double)clock->even_steps * clock->step_s;
}

static void obey(struct clock *clock, const struct part *command)
{
	switch (command->command) {
	case COMMAND_STEP_SIZE:
		if (command->value == clock->step_s)
			break;
		clock->even_since_s = now_s(clock);
		clock->even_steps = 0;
		clock->step_s = command->value;
		break;
	case COMMAND_RESET_ALL:
	case COMMAND_RESET_TIME:
		clock->even_since_s = clock->begin_s;
		clock->even_steps = 0;
		break;
	case COMMAND_PAUSE:
		clock->paused = command->value != 0;
		clock->multi = 0;
		break;
	case COMMAND_MULTI:
		if (!clock->paused && !clock->multi)
			break; /* a running world goes on */
		clock->multi += (uint64_t)command->value;
		clock->paused = false;
		break;
	default:
		break;
	}
}

static void tick(struct clock *clock)
{
	if (clock->paused)
		return;
	clock->even_steps++;
	if (clock->multi && !--clock->multi)
		clock->paused = true;
}

static struct clock clock_of(const struct scenario *scenario, uint32_t world)
{
	return (struct clock){.begin_s = scenario->initial_time_s,
		.even_since_s = scenario->initial_time_s,
		.step_s = scenario->step_s[world],
		.paused = scenario->paused};
}

/* Applies the commands for one world at a step; *at is then behind them. */
static void obey_due(const struct scenario *scenario, uint32_t world, uint64_t step, uint32_t *at, struct clock *clock)
{
	const part_list *all = &scenario->commands->children;
	for (; *at < all->count && all->at[*at]->step <= step; ++*at)
		if (part_is_there(all->at[*at]) && all->at[*at]->world == world)
			obey(clock, all->at[*at]);
}

/* The index of the first command of this step or of a later one. */
static uint32_t first_of_step(const part_list *all, uint64_t step)
{
	uint32_t i = 0;
	while (i < all->count && (all->at[i]->step < step || !part_is_there(all->at[i])))
		i++;
	return i;
}

/* The world's clock in state `step`. */
static struct clock clock_at(const struct scenario *scenario, uint32_t world, uint64_t step)
{
	struct clock clock = clock_of(scenario, world);
	uint32_t at = 0;
	for (uint64_t k = 0; k < step; k++) {
		obey_due(scenario, world, k, &at, &clock);
		tick(&clock);
	}
	return clock;
}

bool rules_until(const struct scenario *scenario, uint64_t step, double *ret_time_s, uint64_t *ret_step)
{
	struct clock clock = clock_at(scenario, 0, step);
	*ret_time_s = now_s(&clock);
	if (scenario->world_count > 1 || !(*ret_time_s > scenario->initial_time_s))
		return false;
	/* the first state with this time: after it the world may have been paused or reset */
	struct clock other = clock_of(scenario, 0);
	uint32_t at = 0;
	for (uint64_t k = 0;; k++) {
		if (now_s(&other) >= *ret_time_s - other.step_s * 1e-6 || k > step) {
			*ret_step = k;
			return k <= step;
		}
		obey_due(scenario, 0, k, &at, &other);
		tick(&other);
	}
}

/* The next number with this name in a report; *at is then behind it. */
static bool find_number(const char **at, const char *name, double *ret)
{
	char key[64];
	snprintf(key, sizeof key, "\"%s\": ", name);
	*at = *at ? strstr(*at, key) : NULL;
	if (!*at)
		return false;
	*at += strlen(key);
	*ret = strtod(*at, NULL);
	return true;
}

/* When a step fails, its commands have been obeyed already. */
static struct clock clock_at_end(const struct scenario *scenario, uint32_t world, const struct account *reference)
{
	uint64_t last = account_last_step(reference);
	struct clock clock = clock_at(scenario, world, last);
	uint32_t at = first_of_step(&scenario->commands->children, last);
	if (reference->process.status == 4)
		obey_due(scenario, world, last, &at, &clock);
	return clock;
}

static bool time_holds(const struct scenario *scenario, const struct account *reference, struct failure *ret)
{
	const char *at = reference->report;
	double found_s;
	for (uint32_t w = 0; w < scenario->world_count; w++) {
		struct clock clock = clock_at_end(scenario, w, reference);
		double expected_s = now_s(&clock);
		if (!find_number(&at, "sim_time", &found_s))
			return failure_set(ret, "time", UINT64_MAX, "the report has no sim_time");
		if (!(fabs(found_s - expected_s) <= 1e-9 * (1 + expected_s)))
			return failure_set(ret, "time", UINT64_MAX,
				"world w%u: simulated time is %.17g s: expected %.17g s, the sum of the steps", w,
				found_s, expected_s);
	}
	return true;
}

/* --- reset -------------------------------------------------------------------------------------------------------- */

static const struct part *next_of_step(const part_list *all, uint32_t *at, uint64_t step)
{
	for (; *at < all->count && all->at[*at]->step == step; ++*at)
		if (part_is_there(all->at[*at]))
			return all->at[(*at)++];
	return NULL;
}

/* Whether the texts are the same, apart from the number of the step. */
static bool same_command(const struct part *a, const struct part *b)
{
	struct text x = {0}, y = {0};
	part_print(a, &x);
	part_print(b, &y);
	bool same = a->command == b->command && !strcmp(strchr(x.at, ' '), strchr(y.at, ' '));
	text_fini(&x);
	text_fini(&y);
	return same;
}

static bool can_be_repeated(const struct part *command, uint64_t step)
{
	return command->command == COMMAND_EDIT || command->command == COMMAND_GIVE ||
	       (command->command == COMMAND_CREATES && step);
}

/* The number of steps after the reset in which the commands are those after the start. */
static uint64_t alike(const struct scenario *scenario, uint32_t reset)
{
	const part_list *all = &scenario->commands->children;
	uint64_t at = all->at[reset]->step;
	for (uint64_t j = 0; j <= at && at + j <= scenario->steps; j++) {
		uint32_t a = first_of_step(all, j), b = j ? first_of_step(all, at + j) : reset + 1;
		for (;;) {
			const struct part *then = next_of_step(all, &a, j), *now = next_of_step(all, &b, at + j);
			if (!then && !now)
				break;
			if (!then || !now || !can_be_repeated(then, j) || !same_command(then, now))
				return j;
		}
		if (j + 1 > at) /* the start has no more of these steps */
			return j + 1;
	}
	return scenario->steps - at + 1;
}

static bool reset_holds(
	const struct scenario *scenario, const struct account *reference, uint32_t reset, struct failure *ret)
{
	uint64_t at = scenario->commands->children.at[reset]->step, last = account_last_step(reference);
	uint64_t steps = alike(scenario, reset);
	for (uint64_t j = 1; j <= steps && j <= at && at + j <= last; j++) {
		const char *then = reference->hashes.at[j - 1], *now = reference->hashes.at[at + j - 1];
		if (strcmp(strrchr(then, ' '), strrchr(now, ' ')) != 0)
			return failure_set(ret, "reset", at + j,
				"after the reset at step %" PRIu64
				" with the same commands\n  expected %s of step %" PRIu64 "\n  found    %s",
				at, strrchr(then, ' ') + 1, j, now);
	}
	return true;
}

/* The rule holds only if the world has run from the start without a pause, with the file's step size, gravity and place
 * on the globe. */
static bool resets_hold(const struct scenario *scenario, const struct account *reference, struct failure *ret)
{
	const part_list *all = &scenario->commands->children;
	if (scenario->world_count > 1 || scenario->paused || reference->first_hash != 1)
		return true;
	for (uint32_t i = 0; i < all->count; i++) {
		const struct part *command = all->at[i];
		if (!part_is_there(command))
			continue;
		switch (command->command) {
		case COMMAND_STEP_SIZE:
		case COMMAND_GRAVITY:
		case COMMAND_LASTING:
		case COMMAND_PAUSE:
		case COMMAND_MULTI:
			return true;
		case COMMAND_RESET_MODELS:
			if (scenario->actors)
				break;
			/* fall through */
		case COMMAND_RESET_ALL:
			if (!reset_holds(scenario, reference, i, ret))
				return false;
			break;
		default:
			break;
		}
	}
	return true;
}

/* --- of the report ------------------------------------------------------------------------------------------------ */

static bool finite_holds(const char *report, struct failure *ret)
{
	static const char *const bad[] = {"nan", "inf"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		for (const char *at = strstr(report, bad[i]); at; at = strstr(at + 1, bad[i]))
			if (strchr(" -[", at[-1]))
				return failure_set(ret, "finite", UINT64_MAX, "the report has %.60s", at - 1);
	return true;
}

static bool sinks(const char *report, struct failure *ret)
{
	for (const char *at = strstr(report, "\"name\": \"stay"); at; at = strstr(at + 1, "\"name\": \"stay")) {
		const char *pose = strstr(at, "\"pose\": [");
		double x, y, z;
		if (!pose || sscanf(pose, "\"pose\": [%lf, %lf, %lf", &x, &y, &z) != 3)
			return failure_set(ret, "report", UINT64_MAX, "the report has %.80s", at);
		if (z < 0 && fabs(x) < FLOOR_EDGE_M && fabs(y) < FLOOR_EDGE_M)
			return !failure_set(ret, "sinks", UINT64_MAX,
				"%.*s is at %g %g %g: expected it above the floor at z = 0", (int)strcspn(at + 8, ","),
				at + 8, x, y, z);
	}
	return false;
}

static bool touches(const char *report, struct failure *ret)
{
	double contacts;
	for (const char *at = report; find_number(&at, "contacts", &contacts);)
		if (contacts != 0)
			return !failure_set(ret, "touch", UINT64_MAX,
				"the report tells of %g contacts: expected none, as only models that are tied overlap",
				contacts);
	return false;
}

bool rules_report(const struct scenario *scenario, const char *report, struct failure *ret)
{
	if (!report)
		return true;
	if (!finite_holds(report, ret))
		return false;
	if (scenario->kind == KIND_FLOOR && sinks(report, ret))
		return false;
	return scenario->kind != KIND_TIED || !touches(report, ret);
}

bool rules_hold(const struct scenario *scenario, const struct account *reference, struct failure *ret)
{
	if (!reference->report)
		return failure_set(ret, "report", UINT64_MAX, "there is no report");
	return time_holds(scenario, reference, ret) && resets_hold(scenario, reference, ret) &&
	       rules_report(scenario, reference->report, ret);
}
