/* Barrier clients that take part by calls of services, without a transport: a client that does all right, and every way
 * to do it wrong. The run is a thread; the calls come from this one, and their replies are kept until they are asked
 * for. A plain program, so that it runs under the sanitizers too. */
#include "../named.h"
#include "../random.h"
#include "gateway/lockstep/callers.h"
#include "topic/message.h"
#include "topic/lockstep.pb-c.h"

#include "../amount.h"
#include "../fault/check.h"

#include <troupe/barrier.h>
#include <troupe/server.h>
#include <troupe/world.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 20, REQUESTS_MAX = 4096, WAIT_S = 60 };

/* --- replies ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static ProtobufCMessage *replies[REQUESTS_MAX]; /* by number; under the guard */
static uint32_t twice;                          /* replies to a request that had one */
static uint64_t last_request;
static bool direct;         /* callers_answer() is asked first */
static uint64_t connection; /* by which calls come */

static void on_reply(void *ctx, uint64_t request, const void *bytes, size_t count)
{
	ProtobufCMessage *message = NULL;
	(void)ctx;
	(void)message_of_bytes(
		type_find("troupe.msgs.LockstepToClient"), bytes, count, &message_limits_usual, &message, NULL);
	pthread_mutex_lock(&guard);
	twice += request >= REQUESTS_MAX || replies[request] || !message;
	if (request < REQUESTS_MAX && !replies[request])
		replies[request] = message;
	else
		message_free(message);
	pthread_cond_broadcast(&came);
	pthread_mutex_unlock(&guard);
}

/* NULL: none came. */
static const Troupe__Msgs__LockstepToClient *await_reply(uint64_t request)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&guard);
	while (!replies[request] && !pthread_cond_timedwait(&came, &guard, &until))
		;
	const Troupe__Msgs__LockstepToClient *reply = (const void *)replies[request];
	pthread_mutex_unlock(&guard);
	return reply;
}

static bool has_reply(uint64_t request)
{
	pthread_mutex_lock(&guard);
	bool has = replies[request];
	pthread_mutex_unlock(&guard);
	return has;
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

struct scene {
	struct troupe_server *server;
	struct callers *callers;
	pthread_t thread;
	troupe_status status;
	struct troupe_error error;
};

static char warning[TROUPE_ERROR_TEXT_BYTES];

static void on_warning(void *ctx, const char *text)
{
	(void)ctx;
	(void)snprintf(warning, sizeof warning, "%s", text);
}

static void *run(void *arg)
{
	struct scene *scene = arg;
	struct troupe_limits limits = {.iterations = STEPS};
	scene->error.text[0] = '\0';
	scene->status = troupe_server_run(scene->server, &limits, &scene->error);
	return NULL;
}

static void open_scene(struct scene *scene)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = "callers.sdf";
	def.world_text = named_world("driven", NULL);
	def.secondaries = 0;
	def.on_warning = on_warning;
	check(!troupe_server_create(&def, &scene->server, &scene->error), "%s", scene->error.text);
	scene->callers = callers_create(scene->server, on_reply, NULL);
	*warning = '\0';
}

static void start(struct scene *scene)
{
	check(!pthread_create(&scene->thread, NULL, run, scene), "a thread");
}

/* The number of the request, which has its reply now or later. */
static uint64_t say(struct scene *scene, enum callers_service service, const char *text)
{
	struct text bytes = {0};
	ProtobufCMessage *message;
	struct troupe_error error;
	text_add_bytes(&bytes, "", 0);
	if (message_of_text(type_find(callers_rows[service].type), text, &message_limits_usual, &message, &error)) {
		check(false, "'%s': %s", text, error.text);
		return 0;
	}
	message_add_bytes(&bytes, message);
	message_free(message);
	last_request++;
	bool asks = direct && !connection && service == CALLERS_STEP;
	if (!asks || !callers_answer(scene->callers, last_request, bytes.at, bytes.count))
		callers_take(scene->callers, service, connection, last_request, bytes.at, bytes.count);
	text_fini(&bytes);
	return last_request;
}

