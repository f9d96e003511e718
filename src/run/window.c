/* A window that failed is repeated with half of its steps, or with those before the first that failed: so a step that
 * cannot be taken together with others is soon taken alone, where nothing is guessed. After that windows grow again, by
 * one step first: what broke one window is often still near. */
#include "run/window.h"

#include "base/hash.h"

void window_init(struct window *window, const struct window_options *options)
{
	*window = (struct window){.options = *options, .found = 1, .steps = 1};
}

static uint32_t window_random(const struct window *window, uint64_t k)
{
	enum { LONGEST = 24 };
	return (uint32_t)(hash_mix(window->options.seed, 2 * k) % LONGEST) + 1;
}

bool window_is_blind(const struct window *window, uint64_t k)
{
	return window->options.random && hash_mix(window->options.seed, 2 * k + 1) % 4 == 0;
}

/* The most steps that are found out. */
static uint32_t window_limit(const struct window *window, double step_s)
{
	const uint32_t most = window->options.alone ? WINDOW_ALONE_MAX : WINDOW_FOUND_MAX;
	double steps = (window->options.alone ? WINDOW_ALONE_S : WINDOW_LIVE_S) / step_s;
	return steps >= most ? most : steps >= 1 ? (uint32_t)(steps + 1e-6) : 1;
}

uint32_t window_most(const struct window *window, uint64_t k, double step_s)
{
	uint32_t steps = window->options.random  ? window_random(window, k)
			 : window->options.steps ? window->options.steps
						 : MIN(window->found, window_limit(window, step_s));
	return window->cut ? MIN(steps, window->cut) : steps;
}

void window_begin(struct window *window, uint32_t steps)
{
	window->steps = steps;
	window->mark++;
}

/* Whether a step takes longer than with windows of half this length, for some windows in turn now. */
static bool window_is_worse(struct window *window, uint32_t length, double step_ns)
{
	double *mean = &window->step_ns[length];
	/* one late window, as after a pause, says nothing */
	*mean = *mean > 0 ? *mean + (MIN(step_ns, 1.25 * *mean) - *mean) / 4 : step_ns;
	bool worse = length && window->step_ns[length - 1] > 0 && step_ns > 1.05 * window->step_ns[length - 1];
	window->worse = worse ? window->worse + 1 : 0;
	return window->worse >= WINDOW_IN_TURN;
}

/* What is found after a window that nothing cut short. */
static uint32_t window_next(struct window *window, double all_ns, double busy_ns)
{
	const uint32_t found = window->found;
	if (found < WINDOW_FOUND_MAX)
		return MIN(2 * found, (uint32_t)WINDOW_FOUND_MAX);
	const uint32_t length = found < 2 * WINDOW_FOUND_MAX ? 0 : found < WINDOW_ALONE_MAX ? 1 : 2;
	bool costly = all_ns - busy_ns > WINDOW_EXCHANGE_MAX * all_ns;
	bool worse = window_is_worse(window, length, all_ns / MAX(window->steps, 1u));
	window->costly = costly ? window->costly + 1 : 0;
	if (worse) {
		window->stay = WINDOW_STAY;
		window->worse = 0;
		return MAX(found / 2, (uint32_t)WINDOW_FOUND_MAX);
	}
	if (window->stay) {
		window->stay--;
		window->costly = 0;
	}
	if (window->costly < WINDOW_IN_TURN)
		return found;
	window->costly = 0;
	return MIN(2 * found, (uint32_t)WINDOW_ALONE_MAX);
}

void window_proven(struct window *window, double all_ns, double busy_ns)
{
	window->counts.windows++;
	window->counts.steps += window->steps;
	window->counts.longest = MAX(window->counts.longest, window->steps);
	if (window->cut)
		window->found = MAX(window->steps, 1u) + 1;
	else if (window->steps >= window->found)
		window->found = window_next(window, all_ns, busy_ns);
	window->cut = 0;
}

void window_refuted(struct window *window, uint32_t good)
{
	uint32_t half = MAX(window->steps / 2, 1u);
	window->counts.repeated++;
	window->counts.repeated_steps += window->steps;
	window->cut = good && good < window->steps ? good : half;
	window->found = MAX(window->cut, 1u);
}
