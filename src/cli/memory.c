/* The program's malloc(). When memory runs out, a run cannot continue. Only our own code reports that (base/base.h):
 * ODE and libxml2 use the NULL pointer, liburcu aborts, and C++ throws an exception through C. So the program defines
 * the functions by which all of these allocate, and checks the results. This is glibc's documented way to replace
 * malloc(). The memory comes from the functions that would have been called: those of glibc, or of a preloaded
 * library.
 *
 * A reader of hostile files may be asked for any amount, and handles a refusal itself: see mem_refuse_above().
 *
 * Not in builds with a sanitizer, which has its own malloc(). Not in the library: a program that uses the library
 * chooses its own malloc(). */
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

/* The functions that would have been called without these. Before they are known, and while dlsym() itself allocates,
 * glibc's functions are used. The first call finds them, before there is a second thread. */
static struct {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t count, size_t bytes);
	void *(*realloc)(void *old, size_t bytes);
	void *(*aligned_alloc)(size_t alignment, size_t bytes);
	void *(*memalign)(size_t alignment, size_t bytes);
} memory_next = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_memalign, __libc_memalign};
static bool memory_known;

static void memory_find(const char *name, void *ret_function)
{
	void *found = dlsym(RTLD_NEXT, name);
	if (found)
		*(void **)ret_function = found;
}

static void memory_find_all(void)
{
	if (memory_known)
		return;
	memory_known = true;
	memory_find("malloc", &memory_next.malloc);
	memory_find("calloc", &memory_next.calloc);
	memory_find("realloc", &memory_next.realloc);
	memory_find("aligned_alloc", &memory_next.aligned_alloc);
	memory_find("memalign", &memory_next.memalign);
}

static void *memory_or_run_out(void *memory, size_t bytes)
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
	memory_find_all();
	return memory_or_run_out(memory_next.malloc(bytes), bytes);
}

OURS void *calloc(size_t count, size_t bytes)
{
	size_t all;
	memory_find_all();
	bool fits = !__builtin_mul_overflow(count, bytes, &all);
	return memory_or_run_out(memory_next.calloc(count, bytes), fits ? all : SIZE_MAX);
}

OURS void *realloc(void *old, size_t bytes)
{
	memory_find_all();
	void *memory = memory_next.realloc(old, bytes);
	return bytes ? memory_or_run_out(memory, bytes) : memory; /* NULL is correct for 0 bytes */
}

OURS void *aligned_alloc(size_t alignment, size_t bytes)
{
	memory_find_all();
	return memory_or_run_out(memory_next.aligned_alloc(alignment, bytes), bytes);
}

OURS void *memalign(size_t alignment, size_t bytes)
{
	memory_find_all();
	return memory_or_run_out(memory_next.memalign(alignment, bytes), bytes);
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
