/* Each answer of the gateway ws (src/gateway/ws/PROTOCOL.md), whole: the second of two clients asks, the first hears
 * nothing of it. The world is paused, and no topic is subscribed to, so that no message comes between. A plain program,
 * for the sanitizers, too. */
#include "scene.h"

static const char world[] = "<sdf version='1.9'><world name='w'><model name='cart'><link name='l'/><plugin "
			    "name='gz::sim::systems::VelocityControl' filename='x'/></model></world></sdf>";

#define ERROR(text) "{\"op\":\"error\",\"text\":\"" text "\"}"

/* binary: its bytes; 0: text. */
static const struct {
	const char *request;
	size_t binary;
	const char *answer;
} rows[] = {
	{"[1]", 0,
		"{\"op\":\"error\",\"text\":\"\\\"op\\\": '': expected topics, subscribe, unsubscribe, publish or "
		"call\"}"},
	{"{\"op\":\"dance\"}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"op\\\": 'dance': expected topics, subscribe, unsubscribe, publish or "
		"call\"}"},
	{"{}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"op\\\": '': expected topics, subscribe, unsubscribe, publish or "
		"call\"}"},
	{"{\"op\":\"subscribe\"}", 0, "{\"op\":\"error\",\"text\":\"\\\"topic\\\": expected a name\"}"},
	{"{\"op\":\"subscribe\",\"topic\":\"\"}", 0, "{\"op\":\"error\",\"text\":\"\\\"topic\\\": expected a name\"}"},
	{"{\"op\":\"subscribe\",\"topic\":\"/clock\",\"rate\":-1}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"rate\\\": expected a number from 0 to 1e+06\"}"},
	{"{\"op\":\"subscribe\",\"topic\":\"/clock\",\"rate\":\"x\"}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"rate\\\": expected a number from 0 to 1e+06\"}"},
	{"{\"op\":\"subscribe\",\"topic\":\"/clock\",\"format\":\"xml\"}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"format\\\": 'xml': expected \\\"json\\\" or \\\"protobuf\\\"\"}"},
	{"{\"op\":\"unsubscribe\",\"topic\":\"/clock\"}", 0,
		"{\"op\":\"error\",\"text\":\"unsubscribe: '/clock' is not subscribed to\"}"},
	{"{\"op\":\"unsubscribe\"}", 0, "{\"op\":\"error\",\"text\":\"\\\"topic\\\": expected a name\"}"},
	{"{\"op\":\"publish\",\"topic\":\"/nothing\",\"message\":{}}", 0,
		"{\"op\":\"error\",\"text\":\"topic '/nothing': there is none that takes messages\"}"},
	{"{\"op\":\"publish\",\"topic\":\"/clock\",\"message\":{}}", 0,
		"{\"op\":\"error\",\"text\":\"topic '/clock': there is none that takes messages\"}"},
	{"{\"op\":\"publish\",\"topic\":\"/model/cart/cmd_vel\",\"message\":{\"linear\":7}}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"message\\\": linear: 7: expected an object\"}"},
	{"{\"op\":\"publish\",\"topic\":\"/model/cart/cmd_vel\",\"message\":[]}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"message\\\": expected an object\"}"},
	{"{\"op\":\"call\",\"service\":\"/gazebo/worlds\",\"request\":{}}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"id\\\": expected a whole number from 0 to 2^53\"}"},
	{"{\"op\":\"call\",\"id\":-1,\"service\":\"/gazebo/worlds\",\"request\":{}}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"id\\\": expected a whole number from 0 to 2^53\"}"},
	{"{\"op\":\"call\",\"id\":1.5,\"service\":\"/gazebo/worlds\",\"request\":{}}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"id\\\": expected a whole number from 0 to 2^53\"}"},
	{"{\"op\":\"call\",\"id\":9007199254740993,\"service\":\"/gazebo/worlds\",\"request\":{}}", 0,
		"{\"op\":\"error\",\"text\":\"\\\"id\\\": expected a whole number from 0 to 2^53\"}"},
	{"{\"op\":\"call\",\"id\":9007199254740992,\"service\":\"/gazebo/worlds\",\"request\":{}}", 0,
		"{\"op\":\"reply\",\"id\":9007199254740992,\"ok\":true,\"step\":,\"text\":\"\",\"type\":\"gz.msgs."
		"StringMsg_V\",\"reply\":{\"data\":[\"w\"]}}"},
	{"{\"op\":\"call\",\"id\":3,\"service\":\"/nothing\",\"request\":{}}", 0,
		"{\"op\":\"reply\",\"id\":3,\"ok\":false,\"step\":,\"text\":\"service '/nothing': there is none that "
		"takes messages\"}"},
	{"{\"op\":\"call\",\"id\":4}", 0,
		"{\"op\":\"reply\",\"id\":4,\"ok\":false,\"step\":,\"text\":\"\\\"service\\\": expected a name\"}"},
	{"{\"op\":\"call\",\"id\":5,\"service\":\"/world/w/remove\",\"request\":{\"name\":1}}", 0,
		"{\"op\":\"reply\",\"id\":5,\"ok\":false,\"step\":,\"text\":\"\\\"request\\\": name: 1: expected a "
		"text in quotes\"}"},
	{"{\"op\":\"call\",\"id\":0,\"service\":\"/gazebo/worlds\"}", 0,
		"{\"op\":\"reply\",\"id\":0,\"ok\":true,\"step\":,\"text\":\"\",\"type\":\"gz.msgs.StringMsg_V\","
		"\"reply\":{\"data\":[\"w\"]}}"},
	{"/model/cart/cmd_vel", 19,
		"{\"op\":\"error\",\"text\":\"binary message: expected the name of a topic in its first line\"}"},
	{"/nothing\n", 9, "{\"op\":\"error\",\"text\":\"topic '/nothing': there is none of this name\"}"},
	{"/model/cart/cmd_vel\n\xff", 21,
		"{\"op\":\"error\",\"text\":\"byte 0: no field begins here: expected the number of a field\"}"},
};

