/* An angle is known but for whole turns: it is the one nearest to that of state k, and to what the axis turned since.
 */
#include "physics/joint_position.h"

#include "base/math.h"
#include "physics/joint_ode.h"
#include "scene/axis.h"

/* The angle nearest to `expected` that is `angle` modulo a full turn. */
static double joint_position_unwrap(double expected, double angle)
{
	return angle + 2 * M_PI * nearbyint((expected - angle) / (2 * M_PI));
}

static struct vec3 joint_position_spin_of(const struct physics *physics, uint32_t body)
{
	const dReal *w = body == SCENE_NONE ? NULL : dBodyGetAngularVel(instance_body(physics, body));
	return w ? vec3_from(w) : (struct vec3){0, 0, 0};
}

/* The angle that the axis turned in this step; 0 when its bodies turned so little that the angle nearest to that of
 * state k is right. */
static double joint_position_axis_far_turn(
	const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
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
		vec3_sub(joint_position_spin_of(physics, bodies[0]), joint_position_spin_of(physics, bodies[1]));
	double turn = vec3_dot(scene_axis_direction(physics->state, joint, axis, false), spin) * physics->dt;
	return isfinite(turn) ? turn : 0;
}

static double joint_position_count_turns(
	const struct physics *physics, const struct scene_joint *joint, uint32_t axis, double before, double angle)
{
	return joint_position_unwrap(before + joint_position_axis_far_turn(physics, joint, axis), angle);
}

void joint_store(struct physics *physics, uint32_t index, dJointID id)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	const struct joint_state *now = state_joint(physics->state, index, false);
	struct joint_state *next = state_joint(physics->state, index, true);
	bool gears = joint->kind == SDF_GEARBOX;
	next->position[0] = next->position[1] = 0;
	for (uint32_t a = 0; a < (gears ? 2 : joint->axis_count); a++) {
		double position = gears ? couple_angle(physics, index, a) : joint_ode_position(joint, id, a);
		next->position[a] = joint->kind == SDF_PRISMATIC
					    ? position
					    : joint_position_count_turns(physics, joint, a, now->position[a], position);
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
			next[i].position[0] = instance->spins ? joint_position_count_turns(physics,
									&physics->scene->joints[m->joint_first + i], 0,
									now[i].position[0], angle)
							      : joint_position_unwrap(now[i].position[0], angle);
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
static struct quat joint_position_turn_of(const struct physics *physics, uint32_t body)
{
	if (body == SCENE_NONE)
		return QUAT_IDENTITY;
	return quat_mul(state_body(physics->state, body, true)->q, quat_conj(physics->scene->bodies[body].reference.q));
}

/* How the second body has turned in the first, against the poses in the file; its axes are those of the file. */
static struct quat joint_position_turn_in(const struct physics *physics, uint32_t first, uint32_t second)
{
	return quat_mul(quat_conj(joint_position_turn_of(physics, first)), joint_position_turn_of(physics, second));
}

static double joint_position_along(struct quat turn, struct vec3 axis)
{
	return vec3_dot((struct vec3){turn.x, turn.y, turn.z}, axis);
}

static double joint_position_whole(double half)
{
	double angle = 2 * half;
	return angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
}

static double joint_position_twist(struct quat turn, struct vec3 axis)
{
	return joint_position_whole(math_atan2(joint_position_along(turn, axis), turn.w));
}

/* The turn is one about the first axis, then one about the second, which the first turns along:
 * (c1 + s1 x)(c2 + s2 y) = c1 c2 + s1 c2 x + c1 s2 y + s1 s2 z. Doubled angles do not depend on its sign. */
static double joint_position_universal_angle(const struct scene_joint *joint, struct quat turn, uint32_t axis)
{
	struct vec3 v = {turn.x, turn.y, turn.z}, x = joint->axis[0].xyz_world;
	struct vec3 z = vec3_unit(vec3_cross(x, joint->axis[1].xyz_world)), y = vec3_cross(z, x);
	double w = turn.w, a = vec3_dot(v, x), b = vec3_dot(v, y), c = vec3_dot(v, z);
	return axis ? math_atan2(2 * (w * b + a * c), w * w + a * a - b * b - c * c)
		    : math_atan2(2 * (w * a + b * c), w * w + b * b - a * a - c * c);
}

/* How far the child's centre has slid along the axis, which moves with the child. */
static double joint_position_slide(const struct physics *physics, const struct scene_joint *joint)
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
			p = vec3_add(p, quat_rotate(joint_position_turn_of(physics, bodies[0]),
						vec3_sub(other->p, reference->p)));
		apart = i ? vec3_add(apart, p) : vec3_sub(apart, p);
	}
	return vec3_dot(scene_axis_direction(physics->state, joint, 0, true), apart);
}

static double joint_position_pose_position(
	const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
{
	switch (joint->kind) {
	case SDF_PRISMATIC:
		return joint_position_slide(physics, joint);
	case SDF_GEARBOX:
		return joint_position_twist(
			joint_position_turn_in(physics, joint->reference, axis ? joint->child : joint->parent),
			joint->axis[axis].xyz_world);
	case SDF_REVOLUTE:
	case SDF_SCREW:
		return joint_position_twist(
			joint_position_turn_in(physics, joint->parent, joint->child), joint->axis[0].xyz_world);
	default:
		return joint_position_universal_angle(
			joint, joint_position_turn_in(physics, joint->parent, joint->child), axis);
	}
}

/* The angle that the axis turned in this step, where its bodies turned far. */
static double joint_position_far_turn(const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
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
static double joint_position_all_turns(const struct physics *physics, uint32_t index, uint32_t axis, double angle)
{
	double before = state_joint(physics->state, index, false)->position[axis];
	return joint_position_unwrap(
		before + joint_position_far_turn(physics, &physics->scene->joints[index], axis), angle);
}

void joint_store_pose(struct physics *physics, uint32_t index)
{
	const struct scene_joint *joint = &physics->scene->joints[index];
	struct joint_state *next = state_joint(physics->state, index, true);
	next->position[0] = next->position[1] = 0;
	for (uint32_t a = 0; a < (joint->kind == SDF_GEARBOX ? 2 : joint->axis_count); a++) {
		double position = joint_position_pose_position(physics, joint, a);
		next->position[a] =
			joint->kind == SDF_PRISMATIC ? position : joint_position_all_turns(physics, index, a, position);
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
		struct quat turn = joint_position_turn_in(physics, joint->parent, joint->child);
		vec_push(&worker->turns.joint, j);
		vec_push(&worker->turns.y, joint_position_along(turn, joint->axis[0].xyz_world));
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
		next->position[0] = joint_position_all_turns(physics, j, 0, joint_position_whole(turns->y.at[i]));
		next->position[1] = 0;
	}
	joint_forget_turns(turns);
}

void joint_forget_turns(struct joint_turns *turns)
{
	turns->joint.count = turns->y.count = turns->x.count = 0;
}
