/* The parts of steps and acks that are about sensors: which ones measure, and what they measured. */
#ifndef RUN_WIRE_SENSE_H
#define RUN_WIRE_SENSE_H

#include "run/replica.h"

/* At the primary. known: the epoch of the wanted sensors that the peer knows. False: there is nothing to put. */
bool wire_put_sense(struct text *out, const struct sensors *sensors, const struct step *step, uint64_t known);
/* At a secondary. */
troupe_status wire_get_sense(struct unpack *in, struct replica_sense *ret, struct troupe_error *error);

/* At a secondary. NULL: nothing was measured. */
void wire_put_readings(struct text *out, const struct readings *readings);

struct wire_sensed { /* what the primary knows of an ack's readings */
	const struct scene *scene;
	const struct sensors *sensors;
	const struct step *step;
	const uint32_t *owner; /* [model_count] the secondary that simulates the model */
	uint32_t secondary;    /* whose ack it is, from 1 */
	uint64_t call;         /* a different number for each ack that is decoded */
};
/* At the primary. Each reading must be of a sensor of this secondary that is due, come once, and have a size that such
 * a sensor may have. */
troupe_status wire_get_readings(
	struct unpack *in, const struct wire_sensed *sensed, struct readings *ret, struct troupe_error *error);

#endif
