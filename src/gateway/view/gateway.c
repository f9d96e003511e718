/* The pages share the hub's bus for all but pictures, which have one of their own: of pictures only the newest count.
 */
#include "gateway/view/internal.h"

#include "base/clock.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/op.h"
#include "gateway/view/page_files.h"

#include <stdlib.h>
#include <string.h>

enum {
	VIEW_PORT = 8686,
	VIEW_PICTURES_DEPTH = 4, /* only the newest count */
	VIEW_HEAR_BYTES_MAX = 17 << 20,
	VIEW_QUEUE_BYTES_MAX = 16 << 20,
	VIEW_PAGES_MAX = 256,
	VIEW_TOO_SLOW = 1013, /* RFC 6455: try again later */
};
#define VIEW_TELL_EPOCH_NS UINT64_C(1000000000)

static const char view_gateway_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
	"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* --- pages -------------------------------------------------------------------------------------------------------- */

static void *view_gateway_open(void *ctx, struct port_client *client)
{
	struct gateway *gateway = ctx;
	struct page *page = mem_alloc(sizeof *page);
	struct text hello = {0};
	*page = (struct page){.gateway = gateway, .client = client};
	page_out_hello(gateway, &hello);
	port_say_text(client, &hello);
	text_fini(&hello);
	timeline_renew(&gateway->timeline);
	return page;
}

static void view_gateway_hear(struct port_client *client, bool binary, const void *bytes, size_t count)
{
	struct text text = {0};
	if (!binary) {
		page_hear(client->data, bytes, count);
		return;
	}
	struct json_out out = op_error(&text, "a binary message: expected a text");
	op_say(client, &out);
}

static void view_gateway_room(struct port_client *client)
{
	outbox_flush(&client->outbox);
	motion_send(client->data, clock_now_ns());
}

static void view_gateway_close(struct port_client *client)
{
	struct page *page = client->data;
	motion_end(page);
	hub_leave_all(page->gateway->hub, page);
	free(page);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static void view_gateway_drop_topics(struct gateway *gateway)
{
	hub_release(gateway->hub, gateway->topics);
	gateway->topics = NULL;
}

static uint64_t view_gateway_epoch(const struct gateway *gateway)
{
	return gateway->hub->bus->ops->epoch(gateway->hub->bus);
}

static void view_gateway_read_topics(struct gateway *gateway)
{
	if (gateway->topics && gateway->topics->epoch == view_gateway_epoch(gateway))
		return;
	view_gateway_drop_topics(gateway);
	gateway->topics = hub_topics(gateway->hub);
}

const struct troupe_topic *gateway_find_topic(struct gateway *gateway, troupe_topic_kind kind, const char *name)
{
	view_gateway_read_topics(gateway);
	return hub_find(gateway->topics, kind, name);
}

/* Each world has a topic for pictures. */
static void view_gateway_find_worlds(struct gateway *gateway)
{
	static const char type[] = "troupe.msgs.View", end[] = "/view";
	view_gateway_read_topics(gateway);
	for (uint32_t i = 0; i < gateway->topics->count; i++) {
		const struct troupe_topic *topic = &gateway->topics->at[i];
		if (topic->kind != TROUPE_TOPIC_PUBLISHED || strcmp(topic->type, type))
			continue;
		size_t prefix = strlen(topic->name) - (sizeof end - 1);
		uint32_t index = gateway->worlds.count; /* vec_push() may count before or after it reads its item */
		vec_push(&gateway->worlds, (struct watched){.prefix = mem_printf("%.*s", (int)prefix, topic->name),
						   .topic = mem_strdup(topic->name),
						   .index = index});
	}
}

static void view_gateway_tell_epoch(struct gateway *gateway, uint64_t now_ns)
{
	uint64_t epoch = view_gateway_epoch(gateway);
	if (epoch == gateway->told_epoch || now_ns - gateway->told_ns < VIEW_TELL_EPOCH_NS)
		return;
	struct text text = {0};
	struct json_out out = op_begin(&text, "epoch");
	json_out_uint(&out, "epoch", epoch);
	op_tell_all(&gateway->port, &out);
	gateway->told_epoch = epoch;
	gateway->told_ns = now_ns;
}

/* --- from the run ------------------------------------------------------------------------------------------------- */

static void view_gateway_message(void *ctx, const struct troupe_message *message)
{
	subscriptions_give(ctx, message);
}

static void view_gateway_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	struct port_client *to = client;
	uint64_t *id = request;
	struct text text = {0};
	(void)gateway;
	if (to) {
		struct page *page = to->data;
		page->calls--;
		if (reply->type) {
			struct json_out out = op_reply(&text, *id, reply);
			op_say(to, &out);
		} else {
			page_out_refusal(*id, reply->why, &text);
			port_say_text(to, &text);
			text_fini(&text);
		}
	}
	free(id);
}

