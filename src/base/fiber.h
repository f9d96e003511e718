/* Fibers: functions that one thread runs in turn, each on a stack of its own. A fiber runs until it yields or its
 * function returns; then its thread goes on. So a function that yields in the middle of a deep call goes on there
 * later.
 *
 * Thread: one thread at a time uses a fiber, and one that has yielded is resumed by the same thread; fiber_yield() is
 * called on its own stack. Signal mask and floating-point mode are the thread's. Thread-local data are those of the
 * thread: code that changes them and yields must expect that other fibers have changed them since. A lock that another
 * fiber of the thread wants must not be held by one that yields. The stack has the size of a thread's, and a page below
 * it that cannot be accessed. */
#ifndef BASE_FIBER_H
#define BASE_FIBER_H

#include <stdbool.h>

struct fiber;

/* NULL: there is no memory for a stack. */
struct fiber *fiber_create(void);
/* Not while its function has yielded. NULL is fine. */
void fiber_destroy(struct fiber *fiber);

/* Begins fn(ctx), or goes on with it after it has yielded; then both arguments are not looked at. True: fn has
 * returned, and the fiber may begin another function. Not from a fiber. */
bool fiber_resume(struct fiber *fiber, void (*fn)(void *ctx), void *ctx);
/* Only from a fiber's function: returns when the fiber is resumed. */
void fiber_yield(void);

#endif
