/* The program's malloc(). When memory runs out a run cannot go on, but only our own code says so (base/base.h): ODE and
 * libxml2 use what they did not get, liburcu aborts, C++ throws an exception through C. So the program defines the
 * functions by which all of them get memory, and looks at what comes back. This is how glibc wants malloc() to be
 * replaced. The memory comes from where it would have come from: glibc, or a library that is preloaded.
 *
 * A reader of hostile files may be asked for any amount, and knows what to do when that is refused: see
 * mem_refuse_above().
 *
 * Left out in builds with a sanitizer, which has a malloc() of its own. Not in the library: the malloc() of a program
 * that uses it is that program's matter. */
#include "base/base.h"

#include <features.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

/* Those that would have been called without these; until they are known, and while dlsym() itself wants memory,
 * glibc's. Found by the first call, before there is a second thread. */
static struct {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t count, size_t bytes);
	void *(*realloc)(void *old, size_t bytes);
	void *(*aligned_alloc)(size_t alignment, size_t bytes);
	void *(*memalign)(size_t alignment, size_t bytes);
} next = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_memalign, __libc_memalign};
static bool known;

static void find(const char *name, void *ret_function)
{
	void *found = dlsym(RTLD_NEXT, name);
	if (found)
		*(void **)ret_function = found;
}

static void find_all(void)
{
	if (known)
		return;
	known = true;
	find("malloc", &next.malloc);
	find("calloc", &next.calloc);
	find("realloc", &next.realloc);
	find("aligned_alloc", &next.aligned_alloc);
	find("memalign", &next.memalign);
}

static void *or_run_out(void *memory, size_t bytes)
{
	if (!memory && !mem_is_refusable(bytes))
		mem_run_out(bytes);
	return memory;
}

/* These names are the C library's. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define OURS __attribute__((visibility("default")))

OURS void *malloc(size_t bytes)
{
	find_all();
	return or_run_out(next.malloc(bytes), bytes);
}

OURS void *calloc(size_t count, size_t bytes)
{
	size_t all;
	find_all();
	bool fits = !__builtin_mul_overflow(count, bytes, &all);
	return or_run_out(next.calloc(count, bytes), fits ? all : SIZE_MAX);
}

OURS void *realloc(void *old, size_t bytes)
{
	find_all();
	void *memory = next.realloc(old, bytes);
	return bytes ? or_run_out(memory, bytes) : memory; /* none is what was asked for */
}

OURS void *aligned_alloc(size_t alignment, size_t bytes)
{
	find_all();
	return or_run_out(next.aligned_alloc(alignment, bytes), bytes);
}

OURS void *memalign(size_t alignment, size_t bytes)
{
	find_all();
	return or_run_out(next.memalign(alignment, bytes), bytes);
}

OURS int posix_memalign(void **ret_memory, size_t alignment, size_t bytes)
{
	if (!alignment || alignment % sizeof(void *) || alignment & (alignment - 1))
		return EINVAL;
	void *memory = memalign(alignment, bytes);
	if (!memory)
		return ENOMEM;
	*ret_memory = memory;
	return 0;
}

#endif
