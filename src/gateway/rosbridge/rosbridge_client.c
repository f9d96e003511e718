/* An operation that cannot be done costs the client a status with the reason, and nothing else. A call is answered in
 * every case, for the client waits for it. */
#include "gateway/rosbridge/rosbridge_client.h"

#include "gateway/hub/op.h"
#include "gateway/ros/give.h"
#include "gateway/ros/json.h"
#include "gateway/rosbridge/rosbridge_call.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is said ------------------------------------------------------------------------------------------------- */

struct json_out rosbridge_client_begin(struct text *text, const char *op, const char *id)
{
	struct json_out out = op_begin(text, op);
	if (id)
		text_add(json_out_value(&out, "id"), "%s", id);
	return out;
}

void rosbridge_client_complain(
	struct rosbridge_client *client, enum rosbridge_client_level level, const char *id, const char *format, ...)
{
	static const char *const names[] = {"info", "warning", "error", "none"};
	struct troupe_error line;
	struct text json = {0};
	va_list args;
	if (level == ROSBRIDGE_CLIENT_ERROR)
		hub_count(&client->gateway->hub->refused);
	if (level < client->level)
		return;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	struct json_out out = rosbridge_client_begin(&json, "status", id);
	json_out_string(&out, "level", names[level]);
	json_out_string(&out, "msg", line.text);
	op_say(client->base, &out);
}

void rosbridge_client_answer(struct rosbridge_client *client, const char *service, const char *id,
	const struct text *values, const char *why)
{
	struct text json = {0};
	struct json_out out = rosbridge_client_begin(&json, "service_response", id);
	json_out_string(&out, "service", service);
	if (why)
		json_out_string(&out, "values", why);
	else
		text_add_bytes(json_out_value(&out, "values"), values->at, values->count);
	json_out_bool(&out, "result", !why);
	if (why)
		hub_count(&client->gateway->hub->refused);
	op_say(client->base, &out);
}

/* --- an operation ------------------------------------------------------------------------------------------------- */

const char *rosbridge_client_text_of(const struct rosbridge_operation *operation, const char *member)
{
	const char *text = json_string_value(json_object_get(operation->json, member));
	return text && strlen(text) <= ROSBRIDGE_CLIENT_NAME_MAX ? text : NULL;
}

/* A topic of the operation as ROS 2 writes it, to be freed; NULL: it has none, which the client is told. */
static char *rosbridge_client_name_of(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	const char *topic = rosbridge_client_text_of(operation, "topic");
	if (topic && *topic)
		return topic_index_full_name(topic);
	rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
		"%.40s: topic: expected a name of at most %d bytes", operation->op, (int)ROSBRIDGE_CLIENT_NAME_MAX);
	return NULL;
}

