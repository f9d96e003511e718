/* Attachments of the scene (scene/scene.h) as joints of ODE. An attachment is made with its first body at the origin
 * and the second one at the pose of the attachment, so that its anchors do not contain the last bits of the present
 * poses. Each step loads the bodies from state k before it uses them. */
#include "physics/internal.h"

static bool attachment_in_group(const struct physics *physics, uint32_t body, uint32_t group)
{
	if (body == SCENE_NONE)
		return true;
	const struct instance *instance = physics->instances[physics->scene->bodies[body].model];
	return instance && instance->group == group;
}

static void attachment_place(dBodyID body, const struct pose *pose)
{
	dQuaternion q;
	quat_store(pose->q, q);
	dBodySetPosition(body, pose->p.x, pose->p.y, pose->p.z);
	dBodySetQuaternion(body, q);
}

static dJointID attachment_make(
	const struct physics *physics, const struct scene_attachment *attachment, dWorldID ode_world)
{
	static const struct pose origin = {{0, 0, 0}, {1, 0, 0, 0}};
	dBodyID a = instance_body(physics, attachment->bodies[0]), b = instance_body(physics, attachment->bodies[1]);
	dJointID id = dJointCreateFixed(ode_world, 0);
	attachment_place(b, &attachment->pose);
	if (a)
		attachment_place(a, &origin);
	dJointAttach(id, a ? a : b, a ? b : 0);
	dJointSetFixed(id);
	return id;
}

void attachments_list(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	for (uint32_t i = 0; i < physics->scene->attachments.count; i++) {
		const struct scene_attachment *attachment = &physics->scene->attachments.at[i];
		if (!attachment_in_group(physics, attachment->bodies[0], index) ||
			!attachment_in_group(physics, attachment->bodies[1], index))
			continue;
		struct attachment_joint own = {i, {attachment->bodies[0], attachment->bodies[1]}, 0};
		vec_push(&group->attachments, own);
	}
}

void ties_make_joints(struct physics *physics, struct group *group, dWorldID ode_world)
{
	for (uint32_t i = 0; i < group->attachments.count; i++)
		group->attachments.at[i].id = attachment_make(
			physics, &physics->scene->attachments.at[group->attachments.at[i].index], ode_world);
}

static bool attachment_is_of(const struct physics *physics, const struct attachment_joint *attachment, uint32_t model)
{
	for (uint32_t end = 0; end < 2; end++)
		if (attachment->bodies[end] != SCENE_NONE &&
			physics->scene->bodies[attachment->bodies[end]].model == model)
			return true;
	return model == SCENE_NONE;
}

void attachments_drop(struct physics *physics, struct group *group, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < group->attachments.count; i++) {
		struct attachment_joint own = group->attachments.at[i];
		if (!attachment_is_of(physics, &own, model))
			group->attachments.at[kept++] = own;
		else if (own.id)
			dJointDestroy(own.id);
	}
	group->attachments.count = kept;
}
