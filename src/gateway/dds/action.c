/* The messages around a goal are made as JSON and converted by the definitions of their types, as those of services
 * are. A request of an action begins with the id of a goal, and the goal itself behind it keeps its alignment. */
#include "gateway/dds/action.h"

#include "base/json_out.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/json.h"
#include "gateway/ros/type_hash.h"

#include <jansson.h>
#include <stdlib.h>

enum { ID_BYTES = 16, ACTION_TIME_BYTES = 8 };
/* action_msgs/GoalStatus; at its end as simulation_end. UNKNOWN: it is not accepted yet. */
enum status { UNKNOWN = 0, EXECUTING = 2, CANCELING = 3 };
enum cancel_code { CANCEL_NONE = 0, CANCEL_REJECTED = 1, CANCEL_UNKNOWN = 2, CANCEL_TERMINATED = 3 };

struct action_goal {
	struct action *action;
	unsigned char id[ID_BYTES];
	int status;
	struct rpc_caller sender;
	struct text result; /* JSON, when it is over */
	VEC(struct rpc_caller) askers;
};

struct action {
	struct services_def def;
	char *name, *shown, *type;
	struct rpc_service *send_goal, *get_result, *cancel_goal;
	struct glue_end *feedback, *status;
	VEC(struct action_goal *) goals; /* the oldest first */
	uint32_t running;
	char *refusal; /* that was told last */
};

static bool action_is_over(const struct action_goal *goal)
{
	return goal->status > CANCELING;
}

static struct action_goal *action_find_goal(const struct action *action, const unsigned char id[ID_BYTES])
{
	for (uint32_t i = 0; i < action->goals.count; i++)
		if (!memcmp(action->goals.at[i]->id, id, ID_BYTES))
			return action->goals.at[i];
	return NULL;
}

/* The type of a part of the action, which the caller frees: "_SendGoal_Request". */
static char *action_type_of(const struct action *action, const char *part)
{
	return mem_printf("%s%s", action->type, part);
}

/* JSON as CDR of the type, which is a mistake here if it fails: then nothing is appended. */
static void action_convert(const char *type, const struct text *json, struct text *cdr)
{
	json_t *value = json_loadb(json->at, json->count, 0, NULL);
	if (value)
		(void)ros_json_to_cdr(type, value, cdr, NULL);
	json_decref(value);
}

static void action_reply(const struct action *action, struct rpc_service *service, const struct rpc_caller *caller,
	const char *part, const struct text *json)
{
	struct text cdr = {0};
	char *type = *part == '/' ? mem_strdup(part + 1) : action_type_of(action, part);
	action_convert(type, json, &cdr);
	if (cdr.count)
		rpc_reply(service, caller, cdr.at, cdr.count);
	text_fini(&cdr);
	free(type);
}

static void action_publish(const struct action *action, struct glue_end *end, const char *type, const struct text *json)
{
	struct text cdr = {0};
	if (end)
		action_convert(type, json, &cdr);
	if (cdr.count)
		(void)action->def.glue->write(end, cdr.at, cdr.count);
	text_fini(&cdr);
}

static void action_add_id(struct json_out *out, const struct action_goal *goal)
{
	json_out_object(out, "goal_id");
	json_out_base64(out, "uuid", goal->id, ID_BYTES);
	json_out_end(out);
}

static void action_tell_status(const struct action *action)
{
	struct text json = {0};
	struct json_out out = {.text = &json};
	json_out_object(&out, NULL);
	json_out_array(&out, "status_list");
	for (uint32_t i = 0; i < action->goals.count; i++) {
		if (action->goals.at[i]->status == UNKNOWN)
			continue;
		json_out_object(&out, NULL);
		json_out_object(&out, "goal_info");
		action_add_id(&out, action->goals.at[i]);
		json_out_end(&out);
		json_out_int(&out, "status", action->goals.at[i]->status);
		json_out_end(&out);
	}
	json_out_end(&out);
	json_out_end(&out);
	action_publish(action, action->status, "action_msgs/msg/GoalStatusArray", &json);
	text_fini(&json);
}

/* --- goals -------------------------------------------------------------------------------------------------------- */

static void action_free_goal(struct action_goal *goal)
{
	vec_free(&goal->askers);
	text_fini(&goal->result);
	free(goal);
}

