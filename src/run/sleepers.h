/* Contacts of models that sleep: they are not stepped, so the notes of a step (physics/notes.h) do not have them. For
 * an observer who begins to watch when models sleep already.
 *
 * Thread: the primary's, between steps. Allocates. */
#ifndef RUN_SLEEPERS_H
#define RUN_SLEEPERS_H

#include "run/step.h"

/* Appends the contacts of these models, ascending, with each other and with static models, as they are in state k;
 * their forces are 0. statics: as step.statics. Takes as long as a step in which all of them are awake, and as it takes
 * to make them anew. No bit of state k changes; what the models have for state k+1 means nothing, before and after. */
void sleepers_note(struct shared *shared, const uint32_t *models, uint32_t count, const uint32_t *statics, double dt,
	contact_notes *ret_notes);

#endif
