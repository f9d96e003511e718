/* Groups: which models are stepped together.
 *
 * The pairs of this step say which models must share a group. A group that came apart is kept for some steps,
 * because rebuilding costs 3-4 us a robot and models that touched tend to touch again. So a new partition joins the
 * pairs and the old groups, without groups that have been loose for too long. Groups that did not change are left
 * alone. */
#include "physics/assembly.h"
#include "physics/internal.h"
#include "physics/joint_ode.h"

#include <stdlib.h>
#include <string.h>

/* --- the ODE side ----------------------------------------------------------------------------------------------- */

static uint32_t group_free(struct physics *physics)
{
	if (physics->free_groups.count)
		return physics->free_groups.at[--physics->free_groups.count];
	vec_push(&physics->groups, (struct group){0});
	return physics->groups.count - 1;
}

static bool group_is_of(const struct physics *physics, uint32_t body, uint32_t model)
{
	return body != SCENE_NONE && (model == SCENE_NONE || physics->scene->bodies[body].model == model);
}

static void group_drop_world_joint(struct world_joint *joint)
{
	if (joint->id)
		dJointDestroy(joint->id);
	free(joint->feedback);
}

/* Drops the world joints of one model; SCENE_NONE: all. Other joints stay and keep their anchors, which could not be
 * computed from the present poses. */
static void group_drop_world_joints(struct physics *physics, struct group *group, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		struct world_joint *own = &group->world_joints.at[i];
		const struct scene_joint *joint = &physics->scene->joints[own->index];
		if (!group_is_of(physics, joint->parent, model) && !group_is_of(physics, joint->child, model))
			group->world_joints.at[kept++] = *own;
		else
			group_drop_world_joint(own);
	}
	group->world_joints.count = kept;
}

static bool group_in_group(const struct physics *physics, uint32_t body, uint32_t group)
{
	if (body == SCENE_NONE)
		return true;
	const struct instance *instance = physics->instances[physics->scene->bodies[body].model];
	return instance && instance->group == group;
}

static void group_list_world_joints(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	for (uint32_t i = 0; i < physics->scene->world_joints.count; i++) {
		uint32_t j = physics->scene->world_joints.at[i];
		const struct scene_joint *joint = &physics->scene->joints[j];
		if (group_in_group(physics, joint->parent, index) && group_in_group(physics, joint->child, index)) {
			vec_push(&group->world_joints, (struct world_joint){.index = j});
		}
	}
}

static void group_make_world_joints(struct physics *physics, struct group *group, dWorldID ode_world)
{
	for (uint32_t i = 0; i < group->world_joints.count; i++) {
		struct world_joint *own = &group->world_joints.at[i];
		own->id = joint_make(physics, own->index, ode_world);
		joint_unset(&physics->scene->joints[own->index], &own->setting);
		if (physics->observe & OBSERVE_JOINTS)
			observe_world_joint(physics, own);
	}
}

/* Makes the bodies of all members in id order, then their joints in id order: the order decides the solver's result. */
void group_make_ode(struct physics *physics, struct group *group)
{
	dWorldID ode_world = ode_world_id(physics, group->ode_world);
	group->in_ode = true;
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_make_bodies(physics, physics->instances[group->members.at[i]], ode_world);
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_make_joints(physics, physics->instances[group->members.at[i]], ode_world);
	group_make_world_joints(physics, group, ode_world);
	ties_make_joints(physics, group, ode_world);
}

static void group_make_parts(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	group->alone = group->members.count == 1 && physics->instances[group->members.at[0]]->commanded;
	if (group->alone)
		return;
	group_list_world_joints(physics, index);
	attachments_list(physics, index);
	if (physics->options.ode)
		group_make_ode(physics, group);
}

static void group_build(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	ode_world_enter(physics, index);
	for (uint32_t i = 0; i < group->members.count; i++)
		physics->instances[group->members.at[i]]->group = index;
	group_make_parts(physics, index);
	physics->regroups++;
}

