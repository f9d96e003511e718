/* A thread marks in memory of its own that it is inside of a plug-in: a signal handler of the same thread reads the
 * mark. */
#include "system/guard.h"

#include <troupe/plugin_check.h>

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SIGNAL_STACK_BYTES = 64 << 10 };

/* Read by a signal handler of the same thread. A function of a system is never called inside of another one. */
static _Thread_local const struct system *volatile guard_crash_entered;
static _Thread_local const char *volatile guard_crash_entered_function;
static _Thread_local volatile uint64_t guard_crash_calls;
static _Thread_local volatile bool guard_crash_thread_ends;
/* How this thread rounds: it is put back after each call, because all that the thread computes depends on it. */
static _Thread_local fenv_t guard_crash_rounding;

/* A handler of signals needs memory of its own when a plug-in has used up the thread's stack. A program that has given
 * the thread such memory keeps its own. */
static void guard_crash_give_signal_stack(void)
{
	static _Thread_local _Alignas(64) unsigned char memory[SIGNAL_STACK_BYTES];
	stack_t now, stack = {.ss_sp = memory, .ss_size = sizeof memory};
	if (!sigaltstack(NULL, &now) && now.ss_flags & SS_DISABLE)
		(void)sigaltstack(&stack, NULL);
}

/* The thread ends. Inside of a plug-in it would leave the step half done, for which all others then wait. */
static void guard_crash_end_thread(void *unused)
{
	(void)unused;
	guard_crash_thread_ends = true;
	if (guard_crash_entered)
		abort();
}

static pthread_key_t guard_crash_end_key;
static volatile sig_atomic_t guard_crash_is_copy; /* this process is a copy that fork() has made */

static void guard_crash_note_copy(void)
{
	guard_crash_is_copy = 1;
}

static void guard_crash_make_end_key(void)
{
	(void)pthread_key_create(&guard_crash_end_key, guard_crash_end_thread);
	(void)pthread_atfork(NULL, NULL, guard_crash_note_copy);
}

static void guard_crash_prepare_thread(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static _Thread_local bool prepared;
	if (prepared)
		return;
	prepared = true;
	guard_crash_give_signal_stack();
	pthread_once(&once, guard_crash_make_end_key);
	(void)pthread_setspecific(guard_crash_end_key, &prepared);
}

void guard_enter(const struct system *system, const char *function)
{
	if (system->library)
		guard_crash_prepare_thread();
	guard_crash_calls += system->library != NULL;
	guard_crash_entered_function = function;
	if (system->library)
		fegetenv(&guard_crash_rounding);
	atomic_signal_fence(memory_order_release);
	guard_crash_entered = system->library ? system : NULL;
	atomic_signal_fence(memory_order_seq_cst);
}

/* Not snprintf(), which is not safe in a signal handler. */
static void guard_crash_append(char *text, size_t bytes, size_t *length, const char *more)
{
	while (*more && *length + 1 < bytes)
		text[(*length)++] = *more++;
	text[*length] = '\0';
}

uint64_t troupe_plugin_calls(void)
{
	return guard_crash_calls;
}

void troupe_plugin_interrupted(char *ret_text, size_t bytes)
{
	const struct system *system = guard_crash_entered;
	size_t length = 0;
	if (bytes)
		*ret_text = '\0';
	if (!system || !bytes)
		return;
	bool of_model = system->self.model != SCENE_NONE;
	const char *const parts[] = {"plugin '", system->self.kind->names[0], "' (", system->library->path, ") of ",
		of_model ? "model '" : "the world", of_model ? system->scene->models[system->self.model].name : "",
		of_model ? "': " : ": ", guard_crash_entered_function,
		guard_crash_is_copy       ? " has called fork(), and its copy of this process"
		: guard_crash_thread_ends ? " ends its thread, and"
					  : ""};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		guard_crash_append(ret_text, bytes, &length, parts[i]);
}

/* A copy of the process that a plug-in has made by fork() comes back as if it were the run. It has one of its threads,
 * and all files of the run, which both would write. */
void guard_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (guard_crash_entered)
		fesetenv(&guard_crash_rounding);
	if (guard_crash_entered && guard_crash_is_copy)
		abort();
	guard_crash_entered = NULL;
}
