/* The viewer's gateway as a page in a browser uses it, by a socket and frames of bytes: hello, topics, subscriptions at
 * their rates, calls that succeed and fail, a cart driven and seen to move, pictures that have only what changed, a
 * mesh, a page that stops reading, a page that sends nonsense, the end. A recording of it all gives the same bits
 * again. A plain program, so that it runs under the sanitizers too. */
#include "base/clock.h"
#include "gateway/view/internal.h"
#include "topic/message.h"
#include "topic/sensor.pb-c.h"
#include "scene.h"

#include <troupe/record.h>

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#define CART                                                                                                           \
	"<model name='cart'><pose>0 0 0.5 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial><collision "   \
	"name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link>"                               \
	"<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>"
#define STONE(name, x)                                                                                                 \
	"<model name='" name "'><pose>" x " 9 0.5 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial>"      \
	"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>"

static const char world[] =
	"<sdf version='1.9'><world name='w \"1\"'><physics name='p' type='ode'><max_step_size>0.001</max_step_size>"
	"<real_time_factor>1</real_time_factor></physics><gravity>0 0 0</gravity>" CART STONE("a", "3")
		STONE("b", "6") "<model name='m'><static>true</static><link name='l'><visual "
				"name='v'><geometry><mesh><uri>%s/p.obj</uri>"
				"</mesh></geometry></visual><visual name='q'><geometry><mesh><uri>%s/q.obj</uri>"
				"</mesh></geometry></visual></link></model></world></sdf>";
static const char pyramid[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

#define PREFIX "/world/w_\\\"1\\\"" /* the name of the world, as JSON */

/* --- a run -------------------------------------------------------------------------------------------------------- */

static char folder[40], recording[64];

static void write_pyramid(void)
{
	char path[64];
	(void)snprintf(path, sizeof path, "%s/p.obj", folder);
	FILE *file = fopen(path, "w");
	check(file && fputs(pyramid, file) >= 0 && !fclose(file), "%s", path);
}

static void write_file(const char *name, const char *bytes, size_t count)
{
	char path[64];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	check(file && fwrite(bytes, 1, count, file) == count && !fclose(file), "%s", path);
}

/* Two triangles of two materials, each with an image of its own, of other sizes. */
static void write_painted(void)
{
	static const char obj[] = "mtllib q.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
				  "usemtl one\nf 1/1 2/2 3/3\nusemtl other\nf 1/1 3/3 4/4\n";
	static const char mtl[] = "newmtl one\nKd 0.5 0.25 0.125\nmap_Kd a.png\nnewmtl other\nKd 1 1 1\nmap_Kd b.png\n";
	char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1";
	write_file("q.obj", obj, sizeof obj - 1);
	write_file("q.mtl", mtl, sizeof mtl - 1);
	write_file("a.png", png, sizeof png - 1);
	png[19] = 2;
	write_file("b.png", png, sizeof png - 1);
}

static void open_scene(struct scene *scene, double rtf)
{
	char sdf[sizeof world + 128];
	struct troupe_server_def def = troupe_server_def_default();
	(void)snprintf(folder, sizeof folder, "/tmp/test_view.XXXXXX");
	check(mkdtemp(folder), "a folder");
	write_pyramid();
	write_painted();
	(void)snprintf(recording, sizeof recording, "%s/record", folder);
	(void)snprintf(sdf, sizeof sdf, world, folder, folder);
	def.world_path = "view.sdf";
	def.world_text = sdf;
	static const char *const folders[] = {folder, NULL}; /* of the mesh */
	def.resource_paths = folders;
	def.secondaries = 2;
	def.record_path = recording;
	def.record_every = 200;
	def.pace = TROUPE_PACE_FACTOR;
	def.rtf = rtf;
	scene_create(scene, &def);
	scene_serve(scene, "view", "http", NULL);
}

static void close_scene(struct scene *scene)
{
	char path[64];
	troupe_server_destroy(scene->server);
	static const char *const files[] = {"p.obj", "q.obj", "q.mtl", "a.png", "b.png"};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		check(!unlink(path), "%s", path);
	}
	check(!unlink(recording) && !rmdir(folder), "%s", folder);
}

/* --- a page ------------------------------------------------------------------------------------------------------- */