/* Room for another one; false: all of them still run. */
static bool action_make_room(struct action *action)
{
	uint32_t at = 0;
	if (action->goals.count < SERVICES_GOALS_MAX)
		return true;
	while (at < action->goals.count && !action_is_over(action->goals.at[at]))
		at++;
	if (at == action->goals.count)
		return false;
	action_free_goal(action->goals.at[at]);
	action->goals.count--;
	for (; at < action->goals.count; at++)
		action->goals.at[at] = action->goals.at[at + 1];
	return true;
}

static void action_tell_result(
	const struct action *action, const struct action_goal *goal, const struct rpc_caller *caller)
{
	struct text json = {0};
	struct json_out out = {.text = &json};
	json_out_object(&out, NULL);
	json_out_int(&out, "status", goal ? goal->status : (int)UNKNOWN);
	if (goal)
		text_add_bytes(json_out_value(&out, "result"), goal->result.at, goal->result.count);
	json_out_end(&out);
	action_reply(action, action->get_result, caller, "_GetResult_Response", &json);
	text_fini(&json);
}

static void action_tell_accepted(const struct action *action, const struct rpc_caller *caller, bool accepted)
{
	struct text json = {0};
	struct json_out out = {.text = &json};
	json_out_object(&out, NULL);
	json_out_bool(&out, "accepted", accepted);
	json_out_end(&out);
	action_reply(action, action->send_goal, caller, "_SendGoal_Response", &json);
	text_fini(&json);
}

static void action_accept_goal(void *ctx)
{
	struct action_goal *goal = ctx;
	action_tell_accepted(goal->action, &goal->sender, true);
	goal->status = EXECUTING;
	goal->action->running++;
	action_tell_status(goal->action);
}

static void action_drop_goal(struct action *action, struct action_goal *goal)
{
	uint32_t at = 0;
	while (action->goals.at[at] != goal)
		at++;
	action->goals.count--;
	for (; at < action->goals.count; at++)
		action->goals.at[at] = action->goals.at[at + 1];
	action_free_goal(goal);
}

/* ROS 2 has no field for the reason, so it is said to people, once until another one comes. */
static void action_refuse_goal(struct action_goal *goal, const struct text *values)
{
	struct action *action = goal->action;
	char *why = simulation_why(values);
	if (!action->refusal || strcmp(action->refusal, why) != 0) {
		struct troupe_error line;
		(void)fail(&line, TROUPE_OK, "%.200s: a goal is refused: %.300s", action->shown, why);
		action->def.say(action->def.ctx, line.text);
		free(action->refusal);
		action->refusal = mem_strdup(why);
	}
	free(why);
	action_tell_accepted(action, &goal->sender, false);
	action_drop_goal(action, goal);
}

static void action_end_goal(void *ctx, enum simulation_end end, const struct text *values)
{
	struct action_goal *goal = ctx;
	if (end == SIMULATION_REFUSED) {
		action_refuse_goal(goal, values);
		return;
	}
	goal->status = (int)end;
	goal->action->running--;
	text_add_bytes(&goal->result, values->at, values->count);
	for (uint32_t i = 0; i < goal->askers.count; i++)
		action_tell_result(goal->action, goal, &goal->askers.at[i]);
	vec_free(&goal->askers);
	action_tell_status(goal->action);
}

