/* Joints: made at the reference pose, driven every step, their unwrapped positions kept in the state.
 *
 * ODE's first body is the child and its second the parent, so that positions and rates have SDF's sign (child relative
 * to parent). ODE holds a universal joint's first axis to its first body; SDF's first axis belongs to the parent: so
 * there SDF's axis 0 is ODE's second and axis 1 its first.
 *
 * Axis 0 has one row in the solver beside its stops, and what it is used for depends on the moment (motor_of()): the
 * commanded velocity; the velocity limit; a spring and damper, which ODE's softness makes exact and stable however
 * stiff they are; dry friction. What does not get the row acts as a force, its part that grows with velocity divided by
 * what keeps it from overshooting. At a stop ODE would turn the motor's greatest force loose on the bodies; so there
 * either the motor rests or, when it pulls away, the stop does. */
#include "physics/internal.h"

static const struct sdf_axis *axis_of(const struct scene_joint *joint, uint32_t axis)
{
	return &joint->axis[axis];
}

static void make_universal(const struct scene_joint *from, dJointID id, dBodyID child, dBodyID parent)
{
	struct vec3 first = axis_of(from, 1)->xyz_world, second = axis_of(from, 0)->xyz_world;
	dJointAttach(id, child, parent);
	dJointSetUniversalAnchor(id, from->anchor.x, from->anchor.y, from->anchor.z);
	dJointSetUniversalAxis1(id, first.x, first.y, first.z);
	dJointSetUniversalAxis2(id, second.x, second.y, second.z);
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
		return axis ? dJointGetUniversalAngle1(id) : dJointGetUniversalAngle2(id);
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
		return axis ? dJointGetUniversalAngle1Rate(id) : dJointGetUniversalAngle2Rate(id);
	}
}

static void ode_set(const struct scene_joint *joint, dJointID id, uint32_t axis, int parameter, double value)
{
	int group = axis ? dParamGroup1 : dParamGroup2;
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
		dJointAddUniversalTorques(id, axis ? force : 0, axis ? 0 : force);
		break;
	}
}

/* --- driving ---------------------------------------------------------------------------------------------------- */

static double clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

enum stop { STOP_NONE, STOP_LOW, STOP_HIGH }; /* at which one the joint is */

static enum stop stop_at(const struct sdf_axis *axis, double position)
{
	return position <= axis->lower ? STOP_LOW : position >= axis->upper ? STOP_HIGH : STOP_NONE;
}

/* ODE knows hinge angles only in (-pi, pi], so stops beyond are given relative to the turn that the joint is in. */
static void set_stops(
	const struct scene_joint *joint, dJointID id, struct joint_setting *setting, double position, enum stop without)
{
	const struct sdf_axis *axis = axis_of(joint, 0);
	double turns = joint->kind == SDF_PRISMATIC ? 0 : 2 * M_PI * floor((position + M_PI) / (2 * M_PI));
	double low = without == STOP_LOW ? -dInfinity : axis->lower - turns;
	double high = without == STOP_HIGH ? dInfinity : axis->upper - turns;
	if (joint->kind != SDF_PRISMATIC) {
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

struct motor { /* J v = velocity - softness * force, |force| <= force_max */
	double velocity, force_max, softness;
};

static void set_motor(const struct scene_joint *joint, dJointID id, struct joint_setting *setting, struct motor motor)
{
	if (motor.velocity != setting->velocity)
		ode_set(joint, id, 0, dParamVel, setting->velocity = motor.velocity);
	if (motor.force_max != setting->force_max)
		ode_set(joint, id, 0, dParamFMax, setting->force_max = motor.force_max);
	if (motor.softness != setting->softness)
		ode_set(joint, id, 0, dParamCFM, setting->softness = motor.softness);
}

static bool is_passive(const struct sdf_axis *axis)
{
	return axis->damping != 0 || axis->spring_stiffness != 0;
}

/* What the row of axis 0 is for. *ret_passive: whether that is its spring and damper. */
static struct motor motor_of(const struct physics *physics, const struct sdf_axis *axis,
	const struct joint_control *control, double position, double rate, double dt, bool *ret_passive)
{
	double hard = MAX(physics->scene->sdf->physics.cfm, PHYSICS_CFM_MIN);
	double effort = isfinite(axis->effort) ? axis->effort : dInfinity;
	*ret_passive = false;
	if (control->drive)
		return (struct motor){clamp(control->velocity, axis->velocity), effort, hard};
	if (fabs(rate) > axis->velocity)
		return (struct motor){clamp(rate, axis->velocity), dInfinity, hard};
	if (!is_passive(axis) || axis->friction > 0)
		return (struct motor){0, axis->friction, hard};
	/* force = -k (q + dt v - q0) - d v at the end of the step, solved for v */
	double soft = 1 / (axis->damping + axis->spring_stiffness * dt);
	*ret_passive = true;
	return (struct motor){
		-axis->spring_stiffness * (position - axis->spring_reference) * soft, dInfinity, MAX(soft, hard)};
}

static double passive_force(const struct sdf_axis *axis, double inertia, double position, double rate, double dt)
{
	double k = axis->spring_stiffness, d = axis->damping + k * dt;
	return -k * (position - axis->spring_reference) - d * rate / (1 + d * dt / inertia);
}

/* What is left of the motor at a stop. One of endless strength that pulls away takes the stop's place; a weaker one
 * pulls with all it has and leaves the stop to hold what it cannot. */
static double drive_at_stop(enum stop at, struct motor *motor, enum stop *ret_without)
{
	double force_max = motor->force_max;
	bool away = at == STOP_LOW ? motor->velocity > 0 : motor->velocity < 0;
	if (away && force_max == dInfinity) {
		*ret_without = at;
		return 0;
	}
	motor->force_max = 0;
	return !away ? 0 : at == STOP_LOW ? force_max : -force_max;
}

/* Axis 0; returns the force that is to act beside its row. */
static double drive(const struct physics *physics, uint32_t index, dJointID id, struct joint_setting *setting,
	double rate, double dt)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	const struct joint_control *control = &physics->control->joints[index];
	const struct sdf_axis *axis = axis_of(joint, 0);
	double position = state_joint(physics->state, index, false)->position[0];
	enum stop at = stop_at(axis, position), without = STOP_NONE;
	double force = clamp(control->force, axis->effort);
	bool passive;
	struct motor motor = motor_of(physics, axis, control, position, rate, dt, &passive);
	if (passive && at != STOP_NONE) {
		motor.force_max = 0;
		passive = false;
	} else if (at != STOP_NONE) {
		force += drive_at_stop(at, &motor, &without);
	}
	if (is_passive(axis) && !passive)
		force += passive_force(axis, joint->inertia[0], position, rate, dt);
	set_motor(joint, id, setting, motor);
	set_stops(joint, id, setting, position, without);
	return force;
}

void joint_control(struct physics *physics, uint32_t index, dJointID id, struct joint_setting *setting, double dt)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	if (joint->axis_count > 1 && isnan(setting->velocity))
		set_second_axis(joint, id);
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		const struct sdf_axis *axis = axis_of(joint, a);
		double rate = is_passive(axis) || (!a && isfinite(axis->velocity)) ? ode_rate(joint, id, a) : 0;
		double force = 0;
		if (!a)
			force = drive(physics, index, id, setting, rate, dt);
		else if (is_passive(axis))
			force = passive_force(axis, joint->inertia[a],
				state_joint(physics->state, index, false)->position[a], rate, dt);
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
