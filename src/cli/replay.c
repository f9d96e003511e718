/* `troupe replay`: runs a recording again and prints the first difference. The library does the comparison
 * (troupe/record.h). Options choose the number of secondaries, the transport and the assignments (--chaos), because
 * the state must not depend on these. A recording that was cut off or is damaged has an exit status of its own, so
 * that it is not taken for one that was compared to its end. With --foxglove a person sees the recording instead, at
 * any step; what was compared is then only the part that was seen. */
#include "cli/cli.h"
#include "cli/gateways.h"
#include "cli/mcap_out.h"
#include "cli/network.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/signals.h"

#include <troupe/record.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct cli_replay_settings {
	const char *recording;
	const char *transport, *mcap, *mcap_names, *mcap_robot;
	struct option_list resource_paths, plugin_paths, topics;
	int64_t secondaries, chaos, until_step, verbosity;
	int64_t stale_ms;                  /* 0: not given */
	struct gateways_settings gateways; /* foxglove, serve: it is shown, and not run to its end */
	struct mcap_out mcap_out;
	troupe_status mcap_status; /* of its file */
	struct troupe_error mcap_error;
};

#define CLI_REPLAY_AT(member) offsetof(struct cli_replay_settings, member)
#define CLI_REPLAY_WHOLE_MAX 9223372036854775807.0
static const struct option_spec cli_replay_specs[] = {
	{OPTION_OPERAND, .name = "recording", .argument = "FILE", .offset = CLI_REPLAY_AT(recording)},
	{OPTION_HEADING, .help = "Options (the state must not depend on the first three)"},
	{OPTION_WHOLE, .name = "secondaries", .argument = "N", .offset = CLI_REPLAY_AT(secondaries),
		.hi = TROUPE_SECONDARIES_MAX, .help = "as for troupe run"},
	{OPTION_CHOICE, .name = "transport", .argument = "NAME", .offset = CLI_REPLAY_AT(transport),
		.list = network_transports_here, .help = "as for troupe run: inproc (the default) or tcp"},
	{OPTION_WHOLE, .name = "chaos", .argument = "SEED", .offset = CLI_REPLAY_AT(chaos), .hi = CLI_REPLAY_WHOLE_MAX,
		.help = "as for troupe run"},
	{OPTION_WHOLE, .name = "network-stale-ms", .argument = "MS", .offset = CLI_REPLAY_AT(stale_ms), .lo = 10,
		.hi = 3600000, .help = "with --transport tcp: as for troupe run (default: 1000)"},
	{OPTION_WHOLE, .name = "until-step", .argument = "N", .offset = CLI_REPLAY_AT(until_step),
		.hi = CLI_REPLAY_WHOLE_MAX, .help = "compare no state after step N; 0: no limit (the default)"},
	OPTIONS_PATHS(CLI_REPLAY_AT(resource_paths), CLI_REPLAY_AT(plugin_paths), ""),
	{OPTION_TEXT, .name = "mcap", .argument = "FILE", .offset = CLI_REPLAY_AT(mcap),
		.help = "record topics into this file, as for troupe run: the file that --mcap would have written in "
			"the "
			"run itself"},
	{OPTION_LIST, .name = "topic", .needs = "mcap", .argument = "PATTERN[@HZ]", .offset = CLI_REPLAY_AT(topics),
		.help = "with --mcap: as for troupe run; may be repeated"},
	{OPTION_CHOICE, .name = "mcap-names", .needs = "mcap", .argument = "NAMES", .offset = CLI_REPLAY_AT(mcap_names),
		.choices = MCAP_OUT_NAMES, .help = "with --mcap: as for troupe run (default: gz)"},
	{OPTION_TEXT, .name = "mcap-robot", .needs = "mcap", .argument = "MODEL", .offset = CLI_REPLAY_AT(mcap_robot),
		.help = "as for troupe run"},
	{OPTION_LIST, .name = "serve", .argument = "NAME[=ADDRESS][,KEY=VALUE]...",
		.offset = CLI_REPLAY_AT(gateways.serve),
		.help = "show the recording through this gateway instead, view or foxglove, until this is "
			"interrupted; as for troupe run"},
	{OPTION_TEXT, .name = "foxglove", .argument = "[ADDRESS:]PORT", .offset = CLI_REPLAY_AT(gateways.foxglove),
		.help = "show the recording to Foxglove instead, and to clients of its WebSocket protocol, until this "
			"is interrupted: the viewer chooses when it plays, how fast, and which step is shown; "
			"ADDRESS and PORT as for troupe run"},
	{OPTION_TEXT, .name = "foxglove-cert", .needs = "foxglove-key", .argument = "FILE",
		.offset = CLI_REPLAY_AT(gateways.foxglove_cert), .help = "with --foxglove: as for troupe run"},
	{OPTION_TEXT, .name = "foxglove-key", .needs = "foxglove-cert", .argument = "FILE",
		.offset = CLI_REPLAY_AT(gateways.foxglove_key), .help = "as for troupe run"},
	{OPTION_TEXT, .name = "foxglove-origin", .needs = "foxglove", .argument = "ORIGIN",
		.offset = CLI_REPLAY_AT(gateways.foxglove_origin), .help = "with --foxglove: as for troupe run"},
	{OPTION_FLAG, .name = "token", .excludes = "foxglove-insecure", .offset = CLI_REPLAY_AT(gateways.token),
		.help = "with --foxglove: as for troupe run"},
	{OPTION_FLAG, .name = "foxglove-insecure", .needs = "foxglove",
		.offset = CLI_REPLAY_AT(gateways.foxglove_insecure), .help = "with --foxglove: as for troupe run"},
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", CLI_REPLAY_AT(verbosity), .hi = 4, .bare = "3",
		.help = "0: errors and the result; 1 or 2: also warnings (default: 1); 3 or 4: also a line \"hash STEP "
			"HEX16\" for each compared state. Without LEVEL: 3"},
	OPTIONS_HELP,
};
#undef CLI_REPLAY_AT