static bool is_step(uint64_t request, uint64_t step)
{
	const Troupe__Msgs__LockstepToClient *reply = await_reply(request);
	return reply && reply->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_STEP && reply->step->step == step &&
	       reply->step->time_ns == (int64_t)step * 1000000;
}

static bool is_ended(uint64_t request, bool badly, const char *why)
{
	const Troupe__Msgs__LockstepToClient *reply = await_reply(request);
	return reply && reply->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_ENDED &&
	       reply->ended->failed == badly && strstr(reply->ended->text, why);
}

static bool is_refused(uint64_t request, const char *why)
{
	const Troupe__Msgs__LockstepToClient *reply = await_reply(request);
	return reply && reply->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED &&
	       strstr(reply->refused->text, why);
}

static bool is_welcome(uint64_t request)
{
	const Troupe__Msgs__LockstepToClient *reply = await_reply(request);
	return reply && reply->what_case == TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_WELCOME &&
	       reply->welcome->step_s == 0.001 && !strcmp(reply->welcome->world, "w");
}

static uint64_t turn(struct scene *scene, uint64_t step, const char *rest)
{
	char text[512];
	(void)snprintf(text, sizeof text, "name: 'x' done {step: %d %s}", (int)step, rest);
	return say(scene, CALLERS_STEP, text);
}

/* Joins as x, with a period of two steps. */
static void join(struct scene *scene, const char *rest)
{
	char text[512];
	(void)snprintf(text, sizeof text, "version: 1 name: 'x' period_ns: 2000000 %s", rest);
	check(is_welcome(say(scene, CALLERS_JOIN, text)), "a welcome");
}

/* Answers from `step` on to the end; the last call waits for the end. */
static uint64_t go_on(struct scene *scene, uint64_t step)
{
	uint64_t request = 0;
	for (; step < STEPS; step += 2) {
		request = turn(scene, step, "");
		check(step + 2 == STEPS || is_step(request, step + 2), "step %d", (int)step + 2);
	}
	return request;
}

static void await_run(struct scene *scene, troupe_status status, const char *why)
{
	pthread_join(scene->thread, NULL);
	check(scene->status == status && strstr(scene->error.text, why), "status %d: '%s', expected %d: '%s'",
		scene->status, scene->error.text, status, why);
}

