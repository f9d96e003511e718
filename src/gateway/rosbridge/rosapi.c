/* Answers are made of the board each time: people and their tools ask rarely. All topics and services are those of one
 * node, /troupe. */
#include "gateway/rosbridge/rosapi.h"

#include "gateway/lockstep/callers.h"
#include "gateway/ros/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char node[] = "/troupe";

struct request {
	struct rosbridge *gateway;
	const json_t *args;
	struct text *out;
	struct troupe_error *error;
};

typedef troupe_status rosapi_fn(const struct request *request);

static const char *text_of(const struct request *request, const char *member)
{
	const char *text = json_string_value(json_object_get(request->args, member));
	return text ? text : "";
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static void open_list(struct text *out, const char *before, const char *name)
{
	text_add(out, "%s\"%s\":[", before, name);
}

static void add_item(struct text *out, const char *item)
{
	if (out->at[out->count - 1] != '[')
		text_add(out, ",");
	text_add_json(out, item);
}

static bool is_first_of_name(const struct board *board, uint32_t at)
{
	return board_first(board, board->names.offers.at[at].name) == at;
}

enum topic_item { NAMES, TYPES, DEFINITIONS };

static void add_definition(struct text *out, const struct ros_offer *offer)
{
	struct text schema = {0};
	if (offer->ros)
		ros_add_schema(offer->ros, &schema);
	add_item(out, schema.count ? schema.at : "");
	text_fini(&schema);
}

/* of NULL: all topics; kinds: bits of what is done with them. */
static void add_topics(const struct request *request, enum topic_item item, const char *of, unsigned kinds)
{
	const struct board *board = &request->gateway->board;
	for (uint32_t i = 0; i < board->names.offers.count; i++) {
		const struct ros_offer *offer = &board->names.offers.at[i];
		const char *type = board_type(board, offer->name);
		if (!is_first_of_name(board, i) || !(kinds >> offer->kind & 1) || (of && !board_is_type(type, of)))
			continue;
		if (item == DEFINITIONS)
			add_definition(request->out, offer);
		else
			add_item(request->out, item == NAMES ? offer->name : type);
	}
}

enum { PUBLISHED = 1 << TROUPE_TOPIC_PUBLISHED, TAKEN = 1 << TROUPE_TOPIC_TAKEN };

static troupe_status topics(const struct request *request)
{
	open_list(request->out, "{", "topics");
	add_topics(request, NAMES, NULL, PUBLISHED | TAKEN);
	open_list(request->out, "],", "types");
	add_topics(request, TYPES, NULL, PUBLISHED | TAKEN);
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static troupe_status topics_and_raw_types(const struct request *request)
{
	open_list(request->out, "{", "topics");
	add_topics(request, NAMES, NULL, PUBLISHED | TAKEN);
	open_list(request->out, "],", "types");
	add_topics(request, TYPES, NULL, PUBLISHED | TAKEN);
	open_list(request->out, "],", "typedefs_full_text");
	add_topics(request, DEFINITIONS, NULL, PUBLISHED | TAKEN);
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static troupe_status topics_for_type(const struct request *request)
{
	open_list(request->out, "{", "topics");
	add_topics(request, NAMES, text_of(request, "type"), PUBLISHED | TAKEN);
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static troupe_status topic_type(const struct request *request)
{
	const char *topic = text_of(request, "topic");
	char *name = board_full_name(topic);
	const char *type = board_type(&request->gateway->board, name);
	text_add(request->out, "{\"type\":");
	text_add_json(request->out, type ? type : "");
	text_add(request->out, "}");
	free(name);
	return TROUPE_OK;
}

/* --- services and nodes ------------------------------------------------------------------------------------------- */

static void each_own(void (*fn)(void *ctx, const char *name, const char *type), void *ctx);

struct listing {
	struct text *out;
	bool types;
	const char *of, *name; /* of a type, of a name; NULL: all */
};

static void list_one(void *ctx, const char *name, const char *type)
{
	const struct listing *listing = ctx;
	if ((!listing->of || !strcmp(type, listing->of)) && (!listing->name || !strcmp(name, listing->name)))
		add_item(listing->out, listing->types ? type : name);
}

static void list_services(const struct request *request, struct listing listing)
{
	struct hub *hub = request->gateway->hub;
	const struct troupe_topics *all = hub_topics(hub);
	each_own(list_one, &listing);
	simulation_each_service(request->gateway->hub->simulation, list_one, &listing);
	for (int i = 0; i < CALLERS_SERVICES && hub->callers; i++)
		list_one(&listing, callers_rows[i].name, callers_rows[i].type);
	for (uint32_t i = 0; i < all->count; i++)
		if (all->at[i].kind == TROUPE_TOPIC_SERVICE)
			list_one(&listing, all->at[i].name, all->at[i].type);
	hub_release(hub, all);
}

static troupe_status services(const struct request *request)
{
	open_list(request->out, "{", "services");
	list_services(request, (struct listing){.out = request->out});
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static troupe_status services_for_type(const struct request *request)
{
	open_list(request->out, "{", "services");
	list_services(request, (struct listing){.out = request->out, .of = text_of(request, "type")});
	text_add(request->out, "]}");
	return TROUPE_OK;
}

/* The type of what `list` finds under the name that the request has as `member`; "": nothing. */
static troupe_status answer_type(
	const struct request *request, const char *member, void (*list)(const struct request *, struct listing))
{
	char *name = board_full_name(text_of(request, member));
	struct text found = {0};
	text_add(&found, "[");
	list(request, (struct listing){.out = &found, .types = true, .name = name});
	text_add(request->out, "{\"type\":%s}", found.count > 1 ? found.at + 1 : "\"\"");
	text_fini(&found);
	free(name);
	return TROUPE_OK;
}

static troupe_status service_type(const struct request *request)
{
	return answer_type(request, "service", list_services);
}

static troupe_status nodes(const struct request *request)
{
	text_add(request->out, "{\"nodes\":[\"%s\"]}", node);
	return TROUPE_OK;
}

static troupe_status node_details(const struct request *request)
{
	bool is_known = !strcmp(text_of(request, "node"), node);
	open_list(request->out, "{", "subscribing");
	if (is_known)
		add_topics(request, NAMES, NULL, TAKEN);
	open_list(request->out, "],", "publishing");
	if (is_known)
		add_topics(request, NAMES, NULL, PUBLISHED);
	open_list(request->out, "],", "services");
	if (is_known)
		list_services(request, (struct listing){.out = request->out});
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static void add_users(const struct request *request, const char *member, troupe_topic_kind kind)
{
	const struct board *board = &request->gateway->board;
	const char *topic = text_of(request, "topic"), *user = "";
	char *name = board_full_name(topic);
	for (uint32_t at = board_first(board, name); at != UINT32_MAX; at = board->same_name[at])
		if (board->names.offers.at[at].kind == kind)
			user = node;
	text_add(request->out, "{\"%s\":[%s%s%s]}", member, *user ? "\"" : "", user, *user ? "\"" : "");
	free(name);
}

static troupe_status publishers(const struct request *request)
{
	add_users(request, "publishers", TROUPE_TOPIC_PUBLISHED);
	return TROUPE_OK;
}

static troupe_status subscribers(const struct request *request)
{
	add_users(request, "subscribers", TROUPE_TOPIC_TAKEN);
	return TROUPE_OK;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

struct typedefs {
	struct text *out;
	char type[128]; /* whose fields are gathered; "": none yet */
	struct text names, types, lengths, examples;
};

static void add_constant(void *ctx, const char *name, const char *value)
{
	struct text *lists = ctx;
	text_add(&lists[0], "%s", lists[0].count ? "," : "");
	text_add_json(&lists[0], name);
	text_add(&lists[1], "%s", lists[1].count ? "," : "");
	text_add_json(&lists[1], value);
}

static void end_type(struct typedefs *defs)
{
	struct text constants[2] = {{0}, {0}};
	struct text *const lists[] = {&defs->names, &defs->types, &defs->lengths, &defs->examples};
	static const char *const members[] = {"fieldnames", "fieldtypes", "fieldarraylen", "examples"};
	if (!*defs->type)
		return;
	text_add(defs->out, "%s{\"type\":", defs->out->at[defs->out->count - 1] == '[' ? "" : ",");
	text_add_json(defs->out, defs->type);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		text_add(defs->out, ",\"%s\":%s]", members[i], lists[i]->count ? lists[i]->at : "[");
		text_fini(lists[i]);
	}
	(void)ros_each_constant(defs->type, add_constant, constants);
	text_add(defs->out, ",\"constnames\":[%s],\"constvalues\":[%s]}", constants[0].count ? constants[0].at : "",
		constants[1].count ? constants[1].at : "");
	text_fini(&constants[0]);
	text_fini(&constants[1]);
}

static const char *example_of(const char *field_type, int array)
{
	if (array >= 0)
		return "[]";
	if (strchr(field_type, '/'))
		return "{}";
	if (!strcmp(field_type, "string"))
		return "";
	return !strcmp(field_type, "bool") ? "False" : !strncmp(field_type, "float", 5) ? "0.0" : "0";
}

static void add_field(void *ctx, const char *type, const char *name, const char *field_type, int array)
{
	struct typedefs *defs = ctx;
	if (strcmp(defs->type, type) != 0) {
		end_type(defs);
		(void)snprintf(defs->type, sizeof defs->type, "%s", type);
	}
	if (!name)
		return;
	text_add(&defs->names, "%s", defs->names.count ? "," : "[");
	text_add_json(&defs->names, name);
	text_add(&defs->types, "%s", defs->types.count ? "," : "[");
	text_add_json(&defs->types, field_type);
	text_add(&defs->lengths, "%s%d", defs->lengths.count ? "," : "[", array);
	text_add(&defs->examples, "%s", defs->examples.count ? "," : "[");
	text_add_json(&defs->examples, example_of(field_type, array));
}

static troupe_status add_typedefs(const struct request *request, const char *type)
{
	struct typedefs defs = {.out = request->out};
	if (!ros_json_knows(type))
		return fail(request->error, TROUPE_ECOMMAND, "type '%.80s': there is no such type here", type);
	open_list(request->out, "{", "typedefs");
	(void)ros_each_field(type, add_field, &defs);
	end_type(&defs);
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static troupe_status message_details(const struct request *request)
{
	return add_typedefs(request, text_of(request, "type"));
}

static troupe_status add_details_of(const struct request *request, const char *half)
{
	char *type = mem_printf("%s_%s", text_of(request, "type"), half);
	troupe_status status = add_typedefs(request, type);
	free(type);
	return status;
}

static troupe_status service_request_details(const struct request *request)
{
	return add_details_of(request, "Request");
}

static troupe_status service_response_details(const struct request *request)
{
	return add_details_of(request, "Response");
}

static troupe_status action_goal_details(const struct request *request)
{
	return add_details_of(request, "Goal");
}

static troupe_status action_result_details(const struct request *request)
{
	return add_details_of(request, "Result");
}

static troupe_status action_feedback_details(const struct request *request)
{
	return add_details_of(request, "Feedback");
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

static troupe_status get_time(const struct request *request)
{
	uint64_t ns = request->gateway->hub->time_ns;
	text_add(request->out, "{\"time\":{\"sec\":%llu,\"nanosec\":%llu}}", (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
	return TROUPE_OK;
}

static troupe_status get_ros_version(const struct request *request)
{
	text_add(request->out, "{\"version\":2,\"distro\":\"\"}");
	return TROUPE_OK;
}

static void list_actions(const struct request *request, struct listing listing)
{
	simulation_each_action(request->gateway->hub->simulation, list_one, &listing);
}

static troupe_status action_servers(const struct request *request)
{
	open_list(request->out, "{", "action_servers");
	list_actions(request, (struct listing){.out = request->out});
	text_add(request->out, "]}");
	return TROUPE_OK;
}

static troupe_status action_type(const struct request *request)
{
	return answer_type(request, "action", list_actions);
}

/* troupe has no parameters. */
static troupe_status get_param_names(const struct request *request)
{
	text_add(request->out, "{\"names\":[]}");
	return TROUPE_OK;
}

static troupe_status has_param(const struct request *request)
{
	text_add(request->out, "{\"exists\":false}");
	return TROUPE_OK;
}

static const struct {
	const char *name, *type;
	rosapi_fn *fn;
} table[] = {
	{"/rosapi/action_feedback_details", "rosapi_msgs/srv/ActionFeedbackDetails", action_feedback_details},
	{"/rosapi/action_goal_details", "rosapi_msgs/srv/ActionGoalDetails", action_goal_details},
	{"/rosapi/action_result_details", "rosapi_msgs/srv/ActionResultDetails", action_result_details},
	{"/rosapi/action_servers", "rosapi_msgs/srv/GetActionServers", action_servers},
	{"/rosapi/action_type", "rosapi_msgs/srv/ActionType", action_type},
	{"/rosapi/get_param_names", "rosapi_msgs/srv/GetParamNames", get_param_names},
	{"/rosapi/get_ros_version", "rosapi_msgs/srv/GetROSVersion", get_ros_version},
	{"/rosapi/get_time", "rosapi_msgs/srv/GetTime", get_time},
	{"/rosapi/has_param", "rosapi_msgs/srv/HasParam", has_param},
	{"/rosapi/message_details", "rosapi_msgs/srv/MessageDetails", message_details},
	{"/rosapi/node_details", "rosapi_msgs/srv/NodeDetails", node_details},
	{"/rosapi/nodes", "rosapi_msgs/srv/Nodes", nodes},
	{"/rosapi/publishers", "rosapi_msgs/srv/Publishers", publishers},
	{"/rosapi/service_request_details", "rosapi_msgs/srv/ServiceRequestDetails", service_request_details},
	{"/rosapi/service_response_details", "rosapi_msgs/srv/ServiceResponseDetails", service_response_details},
	{"/rosapi/service_type", "rosapi_msgs/srv/ServiceType", service_type},
	{"/rosapi/services", "rosapi_msgs/srv/Services", services},
	{"/rosapi/services_for_type", "rosapi_msgs/srv/ServicesForType", services_for_type},
	{"/rosapi/subscribers", "rosapi_msgs/srv/Subscribers", subscribers},
	{"/rosapi/topic_type", "rosapi_msgs/srv/TopicType", topic_type},
	{"/rosapi/topics", "rosapi_msgs/srv/Topics", topics},
	{"/rosapi/topics_and_raw_types", "rosapi_msgs/srv/TopicsAndRawTypes", topics_and_raw_types},
	{"/rosapi/topics_for_type", "rosapi_msgs/srv/TopicsForType", topics_for_type},
};

static void each_own(void (*fn)(void *ctx, const char *name, const char *type), void *ctx)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		fn(ctx, table[i].name, table[i].type);
}

static size_t find(const char *service)
{
	size_t i = 0;
	while (i < ARRAY_LEN(table) && strcmp(table[i].name, service) != 0)
		i++;
	return i;
}

bool rosapi_has(const char *service)
{
	return find(service) < ARRAY_LEN(table);
}

troupe_status rosapi_call(struct rosbridge *gateway, const char *service, const struct json_t *args,
	struct text *values, struct troupe_error *error)
{
	const struct request request = {gateway, args, values, error};
	return table[find(service)].fn(&request);
}
