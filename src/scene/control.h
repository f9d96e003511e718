/* The demands of systems on the physics in one step. The runner that simulates the model writes it in PreUpdate; the
 * physics of that runner reads it in the same step; then it is cleared. It is not state: it is computed anew from state
 * and commands in every step. */
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

/* The surface of a geom: how its contacts differ from those of the file. All directions are in the world. */
struct surface_control {
	bool runs;           /* as a belt does around rollers */
	bool turns;          /* the friction of the belt acts along circles around `centre` */
	bool slips;          /* as a wheel does; of a surface that runs, only the speed counts */
	double speed;        /* m/s; at a contact the belt runs along (normal into the geom) x axis */
	struct vec3 axis;    /* a unit vector: that of the rollers, or of the wheel */
	struct vec3 centre;  /* m */
	double slip1, slip2; /* m/s per N along the wheel's axis and across it, in addition to that of the surfaces */
};

struct model_control {
	_Alignas(64) bool bodies; /* a control of its bodies is set: the physics reads and clears them */
	bool surfaces;            /* the same of its geoms */
};

struct control {
	struct joint_control *joints; /* [scene->joint_count] */
	struct body_control *bodies;  /* [scene->body_count] written through control_body() only */
	struct model_control *models; /* [scene->model_count] */
	/* [scene->geom_count] written through control_surface() only. The primary writes the entries of static models:
	 * between steps, for the next step. */
	struct surface_control *surfaces;
};

/* The control of a body, to be written. It marks the model: only bodies of marked models are read, and few models are
 * marked. */
static inline struct body_control *control_body(const struct control *control, const struct scene *scene, uint32_t body)
{
	control->models[scene->bodies[body].model].bodies = true;
	return &control->bodies[body];
}

static inline struct surface_control *control_surface(
	const struct control *control, const struct scene *scene, uint32_t geom)
{
	control->models[scene->geoms[geom].model].surfaces = true;
	return &control->surfaces[geom];
}

static inline void control_clear(const struct control *control, const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	memset(control->joints + m->joint_first, 0, m->joint_count * sizeof *control->joints);
	if (control->models[model].bodies)
		memset(control->bodies + m->body_first, 0, m->body_count * sizeof *control->bodies);
	if (control->models[model].surfaces)
		memset(control->surfaces + m->geom_first, 0, m->geom_count * sizeof *control->surfaces);
	control->models[model].bodies = control->models[model].surfaces = false;
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
	for (uint32_t g = m->geom_first; control->models[model].surfaces && g < m->geom_first + m->geom_count; g++)
		if (control->surfaces[g].runs && control->surfaces[g].speed != 0)
			return true;
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