static const struct options_command cli_replay_command = {
	.name = "replay",
	.usage = "troupe replay [OPTIONS] FILE",
	.about = "Runs a recording of troupe run --record again, as fast as possible, and compares each "
		 "recorded state. Stops at the first state that differs, and prints the first entity that "
		 "differs in this state, with the recorded value and the value found. A recording that was cut "
		 "off or is damaged is compared up to that point. With --foxglove it is shown instead, at any "
		 "step and pace; each recorded hash on the way is compared.",
	.after = "Exit status\n"
		 "  0  all recorded states are the same (up to --until-step, if given);\n"
		 "     with --foxglove: it was interrupted\n"
		 "  1  a state differs, or the recording cannot be read\n"
		 "  2  wrong usage\n"
		 "  3  a secondary of --transport tcp was lost\n"
		 "  4  internal error, out of memory, or a model diverged\n"
		 "  5  the recording was cut off or is damaged; all states before that point are\n"
		 "     the same\n",
	.specs = cli_replay_specs,
	.spec_count = ARRAY_LEN(cli_replay_specs),
};

static bool cli_replay_is_tcp(const struct cli_replay_settings *settings)
{
	return network_is_children(settings->transport);
}

static bool cli_replay_is_shown(const struct cli_replay_settings *settings)
{
	return settings->gateways.foxglove || settings->gateways.serve.count;
}

/* The first option that makes no sense for a recording that is shown; NULL: there is none. */
static const char *cli_replay_not_shown(const struct cli_replay_settings *settings)
{
	return cli_replay_is_tcp(settings) ? "--transport tcp"
	       : settings->chaos >= 0      ? "--chaos"
	       : settings->until_step      ? "--until-step"
	       : settings->mcap            ? "--mcap"
					   : NULL;
}

