/* The parts of a model whose poses a system publishes (TROUPE_GIVES_POSES, TROUPE_GIVES_POSE): the model in the world,
 * and links, collisions, visuals and sensors in their parents. */
#ifndef SERVER_POSE_PARTS_H
#define SERVER_POSE_PARTS_H

#include "server/capture.h"
#include "topic/scene.pb-c.h"

/* The numbers of the parts of a model are 0 .. the result - 1. Two views in which the model is the same agree. */
uint32_t pose_parts_count(const struct troupe_scene *scene, uint32_t model);
/* NULL: the part is not among those of `of`, the bits of troupe_output.of. */
Gz__Msgs__Pose *pose_parts_encode(
	struct arena *arena, const struct capture *capture, uint32_t model, uint32_t part, uint32_t of);

#endif
