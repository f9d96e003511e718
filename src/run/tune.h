/* How many secondaries pay: decided while the world runs, from how long its steps take. Pure: times in, a number out.
 *
 * Two secondaries share the work of a step, and pay for it with a hand-over in each step, which costs nothing that
 * shows beside large steps on idle cores, more than the step beside small ones, and many times the step when other
 * processes hold the cores. No rule tells that beforehand, so now and then a few steps are taken with another number,
 * and the better one is kept. What such trials cost is bounded: by 2 % of the time so far.
 *
 * Thread: one owner. */
#ifndef RUN_TUNE_H
#define RUN_TUNE_H

#include <stdbool.h>
#include <stdint.h>

struct tune_stretch { /* steps with one number of secondaries */
	uint64_t steps, ns;
};

struct tune {
	uint32_t most;   /* secondaries that there are */
	uint32_t chosen; /* that pay, as far as is known */
	uint32_t trials, changes;
	/* Of the last trial that compared one secondary with more: how many these were, and what a step took; 0: there
	 * was none. */
	uint32_t together;
	double alone_ns, together_ns;

	/* private */
	uint32_t now;      /* that the steps are taken with: chosen, or another on trial */
	bool up;           /* where the next trial goes */
	uint32_t settling; /* steps that are still not counted, since work has just changed hands */
	struct tune_stretch stretch;
	double step_ns;     /* of the chosen number, smoothed; 0: not known yet */
	double expected_ns; /* what it was when it was chosen */
	double change_ns;
	double budget_ns;   /* that trials may still cost */
	double cost_ns;     /* of the trial so far, beside as many steps with the chosen number */
	double patience[2]; /* down, up: how many steps' time the budget must hold for another trial there */
};

/* most >= 1; first: 1 .. most, to begin with; change_ns: about what it takes to share the work out among another
 * number. */
void tune_init(struct tune *tune, uint32_t most, uint32_t first, uint64_t change_ns);
/* A step took so long, from its decision to its last ack; pauses for real time left out. Returns with how many
 * secondaries the next one is to be taken. */
uint32_t tune_step(struct tune *tune, uint64_t step_ns);

#endif
