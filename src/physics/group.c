/* Groups: which models share an ODE world.
 *
 * What must share is given by the pairs of this step. What shares already goes on sharing for PHYSICS_KEEP_STEPS after
 * it has come apart, because rebuilding costs 3-4 us a robot and things that touched tend to touch again. So a new
 * partition is the join of the pairs and of the old groups, less those that have been loose for too long. Groups that
 * come out as they were are left alone. */
#include "physics/internal.h"

#include <string.h>

static uint32_t root_of(struct physics *physics, uint32_t model)
{
	uint32_t *set = physics->set;
	while (set[model] != model)
		model = set[model] = set[set[model]];
	return model;
}

static void join(struct physics *physics, uint32_t a, uint32_t b)
{
	a = root_of(physics, a);
	b = root_of(physics, b);
	physics->set[MAX(a, b)] = MIN(a, b); /* the lowest model is the root */
}

static void join_pairs(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count)
{
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->set[physics->taken.at[i]] = physics->taken.at[i];
	for (uint32_t i = 0; i < pair_count; i++)
		join(physics, pairs[i].a, pairs[i].b);
}

/* --- the ODE side ----------------------------------------------------------------------------------------------- */

static void set_up_world(struct physics *physics, struct group *group)
{
	const struct sdf_physics *profile = &physics->scene->sdf->physics;
	const struct vec3 g = physics->scene->gravity;
	group->world = dWorldCreate();
	group->threading = dThreadingAllocateSelfThreadedImplementation();
	group->contacts = dJointGroupCreate(0);
	/* the default threading object is shared by the process, and two threads stepping two worlds abort in it */
	dWorldSetStepThreadingImplementation(
		group->world, dThreadingImplementationGetFunctions(group->threading), group->threading);
	dWorldUseSharedWorkingMemory(group->world, physics->memory);
	dWorldSetGravity(group->world, g.x, g.y, g.z);
	dWorldSetERP(group->world, profile->erp);
	dWorldSetCFM(group->world, MAX(profile->cfm, PHYSICS_CFM_MIN));
	dWorldSetQuickStepNumIterations(group->world, (int)profile->iterations);
	dWorldSetQuickStepW(group->world, profile->sor);
	dWorldSetContactSurfaceLayer(group->world, 0); /* contact.c sees to depth and correcting velocity itself */
	dWorldSetDamping(group->world, 0, 0);
	dWorldSetLinearDampingThreshold(group->world, 0);
	dWorldSetAngularDampingThreshold(group->world, 0);
}

static uint32_t free_group(struct physics *physics)
{
	if (physics->free_groups.count)
		return physics->free_groups.at[--physics->free_groups.count];
	vec_push(&physics->groups, (struct group){0});
	set_up_world(physics, &physics->groups.at[physics->groups.count - 1]);
	return physics->groups.count - 1;
}

static void drop_world_joints(struct group *group)
{
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		if (group->world_joints.at[i].id)
			dJointDestroy(group->world_joints.at[i].id);
	group->world_joints.count = 0;
}

static bool in_group(const struct physics *physics, uint32_t body, uint32_t group)
{
	if (body == SCENE_NONE)
		return true;
	const struct instance *instance = physics->instances[physics->scene->bodies[body].model];
	return instance && instance->group == group;
}

static void make_world_joints(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	for (uint32_t j = physics->scene->world_joint_first; j < physics->scene->joint_count; j++) {
		const struct scene_joint *joint = &physics->scene->joints[j];
		if (in_group(physics, joint->parent, index) && in_group(physics, joint->child, index))
			vec_push(&group->world_joints,
				(struct world_joint){j, joint_make(physics, j, group->world), JOINT_UNSET});
	}
}

/* Bodies of all members in id order, then their joints in id order: the order decides the solver's. */
static void build(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		instance->group = index;
		instance_make_bodies(physics, instance, group->world);
	}
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_make_joints(physics, physics->instances[group->members.at[i]], group->world);
	make_world_joints(physics, index);
	physics->stats.regroups++;
}

void group_remove(struct physics *physics, uint32_t model)
{
	struct instance *instance = physics->instances[model];
	if (instance->group == SCENE_NONE)
		return;
	struct group *group = &physics->groups.at[instance->group];
	drop_world_joints(group);
	indices_remove(&group->members, model);
	uint32_t index = instance->group;
	instance_drop(physics, instance);
	if (group->members.count)
		make_world_joints(physics, index);
	else
		vec_push(&physics->free_groups, index);
}

static void dissolve(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	drop_world_joints(group);
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_drop(physics, physics->instances[group->members.at[i]]);
	group->members.count = 0;
	group->loose_since = 0;
	vec_push(&physics->free_groups, index);
}

/* --- the partition ---------------------------------------------------------------------------------------------- */

