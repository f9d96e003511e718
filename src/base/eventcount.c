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
	EVENTCOUNT_LOOKS = 50, /* a spin is so many checks, about 1-2 us; SPINS spins cost about as much as a sleep */
	EVENTCOUNT_MISSES = 8,
	EVENTCOUNT_TRY = 16,
};

/* Where other programs have the cores, or the other thread always takes longer, spinning is in vain. So a thread whose
 * waits have outlasted their spins this many times in a row, EVENTCOUNT_MISSES or more, spins in one wait of
 * EVENTCOUNT_TRY only, until that helps. */
static _Thread_local uint32_t eventcount_misses;

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

/* Whether the count has changed; if not, the thread has spun in vain, or does not spin this time. */
static bool eventcount_spin(struct eventcount *eventcount, uint32_t seen, uint32_t spins)
{
	bool in_vain = eventcount_misses >= EVENTCOUNT_MISSES && eventcount_misses % EVENTCOUNT_TRY;
	for (uint32_t i = 0; i < (in_vain ? 1 : spins * EVENTCOUNT_LOOKS); i++) {
		if (eventcount_read(eventcount) != seen) {
			eventcount_misses = in_vain ? eventcount_misses : 0;
			return true;
		}
		eventcount_relax();
	}
	eventcount_misses++;
	return false;
}

uint32_t eventcount_await(struct eventcount *eventcount, uint32_t seen, uint32_t spins, uint64_t timeout_ns)
{
	if (spins && eventcount_spin(eventcount, seen, spins))
		return eventcount_read(eventcount);
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
