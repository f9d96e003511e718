/* Runs eventcount, share and inproc in every order of their atomic operations (weave.h): no thread sleeps for ever when
 * the eventcount has been advanced, each part of a share is taken once, and a step that was published before the end is
 * delivered. The checker itself is checked first: it must find the errors of wrong code. */
#include "check.h"

#include "base/eventcount.h"
#include "net/inproc/inproc.h"
#include "run/work_queue.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "weave.h"

/* eventcount.h was included before the operations were replaced */
#define eventcount_read(eventcount) atomic_load_explicit(&(eventcount)->count, memory_order_acquire)

#include "../../src/base/eventcount.c"

#include "../../src/run/work_queue.c"

#include "../../src/net/inproc/inproc.c"

/* --- the checker itself ------------------------------------------------------------------------------------------- */

static _Atomic uint32_t flags[2];
static uint32_t seen[2];
static memory_order order_of_stores, order_of_loads;

static void set_up_flags(void)
{
	memset(flags, 0, sizeof flags);
	seen[0] = seen[1] = 9;
}

static void raise_and_look(void *arg)
{
	uint32_t self = *(const uint32_t *)arg;
	atomic_store_explicit(&flags[self], 1, order_of_stores);
	seen[self] = atomic_load_explicit(&flags[1 - self], order_of_loads);
}

static void write_both(void *arg)
{
	(void)arg;
	atomic_store_explicit(&flags[0], 1, memory_order_relaxed);
	atomic_store_explicit(&flags[1], 1, order_of_stores);
}

static void read_both(void *arg)
{
	(void)arg;
	seen[1] = atomic_load_explicit(&flags[1], order_of_loads);
	seen[0] = atomic_load_explicit(&flags[0], memory_order_relaxed);
}

static bool somebody_saw(void)
{
	return seen[0] || seen[1];
}

static bool nothing_before(void)
{
	return !seen[1] || seen[0];
}

static uint64_t run_flags(bool crossed, memory_order stores, memory_order loads)
{
	static const uint32_t numbers[] = {0, 1};
	order_of_stores = stores;
	order_of_loads = loads;
	weave_thread(crossed ? raise_and_look : write_both, (void *)(uintptr_t)&numbers[0]);
	weave_thread(crossed ? raise_and_look : read_both, (void *)(uintptr_t)&numbers[1]);
	return weave_all(set_up_flags, crossed ? somebody_saw : nothing_before);
}

static void test_checker(void)
{
	check(run_flags(true, memory_order_seq_cst, memory_order_seq_cst), "crossed flags: one must be seen");
	check(!run_flags(true, memory_order_release, memory_order_acquire), "crossed flags: release is not enough");
	check(!run_flags(true, memory_order_seq_cst, memory_order_acquire), "crossed flags: half of it is not enough");
	check(run_flags(false, memory_order_release, memory_order_acquire), "a message: it must be whole");
	check(!run_flags(false, memory_order_relaxed, memory_order_acquire), "a message: without a release");
	check(!run_flags(false, memory_order_release, memory_order_relaxed), "a message: without an acquire");
}

/* --- eventcount --------------------------------------------------------------------------------------------------- */

static struct eventcount the_eventcount;
static uint32_t returned, advances, waits;

static void set_up_eventcount(void)
{
	the_eventcount = (struct eventcount){0};
	returned = 0;
}

static void advance_it(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < advances; i++)
		eventcount_advance(&the_eventcount);
}

static void await_it(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < waits; i++)
		(void)eventcount_await(&the_eventcount, i, 0, 0);
	returned++;
}

static uint32_t waiters;

static bool all_returned(void)
{
	return returned == waiters && the_eventcount.sleepers == 0;
}

static void test_eventcount(uint32_t of_advancers, uint32_t of_waiters, uint32_t of_advances, uint32_t of_waits)
{
	advances = of_advances;
	waits = of_waits;
	waiters = of_waiters;
	for (uint32_t i = 0; i < of_advancers; i++)
		weave_thread(advance_it, NULL);
	for (uint32_t i = 0; i < of_waiters; i++)
		weave_thread(await_it, NULL);
	uint64_t runs = weave_all(set_up_eventcount, all_returned);
	check(runs, "eventcount: %u threads that advance it %u times, %u that wait %u times: a thread sleeps for ever",
		of_advancers, of_advances, of_waiters, of_waits);
	printf("eventcount, %u and %u: %llu orders\n", of_advancers, of_waiters, (unsigned long long)runs);
}

/* --- share -------------------------------------------------------------------------------------------------------- */

enum { PARTS = 3, ROUNDS = 2 };

static struct work_queue the_share;
static uint32_t times[ROUNDS][PARTS], round_now;

static void set_up_share(void)
{
	the_share = (struct work_queue){0};
	memset(times, 0, sizeof times);
	round_now = 0;
}

static void be_owner(void *arg)
{
	uint32_t part;
	(void)arg;
	for (round_now = 0; round_now < ROUNDS; round_now++) {
		work_queue_open(&the_share, PARTS, round_now + 1);
		while (work_queue_take(&the_share, &part)) {
			times[round_now][part]++;
			work_queue_done(&the_share);
		}
		while (!work_queue_is_done(&the_share))
			work_queue_wait(&the_share, 0);
	}
}

