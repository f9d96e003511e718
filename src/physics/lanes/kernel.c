/* Which kernel a processor can run. Results do not depend on the choice. */
#include "physics/lanes/kernel.h"

#include <stddef.h>

static const struct lanes_kernel kernel_kernels[] = {{2, "SSE2", lanes_step_2, lanes_soft_2},
	{4, "AVX2", lanes_step_4, lanes_soft_4}, {8, "AVX-512", lanes_step_8, lanes_soft_8}};

static bool kernel_runs(const struct lanes_kernel *kernel)
{
#ifdef __x86_64__
	switch (kernel->lanes) {
	case 4:
		return __builtin_cpu_supports("avx2");
	case 8:
		return __builtin_cpu_supports("avx512f");
	default:
		return true;
	}
#else
	(void)kernel;
	return true; /* the compiler divides wider groups */
#endif
}

const struct lanes_kernel *lanes_kernel_of(uint32_t lanes)
{
	for (size_t i = 0; i < sizeof kernel_kernels / sizeof *kernel_kernels; i++)
		if (kernel_kernels[i].lanes == lanes && kernel_runs(&kernel_kernels[i]))
			return &kernel_kernels[i];
	return NULL;
}

const struct lanes_kernel *lanes_kernel_best(void)
{
#ifdef __x86_64__
	const struct lanes_kernel *eight = lanes_kernel_of(8), *four = lanes_kernel_of(4);
	return eight ? eight : four ? four : &kernel_kernels[0];
#else
	return &kernel_kernels[0];
#endif
}
