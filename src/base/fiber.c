/* makecontext() makes the stack; from then on setjmp() and longjmp() switch, because swapcontext() sets the signal
 * mask: two system calls, a tenth of a robot's step. The signal mask is the thread's. Sanitizers are told of each
 * switch, and follow swapcontext() only. */
#undef _FORTIFY_SOURCE /* its longjmp() refuses to leave for another stack */
#include "base/fiber.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FIBER_IS_FOLLOWED 1
#else
#define FIBER_IS_FOLLOWED 0
#endif

#define FIBER_STACK_BYTES ((size_t)8 << 20)

struct fiber {
	void (*fn)(void *ctx);
	void *ctx;
	unsigned char *stack; /* with the page below it */
	size_t bytes, page;
	bool busy;  /* fn has begun and not returned */
	bool begun; /* its stack is in use */
#if FIBER_IS_FOLLOWED
	ucontext_t inside, outside;
	void *followed, *outside_followed; /* ThreadSanitizer: a fiber; AddressSanitizer: a stack that was left */
	const void *outside_stack;         /* AddressSanitizer: of the thread */
	size_t outside_bytes;
#else
	jmp_buf inside, outside;
#endif
};

static _Thread_local struct fiber *fiber_now;

/* --- switches ----------------------------------------------------------------------------------------------------- */

static void fiber_main(void);

/* With the signal mask and the floating-point mode that the thread has now: the first entry sets them. */
static void fiber_make_context(const struct fiber *fiber, ucontext_t *context)
{
	(void)getcontext(context);
	context->uc_stack.ss_sp = fiber->stack + fiber->page;
	context->uc_stack.ss_size = fiber->bytes - fiber->page;
	context->uc_link = NULL;
	makecontext(context, fiber_main, 0);
}

#if FIBER_IS_FOLLOWED

static void fiber_enter(struct fiber *fiber)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(
		&fiber->outside_followed, fiber->stack + fiber->page, fiber->bytes - fiber->page);
#else
	fiber->outside_followed = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(fiber->followed, 0);
#endif
	if (!fiber->begun)
		fiber_make_context(fiber, &fiber->inside);
	fiber->begun = true;
	(void)swapcontext(&fiber->outside, &fiber->inside);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fiber->outside_followed, NULL, NULL);
#endif
}

static void fiber_leave(struct fiber *fiber)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&fiber->followed, fiber->outside_stack, fiber->outside_bytes);
#else
	__tsan_switch_to_fiber(fiber->outside_followed, 0);
#endif
	(void)swapcontext(&fiber->inside, &fiber->outside);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fiber->followed, &fiber->outside_stack, &fiber->outside_bytes);
#endif
}

#else

static void fiber_enter(struct fiber *fiber)
{
	ucontext_t first;
	if (_setjmp(fiber->outside))
		return;
	if (fiber->begun)
		_longjmp(fiber->inside, 1);
	fiber->begun = true;
	fiber_make_context(fiber, &first);
	(void)setcontext(&first);
	abort();
}

static void fiber_leave(struct fiber *fiber)
{
	if (!_setjmp(fiber->inside))
		_longjmp(fiber->outside, 1);
}

#endif

static void fiber_main(void)
{
	struct fiber *fiber = fiber_now;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &fiber->outside_stack, &fiber->outside_bytes);
#endif
	for (;;) {
		fiber->fn(fiber->ctx);
		fiber->busy = false;
		fiber_leave(fiber);
	}
}

/* --- the interface ------------------------------------------------------------------------------------------------ */

struct fiber *fiber_create(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page + FIBER_STACK_BYTES;
	void *stack = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return NULL;
	if (mprotect(stack, page, PROT_NONE)) {
		(void)munmap(stack, bytes);
		return NULL;
	}
	(void)madvise(stack, bytes, MADV_NOHUGEPAGE); /* some pages of it are used */
	struct fiber *fiber = mem_alloc(sizeof *fiber);
	fiber->stack = stack;
	fiber->bytes = bytes;
	fiber->page = page;
#ifdef __SANITIZE_THREAD__
	fiber->followed = __tsan_create_fiber(0);
#endif
	return fiber;
}

void fiber_destroy(struct fiber *fiber)
{
	if (!fiber)
		return;
#ifdef __SANITIZE_THREAD__
	__tsan_destroy_fiber(fiber->followed);
#endif
	(void)munmap(fiber->stack, fiber->bytes);
	free(fiber);
}

bool fiber_resume(struct fiber *fiber, void (*fn)(void *ctx), void *ctx)
{
	if (!fiber->busy) {
		fiber->fn = fn;
		fiber->ctx = ctx;
		fiber->busy = true;
	}
	fiber_now = fiber;
	fiber_enter(fiber);
	fiber_now = NULL;
	return !fiber->busy;
}

void fiber_yield(void)
{
	fiber_leave(fiber_now);
}
