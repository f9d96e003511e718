/* Joints: made at the reference pose, driven every step, their unwrapped positions kept in the state.
 *
 * ODE's first body is the child and its second the parent (see joint_is_turned()), so that positions and rates have
 * SDF's sign (child relative to parent). ODE holds a universal joint's first axis to its first body; SDF's first axis
 * belongs to the parent: so there SDF's axis 0 is ODE's second and axis 1 its first.
 *
 * An axis has one row in the solver. The row serves what matters most at the moment, in the order of this list; the
 * rest acts as a force.
 *
 *   a motor of unlimited strength  keeps the axis between its stops by itself
 *   a stop                         on the side at which the axis is, or which it would pass in this step
 *   a motor, or dry friction       moves the axis no farther than to a stop
 *   a spring and damper
 *
 * Stops. A stop acts before the axis has passed it: the row lets the axis move up to the stop and no farther, so the
 * axis comes to rest there. (ODE's own stops act when the axis is beyond them, and push it back with a fifth of the
 * speed, like a bounce; SDF's stop has no restitution.) ODE gets a limit one unit away from the axis, so that its row
 * is always on, and an error reduction that gives the row the wanted velocity. So ODE's own count of angles, which
 * covers only (-pi, pi], decides nothing. Stops are as hard as the solver allows, unless the file gives them a
 * stiffness or dissipation.
 *
 * Springs. force = -k (q - q0) - d v' - (k dt / S) (v' - v), where v' is the rate at the end of the step. The spring
 * acts from the present position, so that it neither loses nor gains energy by itself. The last term makes the axis
 * heavier by k dt^2 / S, which keeps it stable for every stiffness. The term vanishes at rest, so a load is held
 * exactly. An oscillation that a step cannot resolve (fewer than some ten steps to a period) is damped. Dropped:
 * implicit Euler, which lost 6 % of the amplitude in two periods of 200 steps.
 *
 * Limits of rates. Which axes a step would bring beyond their limits is only known when it is solved: a force, a load
 * or a contact may do it. So the step is tried again from state k, with these axes held at their limits, until none
 * exceeds its limit.
 *
 * A screw is ODE's piston (it turns about its axis and slides along it) with a coupling between the two. Its motor and
 * stops act on the slide, in metres, since ODE's motor for the turning of a piston fails at its stops (0.16). A
 * gearbox is a coupling and has no ODE joint. A mimic is a coupling between two axes; see couple.c. */
#include "physics/exact.h"
#include "physics/internal.h"

#include "base/math.h"
#include "scene/axis.h"

#include <float.h>

/* Defaults of sdf.h for a stop without values in the file. */
#define STOP_STIFFNESS 1e8
#define STOP_DISSIPATION 1.0
#define STOP_CFM_MAX 1e12
#define STOP_NEAR 1e-9           /* rad or m, and relative: the axis is at the stop */
#define STOP_BACK_MAX_RAD_S 10.0 /* greatest speed back to the stop */
#define STOP_BACK_MAX_M_S 1.0
#define LAW_ENDLESS 1e300 /* in place of infinity, which lanes/ does not take */
#define SPRING_STABLE 1.0 /* S above: k dt^2 / mass stays below it for every k */

static const struct sdf_axis *physics_joint_axis_of(const struct scene_joint *joint, uint32_t axis)
{
	return &joint->axis[axis];
}

/* ODE needs a body as its first. Where there is none, ODE swaps the bodies and then reverses some values but not
 * others (a hinge's angle, but not its stops). So when the child is the world, the parent is first and the axes are
 * reversed here. */
static struct vec3 physics_joint_ode_axis(const struct scene_joint *joint, uint32_t axis)
{
	return vec3_scale(physics_joint_axis_of(joint, axis)->xyz_world, joint_is_turned(joint) ? -1 : 1);
}

/* Whether SDF's axis of a universal joint is ODE's first. */
static bool physics_joint_is_first(const struct scene_joint *joint, uint32_t axis)
{
	return (axis == 0) == joint_is_turned(joint);
}

static void physics_joint_make_universal(const struct scene_joint *from, dJointID id)
{
	struct vec3 first = physics_joint_ode_axis(from, joint_is_turned(from) ? 0 : 1),
		    second = physics_joint_ode_axis(from, joint_is_turned(from) ? 1 : 0);
	dJointSetUniversalAnchor(id, from->anchor.x, from->anchor.y, from->anchor.z);
	dJointSetUniversalAxis1(id, first.x, first.y, first.z);
	dJointSetUniversalAxis2(id, second.x, second.y, second.z);
}

static void physics_joint_set_hardness(const struct scene_joint *joint, dJointID id)
{
	const struct sdf_joint_ode *ode = &joint->sdf->ode;
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
	struct vec3 at = from->anchor,
		    axis = from->axis_count ? physics_joint_ode_axis(from, 0) : (struct vec3){0, 0, 1};
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
		physics_joint_make_universal(from, id);
		break;
	default: /* SDF_FIXED between two models; scene lets nothing else through */
		id = dJointCreateFixed(ode_world, 0);
		dJointAttach(id, first, second);
		dJointSetFixed(id);
		break;
	}
	physics_joint_set_hardness(from, id);
	return id;
}

/* --- what ODE says of a joint ----------------------------------------------------------------------------------- */

static bool physics_joint_is_linear(const struct scene_joint *joint)
{
	return joint->kind == SDF_PRISMATIC || joint->kind == SDF_SCREW;
}

