/* Whether a thread does the primaries' part of the steps, and whether another thread may end the run in its place.
 *
 * One struct for all primaries of runners. The thread that does the primaries' part says where it is; while it is at a
 * place that can be given up, another thread can seize the turn, and the first one then never goes on. */
#ifndef RUN_TURN_H
#define RUN_TURN_H

#include "base/base.h"

#include <stdatomic.h>

enum turn_at {
	TURN_IDLE,    /* no thread is in the runners */
	TURN_BUSY,    /* between steps, where states are half changed */
	TURN_UPDATES, /* between steps, in update() of some system: state k has all its commands */
	TURN_STEPS,   /* no thread does the primaries' part: a step is out */
	TURN_SEIZED
};

struct turn { /* zeroed: TURN_IDLE */
	_Atomic uint32_t at;
};

/* Returns when the turn is not seized, or never. */
void turn_set(struct turn *turn, enum turn_at next);
enum turn_at turn_at(const struct turn *turn);
/* False: it is at a place that cannot be given up. *ret_from: where it is, or was. */
bool turn_seize(struct turn *turn, enum turn_at *ret_from);
/* After turn_seize(): as if it had not been seized. */
void turn_return(struct turn *turn, enum turn_at from);

#endif
