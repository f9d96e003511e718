/* Joints: made at the reference pose, driven every step, their unwrapped positions kept in the state.
 *
 * ODE's first body is the child and its second the parent, so that positions and rates have SDF's sign (child relative
 * to parent). A universal joint has its first axis on the parent instead, so there the order is turned round and both
 * axes are negated, which gives the same sign.
 *
 * Damping and springs are not ODE's: a force -k (q - q0) - d q' is taken at the end of the step as well as the joint's
 * own inertia lets it be foreseen (the divisor below), which is stable however stiff they are. */
#include "physics/internal.h"

static const struct sdf_axis *axis_of(const struct scene_joint *joint, uint32_t axis)
{
	return &joint->axis[axis];
}

static void make_universal(const struct scene_joint *from, dJointID id, dBodyID child, dBodyID parent)
{
	struct vec3 a = vec3_scale(axis_of(from, 0)->xyz_world, -1), b = vec3_scale(axis_of(from, 1)->xyz_world, -1);
	dJointAttach(id, parent, child);
	dJointSetUniversalAnchor(id, from->anchor.x, from->anchor.y, from->anchor.z);
	dJointSetUniversalAxis1(id, a.x, a.y, a.z);
	dJointSetUniversalAxis2(id, b.x, b.y, b.z);
}

dJointID joint_make(struct physics *physics, uint32_t index, dWorldID world)
{
	const struct scene_joint *from = &physics->scene->joints[index];
	dBodyID child = instance_body(physics, from->child), parent = instance_body(physics, from->parent);
	struct vec3 at = from->anchor, axis = from->axis_count ? axis_of(from, 0)->xyz_world : (struct vec3){0, 0, 1};
	dJointID id = 0;
	switch (from->kind) {
	case SDF_REVOLUTE:
		id = dJointCreateHinge(world, 0);
		dJointAttach(id, child, parent);
		dJointSetHingeAnchor(id, at.x, at.y, at.z);
		dJointSetHingeAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_PRISMATIC:
		id = dJointCreateSlider(world, 0);
		dJointAttach(id, child, parent);
		dJointSetSliderAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_BALL:
		id = dJointCreateBall(world, 0);
		dJointAttach(id, child, parent);
		dJointSetBallAnchor(id, at.x, at.y, at.z);
		break;
	case SDF_UNIVERSAL:
	case SDF_REVOLUTE2:
		id = dJointCreateUniversal(world, 0);
		make_universal(from, id, child, parent);
		break;
	default: /* SDF_FIXED between two models; scene lets nothing else through */
		id = dJointCreateFixed(world, 0);
		dJointAttach(id, child, parent);
		dJointSetFixed(id);
		break;
	}
	return id;
}

/* --- what ODE says of a joint ----------------------------------------------------------------------------------- */

static double ode_position(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngle(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPosition(id);
	default:
		return axis ? dJointGetUniversalAngle2(id) : dJointGetUniversalAngle1(id);
	}
}

static double ode_rate(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngleRate(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPositionRate(id);
	default:
		return axis ? dJointGetUniversalAngle2Rate(id) : dJointGetUniversalAngle1Rate(id);
	}
}

static void ode_set(const struct scene_joint *joint, dJointID id, uint32_t axis, int parameter, double value)
{
	int group = axis ? dParamGroup2 : dParamGroup1;
	switch (joint->kind) {
	case SDF_REVOLUTE:
		dJointSetHingeParam(id, parameter, value);
		break;
	case SDF_PRISMATIC:
		dJointSetSliderParam(id, parameter, value);
		break;
	default:
		dJointSetUniversalParam(id, parameter + group, value);
		break;
	}
}

static void ode_add_force(const struct scene_joint *joint, dJointID id, uint32_t axis, double force)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		dJointAddHingeTorque(id, force);
		break;
	case SDF_PRISMATIC:
		dJointAddSliderForce(id, force);
		break;
	default:
		dJointAddUniversalTorques(id, axis ? 0 : force, axis ? force : 0);
		break;
	}
}

/* --- driving ---------------------------------------------------------------------------------------------------- */

static double clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