static void view_gateway_refused(void *ctx, const char *topic, const char *why)
{
	const struct gateway *gateway = ctx;
	op_tell_refused(&gateway->port, topic, why);
}

static struct port_client *view_gateway_find_client(const struct gateway *gateway, uint64_t connection)
{
	struct port_client *client = gateway->port.clients;
	while (client && client->connection != connection)
		client = client->after;
	return client;
}

static void view_gateway_give_mesh(const struct gateway *gateway, const struct meshes_result *result)
{
	struct port_client *client = view_gateway_find_client(gateway, result->page);
	struct text text = {0};
	if (!client)
		return;
	struct page *page = client->data;
	page->calls--;
	if (result->is_path) {
		page_out_image(result->id, result->bytes.at, &text);
		port_say_text(client, &text);
		text_fini(&text);
		return;
	}
	if (result->good) {
		port_say(client, true, result->bytes.at, result->bytes.count);
		return;
	}
	page_out_refusal(result->id, result->bytes.at, &text);
	port_say_text(client, &text);
	text_fini(&text);
}

static void view_gateway_take_meshes(struct gateway *gateway)
{
	for (struct meshes_result *result = meshes_take(gateway->meshes); result;
		result = meshes_take(gateway->meshes)) {
		view_gateway_give_mesh(gateway, result);
		meshes_result_free(result);
	}
}

static void view_gateway_say_goodbye(const struct gateway *gateway, const char *why)
{
	struct text text = {0};
	struct json_out out = op_begin(&text, "bye");
	json_out_string(&out, "text", why);
	op_tell_all(&gateway->port, &out);
}

/* --- the server that has the worlds ------------------------------------------------------------------------------- */

static troupe_status view_gateway_begin_clients(
	struct gateway *gateway, const struct bus_place *place, struct troupe_error *error)
{
	troupe_status status =
		bus_open(place, VIEW_PICTURES_DEPTH, port_wake, &gateway->port, &gateway->pictures, error);
	if (!status)
		status = meshes_create(place, gateway->images, port_wake, &gateway->port, &gateway->meshes, error);
	return status;
}

static void view_gateway_end_clients(struct gateway *gateway)
{
	if (gateway->hub->bus)
		view_gateway_drop_topics(gateway);
	meshes_destroy(gateway->meshes);
	bus_destroy(gateway->pictures);
	gateway->meshes = NULL;
	gateway->pictures = NULL;
}

static void view_gateway_moved(void *ctx, bool is_open)
{
	struct gateway *gateway = ctx;
	struct troupe_error error;
	if (!is_open) {
		view_gateway_take_meshes(gateway);
		view_gateway_end_clients(gateway);
		return;
	}
	if (view_gateway_begin_clients(gateway, &gateway->hub->place, &error)) {
		view_gateway_end_clients(gateway);
		view_gateway_say_goodbye(gateway, error.text);
	} else {
		subscriptions_renew(gateway, true);
		motion_renew(gateway);
	}
	gateway->told_epoch = 0;
}

/* --- a turn ------------------------------------------------------------------------------------------------------- */

static void view_gateway_turn(void *ctx, bool more)
{
	struct gateway *gateway = ctx;
	(void)more;
	if (!gateway->meshes)
		return; /* there was no other thread for it, and all pages were told */
	if (motion_take(gateway))
		port_wake(&gateway->port);
	view_gateway_take_meshes(gateway);
	uint64_t now_ns = clock_now_ns();
	view_gateway_tell_epoch(gateway, now_ns);
	subscriptions_turn(gateway, now_ns);
	timeline_tell(gateway, now_ns);
	for (struct port_client *client = gateway->port.clients; client; client = client->after)
		motion_send(client->data, now_ns);
}

