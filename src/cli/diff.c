/* `troupe diff`: the first difference of two recordings: its step, the word of the state, both values, what was
 * commanded, and the history of the word around it, as a table and as a chart. The library finds it (troupe/record.h).
 */
#include "base/outfile.h"
#include "cli/member_list.h"
#include "cli/chart.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/outputs.h"

#include <troupe/record.h>

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIFF_EQUAL = 0, DIFF_DIFFERS = 1, DIFF_TROUBLE = 2 };
enum {
	DIFF_COMMANDS_MAX = 100000, /* that are kept of each recording */
	DIFF_SHOWN_MAX = 20,        /* commands of a step that are printed */
	DIFF_ROWS = 3,              /* of the table, before the difference and after it */
	DIFF_PARTS_MAX = 2048,
};

struct diff_settings {
	const char *files[2], *out;
	struct option_list resource_paths, plugin_paths;
	int64_t secondaries, around, verbosity;
};

#define CLI_DIFF_AT(member) offsetof(struct diff_settings, member)
static const struct option_spec cli_diff_specs[] = {
	{OPTION_OPERAND, .name = "first", .argument = "A", .offset = CLI_DIFF_AT(files[0])},
	{OPTION_OPERAND, .name = "second", .argument = "B", .offset = CLI_DIFF_AT(files[1])},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_TEXT, .name = "out", .argument = "FILE.svg", .offset = CLI_DIFF_AT(out),
		.help = "draw what differs, of both recordings, as a chart into this file"},
	{OPTION_WHOLE, .name = "around", .argument = "N", .offset = CLI_DIFF_AT(around), .lo = 1, .hi = 100000,
		.help = "steps before the difference and after it in the chart (default: 100)"},
	{OPTION_WHOLE, .name = "secondaries", .argument = "N", .offset = CLI_DIFF_AT(secondaries),
		.hi = TROUPE_SECONDARIES_MAX, .help = "as for troupe run; the result does not depend on it"},
	OPTIONS_PATHS(CLI_DIFF_AT(resource_paths), CLI_DIFF_AT(plugin_paths), ""),
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", CLI_DIFF_AT(verbosity), .hi = 4, .bare = "3",
		.help = "0: errors and the result; 1 to 4: also warnings (default: 1). Without LEVEL: 3"},
	OPTIONS_HELP,
};
#undef CLI_DIFF_AT

static const struct options_command cli_diff_command = {
	.name = "diff",
	.usage = "troupe diff [OPTIONS] A B",
	.about = "Compares two recordings of troupe run --record, and prints the first difference: its step, the "
		 "model and the word of its state, both values, what was commanded, and the states around it. "
		 "Recordings that are the same are not simulated; of others only the part is that may differ.",
	.after = "Exit status\n"
		 "  0  all states that both recordings have are the same\n"
		 "  1  a state differs, or only one of them goes on\n"
		 "  2  trouble: wrong usage, or a recording that cannot be read or repeated\n",
	.specs = cli_diff_specs,
	.spec_count = ARRAY_LEN(cli_diff_specs),
};

struct diff_taken {
	uint64_t step;
	char *text; /* "TOPIC TEXT" */
};

struct diff_recording {
	struct diff_run *run;
	VEC(struct diff_taken) commands;
	struct member_list members;
};

struct diff_row {
	uint64_t step, words[2];
	bool there[2];
};

struct diff_run {
	struct diff_settings settings;
	struct diff_recording sides[2];
	struct troupe_difference found;
	VEC(struct diff_row) rows;
	struct troupe_error error;
};

/* --- while it is found -------------------------------------------------------------------------------------------- */

static void cli_diff_on_taken(void *ctx, const struct troupe_taken *taken)
{
	struct diff_recording *side = ctx;
	if (side->commands.count == DIFF_COMMANDS_MAX)
		return;
	struct diff_taken command = {
		taken->step, mem_printf("%s %s%s", taken->topic, taken->text, taken->refused ? " (refused)" : "")};
	vec_push(&side->commands, command);
}

static void cli_diff_on_member(void *ctx, const struct troupe_report_member *change)
{
	struct diff_recording *side = ctx;
	member_list_add(&side->members, change);
}

static void cli_diff_on_warning(void *ctx, const char *text)
{
	const struct diff_recording *side = ctx;
	if (side->run->settings.verbosity >= 1)
		cli_finding(SDF_WARNING, text);
}

