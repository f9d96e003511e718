/* A response is made as JSON (gateway/ros/simulation.h), and converted by the definition of its type. */
#include "gateway/dds/services.h"

#include "base/base.h"
#include "gateway/dds/action.h"
#include "gateway/ros/humble.h"
#include "gateway/ros/json.h"
#include "gateway/ros/names.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct served {
	struct services *services;
	char *name, *type;        /* as the simulation has them */
	char *request, *response; /* the types, in the form of the nodes' release */
	struct rpc_service *rpc;
	bool seen; /* by services_look() */
};

struct dds_services_action {
	struct action *action;
	bool seen;
};

struct dds_services_asked { /* a request that is not answered yet */
	struct served *served;
	struct rpc_caller caller;
	struct dds_services_asked *before, *after;
};

struct services {
	struct services_def def;
	struct rpc *rpc;
	VEC(struct served *) served;
	VEC(struct dds_services_action) actions;
	struct dds_services_asked *asked;
	bool left_out_told, refused_told;
	_Atomic uint64_t taken, refused;
};

static void dds_services_say(struct services *services, const char *format, ...) TROUPE_PRINTF(2, 3);
static void dds_services_say(struct services *services, const char *format, ...)
{
	struct troupe_error line;
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	services->def.say(services->def.ctx, line.text);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void dds_services_drop_asked(struct dds_services_asked *asked)
{
	*(asked->before ? &asked->before->after : &asked->served->services->asked) = asked->after;
	if (asked->after)
		asked->after->before = asked->before;
	free(asked);
}

static void dds_services_answer(void *ctx, enum simulation_end end, const struct text *values)
{
	struct dds_services_asked *asked = ctx;
	struct text cdr = {0};
	struct troupe_error error;
	json_t *json = json_loadb(values->at, values->count, 0, NULL);
	(void)end;
	if (strchr(asked->served->response, '@'))
		ros_json_prune(asked->served->response, json);
	if (json && !ros_json_to_cdr(asked->served->response, json, &cdr, &error))
		rpc_reply(asked->served->rpc, &asked->caller, cdr.at, cdr.count);
	json_decref(json);
	text_fini(&cdr);
	dds_services_drop_asked(asked);
}

/* A request in an older form; NULL: these bytes are none. */
static json_t *dds_services_renew(const struct served *served, const void *cdr, size_t count)
{
	struct text text = {0};
	char *type = mem_printf("%s_Request", served->type);
	json_t *json = ros_json_of_cdr(served->request, cdr, count, &text, NULL)
			       ? NULL
			       : json_loadb(text.at, text.count, 0, NULL);
	if (json)
		humble_renew(type, json);
	text_fini(&text);
	free(type);
	return json;
}

static void dds_services_call(
	const struct served *served, const void *cdr, size_t count, const struct simulation_asker *asker)
{
	struct simulation *simulation = served->services->def.simulation;
	if (!strchr(served->request, '@')) {
		simulation_call_cdr(simulation, served->name, cdr, count, asker);
		return;
	}
	json_t *json = dds_services_renew(served, cdr, count);
	if (!json)
		json = json_array(); /* is no request of any type */
	simulation_call(simulation, served->name, json, asker);
	json_decref(json);
}

static void dds_services_hear(void *ctx, const struct rpc_caller *caller, const void *cdr, size_t count)
{
	struct served *served = ctx;
	struct services *services = served->services;
	struct dds_services_asked *asked = mem_alloc(sizeof *asked);
	*asked = (struct dds_services_asked){.served = served, .caller = *caller, .after = services->asked};
	if (services->asked)
		services->asked->before = asked;
	services->asked = asked;
	const struct simulation_asker asker = {.answer = dds_services_answer, .ctx = asked};
	dds_services_call(served, cdr, count, &asker);
}

static void dds_services_refuse(void *ctx, const char *service, size_t count)
{
	struct services *services = ctx;
	atomic_fetch_add_explicit(&services->refused, 1, memory_order_relaxed);
	if (!services->refused_told)
		dds_services_say(services,
			"%s: %zu bytes are refused, and so perhaps others: they are no request as rmw_cyclonedds_cpp "
			"sends it: expected clients with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp",
			service, count);
	services->refused_told = true;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void dds_services_leave_out(struct services *services, const char *name, const char *why)
{
	if (!services->left_out_told)
		dds_services_say(services, "service '%.100s' and perhaps others are left out: %s", name, why);
	services->left_out_told = true;
}

static char *dds_services_form(const struct services *services, const char *type, const char *part)
{
	char *later = mem_printf("%s_%s", type, part);
	if (!services->def.humble)
		return later;
	char *form = humble_form(later);
	free(later);
	return form;
}

static void dds_services_open(void *ctx, const char *name, const char *type)
{
	struct services *services = ctx;
	struct arena arena = {0};
	char why[GLUE_WHY_BYTES] = "ROS 2 has no such name";
	const char *shown = names_clean(&arena, name);
	for (uint32_t i = 0; i < services->served.count; i++)
		if (!strcmp(services->served.at[i]->name, name)) {
			services->served.at[i]->seen = true;
			arena_fini(&arena);
			return;
		}
	struct served *served = mem_alloc(sizeof *served);
	*served = (struct served){.services = services,
		.name = mem_strdup(name),
		.type = mem_strdup(type),
		.request = dds_services_form(services, type, "Request"),
		.response = dds_services_form(services, type, "Response"),
		.seen = true};
	vec_push(&services->served, served);
	if (shown)
		served->rpc = rpc_open(
			services->rpc, shown, served->request, served->response, dds_services_hear, served, why);
	if (!served->rpc)
		dds_services_leave_out(services, name, why);
	arena_fini(&arena);
}

static void dds_services_open_action(void *ctx, const char *name, const char *type)
{
	struct services *services = ctx;
	struct arena arena = {0};
	char why[GLUE_WHY_BYTES] = "ROS 2 has no such name";
	const char *shown = names_clean(&arena, name);
	for (uint32_t i = 0; i < services->actions.count; i++)
		if (action_is_named(services->actions.at[i].action, name)) {
			services->actions.at[i].seen = true;
			arena_fini(&arena);
			return;
		}
	if (shown)
		vec_push(&services->actions,
			(struct dds_services_action){
				action_open(&services->def, services->rpc, name, shown, type, why), true});
	if (*why)
		dds_services_leave_out(services, name, why);
	arena_fini(&arena);
}

struct services *services_create(const struct services_def *def)
{
	struct services *services = mem_alloc(sizeof *services);
	services->def = *def;
	services->rpc = rpc_create(def->glue, def->node, dds_services_refuse, services);
	services_look(services);
	return services;
}

static void dds_services_free(struct served *served)
{
	free(served->name);
	free(served->type);
	free(served->request);
	free(served->response);
	free(served);
}

/* What is asked there was answered when the simulation lost it. */
static void dds_services_close_unseen(struct services *services)
{
	for (uint32_t i = services->served.count; i-- > 0;) {
		struct served *served = services->served.at[i];
		if (served->seen)
			continue;
		rpc_close(served->rpc);
		dds_services_free(served);
		services->served.at[i] = services->served.at[--services->served.count];
	}
	for (uint32_t i = services->actions.count; i-- > 0;) {
		if (services->actions.at[i].seen)
			continue;
		action_destroy(services->actions.at[i].action);
		services->actions.at[i] = services->actions.at[--services->actions.count];
	}
}

void services_look(struct services *services)
{
	for (uint32_t i = 0; i < services->served.count; i++)
		services->served.at[i]->seen = false;
	for (uint32_t i = 0; i < services->actions.count; i++)
		services->actions.at[i].seen = false;
	simulation_each_service(services->def.simulation, dds_services_open, services);
	simulation_each_action(services->def.simulation, dds_services_open_action, services);
	dds_services_close_unseen(services);
}

void services_destroy(struct services *services)
{
	if (!services)
		return;
	while (services->asked)
		dds_services_drop_asked(services->asked);
	for (uint32_t i = 0; i < services->actions.count; i++)
		action_destroy(services->actions.at[i].action);
	rpc_destroy(services->rpc);
	for (uint32_t i = 0; i < services->served.count; i++)
		dds_services_free(services->served.at[i]);
	vec_free(&services->served);
	vec_free(&services->actions);
	free(services);
}

void services_turn(struct services *services)
{
	uint32_t heard = rpc_turn(services->rpc);
	atomic_fetch_add_explicit(&services->taken, heard, memory_order_relaxed);
	for (uint32_t i = 0; i < services->actions.count; i++)
		action_turn(services->actions.at[i].action);
}

uint32_t services_ends(const struct services *services, struct graph_end *ret_ends)
{
	uint32_t count = rpc_ends(services->rpc, ret_ends);
	for (uint32_t i = 0; i < services->actions.count; i++)
		count += action_ends(services->actions.at[i].action, ret_ends ? ret_ends + count : NULL);
	return count;
}

void services_counts(const struct services *services, uint64_t *ret_taken, uint64_t *ret_refused)
{
	*ret_taken = atomic_load_explicit(&services->taken, memory_order_relaxed);
	*ret_refused = atomic_load_explicit(&services->refused, memory_order_relaxed);
}
