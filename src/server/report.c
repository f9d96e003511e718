/* The report: first a struct of numbers that may outlive the server, then JSON made from it. JSON members have a
 * fixed order, and numbers have their shortest exact form. */
#include "server/network.h"
#include "server/read.h"
#include "server/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

struct whole_report {
	struct troupe_report shown; /* first: a troupe_report is its whole_report */
	struct arena arena;
};

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static uint64_t peak_memory_bytes(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

/* The names of a secondary's levels, or of its models that can move. */
static const char *const *names_of(
	const struct server_world *world, uint32_t secondary, bool levels, struct arena *arena, uint32_t *ret_count)
{
	const struct plan *plan = &world->primary.plan;
	const struct assignment *now = &plan->dispatch.roster.now;
	const struct scene *scene = world->scene;
	uint32_t all = levels ? scene->level_count : scene->model_count, count = 0;
	const char **names = arena_array(arena, const char *, all);
	for (uint32_t i = 0; i < all; i++)
		if (levels ? now->level[i] == secondary : now->model[i] == secondary && plan->loading.is_mover[i])
			names[count++] = arena_strdup(arena, levels ? scene->levels[i].name : scene->models[i].name);
	*ret_count = count;
	return names;
}

static void fill_secondary(const struct server_world *world, uint32_t index, uint64_t critical_ns, struct arena *arena,
	struct troupe_report_secondary *to)
{
	const struct secondary_stats *stats = &world->primary.stats[index];
	const struct troupe_server *server = world->server;
	struct physics_stats physics = {0};
	if (server->network)
		physics = network_physics_stats(server->network, index);
	else if (server->crew)
		physics = crew_physics_stats(server->crew, world->index, index);
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
	to->levels = names_of(world, index + 1, true, arena, &to->level_count);
	to->performers = names_of(world, index + 1, false, arena, &to->performer_count);
}

static void fill_secondaries(const struct server_world *world, struct arena *arena, struct troupe_report_world *to)
{
	struct troupe_report_secondary *all = arena_array(arena, struct troupe_report_secondary, world->secondaries);
	uint64_t critical_ns = 0;
	for (uint32_t i = 0; i < world->secondaries; i++)
		critical_ns += world->primary.stats[i].critical_ns;
	for (uint32_t i = 0; i < world->secondaries; i++)
		fill_secondary(world, i, critical_ns, arena, &all[i]);
	to->secondary_count = world->secondaries;
	to->secondaries = all;
}

static void fill_tuning(const struct server_world *world, struct troupe_report_tuning *to)
{
	const struct tune *tune = world->server->crew ? crew_tune(world->server->crew) : NULL;
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

static void fill_parts(struct server_world *world, struct arena *arena, struct troupe_report_world *to)
{
	const struct troupe_scene *view = world_view(world);
	struct troupe_model_state *models = arena_array(arena, struct troupe_model_state, view->mobile_count);
	struct troupe_odometry *odometry = arena_array(arena, struct troupe_odometry, view->mobile_count);
	struct troupe_joint_state *joints = arena_array(arena, struct troupe_joint_state, view->joint_count);
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		read_model(world, view_model_at(view, i), view->models[i].name, &models[i]);
		odometry[i] = read_odometry(world, view_model_at(view, i));
	}
	for (uint32_t i = 0; i < view->joint_count; i++)
		read_joint(world, view_joint_at(view, i), &joints[i]);
	to->scene = view_hold(view);
	to->models = models;
	to->odometry = odometry;
	to->joints = joints;
}

static void fill_totals(const struct server_world *world, struct arena *arena, struct troupe_report_world *to)
{
	const struct primary *primary = &world->primary;
	double wall_s = (double)(primary->end_ns - primary->begin_ns) * 1e-9;
	double paused_s = (double)primary->paused_ns * 1e-9, run_s = MAX(wall_s - paused_s, 0.0);
	bool begun = primary->begin_ns;
	uint64_t first_step = begun ? primary->begin_step : primary->lockstep.number;
	double first_s = begun ? primary->begin_time_s : primary_time_s(primary);
	uint64_t steps = primary->lockstep.number - first_step;
	*to = (struct troupe_report_world){.name = arena_strdup(arena, world->scene->name),
		.steps = primary->lockstep.number,
		.simulated_s = primary_time_s(primary),
		.begun_s = primary->options.initial_time_s,
		.first_step = first_step,
		.first_s = first_s,
		.wall_s = wall_s,
		.serial_s = world->server->crew ? (double)crew_serial_ns(world->server->crew) * 1e-9 : 0,
		.paused_s = paused_s,
		.passed_s = primary_passed_s(primary),
		.paused_steps = steps - MIN(primary->run_steps, steps),
		.rtf = run_s > 0 ? primary_passed_s(primary) / run_s : 0,
		.steps_per_s = run_s > 0 ? (double)primary->run_steps / run_s : 0,
		.hash = primary_hash(primary),
		.moves = primary->plan.dispatch.moves,
		.meetings = primary->plan.dispatch.meetings,
		.loads = primary->plan.loading.loads,
		.created = primary->edit.created,
		.removed = primary->edit.removed,
		.refused_commands = primary->refused,
		.waiting_commands = schedule_waiting(&primary->schedule),
		.windows = primary->window.counts.windows,
		.repeated_steps = primary->window.counts.repeated_steps,
		.longest_window = primary->window.counts.longest,
		.readings = primary->reading_count,
		.readings_digest = primary->reading_digest};
}

static struct transport_counts bytes_of(const struct troupe_server *server)
{
	return server->crew ? crew_counts(server->crew) : (struct transport_counts){0, 0};
}

static void report_fill_network(struct troupe_server *server, struct arena *arena, struct troupe_report_network *to)
{
	network_report(server->network, bytes_of(server), to);
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
	const struct primary *first = &server->worlds[0].primary;
	struct troupe_report_world *worlds =
		arena_array(&report->arena, struct troupe_report_world, server->world_count);
	for (uint32_t i = 0; i < server->world_count; i++) {
		fill_totals(&server->worlds[i], &report->arena, &worlds[i]);
		fill_parts(&server->worlds[i], &report->arena, &worlds[i]);
		fill_tuning(&server->worlds[i], &worlds[i].tuning);
		if (server->network)
			report_fill_network(server, &report->arena, &worlds[i].network);
		fill_secondaries(&server->worlds[i], &report->arena, &worlds[i]);
	}
	report->shown = (struct troupe_report){.steps = first->lockstep.number,
		.wall_s = (double)(first->end_ns - first->begin_ns) * 1e-9,
		.hash = troupe_server_hash(server),
		.peak_memory_bytes = peak_memory_bytes(),
		.observed = server->def.observe,
		.world_count = server->world_count,
		.worlds = worlds};
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

static void member(struct text *out, const char *name, double value)
{
	text_add(out, "  \"%s\": ", name);
	text_add_double(out, value);
	text_add(out, ",\n");
}

static void add_numbers(struct text *out, const char *before, const double *numbers, uint32_t count, const char *after)
{
	text_add(out, "%s", before);
	for (uint32_t i = 0; i < count; i++) {
		text_add(out, i ? ", " : "");
		text_add_double(out, numbers[i]);
	}
	text_add(out, "%s", after);
}

static void add_totals(const struct troupe_report *report, const struct troupe_report_world *world, struct text *out)
{
	text_add(out, "  \"world\": ");
	text_add_json(out, world->name);
	text_add(out, ",\n  \"iterations\": %" PRIu64 ",\n", world->steps);
	member(out, "sim_time", world->simulated_s);
	member(out, "wall_time", world->wall_s);
	member(out, "paused_time", world->paused_s);
	text_add(out, "  \"paused_steps\": %" PRIu64 ",\n", world->paused_steps);
	member(out, "serial_time", world->serial_s);
	member(out, "rtf", world->rtf);
	member(out, "steps_per_second", world->steps_per_s);
	text_add(out, "  \"state_hash\": \"%016" PRIx64 "\",\n", world->hash);
	text_add(out, "  \"moves\": %" PRIu64 ",\n", world->moves);
	text_add(out, "  \"meetings\": %" PRIu64 ",\n", world->meetings);
	text_add(out, "  \"loads\": %" PRIu64 ",\n", world->loads);
	text_add(out, "  \"created\": %" PRIu64 ",\n", world->created);
	text_add(out, "  \"removed\": %" PRIu64 ",\n", world->removed);
	text_add(out, "  \"refused_commands\": %" PRIu64 ",\n", world->refused_commands);
	text_add(out, "  \"waiting_commands\": %" PRIu64 ",\n", world->waiting_commands);
	text_add(out, "  \"readings\": %" PRIu64 ",\n", world->readings);
	text_add(out, "  \"readings_digest\": \"%016" PRIx64 "\",\n", world->readings_digest);
	text_add(out, "  \"peak_memory_bytes\": %" PRIu64 ",\n", report->peak_memory_bytes);
}

static void add_odometry(const struct troupe_odometry *odometry, struct text *out)
{
	const struct {
		const char *before;
		double value;
	} members[] = {
		{", \"odometry\": {\"x\": ", odometry->x},
		{", \"y\": ", odometry->y},
		{", \"yaw\": ", odometry->yaw},
		{", \"linear\": ", odometry->linear},
		{", \"angular\": ", odometry->angular},
		{"}, \"drift\": {\"position\": ", odometry->drift_m},
		{", \"yaw\": ", odometry->drift_rad},
		{", \"tilt\": ", odometry->tilt_rad},
		{", \"height\": ", odometry->height_m},
	};
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		add_numbers(out, members[i].before, &members[i].value, 1, "");
	text_add(out, "}");
}

static void add_joint(
	const struct troupe_scene_joint *joint, const struct troupe_joint_state *state, bool efforts, struct text *out)
{
	text_add(out, "{\"name\": ");
	text_add_json(out, joint->name);
	add_numbers(out, ", \"position\": [", state->position, joint->axis_count, "]");
	add_numbers(out, ", \"velocity\": [", state->velocity, joint->axis_count, "]");
	if (efforts)
		add_numbers(out, ", \"effort\": [", state->effort, joint->axis_count, "]");
	text_add(out, "}");
}

static void add_model(const struct troupe_report_world *world, uint32_t model, bool efforts, struct text *out)
{
	const struct troupe_scene_model *m = &world->scene->models[model];
	const struct troupe_model_state *state = &world->models[model];
	const double pose[7] = {state->pose.x, state->pose.y, state->pose.z, state->pose.qw, state->pose.qx,
		state->pose.qy, state->pose.qz};
	const double twist[6] = {state->twist.linear.x, state->twist.linear.y, state->twist.linear.z,
		state->twist.angular.x, state->twist.angular.y, state->twist.angular.z};
	bool first = true;
	text_add(out, "    {\"name\": ");
	text_add_json(out, m->name);
	add_numbers(out, ", \"pose\": [", pose, 7, "]");
	add_numbers(out, ", \"twist\": [", twist, 6, "]");
	text_add(out, ", \"asleep\": %s, \"id\": %" PRIu64, state->asleep ? "true" : "false", m->id);
	if (world->odometry[model].given)
		add_odometry(&world->odometry[model], out);
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		if (!world->scene->joints[j].axis_count)
			continue;
		text_add(out, first ? ", \"joints\": [" : ", ");
		add_joint(&world->scene->joints[j], &world->joints[j], efforts, out);
		first = false;
	}
	text_add(out, first ? "}" : "]}");
}

static void add_models(const struct troupe_report_world *world, bool efforts, struct text *out)
{
	bool first = true;
	text_add(out, "  \"models\": [");
	for (uint32_t m = 0; m < world->scene->mobile_count; m++) {
		if (world->scene->models[m].is_static)
			continue;
		text_add(out, first ? "\n" : ",\n");
		add_model(world, m, efforts, out);
		first = false;
	}
	text_add(out, "%s],\n", first ? "" : "\n  ");
}

static void add_names(const char *const *names, uint32_t count, struct text *out)
{
	for (uint32_t i = 0; i < count; i++) {
		text_add(out, i ? ", " : "");
		text_add_json(out, names[i]);
	}
}

static void add_secondary(const struct troupe_report_secondary *secondary, struct text *out)
{
	text_add(out, "    {\"secondary\": %u, \"levels\": [", secondary->number);
	add_names(secondary->levels, secondary->level_count, out);
	text_add(out, "], \"performers\": [");
	add_names(secondary->performers, secondary->performer_count, out);
	text_add(out, "], \"steps\": %" PRIu64, secondary->steps);
	add_numbers(out, ", \"busy_time\": ", &secondary->busy_s, 1, "");
	add_numbers(out, ", \"waiting_time\": ", &secondary->waiting_s, 1, "");
	add_numbers(out, ", \"critical_share\": ", &secondary->critical_share, 1, "");
	text_add(out, ", \"contacts\": %" PRIu64 ", \"groups\": %u, \"regroups\": %" PRIu64 ", \"helped\": %" PRIu64,
		secondary->contacts, secondary->groups, secondary->regroups, secondary->helped);
	text_add(out,
		", \"islands_exact\": %" PRIu64 ", \"islands_soft\": %" PRIu64
		", \"islands_by_ode\": {\"asked\": %" PRIu64 ", \"too_large\": %" PRIu64 ", \"not_solved\": %" PRIu64
		"}}",
		secondary->exact, secondary->soft, secondary->by_ode_asked, secondary->by_ode_large,
		secondary->by_ode_unsolved);
}

const char *troupe_member_change_name(enum troupe_member_change change)
{
	static const char *const names[] = {
		[TROUPE_MEMBER_CAME] = "came", [TROUPE_MEMBER_LEFT] = "left", [TROUPE_MEMBER_LOST] = "lost"};
	return (size_t)change < ARRAY_LEN(names) ? names[change] : "?";
}

static void report_add_change(const struct troupe_report_member *change, const char *before, struct text *out)
{
	const char *what = troupe_member_change_name(change->change);
	text_add(out, "%s{\"change\": \"%s\", \"who\": ", before, what);
	text_add_json(out, change->who);
	text_add(out, ", \"step\": %" PRIu64 ", \"repeated_steps\": %" PRIu64, change->step, change->repeated_steps);
	add_numbers(out, ", \"stood_still_s\": ", &change->stood_still_s, 1, "}");
}

static void add_network(const struct troupe_report_network *network, struct text *out)
{
	double bytes = (double)network->step_bytes + (double)network->ack_bytes;
	text_add(out, "  \"network\": {\"bytes_sent\": %" PRIu64 ", \"bytes_received\": %" PRIu64, network->bytes_sent,
		network->bytes_received);
	text_add(out, ", \"step_bytes\": %" PRIu64 ", \"ack_bytes\": %" PRIu64 ", \"robot_steps\": %" PRIu64,
		network->step_bytes, network->ack_bytes, network->robot_steps);
	text_add(out, ", \"bytes_per_robot_step\": ");
	text_add_double(out, network->robot_steps ? bytes / (double)network->robot_steps : 0);
	add_numbers(out, ", \"largest_part_s\": ", &network->largest_part_s, 1, "");
	text_add(out, ", \"term\": %" PRIu64 ", \"changes\": [", network->term);
	for (uint32_t i = 0; i < network->change_count; i++)
		report_add_change(&network->changes[i], i ? ", " : "", out);
	text_add(out, "]},\n");
}

static void add_world(const struct troupe_report *report, const struct troupe_report_world *world, struct text *out)
{
	text_add(out, "{\n");
	add_totals(report, world, out);
	add_models(world, report->observed & TROUPE_OBSERVE_EFFORTS, out);
	text_add(out, "  \"windows\": {\"count\": %" PRIu64 ", \"longest\": %u, \"repeated_steps\": %" PRIu64 "},\n",
		world->windows, world->longest_window, world->repeated_steps);
	if (world->network.given)
		add_network(&world->network, out);
	if (world->tuning.given)
		text_add(out,
			"  \"tuning\": {\"working\": %u, \"secondaries\": %u, \"trials\": %u, \"changes\": %u},\n",
			world->tuning.working, world->tuning.secondaries, world->tuning.trials, world->tuning.changes);
	text_add(out, "  \"secondaries\": [\n");
	for (uint32_t i = 0; i < world->secondary_count; i++) {
		add_secondary(&world->secondaries[i], out);
		text_add(out, i + 1 < world->secondary_count ? ",\n" : "\n");
	}
	text_add(out, "  ]\n}");
}

/* With several worlds: first the common part, then each world as it would be alone. */
char *troupe_report_json(const struct troupe_report *report)
{
	struct text out = {0};
	if (report->world_count == 1) {
		add_world(report, &report->worlds[0], &out);
		text_add(&out, "\n");
		return out.at;
	}
	text_add(&out, "{\n  \"iterations\": %" PRIu64 ",\n", report->steps);
	member(&out, "wall_time", report->wall_s);
	text_add(&out, "  \"state_hash\": \"%016" PRIx64 "\",\n", report->hash);
	text_add(&out, "  \"worlds\": [\n");
	for (uint32_t i = 0; i < report->world_count; i++) {
		add_world(report, &report->worlds[i], &out);
		text_add(&out, i + 1 < report->world_count ? ",\n" : "\n");
	}
	text_add(&out, "  ]\n}\n");
	return out.at;
}
