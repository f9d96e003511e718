/* The transforms of one tf2_msgs/msg/TFMessage, while it is made: each frame is a child once, because tf2 gives a frame
 * one parent. One thread. */
#ifndef GATEWAY_ROS_TRANSFORMS_H
#define GATEWAY_ROS_TRANSFORMS_H

#include "base/map.h"
#include "gateway/ros/cdr.h"
#include "geom/geom.h"
#include "topic/plain.pb-c.h"

struct transform {
	char *parent, *child;
	struct pose at;
	const Gz__Msgs__Time *stamp; /* the caller's; NULL: 0 */
};

struct transforms { /* zeroed is empty */
	VEC(struct transform) all;
	struct map children; /* values: indices in `all` */
};

/* Copies the names. False: the child is there already, or is its own parent; nothing is added. */
bool transforms_add(struct transforms *transforms, const char *parent, const char *child, struct pose at,
	const Gz__Msgs__Time *stamp);
/* Whether the frame is a child. */
bool transforms_has(const struct transforms *transforms, const char *child);
/* Turns the transforms around that lead to the frame, so that it is no child any more: what was above it is below. */
void transforms_make_root(struct transforms *transforms, const char *frame);
/* Appends the message, as CDR. */
void transforms_write(const struct transforms *transforms, struct cdr_out *out);
void transforms_fini(struct transforms *transforms);

#endif
