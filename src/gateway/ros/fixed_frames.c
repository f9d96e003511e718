/* A robot whose programs know no URDF needs these frames besides its odometry: without them nothing says where on the
 * robot its lidar is. Links that fixed joints make one rigid body stand in the frame of its first link, as the scene
 * says in their headers; a fixed joint that is measured ties two bodies. So a frame has one parent, unless a world
 * gives the odometry's frame to a link that is not the first of its body. */
#include "gateway/ros/write.h"

#include "geom/geom.h"
#include "gateway/ros/parts.h"
#include "topic/convert.h"
#include "topic/scene.pb-c.h"

#include <stdlib.h>

struct frames {
	struct cdr_out *out; /* NULL: they are counted only */
	const Gz__Msgs__Header *header;
	uint32_t count;
};

static void put(struct frames *frames, const char *parent, const char *child, struct pose at)
{
	struct cdr_out *out = frames->out;
	frames->count++;
	if (!out)
		return;
	part_time(out, frames->header ? frames->header->stamp : NULL);
	cdr_string(out, parent);
	cdr_string(out, child);
	cdr_f64s(out, (const double[]){at.p.x, at.p.y, at.p.z, at.q.x, at.q.y, at.q.z, at.q.w}, 7);
}

/* x forward; for pictures z forward and x to the right. */
static void put_sensor(struct frames *frames, const char *of_link, const Gz__Msgs__Sensor *sensor)
{
	static const struct pose optical = {.q = {.w = 0.5, .x = -0.5, .y = 0.5, .z = -0.5}};
	struct text link = {0}, frame = {0}, picture = {0};
	struct pose at;
	char *name = mem_printf("%s::%s", of_link, sensor->name);
	part_add_frame(&link, of_link);
	part_add_frame(&frame, name);
	part_add_picture_frame(&picture, name);
	if (!message_pose(sensor->pose, &at, NULL)) {
		put(frames, link.at, frame.at, at);
		if (strstr(sensor->type, "camera") && strcmp(sensor->type, "logical_camera") != 0)
			put(frames, frame.at, picture.at, optical);
	}
	text_fini(&link);
	text_fini(&frame);
	text_fini(&picture);
	free(name);
}

/* NULL: the model has no such link. Names of a joint's links may be given with those of models before them. */
static const Gz__Msgs__Link *find_link(const Gz__Msgs__Model *model, const char *name)
{
	for (size_t i = 0; i < model->n_link; i++)
		if (!strcmp(model->link[i]->name, name))
			return model->link[i];
	return NULL;
}

static void put_link(
	struct frames *frames, const Gz__Msgs__Model *model, const Gz__Msgs__Link *parent, const Gz__Msgs__Link *child)
{
	struct text from = {0}, to = {0};
	struct pose parent_at, child_at;
	if (!parent || !child || parent == child || message_pose(parent->pose, &parent_at, NULL) ||
		message_pose(child->pose, &child_at, NULL))
		return;
	char *parent_name = mem_printf("%s::%s", model->name, parent->name);
	char *child_name = mem_printf("%s::%s", model->name, child->name);
	part_add_frame(&from, parent_name);
	part_add_frame(&to, child_name);
	put(frames, from.at, to.at, pose_mul(pose_inverse(parent_at), child_at));
	text_fini(&from);
	text_fini(&to);
	free(parent_name);
	free(child_name);
}

/* The first link of the child's rigid body is what the joint holds. */
static void put_fixed_joint(struct frames *frames, const Gz__Msgs__Model *model, const Gz__Msgs__Joint *joint)
{
	const Gz__Msgs__Link *child = find_link(model, joint->child);
	const char *first = child ? part_header_value(child->header, "fixed_to") : "";
	if (joint->type == GZ__MSGS__JOINT__TYPE__FIXED)
		put_link(frames, model, find_link(model, joint->parent), *first ? find_link(model, first) : child);
}

static void put_model(struct frames *frames, const Gz__Msgs__Model *model)
{
	for (size_t i = 0; i < model->n_link && !model->is_static; i++) {
		char *of_link = mem_printf("%s::%s", model->name, model->link[i]->name);
		put_link(frames, model, find_link(model, part_header_value(model->link[i]->header, "fixed_to")),
			model->link[i]);
		for (size_t s = 0; s < model->link[i]->n_sensor; s++)
			put_sensor(frames, of_link, model->link[i]->sensor[s]);
		free(of_link);
	}
	for (size_t i = 0; i < model->n_joint && !model->is_static; i++)
		put_fixed_joint(frames, model, model->joint[i]);
}

WRITE(fixed_frames)
{
	const Gz__Msgs__Scene *scene = (const Gz__Msgs__Scene *)(const void *)base;
	struct frames frames = {.header = scene->header};
	(void)error;
	for (size_t i = 0; i < scene->n_model; i++)
		put_model(&frames, scene->model[i]);
	cdr_count(out, frames.count);
	frames.out = out;
	for (size_t i = 0; i < scene->n_model; i++)
		put_model(&frames, scene->model[i]);
	return TROUPE_OK;
}
