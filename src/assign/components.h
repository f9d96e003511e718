/* Which loaded models and levels must be simulated together: sets that grow by joining, numbered from 0 when all is
 * joined. Pure; memory grows to the largest world seen and is then reused, so that a warm step allocates nothing.
 *
 *   components_begin(&c, models, levels);
 *   components_join_models(&c, 3, 7);                 in touch, or tied by a joint
 *   components_join_level(&c, 3, 0);                  model 3 is in level 0, or named by it
 *   count = components_finish(&c, model_loaded, level_loaded);
 *
 * The numbers do not depend on the order of the joins. Thread: one owner. */
#ifndef ASSIGN_COMPONENTS_H
#define ASSIGN_COMPONENTS_H

#include "base/base.h"

enum { COMPONENTS_NONE = UINT32_MAX };

struct components { /* zeroed is ready */
	/* results of components_finish(), valid until the next components_begin(): the component of each model and
	 * level, COMPONENTS_NONE for what is not loaded */
	uint32_t *model_component, *level_component;

	/* private */
	uint32_t model_count, level_count, room;
	uint32_t *parent; /* models, then levels: a node of the same set with a lower number; a root is its own */
	uint32_t *number; /* results; model_component and level_component point into it */
	uint32_t *of_root;
};

/* Every model and level by itself. */
void components_begin(struct components *components, uint32_t model_count, uint32_t level_count);
/* Joining twice, or a node to itself, changes nothing. A node that is not loaded still ties those that are joined
 * to it: do not join what is not there. Each join is O(log n) at worst, on average nearly constant. */
void components_join_models(struct components *components, uint32_t a, uint32_t b);
void components_join_level(struct components *components, uint32_t model, uint32_t level);
/* Numbers the sets that hold something loaded, in order of their lowest loaded node: models by index, then levels.
 * Returns how many there are. Once for each components_begin(); nothing is joined after it. */
uint32_t components_finish(struct components *components, const bool *model_loaded, const bool *level_loaded);
void components_fini(struct components *components);

#endif
