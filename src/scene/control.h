/* What systems ask of the physics in one step. The runner that simulates the model writes it in PreUpdate; the
 * physics of that runner reads it in the same step; then it is cleared. It is not state: it is computed anew from
 * state and commands in every step. */
#ifndef SCENE_CONTROL_H
#define SCENE_CONTROL_H

#include "scene/scene.h"

#include <string.h>

struct joint_control {
	_Alignas(64) bool drive; /* axis 0 follows `velocity` with at most the axis's effort limit */
	bool off;                /* what systems ask for is not heeded; read by system/host.c only */
	double velocity;         /* rad/s or m/s */
	double force;            /* N m or N on axis 0, added; cut at the effort limit */
};

struct body_control {
	_Alignas(64) bool drive;   /* the body's velocity is set to these before the step */
	bool place;                /* as drive, and at the end of the step the body is put exactly at target */
	struct vec3 v, w;          /* world: velocity of the centre of mass, and angular velocity */
	struct vec3 force, torque; /* world, at the centre of mass; added */
	struct pose target;        /* pose of the body (centre of mass and axes); kinematic bodies only */
};

struct model_control {
	_Alignas(64) bool bodies; /* a control of its bodies is set: the physics reads and clears them */
};

struct control {
	struct joint_control *joints; /* [scene->joint_count] */
	struct body_control *bodies;  /* [scene->body_count] written through control_body() only */
	struct model_control *models; /* [scene->model_count] */
};

/* The control of a body, to be written. It marks the model: only bodies of marked models are read, and few models are
 * marked. */
static inline struct body_control *control_body(const struct control *control, const struct scene *scene, uint32_t body)
{
	control->models[scene->bodies[body].model].bodies = true;
	return &control->bodies[body];
}

static inline void control_clear(const struct control *control, const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	memset(control->joints + m->joint_first, 0, m->joint_count * sizeof *control->joints);
	if (control->models[model].bodies)
		memset(control->bodies + m->body_first, 0, m->body_count * sizeof *control->bodies);
	control->models[model].bodies = false;
}

/* Whether the control of a model asks for anything but rest. */
static inline bool control_acts(const struct control *control, const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		const struct joint_control *joint = &control->joints[j];
		if ((joint->drive && joint->velocity != 0) || joint->force != 0)
			return true;
	}
	if (!control->models[model].bodies)
		return false;
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++) {
		const struct body_control *body = &control->bodies[b];
		bool driven = (body->drive || body->place) &&
			      (vec3_dot(body->v, body->v) != 0 || vec3_dot(body->w, body->w) != 0);
		if (driven || vec3_dot(body->force, body->force) != 0 || vec3_dot(body->torque, body->torque) != 0)
			return true;
	}
	return false;
}

#endif
