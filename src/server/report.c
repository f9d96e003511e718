/* The report: JSON, members in a fixed order, numbers in their shortest exact form. */
#include "server/network.h"

#include <inttypes.h>
#include <sys/resource.h>

static void member(struct text *out, const char *name, double value)
{
	text_add(out, "  \"%s\": ", name);
	text_add_double(out, value);
	text_add(out, ",\n");
}

static uint64_t peak_memory_bytes(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

static void add_totals(const struct server_world *world, struct text *out)
{
	const struct primary *primary = &world->primary;
	uint64_t steps = primary->lockstep.number;
	double wall = (double)(primary->end_ns - primary->begin_ns) * 1e-9;
	double simulated = primary_time_s(primary) - primary->options.initial_time_s;
	text_add(out, "  \"world\": ");
	text_add_json(out, world->scene->name);
	text_add(out, ",\n  \"iterations\": %" PRIu64 ",\n", steps);
	member(out, "sim_time", primary_time_s(primary));
	member(out, "wall_time", wall);
	member(out, "serial_time", world->server->crew ? (double)crew_serial_ns(world->server->crew) * 1e-9 : 0);
	member(out, "rtf", wall > 0 ? simulated / wall : 0);
	member(out, "steps_per_second", wall > 0 ? (double)steps / wall : 0);
	text_add(out, "  \"state_hash\": \"%016" PRIx64 "\",\n", primary_hash(&world->primary));
	text_add(out, "  \"moves\": %" PRIu64 ",\n", primary->plan.moves);
	text_add(out, "  \"meetings\": %" PRIu64 ",\n", primary->plan.meetings);
	text_add(out, "  \"created\": %" PRIu64 ",\n", primary->edit.created);
	text_add(out, "  \"removed\": %" PRIu64 ",\n", primary->edit.removed);
	text_add(out, "  \"refused_commands\": %" PRIu64 ",\n", primary->refused);
	text_add(out, "  \"waiting_commands\": %" PRIu64 ",\n", schedule_waiting(&primary->schedule));
	text_add(out, "  \"peak_memory_bytes\": %" PRIu64 ",\n", peak_memory_bytes());
}

static void add_drift(const struct server_world *world, uint32_t model, struct text *out)
{
	struct system_drift drift;
	if (!systems_drift(world->systems, world->shared.state, model, &drift))
		return;
	text_add(out, ", \"drift\": {\"position\": ");
	text_add_double(out, drift.position_m);
	text_add(out, ", \"yaw\": ");
	text_add_double(out, drift.yaw_rad);
	text_add(out, ", \"tilt\": ");
	text_add_double(out, drift.tilt_rad);
	text_add(out, "}");
}

static void add_model(const struct server_world *world, uint32_t model, struct text *out)
{
	struct pose pose = state_model_pose(world->shared.state, model, false);
	const double numbers[7] = {pose.p.x, pose.p.y, pose.p.z, pose.q.w, pose.q.x, pose.q.y, pose.q.z};
	text_add(out, "    {\"name\": ");
	text_add_json(out, world->scene->models[model].name);
	text_add(out, ", \"pose\": [");
	for (int i = 0; i < 7; i++) {
		text_add(out, i ? ", " : "");
		text_add_double(out, numbers[i]);
	}
	text_add(out, "], \"asleep\": %s, \"id\": %" PRIu64, primary_rests(&world->primary, model) ? "true" : "false",
		world->scene->models[model].id);
	const struct system_set *set = &world->systems->sets[model];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct system *system = &set->at[i];
		if (!system->ops->report)
			continue;
		text_add(out, ", ");
		system->ops->report(system, state_systems(world->shared.state, model, false) + system->word_first, out);
	}
	add_drift(world, model, out);
	text_add(out, "}");
}

static void add_models(const struct server_world *world, struct text *out)
{
	bool first = true;
	text_add(out, "  \"models\": [");
	for (uint32_t m = 0; m < world->scene->model_count; m++) {
		if (world->scene->models[m].absent || !world->scene->models[m].body_count)
			continue;
		text_add(out, first ? "\n" : ",\n");
		add_model(world, m, out);
		first = false;
	}
	text_add(out, "%s],\n", first ? "" : "\n  ");
}

