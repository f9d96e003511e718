/* All of the viewer's gateway runs on the loop's thread of the web server: it takes the messages of the server, gives
 * them to the pages, and posts the requests of the pages. The server wakes that thread when it has something. */
#include "gateway/view/internal.h"

#include "base/clock.h"
#include "gateway/ending.h"
#include "gateway/view/page_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	BATCH = 256,
	PICTURES_DEPTH = 4, /* only the newest count */
	HEAR_BYTES_MAX = 17 << 20,
	QUEUE_BYTES_MAX = 16 << 20,
	PAGES_MAX = 256,
	TOO_SLOW = 1013, /* RFC 6455: try again later */
};
#define TELL_EPOCH_NS UINT64_C(1000000000)
#define TELL_TIMELINE_NS UINT64_C(100000000)

struct troupe_view {
	struct gateway gateway;
};

static const char policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* Before the web server is there, no page can have asked for anything. */
static void wake(void *ctx)
{
	struct gateway *gateway = ctx;
	struct web *web = atomic_load(&gateway->web);
	if (web)
		web_wake(web);
}

/* --- pages -------------------------------------------------------------------------------------------------------- */

/* If a page does not take a text, its connection is closed: the page connects again and asks for everything anew. */
void page_send_text(struct page *page, const struct text *json)
{
	if (!web_send(page->peer, false, json->at, json->count))
		web_close(page->peer, TOO_SLOW, "the connection is too slow");
}

struct page *gateway_page(struct gateway *gateway, uint64_t serial)
{
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		if (gateway->pages.at[i]->serial == serial)
			return gateway->pages.at[i];
	return NULL;
}

static void *open_page(void *ctx, struct web_peer *peer)
{
	struct gateway *gateway = ctx;
	struct page *page = mem_alloc(sizeof *page);
	struct text hello = {0};
	*page = (struct page){.gateway = gateway, .peer = peer, .serial = ++gateway->next_serial};
	vec_push(&gateway->pages, page);
	atomic_store(&gateway->page_count, gateway->pages.count);
	said_hello(gateway, &hello);
	page_send_text(page, &hello);
	text_fini(&hello);
	gateway->told_play_ns = 0; /* it is told of the time line, too */
	return page;
}

static void hear(void *conn, bool binary, const void *bytes, size_t count)
{
	if (!binary)
		page_hear(conn, bytes, count);
}

static void room(void *conn)
{
	motion_send(conn, clock_now_ns());
}

