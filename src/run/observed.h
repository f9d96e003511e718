/* The contacts, efforts and forces that the primary keeps, on request: for each model those of its last step, from the
 * notes in the acks. A sleeping model is not stepped and keeps the notes of the step in which it was stepped last.
 * Sensors and systems of the run read them: so they depend neither on which secondary simulates a model, nor on who
 * else has asked for them (`needed`).
 *
 * Thread: the primary's, between steps. Allocates when the scene or a list grows; a warm step does not allocate. */
#ifndef RUN_OBSERVED_H
#define RUN_OBSERVED_H

#include "base/pack.h"
#include "run/step.h"

struct observed {
	/* As at the beginning of the last step in which one of the two models was stepped. Sorted by geoms, then in
	 * the order found. */
	contact_notes contacts;
	double (*efforts)[2]; /* [room.joints] see effort_note; 0 for a joint that is absent or was never stepped */

	struct reaction *reactions; /* [room.joints] 0 for one that is not measured, or was never stepped */

	uint32_t needed; /* bits OBSERVE_... that the simulation itself, its sensors and systems, asked for last */

	/* private */
	contact_notes spare, scratch;
	uint64_t *marked; /* [room.models] the last call that marked the model */
	uint64_t calls;
	struct scene_room room;
};

void observed_fini(struct observed *observed);

/* Grows the arrays when the scene has more room than before. */
void observed_fit(struct observed *observed, const struct scene *scene);
/* Merges a step whose acks are all in and good. Replaces the contacts of models that were stepped, and the efforts of
 * their joints. mark: of the step; see struct touch_sweep. */
void observed_merge(
	struct observed *observed, const struct shared *shared, uint64_t mark, struct ack *const *acks, uint32_t count);
/* Of the window `mark`: drops the notes that are not of the last step of one of their models. Those that stay count
 * (contact_note.step). A model's last step is known in the process that steps it. */
void observed_keep_last(struct notes *notes, const struct shared *shared, uint64_t mark);
/* Drops the contacts and efforts of models that are gone or were put elsewhere. */
void observed_forget(struct observed *observed, const struct scene *scene, const uint32_t *models, uint32_t count);
/* observed_clear() drops everything; observed_keep() drops all but the notes that the bits OBSERVE_... in `what` ask
 * for. */
void observed_clear(struct observed *observed);
void observed_keep(struct observed *observed, uint32_t what);

/* For saved states, because sleeping models have notes from long before. what: bits OBSERVE_..., the notes there
 * are. `needed` is saved, too. */
void observed_pack(const struct observed *observed, uint32_t what, struct text *out);
/* Unpacks; the scene must be as it was when packed. False: damaged. */
bool observed_unpack(struct observed *observed, const struct scene *scene, uint32_t *ret_what, struct unpack *in);

#endif
