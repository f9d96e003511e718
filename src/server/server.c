/* The life of a server: it is created from a definition, runs its worlds (running.c), and is destroyed. The worlds are
 * loaded and the definition is checked before the first step. */
#include "server/internal.h"

#include "base/clock.h"
#include "base/eventcount.h"
#include "base/hash.h"
#include "base/math.h"
#include "mesh/importer.h"
#include "net/backend.h"
#include "server/background.h"
#include "server/barrier.h"
#include "server/clients.h"
#include "server/costs.h"
#include "server/network.h"
#include "server/publish.h"
#include "server/record.h"
#include "server/command_notice.h"
#include "server/scene_info.h"
#include "system/ignored.h"
#include "topic/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAMP = 0x74726f75 };

struct troupe_server_def troupe_server_def_default(void)
{
	return (struct troupe_server_def){
		.secondaries = TROUPE_SECONDARIES_AUTO, .record_every = 1000, .costs_every = 100, .stamp_ = STAMP};
}

uint64_t troupe_fingerprint(void)
{
	return physics_fingerprint();
}

const char *troupe_math(void)
{
	return math_name();
}

/* --- checking the definition ------------------------------------------------------------------------------------ */

static bool server_sane(double value, double max)
{
	return value >= 0 && value <= max;
}

static troupe_status server_check_source(const struct troupe_server_def *def, struct troupe_error *error)
{
	bool resumes = def->resume_path || def->resume_bytes;
	if (!def->world_path == !resumes)
		return fail(error, TROUPE_EINVAL,
			"%s: expected a path in world_path or in resume_path, or resume_bytes",
			def->world_path ? "a world and a state to resume" : "no world");
	if (resumes && def->world_text)
		return fail(error, TROUPE_EINVAL, "a state to resume has its world: expected no world_text");
	return TROUPE_OK;
}

static troupe_status server_check_pace(const struct troupe_server_def *def, struct troupe_error *error)
{
	if ((unsigned)def->pace > TROUPE_PACE_RATE)
		return fail(error, TROUPE_EINVAL, "pace %d: expected one of enum troupe_pace", (int)def->pace);
	if (def->pace == TROUPE_PACE_FACTOR && !server_sane(def->rtf, 1e6))
		return fail(error, TROUPE_EINVAL, "real-time factor %g: expected 0 to 1e6", def->rtf);
	if (def->pace == TROUPE_PACE_RATE && !(def->rate_hz > 0 && def->rate_hz <= 1e12))
		return fail(error, TROUPE_EINVAL, "update rate %g Hz: expected a positive number", def->rate_hz);
	if (!server_sane(def->initial_time_s, 1e9))
		return fail(error, TROUPE_EINVAL, "initial time %g s: expected 0 to 1e9", def->initial_time_s);
	return TROUPE_OK;
}

static bool server_folder_is_writable(const char *path)
{
	struct stat info;
	return !stat(path, &info) && S_ISDIR(info.st_mode) && !access(path, W_OK | X_OK);
}

static troupe_status server_check_def(const struct troupe_server_def *def, struct troupe_error *error)
{
	const uint32_t all = TROUPE_OBSERVE_CONTACTS | TROUPE_OBSERVE_EFFORTS;
	if (!def || def->stamp_ != STAMP)
		return fail(error, TROUPE_EINVAL, "server definition not made by troupe_server_def_default()");
	troupe_status status = server_check_source(def, error);
	if (!status)
		status = server_check_pace(def, error);
	if (status)
		return status;
	if (def->secondaries < TROUPE_SECONDARIES_AUTO || def->secondaries > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%d secondaries: expected 0 to %d", def->secondaries,
			TROUPE_SECONDARIES_MAX);
	if (!physics_has_lanes(def->lanes))
		return fail(error, TROUPE_EINVAL,
			"%u lanes: expected 2, or 4 or 8 if this processor has the instructions", def->lanes);
	if (def->window > TROUPE_WINDOW_MAX)
		return fail(
			error, TROUPE_EINVAL, "windows of %u steps: expected 0 to %d", def->window, TROUPE_WINDOW_MAX);
	if (def->observe & ~all)
		return fail(error, TROUPE_EINVAL, "observe %#x: expected bits of %#x", def->observe, all);
	if (def->save_folder && !server_folder_is_writable(def->save_folder))
		return fail(error, TROUPE_EIO, "%s: expected a folder, in which files can be made for clients",
			def->save_folder);
	if (def->costs_path && !def->costs_every)
		return fail(error, TROUPE_EINVAL, "a table of costs every 0 steps: expected 1 or more");
	if (def->record_path && !def->record_every)
		return fail(error, TROUPE_EINVAL, "a recording with a state every 0 steps: expected 1 or more");
	return TROUPE_OK;
}

