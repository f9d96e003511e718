/* The command line in the summary has everything on which the state depends, and nothing else: so it shows that the
 * number of secondaries does not matter. */
#include "cli/results.h"

#include "base/outfile.h"
#include "base/shown.h"
#include "base/text.h"
#include "cli/report.h"
#include "cli/signals.h"

#include <troupe/report.h>
#include <troupe/server.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Appends an option and its word, quoted for a shell. */
static void results_add_word(struct text *line, const char *option, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
	text_add(line, "%s%s", option ? " " : "", option ? option : "");
	if (*word && word[strspn(word, plain)] == '\0') {
		text_add(line, " %s", word);
		return;
	}
	text_add(line, " '");
	struct text quoted = {0};
	for (; *word; word++)
		text_add_bytes(&quoted, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	shown_add(line, quoted.at ? quoted.at : "");
	text_fini(&quoted);
	text_add(line, "'");
}

static void results_add_count(struct text *line, const char *option, int64_t count)
{
	if (count)
		text_add(line, " %s %" PRId64, option, count);
}

/* Appends a command line with everything that the state depends on. */
static void results_add_again(const struct results *results, struct text *line)
{
	const struct run_settings *settings = results->settings;
	text_add(line, "%s run", program_invocation_name);
	results_add_word(
		line, settings->resume ? "--resume" : NULL, settings->resume ? settings->resume : settings->world);
	if (settings->commands_out)
		results_add_word(line, "--commands", settings->commands_out);
	else if (settings->commands)
		results_add_word(line, "--commands", settings->commands);
	if (settings->save_dir &&
		(settings->commands_out || settings->commands)) /* a command may resume a state there */
		results_add_word(line, "--save-dir", settings->save_dir);
	for (uint32_t i = 0; i < settings->resource_paths.count; i++)
		results_add_word(line, "--resource-path", settings->resource_paths.at[i]);
	for (uint32_t i = 0; i < settings->plugin_paths.count; i++)
		results_add_word(line, "--plugin-path", settings->plugin_paths.at[i]);
	results_add_count(line, "--seed", settings->seed);
	if (settings->initial_time_s > 0) {
		text_add(line, " --initial-sim-time ");
		text_add_double(line, settings->initial_time_s);
	}
	text_add(line, "%s%s%s", settings->no_levels ? " --no-levels" : "", settings->no_sleep ? " --no-sleep" : "",
		settings->paused ? " --paused" : "");
	if (settings->solver)
		results_add_word(line, "--solver", settings->solver);
	results_add_count(line, "--iterations", (int64_t)troupe_server_progress(results->server).steps);
	if (settings->until_s > 0 && troupe_server_world_count(results->server) > 1) {
		text_add(line, " --until "); /* worlds of longer steps reach it in fewer */
		text_add_double(line, settings->until_s);
	}
	text_add(line, " --rtf 0");
}

/* Whether a command line repeats the run. Not if it would read a pipe, if a rule of determinism was broken, or if
 * commands came that no file has. */
static bool results_can_repeat(const struct results *results)
{
	const struct run_settings *settings = results->settings;
	const char *world = settings->resume ? settings->resume : settings->world; /* NULL: a standby has its state */
	const char *const files[] = {world, settings->commands_out ? settings->commands_out : settings->commands};
	struct stat info;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (files[i] && !stat(files[i], &info) && !S_ISREG(info.st_mode))
			return false;
	if (settings->commands_out ? results->commands_lost : results->commanded || run_settings_from_input(settings))
		return false;
	return world && !settings->world_text && !settings->break_rule &&
	       troupe_server_progress(results->server).steps > results->begun_at;
}

static void results_summarize(const struct results *results, const struct troupe_report *report)
{
	struct text base = {0}, again = {0}, tcp = {0}, trace = {0}, out = {0};
	struct report_next next = {0};
	const struct run_settings *settings = results->settings;
	if (results_can_repeat(results)) {
		results_add_again(results, &base);
		text_add(&again, "%s --secondaries 0 -v 0 --hash-every %" PRIu64, base.at,
			troupe_server_progress(results->server).steps);
		text_add(&tcp, "%s --transport tcp --secondaries 3 --chaos 7", base.at);
		text_add(&trace, "%s --secondaries 3 --trace", base.at);
		bool shared = report->world_count == 1 && report->worlds[0].scene->mobile_count > 1;
		next.again = again.at;
		next.tries[0] = shared && settings->mode == NETWORK_NONE ? tcp.at : NULL;
		next.tries[1] = shared && !settings->trace ? trace.at : NULL;
	}
	report_summarize(report, &next, &out);
	fputs(out.at, stderr);
	text_fini(&base);
	text_fini(&again);
	text_fini(&tcp);
	text_fini(&trace);
	text_fini(&out);
}

static troupe_status results_write_report(
	const struct results *results, const struct troupe_report *report, struct troupe_error *error)
{
	const char *path = results->settings->report;
	char *json = troupe_report_json(report);
	troupe_status status = TROUPE_OK;
	if (!strcmp(path, "-"))
		output_text(results->output, json);
	else
		status = outfile_replace(
			path, json, strlen(json), &(struct outfile_options){.urgency = signals_urgency}, error);
	free(json);
	return status;
}

troupe_status results_deliver(const struct results *results, struct troupe_error *error)
{
	struct troupe_report *report = troupe_server_report(results->server);
	troupe_status status = TROUPE_OK;
	if (results->settings->report)
		status = results_write_report(results, report, error);
	else if (results->settings->verbosity >= 1 && !results->failed && !output_failed(results->output))
		results_summarize(results, report);
	troupe_report_free(report);
	return status;
}