static void cli_diff_on_sample(void *ctx, uint64_t step, const uint64_t words[2], const bool there[2])
{
	struct diff_run *run = ctx;
	vec_push(&run->rows, ((struct diff_row){step, {words[0], words[1]}, {there[0], there[1]}}));
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static double cli_diff_value(const struct diff_run *run, uint64_t word)
{
	double real;
	memcpy(&real, &word, sizeof real);
	return run->found.is_real ? real : (double)word;
}

static void cli_diff_add_value(const struct diff_run *run, uint64_t word, struct text *out)
{
	struct text value = {0};
	if (run->found.is_real)
		text_add_double(&value, cli_diff_value(run, word));
	else
		text_add(&value, "%" PRIu64, word);
	text_add(out, "%-24s", value.at);
	text_fini(&value);
}

static bool cli_diff_is_same_command(const struct diff_taken *a, const struct diff_taken *b)
{
	return a->step == b->step && !strcmp(a->text, b->text);
}

/* The first command that only one of the two has. */
static void cli_diff_add_first_command(const struct diff_run *run, struct text *out)
{
	uint32_t i = 0;
	const struct diff_recording *a = &run->sides[0], *b = &run->sides[1];
	while (i < a->commands.count && i < b->commands.count &&
		cli_diff_is_same_command(&a->commands.at[i], &b->commands.at[i]))
		i++;
	if (i == a->commands.count && i == b->commands.count) {
		text_add(out, "%s\n",
			run->found.same_start ? "commands: the same up to there"
					      : "commands: the same up to there; the worlds, seeds or settings differ");
		return;
	}
	text_add(out, "the first commands that differ:\n");
	for (int k = 0; k < 2; k++) {
		const struct diff_recording *side = &run->sides[k];
		if (i < side->commands.count)
			text_add(out, "  %c step %" PRIu64 ": %s\n", 'A' + k, side->commands.at[i].step,
				side->commands.at[i].text);
		else
			text_add(out, "  %c none up to step %" PRIu64 "\n", 'A' + k, run->found.step);
	}
}

/* What was taken in the step that led to the difference. */
static void cli_diff_add_last_commands(const struct diff_run *run, struct text *out)
{
	uint32_t shown = 0;
	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; i < run->sides[k].commands.count && shown < DIFF_SHOWN_MAX; i++) {
			const struct diff_taken *command = &run->sides[k].commands.at[i];
			if (command->step + 1 != run->found.step)
				continue;
			if (!shown++)
				text_add(out, "commands of step %" PRIu64 ":\n", command->step);
			text_add(out, "  %c %s\n", 'A' + k, command->text);
		}
}

static void cli_diff_add_members(const struct diff_run *run, struct text *out)
{
	for (int k = 0; k < 2; k++)
		if (run->sides[k].members.at.count) {
			text_add(out, "secondaries of %c that came, left or were lost:\n", 'A' + k);
			member_list_show(&run->sides[k].members, run->found.step, "  ", out);
		}
}

static void cli_diff_add_table(const struct diff_run *run, struct text *out)
{
	if (run->rows.count)
		text_add(out, "%-10s %-24s %-24s %s\n", "step", "A", "B", "B - A");
	for (uint32_t i = 0; i < run->rows.count; i++) {
		const struct diff_row *row = &run->rows.at[i];
		if (row->step + DIFF_ROWS < run->found.step || row->step > run->found.step + DIFF_ROWS)
			continue;
		text_add(out, "%-10" PRIu64 " ", row->step);
		for (int k = 0; k < 2; k++) {
			if (row->there[k])
				cli_diff_add_value(run, row->words[k], out);
			else
				text_add(out, "%-24s", "-");
			text_add(out, " ");
		}
		if (row->there[0] && row->there[1])
			text_add_double(out, cli_diff_value(run, row->words[1]) - cli_diff_value(run, row->words[0]));
		text_add(out, "\n");
	}
}

static void cli_diff_add_difference(const struct diff_run *run, struct text *out)
{
	const struct troupe_difference *found = &run->found;
	text_add(out, "step %" PRIu64 ": %s\n", found->step, found->what);
	for (int k = 0; k < 2 && found->has_words; k++) {
		text_add(out, "  %c ", 'A' + k);
		cli_diff_add_value(run, found->words[k], out);
		text_add(out, " %016" PRIx64 "\n", found->words[k]);
	}
	text_add(out, "hashes: A %016" PRIx64 ", B %016" PRIx64 "\n", found->hashes[0], found->hashes[1]);
	if (found->step > found->begin)
		text_add(out, "the same up to step %" PRIu64 "\n", found->same);
	cli_diff_add_first_command(run, out);
	cli_diff_add_last_commands(run, out);
	cli_diff_add_members(run, out);
	cli_diff_add_table(run, out);
}

