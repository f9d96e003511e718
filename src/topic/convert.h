/* Converts messages to the values with which the simulation computes, and back. */
#ifndef TOPIC_CONVERT_H
#define TOPIC_CONVERT_H

#include "geom/geom.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"

/* NULL is the zero vector. */
static inline struct vec3 message_vec3(const Gz__Msgs__Vector3d *vector)
{
	return vector ? (struct vec3){vector->x, vector->y, vector->z} : (struct vec3){0};
}

/* NULL, or a position that is not given, is the origin. An orientation that is not given is the identity; any other is
 * normalised. TROUPE_ECOMMAND if the pose is not finite, or the orientation is shorter than 1e-6. */
troupe_status message_pose(const Gz__Msgs__Pose *message, struct pose *ret_pose, struct troupe_error *error);

/* A zero has no sign, as in a message that was read; also in the functions below. */
Gz__Msgs__Vector3d message_of_vec3(struct vec3 vector);
/* Each is one block of memory, as message_copy() makes it: free it with message_free(). */
Gz__Msgs__Twist *message_of_twist(struct vec3 linear, struct vec3 angular);
Gz__Msgs__Double *message_of_double(double number);

#endif
