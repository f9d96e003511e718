/* A counter that threads wait for: some threads advance it; others spin for a bounded time and then sleep in the
 * kernel (futex). No mutex, no condition variable. Measured here: a spinning hand-over costs 0.2 us, a futex sleep
 * and wake tens of us. So a thread spins for as long as a sleep would cost, and not at all when there are more
 * threads than cores.
 *
 * Any thread may call any of these functions at any time. */
#ifndef BASE_GATE_H
#define BASE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	_Alignas(64) _Atomic uint32_t count; /* writers: openers. Readers: waiters. Wraps; compared for equality. */
	_Atomic uint32_t sleepers;           /* writers: waiters, around their sleep. Reader: the opener. */
};

/* Adds one and wakes all sleepers. A thread whose wait returns sees everything that was written before this call. */
void gate_open(struct gate *gate);
/* Waits until the count is not `seen`; returns the count. spins: how often to check before sleeping. timeout_ns: 0
 * waits for ever; otherwise returns `seen` when the time runs out. */
uint32_t gate_wait(struct gate *gate, uint32_t seen, uint32_t spins, uint64_t timeout_ns);

static inline uint32_t gate_peek(const struct gate *gate)
{
	return atomic_load_explicit(&gate->count, memory_order_acquire); /* pairs with the release in gate_open() */
}

/* For the body of a spin loop. */
static inline void gate_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Cores that this process may use; at least 1. */
uint32_t gate_cores(void);
/* How often a thread may check before it sleeps, when `threads` threads wait for one another on this machine. */
uint32_t gate_spins(uint32_t threads);

#endif
