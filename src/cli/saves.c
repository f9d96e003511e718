/* A full disk may stay full. So an option whose states cannot be saved warns only once, until one can be saved again.
 */
#include "cli/saves.h"

#include "base/parse.h"
#include "cli/cli.h"
#include "cli/signals.h"

#include <troupe/record.h>
#include <troupe/server.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static troupe_status saves_read_saving(
	const char *option, const char *text, struct saving *ret_saving, struct troupe_error *error)
{
	const char *blank = strchr(text, ' ');
	char number[24] = "";
	if (blank && (size_t)(blank - text) < sizeof number)
		memcpy(number, text, (size_t)(blank - text));
	if (!*number || number[strspn(number, "0123456789")] || !parse_uint64(number, &ret_saving->step) || !blank[1] ||
		(ret_saving->every && !ret_saving->step))
		return fail(error, TROUPE_ECOMMAND, "--%s: '%.80s': expected %s and the name of a file", option, text,
			ret_saving->every ? "a whole number of 1 or more" : "a step, a whole number of 0 or more,");
	ret_saving->file = blank + 1;
	return TROUPE_OK;
}

troupe_status saves_read(struct saves *saves, const struct run_settings *settings, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < settings->save_at.count + settings->save_every.count && !status; i++) {
		bool every = i >= settings->save_at.count;
		struct saving saving = {.every = every};
		status = saves_read_saving(every ? "save-every" : "save-at",
			every ? settings->save_every.at[i - settings->save_at.count] : settings->save_at.at[i], &saving,
			error);
		vec_push(&saves->all, saving);
	}
	return status;
}

/* stopped: the run was told to stop; then a message names the saved state. */
static troupe_status saves_save(const struct saves *saves, const struct saving *saving, struct troupe_server *server,
	bool stopped, struct troupe_error *error)
{
	uint64_t step = troupe_server_progress(server).steps;
	char *path = saving->every ? outputs_name(saving->file, step) : mem_strdup(saving->file);
	troupe_status status = troupe_server_save(server, path, error);
	if (!status && stopped && saves->complaints->verbosity >= 1)
		cli_complain("run", "%s: saved the state of step %" PRIu64 "; --resume continues from it", path, step);
	free(path);
	return status;
}

static void saves_count_unsaved(struct saves *saves, struct saving *saving, const struct troupe_error *error)
{
	struct troupe_error text;
	if (signals_asked() && strstr(error->text, outfile_why(ECANCELED))) {
		if (saves->complaints->verbosity >= 1)
			cli_complain("run", "%s", error->text);
		return;
	}
	if (!saves->unsaved++)
		saves->why = *error;
	(void)fail(&text, error->status, "%s; the run goes on", error->text);
	if (!saving->failing)
		complaints_warn(saves->complaints, text.text);
}

static bool saves_is_due(const struct saving *saving, uint64_t step)
{
	return saving->every ? step && step % saving->step == 0 : step == saving->step;
}

void saves_due(struct saves *saves, struct troupe_server *server, uint64_t step)
{
	struct troupe_error error;
	for (uint32_t i = 0; i < saves->all.count; i++) {
		struct saving *saving = &saves->all.at[i];
		if (!saves_is_due(saving, step))
			continue;
		saving->reached = true;
		troupe_status status = saves_save(saves, saving, server, false, &error);
		if (status)
			saves_count_unsaved(saves, saving, &error);
		saving->failing = status;
	}
}

void saves_warn(const struct saves *saves, const struct troupe_server *server)
{
	struct troupe_error text;
	for (uint32_t i = 0; i < saves->all.count; i++) {
		const struct saving *saving = &saves->all.at[i];
		if (saving->every || saving->reached)
			continue;
		(void)fail(&text, TROUPE_ECOMMAND,
			"%s: not saved, because the run did not take step %" PRIu64
			" of --save-at: it ended at step %" PRIu64,
			saving->file, saving->step, troupe_server_progress(server).steps);
		complaints_warn(saves->complaints, text.text);
	}
}

uint64_t saves_next(const struct saves *saves, uint64_t step)
{
	uint64_t next = UINT64_MAX;
	for (uint32_t i = 0; i < saves->all.count; i++) {
		const struct saving *saving = &saves->all.at[i];
		uint64_t at = saving->every ? (step / saving->step + 1) * saving->step : saving->step;
		if (at > step)
			next = MIN(next, at);
	}
	return next;
}

void saves_add_outputs(const struct saves *saves, struct outputs *outputs)
{
	for (uint32_t i = 0; i < saves->all.count; i++)
		outputs_add(outputs, saves->all.at[i].every ? OUTPUT_STATES : OUTPUT_STATE,
			saves->all.at[i].every ? "--save-every" : "--save-at", saves->all.at[i].file);
}

char *saves_default(const struct troupe_server *server)
{
	char *pattern = mem_printf("troupe-%s-%%s.state", troupe_server_world_name(server, 0));
	for (char *at = pattern; *at; at++)
		if (*at == '/')
			*at = '_';
	return pattern;
}

troupe_status saves_on_stop(
	struct saves *saves, struct troupe_server *server, const char *pattern, struct troupe_error *error)
{
	return saves_save(saves, &(struct saving){.every = true, .file = pattern}, server, true, error);
}

troupe_status saves_result(const struct saves *saves, struct troupe_error *error)
{
	if (!saves->unsaved)
		return TROUPE_OK;
	return fail(error, saves->why.status, "%u %s could not be saved, the first: %s", saves->unsaved,
		saves->unsaved == 1 ? "state" : "states", saves->why.text);
}

void saves_fini(struct saves *saves)
{
	vec_free(&saves->all);
}
