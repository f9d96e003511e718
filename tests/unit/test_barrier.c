/* Barrier clients as threads of a program: the bits do not depend on the time that clients take, on the number of
 * secondaries, or on which client answers first; and each kind of failure has one outcome. */
#include "library.h"

#include "base/clock.h"
#include "base/hash.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"

#include <troupe/barrier.h>

#include <stdatomic.h>

TestSuite(barrier, .timeout = 120);

#define S UINT64_C(1000000000)

static struct troupe_client *client_of(struct troupe_server *server)
{
	struct troupe_client_def def = {.depth = 256};
	struct troupe_client *client;
	must(troupe_client_create(server, &def, &client, &lib_error));
	return client;
}

static struct troupe_client *join(struct troupe_server *server, const char *name, uint64_t period_ns)
{
	struct troupe_client *client = client_of(server);
	struct troupe_join join = {.name = name, .period_ns = period_ns, .failure = TROUPE_FAILURE_ENDS};
	must(troupe_client_join(client, &join, &lib_error));
	return client;
}

static void drive(struct troupe_client *client, double forward, double turn)
{
	Gz__Msgs__Vector3d linear = GZ__MSGS__VECTOR3D__INIT, angular = GZ__MSGS__VECTOR3D__INIT;
	Gz__Msgs__Twist twist = GZ__MSGS__TWIST__INIT;
	struct text bytes = {0};
	linear.x = forward;
	angular.z = turn;
	twist.linear = &linear;
	twist.angular = &angular;
	message_add_bytes(&bytes, &twist.base);
	must(troupe_client_publish(
		client, NULL, "/model/cart/cmd_vel", "gz.msgs.Twist", bytes.at, bytes.count, NULL, &lib_error));
	text_fini(&bytes);
}

/* --- threads that control ----------------------------------------------------------------------------------------- */

struct controller {
	struct troupe_client *client;
	uint64_t seed; /* of its delays; 0: no delays */
	double sign;
	_Atomic bool over;
	uint64_t barriers, first_step, last_step, messages;
	troupe_status status; /* with which the client ended */
	struct troupe_error error;
	pthread_t thread;
};

static double where(const struct troupe_message *message)
{
	ProtobufCMessage *read;
	double x = 0;
	must(message_of_bytes(
		type_find(message->type), message->bytes, message->count, &message_limits_usual, &read, &lib_error));
	const Gz__Msgs__Odometry *odometry = (const Gz__Msgs__Odometry *)read;
	if (odometry->pose && odometry->pose->position)
		x = odometry->pose->position->x;
	message_free(read);
	return x;
}

/* Turns the cart by its position: so the commands depend on the bits of the messages. */
static void *control(void *arg)
{
	struct controller *controller = arg;
	struct troupe_barrier barrier = {0};
	struct troupe_message message;
	double x = 0;
	for (;;) {
		controller->status = troupe_client_next(controller->client, S / 50, &barrier, &controller->error);
		if (controller->status == TROUPE_ELIMIT && !atomic_load(&controller->over))
			continue;
		if (controller->status)
			return NULL;
		if (!controller->barriers++)
			controller->first_step = barrier.step;
		controller->last_step = barrier.step;
		while (troupe_client_take(controller->client, 0, &message)) {
			controller->messages++;
			x = where(&message);
		}
		uint64_t draw = hash_mix(controller->seed, barrier.step);
		if (controller->seed && draw % 5 == 0)
			clock_sleep_until_ns(clock_now_ns() + draw % 700000);
		drive(controller->client, 0.5 + 0.1 * x, controller->sign * (1 - x));
		controller->status = troupe_client_done(controller->client, barrier.step, &controller->error);
		if (controller->status)
			return NULL;
	}
}

static void start(struct controller *controller, struct troupe_client *client, uint64_t seed, double sign)
{
	*controller = (struct controller){.client = client, .seed = seed, .sign = sign};
	must(troupe_client_subscribe(client, "/model/cart/odometry", 0, &lib_error));
	cr_assert_eq(pthread_create(&controller->thread, NULL, control, controller), 0);
}

static void finish(struct controller *controller)
{
	atomic_store(&controller->over, true);
	(void)pthread_join(controller->thread, NULL);
	troupe_client_destroy(controller->client);
}

/* The hash at the end of a run with two controllers of one cart. seed: of the delays; with an odd seed the controllers
 * join in the other order. */
