/* Which kernel a processor can run. Results do not depend on the choice. */
#include "physics/lanes/kernel.h"

#include <stddef.h>

enum kernel_needs { NEEDS_NOTHING, NEEDS_AVX2, NEEDS_AVX512 };

/* Of those with the same lanes, the fastest first. */
static const struct {
	struct lanes_kernel kernel;
	enum kernel_needs needs;
} kernel_rows[] = {
	{{2, "AVX2", lanes_step_2_avx2, lanes_soft_2}, NEEDS_AVX2},
	{{2, "SSE2", lanes_step_2, lanes_soft_2}, NEEDS_NOTHING},
	{{4, "AVX2", lanes_step_4, lanes_soft_4}, NEEDS_AVX2},
	{{8, "AVX-512", lanes_step_8, lanes_soft_8}, NEEDS_AVX512},
};
enum { KERNEL_ROWS = sizeof kernel_rows / sizeof *kernel_rows };

static bool kernel_runs(enum kernel_needs needs)
{
#ifdef __x86_64__
	switch (needs) {
	case NEEDS_AVX2:
		return __builtin_cpu_supports("avx2");
	case NEEDS_AVX512:
		return __builtin_cpu_supports("avx512f");
	default:
		return true;
	}
#else
	(void)needs;
	return true; /* the compiler divides wider groups */
#endif
}

static const struct lanes_kernel *kernel_from(size_t first, uint32_t lanes)
{
	for (size_t i = first; i < KERNEL_ROWS; i++)
		if ((!lanes || kernel_rows[i].kernel.lanes == lanes) && kernel_runs(kernel_rows[i].needs))
			return &kernel_rows[i].kernel;
	return NULL;
}

const struct lanes_kernel *lanes_kernel_of(uint32_t lanes)
{
	return kernel_from(0, lanes);
}

const struct lanes_kernel *lanes_kernel_narrowest(const struct lanes_kernel *best, uint32_t islands)
{
	const struct lanes_kernel *narrow = NULL;
	for (uint32_t lanes = LANES_LEAST; lanes < best->lanes && !narrow; lanes *= 2)
		if (islands <= lanes)
			narrow = lanes_kernel_of(lanes);
	return narrow ? narrow : best;
}

const struct lanes_kernel *lanes_kernel_next(const struct lanes_kernel *previous)
{
	size_t first = 0;
	while (previous && &kernel_rows[first++].kernel != previous)
		;
	return kernel_from(first, 0);
}

const struct lanes_kernel *lanes_kernel_best(void)
{
#ifdef __x86_64__
	const struct lanes_kernel *eight = lanes_kernel_of(8), *four = lanes_kernel_of(4);
	return eight ? eight : four ? four : lanes_kernel_of(LANES_LEAST);
#else
	return lanes_kernel_of(LANES_LEAST);
#endif
}
