/* Disjoint sets of models that grow by joining: models that touch in this step (sleep.c), and models that are to
 * share a group (group.c). Zeroed is ready; memory grows to the largest world seen and is reused. Thread: one owner. */
#ifndef PHYSICS_SETS_H
#define PHYSICS_SETS_H

#include "base/indices.h"

struct sets {
	/* After sets_order(): the models, set by set, ascending within each; set i begins at first.at[i] and ends where
	 * the next begins. Sets are in the order of their lowest model. */
	VEC(uint32_t) order;
	VEC(uint32_t) first; /* number of sets plus one; the last is order.count */

	/* private */
	uint32_t *root, *place; /* [room], by model */
	uint32_t room;
};

void sets_fini(struct sets *sets);
/* Makes one set of each model. model_room: above all model indices. */
void sets_begin(struct sets *sets, const indices *models, uint32_t model_room);
void sets_join(struct sets *sets, uint32_t a, uint32_t b);
/* The lowest model of the set. */
uint32_t sets_root(struct sets *sets, uint32_t model);
void sets_order(struct sets *sets, const indices *models);

static inline uint32_t sets_count(const struct sets *sets)
{
	return sets->first.count ? sets->first.count - 1 : 0;
}

#endif
