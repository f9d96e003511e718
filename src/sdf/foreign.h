/* Plug-ins that ROS has for Gazebo: drives, controllers and sensors (libgazebo_ros_*.so, ros2_control). They are
 * libraries of programs that are not here, so a model gets the systems and settings that do the same, with the
 * parameters of the plug-in. src/doc/reference/gazebo.md, "Plug-ins of ROS", has the list for users. */
#ifndef SDF_FOREIGN_H
#define SDF_FOREIGN_H

#include "sdf/load.h"

/* The model with <plugin>s of systems in place of those of ROS; `model` itself if it has none. A new element has the
 * file and line of the element that it was made from. What has no counterpart is named in a warning with its line.
 * Includes must have been expanded. */
const struct sdf_element *foreign_model(struct load *load, const struct sdf_element *model);
/* The world without the plug-ins whose work a run does by itself. */
const struct sdf_element *foreign_world(struct load *load, const struct sdf_element *world);

#endif
