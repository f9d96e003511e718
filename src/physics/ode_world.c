/* ODE worlds: which groups are stepped in which of them.
 *
 * A call of ODE has a fixed cost beside the work on islands, and all groups in the ODE world share it: 8 robots
 * in one save some 5 % of a step. A group of more than one model has an ODE world of its own, since it changes with the
 * contacts of its models; so has a large group. Other groups share one while there is room. No group is moved from
 * one to another: a group that leaves makes room for the next. Sharing changes no bit, since no island spans
 * two groups. */
#include "physics/internal.h"

#include <string.h>

enum {
	BODIES_MAX = 32,              /* of small groups in one ODE world */
	BODIES_MAX_WITHOUT_ODE = 128, /* the same where lanes are to be filled; more bodies leave the caches */
	PARTS = 32,                   /* a shared step should have at least so many ODE worlds */
	BODIES_LANES = 32,            /* but lanes should be filled: small robots on each of eight */
	LANES_FILLED = 8,             /* as many groups as the widest lanes hold */
};

static void ode_world_set_up(const struct physics *physics, struct ode_world *ode_world)
{
	const struct sdf_physics *profile = &physics->scene->sdf->physics;
	const struct vec3 g = physics->scene->gravity;
	ode_world->id = dWorldCreate();
	ode_world->threading = dThreadingAllocateSelfThreadedImplementation();
	/* the process shares the default threading object, and two threads that step two ODE worlds abort in it */
	dWorldSetStepThreadingImplementation(
		ode_world->id, dThreadingImplementationGetFunctions(ode_world->threading), ode_world->threading);
	ode_world->memory = NULL;
	dWorldSetGravity(ode_world->id, g.x, g.y, g.z);
	dWorldSetERP(ode_world->id, profile->erp);
	dWorldSetCFM(ode_world->id, MAX(profile->cfm, PHYSICS_CFM_MIN));
	dWorldSetQuickStepNumIterations(ode_world->id, (int)profile->iterations);
	dWorldSetQuickStepW(ode_world->id, profile->sor);
	dWorldSetContactSurfaceLayer(ode_world->id, 0); /* contact.c handles depth and correcting velocity itself */
	dWorldSetDamping(ode_world->id, 0, 0);
	dWorldSetLinearDampingThreshold(ode_world->id, 0);
	dWorldSetAngularDampingThreshold(ode_world->id, 0);
}

void ode_world_make_anew(struct physics *physics, struct ode_world *ode_world)
{
	ode_abandon(ode_world->id);
	ode_abandon(ode_world->threading);
	ode_world_set_up(physics, ode_world);
}

/* A step that other threads work on must not have too few ODE worlds. */
static uint32_t ode_world_room(const struct physics *physics)
{
	uint32_t most = physics->options.ode ? BODIES_MAX : BODIES_MAX_WITHOUT_ODE;
	uint32_t least = physics->options.ode ? 0 : BODIES_LANES;
	return physics->shared ? MIN(MAX(physics->taken_bodies / PARTS, least), most) : most;
}

static uint32_t ode_world_empty(struct physics *physics)
{
	if (physics->free_ode_worlds.count)
		return physics->free_ode_worlds.at[--physics->free_ode_worlds.count];
	vec_push(&physics->ode_worlds, (struct ode_world){0});
	return physics->ode_worlds.count - 1;
}

dWorldID ode_world_id(struct physics *physics, uint32_t index)
{
	struct ode_world *ode_world = &physics->ode_worlds.at[index];
	if (!ode_world->id)
		ode_world_set_up(physics, ode_world);
	return ode_world->id;
}

static void ode_world_open(struct physics *physics, uint32_t index)
{
	physics->ode_worlds.at[index].open = true;
	vec_push(&physics->open_ode_worlds, index);
}

/* Lanes that have begun to be filled are filled, so that few islands are left over: of small groups, because a world is
 * one task for a thread. */
static bool ode_world_has_room(const struct physics *physics, const struct ode_world *ode_world, uint32_t bodies)
{
	const uint32_t together = ode_world->bodies + bodies;
	const bool small = LANES_FILLED * bodies <= ode_world_room(physics);
	const bool fills = !physics->options.ode && small && ode_world->groups.count % LANES_FILLED;
	return together <= ode_world_room(physics) || (fills && together <= BODIES_MAX_WITHOUT_ODE);
}

/* A full ODE world is tried again when a group leaves it. */
static uint32_t ode_world_with_room(struct physics *physics, uint32_t bodies)
{
	uint32_t kept = physics->open_ode_worlds.count;
	for (uint32_t i = physics->open_ode_worlds.count; i-- > 0;) {
		uint32_t index = physics->open_ode_worlds.at[i];
		if (physics->ode_worlds.at[index].ahead)
			continue;
		if (ode_world_has_room(physics, &physics->ode_worlds.at[index], bodies))
			return index;
		physics->ode_worlds.at[index].open = false;
		memmove(physics->open_ode_worlds.at + i, physics->open_ode_worlds.at + i + 1,
			(--kept - i) * sizeof *physics->open_ode_worlds.at);
		physics->open_ode_worlds.count = kept;
	}
	uint32_t index = ode_world_empty(physics);
	ode_world_open(physics, index);
	return index;
}

static uint32_t ode_world_count_bodies(const struct physics *physics, const struct group *group)
{
	uint32_t bodies = 0;
	for (uint32_t i = 0; i < group->members.count; i++)
		bodies += physics->scene->models[group->members.at[i]].body_count;
	return bodies;
}

void ode_world_enter(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	group->bodies = ode_world_count_bodies(physics, group);
	bool small = group->members.count == 1 && group->bodies * 2 <= ode_world_room(physics);
	group->ode_world = small ? ode_world_with_room(physics, group->bodies) : ode_world_empty(physics);
	struct ode_world *ode_world = &physics->ode_worlds.at[group->ode_world];
	ode_world->bodies += group->bodies;
	vec_push(&ode_world->groups, index);
}

void ode_world_leave(struct physics *physics, uint32_t index)
{
	const struct group *group = &physics->groups.at[index];
	struct ode_world *ode_world = &physics->ode_worlds.at[group->ode_world];
	uint32_t i = 0, kept = 0;
	for (; i < ode_world->groups.count; i++)
		if (ode_world->groups.at[i] != index)
			ode_world->groups.at[kept++] = ode_world->groups.at[i];
	ode_world->groups.count = kept;
	ode_world->bodies -= group->bodies;
	if (ode_world->open)
		return;
	if (kept)
		ode_world_open(physics, group->ode_world);
	else
		vec_push(&physics->free_ode_worlds, group->ode_world);
}

void ode_world_fini(struct ode_world *ode_world)
{
	vec_free(&ode_world->groups);
	if (!ode_world->id)
		return;
	ode_destroy_world(ode_world->id);
	dThreadingFreeImplementation(ode_world->threading);
}
