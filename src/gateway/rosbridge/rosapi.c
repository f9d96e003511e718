/* Answers are made of the index each time: people and their tools ask rarely. All topics and services are those of one
 * node, /troupe. */
#include "gateway/rosbridge/rosapi.h"

#include "base/json_out.h"
#include "gateway/lockstep/callers.h"
#include "gateway/ros/fields.h"
#include "gateway/ros/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char rosapi_node[] = "/troupe";

struct rosapi_request {
	struct rosbridge *gateway;
	const json_t *args;
	struct json_out *out; /* in the object of the response */
	struct troupe_error *error;
};

typedef troupe_status rosapi_fn(const struct rosapi_request *request);

static const char *rosapi_text_of(const struct rosapi_request *request, const char *member)
{
	const char *text = json_string_value(json_object_get(request->args, member));
	return text ? text : "";
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static bool rosapi_is_first_of_name(const struct topic_index *topic_index, uint32_t at)
{
	return topic_index_first(topic_index, topic_index->names.offers.at[at].name) == at;
}

enum topic_item { ROSAPI_NAMES, TYPES, DEFINITIONS };

static void rosapi_add_definition(struct json_out *out, const struct ros_offer *offer)
{
	struct text schema = {0};
	if (offer->ros)
		ros_add_schema(offer->ros, &schema);
	json_out_string(out, NULL, schema.count ? schema.at : "");
	text_fini(&schema);
}

/* of NULL: all topics; kinds: bits of what is done with them; 0: none. */
static void rosapi_add_topics(
	const struct rosapi_request *request, const char *key, enum topic_item item, const char *of, unsigned kinds)
{
	const struct topic_index *topic_index = &request->gateway->topic_index;
	json_out_array(request->out, key);
	for (uint32_t i = 0; i < topic_index->names.offers.count; i++) {
		const struct ros_offer *offer = &topic_index->names.offers.at[i];
		const char *type = topic_index_type(topic_index, offer->name);
		if (!rosapi_is_first_of_name(topic_index, i) || !(kinds >> offer->kind & 1) ||
			(of && !topic_index_is_type(type, of)))
			continue;
		if (item == DEFINITIONS)
			rosapi_add_definition(request->out, offer);
		else
			json_out_string(request->out, NULL, item == ROSAPI_NAMES ? offer->name : type);
	}
	json_out_end(request->out);
}

enum { ROSAPI_PUBLISHED = 1 << TROUPE_TOPIC_PUBLISHED, ROSAPI_TAKEN = 1 << TROUPE_TOPIC_TAKEN };

static troupe_status rosapi_topics(const struct rosapi_request *request)
{
	rosapi_add_topics(request, "topics", ROSAPI_NAMES, NULL, ROSAPI_PUBLISHED | ROSAPI_TAKEN);
	rosapi_add_topics(request, "types", TYPES, NULL, ROSAPI_PUBLISHED | ROSAPI_TAKEN);
	return TROUPE_OK;
}

static troupe_status rosapi_topics_and_raw_types(const struct rosapi_request *request)
{
	(void)rosapi_topics(request);
	rosapi_add_topics(request, "typedefs_full_text", DEFINITIONS, NULL, ROSAPI_PUBLISHED | ROSAPI_TAKEN);
	return TROUPE_OK;
}

static troupe_status rosapi_topics_for_type(const struct rosapi_request *request)
{
	rosapi_add_topics(
		request, "topics", ROSAPI_NAMES, rosapi_text_of(request, "type"), ROSAPI_PUBLISHED | ROSAPI_TAKEN);
	return TROUPE_OK;
}

static troupe_status rosapi_topic_type(const struct rosapi_request *request)
{
	char *name = topic_index_full_name(rosapi_text_of(request, "topic"));
	const char *type = topic_index_type(&request->gateway->topic_index, name);
	json_out_string(request->out, "type", type ? type : "");
	free(name);
	return TROUPE_OK;
}

/* --- services and nodes ------------------------------------------------------------------------------------------- */

static void rosapi_each_own(void (*fn)(void *ctx, const char *name, const char *type), void *ctx);

struct rosapi_listing {
	struct json_out *out;
	const char *of;   /* a type: only services of this type are listed; NULL: all */
	const char *name; /* only the type of the first one of this name is told, as a member; NULL: names are listed */
	bool told;
};

static void rosapi_list_one(void *ctx, const char *name, const char *type)
{
	struct rosapi_listing *listing = ctx;
	if ((listing->of && strcmp(type, listing->of) != 0) || (listing->name && strcmp(name, listing->name) != 0))
		return;
	if (!listing->name)
		json_out_string(listing->out, NULL, name);
	else if (!listing->told)
		json_out_string(listing->out, "type", type);
	listing->told = true;
}

static void rosapi_list_services(const struct rosapi_request *request, struct rosapi_listing *listing)
{
	struct hub *hub = request->gateway->hub;
	const struct troupe_topics *all = hub_topics(hub);
	rosapi_each_own(rosapi_list_one, listing);
	simulation_each_service(request->gateway->hub->simulation, rosapi_list_one, listing);
	for (int i = 0; i < CALLERS_SERVICES && hub->callers; i++)
		rosapi_list_one(listing, callers_rows[i].name, callers_rows[i].type);
	for (uint32_t i = 0; i < all->count; i++)
		if (all->at[i].kind == TROUPE_TOPIC_SERVICE)
			rosapi_list_one(listing, all->at[i].name, all->at[i].type);
	hub_release(hub, all);
}

/* of NULL: all. */
static void rosapi_add_services(const struct rosapi_request *request, const char *of)
{
	json_out_array(request->out, "services");
	rosapi_list_services(request, &(struct rosapi_listing){.out = request->out, .of = of});
	json_out_end(request->out);
}

static troupe_status rosapi_services(const struct rosapi_request *request)
{
	rosapi_add_services(request, NULL);
	return TROUPE_OK;
}

static troupe_status rosapi_services_for_type(const struct rosapi_request *request)
{
	rosapi_add_services(request, rosapi_text_of(request, "type"));
	return TROUPE_OK;
}

/* The type of what `list` finds under the name that the request has as `member`; "": nothing. */
static troupe_status rosapi_answer_type(const struct rosapi_request *request, const char *member,
	void (*list)(const struct rosapi_request *, struct rosapi_listing *))
{
	char *name = topic_index_full_name(rosapi_text_of(request, member));
	struct rosapi_listing listing = {.out = request->out, .name = name};
	list(request, &listing);
	if (!listing.told)
		json_out_string(request->out, "type", "");
	free(name);
	return TROUPE_OK;
}

static troupe_status rosapi_service_type(const struct rosapi_request *request)
{
	return rosapi_answer_type(request, "service", rosapi_list_services);
}

static troupe_status rosapi_nodes(const struct rosapi_request *request)
{
	json_out_strings(request->out, "nodes", &(const char *){rosapi_node}, 1);
	return TROUPE_OK;
}

static troupe_status rosapi_node_details(const struct rosapi_request *request)
{
	bool is_known = !strcmp(rosapi_text_of(request, "node"), rosapi_node);
	rosapi_add_topics(request, "subscribing", ROSAPI_NAMES, NULL, is_known ? ROSAPI_TAKEN : 0);
	rosapi_add_topics(request, "publishing", ROSAPI_NAMES, NULL, is_known ? ROSAPI_PUBLISHED : 0);
	json_out_array(request->out, "services");
	if (is_known)
		rosapi_list_services(request, &(struct rosapi_listing){.out = request->out});
	json_out_end(request->out);
	return TROUPE_OK;
}

static void rosapi_add_users(const struct rosapi_request *request, const char *member, troupe_topic_kind kind)
{
	const struct topic_index *topic_index = &request->gateway->topic_index;
	const char *topic = rosapi_text_of(request, "topic");
	char *name = topic_index_full_name(topic);
	bool used = false;
	for (uint32_t at = topic_index_first(topic_index, name); at != UINT32_MAX; at = topic_index->same_name[at])
		used |= topic_index->names.offers.at[at].kind == kind;
	json_out_strings(request->out, member, &(const char *){rosapi_node}, used ? 1 : 0);
	free(name);
}

static troupe_status rosapi_publishers(const struct rosapi_request *request)
{
	rosapi_add_users(request, "publishers", TROUPE_TOPIC_PUBLISHED);
	return TROUPE_OK;
}

static troupe_status rosapi_subscribers(const struct rosapi_request *request)
{
	rosapi_add_users(request, "subscribers", TROUPE_TOPIC_TAKEN);
	return TROUPE_OK;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

enum { FIELD_NAMES, FIELD_TYPES, FIELD_LENGTHS, FIELD_EXAMPLES, FIELD_LISTS };

struct typedefs {
	struct json_out *out;
	char type[128]; /* whose fields are gathered; "": none yet */
	struct text texts[FIELD_LISTS];
	struct json_out lists[FIELD_LISTS]; /* arrays in the texts */
};

static void rosapi_add_constant_name(void *ctx, const char *name, const char *value)
{
	(void)value;
	json_out_string(ctx, NULL, name);
}

static void rosapi_add_constant_value(void *ctx, const char *name, const char *value)
{
	(void)name;
	json_out_string(ctx, NULL, value);
}

static void rosapi_begin_type(struct typedefs *defs, const char *type)
{
	(void)snprintf(defs->type, sizeof defs->type, "%s", type);
	for (int i = 0; i < FIELD_LISTS; i++) {
		defs->lists[i] = (struct json_out){.text = &defs->texts[i]};
		json_out_array(&defs->lists[i], NULL);
	}
}

static void rosapi_end_type(struct typedefs *defs)
{
	static const char *const members[] = {"fieldnames", "fieldtypes", "fieldarraylen", "examples"};
	if (!*defs->type)
		return;
	json_out_object(defs->out, NULL);
	json_out_string(defs->out, "type", defs->type);
	for (int i = 0; i < FIELD_LISTS; i++) {
		struct text *list = &defs->texts[i];
		json_out_end(&defs->lists[i]);
		text_add_bytes(json_out_value(defs->out, members[i]), list->at, list->count);
		text_fini(list);
	}
	json_out_array(defs->out, "constnames");
	(void)fields_each_constant(defs->type, rosapi_add_constant_name, defs->out);
	json_out_end(defs->out);
	json_out_array(defs->out, "constvalues");
	(void)fields_each_constant(defs->type, rosapi_add_constant_value, defs->out);
	json_out_end(defs->out);
	json_out_end(defs->out);
}

static const char *rosapi_example_of(const char *field_type, int array)
{
	if (array >= 0)
		return "[]";
	if (strchr(field_type, '/'))
		return "{}";
	if (!strcmp(field_type, "string"))
		return "";
	return !strcmp(field_type, "bool") ? "False" : !strncmp(field_type, "float", 5) ? "0.0" : "0";
}

static void rosapi_add_field(void *ctx, const char *type, const char *name, const char *field_type, int array)
{
	struct typedefs *defs = ctx;
	if (strcmp(defs->type, type) != 0) {
		rosapi_end_type(defs);
		rosapi_begin_type(defs, type);
	}
	if (!name)
		return;
	json_out_string(&defs->lists[FIELD_NAMES], NULL, name);
	json_out_string(&defs->lists[FIELD_TYPES], NULL, field_type);
	json_out_int(&defs->lists[FIELD_LENGTHS], NULL, array);
	json_out_string(&defs->lists[FIELD_EXAMPLES], NULL, rosapi_example_of(field_type, array));
}

static troupe_status rosapi_add_typedefs(const struct rosapi_request *request, const char *type)
{
	struct typedefs defs = {.out = request->out};
	if (!ros_json_knows(type))
		return fail(request->error, TROUPE_ECOMMAND, "type '%.80s': there is no such type here", type);
	json_out_array(request->out, "typedefs");
	(void)fields_each(type, rosapi_add_field, &defs);
	rosapi_end_type(&defs);
	json_out_end(request->out);
	return TROUPE_OK;
}

static troupe_status rosapi_message_details(const struct rosapi_request *request)
{
	return rosapi_add_typedefs(request, rosapi_text_of(request, "type"));
}

static troupe_status rosapi_add_details_of(const struct rosapi_request *request, const char *half)
{
	char *type = mem_printf("%s_%s", rosapi_text_of(request, "type"), half);
	troupe_status status = rosapi_add_typedefs(request, type);
	free(type);
	return status;
}

static troupe_status rosapi_service_request_details(const struct rosapi_request *request)
{
	return rosapi_add_details_of(request, "Request");
}

static troupe_status rosapi_service_response_details(const struct rosapi_request *request)
{
	return rosapi_add_details_of(request, "Response");
}

static troupe_status rosapi_action_goal_details(const struct rosapi_request *request)
{
	return rosapi_add_details_of(request, "Goal");
}

static troupe_status rosapi_action_result_details(const struct rosapi_request *request)
{
	return rosapi_add_details_of(request, "Result");
}

static troupe_status rosapi_action_feedback_details(const struct rosapi_request *request)
{
	return rosapi_add_details_of(request, "Feedback");
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

static troupe_status rosapi_get_time(const struct rosapi_request *request)
{
	uint64_t ns = request->gateway->hub->time_ns;
	json_out_object(request->out, "time");
	json_out_uint(request->out, "sec", ns / 1000000000);
	json_out_uint(request->out, "nanosec", ns % 1000000000);
	json_out_end(request->out);
	return TROUPE_OK;
}

static troupe_status rosapi_get_ros_version(const struct rosapi_request *request)
{
	json_out_int(request->out, "version", 2);
	json_out_string(request->out, "distro", "");
	return TROUPE_OK;
}

static void rosapi_list_actions(const struct rosapi_request *request, struct rosapi_listing *listing)
{
	simulation_each_action(request->gateway->hub->simulation, rosapi_list_one, listing);
}

static troupe_status rosapi_action_servers(const struct rosapi_request *request)
{
	json_out_array(request->out, "action_servers");
	rosapi_list_actions(request, &(struct rosapi_listing){.out = request->out});
	json_out_end(request->out);
	return TROUPE_OK;
}

static troupe_status rosapi_action_type(const struct rosapi_request *request)
{
	return rosapi_answer_type(request, "action", rosapi_list_actions);
}

/* troupe has no parameters. */
static troupe_status rosapi_get_param_names(const struct rosapi_request *request)
{
	json_out_strings(request->out, "names", NULL, 0);
	return TROUPE_OK;
}

static troupe_status rosapi_has_param(const struct rosapi_request *request)
{
	json_out_bool(request->out, "exists", false);
	return TROUPE_OK;
}

static const struct {
	const char *name, *type;
	rosapi_fn *fn;
} rosapi_table[] = {
	{"/rosapi/action_feedback_details", "rosapi_msgs/srv/ActionFeedbackDetails", rosapi_action_feedback_details},
	{"/rosapi/action_goal_details", "rosapi_msgs/srv/ActionGoalDetails", rosapi_action_goal_details},
	{"/rosapi/action_result_details", "rosapi_msgs/srv/ActionResultDetails", rosapi_action_result_details},
	{"/rosapi/action_servers", "rosapi_msgs/srv/GetActionServers", rosapi_action_servers},
	{"/rosapi/action_type", "rosapi_msgs/srv/ActionType", rosapi_action_type},
	{"/rosapi/get_param_names", "rosapi_msgs/srv/GetParamNames", rosapi_get_param_names},
	{"/rosapi/get_ros_version", "rosapi_msgs/srv/GetROSVersion", rosapi_get_ros_version},
	{"/rosapi/get_time", "rosapi_msgs/srv/GetTime", rosapi_get_time},
	{"/rosapi/has_param", "rosapi_msgs/srv/HasParam", rosapi_has_param},
	{"/rosapi/message_details", "rosapi_msgs/srv/MessageDetails", rosapi_message_details},
	{"/rosapi/node_details", "rosapi_msgs/srv/NodeDetails", rosapi_node_details},
	{"/rosapi/nodes", "rosapi_msgs/srv/Nodes", rosapi_nodes},
	{"/rosapi/publishers", "rosapi_msgs/srv/Publishers", rosapi_publishers},
	{"/rosapi/service_request_details", "rosapi_msgs/srv/ServiceRequestDetails", rosapi_service_request_details},
	{"/rosapi/service_response_details", "rosapi_msgs/srv/ServiceResponseDetails", rosapi_service_response_details},
	{"/rosapi/service_type", "rosapi_msgs/srv/ServiceType", rosapi_service_type},
	{"/rosapi/services", "rosapi_msgs/srv/Services", rosapi_services},
	{"/rosapi/services_for_type", "rosapi_msgs/srv/ServicesForType", rosapi_services_for_type},
	{"/rosapi/subscribers", "rosapi_msgs/srv/Subscribers", rosapi_subscribers},
	{"/rosapi/topic_type", "rosapi_msgs/srv/TopicType", rosapi_topic_type},
	{"/rosapi/topics", "rosapi_msgs/srv/Topics", rosapi_topics},
	{"/rosapi/topics_and_raw_types", "rosapi_msgs/srv/TopicsAndRawTypes", rosapi_topics_and_raw_types},
	{"/rosapi/topics_for_type", "rosapi_msgs/srv/TopicsForType", rosapi_topics_for_type},
};

static void rosapi_each_own(void (*fn)(void *ctx, const char *name, const char *type), void *ctx)
{
	for (size_t i = 0; i < ARRAY_LEN(rosapi_table); i++)
		fn(ctx, rosapi_table[i].name, rosapi_table[i].type);
}

static size_t rosapi_find(const char *service)
{
	size_t i = 0;
	while (i < ARRAY_LEN(rosapi_table) && strcmp(rosapi_table[i].name, service) != 0)
		i++;
	return i;
}

bool rosapi_has(const char *service)
{
	return rosapi_find(service) < ARRAY_LEN(rosapi_table);
}

troupe_status rosapi_call(struct rosbridge *gateway, const char *service, const struct json_t *args,
	struct text *values, struct troupe_error *error)
{
	struct json_out out = {.text = values};
	const struct rosapi_request request = {gateway, args, &out, error};
	size_t before = values->count;
	json_out_object(&out, NULL);
	troupe_status status = rosapi_table[rosapi_find(service)].fn(&request);
	json_out_end(&out);
	if (status)
		values->count = before;
	return status;
}