static double physics_joint_ode_position(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngle(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPosition(id);
	case SDF_SCREW:
		return dJointGetPistonAngle(id);
	default:
		return physics_joint_is_first(joint, axis) ? dJointGetUniversalAngle1(id)
							   : dJointGetUniversalAngle2(id);
	}
}

static void physics_joint_ode_set(
	const struct scene_joint *joint, dJointID id, uint32_t axis, int parameter, double value)
{
	int group = physics_joint_is_first(joint, axis) ? dParamGroup1 : dParamGroup2;
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

static void physics_joint_add_torque(dBodyID body, struct vec3 torque)
{
	if (body)
		dBodyAddTorque(body, torque.x, torque.y, torque.z);
}

static void physics_joint_ode_add_force(
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
		physics_joint_add_torque(first, (struct vec3){along[0] * force, along[1] * force, along[2] * force});
		physics_joint_add_torque(
			second, (struct vec3){-along[0] * force, -along[1] * force, -along[2] * force});
		break;
	default:
		dJointAddUniversalTorques(id, physics_joint_is_first(joint, axis) ? force : 0,
			physics_joint_is_first(joint, axis) ? 0 : force);
		break;
	}
}

/* --- stops and motor -------------------------------------------------------------------------------------------- */

static double physics_joint_clamp(double value, double limit)
{
	return value > limit ? limit : value < -limit ? -limit : value;
}

/* One axis at the beginning of a step. */
struct moment {
	const struct physics *physics;
	uint32_t joint, axis;
	dJointID id;
	double position, dt;
	double rate; /* known when the axis has a spring, or a stop or velocity limit in reach */
	double held; /* see struct axis_setting */
};

static const struct scene_joint *physics_joint_of(const struct moment *m)
{
	return &m->physics->scene->joints[m->joint];
}

enum physics_joint_side { SIDE_NONE, SIDE_LOW, SIDE_HIGH, SIDE_BOTH };

/* The row of a stop: rate >= velocity on the low side, <= on the high one, = on both. */
struct physics_joint_stop {
	enum physics_joint_side side;
	double velocity, softness;
};

static bool physics_joint_has_stops(const struct sdf_axis *axis)
{
	return axis->lower <= axis->upper && (isfinite(axis->lower) || isfinite(axis->upper));
}

static bool physics_joint_is_soft(const struct sdf_axis *axis)
{
	return axis->stiffness != STOP_STIFFNESS || axis->dissipation != STOP_DISSIPATION;
}

/* The rate that leads to a limit at the distance `gap`. To a limit ahead it leads exactly; from beyond a limit it
 * leads back by a part of the distance in each step. */
static double physics_joint_velocity_to(const struct moment *m, double gap, bool passed)
{
	if (!passed)
		return gap / m->dt;
	double most = physics_joint_is_linear(physics_joint_of(m)) ? STOP_BACK_MAX_M_S : STOP_BACK_MAX_RAD_S;
	double own = physics_joint_of(m)->sdf->ode.stop_erp,
	       erp = isnan(own) ? m->physics->scene->sdf->physics.erp : own;
	return physics_joint_clamp(erp * gap / m->dt, most);
}

static double physics_joint_velocity_to_low(const struct moment *m)
{
	double gap = physics_joint_axis_of(physics_joint_of(m), m->axis)->lower - m->position;
	return physics_joint_velocity_to(m, gap, gap > 0);
}

static double physics_joint_velocity_to_high(const struct moment *m)
{
	double gap = physics_joint_axis_of(physics_joint_of(m), m->axis)->upper - m->position;
	return physics_joint_velocity_to(m, gap, gap < 0);
}

static enum physics_joint_side physics_joint_side_of(const struct moment *m)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double ahead = physics_joint_is_soft(axis) ? 0 : fmin(m->rate * m->dt, 0),
	       behind = physics_joint_is_soft(axis) ? 0 : fmax(m->rate * m->dt, 0);
	if (!physics_joint_has_stops(axis))
		return SIDE_NONE;
	if (axis->lower == axis->upper)
		return SIDE_BOTH;
	if (m->position + ahead <= axis->lower + STOP_NEAR * (1 + fabs(axis->lower)))
		return SIDE_LOW;
	if (m->position + behind >= axis->upper - STOP_NEAR * (1 + fabs(axis->upper)))
		return SIDE_HIGH;
	return SIDE_NONE;
}

/* A stop that the file makes softer than the default is a spring and damper, as soft as an implicit one. */
static void physics_joint_soften(const struct moment *m, struct physics_joint_stop *stop)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double sum = m->dt * axis->stiffness + axis->dissipation;
	if (!(sum >= DBL_MIN)) /* neither stiffness nor damping, or so little that 1 / sum is no number */
		sum = DBL_MIN;
	double gap = stop->side == SIDE_HIGH ? axis->upper - m->position : axis->lower - m->position;
	stop->velocity = axis->stiffness * gap / sum;
	stop->softness = 1 / sum;
}

