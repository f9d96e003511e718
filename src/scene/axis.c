/* ODE computes rates too, but its rate of a slider ignores that the parent turns. Forces along an axis (springs,
 * couplings) must use the same rate as the rows of the solver, otherwise they add energy. The directions are those of
 * the state, as in the rows of its step. ODE moves an axis with the first body of the joint: the child, or the parent
 * if the child is the world. The first axis of a universal joint moves with the parent. */
#include "scene/axis.h"

/* The rotation from the orientation in the file to that in the state. */
static struct quat axis_turn_of(const struct state *state, uint32_t body, bool next)
{
	if (body == SCENE_NONE)
		return QUAT_IDENTITY;
	return quat_mul(state_body(state, body, next)->q, quat_conj(state->scene->bodies[body].reference.q));
}

static uint32_t axis_carrier_of(const struct scene_joint *joint, uint32_t axis)
{
	if (joint->kind == SDF_GEARBOX)
		return joint->reference;
	bool two = joint->axis_count == 2;
	uint32_t first = two && axis == 0 ? joint->parent : joint->child;
	if (first != SCENE_NONE)
		return first;
	/* the other body is the world: of two axes, the one that the world carries does not move */
	return two ? SCENE_NONE : joint->parent;
}

struct vec3 scene_axis_direction(const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next)
{
	return quat_rotate(axis_turn_of(state, axis_carrier_of(joint, axis), next), joint->axis[axis].xyz_world);
}

struct vec3 scene_axis_anchor(const struct state *state, const struct scene_joint *joint)
{
	uint32_t first = joint->child != SCENE_NONE ? joint->child : joint->parent;
	struct vec3 arm = vec3_sub(joint->anchor, state->scene->bodies[first].reference.p);
	return vec3_add(state_body(state, first, false)->p, quat_rotate(axis_turn_of(state, first, false), arm));
}

void scene_axis_turning(
	const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next, struct axis_rate *ret)
{
	struct vec3 direction = scene_axis_direction(state, joint, axis, next);
	*ret = (struct axis_rate){.angular = {direction, vec3_scale(direction, -1)}};
}

/* d/dt of axis . (p_child - p_parent), with the axis fixed in the parent. */
void scene_axis_sliding(const struct state *state, const struct scene_joint *joint, bool next, struct axis_rate *ret)
{
	struct vec3 direction = scene_axis_direction(state, joint, 0, next);
	*ret = (struct axis_rate){.linear = {direction, vec3_scale(direction, -1)}};
	if (joint->child == SCENE_NONE || joint->parent == SCENE_NONE)
		return;
	struct vec3 apart =
		vec3_sub(state_body(state, joint->child, next)->p, state_body(state, joint->parent, next)->p);
	ret->angular[1] = vec3_cross(direction, apart);
}

void scene_axis_rate_of(
	const struct state *state, const struct scene_joint *joint, uint32_t axis, bool next, struct axis_rate *ret)
{
	if (joint->kind == SDF_PRISMATIC)
		scene_axis_sliding(state, joint, next, ret);
	else
		scene_axis_turning(state, joint, axis, next, ret);
}

/* Whether a model that a joint of the world connects was removed: the words of that model are no state. */
static bool axis_is_loose(const struct scene *scene, const struct scene_joint *joint)
{
	const uint32_t bodies[2] = {joint->child, joint->parent};
	for (uint32_t i = 0; i < 2; i++)
		if (bodies[i] != SCENE_NONE && scene->models[scene->bodies[bodies[i]].model].absent)
			return true;
	return false;
}

double scene_axis_rate(const struct state *state, uint32_t index, uint32_t axis, bool next)
{
	const struct scene_joint *joint = &state->scene->joints[index];
	const uint32_t bodies[2] = {joint->child, joint->parent};
	struct axis_rate of;
	double rate = 0;
	if (axis_is_loose(state->scene, joint))
		return 0;
	scene_axis_rate_of(state, joint, axis, next, &of);
	for (uint32_t i = 0; i < 2; i++) {
		if (bodies[i] == SCENE_NONE)
			continue;
		const struct body_state *body = state_body(state, bodies[i], next);
		rate += vec3_dot(of.linear[i], body->v) + vec3_dot(of.angular[i], body->w);
	}
	return rate;
}
