/* Programs give twists and numbers for joints most often, some for each robot in each step: these messages are made
 * without a walk over descriptors. */
#include "topic/convert.h"

#include <math.h>

static const double topic_convert_quaternion_length_min = 1e-6;

troupe_status message_pose(const Gz__Msgs__Pose *message, struct pose *ret_pose, struct troupe_error *error)
{
	struct pose pose = {message_vec3(message ? message->position : NULL), QUAT_IDENTITY};
	const Gz__Msgs__Quaternion *q = message ? message->orientation : NULL;
	if (q) {
		if (!(sqrt(q->w * q->w + q->x * q->x + q->y * q->y + q->z * q->z) >=
			    topic_convert_quaternion_length_min))
			return fail(error, TROUPE_ECOMMAND,
				"orientation (x y z w) %g %g %g %g: expected a quaternion that is not zero", q->x, q->y,
				q->z, q->w);
		pose.q = quat_unit((struct quat){.x = q->x, .y = q->y, .z = q->z, .w = q->w});
	}
	if (!pose_finite(pose))
		return fail(error, TROUPE_ECOMMAND, "pose: expected finite numbers");
	*ret_pose = pose;
	return TROUPE_OK;
}

Gz__Msgs__Vector3d message_of_vec3(struct vec3 vector)
{
	Gz__Msgs__Vector3d message = GZ__MSGS__VECTOR3D__INIT;
	message.x = vector.x + 0.0;
	message.y = vector.y + 0.0;
	message.z = vector.z + 0.0;
	return message;
}

Gz__Msgs__Twist *message_of_twist(struct vec3 linear, struct vec3 angular)
{
	struct block {
		Gz__Msgs__Twist twist;
		Gz__Msgs__Vector3d linear, angular;
	} *block = message_room(sizeof *block);
	block->twist = (Gz__Msgs__Twist)GZ__MSGS__TWIST__INIT;
	block->twist.linear = &block->linear;
	block->twist.angular = &block->angular;
	block->linear = message_of_vec3(linear);
	block->angular = message_of_vec3(angular);
	return &block->twist;
}

Gz__Msgs__Double *message_of_double(double number)
{
	Gz__Msgs__Double *message = message_room(sizeof *message);
	*message = (Gz__Msgs__Double)GZ__MSGS__DOUBLE__INIT;
	message->data = number + 0.0;
	return message;
}
