/* Gazebo's header names frames by pairs of a key and a list of values, and has models and links separated by "::",
 * which tf2 does not take. */
#include "gateway/ros/parts.h"

const char *part_header_value(const Gz__Msgs__Header *header, const char *key)
{
	for (size_t i = 0; header && i < header->n_data; i++)
		if (!strcmp(header->data[i]->key, key) && header->data[i]->n_value)
			return header->data[i]->value[0];
	return "";
}

void part_time(struct cdr_out *out, const Gz__Msgs__Time *time)
{
	cdr_u32(out, time ? (uint32_t)time->sec : 0);
	cdr_u32(out, time ? (uint32_t)time->nsec : 0);
}

void part_add_frame(struct text *out, const char *name)
{
	for (const char *mark; (mark = strstr(name, "::")); name = mark + 2) {
		text_add_bytes(out, name, (size_t)(mark - name));
		text_add_bytes(out, "/", 1);
	}
	text_add_bytes(out, name, strlen(name));
}

void part_add_picture_frame(struct text *out, const char *name)
{
	part_add_frame(out, name);
	if (strstr(name, "::"))
		text_add(out, "/optical");
}

/* A string whose bytes are appended by `add`: its length is filled in behind them. */
static void ros_parts_put_name(struct cdr_out *out, void (*add)(struct text *out, const char *name), const char *name)
{
	cdr_u32(out, 0);
	size_t begin = out->text->count;
	add(out->text, name);
	cdr_u8(out, 0);
	cdr_store((unsigned char *)out->text->at + begin - 4, out->text->count - begin, 4);
}

void part_frame(struct cdr_out *out, const char *name)
{
	ros_parts_put_name(out, part_add_frame, name);
}

void part_header(struct cdr_out *out, const Gz__Msgs__Header *header, const char *frame)
{
	const char *own = part_header_value(header, "frame_id");
	part_time(out, header ? header->stamp : NULL);
	part_frame(out, *own || !frame ? own : frame);
}

void part_picture_header(struct cdr_out *out, const Gz__Msgs__Header *header)
{
	part_time(out, header ? header->stamp : NULL);
	ros_parts_put_name(out, part_add_picture_frame, part_header_value(header, "frame_id"));
}

void part_vec3(struct cdr_out *out, const Gz__Msgs__Vector3d *vector)
{
	const double numbers[3] = {vector ? vector->x : 0, vector ? vector->y : 0, vector ? vector->z : 0};
	cdr_f64s(out, numbers, ARRAY_LEN(numbers));
}

void part_orientation(struct cdr_out *out, const Gz__Msgs__Quaternion *orientation)
{
	const double identity[4] = {0, 0, 0, 1};
	const Gz__Msgs__Quaternion *q = orientation;
	if (q)
		cdr_f64s(out, (const double[]){q->x, q->y, q->z, q->w}, 4);
	else
		cdr_f64s(out, identity, ARRAY_LEN(identity));
}

void part_pose(struct cdr_out *out, const Gz__Msgs__Pose *pose)
{
	part_vec3(out, pose ? pose->position : NULL);
	part_orientation(out, pose ? pose->orientation : NULL);
}

void part_pose_of(struct cdr_out *out, struct pose pose)
{
	const struct vec3 p = pose.p;
	const struct quat q = pose.q;
	cdr_f64s(out, (const double[]){p.x, p.y, p.z, q.x, q.y, q.z, q.w}, 7);
}

void part_twist(struct cdr_out *out, const Gz__Msgs__Twist *twist)
{
	part_vec3(out, twist ? twist->linear : NULL);
	part_vec3(out, twist ? twist->angular : NULL);
}

void part_wrench(struct cdr_out *out, const Gz__Msgs__Wrench *wrench)
{
	part_vec3(out, wrench ? wrench->force : NULL);
	part_vec3(out, wrench ? wrench->torque : NULL);
}

void part_zeros(struct cdr_out *out, uint32_t count)
{
	if (count)
		memset(cdr_room(out, 8, count), 0, 8 * (size_t)count);
}