/* The pages see the last state, and hear why they are left. */
static void view_gateway_end(void *ctx, const char *why, bool failed)
{
	(void)failed;
	view_gateway_turn(ctx, false);
	view_gateway_say_goodbye(ctx, why);
}

static bool view_gateway_find(void *ctx, const char *path, struct web_file *ret_file)
{
	const struct gateway *gateway = ctx;
	return images_find(gateway->images, path, ret_file) || panels_file(gateway->panels, path, ret_file);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static const struct port_protocol view_gateway_protocol = {
	.names = (const char *const[]){"troupe.view.v1", NULL},
	.scheme = "http",
	.port = VIEW_PORT,
	.clients_max = VIEW_PAGES_MAX,
	.hear_bytes_max = VIEW_HEAR_BYTES_MAX,
	.queue_bytes_max = VIEW_QUEUE_BYTES_MAX,
	.slow_code = VIEW_TOO_SLOW,
	.slow_text = "the connection is too slow",
	.policy = view_gateway_policy,
	.files = page_files,
	.find = view_gateway_find,
	.open = view_gateway_open,
	.hear = view_gateway_hear,
	.room = view_gateway_room,
	.close = view_gateway_close,
	.turn = view_gateway_turn,
};

_Static_assert((int)PAGE_FILES_MAX <= (int)PORT_FILES_MAX, "the port has room for the page");

static bool view_gateway_is_available(void)
{
	struct web_file files[PAGE_FILES_MAX];
	return web_is_available() && page_files(files);
}

static troupe_status view_gateway_start(
	struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	if (!view_gateway_is_available())
		return fail(error, TROUPE_EINVAL,
			"this build has no viewer: expected three.js, and no --without-web, when it was configured");
	struct gateway *gateway = hub->gateway = mem_alloc(sizeof *gateway);
	gateway->hub = hub;
	gateway->images = images_create();
	troupe_status status = panels_create(def, &gateway->panels, error);
	if (!status)
		status = timeline_init(&gateway->timeline, def, error);
	if (status)
		return status;
	status = hub_open(
		hub, def, &(struct hub_options){.wake = port_wake, .ctx = &gateway->port, .for_clients = true}, error);
	const struct bus_place place = {.server = hub->place.server, .run = def->run};
	if (!status)
		status = view_gateway_begin_clients(gateway, &place, error);
	if (status)
		return status;
	view_gateway_find_worlds(gateway);
	gateway->told_epoch = gateway->topics->epoch;
	return port_start(&gateway->port, hub, &view_gateway_protocol, def, error);
}

static void view_gateway_stop(void *ctx)
{
	struct gateway *gateway = ctx;
	port_stop(&gateway->port);
	view_gateway_end_clients(gateway);
}

static void view_gateway_destroy(void *ctx)
{
	struct gateway *gateway = ctx;
	port_end(&gateway->port);
	images_destroy(gateway->images);
	panels_destroy(gateway->panels);
	timeline_fini(&gateway->timeline);
	for (uint32_t i = 0; i < gateway->worlds.count; i++) {
		free(gateway->worlds.at[i].prefix);
		free(gateway->worlds.at[i].topic);
		picture_cache_fini(&gateway->worlds.at[i].picture_cache);
	}
	vec_free(&gateway->worlds);
	free(gateway);
}

const struct hub_kind kind_view = {
	.about = {.name = "view", .title = "view", .has_token = true},
	.settings = (const char *const[]){"token", "require-token", "cert", "key", "any-port", "panel", "mark", NULL},
	.shows_recordings = true,
	.is_available = view_gateway_is_available,
	.start = view_gateway_start,
	.topic_came = hub_ignore_row,
	.topic_gone = hub_ignore_row,
	.topics_changed = hub_ignore_topics,
	.message = view_gateway_message,
	.reply = view_gateway_reply,
	.refused = view_gateway_refused,
	.moved = view_gateway_moved,
	.end = view_gateway_end,
	.stop = view_gateway_stop,
	.destroy = view_gateway_destroy,
	.describe = port_describe,
	.count = hub_ignore_count,
};
