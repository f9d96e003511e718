/* `troupe bisect`: the first step of a recording at which a condition is true.
 *
 * A condition may be true for a moment only, so in general each state has to be looked at: one repetition of the
 * recording does that, from its beginning up to the step that is found, and no more repetitions would make it surer.
 * With --monotone the user says that the condition stays true once it is true. Then the states that the recording holds
 * (record.h) are halved, and only the steps between two of them are simulated: a recording with n states is begun at
 * most log2(n) + 2 times, which is at most 20 for a quarter of a million. */
#include "base/near.h"
#include "cli/member_list.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/predicate.h"

#include <troupe/record.h>

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BISECT_FOUND = 0, BISECT_NEVER = 1, BISECT_TROUBLE = 2, BISECT_STARTS_MAX = 1 << 18 };
enum { BISECT_HOP = 1000 }; /* a player that goes further than 2000 steps may leave some out */

struct bisect_settings {
	const char *recording, *when, *holds, *world;
	struct option_list resource_paths, plugin_paths;
	int64_t secondaries, from_step, until_step, verbosity;
	bool monotone, all;
};

#define CLI_BISECT_AT(member) offsetof(struct bisect_settings, member)
#define CLI_BISECT_WHOLE_MAX 9223372036854775807.0
static const struct option_spec bisect_specs[] = {
	{OPTION_OPERAND, .name = "recording", .argument = "RECORDING", .offset = CLI_BISECT_AT(recording)},
	{OPTION_HEADING, .help = "What is looked for (one of the two)"},
	{OPTION_TEXT, .name = "when", .argument = "CONDITION", .excludes = "while", .offset = CLI_BISECT_AT(when),
		.help = "the first step at which this is true"},
	{OPTION_TEXT, .name = "while", .argument = "CONDITION", .offset = CLI_BISECT_AT(holds),
		.help = "the first step at which this is not true any more, after it was true"},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_WHOLE, .name = "from-step", .argument = "N", .offset = CLI_BISECT_AT(from_step),
		.hi = CLI_BISECT_WHOLE_MAX, .help = "look at no state before step N (default: the first state)"},
	{OPTION_WHOLE, .name = "until-step", .argument = "N", .offset = CLI_BISECT_AT(until_step),
		.hi = CLI_BISECT_WHOLE_MAX, .help = "look at no state after step N; 0: no limit (the default)"},
	{OPTION_FLAG, .name = "monotone", .excludes = "all", .offset = CLI_BISECT_AT(monotone),
		.help = "what is looked for stays as it is once it has come: look at few of the states that the "
			"recording holds, and then at the steps between two of them"},
	{OPTION_FLAG, .name = "all", .offset = CLI_BISECT_AT(all),
		.help = "go on to the end, and list each step at which the condition becomes true, or ceases to be"},
	{OPTION_TEXT, .name = "world", .argument = "NAME", .offset = CLI_BISECT_AT(world),
		.help = "the world that the condition is about (default: the first one of the recording)"},
	{OPTION_WHOLE, .name = "secondaries", .argument = "N", .offset = CLI_BISECT_AT(secondaries),
		.hi = TROUPE_SECONDARIES_MAX, .help = "as for troupe run; the result does not depend on it"},
	OPTIONS_PATHS(CLI_BISECT_AT(resource_paths), CLI_BISECT_AT(plugin_paths), ""),
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", CLI_BISECT_AT(verbosity), .hi = 4, .bare = "3",
		.help = "0: errors and the result; 1 or 2: also warnings (default: 1); 3 or 4: also each state that is "
			"tried with --monotone. Without LEVEL: 3"},
	OPTIONS_HELP,
};
#undef CLI_BISECT_AT

