/* An operation that cannot be done costs the client a status with the reason, and nothing else. A call is answered in
 * every case, for the client waits for it. */
#include "gateway/rosbridge/user.h"

#include "base/clock.h"
#include "gateway/hub/convert.h"
#include "gateway/ros/give.h"
#include "gateway/ros/json.h"
#include "gateway/rosbridge/rosapi.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TELL_NS UINT64_C(1000000000)
#define MS_NS 1e6

/* --- what is said ------------------------------------------------------------------------------------------------- */

static void user_add_id(struct text *out, const char *id)
{
	if (id)
		text_add(out, "\"id\":%s,", id);
}

void user_complain(struct user *user, enum user_level level, const char *id, const char *format, ...)
{
	static const char *const names[] = {"info", "warning", "error", "none"};
	struct troupe_error line;
	struct text json = {0};
	va_list args;
	if (level == USER_ERROR)
		atomic_fetch_add_explicit(&user->gateway->hub->refused, 1, memory_order_relaxed);
	if (level < user->level)
		return;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	text_add(&json, "{\"op\":\"status\",");
	user_add_id(&json, id);
	text_add(&json, "\"level\":\"%s\",\"msg\":", names[level]);
	text_add_json(&json, line.text);
	text_add(&json, "}");
	port_say_text(user->client, &json);
	text_fini(&json);
}

void user_answer(struct user *user, const char *service, const char *id, const struct text *values, const char *why)
{
	struct text json = {0};
	text_add(&json, "{\"op\":\"service_response\",");
	user_add_id(&json, id);
	text_add(&json, "\"service\":");
	text_add_json(&json, service);
	text_add(&json, ",\"values\":");
	if (why)
		text_add_json(&json, why);
	else
		text_add_bytes(&json, values->at, values->count);
	text_add(&json, ",\"result\":%s}", why ? "false" : "true");
	if (why)
		atomic_fetch_add_explicit(&user->gateway->hub->refused, 1, memory_order_relaxed);
	port_say_text(user->client, &json);
	text_fini(&json);
}

/* --- an operation ------------------------------------------------------------------------------------------------- */

struct operation {
	const char *op;
	const json_t *json;
	char *id; /* as JSON; NULL: it has none */
};

/* A text of the operation; NULL: it has none, or a long one. */
static const char *user_text_of(const struct operation *operation, const char *member)
{
	const char *text = json_string_value(json_object_get(operation->json, member));
	return text && strlen(text) <= USER_NAME_MAX ? text : NULL;
}

/* A topic of the operation as ROS 2 writes it, to be freed; NULL: it has none, which the client is told. */
static char *user_name_of(struct user *user, const struct operation *operation)
{
	const char *topic = user_text_of(operation, "topic");
	if (topic && *topic)
		return topic_index_full_name(topic);
	user_complain(user, USER_ERROR, operation->id, "%.40s: topic: expected a name of at most %d bytes",
		operation->op, (int)USER_NAME_MAX);
	return NULL;
}

/* A number from 0 on; a member that is none counts as 0. */
static double user_number_of(const struct operation *operation, const char *member, double most)
{
	double number = json_number_value(json_object_get(operation->json, member));
	return number > 0 ? fmin(number, most) : 0;
}

/* --- subscriptions ------------------------------------------------------------------------------------------------ */

static void user_drop_oldest(struct topic_subscription *subscription)
{
	size_t bytes = strlen(subscription->queue.at[0]);
	subscription->queue_bytes -= bytes;
	subscription->user->queue_bytes -= bytes;
	free(subscription->queue.at[0]);
	subscription->queue.count--;
	memmove(subscription->queue.at, subscription->queue.at + 1,
		subscription->queue.count * sizeof *subscription->queue.at);
}

static void user_free_subscription(struct topic_subscription *subscription)
{
	for (uint32_t i = 0; i < subscription->client_requests.count; i++)
		free(subscription->client_requests.at[i].id);
	while (subscription->queue.count)
		user_drop_oldest(subscription);
	vec_free(&subscription->client_requests);
	vec_free(&subscription->queue);
	free(subscription->topic);
	free(subscription->name);
	free(subscription->type);
	free(subscription);
}

static struct topic_subscription *user_find_subscription(struct user *user, const char *topic)
{
	for (uint32_t i = 0; i < user->subscriptions.count; i++)
		if (!strcmp(user->subscriptions.at[i]->topic, topic))
			return user->subscriptions.at[i];
	return NULL;
}

