/* An action for nodes of ROS 2: see services.h. */
#ifndef GATEWAY_DDS_ACTION_H
#define GATEWAY_DDS_ACTION_H

#include "gateway/dds/services.h"

struct action;

/* name: "/simulate_steps", as the simulation has it; shown: as nodes see it; type: "simulation_interfaces/action/
 * SimulateSteps". why[GLUE_WHY_BYTES] is "", or says why parts of it are missing. */
struct action *action_open(const struct services_def *def, struct rpc *rpc, const char *name, const char *shown,
	const char *type, char *why);
void action_turn(struct action *action);
uint32_t action_ends(const struct action *action, struct graph_end *ret_ends); /* of its topics; NULL: how many */
bool action_is_named(const struct action *action, const char *name);
/* After the simulation was destroyed, or has this action no more; before the rpc. */
void action_destroy(struct action *action);

#endif