static struct physics_joint_stop physics_joint_stop_of(const struct moment *m)
{
	double own = physics_joint_of(m)->sdf->ode.stop_cfm;
	struct physics_joint_stop stop = {
		.side = physics_joint_side_of(m), .softness = isnan(own) ? m->physics->scene->sdf->physics.cfm : own};
	if (stop.side == SIDE_NONE)
		return stop;
	stop.velocity = stop.side == SIDE_HIGH ? physics_joint_velocity_to_high(m) : physics_joint_velocity_to_low(m);
	if (stop.side == SIDE_BOTH) {
		double gap = physics_joint_axis_of(physics_joint_of(m), m->axis)->lower - m->position;
		stop.velocity = physics_joint_velocity_to(m, gap, true);
	}
	if (physics_joint_is_soft(physics_joint_axis_of(physics_joint_of(m), m->axis)))
		physics_joint_soften(m, &stop);
	return stop;
}

/* ODE's limits are at infinity when no stop acts. But then ODE's hinge does not update its limit state, and the stop
 * of an earlier step still acts. A limit at pi, above all of its angles, makes it update. */
static double physics_joint_no_high_limit(const struct moment *m)
{
	bool forgets = physics_joint_of(m)->kind == SDF_REVOLUTE &&
		       physics_joint_has_stops(physics_joint_axis_of(physics_joint_of(m), m->axis));
	return forgets ? M_PI : dInfinity;
}

/* Position of the axis in ODE's coordinate. */
static double physics_joint_ode_coordinate(const struct moment *m)
{
	const struct scene_joint *joint = physics_joint_of(m);
	double turns = physics_joint_is_linear(joint) ? 0 : 2 * M_PI * floor((m->position + M_PI) / (2 * M_PI));
	return (m->position - turns) * joint_scale(joint);
}

static void physics_joint_set_limits(const struct moment *m, struct axis_setting *setting, double low, double high)
{
	if (low == setting->low && high == setting->high)
		return;
	physics_joint_ode_set(physics_joint_of(m), m->id, m->axis, dParamLoStop, setting->low = low);
	physics_joint_ode_set(physics_joint_of(m), m->id, m->axis, dParamHiStop, setting->high = high);
}

/* ODE's row: rate = -(StopERP / dt) (coordinate - limit). */
static void physics_joint_set_stop(const struct moment *m, struct axis_setting *setting, struct physics_joint_stop stop)
{
	const struct scene_joint *joint = physics_joint_of(m);
	double scale = joint_scale(joint), at;
	if (stop.side == SIDE_NONE) {
		physics_joint_set_limits(m, setting, -dInfinity, physics_joint_no_high_limit(m));
		return;
	}
	bool low = (stop.side == SIDE_LOW) == (scale > 0) || stop.side == SIDE_BOTH;
	double erp = (low ? 1 : -1) * stop.velocity * scale * m->dt;
	double cfm = fmin(MAX(stop.softness * scale * scale, PHYSICS_CFM_MIN), STOP_CFM_MAX);
	at = physics_joint_ode_coordinate(m) + (low ? 1 : -1);
	physics_joint_set_limits(m, setting, low ? at : -dInfinity, low && stop.side != SIDE_BOTH ? dInfinity : at);
	if (erp != setting->stop_erp)
		physics_joint_ode_set(joint, m->id, m->axis, dParamStopERP, setting->stop_erp = erp);
	if (cfm != setting->stop_cfm)
		physics_joint_ode_set(joint, m->id, m->axis, dParamStopCFM, setting->stop_cfm = cfm);
}

struct motor { /* rate = velocity - softness * force, |force| <= force_max */
	double velocity, force_max, softness;
	bool is_spring;
};

static void physics_joint_set_motor(const struct moment *m, struct axis_setting *setting, struct motor motor)
{
	const struct scene_joint *joint = physics_joint_of(m);
	double scale = joint_scale(joint);
	if (joint->kind == SDF_SCREW) {
		motor.velocity *= scale;
		motor.force_max /= fabs(scale);
		motor.softness = MAX(motor.softness * scale * scale, PHYSICS_CFM_MIN);
	}
	if (motor.velocity != setting->velocity)
		physics_joint_ode_set(joint, m->id, m->axis, dParamVel, setting->velocity = motor.velocity);
	if (motor.force_max != setting->force_max)
		physics_joint_ode_set(joint, m->id, m->axis, dParamFMax, setting->force_max = motor.force_max);
	if (motor.softness != setting->softness)
		physics_joint_ode_set(joint, m->id, m->axis, dParamCFM, setting->softness = motor.softness);
}

/* --- springs ------------------------------------------------------------------------------------------------------ */

static bool physics_joint_is_passive(const struct sdf_axis *axis)
{
	return axis->damping != 0 || axis->spring_stiffness != 0;
}

/* (dt times the spring's frequency)^2, with the inertia that the axis has in the file's pose. */
static double physics_joint_swing_of(const struct moment *m)
{
	return m->dt * m->dt * physics_joint_axis_of(physics_joint_of(m), m->axis)->spring_stiffness /
	       physics_joint_of(m)->inertia[m->axis];
}

/* The damping of the axis, plus the damping that a spring too fast for the step gets: negligible at 50 steps to a
 * period (swing 0.016), as much as that of an implicit spring at 6 steps (swing 1) and fewer. */
static double physics_joint_damping_of(const struct moment *m)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double swing2 = physics_joint_swing_of(m) * physics_joint_swing_of(m), fast = swing2 * swing2;
	return axis->damping + axis->spring_stiffness * m->dt * (isfinite(fast) ? fast / (1 + fast) : 1);
}

