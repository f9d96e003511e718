/* What is noted of a step on request: contacts as they are made, and what joints exert.
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
 * A step may be tried several times from state k (couplings, a solver that failed). Each try makes the same contacts.
 * What was noted of the ODE world before is dropped whenever its step is begun again, and efforts are taken once, when
 * the step is stored. */
#include "physics/internal.h"

#include "scene/axis.h"

#include <stdlib.h>
#include <string.h>

/* --- what ODE is told --------------------------------------------------------------------------------------------- */

void observe_joints(struct physics *physics, struct instance *instance)
{
	uint32_t count = physics->scene->models[instance->model].joint_count;
	bool wanted = physics->observe & OBSERVE_EFFORTS;
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
	bool wanted = physics->observe & OBSERVE_EFFORTS;
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
	bool changed = (physics->observe ^ what) & OBSERVE_EFFORTS;
	physics->observe = what;
	if (!changed)
		return;
	for (uint32_t i = 0; i < physics->taken.count; i++)
		observe_joints(physics, physics->instances[physics->taken.at[i]]);
	for (uint32_t g = 0; g < physics->groups.count; g++)
		for (uint32_t i = 0; i < physics->groups.at[g].world_joints.count; i++)
			observe_world_joint(physics, &physics->groups.at[g].world_joints.at[i]);
}

const struct notes *worker_notes(struct worker *worker)
{
	notes_sort_contacts(&worker->notes.contacts, &worker->notes_scratch.contacts);
	notes_sort_efforts(&worker->notes.efforts, &worker->notes_scratch.efforts);
	return &worker->notes;
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

void observe_begin_ode_world(struct worker *worker)
{
	worker->contacts_before = worker->notes.contacts.count;
	worker->efforts_before = worker->notes.efforts.count;
}

static struct vec3 from_ode(const dReal *v)
{
	return (struct vec3){v[0], v[1], v[2]};
}

void observe_contacts(struct worker *worker, const struct geom_pair *pair, const dContactGeom *found, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		vec_push(&worker->notes.contacts, (struct contact_note){
							  .geoms = {pair->a, pair->b},
							  .position = from_ode(found[i].pos),
							  .normal = from_ode(found[i].normal),
							  .depth = found[i].depth,
						  });
}

/* --- efforts ------------------------------------------------------------------------------------------------------ */

/* The effort of the solver's rows on the child. */
static double effort_of_rows(
	const struct state *state, const struct scene_joint *joint, const dJointFeedback *feedback, uint32_t axis)
{
	uint32_t first = joint_is_turned(joint) ? joint->parent : joint->child;
	struct vec3 along = scene_axis_direction(state, joint, axis, false), force = from_ode(feedback->f1);
	double effort;
	if (joint->kind == SDF_PRISMATIC || joint->kind == SDF_SCREW) {
		effort = vec3_dot(along, force) * joint_scale(joint);
	} else {
		struct vec3 arm = vec3_sub(state_body(state, first, false)->p, scene_axis_anchor(state, joint, false));
		effort = vec3_dot(along, vec3_add(from_ode(feedback->t1), vec3_cross(arm, force)));
	}
	return joint_is_turned(joint) ? -effort : effort;
}

/* feedback: NULL for a gearbox, which has no ODE joint. */
static void note_joint(
	struct worker *worker, uint32_t index, const dJointFeedback *feedback, const struct joint_setting *setting)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	struct effort_note note = {.joint = index};
	uint32_t axes = notes_axes(joint);
	for (uint32_t a = 0; feedback && a < axes; a++)
		note.effort[a] = effort_of_rows(worker->owner->state, joint, feedback, a) +
				 joint_added_force(worker->owner, index, setting, a);
	if (axes)
		vec_push(&worker->notes.efforts, note);
}

static void note_group(struct worker *worker, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		const struct instance *instance = worker->owner->instances[group->members.at[i]];
		const struct scene_model *m = &worker->scene->models[instance->model];
		for (uint32_t j = 0; j < m->joint_count; j++)
			note_joint(worker, m->joint_first + j, instance->joints[j] ? &instance->feedback[j] : NULL,
				&instance->settings[j]);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		const struct world_joint *own = &group->world_joints.at[i];
		note_joint(worker, own->index, own->id ? own->feedback : NULL, &own->setting);
	}
}

static void add_to(struct worker *worker, uint32_t joint, uint32_t axis, double effort)
{
	effort_notes *notes = &worker->notes.efforts;
	for (uint32_t i = worker->efforts_before; i < notes->count; i++)
		if (notes->at[i].joint == joint)
			notes->at[i].effort[axis] += effort;
}

/* The impulse of the coupling acts along its direction: see couple_apply(). */
static void add_coupling(struct worker *worker, const struct coupling *coupling, double dt)
{
	const struct scene_joint *joint = &worker->scene->joints[coupling->joint];
	double force = -coupling->impulse / dt;
	if (coupling->axis != SCENE_NONE) {
		const struct scene_mimic *mimic = &joint->mimic[coupling->axis];
		add_to(worker, coupling->joint, coupling->axis, force);
		add_to(worker, mimic->joint, mimic->axis, -mimic->multiplier * force);
	} else if (joint->kind == SDF_GEARBOX) {
		add_to(worker, coupling->joint, 0, force * joint->sdf->gearbox_ratio);
		add_to(worker, coupling->joint, 1, force);
	}
}

void observe_efforts(struct worker *worker, double dt)
{
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		note_group(worker, group_at_hand(worker, i));
	for (uint32_t i = 0; i < worker->couplings.count; i++)
		add_coupling(worker, &worker->couplings.at[i], dt);
}
