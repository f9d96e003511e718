/* Sends damaged messages of a page to the viewer's gateway (gateway/view) of a running world, and to that of plain
 * WebSockets (gateway/ws), whose operations are much the same. fuzz_view [SEED ROUNDS]; without arguments some rounds.
 * Whatever comes in: each message is answered or refused, the connection and the run go
 * on, and a good question is answered afterwards. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/shown.h"
#include "topic/message.h"

#include "../gateway/web_client.h"
#include "rounds.h"

#include <troupe/gateway.h>
#include <troupe/server.h>

#include <pthread.h>
#include <stdatomic.h>

static const char world[] =
	"<sdf version='1.9'><world name='w'><physics name='p' "
	"type='ode'><max_step_size>0.001</max_step_size></physics><model name='ball'><pose>0 0 5 0 0 0</pose><link "
	"name='l'><inertial><mass>1</mass></inertial><collision "
	"name='c'><geometry><sphere><radius>0.5</radius></sphere></geometry></collision><visual "
	"name='v'><geometry><sphere><radius>0.5</radius></sphere></geometry></visual></link><plugin "
	"name='gz::sim::systems::VelocityControl' filename='x'/></model></world></sdf>";
static struct troupe_server *server;
enum { GATEWAYS = 2 };
static const char *const names[GATEWAYS] = {"view", "ws"};
static struct troupe_gateway *gateways[GATEWAYS];
static pthread_t thread;
static _Atomic bool stop;
static uint16_t ports[GATEWAYS];
static int files[GATEWAYS] = {-1, -1};

#define must(good, what) must(good, what, NULL, 0)

/* A page can end a run (/server_control); a model that it has made may diverge: then another run begins. */
static void *run(void *arg)
{
	const struct troupe_limits none = {0};
	struct troupe_error error;
	(void)arg;
	while (!atomic_load(&stop))
		if (troupe_server_run(server, &none, &error))
			break;
	return NULL;
}

static void begin(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error = {.text = ""};
	char address[256];
	def.world_path = "fuzz.sdf";
	def.world_text = world;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_RATE;
	def.rate_hz = 1000;
	must(!troupe_server_create(&def, &server, &error), error.text);
	for (int i = 0; i < GATEWAYS; i++) {
		const struct troupe_gateway_def gateway = {.name = names[i], .address = "0", .server = server};
		must(!troupe_gateway_start(&gateway, &gateways[i], &error), error.text);
		troupe_gateway_describe(gateways[i], address, sizeof address);
		ports[i] = (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
	}
	must(!pthread_create(&thread, NULL, run, NULL), "no thread");
}

static void end(void)
{
	atomic_store(&stop, true);
	troupe_server_stop(server);
	pthread_join(thread, NULL);
	for (int i = 0; i < GATEWAYS; i++)
		troupe_gateway_end(gateways[i], NULL);
	troupe_server_destroy(server);
	gateways[0] = NULL;
}

static void dial(int i)
{
	struct text out = {0}, answer = {0};
	char protocol[80];
	int file = files[i] = client_connect(ports[i]);
	(void)snprintf(protocol, sizeof protocol, "Sec-WebSocket-Protocol: troupe.%s.v1\r\n", names[i]);
	must(file >= 0, "no connection");
	client_add_upgrade(&out, "/", "localhost", protocol);
	must(client_send(file, out.at, out.count), "no upgrade");
	client_read_all(file, true, &answer);
	must(strstr(answer.at, " 101 "), "no upgrade");
	text_fini(&out);
	text_fini(&answer);
}

static bool say(int file, const char *bytes, size_t count)
{
	struct text out = {0};
	client_add_frame(&out, 0x81, bytes, count);
	bool sent = client_send(file, out.at, out.count);
	text_fini(&out);
	return sent;
}

/* Asks something whose answer no other message gets, and reads until it comes. False: the connection was closed. */
static bool is_served(int file)
{
	static uint64_t id = UINT64_C(1) << 50;
	struct client_frame frame;
	bool answered = false, open;
	char *question = mem_printf("{\"op\":\"call\",\"id\":%llu,\"service\":\"/nowhere\"}", (unsigned long long)++id);
	char *answer = mem_printf("{\"op\":\"reply\",\"id\":%llu,", (unsigned long long)id);
	open = say(file, question, strlen(question));
	while (!answered && open && client_take(file, &frame)) {
		answered = frame.kind == 1 && !strncmp(frame.body.at, answer, strlen(answer));
		open = frame.kind != 8;
		text_fini(&frame.body);
	}
	free(question);
	free(answer);
	return answered;
}

static void play(int i, const char *bytes, size_t count)
{
	if (files[i] < 0)
		dial(i);
	bool good = say(files[i], bytes, count) && is_served(files[i]);
	must(good || !shown_is_utf8(bytes, count), "a message ends the connection");
	if (good)
		return;
	close(files[i]);
	dial(i);
	must(is_served(files[i]), "a good client is not served after a bad one");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!troupe_gateway_is_available("view"))
		return 0;
	if (!gateways[0])
		begin();
	for (int i = 0; i < GATEWAYS; i++)
		play(i, count ? (const char *)bytes : "", count);
	return 0;
}

