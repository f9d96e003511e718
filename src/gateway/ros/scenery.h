/* The scenery of a world: two topics that no server publishes, its shapes and its frames for 3D panels, which are made
 * of two that it publishes (gateway/ros/stage.h). One thread at a time. */
#ifndef GATEWAY_ROS_SCENERY_H
#define GATEWAY_ROS_SCENERY_H

#include "gateway/ros/stage.h"

#include <troupe/client.h>

struct scenery {
	char *scene, *poses;   /* topics of the server: /world/W/scene/info, /world/W/dynamic_pose/info */
	char *shapes, *frames; /* made of them: /world/W/stage, /world/W/stage/tf */
	struct stage *stage;
};

/* folder: "/world/W", as names of topics have it; world, fn and ctx: as for stage_create(). */
struct scenery scenery_make(const char *folder, const char *world, stage_mesh_fn *fn, void *ctx);
void scenery_fini(struct scenery *scenery);

/* Reads the meshes of a server: a stage_mesh_fn whose ctx is the server. By the name that the scene's message gives:
 * which shapes the present scene has depends on how far the step is. */
troupe_status scenery_read_mesh(
	void *server, const Gz__Msgs__Geometry *geometry, struct text *mesh, struct troupe_error *error);

/* Takes a message of `scene` or `poses`: appends the message of `shapes`, or that of `frames`, or nothing. Errors as of
 * stage_take_scene(). */
troupe_status scenery_take(
	struct scenery *scenery, const struct troupe_message *message, struct text *out, struct troupe_error *error);

#endif
