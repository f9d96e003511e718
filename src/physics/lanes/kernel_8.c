/* The kernel with eight lanes. */
#pragma GCC optimize("O3")
#define LANES 8
#define KERNEL_STEP lanes_step_8
#ifdef __x86_64__
#pragma GCC target("avx512f")
#endif
#include "physics/lanes/kernel.inc"
