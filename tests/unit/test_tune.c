/* The best number of secondaries is found, on simulated machines with known times: the whole run never takes more than
 * 5 % longer than with the best fixed number. */
#include "base/base.h"
#include "base/hash.h"
#include "run/tune.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

TestSuite(tune, .timeout = 60);

enum { MOST = 16 };

struct machine {
	const char *what;
	uint32_t most, first;
	double work_ns;   /* of a step on one secondary */
	double serial_ns; /* the part of work_ns that is not divided among secondaries */
	double each_ns;   /* the cost of the hand-over to each secondary but the first */
	double stall_ns;  /* the time for which a thread waits for its core */
	double stall;     /* the probability of a stall, for each thread but the first, in each step */
	double noise;     /* relative */
	double steps;
	double later_work_ns, later_each_ns; /* in the second half of the run; 0: the same */
};

static const struct machine machines[] = {
	{"idle, large steps, two cores", 2, 2, 5e6, 1e4, 1e3, 0, 0, 0.05, 2000, 0, 0},
	{"idle, large steps, begun with one", 2, 1, 5e6, 1e4, 1e3, 0, 0, 0.05, 2000, 0, 0},
	{"idle, middling steps", 2, 1, 2.5e5, 2e3, 1e3, 0, 0, 0.1, 30000, 0, 0},
	{"idle, tiny steps: a hand-over is dear", 2, 1, 8e2, 3e2, 1e3, 0, 0, 0.1, 3e6, 0, 0},
	{"the same, begun with two", 2, 2, 8e2, 3e2, 1e3, 0, 0, 0.1, 3e6, 0, 0},
	{"busy: four carts, steps of 40 us, time slices of 4 ms", 2, 1, 4e4, 2e3, 1e3, 4e6, 0.05, 0.1, 300000, 0, 0},
	{"busy: begun with two", 2, 2, 4e4, 2e3, 1e3, 4e6, 0.05, 0.1, 300000, 0, 0},
	{"busy: large steps", 2, 2, 5e6, 1e4, 1e3, 4e6, 0.9, 0.1, 3000, 0, 0},
	{"nearly equal", 2, 1, 1e4, 5e3, 2.4e3, 0, 0, 0.1, 200000, 0, 0},
	{"noisy", 2, 1, 1e5, 1e4, 1e3, 0, 0, 0.5, 100000, 0, 0},
	{"all fall asleep", 2, 1, 4e5, 1e3, 1e3, 0, 0, 0.05, 200000, 5e2, 0},
	{"all wake", 2, 1, 5e2, 1e2, 1e3, 0, 0, 0.05, 400000, 4e5, 0},
	{"becomes busy", 2, 2, 2e5, 1e3, 1e3, 0, 0, 0.05, 100000, 0, 6e5},
	{"sixteen cores, large steps", 16, 16, 2e7, 1e5, 2e3, 0, 0, 0.05, 2000, 0, 0},
	{"sixteen cores, begun with one", 16, 1, 4e5, 1e4, 2e3, 0, 0, 0.05, 100000, 0, 0},
	{"sixteen cores, four are best", 16, 16, 1e5, 1e4, 6e3, 0, 0, 0.05, 100000, 0, 0},
	{"six cores, three are best", 6, 1, 9e4, 2e3, 9e3, 0, 0, 0.05, 100000, 0, 0},
};

static double uniform(uint64_t seed, uint64_t step, uint64_t what)
{
	return (double)(hash_mix(hash_mix(seed, step), what) >> 11) * 0x1p-53;
}

/* The time of a step: the same stalls and noise for each call with this number of secondaries. */
static double time_of(const struct machine *m, uint64_t seed, uint64_t step, uint32_t secondaries)
{
	bool later = (double)step >= m->steps / 2;
	double work = later && m->later_work_ns > 0 ? m->later_work_ns : m->work_ns;
	double each = later && m->later_each_ns > 0 ? m->later_each_ns : m->each_ns;
	double serial = fmin(m->serial_ns, work), ns = serial + (work - serial) / secondaries, stall = 0;
	for (uint32_t s = 1; s < secondaries; s++) {
		ns += each;
		if (uniform(seed, step, 2 * s) < m->stall)
			stall = fmax(stall, m->stall_ns * uniform(seed, step, 2 * s + 1));
	}
	return (ns + stall) * (1 + m->noise * (uniform(seed, step, 1000 + secondaries) - 0.5));
}

