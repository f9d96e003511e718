/* `troupe view`: shows a recording, or a run of another process, in a browser until it is interrupted or the run is
 * over. The library does it (troupe/gateway.h); which step of a recording is shown, and how fast, is said in the page.
 */
#include "cli/cli.h"
#include "cli/gateways.h"
#include "cli/options.h"
#include "cli/signals.h"

#include <troupe/gateway.h>
#include <troupe/server.h>

#include <stddef.h>
#include <stdio.h>

struct view_settings {
	const char *recording;
	struct troupe_view_run run;
	struct gateways_settings gateways;
	struct option_list resource_paths, plugin_paths;
	int64_t secondaries, verbosity;
};

#define CLI_VIEW_AT(member) offsetof(struct view_settings, member)
static const struct option_spec view_specs[] = {
	{OPTION_OPERAND, .name = "recording", .argument = "RECORDING", .unless = "connect",
		.offset = CLI_VIEW_AT(recording)},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_TEXT, .name = "connect", .argument = "HOST[:PORT]", .offset = CLI_VIEW_AT(run.address),
		.help = "show the run that was started with --watch-listen there (port 47083), without disturbing it: "
			"any number of browsers cost the run as much as one"},
	{OPTION_TEXT, .name = "watch-key-file", .needs = "connect", .excludes = "watch-insecure", .argument = "FILE",
		.offset = CLI_VIEW_AT(run.key_file),
		.help = "the key of the run (default: the key of troupe keygen, if there is one)"},
	{OPTION_FLAG, .name = "watch-insecure", .needs = "connect", .excludes = "watch-key-file",
		.offset = CLI_VIEW_AT(run.insecure), .help = "use no key"},
	{OPTION_TEXT, .name = "view-address", .argument = "[ADDRESS:]PORT",
		.offset = CLI_VIEW_AT(gateways.view_address),
		.help = "as for troupe run (default: port 8686 or any free one, for this machine only)"},
	{OPTION_FLAG, .name = "token", .offset = CLI_VIEW_AT(gateways.token), .help = "as for troupe run"},
	{OPTION_TEXT, .name = "view-cert", .needs = "view-key", .argument = "FILE",
		.offset = CLI_VIEW_AT(gateways.view_cert), .help = "as for troupe run"},
	{OPTION_TEXT, .name = "view-key", .needs = "view-cert", .argument = "FILE",
		.offset = CLI_VIEW_AT(gateways.view_key), .help = "as for troupe run"},
	{OPTION_LIST, .name = "view-panel", .argument = "DIR", .offset = CLI_VIEW_AT(gateways.view_panels),
		.help = "as for troupe run; may be repeated"},
	{OPTION_LIST, .name = "mark", .excludes = "connect", .argument = "STEP[:TEXT]",
		.offset = CLI_VIEW_AT(gateways.view_marks),
		.help = "mark this step on the time line, as troupe bisect finds it; may be repeated"},
	{OPTION_WHOLE, .name = "secondaries", .argument = "N", .offset = CLI_VIEW_AT(secondaries),
		.hi = TROUPE_SECONDARIES_MAX, .help = "as for troupe run: steps between recorded states are simulated"},
	OPTIONS_PATHS(CLI_VIEW_AT(resource_paths), CLI_VIEW_AT(plugin_paths), ""),
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", CLI_VIEW_AT(verbosity), .hi = 4, .bare = "3",
		.help = "0: errors only; 1 or 2: also the address and warnings (default: 1); 3 or 4: also refused "
			"requests. Without LEVEL: 3"},
	OPTIONS_HELP,
};
#undef CLI_VIEW_AT

static const struct options_command view_command = {
	.name = "view",
	.usage = "troupe view [OPTIONS] RECORDING | --connect HOST[:PORT]",
	.about = "Shows a recording of troupe run --record in a browser: prints the address of a page that has a "
		 "time line. Any step can be shown; it is simulated from the nearest recorded state, and each "
		 "recorded hash on the way is compared. Or shows a run of another process, in which the page can "
		 "change nothing. Ends when it is interrupted, or when the run is over.",
	.after = "Exit status\n"
		 "  0  it was interrupted, or the run has ended\n"
		 "  1  the recording cannot be read, or the address cannot be had\n"
		 "  2  wrong usage\n"
		 "  3  the run cannot be joined, or was lost\n"
		 "  4  internal error, or out of memory\n",
	.specs = view_specs,
	.spec_count = ARRAY_LEN(view_specs),
};

static int view_run(const struct view_settings *settings)
{
	struct troupe_server_def def = troupe_server_def_default();
	const struct troupe_view_run *run = settings->run.address ? &settings->run : NULL;
	def.resume_path = settings->recording;
	def.resource_paths = settings->resource_paths.at;
	def.plugin_paths = settings->plugin_paths.at;
	def.secondaries = (int32_t)settings->secondaries;
	return gateways_show("view", &settings->gateways, run ? NULL : &def, run, settings->verbosity);
}

int cli_view(int argc, char **argv)
{
	struct view_settings settings = {.secondaries = TROUPE_SECONDARIES_AUTO, .verbosity = 1};
	struct arena arena = {0};
	int status;
	if (options_parse(&view_command, argc, argv, &settings, &arena, NULL, &status))
		status = view_run(&settings);
	arena_fini(&arena);
	return status;
}
