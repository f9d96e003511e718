/* Joints: made at the reference pose, driven every step, their unwrapped positions kept in the state.
 *
 * ODE's first body is the child and its second the parent (see is_turned()), so that positions and rates have SDF's
 * sign (child relative to parent). ODE holds a universal joint's first axis to its first body; SDF's first axis belongs
 * to the parent: so there SDF's axis 0 is ODE's second and axis 1 its first.
 *
 * An axis has one row in the solver beside its stops, and what it is used for depends on the moment (motor_of()): the
 * axis that it mimics; the commanded velocity; the velocity limit; a spring and damper, which ODE's softness makes
 * exact and stable however stiff they are; dry friction. What does not get the row acts as a force, its part that grows
 * with velocity divided by what keeps it from overshooting. At a stop ODE would turn the motor's greatest force loose
 * on the bodies; so there either the motor rests or, when it pulls away, the stop does. Stops are as hard as the solver
 * can, unless the file gives them a stiffness or dissipation.
 *
 * A screw is ODE's piston (it turns about its axis and slides along it) with a thread (couple.c). Motor and stops act
 * on the slide, in metres, since ODE's for the turning of a piston fail at their stops (0.16); to what turns and slides
 * at once both are the same. A gearbox has no joint of ODE's (couple.c).
 *
 * A mimic leads its axis like a motor does, without a way back to the axis that it follows (the same in Gazebo's
 * default engine). */
#include "physics/internal.h"

#include <float.h>

/* What sdf.h gives a stop of which the file says nothing. */
#define STOP_STIFFNESS 1e8
#define STOP_DISSIPATION 1.0
#define STOP_CFM_MAX 1e12
#define STOP_NEAR 1e-9         /* rad or m, and relative */
#define JOINT_VELOCITY_MAX 1e4 /* m/s or rad/s: no faster does a mimic catch up */

static const struct sdf_axis *axis_of(const struct scene_joint *joint, uint32_t axis)
{
	return &joint->axis[axis];
}

/* ODE wants a body as its first, and where it has none it turns some of what it is told round and some not (a hinge's
 * angle, but not its stops). So when the child is the world, the parent is first and the axes are turned here. */
static bool is_turned(const struct scene_joint *joint)
{
	return joint->child == SCENE_NONE;
}

static struct vec3 ode_axis(const struct scene_joint *joint, uint32_t axis)
{
	return vec3_scale(axis_of(joint, axis)->xyz_world, is_turned(joint) ? -1 : 1);
}

/* Whether SDF's axis of a universal joint is ODE's first. */
static bool is_first(const struct scene_joint *joint, uint32_t axis)
{
	return (axis == 0) == is_turned(joint);
}

static void make_universal(const struct scene_joint *from, dJointID id)
{
	struct vec3 first = ode_axis(from, is_turned(from) ? 0 : 1), second = ode_axis(from, is_turned(from) ? 1 : 0);
	dJointSetUniversalAnchor(id, from->anchor.x, from->anchor.y, from->anchor.z);
	dJointSetUniversalAxis1(id, first.x, first.y, first.z);
	dJointSetUniversalAxis2(id, second.x, second.y, second.z);
}

