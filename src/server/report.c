/* The report: first a struct of numbers that may outlive the server, then JSON made from it. JSON members have a
 * fixed order, and numbers have their shortest exact form. */
#include "base/json_out.h"
#include "mesh/importer.h"
#include "server/network.h"
#include "server/read.h"
#include "server/scene_info.h"

#include <stdlib.h>
#include <sys/resource.h>

struct whole_report {
	struct troupe_report shown; /* first: a troupe_report is its whole_report */
	struct arena arena;
};

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static uint64_t server_report_peak_memory_bytes(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

/* The names of a secondary's levels, or of its models that can move. */
static const char *const *server_report_names_of(
	const struct server_world *world, uint32_t secondary, bool levels, struct arena *arena, uint32_t *ret_count)
{
	const struct plan *plan = primary_plan(world->primary);
	const struct assignment *now = &plan->placement.ownership.now;
	const struct scene *scene = world->scene;
	uint32_t all = levels ? scene->level_count : scene->model_count, count = 0;
	const char **names = arena_array(arena, const char *, all);
	for (uint32_t i = 0; i < all; i++)
		if (levels ? now->level[i] == secondary : now->model[i] == secondary && plan->loading.is_mover[i])
			names[count++] = arena_strdup(arena, levels ? scene->levels[i].name : scene->models[i].name);
	*ret_count = count;
	return names;
}

static void server_report_fill_secondary(const struct server_world *world, uint32_t index, uint64_t critical_ns,
	struct arena *arena, struct troupe_report_secondary *to)
{
	const struct secondary_stats *stats = primary_stats(world->primary, index);
	const struct troupe_server *server = world->server;
	struct physics_stats physics = {0};
	if (server->network)
		physics = network_physics_stats(server->network, index);
	else if (server->runners)
		physics = runners_physics_stats(server->runners, world->index, index);
	*to = (struct troupe_report_secondary){.number = world_number(world, index + 1),
		.steps = stats->steps,
		.busy_s = (double)stats->busy_ns * 1e-9,
		.waiting_s = (double)stats->waited_ns * 1e-9,
		.critical_share = critical_ns ? (double)stats->critical_ns / (double)critical_ns : 0,
		.contacts = physics.contacts,
		.groups = physics.groups,
		.regroups = physics.regroups,
		.helped = physics.helped,
		.exact = physics.exact,
		.soft = physics.soft,
		.by_ode_asked = physics.left[PHYSICS_LEFT_ASKED],
		.by_ode_large = physics.left[PHYSICS_LEFT_LARGE],
		.by_ode_unsolved = physics.left[PHYSICS_LEFT_UNSOLVED]};
	to->levels = server_report_names_of(world, index + 1, true, arena, &to->level_count);
	to->performers = server_report_names_of(world, index + 1, false, arena, &to->performer_count);
}

static void server_report_fill_secondaries(
	const struct server_world *world, struct arena *arena, struct troupe_report_world *to)
{
	struct troupe_report_secondary *all = arena_array(arena, struct troupe_report_secondary, world->secondaries);
	uint64_t critical_ns = 0;
	for (uint32_t i = 0; i < world->secondaries; i++)
		critical_ns += primary_stats(world->primary, i)->critical_ns;
	for (uint32_t i = 0; i < world->secondaries; i++)
		server_report_fill_secondary(world, i, critical_ns, arena, &all[i]);
	to->secondary_count = world->secondaries;
	to->secondaries = all;
}

static void server_report_fill_tuning(const struct server_world *world, struct troupe_report_tuning *to)
{
	const struct tune *tune = world->server->runners ? runners_tune(world->server->runners) : NULL;
	if (!tune)
		return;
	*to = (struct troupe_report_tuning){.given = true,
		.working = tune->chosen,
		.secondaries = tune->most,
		.trials = tune->trials,
		.changes = tune->changes,
		.together = tune->together,
		.alone_step_s = tune->alone_ns * 1e-9,
		.together_step_s = tune->together_ns * 1e-9};
}

static void server_report_fill_parts(struct server_world *world, struct arena *arena, struct troupe_report_world *to)
{
	const struct troupe_scene *view = world_view(world);
	struct troupe_model_state *models = arena_array(arena, struct troupe_model_state, view->mobile_count);
	struct troupe_odometry *odometry = arena_array(arena, struct troupe_odometry, view->mobile_count);
	struct troupe_joint_state *joints = arena_array(arena, struct troupe_joint_state, view->joint_count);
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		read_model(world, scene_info_model_at(view, i), view->models[i].name, &models[i]);
		odometry[i] = read_odometry(world, scene_info_model_at(view, i));
	}
	for (uint32_t i = 0; i < view->joint_count; i++)
		read_joint(world, scene_info_joint_at(view, i), &joints[i]);
	to->scene = scene_info_hold(view);
	to->models = models;
	to->odometry = odometry;
	to->joints = joints;
}

