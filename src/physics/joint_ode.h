/* Joints of ODE, which has functions of its own for each kind of joint: made at the reference pose, set, read, and held
 * at the limits of their rates. On the thread that steps their ODE world. */
#ifndef PHYSICS_JOINT_ODE_H
#define PHYSICS_JOINT_ODE_H

#include "physics/internal.h"

/* 0 for a gearbox: ODE has no joint for it. */
dJointID joint_make(struct physics *physics, uint32_t joint, dWorldID ode_world);
/* The position of an axis, an angle in (-pi, pi], in SDF's sign. */
double joint_ode_position(const struct scene_joint *joint, dJointID id, uint32_t axis);
/* Sets a parameter (dParamVel, ...) of an axis. */
void joint_ode_set(const struct scene_joint *joint, dJointID id, uint32_t axis, int parameter, double value);
/* Adds a force along an axis, or a torque about it, in the next step. */
void joint_ode_add_force(
	const struct physics *physics, const struct scene_joint *joint, dJointID id, uint32_t axis, double force);
/* The axes of the group whose rate after the try exceeds their limit are held at the limit in the next try of the step.
 * False: there are none. */
bool joint_hold_rates(struct worker *worker, struct group *group);
/* To be called before the first try. */
void joint_release_rates(struct worker *worker, struct group *group);

#endif
