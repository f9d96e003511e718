/* `troupe run`: runs a world. This file has the callbacks of the server and the order of the work: prepare, run, end.
 *
 * All inputs and outputs are checked before the first step, so that a long run does not fail at its end. A state, log
 * or recording that cannot be written does not end the run: the other outputs are still written, and the exit status
 * tells of the failure. */
#include "base/shown.h"
#include "cli/camera_out.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/commands_in.h"
#include "cli/commands_out.h"
#include "cli/complaints.h"
#include "cli/mcap_out.h"
#include "cli/next_run.h"
#include "cli/outputs.h"
#include "cli/programs.h"
#include "cli/results.h"
#include "cli/run_recordings.h"
#include "cli/run_settings.h"
#include "cli/saves.h"
#include "cli/signals.h"
#include "cli/status.h"
#include "cli/standby.h"
#include "cli/stuck.h"
#include "cli/trace.h"
#include "gateway/log/log.h"

#include "base/clock.h"

#include <troupe/record.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOADING_GRACE_MS = 500 };
#define PAUSE_TOLD_NS UINT64_C(1000000000) /* a pause of this time is told */

struct run {
	struct run_settings settings;
	struct arena arena;
	struct command_lines commands;
	struct commands_in *commands_in;
	struct commands_out commands_out;
	struct troupe_server *server;
	struct output output;
	struct status_line status;
	struct log log;
	uint64_t log_every;
	struct camera_out camera_out;
	struct mcap_out mcap_out;
	struct complaints complaints;
	struct saves saves;
	struct outputs outputs;
	struct children children;
	struct gateways *gateways;
	struct lockstep_listener *lockstep;
	struct programs *programs; /* NULL: none are started */
	struct recordings recordings;
	struct stuck stuck;
	struct troupe_standby *standby; /* took over: the server resumes its state; NULL: not so */
	uint64_t begun_at;              /* step */
	uint64_t paused_at_ns;          /* when run_on_watch() first saw the present pause; 0: there is none */
	bool pause_told;
	struct arena *lasting; /* of the first run of the process; used while no gateway runs */
	bool no_world;
	troupe_status ran; /* of the steps */
	const char *bound; /* why no other run can follow; NULL: one can */
	/* Follows this one. Written by a thread of a gateway, read when the gateways have ended. */
	struct run *next;
};

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

static void run_on_event(void *ctx, const struct troupe_event *event)
{
	struct run *run = ctx;
	trace_event(&run->output, event, troupe_server_world_count(run->server) > 1);
}

static void run_on_member(void *ctx, const struct troupe_report_member *change)
{
	struct run *run = ctx;
	trace_member(&run->output, change);
}

static void run_on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct run *run = ctx;
	trace_hash(&run->output, step, hash);
}

static void run_on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct run *run = ctx;
	if (run->log_every && step % run->log_every == 0)
		log_step(&run->log, server, step);
	camera_out_step(&run->camera_out, server);
	mcap_out_step(&run->mcap_out);
}

static void run_on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct run *run = ctx;
	if (run->settings.trace)
		trace_reply(&run->output, reply);
	complaints_reply(&run->complaints, reply);
}

static void run_on_taken(void *ctx, const struct troupe_taken *taken)
{
	struct run *run = ctx;
	commands_out_take(&run->commands_out, taken);
}

static void run_on_bad_line(void *ctx, const char *text)
{
	struct run *run = ctx;
	complaints_bad_line(&run->complaints, text);
}

static void run_on_warning(void *ctx, const char *text)
{
	struct run *run = ctx;
	complaints_warn(&run->complaints, text);
}

static void run_on_note(void *ctx, const char *text)
{
	struct run *run = ctx;
	if (run->settings.verbosity < 1)
		return;
	status_clear(&run->status);
	cli_complain("run", "%s", text);
}

/* Simulated time stands still in a pause, so a run with --until alone goes on for as long as the pause. */
static void run_tell_pause(struct run *run, const struct troupe_progress *progress)
{
	uint64_t now_ns = clock_now_ns();
	if (!progress->paused)
		run->paused_at_ns = run->pause_told = 0;
	else if (!run->paused_at_ns)
		run->paused_at_ns = now_ns;
	if (run->settings.until_s <= 0 || run->settings.iterations || run->settings.verbosity < 1 ||
		!run->paused_at_ns || run->pause_told || now_ns - run->paused_at_ns < PAUSE_TOLD_NS)
		return;
	run->pause_told = true;
	status_clear(&run->status);
	cli_complain("run",
		"paused at %.6g s: the run ends at %.6g s (--until), which it does not reach in a pause: to go on, "
		"pause: false on /world/%s/control",
		progress->time_s, run->settings.until_s, troupe_server_world_name(run->server, 0));
}

