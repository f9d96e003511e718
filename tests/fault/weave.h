/* Runs some threads in every order in which their atomic operations can follow one another, and lets each load return
 * every value that its memory order allows. So an error that appears in one of a million runs, or on another processor
 * only, appears here in one of a few thousand. For small pieces of code that use <stdatomic.h> and futex(2) only.
 *
 * Include it after all headers, and before the source files to be checked. Threads are coroutines; their accesses to
 * plain memory happen at once, and are not checked (ThreadSanitizer checks them).
 *
 * Memory: each atomic variable has the list of values that were stored in it, in an order that is the same for all
 * threads. A thread has a view: for each list the newest value that the thread must know. A load returns this value or
 * a later one; a load that acquires takes over the view that a release left with the value. A read-modify-write reads
 * the last value. Sequentially consistent operations share a view of their own for each variable.
 *
 * Two limits: a thread reads at most WEAVE_STALE_MAX times a value that is not the newest; and in a run at most
 * WEAVE_SWITCHES_MAX times another thread runs although the present one could go on. A switch after WEAVE_PATIENCE
 * operations of one thread does not count, since this thread may be waiting for another. Where these limits give too
 * many runs, a test can lower them: weave_switches_max, weave_stale_max. */
#ifndef TESTS_FAULT_WEAVE_H
#define TESTS_FAULT_WEAVE_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum {
	WEAVE_THREADS_MAX = 4,
	WEAVE_PLACES_MAX = 16,
	WEAVE_VALUES_MAX = 64,
	WEAVE_CHOICES_MAX = 4096,
	WEAVE_STALE_MAX = 2,
	WEAVE_SWITCHES_MAX = 3,
	WEAVE_PATIENCE = 24,
	WEAVE_STACK_BYTES = 1 << 16,
};

struct weave_view {
	uint32_t known[WEAVE_PLACES_MAX]; /* the number of the newest value that is known, by place */
};

struct weave_place {
	const volatile void *at;
	size_t bytes;
	uint32_t count;
	struct {
		uint64_t value;
		struct weave_view released;
	} values[WEAVE_VALUES_MAX];
};

struct weave_thread {
	ucontext_t context;
	char *stack;
	void (*function)(void *arg);
	void *arg;
	bool done;
	const volatile void *sleeps; /* the futex on which the thread sleeps; NULL: it does not sleep */
	uint32_t stale;
	struct weave_view view;
};

static struct {
	struct weave_place places[WEAVE_PLACES_MAX];
	uint32_t place_count;
	struct weave_thread threads[WEAVE_THREADS_MAX];
	uint32_t thread_count, current, switches, alone;
	struct weave_view consistent; /* the view that sequentially consistent operations share */
	ucontext_t scheduler;
	struct {
		uint32_t taken, of;
	} choices[WEAVE_CHOICES_MAX];
	uint32_t choice, choice_count;
	uint64_t runs;
} weave;

static uint32_t weave_switches_max = WEAVE_SWITCHES_MAX, weave_stale_max = WEAVE_STALE_MAX;

/* Returns a number from 0 to of - 1: another one in each run, until all have been taken. */
static uint32_t weave_choose(uint32_t of)
{
	if (of <= 1)
		return 0;
	if (weave.choice == WEAVE_CHOICES_MAX)
		abort();
	if (weave.choice == weave.choice_count) {
		weave.choices[weave.choice_count].taken = 0;
		weave.choices[weave.choice_count++].of = of;
	}
	return weave.choices[weave.choice++].taken;
}

/* False: all runs have been made. */
static bool weave_next(void)
{
	while (weave.choice_count) {
		if (++weave.choices[weave.choice_count - 1].taken < weave.choices[weave.choice_count - 1].of)
			return true;
		weave.choice_count--;
	}
	return false;
}

static void weave_pause(void)
{
	struct weave_thread *self = &weave.threads[weave.current];
	swapcontext(&self->context, &weave.scheduler);
}

static uint64_t weave_read_memory(const volatile void *at, size_t bytes)
{
	uint64_t value = 0;
	memcpy(&value, (const void *)(uintptr_t)at, bytes); /* little-endian */
	return value;
}

static uint32_t weave_place_of(const volatile void *at, size_t bytes)
{
	uint32_t i = 0;
	while (i < weave.place_count && weave.places[i].at != at)
		i++;
	if (i == WEAVE_PLACES_MAX)
		abort();
	struct weave_place *place = &weave.places[i];
	if (i == weave.place_count) {
		*place = (struct weave_place){.at = at, .bytes = bytes, .count = 1};
		place->values[0].value = weave_read_memory(at, bytes);
		weave.place_count++;
	}
	return i;
}

