/* ODE's first body is the child and its second the parent (see joint_is_turned()), so that positions and rates have
 * SDF's sign (child relative to parent). ODE holds a universal joint's first axis to its first body; SDF's first axis
 * belongs to the parent: so there SDF's axis 0 is ODE's second and axis 1 its first.
 *
 * A screw is ODE's piston (it turns about its axis and slides along it) with a coupling between the two. Its motor and
 * stops act on the slide, in metres, since ODE's motor for the turning of a piston fails at its stops (0.16). A
 * gearbox is a coupling and has no ODE joint. A mimic is a coupling between two axes; see couple.c. */
#include "physics/joint_ode.h"

#include "physics/exact.h"

/* ODE needs a body as its first. Where there is none, ODE swaps the bodies and then reverses some values but not
 * others (a hinge's angle, but not its stops). So when the child is the world, the parent is first and the axes are
 * reversed here. */
static struct vec3 joint_ode_ode_axis(const struct scene_joint *joint, uint32_t axis)
{
	return vec3_scale(joint->axis[axis].xyz_world, joint_is_turned(joint) ? -1 : 1);
}

/* Whether SDF's axis of a universal joint is ODE's first. */
static bool joint_ode_is_first(const struct scene_joint *joint, uint32_t axis)
{
	return (axis == 0) == joint_is_turned(joint);
}

static void joint_ode_make_universal(const struct scene_joint *from, dJointID id)
{
	struct vec3 first = joint_ode_ode_axis(from, joint_is_turned(from) ? 0 : 1),
		    second = joint_ode_ode_axis(from, joint_is_turned(from) ? 1 : 0);
	dJointSetUniversalAnchor(id, from->anchor.x, from->anchor.y, from->anchor.z);
	dJointSetUniversalAxis1(id, first.x, first.y, first.z);
	dJointSetUniversalAxis2(id, second.x, second.y, second.z);
}

static void joint_ode_set_hardness(const struct scene_joint *joint, dJointID id)
{
	const struct sdf_joint_ode *ode = joint->sdf->ode;
	void (*set)(dJointID, int, dReal) = joint->kind == SDF_BALL ? dJointSetBallParam : dJointSetFixedParam;
	if (joint->kind != SDF_BALL && joint->kind != SDF_FIXED)
		return;
	if (!isnan(ode->erp))
		set(id, dParamERP, ode->erp);
	if (!isnan(ode->cfm))
		set(id, dParamCFM, MAX(ode->cfm, PHYSICS_CFM_MIN));
}

dJointID joint_make(struct physics *physics, uint32_t index, dWorldID ode_world)
{
	const struct scene_joint *from = &physics->scene->joints[index];
	dBodyID child = instance_body(physics, from->child), parent = instance_body(physics, from->parent);
	dBodyID first = child ? child : parent, second = child ? parent : 0;
	struct vec3 at = from->anchor, axis = from->axis_count ? joint_ode_ode_axis(from, 0) : (struct vec3){0, 0, 1};
	dJointID id = 0;
	switch (from->kind) {
	case SDF_REVOLUTE:
		id = dJointCreateHinge(ode_world, 0);
		dJointAttach(id, first, second);
		dJointSetHingeAnchor(id, at.x, at.y, at.z);
		dJointSetHingeAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_PRISMATIC:
		id = dJointCreateSlider(ode_world, 0);
		dJointAttach(id, first, second);
		dJointSetSliderAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_BALL:
		id = dJointCreateBall(ode_world, 0);
		dJointAttach(id, first, second);
		dJointSetBallAnchor(id, at.x, at.y, at.z);
		break;
	case SDF_SCREW:
		id = dJointCreatePiston(ode_world, 0);
		dJointAttach(id, first, second);
		dJointSetPistonAnchor(id, at.x, at.y, at.z);
		dJointSetPistonAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_GEARBOX:
		break; /* forces only */
	case SDF_UNIVERSAL:
	case SDF_REVOLUTE2:
		id = dJointCreateUniversal(ode_world, 0);
		dJointAttach(id, first, second);
		joint_ode_make_universal(from, id);
		break;
	default: /* SDF_FIXED between two models; scene lets nothing else through */
		id = dJointCreateFixed(ode_world, 0);
		dJointAttach(id, first, second);
		dJointSetFixed(id);
		break;
	}
	joint_ode_set_hardness(from, id);
	return id;
}

/* --- what ODE says of a joint ----------------------------------------------------------------------------------- */

