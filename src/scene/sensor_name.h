/* Names of the topics of sensors, as Gazebo's. Pure; the texts are in the arena. */
#ifndef SCENE_SENSOR_NAME_H
#define SCENE_SENSOR_NAME_H

#include "scene/scene.h"

/* The topic that the file gives the sensor; NULL: none. */
const char *sensor_name_given(struct arena *arena, const struct sdf_sensor *sensor);
/* The beginning of its topics, if it has no <topic>: "/world/w/model/m/link/l/sensor/s". world: the description that
 * has the sensor. */
const char *sensor_name_path(
	struct arena *arena, const struct scene *scene, const struct sdf_world *world, const struct sdf_sensor *sensor);

/* The topic on which a camera waits for a trigger; NULL: it waits for none. */
const char *sensor_name_trigger(
	struct arena *arena, const struct scene *scene, const struct sdf_world *world, const struct sdf_sensor *sensor);

#endif
