/* One world of a server: compiles it, sets up its primary, and passes its events and snapshots to the callbacks of
 * the server. */
#include "server/internal.h"

#include "base/clock.h"
#include "server/clients.h"
#include "server/model_info.h"
#include "server/network.h"
#include "server/read.h"
#include "server/barrier.h"
#include "server/record.h"
#include "server/command_notice.h"
#include "server/scene_info.h"

#include <stdlib.h>
#include <string.h>

/* --- setting up ------------------------------------------------------------------------------------------------- */

/* Lines of plug-ins come from the threads of a step. */
void server_warn(struct troupe_server *server, const char *text)
{
	if (!server->def.on_warning)
		return;
	pthread_mutex_lock(&server->warn_lock);
	server->def.on_warning(server->def.ctx, text);
	pthread_mutex_unlock(&server->warn_lock);
}

void world_warn_of_unread(struct server_world *world)
{
	char *text = NULL;
	while (world->scene->unread && (text = unread_take_warning(world->scene->unread))) {
		server_warn(world->server, text);
		free(text);
	}
}

static troupe_status server_world_compile(
	struct server_world *world, const struct sdf_world *sdf, struct troupe_error *error)
{
	struct scene_options options = {.ignore_levels = world->server->def.ignore_levels,
		.unread = {world->server->importer, &world->server->files}};
	troupe_status status = scene_create(sdf, &options, &world->scene, error);
	if (!status)
		status = scene_read_near(world->scene, error);
	if (!status)
		status = systems_create(world->scene, world->server->plugins, &world->systems, error);
	if (status)
		return status;
	for (uint32_t i = 0; i < world->scene->warnings.count; i++)
		server_warn(world->server, world->scene->warnings.at[i]);
	for (uint32_t i = 0; i < world->systems->warnings.count; i++)
		server_warn(world->server, world->systems->warnings.at[i]);
	world_warn_of_unread(world);
	return TROUPE_OK;
}

uint32_t world_mobile_count(const struct server_world *world)
{
	uint32_t movers = 0;
	for (uint32_t m = 0; m < world->scene->model_count; m++)
		movers += world->scene->models[m].performer || !world->scene->models[m].is_static;
	return movers;
}

uint32_t world_cores(const struct server_world *world)
{
	return MAX(eventcount_cores() / world->server->world_count, 1u);
}

uint32_t world_helpers(const struct server_world *world)
{
	const struct troupe_server *server = world->server;
	bool given = server->network || server->def.secondaries >= 0 || world->scene->secondaries != SCENE_NONE;
	return given || world->threads ? 0 : MIN(world_cores(world), (uint32_t)TROUPE_SECONDARIES_MAX) - 1;
}

static void server_world_warn_of_pins(const struct server_world *world)
{
	const struct scene *scene = world->scene;
	for (uint32_t i = 0; i < scene->model_count + scene->level_count; i++) {
		bool model = i < scene->model_count;
		uint32_t pin = model ? scene->models[i].pin : scene->levels[i - scene->model_count].pin;
		if (pin <= world->secondaries)
			continue;
		struct text text = {0};
		text_add(&text, "%s: %s '%s' is pinned to secondary %u, but there are only %u: the pin is ignored",
			world->server->def.world_path, model ? "performer" : "level",
			model ? scene->models[i].name : scene->levels[i - scene->model_count].name, pin,
			world->secondaries);
		server_warn(world->server, text.at);
		text_fini(&text);
	}
}

static bool server_world_model_mimics(const struct scene *scene, const struct scene_model *model)
{
	bool does = false;
	for (uint32_t i = 0; i < model->joint_count && !does; i++)
		does = scene_joint_couplings(&scene->joints[model->joint_first + i]) > 0;
	return does;
}

/* Iterations do not end at the solution of large islands (bench/NOTES.md), so such a robot may not hold still. */
static void server_world_warn_of_rows(const struct server_world *world)
{
	const struct scene *scene = world->scene;
	uint32_t limit = physics_exact_rows(&world->shared.physics);
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct scene_model *model = &scene->models[i];
		uint32_t rows = model->is_static || !limit ? 0 : physics_rows(scene, i);
		if (rows <= limit || (!world->shared.physics.ode && physics_lanes_rows(scene, i) <= limit))
			continue;
		struct text text = {0};
		text_add(&text,
			"%s: model '%s' has joints of %u constraint rows: more than %u are solved by iterations, so it "
			"may creep%s%s",
			world->server->def.world_path, model->name, rows, limit,
			server_world_model_mimics(scene, model) ? ", and joints that mimic others may fail to follow"
								: "",
			world->shared.physics.solver == PHYSICS_SOLVER_WORLD
				? ""
				: " (<type>world</type> in <physics><ode><solver> solves more of them exactly)");
		server_warn(world->server, text.at);
		text_fini(&text);
	}
}

