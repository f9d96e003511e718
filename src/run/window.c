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

void window_proven(struct window *window)
{
	window->counts.windows++;
	window->counts.steps += window->steps;
	window->counts.longest = MAX(window->counts.longest, window->steps);
	if (window->cut)
		window->found = MAX(window->steps, 1u) + 1;
	else if (window->steps >= window->found)
		window->found = MIN(2 * window->found, (uint32_t)WINDOW_ALONE_MAX);
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
