/* The protocol of a step as a state machine: which acks are still owed. Pure: no clock, no thread, no I/O. */
#ifndef RUN_LOCKSTEP_H
#define RUN_LOCKSTEP_H

#include "base/base.h"

struct lockstep { /* zeroed but for secondaries: before the first step */
	uint32_t secondaries;
	uint64_t number; /* of the step that is out, or that will be */
	bool out;
	uint32_t next; /* acks are merged in runner order: the secondary whose turn it is, from 1 */
};

/* Step `number` goes out. TROUPE_EPROTOCOL when one is out already or numbers do not go up by one. */
troupe_status lockstep_publish(struct lockstep *lockstep, uint64_t number, struct troupe_error *error);
/* The ack of one secondary, merged in runner order. TROUPE_EPROTOCOL names what is wrong with it: a runner that does
 * not exist, a repeated one, one out of order, another step's, one that nobody asked for. */
troupe_status lockstep_ack(struct lockstep *lockstep, uint32_t runner, uint64_t number, struct troupe_error *error);
/* The step that is complete, and just became so, was in vain: it is to come still. */
void lockstep_take_back(struct lockstep *lockstep);
/* All acks of the step are in; the next may go out. */
bool lockstep_complete(const struct lockstep *lockstep);

#endif