static double fixed_ns(const struct machine *m, uint64_t seed, uint32_t secondaries)
{
	double sum = 0;
	for (uint64_t step = 0; (double)step < m->steps; step++)
		sum += time_of(m, seed, step, secondaries);
	return sum;
}

/* Windows of so many steps are reported. */
static double tuned_ns(const struct machine *m, uint64_t seed, uint32_t window, struct tune *ret_tune)
{
	double sum = 0;
	uint32_t now = m->first, before = now;
	tune_init(ret_tune, m->most, m->first, (uint64_t)(2 * m->work_ns));
	for (uint64_t step = 0; (double)step < m->steps; step += window) {
		/* models that change their secondary are built anew, which takes as long as two steps */
		double ns = now != before ? 2 * time_of(m, seed, step, 1) : 0;
		for (uint32_t i = 0; i < window; i++)
			ns += time_of(m, seed, step + i, now);
		before = now;
		sum += ns;
		now = tune_step(ret_tune, (uint64_t)ns, window);
		cr_assert(now >= 1 && now <= m->most);
	}
	return sum;
}

Test(tune, is_never_much_slower_than_the_best_fixed_number)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		const struct machine *m = &machines[i];
		for (uint64_t seed = 1; seed <= 3; seed++) {
			double best = INFINITY;
			uint32_t which = 0;
			struct tune tune;
			for (uint32_t s = 1; s <= m->most; s = s < m->most && s * 2 > m->most ? m->most : s * 2) {
				double ns = fixed_ns(m, seed, s);
				which = ns < best ? s : which;
				best = fmin(best, ns);
			}
			for (uint32_t window = 1; window <= 10; window += 9) {
				double tuned = tuned_ns(m, seed, window, &tune);
				printf("%-54s windows of %2u: best %2u, chosen %2u at the end, %4.3f of its time, %u "
				       "trials\n",
					m->what, window, which, tune.chosen, tuned / best, tune.trials);
				cr_assert(tuned <= 1.05 * best, "%s, windows of %u: %g times the best", m->what, window,
					tuned / best);
			}
		}
	}
}

/* A number that is many times slower may be tried, but not for long. */
Test(tune, trials_cost_what_they_may)
{
	struct machine m = {"a hundred times slower on two", 2, 1, 1e6, 0, 1e8, 0, 0, 0, 20000, 0, 0};
	struct tune tune;
	double tuned = tuned_ns(&m, 1, 1, &tune), best = fixed_ns(&m, 1, 1);
	printf("%g of the best, %u trials\n", tuned / best, tune.trials);
	cr_assert(tuned <= 1.05 * best);
	cr_assert(tune.trials > 0);
	cr_assert_eq(tune.chosen, 1u);
}

Test(tune, one_secondary_is_one)
{
	struct tune tune;
	tune_init(&tune, 1, 1, 0);
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(tune_step(&tune, 1000, 1), 1u);
	cr_assert_eq(tune.trials, 0u);
}

/* The next lower number is the half, rounded up, and the next higher one the double. The step time of a number is
 * compared only with that of the next number. */
Test(tune, trials_go_by_halves_and_doubles)
{
	static const struct {
		uint32_t most, first, next;
	} cases[] = {{3, 3, 2}, {7, 7, 4}, {16, 16, 8}, {4, 2, 1}, {5, 1, 2}, {5, 5, 3}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tune tune;
		tune_init(&tune, cases[i].most, cases[i].first, 0);
		uint32_t now = cases[i].first;
		for (int step = 0; step < 100000 && now == cases[i].first; step++)
			now = tune_step(&tune, 1000000, 1);
		cr_assert_eq(now, cases[i].next, "of %u: %u after %u", cases[i].most, now, cases[i].first);
		/* the trial takes twice as long */
		for (int step = 0; step < 1000 && now != cases[i].first; step++)
			now = tune_step(&tune, 2000000, 1);
		bool compared = cases[i].first == 1 || cases[i].next == 1;
		cr_assert_eq(tune.together, compared ? MAX(cases[i].first, cases[i].next) : 0, "of %u: together is %u",
			cases[i].most, tune.together);
	}
}