static void be_thief(void *arg)
{
	uint32_t part;
	(void)arg;
	for (int i = 0; i < PARTS; i++)
		if (work_queue_steal(&the_share, &part)) {
			times[round_now][part]++;
			work_queue_done(&the_share);
		}
}

static bool each_once(void)
{
	for (uint32_t r = 0; r < ROUNDS; r++)
		for (uint32_t i = 0; i < PARTS; i++)
			if (times[r][i] != 1)
				return false;
	return true;
}

static void test_share(void)
{
	weave_thread(be_owner, NULL);
	weave_thread(be_thief, NULL);
	uint64_t runs = weave_all(set_up_share, each_once);
	check(runs, "share: a part is not done once");
	printf("share: %llu orders\n", (unsigned long long)runs);
}

/* --- inproc ------------------------------------------------------------------------------------------------------- */

static struct transport *the_transport;
static uint32_t delivered, turns;

static void on_all_acked(void *ctx)
{
	(void)ctx;
	turns++;
}

static void set_up_transport(void)
{
	struct transport_options options = {
		.secondaries = 1, .threads = 1u << 20, .all_acked = on_all_acked}; /* waiting threads sleep at once */
	transport_inproc.destroy(the_transport);
	if (transport_inproc.create(&options, &the_transport, NULL))
		abort();
	delivered = turns = 0;
}

static void publish_and_close(void *arg)
{
	(void)arg;
	if (transport_inproc.publish(the_transport, (struct transport_message){.number = 7}))
		abort();
	transport_inproc.close(the_transport);
}

static void take_and_ack(void *arg)
{
	struct transport_message step;
	(void)arg;
	while (transport_inproc.wait(the_transport, 0, &step) == TROUPE_OK) {
		delivered++;
		if (transport_inproc.ack(the_transport, 0, step))
			abort();
	}
}

static bool is_delivered(void)
{
	return delivered == 1 && turns == 1;
}

static void test_inproc(void)
{
	weave_thread(publish_and_close, NULL);
	weave_thread(take_and_ack, NULL);
	uint64_t runs = weave_all(set_up_transport, is_delivered);
	check(runs, "inproc: a step that was published before the end is not delivered");
	printf("inproc: %llu orders\n", (unsigned long long)runs);
	transport_inproc.destroy(the_transport);
	the_transport = NULL;
}

/* Two secondaries, of which the second takes no part in the second step. The thread that acknowledges last acts as the
 * primary. */
static uint64_t taken[2][8];
static uint32_t taken_count[2];

static void publish_step(uint64_t number)
{
	if (transport_inproc.publish(the_transport, (struct transport_message){.number = number}))
		abort();
}

static void on_resized_acked(void *ctx)
{
	(void)ctx;
	switch (++turns) {
	case 1:
		transport_inproc.resize(the_transport, 1);
		publish_step(2);
		break;
	case 2:
		transport_inproc.resize(the_transport, 2);
		publish_step(3);
		break;
	default:
		transport_inproc.close(the_transport);
		break;
	}
}

static void set_up_resized(void)
{
	struct transport_options options = {.secondaries = 2, .threads = 1u << 20, .all_acked = on_resized_acked};
	transport_inproc.destroy(the_transport);
	if (transport_inproc.create(&options, &the_transport, NULL))
		abort();
	memset(taken_count, 0, sizeof taken_count);
	turns = 0;
}

static void take_all(uint32_t self)
{
	struct transport_message step;
	while (taken_count[self] < 8 && transport_inproc.wait(the_transport, self, &step) == TROUPE_OK) {
		taken[self][taken_count[self]++] = step.number;
		if (transport_inproc.ack(the_transport, self, step))
			return;
	}
}

static void begin_and_take_all(void *arg)
{
	(void)arg;
	publish_step(1);
	take_all(0);
}

static void take_as_second(void *arg)
{
	(void)arg;
	take_all(1);
}

static bool took_their_own(void)
{
	return taken_count[0] == 3 && taken[0][0] == 1 && taken[0][1] == 2 && taken[0][2] == 3 && taken_count[1] == 2 &&
	       taken[1][0] == 1 && taken[1][1] == 3;
}

static void test_resize(void)
{
	/* three steps of two threads have many operations */
	weave_switches_max = 2;
	weave_stale_max = 1;
	weave_thread(begin_and_take_all, NULL);
	weave_thread(take_as_second, NULL);
	uint64_t runs = weave_all(set_up_resized, took_their_own);
	check(runs, "inproc: a secondary takes a step in which it has no part, or one that is not there yet");
	printf("inproc, another number of secondaries: %llu orders\n", (unsigned long long)runs);
	transport_inproc.destroy(the_transport);
	the_transport = NULL;
	weave_switches_max = WEAVE_SWITCHES_MAX;
	weave_stale_max = WEAVE_STALE_MAX;
}

int main(void)
{
	test_checker();
	test_eventcount(1, 1, 1, 1);
	test_eventcount(1, 2, 1, 1);
	test_eventcount(2, 1, 1, 1);
	test_eventcount(1, 1, 2, 2);
	test_share();
	test_inproc();
	test_resize();
	for (uint32_t i = 0; i < WEAVE_THREADS_MAX; i++)
		free(weave.threads[i].stack);
	return check_totals();
}
