/* A world as the 3D panel of Foxglove shows it: its shapes as foxglove.SceneUpdate (JSON), and the frames in which they
 * stand as tf2_msgs/msg/TFMessage (CDR, see ros.h). Shapes are sent when models come or go, frames when they move.
 *
 * Frames: the world has its own name; a model that can move has its name, a link of it MODEL::LINK. (A link has not the
 * name MODEL/LINK that Gazebo's plug-ins give it in their transforms, because a frame has one parent, and a robot's
 * odometry gives it another one.) A sensor of a link has the frame that its messages have, MODEL/LINK/SENSOR; a camera
 * has FRAME/optical, too, in which its pictures are (parts.h). Names that the world gives these frames (frame_id and
 * optical_frame_id in the header of the scene's sensor) are frames in the same place, unless something else has the
 * name; the first of two sensors counts. A camera's only name is that of its pictures' frame, but for cameras that give
 * points, too. Static models stand in the frame of the world.
 *
 * Shown are boxes, spheres, cylinders, cones, capsules, ellipsoids and planes (as thin boxes), of visuals, or of
 * collisions where a link has no visual; and meshes, heightmaps and polylines as triangles, as many as the limits
 * allow, those that come first in the scene.
 *
 * One thread at a time. */
#ifndef GATEWAY_ROS_STAGE_H
#define GATEWAY_ROS_STAGE_H

#include "base/text.h"
#include "topic/scene.pb-c.h"

struct stage;

extern const char stage_schema_name[]; /* "foxglove.SceneUpdate" */
extern const char stage_schema[];      /* its JSON schema (encoding "jsonschema"), as far as a stage fills it in */

enum {
	STAGE_SHAPE_TRIANGLES_MAX = 50000, /* a mesh or heightmap that has more is not shown */
	STAGE_TRIANGLES_MAX = 200000,      /* of all shapes of a scene */
	STAGE_KEPT_BYTES_MAX = 64 << 20,   /* of meshes that are kept, as text, for the next scene */
};

/* Appends the troupe.msgs.Mesh of a mesh, heightmap or polyline. Called during stage_take_scene(), once for each that
 * is new. */
typedef troupe_status stage_mesh_fn(
	void *ctx, const Gz__Msgs__Geometry *geometry, struct text *mesh, struct troupe_error *error);

/* world: its name, and that of its frame. fn may be NULL: no meshes and heightmaps. */
struct stage *stage_create(const char *world, stage_mesh_fn *fn, void *ctx);
void stage_destroy(struct stage *stage);

/* Takes a message of /world/NAME/scene/info, gz.msgs.Scene as bytes, and appends the SceneUpdate, which replaces all
 * shapes that were sent before. TROUPE_ECOMMAND: the bytes are no such message; nothing is appended. */
troupe_status stage_take_scene(
	struct stage *stage, const void *bytes, size_t count, struct text *json, struct troupe_error *error);
/* Takes a message of /world/NAME/dynamic_pose/info or pose/info, gz.msgs.Pose_V, and appends the TFMessage with the
 * frames of the scene taken last; nothing, if there are none yet. */
troupe_status stage_take_poses(
	struct stage *stage, const void *bytes, size_t count, struct text *cdr, struct troupe_error *error);

#endif
