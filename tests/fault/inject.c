/* Makes system calls fail, for test_sweep: a library that is preloaded into troupe. It counts the calls by
 * which a process gets memory or changes files, and lets a chosen call fail. So a test can walk every error path of
 * every function once.
 *
 * TROUPE_INJECT names a file that holds a struct inject, which the test and all processes that it starts share. The
 * library counts the calls of the program and its libraries after main() begins; it does not see calls inside glibc
 * (those of stdio, for instance), and does not count calls on standard input, output and error. */
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(default) /* functions that are not static replace those of the C library */

static struct inject *plan; /* NULL: nothing is injected */
static int main_process;

/* --- which call --------------------------------------------------------------------------------------------------- */

/* Counts the call, from 1, and returns whether it is the chosen one. */
static bool is_chosen(enum inject_call call)
{
	if (!plan)
		return false;
	uint64_t all = __atomic_add_fetch(&plan->all, call != INJECT_ALLOC, __ATOMIC_SEQ_CST);
	uint64_t own = __atomic_add_fetch(&plan->counts[call], 1, __ATOMIC_SEQ_CST);
	uint64_t number = plan->call == INJECT_ANY ? all : own;
	if (plan->call != call && (plan->call != INJECT_ANY || call == INJECT_ALLOC))
		return false;
	bool chosen = plan->number && (number == plan->number || (plan->lasting && number > plan->number));
	if (chosen) /* only if chosen: another process must not write back an older value */
		plan->met = 1;
	return chosen;
}

static long raw(long number, long a, long b)
{
	return syscall(number, a, b);
}

static void end(void)
{
	/* in the helper that saves a file, this process is not the main one */
	if (plan->what == INJECT_KILL_ALL || plan->what == INJECT_KILL_MAIN)
		(void)raw(SYS_kill, main_process, SIGKILL);
	if (plan->what == INJECT_KILL_ALL || plan->what == INJECT_KILL_SELF)
		(void)raw(SYS_kill, raw(SYS_getpid, 0, 0), SIGKILL);
}

static bool is_kill(void)
{
	return plan->what >= INJECT_KILL_MAIN;
}

/* Whether the call is replaced by a failure: it then returns -1 and sets errno. */
static bool fails(enum inject_call call)
{
	if (!is_chosen(call))
		return false;
	if (is_kill()) {
		if (!plan->after)
			end();
		return false;
	}
	if (plan->what == INJECT_SHORT || plan->what == INJECT_GROW)
		return false;
	errno = plan->code;
	return true;
}

static void grow(int file)
{
	char name[40];
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	int again = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (again >= 0)
		(void)(syscall(SYS_write, again, "\n", 1) + syscall(SYS_close, again));
}

#define NEXT(name)                                                                                                     \
	static __typeof__(name) *next;                                                                                 \
	if (!next)                                                                                                     \
	*(void **)(void *)&next = dlsym(RTLD_NEXT, #name)

/* Called after a call: kills the process if the plan says so. */
static void done(void)
{
	if (plan && plan->met && is_kill() && plan->after)
		end();
}

#define PASS(kind, value, call)                                                                                        \
	do {                                                                                                           \
		if (fails(kind))                                                                                       \
			return (value);                                                                                \
		__typeof__(call) result_ = (call);                                                                     \
		int code_ = errno;                                                                                     \
		done();                                                                                                \
		errno = code_;                                                                                         \
		return result_;                                                                                        \
	} while (0)

/* --- memory ------------------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool no_memory(void)
{
	if (!is_chosen(INJECT_ALLOC))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t bytes)
{
	return no_memory() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return no_memory() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return no_memory() ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return no_memory() ? NULL : __libc_memalign(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	return no_memory() ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **ret_at, size_t alignment, size_t bytes)
{
	void *at = no_memory() ? NULL : __libc_memalign(alignment, bytes);
	if (!at)
		return ENOMEM;
	*ret_at = at;
	return 0;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	NEXT(open);
	va_list args;
	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	PASS(INJECT_OPEN, -1, next(path, flags, mode));
}

int openat(int folder, const char *path, int flags, ...)
{
	NEXT(openat);
	va_list args;
	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	if (plan && plan->no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	PASS(INJECT_OPEN, -1, next(folder, path, flags, mode));
}

ssize_t read(int file, void *bytes, size_t count)
{
	NEXT(read);
	if (file <= STDERR_FILENO)
		return next(file, bytes, count);
	if (plan && plan->what == INJECT_SHORT && plan->call == INJECT_READ && count > 1)
		count = 1 + count / 3;
	if (plan && plan->what == INJECT_GROW && plan->counts[INJECT_READ] + 1 == plan->number)
		grow(file);
	PASS(INJECT_READ, -1, next(file, bytes, count));
}

ssize_t write(int file, const void *bytes, size_t count)
{
	NEXT(write);
	if (file <= STDERR_FILENO)
		return next(file, bytes, count);
	if (plan && plan->what == INJECT_SHORT && plan->call == INJECT_WRITE && count > 1)
		count = 1 + count / 3;
	PASS(INJECT_WRITE, -1, next(file, bytes, count));
}

int close(int file)
{
	NEXT(close);
	if (plan && file > STDERR_FILENO && fails(INJECT_CLOSE)) {
		int code = errno;
		(void)next(file); /* the descriptor is free in any case, whatever close() returns */
		errno = code;
		return -1;
	}
	int result = next(file), code = errno;
	done();
	errno = code;
	return result;
}