static uint64_t run_two(int secondaries, uint64_t seed, const char *record)
{
	struct troupe_server_def def = lib_def(lib_all, secondaries);
	struct controller a, b;
	def.record_path = record;
	struct troupe_server *server = lib_create(&def);
	struct troupe_client *second = seed % 2 ? join(server, "b", 4000000) : NULL;
	struct troupe_client *first = join(server, "a", 10000000);
	start(&a, first, seed, 1);
	start(&b, second ? second : join(server, "b", 4000000), seed ? seed + 100 : 0, -1);
	lib_run(server, 400);
	uint64_t hash = troupe_server_hash(server);
	finish(&a);
	finish(&b);
	cr_assert_eq(a.barriers, 40u, "%lu", (unsigned long)a.barriers);
	cr_assert_eq(b.barriers, 100u, "%lu", (unsigned long)b.barriers);
	cr_assert(a.first_step == 0 && a.last_step == 390);
	cr_assert(b.first_step == 0 && b.last_step == 396);
	cr_assert_eq(a.messages, b.messages);
	must(troupe_server_end_recording(server, &lib_error));
	lib_destroy(server);
	return hash;
}

Test(barrier, bits_do_not_depend_on_delays_order_or_secondaries)
{
	uint64_t first = run_two(0, 0, NULL);
	for (int secondaries = 0; secondaries <= 2; secondaries++)
		for (uint64_t seed = 1; seed <= 4; seed++)
			cr_assert_eq(run_two(secondaries, seed, NULL), first, "%d secondaries, seed %lu", secondaries,
				(unsigned long)seed);
}

Test(barrier, a_recording_repeats_the_run_without_the_clients)
{
	char path[] = "/tmp/troupe-barrier-XXXXXX";
	int file = mkstemp(path);
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_replay replay;
	cr_assert_geq(file, 0);
	(void)run_two(1, 3, path);
	def.resume_path = path;
	must(troupe_replay_run(&def, 0, &replay, &lib_error));
	cr_assert_eq(replay.end, TROUPE_REPLAY_WHOLE);
	cr_assert_eq(replay.same, 400u);
	(void)remove(path);
}

/* --- clients that answer on the step's thread --------------------------------------------------------------------- */

struct scripted {
	struct troupe_client *client;
	double speed;
	int slow;             /* the client answers after so many looks; -1: never */
	troupe_answer answer; /* its answer in the end */
	bool stops;           /* the first look stops the run */
	struct troupe_server *server;
	int begun, looks, outs;
	uint64_t steps[64];
	int64_t times[64];
	struct troupe_error why;
};

static void on_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct scripted *scripted = ctx;
	scripted->steps[scripted->begun % 64] = barrier->step;
	scripted->times[scripted->begun++ % 64] = barrier->time_ns;
	scripted->looks = 0;
}

static troupe_answer on_poll(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct scripted *scripted = ctx;
	if (scripted->stops)
		troupe_server_stop(scripted->server);
	scripted->stops = false;
	if (scripted->slow < 0 || scripted->looks++ < scripted->slow) {
		clock_sleep_until_ns(clock_now_ns() + MIN(wait_ns, UINT64_C(100000)));
		return TROUPE_ANSWER_NONE;
	}
	cr_assert_eq(barrier->step, scripted->steps[(scripted->begun - 1) % 64]);
	if (scripted->speed != 0)
		drive(scripted->client, scripted->speed, 0);
	(void)snprintf(error->text, sizeof error->text, "rubbish");
	return scripted->answer;
}

static void on_out(void *ctx, const struct troupe_error *why)
{
	struct scripted *scripted = ctx;
	scripted->outs++;
	scripted->why = *why;
}

static const struct troupe_barrier_ops scripted_ops = {.begin = on_begin, .poll = on_poll, .out = on_out};

static void join_scripted(struct scripted *scripted, struct troupe_server *server, const char *name, uint64_t period_ns,
	uint64_t deadline_ns, troupe_failure failure)
{
	struct troupe_join join = {name, NULL, period_ns, deadline_ns, failure, &scripted_ops, scripted};
	scripted->server = server;
	scripted->client = client_of(server);
	if (!scripted->answer)
		scripted->answer = TROUPE_ANSWER_DONE;
	must(troupe_client_join(scripted->client, &join, &lib_error));
}

/* Both clients command the cart in each step. The last command in the order of names holds, whichever client answers
 * first. */
