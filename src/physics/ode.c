/* ODE and the process: start-up, replaced random numbers, and recovery from ODE's fatal errors. */
#include "physics/internal.h"

#include "base/hash.h"
#include "base/math.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#ifdef ODE_IS_PRIVATE
FILE *ode_stdout, *ode_stderr; /* what ODE says when it has no handler: see private_ode */
#endif

static _Thread_local bool ode_random_broken;
static _Thread_local uint32_t ode_random_key;
static _Atomic uint32_t ode_shared_seed = 1;

/* QuickStep reorders its rows at random. ODE's own dRandInt() draws from one seed for the whole process, so the result
 * of a world would depend on the other worlds stepped. This one is a stateless function of n and the seed of the run:
 * the order of the rows of an island depends on their number and the seed alone. The step is no part of the key, so
 * state k+1 is a function of state k and the seed. */
int ode_random(int n)
{
	if (n <= 0)
		return 0;
	if (ode_random_broken) {
		uint32_t seed = atomic_load(&ode_shared_seed) * 1664525u + 1013904223u;
		atomic_store(&ode_shared_seed, seed);
		return (int)(seed % (uint32_t)n);
	}
	return (int)(((uint64_t)((uint32_t)n * 2654435761u + ode_random_key) * (uint64_t)n) >> 32);
}

void ode_set_random(uint64_t seed, bool broken)
{
	ode_random_key = seed ? (uint32_t)hash_mix(seed, 1) : 0; /* seed 0 gives the bits of versions without seeds */
	ode_random_broken = broken;
}

/* --- fatal errors ----------------------------------------------------------------------------------------------- */

static _Thread_local jmp_buf *ode_guard_jump;
static _Thread_local char ode_guard_message[256];

static void ode_on_fatal(int number, const char *format, va_list args)
{
	(void)number;
	vsnprintf(ode_guard_message, sizeof ode_guard_message, format, args);
	if (ode_guard_jump)
		longjmp(*ode_guard_jump, 1);
	abort(); /* outside a step: a programmer's error */
}

static _Thread_local bool ode_solver_lost;

/* The exact solver reports its failure this way ("LCP internal error") and goes on without the forces that are
 * missing. */
static void ode_on_message(int number, const char *format, va_list args)
{
	(void)number, (void)args;
	ode_solver_lost |= !strncmp(format, "LCP", 3);
}

bool ode_take_lost(void)
{
	bool lost = ode_solver_lost;
	ode_solver_lost = false;
	return lost;
}

bool ode_is_guarded(void)
{
	return ode_guard_jump != NULL;
}

/* Keeps a pointer for good, so that AddressSanitizer reports no leak. */
void ode_abandon(const void *object)
{
#ifdef __SANITIZE_ADDRESS__
	__lsan_ignore_object(object);
#else
	(void)object;
#endif
}

bool ode_guard(void (*fn)(void *ctx), void *ctx, char *ret_message, size_t bytes)
{
	jmp_buf here;
	jmp_buf *volatile before = ode_guard_jump;
	if (setjmp(here)) {
		ode_guard_jump = before;
		ode_block_close(); /* fn may have left one open */
		snprintf(ret_message, bytes, "%s", ode_guard_message);
		return false;
	}
	ode_guard_jump = &here;
	fn(ctx);
	ode_guard_jump = before;
	return true;
}

struct ode_kept ode_keep(void)
{
	struct ode_kept kept = {ode_guard_jump, ode_random_key, ode_random_broken, ode_solver_lost};
	ode_guard_jump = NULL;
	return kept;
}

void ode_restore(const struct ode_kept *kept)
{
	ode_guard_jump = kept->jump;
	ode_random_key = kept->random_key;
	ode_random_broken = kept->random_broken;
	ode_solver_lost = kept->solver_lost;
}

/* --- working memory ----------------------------------------------------------------------------------------------- */

static pthread_mutex_t ode_memory_lock = PTHREAD_MUTEX_INITIALIZER; /* protects ODE's reference counts of memories */

