/* How many secondaries pay: decided while the world runs, from the time that its steps take. Pure: times in, a number
 * out.
 *
 * Secondaries share the work of a step, but each step then needs a hand-over. With large steps on idle cores its cost
 * does not show. With small steps it costs more than the step; when other processes hold the cores, many times the
 * step. No rule predicts that. So now and then a few steps are taken with another number of secondaries, and the
 * better number is kept. The cost of these trials is bounded: by 2 % of the time so far.
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
	uint32_t most;   /* secondaries that exist */
	uint32_t chosen; /* number of secondaries that pays, as far as is known */
	uint32_t trials, changes;
	/* Of the last trial that compared one secondary with several: how many these were, and the time of a step
	 * with one and with several; together is 0 if there was no such trial. */
	uint32_t together;
	double alone_ns, together_ns;

	/* private */
	uint32_t now;      /* the number in use: chosen, or another number on trial */
	bool up;           /* the next trial is with more secondaries */
	uint32_t settling; /* windows that are not counted yet, since work has just changed hands */
	struct tune_stretch stretch;
	double step_ns;     /* of a step with the chosen number, smoothed; 0: not known yet */
	double expected_ns; /* step_ns when the number was chosen */
	double change_ns;
	double budget_ns;   /* what trials may still cost */
	double cost_ns;     /* extra time of the trial so far, against as many steps with the chosen number */
	double patience[2]; /* down, up: how many steps' time the budget must hold for a trial there */
};

/* most >= 1; first: number to begin with, 1 .. most; change_ns: approximate cost of sharing the work out among
 * another number. */
void tune_init(struct tune *tune, uint32_t most, uint32_t first, uint64_t change_ns);
/* Reports the time of a window of so many steps, from its decision to its last ack, without sleep for real time.
 * Returns the number of secondaries for the next one. */
uint32_t tune_step(struct tune *tune, uint64_t ns, uint32_t steps);

#endif
