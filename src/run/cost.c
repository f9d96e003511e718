/* Samples are rare (one step in many) and noisy, and a wrong cost makes the policy move models, so a sample counts for
 * little and an extreme one for less. */
#include "run/cost.h"

#include <stdlib.h>
#include <string.h>

enum { SMOOTHING = 4, SURGE_MAX = 4 };

void cost_fit(struct model_costs *costs, uint32_t models)
{
	if (models <= costs->room)
		return;
	MEM_FIT(costs->ns, costs->room, models);
	memset(costs->ns + costs->room, 0xff, (models - costs->room) * sizeof *costs->ns); /* COST_UNKNOWN */
	MEM_FIT(costs->sense_ns, costs->room, models);
	MEM_FIT(costs->sensed_at, costs->room, models);
	costs->room = models;
}

void cost_fini(struct model_costs *costs)
{
	free(costs->ns);
	free(costs->sense_ns);
	free(costs->sensed_at);
	*costs = (struct model_costs){0};
}

void cost_forget(struct model_costs *costs, uint32_t model)
{
	costs->ns[model] = COST_UNKNOWN;
	costs->sense_ns[model] = 0;
}

void cost_learn_sensing(struct model_costs *costs, uint32_t model, uint64_t k, uint64_t sample_ns)
{
	uint64_t steps = k > costs->sensed_at[model] ? k - costs->sensed_at[model] : 1;
	uint64_t mean = MIN(sample_ns / steps, UINT32_MAX / 2), known = costs->sense_ns[model];
	costs->sense_ns[model] = (uint32_t)(known ? (mean + (SMOOTHING - 1) * known) / SMOOTHING : mean);
	costs->sensed_at[model] = k;
}

void cost_learn(struct model_costs *costs, uint32_t model, uint64_t sample_ns)
{
	uint64_t known = costs->ns[model], sample = MIN(MAX(sample_ns, 1u), UINT32_MAX - 1);
	if (known && known != COST_UNKNOWN) {
		sample = MIN(sample, SURGE_MAX * known);
		sample = (sample + (SMOOTHING - 1) * known) / SMOOTHING;
	}
	costs->ns[model] = (uint32_t)sample;
}

uint32_t cost_of_body(const struct model_costs *costs, const struct scene *scene, const bool *chosen)
{
	uint64_t cost = 0, bodies = 0;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (chosen[m] && costs->ns[m] && costs->ns[m] != COST_UNKNOWN) {
			cost += costs->ns[m];
			bodies += scene->models[m].body_count;
		}
	return bodies ? (uint32_t)MIN(cost / bodies, UINT32_MAX / 2) : COST_BODY_NS;
}
