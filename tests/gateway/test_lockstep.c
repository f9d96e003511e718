/* The lockstep socket, spoken to by hand: a client that does all right, and every way to do it wrong. Each case runs a
 * world of its own; what the client does is a script, and what the run must then say is compared. The script is run by
 * a thread, because the run waits for it. A plain program, so that it runs under the sanitizers too. */
#include "../named.h"
#include "gateway/lockstep/lockstep_listener.h"
#include "gateway/lockstep/packet.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"

#include "../fault/check.h"

#include <troupe/barrier.h>
#include <troupe/server.h>
#include <troupe/world.h>

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Checks are counted by two threads. One check may contain another. */
static pthread_mutex_t checking = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
#define check(...) (pthread_mutex_lock(&checking), check(__VA_ARGS__), pthread_mutex_unlock(&checking))

enum { STEPS = 20, FRAME_MAX = 1 << 20 };

static char path[64];

/* --- a client ----------------------------------------------------------------------------------------------------- */

struct peer {
	int file;
	Troupe__Msgs__LockstepToClient *last; /* what it received; NULL: the connection was closed */
	int steps, clocks;                    /* that it received */
	char refusal[256], reply[256];
	char told[2000]; /* all refusals and replies, a line each */
};

static int dial(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(name.sun_path, path);
	check(file >= 0 && !connect(file, (struct sockaddr *)&name, sizeof name), "connect");
	return file;
}

static void say_bytes(struct peer *peer, const void *bytes, size_t count)
{
	(void)!send(peer->file, bytes, count, MSG_NOSIGNAL);
}

static void say(struct peer *peer, const Troupe__Msgs__LockstepFromClient *packet)
{
	struct text out = {0};
	text_add_bytes(&out, "\0\0\0\0", 4);
	message_add_bytes(&out, &packet->base);
	for (int i = 0; i < 4; i++)
		out.at[i] = (char)((out.count - 4) >> 8 * i & 0xff);
	say_bytes(peer, out.at, out.count);
	text_fini(&out);
}

static bool read_all(struct peer *peer, char *bytes, size_t count)
{
	while (count) {
		struct pollfd polled = {peer->file, POLLIN, 0};
		ssize_t got = poll(&polled, 1, 60000) == 1 ? recv(peer->file, bytes, count, 0) : -1;
		if (got <= 0)
			return false;
		bytes += got;
		count -= (size_t)got;
	}
	return true;
}

static void note_messages(struct peer *peer, const Troupe__Msgs__LockstepStep *step)
{
	peer->steps++;
	for (size_t i = 0; i < step->n_message; i++) {
		const Troupe__Msgs__LockstepMessage *message = step->message[i];
		size_t used = strlen(peer->told);
		if (message->call || message->refused)
			(void)snprintf(peer->told + used, sizeof peer->told - used, "%s %d %d %d %s %s\n",
				message->topic, message->call, message->refused, (int)message->tag, message->type,
				message->text);
		peer->clocks += !strcmp(message->topic, "/clock") && message->step == step->step;
		if (message->call)
			(void)snprintf(peer->reply, sizeof peer->reply, "%s %d %d", message->topic, message->refused,
				(int)message->tag);
		else if (message->refused)
			(void)snprintf(peer->refusal, sizeof peer->refusal, "%s: %s", message->topic, message->text);
	}
}

static bool hear(struct peer *peer)
{
	static const struct message_limits limits = {.bytes_max = FRAME_MAX, .items_max = 100000};
	static _Thread_local char bytes[FRAME_MAX];
	unsigned char head[4];
	ProtobufCMessage *message = NULL;
	message_free(peer->last ? &peer->last->base : NULL);
	peer->last = NULL;
	if (!read_all(peer, (char *)head, 4))
		return false;
	size_t count = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
	check(count <= FRAME_MAX && read_all(peer, bytes, count), "a whole frame from the run");
	check(!message_of_bytes(&troupe__msgs__lockstep_to_client__descriptor, bytes, count, &limits, &message, NULL),
		"a valid frame from the run");
	peer->last = (Troupe__Msgs__LockstepToClient *)message;
	if (peer->last->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_STEP)
		note_messages(peer, peer->last->step);
	return true;
}

static bool is_step(const struct peer *peer)
{
	return peer->last && peer->last->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_STEP;
}

/* Deadlines of 20 s, for a machine that is busy; of 0.1 s for a client that is to miss it. */
static uint64_t deadline_ns = 20000000000;

