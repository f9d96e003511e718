/* Stores where joints are in state k+1: from ODE, or from the poses of their bodies. */
#ifndef PHYSICS_JOINT_POSITION_H
#define PHYSICS_JOINT_POSITION_H

#include "physics/internal.h"

/* From ODE: one joint; the model's own joints. */
void joint_store(struct physics *physics, uint32_t joint, dJointID id);
void joint_store_all(struct physics *physics, const struct instance *instance);
/* The same from the poses of state k+1, without ODE. The angles of hinges and screws are not stored yet, but by
 * joint_store_turns(), for many at once. */
void joint_store_pose(struct physics *physics, uint32_t joint);
void joint_store_poses(struct worker *worker, const struct instance *instance);
void joint_store_turns(struct worker *worker);
void joint_forget_turns(struct joint_turns *turns);

#endif