/* Checks combinations that the table of options cannot describe. */
static bool cli_replay_check(const struct cli_replay_settings *settings)
{
	if (settings->stale_ms && !cli_replay_is_tcp(settings))
		cli_complain("replay",
			"--network-stale-ms without --transport tcp: expected both; see troupe replay --help");
	else if (cli_replay_is_tcp(settings) && !settings->secondaries)
		cli_complain("replay",
			"--transport tcp with --secondaries 0: expected at least 1; see troupe replay --help");
	else if (cli_replay_is_shown(settings) && cli_replay_not_shown(settings))
		cli_complain("replay", "%s and %s: expected only one of them; see troupe replay --help",
			settings->gateways.foxglove ? "--foxglove" : "--serve", cli_replay_not_shown(settings));
	else
		return true;
	return false;
}

static void cli_replay_on_warning(void *ctx, const char *text)
{
	const struct cli_replay_settings *settings = ctx;
	if (settings->verbosity >= 1)
		cli_finding(SDF_WARNING, text);
}

static void cli_replay_on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	const struct cli_replay_settings *settings = ctx;
	if (settings->verbosity >= 3)
		printf("hash %" PRIu64 " %016" PRIx64 "\n", step, hash);
}

static void cli_replay_on_server(void *ctx, struct troupe_server *server, bool begins)
{
	struct cli_replay_settings *settings = ctx;
	struct troupe_error *error = &settings->mcap_error;
	if (begins)
		settings->mcap_status = mcap_out_begin(&settings->mcap_out, server, error);
	else if (settings->mcap_out.mcap)
		settings->mcap_status = mcap_out_end(&settings->mcap_out, error);
}

static void cli_replay_on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct cli_replay_settings *settings = ctx;
	(void)server, (void)step;
	mcap_out_step(&settings->mcap_out);
}

static void cli_replay_print_same(const struct cli_replay_settings *settings, const struct troupe_replay *replay)
{
	const char *how = replay->end == TROUPE_REPLAY_CUT       ? "cut off"
			  : replay->end == TROUPE_REPLAY_DAMAGED ? "damaged"
								 : NULL;
	if (how && !replay->hashes) {
		printf("%s: %s before its first state: nothing to compare\n", settings->recording, how);
		return;
	}
	if (how)
		printf("%s: %s after step %" PRIu64 ": ", settings->recording, how, replay->step);
	printf("%" PRIu64 " steps, %" PRIu64 " hashes compared: all the same%s\n", replay->step - replay->begin,
		replay->hashes, replay->failed ? " (the recorded run failed after these steps)" : "");
	if (replay->readings)
		printf("%" PRIu64 " readings of sensors, digest %016" PRIx64 "\n", replay->readings,
			replay->readings_digest);
}

static int cli_replay_print_result(const struct cli_replay_settings *settings, const struct troupe_replay *replay)
{
	if (replay->end != TROUPE_REPLAY_DIFFERS) {
		cli_replay_print_same(settings, replay);
		bool whole = replay->end == TROUPE_REPLAY_WHOLE || replay->end == TROUPE_REPLAY_LIMIT;
		return whole ? CLI_DONE : CLI_INCOMPLETE;
	}
	printf("step %" PRIu64 ": ", replay->step);
	if (replay->hashes > 1)
		printf("(the same up to step %" PRIu64 ") ", replay->same);
	printf("%s\n", replay->difference);
	return CLI_BAD_INPUT;
}