static void user_drop_subscription(struct user *user, struct topic_subscription *subscription)
{
	for (uint32_t i = 0; i < user->subscriptions.count; i++)
		if (user->subscriptions.at[i] == subscription) {
			user->subscriptions.at[i] = user->subscriptions.at[--user->subscriptions.count];
			break;
		}
	topic_index_leave(&user->gateway->topic_index, subscription->name, subscription);
	user_free_subscription(subscription);
}

static void user_add_client_request(struct topic_subscription *subscription, const struct operation *operation)
{
	const char *id = operation->id ? operation->id : "";
	const struct client_request client_request = {
		.throttle_ns = (uint64_t)(user_number_of(operation, "throttle_rate", 1e9) * MS_NS),
		.queue_length = (uint32_t)user_number_of(operation, "queue_length", HEARING_QUEUE_MAX)};
	uint32_t i = 0;
	while (i < subscription->client_requests.count && strcmp(subscription->client_requests.at[i].id, id) != 0)
		i++;
	if (i == subscription->client_requests.count)
		vec_push(&subscription->client_requests, (struct client_request){.id = mem_strdup(id)});
	subscription->client_requests.at[i].throttle_ns = client_request.throttle_ns;
	subscription->client_requests.at[i].queue_length = client_request.queue_length;
}

static void user_subscribe(struct user *user, const struct operation *operation)
{
	const char *type = user_text_of(operation, "type"), *compression = user_text_of(operation, "compression");
	struct topic_index *topic_index = &user->gateway->topic_index;
	char *name = user_name_of(user, operation);
	if (!name)
		return;
	const char *topic = user_text_of(operation, "topic"), *has = topic_index_type(topic_index, name);
	struct topic_subscription *subscription = user_find_subscription(user, topic);
	if (has && type && *type && !topic_index_is_type(has, type)) {
		user_complain(user, USER_ERROR, operation->id,
			"subscribe: %.200s has the type %s: expected it, not %.100s", topic, has, type);
	} else if (subscription ? subscription->client_requests.count >= USER_SUBSCRIPTIONS_MAX
				: user->subscriptions.count >= USER_SUBSCRIPTIONS_MAX) {
		user_complain(user, USER_ERROR, operation->id, "subscribe: expected at most %d subscriptions",
			(int)USER_SUBSCRIPTIONS_MAX);
	} else {
		if (compression && *compression && strcmp(compression, "none") != 0)
			user_complain(user, USER_WARNING, operation->id,
				"subscribe: compression '%.40s': messages come without compression", compression);
		if (!subscription) {
			subscription = mem_alloc(sizeof *subscription);
			*subscription = (struct topic_subscription){.user = user,
				.join = hub_join(user->gateway->hub),
				.topic = mem_strdup(topic),
				.name = mem_strdup(name),
				.type = type && *type ? mem_strdup(type) : NULL};
			vec_push(&user->subscriptions, subscription);
			user_add_client_request(subscription, operation);
			topic_index_hear(topic_index, name, subscription);
		} else {
			user_add_client_request(subscription, operation);
		}
	}
	free(name);
}

static void user_unsubscribe(struct user *user, const struct operation *operation)
{
	const char *topic = user_text_of(operation, "topic");
	struct topic_subscription *subscription = topic ? user_find_subscription(user, topic) : NULL;
	if (!subscription) {
		user_complain(user, USER_WARNING, operation->id, "unsubscribe: %.200s is not subscribed to",
			topic ? topic : "a topic without a name");
		return;
	}
	for (uint32_t i = subscription->client_requests.count; i-- > 0;)
		if (!operation->id || !strcmp(subscription->client_requests.at[i].id, operation->id)) {
			free(subscription->client_requests.at[i].id);
			subscription->client_requests.at[i] =
				subscription->client_requests.at[--subscription->client_requests.count];
		}
	if (!subscription->client_requests.count)
		user_drop_subscription(user, subscription);
}

/* As several subscriptions to one topic together want it: the shortest time, and the longest queue. */
static struct client_request user_most_of(const struct topic_subscription *subscription)
{
	struct client_request most = {.throttle_ns = UINT64_MAX};
	for (uint32_t i = 0; i < subscription->client_requests.count; i++) {
		most.throttle_ns = MIN(most.throttle_ns, subscription->client_requests.at[i].throttle_ns);
		most.queue_length = MAX(most.queue_length, subscription->client_requests.at[i].queue_length);
	}
	return most;
}