static void close_scene(struct scene *scene, bool badly, const char *why)
{
	callers_destroy(scene->callers, badly, why);
	troupe_server_destroy(scene->server);
	check(!twice, "%u replies too many, or not valid", twice);
	twice = 0;
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

static void test_good(void)
{
	struct scene scene;
	open_scene(&scene);
	join(&scene, "");
	uint64_t first = say(&scene, CALLERS_STEP, "name: 'x'");
	check(!has_reply(first), "no Step before the run");
	start(&scene);
	check(is_step(first, 0), "step 0");
	/* the reply was lost: the same Step again, also after an answer that has been taken */
	check(is_step(say(&scene, CALLERS_STEP, "name: 'x'"), 0), "step 0 once more");
	check(is_step(turn(&scene, 0, ""), 2), "step 2");
	check(is_step(turn(&scene, 0, ""), 2), "step 2 once more");
	uint64_t last = go_on(&scene, 2);
	await_run(&scene, TROUPE_OK, "");
	check(callers_joined(scene.callers) == 1 && !*warning, "%s", warning);
	check(!has_reply(last), "the last call waits");
	close_scene(&scene, false, "the run has ended");
	check(is_ended(last, false, "the run has ended"), "the end");
}

/* Both forms of messages drive the box to the same place; what is refused is told with the next Step. */
static double drive(bool as_text, const char *message)
{
	struct scene scene;
	struct troupe_model_state state = {.name = NULL};
	open_scene(&scene);
	join(&scene, as_text ? "text_form: true subscribe {topic: '/clock'}" : "subscribe {topic: '/clock'}");
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'");
	start(&scene);
	check(is_step(request, 0), "step 0");
	const Troupe__Msgs__LockstepStep *step = await_reply(request)->step;
	check(step->n_message == 1 && !strcmp(step->message[0]->topic, "/clock") &&
			(step->message[0]->data.len > 0) == !as_text &&
			!strncmp(step->message[0]->content, "header", 6) == as_text,
		"the clock: '%s'", step->n_message ? step->message[0]->content : "none");
	char text[256];
	(void)snprintf(text, sizeof text,
		"message {topic: '/model/box/cmd_vel' %s} message {topic: '/none' content: 'x: 1'} "
		"message {topic: '/model/box/cmd_vel' content: 'fly {}'}",
		message);
	request = turn(&scene, 0, text);
	check(is_step(request, 2), "step 2");
	step = await_reply(request)->step;
	uint32_t refused = 0;
	for (size_t i = 0; i < step->n_message; i++)
		refused += step->message[i]->refused && *step->message[i]->text;
	check(refused == 2, "%u messages are refused", refused);
	(void)go_on(&scene, 2);
	await_run(&scene, TROUPE_OK, "");
	check(troupe_get_model(scene.server, troupe_find_model(scene.server, 0, "box"), &state), "the box is there");
	close_scene(&scene, false, "the run has ended");
	return state.pose.x;
}

/* A topic that comes while the program is there can be used at once. */
static void test_new_topic(void)
{
	static const char create[] =
		"sdf: \"<sdf version='1.9'><model name='late'><pose>0 50 0 0 0 0</pose><link name='l'/>"
		"<plugin filename='x' name='gz::sim::systems::VelocityControl'/></model></sdf>\"";
	struct scene scene;
	struct troupe_error error;
	struct troupe_model_state state = {.name = NULL};
	open_scene(&scene);
	join(&scene, "");
	check(!troupe_server_command(scene.server, 1, "/world/w/create", create, &error), "%s", error.text);
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'");
	start(&scene);
	check(is_step(request, 0), "step 0");
	/* the topics are listed for this message, and again for those of steps 2 and 4 */
	request = turn(&scene, 0, "message {topic: '/model/late/cmd_vel' content: 'linear {x: 0.5}'}");
	check(is_step(request, 2), "step 2");
	check(await_reply(request)->step->n_message == 1, "a topic that is not there yet");
	for (uint64_t step = 2; step < 6; step += 2) {
		request = turn(&scene, step, "message {topic: '/model/late/cmd_vel' content: 'linear {x: 0.5}'}");
		check(is_step(request, step + 2), "step %d", (int)step + 2);
		check(await_reply(request)->step->n_message == 0, "%s",
			await_reply(request)->step->n_message ? await_reply(request)->step->message[0]->text : "");
	}
	(void)go_on(&scene, 6);
	await_run(&scene, TROUPE_OK, "");
	check(troupe_get_model(scene.server, troupe_find_model(scene.server, 0, "late"), &state) &&
			state.pose.x > 0.005,
		"the new model moves: %.17g", state.pose.x);
	close_scene(&scene, false, "the run has ended");
}

/* Late, or dead: the deadline passes. */
static void test_deadline(int failure)
{
	struct scene scene;
	char text[64];
	open_scene(&scene);
	(void)snprintf(text, sizeof text, "deadline_ns: 50000000 failure: %d", failure);
	join(&scene, text);
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'");
	start(&scene);
	check(is_step(request, 0), "step 0");
	await_run(&scene, failure ? TROUPE_EPEER : TROUPE_OK, failure ? "'x', step 0: no answer within 0.05 s" : "");
	check(failure || strstr(warning, "'x', step 0: no answer within 0.05 s; the run goes on"), "%s", warning);
	check(is_ended(turn(&scene, 0, ""), true, "no answer within 0.05 s"), "a late answer is told the end");
	check(is_refused(turn(&scene, 0, ""), "has not joined"), "the next one, that it is not there");
	close_scene(&scene, failure, "");
}

static void test_other_step(int failure)
{
	struct scene scene;
	open_scene(&scene);
	join(&scene, failure ? "failure: END" : "");
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'");
	start(&scene);
	check(is_step(request, 0), "step 0");
	request = turn(&scene, 7, "");
	await_run(&scene, failure ? TROUPE_EPEER : TROUPE_OK,
		failure ? "'x', step 0: it is done with step 7: expected step 0" : "");
	check(is_ended(request, true, "it is done with step 7: expected step 0"), "the client is told");
	close_scene(&scene, failure, "");
}

/* A transport with connections: a client is known only on its own one, and fails when that is lost. */
static void test_connection(int failure)
{
	struct scene scene;
	open_scene(&scene);
	connection = 1;
	join(&scene, failure ? "failure: END" : "");
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'");
	connection = 2;
	check(is_refused(say(&scene, CALLERS_JOIN, "version: 1 name: 'x'"), "has joined already"), "a second x");
	check(is_welcome(say(&scene, CALLERS_JOIN, "version: 1 name: 'y' period_ns: 2000000")), "another client");
	uint64_t other = say(&scene, CALLERS_STEP, "name: 'y'");
	start(&scene);
	check(is_step(request, 0) && is_step(other, 0), "step 0");
	check(is_refused(turn(&scene, 0, ""), "'x' has not joined"), "x's answer by another connection");
	check(is_refused(say(&scene, CALLERS_LEAVE, "name: 'x'"), "'x' has not joined"), "nor may it make x leave");
	check(is_ended(say(&scene, CALLERS_LEAVE, "name: 'y'"), false, "it left"), "y itself may");
	callers_lose(scene.callers, 2);
	connection = 1;
	request = turn(&scene, 0, "");
	check(is_step(request, 2), "x goes on: the other connection was lost");
	uint64_t waits = turn(&scene, 2, "");
	check(is_step(waits, 4), "step 4");
	callers_lose(scene.callers, 1);
	await_run(&scene, failure ? TROUPE_EPEER : TROUPE_OK, failure ? "'x', step 4: it closed its connection" : "");
	check(failure || strstr(warning, "'x', step 4: it closed its connection; the run goes on"), "%s", warning);
	check(is_refused(turn(&scene, 4, ""), "has not joined"), "nobody is told why: there is no connection");
	connection = 0;
	close_scene(&scene, failure, "");
}

static void test_twice(void)
{
	struct scene scene;
	open_scene(&scene);
	join(&scene, "");
	check(is_refused(say(&scene, CALLERS_JOIN, "version: 1 name: 'x'"), "has joined already"), "a second x");
	check(is_refused(say(&scene, CALLERS_JOIN, "version: 2 name: 'y'"), "version 2"), "another version");
	check(is_refused(say(&scene, CALLERS_JOIN, "version: 1 name: 'a b'"), "name 'a b': expected"), "a bad name");
	check(is_refused(say(&scene, CALLERS_JOIN, "version: 1 name: 'y' period_ns: 1"), "period"), "a bad period");
	check(is_refused(say(&scene, CALLERS_JOIN, "version: 1 name: 'y' world: 'v'"), "world 'v'"), "no such world");
	uint64_t first = say(&scene, CALLERS_STEP, "name: 'x'");
	uint64_t second = say(&scene, CALLERS_STEP, "name: 'x'");
	check(is_refused(first, "another call"), "of two calls the first");
	start(&scene);
	check(is_step(second, 0), "the first x goes on");
	(void)go_on(&scene, 0);
	await_run(&scene, TROUPE_OK, "");
	close_scene(&scene, false, "the run has ended");
}

static void test_leave(void)
{
	struct scene scene;
	open_scene(&scene);
	check(is_refused(say(&scene, CALLERS_LEAVE, "name: 'x'"), "'x' has not joined"), "leave without join");
	check(is_refused(say(&scene, CALLERS_STEP, "name: 'x'"), "'x' has not joined"), "step without join");
	join(&scene, "failure: END");
	check(is_ended(say(&scene, CALLERS_LEAVE, "name: 'x'"), false, "it left"), "before the run");
	join(&scene, "failure: END");
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'");
	start(&scene);
	check(is_step(request, 0), "step 0");
	check(is_step(turn(&scene, 0, ""), 2), "step 2");
	check(is_ended(say(&scene, CALLERS_LEAVE, "name: 'x'"), false, "it left"), "instead of an answer");
	await_run(&scene, TROUPE_OK, "");
	check(!*warning, "%s", warning);
	close_scene(&scene, false, "the run has ended");
}

/* The run fails while a call of another client waits. */
static void test_failed(void)
{
	struct scene scene;
	open_scene(&scene);
	join(&scene, "failure: END");
	check(is_welcome(say(&scene, CALLERS_JOIN, "version: 1 name: 'y' period_ns: 4000000")), "y");
	uint64_t request = say(&scene, CALLERS_STEP, "name: 'x'"), other = say(&scene, CALLERS_STEP, "name: 'y'");
	start(&scene);
	check(is_step(request, 0) && is_step(other, 0), "step 0");
	other = say(&scene, CALLERS_STEP, "name: 'y' done {}");
	request = turn(&scene, 1, "");
	await_run(&scene, TROUPE_EPEER, "'x', step 0");
	check(is_ended(request, true, "it is done with step 1"), "x is told");
	close_scene(&scene, true, scene.error.text);
	check(is_ended(other, true, "'x', step 0"), "y is told");
}

static uint64_t dice = 1;

/* Bytes that are no messages, or have one bit wrong: each request has one reply at most, and a run is as it was. */
static void test_hostile(void)
{
	struct scene scene;
	char bytes[64];
	static const char good[] = "\x08\x01\x12\x01x\x20\x80\x89\x7a";
	for (uint64_t round = amount(2, 20, 200); round--;) {
		open_scene(&scene);
		for (int i = 0; i < 150; i++) {
			size_t count = random_below(&dice, 2) ? sizeof good - 1 : random_below(&dice, sizeof bytes);
			for (size_t b = 0; b < count; b++)
				bytes[b] = count == sizeof good - 1 ? good[b] : (char)random_below(&dice, 256);
			if (count)
				bytes[random_below(&dice, (uint32_t)count)] ^= (char)(1 << random_below(&dice, 8));
			last_request++;
			if (!callers_answer(scene.callers, last_request, bytes, count))
				callers_take(scene.callers, (enum callers_service)random_below(&dice, CALLERS_SERVICES),
					0, last_request, bytes, count);
		}
		close_scene(&scene, false, "the run has ended");
		pthread_mutex_lock(&guard);
		for (uint64_t i = 0; i < REQUESTS_MAX; i++) {
			message_free(replies[i]);
			replies[i] = NULL;
		}
		last_request = 0;
		pthread_mutex_unlock(&guard);
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		direct = i;
		test_good();
		double x = drive(false, "data: '\\x12\\x09\\x11\\x00\\x00\\x00\\x00\\x00\\x00\\xe0\\x3f'");
		check(x > 0.009 && x == drive(true, "content: 'linear {x: 0.5}'"), "the box is at %.17g", x);
		for (int failure = 0; failure <= 1; failure++) {
			test_deadline(failure);
			test_other_step(failure);
			test_connection(failure);
		}
		test_new_topic();
		test_twice();
		test_leave();
		test_failed();
	}
	test_hostile();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
