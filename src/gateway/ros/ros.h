/* ROS 2's counterparts of Gazebo's messages: names of types, their definitions as text, and messages as CDR, the form
 * in which ROS 2 sends them (XCDR version 1, little-endian, behind a header of 4 bytes). Foxglove and MCAP files carry
 * them.
 *
 * Types and fields are paired as by Gazebo's own bridge to ROS 2 (ros_gz_bridge): frames keep their names with "/" for
 * "::" (but a picture and its camera info have FRAME/optical, see parts.h); a lidar with several rows gives the row in
 * its middle as sensor_msgs/LaserScan, all points as PointCloud2; a joint with two axes gives the first one. Where a
 * type has no counterpart, JSON of the message itself is the form to use (topic/message.h).
 *
 * Any thread may call the functions. Their time and memory are proportional to their input. */
#ifndef GATEWAY_ROS_ROS_H
#define GATEWAY_ROS_ROS_H

#include "base/text.h"
#include "topic/type.h"

struct cdr_out;

struct ros_type {
	message_type gz;  /* gz.msgs.LaserScan */
	const char *name; /* "sensor_msgs/msg/LaserScan" */
	/* for ros.c; NULL: by the names of fields (paired.h) */
	troupe_status (*write)(struct cdr_out *out, const ProtobufCMessage *message, struct troupe_error *error);
	bool is_taken; /* see ros_is_taken() */
};

/* The counterpart of a type of type_find(). A list of poses (gz.msgs.Pose_V) is tf2_msgs/msg/TFMessage if the last part
 * of the topic is "tf", "pose", "tf_static" or "pose_static", for its poses then have the names of their frames; else
 * geometry_msgs/msg/PoseArray. topic may be NULL. NULL: the type has no counterpart. */
const struct ros_type *ros_type_find(const char *type, const char *topic);

/* A Twist with a stamp and a frame, which say nothing: what newer controllers publish. Only taken. */
const struct ros_type *ros_twist_stamped(void);
/* The frames of a scene (gz.msgs.Scene) that never move in their parents, as tf2's static transforms: sensors in their
 * links, pictures in their sensors, and links that a fixed joint ties to another one. Not of static models. */
const struct ros_type *ros_fixed_frames(void);

/* Appends the definition of the type (schema encoding "ros2msg"), and then those of the types of its fields, each
 * behind a line of "=" and a line "MSG: NAME". */
void ros_add_schema(const struct ros_type *type, struct text *out);

/* Appends the message, given as protobuf's bytes, as CDR. TROUPE_ECOMMAND: the bytes are no message of the type;
 * TROUPE_EINVAL: it has no form in ROS 2 (a picture with an unknown format of pixels). Nothing is appended then. */
troupe_status ros_of_bytes(
	const struct ros_type *type, const void *bytes, size_t count, struct text *out, struct troupe_error *error);
/* The same of a list of frames (tf2_msgs/msg/TFMessage), as a robot's own programs expect it: the frames of this robot,
 * as in robot_frames_inner(), without its name, and those that its other messages name with it, too. NULL: as above.
 * Nothing is appended if the message has no frame of the robot. */
troupe_status ros_of_bytes_for(const struct ros_type *type, const char *robot, const void *bytes, size_t count,
	struct text *out, struct troupe_error *error);

/* Whether messages of the type can be given to a topic from which the server takes messages: Twist, Actuators,
 * EntityWrench, Entity, Empty, JointTrajectory, String, TwistStamped and those with one number. */
static inline bool ros_is_taken(const struct ros_type *type)
{
	return type->is_taken;
}
/* Appends the message, given as CDR of either byte order, as protobuf's bytes. ros_is_taken(type). TROUPE_ECOMMAND: the
 * bytes are no message of the type. Bytes behind the message are ignored. Nothing is appended on failure. */
troupe_status ros_to_bytes(
	const struct ros_type *type, const void *cdr, size_t count, struct text *out, struct troupe_error *error);

#endif