static double speed_of_two(const char *slow_name, const char *quick_name)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct scripted slow = {.speed = 0.1, .slow = 3}, quick = {.speed = -0.2};
	join_scripted(&slow, server, slow_name, 0, 0, TROUPE_FAILURE_ENDS);
	join_scripted(&quick, server, quick_name, 0, 0, TROUPE_FAILURE_ENDS);
	lib_run(server, 500);
	double speed = lib_at(server, lib_model(server, "cart")).twist.linear.x;
	cr_assert_eq(slow.begun, 500);
	cr_assert_eq(quick.begun, 500);
	troupe_client_destroy(slow.client);
	troupe_client_destroy(quick.client);
	lib_destroy(server);
	return speed;
}

Test(barrier, commands_are_in_the_order_of_names)
{
	cr_assert_float_eq(speed_of_two("a", "b"), -0.2, 0.01);
	cr_assert_float_eq(speed_of_two("b", "a"), 0.1, 0.01);
}

static uint32_t warned;
static char warning[TROUPE_ERROR_TEXT_BYTES];

static void on_warning(void *ctx, const char *text)
{
	(void)ctx;
	warned++;
	(void)snprintf(warning, sizeof warning, "%s", text);
}

static struct troupe_server *server_that_warns(void)
{
	struct troupe_server_def def = lib_def(lib_all, 0);
	def.on_warning = on_warning;
	struct troupe_server *server = lib_create(&def);
	warned = 0;
	return server;
}

Test(barrier, a_client_that_fails_is_dropped_or_ends_the_run)
{
	static const struct {
		int slow;
		troupe_answer answer;
		const char *text;
	} cases[] = {{-1, TROUPE_ANSWER_DONE, "no answer within 0.05 s"}, {0, TROUPE_ANSWER_FAILED, "rubbish"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int failure = 0; failure <= 1; failure++) {
			struct troupe_server *server = server_that_warns();
			struct scripted bad = {.slow = cases[i].slow, .answer = cases[i].answer}, good = {.slow = 1};
			struct troupe_limits limits = {.iterations = 10};
			join_scripted(&bad, server, "bad", 0, 50000000, (troupe_failure)failure);
			join_scripted(&good, server, "good", 0, 0, TROUPE_FAILURE_ENDS);
			if (failure == TROUPE_FAILURE_ENDS) {
				refused(TROUPE_EPEER, troupe_server_run(server, &limits, &lib_error));
				cr_assert(strstr(lib_error.text, "'bad', step 0") &&
						  strstr(lib_error.text, cases[i].text),
					"%s", lib_error.text);
				cr_assert_eq(lib_steps(server), 0u);
			} else {
				lib_run(server, 10);
				cr_assert_eq(warned, 1u);
				cr_assert(strstr(warning, "'bad', step 0") && strstr(warning, cases[i].text) &&
						  strstr(warning, "goes on without it"),
					"%s", warning);
				cr_assert_eq(good.begun, 10);
			}
			cr_assert_eq(bad.outs, 1);
			cr_assert_eq(bad.begun, 1);
			troupe_client_destroy(bad.client);
			troupe_client_destroy(good.client);
			lib_destroy(server);
		}
}

Test(barrier, leaving_is_no_failure)
{
	struct troupe_server *server = server_that_warns();
	struct scripted scripted = {.answer = TROUPE_ANSWER_LEFT};
	join_scripted(&scripted, server, "x", 0, 0, TROUPE_FAILURE_ENDS);
	lib_run(server, 5);
	cr_assert(scripted.begun == 1 && scripted.outs == 1 && warned == 0);
	troupe_client_leave(scripted.client);
	scripted.answer = TROUPE_ANSWER_DONE;
	struct troupe_join again = {.name = "x", .ops = &scripted_ops, .ctx = &scripted};
	must(troupe_client_join(scripted.client, &again, &lib_error));
	lib_run(server, 10);
	cr_assert(scripted.begun == 6 && scripted.steps[1] == 5);
	troupe_client_leave(scripted.client);
	lib_run(server, 15);
	cr_assert_eq(scripted.begun, 6);
	troupe_client_destroy(scripted.client);
	lib_destroy(server);
}

Test(barrier, a_stop_leaves_the_barrier_open)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct scripted scripted = {.stops = true, .slow = 2};
	struct troupe_limits limits = {.iterations = 3};
	join_scripted(&scripted, server, "x", 0, 0, TROUPE_FAILURE_ENDS);
	must(troupe_server_run(server, &limits, &lib_error));
	cr_assert(scripted.begun == 1 && lib_steps(server) == 0);
	lib_run(server, 3);
	cr_assert(scripted.begun == 3 && scripted.steps[1] == 1 && scripted.steps[2] == 2);
	troupe_client_destroy(scripted.client);
	lib_destroy(server);
}