dJointID joint_make(struct physics *physics, uint32_t index, dWorldID world)
{
	const struct scene_joint *from = &physics->scene->joints[index];
	dBodyID child = instance_body(physics, from->child), parent = instance_body(physics, from->parent);
	dBodyID first = child ? child : parent, second = child ? parent : 0;
	struct vec3 at = from->anchor, axis = from->axis_count ? ode_axis(from, 0) : (struct vec3){0, 0, 1};
	dJointID id = 0;
	switch (from->kind) {
	case SDF_REVOLUTE:
		id = dJointCreateHinge(world, 0);
		dJointAttach(id, first, second);
		dJointSetHingeAnchor(id, at.x, at.y, at.z);
		dJointSetHingeAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_PRISMATIC:
		id = dJointCreateSlider(world, 0);
		dJointAttach(id, first, second);
		dJointSetSliderAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_BALL:
		id = dJointCreateBall(world, 0);
		dJointAttach(id, first, second);
		dJointSetBallAnchor(id, at.x, at.y, at.z);
		break;
	case SDF_SCREW:
		id = dJointCreatePiston(world, 0);
		dJointAttach(id, first, second);
		dJointSetPistonAnchor(id, at.x, at.y, at.z);
		dJointSetPistonAxis(id, axis.x, axis.y, axis.z);
		break;
	case SDF_GEARBOX:
		break; /* forces alone */
	case SDF_UNIVERSAL:
	case SDF_REVOLUTE2:
		id = dJointCreateUniversal(world, 0);
		dJointAttach(id, first, second);
		make_universal(from, id);
		break;
	default: /* SDF_FIXED between two models; scene lets nothing else through */
		id = dJointCreateFixed(world, 0);
		dJointAttach(id, first, second);
		dJointSetFixed(id);
		break;
	}
	return id;
}

/* --- what ODE says of a joint ----------------------------------------------------------------------------------- */

/* ODE's coordinate of an axis is this much times SDF's: a screw's motor and stops are those of its slide. */
static double scale_of(const struct scene_joint *joint)
{
	return joint->kind == SDF_SCREW ? 1 / joint->sdf->thread_pitch : 1;
}

static bool is_linear(const struct scene_joint *joint)
{
	return joint->kind == SDF_PRISMATIC || joint->kind == SDF_SCREW;
}

static double ode_position(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngle(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPosition(id);
	case SDF_SCREW:
		return dJointGetPistonAngle(id);
	default:
		return is_first(joint, axis) ? dJointGetUniversalAngle1(id) : dJointGetUniversalAngle2(id);
	}
}

static double ode_rate(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngleRate(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPositionRate(id);
	case SDF_SCREW:
		return dJointGetPistonAngleRate(id);
	default:
		return is_first(joint, axis) ? dJointGetUniversalAngle1Rate(id) : dJointGetUniversalAngle2Rate(id);
	}
}

static void ode_set(const struct scene_joint *joint, dJointID id, uint32_t axis, int parameter, double value)
{
	int group = is_first(joint, axis) ? dParamGroup1 : dParamGroup2;
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

static void add_torque(dBodyID body, struct vec3 torque)
{
	if (body)
		dBodyAddTorque(body, torque.x, torque.y, torque.z);
}

static void ode_add_force(
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
		add_torque(first, (struct vec3){along[0] * force, along[1] * force, along[2] * force});
		add_torque(second, (struct vec3){-along[0] * force, -along[1] * force, -along[2] * force});
		break;
	default:
		dJointAddUniversalTorques(id, is_first(joint, axis) ? force : 0, is_first(joint, axis) ? 0 : force);
		break;
	}
}

/* --- stops and motor -------------------------------------------------------------------------------------------- */

static double clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

enum stop { STOP_NONE, STOP_LOW, STOP_HIGH, STOP_BOTH }; /* at which one the joint is */

/* A motor that leads an axis to its stop leaves it there to the last bits, and ODE, which counts turns otherwise, must
 * not be at the stop when we think that we are not. */
static enum stop stop_at(const struct sdf_axis *axis, double position)
{
	if (axis->lower > axis->upper)
		return STOP_NONE; /* limits that nothing could keep */
	if (axis->lower == axis->upper)
		return STOP_BOTH;
	if (position <= axis->lower + STOP_NEAR * (1 + fabs(axis->lower)))
		return STOP_LOW;
	return position >= axis->upper - STOP_NEAR * (1 + fabs(axis->upper)) ? STOP_HIGH : STOP_NONE;
}

/* A stop that the file makes softer than the default is a spring and damper, as soft as an implicit one is. */
static void soften_stops(const struct scene_joint *joint, dJointID id, uint32_t a, double dt)
{
	const struct sdf_axis *axis = axis_of(joint, a);
	if (axis->stiffness == STOP_STIFFNESS && axis->dissipation == STOP_DISSIPATION)
		return;
	double scale = scale_of(joint), k = axis->stiffness / (scale * scale), d = axis->dissipation / (scale * scale);
	double sum = dt * k + d;
	if (!(sum > 0)) /* nothing at all holds it */
		sum = DBL_MIN;
	ode_set(joint, id, a, dParamStopERP, dt * k / sum);
	ode_set(joint, id, a, dParamStopCFM, fmin(MAX(1 / sum, PHYSICS_CFM_MIN), STOP_CFM_MAX));
}

