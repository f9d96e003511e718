/* The services of simulation_interfaces, as simulation.c, which gives each request to a job, and simulation_job.c,
 * which has what jobs ask and answer, share them. One thread. */
#ifndef GATEWAY_ROS_SIMULATION_INTERNAL_H
#define GATEWAY_ROS_SIMULATION_INTERNAL_H

#include "gateway/ros/simulation_job.h"

struct simulation {
	struct simulation_def def;
	uint64_t tags;
	VEC(struct job_world *) worlds;
	VEC(struct job_part *) parts; /* of robots */
	struct job *jobs;
	uint32_t job_count;
	uint32_t watches;   /* jobs that watch a topic */
	uint64_t last_step; /* of a reply: replies overtake messages of the states before them */
	char *client;       /* of the def */
};

/* Whether the row is an action, and not a service. */
bool job_is_action(const struct job_row *row);
/* Appends the JSON object with all fields of the type. */
troupe_status job_complete(const char *type, const json_t *json, struct text *out, struct troupe_error *error);

/* The call is done without a reply. why: NULL or "": what the status says. */
void job_refuse(struct job_sent *sent, troupe_status status, const char *why);
/* The reply is there: models become job->models. */
void job_keep_reply(struct job *job, struct job_sent *sent);
void job_drop_models(struct job *job);
/* Ends job_watch(). Other jobs may watch the same topic. */
void job_end_watch(struct job *job);

#endif
