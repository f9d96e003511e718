/* Fibers and the lanes that worlds share (base/fiber.h, physics/shared_lanes.h). Fibers with random islands of some
 * shapes solve them in random order; each result is that of the kernel alone, bit for bit, and there are batches that
 * several of them filled. */
#include "config.h"
#include "../random.h"
#include "base/fiber.h"
#include "physics/internal.h"
#include "physics/shared_lanes.h"
#include "server/internal.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <troupe/client.h>
#include <troupe/inbox.h>

TestSuite(shared_lanes, .timeout = 60);

/* --- fibers ------------------------------------------------------------------------------------------------------- */

struct walk {
	char *trace;
	char name;
	int turns;
};

static void walk_deeper(struct walk *walk, int depth)
{
	char here[1000];
	memset(here, walk->name, sizeof here);
	if (depth) {
		walk_deeper(walk, depth - 1);
	} else {
		fiber_yield();
	}
	for (size_t i = 0; i < sizeof here; i++)
		cr_assert_eq(here[i], walk->name, "a stack is kept while others run");
}

static void walk_on(void *ctx)
{
	struct walk *walk = ctx;
	for (int i = 0; i < walk->turns; i++) {
		walk->trace[strlen(walk->trace)] = walk->name;
		walk_deeper(walk, i);
	}
}

Test(shared_lanes, fibers_go_on_where_they_yielded)
{
	char trace[100] = "";
	struct walk a = {trace, 'a', 2}, b = {trace, 'b', 3}, c = {trace, 'c', 1};
	struct fiber *one = fiber_create(), *two = fiber_create();
	cr_assert(one && two);
	cr_assert(!fiber_resume(one, walk_on, &a) && !fiber_resume(two, walk_on, &b));
	cr_assert(!fiber_resume(one, NULL, NULL) && !fiber_resume(two, NULL, NULL));
	cr_assert(fiber_resume(one, NULL, NULL), "a has ended");
	cr_assert_not(fiber_resume(one, walk_on, &c), "a fiber begins anew");
	cr_assert(!fiber_resume(two, NULL, NULL) && fiber_resume(two, NULL, NULL) && fiber_resume(one, NULL, NULL));
	cr_assert_str_eq(trace, "ababcb");
	fiber_destroy(one);
	fiber_destroy(two);
	fiber_destroy(NULL);
}

static void jump_within(void *ctx)
{
	jmp_buf here;
	volatile int *jumps = *(volatile int **)ctx;
	if (setjmp(here) < 3) {
		fiber_yield();
		++*jumps;
		longjmp(here, *jumps);
	}
}

Test(shared_lanes, a_fiber_may_jump_within_itself)
{
	volatile int jumps = 0, *at = &jumps;
	struct fiber *fiber = fiber_create();
	for (int i = 0; i < 3; i++)
		cr_assert_not(fiber_resume(fiber, jump_within, &at));
	cr_assert(fiber_resume(fiber, NULL, NULL));
	cr_assert_eq(jumps, 3);
	fiber_destroy(fiber);
}

static void look_at_thread(void *ctx)
{
	sigset_t *seen = ctx;
	cr_assert_not(pthread_sigmask(SIG_BLOCK, NULL, seen));
}

/* A fiber that begins later than it was made does not bring back the signal mask and the rounding of that time. */
Test(shared_lanes, signal_mask_and_rounding_are_the_threads)
{
	struct fiber *fiber = fiber_create();
	sigset_t blocked, inside, after;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	cr_assert_not(pthread_sigmask(SIG_BLOCK, &blocked, NULL));
	cr_assert_not(fesetround(FE_UPWARD));
	cr_assert(fiber_resume(fiber, look_at_thread, &inside));
	int rounding = fegetround();
	cr_assert_not(fesetround(FE_TONEAREST));
	cr_assert_eq(rounding, FE_UPWARD);
	cr_assert_not(pthread_sigmask(SIG_UNBLOCK, &blocked, &after));
	cr_assert(sigismember(&inside, SIGUSR1) && sigismember(&after, SIGUSR1));
	cr_assert(fiber_resume(fiber, look_at_thread, &inside));
	cr_assert_not(sigismember(&inside, SIGUSR1), "as it is now");
	fiber_destroy(fiber);
}

/* --- lanes that are shared ---------------------------------------------------------------------------------------- */

enum { SHAPES = 3, ROUNDS = 40, FIELDS = 4096 };

