/* The error of the run has priority over errors of its files. Files that are written during the run have warned by
 * themselves. */
#include "cli/run_internal.h"

#include "cli/cli.h"
#include "cli/results.h"
#include "cli/signals.h"

#include <troupe/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether commands came that are in no file: of standard input, barrier clients or other programs. */
static bool run_end_was_commanded(const struct run *run)
{
	return run->lockstep || gateways_commanded(run->gateways) || commands_in_given(run->commands_in);
}

/* Saves the state if the run did not reach its own end. */
static troupe_status run_end_save_on_stop(struct run *run, struct troupe_error *error)
{
	const char *given = run->settings.network.save_on_stop;
	if (!given && run->settings.mode == NETWORK_NONE)
		return TROUPE_OK;
	uint64_t step = troupe_server_progress(run->server).steps;
	if (!given && step == run->begun_at &&
		!run->took_over) /* no step was taken; its state is in the file of before */
		return TROUPE_OK;
	char *pattern = given ? mem_strdup(given) : saves_default(run->server);
	troupe_status status = saves_on_stop(&run->saves, run->server, pattern, error);
	free(pattern);
	return status;
}

troupe_status run_end_steps(struct run *run, troupe_status status, bool *ret_stopped)
{
	commands_in_end(run->commands_in);
	bool asked = signals_asked();
	*ret_stopped = asked || troupe_server_was_stopped(run->server);
	signals_name_stuck(NULL, NULL);
	signals_tell(NULL, NULL);
	status_clear(&run->status);
	if (status == TROUPE_EPEER && asked && run->settings.mode != NETWORK_RANKS)
		status = TROUPE_OK; /* all processes were asked to stop: it does not matter which left first. Ranks go
				     * on until the primary stops them, so one that is lost has not left. */
	output_flush(&run->output);
	return status;
}

/* The first error is the one with which the run ends. A further one gets a line of its own, if it has none yet. */
static void run_end_add_error(
	troupe_status *status, troupe_status next, const struct troupe_error *later, struct troupe_error *error)
{
	if (next && *status)
		cli_complain("run", "%s", later->text);
	if (!next || *status)
		return;
	*status = next;
	*error = *later;
}

/* The report or the summary, and the rest of standard output. failed: the run itself. */
static void run_end_deliver(struct run *run, bool failed, troupe_status *status, struct troupe_error *error)
{
	struct troupe_error later;
	struct results results = {.settings = &run->settings,
		.server = run->server,
		.output = &run->output,
		.begun_at = run->begun_at,
		.commanded = run_end_was_commanded(run),
		.commands_lost = run->commands_out.why.status,
		.failed = failed};
	troupe_status next = results_deliver(&results, &later);
	run_end_add_error(status, next, &later, error);
	output_flush(&run->output);
	int why = output_failed(&run->output);
	next = why ? fail(&later, TROUPE_EIO, "standard output: cannot write: %s", outfile_why(why)) : TROUPE_OK;
	run_end_add_error(status, next, &later, error);
}

troupe_status run_end_outputs(struct run *run, troupe_status status, bool stopped, struct troupe_error *error)
{
	run->ran = status;
	struct troupe_error later;
	troupe_status saved = status || stopped ? run_end_save_on_stop(run, &later) : TROUPE_OK;
	run_end_add_error(&status, saved, &later, error);
	bool failed = status; /* but not if only some of its files could not be written */
	if (!status)
		saves_warn(&run->saves, run->server);
	troupe_status next = log_end(&run->log, status ? &later : error);
	status = status ? status : next;
	next = troupe_server_end_recording(run->server, status ? &later : error);
	status = status ? status : next;
	next = commands_out_end(&run->commands_out, status ? &later : error);
	status = status ? status : next;
	next = camera_out_end(&run->camera_out, status ? &later : error);
	status = status ? status : next;
	/* its last bytes are written by this call, when the file can no longer warn by itself */
	bool told = run->mcap_out.told;
	next = mcap_out_end(&run->mcap_out, &later);
	if (!status || !told)
		run_end_add_error(&status, next, &later, error);
	run_end_deliver(run, failed, &status, error);
	if (!status)
		status = saves_result(&run->saves, error);
	if (!status)
		status = complaints_result(&run->complaints, error);
	return status;
}

/* The run that follows, if the present one has not failed and the process is to go on. The gateways have ended. */
static void run_end_settle_next(struct run *run)
{
	if (run->next && (run->ran || signals_asked())) {
		run_free_next(run->next);
		run->next = NULL;
	}
	if (!run->next)
		signals_release();
}

void run_end_company(struct run *run, troupe_status status, const struct troupe_error *error)
{
	if (status)
		cli_complain("run", "%s", error->text);
	if (status || signals_asked())
		signals_release();
	commands_in_destroy(run->commands_in);
	programs_stop(run->programs);
	gateways_end(run->gateways, status ? error : NULL);
	run_end_settle_next(run);
	lockstep_end(run->lockstep, status, error);
}

int run_end_status(const struct run *run, troupe_status status)
{
	return run->settings.mode == NETWORK_NONE ? cli_exit_status(status) : network_exit_status(status);
}

void run_end_leave(struct run *run, troupe_status status)
{
	children_end(&run->children);
	outputs_fini(&run->outputs);
	if (run->settings.mode == NETWORK_RANKS)
		network_leave(&run->settings.network, run_end_status(run, status));
	(void)fflush(stdout);
	_exit(run_end_status(run, status));
}

void run_end_stuck(void *ctx)
{
	struct run *run = ctx;
	struct troupe_error error;
	bool stopped;
	troupe_status status = run_end_steps(run, TROUPE_OK, &stopped);
	status = run_end_outputs(run, status, stopped, &error);
	run_end_company(run, status, &error);
	run_end_leave(run, status);
}
