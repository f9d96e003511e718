/* The memory orders of the three modules by which threads hand work over: eventcount, share, inproc. On x86 a weaker
 * order is compiled to the same instructions, so no test of values can notice it. ThreadSanitizer can. Here only
 * the module synchronises plain data, in each way in which it can be used, so that an order that is too weak is a data
 * race. `orders` weakens the orders one by one and expects this program to fail. Without ThreadSanitizer this program
 * checks values.
 *
 * A race shows only where the weakened operation is the only order between the two threads. In most interleavings some
 * other operation orders them as well. So each order has a case in which a gate of relaxed atomics, which order
 * nothing, forces the interleaving that needs it; it does not depend on the load of the machine. The other cases vary.
 *
 * ThreadSanitizer cannot see an order between two variables: test_weave checks such orders. */
#include "check.h"

#include "base/eventcount.h"
#include "net/inproc/inproc.h"
#include "run/work_queue.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 8, RUNNERS_MAX = 3 };

static void start(pthread_t *thread, void *(*function)(void *arg), void *arg)
{
	if (pthread_create(thread, NULL, function, arg))
		abort();
}

static void write_words(uint64_t *words, uint64_t seed)
{
	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = seed * WORDS + i;
}

static uint64_t wrong_words(const uint64_t *words, uint64_t seed)
{
	uint64_t wrong = 0;
	for (uint64_t i = 0; i < WORDS; i++)
		wrong += words[i] != seed * WORDS + i;
	return wrong;
}

/* Lets other threads run first for some time, another time for each number. */
static void dawdle(uint64_t number)
{
	for (uint64_t i = number * 7 % 5; i > 0; i--)
		sched_yield();
}

/* --- gates -------------------------------------------------------------------------------------------------------- */

static bool is_set(_Atomic bool *flag)
{
	return atomic_load_explicit(flag, memory_order_relaxed);
}

static void set(_Atomic bool *flag, bool value)
{
	atomic_store_explicit(flag, value, memory_order_relaxed);
}

static void wait_until_set(_Atomic bool *flag)
{
	while (!is_set(flag))
		sched_yield();
}

/* A thread that comes to a closed gate says so, and waits until another thread opens it. */
struct gate {
	_Atomic bool closed, reached;
};

static void gate_close(struct gate *gate)
{
	set(&gate->reached, false);
	set(&gate->closed, true);
}

static void gate_pass(struct gate *gate)
{
	set(&gate->reached, true);
	while (is_set(&gate->closed))
		sched_yield();
}

static struct gate advancing; /* before eventcount_advance(), for any thread */
static _Atomic bool sleeps;   /* set when a thread is about to sleep in eventcount_await() */

/* The linker puts this function in the place of eventcount_advance(). Data are often ready before the eventcount is
 * advanced, and a thread that comes in between must not need the eventcount. So this time is made longer: by the gate,
 * and at times in the other cases. */
void __real_eventcount_advance(struct eventcount *eventcount);
void __wrap_eventcount_advance(struct eventcount *eventcount);
void __wrap_eventcount_advance(struct eventcount *eventcount)
{
	static _Atomic uint32_t calls;
	uint32_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	gate_pass(&advancing);
	if (call % 3 == 0)
		(void)usleep(call % 200);
	__real_eventcount_advance(eventcount);
}

/* In the place of syscall(), by which eventcount_await() sleeps: it has read the count before. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, void *word, long operation, long value, const void *timeout, void *other, long last);
long __wrap_syscall(long number, void *word, long operation, long value, const void *timeout, void *other, long last)
{
	if (number == SYS_futex && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT)
		set(&sleeps, true);
	return __real_syscall(number, word, operation, value, timeout, other, last);
}

/* --- eventcount --------------------------------------------------------------------------------------------------- */

typedef void wait_fn(struct eventcount *eventcount, uint32_t seen);

static void wait_by_reading(struct eventcount *eventcount, uint32_t seen)
{
	while (eventcount_read(eventcount) == seen)
		sched_yield();
}

/* Spins until the eventcount has changed; sleeping is the other way to wait. */
static void wait_by_spinning(struct eventcount *eventcount, uint32_t seen)
{
	(void)eventcount_await(eventcount, seen, UINT32_MAX / 64, 0);
}

static void wait_by_sleeping(struct eventcount *eventcount, uint32_t seen)
{
	(void)eventcount_await(eventcount, seen, 0, 0);
}

static void wait_for_a_while(struct eventcount *eventcount, uint32_t seen)
{
	while (eventcount_await(eventcount, seen, 0, 1000000) == seen)
		;
}