/* Free bodies, the first of which lies on the ground at so many places. */
static struct lanes_shape *shape_of(uint32_t bodies, uint32_t slots)
{
	struct lanes_key key;
	lanes_key_begin(&key);
	for (uint32_t i = 0; i < bodies; i++)
		lanes_key_add_body(&key, &(struct lanes_key_body){LANES_GROUND, LANES_FREE, 0});
	for (uint32_t i = 0; i < slots; i++)
		lanes_key_add_slot(&key, &(struct lanes_key_slot){0, LANES_GROUND, false});
	cr_assert(lanes_key_end(&key));
	struct lanes_shape *shape = lanes_shape_create(&key);
	cr_assert(shape && shape->batch_count <= FIELDS);
	return shape;
}

static void put(double *at, uint32_t stride, uint32_t field, double value)
{
	at[field * stride] = value;
}

/* An island in one lane of a batch. */
static void fill(const struct lanes_shape *shape, uint64_t *dice, double *at, uint32_t stride)
{
	for (uint32_t field = 0; field < shape->in_count; field++)
		put(at, stride, field, 0);
	for (uint32_t b = 0; b < (uint32_t)shape->body_count; b++) {
		uint32_t body = b * LANES_BODY_FIELDS;
		for (uint32_t field = LANES_P; field < LANES_MASS; field++)
			put(at, stride, body + field, random_between(dice, -1, 1));
		put(at, stride, body + LANES_MASS, random_between(dice, 1, 2));
		for (uint32_t i = 0; i < 4; i++)
			put(at, stride, body + LANES_Q + i, i == 0);
		for (uint32_t i = 0; i < 6; i++)
			put(at, stride, body + LANES_INERTIA + i, i == 0 || i == 3 || i == 5);
	}
	for (uint32_t s = 0; s < (uint32_t)shape->slot_count; s++) {
		const double normal[] = {0, 0, 1}, first[] = {1, 0, 0};
		uint32_t slot = shape->slot_at[s];
		for (uint32_t i = 0; i < 3; i++) {
			put(at, stride, slot + LANES_AT + i, random_between(dice, -1, 1));
			put(at, stride, slot + LANES_NORMAL + i, normal[i]);
			put(at, stride, slot + LANES_FIRST + i, first[i]);
		}
		put(at, stride, slot + LANES_PUSH_SOFT, 1e-6);
		put(at, stride, slot + LANES_MU, 0.5);
		put(at, stride, slot + LANES_MU + 1, 0.5);
		put(at, stride, slot + LANES_SLIP, 1e-6);
		put(at, stride, slot + LANES_SLIP + 1, 1e-6);
	}
}

static void *memory_of(size_t bytes)
{
	void *at = NULL;
	cr_assert_not(posix_memalign(&at, 64, bytes));
	memset(at, 0, bytes);
	return at;
}

/* Compares an island's result with that of the kernel of two lanes, in which it is alone. */
static void compare(const struct lanes_shape *shape, const struct lanes_step *step, const double *in,
	uint32_t in_stride, const double *out, uint32_t out_stride)
{
	double *batch = memory_of(2 * shape->batch_count * sizeof *batch);
	double *work = memory_of(2 * shape->work_count * sizeof *work);
	for (uint32_t field = 0; field < shape->in_count; field++)
		batch[2 * field] = batch[2 * field + 1] = in[field * in_stride];
	lanes_kernel_of(LANES_LEAST)->step(shape, step, batch, work);
	for (uint32_t b = 0; b < (uint32_t)shape->body_count; b++)
		for (uint32_t f = b * LANES_BODY_FIELDS; f < b * LANES_BODY_FIELDS + LANES_FORCE; f++)
			cr_assert_not(memcmp(&batch[2 * f], &out[f * out_stride], sizeof *out), "body %u, field %u", b,
				f % LANES_BODY_FIELDS);
	free(batch);
	free(work);
}

struct crowd {
	uint64_t dice;
	uint32_t at; /* fibers that have begun */
	uint32_t wide, narrow, outside;
	pthread_t thread;
};

static void stay_outside(void *ctx)
{
	struct crowd *crowd = ctx;
	pthread_attr_t attr;
	void *low;
	size_t bytes;
	char here;
	crowd->outside++;
	cr_assert_not(shared_lanes_pay(1));
	cr_assert_not(pthread_getattr_np(pthread_self(), &attr));
	cr_assert_not(pthread_attr_getstack(&attr, &low, &bytes));
	cr_assert(&here > (char *)low && &here < (char *)low + bytes, "the stack is the thread's");
	pthread_attr_destroy(&attr);
}

/* What is thread-local is this fiber's after each wait. */
static void check_kept(uint64_t seed)
{
	int drawn = ode_random(1 << 20);
	ode_set_random(seed, false);
	cr_assert_eq(drawn, ode_random(1 << 20), "random numbers are those of another fiber");
}