/* A number from 0 on; a member that is none counts as 0. */
static double rosbridge_client_number_of(const struct rosbridge_operation *operation, const char *member, double most)
{
	double number = json_number_value(json_object_get(operation->json, member));
	return number > 0 ? fmin(number, most) : 0;
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

static struct topic_subscription *rosbridge_client_find_subscription(
	struct rosbridge_client *client, const char *topic, const char *name)
{
	const struct hub_subscription *channel = subscriber_list_find(&client->gateway->topic_index.channels, name);
	return (struct topic_subscription *)subscriber_list_of_client(channel, client, topic_subscription_id(topic));
}

static void rosbridge_client_drop_subscription(void *ctx, const char *name, struct hub_subscriber *subscriber)
{
	struct rosbridge_client *client = subscriber->client;
	(void)ctx;
	client->subscriptions--;
	topic_index_leave(&client->gateway->topic_index, name, subscriber);
	topic_subscription_destroy((struct topic_subscription *)subscriber);
}

static void rosbridge_client_subscribe(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	const char *type = rosbridge_client_text_of(operation, "type"),
		   *compression = rosbridge_client_text_of(operation, "compression");
	struct topic_index *topic_index = &client->gateway->topic_index;
	char *name = rosbridge_client_name_of(client, operation);
	if (!name)
		return;
	const char *topic = rosbridge_client_text_of(operation, "topic"), *has = topic_index_type(topic_index, name);
	struct topic_subscription *subscription = rosbridge_client_find_subscription(client, topic, name);
	const struct client_request request = {.id = operation->id,
		.throttle_ns = (uint64_t)(rosbridge_client_number_of(operation, "throttle_rate", 1e9) * 1e6),
		.queue_length =
			(uint32_t)rosbridge_client_number_of(operation, "queue_length", TOPIC_SUBSCRIPTION_QUEUE_MAX)};
	if (has && type && *type && !topic_index_is_type(has, type)) {
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
			"subscribe: %.200s has the type %s: expected it, not %.100s", topic, has, type);
	} else if (subscription ? subscription->client_requests.count >= ROSBRIDGE_CLIENT_SUBSCRIPTIONS_MAX
				: client->subscriptions >= ROSBRIDGE_CLIENT_SUBSCRIPTIONS_MAX) {
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
			"subscribe: expected at most %d subscriptions", (int)ROSBRIDGE_CLIENT_SUBSCRIPTIONS_MAX);
	} else {
		if (compression && *compression && strcmp(compression, "none") != 0)
			rosbridge_client_complain(client, ROSBRIDGE_CLIENT_WARNING, operation->id,
				"subscribe: compression '%.40s': messages come without compression", compression);
		bool is_new = !subscription;
		if (is_new) {
			subscription = topic_subscription_create(client, topic, name, type);
			client->subscriptions++;
		}
		topic_subscription_set(subscription, &request);
		if (is_new)
			topic_index_hear(topic_index, name, &subscription->base);
	}
	free(name);
}

static void rosbridge_client_unsubscribe(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	const char *topic = rosbridge_client_text_of(operation, "topic");
	char *name = topic ? topic_index_full_name(topic) : NULL;
	struct topic_subscription *subscription = name ? rosbridge_client_find_subscription(client, topic, name) : NULL;
	free(name);
	if (!subscription) {
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_WARNING, operation->id,
			"unsubscribe: %.200s is not subscribed to", topic ? topic : "a topic without a name");
		return;
	}
	uint32_t had = subscription->client_requests.count;
	bool is_wanted = topic_subscription_unset(subscription, operation->id);
	if (subscription->client_requests.count == had)
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_WARNING, operation->id,
			"unsubscribe: %.200s has no subscription '%.200s'", topic, operation->id);
	if (!is_wanted)
		rosbridge_client_drop_subscription(NULL, subscription->name, &subscription->base);
}

void rosbridge_client_tell_lost(struct port_client *base, uint64_t lost)
{
	rosbridge_client_complain(base->data, ROSBRIDGE_CLIENT_WARNING, NULL,
		"%llu messages were lost so far: this client, or its connection, is too slow",
		(unsigned long long)lost);
}

/* --- what the client publishes ------------------------------------------------------------------------------------ */

static struct advertisement *rosbridge_client_find_advertisement(struct rosbridge_client *client, const char *name)
{
	for (uint32_t i = 0; i < client->advertisements.count; i++)
		if (!strcmp(client->advertisements.at[i].name, name))
			return &client->advertisements.at[i];
	return NULL;
}

bool rosbridge_client_advertises(struct rosbridge_client *client, const char *name)
{
	return rosbridge_client_find_advertisement(client, name);
}

/* The topic from which the server takes messages of this type; NULL: none. type NULL: any. */
static const struct ros_offer *rosbridge_client_find_taker(
	const struct topic_index *topic_index, const char *name, const char *type)
{
	const struct ros_offer *found = NULL;
	for (uint32_t at = topic_index_first(topic_index, name); at != UINT32_MAX; at = topic_index->same_name[at]) {
		const struct ros_offer *offer = &topic_index->names.offers.at[at];
		if (offer->kind == TROUPE_TOPIC_TAKEN && (!type || topic_index_is_type(offer->type, type)))
			found = offer; /* the first of them all is the usual one */
	}
	return found;
}