troupe_status server_break_rule(const char *name, enum physics_break *ret_rule, struct troupe_error *error)
{
	static const struct {
		const char *name;
		enum physics_break rule;
	} rules[] = {{"random", PHYSICS_BREAK_RANDOM}, {"pairs", PHYSICS_BREAK_PAIRS},
		{"rotation", PHYSICS_BREAK_ROTATION}, {"reference", PHYSICS_BREAK_REFERENCE},
		{"proof", PHYSICS_BREAK_PROOF}, {"sleepers", PHYSICS_BREAK_SLEEPERS}, {"levels", PHYSICS_BREAK_LEVELS},
		{"leavers", PHYSICS_BREAK_LEAVERS}, {"ties", PHYSICS_BREAK_ATTACHMENTS},
		{"notes", PHYSICS_BREAK_NOTES}, {"hits", PHYSICS_BREAK_HITS}};
	*ret_rule = PHYSICS_BREAK_NOTHING;
	if (!name)
		return TROUPE_OK;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (!strcmp(rules[i].name, name)) {
			*ret_rule = rules[i].rule;
			return TROUPE_OK;
		}
	return fail(error, TROUPE_EINVAL,
		"rule '%s': expected random, pairs, rotation, reference, proof, sleepers, levels, leavers, "
		"ties, notes or hits",
		name);
}

static troupe_status server_find_policy(struct troupe_server *server, struct troupe_error *error)
{
	const char *name = server->def.distribution;
	server->policy = name ? assign_policy_named(name) : assign_policies;
	return server->policy ? TROUPE_OK
			      : fail(error, TROUPE_EINVAL, "distribution '%s': expected round-robin or balanced", name);
}

/* --- loading ---------------------------------------------------------------------------------------------------- */

static void server_warn_of_blindness(struct troupe_server *server)
{
	struct troupe_error why, text;
	bool sees = false;
	for (uint32_t i = 0; i < server->sdf->worlds.count; i++)
		sees |= sdf_world_sees(&server->sdf->worlds.at[i]);
	if (!sees || rays_available() || !rays_check(&why))
		return;
	(void)fail(&text, why.status, "%s: lidars and cameras do not measure: %s", server->def.world_path, why.text);
	server_warn(server, text.text);
}

static void server_warn_of_ignored(struct troupe_server *server)
{
	struct ignored_list list = {0};
	ignored_find(server->sdf, sensor_is_simulated, server->plugins, &list);
	for (uint32_t i = 0; i < list.all.count; i++)
		if (!list.all.at[i].aside && !(server->def.logs_obeyed && list.all.at[i].is_log))
			server_warn(server, ignored_warning(&list, &list.all.at[i]));
	ignored_fini(&list);
	server_warn_of_blindness(server);
}

/* A state or recording comes from somebody, as a world does, and has the files that it needs. So its author does not
 * choose further folders of this machine, except for what is only shown. */
