/* Commands to joints in the form that ros2_control's topic-based hardware sends: sensor_msgs/msg/JointState, with a
 * position, a velocity and an effort for each named joint, or none of one kind. */
#ifndef GATEWAY_ROS_JOINT_COMMAND_H
#define GATEWAY_ROS_JOINT_COMMAND_H

#include <troupe/base.h>

#include <stddef.h>

enum { JOINT_COMMAND_JOINTS_MAX = 1024 };

enum joint_quantity { JOINT_POSITION, JOINT_VELOCITY, JOINT_EFFORT, JOINT_QUANTITIES };

/* Reads the message, CDR of either byte order, and calls fn for each number that is finite: a number that is not says
 * that nothing is commanded. The name is valid in the call only. TROUPE_ECOMMAND: the bytes are no such message, its
 * lists differ in length, or it has too many joints; fn is not called then. */
troupe_status joint_command_read(const void *cdr, size_t count,
	void (*fn)(void *ctx, const char *joint, enum joint_quantity quantity, double value), void *ctx,
	struct troupe_error *error);

#endif