static void close_page(void *conn)
{
	struct page *page = conn;
	struct gateway *gateway = page->gateway;
	motion_end(page);
	feeds_drop_page(gateway, page);
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		if (gateway->pages.at[i] == page)
			gateway->pages.at[i--] = gateway->pages.at[--gateway->pages.count];
	atomic_store(&gateway->page_count, gateway->pages.count);
	free(page);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static void drop_topics(struct gateway *gateway)
{
	if (gateway->topics)
		gateway->client->ops->release(gateway->client, gateway->topics);
	gateway->topics = NULL;
}

static void read_topics(struct gateway *gateway)
{
	if (gateway->topics && gateway->topics->epoch == gateway->client->ops->epoch(gateway->client))
		return;
	drop_topics(gateway);
	gateway->topics = gateway->client->ops->topics(gateway->client);
}

const struct troupe_topic *gateway_find_topic(struct gateway *gateway, troupe_topic_kind kind, const char *name)
{
	read_topics(gateway);
	const struct troupe_topics *topics = gateway->topics;
	uint32_t low = 0, high = topics->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(topics->at[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < topics->count && !strcmp(topics->at[low].name, name); low++)
		if (topics->at[low].kind == kind)
			return &topics->at[low];
	return NULL;
}

/* Each world has a topic for pictures. */
static void find_worlds(struct gateway *gateway)
{
	static const char type[] = "troupe.msgs.View", end[] = "/view";
	read_topics(gateway);
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

static void tell_epoch(struct gateway *gateway, uint64_t now_ns)
{
	uint64_t epoch = gateway->client->ops->epoch(gateway->client);
	if (epoch == gateway->told_epoch || now_ns - gateway->told_ns < TELL_EPOCH_NS)
		return;
	struct text text = {0};
	text_add(&text, "{\"op\":\"epoch\",\"epoch\":%" PRIu64 "}", epoch);
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		page_send_text(gateway->pages.at[i], &text);
	text_fini(&text);
	gateway->told_epoch = epoch;
	gateway->told_ns = now_ns;
}

/* --- a turn ------------------------------------------------------------------------------------------------------- */

static void give_reply(struct gateway *gateway, const struct troupe_message *message)
{
	struct call call = {0};
	for (uint32_t i = 0; i < gateway->calls.count; i++)
		if (gateway->calls.at[i].tag == message->tag) {
			call = gateway->calls.at[i];
			gateway->calls.at[i--] = gateway->calls.at[--gateway->calls.count];
		}
	struct page *page = gateway_page(gateway, call.page);
	if (!page)
		return;
	struct text text = {0};
	page->calls--;
	said_reply(call.id, message, &text);
	page_send_text(page, &text);
	text_fini(&text);
}

/* A run of another process has refused what a page published; it is not known which page. */
static void give_refusal(struct gateway *gateway, const struct troupe_message *message)
{
	struct text text = {0}, line = {0};
	text_add(&line, "topic '%.150s': %s", message->topic, message->text);
	said_error(line.at, &text);
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		page_send_text(gateway->pages.at[i], &text);
	text_fini(&line);
	text_fini(&text);
}

/* Whether there may be more. */
static bool take_messages(struct gateway *gateway)
{
	struct troupe_message message;
	uint32_t count = 0;
	while (count < BATCH && gateway->client->ops->take(gateway->client, 0, &message)) {
		if (message.is_reply && !message.tag)
			give_refusal(gateway, &message);
		else if (message.is_reply)
			give_reply(gateway, &message);
		else
			feeds_give(gateway, &message);
		count++;
	}
	return count == BATCH;
}

static void give_mesh(struct gateway *gateway, const struct meshes_result *result)
{
	struct page *page = gateway_page(gateway, result->page);
	struct text text = {0};
	if (!page)
		return;
	page->calls--;
	if (!result->good) {
		said_refusal(result->id, result->bytes.at, &text);
		page_send_text(page, &text);
		text_fini(&text);
	} else if (!web_send(page->peer, true, result->bytes.at, result->bytes.count)) {
		web_close(page->peer, TOO_SLOW, "the connection is too slow");
	}
}

static void take_meshes(struct gateway *gateway)
{
	for (struct meshes_result *result = meshes_take(gateway->meshes); result;
		result = meshes_take(gateway->meshes)) {
		give_mesh(gateway, result);
		meshes_result_free(result);
	}
}

static void say_goodbye(struct gateway *gateway, const char *why)
{
	struct text text = {0};
	text_add(&text, "{\"op\":\"bye\",\"text\":");
	text_add_json(&text, why);
	text_add(&text, "}");
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		page_send_text(gateway->pages.at[i], &text);
	text_fini(&text);
}

/* --- recordings --------------------------------------------------------------------------------------------------- */

/* Told at most ten times a second, and when a page has come. */
static void tell_timeline(struct gateway *gateway, uint64_t now_ns)
{
	struct play_state now;
	struct text text = {0};
	if (!gateway->play || now_ns - gateway->told_play_ns < TELL_TIMELINE_NS)
		return;
	play_state(gateway->play, &now);
	const struct play_state *told = &gateway->told_play;
	if (gateway->told_play_ns && now.step == told->step && now.has_hash == told->has_hash &&
		now.speed == told->speed && now.playing == told->playing && now.seeking == told->seeking &&
		now.reached == told->reached && !strcmp(now.text, told->text))
		return;
	said_timeline(&now, &text);
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		page_send_text(gateway->pages.at[i], &text);
	text_fini(&text);
	/* the step at which it came to rest is shown, whatever the rates are */
	if (!now.playing && !now.seeking && (now.step != told->step || told->playing || told->seeking)) {
		feeds_renew(gateway, false);
		motion_renew(gateway);
	}
	gateway->told_play = now;
	gateway->told_play_ns = now_ns;
}

static void refuse_calls(struct gateway *gateway, const char *why)
{
	for (uint32_t i = 0; i < gateway->calls.count; i++) {
		struct page *page = gateway_page(gateway, gateway->calls.at[i].page);
		struct text text = {0};
		if (!page)
			continue;
		page->calls--;
		said_refusal(gateway->calls.at[i].id, why, &text);
		page_send_text(page, &text);
		text_fini(&text);
	}
	gateway->calls.count = 0;
}

static troupe_status begin_clients(struct gateway *gateway, struct troupe_error *error)
{
	const struct source_place *place = &gateway->place;
	troupe_status status = source_open(place, PICTURES_DEPTH, wake, gateway, &gateway->pictures, error);
	if (!status)
		status = source_open(place, 0, wake, gateway, &gateway->client, error);
	return status ? status : meshes_create(place, wake, gateway, &gateway->meshes, error);
}

static void end_clients(struct gateway *gateway)
{
	drop_topics(gateway);
	meshes_destroy(gateway->meshes);
	source_destroy(gateway->pictures);
	source_destroy(gateway->client);
	gateway->meshes = NULL;
	gateway->pictures = gateway->client = NULL;
}

/* The thread that plays waits until this is done, and then destroys the former server. */
static void adopt_server(struct gateway *gateway, struct troupe_server *server)
{
	struct troupe_error error;
	take_meshes(gateway);
	refuse_calls(gateway, "the recording has jumped to another step");
	end_clients(gateway);
	gateway->place.server = server;
	if (begin_clients(gateway, &error)) {
		say_goodbye(gateway, error.text);
	} else {
		feeds_renew(gateway, true);
		motion_renew(gateway);
	}
	gateway->told_epoch = 0;
	atomic_store(&gateway->next_server, NULL);
}

/* On the thread that plays. */
static void change_server(void *ctx, struct troupe_server *server)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	struct gateway *gateway = ctx;
	atomic_store(&gateway->next_server, server);
	while (atomic_load(&gateway->next_server)) {
		wake(gateway);
		(void)nanosleep(&nap, NULL);
	}
}

/* When a run of another process has ended, or its connection is lost, the viewer ends. */
static void look_at_remote(struct gateway *gateway)
{
	struct troupe_error why;
	if (gateway->place.server || atomic_load(&gateway->is_over) || !remote_is_over(gateway->client, &why))
		return;
	gateway->why = why;
	say_goodbye(gateway, why.text);
	atomic_store(&gateway->is_over, true);
}

static void turn(void *ctx)
{
	struct gateway *gateway = ctx;
	struct troupe_server *next = atomic_load(&gateway->next_server);
	if (next)
		adopt_server(gateway, next);
	if (!gateway->meshes)
		return; /* there was no other thread for it, and all pages were told */
	bool more = motion_take(gateway);
	more |= take_messages(gateway);
	take_meshes(gateway);
	uint64_t now_ns = clock_now_ns();
	tell_epoch(gateway, now_ns);
	feeds_turn(gateway, now_ns);
	tell_timeline(gateway, now_ns);
	for (uint32_t i = 0; i < gateway->pages.count; i++)
		motion_send(gateway->pages.at[i], now_ns);
	look_at_remote(gateway);
	if (more)
		wake(gateway);
}

/* The pages see the last state, and hear why they are left. */
static void say_last(void *ctx)
{
	struct gateway *gateway = ctx;
	turn(gateway);
	if (gateway->goodbye && !atomic_load(&gateway->is_over))
		say_goodbye(gateway, gateway->goodbye);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status start_web(struct gateway *gateway, const struct troupe_view_def *def, struct troupe_error *error)
{
	static const char *const names[] = {"troupe.view.v1", NULL};
	const struct web_service service = {.names = names,
		.hear_bytes_max = HEAR_BYTES_MAX,
		.open = open_page,
		.hear = hear,
		.room = room,
		.close = close_page,
		.turn = turn,
		.last = say_last,
		.ctx = gateway};
	struct web_def web = {.address = def->address,
		.port = def->port,
		.port_or_any = def->port_or_any,
		.token = def->token,
		.needs_token = true,
		.needs_token_here = def->needs_token,
		.cert_path = def->cert_path,
		.key_path = def->key_path,
		.policy = policy,
		.services = &service,
		.service_count = 1,
		.peers_max = PAGES_MAX,
		.queue_bytes_max = QUEUE_BYTES_MAX,
		.say = def->say,
		.say_ctx = def->ctx};
	struct web_file files[PAGE_FILES_MAX];
	struct web *started;
	web.files = files;
	web.file_count = page_files(files);
	troupe_status status = web_start(&web, &started, error);
	if (!status)
		atomic_store(&gateway->web, started);
	return status;
}

static void fini(struct gateway *gateway)
{
	struct web *web = atomic_load(&gateway->web);
	if (web)
		web_stop(web, gateway->goodbye ? gateway->goodbye : ending_text(NULL));
	end_clients(gateway);
	web_end(web);
	vec_free(&gateway->pages); /* web_stop() has closed all of them */
	feeds_fini(gateway);
	vec_free(&gateway->calls);
	for (uint32_t i = 0; i < gateway->worlds.count; i++) {
		free(gateway->worlds.at[i].prefix);
		free(gateway->worlds.at[i].topic);
		album_fini(&gateway->worlds.at[i].album);
	}
	vec_free(&gateway->worlds);
	play_close(gateway->play);
}

static troupe_status start(struct gateway *gateway, const struct troupe_view_def *def, struct troupe_error *error)
{
	troupe_status status = begin_clients(gateway, error);
	gateway->place.run = NULL; /* it is the caller's */
	if (status)
		return status;
	find_worlds(gateway);
	gateway->told_epoch = gateway->topics->epoch;
	return start_web(gateway, def, error);
}

static troupe_status check_available(struct troupe_error *error)
{
	if (troupe_view_available())
		return TROUPE_OK;
	return fail(error, TROUPE_EINVAL,
		"this build has no viewer: expected three.js, and no --without-web, when it was configured");
}

/* Takes the view over. */
static troupe_status start_view(struct troupe_view *view, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error)
{
	troupe_status status = start(&view->gateway, def, error);
	if (!status) {
		*ret_view = view;
		return TROUPE_OK;
	}
	fini(&view->gateway);
	free(view);
	return status;
}

troupe_status troupe_view_start(struct troupe_server *server, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error)
{
	troupe_status status = check_available(error);
	if (status)
		return status;
	struct troupe_view *view = mem_alloc(sizeof *view);
	view->gateway.place.server = server;
	return start_view(view, def, ret_view, error);
}

troupe_status troupe_view_open(const struct troupe_server_def *recording, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error)
{
	troupe_status status = check_available(error);
	if (status)
		return status;
	struct troupe_view *view = mem_alloc(sizeof *view);
	status = play_open(recording, change_server, &view->gateway, &view->gateway.play, error);
	if (status) {
		free(view);
		return status;
	}
	view->gateway.place.server = play_server(view->gateway.play);
	return start_view(view, def, ret_view, error);
}

troupe_status troupe_view_connect(const struct troupe_view_run *run, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error)
{
	troupe_status status = check_available(error);
	if (status)
		return status;
	struct troupe_view *view = mem_alloc(sizeof *view);
	view->gateway.place.run = run;
	return start_view(view, def, ret_view, error);
}

static troupe_status watch(struct gateway *gateway, struct troupe_error *error)
{
	static const struct timespec nap = {.tv_nsec = 20000000};
	while (!atomic_load(&gateway->stop) && !atomic_load(&gateway->is_over))
		(void)nanosleep(&nap, NULL);
	if (!atomic_load(&gateway->is_over))
		return TROUPE_OK;
	return fail(error, gateway->why.status, "%s", gateway->why.text);
}

troupe_status troupe_view_play(struct troupe_view *view, struct troupe_error *error)
{
	if (!view->gateway.play)
		return watch(&view->gateway, error);
	play_run(view->gateway.play);
	return TROUPE_OK;
}

void troupe_view_stop(struct troupe_view *view)
{
	atomic_store(&view->gateway.stop, true);
	if (view->gateway.play)
		play_stop(view->gateway.play);
}

void troupe_view_end(struct troupe_view *view, const struct troupe_error *why)
{
	if (!view)
		return;
	view->gateway.goodbye = ending_text(why);
	fini(&view->gateway);
	free(view);
}

void troupe_view_address(const struct troupe_view *view, char *ret_text, size_t bytes)
{
	web_address(atomic_load(&view->gateway.web), "http", ret_text, bytes);
}

struct troupe_view_counts troupe_view_counts(const struct troupe_view *view)
{
	const struct gateway *gateway = &view->gateway;
	return (struct troupe_view_counts){.pages = atomic_load(&gateway->page_count),
		.commands = !source_only_watches(gateway->client) ? gateway->client->ops->commands(gateway->client) : 0,
		.boundaries_lost = gateway->client->ops->lost(gateway->client)};
}

bool troupe_view_available(void)
{
	struct web_file files[PAGE_FILES_MAX];
	return web_is_available() && page_files(files);
}