#ifndef WITHOUT_MAIN

enum { ROUNDS = 60 };
static const char *const corpus[] = {"{\"op\":\"topics\",\"begin\":\"/model/\"}",
	"{\"op\":\"subscribe\",\"topic\":\"/world/w/pose/info\",\"rate\":5.5}",
	"{\"op\":\"unsubscribe\",\"topic\":\"/world/w/pose/info\"}",
	"{\"op\":\"call\",\"id\":7,\"service\":\"/world/w/control\",\"request\":{\"pause\":true,\"multiStep\":3}}",
	"{\"op\":\"call\",\"id\":9007199254740992,\"service\":\"/world/w/scene/info\"}",
	"{\"op\":\"call\",\"id\":8,\"service\":\"/world/w/"
	"set_pose\",\"request\":{\"name\":\"ball\",\"position\":{\"z\":2.5e0}}}",
	"{\"op\":\"publish\",\"topic\":\"/model/ball/"
	"cmd_vel\",\"message\":{\"linear\":{\"x\":1},\"angular\":{\"z\":-1}}}",
	"{\"op\":\"motion\",\"world\":\"/world/w\",\"rate\":30}", "{\"op\":\"motion\"}",
	"{\"op\":\"mesh\",\"id\":9,\"world\":\"/world/w\",\"geometry\":{\"type\":\"MESH\",\"mesh\":{\"filename\":\"/"
	"etc/passwd\"}}}",
	"{\"op\":\"subscribe\",\"topic\":\"/clock\",\"rate\":20,\"format\":\"protobuf\"}",
	"{\"op\":\"seek\",\"step\":100}", "{\"op\":\"play\",\"speed\":2}"};

static void damage(struct text *text)
{
	static const char *const words[] = {"\"op\":", "null", "-1", "1e999", "[]", "{}", "\"", "\\u0000", "\\ud800",
		"{\"op\":\"call\"}", "18446744073709551616", "[[[[[[[[[[[[[[[[", "/../", "\xc3\xa4", "true", ","};
	const char *word = words[rounds_below(ARRAY_LEN(words))];
	size_t at = rounds_below(text->count + 1);
	char byte = (char)(' ' + rounds_below(95));
	switch (rounds_below(4)) {
	case 0:
		rounds_replace(text, at, 1, &byte, 1);
		break;
	case 1:
		rounds_replace(text, at, rounds_below(16), "", 0);
		break;
	default:
		rounds_replace(text, at, rounds_below(8), word, strlen(word));
	}
}

int main(int argc, char **argv)
{
	const char *folder = seeds_wanted(argc, argv);
	for (unsigned i = 0; folder && i < ARRAY_LEN(corpus); i++)
		seeds_write(folder, "view", i, corpus[i], strlen(corpus[i]));
	if (folder)
		return 0;
	if (!troupe_gateway_is_available("view")) {
		printf("skipped: this build has no viewer\n0 passed, 0 failed, 1 skipped\n");
		return 77;
	}
	if (argc > 2)
		rounds_state = strtoull(argv[1], NULL, 10);
	size_t rounds = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : ROUNDS;
	for (size_t i = 0; i < ARRAY_LEN(corpus); i++)
		rounds_run(corpus[i], strlen(corpus[i]), rounds, damage);
	for (int i = 0; i < GATEWAYS; i++)
		close(files[i]);
	end();
	printf("%zu rounds of each of %zu\n1 passed, 0 failed\n", rounds, ARRAY_LEN(corpus));
	return 0;
}

#endif