void group_make_anew(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance **instance = &physics->instances[group->members.at[i]];
		ode_abandon(*instance);
		*instance = instance_replace(physics, *instance);
	}
	if (!group->in_ode)
		return;
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		group->world_joints.at[i].id = 0;
	for (uint32_t i = 0; i < group->attachments.count; i++)
		group->attachments.at[i].id = 0;
	group_make_ode(physics, group);
}

static void group_free_slot(struct physics *physics, uint32_t index)
{
	ode_world_leave(physics, index);
	physics->groups.at[index].loose_since = 0;
	physics->groups.at[index].in_ode = false;
	vec_push(&physics->free_groups, index);
}

void group_remove(struct physics *physics, uint32_t model)
{
	struct instance *instance = physics->instances[model];
	if (instance->group == SCENE_NONE)
		return;
	struct group *group = &physics->groups.at[instance->group];
	assemblies_drop(group);
	group_drop_world_joints(physics, group, model);
	attachments_drop(physics, group, model);
	indices_remove(&group->members, model);
	uint32_t index = instance->group;
	instance_drop(physics, instance);
	if (!group->members.count)
		group_free_slot(physics, index);
}

static void group_dissolve(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	assemblies_drop(group);
	group_drop_world_joints(physics, group, SCENE_NONE);
	attachments_drop(physics, group, SCENE_NONE);
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_drop(physics, physics->instances[group->members.at[i]]);
	group->members.count = 0;
	group_free_slot(physics, index);
}

static void group_form(struct physics *physics, const uint32_t *members, uint32_t count)
{
	uint32_t index = group_free(physics);
	for (uint32_t i = 0; i < count; i++)
		vec_push(&physics->groups.at[index].members, members[i]);
	group_build(physics, index);
}

/* --- the partition ---------------------------------------------------------------------------------------------- */

static uint32_t group_keep_steps(const struct physics *physics)
{
	return physics->options.keep_steps ? physics->options.keep_steps : PHYSICS_KEEP_STEPS;
}

/* Joins the models of each old group, unless it has been more than one set for too long. */
static void group_join(struct physics *physics)
{
	physics->loose_groups = 0;
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		struct group *group = &physics->groups.at[g];
		bool loose = false;
		for (uint32_t i = 1; i < group->members.count; i++)
			loose = loose || sets_root(&physics->grouping, group->members.at[i]) !=
						 sets_root(&physics->grouping, group->members.at[0]);
		if (!loose)
			group->loose_since = 0;
		else if (!group->loose_since)
			group->loose_since = physics->step;
	}
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		struct group *group = &physics->groups.at[g];
		if (group->loose_since && physics->step - group->loose_since >= group_keep_steps(physics))
			continue;
		physics->loose_groups += group->loose_since != 0;
		for (uint32_t i = 1; i < group->members.count; i++)
			sets_join(&physics->grouping, group->members.at[0], group->members.at[i]);
	}
}

static bool group_same(const struct physics *physics, const uint32_t *members, uint32_t count)
{
	uint32_t index = physics->instances[members[0]]->group;
	if (index == SCENE_NONE || physics->groups.at[index].members.count != count)
		return false;
	return !memcmp(physics->groups.at[index].members.at, members, count * sizeof *members);
}

/* Two passes: first every group that changes is taken apart, then the new ones are built, so that no model is in two.
 */
static void group_rebuild_changed(struct physics *physics)
{
	const struct sets *sets = &physics->grouping;
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t s = 0; s < sets_count(sets); s++) {
			const uint32_t *members = sets->order.at + sets->first.at[s];
			uint32_t count = sets->first.at[s + 1] - sets->first.at[s];
			if (group_same(physics, members, count))
				continue;
			for (uint32_t i = 0; !pass && i < count; i++)
				if (physics->instances[members[i]]->group != SCENE_NONE)
					group_dissolve(physics, physics->instances[members[i]]->group);
			if (pass)
				group_form(physics, members, count);
		}
	}
}

static bool group_some_expired(const struct physics *physics)
{
	if (!physics->loose_groups)
		return false;
	for (uint32_t g = 0; g < physics->groups.count; g++)
		if (physics->groups.at[g].loose_since &&
			physics->step - physics->groups.at[g].loose_since >= group_keep_steps(physics))
			return true;
	return false;
}

