/* Messages of ROS 2 become commands to the server. One thread at a time. */
#ifndef GATEWAY_ROS_GIVE_H
#define GATEWAY_ROS_GIVE_H

#include "gateway/ros/names.h"

/* Publishes a message, as protobuf's bytes, to a topic of the server. */
typedef troupe_status ros_publish_fn(
	void *ctx, const char *topic, const void *bytes, size_t count, struct troupe_error *error);

/* Gives the message, CDR of the offer's type, to the topics that it is for: one, or those of the joints that it
 * commands. TROUPE_ECOMMAND: it is no such message, or a joint takes no such command (then those that do have got it);
 * or as fn. */
troupe_status ros_give(const struct ros_names *names, const struct ros_offer *offer, const void *cdr, size_t count,
	ros_publish_fn *fn, void *ctx, struct troupe_error *error);

#endif