/* ODE knows hinge angles only in (-pi, pi], so stops beyond are given relative to the turn that the joint is in. */
static void set_stops(const struct scene_joint *joint, dJointID id, struct joint_setting *setting, double position)
{
	const struct sdf_axis *axis = axis_of(joint, 0);
	double turns = joint->kind == SDF_REVOLUTE ? 2 * M_PI * floor((position + M_PI) / (2 * M_PI)) : 0;
	double low = axis->lower - turns, high = axis->upper - turns;
	if (joint->kind == SDF_REVOLUTE) {
		low = low < -M_PI ? -dInfinity : low;
		high = high > M_PI ? dInfinity : high;
	}
	if (low == setting->low && high == setting->high)
		return;
	/* ODE refuses a low stop above the high one, so the order matters when both move */
	ode_set(joint, id, 0, dParamLoStop, -dInfinity);
	ode_set(joint, id, 0, dParamHiStop, high);
	ode_set(joint, id, 0, dParamLoStop, low);
	setting->low = low;
	setting->high = high;
}

static void set_second_axis(const struct scene_joint *joint, dJointID id)
{
	const struct sdf_axis *axis = axis_of(joint, 1);
	ode_set(joint, id, 1, dParamHiStop, axis->upper > M_PI ? dInfinity : axis->upper);
	ode_set(joint, id, 1, dParamLoStop, axis->lower < -M_PI ? -dInfinity : axis->lower);
	ode_set(joint, id, 1, dParamVel, 0);
	ode_set(joint, id, 1, dParamFMax, axis->friction);
}

static void set_motor(
	const struct scene_joint *joint, dJointID id, struct joint_setting *setting, double velocity, double force_max)
{
	if (velocity != setting->velocity)
		ode_set(joint, id, 0, dParamVel, setting->velocity = velocity);
	if (force_max != setting->force_max)
		ode_set(joint, id, 0, dParamFMax, setting->force_max = force_max);
}

/* Axis 0 as a motor: the commanded velocity; else the velocity limit when it is exceeded; else dry friction. */
static void drive(const struct scene_joint *joint, dJointID id, const struct joint_control *control,
	struct joint_setting *setting, double rate)
{
	const struct sdf_axis *axis = axis_of(joint, 0);
	double effort = isfinite(axis->effort) ? axis->effort : dInfinity;
	if (control->drive)
		set_motor(joint, id, setting, clamp(control->velocity, axis->velocity), effort);
	else if (fabs(rate) > axis->velocity)
		set_motor(joint, id, setting, clamp(rate, axis->velocity), dInfinity);
	else
		set_motor(joint, id, setting, 0, axis->friction);
}

static double passive_force(const struct sdf_axis *axis, double inertia, double position, double rate, double dt)
{
	double k = axis->spring_stiffness, d = axis->damping;
	double force = -k * (position + dt * rate - axis->spring_reference) - d * rate;
	return force / (1 + (d * dt + k * dt * dt) / inertia);
}

void joint_control(struct physics *physics, uint32_t index, dJointID id, struct joint_setting *setting, double dt)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	const struct joint_control *control = &physics->control->joints[index];
	const struct joint_state *now = state_joint(physics->state, index, false);
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		const struct sdf_axis *axis = axis_of(joint, a);
		bool passive = axis->damping != 0 || axis->spring_stiffness != 0;
		double rate = passive || (!a && isfinite(axis->velocity)) ? ode_rate(joint, id, a) : 0;
		double force = passive ? passive_force(axis, joint->inertia[a], now->position[a], rate, dt) : 0;
		if (!a) {
			force += clamp(control->force, axis->effort);
			if (isnan(setting->velocity) && joint->axis_count > 1)
				set_second_axis(joint, id);
			drive(joint, id, control, setting, rate);
			set_stops(joint, id, setting, now->position[0]);
		}
		if (force != 0)
			ode_add_force(joint, id, a, force);
	}
}

/* The angle nearest to `before` that is `angle` modulo a full turn. */
static double unwrap(double before, double angle)
{
	return angle + 2 * M_PI * nearbyint((before - angle) / (2 * M_PI));
}

void joint_store(struct physics *physics, uint32_t index, dJointID id)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	const struct joint_state *now = state_joint(physics->state, index, false);
	struct joint_state *next = state_joint(physics->state, index, true);
	next->position[0] = next->position[1] = 0;
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		double position = ode_position(joint, id, a);
		next->position[a] = joint->kind == SDF_PRISMATIC ? position : unwrap(now->position[a], position);
	}
}

/* Rows that the joint adds to its island, motors and stops counted as if they were always on: the choice of solver then
 * depends on the model and not on the moment. */
uint32_t joint_rows(const struct physics *physics, uint32_t index)
{
	switch (physics->scene->joints[index].kind) {
	case SDF_REVOLUTE:
	case SDF_PRISMATIC:
	case SDF_UNIVERSAL:
	case SDF_REVOLUTE2:
	case SDF_FIXED:
		return 6;
	default:
		return 3;
	}
}