/* Sorts the pairs by group, so that each group finds its own. */
static void group_deal_pairs(struct physics *physics)
{
	const struct physics_pair *pairs = physics->awake_pairs.at;
	uint32_t count = physics->awake_pairs.count;
	for (uint32_t g = 0; g < physics->groups.count; g++)
		physics->groups.at[g].pair_count = 0;
	for (uint32_t i = 0; i < count; i++)
		physics->groups.at[physics->instances[pairs[i].a]->group].pair_count++;
	physics->grouped.count = 0;
	struct physics_pair *first = vec_append(&physics->grouped, count);
	uint32_t at = 0;
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		struct group *group = &physics->groups.at[g];
		group->pairs = count ? first + at : NULL;
		at += group->pair_count;
		group->pair_count = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct group *group = &physics->groups.at[physics->instances[pairs[i].a]->group];
		first[group->pairs - first + group->pair_count++] = pairs[i];
	}
}

static void group_list_busy(struct physics *physics)
{
	physics->busy_ode_worlds.count = 0;
	for (uint32_t w = 0; w < physics->ode_worlds.count; w++)
		if (physics->ode_worlds.at[w].groups.count)
			vec_push(&physics->busy_ode_worlds, w);
}

/* The groups with attachments are made anew. */
static void group_follow_attachments(struct physics *physics)
{
	const struct scene *scene = physics->scene;
	physics->attachments_epoch = scene->attachments_epoch;
	physics->regroup = true;
	for (uint32_t g = 0; g < physics->groups.count; g++)
		if (physics->groups.at[g].attachments.count)
			group_dissolve(physics, g);
	for (uint32_t i = 0; i < 2 * scene->attachments.count; i++) {
		uint32_t body = scene->attachments.at[i / 2].bodies[i % 2];
		const struct instance *instance =
			body == SCENE_NONE ? NULL : physics->instances[scene->bodies[body].model];
		if (instance && instance->group != SCENE_NONE)
			group_dissolve(physics, instance->group);
	}
}

void group_update(struct physics *physics)
{
	if (physics->attachments_epoch != physics->scene->attachments_epoch)
		group_follow_attachments(physics);
	if (!physics->regroup && !group_some_expired(physics))
		return;
	physics->regroup = false;
	sets_begin(&physics->grouping, &physics->awake, physics->scene->model_count);
	for (uint32_t i = 0; i < physics->awake_pairs.count; i++)
		sets_join(&physics->grouping, physics->awake_pairs.at[i].a, physics->awake_pairs.at[i].b);
	group_join(physics);
	sets_order(&physics->grouping, &physics->awake);
	group_rebuild_changed(physics);
	group_deal_pairs(physics);
	group_list_busy(physics);
}

static bool group_are_ends(uint32_t a, uint32_t b, uint32_t end_a, uint32_t end_b)
{
	return (a == end_a && b == end_b) || (a == end_b && b == end_a);
}

bool group_joins(const struct physics *physics, const struct group *group, uint32_t body_a, uint32_t body_b)
{
	const struct scene *scene = physics->scene;
	bool joined = false;
	if (scene->bodies[body_a].model == scene->bodies[body_b].model)
		joined = instance_joins(physics->instances[scene->bodies[body_a].model], body_a, body_b);
	for (uint32_t i = 0; i < group->world_joints.count && !joined; i++) {
		const struct scene_joint *joint = &scene->joints[group->world_joints.at[i].index];
		joined = joint->kind != SDF_GEARBOX && group_are_ends(body_a, body_b, joint->parent, joint->child);
	}
	for (uint32_t i = 0; i < group->attachments.count && !joined; i++)
		joined = group_are_ends(
			body_a, body_b, group->attachments.at[i].bodies[0], group->attachments.at[i].bodies[1]);
	return joined;
}

void group_fini(struct group *group)
{
	assemblies_drop(group);
	vec_free(&group->assemblies);
	vec_free(&group->members);
	vec_free(&group->world_joints);
	vec_free(&group->attachments);
}