/* Keeps together what is a group already, unless it has been more than one set for long. */
static void join_groups(struct physics *physics)
{
	physics->loose_groups = 0;
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		struct group *group = &physics->groups.at[g];
		bool loose = false;
		for (uint32_t i = 1; i < group->members.count; i++)
			loose = loose ||
				root_of(physics, group->members.at[i]) != root_of(physics, group->members.at[0]);
		if (!loose)
			group->loose_since = 0;
		else if (!group->loose_since)
			group->loose_since = physics->step;
	}
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		struct group *group = &physics->groups.at[g];
		if (group->loose_since && physics->step - group->loose_since >= PHYSICS_KEEP_STEPS)
			continue;
		physics->loose_groups += group->loose_since != 0;
		for (uint32_t i = 1; i < group->members.count; i++)
			join(physics, group->members.at[0], group->members.at[i]);
	}
}

/* Taken models ordered by (set, model): a counting sort, since a set is numbered by its lowest member. */
static void order_by_set(struct physics *physics)
{
	uint32_t count = physics->taken.count, at = 0;
	const uint32_t *taken = physics->taken.at;
	uint32_t *place = physics->place; /* at roots: first the size of the set, then where its next member goes */
	physics->order.count = 0;
	(void)vec_append(&physics->order, count);
	for (uint32_t i = 0; i < count; i++)
		place[taken[i]] = 0;
	for (uint32_t i = 0; i < count; i++)
		place[root_of(physics, taken[i])]++;
	for (uint32_t i = 0; i < count; i++) {
		if (root_of(physics, taken[i]) != taken[i])
			continue;
		uint32_t size = place[taken[i]];
		place[taken[i]] = at;
		at += size;
	}
	for (uint32_t i = 0; i < count; i++)
		physics->order.at[place[root_of(physics, taken[i])]++] = taken[i];
}

static bool same_group(const struct physics *physics, const uint32_t *members, uint32_t count)
{
	uint32_t index = physics->instances[members[0]]->group;
	if (index == SCENE_NONE || physics->groups.at[index].members.count != count)
		return false;
	return !memcmp(physics->groups.at[index].members.at, members, count * sizeof *members);
}

/* Two passes: first every group that changes is taken apart, then the new ones are built, so that no model is in two.
 */
static void rebuild_changed(struct physics *physics)
{
	const uint32_t *order = physics->order.at;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0, end; i < physics->taken.count; i = end) {
			uint32_t root = root_of(physics, order[i]);
			for (end = i + 1; end < physics->taken.count && root_of(physics, order[end]) == root;)
				end++;
			if (same_group(physics, order + i, end - i))
				continue;
			if (pass == 0) {
				for (uint32_t k = i; k < end; k++)
					if (physics->instances[order[k]]->group != SCENE_NONE)
						dissolve(physics, physics->instances[order[k]]->group);
			} else {
				uint32_t index = free_group(physics);
				struct group *group = &physics->groups.at[index];
				for (uint32_t k = i; k < end; k++)
					vec_push(&group->members, order[k]);
				build(physics, index);
			}
		}
	}
}

static bool pairs_changed(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count)
{
	if (pair_count == physics->pairs.count &&
		(!pair_count || !memcmp(pairs, physics->pairs.at, pair_count * sizeof *pairs)))
		return false;
	physics->pairs.count = 0;
	for (uint32_t i = 0; i < pair_count; i++)
		vec_push(&physics->pairs, pairs[i]);
	return true;
}

static bool some_group_expired(const struct physics *physics)
{
	if (!physics->loose_groups)
		return false;
	for (uint32_t g = 0; g < physics->groups.count; g++)
		if (physics->groups.at[g].loose_since &&
			physics->step - physics->groups.at[g].loose_since >= PHYSICS_KEEP_STEPS)
			return true;
	return false;
}

/* The pairs in group order, so that each group finds its own. */
static void deal_pairs(struct physics *physics)
{
	for (uint32_t g = 0; g < physics->groups.count; g++)
		physics->groups.at[g].pair_count = 0;
	for (uint32_t i = 0; i < physics->pairs.count; i++)
		physics->groups.at[physics->instances[physics->pairs.at[i].a]->group].pair_count++;
	uint32_t at = 0;
	for (uint32_t g = 0; g < physics->groups.count; g++) {
		physics->groups.at[g].pair_first = at;
		at += physics->groups.at[g].pair_count;
		physics->groups.at[g].pair_count = 0;
	}
	physics->grouped.count = 0;
	(void)vec_append(&physics->grouped, at);
	for (uint32_t i = 0; i < physics->pairs.count; i++) {
		struct group *group = &physics->groups.at[physics->instances[physics->pairs.at[i].a]->group];
		physics->grouped.at[group->pair_first + group->pair_count++] = physics->pairs.at[i];
	}
}

void group_update(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count)
{
	bool changed = pairs_changed(physics, pairs, pair_count) || physics->regroup;
	if (!changed && !some_group_expired(physics))
		return;
	physics->regroup = false;
	join_pairs(physics, pairs, pair_count);
	join_groups(physics);
	order_by_set(physics);
	rebuild_changed(physics);
	deal_pairs(physics);
}

void group_fini(struct group *group)
{
	vec_free(&group->members);
	vec_free(&group->world_joints);
	if (!group->world)
		return;
	dJointGroupDestroy(group->contacts);
	dWorldDestroy(group->world);
	dThreadingFreeImplementation(group->threading);
}
