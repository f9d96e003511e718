/* Notes of a step, taken on request: contacts as they are made, and the forces of contacts and joints.
 *
 * The effort of an axis is the force or torque along it that the joint gives its child: what the solver's rows of the
 * joint did in the step, and what was added to the bodies as a force (physics/joint.c, couple.c). The rows' part comes
 * from ODE's feedback, a force and a torque about the centre of the joint's first body. ODE only copies it from what it
 * has solved, so no bit depends on it (tests/conform/test_observe).
 *
 *   slide    the force along the axis: the rows that keep the parts on the axis act across it
 *   turn     the torque about the axis, at the anchor: the rows that hold the anchors together act there
 *   screw    its motor and stops act on the slide, so the force along the axis, by what it slides for each radian. The
 *            coupling of its thread does no work on the axis, and so does not count
 *
 * The reaction of a joint is all that it exerts on its child: the rows, and the same added forces. That of a contact is
 * the force of its rows; ODE's contacts have no torque about their point.
 *
 * A step may be tried several times from state k (couplings, a solver that failed). Each try makes the same contacts.
 * What was noted of the ODE world before is dropped whenever its step is begun again, and efforts and forces are taken
 * once, when the step is stored. */
#include "physics/exact.h"
#include "physics/internal.h"

#include "scene/axis.h"

#include <stdlib.h>
#include <string.h>

/* --- what ODE is told --------------------------------------------------------------------------------------------- */

void observe_joints(struct physics *physics, struct instance *instance)
{
	uint32_t count = physics->scene->models[instance->model].joint_count;
	bool wanted = physics->observe & OBSERVE_JOINTS;
	if (wanted && !instance->feedback)
		instance->feedback = mem_alloc(count * sizeof *instance->feedback);
	for (uint32_t i = 0; i < count; i++)
		if (instance->joints[i])
			dJointSetFeedback(instance->joints[i], wanted ? &instance->feedback[i] : NULL);
	if (wanted)
		return;
	free(instance->feedback);
	instance->feedback = NULL;
}

void observe_world_joint(struct physics *physics, struct world_joint *joint)
{
	bool wanted = physics->observe & OBSERVE_JOINTS;
	if (wanted && !joint->feedback)
		joint->feedback = mem_alloc(sizeof *joint->feedback);
	if (joint->id)
		dJointSetFeedback(joint->id, wanted ? joint->feedback : NULL);
	if (wanted)
		return;
	free(joint->feedback);
	joint->feedback = NULL;
}

void physics_observe(struct physics *physics, uint32_t what)
{
	bool changed = !(physics->observe & OBSERVE_JOINTS) != !(what & OBSERVE_JOINTS);
	physics->observe = what;
	physics->notes = true;
	physics->note_step = 0;
	if (!changed)
		return;
	for (uint32_t i = 0; i < physics->taken.count; i++)
		observe_joints(physics, physics->instances[physics->taken.at[i]]);
	for (uint32_t g = 0; g < physics->groups.count; g++)
		for (uint32_t i = 0; i < physics->groups.at[g].world_joints.count; i++)
			observe_world_joint(physics, &physics->groups.at[g].world_joints.at[i]);
}

void physics_note(struct physics *physics, bool notes, uint32_t step)
{
	physics->notes = notes;
	physics->note_step = step;
}

