/* A counter that threads wait for: some move it on, others spin for a bounded time and then sleep in the kernel
 * (futex). No mutex, no condition variable. Measured here: a spinning hand-over costs 0.2 us, a futex sleep and wake
 * tens of us; so the spin is as long as a sleep would cost, and none at all when there are more threads than cores.
 *
 * Any of these may be called by any thread at any time. */
#ifndef BASE_GATE_H
#define BASE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	_Alignas(64) _Atomic uint32_t count; /* writers: openers. Readers: waiters. Wraps; compared for equality. */
	_Atomic uint32_t sleepers;           /* writers: waiters, around their sleep. Reader: the opener. */
};

/* Adds one and wakes whoever sleeps. All that was written before is seen by those whose wait returns. */
void gate_open(struct gate *gate);
/* Waits until the count is not `seen`; returns the count. spins: how often to look before sleeping. timeout_ns: 0 waits
 * for ever; otherwise returns `seen` when it runs out. */
uint32_t gate_wait(struct gate *gate, uint32_t seen, uint32_t spins, uint64_t timeout_ns);

static inline uint32_t gate_peek(const struct gate *gate)
{
	return atomic_load_explicit(&gate->count, memory_order_acquire); /* pairs with the release in gate_open() */
}

/* Between two looks of one's own. */
static inline void gate_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* That this process may use; at least 1. */
uint32_t gate_cores(void);
/* How often a thread may look before it sleeps, when `threads` wait for one another on this machine. */
uint32_t gate_spins(uint32_t threads);

#endif
