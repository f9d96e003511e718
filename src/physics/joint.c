/* What acts along the axes of joints in a step.
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
 * exceeds its limit (joint_ode.c). */
#include "physics/exact.h"
#include "physics/joint_ode.h"

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

static bool physics_joint_is_linear(const struct scene_joint *joint)
{
	return joint->kind == SDF_PRISMATIC || joint->kind == SDF_SCREW;
}

/* --- stops and motor -------------------------------------------------------------------------------------------- */

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
	double own = physics_joint_of(m)->sdf->ode->stop_erp,
	       erp = isnan(own) ? m->physics->scene->sdf->physics.erp : own;
	return joint_clamp(erp * gap / m->dt, most);
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
	double own = physics_joint_of(m)->sdf->ode->stop_cfm;
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
	joint_ode_set(physics_joint_of(m), m->id, m->axis, dParamLoStop, setting->low = low);
	joint_ode_set(physics_joint_of(m), m->id, m->axis, dParamHiStop, setting->high = high);
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
		joint_ode_set(joint, m->id, m->axis, dParamStopERP, setting->stop_erp = erp);
	if (cfm != setting->stop_cfm)
		joint_ode_set(joint, m->id, m->axis, dParamStopCFM, setting->stop_cfm = cfm);
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
		joint_ode_set(joint, m->id, m->axis, dParamVel, setting->velocity = motor.velocity);
	if (motor.force_max != setting->force_max)
		joint_ode_set(joint, m->id, m->axis, dParamFMax, setting->force_max = motor.force_max);
	if (motor.softness != setting->softness)
		joint_ode_set(joint, m->id, m->axis, dParamCFM, setting->softness = motor.softness);
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
	return !axis && joint->sdf->ode->max_force > 0;
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
		return (struct motor){joint_clamp(m->physics->control->joints[m->joint].velocity, axis->velocity),
			effort, hard, false};
	if (isfinite(axis->velocity) && fabs(physics_joint_coming_rate(m)) > axis->velocity)
		return (struct motor){
			joint_clamp(physics_joint_coming_rate(m), axis->velocity), dInfinity, hard, false};
	const struct sdf_joint_ode *ode = physics_joint_of(m)->sdf->ode;
	if (physics_joint_has_own_motor(physics_joint_of(m), m->axis))
		return (struct motor){
			joint_clamp(ode->velocity, axis->velocity), physics_joint_own_force(ode), hard, false};
	if (!physics_joint_is_passive(axis) || axis->friction > 0)
		return (struct motor){0, axis->friction, hard, false};
	return physics_joint_spring_of(m, hard);
}

/* The force of the motor in a step in which a stop has the row. */
static double physics_joint_force_of(const struct moment *m, const struct motor *motor)
{
	double wanted = (motor->velocity - m->rate) / m->dt * physics_joint_of(m)->inertia[m->axis];
	return isnan(wanted) ? 0 : joint_clamp(wanted, motor->force_max);
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
	double force = m->axis ? 0 : joint_clamp(m->physics->control->joints[m->joint].force, axis->effort);
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
		joint_ode_add_force(m->physics, physics_joint_of(m), m->id, m->axis, force);
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
	double own = physics_joint_of(m)->sdf->ode->stop_cfm;
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
	const struct sdf_joint_ode *ode = physics_joint_of(m)->sdf->ode;
	double velocity = 0, most = axis->friction;
	if (physics_joint_is_driven(m)) {
		velocity = m->physics->control->joints[m->joint].velocity;
		most = isfinite(axis->effort) ? axis->effort : LAW_ENDLESS;
	} else if (physics_joint_has_own_motor(physics_joint_of(m), m->axis)) {
		velocity = ode->velocity;
		most = isfinite(ode->max_force) ? ode->max_force : LAW_ENDLESS;
	}
	law->target = joint_clamp(velocity, axis->velocity);
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
		ret->push = dt * joint_clamp(physics->control->joints[index].force, a->effort);
	if (physics_joint_is_passive(a)) {
		m.rate = scene_axis_rate(physics->state, index, axis, false);
		physics_joint_law_add_spring(&m, ret);
	}
	physics_joint_law_add_motor(&m, ret);
	physics_joint_law_add_stops(&m, ret);
	ret->low = joint_clamp(MAX(ret->low, -a->velocity), a->velocity);
	ret->high = joint_clamp(MIN(ret->high, a->velocity), a->velocity);
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
	ret->friction = physics_joint_own_force(joint->sdf->ode);
	ret->velocity = joint->sdf->ode->velocity;
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
	double force = joint_clamp(control->force, setting->effort);
	if (force != 0)
		dJointAddHingeTorque(id, force);
}

double joint_added_force(
	const struct physics *physics, uint32_t index, const struct joint_setting *setting, uint32_t axis)
{
	if (setting->way == JOINT_PLAIN)
		return joint_clamp(physics->control->joints[index].force, setting->effort);
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