static struct motor physics_joint_spring_of(const struct moment *m, double hard)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double k = axis->spring_stiffness, heavier = k * m->dt / SPRING_STABLE;
	double sum = physics_joint_damping_of(m) + heavier;
	double soft = 1 / (fabs(sum) < DBL_MIN ? DBL_MIN : sum); /* 1 / 1e-320 is no number */
	double velocity = (-k * (m->position - axis->spring_reference) + heavier * m->rate) * soft;
	return (struct motor){velocity, dInfinity, MAX(soft, hard), true};
}

/* The spring as a force, while another item has the row. */
static double physics_joint_spring_force(const struct moment *m)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double d = physics_joint_damping_of(m), pull = -axis->spring_stiffness * (m->position - axis->spring_reference);
	return pull / fmax(physics_joint_swing_of(m), 1) -
	       d * m->rate / (1 + d * m->dt / physics_joint_of(m)->inertia[m->axis]);
}

/* --- driving ------------------------------------------------------------------------------------------------------ */

static bool physics_joint_follows(const struct moment *m)
{
	return physics_joint_of(m)->mimic[m->axis].joint != SCENE_NONE;
}

/* A mimic axis is driven by itself only while its leader is not driven. */
static bool physics_joint_is_driven(const struct moment *m)
{
	const struct joint_control *controls = m->physics->control->joints;
	if (m->axis || !controls[m->joint].drive)
		return false;
	const struct scene_mimic *mimic = &physics_joint_of(m)->mimic[0];
	return !physics_joint_follows(m) || mimic->axis || !controls[mimic->joint].drive;
}

/* The coming rate of the axis: its own, or the rate that its leader gives it. */
static double physics_joint_coming_rate(const struct moment *m)
{
	if (!physics_joint_follows(m))
		return m->rate;
	const struct scene_mimic *mimic = &physics_joint_of(m)->mimic[m->axis];
	double leading = mimic->multiplier * scene_axis_rate(m->physics->state, mimic->joint, mimic->axis, false);
	return fabs(leading) > fabs(m->rate) ? leading : m->rate;
}

/* The motor that the file gives the joint; it takes the place of friction. */
static bool physics_joint_has_own_motor(const struct scene_joint *joint, uint32_t axis)
{
	return !axis && joint->sdf->ode.max_force > 0;
}

static double physics_joint_own_force(const struct sdf_joint_ode *ode)
{
	return isfinite(ode->max_force) ? ode->max_force : dInfinity;
}

static struct motor physics_joint_motor_of(const struct moment *m)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double hard = MAX(m->physics->scene->sdf->physics.cfm, PHYSICS_CFM_MIN);
	double effort = isfinite(axis->effort) ? axis->effort : dInfinity;
	if (!isnan(m->held))
		return (struct motor){m->held, dInfinity, hard, false};
	if (physics_joint_is_driven(m))
		return (struct motor){
			physics_joint_clamp(m->physics->control->joints[m->joint].velocity, axis->velocity), effort,
			hard, false};
	if (isfinite(axis->velocity) && fabs(physics_joint_coming_rate(m)) > axis->velocity)
		return (struct motor){
			physics_joint_clamp(physics_joint_coming_rate(m), axis->velocity), dInfinity, hard, false};
	const struct sdf_joint_ode *ode = &physics_joint_of(m)->sdf->ode;
	if (physics_joint_has_own_motor(physics_joint_of(m), m->axis))
		return (struct motor){
			physics_joint_clamp(ode->velocity, axis->velocity), physics_joint_own_force(ode), hard, false};
	if (!physics_joint_is_passive(axis) || axis->friction > 0)
		return (struct motor){0, axis->friction, hard, false};
	return physics_joint_spring_of(m, hard);
}

/* The force of the motor in a step in which a stop has the row. */
static double physics_joint_force_of(const struct moment *m, const struct motor *motor)
{
	double wanted = (motor->velocity - m->rate) / m->dt * physics_joint_of(m)->inertia[m->axis];
	return isnan(wanted) ? 0 : physics_joint_clamp(wanted, motor->force_max);
}

static double physics_joint_short_of_stops(const struct moment *m, double velocity)
{
	if (!physics_joint_has_stops(physics_joint_axis_of(physics_joint_of(m), m->axis)))
		return velocity;
	return fmin(fmax(velocity, physics_joint_velocity_to_low(m)), physics_joint_velocity_to_high(m));
}

static void physics_joint_drive(const struct moment *m, struct axis_setting *setting)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double force = m->axis ? 0 : physics_joint_clamp(m->physics->control->joints[m->joint].force, axis->effort);
	struct motor motor = physics_joint_motor_of(m);
	struct physics_joint_stop stop = physics_joint_stop_of(m);
	bool endless = motor.force_max == dInfinity && !motor.is_spring;
	if (endless && stop.side != SIDE_BOTH) {
		motor.velocity = physics_joint_short_of_stops(m, motor.velocity);
		stop.side = SIDE_NONE;
	} else if (stop.side != SIDE_NONE) {
		force += motor.is_spring || endless ? 0 : physics_joint_force_of(m, &motor);
		motor = (struct motor){.softness = motor.softness};
	} else if (!motor.is_spring) {
		motor.velocity = physics_joint_short_of_stops(m, motor.velocity);
	}
	if (physics_joint_is_passive(axis) && !motor.is_spring)
		force += physics_joint_spring_force(m);
	physics_joint_set_motor(m, setting, motor);
	physics_joint_set_stop(m, setting, stop);
	setting->force = force;
	if (force != 0)
		physics_joint_ode_add_force(m->physics, physics_joint_of(m), m->id, m->axis, force);
}

