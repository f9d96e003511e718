/* Calls the functions of a system that comes from a library, on a copy of its words: what it writes beyond them hits a
 * guard, and what it leaves in them is looked at before it counts. Systems of troupe itself are called directly, at no
 * cost.
 *
 * Thread: any; the caller's fault belongs to one thread. No allocation, but in a rehearsal. */
#ifndef SYSTEM_GUARD_H
#define SYSTEM_GUARD_H

#include "system/system.h"

enum guard_function { GUARD_INIT, GUARD_COMMAND, GUARD_PRE_UPDATE, GUARD_POST_UPDATE, GUARD_UPDATE };

/* What this thread is calling, for troupe_plugin_interrupted(). To be called before and after each call of a function
 * of a system; what guard_make() calls is known without. */
void guard_enter(const struct system *system, const char *function);
void guard_leave(void);

struct guard_call {
	const struct system *system;
	enum guard_function function;
	const struct system_step *step;       /* of pre_update(), post_update(), update() */
	uint32_t input;                       /* of command() */
	const struct troupe_message *message; /* of command() */
};

/* Whether the kind has the function. */
bool guard_has(const struct guard_call *call);
/* Calls the function, which the kind has. The words keep what they had if the system breaks a rule: the first such
 * system is told in *fault. rehearse: the function is first called on another copy, without effect, and must do the
 * same again. */
void guard_make(const struct guard_call *call, uint64_t *words, bool rehearse, struct system_fault *fault);
/* report() and reckon() of a system may not change its words: returns a copy for them, or, of troupe's own, the words
 * themselves. */
struct guard_copy {
	uint64_t words[SYSTEM_WORDS_MAX + 1];
};
const uint64_t *guard_show(const struct system *system, const uint64_t *words, struct guard_copy *copy);

#endif
