/* Cameras that wait for a trigger. Such a camera has no plug-in; so that commands find it by its topic, its model gets
 * a system that listens to it. The tag of a topic is the place of the camera in the sensors of the model's description.
 */
#ifndef SYSTEM_CAMERA_TRIGGER_H
#define SYSTEM_CAMERA_TRIGGER_H

#include "system/system.h"

/* Adds the topics of the model's cameras that wait; it has none when system->topics stays empty. */
void camera_trigger_configure(struct system *system, struct arena *arena);
extern const struct troupe_kind camera_trigger_kind;

/* The camera that the listener means; NULL: the listener is no trigger. */
const struct sdf_sensor *camera_trigger_of(const struct systems *systems, const struct system_listener *listener);

#endif
