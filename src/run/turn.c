/* One atomic number. The thread that does the primaries' part changes it where it goes; the thread that seizes the turn
 * changes it once, from a place that can be given up. */
#include "run/turn.h"

#include "base/clock.h"

#define TURN_LOOK_NS 20000000u

void turn_set(struct turn *turn, enum turn_at next)
{
	uint32_t at = atomic_load_explicit(&turn->at, memory_order_relaxed);
	/* acquire, release: a thread that seizes the turn sees what this one has done, and the reverse */
	while (at == TURN_SEIZED || !atomic_compare_exchange_weak_explicit(
					    &turn->at, &at, next, memory_order_acq_rel, memory_order_relaxed))
		if (at == TURN_SEIZED) {
			clock_sleep_until_ns(clock_now_ns() + TURN_LOOK_NS);
			at = atomic_load_explicit(&turn->at, memory_order_relaxed);
		}
}

enum turn_at turn_at(const struct turn *turn)
{
	return (enum turn_at)atomic_load(&turn->at);
}

bool turn_seize(struct turn *turn, enum turn_at *ret_from)
{
	uint32_t at = atomic_load(&turn->at);
	*ret_from = (enum turn_at)at;
	/* sequentially consistent: see runners_call_watch() */
	return (at == TURN_STEPS || at == TURN_UPDATES) && atomic_compare_exchange_strong(&turn->at, &at, TURN_SEIZED);
}

void turn_return(struct turn *turn, enum turn_at from)
{
	atomic_store(&turn->at, from);
}