struct page_client {
	int file;
	struct client_frame frame; /* taken last */
	json_t *json;              /* of it, if it is a text */
};

#define say(page, ...) check(client_say((page)->file, __VA_ARGS__), "the server has closed")

/* False: the connection has ended. */
static bool take(struct page_client *page)
{
	json_decref(page->json);
	text_fini(&page->frame.body);
	page->json = NULL;
	if (!client_take(page->file, &page->frame))
		return false;
	if (page->frame.kind == 1)
		page->json = json_loadb(page->frame.body.at, page->frame.body.count, 0, NULL);
	check(page->frame.kind != 1 || page->json, "no JSON: %.200s", page->frame.body.at);
	return page->frame.kind != 8;
}

static const char *member(const struct page_client *page, const char *name)
{
	const char *text = json_string_value(json_object_get(page->json, name));
	return text ? text : "";
}

/* Takes frames up to the next text with this op. */
static bool take_op(struct page_client *page, const char *op)
{
	for (int i = 0; i < 10000 && take(page); i++)
		if (page->json && !strcmp(member(page, "op"), op))
			return true;
	check(false, "no \"%s\" came", op);
	return false;
}

static bool take_binary(struct page_client *page, char kind)
{
	for (int i = 0; i < 10000 && take(page); i++)
		if (page->frame.kind == 2 && page->frame.body.count && page->frame.body.at[0] == kind)
			return true;
	check(false, "no frame of kind %d came", kind);
	return false;
}

static void expect_error(struct page_client *page, const char *request, const char *why)
{
	say(page, "%s", request);
	check(take_op(page, "error") && strstr(member(page, "text"), why), "%s: '%s'", request, member(page, "text"));
}

static json_int_t reply_id(const struct page_client *page)
{
	return json_integer_value(json_object_get(page->json, "id"));
}

static uint64_t whole(const struct page_client *page, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(page->json, name));
}

static bool is_good(const struct page_client *page)
{
	return json_is_true(json_object_get(page->json, "ok"));
}

static void connect_page(const struct scene *scene, struct page_client *page)
{
	char host[40];
	(void)snprintf(host, sizeof host, "127.0.0.1:%u", scene->port);
	*page = (struct page_client){
		.file = client_join(scene->port, "/view", host, "Sec-WebSocket-Protocol: troupe.view.v1\r\n")};
	check(take(page) && !strcmp(member(page, "op"), "hello"), "no hello");
	check(json_integer_value(json_object_get(page->json, "version")) == 1, "a version");
}

static void close_page(struct page_client *page)
{
	json_decref(page->json);
	text_fini(&page->frame.body);
	(void)close(page->file);
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

static uint32_t number_at(const struct page_client *page, size_t at)
{
	uint32_t value;
	memcpy(&value, page->frame.body.at + at, sizeof value);
	return value;
}

static float float_at(const struct page_client *page, size_t at)
{
	float value;
	memcpy(&value, page->frame.body.at + at, sizeof value);
	return value;
}

static double double_at(const struct page_client *page, size_t at)
{
	double value;
	memcpy(&value, page->frame.body.at + at, sizeof value);
	return value;
}

/* The frame is a picture of links and models that has only the one that moves. Returns its x. */
static float moved_x(const struct page_client *page, uint32_t links)
{
	check(number_at(page, 24) == links, "%u links", number_at(page, 24));
	return float_at(page, 32 + 4 * (size_t)links);
}

static void drive(const struct scene *scene)
{
	struct page_client page;
	float x = 0;
	double time_s = 0;
	connect_page(scene, &page);
	say(&page, "{\"op\":\"motion\",\"world\":\"" PREFIX "\"}");
	check(take_binary(&page, 1) && page.frame.body.at[1] == 1, "the first picture is whole");
	check(number_at(&page, 24) == 3 && number_at(&page, 28) == 3, "the cart and two stones");
	(void)(take_binary(&page, 1) && take_binary(&page, 1)); /* all sleep, or stand */
	say(&page, "{\"op\":\"publish\",\"topic\":\"/model/cart/cmd_vel\",\"message\":{\"linear\":{\"x\":2}}}");
	for (int i = 0; i < 100 && x < 0.5f && take_binary(&page, 1); i++) {
		check(page.frame.body.at[1] == 0, "picture %d is whole", i);
		check(double_at(&page, 16) > time_s, "time goes on");
		time_s = double_at(&page, 16);
		if (number_at(&page, 24))
			x = moved_x(&page, 1);
	}
	check(x >= 0.5f, "the cart is at %g", (double)x);
	say(&page, "{\"op\":\"motion\"}");
	say(&page, "{\"op\":\"call\",\"id\":9,\"service\":\"" PREFIX "/hash\"}");
	check(take_op(&page, "reply") && is_good(&page), "a hash");
	close_page(&page);
}

/* The page itself: each file that a browser asks for first is there. */
static void fetch(const struct scene *scene)
{
	static const struct {
		const char *path, *has;
	} parts[] = {{"/", "<script type=\"module\" src=\"main.js\">"}, {"/main.js", "import "},
		{"/three/build/three.module.js", "export "}};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct text request = {0}, answer = {0};
		int file = client_connect(scene->port);
		text_add(&request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", parts[i].path,
			scene->port);
		check(file >= 0 && client_send(file, request.at, request.count), "no connection");
		client_read_all(file, false, &answer);
		check(!strncmp(answer.at, "HTTP/1.1 200", 12) && strstr(answer.at, parts[i].has), "%s: %.300s",
			parts[i].path, answer.at);
		(void)close(file);
		text_fini(&request);
		text_fini(&answer);
	}
}