static const struct options_command bisect_command = {
	.name = "bisect",
	.usage = "troupe bisect [OPTIONS] RECORDING",
	.about = "Finds the first step of a recording of troupe run --record at which a condition is true, and "
		 "prints it with the values of what the condition names there and one step before. The recording "
		 "is simulated again once, as fast as possible, and each state is looked at. See "
		 "troupe-bisect(1) for all that a condition can name.",
	.after = "Examples\n"
		 "  troupe bisect --when 'cart_1.z < 0.05' drive\n"
		 "  troupe bisect --when 'contact(cart_1, wall) and cart_1.speed > 0.5' drive\n"
		 "  troupe bisect --while 'distance(cart_1, cart_2) > 0.4' drive\n"
		 "  troupe bisect --when 'max(\"cart_*\".tilt) > 30 deg' --monotone drive\n"
		 "  troupe bisect --when 'arm/elbow.velocity > 2 or arm/base::imu.az < 5' drive\n"
		 "\n"
		 "Exit status\n"
		 "  0  it is found\n"
		 "  1  there is no such step\n"
		 "  2  trouble: wrong usage, or a recording that cannot be read or repeated\n",
	.specs = bisect_specs,
	.spec_count = ARRAY_LEN(bisect_specs),
};

struct bisect {
	struct bisect_settings settings;
	struct predicate predicate;
	struct troupe_player *player;
	uint32_t world;
	bool wanted;             /* the truth that is looked for */
	bool looks;              /* on_step evaluates */
	bool found;              /* at the present state */
	bool known;              /* some state said true or false */
	bool was_true;           /* --while: it was true */
	double truth;            /* of the state that was looked at last */
	double *values, *before; /* [nodes] of this state and of the one before it */
	bool has_before;
	uint64_t step, before_step, changes, replays, looked;
	struct member_list members;
	troupe_status status;
	struct troupe_error error;
};

/* --- looking ------------------------------------------------------------------------------------------------------ */

static void bisect_show_change(struct bisect *bisect)
{
	printf("step %" PRIu64 ", time %.9g s: %s\n", bisect->step, bisect->predicate.time_s,
		bisect->truth == 1 ? "true" : "false");
	bisect->changes++;
}

/* Whether the present state, which was looked at, is the one that is looked for. */
static bool bisect_is_it(struct bisect *bisect)
{
	if (isnan(bisect->truth))
		return false;
	bool truth = bisect->truth == 1;
	bisect->known = true;
	if (bisect->wanted)
		return truth;
	bool ends = bisect->was_true && !truth;
	bisect->was_true |= truth;
	return ends;
}

static void bisect_look(struct bisect *bisect, struct troupe_server *server, uint64_t step)
{
	double *swap = bisect->before, last = bisect->truth;
	bisect->before = bisect->values;
	bisect->values = swap;
	bisect->before_step = bisect->step;
	bisect->has_before = bisect->looked > 0;
	bisect->step = step;
	bisect->looked++;
	bisect->status = predicate_look(
		&bisect->predicate, server, bisect->world, bisect->values, &bisect->truth, &bisect->error);
	if (bisect->status)
		return;
	bool is = bisect_is_it(bisect),
	     changed = isnan(bisect->truth) ? last == 1 : (last == 1) != (bisect->truth == 1);
	if (!bisect->settings.all)
		bisect->found = is;
	else if (changed)
		bisect_show_change(bisect);
}

static void bisect_on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct bisect *bisect = ctx;
	bisect->predicate.observed = true;
	if (!bisect->looks || bisect->found || bisect->status)
		return;
	bisect_look(bisect, server, step);
	if (bisect->found || bisect->status)
		troupe_server_stop(server);
}

static void bisect_on_server(void *ctx, struct troupe_server *server)
{
	struct bisect *bisect = ctx;
	(void)server;
	bisect->replays++;
	predicate_renew(&bisect->predicate);
}

static void bisect_on_warning(void *ctx, const char *text)
{
	const struct bisect *bisect = ctx;
	if (bisect->settings.verbosity >= 1)
		cli_finding(SDF_WARNING, text);
}

