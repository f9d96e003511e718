/* The triangles of meshes, heightmaps and polylines, as JSON, kept from one scene to the next. One thread at a time. */
#ifndef GATEWAY_ROS_STAGE_SHELLS_H
#define GATEWAY_ROS_STAGE_SHELLS_H

#include "base/map.h"
#include "gateway/ros/stage.h"

struct stage_shell { /* a mesh or heightmap */
	char *key;
	uint32_t triangles; /* 0: it cannot be shown */
	struct text json;   /* members of a list of triangles, with a comma before them */
};

struct stage_shells;

/* As of stage_create(). */
struct stage_shells *stage_shells_create(stage_mesh_fn *fn, void *ctx);
void stage_shells_destroy(struct stage_shells *shells);
/* Reads the geometry if it is new; one that cannot be read is kept, too, so that it is tried once. Valid until the next
 * call. NULL: none can be read. */
const struct stage_shell *stage_shells_find(struct stage_shells *shells, const Gz__Msgs__Geometry *geometry);

#endif