/* ODE knows hinge angles only in (-pi, pi], so stops beyond are given relative to the turn that the joint is in. */
static void set_stops(const struct scene_joint *joint, dJointID id, uint32_t a, struct axis_setting *setting,
	double position, enum stop without)
{
	const struct sdf_axis *axis = axis_of(joint, a);
	bool none = axis->lower > axis->upper;
	double scale = scale_of(joint);
	double turns = is_linear(joint) ? 0 : 2 * M_PI * floor((position + M_PI) / (2 * M_PI));
	double low = none || without == STOP_LOW ? -dInfinity : (axis->lower - turns) * fabs(scale);
	double high = none || without == STOP_HIGH ? dInfinity : (axis->upper - turns) * fabs(scale);
	if (!is_linear(joint)) {
		low = low < -M_PI ? -dInfinity : low;
		high = high > M_PI ? dInfinity : high;
	}
	if (scale < 0) {
		double swap = low;
		low = -high;
		high = -swap;
	}
	if (low == setting->low && high == setting->high)
		return;
	/* ODE refuses a low stop above the high one, so the order matters when both move */
	ode_set(joint, id, a, dParamLoStop, -dInfinity);
	ode_set(joint, id, a, dParamHiStop, high);
	ode_set(joint, id, a, dParamLoStop, low);
	setting->low = low;
	setting->high = high;
}

struct motor { /* J v = velocity - softness * force, |force| <= force_max */
	double velocity, force_max, softness;
};

static void set_motor(
	const struct scene_joint *joint, dJointID id, uint32_t a, struct axis_setting *setting, struct motor motor)
{
	double scale = scale_of(joint);
	if (joint->kind == SDF_SCREW) {
		motor.velocity *= scale;
		motor.force_max /= fabs(scale);
		motor.softness = MAX(motor.softness * scale * scale, PHYSICS_CFM_MIN);
	}
	if (motor.velocity != setting->velocity)
		ode_set(joint, id, a, dParamVel, setting->velocity = motor.velocity);
	if (motor.force_max != setting->force_max)
		ode_set(joint, id, a, dParamFMax, setting->force_max = motor.force_max);
	if (motor.softness != setting->softness)
		ode_set(joint, id, a, dParamCFM, setting->softness = motor.softness);
}

static bool is_passive(const struct sdf_axis *axis)
{
	return axis->damping != 0 || axis->spring_stiffness != 0;
}

/* --- driving ---------------------------------------------------------------------------------------------------- */

/* One axis at the beginning of a step. */
struct moment {
	const struct physics *physics;
	uint32_t joint, axis;
	dJointID id;
	double position, rate, dt;
};

static const struct scene_joint *joint_of(const struct moment *m)
{
	return &m->physics->scene->joints[m->joint];
}

/* The velocity that leads an axis to where the one that it mimics will be, in so far as that goes on as it does; what
 * is amiss is made good like the error of any other constraint. */
static double mimic_velocity(const struct moment *m)
{
	const struct scene_mimic *mimic = &joint_of(m)->mimic[m->axis];
	const struct scene *scene = m->physics->scene;
	const struct scene_joint *leader = &scene->joints[mimic->joint];
	const struct instance *instance = m->physics->instances[leader->model];
	dJointID id = instance->joints[mimic->joint - scene->models[leader->model].joint_first];
	double there = state_joint(m->physics->state, mimic->joint, false)->position[mimic->axis];
	double target = mimic->multiplier * (there - mimic->reference) + mimic->offset;
	return mimic->multiplier * ode_rate(leader, id, mimic->axis) +
	       scene->sdf->physics.erp * (target - m->position) / m->dt;
}

