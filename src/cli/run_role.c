/* `troupe run` as a command: what this process is in the run, as the options say, and what is said when it is stopped
 * before a world is loaded. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/standby.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOADING_GRACE_MS = 500 };

/* Without malloc() and stdio: the interrupted thread may be inside these. */
static void run_role_say_at_once(const char *text)
{
	const struct outfile_options hurried = {.urgency = signals_urgency};
	char line[TROUPE_ERROR_TEXT_BYTES + 80];
	int count = snprintf(line, sizeof line, "troupe run: %s\n", text);
	(void)outfile_put(STDERR_FILENO, line, MIN((size_t)MAX(count, 0), sizeof line - 1), &hurried);
}

/* Called in a signal handler in the middle of loading: there is no world yet that could be saved or reported on. */
static void run_role_leave_loading(void *ctx)
{
	static const char report[] =
		"{\n  \"iterations\": 0,\n  \"sim_time\": 0,\n  \"stopped\": \"while loading\"\n}\n";
	const struct run_settings *settings = ctx;
	const struct outfile_options hurried = {.urgency = signals_urgency};
	struct troupe_error error;
	troupe_status status = TROUPE_OK;
	if (settings->report && !strcmp(settings->report, "-"))
		(void)outfile_put(STDOUT_FILENO, report, sizeof report - 1, &hurried);
	else if (settings->report)
		status = outfile_replace(settings->report, report, sizeof report - 1, &hurried, &error);
	if (settings->verbosity >= 1)
		run_role_say_at_once(
			settings->network.save_on_stop
				? "0 steps, 0 s simulated: stopped while the world was loaded, so no state is saved"
				: "0 steps, 0 s simulated: stopped while the world was loaded");
	if (status)
		run_role_say_at_once(error.text);
	_exit(cli_exit_status(status));
}

/* All processes have the same command line; that of a secondary is the primary's concern. */
static int run_role_rank(struct run_settings *settings, struct arena *arena)
{
	struct network_settings *network = &settings->network;
	int exit_status;
	if (network_join(network, settings->secondaries, &exit_status))
		exit_status = troupe_job_number(network->job) ? network_be_secondary(network, settings->plugin_paths.at,
									settings->break_rule, settings->verbosity, NULL)
							      : run_worlds(settings, arena, NULL);
	network_leave(network, exit_status);
	return exit_status;
}

static int run_role_standby(struct run_settings *settings, struct arena *arena)
{
	struct troupe_standby *standby = NULL;
	const char *given = settings->resume                                           ? "--resume"
			    : settings->commands && !run_settings_from_input(settings) ? "--commands"
										       : NULL;
	if (given) {
		cli_complain("run",
			"%s: not with --network-role standby: the state, and the commands that wait in it, come from "
			"the primary; see troupe run --help",
			given);
		return CLI_BAD_USAGE;
	}
	if (settings->world)
		cli_complain("run", "%s: ignored, because a standby gets its world from the primary", settings->world);
	settings->world = NULL;
	int exit_status = standby_follow(settings, &standby);
	if (!standby)
		return exit_status;
	signals_arm_watchdog(LOADING_GRACE_MS, run_role_leave_loading, settings);
	return run_worlds(settings, arena, standby);
}

static int run_role_play(struct run_settings *settings, struct arena *arena)
{
	if (!run_settings_choose(settings, arena))
		return CLI_BAD_USAGE;
	bool world = settings->world || settings->resume;
	if (settings->mode == NETWORK_STANDBY)
		return run_role_standby(settings, arena);
	bool secondary = settings->mode == NETWORK_SECONDARY || settings->mode == NETWORK_CLIENT;
	if (!secondary && !world) {
		cli_complain("run", "no WORLD.sdf given; see troupe run --help");
		return CLI_BAD_USAGE;
	}
	if (settings->mode == NETWORK_RANKS)
		return run_role_rank(settings, arena);
	if (!secondary)
		return run_worlds(settings, arena, NULL);
	if (world)
		cli_complain("run", "%s: ignored, because the primary sends a secondary its world", settings->world);
	if (settings->mode == NETWORK_CLIENT)
		return client_run(&settings->network, &settings->gateways, settings->plugin_paths.at,
			settings->break_rule, settings->verbosity);
	int standby = settings->network.standby ? standby_start_beside(&settings->network, settings->verbosity) : 0;
	if (settings->network.standby && !standby)
		return CLI_BROKEN;
	int exit_status = network_be_secondary(
		&settings->network, settings->plugin_paths.at, settings->break_rule, settings->verbosity, NULL);
	return standby ? standby_end_beside(standby, exit_status) : exit_status;
}

int cli_run(int argc, char **argv)
{
	struct run_settings settings = {0};
	struct arena arena = {0};
	int exit_status;
	signals_catch();
	signals_arm_watchdog(LOADING_GRACE_MS, run_role_leave_loading, &settings);
	if (run_settings_parse(argc, argv, &arena, &settings, &exit_status))
		exit_status = run_role_play(&settings, &arena);
	signals_disarm_watchdog();
	arena_fini(&arena);
	return exit_status;
}