static void bisect_on_member(void *ctx, const struct troupe_report_member *change)
{
	struct bisect *bisect = ctx;
	member_list_add(&bisect->members, change);
}

/* --- the way through the recording -------------------------------------------------------------------------------- */

/* Looks at the present state and then at each one up to `to`, until it is found. */
static troupe_status bisect_scan(struct bisect *bisect, uint64_t to)
{
	bisect->looks = true;
	bisect->looked = 0;
	bisect->truth = NAN;
	bisect_look(bisect, troupe_player_server(bisect->player), troupe_player_step(bisect->player));
	while (!bisect->status && !bisect->found && troupe_player_step(bisect->player) < to) {
		uint64_t before = troupe_player_step(bisect->player);
		troupe_status status = troupe_player_go(bisect->player, MIN(to, before + BISECT_HOP), &bisect->error);
		bisect->status = bisect->status ? bisect->status : status;
		if (!bisect->status && troupe_player_step(bisect->player) == before)
			break; /* the recording holds no more */
	}
	bisect->looks = false;
	return bisect->status;
}

/* Goes to a recorded state and from there as far as it must to know whether what is looked for has come, at most to
 * `end`. *ret_is: it has. */
static troupe_status bisect_try(struct bisect *bisect, uint64_t at, uint64_t end, bool *ret_is)
{
	troupe_status status = troupe_player_go(bisect->player, at, &bisect->error);
	bisect->truth = NAN;
	for (uint64_t step = at; !status && isnan(bisect->truth); step++) {
		struct troupe_server *server = troupe_player_server(bisect->player);
		status = predicate_look(
			&bisect->predicate, server, bisect->world, bisect->values, &bisect->truth, &bisect->error);
		if (step == end)
			break;
		if (!status && isnan(bisect->truth))
			status = troupe_player_go(bisect->player, step + 1, &bisect->error);
	}
	*ret_is = !isnan(bisect->truth) && (bisect->truth == 1) == bisect->wanted;
	if (!status && bisect->settings.verbosity >= 3)
		printf("step %" PRIu64 ": %s\n", troupe_player_step(bisect->player),
			isnan(bisect->truth) ? "not known"
			: bisect->truth == 1 ? "true"
					     : "false");
	return status;
}

/* The steps at which a replay can begin, from the one before `from` on, in turn. */
static uint32_t bisect_starts(const struct bisect *bisect, uint64_t from, uint64_t to, uint64_t *starts, uint32_t room)
{
	uint32_t count = 0;
	uint64_t first = troupe_player_start(bisect->player, from);
	for (uint64_t at = troupe_player_start(bisect->player, to); count < room; count++) {
		starts[count] = at;
		if (at <= first)
			return count + 1;
		at = troupe_player_start(bisect->player, at - 1);
	}
	return count;
}

/* Halves the recorded states: *ret_from is the last one, not before `from`, at which it has not come, as far as is
 * known. */
