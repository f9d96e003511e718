/* A call that goes to simulation.h is listed with the gateway, not with the client: its answer may come when the client
 * is gone. */
#include "gateway/rosbridge/rosbridge_call.h"

#include "gateway/hub/convert.h"
#include "gateway/hub/op.h"
#include "gateway/rosbridge/rosapi.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* --- services ----------------------------------------------------------------------------------------------------- */

void rosbridge_call_free(struct rosbridge_client_call *call)
{
	free(call->service);
	free(call->id);
	free(call);
}

/* Calls a service of the run, or of barrier clients. */
static troupe_status rosbridge_call_run(struct rosbridge_client *client, const struct rosbridge_operation *operation,
	const char *name, const json_t *args, struct troupe_error *error)
{
	struct hub *hub = client->gateway->hub;
	hub_look(hub);
	const struct mirror_row *service = mirror_find(&hub->mirror, TROUPE_TOPIC_SERVICE, name);
	struct text bytes = {0};
	if (!service)
		return fail(error, TROUPE_ECOMMAND, "there is no service %.200s", name);
	char *json = args ? json_dumps(args, JSON_COMPACT) : NULL;
	troupe_status status = convert_from_json(service->type, json, json ? strlen(json) : 0, &bytes, error);
	free(json);
	if (!status) {
		struct rosbridge_client_call *call = mem_alloc(sizeof *call);
		*call = (struct rosbridge_client_call){
			.service = mem_strdup(rosbridge_client_text_of(operation, "service")),
			.id = operation->id ? mem_strdup(operation->id) : NULL};
		const struct hub_caller caller = {client->base, client->base->connection, call};
		status = hub_call(hub, &caller, service->name, service->type, bytes.at, bytes.count, error);
		if (status)
			rosbridge_call_free(call);
	}
	text_fini(&bytes);
	return status;
}

/* --- services and actions of simulation.h ------------------------------------------------------------------------- */

void rosbridge_call_drop(struct asked *asked)
{
	if (asked->before)
		asked->before->after = asked->after;
	else
		asked->gateway->asked = asked->after;
	if (asked->after)
		asked->after->before = asked->before;
	free(asked->name);
	free(asked->id);
	free(asked);
}

/* values: as JSON */
static struct json_out rosbridge_call_begin_action(
	struct text *json, const char *op, const char *id, const char *action, const struct text *values)
{
	struct json_out out = rosbridge_client_begin(json, op, id);
	json_out_string(&out, "action", action);
	text_add_bytes(json_out_value(&out, "values"), values->at, values->count);
	return out;
}

static void rosbridge_call_end_action(struct rosbridge_client *client, const char *id, const char *action,
	const struct text *values, enum simulation_end end, bool result)
{
	struct text json = {0};
	struct json_out out = rosbridge_call_begin_action(&json, "action_result", id, action, values);
	json_out_int(&out, "status", end);
	json_out_bool(&out, "result", result);
	op_say(client->base, &out);
}

void rosbridge_call_refuse_goal(struct rosbridge_client *client, const char *id, const char *action, const char *why)
{
	struct text values = {0};
	text_add_json(&values, why);
	hub_count(&client->gateway->hub->refused);
	rosbridge_call_end_action(client, id, action, &values, SIMULATION_ABORTED, false);
	text_fini(&values);
}

static void rosbridge_call_end_asked(void *ctx, enum simulation_end end, const struct text *values)
{
	struct asked *asked = ctx;
	if (asked->client && asked->is_goal && end == SIMULATION_REFUSED) {
		char *why = simulation_why(values);
		rosbridge_call_refuse_goal(asked->client, asked->id, asked->name, why);
		free(why);
	} else if (asked->client && asked->is_goal) {
		rosbridge_call_end_action(asked->client, asked->id, asked->name, values, end, true);
	} else if (asked->client) {
		rosbridge_client_answer(asked->client, asked->name, asked->id, values, NULL);
	}
	rosbridge_call_drop(asked);
}

/* A client that is slow loses the oldest. */
static void rosbridge_call_pass_feedback(void *ctx, const struct text *values)
{
	struct asked *asked = ctx;
	struct text json = {0};
	if (!asked->client)
		return;
	struct json_out out = rosbridge_call_begin_action(&json, "action_feedback", asked->id, asked->name, values);
	json_out_end(&out);
	outbox_put(&asked->client->base->outbox, false, json.at, json.count);
	text_fini(&json);
}

