/* The messages that are published most often, written as bytes without a tree of structs. The bytes are those that
 * protobuf-c writes for the same message. Pure; each function appends to the text. */
#ifndef SERVER_ENCODE_FAST_H
#define SERVER_ENCODE_FAST_H

#include "base/text.h"

#include <troupe/world.h>

enum { ENCODE_POSE_NUMBERS = 7 }; /* x, y, z, then the rotation as x, y, z, w */

/* The parts of a state that a viewer draws. */
struct encode_picture {
	uint32_t model_count, link_count; /* the first ones of the scene */
	uint32_t *status;                 /* [model_count]: encode_status() */
	float (*poses)[ENCODE_POSE_NUMBERS];
};

struct encode_moment { /* the state of which the picture is */
	int64_t time_ns;
	uint64_t step;
	double rtf, real_s; /* real_s: since the run began */
};

static inline uint32_t encode_status(uint32_t secondary, bool asleep, bool loaded)
{
	return secondary | (uint32_t)asleep << 31 | (uint32_t)!loaded << 30;
}

/* gz.msgs.Clock; its header has the simulated time. */
void encode_fast_clock(struct text *out, int64_t sim_ns, int64_t real_ns, int64_t system_ns);
/* gz.msgs.Odometry of a robot that moves in its plane: m/s along x, rad/s about z. frame, child_frame: NULL for none.
 */
void encode_fast_odometry(struct text *out, int64_t time_ns, const char *frame, const char *child_frame,
	const struct troupe_pose *pose, double linear, double angular);
/* gz.msgs.Pose_V with one pose, in whose header the frames are. */
void encode_fast_tf(
	struct text *out, int64_t time_ns, const char *frame, const char *child_frame, const struct troupe_pose *pose);
/* gz.msgs.Pose_V: its header, then its poses one by one. */
void encode_fast_poses(struct text *out, int64_t time_ns);
void encode_fast_pose(struct text *out, const struct troupe_pose *pose, const char *name, uint32_t id);
/* troupe.msgs.View. */
void encode_fast_view(struct text *out, const struct encode_moment *moment, const struct troupe_scene *scene,
	const struct encode_picture *picture);
/* troupe.msgs.Mesh. points: [3 * point_count]; corners: [3 * triangle_count]. */
void encode_fast_mesh(
	struct text *out, const double *points, uint32_t point_count, const uint32_t *corners, uint32_t triangle_count);

#endif