/* What the row of an axis is for. *ret_passive: whether that is its spring and damper. */
static struct motor motor_of(const struct moment *m, bool *ret_passive)
{
	const struct sdf_axis *axis = axis_of(joint_of(m), m->axis);
	const struct joint_control *control = &m->physics->control->joints[m->joint];
	double hard = MAX(m->physics->scene->sdf->physics.cfm, PHYSICS_CFM_MIN);
	double effort = isfinite(axis->effort) ? axis->effort : dInfinity;
	*ret_passive = false;
	if (joint_of(m)->mimic[m->axis].joint != SCENE_NONE)
		return (struct motor){clamp(mimic_velocity(m), MIN(axis->velocity, JOINT_VELOCITY_MAX)), effort, hard};
	if (!m->axis && control->drive)
		return (struct motor){clamp(control->velocity, axis->velocity), effort, hard};
	if (fabs(m->rate) > axis->velocity)
		return (struct motor){clamp(m->rate, axis->velocity), dInfinity, hard};
	if (!is_passive(axis) || axis->friction > 0)
		return (struct motor){0, axis->friction, hard};
	/* force = -k (q + dt v - q0) - d v at the end of the step, solved for v */
	double soft = 1 / (axis->damping + axis->spring_stiffness * m->dt);
	*ret_passive = true;
	return (struct motor){
		-axis->spring_stiffness * (m->position - axis->spring_reference) * soft, dInfinity, MAX(soft, hard)};
}

static double passive_force(const struct moment *m)
{
	const struct sdf_axis *axis = axis_of(joint_of(m), m->axis);
	double k = axis->spring_stiffness, d = axis->damping + k * m->dt;
	return -k * (m->position - axis->spring_reference) -
	       d * m->rate / (1 + d * m->dt / joint_of(m)->inertia[m->axis]);
}

/* What is left of the motor at a stop. One of endless strength that pulls away takes the stop's place; a weaker one
 * pulls with all it has and leaves the stop to hold what it cannot. Between two stops it can do nothing. */
static double drive_at_stop(enum stop at, struct motor *motor, enum stop *ret_without)
{
	double force_max = motor->force_max;
	bool away = at == STOP_LOW ? motor->velocity > 0 : at == STOP_HIGH && motor->velocity < 0;
	if (away && force_max == dInfinity) {
		*ret_without = at;
		return 0;
	}
	motor->force_max = 0;
	return !away ? 0 : at == STOP_LOW ? force_max : -force_max;
}

/* A motor goes no farther than to a stop: what it passes by in one step the stop would have to undo. */
static double short_of_stops(const struct moment *m, double velocity)
{
	const struct sdf_axis *axis = axis_of(joint_of(m), m->axis);
	if (axis->lower > axis->upper)
		return velocity;
	return fmin(fmax(velocity, (axis->lower - m->position) / m->dt), (axis->upper - m->position) / m->dt);
}

static void drive(const struct moment *m, struct axis_setting *setting)
{
	const struct sdf_axis *axis = axis_of(joint_of(m), m->axis);
	enum stop at = stop_at(axis, m->position), without = STOP_NONE;
	double force = m->axis ? 0 : clamp(m->physics->control->joints[m->joint].force, axis->effort);
	bool passive;
	struct motor motor = motor_of(m, &passive);
	if (passive && at != STOP_NONE) {
		motor.force_max = 0;
		passive = false;
	} else if (at != STOP_NONE) {
		force += drive_at_stop(at, &motor, &without);
	} else if (!passive) {
		motor.velocity = short_of_stops(m, motor.velocity);
	}
	if (is_passive(axis) && !passive)
		force += passive_force(m);
	if (setting->stop_dt != m->dt) {
		soften_stops(joint_of(m), m->id, m->axis, m->dt);
		setting->stop_dt = m->dt;
	}
	set_motor(joint_of(m), m->id, m->axis, setting, motor);
	set_stops(joint_of(m), m->id, m->axis, setting, m->position, without);
	if (force != 0)
		ode_add_force(m->physics, joint_of(m), m->id, m->axis, force);
}

