/* How many steps are taken between two exchanges. Up to the *horizon*, the next step at which something from
 * outside of the models is due, what does not depend on anything else may go on alone. How far it goes is found out: a
 * window grows while its guesses prove right (level/touch.h, touch_prove()), and is repeated with fewer steps where
 * one does not. No bit of a state depends on it.
 *
 * Thread: the primary's, between steps. */
#ifndef RUN_WINDOW_H
#define RUN_WINDOW_H

#include "base/base.h"

enum {
	WINDOW_FOUND_MAX = 64,  /* steps that are found out: longer windows gain nothing more */
	WINDOW_ALONE_MAX = 256, /* the same over a network, where an exchange may take as long as many steps */
};
/* Above WINDOW_FOUND_MAX, windows grow while exchanges take a larger part of the time than WINDOW_EXCHANGE_MAX, and
 * shrink where steps then take longer: the longer a window, the more models may meet in it, which are kept on one
 * secondary. Each is decided when several windows in turn say so. */
#define WINDOW_EXCHANGE_MAX 0.05
enum {
	WINDOW_IN_TURN = 4,
	WINDOW_STAY = 64,  /* windows before a length is tried again that was worse */
	WINDOW_LENGTHS = 3 /* WINDOW_FOUND_MAX, twice and four times as many steps */
};
#define WINDOW_LIVE_S 0.02  /* time that a live command may have to wait, unless the user says otherwise */
#define WINDOW_ALONE_S 0.25 /* the same where no command is given live */

struct window_options {
	uint32_t steps; /* of each window; 0: found out */
	bool alone;     /* over a network, and no command is given while it runs */
	bool random;    /* for tests: a random number, and guesses that are often wrong */
	uint64_t seed;
};

struct window_counts {
	uint64_t windows, steps;           /* that count */
	uint64_t repeated, repeated_steps; /* that were given up because a guess was wrong */
	uint32_t longest;
};

struct window {
	struct window_options options;
	uint32_t found; /* steps that windows have, if nothing is due earlier */
	uint32_t cut;   /* most steps of a window that is repeated; 0: the last one was not given up */
	/* Above WINDOW_FOUND_MAX: windows in turn of which exchanges cost much, or steps took longer than with half as
	 * many; windows for which `found` stays; the time of a step, by length. */
	uint32_t costly, worse, stay;
	double step_ns[WINDOW_LENGTHS];
	uint32_t steps; /* of the window that is out */
	uint64_t mark;  /* of the window that is out: see struct touch_sweep */
	struct window_counts counts;
};

void window_init(struct window *window, const struct window_options *options);

/* How many steps the window that begins with step k may have; step_s: the time step. */
uint32_t window_most(const struct window *window, uint64_t k, double step_s);
/* Whether the number of steps is neither asked for nor random. */
static inline bool window_is_found(const struct window *window)
{
	return !window->options.steps && !window->options.random;
}

/* It begins, with so many steps (>= 1). */
void window_begin(struct window *window, uint32_t steps);
/* Whether the guesses of this window are to be bad ones. */
bool window_is_blind(const struct window *window, uint64_t k);
/* The window that is out counts. all_ns: its time; busy_ns: that part of it in which a secondary was at work. */
void window_proven(struct window *window, double all_ns, double busy_ns);
/* It does not: `good` of its steps were well as far as is known, and it is repeated. */
void window_refuted(struct window *window, uint32_t good);

#endif
