/* ODE worlds: which groups are stepped in which world.
 *
 * A call of ODE has a fixed cost beside the work on islands, and all groups in the world share it: 8 robots in one
 * world save some 5 % of a step. A group of more than one model has a world of its own, since it changes with the
 * contacts of its models; so has a large group. Other groups share worlds while there is room. No group is moved from
 * one world to another: a group that leaves makes room for the next. Sharing changes no bit, since no island spans
 * two groups. */
#include "physics/internal.h"

enum {
	BODIES_MAX = 32, /* of small groups in one world */
	PARTS = 32,      /* a shared step should have at least this many worlds */
};

static void set_up_world(const struct physics *physics, struct ode_world *world)
{
	const struct sdf_physics *profile = &physics->scene->sdf->physics;
	const struct vec3 g = physics->scene->gravity;
	world->id = dWorldCreate();
	world->threading = dThreadingAllocateSelfThreadedImplementation();
	/* the process shares the default threading object, and two threads that step two worlds abort in it */
	dWorldSetStepThreadingImplementation(
		world->id, dThreadingImplementationGetFunctions(world->threading), world->threading);
	world->memory = NULL;
	dWorldSetGravity(world->id, g.x, g.y, g.z);
	dWorldSetERP(world->id, profile->erp);
	dWorldSetCFM(world->id, MAX(profile->cfm, PHYSICS_CFM_MIN));
	dWorldSetQuickStepNumIterations(world->id, (int)profile->iterations);
	dWorldSetQuickStepW(world->id, profile->sor);
	dWorldSetContactSurfaceLayer(world->id, 0); /* contact.c handles depth and correcting velocity itself */
	dWorldSetDamping(world->id, 0, 0);
	dWorldSetLinearDampingThreshold(world->id, 0);
	dWorldSetAngularDampingThreshold(world->id, 0);
}

void ode_world_make_anew(struct physics *physics, struct ode_world *world)
{
	ode_abandon(world->id);
	ode_abandon(world->threading);
	set_up_world(physics, world);
}

/* A step that other threads work on must not have too few worlds. */
static uint32_t room(const struct physics *physics)
{
	return physics->shared ? MIN(physics->taken_bodies / PARTS, BODIES_MAX) : BODIES_MAX;
}

static uint32_t empty_world(struct physics *physics)
{
	if (physics->free_worlds.count)
		return physics->free_worlds.at[--physics->free_worlds.count];
	vec_push(&physics->worlds, (struct ode_world){0});
	set_up_world(physics, &physics->worlds.at[physics->worlds.count - 1]);
	return physics->worlds.count - 1;
}

static void open_world(struct physics *physics, uint32_t index)
{
	physics->worlds.at[index].open = true;
	vec_push(&physics->open_worlds, index);
}

/* A full world is tried again when a group leaves it. */
static uint32_t world_with_room(struct physics *physics, uint32_t bodies)
{
	for (; physics->open_worlds.count; physics->open_worlds.count--) {
		uint32_t index = physics->open_worlds.at[physics->open_worlds.count - 1];
		if (physics->worlds.at[index].bodies + bodies <= room(physics))
			return index;
		physics->worlds.at[index].open = false;
	}
	uint32_t index = empty_world(physics);
	open_world(physics, index);
	return index;
}

static uint32_t count_bodies(const struct physics *physics, const struct group *group)
{
	uint32_t bodies = 0;
	for (uint32_t i = 0; i < group->members.count; i++)
		bodies += physics->scene->models[group->members.at[i]].body_count;
	return bodies;
}

void ode_world_enter(struct physics *physics, uint32_t index)
{
	struct group *group = &physics->groups.at[index];
	group->bodies = count_bodies(physics, group);
	bool small = group->members.count == 1 && group->bodies * 2 <= room(physics);
	group->world = small ? world_with_room(physics, group->bodies) : empty_world(physics);
	struct ode_world *world = &physics->worlds.at[group->world];
	world->bodies += group->bodies;
	vec_push(&world->groups, index);
}

void ode_world_leave(struct physics *physics, uint32_t index)
{
	const struct group *group = &physics->groups.at[index];
	struct ode_world *world = &physics->worlds.at[group->world];
	uint32_t i = 0, kept = 0;
	for (; i < world->groups.count; i++)
		if (world->groups.at[i] != index)
			world->groups.at[kept++] = world->groups.at[i];
	world->groups.count = kept;
	world->bodies -= group->bodies;
	if (world->open)
		return;
	if (kept)
		open_world(physics, group->world);
	else
		vec_push(&physics->free_worlds, group->world);
}

void ode_world_fini(struct ode_world *world)
{
	vec_free(&world->groups);
	ode_destroy_world(world->id);
	dThreadingFreeImplementation(world->threading);
}
