/* A policy needs the nodes of each component and the load of each secondary, in every step that changes something.
 * Both come from dense input arrays by one counting pass and one listing pass, so building is linear. All arrays lie
 * in one piece of scratch memory that only grows, so that a warm call allocates nothing. The counts of the
 * secondaries and the number of idle ones stay correct after every table_place(). */
#include "assign/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct carver {
	char *base; /* NULL: only measure */
	size_t used;
};

static void *assign_table_carve(struct carver *carver, size_t count, size_t item_bytes)
{
	size_t at = carver->used;
	carver->used += (count * item_bytes + 15) & ~(size_t)15;
	return carver->base ? carver->base + at : NULL;
}

static size_t assign_table_lay_out(struct table *table, char *base)
{
	struct carver carver = {.base = base};
	size_t secondaries = (size_t)table->input->secondaries + 1, components = table->input->component_count;
	size_t models = table->input->model_count, levels = table->input->level_count;
	/* what must be zero comes first, so that one memset does it */
	table->secondaries = assign_table_carve(&carver, secondaries, sizeof *table->secondaries);
	table->votes = assign_table_carve(&carver, secondaries, sizeof *table->votes);
	table->components = assign_table_carve(&carver, components, sizeof *table->components);
	size_t zeroed = carver.used;
	table->models = assign_table_carve(&carver, models, sizeof *table->models);
	table->levels = assign_table_carve(&carver, levels, sizeof *table->levels);
	table->by_secondary_a = assign_table_carve(&carver, secondaries, sizeof *table->by_secondary_a);
	table->by_secondary_b = assign_table_carve(&carver, secondaries, sizeof *table->by_secondary_b);
	table->by_secondary_c = assign_table_carve(&carver, secondaries, sizeof *table->by_secondary_c);
	table->by_component_a = assign_table_carve(&carver, components, sizeof *table->by_component_a);
	table->by_component_b = assign_table_carve(&carver, components, sizeof *table->by_component_b);
	table->by_node = assign_table_carve(&carver, models + levels + 1, sizeof *table->by_node);
	if (base)
		memset(base, 0, zeroed);
	return carver.used;
}

static void assign_table_reserve(struct assign_scratch *scratch, size_t bytes)
{
	if (bytes <= scratch->bytes)
		return;
	free(scratch->memory); /* its content means nothing, so it need not be copied */
	scratch->memory = mem_alloc(bytes);
	scratch->bytes = bytes;
}

static void assign_table_count_nodes(struct table *table)
{
	const struct assign_input *input = table->input;
	for (uint32_t m = 0; m < input->model_count; m++) {
		if (input->model_component[m] == TABLE_NONE)
			continue;
		assert(input->model_component[m] < input->component_count);
		struct table_component *component = &table->components[input->model_component[m]];
		component->models++;
		component->movers += input->model_is_mover[m];
		component->entered |= input->model_is_mover[m] && input->model_entered[m];
	}
	for (uint32_t l = 0; l < input->level_count; l++) {
		if (input->level_component[l] == TABLE_NONE)
			continue;
		assert(input->level_component[l] < input->component_count);
		table->components[input->level_component[l]].levels++;
	}
}

/* Movers come first in each component's list, so that "the lowest mover" is its first entry. */
static void assign_table_list_nodes(struct table *table)
{
	const struct assign_input *input = table->input;
	uint32_t *next_mover = table->by_component_a, *next_cargo = table->by_component_b;
	uint32_t models = 0, levels = 0;
	for (uint32_t c = 0; c < input->component_count; c++) {
		struct table_component *component = &table->components[c];
		component->models_at = models;
		component->levels_at = levels;
		next_mover[c] = models;
		next_cargo[c] = models + component->movers;
		models += component->models;
		levels += component->levels;
	}
	for (uint32_t m = 0; m < input->model_count; m++)
		if (input->model_component[m] != TABLE_NONE) {
			uint32_t *next = input->model_is_mover[m] ? next_mover : next_cargo;
			table->models[next[input->model_component[m]]++] = m;
		}
	uint32_t *next_level = table->by_component_a;
	for (uint32_t c = 0; c < input->component_count; c++)
		next_level[c] = table->components[c].levels_at;
	for (uint32_t l = 0; l < input->level_count; l++)
		if (input->level_component[l] != TABLE_NONE)
			table->levels[next_level[input->level_component[l]]++] = l;
}

static void assign_table_count_others(struct table *table)
{
	const struct assign_load *others = table->input->others;
	for (uint32_t s = 1; others && s <= table->input->secondaries; s++) {
		table->secondaries[s] =
			(struct table_secondary){.models = others[s].models, .components = others[s].components};
		table->idle -= others[s].models > 0;
	}
}

void table_build(
	struct table *table, const struct assign_input *input, struct assignment *now, struct assign_scratch *scratch)
{
	assert(input->secondaries >= 1 && input->secondaries <= TROUPE_SECONDARIES_MAX);
	assert(input->model_count < UINT32_MAX - input->level_count);
	*table = (struct table){.input = input, .now = now, .idle = input->secondaries};
	assign_table_reserve(scratch, assign_table_lay_out(table, NULL));
	assign_table_lay_out(table, scratch->memory);
	assign_table_count_others(table);
	assign_table_count_nodes(table);
	assign_table_list_nodes(table);
}

void table_place(struct table *table, uint32_t component, uint32_t secondary)
{
	struct table_component *placed = &table->components[component];
	if (placed->secondary != ASSIGN_NONE) {
		struct table_secondary *from = &table->secondaries[placed->secondary];
		table->idle += placed->models > 0 && from->models == placed->models;
		from->models -= placed->models;
		from->movers -= placed->movers;
		from->components -= placed->movers > 0;
	}
	struct table_secondary *to = &table->secondaries[secondary];
	table->idle -= placed->models > 0 && to->models == 0;
	to->models += placed->models;
	to->movers += placed->movers;
	to->components += placed->movers > 0;
	placed->secondary = secondary;
}

uint32_t table_known(const struct table *table, uint32_t secondary)
{
	return secondary <= table->input->secondaries ? secondary : ASSIGN_NONE;
}

void table_commit(const struct table *table)
{
	const struct assign_input *input = table->input;
	for (uint32_t m = 0; m < input->model_count; m++) {
		uint32_t component = input->model_component[m];
		table->now->component_of[m] = component;
		table->now->model[m] = component == TABLE_NONE ? ASSIGN_NONE : table->components[component].secondary;
		if (component == TABLE_NONE)
			table->now->home[m] = ASSIGN_NONE;
	}
	for (uint32_t l = 0; l < input->level_count; l++) {
		uint32_t component = input->level_component[l];
		table->now->level[l] = component == TABLE_NONE ? ASSIGN_NONE : table->components[component].secondary;
	}
}