const struct notes *worker_notes(struct worker *worker)
{
	notes_sort_contacts(&worker->notes.contacts, &worker->notes_scratch.contacts);
	notes_sort_efforts(&worker->notes.efforts, &worker->notes_scratch.efforts);
	notes_sort_reactions(&worker->notes.reactions, &worker->notes_scratch.reactions);
	return &worker->notes;
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

void observe_begin_ode_world(struct worker *worker)
{
	worker->contacts_before = worker->notes.contacts.count;
	worker->efforts_before = worker->notes.efforts.count;
	worker->reactions_before = worker->notes.reactions.count;
}

void observe_contacts(struct worker *worker, const struct geom_pair *pair, const dContactGeom *found, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		vec_push(&worker->notes.contacts, (struct contact_note){
							  .geoms = {pair->a, pair->b},
							  .position = vec3_from(found[i].pos),
							  .normal = vec3_from(found[i].normal),
							  .depth = found[i].depth,
							  .step = worker->note_step,
						  });
}

void observe_contact_joint(struct worker *worker, const struct contact_row *row, dJointID joint, bool turned)
{
	uint32_t note = (uint32_t)(row - worker->rows_of_contacts.at);
	vec_push(&worker->observed, (struct observed_contact){joint, turned, note});
}

void observe_contact_joints(struct worker *worker)
{
	uint32_t count = worker->observed.count;
	worker->feedback.count = 0;
	if (!count)
		return;
	memset(vec_append(&worker->feedback, count), 0, count * sizeof *worker->feedback.at);
	for (uint32_t i = 0; i < count; i++)
		dJointSetFeedback(worker->observed.at[i].joint, &worker->feedback.at[i]);
}

/* Each observed joint is the contact of one note. */
static void observe_take_contact_forces(struct worker *worker)
{
	for (uint32_t i = 0; i < worker->observed.count; i++) {
		struct vec3 force = vec3_from(worker->feedback.at[i].f1);
		worker->notes.contacts.at[worker->contacts_before + worker->observed.at[i].note].force =
			worker->observed.at[i].turned ? vec3_scale(force, -1) : force;
	}
}

void observe_contact_force(struct worker *worker, uint32_t contact, struct vec3 force)
{
	worker->notes.contacts.at[worker->contacts_before + contact].force = force;
}

/* --- efforts ------------------------------------------------------------------------------------------------------ */

/* The effort of the solver's rows on the child. */
static double observe_effort_of_rows(
	const struct state *state, const struct scene_joint *joint, const dJointFeedback *feedback, uint32_t axis)
{
	uint32_t first = joint_is_turned(joint) ? joint->parent : joint->child;
	struct vec3 along = scene_axis_direction(state, joint, axis, false), force = vec3_from(feedback->f1);
	double effort;
	if (joint->kind == SDF_PRISMATIC || joint->kind == SDF_SCREW) {
		effort = vec3_dot(along, force) * joint_scale(joint);
	} else {
		struct vec3 arm = vec3_sub(state_body(state, first, false)->p, scene_axis_anchor(state, joint));
		effort = vec3_dot(along, vec3_add(vec3_from(feedback->t1), vec3_cross(arm, force)));
	}
	return joint_is_turned(joint) ? -effort : effort;
}

/* Adds a force that acts at a point of the world. */
static void observe_add_force(const struct state *state, const struct scene_joint *joint, struct vec3 force,
	struct vec3 at, struct reaction *to)
{
	struct vec3 arm = vec3_sub(at, scene_axis_anchor(state, joint));
	to->force = vec3_add(to->force, force);
	to->torque = vec3_add(to->torque, vec3_cross(arm, force));
}

/* Adds a force or torque along an axis that is not of the solver's rows. at: where the force along a slide acts. */
static void observe_add_along(const struct state *state, const struct scene_joint *joint, uint32_t axis, double effort,
	struct vec3 at, struct reaction *to)
{
	struct vec3 along = vec3_scale(scene_axis_direction(state, joint, axis, false), effort);
	if (joint->kind == SDF_PRISMATIC)
		observe_add_force(state, joint, along, at, to);
	else
		to->torque = vec3_add(to->torque, along);
}

/* The centre of mass of the child or, if the child is the world, of the parent. */
static struct vec3 observe_centre_of_child(const struct state *state, const struct scene_joint *joint)
{
	return state_body(state, joint_is_turned(joint) ? joint->parent : joint->child, false)->p;
}

/* ODE's force on a slide acts between the centres of mass. */
static struct vec3 observe_middle(const struct state *state, const struct scene_joint *joint)
{
	struct vec3 centre = observe_centre_of_child(state, joint);
	if (joint->child == SCENE_NONE || joint->parent == SCENE_NONE)
		return centre;
	return vec3_scale(vec3_add(centre, state_body(state, joint->parent, false)->p), 0.5);
}

/* The force and torque of the solver's rows on the child. ODE's first body is the child or, if the child is the world,
 * the parent. */
static struct reaction observe_reaction_of_rows(
	const struct state *state, const struct scene_joint *joint, const dJointFeedback *feedback)
{
	double sign = joint_is_turned(joint) ? -1 : 1;
	struct reaction reaction = {.torque = vec3_scale(vec3_from(feedback->t1), sign)};
	observe_add_force(state, joint, vec3_scale(vec3_from(feedback->f1), sign),
		observe_centre_of_child(state, joint), &reaction);
	return reaction;
}

static void observe_note_effort(
	struct worker *worker, uint32_t index, const dJointFeedback *feedback, const struct joint_setting *setting)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	struct effort_note note = {.joint = index, .step = worker->note_step};
	uint32_t axes = notes_axes(joint);
	for (uint32_t a = 0; feedback && a < axes; a++)
		note.effort[a] = observe_effort_of_rows(worker->owner->state, joint, feedback, a) +
				 joint_added_force(worker->owner, index, setting, a);
	if (axes)
		vec_push(&worker->notes.efforts, note);
}

static void observe_note_reaction(
	struct worker *worker, uint32_t index, const dJointFeedback *feedback, const struct joint_setting *setting)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	const struct state *state = worker->owner->state;
	struct reaction_note note = {.joint = index, .step = worker->note_step};
	if (feedback)
		note.reaction = observe_reaction_of_rows(state, joint, feedback);
	for (uint32_t a = 0; feedback && a < joint->axis_count; a++)
		observe_add_along(state, joint, a, joint_added_force(worker->owner, index, setting, a),
			observe_middle(state, joint), &note.reaction);
	vec_push(&worker->notes.reactions, note);
}

