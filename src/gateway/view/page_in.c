/* Requests of pages. Any program that has the token can be a page, so each message is checked as a whole: its members
 * here, the messages in it by their types, the rest by the functions of the client. An error goes to the page that made
 * it. */
#include "gateway/view/internal.h"
#include "gateway/hub/op.h"
#include "topic/type.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct page_in_request {
	struct page *page;
	json_t *json;
	uint64_t id;
	bool has_id;
};

static void page_in_say(struct page *page, struct text *text)
{
	port_say_text(page->client, text);
	text_fini(text);
}

static void page_in_refuse(const struct page_in_request *request, const struct troupe_error *error)
{
	struct text text = {0};
	if (request->has_id) {
		page_out_refusal(request->id, error->text, &text);
		page_in_say(request->page, &text);
	} else {
		struct json_out out = op_error(&text, error->text);
		op_say(request->page->client, &out);
	}
}

/* --- members ------------------------------------------------------------------------------------------------------ */

static troupe_status page_in_get_string(
	const struct page_in_request *request, const char *name, const char **ret_text, struct troupe_error *error)
{
	const char *text = json_string_value(json_object_get(request->json, name));
	if (!text)
		return fail(error, TROUPE_ECOMMAND, "\"%s\": expected a string", name);
	*ret_text = text;
	return TROUPE_OK;
}

static troupe_status page_in_get_id(struct page_in_request *request, struct troupe_error *error)
{
	troupe_status status = op_get_id(request->json, &request->id, error);
	if (status)
		return status;
	request->has_id = true;
	if (request->page->calls >= VIEW_CALLS_MAX)
		return fail(error, TROUPE_ELIMIT, "%d requests of the page wait: expected no more", VIEW_CALLS_MAX);
	return TROUPE_OK;
}

