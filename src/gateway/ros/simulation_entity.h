/* What the services about entities share: models and actors as the last answer of the server has them (job->models),
 * poses of requests, filters, and spawning. Thread: that of the simulation (simulation.h). */
#ifndef GATEWAY_ROS_SIMULATION_ENTITY_H
#define GATEWAY_ROS_SIMULATION_ENTITY_H

#include "gateway/ros/simulation_job.h"
#include "geom/geom.h"

#include <regex.h>

typedef Troupe__Msgs__Models__Model model_t;

enum entity_category {
	ENTITY_OBJECT = 0,
	ENTITY_ROBOT = 1,
	ENTITY_HUMAN = 2,
	ENTITY_DYNAMIC_OBJECT = 4,
	ENTITY_STATIC_OBJECT = 5,
	ENTITY_CATEGORIES = 6,
};

/* simulation_entities.c */
/* NULL: there is no such model; answers: which is answered. */
const model_t *entity_find(struct job *job, const char *name, bool answers);
struct pose entity_pose(const model_t *model);
enum entity_category entity_category(const model_t *model);
/* Whether the frame is that of the world: "", "world" or the world's name. */
bool entity_is_world_frame(const struct job *job, const char *frame);
/* False: not three numbers. */
bool entity_read_vector(const json_t *vector, struct vec3 *ret_vector);
/* The error; NULL: it is sound. */
const char *entity_read_pose(const json_t *pose, struct pose *ret_pose);
struct entity_pose_parts { /* what a message points to */
	Gz__Msgs__Vector3d position;
	Gz__Msgs__Quaternion orientation;
};
/* The message points to the parts afterwards. */
void entity_fill_pose(struct pose pose, struct entity_pose_parts *parts, Gz__Msgs__Pose *message);

/* simulation_filter.c: an EntityFilters */
struct entity_filter {
	bool has_name, has_categories;
	regex_t name;
	bool categories[256];
	struct job_tags tags;
	int bounds; /* JOB_BOUNDS_... */
	struct aabb box;
	struct vec3 centre;
	double radius;
};
/* The member "filters" of the request. False: it is answered, and there is nothing to free. */
bool entity_filter_read(struct job *job, struct entity_filter *filter);
void entity_filter_fini(struct entity_filter *filter);
/* Whether the model passes. With bounds, the models must have their boxes. */
bool entity_filter_passes(const struct entity_filter *filter, const model_t *model);

/* simulation_spawn.c: SpawnEntity and SpawnEntities */
job_fn entity_spawn;

#endif