static void run_on_watch(void *ctx)
{
	struct run *run = ctx;
	struct troupe_progress progress = troupe_server_progress(run->server);
	output_flush(&run->output); /* a reader gets lines without waiting for a full buffer */
	if (output_failed(&run->output))
		troupe_server_stop(run->server);
	run_tell_pause(run, &progress);
	status_draw(&run->status, run->server);
}

/* --- being stopped ------------------------------------------------------------------------------------------------ */

/* Called in a signal handler. */
static void run_stop_server(void *ctx)
{
	struct run *run = ctx;
	troupe_server_stop(run->server);
	stuck_ask(&run->stuck);
}

static uint64_t run_steps_of(void *ctx)
{
	return troupe_server_progress(ctx).steps;
}

/* Without malloc() and stdio: the interrupted thread may be inside these. */
static void run_say_at_once(const char *text)
{
	const struct outfile_options hurried = {.urgency = signals_urgency};
	char line[TROUPE_ERROR_TEXT_BYTES + 80];
	int count = snprintf(line, sizeof line, "troupe run: %s\n", text);
	(void)outfile_put(STDERR_FILENO, line, MIN((size_t)MAX(count, 0), sizeof line - 1), &hurried);
}

/* Called in a signal handler in the middle of loading: there is no world yet that could be saved or reported on. */
static void run_leave_loading(void *ctx)
{
	static const char report[] =
		"{\n  \"iterations\": 0,\n  \"sim_time\": 0,\n  \"stopped\": \"while loading\"\n}\n";
	const struct run *run = ctx;
	const struct run_settings *settings = &run->settings;
	const struct outfile_options hurried = {.urgency = signals_urgency};
	struct troupe_error error;
	troupe_status status = TROUPE_OK;
	if (settings->report && !strcmp(settings->report, "-"))
		(void)outfile_put(STDOUT_FILENO, report, sizeof report - 1, &hurried);
	else if (settings->report)
		status = outfile_replace(settings->report, report, sizeof report - 1, &hurried, &error);
	if (settings->verbosity >= 1)
		run_say_at_once(
			settings->network.save_on_stop
				? "0 steps, 0 s simulated: stopped while the world was loaded, so no state is saved"
				: "0 steps, 0 s simulated: stopped while the world was loaded");
	if (status)
		run_say_at_once(error.text);
	_exit(cli_exit_status(status));
}

