/* The names of the topics stand here, and what a topic is made of; who subscribes to what is the gateway's. */
#include "gateway/ros/scenery.h"

#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

struct scenery scenery_make(const char *folder, const char *world, stage_mesh_fn *fn, void *ctx)
{
	return (struct scenery){.scene = mem_printf("%s/scene/info", folder),
		.poses = mem_printf("%s/dynamic_pose/info", folder),
		.shapes = mem_printf("%s/stage", folder),
		.frames = mem_printf("%s/stage/tf", folder),
		.stage = stage_create(world, fn, ctx)};
}

void scenery_fini(struct scenery *scenery)
{
	free(scenery->scene);
	free(scenery->poses);
	free(scenery->shapes);
	free(scenery->frames);
	stage_destroy(scenery->stage);
}

static void ros_scenery_take_mesh(void *ctx, const void *bytes, size_t count)
{
	text_add_bytes(ctx, bytes, count);
}

troupe_status scenery_read_mesh(
	void *server, const Gz__Msgs__Geometry *geometry, struct text *mesh, struct troupe_error *error)
{
	struct text request = {0};
	message_add_bytes(&request, &geometry->base);
	troupe_status status = troupe_geometry_triangles(
		server, request.at ? request.at : "", request.count, ros_scenery_take_mesh, mesh, error);
	text_fini(&request);
	return status;
}

troupe_status scenery_take(
	struct scenery *scenery, const struct troupe_message *message, struct text *out, struct troupe_error *error)
{
	bool is_scene = !strcmp(message->topic, scenery->scene);
	return (is_scene ? stage_take_scene : stage_take_poses)(
		scenery->stage, message->bytes ? message->bytes : "", message->count, out, error);
}
