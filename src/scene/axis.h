/* The direction and the rate of a joint's axis. The rate is a linear function of the velocities of the two bodies
 * that the joint connects. Pure functions of scene and state. next: read state k+1 instead of state k. axis: less
 * than the joint's axis_count; for a gearbox 0 (the parent's axis) or 1 (the child's axis). */
#ifndef SCENE_AXIS_H
#define SCENE_AXIS_H

#include "scene/state.h"

/* The rate of an axis: the sum over child (0) and parent (1) of linear . v + angular . w. */
struct axis_rate {
	struct vec3 linear[2], angular[2];
};

/* In the world frame; unit length. */
struct vec3 scene_axis_direction(const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next);
/* The rate at which the child turns about the axis, relative to the parent. */
void scene_axis_turning(
	const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next, struct axis_rate *ret);
/* The rate at which the child slides along axis 0, relative to the parent. */
void scene_axis_sliding(const struct state *state, const struct scene_joint *joint, bool next, struct axis_rate *ret);
/* Turning or sliding: the rate that belongs to the position of the axis. */
void scene_axis_rate_of(
	const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next, struct axis_rate *ret);
/* The joint's anchor in the world in state k, as it moves with ODE's first body of the joint: the child, or the parent
 * if the child is the world. */
struct vec3 scene_axis_anchor(const struct state *state, const struct scene_joint *joint);
/* The rate of an axis in rad/s, or in m/s for a prismatic joint; 0 if a model that the joint connects was removed. */
double scene_axis_rate(const struct state *state, uint32_t joint, uint32_t axis, bool next);

#endif
