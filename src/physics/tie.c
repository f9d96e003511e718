/* Ties of the scene (scene/scene.h) as joints of ODE. A tie is made with its first body at the origin and the second
 * one at the pose of the tie, so that its anchors do not contain the last bits of the present poses. Each step loads
 * the bodies from state k before it uses them. */
#include "physics/internal.h"

static bool tie_in_group(const struct physics *physics, uint32_t body, uint32_t group)
{
	if (body == SCENE_NONE)
		return true;
	const struct instance *instance = physics->instances[physics->scene->bodies[body].model];
	return instance && instance->group == group;
}

static void tie_place(dBodyID body, const struct pose *pose)
{
	dQuaternion q;
	quat_store(pose->q, q);
	dBodySetPosition(body, pose->p.x, pose->p.y, pose->p.z);
	dBodySetQuaternion(body, q);
}

static dJointID tie_make(const struct physics *physics, const struct scene_tie *tie, dWorldID ode_world)
{
	static const struct pose origin = {{0, 0, 0}, {1, 0, 0, 0}};
	dBodyID a = instance_body(physics, tie->bodies[0]), b = instance_body(physics, tie->bodies[1]);
	dJointID id = dJointCreateFixed(ode_world, 0);
	tie_place(b, &tie->pose);
	if (a)
		tie_place(a, &origin);
	dJointAttach(id, a ? a : b, a ? b : 0);
	dJointSetFixed(id);
	return id;
}

void ties_list(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	for (uint32_t i = 0; i < physics->scene->ties.count; i++) {
		const struct scene_tie *tie = &physics->scene->ties.at[i];
		if (!tie_in_group(physics, tie->bodies[0], index) || !tie_in_group(physics, tie->bodies[1], index))
			continue;
		struct tie_joint own = {i, {tie->bodies[0], tie->bodies[1]}, 0};
		vec_push(&group->ties, own);
	}
}

void ties_make_joints(struct physics *physics, struct group *group, dWorldID ode_world)
{
	for (uint32_t i = 0; i < group->ties.count; i++)
		group->ties.at[i].id = tie_make(physics, &physics->scene->ties.at[group->ties.at[i].index], ode_world);
}

static bool tie_is_of(const struct physics *physics, const struct tie_joint *tie, uint32_t model)
{
	for (uint32_t end = 0; end < 2; end++)
		if (tie->bodies[end] != SCENE_NONE && physics->scene->bodies[tie->bodies[end]].model == model)
			return true;
	return model == SCENE_NONE;
}

void ties_drop(struct physics *physics, struct group *group, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < group->ties.count; i++) {
		struct tie_joint own = group->ties.at[i];
		if (!tie_is_of(physics, &own, model))
			group->ties.at[kept++] = own;
		else if (own.id)
			dJointDestroy(own.id);
	}
	group->ties.count = kept;
}
