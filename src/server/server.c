#include "server/internal.h"

#include "base/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { STAMP = 0x74726f75 };

struct troupe_server_def troupe_server_def_default(void)
{
	return (struct troupe_server_def){.secondaries = TROUPE_SECONDARIES_AUTO, .stamp_ = STAMP};
}

/* --- checking the definition ------------------------------------------------------------------------------------ */

static bool sane(double value, double max)
{
	return value >= 0 && value <= max;
}

static troupe_status check_def(const struct troupe_server_def *def, struct troupe_error *error)
{
	if (!def || def->stamp_ != STAMP)
		return fail(error, TROUPE_EINVAL, "server definition not made by troupe_server_def_default()");
	if (!def->world_path)
		return fail(error, TROUPE_EINVAL, "no world: expected a path in world_path");
	if (def->secondaries < TROUPE_SECONDARIES_AUTO || def->secondaries > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%d secondaries: expected 0 to %d", def->secondaries,
			TROUPE_SECONDARIES_MAX);
	if (def->pace == TROUPE_PACE_FACTOR && !sane(def->rtf, 1e6))
		return fail(error, TROUPE_EINVAL, "real-time factor %g: expected 0 to 1e6", def->rtf);
	if (def->pace == TROUPE_PACE_RATE && !(def->rate_hz > 0 && def->rate_hz <= 1e12))
		return fail(error, TROUPE_EINVAL, "update rate %g Hz: expected a positive number", def->rate_hz);
	if (!sane(def->initial_time_s, 1e9))
		return fail(error, TROUPE_EINVAL, "initial time %g s: expected 0 to 1e9", def->initial_time_s);
	return TROUPE_OK;
}

static troupe_status parse_rule(const char *name, enum physics_break *ret_rule, struct troupe_error *error)
{
	static const struct {
		const char *name;
		enum physics_break rule;
	} rules[] = {{"random", PHYSICS_BREAK_RANDOM}, {"pairs", PHYSICS_BREAK_PAIRS},
		{"rotation", PHYSICS_BREAK_ROTATION}, {"reference", PHYSICS_BREAK_REFERENCE}};
	*ret_rule = PHYSICS_BREAK_NOTHING;
	if (!name)
		return TROUPE_OK;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (!strcmp(rules[i].name, name)) {
			*ret_rule = rules[i].rule;
			return TROUPE_OK;
		}
	return fail(error, TROUPE_EINVAL, "rule '%s': expected random, pairs, rotation or reference", name);
}

/* --- loading ---------------------------------------------------------------------------------------------------- */

static void warn(const struct troupe_server_def *def, const char *text)
{
	if (def->on_warning)
		def->on_warning(def->ctx, text);
}

static troupe_status load_sdf(struct troupe_server *server, struct troupe_error *error)
{
	const struct troupe_server_def *def = &server->def;
	struct sdf_options options = {.resource_paths = def->resource_paths, .use_environment = true};
	troupe_status status = def->world_text ? sdf_load_text(def->world_text, strlen(def->world_text),
							 def->world_path, &options, &server->sdf, error)
					       : sdf_load_file(def->world_path, &options, &server->sdf, error);
	for (uint32_t i = 0; server->sdf && i < server->sdf->messages.count; i++)
		if (server->sdf->messages.at[i].severity == SDF_WARNING)
			warn(def, server->sdf->messages.at[i].text);
	if (status)
		return status;
	if (!server->sdf->worlds.count)
		return fail(error, TROUPE_EWORLD, "%s: no <world> in it", def->world_path);
	if (server->sdf->worlds.count > 1) {
		struct text text = {0};
		text_add(&text, "%s:%u: %u worlds in one file: only the first, '%s', is simulated", def->world_path,
			server->sdf->worlds.at[1].line, server->sdf->worlds.count, server->sdf->worlds.at[0].name);
		warn(def, text.at);
		text_fini(&text);
	}
	return TROUPE_OK;
}

static troupe_status load_world(struct troupe_server *server, struct troupe_error *error)
{
	const struct troupe_server_def *def = &server->def;
	struct scene_options options = {.ignore_levels = def->ignore_levels};
	troupe_status status = load_sdf(server, error);
	if (!status)
		status = scene_create(&server->sdf->worlds.at[0], &options, &server->scene, error);
	if (!status)
		status = systems_create(server->scene, &server->systems, error);
	if (status)
		return status;
	for (uint32_t i = 0; i < server->scene->warnings.count; i++)
		warn(def, server->scene->warnings.at[i]);
	for (uint32_t i = 0; i < server->systems->warnings.count; i++)
		warn(def, server->systems->warnings.at[i]);
	return TROUPE_OK;
}

