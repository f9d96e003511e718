/* The cost of a step of each model: the secondary that simulates the model measures it, and it is smoothed over the
 * samples. The assignment by cost and the table of --costs read it; no bit of a state depends on it. */
#ifndef RUN_COST_H
#define RUN_COST_H

#include "scene/scene.h"

enum {
	COST_UNKNOWN = UINT32_MAX, /* the model was never measured */
	COST_BODY_NS = 3000,       /* guess for a body while no model has been measured */
};

struct model_costs {
	uint32_t *ns; /* [room] COST_UNKNOWN; 0: asleep */
	/* [room] what its sensors that see the world cost, averaged over the steps between their samples; and the step
	 * of the last one. Writer: the secondary that simulates the model. */
	uint32_t *sense_ns;
	uint64_t *sensed_at;
	uint32_t room;
};

/* Grows to `models` models; the cost of a new one is unknown. Zeroed is empty. */
void cost_fit(struct model_costs *costs, uint32_t models);
void cost_fini(struct model_costs *costs);

/* Another model comes in this place. */
void cost_forget(struct model_costs *costs, uint32_t model);
/* A sample has weight 1/4, and is limited to four times the known cost: the thread may have waited for a core during
 * the sample. */
void cost_learn(struct model_costs *costs, uint32_t model, uint64_t sample_ns);
/* Its sensors took samples in step k, in this time. */
void cost_learn_sensing(struct model_costs *costs, uint32_t model, uint64_t k, uint64_t sample_ns);
/* A value that another process has smoothed already; 0: asleep. */
static inline void cost_set(struct model_costs *costs, uint32_t model, uint32_t ns)
{
	costs->ns[model] = ns;
}

/* ns per body: the mean over these models with a known cost that are not asleep; COST_BODY_NS when there is none.
 * chosen: [scene->model_count]. */
uint32_t cost_of_body(const struct model_costs *costs, const struct scene *scene, const bool *chosen);

#endif
