/* struct troupe_scene: the world as programs see it, made from the scene and its SDF. It is immutable, has copies
 * of all its data, and is reference-counted: the last release frees it, on any thread. */
#ifndef SERVER_SCENE_INFO_H
#define SERVER_SCENE_INFO_H

#include "mesh/mesh.h"
#include "scene/scene.h"
#include "sensor/sensor.h"
#include "server/link_frames.h"
#include "system/system.h"

#include <troupe/world.h>

/* The caller holds one reference. `world` is stored in handles. Thread: the primary's, between steps. */
const struct troupe_scene *scene_info_create(const struct scene *scene, const struct sensors *sensors,
	const struct systems *systems, uint32_t world, uint64_t epoch);
const struct troupe_scene *scene_info_hold(const struct troupe_scene *info);

/* Converts an index in the scene info to an index in the scene. */
uint32_t scene_info_model_at(const struct troupe_scene *info, uint32_t model);
uint32_t scene_info_link_at(const struct troupe_scene *info, uint32_t link);
uint32_t scene_info_joint_at(const struct troupe_scene *info, uint32_t joint);
/* The model in the description of the world's file; SDF_NONE: an actor, or a model that was created. */
uint32_t scene_info_sdf_model(const struct troupe_scene *info, uint32_t model);
bool scene_info_is_created(const struct troupe_scene *info, uint32_t model);
/* The link of the scene info that carries the frame of the model, which has links. */
uint32_t scene_info_canonical_link(const struct troupe_scene *info, uint32_t model);
/* Convert the other way. TROUPE_NONE: the scene info does not show it. */
uint32_t scene_info_model_of(const struct troupe_scene *info, uint32_t model);
uint32_t scene_info_shape_of_geom(const struct troupe_scene *info, uint32_t geom);

/* The frames that a world names for the messages of a sensor: <frame_id>, or as Gazebo reads it <gz_frame_id>, and for
 * pictures and their camera info <optical_frame_id>, or else the same. NULL: not named. */
struct scene_info_sensor_frames {
	const char *frame, *picture;
};
struct scene_info_sensor_frames scene_info_frames_of(const struct sdf_sensor *sensor);
/* The same of a sensor of the scene info, without the frames of which a system of its model tells where they are. */
struct scene_info_sensor_frames scene_info_untold_frames(const struct troupe_scene *info, uint32_t sensor);

/* The frames that stand in a link of the scene info, which a message of the scene names. */
struct link_frames scene_info_link_frames(const struct troupe_scene *info, uint32_t link);

/* A polyline of the scene info: its outlines, as the world's file has them, and its height in m. Points that are not
 * numbers in the file, and points beyond the limits of mesh_extrude(), are missing. No outlines: another shape. */
struct scene_info_polyline {
	const struct mesh_outline *outlines;
	uint32_t count;
	double height;
};
struct scene_info_polyline scene_info_polyline(const struct troupe_scene *info, uint32_t shape);

/* Whether snapshots and reports contain the model: models that can move, and performers. */
static inline bool scene_info_moves(const struct scene_model *model)
{
	return !model->absent && (model->performer || model->body_count);
}

/* Handles. `born` is the low half of the model's id. It is not repeated until 2^32 models have been made. */
static inline uint32_t scene_info_born(const struct scene *scene, uint32_t model)
{
	return (uint32_t)scene->models[model].id;
}
static inline troupe_model scene_info_model_handle(const struct scene *scene, uint32_t world, uint32_t model)
{
	return (troupe_model){model + 1, scene_info_born(scene, model), world};
}
static inline troupe_link scene_info_link_handle(const struct scene *scene, uint32_t world, uint32_t link)
{
	return (troupe_link){link + 1, scene_info_born(scene, scene->links[link].model), world};
}
static inline troupe_joint scene_info_joint_handle(const struct scene *scene, uint32_t world, uint32_t joint)
{
	return (troupe_joint){joint + 1, scene_info_born(scene, scene->joints[joint].model), world};
}
static inline troupe_sensor scene_info_sensor_handle(
	const struct scene *scene, uint32_t world, const struct sensor *sensor)
{
	return (troupe_sensor){sensor->model + 1, scene_info_born(scene, sensor->model), world, sensor->index};
}

#endif
