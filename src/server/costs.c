/* The table is written during the run, so that a run that is killed leaves its samples. Each sample is one write: so
 * its lines are complete. */
#include "server/costs.h"

#include "base/outfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct costs {
	struct outfile file;
	struct troupe_error why; /* the error that ended the table */
	struct text lines;       /* lines of one sample */
	bool begun;
};

static const char costs_head[] = "world,step,component,secondary,pin,kind,ns,name\n";

/* --- the file ----------------------------------------------------------------------------------------------------- */

static void costs_give_up(struct troupe_server *server, const char *why)
{
	struct troupe_error text;
	(void)fail(&server->costs->why, TROUPE_EIO, "%s", why);
	(void)fail(&text, TROUPE_EIO, "%s: the table of costs ends here; the run goes on", why);
	(void)outfile_close(&server->costs->file);
	server_warn(server, text.text);
}

static void costs_write_out(struct troupe_server *server, const char *bytes, size_t count)
{
	struct troupe_error text;
	int code = outfile_write(&server->costs->file, bytes, count);
	if (!code)
		return;
	(void)fail(&text, TROUPE_EIO, "%s: cannot write: %s", server->def.costs_path, outfile_why(code));
	costs_give_up(server, text.text);
}

troupe_status costs_create(struct troupe_server *server, struct troupe_error *error)
{
	const char *path = server->def.costs_path;
	troupe_status status = path ? outfile_check_stream(path, error) : TROUPE_OK;
	if (path && !status)
		server->costs = mem_alloc(sizeof *server->costs);
	return status;
}

void costs_begin(struct troupe_server *server)
{
	struct outfile_options options = server_options(server);
	struct costs *costs = server->costs;
	struct troupe_error why;
	if (!costs || costs->begun)
		return;
	costs->begun = true;
	if (outfile_open(&costs->file, server->def.costs_path, &options, &why))
		costs_give_up(server, why.text);
	else
		costs_write_out(server, costs_head, strlen(costs_head));
}

troupe_status costs_end(struct troupe_server *server, struct troupe_error *error)
{
	struct costs *costs = server->costs;
	if (!costs)
		return TROUPE_OK;
	costs_begin(server); /* also for a run without steps */
	int code = outfile_close(&costs->file);
	if (code && !costs->why.status)
		(void)fail(&costs->why, TROUPE_EIO, "%s: cannot write: %s", server->def.costs_path, outfile_why(code));
	return costs->why.status ? fail(error, costs->why.status, "%s", costs->why.text) : TROUPE_OK;
}

void costs_destroy(struct costs *costs)
{
	if (!costs)
		return;
	(void)outfile_close(&costs->file);
	text_fini(&costs->lines);
	free(costs);
}

/* --- a sample ----------------------------------------------------------------------------------------------------- */

static void costs_put(struct text *out, const struct server_world *world, uint32_t component, uint32_t secondary,
	uint32_t pin, const char *kind, uint32_t ns, const char *name)
{
	text_add(out, "%u,%" PRIu64 ",%u,%u,%u,%s,%u,%s\n", world->index, primary_steps(world->primary), component,
		secondary, pin, kind, ns, name);
}

static void costs_put_world(struct text *out, struct server_world *world)
{
	const struct scene *scene = world->scene;
	const struct plan *plan = primary_plan(world->primary);
	uint32_t *components = mem_alloc((scene->model_count + scene->level_count) * sizeof *components);
	primary_number_components(world->primary, components, components + scene->model_count);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (plan->loading.active[m] && plan->placement.ownership.now.model[m] != ASSIGN_NONE) {
			uint32_t ns = world->shared.costs.ns[m];
			costs_put(out, world, components[m],
				world_number(world, plan->placement.ownership.now.model[m]),
				plan->placement.model_pin[m], plan->loading.is_mover[m] ? "performer" : "cargo",
				ns == COST_UNKNOWN ? 0 : ns, scene->models[m].name);
		}
	for (uint32_t l = 0; l < scene->level_count; l++)
		if (plan->loading.loaded[l] && plan->placement.ownership.now.level[l] != ASSIGN_NONE)
			costs_put(out, world, components[scene->model_count + l],
				world_number(world, plan->placement.ownership.now.level[l]),
				plan->placement.level_pin[l], "level", 0, scene->levels[l].name);
	free(components);
}

void costs_merged(struct troupe_server *server, uint64_t steps)
{
	struct costs *costs = server->costs;
	if (!costs || !outfile_is_open(&costs->file) || steps % server->def.costs_every)
		return;
	costs->lines.count = 0;
	for (uint32_t i = 0; i < server->world_count; i++)
		costs_put_world(&costs->lines, &server->worlds[i]);
	if (costs->lines.count)
		costs_write_out(server, costs->lines.at, costs->lines.count);
}