static void server_allow_files(struct troupe_server *server, const struct sdf_options *options)
{
	const struct troupe_server_def *def = &server->def;
	struct sdf_options given = *options;
	given.resource_paths = server->given_paths;
	given.use_environment = true;
	sdf_allow(def->resume_path ? def->resume_path : def->world_path, &given, &server->places);
	sdf_allow(def->world_path, options, &server->shown_places);
	files_allow_all(&server->shown_places, &server->places);
	server->files.places = &server->places;
}

static troupe_status server_load_sdf(struct troupe_server *server, struct troupe_error *error)
{
	struct troupe_server_def *def = &server->def;
	struct sdf_options options = {.resource_paths = def->resource_paths,
		.use_environment = !def->resume_path,
		.files = &server->files,
		.importer = server->importer,
		.visuals = SDF_VISUALS_IF_SEEN,
		.leave_far = !def->load_all && !def->ignore_levels,
		.forget_far = !def->record_path, /* recordings get all files */
		.apart_far = def->network != NULL,
		.find = !def->resume_path && !def->world_text};
	if (def->world_text)
		files_add(&server->files, def->world_path, def->world_text, strlen(def->world_text));
	server_allow_files(server, &options);
	troupe_status status = sdf_load_file(def->world_path, &options, &server->sdf, error);
	for (uint32_t i = 0; server->sdf && i < server->sdf->messages.count; i++)
		if (server->sdf->messages.at[i].severity == SDF_WARNING)
			server_warn(server, server->sdf->messages.at[i].text);
	if (server->sdf) {
		def->world_path = server->sdf->path;            /* the path where it was found */
		files_squeeze(&server->files, def->world_path); /* only states, recordings and peers need it */
		server_warn_of_ignored(server);
	}
	if (!status && !server->sdf->worlds.count)
		status = fail(error, TROUPE_EWORLD, "%s: no <world> in it", def->world_path);
	return status;
}

static uint32_t server_threads_of(const struct server_world *world)
{
	const struct troupe_server *server = world->server;
	uint32_t mobile = world_mobile_count(world), share = world_cores(world);
	if (server->network)
		return network_secondaries(server->network);
	if (server->def.secondaries >= 0)
		return (uint32_t)server->def.secondaries;
	if (world->scene->secondaries != SCENE_NONE)
		return MIN(world->scene->secondaries, (uint32_t)TROUPE_SECONDARIES_MAX);
	return mobile > 1 ? MIN(MIN(share, mobile), (uint32_t)TROUPE_SECONDARIES_MAX) : 0;
}

/* Either every world has secondary threads, or no world has: one thread cannot do both. */
static void server_set_up_worlds(struct troupe_server *server, enum physics_break rule)
{
	bool threads = false;
	for (uint32_t i = 0; i < server->world_count; i++)
		threads |= server_threads_of(&server->worlds[i]) > 0;
	for (uint32_t i = 0; i < server->world_count; i++)
		world_set_up(&server->worlds[i], MAX(server_threads_of(&server->worlds[i]), (uint32_t)threads), rule);
}

/* --- asking between steps ----------------------------------------------------------------------------------------- */

void server_wake(struct troupe_server *server)
{
	eventcount_advance(&server->woken);
}

/* Publishes a snapshot of the present state between runs, when no runner does it. */
static void server_publish_unseen(struct troupe_server *server)
{
	if (!atomic_load_explicit(&server->unseen, memory_order_acquire))
		return;
	pthread_mutex_lock(&server->lock);
	for (uint32_t i = 0; !server->running && i < server->world_count; i++)
		world_publish(&server->worlds[i], false);
	if (!server->running)
		atomic_store_explicit(&server->unseen, false, memory_order_release);
	pthread_mutex_unlock(&server->lock);
}

const struct troupe_scene *troupe_server_scene(struct troupe_server *server, uint32_t world)
{
	if (world >= server->world_count)
		return NULL;
	struct server_world *w = &server->worlds[world];
	server_publish_unseen(server);
	snapshots_ask(w->snapshots);
	pthread_mutex_lock(&w->info_lock);
	const struct troupe_scene *view = w->info ? scene_info_hold(w->info) : NULL;
	pthread_mutex_unlock(&w->info_lock);
	return view;
}

