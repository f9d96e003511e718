/* What a window of several steps adds to a step and to an ack; part of wire.c and wire_step.c. */
#ifndef RUN_WIRE_WINDOW_H
#define RUN_WIRE_WINDOW_H

#include "base/pack.h"
#include "run/replica.h"

/* The primary's: how long the window is, what is to be noted in it, and which models may come near each other. */
void wire_put_window(struct text *out, const struct step *step, const struct step_part *part);
/* Input is not trusted: in->bad, or TROUPE_EPROTOCOL. */
troupe_status wire_get_window(struct unpack *in, struct replica_step *ret_step, struct troupe_error *error);

/* The secondary's: how many steps were well, and if all were, where each model in ack->changed was meanwhile. */
void wire_put_sweeps(
	struct text *out, const struct step *step, const struct ack *ack, const struct touch_sweep *sweeps);
/* ack->changed must be filled already. Writes their sweeps, as of this step, and ack->good and ack->hashes. */
troupe_status wire_get_sweeps(struct unpack *in, const struct step *step, struct ack *ack, struct touch_sweep *sweeps,
	struct troupe_error *error);
/* After wire_get_sweeps() and when the words of the last state are there: TROUPE_EPROTOCOL if a model is not where it
 * is said to have been. */
troupe_status wire_check_sweeps(
	const struct shared *shared, const struct step *step, const struct ack *ack, struct troupe_error *error);

#endif