/* --- setting up ------------------------------------------------------------------------------------------------- */

static uint32_t cores(void)
{
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : (uint32_t)CPU_COUNT(&allowed);
}

static void choose_secondaries(struct troupe_server *server)
{
	const struct scene *scene = server->scene;
	uint32_t movers = 0;
	for (uint32_t m = 0; m < scene->model_count; m++) {
		const struct scene_model *model = &scene->models[m];
		movers += model->performer || !model->is_static;
	}
	if (server->def.secondaries >= 0)
		server->threads = (uint32_t)server->def.secondaries;
	else if (scene->secondaries != SCENE_NONE)
		server->threads = MIN(scene->secondaries, (uint32_t)TROUPE_SECONDARIES_MAX);
	else
		server->threads = movers > 1 ? MIN(MIN(cores(), movers), (uint32_t)TROUPE_SECONDARIES_MAX) : 0;
	server->secondaries = MAX(server->threads, 1u);
}

static void warn_of_pins(const struct troupe_server *server)
{
	const struct scene *scene = server->scene;
	for (uint32_t i = 0; i < scene->model_count + scene->level_count; i++) {
		bool model = i < scene->model_count;
		uint32_t pin = model ? scene->models[i].pin : scene->levels[i - scene->model_count].pin;
		if (pin <= server->secondaries)
			continue;
		struct text text = {0};
		text_add(&text, "%s: %s '%s' is to be on secondary %u, but there are %u: it goes anywhere",
			server->def.world_path, model ? "performer" : "level",
			model ? scene->models[i].name : scene->levels[i - scene->model_count].name, pin,
			server->secondaries);
		warn(&server->def, text.at);
		text_fini(&text);
	}
}

static enum physics_solver choose_solver(const struct scene *scene)
{
	const char *type = scene->sdf->physics.solver;
	if (!type)
		return PHYSICS_SOLVER_AUTO;
	return !strcmp(type, "world")   ? PHYSICS_SOLVER_WORLD
	       : !strcmp(type, "quick") ? PHYSICS_SOLVER_QUICK
					: PHYSICS_SOLVER_AUTO;
}

static void set_up_shared(struct troupe_server *server, enum physics_break rule)
{
	struct shared *shared = &server->shared;
	struct scene *scene = server->scene;
	shared->scene = scene;
	shared->systems = server->systems;
	shared->state = systems_create_state(server->systems);
	shared->control.joints = mem_alloc_lines(scene->room.joints * sizeof *shared->control.joints);
	shared->control.bodies = mem_alloc_lines(scene->room.bodies * sizeof *shared->control.bodies);
	shared->boxes = mem_alloc_lines(scene->room.models * sizeof *shared->boxes);
	shared->physics = (struct physics_options){
		.solver = choose_solver(scene), .rule = rule, .sleepless = server->def.sleepless};
	touch_init(&shared->touch, scene);
	tracker_init(&shared->tracker, scene);
}

static void on_event(void *ctx, uint64_t step, const struct plan_event *event)
{
	static const troupe_event_kind kinds[] = {
		[PLAN_MOVE] = TROUPE_EVENT_MOVE,
		[PLAN_LOAD] = TROUPE_EVENT_LOAD,
		[PLAN_UNLOAD] = TROUPE_EVENT_UNLOAD,
		[PLAN_GHOST_ON] = TROUPE_EVENT_GHOST_ON,
		[PLAN_GHOST_OFF] = TROUPE_EVENT_GHOST_OFF,
	};
	struct troupe_server *server = ctx;
	bool level = event->kind == PLAN_LOAD || event->kind == PLAN_UNLOAD;
	struct troupe_event out = {
		.kind = kinds[event->kind],
		.step = step,
		.name = level ? server->scene->levels[event->id].name : server->scene->models[event->id].name,
		.from = server_number(server, event->from),
		.to = server_number(server, event->to),
	};
	server->def.on_event(server->def.ctx, &out);
}

