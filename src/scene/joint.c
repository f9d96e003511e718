/* Compiles joints: the bodies that a joint connects, its axes, and the inertia that each axis moves. */
#include "scene/compile.h"

#include <string.h>

/* The body of a link; the link must have been compiled. SCENE_NONE: the world. */
static uint32_t scene_joint_body(const struct compile *c, uint32_t link)
{
	return scene_in_world(c, link) ? SCENE_NONE : c->links.at[c->link_index[link]].body;
}

/* The world, or a body that forces do not move. */
static bool scene_joint_is_kinematic(const struct compile *c, uint32_t body)
{
	return body == SCENE_NONE || c->bodies.at[body].kinematic;
}

/* The inverse inertia of a body about the axis through the joint's anchor, if the body turns about this axis only. */
static double scene_joint_inverse_inertia_about(
	const struct compile *c, uint32_t body, struct vec3 anchor, struct vec3 axis)
{
	if (scene_joint_is_kinematic(c, body))
		return 0;
	const struct scene_body *b = &c->bodies.at[body];
	struct vec3 a = quat_rotate(quat_conj(b->reference.q), axis);
	struct vec3 arm = vec3_cross(axis, vec3_sub(b->reference.p, anchor));
	if (b->added) {
		struct vec6 turn = {quat_rotate(quat_conj(b->reference.q), arm), a};
		return 1 / vec6_dot(turn, mat6_apply(&b->added->whole, turn));
	}
	double along = b->ixx * a.x * a.x + b->iyy * a.y * a.y + b->izz * a.z * a.z +
		       2 * (b->ixy * a.x * a.y + b->ixz * a.x * a.z + b->iyz * a.y * a.z);
	return 1 / (along + b->mass * vec3_dot(arm, arm));
}

static double scene_joint_inverse_mass(const struct compile *c, uint32_t body, struct vec3 axis)
{
	if (scene_joint_is_kinematic(c, body))
		return 0;
	const struct scene_body *b = &c->bodies.at[body];
	if (!b->added)
		return 1 / b->mass;
	struct vec6 slide = {quat_rotate(quat_conj(b->reference.q), axis), {0, 0, 0}};
	return 1 / vec6_dot(slide, mat6_apply(&b->added->whole, slide));
}

/* --- gearboxes -------------------------------------------------------------------------------------------------- */

static bool scene_joint_names_link(
	const struct compile *c, const struct sdf_joint *joint, const char *name, uint32_t link)
{
	const char *scoped = c->sdf->links.at[link].scoped;
	if (joint->model == SDF_NONE)
		return !strcmp(scoped, name);
	const char *model = c->sdf->models.at[joint->model].scoped;
	size_t length = strlen(model);
	return !strncmp(scoped, model, length) && !strncmp(scoped + length, "::", 2) &&
	       !strcmp(scoped + length + 2, name);
}

/* The link that a joint names: in the joint's own model or, for a joint of the world, in any model. */
static uint32_t scene_joint_find_link(const struct compile *c, const struct sdf_joint *joint, const char *name)
{
	uint32_t first = 0, count = c->sdf->links.count;
	if (joint->model != SDF_NONE) {
		first = c->sdf->models.at[joint->model].link_first;
		count = c->sdf->models.at[joint->model].link_count;
	}
	for (uint32_t i = first; i < first + count; i++)
		if (scene_joint_names_link(c, joint, name, i))
			return i;
	return SDF_NONE;
}

static uint32_t scene_joint_model_of_body(const struct compile *c, uint32_t body)
{
	return body == SCENE_NONE ? SCENE_NONE : c->bodies.at[body].model;
}

