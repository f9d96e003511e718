/* Where the ODE objects of a model lie: together in a block, which is empty again when the objects are destroyed; ODE's
 * other allocations go to the allocator that had them before. */
#include "physics/internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(ode_block, .timeout = 60);

enum { BYTES = 1024 };

static void begin(struct ode_block *block)
{
	struct troupe_error error = {0};
	cr_assert_eq(physics_init_process(&error), TROUPE_OK, "%s", error.text);
	*block = (struct ode_block){.memory = mem_alloc_lines(BYTES), .bytes = BYTES};
}

static bool is_in(const struct ode_block *block, const void *at)
{
	return (const char *)at >= block->memory && (const char *)at < block->memory + block->bytes;
}

Test(ode_block, holds_what_is_made_while_it_is_open)
{
	struct ode_block block;
	begin(&block);
	char *before = dAlloc(40);
	ode_block_open(&block);
	char *a = dAlloc(40), *b = dAlloc(8), *large = dAlloc(BYTES);
	cr_assert_not(is_in(&block, before));
	cr_assert_eq(a, block.memory);
	cr_assert_eq(b, block.memory + 48, "objects are aligned as ODE aligns them");
	cr_assert_not(is_in(&block, large), "an object that does not fit is in the block");
	memset(a, 1, 40);
	memset(large, 1, BYTES);
	dFree(before, 40);
	dFree(large, BYTES);
	dFree(a, 40);
	cr_assert_eq(block.live, 1);
	dFree(b, 8);
	cr_assert_eq(block.live, 0);
	cr_assert_eq(block.used, 0, "the whole block is free again");
	a = dAlloc(BYTES);
	cr_assert_eq(a, block.memory);
	ode_block_close();
	b = dAlloc(8);
	cr_assert_not(is_in(&block, b));
	dFree(b, 8);
	free(block.memory);
}

Test(ode_block, what_grows_keeps_its_content)
{
	struct ode_block block;
	begin(&block);
	char *outside = dAlloc(3);
	memcpy(outside, "ab", 3);
	ode_block_open(&block);
	char *inside = dAlloc(3);
	memcpy(inside, "cd", 3);
	outside = dRealloc(outside, 3, 2 * BYTES);
	cr_assert_str_eq(outside, "ab");
	inside = dRealloc(inside, 3, 100);
	cr_assert_str_eq(inside, "cd");
	cr_assert(is_in(&block, inside));
	inside = dRealloc(inside, 100, 2 * BYTES);
	cr_assert_str_eq(inside, "cd");
	cr_assert_not(is_in(&block, inside));
	cr_assert_eq(block.live, 0);
	dFree(outside, 2 * BYTES);
	dFree(inside, 2 * BYTES);
	ode_block_close();
	free(block.memory);
}

/* With the installed ODE: if ODE kept a part of one object for other objects, the check at start-up would have found
 * it. */
Test(ode_block, takes_bodies_joints_and_geoms)
{
	struct ode_block block;
	begin(&block);
	struct ode_block_bytes bytes = ode_block_bytes();
	cr_assert(bytes.geom && bytes.body && bytes.joint);
	free(block.memory);
	size_t all = 2 * bytes.body + 2 * bytes.geom + bytes.joint;
	block = (struct ode_block){.memory = mem_alloc_lines(all), .bytes = all};
	dWorldID world = dWorldCreate();
	for (int round = 0; round < 3; round++) {
		ode_block_open(&block);
		dGeomID geoms[] = {dCreateBox(0, 1, 1, 1), dCreateBox(0, 1, 1, 1)};
		dBodyID bodies[] = {dBodyCreate(world), dBodyCreate(world)};
		dGeomSetBody(geoms[0], bodies[0]);
		dGeomSetBody(geoms[1], bodies[1]);
		dGeomSetOffsetPosition(geoms[1], 1, 2, 3);
		dJointID joint = dJointCreateHinge(world, 0);
		dJointAttach(joint, bodies[0], bodies[1]);
		cr_assert(is_in(&block, geoms[1]));
		cr_assert(is_in(&block, bodies[1]));
		cr_assert(is_in(&block, joint));
		cr_assert_eq(block.used, all, "used %zu of %zu", block.used, all);
		dJointDestroy(joint);
		dBodyDestroy(bodies[0]);
		dBodyDestroy(bodies[1]);
		dGeomDestroy(geoms[0]);
		dGeomDestroy(geoms[1]);
		ode_block_close();
		cr_assert_eq(block.live, 0);
	}
	dWorldDestroy(world);
	free(block.memory);
}

static int allocated, reallocated, freed;

static void *own_allocate(size_t bytes)
{
	allocated++;
	return malloc(bytes);
}

static void *own_reallocate(void *at, size_t before, size_t bytes)
{
	(void)before;
	reallocated++;
	return realloc(at, bytes);
}

static void own_free(void *at, size_t bytes)
{
	(void)bytes;
	freed++;
	free(at);
}

Test(ode_block, leaves_the_rest_to_the_program)
{
	struct ode_block block;
	dSetAllocHandler(own_allocate);
	dSetReallocHandler(own_reallocate);
	dSetFreeHandler(own_free);
	void *early = dAlloc(100);
	begin(&block);
	int allocated_before = allocated, freed_before = freed;
	ode_block_open(&block);
	void *inside = dAlloc(100);
	cr_assert_eq(allocated, allocated_before);
	dFree(inside, 100);
	cr_assert_eq(freed, freed_before);
	void *outside = dAlloc(2 * BYTES);
	cr_assert_eq(allocated, allocated_before + 1);
	outside = dRealloc(outside, 2 * BYTES, 3 * BYTES);
	cr_assert_eq(reallocated, 1);
	dFree(outside, 3 * BYTES);
	dFree(early, 100);
	cr_assert_eq(freed, freed_before + 2);
	ode_block_close();
	free(block.memory);
}