static bool weave_acquires(memory_order order)
{
	return order == memory_order_acquire || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static bool weave_releases(memory_order order)
{
	return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static void weave_join(struct weave_view *view, const struct weave_view *other)
{
	for (uint32_t i = 0; i < WEAVE_PLACES_MAX; i++)
		if (other->known[i] > view->known[i])
			view->known[i] = other->known[i];
}

static uint64_t weave_take(uint32_t at, uint32_t number, memory_order order)
{
	struct weave_view *view = &weave.threads[weave.current].view;
	if (number > view->known[at])
		view->known[at] = number;
	if (weave_acquires(order))
		weave_join(view, &weave.places[at].values[number].released);
	return weave.places[at].values[number].value;
}

/* inherited: the view that was released with the value that a read-modify-write has read. */
static void weave_put(uint32_t at, uint64_t value, memory_order order, const struct weave_view *inherited)
{
	struct weave_place *place = &weave.places[at];
	struct weave_view *view = &weave.threads[weave.current].view;
	uint32_t number = place->count++;
	if (number == WEAVE_VALUES_MAX)
		abort();
	view->known[at] = number;
	place->values[number].value = value;
	place->values[number].released = inherited ? *inherited : (struct weave_view){{0}};
	if (weave_releases(order))
		weave_join(&place->values[number].released, view);
	if (order == memory_order_seq_cst)
		weave.consistent.known[at] = number;
	memcpy((void *)(uintptr_t)place->at, &value, place->bytes);
}

/* The value that a load returns, one of those that it may return now. */
static uint64_t weave_look(const volatile void *address, size_t bytes, memory_order order)
{
	struct weave_thread *self = &weave.threads[weave.current];
	uint32_t at = weave_place_of(address, bytes), newest = weave.places[at].count - 1;
	uint32_t oldest = self->view.known[at];
	if (order == memory_order_seq_cst && weave.consistent.known[at] > oldest)
		oldest = weave.consistent.known[at];
	uint32_t back = self->stale < weave_stale_max ? weave_choose(newest - oldest + 1) : 0;
	self->stale += back > 0;
	return weave_take(at, newest - back, order);
}

static uint64_t weave_load(const volatile void *address, size_t bytes, memory_order order)
{
	weave_pause();
	return weave_look(address, bytes, order);
}

static void weave_store(volatile void *address, size_t bytes, uint64_t value, memory_order order)
{
	weave_pause();
	weave_put(weave_place_of(address, bytes), value, order, NULL);
}

enum weave_change { WEAVE_ADD, WEAVE_SUBTRACT, WEAVE_REPLACE };

static uint64_t weave_modify(
	volatile void *address, size_t bytes, enum weave_change change, uint64_t by, memory_order order)
{
	weave_pause();
	uint32_t at = weave_place_of(address, bytes), newest = weave.places[at].count - 1;
	struct weave_view inherited = weave.places[at].values[newest].released;
	uint64_t was = weave_take(at, newest, order), now = by;
	if (change != WEAVE_REPLACE)
		now = change == WEAVE_ADD ? was + by : was - by;
	weave_put(at, now, order, &inherited);
	return was;
}

static bool weave_compare_exchange(volatile void *address, size_t bytes, void *expected, uint64_t desired,
	memory_order success, memory_order failure)
{
	weave_pause();
	uint32_t at = weave_place_of(address, bytes), newest = weave.places[at].count - 1;
	bool same = weave.places[at].values[newest].value == weave_read_memory(expected, bytes);
	struct weave_view inherited = weave.places[at].values[newest].released;
	uint64_t was = weave_take(at, newest, same ? success : failure);
	if (same)
		weave_put(at, desired, success, &inherited);
	else
		memcpy(expected, &was, bytes);
	return same;
}

/* futex(2), without timeouts. The value that the kernel compares with may be older than one that another thread has
 * stored but not yet made known to all, as for a sequentially consistent load. */
static long weave_syscall(long number, volatile void *address, int operation, uint32_t value, const void *timeout,
	const void *other, int more)
{
	(void)timeout;
	(void)other;
	(void)more;
	if (number != SYS_futex)
		abort();
	weave_pause();
	if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
		for (uint32_t i = 0; i < weave.thread_count; i++)
			if (weave.threads[i].sleeps == address)
				weave.threads[i].sleeps = NULL;
		return 0;
	}
	if (weave_look(address, sizeof value, memory_order_seq_cst) != value)
		return -1;
	weave.threads[weave.current].sleeps = address;
	weave_pause();
	return 0;
}

static void weave_begin(void)
{
	struct weave_thread *self = &weave.threads[weave.current];
	self->function(self->arg);
	self->done = true;
}

static bool weave_can_go(uint32_t thread)
{
	return thread < weave.thread_count && !weave.threads[thread].done && !weave.threads[thread].sleeps;
}

/* The thread that runs next; WEAVE_THREADS_MAX: no thread can run. */
static uint32_t weave_pick(void)
{
	uint32_t ready[WEAVE_THREADS_MAX], count = 0;
	bool goes_on = weave_can_go(weave.current);
	if (goes_on)
		ready[count++] = weave.current;
	for (uint32_t i = 1; i <= weave.thread_count; i++) { /* begins with the thread of the next number */
		uint32_t other = (weave.current + i) % weave.thread_count;
		if (weave_can_go(other) && other != weave.current)
			ready[count++] = other;
	}
	if (!count)
		return WEAVE_THREADS_MAX;
	if (goes_on && ++weave.alone >= WEAVE_PATIENCE && count > 1) {
		weave.alone = 0;
		return ready[1];
	}
	if (goes_on && weave.switches == weave_switches_max)
		return weave.current;
	uint32_t picked = ready[weave_choose(count)];
	weave.switches += goes_on && picked != weave.current;
	weave.alone = picked == weave.current ? weave.alone : 0;
	return picked;
}

/* One run, from the start. False: a thread sleeps for ever. */
static bool weave_run(void)
{
	weave.switches = weave.alone = weave.choice = weave.place_count = 0;
	weave.consistent = (struct weave_view){{0}};
	weave.current = WEAVE_THREADS_MAX; /* no thread */
	for (uint32_t i = 0; i < weave.thread_count; i++) {
		struct weave_thread *thread = &weave.threads[i];
		thread->done = false;
		thread->sleeps = NULL;
		thread->stale = 0;
		thread->view = (struct weave_view){{0}};
		getcontext(&thread->context);
		thread->context.uc_stack.ss_sp = thread->stack;
		thread->context.uc_stack.ss_size = WEAVE_STACK_BYTES;
		thread->context.uc_link = &weave.scheduler;
		makecontext(&thread->context, weave_begin, 0);
	}
	while ((weave.current = weave_pick()) < WEAVE_THREADS_MAX)
		swapcontext(&weave.scheduler, &weave.threads[weave.current].context);
	weave.runs++;
	for (uint32_t i = 0; i < weave.thread_count; i++)
		if (!weave.threads[i].done)
			return false;
	return true;
}

static void weave_thread(void (*function)(void *arg), void *arg)
{
	struct weave_thread *thread = &weave.threads[weave.thread_count++];
	if (!thread->stack)
		thread->stack = malloc(WEAVE_STACK_BYTES);
	thread->function = function;
	thread->arg = arg;
}

/* Makes all runs of the given threads. set_up: puts everything into its first state; is_right: called after each run.
 * Stops at the first wrong run. Returns the number of runs; 0: one was wrong. */
static uint64_t weave_all(void (*set_up)(void), bool (*is_right)(void))
{
	bool right = true;
	weave.runs = weave.choice_count = 0;
	do {
		set_up();
		bool ended = weave_run();
		right = is_right() && ended;
	} while (right && weave_next());
	weave.thread_count = 0;
	return right ? weave.runs : 0;
}

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_compare_exchange_weak_explicit
#define atomic_load_explicit(at, order) ((__typeof__(*(at)))weave_load(at, sizeof *(at), order))
#define atomic_load(at) atomic_load_explicit(at, memory_order_seq_cst)
#define atomic_store_explicit(at, value, order) weave_store(at, sizeof *(at), value, order)
#define atomic_store(at, value) atomic_store_explicit(at, value, memory_order_seq_cst)
#define atomic_exchange(at, value) weave_modify(at, sizeof *(at), WEAVE_REPLACE, value, memory_order_seq_cst)
#define atomic_fetch_add_explicit(at, by, order) weave_modify(at, sizeof *(at), WEAVE_ADD, by, order)
#define atomic_fetch_add(at, by) atomic_fetch_add_explicit(at, by, memory_order_seq_cst)
#define atomic_fetch_sub_explicit(at, by, order) weave_modify(at, sizeof *(at), WEAVE_SUBTRACT, by, order)
#define atomic_fetch_sub(at, by) atomic_fetch_sub_explicit(at, by, memory_order_seq_cst)
#define atomic_compare_exchange_weak_explicit(at, expected, desired, success, failure)                                 \
	weave_compare_exchange(at, sizeof *(at), expected, desired, success, failure)
#define syscall weave_syscall

#endif