/* False, with a warning: the gearbox has no valid reference body. */
static bool scene_joint_find_reference(
	struct compile *c, const struct sdf_joint *from, const char *file, struct scene_joint *joint)
{
	const char *name = sdf_child_text(from->element, "gearbox_reference_body");
	uint32_t link = name && strcmp(name, "world") ? scene_joint_find_link(c, from, name) : SDF_NONE;
	if (!name || (link == SDF_NONE && strcmp(name, "world"))) {
		scene_warn(c, NULL,
			"%s:%u: gearbox '%s' has the <gearbox_reference_body> '%s': expected the name of a link of its "
			"model; it is left out",
			file, from->line, from->name, name ? name : "");
		return false;
	}
	joint->reference = scene_joint_body(c, link);
	uint32_t model = scene_joint_model_of_body(c, joint->reference);
	if (model == SCENE_NONE || model == scene_joint_model_of_body(c, joint->parent) ||
		model == scene_joint_model_of_body(c, joint->child))
		return true;
	scene_warn(c, NULL,
		"%s:%u: gearbox '%s': the <gearbox_reference_body> '%s' is in another model than its parent and its "
		"child; it is left out",
		file, from->line, from->name, name);
	return false;
}

/* --- mimics ----------------------------------------------------------------------------------------------------- */

static const char *const scene_joint_axis_names[2] = {"axis", "axis2"};

static const char *scene_joint_file_of(const struct compile *c, const struct scene_joint *joint)
{
	return c->sdf->models.at[c->models.at[joint->model].sdf].file;
}

static const struct sdf_joint *scene_joint_find_in_file(
	const struct compile *c, const struct sdf_joint *joint, const char *name)
{
	uint32_t first = 0, count = c->sdf->joints.count;
	size_t skip = 0;
	if (joint->model != SDF_NONE) {
		const struct sdf_model *model = &c->sdf->models.at[joint->model];
		first = model->joint_first;
		count = model->joint_count;
		skip = strlen(model->scoped) + 2;
	}
	for (uint32_t i = first; i < first + count; i++)
		if (!strcmp(c->sdf->joints.at[i].scoped + skip, name))
			return &c->sdf->joints.at[i];
	return NULL;
}

static troupe_status scene_joint_refuse_leader(const struct sdf_element *mimic, const struct sdf_joint *joint,
	const char *name, const char *expected, struct troupe_error *error)
{
	return fail(error, TROUPE_EWORLD, "%s:%u: joint '%s' is to mimic '%s': expected %s", mimic->file, mimic->line,
		joint->name, name ? name : "", expected);
}

/* Follower and leader must be in one physics instance: they must be joints of the same model, and not joints of the
 * world. */
static uint32_t scene_joint_find_leader(
	const struct compile *c, const struct scene_joint *joint, const struct sdf_joint *leader)
{
	const struct scene_model *model = &c->models.at[joint->model];
	for (uint32_t i = model->joint_first; i < model->joint_first + model->joint_count; i++)
		if (c->joints.at[i].sdf == leader)
			return i;
	return SCENE_NONE;
}

const struct scene_mimic scene_no_mimic[2] = {{.joint = SCENE_NONE}, {.joint = SCENE_NONE}};

static void scene_joint_set_mimic(struct compile *c, struct scene_joint *joint, uint32_t axis, struct scene_mimic mimic)
{
	struct scene_mimic *own = arena_array(&c->scratch, struct scene_mimic, 2);
	memcpy(own, joint->mimic, 2 * sizeof *own);
	own[axis] = mimic;
	joint->mimic = own;
}