/* Runs from one saving to the next, and then to the end. */
static troupe_status run_and_save(struct run *run, struct troupe_error *error)
{
	uint64_t iterations = (uint64_t)run->settings.iterations;
	uint64_t step = troupe_server_progress(run->server).steps, resumed = step;
	for (;;) {
		if (step != resumed || !run->settings.resume)
			saves_due(&run->saves, run->server, step);
		uint64_t next = saves_next(&run->saves, step);
		bool last = next == UINT64_MAX || (iterations && next > iterations);
		struct troupe_limits limits = {last ? iterations : next, run->settings.until_s};
		troupe_status status = troupe_server_run(run->server, &limits, error);
		uint64_t reached = troupe_server_progress(run->server).steps;
		if (status || last || reached < next || troupe_server_was_stopped(run->server)) /* or a time limit */
			return status;
		step = reached;
	}
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static troupe_status run_on_next(
	void *ctx, const struct troupe_next *asked, char **ret_world, struct troupe_error *error);

/* Whether no command can come from outside while the world runs. */
static bool run_is_scripted(const struct run_settings *settings)
{
	const struct gateways_settings *ways = &settings->gateways;
	bool open = !ways->no_gz || ways->view || ways->view_address || ways->watch.listen || ways->clients ||
		    ways->foxglove || ways->rosbridge || ways->ros2 || ways->serve.count;
	bool live = settings->commands && !strcmp(settings->commands, "-");
	return !open && !live && !settings->lockstep.socket && !settings->lockstep.listen && !settings->programs;
}

static struct troupe_server_def run_definition(struct run *run)
{
	const struct run_settings *settings = &run->settings;
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = settings->world;
	def.world_text = settings->world_text;
	def.no_world = run->no_world;
	def.resume_path = settings->resume;
	def.resource_paths = settings->resource_paths.at;
	def.plugin_paths = settings->plugin_paths.at;
	def.secondaries = (int32_t)settings->secondaries;
	def.ignore_levels = settings->no_levels;
	def.load_all = settings->load_all || settings->strict;
	def.distribution = settings->distribution;
	def.pins = settings->pins.at;
	def.sleepless = settings->no_sleep;
	def.by_ode = settings->solver && !strcmp(settings->solver, "ode");
	def.sense_all = settings->sense_all;
	def.pace = settings->rtf >= 0 ? TROUPE_PACE_FACTOR : TROUPE_PACE_WORLD;
	if (settings->rate_hz > 0)
		def.pace = TROUPE_PACE_RATE;
	def.rtf = MAX(settings->rtf, 0.0);
	def.rate_hz = settings->rate_hz;
	def.paused = settings->paused;
	def.seed = (uint64_t)settings->seed;
	def.initial_time_s = settings->initial_time_s;
	def.barrier_deadline_s = settings->lockstep.deadline_s;
	def.window = (uint32_t)settings->window;
	def.scripted = run_is_scripted(settings);
	def.chaos = settings->chaos >= 0;
	def.chaos_seed = def.chaos ? (uint64_t)settings->chaos : 0;
	def.chaos_moves = (uint32_t)settings->chaos_moves;
	def.hash_every = (uint64_t)settings->hash_every;
	def.record_path = settings->record;
	def.save_folder = settings->save_dir;
	def.logs_obeyed = settings->recordings;
	def.record_every = (uint64_t)settings->record_every;
	def.costs_path = settings->costs;
	def.costs_every = (uint64_t)settings->costs_every;
	def.observe = log_observes(&run->log);
	run->log_every = log_step_every(&run->log);
	def.step_every = settings->camera_out || settings->mcap ? 1 : run->log_every;
	def.anew = settings->anew;
	def.lanes = settings->lanes ? (uint32_t)atoi(settings->lanes) : 0;
	def.break_rule = settings->break_rule;
	def.on_event = settings->trace ? run_on_event : NULL;
	def.on_member = settings->trace ? run_on_member : NULL;
	def.on_hash = settings->hash_every ? run_on_hash : NULL;
	def.on_step = settings->log || settings->camera_out || settings->mcap ? run_on_step : NULL;
	def.on_reply = run_on_reply;
	def.on_taken = settings->commands_out ? run_on_taken : NULL;
	def.on_watch = run_on_watch;
	def.on_warning = run_on_warning;
	def.on_note = run_on_note;
	def.on_next = run_on_next;
	def.ctx = run;
	return def;
}

static void run_free_next(struct run *run)
{
	troupe_server_destroy(run->server);
	arena_fini(&run->arena);
	free(run);
}

/* A run with the same options that begins paused: stopped, as simulation_interfaces has it. */
static struct run *run_make_next(struct run *run, const struct troupe_next *asked)
{
	struct run *next = mem_alloc(sizeof *next);
	const char *path = asked->path ? asked->path : run->settings.world;
	const char *text = asked->path ? asked->text : run->settings.world_text;
	next->settings = run->settings;
	next->complaints.verbosity = run->complaints.verbosity;
	next->saves.complaints = &next->complaints;
	next->lasting = run->lasting;
	next->settings.world = arena_strdup(&next->arena, path);
	next->settings.world_text = text ? arena_strdup(&next->arena, text) : NULL;
	next->settings.paused = true;
	next->no_world = asked->unload || (!asked->path && run->no_world);
	if (asked->seed_given)
		next->settings.seed = (int64_t)asked->seed;
	return next;
}

/* The server of the next run is made here, while this run goes on: nothing but the gateways is left to start. */
static troupe_status run_on_next(
	void *ctx, const struct troupe_next *asked, char **ret_world, struct troupe_error *error)
{
	struct run *run = ctx;
	if (run->bound)
		return fail(error, TROUPE_ECOMMAND, "%s", run->bound);
	if (asked->asks)
		return TROUPE_OK;
	struct run *next = run_make_next(run, asked);
	struct troupe_server_def def = run_definition(next);
	troupe_status status = troupe_server_create(&def, &next->server, error);
	if (!status)
		programs_warn(next->server, run_on_warning, next);
	complaints_say_hidden(&next->complaints);
	if (!status)
		status = next_run_check(&next->settings, &next->complaints, next->server, asked, error);
	if (status) {
		run_free_next(next);
		return status == TROUPE_EINVAL ? TROUPE_EWORLD : status;
	}
	*ret_world = mem_strdup(troupe_server_world_name(next->server, 0));
	run->next = next;
	return TROUPE_OK;
}

static struct troupe_network run_network_of(const struct run *run)
{
	const struct network_settings *settings = &run->settings.network;
	bool ranks = run->settings.mode == NETWORK_RANKS;
	return (struct troupe_network){.transport = ranks ? settings->transport : NULL,
		.job = settings->job,
		.secondaries = (uint32_t)settings->secondaries,
		.clients = settings->clients.at,
		.clients_max = (uint32_t)settings->clients_max,
		.client_lost = network_client_lost(settings),
		.client_rights = network_client_rights(settings),
		.on_loss = network_on_loss(settings),
		.secondaries_max = (uint32_t)settings->most,
		.spares = (uint32_t)settings->spares,
		.iterations = (uint64_t)run->settings.iterations,
		.until_s = run->settings.until_s,
		.listen = settings->listen,
		.partition = settings->partition,
		.interface = settings->interface,
		.stale_ms = (uint32_t)settings->stale_ms,
		.wait_s = settings->wait_s,
		.key_file = settings->key_file,
		.insecure = settings->insecure,
		.sockets = run->settings.mode == NETWORK_CHILDREN ? run->children.sockets : NULL};
}

static troupe_status run_create_server(struct run *run, struct troupe_error *error)
{
	struct troupe_server_def def = run_definition(run);
	troupe_status status = TROUPE_OK;
	if (run->settings.mode == NETWORK_CHILDREN)
		status = children_start(&run->children, (uint32_t)run->settings.network.secondaries,
			(uint32_t)run->settings.network.threads, run->settings.plugin_paths.at,
			run->settings.break_rule, error);
	if (status)
		return status;
	struct troupe_network network = run_network_of(run);
	if (run->standby) {
		def.resume_path = "the state of the primary";
		def.resume_bytes = troupe_standby_state(run->standby, &def.resume_count);
		network.takeover = troupe_standby_takeover(run->standby);
	}
	def.network = run->settings.mode == NETWORK_NONE ? NULL : &network;
	signals_name_stuck_in_loading(true);
	status = troupe_server_create(&def, &run->server, error);
	signals_name_stuck_in_loading(false);
	troupe_standby_destroy(run->standby);
	run->standby = NULL;
	for (uint32_t i = 0; i < run->children.count; i++)
		run->children.sockets[i] = -1; /* the server owns it, or has closed it */
	return status;
}

/* A file of commands may be in the folders of worlds. */
static troupe_status run_read_commands(struct run *run, struct troupe_error *error)
{
	const struct run_settings *settings = &run->settings;
	struct sdf_options options = {.resource_paths = settings->resource_paths.at, .use_environment = true};
	char *found = sdf_find_file(settings->commands, ".commands", &options);
	const char *path = found ? arena_strdup(&run->arena, found) : settings->commands;
	bool sought = !found && access(settings->commands, F_OK);
	struct troupe_error why;
	troupe_status status = commands_read(path, &run->commands, &why);
	if (status)
		(void)fail(error, status, "%s%s%s", sought ? "--commands: " : "", why.text,
			sought ? "; and no file of commands of this name is in a resource path or comes with troupe"
			       : "");
	free(found);
	return status;
}

/* Checks and claims all files that the run will write. */
static troupe_status run_check_outputs(struct run *run, struct troupe_error *error)
{
	const struct run_settings *settings = &run->settings;
	struct outputs *outputs = &run->outputs;
	outputs_add(outputs, OUTPUT_INPUT, "the world", settings->world);
	outputs_add(outputs, OUTPUT_INPUT, "--commands", run_settings_from_input(settings) ? NULL : settings->commands);
	outputs_add(outputs, OUTPUT_INPUT, "--config", settings->config);
	outputs_add(outputs, OUTPUT_STATE_READ, "--resume", settings->resume);
	outputs_add(outputs, OUTPUT_OWN, "--report",
		settings->report && !strcmp(settings->report, "-") ? NULL : settings->report);
	outputs_add(outputs, OUTPUT_STREAM, "--record", settings->record);
	outputs_add(outputs, OUTPUT_STREAM, "--commands-out", settings->commands_out);
	outputs_add(outputs, OUTPUT_STREAM, "--costs", settings->costs);
	outputs_add(outputs, OUTPUT_STREAM, "--log", settings->log);
	outputs_add(outputs, OUTPUT_STREAM, "--mcap", settings->mcap);
	saves_add_outputs(&run->saves, outputs);
	outputs_add(outputs, OUTPUT_STATES, "--save-on-stop", settings->network.save_on_stop);
	troupe_status status = outputs_check(outputs, error);
	return status ? status : outputs_claim(outputs, error);
}

static troupe_status run_check_default(const struct run *run, struct troupe_error *error)
{
	struct outputs outputs = {0};
	if (run->settings.network.save_on_stop || run->settings.mode == NETWORK_NONE)
		return TROUPE_OK;
	char *pattern = saves_default(run->server);
	outputs_add(&outputs, OUTPUT_STATES, "--save-on-stop", pattern);
	troupe_status status = outputs_check(&outputs, error);
	outputs_fini(&outputs);
	free(pattern);
	return status;
}

/* All that can be refused before the first step is refused here. */
static troupe_status run_prepare(struct run *run, struct troupe_error *error)
{
	const struct run_settings *settings = &run->settings;
	troupe_status status = TROUPE_OK;
	if (settings->commands && !run_settings_from_input(settings))
		status = run_read_commands(run, error);
	if (!status)
		status = saves_read(&run->saves, settings, error);
	if (!status)
		status = run_check_outputs(run, error);
	if (status)
		return status;
	status = run_create_server(run, error);
	if (!status && !run->programs)
		programs_warn(run->server, run_on_warning, run);
	complaints_say_hidden(&run->complaints);
	if (!status && settings->strict)
		status = complaints_strict(&run->complaints, error);
	if (!status)
		status = run_check_default(run, error);
	if (!status && run->programs)
		status = programs_find(run->programs, run->server, error);
	if (!status)
		status = commands_queue(&run->commands, run->server, error);
	return status;
}

static void run_announce(const struct run *run)
{
	if (run->settings.verbosity < 3)
		return;
	for (uint32_t i = 0; i < troupe_server_world_count(run->server); i++) {
		uint32_t secondaries = troupe_server_secondaries(run->server, i);
		char name[200];
		(void)shown_copy(name, sizeof name, troupe_server_world_name(run->server, i));
		fprintf(stderr, "world '%s', ", name);
		if (secondaries)
			fprintf(stderr, "a primary and %u %s\n", secondaries,
				secondaries == 1 ? "secondary" : "secondaries");
		else
			fprintf(stderr, "a single runner\n");
	}
	fprintf(stderr, "%u commands\n", run->commands.all.count);
}

/* Whether commands came that are in no file: of standard input, barrier clients or other programs. */
static bool run_was_commanded(const struct run *run)
{
	return run->lockstep || gateways_commanded(run->gateways) || commands_in_given(run->commands_in);
}

/* Saves the state if the run did not reach its own end. */
static troupe_status run_save_on_stop(struct run *run, struct troupe_error *error)
{
	const char *given = run->settings.network.save_on_stop;
	if (!given && run->settings.mode == NETWORK_NONE)
		return TROUPE_OK;
	uint64_t step = troupe_server_progress(run->server).steps;
	if (!given && step == run->begun_at) /* no step was taken */
		return TROUPE_OK;
	char *pattern = given ? mem_strdup(given) : saves_default(run->server);
	troupe_status status = saves_on_stop(&run->saves, run->server, pattern, error);
	free(pattern);
	return status;
}

/* After the last step. *ret_stopped: the run was told to stop before its own end. */
static troupe_status run_end_steps(struct run *run, troupe_status status, bool *ret_stopped)
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

static void run_leave_stuck(void *ctx);

static troupe_status run_to_end(struct run *run, bool *ret_stopped, struct troupe_error *error)
{
	run->begun_at = troupe_server_progress(run->server).steps;
	run->stuck = (struct stuck){.server = run->server, .leave = run_leave_stuck, .say = run_on_note, .ctx = run};
	stuck_begin(&run->stuck);
	signals_tell(run_stop_server, run);
	signals_name_stuck(run_steps_of, run->server);
	log_begin(&run->log, run->server, signals_urgency);
	commands_out_begin(&run->commands_out, signals_urgency);
	troupe_status status = camera_out_begin(&run->camera_out, run->settings.camera_out, run->settings.camera_format,
		run->server, run_on_warning, run, error);
	if (!status)
		status = mcap_out_begin(&run->mcap_out, run->server, error);
	if (!status)
		status = lockstep_await(&run->settings.lockstep, run->server, error);
	if (!status)
		status = run_and_save(run, error);
	status = run_end_steps(run, status, ret_stopped);
	stuck_end(&run->stuck);
	return status;
}

/* The first error is the one with which the run ends. A further one gets a line of its own, if it has none yet. */
static void run_add_error(
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
static void run_deliver(struct run *run, bool failed, troupe_status *status, struct troupe_error *error)
{
	struct troupe_error later;
	struct results results = {.settings = &run->settings,
		.server = run->server,
		.output = &run->output,
		.begun_at = run->begun_at,
		.commanded = run_was_commanded(run),
		.commands_lost = run->commands_out.why.status,
		.failed = failed};
	troupe_status next = results_deliver(&results, &later);
	run_add_error(status, next, &later, error);
	output_flush(&run->output);
	int why = output_failed(&run->output);
	next = why ? fail(&later, TROUPE_EIO, "standard output: cannot write: %s", outfile_why(why)) : TROUPE_OK;
	run_add_error(status, next, &later, error);
}

/* The error of the run has priority over errors of its files; errors of files have priority in the order of the
 * calls. Files that are written during the run have warned by themselves. */
static troupe_status run_end_outputs(struct run *run, troupe_status status, bool stopped, struct troupe_error *error)
{
	run->ran = status;
	struct troupe_error later;
	troupe_status saved = status || stopped ? run_save_on_stop(run, &later) : TROUPE_OK;
	run_add_error(&status, saved, &later, error);
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
		run_add_error(&status, next, &later, error);
	run_deliver(run, failed, &status, error);
	if (!status)
		status = saves_result(&run->saves, error);
	if (!status)
		status = complaints_result(&run->complaints, error);
	return status;
}

static troupe_status run_go(struct run *run, struct troupe_error *error)
{
	bool lines = run->settings.trace || run->settings.hash_every, stopped;
	/* lines and a status line on one terminal would write over each other */
	bool quiet = run->settings.verbosity < 1 || (lines && isatty(STDOUT_FILENO));
	status_init(&run->status, quiet ? -1 : STDERR_FILENO);
	troupe_status status = run_to_end(run, &stopped, error);
	return run_end_outputs(run, status, stopped, error);
}

static void run_on_gateway(void *ctx, bool loud, const char *text)
{
	struct run *run = ctx;
	if (run->settings.verbosity >= (loud ? 1 : 3))
		cli_complain("run", "%s", text);
}

static troupe_status run_start_programs(struct run *run, struct troupe_error *error)
{
	const struct programs_place place = {.lockstep_socket = run->settings.lockstep.socket,
		.lockstep_address = lockstep_address(run->lockstep),
		.others = gateways_addresses(run->gateways)};
	return programs_start(run->programs, run->server, &place, error);
}

/* Robot clients get their topics with the key of the secondaries, if viewers have no place of their own. */
static void run_serve_clients(struct run_settings *settings)
{
	struct gateways_settings *gateways = &settings->gateways;
	gateways->clients = network_awaits_clients(&settings->network);
	if (!gateways->clients || gateways->watch.listen)
		return;
	gateways->clients_listen = settings->network.listen;
	gateways->watch.key_file = settings->network.key_file;
	gateways->watch.insecure = settings->network.insecure;
}

static troupe_status run_begin_gateways(struct run *run, struct troupe_error *error)
{
	struct gateways_settings *settings = &run->settings.gateways;
	troupe_status status = gateways_start(settings, run->server, run_on_gateway, run, &run->gateways, error);
	if (!status)
		gateways_keep_places(run->gateways, settings, run->lasting);
	return status;
}

/* The run that follows, if the present one has not failed and the process is to go on. The gateways have ended. */
static void run_settle_next(struct run *run)
{
	if (run->next && (run->ran || signals_asked())) {
		run_free_next(run->next);
		run->next = NULL;
	}
	if (!run->next)
		signals_release();
}

/* All that runs beside the server ends. */
static void run_end_company(struct run *run, troupe_status status, const struct troupe_error *error)
{
	if (status)
		cli_complain("run", "%s", error->text);
	if (status || signals_asked())
		signals_release();
	commands_in_destroy(run->commands_in);
	programs_stop(run->programs);
	gateways_end(run->gateways, status ? error : NULL);
	run_settle_next(run);
	lockstep_end(run->lockstep, status, error);
}

static int run_exit_status_of(const struct run *run, troupe_status status)
{
	return run->settings.mode == NETWORK_NONE ? cli_exit_status(status) : network_exit_status(status);
}

/* Some thread still uses the server, so it is not destroyed. */
static void run_leave_for_good(struct run *run, troupe_status status)
{
	children_end(&run->children);
	outputs_fini(&run->outputs);
	if (run->settings.mode == NETWORK_RANKS)
		network_leave(&run->settings.network, run_exit_status_of(run, status));
	(void)fflush(stdout);
	_exit(run_exit_status_of(run, status));
}

static void run_leave_stuck(void *ctx)
{
	struct run *run = ctx;
	struct troupe_error error;
	bool stopped;
	troupe_status status = run_end_steps(run, TROUPE_OK, &stopped);
	status = run_end_outputs(run, status, stopped, &error);
	run_end_company(run, status, &error);
	run_leave_for_good(run, status);
}

/* Returns the exit status. */
static int run_world(struct run *run)
{
	struct troupe_error error;
	run_serve_clients(&run->settings);
	output_init(&run->output, STDOUT_FILENO, signals_urgency);
	run->commands_out =
		(struct commands_out){.path = run->settings.commands_out, .warn = run_on_warning, .ctx = run};
	troupe_status status = TROUPE_OK;
	if (run->settings.programs)
		status = programs_create(run->settings.verbosity >= 1, &run->programs, &error);
	if (!status && !run->server)
		status = run_prepare(run, &error);
	signals_disarm_watchdog();
	if (!status) {
		run->bound = next_run_obstacle(&run->settings, troupe_server_world_count(run->server), run->lasting);
		status = run_begin_gateways(run, &error);
	}
	if (!status)
		status = lockstep_start(&run->settings.lockstep, run->server, gateways_can_be_joined(run->gateways),
			run_on_note, run, &run->lockstep, &error);
	bool misused = run->gateways && status == TROUPE_EINVAL;
	if (!status && run_settings_from_input(&run->settings))
		status = commands_in_create(
			run->server, STDIN_FILENO, "standard input", run_on_bad_line, run, &run->commands_in, &error);
	if (!status && run->programs)
		status = run_start_programs(run, &error);
	if (!status) {
		run_announce(run);
		status = run_go(run, &error);
	}
	run_end_company(run, status, &error);
	if (signals_asked() && run->server && troupe_server_is_preparing(run->server))
		run_leave_for_good(run, status); /* what nobody waits for any more could take long */
	troupe_server_destroy(run->server);
	children_end(&run->children);
	programs_destroy(run->programs);
	output_fini(&run->output);
	commands_fini(&run->commands);
	commands_out_fini(&run->commands_out);
	saves_fini(&run->saves);
	outputs_fini(&run->outputs);
	return misused ? CLI_BAD_USAGE : run_exit_status_of(run, status);
}

/* Programs of ROS that see the run, or will see its file. */
static troupe_status run_prepare_mcap(struct run *run, struct troupe_error *error)
{
	const struct run_settings *settings = &run->settings;
	const struct gateways_settings *gateways = &settings->gateways;
	const char *robot = gateways->ros2_robot ? gateways->ros2_robot : gateways->rosbridge_robot;
	const struct mcap_out_def def = {.path = settings->mcap,
		.topics = &settings->topics,
		.names = settings->mcap_names                    ? settings->mcap_names
			 : gateways->ros2 || gateways->rosbridge ? "ros"
								 : "gz",
		.robot = settings->mcap_robot ? settings->mcap_robot : robot,
		.warn = run_on_warning,
		.ctx = run};
	return mcap_out_init(&run->mcap_out, &def, error);
}

static int run_logged(struct run *run)
{
	const struct run_settings *settings = &run->settings;
	struct troupe_error error;
	int exit_status = CLI_BAD_USAGE;
	if (!run->server && settings->world &&
		!xacro_expand(&settings->xacro, "run", settings->world, settings->resource_paths.at, &run->arena,
			&run->settings.world, &run->settings.world_text, &exit_status))
		return exit_status;
	if (settings->recordings &&
		!run_recordings_obey(&run->settings, &run->complaints, &run->arena, &run->recordings, &exit_status))
		return exit_status;
	troupe_status status = log_init(&run->log, settings->log, (uint64_t)settings->log_every, "--log-what",
		settings->log_what, run_on_warning, run, &error);
	if (!status)
		status = run_prepare_mcap(run, &error);
	if (!status)
		exit_status = run_world(run);
	else
		cli_complain("run", "%s; see troupe run --help", error.text);
	mcap_out_fini(&run->mcap_out);
	log_fini(&run->log);
	recordings_close(&run->recordings);
	return exit_status;
}

/* The runs that clients ask for begin one after the other. The first failure is that of the process. */
static int run_all(struct run *run)
{
	int exit_status = run_logged(run);
	for (struct run *next = run->next; next;) {
		run = next;
		if (run->settings.verbosity >= 1)
			cli_complain("run", "another run: %s '%s', seed %" PRId64 ", paused",
				run->no_world ? "no world, called" : "world", troupe_server_world_name(run->server, 0),
				run->settings.seed);
		int next_status = run_logged(run);
		exit_status = exit_status ? exit_status : next_status;
		next = run->next;
		arena_fini(&run->arena);
		free(run);
	}
	return exit_status;
}

/* All processes have the same command line; that of a secondary is the primary's concern. */
static int run_as_rank(struct run *run)
{
	struct network_settings *network = &run->settings.network;
	int exit_status;
	if (network_join(network, run->settings.secondaries, &exit_status))
		exit_status = troupe_job_number(network->job)
				      ? network_be_secondary(network, run->settings.plugin_paths.at,
						run->settings.break_rule, run->settings.verbosity, NULL)
				      : run_logged(run);
	network_leave(network, exit_status);
	return exit_status;
}

static int run_as_standby(struct run *run)
{
	struct run_settings *settings = &run->settings;
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
	int exit_status = standby_follow(settings, &run->standby);
	if (!run->standby)
		return exit_status;
	signals_arm_watchdog(LOADING_GRACE_MS, run_leave_loading, run);
	exit_status = run_all(run);
	troupe_standby_destroy(run->standby); /* if no server was created */
	return exit_status;
}

static int run_as_told(struct run *run)
{
	struct run_settings *settings = &run->settings;
	run->complaints.verbosity = settings->verbosity;
	run->saves.complaints = &run->complaints;
	if (!run_settings_choose(settings, &run->arena))
		return CLI_BAD_USAGE;
	bool world = settings->world || settings->resume;
	if (run->settings.mode == NETWORK_STANDBY)
		return run_as_standby(run);
	bool secondary = run->settings.mode == NETWORK_SECONDARY || run->settings.mode == NETWORK_CLIENT;
	if (!secondary && !world) {
		cli_complain("run", "no WORLD.sdf given; see troupe run --help");
		return CLI_BAD_USAGE;
	}
	if (run->settings.mode == NETWORK_RANKS)
		return run_as_rank(run);
	if (!secondary)
		return run_all(run);
	if (world)
		cli_complain("run", "%s: ignored, because the primary sends a secondary its world", settings->world);
	if (run->settings.mode == NETWORK_CLIENT)
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
	struct run run = {0};
	int exit_status;
	run.lasting = &run.arena;
	signals_catch();
	signals_arm_watchdog(LOADING_GRACE_MS, run_leave_loading, &run);
	if (run_settings_parse(argc, argv, &run.arena, &run.settings, &exit_status))
		exit_status = run_as_told(&run);
	signals_disarm_watchdog();
	arena_fini(&run.arena);
	return exit_status;
}
