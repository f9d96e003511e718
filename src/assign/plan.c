#include "assign/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct carver {
	char *base; /* NULL: only measure */
	size_t used;
};

static void *carve(struct carver *carver, size_t count, size_t item_bytes)
{
	size_t at = carver->used;
	carver->used += (count * item_bytes + 15) & ~(size_t)15;
	return carver->base ? carver->base + at : NULL;
}

static size_t lay_out(struct plan *plan, char *base)
{
	struct carver carver = {.base = base};
	size_t secondaries = (size_t)plan->input->secondaries + 1, components = plan->input->component_count;
	size_t models = plan->input->model_count, levels = plan->input->level_count;
	/* what must be zero comes first, so that one memset does it */
	plan->secondaries = carve(&carver, secondaries, sizeof *plan->secondaries);
	plan->votes = carve(&carver, secondaries, sizeof *plan->votes);
	plan->components = carve(&carver, components, sizeof *plan->components);
	size_t zeroed = carver.used;
	plan->models = carve(&carver, models, sizeof *plan->models);
	plan->levels = carve(&carver, levels, sizeof *plan->levels);
	plan->by_secondary_a = carve(&carver, secondaries, sizeof *plan->by_secondary_a);
	plan->by_secondary_b = carve(&carver, secondaries, sizeof *plan->by_secondary_b);
	plan->by_secondary_c = carve(&carver, secondaries, sizeof *plan->by_secondary_c);
	plan->by_component_a = carve(&carver, components, sizeof *plan->by_component_a);
	plan->by_component_b = carve(&carver, components, sizeof *plan->by_component_b);
	plan->by_node = carve(&carver, models + levels + 1, sizeof *plan->by_node);
	if (base)
		memset(base, 0, zeroed);
	return carver.used;
}

static void reserve(struct assign_scratch *scratch, size_t bytes)
{
	if (bytes <= scratch->bytes)
		return;
	free(scratch->memory); /* its content means nothing, so it need not be copied */
	scratch->memory = mem_alloc(bytes);
	scratch->bytes = bytes;
}

static void count_nodes(struct plan *plan)
{
	const struct assign_input *input = plan->input;
	for (uint32_t m = 0; m < input->model_count; m++) {
		if (input->model_component[m] == PLAN_NONE)
			continue;
		assert(input->model_component[m] < input->component_count);
		struct plan_component *component = &plan->components[input->model_component[m]];
		component->models++;
		component->movers += input->model_is_mover[m];
		component->entered |= input->model_is_mover[m] && input->model_entered[m];
	}
	for (uint32_t l = 0; l < input->level_count; l++) {
		if (input->level_component[l] == PLAN_NONE)
			continue;
		assert(input->level_component[l] < input->component_count);
		plan->components[input->level_component[l]].levels++;
	}
}

/* Movers come first in each component's list, so that "the lowest mover" is its first entry. */
static void list_nodes(struct plan *plan)
{
	const struct assign_input *input = plan->input;
	uint32_t *next_mover = plan->by_component_a, *next_cargo = plan->by_component_b;
	uint32_t models = 0, levels = 0;
	for (uint32_t c = 0; c < input->component_count; c++) {
		struct plan_component *component = &plan->components[c];
		component->models_at = models;
		component->levels_at = levels;
		next_mover[c] = models;
		next_cargo[c] = models + component->movers;
		models += component->models;
		levels += component->levels;
	}
	for (uint32_t m = 0; m < input->model_count; m++)
		if (input->model_component[m] != PLAN_NONE) {
			uint32_t *next = input->model_is_mover[m] ? next_mover : next_cargo;
			plan->models[next[input->model_component[m]]++] = m;
		}
	uint32_t *next_level = plan->by_component_a;
	for (uint32_t c = 0; c < input->component_count; c++)
		next_level[c] = plan->components[c].levels_at;
	for (uint32_t l = 0; l < input->level_count; l++)
		if (input->level_component[l] != PLAN_NONE)
			plan->levels[next_level[input->level_component[l]]++] = l;
}

void plan_build(
	struct plan *plan, const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch)
{
	assert(input->secondaries >= 1 && input->secondaries <= ASSIGN_SECONDARIES_MAX);
	assert(input->model_count < UINT32_MAX - input->level_count);
	*plan = (struct plan){.input = input, .now = now, .idle = input->secondaries};
	reserve(scratch, lay_out(plan, NULL));
	lay_out(plan, scratch->memory);
	count_nodes(plan);
	list_nodes(plan);
}

void plan_place(struct plan *plan, uint32_t component, uint32_t secondary)
{
	struct plan_component *placed = &plan->components[component];
	if (placed->secondary != ASSIGN_NONE) {
		struct plan_secondary *from = &plan->secondaries[placed->secondary];
		plan->idle += placed->models > 0 && from->models == placed->models;
		from->models -= placed->models;
		from->movers -= placed->movers;
		from->components -= placed->movers > 0;
	}
	struct plan_secondary *to = &plan->secondaries[secondary];
	plan->idle -= placed->models > 0 && to->models == 0;
	to->models += placed->models;
	to->movers += placed->movers;
	to->components += placed->movers > 0;
	placed->secondary = secondary;
}

uint32_t plan_known(const struct plan *plan, uint32_t secondary)
{
	return secondary <= plan->input->secondaries ? secondary : ASSIGN_NONE;
}

void plan_commit(const struct plan *plan)
{
	const struct assign_input *input = plan->input;
	for (uint32_t m = 0; m < input->model_count; m++) {
		uint32_t component = input->model_component[m];
		plan->now->component_of[m] = component;
		plan->now->model[m] = component == PLAN_NONE ? ASSIGN_NONE : plan->components[component].secondary;
		if (component == PLAN_NONE)
			plan->now->home[m] = ASSIGN_NONE;
	}
	for (uint32_t l = 0; l < input->level_count; l++) {
		uint32_t component = input->level_component[l];
		plan->now->level[l] = component == PLAN_NONE ? ASSIGN_NONE : plan->components[component].secondary;
	}
}
