/* The direction of a joint's axis, and its rate: a linear function of the velocities of the two bodies that the joint
 * connects. Pure functions of scene and state. `next` names the copy of the state that is read: state k+1 instead of
 * state k. axis: below the joint's axis_count; of a gearbox 0 (its parent's) or 1 (its child's). */
#ifndef SCENE_AXIS_H
#define SCENE_AXIS_H

#include "scene/state.h"

/* The rate of an axis: the sum over child (0) and parent (1) of linear . v + angular . w. */
struct axis_rate {
	struct vec3 linear[2], angular[2];
};

/* In the world; of unit length. */
struct vec3 scene_axis_direction(const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next);
/* How fast the child turns about the axis against the parent. */
void scene_axis_turning(
	const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next, struct axis_rate *ret);
/* How fast the child slides along axis 0 against the parent. */
void scene_axis_sliding(const struct state *state, const struct scene_joint *joint, bool next, struct axis_rate *ret);
/* The one of the two that the position of the axis counts. */
void scene_axis_rate_of(
	const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next, struct axis_rate *ret);
/* Where the joint's anchor is in the world, as ODE's first body of it carries it: the child, or the parent when the
 * child is the world. */
struct vec3 scene_axis_anchor(const struct state *state, const struct scene_joint *joint, bool next);
/* The rate of an axis: rad/s, or m/s of a prismatic joint. */
double scene_axis_rate(const struct state *state, uint32_t joint, uint32_t axis, bool next);

#endif