/* The first world that steps in a memory makes its synchronization objects there, and these must not outlive that
 * world. So each memory has a world of its own. */
struct ode_memory *ode_memory_create(void)
{
	struct ode_memory *memory = mem_alloc(sizeof *memory);
	memory->ode_world = dWorldCreate();
	memory->threading = dThreadingAllocateSelfThreadedImplementation();
	dWorldSetStepThreadingImplementation(
		memory->ode_world, dThreadingImplementationGetFunctions(memory->threading), memory->threading);
	dBodyCreate(memory->ode_world);
	dWorldStep(memory->ode_world, 0.001);
	return memory;
}

void ode_memory_destroy(struct ode_memory *memory)
{
	ode_destroy_world(memory->ode_world);
	dThreadingFreeImplementation(memory->threading);
	free(memory);
}

void ode_lend_memory(dWorldID ode_world, const struct ode_memory *memory)
{
	pthread_mutex_lock(&ode_memory_lock);
	dWorldUseSharedWorkingMemory(ode_world, NULL); /* the memory that it shared so far */
	dWorldUseSharedWorkingMemory(ode_world, memory->ode_world);
	pthread_mutex_unlock(&ode_memory_lock);
}

void ode_destroy_world(dWorldID ode_world)
{
	pthread_mutex_lock(&ode_memory_lock);
	dWorldDestroy(ode_world);
	pthread_mutex_unlock(&ode_memory_lock);
}

/* --- start-up --------------------------------------------------------------------------------------------------- */

static bool ode_keeps_known; /* set once, at start-up: this ODE sums squares as ode_is_normal() does */

static bool ode_is_normal(struct quat q)
{
	double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
	return square == 1 || square == 1 + DBL_EPSILON; /* squares whose root rounds to 1 */
}

bool ode_keeps_quaternion(struct quat q)
{
	return ode_keeps_known && ode_is_normal(q);
}

/* ODE may add in another order or with fused products; then it keeps other quaternions. */
static bool ode_normalises_as_here(void)
{
	enum { TRIES = 256 };
	dWorldID world = dWorldCreate();
	dBodyID body = dBodyCreate(world);
	bool same = true;
	for (int i = 1; i <= TRIES; i++) {
		double angle = i; /* any angle without special digits will do */
		dQuaternion q = {math_sin(angle), math_sin(2 * angle), math_sin(3 * angle) + 2, math_sin(5 * angle)},
			    once;
		dBodySetQuaternion(body, q);
		memcpy(once, dBodyGetQuaternion(body), sizeof once);
		dBodySetQuaternion(body, once);
		bool kept = !memcmp(once, dBodyGetQuaternion(body), sizeof once);
		same = same && kept == ode_is_normal(quat_from(once));
	}
	dWorldDestroy(world);
	return same;
}

static troupe_status ode_init_status;
static struct troupe_error ode_init_error;

static void ode_init_once(void)
{
#ifdef ODE_IS_PRIVATE
	ode_stdout = stdout;
	ode_stderr = stderr;
#endif
	ode_block_init(); /* first: dInitODE2() allocates, too */
	dInitODE2(0);
	dSetErrorHandler(ode_on_fatal);
	dSetDebugHandler(ode_on_fatal);
	dSetMessageHandler(ode_on_message);
	dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
	ode_block_measure();
	ode_keeps_known = ode_normalises_as_here();
	if (!dCheckConfiguration("ODE_double_precision"))
		ode_init_status = fail(
			&ode_init_error, TROUPE_EINTERNAL, "this libode works in single precision; expected double");
#ifndef ODE_IS_PRIVATE
	else
		ode_init_status = ode_shared_check(&ode_init_error);
#endif
}

troupe_status physics_init_process(struct troupe_error *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, ode_init_once);
	if (ode_init_status && error)
		*error = ode_init_error;
	return ode_init_status;
}

void physics_thread_begin(void)
{
	dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
}
