/* Messages of Gazebo as CDR of their counterparts in ROS 2, whose fields have other names: functions of struct
 * ros_type. Each takes a message of the type after which it is named. */
#ifndef GATEWAY_ROS_WRITE_H
#define GATEWAY_ROS_WRITE_H

#include "gateway/ros/cdr.h"
#include "topic/type.h"

#define WRITE(name)                                                                                                    \
	troupe_status write_##name(struct cdr_out *out, const ProtobufCMessage *base, struct troupe_error *error)
WRITE(altimeter);
WRITE(boxes);
WRITE(camera_info);
WRITE(compressed_image);
WRITE(clock);
WRITE(contacts);
WRITE(fixed_frames);
WRITE(image);
WRITE(imu);
WRITE(joint_state);
WRITE(magnetic_field);
WRITE(navsat);
WRITE(odometry);
WRITE(points);
WRITE(pose);
WRITE(poses);
WRITE(pressure);
WRITE(scan);
WRITE(solid_boxes);
WRITE(tf);
WRITE(wrench);

/* The frames of one robot, without its name: robot as in robot_frames_inner(). Nothing is appended if there are none.
 */
#define WRITE_OF_ROBOT(name)                                                                                           \
	void write_robot_##name(struct cdr_out *out, const ProtobufCMessage *base, const char *robot)
WRITE_OF_ROBOT(fixed_frames);
WRITE_OF_ROBOT(tf);

#endif
