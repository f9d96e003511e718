/* LogPlayback runs `troupe replay` or `troupe view` with those options of `troupe run` that these commands have, too.
 * Any other option is refused, because the user expects an effect of it. */
#include "cli/run_recordings.h"

#include "cli/cli.h"
#include "cli/signals.h"

#include <inttypes.h>
#include <string.h>

/* Appends "--NAME VALUE" for each value that an option was given. */
static void run_recordings_pass_on(const struct run_settings *settings, const struct option_spec *spec,
	struct arena *arena, char **argv, int *argc)
{
	const void *value = (const char *)settings + spec->offset;
	const struct option_list *list = value;
	const char *known = spec->tags & RUN_LIMIT ? "until-step" : spec->name;
	char *name = arena_printf(arena, "--%s", known);
	uint32_t count = spec->kind == OPTION_LIST ? list->count : 1;
	for (uint32_t i = 0; i < count; i++) {
		argv[(*argc)++] = name;
		if (spec->kind == OPTION_WHOLE)
			argv[(*argc)++] = arena_printf(arena, "%" PRId64, *(const int64_t *)value);
		else if (spec->kind == OPTION_LIST)
			argv[(*argc)++] = arena_strdup(arena, list->at[i]);
		else if (spec->kind != OPTION_FLAG)
			argv[(*argc)++] = arena_strdup(arena, *(const char *const *)value);
	}
}

/* Obeys LogPlayback: replays the recording, or shows it in a browser if --view was given. Returns the exit status. */
static int run_recordings_play_back(
	const struct run_settings *settings, const struct recordings *recordings, struct arena *arena)
{
	bool shown = settings->gateways.view || settings->gateways.view_address;
	char *argv[2 * (OPTION_LIST_MAX + 1) * 4 + 2 * OPTIONS_MAX];
	int argc = 0;
	for (size_t i = 0; i < run_command.spec_count; i++) {
		const struct option_spec *spec = &run_command.specs[i];
		if (!settings->sources[i] || spec->kind == OPTION_OPERAND || spec->kind == OPTION_NOTHING ||
			spec->kind == OPTION_UNFLAG || spec->tags & RUN_NOT_PLAYED)
			continue;
		if (!(spec->tags & (shown ? RUN_PLAYED : RUN_PLAYED | RUN_LIMIT)) ||
			!(run_settings_modes(spec) & 1u << NETWORK_NONE) || settings->mode == NETWORK_RANKS) {
			cli_complain("run", "%s: not with --recordings and the LogPlayback of %s, which replays %s",
				option_name(spec, arena), recordings->place, recordings->playback);
			return CLI_BAD_USAGE;
		}
		run_recordings_pass_on(settings, spec, arena, argv, &argc);
	}
	argv[argc++] = arena_strdup(arena, "--");
	argv[argc++] = arena_strdup(arena, recordings->playback);
	if (settings->verbosity >= 1)
		cli_complain("run", "%s: LogPlayback: troupe %s %s, instead of a run", recordings->place,
			shown ? "view" : "replay", recordings->playback);
	signals_disarm_watchdog();
	signals_release();
	return (shown ? cli_view : cli_replay)(argc, argv);
}

/* Obeys LogRecord. Options of the command line have priority over the world. */
static troupe_status run_recordings_record_as_told(struct run_settings *settings, struct recordings *recordings,
	struct complaints *complaints, struct arena *arena, struct troupe_error *error)
{
	if (settings->record) {
		if (settings->verbosity >= 1)
			cli_complain(
				"run", "%s: LogRecord is not obeyed, because --record is given", recordings->place);
		return TROUPE_OK;
	}
	troupe_status status = recordings_open(recordings, arena, error);
	if (status)
		return status;
	settings->record = recordings->record;
	settings->record_every = recordings->every ? (int64_t)recordings->every : settings->record_every;
	if (recordings->mcap && settings->mcap)
		complaints_warn(
			complaints, arena_printf(arena, "%s: <record_topic> is not obeyed, because --mcap is given",
					    recordings->place));
	else if (recordings->mcap) {
		settings->mcap = recordings->mcap;
		settings->mcap_names = "gz"; /* of the topics that it names */
		settings->topics = recordings->topics;
	}
	if (settings->verbosity >= 1)
		cli_complain("run", "%s: LogRecord: recorded in %s", recordings->place, recordings->folder);
	return TROUPE_OK;
}

bool run_recordings_obey(struct run_settings *settings, struct complaints *complaints, struct arena *arena,
	struct recordings *ret_recordings, int *ret_exit)
{
	struct troupe_error error;
	if (!recordings_read(settings->world, settings->world_text, settings->resource_paths.at, complaints_warn,
		    complaints, arena, ret_recordings, ret_exit))
		return false;
	if (ret_recordings->playback) {
		*ret_exit = run_recordings_play_back(settings, ret_recordings, arena);
		return false;
	}
	if (!ret_recordings->folder ||
		!run_recordings_record_as_told(settings, ret_recordings, complaints, arena, &error))
		return true;
	cli_complain("run", "%s", error.text);
	*ret_exit = cli_exit_status(error.status);
	return false;
}
