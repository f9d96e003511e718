/* What couples axes of different bodies: the thread of a screw and the gears of a gearbox. Nothing here keeps anything
 * from step to step: turns are counted in the state. (ODE's transmission joint, and the screw and gearbox joints that
 * others have added to it, count them in the joint, where nothing can save or set them.)
 *
 * Thread. ODE's piston leaves turning and sliding free. One row more ties them, a friction row of a contact joint made
 * for this step only: at a point beside the axis its direction is perpendicular to the thread, so that the point can
 * only move along it. The row is solved with all others, so it holds whatever the load. The contact's row for the
 * normal, which ODE insists on, is made too soft to matter.
 *
 * Gears. ODE's rows connect two bodies; a gearbox connects three (input, output and the body that they turn against),
 * and axes may coincide, so no direction at any point would do. So an impulse is given before the step: as much as
 * undoes the violation that is there if the bodies are as mobile as they can at most be. That is never too much, so it
 * is stable at any step, and since both shafts get their parts of one impulse, what is transmitted is exact: a steady
 * load leaves a violation of its acceleration times the step, and no more. */
#include "physics/internal.h"

#define NORMAL_CFM 1e3        /* m/(s N): takes up next to nothing; 1e15 leaves the exact solver with NaN */
#define THREAD_RADIUS_MAX 1e3 /* m */
#define THREAD_FORCE_MAX 1e30 /* N: as good as any; ODE loses its way in a contact whose rows have no bounds */

/* --- thread ----------------------------------------------------------------------------------------------------- */

static struct vec3 across(struct vec3 axis)
{
	struct vec3 other = fabs(axis.x) < 0.5 ? (struct vec3){1, 0, 0} : (struct vec3){0, 1, 0};
	return vec3_unit(vec3_cross(axis, other));
}

static struct pose moved(const struct physics *physics, uint32_t body, struct pose from)
{
	const struct scene_body *b = &physics->scene->bodies[body];
	const struct body_state *now =
		&state_bodies(physics->state, b->model, false)[body - physics->scene->models[b->model].body_first];
	return pose_mul(body_pose(now), pose_mul(pose_inverse(b->reference), from));
}

static void thread(struct physics *physics, const struct scene_joint *joint, uint32_t index, dJointID id, double dt)
{
	dBodyID child = instance_body(physics, joint->child), parent = instance_body(physics, joint->parent);
	double lead = 1 / joint->sdf->thread_pitch; /* m/rad */
	dVector3 along;
	dJointGetPistonAxis(id, along);
	struct vec3 axis = {along[0], along[1], along[2]}, beside = across(axis);
	/* Any radius is right; at the radius of gyration pushing along and turning weigh the same, and the iterative
	 * solver converges (at that of the lead, where the thread climbs at 45 degrees, it diverged in 7.5 s). */
	double radius = MAX(fabs(lead), fmin(sqrt(joint->inertia[0] / joint->inertia[1]), THREAD_RADIUS_MAX));
	double climb = lead / radius, unit = 1 / sqrt(1 + climb * climb);
	uint32_t carrier = joint->child == SCENE_NONE ? joint->parent : joint->child;
	struct vec3 at = vec3_add(
		moved(physics, carrier, (struct pose){joint->anchor, QUAT_IDENTITY}).p, vec3_scale(beside, radius));
	struct vec3 normal = vec3_scale(vec3_sub(axis, vec3_scale(vec3_cross(axis, beside), climb)), unit);
	double amiss = dJointGetPistonPosition(id) - lead * state_joint(physics->state, index, false)->position[0];
	double speed = -physics->scene->sdf->physics.erp * amiss / dt * unit;
	dContact contact = {0};
	contact.surface.mode = dContactMu2 | dContactFDir1 | dContactMotion1 | dContactSoftCFM;
	contact.surface.mu = THREAD_FORCE_MAX;
	contact.surface.soft_cfm = NORMAL_CFM;
	contact.surface.motion1 = speed;
	for (int i = 0; i < 3; i++) {
		contact.geom.pos[i] = (&at.x)[i];
		contact.geom.normal[i] = (&beside.x)[i];
		contact.fdir1[i] = (&normal.x)[i];
	}
	dJointAttach(dJointCreateContact(physics->world->id, physics->contacts, &contact), child ? child : parent,
		child ? parent : 0);
}

/* --- gears ------------------------------------------------------------------------------------------------------ */

static struct quat turned(const struct physics *physics, uint32_t body)
{
	return body == SCENE_NONE ? QUAT_IDENTITY : moved(physics, body, POSE_IDENTITY).q;
}

static uint32_t shaft(const struct scene_joint *joint, uint32_t axis)
{
	return axis ? joint->child : joint->parent;
}

/* The twist about the axis of what turns the reference's pose against the pose in the file. */
static double twist(struct quat reference, struct quat body, struct vec3 axis)
{
	struct quat turn = quat_mul(quat_conj(reference), body);
	double angle = 2 * atan2(vec3_dot((struct vec3){turn.x, turn.y, turn.z}, axis), turn.w);
	return angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
}