/* --- laws for lanes/ ------------------------------------------------------------------------------------------------
 */

/* Softest of all that has unlimited strength is a coupling (link.c), then a motor; a stop or a limit of the rate holds
 * against both. */
#define LAW_END_CFM 1e-12

/* A spring and a damper, as physics_joint_spring_of() has them, but as a mass on the axis: force = push - mass rate. */
static void physics_joint_law_add_spring(const struct moment *m, struct axis_law *law)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double k = axis->spring_stiffness, heavier = k * m->dt / SPRING_STABLE;
	law->mass += m->dt * (physics_joint_damping_of(m) + heavier);
	law->push += m->dt * (-k * (m->position - axis->spring_reference) + heavier * m->rate);
}

static void physics_joint_law_add_stops(const struct moment *m, struct axis_law *law)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	double own = physics_joint_of(m)->sdf->ode.stop_cfm;
	double cfm = isnan(own) ? m->physics->scene->sdf->physics.cfm : own;
	law->low_soft = law->high_soft = fmin(MAX(cfm, LAW_END_CFM), STOP_CFM_MAX) / m->dt;
	if (!physics_joint_has_stops(axis))
		return;
	if (!physics_joint_is_soft(axis)) {
		law->low = physics_joint_velocity_to_low(m);
		law->high = physics_joint_velocity_to_high(m);
		if (axis->lower == axis->upper)
			law->low = law->high = physics_joint_velocity_to(m, axis->lower - m->position, true);
		return;
	}
	struct physics_joint_stop low = {.side = SIDE_LOW}, high = {.side = SIDE_HIGH};
	physics_joint_soften(m, &low);
	physics_joint_soften(m, &high);
	if (low.velocity >= 0) {
		law->low = low.velocity;
		law->low_soft = fmin(MAX(low.softness, PHYSICS_CFM_MIN), STOP_CFM_MAX) / m->dt;
	}
	if (high.velocity <= 0) {
		law->high = high.velocity;
		law->high_soft = fmin(MAX(high.softness, PHYSICS_CFM_MIN), STOP_CFM_MAX) / m->dt;
	}
}

/* The motor or friction of the axis; the limit of its rate is an end of the law. */
static void physics_joint_law_add_motor(const struct moment *m, struct axis_law *law)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	const struct sdf_joint_ode *ode = &physics_joint_of(m)->sdf->ode;
	double velocity = 0, most = axis->friction;
	if (physics_joint_is_driven(m)) {
		velocity = m->physics->control->joints[m->joint].velocity;
		most = isfinite(axis->effort) ? axis->effort : LAW_ENDLESS;
	} else if (physics_joint_has_own_motor(physics_joint_of(m), m->axis)) {
		velocity = ode->velocity;
		most = isfinite(ode->max_force) ? ode->max_force : LAW_ENDLESS;
	}
	law->target = physics_joint_clamp(velocity, axis->velocity);
	law->hi = most * m->dt;
	law->lo = -law->hi;
}

void joint_law(const struct physics *physics, uint32_t index, uint32_t axis, double dt, struct axis_law *ret)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	const struct sdf_axis *a = physics_joint_axis_of(joint, axis);
	struct moment m = {.physics = physics,
		.joint = index,
		.axis = axis,
		.position = state_joint(physics->state, index, false)->position[axis],
		.dt = dt,
		.held = NAN};
	*ret = (struct axis_law){.soft = MAX(physics->scene->sdf->physics.cfm, PHYSICS_CFM_MIN) / dt,
		.low = -LAW_ENDLESS,
		.high = LAW_ENDLESS};
	if (!axis)
		ret->push = dt * physics_joint_clamp(physics->control->joints[index].force, a->effort);
	if (physics_joint_is_passive(a)) {
		m.rate = scene_axis_rate(physics->state, index, axis, false);
		physics_joint_law_add_spring(&m, ret);
	}
	physics_joint_law_add_motor(&m, ret);
	physics_joint_law_add_stops(&m, ret);
	ret->low = physics_joint_clamp(MAX(ret->low, -a->velocity), a->velocity);
	ret->high = physics_joint_clamp(MIN(ret->high, a->velocity), a->velocity);
	ret->target = fmin(fmax(ret->target, ret->low), ret->high);
	ret->row = ret->lo < ret->hi || ret->low > -LAW_ENDLESS || ret->high < LAW_ENDLESS;
}

/* Whether a stop is so near that the axis could pass it in this step: neither body moves faster than it does. */
static bool physics_joint_may_reach_stop(const struct moment *m)
{
	const struct sdf_axis *axis = physics_joint_axis_of(physics_joint_of(m), m->axis);
	const uint32_t bodies[2] = {physics_joint_of(m)->child, physics_joint_of(m)->parent};
	double speed = 0;
	if (!physics_joint_has_stops(axis))
		return false;
	if (physics_joint_of(m)->kind == SDF_PRISMATIC)
		return true;
	for (uint32_t i = 0; i < 2; i++)
		speed += bodies[i] == SCENE_NONE ? 0 : vec3_length(state_body(m->physics->state, bodies[i], false)->w);
	return fmin(m->position - axis->lower, axis->upper - m->position) <=
	       speed * m->dt * (1 + STOP_NEAR) + STOP_NEAR;
}

