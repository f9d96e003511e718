/* Transforms of one robot, for programs that read nothing but its namespace. Messages of the robot, its odometry and
 * what its sensors measure, have the names with the robot's before them; so these frames are there, too, each fixed in
 * the frame that stands for it. */
#include "gateway/ros/write.h"

#include "gateway/ros/parts.h"
#include "gateway/ros/robot_frames.h"
#include "gateway/ros/transforms.h"
#include "topic/convert.h"

#include <stdlib.h>

/* As part_pose() writes it. */
static struct pose robot_tf_pose(const Gz__Msgs__Pose *pose)
{
	const Gz__Msgs__Quaternion *q = pose->orientation;
	struct pose at = {message_vec3(pose->position), QUAT_IDENTITY};
	if (q)
		at.q = (struct quat){.w = q->w, .x = q->x, .y = q->y, .z = q->z};
	return at;
}

/* The name that the frame has in the message, which the caller frees. */
static char *robot_tf_name(const char *frame, const char *robot)
{
	struct text name = {0};
	char *inner = robot_frames_inner(frame, robot);
	if (inner)
		return inner;
	part_add_frame(&name, frame);
	return name.at;
}

static void robot_tf_add_alias(
	struct transforms *transforms, const char *frame, const char *robot, const Gz__Msgs__Time *stamp)
{
	struct text name = {0};
	char *inner = robot_frames_inner(frame, robot);
	part_add_frame(&name, frame);
	if (inner)
		(void)transforms_add(transforms, inner, name.at, POSE_IDENTITY, stamp);
	text_fini(&name);
	free(inner);
}

static const char *robot_tf_parent(const Gz__Msgs__PoseV *poses, const Gz__Msgs__Pose *pose)
{
	const char *frame = part_header_value(pose->header, "frame_id");
	return *frame ? frame : part_header_value(poses->header, "frame_id");
}

static const char *robot_tf_child(const Gz__Msgs__Pose *pose)
{
	const char *child = part_header_value(pose->header, "child_frame_id");
	return *child ? child : pose->name;
}

static const Gz__Msgs__Time *robot_tf_stamp(const Gz__Msgs__PoseV *poses, const Gz__Msgs__Pose *pose)
{
	const Gz__Msgs__Header *stamped = pose->header && pose->header->stamp ? pose->header : poses->header;
	return stamped ? stamped->stamp : NULL;
}

WRITE_OF_ROBOT(tf)
{
	const Gz__Msgs__PoseV *poses = (const Gz__Msgs__PoseV *)(const void *)base;
	struct transforms transforms = {.all = {0}};
	for (size_t i = 0; i < poses->n_pose; i++) {
		const Gz__Msgs__Pose *pose = poses->pose[i];
		char *parent = robot_tf_name(robot_tf_parent(poses, pose), robot);
		char *child = robot_tf_name(robot_tf_child(pose), robot);
		(void)transforms_add(&transforms, parent, child, robot_tf_pose(pose), robot_tf_stamp(poses, pose));
		free(parent);
		free(child);
	}
	for (size_t i = 0; i < poses->n_pose; i++) {
		const Gz__Msgs__Pose *pose = poses->pose[i];
		robot_tf_add_alias(&transforms, robot_tf_parent(poses, pose), robot, robot_tf_stamp(poses, pose));
		robot_tf_add_alias(&transforms, robot_tf_child(pose), robot, robot_tf_stamp(poses, pose));
	}
	if (transforms.all.count)
		transforms_write(&transforms, out);
	transforms_fini(&transforms);
}