/* --- what else is asked for --------------------------------------------------------------------------------------- */

static void ask_for_all(const struct scene *scene)
{
	struct page_client page;
	connect_page(scene, &page);
	say(&page, "{\"op\":\"topics\",\"begin\":\"/model/\"}");
	check(take_op(&page, "topics"), "topics");
	const json_t *taken = json_object_get(page.json, "taken");
	check(json_array_size(taken) == 1 &&
			!strcmp(json_string_value(json_object_get(json_array_get(taken, 0), "type")), "gz.msgs.Twist"),
		"one topic is taken");
	say(&page, "{\"op\":\"topics\",\"begin\":\"" PREFIX "/hash\"}");
	check(take_op(&page, "topics") && json_array_size(json_object_get(page.json, "services")) == 2 &&
			!json_array_size(json_object_get(page.json, "taken")),
		"a service, and its blocking form");
	say(&page, "{\"op\":\"subscribe\",\"topic\":\"/clock\",\"rate\":10}");
	uint64_t before = 0, began_ns = clock_now_ns();
	for (int i = 0; i < 5 && take_op(&page, "message"); i++) {
		uint64_t step = whole(&page, "step");
		check(i == 0 || step > before, "step %" PRIu64 " after %" PRIu64, step, before);
		check(json_is_object(json_object_get(page.json, "message")), "a message");
		before = step;
	}
	uint64_t took_ns = clock_now_ns() - began_ns;
	check(took_ns > 250000000, "four messages after the first one in %" PRIu64 " ns, at 10 Hz", took_ns);
	say(&page, "{\"op\":\"unsubscribe\",\"topic\":\"/clock\"}");
	say(&page, "{\"op\":\"call\",\"id\":7,\"service\":\"" PREFIX
		   "/set_pose\",\"request\":{\"name\":\"a\",\"position\":"
		   "{\"x\":4,\"y\":9}}}");
	check(take_op(&page, "reply") && reply_id(&page) == 7 && is_good(&page), "%s", member(&page, "text"));
	say(&page, "{\"op\":\"call\",\"id\":8,\"service\":\"" PREFIX
		   "/remove\",\"request\":{\"name\":\"no\",\"type\":2}}");
	check(take_op(&page, "reply") && reply_id(&page) == 8 && !is_good(&page), "a model that is not there");
	check(strstr(member(&page, "text"), "no"), "%s", member(&page, "text"));
	say(&page, "{\"op\":\"call\",\"id\":9,\"service\":\"/none\"}");
	check(take_op(&page, "reply") && reply_id(&page) == 9 && !is_good(&page), "a service that is not there");
	close_page(&page);
}

/* The server is asked once for a topic that two pages want: a page that wants few messages does not thin out those of
 * the other. */