static void say_join(struct peer *peer, char *name, uint64_t period_ns, int failure)
{
	Troupe__Msgs__LockstepFromClient packet = TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__INIT;
	Troupe__Msgs__LockstepJoin join = TROUPE__MSGS__LOCKSTEP_JOIN__INIT;
	Troupe__Msgs__LockstepSubscription clock = TROUPE__MSGS__LOCKSTEP_SUBSCRIPTION__INIT, *list = &clock;
	static char topic[] = "/clock";
	clock.topic = topic;
	join.version = PACKET_VERSION;
	join.name = name;
	join.period_ns = period_ns;
	join.deadline_ns = deadline_ns;
	join.failure = (Troupe__Msgs__LockstepJoin__Failure)failure;
	join.n_subscribe = 1;
	join.subscribe = &list;
	packet.what_case = TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_JOIN;
	packet.join = &join;
	say(peer, &packet);
}

static void say_done(struct peer *peer, uint64_t step, Troupe__Msgs__LockstepMessage *message)
{
	Troupe__Msgs__LockstepFromClient packet = TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__INIT;
	Troupe__Msgs__LockstepDone done = TROUPE__MSGS__LOCKSTEP_DONE__INIT;
	done.step = step;
	done.n_message = message != NULL;
	done.message = &message;
	packet.what_case = TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_DONE;
	packet.done = &done;
	say(peer, &packet);
}

static void say_leave(struct peer *peer)
{
	Troupe__Msgs__LockstepFromClient packet = TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__INIT;
	Troupe__Msgs__LockstepLeave leave = TROUPE__MSGS__LOCKSTEP_LEAVE__INIT;
	packet.what_case = TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT_LEAVE;
	packet.leave = &leave;
	say(peer, &packet);
}

/* --- what it does at its third barrier ---------------------------------------------------------------------------- */

static void closes(struct peer *peer)
{
	(void)shutdown(peer->file, SHUT_RDWR);
}

static void is_late(struct peer *peer)
{
	(void)peer; /* and waits to be told */
}

static void answers_another(struct peer *peer)
{
	say_done(peer, peer->last->step->step + 1, NULL);
}

static void joins_again(struct peer *peer)
{
	static char name[] = "again";
	say_join(peer, name, 0, 0);
}