static void rosbridge_call_ask_simulation(struct rosbridge_client *client, const struct rosbridge_operation *operation,
	const char *said, const char *name, bool is_goal)
{
	struct rosbridge *gateway = client->gateway;
	struct asked *asked = mem_alloc(sizeof *asked);
	*asked = (struct asked){.gateway = gateway,
		.after = gateway->asked,
		.client = client,
		.name = mem_strdup(said),
		.id = operation->id ? mem_strdup(operation->id) : NULL,
		.is_goal = is_goal};
	if (gateway->asked)
		gateway->asked->before = asked;
	gateway->asked = asked;
	const json_t *args = json_object_get(operation->json, "args");
	bool none = json_is_null(args) || (json_is_array(args) && !json_array_size(args));
	bool feedback = is_goal && json_is_true(json_object_get(operation->json, "feedback"));
	const struct simulation_asker asker = {.answer = rosbridge_call_end_asked,
		.feedback = feedback ? rosbridge_call_pass_feedback : NULL,
		.ctx = asked};
	simulation_call(gateway->hub->simulation, name, none ? NULL : args, &asker);
}

void rosbridge_call_send_goal(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	const char *said = rosbridge_client_text_of(operation, "action");
	char *name = said ? topic_index_full_name(said) : NULL;
	if (!name) {
		rosbridge_client_complain(
			client, ROSBRIDGE_CLIENT_ERROR, operation->id, "send_action_goal: action: expected a name");
	} else if (!simulation_has_action(client->gateway->hub->simulation, name)) {
		struct troupe_error why;
		(void)fail(&why, TROUPE_ECOMMAND, "there is no action %.200s", name);
		rosbridge_call_refuse_goal(client, operation->id, said, why.text);
	} else {
		rosbridge_call_ask_simulation(client, operation, said, name, true);
		hub_count(&client->gateway->hub->taken);
	}
	free(name);
}

void rosbridge_call_cancel_goal(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	struct asked *asked = client->gateway->asked;
	while (asked && !(asked->client == client && asked->is_goal && operation->id && asked->id &&
				!strcmp(asked->id, operation->id)))
		asked = asked->after;
	if (asked)
		simulation_cancel(client->gateway->hub->simulation, asked);
	else
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_WARNING, operation->id,
			"cancel_action_goal: there is no goal with this id");
}

void rosbridge_call_leave(struct rosbridge_client *client)
{
	for (struct asked *asked = client->gateway->asked; asked; asked = asked->after)
		if (asked->client == client) {
			asked->client = NULL;
			simulation_cancel(client->gateway->hub->simulation, asked);
		}
}

/* --- calls of services -------------------------------------------------------------------------------------------- */

void rosbridge_call_service(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	struct rosbridge *gateway = client->gateway;
	const char *said = rosbridge_client_text_of(operation, "service");
	const json_t *args = json_object_get(operation->json, "args");
	struct text values = {0};
	struct troupe_error error;
	if (!said || !*said) {
		rosbridge_client_complain(
			client, ROSBRIDGE_CLIENT_ERROR, operation->id, "call_service: service: expected a name");
		return;
	}
	char *name = topic_index_full_name(said);
	bool is_rosapi = rosapi_has(name);
	if (!is_rosapi && simulation_has_service(gateway->hub->simulation, name)) {
		rosbridge_call_ask_simulation(client, operation, said, name, false);
		hub_count(&gateway->hub->taken);
		free(name);
		return;
	}
	troupe_status status = TROUPE_OK;
	if (json_is_null(args) || (json_is_array(args) && !json_array_size(args)))
		args = NULL;
	if (args && !json_is_object(args))
		status = fail(&error, TROUPE_ECOMMAND, "args: expected an object");
	else if (is_rosapi)
		status = rosapi_call(gateway, name, args, &values, &error);
	else
		status = rosbridge_call_run(client, operation, name, args, &error);
	if (status || is_rosapi)
		rosbridge_client_answer(client, said, operation->id, &values, status ? error.text : NULL);
	if (!status)
		hub_count(&gateway->hub->taken);
	text_fini(&values);
	free(name);
}