static troupe_status bisect_halve(struct bisect *bisect, uint64_t from, uint64_t to, uint64_t *ret_from)
{
	uint64_t *starts = mem_alloc(BISECT_STARTS_MAX * sizeof *starts); /* the last one first */
	uint32_t low = 0, high = bisect_starts(bisect, from, to, starts, BISECT_STARTS_MAX);
	troupe_status status = TROUPE_OK;
	/* it has not come at starts[high - 1], or the scan begins there anyway */
	for (high--; low < high && !status;) {
		uint32_t middle = low + (high - low) / 2;
		bool is;
		status = bisect_try(bisect, starts[middle], middle ? starts[middle - 1] : to, &is);
		if (is)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_from = MAX(starts[high], from);
	free(starts);
	return status;
}

static troupe_status bisect_run(struct bisect *bisect)
{
	struct troupe_player_info info = troupe_player_info(bisect->player);
	uint64_t from = MAX((uint64_t)bisect->settings.from_step, info.begin), to = info.end;
	if (bisect->settings.until_step)
		to = MIN(to, (uint64_t)bisect->settings.until_step);
	if (from > to)
		return fail(&bisect->error, TROUPE_ECOMMAND,
			"no state from step %" PRIu64 " to %" PRIu64 ": the recording has those of %" PRIu64
			" to %" PRIu64,
			from, to, info.begin, info.end);
	if (bisect->settings.monotone)
		bisect->status = bisect_halve(bisect, from, to, &from);
	else if (from > info.begin) /* a step is taken, so that the contacts of `from` are known */
		bisect->status = troupe_player_go(bisect->player, from - 1, &bisect->error);
	bisect->was_true = bisect->settings.monotone;
	if (!bisect->status)
		bisect->status = troupe_player_go(bisect->player, from, &bisect->error);
	return bisect->status ? bisect->status : bisect_scan(bisect, to);
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static void bisect_add_value(struct text *out, double value)
{
	if (isnan(value))
		text_add(out, "not known");
	else
		text_add_double(out, value);
}

/* One line of what the condition names: its value, the one before, and the models if it is a pattern. */
static void bisect_add_line(const struct bisect *bisect, uint32_t node, struct text *out)
{
	struct text shown = {0}, whose = {0};
	if (predicate_shown(&bisect->predicate, node, &shown)) {
		text_add(out, "  %-30s ", shown.at);
		bisect_add_value(out, bisect->values[node]);
		if (bisect->has_before) {
			text_add(out, "  (step %" PRIu64 ": ", bisect->before_step);
			bisect_add_value(out, bisect->before[node]);
			text_add(out, ")");
		}
		(void)predicate_whose(
			&bisect->predicate, node, troupe_player_server(bisect->player), bisect->world, &whose);
		text_add(out, whose.count ? "  %s\n" : "\n", whose.at);
	}
	text_fini(&shown);
	text_fini(&whose);
}

static void bisect_show(const struct bisect *bisect)
{
	struct text out = {0};
	text_add(&out, "step %" PRIu64 ", time %.9g s: %s: %s\n", bisect->step, bisect->predicate.time_s,
		bisect->wanted ? "true" : "not true any more", bisect->predicate.text);
	for (uint32_t i = 0; i < bisect->predicate.nodes.count; i++)
		bisect_add_line(bisect, i, &out);
	if (bisect->members.at.count) {
		text_add(&out, "secondaries that came, left or were lost up to there:\n");
		member_list_show(&bisect->members, bisect->step, "  ", &out);
	}
	text_add(&out, "found with %" PRIu64 " replay%s\n", bisect->replays, bisect->replays == 1 ? "" : "s");
	(void)cli_write(out.at, out.count, NULL);
	text_fini(&out);
}

static int bisect_conclude(struct bisect *bisect)
{
	const struct predicate_name *unseen = predicate_unseen(&bisect->predicate);
	struct troupe_player_info info = troupe_player_info(bisect->player);
	if (bisect->found) {
		bisect_show(bisect);
		return BISECT_FOUND;
	}
	if (bisect->settings.all && bisect->changes)
		return BISECT_FOUND;
	if (unseen && !bisect->known) {
		(void)predicate_complain(&bisect->predicate, unseen, troupe_player_server(bisect->player),
			bisect->world, &bisect->error);
		cli_complain("bisect", "%s", bisect->error.text);
		return BISECT_TROUBLE;
	}
	printf("%s from step %" PRIu64 " to %" PRIu64 "\n",
		!bisect->known     ? "never known"
		: bisect->wanted   ? "never true"
		: bisect->was_true ? "true to the end"
				   : "never true",
		MAX((uint64_t)bisect->settings.from_step, info.begin), bisect->step);
	if (info.how != TROUPE_REPLAY_WHOLE && bisect->settings.verbosity >= 1)
		cli_finding(SDF_WARNING, info.how == TROUPE_REPLAY_CUT
						 ? "the recording was cut off: later states are not in it"
						 : "the recording is damaged: later states cannot be read");
	return BISECT_NEVER;
}

/* A model that is in no state of the recording is told before it runs, if no command can make one. */
static troupe_status bisect_check_names(struct bisect *bisect)
{
	struct troupe_server *server = troupe_player_server(bisect->player);
	const struct predicate_name *unseen;
	double truth;
	troupe_status status =
		predicate_look(&bisect->predicate, server, bisect->world, bisect->values, &truth, &bisect->error);
	unseen = predicate_unseen(&bisect->predicate);
	if (!status && unseen && !troupe_player_creates(bisect->player))
		status = predicate_complain(&bisect->predicate, unseen, server, bisect->world, &bisect->error);
	return status;
}

static troupe_status bisect_find_world(struct bisect *bisect)
{
	struct troupe_server *server = troupe_player_server(bisect->player);
	uint32_t count = troupe_server_world_count(server);
	struct near near = near_to(bisect->settings.world ? bisect->settings.world : "");
	for (uint32_t i = 0; i < count && bisect->settings.world; i++) {
		const char *name = troupe_server_world_name(server, i);
		near_offer(&near, name);
		bisect->world = i;
		if (!near.distances[0] && near.count && !strcmp(name, bisect->settings.world))
			return TROUPE_OK;
	}
	return bisect->settings.world ? fail(&bisect->error, TROUPE_ECOMMAND,
						"--world: no world '%s': expected one of the recording%s",
						bisect->settings.world, near_such_as(&near))
				      : TROUPE_OK;
}

static int bisect_recording(struct bisect *bisect)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.resume_path = bisect->settings.recording;
	def.resource_paths = bisect->settings.resource_paths.at;
	def.plugin_paths = bisect->settings.plugin_paths.at;
	def.secondaries = (int32_t)bisect->settings.secondaries;
	def.observe = predicate_observes(&bisect->predicate);
	def.on_warning = bisect_on_warning;
	def.on_step = bisect_on_step;
	def.on_member = bisect_on_member;
	def.step_every = 1;
	def.ctx = bisect;
	troupe_status status = troupe_player_open(&def, bisect_on_server, bisect, &bisect->player, &bisect->error);
	if (!status)
		status = bisect_find_world(bisect);
	if (!status)
		status = bisect_check_names(bisect);
	if (!status)
		status = bisect_run(bisect);
	if (!status)
		return bisect_conclude(bisect);
	cli_complain("bisect", "%s", bisect->error.text);
	return BISECT_TROUBLE;
}

int cli_bisect(int argc, char **argv)
{
	struct bisect bisect = {.settings = {.secondaries = TROUPE_SECONDARIES_AUTO, .verbosity = 1}};
	struct arena arena = {0};
	struct troupe_error error;
	int status;
	if (options_parse(&bisect_command, argc, argv, &bisect.settings, &arena, NULL, &status)) {
		const char *text = bisect.settings.when ? bisect.settings.when : bisect.settings.holds;
		status = BISECT_TROUBLE;
		bisect.wanted = bisect.settings.when;
		if (!text)
			cli_complain(
				"bisect", "expected --when CONDITION or --while CONDITION; see troupe bisect --help");
		else if (predicate_read(&bisect.predicate, bisect.wanted ? "--when" : "--while", text, &error))
			cli_complain("bisect", "%s", error.text);
		else {
			bisect.values = mem_alloc(bisect.predicate.nodes.count * sizeof *bisect.values);
			bisect.before = mem_alloc(bisect.predicate.nodes.count * sizeof *bisect.before);
			status = bisect_recording(&bisect);
		}
	}
	troupe_player_close(bisect.player);
	predicate_fini(&bisect.predicate);
	member_list_fini(&bisect.members);
	free(bisect.values);
	free(bisect.before);
	arena_fini(&arena);
	return status;
}