/* children: empty before the call; the caller ends those that were started. */
static troupe_status cli_replay_run_again(const struct cli_replay_settings *settings, struct troupe_server_def *def,
	struct children *children, struct troupe_replay *ret_result, struct troupe_error *error)
{
	struct troupe_network network = {.stale_ms = (uint32_t)settings->stale_ms};
	troupe_status status = TROUPE_OK;
	if (cli_replay_is_tcp(settings)) {
		network.secondaries = children_count(settings->secondaries);
		status = children_start(children, network.secondaries, 0, settings->plugin_paths.at, NULL, error);
		network.sockets = children->sockets;
		def->network = &network;
	}
	if (!status) {
		status = troupe_replay_run(def, (uint64_t)settings->until_step, ret_result, error);
		for (uint32_t i = 0; i < children->count; i++)
			children->sockets[i] = -1; /* the server owns it, or has closed it */
	}
	def->network = NULL;
	return status;
}

static struct troupe_server_def cli_replay_def_of(const struct cli_replay_settings *settings)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.resume_path = settings->recording;
	def.resource_paths = settings->resource_paths.at;
	def.plugin_paths = settings->plugin_paths.at;
	def.secondaries = (int32_t)settings->secondaries;
	return def;
}

/* The address is printed; then clients play it until a signal comes. */
static int cli_replay_show(const struct cli_replay_settings *settings)
{
	struct troupe_server_def def = cli_replay_def_of(settings);
	return gateways_show("replay", &settings->gateways, &def, NULL, settings->verbosity);
}

static int cli_replay_log(struct cli_replay_settings *settings)
{
	struct troupe_server_def def = cli_replay_def_of(settings);
	struct children children = {0};
	struct troupe_replay result;
	struct troupe_error error;
	def.chaos = settings->chaos >= 0;
	def.chaos_seed = def.chaos ? (uint64_t)settings->chaos : 0;
	def.on_warning = cli_replay_on_warning;
	def.on_hash = cli_replay_on_hash;
	def.on_server = settings->mcap ? cli_replay_on_server : NULL;
	def.on_step = settings->mcap ? cli_replay_on_step : NULL;
	def.step_every = settings->mcap ? 1 : 0;
	def.ctx = settings;
	troupe_status status = cli_replay_run_again(settings, &def, &children, &result, &error);
	children_end(&children);
	if (status) {
		cli_complain("replay", "%s", error.text);
		return cli_exit_status(status);
	}
	int exit_status = cli_replay_print_result(settings, &result);
	if (settings->mcap_status)
		cli_complain("replay", "%s", settings->mcap_error.text);
	return exit_status == CLI_DONE ? cli_exit_status(settings->mcap_status) : exit_status;
}

/* The file of --mcap is checked before the recording runs. */
static int cli_replay_and_write(struct cli_replay_settings *settings)
{
	struct outputs outputs = {0};
	struct troupe_error error;
	outputs_add(&outputs, OUTPUT_INPUT, "the recording", settings->recording);
	outputs_add(&outputs, OUTPUT_STREAM, "--mcap", settings->mcap);
	troupe_status status = outputs_check(&outputs, &error);
	if (!status)
		status = outputs_claim(&outputs, &error);
	int exit_status = cli_exit_status(status);
	if (!status) {
		const struct mcap_out_def def = {settings->mcap, &settings->topics, settings->mcap_names,
			settings->mcap_robot, cli_replay_on_warning, settings};
		status = mcap_out_init(&settings->mcap_out, &def, &error);
		exit_status = status ? CLI_BAD_USAGE : cli_replay_log(settings);
		mcap_out_fini(&settings->mcap_out);
	}
	if (status)
		cli_complain("replay", "%s", error.text);
	outputs_fini(&outputs);
	return exit_status;
}

int cli_replay(int argc, char **argv)
{
	struct cli_replay_settings settings = {.secondaries = TROUPE_SECONDARIES_AUTO, .chaos = -1, .verbosity = 1};
	struct arena arena = {0};
	int status;
	if (options_parse(&cli_replay_command, argc, argv, &settings, &arena, NULL, &status))
		status = !cli_replay_check(&settings)     ? CLI_BAD_USAGE
			 : cli_replay_is_shown(&settings) ? cli_replay_show(&settings)
							  : cli_replay_and_write(&settings);
	arena_fini(&arena);
	return status;
}
