/* Hill climbing with a budget. A trial takes a stretch of steps with a neighbour of the chosen number (half or twice
 * as many), and compares their time with the smoothed time of the steps before. A trial ends at once when it costs
 * more than the budget holds, or when its steps are clearly slower. The next trial in that direction then waits
 * longer each time.
 *
 * A stretch is long enough to include the stalls of a busy machine, which come once per time slice. A fixed number of
 * steps would not do: all of them may fall between two stalls. When the chosen number turns out slower than its trial
 * promised, a trial is due at once. */
#include "run/tune.h"

#include "base/base.h"

#include <math.h>

#define STRETCH_NS 1e7
#define SHARE 0.02       /* fraction of all time that trials may cost */
#define BETTER 0.96      /* another number must take less than this fraction of the chosen number's time */
#define FIRST_BUDGET 8.0 /* in times of one step: budget for the first trials of a run */
#define PATIENCE_MIN 4.0 /* see tune.patience */
#define PATIENCE_MAX 4096.0
#define DISAPPOINTED 1.25 /* factor on the expected time */

enum { STRETCH_STEPS = 6, SETTLING_WINDOWS = 2 };

void tune_init(struct tune *tune, uint32_t most, uint32_t first, uint64_t change_ns)
{
	*tune = (struct tune){.most = most,
		.change_ns = (double)change_ns,
		.chosen = first,
		.now = first,
		.up = first == 1,
		.settling = SETTLING_WINDOWS,
		.patience = {PATIENCE_MIN, PATIENCE_MIN}};
}

static bool tune_is_trial(const struct tune *tune)
{
	return tune->now != tune->chosen;
}

static void tune_go_to(struct tune *tune, uint32_t number)
{
	tune->now = number;
	tune->settling = SETTLING_WINDOWS;
	tune->stretch = (struct tune_stretch){0};
}

static double tune_mean_ns(const struct tune_stretch *stretch)
{
	return (double)stretch->ns / (double)stretch->steps;
}

static bool tune_is_whole(const struct tune_stretch *stretch)
{
	return stretch->steps >= STRETCH_STEPS && (double)stretch->ns >= STRETCH_NS;
}

/* The next number to try in a direction; the chosen number when there is none. */
static uint32_t tune_neighbour(const struct tune *tune, bool up)
{
	if (up)
		return tune->chosen < tune->most / 2 ? tune->chosen * 2 : tune->most;
	return tune->chosen > 1 ? (tune->chosen + 1) / 2 : 1;
}

static void tune_begin_trial(struct tune *tune)
{
	if (tune_neighbour(tune, tune->up) == tune->chosen)
		tune->up = !tune->up;
	double least_ns = tune->patience[tune->up] * tune->step_ns + 2 * tune->change_ns;
	if (tune_neighbour(tune, tune->up) == tune->chosen || tune->budget_ns < least_ns)
		return;
	tune->trials++;
	tune->cost_ns = 0;
	tune_go_to(tune, tune_neighbour(tune, tune->up));
}

/* Records a comparison of neighbouring numbers, measured one right after the other. */
static void tune_note_comparison(struct tune *tune)
{
	bool alone = tune->now == 1;
	if ((!alone && tune->chosen != 1) || tune->stretch.steps < STRETCH_STEPS)
		return;
	tune->together = alone ? tune->chosen : tune->now;
	tune->alone_ns = alone ? tune_mean_ns(&tune->stretch) : tune->step_ns;
	tune->together_ns = alone ? tune->step_ns : tune_mean_ns(&tune->stretch);
}

static void tune_end_trial(struct tune *tune, bool better)
{
	double *patience = &tune->patience[tune->up];
	tune_note_comparison(tune);
	tune->budget_ns -= fmax(tune->cost_ns, 0);
	*patience = better ? PATIENCE_MIN : fmin(*patience * 2, PATIENCE_MAX);
	if (better) {
		tune->step_ns = tune->expected_ns = tune_mean_ns(&tune->stretch);
		tune->chosen = tune->now;
		tune->changes++;
		return;
	}
	tune->up = !tune->up;
	tune_go_to(tune, tune->chosen);
}

static void tune_judge_trial(struct tune *tune)
{
	bool whole = tune_is_whole(&tune->stretch);
	if (whole)
		tune_end_trial(tune, tune_mean_ns(&tune->stretch) < BETTER * tune->step_ns);
	else if (tune->cost_ns > fmax(tune->budget_ns, PATIENCE_MIN * tune->step_ns))
		tune_end_trial(tune, false);
}

/* A chosen number whose trial was lucky is tried again soon. */
static void tune_look_at_promise(struct tune *tune)
{
	if (!(tune->step_ns > DISAPPOINTED * tune->expected_ns))
		return;
	tune->expected_ns = tune->step_ns;
	for (int i = 0; i < 2; i++)
		tune->patience[i] = PATIENCE_MIN;
	tune->budget_ns = fmax(tune->budget_ns, PATIENCE_MIN * tune->step_ns);
}

static void tune_end_stretch(struct tune *tune)
{
	double mean = tune_mean_ns(&tune->stretch);
	if (tune->step_ns > 0) {
		tune->step_ns = (tune->step_ns + mean) / 2;
	} else {
		tune->step_ns = tune->expected_ns = mean;
		tune->budget_ns += FIRST_BUDGET * mean;
	}
	tune->stretch = (struct tune_stretch){0};
	tune_look_at_promise(tune);
	tune_begin_trial(tune);
}

uint32_t tune_step(struct tune *tune, uint64_t ns, uint32_t steps)
{
	tune->budget_ns += SHARE * (double)ns;
	if (tune_is_trial(tune))
		tune->cost_ns += (double)ns - (double)steps * tune->step_ns;
	if (tune->settling) {
		tune->settling--;
	} else {
		tune->stretch.steps += steps;
		tune->stretch.ns += ns;
	}
	if (tune_is_trial(tune)) {
		tune_judge_trial(tune);
	} else if (tune_is_whole(&tune->stretch) ||
		   (!(tune->step_ns > 0) && tune->stretch.steps >= STRETCH_STEPS)) { /* the first trial comes soon */
		tune_end_stretch(tune);
	}
	return tune->now;
}