static void share_a_topic(const struct scene *scene)
{
	enum { PERIOD_STEPS = 500, MESSAGES = 5 }; /* of the slow page, in steps of 1 ms */
	struct page_client all, slow;
	connect_page(scene, &all);
	connect_page(scene, &slow);
	say(&all, "{\"op\":\"subscribe\",\"topic\":\"/clock\"}");
	say(&slow, "{\"op\":\"subscribe\",\"topic\":\"/clock\",\"rate\":%g}", 1e3 / PERIOD_STEPS);
	check(take_op(&slow, "message"), "the first message of the slow page");
	uint64_t both = whole(&slow, "step"), first;
	while (take_op(&all, "message") && whole(&all, "step") <= both)
		;
	first = whole(&all, "step");
	for (int i = 0; i < MESSAGES; i++)
		check(take_op(&all, "message"), "a message");
	check(whole(&all, "step") - first < PERIOD_STEPS, "%d messages in %" PRIu64 " steps", MESSAGES,
		whole(&all, "step") - first);
	close_page(&all);
	close_page(&slow);
}

static void ask_for_mesh(const struct scene *scene)
{
	enum { MANY = 50 };
	struct page_client page;
	connect_page(scene, &page);
	for (uint32_t id = 100; id < 100 + MANY; id++) /* no answer is lost when several wait */
		say(&page,
			"{\"op\":\"mesh\",\"id\":%u,\"world\":\"" PREFIX "\",\"geometry\":{\"type\":\"MESH\",\"mesh\":{"
			"\"filename\":\"%s/p.obj\",\"scale\":{\"x\":1,\"y\":1,\"z\":1}}}}",
			id, folder);
	for (uint32_t id = 100; id < 100 + MANY; id++)
		check(take_binary(&page, 3) && number_at(&page, 4) == id, "mesh %u", id);
	for (uint32_t id = 20; id < 22; id++) { /* read, and kept */
		say(&page,
			"{\"op\":\"mesh\",\"id\":%u,\"world\":\"" PREFIX "\",\"geometry\":{\"type\":\"MESH\",\"mesh\":{"
			"\"filename\":\"%s/p.obj\",\"scale\":{\"x\":1,\"y\":1,\"z\":1}}}}",
			id, folder);
		check(take_binary(&page, 3) && number_at(&page, 4) == id, "a mesh");
		check(number_at(&page, 8) == 4 && number_at(&page, 12) == 4, "a pyramid");
		check(number_at(&page, 16) == 0, "without texture coordinates");
		const struct text *body = &page.frame.body;
		check(body->count > 20 + 12 * 4 + 12 * 4 && body->at[20 + 12 * 4 + 12 * 4] == '{' &&
				body->at[body->count - 1] == '}',
			"%zu bytes, and what it looks like", body->count);
	}
	say(&page, "{\"op\":\"mesh\",\"id\":5,\"world\":\"" PREFIX "\",\"geometry\":{\"type\":\"MESH\",\"mesh\":{"
		   "\"filename\":\"/etc/passwd\",\"scale\":{\"x\":1,\"y\":1,\"z\":1}}}}");
	check(take_op(&page, "reply") && reply_id(&page) == 5 && !is_good(&page),
		"a file that the world does not name");
	close_page(&page);
}

static const char *map_of(const json_t *look, size_t material, const char *key)
{
	const json_t *one = json_array_get(json_object_get(look, "materials"), material);
	const char *path = json_string_value(json_object_get(one, key));
	return path ? path : "";
}

