/* A robot whose programs know no URDF needs these frames besides its odometry: without them nothing says where on the
 * robot its lidar is. Links that fixed joints make one rigid body stand in the frame of its first link, as the scene
 * says in their headers; a fixed joint that is measured ties two bodies.
 *
 * A frame has one parent, and the frame to which the odometry is the transform has the odometry's. So the rigid body
 * with that frame is turned around until the frame is its root; and a frame of odometry that no link has, as the usual
 * one of OdometryPublisher, becomes the root of the body that it moves with.
 *
 * The message of one robot has names without the robot's. The robot's other messages have the names with it, so each
 * frame that is in such a message is there, too, under that name, in the same place. */
#include "base/parse.h"
#include "gateway/ros/write.h"

#include "gateway/ros/parts.h"
#include "gateway/ros/robot_frames.h"
#include "gateway/ros/sensor_frames.h"
#include "gateway/ros/transforms.h"
#include "topic/convert.h"
#include "topic/table.h"

#include <stdlib.h>

struct fixed {
	const Gz__Msgs__Header *header;
	const char *robot; /* NULL: all, with their names */
	struct transforms transforms;
};

/* The name in the message, which the caller frees; NULL: the frame is not of the robot. given: by the world, which may
 * have left out the robot's name. */
static char *fixed_frames_name(const struct fixed *fixed, const char *frame, bool given)
{
	struct text name = {0};
	char *inner = fixed->robot ? robot_frames_inner(frame, fixed->robot) : NULL;
	if (inner || (fixed->robot && !given))
		return inner;
	part_add_frame(&name, frame);
	return name.at;
}

static void fixed_frames_put(struct fixed *fixed, const char *parent, const char *child, struct pose at)
{
	(void)transforms_add(&fixed->transforms, parent, child, at, fixed->header ? fixed->header->stamp : NULL);
}

/* parent: a frame of a model; child_given: as in fixed_frames_name(). */
static void fixed_frames_add_pose(
	struct fixed *fixed, const char *parent, const char *child, bool child_given, struct pose at)
{
	char *from = fixed_frames_name(fixed, parent, false), *to = fixed_frames_name(fixed, child, child_given);
	if (from && to)
		fixed_frames_put(fixed, from, to, at);
	free(from);
	free(to);
}

/* --- links -------------------------------------------------------------------------------------------------------- */

static char *fixed_frames_of_model(const Gz__Msgs__Model *model, const char *name)
{
	return mem_printf("%s::%s", model->name, name);
}

/* NULL: the model has no such link. Names of a joint's links may be given with those of models before them. */
static const Gz__Msgs__Link *fixed_frames_find_link(const Gz__Msgs__Model *model, const char *name)
{
	for (size_t i = 0; i < model->n_link; i++)
		if (!strcmp(model->link[i]->name, name))
			return model->link[i];
	return NULL;
}

static void fixed_frames_add_link(
	struct fixed *fixed, const Gz__Msgs__Model *model, const Gz__Msgs__Link *parent, const Gz__Msgs__Link *child)
{
	struct pose parent_at, child_at;
	if (!parent || !child || parent == child || message_pose(parent->pose, &parent_at, NULL) ||
		message_pose(child->pose, &child_at, NULL))
		return;
	char *from = fixed_frames_of_model(model, parent->name), *to = fixed_frames_of_model(model, child->name);
	fixed_frames_add_pose(fixed, from, to, false, pose_mul(pose_inverse(parent_at), child_at));
	free(from);
	free(to);
}

/* The first link of the child's rigid body is what the joint holds. */
static void fixed_frames_add_joint(struct fixed *fixed, const Gz__Msgs__Model *model, const Gz__Msgs__Joint *joint)
{
	const Gz__Msgs__Link *child = fixed_frames_find_link(model, joint->child);
	const char *first = child ? part_header_value(child->header, "fixed_to") : "";
	if (joint->type == GZ__MSGS__JOINT__TYPE__FIXED)
		fixed_frames_add_link(fixed, model, fixed_frames_find_link(model, joint->parent),
			*first ? fixed_frames_find_link(model, first) : child);
}