/* Which step it is depends on the time that the test takes. */
static void hide_step(struct text *body)
{
	char *at = body->count ? strstr(body->at, "\"step\":") : NULL;
	if (!at)
		return;
	at += strlen("\"step\":");
	const size_t digits = strspn(at, "0123456789");
	memmove(at, at + digits, strlen(at + digits) + 1);
	body->count -= digits;
}

static void expect_text(int file, const char *request, const char *answer)
{
	struct client_frame frame;
	bool there = client_take(file, &frame);
	if (there)
		hide_step(&frame.body);
	check(there && frame.kind == 1 && frame.body.count == strlen(answer) &&
			!memcmp(frame.body.at, answer, frame.body.count),
		"%s:\n%s\ninstead of\n%s", request, there ? frame.body.at : "the end", answer);
	if (there)
		text_fini(&frame.body);
}

static int join(const struct scene *scene)
{
	int file = client_join(scene->port, "/", "localhost", "Sec-WebSocket-Protocol: troupe.ws.v1\r\n");
	struct client_frame frame;
	bool there = client_take(file, &frame);
	check(there && strstr(frame.body.at,
			       "{\"op\":\"topics\",\"published\":[{\"name\":\"/clock\",\"type\":\"gz.msgs.Clock\"}") ==
				frame.body.at,
		"the topics: %s", there ? frame.body.at : "");
	if (there)
		text_fini(&frame.body);
	return file;
}

int main(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct scene scene;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!troupe_gateway_is_available("ws")) {
		printf("skipped: this build has no web server\n0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	def.world_path = "w.sdf";
	def.world_text = world;
	def.paused = true;
	scene_create(&scene, &def);
	scene_serve(&scene, "ws", "ws", NULL);
	scene_start(&scene, scene_run, &scene);
	int other = join(&scene), file = join(&scene);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct text frame = {0};
		client_add_frame(&frame, rows[i].binary ? 0x82 : 0x81, rows[i].request,
			rows[i].binary ? rows[i].binary : strlen(rows[i].request));
		check(client_send(file, frame.at, frame.count), "%s", rows[i].request);
		text_fini(&frame);
		expect_text(file, rows[i].request, rows[i].answer);
	}
	check(client_say(other, "{\"op\":\"last\"}"), "the other client");
	expect_text(
		other, "last", ERROR("\\\"op\\\": 'last': expected topics, subscribe, unsubscribe, publish or call"));
	close(file);
	close(other);
	scene_close(&scene, true);
	return check_totals();
}
