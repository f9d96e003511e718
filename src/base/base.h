/* Small things that all modules use. Knows nothing of simulation. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <troupe/base.h>

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof(a)[0])
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Fills *error (which may be NULL) and returns status, so that a failure is one line: return fail(error, ...).
 * A text that is too long is cut, and its control characters become escapes: it may quote hostile input. */
troupe_status fail(struct troupe_error *error, troupe_status status, const char *format, ...) TROUPE_PRINTF(3, 4);
troupe_status fail_v(struct troupe_error *error, troupe_status status, const char *format, va_list args);

/* Repeats a system call that a signal interrupted; not for close(). */
#define AGAIN(call)                                                                                                    \
	({                                                                                                             \
		__typeof__(call) result_;                                                                              \
		do                                                                                                     \
			result_ = (call);                                                                              \
		while (result_ == -1 && errno == EINTR);                                                               \
		result_;                                                                                               \
	})

/* The list that begins at `first`, whose items point to the next one by the member `next`, turned round: returns its
 * last item, now the first. A list to which threads push is taken newest first. */
#define LIST_REVERSED(first, next)                                                                                     \
	({                                                                                                             \
		__typeof__(first) rest_ = (first), turned_ = NULL;                                                     \
		while (rest_) {                                                                                        \
			__typeof__(rest_) item_ = rest_;                                                               \
			rest_ = item_->next;                                                                           \
			item_->next = turned_;                                                                         \
			turned_ = item_;                                                                               \
		}                                                                                                      \
		turned_;                                                                                               \
	})

/* Memory. The rules for memory that cannot be had, for all of troupe:
 *
 *  1. Memory of this process (heap, stack of a new thread, heap of a library that it calls): the process ends at once.
 * A step that cannot get memory cannot be finished, undone or reported, and no world may depend on how much memory
 *     there is. mem_run_out() writes one line to standard error, "troupe: out of memory (N bytes)", and calls
 *     _exit(MEM_EXIT_STATUS). A file that was being replaced then keeps its old content, and a recording ends with the
 *     last state written to it. So no function of ours returns a failure for lack of memory, no caller checks for one,
 *     and there is no status for it. Results of malloc() and of functions that allocate and return NULL are used only
 *     through mem_...(), or checked with mem_run_out().
 *  2. A library that allocates for itself. The troupe program replaces malloc() (cli/memory.c), so rule 1 holds for all
 *     libraries. In a program that uses the library libtroupe, it holds for ODE, libxml2, qhull, and OpenSSL's keys and
 *     connections, whose failures are told apart from others. What liburcu and C++ do there is abort().
 *  3. Memory that a hostile file asks for: files of formats that libraries read are read in a child process with a
 * limit (mesh/importer.h). In the child, rules 1 and 2 hold, except that the reader of meshes handles a refusal itself
 *     (mem_refuse_above()). For the parent both are one failure of this file, TROUPE_EINTERNAL, "needs more than N MiB
 * of memory", whatever the machine.
 *  4. Sizes that are read from files, frames or commands are checked against limits before memory is asked for:
 *     TROUPE_ELIMIT. That is not a lack of memory.
 *  5. The kernel's own objects (files, sockets, processes, threads for which there is a stack): a system call that
 * fails, with ENOMEM too, is a failure of this call like any other, with its status and the system's text. */
enum { MEM_EXIT_STATUS = 4 };
/* Ends the process in this way when other code was refused memory. bytes: 0 when not known. */
void mem_run_out(size_t bytes) __attribute__((noreturn));
/* pthread_create() returns the same code when there is no memory for a stack and when there are too many threads.
 * Takes that code and ends the process if memory was the cause. */
void mem_check_thread(int code);
/* From now on malloc() may return NULL to the calling thread, and C++ new may throw, for more than this number of
 * bytes: for code that hostile files make ask for any amount, and that handles a refusal. SIZE_MAX: refuse nothing.
 * Only the troupe program refuses: in a program that uses the library, malloc() is not replaced. */
void mem_refuse_above(size_t bytes);
bool mem_is_refusable(size_t bytes);
void *mem_alloc(size_t bytes);              /* zeroed */
void *mem_alloc_lines(size_t bytes);        /* zeroed, on a cache line's boundary; free() it */
void *mem_realloc(void *old, size_t bytes); /* grown part not zeroed */
/* Grows from old_bytes to bytes, the grown part zeroed; a smaller size changes nothing. mem_grow_lines() is for
 * memory from mem_alloc_lines() and keeps it on a cache line's boundary. */
void *mem_grow(void *old, size_t old_bytes, size_t bytes);
void *mem_grow_lines(void *old, size_t old_bytes, size_t bytes);
/* An array with room for `before` elements gets room for `now`. */
#define MEM_FIT(array, before, now) ((array) = mem_grow(array, (before) * sizeof *(array), (now) * sizeof *(array)))
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) TROUPE_PRINTF(1, 2);

/* A growable array: struct { T *at; uint32_t count, room; }. Zeroed is empty. */
#define VEC(T)                                                                                                         \
	struct {                                                                                                       \
		T *at;                                                                                                 \
		uint32_t count, room;                                                                                  \
	}
#define vec_push(v, ...)                                                                                               \
	((v)->count == (v)->room ? vec_grow_((void **)&(v)->at, &(v)->room, sizeof *(v)->at, (v)->count + 1u)          \
				 : (void)0,                                                                            \
		(v)->at[(v)->count++] = (__VA_ARGS__))
/* Appends n zeroed items and yields the address of the first. */
#define vec_append(v, n)                                                                                               \
	((v)->count + (uint32_t)(n) > (v)->room                                                                        \
			? vec_grow_((void **)&(v)->at, &(v)->room, sizeof *(v)->at, (v)->count + (uint32_t)(n))        \
			: (void)0,                                                                                     \
		(v)->count += (uint32_t)(n),                                                                           \
		vec_zero_(&(v)->at[(v)->count - (uint32_t)(n)], (size_t)(n) * sizeof *(v)->at),                        \
		&(v)->at[(v)->count - (uint32_t)(n)])
/* Gives back the room that is not used: no items will come. */
#define vec_trim(v) vec_trim_((void **)&(v)->at, &(v)->room, sizeof *(v)->at, (v)->count)
#define vec_free(v) (vec_free_((void **)&(v)->at), (v)->count = (v)->room = 0)
void vec_grow_(void **at, uint32_t *room, size_t item_bytes, uint32_t need);
void vec_trim_(void **at, uint32_t *room, size_t item_bytes, uint32_t count);
void vec_zero_(void *at, size_t bytes);
void vec_free_(void **at);

#endif