double couple_angle(const struct physics *physics, uint32_t index, uint32_t axis)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	struct quat turn[2];
	uint32_t bodies[2] = {joint->reference, shaft(joint, axis)};
	for (int i = 0; i < 2; i++) {
		dBodyID body = instance_body(physics, bodies[i]);
		turn[i] = QUAT_IDENTITY;
		if (!body)
			continue;
		const dReal *q = dBodyGetQuaternion(body);
		turn[i] = quat_mul((struct quat){q[0], q[1], q[2], q[3]},
			quat_conj(physics->scene->bodies[bodies[i]].reference.q));
	}
	return twist(turn[0], turn[1], joint->axis[axis].xyz_world);
}

/* How fast a unit of impulse about `axis` (world) can at most make the body turn about it; hinge: a point of the axis
 * about which it turns against what does not move, or NULL. */
static double mobility(const struct physics *physics, uint32_t body, struct vec3 axis, const struct vec3 *hinge)
{
	if (body == SCENE_NONE || physics->scene->bodies[body].kinematic)
		return 0;
	const struct scene_body *b = &physics->scene->bodies[body];
	struct vec3 a = quat_rotate(quat_conj(quat_mul(turned(physics, body), b->reference.q)), axis);
	if (hinge) {
		double along = b->ixx * a.x * a.x + b->iyy * a.y * a.y + b->izz * a.z * a.z +
			       2 * (b->ixy * a.x * a.y + b->ixz * a.x * a.z + b->iyz * a.y * a.z);
		struct vec3 from_file = quat_rotate(b->reference.q, a);
		struct vec3 arm = vec3_cross(from_file, vec3_sub(b->reference.p, *hinge));
		return 1 / (along + b->mass * vec3_dot(arm, arm));
	}
	/* a I^-1 a, by the adjugate */
	double cxx = b->iyy * b->izz - b->iyz * b->iyz, cxy = b->ixz * b->iyz - b->ixy * b->izz;
	double cxz = b->ixy * b->iyz - b->ixz * b->iyy, cyy = b->ixx * b->izz - b->ixz * b->ixz;
	double cyz = b->ixy * b->ixz - b->ixx * b->iyz, czz = b->ixx * b->iyy - b->ixy * b->ixy;
	double determinant = b->ixx * cxx + b->ixy * cxy + b->ixz * cxz;
	return (cxx * a.x * a.x + cyy * a.y * a.y + czz * a.z * a.z +
		       2 * (cxy * a.x * a.y + cxz * a.x * a.z + cyz * a.y * a.z)) /
	       determinant;
}

static struct vec3 spin(const struct physics *physics, uint32_t body)
{
	dBodyID id = instance_body(physics, body);
	const dReal *w = id ? dBodyGetAngularVel(id) : NULL;
	return w ? (struct vec3){w[0], w[1], w[2]} : (struct vec3){0, 0, 0};
}

static void push(const struct physics *physics, uint32_t body, struct vec3 torque)
{
	dBodyID id = instance_body(physics, body);
	if (id && !physics->scene->bodies[body].kinematic)
		dBodyAddTorque(id, torque.x, torque.y, torque.z);
}

static void gears(struct physics *physics, const struct scene_joint *joint, uint32_t index, double dt)
{
	bool still = joint->reference == SCENE_NONE || physics->scene->bodies[joint->reference].kinematic;
	const struct joint_state *now = state_joint(physics->state, index, false);
	double part[2] = {joint->sdf->gearbox_ratio, 1}, rate = 0, mobile = 0;
	struct vec3 reaction = {0, 0, 0}, axis[2], reference_spin = spin(physics, joint->reference);
	struct quat turn = turned(physics, joint->reference);
	for (uint32_t a = 0; a < 2; a++) {
		axis[a] = quat_rotate(turn, joint->axis[a].xyz_world);
		rate += part[a] * vec3_dot(axis[a], vec3_sub(spin(physics, shaft(joint, a)), reference_spin));
		mobile += part[a] * part[a] *
			  mobility(physics, shaft(joint, a), axis[a],
				  still && joint->hinged[a] ? &joint->hinge[a] : NULL);
		reaction = vec3_sub(reaction, vec3_scale(axis[a], part[a]));
	}
	double length = vec3_length(reaction);
	if (length > 0)
		mobile += length * length * mobility(physics, joint->reference, vec3_scale(reaction, 1 / length), NULL);
	if (!(mobile > 0))
		return;
	double amiss = part[0] * now->position[0] + now->position[1];
	double torque = -(rate + physics->scene->sdf->physics.erp * amiss / dt) / (mobile * dt);
	for (uint32_t a = 0; a < 2; a++)
		push(physics, shaft(joint, a), vec3_scale(axis[a], part[a] * torque));
	push(physics, joint->reference, vec3_scale(reaction, torque));
}

void couple_joint(struct physics *physics, uint32_t index, dJointID id, double dt)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	if (joint->kind == SDF_SCREW)
		thread(physics, joint, index, id, dt);
	else
		gears(physics, joint, index, dt);
}
