/* Finds all components of a world at once, for programs that make worlds for the policies: begin, join, finish.
 * Components are numbered in the order of their lowest loaded nodes, models before levels. */
#ifndef BENCH_JOINED_H
#define BENCH_JOINED_H

#include "assign/components.h"

#include <stdlib.h>

struct joined { /* zeroed is ready */
	struct components components;
	uint32_t models, levels;
	/* of joined_finish(): the component of each model and level; COMPONENTS_NONE: not loaded */
	uint32_t *model_component, *level_component;
};

static inline void joined_begin(struct joined *joined, uint32_t models, uint32_t levels)
{
	if (!joined->components.owned)
		components_init(&joined->components, 1);
	components_fit(&joined->components, models + levels);
	components_reset(&joined->components);
	if (models + levels > joined->models + joined->levels || !joined->model_component)
		joined->model_component =
			mem_realloc(joined->model_component, (models + levels + 1) * sizeof(uint32_t));
	joined->level_component = joined->model_component + models;
	joined->models = models;
	joined->levels = levels;
}

static inline void joined_models(struct joined *joined, uint32_t a, uint32_t b)
{
	if (a != b)
		components_link(&joined->components, a, b);
}

static inline void joined_level(struct joined *joined, uint32_t model, uint32_t level)
{
	components_link(&joined->components, model, joined->models + level);
}

static inline uint32_t joined_finish(struct joined *joined, const bool *model_loaded, const bool *level_loaded)
{
	uint32_t count = 0, models = joined->models;
	for (uint32_t i = 0; i < models + joined->levels; i++)
		joined->model_component[i] =
			(i < models ? model_loaded[i] : level_loaded[i - models])
				? components_number(&joined->components, joined->components.of[i], &count)
				: COMPONENTS_NONE;
	components_forget_numbers(&joined->components);
	return count;
}

static inline void joined_fini(struct joined *joined)
{
	if (joined->components.owned)
		components_fini(&joined->components);
	free(joined->model_component);
	*joined = (struct joined){0};
}

#endif
