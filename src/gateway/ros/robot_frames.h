/* Names of frames within a robot. Stock programs for one robot, started in the robot's namespace, expect "odom" and
 * "base_link" on the topics NAMESPACE/tf and NAMESPACE/tf_static, where the run's own names are "M/odom" and
 * "M/base_link". Pure. */
#ifndef GATEWAY_ROS_ROBOT_FRAMES_H
#define GATEWAY_ROS_ROBOT_FRAMES_H

#include "base/base.h"

/* The name without the robot before it: "base_link" for "M/base_link" and for "M::base_link"; NULL: the frame is not of
 * the robot, or is its model. robot: as names of topics have it, "M" or "outer/inner" for a nested model; a name that
 * topics have cleaned ("my_robot") is that of the model ("my robot"). The caller frees it. */
char *robot_frames_inner(const char *frame, const char *robot);

#endif
