/* The rate of a joint's axis: a linear function of the velocities of the two bodies that the joint connects.
 *
 * ODE tells rates too, but that of its slider leaves out that the parent turns. What acts along an axis (springs,
 * couplings) must use the same function as the solver's rows do, or it would do work on the side. Directions are those
 * of state k, as the rows of step k have them: ODE carries an axis with the joint's first body, which is the child, and
 * with the parent when the child is the world; the first axis of a universal joint goes with the parent. */
#include "physics/internal.h"

/* What turns the pose in the file to that of state k. */
static struct quat turn_of(const struct physics *physics, uint32_t body)
{
	if (body == SCENE_NONE)
		return QUAT_IDENTITY;
	return quat_mul(body_now(physics, body)->q, quat_conj(physics->scene->bodies[body].reference.q));
}

static uint32_t carrier_of(const struct scene_joint *joint, uint32_t axis)
{
	if (joint->kind == SDF_GEARBOX)
		return joint->reference;
	bool two = joint->axis_count == 2;
	uint32_t first = two && axis == 0 ? joint->parent : joint->child;
	if (first != SCENE_NONE)
		return first;
	/* the other end is the world: an axis of two that it carries stays as in the file */
	return two ? SCENE_NONE : joint->parent;
}

struct vec3 axis_direction(const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
{
	return quat_rotate(turn_of(physics, carrier_of(joint, axis)), joint->axis[axis].xyz_world);
}

struct vec3 axis_anchor(const struct physics *physics, const struct scene_joint *joint)
{
	uint32_t first = joint->child != SCENE_NONE ? joint->child : joint->parent;
	struct vec3 arm = vec3_sub(joint->anchor, physics->scene->bodies[first].reference.p);
	return vec3_add(body_now(physics, first)->p, quat_rotate(turn_of(physics, first), arm));
}

static struct vec3 place_of(const struct physics *physics, uint32_t body)
{
	return body_now(physics, body)->p;
}

void axis_turning(const struct physics *physics, const struct scene_joint *joint, uint32_t axis, struct axis_rate *ret)
{
	struct vec3 direction = axis_direction(physics, joint, axis);
	*ret = (struct axis_rate){.angular = {direction, vec3_scale(direction, -1)}};
}

/* d/dt of axis . (p_child - p_parent), the axis fixed in the parent. */
void axis_sliding(const struct physics *physics, const struct scene_joint *joint, struct axis_rate *ret)
{
	struct vec3 direction = axis_direction(physics, joint, 0);
	*ret = (struct axis_rate){.linear = {direction, vec3_scale(direction, -1)}};
	if (joint->child == SCENE_NONE || joint->parent == SCENE_NONE)
		return;
	struct vec3 apart = vec3_sub(place_of(physics, joint->child), place_of(physics, joint->parent));
	ret->angular[1] = vec3_cross(direction, apart);
}

void axis_rate_of(const struct physics *physics, const struct scene_joint *joint, uint32_t axis, struct axis_rate *ret)
{
	if (joint->kind == SDF_PRISMATIC)
		axis_sliding(physics, joint, ret);
	else
		axis_turning(physics, joint, axis, ret);
}

double axis_rate_now(const struct physics *physics, const struct scene_joint *joint, uint32_t axis)
{
	const uint32_t bodies[2] = {joint->child, joint->parent};
	struct axis_rate of;
	double rate = 0;
	axis_rate_of(physics, joint, axis, &of);
	for (uint32_t i = 0; i < 2; i++) {
		if (bodies[i] == SCENE_NONE)
			continue;
		const struct body_state *body = body_now(physics, bodies[i]);
		rate += vec3_dot(of.linear[i], body->v) + vec3_dot(of.angular[i], body->w);
	}
	return rate;
}
