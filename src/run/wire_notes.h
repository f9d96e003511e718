/* The notes of a step as bytes. They end an ack whose step asked for them; see ../net/PROTOCOL.md. */
#ifndef RUN_WIRE_NOTES_H
#define RUN_WIRE_NOTES_H

#include "base/pack.h"
#include "run/step.h"

/* what: the bits OBSERVE_... of the step. */
void wire_put_notes(struct text *out, uint32_t what, const struct scene *scene, const struct ack *ack);

/* The models that changed in the step, by the ack: those whose `met` is `number`. */
struct wire_changed {
	const struct scene *scene;
	const uint64_t *met; /* [models] */
	uint64_t number;
};

/* Fills ack->stepped, *ret and ack->notes; ack->changed must be filled already. Input is not trusted: TROUPE_EPROTOCOL
 * says what is wrong. Truncated input and numbers out of range only set in->bad. */
troupe_status wire_get_notes(struct unpack *in, uint32_t what, const struct wire_changed *changed, struct ack *ack,
	struct notes *ret, struct troupe_error *error);

#endif
