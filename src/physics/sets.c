/* Union-find with path halving. The lowest model of a set is its root, so that results do not depend on the order of
 * joins. */
#include "physics/sets.h"

#include <stdlib.h>

void sets_fini(struct sets *sets)
{
	vec_free(&sets->order);
	vec_free(&sets->first);
	free(sets->root);
	free(sets->place);
}

void sets_begin(struct sets *sets, const indices *models, uint32_t model_room)
{
	if (model_room > sets->room) {
		sets->root = mem_realloc(sets->root, model_room * sizeof *sets->root);
		sets->place = mem_realloc(sets->place, model_room * sizeof *sets->place);
		sets->room = model_room;
	}
	for (uint32_t i = 0; i < models->count; i++)
		sets->root[models->at[i]] = models->at[i];
}

uint32_t sets_root(struct sets *sets, uint32_t model)
{
	uint32_t *root = sets->root;
	while (root[model] != model)
		model = root[model] = root[root[model]];
	return model;
}

void sets_join(struct sets *sets, uint32_t a, uint32_t b)
{
	a = sets_root(sets, a);
	b = sets_root(sets, b);
	sets->root[MAX(a, b)] = MIN(a, b);
}

/* A counting sort: a set is numbered by its lowest member, which comes first. */
void sets_order(struct sets *sets, const indices *models)
{
	uint32_t at = 0, *place = sets->place; /* at roots: the size of the set, then the place of its next member */
	sets->order.count = sets->first.count = 0;
	(void)vec_append(&sets->order, models->count);
	for (uint32_t i = 0; i < models->count; i++)
		place[models->at[i]] = 0;
	for (uint32_t i = 0; i < models->count; i++)
		place[sets_root(sets, models->at[i])]++;
	for (uint32_t i = 0; i < models->count; i++) {
		uint32_t model = models->at[i];
		if (sets_root(sets, model) != model)
			continue;
		uint32_t size = place[model];
		vec_push(&sets->first, at);
		place[model] = at;
		at += size;
	}
	vec_push(&sets->first, at);
	for (uint32_t i = 0; i < models->count; i++)
		sets->order.at[place[sets_root(sets, models->at[i])]++] = models->at[i];
}