/* Paused steps have one barrier together; after a reset of time the multiples are counted from 0 again. */
Test(barrier, pauses_and_resets)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct scripted scripted = {.slow = 0};
	join_scripted(&scripted, server, "x", 4000000, 0, TROUPE_FAILURE_ENDS);
	lib_text(server, 6, "/world/w/control", "pause: true");
	lib_text(server, 20, "/world/w/control", "pause: false");
	lib_text(server, 23, "/world/w/control", "reset {all: true}");
	lib_run(server, 34);
	static const uint64_t steps[] = {0, 4, 22, 27, 31};
	static const int64_t times[] = {0, 4000000, 8000000, 4000000, 8000000};
	for (int i = 0; i < scripted.begun && i < 5; i++)
		cr_assert(scripted.steps[i] == steps[i] && scripted.times[i] == times[i],
			"barrier %d: step %lu, %ld ns", i, (unsigned long)scripted.steps[i], (long)scripted.times[i]);
	cr_assert_eq(scripted.begun, 5, "%d", scripted.begun);
	troupe_client_destroy(scripted.client);
	lib_destroy(server);
}

/* When the steps are longer than the period was chosen for, a barrier is in the first step at or after each multiple of
 * it. */
Test(barrier, steps_that_do_not_fit_the_period)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct scripted scripted = {.slow = 0};
	join_scripted(&scripted, server, "x", 4000000, 0, TROUPE_FAILURE_ENDS);
	lib_text(server, 0, "/world/w/set_physics", "max_step_size: 0.003");
	lib_run(server, 9);
	static const uint64_t steps[] = {0, 2, 3, 4, 6, 7, 8};
	for (int i = 0; i < scripted.begun && i < 7; i++)
		cr_assert(scripted.steps[i] == steps[i] && scripted.times[i] == (int64_t)steps[i] * 3000000,
			"barrier %d: step %lu, %ld ns", i, (unsigned long)scripted.steps[i], (long)scripted.times[i]);
	cr_assert_eq(scripted.begun, 7, "%d", scripted.begun);
	troupe_client_destroy(scripted.client);
	lib_destroy(server);
}

/* --- misuse ------------------------------------------------------------------------------------------------------- */

Test(barrier, joining_is_checked)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct troupe_client *client = client_of(server), *other = join(server, "taken", 0);
	struct troupe_barrier barrier;
	static const struct troupe_barrier_ops holed = {.begin = on_begin, .out = on_out};
	static const struct {
		troupe_status status;
		struct troupe_join join;
	} cases[] = {
		{TROUPE_EINVAL, {.name = NULL}},
		{TROUPE_EINVAL, {.name = ""}},
		{TROUPE_EINVAL, {.name = "a b"}},
		{TROUPE_EINVAL, {.name = "0123456789012345678901234567890123456789012345678901234567890123"}},
		{TROUPE_ECOMMAND, {.name = "taken"}},
		{TROUPE_ECOMMAND, {.name = "x", .world = "nowhere"}},
		{TROUPE_EINVAL, {.name = "x", .period_ns = 1500000}},
		{TROUPE_EINVAL, {.name = "x", .period_ns = UINT64_MAX}},
		{TROUPE_EINVAL, {.name = "x", .deadline_ns = UINT64_MAX}},
		{TROUPE_EINVAL, {.name = "x", .failure = (troupe_failure)2}},
		{TROUPE_EINVAL, {.name = "x", .ops = &holed}},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refused(cases[i].status, troupe_client_join(client, &cases[i].join, &lib_error));
	refused(TROUPE_EINVAL, troupe_client_next(client, 0, &barrier, &lib_error));
	refused(TROUPE_EINVAL, troupe_client_done(client, 0, &lib_error));
	refused(TROUPE_EINVAL, troupe_client_join(other, &(struct troupe_join){.name = "y"}, &lib_error));
	refused(TROUPE_ELIMIT, troupe_client_next(other, 0, &barrier, &lib_error));
	refused(TROUPE_EINVAL, troupe_client_done(other, 0, &lib_error));
	troupe_client_leave(client);
	const char *const names[] = {"taken", "absent", NULL};
	refused(TROUPE_EPEER, troupe_server_await(server, names, 30000000, &lib_error));
	cr_assert(strstr(lib_error.text, "'absent'"));
	const char *const here[] = {"taken", NULL};
	must(troupe_server_await(server, here, 1, &lib_error));
	troupe_client_destroy(client);
	troupe_client_destroy(other);
	lib_destroy(server);
}