/* False: nothing is to be drawn. */
static bool cli_diff_draw(const struct diff_run *run, struct text *out)
{
	struct series lines[2] = {{.each = 0}, {.each = 0}};
	struct chart_panel panel = {.label = "value", .lines = {&lines[0], &lines[1]}};
	char *title = mem_printf("step %" PRIu64 ": %s", run->found.step, run->found.what);
	struct chart chart = {.width = 960,
		.title = title,
		.x_label = "step",
		.line_count = 2,
		.panel_count = 1,
		.names = {run->settings.files[0], run->settings.files[1]},
		.panels = &panel};
	for (uint32_t i = 0; i < run->rows.count; i++)
		for (int k = 0; k < 2; k++) {
			double value = cli_diff_value(run, run->rows.at[i].words[k]);
			if (run->rows.at[i].there[k] && isfinite(value))
				series_add(&lines[k], DIFF_PARTS_MAX, (double)run->rows.at[i].step, value, false);
		}
	bool drawn = lines[0].points || lines[1].points;
	if (drawn)
		chart_draw(&chart, out);
	free(title);
	series_fini(&lines[0]);
	series_fini(&lines[1]);
	return drawn;
}

static troupe_status cli_diff_write_chart(struct diff_run *run)
{
	struct text svg = {0};
	troupe_status status = TROUPE_OK;
	if (cli_diff_draw(run, &svg))
		status = outfile_replace(run->settings.out, svg.at, svg.count, NULL, &run->error);
	else
		cli_complain("diff", "--out: nothing to draw: no number of both recordings differs");
	text_fini(&svg);
	return status;
}

static int cli_diff_conclude(struct diff_run *run)
{
	const struct troupe_difference *found = &run->found;
	struct text out = {0};
	int exit_status = DIFF_DIFFERS;
	if (found->differs) {
		cli_diff_add_difference(run, &out);
	} else {
		text_add(&out, "the same from step %" PRIu64 " to %" PRIu64, found->begin, found->step);
		if (found->ends[0] != found->ends[1])
			text_add(&out, "; A ends at step %" PRIu64 ", B at step %" PRIu64, found->ends[0],
				found->ends[1]);
		else
			exit_status = DIFF_EQUAL;
		text_add(&out, "\n");
		cli_diff_add_members(run, &out);
	}
	troupe_status status = cli_write(out.at, out.count, &run->error);
	if (!status && run->settings.out && found->differs)
		status = cli_diff_write_chart(run);
	text_fini(&out);
	if (status)
		cli_complain("diff", "%s", run->error.text);
	return status ? DIFF_TROUBLE : exit_status;
}

static troupe_status cli_diff_check_names(struct diff_run *run)
{
	struct outputs outputs = {0};
	outputs_add(&outputs, OUTPUT_INPUT, "a recording", run->settings.files[0]);
	outputs_add(&outputs, OUTPUT_INPUT, "a recording", run->settings.files[1]);
	outputs_add(&outputs, OUTPUT_OWN, "--out", run->settings.out);
	troupe_status status = outputs_check(&outputs, &run->error);
	outputs_fini(&outputs);
	return status;
}

static int cli_diff_recordings(struct diff_run *run)
{
	struct troupe_server_def defs[2];
	struct troupe_diff_def def = {.sides = {&defs[0], &defs[1]}, .on_sample = cli_diff_on_sample, .ctx = run};
	def.before = def.after = (uint64_t)run->settings.around;
	for (int i = 0; i < 2; i++) {
		run->sides[i].run = run;
		defs[i] = troupe_server_def_default();
		defs[i].resume_path = run->settings.files[i];
		defs[i].resource_paths = run->settings.resource_paths.at;
		defs[i].plugin_paths = run->settings.plugin_paths.at;
		defs[i].secondaries = (int32_t)run->settings.secondaries;
		defs[i].on_warning = cli_diff_on_warning;
		defs[i].on_taken = cli_diff_on_taken;
		defs[i].on_member = cli_diff_on_member;
		defs[i].ctx = &run->sides[i];
	}
	troupe_status status = cli_diff_check_names(run);
	if (!status)
		status = troupe_diff(&def, &run->found, &run->error);
	if (!status)
		return cli_diff_conclude(run);
	cli_complain("diff", "%s", run->error.text);
	return DIFF_TROUBLE;
}

int cli_diff(int argc, char **argv)
{
	struct diff_run run = {.settings = {.secondaries = TROUPE_SECONDARIES_AUTO, .around = 100, .verbosity = 1}};
	struct arena arena = {0};
	int status;
	if (options_parse(&cli_diff_command, argc, argv, &run.settings, &arena, NULL, &status))
		status = cli_diff_recordings(&run);
	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < run.sides[i].commands.count; k++)
			free(run.sides[i].commands.at[k].text);
		vec_free(&run.sides[i].commands);
		member_list_fini(&run.sides[i].members);
	}
	vec_free(&run.rows);
	arena_fini(&arena);
	return status;
}