static void server_world_on_log(void *ctx, const char *text)
{
	server_warn(ctx, text);
}

enum { CHAOS_KEEP_STEPS = 200 }; /* with chaos: the most for which models that came apart are kept together */

static void server_world_set_up_shared(struct server_world *world, enum physics_break rule)
{
	struct shared *shared = &world->shared;
	world->systems->rehearse = world->server->def.rehearse;
	world->systems->seed = world->server->def.seed;
	world->systems->on_log = server_world_on_log;
	world->systems->ctx = world->server;
	shared_init(shared, world->scene, world->systems);
	shared->physics.rule = rule;
	shared->physics.seed = world->server->def.seed;
	shared->physics.sleepless = world->server->def.sleepless;
	shared->physics.ode = world->server->def.by_ode;
	shared->physics.anew = world->server->def.anew;
	if (world->server->def.chaos)
		shared->physics.keep_steps = 1 + (uint32_t)(world->server->def.chaos_seed % CHAOS_KEEP_STEPS);
	shared->physics.lanes = world->server->def.lanes;
	if (world->server->def.sense_all)
		sensors_want_all(shared->sensors);
	shared_init_tracking(shared);
}

static void server_world_on_event(void *ctx, uint64_t step, const struct placement_event *event)
{
	static const troupe_event_kind kinds[] = {
		[PLACEMENT_MOVE] = TROUPE_EVENT_MOVE,
		[PLACEMENT_LOAD] = TROUPE_EVENT_LOAD,
		[PLACEMENT_UNLOAD] = TROUPE_EVENT_UNLOAD,
		[PLACEMENT_GHOST_ON] = TROUPE_EVENT_GHOST_ON,
		[PLACEMENT_GHOST_OFF] = TROUPE_EVENT_GHOST_OFF,
	};
	struct server_world *world = ctx;
	if (event->kind == PLACEMENT_SHARE) /* a trial of another number of secondaries: not a move */
		return;
	bool level = event->kind == PLACEMENT_LOAD || event->kind == PLACEMENT_UNLOAD;
	struct troupe_event out = {
		.world = world->scene->name,
		.kind = kinds[event->kind],
		.step = step,
		.name = level ? world->scene->levels[event->id].name : world->scene->models[event->id].name,
		.from = world_number(world, event->from),
		.to = world_number(world, event->to),
	};
	world->server->def.on_event(world->server->def.ctx, &out);
}

void world_tell_reply(struct server_world *world, uint64_t step, const char *topic, troupe_status status,
	const char *text, bool called)
{
	struct troupe_server *server = world->server;
	struct troupe_reply reply = {world->scene->name, step, topic, status, text, called};
	if (server->def.on_reply && (status || *text))
		server->def.on_reply(server->def.ctx, &reply);
	clients_publish_reply(server->clients, world->index, step, topic, status, text);
}

static void server_world_on_reply(
	void *ctx, uint64_t step, const char *topic, troupe_status status, const char *text, bool called)
{
	world_tell_reply(ctx, step, topic, status, text, called);
}

static void server_world_on_owned(void *ctx, uint32_t model)
{
	const struct server_world *world = ctx;
	if (world->server->network)
		robot_clients_meet_model(network_clients(world->server->network), model);
}

static void server_world_on_decide(void *ctx)
{
	const struct server_world *world = ctx;
	clients_hear(world->server->clients, world->index);
}

static uint32_t server_world_on_observe(void *ctx)
{
	const struct server_world *world = ctx;
	return clients_hear_notes(world->server->clients, world->index);
}

static void server_world_on_taken(void *ctx, uint64_t step, const struct command *command, troupe_status status)
{
	struct server_world *world = ctx;
	record_taken(world, step, command, status);
	if (world->server->network)
		standby_link_taken(network_standby(world->server->network), world, step, command, status);
	command_notice_send(ctx, step, command, status);
}

/* Up to this distance hashes are noted within windows; farther apart, a window ends at each. */
enum { HASH_STEPS = 4 };

static bool server_world_notes_hashes(const struct troupe_server_def *def)
{
	return def->on_hash && def->hash_every && def->hash_every <= HASH_STEPS;
}

/* Steps from k on until the next multiple of `every`; 0: there is none. */
static uint64_t server_world_steps_to(uint64_t k, uint64_t every)
{
	return every ? every - k % every : UINT64_MAX;
}

