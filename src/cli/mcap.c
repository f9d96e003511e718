/* `troupe mcap`: makes an MCAP file from a recording, by running it again. The states are compared on the way, as
 * `troupe replay` does: the file of a run that went another way would be of no use. */
#include "cli/cli.h"
#include "cli/mcap_out.h"
#include "cli/outputs.h"

#include <troupe/record.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct mcap_settings {
	const char *recording, *output, *names, *robot;
	struct option_list resource_paths, plugin_paths, topics;
	int64_t secondaries, until_step, verbosity;
	struct mcap_out out;
	troupe_status written; /* of the file */
	struct troupe_error error;
};

#define MCAP_AT(member) offsetof(struct mcap_settings, member)
#define MCAP_WHOLE_MAX 9223372036854775807.0
static const struct option_spec mcap_specs[] = {
	{OPTION_OPERAND, .name = "recording", .argument = "RECORDING", .offset = MCAP_AT(recording)},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_TEXT, 'o', "output", "FILE", MCAP_AT(output), .help = "write this file; must be given"},
	{OPTION_LIST, .name = "topic", .argument = "PATTERN[@HZ]", .offset = MCAP_AT(topics),
		.help = "as for troupe run --mcap; may be repeated"},
	{OPTION_CHOICE, .name = "names", .argument = "NAMES", .offset = MCAP_AT(names), .choices = MCAP_OUT_NAMES,
		.help = "as --mcap-names of troupe run: ros or gz (default: gz)"},
	{OPTION_TEXT, .name = "robot", .argument = "MODEL", .offset = MCAP_AT(robot),
		.help = "with --names ros: as --mcap-robot of troupe run"},
	{OPTION_WHOLE, .name = "until-step", .argument = "N", .offset = MCAP_AT(until_step), .hi = MCAP_WHOLE_MAX,
		.help = "stop at the last recorded state that is not after step N; 0: no limit (the default)"},
	{OPTION_WHOLE, .name = "secondaries", .argument = "N", .offset = MCAP_AT(secondaries),
		.hi = TROUPE_SECONDARIES_MAX, .help = "as for troupe run; the file does not depend on it"},
	OPTIONS_PATHS(MCAP_AT(resource_paths), MCAP_AT(plugin_paths), ""),
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", MCAP_AT(verbosity), .hi = 4, .bare = "3",
		.help = "0: errors; 1 to 4: also warnings and what was written (default: 1). Without LEVEL: 3"},
	OPTIONS_HELP,
};
#undef MCAP_AT

static const struct options_command mcap_command = {
	.name = "mcap",
	.usage = "troupe mcap [OPTIONS] RECORDING -o FILE",
	.about = "Runs a recording of troupe run --record again, as fast as possible, and records its topics into an "
		 "MCAP file, also those of sensors that did not measure in the run. The file is the one that "
		 "troupe run --mcap would have written.",
	.after = "Exit status\n"
		 "  0  the file has the whole recording (up to --until-step, if given)\n"
		 "  1  a state differs from the recorded one, a file cannot be read or written\n"
		 "  2  wrong usage\n"
		 "  4  internal error, out of memory, or a model diverged\n"
		 "  5  the recording was cut off or is damaged; the file ends there\n",
	.specs = mcap_specs,
	.spec_count = ARRAY_LEN(mcap_specs),
};

static void mcap_on_warning(void *ctx, const char *text)
{
	const struct mcap_settings *settings = ctx;
	if (settings->verbosity >= 1)
		cli_finding(SDF_WARNING, text);
}

static void mcap_on_server(void *ctx, struct troupe_server *server, bool begins)
{
	struct mcap_settings *settings = ctx;
	if (begins)
		settings->written = mcap_out_begin(&settings->out, server, &settings->error);
	else if (settings->out.mcap)
		settings->written = mcap_out_end(&settings->out, &settings->error);
}

static void mcap_on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct mcap_settings *settings = ctx;
	(void)server, (void)step;
	mcap_out_step(&settings->out);
}

static int mcap_finish(const struct mcap_settings *settings, const struct troupe_replay *replay)
{
	bool cut = replay->end == TROUPE_REPLAY_CUT || replay->end == TROUPE_REPLAY_DAMAGED;
	if (replay->end == TROUPE_REPLAY_DIFFERS)
		cli_complain("mcap", "%s: step %" PRIu64 ": %s", settings->recording, replay->step, replay->difference);
	else if (cut)
		cli_complain("mcap", "%s: %s after step %" PRIu64 ": the file ends there", settings->recording,
			replay->end == TROUPE_REPLAY_CUT ? "cut off" : "damaged", replay->step);
	if (settings->written)
		cli_complain("mcap", "%s", settings->error.text);
	else if (settings->verbosity >= 1)
		cli_complain("mcap",
			"%s: steps %" PRIu64 " to %" PRIu64 ", %" PRIu64 " messages of %u topics, %" PRIu64 " bytes",
			settings->output, replay->begin, replay->step, settings->out.counts.messages,
			settings->out.counts.topics, settings->out.counts.bytes);
	if (replay->end == TROUPE_REPLAY_DIFFERS || settings->written)
		return CLI_BAD_INPUT;
	return cut ? CLI_INCOMPLETE : CLI_DONE;
}

static int mcap_make(struct mcap_settings *settings)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_replay replay;
	struct troupe_error error;
	def.resume_path = settings->recording;
	def.resource_paths = settings->resource_paths.at;
	def.plugin_paths = settings->plugin_paths.at;
	def.secondaries = (int32_t)settings->secondaries;
	def.on_warning = mcap_on_warning;
	def.on_server = mcap_on_server;
	def.on_step = mcap_on_step;
	def.step_every = 1;
	def.ctx = settings;
	troupe_status status = troupe_replay_run(&def, (uint64_t)settings->until_step, &replay, &error);
	if (!status)
		return mcap_finish(settings, &replay);
	cli_complain("mcap", "%s", error.text);
	return cli_exit_status(status);
}

/* Checks what can be known before the recording runs. */
static int mcap_check_and_make(struct mcap_settings *settings)
{
	struct outputs outputs = {0};
	struct troupe_error error;
	int exit_status = CLI_BAD_USAGE;
	if (!settings->output) {
		cli_complain("mcap", "no file given to write: expected -o FILE; see troupe mcap --help");
		return CLI_BAD_USAGE;
	}
	const struct mcap_out_def def = {
		settings->output, &settings->topics, settings->names, settings->robot, mcap_on_warning, settings};
	troupe_status status = mcap_out_init(&settings->out, &def, &error);
	outputs_add(&outputs, OUTPUT_INPUT, "the recording", settings->recording);
	outputs_add(&outputs, OUTPUT_STREAM, "--output", settings->output);
	if (!status) {
		status = outputs_check(&outputs, &error);
		if (!status)
			status = outputs_claim(&outputs, &error);
		exit_status = status ? CLI_BAD_INPUT : mcap_make(settings);
	}
	if (status)
		cli_complain(
			"mcap", "%s%s", error.text, exit_status == CLI_BAD_USAGE ? "; see troupe mcap --help" : "");
	outputs_fini(&outputs);
	mcap_out_fini(&settings->out);
	return exit_status;
}

int cli_mcap(int argc, char **argv)
{
	struct mcap_settings settings = {.secondaries = TROUPE_SECONDARIES_AUTO, .verbosity = 1};
	struct arena arena = {0};
	int status;
	if (options_parse(&mcap_command, argc, argv, &settings, &arena, NULL, &status))
		status = mcap_check_and_make(&settings);
	arena_fini(&arena);
	return status;
}
