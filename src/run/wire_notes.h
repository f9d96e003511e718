/* What was noted of a step as bytes: the end of an ack whose step asked for it; see ../net/PROTOCOL.md. */
#ifndef RUN_WIRE_NOTES_H
#define RUN_WIRE_NOTES_H

#include "base/pack.h"
#include "run/step.h"

/* what: bits OBSERVE_..., as the step has them. */
void wire_put_notes(struct text *out, uint32_t what, const struct scene *scene, const struct ack *ack);

/* Which models moved in the step, by the ack: those of which `met` has this number. */
struct wire_moved {
	const struct scene *scene;
	const uint64_t *met; /* [models] */
	uint64_t number;
};

/* Fills ack->stepped, *ret and ack->notes; ack->moved is there. Nothing that is read is trusted: TROUPE_EPROTOCOL says
 * what is wrong. What is cut off, or has a number out of range, is `bad` only. */
troupe_status wire_get_notes(struct unpack *in, uint32_t what, const struct wire_moved *moved, struct ack *ack,
	struct notes *ret, struct troupe_error *error);

#endif