/* --- frames in links ---------------------------------------------------------------------------------------------- */

/* Seven numbers: x, y, z of the position and x, y, z, w of the orientation. */
static bool fixed_frames_read_pose(const char *text, struct pose *ret_pose)
{
	double n[7];
	if (parse_doubles(text, n, ARRAY_LEN(n)) != ARRAY_LEN(n))
		return false;
	*ret_pose = (struct pose){{n[0], n[1], n[2]}, {.x = n[3], .y = n[4], .z = n[5], .w = n[6]}};
	return pose_finite(*ret_pose);
}

/* A <frame> of the model stands in its link. */
static void fixed_frames_add(struct fixed *fixed, const Gz__Msgs__Model *model, const char *of_link, char *const *value)
{
	struct pose at;
	char *name = fixed_frames_of_model(model, value[0]);
	if (fixed_frames_read_pose(value[1], &at))
		fixed_frames_add_pose(fixed, of_link, name, false, at);
	free(name);
}

/* Whether the message has a link of this name: one that is no child is not among the transforms. */
static bool fixed_frames_has_link(const struct fixed *fixed, const Gz__Msgs__Model *model, const char *name)
{
	bool has = false;
	for (size_t i = 0; i < model->n_link && !has; i++) {
		char *of_link = fixed_frames_of_model(model, model->link[i]->name);
		char *known = fixed_frames_name(fixed, of_link, false);
		has = known && !strcmp(known, name);
		free(known);
		free(of_link);
	}
	return has;
}

/* The frames that configuration for one robot names, where they are not the robot's own. */
static void fixed_frames_add_usual(struct fixed *fixed, const Gz__Msgs__Model *model, const char *base)
{
	static const char *const usual[] = {"base_footprint", "base_link"};
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (!fixed_frames_has_link(fixed, model, usual[i]))
			fixed_frames_put(fixed, base, usual[i], POSE_IDENTITY);
}

/* The frame of odometry is the root of the link's rigid body. */
static void fixed_frames_add_odometry(
	struct fixed *fixed, const Gz__Msgs__Model *model, const char *of_link, char *const *value)
{
	struct pose at;
	char *link = fixed_frames_name(fixed, of_link, false), *frame = fixed_frames_name(fixed, value[0], true);
	if (!link || !fixed_frames_read_pose(value[1], &at)) {
		free(link);
		free(frame);
		return;
	}
	if (transforms_has(&fixed->transforms, frame)) {
		transforms_make_root(&fixed->transforms, frame);
	} else if (!fixed_frames_has_link(fixed, model, frame)) {
		transforms_make_root(&fixed->transforms, link);
		fixed_frames_put(fixed, frame, link, pose_inverse(at));
	}
	if (fixed->robot)
		fixed_frames_add_usual(fixed, model, frame);
	free(link);
	free(frame);
}

typedef void fixed_fn(struct fixed *fixed, const Gz__Msgs__Model *model, const char *of_link, char *const *value);