struct exchange {
	struct eventcount eventcounts[2]; /* advanced by each side */
	uint64_t words[2][WORDS];
	uint64_t rounds, wrong[2];
	wait_fn *wait;
};

/* The two sides take turns: one writes and advances; the other waits, reads, writes and advances. */
static void write_and_advance(struct exchange *exchange, int side, uint64_t round)
{
	write_words(exchange->words[side], 2 * round + (uint64_t)side);
	eventcount_advance(&exchange->eventcounts[side]);
}

static void wait_and_read(struct exchange *exchange, int side, uint64_t round)
{
	exchange->wait(&exchange->eventcounts[1 - side], (uint32_t)round);
	exchange->wrong[side] += wrong_words(exchange->words[1 - side], 2 * round + (uint64_t)(1 - side));
}

static void *be_other_side(void *arg)
{
	struct exchange *exchange = arg;
	for (uint64_t round = 0; round < exchange->rounds; round++) {
		wait_and_read(exchange, 1, round);
		write_and_advance(exchange, 1, round);
	}
	return NULL;
}

static void hand_over_by_eventcount(const char *what, wait_fn *wait, uint64_t rounds)
{
	struct exchange exchange = {.rounds = rounds, .wait = wait};
	pthread_t thread;
	start(&thread, be_other_side, &exchange);
	for (uint64_t round = 0; round < rounds; round++) {
		write_and_advance(&exchange, 0, round);
		wait_and_read(&exchange, 0, round);
	}
	pthread_join(thread, NULL);
	check(!exchange.wrong[0] && !exchange.wrong[1], "eventcount, %s: other words arrive", what);
}

/* The count changes when the waiter has read it and goes to sleep, so it reads it once more. */
struct nap {
	struct eventcount eventcount;
	uint64_t words[WORDS];
};

static void *advance_in_the_nap(void *arg)
{
	struct nap *nap = arg;
	write_words(nap->words, 1);
	wait_until_set(&sleeps);
	eventcount_advance(&nap->eventcount);
	return NULL;
}

static void hand_over_in_a_nap(const char *what, uint64_t timeout_ns)
{
	struct nap nap = {0};
	pthread_t thread;
	set(&sleeps, false);
	start(&thread, advance_in_the_nap, &nap);
	bool woken = eventcount_await(&nap.eventcount, 0, 0, timeout_ns) == 1;
	uint64_t wrong = woken ? wrong_words(nap.words, 1) : 0;
	pthread_join(thread, NULL);
	check(woken && !wrong, "eventcount, %s: other words arrive", what);
}

/* --- share -------------------------------------------------------------------------------------------------------- */

enum { PARTS = 12 };

struct shared_work {
	struct work_queue share;
	uint64_t given[PARTS][WORDS], made[PARTS][WORDS];
	uint64_t rounds, wrong, stolen;
	bool by_waiting;
	_Atomic bool has_stolen, ended;
};

/* Reads the data that the owner wrote before it opened the round, and writes data that the owner reads when all parts
 * are done. The seed is a part of the data. */
static void do_part(struct shared_work *work, uint32_t part, uint64_t *wrong)
{
	uint64_t seed = work->given[part][0] / WORDS;
	*wrong += wrong_words(work->given[part], seed);
	write_words(work->made[part], seed + 1);
	work_queue_done(&work->share);
}

static void *steal(void *arg)
{
	struct shared_work *work = arg;
	uint64_t wrong = 0, stolen = 0;
	while (!is_set(&work->ended)) {
		uint32_t part;
		if (work_queue_steal(&work->share, &part)) {
			set(&work->has_stolen, true);
			do_part(work, part, &wrong);
			stolen++;
		} else {
			sched_yield();
		}
	}
	work->stolen = stolen; /* read after this thread was joined */
	work->wrong += wrong;
	return NULL;
}

static void own_round(struct shared_work *work, uint64_t round, uint64_t *wrong)
{
	uint32_t part;
	for (uint32_t i = 0; i < PARTS; i++)
		write_words(work->given[i], round * PARTS + i);
	work_queue_open(&work->share, PARTS, (uint32_t)round + 1);
	if (round == 0)
		wait_until_set(
			&work->has_stolen); /* no part was done before: only work_queue_open() orders the words */
	dawdle(round);
	while (work_queue_take(&work->share, &part)) {
		do_part(work, part, wrong);
		sched_yield();
	}
	while (!work_queue_is_done(&work->share))
		if (work->by_waiting)
			work_queue_wait(&work->share, 0);
		else
			sched_yield();
	for (uint32_t i = 0; i < PARTS; i++)
		*wrong += wrong_words(work->made[i], round * PARTS + i + 1);
}