static enum joint_way physics_joint_way_of(const struct scene_joint *joint)
{
	if (joint->kind != SDF_REVOLUTE)
		return joint->axis_count || joint->kind == SDF_GEARBOX ? JOINT_ANY : JOINT_FREE;
	const struct sdf_axis *axis = physics_joint_axis_of(joint, 0);
	bool unlimited = !physics_joint_has_stops(axis) && !isfinite(axis->velocity);
	return unlimited && !physics_joint_is_passive(axis) && joint->mimic[0].joint == SCENE_NONE ? JOINT_PLAIN
												   : JOINT_ANY;
}

void joint_unset(const struct scene_joint *joint, struct joint_setting *ret)
{
	struct axis_setting unset = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN};
	*ret = (struct joint_setting){.way = physics_joint_way_of(joint), .axis = {unset, unset}};
	if (ret->way != JOINT_PLAIN)
		return;
	const struct sdf_axis *axis = physics_joint_axis_of(joint, 0);
	ret->effort = isfinite(axis->effort) ? axis->effort : dInfinity;
	ret->friction = axis->friction;
	if (!physics_joint_has_own_motor(joint, 0))
		return;
	ret->friction = physics_joint_own_force(&joint->sdf->ode);
	ret->velocity = joint->sdf->ode.velocity;
}

/* The effect of physics_joint_drive() on a plain joint, once physics_joint_drive() has been called. */
static void physics_joint_drive_plain(const struct joint_control *control, dJointID id, struct joint_setting *setting)
{
	struct axis_setting *axis = &setting->axis[0];
	double velocity = control->drive ? control->velocity : setting->velocity;
	double force_max = control->drive ? setting->effort : setting->friction;
	if (velocity != axis->velocity)
		dJointSetHingeParam(id, dParamVel, axis->velocity = velocity);
	if (force_max != axis->force_max)
		dJointSetHingeParam(id, dParamFMax, axis->force_max = force_max);
	double force = physics_joint_clamp(control->force, setting->effort);
	if (force != 0)
		dJointAddHingeTorque(id, force);
}

double joint_added_force(
	const struct physics *physics, uint32_t index, const struct joint_setting *setting, uint32_t axis)
{
	if (setting->way == JOINT_PLAIN)
		return physics_joint_clamp(physics->control->joints[index].force, setting->effort);
	return setting->axis[axis].force;
}

void joint_control(struct worker *worker, uint32_t index, dJointID id, struct joint_setting *setting, double dt)
{
	if (setting->way == JOINT_FREE)
		return;
	if (setting->way == JOINT_PLAIN && !isnan(setting->axis[0].velocity)) {
		physics_joint_drive_plain(&worker->owner->control->joints[index], id, setting);
		return;
	}
	const struct scene_joint *joint = &worker->scene->joints[index];
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		const struct sdf_axis *axis = physics_joint_axis_of(joint, a);
		struct moment moment = {.physics = worker->owner,
			.joint = index,
			.axis = a,
			.id = id,
			.position = state_joint(worker->owner->state, index, false)->position[a],
			.dt = dt,
			.held = setting->axis[a].held};
		if (physics_joint_is_passive(axis) || isfinite(axis->velocity) || physics_joint_may_reach_stop(&moment))
			moment.rate = scene_axis_rate(worker->owner->state, index, a, false);
		physics_joint_drive(&moment, &setting->axis[a]);
	}
	if (worker->collects && scene_joint_couplings(joint) && (!worker->exact || !exact_has_joint(worker, index)))
		couple_collect(worker, index, id, dt);
}

/* --- limits of rates ---------------------------------------------------------------------------------------------- */

#define PHYSICS_JOINT_RATE_NEAR 1e-9 /* relative: a rate this far beyond its limit is at it */

static double physics_joint_ode_rate(const struct scene_joint *joint, dJointID id, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_REVOLUTE:
		return dJointGetHingeAngleRate(id);
	case SDF_PRISMATIC:
		return dJointGetSliderPositionRate(id);
	case SDF_SCREW:
		return dJointGetPistonAngleRate(id);
	default:
		return physics_joint_is_first(joint, axis) ? dJointGetUniversalAngle1Rate(id)
							   : dJointGetUniversalAngle2Rate(id);
	}
}