void troupe_server_snapshot(
	struct troupe_server *server, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx)
{
	server_publish_unseen(server);
	for (uint32_t i = 0; i < server->world_count; i++)
		snapshots_read(server->worlds[i].snapshots, fn, ctx);
}

void troupe_server_look(
	struct troupe_server *server, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx)
{
	for (uint32_t i = 0; i < server->world_count; i++)
		fn(ctx, world_look(&server->worlds[i]));
}

double troupe_server_step_s(const struct troupe_server *server, uint32_t world)
{
	return world < server->world_count ? primary_step_s(server->worlds[world].primary) : 0;
}

/* --- life ------------------------------------------------------------------------------------------------------- */

static troupe_status server_set_up_network(struct troupe_server *server, struct troupe_error *error)
{
	if (server->sdf->worlds.count != 1) {
		network_refuse(server->def.network);
		return fail(error, TROUPE_EWORLD, "%s: %u worlds: expected one in networked mode",
			server->def.world_path, server->sdf->worlds.count);
	}
	return network_create(server, &server->network, error);
}

/* The part of the setup that does not need the network. */
static troupe_status server_open_world(
	struct troupe_server *server, enum physics_break *ret_rule, struct troupe_error *error)
{
	troupe_status status = physics_init_process(error);
	if (!status)
		status = server_break_rule(server->def.break_rule, ret_rule, error);
	if (!status)
		status = server_find_policy(server, error);
	if (!status && server->def.resume_path)
		status = server_open_save(server, error);
	if (!status)
		status = server_load_sdf(server, error);
	if (!status)
		status = systems_check_worlds(server->sdf, error);
	return status ? status : programs_read(server->sdf, NULL, NULL, &server->programs, error);
}

static troupe_status server_set_up(struct troupe_server *server, struct troupe_error *error)
{
	enum physics_break rule;
	troupe_status status = server_open_world(server, &rule, error);
	if (status)
		network_refuse(server->def.network);
	else if (server->def.network)
		status = server_set_up_network(server, error);
	if (status)
		return status;
	server->world_count = server->sdf->worlds.count;
	server->worlds = mem_alloc_lines(server->world_count * sizeof *server->worlds);
	for (uint32_t i = 0; i < server->world_count && !status; i++)
		status = world_init(&server->worlds[i], server, i, error);
	if (!status)
		status = server_pin(server, error);
	if (status)
		return status;
	server_set_up_worlds(server, rule);
	server->clients = clients_create(server);
	server->background = background_create();
	server->barriers = barriers_create(server);
	publish_add_rows(server);
	if (server->def.resume_path)
		status = server_resume(server, error);
	if (!status)
		status = costs_create(server, error);
	return status ? status : record_create(server, error);
}

/* An error in the world of a saved state names the world's file; adds the name of the saved state to it. */
static void server_tell_why(
	const struct troupe_server_def *def, const struct troupe_error *why, struct troupe_error *error)
{
	bool named = !def->resume_path || !strncmp(why->text, def->resume_path, strlen(def->resume_path));
	(void)fail(error, why->status, named ? "%s%s" : "%s: %s", named ? "" : def->resume_path, why->text);
}

troupe_status troupe_server_create(
	const struct troupe_server_def *def, struct troupe_server **ret_server, struct troupe_error *error)
{
	if (!def || !def->resume_bytes || def->stamp_ != STAMP)
		return server_create(def, NULL, 0, ret_server, error);
	struct troupe_server_def named = *def;
	char *saved = mem_alloc(def->resume_count + 1);
	memcpy(saved, def->resume_bytes, def->resume_count);
	named.resume_path = def->resume_path ? def->resume_path : "the state in memory";
	return server_create(&named, saved, def->resume_count, ret_server, error);
}

void server_refuse(const struct troupe_server_def *def)
{
	if (def && def->stamp_ == STAMP)
		network_refuse(def->network);
}