static void fixed_frames_each_value(struct fixed *fixed, const Gz__Msgs__Model *model, const char *key, fixed_fn *fn)
{
	for (size_t i = 0; i < model->n_link; i++) {
		const Gz__Msgs__Header *header = model->link[i]->header;
		char *of_link = fixed_frames_of_model(model, model->link[i]->name);
		for (size_t k = 0; header && k < header->n_data; k++)
			if (!strcmp(header->data[k]->key, key) && header->data[k]->n_value == 2)
				fn(fixed, model, of_link, header->data[k]->value);
		free(of_link);
	}
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

/* The frame under the name that messages have. */
static void fixed_frames_add_alias(struct fixed *fixed, const char *frame)
{
	struct text name = {0};
	char *inner = robot_frames_inner(frame, fixed->robot);
	part_add_frame(&name, frame);
	if (inner)
		fixed_frames_put(fixed, inner, name.at, POSE_IDENTITY);
	text_fini(&name);
	free(inner);
}

/* Frames that the world names are only in the message of one robot: as a rule robot_state_publisher has them, and in
 * the message of all robots they would have another parent. */
static void fixed_frames_add_named(struct fixed *fixed, const Gz__Msgs__Model *model, const char *of_link,
	const Gz__Msgs__Sensor *sensor, struct pose at)
{
	struct sensor_frame frames[2];
	uint32_t count = fixed->robot ? sensor_frames_named(sensor, at, frames) : 0;
	for (uint32_t i = 0; i < count; i++) {
		char *name = fixed_frames_name(fixed, frames[i].name, true);
		if (!fixed_frames_has_link(fixed, model, name))
			fixed_frames_add_pose(fixed, of_link, frames[i].name, true, frames[i].in_link);
		fixed_frames_add_alias(fixed, frames[i].name);
		free(name);
	}
}

/* x forward; for pictures z forward and x to the right. */
static void fixed_frames_add_sensor(
	struct fixed *fixed, const Gz__Msgs__Model *model, const char *of_link, const Gz__Msgs__Sensor *sensor)
{
	struct pose at;
	if (message_pose(sensor->pose, &at, NULL))
		return;
	struct text picture = {0};
	char *name = mem_printf("%s::%s", of_link, sensor->name);
	part_add_picture_frame(&picture, name);
	fixed_frames_add_pose(fixed, of_link, name, false, at);
	if (sensor_frames_has_pictures(sensor))
		fixed_frames_add_pose(fixed, name, picture.at, false, sensor_frames_optical);
	fixed_frames_add_named(fixed, model, of_link, sensor, at);
	if (fixed->robot)
		fixed_frames_add_alias(fixed, name);
	if (fixed->robot && sensor_frames_has_pictures(sensor))
		fixed_frames_add_alias(fixed, picture.at);
	text_fini(&picture);
	free(name);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static bool fixed_frames_is_of_robot(const Gz__Msgs__Model *model, const char *robot)
{
	char *name = mem_printf("/%s", model->name);
	topic_name_clean(name);
	size_t length = strlen(name + 1);
	bool is_of_robot = !strncmp(robot, name + 1, length) && (!robot[length] || robot[length] == '/');
	free(name);
	return is_of_robot;
}

static void fixed_frames_add_model(struct fixed *fixed, const Gz__Msgs__Model *model)
{
	for (size_t i = 0; i < model->n_link; i++)
		fixed_frames_add_link(fixed, model,
			fixed_frames_find_link(model, part_header_value(model->link[i]->header, "fixed_to")),
			model->link[i]);
	fixed_frames_each_value(fixed, model, "frame", fixed_frames_add);
	for (size_t i = 0; i < model->n_joint; i++)
		fixed_frames_add_joint(fixed, model, model->joint[i]);
	fixed_frames_each_value(fixed, model, "odometry_frame", fixed_frames_add_odometry);
	for (size_t i = 0; i < model->n_link; i++) {
		char *of_link = fixed_frames_of_model(model, model->link[i]->name);
		for (size_t s = 0; s < model->link[i]->n_sensor; s++)
			fixed_frames_add_sensor(fixed, model, of_link, model->link[i]->sensor[s]);
		free(of_link);
	}
}

static struct transforms fixed_frames_make(const Gz__Msgs__Scene *scene, const char *robot)
{
	struct fixed fixed = {.header = scene->header, .robot = robot};
	for (size_t i = 0; i < scene->n_model; i++)
		if (!scene->model[i]->is_static && (!robot || fixed_frames_is_of_robot(scene->model[i], robot)))
			fixed_frames_add_model(&fixed, scene->model[i]);
	return fixed.transforms;
}

WRITE(fixed_frames)
{
	struct transforms transforms = fixed_frames_make((const Gz__Msgs__Scene *)(const void *)base, NULL);
	(void)error;
	transforms_write(&transforms, out);
	transforms_fini(&transforms);
	return TROUPE_OK;
}

WRITE_OF_ROBOT(fixed_frames)
{
	struct transforms transforms = fixed_frames_make((const Gz__Msgs__Scene *)(const void *)base, robot);
	if (transforms.all.count)
		transforms_write(&transforms, out);
	transforms_fini(&transforms);
}