/* Each part names its material, and each material the image that is its own, under the key of its kind. */
static void ask_for_painted(const struct scene *scene)
{
	struct page_client page;
	connect_page(scene, &page);
	say(&page,
		"{\"op\":\"mesh\",\"id\":7,\"world\":\"" PREFIX "\",\"geometry\":{\"type\":\"MESH\",\"mesh\":{"
		"\"filename\":\"%s/q.obj\",\"scale\":{\"x\":1,\"y\":1,\"z\":1}}}}",
		folder);
	check(take_binary(&page, 3) && number_at(&page, 4) == 7, "a mesh");
	uint32_t points = number_at(&page, 8), triangles = number_at(&page, 12), texcoords = number_at(&page, 16);
	size_t at = 20 + 12 * ((size_t)points + triangles) + 8 * (size_t)texcoords;
	check(triangles == 2 && texcoords == 6 && at < page.frame.body.count, "%u triangles, %u", triangles, texcoords);
	json_t *look = json_loadb(page.frame.body.at + at, page.frame.body.count - at, 0, NULL);
	const json_t *parts = json_object_get(look, "parts");
	check(json_array_size(parts) == 2, "two parts");
	size_t of[2] = {0, 0};
	for (size_t i = 0; i < 2; i++) {
		of[i] = (size_t)json_integer_value(json_object_get(json_array_get(parts, i), "material"));
		check(*map_of(look, of[i], "albedoMap") && !*map_of(look, of[i], "normalMap") &&
				!*map_of(look, of[i], "emissiveMap") && !*map_of(look, of[i], "roughnessMap"),
			"part %zu has the image of its colours alone", i);
	}
	check(strcmp(map_of(look, of[0], "albedoMap"), map_of(look, of[1], "albedoMap")) != 0, "two images");
	const json_t *first = json_array_get(json_object_get(look, "materials"), of[0]);
	check(json_number_value(json_array_get(json_object_get(first, "diffuse"), 1)) == 0.25, "the colour");
	json_decref(look);
	close_page(&page);
}

static void send_nonsense(const struct scene *scene)
{
	struct page_client page;
	connect_page(scene, &page);
	expect_error(&page, "{\"op\":\"fly\"}", "fly");
	expect_error(&page, "[]", "op");
	expect_error(&page, "{\"op\":", "line 1");
	expect_error(&page, "{\"op\":\"subscribe\",\"topic\":\"x\"}", "x");
	expect_error(&page, "{\"op\":\"subscribe\",\"topic\":\"/x\",\"rate\":-1}", "rate");
	expect_error(&page, "{\"op\":\"motion\",\"world\":\"/world/none\"}", "none");
	expect_error(&page, "{\"op\":\"publish\",\"topic\":\"/none\"}", "none");
	expect_error(&page,
		"{\"op\":\"publish\",\"topic\":\"/model/cart/cmd_vel\",\"message\":{\"linear\":{\"x\":\"much\"}}}",
		"much");
	expect_error(&page, "{\"op\":\"seek\",\"step\":1}", "no recording");
	expect_error(&page, "{\"op\":\"call\",\"id\":-1,\"service\":\"/none\"}", "id");
	/* subscriptions are limited */
	for (int i = 0; i < VIEW_TOPICS_MAX; i++)
		say(&page, "{\"op\":\"subscribe\",\"topic\":\"/none/%d\"}", i);
	expect_error(&page, "{\"op\":\"subscribe\",\"topic\":\"/none/more\"}", "expected no more");
	close_page(&page);
}

/* A page that does not read for a while has no queue of old pictures: after it has read what was on its way, the next
 * one is new. */
static void read_slowly(const struct scene *scene)
{
	struct page_client page;
	const struct timespec nap = {.tv_sec = 1};
	connect_page(scene, &page);
	say(&page, "{\"op\":\"motion\",\"world\":\"" PREFIX "\",\"rate\":10}");
	check(take_binary(&page, 1), "a picture");
	double time_s = double_at(&page, 16);
	uint64_t begin_ns = clock_now_ns();
	(void)nanosleep(&nap, NULL);
	uint32_t count = 0;
	while (take_binary(&page, 1) && double_at(&page, 16) < time_s + 1)
		count++;
	double took_s = (double)(clock_now_ns() - begin_ns) * 1e-9; /* longer on a busy machine */
	check(count <= 10 * took_s + 5, "%u pictures in %g s, at 10 Hz", count, took_s);
	close_page(&page);
}

/* --- without a server --------------------------------------------------------------------------------------------- */

static void say_an_image(void)
{
	uint8_t pixels[300];
	struct text bytes = {0}, said = {0};
	Gz__Msgs__Image image = GZ__MSGS__IMAGE__INIT;
	memset(pixels, 7, sizeof pixels);
	image.width = 10;
	image.height = 10;
	image.data = (ProtobufCBinaryData){sizeof pixels, pixels};
	message_add_bytes(&bytes, &image.base);
	struct troupe_message message = {
		.topic = "/camera", .type = "gz.msgs.Image", .bytes = bytes.at, .count = bytes.count, .step = 3};
	check(page_out_message(&message, &said), "an image is binary");
	uint32_t json;
	memcpy(&json, said.at + 4, sizeof json);
	check(said.at[0] == 2 && json % 4 == 0 && said.count == 8 + json + sizeof pixels, "%zu bytes", said.count);
	check(!memcmp(said.at + 8 + json, pixels, sizeof pixels), "the pixels");
	json_t *head = json_loadb(said.at + 8, json, 0, NULL);
	check(json_integer_value(json_object_get(json_object_get(head, "message"), "width")) == 10, "the width");
	check(!json_object_get(json_object_get(head, "message"), "data"), "no data in the text");
	json_decref(head);
	text_fini(&bytes);
	text_fini(&said);
}