static void user_send_message(struct topic_subscription *subscription, const char *json, size_t count, uint64_t now_ns)
{
	port_publish(subscription->user->client, false, json, count);
	subscription->sent_ns = now_ns;
}

static bool user_is_time(
	const struct topic_subscription *subscription, const struct client_request *client_request, uint64_t now_ns)
{
	return !client_request->throttle_ns || !subscription->sent_ns ||
	       now_ns - subscription->sent_ns >= client_request->throttle_ns;
}

void hearing_give(struct topic_subscription *subscription, const char *type, const struct text *json)
{
	const struct client_request client_request = user_most_of(subscription);
	uint64_t now_ns = client_request.throttle_ns ? clock_now_ns() : 0;
	bool now = !subscription->queue.count && user_is_time(subscription, &client_request, now_ns);
	struct text out = {0};
	if (subscription->type && !topic_index_is_type(type, subscription->type)) {
		if (!subscription->told_type)
			user_complain(subscription->user, USER_ERROR, NULL,
				"%.200s has the type %s: expected it, not %.100s", subscription->topic, type,
				subscription->type);
		subscription->told_type = true;
		return;
	}
	if (subscription->join <= subscription->user->gateway->hub->had || (!now && !client_request.queue_length))
		return;
	text_add(&out, "{\"op\":\"publish\",\"topic\":");
	text_add_json(&out, subscription->topic);
	text_add(&out, ",\"msg\":");
	text_add_bytes(&out, json->at, json->count);
	text_add(&out, "}");
	if (now) {
		user_send_message(subscription, out.at, out.count, now_ns);
		text_fini(&out);
		return;
	}
	vec_push(&subscription->queue, out.at);
	subscription->queue_bytes += out.count;
	subscription->user->queue_bytes += out.count;
	while (subscription->queue.count > client_request.queue_length ||
		(subscription->queue.count > 1 && (subscription->queue_bytes > HEARING_QUEUE_BYTES_MAX ||
							  subscription->user->queue_bytes > USER_QUEUE_BYTES_MAX)))
		user_drop_oldest(subscription);
}

static void user_send_waiting(struct topic_subscription *subscription, uint64_t now_ns)
{
	const struct client_request client_request = user_most_of(subscription);
	while (subscription->queue.count && user_is_time(subscription, &client_request, now_ns)) {
		user_send_message(subscription, subscription->queue.at[0], strlen(subscription->queue.at[0]), now_ns);
		user_drop_oldest(subscription);
	}
}

void user_turn(struct user *user)
{
	uint64_t now_ns = clock_now_ns();
	for (uint32_t i = 0; i < user->subscriptions.count; i++)
		user_send_waiting(user->subscriptions.at[i], now_ns);
}

void user_tell_lost(struct port_client *client, uint64_t lost)
{
	user_complain(client->data, USER_WARNING, NULL,
		"%llu messages were lost so far: this client, or its connection, is too slow",
		(unsigned long long)lost);
}

/* --- what the client publishes ------------------------------------------------------------------------------------ */

static struct advertisement *user_find_advertisement(struct user *user, const char *name)
{
	for (uint32_t i = 0; i < user->advertisements.count; i++)
		if (!strcmp(user->advertisements.at[i].name, name))
			return &user->advertisements.at[i];
	return NULL;
}

bool user_advertises(struct user *user, const char *name)
{
	return user_find_advertisement(user, name);
}

