/* Calls the functions of a system that comes from a library, on a copy of its words: a write beyond the copy hits a
 * guard, and the values in the copy are checked before they become the state. Systems of troupe itself are called
 * directly, at no cost.
 *
 * Thread: any; the caller's fault belongs to one thread. No allocation, but in a rehearsal. */
#ifndef SYSTEM_GUARD_H
#define SYSTEM_GUARD_H

#include "system/system.h"

enum guard_function { GUARD_INIT, GUARD_COMMAND, GUARD_PRE_UPDATE, GUARD_POST_UPDATE, GUARD_UPDATE };

/* Notes which function of a system this thread calls, for troupe_plugin_interrupted(). Call them before and after each
 * call of a function of a system; guard_make() does so itself. */
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
/* Calls the function, which the kind has. If the system breaks a rule, the words keep their values, and *fault names
 * the first such system. rehearse: the function is first called on another copy, without effect, and must give the same
 * result again: words, control of the model, messages, requests. */
void guard_make(const struct guard_call *call, uint64_t *words, bool rehearse, struct system_fault *fault);
/* In a rehearsal: *fault names the system if the messages of two calls of report() differ. */
void guard_compare_reports(const struct system *system, uint32_t output, const struct text *first,
	const struct text *second, struct system_fault *fault);
/* report() and reckon() of a system may not change its words: returns a copy for them, or, of troupe's own, the words
 * themselves. */
struct guard_copy {
	uint64_t words[SYSTEM_WORDS_MAX + 1];
};
const uint64_t *guard_show(const struct system *system, const uint64_t *words, struct guard_copy *copy);
/* The simulated time in ns until which the system, which has update(), says that it waits for a message; UINT64_MAX:
 * for ever; 0: it does not wait. Before that time guard_make() has update() change no word. */
uint64_t guard_waits_until(const struct system *system, const uint64_t *words, uint64_t now_ns);

#endif
