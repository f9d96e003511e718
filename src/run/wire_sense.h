/* The parts of steps and acks that are about sensors: which ones measure, and what they measured. */
#ifndef RUN_WIRE_SENSE_H
#define RUN_WIRE_SENSE_H

#include "run/replica.h"

struct wire_sight { /* of the models that a peer has seen */
	uint32_t model;
	uint64_t hash; /* of the words of its bodies */
};

typedef VEC(struct wire_sight) wire_sights;
typedef VEC(struct sight) wire_eyes; /* of sensors that see */

struct wire_view { /* for wire_put_sense(): of one secondary */
	const struct shared *shared;
	const uint32_t *owner; /* [model_count] the secondary that simulates the model */
	uint32_t secondary;    /* from 1 */
	uint64_t known;        /* the epoch of the wanted sensors that it knows */
	const uint64_t *seen; /* [model_count] hash of the words of the model's bodies that it was sent last; 0: none */
	const uint64_t *met;  /* [model_count] is `call` for a model about which this step has a change for it */
	uint64_t call;
	wire_eyes *eyes; /* scratch */
};

/* At the primary. False: there is nothing to put. ret_sights: what it has seen once the step is acknowledged. */
bool wire_put_sense(struct text *out, const struct wire_view *view, const struct step *step, wire_sights *ret_sights);
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
/* At the primary. Each reading must be of a sensor of this secondary that is due, come once, and have the size
 * and the shape that follow from the file: what publishes readings does not look at these again. */
troupe_status wire_get_readings(
	struct unpack *in, const struct wire_sensed *sensed, struct readings *ret, struct troupe_error *error);

#endif
