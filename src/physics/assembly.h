/* Assemblies: the bodies that joints connect, as a forest that lanes/ can step.
 *
 * A joint is an edge of the forest, or, where the forest has a way between its bodies already, a link. So is an
 * attachment. A link has rows of its own in the solver. Other links are couplings (gears, mimics), the rows of added
 * mass, and joints that the file makes soft. What does not move by forces is the ground: the world, static models,
 * kinematic bodies.
 *
 * An assembly follows from the joints and attachments of its models alone, which are always in one group, so no bit
 * depends on the group around it. It is made when its group is, and holds all that is constant. */
#ifndef PHYSICS_ASSEMBLY_H
#define PHYSICS_ASSEMBLY_H

#include "physics/lanes/shape.h"
#include "scene/state.h"

struct physics;
struct group;

enum assembly_link_kind {
	ASSEMBLY_LOOP, /* a joint */
	ASSEMBLY_ATTACHMENT,
	ASSEMBLY_GEARS,
	ASSEMBLY_MIMIC,
	ASSEMBLY_ADDED, /* rows of the added mass of a body */
};

/* A joint or an attachment, between a child and a parent as the file names them. SCENE_NONE: the world. */
struct assembly_joint {
	enum assembly_link_kind kind; /* ASSEMBLY_LOOP or ASSEMBLY_ATTACHMENT, also when it is an edge */
	uint32_t index;               /* of the joint, or of the attachment in scene.attachments */
	uint32_t child, parent;
	enum lanes_joint motion;
};

struct assembly_edge {
	struct assembly_joint joint; /* of a free body: motion is LANES_FREE, and the rest does not matter */
	uint32_t ground; /* the kinematic body that it hangs on; SCENE_NONE: the world, or a body of the tree */
	bool reversed;   /* the tree goes from the joint's child to its parent */
	double *fields;  /* as lanes/ wants them, at the pose of the file: assembly_field_count() */
};

/* The first of the fields of an edge in lanes/ that are constant; of a kinematic ground all that may be turned are. */
static inline uint32_t assembly_field_count(const struct assembly_edge *edge)
{
	static const uint8_t counts[] = {[LANES_HINGE] = LANES_RELATIVE,
		[LANES_SLIDER] = LANES_LEAD,
		[LANES_BALL] = LANES_OWN_AXIS,
		[LANES_UNIVERSAL] = LANES_RELATIVE,
		[LANES_FIXED] = LANES_LEAD,
		[LANES_SCREW] = LANES_THREAD};
	const uint32_t count = edge->joint.motion == LANES_FREE ? 0 : counts[edge->joint.motion];
	return edge->ground == SCENE_NONE ? count : MAX(count, (uint32_t)LANES_LEAD);
}

struct assembly_axis { /* of a tree joint */
	uint32_t joint, axis;
	uint16_t body; /* place in the assembly */
	uint8_t dof;   /* among those of the body */
};

struct assembly_link {
	struct assembly_joint joint; /* of a gearbox and a mimic: kind and index; of added mass: index is the body */
	uint32_t axis;               /* mimic: the axis that follows */
	uint32_t which;              /* coupling: which of those of its joint; added mass: the first of its rows */
	bool by_dofs;                /* mimic: both axes are coordinates of the forest */
	struct lanes_key_link key;   /* bodies and coordinates as places in the assembly, without rows for laws */
	uint32_t bodies[LANES_LINK_BODIES_MAX]; /* [key.body_count] of the scene */
	uint32_t law_first, axes;               /* of a loop: its axes, behind those of the forest */
};

/* Steps read all of it, so it lies in one piece of memory. */
struct assembly {
	uint32_t count;     /* bodies */
	bool large;         /* too many bodies for a shape: only `bodies` is known */
	uint32_t *bodies;   /* of the scene, in tree order */
	double (*solid)[7]; /* mass and inertia as LANES_MASS and LANES_INERTIA have them */
	struct lanes_key_body *keys;
	struct assembly_edge *edges;
	uint32_t axis_count, dof_count; /* of the forest */
	VEC(struct assembly_axis) axes; /* of the tree, in the order of coordinates; then of loops */
	VEC(struct assembly_link) links;
};

/* Makes the assemblies of a group, in the order of their lowest bodies, if they are not known. */
void assemblies_make(const struct physics *physics, struct group *group);
/* To be called when the members, joints or attachments of the group change. */
void assemblies_drop(struct group *group);

#endif