static void server_report_fill_totals(
	const struct server_world *world, struct arena *arena, struct troupe_report_world *to)
{
	const struct primary *primary = world->primary;
	const struct primary_counts counts = primary_counts(primary);
	double wall_s = (double)counts.wall_ns * 1e-9, paused_s = (double)counts.paused_ns * 1e-9;
	double run_s = MAX(wall_s - paused_s, 0.0);
	uint64_t steps = primary_steps(primary) - counts.first_step;
	struct unread *unread = world->scene->unread;
	const struct unread_counts meshes = unread ? unread_counts(unread) : (struct unread_counts){0};
	*to = (struct troupe_report_world){.name = arena_strdup(arena, world->scene->name),
		.steps = primary_steps(primary),
		.simulated_s = primary_time_s(primary),
		.begun_s = counts.begun_s,
		.first_step = counts.first_step,
		.first_s = counts.first_s,
		.wall_s = wall_s,
		.serial_s = world->server->runners ? (double)runners_serial_ns(world->server->runners) * 1e-9 : 0,
		.paused_s = paused_s,
		.passed_s = primary_passed_s(primary),
		.paused_steps = steps - MIN(counts.run_steps, steps),
		.rtf = run_s > 0 ? primary_passed_s(primary) / run_s : 0,
		.steps_per_s = run_s > 0 ? (double)counts.run_steps / run_s : 0,
		.hash = primary_hash(primary),
		.moves = counts.moves,
		.meetings = counts.meetings,
		.loads = counts.loads,
		.unread_meshes = meshes.meshes,
		.meshes_read = meshes.reads,
		.meshes_given_up = meshes.given_up,
		.meshes_held = meshes.read,
		.mesh_bytes = meshes.bytes,
		.created = counts.created,
		.removed = counts.removed,
		.refused_commands = counts.refused,
		.waiting_commands = counts.waiting,
		.windows = counts.windows,
		.repeated_steps = counts.repeated_steps,
		.longest_window = counts.longest_window,
		.readings = counts.readings,
		.readings_digest = counts.readings_digest};
}

static struct transport_counts server_report_bytes_of(const struct troupe_server *server)
{
	return server->runners ? runners_counts(server->runners) : (struct transport_counts){0, 0};
}

static void server_report_fill_network(
	struct troupe_server *server, struct arena *arena, struct troupe_report_network *to)
{
	network_report(server->network, server_report_bytes_of(server), to);
	struct troupe_report_member *changes = arena_array(arena, struct troupe_report_member, to->change_count);
	for (uint32_t i = 0; i < to->change_count; i++) {
		changes[i] = to->changes[i];
		changes[i].who = arena_strdup(arena, changes[i].who);
	}
	to->changes = changes;
}

