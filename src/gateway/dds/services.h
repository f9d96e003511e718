/* The services and the action of gateway/ros/simulation.h for nodes of ROS 2 (rpc.h). An action NAME is three services
 * and two topics, as ROS 2 has actions: NAME/_action/send_goal, get_result, cancel_goal, feedback and status. Each goal
 * is accepted, except for a second one with the same id, beyond SERVICES_GOALS_MAX, and where the action decides it
 * (goals of trajectories); whether it can be done says its result. A goal is cancelled when its client goes. The time
 * of all goals is 0: nothing here tells the time.
 *
 * One thread at a time. */
#ifndef GATEWAY_DDS_SERVICES_H
#define GATEWAY_DDS_SERVICES_H

#include "gateway/dds/rpc.h"
#include "gateway/ros/simulation.h"

enum {
	SERVICES_GOALS_MAX = 32,  /* of an action, with those that are over and whose results are kept */
	SERVICES_ASKERS_MAX = 16, /* that wait for the result of one goal */
};

struct services;

struct services_def {
	const struct glue *glue;
	struct glue_node *node;
	struct simulation *simulation;
	bool humble; /* the nodes' release of ROS 2 (gateway/ros/humble.h) */
	/* What is wrong, as one line, once for each cause. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* What of def is pointed to is used until services_destroy(). A service for which DDS has no place is left out, and it
 * is said. */
struct services *services_create(const struct services_def *def);
/* The simulation must be destroyed before: it may not answer any more. NULL is fine. */
void services_destroy(struct services *services);
/* The simulation may have other services now: they are opened and closed. */
void services_look(struct services *services);
/* Hears requests, and sends what can be sent now. */
void services_turn(struct services *services);
uint32_t services_ends(const struct services *services, struct graph_end *ret_ends); /* as rpc_ends(), and topics */
/* Of the requests so far: how many had a client, and how many were no requests at all. */
void services_counts(const struct services *services, uint64_t *ret_taken, uint64_t *ret_refused);

#endif