static enum joint_way way_of(const struct scene_joint *joint)
{
	if (joint->kind != SDF_REVOLUTE)
		return joint->axis_count || joint->kind == SDF_GEARBOX ? JOINT_ANY : JOINT_FREE;
	const struct sdf_axis *axis = axis_of(joint, 0);
	bool unlimited =
		axis->lower == -(double)INFINITY && axis->upper == (double)INFINITY && !isfinite(axis->velocity);
	return unlimited && !is_passive(axis) && joint->mimic[0].joint == SCENE_NONE ? JOINT_PLAIN : JOINT_ANY;
}

void joint_unset(const struct scene_joint *joint, struct joint_setting *ret)
{
	struct axis_setting unset = {NAN, NAN, NAN, NAN, NAN, NAN};
	*ret = (struct joint_setting){.way = way_of(joint), .axis = {unset, unset}};
	if (ret->way != JOINT_PLAIN)
		return;
	const struct sdf_axis *axis = axis_of(joint, 0);
	ret->effort = isfinite(axis->effort) ? axis->effort : dInfinity;
	ret->friction = axis->friction;
}

/* What drive() comes to for a plain joint, once it has been called for this dt. */
static void drive_plain(const struct joint_control *control, dJointID id, struct joint_setting *setting)
{
	struct axis_setting *axis = &setting->axis[0];
	double velocity = control->drive ? control->velocity : 0;
	double force_max = control->drive ? setting->effort : setting->friction;
	if (velocity != axis->velocity)
		dJointSetHingeParam(id, dParamVel, axis->velocity = velocity);
	if (force_max != axis->force_max)
		dJointSetHingeParam(id, dParamFMax, axis->force_max = force_max);
	double force = clamp(control->force, setting->effort);
	if (force != 0)
		dJointAddHingeTorque(id, force);
}

void joint_control(struct physics *physics, uint32_t index, dJointID id, struct joint_setting *setting, double dt)
{
	if (setting->way == JOINT_FREE)
		return;
	if (setting->way == JOINT_PLAIN && setting->axis[0].stop_dt == dt) {
		drive_plain(&physics->control->joints[index], id, setting);
		return;
	}
	const struct scene_joint *joint = &physics->scene->joints[index];
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		const struct sdf_axis *axis = axis_of(joint, a);
		struct moment moment = {.physics = physics,
			.joint = index,
			.axis = a,
			.id = id,
			.position = state_joint(physics->state, index, false)->position[a],
			.dt = dt};
		if (is_passive(axis) || isfinite(axis->velocity))
			moment.rate = ode_rate(joint, id, a);
		drive(&moment, &setting->axis[a]);
	}
	if (joint->kind == SDF_SCREW || joint->kind == SDF_GEARBOX)
		couple_joint(physics, index, id, dt);
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
	bool gears = joint->kind == SDF_GEARBOX;
	next->position[0] = next->position[1] = 0;
	for (uint32_t a = 0; a < (gears ? 2 : joint->axis_count); a++) {
		double position = gears ? couple_angle(physics, index, a) : ode_position(joint, id, a);
		next->position[a] = joint->kind == SDF_PRISMATIC ? position : unwrap(now->position[a], position);
	}
}

void joint_store_all(struct physics *physics, const struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct joint_state *now = state_own_joints(physics->state, instance->model, false);
	struct joint_state *next = state_own_joints(physics->state, instance->model, true);
	for (uint32_t i = 0; i < m->joint_count; i++) {
		switch (instance->settings[i].way) {
		case JOINT_FREE:
			next[i] = (struct joint_state){{0, 0}};
			break;
		case JOINT_PLAIN:
			next[i].position[0] = unwrap(now[i].position[0], dJointGetHingeAngle(instance->joints[i]));
			next[i].position[1] = 0;
			break;
		case JOINT_ANY:
			joint_store(physics, m->joint_first + i, instance->joints[i]);
			break;
		}
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
	case SDF_SCREW:
		return 7;
	case SDF_GEARBOX:
		return 0;
	default:
		return 3;
	}
}
