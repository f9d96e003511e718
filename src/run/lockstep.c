/* Acks are accepted in the order of secondaries only, so the counter `next` says which acks are owed: those of the
 * secondaries from `next` on. Every ack that does not fit is an error that says what is wrong with it (law 2;
 * src/doc/inside/determinism.md has the laws). */
#include "run/lockstep.h"

#include <inttypes.h>

troupe_status lockstep_publish(struct lockstep *lockstep, uint64_t number, uint32_t window, struct troupe_error *error)
{
	if (lockstep->out)
		return fail(error, TROUPE_EPROTOCOL,
			"step %" PRIu64 " while secondary %u owes the ack of step %" PRIu64, number, lockstep->next,
			lockstep->number);
	if (number != lockstep->number)
		return fail(
			error, TROUPE_EPROTOCOL, "step %" PRIu64 ": expected step %" PRIu64, number, lockstep->number);
	lockstep->out = true;
	lockstep->window = window;
	lockstep->next = 1;
	return TROUPE_OK;
}

troupe_status lockstep_ack(struct lockstep *lockstep, uint32_t secondary, uint64_t number, struct troupe_error *error)
{
	if (!secondary || secondary > lockstep->secondaries)
		return fail(error, TROUPE_EPROTOCOL, "ack from secondary %u: there are secondaries 1 to %u", secondary,
			lockstep->secondaries);
	if (!lockstep->out)
		return fail(error, TROUPE_EPROTOCOL, "ack of step %" PRIu64 " from secondary %u: no step is out",
			number, secondary);
	if (number != lockstep->number)
		return fail(error, TROUPE_EPROTOCOL,
			"%s ack from secondary %u: of step %" PRIu64 ", expected step %" PRIu64,
			number < lockstep->number ? "late" : "early", secondary, number, lockstep->number);
	if (secondary < lockstep->next)
		return fail(error, TROUPE_EPROTOCOL, "repeated ack of step %" PRIu64 " from secondary %u", number,
			secondary);
	if (secondary > lockstep->next)
		return fail(error, TROUPE_EPROTOCOL,
			"ack of step %" PRIu64 " from secondary %u: secondary %u's is missing", number, secondary,
			lockstep->next);
	lockstep->next++;
	if (secondary == lockstep->secondaries) {
		lockstep->out = false;
		lockstep->number += lockstep->window;
	}
	return TROUPE_OK;
}

void lockstep_roll_back(struct lockstep *lockstep)
{
	lockstep->number -= lockstep->window;
}

void lockstep_give_up(struct lockstep *lockstep)
{
	lockstep->out = false;
}

bool lockstep_complete(const struct lockstep *lockstep)
{
	return !lockstep->out;
}