int fsync(int file)
{
	NEXT(fsync);
	PASS(INJECT_FSYNC, -1, next(file));
}

int ftruncate(int file, off_t bytes)
{
	NEXT(ftruncate);
	PASS(INJECT_FTRUNCATE, -1, next(file, bytes));
}

int sync_file_range(int file, off64_t from, off64_t bytes, unsigned flags)
{
	NEXT(sync_file_range);
	PASS(INJECT_OTHER, -1, next(file, from, bytes, flags));
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
	NEXT(linkat);
	PASS(INJECT_LINK, -1, next(from, old, to, new, flags));
}

int renameat(int from, const char *old, int to, const char *new)
{
	NEXT(renameat);
	PASS(INJECT_RENAME, -1, next(from, old, to, new));
}

int unlinkat(int folder, const char *path, int flags)
{
	NEXT(unlinkat);
	PASS(INJECT_UNLINK, -1, next(folder, path, flags));
}

int mkdir(const char *path, mode_t mode)
{
	NEXT(mkdir);
	PASS(INJECT_MKDIR, -1, next(path, mode));
}

int fchmod(int file, mode_t mode)
{
	NEXT(fchmod);
	PASS(INJECT_OTHER, -1, next(file, mode));
}

int fstat(int file, struct stat *ret_info)
{
	NEXT(fstat);
	PASS(INJECT_STAT, -1, next(file, ret_info));
}

int fstatat(int folder, const char *path, struct stat *ret_info, int flags)
{
	NEXT(fstatat);
	PASS(INJECT_STAT, -1, next(folder, path, ret_info, flags));
}

int faccessat(int folder, const char *path, int how, int flags)
{
	NEXT(faccessat);
	PASS(INJECT_STAT, -1, next(folder, path, how, flags));
}

ssize_t readlinkat(int folder, const char *path, char *to, size_t count)
{
	NEXT(readlinkat);
	PASS(INJECT_OTHER, -1, next(folder, path, to, count));
}

int flock(int file, int operation)
{
	NEXT(flock);
	PASS(INJECT_OTHER, -1, next(file, operation));
}

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	NEXT(clone);
	PASS(INJECT_OTHER, -1, next(fn, stack, flags, arg));
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static int (*real_main)(int argc, char **argv, char **environment);

static int begin(int argc, char **argv, char **environment)
{
	const char *path = getenv("TROUPE_INJECT");
	int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
	main_process = getpid();
	if (file >= 0) {
		struct inject *mapped = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		(void)syscall(SYS_close, file);
		plan = mapped == MAP_FAILED ? NULL : mapped;
	}
	return real_main(argc, argv, environment);
}

typedef int start_fn(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
	void (*rtld_fini)(void), void *stack_end);
start_fn __libc_start_main;
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
	void (*rtld_fini)(void), void *stack_end)
{
	start_fn *next;
	*(void **)(void *)&next = dlsym(RTLD_NEXT, "__libc_start_main");
	real_main = main;
	return next(begin, argc, argv, init, fini, rtld_fini, stack_end);
}