static void on_reply(void *ctx, uint64_t step, const char *topic, troupe_status status, const char *text)
{
	struct troupe_server *server = ctx;
	struct troupe_reply reply = {step, topic, status, text};
	server->def.on_reply(server->def.ctx, &reply);
}

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct troupe_server *server = ctx;
	server->def.on_hash(server->def.ctx, step, hash);
}

static void set_up_primary(struct troupe_server *server)
{
	const struct troupe_server_def *def = &server->def;
	struct primary_options options = {
		.secondaries = server->secondaries,
		.rtf = def->pace == TROUPE_PACE_FACTOR ? def->rtf : server->scene->real_time_factor,
		.rate_hz = def->pace == TROUPE_PACE_RATE ? def->rate_hz : 0,
		.initial_time_s = def->initial_time_s,
		.paused = def->paused,
		.chaos = def->chaos,
		.chaos_seed = def->chaos_seed,
		.hash_every = def->hash_every,
		.on_event = def->on_event ? on_event : NULL,
		.on_hash = def->on_hash ? on_hash : NULL,
		.on_reply = def->on_reply ? on_reply : NULL,
		.edit = {def->world_path, def->resource_paths},
		.ctx = server,
	};
	primary_init(&server->primary, &options, &server->shared);
	server->ready = true;
}

/* --- snapshots -------------------------------------------------------------------------------------------------- */

/* Models in snapshots and reports: those that move, and performers. */
bool server_shows(const struct troupe_server *server, uint32_t model)
{
	const struct scene_model *m = &server->scene->models[model];
	return !m->absent && (m->performer || m->body_count);
}

static void count_shown(const struct troupe_server *server, uint32_t *ret_models, size_t *ret_name_bytes)
{
	*ret_models = 0;
	*ret_name_bytes = 0;
	for (uint32_t m = 0; m < server->scene->model_count; m++) {
		if (!server_shows(server, m))
			continue;
		++*ret_models;
		*ret_name_bytes += strlen(server->scene->models[m].name) + 1;
	}
}

/* Names are copied: the model may be gone while somebody still reads the snapshot. */
static void fill_models(struct troupe_server *server, struct troupe_model_state *models, char *names)
{
	for (uint32_t m = 0, i = 0; m < server->scene->model_count; m++) {
		if (!server_shows(server, m))
			continue;
		const char *name = server->scene->models[m].name;
		struct pose pose = state_model_pose(server->shared.state, m, false);
		models[i++] = (struct troupe_model_state){
			.name = strcpy(names, name),
			.pose = {pose.p.x, pose.p.y, pose.p.z, pose.q.w, pose.q.x, pose.q.y, pose.q.z},
			.secondary = server_number(server, server->primary.plan.now.model[m]),
			.loaded = server->primary.plan.active[m],
			.asleep = primary_rests(&server->primary, m),
		};
		names += strlen(name) + 1;
	}
}

static void fill_busy(struct troupe_server *server, double *busy)
{
	struct server_counts *counts = &server->counts;
	uint64_t now = clock_now_ns();
	double passed = counts->at_ns ? (double)(now - counts->at_ns) : 0;
	counts->at_ns = now;
	for (uint32_t i = 0; i < server->secondaries; i++) {
		uint64_t total = server->primary.runners[i].busy_ns;
		busy[i] = passed > 0 ? (double)(total - counts->busy_ns[i]) / passed : 0;
		counts->busy_ns[i] = total;
	}
}

/* Between steps, before the coming turn: state is that of the last merged step. */
static void publish(struct troupe_server *server, bool running)
{
	struct observe_arrays arrays;
	uint32_t model_count;
	size_t name_bytes;
	count_shown(server, &model_count, &name_bytes);
	struct troupe_snapshot *snapshot = observe_begin(server->observe, !running, model_count, name_bytes, &arrays);
	if (!snapshot)
		return;
	fill_models(server, arrays.models, arrays.names);
	fill_busy(server, arrays.busy);
	snapshot->step = server->primary.lockstep.number;
	snapshot->time_s = primary_time_s(&server->primary);
	snapshot->paused = server->primary.paused;
	snapshot->model_count = model_count;
	snapshot->secondaries = server->secondaries;
	observe_publish(server->observe, snapshot, !running);
}

static void on_step(void *ctx)
{
	struct troupe_server *server = ctx;
	if (observe_wanted(server->observe))
		publish(server, true);
}