struct troupe_report *troupe_server_report(struct troupe_server *server)
{
	struct whole_report *report = mem_alloc(sizeof *report);
	const struct primary *first = server->worlds[0].primary;
	struct troupe_report_world *worlds =
		arena_array(&report->arena, struct troupe_report_world, server->world_count);
	for (uint32_t i = 0; i < server->world_count; i++) {
		server_report_fill_totals(&server->worlds[i], &report->arena, &worlds[i]);
		server_report_fill_parts(&server->worlds[i], &report->arena, &worlds[i]);
		server_report_fill_tuning(&server->worlds[i], &worlds[i].tuning);
		if (server->network)
			server_report_fill_network(server, &report->arena, &worlds[i].network);
		server_report_fill_secondaries(&server->worlds[i], &report->arena, &worlds[i]);
	}
	report->shown = (struct troupe_report){.steps = primary_steps(first),
		.wall_s = (double)primary_counts(first).wall_ns * 1e-9,
		.hash = troupe_server_hash(server),
		.peak_memory_bytes = server_report_peak_memory_bytes(),
		.observed = server->def.observe,
		.world_count = server->world_count,
		.worlds = worlds};
	report->shown.textures = importer_count_textures(server->importer, &report->shown.texture_bytes);
	return &report->shown;
}

void troupe_report_free(struct troupe_report *shown)
{
	if (!shown)
		return;
	struct whole_report *report = (struct whole_report *)(void *)shown;
	for (uint32_t i = 0; i < shown->world_count; i++)
		troupe_scene_release(shown->worlds[i].scene);
	arena_fini(&report->arena);
	free(report);
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static void server_report_add_totals(
	const struct troupe_report *report, const struct troupe_report_world *world, struct json_out *out)
{
	json_out_string(out, "world", world->name);
	json_out_uint(out, "iterations", world->steps);
	json_out_double(out, "sim_time", world->simulated_s);
	json_out_double(out, "wall_time", world->wall_s);
	json_out_double(out, "paused_time", world->paused_s);
	json_out_uint(out, "paused_steps", world->paused_steps);
	json_out_double(out, "serial_time", world->serial_s);
	json_out_double(out, "rtf", world->rtf);
	json_out_double(out, "steps_per_second", world->steps_per_s);
	json_out_hash(out, "state_hash", world->hash);
	json_out_uint(out, "moves", world->moves);
	json_out_uint(out, "meetings", world->meetings);
	json_out_uint(out, "loads", world->loads);
	json_out_uint(out, "unread_meshes", world->unread_meshes);
	json_out_uint(out, "meshes_read", world->meshes_read);
	json_out_uint(out, "meshes_given_up", world->meshes_given_up);
	json_out_uint(out, "meshes_held", world->meshes_held);
	json_out_uint(out, "mesh_bytes", world->mesh_bytes);
	json_out_uint(out, "created", world->created);
	json_out_uint(out, "removed", world->removed);
	json_out_uint(out, "refused_commands", world->refused_commands);
	json_out_uint(out, "waiting_commands", world->waiting_commands);
	json_out_uint(out, "readings", world->readings);
	json_out_hash(out, "readings_digest", world->readings_digest);
	json_out_uint(out, "peak_memory_bytes", report->peak_memory_bytes);
	json_out_uint(out, "textures", report->textures);
	json_out_uint(out, "texture_bytes", report->texture_bytes);
}

static void server_report_add_odometry(const struct troupe_odometry *odometry, struct json_out *out)
{
	json_out_object(out, "odometry");
	json_out_double(out, "x", odometry->x);
	json_out_double(out, "y", odometry->y);
	json_out_double(out, "yaw", odometry->yaw);
	json_out_double(out, "linear", odometry->linear);
	json_out_double(out, "angular", odometry->angular);
	json_out_end(out);
	json_out_object(out, "drift");
	json_out_double(out, "position", odometry->drift_m);
	json_out_double(out, "yaw", odometry->drift_rad);
	json_out_double(out, "tilt", odometry->tilt_rad);
	json_out_double(out, "height", odometry->height_m);
	json_out_end(out);
}

static void server_report_add_joint(const struct troupe_scene_joint *joint, const struct troupe_joint_state *state,
	bool efforts, struct json_out *out)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", joint->name);
	json_out_doubles(out, "position", state->position, joint->axis_count);
	json_out_doubles(out, "velocity", state->velocity, joint->axis_count);
	if (efforts)
		json_out_doubles(out, "effort", state->effort, joint->axis_count);
	json_out_end(out);
}