static void hand_over_by_share(const char *what, bool by_waiting, uint64_t rounds)
{
	static struct shared_work work;
	pthread_t thief;
	uint64_t wrong = 0;
	work = (struct shared_work){.by_waiting = by_waiting};
	start(&thief, steal, &work);
	for (uint64_t round = 0; round < rounds; round++)
		own_round(&work, round, &wrong);
	set(&work.ended, true);
	pthread_join(thief, NULL);
	check(!wrong && !work.wrong, "share, %s: other words arrive", what);
	check(work.stolen > 0, "share, %s: nothing was stolen", what);
}

/* --- inproc ------------------------------------------------------------------------------------------------------- */

struct field {
	struct transport *transport;
	uint64_t steps, turns, wrong; /* the primary's numbers */
	uint64_t published[WORDS],
		last_words[WORDS]; /* written by the primary: published with each step, last_words before it closes */
	uint64_t acknowledged[RUNNERS_MAX][WORDS];
	uint32_t runners;
};

struct runner {
	struct field *field;
	uint32_t index;
	uint64_t got, wrong;
	bool has_last_words;
};

static void publish(struct field *field)
{
	write_words(field->published, field->turns);
	if (transport_inproc.publish(
		    field->transport, (struct transport_message){.number = field->turns, .payload = field->published}))
		field->wrong++;
}

static void on_all_acked(void *ctx)
{
	struct field *field = ctx;
	for (uint32_t i = 0; i < field->runners; i++) {
		struct transport_message ack = transport_inproc.ack_of(field->transport, i);
		field->wrong += ack.number != field->turns || wrong_words(ack.payload, field->turns + i);
	}
	if (++field->turns < field->steps) {
		publish(field);
		return;
	}
	write_words(field->last_words, 4711);
	transport_inproc.close(field->transport);
}

/* A runner. At times it comes late, when the step is ready, and at times it waits for the step. */
static void *run(void *arg)
{
	struct runner *runner = arg;
	struct field *field = runner->field;
	struct transport_message step;
	for (;; runner->got++) {
		dawdle(runner->got + runner->index);
		if (transport_inproc.wait(field->transport, runner->index, &step))
			break;
		runner->wrong += step.number != runner->got || wrong_words(step.payload, step.number);
		write_words(field->acknowledged[runner->index], step.number + runner->index);
		struct transport_message ack = {.number = step.number, .payload = field->acknowledged[runner->index]};
		if (transport_inproc.ack(field->transport, runner->index, ack))
			runner->wrong++;
	}
	runner->has_last_words = !wrong_words(field->last_words, 4711);
	return NULL;
}

/* threads: the number given to the transport; if there are more threads than cores, waiting threads sleep at once. */
static void hand_over_by_inproc(const char *what, uint32_t runners, uint32_t threads, uint64_t steps)
{
	static struct field field;
	struct transport_options options = {
		.secondaries = runners, .threads = threads, .all_acked = on_all_acked, .ctx = &field};
	struct runner all[RUNNERS_MAX];
	pthread_t ids[RUNNERS_MAX];
	field = (struct field){.steps = steps, .runners = runners};
	if (transport_inproc.create(&options, &field.transport, NULL))
		abort();
	for (uint32_t i = 0; i < runners; i++) {
		all[i] = (struct runner){.field = &field, .index = i};
		start(&ids[i], run, &all[i]);
	}
	publish(&field);
	for (uint32_t i = 0; i < runners; i++) {
		pthread_join(ids[i], NULL);
		check(!all[i].wrong && all[i].got == steps, "inproc, %s: other words arrive", what);
		check(all[i].has_last_words, "inproc, %s: what was written before the end does not arrive", what);
	}
	check(!field.wrong && field.turns == steps, "inproc, %s: other words come back", what);
	transport_inproc.destroy(field.transport);
}

/* A step that was published before the end is delivered, however soon the end follows. */
static void *publish_and_close(void *arg)
{
	struct field *field = arg;
	publish(field);
	transport_inproc.close(field->transport);
	return NULL;
}

static void do_nothing(void *ctx)
{
	(void)ctx;
}

