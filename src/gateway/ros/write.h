/* Messages of Gazebo as CDR of their counterparts in ROS 2, and some of them back: the functions of struct ros_type.
 * Each takes a message of the type after which it is named. */
#ifndef GATEWAY_ROS_WRITE_H
#define GATEWAY_ROS_WRITE_H

#include "gateway/ros/cdr.h"
#include "topic/type.h"

#define WRITE(name)                                                                                                    \
	troupe_status write_##name(struct cdr_out *out, const ProtobufCMessage *base, struct troupe_error *error)
WRITE(altimeter);
WRITE(actuators);
WRITE(boolean);
WRITE(boxes);
WRITE(camera_info);
WRITE(compressed_image);
WRITE(clock);
WRITE(contacts);
WRITE(dispenser_request);
WRITE(dispenser_result);
WRITE(dispenser_state);
WRITE(door_request);
WRITE(door_state);
WRITE(double);
WRITE(empty);
WRITE(entity);
WRITE(entity_wrench);
WRITE(fixed_frames);
WRITE(fleet_state);
WRITE(float);
WRITE(image);
WRITE(imu);
WRITE(ingestor_request);
WRITE(ingestor_result);
WRITE(ingestor_state);
WRITE(int32);
WRITE(int64);
WRITE(joint_state);
WRITE(joint_trajectory);
WRITE(lift_request);
WRITE(lift_state);
WRITE(magnetic_field);
WRITE(navsat);
WRITE(odometry);
WRITE(points);
WRITE(pose);
WRITE(poses);
WRITE(pressure);
WRITE(robot_mode_request);
WRITE(robot_path_request);
WRITE(robot_pause_request);
WRITE(robot_state);
WRITE(scan);
WRITE(solid_boxes);
WRITE(string);
WRITE(tf);
WRITE(twist);
WRITE(uint32);
WRITE(uint64);
WRITE(wrench);

/* The frames of one robot, without its name: robot as in robot_frames_inner(). Nothing is appended if there are none.
 */
#define WRITE_OF_ROBOT(name)                                                                                           \
	void write_robot_##name(struct cdr_out *out, const ProtobufCMessage *base, const char *robot)
WRITE_OF_ROBOT(fixed_frames);
WRITE_OF_ROBOT(tf);

#define READ(name) void read_##name(struct cdr_in *in, struct text *bytes)
READ(actuators);
READ(boolean);
READ(dispenser_request);
READ(door_request);
READ(double);
READ(empty);
READ(entity);
READ(entity_wrench);
READ(fleet_state);
READ(float);
READ(ingestor_request);
READ(int32);
READ(int64);
READ(joint_trajectory);
READ(lift_request);
READ(robot_mode_request);
READ(robot_path_request);
READ(robot_pause_request);
READ(string);
READ(twist);
READ(twist_stamped);
READ(uint32);
READ(uint64);

#endif
