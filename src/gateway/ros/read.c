/* Messages that programs of ROS 2 give to topics of the server. Each is filled from CDR on the stack, with strings that
 * point into the CDR, and written as protobuf's bytes; the server checks the numbers, as those of any message. */
#include "gateway/ros/write.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/world.pb-c.h"

#include <stdlib.h>

#define READ_VALUE(name, Type, INIT, get)                                                                              \
	READ(name)                                                                                                     \
	{                                                                                                              \
		Gz__Msgs__##Type message = INIT;                                                                       \
		message.data = (get);                                                                                  \
		message_add_bytes(bytes, &message.base);                                                               \
	}
READ_VALUE(boolean, Boolean, GZ__MSGS__BOOLEAN__INIT, cdr_get(in, 1) != 0)
READ_VALUE(double, Double, GZ__MSGS__DOUBLE__INIT, cdr_get_f64(in))
READ_VALUE(float, Float, GZ__MSGS__FLOAT__INIT, cdr_get_f32(in))
READ_VALUE(int32, Int32, GZ__MSGS__INT32__INIT, (int32_t)cdr_get(in, 4))
READ_VALUE(int64, Int64, GZ__MSGS__INT64__INIT, (int64_t)cdr_get(in, 8))
READ_VALUE(string, StringMsg, GZ__MSGS__STRING_MSG__INIT, message_string(cdr_get_string(in)))
READ_VALUE(uint32, UInt32, GZ__MSGS__UINT32__INIT, (uint32_t)cdr_get(in, 4))
READ_VALUE(uint64, UInt64, GZ__MSGS__UINT64__INIT, cdr_get(in, 8))

READ(empty)
{
	(void)in, (void)bytes;
}

/* The stamp and the frame of a command say nothing. */
static void ros_read_skip_header(struct cdr_in *in)
{
	(void)cdr_get(in, 4);
	(void)cdr_get(in, 4);
	(void)cdr_get_string(in);
}

static Gz__Msgs__Vector3d ros_read_get_vec3(struct cdr_in *in)
{
	Gz__Msgs__Vector3d vector = GZ__MSGS__VECTOR3D__INIT;
	vector.x = cdr_get_f64(in);
	vector.y = cdr_get_f64(in);
	vector.z = cdr_get_f64(in);
	return vector;
}

READ(twist)
{
	Gz__Msgs__Twist message = GZ__MSGS__TWIST__INIT;
	Gz__Msgs__Vector3d linear = ros_read_get_vec3(in), angular = ros_read_get_vec3(in);
	message.linear = &linear;
	message.angular = &angular;
	message_add_bytes(bytes, &message.base);
}

READ(twist_stamped)
{
	ros_read_skip_header(in);
	read_twist(in, bytes);
}

static double *ros_read_get_doubles(struct cdr_in *in, size_t *ret_count)
{
	uint32_t count = cdr_get_count(in, 8);
	double *values = mem_alloc(count * sizeof *values + 1);
	for (uint32_t i = 0; i < count; i++)
		values[i] = cdr_get_f64(in);
	*ret_count = count;
	return values;
}

READ(actuators)
{
	Gz__Msgs__Actuators message = GZ__MSGS__ACTUATORS__INIT;
	ros_read_skip_header(in);
	message.position = ros_read_get_doubles(in, &message.n_position);
	message.velocity = ros_read_get_doubles(in, &message.n_velocity);
	message.normalized = ros_read_get_doubles(in, &message.n_normalized);
	message_add_bytes(bytes, &message.base);
	free(message.position);
	free(message.velocity);
	free(message.normalized);
}

static double *ros_read_kept_doubles(struct cdr_in *in, struct arena *arena, size_t *ret_count)
{
	uint32_t count = cdr_get_count(in, 8);
	double *values = arena_array(arena, double, count);
	for (uint32_t i = 0; i < count; i++)
		values[i] = cdr_get_f64(in);
	*ret_count = count;
	return values;
}

static Gz__Msgs__JointTrajectoryPoint *ros_read_trajectory_point(struct cdr_in *in, struct arena *arena)
{
	Gz__Msgs__JointTrajectoryPoint *point = arena_new(arena, Gz__Msgs__JointTrajectoryPoint);
	gz__msgs__joint_trajectory_point__init(point);
	point->positions = ros_read_kept_doubles(in, arena, &point->n_positions);
	point->velocities = ros_read_kept_doubles(in, arena, &point->n_velocities);
	point->accelerations = ros_read_kept_doubles(in, arena, &point->n_accelerations);
	point->effort = ros_read_kept_doubles(in, arena, &point->n_effort);
	point->time_from_start = arena_new(arena, Gz__Msgs__Duration);
	gz__msgs__duration__init(point->time_from_start);
	point->time_from_start->sec = (int32_t)cdr_get(in, 4);
	point->time_from_start->nsec = (int32_t)cdr_get(in, 4);
	return point;
}

/* The stamp of the header is left out: ROS means by 0 that the trajectory starts at once, and other stamps are those of
 * the sender's clock. */
READ(joint_trajectory)
{
	enum { NAME_BYTES = 5, POINT_BYTES = 24 }; /* at least */
	Gz__Msgs__JointTrajectory message = GZ__MSGS__JOINT_TRAJECTORY__INIT;
	struct arena arena = {0};
	ros_read_skip_header(in);
	message.n_joint_names = cdr_get_count(in, NAME_BYTES);
	message.joint_names = arena_array(&arena, char *, message.n_joint_names);
	for (size_t i = 0; i < message.n_joint_names; i++)
		message.joint_names[i] = message_string(cdr_get_string(in));
	message.n_points = cdr_get_count(in, POINT_BYTES);
	message.points = arena_array(&arena, Gz__Msgs__JointTrajectoryPoint *, message.n_points);
	for (size_t i = 0; i < message.n_points; i++)
		message.points[i] = ros_read_trajectory_point(in, &arena);
	message_add_bytes(bytes, &message.base);
	arena_fini(&arena);
}

static Gz__Msgs__Entity ros_read_get_entity(struct cdr_in *in)
{
	Gz__Msgs__Entity entity = GZ__MSGS__ENTITY__INIT;
	entity.id = cdr_get(in, 8);
	entity.name = message_string(cdr_get_string(in));
	uint64_t type = cdr_get(in, 1);
	in->bad |= type > GZ__MSGS__ENTITY__TYPE__WORLD;
	entity.type = in->bad ? GZ__MSGS__ENTITY__TYPE__NONE : (Gz__Msgs__Entity__Type)type;
	return entity;
}

READ(entity)
{
	Gz__Msgs__Entity message = ros_read_get_entity(in);
	message_add_bytes(bytes, &message.base);
}

READ(entity_wrench)
{
	Gz__Msgs__EntityWrench message = GZ__MSGS__ENTITY_WRENCH__INIT;
	Gz__Msgs__Wrench wrench = GZ__MSGS__WRENCH__INIT;
	ros_read_skip_header(in);
	Gz__Msgs__Entity entity = ros_read_get_entity(in);
	Gz__Msgs__Vector3d force = ros_read_get_vec3(in), torque = ros_read_get_vec3(in);
	wrench.force = &force;
	wrench.torque = &torque;
	message.entity = &entity;
	message.wrench = &wrench;
	message_add_bytes(bytes, &message.base);
}