static struct {
	uint64_t step, hash;
} recorded[1000];
static uint32_t recorded_count;

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	(void)ctx;
	if (recorded_count < ARRAY_LEN(recorded)) {
		recorded[recorded_count].step = step;
		recorded[recorded_count++].hash = hash;
	}
}

static void replay(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.on_hash = on_hash;
	struct troupe_replay replayed;
	struct troupe_error error;
	def.resume_path = recording;
	def.secondaries = 1;
	check(!troupe_replay_run(&def, 0, &replayed, &error), "%s", error.text);
	check(replayed.end == TROUPE_REPLAY_WHOLE && replayed.hashes > 1, "%s", replayed.difference);
}

/* --- a recording -------------------------------------------------------------------------------------------------- */

static void *play(void *view)
{
	(void)troupe_gateway_play(view, NULL);
	return NULL;
}

/* Waits until the page has a picture of the step, and the time line is there; the hash is the recorded one. */
static void seek(struct page_client *page, uint32_t i)
{
	char hash[32];
	bool seen = false, there = false;
	say(page, "{\"op\":\"seek\",\"step\":%" PRIu64 "}", recorded[i].step);
	while (!(seen && there) && take(page)) {
		if (page->frame.kind == 2)
			seen = double_at(page, 8) == (double)recorded[i].step;
		else if (!strcmp(member(page, "op"), "timeline"))
			there = whole(page, "step") == recorded[i].step &&
				json_is_false(json_object_get(page->json, "seeking"));
	}
	check(seen && there, "step %" PRIu64 " is not shown", recorded[i].step);
	say(page, "{\"op\":\"call\",\"id\":%u,\"service\":\"" PREFIX "/hash\"}", i);
	check(take_op(page, "reply") && is_good(page) && reply_id(page) == i, "%s", member(page, "text"));
	(void)snprintf(hash, sizeof hash, "%" PRIu64, recorded[i].hash);
	const char *shown = json_string_value(json_object_get(json_object_get(page->json, "reply"), "hash"));
	check(shown && !strcmp(shown, hash), "step %" PRIu64 ": hash %s, recorded %s", recorded[i].step, shown, hash);
}

/* Jumps forward and back, plays to the end, and refuses commands. Subscriptions and pictures go on after a jump. */
static void show_recording(struct scene *scene)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct page_client page;
	uint32_t last = recorded_count - 1;
	def.resume_path = recording;
	def.secondaries = 1;
	scene_serve(scene, "view", "http", &def);
	scene_start(scene, play, scene->gateway);
	connect_page(scene, &page);
	check(json_is_true(json_object_get(page.json, "recording")), "hello says that it is a recording");
	check(take_op(&page, "timeline") && whole(&page, "step") == 0 && whole(&page, "end") == recorded[last].step,
		"a time line");
	say(&page, "{\"op\":\"motion\",\"world\":\"" PREFIX "\"}");
	const uint32_t order[] = {last, 0, last / 2, 1, last - 1, last};
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		seek(&page, order[i]);
	say(&page,
		"{\"op\":\"call\",\"id\":5,\"service\":\"" PREFIX "/remove\",\"request\":{\"name\":\"a\",\"type\":2}}");
	check(take_op(&page, "reply") && !is_good(&page), "a recording does not change");
	seek(&page, last - 1);
	say(&page, "{\"op\":\"play\",\"speed\":10}");
	while (take_op(&page, "timeline") && whole(&page, "step") != recorded[last].step)
		;
	check(whole(&page, "step") == recorded[last].step, "it plays to the end");
	say(&page, "{\"op\":\"play\",\"speed\":0}"); /* it stops */
	expect_error(&page, "{\"op\":\"play\",\"speed\":-1}", "speed");
	expect_error(&page, "{\"op\":\"seek\",\"step\":-1}", "step");
	expect_error(&page, "{\"op\":\"play\",\"speed\":1001}", "speed");
	expect_error(&page, "{\"op\":\"seek\"}", "step");
	troupe_gateway_stop(scene->gateway);
	(void)pthread_join(scene->thread, NULL);
	troupe_gateway_end(scene->gateway, NULL);
	check(take_op(&page, "bye"), "a goodbye");
	close_page(&page);
}