static void solve_some(void *ctx)
{
	struct crowd *crowd = ctx;
	uint64_t dice = random_bits(&crowd->dice), seed = dice;
	struct lanes_shape *shapes[SHAPES] = {shape_of(1, 0), shape_of(1, 3), shape_of(2, 1)};
	ode_set_random(seed, false);
	crowd->at++;
	cr_assert_not(shared_lanes_pay(lanes_kernel_best()->lanes), "they fill the lanes themselves");
	for (uint32_t round = 0, rounds = random_below(&dice, ROUNDS); round < rounds; round++) {
		const struct lanes_shape *shape = shapes[random_below(&dice, 10) ? 0 : random_below(&dice, SHAPES)];
		const struct lanes_step step = {random_below(&dice, 10) ? 0.001 : 0.002, 0.2, 40};
		uint32_t count = 1 + random_below(&dice, 3), stride = 4;
		double *in = memory_of(stride * shape->in_count * sizeof *in);
		for (uint32_t i = 0; i < count; i++)
			fill(shape, &dice, in + i, stride);
		if (!random_below(&dice, 8))
			shared_lanes_outside(stay_outside, crowd);
		if (shared_lanes_pay(count)) {
			struct shared_result result =
				shared_lanes_step(&(struct shared_islands){shape, in, stride, count}, &step);
			check_kept(seed);
			for (uint32_t i = 0; i < count; i++)
				compare(shape, &step, in + i, stride, result.at + i, result.stride);
			if (result.stride == lanes_kernel_best()->lanes)
				crowd->wide++;
			else
				crowd->narrow++;
			shared_lanes_take(result.batch);
		}
		free(in);
	}
	for (uint32_t i = 0; i < SHAPES; i++)
		lanes_shape_destroy(shapes[i]);
}

Test(shared_lanes, results_are_those_of_the_kernel_alone)
{
	struct shared_lanes *shared = shared_lanes_create();
	struct crowd crowd = {.dice = 7};
	cr_assert_not_null(shared);
	for (uint32_t run = 0; run < 20; run++) {
		uint32_t fibers = 1 + random_below(&crowd.dice, SHARED_LANES_FIBERS);
		crowd.at = 0;
		shared_lanes_run(shared, fibers, solve_some, &crowd);
		cr_assert_eq(crowd.at, fibers);
		cr_assert_not(shared_lanes_pay(1));
	}
	cr_assert(crowd.wide > 100 && crowd.outside > 50, "%u wide, %u outside", crowd.wide, crowd.outside);
	if (lanes_kernel_best()->lanes > LANES_LEAST)
		cr_assert(crowd.narrow > 10, "%u narrow", crowd.narrow);
	shared_lanes_destroy(shared);
	shared_lanes_destroy(NULL);
}

static void count_one(void *ctx)
{
	++*(int *)ctx;
}

Test(shared_lanes, outside_of_fibers_a_call_is_a_call)
{
	int calls = 0;
	shared_lanes_outside(count_one, &calls);
	cr_assert_eq(calls, 1);
	cr_assert_not(shared_lanes_pay(1));
}

/* --- whose worlds share ------------------------------------------------------------------------------------------- */

static void on_reply_of_program(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx, (void)reply;
}

static void join(struct troupe_server *server, struct troupe_client **ret_client)
{
	const struct troupe_client_def def = {.depth = 10};
	struct troupe_error error;
	cr_assert_not(troupe_client_create(server, &def, ret_client, &error), "%s", error.text);
}

static bool is_plain(struct troupe_server_def def)
{
	struct troupe_server *server = NULL;
	struct troupe_error error;
	def.world_path = "w.sdf";
	def.world_text = "<sdf version='1.9'><world name='w'><model name='m'><link name='l'/></model></world></sdf>";
	cr_assert_not(troupe_server_create(&def, &server, &error), "%s", error.text);
	bool plain = server_is_plain(server);
	struct troupe_client *client = NULL;
	join(server, &client);
	cr_assert_not(server_is_plain(server), "a client has callbacks, too");
	troupe_client_destroy(client);
	cr_assert_eq(server_is_plain(server), plain);
	troupe_server_destroy(server);
	return plain;
}

/* Those of Python have the callbacks of an inbox. */
Test(shared_lanes, worlds_share_in_which_no_code_of_others_runs)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.secondaries = 0;
	cr_assert(is_plain(def));
	def.on_reply = troupe_inbox_put_reply;
	def.on_warning = troupe_inbox_put_warning;
	cr_assert(is_plain(def));
	def.on_reply = on_reply_of_program;
	cr_assert_not(is_plain(def), "a program's callback");
	def.on_reply = NULL;
	def.secondaries = 1;
	cr_assert_not(is_plain(def), "a thread of its own");
	def.secondaries = 0;
	def.costs_path = "/dev/null";
	cr_assert_not(is_plain(def), "times of models");
}