static void sends_rubbish(struct peer *peer)
{
	say_bytes(peer, "\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12);
}

static void sends_nothing_in_a_frame(struct peer *peer)
{
	say_bytes(peer, "\0\0\0\0", 4);
}

static void sends_half(struct peer *peer)
{
	say_bytes(peer, "\x40\0\0\0\x12\x08", 6);
	(void)shutdown(peer->file, SHUT_WR);
}

static void sends_four_gigabytes(struct peer *peer)
{
	say_bytes(peer, "\xff\xff\xff\xff\x12", 5);
}

/* The first is an answer; the others are answers to a step that has not come. */
static void floods(struct peer *peer)
{
	uint64_t step = peer->last->step->step;
	for (int i = 0; i < 2000; i++)
		say_done(peer, step, NULL);
}

static void leaves(struct peer *peer)
{
	say_leave(peer);
}

static void goes_on(struct peer *peer)
{
	say_done(peer, peer->last->step->step, NULL);
}

static const struct misdeed {
	const char *name;
	void (*act)(struct peer *peer);
	const char *why; /* part of the text that the server and the client are given; NULL: it goes on to the end */
	bool harmless;   /* no failure */
} misdeeds[] = {
	{"goes on", goes_on, NULL, true},
	{"leaves", leaves, "it left", true},
	{"closes", closes, "closed its connection", false},
	{"is late", is_late, "no answer within 0.1 s", false},
	{"answers another step", answers_another, "done with step 5: expected step 4", false},
	{"joins again", joins_again, "joins a second time", false},
	{"sends rubbish", sends_rubbish, "a frame that is not valid", false},
	{"sends an empty frame", sends_nothing_in_a_frame, "an empty frame", false},
	{"sends half a frame", sends_half, "closed its connection", false},
	{"sends four gigabytes", sends_four_gigabytes, "a frame of 4294967295 bytes", false},
	{"floods", floods, "done with step 4: expected step 6", false},
};

struct script {
	const struct misdeed *misdeed;
	int failure;
	struct peer peer;
	char ended[TROUPE_ERROR_TEXT_BYTES];
	bool failed;
};

static void *play(void *arg)
{
	struct script *script = arg;
	struct peer *peer = &script->peer;
	while (hear(peer) && is_step(peer)) {
		if (peer->steps == 3)
			script->misdeed->act(peer);
		else
			say_done(peer, peer->last->step->step, NULL);
	}
	if (peer->last && peer->last->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_ENDED) {
		(void)snprintf(script->ended, sizeof script->ended, "%s", peer->last->ended->text);
		script->failed = peer->last->ended->failed;
	}
	message_free(peer->last ? &peer->last->base : NULL);
	close(peer->file);
	return NULL;
}

static char warning[TROUPE_ERROR_TEXT_BYTES];

static void on_warning(void *ctx, const char *text)
{
	(void)ctx;
	(void)snprintf(warning, sizeof warning, "%s", text);
}

struct scene {
	struct troupe_server *server;
	struct lockstep_listener *listener;
};

static struct scene open_scene(void)
{
	struct scene scene;
	struct troupe_error error;
	struct troupe_server_def def = troupe_server_def_default();
	struct lockstep_listener_options options = {.path = path};
	def.world_path = "lockstep.sdf";
	def.world_text = named_world("driven", NULL);
	def.secondaries = 0;
	def.on_warning = on_warning;
	check(!troupe_server_create(&def, &scene.server, &error), "%s", error.text);
	check(!lockstep_listener_create(scene.server, &options, &scene.listener, &error), "%s", error.text);
	*warning = '\0';
	return scene;
}

static void join_and_await(struct scene *scene, struct peer *peer, const char *name, int failure)
{
	char text[64];
	const char *const names[] = {name, NULL};
	struct troupe_error error;
	(void)snprintf(text, sizeof text, "%s", name);
	*peer = (struct peer){.file = dial()};
	say_join(peer, text, 2000000, failure);
	check(!troupe_server_await(scene->server, names, 20000000000, &error), "%s", error.text);
	check(hear(peer) && peer->last->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_WELCOME &&
			peer->last->welcome->step_s == 0.001,
		"a welcome");
}

static void misbehave(const struct misdeed *misdeed, int failure)
{
	struct scene scene = open_scene();
	struct script script = {.misdeed = misdeed, .failure = failure};
	struct troupe_limits limits = {.iterations = STEPS};
	struct troupe_error error = {.text = ""};
	pthread_t thread;
	deadline_ns = misdeed->act == is_late ? 100000000 : 20000000000;
	join_and_await(&scene, &script.peer, "x", failure);
	check(!pthread_create(&thread, NULL, play, &script), "a thread");
	troupe_status status = troupe_server_run(scene.server, &limits, &error);
	bool ends = !misdeed->harmless && failure;
	check(status == (ends ? TROUPE_EPEER : TROUPE_OK), "%s: status %d: %s", misdeed->name, status, error.text);
	const char *told = ends ? error.text : warning;
	if (misdeed->harmless)
		check(!*warning, "%s: warning '%s'", misdeed->name, warning);
	else
		check(strstr(told, misdeed->why) && strstr(told, "'x', step "), "%s: '%s'", misdeed->name, told);
	lockstep_listener_destroy(scene.listener, ends, ends ? error.text : "the run has ended");
	pthread_join(thread, NULL);
	uint64_t steps = troupe_server_progress(scene.server).steps;
	check(ends ? steps == 4 || steps == 6 : steps == STEPS, "%s: %d steps", misdeed->name, (int)steps);
	if (misdeed->act != closes)
		check(strstr(script.ended, misdeed->why ? misdeed->why : "the run has ended") &&
				script.failed == !misdeed->harmless,
			"%s: the client is told '%s'", misdeed->name, script.ended);
	if (!misdeed->why)
		check(script.peer.steps == STEPS / 2 && script.peer.clocks == STEPS / 2, "%s: %d barriers, %d clocks",
			misdeed->name, script.peer.steps, script.peer.clocks);
	troupe_server_destroy(scene.server);
}

/* --- messages and calls ------------------------------------------------------------------------------------------- */

static void *talk(void *arg)
{
	struct peer *peer = arg;
	Gz__Msgs__Twist twist = GZ__MSGS__TWIST__INIT;
	Gz__Msgs__Vector3d linear = GZ__MSGS__VECTOR3D__INIT;
	struct text bytes = {0};
	linear.x = 2;
	twist.linear = &linear;
	message_add_bytes(&bytes, &twist.base);
	static const struct {
		const char *topic, *type;
		bool call;
		const char *content; /* as text; "": as bytes */
	} sent[] = {{"/model/box/cmd_vel", "", false, ""}, {"/nothing", "", false, ""},
		{"/model/box/cmd_vel", "gz.msgs.Pose", false, ""},
		{"/world/w/control", "gz.msgs.WorldControl", true, ""},
		{"/model/box/cmd_vel", "", false, "linear {x: 2 y: 1}"}, {"/nothing", "", false, "x: 1"},
		{"/world/w/set_velocity", "", true, "name: 'box' linear {x: 2}"},
		{"/model/box/cmd_vel", "", true, "x: 1"}, {"/world/w/set_pose", "", true, "name: 9"}};
	while (hear(peer) && is_step(peer)) {
		Troupe__Msgs__LockstepMessage message = TROUPE__MSGS__LOCKSTEP_MESSAGE__INIT;
		char topic[64], type[64], content[64];
		size_t i = (size_t)peer->steps - 1;
		if (i < ARRAY_LEN(sent)) {
			(void)snprintf(topic, sizeof topic, "%s", sent[i].topic);
			(void)snprintf(type, sizeof type, "%s", sent[i].type);
			message.topic = topic;
			message.type = type;
			message.call = sent[i].call;
			message.tag = 42 + i;
			(void)snprintf(content, sizeof content, "%s", sent[i].content);
			message.content = content;
			if (!sent[i].call && !*content) {
				message.data.data = (uint8_t *)bytes.at;
				message.data.len = bytes.count;
			}
		}
		say_done(peer, peer->last->step->step, i < ARRAY_LEN(sent) ? &message : NULL);
		if (i == 2)
			check(strstr(peer->refusal, "/nothing: "), "refusal '%s'", peer->refusal);
	}
	message_free(peer->last ? &peer->last->base : NULL);
	text_fini(&bytes);
	close(peer->file);
	return NULL;
}

static void test_messages(void)
{
	struct scene scene = open_scene();
	struct peer peer;
	struct troupe_limits limits = {.iterations = STEPS};
	struct troupe_error error = {.text = ""};
	struct troupe_model_state state = {0};
	pthread_t thread;
	join_and_await(&scene, &peer, "talker", 1);
	check(!pthread_create(&thread, NULL, talk, &peer), "a thread");
	troupe_status status = troupe_server_run(scene.server, &limits, &error);
	check(!status, "%s", error.text);
	lockstep_listener_destroy(scene.listener, false, "the run has ended");
	pthread_join(thread, NULL);
	check(!strcmp(peer.told, "/nothing 0 1 43  topic '/nothing': there is none of this name\n"
				 "/model/box/cmd_vel 0 1 44  a message of type gz.msgs.Pose: expected gz.msgs.Twist\n"
				 "/world/w/control 1 0 45 gz.msgs.Boolean \n"
				 "/nothing 0 1 47  topic '/nothing': there is none of this name\n"
				 "/world/w/set_velocity 1 0 48 gz.msgs.Boolean model 'box' set in motion\n"
				 "/model/box/cmd_vel 1 1 49  service '/model/box/cmd_vel': there is none of this name\n"
				 "/world/w/set_pose 1 1 50  column 7: name: expected a text in quotes, found '9'\n"),
		"told '%s'", peer.told);
	bool found = troupe_get_model(scene.server, troupe_find_model(scene.server, 0, "box"), &state);
	check(found && state.pose.x > 0.0399 && state.pose.x < 0.0401, "2 m/s from step 0 on: x %g", state.pose.x);
	check(fabs(state.pose.y - 0.012) < 1e-4, "1 m/s from step 8 on: y %g", state.pose.y);
	troupe_server_destroy(scene.server);
}

/* --- before joining ----------------------------------------------------------------------------------------------- */

static void refused(struct peer *peer, const char *why)
{
	check(hear(peer) && peer->last->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED &&
			strstr(peer->last->refused->text, why),
		"refused because '%s'", why);
	check(!hear(peer), "closed");
	close(peer->file);
}

static void test_refusals(void)
{
	struct scene scene = open_scene();
	struct peer first, peer;
	static char taken[] = "first", bad[] = "a b", good[] = "good";
	join_and_await(&scene, &first, "first", 0);
	peer = (struct peer){.file = dial()};
	say_join(&peer, taken, 0, 0);
	refused(&peer, "has joined already");
	peer = (struct peer){.file = dial()};
	say_join(&peer, bad, 0, 0);
	refused(&peer, "a barrier client's name 'a b'");
	peer = (struct peer){.file = dial()};
	say_join(&peer, good, 1500000, 0);
	refused(&peer, "expected a multiple of the step");
	peer = (struct peer){.file = dial()};
	say_join(&peer, good, 0, 7);
	refused(&peer, "");
	peer = (struct peer){.file = dial()};
	say_done(&peer, 0, NULL);
	refused(&peer, "expected join");
	peer = (struct peer){.file = dial()};
	sends_four_gigabytes(&peer);
	refused(&peer, "a frame of 4294967295 bytes");
	peer = (struct peer){.file = dial()};
	sends_half(&peer);
	check(!hear(&peer), "closed");
	close(peer.file);
	message_free(first.last ? &first.last->base : NULL);
	close(first.file);
	lockstep_listener_destroy(scene.listener, false, "the run has ended");
	troupe_server_destroy(scene.server);
}

static void test_addresses(void)
{
	static const struct {
		const char *address, *why;
		bool insecure;
	} bad[] = {{"0.0.0.0:0", "not this machine's loopback", false},
		{"x:1", "expected an address of this machine", false}, {"127.0.0.1:70000", "expected PORT", false},
		{"", "expected PORT", false}, {"-1", "expected PORT", false}, {"127.0.0.1", "expected PORT", false}};
	struct scene scene = open_scene();
	struct lockstep_listener *other;
	struct troupe_error error;
	struct text text = {0};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct lockstep_listener_options options = {.address = bad[i].address};
		check(lockstep_listener_create(scene.server, &options, &other, &error) == TROUPE_EINVAL &&
				strstr(error.text, bad[i].why),
			"'%s': %s", bad[i].address, error.text);
	}
	static const char *const loopback[] = {"0", ":0", "127.0.0.1:0"};
	for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
		struct lockstep_listener_options options = {.address = loopback[i]};
		check(!lockstep_listener_create(scene.server, &options, &other, &error) &&
				!strncmp(lockstep_listener_address(other), "127.0.0.1:", 10),
			"'%s': %s", loopback[i], error.text);
		lockstep_listener_destroy(other, false, "");
	}
	struct lockstep_listener_options six = {.address = "[::1]:0"};
	troupe_status status = lockstep_listener_create(scene.server, &six, &other, &error);
	check(status == TROUPE_EIO || (!status && !strncmp(lockstep_listener_address(other), "[::1]:", 6)), "%s",
		error.text);
	if (!status)
		lockstep_listener_destroy(other, false, "");
	struct lockstep_listener_options same = {.path = path}, tcp = {.address = "localhost:0"},
					 open = {.address = "0.0.0.0:0", .insecure = true};
	check(lockstep_listener_create(scene.server, &same, &other, &error) == TROUPE_EIO, "two on one path");
	check(!lockstep_listener_create(scene.server, &tcp, &other, &error), "%s", error.text);
	lockstep_listener_describe(other, &text);
	check(!strncmp(text.at, "127.0.0.1:", 10), "%s", text.at);
	lockstep_listener_destroy(other, false, "");
	check(!lockstep_listener_create(scene.server, &open, &other, &error), "%s", error.text);
	lockstep_listener_destroy(other, false, "");
	text_fini(&text);
	lockstep_listener_destroy(scene.listener, false, "");
	check(access(path, F_OK) != 0, "the socket is removed");
	/* what is there already: a socket of a run that was killed goes, any other file stays */
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(name.sun_path, path);
	check(file >= 0 && !bind(file, (struct sockaddr *)&name, sizeof name) && !close(file), "a socket");
	check(!lockstep_listener_create(scene.server, &same, &other, &error), "a socket that was left behind: %s",
		error.text);
	lockstep_listener_destroy(other, false, "");
	FILE *text_file = fopen(path, "w");
	check(text_file && !fclose(text_file), "a file");
	check(lockstep_listener_create(scene.server, &same, &other, &error) == TROUPE_EIO && !access(path, F_OK),
		"a file of the user is not replaced");
	check(!unlink(path), "the file is there");
	troupe_server_destroy(scene.server);
}

int main(void)
{
	(void)snprintf(path, sizeof path, "/tmp/troupe-lockstep-%d", (int)getpid());
	for (size_t i = 0; i < ARRAY_LEN(misdeeds); i++)
		for (int failure = 0; failure <= 1; failure++)
			misbehave(&misdeeds[i], failure);
	test_messages();
	test_refusals();
	test_addresses();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
