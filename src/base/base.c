/* Failures and memory for all modules. A failure is a status and one line of text, in which control characters are
 * escapes. Out of memory is not a failure that a caller sees: every allocation here either succeeds or ends the
 * process, without allocating anything for the message. */
#include "base/base.h"

#include "base/shown.h"
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *troupe_status_text(troupe_status status)
{
	static const char *const text[] = {
#define X(name, words) [TROUPE_##name] = words,
		TROUPE_STATUS_LIST(X)
#undef X
	};
	return (size_t)status < ARRAY_LEN(text) ? text[status] : "unknown status";
}

const char *troupe_version(void)
{
	return PACKAGE_VERSION;
}

troupe_status fail_v(struct troupe_error *error, troupe_status status, const char *format, va_list args)
{
	if (!error)
		return status;
	char text[sizeof error->text];
	error->status = status;
	vsnprintf(text, sizeof text, format, args);
	(void)shown_copy(error->text, sizeof error->text, text);
	return status;
}

troupe_status fail(struct troupe_error *error, troupe_status status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fail_v(error, status, format, args);
	va_end(args);
	return status;
}

/* Without stdio, which may want memory itself. One line, so one write(): what another thread says stays whole. */
void mem_run_out(size_t bytes)
{
	static atomic_bool said;
	char line[80] = "troupe: out of memory\n";
	while (atomic_exchange(&said, true))
		(void)pause(); /* another thread says it, and ends them all */
	if (bytes)
		(void)snprintf(line, sizeof line, "troupe: out of memory (%zu bytes)\n", bytes);
	(void)!write(STDERR_FILENO, line, strlen(line));
	_exit(MEM_EXIT_STATUS);
}

void mem_check_thread(int code)
{
	pthread_attr_t usual;
	size_t bytes = 0;
	if (code != EAGAIN || pthread_attr_init(&usual))
		return;
	(void)pthread_attr_getstacksize(&usual, &bytes);
	(void)pthread_attr_destroy(&usual);
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		mem_run_out(bytes);
	(void)munmap(stack, bytes);
}

static _Thread_local size_t base_refuse_above = SIZE_MAX;

void mem_refuse_above(size_t bytes)
{
	base_refuse_above = bytes;
}

bool mem_is_refusable(size_t bytes)
{
	return bytes > base_refuse_above;
}

static void *base_or_die(void *memory, size_t bytes)
{
	if (!memory)
		mem_run_out(bytes);
	return memory;
}

void *mem_alloc(size_t bytes)
{
	return base_or_die(calloc(1, MAX(bytes, (size_t)1)), bytes);
}

enum { LAZY_BYTES_MIN = 1 << 16 };

/* Zeroes memory. Of much memory, whole pages are given back to the kernel instead, which has pages of zeros for them
 * when they are written, if ever: many arrays have room for what few models need. */
static void base_zero(char *at, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *first = at + (page - (uintptr_t)at % page) % page, *end = at + bytes - (uintptr_t)(at + bytes) % page;
	if (bytes < LAZY_BYTES_MIN || madvise(first, (size_t)(end - first), MADV_DONTNEED)) {
		memset(at, 0, bytes);
		return;
	}
	memset(at, 0, (size_t)(first - at));
	memset(end, 0, (size_t)(at + bytes - end));
}

void *mem_alloc_lines(size_t bytes)
{
	size_t whole = (MAX(bytes, (size_t)1) + 63) & ~(size_t)63;
	void *lines = base_or_die(aligned_alloc(64, whole), whole);
	base_zero(lines, whole);
	return lines;
}

void *mem_realloc(void *old, size_t bytes)
{
	return base_or_die(realloc(old, MAX(bytes, (size_t)1)), bytes);
}

void *mem_grow(void *old, size_t old_bytes, size_t bytes)
{
	if (bytes <= old_bytes && old)
		return old;
	char *grown = mem_realloc(old, bytes);
	if (bytes > old_bytes)
		memset(grown + old_bytes, 0, bytes - old_bytes);
	return grown;
}

void *mem_grow_lines(void *old, size_t old_bytes, size_t bytes)
{
	if (bytes <= old_bytes && old)
		return old;
	void *grown = mem_alloc_lines(bytes);
	if (old_bytes && old)
		memcpy(grown, old, old_bytes);
	free(old);
	return grown;
}

char *mem_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(mem_alloc(bytes), text, bytes);
}

/* Most texts are names: they are printed once, and not a first time to be measured. */
char *mem_printf(const char *format, ...)
{
	char name[256];
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(name, sizeof name, format, args);
	if (length < 0)
		mem_run_out(0);
	char *text = mem_alloc((size_t)length + 1);
	if ((size_t)length < sizeof name)
		memcpy(text, name, (size_t)length);
	else
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(args);
	return text;
}

enum { VEC_BYTES_LEAST = 32 };

void vec_grow_(void **at, uint32_t *room, size_t item_bytes, uint32_t need)
{
	/* many arrays of a model have one large item */
	uint32_t least = item_bytes < VEC_BYTES_LEAST ? (uint32_t)(VEC_BYTES_LEAST / item_bytes) : 1;
	uint32_t wanted = MAX(*room, least);
	while (wanted < need) {
		if (wanted > UINT32_MAX / 2)
			mem_run_out(SIZE_MAX);
		wanted *= 2;
	}
	*at = mem_realloc(*at, wanted * item_bytes);
	*room = wanted;
}

void vec_trim_(void **at, uint32_t *room, size_t item_bytes, uint32_t count)
{
	if (count && count < *room) {
		*at = mem_realloc(*at, count * item_bytes);
		*room = count;
	}
}

void vec_zero_(void *at, size_t bytes)
{
	if (bytes) /* at may be NULL then, which memset() does not allow */
		memset(at, 0, bytes);
}

void vec_free_(void **at)
{
	free(*at);
	*at = NULL;
}