/* feedback: NULL for a gearbox, which has no ODE joint. */
static void observe_note_joint(
	struct worker *worker, uint32_t index, const dJointFeedback *feedback, const struct joint_setting *setting)
{
	if (worker->observe & OBSERVE_EFFORTS)
		observe_note_effort(worker, index, feedback, setting);
	if ((worker->observe & OBSERVE_FORCES) && worker->scene->joints[index].measured)
		observe_note_reaction(worker, index, feedback, setting);
}

/* Joints whose islands were solved in lanes have no part of it. */
static void observe_note_group(struct worker *worker, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct instance *instance = worker->owner->instances[group->members.at[i]];
		const struct scene_model *m = &worker->scene->models[instance->model];
		for (uint32_t j = 0; j < m->joint_count; j++)
			if (!worker->exact || !exact_has_joint(worker, m->joint_first + j))
				observe_note_joint(worker, m->joint_first + j,
					instance->joints[j] ? &instance->feedback[j] : NULL,
					instance->settings ? &instance->settings[j] : NULL);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		const struct world_joint *own = &group->world_joints.at[i];
		if (!worker->exact || !exact_has_joint(worker, own->index))
			observe_note_joint(worker, own->index, own->id ? own->feedback : NULL, &own->setting);
	}
}

static struct reaction *observe_find_reaction(struct worker *worker, uint32_t joint)
{
	reaction_notes *notes = &worker->notes.reactions;
	for (uint32_t i = worker->reactions_before; i < notes->count; i++)
		if (notes->at[i].joint == joint)
			return &notes->at[i].reaction;
	return NULL;
}

static void observe_add_to(struct worker *worker, uint32_t index, uint32_t axis, double effort)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	const struct state *state = worker->owner->state;
	effort_notes *notes = &worker->notes.efforts;
	for (uint32_t i = worker->efforts_before; i < notes->count; i++)
		if (notes->at[i].joint == index)
			notes->at[i].effort[axis] += effort;
	struct reaction *reaction = observe_find_reaction(worker, index);
	if (reaction && (joint->kind != SDF_GEARBOX || axis == 1)) /* the other acts on the parent */
		observe_add_along(state, joint, axis, effort, observe_centre_of_child(state, joint), reaction);
}

/* The thread of a screw acts on both its slide and its turning. */
static void observe_add_thread(struct worker *worker, const struct coupling *coupling, double force)
{
	const struct scene_joint *joint = &worker->scene->joints[coupling->joint];
	const struct state *state = worker->owner->state;
	struct reaction *reaction = observe_find_reaction(worker, coupling->joint);
	bool turned = joint_is_turned(joint);
	for (uint32_t i = 0; reaction && i < coupling->count; i++) {
		if (coupling->body[i] != (turned ? joint->parent : joint->child))
			continue;
		double on_child = turned ? -force : force;
		struct vec3 torque = vec3_scale(coupling->angular[i], on_child);
		observe_add_force(state, joint, vec3_scale(coupling->linear[i], on_child),
			observe_centre_of_child(state, joint), reaction);
		reaction->torque = vec3_add(reaction->torque, torque);
	}
}

/* The impulse of the coupling acts along its direction: see couple_apply(). */
static void observe_add_coupling(struct worker *worker, const struct coupling *coupling, double dt)
{
	const struct scene_joint *joint = &worker->scene->joints[coupling->joint];
	double force = -coupling->impulse / dt;
	if (coupling->axis != SCENE_NONE) {
		const struct scene_mimic *mimic = &joint->mimic[coupling->axis];
		observe_add_to(worker, coupling->joint, coupling->axis, force);
		observe_add_to(worker, mimic->joint, mimic->axis, -mimic->multiplier * force);
	} else if (joint->kind == SDF_GEARBOX) {
		observe_add_to(worker, coupling->joint, 0, force * joint->sdf->gearbox_ratio);
		observe_add_to(worker, coupling->joint, 1, force);
	} else {
		observe_add_thread(worker, coupling, force);
	}
}

void observe_result(struct worker *worker, double dt)
{
	observe_take_contact_forces(worker);
	if (!(worker->observe & OBSERVE_JOINTS))
		return;
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		if (!worker->exact || group_at_hand(worker, i)->in_ode)
			observe_note_group(worker, group_at_hand(worker, i));
	if (worker->exact)
		exact_note_joints(worker, dt);
	for (uint32_t i = 0; i < worker->couplings.count; i++)
		observe_add_coupling(worker, &worker->couplings.at[i], dt);
}