/* Only of a model with a joint that moves. */
static void server_report_add_joints(
	const struct troupe_report_world *world, const struct troupe_scene_model *m, bool efforts, struct json_out *out)
{
	bool begun = false;
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		if (!world->scene->joints[j].axis_count)
			continue;
		if (!begun)
			json_out_array(out, "joints");
		begun = true;
		server_report_add_joint(&world->scene->joints[j], &world->joints[j], efforts, out);
	}
	if (begun)
		json_out_end(out);
}

static void server_report_add_model(
	const struct troupe_report_world *world, uint32_t model, bool efforts, struct json_out *out)
{
	const struct troupe_scene_model *m = &world->scene->models[model];
	const struct troupe_model_state *state = &world->models[model];
	const double pose[7] = {state->pose.x, state->pose.y, state->pose.z, state->pose.qw, state->pose.qx,
		state->pose.qy, state->pose.qz};
	const double twist[6] = {state->twist.linear.x, state->twist.linear.y, state->twist.linear.z,
		state->twist.angular.x, state->twist.angular.y, state->twist.angular.z};
	json_out_object(out, NULL);
	json_out_string(out, "name", m->name);
	json_out_doubles(out, "pose", pose, 7);
	json_out_doubles(out, "twist", twist, 6);
	json_out_bool(out, "asleep", state->asleep);
	json_out_uint(out, "id", m->id);
	if (world->odometry[model].given)
		server_report_add_odometry(&world->odometry[model], out);
	server_report_add_joints(world, m, efforts, out);
	json_out_end(out);
}

static void server_report_add_models(const struct troupe_report_world *world, bool efforts, struct json_out *out)
{
	bool begun = false;
	json_out_array(out, "models");
	for (uint32_t m = 0; m < world->scene->mobile_count; m++) {
		if (world->scene->models[m].is_static)
			continue;
		if (!begun)
			json_out_lines(out);
		begun = true;
		server_report_add_model(world, m, efforts, out);
	}
	json_out_end(out);
}

static void server_report_add_secondary(const struct troupe_report_secondary *secondary, struct json_out *out)
{
	json_out_object(out, NULL);
	json_out_uint(out, "secondary", secondary->number);
	json_out_strings(out, "levels", secondary->levels, secondary->level_count);
	json_out_strings(out, "performers", secondary->performers, secondary->performer_count);
	json_out_uint(out, "steps", secondary->steps);
	json_out_double(out, "busy_time", secondary->busy_s);
	json_out_double(out, "waiting_time", secondary->waiting_s);
	json_out_double(out, "critical_share", secondary->critical_share);
	json_out_uint(out, "contacts", secondary->contacts);
	json_out_uint(out, "groups", secondary->groups);
	json_out_uint(out, "regroups", secondary->regroups);
	json_out_uint(out, "helped", secondary->helped);
	json_out_uint(out, "islands_exact", secondary->exact);
	json_out_uint(out, "islands_soft", secondary->soft);
	json_out_object(out, "islands_by_ode");
	json_out_uint(out, "asked", secondary->by_ode_asked);
	json_out_uint(out, "too_large", secondary->by_ode_large);
	json_out_uint(out, "not_solved", secondary->by_ode_unsolved);
	json_out_end(out);
	json_out_end(out);
}

const char *troupe_member_change_name(enum troupe_member_change change)
{
	static const char *const names[] = {
		[TROUPE_MEMBER_CAME] = "came", [TROUPE_MEMBER_LEFT] = "left", [TROUPE_MEMBER_LOST] = "lost"};
	return (size_t)change < ARRAY_LEN(names) ? names[change] : "?";
}

