/* A hand-over between threads must cost little when the other thread is about to arrive, and must not waste a core
 * when it is not. So a waiter spins for about the time that a sleep would cost, and then sleeps on a futex. No wake-up
 * is lost: the advancing thread and the waiter each write one word and then read the other's, sequentially consistent,
 * so at least one of the two sees the write of the other. */
#include "base/eventcount.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	SPINS = 100,
	EVENTCOUNT_LOOKS = 50
}; /* a spin is EVENTCOUNT_LOOKS checks, about 1-2 us; SPINS spins cost about as much as a sleep */

static void eventcount_futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	/* the caller checks the count after every return, so the result does not matter */
	(void)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

void eventcount_advance(struct eventcount *eventcount)
{
	/* Sequentially consistent, as is the waiter's add below: either this thread sees a sleeper, or the sleeper
	 * sees the new count. Release at least, so that a thread that sees the count in eventcount_read() or
	 * eventcount_await() also sees earlier writes. */
	atomic_fetch_add(&eventcount->count, 1);
	if (atomic_load(&eventcount->sleepers))
		eventcount_futex(&eventcount->count, FUTEX_WAKE, INT32_MAX, NULL);
}

uint32_t eventcount_await(struct eventcount *eventcount, uint32_t seen, uint32_t spins, uint64_t timeout_ns)
{
	for (uint32_t i = 0; i < spins * EVENTCOUNT_LOOKS; i++) {
		uint32_t now = eventcount_read(eventcount);
		if (now != seen)
			return now;
		eventcount_relax();
	}
	struct timespec timeout = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
	atomic_fetch_add(&eventcount->sleepers, 1);
	uint32_t now;
	while ((now = atomic_load(&eventcount->count)) == seen) {
		eventcount_futex(&eventcount->count, FUTEX_WAIT, seen, timeout_ns ? &timeout : NULL);
		if (timeout_ns) {
			now = atomic_load(&eventcount->count);
			break;
		}
	}
	atomic_fetch_sub(&eventcount->sleepers, 1);
	return now;
}

uint32_t eventcount_cores(void)
{
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : (uint32_t)CPU_COUNT(&allowed);
}

uint32_t eventcount_spins(uint32_t threads)
{
	return threads <= eventcount_cores() ? SPINS : 0;
}