static void deliver_before_the_end(uint64_t rounds)
{
	static struct field field;
	struct transport_options options = {.secondaries = 1, .threads = 2, .all_acked = do_nothing};
	struct transport_message step;
	uint64_t missed = 0;
	for (uint64_t round = 0; round < rounds; round++) {
		pthread_t other;
		field = (struct field){.turns = round};
		if (transport_inproc.create(&options, &field.transport, NULL))
			abort();
		start(&other, publish_and_close, &field);
		missed += transport_inproc.wait(field.transport, 0, &step) != TROUPE_OK;
		pthread_join(other, NULL);
		transport_inproc.destroy(field.transport);
	}
	check(!missed, "inproc: of %d steps that were published before the end %d are not delivered", (int)rounds,
		(int)missed);
}

static void *publish_first(void *arg)
{
	publish(arg);
	return NULL;
}

static void *write_and_close(void *arg)
{
	struct field *field = arg;
	write_words(field->last_words, 4711);
	transport_inproc.close(field->transport);
	return NULL;
}

/* A step, or the end, is seen before the eventcount is advanced. */
static void see_before_the_advance(const char *what, void *(*act)(void *arg), bool ends)
{
	static struct field field;
	struct transport_options options = {.secondaries = 1, .threads = 1000, .all_acked = do_nothing};
	struct transport_message step = {0};
	troupe_status status = TROUPE_OK;
	pthread_t other;
	field = (struct field){.turns = 1};
	if (transport_inproc.create(&options, &field.transport, NULL))
		abort();
	gate_close(&advancing);
	start(&other, act, &field);
	wait_until_set(&advancing.reached);
	/* the flag, being relaxed, may be seen before the write that stands before it */
	while (!status && !step.payload)
		status = transport_inproc.wait_for(field.transport, 0, 1000000, &step);
	uint64_t wrong = ends ? wrong_words(field.last_words, 4711) : wrong_words(field.published, 1);
	set(&advancing.closed, false);
	pthread_join(other, NULL);
	check(!wrong && (status == TROUPE_EPEER) == ends, "inproc, %s before the advance: other words arrive", what);
	transport_inproc.destroy(field.transport);
}

/* Two runners have the step. The second acknowledges when the first has done so. */
struct two {
	struct field field;
	_Atomic bool first_acked;
};

static void acknowledge(struct field *field, uint32_t index)
{
	struct transport_message step;
	if (transport_inproc.wait(field->transport, index, &step))
		abort();
	write_words(field->acknowledged[index], index);
	struct transport_message ack = {.number = step.number, .payload = field->acknowledged[index]};
	if (transport_inproc.ack(field->transport, index, ack))
		abort();
}

static void *acknowledge_first(void *arg)
{
	struct two *two = arg;
	acknowledge(&two->field, 0);
	set(&two->first_acked, true);
	return NULL;
}

static void read_both_acks(void *ctx)
{
	struct field *field = ctx;
	for (uint32_t i = 0; i < 2; i++)
		field->wrong += wrong_words(transport_inproc.ack_of(field->transport, i).payload, i);
	field->turns++;
}

static void collect_acks_in_turn(void)
{
	static struct two two;
	struct transport_options options = {
		.secondaries = 2, .threads = 2, .all_acked = read_both_acks, .ctx = &two.field};
	pthread_t first;
	if (transport_inproc.create(&options, &two.field.transport, NULL))
		abort();
	publish(&two.field);
	start(&first, acknowledge_first, &two);
	wait_until_set(&two.first_acked);
	acknowledge(&two.field, 1);
	pthread_join(first, NULL);
	check(!two.field.wrong && two.field.turns == 1, "inproc, acks in turn: other words come back");
	transport_inproc.destroy(two.field.transport);
}

int main(void)
{
	hand_over_in_a_nap("asleep", 0);
	hand_over_in_a_nap("asleep for at most a minute", UINT64_C(60000000000));
	see_before_the_advance("a step", publish_first, false);
	see_before_the_advance("the end", write_and_close, true);
	collect_acks_in_turn();
	hand_over_by_eventcount("read", wait_by_reading, 300);
	hand_over_by_eventcount("spun for", wait_by_spinning, 300);
	hand_over_by_eventcount("slept for", wait_by_sleeping, 300);
	hand_over_by_eventcount("a wait that ends after a while", wait_for_a_while, 300);
	hand_over_by_share("spun for", false, 200);
	hand_over_by_share("slept for", true, 200);
	hand_over_by_inproc("one runner that spins", 1, 1, 300);
	hand_over_by_inproc("two runners that spin", 2, 2, 300);
	hand_over_by_inproc("three runners that sleep", 3, 1000, 300);
	for (int i = 0; i < 100; i++) /* each round has one end */
		hand_over_by_inproc("two, once", 2, 2, 1 + (uint64_t)i % 5);
	deliver_before_the_end(500);
	return check_totals();
}
