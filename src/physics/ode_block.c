/* The ODE objects of one model lie together, in memory that its instance provides.
 *
 * ODE allocates each object by itself, and the objects of models that come and go spread over the whole heap: a crowd
 * in which robots are handed over all the time became some 10 % slower that way. Objects that are made while a block
 * is open go into the block, one after the other; when the last object in it is destroyed, the block is empty again.
 * All other memory comes from ODE's own allocator, or the one that the program set, as before. */
#include "physics/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* ODE reuses the places of geoms (a position and a rotation) for other geoms, on any thread */
	PLACE_BYTES = 16 * sizeof(dReal),
	MEASURED_MAX = 1 << 16, /* more than all objects of the measurement take */
};

/* The program's allocator; NULL: not set. */
static dAllocFunction *ode_block_allocate_else;
static dReallocFunction *ode_block_reallocate_else;
static dFreeFunction *ode_block_free_else;
static struct ode_block_bytes ode_block_bytes_of;
static _Thread_local struct ode_block *ode_block_current;

static bool ode_block_is_inside(const struct ode_block *block, const void *at)
{
	return block && (const char *)at >= block->memory && (const char *)at < block->memory + block->bytes;
}

/* ODE uses allocated memory without a check for NULL. */
static void *ode_block_or_run_out(void *memory, size_t bytes)
{
	if (!memory && bytes)
		mem_run_out(bytes);
	return memory;
}

static void *ode_block_allocate(size_t bytes)
{
	struct ode_block *block = ode_block_current;
	size_t whole = ode_aligned(bytes);
	if (!block || bytes == PLACE_BYTES || whole > block->bytes - block->used) {
		void *at = ode_block_or_run_out(
			ode_block_allocate_else ? ode_block_allocate_else(bytes) : malloc(bytes), bytes);
		if (ode_is_guarded())
			ode_abandon(at); /* after a longjmp, only the abandoned stack knew this memory */
		return at;
	}
	void *at = block->memory + block->used;
	block->used += whole;
	block->live++;
	return at;
}

static void ode_block_release(void *at, size_t bytes)
{
	if (ode_block_is_inside(ode_block_current, at)) {
		if (!--ode_block_current->live)
			ode_block_current->used = 0;
	} else if (ode_block_free_else) {
		ode_block_free_else(at, bytes);
	} else {
		free(at);
	}
}

static void *ode_block_reallocate(void *at, size_t before, size_t bytes)
{
	if (!ode_block_is_inside(ode_block_current, at))
		return ode_block_or_run_out(
			ode_block_reallocate_else ? ode_block_reallocate_else(at, before, bytes) : realloc(at, bytes),
			bytes);
	void *moved = ode_block_allocate(bytes);
	memcpy(moved, at, MIN(before, bytes));
	ode_block_release(at, before);
	return moved;
}

void ode_block_open(struct ode_block *block)
{
	ode_block_current = block;
}

void ode_block_close(void)
{
	ode_block_current = NULL;
}

struct ode_block_bytes ode_block_bytes(void)
{
	return ode_block_bytes_of;
}

/* --- start-up --------------------------------------------------------------------------------------------------- */

/* Makes and destroys one object of each kind. All memory must be given back; if not, this ODE keeps parts of
 * destroyed objects for other objects, and no object can be put into a block. */
static struct ode_block_bytes ode_block_sizes(void)
{
	struct ode_block block = {.memory = mem_alloc(MEASURED_MAX), .bytes = MEASURED_MAX};
	struct ode_block_bytes bytes;
	dWorldID world = dWorldCreate();
	ode_block_open(&block);
	dGeomID geom = dCreateBox(0, 1, 1, 1);
	bytes.geom = block.used;
	dBodyID body = dBodyCreate(world);
	bytes.body = block.used - bytes.geom;
	dGeomSetBody(geom, body);
	dJointID joint = dJointCreateHinge(world, 0);
	dJointAttach(joint, body, 0);
	bytes.joint = block.used - bytes.geom - bytes.body;
	dJointDestroy(joint);
	dBodyDestroy(body);
	dGeomDestroy(geom);
	ode_block_close();
	dWorldDestroy(world);
	if (block.live)
		return (struct ode_block_bytes){0}; /* the parts that it keeps may stay in the block for ever */
	free(block.memory);
	return bytes;
}

void ode_block_init(void)
{
	ode_block_allocate_else = dGetAllocHandler();
	ode_block_reallocate_else = dGetReallocHandler();
	ode_block_free_else = dGetFreeHandler();
	dSetAllocHandler(ode_block_allocate);
	dSetReallocHandler(ode_block_reallocate);
	dSetFreeHandler(ode_block_release);
}

void ode_block_measure(void)
{
	ode_block_bytes_of = ode_block_sizes();
}