static void rosbridge_client_advertise(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	const struct topic_index *topic_index = &client->gateway->topic_index;
	const char *type = rosbridge_client_text_of(operation, "type");
	char *name = rosbridge_client_name_of(client, operation);
	if (!name)
		return;
	const struct ros_offer *any = rosbridge_client_find_taker(topic_index, name, NULL);
	struct advertisement *advertisement = rosbridge_client_find_advertisement(client, name);
	if (type && any && !rosbridge_client_find_taker(topic_index, name, type)) {
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
			"advertise: %.200s takes %s: expected it, not %.100s", name, any->type, type);
	} else if (!advertisement && client->advertisements.count == ROSBRIDGE_CLIENT_ADVERTISEMENTS_MAX) {
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
			"advertise: expected at most %d topics", (int)ROSBRIDGE_CLIENT_ADVERTISEMENTS_MAX);
	} else {
		if (!any) /* one that takes them may come */
			rosbridge_client_complain(client, ROSBRIDGE_CLIENT_WARNING, operation->id,
				"advertise: %.200s: the run takes no messages from this topic now", name);
		if (!advertisement) {
			vec_push(&client->advertisements, (struct advertisement){.name = mem_strdup(name)});
			advertisement = &client->advertisements.at[client->advertisements.count - 1];
		}
		free(advertisement->type);
		advertisement->type = type ? mem_strdup(type) : NULL;
	}
	free(name);
}

static void rosbridge_client_unadvertise(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	char *name = rosbridge_client_name_of(client, operation);
	struct advertisement *advertisement = name ? rosbridge_client_find_advertisement(client, name) : NULL;
	if (advertisement) {
		free(advertisement->name);
		free(advertisement->type);
		*advertisement = client->advertisements.at[--client->advertisements.count];
	}
	free(name);
}

static troupe_status rosbridge_client_publish_bytes(
	void *ctx, const char *topic, const void *bytes, size_t count, struct troupe_error *error)
{
	const struct rosbridge *gateway = ctx;
	return hub_publish(gateway->hub, topic, NULL, bytes, count, error);
}

static troupe_status rosbridge_client_give(struct rosbridge_client *client, const char *name, const char *type,
	const json_t *message, struct troupe_error *error)
{
	const struct topic_index *topic_index = &client->gateway->topic_index;
	const struct ros_offer *offer = rosbridge_client_find_taker(topic_index, name, type);
	struct text cdr = {0};
	if (!offer)
		return fail(error, TROUPE_ECOMMAND, "the run takes no messages%s%.100s from this topic",
			type ? " of " : "", type ? type : "");
	if (!json_is_object(message))
		return fail(error, TROUPE_ECOMMAND, "msg: expected an object");
	troupe_status status = ros_json_to_cdr(offer->type, message, &cdr, error);
	if (!status)
		status = ros_give(&topic_index->names, offer, cdr.at, cdr.count, rosbridge_client_publish_bytes,
			client->gateway, error);
	text_fini(&cdr);
	return status;
}

static void rosbridge_client_publish(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	char *name = rosbridge_client_name_of(client, operation);
	const struct advertisement *advertisement = name ? rosbridge_client_find_advertisement(client, name) : NULL;
	struct troupe_error error;
	if (!name)
		return;
	const char *type = advertisement ? advertisement->type : rosbridge_client_text_of(operation, "type");
	const json_t *message = json_object_get(operation->json, "msg");
	troupe_status status = rosbridge_client_give(client, name, type, message, &error);
	if (status)
		rosbridge_client_complain(
			client, ROSBRIDGE_CLIENT_ERROR, operation->id, "publish: %.200s: %s", name, error.text);
	else
		hub_count(&client->gateway->hub->taken);
	free(name);
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static void rosbridge_client_set_level(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	static const char *const names[] = {"info", "warning", "error", "none"};
	const char *level = rosbridge_client_text_of(operation, "level");
	for (size_t i = 0; level && i < ARRAY_LEN(names); i++)
		if (!strcmp(level, names[i])) {
			client->level = (enum rosbridge_client_level)i;
			return;
		}
	rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
		"set_level: level: expected info, warning, error or none");
}