double joint_ode_position(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngle(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPosition(id);
	case SDF_SCREW:
		return dJointGetPistonAngle(id);
	default:
		return joint_ode_is_first(joint, axis) ? dJointGetUniversalAngle1(id) : dJointGetUniversalAngle2(id);
	}
}

void joint_ode_set(const struct scene_joint *joint, dJointID id, uint32_t axis, int parameter, double value)
{
	int group = joint_ode_is_first(joint, axis) ? dParamGroup1 : dParamGroup2;
	switch (joint->kind) {
	case SDF_REVOLUTE:
		dJointSetHingeParam(id, parameter, value);
		break;
	case SDF_PRISMATIC:
		dJointSetSliderParam(id, parameter, value);
		break;
	case SDF_SCREW:
		dJointSetPistonParam(id, parameter, value);
		break;
	default:
		dJointSetUniversalParam(id, parameter + group, value);
		break;
	}
}

static void joint_ode_add_torque(dBodyID body, struct vec3 torque)
{
	if (body)
		dBodyAddTorque(body, torque.x, torque.y, torque.z);
}

void joint_ode_add_force(
	const struct physics *physics, const struct scene_joint *joint, dJointID id, uint32_t axis, double force)
{
	dBodyID child = instance_body(physics, joint->child), parent = instance_body(physics, joint->parent);
	dBodyID first = child ? child : parent, second = child ? parent : 0;
	dVector3 along;
	switch (joint->kind) {
	case SDF_REVOLUTE:
		dJointAddHingeTorque(id, force);
		break;
	case SDF_PRISMATIC:
		dJointAddSliderForce(id, force);
		break;
	case SDF_SCREW:
		dJointGetPistonAxis(id, along);
		joint_ode_add_torque(first, (struct vec3){along[0] * force, along[1] * force, along[2] * force});
		joint_ode_add_torque(second, (struct vec3){-along[0] * force, -along[1] * force, -along[2] * force});
		break;
	default:
		dJointAddUniversalTorques(
			id, joint_ode_is_first(joint, axis) ? force : 0, joint_ode_is_first(joint, axis) ? 0 : force);
		break;
	}
}

/* --- limits of rates ---------------------------------------------------------------------------------------------- */

#define JOINT_ODE_RATE_NEAR 1e-9 /* relative: a rate this far beyond its limit is at it */

static double joint_ode_rate(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngleRate(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPositionRate(id);
	case SDF_SCREW:
		return dJointGetPistonAngleRate(id);
	default:
		return joint_ode_is_first(joint, axis) ? dJointGetUniversalAngle1Rate(id)
						       : dJointGetUniversalAngle2Rate(id);
	}
}

static bool joint_ode_hold_axes(const struct worker *worker, uint32_t index, dJointID id, struct joint_setting *setting)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	bool held = false;
	if (worker->exact && exact_has_joint(worker, index))
		return false;
	for (uint32_t a = 0; id && a < joint->axis_count; a++) {
		double limit = joint->axis[a].velocity;
		if (!isfinite(limit) || !isnan(setting->axis[a].held))
			continue;
		double rate = joint_ode_rate(joint, id, a);
		if (!(fabs(rate) > limit * (1 + JOINT_ODE_RATE_NEAR)) || !isfinite(rate))
			continue;
		setting->axis[a].held = joint_clamp(rate, limit);
		held = true;
	}
	return held;
}

bool joint_hold_rates(struct worker *worker, struct group *group)
{
	bool held = false;
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = worker->instances[group->members.at[i]];
		const struct scene_model *m = &worker->scene->models[instance->model];
		for (uint32_t j = 0; instance->rates_limited && j < m->joint_count; j++)
			held |= joint_ode_hold_axes(
				worker, m->joint_first + j, instance->joints[j], &instance->settings[j]);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		struct world_joint *own = &group->world_joints.at[i];
		held |= joint_ode_hold_axes(worker, own->index, own->id, &own->setting);
	}
	return held;
}

void joint_release_rates(struct worker *worker, struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = worker->instances[group->members.at[i]];
		uint32_t joints = instance->rates_limited ? worker->scene->models[instance->model].joint_count : 0;
		for (uint32_t j = 0; j < joints; j++)
			instance->settings[j].axis[0].held = instance->settings[j].axis[1].held = NAN;
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		for (uint32_t a = 0; a < 2; a++)
			group->world_joints.at[i].setting.axis[a].held = NAN;
}
