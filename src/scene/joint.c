/* Compiling joints: which bodies they connect, what they turn about, what that moves. */
#include "scene/compile.h"

uint32_t scene_joint_body(const struct compile *c, uint32_t link)
{
	return scene_in_world(c, link) ? SCENE_NONE : c->links.at[c->link_index[link]].body;
}

/* About the axis through the joint's anchor, as if the body turned about it and about nothing else. */
static double inverse_inertia_about(const struct compile *c, uint32_t body, struct vec3 anchor, struct vec3 axis)
{
	if (body == SCENE_NONE || c->bodies.at[body].kinematic)
		return 0;
	const struct scene_body *b = &c->bodies.at[body];
	struct vec3 a = quat_rotate(quat_conj(b->reference.q), axis);
	double along = b->ixx * a.x * a.x + b->iyy * a.y * a.y + b->izz * a.z * a.z +
		       2 * (b->ixy * a.x * a.y + b->ixz * a.x * a.z + b->iyz * a.y * a.z);
	struct vec3 arm = vec3_cross(axis, vec3_sub(b->reference.p, anchor));
	return 1 / (along + b->mass * vec3_dot(arm, arm));
}

static double inverse_mass(const struct compile *c, uint32_t body)
{
	return body == SCENE_NONE || c->bodies.at[body].kinematic ? 0 : 1 / c->bodies.at[body].mass;
}

static bool kind_of(struct compile *c, const struct sdf_joint *from, const char *file, struct scene_joint *joint)
{
	switch (from->kind) {
	case SDF_REVOLUTE:
	case SDF_CONTINUOUS:
		joint->kind = SDF_REVOLUTE;
		joint->axis_count = 1;
		return true;
	case SDF_PRISMATIC:
		joint->kind = SDF_PRISMATIC;
		joint->axis_count = 1;
		return true;
	case SDF_UNIVERSAL:
	case SDF_REVOLUTE2:
		joint->kind = from->kind;
		joint->axis_count = 2;
		return true;
	case SDF_BALL:
	case SDF_FIXED:
		joint->kind = from->kind;
		return true;
	default:
		scene_warn(c, sdf_joint_kind_text(from->kind),
			"%s:%u: joint '%s': no joints of type '%s' yet; they are left out", file, from->line,
			from->name, sdf_joint_kind_text(from->kind));
		return false;
	}
}

troupe_status scene_add_joint(
	struct compile *c, uint32_t index, const char *file, uint32_t model, struct troupe_error *error)
{
	const struct sdf_joint *from = &c->sdf->joints.at[index];
	struct scene_joint joint = {.name = from->name, .scoped = from->scoped, .model = model, .axis = from->axis};
	joint.parent = scene_joint_body(c, from->parent);
	joint.child = scene_joint_body(c, from->child);
	if (joint.parent == joint.child || !kind_of(c, from, file, &joint))
		return TROUPE_OK; /* inside one body: welded, or wholly static */
	if (from->kind == SDF_FIXED && (joint.parent == SCENE_NONE || joint.child == SCENE_NONE))
		return TROUPE_OK; /* the body is held */
	if (from->axis_count < joint.axis_count)
		return fail(error, TROUPE_EWORLD, "%s:%u: joint '%s': a %s joint needs %u axes, found %u", file,
			from->line, from->name, sdf_joint_kind_text(from->kind), joint.axis_count, from->axis_count);
	joint.anchor = from->in_world.p;
	for (uint32_t a = 0; a < joint.axis_count; a++) {
		struct vec3 axis = from->axis[a].xyz_world;
		double inverse = joint.kind == SDF_PRISMATIC
					 ? inverse_mass(c, joint.parent) + inverse_mass(c, joint.child)
					 : inverse_inertia_about(c, joint.parent, joint.anchor, axis) +
						   inverse_inertia_about(c, joint.child, joint.anchor, axis);
		joint.inertia[a] = inverse > 0 ? 1 / inverse : HUGE_VAL;
	}
	vec_push(&c->joints, joint);
	return TROUPE_OK;
}