static void action_tell_feedback(void *ctx, const struct text *values)
{
	const struct action_goal *goal = ctx;
	const struct action *action = goal->action;
	struct text json = {0};
	struct json_out out = {.text = &json};
	uint32_t came;
	if (!action->feedback || !action->def.glue->peers(action->feedback, &came))
		return;
	char *type = action_type_of(action, "_FeedbackMessage");
	json_out_object(&out, NULL);
	action_add_id(&out, goal);
	text_add_bytes(json_out_value(&out, "feedback"), values->at, values->count);
	json_out_end(&out);
	action_publish(action, action->feedback, type, &json);
	text_fini(&json);
	free(type);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static bool action_read_id(struct cdr_in *in, unsigned char ret_id[ID_BYTES])
{
	for (int i = 0; i < ID_BYTES; i++)
		ret_id[i] = (unsigned char)cdr_get(in, 1);
	return !in->bad;
}

static void action_hear_goal(void *ctx, const struct rpc_caller *caller, const void *cdr, size_t count)
{
	struct action *action = ctx;
	struct cdr_in in = cdr_open(cdr, count);
	struct text inner = {0};
	unsigned char id[ID_BYTES];
	if (!action_read_id(&in, id) || action_find_goal(action, id) || !action_make_room(action)) {
		action_tell_accepted(action, caller, false);
		return;
	}
	struct action_goal *goal = mem_alloc(sizeof *goal);
	*goal = (struct action_goal){.action = action, .status = UNKNOWN, .sender = *caller};
	memcpy(goal->id, id, ID_BYTES);
	vec_push(&action->goals, goal);
	text_add_bytes(&inner, cdr, CDR_HEADER_BYTES);
	text_add_bytes(&inner, (const char *)cdr + CDR_HEADER_BYTES + ID_BYTES, count - CDR_HEADER_BYTES - ID_BYTES);
	const struct simulation_asker asker = {.answer = action_end_goal,
		.feedback = action_tell_feedback,
		.ctx = goal,
		.accepted = action_accept_goal};
	simulation_call_cdr(action->def.simulation, action->name, inner.at, inner.count, &asker);
	text_fini(&inner);
}

static void action_hear_result(void *ctx, const struct rpc_caller *caller, const void *cdr, size_t count)
{
	struct action *action = ctx;
	struct cdr_in in = cdr_open(cdr, count);
	unsigned char id[ID_BYTES];
	struct action_goal *goal = action_read_id(&in, id) ? action_find_goal(action, id) : NULL;
	if (goal && !action_is_over(goal) && goal->askers.count < SERVICES_ASKERS_MAX)
		vec_push(&goal->askers, *caller);
	else
		action_tell_result(action, goal && action_is_over(goal) ? goal : NULL, caller);
}

static void action_cancel(struct action_goal *goal)
{
	goal->status = CANCELING;
	simulation_cancel(goal->action->def.simulation, goal);
}

static enum cancel_code action_cancel_code(uint32_t cancelled, bool one, const struct action_goal *named)
{
	if (cancelled)
		return CANCEL_NONE;
	if (!one)
		return CANCEL_REJECTED;
	return named ? CANCEL_TERMINATED : CANCEL_UNKNOWN;
}

static void action_reply_cancel(const struct action *action, const struct rpc_caller *caller, enum cancel_code code,
	const struct text *cancelled)
{
	struct text json = {0};
	struct json_out out = {.text = &json};
	json_out_object(&out, NULL);
	json_out_int(&out, "return_code", code);
	text_add_bytes(json_out_value(&out, "goals_canceling"), cancelled->at, cancelled->count);
	json_out_end(&out);
	action_reply(action, action->cancel_goal, caller, "/action_msgs/srv/CancelGoal_Response", &json);
	text_fini(&json);
}

/* No id means all goals. So does a time, because each goal began at time 0; with an id, that goal and all. */
static void action_hear_cancel(void *ctx, const struct rpc_caller *caller, const void *cdr, size_t count)
{
	static const unsigned char none[ID_BYTES];
	struct action *action = ctx;
	struct cdr_in in = cdr_open(cdr, count);
	struct text list = {0};
	struct json_out out = {.text = &list};
	unsigned char id[ID_BYTES];
	bool sound = action_read_id(&in, id);
	bool timed = cdr_get(&in, 4) != 0;
	timed |= cdr_get(&in, 4) != 0;
	sound = sound && !in.bad;
	bool one = sound && memcmp(id, none, ID_BYTES) != 0;
	const struct action_goal *named = one ? action_find_goal(action, id) : NULL;
	uint32_t cancelled = 0;
	json_out_array(&out, NULL);
	for (uint32_t i = 0; i < action->goals.count && sound; i++) {
		struct action_goal *goal = action->goals.at[i];
		if (action_is_over(goal) || goal->status == UNKNOWN || (one && !timed && goal != named))
			continue;
		action_cancel(goal);
		cancelled++;
		json_out_object(&out, NULL);
		action_add_id(&out, goal);
		json_out_end(&out);
	}
	json_out_end(&out);
	action_reply_cancel(action, caller, action_cancel_code(cancelled, one, named), &list);
	text_fini(&list);
	if (cancelled)
		action_tell_status(action);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static bool action_open_service(struct action *action, struct rpc *rpc, const char *name, const char *type,
	rpc_hear_fn *hear, struct rpc_service **ret_service, char *why)
{
	char *full = mem_printf("%s/_action/%s", action->shown, name);
	char *request = mem_printf("%s_Request", type), *response = mem_printf("%s_Response", type);
	*ret_service = rpc_open(rpc, full, request, response, hear, action, why);
	free(full);
	free(request);
	free(response);
	return *ret_service;
}

static bool action_open_topic(struct action *action, const char *name, const char *type, enum glue_keep keep,
	struct glue_end **ret_end, char *why)
{
	struct text user_data = {0};
	char *full = mem_printf("%s/_action/%s", action->shown, name);
	char *topic = graph_topic(full), *type_name = graph_type(type);
	text_add(&user_data, "typehash=");
	type_hash_add(type, &user_data);
	text_add(&user_data, ";");
	bool opened = action->def.glue->write_end(action->def.node, topic, type_name, keep, user_data.at, ret_end, why);
	text_fini(&user_data);
	free(type_name);
	free(topic);
	free(full);
	return opened;
}

/* The topics first: a client that sees the services may use them. What was opened before a failure stays. */
static bool action_open_all(struct action *action, struct rpc *rpc, char *why)
{
	char *send = action_type_of(action, "_SendGoal"), *get = action_type_of(action, "_GetResult");
	char *feedback = action_type_of(action, "_FeedbackMessage");
	bool opened =
		action_open_topic(action, "feedback", feedback, GLUE_LATEST, &action->feedback, why) &&
		action_open_topic(
			action, "status", "action_msgs/msg/GoalStatusArray", GLUE_STATIC, &action->status, why) &&
		action_open_service(action, rpc, "cancel_goal", "action_msgs/srv/CancelGoal", action_hear_cancel,
			&action->cancel_goal, why) &&
		action_open_service(action, rpc, "get_result", get, action_hear_result, &action->get_result, why) &&
		action_open_service(action, rpc, "send_goal", send, action_hear_goal, &action->send_goal, why);
	free(feedback);
	free(send);
	free(get);
	return opened;
}

struct action *action_open(const struct services_def *def, struct rpc *rpc, const char *name, const char *shown,
	const char *type, char *why)
{
	struct action *action = mem_alloc(sizeof *action);
	*action = (struct action){
		.def = *def, .name = mem_strdup(name), .shown = mem_strdup(shown), .type = mem_strdup(type)};
	*why = '\0';
	(void)action_open_all(action, rpc, why);
	return action;
}

void action_turn(struct action *action)
{
	bool cancelled = false;
	for (uint32_t i = 0; i < action->goals.count && action->running; i++) {
		struct action_goal *goal = action->goals.at[i];
		if (goal->status != EXECUTING || !rpc_is_gone(action->send_goal, &goal->sender))
			continue;
		action_cancel(goal);
		cancelled = true;
	}
	if (cancelled)
		action_tell_status(action);
}

uint32_t action_ends(const struct action *action, struct graph_end *ret_ends)
{
	const struct glue_end *const ends[] = {action->feedback, action->status};
	uint32_t count = 0;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends[i] && ret_ends) {
			ret_ends[count].kind = TROUPE_TOPIC_PUBLISHED;
			action->def.glue->end_guid(ends[i], ret_ends[count].guid);
		}
		count += ends[i] != NULL;
	}
	return count;
}

bool action_is_named(const struct action *action, const char *name)
{
	return !strcmp(action->name, name);
}

void action_destroy(struct action *action)
{
	for (uint32_t i = 0; i < action->goals.count; i++)
		action_free_goal(action->goals.at[i]);
	if (action->feedback)
		action->def.glue->close_end(action->feedback);
	if (action->status)
		action->def.glue->close_end(action->status);
	rpc_close(action->send_goal);
	rpc_close(action->get_result);
	rpc_close(action->cancel_goal);
	vec_free(&action->goals);
	free(action->refusal);
	free(action->name);
	free(action->shown);
	free(action->type);
	free(action);
}
