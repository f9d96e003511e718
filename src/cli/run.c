/* This file has the callbacks of the server and the order of the work: prepare, run, end.
 *
 * All inputs and outputs are checked before the first step, so that a long run does not fail at its end. A state, log
 * or recording that cannot be written does not end the run: the other outputs are still written, and the exit status
 * tells of the failure. */
#include "base/shown.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands_in.h"
#include "cli/commands_out.h"
#include "cli/next_run.h"
#include "cli/run_internal.h"
#include "cli/run_definition.h"
#include "cli/run_recordings.h"
#include "cli/run_settings.h"
#include "cli/signals.h"
#include "cli/standby.h"
#include "cli/trace.h"

#include "base/clock.h"

#include <troupe/record.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_TOLD_NS UINT64_C(1000000000) /* a pause of this time is told */

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

static struct troupe_server_def run_define(struct run *run)
{
	const struct run_settings *settings = &run->settings;
	struct troupe_server_def def = run_definition_server(settings);
	def.no_world = run->no_world;
	def.observe = log_observes(&run->log);
	run->log_every = log_step_every(&run->log);
	def.step_every = settings->camera_out || settings->mcap ? 1 : run->log_every;
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

void run_free_next(struct run *run)
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
	struct troupe_server_def def = run_define(next);
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

static troupe_status run_create_server(struct run *run, struct troupe_error *error)
{
	struct troupe_server_def def = run_define(run);
	troupe_status status = TROUPE_OK;
	if (run->settings.mode == NETWORK_CHILDREN)
		status = children_start(&run->children, (uint32_t)run->settings.network.secondaries,
			(uint32_t)run->settings.network.threads, run->settings.plugin_paths.at,
			run->settings.break_rule, error);
	if (status)
		return status;
	struct troupe_network network = run_definition_network(&run->settings, run->children.sockets);
	run->took_over = run->standby != NULL;
	if (run->took_over) {
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

static troupe_status run_to_end(struct run *run, bool *ret_stopped, struct troupe_error *error)
{
	run->begun_at = troupe_server_progress(run->server).steps;
	run->stuck = (struct stuck){.server = run->server, .leave = run_end_stuck, .say = run_on_note, .ctx = run};
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
		text_fini(&run->taken_state);
		status = run_go(run, &error);
	}
	run_end_company(run, status, &error);
	if (signals_asked() && run->server && troupe_server_is_preparing(run->server))
		run_end_leave(run, status); /* what nobody waits for any more could take long */
	troupe_server_destroy(run->server);
	children_end(&run->children);
	programs_destroy(run->programs);
	output_fini(&run->output);
	commands_fini(&run->commands);
	commands_out_fini(&run->commands_out);
	saves_fini(&run->saves);
	outputs_fini(&run->outputs);
	return misused ? CLI_BAD_USAGE : run_end_status(run, status);
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
int run_worlds(const struct run_settings *settings, struct arena *arena, struct troupe_standby *standby)
{
	struct run first = {.settings = *settings, .lasting = arena, .standby = standby};
	first.complaints.verbosity = settings->verbosity;
	first.saves.complaints = &first.complaints;
	size_t taken_bytes = 0;
	const char *taken = standby ? troupe_standby_state(standby, &taken_bytes) : NULL;
	if (taken)
		text_add_bytes(&first.taken_state, taken, taken_bytes);
	int exit_status = run_logged(&first);
	if (first.taken_state.count) /* something has failed before: a place of a gateway that is in use, a full disk */
		standby_save(&first.settings, first.taken_state.at, first.taken_state.count);
	text_fini(&first.taken_state);
	for (struct run *run = first.next, *next; run; run = next) {
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
	troupe_standby_destroy(first.standby); /* if no server was created */
	arena_fini(&first.arena);
	return exit_status;
}
