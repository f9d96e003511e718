/* A message has one topic of the server, except commands to joints: there each number has its own. */
#include "gateway/ros/give.h"

#include "topic/message.h"
#include "topic/plain.pb-c.h"

#include <stdlib.h>

struct give_giving {
	const struct ros_names *names;
	const char *robot;
	ros_publish_fn *fn;
	void *ctx;
	troupe_status status;
	struct troupe_error *error;
};

static void give_joint(void *ctx, const char *joint, enum joint_quantity quantity, double value)
{
	static const char *const words[] = {"a position", "a velocity", "an effort"};
	struct give_giving *giving = ctx;
	Gz__Msgs__Double message = GZ__MSGS__DOUBLE__INIT;
	struct text bytes = {0};
	char *topic = names_joint_topic(giving->names, giving->robot, joint, quantity);
	message.data = value;
	text_add(&bytes, "%s", "");
	message_add_bytes(&bytes, &message.base);
	struct troupe_error why;
	troupe_status status =
		topic ? giving->fn(giving->ctx, topic, bytes.at, bytes.count, &why)
		      : fail(&why, TROUPE_ECOMMAND, "joint '%.80s' takes no command of %s", joint, words[quantity]);
	if (status && !giving->status) { /* the first of several is told */
		giving->status = status;
		*giving->error = why;
	}
	text_fini(&bytes);
	free(topic);
}

troupe_status ros_give(const struct ros_names *names, const struct ros_offer *offer, const void *cdr, size_t count,
	ros_publish_fn *fn, void *ctx, struct troupe_error *error)
{
	struct give_giving giving = {.names = names, .robot = offer->robot, .fn = fn, .ctx = ctx, .error = error};
	struct text bytes = {0};
	if (!offer->ros) {
		troupe_status status = joint_command_read(cdr, count, give_joint, &giving, error);
		return status ? status : giving.status;
	}
	text_add(&bytes, "%s", "");
	troupe_status status = ros_to_bytes(offer->ros, cdr, count, &bytes, error);
	if (!status)
		status = fn(ctx, offer->topic, bytes.at, bytes.count, error);
	text_fini(&bytes);
	return status;
}