static void rosbridge_client_obey(struct rosbridge_client *client, const struct rosbridge_operation *operation)
{
	static const struct {
		const char *op;
		void (*obey)(struct rosbridge_client *client, const struct rosbridge_operation *operation);
	} ops[] = {{"subscribe", rosbridge_client_subscribe}, {"unsubscribe", rosbridge_client_unsubscribe},
		{"advertise", rosbridge_client_advertise}, {"unadvertise", rosbridge_client_unadvertise},
		{"publish", rosbridge_client_publish}, {"call_service", rosbridge_call_service},
		{"send_action_goal", rosbridge_call_send_goal}, {"cancel_action_goal", rosbridge_call_cancel_goal},
		{"set_level", rosbridge_client_set_level}};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (!strcmp(operation->op, ops[i].op)) {
			ops[i].obey(client, operation);
			return;
		}
	rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id,
		"op '%.40s': there is no such operation here", operation->op);
}

/* A call, and a goal, has an answer in any case. */
static void rosbridge_client_refuse(
	struct rosbridge_client *client, const struct rosbridge_operation *operation, const char *why)
{
	const char *service = rosbridge_client_text_of(operation, "service"),
		   *action = rosbridge_client_text_of(operation, "action");
	if (service && operation->op && !strcmp(operation->op, "call_service"))
		rosbridge_client_answer(client, service, operation->id, NULL, why);
	else if (action && operation->op && !strcmp(operation->op, "send_action_goal"))
		rosbridge_call_refuse_goal(client, operation->id, action, why);
	else
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation->id, "%s", why);
}

/* wrong: why the operation is refused, whatever it is; NULL: it is obeyed. */
static void rosbridge_client_take(struct rosbridge_client *client, const json_t *json, const char *wrong)
{
	const json_t *id = json_object_get(json, "id");
	struct rosbridge_operation operation = {
		.json = json, .id = id ? json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY) : NULL};
	operation.op = rosbridge_client_text_of(&operation, "op");
	if (operation.id && strlen(operation.id) > ROSBRIDGE_CLIENT_NAME_MAX)
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, NULL, "id: expected at most %d bytes",
			(int)ROSBRIDGE_CLIENT_NAME_MAX);
	else if (wrong)
		rosbridge_client_refuse(client, &operation, wrong);
	else if (!operation.op)
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, operation.id,
			"op: expected an object with the name of an operation");
	else
		rosbridge_client_obey(client, &operation);
	free(operation.id);
}

/* Integers beyond 64 bits and NUL characters are refused, but in answer to the operation that has them. */
void rosbridge_client_hear(struct port_client *base, bool binary, const void *bytes, size_t count)
{
	struct rosbridge_client *client = base->data;
	struct troupe_error wrong;
	json_error_t why, again;
	if (binary) {
		rosbridge_client_complain(
			client, ROSBRIDGE_CLIENT_ERROR, NULL, "binary message: expected JSON as text");
		return;
	}
	if (!count)
		bytes = "";
	json_t *json = json_loadb(bytes, count, 0, &why);
	bool is_sound = json;
	if (!is_sound) {
		json = json_loadb(bytes, count, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &again);
		(void)fail(&wrong, TROUPE_ECOMMAND, "line %d, column %d: %.120s", why.line, why.column, why.text);
	}
	if (json)
		rosbridge_client_take(client, json, is_sound ? NULL : wrong.text);
	else
		rosbridge_client_complain(client, ROSBRIDGE_CLIENT_ERROR, NULL, "%s", wrong.text);
	json_decref(json);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void *rosbridge_client_open(void *gateway, struct port_client *base)
{
	struct rosbridge_client *client = mem_alloc(sizeof *client);
	*client = (struct rosbridge_client){.gateway = gateway, .base = base, .level = ROSBRIDGE_CLIENT_WARNING};
	return client;
}

void rosbridge_client_close(struct port_client *base)
{
	struct rosbridge_client *client = base->data;
	struct rosbridge *gateway = client->gateway;
	rosbridge_call_leave(client);
	subscriber_list_drop_client(&gateway->topic_index.channels, client, rosbridge_client_drop_subscription, NULL);
	for (uint32_t i = 0; i < client->advertisements.count; i++) {
		free(client->advertisements.at[i].name);
		free(client->advertisements.at[i].type);
	}
	vec_free(&client->advertisements);
	free(client);
}