static troupe_status scene_joint_read_mimic(
	struct compile *c, uint32_t index, uint32_t axis, struct troupe_error *error)
{
	struct scene_joint *joint = &c->joints.at[index];
	const struct sdf_joint *from = joint->sdf;
	struct scene_mimic mimic = {.joint = SCENE_NONE};
	const struct sdf_element *element =
		sdf_child(sdf_child(from->element, scene_joint_axis_names[axis], NULL), "mimic", NULL);
	if (!element)
		return TROUPE_OK;
	const char *name = sdf_attribute(element, "joint"), *which = sdf_attribute(element, "axis");
	mimic.axis = which && !strcmp(which, scene_joint_axis_names[1]);
	const struct sdf_joint *leader = name ? scene_joint_find_in_file(c, from, name) : NULL;
	if (!leader)
		return scene_joint_refuse_leader(element, from, name, "the name of a joint of its model", error);
	if (leader == from && mimic.axis == axis)
		return scene_joint_refuse_leader(element, from, name, "another joint", error);
	if (which && *which && strcmp(which, scene_joint_axis_names[0]) && strcmp(which, scene_joint_axis_names[1]))
		return scene_joint_refuse_leader(element, from, name, "axis or axis2 as the axis of <mimic>", error);
	if (leader->axis_count <= mimic.axis)
		return scene_joint_refuse_leader(element, from, name, "a joint that has this axis", error);
	troupe_status status = sdf_child_double(element, "multiplier", -1e9, 1e9, &mimic.multiplier, error);
	if (!status)
		status = sdf_child_double(element, "offset", -1e9, 1e9, &mimic.offset, error);
	if (!status)
		status = sdf_child_double(element, "reference", -1e9, 1e9, &mimic.reference, error);
	if (status)
		return status;
	uint32_t found = index < c->world_joint_first ? scene_joint_find_leader(c, joint, leader) : SCENE_NONE;
	if (found != SCENE_NONE && c->joints.at[found].axis_count > mimic.axis) {
		mimic.joint = found;
		scene_joint_set_mimic(c, joint, axis, mimic);
	} else {
		scene_warn(c, NULL,
			"%s:%u: joint '%s' cannot mimic '%s': only joints that move, of the same model, can; it is "
			"free",
			element->file, element->line, from->name, name);
	}
	return TROUPE_OK;
}

enum { MIMIC_NEW, MIMIC_OPEN, MIMIC_DONE };

/* Walks from an axis to its leader, to the leader's leader, and so on. Axes on the walk are marked open; meeting an
 * open axis again is a cycle. */
static troupe_status scene_joint_check_circle(
	const struct compile *c, unsigned char *mark, uint32_t index, uint32_t axis, struct troupe_error *error)
{
	const struct scene_mimic *mimic;
	uint32_t joint = index, a = axis;
	for (; mark[2 * joint + a] == MIMIC_NEW; joint = mimic->joint, a = mimic->axis) {
		mimic = &c->joints.at[joint].mimic[a];
		mark[2 * joint + a] = MIMIC_OPEN;
		if (mimic->joint == SCENE_NONE)
			break;
	}
	if (mark[2 * joint + a] == MIMIC_OPEN && c->joints.at[joint].mimic[a].joint != SCENE_NONE)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: joint '%s' mimics itself by way of others: expected a leader that follows nothing",
			scene_joint_file_of(c, &c->joints.at[joint]), c->joints.at[joint].sdf->line,
			c->joints.at[joint].name);
	for (joint = index, a = axis; joint != SCENE_NONE && mark[2 * joint + a] == MIMIC_OPEN;) {
		mark[2 * joint + a] = MIMIC_DONE;
		mimic = &c->joints.at[joint].mimic[a];
		joint = mimic->joint;
		a = mimic->axis;
	}
	return TROUPE_OK;
}

troupe_status scene_add_mimics(struct compile *c, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	unsigned char *mark = arena_alloc(&c->scratch, 2 * (size_t)c->joints.count);
	for (uint32_t i = 0; i < c->joints.count; i++)
		for (uint32_t a = 0; a < c->joints.at[i].axis_count && !status; a++)
			status = scene_joint_read_mimic(c, i, a, error);
	for (uint32_t i = 0; i < 2 * c->joints.count && !status; i++)
		status = scene_joint_check_circle(c, mark, i / 2, i % 2, error);
	return status;
}

/* --- joints ----------------------------------------------------------------------------------------------------- */

