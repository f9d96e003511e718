/* For builds without a libode.a that can be a part of libtroupe: ODE is libode.so, which the process shares.
 *
 * Its dRandInt() must be ours here, too. The dynamic linker takes the first definition that it finds in the libraries
 * in the order in which they were loaded. So libtroupe exports one, and a check at start-up sees whether ODE calls it.
 */
#include "physics/internal.h"

static _Thread_local uint64_t ode_shared_random_calls;

TROUPE_API int dRandInt(int n);
int dRandInt(int n)
{
	ode_shared_random_calls++;
	return ode_random(n);
}

/* Two bodies on two hinges give QuickStep rows to reorder, for which it must call dRandInt(). */
static bool ode_shared_random_is_replaced(void)
{
	uint64_t before = ode_shared_random_calls;
	dWorldID world = dWorldCreate();
	dThreadingImplementationID threading = dThreadingAllocateSelfThreadedImplementation();
	dWorldSetStepThreadingImplementation(world, dThreadingImplementationGetFunctions(threading), threading);
	dBodyID a = dBodyCreate(world), b = dBodyCreate(world);
	dBodySetPosition(b, 1, 0, 0);
	dJointID j = dJointCreateHinge(world, 0);
	dJointAttach(j, a, b);
	dJointID k = dJointCreateBall(world, 0);
	dJointAttach(k, a, 0);
	dWorldQuickStep(world, 0.001);
	dWorldDestroy(world);
	dThreadingFreeImplementation(threading);
	return ode_shared_random_calls != before;
}

troupe_status ode_shared_check(struct troupe_error *error)
{
	return ode_shared_random_is_replaced()
		       ? TROUPE_OK
		       : fail(error, TROUPE_EINTERNAL,
				 "libode's dRandInt() is not replaced, so results would depend on other code (is "
				 "libode loaded before libtroupe?): expected libtroupe to be linked first");
}