/* A program knows the name of a world from its file or from its topics. */
Test(barrier, names_of_worlds)
{
	static const char text[] = LIB_SDF(LIB_WORLD("w", "") LIB_WORLD("my @world", LIB_ALL));
	static const char *const names[] = {"my @world", "my_world"};
	struct troupe_server *server = lib_server(text, 0);
	struct troupe_client *client = client_of(server);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		must(troupe_client_join(client, &(struct troupe_join){.name = "x", .world = names[i]}, &lib_error));
		troupe_client_leave(client);
	}
	refused(TROUPE_ECOMMAND,
		troupe_client_join(client, &(struct troupe_join){.name = "x", .world = "my world"}, &lib_error));
	troupe_client_destroy(client);
	lib_destroy(server);
}

static void *run_ten(void *server)
{
	lib_run(server, 10);
	return NULL;
}

Test(barrier, an_answer_is_for_its_own_step)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct troupe_client *client = join(server, "x", 0);
	struct troupe_barrier barrier = {.step = 99};
	pthread_t thread;
	cr_assert_eq(pthread_create(&thread, NULL, run_ten, server), 0);
	for (uint64_t k = 0; k < 10; k++) {
		must(troupe_client_next(client, 20 * S, &barrier, &lib_error));
		cr_assert_eq(barrier.step, k);
		refused(TROUPE_EINVAL, troupe_client_done(client, k + 1, &lib_error));
		must(troupe_client_next(client, 0, &barrier, &lib_error)); /* the client goes on */
		cr_assert_eq(barrier.step, k);
		if (k == 9)
			troupe_client_destroy(client); /* in the middle of a barrier */
		else
			must(troupe_client_done(client, k, &lib_error));
	}
	pthread_join(thread, NULL);
	cr_assert_eq(lib_steps(server), 10u);
	lib_destroy(server);
}

/* The run can stand still for so long: who asks for more than the server allows does not join. */
Test(barrier, the_server_limits_deadlines)
{
	struct troupe_server_def def = lib_def(lib_all, 0);
	def.barrier_deadline_s = 60;
	struct troupe_server *server = lib_create(&def);
	struct troupe_client *client = client_of(server);
	struct troupe_join join = {.name = "slow", .deadline_ns = UINT64_C(61000000000)};
	refused(TROUPE_EINVAL, troupe_client_join(client, &join, &lib_error));
	cr_assert(strstr(lib_error.text, "a deadline of 61 s: expected at most 60"), "%s", lib_error.text);
	join.deadline_ns = UINT64_MAX;
	refused(TROUPE_EINVAL, troupe_client_join(client, &join, &lib_error));
	join.deadline_ns = UINT64_C(60000000000);
	must(troupe_client_join(client, &join, &lib_error));
	troupe_client_destroy(client);
	lib_destroy(server);
}

Test(barrier, a_thread_that_is_late_is_told)
{
	struct troupe_server *server = server_that_warns();
	struct troupe_client *client = client_of(server);
	struct troupe_join def = {.name = "late", .deadline_ns = 1000000};
	struct troupe_barrier barrier;
	must(troupe_client_join(client, &def, &lib_error));
	drive(client, 1, 0); /* waits for a barrier that the client does not answer */
	lib_run(server, 5);
	cr_assert(warned == 1 && strstr(warning, "'late'"));
	refused(TROUPE_EPEER, troupe_client_next(client, 0, &barrier, &lib_error));
	refused(TROUPE_EPEER, troupe_client_done(client, 0, &lib_error));
	cr_assert(strstr(lib_error.text, "no answer within 0.001 s"));
	cr_assert_float_eq(lib_at(server, lib_model(server, "cart")).twist.linear.x, 0, 1e-3);
	troupe_client_destroy(client);
	lib_destroy(server);
}