static void on_watch(void *ctx)
{
	struct troupe_server *server = ctx;
	if (server->def.on_watch)
		server->def.on_watch(server->def.ctx);
}

void troupe_server_snapshot(
	struct troupe_server *server, void (*fn)(void *ctx, const struct troupe_snapshot *snapshot), void *ctx)
{
	observe_read(server->observe, fn, ctx);
}

/* --- life ------------------------------------------------------------------------------------------------------- */

static troupe_status set_up(struct troupe_server *server, struct troupe_error *error)
{
	enum physics_break rule;
	troupe_status status = physics_init_process(error);
	if (!status)
		status = parse_rule(server->def.break_rule, &rule, error);
	if (!status)
		status = load_world(server, error);
	if (status)
		return status;
	choose_secondaries(server);
	warn_of_pins(server);
	set_up_shared(server, rule);
	set_up_primary(server);
	server->counts.busy_ns = mem_alloc(server->secondaries * sizeof *server->counts.busy_ns);
	server->observe = observe_create(server->secondaries);
	publish(server, false);
	struct crew_watch watch = {on_watch, on_step, server};
	return crew_create(
		&server->primary, &server->shared, server->threads, &transport_inproc, &watch, &server->crew, error);
}

troupe_status troupe_server_create(
	const struct troupe_server_def *def, struct troupe_server **ret_server, struct troupe_error *error)
{
	troupe_status status = check_def(def, error);
	if (status)
		return status;
	struct troupe_server *server = mem_alloc(sizeof *server);
	server->def = *def;
	status = set_up(server, error);
	if (status) {
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
	crew_destroy(server->crew);
	if (server->ready) {
		primary_fini(&server->primary);
		touch_fini(&server->shared.touch);
		tracker_fini(&server->shared.tracker);
	}
	observe_destroy(server->observe);
	state_destroy(server->shared.state);
	free(server->shared.control.joints);
	free(server->shared.control.bodies);
	free(server->shared.boxes);
	free(server->counts.busy_ns);
	systems_destroy(server->systems);
	scene_destroy(server->scene);
	sdf_free(server->sdf);
	free(server);
}

troupe_status troupe_server_run(
	struct troupe_server *server, const struct troupe_limits *limits, struct troupe_error *error)
{
	struct primary *primary = &server->primary;
	if (primary->status)
		return fail(error, TROUPE_EINVAL, "this server has failed before: %s", primary->error.text);
	if (limits->until_s < 0 || isnan(limits->until_s))
		return fail(error, TROUPE_EINVAL, "until %g s: expected a time of 0 or more", limits->until_s);
	primary->options.iterations = limits->iterations;
	primary->options.until_s = limits->until_s;
	primary->ended = false;
	troupe_status status = crew_run(server->crew, error);
	atomic_store(&primary->stop, false);
	publish(server, false); /* who asks after a run sees its end */
	return status;
}

void troupe_server_stop(struct troupe_server *server)
{
	atomic_store(&server->primary.stop, true);
}

troupe_status troupe_server_command(
	struct troupe_server *server, uint64_t step, const char *topic, const char *text, struct troupe_error *error)
{
	struct command command;
	troupe_status status = command_parse(server->systems, server->scene->name, step, topic, text,
		&server->primary.schedule.may_create, &command, error);
	return status ? status : schedule_post(&server->primary.schedule, &command, error);
}

struct troupe_progress troupe_server_progress(const struct troupe_server *server)
{
	const struct primary *primary = &server->primary;
	struct troupe_progress progress = {
		.steps = atomic_load_explicit(&primary->seen_steps, memory_order_relaxed),
		.moves = atomic_load_explicit(&primary->seen_moves, memory_order_relaxed),
		.levels_loaded = atomic_load_explicit(&primary->seen_levels, memory_order_relaxed),
		.time_s = atomic_load_explicit(&primary->seen_time_s, memory_order_relaxed),
	};
	return progress;
}

uint64_t troupe_server_hash(const struct troupe_server *server)
{
	return state_hash(server->shared.state) + plan_hash(&server->primary.plan) + edit_hash(&server->primary.edit);
}

const char *troupe_server_world_name(const struct troupe_server *server)
{
	return server->scene->name;
}

uint32_t troupe_server_secondaries(const struct troupe_server *server)
{
	return server->threads;
}