static bool physics_joint_hold_axes(
	const struct worker *worker, uint32_t index, dJointID id, struct joint_setting *setting)
{
	const struct scene_joint *joint = &worker->scene->joints[index];
	bool held = false;
	if (worker->exact && exact_has_joint(worker, index))
		return false;
	for (uint32_t a = 0; id && a < joint->axis_count; a++) {
		double limit = physics_joint_axis_of(joint, a)->velocity;
		if (!isfinite(limit) || !isnan(setting->axis[a].held))
			continue;
		double rate = physics_joint_ode_rate(joint, id, a);
		if (!(fabs(rate) > limit * (1 + PHYSICS_JOINT_RATE_NEAR)) || !isfinite(rate))
			continue;
		setting->axis[a].held = physics_joint_clamp(rate, limit);
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
			held |= physics_joint_hold_axes(
				worker, m->joint_first + j, instance->joints[j], &instance->settings[j]);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		struct world_joint *own = &group->world_joints.at[i];
		held |= physics_joint_hold_axes(worker, own->index, own->id, &own->setting);
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

/* The angle nearest to `expected` that is `angle` modulo a full turn. */
static double physics_joint_unwrap(double expected, double angle)
{
	return angle + 2 * M_PI * nearbyint((expected - angle) / (2 * M_PI));
}

static struct vec3 physics_joint_spin_of(const struct physics *physics, uint32_t body)
{
	const dReal *w = body == SCENE_NONE ? NULL : dBodyGetAngularVel(instance_body(physics, body));
	return w ? vec3_from(w) : (struct vec3){0, 0, 0};
}

/* The angle that the axis turned in this step; 0 when its bodies turned so little that the angle nearest to that of
 * state k is right. */
static double physics_joint_axis_far_turn(const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
{
	bool gears = joint->kind == SDF_GEARBOX;
	uint32_t bodies[2] = {gears && !axis ? joint->parent : joint->child, gears ? joint->reference : joint->parent};
	bool far = false;
	for (uint32_t i = 0; i < 2; i++)
		far = far ||
		      (bodies[i] != SCENE_NONE && physics->instances[physics->scene->bodies[bodies[i]].model]->spins);
	if (!far)
		return 0;
	struct vec3 spin =
		vec3_sub(physics_joint_spin_of(physics, bodies[0]), physics_joint_spin_of(physics, bodies[1]));
	double turn = vec3_dot(scene_axis_direction(physics->state, joint, axis, false), spin) * physics->dt;
	return isfinite(turn) ? turn : 0;
}

static double physics_joint_count_turns(
	const struct physics *physics, const struct scene_joint *joint, uint32_t axis, double before, double angle)
{
	return physics_joint_unwrap(before + physics_joint_axis_far_turn(physics, joint, axis), angle);
}

void joint_store(struct physics *physics, uint32_t index, dJointID id)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	const struct joint_state *now = state_joint(physics->state, index, false);
	struct joint_state *next = state_joint(physics->state, index, true);
	bool gears = joint->kind == SDF_GEARBOX;
	next->position[0] = next->position[1] = 0;
	for (uint32_t a = 0; a < (gears ? 2 : joint->axis_count); a++) {
		double position = gears ? couple_angle(physics, index, a) : physics_joint_ode_position(joint, id, a);
		next->position[a] = joint->kind == SDF_PRISMATIC
					    ? position
					    : physics_joint_count_turns(physics, joint, a, now->position[a], position);
	}
}

void joint_store_all(struct physics *physics, const struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct joint_state *now = state_own_joints(physics->state, instance->model, false);
	struct joint_state *next = state_own_joints(physics->state, instance->model, true);
	double angle;
	for (uint32_t i = 0; i < m->joint_count; i++) {
		switch (instance->settings[i].way) {
		case JOINT_FREE:
			next[i] = (struct joint_state){{0, 0}};
			break;
		case JOINT_PLAIN:
			angle = dJointGetHingeAngle(instance->joints[i]);
			next[i].position[0] = instance->spins ? physics_joint_count_turns(physics,
									&physics->scene->joints[m->joint_first + i], 0,
									now[i].position[0], angle)
							      : physics_joint_unwrap(now[i].position[0], angle);
			next[i].position[1] = 0;
			break;
		case JOINT_ANY:
			joint_store(physics, m->joint_first + i, instance->joints[i]);
			break;
		}
	}
}

/* --- positions from poses -------------------------------------------------------------------------------------------
 */

/* The rotation of a body in state k+1 against its pose in the file. */
static struct quat physics_joint_turn_of(const struct physics *physics, uint32_t body)
{
	if (body == SCENE_NONE)
		return QUAT_IDENTITY;
	return quat_mul(state_body(physics->state, body, true)->q, quat_conj(physics->scene->bodies[body].reference.q));
}

/* How the second body has turned in the first, against the poses in the file; its axes are those of the file. */
static struct quat physics_joint_turn_in(const struct physics *physics, uint32_t first, uint32_t second)
{
	return quat_mul(quat_conj(physics_joint_turn_of(physics, first)), physics_joint_turn_of(physics, second));
}

static double physics_joint_along(struct quat turn, struct vec3 axis)
{
	return vec3_dot((struct vec3){turn.x, turn.y, turn.z}, axis);
}

static double physics_joint_whole(double half)
{
	double angle = 2 * half;
	return angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
}

static double physics_joint_twist(struct quat turn, struct vec3 axis)
{
	return physics_joint_whole(math_atan2(physics_joint_along(turn, axis), turn.w));
}

/* The turn is one about the first axis, then one about the second, which the first turns along:
 * (c1 + s1 x)(c2 + s2 y) = c1 c2 + s1 c2 x + c1 s2 y + s1 s2 z. Doubled angles do not depend on its sign. */
static double physics_joint_universal_angle(const struct scene_joint *joint, struct quat turn, uint32_t axis)
{
	struct vec3 v = {turn.x, turn.y, turn.z}, x = joint->axis[0].xyz_world;
	struct vec3 z = vec3_unit(vec3_cross(x, joint->axis[1].xyz_world)), y = vec3_cross(z, x);
	double w = turn.w, a = vec3_dot(v, x), b = vec3_dot(v, y), c = vec3_dot(v, z);
	return axis ? math_atan2(2 * (w * b + a * c), w * w + a * a - b * b - c * c)
		    : math_atan2(2 * (w * a + b * c), w * w + b * b - a * a - c * c);
}

/* How far the child's centre has slid along the axis, which moves with the child. */
static double physics_joint_slide(const struct physics *physics, const struct scene_joint *joint)
{
	struct vec3 apart = {0, 0, 0};
	const uint32_t bodies[2] = {joint->parent, joint->child};
	for (uint32_t i = 0; i < 2; i++) {
		if (bodies[i] == SCENE_NONE)
			continue;
		struct vec3 p = state_body(physics->state, bodies[i], true)->p;
		const struct pose *reference = &physics->scene->bodies[bodies[i]].reference;
		const struct pose *other =
			bodies[!i] == SCENE_NONE ? NULL : &physics->scene->bodies[bodies[!i]].reference;
		if (!other) /* the other end is a point of the world */
			p = vec3_sub(p, reference->p);
		else if (!i) /* where the child's centre was, as the parent moves it */
			p = vec3_add(p, quat_rotate(physics_joint_turn_of(physics, bodies[0]),
						vec3_sub(other->p, reference->p)));
		apart = i ? vec3_add(apart, p) : vec3_sub(apart, p);
	}
	return vec3_dot(scene_axis_direction(physics->state, joint, 0, true), apart);
}

static double physics_joint_pose_position(const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_PRISMATIC:
		return physics_joint_slide(physics, joint);
	case SDF_GEARBOX:
		return physics_joint_twist(
			physics_joint_turn_in(physics, joint->reference, axis ? joint->child : joint->parent),
			joint->axis[axis].xyz_world);
	case SDF_REVOLUTE:
	case SDF_SCREW:
		return physics_joint_twist(
			physics_joint_turn_in(physics, joint->parent, joint->child), joint->axis[0].xyz_world);
	default:
		return physics_joint_universal_angle(
			joint, physics_joint_turn_in(physics, joint->parent, joint->child), axis);
	}
}

/* The angle that the axis turned in this step, where its bodies turned far. */
static double physics_joint_far_turn(const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
{
	bool gears = joint->kind == SDF_GEARBOX, far = false;
	const uint32_t bodies[2] = {
		gears && !axis ? joint->parent : joint->child, gears ? joint->reference : joint->parent};
	struct vec3 spin[2] = {{0, 0, 0}, {0, 0, 0}};
	for (uint32_t i = 0; i < 2 && !far; i++)
		far = bodies[i] != SCENE_NONE && physics->instances[physics->scene->bodies[bodies[i]].model]->spins;
	if (!far)
		return 0;
	for (uint32_t i = 0; i < 2; i++)
		if (bodies[i] != SCENE_NONE)
			spin[i] = state_body(physics->state, bodies[i], true)->w;
	struct vec3 direction = scene_axis_direction(physics->state, joint, axis, false);
	double turn = vec3_dot(direction, vec3_sub(spin[0], spin[1])) * physics->dt;
	return isfinite(turn) ? turn : 0;
}

/* The position of an axis that turns. angle: the same but for whole turns. */
static double physics_joint_all_turns(const struct physics *physics, uint32_t index, uint32_t axis, double angle)
{
	double before = state_joint(physics->state, index, false)->position[axis];
	return physics_joint_unwrap(
		before + physics_joint_far_turn(physics, &physics->scene->joints[index], axis), angle);
}

void joint_store_pose(struct physics *physics, uint32_t index)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	struct joint_state *next = state_joint(physics->state, index, true);
	next->position[0] = next->position[1] = 0;
	for (uint32_t a = 0; a < (joint->kind == SDF_GEARBOX ? 2 : joint->axis_count); a++) {
		double position = physics_joint_pose_position(physics, joint, a);
		next->position[a] =
			joint->kind == SDF_PRISMATIC ? position : physics_joint_all_turns(physics, index, a, position);
	}
}

void joint_store_poses(struct worker *worker, const struct instance *instance)
{
	struct physics *physics = worker->owner;
	const struct scene_model *m = &physics->scene->models[instance->model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		const struct scene_joint *joint = &physics->scene->joints[j];
		if (joint->kind != SDF_REVOLUTE && joint->kind != SDF_SCREW) {
			joint_store_pose(physics, j);
			continue;
		}
		struct quat turn = physics_joint_turn_in(physics, joint->parent, joint->child);
		vec_push(&worker->turns.joint, j);
		vec_push(&worker->turns.y, physics_joint_along(turn, joint->axis[0].xyz_world));
		vec_push(&worker->turns.x, turn.w);
	}
}

void joint_store_turns(struct worker *worker)
{
	struct physics *physics = worker->owner;
	struct joint_turns *turns = &worker->turns;
	const uint32_t count = turns->joint.count;
	math_atan2_many(turns->y.at, turns->x.at, count, turns->y.at);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t j = turns->joint.at[i];
		struct joint_state *next = state_joint(physics->state, j, true);
		next->position[0] = physics_joint_all_turns(physics, j, 0, physics_joint_whole(turns->y.at[i]));
		next->position[1] = 0;
	}
	joint_forget_turns(turns);
}

void joint_forget_turns(struct joint_turns *turns)
{
	turns->joint.count = turns->y.count = turns->x.count = 0;
}

/* Rows that the joint adds to its island. Motors and stops count as if they were always active, so that the choice of
 * solver depends on the model and not on the state. */
uint32_t joint_rows(const struct scene *scene, uint32_t index)
{
	switch (scene->joints[index].kind) {
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
