/* What systems ask of the physics in one step: written in PreUpdate by the runner that simulates the model, read by its
 * physics in the same step, then forgotten. Not state: it is made anew from state and commands in every step. */
#ifndef SCENE_CONTROL_H
#define SCENE_CONTROL_H

#include "scene/scene.h"

struct joint_control {
	_Alignas(64) bool drive; /* axis 0 follows `velocity` with at most the axis's effort limit */
	double velocity;         /* rad/s or m/s */
	double force;            /* N m or N on axis 0, added; cut at the effort limit */
};

struct body_control {
	_Alignas(64) bool drive;   /* the body's velocity is set to these before the step */
	bool place;                /* likewise, and at the end of the step the body is put exactly at target */
	struct vec3 v, w;          /* world: of the centre of mass, and angular */
	struct vec3 force, torque; /* world, at the centre of mass; added */
	struct pose target;        /* of the body (its centre of mass and axes); kinematic bodies only */
};

struct control {
	struct joint_control *joints; /* [scene->joint_count] */
	struct body_control *bodies;  /* [scene->body_count] */
};

#endif
