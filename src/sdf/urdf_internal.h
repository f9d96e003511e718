/* A robot between its file and the SDF: urdf.c reads it as a tree and decides which links are lumped into others;
 * urdf_model.c makes the model; urdf_gazebo.c knows the <gazebo> elements. */
#ifndef SDF_URDF_INTERNAL_H
#define SDF_URDF_INTERNAL_H

#include "sdf/load.h"
#include "sdf/xml.h"

struct urdf_mass { /* in the frame of a link; the moments are about the centre, in axes parallel to the link's */
	double mass;
	struct vec3 centre;
	struct mat3 moments;
};

struct urdf_link {
	const struct sdf_element *element;
	const char *name;
	uint32_t joint; /* to its parent; SDF_NONE: the root */
	uint32_t body;  /* the link of the SDF that it is part of: itself, or where fixed joints lead to */
	struct pose in_body;
	uint32_t next;              /* the next link of the same body, in the order of the tree; SDF_NONE: the last */
	uint32_t last;              /* of a body: its last link */
	struct urdf_mass own, mass; /* of the link alone; of a body: with all its links */
	bool left_out;
};

enum urdf_kind { URDF_REVOLUTE, URDF_CONTINUOUS, URDF_PRISMATIC, URDF_FIXED, URDF_FLOATING, URDF_PLANAR };

struct urdf_joint {
	const struct sdf_element *element;
	const char *name;
	enum urdf_kind kind;
	uint32_t parent, child; /* links */
	struct pose origin;     /* of the joint and of the child, in the parent */
	bool lumped;            /* the child is part of the parent's body */
};

struct urdf_extension { /* a <gazebo> */
	const struct sdf_element *element;
	uint32_t next, last; /* with the same reference; SDF_NONE: the last; last: of the first one */
};

struct urdf {
	struct load *load;
	const struct sdf_element *robot;
	VEC(struct urdf_link) links;
	VEC(struct urdf_joint) joints;
	VEC(uint32_t)
	order; /* links: a parent stands before its children, and these in the order of their joints'
		* names, as in libsdformat */
	struct map link_names, joint_names, materials;
	VEC(const struct sdf_element *) material_elements;
	struct map references; /* of <gazebo>, "" for none -> the first extension with it */
	VEC(struct urdf_extension) extensions;
};

/* A new element with the file and line of `at`. Texts must live as long as the load. */
struct load_builder urdf_new(struct urdf *urdf, const struct sdf_element *at, const char *name, const char *text);
void urdf_add(struct urdf *urdf, struct load_builder *to, struct load_builder child);
void urdf_add_text(struct urdf *urdf, struct load_builder *to, const char *name, const char *text);
void urdf_add_number(struct urdf *urdf, struct load_builder *to, const char *name, double value);

/* The pose of the child <origin>, or none. */
struct pose urdf_origin(struct urdf *urdf, const struct sdf_element *parent);
/* An attribute that must be a number in [lo, hi]; missing (also element NULL): *value stays. False after an error. */
bool urdf_number(struct urdf *urdf, const struct sdf_element *element, const char *attribute, double lo, double hi,
	double *value);

/* --- <gazebo> ----------------------------------------------------------------------------------------------------- */

void urdf_gazebo_read(struct urdf *urdf);
/* The first child of that name of the <gazebo> elements that refer to a link or joint; NULL: none. */
const struct sdf_element *urdf_gazebo_child(const struct urdf *urdf, const char *reference, const char *name);
bool urdf_gazebo_flag(const struct urdf *urdf, const char *reference, const char *name);
/* Warns of references to nothing. */
void urdf_gazebo_check(struct urdf *urdf);
/* Adds the content of the <gazebo> elements: to a link of the SDF (from all URDF links in it), to a joint, to the
 * model. */
void urdf_gazebo_link(struct urdf *urdf, uint32_t body, struct load_builder *to);
void urdf_gazebo_joint(struct urdf *urdf, const struct urdf_joint *joint, struct load_builder *to);
void urdf_gazebo_model(struct urdf *urdf, struct load_builder *to);
/* To a collision or a visual of a URDF link. */
void urdf_gazebo_collision(struct urdf *urdf, const struct urdf_link *link, struct load_builder *to);
void urdf_gazebo_visual(struct urdf *urdf, const struct urdf_link *link, struct load_builder *to);

/* --- the model ---------------------------------------------------------------------------------------------------- */

const struct sdf_element *urdf_model(struct urdf *urdf);

#endif