troupe_status server_create(const struct troupe_server_def *def, char *saved, size_t saved_count,
	struct troupe_server **ret_server, struct troupe_error *error)
{
	return server_create_apart(def, saved, saved_count, NULL, ret_server, error);
}

troupe_status server_create_apart(const struct troupe_server_def *def, char *saved, size_t saved_count,
	const struct files_source *source, struct troupe_server **ret_server, struct troupe_error *error)
{
	troupe_status status = server_check_def(def, error);
	if (status) {
		server_refuse(def);
		free(saved);
		return status;
	}
	struct troupe_server *server = mem_alloc(sizeof *server);
	server->def = *def;
	server->given_paths = def->resource_paths;
	pthread_mutex_init(&server->lock, NULL);
	pthread_mutex_init(&server->warn_lock, NULL);
	atomic_store(&server->unseen, true);
	server->importer = importer_create();
	server->plugins = plugins_create(def->plugin_paths);
	server->saved = saved;
	server->saved_count = saved_count;
	server->source = source;
	struct troupe_error why = {0};
	status = def->plugin_file ? plugins_prefer(server->plugins, def->plugin_file, &why) : TROUPE_OK;
	if (!status)
		status = server_set_up(server, &why);
	if (status) {
		server_tell_why(def, &why, error);
		troupe_server_destroy(server);
		return status;
	}
	*ret_server = server;
	return TROUPE_OK;
}

void troupe_server_destroy(struct troupe_server *server)
{
	if (!server)
		return;
	if (server->network && server->runners)
		runners_stop(server->runners, STOP_DONE, "done");
	importer_give_up(server->importer);
	background_destroy(server->background);
	runners_destroy(server->runners);
	barriers_destroy(server->barriers);
	clients_destroy(server->clients);
	network_destroy(server->network);
	record_destroy(server->recorder);
	costs_destroy(server->costs);
	for (uint32_t i = 0; i < server->world_count; i++)
		world_fini(&server->worlds[i]);
	free(server->worlds);
	programs_fini(&server->programs);
	sdf_free(server->sdf);
	files_fini(&server->files);
	files_places_fini(&server->places);
	files_places_fini(&server->shown_places);
	importer_destroy(server->importer);
	plugins_destroy(server->plugins);
	free(server->saved);
	free(server->saved_path);
	for (uint32_t i = 0; i < server->folders.count; i++)
		free(server->folders.at[i]);
	vec_free(&server->folders);
	pthread_mutex_destroy(&server->lock);
	pthread_mutex_destroy(&server->warn_lock);
	free(server);
}

bool troupe_server_is_preparing(const struct troupe_server *server)
{
	return server->background && background_is_busy(server->background);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

struct troupe_progress troupe_server_progress(const struct troupe_server *server)
{
	struct troupe_progress progress = {.paused = true};
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct primary_progress of = primary_progress(server->worlds[i].primary);
		progress.steps = MAX(progress.steps, of.steps);
		progress.time_s = i ? progress.time_s : of.time_s;
		progress.moves += of.moves;
		progress.levels_loaded += of.levels;
		progress.paused &= of.paused;
	}
	progress.awaited = server->network ? network_awaited(server->network) : 0;
	return progress;
}

uint32_t troupe_server_world_count(const struct troupe_server *server)
{
	return server->world_count;
}

const char *troupe_server_world_name(const struct troupe_server *server, uint32_t world)
{
	return world < server->world_count ? server->worlds[world].scene->name : NULL;
}

uint64_t troupe_server_seed(const struct troupe_server *server)
{
	return server->def.seed;
}

uint32_t troupe_server_programs(const struct troupe_server *server, const struct troupe_program **ret_programs)
{
	*ret_programs = server->programs.at;
	return server->programs.count;
}

uint32_t troupe_server_secondaries(const struct troupe_server *server, uint32_t world)
{
	return world < server->world_count ? server->worlds[world].threads : 0;
}
