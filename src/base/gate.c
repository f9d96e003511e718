/* A hand-over between threads must cost little when the other thread is about to arrive, and must not waste a core
 * when it is not. So a waiter spins for about the time that a sleep would cost, and then sleeps on a futex. No
 * wake-up is lost: opener and waiter each write one word and then read the other's, sequentially consistent, so at
 * least one of the two sees the write of the other. */
#include "base/gate.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 100, LOOKS = 50 }; /* a spin is LOOKS checks, about 1-2 us; SPINS spins cost about as much as a sleep */

static void futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	/* the caller checks the count after every return, so the result does not matter */
	(void)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

void gate_open(struct gate *gate)
{
	/* Sequentially consistent, as is the waiter's add below: either the opener sees a sleeper, or the sleeper
	 * sees the new count. Release at least, so that a thread that sees the count in gate_peek() or gate_wait()
	 * also sees earlier writes. */
	atomic_fetch_add(&gate->count, 1);
	if (atomic_load(&gate->sleepers))
		futex(&gate->count, FUTEX_WAKE, INT32_MAX, NULL);
}

uint32_t gate_wait(struct gate *gate, uint32_t seen, uint32_t spins, uint64_t timeout_ns)
{
	for (uint32_t i = 0; i < spins * LOOKS; i++) {
		uint32_t now = gate_peek(gate);
		if (now != seen)
			return now;
		gate_relax();
	}
	struct timespec timeout = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
	atomic_fetch_add(&gate->sleepers, 1);
	uint32_t now;
	while ((now = atomic_load(&gate->count)) == seen) {
		futex(&gate->count, FUTEX_WAIT, seen, timeout_ns ? &timeout : NULL);
		if (timeout_ns) {
			now = atomic_load(&gate->count);
			break;
		}
	}
	atomic_fetch_sub(&gate->sleepers, 1);
	return now;
}

uint32_t gate_cores(void)
{
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : (uint32_t)CPU_COUNT(&allowed);
}

uint32_t gate_spins(uint32_t threads)
{
	return threads <= gate_cores() ? SPINS : 0;
}