/* The topic from which the server takes messages of this type; NULL: none. type NULL: any. */
static const struct ros_offer *user_find_taker(
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

static void user_advertise(struct user *user, const struct operation *operation)
{
	const struct topic_index *topic_index = &user->gateway->topic_index;
	const char *type = user_text_of(operation, "type");
	char *name = user_name_of(user, operation);
	if (!name)
		return;
	const struct ros_offer *any = user_find_taker(topic_index, name, NULL);
	struct advertisement *advertisement = user_find_advertisement(user, name);
	if (type && any && !user_find_taker(topic_index, name, type)) {
		user_complain(user, USER_ERROR, operation->id, "advertise: %.200s takes %s: expected it, not %.100s",
			name, any->type, type);
	} else if (!advertisement && user->advertisements.count == USER_ADVERTISEMENTS_MAX) {
		user_complain(user, USER_ERROR, operation->id, "advertise: expected at most %d topics",
			(int)USER_ADVERTISEMENTS_MAX);
	} else {
		if (!any) /* one that takes them may come */
			user_complain(user, USER_WARNING, operation->id,
				"advertise: %.200s: the run takes no messages from this topic now", name);
		if (!advertisement) {
			vec_push(&user->advertisements, (struct advertisement){.name = mem_strdup(name)});
			advertisement = &user->advertisements.at[user->advertisements.count - 1];
		}
		free(advertisement->type);
		advertisement->type = type ? mem_strdup(type) : NULL;
	}
	free(name);
}

static void user_unadvertise(struct user *user, const struct operation *operation)
{
	char *name = user_name_of(user, operation);
	struct advertisement *advertisement = name ? user_find_advertisement(user, name) : NULL;
	if (advertisement) {
		free(advertisement->name);
		free(advertisement->type);
		*advertisement = user->advertisements.at[--user->advertisements.count];
	}
	free(name);
}

static troupe_status user_publish_bytes(
	void *ctx, const char *topic, const void *bytes, size_t count, struct troupe_error *error)
{
	const struct rosbridge *gateway = ctx;
	return hub_publish(gateway->hub, topic, NULL, bytes, count, error);
}

static troupe_status user_give(
	struct user *user, const char *name, const char *type, const json_t *message, struct troupe_error *error)
{
	const struct topic_index *topic_index = &user->gateway->topic_index;
	const struct ros_offer *offer = user_find_taker(topic_index, name, type);
	struct text cdr = {0};
	if (!offer)
		return fail(error, TROUPE_ECOMMAND, "the run takes no messages%s%.100s from this topic",
			type ? " of " : "", type ? type : "");
	if (!json_is_object(message))
		return fail(error, TROUPE_ECOMMAND, "msg: expected an object");
	troupe_status status = ros_json_to_cdr(offer->type, message, &cdr, error);
	if (!status)
		status = ros_give(
			&topic_index->names, offer, cdr.at, cdr.count, user_publish_bytes, user->gateway, error);
	text_fini(&cdr);
	return status;
}

static void user_publish(struct user *user, const struct operation *operation)
{
	char *name = user_name_of(user, operation);
	const struct advertisement *advertisement = name ? user_find_advertisement(user, name) : NULL;
	struct troupe_error error;
	if (!name)
		return;
	const char *type = advertisement ? advertisement->type : user_text_of(operation, "type");
	const json_t *message = json_object_get(operation->json, "msg");
	troupe_status status = user_give(user, name, type, message, &error);
	if (status)
		user_complain(user, USER_ERROR, operation->id, "publish: %.200s: %s", name, error.text);
	else
		atomic_fetch_add_explicit(&user->gateway->hub->taken, 1, memory_order_relaxed);
	free(name);
}

/* --- services ----------------------------------------------------------------------------------------------------- */

void user_free_call(struct user_call *call)
{
	free(call->service);
	free(call->id);
	free(call);
}

/* Calls a service of the run, or of barrier clients. */
static troupe_status user_call_run(struct user *user, const struct operation *operation, const char *name,
	const json_t *args, struct troupe_error *error)
{
	struct hub *hub = user->gateway->hub;
	hub_look(hub);
	const struct mirror_row *service = mirror_find(&hub->mirror, TROUPE_TOPIC_SERVICE, name);
	struct text bytes = {0};
	if (!service)
		return fail(error, TROUPE_ECOMMAND, "there is no service %.200s", name);
	char *json = args ? json_dumps(args, JSON_COMPACT) : NULL;
	troupe_status status = convert_from_json(service->type, json, json ? strlen(json) : 0, &bytes, error);
	free(json);
	if (!status) {
		struct user_call *call = mem_alloc(sizeof *call);
		*call = (struct user_call){.service = mem_strdup(user_text_of(operation, "service")),
			.id = operation->id ? mem_strdup(operation->id) : NULL};
		const struct hub_caller caller = {user->client, user->client->connection, call};
		status = hub_call(hub, &caller, service->name, service->type, bytes.at, bytes.count, error);
		if (status)
			user_free_call(call);
	}
	text_fini(&bytes);
	return status;
}

/* --- services and actions of simulation.h ------------------------------------------------------------------------- */

void user_drop_asked(struct asked *asked)
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
static void user_add_action(
	struct text *json, const char *op, const char *id, const char *action, const struct text *values)
{
	text_add(json, "{\"op\":\"%s\",", op);
	user_add_id(json, id);
	text_add(json, "\"action\":");
	text_add_json(json, action);
	text_add(json, ",\"values\":");
	text_add_bytes(json, values->at, values->count);
}

static void user_end_asked(void *ctx, enum simulation_end end, const struct text *values)
{
	struct asked *asked = ctx;
	struct text json = {0};
	if (asked->user && asked->is_goal) {
		user_add_action(&json, "action_result", asked->id, asked->name, values);
		text_add(&json, ",\"status\":%d,\"result\":true}", (int)end);
		port_say_text(asked->user->client, &json);
	} else if (asked->user) {
		user_answer(asked->user, asked->name, asked->id, values, NULL);
	}
	text_fini(&json);
	user_drop_asked(asked);
}

/* A client that is slow loses the oldest. */
static void user_pass_feedback(void *ctx, const struct text *values)
{
	struct asked *asked = ctx;
	struct text json = {0};
	if (!asked->user)
		return;
	user_add_action(&json, "action_feedback", asked->id, asked->name, values);
	text_add(&json, "}");
	outbox_put(&asked->user->client->outbox, false, json.at, json.count);
	text_fini(&json);
}

static void user_ask_simulation(
	struct user *user, const struct operation *operation, const char *said, const char *name, bool is_goal)
{
	struct rosbridge *gateway = user->gateway;
	struct asked *asked = mem_alloc(sizeof *asked);
	*asked = (struct asked){.gateway = gateway,
		.after = gateway->asked,
		.user = user,
		.name = mem_strdup(said),
		.id = operation->id ? mem_strdup(operation->id) : NULL,
		.is_goal = is_goal};
	if (gateway->asked)
		gateway->asked->before = asked;
	gateway->asked = asked;
	const json_t *args = json_object_get(operation->json, "args");
	bool none = json_is_null(args) || (json_is_array(args) && !json_array_size(args));
	bool feedback = is_goal && json_is_true(json_object_get(operation->json, "feedback"));
	const struct simulation_asker asker = {user_end_asked, feedback ? user_pass_feedback : NULL, asked};
	simulation_call(gateway->hub->simulation, name, none ? NULL : args, &asker);
}

static void user_refuse_goal(struct user *user, const char *id, const char *action, const char *why)
{
	struct text json = {0}, values = {0};
	text_add_json(&values, why);
	user_add_action(&json, "action_result", id, action, &values);
	text_add(&json, ",\"status\":%d,\"result\":false}", (int)SIMULATION_ABORTED);
	atomic_fetch_add_explicit(&user->gateway->hub->refused, 1, memory_order_relaxed);
	port_say_text(user->client, &json);
	text_fini(&json);
	text_fini(&values);
}

static void user_send_action_goal(struct user *user, const struct operation *operation)
{
	const char *said = user_text_of(operation, "action");
	char *name = said ? topic_index_full_name(said) : NULL;
	if (!name) {
		user_complain(user, USER_ERROR, operation->id, "send_action_goal: action: expected a name");
	} else if (!simulation_has_action(user->gateway->hub->simulation, name)) {
		struct troupe_error why;
		(void)fail(&why, TROUPE_ECOMMAND, "there is no action %.200s", name);
		user_refuse_goal(user, operation->id, said, why.text);
	} else {
		user_ask_simulation(user, operation, said, name, true);
		atomic_fetch_add_explicit(&user->gateway->hub->taken, 1, memory_order_relaxed);
	}
	free(name);
}

static void user_cancel_action_goal(struct user *user, const struct operation *operation)
{
	struct asked *asked = user->gateway->asked;
	while (asked && !(asked->user == user && asked->is_goal && operation->id && asked->id &&
				!strcmp(asked->id, operation->id)))
		asked = asked->after;
	if (asked)
		simulation_cancel(user->gateway->hub->simulation, asked);
	else
		user_complain(user, USER_WARNING, operation->id, "cancel_action_goal: there is no goal with this id");
}

/* --- calls of services -------------------------------------------------------------------------------------------- */

static void user_call_service(struct user *user, const struct operation *operation)
{
	struct rosbridge *gateway = user->gateway;
	const char *said = user_text_of(operation, "service");
	const json_t *args = json_object_get(operation->json, "args");
	struct text values = {0};
	struct troupe_error error;
	if (!said || !*said) {
		user_complain(user, USER_ERROR, operation->id, "call_service: service: expected a name");
		return;
	}
	char *name = topic_index_full_name(said);
	bool is_rosapi = rosapi_has(name);
	if (!is_rosapi && simulation_has_service(gateway->hub->simulation, name)) {
		user_ask_simulation(user, operation, said, name, false);
		atomic_fetch_add_explicit(&gateway->hub->taken, 1, memory_order_relaxed);
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
		status = user_call_run(user, operation, name, args, &error);
	if (status || is_rosapi)
		user_answer(user, said, operation->id, &values, status ? error.text : NULL);
	if (!status)
		atomic_fetch_add_explicit(&gateway->hub->taken, 1, memory_order_relaxed);
	text_fini(&values);
	free(name);
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static void user_set_level(struct user *user, const struct operation *operation)
{
	static const char *const names[] = {"info", "warning", "error", "none"};
	const char *level = user_text_of(operation, "level");
	for (size_t i = 0; level && i < ARRAY_LEN(names); i++)
		if (!strcmp(level, names[i])) {
			user->level = (enum user_level)i;
			return;
		}
	user_complain(user, USER_ERROR, operation->id, "set_level: level: expected info, warning, error or none");
}

static void user_obey(struct user *user, const struct operation *operation)
{
	static const struct {
		const char *op;
		void (*obey)(struct user *user, const struct operation *operation);
	} ops[] = {{"subscribe", user_subscribe}, {"unsubscribe", user_unsubscribe}, {"advertise", user_advertise},
		{"unadvertise", user_unadvertise}, {"publish", user_publish}, {"call_service", user_call_service},
		{"send_action_goal", user_send_action_goal}, {"cancel_action_goal", user_cancel_action_goal},
		{"set_level", user_set_level}};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (!strcmp(operation->op, ops[i].op)) {
			ops[i].obey(user, operation);
			return;
		}
	user_complain(user, USER_ERROR, operation->id, "op '%.40s': there is no such operation here", operation->op);
}

/* A call, and a goal, has an answer in any case. */
static void user_refuse(struct user *user, const struct operation *operation, const char *why)
{
	const char *service = user_text_of(operation, "service"), *action = user_text_of(operation, "action");
	if (service && operation->op && !strcmp(operation->op, "call_service"))
		user_answer(user, service, operation->id, NULL, why);
	else if (action && operation->op && !strcmp(operation->op, "send_action_goal"))
		user_refuse_goal(user, operation->id, action, why);
	else
		user_complain(user, USER_ERROR, operation->id, "%s", why);
}

/* wrong: why the operation is refused, whatever it is; NULL: it is obeyed. */
static void user_take(struct user *user, const json_t *json, const char *wrong)
{
	const json_t *id = json_object_get(json, "id");
	struct operation operation = {.json = json, .id = id ? json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY) : NULL};
	operation.op = user_text_of(&operation, "op");
	if (operation.id && strlen(operation.id) > USER_NAME_MAX)
		user_complain(user, USER_ERROR, NULL, "id: expected at most %d bytes", (int)USER_NAME_MAX);
	else if (wrong)
		user_refuse(user, &operation, wrong);
	else if (!operation.op)
		user_complain(user, USER_ERROR, operation.id, "op: expected an object with the name of an operation");
	else
		user_obey(user, &operation);
	free(operation.id);
}

/* Integers beyond 64 bits and NUL characters are refused, but in answer to the operation that has them. */
void user_hear(struct port_client *client, bool binary, const void *bytes, size_t count)
{
	struct user *user = client->data;
	struct troupe_error wrong;
	json_error_t why, again;
	if (binary) {
		user_complain(user, USER_ERROR, NULL, "binary message: expected JSON as text");
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
		user_take(user, json, is_sound ? NULL : wrong.text);
	else
		user_complain(user, USER_ERROR, NULL, "%s", wrong.text);
	json_decref(json);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void *user_open(void *gateway, struct port_client *client)
{
	struct user *user = mem_alloc(sizeof *user);
	*user = (struct user){.gateway = gateway, .client = client, .level = USER_WARNING};
	return user;
}

void user_close(struct port_client *client)
{
	struct user *user = client->data;
	struct rosbridge *gateway = user->gateway;
	for (struct asked *asked = gateway->asked; asked; asked = asked->after)
		if (asked->user == user) {
			asked->user = NULL;
			simulation_cancel(gateway->hub->simulation, asked);
		}
	while (user->subscriptions.count)
		user_drop_subscription(user, user->subscriptions.at[user->subscriptions.count - 1]);
	for (uint32_t i = 0; i < user->advertisements.count; i++) {
		free(user->advertisements.at[i].name);
		free(user->advertisements.at[i].type);
	}
	vec_free(&user->subscriptions);
	vec_free(&user->advertisements);
	free(user);
}