/* Models that are moved in every step must not be alone for longer. */
static uint32_t server_world_window_of(const struct troupe_server *server)
{
	const struct troupe_server_def *def = &server->def;
	return def->chaos_moves && !def->window ? 1 : def->window;
}

/* The first plug-in of these whose update() may do something in each step. */
static const struct system *server_world_updating_of(const struct system_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->at[i].self.kind->update && !set->at[i].self.kind->waits &&
			!set->at[i].self.kind->waits_until)
			return &set->at[i];
	return NULL;
}

void world_note_windows(const struct server_world *world)
{
	const struct systems *systems = world->systems;
	const struct troupe_server_def *def = &world->server->def;
	const struct system *system = server_world_updating_of(&systems->world);
	for (uint32_t m = 0; m < systems->scene->model_count && !system; m++)
		system = server_world_updating_of(&systems->sets[m]);
	if (!system || !def->on_note || server_world_window_of(world->server) == 1)
		return;
	const char *model = system->self.model == SCENE_NONE ? NULL : world->scene->models[system->self.model].name;
	struct troupe_error line;
	(void)fail(&line, TROUPE_OK,
		"each step is exchanged: plug-in '%.100s' of %s%.100s%s may look at the whole world in each step",
		system->self.kind->names[0], model ? "model '" : "the world", model ? model : "", model ? "'" : "");
	def->on_note(def->ctx, line.text);
}

static uint64_t server_world_on_horizon(void *ctx, uint64_t k)
{
	const struct server_world *world = ctx;
	const struct troupe_server *server = world->server;
	const struct troupe_server_def *def = &server->def;
	uint64_t steps = clients_horizon(server->clients, world->index);
	if (barriers_are_held(server->barriers))
		steps = 1;
	if (!server_world_notes_hashes(def))
		steps = MIN(steps, server_world_steps_to(k, def->on_hash ? def->hash_every : 0));
	steps = MIN(steps, server_world_steps_to(k, def->on_step ? def->step_every : 0));
	steps = MIN(steps, server_world_steps_to(k, def->record_path ? def->record_every : 0));
	return MIN(steps, server_world_steps_to(k, def->costs_path ? def->costs_every : 0));
}

static void server_world_on_made(void *ctx, const struct command *command)
{
	struct server_world *world = ctx;
	record_made(world, command);
	if (world->server->network)
		standby_link_made(network_standby(world->server->network), world, command);
}

static void server_world_set_up_primary(struct server_world *world)
{
	const struct troupe_server_def *def = &world->server->def;
	world->visuals = edit_visuals_create(world->server->sdf, world->index);
	struct primary_options options = {
		.secondaries = world->secondaries,
		.rtf = def->pace == TROUPE_PACE_FACTOR ? def->rtf : world->scene->real_time_factor,
		.rate_hz = def->pace == TROUPE_PACE_RATE ? def->rate_hz : 0,
		.resume_pace = def->pace == TROUPE_PACE_WORLD,
		.initial_time_s = def->initial_time_s,
		.paused = def->paused,
		.helpers = world_helpers(world) > 0,
		.policy = world->server->policy,
		.measure = def->costs_path != NULL,
		.observe = def->observe,
		.chaos = def->chaos,
		.chaos_seed = def->chaos_seed,
		.chaos_moves = def->chaos_moves,
		.on_event = def->on_event ? server_world_on_event : NULL,
		.on_reply = server_world_on_reply,
		.on_owned = server_world_on_owned,
		.window = {.steps = server_world_window_of(world->server),
			.alone = def->scripted && world->server->network,
			.random = def->chaos && !def->chaos_moves && !def->window,
			.seed = def->chaos_seed},
		.all_take_part = def->network != NULL,
		.on_horizon = server_world_on_horizon,
		.hash_steps = server_world_notes_hashes(def),
		.on_decide = server_world_on_decide,
		.on_made = def->record_path || def->network ? server_world_on_made : NULL,
		.on_observe = server_world_on_observe,
		.on_taken = def->record_path || def->on_taken || def->network ? server_world_on_taken : NULL,
		.edit = {def->world_path, def->resource_paths, &world->server->files, world->server->importer,
			world->server->plugins, world->visuals, world->server->sdf,
			&world->server->sdf->worlds.at[world->index], &world->server->places},
		.ctx = world,
	};
	world->primary = primary_create(&options, &world->shared);
}

troupe_status world_init(
	struct server_world *world, struct troupe_server *server, uint32_t index, struct troupe_error *error)
{
	world->server = server;
	world->index = index;
	return server_world_compile(world, &server->sdf->worlds.at[index], error);
}

