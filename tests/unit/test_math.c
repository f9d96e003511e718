/* Functions for many numbers at once have the bits of those for one. */
#include "base/math.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

TestSuite(math, .timeout = 60);

enum { COUNT = 1000003 }; /* no multiple of a vector's width */

static uint64_t seed = 7;

static double any_bits(void)
{
	double value;
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	uint64_t bits = seed ^ seed >> 29;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static double any_part(void)
{
	return ldexp(any_bits() > 0 ? 1 : -1, -(int)(seed >> 60)) * ((double)(seed >> 11 & 0xffffffff) / 4294967296.0);
}

static const double special[] = {0.0, -0.0, 1, -1, 5e-324, -5e-324, 1e-310, 1e308, -1e308, INFINITY, -INFINITY, 0.5, 2};

static double y[COUNT], x[COUNT], together[COUNT];

Test(math, atan2_of_many)
{
	const int kinds = sizeof special / sizeof *special;
	for (int i = 0; i < COUNT; i++) {
		y[i] = i % 3 == 0 ? any_bits() : any_part();
		x[i] = i % 3 == 0 ? any_bits() : i % 3 == 1 ? any_part() : sqrt(1 - fmin(1, y[i] * y[i]));
	}
	for (int i = 0; i < kinds * kinds; i++) {
		y[i] = special[i / kinds];
		x[i] = special[i % kinds];
	}
	math_atan2_many(y, x, COUNT, together);
	for (int i = 0; i < COUNT; i++) {
		double alone = math_atan2(y[i], x[i]);
		cr_assert(!memcmp(&alone, &together[i], sizeof alone) || (isnan(alone) && isnan(together[i])),
			"atan2(%a, %a): %a and %a", y[i], x[i], alone, together[i]);
	}
}