/* Nothing answers before the run begins: so many requests of a page wait, and no more; one that leaves frees nothing of
 * another's. */
static void call_before_the_run(const struct scene *scene)
{
	enum { CALLS_MAX = 256 };
	struct page_client page, other;
	connect_page(scene, &page);
	connect_page(scene, &other);
	for (int i = 0; i < CALLS_MAX; i++)
		say(&page, "{\"op\":\"call\",\"id\":%d,\"service\":\"" PREFIX "/control\"}", i);
	say(&page, "{\"op\":\"call\",\"id\":%d,\"service\":\"" PREFIX "/control\"}", CALLS_MAX);
	check(take_op(&page, "reply") && reply_id(&page) == CALLS_MAX && !is_good(&page) &&
			strstr(member(&page, "text"), "256 requests of the page wait"),
		"one request too many: '%s'", member(&page, "text"));
	say(&other, "{\"op\":\"call\",\"id\":1,\"service\":\"/none\"}");
	check(take_op(&other, "reply") && reply_id(&other) == 1 && strstr(member(&other, "text"), "there is none"),
		"another page is heard: '%s'", member(&other, "text"));
	close_page(&page);
	close_page(&other);
}

/* A page that asks again sees what has come since. */
static void see_new_topics(const struct scene *scene)
{
	static const char create[] =
		"sdf: '<sdf version=\"1.9\"><model name=\"late\"><pose>0 50 0 0 0 "
		"0</pose><link name=\"l\"/>"
		"<plugin filename=\"x\" name=\"gz::sim::systems::VelocityControl\"/></model></sdf>'";
	struct page_client page;
	struct troupe_error error;
	const char *seen = NULL;
	connect_page(scene, &page);
	say(&page, "{\"op\":\"topics\"}");
	check(take_op(&page, "topics") && !strstr(page.frame.body.at, "/model/late/"), "not yet");
	check(!troupe_server_command(scene->server, 0, "/world/w_\"1\"/create", create, &error), "%s", error.text);
	for (int i = 0; i < 1000 && !seen; i++) {
		say(&page, "{\"op\":\"topics\",\"begin\":\"/model/late\"}");
		seen = take_op(&page, "topics") ? strstr(page.frame.body.at, "/model/late/") : "";
		(void)usleep(5000);
	}
	check(seen && *seen, "the topics of a new model");
	close_page(&page);
}

int main(void)
{
	struct scene scene;
	struct page_client last;
	if (!troupe_gateway_is_available("view")) {
		printf("skipped: the viewer: this build has no web server or no three.js\n0 passed, 0 failed\n");
		return 0;
	}
	troupe_gateway_end(NULL, NULL);
	say_an_image();
	open_scene(&scene, 1);
	call_before_the_run(&scene);
	scene_start(&scene, scene_run, &scene);
	fetch(&scene);
	drive(&scene);
	ask_for_all(&scene);
	share_a_topic(&scene);
	ask_for_mesh(&scene);
	ask_for_painted(&scene);
	send_nonsense(&scene);
	read_slowly(&scene);
	see_new_topics(&scene);
	check(troupe_gateway_counts(scene.gateway).commands >= 2, "commands are counted");
	connect_page(&scene, &last);
	scene_end_run(&scene);
	troupe_gateway_end(scene.gateway, NULL);
	check(take_op(&last, "bye") && !strcmp(member(&last, "text"), "the run has ended"), "a goodbye");
	check(!take(&last), "the connection is closed");
	close_page(&last);
	check(!troupe_server_end_recording(scene.server, &scene.error), "%s", scene.error.text);
	replay();
	check(recorded_count > 3, "%u hashes", recorded_count);
	show_recording(&scene);
	close_scene(&scene);
	return check_totals();
}