void world_set_up(struct server_world *world, uint32_t threads, enum physics_break rule)
{
	world->threads = threads;
	world->secondaries = MAX(threads, 1u);
	server_world_warn_of_pins(world);
	server_world_set_up_shared(world, rule);
	server_world_warn_of_rows(world);
	server_world_set_up_primary(world);
	const struct network *network = world->server->network;
	uint32_t room = network ? network_room(network) : world->secondaries;
	world->counts.busy_ns = mem_alloc(room * sizeof *world->counts.busy_ns);
	world->snapshots = snapshots_create(room);
	pthread_mutex_init(&world->info_lock, NULL);
	world->model_info = model_info_create();
}

void world_regroup(struct server_world *world, uint32_t secondaries)
{
	primary_regroup(world->primary, secondaries);
	world->threads = world->secondaries = secondaries;
}

void world_fini(struct server_world *world)
{
	if (world->primary)
		primary_destroy(world->primary);
	edit_visuals_destroy(world->visuals);
	if (world->snapshots)
		pthread_mutex_destroy(&world->info_lock);
	snapshots_destroy(world->snapshots);
	troupe_scene_release(world->info);
	model_info_destroy(world->model_info);
	shared_fini(&world->shared);
	free(world->counts.busy_ns);
	systems_destroy(world->systems);
	scene_destroy(world->scene);
}

/* --- snapshots -------------------------------------------------------------------------------------------------- */

const struct troupe_scene *world_view(struct server_world *world)
{
	uint64_t epoch = primary_scene_epoch(world->primary);
	if (world->info && world->info->epoch == epoch)
		return world->info;
	const struct troupe_scene *old = world->info;
	const struct troupe_scene *view =
		scene_info_create(world->scene, primary_sensors(world->primary), world->systems, world->index, epoch);
	pthread_mutex_lock(&world->info_lock);
	world->info = view;
	pthread_mutex_unlock(&world->info_lock);
	troupe_scene_release(old);
	return view;
}

static void server_world_fill_parts(
	const struct server_world *world, const struct troupe_scene *view, struct snapshots_arrays *arrays)
{
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		read_model(world, scene_info_model_at(view, i), view->models[i].name, &arrays->models[i]);
		arrays->odometry[i] = read_odometry(world, scene_info_model_at(view, i));
	}
	for (uint32_t i = 0; i < view->moving_links; i++)
		read_link(world, scene_info_link_at(view, i), &arrays->links[i]);
	for (uint32_t i = 0; i < view->joint_count; i++)
		read_joint(world, scene_info_joint_at(view, i), &arrays->joints[i]);
	for (uint32_t i = 0; i < view->sensor_count; i++)
		arrays->readings[i] = read_sensor(world, view->sensors[i].handle);
}

static void server_world_fill_busy(struct server_world *world, double *busy)
{
	struct server_counts *counts = &world->counts;
	uint64_t now = clock_now_ns();
	double passed = counts->at_ns ? (double)(now - counts->at_ns) : 0;
	counts->at_ns = now;
	for (uint32_t i = 0; i < world->secondaries; i++) {
		uint64_t total = primary_stats(world->primary, i)->busy_ns;
		busy[i] = passed > 0 ? (double)(total - counts->busy_ns[i]) / passed : 0;
		counts->busy_ns[i] = total;
	}
}

static void server_world_fill_snapshot(
	struct server_world *world, struct troupe_snapshot *snapshot, struct snapshots_arrays *arrays)
{
	server_world_fill_parts(world, snapshot->scene, arrays);
	snapshot->contact_count = read_contacts(world, snapshot->scene, arrays->contacts);
	snapshot->world = world->scene->name;
	snapshot->step = primary_steps(world->primary);
	snapshot->time_s = primary_time_s(world->primary);
	snapshot->paused = primary_is_paused(world->primary);
	snapshot->secondaries = world->secondaries;
}

void world_publish(struct server_world *world, bool running)
{
	struct snapshots_arrays arrays;
	const struct troupe_scene *view = world_view(world);
	struct troupe_snapshot *snapshot = snapshots_begin(
		world->snapshots, !running, view, primary_observed(world->primary)->contacts.count, &arrays);
	if (!snapshot)
		return;
	server_world_fill_snapshot(world, snapshot, &arrays);
	server_world_fill_busy(world, arrays.busy);
	snapshots_publish(world->snapshots, snapshot, !running);
}

const struct troupe_snapshot *world_look(struct server_world *world)
{
	struct snapshots_arrays arrays;
	struct troupe_snapshot *snapshot = snapshots_begin_own(
		world->snapshots, world_view(world), primary_observed(world->primary)->contacts.count, &arrays);
	server_world_fill_snapshot(world, snapshot, &arrays);
	return snapshot;
}
