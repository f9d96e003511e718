/* Parts that many messages of ROS 2 have, as CDR. A part that a message of Gazebo does not have is zero; an orientation
 * is then the identity. */
#ifndef GATEWAY_ROS_PARTS_H
#define GATEWAY_ROS_PARTS_H

#include "gateway/ros/cdr.h"
#include "geom/geom.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"

/* The value of a key of the header's data, "frame_id" or "child_frame_id"; "" if there is none. */
const char *part_header_value(const Gz__Msgs__Header *header, const char *key);
void part_time(struct cdr_out *out, const Gz__Msgs__Time *time);
/* Appends the name of a frame: "/" for "::". */
void part_add_frame(struct text *out, const char *name);
/* Appends the name of the frame of a sensor's pictures, in which z is forward and x to the right, as ROS 2 has it for
 * pictures and their camera info: FRAME/optical. A name that a world has chosen, one without "::", stays as it is. */
void part_add_picture_frame(struct text *out, const char *name);
void part_frame(struct cdr_out *out, const char *name);
/* A header whose frame is the one of the header's data or, if it has none, `frame`, which may be NULL. */
void part_header(struct cdr_out *out, const Gz__Msgs__Header *header, const char *frame);
/* The same of a picture, with the frame of the header's data. */
void part_picture_header(struct cdr_out *out, const Gz__Msgs__Header *header);
void part_vec3(struct cdr_out *out, const Gz__Msgs__Vector3d *vector);
void part_orientation(struct cdr_out *out, const Gz__Msgs__Quaternion *orientation);
void part_pose(struct cdr_out *out, const Gz__Msgs__Pose *pose);
void part_pose_of(struct cdr_out *out, struct pose pose);
void part_twist(struct cdr_out *out, const Gz__Msgs__Twist *twist);
void part_wrench(struct cdr_out *out, const Gz__Msgs__Wrench *wrench);
void part_zeros(struct cdr_out *out, uint32_t count); /* of 64 bits */

#endif
