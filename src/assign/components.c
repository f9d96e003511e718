/* Union-find, paths halved on the way. Which node is a set's root leaves no trace: numbers are given in node order. */
#include "assign/components.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct components *components, uint32_t count)
{
	if (count <= components->room)
		return;
	components->parent = mem_realloc(components->parent, count * sizeof *components->parent);
	components->number = mem_realloc(components->number, count * sizeof *components->number);
	components->of_root = mem_realloc(components->of_root, count * sizeof *components->of_root);
	components->room = count;
}

void components_begin(struct components *components, uint32_t model_count, uint32_t level_count)
{
	assert(model_count <= UINT32_MAX - 1 - level_count);
	uint32_t count = model_count + level_count;
	reserve(components, count);
	components->model_count = model_count;
	components->level_count = level_count;
	components->model_component = components->level_component = NULL;
	for (uint32_t i = 0; i < count; i++)
		components->parent[i] = i;
}

static uint32_t root_of(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node)
		node = parent[node] = parent[parent[node]];
	return node;
}

static void join(struct components *components, uint32_t a, uint32_t b)
{
	uint32_t root_a = root_of(components->parent, a), root_b = root_of(components->parent, b);
	components->parent[MAX(root_a, root_b)] = MIN(root_a, root_b);
}

void components_join_models(struct components *components, uint32_t a, uint32_t b)
{
	assert(a < components->model_count && b < components->model_count);
	join(components, a, b);
}

void components_join_level(struct components *components, uint32_t model, uint32_t level)
{
	assert(model < components->model_count && level < components->level_count);
	join(components, model, components->model_count + level);
}

uint32_t components_finish(struct components *components, const bool *model_loaded, const bool *level_loaded)
{
	uint32_t count = 0, models = components->model_count, nodes = models + components->level_count;
	if (nodes)
		memset(components->of_root, 0xff, nodes * sizeof *components->of_root);
	for (uint32_t i = 0; i < nodes; i++) {
		components->number[i] = COMPONENTS_NONE;
		if (!(i < models ? model_loaded[i] : level_loaded[i - models]))
			continue;
		uint32_t *of_root = &components->of_root[root_of(components->parent, i)];
		if (*of_root == COMPONENTS_NONE)
			*of_root = count++;
		components->number[i] = *of_root;
	}
	components->model_component = components->number;
	components->level_component = nodes ? components->number + models : NULL;
	return count;
}

void components_fini(struct components *components)
{
	free(components->parent);
	free(components->number);
	free(components->of_root);
	*components = (struct components){0};
}