static void server_report_add_change(const struct troupe_report_member *change, struct json_out *out)
{
	json_out_object(out, NULL);
	json_out_string(out, "change", troupe_member_change_name(change->change));
	json_out_string(out, "who", change->who);
	json_out_uint(out, "step", change->step);
	json_out_uint(out, "repeated_steps", change->repeated_steps);
	json_out_double(out, "stood_still_s", change->stood_still_s);
	json_out_end(out);
}

static void server_report_add_network(const struct troupe_report_network *network, struct json_out *out)
{
	double bytes = (double)network->step_bytes + (double)network->ack_bytes;
	json_out_object(out, "network");
	json_out_uint(out, "bytes_sent", network->bytes_sent);
	json_out_uint(out, "bytes_received", network->bytes_received);
	json_out_uint(out, "step_bytes", network->step_bytes);
	json_out_uint(out, "ack_bytes", network->ack_bytes);
	json_out_uint(out, "robot_steps", network->robot_steps);
	json_out_double(
		out, "bytes_per_robot_step", network->robot_steps ? bytes / (double)network->robot_steps : 0);
	json_out_double(out, "largest_part_s", network->largest_part_s);
	json_out_uint(out, "term", network->term);
	json_out_array(out, "changes");
	for (uint32_t i = 0; i < network->change_count; i++)
		server_report_add_change(&network->changes[i], out);
	json_out_end(out);
	json_out_end(out);
}

static void server_report_add_windows(const struct troupe_report_world *world, struct json_out *out)
{
	json_out_object(out, "windows");
	json_out_uint(out, "count", world->windows);
	json_out_uint(out, "longest", world->longest_window);
	json_out_uint(out, "repeated_steps", world->repeated_steps);
	json_out_end(out);
}

static void server_report_add_tuning(const struct troupe_report_tuning *tuning, struct json_out *out)
{
	json_out_object(out, "tuning");
	json_out_uint(out, "working", tuning->working);
	json_out_uint(out, "secondaries", tuning->secondaries);
	json_out_uint(out, "trials", tuning->trials);
	json_out_uint(out, "changes", tuning->changes);
	json_out_end(out);
}

static void server_report_add_world(
	const struct troupe_report *report, const struct troupe_report_world *world, struct text *text)
{
	struct json_out out = {.text = text, .spaced = true};
	json_out_object(&out, NULL);
	json_out_lines(&out);
	server_report_add_totals(report, world, &out);
	server_report_add_models(world, report->observed & TROUPE_OBSERVE_EFFORTS, &out);
	server_report_add_windows(world, &out);
	if (world->network.given)
		server_report_add_network(&world->network, &out);
	if (world->tuning.given)
		server_report_add_tuning(&world->tuning, &out);
	json_out_array(&out, "secondaries");
	json_out_lines(&out);
	for (uint32_t i = 0; i < world->secondary_count; i++)
		server_report_add_secondary(&world->secondaries[i], &out);
	json_out_end(&out);
	json_out_end(&out);
}

/* Each world as it would be alone, and so without more blanks before its lines. */
static void server_report_add_worlds(const struct troupe_report *report, struct text *text)
{
	struct json_out out = {.text = text, .spaced = true};
	json_out_object(&out, NULL);
	json_out_lines(&out);
	json_out_uint(&out, "iterations", report->steps);
	json_out_double(&out, "wall_time", report->wall_s);
	json_out_hash(&out, "state_hash", report->hash);
	json_out_array(&out, "worlds");
	for (uint32_t i = 0; i < report->world_count; i++) {
		text_add(text, i ? ",\n" : "\n");
		server_report_add_world(report, &report->worlds[i], text);
	}
	text_add(text, "\n  ");
	json_out_end(&out);
	json_out_end(&out);
}

char *troupe_report_json(const struct troupe_report *report)
{
	struct text text = {0};
	if (report->world_count == 1)
		server_report_add_world(report, &report->worlds[0], &text);
	else
		server_report_add_worlds(report, &text);
	text_add(&text, "\n");
	return text.at;
}
