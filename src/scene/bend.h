/* Bends a model at a joint: the part of the model that hangs on the joint's child (on its parent, when the child is the
 * world) moves as one rigid piece. It turns about the axis, or slides along it, and its other joints keep their
 * positions. For commands (run/edit_joint.c) and for joints that begin at an <initial_position>. */
#ifndef SCENE_BEND_H
#define SCENE_BEND_H

#include "scene/state.h"

/* The part of the model that moves when the joint does. */
struct bend_part {
	uint32_t model;      /* of all its bodies; the caller sets it: the model whose state holds the joint */
	uint32_t root, base; /* bodies at the joint: root moves, base does not; SCENE_NONE: the world */
	double sign;         /* of the root's motion when the position grows: -1 if the root is the joint's parent */
	uint32_t *set; /* [bodies of the model + 1] union-find; the last element stands for all that stays. The caller's
			* memory. */
};

/* Finds the part. TROUPE_ECOMMAND: there is none, because other joints bridge the joint, because a gearbox couples it
 * with other joints, or because the body is kinematic or held to the world. */
troupe_status bend_find(const struct scene *scene, uint32_t joint, struct bend_part *part, struct troupe_error *error);
/* Whether the body, of the part's model, moves with the part. */
bool bend_moves(const struct scene *scene, const struct bend_part *part, uint32_t body);
/* The anchor of the joint, which the base carries, in state k. */
struct vec3 bend_anchor(const struct state *state, const struct scene_joint *joint, const struct bend_part *part);
/* Whether bodies turn about the joint's axes, and how far they slide along it, in m per unit of the position. */
bool bend_turns(const struct scene_joint *joint);
double bend_slide(const struct scene_joint *joint);
/* Moves the part in state k, without its velocities, so that the axis has the position. Returns the rotation of the
 * part's bodies. */
struct quat bend_place(
	const struct state *state, const struct bend_part *part, uint32_t joint, uint32_t axis, double position);

/* The next joint of the model, then of the joints of the world that one of its bodies has; *i begins at 0. SCENE_NONE
 * after the last. */
uint32_t bend_next_joint(const struct scene *scene, uint32_t model, uint32_t *i);
/* TROUPE_ECOMMAND: the body is kinematic, or a fixed joint holds it to the world. */
troupe_status bend_check_body(const struct scene *scene, uint32_t body, struct troupe_error *error);

/* Decides where the axes of a joint begin: sets scene_joint.begin from <initial_position>, and that of the axes that
 * mimic it. An <initial_position> that cannot be honoured, or that is beyond the stops, gives a warning through `warn`,
 * with file:line. */
void bend_find_begin(struct scene *scene, uint32_t joint, void (*warn)(void *ctx, const char *text), void *ctx);
/* Moves a model, of which state k is the pose of the file, to where its joints begin. joint: one of its joints. */
void bend_begin(const struct state *state, uint32_t joint);

#endif
