/* Checks a plug-in (plugin.h) in a world of its own use: whether it keeps to the rules on which the same bits depend.
 */
#ifndef TROUPE_PLUGIN_CHECK_H
#define TROUPE_PLUGIN_CHECK_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;

struct troupe_plugin_check {
	const char *plugin;                /* the file of the library */
	const char *world_path;            /* as in troupe_server_def. Each <plugin> whose name is that of a kind of the
					    * library is taken from it, whatever its filename says. */
	const char *world_text;            /* as in troupe_server_def; may be NULL */
	const char *const *resource_paths; /* as in troupe_server_def */
	const char *const *plugin_paths;   /* the same; for other plug-ins of the world */
	uint64_t steps;                    /* at least 1 */
	/* Lines for people: first what the library has (its kinds, their parameters and words), then each trial and its
	 * outcome; wrong: the library breaks a rule. May be NULL. */
	void (*on_line)(void *ctx, bool wrong, const char *text);
	void *ctx;
	/* Called for each of the servers before its first step, to give it commands: command() is called only when
	 * messages come. An error ends the check. NULL: none. */
	troupe_status (*prepare)(void *ctx, struct troupe_server *server, struct troupe_error *error);
};

/* Simulates the world in three ways and compares the states after each step, word for word:
 *
 * - with one runner, where each function of the library is called twice with the same input, and report() at each
 *   step; what it publishes and requests is compared as well;
 * - with three runners, between which models are moved at every step;
 * - saved and resumed, at each of the first 100 steps and then at every tenth.
 *
 * *ret_wrong: how many lines were wrong; each way ends at its first. An error: the library cannot be loaded, or the
 * world cannot be run. Blocks. */
TROUPE_API troupe_status troupe_plugin_check(
	const struct troupe_plugin_check *def, uint32_t *ret_wrong, struct troupe_error *error);

/* For a handler of signals such as SIGSEGV, on the thread that was interrupted: which function of which plug-in from a
 * library it was in, and for which model, as a text for people; "" if it was in none. Safe in a signal handler. The
 * thread has a stack for handlers with SA_ONSTACK, in case that the plug-in has used up the thread's own. */
TROUPE_API void troupe_plugin_interrupted(char *ret_text, size_t bytes);
/* How many calls of functions of plug-ins from libraries this thread has begun: the same number later, while the thread
 * is in such a function, means that the function has not returned. Safe in a signal handler. */
TROUPE_API uint64_t troupe_plugin_calls(void);

#ifdef __cplusplus
}
#endif
#endif