/* The message in a member, as bytes; one that is not given is empty. */
static troupe_status page_in_get_message(const struct page_in_request *request, const char *name, const char *type,
	struct text *ret_bytes, struct troupe_error *error)
{
	if (!type_find(type))
		return fail(error, TROUPE_ECOMMAND, "\"%s\": messages of this type are not known", name);
	return op_get_message(request->json, name, type, ret_bytes, error);
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static troupe_status page_in_ask_topics(struct page_in_request *request, struct troupe_error *error)
{
	const char *begin = json_string_value(json_object_get(request->json, "begin"));
	struct text text = {0};
	(void)error;
	(void)gateway_find_topic(request->page->gateway, TROUPE_TOPIC_SERVICE, ""); /* brings the table up to date */
	page_out_topics(request->page->gateway->topics, begin ? begin : "", &text);
	page_in_say(request->page, &text);
	return TROUPE_OK;
}

static troupe_status page_in_ask_subscribe(struct page_in_request *request, struct troupe_error *error)
{
	const char *topic = NULL;
	double rate_hz;
	troupe_status status = page_in_get_string(request, "topic", &topic, error);
	if (!status)
		status = op_get_rate(request->json, &rate_hz, error);
	return status ? status : subscriptions_subscribe(request->page->gateway, request->page, topic, rate_hz, error);
}

static troupe_status page_in_ask_unsubscribe(struct page_in_request *request, struct troupe_error *error)
{
	const char *topic = NULL;
	troupe_status status = page_in_get_string(request, "topic", &topic, error);
	if (!status)
		subscriptions_unsubscribe(request->page->gateway, request->page, topic);
	return status;
}

static troupe_status page_in_ask_call(struct page_in_request *request, struct troupe_error *error)
{
	struct page *page = request->page;
	struct gateway *gateway = page->gateway;
	const char *service = NULL;
	struct text bytes = {0};
	troupe_status status = page_in_get_id(request, error);
	if (!status)
		status = page_in_get_string(request, "service", &service, error);
	if (status)
		return status;
	const struct troupe_topic *row = gateway_find_topic(gateway, TROUPE_TOPIC_SERVICE, service);
	if (!row)
		return fail(error, TROUPE_ECOMMAND, "service '%.150s': there is none of this name", service);
	status = page_in_get_message(request, "request", row->type, &bytes, error);
	if (!status) {
		uint64_t *id = mem_alloc(sizeof *id);
		*id = request->id;
		const struct hub_caller caller = {page->client, page->client->connection, id};
		status = hub_call(gateway->hub, &caller, service, NULL, bytes.at, bytes.count, error);
		if (status)
			free(id);
	}
	text_fini(&bytes);
	page->calls += !status;
	return status;
}

static troupe_status page_in_ask_publish(struct page_in_request *request, struct troupe_error *error)
{
	struct gateway *gateway = request->page->gateway;
	const char *topic = NULL;
	struct text bytes = {0};
	troupe_status status = page_in_get_string(request, "topic", &topic, error);
	if (status)
		return status;
	const struct troupe_topic *row = gateway_find_topic(gateway, TROUPE_TOPIC_TAKEN, topic);
	if (!row)
		return fail(error, TROUPE_ECOMMAND, "topic '%.150s': there is none of this name", topic);
	status = page_in_get_message(request, "message", row->type, &bytes, error);
	if (!status)
		status = hub_publish(gateway->hub, topic, NULL, bytes.at, bytes.count, error);
	text_fini(&bytes);
	return status;
}

static troupe_status page_in_get_world(
	const struct page_in_request *request, struct watched **ret_world, struct troupe_error *error)
{
	const char *prefix = NULL;
	troupe_status status = page_in_get_string(request, "world", &prefix, error);
	if (status)
		return status;
	*ret_world = motion_find(request->page->gateway, prefix);
	return *ret_world ? TROUPE_OK : fail(error, TROUPE_ECOMMAND, "\"world\": '%.150s': there is none", prefix);
}

static troupe_status page_in_ask_motion(struct page_in_request *request, struct troupe_error *error)
{
	struct watched *world;
	double rate_hz;
	if (!json_object_get(request->json, "world")) {
		motion_end(request->page);
		return TROUPE_OK;
	}
	troupe_status status = page_in_get_world(request, &world, error);
	if (!status)
		status = op_get_rate(request->json, &rate_hz, error);
	if (!status)
		motion_begin(request->page, world, rate_hz);
	return status;
}

/* Has a mesh or an image read. name: of the member with what is asked for. */
static troupe_status page_in_ask_file(
	struct page_in_request *request, const char *name, const char *type, bool image, struct troupe_error *error)
{
	struct page *page = request->page;
	struct watched *world;
	struct text bytes = {0};
	troupe_status status = page_in_get_id(request, error);
	if (!status)
		status = page_in_get_world(request, &world, error);
	if (!status)
		status = page_in_get_message(request, name, type, &bytes, error);
	if (!status)
		status = meshes_ask(page->gateway->meshes,
			&(struct meshes_question){
				page->client->connection, request->id, world->prefix, image, bytes.at, bytes.count},
			error);
	text_fini(&bytes);
	page->calls += !status;
	return status;
}

static troupe_status page_in_ask_mesh(struct page_in_request *request, struct troupe_error *error)
{
	return page_in_ask_file(request, "geometry", "gz.msgs.Geometry", false, error);
}

static troupe_status page_in_ask_image(struct page_in_request *request, struct troupe_error *error)
{
	return page_in_ask_file(request, "image", "gz.msgs.StringMsg", true, error);
}

static troupe_status page_in_get_play(
	const struct page_in_request *request, struct play **ret_play, struct troupe_error *error)
{
	*ret_play = request->page->gateway->hub->play;
	return *ret_play ? TROUPE_OK : fail(error, TROUPE_ECOMMAND, "no recording is shown");
}

static troupe_status page_in_ask_seek(struct page_in_request *request, struct troupe_error *error)
{
	const json_t *member = json_object_get(request->json, "step");
	json_int_t step = json_integer_value(member);
	struct play *play;
	troupe_status status = page_in_get_play(request, &play, error);
	if (!status && (!json_is_integer(member) || step < 0))
		status = fail(error, TROUPE_ECOMMAND, "\"step\": expected a whole number of 0 or more");
	if (!status)
		play_seek(play, (uint64_t)step);
	return status;
}

static troupe_status page_in_ask_find(struct page_in_request *request, struct troupe_error *error)
{
	const char *event = NULL;
	struct play *play;
	troupe_status status = page_in_get_play(request, &play, error);
	if (!status)
		status = page_in_get_string(request, "event", &event, error);
	if (!status && strcmp(event, "move") && strcmp(event, "contact"))
		status = fail(error, TROUPE_ECOMMAND, "\"event\": '%.40s': expected \"move\" or \"contact\"", event);
	if (!status)
		play_find(play, strcmp(event, "move") ? PLAY_CONTACT : PLAY_MOVE,
			json_is_true(json_object_get(request->json, "back")));
	return status;
}

static troupe_status page_in_ask_mark(struct page_in_request *request, struct troupe_error *error)
{
	const json_t *member = json_object_get(request->json, "model");
	struct play *play;
	troupe_status status = page_in_get_play(request, &play, error);
	if (!status && member && !json_is_string(member))
		status = fail(error, TROUPE_ECOMMAND, "\"model\": expected a string");
	if (!status)
		play_mark(play, json_string_value(member));
	return status;
}

static troupe_status page_in_ask_play(struct page_in_request *request, struct troupe_error *error)
{
	const json_t *member = json_object_get(request->json, "speed");
	double speed = json_number_value(member);
	struct play *play;
	troupe_status status = page_in_get_play(request, &play, error);
	if (!status && !(json_is_number(member) && speed >= 0 && speed <= PLAY_SPEED_MAX))
		status = fail(error, TROUPE_ECOMMAND, "\"speed\": expected a number from 0 to %g", PLAY_SPEED_MAX);
	if (!status)
		play_set_speed(play, speed);
	return status;
}

static const struct {
	const char *op;
	troupe_status (*ask)(struct page_in_request *request, struct troupe_error *error);
} page_in_ops[] = {{"topics", page_in_ask_topics}, {"subscribe", page_in_ask_subscribe},
	{"unsubscribe", page_in_ask_unsubscribe}, {"call", page_in_ask_call}, {"publish", page_in_ask_publish},
	{"motion", page_in_ask_motion}, {"mesh", page_in_ask_mesh}, {"image", page_in_ask_image},
	{"seek", page_in_ask_seek}, {"find", page_in_ask_find}, {"mark", page_in_ask_mark}, {"play", page_in_ask_play}};

static troupe_status page_in_ask(struct page_in_request *request, struct troupe_error *error)
{
	const char *op = NULL;
	troupe_status status = page_in_get_string(request, "op", &op, error);
	if (status)
		return status;
	for (size_t i = 0; i < ARRAY_LEN(page_in_ops); i++)
		if (!strcmp(op, page_in_ops[i].op))
			return page_in_ops[i].ask(request, error);
	return fail(error, TROUPE_ECOMMAND, "\"op\": '%.40s' is not known", op);
}

void page_hear(struct page *page, const char *text, size_t count)
{
	json_error_t where;
	struct troupe_error error;
	struct page_in_request request = {.page = page, .json = json_loadb(text, count, 0, &where)};
	troupe_status status = request.json ? page_in_ask(&request, &error)
					    : fail(&error, TROUPE_ECOMMAND, "line %d, column %d: %.200s", where.line,
						      where.column, where.text);
	if (status)
		page_in_refuse(&request, &error);
	json_decref(request.json);
}
