/* Options of the command have the names and units of the library's fields, so each is passed on as it is. */
#include "cli/run_definition.h"

#include <stdlib.h>
#include <string.h>

/* Whether no command can come from outside while the world runs. */
static bool run_definition_is_scripted(const struct run_settings *settings)
{
	const struct gateways_settings *ways = &settings->gateways;
	bool open = !ways->no_gz || ways->view || ways->view_address || ways->watch.listen || ways->clients ||
		    ways->foxglove || ways->rosbridge || ways->ros2 || ways->serve.count;
	bool live = settings->commands && !strcmp(settings->commands, "-");
	return !open && !live && !settings->lockstep.socket && !settings->lockstep.listen && !settings->programs;
}

struct troupe_server_def run_definition_server(const struct run_settings *settings)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = settings->world;
	def.world_text = settings->world_text;
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
	def.scripted = run_definition_is_scripted(settings);
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
	def.anew = settings->anew;
	def.lanes = settings->lanes ? (uint32_t)atoi(settings->lanes) : 0;
	def.break_rule = settings->break_rule;
	return def;
}

struct troupe_network run_definition_network(const struct run_settings *of, const int *sockets)
{
	const struct network_settings *settings = &of->network;
	bool ranks = of->mode == NETWORK_RANKS;
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
		.iterations = (uint64_t)of->iterations,
		.until_s = of->until_s,
		.listen = settings->listen,
		.partition = settings->partition,
		.interface = settings->interface,
		.stale_ms = (uint32_t)settings->stale_ms,
		.wait_s = settings->wait_s,
		.key_file = settings->key_file,
		.insecure = settings->insecure,
		.sockets = of->mode == NETWORK_CHILDREN ? sockets : NULL};
}
