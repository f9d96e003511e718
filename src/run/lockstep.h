/* The protocol of a step as a state machine: which acks are still owed. Pure: no clock, no thread, no I/O. */
#ifndef RUN_LOCKSTEP_H
#define RUN_LOCKSTEP_H

#include "base/base.h"

struct lockstep { /* before the first step all fields but secondaries are zero */
	uint32_t secondaries;
	uint32_t window; /* steps that were published together last */
	uint64_t number; /* of the step that is out, or of the next step */
	bool out;
	uint32_t next; /* secondary whose ack is merged next, from 1: acks are merged in the order of secondaries */
};

/* Step `number` goes out, the first of `window` (>= 1) steps that are acknowledged together. TROUPE_EPROTOCOL when a
 * step is out already, or when the number is not the expected one. */
troupe_status lockstep_publish(struct lockstep *lockstep, uint64_t number, uint32_t window, struct troupe_error *error);
/* Takes the ack of one secondary, in the order of secondaries. TROUPE_EPROTOCOL names what is wrong with it: the
 * secondary does not exist, the ack is repeated, out of order, of another step, or no step is out. */
troupe_status lockstep_ack(struct lockstep *lockstep, uint32_t secondary, uint64_t number, struct troupe_error *error);
/* Takes back the steps that were completed last: they will be published again, perhaps not so many together. */
void lockstep_roll_back(struct lockstep *lockstep);
/* The step that is out will never be complete: it will be published again. */
void lockstep_give_up(struct lockstep *lockstep);
/* All acks of the step are in; the next may go out. */
bool lockstep_complete(const struct lockstep *lockstep);

#endif