/* Limits of a screw's lead: beyond them a turn moves nearly nothing, or extremely far. */
#define LEAD_MIN 1e-9 /* m/rad */
#define LEAD_MAX 1e3

static bool scene_joint_has_usable_thread(struct compile *c, const struct sdf_joint *from, const char *file)
{
	double lead = 1 / fabs(from->thread_pitch);
	if (lead >= LEAD_MIN && lead <= LEAD_MAX)
		return true;
	scene_warn(c, NULL, "%s:%u: screw '%s' moves %g m a turn: expected from %g to %g; it is left out", file,
		from->line, from->name, 2 * M_PI * lead, 2 * M_PI * LEAD_MIN, 2 * M_PI * LEAD_MAX);
	return false;
}

#define ACROSS_MIN 1e-3 /* rad */

/* ODE ends the process when the axes of its universal joint are parallel. */
static bool scene_joint_has_two_directions(struct compile *c, const struct sdf_joint *from, const char *file)
{
	if (vec3_length(vec3_cross(from->axis[0].xyz_world, from->axis[1].xyz_world)) >= ACROSS_MIN)
		return true;
	scene_warn(c, NULL,
		"%s:%u: the two axes of joint '%s', of type %s, are parallel: expected two directions; it is left out",
		file, from->line, from->name, sdf_joint_kind_text(from->kind));
	return false;
}

static bool scene_joint_kind_of(
	struct compile *c, const struct sdf_joint *from, const char *file, struct scene_joint *joint)
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
		return scene_joint_has_two_directions(c, from, file);
	case SDF_SCREW:
		joint->kind = from->kind;
		joint->axis_count = 1;
		return scene_joint_has_usable_thread(c, from, file);
	case SDF_GEARBOX:
		joint->kind = from->kind;
		return scene_joint_find_reference(c, from, file, joint);
	default: /* ball, fixed */
		joint->kind = from->kind;
		return true;
	}
}

void scene_add_joint(struct compile *c, uint32_t index, const char *file, uint32_t model)
{
	const struct sdf_joint *from = &c->sdf->joints.at[index];
	struct scene_joint joint = {.sdf = from,
		.name = from->name,
		.scoped = from->scoped,
		.model = model,
		.axis = from->axis,
		.reference = SCENE_NONE,
		.mimic = scene_no_mimic};
	joint.parent = scene_joint_body(c, from->parent);
	joint.child = scene_joint_body(c, from->child);
	if (joint.parent == joint.child || !scene_joint_kind_of(c, from, file, &joint))
		return; /* both ends in one body (welded), or both static */
	joint.measured = c->joint_measured[index];
	if (from->kind == SDF_FIXED && scene_joint_is_kinematic(c, joint.parent) &&
		scene_joint_is_kinematic(c, joint.child))
		return; /* the body is fixed to the world */
	joint.anchor = sdf_joint_in_world(c->sdf, from).p;
	for (uint32_t a = 0; a < joint.axis_count; a++) {
		struct vec3 axis = from->axis[a].xyz_world;
		double inverse =
			joint.kind == SDF_PRISMATIC
				? scene_joint_inverse_mass(c, joint.parent, axis) +
					  scene_joint_inverse_mass(c, joint.child, axis)
				: scene_joint_inverse_inertia_about(c, joint.parent, joint.anchor, axis) +
					  scene_joint_inverse_inertia_about(c, joint.child, joint.anchor, axis);
		joint.inertia[a] = inverse > 0 ? 1 / inverse : HUGE_VAL;
	}
	if (joint.kind == SDF_SCREW) {
		struct vec3 axis = from->axis[0].xyz_world;
		double inverse = scene_joint_inverse_mass(c, joint.parent, axis) +
				 scene_joint_inverse_mass(c, joint.child, axis);
		joint.inertia[1] = inverse > 0 ? 1 / inverse : HUGE_VAL;
	}
	vec_push(&c->joints, joint);
}
