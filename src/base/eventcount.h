/* An eventcount (Reed and Kanodia, 1979): a counter that some threads advance and others wait for. A waiter spins for a
 * bounded time and then sleeps in the kernel (futex). No mutex, no condition variable. Measured here: a spinning
 * hand-over costs 0.2 us, a futex sleep and wake tens of us. So a thread spins for as long as a sleep would cost, and
 * not at all when there are more threads than cores.
 *
 * Any thread may call any of these functions at any time. */
#ifndef BASE_EVENTCOUNT_H
#define BASE_EVENTCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eventcount {
	/* Writers: threads that advance it. Readers: waiters. Wraps; compared for equality. */
	_Alignas(64) _Atomic uint32_t count;
	_Atomic uint32_t sleepers; /* writers: waiters, around their sleep. Readers: threads that advance it. */
};

/* Adds one and wakes all sleepers. A thread whose wait returns sees everything that was written before this call. */
void eventcount_advance(struct eventcount *eventcount);
/* Waits until the count is not `seen`; returns the count. spins: how often to check before sleeping. timeout_ns: 0
 * waits for ever; otherwise returns `seen` when the time runs out. */
uint32_t eventcount_await(struct eventcount *eventcount, uint32_t seen, uint32_t spins, uint64_t timeout_ns);

static inline uint32_t eventcount_read(const struct eventcount *eventcount)
{
	return atomic_load_explicit(
		&eventcount->count, memory_order_acquire); /* pairs with the release in eventcount_advance() */
}

/* For the body of a spin loop. */
static inline void eventcount_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Cores that this process may use; at least 1. */
uint32_t eventcount_cores(void);
/* How often a thread may check before it sleeps, when `threads` threads wait for one another on this machine. */
uint32_t eventcount_spins(uint32_t threads);

#endif
