/* What the primary keeps of what its secondaries noted in their steps, on request: the contacts and efforts of each
 * model's last step. A model at rest is not stepped; it keeps what it had when it was stepped last. Nothing that is
 * simulated depends on any of it, and it does not depend on who simulates what.
 *
 * Thread: the primary's, between steps. Allocates when the scene grows, or a list does; a warm step does not. */
#ifndef RUN_OBSERVED_H
#define RUN_OBSERVED_H

#include "base/pack.h"
#include "run/step.h"

struct observed {
	/* Of the last step in which one of the two models was stepped, at its beginning; by geoms, then as found. */
	contact_notes contacts;
	double (*efforts)[2]; /* [room.joints] see effort_note; 0 of a joint that is not there, or was never stepped */

	/* private */
	contact_notes spare, scratch;
	uint64_t *marked; /* [room.models] the call that the model mattered to last */
	uint64_t calls;
	struct scene_room room;
};

void observed_fini(struct observed *observed);

/* The scene may have room for more than before. */
void observed_fit(struct observed *observed, const struct scene *scene);
/* A step of which all acks are there and good. The contacts of models that were stepped are replaced, and the efforts
 * of their joints. */
void observed_merge(struct observed *observed, const struct scene *scene, struct ack *const *acks, uint32_t count);
/* These models are gone, or were put elsewhere: what they touched and exerted is no more. */
void observed_forget(struct observed *observed, const struct scene *scene, const uint32_t *models, uint32_t count);
/* Everything is, or all but what these bits OBSERVE_... ask for. */
void observed_clear(struct observed *observed);
void observed_keep(struct observed *observed, uint32_t what);

/* For saved states: models at rest have their notes from long before. what: bits OBSERVE_..., what there is. */
void observed_pack(const struct observed *observed, uint32_t what, struct text *out);
/* The reverse, when the scene is as it was. False: damaged. */
bool observed_unpack(struct observed *observed, const struct scene *scene, uint32_t *ret_what, struct unpack *in);

#endif
