#include "server/costs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct costs {
	FILE *file;
	bool failed;
};

static const char head[] = "world,step,component,secondary,pin,kind,ns,name\n";

troupe_status costs_create(struct troupe_server *server, struct troupe_error *error)
{
	const char *path = server->def.costs_path;
	if (!path)
		return TROUPE_OK;
	FILE *file = fopen(path, "we");
	if (!file || fputs(head, file) < 0) {
		int why = errno;
		if (file)
			fclose(file);
		return fail(error, TROUPE_EIO, "%s: cannot write: %s", path, strerror(why));
	}
	server->costs = mem_alloc(sizeof *server->costs);
	server->costs->file = file;
	return TROUPE_OK;
}

static void put(struct costs *costs, const struct server_world *world, uint32_t component, uint32_t secondary,
	uint32_t pin, const char *kind, uint32_t ns, const char *name)
{
	if (fprintf(costs->file, "%u,%" PRIu64 ",%u,%u,%u,%s,%u,%s\n", world->index, world->primary.lockstep.number,
		    component, secondary, pin, kind, ns, name) < 0)
		costs->failed = true;
}

static void put_world(struct costs *costs, struct server_world *world)
{
	const struct scene *scene = world->scene;
	struct plan *plan = &world->primary.plan;
	uint32_t *components = mem_alloc((scene->model_count + scene->level_count) * sizeof *components);
	roster_number(&plan->roster, scene->model_count, components, components + scene->model_count);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (plan->active[m] && plan->roster.now.model[m] != ASSIGN_NONE) {
			uint32_t ns = world->shared.cost_ns[m];
			put(costs, world, components[m], world_number(world, plan->roster.now.model[m]),
				plan->model_pin[m], plan->is_mover[m] ? "performer" : "cargo",
				ns == COST_UNKNOWN ? 0 : ns, scene->models[m].name);
		}
	for (uint32_t l = 0; l < scene->level_count; l++)
		if (plan->loaded[l] && plan->roster.now.level[l] != ASSIGN_NONE)
			put(costs, world, components[scene->model_count + l],
				world_number(world, plan->roster.now.level[l]), plan->level_pin[l], "level", 0,
				scene->levels[l].name);
	free(components);
}

static void give_up(struct troupe_server *server)
{
	char *text = mem_printf("%s: cannot write: no costs are written any more", server->def.costs_path);
	server_warn(server, text);
	free(text);
	costs_destroy(server);
}

void costs_merged(struct troupe_server *server, uint64_t steps)
{
	if (!server->costs || steps % server->def.costs_every)
		return;
	for (uint32_t i = 0; i < server->world_count; i++)
		put_world(server->costs, &server->worlds[i]);
	if (server->costs->failed || fflush(server->costs->file))
		give_up(server);
}

void costs_destroy(struct troupe_server *server)
{
	if (!server->costs)
		return;
	fclose(server->costs->file); /* flushed when it was last written */
	free(server->costs);
	server->costs = NULL;
}