static void add_names(const struct server_world *world, uint32_t secondary, bool levels, struct text *out)
{
	const struct plan *plan = &world->primary.plan;
	const struct assignment *now = &plan->roster.now;
	const struct scene *scene = world->scene;
	bool first = true;
	for (uint32_t i = 0; i < (levels ? scene->level_count : scene->model_count); i++) {
		bool here = levels ? now->level[i] == secondary : now->model[i] == secondary && plan->is_mover[i];
		if (!here)
			continue;
		text_add(out, first ? "" : ", ");
		text_add_json(out, levels ? scene->levels[i].name : scene->models[i].name);
		first = false;
	}
}

static void add_secondary(const struct server_world *world, uint32_t index, uint64_t critical_ns, struct text *out)
{
	const struct runner_stats *runner = &world->primary.runners[index];
	text_add(out, "    {\"secondary\": %u, \"levels\": [", world_number(world, index + 1));
	add_names(world, index + 1, true, out);
	text_add(out, "], \"performers\": [");
	add_names(world, index + 1, false, out);
	text_add(out, "], \"steps\": %" PRIu64 ", \"busy_time\": ", runner->steps);
	text_add_double(out, (double)runner->busy_ns * 1e-9);
	text_add(out, ", \"waiting_time\": ");
	text_add_double(out, (double)runner->waited_ns * 1e-9);
	text_add(out, ", \"critical_share\": ");
	text_add_double(out, critical_ns ? (double)runner->critical_ns / (double)critical_ns : 0);
	const struct troupe_server *server = world->server;
	struct physics_stats physics = server->network ? network_physics_stats(server->network, index)
						       : crew_physics_stats(server->crew, world->index, index);
	text_add(out,
		", \"contacts\": %" PRIu64 ", \"groups\": %u, \"regroups\": %" PRIu64 ", \"helped\": %" PRIu64 "}",
		physics.contacts, physics.groups, physics.regroups, physics.helped);
}

static void add_world(const struct server_world *world, struct text *out)
{
	uint64_t critical_ns = 0;
	for (uint32_t i = 0; i < world->secondaries; i++)
		critical_ns += world->primary.runners[i].critical_ns;
	text_add(out, "{\n");
	add_totals(world, out);
	add_models(world, out);
	if (world->server->network)
		network_report(world->server->network, out);
	const struct tune *tune = world->server->network ? NULL : crew_tune(world->server->crew);
	if (tune)
		text_add(out,
			"  \"tuning\": {\"working\": %u, \"secondaries\": %u, \"trials\": %u, \"changes\": %u},\n",
			tune->chosen, tune->most, tune->trials, tune->changes);
	text_add(out, "  \"secondaries\": [\n");
	for (uint32_t i = 0; i < world->secondaries; i++) {
		add_secondary(world, i, critical_ns, out);
		text_add(out, i + 1 < world->secondaries ? ",\n" : "\n");
	}
	text_add(out, "  ]\n}");
}

/* Of several worlds: what they have in common, then each as it would be alone. */
char *troupe_server_report(const struct troupe_server *server)
{
	struct text out = {0};
	const struct primary *first = &server->worlds[0].primary;
	if (server->world_count == 1) {
		add_world(&server->worlds[0], &out);
		text_add(&out, "\n");
		return out.at;
	}
	text_add(&out, "{\n  \"iterations\": %" PRIu64 ",\n", first->lockstep.number);
	member(&out, "wall_time", (double)(first->end_ns - first->begin_ns) * 1e-9);
	text_add(&out, "  \"state_hash\": \"%016" PRIx64 "\",\n", troupe_server_hash(server));
	text_add(&out, "  \"worlds\": [\n");
	for (uint32_t i = 0; i < server->world_count; i++) {
		add_world(&server->worlds[i], &out);
		text_add(&out, i + 1 < server->world_count ? ",\n" : "\n");
	}
	text_add(&out, "  ]\n}\n");
	return out.at;
}
